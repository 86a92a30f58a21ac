//! Questions to a SQLite file.

use super::SqliteStore;
use crate::error::{Error, Result};
use crate::model::Finding;
use crate::rows::{CollectionRow, Counters, DocumentRow, MemberRow, SketchRow, id_from_json, id_to_json};
use crate::store::Read;
use rusqlite::types::ValueRef;
use rusqlite::{Row, params};
use sameish::{
    ClusterId, Content, DocId, Document, Fingerprint, SchemeId, Signature, Sketches, Status, Stored, TextKey,
    decode_sketch,
};
use std::path::Path;

const DOCUMENT: &str =
    "number, collection, id, title, source, url, published_at, arrived_at, tokens, text, checksum";
const SKETCH: &str = "document, collection, simhash, minhash_signature, sdr, text_key, short, word_count, moment, \
    scheme, computed_at, checksum";
const MEMBER: &str = "document, collection, cluster, joined, checksum";

impl SqliteStore {
    /// One row, or none.
    fn one<T>(
        &self,
        sql: &str,
        key: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| self.wrong(error))?;
        let mut rows = statement.query(key).map_err(|error| self.wrong(error))?;
        rows.next().map_err(|error| self.wrong(error))?.map(read).transpose()
    }

    fn each(
        &self,
        sql: &str,
        key: impl rusqlite::Params,
        mut sink: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| self.wrong(error))?;
        let mut rows = statement.query(key).map_err(|error| self.wrong(error))?;
        while let Some(row) = rows.next().map_err(|error| self.wrong(error))? {
            sink(row)?;
        }
        Ok(())
    }

    /// All rows of a table that belong to a collection; a row that can not be read is told with its number.
    fn each_row<T>(
        &self,
        table: &str,
        columns: &str,
        collection: u32,
        read: fn(&Row<'_>) -> Result<T>,
        sink: &mut dyn FnMut(u64, Result<T>) -> Result<()>,
    ) -> Result<()> {
        let key = columns.split(',').next().unwrap_or_default();
        let sql = format!("SELECT {columns} FROM {table} WHERE collection = ? ORDER BY {key}");
        self.each(&sql, [collection], |row| sink(number(row, 0)?, read(row)))
    }
}

impl Read for SqliteStore {
    fn another(&self) -> Result<Box<dyn Read + Send>> {
        crate::store::Store::reader(self)
    }

    fn collections(&self) -> Result<Vec<CollectionRow>> {
        let mut found = Vec::new();
        let sql = "SELECT number, name, preset, overrides, config, retention_days, window_days, created_at, checksum \
            FROM collections ORDER BY number";
        self.each(sql, [], |row| {
            found.push(collection(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    fn counters(&self) -> Result<Counters> {
        let mut counters = Counters::default();
        self.each("SELECT name, value FROM counters", [], |row| {
            let value = number(row, 1)?;
            match text(row, 0)?.as_str() {
                "collections" => counters.collections = value as u32,
                "documents" => counters.documents = value,
                "clusters" => counters.clusters = value,
                _ => {}
            }
            Ok(())
        })?;
        Ok(counters)
    }

    fn number_of(&self, collection: u32, id: &DocId) -> Result<Option<u64>> {
        let sql = "SELECT number FROM documents WHERE collection = ? AND id = ?";
        self.one(sql, params![collection, id_to_json(id)], |row| number(row, 0))
    }

    fn document(&self, number: u64) -> Result<Option<DocumentRow>> {
        self.one(&format!("SELECT {DOCUMENT} FROM documents WHERE number = ?"), [number as i64], document)
    }

    fn sketch(&self, number: u64) -> Result<Option<SketchRow>> {
        self.one(&format!("SELECT {SKETCH} FROM fingerprints WHERE document = ?"), [number as i64], sketch)
    }

    fn each_id(&self, collection: u32, sink: &mut dyn FnMut(u64, DocId) -> Result<()>) -> Result<()> {
        // Answered by the index on ids alone.
        self.each("SELECT number, id FROM documents WHERE collection = ? ORDER BY id", [collection], |row| {
            let at = number(row, 0)?;
            match text(row, 1).ok().and_then(|id| id_from_json(&id)) {
                Some(id) => sink(at, id),
                // Its row may still be whole; otherwise it is in no index, and `verify` names it.
                None => self.document(at).ok().flatten().map_or(Ok(()), |row| sink(at, row.document.id)),
            }
        })
    }

    fn documents(
        &self,
        collection: u32,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Result<DocumentRow>)>> {
        let mut found = Vec::new();
        let sql = format!(
            "SELECT {DOCUMENT} FROM documents WHERE number > ? AND +collection = ? ORDER BY number LIMIT ?"
        );
        self.each(&sql, params![after as i64, collection, limit as i64], |row| {
            found.push((number(row, 0)?, document(row)));
            Ok(())
        })?;
        Ok(found)
    }

    fn each_sketch(
        &self,
        collection: u32,
        sink: &mut dyn FnMut(u64, Result<SketchRow>) -> Result<()>,
    ) -> Result<()> {
        self.each_row("fingerprints", SKETCH, collection, sketch, sink)
    }

    fn member(&self, document: u64) -> Result<Option<MemberRow>> {
        self.one(&format!("SELECT {MEMBER} FROM members WHERE document = ?"), [document as i64], member)
    }

    fn members(&self, cluster: ClusterId, limit: usize) -> Result<Vec<MemberRow>> {
        let mut found = Vec::new();
        let sql = format!("SELECT {MEMBER} FROM members WHERE cluster = ? ORDER BY document LIMIT ?");
        self.each(&sql, params![cluster.0 as i64, limit as i64], |row| {
            found.extend(member(row).ok());
            Ok(())
        })?;
        Ok(found)
    }

    fn each_member(
        &self,
        collection: u32,
        sink: &mut dyn FnMut(u64, Result<MemberRow>) -> Result<()>,
    ) -> Result<()> {
        self.each_row("members", MEMBER, collection, member, sink)
    }

    fn joined(&self, document: u64) -> Result<Vec<MemberRow>> {
        let mut found = Vec::new();
        let sql = format!("SELECT {MEMBER} FROM members WHERE joined = ? ORDER BY document");
        self.each(&sql, [document as i64], |row| {
            found.extend(member(row).ok());
            Ok(())
        })?;
        Ok(found)
    }

    fn cluster_figures(&self, collection: u32) -> Result<[u64; 3]> {
        let sql = "SELECT count(*), coalesce(sum(size), 0), coalesce(max(size), 0) FROM clusters WHERE collection = ?";
        let found =
            self.one(sql, [collection], |row| Ok([number(row, 0)?, number(row, 1)?, number(row, 2)?]))?;
        Ok(found.unwrap_or_default())
    }

    fn cluster_size(&self, cluster: ClusterId) -> Result<Option<u64>> {
        self.one("SELECT size FROM clusters WHERE number = ?", [cluster.0 as i64], |row| number(row, 0))
    }

    fn clusters(
        &self,
        collection: u32,
        before: Option<ClusterId>,
        limit: usize,
    ) -> Result<Vec<(ClusterId, u64)>> {
        let mut found = Vec::new();
        let before = before.map_or(i64::MAX, |cluster| cluster.0.min(i64::MAX as u64) as i64);
        let sql = "SELECT number, size FROM clusters WHERE collection = ? AND number < ? ORDER BY number DESC LIMIT ?";
        self.each(sql, params![collection, before, limit as i64], |row| {
            found.push((ClusterId(number(row, 0)?), number(row, 1)?));
            Ok(())
        })?;
        Ok(found)
    }

    fn check(&self) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        let checked = self.each("PRAGMA integrity_check(1000)", [], |row| {
            let problem = text(row, 0)?;
            if problem != "ok" {
                let object = self.path.display().to_string();
                findings.push(Finding { object, problem, remedy: "restore the folder from a snapshot" });
            }
            Ok(())
        });
        if let Err(error) = checked {
            let object = self.path.display().to_string();
            let remedy = "restore the folder from a snapshot";
            findings.push(Finding { object, problem: error.to_string(), remedy });
        }
        Ok(findings)
    }

    fn hold(&self) -> Result<()> {
        self.connection.execute_batch("BEGIN").map_err(|error| self.wrong(error))
    }

    fn bytes(&self) -> u64 {
        let size = |suffix: &str| {
            let mut name = self.path.as_os_str().to_owned();
            name.push(suffix);
            std::fs::metadata(name).map_or(0, |meta| meta.len())
        };
        size("") + size("-wal")
    }

    fn copy_to(&self, file: &Path) -> Result<()> {
        let name = file.to_str().ok_or_else(|| Error::Io {
            path: file.to_owned(),
            source: std::io::Error::other("the name is not UTF-8: choose another"),
        })?;
        self.connection.execute("VACUUM INTO ?", [name]).map_err(|error| super::wrong(file, error))?;
        super::sync_file(file)
    }
}

const MISMATCH: &str = "the checksum does not fit";

fn damaged(kind: &str, number: u64, reason: &str) -> Error {
    Error::Damaged { what: format!("{kind} {number}"), reason: reason.to_owned() }
}

/// A value of the wrong type can only be damage: we wrote it.
fn value<'a>(row: &'a Row<'_>, at: usize) -> Result<ValueRef<'a>> {
    let what = || format!("column {at}");
    row.get_ref(at).map_err(|error| Error::Damaged { what: what(), reason: error.to_string() })
}

fn of_type(at: usize) -> Error {
    Error::Damaged { what: format!("column {at}"), reason: "it has another type or is not UTF-8".into() }
}

fn integer(row: &Row<'_>, at: usize) -> Result<i64> {
    value(row, at)?.as_i64().map_err(|_| of_type(at))
}

fn number(row: &Row<'_>, at: usize) -> Result<u64> {
    u64::try_from(integer(row, at)?).map_err(|_| of_type(at))
}

fn small(row: &Row<'_>, at: usize) -> Result<u32> {
    u32::try_from(integer(row, at)?).map_err(|_| of_type(at))
}

fn optional<T>(row: &Row<'_>, at: usize, read: fn(&Row<'_>, usize) -> Result<T>) -> Result<Option<T>> {
    match value(row, at)? {
        ValueRef::Null => Ok(None),
        _ => read(row, at).map(Some),
    }
}

fn text(row: &Row<'_>, at: usize) -> Result<String> {
    value(row, at)?.as_str().map(str::to_owned).map_err(|_| of_type(at))
}

fn blob(row: &Row<'_>, at: usize) -> Result<Option<Vec<u8>>> {
    Ok(value(row, at)?.as_blob_or_null().map_err(|_| of_type(at))?.map(<[u8]>::to_vec))
}

fn collection(row: &Row<'_>) -> Result<CollectionRow> {
    let found = CollectionRow {
        number: small(row, 0)?,
        name: text(row, 1)?,
        preset: text(row, 2)?,
        overrides: text(row, 3)?,
        config: text(row, 4)?,
        retention_days: optional(row, 5, small)?,
        window_days: optional(row, 6, small)?,
        created_at: integer(row, 7)?,
    };
    match found.checksum() == integer(row, 8)? {
        true => Ok(found),
        false => Err(damaged("collection", found.number.into(), MISMATCH)),
    }
}

fn document(row: &Row<'_>) -> Result<DocumentRow> {
    let at = number(row, 0)?;
    named("document", at, || {
        let (id, content) = (text(row, 2)?, text(row, 9)?);
        let parsed = match integer(row, 8)? {
            0 => Some(Content::Text(content.clone())),
            _ => serde_json::from_str(&content).ok().map(Content::Tokens),
        };
        let unreadable = || damaged("document", at, MISMATCH);
        let document = Document {
            id: id_from_json(&id).ok_or_else(unreadable)?,
            content: parsed.ok_or_else(unreadable)?,
            title: optional(row, 3, text)?,
            source: optional(row, 4, text)?,
            url: optional(row, 5, text)?,
            published_at: optional(row, 6, text)?,
        };
        let collection = small(row, 1)?;
        let found = DocumentRow { number: at, collection, document, arrived_at: integer(row, 7)? };
        match found.checksum(&id, &content) == integer(row, 10)? {
            true => Ok(found),
            false => Err(unreadable()),
        }
    })
}

fn sketch(row: &Row<'_>) -> Result<SketchRow> {
    let at = number(row, 0)?;
    named("sketch of document", at, || {
        let [simhash, minhash, sdr, key] = [blob(row, 2)?, blob(row, 3)?, blob(row, 4)?, blob(row, 5)?];
        let scheme = SchemeId::from_u64(integer(row, 9)? as u64);
        let wrong = |error: sameish::Error| damaged("sketch of document", at, &error.to_string());
        let short = || damaged("sketch of document", at, "a field has the wrong length");
        let sum = super::write::sketch_checksum(
            [
                at as i64,
                integer(row, 1)?,
                integer(row, 6)?,
                integer(row, 7)?,
                integer(row, 8)?,
                integer(row, 9)?,
                integer(row, 10)?,
            ],
            [simhash.as_deref(), minhash.as_deref(), sdr.as_deref(), key.as_deref()],
        );
        if sum != integer(row, 11)? {
            return Err(damaged("sketch of document", at, MISMATCH));
        }
        let sdr = match sdr.map(|bytes| decode_sketch(&bytes, scheme)).transpose().map_err(wrong)? {
            Some(Stored::Sdr(sdr)) => Some(sdr),
            Some(_) => return Err(short()),
            None => None,
        };
        let key = key.map(|key| <[u8; 16]>::try_from(key).map_err(|_| short())).transpose()?;
        Ok(SketchRow {
            number: at,
            collection: small(row, 1)?,
            sketches: Sketches {
                status: if integer(row, 6)? == 0 { Status::Ok } else { Status::TooShort },
                words: number(row, 7)? as usize,
                simhash: simhash.map(|bytes| Fingerprint::from_bytes(&bytes)).transpose().map_err(wrong)?,
                minhash: minhash.map(|bytes| Signature::from_bytes(&bytes)).transpose().map_err(wrong)?,
                sdr,
            },
            key: key.map(|key| TextKey::from_u128(u128::from_le_bytes(key))),
            moment: integer(row, 8)?,
            scheme,
            computed_at: integer(row, 10)?,
        })
    })
}

fn member(row: &Row<'_>) -> Result<MemberRow> {
    let document = number(row, 0)?;
    named("membership of document", document, || {
        let cluster = ClusterId(number(row, 2)?);
        let found =
            MemberRow { document, collection: small(row, 1)?, cluster, joined: optional(row, 3, number)? };
        match found.checksum() == integer(row, 4)? {
            true => Ok(found),
            false => Err(damaged("membership of document", document, MISMATCH)),
        }
    })
}

/// Damage in a column is damage of its row.
fn named<T>(kind: &str, number: u64, read: impl FnOnce() -> Result<T>) -> Result<T> {
    read().map_err(|error| match error {
        Error::Damaged { what, reason } if what.starts_with("column") => {
            damaged(kind, number, &format!("{what}: {reason}"))
        }
        other => other,
    })
}
