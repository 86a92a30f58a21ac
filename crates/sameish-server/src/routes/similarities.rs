//! Similarities of pairs: a histogram, and the result of another threshold.

use super::{PathParams, Query};
use crate::problem::Problem;
use crate::response::json;
use crate::state::App;
use crate::wire::{HistogramResponse, PreviewParams, PreviewResponse};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

/// Get the number of pairs of documents by similarity
///
/// In a collection of more than 1,000 documents, the numbers are estimates from about 400 documents. After a change, the response may
/// be up to a few seconds old.
#[utoipa::path(
    get, path = "/api/v1/{collection}/histogram", tag = "search",
    params(("collection" = String, Path)),
    responses((status = 200, description = "The histogram", body = HistogramResponse))
)]
pub(crate) async fn histogram(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
) -> Result<Response, Problem> {
    let response = app.run(move |app| {
        let collection = app.collection(&name)?;
        let histogram = collection.histogram()?;
        json(app, StatusCode::OK, &HistogramResponse::new(histogram, collection.analyzer()))
    });
    response.await
}

/// Get the number of pairs and clusters at another threshold, and the pairs nearest to it
///
/// In a collection of more than 1,000 documents, the numbers are estimates with intervals.
#[utoipa::path(
    get, path = "/api/v1/{collection}/preview", tag = "search",
    params(("collection" = String, Path), PreviewParams),
    responses((status = 200, description = "The numbers and pairs", body = PreviewResponse))
)]
pub(crate) async fn preview(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
    Query(params): Query<PreviewParams>,
) -> Result<Response, Problem> {
    let response = app.run(move |app| {
        let collection = app.collection(&name)?;
        let threshold = params.threshold.0;
        let response = match collection.preview(threshold)? {
            Some(preview) => PreviewResponse::known(threshold, preview),
            None => {
                let own = collection.analyzer().judge().threshold();
                PreviewResponse::unknown(threshold, own, collection.len() as u64)
            }
        };
        json(app, StatusCode::OK, &response)
    });
    response.await
}
