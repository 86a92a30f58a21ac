//! Two texts side by side.

use super::json;
use crate::body::{self, Takes};
use crate::json::Json;
use crate::problem::Problem;
use crate::state::App;
use crate::wire::{CompareAnswer, CompareTexts};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sameish::{Analyzer, Content};

/// Compare two texts: every measure, and the passages they share
#[utoipa::path(
    post, path = "/api/v1/compare", tag = "search",
    request_body = CompareTexts,
    responses((status = 200, description = "Every measure", body = CompareAnswer))
)]
pub(crate) async fn compare(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let payload = body::read(&app, &parts.headers, body, Takes::Json).await?;
    let compared = app.work(move |app| {
        let payload = payload.unpacked(app)?;
        let (a, b, preset, tokens) = CompareTexts::read(Json::parse(&payload.bytes)?, app.limits())?;
        let analyzer = Analyzer::new(preset.config()).map_err(Problem::internal)?;
        let [a, b] = [a, b].map(Content::Text);
        let comparison = analyzer.compare(&a, &b, tokens);
        let Content::Text(a) = a else { return Err(Problem::internal("a text is a text")) };
        Ok(CompareAnswer::bounded(&comparison, &a))
    });
    Ok(json(StatusCode::OK, &compared.await?))
}
