//! Storing, deleting, listing and exporting documents.

use crate::wire::field_types::ResultLimit;
use crate::wire::fields::{UnknownFields, request};
use crate::wire::id::{Id, IdType};

request! {
    /// Options for storing a document.
    pub(crate) struct InsertParams {
        /// Whether unknown fields are rejected with 422 instead of being stored as `metadata`. Default: false.
        strict: Option<bool>,
    }
}

impl InsertParams {
    pub(crate) fn unknown_fields(&self) -> UnknownFields {
        unknown_fields(self.strict)
    }
}

request! {
    /// Options of a bulk request.
    pub(crate) struct BulkParams {
        /// Whether lines with unknown fields are rejected. By default, the fields are stored as `metadata`.
        strict: Option<bool>,
        /// Whether the response ends with a line that counts the results: `{"summary": {…}}`. Default: false.
        pub(crate) summary: Option<bool>,
    }
}

impl BulkParams {
    pub(crate) fn unknown_fields(&self) -> UnknownFields {
        unknown_fields(self.strict)
    }
}

fn unknown_fields(strict: Option<bool>) -> UnknownFields {
    if strict.unwrap_or(false) { UnknownFields::Reject } else { UnknownFields::Collect }
}

request! {
    /// A line of a bulk request that deletes a document.
    pub(crate) struct Deletion {
        /// Id of the document to delete.
        pub(crate) delete: Id,
    }
}

request! {
    /// Which of two documents to delete.
    pub(crate) struct DeleteParams {
        /// Type of the id, for a path that matches both an integer id and a string id.
        pub(crate) r#type: Option<IdType>,
    }
}

request! {
    /// Which page of documents to return.
    pub(crate) struct DocumentListParams {
        /// Maximum number of documents: at most 1,000. Default: 50.
        pub(crate) limit: Option<ResultLimit>,
        /// Position in the list: `next` of the previous page.
        pub(crate) cursor: Option<String>,
    }
}

request! {
    /// Which documents to export.
    pub(crate) struct ExportParams {
        /// Whether only centers of clusters and documents without a cluster are exported. Default: false.
        pub(crate) representatives: Option<bool>,
    }
}
