//! Crowds of similar texts: the results equal those of comparing all pairs, and the number of comparisons is bounded.

mod corpora;
mod recall;

use corpora::{KINDS, Random, texts};
use sameish::cluster::{components, stars};
use sameish::config::{Linkage, Templates};
use sameish::engine::Group;
use sameish::features::Facts;
use sameish::index::DocNumber;
use sameish::matching::{Judge, Side};
use sameish::{Analyzer, Config, DocId, Document, Engine, Preset, Scratch, Status, Verdict};
use sameish_batch::{
    ClusterCounts, IndexedCorpus, OnBad, Options, Pair, PairCounts, RunLog, Source, Task, index, sign,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// A corpus and the verdicts of all its pairs.
struct Compared {
    documents: Vec<Document>,
    judge: Judge,
    /// Matching pairs, the earlier document first.
    pairs: Vec<(u32, u32, Verdict)>,
}

fn documents(texts: &[String]) -> Vec<Document> {
    (0u64..).zip(texts).map(|(number, text)| Document::new(number, text.clone())).collect()
}

fn compare_all(config: &Config, texts: &[String]) -> Compared {
    let analyzer = Analyzer::new(config.clone()).unwrap();
    let mut scratch = Scratch::default();
    let prepared: Vec<_> = texts.iter().map(|text| analyzer.prepare(&**text, &mut scratch)).collect();
    let sides: Vec<Side<'_>> = prepared
        .iter()
        .map(|prepared| Side {
            key: prepared.key,
            too_short: prepared.sketches.status == Status::TooShort,
            features: Some(&prepared.features.shingles),
            facts: Some(&prepared.features.facts),
            ..Side::default()
        })
        .collect();
    // Candidates share a band; nothing else may be missing.
    let bands = config.bands().unwrap().unwrap();
    let rows = |at: u32| prepared[at as usize].sketches.minhash.as_ref().map(|signature| signature.rows());
    let shares_band = |a: u32, b: u32| rows(a).zip(rows(b)).is_some_and(|(a, b)| bands.share(a, b));
    let print = |at: u32| prepared[at as usize].sketches.simhash;
    let is_near = |a: u32, b: u32| {
        print(a).zip(print(b)).is_some_and(|(a, b)| a.distance(b) <= sameish::index::SIGNED_RADIUS)
    };
    let judge = analyzer.judge();
    let mut pairs = Vec::new();
    for (b, y) in (0u32..).zip(&sides) {
        for (a, x) in (0..b).zip(&sides) {
            let is_candidate = || shares_band(a, b) || is_near(a, b) || x.key == y.key;
            let verdict = judge.judge_facts(x, y).filter(|_| is_candidate());
            pairs.extend(verdict.map(|verdict| (a, b, verdict)));
        }
    }
    Compared { documents: documents(texts), judge, pairs }
}

impl Compared {
    fn joined(&self) -> impl Iterator<Item = &(u32, u32, Verdict)> {
        self.pairs.iter().filter(|(_, _, verdict)| self.judge.joins(verdict))
    }

    fn order(&self) -> Vec<DocNumber> {
        (0..self.documents.len() as u32).map(DocNumber).collect()
    }

    /// Returns the documents of each cluster by a linkage.
    fn clusters(&self, linkage: Linkage) -> BTreeSet<Vec<u32>> {
        let mut matches: Vec<Vec<DocNumber>> = vec![Vec::new(); self.documents.len()];
        for &(a, b, _) in self.joined() {
            matches[a as usize].push(DocNumber(b));
            matches[b as usize].push(DocNumber(a));
        }
        let clusters = match linkage {
            Linkage::Components => {
                components(&self.order(), self.joined().map(|&(a, b, _)| (DocNumber(a), DocNumber(b))))
            }
            Linkage::Online => return self.online(),
            _ => stars(&self.order(), |doc| matches[doc.0 as usize].clone()).clusters,
        };
        let members = |cluster: &sameish::cluster::Cluster| cluster.members.iter().map(|doc| doc.0).collect();
        clusters.iter().map(members).collect()
    }

    fn online(&self) -> BTreeSet<Vec<u32>> {
        let mut best: Vec<Option<(u32, Verdict)>> = vec![None; self.documents.len()];
        for &(a, b, verdict) in self.joined() {
            let best = &mut best[b as usize];
            if best.is_none_or(|(_, known)| verdict.cmp_rank(&known).is_lt()) {
                *best = Some((a, verdict));
            }
        }
        let mut first = Vec::new();
        for (doc, best) in (0u32..).zip(best) {
            first.push(best.map_or(doc, |(other, _)| first[other as usize]));
        }
        let members =
            |root: u32| (0u32..).zip(&first).filter(|(_, of)| **of == root).map(|(doc, _)| doc).collect();
        first.iter().copied().collect::<BTreeSet<u32>>().into_iter().map(members).collect()
    }
}

/// Indexes documents in memory and passes the corpus to `work`.
fn indexed<T>(
    task: Task,
    config: &Config,
    documents: &[Document],
    work: impl FnOnce(&IndexedCorpus<'_>, &mut RunLog<()>) -> T,
) -> T {
    let mut options = Options::new(Analyzer::new(config.clone()).unwrap());
    options.threads = 1;
    let mut log = RunLog::new((), OnBad::Reject, None);
    let source = Source::Documents(&documents);
    let signed = sign(task, &source, &options, None, &mut log).unwrap();
    let corpus = index(signed, &source, &options).unwrap();
    work(&corpus, &mut log)
}

/// Returns the documents of each cluster of `dedup`, and the counts.
fn dedup(config: &Config, documents: &[Document]) -> (BTreeSet<Vec<u32>>, ClusterCounts) {
    let (center, counts) = indexed(Task::Dedup, config, documents, |corpus, log| {
        let stars = corpus.stars(log).unwrap();
        (stars.center, stars.counts)
    });
    assert_eq!((counts.caps_hit, counts.left), (0, 0));
    let members =
        |root: u32| (0u32..).zip(&center).filter(|(_, of)| **of == root).map(|(doc, _)| doc).collect();
    let centers: BTreeSet<u32> = center.iter().copied().collect();
    (centers.into_iter().map(members).collect(), counts)
}

/// Returns the documents of each cluster of `cluster`, and the counts.
fn cluster(config: &Config, linkage: Linkage, documents: &[Document]) -> (BTreeSet<Vec<u32>>, ClusterCounts) {
    let mut config = config.clone();
    config.matching.linkage = linkage;
    indexed(Task::Cluster, &config, documents, |corpus, log| {
        let clusters = corpus.clusters(log).unwrap();
        assert_eq!(clusters.counts.left, 0, "{linkage:?}");
        let members = |at| {
            let mut members = clusters.members(at).to_vec();
            members.sort_unstable();
            members
        };
        ((0..clusters.len()).map(members).collect(), clusters.counts)
    })
}

fn pairs(config: &Config, documents: &[Document]) -> (Vec<Pair>, PairCounts) {
    indexed(Task::Pairs, config, documents, |corpus, log| {
        let mut pairs = Vec::new();
        let sink = |pair: Pair| {
            pairs.push(pair);
            Ok(ControlFlow::Continue(()))
        };
        let counts = corpus.pairs(sink, log).unwrap();
        (pairs, counts)
    })
}

/// Returns the documents of each cluster of `cluster`, and the number of comparisons.
fn batch_clusters(config: &Config, linkage: Linkage, documents: &[Document]) -> (BTreeSet<Vec<u32>>, u64) {
    let (clusters, counts) = cluster(config, linkage, documents);
    (clusters, counts.candidates)
}

type FindClusters = fn(&Config, Linkage, &[Document]) -> (BTreeSet<Vec<u32>>, u64);

/// Inserts documents into an engine.
fn engine(config: &Config, linkage: Linkage, documents: &[Document]) -> Engine {
    let mut config = config.clone();
    config.matching.linkage = linkage;
    let mut engine = Engine::new(config).unwrap();
    documents.iter().for_each(|document| _ = engine.insert(document).unwrap());
    engine
}

fn number_of(id: &DocId) -> u32 {
    match id {
        DocId::Number(number) => *number as u32,
        other => unreachable!("{other}"),
    }
}

/// Returns the pairs of an engine in order of the later document, and the number of comparisons.
fn engine_pairs(config: &Config, documents: &[Document]) -> (Vec<(u32, u32, Verdict)>, u64) {
    let mut pairs = Vec::new();
    let effort = engine(config, Linkage::Cohesive, documents).pairs(|pair| {
        let verdict = Verdict { distance: None, ..pair.verdict };
        pairs.push((number_of(pair.a), number_of(pair.b), verdict));
        ControlFlow::Continue(())
    });
    assert_eq!(effort.capped, 0);
    pairs.sort_by_key(|&(a, b, _)| (b, a));
    (pairs, effort.candidates)
}

/// Returns the documents of each cluster of an engine, and the number of comparisons.
fn engine_clusters(config: &Config, linkage: Linkage, documents: &[Document]) -> (BTreeSet<Vec<u32>>, u64) {
    let groups = engine(config, linkage, documents).groups();
    assert_eq!(groups.effort.capped, 0, "{linkage:?}");
    let members = |group: &Group| {
        let mut members: Vec<u32> = group.members.iter().map(number_of).collect();
        members.sort_unstable();
        members
    };
    (groups.groups.iter().map(members).collect(), groups.effort.candidates)
}

/// Configurations of a corpus: templates apart and merged.
fn configs(preset: Preset) -> [Config; 2] {
    let mut merged = preset.config();
    merged.matching.templates = Templates::Merge;
    [preset.config(), merged]
}

#[test]
fn clusters_and_pairs_equal_those_of_comparing_all_texts() {
    for (kind, preset) in KINDS {
        let texts = texts(kind, 500);
        for config in configs(preset) {
            let templates = config.matching.templates;
            let expected = compare_all(&config, &texts);
            let (found, counts) = pairs(&config, &expected.documents);
            let mut listed: Vec<(u32, u32, Verdict)> = found
                .iter()
                .map(|pair| (pair.a, pair.b, Verdict { distance: None, ..pair.verdict }))
                .collect();
            // Copies of a text follow their first one.
            listed.sort_by_key(|&(a, b, _)| (b, a));
            assert!(listed == expected.pairs, "{kind}: {} of {}", listed.len(), expected.pairs.len());
            let (found, _) = engine_pairs(&config, &expected.documents);
            assert!(found == expected.pairs, "{kind}, engine: {} of {}", found.len(), expected.pairs.len());
            assert_eq!((counts.caps_hit, counts.left), (0, 0), "{kind}");
            assert!(dedup(&config, &expected.documents).0 == expected.clusters(Linkage::Cohesive), "{kind}");
            for linkage in [Linkage::Cohesive, Linkage::Components, Linkage::Online, Linkage::Greedy] {
                let wanted = expected.clusters(linkage);
                for (name, clusters) in
                    [("batch", batch_clusters as FindClusters), ("engine", engine_clusters)]
                {
                    let (found, _) = clusters(&config, linkage, &expected.documents);
                    assert!(
                        found == wanted,
                        "{kind}, {name}, {linkage:?}, {templates:?}: {} clusters, {} expected",
                        found.len(),
                        wanted.len()
                    );
                }
            }
        }
    }
}

#[test]
fn comparisons_per_text_are_few() {
    for (kind, preset) in KINDS {
        let documents = documents(&texts(kind, 2_000));
        for config in configs(preset) {
            let templates = config.matching.templates;
            let counts = [
                ("dedup", dedup(&config, &documents).1),
                ("components", cluster(&config, Linkage::Components, &documents).1),
                ("online", cluster(&config, Linkage::Online, &documents).1),
            ];
            for (name, ClusterCounts { candidates, screened, .. }) in counts {
                assert!(candidates <= 16 * 2_000, "{kind}, {name}, {templates:?}: {candidates}");
                // At worst, each text is screened against all others: online clusters, in which it is sought twice, against some twice.
                assert!(screened <= 2_000 * 3_000, "{kind}, {name}, {templates:?}: {screened}");
                let is_divided = templates == Templates::Keep && DIVIDED.contains(&kind);
                assert!(!is_divided || screened <= 96 * 2_000, "{kind}, {name}: {screened}");
            }
            let compared = engine_clusters(&config, Linkage::Online, &documents).1;
            // Most texts of these corpora are equally similar to each other, and all of them match.
            let is_flood = ONE_SIMILARITY.contains(&kind) && templates == Templates::Merge;
            assert!(
                compared <= 32 * 2_000 || is_flood,
                "{kind}, online of an engine, {templates:?}: {compared}"
            );
        }
    }
}

/// A text with a thousand matches gets all of them, whatever the others cost.
#[test]
fn all_pairs_of_a_family_of_a_thousand_texts_are_found() {
    let config = Preset::Copies.config();
    let family = texts("one-word", 1_000).into_iter().map(|text| text.split_at(text.len() / 3).0.to_owned());
    let mut all: Vec<String> = family.chain(texts("scattered", 200)).collect();
    Random::new(5).shuffle(&mut all);
    let expected = compare_all(&config, &all);
    assert!(expected.pairs.len() > 300_000, "{}", expected.pairs.len());
    let (found, candidates) = engine_pairs(&config, &expected.documents);
    assert!(found == expected.pairs, "{} of {}", found.len(), expected.pairs.len());
    assert!(candidates <= expected.pairs.len() as u64 * 11 / 10 + 64 * 1_200, "{candidates}");
    let (found, counts) = pairs(&config, &expected.documents);
    assert_eq!((found.len(), counts.left), (expected.pairs.len(), 0));
}

/// Corpora in which most texts are equally similar to each other.
const ONE_SIMILARITY: [&str; 2] = ["boilerplate", "signs"];

/// Corpora that rare shingles, words and numbers divide into small parts.
const DIVIDED: [&str; 3] = ["boilerplate", "scattered", "equal-prints"];

#[test]
fn fingerprint_floods_have_the_clusters_of_all_pairs() {
    let corpora = [(Preset::Wire, "one-word"), (Preset::Wire, "prints"), (Preset::Web, "one-word")];
    for (preset, kind) in corpora {
        let documents = documents(&texts(kind, 600));
        let config = preset.config();
        let analyzer = Analyzer::new(config.clone()).unwrap();
        let mut scratch = Scratch::default();
        let print = |document: &Document| analyzer.sketch(&document.content, &mut scratch).simhash.unwrap();
        let prints: Vec<_> = documents.iter().map(print).collect();
        let radius = config.simhash.as_ref().unwrap().radius;
        let mut pairs = Vec::new();
        let mut nearest: Vec<Option<usize>> = Vec::new();
        for b in 0..prints.len() {
            let distance = |a: &usize| prints[*a].distance(prints[b]);
            let near: Vec<usize> = (0..b).filter(|a| distance(a) <= radius).collect();
            nearest.push(near.iter().copied().min_by_key(|a| (distance(a), *a)));
            pairs.extend(near.iter().map(|&a| (DocNumber(a as u32), DocNumber(b as u32))));
        }
        assert!(pairs.len() > 300, "{preset:?}, {kind}: {}", pairs.len());
        let order: Vec<DocNumber> = (0..prints.len() as u32).map(DocNumber).collect();
        let members = |cluster: &sameish::cluster::Cluster| cluster.members.iter().map(|doc| doc.0).collect();
        let expected: BTreeSet<Vec<u32>> = components(&order, pairs).iter().map(members).collect();
        let (found, counts) = cluster(&config, Linkage::Components, &documents);
        assert!(found == expected, "{preset:?}, {kind}: {} of {}", found.len(), expected.len());
        assert!(counts.candidates < 600, "each document is found once: {}", counts.candidates);
        let mut first: Vec<usize> = Vec::new();
        for (doc, nearest) in nearest.into_iter().enumerate() {
            first.push(nearest.map_or(doc, |other| first[other]));
        }
        let members = |root: &usize| {
            let of_root = first.iter().enumerate().filter(|(_, of)| *of == root);
            of_root.map(|(doc, _)| doc as u32).collect()
        };
        let expected: BTreeSet<Vec<u32>> = first.iter().map(members).collect();
        let (found, counts) = cluster(&config, Linkage::Online, &documents);
        assert!(found == expected, "{preset:?}, {kind}: {} of {}", found.len(), expected.len());
        assert!(counts.candidates < 600);
    }
}

#[test]
fn pairs_do_not_depend_on_the_order_of_the_input() {
    for (kind, preset) in KINDS {
        let texts = texts(kind, 400);
        let config = preset.config();
        let mut order: Vec<usize> = (0..texts.len()).collect();
        Random::new(3).shuffle(&mut order);
        let listed = |order: &[usize]| -> BTreeSet<(usize, usize, u64)> {
            let texts: Vec<String> = order.iter().map(|&at| texts[at].clone()).collect();
            let (found, counts) = pairs(&config, &documents(&texts));
            assert_eq!(counts.left, 0, "{kind}");
            let key = |pair: &Pair| {
                let [a, b] = [pair.a, pair.b].map(|doc| order[doc as usize]);
                (a.min(b), a.max(b), pair.verdict.similarity.to_bits())
            };
            found.iter().map(key).collect()
        };
        let ordered: Vec<usize> = (0..texts.len()).collect();
        assert!(listed(&ordered) == listed(&order), "{kind}");
    }
}

#[test]
fn pairs_that_a_limit_omits_do_not_depend_on_the_order_of_the_input() {
    let texts = texts("hub-long", 500);
    let mut order: Vec<usize> = (0..texts.len()).collect();
    let mut listed = Vec::new();
    for seed in [0, 1] {
        if seed > 0 {
            Random::new(seed).shuffle(&mut order);
        }
        let ordered: Vec<String> = order.iter().map(|&at| texts[at].clone()).collect();
        let (found, counts) = pairs(&Preset::Copies.config(), &documents(&ordered));
        let key = |pair: &Pair| {
            let [a, b] = [pair.a, pair.b].map(|doc| order[doc as usize]);
            (a.min(b), a.max(b), pair.verdict.similarity.to_bits())
        };
        assert!(counts.left > 20_000 && counts.candidates < 500 * 130, "{counts:?}");
        // Copies are among the best candidates of each other.
        assert!(found.len() >= 100, "{}", found.len());
        listed.push((found.iter().map(key).collect::<BTreeSet<_>>(), counts.left, counts.candidates));
    }
    assert!(listed[0] == listed[1], "{:?} {:?}", &listed[0].1, &listed[1].1);
}

#[test]
fn recall_on_boilerplate_is_the_requested_one() {
    for threshold in [0.3, 0.5, 0.8] {
        let mut config = Preset::Copies.config();
        config.matching.threshold = threshold;
        let (mut expected, mut found) = (0, 0);
        for seed in 0..20 {
            let texts = corpora::pages(&mut Random::new(seed), 100, threshold);
            let analyzer = Analyzer::new(config.clone()).unwrap();
            let mut scratch = Scratch::default();
            let shingles: Vec<_> =
                texts.iter().map(|text| analyzer.shingles(&**text, &mut scratch)).collect();
            for (b, y) in shingles.iter().enumerate() {
                expected += shingles[..b].iter().filter(|x| x.jaccard(y) >= threshold).count();
            }
            let (listed, counts) = pairs(&config, &documents(&texts));
            assert_eq!(counts.left, 0);
            found += listed.len();
        }
        let recall = found as f64 / expected as f64;
        println!("threshold {threshold}: {found} of {expected} pairs, recall {recall:.4}");
        assert!(expected > 20_000 && recall >= config.matching.recall, "{threshold}: {recall}");
    }
}

#[test]
fn forged_sketches_match_nothing_and_copies_among_them_are_found() {
    let texts = texts("forged", 1_000);
    let config = Preset::Copies.config();
    let (found, counts) = pairs(&config, &documents(&texts));
    let analyzer = Analyzer::new(config).unwrap();
    let mut scratch = Scratch::default();
    let shingles: Vec<_> = texts.iter().map(|text| analyzer.shingles(&**text, &mut scratch)).collect();
    assert!(found.iter().all(|pair| pair.verdict.verified));
    assert!(found.iter().all(|pair| shingles[pair.a as usize].jaccard(&shingles[pair.b as usize]) >= 0.8));
    let copies = texts.iter().filter(|text| text.split(' ').take(5).any(|word| word == "copied")).count();
    let with_earlier: BTreeSet<u32> = found.iter().map(|pair| pair.b).collect();
    assert!(copies >= 40 && with_earlier.len() >= copies, "{} of {copies}", with_earlier.len());
    // The signatures agree: without the rarest shingles, all pairs would be compared.
    assert!(counts.candidates <= 2 * found.len() as u64 + 1_000, "{counts:?}");
}

#[test]
fn facts_of_crowds_are_the_facts_of_their_texts() {
    // A crowd of templates of which some are capitalized or lack names: no pair that joins is left out.
    let texts: Vec<String> = texts("mixed", 400)
        .into_iter()
        .enumerate()
        .map(|(i, text)| if i % 7 == 0 { text.to_uppercase() } else { text })
        .collect();
    let config = Preset::Copies.config();
    let expected = compare_all(&config, &texts);
    assert!(dedup(&config, &expected.documents).0 == expected.clusters(Linkage::Cohesive));
    assert!(texts.iter().any(|text| !Facts::of(&**text).is_empty()));
}
