//! What a folder of collections promises, one by one.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish::{DocId, Document, MatchKind, Preset, Status, Timestamp};
use sameish_store::{
    Catalog, ClustersPage, Collection, CollectionConfig, Error, Health, OpenOptions, Outcome, SimilarOptions,
};

fn open(folder: &tempfile::TempDir) -> Catalog {
    Catalog::open(folder.path(), OpenOptions::default()).unwrap()
}

fn make(preset: Preset) -> (tempfile::TempDir, Catalog, Collection) {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(&folder);
    let collection = catalog.create(preset.name(), CollectionConfig::new(preset)).unwrap();
    (folder, catalog, collection)
}

/// An article of 100 words about a subject, of which some are changed.
fn article(subject: u64, changed: usize) -> String {
    let word = |i: usize| match i < changed {
        true => format!("changed{i}x{changed}"),
        false => format!("word{}of{subject}", i % 97),
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

fn ids(found: &[sameish_store::Similar]) -> Vec<DocId> {
    found.iter().map(|similar| similar.found.id.clone()).collect()
}

#[test]
fn an_inserted_document_is_found_and_survives_a_restart() {
    let (folder, catalog, articles) = make(Preset::Articles);
    let first = articles.insert(document(1, article(1, 0))).unwrap();
    assert_eq!((first.outcome, first.status, first.duplicates.len()), (Outcome::Created, Status::Ok, 0));
    let second = articles.insert(document(2, article(1, 5))).unwrap();
    assert_eq!(second.duplicates[0].id, 1.into());
    assert_eq!((second.cluster, second.duplicates[0].verdict.verified), (first.cluster, true));
    articles.insert(document(3, article(9, 0))).unwrap();
    let digest = articles.digest().unwrap();
    drop(articles);
    catalog.close();

    let catalog = open(&folder);
    let articles = catalog.collection("articles").unwrap();
    assert_eq!(articles.digest().unwrap(), digest);
    let found =
        articles.similar(&1.into(), SimilarOptions { evidence: Some(5), ..Default::default() }).unwrap();
    assert_eq!(ids(&found.similar), [2.into()]);
    let similar = &found.similar[0];
    assert_eq!(similar.title.as_deref(), Some("Title 2"));
    assert!(!similar.evidence.as_ref().unwrap().passages.is_empty());
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
fn the_same_text_is_unchanged_and_another_a_conflict() {
    let (_folder, _catalog, articles) = make(Preset::Articles);
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
    assert!(replaced.cluster > first.cluster, "names are never given again");
    assert_eq!(articles.replace(document(5, article(5, 0))).unwrap().outcome, Outcome::Created);
    assert_eq!(articles.len(), 2);
    let query = articles.query(&Document::new(0, article(1, 0)), SimilarOptions::default()).unwrap();
    assert_eq!(ids(&query.similar), []);
}

#[test]
fn copies_in_one_batch_see_each_other_and_each_has_its_own_answer() {
    let (_folder, catalog, articles) = make(Preset::Articles);
    let mut batch: Vec<Document> = (0..40).map(|i| document(i, article(i % 10, i as usize / 10))).collect();
    batch.push(document(3, article(77, 0)));
    batch.push(Document::new("", article(78, 0)));
    batch.push(Document { published_at: Some("yesterday".into()), ..document(99, article(79, 0)) });
    let answers = articles.insert_many(batch).unwrap();
    for (i, answer) in answers.iter().enumerate().take(40) {
        let answer = answer.as_ref().unwrap();
        assert_eq!(answer.duplicates.len(), i / 10, "{i}");
        assert_eq!(answer.cluster, answers[i % 10].as_ref().unwrap().cluster);
    }
    assert!(matches!(answers[40], Err(Error::Conflict { .. })));
    assert!(matches!(answers[41], Err(Error::BadId { .. })));
    assert!(matches!(answers[42], Err(Error::Engine(_))));
    assert_eq!(articles.len(), 40);
    let clusters = articles.clusters(ClustersPage { before: None, limit: 6 }).unwrap();
    assert_eq!((clusters.clusters.len(), clusters.clusters[0].size), (6, 4));
    let rest = articles.clusters(ClustersPage { before: clusters.next, limit: 6 }).unwrap();
    assert_eq!((rest.clusters.len(), rest.next), (4, None));
    let stats = articles.stats().unwrap();
    assert_eq!((stats.documents, stats.clusters, stats.clustered, stats.largest_cluster), (40, 10, 40, 4));
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn what_hung_together_only_through_a_document_is_divided() {
    let (_folder, catalog, articles) = make(Preset::Articles);
    // 2 and 3 are like 1 and not like each other; 4 is like 3.
    let words = |from: usize| (from..from + 100).map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ");
    for (id, from) in [(2, 0), (1, 25), (3, 50), (4, 52)] {
        articles.insert(document(id, words(from))).unwrap();
    }
    let cluster = |id: u64| articles.get(&id.into()).unwrap().unwrap().cluster.unwrap();
    let all = cluster(1);
    assert_eq!([cluster(2), cluster(3), cluster(4)], [all; 3]);
    assert!(articles.delete(&1.into()).unwrap());
    assert!(!articles.delete(&1.into()).unwrap());
    assert_eq!(cluster(2), all, "the part with the oldest document keeps the name");
    assert!(cluster(3) > all && cluster(3) == cluster(4));
    let detail = articles.cluster(cluster(3)).unwrap().unwrap();
    assert_eq!((detail.size, detail.members[0].id.clone()), (2, 3.into()));
    assert_eq!(detail.members[1].joined, Some(3.into()));
    assert_eq!(articles.clusters(ClustersPage::default()).unwrap().clusters.len(), 1);
    assert_eq!(catalog.verify().unwrap(), []);
    // One that others can do without divides nothing.
    let before = cluster(3);
    articles.insert(document(5, words(51))).unwrap();
    articles.delete(&3.into()).unwrap();
    assert_eq!([cluster(4), cluster(5)], [before; 2]);
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn short_texts_are_kept_and_matched_by_what_the_preset_makes() {
    let (_folder, _catalog, articles) = make(Preset::Articles);
    let short = "Police close the bridge after a lorry fire near the station";
    let first = articles.insert(document(1, short.into())).unwrap();
    assert_eq!((first.status, first.cluster), (Status::TooShort, None));
    let again = articles.insert(document(2, short.to_uppercase())).unwrap();
    assert_eq!(
        (again.duplicates[0].verdict.kind, again.duplicates[0].id.clone()),
        (MatchKind::Exact, 1.into())
    );
    assert!(articles.get(&1.into()).unwrap().unwrap().simhash.is_some());
    assert_eq!(articles.stats().unwrap().too_short, 2);
    let empty = articles.insert(document(3, String::new())).unwrap();
    assert_eq!((empty.status, empty.duplicates.len()), (Status::TooShort, 0));
}

/// Seed 003, scenario by scenario.
#[test]
fn headlines_cluster_as_they_come() {
    let (_folder, _catalog, headlines) = make(Preset::Headlines);
    let insert = |id: u64, text: &str| headlines.insert(Document::new(id, text)).unwrap();
    let first = insert(1, "SpaceX acquires xAI for $2 billion");
    assert_eq!((first.status, first.duplicates.len()), (Status::Ok, 0));
    assert!(first.cluster.is_some());
    let same = insert(2, "SpaceX acquires xAI for $2 billion!");
    assert_eq!(same.cluster, first.cluster);
    let other = insert(3, "Parliament passes the long delayed water reform bill");
    assert_ne!(other.cluster, first.cluster);
    let short = insert(4, "Breaking news today");
    assert_eq!((short.status, short.cluster), (Status::TooShort, None));
}

#[test]
fn old_documents_leave_index_clusters_and_store() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(&folder);
    let config = CollectionConfig { retention_days: Some(30), ..CollectionConfig::new(Preset::Articles) };
    let articles = catalog.create("kept", config).unwrap();
    let dated = |id, date: &str| Document {
        published_at: Some(date.into()),
        ..document(id, article(1, id as usize))
    };
    let first = articles.insert(dated(1, "2024-01-01")).unwrap();
    articles.insert(dated(2, "2024-02-15")).unwrap();
    articles.insert(document(3, article(1, 3))).unwrap();
    let now = Timestamp::parse("2024-02-20").unwrap();
    assert_eq!(articles.expire(now).unwrap(), 1);
    assert_eq!(articles.expire(now).unwrap(), 0);
    assert_eq!(articles.get(&1.into()).unwrap(), None);
    let found = articles.similar(&2.into(), SimilarOptions::default()).unwrap();
    assert_eq!(ids(&found.similar), [3.into()]);
    assert_eq!(articles.get(&2.into()).unwrap().unwrap().cluster, first.cluster);
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn only_documents_within_the_window_match() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(&folder);
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
fn collections_are_made_once_and_dropped_whole() {
    let (folder, catalog, articles) = make(Preset::Articles);
    articles.insert(document(1, article(1, 0))).unwrap();
    catalog.create("articles", CollectionConfig::new(Preset::Articles)).unwrap();
    let other = catalog.create("articles", CollectionConfig::new(Preset::Copies));
    assert!(matches!(other, Err(Error::Exists { .. })));
    for name in ["", "clusters", "Upper", "a/b", &"x".repeat(65)] {
        let made = catalog.create(name, CollectionConfig::new(Preset::Copies));
        assert!(matches!(made, Err(Error::BadName { .. })), "{name}");
    }
    assert!(matches!(catalog.collection("absent"), Err(Error::NoCollection { .. })));
    assert!(catalog.drop_collection("articles").unwrap());
    assert!(!catalog.drop_collection("articles").unwrap());
    let again = catalog.create("articles", CollectionConfig::new(Preset::Articles)).unwrap();
    assert!(again.is_empty());
    catalog.close();
    assert!(open(&folder).collection("articles").unwrap().is_empty());
}

#[test]
fn a_second_process_is_refused_and_readers_are_not() {
    let (folder, catalog, articles) = make(Preset::Articles);
    articles.insert(document(1, article(1, 0))).unwrap();
    let second = Catalog::open(folder.path(), OpenOptions::default());
    let message = second.unwrap_err().to_string();
    assert!(message.contains(&format!("in use by process {}", std::process::id())), "{message}");
    let reading =
        Catalog::open(folder.path(), OpenOptions { read_only: true, ..Default::default() }).unwrap();
    assert_eq!(reading.health(), Health::ReadOnly);
    let seen = reading.collection("articles").unwrap();
    assert_eq!(seen.len(), 1);
    assert!(matches!(seen.insert(document(2, article(2, 0))), Err(Error::ReadOnly { .. })));
    drop((reading, seen));
    catalog.close();
    drop(articles);
    open(&folder).close();
}

#[test]
fn a_snapshot_is_whole_and_a_damaged_one_is_refused() {
    let (folder, catalog, articles) = make(Preset::Articles);
    articles.insert_many((0..50).map(|i| document(i, article(i % 20, i as usize % 3))).collect()).unwrap();
    let digest = articles.digest().unwrap();
    let to = folder.path().join("snapshot");
    catalog.snapshot(&to).unwrap();
    articles.delete(&1.into()).unwrap();
    assert!(matches!(catalog.snapshot(&to), Err(Error::Snapshot { .. })), "never over another");

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
fn another_title_changes_neither_cluster_nor_arrival() {
    let (_folder, catalog, articles) = make(Preset::Articles);
    for id in 0..3 {
        articles.insert(document(id, article(1, id as usize))).unwrap();
    }
    let before = articles.get(&0.into()).unwrap().unwrap();
    let mut titled = before.document.clone();
    titled.title = Some("Another title".into());
    let answer = articles.replace(titled).unwrap();
    assert_eq!((answer.outcome, answer.cluster), (Outcome::Replaced, before.cluster));
    let after = articles.get(&0.into()).unwrap().unwrap();
    assert_eq!(after.document.title.as_deref(), Some("Another title"));
    assert_eq!((after.cluster, after.arrived_at), (before.cluster, before.arrived_at));
    let cluster = articles.cluster(before.cluster.unwrap()).unwrap().unwrap();
    assert_eq!(cluster.members[0].id, 0.into(), "the founder stays the center");
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn a_hub_with_thousands_of_copies_can_leave() {
    let (_folder, catalog, articles) = make(Preset::Copies);
    let text = article(3, 0);
    let copies = (0..3_000).map(|id| document(id, text.clone())).collect();
    articles.insert_many(copies).unwrap();
    assert!(articles.delete(&0.into()).unwrap());
    let cluster = articles.get(&1.into()).unwrap().unwrap().cluster.unwrap();
    assert_eq!(articles.cluster(cluster).unwrap().unwrap().size, 2_999);
    assert_eq!(catalog.verify().unwrap(), []);
}

/// Words are weighed once there are 128 documents, and again by a rebuild: both times from the collection's own documents and
/// from nobody else's.
#[test]
fn collections_weigh_their_own_words() {
    let (_folder, catalog, articles) = make(Preset::Articles);
    let others = catalog.create("others", CollectionConfig::new(Preset::Articles)).unwrap();
    for i in 0..8 {
        for (collection, first) in [(&articles, 0), (&others, 10_000)] {
            let batch = (0..16).map(|j| document(i * 16 + j, article(first + i * 16 + j, 0)));
            collection
                .insert_many(batch.collect())
                .unwrap()
                .into_iter()
                .for_each(|answer| _ = answer.unwrap());
        }
    }
    for collection in [&articles, &others] {
        let before = collection.digest().unwrap();
        collection.rebuild().unwrap();
        assert_eq!(collection.digest().unwrap(), before);
    }
}

#[test]
fn verify_beside_a_writer_sees_one_moment() {
    let (folder, _catalog, articles) = make(Preset::Headlines);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for id in 0..600 {
                let title =
                    format!("Council number {} votes on the road across old harbor {}", id % 7, id / 3);
                articles.insert(document(id, title)).unwrap();
            }
        });
        while !writer.is_finished() {
            let options = OpenOptions { read_only: true, at_one_moment: true, ..OpenOptions::default() };
            let beside = Catalog::open(folder.path(), options).unwrap();
            assert_eq!(beside.verify().unwrap(), []);
        }
    });
}
