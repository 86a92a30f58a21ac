//! Histograms and previews, compared with all pairs and with the clusters of a collection.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish::{Document, Preset};
use sameish_store::{Catalog, Center, Collection, CollectionConfig, Estimate, OpenOptions, Preview};

fn open(dir: &tempfile::TempDir) -> Catalog {
    Catalog::open(dir.path(), OpenOptions::default()).unwrap()
}

fn insert(collection: &Collection, documents: impl Iterator<Item = Document>) {
    for stored in collection.insert_many(documents.collect()).unwrap() {
        stored.unwrap();
    }
}

/// Numbers without a pattern that only depend on `seed`.
fn random(mut seed: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    }
}

/// Documents of a few subjects, each with some changed words, of different lengths and with dates in no order.
fn drifting(count: u64) -> impl Iterator<Item = Document> {
    let mut random = random(3);
    (0..count).map(move |id| {
        let subject = random(count / 12);
        let mut words: Vec<String> =
            (0..60 + random(12)).map(|i| format!("word{}of{subject}", i % 59)).collect();
        for _ in 0..random(9) {
            let at = random(60) as usize;
            words[at] = format!("change{}", random(40));
        }
        let published_at = Some(format!("2024-03-{:02}", 1 + random(28)));
        Document { published_at, ..Document::new(id, words.join(" ")) }
    })
}

/// The preview of the collection's own threshold gives the clusters that the collection has.
#[test]
fn the_own_threshold_gives_the_clusters_of_the_collection() {
    let centers = [Center::First, Center::Newest, Center::Longest];
    let mut configs: Vec<CollectionConfig> = Vec::new();
    for preset in Preset::ALL {
        let config = CollectionConfig::new(preset);
        let is_chosen = CollectionConfig { center: Some(Center::Longest), ..config.clone() }.resolve_center();
        let chosen = centers.into_iter().filter(|_| is_chosen.is_ok());
        configs.extend(chosen.map(|center| CollectionConfig { center: Some(center), ..config.clone() }));
        configs.push(config);
    }
    let windowed = configs.iter().map(|config| CollectionConfig { window_days: Some(6), ..config.clone() });
    let windowed: Vec<CollectionConfig> = windowed.collect();
    configs.extend(windowed);
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    let mut found_clusters = 0;
    for (number, config) in configs.into_iter().enumerate() {
        let about = format!("{config:?}");
        let collection = catalog.create(&format!("c{number}"), config).unwrap();
        insert(&collection, drifting(150));
        catalog.settle().unwrap();
        let stats = collection.stats().unwrap();
        let threshold = collection.analyzer().judge().threshold();
        let preview = collection.preview(threshold).unwrap().unwrap();
        assert!(preview.exact && !preview.capped, "{about}");
        assert_eq!(preview.clusters.value, stats.clusters, "{about}");
        assert_eq!(preview.copies.value, stats.clustered - stats.clusters, "{about}");
        let largest = if stats.clusters > 0 { stats.largest_cluster } else { 1 };
        assert_eq!(preview.largest_cluster, Some(largest), "{about}");
        found_clusters += stats.clusters;
    }
    assert!(found_clusters > 100, "{found_clusters}");
}

fn words(subject: u64) -> String {
    (0..40).map(|i| format!("word{i}of{subject}")).collect::<Vec<_>>().join(" ")
}

fn contains(estimate: Estimate, value: u64) -> bool {
    estimate.low <= value && estimate.high.is_none_or(|high| value <= high)
}

fn preview_of(config: CollectionConfig, documents: impl Iterator<Item = Document>) -> (Preview, u64) {
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    let collection = catalog.create("a", config).unwrap();
    insert(&collection, documents);
    catalog.settle().unwrap();
    let histogram = collection.histogram().unwrap();
    let preview = collection.preview(1.0).unwrap().unwrap();
    assert_eq!(preview.exact, histogram.exact);
    (preview, histogram.bins.iter().map(|bin| bin.pairs).sum())
}

/// All pairs of equal documents are counted, however many matches one document has.
#[test]
fn pairs_of_equal_documents_are_all_counted() {
    let copies = CollectionConfig::new(Preset::Copies);
    for (equal, others) in [(300, 20), (900, 0), (1_000, 0), (1_200, 0), (1_500, 1_500)] {
        let equals = (0..equal).map(|id| Document::new(id, words(0)));
        let all = equals.chain((0..others).map(|id| Document::new(equal + id, words(1 + id))));
        let (Preview { pairs, clusters, copies, exact, capped, .. }, counted) =
            preview_of(copies.clone(), all);
        let about = format!("{equal} of {}: {pairs:?} {counted}", equal + others);
        let expected = equal * (equal - 1) / 2;
        assert!(!capped && contains(pairs, expected), "{about}");
        assert!(contains(clusters, 1), "{clusters:?}");
        assert!(contains(copies, equal - 1), "{copies:?}");
        assert!(counted.abs_diff(pairs.value) <= 1, "{about}");
        if equal + others <= 1_000 {
            assert!(exact && pairs.value == expected && counted == expected, "{about}");
        } else if others == 0 {
            assert!(pairs.high.unwrap() - pairs.low < 10, "every document has as many matches: {about}");
        }
    }
}

/// Only documents within the window match, and every document of the sample is counted with all of its matches.
#[test]
fn pairs_of_equal_documents_are_counted_within_the_window() {
    let day = |id: u64| Some(format!("2024-03-{:02}", 1 + id % 20));
    for center in [Center::First, Center::Newest] {
        let config = CollectionConfig { window_days: Some(1), ..CollectionConfig::new(Preset::Copies) };
        let config = CollectionConfig { center: Some(center), ..config };
        let all = (0..2_000).map(|id| Document { published_at: day(id), ..Document::new(id, words(0)) });
        let (Preview { pairs, capped, .. }, _) = preview_of(config, all);
        // 100 documents per day: pairs of one day, and of each day with the next one.
        let expected = 20 * 100 * 99 / 2 + 19 * 100 * 100;
        assert!(
            !capped && contains(pairs, expected) && pairs.high.unwrap() < expected + expected / 10,
            "{pairs:?}"
        );
    }
}

/// A document with more matching texts than a sample lists gives a lower bound, never a wrong number that claims to be exact.
#[test]
fn figures_of_documents_with_many_matches_are_lower_bounds() {
    let of_template = |id: u64| {
        let words: Vec<String> =
            (0..200).map(|i| if i == id % 200 { format!("other{id}") } else { format!("word{i}") }).collect();
        Document::new(id, words.join(" "))
    };
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    let collection = catalog.create("a", CollectionConfig::new(Preset::Copies)).unwrap();
    insert(&collection, (0..1_400).map(of_template));
    let Preview { pairs, copies, capped, exact, .. } =
        collection.preview(collection.analyzer().judge().threshold()).unwrap().unwrap();
    assert!(capped && !exact && collection.histogram().unwrap().capped);
    assert!(pairs.high.is_none() && contains(pairs, 1_400 * 1_399 / 2), "{pairs:?}");
    assert!(contains(copies, 1_399), "{copies:?}");
}

/// A few pairs in a large collection are rarely in the sample, so a sample without a pair does not exclude them.
#[test]
fn a_sample_without_a_pair_has_an_upper_bound() {
    let all = (0..1_600).map(|id| Document::new(id, words(id)));
    let (Preview { pairs, capped, exact, .. }, _) = preview_of(CollectionConfig::new(Preset::Copies), all);
    assert!(!exact && !capped);
    assert_eq!((pairs.value, pairs.low), (0, 0));
    assert!((1..10).contains(&pairs.high.unwrap()), "at most 3 of 400 documents have a pair: {pairs:?}");
}
