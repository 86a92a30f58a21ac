//! Precision and recall by threshold, computed from labels.
//!
//! Precision is over the pairs that were found, recall over all positive pairs. A positive pair is found at a threshold if
//! its exact similarity reaches the threshold, its signatures share one of the bands for that threshold, and it is not a
//! template that is kept apart: the rule of `dedup`.

use super::LabelArgs;
use super::measure::{Distances, MAX_BITS, MIN_LEVEL, Origin, Similarities, fingerprint};
use super::sample::Texts;
use crate::exit::{Exit, Failure};
use crate::output::escape::escaped;
use crate::output::messages::{counted, grouped, say};
use rayon::prelude::*;
use sameish::config::{Bands, TokenHash};
use sameish::features::hash_token;
use sameish::matching::Interval;
use sameish::{Analyzer, Config, DocId};
use sameish_batch::input::judgments::{DocumentNumbers, read_judgments};
use sameish_batch::input::{Input, ReadOptions};
use std::path::Path;

/// Maximum number of positive pairs that are compared. If there are more, a random sample is compared.
const MAX_POSITIVES: u64 = 500_000;
/// Maximum cost of comparing positive pairs, in features.
const MAX_FEATURES: f64 = 3e9;

/// A pair of documents that is judged to be the same or different.
#[derive(Clone, Debug)]
pub(super) struct LabeledPair {
    pub(super) a: DocId,
    pub(super) b: DocId,
    same: bool,
}

/// Reads a label file: a file of pairs, as `eval` reads it.
pub(super) fn read_file(path: &Path, reading: &ReadOptions) -> Result<Vec<LabeledPair>, Failure> {
    let input = Input::file(path.to_owned());
    let mut ids = DocumentNumbers::default();
    let judgments = read_judgments(&input, "id", "cluster", reading, |id| ids.number(id))
        .map_err(sameish_batch::Error::from)?;
    let Some(same) = judgments.pairs() else {
        if judgments.documents() == 0 {
            return Ok(Vec::new());
        }
        let reason = format!(
            "{}: contains {}; expected lines `{{\"a\": ID, \"b\": ID, \"same\": true}}`",
            input.name,
            judgments.kind().name()
        );
        return Err(Failure::new(Exit::Unreadable, reason));
    };
    let judged = same.iter().map(|&pair| (pair, true));
    let mut judged: Vec<_> = judged.chain(judgments.negatives().iter().map(|&pair| (pair, false))).collect();
    // Sets have no order, and the result must not depend on it.
    judged.sort_unstable();
    let ids = ids.into_ids();
    let id = |number: u32| ids[number as usize].clone();
    Ok(judged.into_iter().map(|((a, b), same)| LabeledPair { a: id(a), b: id(b), same }).collect())
}

pub(super) enum LabelSource {
    None,
    /// A field of the records.
    Clusters {
        field: String,
    },
    /// A label file. `unknown` is the number of pairs with an id that is not in the input.
    Pairs {
        pairs: Vec<TextPair>,
        unknown: u64,
    },
}

/// The texts of a labeled pair.
#[derive(Clone, Copy)]
pub(super) struct TextPair {
    a: u32,
    b: u32,
    same: bool,
}

pub(super) struct Labels {
    pub(super) source: LabelSource,
    target_precision: Option<f64>,
}

/// Precision and recall at one threshold or radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    pub(super) limit: f64,
    /// Labeled pairs that reach the limit.
    pub(super) pairs: u64,
    /// Absent if no pair reaches the limit.
    pub(super) precision: Option<f64>,
    pub(super) precision_interval: Interval,
    pub(super) recall: f64,
    pub(super) recall_interval: Interval,
    pub(super) f1: f64,
}

/// Precision and recall by threshold or radius.
pub(super) struct Quality {
    /// Sorted by the limit, ascending.
    pub(super) levels: Vec<Level>,
    /// Number of positive pairs.
    pub(super) positives: u64,
    /// Number of positive pairs that were compared.
    pub(super) compared: u64,
    /// The level with the best F1.
    pub(super) best: usize,
    pub(super) target_precision: Option<f64>,
    /// The loosest level that reaches the target precision.
    pub(super) precise: Option<usize>,
}

/// A compared pair of labeled texts.
struct Compared {
    score: f64,
    weight: f64,
    /// Positive pairs of documents with these texts.
    same: u64,
    /// Labeled pairs of documents with these texts.
    all: u64,
}

/// A positive pair.
struct Positive {
    score: f64,
    /// Bit `i` is set if the pair shares a band of `LevelBands::bands[i]`.
    found: u128,
    /// Whether the pair is a template that is kept apart, so that no threshold finds it.
    is_separate: bool,
}

/// The pairs from which precision and recall are computed.
struct LabelPairs {
    compared: Vec<Compared>,
    positives: Vec<Positive>,
    /// Number of positive pairs, including those that were not compared.
    total: u64,
}

impl Labels {
    /// Uses the labeled pairs if there are any, and the clusters otherwise.
    pub(super) fn choose(
        args: &LabelArgs,
        labeled: Option<&[LabeledPair]>,
        texts: &Texts<'_>,
    ) -> Result<Labels, Failure> {
        let source = match labeled {
            Some(labeled) => known_pairs(labeled, texts),
            None if texts.clusters > 0 => LabelSource::Clusters {
                field: args.cluster_field.clone().unwrap_or_else(|| "cluster".into()),
            },
            None => LabelSource::None,
        };
        if matches!(source, LabelSource::None) && !texts.cluster_of.is_empty() {
            if let Some(field) = &args.cluster_field {
                let field = escaped(field);
                let reason =
                    format!("no record has a string or number in field `{field}`; check `--cluster-field`");
                return Err(Failure::usage(reason));
            }
            if args.precision.is_some() {
                return Err(Failure::usage(
                    "`--precision` requires labels: a field `cluster`, `--cluster-field NAME` or `--labels FILE`",
                ));
            }
        }
        Ok(Labels { source, target_precision: args.precision })
    }

    /// Warns about labels whose ids are not in the input.
    pub(super) fn warn_of_unknown_ids(&self) {
        let LabelSource::Pairs { pairs, unknown: unknown @ 1.. } = &self.source else { return };
        let labels = counted(pairs.len() as u64 + unknown, "labeled pair");
        let hint = "check `--id-field` and the type of the ids (7 and \"7\" are different)";
        match pairs.len() {
            0 => say(format_args!(
                "warning: no document has the ids of {labels}, so the labels are ignored; {hint}"
            )),
            _ => say(format_args!(
                "warning: ignored {} of {labels}, because no document has one of their ids; {hint}",
                grouped(*unknown)
            )),
        }
    }

    pub(super) fn by_similarity(
        &self,
        analyzer: &Analyzer,
        texts: &Texts<'_>,
        measured: &Similarities,
    ) -> Option<Quality> {
        let lowest = match measured.origin {
            Origin::All { .. } => MIN_LEVEL,
            Origin::Sampled { cut, .. } => cut.max(MIN_LEVEL),
        };
        let limits: Vec<f64> =
            (0..=100).map(|percent| f64::from(percent) / 100.0).filter(|limit| *limit >= lowest).collect();
        let bands = LevelBands::of(analyzer.config(), &limits);
        let compare = |a: u32, b: u32| bands.compare(analyzer, texts, a, b);
        let pairs = match &self.source {
            LabelSource::None => return None,
            LabelSource::Pairs { pairs, .. } if pairs.is_empty() => return None,
            LabelSource::Pairs { pairs, .. } => LabelPairs::from_pairs(pairs, compare),
            LabelSource::Clusters { .. } => {
                let most = (MAX_FEATURES / (2.0 * measured.mean_features).max(1.0)) as u64;
                let compared = compared_clusters(texts, measured);
                LabelPairs::from_clusters(compared, texts, most.clamp(1000, MAX_POSITIVES), compare)
            }
        };
        Some(Quality::new(&pairs, &limits, Limit::AtLeast, &bands.of_level, self.target_precision))
    }

    pub(super) fn by_distance(&self, texts: &Texts<'_>, measured: &Distances) -> Option<Quality> {
        let compare = |a: u32, b: u32| {
            let [a, b] = [a, b].map(|text| fingerprint(&texts.texts[text as usize]));
            let score = a.zip(b).map_or(65.0, |(a, b)| f64::from(a.distance(b)));
            Positive { score, found: !0, is_separate: false }
        };
        let pairs = match &self.source {
            LabelSource::None => return None,
            LabelSource::Pairs { pairs, .. } if pairs.is_empty() => return None,
            LabelSource::Pairs { pairs, .. } => LabelPairs::from_pairs(pairs, compare),
            LabelSource::Clusters { .. } => {
                let counts = measured.same.iter().zip(&measured.labeled).take(MAX_BITS + 1).enumerate();
                let compared = counts
                    .map(|(bits, (&same, &all))| Compared { score: bits as f64, weight: 1.0, same, all })
                    .collect();
                LabelPairs::from_clusters(compared, texts, MAX_POSITIVES, compare)
            }
        };
        let radii: Vec<f64> = (0..=MAX_BITS).map(|bits| bits as f64).collect();
        Some(Quality::new(&pairs, &radii, Limit::AtMost, &[0; MAX_BITS + 1], self.target_precision))
    }
}

fn known_pairs(labeled: &[LabeledPair], texts: &Texts<'_>) -> LabelSource {
    let text = |id: &DocId| texts.by_id.get(id).map(|&doc| texts.text_of[doc as usize]);
    let pair = |pair: &LabeledPair| Some(TextPair { a: text(&pair.a)?, b: text(&pair.b)?, same: pair.same });
    let pairs: Vec<TextPair> = labeled.iter().filter_map(pair).collect();
    LabelSource::Pairs { unknown: (labeled.len() - pairs.len()) as u64, pairs }
}

impl LabelPairs {
    fn from_pairs(pairs: &[TextPair], compare: impl Fn(u32, u32) -> Positive) -> LabelPairs {
        let mut compared = Vec::new();
        let mut positives = Vec::new();
        for pair in pairs {
            let comparison = compare(pair.a, pair.b);
            let scored =
                Compared { score: comparison.score, weight: 1.0, same: u64::from(pair.same), all: 1 };
            compared.extend(Some(scored).filter(|_| !comparison.is_separate));
            positives.extend(Some(comparison).filter(|_| pair.same));
        }
        LabelPairs { compared, total: positives.len() as u64, positives }
    }

    /// Compares the pairs of documents of the same cluster, or a random sample of `most` such pairs.
    fn from_clusters(
        compared: Vec<Compared>,
        texts: &Texts<'_>,
        most: u64,
        compare: impl Fn(u32, u32) -> Positive + Sync,
    ) -> LabelPairs {
        let mut members = vec![Vec::new(); texts.clusters];
        for (cluster, text) in texts.cluster_of.iter().zip(&texts.text_of) {
            cluster.iter().for_each(|&cluster| members[cluster as usize].push(*text));
        }
        let pairs_of =
            |members: &Vec<u32>| members.len() as u64 * (members.len() as u64).saturating_sub(1) / 2;
        // Cumulative number of pairs.
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
        let positives = if total <= most {
            (0..total).into_par_iter().map(positive).collect()
        } else {
            (0..most).into_par_iter().map(|i| positive(drawn(i))).collect()
        };
        LabelPairs { compared, positives, total }
    }
}

/// Returns the compared pairs of texts, with the number of their documents in the same cluster.
fn compared_clusters(texts: &Texts<'_>, measured: &Similarities) -> Vec<Compared> {
    let text = |at: u32| &texts.texts[at as usize];
    let near = measured.near.iter().map(|pair| Compared {
        score: pair.similarity,
        weight: pair.weight,
        same: text(pair.a).same_cluster(text(pair.b)),
        all: text(pair.a).labeled() * text(pair.b).labeled(),
    });
    let equal = texts.texts.iter().map(|text| {
        let labeled = text.labeled();
        let same = (text.same_cluster(text) - labeled) / 2;
        Compared { score: 1.0, weight: 1.0, same, all: labeled * labeled.saturating_sub(1) / 2 }
    });
    near.chain(equal).filter(|pair| pair.all > 0).collect()
}

/// Returns the pair with this number in the sequence (1, 0), (2, 0), (2, 1), (3, 0), ...
fn pair_at(number: u64) -> (usize, usize) {
    let mut i = ((0.5 + (0.25 + 2.0 * number as f64).sqrt()) as u64).max(1);
    // The square root of a large number is not exact.
    while i * (i - 1) / 2 > number {
        i -= 1;
    }
    while i * (i + 1) / 2 <= number {
        i += 1;
    }
    (i as usize, (number - i * (i - 1) / 2) as usize)
}

/// The bands for each threshold. Several thresholds share the same bands.
struct LevelBands {
    bands: Vec<Bands>,
    /// Index into `bands` for each threshold.
    of_level: Vec<usize>,
}

impl LevelBands {
    fn of(config: &Config, limits: &[f64]) -> LevelBands {
        let rows = config.minhash.as_ref().map_or(1, |minhash| minhash.rows);
        let mut levels = LevelBands { bands: Vec::new(), of_level: Vec::new() };
        for &limit in limits {
            // If no bands reach the recall, bands of one row come closest.
            let fallback = Bands { count: rows, rows: 1 };
            let bands = Bands::for_target(rows, limit, config.matching.recall).unwrap_or(fallback);
            let known = levels.bands.iter().position(|known| *known == bands);
            levels.of_level.push(known.unwrap_or(levels.bands.len()));
            if known.is_none() {
                levels.bands.push(bands);
            }
        }
        levels
    }

    /// Compares two texts. A text without a signature, because it is too short, matches only an equal text.
    fn compare(&self, analyzer: &Analyzer, texts: &Texts<'_>, a: u32, b: u32) -> Positive {
        if a == b {
            return Positive { score: 1.0, found: !0, is_separate: false };
        }
        let [x, y] = [a, b].map(|text| texts.texts[text as usize].prepared);
        let rows = x.sketches.indexed_signature().zip(y.sketches.indexed_signature());
        let Some((rows_x, rows_y)) = rows else {
            return Positive { score: 0.0, found: 0, is_separate: false };
        };
        let shared =
            |(at, bands): (usize, &Bands)| u128::from(bands.share(rows_x.rows(), rows_y.rows())) << at;
        let score = x.features.shingles.jaccard(&y.features.shingles);
        if score < MIN_LEVEL {
            return Positive { score, found: 0, is_separate: false };
        }
        let is_separate = analyzer.keeps_apart(x, y, score);
        let found = self.bands.iter().enumerate().map(shared).fold(0, |all, bit| all | bit);
        Positive { score, found: if is_separate { 0 } else { found }, is_separate }
    }
}

/// Whether a limit is a minimum, as a threshold is, or a maximum, as a radius is.
#[derive(Clone, Copy, PartialEq)]
enum Limit {
    AtLeast,
    AtMost,
}

impl Limit {
    fn admits(self, score: f64, limit: f64) -> bool {
        match self {
            Limit::AtLeast => score >= limit,
            Limit::AtMost => score <= limit,
        }
    }
}

impl Level {
    fn new<'a>(
        limit: f64,
        reached: impl Iterator<Item = &'a Compared>,
        hits: usize,
        positives: usize,
    ) -> Level {
        let mut pairs = 0;
        let mut same = 0.0;
        let mut all = 0.0;
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
            precision_interval: Interval::wilson(p, pairs as f64),
            recall,
            recall_interval: Interval::wilson(recall, positives as f64),
            f1: if p + recall > 0.0 { 2.0 * p * recall / (p + recall) } else { 0.0 },
        }
    }
}

impl Quality {
    /// Evaluates the limits, given in ascending order with the bands that find the positive pairs.
    fn new(pairs: &LabelPairs, limits: &[f64], kind: Limit, bands: &[usize], target: Option<f64>) -> Quality {
        let level = |(&limit, &bands): (&f64, &usize)| {
            let found = |pair: &&Positive| kind.admits(pair.score, limit) && pair.found >> bands & 1 == 1;
            let reached = pairs.compared.iter().filter(|pair| kind.admits(pair.score, limit));
            Level::new(limit, reached, pairs.positives.iter().filter(found).count(), pairs.positives.len())
        };
        let levels: Vec<Level> = limits.iter().zip(bands).map(level).collect();
        let best_f1 = levels.iter().map(|level| level.f1).fold(0.0, f64::max);
        // The middle of equally good levels is the most robust.
        let best: Vec<usize> = (0..levels.len()).filter(|&at| levels[at].f1 >= best_f1 - 1e-9).collect();
        let best = best.get(best.len() / 2).copied().unwrap_or(0);
        let reaches = |&at: &usize| levels[at].precision.zip(target).is_some_and(|(is, target)| is >= target);
        let mut precise = (0..levels.len()).filter(reaches);
        let precise = if kind == Limit::AtLeast { precise.next() } else { precise.next_back() };
        let compared = pairs.positives.len() as u64;
        Quality { levels, positives: pairs.total, compared, best, target_precision: target, precise }
    }

    pub(super) fn best(&self) -> Level {
        self.levels[self.best]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_pairs_consecutively() {
        let pairs: Vec<(usize, usize)> = (0..6).map(pair_at).collect();
        assert_eq!(pairs, [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]);
        for i in [1_000u64, 1_000_000, 3_000_000_000] {
            assert_eq!(pair_at(i * (i - 1) / 2), (i as usize, 0));
            assert_eq!(pair_at(i * (i + 1) / 2 - 1), (i as usize, i as usize - 1));
        }
    }

    #[test]
    fn computes_precision_and_recall() {
        let compared = [
            Compared { score: 0.9, weight: 1.0, same: 3, all: 4 },
            Compared { score: 0.5, weight: 2.0, same: 0, all: 2 },
        ];
        let level = Level::new(0.4, compared.iter(), 3, 5);
        // Precision: 3 of 4 plus 0 of 2 with weight 2, so 3 / 8. Recall 3 / 5. F1 = 2 * 0.375 * 0.6 / 0.975.
        assert_eq!((level.precision, level.recall, level.pairs), (Some(0.375), 0.6, 6));
        assert!((level.f1 - 0.461538).abs() < 1e-6);
        assert_eq!(level.precision_interval, Interval::wilson(0.375, 6.0));
    }
}
