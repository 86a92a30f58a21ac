//! Features of stored texts: read from the store when a candidate is verified, with a cache, a pool of readers, and a limit on
//! the bytes that one request reads.

use crate::error::Result;
use crate::rows::DocumentRow;
use crate::store::Read;
use sameish::analyzer::TextFeatures;
use sameish::engine::TextSource;
use sameish::{Analyzer, Content, Scratch};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

/// A pool of readers for any number of threads.
pub(super) struct ReaderPool {
    snapshots: Snapshots,
    idle: Mutex<Vec<Box<dyn Read + Send>>>,
    /// Cloned when no reader is idle.
    template: Mutex<Box<dyn Read + Send>>,
}

/// Which state the readers of a pool see.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Snapshots {
    /// Every snapshot sees the state when it was taken.
    Current,
    /// All readers see the state when the pool was created.
    Fixed,
}

/// Maximum number of idle readers.
const MAX_IDLE: usize = 32;

/// A reader that returns to its pool when it is dropped.
pub(super) struct PooledReader<'a> {
    pool: &'a ReaderPool,
    reader: Option<Box<dyn Read + Send>>,
    in_snapshot: bool,
}

impl ReaderPool {
    pub(super) fn new(template: Box<dyn Read + Send>, snapshots: Snapshots) -> ReaderPool {
        ReaderPool { snapshots, idle: Mutex::default(), template: Mutex::new(template) }
    }

    /// Returns a reader whose reads all see the state at this call.
    pub(super) fn snapshot(&self) -> Result<PooledReader<'_>> {
        let mut reader = self.get()?;
        reader.begin()?;
        Ok(reader)
    }

    pub(super) fn get(&self) -> Result<PooledReader<'_>> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let reader = match idle {
            Some(reader) => reader,
            None => self.template.lock().unwrap_or_else(PoisonError::into_inner).try_clone()?,
        };
        Ok(PooledReader { pool: self, reader: Some(reader), in_snapshot: false })
    }
}

impl PooledReader<'_> {
    /// Begins a snapshot, which ends when the reader returns to the pool.
    pub(super) fn begin(&mut self) -> Result<()> {
        if self.pool.snapshots == Snapshots::Fixed {
            return Ok(());
        }
        // Set first: a snapshot that fails after its transaction began must not return to the pool with it.
        self.in_snapshot = true;
        self.begin_snapshot()
    }
}

impl Deref for PooledReader<'_> {
    type Target = dyn Read + Send;

    fn deref(&self) -> &Self::Target {
        self.reader.as_deref().unwrap_or_else(|| unreachable!("only `drop` takes the reader"))
    }
}

impl Drop for PooledReader<'_> {
    fn drop(&mut self) {
        // A reader that cannot end its snapshot would show an old state to the next caller.
        if self.in_snapshot && self.end_snapshot().is_err() {
            return;
        }
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.extend(self.reader.take());
        }
    }
}

/// A first-in, first-out cache of features of recent documents. Copies of an article usually arrive within hours.
pub(super) struct FeatureCache {
    max_bytes: usize,
    entries: Mutex<CacheEntries>,
}

#[derive(Default)]
struct CacheEntries {
    features: HashMap<u64, Arc<TextFeatures>>,
    /// Document numbers, oldest entry first.
    order: VecDeque<u64>,
    bytes: usize,
}

impl FeatureCache {
    pub(super) fn new(max_bytes: usize) -> FeatureCache {
        FeatureCache { max_bytes, entries: Mutex::default() }
    }

    fn get(&self, number: u64) -> Option<Arc<TextFeatures>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).features.get(&number).cloned()
    }

    pub(super) fn put(&self, number: u64, features: Arc<TextFeatures>) {
        let bytes = heap_bytes(&features);
        // One large text must not evict all others.
        if bytes > self.max_bytes / 16 {
            return;
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.features.insert(number, features).is_none() {
            entries.order.push_back(number);
            entries.bytes += bytes;
        }
        while entries.bytes > self.max_bytes {
            let Some(oldest) = entries.order.pop_front() else { break };
            let evicted = entries.features.remove(&oldest);
            entries.bytes -= evicted.map_or(0, |features| heap_bytes(&features));
        }
    }
}

/// Estimates the memory of an entry, including the map and the queue.
fn heap_bytes(features: &TextFeatures) -> usize {
    8 * features.shingles.len() + 4 * features.facts.len() + 200
}

/// Limits the bytes of text that one request reads.
pub(super) struct TextBudget {
    remaining: Cell<usize>,
}

impl TextBudget {
    pub(super) fn new(bytes: usize) -> TextBudget {
        TextBudget { remaining: Cell::new(bytes) }
    }

    /// Counts a text that was read.
    pub(super) fn take(&self, content: &Content) {
        let bytes = match content {
            Content::Text(text) => text.len(),
            Content::Tokens(tokens) => tokens.iter().map(String::len).sum(),
        };
        self.remaining.set(self.remaining.get().saturating_sub(bytes));
    }

    /// Returns `true` if no more texts may be read.
    pub(super) fn is_exhausted(&self) -> bool {
        self.remaining.get() == 0
    }
}

/// The texts of a store, for one search.
pub(super) struct StoredTexts<'a> {
    analyzer: &'a Analyzer,
    cache: &'a FeatureCache,
    read: &'a dyn Read,
    departing: Option<&'a DocumentRow>,
    scratch: RefCell<Scratch>,
    budget: Option<&'a TextBudget>,
    skipped: Cell<usize>,
}

impl<'a> StoredTexts<'a> {
    pub(super) fn new(
        analyzer: &'a Analyzer,
        cache: &'a FeatureCache,
        read: &'a dyn Read,
    ) -> StoredTexts<'a> {
        StoredTexts {
            analyzer,
            cache,
            read,
            departing: None,
            scratch: RefCell::default(),
            budget: None,
            skipped: Cell::new(0),
        }
    }

    /// Adds a document that is in the index and that a reader of the store may not see any more.
    pub(super) fn with_departing(self, departing: Option<&'a DocumentRow>) -> StoredTexts<'a> {
        StoredTexts { departing, ..self }
    }

    /// Limits the bytes of text that are read.
    pub(super) fn within(self, budget: &'a TextBudget) -> StoredTexts<'a> {
        StoredTexts { budget: Some(budget), ..self }
    }

    /// Returns the number of texts that were not read because of the limit.
    pub(super) fn skipped(&self) -> usize {
        self.skipped.get()
    }
}

impl TextSource for StoredTexts<'_> {
    /// Returns `None` for a document that is damaged, which `verify` reports, or that was just deleted.
    fn features(&self, number: u64) -> Option<Arc<TextFeatures>> {
        if let Some(features) = self.cache.get(number) {
            return Some(features);
        }
        if self.budget.is_some_and(TextBudget::is_exhausted) {
            self.skipped.update(|skipped| skipped + 1);
            return None;
        }
        let compute = |row: &DocumentRow| {
            self.budget.inspect(|budget| budget.take(&row.document.content));
            self.analyzer.features(&row.document.content, &mut self.scratch.borrow_mut())
        };
        let features = match self.departing.filter(|row| row.number == number) {
            Some(departing) => compute(departing),
            None => compute(&self.read.document(number).ok()??),
        };
        let features = Arc::new(features);
        self.cache.put(number, Arc::clone(&features));
        Some(features)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use sameish::Preset;

    fn features(words: usize) -> Arc<TextFeatures> {
        let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
        let text = (0..words).map(|i| format!("word{i}")).collect::<Vec<_>>().join(" ");
        Arc::new(analyzer.features(&Content::Text(text), &mut Scratch::default()))
    }

    #[test]
    fn cache_evicts_the_oldest_entries_and_skips_large_ones() {
        let small = features(20);
        let cache = FeatureCache::new(20 * heap_bytes(&small));
        for number in 0..30 {
            cache.put(number, Arc::clone(&small));
        }
        let cached: Vec<u64> = (0..40).filter(|number| cache.get(*number).is_some()).collect();
        assert_eq!(cached, (10..30).collect::<Vec<_>>());
        cache.put(30, features(2000));
        assert!(cache.get(30).is_none());
        assert!(cache.get(10).is_some(), "a large text evicts nothing");
    }
}
