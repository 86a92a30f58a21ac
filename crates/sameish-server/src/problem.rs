//! How is an error told?
//!
//! As RFC 9457 says: `application/problem+json` with `type`, `title`, `status`, `detail`, the id of the request and, for
//! wrong fields, a list of pointers. One table has every kind of problem with its status. A problem never holds what the
//! system said inside: that goes to the log.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::borrow::Cow;
use utoipa::ToSchema;

/// Every kind of problem that a client can meet.
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
    StorageFull,
}

impl Kind {
    /// Its name in `type`, its status, its title.
    fn row(self) -> (&'static str, StatusCode, &'static str) {
        use StatusCode as S;
        match self {
            Kind::BadRequest => ("bad-request", S::BAD_REQUEST, "The request can not be read"),
            Kind::BrokenJson => ("broken-json", S::BAD_REQUEST, "The body is not the JSON it should be"),
            Kind::BadCursor => ("bad-cursor", S::BAD_REQUEST, "The cursor is not one of this list"),
            Kind::Unauthorized => ("unauthorized", S::UNAUTHORIZED, "A key is needed"),
            Kind::Forbidden => ("forbidden", S::FORBIDDEN, "This is not allowed"),
            Kind::NotFound => ("not-found", S::NOT_FOUND, "There is no such thing"),
            Kind::MethodNotAllowed => {
                ("method-not-allowed", S::METHOD_NOT_ALLOWED, "This can not be done here")
            }
            Kind::NotAcceptable => ("not-acceptable", S::NOT_ACCEPTABLE, "The answer has another type"),
            Kind::Timeout => ("timeout", S::REQUEST_TIMEOUT, "The request took too long to arrive"),
            Kind::Conflict => ("conflict", S::CONFLICT, "Something else is there"),
            Kind::TooLarge => ("too-large", S::PAYLOAD_TOO_LARGE, "The request is too large"),
            Kind::UriTooLong => ("uri-too-long", S::URI_TOO_LONG, "The address is too long"),
            Kind::UnsupportedMediaType => {
                ("unsupported-media-type", S::UNSUPPORTED_MEDIA_TYPE, "The body has a type that is not taken")
            }
            Kind::Invalid => ("invalid", S::UNPROCESSABLE_ENTITY, "A value is not usable"),
            Kind::TooManyRequests => ("too-many-requests", S::TOO_MANY_REQUESTS, "Too many requests"),
            Kind::HeadersTooLarge => {
                ("headers-too-large", S::REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large")
            }
            Kind::Internal => ("internal", S::INTERNAL_SERVER_ERROR, "A fault of the service"),
            Kind::Damaged => ("data-damaged", S::INTERNAL_SERVER_ERROR, "The stored document is damaged"),
            Kind::Busy => ("busy", S::SERVICE_UNAVAILABLE, "The service is busy"),
            Kind::Slow => ("slow", S::SERVICE_UNAVAILABLE, "The answer took too long"),
            Kind::Draining => ("draining", S::SERVICE_UNAVAILABLE, "The service is stopping"),
            Kind::StorageFailed => ("storage-failed", S::SERVICE_UNAVAILABLE, "Storage has failed"),
            Kind::ReadOnly => ("read-only", S::SERVICE_UNAVAILABLE, "Nothing can be stored"),
            Kind::StorageFull => ("storage-full", S::INSUFFICIENT_STORAGE, "The disk is full"),
        }
    }

    pub(crate) fn status(self) -> StatusCode {
        self.row().1
    }
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct FieldError {
    /// Where: a JSON pointer into the body, such as `/text`, or `?limit` for a parameter.
    #[schema(example = "/text")]
    pub(crate) pointer: String,
    /// What, for machines: `missing`, `unknown_field`, `wrong_type`, `invalid`, `out_of_range`, `too_long`, `reserved`.
    #[schema(example = "wrong_type")]
    pub(crate) code: Cow<'static, str>,
    /// What, for people.
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

/// An answer that says what went wrong.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) kind: Kind,
    pub(crate) detail: Cow<'static, str>,
    pub(crate) errors: Vec<FieldError>,
    /// Where in the body it is, in bytes.
    pub(crate) offset: Option<usize>,
    /// Seconds after which it is worth another try.
    pub(crate) retry_after: Option<u64>,
    /// Whether the connection ends with the answer.
    pub(crate) close: bool,
    /// What happened inside: for the log, never for the client.
    pub(crate) cause: Option<String>,
}

impl Problem {
    pub(crate) fn new(kind: Kind, detail: impl Into<Cow<'static, str>>) -> Problem {
        let retry_after = match kind {
            Kind::Busy | Kind::Slow | Kind::TooManyRequests => Some(1),
            Kind::Draining => Some(5),
            Kind::StorageFull | Kind::StorageFailed | Kind::ReadOnly => Some(60),
            _ => None,
        };
        let close = matches!(kind, Kind::Draining | Kind::Timeout);
        let (detail, errors) = (detail.into(), Vec::new());
        Problem { kind, detail, errors, offset: None, retry_after, close, cause: None }
    }

    /// Wrong fields, of which there may be several.
    pub(crate) fn fields(errors: Vec<FieldError>) -> Problem {
        let large = errors.iter().any(|error| error.code == "too_large");
        let kind = if large { Kind::TooLarge } else { Kind::Invalid };
        let detail = match &errors[..] {
            [one] => format!("`{}`: {}", shown(&one.pointer), one.detail),
            several => format!("{} values are not usable: see `errors`", several.len()),
        };
        Problem { errors, ..Problem::new(kind, detail) }
    }

    pub(crate) fn field(
        pointer: impl Into<String>,
        code: &'static str,
        detail: impl Into<String>,
    ) -> Problem {
        Problem::fields(vec![FieldError::new(pointer, code, detail)])
    }

    /// A fault of ours: the log has it, the client learns that it happened.
    pub(crate) fn internal(why: impl std::fmt::Display) -> Problem {
        Problem::new(Kind::Internal, "something went wrong inside; the log has more under this request id")
            .because(why.to_string())
    }

    fn because(mut self, why: String) -> Problem {
        self.cause = Some(why);
        self
    }

    pub(crate) fn closing(mut self) -> Problem {
        self.close = true;
        self
    }

    pub(crate) fn at(mut self, offset: usize) -> Problem {
        self.offset = Some(offset);
        self
    }

    /// As it is written. What happened inside goes to the log here, under the id that the client sees.
    pub(crate) fn body(&self, request_id: &str) -> ProblemBody {
        let (name, status, title) = self.kind.row();
        if let Some(why) = &self.cause {
            tracing::error!(problem = name, why, request_id, "a fault inside");
        }
        ProblemBody {
            r#type: format!("urn:sameish:problem:{name}"),
            title: title.into(),
            status: status.as_u16(),
            detail: self.detail.clone().into_owned(),
            request_id: request_id.to_owned(),
            offset: self.offset,
            errors: self.errors.clone(),
        }
    }

    /// The answer as it goes out.
    pub(crate) fn respond(&self, request_id: &str) -> Response {
        let json = serde_json::to_vec(&self.body(request_id)).unwrap_or_default();
        let mut response = (self.kind.status(), json).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
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

pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

/// A problem on its way out. The id of the request is added at the door, where it is known.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.kind.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// An error, as RFC 9457 writes it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody {
    /// Which kind of problem: stable, for machines.
    #[schema(example = "urn:sameish:problem:invalid")]
    pub(crate) r#type: String,
    /// The kind, for people.
    pub(crate) title: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub(crate) status: u16,
    /// What happened here, and what would be right.
    pub(crate) detail: String,
    /// The same as in the header `x-request-id` and in the log.
    pub(crate) request_id: String,
    /// Where in the body it is, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) offset: Option<usize>,
    /// The fields that are wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<FieldError>,
}

/// At most 64 characters of what a client sent, with nothing in them that could steer a terminal.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(64).flat_map(char::escape_debug).collect();
    if text.chars().nth(64).is_some() {
        shown.push('…');
    }
    shown
}

impl From<sameish_store::Error> for Problem {
    fn from(error: sameish_store::Error) -> Problem {
        use sameish_store::Error as E;
        let text = error.to_string();
        match error {
            E::NoCollection { name } => Problem::new(
                Kind::NotFound,
                format!("no collection is named `{}`: make it with PUT", shown(&name)),
            ),
            E::NoDocument { id } => {
                Problem::new(Kind::NotFound, format!("no document has the id `{}`", shown(&id.to_string())))
            }
            E::Exists { .. } => Problem::new(Kind::Conflict, text),
            E::Conflict { id } => Problem::new(
                Kind::Conflict,
                format!(
                    "the id `{}` has another text: replace it with PUT, or use another id",
                    shown(&id.to_string())
                ),
            ),
            E::BadName { name, reserved } => Problem::new(
                Kind::Invalid,
                format!(
                    "`{}` is no name for a collection: must be 1 to 64 of a-z, 0-9, - and _, and not {reserved}",
                    shown(&name)
                ),
            ),
            E::BadId { reason } => {
                Problem::field("/id", "invalid", format!("the id is not usable: {reason}"))
            }
            E::Engine(sameish::Error::InvalidField { field: "published_at", .. }) => {
                Problem::field("/published_at", "invalid", text)
            }
            E::Engine(_) => Problem::new(Kind::Invalid, text),
            E::Busy => Problem::new(Kind::Busy, "too many writes are waiting: try again in a second"),
            E::Full => Problem::new(Kind::StorageFull, "the disk is full: nothing of this was stored"),
            E::Failed { reason } => {
                Problem::new(Kind::StorageFailed, "writing failed: reads go on, writes stop until a restart")
                    .because(reason.to_string())
            }
            E::ReadOnly { .. } => Problem::new(Kind::ReadOnly, "the data folder was opened for reading only"),
            E::Closed => Problem::new(Kind::Draining, "the service is stopping: ask another, or later"),
            E::Damaged { what, reason } => {
                let cause = format!("{what} is damaged: {reason}");
                Problem::new(
                    Kind::Damaged,
                    "the stored document is damaged: restore it from a snapshot, or delete it and send it again",
                )
                .because(cause)
            }
            _ => Problem::internal(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_field_is_named_in_the_detail() {
        let problem = Problem::field("/text", "missing", "must be there");
        assert_eq!(problem.detail, "`/text`: must be there");
        assert_eq!(problem.kind.status(), 422);
        assert_eq!(Problem::field("/text", "too_large", "x").kind.status(), 413);
    }

    #[test]
    fn every_503_says_when_to_come_back() {
        for kind in [Kind::Busy, Kind::Slow, Kind::Draining, Kind::StorageFailed, Kind::ReadOnly] {
            assert_eq!(kind.status(), 503);
            assert!(Problem::new(kind, "x").respond("id").headers().contains_key("retry-after"), "{kind:?}");
        }
    }

    #[test]
    fn what_happened_inside_is_not_told() {
        let problem = Problem::internal("the secret reason");
        assert_eq!(problem.cause.as_deref(), Some("the secret reason"));
        assert!(!format!("{:?}", problem.body("id")).contains("secret"));
    }

    #[test]
    fn what_a_client_sent_is_shown_in_short_and_escaped() {
        assert_eq!(shown("a\u{1b}[31m\nb"), "a\\u{1b}[31m\\nb");
        assert!(shown(&"x".repeat(100_000)).chars().count() == 65);
    }
}
