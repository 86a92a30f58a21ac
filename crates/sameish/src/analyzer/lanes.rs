//! Sketches a document with every lane in one pass over its tokens, or in two if fingerprints have words of their own.

use super::{Analyzer, Schemes, TokenBatch};
use crate::config::{Counting, MinHashConfig, SimHashConfig, TokenHash, Weighting};
use crate::features::{self, Shingler};
use crate::sketch::{MinHasher, RowMinima, Votes};
use crate::text::TokenRange;

/// The state of every lane while one document is processed.
pub(super) struct Lanes {
    pub(super) schemes: Schemes,
    pub(super) words: usize,
    kept: Vec<TokenRange>,
    pub(super) simhash: Option<SimHashLane>,
    pub(super) minhash: Option<MinHashLane>,
    /// The features that matches are verified on, if requested.
    pub(super) features: Option<Vec<u64>>,
}

/// Which lanes receive the tokens of a pass over a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// All lanes.
    All,
    /// All lanes except SimHash, whose tokens differ.
    Text,
    /// Only the SimHash lane.
    Fingerprint,
}

pub(super) struct SimHashLane {
    shingler: Shingler,
    weighting: Weighting,
    pub(super) votes: Votes,
    /// All features, if each votes only once.
    seen: Vec<u64>,
}

pub(super) struct MinHashLane {
    shingler: Shingler,
    counting: Counting,
    pub(super) minima: RowMinima,
    /// All features, if repeated features count.
    seen: Vec<u64>,
}

impl Lanes {
    pub(super) fn new(analyzer: &Analyzer) -> Lanes {
        Lanes {
            schemes: analyzer.schemes(),
            words: 0,
            kept: Vec::new(),
            simhash: analyzer.config().simhash.as_ref().map(SimHashLane::new),
            minhash: analyzer
                .config()
                .minhash
                .as_ref()
                .zip(analyzer.parts.min_hasher)
                .map(|(config, hasher)| MinHashLane::new(config, hasher)),
            features: None,
        }
    }

    pub(super) fn begin(&mut self, with_features: bool) {
        self.words = 0;
        self.features = with_features.then(Vec::new);
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

    pub(super) fn push(&mut self, analyzer: &Analyzer, pass: Pass, batch: TokenBatch<'_>) {
        let mut kept = std::mem::take(&mut self.kept);
        let tokens = analyzer.without_stop_words(batch, &mut kept);
        if pass != Pass::Fingerprint {
            self.words += tokens.len();
        }
        self.add_features(analyzer, pass, |shingler| shingler.push_tokens(batch.bytes, tokens));
        self.kept = kept;
    }

    pub(super) fn finish(&mut self, analyzer: &Analyzer) {
        self.add_features(analyzer, Pass::All, Shingler::finish);
        if let Some(lane) = &mut self.simhash {
            lane.seen.sort_unstable();
            lane.seen.dedup();
            lane.votes.add_all(&lane.seen);
        }
        if let Some(lane) = &mut self.minhash {
            features::number_occurrences(&mut lane.seen);
            lane.minima.lower(&lane.seen);
        }
    }

    /// Adds the features that `next` gets from the shingler of each lane of a pass. A lane collects features that it must
    /// count first.
    fn add_features(
        &mut self,
        analyzer: &Analyzer,
        pass: Pass,
        next: impl for<'a> Fn(&'a mut Shingler) -> &'a [u64],
    ) {
        if let Some(lane) = self.simhash.as_mut().filter(|_| pass != Pass::Text) {
            let features = next(&mut lane.shingler);
            keep(&mut self.features, features, self.minhash.is_none());
            match (lane.weighting, &analyzer.parts.frequencies) {
                (Weighting::Frequency, _) => lane.votes.add_all(features),
                (Weighting::InverseDocumentFrequency, Some(frequencies)) => {
                    features
                        .iter()
                        .for_each(|&feature| lane.votes.add(&[feature], frequencies.weight(feature)));
                }
                _ => lane.seen.extend_from_slice(features),
            }
        }
        if let Some(lane) = self.minhash.as_mut().filter(|_| pass != Pass::Fingerprint) {
            let features = next(&mut lane.shingler);
            keep(&mut self.features, features, true);
            match lane.counting {
                Counting::Set => lane.minima.lower(features),
                Counting::Multiset => lane.seen.extend_from_slice(features),
            }
        }
    }

    /// Returns `true` if any lane received a feature, or if there is no lane.
    pub(super) fn have_features(&self) -> bool {
        let shinglers = self.simhash.iter().map(|lane| &lane.shingler);
        let mut shinglers = shinglers.chain(self.minhash.iter().map(|lane| &lane.shingler)).peekable();
        shinglers.peek().is_none() || shinglers.any(Shingler::any)
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

/// Keeps the features of the lane that matches are verified on.
fn keep(kept: &mut Option<Vec<u64>>, features: &[u64], verified: bool) {
    if let (Some(kept), true) = (kept, verified) {
        kept.extend_from_slice(features);
    }
}
