//! What does every request pass, and what does every answer carry?
//!
//! In this order: a sound head, a key, the route. A large answer counts against the budget of bytes until it has gone out.
//! An answer carries the id of its request and the headers that keep browsers from harm; an error becomes problem+json here,
//! where the id is known. One line of log a request, without the path, because ids stand in it.

use super::watch::Conn;
use crate::auth;
use crate::problem::{Kind, Problem, shown};
use crate::state::{App, Held, on_behalf_of};
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::MatchedPath;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, Version, header};
use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tower_service::Service;

/// One connection's way in.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) app: App,
    pub(crate) router: Router,
    pub(crate) conn: Arc<Conn>,
}

/// Everything but pages: nothing may be loaded, and nobody may frame it.
const STRICT_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// Answers beyond so many bytes count against the budget.
const LARGE_ANSWER: u64 = 64 << 10;

impl hyper::service::Service<Request<Incoming>> for Door {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Answer>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let flaw = self.conn.begin();
        let running = Running::new(self);
        let door = self.clone();
        Box::pin(async move { Ok(door.pass(request, flaw, running).await) })
    }
}

impl Door {
    async fn pass(
        &self,
        request: Request<Incoming>,
        flaw: Option<&'static str>,
        running: Running,
    ) -> Response<Answer> {
        let begun = Instant::now();
        let request_id = request_id(request.headers()).unwrap_or_else(|| self.app.ids.next());
        let method = request.method().clone();
        let read = Arc::new(AtomicBool::new(request.body().is_end_stream()));
        let request = request.map(|body| Body::new(Noted { body, read: Arc::clone(&read) }));
        let quiet = is_quiet(request.uri().path());
        let (mut response, route) = match self.admit(&request, flaw) {
            Ok(key) => on_behalf_of(key, self.route(request, &request_id)).await,
            Err(problem) => (axum::response::IntoResponse::into_response(problem), None),
        };
        let mut held = None;
        match self.hold(response.body()) {
            Ok(bytes) => held = bytes,
            Err(problem) => response = axum::response::IntoResponse::into_response(problem),
        }
        if let Some(problem) = response.extensions_mut().remove::<Problem>() {
            let allow = response.headers_mut().remove(header::ALLOW);
            response = problem.respond(&request_id);
            response.headers_mut().extend(allow.map(|allow| (header::ALLOW, allow)));
        }
        let streamed = response.extensions_mut().remove::<Streamed>().is_some();
        self.finish(response.headers_mut(), &request_id, streamed || read.load(Ordering::Acquire));
        let route = route.unwrap_or_else(|| "other".to_owned());
        let (status, took) = (response.status().as_u16(), begun.elapsed());
        self.app.metrics.answered(known(&method), &route, status, took);
        let milliseconds = took.as_micros() as f64 / 1e3;
        match quiet && status < 400 {
            true => tracing::debug!(%method, route, status, milliseconds, request_id, "answered"),
            false => tracing::info!(%method, route, status, milliseconds, request_id, "answered"),
        }
        response.map(|body| Answer { body, held, _running: running })
    }

    /// Counts a large answer that is there whole against the budget of bytes.
    fn hold(&self, body: &Body) -> Result<Option<Arc<Held>>, Problem> {
        let Some(bytes) = body.size_hint().exact().filter(|bytes| *bytes > LARGE_ANSWER) else {
            return Ok(None);
        };
        let mut held = Held::none(&self.app);
        held.more(bytes as usize)?;
        Ok(Some(Arc::new(held)))
    }

    /// What must hold before a route sees the request; gives the number of its key. Nothing of the body has been read.
    fn admit(&self, request: &Request<Body>, flaw: Option<&'static str>) -> Result<Option<usize>, Problem> {
        let (uri, headers) = (request.uri(), request.headers());
        if let Some(flaw) = flaw {
            return Err(Problem::new(Kind::BadRequest, flaw).closing());
        }
        check_head(&self.app, uri, headers)?;
        let host = check_host(&self.app, request.version(), uri, headers)?;
        if self.app.keys.is_empty() && !request.method().is_safe() {
            check_origin(host.as_deref(), headers)?;
        }
        let path = uri.path();
        if self.app.is_draining() && !path.starts_with("/health/") {
            return Err(Problem::new(Kind::Draining, "the service is stopping: ask another, or later"));
        }
        if is_open(path) {
            return Ok(None);
        }
        let needed = auth::needed(request.method(), path);
        self.app.keys.admit(headers, needed, self.conn.peer.ip().to_canonical())
    }

    async fn route(&self, mut request: Request<Body>, request_id: &str) -> (Response<Body>, Option<String>) {
        let route = Arc::new(std::sync::OnceLock::new());
        request.extensions_mut().insert(RequestId(request_id.to_owned()));
        request.extensions_mut().insert(Route(Arc::clone(&route)));
        let mut router = self.router.clone();
        let response = match router.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        (response, route.get().cloned())
    }

    /// What every answer carries.
    fn finish(&self, headers: &mut HeaderMap, request_id: &str, body_read: bool) {
        let fixed = HeaderValue::from_static;
        if let Ok(id) = HeaderValue::from_str(request_id) {
            headers.insert("x-request-id", id);
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
        headers.insert(header::REFERRER_POLICY, fixed("no-referrer"));
        headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(fixed(STRICT_POLICY));
        headers.entry(header::CACHE_CONTROL).or_insert(fixed("no-store"));
        if !body_read || self.app.is_draining() {
            // What was not read would be taken for the next request.
            headers.insert(header::CONNECTION, fixed("close"));
        }
    }
}

/// The name of a request, for routes that write problems into their answers.
#[derive(Clone)]
pub(crate) struct RequestId(pub(crate) String);

/// Marks an answer that begins before its request has come in whole; whoever gives it reads the rest.
#[derive(Clone, Copy)]
pub(crate) struct Streamed;

/// Where a router notes which of its routes was taken.
#[derive(Clone)]
pub(crate) struct Route(Arc<std::sync::OnceLock<String>>);

/// Notes the route of a request: a layer of the router, where it is known.
pub(crate) async fn note_route(
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> axum::response::Response {
    let matched = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    if let (Some(Route(route)), Some(matched)) = (request.extensions().get::<Route>(), matched) {
        // Set once: a request has one route.
        _ = route.set(matched);
    }
    next.run(request).await
}

/// Sizes of the head, and bytes in the path that no address should have.
fn check_head(app: &App, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let limits = app.limits();
    let length = uri.path_and_query().map_or(0, |path| path.as_str().len());
    if length > limits.uri_bytes {
        let detail = format!("the address has {length} bytes: at most {}", limits.uri_bytes);
        return Err(Problem::new(Kind::UriTooLong, detail));
    }
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if headers.len() > limits.headers || bytes > limits.header_bytes {
        let detail =
            format!("at most {} headers of {} bytes together are taken", limits.headers, limits.header_bytes);
        return Err(Problem::new(Kind::HeadersTooLarge, detail).closing());
    }
    if has_control_escape(uri.path()) {
        return Err(Problem::new(Kind::BadRequest, "the path has an escaped control character"));
    }
    Ok(())
}

/// Whether a path has a control character in percent signs, as in `%00`.
fn has_control_escape(path: &str) -> bool {
    path.as_bytes().windows(3).any(|bytes| {
        bytes[0] == b'%'
            && (matches!(bytes[1], b'0' | b'1') && bytes[2].is_ascii_hexdigit()
                || &bytes[1..] == b"7f"
                || &bytes[1..] == b"7F")
    })
}

/// A request must say whom it asks. Without keys only names that can mean nobody else are answered: a page elsewhere may
/// have its own name lead here, and then ask in the name of whoever reads it.
fn check_host(
    app: &App,
    version: Version,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Option<String>, Problem> {
    let mut all = headers.get_all(header::HOST).iter();
    let host = match (uri.authority(), all.next(), all.next()) {
        (_, _, Some(_)) => return Err(Problem::new(Kind::BadRequest, "`host` is given twice").closing()),
        (Some(authority), _, None) => authority.as_str().to_owned(),
        (None, Some(host), None) => host.to_str().unwrap_or("\0").to_owned(),
        (None, None, None) if version < Version::HTTP_11 => return Ok(None),
        (None, None, None) => return Err(Problem::new(Kind::BadRequest, "`host` is missing").closing()),
    };
    let name =
        host_name(&host).ok_or_else(|| Problem::new(Kind::BadRequest, "`host` is no host name").closing())?;
    let ours = |name: &str| {
        let listed = app.settings.hosts.iter().any(|host| host.eq_ignore_ascii_case(name));
        listed || name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
    };
    if app.keys.is_empty() && !ours(name) {
        let detail =
            format!("`host` is {}: name it under `hosts` in the settings, or set a key", shown(name));
        return Err(Problem::new(Kind::BadRequest, detail));
    }
    Ok(Some(host))
}

/// Without keys nothing but its address protects the service from pages elsewhere, whose scripts may send some requests
/// anywhere without asking first. Browsers say where a request comes from; other clients do not.
fn check_origin(host: Option<&str>, headers: &HeaderMap) -> Result<(), Problem> {
    let ours = |origin: &HeaderValue| {
        let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        origin.is_some_and(|(_, origin)| host.is_some_and(|host| host.eq_ignore_ascii_case(origin)))
    };
    let elsewhere = headers.get_all("sec-fetch-site").iter().any(|site| site == "cross-site");
    match !elsewhere && headers.get_all(header::ORIGIN).iter().all(ours) {
        true => Ok(()),
        false => {
            let detail = "a page of another address asks, and there are no keys: ask from outside a browser, or set a key";
            Err(Problem::new(Kind::Forbidden, detail))
        }
    }
}

/// The name or address in a host, without brackets and port.
fn host_name(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']')?;
            (name, port)
        }
        None => host.find(':').map_or((host, ""), |at| host.split_at(at)),
    };
    let port = port.strip_prefix(':').unwrap_or(port);
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
    let sound =
        !name.is_empty() && name.bytes().all(letters) && port.bytes().all(|byte| byte.is_ascii_digit());
    sound.then_some(name)
}

/// Pages and health hold no data and need no key; a page asks for one before it asks for data.
fn is_open(path: &str) -> bool {
    matches!(path, "/" | "/docs") || path.starts_with("/health/") || path.starts_with("/assets/")
}

/// Asked every few seconds by machines: not worth a line.
fn is_quiet(path: &str) -> bool {
    path.starts_with("/health/") || path == "/metrics"
}

/// The client's own id for its request, if it is short and plain.
fn request_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("x-request-id")?.to_str().ok()?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    ((1..=64).contains(&id.len()) && id.bytes().all(plain)).then(|| id.to_owned())
}

/// Names of methods are labels, so there are few of them.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// A request on its way; ends when its answer has gone out.
pub(crate) struct Running {
    app: App,
    conn: Arc<Conn>,
}

impl Running {
    fn new(door: &Door) -> Running {
        door.app.running.fetch_add(1, Ordering::SeqCst);
        Running { app: door.app.clone(), conn: Arc::clone(&door.conn) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.app.running.fetch_sub(1, Ordering::SeqCst);
        self.conn.end();
    }
}

/// A body that notes when all of it has been read.
struct Noted {
    body: Incoming,
    read: Arc<AtomicBool>,
}

impl HttpBody for Noted {
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

/// The body of an answer, which ends its request when it is done.
pub(crate) struct Answer {
    body: Body,
    /// What it takes of the budget, where it is large.
    held: Option<Arc<Held>>,
    _running: Running,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        let Some(held) = &self.held else { return frame };
        // The bytes wait below when the body is done, so they take what they hold with them.
        let keep = |bytes: Bytes| Bytes::from_owner(Kept { bytes, _held: Arc::clone(held) });
        frame.map(|frame| frame.map(|frame| frame.map(|frame| frame.map_data(keep))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Bytes on their way out that count until they are gone.
struct Kept {
    bytes: Bytes,
    _held: Arc<Held>,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_or_addresses() {
        for (host, name) in [
            ("localhost:7070", "localhost"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]:7070", "::1"),
            ("news.example", "news.example"),
        ] {
            assert_eq!(host_name(host), Some(name));
        }
        for host in ["", ":80", "a b", "a/b", "a@b", "a:b", "[::1", "\0", "é"] {
            assert_eq!(host_name(host), None, "{host}");
        }
    }

    #[test]
    fn control_characters_are_seen_through_percent_signs() {
        for path in ["/a%00", "/%0a", "/%1F", "/%7f"] {
            assert!(has_control_escape(path), "{path}");
        }
        for path in ["/a", "/%20", "/%2F..", "/%c3%a9", "/%", "/%0"] {
            assert!(!has_control_escape(path), "{path}");
        }
    }
}
