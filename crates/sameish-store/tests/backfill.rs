//! Sketches in the user's own database.

#![allow(missing_docs, clippy::unwrap_used)]

use rusqlite::Connection;
use sameish::{Analyzer, Content, Fingerprint, Preset, Scratch, Signature};
use sameish_store::{Backfill, Backfilled, Error, Foreign, Target, TextSource, Undone};
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
    run_with(database, source, target, preset, Foreign::Refuse)
}

fn run_with(
    database: &Database,
    source: TextSource,
    target: Target,
    preset: Preset,
    foreign: Foreign,
) -> sameish_store::Result<Backfilled> {
    let analyzer = Analyzer::new(preset.config()).unwrap();
    Backfill::open(&database.path, source, target)?.run(&analyzer, foreign, &mut |_| true)
}

fn undo(database: &Database, source: TextSource, target: Target) -> sameish_store::Result<Undone> {
    Backfill::open(&database.path, source, target)?.undo()
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
    assert_eq!(
        done,
        Backfilled { computed: 2, too_short: 1, skipped: 3, added: true, ..Backfilled::default() }
    );
    let signature: Vec<u8> = database.value("SELECT minhash_signature FROM items WHERE id = 1");
    let analyzer = Analyzer::new(Preset::Headlines.config()).unwrap();
    let content = Content::Text("SpaceX acquires xAI for $2 billion".into());
    let expected = analyzer.sketch(&content, &mut Scratch::default()).minhash.unwrap();
    assert_eq!((signature.len(), Signature::from_bytes(&signature).unwrap()), (400, expected));
    assert_eq!(database.value::<i64>("SELECT count(*) FROM items WHERE minhash_signature IS NULL"), 3);

    let again = run(&database, items(), Target::Column, Preset::Headlines).unwrap();
    assert_eq!(again, Backfilled { too_short: 1, skipped: 3, before: 2, ..Backfilled::default() });
    let other = run(&database, items(), Target::Column, Preset::Copies);
    assert!(other.unwrap_err().to_string().contains("other settings"));
    let mut backfill = Backfill::open(&database.path, items(), Target::Column).unwrap();
    assert_eq!(backfill.undo().unwrap(), Undone { removed: 2, kept: 0, dropped: true });
    assert_eq!(backfill.undo().unwrap(), Undone::default());
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
    assert_eq!(
        done,
        Backfilled { computed: 2, too_short: 1, skipped: 1, added: true, ..Backfilled::default() }
    );
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
    assert_eq!(
        undo(&database, articles(), Target::Table).unwrap(),
        Undone { removed: 3, kept: 0, dropped: true }
    );
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
    let done = first.run(&analyzer, Foreign::Refuse, &mut |_| false).unwrap();
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

/// The signatures of two equal headlines must be comparable, whoever wrote the first one.
#[test]
fn refuses_or_replaces_values_of_another_program_and_undo_restores_them() {
    let database = database(&format!(
        "{ITEMS} ALTER TABLE items ADD COLUMN minhash_signature BLOB; UPDATE items SET minhash_signature = x'00' WHERE id = 5;"
    ));
    let items = || source(Some("items"), "title", None);
    let before = std::fs::read(&database.path).unwrap();
    let refused = run(&database, items(), Target::Column, Preset::Headlines).unwrap_err().to_string();
    assert!(
        refused.contains("did not write") && refused.contains("id 5") && refused.contains("--recompute"),
        "{refused}"
    );
    assert_eq!(std::fs::read(&database.path).unwrap(), before, "nothing was changed");

    let done = run_with(&database, items(), Target::Column, Preset::Headlines, Foreign::Replace).unwrap();
    assert_eq!((done.computed, done.replaced, done.before, done.added), (2, 1, 0, false));
    assert_eq!(database.value::<i64>("SELECT min(length(minhash_signature)) FROM items"), 400);
    let again = run(&database, items(), Target::Column, Preset::Headlines).unwrap();
    assert_eq!((again.computed, again.before), (0, 2));

    let undone = undo(&database, items(), Target::Column).unwrap();
    assert_eq!(undone, Undone { removed: 2, kept: 0, dropped: false });
    assert_eq!(database.value::<Vec<u8>>("SELECT minhash_signature FROM items WHERE id = 5"), [0]);
    assert_eq!(database.value::<Option<Vec<u8>>>("SELECT minhash_signature FROM items WHERE id = 1"), None);
}

#[test]
fn detects_values_and_texts_that_changed_since_the_last_run() {
    let database = database(ITEMS);
    let items = || source(Some("items"), "title", None);
    let execute = |sql: &str| Connection::open(&database.path).unwrap().execute_batch(sql).unwrap();
    run(&database, items(), Target::Column, Preset::Headlines).unwrap();
    let signature = || database.value::<Option<Vec<u8>>>("SELECT minhash_signature FROM items WHERE id = 1");
    let first = signature();

    execute("UPDATE items SET title = 'Quite another headline with enough words in it' WHERE id = 1");
    let done = run(&database, items(), Target::Column, Preset::Headlines).unwrap();
    assert_eq!((done.computed, done.changed, done.before), (1, 1, 1));
    assert_ne!(signature(), first);
    execute("UPDATE items SET title = NULL WHERE id = 1");
    let done = run(&database, items(), Target::Column, Preset::Headlines).unwrap();
    assert_eq!((done.computed, done.before, signature()), (0, 1, None));

    execute("UPDATE items SET minhash_signature = x'0102' WHERE id = 5");
    let refused = run(&database, items(), Target::Column, Preset::Headlines).unwrap_err().to_string();
    assert!(refused.contains("changed since"), "{refused}");
    let undone = undo(&database, items(), Target::Column).unwrap();
    assert_eq!(undone, Undone { removed: 0, kept: 1, dropped: false });
    assert_eq!(database.value::<Vec<u8>>("SELECT minhash_signature FROM items WHERE id = 5"), [1, 2]);
}

#[test]
fn recomputes_values_of_other_settings_on_request() {
    let database = database(ITEMS);
    let items = || source(Some("items"), "title", None);
    run(&database, items(), Target::Column, Preset::Headlines).unwrap();
    let done = run_with(&database, items(), Target::Column, Preset::Copies, Foreign::Replace).unwrap();
    assert_eq!((done.computed, done.replaced, done.before), (2, 0, 0));
    assert_eq!(database.value::<i64>("SELECT max(length(minhash_signature)) FROM items"), 512);
    let refused = run(&database, items(), Target::Column, Preset::Headlines).unwrap_err();
    assert!(refused.to_string().contains("other settings"), "{refused}");
    assert!(undo(&database, items(), Target::Column).unwrap().dropped);
}

#[test]
fn fills_a_table_that_has_more_columns_and_undoes_exactly_that() {
    let text = "Some words of an article that is long enough to have all of its sketches. ".repeat(8);
    let database = database(&format!(
        "CREATE TABLE items (id INTEGER PRIMARY KEY, body TEXT);
         INSERT INTO items VALUES (1, '{text}'), (2, '{text} other'), (3, NULL);
         CREATE TABLE article_fingerprints (note TEXT DEFAULT 'theirs', content_id INTEGER PRIMARY KEY,
           simhash BLOB NOT NULL, minhash_signature BLOB, computed_at TEXT);
         INSERT INTO article_fingerprints VALUES ('kept', 1, x'07', NULL, 'then');"
    ));
    let items = || source(Some("items"), "body", None);
    assert!(run(&database, items(), Target::Table, Preset::Articles).is_err());
    let done = run_with(&database, items(), Target::Table, Preset::Articles, Foreign::Replace).unwrap();
    assert_eq!((done.computed, done.replaced, done.skipped, done.added), (2, 1, 1, false));
    assert_eq!(database.value::<i64>("SELECT sum(length(simhash)) FROM article_fingerprints"), 16);
    assert_eq!(
        database.value::<String>("SELECT group_concat(note) FROM article_fingerprints"),
        "kept,theirs"
    );
    let undone = undo(&database, items(), Target::Table).unwrap();
    assert_eq!(undone, Undone { removed: 2, kept: 0, dropped: false });
    let left =
        "SELECT group_concat(note || content_id || hex(simhash) || computed_at) FROM article_fingerprints";
    assert_eq!(database.value::<String>(left), "kept107then");

    let execute = |sql: &str| Connection::open(&database.path).unwrap().execute_batch(sql).unwrap();
    execute("INSERT INTO article_fingerprints (content_id, simhash) VALUES (3, x'08')");
    let lost = run_with(&database, items(), Target::Table, Preset::Articles, Foreign::Replace).unwrap_err();
    assert!(lost.to_string().contains("no text"), "{lost}");
    execute("ALTER TABLE article_fingerprints DROP COLUMN computed_at");
    let incomplete = run(&database, items(), Target::Table, Preset::Articles).unwrap_err();
    assert!(incomplete.to_string().contains("no column `computed_at`"), "{incomplete}");
}

/// Version 0.1.0 recorded targets and schemes, but not values.
#[test]
fn values_of_version_0_1_0_can_be_recomputed_or_undone() {
    let legacy = || {
        database(&format!(
            "{ITEMS} ALTER TABLE items ADD COLUMN minhash_signature BLOB; UPDATE items SET minhash_signature = x'00' WHERE id = 1;
             CREATE TABLE sameish_backfill (target TEXT PRIMARY KEY, scheme TEXT NOT NULL, added INTEGER NOT NULL);
             INSERT INTO sameish_backfill VALUES ('items.minhash_signature', 'x', 1);"
        ))
    };
    let items = || source(Some("items"), "title", None);
    let database = legacy();
    assert!(run(&database, items(), Target::Column, Preset::Headlines).is_err());
    run_with(&database, items(), Target::Column, Preset::Headlines, Foreign::Replace).unwrap();
    assert_eq!(
        undo(&database, items(), Target::Column).unwrap(),
        Undone { removed: 2, kept: 0, dropped: true }
    );
    assert_eq!(
        undo(&legacy(), items(), Target::Column).unwrap(),
        Undone { removed: 1, kept: 0, dropped: true }
    );
    let interrupted = legacy();
    let analyzer = Analyzer::new(Preset::Headlines.config()).unwrap();
    let mut backfill = Backfill::open(&interrupted.path, items(), Target::Column).unwrap();
    backfill.run(&analyzer, Foreign::Replace, &mut |_| false).unwrap();
    assert_eq!(backfill.undo().unwrap(), Undone { removed: 2, kept: 0, dropped: true });
}

#[test]
fn undo_of_a_target_of_version_0_1_0_does_not_depend_on_other_targets() {
    let database = database(&format!(
        "{ITEMS} ALTER TABLE items ADD COLUMN minhash_signature BLOB; UPDATE items SET minhash_signature = x'00' WHERE id = 1;
         CREATE TABLE sameish_backfill (target TEXT PRIMARY KEY, scheme TEXT NOT NULL, added INTEGER NOT NULL);
         INSERT INTO sameish_backfill VALUES ('items.minhash_signature', 'x', 1);
         CREATE TABLE others AS SELECT id, title FROM items;"
    ));
    let others = || source(Some("others"), "title", None);
    run(&database, others(), Target::Column, Preset::Headlines).unwrap();
    let undone = undo(&database, source(Some("items"), "title", None), Target::Column).unwrap();
    assert_eq!(undone, Undone { removed: 1, kept: 0, dropped: true });
    assert_eq!(
        undo(&database, others(), Target::Column).unwrap(),
        Undone { removed: 2, kept: 0, dropped: true }
    );
    assert!(!database.schema().contains("sameish"));
}

/// A column that this version added and that has no recorded values is not one of version 0.1.0.
#[test]
fn undo_keeps_values_of_another_program_in_a_column_without_recorded_values() {
    let database =
        database("CREATE TABLE items (id INTEGER PRIMARY KEY, title TEXT); INSERT INTO items VALUES (1, '')");
    let items = || source(Some("items"), "title", None);
    run(&database, items(), Target::Column, Preset::Headlines).unwrap();
    let foreign = "UPDATE items SET minhash_signature = x'07'";
    Connection::open(&database.path).unwrap().execute_batch(foreign).unwrap();
    assert_eq!(undo(&database, items(), Target::Column).unwrap(), Undone::default());
    assert_eq!(database.value::<Vec<u8>>("SELECT minhash_signature FROM items"), [7]);
}

#[test]
fn never_mixes_schemes_if_the_source_changes() {
    let database = database(ITEMS);
    let all = || source(Some("items"), "title", None);
    let first = "SELECT id, title FROM items WHERE id < 5";
    run(&database, all(), Target::Column, Preset::Headlines).unwrap();
    let some = || source(Some("items"), "title", Some(first));
    let refused = run_with(&database, some(), Target::Column, Preset::Copies, Foreign::Replace).unwrap_err();
    assert!(refused.to_string().contains("this source does not return: 1"), "{refused}");
    assert_eq!(database.value::<i64>("SELECT max(length(minhash_signature)) FROM items"), 400);

    let done = run_with(&database, all(), Target::Column, Preset::Copies, Foreign::Replace).unwrap();
    assert_eq!(done.computed, 2);
    assert_eq!(database.value::<i64>("SELECT min(length(minhash_signature)) FROM items"), 512);

    // As after an interrupted run: the target has the new scheme, one of its values the old one.
    let outdated = "UPDATE sameish_backfill_values SET scheme = 'old' WHERE id = 5";
    Connection::open(&database.path).unwrap().execute_batch(outdated).unwrap();
    let refused = run(&database, some(), Target::Column, Preset::Copies).unwrap_err();
    assert!(refused.to_string().contains("this source does not return: 1"), "{refused}");
    assert_eq!(run(&database, all(), Target::Column, Preset::Copies).unwrap().computed, 1);
}

#[test]
fn uses_the_smallest_text_of_repeated_ids_and_counts_the_others() {
    let long =
        |word: &str| format!("{word} words of an article that is long enough for all sketches. ").repeat(8);
    let (small, large) = (long("a"), long("b"));
    let database = database(&format!(
        "CREATE TABLE bodies (item, body TEXT);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
         INSERT INTO bodies SELECT 1, '{large}' FROM n;
         INSERT INTO bodies VALUES (1, '{small}'), (1, NULL), (1.0, ' '), (2, '{large}'), (2, '{large}'), (NULL, 'x')"
    ));
    let bodies = || source(None, "body", Some("SELECT item, body FROM bodies"));
    let done = run(&database, bodies(), Target::Table, Preset::Articles).unwrap();
    assert_eq!((done.computed, done.skipped, done.repeated), (2, 1, 603));
    let analyzer = Analyzer::new(Preset::Articles.config()).unwrap();
    let expected = analyzer.sketch(&Content::Text(small), &mut Scratch::default()).simhash.unwrap();
    let stored: Vec<u8> = database.value("SELECT simhash FROM article_fingerprints WHERE content_id = 1");
    assert_eq!(Fingerprint::from_bytes(&stored).unwrap(), expected);
    let again = run(&database, bodies(), Target::Table, Preset::Articles).unwrap();
    assert_eq!((again.computed, again.before), (0, 2));
}

/// SQL's `trim` removes spaces only.
#[test]
fn white_space_is_not_a_text_for_any_rule() {
    let database = database(
        "CREATE TABLE items (id INTEGER PRIMARY KEY, title TEXT, minhash_signature BLOB);
         INSERT INTO items VALUES (1, char(9) || char(160) || char(10), x'07');",
    );
    let items = || source(Some("items"), "title", None);
    let lost = run_with(&database, items(), Target::Column, Preset::Headlines, Foreign::Replace).unwrap_err();
    assert!(lost.to_string().contains("no text: 1"), "{lost}");
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
