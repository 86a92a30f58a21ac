//! Similarity search.

use super::documents::not_found;
use super::{PathParams, Query};
use crate::body::{self, Format};
use crate::problem::Problem;
use crate::response::{BoundedList, ListedItems, json_within};
use crate::state::App;
use crate::wire::{
    SearchParams, SimilarDocument, SimilarResponse, TextQuery, check_sketches, ids_of_segment,
};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sameish::{DocId, Status};
use sameish_store::{Collection, Error, SearchTotals, Similar, Sink};

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
            let max = app.limits().search_bytes;
            let found = respond(app, &params, |sink| collection.similar_each(&id, options, max, sink));
            match found {
                Err(SearchError::Store(Error::NoDocument { .. })) => {}
                found => return Ok(found?),
            }
        }
        Err(not_found(&segment))
    });
    response.await
}

/// Find documents that are similar to a text
///
/// The text is not stored. `limit`, `min_similarity`, `evidence` and `offsets` are accepted in the query string and in the body;
/// the body takes precedence. `status` is `too_short` if the text has too few words to be compared.
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
        let document = document.into_document(|| DocId::Number(0))?;
        check_sketches(collection.analyzer(), &document)?;
        let max = app.limits().search_bytes;
        Ok(respond(app, &params, |sink| collection.query_each(&document, options, max, sink))?)
    });
    response.await
}

/// Why a search fails.
enum SearchError {
    Store(Error),
    Problem(Problem),
}

impl From<SearchError> for Problem {
    fn from(error: SearchError) -> Problem {
        match error {
            SearchError::Store(error) => error.into(),
            SearchError::Problem(problem) => problem,
        }
    }
}

/// Runs a search and returns its matches, as many as fit in a response.
fn respond(
    app: &App,
    params: &SearchParams,
    search: impl FnOnce(Sink<'_, Similar>) -> sameish_store::Result<SearchTotals>,
) -> Result<Response, SearchError> {
    let mut list = BoundedList::new(app);
    let max = app.limits().response_limit();
    let (offsets, choice) = (params.offsets(), params.evidence());
    let totals = search(&mut |similar| list.push(SimilarDocument::new(similar, offsets, max, choice)))
        .map_err(SearchError::Store)?;
    let ListedItems { items, capped, buffered } = list.finish().map_err(SearchError::Problem)?;
    let SearchTotals { candidates, capped: limits_reached, status } = totals;
    let response = SimilarResponse {
        similar: items,
        status: status.name(),
        too_short: status == Status::TooShort,
        candidates,
        capped: capped || limits_reached > 0,
    };
    json_within(buffered, StatusCode::OK, &response).map_err(SearchError::Problem)
}

fn default_limit(collection: &Collection) -> u32 {
    collection.analyzer().config().matching.limit
}
