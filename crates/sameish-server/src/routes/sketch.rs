//! Sketches of texts that are not stored.

use crate::body::{self, Format};
use crate::problem::Problem;
use crate::response::json;
use crate::state::App;
use crate::wire::{SketchResponse, SketchText};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sameish::Scratch;

/// Compute the sketches of a text
///
/// Stores nothing. The sketches equal those of a document in a collection with the same settings.
#[utoipa::path(
    post, path = "/api/v1/sketch", tag = "search",
    request_body = SketchText,
    responses((status = 200, description = "The sketches", body = SketchResponse))
)]
pub(crate) async fn sketch(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let payload = body::read(&app, &parts.headers, body, Format::Json).await?;
    let response = app.run(move |app| {
        let payload = payload.decoded(app)?;
        let (analyzer, content) = payload.parse::<SketchText>(app.limits())?.into_parts()?;
        let sketches = analyzer.sketch(&content, &mut Scratch::default());
        json(app, StatusCode::OK, &SketchResponse::new(&sketches, analyzer.schemes()))
    });
    response.await
}
