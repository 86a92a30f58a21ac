//! Text that can not steer a page.

use crate::output::escape::{entity, is_steering};
use crate::output::figures::shortened;
use std::fmt::Write;

/// A name in one line: an id, a source, a command. Line ends and tabs are shown too.
pub(super) fn name(text: &str, most: usize) -> String {
    push_shown(&shortened(text, most), |c| matches!(c, '\n' | '\r' | '\t'))
}

/// A stretch of a document, whose line ends and tabs are blanks.
pub(super) fn prose(text: &str) -> String {
    push_shown(text, |_| false)
}

/// For where the page allows no elements, such as its title.
pub(super) fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match entity(c) {
            Some(entity) => out.push_str(entity),
            None if is_unseen(c) => out.extend(c.escape_default()),
            None => out.push(c),
        }
    }
    out
}

fn push_shown(text: &str, also: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let blank = matches!(c, '\n' | '\r' | '\t') && !also(c);
        match entity(c) {
            Some(entity) => out.push_str(entity),
            None if blank => out.push(' '),
            None if is_unseen(c) => {
                let _ = write!(out, "<span class=\"unseen\">{}</span>", c.escape_default());
            }
            None => out.push(c),
        }
    }
    out
}

/// What steers, and what leaves no trace on the page. Joiners stay: whole scripts and many emoji need them.
fn is_unseen(c: char) -> bool {
    is_steering(c)
        || matches!(c, '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_inert() {
        let payload = "<script>alert('x')</script>\"onload=\"&amp;";
        let inert = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;onload=&quot;&amp;amp;";
        assert_eq!(name(payload, 100), inert);
        assert_eq!(prose(payload), inert);
        assert_eq!(bare(payload), inert);
    }

    #[test]
    fn what_steers_is_shown() {
        assert_eq!(name("a\u{202e}b", 9), "a<span class=\"unseen\">\\u{202e}</span>b");
        assert_eq!(name("a\nb", 9), "a<span class=\"unseen\">\\n</span>b");
        assert_eq!(prose("a\r\n\tb\u{0}"), "a   b<span class=\"unseen\">\\u{0}</span>");
        assert_eq!(bare("a\u{2067}\u{feff}\n"), "a\\u{2067}\\u{feff}\\n");
        assert_eq!(prose("👩\u{200d}🚀 می\u{200c}خواهم"), "👩\u{200d}🚀 می\u{200c}خواهم");
    }
}
