//! Lists of clusters and sources, events, and thresholds to try.

use crate::problem::Problem;
use crate::settings::Limits;
use crate::wire::document::MAX_HOST;
use crate::wire::field_types::{Fraction, ResultLimit, ShortText};
use crate::wire::fields::{Fault, Field, Input, request};
use sameish::Timestamp;
use sameish_store::{ClusterFilter, ClusterOrder, ClustersPage};
use serde_json::{Value as Schema, json};

request! {
    /// Which clusters to return, and in which order.
    pub(crate) struct ClusterListParams {
        /// Order: `newest` (default), `largest`, or `active` (the latest arrival first).
        pub(crate) sort: Option<ClusterSort>,
        /// Clusters with a document of this source; an empty value selects documents without a source.
        pub(crate) source: Option<ShortText<MAX_HOST>>,
        /// Clusters with a document of this date or later: RFC 3339, or YYYY-MM-DD.
        pub(crate) since: Option<ShortText<MAX_DATE>>,
        /// Clusters with a document of this date or earlier. A date without a time includes the whole day.
        pub(crate) until: Option<ShortText<MAX_DATE>>,
        /// Words that must all occur in the title or the id of the center, ignoring case.
        pub(crate) q: Option<ShortText<MAX_WORDS>>,
        /// Minimum number of documents.
        pub(crate) min_size: Option<ResultLimit>,
        /// Maximum number of clusters: at most 1,000. Default: 50.
        pub(crate) limit: Option<ResultLimit>,
        /// Position in the list: `next` of the previous page with the same order and filters.
        pub(crate) cursor: Option<String>,
    }
}

/// Maximum length of a date, and of the words of a filter, in bytes.
const MAX_DATE: usize = 64;
const MAX_WORDS: usize = 1_000;

/// The order of a list of clusters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterSort(ClusterOrder);

const SORTS: [(&str, ClusterOrder); 3] =
    [("newest", ClusterOrder::Newest), ("largest", ClusterOrder::Largest), ("active", ClusterOrder::Active)];

impl Field for ClusterSort {
    fn read(input: Input<'_>, _: &Limits) -> Result<ClusterSort, Fault> {
        let name = input.into_string()?;
        let order = SORTS.iter().find(|(known, _)| *known == name).map(|(_, order)| ClusterSort(*order));
        order.ok_or_else(|| Fault::new("invalid", "expected one of newest, largest, active"))
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "string", "enum": SORTS.map(|(name, _)| name)})
    }
}

impl ClusterListParams {
    /// Returns the page without its position.
    pub(crate) fn page(&self, limits: &Limits) -> Result<ClustersPage, Problem> {
        let mut page = ClustersPage::default();
        page.limit = self.limit.map_or(page.limit, |limit| limit.0.min(limits.results));
        page.order = self.sort.map(|sort| sort.0).unwrap_or_default();
        let words = self.q.iter().flat_map(|words| words.0.split_whitespace());
        page.filter = ClusterFilter {
            source: self.source.as_ref().map(|source| source.0.clone()),
            since: self.since.as_ref().map(|date| date_bound("?since", &date.0, false)).transpose()?,
            until: self.until.as_ref().map(|date| date_bound("?until", &date.0, true)).transpose()?,
            words: words.map(str::to_lowercase).collect(),
            min_size: self.min_size.map_or(0, |size| size.0 as u64),
        };
        Ok(page)
    }
}

/// Returns the first or the last moment of a date or time.
fn date_bound(pointer: &str, text: &str, is_end: bool) -> Result<Timestamp, Problem> {
    let invalid = || {
        Problem::field(
            pointer,
            "invalid",
            "expected a date like `2024-01-31` or a time like `2024-01-31T12:00:00Z`",
        )
    };
    let time = Timestamp::parse(text).map_err(|_| invalid())?;
    let is_day = text.trim().len() == "2024-01-31".len() && text.contains('-');
    let rest_of_day = if is_end && is_day { 86_400_000 - 1 } else { 0 };
    Timestamp::from_milliseconds(time.as_milliseconds() + rest_of_day).ok_or_else(invalid)
}

request! {
    /// Position in the documents of a cluster.
    pub(crate) struct ClusterParams {
        /// Maximum number of documents: at most 1,000. Default: 1,000.
        pub(crate) limit: Option<ResultLimit>,
        /// Position in the list: `next` of the previous page.
        pub(crate) cursor: Option<String>,
    }
}

request! {
    /// Which sources to return, or of which two sources to return pairs of documents.
    pub(crate) struct SourceParams {
        /// Source of the later documents, to list pairs. An empty value selects documents without a source.
        pub(crate) later: Option<ShortText<MAX_HOST>>,
        /// Source of the first documents, to list pairs. Required with `later`.
        pub(crate) earlier: Option<ShortText<MAX_HOST>>,
        /// Number of sources: at most 1,000 in the list and 100 in the matrix, default 30. With `later`, number of pairs: at most
        /// 1,000, default 50.
        pub(crate) limit: Option<ResultLimit>,
        /// Position in the list of pairs: `next` of the previous page.
        pub(crate) cursor: Option<String>,
    }
}

request! {
    /// Where a stream of events starts.
    pub(crate) struct EventParams {
        /// Sequence number or `position` of the last event that was received, for clients that cannot send the header `Last-Event-ID`.
        pub(crate) last_event_id: Option<String>,
    }
}

request! {
    /// A threshold to try.
    pub(crate) struct PreviewParams {
        /// Minimum similarity of a match.
        pub(crate) threshold: Fraction,
    }
}
