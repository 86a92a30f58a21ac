//! Escaping of untrusted text for the terminal, HTML and SVG.

pub(crate) use sameish_batch::escape::{escaped, escaped_name, is_steering};

/// Escapes text for HTML and SVG.
pub(crate) fn escaped_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match entity(c) {
            Some(entity) => out.push_str(entity),
            None => out.push(c),
        }
    }
    out
}

/// Returns the entity of a character with a special meaning in markup.
pub(crate) fn entity(c: char) -> Option<&'static str> {
    Some(match c {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '"' => "&quot;",
        '\'' => "&#39;",
        _ => return None,
    })
}
