//! Tests that do the work on clusters one task at a time, and tests that bound its cost. Costs are counted in rows that are
//! read or written.

#![allow(clippy::unwrap_used)]

use super::super::clusters::{LATER_PER_STEP, LINKS_PER_UNIT};
use super::super::live::RepairDelay;
use super::super::neighbors::MAX_CANDIDATES;
use super::super::texts::{UNIT_BYTES, UNIT_COMPARISONS};
use crate::catalog::profiles::LEAVES_UNREAD;
use crate::sqlite::{RowCounter, SqliteStore};
use crate::{Catalog, Center, Collection, CollectionConfig, Health, OpenOptions};
use sameish::cluster::ClusterId;
use sameish::random::SplitMix64;
use sameish::{DocId, Document, Preset};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Bands of one row find every pair above the threshold.
const OVERRIDES: &str = "[minhash]\nrows = 128\nbands = { count = 128, rows = 1 }\n[text]\nmin_words = 10\n\
    [matching]\nlimit = 1000\ntemplates = \"merge\"\n";

/// Upper bound for the rows of one task: a step may end after any of them. It is three rows per document that a new center is
/// compared with, and some for clusters and tasks.
const ROWS_PER_TASK: u64 = 4 * LATER_PER_STEP as u64;

struct Fixture {
    _dir: tempfile::TempDir,
    catalog: Catalog,
    collection: Collection,
    rows: RowCounter,
}

impl Fixture {
    fn new(config: CollectionConfig) -> Fixture {
        Fixture::with_cache(config, OpenOptions::default().cache_bytes)
    }

    fn with_cache(config: CollectionConfig, cache_bytes: usize) -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        Fixture::open(dir, cache_bytes, |catalog| catalog.create("test", config).unwrap())
    }

    fn open(
        dir: tempfile::TempDir,
        cache_bytes: usize,
        collection: impl FnOnce(&Catalog) -> Collection,
    ) -> Fixture {
        let store = SqliteStore::open(dir.path(), true, false).unwrap();
        let rows = store.row_counter();
        let options = OpenOptions { cache_bytes, ..OpenOptions::default() };
        let catalog = Catalog::over(Box::new(store), dir.path(), options).unwrap();
        let collection = collection(&catalog);
        Fixture { _dir: dir, catalog, collection, rows }
    }

    /// Opens the directory again, so that nothing about the texts is in memory, and nothing is read in the background.
    fn reopened_uncached(self) -> Fixture {
        let Fixture { _dir: dir, catalog, collection, .. } = self;
        drop(collection);
        catalog.close();
        LEAVES_UNREAD.set(true);
        let fixture = Fixture::open(dir, 0, |catalog| catalog.collection("test").unwrap()).paused();
        LEAVES_UNREAD.set(false);
        fixture
    }

    fn with_linkage(linkage: &str, window_days: Option<u32>) -> Fixture {
        Fixture::new(config(linkage, window_days)).paused()
    }

    /// Returns a collection with a cohesive linkage, in which every comparison reads a row.
    fn uncached() -> Fixture {
        Fixture::with_cache(config("cohesive", None), 0).paused()
    }

    /// Stops the work on clusters, except for the steps of the test.
    fn paused(self) -> Fixture {
        let pause = |writer: &mut super::Writer| {
            writer.is_paused = true;
            Ok(())
        };
        self.catalog.shared.run_on_writer(pause).unwrap();
        self
    }

    fn insert(&self, id: u64, text: String) {
        self.collection.insert(Document::new(id, text)).unwrap();
    }

    fn delete(&self, id: u64) {
        assert!(self.collection.delete(&id.into()).unwrap());
    }

    /// Processes one task of one collection. Returns `false` if there is none.
    fn step(&self) -> bool {
        let step = |writer: &mut super::Writer| {
            let with_tasks = writer.collections_with_tasks();
            let has_tasks = !with_tasks.is_empty();
            writer.step_until(Instant::now(), with_tasks).map(|()| has_tasks)
        };
        self.catalog.shared.run_on_writer(step).unwrap()
    }

    fn rows_of<T>(&self, work: impl FnOnce() -> T) -> (u64, T) {
        let before = self.rows.get();
        let result = work();
        (self.rows.get() - before, result)
    }

    /// Processes all tasks. Returns the rows of the most expensive one.
    fn settle(&self) -> u64 {
        let mut most = 0;
        loop {
            let (rows, has_tasks) = self.rows_of(|| self.step());
            if !has_tasks {
                return most;
            }
            most = most.max(rows);
        }
    }

    fn cluster(&self, id: u64) -> Option<ClusterId> {
        self.collection.get(&id.into()).unwrap().unwrap().cluster
    }

    /// Returns the documents of each cluster.
    fn partition(&self, ids: &BTreeSet<u64>) -> BTreeSet<Vec<u64>> {
        let mut clusters: BTreeMap<ClusterId, Vec<u64>> = BTreeMap::new();
        for &id in ids {
            clusters.entry(self.cluster(id).unwrap()).or_default().push(id);
        }
        clusters.into_values().collect()
    }

    fn assert_is_clustered_as_from_scratch(&self, ids: &BTreeSet<u64>, context: &str) {
        let found = self.partition(ids);
        assert_eq!(self.catalog.verify().unwrap(), [], "{context}");
        self.collection.rebuild().unwrap();
        assert_eq!(found, self.partition(ids), "{context}");
    }
}

/// Returns settings with a linkage. `newest` and `longest` are the linkage `cohesive` with these centers.
fn config(linkage: &str, window_days: Option<u32>) -> CollectionConfig {
    let center = Center::from_name(linkage);
    let linkage = if center.is_some() { "cohesive" } else { linkage };
    let overrides = format!("{OVERRIDES}linkage = \"{linkage}\"\n");
    CollectionConfig { overrides, window_days, center, ..CollectionConfig::new(Preset::Articles) }
}

/// Returns 20 words from a position on. Texts match if their positions differ by at most 5: they share at least 13 of 23
/// shingles of three words.
fn text_at(position: u64) -> String {
    (position..position + 20).map(|at| format!("word{at}")).collect::<Vec<_>>().join(" ")
}

/// Returns a text at a position that differs from others there in its last word.
fn variant_at(position: u64, variant: u64) -> String {
    format!("{} variant{variant}", text_at(position))
}

/// Changes documents at random, and processes a few tasks between the changes.
fn run_history(seed: u64, linkage: &str, window_days: Option<u32>) {
    let fixture = Fixture::with_linkage(linkage, window_days);
    let mut random = SplitMix64(seed);
    let mut ids: BTreeSet<u64> = BTreeSet::new();
    for round in 0..6 {
        for _ in 0..40 {
            let id = random.next() % 40;
            let day = 1 + random.next() % 7;
            let text = if random.next().is_multiple_of(8) {
                "too short".to_owned()
            } else {
                text_at(random.next() % 60)
            };
            let document =
                Document { published_at: Some(format!("2024-01-{day:02}")), ..Document::new(id, text) };
            match random.next() % 8 {
                0..3 => {
                    fixture.collection.replace(document).unwrap();
                    ids.insert(id);
                }
                3..5 => assert_eq!(fixture.collection.delete(&id.into()).unwrap(), ids.remove(&id)),
                _ => (0..random.next() % 6).for_each(|_| _ = fixture.step()),
            }
        }
        fixture.settle();
        let is_clustered = |id: &u64| linkage != "online" || fixture.cluster(*id).is_some();
        let clustered: BTreeSet<u64> = ids.iter().copied().filter(is_clustered).collect();
        let context = format!("{linkage}, window {window_days:?}, seed {seed}, round {round}");
        let found = fixture.partition(&clustered);
        assert_eq!(fixture.catalog.verify().unwrap(), [], "{context}");
        // Continues with the clusters of the steps, not with those of a rebuild.
        let copy = Fixture::with_linkage(linkage, window_days);
        let documents = fixture.documents();
        copy.collection.insert_many(documents).unwrap();
        copy.settle();
        assert_eq!(found, copy.partition(&clustered), "{context}");
    }
}

impl Fixture {
    /// Returns the documents in order of insertion.
    fn documents(&self) -> Vec<Document> {
        let read = self.catalog.shared.readers.get().unwrap();
        let rows = read.documents(self.collection.live.row.number, 0, 1_000).unwrap();
        rows.into_iter().map(|(_, row)| row.unwrap().document).collect()
    }
}

#[test]
fn changes_between_steps_give_the_components_of_the_remaining_documents() {
    for seed in 1..8 {
        run_history(seed, "components", None);
        run_history(seed, "components", Some(2));
    }
}

#[test]
fn changes_between_steps_give_the_cohesive_clusters_of_the_remaining_documents() {
    for seed in 1..4 {
        run_history(seed, "cohesive", None);
        run_history(seed, "cohesive", Some(2));
    }
}

#[test]
fn changes_between_steps_give_the_clusters_around_the_newest_and_the_longest() {
    for seed in 1..4 {
        for center in ["newest", "longest"] {
            run_history(seed, center, None);
            run_history(seed, center, Some(2));
        }
    }
}

/// A document that comes before the center of its cluster costs at most as much as the deletion of the center.
#[test]
fn new_center_of_a_cluster_costs_at_most_as_much_as_deleting_the_old_one() {
    let dated = |id: u64, day: u32| Document {
        published_at: Some(format!("2024-01-{day:02}")),
        ..Document::new(id, variant_at(0, id))
    };
    let cluster_of = |count: u64| {
        let fixture = Fixture::with_linkage("newest", None);
        (0..count).for_each(|id| _ = fixture.collection.insert(dated(id, 10)).unwrap());
        fixture.settle();
        fixture
    };
    let deleting = cluster_of(300);
    let (rows, ()) = deleting.rows_of(|| deleting.delete(0));
    let (deletion, _) = deleting.rows_of(|| deleting.settle());
    let fixture = cluster_of(300);
    let before = fixture.cluster(0);
    let (inserted, _) = fixture.rows_of(|| fixture.collection.insert(dated(300, 11)).unwrap());
    assert!(inserted < rows + 60, "{inserted} rows for the insertion");
    let detail = fixture.collection.cluster(before.unwrap()).unwrap().unwrap();
    assert_eq!((detail.center, detail.pending), (Some(300.into()), true));
    let (insertion, most) = fixture.rows_of(|| fixture.settle());
    assert!(most < ROWS_PER_TASK, "{most} rows for a task");
    assert!(insertion <= deletion * 11 / 10, "{insertion} rows, {deletion} for the deletion");
    assert_eq!(fixture.cluster(0), before, "the cluster keeps its id");
    fixture.assert_is_clustered_as_from_scratch(&(0..301).collect(), "one center");
    let (inserted, _) = fixture.rows_of(|| fixture.collection.insert(dated(301, 9)).unwrap());
    assert!(inserted < 60 && !has_tasks(&fixture.collection), "an older document joins the center");
}

#[test]
fn changes_between_steps_give_the_online_clusters_of_the_remaining_documents() {
    for seed in 1..4 {
        run_history(seed, "online", None);
        run_history(seed, "online", Some(2));
    }
}

/// The document in the middle connects two components. It is deleted while their documents are being merged.
#[test]
fn deletion_during_a_merge_divides_the_components_again() {
    let fixture = Fixture::with_linkage("components", None);
    for id in 0..4 {
        fixture.insert(id, variant_at(0, id));
        fixture.insert(10 + id, variant_at(8, id));
    }
    fixture.insert(20, text_at(4));
    assert_eq!(fixture.collection.stats().unwrap().pending_clusters, 2, "both clusters change");
    let first = fixture.collection.cluster(fixture.cluster(0).unwrap()).unwrap().unwrap();
    assert!(first.pending, "the cluster that receives the documents");
    assert!(fixture.step());
    fixture.delete(20);
    fixture.settle();
    assert_ne!(fixture.cluster(0), fixture.cluster(10));
    let ids = (0..4).chain(10..14).collect();
    fixture.assert_is_clustered_as_from_scratch(&ids, "two components");
}

/// Documents 10, 11 and 12 are a chain. The one in the middle is deleted while all of them are to be merged into the cluster of
/// document 0.
#[test]
fn deletion_in_a_cluster_that_is_being_merged_divides_it() {
    let fixture = Fixture::with_linkage("components", None);
    for (id, position) in [(0, 0), (10, 8), (11, 12), (12, 16)] {
        fixture.insert(id, text_at(position));
    }
    fixture.insert(20, text_at(4));
    fixture.delete(11);
    fixture.settle();
    let expected = BTreeSet::from([vec![0, 10, 20], vec![12]]);
    assert_eq!(fixture.partition(&BTreeSet::from([0, 10, 12, 20])), expected);
    assert_eq!(fixture.catalog.verify().unwrap(), []);
}

/// The first document is the center of the merged cluster, while it is still in the cluster that is merged.
#[test]
fn deletion_of_the_center_during_a_merge_gives_the_cluster_another_center() {
    let fixture = Fixture::with_linkage("components", None);
    (0..3).for_each(|id| fixture.insert(id, variant_at(0, id)));
    (10..13).for_each(|id| fixture.insert(id, variant_at(8, id)));
    fixture.insert(20, text_at(4));
    for id in [0, 10] {
        fixture.delete(id);
    }
    fixture.settle();
    let ids = BTreeSet::from([1, 2, 11, 12, 20]);
    assert_eq!(fixture.partition(&ids).len(), 1);
    let cluster = fixture.collection.cluster(fixture.cluster(1).unwrap()).unwrap().unwrap();
    assert_eq!(cluster.center, Some(1.into()));
    fixture.assert_is_clustered_as_from_scratch(&ids, "one component");
}

/// After the deletion of document 0, document 1 is a center and takes all others from center 2.
#[test]
fn new_center_takes_any_number_of_documents_in_bounded_steps() {
    let later = 5 * LATER_PER_STEP as u64;
    let fixture = Fixture::with_linkage("cohesive", None);
    for (id, position) in [(0, 0), (1, 4), (2, 12)] {
        fixture.insert(id, text_at(position));
    }
    (3..3 + later).for_each(|id| fixture.insert(id, variant_at(8, id)));
    assert_eq!(fixture.cluster(3), fixture.cluster(2));
    fixture.delete(0);
    let most = fixture.settle();
    assert!(most < ROWS_PER_TASK, "{most} rows for a task");
    for id in 3..3 + later {
        assert_eq!(fixture.cluster(id), fixture.cluster(1), "document {id}");
    }
    fixture.assert_is_clustered_as_from_scratch(&(1..3 + later).collect(), "two centers");
}

/// All documents match the deleted center and each other. Copies of one text count as one text.
#[test]
fn deleting_the_center_of_near_copies_takes_bounded_steps() {
    for window_days in [None, Some(2)] {
        let fixture = Fixture::with_linkage("cohesive", window_days);
        (0..300).for_each(|id| fixture.insert(id, variant_at(0, id / 3)));
        let (rows, ()) = fixture.rows_of(|| fixture.delete(0));
        assert!(rows < 60, "{rows} rows for the deletion");
        let most = fixture.settle();
        assert!(most < ROWS_PER_TASK, "{most} rows for a task");
        fixture.assert_is_clustered_as_from_scratch(&(1..300).collect(), "one center");
    }
}

/// In a window, copies are linked to the first one. Its deletion queues all of them.
#[test]
fn deleting_the_first_of_many_copies_in_a_window_takes_bounded_steps() {
    for linkage in ["cohesive", "online", "components"] {
        let fixture = Fixture::with_linkage(linkage, Some(2));
        (0..300).for_each(|id| fixture.insert(id, text_at(0)));
        let (rows, ()) = fixture.rows_of(|| fixture.delete(0));
        assert!(rows < 60, "{linkage}: {rows} rows for the deletion");
        let most = fixture.settle();
        assert!(most < ROWS_PER_TASK, "{linkage}: {most} rows for a task");
        fixture.assert_is_clustered_as_from_scratch(&(1..300).collect(), linkage);
    }
}

/// Returns a collection with copies of one text among other documents.
fn hub(config: CollectionConfig, copies: u64) -> Fixture {
    let fixture = Fixture::new(config);
    let documents = (0..copies)
        .flat_map(|id| [Document::new(id, hub_text(0)), Document::new(copies + id, hub_text(copies + id))]);
    fixture.collection.insert_many(documents.collect()).unwrap();
    fixture
}

/// Returns a text that shares neither words nor many characters with the text of another subject.
fn hub_text(subject: u64) -> String {
    let hash = |at: u64| {
        let mixed = (subject * 12 + at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ mixed >> 29
    };
    let word =
        |at: u64| (0..8).map(|letter| char::from(b'a' + (hash(at) >> (5 * letter) & 15) as u8)).collect();
    (0..12).map(word).collect::<Vec<String>>().join(" ")
}

/// The rows include those of the queued work. Each deleted document is the center, or the document that the next copy is
/// linked to.
#[test]
fn deleting_copies_in_order_of_arrival_costs_a_bounded_number_of_rows_each() {
    for preset in [Preset::Copies, Preset::Headlines] {
        let hub = hub(CollectionConfig::new(preset), 1_000);
        for id in 0..200u64 {
            let (rows, ()) = hub.rows_of(|| {
                hub.delete(id);
                hub.catalog.settle().unwrap();
            });
            assert!(rows < 60, "{preset:?}: {rows} rows for deletion {id}");
        }
        let cluster = hub.cluster(999).unwrap();
        let detail = hub.collection.cluster(cluster).unwrap().unwrap();
        assert_eq!((detail.size, detail.center), (800, Some(200.into())));
        assert_eq!(hub.catalog.verify().unwrap(), []);
    }
}

/// Expiry deletes several hundred documents per transaction.
#[test]
fn deleting_copies_in_one_transaction_costs_a_bounded_number_of_rows_each() {
    for preset in [Preset::Copies, Preset::Headlines] {
        let hub = hub(CollectionConfig::new(preset), 1_000);
        let ids: Vec<DocId> = (0..400).map(DocId::Number).collect();
        let (rows, ()) = hub.rows_of(|| {
            hub.collection.delete_many(ids).unwrap();
            hub.catalog.settle().unwrap();
        });
        assert!(rows < 400 * 60, "{preset:?}: {rows} rows");
        assert_eq!(hub.catalog.verify().unwrap(), []);
    }
}

#[test]
fn inserting_a_copy_costs_a_bounded_number_of_rows() {
    let components = CollectionConfig {
        overrides: "[matching]\nlinkage = \"components\"\n".to_owned(),
        ..CollectionConfig::new(Preset::Copies)
    };
    let presets = [Preset::Copies, Preset::Headlines].map(CollectionConfig::new);
    for config in presets.into_iter().chain([components]) {
        let hub = hub(config, 1_000);
        let (rows, ()) = hub.rows_of(|| hub.insert(5_000, hub_text(0)));
        assert!(rows < 60, "{:?}: {rows} rows", hub.collection.config());
    }
}

/// Returns two collections with queued work.
fn two_pending() -> (Fixture, Collection) {
    let fixture = Fixture::with_linkage("cohesive", None);
    let other = fixture.catalog.create("other", CollectionConfig::new(Preset::Copies)).unwrap();
    for id in 0..3 {
        fixture.insert(id, variant_at(0, id));
        other.insert(Document::new(id, variant_at(0, id))).unwrap();
    }
    fixture.delete(0);
    assert!(other.delete(&0.into()).unwrap());
    (fixture, other)
}

fn has_tasks(collection: &Collection) -> bool {
    collection.live.has_tasks()
}

/// The first collection has much more work than the other one.
#[test]
fn collections_take_turns() {
    let (fixture, other) = two_pending();
    (10..40).for_each(|id| fixture.insert(id, variant_at(0, id)));
    while has_tasks(&other) {
        assert!(fixture.step());
    }
    assert!(has_tasks(&fixture.collection));
    fixture.settle();
    assert_eq!(fixture.catalog.verify().unwrap(), []);
}

#[test]
fn an_error_in_one_collection_does_not_stop_the_work_on_others() {
    let (fixture, other) = two_pending();
    let damage = "UPDATE tasks SET kind = 99 WHERE collection = 1";
    rusqlite::Connection::open(fixture._dir.path().join("sameish.db"))
        .unwrap()
        .execute_batch(damage)
        .unwrap();
    let settled = fixture.catalog.settle();
    assert!(matches!(settled, Err(crate::Error::Damaged { .. })), "{settled:?}");
    assert!(!has_tasks(&other) && has_tasks(&fixture.collection));
    assert_eq!(other.stats().unwrap().clustering_error, None);
    let error = fixture.collection.stats().unwrap().clustering_error.unwrap();
    assert!(error.contains("task at position"), "{error}");
    fixture.collection.rebuild().unwrap();
    fixture.catalog.settle().unwrap();
    assert_eq!(fixture.collection.stats().unwrap().clustering_error, None);
    assert_eq!(fixture.catalog.verify().unwrap(), []);
}

#[test]
fn work_on_clusters_does_not_report_a_full_disk_as_ready() {
    let (fixture, _other) = two_pending();
    fixture.catalog.shared.set_health(Health::Full);
    fixture.settle();
    assert_eq!(fixture.catalog.health(), Health::Full);
    fixture.insert(50, text_at(0));
    assert_eq!(fixture.catalog.health(), Health::Ready);
}

/// A text of `words` words of which the last third is its own: two of them have a similarity between 0.4 and 0.5. They are
/// candidates, but do not match.
fn branch(words: u64, variant: u64) -> String {
    let common = words * 13 / 20;
    let word = |at: u64| if at < common { format!("word{at}") } else { format!("word{at}of{variant}") };
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// Deletes the first of two copies of a text, with a text between them that is not a copy, so that the other one is compared
/// with `centers` centers. Returns the rows of each unit.
fn units_of_a_comparison_with_centers(fixture: &Fixture, words: u64, centers: u64) -> Vec<u64> {
    insert_copies_and_centers(fixture, words, centers);
    units_of_deleting_the_first_copy(fixture)
}

fn insert_copies_and_centers(fixture: &Fixture, words: u64, centers: u64) {
    let near = |last: &str| format!("{} {last}", branch(words, 0));
    fixture.insert(0, near("first"));
    (1..=centers).for_each(|id| fixture.insert(id, branch(words, id)));
    fixture.insert(1_000, near("second"));
    assert_eq!(fixture.cluster(1_000), fixture.cluster(0));
    assert_eq!(fixture.collection.stats().unwrap().clusters, 1, "the centers do not match each other");
}

fn units_of_deleting_the_first_copy(fixture: &Fixture) -> Vec<u64> {
    fixture.delete(0);
    let mut units = Vec::new();
    loop {
        let (rows, has_tasks) = fixture.rows_of(|| fixture.step());
        if !has_tasks {
            return units;
        }
        units.push(rows);
        assert!(units.len() < 200, "the work does not end: {units:?}");
    }
}

/// Rows of a unit in addition to those of the texts that it compares: of the document itself, tasks, clusters and counters.
const OTHER_ROWS: u64 = 30;

#[test]
fn a_unit_compares_a_bounded_number_of_texts() {
    let fixture = Fixture::uncached();
    insert_copies_and_centers(&fixture, 40, 200);
    // An index that knows the texts of a crowd excludes most of them without reading them.
    let fixture = fixture.reopened_uncached();
    let units = units_of_deleting_the_first_copy(&fixture);
    let most = UNIT_COMPARISONS as u64 + OTHER_ROWS;
    assert!(units.iter().all(|rows| *rows <= most), "{units:?}");
    assert!(units.iter().sum::<u64>() >= 200, "all centers were compared: {units:?}");
    fixture.assert_is_clustered_as_from_scratch(&(1..=200).chain([1_000]).collect(), "centers");
}

#[test]
fn a_unit_reads_a_bounded_number_of_bytes() {
    let fixture = Fixture::uncached();
    let words = 8_000;
    let bytes = branch(words, 1).len();
    let texts = UNIT_BYTES.div_ceil(bytes) as u64;
    assert!((2..6).contains(&texts), "{bytes} bytes per text");
    let units = units_of_a_comparison_with_centers(&fixture, words, 40);
    assert!(units.iter().all(|rows| *rows <= texts + OTHER_ROWS - 8), "{units:?}");
    assert!(units.iter().sum::<u64>() >= 40, "all centers were compared: {units:?}");
}

#[test]
fn damaged_texts_do_not_prevent_the_end_of_the_work() {
    let fixture = Fixture::uncached();
    fixture.insert(2_000, text_at(100));
    let database = rusqlite::Connection::open(fixture._dir.path().join("sameish.db")).unwrap();
    (1..=100).for_each(|id| fixture.insert(id, branch(40, id)));
    database.execute_batch("UPDATE documents SET text = text || '.' WHERE number > 1").unwrap();
    units_of_a_comparison_with_centers(&fixture, 41, 0);
    assert_eq!(fixture.collection.stats().unwrap().pending_clusters, 0);
}

/// All documents but one match the first document of the merged cluster, and none of them the document that merges.
#[test]
fn links_of_a_center_are_counted_in_bounded_units() {
    let fixture = Fixture::with_linkage("components", None);
    let links = 3 * LINKS_PER_UNIT as u64;
    fixture.insert(0, text_at(25));
    (1..=links).for_each(|id| fixture.insert(id, variant_at(29, id)));
    fixture.insert(1_000, text_at(17));
    let (rows, ()) = fixture.rows_of(|| fixture.insert(1_001, text_at(21)));
    assert!(rows < LINKS_PER_UNIT as u64 + 60, "{rows} rows for the insertion");
    // The count is exact, whatever changes meanwhile.
    for round in 0..links / LINKS_PER_UNIT as u64 {
        assert!(fixture.step());
        fixture.insert(2_000 + round, variant_at(29, 2_000 + round));
    }
    let most = fixture.settle();
    let stats = fixture.collection.stats().unwrap();
    assert_eq!((stats.clusters, stats.chained), (1, 1), "only document 1000 is not linked to the first one");
    for id in [1, links] {
        fixture.delete(id);
    }
    let most = most.max(fixture.settle());
    // A document of a component reads the memberships of all its matches.
    assert!(most < MAX_CANDIDATES as u64 + OTHER_ROWS, "{most} rows for a unit");
    let stats = fixture.collection.stats().unwrap();
    assert_eq!((stats.clusters, stats.chained), (1, 1), "only document 1000 is not linked to the first one");
    assert_eq!(fixture.catalog.verify().unwrap(), []);
}

/// Returns the rows of deleting the first documents of a cluster of near copies, and of the work that this queues.
fn rows_of_deleting(linkage: &str, window_days: Option<u32>, deletions: Deletions) -> (u64, u64) {
    let fixture = Fixture::with_linkage(linkage, window_days);
    (0..100).for_each(|id| fixture.insert(id, variant_at(0, id)));
    let number = match deletions {
        Deletions::One => 1,
        Deletions::OneTransaction | Deletions::Burst => 20,
    };
    let (deleting, ()) = fixture.rows_of(|| match deletions {
        Deletions::One | Deletions::Burst => (0..number).for_each(|id| fixture.delete(id)),
        Deletions::OneTransaction => {
            _ = fixture.collection.delete_many((0..number).map(DocId::Number).collect()).unwrap();
        }
    });
    let (settling, ()) = fixture.rows_of(|| _ = fixture.settle());
    fixture.assert_is_clustered_as_from_scratch(&(number..100).collect(), linkage);
    (deleting, settling)
}

#[derive(Clone, Copy)]
enum Deletions {
    One,
    OneTransaction,
    /// One transaction each, before any of the queued work is done.
    Burst,
}

#[test]
fn many_deletions_of_hubs_cost_one_pass_over_the_cluster() {
    for linkage in ["cohesive", "online", "components"] {
        for window_days in [None, Some(2)] {
            let (_, once) = rows_of_deleting(linkage, window_days, Deletions::One);
            for deletions in [Deletions::OneTransaction, Deletions::Burst] {
                let (deleting, settling) = rows_of_deleting(linkage, window_days, deletions);
                let context = format!("{linkage}, window {window_days:?}: {settling} rows, once {once}");
                assert!(deleting < 20 * 60, "{context}: {deleting} rows for the deletions");
                assert!(settling <= once + once / 10, "{context}");
            }
        }
    }
}

/// Document 1 joins document 0, and document 2 is a copy of document 1. Document 3 matches documents 1 and 2 only, and is a
/// center until document 2 becomes one.
#[test]
fn copy_of_a_deleted_document_that_was_not_the_center_takes_later_documents() {
    for in_one_transaction in [true, false] {
        let fixture = Fixture::with_linkage("cohesive", None);
        for (id, position) in [(0, 0), (1, 4), (2, 4), (3, 8)] {
            fixture.insert(id, text_at(position));
        }
        assert_ne!(fixture.cluster(3), fixture.cluster(0));
        if in_one_transaction {
            assert_eq!(fixture.collection.delete_many(vec![0.into(), 1.into()]).unwrap(), [true, true]);
        } else {
            fixture.delete(0);
            fixture.delete(1);
        }
        fixture.settle();
        let ids = BTreeSet::from([2, 3]);
        assert_eq!(fixture.partition(&ids), BTreeSet::from([vec![2, 3]]));
        fixture.assert_is_clustered_as_from_scratch(&ids, "one cluster");
    }
}

#[test]
fn work_waits_for_a_pause_between_deletions_but_not_forever() {
    let start = Instant::now();
    let at = |milliseconds| start + Duration::from_millis(milliseconds);
    let mut delay = RepairDelay::default();
    assert_eq!(delay.due(), None);
    for milliseconds in [0, 10, 500] {
        delay.note_deletion(at(milliseconds));
        assert_eq!(delay.due(), Some(at(milliseconds + 20)));
    }
    for milliseconds in [990, 5_000] {
        delay.note_deletion(at(milliseconds));
        assert_eq!(delay.due(), Some(at(1_000)));
    }
    delay.clear();
    delay.note_deletion(at(6_000));
    assert_eq!(delay.due(), Some(at(6_020)));
}
