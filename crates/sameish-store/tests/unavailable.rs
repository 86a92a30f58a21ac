//! Collections that cannot be used: others are served, and their data is not changed.

#![allow(clippy::unwrap_used)]

use sameish::{Document, Preset};
use sameish_store::{Catalog, CollectionConfig, Error, OpenOptions};
use std::path::Path;

/// A change to the database after which the collection `broken`, number 1, cannot be used.
struct Case {
    damage: &'static str,
    /// The name of the collection with the damage.
    name: &'static str,
    reason: &'static str,
    remedy: &'static str,
}

const CASES: [Case; 6] = [
    Case {
        damage: "UPDATE collections SET retention_days = 1 WHERE number = 1",
        name: "broken",
        reason: "its settings are damaged: the checksum does not match",
        remedy: "restore",
    },
    Case {
        damage: "UPDATE collections SET name = x'ff' WHERE number = 1",
        name: "collection:1",
        reason: "its settings are damaged: column 1",
        remedy: "index drop",
    },
    Case {
        damage: "UPDATE collections SET name = 'no such/name' WHERE number = 1",
        name: "collection:1",
        reason: "its settings are damaged",
        remedy: "index drop",
    },
    Case {
        damage: "UPDATE collections SET config = 'threshold = ' WHERE number = 1",
        name: "broken",
        reason: "its settings are damaged",
        remedy: "index drop",
    },
    // Both have valid checksums.
    Case { damage: "settings", name: "broken", reason: "this version does not accept", remedy: "index drop" },
    Case { damage: "scheme", name: "broken", reason: "a different scheme", remedy: "index rebuild" },
];

fn text(id: u64) -> String {
    (0..30).map(|at| format!("word{at}of{}", id % 3)).collect::<Vec<_>>().join(" ")
}

fn open(dir: &Path) -> Catalog {
    Catalog::open(dir, OpenOptions { create: false, ..OpenOptions::default() }).unwrap()
}

/// Returns a directory with the collections `broken` and `intact` of nine documents each.
fn filled() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
    for name in ["broken", "intact"] {
        let collection = catalog.create(name, CollectionConfig::new(Preset::Copies)).unwrap();
        (0..9).for_each(|id| _ = collection.insert(Document::new(id, text(id))).unwrap());
    }
    dir
}

fn database(dir: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(dir.join("sameish.db")).unwrap()
}

fn damage(dir: &Path, damage: &str) {
    use sameish_store::{SqliteStore, Store};
    if !matches!(damage, "settings" | "scheme") {
        return database(dir).execute_batch(damage).unwrap();
    }
    let mut store = SqliteStore::open(dir, false, false).unwrap();
    let mut row = store.reader().unwrap().collections().unwrap().remove(0).row.unwrap();
    let mut sketch = store.reader().unwrap().sketch(4).unwrap().unwrap();
    let sdr = Preset::Sdr.config().to_toml();
    row.config = sdr.replace("size = 2048", "size = 16777216");
    assert_ne!(row.config, sdr);
    sketch.scheme = sameish::sketch::SchemeId::of("another");
    let mut change = store.begin().unwrap();
    match damage {
        "settings" => change.put_collection(&row).unwrap(),
        _ => change.put_sketch(&sketch).unwrap(),
    }
    change.commit().unwrap();
}

/// Returns all rows of the collection `broken`, except for its own row.
fn rows(dir: &Path) -> Vec<String> {
    let database = database(dir);
    let mut rows = Vec::new();
    for table in ["documents", "fingerprints", "members", "clusters", "tasks"] {
        let sql = format!("SELECT * FROM {table} WHERE collection = 1");
        let mut statement = database.prepare(&sql).unwrap();
        let columns = statement.column_count();
        let mut found = statement.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            let values: Vec<_> = (0..columns).map(|column| format!("{:?}", row.get_ref(column))).collect();
            rows.push(format!("{table} {values:?}"));
        }
    }
    rows
}

#[test]
fn other_collections_are_served_and_the_data_is_not_changed() {
    for Case { damage: change, name, reason, remedy } in CASES {
        let dir = filled();
        damage(dir.path(), change);
        let before = rows(dir.path());
        assert!(before.len() > 27, "{before:?}");

        let catalog = open(dir.path());
        let unavailable = catalog.unavailable();
        assert_eq!(unavailable.len(), 1, "{change}");
        assert_eq!(unavailable[0].name, name);
        assert!(unavailable[0].reason.contains(reason), "{change}: {}", unavailable[0]);
        assert!(unavailable[0].remedy.contains(remedy), "{change}: {}", unavailable[0]);
        assert!(
            matches!(catalog.collection(name), Err(Error::Unavailable(found)) if found == unavailable[0])
        );
        let created = catalog.create(name, CollectionConfig::new(Preset::Copies)).map(|_| ());
        assert!(matches!(created, Err(Error::Unavailable(_) | Error::BadName { .. })), "{created:?}");

        let names: Vec<String> =
            catalog.collections().iter().map(|collection| collection.name().to_owned()).collect();
        assert_eq!(names, ["intact"]);
        let intact = catalog.collection("intact").unwrap();
        let inserted = intact.insert(Document::new(100, text(0))).unwrap();
        assert_eq!(inserted.duplicates.len(), 3);
        assert!(intact.delete(&0.into()).unwrap());
        catalog.settle().unwrap();
        let findings = catalog.verify().unwrap();
        assert_eq!(findings.len(), 1, "{change}: {findings:?}");
        assert_eq!(findings[0].object, format!("collection {name}"));
        assert!(findings[0].problem.contains(reason), "{findings:?}");
        drop(intact);
        catalog.close();
        assert_eq!(rows(dir.path()), before, "{change}");
    }
}

#[test]
fn unavailable_collection_can_be_deleted() {
    for Case { damage: change, name, .. } in CASES {
        for is_open in [true, false] {
            let dir = filled();
            damage(dir.path(), change);
            if is_open {
                let catalog = open(dir.path());
                assert!(catalog.drop_collection(name).unwrap());
                assert!(!catalog.drop_collection(name).unwrap());
                assert!(catalog.unavailable().is_empty());
                catalog.compact().unwrap();
                catalog.create("broken", CollectionConfig::new(Preset::Headlines)).unwrap();
            } else {
                assert!(Catalog::drop_stored(dir.path(), name).unwrap());
            }
            assert_eq!(rows(dir.path()), [""; 0], "{change}");
            let catalog = open(dir.path());
            assert!(catalog.unavailable().is_empty());
            assert_eq!(catalog.collection("intact").unwrap().len(), 9);
            assert_eq!(catalog.verify().unwrap(), []);
        }
    }
}

#[test]
fn collection_is_available_again_with_all_documents_when_the_damage_is_repaired() {
    let dir = filled();
    damage(dir.path(), "UPDATE collections SET window_days = 5 WHERE number = 1");
    assert_eq!(open(dir.path()).unavailable().len(), 1);
    damage(dir.path(), "UPDATE collections SET window_days = NULL WHERE number = 1");
    let catalog = open(dir.path());
    assert!(catalog.unavailable().is_empty());
    assert_eq!(catalog.collection("broken").unwrap().len(), 9);
    assert_eq!(catalog.verify().unwrap(), []);
}
