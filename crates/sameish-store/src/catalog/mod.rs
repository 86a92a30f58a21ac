//! How are stored documents searched, clustered and kept whole?
//!
//! A [`Catalog`] is a folder with one store and its collections. The store is the truth; each collection has an index in
//! memory that is built from the stored sketches and changes only with what was committed.
//!
//! ```text
//! collection.rs  the door: insert, replace, delete, get
//! search.rs      similar, query, clusters, figures
//! writer.rs      one thread that writes, many requests a sync
//! insert.rs      what a new document does
//! repair.rs      what a document that leaves does to its cluster
//! live.rs        a collection in memory, and how it is loaded
//! texts.rs       texts read again when a candidate is judged
//! check.rs       digest, verify, rebuild
//! ```

mod check;
mod collection;
mod insert;
mod live;
mod repair;
mod search;
mod texts;
mod writer;

pub use collection::{Collection, Pending};

use crate::error::{Error, Result};
use crate::lock::Lock;
use crate::model::{CollectionConfig, Finding, Health, OpenOptions, check_name};
use crate::rows::CollectionRow;
use crate::sqlite::SqliteStore;
use crate::store::Store;
use live::Live;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use texts::{Cache, Readers};
use writer::{Queue, Writer};

/// A folder of collections.
///
/// All methods block, and may be called from any number of threads. Dropped, it finishes what waits to be written.
#[derive(Debug)]
pub struct Catalog {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    _lock: Option<Lock>,
}

/// What all threads of a catalog see.
pub(crate) struct Shared {
    folder: PathBuf,
    readers: Readers,
    cache: Cache,
    collections: RwLock<BTreeMap<String, Arc<Live>>>,
    health: Mutex<Health>,
    /// Nothing where the folder was opened for reading.
    queue: Option<Queue>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Catalog {
    /// Opens a folder, and makes it if it is not there and `options` say so. Every collection is ready when this returns.
    ///
    /// A folder that another process writes is refused with the number of that process.
    pub fn open(folder: impl AsRef<Path>, options: OpenOptions) -> Result<Catalog> {
        let folder = folder.as_ref();
        if options.create && !options.read_only {
            std::fs::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
        }
        if !folder.is_dir() {
            let reason = "it is not a folder".to_owned();
            return Err(Error::NotOurs { path: folder.to_owned(), reason });
        }
        let lock = if options.read_only { None } else { Some(Lock::take(folder)?) };
        let store = SqliteStore::open(folder, options.create, options.read_only)?;
        let mut catalog = Catalog::over(Box::new(store), folder, options)?;
        catalog._lock = lock;
        Ok(catalog)
    }

    /// The same over any store.
    pub fn over(store: Box<dyn Store>, folder: &Path, options: OpenOptions) -> Result<Catalog> {
        let mut store = store;
        let readers = Readers::new(store.reader()?);
        if options.at_one_moment {
            // It goes back to those that wait, and is the one that comes next.
            readers.get()?.hold()?;
        }
        let collections = live::load_all(&mut *store, &readers, &options)?;
        let (queue, requests) = writer::queue(options.queue);
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            readers,
            cache: Cache::new(options.cache_bytes),
            collections: RwLock::new(collections),
            health: Mutex::new(if options.read_only { Health::ReadOnly } else { Health::Ready }),
            queue: (!options.read_only).then_some(queue),
        });
        let writer = match options.read_only {
            true => None,
            false => Some(Writer::start(store, Arc::clone(&shared), requests)?),
        };
        Ok(Catalog { shared, writer, _lock: None })
    }

    /// All collections, by name.
    pub fn collections(&self) -> Vec<Collection> {
        self.shared.collections().values().map(|live| self.handle(live)).collect()
    }

    /// A collection.
    pub fn collection(&self, name: &str) -> Result<Collection> {
        let found = self.shared.collections().get(name).map(|live| self.handle(live));
        found.ok_or_else(|| Error::NoCollection { name: name.chars().take(80).collect() })
    }

    /// Makes a collection, or gives the one that has this name and these settings.
    pub fn create(&self, name: &str, config: CollectionConfig) -> Result<Collection> {
        check_name(name)?;
        let row = CollectionRow {
            number: 0,
            name: name.to_owned(),
            preset: config.preset.name().to_owned(),
            config: config.resolve()?.to_toml(),
            overrides: config.overrides,
            retention_days: config.retention_days,
            window_days: config.window_days,
            created_at: now(),
        };
        let live = self.shared.run(move |writer| writer.create(row))?;
        Ok(self.handle(&live))
    }

    /// Takes a collection out with all its documents. Tells whether it was there.
    pub fn drop_collection(&self, name: &str) -> Result<bool> {
        let Some(live) = self.shared.collections().get(name).cloned() else { return Ok(false) };
        self.shared.run(move |writer| writer.drop_collection(&live))
    }

    /// Looks at everything that is stored, and at the indexes. Writes wait meanwhile.
    pub fn verify(&self) -> Result<Vec<Finding>> {
        self.shared.exclusively(check::verify)
    }

    /// Whether it takes writes.
    pub fn health(&self) -> Health {
        self.shared.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many writes wait.
    pub fn waiting(&self) -> usize {
        self.shared.queue.as_ref().map_or(0, Queue::len)
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> Result<u64> {
        Ok(self.shared.readers.get()?.bytes())
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    /// Writes a whole and consistent copy of everything into a new folder, while others write. See
    /// [`restore`](Self::restore).
    pub fn snapshot(&self, to: impl AsRef<Path>) -> Result<()> {
        crate::snapshot::take(&*self.shared.readers.get()?, to.as_ref())
    }

    /// Puts a snapshot into a folder. A folder with documents is refused unless `replace` is set; what it had is kept
    /// beside the new under a name that ends in `.before-restore`.
    pub fn restore(from: impl AsRef<Path>, to: impl AsRef<Path>, replace: bool) -> Result<()> {
        crate::snapshot::restore(from.as_ref(), to.as_ref(), replace)
    }

    /// Finishes what waits to be written, and closes the files.
    pub fn close(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        if let Some(queue) = &self.shared.queue {
            queue.stop();
        }
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has answered nobody, and said why.
            _ = writer.join();
        }
    }

    fn handle(&self, live: &Arc<Live>) -> Collection {
        Collection::new(Arc::clone(&self.shared), Arc::clone(live))
    }
}

impl Drop for Catalog {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn collections(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<String, Arc<Live>>> {
        self.collections.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> Result<&Queue> {
        self.queue.as_ref().ok_or_else(|| Error::ReadOnly { path: self.folder.clone() })
    }

    /// Runs something on the writer's thread, alone.
    fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Writer) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.queue()?.run(job)
    }

    /// Runs something that reads while nothing is written.
    fn exclusively<T: Send + 'static>(
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

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}
