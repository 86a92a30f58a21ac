//! Editorial decisions on clusters.

use super::field_types::{Bounded, List, ResultLimit};
use super::fields::{Fault, Field, Input, request};
use super::id::Id;
use crate::problem::{FieldError, Problem};
use crate::response::Items;
use crate::settings::Limits;
use sameish::cluster::ClusterId;
use sameish_store::{Edit, EditKind, NewEdit};
use serde::Serialize;
use serde_json::{Value as Schema, json};
use utoipa::ToSchema;

request! {
    /// An editorial decision. `split`: `documents` leave the cluster `cluster` and form a new one. `merge`: `clusters` become one.
    /// `same`: the documents `a` and `b` belong to one cluster. `different`: they do not. Fields that the kind does not need must
    /// be absent or null.
    pub(crate) struct EditRequest {
        /// What the edit does.
        kind: EditKind,
        /// For `split`: the cluster.
        cluster: Option<ClusterNumber>,
        /// For `split`: some documents of the cluster, but not all.
        documents: Option<List<Id, 1_000>>,
        /// For `merge`: at least two clusters.
        clusters: Option<List<ClusterNumber, 100>>,
        /// For `same` and `different`: a document.
        a: Option<Id>,
        /// For `same` and `different`: another document.
        b: Option<Id>,
    }
}

/// The number of a cluster.
type ClusterNumber = Bounded<1, { i64::MAX as u64 }>;

impl Field for EditKind {
    fn read(input: Input<'_>, _: &Limits) -> Result<EditKind, Fault> {
        let name = input.into_string()?;
        let kind = EditKind::ALL.into_iter().find(|kind| kind.name() == name);
        kind.ok_or_else(|| Fault::new("invalid", "expected split, merge, same or different"))
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "string", "enum": EditKind::ALL.map(EditKind::name)})
    }
}

impl EditRequest {
    /// Returns the edit, if the request has the fields of its kind and no others.
    pub(crate) fn into_edit(self) -> Result<NewEdit, Problem> {
        let EditRequest { kind, cluster, documents, clusters, a, b } = self;
        let needed: &[&str] = match kind {
            EditKind::Split => &["cluster", "documents"],
            EditKind::Merge => &["clusters"],
            EditKind::Same | EditKind::Different => &["a", "b"],
        };
        let given = [
            ("cluster", cluster.is_some()),
            ("documents", documents.is_some()),
            ("clusters", clusters.is_some()),
            ("a", a.is_some()),
            ("b", b.is_some()),
        ];
        let faults: Vec<FieldError> =
            given.iter().filter_map(|(name, is_given)| field_fault(kind, needed, name, *is_given)).collect();
        if !faults.is_empty() {
            return Err(Problem::fields(faults));
        }
        let number = |number: ClusterNumber| ClusterId(number.0);
        let edit = match kind {
            EditKind::Split => cluster.zip(documents).map(|(cluster, documents)| NewEdit::Split {
                cluster: number(cluster),
                documents: documents.0.into_iter().map(|id| id.0).collect(),
            }),
            EditKind::Merge => clusters
                .map(|clusters| NewEdit::Merge { clusters: clusters.0.into_iter().map(number).collect() }),
            EditKind::Same => a.zip(b).map(|(a, b)| NewEdit::Same { a: a.0, b: b.0 }),
            EditKind::Different => a.zip(b).map(|(a, b)| NewEdit::Different { a: a.0, b: b.0 }),
        };
        edit.ok_or_else(|| Problem::internal("a missing field was not recorded"))
    }
}

/// Describes a field that is missing, or that the kind of an edit does not have.
fn field_fault(kind: EditKind, needed: &[&str], name: &str, is_given: bool) -> Option<FieldError> {
    let pointer = format!("/{name}");
    match (needed.contains(&name), is_given) {
        (true, false) => {
            Some(FieldError::new(pointer, "missing", format!("is required for `{}`", kind.name())))
        }
        (false, true) => {
            Some(FieldError::new(pointer, "invalid", format!("does not apply to `{}`", kind.name())))
        }
        _ => None,
    }
}

request! {
    /// Which page of edits to return.
    pub(crate) struct EditListParams {
        /// Maximum number of edits: at most 1,000. Default: 50.
        pub(crate) limit: Option<ResultLimit>,
        /// Position in the list: `next` of the previous page.
        pub(crate) cursor: Option<String>,
    }
}

/// Edits that were not undone, the latest first; one without effect is not `active`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EditsResponse {
    #[schema(value_type = Vec<EditResponse>)]
    pub(crate) edits: Items<EditResponse>,
    /// Position of the next page; null on the last page.
    pub(crate) next: Option<String>,
    /// Whether edits were left out of the page because of its size. They are on the next page.
    pub(crate) capped: bool,
    /// Number of existing documents that the edits of the collection name.
    pub(crate) named: u64,
    /// Maximum of `named`.
    pub(crate) max_named: u64,
}

/// An edit.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EditResponse {
    /// Number of the edit, never reused. Later edits have greater numbers.
    pub(crate) edit: u64,
    /// `split`, `merge`, `same` or `different`.
    pub(crate) kind: &'static str,
    /// Time of the edit.
    #[schema(format = DateTime)]
    pub(crate) at: String,
    /// The documents that the edit names: for a split, those that left their cluster; for a merge, the first ones of each cluster.
    pub(crate) documents: Vec<Id>,
    /// The clusters of these documents now.
    pub(crate) clusters: Vec<u64>,
    /// Whether the edit has an effect: the documents that it needs exist, and later edits do not overrule the whole edit.
    pub(crate) active: bool,
    /// Whether documents are still being moved because of edits.
    pub(crate) pending: bool,
}

impl From<Edit> for EditResponse {
    fn from(edit: Edit) -> EditResponse {
        EditResponse {
            edit: edit.number,
            kind: edit.kind.name(),
            at: edit.at.to_string(),
            documents: edit.documents.into_iter().map(Id).collect(),
            clusters: edit.clusters.into_iter().map(|cluster| cluster.0).collect(),
            active: edit.active,
            pending: edit.pending,
        }
    }
}
