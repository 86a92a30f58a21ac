//! Columns of signed texts.

use crate::export::Columns;
use arrow_array::builder::{BinaryBuilder, Int64Builder, ListBuilder};
use arrow_array::{BooleanArray, Int64Array, StringArray};
use pyo3::prelude::*;
use sameish_batch::columns::RowSigner;
use sameish_batch::ordered_pool::with_scratch;
use std::borrow::Cow;
use std::sync::Arc;

/// Columns of signed texts.
#[derive(Default)]
pub(super) struct SignedColumns {
    too_short: Vec<bool>,
    bytes: Vec<i64>,
    identities: Vec<i64>,
    replaced: Vec<bool>,
    copies: BinaryBuilder,
    outlines: BinaryBuilder,
    fingerprints: Int64Builder,
    keys: ListBuilder<Int64Builder>,
    problems: Vec<Option<String>>,
}

/// Returns a text, or why it cannot be used.
pub(super) fn usable(text: Option<&[u8]>, lossy: bool, max_document: usize) -> Result<Cow<'_, str>, String> {
    let text = text.ok_or("text is null")?;
    if text.len() > max_document {
        return Err(format!("text is longer than {max_document} bytes"));
    }
    match std::str::from_utf8(text) {
        Ok(text) => Ok(text.into()),
        Err(_) if lossy => Ok(String::from_utf8_lossy(text)),
        Err(_) => Err("text is not valid UTF-8".to_owned()),
    }
}

impl SignedColumns {
    pub(super) fn push(&mut self, signer: &RowSigner, text: Result<Cow<'_, str>, String>) {
        let (text, problem) = match text {
            Ok(text) => (text, None),
            Err(problem) => ("".into(), Some(problem)),
        };
        // Only a text with invalid UTF-8 is copied.
        self.replaced.push(matches!(text, Cow::Owned(_)));
        let text = &*text;
        self.problems.push(problem);
        let row = with_scratch(|scratch| signer.sign(text, scratch));
        self.too_short.push(row.too_short);
        self.bytes.push(text.len() as i64);
        self.identities.push(row.identity);
        self.copies.append_option(row.copy_key);
        self.outlines
            .append_option(row.outline.map(|outline| outline.to_words().map(u64::to_le_bytes).concat()));
        self.fingerprints.append_option(row.fingerprint.map(|fingerprint| fingerprint.as_u64() as i64));
        self.keys.values().append_slice(&row.keys);
        self.keys.append(true);
    }

    pub(super) fn finish(mut self) -> PyResult<Columns> {
        Columns::new(vec![
            ("too_short", Arc::new(BooleanArray::from(self.too_short))),
            ("bytes", Arc::new(Int64Array::from(self.bytes))),
            ("identity", Arc::new(Int64Array::from(self.identities))),
            ("replaced", Arc::new(BooleanArray::from(self.replaced))),
            ("copy_key", Arc::new(self.copies.finish())),
            ("outline", Arc::new(self.outlines.finish())),
            ("fingerprint", Arc::new(self.fingerprints.finish())),
            ("keys", Arc::new(self.keys.finish())),
            ("problem", Arc::new(StringArray::from(self.problems))),
        ])
    }
}
