//! Catalogs over a store whose commits fail or wait.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish::cluster::ClusterId;
use sameish::{DocId, Document, Preset, Timestamp};
use sameish_store::{
    Catalog, ClockRow, ClusterRow, ClusterTotals, CollectionConfig, CollectionRow, Confirmation, Counters,
    DocumentRow, Error, Finding, Health, MemberRow, OpenOptions, Outcome, Read, Result, SimilarOptions,
    SketchRow, SqliteStore, Store, StoredCollection, TaskRow, Transaction,
};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fault {
    #[default]
    None,
    /// The disk is full.
    Full,
    /// The disk is full, and space is reserved for deletes.
    FullWithReserve,
    /// The disk is full, and the reserved space was released.
    ReserveReleased,
    FailedSync,
    /// Commits wait until the fault changes.
    Wait,
    /// A commit waits.
    Waiting,
    /// Texts cannot be read in transactions.
    UnreadableTexts,
}

/// Controls a [`FaultyStore`] from a test.
#[derive(Default)]
struct Control {
    fault: Mutex<Fault>,
    changed: Condvar,
    commits: AtomicUsize,
    checkpoints: AtomicUsize,
}

impl Control {
    fn get(&self) -> Fault {
        *self.fault.lock().unwrap()
    }

    fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
        self.changed.notify_all();
    }

    /// Waits while the fault fulfills a condition.
    fn wait_while(&self, condition: impl Fn(Fault) -> bool) -> MutexGuard<'_, Fault> {
        let fault = self.fault.lock().unwrap();
        let limit = Duration::from_secs(30);
        let (fault, timeout) =
            self.changed.wait_timeout_while(fault, limit, |fault| condition(*fault)).unwrap();
        assert!(!timeout.timed_out(), "{fault:?} for too long");
        fault
    }

    /// Makes the next commit wait, and runs `test` while it waits.
    fn during_commit<T>(&self, start: impl FnOnce() -> T, test: impl FnOnce()) -> T {
        self.set(Fault::Wait);
        let started = start();
        drop(self.wait_while(|fault| fault != Fault::Waiting));
        test();
        self.set(Fault::None);
        started
    }
}

/// A store whose commits fail or wait on request.
struct FaultyStore {
    inner: SqliteStore,
    control: Arc<Control>,
}

struct FaultyTransaction<'a> {
    inner: Box<dyn Transaction + 'a>,
    control: Arc<Control>,
}

impl Store for FaultyStore {
    fn reader(&self) -> Result<Box<dyn Read + Send>> {
        self.inner.reader()
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.control.checkpoints.fetch_add(1, Ordering::SeqCst);
        self.inner.checkpoint()
    }

    fn reserve_space(&mut self) -> Result<()> {
        match self.control.get() {
            Fault::ReserveReleased => Err(Error::Full),
            _ => Ok(()),
        }
    }

    fn release_space(&mut self) -> bool {
        let has_reserve = self.control.get() == Fault::FullWithReserve;
        if has_reserve {
            self.control.set(Fault::ReserveReleased);
        }
        has_reserve
    }

    fn begin(&mut self) -> Result<Box<dyn Transaction + '_>> {
        let control = Arc::clone(&self.control);
        Ok(Box::new(FaultyTransaction { inner: self.inner.begin()?, control }))
    }
}

/// Implements methods of [`Read`] by those of the inner transaction.
macro_rules! delegate {
    ($(fn $name:ident(&self $(, $argument:ident: $kind:ty)*) -> $result:ty;)*) => {
        $(fn $name(&self $(, $argument: $kind)*) -> $result {
            self.inner.read().$name($($argument),*)
        })*
    };
}

impl Read for FaultyTransaction<'_> {
    fn document(&self, number: u64) -> Result<Option<DocumentRow>> {
        match self.control.get() {
            Fault::UnreadableTexts => {
                Err(Error::Database { path: "sameish.db".into(), reason: "disk I/O error".into() })
            }
            _ => self.inner.read().document(number),
        }
    }

    delegate! {
        fn try_clone(&self) -> Result<Box<dyn Read + Send>>;
        fn collections(&self) -> Result<Vec<StoredCollection>>;
        fn counters(&self) -> Result<Counters>;
        fn dropped_collections(&self) -> Result<Vec<u32>>;
        fn numbers_by_id(&self, collection: u32, after: Option<&DocId>, limit: usize) -> Result<Vec<u64>>;
        fn clock(&self) -> Result<Option<ClockRow>>;
        fn last_arrival(&self, collection: u32) -> Result<Option<i64>>;
        fn number_of(&self, collection: u32, id: &DocId) -> Result<Option<u64>>;
        fn sketch(&self, number: u64) -> Result<Option<SketchRow>>;
        fn each_id(&self, collection: u32, sink: &mut dyn FnMut(u64, DocId) -> Result<()>) -> Result<()>;
        fn documents(&self, collection: u32, after: u64, limit: usize) -> Result<Vec<(u64, Result<DocumentRow>)>>;
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
        fn clusters(&self, collection: u32, order: sameish_store::ClusterOrder, after: Option<sameish_store::ClusterPosition>, limit: usize) -> Result<Vec<(sameish_store::ClusterPosition, Result<sameish_store::ListedCluster>)>>;
        fn members_by_date(&self, cluster: ClusterId, after: Option<sameish_store::MemberPosition>, limit: usize) -> Result<Vec<sameish_store::PlacedRow>>;
        fn each_placed(&self, collection: u32, limit: u64, sink: sameish_store::PlacedSink<'_>) -> Result<bool>;
        fn caption(&self, number: u64) -> Result<Option<sameish_store::Caption>>;
        fn events(&self, collection: u32, after: u64, limit: usize) -> Result<Vec<(u64, Result<sameish_store::EventRow>)>>;
        fn numbers(&self, collection: u32, after: u64, limit: usize) -> Result<Vec<u64>>;
        fn titled_clusters(&self, collection: u32, order: sameish_store::ClusterOrder, after: Option<sameish_store::ClusterPosition>, limit: usize) -> Result<Vec<(sameish_store::ClusterPosition, Result<sameish_store::TitledCluster>)>>;
        fn clusters_of_source(&self, collection: u32, source: &str, before: Option<ClusterId>, limit: usize) -> Result<Vec<ClusterId>>;
        fn has_source(&self, collection: u32, cluster: ClusterId, source: &str) -> Result<bool>;
        fn source_documents(&self, collection: u32, source: &str) -> Result<u64>;
        fn moments(&self, cluster: ClusterId, limit: usize) -> Result<Vec<i64>>;
        fn metadata(&self, number: u64) -> Result<Option<String>>;
        fn rejected(&self, collection: u32) -> Result<u64>;
        fn event_range(&self, collection: u32) -> Result<sameish_store::EventRange>;
        fn days(&self, collection: u32, limit: usize) -> Result<Vec<sameish_store::DayTotal>>;
        fn sources(&self, collection: u32, limit: usize) -> Result<Vec<sameish_store::SourceTotal>>;
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

impl Transaction for FaultyTransaction<'_> {
    fn read(&self) -> &dyn Read {
        self
    }

    fn put_collection(&mut self, row: &CollectionRow) -> Result<()> {
        self.inner.put_collection(row)
    }

    fn drop_collection(&mut self, collection: u32) -> Result<()> {
        self.inner.drop_collection(collection)
    }

    fn remove_rows(&mut self, collection: u32, limit: usize) -> Result<bool> {
        self.inner.remove_rows(collection, limit)
    }

    fn put_document(&mut self, row: &DocumentRow) -> Result<()> {
        self.inner.put_document(row)
    }

    fn update_document(&mut self, row: &DocumentRow) -> Result<()> {
        self.inner.update_document(row)
    }

    fn put_sketch(&mut self, row: &SketchRow) -> Result<()> {
        self.inner.put_sketch(row)
    }

    fn remove_document(&mut self, number: u64) -> Result<()> {
        self.inner.remove_document(number)
    }

    fn put_member(&mut self, row: &MemberRow) -> Result<()> {
        self.inner.put_member(row)
    }

    fn clear_clusters(&mut self, collection: u32) -> Result<()> {
        self.inner.clear_clusters(collection)
    }

    fn put_cluster(&mut self, collection: u32, row: &ClusterRow) -> Result<()> {
        self.inner.put_cluster(collection, row)
    }

    fn put_edit(&mut self, row: &sameish_store::EditRow) -> Result<()> {
        self.inner.put_edit(row)
    }

    fn remove_edit(&mut self, collection: u32, number: u64) -> Result<()> {
        self.inner.remove_edit(collection, number)
    }

    fn put_place(
        &mut self,
        collection: u32,
        placed: sameish_store::Placed,
        cluster: Option<ClusterId>,
    ) -> Result<()> {
        self.inner.put_place(collection, placed, cluster)
    }

    fn put_task(&mut self, row: &TaskRow) -> Result<()> {
        self.inner.put_task(row)
    }

    fn remove_task(&mut self, row: &TaskRow) -> Result<()> {
        self.inner.remove_task(row)
    }

    fn put_event(&mut self, row: &sameish_store::EventRow) -> Result<()> {
        self.inner.put_event(row)
    }

    fn put_rejected(&mut self, collection: u32, count: u64) -> Result<()> {
        self.inner.put_rejected(collection, count)
    }

    fn put_counters(&mut self, counters: Counters) -> Result<()> {
        self.inner.put_counters(counters)
    }

    fn put_last_arrival(&mut self, collection: u32, time: i64) -> Result<()> {
        self.inner.put_last_arrival(collection, time)
    }

    fn put_clock(&mut self, clock: ClockRow) -> Result<()> {
        self.inner.put_clock(clock)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        if self.control.get() == Fault::Wait {
            self.control.set(Fault::Waiting);
            drop(self.control.wait_while(|fault| fault == Fault::Waiting));
        }
        match self.control.get() {
            Fault::Full | Fault::FullWithReserve => Err(Error::Full),
            Fault::FailedSync => Err(Error::Failed { reason: "sync".into() }),
            _ => {
                self.control.commits.fetch_add(1, Ordering::SeqCst);
                self.inner.commit()
            }
        }
    }
}

fn text(i: u64) -> String {
    (0..80).map(|at| format!("word{}of{}", at + i / 10, i % 10)).collect::<Vec<_>>().join(" ")
}

struct Fixture {
    dir: tempfile::TempDir,
    control: Arc<Control>,
    catalog: Catalog,
}

/// Returns a catalog, just opened, with 20 documents in 10 clusters.
fn fixture() -> Fixture {
    fixture_with(OpenOptions::default())
}

fn fixture_with(options: OpenOptions) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
    let articles = catalog.create("articles", CollectionConfig::new(Preset::Articles)).unwrap();
    let documents = (0..20).map(|i| Document::new(i, text(i))).collect();
    articles.insert_many(documents).unwrap().into_iter().for_each(|result| _ = result.unwrap());
    catalog.close();
    let control = Arc::<Control>::default();
    let inner = SqliteStore::open(dir.path(), false, false).unwrap();
    let store = Box::new(FaultyStore { inner, control: Arc::clone(&control) });
    let catalog = Catalog::over(store, dir.path(), options).unwrap();
    Fixture { dir, control, catalog }
}

#[test]
fn write_on_a_full_disk_changes_nothing_and_the_next_one_succeeds() {
    let Fixture { dir, control, catalog } = fixture();
    let articles = catalog.collection("articles").unwrap();
    let digest = articles.digest().unwrap();
    control.set(Fault::Full);
    let checkpoints = control.checkpoints.load(Ordering::SeqCst);
    assert!(matches!(articles.insert(Document::new(100, text(100))), Err(Error::Full)));
    // A checkpoint empties the log, which frees space.
    assert_eq!(control.checkpoints.load(Ordering::SeqCst), checkpoints + 1);
    let many = articles.insert_many((100..110).map(|i| Document::new(i, text(i))).collect());
    assert!(matches!(many, Err(Error::Full)));
    assert!(matches!(articles.replace(Document::new(1, text(100))), Err(Error::Full)));
    assert!(matches!(articles.delete(&1.into()), Err(Error::Full)));
    assert_eq!(catalog.health(), Health::Full);
    assert_eq!((articles.digest().unwrap(), articles.len()), (digest, 20));
    assert_eq!(articles.get(&100.into()).unwrap(), None);
    let similar = articles.similar(&1.into(), SimilarOptions::default()).unwrap();
    assert_eq!(similar.similar.len(), 1);
    assert_eq!(catalog.verify().unwrap(), []);

    control.set(Fault::None);
    assert_eq!(articles.insert(Document::new(100, text(100))).unwrap().outcome, Outcome::Created);
    assert_eq!(catalog.health(), Health::Ready);
    assert_eq!(catalog.verify().unwrap(), []);
    let digest = articles.digest().unwrap();
    drop(articles);
    catalog.close();
    let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
    assert_eq!(catalog.collection("articles").unwrap().digest().unwrap(), digest);
}

#[test]
fn full_disk_accepts_only_deletes() {
    let Fixture { dir: _dir, control, catalog } = fixture();
    let articles = catalog.collection("articles").unwrap();
    control.set(Fault::FullWithReserve);
    assert!(matches!(articles.insert(Document::new(100, text(100))), Err(Error::Full)));
    assert!(articles.delete(&1.into()).unwrap());
    assert_eq!(control.get(), Fault::ReserveReleased);
    // Only deletes may use the released space.
    assert!(matches!(articles.insert(Document::new(100, text(100))), Err(Error::Full)));
    assert!(matches!(articles.replace(Document::new(2, text(100))), Err(Error::Full)));
    assert!(articles.delete(&2.into()).unwrap());
    control.set(Fault::None);
    assert_eq!(articles.insert(Document::new(100, text(100))).unwrap().outcome, Outcome::Created);
    assert_eq!((articles.len(), catalog.verify().unwrap()), (19, vec![]));
}

#[test]
fn failed_sync_rejects_writes_until_reopened_and_keeps_reads() {
    let Fixture { dir, control, catalog } = fixture();
    let articles = catalog.collection("articles").unwrap();
    control.set(Fault::FailedSync);
    assert!(matches!(articles.insert(Document::new(100, text(100))), Err(Error::Failed { .. })));
    control.set(Fault::None);
    assert!(matches!(articles.insert(Document::new(101, text(101))), Err(Error::Failed { .. })));
    assert!(matches!(articles.delete(&1.into()), Err(Error::Failed { .. })));
    assert!(matches!(catalog.health(), Health::Failed(_)));
    assert!(articles.get(&1.into()).unwrap().is_some());
    assert_eq!(articles.similar(&1.into(), SimilarOptions::default()).unwrap().similar.len(), 1);
    drop(articles);
    catalog.close();
    let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
    catalog.collection("articles").unwrap().insert(Document::new(100, text(100))).unwrap();
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn concurrent_writers_create_each_id_once() {
    let Fixture { dir: _dir, catalog, .. } = fixture();
    let articles = catalog.collection("articles").unwrap();
    let created: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let articles = &articles;
                scope.spawn(move || {
                    let mut created = 0;
                    for i in 0..40u64 {
                        // All threads insert the same ids with different texts.
                        match articles.insert(Document::new(1000 + i, format!("{} by{thread}", text(i)))) {
                            Ok(inserted) => created += usize::from(inserted.outcome == Outcome::Created),
                            Err(Error::Conflict { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                        articles.similar(&(i % 20).into(), SimilarOptions::default()).unwrap();
                    }
                    created
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!((created, articles.len()), (40, 60));
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn uncommitted_documents_are_invisible() {
    let Fixture { dir: _dir, control, catalog } = fixture();
    let articles = catalog.collection("articles").unwrap();
    // With these limits, the uncommitted document would displace another match.
    let limit = |limit| SimilarOptions { limit: Some(limit), ..SimilarOptions::default() };
    let similar = || articles.similar(&1.into(), limit(1)).unwrap().similar;
    let query = || articles.query(&Document::new(0, text(1)), limit(2)).unwrap().similar;
    let before = (similar(), query());
    assert_eq!((before.0.len(), before.1.len()), (1, 2));
    let insert = || articles.submit(vec![Document::new(100, text(1))]).unwrap();
    let pending = control.during_commit(insert, || {
        assert_eq!(articles.get(&100.into()).unwrap(), None);
        assert!(!articles.holds(&100.into()).unwrap());
        let unknown = articles.similar(&100.into(), SimilarOptions::default());
        assert!(matches!(unknown, Err(Error::NoDocument { .. })));
        assert_eq!((similar(), query()), before);
    });
    let results = pending.wait().unwrap();
    assert_eq!(results[0].as_ref().unwrap().duplicates.len(), 2);
    assert!(articles.holds(&100.into()).unwrap());
    assert_eq!(similar()[0].found.id, 100.into());
    assert_eq!(query()[1].found.id, 100.into());
}

#[test]
fn queued_inserts_share_a_commit() {
    let Fixture { dir: _dir, control, catalog } = fixture();
    let articles = catalog.collection("articles").unwrap();
    let submit = |id: u64| articles.submit(vec![Document::new(id, text(id))]).unwrap();
    let commits = control.commits.load(Ordering::SeqCst);
    let queued = Mutex::new(Vec::new());
    let first = control.during_commit(
        || submit(100),
        || {
            queued.lock().unwrap().extend((101..150).map(submit));
            assert_eq!(catalog.waiting(), 49);
        },
    );
    for pending in std::iter::once(first).chain(queued.into_inner().unwrap()) {
        assert!(pending.wait().unwrap()[0].is_ok());
    }
    assert_eq!(control.commits.load(Ordering::SeqCst), commits + 2);
}

/// Expiry selects documents before it queues their deletion. A document that is replaced in between must survive.
#[test]
fn expiry_keeps_a_document_that_is_replaced_meanwhile() {
    let Fixture { dir: _dir, control, catalog } = fixture();
    let config = CollectionConfig { retention_days: Some(30), ..CollectionConfig::new(Preset::Articles) };
    let articles = catalog.create("retained", config).unwrap();
    let dated = |date: &str| Document { published_at: Some(date.into()), ..Document::new(1, text(1)) };
    articles.insert(dated("2024-01-01")).unwrap();
    let now = Timestamp::parse("2024-06-01").unwrap();
    std::thread::scope(|scope| {
        let replace = || scope.spawn(|| articles.replace(dated("2024-05-31")).unwrap());
        let mut expiry = None;
        let replaced = control.during_commit(replace, || {
            expiry = Some(scope.spawn(|| articles.expire(now, Confirmation::Given).unwrap()));
            while catalog.waiting() == 0 {
                std::thread::yield_now();
            }
        });
        assert_eq!(replaced.join().unwrap().outcome, Outcome::Replaced);
        assert_eq!(expiry.unwrap().join().unwrap().removed, 0);
    });
    assert_eq!(articles.get(&1.into()).unwrap().unwrap().document, dated("2024-05-31"));
}

/// A candidate that cannot be read is not a candidate that does not match.
#[test]
fn insertion_fails_if_the_text_of_a_candidate_cannot_be_read() {
    let options = OpenOptions { cache_bytes: 0, ..OpenOptions::default() };
    let Fixture { dir: _dir, control, catalog } = fixture_with(options);
    let articles = catalog.collection("articles").unwrap();
    let similar = Document::new(100, format!("{} more", text(1)));
    control.set(Fault::UnreadableTexts);
    let inserted = articles.insert(similar.clone());
    assert!(matches!(inserted, Err(Error::Database { .. })), "{inserted:?}");
    control.set(Fault::None);
    let inserted = articles.insert(similar).unwrap();
    assert_eq!(inserted.cluster, articles.get(&1.into()).unwrap().unwrap().cluster);
    assert_eq!(catalog.verify().unwrap(), []);
}
