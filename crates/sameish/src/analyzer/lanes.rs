//! Sketches a document with every lane in one pass over its tokens.

use super::{Analyzer, Schemes, TokenBatch};
use crate::config::{Counting, MinHashConfig, SimHashConfig, TokenHash, Weighting};
use crate::features::{self, DocumentFrequencies, Shingler};
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

    pub(super) fn push(&mut self, analyzer: &Analyzer, batch: TokenBatch<'_>) {
        let tokens = analyzer.without_stop_words(batch, &mut self.kept);
        self.words += tokens.len();
        if let Some(lane) = &mut self.simhash {
            let features = lane.shingler.push_tokens(batch.bytes, tokens);
            keep(&mut self.features, features, self.minhash.is_none());
            vote(
                lane.weighting,
                features,
                &mut lane.votes,
                &mut lane.seen,
                analyzer.parts.frequencies.as_ref(),
            );
        }
        if let Some(lane) = &mut self.minhash {
            let features = lane.shingler.push_tokens(batch.bytes, tokens);
            keep(&mut self.features, features, true);
            lower(lane.counting, features, &mut lane.minima, &mut lane.seen);
        }
    }

    pub(super) fn finish(&mut self, analyzer: &Analyzer) {
        if let Some(lane) = &mut self.simhash {
            let features = lane.shingler.finish();
            keep(&mut self.features, features, self.minhash.is_none());
            vote(
                lane.weighting,
                features,
                &mut lane.votes,
                &mut lane.seen,
                analyzer.parts.frequencies.as_ref(),
            );
            lane.seen.sort_unstable();
            lane.seen.dedup();
            lane.votes.add_all(&lane.seen);
        }
        if let Some(lane) = &mut self.minhash {
            let features = lane.shingler.finish();
            keep(&mut self.features, features, true);
            lower(lane.counting, features, &mut lane.minima, &mut lane.seen);
            features::number_occurrences(&mut lane.seen);
            lane.minima.lower(&lane.seen);
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

/// Adds weighted votes, or collects the features if duplicates must be removed first.
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

/// Updates the minima, or collects the features if occurrences must be numbered first.
fn lower(counting: Counting, features: &[u64], minima: &mut RowMinima, seen: &mut Vec<u64>) {
    match counting {
        Counting::Set => minima.lower(features),
        Counting::Multiset => seen.extend_from_slice(features),
    }
}
