//! Routes, one file per resource.
//!
//! A handler only translates: wire type, call of the catalog, wire type. It contains no algorithms and no storage.

mod bulk;
mod clusters;
mod collections;
mod compare;
mod cursor;
mod documents;
mod edits;
mod events;
mod export;
mod hints;
mod operations;
mod pages;
mod search;
mod similarities;
mod sketch;
mod sources;
mod stream;

use crate::http::record_route;
use crate::problem::{Kind, Problem, shown};
use crate::state::{App, with_collection};
use crate::wire::fields::check_no_query;
use axum::Router;
use axum::extract::{FromRequestParts, MatchedPath, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, Uri, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use std::collections::HashSet;
use std::sync::Arc;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::{OpenApi, RefOr};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Returns all routes, and stores their OpenAPI description in `app`.
pub(crate) fn router(app: &App) -> Router {
    let described: OpenApiRouter<App> = OpenApiRouter::with_openapi(crate::openapi::base())
        .routes(routes!(
            documents::insert,
            collections::create,
            collections::show,
            collections::change,
            collections::delete
        ))
        .routes(routes!(collections::list))
        .routes(routes!(bulk::bulk))
        .routes(routes!(documents::list))
        .routes(routes!(search::query))
        .routes(routes!(clusters::list))
        .routes(routes!(clusters::show))
        .routes(routes!(edits::create, edits::list))
        .routes(routes!(edits::undo))
        .routes(routes!(sources::show))
        .routes(routes!(similarities::histogram))
        .routes(routes!(similarities::preview))
        .routes(routes!(events::follow))
        .routes(routes!(export::export))
        .routes(routes!(documents::show, documents::replace, documents::delete))
        .routes(routes!(search::similar))
        .routes(routes!(compare::compare))
        .routes(routes!(sketch::sketch))
        .routes(routes!(operations::snapshot))
        .routes(routes!(operations::stats))
        .routes(routes!(operations::metrics))
        .routes(routes!(operations::live))
        .routes(routes!(operations::ready))
        .routes(routes!(operations::openapi));
    let (router, api) = described.split_for_parts();
    // The description is set once per service; a second router would have the same one.
    _ = app.openapi.set(crate::openapi::finish(&api, app.limits()).into());
    // Layers added before the fallbacks do not apply to them, so an unknown path or a wrong method is reported before an
    // unacceptable `accept` header or an unknown query parameter.
    router
        .layer(middleware::from_fn_with_state(Arc::new(routes_with_query(&api)), reject_query))
        .layer(middleware::from_fn_with_state(app.clone(), enter_collection))
        .merge(pages::router())
        .layer(middleware::from_fn(check_accept))
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
        .layer(middleware::from_fn(record_route))
        .with_state(app.clone())
}

/// Processes a request on behalf of the collection of its path, if there is one.
async fn enter_collection(State(app): State<App>, request: Request, next: middleware::Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let params = RawPathParams::from_request_parts(&mut parts, &app).await.ok();
    let name =
        params.iter().flatten().find(|(name, _)| *name == "collection").map(|(_, name)| name.to_owned());
    let collection = name.and_then(|name| app.collection(&name).ok());
    let name = collection.map(|collection| collection.name().to_owned());
    with_collection(name, next.run(Request::from_parts(parts, body))).await
}

/// Answers a method that the path does not support. The router adds the header `allow`, and the middleware names its methods in
/// the body.
async fn method_not_allowed(request: Request) -> Response {
    if request.method() == Method::OPTIONS {
        return StatusCode::NO_CONTENT.into_response();
    }
    let detail = format!("the path does not support `{}`", shown(request.method().as_str()));
    Problem::new(Kind::MethodNotAllowed, detail).into_response()
}

async fn not_found(uri: Uri) -> Problem {
    let hint = hints::for_unknown_path(uri.path()).unwrap_or_else(|| "see `/docs`".to_owned());
    Problem::new(Kind::NotFound, format!("no such path; {hint}"))
}

/// Rejects a request whose `accept` header excludes the content type of the response.
async fn check_accept(request: Request, next: middleware::Next) -> Response {
    let content_type = response_type(request.uri().path());
    let accepted = request.headers().get_all(header::ACCEPT);
    let ranges = accepted.iter().flat_map(|value| value.to_str().unwrap_or_default().split(','));
    let is_given = accepted.iter().next().is_some();
    if is_given && !accepts(ranges, content_type) {
        let detail = format!("the response is `{content_type}`, which `accept` excludes; change `accept`");
        return Problem::new(Kind::NotAcceptable, detail).into_response();
    }
    next.run(request).await
}

/// Returns the content type of a successful response.
fn response_type(path: &str) -> &'static str {
    match path {
        "/" | "/docs" => "text/html",
        "/metrics" => "text/plain",
        path if path.ends_with(".css") && path.starts_with("/assets/") => "text/css",
        path if path.ends_with(".svg") && path.starts_with("/assets/") => "image/svg+xml",
        path if path.ends_with(".js") && path.starts_with("/assets/") => "text/javascript",
        path if path.starts_with("/api/") && path.ends_with("/bulk") => NDJSON,
        path => match path.strip_prefix("/api/v1/").and_then(|rest| rest.split_once('/')) {
            Some((_, "events")) => "text/event-stream",
            Some((_, "export")) => NDJSON,
            _ => "application/json",
        },
    }
}

/// Returns whether media ranges such as `text/*;q=0.5` accept a content type. The most specific range decides.
fn accepts<'a>(ranges: impl Iterator<Item = &'a str>, content_type: &str) -> bool {
    let matching = ranges.filter_map(|range| match_range(range, content_type));
    matching.max().is_some_and(|found| found.accepted)
}

/// A media range that matches a content type. Ordered by specificity.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RangeMatch {
    specificity: u8,
    accepted: bool,
}

fn match_range(range: &str, content_type: &str) -> Option<RangeMatch> {
    let mut parts = range.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let excluded = parts.any(|part| {
        let weight = part.strip_prefix("q=").or_else(|| part.strip_prefix("Q="));
        weight.is_some_and(|weight| weight.parse() == Ok(0.0))
    });
    let (top_level, _) = content_type.split_once('/').unwrap_or((content_type, ""));
    // Clients that do not know a type for NDJSON ask for JSON.
    let is_alias =
        content_type == NDJSON && matches!(name.as_str(), "application/json" | "application/ndjson");
    let specificity = match name.strip_suffix("/*") {
        _ if name == content_type => 4,
        _ if is_alias => 3,
        Some(range) if range == top_level => 2,
        Some("*") => 1,
        _ => return None,
    };
    Some(RangeMatch { specificity, accepted: !excluded })
}

/// The routes, by path and method, that have query parameters.
type RoutesWithQuery = HashSet<(String, Method)>;

fn routes_with_query(api: &OpenApi) -> RoutesWithQuery {
    let has_query = |operation: &Option<Operation>| {
        let parameters = operation.iter().flat_map(|operation| operation.parameters.iter().flatten());
        parameters.into_iter().any(|parameter| {
            matches!(parameter, RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query)
        })
    };
    let routes = api.paths.paths.iter().flat_map(|(path, item)| {
        let methods = [
            (Method::GET, &item.get),
            (Method::POST, &item.post),
            (Method::PUT, &item.put),
            (Method::PATCH, &item.patch),
            (Method::DELETE, &item.delete),
        ];
        let methods = methods.into_iter().filter(move |(_, operation)| has_query(operation));
        methods.map(move |(method, _)| (path.clone(), method))
    });
    routes.collect()
}

/// Rejects query parameters of routes that have none, so that a misspelled parameter is not silently ignored. The other routes
/// check their own parameters.
async fn reject_query(
    State(with_query): State<Arc<RoutesWithQuery>>,
    request: Request,
    next: middleware::Next,
) -> Response {
    let method = match *request.method() {
        Method::HEAD => Method::GET,
        ref method => method.clone(),
    };
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    if !path.is_some_and(|path| with_query.contains(&(path, method)))
        && let Err(problem) = check_no_query(request.uri().query())
    {
        return problem.into_response();
    }
    next.run(request).await
}

pub(crate) const NDJSON: &str = "application/x-ndjson";

/// The percent-decoded parameters of a path.
pub(crate) struct PathParams<const N: usize>(pub(crate) [String; N]);

impl<S: Send + Sync, const N: usize> FromRequestParts<S> for PathParams<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let invalid = || Problem::new(Kind::BadRequest, "the path is not percent-encoded UTF-8");
        let params = RawPathParams::from_request_parts(parts, state).await.map_err(|_| invalid())?;
        let params: Vec<String> = params.iter().map(|(_, param)| param.to_owned()).collect();
        params.try_into().map(PathParams).map_err(|_| invalid())
    }
}

/// The parameters of a query string.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: crate::wire::Request> FromRequestParts<App> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        T::from_query(parts.uri.query(), app.limits()).map(Query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(ranges: &str, content_type: &str) -> bool {
        accepts(ranges.split(','), content_type)
    }

    #[test]
    fn accepts_matching_media_ranges() {
        for range in ["*/*", "application/*", "application/json", "APPLICATION/JSON;q=0.1", " */* ;q=0.8"] {
            assert!(accepted(range, "application/json"), "{range}");
        }
        for range in ["", "text/html", "application/xml", "application/json;q=0", "text/*", "application/jso"]
        {
            assert!(!accepted(range, "application/json"), "{range}");
        }
        assert!(accepted("application/json", NDJSON));
    }

    #[test]
    fn most_specific_media_range_decides() {
        for ranges in
            ["application/json;q=0, */*", "*/*, application/*;q=0", "*/*;q=1, application/json;q=0.0"]
        {
            assert!(!accepted(ranges, "application/json"), "{ranges}");
        }
        for ranges in ["application/json, */*;q=0", "application/*;q=0, application/json;q=0.1"] {
            assert!(accepted(ranges, "application/json"), "{ranges}");
        }
        assert!(accepted("application/json;q=0, application/x-ndjson", NDJSON));
    }
}
