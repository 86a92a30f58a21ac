//! Escaping of text from documents for HTML.

use crate::escape::{entity, is_steering};
use crate::report::figures::shortened;

/// Escapes a name, such as an id, a source or a command. Line breaks and tabs are made visible.
pub(super) fn name(text: &str, most: usize) -> String {
    escape(&shortened(text, most), |c| is_invisible(c).then(|| invisible(c)))
}

/// Escapes a part of a document. Line breaks and tabs become spaces.
pub(super) fn prose(text: &str) -> String {
    escape(text, |c| match c {
        '\n' | '\r' | '\t' => Some(" ".into()),
        _ => is_invisible(c).then(|| invisible(c)),
    })
}

/// Escapes text for places where HTML allows no elements, such as the title.
pub(super) fn bare(text: &str) -> String {
    escape(text, |c| is_invisible(c).then(|| c.escape_default().to_string()))
}

fn escape(text: &str, replace: impl Fn(char) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match (entity(c), replace(c)) {
            (Some(entity), _) => out.push_str(entity),
            (None, Some(replacement)) => out.push_str(&replacement),
            (None, None) => out.push(c),
        }
    }
    out
}

fn invisible(c: char) -> String {
    format!("<span class=\"unseen\">{}</span>", c.escape_default())
}

/// Returns `true` for control characters, direction marks and characters without a glyph. Joiners are excluded: whole scripts
/// and many emoji need them.
fn is_invisible(c: char) -> bool {
    is_steering(c)
        || matches!(c, '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_markup() {
        let payload = "<script>alert('x')</script>\"onload=\"&amp;";
        let inert = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;onload=&quot;&amp;amp;";
        assert_eq!(name(payload, 100), inert);
        assert_eq!(prose(payload), inert);
        assert_eq!(bare(payload), inert);
    }

    #[test]
    fn makes_invisible_characters_visible() {
        assert_eq!(name("a\u{202e}b", 9), "a<span class=\"unseen\">\\u{202e}</span>b");
        assert_eq!(name("a\nb", 9), "a<span class=\"unseen\">\\n</span>b");
        assert_eq!(prose("a\r\n\tb\u{0}"), "a   b<span class=\"unseen\">\\u{0}</span>");
        assert_eq!(bare("a\u{2067}\u{feff}\n"), "a\\u{2067}\\u{feff}\\n");
        assert_eq!(prose("👩\u{200d}🚀 می\u{200c}خواهم"), "👩\u{200d}🚀 می\u{200c}خواهم");
    }
}
