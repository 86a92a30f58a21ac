//! Catalogs: directories of collections that are stored, indexed, searched and clustered.
//!
//! A [`Catalog`] is a directory with one store. The store is the source of truth. Each collection has an index in memory,
//! which is built from the stored sketches and changes only with what is committed.
//!
//! ```text
//! collection.rs  insert, replace, delete, get
//! search.rs      similar, query, statistics
//! browse.rs      lists of clusters and of the documents of a cluster
//! sources.rs     how often one source publishes after another
//! edits.rs       editorial decisions on clusters; edits/ has the clusters that they give, and the rows that they change
//! events.rs      what happened to documents, in order
//! export.rs      all documents in order of arrival
//! refresh.rs     statistics that are computed in the background
//! sample.rs      similarities of pairs, and the result of another threshold
//! writer.rs      the writer thread and its queue
//! insert.rs      insertion and replacement of documents
//! repair.rs      deletion of documents
//! clusters.rs    which cluster a document joins, and the rows of clusters; clusters/ has one file per linkage
//! neighbors.rs   searches for the documents that decide this
//! tasks.rs       queued work on clusters after deletions
//! recluster.rs   clustering of a collection from scratch
//! remains.rs     deletion of the rows of deleted collections
//! profiles.rs    features of texts in crowded buckets, which are read after the directory was opened
//! collections.rs the collections of a catalog: those that can be used, and those that cannot
//! live.rs        a collection in memory, and how it is loaded
//! texts.rs       features of stored texts, with a cache
//! check.rs       verification
//! expiry.rs      deletion of old documents
//! clock.rs       plausibility of the system clock
//! ```

mod browse;
mod check;
mod clock;
mod clusters;
mod collection;
mod collections;
mod edits;
mod events;
mod expiry;
mod export;
mod insert;
mod live;
mod neighbors;
mod profiles;
mod recluster;
mod refresh;
mod remains;
mod repair;
mod sample;
mod search;
mod sources;
mod tasks;
mod texts;
mod writer;

pub use collection::{Collection, Pending};
pub use search::Sink;

use crate::error::{Error, Result};
use crate::lock::Lock;
use crate::model::{
    CollectionConfig, Finding, Health, OpenOptions, Reclustered, UnavailableCollection, check_name,
};
use crate::private;
use crate::restore;
use crate::rows::CollectionRow;
use crate::sqlite::{Backup, SqliteStore};
use crate::store::Store;
use clock::Clock;
use collections::Collections;
use live::LiveCollection;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use texts::{FeatureCache, ReaderPool, Snapshots};
use writer::{Queue, Writer};

/// A directory of collections.
///
/// All methods block and can be called from any number of threads. Dropping the catalog completes the queued writes.
#[derive(Debug)]
pub struct Catalog {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    reclustered: Vec<Reclustered>,
    _lock: Option<Lock>,
}

/// Time after which a transaction that deletes rows ends, if no other writes wait.
const OFFLINE_STEP: Duration = Duration::from_millis(100);

/// The state that all threads of a catalog share.
pub(crate) struct Shared {
    dir: PathBuf,
    readers: ReaderPool,
    cache: FeatureCache,
    collections: RwLock<Collections>,
    health: Mutex<Health>,
    clock: Mutex<Clock>,
    /// `None` if the catalog is open read-only.
    queue: Option<Queue>,
    /// Number of transactions of the writer, after each of which totals may differ.
    writes: AtomicU64,
    /// Called after every transaction of the writer.
    after_write: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Catalog {
    /// Opens the catalog of a directory, and creates it if it does not exist and `options.create` is set. All collections
    /// are loaded when this returns, except for [unavailable](Self::unavailable) ones.
    ///
    /// Returns [`Error::InUse`] with the process id if another process has the directory open for writing.
    pub fn open(dir: impl AsRef<Path>, options: OpenOptions) -> Result<Catalog> {
        let dir = dir.as_ref();
        if options.create && !options.read_only {
            private::create_dir(dir).map_err(|source| Error::io(dir, source))?;
        }
        if !dir.is_dir() {
            let reason = if dir.exists() { "it is not a directory" } else { "the directory does not exist" };
            return Err(Error::NotOurs { path: dir.to_owned(), reason: reason.to_owned() });
        }
        let lock = if options.read_only { None } else { Some(Lock::acquire(dir)?) };
        if lock.is_some() {
            private::restrict(dir);
            restore::complete(dir)?;
        }
        let backup = if options.backup_before_upgrade { Backup::BeforeUpgrade } else { Backup::None };
        let store = SqliteStore::open_with(dir, options.create, options.read_only, backup)?;
        let mut catalog = Catalog::over(Box::new(store), dir, options)?;
        catalog._lock = lock;
        Ok(catalog)
    }

    /// Opens a catalog over any store. `dir` is used in error messages and returned by [`directory`](Self::directory).
    pub fn over(mut store: Box<dyn Store>, dir: &Path, options: OpenOptions) -> Result<Catalog> {
        let snapshots = if options.at_one_moment { Snapshots::Fixed } else { Snapshots::Current };
        let readers = ReaderPool::new(store.reader()?, snapshots);
        if options.at_one_moment {
            // The reader returns to the pool, which gives it to every later call of a single thread.
            readers.get()?.begin_snapshot()?;
        }
        let collections = live::load_all(&mut *store, &readers, &options)?;
        let newest_arrival = collections.live().filter_map(|live| live.last_arrival()).max();
        let clock = Clock::new(readers.get()?.clock()?, newest_arrival);
        let cache = FeatureCache::new(options.cache_bytes);
        let reclustered = if options.read_only {
            Vec::new()
        } else {
            recluster::recluster_all(&mut *store, &cache, collections.live(), options.rebuild)?
        };
        let (queue, requests) = writer::queue(options.queue);
        let shared = Arc::new(Shared {
            dir: dir.to_owned(),
            readers,
            cache,
            collections: RwLock::new(collections),
            health: Mutex::new(if options.read_only { Health::ReadOnly } else { Health::Ready }),
            clock: Mutex::new(clock),
            queue: (!options.read_only).then_some(queue),
            writes: AtomicU64::new(0),
            after_write: OnceLock::new(),
        });
        let writer = if options.read_only {
            None
        } else {
            Some(Writer::start(store, Arc::clone(&shared), requests, options.erase_after)?)
        };
        Ok(Catalog { shared, writer, reclustered, _lock: None })
    }

    /// Sets a function that the writer thread calls after every transaction. It must not block. Only the first call of this
    /// method has an effect.
    pub fn after_write(&self, notify: impl Fn() + Send + Sync + 'static) {
        // A later function is ignored, as documented.
        _ = self.shared.after_write.set(Box::new(notify));
    }

    /// Returns the collections that were clustered again when the catalog was opened, because an older version had written
    /// the directory.
    pub fn reclustered(&self) -> &[Reclustered] {
        &self.reclustered
    }

    /// Finishes all queued work on clusters. Other writes wait meanwhile; without this call, the work is done in small
    /// steps between other writes.
    pub fn settle(&self) -> Result<()> {
        self.shared.run_on_writer(Writer::settle)
    }

    /// Waits until the indexes know the features of all texts in crowded buckets. After a directory was opened, they are read in
    /// small steps between other writes; until then, searches among many similar texts read more of them and may reach limits.
    pub fn finish_loading(&self) -> Result<()> {
        self.shared.run_on_writer(Writer::read_all_profiles)
    }

    /// Returns all collections that can be used, in order of their names.
    pub fn collections(&self) -> Vec<Collection> {
        self.shared.collections().live().map(|live| self.handle(live)).collect()
    }

    /// Returns the collections that cannot be used, in order of their names.
    pub fn unavailable(&self) -> Vec<UnavailableCollection> {
        self.shared.collections().unavailable().cloned().collect()
    }

    /// Returns a collection by name. Returns [`Error::Unavailable`] if it cannot be used.
    pub fn collection(&self, name: &str) -> Result<Collection> {
        let collection = self.shared.collections().get(name)?.map(|live| self.handle(live));
        collection.ok_or_else(|| Error::NoCollection { name: name.chars().take(80).collect() })
    }

    /// Creates a collection, or returns the existing one with the same name and settings.
    pub fn create(&self, name: &str, config: CollectionConfig) -> Result<Collection> {
        check_name(name)?;
        let row = CollectionRow {
            number: 0,
            name: name.to_owned(),
            preset: config.preset.name().to_owned(),
            center: config.resolve_center()?,
            config: config.resolve()?.to_toml(),
            overrides: config.overrides,
            retention_days: config.retention_days,
            window_days: config.window_days,
            created_at: now(),
        };
        let live = self.shared.run_on_writer(move |writer| writer.create(row))?;
        Ok(self.handle(&live))
    }

    /// Deletes a collection, which may be unavailable, with all its documents. Returns `true` if it existed.
    ///
    /// The collection is gone when this returns, and its name can be used again. Its rows are deleted from the files in small
    /// steps between other writes; if the process ends before, the next one continues.
    pub fn drop_collection(&self, name: &str) -> Result<bool> {
        let Some(number) = self.shared.collections().number_of(name) else { return Ok(false) };
        let name = name.to_owned();
        self.shared.run_on_writer(move |writer| writer.drop_collection(&name, number))
    }

    /// Deletes a collection of a directory that no process has open for writing, without loading the directory. Returns
    /// `true` if it existed.
    pub fn drop_stored(dir: impl AsRef<Path>, name: &str) -> Result<bool> {
        let dir = dir.as_ref();
        let _lock = Lock::acquire(dir)?;
        restore::complete(dir)?;
        let mut store = SqliteStore::open(dir, false, false)?;
        let stored = store.reader()?.collections()?;
        let Some(row) = stored.into_iter().find(|stored| stored.name == name) else { return Ok(false) };
        let mut change = store.begin()?;
        change.drop_collection(row.number)?;
        change.commit()?;
        while remains::remove_until(&mut store, row.number, Instant::now() + OFFLINE_STEP)? {}
        Ok(true)
    }

    /// Removes free space and all remains of deleted documents from the files of the store. Writes wait meanwhile, and the
    /// disk needs free space for a copy of the store.
    pub fn compact(&self) -> Result<()> {
        self.shared.run_on_writer(|writer| {
            writer.remove_all_remains()?;
            writer.write(|writer| writer.store.compact())
        })
    }

    /// Returns the old databases that restores and upgrades have kept in the directory.
    pub fn kept_copies(&self) -> Result<Vec<PathBuf>> {
        let io = |source| Error::io(&self.shared.dir, source);
        let mut copies = Vec::new();
        for entry in std::fs::read_dir(&self.shared.dir).map_err(io)? {
            let entry = entry.map_err(io)?;
            let name = entry.file_name();
            let is_copy = |start: &&str| name.as_encoded_bytes().starts_with(start.as_bytes());
            if ["sameish.db.before-restore", "sameish.format-"].iter().any(is_copy) {
                copies.push(entry.path());
            }
        }
        copies.sort();
        Ok(copies)
    }

    /// Checks all stored rows, the clusters and the indexes, and returns the defects. Writes wait meanwhile.
    pub fn verify(&self) -> Result<Vec<Finding>> {
        self.shared.run_exclusively(check::verify)
    }

    /// Returns whether the catalog accepts writes.
    pub fn health(&self) -> Health {
        self.shared.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the number of queued writes.
    pub fn waiting(&self) -> usize {
        self.shared.queue.as_ref().map_or(0, Queue::len)
    }

    /// Returns the size of the store on disk in bytes.
    pub fn bytes(&self) -> Result<u64> {
        Ok(self.shared.readers.get()?.bytes())
    }

    /// Returns the directory.
    pub fn directory(&self) -> &Path {
        &self.shared.dir
    }

    /// Writes a consistent copy of the store into a new directory. Writes can continue meanwhile. See
    /// [`restore`](Self::restore).
    pub fn snapshot(&self, to: impl AsRef<Path>) -> Result<()> {
        crate::snapshot::create(&*self.shared.readers.get()?, to.as_ref())
    }

    /// Restores a snapshot into a directory. If the directory already contains a store, this returns an error unless
    /// `replace` is set; then the old database is kept under a name with `.before-restore`.
    pub fn restore(from: impl AsRef<Path>, to: impl AsRef<Path>, replace: bool) -> Result<()> {
        restore::restore(from.as_ref(), to.as_ref(), replace)
    }

    /// Completes the queued writes and closes the files.
    pub fn close(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        if let Some(queue) = &self.shared.queue {
            queue.stop();
        }
        if let Some(writer) = self.writer.take() {
            // If the writer panicked, the panic message has been printed and callers have got an error.
            _ = writer.join();
        }
    }

    fn handle(&self, live: &Arc<LiveCollection>) -> Collection {
        Collection::new(Arc::clone(&self.shared), Arc::clone(live))
    }
}

impl Drop for Catalog {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn collections(&self) -> RwLockReadGuard<'_, Collections> {
        self.collections.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn collections_mut(&self) -> RwLockWriteGuard<'_, Collections> {
        self.collections.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of transactions of the writer, or `None` if another process may write.
    fn writes(&self) -> Option<u64> {
        self.queue.is_some().then(|| self.writes.load(Ordering::Acquire))
    }

    fn set_health(&self, health: Health) {
        *self.health.lock().unwrap_or_else(PoisonError::into_inner) = health;
    }

    fn queue(&self) -> Result<&Queue> {
        self.queue.as_ref().ok_or_else(|| Error::ReadOnly { path: self.dir.clone() })
    }

    /// Runs a function on the writer thread, between transactions.
    fn run_on_writer<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Writer) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.queue()?.run(job)
    }

    /// Runs a function that reads, while this process writes nothing.
    fn run_exclusively<T: Send + 'static>(
        self: &Arc<Self>,
        job: impl FnOnce(&Shared) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.queue {
            None => job(self),
            Some(queue) => {
                let shared = Arc::clone(self);
                queue.run(move |_| job(&shared))
            }
        }
    }
}

/// Returns the current time in milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}
