//! Transactions on a SQLite file.

use super::SqliteStore;
use super::read::get_u64;
use crate::error::{Error, Result};
use crate::rows::{
    Checksum, ClockRow, ClusterRow, CollectionRow, Counters, DocumentRow, MemberRow, SketchRow, TaskRow,
};
use crate::store::{Read, Transaction};
use rusqlite::params;
use sameish::sketch::{Stored, encode_sketch};
use sameish::{Content, Status};
use std::borrow::Cow;

/// Names under which the table of counters stores a [`ClockRow`]. Earlier versions ignore them.
pub(super) const CLOCK_LATEST: &str = "clock_latest";
pub(super) const CLOCK_ARRIVAL: &str = "clock_arrival";
pub(super) const CLOCK_PAUSE: &str = "clock_pause";
/// Names under which the table of counters stores the numbers of deleted collections that still have rows start with this.
pub(super) const DROPPED: &str = "dropped/";
/// Prefix of the counters with the last arrival in a collection, followed by its number.
const ARRIVAL: &str = "arrival/";

/// A transaction. Dropping it without a commit rolls it back.
pub(super) struct SqliteTransaction<'a> {
    store: &'a SqliteStore,
}

impl<'a> SqliteTransaction<'a> {
    pub(super) fn begin(store: &'a SqliteStore) -> Result<SqliteTransaction<'a>> {
        let begun = store.connection.execute_batch("BEGIN IMMEDIATE");
        begun.map_err(|error| store.database_error(error))?;
        Ok(SqliteTransaction { store })
    }

    fn execute(&self, sql: &str, values: impl rusqlite::Params) -> Result<()> {
        self.store.rows.add();
        let execute = || self.store.connection.prepare_cached(sql)?.execute(values);
        execute().map(|_| ()).map_err(|error| self.store.database_error(error))
    }
}

impl Drop for SqliteTransaction<'_> {
    fn drop(&mut self) {
        if !self.store.connection.is_autocommit() {
            // If this fails, the connection is unusable and the next transaction reports it.
            _ = self.store.connection.execute_batch("ROLLBACK");
        }
    }
}

impl Transaction for SqliteTransaction<'_> {
    fn read(&self) -> &dyn Read {
        self.store
    }

    fn put_collection(&mut self, row: &CollectionRow) -> Result<()> {
        self.execute(
            // Not `OR REPLACE`, which would delete another collection with the same name.
            "INSERT INTO collections VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (number) DO UPDATE SET \
             name = excluded.name, preset = excluded.preset, overrides = excluded.overrides, config = excluded.config, \
             retention_days = excluded.retention_days, window_days = excluded.window_days, \
             created_at = excluded.created_at, checksum = excluded.checksum",
            params![
                row.number,
                row.name,
                row.preset,
                row.overrides,
                row.config,
                row.retention_days,
                row.window_days,
                row.created_at,
                row.checksum()
            ],
        )
    }

    fn drop_collection(&mut self, collection: u32) -> Result<()> {
        self.execute("DELETE FROM collections WHERE number = ?", [collection])?;
        self.execute("INSERT OR REPLACE INTO counters VALUES (?, 0)", [dropped_name(collection)])
    }

    fn remove_rows(&mut self, collection: u32, limit: usize) -> Result<bool> {
        let limit = limit as i64;
        let mut numbers = Vec::new();
        let sql = "SELECT number FROM documents WHERE collection = ? LIMIT ?";
        self.store.for_each(sql, params![collection, limit], |row| {
            numbers.push(get_u64(row, 0)?);
            Ok(())
        })?;
        for number in &numbers {
            self.remove_document(*number)?;
        }
        if !numbers.is_empty() {
            return Ok(true);
        }
        for sql in [
            "DELETE FROM clusters WHERE number IN (SELECT number FROM clusters WHERE collection = ? LIMIT ?)",
            "DELETE FROM tasks WHERE (collection, position, cluster, kind) IN \
             (SELECT collection, position, cluster, kind FROM tasks WHERE collection = ? LIMIT ?)",
            "DELETE FROM words WHERE collection IN (SELECT collection FROM words WHERE collection = ? LIMIT ?)",
        ] {
            self.execute(sql, params![collection, limit])?;
            if self.store.connection.changes() > 0 {
                return Ok(true);
            }
        }
        self.execute("DELETE FROM counters WHERE name = ?", [dropped_name(collection)])?;
        self.execute("DELETE FROM counters WHERE name = ?", [arrival_name(collection)])?;
        Ok(false)
    }

    fn put_document(&mut self, row: &DocumentRow) -> Result<()> {
        let document = &row.document;
        let id = document.id.to_json();
        let (is_tokens, text) = match &document.content {
            Content::Text(text) => (0, Cow::Borrowed(text)),
            Content::Tokens(tokens) => {
                let json = serde_json::to_string(tokens);
                let json =
                    json.unwrap_or_else(|error| unreachable!("tokens can be encoded as JSON: {error}"));
                (1, Cow::Owned(json))
            }
        };
        let inserted = self.execute(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                row.number as i64,
                row.collection,
                id,
                document.title,
                document.source,
                document.url,
                document.published_at,
                row.arrived_at,
                is_tokens,
                text.as_str(),
                row.checksum(&id, &text),
                document.metadata
            ],
        );
        match inserted {
            Err(Error::Database { .. }) if self.read().number_of(row.collection, &document.id)?.is_some() => {
                Err(Error::Conflict { id: document.id.clone() })
            }
            inserted => inserted,
        }
    }

    fn update_document(&mut self, row: &DocumentRow) -> Result<()> {
        self.execute("DELETE FROM documents WHERE number = ?", [row.number as i64])?;
        self.put_document(row)
    }

    fn put_sketch(&mut self, row: &SketchRow) -> Result<()> {
        let sketches = &row.sketches;
        let simhash = sketches.simhash.map(|fingerprint| fingerprint.to_bytes());
        let minhash = sketches.minhash.as_ref().map(|signature| signature.to_bytes());
        let sdr = sketches.sdr.clone().map(|sdr| encode_sketch(&Stored::Sdr(sdr), row.scheme));
        let key = row.key.map(|key| key.as_u128().to_le_bytes());
        let numbers = SketchNumbers::of(row);
        let blobs = [
            simhash.as_ref().map(|bytes| &bytes[..]),
            minhash.as_deref(),
            sdr.as_deref(),
            key.as_ref().map(|bytes| &bytes[..]),
        ];
        self.execute(
            "INSERT OR REPLACE INTO fingerprints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                numbers.document,
                numbers.collection,
                blobs[0],
                blobs[1],
                blobs[2],
                blobs[3],
                numbers.short,
                numbers.words,
                numbers.moment,
                numbers.scheme,
                numbers.computed_at,
                sketch_checksum(&numbers, blobs)
            ],
        )
    }

    fn remove_document(&mut self, number: u64) -> Result<()> {
        for (table, key) in [("documents", "number"), ("fingerprints", "document"), ("members", "document")] {
            self.execute(&format!("DELETE FROM {table} WHERE {key} = ?"), [number as i64])?;
        }
        Ok(())
    }

    fn put_member(&mut self, row: &MemberRow) -> Result<()> {
        self.execute(
            "INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?, ?)",
            params![
                row.document as i64,
                row.collection,
                row.cluster.0 as i64,
                row.joined.map(|joined| joined as i64),
                row.checksum()
            ],
        )
    }

    fn clear_clusters(&mut self, collection: u32) -> Result<()> {
        for table in ["clusters", "members", "tasks"] {
            self.execute(&format!("DELETE FROM {table} WHERE collection = ?"), [collection])?;
        }
        Ok(())
    }

    fn put_cluster(&mut self, collection: u32, row: &ClusterRow) -> Result<()> {
        let number = row.cluster.0 as i64;
        if !row.is_stored() {
            return self.execute("DELETE FROM clusters WHERE number = ?", [number]);
        }
        let center = row.center.map(|center| center as i64);
        let sql = "INSERT OR REPLACE INTO clusters (number, collection, size, center, chained) VALUES (?, ?, ?, ?, ?)";
        self.execute(sql, params![number, collection, row.size as i64, center, row.chained as i64])
    }

    fn put_task(&mut self, row: &TaskRow) -> Result<()> {
        let kind = row.kind.as_u64() as i64;
        self.execute(
            "INSERT OR REPLACE INTO tasks VALUES (?, ?, ?, ?, ?)",
            params![row.collection, row.position as i64, row.cluster.0 as i64, kind, row.target.0 as i64],
        )
    }

    fn remove_task(&mut self, row: &TaskRow) -> Result<()> {
        let kind = row.kind.as_u64() as i64;
        self.execute(
            "DELETE FROM tasks WHERE collection = ? AND position = ? AND cluster = ? AND kind = ?",
            params![row.collection, row.position as i64, row.cluster.0 as i64, kind],
        )
    }

    fn put_counters(&mut self, counters: Counters) -> Result<()> {
        let Counters { collections, documents, clusters } = counters;
        let values = [
            ("collections", collections.into()),
            ("documents", documents as i64),
            ("clusters", clusters as i64),
        ];
        for (name, value) in values {
            self.execute("INSERT OR REPLACE INTO counters VALUES (?, ?)", params![name, value])?;
        }
        Ok(())
    }

    fn put_last_arrival(&mut self, collection: u32, time: i64) -> Result<()> {
        let name = arrival_name(collection);
        self.execute("INSERT OR REPLACE INTO counters VALUES (?, ?)", params![name, time.max(0)])
    }

    fn put_clock(&mut self, clock: ClockRow) -> Result<()> {
        let values = [
            (CLOCK_LATEST, clock.latest),
            (CLOCK_ARRIVAL, clock.last_arrival),
            (CLOCK_PAUSE, clock.longest_pause),
        ];
        for (name, value) in values {
            self.execute("INSERT OR REPLACE INTO counters VALUES (?, ?)", params![name, value.max(0)])?;
        }
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.execute("COMMIT", [])
    }
}

/// Returns the name of the counter with the last arrival in a collection.
pub(super) fn arrival_name(collection: u32) -> String {
    format!("{ARRIVAL}{collection}")
}

fn dropped_name(collection: u32) -> String {
    format!("{DROPPED}{collection}")
}

/// The integer columns of a row of sketches.
pub(super) struct SketchNumbers {
    pub(super) document: i64,
    pub(super) collection: i64,
    pub(super) short: i64,
    pub(super) words: i64,
    pub(super) moment: i64,
    pub(super) scheme: i64,
    pub(super) computed_at: i64,
}

impl SketchNumbers {
    fn of(row: &SketchRow) -> SketchNumbers {
        SketchNumbers {
            document: row.number as i64,
            collection: row.collection.into(),
            short: i64::from(row.sketches.status == Status::TooShort),
            words: row.sketches.words as i64,
            moment: row.moment,
            scheme: row.scheme.as_u64() as i64,
            computed_at: row.computed_at,
        }
    }
}

/// Computes the checksum of a row of sketches. `blobs` are SimHash, MinHash, SDR and text key.
pub(super) fn sketch_checksum(numbers: &SketchNumbers, blobs: [Option<&[u8]>; 4]) -> i64 {
    let SketchNumbers { document, collection, short, words, moment, scheme, computed_at } = *numbers;
    let numbers = [document, collection, short, words, moment, scheme, computed_at];
    let checksum = numbers.into_iter().fold(Checksum::default(), Checksum::number);
    blobs.into_iter().fold(checksum, Checksum::optional).finish()
}
