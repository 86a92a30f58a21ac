//! JSON Lines output.

use serde::Serialize;

/// Rounds a measure to six digits.
pub fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// Appends a value as one line of JSON.
pub fn push_line(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(&mut *out, value)
        .unwrap_or_else(|e| unreachable!("a buffer accepts any JSON: {e}"));
    out.push(b'\n');
}
