//! Transactions on a SQLite file.

use super::SqliteStore;
use super::decode::{get_text, get_u64, optional};
use super::derived::{Derived, Listing, Place, integer};
use super::events::NewEvents;
use crate::error::{Error, Result};
use crate::rows::{
    Checksum, ClockRow, ClusterRow, CollectionRow, Counters, DocumentRow, EditRow, EventRow, MemberRow,
    Placed, SketchRow, TaskRow, content_kind,
};
use crate::store::{Read, Transaction};
use rusqlite::params;
use sameish::cluster::ClusterId;
use sameish::sketch::{Stored, encode_sketch};
use sameish::{Content, DocId, Status};
use std::borrow::Cow;

/// Names under which the table of counters stores a [`ClockRow`]. Earlier versions ignore them.
pub(super) const CLOCK_LATEST: &str = "clock_latest";
pub(super) const CLOCK_ARRIVAL: &str = "clock_arrival";
pub(super) const CLOCK_PAUSE: &str = "clock_pause";
/// Names under which the table of counters stores the numbers of deleted collections that still have rows start with this.
pub(super) const DROPPED: &str = "dropped/";
/// Prefix of the counters with the last arrival in a collection, followed by its number.
const ARRIVAL: &str = "arrival/";
/// Prefix of the counters with the greatest number of an edit of a collection, followed by its number.
const EDITS: &str = "edits/";
/// Prefix of the counters with the number of rejected documents of a collection, followed by its number.
const REJECTED: &str = "rejected/";

/// A transaction. Dropping it without a commit rolls it back.
pub(super) struct SqliteTransaction<'a> {
    store: &'a SqliteStore,
    /// Changes to totals and lists, which are written before the commit.
    derived: Derived,
    /// Events by collection, which are written before the commit.
    events: Vec<NewEvents>,
    /// The document that was written last, so that its membership need not read it.
    recent: Option<Recent>,
}

/// Date and source of a document that the transaction has written.
struct Recent {
    document: u64,
    moment: i64,
    source: Option<String>,
}

impl<'a> SqliteTransaction<'a> {
    pub(super) fn begin(store: &'a SqliteStore) -> Result<SqliteTransaction<'a>> {
        let begun = store.connection.execute_batch("BEGIN IMMEDIATE");
        begun.map_err(|error| store.database_error(error))?;
        let (derived, events) = (Derived::default(), Vec::new());
        Ok(SqliteTransaction { store, derived, events, recent: None })
    }

    pub(super) fn store(&self) -> &SqliteStore {
        self.store
    }

    pub(super) fn execute(&self, sql: &str, values: impl rusqlite::Params) -> Result<()> {
        self.store.rows.add();
        let execute = || self.store.connection.prepare_cached(sql)?.execute(values);
        execute().map(|_| ()).map_err(|error| self.store.database_error(error))
    }
}

impl SqliteTransaction<'_> {
    /// Returns `true` if a cluster is shown with at least two documents, so that it must have a row.
    fn is_listed(&self, cluster: ClusterId) -> Result<bool> {
        let mut shown = 0;
        let sql = "SELECT 1 FROM members WHERE shown = ? LIMIT 2";
        self.store.for_each(sql, [cluster.0 as i64], |_| {
            shown += 1;
            Ok(())
        })?;
        Ok(shown > 1)
    }

    /// Returns the date and the source of a document. The date is that of its sketches or, without them, its time of insertion.
    fn moment_and_source(&mut self, document: u64) -> Result<(i64, Option<String>)> {
        if let Some(recent) = self.recent.take_if(|recent| recent.document == document) {
            return Ok((recent.moment, recent.source));
        }
        let sql = "SELECT coalesce((SELECT moment FROM fingerprints WHERE document = ?1), \
            (SELECT arrived_at FROM documents WHERE number = ?1), 0), (SELECT source FROM documents WHERE number = ?1)";
        let found = self
            .store
            .query_one(sql, [document as i64], |row| Ok((integer(row, 0), optional(row, 1, get_text)?)))?;
        Ok(found.unwrap_or_default())
    }

    /// Reads a cluster before a membership in it changes.
    fn read_cluster(&mut self, place: &Place) -> Result<()> {
        self.derived.cluster(self.store, place.collection, place.shown).map(|_| ())
    }

    /// Updates a membership from its new row, and returns the old one.
    fn update_member(&mut self, place: &Place, source: Option<&str>, row: &MemberRow) -> Result<()> {
        let before = self.store.place_of_member(place.document)?;
        if let Some(before) = &before {
            self.read_cluster(before)?;
        }
        self.execute(
            "UPDATE members SET collection = ?, cluster = ?, joined = ?, checksum = ?, moment = ?, source = ?, edited = ?, \
             rank = ? WHERE document = ?",
            params![
                row.collection,
                row.cluster.0 as i64,
                row.joined.map(|joined| joined as i64),
                row.checksum(),
                place.moment,
                source,
                row.edited.map(|edited| edited.0 as i64),
                row.rank.map(|rank| rank as i64),
                place.document
            ],
        )?;
        let Some(before) = before.filter(|before| before != place) else { return Ok(()) };
        self.derived.remove(self.store, &before)?;
        self.derived.add(self.store, place)
    }

    fn remove_member(&mut self, document: i64) -> Result<()> {
        let Some(before) = self.store.place_of_member(document)? else { return Ok(()) };
        self.read_cluster(&before)?;
        self.execute("DELETE FROM members WHERE document = ?", [document])?;
        self.derived.remove(self.store, &before)
    }

    /// Writes what the transaction has collected.
    fn write_collected(&mut self) -> Result<()> {
        std::mem::take(&mut self.derived).write(self)?;
        std::mem::take(&mut self.events).into_iter().try_for_each(|events| events.write(self))
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
            "INSERT INTO collections VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (number) DO UPDATE SET \
             name = excluded.name, preset = excluded.preset, overrides = excluded.overrides, config = excluded.config, \
             retention_days = excluded.retention_days, window_days = excluded.window_days, \
             created_at = excluded.created_at, checksum = excluded.checksum, center = excluded.center",
            params![
                row.number,
                row.name,
                row.preset,
                row.overrides,
                row.config,
                row.retention_days,
                row.window_days,
                row.created_at,
                row.checksum(),
                row.center.as_stored()
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
        self.derived.clear(collection);
        for sql in [
            "DELETE FROM clusters WHERE number IN (SELECT number FROM clusters WHERE collection = ? LIMIT ?)",
            "DELETE FROM tasks WHERE (collection, position, cluster, kind) IN \
             (SELECT collection, position, cluster, kind FROM tasks WHERE collection = ? LIMIT ?)",
            "DELETE FROM day_totals WHERE (collection, day) IN \
             (SELECT collection, day FROM day_totals WHERE collection = ? LIMIT ?)",
            "DELETE FROM source_totals WHERE (collection, source) IN \
             (SELECT collection, source FROM source_totals WHERE collection = ? LIMIT ?)",
            "DELETE FROM places WHERE (collection, kind, item) IN \
             (SELECT collection, kind, item FROM places WHERE collection = ? LIMIT ?)",
            "DELETE FROM edits WHERE (collection, number) IN \
             (SELECT collection, number FROM edits WHERE collection = ? LIMIT ?)",
            "DELETE FROM event_batches WHERE (collection, last) IN \
             (SELECT collection, last FROM event_batches WHERE collection = ? LIMIT ?)",
            "DELETE FROM words WHERE collection IN (SELECT collection FROM words WHERE collection = ? LIMIT ?)",
        ] {
            self.execute(sql, params![collection, limit])?;
            if self.store.connection.changes() > 0 {
                return Ok(true);
            }
        }
        self.execute("DELETE FROM counters WHERE name = ?", [dropped_name(collection)])?;
        self.execute("DELETE FROM counters WHERE name = ?", [arrival_name(collection)])?;
        self.execute("DELETE FROM counters WHERE name = ?", [edits_name(collection)])?;
        self.execute("DELETE FROM counters WHERE name = ?", [rejected_name(collection)])?;
        Ok(false)
    }

    fn put_document(&mut self, row: &DocumentRow) -> Result<()> {
        let document = &row.document;
        let id = document.id.to_json();
        let text = match &document.content {
            Content::Text(text) => Cow::Borrowed(text),
            Content::Tokens(tokens) => {
                let json = serde_json::to_string(tokens);
                let json =
                    json.unwrap_or_else(|error| unreachable!("tokens can be encoded as JSON: {error}"));
                Cow::Owned(json)
            }
            Content::Sketches(given) => Cow::Owned(given.to_text()),
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
                content_kind(&document.content),
                text.as_str(),
                row.checksum(&id, &text),
                document.metadata
            ],
        );
        match inserted {
            Err(Error::Database { .. }) if self.read().number_of(row.collection, &document.id)?.is_some() => {
                return Err(Error::Conflict { id: document.id.clone() });
            }
            inserted => inserted?,
        }
        let source = document.source.clone();
        self.recent = Some(Recent { document: row.number, moment: row.arrived_at, source });
        Ok(())
    }

    fn update_document(&mut self, row: &DocumentRow) -> Result<()> {
        self.execute("DELETE FROM documents WHERE number = ?", [row.number as i64])?;
        self.put_document(row)?;
        // Its date is that of its sketches.
        self.recent = None;
        let source = &row.document.source;
        let Some(before) = self.store.place_of_member(row.number as i64)? else { return Ok(()) };
        let place = Place { source: source.clone().unwrap_or_default(), ..before.clone() };
        self.read_cluster(&before)?;
        self.execute("UPDATE members SET source = ? WHERE document = ?", params![source, row.number as i64])?;
        if before != place {
            self.derived.remove(self.store, &before)?;
            self.derived.add(self.store, &place)?;
        }
        Ok(())
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
            "INSERT INTO fingerprints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (document) DO UPDATE SET \
             collection = excluded.collection, simhash = excluded.simhash, \
             minhash_signature = excluded.minhash_signature, sdr = excluded.sdr, text_key = excluded.text_key, \
             short = excluded.short, word_count = excluded.word_count, moment = excluded.moment, \
             scheme = excluded.scheme, computed_at = excluded.computed_at, checksum = excluded.checksum",
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
        )?;
        if let Some(recent) = self.recent.as_mut().filter(|recent| recent.document == row.number) {
            recent.moment = row.moment;
        }
        Ok(())
    }

    fn remove_document(&mut self, number: u64) -> Result<()> {
        for sql in ["DELETE FROM documents WHERE number = ?", "DELETE FROM fingerprints WHERE document = ?"] {
            self.execute(sql, [number as i64])?;
        }
        self.recent = None;
        self.remove_member(number as i64)
    }

    fn put_member(&mut self, row: &MemberRow) -> Result<()> {
        let (moment, source) = self.moment_and_source(row.document)?;
        let place = Place {
            collection: row.collection,
            shown: row.shown().0 as i64,
            document: row.document as i64,
            moment,
            source: source.clone().unwrap_or_default(),
        };
        self.read_cluster(&place)?;
        self.execute(
            "INSERT INTO members VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (document) DO NOTHING",
            params![
                place.document,
                row.collection,
                row.cluster.0 as i64,
                row.joined.map(|joined| joined as i64),
                row.checksum(),
                moment,
                source,
                row.edited.map(|edited| edited.0 as i64),
                row.rank.map(|rank| rank as i64)
            ],
        )?;
        if self.store.connection.changes() == 0 {
            return self.update_member(&place, source.as_deref(), row);
        }
        self.derived.add(self.store, &place)
    }

    fn clear_clusters(&mut self, collection: u32) -> Result<()> {
        for table in ["clusters", "members", "tasks", "places", "day_totals", "source_totals"] {
            self.execute(&format!("DELETE FROM {table} WHERE collection = ?"), [collection])?;
        }
        self.derived.clear(collection);
        Ok(())
    }

    fn put_cluster(&mut self, collection: u32, row: &ClusterRow) -> Result<()> {
        let number = row.cluster.0 as i64;
        let is_stored = row.is_stored() || self.is_listed(row.cluster)?;
        let cluster = self.derived.cluster(self.store, collection, number)?;
        cluster.note_row(is_stored);
        let Listing { listed, first, first_source, last, latest, sources, .. } = cluster.now.clone();
        if !is_stored {
            return self.execute("DELETE FROM clusters WHERE number = ?", [number]);
        }
        let center = row.center.map(|center| center as i64);
        let sql = "INSERT INTO clusters (number, collection, size, center, chained, listed, first, first_source, last, latest, \
            sources) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (number) DO UPDATE SET \
            collection = excluded.collection, size = excluded.size, center = excluded.center, chained = excluded.chained, \
            listed = excluded.listed, first = excluded.first, first_source = excluded.first_source, last = excluded.last, \
            latest = excluded.latest, sources = excluded.sources";
        let (size, chained) = (row.size as i64, row.chained as i64);
        let listing = params![
            number,
            collection,
            size,
            center,
            chained,
            listed,
            first,
            first_source,
            last,
            latest,
            sources
        ];
        self.execute(sql, listing)
    }

    fn put_edit(&mut self, row: &EditRow) -> Result<()> {
        let ids =
            |ids: &Vec<DocId>| format!("[{}]", ids.iter().map(DocId::to_json).collect::<Vec<_>>().join(","));
        let documents = format!("[{}]", row.documents.iter().map(ids).collect::<Vec<_>>().join(","));
        let number = row.number as i64;
        self.execute(
            "INSERT INTO edits VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![
                row.collection,
                number,
                row.at,
                row.kind as i64,
                row.clusters.0 as i64,
                documents,
                row.checksum(&documents)
            ],
        )?;
        let name = edits_name(row.collection);
        self.execute("INSERT OR REPLACE INTO counters VALUES (?, ?)", params![name, number])
    }

    fn remove_edit(&mut self, collection: u32, number: u64) -> Result<()> {
        self.execute(
            "DELETE FROM edits WHERE collection = ? AND number = ?",
            params![collection, number as i64],
        )
    }

    fn put_place(&mut self, collection: u32, placed: Placed, cluster: Option<ClusterId>) -> Result<()> {
        let (kind, item) = place_key(placed);
        match cluster {
            Some(cluster) => self.execute(
                "INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)",
                params![collection, kind, item, cluster.0 as i64],
            ),
            None => self.execute(
                "DELETE FROM places WHERE collection = ? AND kind = ? AND item = ?",
                params![collection, kind, item],
            ),
        }
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

    fn put_event(&mut self, row: &EventRow) -> Result<()> {
        let known = self.events.iter_mut().position(|events| events.collection() == row.collection);
        let position = known.unwrap_or_else(|| {
            self.events.push(NewEvents::new(row.collection));
            self.events.len() - 1
        });
        self.events[position].push(row);
        Ok(())
    }

    fn put_rejected(&mut self, collection: u32, count: u64) -> Result<()> {
        let count = count.min(i64::MAX as u64) as i64;
        let name = rejected_name(collection);
        self.execute("INSERT OR REPLACE INTO counters VALUES (?, ?)", params![name, count])
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

    fn commit(mut self: Box<Self>) -> Result<()> {
        self.write_collected()?;
        self.execute("COMMIT", [])
    }
}

/// Returns the name of the counter with the last arrival in a collection.
pub(super) fn arrival_name(collection: u32) -> String {
    format!("{ARRIVAL}{collection}")
}

/// Returns the name of the counter with the greatest number of an edit of a collection.
pub(super) fn edits_name(collection: u32) -> String {
    format!("{EDITS}{collection}")
}

/// Returns the name of the counter with the number of rejected documents of a collection.
pub(super) fn rejected_name(collection: u32) -> String {
    format!("{REJECTED}{collection}")
}

/// Returns how the table of places names documents.
pub(super) fn place_key(placed: Placed) -> (i64, i64) {
    match placed {
        Placed::Document(document) => (0, document as i64),
        Placed::Others(cluster) => (1, cluster.0 as i64),
    }
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
