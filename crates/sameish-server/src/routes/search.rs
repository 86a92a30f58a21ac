//! Similarity search.

use super::documents::not_found;
use super::{PathParams, Query, json};
use crate::body::{self, Format};
use crate::problem::Problem;
use crate::state::App;
use crate::wire::{SearchParams, SimilarResponse, TextQuery, ids_of_segment};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sameish::DocId;
use sameish_store::{Collection, Error};

/// Find documents that are similar to a stored document
///
/// Matches are sorted by similarity, highest first.
#[utoipa::path(
    get, path = "/api/v1/{collection}/{id}/similar", tag = "search",
    params(
        ("collection" = String, Path),
        ("id" = String, Path, description = "Id of the document, as for `GET /api/v1/{collection}/{id}`"),
        SearchParams,
    ),
    responses((status = 200, description = "Matches", body = SimilarResponse))
)]
pub(crate) async fn similar(
    State(app): State<App>,
    PathParams([name, segment]): PathParams<2>,
    Query(params): Query<SearchParams>,
) -> Result<Response, Problem> {
    let response = app.run(move |app| {
        let collection = app.collection(&name)?;
        let options = params.options(default_limit(&collection), app.limits());
        for id in ids_of_segment(&segment) {
            match collection.similar(&id, options) {
                Err(Error::NoDocument { .. }) => {}
                found => return Ok(SimilarResponse::from(found?)),
            }
        }
        Err(not_found(&segment))
    });
    Ok(json(StatusCode::OK, &response.await?))
}

/// Find documents that are similar to a text
///
/// The text is not stored. `limit`, `min_similarity` and `evidence` are accepted in the query string and in the body; the body
/// takes precedence.
#[utoipa::path(
    post, path = "/api/v1/{collection}/query", tag = "search",
    params(("collection" = String, Path), SearchParams),
    request_body = TextQuery,
    responses((status = 200, description = "Matches", body = SimilarResponse))
)]
pub(crate) async fn query(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
    Query(params): Query<SearchParams>,
    request: Request,
) -> Result<Response, Problem> {
    let collection = app.collection(&name)?;
    let (parts, body) = request.into_parts();
    let payload = body::read(&app, &parts.headers, body, Format::Json).await?;
    let response = app.run(move |app| {
        let payload = payload.decoded(app)?;
        let (document, params) = payload.parse::<TextQuery>(app.limits())?.into_parts(params);
        let options = params.options(default_limit(&collection), app.limits());
        let document = document.into_document(|| DocId::Number(0));
        Ok(SimilarResponse::from(collection.query(&document, options)?))
    });
    Ok(json(StatusCode::OK, &response.await?))
}

fn default_limit(collection: &Collection) -> u32 {
    collection.analyzer().config().matching.limit
}
