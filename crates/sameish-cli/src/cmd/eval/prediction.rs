//! The audited prediction: the pairs of a file or of the engine's index.

use super::Side;
use super::first_pass::Sampled;
use crate::exit::Failure;
use sameish::config::{Bands, Templates};
use sameish::matching::Judge;
use sameish::{Analyzer, Config, DocId, Fingerprint, Prepared, Status};
use sameish_batch::input::judgments::DocumentNumbers;
use sameish_batch::input::judgments::Judgments;
use std::collections::HashMap;

pub(super) enum Prediction {
    Engine(Index),
    File(File),
}

impl Prediction {
    /// Returns the detection probability of a similarity, if it is known.
    pub(super) fn probability(&self, similarity: f64) -> Option<f64> {
        match self {
            Prediction::Engine(index) => index.probability(similarity),
            Prediction::File(_) => None,
        }
    }
}

/// The index of an engine, simulated on the sketches of two documents. Limits on bucket sizes are not simulated.
pub(super) struct Index {
    judge: Judge,
    bands: Option<Bands>,
    radius: Option<u32>,
}

impl Index {
    pub(super) fn new(config: &Config) -> Result<Index, Failure> {
        if config.minhash.is_none() && config.simhash.is_none() {
            return Err(Failure::usage(
                "`--exact` supports signatures and fingerprints, but these settings produce sparse codes; choose another \
                 `--preset`",
            ));
        }
        let bands = config.bands()?;
        Ok(Index {
            judge: Judge::new(config),
            bands,
            radius: config.simhash.as_ref().map(|simhash| simhash.radius),
        })
    }

    /// Returns the detection probability of a similarity, or `None` if fingerprints also provide candidates.
    pub(super) fn probability(&self, similarity: f64) -> Option<f64> {
        self.bands.filter(|_| self.radius.is_none()).map(|bands| bands.probability(similarity))
    }

    /// Returns `true` if pairs without shared features can be candidates.
    pub(super) fn uses_fingerprints(&self) -> bool {
        self.radius.is_some()
    }

    pub(super) fn is_candidate(&self, a: &Prepared, b: &Prepared) -> bool {
        let rows = a.sketches.indexed_signature().zip(b.sketches.indexed_signature());
        let share_band =
            || self.bands.zip(rows).is_some_and(|(bands, (a, b))| bands.share(a.rows(), b.rows()));
        let fingerprint =
            |doc: &Prepared| doc.sketches.simhash.filter(|simhash: &Fingerprint| !simhash.is_zero());
        let near =
            || fingerprint(a).zip(fingerprint(b)).is_some_and(|(a, b)| Some(a.distance(b)) <= self.radius);
        share_band() || near()
    }

    /// Returns `true` if a candidate is a match. The similarity is given, so features are not compared again.
    pub(super) fn matches(&self, a: &Prepared, b: &Prepared, similarity: f64) -> bool {
        let short = |doc: &Prepared| doc.sketches.status == Status::TooShort;
        if self.judge.verifies() && !short(a) && !short(b) {
            return similarity >= self.judge.threshold();
        }
        fn side(doc: &Prepared) -> sameish::matching::Side<'_> {
            sameish::matching::Side {
                key: doc.key,
                too_short: doc.sketches.status == Status::TooShort,
                simhash: doc.sketches.simhash,
                features: Some(&doc.features.shingles),
                ..sameish::matching::Side::default()
            }
        }
        self.judge.judge(&side(a), &side(b)).is_some_and(|verdict| self.judge.joins(&verdict))
    }
}

/// The pairs of a file that contain a sampled document.
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    /// Number of documents in the file.
    pub(crate) documents: u64,
    numbers: DocumentNumbers,
    /// Sampled documents that are paired with a document (by document number) or are in a cluster (by cluster number).
    joined: HashMap<u32, Vec<u32>>,
    /// The cluster of each document number; absent in a file of pairs.
    clusters: Option<Vec<u32>>,
    /// Whether templates that the file lacks were kept apart, so that it does not miss them.
    pub(super) keeps_templates: bool,
}

impl File {
    /// Prepares a file. `templates` is the treatment of templates that was requested, if any.
    ///
    /// Clusters and removals keep templates apart by default. A list of pairs may lack templates for any reason, so it does so
    /// only on request, and not if it lists some.
    pub(super) fn new(
        side: Side,
        numbers: DocumentNumbers,
        sampled: &[Sampled],
        templates: Option<Templates>,
    ) -> File {
        let Side { name, judgments } = side;
        let mut joined: HashMap<u32, Vec<u32>> = HashMap::new();
        let known = (0..).zip(sampled).filter_map(|(at, doc)| Some((numbers.get(&doc.id)?, at)));
        let clusters = match judgments.pairs() {
            Some(pairs) => {
                let sampled: HashMap<u32, u32> = known.collect();
                for &(a, b) in pairs {
                    for (here, there) in [(a, b), (b, a)] {
                        joined.entry(there).or_default().extend(sampled.get(&here));
                    }
                }
                joined.retain(|_, sampled| !sampled.is_empty());
                joined.values_mut().for_each(|sampled| sampled.sort_unstable());
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
        let kind = judgments.kind().name();
        let documents = judgments.documents();
        let is_requested = templates == Some(Templates::Keep) && !judgments.lists_templates();
        let keeps_templates = clusters.is_some() || is_requested;
        File { name, kind, documents, numbers, joined, clusters, keeps_templates }
    }

    /// Returns the sampled documents that the file joins with a document, in ascending order, or `None` if the file does not
    /// contain the document. A sampled document may be joined with itself.
    pub(super) fn joined_with(&self, id: &DocId) -> Option<&[u32]> {
        let number = self.numbers.get(id)?;
        let key = self.clusters.as_ref().map_or(number, |clusters| clusters[number as usize]);
        Some(self.joined.get(&key).map_or(&[], Vec::as_slice))
    }
}

/// Creates the engine that computes exact similarities: the same sketches, always with features.
pub(super) fn oracle(config: &Config) -> Result<Analyzer, Failure> {
    let mut config = config.clone();
    config.matching.verify = true;
    Ok(Analyzer::new(config)?)
}
