//! Damaged and foreign files: they are rejected or reported, never served as correct, and never modified.

#![allow(missing_docs, clippy::unwrap_used)]

use rusqlite::Connection;
use sameish::cluster::ClusterId;
use sameish::sketch::SchemeId;
use sameish::{Content, DocId, Document, Fingerprint, Preset};
use sameish_store::{
    Catalog, ClusterRow, ClustersPage, CollectionConfig, Error, MemberRow, OpenOptions, SimilarOptions,
    SqliteStore, Store,
};
use std::path::{Path, PathBuf};

fn text(i: u64) -> String {
    (0..80).map(|at| format!("word{}of{}", at + i / 10, i % 10)).collect::<Vec<_>>().join(" ")
}

fn open(dir: &Path) -> sameish_store::Result<Catalog> {
    Catalog::open(dir, OpenOptions::default())
}

fn open_read_only(dir: &Path) -> sameish_store::Result<Catalog> {
    Catalog::open(dir, OpenOptions { read_only: true, ..OpenOptions::default() })
}

/// Returns a directory with 40 documents in 10 clusters.
fn filled() -> tempfile::TempDir {
    filled_with("")
}

const ONLINE: &str = "[matching]\nlinkage = \"online\"\n";

const COMPONENTS: &str = "[matching]\nlinkage = \"components\"\n";

fn filled_with(overrides: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let catalog = open(dir.path()).unwrap();
    let config = CollectionConfig { overrides: overrides.into(), ..CollectionConfig::new(Preset::Articles) };
    let articles = catalog.create("articles", config).unwrap();
    let documents = (1..=40).map(|i| Document::new(i, text(i))).collect();
    articles.insert_many(documents).unwrap().into_iter().for_each(|result| _ = result.unwrap());
    dir
}

fn file(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().join("sameish.db")
}

fn sql(dir: &tempfile::TempDir, statement: &str) {
    let connection = Connection::open(file(dir)).unwrap();
    connection.execute_batch(statement).unwrap();
}

/// Modifies the file of an open catalog, and returns what `verify` reports.
fn findings(dir: &tempfile::TempDir, statement: &str) -> Vec<String> {
    let catalog = open(dir.path()).unwrap();
    assert_eq!(catalog.verify().unwrap(), []);
    sql(dir, statement);
    catalog.verify().unwrap().iter().map(ToString::to_string).collect()
}

#[test]
fn rejects_files_of_other_programs_without_changing_them() {
    let other = {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("other.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE a (b)").unwrap();
        std::fs::read(path).unwrap()
    };
    let random: Vec<u8> = (0..100u32).map(|i| (i * 7919 % 251) as u8).collect();
    let cases: [(&str, &[u8]); 4] = [
        ("the file is empty", b""),
        ("it is not a SQLite database", &random),
        ("it is not a SQLite database", b"a text file that is longer than the header".repeat(9).leak()),
        ("it is a database of another program", &other),
    ];
    for (reason, bytes) in cases {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(file(&dir), bytes).unwrap();
        let error = open(dir.path()).unwrap_err();
        assert!(matches!(&error, Error::NotOurs { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(std::fs::read(file(&dir)).unwrap(), bytes);
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(file(&dir)).unwrap();
    assert!(matches!(open(dir.path()), Err(Error::NotOurs { .. })));
    std::fs::write(dir.path().join("plain"), "x").unwrap();
    assert!(open(&dir.path().join("plain")).is_err());
}

#[test]
fn rejects_a_newer_format_and_a_foreign_schema() {
    let dir = filled();
    sql(&dir, "PRAGMA user_version = 99");
    let before = std::fs::read(file(&dir)).unwrap();
    assert!(matches!(open(dir.path()), Err(Error::Newer { found: 99, .. })));
    assert_eq!(std::fs::read(file(&dir)).unwrap(), before);
    for statement in [
        "CREATE TRIGGER spy AFTER INSERT ON documents BEGIN DELETE FROM documents; END",
        "CREATE VIEW extra AS SELECT 1",
        "CREATE TABLE extra (a)",
        "DROP INDEX members_by_joined",
    ] {
        let dir = filled();
        sql(&dir, statement);
        let error = open(dir.path()).unwrap_err();
        assert!(matches!(error, Error::NotOurs { .. }), "{statement}: {error}");
    }
}

#[test]
fn reports_a_damaged_document_and_serves_all_others() {
    let dir = filled();
    let found =
        findings(&dir, "UPDATE documents SET text = replace(text, 'word3of', 'wOrd3of') WHERE number = 7");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("document 7 of articles: the checksum does not match"), "{found:?}");
    let catalog = open(dir.path()).unwrap();
    let articles = catalog.collection("articles").unwrap();
    assert!(matches!(articles.get(&7.into()), Err(Error::Damaged { .. })));
    assert!(matches!(articles.similar(&7.into(), SimilarOptions::default()), Err(Error::Damaged { .. })));
    let similar = articles.similar(&17.into(), SimilarOptions::default()).unwrap();
    let ids: Vec<DocId> = similar.similar.into_iter().map(|similar| similar.found.id).collect();
    assert!(ids.contains(&27.into()) && !ids.contains(&7.into()), "{ids:?}");
    assert!(articles.delete(&7.into()).unwrap());
    assert_eq!(catalog.verify().unwrap(), []);
}

/// Returns the files that a killed process leaves behind: a copy made while the catalog is open.
fn killed(with_log: bool) -> tempfile::TempDir {
    let dir = filled();
    let catalog = open(dir.path()).unwrap();
    catalog.collection("articles").unwrap().insert(Document::new(41, text(41))).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let names = ["sameish.db", "sameish.db-wal", "sameish.open"];
    for name in names.iter().filter(|name| with_log || !name.ends_with("-wal")) {
        std::fs::copy(dir.path().join(name), copy.path().join(name)).unwrap();
    }
    copy
}

#[test]
fn detects_a_missing_write_ahead_log() {
    let complete = killed(true);
    assert_eq!(open(complete.path()).unwrap().collection("articles").unwrap().len(), 41);
    // A clean shutdown leaves no marker and an empty log.
    assert!(!complete.path().join("sameish.open").exists());
    assert_eq!(complete.path().join("sameish.db-wal").metadata().map_or(0, |log| log.len()), 0);

    let lost = killed(false);
    let before = std::fs::read(file(&lost)).unwrap();
    for read_only in [false, true] {
        let options = OpenOptions { read_only, ..OpenOptions::default() };
        let error = Catalog::open(lost.path(), options).unwrap_err();
        assert!(matches!(error, Error::LogLost { .. }), "{error}");
        assert!(error.to_string().contains("sameish.db-wal is missing"), "{error}");
    }
    assert_eq!(std::fs::read(file(&lost)).unwrap(), before);
    // Deleting the marker accepts the loss, as the message says.
    std::fs::remove_file(lost.path().join("sameish.open")).unwrap();
    assert_eq!(open(lost.path()).unwrap().collection("articles").unwrap().len(), 40);
}

#[test]
fn does_not_create_a_store_next_to_leftover_files() {
    for left in ["sameish.db-wal", "sameish.open", "sameish.db.restoring"] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(left), "x").unwrap();
        let error = open(dir.path()).unwrap_err();
        assert!(matches!(error, Error::StoreLost { .. }), "{left}: {error}");
        assert!(!dir.path().join("sameish.db").exists());
    }
}

#[test]
fn restored_store_survives_an_unclean_shutdown() {
    let dir = filled();
    let snapshot = tempfile::tempdir().unwrap();
    let restored = tempfile::tempdir().unwrap();
    open(dir.path()).unwrap().snapshot(snapshot.path()).unwrap();
    Catalog::restore(snapshot.path(), restored.path(), false).unwrap();
    let catalog = open(restored.path()).unwrap();
    let killed = tempfile::tempdir().unwrap();
    for name in ["sameish.db", "sameish.db-wal", "sameish.open"] {
        std::fs::copy(restored.path().join(name), killed.path().join(name)).unwrap();
    }
    let reader = open_read_only(restored.path());
    assert_eq!(reader.unwrap().collection("articles").unwrap().len(), 40);
    drop(catalog);
    assert_eq!(open(killed.path()).unwrap().collection("articles").unwrap().len(), 40);
    // A second restore does not reuse a name whose log exists.
    std::fs::write(restored.path().join("sameish.db.before-restore-wal"), "of an earlier store").unwrap();
    Catalog::restore(snapshot.path(), restored.path(), true).unwrap();
    assert!(restored.path().join("sameish.db.before-restore.1").exists());
}

/// The latest document is only in the write-ahead log of the replaced store.
#[test]
fn restore_keeps_the_replaced_store_with_its_log() {
    let dir = filled();
    let snapshot = tempfile::tempdir().unwrap();
    open(dir.path()).unwrap().snapshot(snapshot.path()).unwrap();
    let replaced = killed(true);
    Catalog::restore(snapshot.path(), replaced.path(), true).unwrap();
    assert_eq!(open(replaced.path()).unwrap().collection("articles").unwrap().len(), 40);

    let old = tempfile::tempdir().unwrap();
    for suffix in ["", "-wal"] {
        let kept = replaced.path().join(format!("sameish.db.before-restore{suffix}"));
        std::fs::copy(kept, old.path().join(format!("sameish.db{suffix}"))).unwrap();
    }
    assert_eq!(open(old.path()).unwrap().collection("articles").unwrap().len(), 41);
}

#[test]
fn damaged_memberships_do_not_affect_writes() {
    let dir = filled();
    sql(&dir, "UPDATE members SET checksum = checksum + 1 WHERE document IN (5, 15)");
    let catalog = open(dir.path()).unwrap();
    let articles = catalog.collection("articles").unwrap();
    let copy = Document::new(105, text(5));
    let other = Document::new(107, "an unrelated text ".repeat(60));
    let results = articles.insert_many(vec![copy, other]).unwrap();
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert!(articles.get(&5.into()).unwrap().is_some());
    assert!([5, 15, 25, 105].iter().all(|&id| articles.delete(&DocId::Number(id)).unwrap()));
}

#[test]
fn damaged_id_does_not_affect_other_documents() {
    let dir = filled();
    sql(&dir, "UPDATE documents SET id = '[' WHERE number = 7");
    let catalog = open(dir.path()).unwrap();
    let articles = catalog.collection("articles").unwrap();
    assert_eq!(articles.len(), 39);
    assert!(catalog.verify().unwrap().iter().any(|finding| finding.to_string().contains("document 7")));
    drop(catalog);
    // A valid id, but not that of this document.
    sql(&dir, "UPDATE documents SET id = '700' WHERE number = 8");
    let stored = open(dir.path()).unwrap().collection("articles").unwrap().get(&700.into());
    assert!(matches!(stored, Err(Error::Damaged { .. })));
}

/// The index on ids has another id than the row.
#[test]
fn rejects_a_document_that_is_indexed_under_a_different_id() {
    let dir = filled();
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'documents_by_id'";
    let page: u32 = Connection::open(file(&dir)).unwrap().query_row(root, [], |row| row.get(0)).unwrap();
    let page = page as usize;
    let mut bytes = std::fs::read(file(&dir)).unwrap();
    let page = &mut bytes[(page - 1) * 8192..page * 8192];
    let at = page.windows(2).rposition(|id| id == b"40").unwrap();
    page[at..at + 2].copy_from_slice(b"77");
    std::fs::write(file(&dir), bytes).unwrap();

    let catalog = open(dir.path()).unwrap();
    let error = catalog.collection("articles").unwrap().get(&77.into()).unwrap_err();
    assert!(matches!(&error, Error::Damaged { what, .. } if what == "document 40"), "{error}");
    let findings = catalog.verify().unwrap();
    assert!(findings.iter().any(|finding| finding.object.ends_with("sameish.db")), "{findings:?}");
}

#[test]
fn reports_an_index_that_differs_from_the_stored_sketches() {
    let dir = filled();
    let catalog = open(dir.path()).unwrap();
    {
        let mut store = SqliteStore::open(dir.path(), false, false).unwrap();
        let mut row = store.reader().unwrap().sketch(9).unwrap().unwrap();
        row.sketches.simhash = Some(Fingerprint::from_u64(1));
        let mut change = store.begin().unwrap();
        change.put_sketch(&row).unwrap();
        change.commit().unwrap();
    }
    let findings: Vec<String> = catalog.verify().unwrap().iter().map(ToString::to_string).collect();
    assert!(findings.iter().any(|finding| finding.starts_with("index of articles: ")), "{findings:?}");
}

#[test]
fn search_leaves_out_damaged_matches() {
    let dir = filled();
    open(dir.path()).unwrap().collection("articles").unwrap().insert(Document::new(203, text(3))).unwrap();
    sql(&dir, "UPDATE documents SET text = text || '!' WHERE number = 41");
    let articles = open(dir.path()).unwrap().collection("articles").unwrap();
    let found = articles.similar(&3.into(), SimilarOptions::default()).unwrap();
    assert!(!found.similar.is_empty() && found.similar.iter().all(|similar| similar.found.id != 203.into()));
}

#[test]
fn rebuild_repairs_what_verify_reports() {
    let dir = filled();
    sql(&dir, "INSERT INTO fingerprints SELECT 999, collection, simhash, minhash_signature, sdr, text_key, short, word_count,
        moment, scheme, computed_at, checksum FROM fingerprints WHERE document = 1;
        UPDATE fingerprints SET word_count = 1 WHERE document = 4");
    let reported = open_read_only(dir.path()).unwrap().verify().unwrap();
    assert_eq!(reported.len(), 2, "{reported:?}");
    assert!(reported.iter().all(|finding| finding.remedy.contains("rebuild")), "{reported:?}");
    let catalog = Catalog::open(dir.path(), OpenOptions { rebuild: true, ..OpenOptions::default() }).unwrap();
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn reports_every_kind_of_damage() {
    let cases = [
        (
            "UPDATE fingerprints SET simhash = x'0011223344556677' WHERE document = 7",
            "sketch of document 7 (id 7)",
        ),
        (
            "UPDATE fingerprints SET minhash_signature = x'00112233' WHERE document = 7",
            "sketch of document 7 (id 7)",
        ),
        ("UPDATE fingerprints SET moment = moment + 1 WHERE document = 7", "sketch of document 7 (id 7)"),
        ("DELETE FROM fingerprints WHERE document = 7", "sketch of document 7 (id 7)"),
        ("DELETE FROM documents WHERE number = 7", "sketch of document 7"),
        ("UPDATE documents SET title = 'x' WHERE number = 7", "document 7"),
        ("UPDATE documents SET published_at = '2020-01-01' WHERE number = 7", "document 7"),
        ("UPDATE documents SET id = '70' WHERE number = 7", "document 7"),
        ("UPDATE documents SET text = x'FF' WHERE number = 7", "document 7"),
        ("UPDATE documents SET text = 12 WHERE number = 7", "document 7"),
        ("UPDATE members SET cluster = 99 WHERE document = 7", "membership of document 7"),
        ("UPDATE members SET document = 77 WHERE document = 40", "membership of document 77"),
        ("DELETE FROM members WHERE cluster = 3", "cluster 3"),
        ("DELETE FROM members WHERE document = 7", "membership of document 7 of articles: it is missing"),
        ("UPDATE clusters SET size = 9 WHERE number = 3", "cluster 3"),
        ("DELETE FROM clusters WHERE number = 3", "cluster 3"),
        (
            "INSERT INTO clusters (number, collection, size, center, chained) VALUES (99, 1, 2, 1, 0)",
            "cluster 99",
        ),
        ("UPDATE clusters SET center = 4 WHERE number = 3", "cluster 3"),
        ("UPDATE clusters SET center = NULL WHERE number = 3", "cluster 3"),
        ("UPDATE clusters SET chained = 1 WHERE number = 3", "cluster 3"),
    ];
    for (statement, object) in cases {
        let dir = filled();
        let findings = findings(&dir, statement);
        assert!(findings.iter().any(|finding| finding.starts_with(object)), "{statement}: {findings:?}");
    }
}

/// The rows agree with their checksums, but are inconsistent.
#[test]
fn reports_invalid_links() {
    let linked = |document, joined| MemberRow {
        document,
        collection: 1,
        cluster: ClusterId(3),
        joined,
        edited: None,
        rank: None,
    };
    let member = |document, joined| linked(document, Some(joined));
    for (overrides, row, problem) in [
        (ONLINE, member(3, 13), "it is linked to a later document"),
        (ONLINE, member(13, 99), "it is linked to a document that does not exist"),
        (ONLINE, member(13, 4), "it is linked to a document of another cluster"),
        (ONLINE, linked(13, None), "it has no link, but is not the center"),
        (ONLINE, member(14, 3), "it does not match the document that it is linked to"),
        (COMPONENTS, linked(13, None), "it has no link, but is not the center"),
        (COMPONENTS, member(14, 3), "it does not match the document that it is linked to"),
        ("", member(13, 3), "it has a link, but documents of cohesive clusters have none"),
    ] {
        let dir = filled_with(overrides);
        {
            let mut store = SqliteStore::open(dir.path(), false, false).unwrap();
            let mut change = store.begin().unwrap();
            change.put_member(&row).unwrap();
            change.commit().unwrap();
        }
        let catalog = open(dir.path()).unwrap();
        let findings = catalog.verify().unwrap();
        assert!(findings.iter().any(|finding| finding.problem == problem), "{problem}: {findings:?}");
        // Deletion must not follow invalid links forever.
        let articles = catalog.collection("articles").unwrap();
        for id in [3, 13, 23, 33] {
            assert!(articles.delete(&DocId::Number(id)).unwrap());
        }
        catalog.settle().unwrap();
    }
}

/// The membership agrees with its checksum, but the document does not match its center.
#[test]
fn reports_members_that_do_not_match_their_center() {
    let dir = filled();
    {
        let mut store = SqliteStore::open(dir.path(), false, false).unwrap();
        let mut change = store.begin().unwrap();
        let row = MemberRow {
            document: 14,
            collection: 1,
            cluster: ClusterId(3),
            joined: None,
            edited: None,
            rank: None,
        };
        change.put_member(&row).unwrap();
        let sized = |cluster, size, center| ClusterRow {
            cluster: ClusterId(cluster),
            size,
            center: Some(center),
            chained: 0,
        };
        change.put_cluster(1, &sized(3, 5, 3)).unwrap();
        change.put_cluster(1, &sized(4, 3, 4)).unwrap();
        change.commit().unwrap();
    }
    let catalog = open(dir.path()).unwrap();
    let findings = catalog.verify().unwrap();
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(
        finding.to_string(),
        "membership of document 14 of articles: it does not match the center of its cluster; run `sameish index rebuild`"
    );
    catalog.collection("articles").unwrap().rebuild().unwrap();
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn recomputes_damaged_and_missing_sketches_at_start() {
    let dir = filled();
    let digest = open(dir.path()).unwrap().collection("articles").unwrap().digest().unwrap();
    sql(
        &dir,
        "UPDATE fingerprints SET minhash_signature = NULL WHERE document = 5;
         DELETE FROM fingerprints WHERE document IN (1, 20, 40);
         UPDATE fingerprints SET checksum = 0 WHERE document = 39",
    );
    let catalog = open(dir.path()).unwrap();
    assert_eq!(catalog.collection("articles").unwrap().digest().unwrap(), digest);
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn collection_with_sketches_of_another_scheme_is_unavailable_until_a_rebuild() {
    let dir = filled();
    let digest = open(dir.path()).unwrap().collection("articles").unwrap().digest().unwrap();
    {
        let mut store = SqliteStore::open(dir.path(), false, false).unwrap();
        let mut row = store.reader().unwrap().sketch(9).unwrap().unwrap();
        row.scheme = SchemeId::of("another");
        let mut change = store.begin().unwrap();
        change.put_sketch(&row).unwrap();
        change.commit().unwrap();
    }
    let error = open(dir.path()).unwrap().collection("articles").map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)) && error.to_string().contains("rebuild"), "{error}");
    let options = OpenOptions { rebuild: true, ..OpenOptions::default() };
    let catalog = Catalog::open(dir.path(), options).unwrap();
    assert_eq!(catalog.collection("articles").unwrap().digest().unwrap(), digest);
    drop(catalog);
    assert_eq!(open(dir.path()).unwrap().verify().unwrap(), []);
}

/// Damage anywhere in the file is rejected, reported, or has no effect on any document.
#[test]
fn never_serves_a_document_changed_by_damage() {
    let dir = filled();
    drop(open(dir.path()).unwrap());
    let intact = std::fs::read(file(&dir)).unwrap();
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    let mut detected = 0;
    for round in 0..150 {
        let copy = tempfile::tempdir().unwrap();
        let mut bytes = intact.clone();
        let at = next() as usize % bytes.len();
        let page = at / 8192 * 8192;
        match round % 5 {
            0 => bytes[page..page + 8192].fill(0),
            1 => bytes.truncate(at.max(1)),
            _ => bytes[at] ^= 1 << (next() % 8),
        }
        std::fs::write(file(&copy), &bytes).unwrap();
        let Ok(catalog) = open(copy.path()) else {
            detected += 1;
            continue;
        };
        let is_reported = catalog.verify().map_or(true, |findings| !findings.is_empty());
        detected += usize::from(is_reported);
        let articles = catalog.collection("articles");
        for i in 1..=40 {
            let context = format!("round {round}, byte {at}, document {i}");
            match articles.as_ref().map(|articles| articles.get(&i.into())) {
                Ok(Ok(Some(stored))) => {
                    assert_eq!(stored.document.content, Content::Text(text(i)), "{context}");
                }
                _ => assert!(is_reported, "{context} is lost, and `verify` does not report it"),
            }
        }
    }
    assert!(detected > 50, "{detected}");
}

/// A document whose text and sketches are both damaged is in no index. It can still be reported, deleted and replaced.
#[test]
fn completely_damaged_document_can_be_deleted_and_replaced() {
    let dir = filled();
    sql(
        &dir,
        "UPDATE documents SET checksum = 0 WHERE number IN (7, 8); UPDATE fingerprints SET checksum = 0 WHERE document IN (7, 8)",
    );
    let catalog = open(dir.path()).unwrap();
    let articles = catalog.collection("articles").unwrap();
    assert_eq!(articles.len(), 38);
    assert!(matches!(articles.get(&7.into()), Err(Error::Damaged { .. })));
    let results = articles.insert_many(vec![Document::new(7, text(7)), Document::new(50, text(50))]).unwrap();
    assert!(matches!(results[0], Err(Error::Conflict { .. })) && results[1].is_ok());
    articles.replace(Document::new(7, text(7))).unwrap();
    assert!(articles.delete(&8.into()).unwrap());
    articles.insert(Document::new(8, text(8))).unwrap();
    assert_eq!(catalog.verify().unwrap(), []);
}

/// The tables `clusters`, `members` and `tasks` are derived from the documents.
#[test]
fn damaged_clusters_and_tasks_are_reported_and_repaired_by_a_rebuild() {
    for overrides in ["", ONLINE, COMPONENTS] {
        for (statement, object) in [
            ("UPDATE clusters SET size = 'x' WHERE number = 3", "cluster 3"),
            ("UPDATE clusters SET center = x'00' WHERE number = 3", "cluster 3"),
            ("UPDATE clusters SET chained = -1 WHERE number = 3", "cluster 3"),
            ("UPDATE clusters SET number = -3 WHERE number = 3", "cluster"),
            ("UPDATE members SET document = -7 WHERE document = 7", "membership of document"),
            ("INSERT INTO tasks VALUES (1, 5, 3, 99, 0)", "task of articles"),
            ("INSERT INTO tasks VALUES (1, 'x', 3, 1, 0)", "task of articles"),
            ("INSERT INTO tasks VALUES (1, -5, 3, 1, 0)", "task of articles"),
        ] {
            let context = format!("{statement} with {overrides:?}");
            let dir = filled_with(overrides);
            sql(&dir, statement);
            let reported = open_read_only(dir.path()).unwrap().verify().unwrap();
            assert!(
                reported.iter().any(|finding| finding.object.starts_with(object)),
                "{context}: {reported:?}"
            );
            assert!(reported.iter().all(|finding| finding.remedy.contains("rebuild")), "{reported:?}");
            serves_and_stores(&dir, &context);
            let options = OpenOptions { rebuild: true, ..OpenOptions::default() };
            let catalog = Catalog::open(dir.path(), options).unwrap();
            assert_eq!(catalog.verify().unwrap(), [], "{context}");
            catalog.settle().unwrap();
        }
    }
}

/// Checks that documents can be read, listed, inserted and deleted.
fn serves_and_stores(dir: &tempfile::TempDir, context: &str) {
    let catalog = open(dir.path()).unwrap();
    let articles = catalog.collection("articles").unwrap();
    articles.stats().unwrap_or_else(|error| panic!("{context}: {error}"));
    let clusters = articles.clusters(ClustersPage::default()).unwrap().clusters;
    assert!(clusters.len() >= 9, "{context}: {clusters:?}");
    articles.insert(Document::new(103, text(3))).unwrap();
    assert!(articles.get(&13.into()).unwrap().is_some());
    assert!(articles.delete(&3.into()).unwrap(), "{context}");
}

/// Document 13 is the oldest after the deletion of the center, and its membership is damaged.
#[test]
fn damaged_membership_does_not_hide_the_other_documents_of_a_cluster() {
    for overrides in ["", COMPONENTS] {
        let dir = filled_with(overrides);
        sql(&dir, "UPDATE members SET checksum = checksum + 1 WHERE document = 13");
        let catalog = open(dir.path()).unwrap();
        let articles = catalog.collection("articles").unwrap();
        assert!(articles.delete(&3.into()).unwrap());
        catalog.settle().unwrap();
        let cluster = articles.get(&33.into()).unwrap().unwrap().cluster.unwrap();
        let detail = articles.cluster(cluster).unwrap().unwrap();
        assert_eq!((detail.center, detail.pending), (Some(23.into()), false), "{overrides}");
    }
}

/// The documents that joined document 3 are assigned again after its deletion, although the membership of the first of them is
/// damaged.
#[test]
fn damaged_membership_does_not_hide_other_links() {
    let dir = filled_with(ONLINE);
    {
        let mut store = SqliteStore::open(dir.path(), false, false).unwrap();
        let mut change = store.begin().unwrap();
        for document in [13, 23, 33] {
            let joined = Some(3);
            let row = MemberRow {
                document,
                collection: 1,
                cluster: ClusterId(3),
                joined,
                edited: None,
                rank: None,
            };
            change.put_member(&row).unwrap();
        }
        change
            .put_cluster(1, &ClusterRow { cluster: ClusterId(3), size: 4, center: Some(3), chained: 0 })
            .unwrap();
        change.commit().unwrap();
    }
    sql(&dir, "UPDATE members SET checksum = checksum + 1 WHERE document = 13");
    let catalog = open(dir.path()).unwrap();
    let articles = catalog.collection("articles").unwrap();
    assert!(articles.delete(&3.into()).unwrap());
    catalog.settle().unwrap();
    let store = SqliteStore::open(dir.path(), false, true).unwrap();
    let read = store.reader().unwrap();
    for document in [23, 33] {
        assert_ne!(read.member(document).unwrap().unwrap().joined, Some(3), "document {document}");
    }
}

/// The index marks document 13 as a center, which it was when the directory was opened.
#[test]
fn reports_a_center_that_only_the_index_has() {
    let dir = filled();
    let put = |cluster: u64, size: u64| {
        let mut store = SqliteStore::open(dir.path(), false, false).unwrap();
        let mut change = store.begin().unwrap();
        let cluster = ClusterId(cluster);
        change
            .put_member(&MemberRow {
                document: 13,
                collection: 1,
                cluster,
                joined: None,
                edited: None,
                rank: None,
            })
            .unwrap();
        let row = ClusterRow { cluster: ClusterId(3), size, center: Some(3), chained: 0 };
        change.put_cluster(1, &row).unwrap();
        change.commit().unwrap();
    };
    put(99, 3);
    let catalog = open(dir.path()).unwrap();
    assert_eq!(catalog.verify().unwrap(), []);
    put(3, 4);
    let findings: Vec<String> = catalog.verify().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(
        findings,
        [
            "document 13 (id 13) of articles: it is marked as a center in the index, but it is not one; run `sameish index rebuild`"
        ]
    );
}

#[test]
fn damaged_events_are_left_out() {
    let dir = filled();
    let database = rusqlite::Connection::open(dir.path().join("sameish.db")).unwrap();
    let rows: Vec<(i64, i64, String)> = {
        let mut rows = database.prepare("SELECT last - count + 1, last, events FROM event_batches").unwrap();
        let rows = rows
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap()
            .map(Result::unwrap);
        rows.collect()
    };
    assert!(rows.iter().any(|(first, last, _)| (*first..=*last).contains(&3) && last > first));
    for (first, last, lines) in rows {
        let damaged = |(sequence, line): (i64, &str)| match sequence {
            // Another kind, and another id.
            2 | 40 => line.replacen("\t0\t", "\t99\t", 1),
            3 => line.replacen("\t0\t3\t", "\t0\t3\t[]", 1),
            _ => line.to_owned(),
        };
        let damaged: Vec<String> = (first..).zip(lines.lines()).map(damaged).collect();
        let values = rusqlite::params![damaged.join("\n"), last];
        database.execute("UPDATE event_batches SET events = ? WHERE last = ?", values).unwrap();
    }
    drop(database);
    let catalog = open(dir.path()).unwrap();
    let articles = catalog.collection("articles").unwrap();
    let events = articles.events(0, 4).unwrap();
    assert_eq!(events.events.iter().map(|event| event.sequence).collect::<Vec<_>>(), [1, 4]);
    assert_eq!(events.last, 4);
    let rest = articles.events(39, 500).unwrap();
    assert_eq!((rest.events.len(), rest.last), (0, 40), "a reader gets past a damaged event");
    let check = events.events[1].check;
    assert!(articles.has_event(4, check).unwrap());
    assert!(!articles.has_event(4, check ^ 1).unwrap() && !articles.has_event(2, check).unwrap());
}
