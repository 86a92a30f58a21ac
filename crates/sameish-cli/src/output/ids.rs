//! Ids in messages.

use crate::output::escape::escaped;
use sameish::DocId;
use unicode_width::UnicodeWidthStr;

/// Formats an id as JSON, escaped and shortened to a number of terminal columns.
pub(crate) fn shown(id: &DocId, columns: usize) -> String {
    match id {
        DocId::Text(text) => {
            let mut used = 0;
            let fits = |c: &char| {
                used += escaped(c.encode_utf8(&mut [0; 4])).width();
                used <= columns
            };
            let short: String = text.chars().take_while(fits).collect();
            format!("\"{}{}\"", escaped(&short), if short.len() < text.len() { "…" } else { "" })
        }
        number => number.to_string(),
    }
}
