//! Pages for browsers.
//!
//! The files are compiled into the binary and load nothing from other hosts. They contain no data: their scripts call the API like
//! any other client, with a key that the user enters if the service requires one.

use crate::state::App;
use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// Content security policy of the pages: scripts, styles, images and requests of the same origin only.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                           base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

pub(super) fn router() -> Router<App> {
    let files = [
        ("/", HTML, include_str!("../web/index.html")),
        ("/docs", HTML, include_str!("../web/docs.html")),
        ("/assets/style.css", CSS, include_str!("../web/style.css")),
        ("/assets/icon.svg", "image/svg+xml", include_str!("../web/icon.svg")),
        ("/assets/common.js", JAVASCRIPT, include_str!("../web/common.js")),
        ("/assets/index.js", JAVASCRIPT, include_str!("../web/index.js")),
        ("/assets/docs.js", JAVASCRIPT, include_str!("../web/docs.js")),
    ];
    files.into_iter().fold(Router::new(), |router, (path, content_type, content)| {
        router.route(path, get(move || async move { file(content_type, content) }))
    })
}

fn file(content_type: &'static str, content: &'static str) -> Response {
    let headers: [(HeaderName, HeaderValue); 3] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, content).into_response()
}
