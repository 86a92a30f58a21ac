//! Text that cannot control a terminal, HTML or SVG.

use std::ffi::OsStr;

/// Returns the text with control characters and bidirectional marks written out, as in `\u{1b}`.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.extend(c.escape_default()),
            _ if is_steering(c) => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    out
}

/// Escapes a file name like [`escaped`]; bytes that are not UTF-8 become `\xff`.
pub fn escaped_name(name: &OsStr) -> String {
    escaped_bytes(name.as_encoded_bytes())
}

/// Escapes bytes like [`escaped`]; bytes that are not UTF-8 become `\xff`.
pub fn escaped_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(&escaped(chunk.valid()));
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// Returns `true` for control characters, line separators, and marks that change the direction of text.
pub fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes text for HTML and SVG.
pub fn escaped_markup(text: &str) -> String {
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
pub fn entity(c: char) -> Option<&'static str> {
    Some(match c {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '"' => "&quot;",
        '\'' => "&#39;",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_out_terminal_codes() {
        assert_eq!(escaped("a\u{1b}[31m\n\u{202e}é"), "a\\u{1b}[31m\\n\\u{202e}é");
    }

    #[test]
    fn writes_out_bytes_that_are_not_utf8() {
        assert_eq!(escaped_bytes(b"a\xff\xfeb"), "a\\xff\\xfeb");
    }
}
