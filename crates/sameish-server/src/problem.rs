//! Errors as problem details (RFC 9457).
//!
//! A problem is `application/problem+json` with `type`, `title`, `status`, `detail`, the request id and, for invalid fields, a list
//! of pointers. One table defines the name, status and title of each kind. Internal causes are logged and never sent.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::borrow::Cow;
use utoipa::ToSchema;

/// The kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    BadRequest,
    BrokenJson,
    BadCursor,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    NotAcceptable,
    Timeout,
    Conflict,
    Gone,
    TooLarge,
    UriTooLong,
    UnsupportedMediaType,
    Invalid,
    TooManyRequests,
    HeadersTooLarge,
    Internal,
    Damaged,
    Busy,
    Slow,
    Draining,
    StorageFailed,
    ReadOnly,
    CollectionUnavailable,
    StorageFull,
}

/// The definition of a kind: the end of `type`, the status and the title.
struct Definition {
    name: &'static str,
    status: StatusCode,
    title: &'static str,
}

impl Kind {
    fn definition(self) -> Definition {
        use StatusCode as S;
        let (name, status, title) = match self {
            Kind::BadRequest => ("bad-request", S::BAD_REQUEST, "The request is malformed"),
            Kind::BrokenJson => ("broken-json", S::BAD_REQUEST, "The body is not valid JSON"),
            Kind::BadCursor => ("bad-cursor", S::BAD_REQUEST, "The cursor is invalid"),
            Kind::Unauthorized => ("unauthorized", S::UNAUTHORIZED, "A valid key is required"),
            Kind::Forbidden => ("forbidden", S::FORBIDDEN, "The request is not permitted"),
            Kind::NotFound => ("not-found", S::NOT_FOUND, "Not found"),
            Kind::MethodNotAllowed => ("method-not-allowed", S::METHOD_NOT_ALLOWED, "Method not allowed"),
            Kind::NotAcceptable => ("not-acceptable", S::NOT_ACCEPTABLE, "Not acceptable"),
            Kind::Timeout => ("timeout", S::REQUEST_TIMEOUT, "The request arrived too slowly"),
            Kind::Conflict => ("conflict", S::CONFLICT, "Conflict with stored data"),
            Kind::Gone => ("gone", S::GONE, "No longer available"),
            Kind::TooLarge => ("too-large", S::PAYLOAD_TOO_LARGE, "The request is too large"),
            Kind::UriTooLong => ("uri-too-long", S::URI_TOO_LONG, "The URI is too long"),
            Kind::UnsupportedMediaType => {
                ("unsupported-media-type", S::UNSUPPORTED_MEDIA_TYPE, "Unsupported media type")
            }
            Kind::Invalid => ("invalid", S::UNPROCESSABLE_ENTITY, "A value is invalid"),
            Kind::TooManyRequests => ("too-many-requests", S::TOO_MANY_REQUESTS, "Too many requests"),
            Kind::HeadersTooLarge => {
                ("headers-too-large", S::REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large")
            }
            Kind::Internal => ("internal", S::INTERNAL_SERVER_ERROR, "Internal error"),
            Kind::Damaged => ("data-damaged", S::INTERNAL_SERVER_ERROR, "The stored document is damaged"),
            Kind::Busy => ("busy", S::SERVICE_UNAVAILABLE, "The service is overloaded"),
            Kind::Slow => ("slow", S::SERVICE_UNAVAILABLE, "The request took too long"),
            Kind::Draining => ("draining", S::SERVICE_UNAVAILABLE, "The service is shutting down"),
            Kind::StorageFailed => ("storage-failed", S::SERVICE_UNAVAILABLE, "Storage has failed"),
            Kind::ReadOnly => ("read-only", S::SERVICE_UNAVAILABLE, "The service is read-only"),
            Kind::CollectionUnavailable => {
                ("collection-unavailable", S::SERVICE_UNAVAILABLE, "The collection is unavailable")
            }
            Kind::StorageFull => ("storage-full", S::INSUFFICIENT_STORAGE, "Out of disk space"),
        };
        Definition { name, status, title }
    }

    pub(crate) fn status(self) -> StatusCode {
        self.definition().status
    }
}

/// An error in one field of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct FieldError {
    /// Location: a JSON pointer into the body such as `/text`, or `?limit` for a query parameter.
    #[schema(example = "/text")]
    pub(crate) pointer: String,
    /// Stable code: `missing`, `unknown_field`, `wrong_type`, `invalid`, `out_of_range`, `too_long`, `too_large` or `reserved`.
    #[schema(example = "wrong_type")]
    pub(crate) code: Cow<'static, str>,
    /// Explanation of the error, for people.
    pub(crate) detail: String,
}

impl FieldError {
    pub(crate) fn new(
        pointer: impl Into<String>,
        code: &'static str,
        detail: impl Into<String>,
    ) -> FieldError {
        FieldError { pointer: pointer.into(), code: code.into(), detail: detail.into() }
    }
}

/// An error response.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) kind: Kind,
    pub(crate) detail: Cow<'static, str>,
    pub(crate) errors: Vec<FieldError>,
    /// Offset of the error in the body, in bytes.
    pub(crate) offset: Option<usize>,
    /// Position at which a client can continue.
    pub(crate) resume_from: Option<u64>,
    /// Seconds to wait before a retry.
    pub(crate) retry_after: Option<u32>,
    /// Whether the connection is closed after the response.
    pub(crate) close: bool,
    /// Internal cause: logged, never sent.
    pub(crate) cause: Option<String>,
}

impl Problem {
    pub(crate) fn new(kind: Kind, detail: impl Into<Cow<'static, str>>) -> Problem {
        let retry_after = match kind {
            Kind::Busy | Kind::Slow | Kind::TooManyRequests => Some(1),
            Kind::Draining => Some(5),
            Kind::StorageFull | Kind::StorageFailed | Kind::ReadOnly | Kind::CollectionUnavailable => {
                Some(60)
            }
            _ => None,
        };
        Problem {
            kind,
            detail: detail.into(),
            errors: Vec::new(),
            offset: None,
            resume_from: None,
            retry_after,
            close: matches!(kind, Kind::Draining | Kind::Timeout),
            cause: None,
        }
    }

    /// Creates a problem of one or more invalid fields.
    pub(crate) fn fields(errors: Vec<FieldError>) -> Problem {
        let is_too_large = errors.iter().any(|error| error.code == "too_large");
        let kind = if is_too_large { Kind::TooLarge } else { Kind::Invalid };
        let detail = match &errors[..] {
            [error] => format!("`{}`: {}", shown(&error.pointer), error.detail),
            errors => format!("{} values are invalid; see `errors`", errors.len()),
        };
        Problem { errors, ..Problem::new(kind, detail) }
    }

    /// Creates a problem of one invalid field.
    pub(crate) fn field(
        pointer: impl Into<String>,
        code: &'static str,
        detail: impl Into<String>,
    ) -> Problem {
        Problem::fields(vec![FieldError::new(pointer, code, detail)])
    }

    /// Creates an internal error. The cause is logged; the client only sees the request id.
    pub(crate) fn internal(cause: impl std::fmt::Display) -> Problem {
        Problem::new(Kind::Internal, "the server log contains the cause under this request id")
            .caused_by(cause.to_string())
    }

    /// Returns `true` if the problem is the content of a document, so that sending it again would not help.
    pub(crate) fn rejects_document(&self) -> bool {
        let status = self.kind.status();
        [StatusCode::BAD_REQUEST, StatusCode::CONFLICT, StatusCode::PAYLOAD_TOO_LARGE].contains(&status)
            || status == StatusCode::UNPROCESSABLE_ENTITY
    }

    /// Creates the problem of a position in events that are not kept.
    pub(crate) fn gone(detail: &'static str, resume_from: u64) -> Problem {
        Problem { resume_from: Some(resume_from), ..Problem::new(Kind::Gone, detail) }
    }

    /// Creates the problem of a failed sync.
    pub(crate) fn storage_failed() -> Problem {
        Problem::new(
            Kind::StorageFailed,
            "a write failed; reads work, but writes fail until the service is restarted",
        )
    }

    /// Creates the problem of a request during shutdown.
    pub(crate) fn draining() -> Problem {
        Problem::new(Kind::Draining, "the service is shutting down; retry later or on another instance")
    }

    fn caused_by(mut self, cause: String) -> Problem {
        self.cause = Some(cause);
        self
    }

    /// Closes the connection after the response.
    pub(crate) fn closing(mut self) -> Problem {
        self.close = true;
        self
    }

    /// Sets the offset of the error in the body.
    pub(crate) fn at(mut self, offset: usize) -> Problem {
        self.offset = Some(offset);
        self
    }

    /// Returns the content of the response. Logs the internal cause under the same request id.
    pub(crate) fn body(&self, request_id: &str) -> ProblemBody {
        let Definition { name, status, title } = self.kind.definition();
        if let Some(cause) = &self.cause {
            tracing::error!(problem = name, cause, request_id, "request failed");
        }
        ProblemBody {
            r#type: format!("urn:sameish:problem:{name}"),
            title: title.into(),
            status: status.as_u16(),
            detail: self.detail.clone().into_owned(),
            request_id: request_id.to_owned(),
            offset: self.offset,
            resume_from: self.resume_from,
            errors: self.errors.clone(),
        }
    }

    /// Returns the response.
    pub(crate) fn respond(&self, request_id: &str) -> Response {
        let json = serde_json::to_vec(&self.body(request_id)).unwrap_or_default();
        let mut response = (self.kind.status(), json).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.close {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if self.kind == Kind::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"sameish\""));
        }
        response
    }
}

/// Stores the problem in the extensions of the response. The middleware, which knows the request id, creates the body.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.kind.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// An error in the format of RFC 9457.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody {
    /// Stable identifier of the kind of problem.
    #[schema(example = "urn:sameish:problem:invalid")]
    pub(crate) r#type: String,
    /// Title of the kind of problem.
    pub(crate) title: String,
    /// HTTP status code.
    #[schema(minimum = 400, maximum = 599)]
    pub(crate) status: u16,
    /// Explanation of this occurrence.
    pub(crate) detail: String,
    /// Request id, as in the header `x-request-id` and in the log.
    pub(crate) request_id: String,
    /// Offset of the error in the body, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) offset: Option<usize>,
    /// Position of an event at which a stream can continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) resume_from: Option<u64>,
    /// Invalid fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<FieldError>,
}

/// Maximum number of characters of client input that a message repeats.
const MAX_SHOWN: usize = 64;

/// Returns client input for a message: shortened, and with control characters escaped.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

impl From<sameish_store::Error> for Problem {
    fn from(error: sameish_store::Error) -> Problem {
        use sameish_store::Error as E;
        let text = error.to_string();
        match error {
            E::NoCollection { name } => {
                let name = shown(&name);
                Problem::new(Kind::NotFound, format!("no collection is named `{name}`; create it with PUT"))
            }
            E::NoDocument { id } => {
                let id = shown(&id.to_string());
                Problem::new(Kind::NotFound, format!("no document has the id `{id}`"))
            }
            E::NoCluster { .. } => Problem::new(Kind::NotFound, text),
            E::BadEdit { .. } => Problem::new(Kind::Invalid, text),
            E::Exists { .. } => Problem::new(Kind::Conflict, text),
            E::Unavailable(_) => Problem::new(Kind::CollectionUnavailable, text),
            E::Conflict { id } => {
                let id = shown(&id.to_string());
                let detail = format!(
                    "id `{id}` already exists with a different text; replace it with PUT, or use another id"
                );
                Problem::new(Kind::Conflict, detail)
            }
            E::BadName { name, reserved } => {
                let name = shown(&name);
                let detail = format!(
                    "`{name}` is not a valid collection name; expected 1 to 64 characters from a-z, 0-9, - and _, and not {reserved}"
                );
                Problem::new(Kind::Invalid, detail)
            }
            E::BadId { reason } => Problem::field("/id", "invalid", format!("the id {reason}")),
            E::Engine(sameish::Error::InvalidField { field: "published_at", .. }) => {
                Problem::field("/published_at", "invalid", text)
            }
            E::Engine(_) | E::CenterLinkage => Problem::new(Kind::Invalid, text),
            E::Busy => Problem::new(Kind::Busy, "too many writes are queued; retry in a second"),
            E::Full => Problem::new(Kind::StorageFull, "out of disk space; nothing was stored"),
            E::Failed { reason } => Problem::storage_failed().caused_by(reason.to_string()),
            E::ReadOnly { .. } => {
                Problem::new(Kind::ReadOnly, "the data directory is open read-only; writes are rejected")
            }
            E::Closed => Problem::draining(),
            E::Damaged { what, reason } => {
                let detail = "restore the document from a snapshot, or delete it and send it again";
                Problem::new(Kind::Damaged, detail).caused_by(format!("{what} is damaged: {reason}"))
            }
            _ => Problem::internal(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_a_single_invalid_field_in_the_detail() {
        let problem = Problem::field("/text", "missing", "is required");
        assert_eq!(problem.detail, "`/text`: is required");
        assert_eq!(problem.kind.status(), 422);
        assert_eq!(Problem::field("/text", "too_large", "x").kind.status(), 413);
    }

    #[test]
    fn every_503_has_retry_after() {
        for kind in [
            Kind::Busy,
            Kind::Slow,
            Kind::Draining,
            Kind::StorageFailed,
            Kind::ReadOnly,
            Kind::CollectionUnavailable,
        ] {
            assert_eq!(kind.status(), 503);
            assert!(Problem::new(kind, "x").respond("id").headers().contains_key("retry-after"), "{kind:?}");
        }
    }

    #[test]
    fn does_not_send_internal_causes() {
        let problem = Problem::internal("the secret reason");
        assert_eq!(problem.cause.as_deref(), Some("the secret reason"));
        assert!(!format!("{:?}", problem.body("id")).contains("secret"));
    }

    #[test]
    fn shortens_and_escapes_client_input() {
        assert_eq!(shown("a\u{1b}[31m\nb"), "a\\u{1b}[31m\\nb");
        assert!(shown(&"x".repeat(100_000)).chars().count() == 65);
    }
}
