//! How do the rooms work together?
//!
//! The only file that sees every room. An [`Engine`] is a [`Config`] that has been checked.

use crate::config::{
    Config, Counting, MinHashConfig, Shingle, SimHashConfig, TokenHash, Tokenizer, Weighting,
};
use crate::document::Content;
use crate::error::{Error, Result};
use crate::features::{self, DocumentFrequencies, FeatureSet, Shingler};
use crate::matching::{Evidence, Located, MatchType, Passage};
use crate::sketch::{
    Fingerprint, MinHasher, RowMinima, SchemeId, Sdr, SdrEncoder, Signature, SimHasher, Votes,
};
use crate::text::{self, Batch, PADDING, Span, StopWords, TextScratch, TokenRange, for_each_batch};

/// Makes sketches and compares documents, under settings that have been checked.
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
}

/// The scheme of each lane's sketches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schemes {
    /// Of fingerprints.
    pub simhash: Option<SchemeId>,
    /// Of signatures.
    pub minhash: Option<SchemeId>,
    /// Of sparse codes.
    pub sdr: Option<SchemeId>,
}

/// Whether a text was long enough for its preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was.
    Ok,
    /// It was not. It is kept and matched by what was made of it, if anything, and by its exact text.
    TooShort,
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Status::Ok => "ok",
            Status::TooShort => "too_short",
        })
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

/// Everything that can be said of two texts side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Exact Jaccard similarity of the preset's shingles.
    pub similarity: f64,
    /// The share of the smaller side's shingles that the other has.
    pub containment: f64,
    /// The share of the first text's shingles that the second has.
    pub containment_a: f64,
    /// The share of the second text's shingles that the first has.
    pub containment_b: f64,
    /// In how many bits the fingerprints differ; of all words where the preset has no fingerprints.
    pub simhash_distance: u32,
    /// What the signatures estimate, where the preset makes them of both.
    pub minhash_similarity: Option<f64>,
    /// What the two are to each other.
    pub match_type: MatchType,
    /// Whether either text is too short for the preset.
    pub too_short: bool,
    /// Words of the first text.
    pub words_a: usize,
    /// Words of the second text.
    pub words_b: usize,
    /// Passages that both have, at least as long as was asked.
    pub passages: Vec<Passage>,
    /// The share of the first text's words that stand in a shared passage.
    pub coverage_a: f64,
    /// The share of the second text's words that stand in a shared passage.
    pub coverage_b: f64,
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

    /// An engine that weighs features by their rarity in a corpus.
    pub fn with_frequencies(config: Config, frequencies: DocumentFrequencies) -> Result<Engine> {
        Engine::build(config, Some(frequencies))
    }

    fn build(config: Config, frequencies: Option<DocumentFrequencies>) -> Result<Engine> {
        config.validate()?;
        let stop_words = config.text.stop_words.as_deref().map(StopWords::for_language).transpose()?;
        let schemes = Schemes::of(&config, stop_words.as_ref(), frequencies.as_ref());
        Ok(Engine {
            stop_words,
            min_hasher: config.minhash.as_ref().map(|minhash| MinHasher::new(minhash.rows)).transpose()?,
            sdr: config.sdr.clone().map(SdrEncoder::new).transpose()?,
            frequencies,
            schemes,
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
    pub fn sketch(&self, content: &Content, scratch: &mut Scratch) -> Sketches {
        let Scratch { text, lanes } = scratch;
        let lanes = match lanes {
            Some(lanes) if lanes.schemes == self.schemes => lanes,
            _ => lanes.insert(Lanes::new(self)),
        };
        lanes.begin();
        self.tokens(content, text, |batch| lanes.push(self, batch));
        lanes.finish(self);
        let status = self.status(lanes.words);
        Sketches {
            status,
            words: lanes.words,
            simhash: lanes.simhash.as_ref().map(|lane| Fingerprint::from_u64(lane.votes.majority())),
            minhash: lanes
                .minhash
                .as_ref()
                .filter(|_| status == Status::Ok)
                .and_then(|lane| lane.minima.signature()),
            sdr: self.sdr.as_ref().map(|encoder| encode_sdr(encoder, content)),
        }
    }

    fn status(&self, words: usize) -> Status {
        if words < self.config.text.min_words as usize { Status::TooShort } else { Status::Ok }
    }

    /// The distinct features on which matches of this engine are verified: those of its MinHash lane, else of its
    /// SimHash lane, else the words.
    pub fn features(&self, content: &Content, scratch: &mut Scratch) -> FeatureSet {
        let (shingle, hash, counting) = match (&self.config.minhash, &self.config.simhash) {
            (Some(minhash), _) => (minhash.shingle, TokenHash::Xxh3, minhash.counting),
            (None, Some(simhash)) => (simhash.shingle, simhash.hash, Counting::Set),
            (None, None) => (Shingle::Words(1), TokenHash::Xxh3, Counting::Set),
        };
        let mut shingler = Shingler::new(shingle, hash);
        let (mut features, mut kept) = (Vec::new(), Vec::new());
        self.tokens(content, &mut scratch.text, |batch| {
            let tokens = self.without_stop_words(batch, &mut kept);
            features.extend_from_slice(shingler.push_tokens(batch.bytes, tokens));
        });
        features.extend_from_slice(shingler.finish());
        match counting {
            Counting::Set => FeatureSet::from_hashes(features),
            Counting::Multiset => FeatureSet::from_occurrences(features),
        }
    }

    /// Everything that can be said of two documents. Shared passages have at least `min_tokens` words.
    ///
    /// ```
    /// use sameish::{Content, Engine, Preset};
    ///
    /// let engine = Engine::new(Preset::Articles.config())?;
    /// let [a, b] = ["dog", "cat"].map(|last| Content::Text(format!("The quick brown fox jumps over the lazy {last}")));
    /// let comparison = engine.compare(&a, &b, 5);
    /// assert_eq!(comparison.similarity, 0.75);
    /// assert_eq!(comparison.simhash_distance, 9);
    /// assert_eq!(comparison.passages[0].a_end, "The quick brown fox jumps over the lazy".len());
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn compare(&self, a: &Content, b: &Content, min_tokens: usize) -> Comparison {
        let mut scratch = Scratch::default();
        let [sketches_a, sketches_b] = [a, b].map(|content| self.sketch(content, &mut scratch));
        let [features_a, features_b] = [a, b].map(|content| self.features(content, &mut scratch));
        let [located_a, located_b] = [a, b].map(|content| locate(content, &mut scratch.text));
        let evidence = Evidence::find(&located_a, &located_b, min_tokens);
        let fingerprint = |made: Option<Fingerprint>, words: &Located| match made {
            Some(print) => (!print.is_zero()).then_some(print),
            None => (!words.hashes.is_empty()).then(|| SimHasher.sketch(&words.hashes)),
        };
        let print_a = fingerprint(sketches_a.simhash, &located_a);
        let print_b = fingerprint(sketches_b.simhash, &located_b);
        // A text without words has no fingerprint worth the name and is near to nothing.
        let distance = print_a.zip(print_b).map(|(a, b)| a.distance(b));
        let similarity = features_a.jaccard(&features_b);
        let equal = !located_a.hashes.is_empty() && located_a.hashes == located_b.hashes;
        let [containment_a, containment_b] =
            [features_a.containment_in(&features_b), features_b.containment_in(&features_a)];
        Comparison {
            similarity,
            containment: containment_a.max(containment_b),
            containment_a,
            containment_b,
            simhash_distance: print_a.unwrap_or_default().distance(print_b.unwrap_or_default()),
            minhash_similarity: sketches_a
                .minhash
                .zip(sketches_b.minhash)
                .and_then(|(a, b)| a.estimate(&b).ok()),
            match_type: MatchType::judge(equal, similarity, distance),
            too_short: [sketches_a.status, sketches_b.status].contains(&Status::TooShort),
            words_a: sketches_a.words,
            words_b: sketches_b.words,
            passages: evidence.passages,
            coverage_a: evidence.coverage_a,
            coverage_b: evidence.coverage_b,
        }
    }

    /// Hands on the tokens of a document, whichever way it has them.
    fn tokens(&self, content: &Content, scratch: &mut TextScratch, mut sink: impl FnMut(TokenBatch<'_>)) {
        match content {
            Content::Text(text) => {
                for_each_batch(self.config.text.tokenizer, text, scratch, |batch: &Batch<'_>| {
                    sink(TokenBatch { bytes: batch.bytes, tokens: batch.tokens });
                });
            }
            Content::Tokens(tokens) => for_each_given(tokens, sink),
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

fn encode_sdr(encoder: &SdrEncoder, content: &Content) -> Sdr {
    match content {
        Content::Text(text) => encoder.encode(text),
        Content::Tokens(tokens) => encoder.encode_tokens(tokens),
    }
}

/// The words of a document and where they stand; given tokens stand as if joined by one blank.
fn locate(content: &Content, scratch: &mut TextScratch) -> Located {
    let mut located = Located::default();
    match content {
        Content::Text(text) => for_each_batch(Tokenizer::Unicode, text, scratch, |batch| {
            for i in 0..batch.tokens.len() {
                located.hashes.push(features::hash_token(TokenHash::Xxh3, batch.token(i)));
                located.spans.push(batch.span(i));
            }
        }),
        Content::Tokens(tokens) => {
            let mut start = 0;
            for token in tokens {
                located.hashes.push(features::hash_token(TokenHash::Xxh3, token.as_bytes()));
                located.spans.push(Span { start, end: start + token.len() });
                start += token.len() + 1;
            }
        }
    }
    located
}

/// The lanes of an engine at work on one document.
struct Lanes {
    schemes: Schemes,
    words: usize,
    kept: Vec<TokenRange>,
    simhash: Option<SimHashLane>,
    minhash: Option<MinHashLane>,
}

struct SimHashLane {
    shingler: Shingler,
    weighting: Weighting,
    votes: Votes,
    /// All features, where each may vote only once.
    seen: Vec<u64>,
}

struct MinHashLane {
    shingler: Shingler,
    counting: Counting,
    minima: RowMinima,
    /// All features, where repeats count.
    seen: Vec<u64>,
}

impl Lanes {
    fn new(engine: &Engine) -> Lanes {
        Lanes {
            schemes: engine.schemes,
            words: 0,
            kept: Vec::new(),
            simhash: engine.config.simhash.as_ref().map(SimHashLane::new),
            minhash: engine
                .config
                .minhash
                .as_ref()
                .zip(engine.min_hasher)
                .map(|(c, m)| MinHashLane::new(c, m)),
        }
    }

    fn begin(&mut self) {
        self.words = 0;
        if let Some(lane) = &mut self.simhash {
            lane.shingler.begin();
            lane.votes.clear();
            lane.seen.clear();
        }
        if let Some(lane) = &mut self.minhash {
            lane.shingler.begin();
            lane.minima.clear();
            lane.seen.clear();
        }
    }

    fn push(&mut self, engine: &Engine, batch: TokenBatch<'_>) {
        let tokens = engine.without_stop_words(batch, &mut self.kept);
        self.words += tokens.len();
        if let Some(lane) = &mut self.simhash {
            let features = lane.shingler.push_tokens(batch.bytes, tokens);
            vote(lane.weighting, features, &mut lane.votes, &mut lane.seen, engine.frequencies.as_ref());
        }
        if let Some(lane) = &mut self.minhash {
            let features = lane.shingler.push_tokens(batch.bytes, tokens);
            lower(lane.counting, features, &mut lane.minima, &mut lane.seen);
        }
    }

    fn finish(&mut self, engine: &Engine) {
        if let Some(lane) = &mut self.simhash {
            let features = lane.shingler.finish();
            vote(lane.weighting, features, &mut lane.votes, &mut lane.seen, engine.frequencies.as_ref());
            lane.seen.sort_unstable();
            lane.seen.dedup();
            lane.votes.add_all(&lane.seen);
        }
        if let Some(lane) = &mut self.minhash {
            let features = lane.shingler.finish();
            lower(lane.counting, features, &mut lane.minima, &mut lane.seen);
            features::number_occurrences(&mut lane.seen);
            lane.minima.lower(&lane.seen);
        }
    }
}

impl SimHashLane {
    fn new(config: &SimHashConfig) -> SimHashLane {
        SimHashLane {
            shingler: Shingler::new(config.shingle, config.hash),
            weighting: config.weighting,
            votes: Votes::new(64),
            seen: Vec::new(),
        }
    }
}

impl MinHashLane {
    fn new(config: &MinHashConfig, hasher: MinHasher) -> MinHashLane {
        MinHashLane {
            shingler: Shingler::new(config.shingle, TokenHash::Xxh3),
            counting: config.counting,
            minima: RowMinima::new(hasher),
            seen: Vec::new(),
        }
    }
}

/// Lets features vote as they weigh, or keeps them until all are known.
fn vote(
    weighting: Weighting,
    features: &[u64],
    votes: &mut Votes,
    seen: &mut Vec<u64>,
    frequencies: Option<&DocumentFrequencies>,
) {
    match (weighting, frequencies) {
        (Weighting::Frequency, _) => votes.add_all(features),
        (Weighting::InverseDocumentFrequency, Some(frequencies)) => {
            features.iter().for_each(|&feature| votes.add(&[feature], frequencies.weight(feature)));
        }
        _ => seen.extend_from_slice(features),
    }
}

/// Takes features into the minima, or keeps them until all are known.
fn lower(counting: Counting, features: &[u64], minima: &mut RowMinima, seen: &mut Vec<u64>) {
    match counting {
        Counting::Set => minima.lower(features),
        Counting::Multiset => seen.extend_from_slice(features),
    }
}

impl Schemes {
    fn of(
        config: &Config,
        stop_words: Option<&StopWords>,
        frequencies: Option<&DocumentFrequencies>,
    ) -> Schemes {
        let text = format!(
            "{:?} version {} stop words {:016x}",
            config.text.tokenizer,
            text::VERSION,
            stop_words.map_or(0, StopWords::digest)
        );
        let rarity = frequencies.map_or(0, DocumentFrequencies::digest);
        Schemes {
            simhash: config.simhash.as_ref().map(|c| {
                let (shingle, hash, weighting) = (c.shingle, c.hash, c.weighting);
                SchemeId::of(&format!("simhash 1, {text}, {shingle}, {hash:?}, {weighting:?}, {rarity:016x}"))
            }),
            // Fewer rows are a prefix of more, but two lengths do not compare: the number is part of the scheme. The
            // least number of words is too, for it decides which texts have a signature at all.
            minhash: config.minhash.as_ref().map(|c| {
                let (shingle, counting, rows, least) = (c.shingle, c.counting, c.rows, config.text.min_words);
                SchemeId::of(&format!(
                    "minhash 1, {text}, {shingle}, {counting:?}, {rows} rows, {least} words"
                ))
            }),
            sdr: config.sdr.as_ref().map(|c| SchemeId::of(&format!("sdr 1, {c:?}"))),
        }
    }
}
