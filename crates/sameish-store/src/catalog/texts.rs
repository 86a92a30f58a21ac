//! Features of stored texts: read from the store when a candidate is verified, with a cache, a pool of readers, and a limit on
//! the bytes that one request reads.

use crate::error::{Error, Result};
use crate::rows::DocumentRow;
use crate::store::Read;
use sameish::analyzer::TextFeatures;
use sameish::engine::TextSource;
use sameish::{Analyzer, Content, Document, Scratch, Verdict};
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
    texts: HashMap<u64, CachedText>,
    /// Document numbers, oldest entry first.
    order: VecDeque<u64>,
    bytes: usize,
}

/// What is derived from a document.
struct CachedText {
    features: Arc<TextFeatures>,
    /// Publication date in milliseconds since 1970.
    published: Option<i64>,
}

impl FeatureCache {
    pub(super) fn new(max_bytes: usize) -> FeatureCache {
        FeatureCache { max_bytes, entries: Mutex::default() }
    }

    pub(super) fn get(&self, number: u64) -> Option<Arc<TextFeatures>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.texts.get(&number).map(|text| Arc::clone(&text.features))
    }

    /// Returns the publication date of a document in milliseconds since 1970. The outer option is `None` if the document is not in
    /// the cache.
    pub(super) fn published(&self, number: u64) -> Option<Option<i64>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.texts.get(&number).map(|text| text.published)
    }

    /// Adds a document with its publication date in milliseconds since 1970.
    pub(super) fn put(&self, number: u64, features: Arc<TextFeatures>, published: Option<i64>) {
        let bytes = heap_bytes(&features);
        // One large text must not evict all others.
        if bytes > self.max_bytes / 16 {
            return;
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.texts.insert(number, CachedText { features, published }).is_none() {
            entries.order.push_back(number);
            entries.bytes += bytes;
        }
        while entries.bytes > self.max_bytes {
            let Some(oldest) = entries.order.pop_front() else { break };
            let evicted = entries.texts.remove(&oldest);
            entries.bytes -= evicted.map_or(0, |text| heap_bytes(&text.features));
        }
    }
}

/// Estimates the memory of an entry, including the map and the queue.
fn heap_bytes(features: &TextFeatures) -> usize {
    8 * features.shingles.len() + features.facts.size() + 200
}

/// Limits the bytes of text that one request reads.
pub(super) struct TextBudget {
    remaining: Cell<usize>,
    /// Number of texts that may be compared.
    comparisons: Cell<usize>,
}

impl TextBudget {
    pub(super) fn new(bytes: usize) -> TextBudget {
        TextBudget { remaining: Cell::new(bytes), comparisons: Cell::new(usize::MAX) }
    }

    /// Returns the budget of one unit of queued work.
    fn of_unit() -> TextBudget {
        TextBudget { comparisons: Cell::new(UNIT_COMPARISONS), ..TextBudget::new(UNIT_BYTES) }
    }

    /// Counts a comparison.
    fn compare(&self) {
        self.comparisons.update(|comparisons| comparisons.saturating_sub(1));
    }

    /// Counts a document that was read.
    pub(super) fn take(&self, document: &Document) {
        let text = match &document.content {
            Content::Text(text) => text.len(),
            Content::Tokens(tokens) => tokens.iter().map(String::len).sum(),
            Content::Sketches(_) => 0,
        };
        let metadata = document.metadata.as_ref().map_or(0, String::len);
        self.remaining.set(self.remaining.get().saturating_sub(text + metadata));
    }

    /// Returns the number of bytes that may still be read.
    pub(super) fn remaining(&self) -> usize {
        self.remaining.get()
    }

    /// Returns `true` if no more texts may be read.
    pub(super) fn is_exhausted(&self) -> bool {
        self.remaining.get() == 0 || self.comparisons.get() == 0
    }
}

/// Maximum number of texts that one unit of queued work compares with a document.
pub(super) const UNIT_COMPARISONS: usize = 64;
/// Number of bytes of text after which a unit of queued work reads no more texts.
pub(super) const UNIT_BYTES: usize = 256 << 10;

/// The verdicts of a search that is done in several units, each within its [`TextBudget`].
///
/// A verdict depends on two texts, and the text of a number never changes. So verdicts stay valid, whatever is written between
/// two units. They are only kept in memory: a new process judges the candidates of the current document again.
pub(super) struct SearchMemo {
    /// Number of the document whose neighbors are searched.
    subject: Cell<u64>,
    features: RefCell<Option<Arc<TextFeatures>>>,
    verdicts: RefCell<HashMap<u64, Option<Verdict>>>,
    budget: TextBudget,
}

impl SearchMemo {
    pub(super) fn new() -> SearchMemo {
        SearchMemo {
            subject: Cell::new(0),
            features: RefCell::default(),
            verdicts: RefCell::default(),
            budget: TextBudget::of_unit(),
        }
    }

    /// Starts the next unit.
    pub(super) fn begin_unit(&mut self) {
        self.budget = TextBudget::of_unit();
    }

    /// Forgets all verdicts unless they are those of this document.
    pub(super) fn start(&self, subject: u64) {
        if self.subject.replace(subject) != subject {
            self.features.take();
            self.forget_verdicts();
        }
    }

    /// Forgets the verdicts of a search that is complete.
    pub(super) fn forget_verdicts(&self) {
        self.verdicts.take();
    }
}

/// The texts of a store, for one search.
pub(super) struct StoredTexts<'a> {
    analyzer: &'a Analyzer,
    cache: &'a FeatureCache,
    read: &'a dyn Read,
    departing: Option<&'a DocumentRow>,
    memo: Option<&'a SearchMemo>,
    scratch: RefCell<Scratch>,
    budget: Option<&'a TextBudget>,
    skipped: Cell<usize>,
    /// Why a text could not be read, except for damage.
    error: RefCell<Option<Error>>,
    /// Documents that were read, without their texts, by number.
    described: RefCell<HashMap<u64, Document>>,
    /// Size of these documents in bytes.
    described_bytes: Cell<usize>,
}

/// Maximum size of the documents, without their texts, that a search remembers, in bytes.
const MAX_DESCRIBED: usize = 4 << 20;

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
            memo: None,
            scratch: RefCell::default(),
            budget: None,
            skipped: Cell::new(0),
            error: RefCell::default(),
            described: RefCell::default(),
            described_bytes: Cell::new(0),
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

    /// Remembers verdicts, and reads and compares texts within the budget of the current unit.
    pub(super) fn in_units(self, memo: &'a SearchMemo) -> StoredTexts<'a> {
        StoredTexts { memo: Some(memo), budget: Some(&memo.budget), ..self }
    }

    /// Returns an error if a text could not be read for another reason than damage: the result of the search would depend on
    /// that error. Call this after each search.
    pub(super) fn check(&self) -> Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Reads a document. Damage is reported by `verify`, and other errors by [`check`](Self::check).
    fn read(&self, number: u64) -> Option<DocumentRow> {
        match self.read.document(number) {
            Ok(row) => row,
            Err(Error::Damaged { .. }) => None,
            Err(error) => {
                self.error.replace(Some(error));
                None
            }
        }
    }

    /// Remembers a document that was read within a limit, without its text: it is shown if it matches, and a second read would
    /// count against the limit again.
    fn describe(&self, number: u64, mut document: Document) {
        document.content = Content::Text(String::new());
        document.metadata = None;
        let texts = [&document.title, &document.source, &document.url, &document.published_at];
        let bytes = 256 + texts.into_iter().flatten().map(String::len).sum::<usize>();
        let total = self.described_bytes.get() + bytes;
        if self.budget.is_some() && self.memo.is_none() && total <= MAX_DESCRIBED {
            self.described_bytes.set(total);
            self.described.borrow_mut().insert(number, document);
        }
    }

    /// Returns `true` if no more texts may be read.
    pub(super) fn is_exhausted(&self) -> bool {
        self.budget.is_some_and(TextBudget::is_exhausted)
    }

    /// Counts the text of a document that was read.
    pub(super) fn count(&self, document: Document) -> Document {
        self.budget.inspect(|budget| budget.take(&document));
        document
    }

    /// Returns a document that was read, without its text.
    pub(super) fn take_described(&self, number: u64) -> Option<Document> {
        self.described.borrow_mut().remove(&number)
    }

    /// Returns the number of texts that were not read because of the limit.
    pub(super) fn skipped(&self) -> usize {
        self.skipped.get()
    }
}

impl TextSource for StoredTexts<'_> {
    /// Returns `None` for a document that cannot be read or that was just deleted.
    fn features(&self, number: u64) -> Option<Arc<TextFeatures>> {
        match self.memo.filter(|memo| memo.subject.get() == number) {
            // The subject itself, which every unit needs.
            Some(memo) => {
                let known = memo.features.borrow().clone();
                let features = known.or_else(|| self.read_features(number));
                memo.features.replace(features.clone());
                features
            }
            None if self.is_exhausted() && (self.memo.is_some() || self.cache.get(number).is_none()) => {
                self.skipped.update(|skipped| skipped + 1);
                None
            }
            None => {
                self.budget.inspect(|budget| budget.compare());
                let features = self.read_features(number);
                if features.is_none() {
                    // A damaged text matches nothing, and is not read again in the next unit.
                    self.remember(number, None);
                }
                features
            }
        }
    }

    fn known(&self, number: u64) -> Option<Option<Verdict>> {
        self.memo?.verdicts.borrow().get(&number).copied()
    }

    fn remember(&self, number: u64, verdict: Option<Verdict>) {
        self.memo.inspect(|memo| _ = memo.verdicts.borrow_mut().insert(number, verdict));
    }

    fn remembers(&self) -> bool {
        self.memo.is_some()
    }
}

impl StoredTexts<'_> {
    fn read_features(&self, number: u64) -> Option<Arc<TextFeatures>> {
        if let Some(features) = self.cache.get(number) {
            return Some(features);
        }
        let compute = |row: &DocumentRow| {
            self.budget.inspect(|budget| budget.take(&row.document));
            let features = self.analyzer.features(&row.document.content, &mut self.scratch.borrow_mut());
            (features, row.published())
        };
        let (features, published) = match self.departing.filter(|row| row.number == number) {
            Some(departing) => compute(departing),
            None => {
                let row = self.read(number)?;
                let computed = compute(&row);
                self.describe(number, row.document);
                computed
            }
        };
        let features = Arc::new(features);
        self.cache.put(number, Arc::clone(&features), published);
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
            cache.put(number, Arc::clone(&small), Some(number as i64));
        }
        let cached: Vec<u64> = (0..40).filter(|number| cache.get(*number).is_some()).collect();
        assert_eq!(cached, (10..30).collect::<Vec<_>>());
        assert_eq!([9, 10].map(|number| cache.published(number)), [None, Some(Some(10))]);
        cache.put(30, features(2000), None);
        assert!(cache.get(30).is_none());
        assert!(cache.get(10).is_some(), "a large text evicts nothing");
    }
}
