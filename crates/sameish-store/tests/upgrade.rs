//! Upgrade of data directories that version 0.1.0 wrote.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish::cluster::ClusterId;
use sameish::config::Tokenizer;
use sameish::{Content, DocId, Document, Preset};
use sameish_store::{Catalog, CollectionConfig, Error, OpenOptions, Reclustered, SimilarOptions};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Returns a copy of the directory.
fn directory() -> tempfile::TempDir {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/store-0.1.0/sameish.db");
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(stored, dir.path().join("sameish.db")).unwrap();
    dir
}

fn open(dir: &tempfile::TempDir) -> Catalog {
    // A child process that another test starts has the lock for a moment, until it executes its program.
    for _ in 0..50 {
        match Catalog::open(dir.path(), OpenOptions::default()) {
            Err(sameish_store::Error::InUse { .. }) => {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            opened => return opened.unwrap(),
        }
    }
    panic!("the directory stays in use")
}

fn cluster(catalog: &Catalog, collection: &str, id: impl Into<DocId>) -> Option<ClusterId> {
    catalog.collection(collection).unwrap().get(&id.into()).unwrap().unwrap().cluster
}

#[test]
fn clusters_documents_of_version_0_1_0_by_their_linkage() {
    let dir = directory();
    let catalog = open(&dir);
    let chain = |i: usize| cluster(&catalog, "articles", format!("chain-{i}").as_str()).unwrap();
    // Documents of the chain match only their neighbors, so stars have at most two documents: 0 and 1, 2 and 3.
    assert_ne!(chain(0), ClusterId(1), "a part with two of eight documents does not keep the cluster id");
    assert_eq!(chain(0), chain(1));
    assert_eq!(chain(2), chain(3));
    assert_ne!(chain(0), chain(2));
    let in_cluster_of = |id: &str| {
        let cluster = cluster(&catalog, "articles", id).unwrap();
        catalog.collection("articles").unwrap().cluster(cluster).unwrap().unwrap().size
    };
    let copies = cluster(&catalog, "articles", "copy-0");
    assert_eq!(copies, Some(ClusterId(9)), "a cluster that does not change keeps its id");
    assert_eq!(cluster(&catalog, "articles", "copy-5"), copies);
    assert_eq!(in_cluster_of("short"), 1, "a short text has a cluster of its own");
    assert_ne!(
        cluster(&catalog, "articles", "template-0"),
        cluster(&catalog, "articles", "template-1"),
        "templates stay apart"
    );
    assert_eq!(cluster(&catalog, "headlines", 0), cluster(&catalog, "headlines", 2));
    assert_eq!(cluster(&catalog, "wire", 1), cluster(&catalog, "wire", 2));
    assert_eq!(catalog.verify().unwrap(), []);
}

/// Version 0.1.0 stored fewer settings, and some presets had other values.
#[test]
fn creating_a_collection_of_version_0_1_0_again_changes_nothing() {
    let dir = directory();
    let catalog = open(&dir);
    for preset in [Preset::Articles, Preset::Headlines, Preset::Copies] {
        if catalog.collection(preset.name()).is_ok() {
            let again = catalog.create(preset.name(), CollectionConfig::new(preset));
            assert!(again.is_ok(), "{preset}: {:?}", again.err());
        }
    }
    let other = CollectionConfig::new(Preset::Copies);
    assert!(matches!(catalog.create("headlines", other), Err(Error::Exists { .. })));
}

#[test]
fn upgrade_reports_what_changed_and_keeps_a_copy() {
    let dir = directory();
    let catalog = open(&dir);
    let articles = catalog.reclustered().iter().find(|change| change.collection == "articles").unwrap();
    let Reclustered { documents, moved, clusters_before, .. } = articles;
    assert_eq!((*documents, *clusters_before), (25, 2));
    assert!((1..10).contains(moved), "{articles}");
    assert_eq!(catalog.reclustered().len(), 3);
    catalog.close();
    assert!(dir.path().join("sameish.format-1.db").is_file());
    assert_eq!(open(&dir).reclustered(), [], "the second start has nothing to do");
    let without = directory();
    let options = OpenOptions { backup_before_upgrade: false, ..OpenOptions::default() };
    drop(Catalog::open(without.path(), options).unwrap());
    assert!(!without.path().join("sameish.format-1.db").exists());
}

#[test]
fn articles_of_version_0_1_0_keep_their_settings_and_sketches() {
    let dir = directory();
    let catalog = open(&dir);
    let articles = catalog.collection("articles").unwrap();
    let config = articles.analyzer().config();
    assert_eq!(config.text.tokenizer, Tokenizer::AsciiWords);
    assert_eq!(config.simhash.as_ref().unwrap().tokenizer, None);
    assert!(!config.matching.unverified);
    let scheme = articles.analyzer().schemes().minhash.unwrap();
    assert_eq!(scheme.to_string(), "6ab466f38d4feed2", "the stored signatures are used");
    let found = articles.similar(&"copy-0".into(), SimilarOptions::default()).unwrap();
    assert!(found.similar.iter().all(|similar| similar.found.verdict.verified));
    assert!(found.similar.len() >= 5, "{} of the copies are found", found.similar.len());
}

/// Creates a directory with a collection of preset `articles`.
fn created(overrides: &str, texts: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    let overrides = overrides.to_owned();
    let config = CollectionConfig { overrides, ..CollectionConfig::new(Preset::Articles) };
    let articles = catalog.create("articles", config).unwrap();
    for (id, text) in (0u64..).zip(texts) {
        articles.insert(Document::new(id, *text)).unwrap();
    }
    drop(articles);
    catalog.close();
    dir
}

/// Makes a database one of format 8, in which triggers update the totals and each event has a row.
fn to_format_8(database: &rusqlite::Connection) {
    database.execute_batch(include_str!("../migrations/006.sql")).unwrap();
    database.execute_batch("ALTER TABLE events ADD COLUMN relation INTEGER").unwrap();
    let mut rows =
        database.prepare("SELECT collection, last - count + 1, events FROM event_batches").unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    for (collection, first, lines) in rows.map(Result::<(u32, i64, String), _>::unwrap) {
        for (sequence, line) in (first..).zip(lines.lines()) {
            let fields: Vec<Option<&str>> =
                line.split('\t').map(|field| Some(field).filter(|field| !field.is_empty())).collect();
            let [at, kind, document, id, cluster, similarity, found, relation] = fields[..] else {
                panic!("{line}")
            };
            let values = rusqlite::params![
                collection, sequence, at, kind, document, id, cluster, similarity, found, relation
            ];
            database.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values).unwrap();
        }
    }
    let triggers = include_str!("../migrations/008.sql").split_once("CREATE TRIGGER").unwrap().1;
    database
        .execute_batch(&format!(
            "DROP TABLE event_batches; DROP INDEX members_by_edited;
            CREATE INDEX members_by_shown ON members (shown); CREATE TRIGGER{triggers} PRAGMA user_version = 8;"
        ))
        .unwrap();
}

/// Format 8 has a row for each event, and triggers that update the totals.
#[test]
fn events_and_totals_of_format_8_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    let copies = catalog.create("copies", CollectionConfig::new(Preset::Copies)).unwrap();
    let text = |story: u64| (0..40).map(|i| format!("word{i}of{story}")).collect::<Vec<_>>().join(" ");
    for id in 0..300 {
        let mut document = Document::new(format!("id \"{id}\"").as_str(), text(id % 11));
        document.content = Content::Text(format!("{} number {}", text(id % 11), id % 3));
        document.source = (id % 3 > 0).then(|| format!("source{}", id % 3));
        document.published_at = Some(format!("2024-01-{:02}", 1 + (id * 7) % 9));
        copies.insert(document).unwrap();
    }
    copies.delete(&"id \"5\"".into()).unwrap();
    let before = (statistics(&copies), copies.events(0, 1_000).unwrap());
    assert_eq!(before.1.last, 301);
    let similarities = before.1.events.iter().filter_map(|event| event.similarity);
    assert!(similarities.into_iter().any(|similarity| similarity > 0.5 && similarity < 1.0));
    drop(copies);
    catalog.close();
    let database = rusqlite::Connection::open(dir.path().join("sameish.db")).unwrap();
    to_format_8(&database);
    drop(database);
    let catalog = open(&dir);
    assert!(dir.path().join("sameish.format-8.db").is_file());
    let copies = catalog.collection("copies").unwrap();
    assert!(statistics(&copies) == before.0);
    let after = copies.events(0, 1_000).unwrap();
    let differs = after.events.iter().zip(&before.1.events).find(|(after, before)| after != before);
    assert_eq!((differs, after.events.len(), after.last), (None, before.1.events.len(), before.1.last));
    assert_eq!(copies.events(150, 3).unwrap().events[..], before.1.events[150..153]);
    copies.insert(Document::new("next", "a text")).unwrap();
    assert_eq!(copies.event_range().unwrap().newest, 302);
    assert_eq!(catalog.verify().unwrap(), []);
}

/// Removes what formats 5 to 8 added from a database of format 8.
const REMOVE_NEWER: &str = "
    DROP TRIGGER cluster_inserted; DROP TRIGGER member_inserted; DROP TRIGGER member_deleted; DROP TRIGGER member_updated;
    DROP TRIGGER cluster_updated; DROP TRIGGER cluster_deleted;
    DROP INDEX documents_by_collection; DROP INDEX members_by_source;
    ALTER TABLE clusters DROP COLUMN first_source; ALTER TABLE clusters DROP COLUMN sources;
    DROP TABLE day_totals; DROP TABLE source_totals; DROP TABLE events;
    DROP TABLE edits; DROP TABLE places;
    DROP INDEX members_by_rank; ALTER TABLE members DROP COLUMN rank; ALTER TABLE collections DROP COLUMN center;
    DROP INDEX members_by_moment; DROP INDEX clusters_by_size; DROP INDEX clusters_by_latest; DROP INDEX members_by_shown;
    ALTER TABLE members DROP COLUMN shown; ALTER TABLE members DROP COLUMN edited; ALTER TABLE clusters DROP COLUMN listed;
    ALTER TABLE members DROP COLUMN moment; ALTER TABLE members DROP COLUMN source;
    ALTER TABLE clusters DROP COLUMN first; ALTER TABLE clusters DROP COLUMN last; ALTER TABLE clusters DROP COLUMN latest;";

/// Format 4 has no dates and sources of members, and no totals. They are computed from the documents.
#[test]
fn dates_sources_and_totals_are_computed_for_format_4() {
    let text =
        |word: &str| format!("{} {word}", (0..40).map(|i| format!("word{i}")).collect::<Vec<_>>().join(" "));
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    let articles = catalog.create("articles", CollectionConfig::new(Preset::Copies)).unwrap();
    for (id, source, date) in
        [(1, Some("b"), "2024-01-03"), (2, Some("a"), "2024-01-01"), (3, None, "2024-01-03")]
    {
        let mut document = Document::new(id, text("x"));
        document.source = source.map(str::to_owned);
        document.published_at = Some(date.to_owned());
        articles.insert(document).unwrap();
    }
    let before = statistics(&articles);
    let days: Vec<(String, u64, u64)> =
        before.0.iter().map(|day| (day.day.to_string(), day.documents, day.copies)).collect();
    assert_eq!(days, [("2024-01-01T00:00:00Z".into(), 1, 0), ("2024-01-03T00:00:00Z".into(), 2, 2)]);
    drop(articles);
    catalog.close();
    let database = rusqlite::Connection::open(dir.path().join("sameish.db")).unwrap();
    to_format_8(&database);
    database.execute_batch(&format!("{REMOVE_NEWER} PRAGMA user_version = 4;")).unwrap();
    drop(database);
    let catalog = open(&dir);
    let articles = catalog.collection("articles").unwrap();
    assert_eq!(statistics(&articles), before);
    assert_eq!(catalog.verify().unwrap(), []);
}

/// Removes what format 8 added, except for the triggers.
const REMOVE_FORMAT_8: &str = "
    DROP TRIGGER cluster_inserted; DROP TRIGGER member_inserted; DROP TRIGGER member_deleted; DROP TRIGGER member_updated;
    DROP TRIGGER cluster_updated; DROP TRIGGER cluster_deleted;
    DROP INDEX documents_by_collection; DROP INDEX members_by_source; DROP INDEX places_by_cluster;
    DROP INDEX members_by_rank; ALTER TABLE members DROP COLUMN rank; ALTER TABLE collections DROP COLUMN center;
    ALTER TABLE events DROP COLUMN relation;
    ALTER TABLE clusters DROP COLUMN first_source; ALTER TABLE clusters DROP COLUMN sources;
    ALTER TABLE day_totals DROP COLUMN clusters; ALTER TABLE source_totals DROP COLUMN clusters;";

/// Format 7 has no numbers of clusters per day and source, and no sources of clusters.
#[test]
fn clusters_per_day_and_source_are_computed_for_format_7() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(&dir);
    let copies = catalog.create("copies", CollectionConfig::new(Preset::Copies)).unwrap();
    let text = |story: u64| (0..40).map(|i| format!("word{i}of{story}")).collect::<Vec<_>>().join(" ");
    for id in 0..30 {
        let mut document = Document::new(id, text(id % 11));
        document.source = (id % 3 > 0).then(|| format!("source{}", id % 3));
        document.published_at = Some(format!("2024-01-{:02}", 1 + (id * 7) % 9));
        copies.insert(document).unwrap();
    }
    copies.edit(sameish_store::NewEdit::Same { a: 0.into(), b: 1.into() }).unwrap();
    let before = statistics(&copies);
    let listed = |days: &[sameish_store::DayTotal]| days.iter().map(|day| day.clusters).sum::<u64>();
    assert_eq!((listed(&before.0), before.3.len()), (10, 10), "eleven stories, two of which an edit joins");
    assert_eq!(before.1.iter().map(|source| source.clusters).sum::<u64>(), 10);
    let events = copies.events(0, 100).unwrap();
    drop(copies);
    catalog.close();
    let triggers = include_str!("../migrations/007.sql").split_once("CREATE TRIGGER").unwrap().1;
    let format_7 = format!("{REMOVE_FORMAT_8} CREATE TRIGGER{triggers} PRAGMA user_version = 7;");
    let database = rusqlite::Connection::open(dir.path().join("sameish.db")).unwrap();
    to_format_8(&database);
    database.execute_batch(&format_7).unwrap();
    drop(database);
    let catalog = open(&dir);
    assert!(dir.path().join("sameish.format-7.db").is_file());
    let copies = catalog.collection("copies").unwrap();
    assert_eq!(statistics(&copies), before);
    let after = copies.events(0, 100).unwrap();
    let positions = |events: &sameish_store::Events| {
        events.events.iter().map(|event| (event.sequence, event.check)).collect::<Vec<_>>()
    };
    assert_eq!(positions(&after), positions(&events));
    // Later changes continue from the computed numbers.
    copies.delete(&0.into()).unwrap();
    copies.insert(Document::new(0, text(3))).unwrap();
    assert_eq!(catalog.verify().unwrap(), []);
}

type Statistics = (
    Vec<sameish_store::DayTotal>,
    Vec<sameish_store::SourceTotal>,
    Vec<sameish_store::SourceCell>,
    Vec<sameish_store::ClusterSummary>,
);

fn statistics(collection: &sameish_store::Collection) -> Statistics {
    let sources = collection.sources().unwrap();
    let days = collection.days().unwrap();
    (days, sources.sources.clone(), sources.cells.clone(), clusters_of(collection))
}

fn clusters_of(collection: &sameish_store::Collection) -> Vec<sameish_store::ClusterSummary> {
    collection.clusters(sameish_store::ClustersPage::default()).unwrap().clusters
}

/// In format 3, near fingerprints were enough for short texts to be in one cluster.
#[test]
fn short_texts_of_format_3_that_match_by_fingerprints_only_are_separated() {
    let texts = ["New hospital backs joint strike east", "National river halts national water soon"];
    let dir = created("[matching]\nunverified = true\n", &texts);
    let catalog = open(&dir);
    assert_eq!(cluster(&catalog, "articles", 0), cluster(&catalog, "articles", 1));
    catalog.close();
    let usual = created("", &[]);
    let database = rusqlite::Connection::open(dir.path().join("sameish.db")).unwrap();
    let usual = usual.path().join("sameish.db");
    database.execute("ATTACH ? AS usual", [usual.to_str().unwrap()]).unwrap();
    let settings =
        "DELETE FROM main.collections; INSERT INTO main.collections SELECT * FROM usual.collections;";
    to_format_8(&database);
    database
        .execute_batch(&format!("{settings} DETACH usual; {REMOVE_NEWER} PRAGMA user_version = 3;"))
        .unwrap();
    drop(database);
    let catalog = open(&dir);
    let moved: u64 = catalog.reclustered().iter().map(|change| change.moved).sum();
    assert_eq!(moved, 2, "neither has more than half of the old cluster");
    assert_ne!(cluster(&catalog, "articles", 0), cluster(&catalog, "articles", 1));
    assert_eq!(catalog.verify().unwrap(), []);
    assert!(dir.path().join("sameish.format-3.db").is_file());
}

#[test]
fn read_only_open_of_an_older_format_says_how_to_upgrade() {
    let dir = directory();
    let options = OpenOptions { create: false, read_only: true, ..OpenOptions::default() };
    let error = Catalog::open(dir.path(), options).unwrap_err();
    assert!(
        matches!(&error, Error::Database { reason, .. } if reason.contains("must be upgraded")),
        "{error}"
    );
}

/// Variable with the directory that a child process opens.
const CHILD: &str = "SAMEISH_TEST_UPGRADE";

/// Not a test of its own: the process that the next test kills.
#[test]
fn child_process_opens_a_directory() {
    if let Some(dir) = std::env::var_os(CHILD) {
        drop(Catalog::open(dir, OpenOptions::default()).unwrap());
    }
}

fn start_child(dir: &Path) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child_process_opens_a_directory"]).env(CHILD, dir);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until a process has ended or the time is over. Returns how long a process ran that has ended.
fn ended_within(child: &mut std::process::Child, limit: Duration) -> Option<Duration> {
    let started = Instant::now();
    while started.elapsed() < limit {
        if child.try_wait().unwrap().is_some() {
            return Some(started.elapsed());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

/// Returns the clusters of all documents.
fn clusters(dir: &tempfile::TempDir) -> Vec<(String, String, Option<ClusterId>)> {
    let catalog = open(dir);
    assert_eq!(catalog.verify().unwrap(), []);
    let database = rusqlite::Connection::open(dir.path().join("sameish.db")).unwrap();
    let mut statement = database.prepare("SELECT collection, id FROM documents ORDER BY number").unwrap();
    let ids = statement
        .query_map([], |row| Ok((row.get::<_, u32>(0)? as usize, row.get::<_, String>(1)?)))
        .unwrap();
    let names = ["articles", "headlines", "wire"];
    let all = ids.map(Result::unwrap).map(|(collection, id)| {
        let name = names[collection - 1];
        let cluster = cluster(&catalog, name, DocId::from_json(&id).unwrap());
        (name.to_owned(), id, cluster)
    });
    all.collect()
}

#[test]
fn killed_upgrade_is_completed_at_the_next_start() {
    const KILLS: u32 = 40;
    let whole = directory();
    let started = Instant::now();
    assert!(start_child(whole.path()).wait().unwrap().success());
    // The shortest duration so far, because the first run also reads the program from the disk.
    let mut duration = started.elapsed();
    let expected = clusters(&whole);
    let mut interrupted = 0;
    let mut old_format = 0;
    for kill in 0..KILLS {
        let dir = directory();
        for attempt in 0..2 {
            let mut child = start_child(dir.path());
            match ended_within(&mut child, duration * kill / KILLS) {
                Some(time) if attempt == 0 => duration = duration.min(time),
                Some(_) => {}
                None => interrupted += 1,
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let header = std::fs::read(dir.path().join("sameish.db")).unwrap();
        old_format += u32::from(header[60..64] == [0, 0, 0, 1]);
        assert_eq!(clusters(&dir), expected, "kill {kill} of {KILLS}");
    }
    println!(
        "{interrupted} of {} upgrades were interrupted; {old_format} files had the old format",
        2 * KILLS
    );
    assert!(interrupted > KILLS / 2, "only {interrupted} upgrades were interrupted");
}
