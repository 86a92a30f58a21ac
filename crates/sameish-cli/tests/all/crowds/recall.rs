//! The expected recall agrees with brute force where limits omit candidates.

use super::corpora::Random;
use super::{documents, indexed, pairs};
use sameish::config::{Linkage, Templates};
use sameish::features::FeatureSet;
use sameish::{Analyzer, Config, Document, Preset, Scratch};
use sameish_batch::{Recall, Task};

/// Number of texts whose pairs are compared by brute force, and of those that are clustered.
const PAIRED: usize = 1_000;
const CLUSTERED: usize = 5_000;

/// Texts that share 240 words, and 10 of 40 sentences: no shingle is rare, and about a fifth of the pairs match. The texts
/// differ in so many shingles that no filter excludes a pair.
fn crowd(texts: usize) -> Vec<String> {
    let words = |name: String, count: usize| (0..count).map(|i| format!("{name}x{i} ")).collect::<String>();
    let shared = words("shared".into(), 240);
    let sentences: Vec<String> = (0..40).map(|i| words(format!("sentence{i}"), 24)).collect();
    let mut random = Random::new(16);
    let text = |_| {
        let mut chosen: Vec<usize> = (0..sentences.len()).collect();
        random.shuffle(&mut chosen);
        chosen[..10].iter().fold(shared.clone(), |text, &sentence| text + &sentences[sentence])
    };
    (0..texts).map(text).collect()
}

fn config(recall: f64) -> Config {
    let mut config = Preset::Copies.config();
    config.matching.threshold = 0.5;
    config.matching.recall = recall;
    config.matching.templates = Templates::Merge;
    config
}

fn shingles(documents: &[Document]) -> Vec<FeatureSet> {
    let analyzer = Analyzer::new(config(0.99)).unwrap();
    let mut scratch = Scratch::default();
    documents.iter().map(|document| analyzer.shingles(&document.content, &mut scratch)).collect()
}

/// Checks that an estimate is a lower bound of the measured recall, and that its interval begins less than `slack` below it.
#[track_caller]
fn agrees(estimated: Recall, measured: f64, slack: f64) {
    let interval = estimated.interval.unwrap();
    assert!(estimated.is_lower_bound && interval.high == 1.0, "{estimated:?}");
    assert!((interval.low..interval.low + slack).contains(&measured), "{measured} {estimated:?}");
}

#[test]
fn of_pairs_with_either_requested_recall() {
    let documents = documents(&crowd(PAIRED));
    let shingles = shingles(&documents);
    let is_true = |a: usize, b: usize| shingles[a].jaccard(&shingles[b]) >= 0.5;
    let true_pairs: usize = (0..PAIRED).map(|b| (0..b).filter(|&a| is_true(a, b)).count()).sum();
    let [fewer, more] = [0.99, 0.999].map(|recall| {
        let config = config(recall);
        let (found, counts) = pairs(&config, &documents);
        assert!(counts.left > 10_000, "{counts:?}");
        let measured = found.len() as f64 / true_pairs as f64;
        agrees(counts.recall(&Analyzer::new(config).unwrap()).unwrap(), measured, 0.05);
        found.len()
    });
    // More bands give more candidates, of which the limit omits more.
    assert!(more as f64 > 0.95 * fewer as f64, "{fewer} {more}");
}

#[test]
fn of_clusters_and_dedup() {
    let documents = documents(&crowd(CLUSTERED));
    let shingles = shingles(&documents);
    for task in [Task::Cluster, Task::Dedup] {
        let mut config = config(0.99);
        config.matching.linkage = Linkage::Cohesive;
        let analyzer = Analyzer::new(config.clone()).unwrap();
        let (center, counts) = indexed(task, &config, &documents, |corpus, log| {
            let stars = corpus.stars(log).unwrap();
            (stars.center, stars.counts)
        });
        assert!(counts.left > 1_000, "{counts:?}");
        // A center missed the texts that matched it and were in no cluster yet.
        let is_missed = |a: usize, b: usize| {
            center[a] == a as u32
                && center[b] > a as u32
                && shingles[a].jaccard(&shingles[b]) >= config.matching.threshold
        };
        let missed: usize =
            (0..CLUSTERED).map(|b| (0..CLUSTERED).filter(|&a| a != b && is_missed(a, b)).count()).sum();
        let found = (0..CLUSTERED).filter(|&doc| center[doc] != doc as u32).count();
        // Matches become rarer from round to round, so the estimate is far below.
        let measured = found as f64 / (found + missed) as f64;
        agrees(counts.recall(&analyzer).unwrap(), measured, 0.25);
    }
}
