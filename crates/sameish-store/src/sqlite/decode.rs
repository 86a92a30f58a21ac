//! Decoding of rows and their columns.

use super::write::{SketchNumbers, sketch_checksum};
use crate::error::{Error, Result};
use crate::model::{Center, EditKind};
use crate::rows::{
    ClusterRow, CollectionRow, DocumentRow, EditRow, ListedCluster, MemberRow, SketchRow, TaskKind, TaskRow,
};
use rusqlite::Row;
use rusqlite::types::ValueRef;
use sameish::cluster::ClusterId;
use sameish::document::GivenSketches;
use sameish::features::TextKey;
use sameish::sketch::{SchemeId, Stored, decode_sketch};
use sameish::{Content, DocId, Document, Fingerprint, Sdr, Signature, Sketches, Status};

pub(super) const DOCUMENT: &str =
    "number, collection, id, title, source, url, published_at, arrived_at, tokens, text, checksum, metadata";
pub(super) const SKETCH: &str = "document, collection, simhash, minhash_signature, sdr, text_key, short, word_count, moment, \
    scheme, computed_at, checksum";
pub(super) const MEMBER: &str = "document, collection, cluster, joined, checksum, edited, rank";
pub(super) const CLUSTER: &str = "number, size, center, chained";
pub(super) const LISTED: &str =
    "clusters.number, size, center, chained, first, last, listed, latest, first_source, sources";
pub(super) const TASK: &str = "collection, position, cluster, kind, target";

const MISMATCH: &str = "the checksum does not match";

pub(super) fn damaged(kind: &str, number: u64, reason: &str) -> Error {
    Error::Damaged { what: format!("{kind} {number}"), reason: reason.to_owned() }
}

/// Reads a column. A value of the wrong type is damage, because sameish wrote the row.
pub(super) fn get<'a>(row: &'a Row<'_>, column: usize) -> Result<ValueRef<'a>> {
    let damaged = |error: rusqlite::Error| Error::Damaged {
        what: format!("column {column}"),
        reason: error.to_string(),
    };
    row.get_ref(column).map_err(damaged)
}

pub(super) fn wrong_type(column: usize) -> Error {
    Error::Damaged {
        what: format!("column {column}"),
        reason: "it has the wrong type or is not valid UTF-8".into(),
    }
}

pub(super) fn get_i64(row: &Row<'_>, column: usize) -> Result<i64> {
    get(row, column)?.as_i64().map_err(|_| wrong_type(column))
}

pub(super) fn get_u64(row: &Row<'_>, column: usize) -> Result<u64> {
    u64::try_from(get_i64(row, column)?).map_err(|_| wrong_type(column))
}

pub(super) fn get_u32(row: &Row<'_>, column: usize) -> Result<u32> {
    u32::try_from(get_i64(row, column)?).map_err(|_| wrong_type(column))
}

pub(super) fn get_str<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str> {
    get(row, column)?.as_str().map_err(|_| wrong_type(column))
}

pub(super) fn get_text(row: &Row<'_>, column: usize) -> Result<String> {
    get_str(row, column).map(str::to_owned)
}

fn get_blob(row: &Row<'_>, column: usize) -> Result<Option<Vec<u8>>> {
    let blob = get(row, column)?.as_blob_or_null().map_err(|_| wrong_type(column))?;
    Ok(blob.map(<[u8]>::to_vec))
}

pub(super) fn optional<T>(
    row: &Row<'_>,
    column: usize,
    read: fn(&Row<'_>, usize) -> Result<T>,
) -> Result<Option<T>> {
    match get(row, column)? {
        ValueRef::Null => Ok(None),
        _ => read(row, column).map(Some),
    }
}

pub(super) fn collection(row: &Row<'_>) -> Result<CollectionRow> {
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
            center: match optional(row, 9, get_u64)? {
                None => Center::First,
                Some(center) => Center::from_u64(center).ok_or_else(|| wrong_type(9))?,
            },
        };
        if collection.checksum() != get_i64(row, 8)? {
            return Err(damaged("collection", number.into(), MISMATCH));
        }
        Ok(collection)
    })
}

pub(super) fn document(row: &Row<'_>) -> Result<DocumentRow> {
    let number = get_u64(row, 0)?;
    with_row_name("document", number, || {
        let id = get_text(row, 2)?;
        let text = get_text(row, 9)?;
        let content = match get_i64(row, 8)? {
            0 => Some(Content::Text(text.clone())),
            2 => GivenSketches::from_text(&text).map(|given| Content::Sketches(Box::new(given))),
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

pub(super) fn sketch(row: &Row<'_>) -> Result<SketchRow> {
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
                short_minhash: None,
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

pub(super) fn member(row: &Row<'_>) -> Result<MemberRow> {
    let document = get_u64(row, 0)?;
    with_row_name("membership of document", document, || {
        let member = MemberRow {
            document,
            collection: get_u32(row, 1)?,
            cluster: ClusterId(get_u64(row, 2)?),
            joined: optional(row, 3, get_u64)?,
            edited: optional(row, 5, get_u64)?.map(ClusterId),
            rank: optional(row, 6, get_u64)?,
        };
        if member.checksum() != get_i64(row, 4)? {
            return Err(damaged("membership of document", document, MISMATCH));
        }
        Ok(member)
    })
}

pub(super) fn cluster(row: &Row<'_>) -> Result<ClusterRow> {
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

pub(super) fn edit(row: &Row<'_>, collection: u32) -> Result<EditRow> {
    let number = get_u64(row, 0)?;
    with_row_name("edit", number, || {
        let documents = get_text(row, 4)?;
        let edit = EditRow {
            collection,
            number,
            at: get_i64(row, 1)?,
            kind: EditKind::from_u64(get_u64(row, 2)?).ok_or_else(|| wrong_type(2))?,
            clusters: ClusterId(get_u64(row, 3)?),
            documents: id_lists(&documents).ok_or_else(|| wrong_type(4))?,
        };
        if edit.checksum(&documents) != get_i64(row, 5)? {
            return Err(damaged("edit", number, MISMATCH));
        }
        Ok(edit)
    })
}

/// Parses a JSON list of lists of ids.
fn id_lists(json: &str) -> Option<Vec<Vec<DocId>>> {
    let lists: Vec<Vec<serde_json::Value>> = serde_json::from_str(json).ok()?;
    let ids = |ids: Vec<serde_json::Value>| ids.iter().map(|id| DocId::from_json(&id.to_string())).collect();
    lists.into_iter().map(ids).collect()
}

pub(super) fn listed_cluster(row: &Row<'_>) -> Result<ListedCluster> {
    let number = get_u64(row, 0)?;
    let row = cluster(row).and_then(|found| {
        with_row_name("cluster", number, || {
            Ok(ListedCluster {
                row: found,
                first: get_i64(row, 4)?,
                last: get_i64(row, 5)?,
                listed: get_u64(row, 6)?,
                latest: get_u64(row, 7)?,
                first_source: Some(get_text(row, 8)?).filter(|source| !source.is_empty()),
                sources: get_u64(row, 9)?,
            })
        })
    })?;
    Ok(row)
}

pub(super) fn task(row: &Row<'_>) -> Result<TaskRow> {
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
