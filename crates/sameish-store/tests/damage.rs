//! What is found on disk and is not right: refused or named, never served as right, never changed.

#![allow(missing_docs, clippy::unwrap_used)]

use rusqlite::Connection;
use sameish::{ClusterId, Content, DocId, Document, Preset, SchemeId};
use sameish_store::{
    Catalog, CollectionConfig, Error, MemberRow, OpenOptions, SimilarOptions, SqliteStore, Store,
};
use std::path::{Path, PathBuf};

fn text(i: u64) -> String {
    (0..80).map(|at| format!("word{}of{}", at + i / 10, i % 10)).collect::<Vec<_>>().join(" ")
}

fn open(folder: &Path) -> sameish_store::Result<Catalog> {
    Catalog::open(folder, OpenOptions::default())
}

/// A folder with 40 documents in 10 clusters.
fn filled() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path()).unwrap();
    let articles = catalog.create("articles", CollectionConfig::new(Preset::Articles)).unwrap();
    let documents = (1..=40).map(|i| Document::new(i, text(i))).collect();
    articles.insert_many(documents).unwrap().into_iter().for_each(|answer| _ = answer.unwrap());
    folder
}

fn file(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("sameish.db")
}

fn sql(folder: &tempfile::TempDir, statement: &str) {
    let connection = Connection::open(file(folder)).unwrap();
    connection.execute_batch(statement).unwrap();
}

fn findings(folder: &tempfile::TempDir, statement: &str) -> Vec<String> {
    let catalog = open(folder.path()).unwrap();
    assert_eq!(catalog.verify().unwrap(), []);
    sql(folder, statement);
    catalog.verify().unwrap().iter().map(ToString::to_string).collect()
}

#[test]
fn files_of_others_are_refused_and_left_alone() {
    let other = {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE a (b)").unwrap();
        std::fs::read(path).unwrap()
    };
    let random: Vec<u8> = (0..100u32).map(|i| (i * 7919 % 251) as u8).collect();
    let cases: [(&str, &[u8]); 4] = [
        ("it is empty", b""),
        ("it is no SQLite database", &random),
        ("it is no SQLite database", b"a text file, and a rather long one at that".repeat(9).leak()),
        ("it is another program's database", &other),
    ];
    for (reason, bytes) in cases {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(file(&folder), bytes).unwrap();
        let error = open(folder.path()).unwrap_err();
        assert!(matches!(&error, Error::NotOurs { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(std::fs::read(file(&folder)).unwrap(), bytes);
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(file(&folder)).unwrap();
    assert!(matches!(open(folder.path()), Err(Error::NotOurs { .. })));
    std::fs::write(folder.path().join("plain"), "x").unwrap();
    assert!(open(&folder.path().join("plain")).is_err());
}

#[test]
fn a_newer_format_and_a_foreign_schema_are_refused() {
    let folder = filled();
    sql(&folder, "PRAGMA user_version = 99");
    let before = std::fs::read(file(&folder)).unwrap();
    assert!(matches!(open(folder.path()), Err(Error::Newer { found: 99, .. })));
    assert_eq!(std::fs::read(file(&folder)).unwrap(), before);
    for statement in [
        "CREATE TRIGGER spy AFTER INSERT ON documents BEGIN DELETE FROM documents; END",
        "CREATE VIEW extra AS SELECT 1",
        "CREATE TABLE extra (a)",
        "DROP INDEX members_by_joined",
    ] {
        let folder = filled();
        sql(&folder, statement);
        let error = open(folder.path()).unwrap_err();
        assert!(matches!(error, Error::NotOurs { .. }), "{statement}: {error}");
    }
}

#[test]
fn a_damaged_document_is_named_and_all_others_are_served() {
    let folder = filled();
    let found =
        findings(&folder, "UPDATE documents SET text = replace(text, 'word3of', 'wOrd3of') WHERE number = 7");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("document 7 of articles: the checksum does not fit"), "{found:?}");
    let catalog = open(folder.path()).unwrap();
    let articles = catalog.collection("articles").unwrap();
    assert!(matches!(articles.get(&7.into()), Err(Error::Damaged { .. })));
    assert!(matches!(articles.similar(&7.into(), SimilarOptions::default()), Err(Error::Damaged { .. })));
    let similar = articles.similar(&17.into(), SimilarOptions::default()).unwrap();
    let ids: Vec<DocId> = similar.similar.into_iter().map(|similar| similar.found.id).collect();
    assert!(ids.contains(&27.into()) && !ids.contains(&7.into()), "{ids:?}");
    assert!(articles.delete(&7.into()).unwrap());
    assert_eq!(catalog.verify().unwrap(), []);
}

/// What a kill leaves, as a copy made while the catalog is open.
fn killed(with_log: bool) -> tempfile::TempDir {
    let folder = filled();
    let catalog = open(folder.path()).unwrap();
    catalog.collection("articles").unwrap().insert(Document::new(41, text(41))).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let names = ["sameish.db", "sameish.db-wal", "sameish.open"];
    for name in names.iter().filter(|name| with_log || !name.ends_with("-wal")) {
        std::fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
    }
    copy
}

#[test]
fn a_lost_log_is_noticed() {
    let whole = killed(true);
    assert_eq!(open(whole.path()).unwrap().collection("articles").unwrap().len(), 41);
    // Who ends in order leaves no mark, and nothing in the log.
    assert!(!whole.path().join("sameish.open").exists());
    assert_eq!(whole.path().join("sameish.db-wal").metadata().map_or(0, |log| log.len()), 0);

    let lost = killed(false);
    let before = std::fs::read(file(&lost)).unwrap();
    for read_only in [false, true] {
        let options = OpenOptions { read_only, ..OpenOptions::default() };
        let refused = Catalog::open(lost.path(), options).unwrap_err();
        assert!(matches!(refused, Error::LogLost { .. }), "{refused}");
        assert!(refused.to_string().contains("sameish.db-wal is gone"), "{refused}");
    }
    assert_eq!(std::fs::read(file(&lost)).unwrap(), before);
    // As the message says.
    std::fs::remove_file(lost.path().join("sameish.open")).unwrap();
    assert_eq!(open(lost.path()).unwrap().collection("articles").unwrap().len(), 40);
}

#[test]
fn a_lost_store_is_not_made_anew_beside_its_log() {
    for left in ["sameish.db-wal", "sameish.open", "sameish.db.restoring"] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(left), "x").unwrap();
        let refused = open(folder.path()).unwrap_err();
        assert!(matches!(refused, Error::StoreLost { .. }), "{left}: {refused}");
        assert!(!folder.path().join("sameish.db").exists());
    }
}

#[test]
fn a_restored_folder_survives_a_kill_like_any_other() {
    let (folder, copy, again) = (filled(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    open(folder.path()).unwrap().snapshot(copy.path()).unwrap();
    Catalog::restore(copy.path(), again.path(), false).unwrap();
    let catalog = open(again.path()).unwrap();
    let after_a_kill = tempfile::tempdir().unwrap();
    for name in ["sameish.db", "sameish.db-wal", "sameish.open"] {
        std::fs::copy(again.path().join(name), after_a_kill.path().join(name)).unwrap();
    }
    let beside = Catalog::open(again.path(), OpenOptions { read_only: true, ..OpenOptions::default() });
    assert_eq!(beside.unwrap().collection("articles").unwrap().len(), 40);
    drop(catalog);
    assert_eq!(open(after_a_kill.path()).unwrap().collection("articles").unwrap().len(), 40);
    // What a second restore sets aside keeps its log beside it.
    std::fs::write(again.path().join("sameish.db.before-restore-wal"), "of an earlier one").unwrap();
    Catalog::restore(copy.path(), again.path(), true).unwrap();
    assert!(again.path().join("sameish.db.before-restore.1").exists());
}

#[test]
fn a_damaged_membership_keeps_nobody_out() {
    let folder = filled();
    sql(&folder, "UPDATE members SET checksum = checksum + 1 WHERE document IN (5, 15)");
    let catalog = open(folder.path()).unwrap();
    let articles = catalog.collection("articles").unwrap();
    let copy = Document::new(105, text(5));
    let answers = articles.insert_many(vec![copy, Document::new(107, "a stranger ".repeat(60))]).unwrap();
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert!(articles.get(&5.into()).unwrap().is_some());
    assert!([5, 15, 25, 105].iter().all(|&id| articles.delete(&DocId::Number(id)).unwrap()));
}

#[test]
fn a_damaged_id_keeps_no_other_document_out() {
    let folder = filled();
    sql(&folder, "UPDATE documents SET id = '[' WHERE number = 7");
    let catalog = open(folder.path()).unwrap();
    let articles = catalog.collection("articles").unwrap();
    assert_eq!(articles.len(), 39);
    assert!(catalog.verify().unwrap().iter().any(|found| found.to_string().contains("document 7")));
    drop(catalog);
    // An id that is one, but of another document.
    sql(&folder, "UPDATE documents SET id = '700' WHERE number = 8");
    let refused = open(folder.path()).unwrap().collection("articles").unwrap().get(&700.into());
    assert!(matches!(refused, Err(Error::Damaged { .. })));
}

#[test]
fn a_damaged_match_keeps_no_other_from_being_shown() {
    let folder = filled();
    open(folder.path()).unwrap().collection("articles").unwrap().insert(Document::new(203, text(3))).unwrap();
    sql(&folder, "UPDATE documents SET text = text || '!' WHERE number = 41");
    let articles = open(folder.path()).unwrap().collection("articles").unwrap();
    let found = articles.similar(&3.into(), SimilarOptions::default()).unwrap();
    assert!(!found.similar.is_empty() && found.similar.iter().all(|similar| similar.found.id != 203.into()));
}

#[test]
fn a_rebuild_cures_what_verify_sends_to_it() {
    let folder = filled();
    sql(&folder, "INSERT INTO fingerprints SELECT 999, collection, simhash, minhash_signature, sdr, text_key, short, word_count,
        moment, scheme, computed_at, checksum FROM fingerprints WHERE document = 1;
        UPDATE fingerprints SET word_count = 1 WHERE document = 4");
    assert!(
        !Catalog::open(folder.path(), OpenOptions { read_only: true, ..OpenOptions::default() })
            .unwrap()
            .verify()
            .unwrap()
            .is_empty()
    );
    let catalog =
        Catalog::open(folder.path(), OpenOptions { rebuild: true, ..OpenOptions::default() }).unwrap();
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn damage_of_every_kind_is_named() {
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
        ("UPDATE clusters SET size = 9 WHERE number = 3", "cluster 3"),
        ("DELETE FROM clusters WHERE number = 3", "cluster 3"),
        ("INSERT INTO clusters VALUES (99, 1, 2)", "cluster 99"),
    ];
    for (statement, object) in cases {
        let folder = filled();
        let found = findings(&folder, statement);
        assert!(found.iter().any(|found| found.starts_with(object)), "{statement}: {found:?}");
    }
}

/// Rows that fit their checksums and make no sense together.
#[test]
fn rings_and_links_to_nobody_are_named() {
    let member =
        |document, joined| MemberRow { document, collection: 1, cluster: ClusterId(3), joined: Some(joined) };
    for (rows, problem) in [
        (vec![member(3, 13), member(13, 3)], "it joined for itself, round a ring"),
        (vec![member(3, 99)], "it joined for a document that is not there"),
        (vec![member(3, 4)], "it joined for a document of another cluster"),
    ] {
        let folder = filled();
        {
            let mut store = SqliteStore::open(folder.path(), false, false).unwrap();
            let mut change = store.begin().unwrap();
            rows.iter().for_each(|row| change.put_member(row).unwrap());
            change.commit().unwrap();
        }
        let catalog = open(folder.path()).unwrap();
        let found: Vec<String> = catalog.verify().unwrap().iter().map(ToString::to_string).collect();
        assert!(found.iter().any(|found| found.contains(problem)), "{problem}: {found:?}");
        // Whoever leaves such a cluster ends no thread in a ring.
        let articles = catalog.collection("articles").unwrap();
        for id in [3, 13, 23, 33] {
            assert!(articles.delete(&DocId::Number(id)).unwrap());
        }
    }
}

#[test]
fn damaged_and_missing_sketches_are_made_again_at_the_start() {
    let folder = filled();
    let digest = open(folder.path()).unwrap().collection("articles").unwrap().digest().unwrap();
    sql(
        &folder,
        "UPDATE fingerprints SET minhash_signature = NULL WHERE document = 5;
         DELETE FROM fingerprints WHERE document IN (1, 20, 40);
         UPDATE fingerprints SET checksum = 0 WHERE document = 39",
    );
    let catalog = open(folder.path()).unwrap();
    assert_eq!(catalog.collection("articles").unwrap().digest().unwrap(), digest);
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn sketches_of_another_scheme_are_refused_with_the_remedy() {
    let folder = filled();
    let digest = open(folder.path()).unwrap().collection("articles").unwrap().digest().unwrap();
    {
        let mut store = SqliteStore::open(folder.path(), false, false).unwrap();
        let mut row = store.reader().unwrap().sketch(9).unwrap().unwrap();
        row.scheme = SchemeId::of("another");
        let mut change = store.begin().unwrap();
        change.put_sketch(&row).unwrap();
        change.commit().unwrap();
    }
    let error = open(folder.path()).unwrap_err();
    assert!(matches!(error, Error::Scheme { .. }) && error.to_string().contains("rebuild"), "{error}");
    let options = OpenOptions { rebuild: true, ..OpenOptions::default() };
    let catalog = Catalog::open(folder.path(), options).unwrap();
    assert_eq!(catalog.collection("articles").unwrap().digest().unwrap(), digest);
    drop(catalog);
    assert_eq!(open(folder.path()).unwrap().verify().unwrap(), []);
}

/// Faults anywhere in the file: refused, named, or without effect on any document.
#[test]
fn no_flipped_bit_is_served_as_right() {
    let folder = filled();
    drop(open(folder.path()).unwrap());
    let whole = std::fs::read(file(&folder)).unwrap();
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    let mut named = 0;
    for round in 0..150 {
        let copy = tempfile::tempdir().unwrap();
        let mut bytes = whole.clone();
        let at = next() as usize % bytes.len();
        let page = at / 8192 * 8192;
        match round % 5 {
            0 => bytes[page..page + 8192].fill(0),
            1 => bytes.truncate(at.max(1)),
            _ => bytes[at] ^= 1 << (next() % 8),
        }
        std::fs::write(file(&copy), &bytes).unwrap();
        let Ok(catalog) = open(copy.path()) else {
            named += 1;
            continue;
        };
        named += usize::from(!catalog.verify().map_or(true, |found| found.is_empty()));
        let unnamed = catalog.verify().is_ok_and(|found| found.is_empty());
        let articles = catalog.collection("articles");
        for i in 1..=40 {
            let stored = articles.as_ref().map(|articles| articles.get(&i.into()));
            let right =
                matches!(&stored, Ok(Ok(Some(stored))) if stored.document.content == Content::Text(text(i)));
            let refused = matches!(&stored, Err(_) | Ok(Err(_)));
            assert!(right || !unnamed, "round {round}, byte {at}: document {i} is lost and nobody says so");
            assert!(
                right || refused || matches!(stored, Ok(Ok(None))),
                "round {round}, byte {at}: document {i} is wrong"
            );
        }
    }
    assert!(named > 50, "{named}");
}

/// A document of which neither row can be read is in no index, and can still be told of, deleted and replaced.
#[test]
fn a_document_that_is_wholly_damaged_does_not_block_its_id() {
    let folder = filled();
    sql(
        &folder,
        "UPDATE documents SET checksum = 0 WHERE number IN (7, 8); UPDATE fingerprints SET checksum = 0 WHERE document IN (7, 8)",
    );
    let catalog = open(folder.path()).unwrap();
    let articles = catalog.collection("articles").unwrap();
    assert_eq!(articles.len(), 38);
    assert!(matches!(articles.get(&7.into()), Err(Error::Damaged { .. })));
    let new = articles.insert_many(vec![Document::new(7, text(7)), Document::new(50, text(50))]).unwrap();
    assert!(matches!(new[0], Err(Error::Conflict { .. })) && new[1].is_ok());
    articles.replace(Document::new(7, text(7))).unwrap();
    assert!(articles.delete(&8.into()).unwrap());
    articles.insert(Document::new(8, text(8))).unwrap();
    assert_eq!(catalog.verify().unwrap(), []);
}
