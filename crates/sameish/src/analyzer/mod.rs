//! The analysis of single documents: sketches, features, comparison and verdicts.
//!
//! An [`Analyzer`] is a validated [`Config`]. It is immutable and holds no documents, so any number of threads and engines
//! can share one. It is the only module that uses every stage from text to matching.
//!
//! ```text
//! lanes.rs     runs the tokens of a document through every sketcher
//! given.rs     accepts sketches that were computed elsewhere
//! schemes.rs   derives the scheme identifiers of the sketches from the configuration
//! compare.rs   compares two documents with every measure
//! inspect.rs   returns words and shingles as texts, for teaching and debugging
//! ```

mod compare;
mod given;
mod inspect;
mod lanes;
mod schemes;

pub use compare::Comparison;
pub use schemes::Schemes;

use lanes::{Lanes, Pass};

use crate::config::{
    Config, Counting, Shingle, ShortTexts, SimHashConfig, Templates, TokenHash, Tokenizer, Weighting,
};
use crate::document::ContentRef;
use crate::error::{Error, Result};
use crate::features::{DocumentFrequencies, Facts, FeatureSet, Shingler, TextKey};
use crate::matching::{Judge, Side, facts_agreement, is_template};
use crate::sketch::{Fingerprint, MinHasher, Sdr, SdrEncoder, Signature};
use crate::text::{
    Batch, PADDING, Plain, Rules, StopWords, TextScratch, Token, TokenRange, for_each_batch, tokens,
};
use std::borrow::Cow;
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
    /// The signature of a text that is too short, if the configuration compares such texts by their features.
    ///
    /// Indexes find the text by it. It is not one of the sketches that interfaces return and stores keep, because a preset
    /// defines those, and because it can be computed again from the text.
    pub short_minhash: Option<Signature>,
    /// The sparse code, if the configuration has an SDR lane.
    pub sdr: Option<Sdr>,
}

impl Sketches {
    /// Returns the signature by which indexes find the text, whether it is long enough or not.
    pub fn indexed_signature(&self) -> Option<&Signature> {
        self.minhash.as_ref().or(self.short_minhash.as_ref())
    }
}

/// The features of a text that matches are verified on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextFeatures {
    /// The shingles, for the exact Jaccard similarity.
    pub shingles: FeatureSet,
    /// The numbers and words, for the agreement of facts.
    pub facts: Facts,
    /// Whether there is no text, but only sketches, so that nothing can be verified.
    pub without_text: bool,
}

/// Everything that an engine needs to know about a document to insert it or to search for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The sketches, for the indexes.
    pub sketches: Sketches,
    /// The features, for verification. Empty if the configuration does not verify.
    pub features: TextFeatures,
    /// The key of the normalized text, or `None` if the text is blank, or too short to match equal texts.
    pub key: Option<TextKey>,
}

impl Prepared {
    /// Returns the document as one side of a comparison. Without a text, its features are unknown.
    pub fn side(&self) -> Side<'_> {
        let Prepared { sketches, features, key } = self;
        Side {
            key: *key,
            too_short: sketches.status == Status::TooShort,
            simhash: sketches.simhash,
            minhash: sketches.minhash.as_ref().map(Signature::rows),
            sdr: sketches.sdr.as_ref(),
            features: (!features.without_text).then_some(&features.shingles),
            facts: Some(&features.facts),
        }
    }
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
        let stop_words = config.text.stop_words.as_ref();
        let tokenizers = [config.text.tokenizer, config.simhash_tokenizer()];
        let stop_words =
            stop_words.map(|words| StopWords::for_plain_text(words, Rules::of(&config.text), &tokenizers));
        let stop_words = stop_words.transpose()?;
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
        self.with_plain(content, |plain| match plain.content {
            ContentRef::Sketches(given) => self.given_sketches(given),
            content => self.run_lanes(content, false, scratch).0,
        })
    }

    /// Computes the sketches, the features and the text key of a document.
    pub fn prepare<'a>(&self, content: impl Into<ContentRef<'a>>, scratch: &mut Scratch) -> Prepared {
        self.with_plain(content, |plain| {
            if let ContentRef::Sketches(given) = plain.content {
                return self.prepared_sketches(given);
            }
            let verify = self.config().matching.verify;
            let (sketches, shingles) = self.run_lanes(plain.content, verify, scratch);
            let facts = if verify { self.plain_facts(plain, scratch) } else { Facts::default() };
            let features =
                TextFeatures { shingles: shingles.unwrap_or_default(), facts, without_text: false };
            let key = TextKey::of(plain.content).filter(|_| self.matches_equal(sketches.status));
            Prepared { sketches, features, key }
        })
    }

    /// Returns `true` if a text with this status matches equal texts.
    #[doc(hidden)]
    pub fn matches_equal(&self, status: Status) -> bool {
        status == Status::Ok || self.config().matching.short_texts == ShortTexts::Equal
    }

    /// Computes the key of the normalized text, without the markup and accents that the configuration removes. Returns `None`
    /// for a blank text.
    pub fn key<'a>(&self, content: impl Into<ContentRef<'a>>) -> Option<TextKey> {
        self.with_plain(content, |plain| TextKey::of(plain.content))
    }

    /// Returns the words in which evidence is found, with their positions in the given text: by Unicode word boundaries,
    /// without the markup and accents that the configuration removes. For display.
    pub fn words(&self, text: &str) -> Vec<Token> {
        let (plain, edits) = self.rules().apply_located(text);
        let words = tokens(Tokenizer::Unicode, &plain).into_iter();
        words.map(|word| Token { span: edits.source(word.span), ..word }).collect()
    }

    /// Returns a text, or a part of it between two words, without the markup that the configuration removes. Accents stay. For
    /// display.
    pub fn visible_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Rules { fold_accents: false, ..self.rules() }.apply_to_part(text)
    }

    fn rules(&self) -> Rules {
        Rules::of(&self.config().text)
    }

    /// Calls `work` with the document in the form in which it is compared.
    fn with_plain<'a, T>(&self, content: impl Into<ContentRef<'a>>, work: impl FnOnce(Plain<'_>) -> T) -> T {
        self.rules().with_plain(content.into(), work)
    }

    /// Computes the features that matches are verified on.
    pub fn features<'a>(&self, content: impl Into<ContentRef<'a>>, scratch: &mut Scratch) -> TextFeatures {
        self.with_plain(content, |plain| {
            let shingles = self.plain_shingles(plain, scratch);
            let without_text = matches!(plain.content, ContentRef::Sketches(_));
            TextFeatures { shingles, facts: self.plain_facts(plain, scratch), without_text }
        })
    }

    /// Computes the facts that distinguish copies from templates.
    ///
    /// There are none if similarity is measured on shingles of characters: these are for titles and other short texts, where
    /// one differing word is no evidence of a template.
    pub fn facts<'a>(&self, content: impl Into<ContentRef<'a>>, scratch: &mut Scratch) -> Facts {
        self.with_plain(content, |plain| self.plain_facts(plain, scratch))
    }

    fn plain_facts(&self, plain: Plain<'_>, scratch: &mut Scratch) -> Facts {
        match self.compared_shingles().shingle {
            Shingle::Chars(_) => Facts::default(),
            _ => Facts::with_scratch(plain, &mut scratch.text),
        }
    }

    /// Computes the distinct shingles that similarity is measured on: those of the MinHash lane, else of the SimHash lane,
    /// else the words.
    pub fn shingles<'a>(&self, content: impl Into<ContentRef<'a>>, scratch: &mut Scratch) -> FeatureSet {
        self.with_plain(content, |plain| self.plain_shingles(plain, scratch))
    }

    fn plain_shingles(&self, plain: Plain<'_>, scratch: &mut Scratch) -> FeatureSet {
        self.feature_set(self.shingle_hashes(plain.content, self.compared_shingles(), scratch))
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
    pub fn keeps_apart(&self, a: &Prepared, b: &Prepared, similarity: f64) -> bool {
        let facts = || facts_agreement(&a.features.facts, &b.features.facts);
        self.config().matching.templates == Templates::Keep
            && !(a.key.is_some() && a.key == b.key)
            && facts().is_some_and(|facts| is_template(similarity, facts))
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
            let hashes = self.with_plain(content, |plain| {
                self.shingle_hashes(plain.content, self.simhash_shingles(simhash), scratch)
            });
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
        if words == fingerprint_words || !matches!(content, ContentRef::Text(_)) {
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
        let signature = lanes.minhash.as_ref().and_then(|lane| lane.minima.signature());
        let (minhash, short_minhash) = match status {
            Status::Ok => (signature, None),
            Status::TooShort => (None, signature.filter(|_| self.config().compares_short_texts())),
        };
        let sketches = Sketches {
            status,
            words: lanes.words,
            simhash: lanes.simhash.as_ref().map(|lane| Fingerprint::from_u64(lane.votes.majority())),
            minhash,
            short_minhash,
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

    /// Computes the signature of a text that is too short from its shingles. See [`Sketches::short_minhash`].
    pub(crate) fn short_minhash(&self, status: Status, shingles: &FeatureSet) -> Option<Signature> {
        let is_indexed = status == Status::TooShort && self.config().compares_short_texts();
        self.parts.min_hasher.filter(|_| is_indexed)?.sketch(shingles.as_slice())
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
        ContentRef::Sketches(_) => {}
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
        ContentRef::Sketches(_) => encoder.encode_tokens::<&str>([]),
    }
}
