//! Inserts of many documents.
//!
//! A [`Batch`] collects documents chunk by chunk and prepares each chunk on all cores. The engine inserts the documents when
//! the batch is complete, so an input that fails halfway leaves the engine unchanged.

use crate::analyzer::contents;
use crate::error::{CodedError, Result};
use crate::id::{self, Id};
use crate::job::{Job, lock};
use crate::sketches::Text;
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use rayon::prelude::*;
use sameish::analyzer::{Prepared, Status};
use sameish::config::Linkage;
use sameish::{Analyzer, Content, DocId, Engine, Scratch, Timestamp};
use std::sync::{Arc, Mutex};

/// A document that is ready to be inserted.
pub(crate) struct PreparedDocument {
    id: DocId,
    published_at: Option<String>,
    prepared: Prepared,
}

/// Documents to be inserted together.
#[napi(js_name = "Batch")]
pub struct Batch {
    analyzer: Analyzer,
    documents: Arc<Mutex<Vec<PreparedDocument>>>,
}

/// A chunk of documents as columns of equal length.
#[napi(object)]
pub struct DocumentColumns {
    /// Ids.
    pub ids: Vec<Id>,
    /// Texts or tokens.
    pub texts: Vec<Text>,
    /// Publication dates.
    pub dates: Vec<Option<String>>,
}

/// The outcome of inserting a batch.
#[napi(object)]
#[derive(Default)]
pub struct Added {
    /// Number of documents inserted.
    pub added: f64,
    /// Number of those that replaced a document with the same id.
    pub replaced: f64,
    /// Number of those whose text is too short for the settings.
    pub too_short: f64,
}

#[napi]
impl Batch {
    /// Prepares a chunk of documents.
    #[napi(catch_unwind)]
    pub fn push(&self, chunk: DocumentColumns) -> Result<()> {
        Ok(self.preparation(chunk)()?)
    }

    /// Prepares a chunk of documents on worker threads.
    #[napi(js_name = "pushAsync", catch_unwind)]
    pub fn push_async(&self, chunk: DocumentColumns) -> AsyncTask<Job<()>> {
        Job::start(self.preparation(chunk))
    }

    /// Returns a closure that prepares a chunk on any thread and appends it to the batch.
    fn preparation(&self, chunk: DocumentColumns) -> impl FnOnce() -> Result<(), CodedError> + Send + use<> {
        let analyzer = self.analyzer.clone();
        let documents = Arc::clone(&self.documents);
        let ids: Vec<DocId> = chunk.ids.into_iter().map(id::from_js).collect();
        let contents = contents(chunk.texts);
        let dates = chunk.dates;
        move || {
            if analyzer.config().matching.linkage == Linkage::Greedy {
                check_dates(&dates, lock(&documents).len())?;
            }
            let prepare =
                |content: &Content| Scratch::with_thread_local(|scratch| analyzer.prepare(content, scratch));
            let prepared: Vec<Prepared> = contents.par_iter().map(prepare).collect();
            let columns = ids.into_iter().zip(dates).zip(prepared);
            lock(&documents).extend(columns.map(|((id, published_at), prepared)| PreparedDocument {
                id,
                published_at,
                prepared,
            }));
            Ok(())
        }
    }
}

impl Batch {
    pub(crate) fn new(analyzer: Analyzer) -> Batch {
        Batch { analyzer, documents: Arc::default() }
    }

    /// Removes and returns the documents.
    pub(crate) fn take(&self) -> Vec<PreparedDocument> {
        std::mem::take(&mut *lock(&self.documents))
    }
}

/// Returns an error for the first invalid date. Dates are checked here because the engine must not insert part of a batch.
fn check_dates(dates: &[Option<String>], first_position: usize) -> Result<(), CodedError> {
    for (i, date) in dates.iter().enumerate() {
        let Some(date) = date else { continue };
        let path = || format!("documents[{}].publishedAt", first_position + i);
        Timestamp::parse(date).map_err(|error| CodedError::from_date(error, &path()))?;
    }
    Ok(())
}

/// Inserts prepared documents.
pub(crate) fn insert_all(engine: &mut Engine, documents: Vec<PreparedDocument>) -> Result<Added, CodedError> {
    let mut added = Added::default();
    for PreparedDocument { id, published_at, prepared } in documents {
        let inserted = engine.insert_prepared(&id, published_at.as_deref(), prepared)?;
        added.added += 1.0;
        added.replaced += f64::from(u8::from(inserted.replaced));
        added.too_short += f64::from(u8::from(inserted.status == Status::TooShort));
    }
    Ok(added)
}
