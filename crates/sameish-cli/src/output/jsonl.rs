//! A line of JSON for each document, with the sketches that the preset made.

use sameish::{DocId, Sketches};
use serde::Serialize;

#[derive(Serialize)]
struct Line<'a> {
    id: &'a DocId,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    simhash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minhash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sdr: Option<&'a [u32]>,
}

/// Adds a document's line.
pub(crate) fn push_sketches(out: &mut Vec<u8>, id: &DocId, sketches: &Sketches) {
    let line = Line {
        id,
        status: sketches.status.name(),
        simhash: sketches.simhash.as_ref().map(|fingerprint| fingerprint.to_hex()),
        minhash: sketches.minhash.as_ref().map(|signature| signature.to_hex()),
        sdr: sketches.sdr.as_ref().map(|sdr| sdr.active()),
    };
    push_line(out, &line);
}

/// Six digits, which are more than any measure here knows.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// Adds any value as a line.
pub(crate) fn push_line(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(&mut *out, value).unwrap_or_else(|e| unreachable!("memory takes any JSON: {e}"));
    out.push(b'\n');
}
