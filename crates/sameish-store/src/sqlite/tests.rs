//! Tests of opening, upgrading and configuring a file.

#![allow(clippy::unwrap_used)]
use super::open::{Access, immutable_uri, probe_path};
use super::*;
use crate::{Catalog, CollectionConfig, Health, OpenOptions};
use sameish::{Document, Preset};

const NEXT_STEP: &str = "ALTER TABLE documents ADD COLUMN note TEXT";

impl SqliteStore {
    fn setting(&self, pragma: &str) -> rusqlite::types::Value {
        self.connection.pragma_query_value(None, pragma, |row| row.get(0)).unwrap()
    }
}

fn open(dir: &tempfile::TempDir, access: Access, steps: &[&str]) -> Result<SqliteStore> {
    SqliteStore::open_file(&dir.path().join(FILE), access, steps, Backup::BeforeUpgrade)
}

/// Returns a directory with a store of the current format.
fn created() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    drop(open(&dir, Access::Create, schema::MIGRATIONS).unwrap());
    dir
}

#[test]
fn upgrades_an_older_format_after_a_backup() {
    let dir = created();
    let current = schema::MIGRATIONS.len() as i64;
    let newer = [schema::MIGRATIONS, &[NEXT_STEP]].concat();
    let read_only = open(&dir, Access::Read, &newer);
    assert!(matches!(read_only, Err(Error::Database { .. })), "a read-only open cannot upgrade");
    drop(open(&dir, Access::Write, &newer).unwrap());
    let copy = dir.path().join(format!("sameish.format-{current}.db"));
    assert!(SqliteStore::check_file(&copy).is_ok());
    let older_version = SqliteStore::open(dir.path(), false, false);
    let Err(Error::Newer { found, supported, .. }) = older_version else {
        panic!("an older version opens it")
    };
    assert_eq!((found, supported), (current + 1, current));
    drop(open(&dir, Access::Write, &newer).unwrap());
}

/// An upgrade that is killed between two steps leaves format 2, too.
#[test]
fn documents_of_format_2_are_readable_and_accept_metadata() {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/store-0.1.0/sameish.db");
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(stored, dir.path().join(FILE)).unwrap();
    drop(open(&dir, Access::Write, &schema::MIGRATIONS[..2]).unwrap());
    let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
    assert!(SqliteStore::check_file(&dir.path().join("sameish.format-2.db")).is_ok());
    let articles = catalog.collection("articles").unwrap();
    let mut document = articles.get(&"copy-0".into()).unwrap().unwrap().document;
    assert_eq!(document.metadata, None);
    document.metadata = Some(r#"{"topic":"bridges"}"#.into());
    articles.replace(document.clone()).unwrap();
    assert_eq!(articles.get(&"copy-0".into()).unwrap().unwrap().document, document);
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn failed_upgrade_keeps_the_old_format() {
    let dir = created();
    let invalid = [schema::MIGRATIONS, &["CREATE TABLE half (a); SELECT nonsense"]].concat();
    assert!(open(&dir, Access::Write, &invalid).is_err());
    drop(SqliteStore::open(dir.path(), false, false).unwrap());
}

/// A directory in place of the probe file makes the directory look read-only, also to the superuser.
#[test]
fn reads_from_a_directory_that_is_not_writable() {
    let dir = created();
    let names = || {
        let entries = std::fs::read_dir(dir.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
    };
    _ = std::fs::remove_file(wal::wal_path(&dir.path().join(FILE)));
    _ = std::fs::remove_file(dir.path().join("sameish.db-shm"));
    std::fs::create_dir(probe_path(dir.path())).unwrap();
    let before = names();
    let store = open(&dir, Access::Read, schema::MIGRATIONS).unwrap();
    assert_eq!(store.mode, Mode::Immutable);
    let reader = store.reader().unwrap();
    assert!(reader.collections().unwrap().is_empty());
    assert_eq!(names(), before, "reading creates no files");
    drop((store, reader));

    std::fs::remove_dir(probe_path(dir.path())).unwrap();
    assert_eq!(open(&dir, Access::Read, schema::MIGRATIONS).unwrap().mode, Mode::Read);
}

#[test]
fn writes_with_full_sync_and_overwrites_deleted_data() {
    let dir = created();
    let store = SqliteStore::open(dir.path(), false, false).unwrap();
    assert_eq!(store.setting("journal_mode"), "wal".to_owned().into());
    assert_eq!(store.setting("synchronous"), 2.into());
    assert_eq!(store.setting("secure_delete"), 1.into());
}

#[test]
fn releasing_the_reserve_removes_its_file_and_stops_checkpoints() {
    let dir = created();
    let file = dir.path().join("sameish.room");
    let mut store = SqliteStore::open(dir.path(), false, false).unwrap();
    assert!(!store.release_space(), "nothing is reserved yet");
    for _ in 0..2 {
        store.reserve_space().unwrap();
        assert!(file.exists());
        assert_eq!(store.setting("wal_autocheckpoint"), i64::from(CHECKPOINT_PAGES).into());
        assert!(store.release_space());
        assert!(!file.exists());
        assert_eq!(store.setting("wal_autocheckpoint"), 0.into());
    }
}

#[test]
fn statements_are_planned_once() {
    use rusqlite::StatementStatus::RePrepare;
    let dir = created();
    let store = SqliteStore::open(dir.path(), false, false).unwrap();
    let sql = "SELECT 1 FROM members WHERE cluster = ? AND document >= ? ORDER BY document LIMIT ?";
    for number in 1..10 {
        let mut statement = store.connection.prepare_cached(sql).unwrap();
        assert!(!statement.exists([number, number, number]).unwrap());
    }
    assert_eq!(store.connection.prepare_cached(sql).unwrap().get_status(RePrepare), 0);
}

#[test]
fn percent_encodes_special_characters_in_the_uri() {
    let uri = immutable_uri(Path::new("/a b/c?d#e%f/ü.db"));
    assert_eq!(uri, "file:/a%20b/c%3Fd%23e%25f/%C3%BC.db?immutable=1");
}

/// A limit on the number of pages acts like a full disk.
#[test]
fn full_disk_rejects_inserts_until_deletes_free_space() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), true, false).unwrap();
    store.connection.query_row("PRAGMA max_page_count = 60", [], |_| Ok(())).unwrap();
    let catalog = Catalog::over(Box::new(store), dir.path(), OpenOptions::default()).unwrap();
    let articles = catalog.create("articles", CollectionConfig::new(Preset::Articles)).unwrap();
    let text = |i: u64| (0..300).map(|at| format!("word{at}of{i}")).collect::<Vec<_>>().join(" ");
    let mut stored = 0;
    let rejected = loop {
        match articles.insert(Document::new(stored, text(stored))) {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(rejected, Error::Full), "{rejected}");
    assert_eq!(catalog.health(), Health::Full);
    assert_eq!(articles.len() as u64, stored);
    assert!(articles.get(&0.into()).unwrap().is_some());
    for id in 0..5 {
        assert!(articles.delete(&id.into()).unwrap());
    }
    articles.insert(Document::new(1000, text(1000))).unwrap();
    assert_eq!(catalog.health(), Health::Ready);
    assert_eq!(catalog.verify().unwrap(), []);
}
