//! Comparison of two texts.

use crate::body::{self, Format};
use crate::problem::Problem;
use crate::response::json;
use crate::state::App;
use crate::wire::{CompareResponse, CompareTexts};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sameish::Analyzer;

/// Compare two texts: all measures and the shared passages
#[utoipa::path(
    post, path = "/api/v1/compare", tag = "search",
    request_body = CompareTexts,
    responses((status = 200, description = "All measures", body = CompareResponse))
)]
pub(crate) async fn compare(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let payload = body::read(&app, &parts.headers, body, Format::Json).await?;
    let response = app.run(move |app| {
        let payload = payload.decoded(app)?;
        let CompareTexts { a, b, preset, min_tokens } = payload.parse(app.limits())?;
        let analyzer = Analyzer::new(preset.unwrap_or_default().config()).map_err(Problem::internal)?;
        let comparison = analyzer.compare(a.0.as_str(), b.0.as_str(), min_tokens.0);
        let response = CompareResponse::limited(&comparison, &a.0, app.limits().response_limit());
        json(app, StatusCode::OK, &response)
    });
    response.await
}
