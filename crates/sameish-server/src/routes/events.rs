//! Events of a collection, as server-sent events.

use super::{PathParams, Query};
use crate::events::EventHub;
use crate::http::ResponseKind;
use crate::problem::{Kind, Problem};
use crate::routes::stream::ChannelBody;
use crate::state::{App, current_key};
use crate::wire::{EventParams, EventResponse};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sameish_store::EventRange;
use tokio::sync::mpsc;

/// Follow the changes of a collection as server-sent events
///
/// Each event is sent after its commit. With the header `Last-Event-ID`, or `last_event_id`, the stream continues after that event
/// without a gap; without it, the stream starts with the next change. At least the events of the last 24 hours and the last 100,000
/// are kept. A request gets 410 if its id is older, or if its `position` is that of an event that the collection lost when it was
/// restored or created again; `resume_from` is then the position of the oldest event that is kept. A client that reads too slowly
/// gets `event: end` with the reason, and is disconnected.
#[utoipa::path(
    get, path = "/api/v1/{collection}/events", tag = "documents",
    params(
        ("collection" = String, Path),
        ("Last-Event-ID" = Option<String>, Header, description = "Sequence number or `position` of the last event that was received"),
        EventParams,
    ),
    responses(
        (status = 200, description = "A stream of events; the schema is that of `data`", content_type = "text/event-stream", body = EventResponse),
        (status = 410, description = "The event is no longer kept, or not of this collection; `resume_from` is a valid position", content_type = "application/problem+json", body = crate::problem::ProblemBody),
    )
)]
pub(crate) async fn follow(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
    Query(params): Query<EventParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let last = last_event(&headers, params)?;
    let max = app.limits().connections / 2;
    let open = app.events.enter(current_key(), max.max(1))?;
    let started = app.run(move |app| {
        let collection = app.collection(&name)?;
        let subscription = EventHub::subscribe(app, &collection, open)?;
        let position = position_in(collection.event_range()?, last.map(|last| last.sequence))?;
        if let Some(EventId { sequence, check: Some(check) }) = last
            && !collection.has_event(sequence, check)?
        {
            let detail = "the collection has other events than when the client received this one, because it was restored or \
                          created again; read the collection again and continue at `resume_from`";
            return Err(Problem::gone(detail, position));
        }
        Ok((subscription, position))
    });
    let (subscription, position) = started.await?;
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(subscription.run(app.clone(), position, sender));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let mut response = (StatusCode::OK, headers, Body::new(ChannelBody::events(receiver))).into_response();
    response.extensions_mut().insert(ResponseKind::Endless);
    Ok(response)
}

/// An event as a client names it: `17`, or `17-0badcafe` with a check value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct EventId {
    sequence: u64,
    check: Option<u32>,
}

impl EventId {
    fn parse(text: &str) -> Option<EventId> {
        let (sequence, check) =
            text.split_once('-').map_or((text, None), |(number, check)| (number, Some(check)));
        let is_check = |check: &&str| check.len() == 8 && check.bytes().all(|byte| byte.is_ascii_hexdigit());
        let check = match check {
            Some(check) => Some(u32::from_str_radix(Some(check).filter(is_check)?, 16).ok()?),
            None => None,
        };
        Some(EventId { sequence: sequence.parse().ok()?, check })
    }
}

/// Returns the id of the last event that a client has received. The header, which clients send when they connect again, has
/// precedence.
fn last_event(headers: &HeaderMap, params: EventParams) -> Result<Option<EventId>, Problem> {
    let expected = "expected the sequence number or the `position` of an event";
    if let Some(value) = headers.get("last-event-id") {
        let number = value.to_str().ok().and_then(|text| EventId::parse(text.trim()));
        let invalid = || Problem::new(Kind::BadRequest, format!("`last-event-id`: {expected}"));
        return number.ok_or_else(invalid).map(Some);
    }
    let number = |text: String| {
        EventId::parse(&text).ok_or_else(|| Problem::field("?last_event_id", "invalid", expected))
    };
    params.last_event_id.map(number).transpose()
}

/// Returns the position at which a stream starts.
fn position_in(range: EventRange, last: Option<u64>) -> Result<u64, Problem> {
    let Some(last) = last else { return Ok(range.newest) };
    if last > range.newest {
        let detail = "the collection has no such event yet; it may have been restored or created again";
        return Err(Problem::gone(detail, range.newest));
    }
    if last.saturating_add(1) < range.oldest {
        let detail =
            "later events are no longer kept; read the collection again and continue at `resume_from`";
        return Err(Problem::gone(detail, range.oldest - 1));
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_have_a_check_value() {
        let id = |sequence, check| Some(EventId { sequence, check });
        assert_eq!(EventId::parse("17"), id(17, None));
        assert_eq!(EventId::parse("17-0badcafe"), id(17, Some(0x0bad_cafe)));
        for invalid in ["", "-", "17-", "17-0bad", "17-0badcafe0", "x-0badcafe", "17-+badcafe"] {
            assert_eq!(EventId::parse(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn old_and_unknown_positions_are_gone() {
        let range = EventRange { oldest: 11, newest: 20 };
        let position = |last| position_in(range, last).map_err(|problem| problem.resume_from);
        assert_eq!(position(None), Ok(20));
        for last in [10, 15, 20] {
            assert_eq!(position(Some(last)), Ok(last));
        }
        assert_eq!(position(Some(9)), Err(Some(10)));
        assert_eq!(position(Some(21)), Err(Some(20)));
        assert_eq!(position_in(EventRange { oldest: 1, newest: 0 }, Some(0)).ok(), Some(0));
    }
}
