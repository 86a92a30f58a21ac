//! Changes to a SQLite file.

use super::SqliteStore;
use crate::error::{Error, Result};
use crate::rows::{Checksum, CollectionRow, Counters, DocumentRow, MemberRow, SketchRow, id_to_json};
use crate::store::{Read, Transaction};
use rusqlite::params;
use sameish::{ClusterId, Content, Status, Stored, encode_sketch};

/// A change that is undone unless it is committed.
pub(super) struct Change<'a> {
    store: &'a SqliteStore,
}

impl<'a> Change<'a> {
    pub(super) fn begin(store: &'a SqliteStore) -> Result<Change<'a>> {
        store.connection.execute_batch("BEGIN IMMEDIATE").map_err(|error| store.wrong(error))?;
        Ok(Change { store })
    }

    fn run(&self, sql: &str, values: impl rusqlite::Params) -> Result<()> {
        let run = || self.store.connection.prepare_cached(sql)?.execute(values);
        run().map(|_| ()).map_err(|error| self.store.wrong(error))
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        if !self.store.connection.is_autocommit() {
            // Where this fails the connection is broken, and the next change says so.
            _ = self.store.connection.execute_batch("ROLLBACK");
        }
    }
}

impl Transaction for Change<'_> {
    fn read(&self) -> &dyn Read {
        self.store
    }

    fn put_collection(&mut self, row: &CollectionRow) -> Result<()> {
        self.run(
            "INSERT OR REPLACE INTO collections VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
        for table in ["clusters", "members", "fingerprints", "documents", "words"] {
            self.run(&format!("DELETE FROM {table} WHERE collection = ?"), [collection])?;
        }
        self.run("DELETE FROM collections WHERE number = ?", [collection])
    }

    fn put_document(&mut self, row: &DocumentRow) -> Result<()> {
        let id = id_to_json(&row.document.id);
        let document = &row.document;
        let tokens;
        let (kind, text) = match &document.content {
            Content::Text(text) => (0, text.as_str()),
            Content::Tokens(list) => {
                tokens = serde_json::to_string(list)
                    .map_err(|error| Error::Failed { reason: error.to_string() })?;
                (1, tokens.as_str())
            }
        };
        let put = self.run(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                row.number as i64,
                row.collection,
                id,
                document.title,
                document.source,
                document.url,
                document.published_at,
                row.arrived_at,
                kind,
                text,
                row.checksum(&id, text)
            ],
        );
        match put {
            Err(Error::Database { .. }) if self.read().number_of(row.collection, &document.id)?.is_some() => {
                Err(Error::Conflict { id: document.id.clone() })
            }
            put => put,
        }
    }

    fn update_document(&mut self, row: &DocumentRow) -> Result<()> {
        self.run("DELETE FROM documents WHERE number = ?", [row.number as i64])?;
        self.put_document(row)
    }

    fn put_sketch(&mut self, row: &SketchRow) -> Result<()> {
        let sketches = &row.sketches;
        let simhash = sketches.simhash.map(|print| print.to_bytes());
        let minhash = sketches.minhash.as_ref().map(|signature| signature.to_bytes());
        let sdr = sketches.sdr.clone().map(|sdr| encode_sketch(&Stored::Sdr(sdr), row.scheme));
        let key = row.key.map(|key| key.as_u128().to_le_bytes());
        let short = i64::from(sketches.status == Status::TooShort);
        let (number, words, scheme) = (row.number as i64, sketches.words as i64, row.scheme.as_u64() as i64);
        let sum = sketch_checksum(
            [number, row.collection.into(), short, words, row.moment, scheme, row.computed_at],
            [
                simhash.as_ref().map(|print| &print[..]),
                minhash.as_deref(),
                sdr.as_deref(),
                key.as_ref().map(|key| &key[..]),
            ],
        );
        self.run(
            "INSERT OR REPLACE INTO fingerprints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                number,
                row.collection,
                simhash,
                minhash,
                sdr,
                key,
                short,
                words,
                row.moment,
                scheme,
                row.computed_at,
                sum
            ],
        )
    }

    fn remove_document(&mut self, number: u64) -> Result<()> {
        for (table, key) in [("documents", "number"), ("fingerprints", "document"), ("members", "document")] {
            self.run(&format!("DELETE FROM {table} WHERE {key} = ?"), [number as i64])?;
        }
        Ok(())
    }

    fn put_member(&mut self, row: &MemberRow) -> Result<()> {
        let joined = row.joined.map(|joined| joined as i64);
        let (document, cluster) = (row.document as i64, row.cluster.0 as i64);
        self.run(
            "INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?, ?)",
            params![document, row.collection, cluster, joined, row.checksum()],
        )
    }

    fn put_cluster(&mut self, collection: u32, cluster: ClusterId, size: u64) -> Result<()> {
        let number = cluster.0 as i64;
        match size {
            0 | 1 => self.run("DELETE FROM clusters WHERE number = ?", [number]),
            _ => self.run(
                "INSERT OR REPLACE INTO clusters VALUES (?, ?, ?)",
                params![number, collection, size as i64],
            ),
        }
    }

    fn put_counters(&mut self, counters: Counters) -> Result<()> {
        let Counters { collections, documents, clusters } = counters;
        let values = [
            ("collections", collections.into()),
            ("documents", documents as i64),
            ("clusters", clusters as i64),
        ];
        for (name, value) in values {
            self.run("INSERT OR REPLACE INTO counters VALUES (?, ?)", params![name, value])?;
        }
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.run("COMMIT", [])
    }
}

pub(super) fn sketch_checksum(numbers: [i64; 7], blobs: [Option<&[u8]>; 4]) -> i64 {
    let sum = numbers.into_iter().fold(Checksum::default(), Checksum::number);
    blobs.into_iter().fold(sum, Checksum::optional).finish()
}
