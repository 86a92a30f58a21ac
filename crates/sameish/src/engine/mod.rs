//! How do the rooms work together?
//!
//! The only place that sees every room. An [`Engine`] is a [`Config`] that has been checked, and the documents it was given.
//!
//! ```text
//! lanes.rs       runs a document through the sketchers
//! schemes.rs     names what determines a sketch
//! compare.rs     puts two documents side by side
//! collection.rs  holds documents: insert, remove, search
//!   lookup.rs      the indexes of the lanes
//!   texts.rs       what is held of a text
//!   slots.rs       numbers that are given again
//! elsewhere.rs   the same for texts that somebody else keeps
//! groups.rs      pairs and groups of what is held
//! file.rs        the same as bytes of one file
//! ```

mod collection;
mod compare;
mod elsewhere;
mod file;
mod groups;
mod lanes;
mod lookup;
mod schemes;
mod slots;
mod texts;

pub use collection::{CANDIDATES_JUDGED, Inserted, Match, Prepared, Search, SearchOptions};
pub use compare::Comparison;
pub use elsewhere::{Among, Arrival, Details, Digest, Held, Loading, Nearest, Texts};
pub use groups::{Effort, Group, Groups, MatchedPair, Spread};
pub use schemes::Schemes;

use collection::Collection;
use lanes::Lanes;

use crate::config::{Config, Counting, Shingle, TokenHash, Weighting};
use crate::document::ContentRef;
use crate::error::{Error, Result};
use crate::features::{DocumentFrequencies, FeatureSet, Shingler};
use crate::sketch::{Fingerprint, MinHasher, Sdr, SdrEncoder, Signature};
use crate::text::{Batch, PADDING, StopWords, TextScratch, TokenRange, for_each_batch};

/// Makes sketches, compares documents, holds them and finds those that match, under settings that have been checked.
///
/// ```
/// use sameish::{Content, Engine, Preset, Scratch};
///
/// let engine = Engine::new(Preset::Wire.config())?;
/// let text = Content::Text("Breaking news: Major earthquake hits city".into());
/// let sketches = engine.sketch(&text, &mut Scratch::default());
/// assert_eq!(sketches.simhash.unwrap().to_hex(), "f10893b1083a30a2");
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Engine {
    config: Config,
    stop_words: Option<StopWords>,
    min_hasher: Option<MinHasher>,
    sdr: Option<SdrEncoder>,
    frequencies: Option<DocumentFrequencies>,
    schemes: Schemes,
    collection: Collection,
}

/// Whether a text was long enough for its preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was.
    Ok,
    /// It was not. It is kept and matched by what was made of it, if anything, and by its exact text.
    TooShort,
}

impl Status {
    /// The word for it, as outputs write it.
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

/// What an engine makes of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketches {
    /// Whether the text was long enough.
    pub status: Status,
    /// How many words it has, without stop words.
    pub words: usize,
    /// From the SimHash lane, of any text; zero for one without features.
    pub simhash: Option<Fingerprint>,
    /// From the MinHash lane, of texts that are long enough.
    pub minhash: Option<Signature>,
    /// From the sparse code lane, of any text.
    pub sdr: Option<Sdr>,
}

/// Buffers that are used again for every document. One for each thread; any engine can use it.
#[derive(Default)]
pub struct Scratch {
    text: TextScratch,
    lanes: Option<Lanes>,
}

impl Engine {
    /// An engine with these settings, if they make sense together.
    pub fn new(config: Config) -> Result<Engine> {
        let weighting = config.simhash.as_ref().map(|simhash| simhash.weighting);
        if weighting == Some(Weighting::InverseDocumentFrequency) {
            let expected = "uniform or frequency, unless the engine is given document frequencies";
            return Err(Error::field("simhash.weighting", "inverse-document-frequency", expected));
        }
        Engine::build(config, None)
    }

    /// An engine that weighs features by their rarity in a corpus, which was counted with
    /// [`count_into`](Self::count_into) by an engine of the same settings but for the weighting.
    pub fn with_frequencies(config: Config, frequencies: DocumentFrequencies) -> Result<Engine> {
        if frequencies.documents() == 0 {
            return Err(Error::field("frequencies", "empty", "counted over at least one document"));
        }
        Engine::build(config, Some(frequencies))
    }

    fn build(config: Config, frequencies: Option<DocumentFrequencies>) -> Result<Engine> {
        config.validate()?;
        let stop_words = config.text.stop_words.as_deref().map(StopWords::for_language).transpose()?;
        let schemes = Schemes::of(&config, stop_words.as_ref(), frequencies.as_ref())?;
        Ok(Engine {
            stop_words,
            min_hasher: config.minhash.as_ref().map(|minhash| MinHasher::new(minhash.rows)).transpose()?,
            sdr: config.sdr.clone().map(SdrEncoder::new).transpose()?,
            frequencies,
            schemes,
            collection: Collection::new(&config)?,
            config,
        })
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The schemes of the sketches it makes.
    pub fn schemes(&self) -> Schemes {
        self.schemes
    }

    /// All sketches of a document.
    pub fn sketch<'a>(&self, content: impl Into<ContentRef<'a>>, scratch: &mut Scratch) -> Sketches {
        self.run(content.into(), false, scratch).0
    }

    /// Sketches and, if asked for, the features that matches are verified on, in one pass over the text.
    fn run(
        &self,
        content: ContentRef<'_>,
        with_features: bool,
        scratch: &mut Scratch,
    ) -> (Sketches, Option<FeatureSet>) {
        let Scratch { text, lanes } = scratch;
        let lanes = match lanes {
            Some(lanes) if lanes.schemes == self.schemes => lanes,
            _ => lanes.insert(Lanes::new(self)),
        };
        lanes.begin(with_features && (self.config.minhash.is_some() || self.config.simhash.is_some()));
        self.tokens(content, text, |batch| lanes.push(self, batch));
        lanes.finish(self);
        let status = self.status(lanes.words, lanes.have_features());
        let features = lanes.features.take().map(|features| self.counted(features));
        let sketches = Sketches {
            status,
            words: lanes.words,
            simhash: lanes.simhash.as_ref().map(|lane| Fingerprint::from_u64(lane.votes.majority())),
            minhash: lanes
                .minhash
                .as_ref()
                .filter(|_| status == Status::Ok)
                .and_then(|lane| lane.minima.signature()),
            sdr: self.sdr.as_ref().map(|encoder| encode_sdr(encoder, content)),
        };
        (sketches, features)
    }

    /// Features as a set, where repeats count or do not.
    fn counted(&self, features: Vec<u64>) -> FeatureSet {
        match self.config.minhash.as_ref().map(|minhash| minhash.counting) {
            Some(Counting::Multiset) => FeatureSet::from_occurrences(features),
            _ => FeatureSet::from_hashes(features),
        }
    }

    /// Too short is a text with too few words, or with none that make a feature.
    fn status(&self, words: usize, features: bool) -> Status {
        if features && words >= self.config.text.min_words as usize { Status::Ok } else { Status::TooShort }
    }

    /// The distinct features on which matches of this engine are verified: those of its MinHash lane, else of its
    /// SimHash lane, else the words.
    pub fn features<'a>(&self, content: impl Into<ContentRef<'a>>, scratch: &mut Scratch) -> FeatureSet {
        let (shingle, hash) = match (&self.config.minhash, &self.config.simhash) {
            (Some(minhash), _) => (minhash.shingle, TokenHash::Xxh3),
            (None, Some(simhash)) => (simhash.shingle, simhash.hash),
            (None, None) => (Shingle::Words(1), TokenHash::Xxh3),
        };
        self.counted(self.features_of(content.into(), shingle, hash, scratch))
    }

    /// Counts the document's features that its SimHash lane lets vote, for [`with_frequencies`](Self::with_frequencies).
    ///
    /// ```
    /// use sameish::{Content, DocumentFrequencies, Engine, Preset, Scratch, Weighting};
    ///
    /// let mut config = Preset::Articles.config();
    /// let plain = Engine::new(config.clone())?;
    /// let (mut frequencies, mut scratch) = (DocumentFrequencies::default(), Scratch::default());
    /// for text in ["the bridge is closed", "the road is open", "the end"] {
    ///     plain.count_into(&Content::Text(text.into()), &mut frequencies, &mut scratch);
    /// }
    /// assert_eq!(frequencies.count(sameish::fnv1a64(b"the")), 3);
    /// config.simhash.as_mut().unwrap().weighting = Weighting::InverseDocumentFrequency;
    /// let weighted = Engine::with_frequencies(config, frequencies)?;
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn count_into<'a>(
        &self,
        content: impl Into<ContentRef<'a>>,
        frequencies: &mut DocumentFrequencies,
        scratch: &mut Scratch,
    ) {
        if let Some(simhash) = &self.config.simhash {
            let features = self.features_of(content.into(), simhash.shingle, simhash.hash, scratch);
            frequencies.add(&FeatureSet::from_hashes(features));
        }
    }

    /// All features of a document, in order.
    fn features_of(
        &self,
        content: ContentRef<'_>,
        shingle: Shingle,
        hash: TokenHash,
        scratch: &mut Scratch,
    ) -> Vec<u64> {
        let mut shingler = Shingler::new(shingle, hash);
        let (mut features, mut kept) = (Vec::new(), Vec::new());
        self.tokens(content, &mut scratch.text, |batch| {
            let tokens = self.without_stop_words(batch, &mut kept);
            features.extend_from_slice(shingler.push_tokens(batch.bytes, tokens));
        });
        features.extend_from_slice(shingler.finish());
        features
    }

    /// Hands on the tokens of a document, whichever way it has them.
    fn tokens(
        &self,
        content: ContentRef<'_>,
        scratch: &mut TextScratch,
        mut sink: impl FnMut(TokenBatch<'_>),
    ) {
        match content {
            ContentRef::Text(text) => {
                for_each_batch(self.config.text.tokenizer, text, scratch, |batch: &Batch<'_>| {
                    sink(TokenBatch { bytes: batch.bytes, tokens: batch.tokens });
                });
            }
            ContentRef::Tokens(tokens) => for_each_given(tokens, sink),
        }
    }

    fn without_stop_words<'a>(
        &self,
        batch: TokenBatch<'a>,
        kept: &'a mut Vec<TokenRange>,
    ) -> &'a [TokenRange] {
        let Some(stop_words) = &self.stop_words else { return batch.tokens };
        kept.clear();
        kept.extend(batch.tokens.iter().filter(|token| !stop_words.contains(token.of(batch.bytes))));
        kept
    }
}

/// Tokens in a buffer that goes on for [`PADDING`] bytes behind them.
#[derive(Clone, Copy)]
struct TokenBatch<'a> {
    bytes: &'a [u8],
    tokens: &'a [TokenRange],
}

/// Hands on tokens that the caller made, a few hundred at a time.
fn for_each_given(tokens: &[String], mut sink: impl FnMut(TokenBatch<'_>)) {
    let (mut bytes, mut ranges) = (Vec::new(), Vec::new());
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
