//! How do many documents come in at once?
//!
//! Documents are made ready piece by piece, by all cores, and put into the engine when the last is there. So an input that
//! breaks off half way changes nothing, and a corpus never has to be copied as a whole.

use crate::fault::{Fault, Result};
use crate::id::{self, Id};
use crate::job::Job;
use crate::sketches::{Text, content, with_scratch};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use rayon::prelude::*;
use sameish::{Analyzer, Content, DocId, Engine, Linkage, Prepared, Status, Timestamp};
use std::sync::{Arc, Mutex, PoisonError};

/// A document that the engine has only to take.
pub(crate) struct Ready {
    id: DocId,
    published_at: Option<String>,
    prepared: Prepared,
}

/// Documents on their way into an engine.
#[napi(js_name = "Batch")]
pub struct Batch {
    pub(crate) analyzer: Analyzer,
    pub(crate) ready: Arc<Mutex<Vec<Ready>>>,
}

/// What became of the documents of a batch.
#[napi(object)]
pub struct Added {
    /// How many came.
    pub added: f64,
    /// How many of them took the place of one with the same id.
    pub replaced: f64,
    /// How many were too short for the preset.
    pub too_short: f64,
}

#[napi]
impl Batch {
    /// Makes some documents ready, given as columns of equal length.
    #[napi(catch_unwind)]
    pub fn push(&self, ids: Vec<Id>, texts: Vec<Text>, dates: Vec<Option<String>>) -> Result<()> {
        Ok(self.making(ids, texts, dates).make()?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "pushAsync", catch_unwind)]
    pub fn push_async(
        &self,
        ids: Vec<Id>,
        texts: Vec<Text>,
        dates: Vec<Option<String>>,
    ) -> AsyncTask<Job<()>> {
        let making = self.making(ids, texts, dates);
        Job::start(move || making.make())
    }

    fn making(&self, ids: Vec<Id>, texts: Vec<Text>, dates: Vec<Option<String>>) -> Making {
        let contents = texts.into_iter().map(content).collect();
        let (analyzer, ready) = (self.analyzer.clone(), Arc::clone(&self.ready));
        Making { analyzer, ready, ids: ids.into_iter().map(id::read).collect(), contents, dates }
    }
}

/// Documents that are being made ready.
struct Making {
    analyzer: Analyzer,
    ready: Arc<Mutex<Vec<Ready>>>,
    ids: Vec<DocId>,
    contents: Vec<Content>,
    dates: Vec<Option<String>>,
}

impl Making {
    fn make(self) -> Result<(), Fault> {
        if self.analyzer.config().matching.linkage == Linkage::Greedy {
            self.check_dates()?;
        }
        let prepare = |content: &Content| with_scratch(|scratch| self.analyzer.prepare(content, scratch));
        let prepared: Vec<Prepared> = self.contents.par_iter().map(prepare).collect();
        let documents = self.ids.into_iter().zip(self.dates).zip(prepared);
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.extend(documents.map(|((id, published_at), prepared)| Ready { id, published_at, prepared }));
        Ok(())
    }

    /// Looks at dates before anything is inserted, because nothing is to be inserted if one is wrong.
    fn check_dates(&self) -> Result<(), Fault> {
        let before = self.ready.lock().unwrap_or_else(PoisonError::into_inner).len();
        for (position, date) in self.dates.iter().enumerate() {
            let Some(date) = date else { continue };
            let place = || format!("documents[{}].publishedAt", before + position);
            Timestamp::parse(date).map_err(|error| Fault::of_date(error, &place()))?;
        }
        Ok(())
    }
}

/// Puts what is ready into the engine.
pub(crate) fn insert(engine: &mut Engine, ready: &Mutex<Vec<Ready>>) -> Result<Added, Fault> {
    let documents = std::mem::take(&mut *ready.lock().unwrap_or_else(PoisonError::into_inner));
    let mut added = Added { added: documents.len() as f64, replaced: 0.0, too_short: 0.0 };
    for Ready { id, published_at, prepared } in documents {
        let inserted = engine.insert_prepared(&id, published_at.as_deref(), prepared)?;
        added.replaced += f64::from(u8::from(inserted.replaced));
        added.too_short += f64::from(u8::from(inserted.status == Status::TooShort));
    }
    Ok(added)
}
