//! Response lines of bulk requests.

use super::document::Warning;
use super::{Duplicate, Id, InsertResponse};
use crate::problem::ProblemBody;
use crate::response::Items;
use serde::Serialize;
use utoipa::ToSchema;

/// One line of the response to a bulk request.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BulkLine {
    /// Number of the line in the request, from 1.
    pub(crate) line: u64,
    /// Id of the document, if the line is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) id: Option<Id>,
    /// Status, as in the response to a request with this document alone, or `deleted`, or `rejected`.
    pub(crate) status: &'static str,
    /// HTTP status code that a request with this document alone would get.
    pub(crate) http_status: u16,
    /// Stored documents that match, most similar first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Vec<Duplicate>>)]
    pub(crate) duplicates: Option<Items<Duplicate>>,
    /// Cluster of the document. With the linkage `online`, each text that is too short is a cluster of its own.
    pub(crate) cluster: Option<u64>,
    /// Whether the text is too short for the collection's preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) too_short: Option<bool>,
    /// Whether a limit was reached, so that duplicates may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) capped: Option<bool>,
    /// Suspicious values: `published_in_future`, or `title_compared: …` if the title was compared although another field probably
    /// contains the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub(crate) warnings: Vec<Warning>,
    /// Why the line was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) error: Option<ProblemBody>,
}

impl BulkLine {
    pub(crate) fn stored(line: u64, response: InsertResponse) -> BulkLine {
        let http_status = response.status_code();
        let InsertResponse { id, status, duplicates, cluster, too_short, capped, warnings } = response;
        BulkLine {
            line,
            id: Some(id),
            status,
            http_status,
            duplicates: Some(duplicates),
            cluster,
            too_short: Some(too_short),
            capped: Some(capped),
            warnings,
            error: None,
        }
    }

    /// Returns the line with its end.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Creates the line of a deleted document.
    pub(crate) fn deleted(line: u64, id: Option<Id>) -> BulkLine {
        BulkLine { id, status: "deleted", http_status: 204, ..BulkLine::empty(line) }
    }

    /// Creates the line of a document that is not stored or not deleted.
    pub(crate) fn rejected(line: u64, id: Option<Id>, error: ProblemBody) -> BulkLine {
        let http_status = error.status;
        BulkLine { id, status: "rejected", http_status, error: Some(error), ..BulkLine::empty(line) }
    }

    fn empty(line: u64) -> BulkLine {
        BulkLine {
            line,
            id: None,
            status: "",
            http_status: 0,
            duplicates: None,
            cluster: None,
            too_short: None,
            capped: None,
            warnings: Vec::new(),
            error: None,
        }
    }
}

/// The last line of the response to a bulk request with `summary=true`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BulkSummaryLine {
    pub(crate) summary: BulkSummary,
}

/// Counts of the response lines of a bulk request.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub(crate) struct BulkSummary {
    /// Whether every line of the request was processed. If not, the line before the summary gives the reason.
    pub(crate) complete: bool,
    /// Number of response lines before the summary.
    pub(crate) lines: u64,
    /// Number of new documents.
    pub(crate) stored: u64,
    /// Number of documents that existed with the same text.
    pub(crate) unchanged: u64,
    /// Number of stored or unchanged documents that have duplicates.
    pub(crate) duplicates: u64,
    /// Number of stored or unchanged documents that are too short for the collection's preset.
    pub(crate) too_short: u64,
    /// Number of deleted documents.
    pub(crate) deleted: u64,
    /// Number of rejected lines.
    pub(crate) rejected: u64,
    /// Number of stored or unchanged documents with warnings.
    pub(crate) warnings: u64,
}

impl BulkSummary {
    /// Counts a stored or unchanged document.
    pub(crate) fn count_stored(&mut self, response: &InsertResponse, has_duplicates: bool) {
        self.lines += 1;
        self.stored += u64::from(response.status_code() == 201);
        self.unchanged += u64::from(response.status_code() != 201);
        self.duplicates += u64::from(has_duplicates);
        self.too_short += u64::from(response.too_short);
        self.warnings += u64::from(!response.warnings.is_empty());
    }

    pub(crate) fn count_deleted(&mut self) {
        self.lines += 1;
        self.deleted += 1;
    }

    pub(crate) fn count_rejected(&mut self) {
        self.lines += 1;
        self.rejected += 1;
    }

    /// Returns the last response line with its end.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(&BulkSummaryLine { summary: self.clone() }).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}
