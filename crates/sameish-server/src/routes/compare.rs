//! Comparison of two texts.

use crate::body::{self, Format};
use crate::problem::Problem;
use crate::response::{BoundedList, json_within, reserve_response};
use crate::state::App;
use crate::wire::{CompareResponse, CompareTexts, ComparedTexts};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sameish::matching::Passage;

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
        let texts: CompareTexts = payload.parse(app.limits())?;
        let analyzer = match &texts.collection {
            Some(name) => {
                texts.check_collection()?;
                app.collection(name)?.analyzer().clone()
            }
            None => texts.analyzer()?,
        };
        let CompareTexts { a, b, published_at_a, published_at_b, min_tokens, offsets, .. } = texts;
        let _passages = reserve_response(app, max_passage_bytes(&a.0, &b.0, min_tokens.0))?;
        let comparison = analyzer.compare(a.0.as_str(), b.0.as_str(), min_tokens.0);
        let dates = published_at_a.zip(published_at_b).map(|(a, b)| [a.time(), b.time()]);
        let texts = ComparedTexts { a: &a.0, b: &b.0, dates, offsets: offsets.unwrap_or_default() };
        let (response, buffered) = CompareResponse::limited(&comparison, texts, BoundedList::new(app))?;
        json_within(buffered, StatusCode::OK, &response)
    });
    response.await
}

/// Returns the maximum size of the passages that two texts share, without their texts, in bytes. A word has at least two bytes,
/// including the character that separates it from the next.
fn max_passage_bytes(a: &str, b: &str, min_words: usize) -> usize {
    let words = a.len().min(b.len()) / 2 + 1;
    words / min_words.max(1) * size_of::<Passage>()
}
