//! What applies to every request and response.
//!
//! A request is checked in this order: its head, its host and origin, its key. Then it is routed. A problem becomes
//! `application/problem+json` here, where the request id is known. Every response gets the request id and security headers, is
//! counted and logged in one line without its path, because paths contain ids.

use super::checks::{check_host, check_origin, check_uri};
use super::timeouts::{Connection, ResponseKind};
use crate::auth;
use crate::gzip::accepts_gzip;
use crate::problem::Problem;
use crate::state::{App, RequestContext, with_request};
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::MatchedPath;
use axum::http::{HeaderMap, HeaderValue, Request, Response, header};
use axum::response::IntoResponse;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tower_service::Service;

/// Serves the requests of one connection.
#[derive(Clone)]
pub(crate) struct RequestService {
    pub(crate) app: App,
    pub(crate) router: Router,
    pub(crate) connection: Arc<Connection>,
}

/// Content security policy of responses that are not pages: nothing may be loaded or framed.
const STRICT_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// Label of requests without a known route or method.
const OTHER: &str = "other";

impl hyper::service::Service<Request<Incoming>> for RequestService {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let active = ActiveRequest::start(&self.app, &self.connection);
        let service = self.clone();
        Box::pin(async move { Ok(service.serve(request, active).await) })
    }
}

impl RequestService {
    async fn serve(&self, request: Request<Incoming>, active: ActiveRequest) -> Response<ResponseBody> {
        let started = Instant::now();
        let request_id = request_id(request.headers()).unwrap_or_else(|| self.app.ids.next());
        let method = request.method().clone();
        let is_quiet = is_quiet(request.uri().path());
        let body_read = Arc::new(AtomicBool::new(request.body().is_end_stream()));
        let request = request.map(|body| Body::new(TrackedBody { body, read: Arc::clone(&body_read) }));
        let (response, route) = match self.check(&request) {
            Ok(key) => {
                let context = RequestContext { key, accepts_gzip: accepts_gzip(request.headers()) };
                with_request(context, self.route(request, &request_id)).await
            }
            Err(problem) => (problem.into_response(), None),
        };
        let mut response = with_problem_body(response, &request_id);
        let kind = response.extensions_mut().remove::<ResponseKind>().unwrap_or_default();
        self.connection.start_response(kind);
        let body_read = kind == ResponseKind::Streamed || body_read.load(Ordering::Acquire);
        add_common_headers(&self.app, response.headers_mut(), &request_id, body_read);
        let record = ResponseRecord {
            method: method.as_str(),
            route: route.as_deref().unwrap_or(OTHER),
            status: response.status().as_u16(),
            duration: started.elapsed(),
            request_id: &request_id,
            is_quiet,
        };
        record.write(&self.app);
        response.map(|body| ResponseBody { body, _active: active })
    }

    /// Checks a request before any of its body is read. Returns the index of its key.
    fn check(&self, request: &Request<Body>) -> Result<Option<usize>, Problem> {
        let uri = request.uri();
        let headers = request.headers();
        check_uri(&self.app, uri)?;
        let host = check_host(&self.app, request.version(), uri, headers)?;
        if self.app.keys.is_empty() && !request.method().is_safe() {
            check_origin(host.as_deref(), headers)?;
        }
        let path = uri.path();
        if self.app.is_draining() && !path.starts_with("/health/") {
            return Err(Problem::draining());
        }
        if is_public(path) {
            return Ok(None);
        }
        let required = auth::required_scope(request.method(), path);
        self.app.keys.authenticate(headers, required, self.connection.peer.ip().to_canonical())
    }

    /// Routes a request. Returns the response and the pattern of the route.
    async fn route(&self, mut request: Request<Body>, request_id: &str) -> (Response<Body>, Option<String>) {
        let route = Arc::new(OnceLock::new());
        request.extensions_mut().insert(RequestId(request_id.to_owned()));
        request.extensions_mut().insert(Route(Arc::clone(&route)));
        let mut router = self.router.clone();
        let Ok(response) = router.call(request).await;
        (response, route.get().cloned())
    }
}

/// Returns the response to a head that is rejected before it is parsed, as bytes.
pub(crate) async fn rejection_response(app: &App, problem: &Problem) -> Vec<u8> {
    let request_id = app.ids.next();
    let mut response = problem.respond(&request_id);
    add_common_headers(app, response.headers_mut(), &request_id, false);
    let status = response.status();
    let record = ResponseRecord {
        method: OTHER,
        route: OTHER,
        status: status.as_u16(),
        duration: Duration::ZERO,
        request_id: &request_id,
        is_quiet: false,
    };
    record.write(app);
    let (parts, body) = response.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let mut bytes = format!("HTTP/1.1 {status}\r\n").into_bytes();
    for (name, value) in &parts.headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

/// Replaces a response that carries a problem by the problem's own response.
fn with_problem_body(mut response: Response<Body>, request_id: &str) -> Response<Body> {
    let Some(mut problem) = response.extensions_mut().remove::<Problem>() else { return response };
    // Added by the router to responses with status 405.
    let allow = response.headers_mut().remove(header::ALLOW);
    if let Some(methods) = allow.as_ref().and_then(|allow| allow.to_str().ok()) {
        let methods: Vec<String> = methods.split(',').map(|method| format!("`{}`", method.trim())).collect();
        problem.detail = format!("{}; allowed methods: {}", problem.detail, methods.join(", ")).into();
    }
    let mut response = problem.respond(request_id);
    response.headers_mut().extend(allow.map(|allow| (header::ALLOW, allow)));
    response
}

/// Adds the headers that every response has.
fn add_common_headers(app: &App, headers: &mut HeaderMap, request_id: &str, body_read: bool) {
    let value = HeaderValue::from_static;
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert("x-request-id", id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, value("nosniff"));
    headers.insert(header::REFERRER_POLICY, value("no-referrer"));
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(value(STRICT_POLICY));
    headers.entry(header::CACHE_CONTROL).or_insert(value("no-store"));
    if !body_read || app.is_draining() {
        // An unread body would be parsed as the next request.
        headers.insert(header::CONNECTION, value("close"));
    }
}

/// What is counted and logged of a response.
struct ResponseRecord<'a> {
    method: &'a str,
    route: &'a str,
    status: u16,
    duration: Duration,
    request_id: &'a str,
    /// Whether the response is logged only on level `debug`, if it is a success.
    is_quiet: bool,
}

impl ResponseRecord<'_> {
    fn write(&self, app: &App) {
        let &ResponseRecord { method, route, status, duration, request_id, is_quiet } = self;
        app.metrics.count_response(method_label(method), route, status, duration);
        let milliseconds = duration.as_micros() as f64 / 1e3;
        if is_quiet && status < 400 {
            tracing::debug!(method, route, status, milliseconds, request_id, "response");
        } else {
            tracing::info!(method, route, status, milliseconds, request_id, "response");
        }
    }
}

/// The id of a request, for handlers that write problems into their responses.
#[derive(Clone)]
pub(crate) struct RequestId(pub(crate) String);

/// Receives the pattern of the route that matches a request.
#[derive(Clone)]
pub(crate) struct Route(Arc<OnceLock<String>>);

/// Records the pattern of the route. A layer of the router, where the pattern is known.
pub(crate) async fn record_route(
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> axum::response::Response {
    let matched = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    if let (Some(Route(route)), Some(matched)) = (request.extensions().get::<Route>(), matched) {
        // A request matches one route.
        _ = route.set(matched);
    }
    next.run(request).await
}

/// Returns whether a path needs no key: pages, which contain no data, and health checks.
fn is_public(path: &str) -> bool {
    matches!(path, "/" | "/docs") || path.starts_with("/health/") || path.starts_with("/assets/")
}

/// Returns whether successful requests for a path are not logged: monitoring requests them every few seconds.
fn is_quiet(path: &str) -> bool {
    path.starts_with("/health/") || path == "/metrics"
}

/// Returns the client's request id, if it is short and plain.
fn request_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("x-request-id")?.to_str().ok()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    ((1..=64).contains(&id.len()) && id.bytes().all(is_plain)).then(|| id.to_owned())
}

/// Returns the label of a method, from a fixed set: a client may send any method.
fn method_label(method: &str) -> &'static str {
    const KNOWN: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method).unwrap_or(OTHER)
}

/// A request in progress. Ends on drop, when its response is complete.
struct ActiveRequest {
    app: App,
    connection: Arc<Connection>,
}

impl ActiveRequest {
    fn start(app: &App, connection: &Arc<Connection>) -> ActiveRequest {
        connection.start_request();
        app.running.fetch_add(1, Ordering::SeqCst);
        ActiveRequest { app: app.clone(), connection: Arc::clone(connection) }
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.app.running.fetch_sub(1, Ordering::SeqCst);
        self.connection.end_request();
    }
}

/// A request body that records when it has been read completely.
struct TrackedBody {
    body: Incoming,
    read: Arc<AtomicBool>,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.read.store(true, Ordering::Release);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A response body that keeps its request active.
pub(crate) struct ResponseBody {
    body: Body,
    _active: ActiveRequest,
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
