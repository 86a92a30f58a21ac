//! Analyzers: settings, sketches and comparisons without documents.

use crate::batch::Batch;
use crate::compare::{ComparisonResult, dates};
use crate::error::{CodedError, Result};
use crate::job::Job;
use crate::sketches::{Sketch, Text, content, sketch_all};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use sameish::analyzer::Schemes;
use sameish::sketch::SchemeId;
use sameish::{Analyzer, Content, Preset, Scratch};

/// The schemes of the sketches of a configuration, as hex digits.
#[napi(object)]
pub struct SketchSchemes {
    /// Scheme of fingerprints.
    pub simhash: Option<String>,
    /// Scheme of signatures.
    pub minhash: Option<String>,
    /// Scheme of sparse codes.
    pub sdr: Option<String>,
}

/// A validated configuration, which sketches and compares texts.
#[napi(js_name = "NativeAnalyzer")]
pub struct NativeAnalyzer {
    pub(crate) analyzer: Analyzer,
}

#[napi]
impl NativeAnalyzer {
    /// Creates an analyzer from a preset and, optionally, a configuration file and a JSON object with settings, which override
    /// it in this order.
    #[napi(constructor, catch_unwind)]
    pub fn new(preset: String, config: Option<String>, overrides: Option<String>) -> Result<NativeAnalyzer> {
        Ok(NativeAnalyzer { analyzer: build(&preset, config.as_deref(), overrides.as_deref())? })
    }

    /// Returns all settings as JSON.
    #[napi(catch_unwind)]
    pub fn settings(&self) -> Result<String> {
        let json = serde_json::to_string(self.analyzer.config());
        Ok(json.map_err(|error| CodedError::internal(&error.to_string()))?)
    }

    /// Returns the probability that the index finds a pair at the threshold, or `null` for an exact index.
    #[napi(catch_unwind)]
    pub fn expected_recall(&self) -> Option<f64> {
        self.analyzer.expected_recall()
    }

    /// Creates an empty batch of documents.
    #[napi(catch_unwind)]
    pub fn batch(&self) -> Batch {
        Batch::new(self.analyzer.clone())
    }

    /// Sketches a text.
    #[napi(catch_unwind)]
    pub fn sketch(&self, text: Text) -> Sketch {
        Scratch::with_thread_local(|scratch| self.analyzer.sketch(&content(text), scratch)).into()
    }

    /// Sketches several texts.
    #[napi(catch_unwind)]
    pub fn sketch_many(&self, texts: Vec<Text>) -> Vec<Sketch> {
        sketch_all(&self.analyzer, &contents(texts))
    }

    /// Sketches several texts on worker threads.
    #[napi(js_name = "sketchManyAsync", catch_unwind)]
    pub fn sketch_many_async(&self, texts: Vec<Text>) -> AsyncTask<Job<Vec<Sketch>>> {
        let analyzer = self.analyzer.clone();
        let contents = contents(texts);
        Job::start(move || Ok(sketch_all(&analyzer, &contents)))
    }

    /// Returns the words on which similarity is measured.
    #[napi(catch_unwind)]
    pub fn tokenize(&self, text: Text) -> Vec<String> {
        self.analyzer.tokenize(&content(text))
    }

    /// Returns the shingles on which similarity is measured.
    #[napi(catch_unwind)]
    pub fn shingle(&self, text: Text) -> Vec<String> {
        self.analyzer.shingle(&content(text))
    }

    /// Returns the form of a text whose equality makes a match exact.
    #[napi(catch_unwind)]
    pub fn normalize(&self, text: String) -> String {
        self.analyzer.normalized(&text)
    }

    /// Returns the schemes of the sketches.
    #[napi(getter, catch_unwind)]
    pub fn schemes(&self) -> SketchSchemes {
        let Schemes { simhash, minhash, sdr } = self.analyzer.schemes();
        let hex = |scheme: Option<SchemeId>| scheme.map(|scheme| scheme.to_string());
        SketchSchemes { simhash: hex(simhash), minhash: hex(minhash), sdr: hex(sdr) }
    }

    /// Compares two texts.
    #[napi(catch_unwind)]
    pub fn compare(
        &self,
        a: Text,
        b: Text,
        min_tokens: u32,
        date_a: Option<String>,
        date_b: Option<String>,
    ) -> Result<ComparisonResult> {
        let dates = dates(date_a.as_deref(), date_b.as_deref())?;
        let (a, b) = (content(a), content(b));
        Ok(ComparisonResult::new(&self.analyzer, [&a, &b], min_tokens as usize, dates))
    }

    /// Compares two texts on a worker thread.
    #[napi(js_name = "compareAsync", catch_unwind)]
    pub fn compare_async(
        &self,
        a: Text,
        b: Text,
        min_tokens: u32,
        date_a: Option<String>,
        date_b: Option<String>,
    ) -> Result<AsyncTask<Job<ComparisonResult>>> {
        let dates = dates(date_a.as_deref(), date_b.as_deref())?;
        let analyzer = self.analyzer.clone();
        let (a, b) = (content(a), content(b));
        Ok(Job::start(move || Ok(ComparisonResult::new(&analyzer, [&a, &b], min_tokens as usize, dates))))
    }
}

pub(crate) fn contents(texts: Vec<Text>) -> Vec<Content> {
    texts.into_iter().map(content).collect()
}

fn build(preset: &str, file: Option<&str>, overrides: Option<&str>) -> Result<Analyzer, CodedError> {
    let mut config = preset.parse::<Preset>()?.config();
    if let Some(file) = file {
        config = config.overridden_by(file)?;
    }
    if let Some(overrides) = overrides {
        config = config.overridden_by(&to_toml(overrides)?)?;
    }
    Ok(Analyzer::new(config)?)
}

/// Converts settings to a config file, because the engine reads that format and its messages name the keys.
fn to_toml(json: &str) -> Result<String, CodedError> {
    let syntax_error = |message: String| CodedError::from(sameish::Error::ConfigSyntax { message });
    let table: toml::Table = serde_json::from_str(json).map_err(|error| syntax_error(error.to_string()))?;
    Ok(table.to_string())
}
