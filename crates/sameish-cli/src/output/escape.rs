//! Text that can not steer a terminal.

pub(crate) use sameish_batch::escape::{escaped, escaped_name, is_steering};

/// Text that is safe within HTML and SVG.
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

/// How markup writes a character that means something to it.
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
