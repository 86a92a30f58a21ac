//! Documents that stay, and those that match: the engine as JavaScript holds it.
//!
//! Texts are made ready by an engine of the same settings that holds nothing, so that no lock is needed for it. The lock
//! around the other is never waited for: `lib/turns.cjs` lets calls that return promises wait for each other, and refuses
//! others that would have to wait.

use crate::batch::{Added, Batch, insert};
use crate::compare::Compared;
use crate::fault::{Fault, Result};
use crate::groups::{GroupList, MatchList, PairList};
use crate::id::{self, Id};
use crate::job::Job;
use crate::sketches::{Sketch, Text, content, sketch_all, with_scratch};
use crate::stored;
use crate::stream::PairStream;
use napi::Env;
use napi::bindgen_prelude::{AsyncTask, ObjectFinalize, Uint8Array};
use napi_derive::napi;
use sameish::{Analyzer, Config, DocId, Engine, Prepared, Preset, SearchOptions};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

/// The engine below the class `Engine` of the package.
#[napi(js_name = "NativeEngine", custom_finalize)]
pub struct NativeEngine {
    analyzer: Analyzer,
    held: Arc<RwLock<Engine>>,
    /// How many documents there are, for those who ask while the lock is taken.
    size: Arc<AtomicUsize>,
    /// Bytes that the garbage collector was told of.
    told: i64,
}

/// What an engine takes as soon as it has documents, as measured: tables of its indexes.
const TABLES: i64 = 4 << 20;
/// What a document takes, roughly; the engine does not count it.
const DOCUMENT: i64 = 2 << 10;

impl ObjectFinalize for NativeEngine {
    fn finalize(self, env: Env) -> napi::Result<()> {
        env.adjust_external_memory(-self.told).map(|_| ())
    }
}

/// What became of a document.
#[napi(object)]
pub struct Inserted {
    /// `ok` or `too_short`.
    pub status: String,
    /// Whether a document of that id was there and has gone.
    pub replaced: bool,
    /// The cluster it joined or founded, under online clustering.
    pub cluster: Option<f64>,
}

impl From<sameish::Inserted> for Inserted {
    fn from(inserted: sameish::Inserted) -> Inserted {
        let status = inserted.status.to_string();
        let cluster = inserted.cluster.map(|cluster| cluster.0 as f64);
        Inserted { status, replaced: inserted.replaced, cluster }
    }
}

#[napi]
impl NativeEngine {
    /// An engine with the settings of a preset and, laid over them, those of a JSON text.
    #[napi(constructor, catch_unwind)]
    pub fn new(preset: String, overrides: Option<String>) -> Result<NativeEngine> {
        Ok(NativeEngine::build(&preset, overrides.as_deref())?)
    }

    fn build(preset: &str, overrides: Option<&str>) -> Result<NativeEngine, Fault> {
        let mut config: Config = preset.parse::<Preset>()?.config();
        if let Some(overrides) = overrides {
            config = config.overridden_by(&toml_of(overrides)?)?;
        }
        NativeEngine::holding(Engine::new(config)?)
    }

    /// Around an engine that may have documents.
    fn holding(engine: Engine) -> Result<NativeEngine, Fault> {
        let analyzer = engine.analyzer().clone();
        let size = Arc::new(AtomicUsize::new(engine.len()));
        Ok(NativeEngine { analyzer, held: Arc::new(RwLock::new(engine)), size, told: 0 })
    }

    /// The engine that was saved in a file.
    #[napi(factory, catch_unwind)]
    pub fn load(path: String) -> Result<NativeEngine> {
        Ok(stored::load(&PathBuf::from(path)).and_then(NativeEngine::holding)?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "loadAsync", catch_unwind)]
    pub fn load_async(path: String) -> AsyncTask<Job<NativeEngine>> {
        Job::start(move || stored::load(&PathBuf::from(path)).and_then(NativeEngine::holding))
    }

    /// The engine that was written as these bytes.
    #[napi(factory, catch_unwind)]
    pub fn from_bytes(bytes: Uint8Array) -> Result<NativeEngine> {
        Ok(Engine::from_bytes(&bytes).map_err(Fault::from).and_then(NativeEngine::holding)?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "fromBytesAsync", catch_unwind)]
    pub fn from_bytes_async(bytes: Uint8Array) -> AsyncTask<Job<NativeEngine>> {
        // JavaScript may change its bytes meanwhile.
        let bytes = bytes.to_vec();
        Job::start(move || NativeEngine::holding(Engine::from_bytes(&bytes)?))
    }

    /// Writes the engine into a file.
    #[napi(catch_unwind)]
    pub fn save(&self, path: String) -> Result<()> {
        Ok(self.read(|engine| stored::save(engine, &PathBuf::from(path)))?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "saveAsync", catch_unwind)]
    pub fn save_async(&self, path: String) -> AsyncTask<Job<()>> {
        self.read_later(move |engine| stored::save(engine, &PathBuf::from(path)))
    }

    /// The engine as bytes, which are those of the file.
    #[napi(catch_unwind)]
    pub fn to_bytes(&self) -> Result<Uint8Array> {
        Ok(self.read(|engine| Ok(engine.to_bytes()?.into()))?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "toBytesAsync", catch_unwind)]
    pub fn to_bytes_async(&self) -> AsyncTask<Job<Uint8Array>> {
        self.read_later(|engine| Ok(engine.to_bytes()?.into()))
    }

    /// The settings, as JSON.
    #[napi(catch_unwind)]
    pub fn settings(&self) -> Result<String> {
        let text = serde_json::to_string(self.analyzer.config());
        Ok(text.map_err(|error| Fault::internal(&error.to_string()))?)
    }

    /// How likely a pair right at the threshold is found.
    #[napi(catch_unwind)]
    pub fn expected_recall(&self) -> Option<f64> {
        self.analyzer.expected_recall()
    }

    /// How many documents there are.
    #[napi(catch_unwind)]
    pub fn size(&self) -> f64 {
        self.size.load(Ordering::Relaxed) as f64
    }

    /// Tells the garbage collector what is held here. It sees a small object only, and would let thousands of them lie.
    #[napi(catch_unwind)]
    pub fn weigh(&mut self, env: Env) -> Result<()> {
        let bytes = TABLES + DOCUMENT * self.size.load(Ordering::Relaxed) as i64;
        let told = env.adjust_external_memory(bytes - self.told);
        told.map_err(|error| Fault::internal(&error.reason))?;
        self.told = bytes;
        Ok(())
    }

    /// Whether there is a document of that id.
    #[napi(catch_unwind)]
    pub fn has(&self, id: Id) -> Result<bool> {
        let id = id::read(id);
        Ok(self.read(|engine| Ok(engine.contains(&id)))?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "hasAsync", catch_unwind)]
    pub fn has_async(&self, id: Id) -> AsyncTask<Job<bool>> {
        let id = id::read(id);
        self.read_later(move |engine| Ok(engine.contains(&id)))
    }

    /// Adds a document.
    #[napi(catch_unwind)]
    pub fn insert(&self, id: Id, text: Text, published_at: Option<String>) -> Result<Inserted> {
        let id = id::read(id);
        let prepared = with_scratch(|scratch| self.analyzer.prepare(&content(text), scratch));
        Ok(self.write(|engine| put(engine, &id, published_at.as_deref(), prepared))?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "insertAsync", catch_unwind)]
    pub fn insert_async(&self, id: Id, text: Text, published_at: Option<String>) -> AsyncTask<Job<Inserted>> {
        let (id, content, analyzer) = (id::read(id), content(text), self.analyzer.clone());
        self.write_later(move |engine| {
            let prepared = with_scratch(|scratch| analyzer.prepare(&content, scratch));
            put(engine, &id, published_at.as_deref(), prepared)
        })
    }

    /// Takes a document out.
    #[napi(catch_unwind)]
    pub fn remove(&self, id: Id) -> Result<bool> {
        let id = id::read(id);
        Ok(self.write(|engine| Ok(engine.remove(&id)))?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "removeAsync", catch_unwind)]
    pub fn remove_async(&self, id: Id) -> AsyncTask<Job<bool>> {
        let id = id::read(id);
        self.write_later(move |engine| Ok(engine.remove(&id)))
    }

    /// A batch to be filled for this engine.
    #[napi(catch_unwind)]
    pub fn batch(&self) -> Batch {
        Batch { analyzer: self.analyzer.clone(), ready: Arc::default() }
    }

    /// Adds the documents of a batch.
    #[napi(catch_unwind)]
    pub fn insert_batch(&self, batch: &Batch) -> Result<Added> {
        Ok(self.write(|engine| insert(engine, &batch.ready))?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "insertBatchAsync", catch_unwind)]
    pub fn insert_batch_async(&self, batch: &Batch) -> AsyncTask<Job<Added>> {
        let ready = Arc::clone(&batch.ready);
        self.write_later(move |engine| insert(engine, &ready))
    }

    /// The documents that match a text.
    #[napi(catch_unwind)]
    pub fn search(&self, text: Text, limit: Option<u32>, least: Option<f64>) -> Result<MatchList> {
        let prepared = with_scratch(|scratch| self.analyzer.prepare(&content(text), scratch));
        Ok(self.read(|engine| Ok(engine.search_prepared(&prepared, options(limit, least))?.into()))?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "searchAsync", catch_unwind)]
    pub fn search_async(
        &self,
        text: Text,
        limit: Option<u32>,
        least: Option<f64>,
    ) -> AsyncTask<Job<MatchList>> {
        let content = content(text);
        self.read_later(move |engine| {
            let found = with_scratch(|scratch| engine.search(&content, options(limit, least), scratch));
            Ok(found?.into())
        })
    }

    /// The other documents that match one; nothing if it is not there.
    #[napi(catch_unwind)]
    pub fn search_id(&self, id: Id, limit: Option<u32>, least: Option<f64>) -> Result<Option<MatchList>> {
        let id = id::read(id);
        Ok(self.read(|engine| others(engine, &id, options(limit, least)))?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "searchIdAsync", catch_unwind)]
    pub fn search_id_async(
        &self,
        id: Id,
        limit: Option<u32>,
        least: Option<f64>,
    ) -> AsyncTask<Job<Option<MatchList>>> {
        let id = id::read(id);
        self.read_later(move |engine| others(engine, &id, options(limit, least)))
    }

    /// The first pairs that match.
    #[napi(catch_unwind)]
    pub fn pairs(&self, limit: u32) -> Result<PairList> {
        Ok(self.read(|engine| Ok(PairList::of_engine(engine, limit as usize)))?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "pairsAsync", catch_unwind)]
    pub fn pairs_async(&self, limit: u32) -> AsyncTask<Job<PairList>> {
        self.read_later(move |engine| Ok(PairList::of_engine(engine, limit as usize)))
    }

    /// A walk over all pairs, however many.
    #[napi(catch_unwind)]
    pub fn pair_stream(&self) -> Result<PairStream> {
        Ok(PairStream::start(Arc::clone(&self.held))?)
    }

    /// All documents in groups.
    #[napi(catch_unwind)]
    pub fn clusters(&self) -> Result<GroupList> {
        Ok(self.read(|engine| Ok(GroupList::of_engine(engine)))?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "clustersAsync", catch_unwind)]
    pub fn clusters_async(&self) -> AsyncTask<Job<GroupList>> {
        self.read_later(|engine| Ok(GroupList::of_engine(engine)))
    }

    /// The sketches of a text.
    #[napi(catch_unwind)]
    pub fn sketch(&self, text: Text) -> Sketch {
        with_scratch(|scratch| self.analyzer.sketch(&content(text), scratch)).into()
    }

    /// The sketches of some texts.
    #[napi(catch_unwind)]
    pub fn sketch_many(&self, texts: Vec<Text>) -> Vec<Sketch> {
        let contents: Vec<_> = texts.into_iter().map(content).collect();
        sketch_all(&self.analyzer, &contents).into_iter().map(Sketch::from).collect()
    }

    /// The same, beside the event loop.
    #[napi(js_name = "sketchManyAsync", catch_unwind)]
    pub fn sketch_many_async(&self, texts: Vec<Text>) -> AsyncTask<Job<Vec<Sketch>>> {
        let contents: Vec<_> = texts.into_iter().map(content).collect();
        let analyzer = self.analyzer.clone();
        Job::start(move || Ok(sketch_all(&analyzer, &contents).into_iter().map(Sketch::from).collect()))
    }

    /// Two texts side by side.
    #[napi(catch_unwind)]
    pub fn compare(&self, a: Text, b: Text, min_tokens: u32) -> Compared {
        Compared::of(&self.analyzer, &content(a), &content(b), min_tokens as usize)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "compareAsync", catch_unwind)]
    pub fn compare_async(&self, a: Text, b: Text, min_tokens: u32) -> AsyncTask<Job<Compared>> {
        let (a, b, analyzer) = (content(a), content(b), self.analyzer.clone());
        Job::start(move || Ok(Compared::of(&analyzer, &a, &b, min_tokens as usize)))
    }

    fn read<T>(&self, work: impl FnOnce(&Engine) -> Result<T, Fault>) -> Result<T, Fault> {
        work(&*self.held.try_read().map_err(|_| broken())?)
    }

    fn write<T>(&self, work: impl FnOnce(&mut Engine) -> Result<T, Fault>) -> Result<T, Fault> {
        let mut engine = self.held.try_write().map_err(|_| broken())?;
        let answer = work(&mut engine);
        self.size.store(engine.len(), Ordering::Relaxed);
        answer
    }

    fn read_later<T>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, Fault> + Send + 'static,
    ) -> AsyncTask<Job<T>>
    where
        Job<T>: napi::Task,
    {
        let held = Arc::clone(&self.held);
        Job::start(move || work(&*held.read().map_err(|_| broken())?))
    }

    fn write_later<T>(
        &self,
        work: impl FnOnce(&mut Engine) -> Result<T, Fault> + Send + 'static,
    ) -> AsyncTask<Job<T>>
    where
        Job<T>: napi::Task,
    {
        let (held, size) = (Arc::clone(&self.held), Arc::clone(&self.size));
        Job::start(move || {
            let mut engine = held.write().map_err(|_| broken())?;
            let answer = work(&mut engine);
            size.store(engine.len(), Ordering::Relaxed);
            answer
        })
    }
}

fn options(limit: Option<u32>, least: Option<f64>) -> SearchOptions {
    SearchOptions { limit: limit.map(|limit| limit as usize), min_similarity: least }
}

fn put(
    engine: &mut Engine,
    id: &DocId,
    published_at: Option<&str>,
    prepared: Prepared,
) -> Result<Inserted, Fault> {
    let inserted = engine.insert_prepared(id, published_at, prepared);
    Ok(inserted.map_err(|error| Fault::of_date(error, "publishedAt"))?.into())
}

fn others(engine: &Engine, id: &DocId, options: SearchOptions) -> Result<Option<MatchList>, Fault> {
    let found = engine.search_id(id, options)?;
    Ok(found.map(MatchList::from))
}

/// What all later calls of an engine get in which a panic was caught.
pub(crate) fn broken() -> Fault {
    Fault::internal("an earlier call left this engine half changed, make a new one")
}

/// Settings of JavaScript as a config file: the engine reads those, and its messages name their keys.
fn toml_of(json: &str) -> Result<String, Fault> {
    let syntax = |message: String| Fault::from(sameish::Error::ConfigSyntax { message });
    let value: toml::Table = serde_json::from_str(json).map_err(|error| syntax(error.to_string()))?;
    Ok(value.to_string())
}
