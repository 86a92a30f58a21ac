//! Pages for browsers.
//!
//! The files are compiled into the binary and load nothing from other hosts. They contain no data: their scripts call the API like
//! any other client, with a key that the user enters if the service requires one.

use crate::gzip::{accepts_gzip, compress};
use crate::state::App;
use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use std::sync::{Arc, OnceLock};
use xxhash_rust::xxh3::xxh3_64;

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
        ("/assets/docs.js", JAVASCRIPT, include_str!("../web/docs.js")),
        ("/assets/page.css", CSS, include_str!("../web/page.css")),
        ("/assets/app.js", JAVASCRIPT, include_str!("../web/app.js")),
        ("/assets/dom.js", JAVASCRIPT, include_str!("../web/dom.js")),
        ("/assets/api.js", JAVASCRIPT, include_str!("../web/api.js")),
        ("/assets/states.js", JAVASCRIPT, include_str!("../web/states.js")),
        ("/assets/charts.js", JAVASCRIPT, include_str!("../web/charts.js")),
        ("/assets/virtual.js", JAVASCRIPT, include_str!("../web/virtual.js")),
        ("/assets/text.js", JAVASCRIPT, include_str!("../web/text.js")),
        ("/assets/verdict.js", JAVASCRIPT, include_str!("../web/verdict.js")),
        ("/assets/evidence.js", JAVASCRIPT, include_str!("../web/evidence.js")),
        ("/assets/overview.js", JAVASCRIPT, include_str!("../web/overview.js")),
        ("/assets/live.js", JAVASCRIPT, include_str!("../web/live.js")),
        ("/assets/clusters.js", JAVASCRIPT, include_str!("../web/clusters.js")),
        ("/assets/cluster.js", JAVASCRIPT, include_str!("../web/cluster.js")),
        ("/assets/document.js", JAVASCRIPT, include_str!("../web/document.js")),
        ("/assets/compare.js", JAVASCRIPT, include_str!("../web/compare.js")),
        ("/assets/lab.js", JAVASCRIPT, include_str!("../web/lab.js")),
        ("/assets/sources.js", JAVASCRIPT, include_str!("../web/sources.js")),
        ("/assets/events.js", JAVASCRIPT, include_str!("../web/events.js")),
        ("/assets/edits.js", JAVASCRIPT, include_str!("../web/edits.js")),
        ("/assets/labels.js", JAVASCRIPT, include_str!("../web/labels.js")),
        ("/assets/lab-chart.js", JAVASCRIPT, include_str!("../web/lab-chart.js")),
        ("/assets/lab-pairs.js", JAVASCRIPT, include_str!("../web/lab-pairs.js")),
    ];
    files.into_iter().fold(Router::new(), |router, (path, content_type, content)| {
        let file = Arc::new(File::new(content_type, content));
        router.route(path, get(move |headers: HeaderMap| async move { file.response(&headers) }))
    })
}

/// A file of the page.
struct File {
    content_type: &'static str,
    content: &'static str,
    /// A hash of the content, in quotes. Browsers keep a file until it changes, so that a new version of the service is complete.
    etag: HeaderValue,
    /// The content as gzip, if that is smaller. Compressed at the first request.
    compressed: OnceLock<Option<Bytes>>,
}

impl File {
    fn new(content_type: &'static str, content: &'static str) -> File {
        let etag = format!("\"{:016x}\"", xxh3_64(content.as_bytes()));
        let etag = HeaderValue::from_str(&etag);
        let etag = etag.unwrap_or_else(|_| unreachable!("digits and quotes are valid in a header"));
        File { content_type, content, etag, compressed: OnceLock::new() }
    }

    fn response(&self, request: &HeaderMap) -> Response {
        let headers: [(HeaderName, HeaderValue); 5] = [
            (header::CONTENT_TYPE, HeaderValue::from_static(self.content_type)),
            (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY)),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            (header::ETAG, self.etag.clone()),
            (header::VARY, HeaderValue::from_static("accept-encoding")),
        ];
        if self.is_known(request) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        match self.compressed.get_or_init(|| compress(self.content)) {
            Some(compressed) if accepts_gzip(request) => {
                let encoding = [(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))];
                (headers, encoding, compressed.clone()).into_response()
            }
            _ => (headers, self.content).into_response(),
        }
    }

    /// Returns `true` if the client has the file. A proxy may have marked the value as weak.
    fn is_known(&self, request: &HeaderMap) -> bool {
        let values = request.get_all(header::IF_NONE_MATCH).iter();
        let mut values = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
        values.any(|value| {
            let value = value.trim();
            value == "*" || value.trim_start_matches("W/").as_bytes() == self.etag.as_bytes()
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn request(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn a_known_file_is_not_sent_again() {
        let file = File::new(CSS, "body {}");
        let etag = file.etag.to_str().unwrap();
        for known in [etag, &format!("W/{etag}"), &format!("\"other\", {etag}"), "*"] {
            let response = file.response(&request(header::IF_NONE_MATCH, known));
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{known}");
            assert_eq!(response.headers()[header::ETAG], file.etag);
        }
        let changed = File::new(CSS, "body { }");
        assert_eq!(changed.response(&request(header::IF_NONE_MATCH, etag)).status(), StatusCode::OK);
    }
}
