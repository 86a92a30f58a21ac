//! What does a browser see?
//!
//! Plain pages from memory, without a build step and without anything from elsewhere. They hold no data: their scripts ask
//! the interface like any other client, with the key that is typed in where one is needed.

use crate::state::App;
use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// Scripts, styles and answers of our own, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn router() -> Router<App> {
    let html = "text/html; charset=utf-8";
    let css = "text/css; charset=utf-8";
    let js = "text/javascript; charset=utf-8";
    Router::new()
        .route("/", get(move || async move { file(html, include_str!("../web/index.html")) }))
        .route("/docs", get(move || async move { file(html, include_str!("../web/docs.html")) }))
        .route("/assets/style.css", get(move || async move { file(css, include_str!("../web/style.css")) }))
        .route(
            "/assets/icon.svg",
            get(move || async move { file("image/svg+xml", include_str!("../web/icon.svg")) }),
        )
        .route("/assets/common.js", get(move || async move { file(js, include_str!("../web/common.js")) }))
        .route("/assets/index.js", get(move || async move { file(js, include_str!("../web/index.js")) }))
        .route("/assets/docs.js", get(move || async move { file(js, include_str!("../web/docs.js")) }))
}

fn file(kind: &'static str, content: &'static str) -> Response {
    let headers: [(HeaderName, HeaderValue); 3] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, content).into_response()
}
