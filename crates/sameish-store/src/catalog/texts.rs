//! Features of stored texts: read from the store when a candidate is verified, with a cache, a pool of readers, and a limit on
//! the bytes that one request reads.

use crate::error::Result;
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
    idle: Mutex<Vec<Box<dyn Read + Send>>>,
    /// Cloned when no reader is idle.
    template: Mutex<Box<dyn Read + Send>>,
}

/// Maximum number of idle readers.
const MAX_IDLE: usize = 32;

/// A reader that returns to its pool when it is dropped.
pub(super) struct PooledReader<'a> {
    pool: &'a ReaderPool,
    reader: Option<Box<dyn Read + Send>>,
}

impl ReaderPool {
    pub(super) fn new(template: Box<dyn Read + Send>) -> ReaderPool {
        ReaderPool { idle: Mutex::default(), template: Mutex::new(template) }
    }

    pub(super) fn get(&self) -> Result<PooledReader<'_>> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let reader = match idle {
            Some(reader) => reader,
            None => self.template.lock().unwrap_or_else(PoisonError::into_inner).try_clone()?,
        };
        Ok(PooledReader { pool: self, reader: Some(reader) })
    }
}

/// A read transaction, which ends when it is dropped.
pub(super) struct Snapshot<'a>(&'a dyn Read);

impl<'a> Snapshot<'a> {
    /// Begins a read transaction. If the reader is in one that another caller began, its reads are consistent without another.
    pub(super) fn begin(read: &'a dyn Read) -> Result<Option<Snapshot<'a>>> {
        if read.in_snapshot() {
            return Ok(None);
        }
        read.begin_snapshot()?;
        Ok(Some(Snapshot(read)))
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // A transaction that cannot be ended is one that has failed, and then later reads report it.
        _ = self.0.end_snapshot();
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
    scratch: RefCell<Scratch>,
    budget: Option<&'a TextBudget>,
    skipped: Cell<usize>,
    deleted: Cell<usize>,
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
            scratch: RefCell::default(),
            budget: None,
            skipped: Cell::new(0),
            deleted: Cell::new(0),
        }
    }

    /// Limits the bytes of text that are read.
    pub(super) fn within(self, budget: &'a TextBudget) -> StoredTexts<'a> {
        StoredTexts { budget: Some(budget), ..self }
    }

    /// Returns the number of texts that were not read because of the limit.
    pub(super) fn skipped(&self) -> usize {
        self.skipped.get()
    }

    /// Returns the number of texts that were deleted after the index had returned them.
    pub(super) fn deleted(&self) -> usize {
        self.deleted.get()
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
        let Some(row) = self.read.document(number).ok()? else {
            self.deleted.update(|deleted| deleted + 1);
            return None;
        };
        self.budget.inspect(|budget| budget.take(&row.document.content));
        let features = self.analyzer.features(&row.document.content, &mut self.scratch.borrow_mut());
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
