//! How is a text read again when a candidate is judged?

use crate::error::Result;
use crate::store::Read;
use sameish::{Analyzer, Scratch, TextFeatures, TextSource};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

/// Ways to read, used again by any thread.
pub(super) struct Readers {
    idle: Mutex<Vec<Box<dyn Read + Send>>>,
    /// Makes more.
    first: Mutex<Box<dyn Read + Send>>,
}

/// Readers that wait for the next who needs one.
const IDLE: usize = 32;

/// A reader that goes back when it is dropped.
pub(super) struct Reader<'a> {
    readers: &'a Readers,
    reader: Option<Box<dyn Read + Send>>,
}

impl Readers {
    pub(super) fn new(first: Box<dyn Read + Send>) -> Readers {
        Readers { idle: Mutex::default(), first: Mutex::new(first) }
    }

    pub(super) fn get(&self) -> Result<Reader<'_>> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let reader = match idle {
            Some(reader) => reader,
            None => self.first.lock().unwrap_or_else(PoisonError::into_inner).another()?,
        };
        Ok(Reader { readers: self, reader: Some(reader) })
    }
}

impl Deref for Reader<'_> {
    type Target = dyn Read + Send;

    fn deref(&self) -> &Self::Target {
        self.reader.as_deref().unwrap_or_else(|| unreachable!("it is there until it is dropped"))
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        let mut idle = self.readers.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE {
            idle.extend(self.reader.take());
        }
    }
}

/// What was made of texts a short while ago: copies of an article come within hours.
pub(super) struct Cache {
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    features: HashMap<u64, Arc<TextFeatures>>,
    /// The oldest first.
    order: VecDeque<u64>,
    bytes: usize,
}

impl Cache {
    pub(super) fn new(most: usize) -> Cache {
        Cache { most, kept: Mutex::default() }
    }

    fn get(&self, number: u64) -> Option<Arc<TextFeatures>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).features.get(&number).cloned()
    }

    pub(super) fn put(&self, number: u64, features: Arc<TextFeatures>) {
        let bytes = bytes(&features);
        // One large text must not turn out all others.
        if bytes > self.most / 16 {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.features.insert(number, features).is_none() {
            kept.order.push_back(number);
            kept.bytes += bytes;
        }
        while kept.bytes > self.most {
            let Some(oldest) = kept.order.pop_front() else { break };
            let gone = kept.features.remove(&oldest);
            kept.bytes -= gone.map_or(0, |features| self::bytes(&features));
        }
    }
}

/// On the heap, with what the maps take.
fn bytes(features: &TextFeatures) -> usize {
    8 * features.shingles.len() + 4 * features.facts.len() + 200
}

/// The texts of a store, seen by one search.
pub(super) struct StoredTexts<'a> {
    pub(super) analyzer: &'a Analyzer,
    pub(super) cache: &'a Cache,
    pub(super) read: &'a dyn Read,
    pub(super) scratch: RefCell<Scratch>,
}

impl<'a> StoredTexts<'a> {
    pub(super) fn new(analyzer: &'a Analyzer, cache: &'a Cache, read: &'a dyn Read) -> StoredTexts<'a> {
        StoredTexts { analyzer, cache, read, scratch: RefCell::default() }
    }
}

impl TextSource for StoredTexts<'_> {
    /// A document that is damaged or has just gone is no match; `verify` names the damaged.
    fn features(&self, number: u64) -> Option<Arc<TextFeatures>> {
        if let Some(features) = self.cache.get(number) {
            return Some(features);
        }
        let row = self.read.document(number).ok()??;
        let features = self.analyzer.features(&row.document.content, &mut self.scratch.borrow_mut());
        let features = Arc::new(features);
        self.cache.put(number, Arc::clone(&features));
        Some(features)
    }
}
