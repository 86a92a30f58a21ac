//! Events as they are sent.

use super::{Id, rounded};
use sameish_store::Event;
use serde::Serialize;
use utoipa::ToSchema;

/// The `data` of an event. `title`, `host`, `published_at`, `size` and `lead_seconds` are those at the time of sending.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventResponse {
    /// Position in the events of the collection, from 1 on, without gaps except for damaged events.
    pub(crate) sequence: u64,
    /// The sequence number with a check value. A client that sends it as `Last-Event-ID` gets 410 if the collection was restored or
    /// created again since.
    pub(crate) position: String,
    /// `added`, `replaced`, `deleted`, or `moved`: the document is in another cluster, because other documents were deleted or the
    /// collection was clustered again.
    pub(crate) kind: &'static str,
    /// Time of the change.
    #[schema(format = DateTime)]
    pub(crate) at: String,
    /// Id of the document.
    pub(crate) id: Id,
    /// The first 300 characters of the title.
    pub(crate) title: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) published_at: Option<String>,
    /// Cluster of the document; for a deleted document, its last cluster.
    pub(crate) cluster: Option<u64>,
    /// Number of documents of the cluster.
    pub(crate) size: u64,
    /// Similarity to the best match in the cluster when the document was stored. If it had none there, similarity to the best match of
    /// all if that is a template; otherwise null.
    pub(crate) similarity: Option<f64>,
    /// `exact`, `near` or `similar`.
    pub(crate) match_type: Option<&'static str>,
    /// Whether this match is a template: the same wording with different names or numbers.
    pub(crate) template: bool,
    /// Relation of this match to the document: `same`, `contains` (the document is an excerpt), `contained_in`, `updated_by` (the document
    /// is an update), `update_of` or `overlaps`; null if it was not at hand when the document was stored.
    pub(crate) relation: Option<&'static str>,
    /// Seconds after the first document of the cluster.
    pub(crate) lead_seconds: Option<i64>,
}

impl From<Event> for EventResponse {
    fn from(event: Event) -> EventResponse {
        EventResponse {
            sequence: event.sequence,
            position: format!("{}-{:08x}", event.sequence, event.check),
            kind: event.kind.name(),
            at: event.at.to_string(),
            id: Id(event.id),
            title: event.title.map(cut),
            host: event.source.map(cut),
            published_at: event.published_at.map(cut),
            cluster: event.cluster.map(|cluster| cluster.0),
            size: event.size,
            similarity: event.similarity.map(rounded),
            match_type: event.match_kind.map(|kind| kind.name()),
            template: event.template,
            relation: event.relation.map(|relation| relation.name()),
            lead_seconds: event.lead_seconds,
        }
    }
}

/// Maximum number of characters of a text in an event. Longer texts would fill the channel of a stream.
const MAX_CHARS: usize = 300;

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_CHARS) {
        text.truncate(end);
    }
    text
}
