//! The analysis of single documents: sketches, features, comparison and verdicts.
//!
//! An [`Analyzer`] is a validated [`Config`]. It is immutable and holds no documents, so any number of threads and engines
//! can share one. It is the only module that uses every stage from text to matching.
//!
//! ```text
//! lanes.rs     runs the tokens of a document through every sketcher
//! schemes.rs   derives the scheme identifiers of the sketches from the configuration
//! compare.rs   compares two documents with every measure
//! ```

mod compare;
mod lanes;
mod schemes;

pub use compare::Comparison;
pub use schemes::Schemes;

use lanes::{Lanes, Pass};

use crate::config::{Config, Counting, Shingle, SimHashConfig, Templates, TokenHash, Tokenizer, Weighting};
use crate::document::ContentRef;
use crate::error::{Error, Result};
use crate::features::{DocumentFrequencies, Facts, FeatureSet, Shingler, TextKey};
use crate::matching::{Judge, facts_agreement, is_template};
use crate::sketch::{Fingerprint, MinHasher, Sdr, SdrEncoder, Signature};
use crate::text::{Batch, PADDING, StopWords, TextScratch, TokenRange, for_each_batch};
use std::cell::Cell;
use std::sync::Arc;

/// A validated [`Config`] that sketches, prepares, compares and judges documents.
///
/// An analyzer is immutable, `Send` and `Sync`. Cloning it copies one pointer.
///
/// ```
/// use sameish::{Analyzer, Preset, Scratch};
///
/// let analyzer = Analyzer::new(Preset::Wire.config())?;
/// let sketches = analyzer.sketch("Breaking news: Major earthquake hits city", &mut Scratch::default());
/// assert_eq!(sketches.simhash.unwrap().to_hex(), "f10893b1083a30a2");
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Analyzer {
    parts: Arc<Parts>,
}

#[derive(Debug)]
struct Parts {
    config: Config,
    stop_words: Option<StopWords>,
    min_hasher: Option<MinHasher>,
    sdr: Option<SdrEncoder>,
    frequencies: Option<DocumentFrequencies>,
    schemes: Schemes,
}

/// Whether a text has enough words for the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Status {
    /// The text has enough words.
    #[default]
    Ok,
    /// The text has too few words. It is kept and matches equal texts. Texts that are similar to it are found only by the
    /// sketches that the configuration computes for short texts.
    TooShort,
}

impl Status {
    /// Returns the name used in output: `ok` or `too_short`.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::TooShort => "too_short",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// The sketches of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketches {
    /// Whether the text has enough words.
    pub status: Status,
    /// The number of words, without stop words.
    pub words: usize,
    /// The fingerprint, if the configuration has a SimHash lane. Zero for a text without features.
    pub simhash: Option<Fingerprint>,
    /// The signature, if the configuration has a MinHash lane and the text is long enough.
    pub minhash: Option<Signature>,
    /// The sparse code, if the configuration has an SDR lane.
    pub sdr: Option<Sdr>,
}

/// The features of a text that matches are verified on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextFeatures {
    /// The shingles, for the exact Jaccard similarity.
    pub shingles: FeatureSet,
    /// The numbers and words, for the agreement of facts.
    pub facts: Facts,
}

/// Everything that an engine needs to know about a document to insert it or to search for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The sketches, for the indexes.
    pub sketches: Sketches,
    /// The features, for verification. Empty if the configuration does not verify.
    pub features: TextFeatures,
    /// The key of the normalized text, or `None` if the text is blank.
    pub key: Option<TextKey>,
}

/// Buffers that are reused from document to document. Use one per thread; any analyzer can use it.
#[derive(Default)]
pub struct Scratch {
    text: TextScratch,
    lanes: Option<Lanes>,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Scratch {
    /// Calls `work` with the buffers of the current thread.
    ///
    /// A nested call gets new buffers. Buffers that were in use during a panic are dropped.
    pub fn with_thread_local<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
        let mut scratch = SCRATCH.take().unwrap_or_default();
        let result = work(&mut scratch);
        SCRATCH.set(Some(scratch));
        result
    }
}

impl Analyzer {
    /// Validates a configuration.
    ///
    /// Returns an error if the settings are inconsistent, or if they weight features by inverse document frequency, which
    /// needs [`with_frequencies`](Self::with_frequencies).
    pub fn new(config: Config) -> Result<Analyzer> {
        let weighting = config.simhash.as_ref().map(|simhash| simhash.weighting);
        if weighting == Some(Weighting::InverseDocumentFrequency) {
            let expected = "uniform or frequency, unless document frequencies are given";
            return Err(Error::field("simhash.weighting", "inverse-document-frequency", expected));
        }
        Analyzer::build(config, None)
    }

    /// Validates a configuration that weights SimHash features by their inverse document frequency in a corpus.
    ///
    /// The frequencies are counted with [`count_into`](Self::count_into) by an analyzer with the same settings except for
    /// the weighting.
    pub fn with_frequencies(config: Config, frequencies: DocumentFrequencies) -> Result<Analyzer> {
        if frequencies.documents() == 0 {
            return Err(Error::field("frequencies", "empty", "counted over at least one document"));
        }
        Analyzer::build(config, Some(frequencies))
    }

    fn build(config: Config, frequencies: Option<DocumentFrequencies>) -> Result<Analyzer> {
        config.validate()?;
        let stop_words = config.text.stop_words.as_deref().map(StopWords::for_language).transpose()?;
        let schemes = Schemes::of(&config, stop_words.as_ref(), frequencies.as_ref())?;
        let parts = Parts {
            stop_words,
            min_hasher: config.minhash.as_ref().map(|minhash| MinHasher::new(minhash.rows)).transpose()?,
            sdr: config.sdr.clone().map(SdrEncoder::new).transpose()?,
            frequencies,
            schemes,
            config,
        };
        Ok(Analyzer { parts: Arc::new(parts) })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.parts.config
    }

    /// Returns the schemes of the sketches that this analyzer makes.
    pub fn schemes(&self) -> Schemes {
        self.parts.schemes
    }

    /// Returns the judge that decides which candidates are matches.
    pub fn judge(&self) -> Judge {
        Judge::new(self.config())
    }

    /// Returns the probability that the bands find a pair whose similarity equals the threshold.
    ///
    /// Returns `None` for configurations without bands: their search is exact within the radius.
    pub fn expected_recall(&self) -> Option<f64> {
        let bands = self.config().bands().ok().flatten()?;
        Some(bands.probability(self.config().matching.threshold))
    }

    /// Computes all sketches of a document.
    pub fn sketch<'a>(&self, content: impl Into<ContentRef<'a>>, scratch: &mut Scratch) -> Sketches {
        self.run_lanes(content.into(), false, scratch).0
    }

    /// Computes the sketches, the features and the text key of a document.
    pub fn prepare<'a>(&self, content: impl Into<ContentRef<'a>>, scratch: &mut Scratch) -> Prepared {
        let content = content.into();
        let verify = self.config().matching.verify;
        let (sketches, shingles) = self.run_lanes(content, verify, scratch);
        let facts = if verify { self.facts(content, scratch) } else { Facts::default() };
        let features = TextFeatures { shingles: shingles.unwrap_or_default(), facts };
        Prepared { sketches, features, key: TextKey::of(content) }
    }

    /// Computes the features that matches are verified on.
    pub fn features<'a>(&self, content: impl Into<ContentRef<'a>>, scratch: &mut Scratch) -> TextFeatures {
        let content = content.into();
        let shingles = self.shingles(content, scratch);
        TextFeatures { shingles, facts: self.facts(content, scratch) }
    }

    /// Computes the facts that distinguish copies from templates.
    ///
    /// There are none if similarity is measured on shingles of characters: these are for titles and other short texts, where
    /// one differing word is no evidence of a template.
    pub fn facts<'a>(&self, content: impl Into<ContentRef<'a>>, scratch: &mut Scratch) -> Facts {
        match self.compared_shingles().shingle {
            Shingle::Chars(_) => Facts::default(),
            _ => Facts::with_scratch(content.into(), &mut scratch.text),
        }
    }

    /// Computes the distinct shingles that similarity is measured on: those of the MinHash lane, else of the SimHash lane,
    /// else the words.
    pub fn shingles<'a>(&self, content: impl Into<ContentRef<'a>>, scratch: &mut Scratch) -> FeatureSet {
        self.feature_set(self.shingle_hashes(content.into(), self.compared_shingles(), scratch))
    }

    /// Returns the shingles that similarity is measured on.
    fn compared_shingles(&self) -> Shingles {
        let words = self.config().text.tokenizer;
        match (&self.config().minhash, &self.config().simhash) {
            (Some(minhash), _) => Shingles::new(words, minhash.shingle, TokenHash::Xxh3),
            (None, Some(simhash)) => self.simhash_shingles(simhash),
            (None, None) => Shingles::new(words, Shingle::Words(1), TokenHash::Xxh3),
        }
    }

    /// Returns `true` if two texts with this similarity are templates that the configuration keeps apart.
    #[doc(hidden)]
    pub fn keeps_apart(&self, a: &TextFeatures, b: &TextFeatures, similarity: f64) -> bool {
        self.config().matching.templates == Templates::Keep
            && similarity < 1.0
            && facts_agreement(&a.facts, &b.facts).is_some_and(|facts| is_template(similarity, facts))
    }

    /// Counts the features of a document's SimHash lane, for [`with_frequencies`](Self::with_frequencies).
    ///
    /// ```
    /// use sameish::features::{DocumentFrequencies, fnv1a64};
    /// use sameish::{Analyzer, Preset, Scratch, config::Weighting};
    ///
    /// let mut config = Preset::Articles.config();
    /// let counting = Analyzer::new(config.clone())?;
    /// let mut frequencies = DocumentFrequencies::default();
    /// let mut scratch = Scratch::default();
    /// for text in ["the bridge is closed", "the road is open", "the end"] {
    ///     counting.count_into(text, &mut frequencies, &mut scratch);
    /// }
    /// assert_eq!(frequencies.count(fnv1a64(b"the")), 3);
    /// config.simhash.as_mut().unwrap().weighting = Weighting::InverseDocumentFrequency;
    /// let weighted = Analyzer::with_frequencies(config, frequencies)?;
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn count_into<'a>(
        &self,
        content: impl Into<ContentRef<'a>>,
        frequencies: &mut DocumentFrequencies,
        scratch: &mut Scratch,
    ) {
        if let Some(simhash) = &self.config().simhash {
            let hashes = self.shingle_hashes(content.into(), self.simhash_shingles(simhash), scratch);
            frequencies.add(&FeatureSet::from_hashes(hashes));
        }
    }

    /// Computes the sketches and, if requested, the shingles. Takes one pass over the text, or two if the words of the
    /// fingerprint differ from those of the other sketches.
    fn run_lanes(
        &self,
        content: ContentRef<'_>,
        with_shingles: bool,
        scratch: &mut Scratch,
    ) -> (Sketches, Option<FeatureSet>) {
        let Scratch { text, lanes } = scratch;
        let lanes = match lanes {
            Some(lanes) if lanes.schemes == self.schemes() => lanes,
            _ => lanes.insert(Lanes::new(self)),
        };
        let has_lanes = self.config().minhash.is_some() || self.config().simhash.is_some();
        lanes.begin(with_shingles && has_lanes);
        let words = self.config().text.tokenizer;
        let fingerprint_words = self.config().simhash_tokenizer();
        if words == fingerprint_words || matches!(content, ContentRef::Tokens(_)) {
            for_each_token_batch(words, content, text, |batch| lanes.push(self, Pass::All, batch));
        } else {
            for_each_token_batch(words, content, text, |batch| lanes.push(self, Pass::Text, batch));
            for_each_token_batch(fingerprint_words, content, text, |batch| {
                lanes.push(self, Pass::Fingerprint, batch);
            });
        }
        lanes.finish(self);
        let status = self.status(lanes.words, lanes.have_features());
        let shingles = lanes.features.take().map(|hashes| self.feature_set(hashes));
        let sketches = Sketches {
            status,
            words: lanes.words,
            simhash: lanes.simhash.as_ref().map(|lane| Fingerprint::from_u64(lane.votes.majority())),
            minhash: lanes
                .minhash
                .as_ref()
                .filter(|_| status == Status::Ok)
                .and_then(|lane| lane.minima.signature()),
            sdr: self.parts.sdr.as_ref().map(|encoder| encode_sdr(encoder, content)),
        };
        (sketches, shingles)
    }

    /// Collects hashes into a set or, where repeats count, into a multiset.
    fn feature_set(&self, hashes: Vec<u64>) -> FeatureSet {
        match self.config().minhash.as_ref().map(|minhash| minhash.counting) {
            Some(Counting::Multiset) => FeatureSet::from_occurrences(hashes),
            _ => FeatureSet::from_hashes(hashes),
        }
    }

    fn status(&self, words: usize, has_features: bool) -> Status {
        let enough = words >= self.config().text.min_words as usize;
        if has_features && enough { Status::Ok } else { Status::TooShort }
    }

    fn simhash_shingles(&self, simhash: &SimHashConfig) -> Shingles {
        Shingles::new(self.config().simhash_tokenizer(), simhash.shingle, simhash.hash)
    }

    /// Returns the hashes of all shingles of a document, in order.
    fn shingle_hashes(&self, content: ContentRef<'_>, shingles: Shingles, scratch: &mut Scratch) -> Vec<u64> {
        let mut shingler = Shingler::new(shingles.shingle, shingles.hash);
        let mut hashes = Vec::new();
        let mut kept = Vec::new();
        for_each_token_batch(shingles.tokenizer, content, &mut scratch.text, |batch| {
            let tokens = self.without_stop_words(batch, &mut kept);
            hashes.extend_from_slice(shingler.push_tokens(batch.bytes, tokens));
        });
        hashes.extend_from_slice(shingler.finish());
        hashes
    }

    fn without_stop_words<'a>(
        &self,
        batch: TokenBatch<'a>,
        kept: &'a mut Vec<TokenRange>,
    ) -> &'a [TokenRange] {
        let Some(stop_words) = &self.parts.stop_words else { return batch.tokens };
        kept.clear();
        kept.extend(batch.tokens.iter().filter(|token| !stop_words.contains(token.of(batch.bytes))));
        kept
    }

    /// Returns the number of rows of a signature, or 0 without a MinHash lane.
    pub(crate) fn signature_rows(&self) -> usize {
        self.parts.min_hasher.map_or(0, |hasher| hasher.rows())
    }
}

/// Which shingles of a document are hashed, and how.
#[derive(Clone, Copy)]
struct Shingles {
    tokenizer: Tokenizer,
    shingle: Shingle,
    hash: TokenHash,
}

impl Shingles {
    fn new(tokenizer: Tokenizer, shingle: Shingle, hash: TokenHash) -> Shingles {
        Shingles { tokenizer, shingle, hash }
    }
}

/// Passes the tokens of a document to `sink`. The tokenizer applies only to texts.
fn for_each_token_batch(
    tokenizer: Tokenizer,
    content: ContentRef<'_>,
    scratch: &mut TextScratch,
    mut sink: impl FnMut(TokenBatch<'_>),
) {
    match content {
        ContentRef::Text(text) => for_each_batch(tokenizer, text, scratch, |batch: &Batch<'_>| {
            sink(TokenBatch { bytes: batch.bytes, tokens: batch.tokens });
        }),
        ContentRef::Tokens(tokens) => for_each_given_batch(tokens, sink),
    }
}

/// Tokens in a buffer that extends at least [`PADDING`] bytes beyond the last one.
#[derive(Clone, Copy)]
struct TokenBatch<'a> {
    bytes: &'a [u8],
    tokens: &'a [TokenRange],
}

/// Passes tokens that the caller supplied to `sink`, 256 at a time.
fn for_each_given_batch(tokens: &[String], mut sink: impl FnMut(TokenBatch<'_>)) {
    let mut bytes = Vec::new();
    let mut ranges = Vec::new();
    for tokens in tokens.chunks(256) {
        bytes.clear();
        ranges.clear();
        for token in tokens {
            let start = bytes.len() as u32;
            bytes.extend_from_slice(token.as_bytes());
            ranges.push(TokenRange { start, end: bytes.len() as u32 });
        }
        bytes.resize(bytes.len() + PADDING, 0);
        sink(TokenBatch { bytes: &bytes, tokens: &ranges });
    }
}

fn encode_sdr(encoder: &SdrEncoder, content: ContentRef<'_>) -> Sdr {
    match content {
        ContentRef::Text(text) => encoder.encode(text),
        ContentRef::Tokens(tokens) => encoder.encode_tokens(tokens),
    }
}
