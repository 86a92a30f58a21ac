//! What is like a document?

use super::documents::absent;
use super::{Names, json};
use crate::body::{self, Takes};
use crate::json::Json;
use crate::problem::Problem;
use crate::state::App;
use crate::wire::{SearchParams, SimilarAnswer, TextQuery, addressed, bounded, search_options};
use axum::extract::{RawQuery, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sameish::DocId;
use sameish_store::Error;

/// The stored documents that are like a stored one, best first
#[utoipa::path(
    get, path = "/api/v1/{collection}/{id}/similar", tag = "search",
    params(("collection" = String, Path), ("id" = String, Path, description = "As for GET of the document"), SearchParams),
    responses((status = 200, description = "Ranked matches", body = SimilarAnswer))
)]
pub(crate) async fn similar(
    State(app): State<App>,
    Names([name, id]): Names<2>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let options = search_options(query.as_deref(), app.limits())?;
    let found = app.work(move |app| {
        let collection = app.collection(&name)?;
        let options = bounded(options, &collection, app.limits());
        for id in addressed(&id) {
            match collection.similar(&id, options) {
                Err(Error::NoDocument { .. }) => {}
                found => return Ok(SimilarAnswer::from(found?)),
            }
        }
        Err(absent(&id))
    });
    Ok(json(StatusCode::OK, &found.await?))
}

/// The stored documents that are like a text that is not stored
///
/// `limit`, `min_similarity` and `evidence` may stand in the address or in the body.
#[utoipa::path(
    post, path = "/api/v1/{collection}/query", tag = "search",
    params(("collection" = String, Path), SearchParams),
    request_body = TextQuery,
    responses((status = 200, description = "Ranked matches", body = SimilarAnswer))
)]
pub(crate) async fn query(
    State(app): State<App>,
    Names([name]): Names<1>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, Problem> {
    let options = search_options(query.as_deref(), app.limits())?;
    let collection = app.collection(&name)?;
    let (parts, body) = request.into_parts();
    let payload = body::read(&app, &parts.headers, body, Takes::Json).await?;
    let found = app.work(move |app| {
        let payload = payload.unpacked(app)?;
        let (new, options) = TextQuery::read(Json::parse(&payload.bytes)?, options, app.limits())?;
        let options = bounded(options, &collection, app.limits());
        let document = new.named(|| DocId::Number(0));
        Ok(SimilarAnswer::from(collection.query(&document, options)?))
    });
    Ok(json(StatusCode::OK, &found.await?))
}
