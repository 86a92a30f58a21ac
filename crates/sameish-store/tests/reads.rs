//! Searches over a store whose reads wait: what other requests can do meanwhile, and what the search returns.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish::cluster::ClusterId;
use sameish::{DocId, Document, Preset};
use sameish_store::{
    Catalog, ClockRow, ClusterOrder, ClusterPosition, ClusterRow, ClusterTotals, Collection,
    CollectionConfig, Counters, DayTotal, DocumentRow, Finding, ListedCluster, MemberPosition, MemberRow,
    OpenOptions, PlacedRow, PlacedSink, Read, Result, Similar, SimilarOptions, SketchRow, SourceTotal,
    SqliteStore, Store, StoredCollection, TaskRow, Transaction,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

/// Makes the next text that a search reads wait.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
enum State {
    #[default]
    Open,
    /// The next read waits.
    Closed,
    /// A read waits.
    Waiting,
}

/// Name of the threads whose reads wait.
const SEARCH: &str = "search";

impl Gate {
    fn set(&self, state: State) {
        *self.0.0.lock().unwrap() = state;
        self.0.1.notify_all();
    }

    fn wait_while(&self, condition: impl Fn(State) -> bool) {
        let limit = Duration::from_secs(30);
        let state = self.0.0.lock().unwrap();
        let (state, timeout) = self.0.1.wait_timeout_while(state, limit, |state| condition(*state)).unwrap();
        assert!(!timeout.timed_out(), "{state:?} for too long");
    }

    fn pass(&self) {
        let is_search = std::thread::current().name() == Some(SEARCH);
        if is_search && *self.0.0.lock().unwrap() == State::Closed {
            self.set(State::Waiting);
            self.wait_while(|state| state != State::Open);
        }
    }
}

struct GatedStore {
    inner: SqliteStore,
    gate: Gate,
}

impl Store for GatedStore {
    fn reader(&self) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(GatedRead { inner: self.inner.reader()?, gate: self.gate.clone() }))
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.inner.checkpoint()
    }

    fn begin(&mut self) -> Result<Box<dyn Transaction + '_>> {
        self.inner.begin()
    }
}

struct GatedRead {
    inner: Box<dyn Read + Send>,
    gate: Gate,
}

/// Implements methods of [`Read`] by those of the inner reader.
macro_rules! delegate {
    ($(fn $name:ident(&self $(, $argument:ident: $kind:ty)*) -> $result:ty;)*) => {
        $(fn $name(&self $(, $argument: $kind)*) -> $result {
            self.inner.$name($($argument),*)
        })*
    };
}

impl Read for GatedRead {
    fn try_clone(&self) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(GatedRead { inner: self.inner.try_clone()?, gate: self.gate.clone() }))
    }

    fn document(&self, number: u64) -> Result<Option<DocumentRow>> {
        self.gate.pass();
        self.inner.document(number)
    }

    delegate! {
        fn collections(&self) -> Result<Vec<StoredCollection>>;
        fn dropped_collections(&self) -> Result<Vec<u32>>;
        fn counters(&self) -> Result<Counters>;
        fn clock(&self) -> Result<Option<ClockRow>>;
        fn last_arrival(&self, collection: u32) -> Result<Option<i64>>;
        fn number_of(&self, collection: u32, id: &DocId) -> Result<Option<u64>>;
        fn sketch(&self, number: u64) -> Result<Option<SketchRow>>;
        fn each_id(&self, collection: u32, sink: &mut dyn FnMut(u64, DocId) -> Result<()>) -> Result<()>;
        fn documents(&self, collection: u32, after: u64, limit: usize) -> Result<Vec<(u64, Result<DocumentRow>)>>;
        fn numbers_by_id(&self, collection: u32, after: Option<&DocId>, limit: usize) -> Result<Vec<u64>>;
        fn each_sketch(&self, collection: u32, sink: &mut dyn FnMut(u64, Result<SketchRow>) -> Result<()>) -> Result<()>;
        fn member(&self, document: u64) -> Result<Option<MemberRow>>;
        fn members(&self, cluster: ClusterId, from: u64, limit: usize) -> Result<Vec<(u64, Result<MemberRow>)>>;
        fn ranked_members(&self, cluster: ClusterId, from: sameish_store::Turn, limit: usize) -> Result<Vec<(sameish_store::Turn, Result<MemberRow>)>>;
        fn each_member(&self, collection: u32, sink: &mut dyn FnMut(u64, Result<MemberRow>) -> Result<()>) -> Result<()>;
        fn cluster(&self, cluster: ClusterId) -> Result<Option<ClusterRow>>;
        fn joined(&self, document: u64, from: u64, limit: usize) -> Result<Vec<(u64, Result<MemberRow>)>>;
        fn first_task(&self, collection: u32) -> Result<Option<TaskRow>>;
        fn tasks_of(&self, cluster: ClusterId) -> Result<Vec<TaskRow>>;
        fn merges_into(&self, collection: u32, cluster: ClusterId) -> Result<Vec<TaskRow>>;
        fn each_task(&self, collection: u32, sink: &mut dyn FnMut(Result<TaskRow>) -> Result<()>) -> Result<()>;
        fn count_pending(&self, collection: u32) -> Result<u64>;
        fn each_cluster(&self, collection: u32, sink: &mut dyn FnMut(ClusterId, Result<ClusterRow>) -> Result<()>) -> Result<()>;
        fn cluster_totals(&self, collection: u32) -> Result<ClusterTotals>;
        fn clusters(&self, collection: u32, order: ClusterOrder, after: Option<ClusterPosition>, limit: usize) -> Result<Vec<(ClusterPosition, Result<ListedCluster>)>>;
        fn members_by_date(&self, cluster: ClusterId, after: Option<MemberPosition>, limit: usize) -> Result<Vec<PlacedRow>>;
        fn each_placed(&self, collection: u32, limit: u64, sink: PlacedSink<'_>) -> Result<bool>;
        fn caption(&self, number: u64) -> Result<Option<sameish_store::Caption>>;
        fn events(&self, collection: u32, after: u64, limit: usize) -> Result<Vec<(u64, Result<sameish_store::EventRow>)>>;
        fn numbers(&self, collection: u32, after: u64, limit: usize) -> Result<Vec<u64>>;
        fn titled_clusters(&self, collection: u32, order: ClusterOrder, after: Option<ClusterPosition>, limit: usize) -> Result<Vec<(ClusterPosition, Result<sameish_store::TitledCluster>)>>;
        fn clusters_of_source(&self, collection: u32, source: &str, before: Option<ClusterId>, limit: usize) -> Result<Vec<ClusterId>>;
        fn has_source(&self, collection: u32, cluster: ClusterId, source: &str) -> Result<bool>;
        fn source_documents(&self, collection: u32, source: &str) -> Result<u64>;
        fn moments(&self, cluster: ClusterId, limit: usize) -> Result<Vec<i64>>;
        fn metadata(&self, number: u64) -> Result<Option<String>>;
        fn rejected(&self, collection: u32) -> Result<u64>;
        fn event_range(&self, collection: u32) -> Result<sameish_store::EventRange>;
        fn days(&self, collection: u32, limit: usize) -> Result<Vec<DayTotal>>;
        fn sources(&self, collection: u32, limit: usize) -> Result<Vec<SourceTotal>>;
        fn count_sources(&self, collection: u32) -> Result<u64>;
        fn edits(&self, collection: u32) -> Result<Vec<(u64, Result<sameish_store::EditRow>)>>;
        fn last_edit(&self, collection: u32) -> Result<u64>;
        fn place(&self, collection: u32, placed: sameish_store::Placed) -> Result<Option<ClusterId>>;
        fn places(&self, collection: u32) -> Result<Vec<(sameish_store::Placed, ClusterId)>>;
        fn listed_cluster(&self, cluster: ClusterId) -> Result<Option<sameish_store::ListedCluster>>;
        fn has_edited_tasks(&self, collection: u32, cluster: ClusterId) -> Result<bool>;
        fn check(&self) -> Result<Vec<Finding>>;
        fn bytes(&self) -> u64;
        fn begin_snapshot(&self) -> Result<()>;
        fn end_snapshot(&self) -> Result<()>;
        fn copy_to(&self, file: &Path) -> Result<()>;
    }
}

/// Returns an article; versions of the same article are similar.
fn article(number: u64, version: usize) -> String {
    let words = (0..200).map(|i| match i == 7 + version && version > 0 {
        true => format!("version{version}"),
        false => format!("word{}", (number * 7919 + i as u64 * 104_729) % 99_991),
    });
    words.collect::<Vec<_>>().join(" ")
}

struct Fixture {
    gate: Gate,
    catalog: Catalog,
    articles: Collection,
    _directory: tempfile::TempDir,
}

/// Opens a catalog without a cache of features, with three versions of one article.
fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::default();
    let inner = SqliteStore::open(directory.path(), true, false).unwrap();
    let store = GatedStore { inner, gate: gate.clone() };
    let options = OpenOptions { cache_bytes: 0, ..OpenOptions::default() };
    let catalog = Catalog::over(Box::new(store), directory.path(), options).unwrap();
    let articles = catalog.create("articles", CollectionConfig::new(Preset::Articles)).unwrap();
    for id in 1..=3 {
        articles.insert(Document::new(id, article(1, id as usize))).unwrap();
    }
    Fixture { gate, catalog, articles, _directory: directory }
}

fn ids(similar: &[Similar]) -> Vec<DocId> {
    let mut ids: Vec<DocId> = similar.iter().map(|similar| similar.found.id.clone()).collect();
    ids.sort_by_key(ToString::to_string);
    ids
}

/// Searches for documents that are similar to document 1, and runs `test` while the search waits for a text.
fn during_search(fixture: &Fixture, test: impl FnOnce()) -> Vec<DocId> {
    fixture.gate.set(State::Closed);
    let articles = fixture.articles.clone();
    let search = move || articles.similar(&1.into(), SimilarOptions::default()).unwrap();
    let thread = std::thread::Builder::new().name(SEARCH.into()).spawn(search).unwrap();
    fixture.gate.wait_while(|state| state != State::Waiting);
    test();
    fixture.gate.set(State::Open);
    ids(&thread.join().unwrap().similar)
}

/// Runs a job and fails if it does not end.
fn ends<T: Send + 'static>(what: &str, job: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, result) = mpsc::channel();
    std::thread::spawn(move || sender.send(job()));
    result.recv_timeout(Duration::from_secs(30)).unwrap_or_else(|_| panic!("{what}: waits for a search"))
}

#[test]
fn other_requests_proceed_while_a_search_reads_texts() {
    let fixture = fixture();
    let other = fixture.catalog.create("copies", CollectionConfig::new(Preset::Copies)).unwrap();
    let found = during_search(&fixture, || {
        let articles = fixture.articles.clone();
        ends("an insertion", move || articles.insert(Document::new(4, article(2, 0))).unwrap());
        let articles = fixture.articles.clone();
        ends("a read", move || articles.get(&4.into()).unwrap().unwrap());
        let articles = fixture.articles.clone();
        ends("a search", move || articles.similar(&4.into(), SimilarOptions::default()).unwrap());
        let articles = fixture.articles.clone();
        ends("statistics", move || articles.stats().unwrap());
        ends("another collection", move || other.insert(Document::new(1, article(3, 0))).unwrap());
    });
    assert_eq!(found, [2.into(), 3.into()]);
}

#[test]
fn a_search_finds_a_document_that_is_replaced_while_it_runs() {
    let fixture = fixture();
    let found = during_search(&fixture, || {
        fixture.articles.replace(Document::new(2, article(1, 9))).unwrap();
    });
    assert_eq!(found, [2.into(), 3.into()]);
}

#[test]
fn a_search_finds_a_copy_that_is_replaced_while_it_runs() {
    let fixture = fixture();
    // The texts of copies are not read to verify them.
    fixture.articles.insert(Document::new(5, article(1, 1))).unwrap();
    let found = during_search(&fixture, || {
        fixture.articles.replace(Document::new(5, article(1, 2))).unwrap();
    });
    assert_eq!(found, [2.into(), 3.into(), 5.into()]);
}

#[test]
fn a_search_returns_the_documents_that_existed_when_it_began() {
    let fixture = fixture();
    let found = during_search(&fixture, || {
        assert!(fixture.articles.delete(&3.into()).unwrap());
    });
    assert_eq!(found, [2.into(), 3.into()]);
    let after = fixture.articles.similar(&1.into(), SimilarOptions::default()).unwrap();
    assert_eq!(ids(&after.similar), [2.into()]);
}

#[test]
fn a_search_reads_a_limited_number_of_bytes() {
    let fixture = fixture();
    let search = |max_text_bytes| {
        let mut found = Vec::new();
        let totals = fixture.articles.similar_each(
            &1.into(),
            SimilarOptions::default(),
            max_text_bytes,
            &mut |similar| {
                found.push(similar);
                ControlFlow::Continue(())
            },
        );
        (ids(&found), totals.unwrap().capped)
    };
    let bytes = article(1, 0).len();
    assert_eq!(search(10 * bytes), (vec![2.into(), 3.into()], 0));
    // The text of document 1 and that of one candidate.
    let (found, capped) = search(3 * bytes / 2);
    assert_eq!((found.len(), capped), (1, 1));
    // A cluster and its documents are read in pages.
    let cluster = fixture.articles.get(&1.into()).unwrap().unwrap().cluster.unwrap();
    let mut read = Vec::new();
    let mut page = sameish_store::MembersPage::default();
    loop {
        let mut sink = |member: sameish_store::ClusterMember| {
            read.push(member.id);
            ControlFlow::Continue(())
        };
        let next = fixture.articles.cluster_each(cluster, page, 1, &mut sink).unwrap().unwrap().next;
        let Some(next) = next else { break };
        page.after = Some(next);
    }
    assert_eq!(read, [1.into(), 2.into(), 3.into()]);
}
