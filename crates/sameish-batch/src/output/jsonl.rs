//! JSON Lines output.

use serde::Serialize;

pub use sameish_io::json::rounded;

/// Appends a value as one line of JSON.
pub fn push_line(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(&mut *out, value)
        .unwrap_or_else(|e| unreachable!("a buffer accepts any JSON: {e}"));
    out.push(b'\n');
}
