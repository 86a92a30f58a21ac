//! What can be asked?
//!
//! A file a resource. A route translates: wire type, a call of the catalog, wire type. No algorithms and no storage.

mod bulk;
mod clusters;
mod collections;
mod compare;
mod documents;
mod operations;
mod pages;
mod search;

use crate::http::note_route;
use crate::problem::{Kind, Problem};
use crate::state::App;
use axum::Router;
use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// All routes, and the description of them.
pub(crate) fn router(app: &App) -> Router {
    let described: OpenApiRouter<App> = OpenApiRouter::with_openapi(crate::openapi::frame())
        .routes(routes!(documents::insert, collections::create, collections::show))
        .routes(routes!(bulk::bulk))
        .routes(routes!(search::query))
        .routes(routes!(clusters::list))
        .routes(routes!(clusters::show))
        .routes(routes!(documents::show, documents::replace, documents::delete))
        .routes(routes!(search::similar))
        .routes(routes!(compare::compare))
        .routes(routes!(operations::snapshot))
        .routes(routes!(operations::stats))
        .routes(routes!(operations::metrics))
        .routes(routes!(operations::live))
        .routes(routes!(operations::ready))
        .routes(routes!(operations::openapi));
    let (router, api) = described.split_for_parts();
    // Set once: a service has one description.
    _ = app.openapi.set(crate::openapi::finish(&api).into());
    // What is laid before the fallbacks are set does not hold for them: a path that is not there, and a method that it does
    // not have, go before what a client would take and what it adds to the address.
    router
        .layer(middleware::from_fn(check_query))
        .merge(pages::router())
        .layer(middleware::from_fn(check_accept))
        .method_not_allowed_fallback(wrong_method)
        .fallback(unknown)
        .layer(middleware::from_fn(note_route))
        .with_state(app.clone())
}

/// The one answer to a method that a path does not have. Which it has, the router adds.
async fn wrong_method(request: Request) -> Response {
    if request.method() == Method::OPTIONS {
        return StatusCode::NO_CONTENT.into_response();
    }
    Problem::new(Kind::MethodNotAllowed, "the header `allow` says what can be done here").into_response()
}

async fn unknown() -> Problem {
    Problem::new(Kind::NotFound, "there is nothing at this address: see /docs")
}

/// Refuses a client that would not take what the route gives.
async fn check_accept(request: Request, next: middleware::Next) -> Response {
    let given = answer_type(request.uri().path());
    let accepted = request.headers().get_all(header::ACCEPT);
    let ranges = accepted.iter().flat_map(|value| value.to_str().unwrap_or_default().split(','));
    let asked = accepted.iter().next().is_some();
    if asked && !admit(ranges, given) {
        let detail = format!("the answer here is {given}, which `accept` does not admit");
        return Problem::new(Kind::NotAcceptable, detail).into_response();
    }
    next.run(request).await
}

/// The type of a route's answer when all is well.
fn answer_type(path: &str) -> &'static str {
    match path {
        "/" | "/docs" => "text/html",
        "/metrics" => "text/plain",
        path if path.ends_with(".css") && path.starts_with("/assets/") => "text/css",
        path if path.ends_with(".svg") && path.starts_with("/assets/") => "image/svg+xml",
        path if path.ends_with(".js") && path.starts_with("/assets/") => "text/javascript",
        path if path.starts_with("/api/") && path.ends_with("/bulk") => NDJSON,
        _ => "application/json",
    }
}

/// Whether media ranges, such as `text/*;q=0.5`, admit a type. The most exact of them decides.
fn admit<'a>(ranges: impl Iterator<Item = &'a str>, given: &str) -> bool {
    let fits = ranges.filter_map(|range| fit(range, given));
    fits.max().is_some_and(|(_, wanted)| wanted)
}

/// How exactly a media range names a type, and whether that is wanted; nothing where it does not name it.
fn fit(range: &str, given: &str) -> Option<(u8, bool)> {
    let mut parts = range.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let refused = parts.any(|part| {
        let weight = part.strip_prefix("q=").or_else(|| part.strip_prefix("Q="));
        weight.is_some_and(|weight| weight.parse() == Ok(0.0))
    });
    let (kind, _) = given.split_once('/').unwrap_or((given, ""));
    // Lines of JSON are JSON enough for a client that knows no name for them.
    let near = given == NDJSON && matches!(name.as_str(), "application/json" | "application/ndjson");
    let exact = match name.strip_suffix("/*") {
        _ if name == given => 4,
        _ if near => 3,
        Some(range) if range == kind => 2,
        Some("*") => 1,
        _ => return None,
    };
    Some((exact, !refused))
}

/// Refuses parameters where a route takes none, so that a misspelled one is not silently without effect. Routes that take
/// some look at their own.
async fn check_query(request: Request, next: middleware::Next) -> Response {
    let path = request.uri().path();
    let takes_some = request.method() == Method::DELETE
        || path.starts_with("/api/v1/")
            && ["/similar", "/query", "/clusters"].iter().any(|name| path.ends_with(name));
    let mut errors = Vec::new();
    if !takes_some {
        crate::wire::pairs(request.uri().query(), &[], &mut errors);
    }
    match errors.is_empty() {
        true => next.run(request).await,
        false => Problem::fields(errors).into_response(),
    }
}

pub(crate) const NDJSON: &str = "application/x-ndjson";

/// The names in a path, without their percent signs.
pub(crate) struct Names<const N: usize>(pub(crate) [String; N]);

impl<S: Send + Sync, const N: usize> FromRequestParts<S> for Names<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let bad = || Problem::new(Kind::BadRequest, "the path is not UTF-8 behind its percent signs");
        let params = RawPathParams::from_request_parts(parts, state).await.map_err(|_| bad())?;
        let names: Vec<String> = params.iter().map(|(_, name)| name.to_owned()).collect();
        names.try_into().map(Names).map_err(|_| bad())
    }
}

/// An answer in JSON.
pub(crate) fn json(status: StatusCode, answer: &impl Serialize) -> Response {
    match serde_json::to_vec(answer) {
        Ok(bytes) => {
            let headers = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
            (status, headers, bytes).into_response()
        }
        Err(error) => Problem::internal(error).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(ranges: &str, given: &str) -> bool {
        admit(ranges.split(','), given)
    }

    #[test]
    fn ranges_admit_what_they_name() {
        for range in ["*/*", "application/*", "application/json", "APPLICATION/JSON;q=0.1", " */* ;q=0.8"] {
            assert!(admits(range, "application/json"), "{range}");
        }
        for range in ["", "text/html", "application/xml", "application/json;q=0", "text/*", "application/jso"]
        {
            assert!(!admits(range, "application/json"), "{range}");
        }
        assert!(admits("application/json", NDJSON));
    }

    #[test]
    fn the_most_exact_range_decides() {
        for ranges in
            ["application/json;q=0, */*", "*/*, application/*;q=0", "*/*;q=1, application/json;q=0.0"]
        {
            assert!(!admits(ranges, "application/json"), "{ranges}");
        }
        for ranges in ["application/json, */*;q=0", "application/*;q=0, application/json;q=0.1"] {
            assert!(admits(ranges, "application/json"), "{ranges}");
        }
        assert!(admits("application/json;q=0, application/x-ndjson", NDJSON));
    }
}
