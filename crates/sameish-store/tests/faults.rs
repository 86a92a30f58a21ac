//! Catalogs over a store whose commits fail.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish::cluster::ClusterId;
use sameish::{Document, Preset};
use sameish_store::{
    Catalog, CollectionConfig, CollectionRow, Counters, DocumentRow, Error, Health, MemberRow, OpenOptions,
    Outcome, Read, Result, SimilarOptions, SketchRow, SqliteStore, Store, Transaction,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const NONE: u8 = 0;
const FULL: u8 = 1;
const FAILED: u8 = 2;
/// The disk is full, and space is reserved for deletes.
const FULL_WITH_RESERVE: u8 = 3;
/// The disk is full, and the reserved space was released.
const RESERVE_RELEASED: u8 = 4;

/// A store whose commits fail on request.
struct FaultyStore {
    inner: SqliteStore,
    fault: Arc<AtomicU8>,
}

struct FaultyTransaction<'a> {
    inner: Box<dyn Transaction + 'a>,
    fault: u8,
}

impl Store for FaultyStore {
    fn reader(&self) -> Result<Box<dyn Read + Send>> {
        self.inner.reader()
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.inner.checkpoint()
    }

    fn reserve_space(&mut self) -> Result<()> {
        match self.fault.load(Ordering::SeqCst) {
            RESERVE_RELEASED => Err(Error::Full),
            _ => Ok(()),
        }
    }

    fn release_space(&mut self) -> bool {
        self.fault
            .compare_exchange(FULL_WITH_RESERVE, RESERVE_RELEASED, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    fn begin(&mut self) -> Result<Box<dyn Transaction + '_>> {
        let fault = self.fault.load(Ordering::SeqCst);
        Ok(Box::new(FaultyTransaction { inner: self.inner.begin()?, fault }))
    }
}

impl Transaction for FaultyTransaction<'_> {
    fn read(&self) -> &dyn Read {
        self.inner.read()
    }

    fn put_collection(&mut self, row: &CollectionRow) -> Result<()> {
        self.inner.put_collection(row)
    }

    fn drop_collection(&mut self, collection: u32) -> Result<()> {
        self.inner.drop_collection(collection)
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

    fn put_cluster(&mut self, collection: u32, cluster: ClusterId, size: u64) -> Result<()> {
        self.inner.put_cluster(collection, cluster, size)
    }

    fn put_counters(&mut self, counters: Counters) -> Result<()> {
        self.inner.put_counters(counters)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        match self.fault {
            NONE | RESERVE_RELEASED => self.inner.commit(),
            FULL | FULL_WITH_RESERVE => Err(Error::Full),
            _ => Err(Error::Failed { reason: "sync".into() }),
        }
    }
}

fn text(i: u64) -> String {
    (0..80).map(|at| format!("word{}of{}", at + i / 10, i % 10)).collect::<Vec<_>>().join(" ")
}

struct Fixture {
    dir: tempfile::TempDir,
    fault: Arc<AtomicU8>,
    catalog: Catalog,
}

/// Returns a catalog with 20 documents in 10 clusters.
fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let fault = Arc::new(AtomicU8::new(NONE));
    let inner = SqliteStore::open(dir.path(), true, false).unwrap();
    let store = Box::new(FaultyStore { inner, fault: Arc::clone(&fault) });
    let catalog = Catalog::over(store, dir.path(), OpenOptions::default()).unwrap();
    let articles = catalog.create("articles", CollectionConfig::new(Preset::Articles)).unwrap();
    let documents = (0..20).map(|i| Document::new(i, text(i))).collect();
    articles.insert_many(documents).unwrap().into_iter().for_each(|result| _ = result.unwrap());
    Fixture { dir, fault, catalog }
}

#[test]
fn write_on_a_full_disk_changes_nothing_and_the_next_one_succeeds() {
    let Fixture { dir, fault, catalog } = fixture();
    let articles = catalog.collection("articles").unwrap();
    let digest = articles.digest().unwrap();
    fault.store(FULL, Ordering::SeqCst);
    assert!(matches!(articles.insert(Document::new(100, text(100))), Err(Error::Full)));
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

    fault.store(NONE, Ordering::SeqCst);
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
    let Fixture { dir: _dir, fault, catalog } = fixture();
    let articles = catalog.collection("articles").unwrap();
    fault.store(FULL_WITH_RESERVE, Ordering::SeqCst);
    assert!(matches!(articles.insert(Document::new(100, text(100))), Err(Error::Full)));
    assert!(articles.delete(&1.into()).unwrap());
    assert_eq!(fault.load(Ordering::SeqCst), RESERVE_RELEASED);
    // Only deletes may use the released space.
    assert!(matches!(articles.insert(Document::new(100, text(100))), Err(Error::Full)));
    assert!(matches!(articles.replace(Document::new(2, text(100))), Err(Error::Full)));
    assert!(articles.delete(&2.into()).unwrap());
    fault.store(NONE, Ordering::SeqCst);
    assert_eq!(articles.insert(Document::new(100, text(100))).unwrap().outcome, Outcome::Created);
    assert_eq!((articles.len(), catalog.verify().unwrap()), (19, vec![]));
}

#[test]
fn failed_sync_rejects_writes_until_reopened_and_keeps_reads() {
    let Fixture { dir, fault, catalog } = fixture();
    let articles = catalog.collection("articles").unwrap();
    fault.store(FAILED, Ordering::SeqCst);
    assert!(matches!(articles.insert(Document::new(100, text(100))), Err(Error::Failed { .. })));
    fault.store(NONE, Ordering::SeqCst);
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
