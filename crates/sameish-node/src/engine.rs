//! The engine: documents and searches.
//!
//! Methods come in pairs: one runs on the event loop, one (`...Async`) on a worker thread. Both take the lock of the engine
//! without waiting: `lib/queue.cjs` orders the calls so that the lock is always free.

use crate::analyzer::NativeAnalyzer;
use crate::batch::{Added, Batch, insert_all};
use crate::error::{CodedError, Result};
use crate::file;
use crate::id::{self, Id};
use crate::job::Job;
use crate::pair_stream::PairStream;
use crate::results::{ClusterList, MatchList, PairList};
use crate::sketches::{Text, content};
use napi::Env;
use napi::bindgen_prelude::{AsyncTask, ObjectFinalize, Uint8Array};
use napi_derive::napi;
use sameish::{Document, Engine, SearchOptions};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock, TryLockError};

/// An engine that the event loop shares with worker threads.
pub(crate) struct SharedEngine {
    engine: RwLock<Engine>,
    /// Number of documents, which can be read while the engine is being changed.
    size: AtomicUsize,
}

impl SharedEngine {
    fn new(engine: Engine) -> SharedEngine {
        let size = AtomicUsize::new(engine.len());
        SharedEngine { engine: RwLock::new(engine), size }
    }

    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, CodedError>,
    ) -> Result<T, CodedError> {
        work(&*self.engine.try_read().map_err(|error| unavailable(&error))?)
    }

    fn write<T>(&self, work: impl FnOnce(&mut Engine) -> Result<T, CodedError>) -> Result<T, CodedError> {
        let mut engine = self.engine.try_write().map_err(|error| unavailable(&error))?;
        let result = work(&mut engine);
        self.size.store(engine.len(), Ordering::Relaxed);
        result
    }
}

fn unavailable<T>(error: &TryLockError<T>) -> CodedError {
    CodedError::internal(match error {
        TryLockError::Poisoned(_) => {
            "an earlier call failed while it changed this engine; create a new engine"
        }
        TryLockError::WouldBlock => "two calls use this engine at the same time; await the first one",
    })
}

/// Estimated memory of an engine's index tables in bytes.
const TABLE_BYTES: i64 = 4 << 20;
/// Estimated memory per document in bytes.
const DOCUMENT_BYTES: i64 = 2 << 10;

/// The native part of the class `Engine`.
#[napi(js_name = "NativeEngine", custom_finalize)]
pub struct NativeEngine {
    shared: Arc<SharedEngine>,
    /// Memory that was reported to the garbage collector, in bytes.
    reported_bytes: i64,
}

impl ObjectFinalize for NativeEngine {
    fn finalize(self, env: Env) -> napi::Result<()> {
        env.adjust_external_memory(-self.reported_bytes).map(|_| ())
    }
}

impl From<Engine> for NativeEngine {
    fn from(engine: Engine) -> NativeEngine {
        NativeEngine { shared: Arc::new(SharedEngine::new(engine)), reported_bytes: 0 }
    }
}

/// The outcome of inserting a document.
#[napi(object)]
pub struct Inserted {
    /// `ok` or `too_short`.
    pub status: String,
    /// Whether the document replaced one with the same id.
    pub replaced: bool,
    /// The cluster that the document joined or started, under online clustering.
    pub cluster: Option<f64>,
}

impl From<sameish::engine::Inserted> for Inserted {
    fn from(inserted: sameish::engine::Inserted) -> Inserted {
        Inserted {
            status: inserted.status.to_string(),
            replaced: inserted.replaced,
            cluster: inserted.cluster.map(|cluster| cluster.0 as f64),
        }
    }
}

/// Options of a search. Absent options take the value of the settings.
#[napi(object)]
pub struct SearchLimits {
    /// Maximum number of matches.
    pub limit: Option<u32>,
    /// Minimum similarity of a match.
    pub min_similarity: Option<f64>,
}

impl From<SearchLimits> for SearchOptions {
    fn from(limits: SearchLimits) -> SearchOptions {
        let limit = limits.limit.map(|limit| limit as usize);
        SearchOptions { limit, min_similarity: limits.min_similarity }
    }
}

#[napi]
impl NativeEngine {
    /// Creates an empty engine.
    #[napi(constructor, catch_unwind)]
    pub fn new(analyzer: &NativeAnalyzer) -> Result<NativeEngine> {
        let engine = Engine::with_analyzer(analyzer.analyzer.clone()).map_err(CodedError::from)?;
        Ok(engine.into())
    }

    /// Loads an engine from a file.
    #[napi(factory, catch_unwind)]
    pub fn load(path: String) -> Result<NativeEngine> {
        Ok(file::load(&PathBuf::from(path))?.into())
    }

    /// Loads an engine from a file on a worker thread.
    #[napi(js_name = "loadAsync", catch_unwind)]
    pub fn load_async(path: String) -> AsyncTask<Job<NativeEngine>> {
        Job::start(move || Ok(file::load(&PathBuf::from(path))?.into()))
    }

    /// Restores an engine from the content of a file.
    #[napi(factory, catch_unwind)]
    pub fn from_bytes(bytes: Uint8Array) -> Result<NativeEngine> {
        Ok(Engine::from_bytes(&bytes).map_err(CodedError::from)?.into())
    }

    /// Restores an engine from the content of a file on a worker thread.
    #[napi(js_name = "fromBytesAsync", catch_unwind)]
    pub fn from_bytes_async(bytes: Uint8Array) -> AsyncTask<Job<NativeEngine>> {
        // JavaScript can change the array while the job runs.
        let bytes = bytes.to_vec();
        Job::start(move || Ok(Engine::from_bytes(&bytes)?.into()))
    }

    /// Saves the engine to a file.
    #[napi(catch_unwind)]
    pub fn save(&self, path: String) -> Result<()> {
        Ok(self.shared.read(|engine| file::save(engine, &PathBuf::from(path)))?)
    }

    /// Saves the engine to a file on a worker thread.
    #[napi(js_name = "saveAsync", catch_unwind)]
    pub fn save_async(&self, path: String) -> AsyncTask<Job<()>> {
        self.read_async(move |engine| file::save(engine, &PathBuf::from(path)))
    }

    /// Returns the engine as the content of a file.
    #[napi(catch_unwind)]
    pub fn to_bytes(&self) -> Result<Uint8Array> {
        Ok(self.shared.read(|engine| Ok(engine.to_bytes()?.into()))?)
    }

    /// Returns the engine as the content of a file, which a worker thread creates.
    #[napi(js_name = "toBytesAsync", catch_unwind)]
    pub fn to_bytes_async(&self) -> AsyncTask<Job<Uint8Array>> {
        self.read_async(|engine| Ok(engine.to_bytes()?.into()))
    }

    /// Returns the analyzer.
    #[napi(catch_unwind)]
    pub fn analyzer(&self) -> Result<NativeAnalyzer> {
        Ok(self.shared.read(|engine| Ok(NativeAnalyzer { analyzer: engine.analyzer().clone() }))?)
    }

    /// Returns the number of documents. It can be called at any time.
    #[napi(catch_unwind)]
    pub fn size(&self) -> f64 {
        self.shared.size.load(Ordering::Relaxed) as f64
    }

    /// Reports the estimated memory of the engine to the garbage collector, which otherwise sees only a small object and
    /// would delay the collection of unused engines.
    #[napi(catch_unwind)]
    pub fn report_memory(&mut self, env: Env) -> Result<()> {
        let bytes = TABLE_BYTES + DOCUMENT_BYTES * self.shared.size.load(Ordering::Relaxed) as i64;
        let reported = env.adjust_external_memory(bytes - self.reported_bytes);
        reported.map_err(|error| CodedError::internal(&error.reason))?;
        self.reported_bytes = bytes;
        Ok(())
    }

    /// Returns `true` if there is a document with this id.
    #[napi(catch_unwind)]
    pub fn has(&self, id: Id) -> Result<bool> {
        Ok(self.shared.read(has(id))?)
    }

    /// Returns `true` if there is a document with this id.
    #[napi(js_name = "hasAsync", catch_unwind)]
    pub fn has_async(&self, id: Id) -> AsyncTask<Job<bool>> {
        self.read_async(has(id))
    }

    /// Inserts a document.
    #[napi(catch_unwind)]
    pub fn insert(&self, id: Id, text: Text, published_at: Option<String>) -> Result<Inserted> {
        Ok(self.shared.write(insert(id, text, published_at))?)
    }

    /// Inserts a document on a worker thread.
    #[napi(js_name = "insertAsync", catch_unwind)]
    pub fn insert_async(&self, id: Id, text: Text, published_at: Option<String>) -> AsyncTask<Job<Inserted>> {
        self.write_async(insert(id, text, published_at))
    }

    /// Removes a document. Returns `true` if the engine contained it.
    #[napi(catch_unwind)]
    pub fn remove(&self, id: Id) -> Result<bool> {
        Ok(self.shared.write(remove(id))?)
    }

    /// Removes a document on a worker thread. Returns `true` if the engine contained it.
    #[napi(js_name = "removeAsync", catch_unwind)]
    pub fn remove_async(&self, id: Id) -> AsyncTask<Job<bool>> {
        self.write_async(remove(id))
    }

    /// Inserts the documents of a batch.
    #[napi(catch_unwind)]
    pub fn insert_batch(&self, batch: &Batch) -> Result<Added> {
        Ok(self.shared.write(|engine| insert_all(engine, batch.take()))?)
    }

    /// Inserts the documents of a batch on a worker thread.
    #[napi(js_name = "insertBatchAsync", catch_unwind)]
    pub fn insert_batch_async(&self, batch: &Batch) -> AsyncTask<Job<Added>> {
        let documents = batch.take();
        self.write_async(move |engine| insert_all(engine, documents))
    }

    /// Finds the documents that match a text.
    #[napi(catch_unwind)]
    pub fn search(&self, text: Text, options: SearchLimits) -> Result<MatchList> {
        Ok(self.shared.read(search(text, options))?)
    }

    /// Finds the documents that match a text on a worker thread.
    #[napi(js_name = "searchAsync", catch_unwind)]
    pub fn search_async(&self, text: Text, options: SearchLimits) -> AsyncTask<Job<MatchList>> {
        self.read_async(search(text, options))
    }

    /// Finds the other documents that match a stored one. Returns `null` if there is no document with this id.
    #[napi(catch_unwind)]
    pub fn search_id(&self, id: Id, options: SearchLimits) -> Result<Option<MatchList>> {
        Ok(self.shared.read(search_id(id, options))?)
    }

    /// Finds the other documents that match a stored one on a worker thread. Returns `null` if there is no document with
    /// this id.
    #[napi(js_name = "searchIdAsync", catch_unwind)]
    pub fn search_id_async(&self, id: Id, options: SearchLimits) -> AsyncTask<Job<Option<MatchList>>> {
        self.read_async(search_id(id, options))
    }

    /// Computes up to `limit` pairs.
    #[napi(catch_unwind)]
    pub fn pairs(&self, limit: u32) -> Result<PairList> {
        Ok(self.shared.read(|engine| Ok(PairList::new(engine, limit as usize)))?)
    }

    /// Computes up to `limit` pairs on a worker thread.
    #[napi(js_name = "pairsAsync", catch_unwind)]
    pub fn pairs_async(&self, limit: u32) -> AsyncTask<Job<PairList>> {
        self.read_async(move |engine| Ok(PairList::new(engine, limit as usize)))
    }

    /// Starts a stream of all pairs.
    #[napi(catch_unwind)]
    pub fn pair_stream(&self) -> Result<PairStream> {
        Ok(PairStream::start(Arc::clone(&self.shared))?)
    }

    /// Clusters all documents.
    #[napi(catch_unwind)]
    pub fn clusters(&self) -> Result<ClusterList> {
        Ok(self.shared.read(|engine| Ok(engine.groups().into()))?)
    }

    /// Clusters all documents on a worker thread.
    #[napi(js_name = "clustersAsync", catch_unwind)]
    pub fn clusters_async(&self) -> AsyncTask<Job<ClusterList>> {
        self.read_async(|engine| Ok(engine.groups().into()))
    }

    fn read_async<T>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, CodedError> + Send + 'static,
    ) -> AsyncTask<Job<T>>
    where
        Job<T>: napi::Task,
    {
        let shared = Arc::clone(&self.shared);
        Job::start(move || shared.read(work))
    }

    fn write_async<T>(
        &self,
        work: impl FnOnce(&mut Engine) -> Result<T, CodedError> + Send + 'static,
    ) -> AsyncTask<Job<T>>
    where
        Job<T>: napi::Task,
    {
        let shared = Arc::clone(&self.shared);
        Job::start(move || shared.write(work))
    }
}

// The functions below convert the arguments from JavaScript and return a closure that runs on any thread.

fn has(id: Id) -> impl FnOnce(&Engine) -> Result<bool, CodedError> + Send {
    let id = id::from_js(id);
    move |engine| Ok(engine.contains(&id))
}

fn remove(id: Id) -> impl FnOnce(&mut Engine) -> Result<bool, CodedError> + Send {
    let id = id::from_js(id);
    move |engine| Ok(engine.remove(&id))
}

fn insert(
    id: Id,
    text: Text,
    published_at: Option<String>,
) -> impl FnOnce(&mut Engine) -> Result<Inserted, CodedError> + Send {
    let id = id::from_js(id);
    let content = content(text);
    let document = Document { id, content, published_at, ..Document::new(0, "") };
    move |engine| {
        let inserted = engine.insert(&document);
        Ok(inserted.map_err(|error| CodedError::from_date(error, "publishedAt"))?.into())
    }
}

fn search(text: Text, options: SearchLimits) -> impl FnOnce(&Engine) -> Result<MatchList, CodedError> + Send {
    let content = content(text);
    move |engine| Ok(engine.search(&content, options.into())?.into())
}

fn search_id(
    id: Id,
    options: SearchLimits,
) -> impl FnOnce(&Engine) -> Result<Option<MatchList>, CodedError> + Send {
    let id = id::from_js(id);
    move |engine| Ok(engine.search_id(&id, options.into())?.map(MatchList::from))
}
