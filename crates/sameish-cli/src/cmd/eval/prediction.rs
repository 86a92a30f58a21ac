//! Which pairs does a file, or the engine's index, say belong together?

use super::survey::Drawn;
use super::{Ids, Side};
use crate::exit::Failure;
use sameish::{Analyzer, Bands, Config, DocId, Fingerprint, Judge, Prepared, Status};
use sameish_batch::input::judgments::Judgments;
use std::collections::HashMap;

/// What is audited.
pub(super) enum Prediction {
    Analyzer(Index),
    File(File),
}

/// What the indexes of an engine find, told from the sketches of two documents: caps on crowded buckets aside, a pair is a
/// candidate exactly when the sketches say so.
pub(super) struct Index {
    judge: Judge,
    bands: Option<Bands>,
    radius: Option<u32>,
}

impl Index {
    pub(super) fn new(config: &Config) -> Result<Index, Failure> {
        if config.minhash.is_none() && config.simhash.is_none() {
            return Err(Failure::usage(
                "`--exact` is for signatures and fingerprints, and these settings make sparse codes; choose another \
                 `--preset`",
            ));
        }
        let bands = config.bands().map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Index {
            judge: Judge::new(config),
            bands,
            radius: config.simhash.as_ref().map(|simhash| simhash.radius),
        })
    }

    /// How likely a pair of that similarity is found, where bands alone find it.
    pub(super) fn probability(&self, similarity: f64) -> Option<f64> {
        self.bands.filter(|_| self.radius.is_none()).map(|bands| bands.probability(similarity))
    }

    /// Whether pairs that share no feature may be candidates.
    pub(super) fn looks_at_prints(&self) -> bool {
        self.radius.is_some()
    }

    pub(super) fn is_candidate(&self, a: &Prepared, b: &Prepared) -> bool {
        let rows = a.sketches.minhash.as_ref().zip(b.sketches.minhash.as_ref());
        let share_a_band =
            || self.bands.zip(rows).is_some_and(|(bands, (a, b))| bands.share(a.rows(), b.rows()));
        let print = |doc: &Prepared| doc.sketches.simhash.filter(|print: &Fingerprint| !print.is_zero());
        let near = || print(a).zip(print(b)).is_some_and(|(a, b)| Some(a.distance(b)) <= self.radius);
        share_a_band() || near()
    }

    /// Whether a candidate is a match. The similarity is known, so features are not compared again.
    pub(super) fn matches(&self, a: &Prepared, b: &Prepared, similarity: f64) -> bool {
        let short = |doc: &Prepared| doc.sketches.status == Status::TooShort;
        if self.judge.verifies() && !short(a) && !short(b) {
            return similarity >= self.judge.threshold();
        }
        let side = |doc: &'_ Prepared| sameish::Side {
            key: doc.key,
            too_short: short(doc),
            simhash: doc.sketches.simhash,
            ..sameish::Side::default()
        };
        self.judge.judge(&side(a), &side(b)).is_some()
    }
}

/// What a file says of the documents that were drawn.
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    /// Documents that the file names.
    pub(crate) documents: u64,
    numbers: HashMap<DocId, u32>,
    /// Which of the drawn a document is joined with: by its own number in a file of pairs, else by that of its cluster.
    joined: HashMap<u32, Vec<u32>>,
    /// The cluster of each document by its number; absent in a file of pairs.
    clusters: Option<Vec<u32>>,
}

impl File {
    pub(super) fn new(side: Side, ids: Ids, drawn: &[Drawn]) -> File {
        let Side { name, judgments } = side;
        let numbers = ids.numbers;
        let mut joined: HashMap<u32, Vec<u32>> = HashMap::new();
        let known = (0..).zip(drawn).filter_map(|(at, doc)| Some((*numbers.get(&doc.id)?, at)));
        let clusters = match judgments.pairs() {
            Some(pairs) => {
                let drawn: HashMap<u32, u32> = known.collect();
                for &(a, b) in pairs {
                    for (here, there) in [(a, b), (b, a)] {
                        joined.entry(there).or_default().extend(drawn.get(&here));
                    }
                }
                joined.retain(|_, drawn| !drawn.is_empty());
                joined.values_mut().for_each(|drawn| drawn.sort_unstable());
                None
            }
            None => {
                let labels = Judgments::labels(&judgments, numbers.len());
                for (number, at) in known {
                    joined.entry(labels[number as usize]).or_default().push(at);
                }
                Some(labels)
            }
        };
        let (kind, documents) = (judgments.kind().name(), judgments.documents());
        File { name, kind, documents, numbers, joined, clusters }
    }

    /// Whether the file names the document, and which of the drawn it joins it with, ascending (itself among them, if it is
    /// one).
    pub(super) fn joined_with(&self, id: &DocId) -> (bool, &[u32]) {
        let Some(&number) = self.numbers.get(id) else { return (false, &[]) };
        let key = self.clusters.as_ref().map_or(number, |clusters| clusters[number as usize]);
        (true, self.joined.get(&key).map_or(&[], Vec::as_slice))
    }
}

/// The engine whose features are the truth: it makes the same sketches and always has features.
pub(super) fn oracle(config: &Config) -> Result<Analyzer, Failure> {
    let mut config = config.clone();
    config.matching.verify = true;
    Analyzer::new(config).map_err(|error| Failure::usage(error.to_string()))
}
