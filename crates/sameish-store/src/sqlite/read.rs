//! Queries on a SQLite file.

use super::write::{
    CLOCK_ARRIVAL, CLOCK_LATEST, CLOCK_PAUSE, DROPPED, SketchNumbers, arrival_name, sketch_checksum,
};
use super::{Mode, SqliteStore};
use crate::error::{Error, Result};
use crate::model::{Finding, is_well_formed};
use crate::private;
use crate::rows::{
    ClockRow, ClusterRow, ClusterTotals, CollectionRow, Counters, DocumentRow, MERGE_POSITION, MemberRow,
    SketchRow, StoredCollection, TaskKind, TaskRow,
};
use crate::store::Read;
use rusqlite::types::ValueRef;
use rusqlite::{Row, params};
use sameish::cluster::ClusterId;
use sameish::features::TextKey;
use sameish::sketch::{SchemeId, Stored, decode_sketch};
use sameish::{Content, DocId, Document, Fingerprint, Sdr, Signature, Sketches, Status};
use std::path::Path;

const DOCUMENT: &str =
    "number, collection, id, title, source, url, published_at, arrived_at, tokens, text, checksum, metadata";
const SKETCH: &str = "document, collection, simhash, minhash_signature, sdr, text_key, short, word_count, moment, \
    scheme, computed_at, checksum";
const MEMBER: &str = "document, collection, cluster, joined, checksum";
const CLUSTER: &str = "number, size, center, chained";
const TASK: &str = "collection, position, cluster, kind, target";

impl SqliteStore {
    /// Reads at most one row.
    fn query_one<T>(
        &self,
        sql: &str,
        key: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut statement =
            self.connection.prepare_cached(sql).map_err(|error| self.database_error(error))?;
        let mut rows = statement.query(key).map_err(|error| self.database_error(error))?;
        self.rows.add();
        rows.next().map_err(|error| self.database_error(error))?.map(read).transpose()
    }

    pub(super) fn for_each(
        &self,
        sql: &str,
        key: impl rusqlite::Params,
        mut sink: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut statement =
            self.connection.prepare_cached(sql).map_err(|error| self.database_error(error))?;
        let mut rows = statement.query(key).map_err(|error| self.database_error(error))?;
        while let Some(row) = rows.next().map_err(|error| self.database_error(error))? {
            self.rows.add();
            sink(row)?;
        }
        Ok(())
    }

    fn query_all<T>(
        &self,
        sql: &str,
        key: impl rusqlite::Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        self.for_each(sql, key, |row| {
            all.push(read(row)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Reads the rows of a collection from a table, ordered by the first column. A damaged row is passed on with its number.
    /// Numbers are never negative; a row with a negative one is damaged and comes last.
    fn scan<T>(
        &self,
        table: &str,
        columns: &str,
        collection: u32,
        read: fn(&Row<'_>) -> Result<T>,
        sink: &mut dyn FnMut(u64, Result<T>) -> Result<()>,
    ) -> Result<()> {
        let key = columns.split(',').next().unwrap_or_default();
        for range in [">= 0", "< 0"] {
            let sql = format!(
                "SELECT {columns} FROM {table} WHERE collection = ? AND {key} {range} ORDER BY {key}"
            );
            self.for_each(&sql, [collection], |row| sink(get_i64(row, 0)? as u64, read(row)))?;
        }
        Ok(())
    }
}

impl Read for SqliteStore {
    fn try_clone(&self) -> Result<Box<dyn Read + Send>> {
        let mode = if self.mode == Mode::Immutable { Mode::Immutable } else { Mode::Read };
        Ok(Box::new(SqliteStore::connect(&self.path, mode)?))
    }

    fn collections(&self) -> Result<Vec<StoredCollection>> {
        let sql = "SELECT number, name, preset, overrides, config, retention_days, window_days, created_at, checksum \
            FROM collections ORDER BY number";
        self.query_all(sql, [], |row| {
            let number = get_u32(row, 0)?;
            let name = get_text(row, 1).ok().filter(|name| is_well_formed(name));
            let name = name.unwrap_or_else(|| format!("collection:{number}"));
            Ok(StoredCollection { number, name, row: collection(row) })
        })
    }

    fn dropped_collections(&self) -> Result<Vec<u32>> {
        let mut numbers = Vec::new();
        self.for_each("SELECT name FROM counters", [], |row| {
            let name = get_text(row, 0)?;
            numbers.extend(name.strip_prefix(DROPPED).and_then(|number| number.parse::<u32>().ok()));
            Ok(())
        })?;
        Ok(numbers)
    }

    fn counters(&self) -> Result<Counters> {
        let mut counters = Counters::default();
        self.for_each("SELECT name, value FROM counters", [], |row| {
            let value = get_u64(row, 1)?;
            match get_text(row, 0)?.as_str() {
                "collections" => counters.collections = value as u32,
                "documents" => counters.documents = value,
                "clusters" => counters.clusters = value,
                _ => {}
            }
            Ok(())
        })?;
        Ok(counters)
    }

    fn last_arrival(&self, collection: u32) -> Result<Option<i64>> {
        let sql = "SELECT value FROM counters WHERE name = ?";
        let time = self.query_one(sql, [arrival_name(collection)], |row| get_u64(row, 0))?;
        Ok(time.map(|time| time as i64))
    }

    fn clock(&self) -> Result<Option<ClockRow>> {
        let value = |name: &str| {
            let sql = "SELECT value FROM counters WHERE name = ?";
            self.query_one(sql, [name], |row| get_u64(row, 0))
        };
        let Some(latest) = value(CLOCK_LATEST)? else { return Ok(None) };
        let longest_pause = value(CLOCK_PAUSE)?.unwrap_or(0);
        let last_arrival = value(CLOCK_ARRIVAL)?.unwrap_or(latest);
        Ok(Some(ClockRow {
            latest: latest as i64,
            last_arrival: last_arrival as i64,
            longest_pause: longest_pause as i64,
        }))
    }

    fn number_of(&self, collection: u32, id: &DocId) -> Result<Option<u64>> {
        let sql = "SELECT number FROM documents WHERE collection = ? AND id = ?";
        self.query_one(sql, params![collection, id.to_json()], |row| get_u64(row, 0))
    }

    fn document(&self, number: u64) -> Result<Option<DocumentRow>> {
        let sql = format!("SELECT {DOCUMENT} FROM documents WHERE number = ?");
        self.query_one(&sql, [number as i64], document)
    }

    fn sketch(&self, number: u64) -> Result<Option<SketchRow>> {
        let sql = format!("SELECT {SKETCH} FROM fingerprints WHERE document = ?");
        self.query_one(&sql, [number as i64], sketch)
    }

    fn each_id(&self, collection: u32, sink: &mut dyn FnMut(u64, DocId) -> Result<()>) -> Result<()> {
        // The order makes SQLite read the index on ids, which is smaller than the table.
        let sql = "SELECT number, id FROM documents WHERE collection = ? ORDER BY id";
        self.for_each(sql, [collection], |row| {
            let number = get_u64(row, 0)?;
            match get_text(row, 1).ok().and_then(|id| DocId::from_json(&id)) {
                Some(id) => sink(number, id),
                // The entry of the index is damaged, but the row may be intact. If not, the document is in no index, and
                // `verify` reports it.
                None => {
                    self.document(number).ok().flatten().map_or(Ok(()), |row| sink(number, row.document.id))
                }
            }
        })
    }

    fn documents(
        &self,
        collection: u32,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Result<DocumentRow>)>> {
        let sql = format!(
            "SELECT {DOCUMENT} FROM documents WHERE number > ? AND +collection = ? ORDER BY number LIMIT ?"
        );
        let key = params![after as i64, collection, limit as i64];
        self.query_all(&sql, key, |row| Ok((get_u64(row, 0)?, document(row))))
    }

    fn numbers_by_id(&self, collection: u32, after: Option<&DocId>, limit: usize) -> Result<Vec<u64>> {
        let sql = "SELECT number FROM documents WHERE collection = ? AND id > ? ORDER BY id LIMIT ?";
        let after = after.map(DocId::to_json).unwrap_or_default();
        self.query_all(sql, params![collection, after, limit as i64], |row| get_u64(row, 0))
    }

    fn each_sketch(
        &self,
        collection: u32,
        sink: &mut dyn FnMut(u64, Result<SketchRow>) -> Result<()>,
    ) -> Result<()> {
        self.scan("fingerprints", SKETCH, collection, sketch, sink)
    }

    fn member(&self, document: u64) -> Result<Option<MemberRow>> {
        let sql = format!("SELECT {MEMBER} FROM members WHERE document = ?");
        self.query_one(&sql, [document as i64], member)
    }

    fn members(&self, cluster: ClusterId, from: u64, limit: usize) -> Result<Vec<(u64, Result<MemberRow>)>> {
        let sql = format!(
            "SELECT {MEMBER} FROM members WHERE cluster = ? AND document >= ? ORDER BY document LIMIT ?"
        );
        let key = params![cluster.0 as i64, from as i64, limit as i64];
        self.query_all(&sql, key, |row| Ok((get_u64(row, 0)?, member(row))))
    }

    fn each_member(
        &self,
        collection: u32,
        sink: &mut dyn FnMut(u64, Result<MemberRow>) -> Result<()>,
    ) -> Result<()> {
        self.scan("members", MEMBER, collection, member, sink)
    }

    fn joined(&self, document: u64, from: u64, limit: usize) -> Result<Vec<(u64, Result<MemberRow>)>> {
        let sql = format!(
            "SELECT {MEMBER} FROM members WHERE joined = ? AND document >= ? ORDER BY document LIMIT ?"
        );
        let key = params![document as i64, from as i64, limit as i64];
        self.query_all(&sql, key, |row| Ok((get_u64(row, 0)?, member(row))))
    }

    fn first_task(&self, collection: u32) -> Result<Option<TaskRow>> {
        let sql = format!("SELECT {TASK} FROM tasks WHERE collection = ? ORDER BY position LIMIT 1");
        self.query_one(&sql, [collection], task)
    }

    fn tasks_of(&self, cluster: ClusterId) -> Result<Vec<TaskRow>> {
        let sql = format!("SELECT {TASK} FROM tasks WHERE cluster = ?");
        self.query_all(&sql, [cluster.0 as i64], task)
    }

    fn merges_into(&self, collection: u32, cluster: ClusterId) -> Result<Vec<TaskRow>> {
        let sql = format!(
            "SELECT {TASK} FROM tasks WHERE collection = ? AND position = ? AND kind = ? AND target = ?"
        );
        let kind = TaskKind::Merge.as_u64() as i64;
        self.query_all(&sql, params![collection, MERGE_POSITION as i64, kind, cluster.0 as i64], task)
    }

    fn each_task(&self, collection: u32, sink: &mut dyn FnMut(Result<TaskRow>) -> Result<()>) -> Result<()> {
        let sql = format!("SELECT {TASK} FROM tasks WHERE collection = ? ORDER BY position");
        self.for_each(&sql, [collection], |row| sink(task(row)))
    }

    fn count_pending(&self, collection: u32) -> Result<u64> {
        let sql = "SELECT count(*) FROM (SELECT cluster FROM tasks WHERE collection = ?1 \
            UNION SELECT target FROM tasks WHERE collection = ?1 AND kind = ?2)";
        let kind = TaskKind::Merge.as_u64() as i64;
        Ok(self.query_one(sql, params![collection, kind], |row| get_u64(row, 0))?.unwrap_or(0))
    }

    fn cluster_totals(&self, collection: u32) -> Result<ClusterTotals> {
        let sql = "SELECT count(*), coalesce(sum(size), 0), coalesce(max(size), 0), coalesce(sum(chained), 0) \
            FROM clusters WHERE collection = ? AND size > 1 AND chained >= 0";
        let totals = |sql: &str| {
            self.query_one(sql, [collection], |row| {
                Ok(ClusterTotals {
                    clusters: get_u64(row, 0)?,
                    documents: get_u64(row, 1)?,
                    largest: get_u64(row, 2)?,
                    chained: get_u64(row, 3)?,
                })
            })
        };
        match totals(sql) {
            // A sum is an integer only if all values are integers. Checking every row would take twice as long.
            Err(Error::Damaged { .. }) => {
                let types = "typeof(size) = 'integer' AND typeof(chained) = 'integer'";
                Ok(totals(&format!("{sql} AND {types}"))?.unwrap_or_default())
            }
            totals => Ok(totals?.unwrap_or_default()),
        }
    }

    fn cluster(&self, number: ClusterId) -> Result<Option<ClusterRow>> {
        let sql = format!("SELECT {CLUSTER} FROM clusters WHERE number = ?");
        self.query_one(&sql, [number.0 as i64], cluster)
    }

    fn clusters(
        &self,
        collection: u32,
        before: Option<ClusterId>,
        limit: usize,
    ) -> Result<Vec<(ClusterId, Result<ClusterRow>)>> {
        let before = before.map_or(i64::MAX, |cluster| cluster.0.min(i64::MAX as u64) as i64);
        let sql = format!(
            "SELECT {CLUSTER} FROM clusters WHERE collection = ? AND number BETWEEN 0 AND ? AND size > 1 \
            ORDER BY number DESC LIMIT ?"
        );
        let key = params![collection, before.saturating_sub(1), limit as i64];
        self.query_all(&sql, key, |row| Ok((ClusterId(get_u64(row, 0)?), cluster(row))))
    }

    fn each_cluster(
        &self,
        collection: u32,
        sink: &mut dyn FnMut(ClusterId, Result<ClusterRow>) -> Result<()>,
    ) -> Result<()> {
        self.scan("clusters", CLUSTER, collection, cluster, &mut |number, row| sink(ClusterId(number), row))
    }

    fn check(&self) -> Result<Vec<Finding>> {
        let mut problems = Vec::new();
        let checked = self.for_each("PRAGMA integrity_check(1000)", [], |row| {
            problems.push(get_text(row, 0)?);
            Ok(())
        });
        problems.retain(|problem| problem != "ok");
        problems.extend(checked.err().map(|error| error.to_string()));
        let finding = |problem| Finding {
            object: self.path.display().to_string(),
            problem,
            remedy: "restore the directory from a snapshot",
        };
        Ok(problems.into_iter().map(finding).collect())
    }

    fn begin_snapshot(&self) -> Result<()> {
        // SQLite takes the snapshot at the first read.
        let begun = self.connection.execute_batch("BEGIN; SELECT 1 FROM counters LIMIT 1");
        begun.map_err(|error| self.database_error(error))
    }

    fn end_snapshot(&self) -> Result<()> {
        self.connection.execute_batch("COMMIT").map_err(|error| self.database_error(error))
    }

    fn bytes(&self) -> u64 {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        size(&self.path) + size(&super::wal::wal_path(&self.path))
    }

    fn copy_to(&self, file: &Path) -> Result<()> {
        let not_utf8 = || std::io::Error::other("the path is not valid UTF-8; choose another one");
        let name = file.to_str().ok_or_else(|| Error::io(file, not_utf8()))?;
        // SQLite accepts an empty file, which has the right mode from the beginning.
        let created = private::file_options().write(true).create_new(true).open(file);
        created.map_err(|source| Error::io(file, source))?;
        let copied = self.connection.execute("VACUUM INTO ?", [name]);
        copied.map_err(|error| super::database_error(file, error))?;
        super::sync_file(file)
    }
}

const MISMATCH: &str = "the checksum does not match";

fn damaged(kind: &str, number: u64, reason: &str) -> Error {
    Error::Damaged { what: format!("{kind} {number}"), reason: reason.to_owned() }
}

/// Reads a column. A value of the wrong type is damage, because sameish wrote the row.
fn get<'a>(row: &'a Row<'_>, column: usize) -> Result<ValueRef<'a>> {
    let damaged = |error: rusqlite::Error| Error::Damaged {
        what: format!("column {column}"),
        reason: error.to_string(),
    };
    row.get_ref(column).map_err(damaged)
}

fn wrong_type(column: usize) -> Error {
    Error::Damaged {
        what: format!("column {column}"),
        reason: "it has the wrong type or is not valid UTF-8".into(),
    }
}

fn get_i64(row: &Row<'_>, column: usize) -> Result<i64> {
    get(row, column)?.as_i64().map_err(|_| wrong_type(column))
}

pub(super) fn get_u64(row: &Row<'_>, column: usize) -> Result<u64> {
    u64::try_from(get_i64(row, column)?).map_err(|_| wrong_type(column))
}

fn get_u32(row: &Row<'_>, column: usize) -> Result<u32> {
    u32::try_from(get_i64(row, column)?).map_err(|_| wrong_type(column))
}

fn get_text(row: &Row<'_>, column: usize) -> Result<String> {
    get(row, column)?.as_str().map(str::to_owned).map_err(|_| wrong_type(column))
}

fn get_blob(row: &Row<'_>, column: usize) -> Result<Option<Vec<u8>>> {
    let blob = get(row, column)?.as_blob_or_null().map_err(|_| wrong_type(column))?;
    Ok(blob.map(<[u8]>::to_vec))
}

fn optional<T>(row: &Row<'_>, column: usize, read: fn(&Row<'_>, usize) -> Result<T>) -> Result<Option<T>> {
    match get(row, column)? {
        ValueRef::Null => Ok(None),
        _ => read(row, column).map(Some),
    }
}

fn collection(row: &Row<'_>) -> Result<CollectionRow> {
    let number = get_u32(row, 0)?;
    with_row_name("collection", number.into(), || {
        let collection = CollectionRow {
            number,
            name: get_text(row, 1)?,
            preset: get_text(row, 2)?,
            overrides: get_text(row, 3)?,
            config: get_text(row, 4)?,
            retention_days: optional(row, 5, get_u32)?,
            window_days: optional(row, 6, get_u32)?,
            created_at: get_i64(row, 7)?,
        };
        if collection.checksum() != get_i64(row, 8)? {
            return Err(damaged("collection", number.into(), MISMATCH));
        }
        Ok(collection)
    })
}

fn document(row: &Row<'_>) -> Result<DocumentRow> {
    let number = get_u64(row, 0)?;
    with_row_name("document", number, || {
        let id = get_text(row, 2)?;
        let text = get_text(row, 9)?;
        let content = match get_i64(row, 8)? {
            0 => Some(Content::Text(text.clone())),
            _ => serde_json::from_str(&text).ok().map(Content::Tokens),
        };
        let mismatch = || damaged("document", number, MISMATCH);
        let document = Document {
            id: DocId::from_json(&id).ok_or_else(mismatch)?,
            content: content.ok_or_else(mismatch)?,
            title: optional(row, 3, get_text)?,
            source: optional(row, 4, get_text)?,
            url: optional(row, 5, get_text)?,
            published_at: optional(row, 6, get_text)?,
            metadata: optional(row, 11, get_text)?,
        };
        let collection = get_u32(row, 1)?;
        let stored = DocumentRow { number, collection, document, arrived_at: get_i64(row, 7)? };
        if stored.checksum(&id, &text) != get_i64(row, 10)? {
            return Err(mismatch());
        }
        Ok(stored)
    })
}

fn sketch(row: &Row<'_>) -> Result<SketchRow> {
    let number = get_u64(row, 0)?;
    with_row_name("sketch of document", number, || {
        let simhash = get_blob(row, 2)?;
        let minhash = get_blob(row, 3)?;
        let sdr = get_blob(row, 4)?;
        let key = get_blob(row, 5)?;
        let numbers = SketchNumbers {
            document: number as i64,
            collection: get_i64(row, 1)?,
            short: get_i64(row, 6)?,
            words: get_i64(row, 7)?,
            moment: get_i64(row, 8)?,
            scheme: get_i64(row, 9)?,
            computed_at: get_i64(row, 10)?,
        };
        let blobs = [simhash.as_deref(), minhash.as_deref(), sdr.as_deref(), key.as_deref()];
        if sketch_checksum(&numbers, blobs) != get_i64(row, 11)? {
            return Err(damaged("sketch of document", number, MISMATCH));
        }
        let invalid = |error: sameish::Error| damaged("sketch of document", number, &error.to_string());
        let scheme = SchemeId::from_u64(numbers.scheme as u64);
        Ok(SketchRow {
            number,
            collection: get_u32(row, 1)?,
            sketches: Sketches {
                status: if numbers.short == 0 { Status::Ok } else { Status::TooShort },
                words: get_u64(row, 7)? as usize,
                simhash: simhash.map(|bytes| Fingerprint::from_bytes(&bytes)).transpose().map_err(invalid)?,
                minhash: minhash.map(|bytes| Signature::from_bytes(&bytes)).transpose().map_err(invalid)?,
                sdr: sdr.map(|bytes| decode_sdr(number, &bytes, scheme)).transpose()?,
            },
            key: key.map(|bytes| decode_key(number, &bytes)).transpose()?,
            moment: numbers.moment,
            scheme,
            computed_at: numbers.computed_at,
        })
    })
}

fn decode_sdr(number: u64, bytes: &[u8], scheme: SchemeId) -> Result<Sdr> {
    match decode_sketch(bytes, scheme) {
        Ok(Stored::Sdr(sdr)) => Ok(sdr),
        Ok(_) => Err(damaged("sketch of document", number, "the SDR is a sketch of another kind")),
        Err(error) => Err(damaged("sketch of document", number, &error.to_string())),
    }
}

fn decode_key(number: u64, bytes: &[u8]) -> Result<TextKey> {
    let key = <[u8; 16]>::try_from(bytes)
        .map_err(|_| damaged("sketch of document", number, "the text key does not have 16 bytes"))?;
    Ok(TextKey::from_u128(u128::from_le_bytes(key)))
}

fn member(row: &Row<'_>) -> Result<MemberRow> {
    let document = get_u64(row, 0)?;
    with_row_name("membership of document", document, || {
        let member = MemberRow {
            document,
            collection: get_u32(row, 1)?,
            cluster: ClusterId(get_u64(row, 2)?),
            joined: optional(row, 3, get_u64)?,
        };
        if member.checksum() != get_i64(row, 4)? {
            return Err(damaged("membership of document", document, MISMATCH));
        }
        Ok(member)
    })
}

fn cluster(row: &Row<'_>) -> Result<ClusterRow> {
    let number = get_u64(row, 0)?;
    with_row_name("cluster", number, || {
        Ok(ClusterRow {
            cluster: ClusterId(number),
            size: get_u64(row, 1)?,
            center: optional(row, 2, get_u64)?,
            chained: get_u64(row, 3)?,
        })
    })
}

fn task(row: &Row<'_>) -> Result<TaskRow> {
    let position = get_u64(row, 1)?;
    with_row_name("task at position", position, || {
        let kind = TaskKind::from_u64(get_u64(row, 3)?).ok_or_else(|| wrong_type(3))?;
        let cluster = ClusterId(get_u64(row, 2)?);
        let target = ClusterId(get_u64(row, 4)?);
        Ok(TaskRow { collection: get_u32(row, 0)?, position, cluster, kind, target })
    })
}

/// Adds the name of the row to errors that name only a column.
fn with_row_name<T>(kind: &str, number: u64, read: impl FnOnce() -> Result<T>) -> Result<T> {
    read().map_err(|error| match error {
        Error::Damaged { what, reason } if what.starts_with("column") => {
            damaged(kind, number, &format!("{what}: {reason}"))
        }
        other => other,
    })
}
