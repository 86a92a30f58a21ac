//! Request bodies and query strings, documents excepted: one file per resource.

mod browse;
mod documents;
mod search;
mod settings;
mod snapshot;

pub(crate) use browse::*;
pub(crate) use documents::*;
pub(crate) use search::*;
pub(crate) use settings::*;
pub(crate) use snapshot::*;

use super::document::{NewDocument, Replacement};
use super::edits::EditRequest;
use super::fields::Request;
use super::sketches::SketchText;
use crate::settings::Limits;
use serde_json::Value as Schema;

/// Returns the schemas of all request bodies by name, with the limits of a service.
pub(crate) fn body_schemas(limits: &Limits) -> Vec<(&'static str, Schema)> {
    fn named<T: Request>(limits: &Limits) -> (&'static str, Schema) {
        (T::NAME, T::schema(limits))
    }
    vec![
        named::<NewDocument>(limits),
        named::<Replacement>(limits),
        named::<Deletion>(limits),
        named::<TextQuery>(limits),
        named::<CompareTexts>(limits),
        named::<SketchText>(limits),
        named::<CollectionSettings>(limits),
        named::<CollectionChange>(limits),
        named::<EditRequest>(limits),
        named::<SnapshotRequest>(limits),
    ]
}
