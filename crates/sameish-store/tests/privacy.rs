//! Data directories are private, and deleted texts leave them.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish::{Document, Preset};
use sameish_store::{Catalog, Collection, CollectionConfig, Error, OpenOptions, SqliteStore, Store};
use std::path::Path;
use std::time::Duration;

const WORD: &str = "quxelbarnith";

fn open(dir: &Path, erase_after: Duration) -> (Catalog, Collection) {
    let catalog = Catalog::open(dir, OpenOptions { erase_after, ..OpenOptions::default() }).unwrap();
    let collection = catalog.create("copies", CollectionConfig::new(Preset::Copies)).unwrap();
    (catalog, collection)
}

fn insert(collection: &Collection, id: u64) {
    let text = format!("{WORD} is a word of document {id}. ").repeat(500);
    collection.insert(Document::new(id, text)).unwrap();
}

/// Counts the occurrences of the word in all files of a directory.
fn occurrences(dir: &Path) -> usize {
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let count = |bytes: Vec<u8>| bytes.windows(WORD.len()).filter(|part| *part == WORD.as_bytes()).count();
    files.filter(|path| path.is_file()).map(|path| count(std::fs::read(path).unwrap())).sum()
}

#[cfg(unix)]
mod modes {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    fn assert_private(dir: &Path) {
        assert_eq!(mode(dir), 0o700, "{}", dir.display());
        let mut entries = 0;
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            entries += 1;
            if path.is_dir() {
                assert_private(&path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
            }
        }
        assert!(entries > 0);
    }

    #[test]
    fn only_the_owner_can_read_a_data_directory_its_snapshots_and_its_restores() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("data");
        let (catalog, copies) = open(&dir, Duration::ZERO);
        insert(&copies, 1);
        catalog.snapshot(dir.join("snapshots/first")).unwrap();
        Catalog::confirm_expiry(&dir).unwrap();
        for name in ["sameish.db", "sameish.db-wal", "sameish.db-shm", "sameish.open", "sameish.room"] {
            assert!(dir.join(name).exists(), "{name} is not tested");
        }
        assert_private(&dir);
        drop(copies);
        catalog.close();
        Catalog::restore(dir.join("snapshots/first"), &dir, true).unwrap();
        let new = root.path().join("restored");
        Catalog::restore(dir.join("snapshots/first"), &new, false).unwrap();
        assert_private(&dir);
        assert_private(&new);
    }

    #[test]
    fn directory_of_an_earlier_version_becomes_private_and_other_files_keep_their_rights() {
        let set =
            |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join("own");
        drop(open(&own, Duration::ZERO));
        set(&own, 0o755);
        set(&own.join("sameish.db"), 0o644);
        drop(open(&own, Duration::ZERO));
        assert_private(&own);

        let shared = root.path().join("shared");
        drop(open(&shared, Duration::ZERO));
        std::fs::write(shared.join("notes.txt"), "of another program").unwrap();
        set(&shared, 0o755);
        set(&shared.join("notes.txt"), 0o644);
        set(&shared.join("sameish.db"), 0o644);
        drop(open(&shared, Duration::ZERO));
        assert_eq!(mode(&shared), 0o755);
        assert_eq!(mode(&shared.join("notes.txt")), 0o644);
        assert_eq!(mode(&shared.join("sameish.db")), 0o600);
    }
}

#[test]
fn deleted_texts_leave_the_files_of_a_running_process() {
    let dir = tempfile::tempdir().unwrap();
    let (_catalog, copies) = open(dir.path(), Duration::from_millis(20));
    for id in 0..20 {
        insert(&copies, id);
    }
    assert!(occurrences(dir.path()) > 0);
    for id in 0..20 {
        match id % 2 {
            0 => assert!(copies.delete(&id.into()).unwrap()),
            _ => drop(copies.replace(Document::new(id, "another text")).unwrap()),
        }
    }
    while occurrences(dir.path()) > 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn compaction_removes_deleted_texts_and_free_space() {
    let dir = tempfile::tempdir().unwrap();
    let (catalog, copies) = open(dir.path(), Duration::from_secs(3_600));
    for id in 0..40 {
        insert(&copies, id);
    }
    copies.delete_many((0..40).map(Into::into).collect()).unwrap();
    assert!(occurrences(dir.path()) > 0, "the log contains the texts");
    let before = catalog.bytes().unwrap();
    catalog.compact().unwrap();
    assert_eq!(occurrences(dir.path()), 0);
    assert!(catalog.bytes().unwrap() < before / 2);
    let database = rusqlite::Connection::open(dir.path().join("sameish.db")).unwrap();
    let free_pages: i64 = database.query_row("PRAGMA freelist_count", [], |row| row.get(0)).unwrap();
    assert_eq!(free_pages, 0, "the file has no free space");
    drop(database);
    insert(&copies, 1);
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn collection_that_is_dropped_rejects_later_writes() {
    let dir = tempfile::tempdir().unwrap();
    let (catalog, copies) = open(dir.path(), Duration::from_millis(20));
    insert(&copies, 1);
    assert!(catalog.drop_collection("copies").unwrap());
    let again = catalog.create("copies", CollectionConfig::new(Preset::Copies)).unwrap();
    let rejected = copies.insert(Document::new(2, "a text of three words"));
    assert!(matches!(rejected, Err(Error::NoCollection { .. })), "{rejected:?}");
    assert!(matches!(copies.replace(Document::new(2, "a text")), Err(Error::NoCollection { .. })));
    assert!(matches!(copies.delete(&1.into()), Err(Error::NoCollection { .. })));
    assert!(again.is_empty());
    while occurrences(dir.path()) > 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(catalog.verify().unwrap(), []);
}

#[test]
fn drops_a_collection_of_a_closed_directory() {
    let dir = tempfile::tempdir().unwrap();
    let (catalog, copies) = open(dir.path(), Duration::ZERO);
    insert(&copies, 1);
    assert!(matches!(Catalog::drop_stored(dir.path(), "copies"), Err(Error::InUse { .. })));
    drop(copies);
    catalog.close();
    assert!(!Catalog::drop_stored(dir.path(), "absent").unwrap());
    assert!(Catalog::drop_stored(dir.path(), "copies").unwrap());
    assert_eq!(occurrences(dir.path()), 0);
    let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
    assert!(catalog.collections().is_empty());
    assert_eq!(catalog.verify().unwrap(), []);
}

/// Version 0.1.0 accepted settings with which a document takes 68 MB.
#[test]
fn collection_with_settings_that_are_too_expensive_can_be_dropped() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path(), Duration::ZERO));
    let mut store = SqliteStore::open(dir.path(), false, false).unwrap();
    let mut row = store.reader().unwrap().collections().unwrap().remove(0).row.unwrap();
    row.number += 1;
    row.name = "huge".into();
    let sdr = Preset::Sdr.config().to_toml();
    row.config = sdr.replace("size = 2048", "size = 16777216");
    assert_ne!(row.config, sdr);
    let mut change = store.begin().unwrap();
    change.put_collection(&row).unwrap();
    change.commit().unwrap();
    drop(store);
    let names = |catalog: &Catalog| {
        catalog.unavailable().into_iter().map(|collection| collection.name).collect::<Vec<_>>()
    };
    let (catalog, copies) = open(dir.path(), Duration::ZERO);
    assert_eq!(names(&catalog), ["huge"]);
    insert(&copies, 1);
    drop(copies);
    catalog.close();
    assert!(Catalog::drop_stored(dir.path(), "huge").unwrap());
    let (catalog, copies) = open(dir.path(), Duration::ZERO);
    assert!(names(&catalog).is_empty());
    assert_eq!(copies.len(), 1);
}

/// The process may be killed at any step of the deletion of a large collection.
#[test]
fn rows_of_a_dropped_collection_are_removed_by_the_next_process() {
    use sameish_store::{SqliteStore, Store};
    let dir = tempfile::tempdir().unwrap();
    let (catalog, copies) = open(dir.path(), Duration::ZERO);
    for id in 1..=40 {
        insert(&copies, id);
    }
    let other = catalog.create("other", CollectionConfig::new(Preset::Copies)).unwrap();
    other.insert(Document::new(1, "a text of another collection")).unwrap();
    drop((copies, other));
    catalog.close();
    let mut store = SqliteStore::open(dir.path(), false, false).unwrap();
    let mut change = store.begin().unwrap();
    change.drop_collection(1).unwrap();
    assert!(change.remove_rows(1, 3).unwrap());
    change.commit().unwrap();
    drop(store);
    assert!(occurrences(dir.path()) > 0);

    let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
    assert!(matches!(catalog.collection("copies"), Err(Error::NoCollection { .. })));
    assert_eq!(catalog.collection("other").unwrap().len(), 1);
    catalog.compact().unwrap();
    assert_eq!(occurrences(dir.path()), 0, "compaction completes the deletion");
    assert_eq!(catalog.verify().unwrap(), []);
    catalog.close();
    let store = SqliteStore::open(dir.path(), false, false).unwrap();
    assert!(store.reader().unwrap().dropped_collections().unwrap().is_empty());
}
