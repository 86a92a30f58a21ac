//! What do labels say of each threshold?
//!
//! Precision is counted over pairs that were found; recall over all pairs that belong together, whether anything would
//! find them or not. A positive pair counts as found at a threshold when its exact similarity reaches it and its
//! signatures share one of the bands that the threshold would get.

use super::LabelArgs;
use super::measure::{Distances, LEAST_LEVEL, MOST_BITS, Origin, Similarities, print_of};
use super::sample::Texts;
use crate::exit::{Exit, Failure};
use crate::output::escape::{escaped, escaped_name};
use rayon::prelude::*;
use sameish::{Bands, Config, DocId, Interval, TokenHash, hash_token};
use serde::Deserialize;
use std::path::Path;

/// Most positive pairs that are compared; of more, so many are drawn at random.
const MOST_POSITIVES: u64 = 500_000;
/// Steps of comparing sorted lists that may be spent on them.
const MOST_STEPS: f64 = 3e9;

/// A pair that somebody judged.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct JudgedPair {
    pub(super) a: DocId,
    pub(super) b: DocId,
    same: bool,
}

/// Reads a file of judged pairs.
pub(super) fn read_file(path: &Path) -> Result<Vec<JudgedPair>, Failure> {
    let name = escaped_name(path.as_os_str());
    let unreadable = |why: String| Failure::new(Exit::Unreadable, format!("{name}: {why}"));
    let text =
        std::fs::read_to_string(path).map_err(|error| unreadable(format!("{error}; check the path")))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let read = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            let why = escaped(&error.to_string());
            unreadable(format!("line {number}: {why}; a line is {{\"a\": ID, \"b\": ID, \"same\": true}}"))
        })
    };
    lines.map(read).collect()
}

/// Where labels come from.
pub(super) enum Origins {
    None,
    /// A field of the records.
    Clusters {
        field: String,
    },
    /// A file, and how many of its pairs name a document that is not there.
    Pairs {
        pairs: Vec<TextPair>,
        unknown: u64,
    },
}

/// The texts of a pair that somebody judged.
#[derive(Clone, Copy)]
pub(super) struct TextPair {
    a: u32,
    b: u32,
    same: bool,
}

pub(super) struct Labels {
    pub(super) origin: Origins,
    wanted_precision: Option<f64>,
}

/// What a threshold or a radius gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    pub(super) limit: f64,
    /// Labelled pairs that reach it.
    pub(super) pairs: u64,
    /// Nothing where no pair reaches it.
    pub(super) precision: Option<f64>,
    pub(super) precision_in: Interval,
    pub(super) recall: f64,
    pub(super) recall_in: Interval,
    pub(super) f1: f64,
}

/// Precision and recall by threshold.
pub(super) struct Quality {
    /// In ascending order: the loosest threshold first, or the strictest radius.
    pub(super) levels: Vec<Level>,
    /// Pairs that belong together.
    pub(super) positives: u64,
    /// How many of them were compared.
    pub(super) compared: u64,
    /// The level of the best F1.
    pub(super) best: usize,
    pub(super) wanted_precision: Option<f64>,
    /// The loosest level of that precision.
    pub(super) precise: Option<usize>,
}

/// A labelled pair of texts that was compared: how many pairs of documents it is.
struct Judged {
    score: f64,
    weight: f64,
    same: u64,
    all: u64,
}

/// A pair that belongs together, and by which of the levels' bands it is found.
struct Positive {
    score: f64,
    found: u128,
}

impl Labels {
    /// Takes judged pairs where there are any, else clusters.
    pub(super) fn choose(
        args: &LabelArgs,
        judged: Option<Vec<JudgedPair>>,
        texts: &Texts<'_>,
    ) -> Result<Labels, Failure> {
        let origin = match judged {
            Some(judged) => known_pairs(&judged, texts),
            None if texts.clusters > 0 => {
                Origins::Clusters { field: args.cluster_field.clone().unwrap_or_else(|| "cluster".into()) }
            }
            None => Origins::None,
        };
        match (&origin, &args.cluster_field, args.precision) {
            (Origins::None, Some(field), _) if !texts.cluster_of.is_empty() => Err(Failure::usage(format!(
                "no record has a field `{}` with text or a number; name another with `--cluster-field`",
                escaped(field)
            ))),
            (Origins::None, _, Some(_)) if !texts.cluster_of.is_empty() => Err(Failure::usage(
                "`--precision` needs labels: a field `cluster`, `--cluster-field NAME` or `--labels FILE`",
            )),
            _ => Ok(Labels { origin, wanted_precision: args.precision }),
        }
    }

    pub(super) fn by_similarity(
        &self,
        config: &Config,
        texts: &Texts<'_>,
        measured: &Similarities,
    ) -> Option<Quality> {
        let least = match measured.origin {
            Origin::All { .. } => LEAST_LEVEL,
            Origin::Sampled { cut, .. } => cut.max(LEAST_LEVEL),
        };
        let limits: Vec<f64> =
            (0..=100).map(|percent| f64::from(percent) / 100.0).filter(|limit| *limit >= least).collect();
        let bands = LevelBands::of(config, &limits);
        let compare = |a: u32, b: u32| bands.compare(texts, a, b);
        let (judged, positives, total) = match &self.origin {
            Origins::None => return None,
            Origins::Pairs { pairs, .. } => judged_pairs(pairs, |a, b| compare(a, b).score, compare),
            Origins::Clusters { .. } => {
                let most = (MOST_STEPS / (2.0 * measured.mean_features).max(1.0)) as u64;
                let (positives, total) = positives(texts, most.clamp(1000, MOST_POSITIVES), compare);
                (judged_clusters(texts, measured), positives, total)
            }
        };
        let found = |positive: &Positive, level: usize| {
            positive.score >= limits[level] && positive.found >> bands.level[level] & 1 == 1
        };
        let levels = (0..limits.len()).map(|level| {
            let reached = judged.iter().filter(|pair| pair.score >= limits[level]);
            let hits = positives.iter().filter(|positive| found(positive, level)).count();
            Level::new(limits[level], reached, hits, positives.len())
        });
        let levels = levels.collect();
        Some(Quality::new(levels, total, positives.len() as u64, self.wanted_precision, true))
    }

    pub(super) fn by_distance(&self, texts: &Texts<'_>, measured: &Distances) -> Option<Quality> {
        let distance = |a: u32, b: u32| {
            let [a, b] = [a, b].map(|text| print_of(&texts.texts[text as usize]));
            a.zip(b).map_or(65.0, |(a, b)| f64::from(a.distance(b)))
        };
        let compare = |a: u32, b: u32| Positive { score: distance(a, b), found: !0 };
        let (judged, positives, total) = match &self.origin {
            Origins::None => return None,
            Origins::Pairs { pairs, .. } => judged_pairs(pairs, distance, compare),
            Origins::Clusters { .. } => {
                let (positives, total) = positives(texts, MOST_POSITIVES, compare);
                let by_bits = (0..=MOST_BITS).map(|bits| Judged {
                    score: bits as f64,
                    weight: 1.0,
                    same: measured.same[bits],
                    all: measured.labelled[bits],
                });
                (by_bits.collect(), positives, total)
            }
        };
        let levels = (0..=MOST_BITS).map(|bits| {
            let radius = bits as f64;
            let reached = judged.iter().filter(|pair| pair.score <= radius);
            let hits = positives.iter().filter(|positive| positive.score <= radius).count();
            Level::new(radius, reached, hits, positives.len())
        });
        let levels = levels.collect();
        Some(Quality::new(levels, total, positives.len() as u64, self.wanted_precision, false))
    }
}

fn known_pairs(judged: &[JudgedPair], texts: &Texts<'_>) -> Origins {
    let text = |id: &DocId| texts.by_id.get(id).map(|&doc| texts.text_of[doc as usize]);
    let pair = |pair: &JudgedPair| Some(TextPair { a: text(&pair.a)?, b: text(&pair.b)?, same: pair.same });
    let pairs: Vec<TextPair> = judged.iter().filter_map(pair).collect();
    Origins::Pairs { unknown: (judged.len() - pairs.len()) as u64, pairs }
}

fn judged_pairs(
    pairs: &[TextPair],
    score: impl Fn(u32, u32) -> f64,
    compare: impl Fn(u32, u32) -> Positive,
) -> (Vec<Judged>, Vec<Positive>, u64) {
    let judged = pairs.iter().map(|pair| Judged {
        score: score(pair.a, pair.b),
        weight: 1.0,
        same: u64::from(pair.same),
        all: 1,
    });
    let positives: Vec<Positive> =
        pairs.iter().filter(|pair| pair.same).map(|pair| compare(pair.a, pair.b)).collect();
    let total = positives.len() as u64;
    (judged.collect(), positives, total)
}

/// The pairs that were found, with how many of their documents are in one cluster.
fn judged_clusters(texts: &Texts<'_>, measured: &Similarities) -> Vec<Judged> {
    let text = |at: u32| &texts.texts[at as usize];
    let near = measured.near.iter().map(|pair| Judged {
        score: pair.similarity,
        weight: pair.weight,
        same: text(pair.a).same_cluster(text(pair.b)),
        all: text(pair.a).labelled() * text(pair.b).labelled(),
    });
    let equal = texts.texts.iter().map(|text| {
        let labelled = text.labelled();
        let same = (text.same_cluster(text) - labelled) / 2;
        Judged { score: 1.0, weight: 1.0, same, all: labelled * labelled.saturating_sub(1) / 2 }
    });
    near.chain(equal).filter(|pair| pair.all > 0).collect()
}

/// Compares all pairs of documents of one cluster, or at most so many of them, drawn at random; and tells how many there are.
fn positives(
    texts: &Texts<'_>,
    most: u64,
    compare: impl Fn(u32, u32) -> Positive + Sync,
) -> (Vec<Positive>, u64) {
    let mut members = vec![Vec::new(); texts.clusters];
    for (cluster, text) in texts.cluster_of.iter().zip(&texts.text_of) {
        cluster.iter().for_each(|&cluster| members[cluster as usize].push(*text));
    }
    let pairs_of = |members: &Vec<u32>| members.len() as u64 * (members.len() as u64).saturating_sub(1) / 2;
    // Pairs up to the end of each cluster.
    let ends: Vec<u64> = members
        .iter()
        .scan(0, |sum, members| {
            *sum += pairs_of(members);
            Some(*sum)
        })
        .collect();
    let total = ends.last().copied().unwrap_or(0);
    let positive = |at: u64| {
        let cluster = ends.partition_point(|&end| end <= at);
        let first = if cluster == 0 { 0 } else { ends[cluster - 1] };
        let (i, j) = pair_at(at - first);
        compare(members[cluster][i], members[cluster][j])
    };
    let drawn = |i: u64| hash_token(TokenHash::Xxh3, format!("positive {i}").as_bytes()) % total;
    let found = match total <= most {
        true => (0..total).into_par_iter().map(positive).collect(),
        false => (0..most).into_par_iter().map(|i| positive(drawn(i))).collect(),
    };
    (found, total)
}

/// The pair with a number: (1, 0), (2, 0), (2, 1), (3, 0) and so on.
fn pair_at(number: u64) -> (usize, usize) {
    let mut i = ((0.5 + (0.25 + 2.0 * number as f64).sqrt()) as u64).max(1);
    // Square roots of large numbers are a little off.
    while i * (i - 1) / 2 > number {
        i -= 1;
    }
    while i * (i + 1) / 2 <= number {
        i += 1;
    }
    (i as usize, (number - i * (i - 1) / 2) as usize)
}

/// The bands that each threshold would get; several share one cut.
struct LevelBands {
    cuts: Vec<Bands>,
    level: Vec<usize>,
}

impl LevelBands {
    fn of(config: &Config, limits: &[f64]) -> LevelBands {
        let rows = config.minhash.as_ref().map_or(1, |minhash| minhash.rows);
        let (mut cuts, mut level): (Vec<Bands>, Vec<usize>) = (Vec::new(), Vec::new());
        for &limit in limits {
            // Where the recall can not be reached, the flattest bands come nearest.
            let flattest = Bands { count: rows, rows: 1 };
            let bands = Bands::for_target(rows, limit, config.matching.recall).unwrap_or(flattest);
            let known = cuts.iter().position(|known| *known == bands);
            level.push(known.unwrap_or(cuts.len()));
            if known.is_none() {
                cuts.push(bands);
            }
        }
        LevelBands { cuts, level }
    }

    /// Texts that are too short are like equal texts only, which are one.
    fn compare(&self, texts: &Texts<'_>, a: u32, b: u32) -> Positive {
        if a == b {
            return Positive { score: 1.0, found: !0 };
        }
        let [x, y] = [a, b].map(|text| texts.texts[text as usize].prepared);
        let Some((rows_x, rows_y)) = x.sketches.minhash.as_ref().zip(y.sketches.minhash.as_ref()) else {
            return Positive { score: 0.0, found: 0 };
        };
        let shared =
            |(at, bands): (usize, &Bands)| u128::from(bands.share(rows_x.rows(), rows_y.rows())) << at;
        let score = x.features.shingles.jaccard(&y.features.shingles);
        let worth = score >= LEAST_LEVEL;
        let found =
            if worth { self.cuts.iter().enumerate().map(shared).fold(0, |all, bit| all | bit) } else { 0 };
        Positive { score, found }
    }
}

impl Level {
    fn new<'a>(
        limit: f64,
        reached: impl Iterator<Item = &'a Judged>,
        hits: usize,
        positives: usize,
    ) -> Level {
        let (mut pairs, mut same, mut all) = (0, 0.0, 0.0);
        for pair in reached {
            pairs += pair.all;
            same += pair.weight * pair.same as f64;
            all += pair.weight * pair.all as f64;
        }
        let precision = (all > 0.0).then(|| same / all);
        let recall = if positives == 0 { 0.0 } else { hits as f64 / positives as f64 };
        let p = precision.unwrap_or(0.0);
        Level {
            limit,
            pairs,
            precision,
            precision_in: Interval::wilson(p, pairs as f64),
            recall,
            recall_in: Interval::wilson(recall, positives as f64),
            f1: if p + recall > 0.0 { 2.0 * p * recall / (p + recall) } else { 0.0 },
        }
    }
}

impl Quality {
    fn new(
        levels: Vec<Level>,
        positives: u64,
        compared: u64,
        wanted: Option<f64>,
        loosest_first: bool,
    ) -> Quality {
        let most = levels.iter().map(|level| level.f1).fold(0.0, f64::max);
        // Where many are equally good, the middle of them is the safest.
        let best: Vec<usize> = (0..levels.len()).filter(|&at| levels[at].f1 >= most - 1e-9).collect();
        let precise = |&at: &usize| levels[at].precision.zip(wanted).is_some_and(|(is, wanted)| is >= wanted);
        let mut order = (0..levels.len()).filter(precise);
        let precise = if loosest_first { order.next() } else { order.next_back() };
        let best = best.get(best.len() / 2).copied().unwrap_or(0);
        Quality { levels, positives, compared, best, wanted_precision: wanted, precise }
    }

    pub(super) fn best(&self) -> Level {
        self.levels[self.best]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_its_number() {
        let pairs: Vec<(usize, usize)> = (0..6).map(pair_at).collect();
        assert_eq!(pairs, [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]);
        for i in [1_000u64, 1_000_000, 3_000_000_000] {
            assert_eq!(pair_at(i * (i - 1) / 2), (i as usize, 0));
            assert_eq!(pair_at(i * (i + 1) / 2 - 1), (i as usize, i as usize - 1));
        }
    }

    #[test]
    fn precision_and_recall_are_what_they_are_by_hand() {
        let judged = [
            Judged { score: 0.9, weight: 1.0, same: 3, all: 4 },
            Judged { score: 0.5, weight: 2.0, same: 0, all: 2 },
        ];
        let level = Level::new(0.4, judged.iter(), 3, 5);
        // 3 of 4, and of 2 that stand for 4: 3 / 8. Recall 3 / 5. F1 = 2 * 0.375 * 0.6 / 0.975.
        assert_eq!((level.precision, level.recall, level.pairs), (Some(0.375), 0.6, 6));
        assert!((level.f1 - 0.461538).abs() < 1e-6);
        assert_eq!(level.precision_in, Interval::wilson(0.375, 6.0));
    }
}
