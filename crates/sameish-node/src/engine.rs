//! Documents that stay, and those that match: the engine as JavaScript holds it.
//!
//! Texts are made ready by an engine of the same settings that holds nothing, so that no lock is needed for it. The lock
//! around the other is never waited for on the event loop: who finds it taken is told so. `lib/turns.cjs` lets calls that
//! return promises wait for each other.

use crate::batch::{Added, Batch, insert};
use crate::compare::{Comparison, compare};
use crate::fault::{Fault, Result};
use crate::groups::{GroupList, PairList};
use crate::id::{self, Id};
use crate::job::Job;
use crate::sketches::{Sketch, Text, content, sketch_all, with_scratch};
use crate::stream::PairStream;
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use sameish::{Config, Engine, Match, Preset, Search, SearchOptions};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock, TryLockError};

/// The engine below the class `Engine` of the package.
#[napi(js_name = "NativeEngine")]
pub struct NativeEngine {
    maker: Arc<Engine>,
    held: Arc<RwLock<Engine>>,
    /// How many documents there are, for those who ask while the lock is taken.
    size: Arc<AtomicUsize>,
    /// Walks over pairs that are under way.
    walks: Arc<AtomicUsize>,
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

/// A document that matches.
#[napi(object)]
pub struct FoundMatch {
    /// Which.
    pub id: Id,
    /// From 0 to 1.
    pub similarity: f64,
    /// `exact`, `near` or `similar`.
    pub match_type: String,
    /// Whether it was judged on the documents' own features.
    pub verified: bool,
    /// Bits in which the fingerprints differ.
    pub distance: Option<u32>,
    /// How far numbers and rare words agree.
    pub facts: Option<f64>,
    /// Whether the two are of one form with other facts.
    pub template: bool,
}

/// What a search found.
#[napi(object)]
pub struct Found {
    /// The most similar first.
    pub matches: Vec<FoundMatch>,
    /// Candidates that were judged.
    pub candidates: f64,
    /// Limits that were hit.
    pub capped: f64,
}

impl From<Search> for Found {
    fn from(search: Search) -> Found {
        let matches = search.matches.iter().map(|found: &Match| FoundMatch {
            id: id::write(&found.id),
            similarity: found.similarity,
            match_type: found.kind.to_string(),
            verified: found.verified,
            distance: found.distance,
            facts: found.facts,
            template: found.template,
        });
        let matches = matches.collect();
        Found { matches, candidates: search.candidates as f64, capped: search.capped as f64 }
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
        let engine = Engine::new(config)?;
        let maker = Arc::new(engine.clone());
        let held = Arc::new(RwLock::new(engine));
        Ok(NativeEngine { maker, held, size: Arc::default(), walks: Arc::default() })
    }

    /// The settings, as JSON.
    #[napi(catch_unwind)]
    pub fn settings(&self) -> Result<String> {
        let text = serde_json::to_string(self.maker.config());
        Ok(text.map_err(|error| Fault::internal(&error.to_string()))?)
    }

    /// How likely a pair right at the threshold is found.
    #[napi(catch_unwind)]
    pub fn expected_recall(&self) -> Option<f64> {
        self.maker.expected_recall()
    }

    /// How many documents there are.
    #[napi(catch_unwind)]
    pub fn size(&self) -> f64 {
        self.size.load(Ordering::Relaxed) as f64
    }

    /// Whether there is a document of that id.
    #[napi(catch_unwind)]
    pub fn has(&self, id: Id) -> Result<bool> {
        let id = id::read(id)?;
        Ok(self.read(|engine| Ok(engine.contains(&id)))?)
    }

    /// Adds a document.
    #[napi(catch_unwind)]
    pub fn insert(&self, id: Id, text: Text, published_at: Option<String>) -> Result<Inserted> {
        let id = id::read(id)?;
        let prepared = with_scratch(|scratch| self.maker.prepare(&content(text), scratch));
        let inserted =
            self.write(|engine| Ok(engine.insert_prepared(&id, published_at.as_deref(), prepared)?))?;
        let status = inserted.status.to_string();
        let cluster = inserted.cluster.map(|cluster| cluster.0 as f64);
        Ok(Inserted { status, replaced: inserted.replaced, cluster })
    }

    /// Takes a document out.
    #[napi(catch_unwind)]
    pub fn remove(&self, id: Id) -> Result<bool> {
        let id = id::read(id)?;
        Ok(self.write(|engine| Ok(engine.remove(&id)))?)
    }

    /// A batch to be filled for this engine.
    #[napi(catch_unwind)]
    pub fn batch(&self) -> Batch {
        Batch { maker: Arc::clone(&self.maker), ready: Arc::default() }
    }

    /// Adds the documents of a batch.
    #[napi(catch_unwind)]
    pub fn insert_batch(&self, batch: &Batch) -> Result<Added> {
        Ok(self.write(|engine| insert(engine, &batch.ready))?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "insertBatchAsync", catch_unwind)]
    pub fn insert_batch_async(&self, batch: &Batch) -> Result<AsyncTask<Job<Added>>> {
        let ready = Arc::clone(&batch.ready);
        Ok(self.write_later(move |engine| insert(engine, &ready))?)
    }

    /// The documents that match a text.
    #[napi(catch_unwind)]
    pub fn search(&self, text: Text, limit: Option<u32>, least: Option<f64>) -> Result<Found> {
        let prepared = with_scratch(|scratch| self.maker.prepare(&content(text), scratch));
        Ok(self.read(|engine| Ok(engine.search_prepared(&prepared, options(limit, least))?.into()))?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "searchAsync", catch_unwind)]
    pub fn search_async(&self, text: Text, limit: Option<u32>, least: Option<f64>) -> AsyncTask<Job<Found>> {
        let content = content(text);
        self.read_later(move |engine| {
            let found = with_scratch(|scratch| engine.search(&content, options(limit, least), scratch));
            Ok(found?.into())
        })
    }

    /// The other documents that match one; nothing if it is not there.
    #[napi(catch_unwind)]
    pub fn search_id(&self, id: Id, limit: Option<u32>, least: Option<f64>) -> Result<Option<Found>> {
        let id = id::read(id)?;
        Ok(self.read(|engine| {
            let found = engine.search_id(&id, options(limit, least)).transpose()?;
            Ok(found.map(Found::from))
        })?)
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
        Ok(PairStream::start(Arc::clone(&self.held), Arc::clone(&self.walks))?)
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
        with_scratch(|scratch| self.maker.sketch(&content(text), scratch)).into()
    }

    /// The sketches of some texts.
    #[napi(catch_unwind)]
    pub fn sketch_many(&self, texts: Vec<Text>) -> Vec<Sketch> {
        let contents: Vec<_> = texts.into_iter().map(content).collect();
        sketch_all(&self.maker, &contents).into_iter().map(Sketch::from).collect()
    }

    /// The same, beside the event loop.
    #[napi(js_name = "sketchManyAsync", catch_unwind)]
    pub fn sketch_many_async(&self, texts: Vec<Text>) -> AsyncTask<Job<Vec<Sketch>>> {
        let contents: Vec<_> = texts.into_iter().map(content).collect();
        let maker = Arc::clone(&self.maker);
        Job::start(move || Ok(sketch_all(&maker, &contents).into_iter().map(Sketch::from).collect()))
    }

    /// Two texts side by side.
    #[napi(catch_unwind)]
    pub fn compare(&self, a: Text, b: Text, min_tokens: u32) -> Comparison {
        compare(&self.maker, &content(a), &content(b), min_tokens as usize)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "compareAsync", catch_unwind)]
    pub fn compare_async(&self, a: Text, b: Text, min_tokens: u32) -> AsyncTask<Job<Comparison>> {
        let (a, b, maker) = (content(a), content(b), Arc::clone(&self.maker));
        Job::start(move || Ok(compare(&maker, &a, &b, min_tokens as usize)))
    }

    fn read<T>(&self, work: impl FnOnce(&Engine) -> Result<T, Fault>) -> Result<T, Fault> {
        work(&*self.held.try_read().map_err(taken)?)
    }

    fn write<T>(&self, work: impl FnOnce(&mut Engine) -> Result<T, Fault>) -> Result<T, Fault> {
        let mut engine = self.held.try_write().map_err(taken)?;
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
    ) -> Result<AsyncTask<Job<T>>, Fault>
    where
        Job<T>: napi::Task,
    {
        if self.walks.load(Ordering::SeqCst) > 0 {
            return Err(Fault::busy());
        }
        let (held, size) = (Arc::clone(&self.held), Arc::clone(&self.size));
        Ok(Job::start(move || {
            let mut engine = held.write().map_err(|_| broken())?;
            let answer = work(&mut engine);
            size.store(engine.len(), Ordering::Relaxed);
            answer
        }))
    }
}

fn options(limit: Option<u32>, least: Option<f64>) -> SearchOptions {
    SearchOptions { limit: limit.map(|limit| limit as usize), min_similarity: least }
}

fn taken<T>(error: TryLockError<T>) -> Fault {
    match error {
        TryLockError::WouldBlock => Fault::busy(),
        TryLockError::Poisoned(_) => broken(),
    }
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
