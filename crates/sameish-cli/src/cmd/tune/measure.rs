//! The similarities of the pairs of the sample.
//!
//! In a small sample, all pairs are compared. In a larger one, the histogram is estimated from two samples of pairs: pairs
//! that share a band of a low threshold, each weighted by the inverse of its detection probability, and random pairs for the
//! similarities that those bands rarely find.
//!
//! Templates that the configuration keeps apart are counted, but they are not in the histogram: `dedup` keeps them at every
//! threshold.

use super::sample::{Text, Texts};
use crate::exit::Failure;
use rayon::prelude::*;
use sameish::config::{Bands, TokenHash};
use sameish::features::hash_token;
use sameish::index::{BandIndex, DocNumber, Histogram};
use sameish::{Analyzer, Fingerprint, Signature};

/// Maximum cost of comparing all pairs or all candidates, in features: a few seconds.
const MAX_FEATURES: u64 = 2_000_000_000;
/// Maximum number of pairs that are all compared.
const MAX_PAIRS: u64 = 2_000_000;
/// Target for the number of candidates.
const MAX_CANDIDATES: u64 = 4_000_000;
/// Number of random pairs.
const RANDOM_PAIRS: u64 = 200_000;
/// Number of bins of the histogram, enough for any threshold with two decimals.
const BINS: usize = 200;
/// Lowest threshold that is evaluated with labels.
pub(super) const MIN_LEVEL: f64 = 0.3;

/// A compared pair of texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scored {
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) similarity: f64,
    /// Number of pairs that this one represents.
    pub(super) weight: f64,
}

/// How the histogram was computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Origin {
    /// Every pair was compared.
    All { pairs: u64 },
    Sampled {
        bands: Bands,
        /// Counts below this similarity come from random pairs.
        cut: f64,
        random: u64,
        candidates: u64,
        /// Number of buckets that reached the size limit.
        capped: u64,
    },
}

/// Similarities of the pairs of the sample.
pub(super) struct Similarities {
    pub(super) origin: Origin,
    /// Counts pairs of documents.
    pub(super) histogram: Histogram,
    /// Pairs of documents with equal texts. The histogram contains them at 1.
    pub(super) equal: u64,
    /// Estimated number of pairs of documents that are templates with a similarity of at least [`MIN_LEVEL`]. They are neither
    /// in the histogram nor in `near`.
    pub(super) templates: f64,
    /// Pairs of texts with a similarity of at least [`MIN_LEVEL`].
    pub(super) near: Vec<Scored>,
    /// Mean number of features per text.
    pub(super) mean_features: f64,
    /// Texts that are long enough to be compared.
    pub(super) comparable: Vec<u32>,
}

impl Similarities {
    pub(super) fn measure(analyzer: &Analyzer, texts: &Texts<'_>) -> Result<Similarities, Failure> {
        let comparable = comparable(texts, |text| text.prepared.sketches.indexed_signature().is_some());
        let features: u64 =
            comparable.iter().map(|&text| of(texts, text).prepared.features.shingles.len() as u64).sum();
        let n = comparable.len() as u64;
        let pairs = n * n.saturating_sub(1) / 2;
        let mut measured = Similarities {
            origin: Origin::All { pairs },
            histogram: Histogram::new(BINS),
            equal: texts.equal_pairs(&comparable),
            templates: 0.0,
            near: Vec::new(),
            mean_features: features as f64 / n.max(1) as f64,
            comparable,
        };
        measured.histogram.add(1.0, measured.equal as f64);
        if pairs <= MAX_PAIRS && n.saturating_mul(features) <= MAX_FEATURES {
            measured.compare_all(analyzer, texts);
        } else {
            measured.estimate(analyzer, texts)?;
        }
        Ok(measured)
    }

    fn compare_all(&mut self, analyzer: &Analyzer, texts: &Texts<'_>) {
        let docs = &self.comparable;
        let rows: Vec<Vec<Scored>> = (0..docs.len())
            .into_par_iter()
            .map(|i| {
                let score =
                    |&b: &u32| Scored { a: docs[i], b, similarity: jaccard(texts, docs[i], b), weight: 1.0 };
                docs[i + 1..].iter().map(score).filter(|pair| pair.similarity > 0.0).collect()
            })
            .collect();
        let mut unrelated = self.document_pairs(texts);
        for pair in rows.into_iter().flatten() {
            let documents = documents(texts, &pair);
            unrelated -= documents;
            if pair.similarity < MIN_LEVEL {
                self.histogram.add(pair.similarity, documents);
            } else if is_separate(analyzer, texts, &pair) {
                self.templates += documents;
            } else {
                self.histogram.add(pair.similarity, documents);
                self.near.push(pair);
            }
        }
        self.histogram.add(0.0, unrelated);
    }

    fn estimate(&mut self, analyzer: &Analyzer, texts: &Texts<'_>) -> Result<(), Failure> {
        let random = self.random_pairs(texts);
        let rows = analyzer.config().minhash.as_ref().map_or(1, |minhash| minhash.rows);
        let bands = self.affordable_bands(rows, &random);
        let (mut found, capped) = self.candidates(texts, rows, bands)?;
        let candidates = found.len() as u64;
        let cut = (bands.even_odds() * BINS as f64).ceil() / BINS as f64;
        found.retain(|pair| {
            let separate = pair.similarity >= cut.max(MIN_LEVEL) && is_separate(analyzer, texts, pair);
            self.templates += if separate { pair.weight * documents(texts, pair) } else { 0.0 };
            !separate
        });
        for pair in found.iter().filter(|pair| pair.similarity >= cut) {
            self.histogram.add(pair.similarity, pair.weight * documents(texts, pair));
        }
        let drawn: f64 = random.iter().map(|pair| documents(texts, pair)).sum();
        let scale = self.document_pairs(texts) / drawn;
        for pair in random.iter().filter(|pair| pair.similarity < cut) {
            let weight = scale * documents(texts, pair);
            if pair.similarity >= MIN_LEVEL && is_separate(analyzer, texts, pair) {
                self.templates += weight;
            } else {
                self.histogram.add(pair.similarity, weight);
            }
        }
        self.origin = Origin::Sampled { bands, cut, random: random.len() as u64, candidates, capped };
        self.near = found;
        self.near.retain(|pair| pair.similarity >= cut.max(MIN_LEVEL));
        Ok(())
    }

    /// Returns the number of pairs of documents with different texts.
    fn document_pairs(&self, texts: &Texts<'_>) -> f64 {
        let documents: u64 = self.comparable.iter().map(|&text| of(texts, text).copies).sum();
        (documents * documents.saturating_sub(1) / 2 - self.equal) as f64
    }

    /// Returns the number of pairs that can be compared at the maximum cost.
    fn affordable(&self) -> u64 {
        (MAX_FEATURES as f64 / (2.0 * self.mean_features).max(1.0)) as u64
    }

    /// Draws random pairs. The draw uses hashes of a counter, so it is deterministic.
    fn random_pairs(&self, texts: &Texts<'_>) -> Vec<Scored> {
        let n = self.comparable.len() as u64;
        let drawn = |i: u64| {
            let [x, y] = [2 * i, 2 * i + 1].map(|i| hash_token(TokenHash::Xxh3, &i.to_le_bytes()));
            // The second text is one of the other `n - 1`.
            let x = x % n;
            let y = y % (n - 1);
            let a = self.comparable[x as usize];
            let b = self.comparable[(y + u64::from(y >= x)) as usize];
            Scored { a, b, similarity: jaccard(texts, a, b), weight: 1.0 }
        };
        let pairs = RANDOM_PAIRS.min(self.affordable()).max(1000);
        (0..pairs).into_par_iter().map(drawn).collect()
    }

    /// Returns the bands of the lowest threshold whose candidates can all be compared, as predicted by the random pairs.
    fn affordable_bands(&self, rows: u32, random: &[Scored]) -> Bands {
        let n = self.comparable.len() as f64;
        let limit = self.affordable().min(MAX_CANDIDATES) as f64;
        let targets = (6..20).map(|twentieths| Bands::for_target(rows, f64::from(twentieths) / 20.0, 0.95));
        let mut last = Bands { count: 1, rows };
        for bands in targets.flatten() {
            let share: f64 = random.iter().map(|pair| bands.probability(pair.similarity)).sum();
            last = bands;
            if n * (n - 1.0) / 2.0 * share / random.len() as f64 <= limit {
                break;
            }
        }
        last
    }

    /// Compares all pairs that share a band. Also returns the number of buckets that reached the size limit.
    fn candidates(&self, texts: &Texts<'_>, rows: u32, bands: Bands) -> Result<(Vec<Scored>, u64), Failure> {
        let mut index = BandIndex::new(rows, bands)?;
        let signatures = self.comparable.iter().filter_map(|&text| {
            let signature: Option<&Signature> = of(texts, text).prepared.sketches.indexed_signature();
            Some((DocNumber(text), signature?))
        });
        index.insert_all(signatures)?;
        let mut pairs = Vec::new();
        let join = index.pairs(0.0, |pair| pairs.push((pair.a.0, pair.b.0)));
        // Floating-point sums must not depend on the order of the index.
        pairs.par_sort_unstable();
        let score = |&(a, b): &(u32, u32)| {
            let similarity = jaccard(texts, a, b);
            // A hash collision can produce a pair without shared features, whose weight would be infinite.
            let weight = if similarity > 0.0 { bands.weight(similarity) } else { 0.0 };
            Scored { a, b, similarity, weight }
        };
        Ok((pairs.par_iter().map(score).collect(), join.capped))
    }
}

fn comparable(texts: &Texts<'_>, long_enough: impl Fn(&Text<'_>) -> bool) -> Vec<u32> {
    let all = (0..).zip(&texts.texts);
    // Texts outside the sample are present only for labeled pairs.
    all.filter(|(_, text)| text.copies > 0 && long_enough(text)).map(|(at, _)| at).collect()
}

fn of<'t, 'a>(texts: &'t Texts<'a>, text: u32) -> &'t Text<'a> {
    &texts.texts[text as usize]
}

fn jaccard(texts: &Texts<'_>, a: u32, b: u32) -> f64 {
    of(texts, a).prepared.features.shingles.jaccard(&of(texts, b).prepared.features.shingles)
}

/// Returns `true` if a pair is a template that the configuration keeps apart.
fn is_separate(analyzer: &Analyzer, texts: &Texts<'_>, pair: &Scored) -> bool {
    let prepared = |text: u32| of(texts, text).prepared;
    analyzer.keeps_apart(prepared(pair.a), prepared(pair.b), pair.similarity)
}

/// Returns the number of pairs of documents with these two texts.
fn documents(texts: &Texts<'_>, pair: &Scored) -> f64 {
    (of(texts, pair.a).copies * of(texts, pair.b).copies) as f64
}

/// Largest radius that is evaluated.
pub(super) const MAX_BITS: usize = 20;

/// Hamming distances of the fingerprints of all pairs of the sample.
pub(super) struct Distances {
    /// Pairs of documents by distance, from 0 to 64 bits.
    pub(super) counts: Vec<u64>,
    /// Pairs of documents of the same cluster, by distance.
    pub(super) same: Vec<u64>,
    /// Pairs of documents that both have a cluster, by distance.
    pub(super) labeled: Vec<u64>,
    pub(super) comparable: Vec<u32>,
}

impl Distances {
    pub(super) fn measure(texts: &Texts<'_>) -> Distances {
        let comparable = comparable(texts, |text| fingerprint(text).is_some());
        let empty = || Distances {
            counts: vec![0; 65],
            same: vec![0; 65],
            labeled: vec![0; 65],
            comparable: Vec::new(),
        };
        let row = |mut sums: Distances, i: usize| {
            let a = of(texts, comparable[i]);
            sums.add(a, a, 0, 2);
            for b in comparable[i + 1..].iter().map(|&b| of(texts, b)) {
                let fingerprints = fingerprint(a).zip(fingerprint(b));
                sums.add(a, b, fingerprints.map_or(64, |(a, b)| a.distance(b)), 1);
            }
            sums
        };
        let mut sums =
            (0..comparable.len()).into_par_iter().fold(empty, row).reduce(empty, Distances::joined);
        sums.comparable = comparable;
        sums
    }

    /// Adds the pairs of documents of two texts. For the pairs within one text, `a` is `b` and `visits` is 2.
    fn add(&mut self, a: &Text<'_>, b: &Text<'_>, distance: u32, visits: u64) {
        let at = distance as usize;
        let own = visits - 1;
        self.counts[at] += a.copies * (b.copies - own) / visits;
        if at <= MAX_BITS && !a.clusters.is_empty() && !b.clusters.is_empty() {
            self.labeled[at] += a.labeled() * (b.labeled() - own) / visits;
            self.same[at] += (a.same_cluster(b) - own * a.labeled()) / visits;
        }
    }

    fn joined(mut self, other: Distances) -> Distances {
        let lists = [
            (&mut self.counts, other.counts),
            (&mut self.same, other.same),
            (&mut self.labeled, other.labeled),
        ];
        for (sums, others) in lists {
            sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
        }
        self
    }

    /// Returns the number of pairs of documents within a radius.
    pub(super) fn within(&self, radius: u32) -> u64 {
        self.counts.iter().take(radius as usize + 1).sum()
    }
}

/// Returns the fingerprint of a text, or `None` for a text without words.
pub(super) fn fingerprint(text: &Text<'_>) -> Option<Fingerprint> {
    text.prepared.sketches.simhash.filter(|fingerprint| !fingerprint.is_zero())
}
