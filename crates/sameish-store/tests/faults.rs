//! What a store that fails in the middle does to a catalog.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish::{ClusterId, Document, Preset};
use sameish_store::{
    Catalog, CollectionConfig, CollectionRow, Counters, DocumentRow, Error, Health, MemberRow, OpenOptions,
    Outcome, Read, Result, SimilarOptions, SketchRow, SqliteStore, Store, Transaction,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const WELL: u8 = 0;
const FULL: u8 = 1;
const FAILED: u8 = 2;
/// Full, with room kept for deletes.
const ROOM_KEPT: u8 = 3;
/// Full, and that room was given up.
const ROOM_GIVEN: u8 = 4;

/// A store whose commits fail when they are told to.
struct Faulty {
    inner: SqliteStore,
    fault: Arc<AtomicU8>,
}

struct Change<'a> {
    inner: Box<dyn Transaction + 'a>,
    fault: u8,
}

impl Store for Faulty {
    fn reader(&self) -> Result<Box<dyn Read + Send>> {
        self.inner.reader()
    }

    fn settle(&mut self) -> Result<()> {
        self.inner.settle()
    }

    fn keep_room(&mut self) -> Result<()> {
        match self.fault.load(Ordering::SeqCst) {
            ROOM_GIVEN => Err(Error::Full),
            _ => Ok(()),
        }
    }

    fn give_room(&mut self) -> bool {
        self.fault.compare_exchange(ROOM_KEPT, ROOM_GIVEN, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn begin(&mut self) -> Result<Box<dyn Transaction + '_>> {
        let fault = self.fault.load(Ordering::SeqCst);
        Ok(Box::new(Change { inner: self.inner.begin()?, fault }))
    }
}

impl Transaction for Change<'_> {
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
            WELL | ROOM_GIVEN => self.inner.commit(),
            FULL | ROOM_KEPT => Err(Error::Full),
            _ => Err(Error::Failed { reason: "sync".into() }),
        }
    }
}

fn text(i: u64) -> String {
    (0..80).map(|at| format!("word{}of{}", at + i / 10, i % 10)).collect::<Vec<_>>().join(" ")
}

struct Setting {
    folder: tempfile::TempDir,
    fault: Arc<AtomicU8>,
    catalog: Catalog,
}

fn setting() -> Setting {
    let folder = tempfile::tempdir().unwrap();
    let fault = Arc::new(AtomicU8::new(WELL));
    let inner = SqliteStore::open(folder.path(), true, false).unwrap();
    let store = Box::new(Faulty { inner, fault: Arc::clone(&fault) });
    let catalog = Catalog::over(store, folder.path(), OpenOptions::default()).unwrap();
    let articles = catalog.create("articles", CollectionConfig::new(Preset::Articles)).unwrap();
    let documents = (0..20).map(|i| Document::new(i, text(i))).collect();
    articles.insert_many(documents).unwrap().into_iter().for_each(|answer| _ = answer.unwrap());
    Setting { folder, fault, catalog }
}

#[test]
fn a_write_that_found_no_room_leaves_no_trace_and_the_next_works() {
    let Setting { folder, fault, catalog } = setting();
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

    fault.store(WELL, Ordering::SeqCst);
    assert_eq!(articles.insert(Document::new(100, text(100))).unwrap().outcome, Outcome::Created);
    assert_eq!(catalog.health(), Health::Ready);
    assert_eq!(catalog.verify().unwrap(), []);
    let digest = articles.digest().unwrap();
    drop(articles);
    catalog.close();
    let catalog = Catalog::open(folder.path(), OpenOptions::default()).unwrap();
    assert_eq!(catalog.collection("articles").unwrap().digest().unwrap(), digest);
}

#[test]
fn a_full_disk_has_room_for_deletes_and_for_nothing_else() {
    let Setting { folder: _folder, fault, catalog } = setting();
    let articles = catalog.collection("articles").unwrap();
    fault.store(ROOM_KEPT, Ordering::SeqCst);
    assert!(matches!(articles.insert(Document::new(100, text(100))), Err(Error::Full)));
    assert!(articles.delete(&1.into()).unwrap());
    assert_eq!(fault.load(Ordering::SeqCst), ROOM_GIVEN);
    // What the room gave is not for these.
    assert!(matches!(articles.insert(Document::new(100, text(100))), Err(Error::Full)));
    assert!(matches!(articles.replace(Document::new(2, text(100))), Err(Error::Full)));
    assert!(articles.delete(&2.into()).unwrap());
    fault.store(WELL, Ordering::SeqCst);
    assert_eq!(articles.insert(Document::new(100, text(100))).unwrap().outcome, Outcome::Created);
    assert_eq!((articles.len(), catalog.verify().unwrap()), (19, vec![]));
}

#[test]
fn after_a_failed_sync_nothing_is_written_and_reads_go_on() {
    let Setting { folder, fault, catalog } = setting();
    let articles = catalog.collection("articles").unwrap();
    fault.store(FAILED, Ordering::SeqCst);
    assert!(matches!(articles.insert(Document::new(100, text(100))), Err(Error::Failed { .. })));
    fault.store(WELL, Ordering::SeqCst);
    assert!(matches!(articles.insert(Document::new(101, text(101))), Err(Error::Failed { .. })));
    assert!(matches!(articles.delete(&1.into()), Err(Error::Failed { .. })));
    assert!(matches!(catalog.health(), Health::Failed(_)));
    assert!(articles.get(&1.into()).unwrap().is_some());
    assert_eq!(articles.similar(&1.into(), SimilarOptions::default()).unwrap().similar.len(), 1);
    drop(articles);
    catalog.close();
    let catalog = Catalog::open(folder.path(), OpenOptions::default()).unwrap();
    catalog.collection("articles").unwrap().insert(Document::new(100, text(100))).unwrap();
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn many_writers_at_once_are_served_as_one_after_the_other() {
    let Setting { folder: _folder, catalog, .. } = setting();
    let articles = catalog.collection("articles").unwrap();
    let created: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let articles = &articles;
                scope.spawn(move || {
                    let mut created = 0;
                    for i in 0..40u64 {
                        // All race for the same ids with texts of their own.
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
