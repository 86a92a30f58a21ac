//! Editorial decisions on clusters.

use super::cursor::List;
use super::{PathParams, Query};
use crate::body::{self, Format};
use crate::problem::{Kind, Problem, shown};
use crate::response::{BoundedList, ListedItems, json, json_within};
use crate::state::App;
use crate::wire::{EditListParams, EditRequest, EditResponse, EditsResponse};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use sameish_store::EditUsage;

/// Number of edits of a page without `limit`.
const PAGE: usize = 50;

/// Change clusters by an editorial decision
///
/// The edit stays in force until it is undone, also after later insertions, deletions and rebuilds. If edits contradict each other,
/// the later one takes precedence. Documents that are in their cluster because of an edit have `edited: true`.
#[utoipa::path(
    post, path = "/api/v1/{collection}/edits", tag = "clusters",
    params(("collection" = String, Path)),
    request_body(content = EditRequest),
    responses((status = 201, description = "Stored and applied", body = EditResponse))
)]
pub(crate) async fn create(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let payload = body::read(&app, &parts.headers, body, Format::Json).await?;
    let response = app.run_write(move |app| {
        let payload = payload.decoded(app)?;
        let request: EditRequest = payload.parse(app.limits())?;
        let edit = app.collection(&name)?.edit(request.into_edit()?)?;
        json(app, StatusCode::CREATED, &EditResponse::from(edit))
    });
    response.await
}

/// List the edits that were not undone, the latest first
#[utoipa::path(
    get, path = "/api/v1/{collection}/edits", tag = "clusters",
    params(("collection" = String, Path), EditListParams),
    responses((status = 200, description = "A page of edits", body = EditsResponse))
)]
pub(crate) async fn list(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
    Query(params): Query<EditListParams>,
) -> Result<Response, Problem> {
    let response = app.run(move |app| {
        let limit = params.limit.map_or(PAGE, |limit| limit.0).min(app.limits().results);
        let list = List::Edits { collection: &name };
        let before = list.position(params.cursor.as_deref())?.map(|[before]| before);
        // One more than the page, to know whether there is a next page.
        let collection = app.collection(&name)?;
        let found = collection.edits(before, limit + 1)?;
        let is_last_page = found.len() <= limit;
        let mut edits = BoundedList::new(app);
        let mut last = None;
        for edit in found.into_iter().take(limit) {
            let number = edit.number;
            if edits.push(EditResponse::from(edit)).is_break() {
                break;
            }
            last = Some(number);
        }
        let ListedItems { items, capped, buffered } = edits.finish()?;
        let next = last.filter(|_| capped || !is_last_page).map(|last| list.cursor([last]));
        let EditUsage { documents: named, max_documents: max_named } = collection.edit_usage()?;
        let response = EditsResponse { edits: items, next, capped, named, max_named };
        json_within(buffered, StatusCode::OK, &response)
    });
    response.await
}

/// Undo an edit
///
/// The clusters then are as if the edit had never been made. Other edits stay in force.
#[utoipa::path(
    delete, path = "/api/v1/{collection}/edits/{edit}", tag = "clusters",
    params(("collection" = String, Path), ("edit" = u64, Path, description = "Number of the edit")),
    responses((status = 204, description = "Undone"))
)]
pub(crate) async fn undo(
    State(app): State<App>,
    PathParams([name, edit]): PathParams<2>,
) -> Result<Response, Problem> {
    let undone = app.run_write(move |app| {
        let not_found = || Problem::new(Kind::NotFound, format!("no edit has the number `{}`", shown(&edit)));
        // Only the canonical form: `+5` and `005` are not numbers of edits.
        let is_canonical = |number: &u64| number.to_string() == edit;
        let number = edit.parse().ok().filter(is_canonical).ok_or_else(not_found)?;
        if app.collection(&name)?.undo_edit(number)? { Ok(()) } else { Err(not_found()) }
    });
    undone.await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
