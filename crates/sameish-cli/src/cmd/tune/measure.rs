//! How similar are the pairs of the sample?
//!
//! Small samples are compared all with all. For larger ones there are two sources: pairs that share a band of a low
//! threshold, each weighted by how likely it was to be found, and random pairs for what such bands hardly find.

use super::sample::{Text, Texts};
use crate::exit::Failure;
use rayon::prelude::*;
use sameish::{
    BandIndex, Bands, Config, DocNumber, Fingerprint, Histogram, Signature, TokenHash, hash_token,
};

/// Steps of comparing sorted lists that may be spent on all pairs, or on candidates: a few seconds.
const MOST_STEPS: u64 = 2_000_000_000;
/// Pairs up to which all are compared.
const MOST_PAIRS: u64 = 2_000_000;
/// Candidates that are aimed at.
const MOST_CANDIDATES: u64 = 4_000_000;
/// Random pairs for the bulk.
const RANDOM_PAIRS: u64 = 200_000;
/// Bins of the histogram, fine enough for any threshold with two digits.
const BINS: usize = 200;
/// Pairs below are no concern of labels.
pub(super) const LEAST_LEVEL: f64 = 0.3;

/// Two texts that were compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scored {
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) similarity: f64,
    /// How many such pairs it stands for.
    pub(super) weight: f64,
}

/// Where the numbers come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Origin {
    /// Every pair was compared.
    All { pairs: u64 },
    Sampled {
        bands: Bands,
        /// Below it, counts come from random pairs.
        cut: f64,
        random: u64,
        candidates: u64,
        /// Buckets too large for all their pairs.
        capped: u64,
    },
}

/// Exact similarities of pairs of the sample.
pub(super) struct Similarities {
    pub(super) origin: Origin,
    /// Of pairs of documents.
    pub(super) histogram: Histogram,
    /// Pairs of documents with equal texts; they are in the histogram too, at 1.
    pub(super) equal: u64,
    /// Pairs of texts that may matter to labels.
    pub(super) near: Vec<Scored>,
    /// Features of a text, on average.
    pub(super) mean_features: f64,
    /// Texts long enough to be compared.
    pub(super) comparable: Vec<u32>,
}

impl Similarities {
    pub(super) fn measure(config: &Config, texts: &Texts<'_>) -> Result<Similarities, Failure> {
        let comparable = comparable(texts, |text| text.prepared.sketches.minhash.is_some());
        let features: u64 =
            comparable.iter().map(|&text| of(texts, text).prepared.features.shingles.len() as u64).sum();
        let n = comparable.len() as u64;
        let mut measured = Similarities {
            origin: Origin::All { pairs: n * n.saturating_sub(1) / 2 },
            histogram: Histogram::new(BINS),
            equal: texts.equal_pairs(&comparable),
            near: Vec::new(),
            mean_features: features as f64 / n.max(1) as f64,
            comparable,
        };
        measured.histogram.add(1.0, measured.equal as f64);
        let pairs = n * n.saturating_sub(1) / 2;
        match pairs <= MOST_PAIRS && n.saturating_mul(features) <= MOST_STEPS {
            true => measured.compare_all(texts),
            false => measured.compare_some(config, texts)?,
        }
        Ok(measured)
    }

    fn compare_all(&mut self, texts: &Texts<'_>) {
        let docs = &self.comparable;
        let rows: Vec<Vec<Scored>> = (0..docs.len())
            .into_par_iter()
            .map(|i| {
                let score =
                    |&b: &u32| Scored { a: docs[i], b, similarity: jaccard(texts, docs[i], b), weight: 1.0 };
                docs[i + 1..].iter().map(score).filter(|pair| pair.similarity > 0.0).collect()
            })
            .collect();
        let mut strangers = self.document_pairs(texts);
        for pair in rows.into_iter().flatten() {
            let documents = documents(texts, &pair);
            strangers -= documents;
            self.histogram.add(pair.similarity, documents);
            if pair.similarity >= LEAST_LEVEL {
                self.near.push(pair);
            }
        }
        self.histogram.add(0.0, strangers);
    }

    fn compare_some(&mut self, config: &Config, texts: &Texts<'_>) -> Result<(), Failure> {
        let random = self.random_pairs(texts);
        let rows = config.minhash.as_ref().map_or(1, |minhash| minhash.rows);
        let bands = self.affordable_bands(rows, &random);
        let (found, capped) = self.candidates(texts, rows, bands)?;
        let cut = (bands.even_odds() * BINS as f64).ceil() / BINS as f64;
        for pair in found.iter().filter(|pair| pair.similarity >= cut) {
            self.histogram.add(pair.similarity, pair.weight * documents(texts, pair));
        }
        let drawn: f64 = random.iter().map(|pair| documents(texts, pair)).sum();
        let scale = self.document_pairs(texts) / drawn;
        for pair in random.iter().filter(|pair| pair.similarity < cut) {
            self.histogram.add(pair.similarity, scale * documents(texts, pair));
        }
        let candidates = found.len() as u64;
        self.origin = Origin::Sampled { bands, cut, random: random.len() as u64, candidates, capped };
        self.near = found;
        self.near.retain(|pair| pair.similarity >= cut.max(LEAST_LEVEL));
        Ok(())
    }

    /// Pairs of documents with two texts.
    fn document_pairs(&self, texts: &Texts<'_>) -> f64 {
        let documents: u64 = self.comparable.iter().map(|&text| of(texts, text).copies).sum();
        (documents * documents.saturating_sub(1) / 2 - self.equal) as f64
    }

    /// How many pairs may be compared.
    fn affordable(&self) -> u64 {
        (MOST_STEPS as f64 / (2.0 * self.mean_features).max(1.0)) as u64
    }

    /// Drawn by hashes of running numbers, so that they are the same each time.
    fn random_pairs(&self, texts: &Texts<'_>) -> Vec<Scored> {
        let n = self.comparable.len() as u64;
        let drawn = |i: u64| {
            let [x, y] = [2 * i, 2 * i + 1].map(|i| hash_token(TokenHash::Xxh3, &i.to_le_bytes()));
            // Any two that differ: the second is one of the others.
            let (x, y) = (x % n, y % (n - 1));
            let (a, b) = (self.comparable[x as usize], self.comparable[(y + u64::from(y >= x)) as usize]);
            Scored { a, b, similarity: jaccard(texts, a, b), weight: 1.0 }
        };
        let pairs = RANDOM_PAIRS.min(self.affordable()).max(1000);
        (0..pairs).into_par_iter().map(drawn).collect()
    }

    /// The bands of the lowest threshold whose candidates can all be compared, going by the random pairs.
    fn affordable_bands(&self, rows: u32, random: &[Scored]) -> Bands {
        let n = self.comparable.len() as f64;
        let most = self.affordable().min(MOST_CANDIDATES) as f64;
        let targets = (6..20).map(|twentieths| Bands::for_target(rows, f64::from(twentieths) / 20.0, 0.95));
        let mut last = Bands { count: 1, rows };
        for bands in targets.flatten() {
            let share: f64 = random.iter().map(|pair| bands.probability(pair.similarity)).sum();
            last = bands;
            if n * (n - 1.0) / 2.0 * share / random.len() as f64 <= most {
                break;
            }
        }
        last
    }

    /// All pairs that share a band, compared; and how many buckets were too large.
    fn candidates(&self, texts: &Texts<'_>, rows: u32, bands: Bands) -> Result<(Vec<Scored>, u64), Failure> {
        let wrong = |error: sameish::Error| Failure::usage(error.to_string());
        let mut index = BandIndex::new(rows, bands).map_err(wrong)?;
        let signatures = self.comparable.iter().filter_map(|&text| {
            let signature: Option<&Signature> = of(texts, text).prepared.sketches.minhash.as_ref();
            Some((DocNumber(text), signature?))
        });
        index.insert_all(signatures).map_err(wrong)?;
        let mut pairs = Vec::new();
        let join = index.pairs(0.0, |pair| pairs.push((pair.a.0, pair.b.0)));
        // In an order of their own, so that sums do not depend on that of the index.
        pairs.par_sort_unstable();
        let score = |&(a, b): &(u32, u32)| {
            let similarity = jaccard(texts, a, b);
            // Sharing a band by accident of the hashes alone must not weigh infinitely.
            let weight = if similarity > 0.0 { bands.weight(similarity) } else { 0.0 };
            Scored { a, b, similarity, weight }
        };
        Ok((pairs.par_iter().map(score).collect(), join.capped))
    }
}

fn comparable(texts: &Texts<'_>, long_enough: impl Fn(&Text<'_>) -> bool) -> Vec<u32> {
    let all = (0..).zip(&texts.texts);
    // Texts without copies in the sample are there for labels alone.
    all.filter(|(_, text)| text.copies > 0 && long_enough(text)).map(|(at, _)| at).collect()
}

fn of<'t, 'a>(texts: &'t Texts<'a>, text: u32) -> &'t Text<'a> {
    &texts.texts[text as usize]
}

fn jaccard(texts: &Texts<'_>, a: u32, b: u32) -> f64 {
    of(texts, a).prepared.features.shingles.jaccard(&of(texts, b).prepared.features.shingles)
}

/// How many pairs of documents a pair of texts is.
fn documents(texts: &Texts<'_>, pair: &Scored) -> f64 {
    (of(texts, pair.a).copies * of(texts, pair.b).copies) as f64
}

/// Widest radius that is looked at.
pub(super) const MOST_BITS: usize = 20;

/// Distances between the fingerprints of all pairs of the sample.
pub(super) struct Distances {
    /// Pairs of documents by bits that differ, 0 to 64.
    pub(super) counts: Vec<u64>,
    /// Pairs of documents of one cluster, by bits.
    pub(super) same: Vec<u64>,
    /// Pairs of documents that both have a cluster, by bits.
    pub(super) labelled: Vec<u64>,
    pub(super) comparable: Vec<u32>,
}

impl Distances {
    pub(super) fn measure(texts: &Texts<'_>) -> Distances {
        let comparable = comparable(texts, |text| print_of(text).is_some());
        let empty = || Distances {
            counts: vec![0; 65],
            same: vec![0; 65],
            labelled: vec![0; 65],
            comparable: Vec::new(),
        };
        let row = |mut sums: Distances, i: usize| {
            let a = of(texts, comparable[i]);
            sums.add(a, a, 0, 2);
            for b in comparable[i + 1..].iter().map(|&b| of(texts, b)) {
                let prints = print_of(a).zip(print_of(b));
                sums.add(a, b, prints.map_or(64, |(a, b)| a.distance(b)), 1);
            }
            sums
        };
        let mut sums =
            (0..comparable.len()).into_par_iter().fold(empty, row).reduce(empty, Distances::joined);
        sums.comparable = comparable;
        sums
    }

    /// Counts the pairs of two texts; those within one text are met twice.
    fn add(&mut self, a: &Text<'_>, b: &Text<'_>, distance: u32, met: u64) {
        let (at, own) = (distance as usize, met - 1);
        self.counts[at] += a.copies * (b.copies - own) / met;
        if at <= MOST_BITS && !a.clusters.is_empty() && !b.clusters.is_empty() {
            self.labelled[at] += a.labelled() * (b.labelled() - own) / met;
            self.same[at] += (a.same_cluster(b) - own * a.labelled()) / met;
        }
    }

    fn joined(mut self, other: Distances) -> Distances {
        let lists = [
            (&mut self.counts, other.counts),
            (&mut self.same, other.same),
            (&mut self.labelled, other.labelled),
        ];
        for (sums, others) in lists {
            sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
        }
        self
    }

    pub(super) fn within(&self, radius: u32) -> u64 {
        self.counts.iter().take(radius as usize + 1).sum()
    }
}

/// Nothing for a text without words.
pub(super) fn print_of(text: &Text<'_>) -> Option<Fingerprint> {
    text.prepared.sketches.simhash.filter(|print| !print.is_zero())
}
