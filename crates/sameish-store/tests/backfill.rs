//! Sketches in the user's own database.

#![allow(missing_docs, clippy::unwrap_used)]

use rusqlite::Connection;
use sameish::{Analyzer, Content, Fingerprint, Preset, Scratch, Signature};
use sameish_store::{Backfill, Backfilled, Error, Target, TextSource};
use std::path::PathBuf;

struct Database {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn database(sql: &str) -> Database {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("user.db");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    Database { _dir: dir, path }
}

impl Database {
    fn value<T: rusqlite::types::FromSql>(&self, sql: &str) -> T {
        Connection::open(&self.path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn schema(&self) -> String {
        self.value("SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema ORDER BY name)")
    }
}

fn source(table: Option<&str>, text: &str, query: Option<&str>) -> TextSource {
    TextSource {
        table: table.map(str::to_owned),
        id: "id".into(),
        text: text.into(),
        query: query.map(str::to_owned),
    }
}

fn run(
    database: &Database,
    source: TextSource,
    target: Target,
    preset: Preset,
) -> sameish_store::Result<Backfilled> {
    let analyzer = Analyzer::new(preset.config()).unwrap();
    Backfill::open(&database.path, source, target)?.run(&analyzer, &mut |_| true)
}

const ITEMS: &str = "CREATE TABLE items (id INTEGER PRIMARY KEY, title TEXT);
    INSERT INTO items VALUES (1, 'SpaceX acquires xAI for $2 billion'), (2, NULL), (3, ''), (4, 'Breaking news'),
    (5, 'Parliament passes the long delayed water reform bill');";

#[test]
fn adds_and_fills_a_missing_column() {
    let database = database(ITEMS);
    let before = database.schema();
    let items = || source(Some("items"), "title", None);
    let done = run(&database, items(), Target::Column, Preset::Headlines).unwrap();
    assert_eq!(done, Backfilled { computed: 2, too_short: 1, skipped: 3, before: 0, added: true });
    let signature: Vec<u8> = database.value("SELECT minhash_signature FROM items WHERE id = 1");
    let analyzer = Analyzer::new(Preset::Headlines.config()).unwrap();
    let content = Content::Text("SpaceX acquires xAI for $2 billion".into());
    let expected = analyzer.sketch(&content, &mut Scratch::default()).minhash.unwrap();
    assert_eq!((signature.len(), Signature::from_bytes(&signature).unwrap()), (400, expected));
    assert_eq!(database.value::<i64>("SELECT count(*) FROM items WHERE minhash_signature IS NULL"), 3);

    let again = run(&database, items(), Target::Column, Preset::Headlines).unwrap();
    assert_eq!(again, Backfilled { computed: 0, too_short: 1, skipped: 3, before: 2, added: false });
    let other = run(&database, items(), Target::Column, Preset::Copies);
    assert!(other.unwrap_err().to_string().contains("other settings"));
    let mut backfill = Backfill::open(&database.path, items(), Target::Column).unwrap();
    assert!(backfill.undo().unwrap());
    assert!(!backfill.undo().unwrap());
    assert_eq!(database.schema(), before);
}

#[test]
fn creates_a_table_for_articles_with_texts_from_a_query() {
    let words = (0..80).map(|i| format!("word{i}")).collect::<Vec<_>>().join(" ");
    let database = database(&format!(
        "CREATE TABLE content_storage (id INTEGER PRIMARY KEY, url TEXT);
         CREATE TABLE content_analysis (content_id INTEGER, body_text TEXT);
         INSERT INTO content_storage VALUES (10, 'a'), (11, 'b'), (12, 'c');
         INSERT INTO content_analysis VALUES (10, '{words}'), (11, 'a short one'), (12, NULL);"
    ));
    let before = database.schema();
    let query =
        "SELECT s.id, a.body_text FROM content_storage s JOIN content_analysis a ON a.content_id = s.id";
    let articles = || source(Some("content_storage"), "unused", Some(query));
    let done = run(&database, articles(), Target::Table, Preset::Articles).unwrap();
    assert_eq!(done, Backfilled { computed: 2, too_short: 1, skipped: 1, before: 0, added: true });
    assert!(
        database.schema().contains("content_id INTEGER PRIMARY KEY REFERENCES \"content_storage\" (\"id\")")
    );
    let fingerprint: Vec<u8> =
        database.value("SELECT simhash FROM article_fingerprints WHERE content_id = 10");
    let analyzer = Analyzer::new(Preset::Articles.config()).unwrap();
    let sketches = analyzer.sketch(&Content::Text(words), &mut Scratch::default());
    assert_eq!(Fingerprint::from_bytes(&fingerprint).unwrap(), sketches.simhash.unwrap());
    let rows: Vec<u8> =
        database.value("SELECT minhash_signature FROM article_fingerprints WHERE content_id = 10");
    assert_eq!(rows.len(), 512);
    let short: Option<Vec<u8>> =
        database.value("SELECT minhash_signature FROM article_fingerprints WHERE content_id = 11");
    assert_eq!(short, None);

    Connection::open(&database.path)
        .unwrap()
        .execute_batch("INSERT INTO content_storage VALUES (13, 'd'); INSERT INTO content_analysis VALUES (13, 'new one')")
        .unwrap();
    let again = run(&database, articles(), Target::Table, Preset::Articles).unwrap();
    assert_eq!((again.computed, again.before, again.added), (1, 2, false));
    assert!(Backfill::open(&database.path, articles(), Target::Table).unwrap().undo().unwrap());
    assert_eq!(database.schema(), before);
}

#[test]
fn continues_an_interrupted_run() {
    let database = database(
        "CREATE TABLE items (id TEXT, title TEXT);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1300)
         INSERT INTO items SELECT 'id' || i, 'a headline of enough different words numbered ' || i FROM n;",
    );
    let items = || source(Some("items"), "title", None);
    let analyzer = Analyzer::new(Preset::Headlines.config()).unwrap();
    let mut first = Backfill::open(&database.path, items(), Target::Column).unwrap();
    let done = first.run(&analyzer, &mut |_| false).unwrap();
    assert_eq!(done.computed, 512);
    drop(first);
    let done = run(&database, items(), Target::Column, Preset::Headlines).unwrap();
    assert_eq!((done.computed, done.before), (788, 512));
    assert_eq!(database.value::<i64>("SELECT count(*) FROM items WHERE minhash_signature IS NULL"), 0);
}

#[test]
fn rejects_invalid_sources_and_changes_nothing() {
    let sql =
        format!("{ITEMS} CREATE TABLE repeated (id, title); INSERT INTO repeated VALUES (1, 'a'), (1, 'b');");
    let database = database(&sql);
    let before = std::fs::read(&database.path).unwrap();
    for (source, target, reason) in [
        (source(Some("absent"), "title", None), Target::Column, "table `absent` does not exist"),
        (source(Some("items"), "body", None), Target::Column, "has no column `body`; it has id, title"),
        (source(Some("repeated"), "title", None), Target::Column, "duplicate ids"),
        (source(None, "title", None), Target::Table, "pass `--table`"),
        (source(None, "title", Some("SELECT 1, 2")), Target::Column, "the column has no table"),
        (source(None, "title", Some("DROP TABLE items")), Target::Table, "syntax error"),
        (source(None, "title", Some("SELECT 1")), Target::Table, "source"),
    ] {
        let error = run(&database, source, target, Preset::Articles).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
    assert_eq!(std::fs::read(&database.path).unwrap(), before);
    std::fs::write(&database.path, "text").unwrap();
    let error = run(&database, source(Some("items"), "title", None), Target::Column, Preset::Headlines);
    assert!(matches!(error, Err(Error::Damaged { .. })));
}

#[test]
fn fills_an_existing_column_and_never_drops_it() {
    let database = database(&format!(
        "{ITEMS} ALTER TABLE items ADD COLUMN minhash_signature BLOB; UPDATE items SET minhash_signature = x'00' WHERE id = 5;"
    ));
    let items = || source(Some("items"), "title", None);
    let done = run(&database, items(), Target::Column, Preset::Headlines).unwrap();
    assert_eq!((done.computed, done.before, done.added), (1, 1, false));
    assert_eq!(database.value::<Vec<u8>>("SELECT minhash_signature FROM items WHERE id = 5"), [0]);
    let undone = Backfill::open(&database.path, items(), Target::Column).unwrap().undo();
    assert!(undone.unwrap_err().to_string().contains("existed before the first run"));
    assert_eq!(database.value::<i64>("SELECT length(minhash_signature) FROM items WHERE id = 1"), 400);
}

#[test]
fn skips_ids_without_a_source_row_and_references_only_keys() {
    let text = "Some words of an article that is long enough to have all of its sketches. ".repeat(8);
    let keyed = database(&format!(
        "CREATE TABLE items (id INTEGER PRIMARY KEY); INSERT INTO items VALUES (1), (2);
         CREATE TABLE bodies (item INTEGER, body TEXT);
         INSERT INTO bodies VALUES (1, '{text}'), (2, '{text}'), (3, '{text}')"
    ));
    let query = "SELECT item, body FROM bodies";
    let done =
        run(&keyed, source(Some("items"), "body", Some(query)), Target::Table, Preset::Articles).unwrap();
    assert_eq!((done.computed, done.skipped), (2, 1));
    assert!(keyed.schema().contains("REFERENCES"));
    assert_eq!(keyed.value::<i64>("SELECT count(*) FROM pragma_foreign_key_check"), 0);

    let unkeyed = database(&format!(
        "CREATE TABLE items (id INTEGER, body TEXT); INSERT INTO items VALUES (1, '{text}')"
    ));
    let done = run(&unkeyed, source(Some("items"), "body", None), Target::Table, Preset::Articles).unwrap();
    assert_eq!(done.computed, 1);
    assert!(!unkeyed.schema().contains("REFERENCES"));
    let insert = "PRAGMA foreign_keys = ON; INSERT INTO article_fingerprints VALUES (9, x'00', NULL, NULL)";
    Connection::open(&unkeyed.path).unwrap().execute_batch(insert).unwrap();
}
