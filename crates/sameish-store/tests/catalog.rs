//! Behavior of catalogs and collections.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish::cluster::ClusterId;
use sameish::document::{Given, GivenSketches};
use sameish::matching::Relation;
use sameish::{Content, DocId, Document, Engine, MatchKind, Preset, Scratch, Status, Timestamp};
use sameish_store::{
    Catalog, Center, ClustersPage, Collection, CollectionConfig, Confirmation, DocumentRow, DocumentsPage,
    Error, Expired, Health, NewEdit, OpenOptions, Outcome, SimilarOptions, SketchRow, SqliteStore, Store,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

fn open(dir: &tempfile::TempDir) -> Catalog {
    Catalog::open(dir.path(), OpenOptions::default()).unwrap()
}

fn create(preset: Preset) -> (tempfile::TempDir, Catalog, Collection) {
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    let collection = catalog.create(preset.name(), CollectionConfig::new(preset)).unwrap();
    (dir, catalog, collection)
}

/// Returns an article of 100 words about a subject, with some words changed.
fn article(subject: u64, changed: usize) -> String {
    let word = |i: usize| {
        if i < changed { format!("changed{i}x{changed}") } else { format!("word{}of{subject}", i % 97) }
    };
    (0..100).rev().map(word).collect::<Vec<_>>().join(" ")
}

fn document(id: u64, text: String) -> Document {
    Document {
        title: Some(format!("Title {id}")),
        source: Some("example.com".into()),
        ..Document::new(id, text)
    }
}

fn ids(similar: &[sameish_store::Similar]) -> Vec<DocId> {
    similar.iter().map(|similar| similar.found.id.clone()).collect()
}

#[test]
fn finds_inserted_documents_also_after_a_restart() {
    let (dir, catalog, articles) = create(Preset::Articles);
    let first = articles.insert(document(1, article(1, 0))).unwrap();
    assert_eq!((first.outcome, first.status, first.duplicates.len()), (Outcome::Created, Status::Ok, 0));
    let second = articles.insert(document(2, article(1, 5))).unwrap();
    assert_eq!(second.duplicates[0].id, 1.into());
    assert_eq!((second.cluster, second.duplicates[0].verdict.verified), (first.cluster, true));
    articles.insert(document(3, article(9, 0))).unwrap();
    let digest = articles.digest().unwrap();
    drop(articles);
    catalog.close();

    let catalog = open(&dir);
    let articles = catalog.collection("articles").unwrap();
    assert_eq!(articles.digest().unwrap(), digest);
    let found =
        articles.similar(&1.into(), SimilarOptions { evidence: Some(5), ..Default::default() }).unwrap();
    assert_eq!(ids(&found.similar), [2.into()]);
    let similar = &found.similar[0];
    assert_eq!(similar.title.as_deref(), Some("Title 2"));
    assert!(!similar.evidence.as_ref().unwrap().evidence.passages.is_empty());
    let query = articles.query(&Document::new(0, article(9, 3)), SimilarOptions::default()).unwrap();
    assert_eq!(ids(&query.similar), [3.into()]);
    let stored = articles.get(&2.into()).unwrap().unwrap();
    assert_eq!(
        (stored.document.content, stored.cluster),
        (document(2, article(1, 5)).content, first.cluster)
    );
    assert_eq!(articles.get(&DocId::from("2")).unwrap(), None);
    articles.rebuild().unwrap();
    assert_eq!(articles.digest().unwrap(), digest);
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn insert_of_an_existing_id_is_unchanged_or_a_conflict() {
    let (_dir, _catalog, articles) = create(Preset::Articles);
    let first = articles.insert(document(1, article(1, 0))).unwrap();
    let again = articles.insert(document(1, article(1, 0))).unwrap();
    assert_eq!(
        (again.outcome, again.cluster, again.duplicates.len()),
        (Outcome::Unchanged, first.cluster, 0)
    );
    assert!(matches!(articles.insert(document(1, article(2, 0))), Err(Error::Conflict { .. })));
    assert_eq!(articles.replace(document(1, article(1, 0))).unwrap().outcome, Outcome::Unchanged);
    let replaced = articles.replace(document(1, article(2, 0))).unwrap();
    assert_eq!(replaced.outcome, Outcome::Replaced);
    assert!(replaced.cluster > first.cluster, "cluster ids are never reused");
    assert_eq!(articles.replace(document(5, article(5, 0))).unwrap().outcome, Outcome::Created);
    assert_eq!(articles.len(), 2);
    let query = articles.query(&Document::new(0, article(1, 0)), SimilarOptions::default()).unwrap();
    assert_eq!(ids(&query.similar), []);
}

#[test]
fn documents_of_a_batch_match_each_other_and_have_separate_results() {
    let (_dir, catalog, articles) = create(Preset::Articles);
    let mut batch: Vec<Document> = (0..40).map(|i| document(i, article(i % 10, i as usize / 10))).collect();
    batch.push(document(3, article(77, 0)));
    batch.push(Document::new("", article(78, 0)));
    batch.push(Document { published_at: Some("yesterday".into()), ..document(99, article(79, 0)) });
    let results = articles.insert_many(batch).unwrap();
    for (i, result) in results.iter().enumerate().take(40) {
        let inserted = result.as_ref().unwrap();
        assert_eq!(inserted.duplicates.len(), i / 10, "{i}");
        assert_eq!(inserted.cluster, results[i % 10].as_ref().unwrap().cluster);
    }
    assert!(matches!(results[40], Err(Error::Conflict { .. })));
    assert!(matches!(results[41], Err(Error::BadId { .. })));
    assert!(matches!(results[42], Err(Error::Engine(_))));
    assert_eq!(articles.len(), 40);
    let clusters = articles.clusters(ClustersPage { limit: 6, ..ClustersPage::default() }).unwrap();
    assert_eq!((clusters.clusters.len(), clusters.clusters[0].size), (6, 4));
    let rest = articles
        .clusters(ClustersPage { after: clusters.next, limit: 6, ..ClustersPage::default() })
        .unwrap();
    assert_eq!((rest.clusters.len(), rest.next), (4, None));
    let stats = articles.stats().unwrap();
    assert_eq!((stats.documents, stats.clusters, stats.clustered, stats.largest_cluster), (40, 10, 40, 4));
    assert_eq!(catalog.verify().unwrap(), []);
}

/// Returns 100 words. Texts whose starts differ by at most 30 match each other.
fn words(from: usize) -> String {
    (from..from + 100).map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn documents_of_a_chain_match_the_center_of_their_cluster() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    let overrides = "[matching]\ntemplates = \"merge\"\n".to_owned();
    let config = CollectionConfig { overrides, ..CollectionConfig::new(Preset::Articles) };
    let articles = catalog.create("cohesive", config).unwrap();
    for id in 0..60 {
        articles.insert(document(id, words(25 * id as usize))).unwrap();
    }
    let stats = articles.stats().unwrap();
    assert_eq!((stats.clusters, stats.largest_cluster, stats.chained), (30, 2, 0));
    // Checks every document against its center.
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn online_chains_are_one_cluster_and_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    let overrides = "[matching]\nlinkage = \"online\"\ntemplates = \"merge\"\n".to_owned();
    let config = CollectionConfig { overrides, ..CollectionConfig::new(Preset::Articles) };
    let articles = catalog.create("online", config).unwrap();
    for id in 0..10 {
        articles.insert(document(id, words(25 * id as usize))).unwrap();
    }
    let stats = articles.stats().unwrap();
    assert_eq!((stats.clusters, stats.largest_cluster, stats.chained), (1, 10, 8));
    let cluster = articles.get(&9.into()).unwrap().unwrap().cluster.unwrap();
    assert_eq!(articles.cluster(cluster).unwrap().unwrap().center, Some(0.into()));
    // Without document 5, the chain has two parts. The part with the oldest document keeps the cluster id.
    articles.delete(&5.into()).unwrap();
    catalog.settle().unwrap();
    let stats = articles.stats().unwrap();
    assert_eq!((stats.clusters, stats.largest_cluster, stats.chained, stats.pending_clusters), (2, 5, 5, 0));
    assert_eq!(articles.get(&4.into()).unwrap().unwrap().cluster, Some(cluster));
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn deleting_a_center_splits_its_cluster() {
    let (_dir, catalog, articles) = create(Preset::Articles);
    // 2, 3 and 4 match 1. 2 does not match 3 and 4.
    for (id, from) in [(1, 25), (2, 0), (3, 50), (4, 52)] {
        articles.insert(document(id, words(from))).unwrap();
    }
    let cluster = |id: u64| articles.get(&id.into()).unwrap().unwrap().cluster.unwrap();
    let all = cluster(1);
    assert_eq!([cluster(2), cluster(3), cluster(4)], [all; 3]);
    let detail = articles.cluster(all).unwrap().unwrap();
    assert_eq!((detail.members[0].joined.clone(), detail.members[3].joined.clone()), (None, Some(1.into())));
    assert!(articles.delete(&1.into()).unwrap());
    assert!(!articles.delete(&1.into()).unwrap());
    catalog.settle().unwrap();
    assert_eq!(cluster(2), all, "the part with the oldest document keeps the cluster id");
    assert!(cluster(3) > all && cluster(3) == cluster(4));
    let detail = articles.cluster(cluster(3)).unwrap().unwrap();
    assert_eq!((detail.size, detail.center, detail.pending), (2, Some(3.into()), false));
    assert_eq!(articles.clusters(ClustersPage::default()).unwrap().clusters.len(), 1);
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn document_that_becomes_a_center_takes_documents_from_later_centers() {
    let (_dir, catalog, articles) = create(Preset::Articles);
    // 2 joins 1. 3 is a center and takes 4. Without 1, 2 becomes a center and takes 3, and 4 becomes a center.
    for (id, from) in [(1, 0), (2, 25), (3, 50), (4, 75)] {
        articles.insert(document(id, words(from))).unwrap();
    }
    let cluster = |id: u64| articles.get(&id.into()).unwrap().unwrap().cluster.unwrap();
    assert!(cluster(1) == cluster(2) && cluster(3) == cluster(4));
    let [first, second] = [cluster(1), cluster(3)];
    articles.delete(&1.into()).unwrap();
    catalog.settle().unwrap();
    assert_eq!([cluster(2), cluster(3), cluster(4)], [first, first, second]);
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn queued_work_on_clusters_survives_a_restart() {
    let (dir, catalog, articles) = create(Preset::Articles);
    let near = |id: u64| document(id, article(1, id as usize % 9));
    articles.insert_many((0..400).map(near).collect()).unwrap();
    let cluster = articles.get(&0.into()).unwrap().unwrap().cluster.unwrap();
    articles.delete(&0.into()).unwrap();
    // The deletion and the shutdown leave little time for the work.
    drop(articles);
    catalog.close();
    let reader = Catalog::open(dir.path(), OpenOptions { read_only: true, ..Default::default() }).unwrap();
    let pending = reader.collection("articles").unwrap().cluster(cluster).unwrap().unwrap().pending;
    assert_eq!(reader.verify().unwrap(), []);
    drop(reader);
    let catalog = open(&dir);
    catalog.settle().unwrap();
    let articles = catalog.collection("articles").unwrap();
    let detail = articles.cluster(cluster).unwrap().unwrap();
    assert_eq!(
        (detail.size, detail.center, detail.pending),
        (399, Some(1.into()), false),
        "pending before: {pending}"
    );
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn center_is_part_of_the_settings_and_needs_a_linkage_that_chooses_centers() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    let with = |preset, center| CollectionConfig { center: Some(center), ..CollectionConfig::new(preset) };
    let center_of = |name: &str| catalog.collection(name).unwrap().config().unwrap().center;
    for preset in [Preset::Headlines, Preset::Web] {
        let error = catalog.create("refused", with(preset, Center::Newest)).err().unwrap();
        assert!(matches!(error, Error::CenterLinkage));
        assert!(error.to_string().contains("`cohesive`"), "{error}");
        catalog.create(preset.name(), with(preset, Center::First)).unwrap();
        assert_eq!(center_of(preset.name()), None);
    }
    catalog.create("wire", CollectionConfig::new(Preset::Wire)).unwrap();
    assert_eq!(center_of("wire"), Some(Center::Newest), "the linkage is `greedy`");
    catalog.create("wire", with(Preset::Wire, Center::Newest)).unwrap();
    let error = catalog.create("wire", with(Preset::Wire, Center::First)).err().unwrap();
    assert!(error.to_string().contains("center"), "{error}");
    catalog.create("articles", CollectionConfig::new(Preset::Articles)).unwrap();
    assert_eq!(center_of("articles"), Some(Center::First));
    catalog.create("longest", with(Preset::Articles, Center::Longest)).unwrap();
    catalog.close();
    let catalog = open(&dir);
    let config = catalog.collection("longest").unwrap().config().unwrap();
    assert_eq!(config.center, Some(Center::Longest));
}

/// A newer document takes the place of the center of its cluster, which keeps its id.
#[test]
fn newer_document_becomes_the_center_and_the_others_are_assigned_again() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    let config = CollectionConfig { center: Some(Center::Newest), ..CollectionConfig::new(Preset::Articles) };
    let articles = catalog.create("articles", config).unwrap();
    let dated = |id: u64, day: u32, changed| Document {
        published_at: Some(format!("2024-03-{day:02}")),
        ..document(id, article(1, changed))
    };
    let first = articles.insert(dated(1, 1, 0)).unwrap().cluster.unwrap();
    assert_eq!(articles.insert(dated(2, 2, 1)).unwrap().cluster, Some(first));
    let pending = articles.cluster(first).unwrap().unwrap();
    assert_eq!(pending.center, Some(2.into()));
    catalog.settle().unwrap();
    assert_eq!(articles.insert(dated(3, 1, 2)).unwrap().cluster, Some(first), "an older one joins");
    let detail = articles.cluster(first).unwrap().unwrap();
    assert_eq!((detail.size, detail.center, detail.pending), (3, Some(2.into()), false));
    articles.delete(&2.into()).unwrap();
    catalog.settle().unwrap();
    let detail = articles.cluster(first).unwrap().unwrap();
    assert_eq!(
        (detail.size, detail.center, detail.pending),
        (2, Some(1.into()), false),
        "equal dates: the first"
    );
    assert_eq!(catalog.verify().unwrap(), []);
}

/// While a document is replaced, readers always see either the old or the new one.
#[test]
fn existing_id_is_always_found_while_it_is_replaced() {
    let (_dir, _catalog, articles) = create(Preset::Articles);
    articles.insert(document(1, article(1, 0))).unwrap();
    articles.insert(document(2, article(1, 3))).unwrap();
    let is_done = AtomicBool::new(false);
    let reads: usize = std::thread::scope(|scope| {
        let read = || {
            let mut reads = 0;
            while !is_done.load(Ordering::Relaxed) {
                assert!(articles.get(&1.into()).unwrap().is_some(), "read {reads}");
                let similar = articles.similar(&2.into(), SimilarOptions::default()).unwrap();
                assert_eq!(ids(&similar.similar), [1.into()], "read {reads}");
                articles.similar(&1.into(), SimilarOptions::default()).unwrap();
                reads += 1;
            }
            reads
        };
        let readers = [scope.spawn(read), scope.spawn(read)];
        for changed in 0..400 {
            articles.replace(document(1, article(1, changed % 5))).unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().unwrap()).sum()
    });
    assert!(reads > 100, "{reads} reads");
}

#[test]
fn stores_and_matches_short_texts() {
    let (_dir, _catalog, articles) = create(Preset::Articles);
    let short = "Police close the bridge after a lorry fire near the station";
    let first = articles.insert(document(1, short.into())).unwrap();
    assert_eq!(first.status, Status::TooShort);
    let again = articles.insert(document(2, short.to_uppercase())).unwrap();
    assert_eq!(
        (again.duplicates[0].verdict.kind, again.duplicates[0].id.clone()),
        (MatchKind::Exact, 1.into())
    );
    assert!(first.cluster.is_some() && again.cluster == first.cluster);
    assert!(articles.get(&1.into()).unwrap().unwrap().simhash.is_some());
    assert_eq!(articles.stats().unwrap().too_short, 2);
    let empty = articles.insert(document(3, String::new())).unwrap();
    assert_eq!((empty.status, empty.duplicates.len()), (Status::TooShort, 0));
}

/// The texts have no ASCII word, and so no fingerprint by which they could be found. Their signatures are not stored.
#[test]
fn finds_edited_copies_of_short_texts_also_after_a_restart() {
    let sentence = |last: &str| {
        format!(
            "Во вторник утром городской совет решил закрыть старый каменный мост через реку на ремонт до {last}"
        )
    };
    let (dir, catalog, articles) = create(Preset::Articles);
    let first = articles.insert(document(1, sentence("весны"))).unwrap();
    assert_eq!(first.status, Status::TooShort);
    let second = articles.insert(document(2, sentence("лета"))).unwrap();
    assert_eq!((ids_of(&second), second.cluster), (vec![1.into()], first.cluster));
    assert!(second.duplicates[0].verdict.verified);
    let digest = articles.digest().unwrap();
    drop(articles);
    catalog.close();

    let catalog = open(&dir);
    let articles = catalog.collection("articles").unwrap();
    assert_eq!(articles.digest().unwrap(), digest);
    let third = articles.insert(document(3, sentence("осени"))).unwrap();
    assert_eq!((ids_of(&third), third.cluster), (vec![1.into(), 2.into()], first.cluster));
    articles.delete(&2.into()).unwrap();
    let similar = articles.similar(&1.into(), SimilarOptions::default()).unwrap();
    assert_eq!(ids(&similar.similar), [3.into()]);
    assert_eq!(catalog.verify().unwrap(), []);
}

fn ids_of(inserted: &sameish_store::Inserted) -> Vec<DocId> {
    inserted.duplicates.iter().map(|duplicate| duplicate.id.clone()).collect()
}

/// Returns the clusters of a collection.
fn partition(collection: &Collection, ids: std::ops::Range<u64>) -> BTreeSet<Vec<DocId>> {
    let mut clusters: BTreeMap<ClusterId, Vec<DocId>> = BTreeMap::new();
    for id in ids.map(DocId::Number) {
        if let Some(cluster) = collection.get(&id).unwrap().unwrap().cluster {
            clusters.entry(cluster).or_default().push(id);
        }
    }
    clusters.into_values().collect()
}

/// Short texts match equal ones, except in the presets `wire`, `web` and `headlines`, where they match nothing.
#[test]
fn short_texts_have_the_clusters_of_the_engine() {
    let long = article(1, 0);
    let near = article(1, 3);
    let texts = ["Fire", "fire!", "Storm", "", "Fire", "!!", &long, "storm", &near, "...", "FIRE"];
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    for preset in Preset::ALL {
        for linkage in ["cohesive", "components", "online"] {
            let name = format!("{}-{linkage}", preset.name());
            let overrides = format!("[matching]\nlinkage = \"{linkage}\"\n");
            let config = CollectionConfig { overrides, ..CollectionConfig::new(preset) };
            let mut engine = Engine::new(config.resolve().unwrap()).unwrap();
            let collection = catalog.create(&name, config).unwrap();
            for (id, text) in (0..).zip(texts) {
                engine.insert(&Document::new(id, text)).unwrap();
                collection.insert(Document::new(id, text)).unwrap();
            }
            let expected: BTreeSet<Vec<DocId>> =
                engine.groups().groups.into_iter().map(|group| group.members).collect();
            catalog.settle().unwrap();
            assert_eq!(partition(&collection, 0..texts.len() as u64), expected, "{name}");
        }
    }
    assert_eq!(catalog.verify().unwrap(), []);
}

/// Document 2 has no date, so the window is around the time of its first insertion.
#[test]
fn repeated_insertion_searches_around_the_stored_date() {
    let dir = tempfile::tempdir().unwrap();
    let config = CollectionConfig { window_days: Some(2), ..CollectionConfig::new(Preset::Articles) };
    let dated = Document { published_at: Some("2020-01-01".into()), ..Document::new(1, article(1, 0)) };
    open(&dir)
        .create("articles", config)
        .unwrap()
        .insert_many(vec![dated, document(2, article(1, 0))])
        .unwrap();
    {
        let mut store = SqliteStore::open(dir.path(), false, false).unwrap();
        let arrived_at = Timestamp::parse("2020-01-02").unwrap().as_milliseconds();
        let read = store.reader().unwrap();
        let row = DocumentRow { arrived_at, ..read.document(2).unwrap().unwrap() };
        let sketch = SketchRow { moment: arrived_at, ..read.sketch(2).unwrap().unwrap() };
        let mut change = store.begin().unwrap();
        change.update_document(&row).unwrap();
        change.put_sketch(&sketch).unwrap();
        change.commit().unwrap();
    }
    let catalog = open(&dir);
    let articles = catalog.collection("articles").unwrap();
    let again = articles.insert(document(2, article(1, 0))).unwrap();
    assert_eq!(again.outcome, Outcome::Unchanged);
    assert_eq!(again.duplicates.iter().map(|found| found.id.clone()).collect::<Vec<_>>(), [1.into()]);
}

#[test]
fn clusters_headlines_online() {
    let (_dir, _catalog, headlines) = create(Preset::Headlines);
    let insert = |id: u64, text: &str| headlines.insert(Document::new(id, text)).unwrap();
    let first = insert(1, "SpaceX acquires xAI for $2 billion");
    assert_eq!((first.status, first.duplicates.len()), (Status::Ok, 0));
    assert!(first.cluster.is_some());
    let same = insert(2, "SpaceX acquires xAI for $2 billion!");
    assert_eq!(same.cluster, first.cluster);
    let other = insert(3, "Parliament passes the long delayed water reform bill");
    assert_ne!(other.cluster, first.cluster);
    let short = insert(4, "Breaking news today");
    let equal = insert(5, "Breaking news today");
    assert_eq!(short.status, Status::TooShort);
    let clusters: BTreeSet<_> = [first, other, short, equal].map(|document| document.cluster.unwrap()).into();
    assert_eq!(clusters.len(), 4, "each short text is a cluster of its own");
}

/// Two short texts without a common word whose fingerprints differ in 5 bits, the radius of the preset.
const NEAR_FINGERPRINTS: [&str; 2] =
    ["New hospital backs joint strike east", "National river halts national water soon"];

#[test]
fn fingerprints_alone_join_no_cluster_unless_unverified_matches_are_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    for (unverified, linkage) in
        [false, true].into_iter().flat_map(|allowed| ["cohesive", "components"].map(|name| (allowed, name)))
    {
        let overrides = format!("[matching]\nlinkage = \"{linkage}\"\nunverified = {unverified}\n");
        let name = format!("{linkage}-{unverified}");
        let config = CollectionConfig { overrides, ..CollectionConfig::new(Preset::Articles) };
        let collection = catalog.create(&name, config).unwrap();
        let [a, b] =
            [0, 1].map(|at| collection.insert(Document::new(at as u64, NEAR_FINGERPRINTS[at])).unwrap());
        assert_eq!(a.cluster == b.cluster, unverified, "{name}");
        let verified: Vec<bool> = b.duplicates.iter().map(|found| found.verdict.verified).collect();
        assert_eq!(verified, if unverified { vec![false] } else { vec![] }, "{name}");
        let copy = collection.insert(Document::new(2, "NEW hospital backs joint strike: east")).unwrap();
        assert_eq!(copy.cluster, a.cluster, "{name}: a copy is verified by its shingles");
    }
    assert_eq!(catalog.verify().unwrap(), []);
}

/// Returns a document that consists of the sketches of a text.
fn sketched(collection: &Collection, id: u64, text: &str, kinds: &[&str]) -> Document {
    let analyzer = collection.analyzer();
    let sketches = analyzer.sketch(text, &mut Scratch::default());
    let given = GivenSketches {
        simhash: analyzer
            .schemes()
            .simhash
            .zip(sketches.simhash)
            .filter(|_| kinds.contains(&"simhash"))
            .map(|(scheme, sketch)| Given { scheme, sketch }),
        minhash: analyzer
            .schemes()
            .minhash
            .zip(sketches.minhash)
            .filter(|_| kinds.contains(&"minhash"))
            .map(|(scheme, sketch)| Given { scheme, sketch }),
    };
    Document { content: Content::Sketches(Box::new(given)), ..Document::new(id, "") }
}

#[test]
fn clusters_of_sketches_are_not_verified_and_not_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    for linkage in ["cohesive", "online", "components"] {
        let overrides = format!("[matching]\nlinkage = \"{linkage}\"\nunverified = true\n");
        let config = CollectionConfig { overrides, ..CollectionConfig::new(Preset::Articles) };
        let collection = catalog.create(linkage, config).unwrap();
        let both = ["simhash", "minhash"];
        let inserted = [(0, 0), (1, 0), (2, 4)].map(|(id, changed)| {
            collection.insert(sketched(&collection, id, &article(1, changed), &both)).unwrap()
        });
        let estimates: Vec<f64> =
            inserted[2].duplicates.iter().map(|found| found.verdict.similarity).collect();
        assert!(estimates.iter().all(|similarity| (0.5..1.0).contains(similarity)), "{estimates:?}");
        let cluster = collection.cluster(inserted[0].cluster.unwrap()).unwrap().unwrap();
        assert_eq!(cluster.size, 3, "{linkage}");
        for (member, similarity) in cluster.members.iter().zip([1.0, 1.0, estimates[0]]) {
            if Some(&member.id) == cluster.center.as_ref() {
                continue;
            }
            let verdict = member.verdict.unwrap();
            assert!(!verdict.verified, "{linkage}: {verdict:?}");
            assert_eq!((verdict.similarity, verdict.facts), (similarity, None), "{linkage}");
            assert_eq!(
                (verdict.kind, member.relation),
                (if similarity == 1.0 { MatchKind::Near } else { verdict.kind }, None)
            );
        }
        assert_eq!(catalog.verify().unwrap(), []);
    }
}

#[test]
fn a_lower_minimum_finds_documents_with_only_a_fingerprint() {
    let (_dir, _catalog, articles) = create(Preset::Articles);
    let base = article(1, 0);
    articles.insert(document(0, article(1, 3))).unwrap();
    articles.insert(sketched(&articles, 1, &article(1, 6), &["simhash"])).unwrap();
    articles.insert(sketched(&articles, 2, &article(1, 6), &["minhash"])).unwrap();
    articles.insert(document(3, "a text of a few words".into())).unwrap();
    let fingerprint = |text: &str| articles.analyzer().sketch(text, &mut Scratch::default()).simhash.unwrap();
    let expected = |text: &str| 1.0 - f64::from(fingerprint(&base).distance(fingerprint(text))) / 64.0;
    let near = expected(&article(1, 6));
    assert!(near < 1.0 - 5.0 / 64.0, "it is outside of the radius: {near}");
    let search = |query: Document, minimum: f64| {
        let options =
            SimilarOptions { min_similarity: Some(minimum), evidence: Some(5), ..Default::default() };
        articles.query(&query, options).unwrap().similar
    };
    // A text finds a fingerprint, and a fingerprint finds texts and fingerprints.
    let found = search(Document::new(9, base.as_str()), near);
    assert!(
        found.iter().any(|similar| similar.found.id == 1.into() && similar.found.verdict.similarity == near)
    );
    assert!(!ids(&found).contains(&3.into()), "a short text is compared on its shingles");
    let by_sketch = search(sketched(&articles, 9, &base, &["simhash"]), near);
    for (id, text) in [(0, article(1, 3)), (1, article(1, 6))] {
        let of = by_sketch.iter().find(|similar| similar.found.id == id.into());
        assert_eq!(
            of.map(|of| of.found.verdict.similarity),
            Some(expected(&text)).filter(|s| *s >= near),
            "{id}"
        );
    }
    // Evidence needs two texts.
    for similar in found.iter().chain(&by_sketch) {
        let verified = similar.found.verdict.verified;
        assert_eq!((similar.evidence.is_some(), similar.found.relation.is_some()), (verified, verified));
    }
    assert!(found.iter().any(|similar| similar.evidence.is_some()));
    assert_eq!(ids(&search(Document::new(9, base.as_str()), 1.0)), []);
}

/// Times of insertion, which the index has in place of missing dates, do not make a document an update. Without a cache, the dates
/// are read from the store.
#[test]
fn duplicates_and_events_have_the_relation_of_a_search() {
    for cache_bytes in [0, OpenOptions::default().cache_bytes] {
        let dir = tempfile::tempdir().unwrap();
        let options = OpenOptions { cache_bytes, ..OpenOptions::default() };
        let catalog = Catalog::open(dir.path(), options).unwrap();
        let news = catalog.create("news", CollectionConfig::new(Preset::Articles)).unwrap();
        let base = words(0);
        let insert = |id: u64, text: String, date: Option<&str>| {
            let dated = Document { published_at: date.map(str::to_owned), ..document(id, text) };
            let found = news.insert(dated).unwrap().duplicates;
            let found = found.into_iter().map(|found| (found.id, found.relation));
            let mut found: Vec<(DocId, Option<Relation>)> = found.collect();
            let similar = news.similar(&id.into(), SimilarOptions::default()).unwrap().similar;
            let mut similar: Vec<_> =
                similar.into_iter().map(|of| (of.found.id, of.found.relation)).collect();
            found.sort_by(|a, b| a.0.cmp(&b.0));
            similar.sort_by(|a, b| a.0.cmp(&b.0));
            assert_eq!(found, similar, "{id}");
            let event = news.events(0, 100).unwrap().events.pop().unwrap();
            (found, event.relation)
        };
        insert(0, base.clone(), Some("2024-01-02"));
        insert(1, base.clone(), None);
        let longer =
            |words: usize| format!("{base} {}", (0..words).map(|i| format!("x{i} ")).collect::<String>());
        let update = [(0.into(), Some(Relation::UpdateOf)), (1.into(), Some(Relation::Contains))];
        let (found, event) = insert(2, longer(40), Some("2024-01-03"));
        assert_eq!((found, event), (update.to_vec(), Some(Relation::UpdatedBy)));
        let (found, event) = insert(3, longer(41), None);
        let contains = [0, 1].map(|id| (id.into(), Some(Relation::Contains)));
        assert_eq!((&found[..2], event.is_some()), (&contains[..], true));
        let cluster = news.events(0, 1).unwrap().events[0].cluster.unwrap();
        let members = news.cluster(cluster).unwrap().unwrap().members;
        let member = members.iter().find(|member| member.id == 3.into()).unwrap();
        assert_eq!(member.relation, Some(Relation::ContainedIn));
    }
}

#[test]
fn expired_documents_are_removed_from_store_index_and_clusters() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    let config = CollectionConfig { retention_days: Some(30), ..CollectionConfig::new(Preset::Articles) };
    let articles = catalog.create("retained", config).unwrap();
    let dated = |id, date: &str| Document {
        published_at: Some(date.into()),
        ..document(id, article(1, id as usize))
    };
    let first = articles.insert(dated(1, "2024-01-01")).unwrap();
    articles.insert(dated(2, "2024-02-15")).unwrap();
    articles.insert(document(3, article(1, 3))).unwrap();
    let now = Timestamp::parse("2024-02-20").unwrap();
    assert_eq!(articles.expire(now, Confirmation::Required).unwrap(), Expired { removed: 1, paused: None });
    assert_eq!(articles.expire(now, Confirmation::Required).unwrap(), Expired::default());
    assert_eq!(articles.get(&1.into()).unwrap(), None);
    let found = articles.similar(&2.into(), SimilarOptions::default()).unwrap();
    assert_eq!(ids(&found.similar), [3.into()]);
    assert_eq!(articles.get(&2.into()).unwrap().unwrap().cluster, first.cluster);
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn matches_only_documents_within_the_window() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    let config = CollectionConfig { window_days: Some(3), ..CollectionConfig::new(Preset::Articles) };
    let articles = catalog.create("windowed", config).unwrap();
    let dated = |id, date: &str| Document { published_at: Some(date.into()), ..document(id, article(1, 0)) };
    let first = articles.insert(dated(1, "2024-01-01")).unwrap();
    let late = articles.insert(dated(2, "2024-01-05")).unwrap();
    assert_eq!((late.duplicates.len(), late.cluster == first.cluster), (0, false));
    let between = articles.insert(dated(3, "2024-01-04")).unwrap();
    assert_eq!(between.duplicates.len(), 2);
    assert_eq!(between.cluster, first.cluster);
    let query = articles.query(&dated(0, "2024-01-08"), SimilarOptions::default()).unwrap();
    assert_eq!(ids(&query.similar), [2.into()]);
}

#[test]
fn creates_collections_once_and_drops_them_with_their_documents() {
    let (dir, catalog, articles) = create(Preset::Articles);
    articles.insert(document(1, article(1, 0))).unwrap();
    catalog.create("articles", CollectionConfig::new(Preset::Articles)).unwrap();
    let other = catalog.create("articles", CollectionConfig::new(Preset::Copies));
    assert!(matches!(other, Err(Error::Exists { .. })));
    for name in ["", "clusters", "Upper", "a/b", &"x".repeat(65)] {
        let created = catalog.create(name, CollectionConfig::new(Preset::Copies));
        assert!(matches!(created, Err(Error::BadName { .. })), "{name}");
    }
    assert!(matches!(catalog.collection("absent"), Err(Error::NoCollection { .. })));
    assert!(catalog.drop_collection("articles").unwrap());
    assert!(!catalog.drop_collection("articles").unwrap());
    let again = catalog.create("articles", CollectionConfig::new(Preset::Articles)).unwrap();
    assert!(again.is_empty());
    catalog.close();
    assert!(open(&dir).collection("articles").unwrap().is_empty());
}

#[test]
fn rejects_a_second_writer_and_accepts_readers() {
    let (dir, catalog, articles) = create(Preset::Articles);
    articles.insert(document(1, article(1, 0))).unwrap();
    let second = Catalog::open(dir.path(), OpenOptions::default());
    let message = second.unwrap_err().to_string();
    assert!(message.contains(&format!("in use by process {}", std::process::id())), "{message}");
    let reader = Catalog::open(dir.path(), OpenOptions { read_only: true, ..Default::default() }).unwrap();
    assert_eq!(reader.health(), Health::ReadOnly);
    let read_only = reader.collection("articles").unwrap();
    assert_eq!(read_only.len(), 1);
    assert!(matches!(read_only.insert(document(2, article(2, 0))), Err(Error::ReadOnly { .. })));
    drop((reader, read_only));
    catalog.close();
    drop(articles);
    open(&dir).close();
}

/// No user can create files in `/sys`, not even the superuser.
#[cfg(target_os = "linux")]
#[test]
fn reports_a_directory_that_is_not_writable() {
    let error = Catalog::open("/sys", OpenOptions::default()).unwrap_err();
    assert!(matches!(&error, Error::ReadOnly { path } if path.as_os_str() == "/sys"), "{error}");
    assert!(error.to_string().contains("--read-only"), "{error}");
}

#[test]
fn restores_snapshots_and_rejects_damaged_ones() {
    let (dir, catalog, articles) = create(Preset::Articles);
    articles.insert_many((0..50).map(|i| document(i, article(i % 20, i as usize % 3))).collect()).unwrap();
    let digest = articles.digest().unwrap();
    let to = dir.path().join("snapshot");
    catalog.snapshot(&to).unwrap();
    articles.delete(&1.into()).unwrap();
    assert!(
        matches!(catalog.snapshot(&to), Err(Error::Snapshot { .. })),
        "a snapshot never overwrites another"
    );

    let restored = tempfile::tempdir().unwrap();
    Catalog::restore(&to, restored.path(), false).unwrap();
    {
        let catalog = open(&restored);
        assert_eq!(catalog.collection("articles").unwrap().digest().unwrap(), digest);
        assert_eq!(catalog.verify().unwrap(), []);
        assert!(matches!(Catalog::restore(&to, restored.path(), true), Err(Error::InUse { .. })));
    }
    assert!(matches!(Catalog::restore(&to, restored.path(), false), Err(Error::Snapshot { .. })));
    Catalog::restore(&to, restored.path(), true).unwrap();
    assert!(restored.path().join("sameish.db.before-restore").exists());

    let file = to.join("sameish.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let before = std::fs::read(restored.path().join("sameish.db")).unwrap();
    assert!(matches!(Catalog::restore(&to, restored.path(), true), Err(Error::Snapshot { .. })));
    assert_eq!(std::fs::read(restored.path().join("sameish.db")).unwrap(), before);
    std::fs::remove_file(to.join("snapshot.json")).unwrap();
    assert!(matches!(Catalog::restore(&to, restored.path(), true), Err(Error::Snapshot { .. })));
}

#[test]
fn rejects_a_snapshot_of_another_database() {
    let (dir, catalog, _articles) = create(Preset::Articles);
    let snapshot = dir.path().join("snapshot");
    catalog.snapshot(&snapshot).unwrap();
    let database = snapshot.join("sameish.db");
    rusqlite::Connection::open(&database).unwrap().execute_batch("CREATE TABLE other (a)").unwrap();
    // The manifest agrees with the modified file.
    let bytes = std::fs::read(&database).unwrap();
    let xxh3 = xxhash_rust::xxh3::xxh3_64(&bytes);
    let manifest = format!(r#"{{"format":1,"bytes":{},"xxh3":"{xxh3:016x}"}}"#, bytes.len());
    std::fs::write(snapshot.join("snapshot.json"), manifest).unwrap();
    let restored = tempfile::tempdir().unwrap();
    let error = Catalog::restore(&snapshot, restored.path(), false).unwrap_err();
    assert!(matches!(&error, Error::NotOurs { reason, .. } if reason.contains("table `other`")), "{error}");
    assert!(!restored.path().join("sameish.db").exists());
    assert!(!restored.path().join("sameish.db.restoring").exists());
}

#[test]
fn replacing_only_the_title_keeps_cluster_and_arrival() {
    let (_dir, catalog, articles) = create(Preset::Articles);
    for id in 0..3 {
        articles.insert(document(id, article(1, id as usize))).unwrap();
    }
    let before = articles.get(&0.into()).unwrap().unwrap();
    let mut titled = before.document.clone();
    titled.title = Some("Another title".into());
    let replaced = articles.replace(titled).unwrap();
    assert_eq!((replaced.outcome, replaced.cluster), (Outcome::Replaced, before.cluster));
    let after = articles.get(&0.into()).unwrap().unwrap();
    assert_eq!(after.document.title.as_deref(), Some("Another title"));
    assert_eq!((after.cluster, after.arrived_at), (before.cluster, before.arrived_at));
    let cluster = articles.cluster(before.cluster.unwrap()).unwrap().unwrap();
    assert_eq!(cluster.members[0].id, 0.into(), "the first document stays the center");
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn deleting_the_center_of_a_large_cluster_keeps_the_cluster() {
    let (_dir, catalog, articles) = create(Preset::Copies);
    let text = article(3, 0);
    let copies = (0..3_000).map(|id| document(id, text.clone())).collect();
    articles.insert_many(copies).unwrap();
    assert!(articles.delete(&0.into()).unwrap());
    let cluster = articles.get(&1.into()).unwrap().unwrap().cluster.unwrap();
    assert_eq!(articles.cluster(cluster).unwrap().unwrap().size, 2_999);
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn returns_only_clusters_of_its_own_collection() {
    let (_dir, catalog, articles) = create(Preset::Articles);
    let copies = catalog.create("copies", CollectionConfig::new(Preset::Copies)).unwrap();
    let cluster = articles.insert(document(1, article(1, 0))).unwrap().cluster.unwrap();
    assert!(articles.cluster(cluster).unwrap().is_some());
    assert_eq!(copies.cluster(cluster).unwrap(), None);
}

#[test]
fn stats_report_the_last_arrival_also_after_a_restart() {
    let (dir, catalog, articles) = create(Preset::Articles);
    assert_eq!(articles.stats().unwrap().last_arrival, None);
    articles.insert(document(1, article(1, 0))).unwrap();
    let arrived_at = |collection: &Collection, id: u64| {
        collection.get(&id.into()).unwrap().unwrap().arrived_at.as_milliseconds()
    };
    let last_arrival = articles.stats().unwrap().last_arrival.unwrap().as_milliseconds();
    assert_eq!(last_arrival, arrived_at(&articles, 1));
    articles.insert(document(2, article(2, 0))).unwrap();
    drop(articles);
    catalog.close();
    let articles = open(&dir).collection("articles").unwrap();
    let last_arrival = articles.stats().unwrap().last_arrival.unwrap().as_milliseconds();
    assert_eq!(last_arrival, arrived_at(&articles, 2));
}

#[test]
fn the_last_arrival_does_not_change_on_restart_if_the_newest_document_was_deleted() {
    let (dir, catalog, articles) = create(Preset::Articles);
    for id in 1..=2 {
        articles.insert(document(id, article(id, 0))).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let newest = articles.get(&2u64.into()).unwrap().unwrap().arrived_at;
    for deleted in [2u64, 1] {
        articles.delete(&deleted.into()).unwrap();
        assert_eq!(articles.stats().unwrap().last_arrival, Some(newest));
    }
    drop(articles);
    catalog.close();
    let articles = open(&dir).collection("articles").unwrap();
    assert_eq!(articles.stats().unwrap().last_arrival, Some(newest), "no document is left");
}

#[test]
fn rebuild_keeps_the_index_of_each_collection() {
    let (_dir, catalog, articles) = create(Preset::Articles);
    let others = catalog.create("others", CollectionConfig::new(Preset::Articles)).unwrap();
    for i in 0..8 {
        for (collection, first) in [(&articles, 0), (&others, 10_000)] {
            let batch = (0..16).map(|j| document(i * 16 + j, article(first + i * 16 + j, 0)));
            collection
                .insert_many(batch.collect())
                .unwrap()
                .into_iter()
                .for_each(|result| _ = result.unwrap());
        }
    }
    for collection in [&articles, &others] {
        let before = collection.digest().unwrap();
        collection.rebuild().unwrap();
        assert_eq!(collection.digest().unwrap(), before);
    }
}

#[test]
fn verify_during_writes_sees_one_consistent_state() {
    const STATES: usize = 20;
    let (dir, _catalog, headlines) = create(Preset::Headlines);
    let is_done = AtomicBool::new(false);
    let mut sizes = BTreeSet::new();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            // The upper limit ends the thread if a check fails.
            for id in (0..20_000).take_while(|_| !is_done.load(Ordering::Relaxed)) {
                let title =
                    format!("Council number {} votes on the road across old harbor {}", id % 7, id / 3);
                headlines.insert(document(id, title)).unwrap();
            }
        });
        while sizes.len() < STATES && !writer.is_finished() {
            let options = OpenOptions { read_only: true, at_one_moment: true, ..OpenOptions::default() };
            let reader = Catalog::open(dir.path(), options).unwrap();
            assert_eq!(reader.verify().unwrap(), []);
            sizes.insert(reader.collection("headlines").unwrap().len());
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert_eq!(sizes.len(), STATES);
}

#[test]
fn matches_that_were_read_to_judge_them_are_passed_on_without_reading_them_again() {
    let dir = tempfile::tempdir().unwrap();
    let options = OpenOptions { cache_bytes: 0, ..OpenOptions::default() };
    let catalog = Catalog::open(dir.path(), options).unwrap();
    let copies = catalog.create("copies", CollectionConfig::new(Preset::Copies)).unwrap();
    let text = |version: usize| format!("{} version {version}", article(1, 0).repeat(20));
    for id in 0..10 {
        let document = Document { title: Some(format!("title {id}")), ..document(id, text(id as usize)) };
        copies.insert(document).unwrap();
    }
    let max = 5 * text(0).len();
    let found = |evidence| {
        let options = SimilarOptions { limit: Some(100), evidence, ..SimilarOptions::default() };
        let mut titles = Vec::new();
        let query = document(99, text(99));
        let totals = copies.query_each(&query, options, max, &mut |similar| {
            assert_eq!(similar.evidence.is_some(), evidence.is_some());
            titles.push(similar.title.unwrap());
            std::ops::ControlFlow::Continue(())
        });
        assert!(totals.unwrap().capped > 0);
        titles
    };
    let titles = found(None);
    assert_eq!(titles.len(), 5, "{titles:?}");
    assert!(titles.iter().all(|title| title.starts_with("title ")));
    assert_eq!(found(Some(5)).len(), 1, "evidence needs the texts again");
}

#[test]
fn metadata_is_stored_replaced_and_part_of_snapshots() {
    let (dir, catalog, articles) = create(Preset::Articles);
    let with =
        |metadata: &str| Document { metadata: Some(metadata.to_owned()), ..document(1, article(1, 0)) };
    let stored = |collection: &Collection| collection.get(&1.into()).unwrap().unwrap().document.metadata;
    articles.insert(with(r#"{"topic":"bridges"}"#)).unwrap();
    let repeated = articles.insert(with("{}")).unwrap();
    assert_eq!(repeated.outcome, Outcome::Unchanged);
    assert_eq!(
        stored(&articles).as_deref(),
        Some(r#"{"topic":"bridges"}"#),
        "a repeated insert changes nothing"
    );
    let replaced = articles.replace(with(r#"{"topic":"harbors"}"#)).unwrap();
    assert_eq!(replaced.outcome, Outcome::Replaced);
    assert_eq!(articles.replace(with(r#"{"topic":"harbors"}"#)).unwrap().outcome, Outcome::Unchanged);
    let snapshot = dir.path().join("snapshot");
    catalog.snapshot(&snapshot).unwrap();
    assert_eq!(catalog.verify().unwrap(), []);
    drop((articles, catalog));
    let copy = Catalog::open(&snapshot, OpenOptions::default()).unwrap();
    assert_eq!(stored(&copy.collection("articles").unwrap()).as_deref(), Some(r#"{"topic":"harbors"}"#));
    let reopened = open(&dir);
    assert_eq!(stored(&reopened.collection("articles").unwrap()).as_deref(), Some(r#"{"topic":"harbors"}"#));
}

#[test]
fn changed_metadata_is_reported_as_damage() {
    let (dir, catalog, articles) = create(Preset::Articles);
    let metadata = Some(r#"{"topic":"bridges"}"#.to_owned());
    articles.insert(Document { metadata, ..document(1, article(1, 0)) }).unwrap();
    drop((articles, catalog));
    let database = rusqlite::Connection::open(dir.path().join("sameish.db")).unwrap();
    for damage in ["'{}'", "NULL"] {
        database.execute(&format!("UPDATE documents SET metadata = {damage}"), []).unwrap();
        let catalog = open(&dir);
        assert!(catalog.collection("articles").unwrap().get(&1.into()).is_err(), "{damage}");
        assert!(!catalog.verify().unwrap().is_empty());
    }
}

#[test]
fn pages_of_documents_list_each_document_once() {
    let (_dir, catalog, articles) = create(Preset::Articles);
    let other = catalog.create("other", CollectionConfig::new(Preset::Copies)).unwrap();
    for id in 0..25 {
        articles.insert(document(id, article(id, 0))).unwrap();
        other.insert(document(id, article(id, 0))).unwrap();
    }
    let mut page = DocumentsPage { limit: 10, ..DocumentsPage::default() };
    let mut listed = Vec::new();
    let mut pages = 0;
    loop {
        let next = articles.documents_each(&page, usize::MAX, &mut |stored| {
            assert!(stored.cluster.is_some());
            listed.push(stored.document.id);
            ControlFlow::Continue(())
        });
        pages += 1;
        page.after = next.unwrap();
        if page.after.is_none() {
            break;
        }
        // Deleting the document at the cursor does not break the list.
        articles.delete(listed.last().unwrap()).unwrap();
    }
    assert_eq!(pages, 3);
    listed.sort();
    assert_eq!(listed, (0..25u64).map(DocId::from).collect::<Vec<_>>());
}

#[test]
fn page_of_documents_ends_at_the_limit_of_text() {
    let (_dir, _catalog, articles) = create(Preset::Articles);
    for id in 0..5 {
        articles.insert(document(id, article(id, 0))).unwrap();
    }
    let mut listed = 0;
    let next = articles.documents_each(&DocumentsPage::default(), 1, &mut |_| {
        listed += 1;
        ControlFlow::Continue(())
    });
    assert_eq!((listed, next.unwrap()), (1, Some(0.into())));
}

#[test]
fn edits_name_a_bounded_number_of_existing_documents() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
    let copies = catalog.create("copies", CollectionConfig::new(Preset::Copies)).unwrap();
    let text = |story: u64| (0..40).map(|i| format!("w{i}of{story}")).collect::<Vec<_>>().join(" ");
    let insert = |ids: std::ops::Range<u64>, story: u64| {
        let documents = ids.map(|id| Document::new(id, text(story))).collect();
        copies.insert_many(documents).unwrap().into_iter().for_each(|stored| _ = stored.unwrap());
    };
    let usage = || copies.edit_usage().unwrap().documents;
    for story in 0..10 {
        let first = story * 2_000;
        insert(first..first + 1_010, story);
        let cluster = copies.get(&first.into()).unwrap().unwrap().cluster.unwrap();
        let documents = (first + 10..first + 1_001).map(DocId::from).collect();
        let edit = copies.edit(NewEdit::Split { cluster, documents });
        assert!(edit.is_ok(), "{story}: {edit:?}");
        assert!(edit.unwrap().active);
    }
    assert_eq!(usage(), 9_990, "991 documents and 8 of those that remain, ten times");
    let same = |a: u64| copies.edit(NewEdit::Same { a: a.into(), b: (a + 1).into() });
    (0..5).for_each(|i| assert!(same(2_000 * i + 1_003).is_ok(), "{i}"));
    let error = same(2_000 * 6 + 1_003).unwrap_err();
    assert!(error.to_string().contains("10000 documents"), "{error}");
    // Documents that no longer exist do not count.
    copies.delete_many((10..1_001).map(DocId::from).collect()).unwrap();
    assert_eq!(usage(), 10_000 - 991);
    assert!(same(2_000 * 6 + 1_003).is_ok());
    assert!(!copies.edits(Some(2), 1).unwrap()[0].active);
    assert_eq!(catalog.verify().unwrap(), []);
}

/// Returns 200 shared words with 9 own ones: the texts are similar, but do not match. Each fiftieth is a copy of the one before it
/// with another first word.
fn page(number: u64) -> String {
    let of = if number % 50 == 49 { number - 1 } else { number };
    let word = |at: u64| match at {
        0 if of != number => format!("copied{number}"),
        at if at % 22 == 5 => format!("own{of}at{at}"),
        at => format!("word{at}"),
    };
    (0..200).map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn results_among_many_similar_texts_are_the_same_after_a_restart() {
    let (dir, catalog, copies) = create(Preset::Copies);
    for number in 0..1_500 {
        copies.insert(document(number, page(number))).unwrap();
    }
    let search = |copies: &Collection| {
        let similar = |id: u64| copies.similar(&id.into(), SimilarOptions::default()).unwrap();
        (0..1_500).step_by(7).map(|id| ids(&similar(id).similar)).collect::<Vec<_>>()
    };
    // Whether a search reached a limit is not compared: it can depend on the key of the hashes in the index, which is random.
    let before = search(&copies);
    assert!(before.iter().any(|ids| ids.len() == 1));
    drop(copies);
    catalog.close();
    let catalog = open(&dir);
    catalog.finish_loading().unwrap();
    let copies = catalog.collection("copies").unwrap();
    assert_eq!(search(&copies), before);
}
