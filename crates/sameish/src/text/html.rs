//! HTML: which part of a page is text?
//!
//! Tags, comments, declarations and the contents of scripts and styles are removed, and character references are decoded. What
//! is markup follows the tokenization rules of the HTML standard, so that the result is what a browser reads: a `<` that no
//! letter follows is text, and an unclosed tag or comment extends to the end of the input. One pass takes linear time, because
//! every byte is part of exactly one tag, comment or text. Any input is valid.
//!
//! Tags of elements that are set within a line, such as `<b>`, do not separate words; all others do.

use super::entities;
use super::plain::Writer;
use std::ops::Range;

/// Elements that do not end a word.
const INLINE: [&str; 32] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font",
    "i", "ins", "kbd", "mark", "nobr", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
    "tt", "u", "var", "wbr",
];
/// Elements whose contents are not shown and contain no tags.
const HIDDEN: [&str; 5] = ["iframe", "noembed", "noframes", "script", "style"];
/// Elements that contain text but no tags.
const TEXT_ONLY: [&str; 2] = ["textarea", "title"];

/// Passes the text of a page to the writer.
pub(super) fn remove_markup(text: &str, writer: &mut Writer<'_, '_>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let end = find(bytes, at, b'<');
        write_text(text, at..end, writer);
        at = if end < bytes.len() { write_markup(text, end, writer) } else { end };
    }
}

/// Writes text without tags.
fn write_text(text: &str, range: Range<usize>, writer: &mut Writer<'_, '_>) {
    let mut at = range.start;
    if writer.is_at_start() {
        // Leading white space is not shown, and would be an empty first word for the tokenizer `whitespace`.
        at += text[range.clone()].bytes().take_while(u8::is_ascii_whitespace).count();
        writer.replace(range.start..at, "");
    }
    let text = &text[..range.end];
    let mut decoded = String::new();
    let mut kept = at;
    while at < text.len() {
        at = find(text.as_bytes(), at, b'&');
        match entities::decode(&text[at..], &mut decoded) {
            Some(length) => {
                writer.keep(kept..at);
                writer.replace(at..at + length, &decoded);
                at += length;
                kept = at;
            }
            None => at = (at + 1).min(text.len()),
        }
    }
    writer.keep(kept..text.len());
}

/// Handles the `<` at byte `at`. Returns the offset at which text continues.
fn write_markup(text: &str, at: usize, writer: &mut Writer<'_, '_>) -> usize {
    let bytes = text.as_bytes();
    let closing = bytes.get(at + 1) == Some(&b'/');
    let name_at = at + 1 + usize::from(closing);
    let end = match bytes.get(name_at) {
        Some(first) if first.is_ascii_alphabetic() => {
            let name = name_at..name_end(bytes, name_at);
            return write_tag(text, at, name, closing, writer);
        }
        Some(b'!') if !closing && bytes[name_at..].starts_with(b"!--") => comment_end(text, name_at + 3),
        Some(b'!' | b'?') if !closing => after(bytes, name_at, b'>'),
        Some(_) if closing => after(bytes, name_at, b'>'),
        _ => {
            writer.keep(at..at + 1);
            return at + 1;
        }
    };
    writer.replace(at..end, "");
    end
}

/// Handles a tag, and the contents of its element if it contains no tags.
fn write_tag(text: &str, at: usize, name: Range<usize>, closing: bool, writer: &mut Writer<'_, '_>) -> usize {
    let bytes = text.as_bytes();
    let end = tag_end(bytes, name.end);
    let name = &text[name];
    let is_one_of = |names: &[&str]| names.iter().any(|other| other.eq_ignore_ascii_case(name));
    if is_one_of(&INLINE) {
        writer.replace(at..end, "");
        return end;
    }
    if !closing && is_one_of(&HIDDEN) {
        let end = contents_end(bytes, end, name);
        writer.separate(at..end);
        return end;
    }
    writer.separate(at..end);
    if closing || !is_one_of(&TEXT_ONLY) {
        return end;
    }
    let contents = contents_end(bytes, end, name);
    write_text(text, end..contents, writer);
    contents
}

fn name_end(bytes: &[u8], from: usize) -> usize {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    bytes[from..].iter().position(ends).map_or(bytes.len(), |length| from + length)
}

/// Returns the offset after a tag, given the end of its name. A quoted value of an attribute may contain `>`.
fn tag_end(bytes: &[u8], mut at: usize) -> usize {
    // Whether a quote begins a value here: only after `=` and white space.
    let mut value = false;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'>' => return at,
            b'"' | b'\'' if value => {
                at = after(bytes, at, byte);
                value = false;
            }
            b'=' => value = true,
            _ => value &= byte.is_ascii_whitespace(),
        }
    }
    at
}

/// Returns the offset after a comment, given the offset after its `<!--`. Comments end with `-->` or `--!>`.
fn comment_end(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    for short in [&b">"[..], b"->"] {
        if bytes[from..].starts_with(short) {
            return from + short.len();
        }
    }
    let mut at = from;
    while let Some(dashes) = text[at..].find("--") {
        at += dashes + 2;
        for close in [&b">"[..], b"!>"] {
            if bytes[at..].starts_with(close) {
                return at + close.len();
            }
        }
        // The second dash may be the first of `-->`.
        at -= 1;
    }
    bytes.len()
}

/// Returns the offset of the end tag of an element whose contents begin at `from`.
fn contents_end(bytes: &[u8], from: usize, name: &str) -> usize {
    let mut at = from;
    loop {
        at = find(bytes, at, b'<');
        let Some(rest) = bytes[at..].strip_prefix(b"</") else {
            if at == bytes.len() {
                return at;
            }
            at += 1;
            continue;
        };
        let end = rest.get(name.len());
        if rest.get(..name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name.as_bytes()))
            && end.is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>'))
        {
            return at;
        }
        at += 2;
    }
}

/// Returns the offset of the next `byte`, or the end of the text.
fn find(bytes: &[u8], from: usize, byte: u8) -> usize {
    bytes[from..].iter().position(|&other| other == byte).map_or(bytes.len(), |length| from + length)
}

/// Returns the offset after the next `byte`, or the end of the text.
fn after(bytes: &[u8], from: usize, byte: u8) -> usize {
    (find(bytes, from, byte) + 1).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use crate::config::Tokenizer;
    use crate::text::plain::Rules;
    use crate::text::{Span, tokens};
    use proptest::prelude::*;

    fn plain(text: &str) -> String {
        Rules { html: true, fold_accents: false }.apply(text).into_owned()
    }

    #[test]
    fn removes_markup_as_browsers_read_it() {
        let cases = [
            ("<p>Hello <b>wor</b>ld</p><p>again</p>", "Hello world\nagain\n"),
            ("a<br>b", "a\nb"),
            ("<!DOCTYPE html>\n<title>A &amp; <b></title>x", "A & <b>\nx"),
            ("a<!-- <p> -- > -->b<!-->c<!--->d<!-- x --!>e", "abcde"),
            ("a<script>if (a<b) '</p>'</SCRIPT >b", "a\nb"),
            ("a<style>p > b {}</styles></style>b", "a\nb"),
            ("a <a title='x>y' href=\"<\">b</a> c", "a b c"),
            ("<a b\"c>d\">e", "d\">e"),
            ("1 < 2 & 3 > 2 <3", "1 < 2 & 3 > 2 <3"),
            ("a</>b</ x>c<?xml?>d", "abcd"),
            ("&lt;p&gt; caf&eacute;", "<p> café"),
            ("a <b unclosed", "a "),
            ("a <!-- unclosed", "a "),
            ("a <script> unclosed", "a "),
            ("a <a title=\"unclosed> b", "a "),
            ("<", "<"),
            ("</", "</"),
            ("<!", ""),
            ("<!--", ""),
            ("&", "&"),
            ("", ""),
            (" \n<p> a", "a"),
        ];
        for (text, expected) in cases {
            assert_eq!(plain(text), expected, "{text}");
        }
    }

    #[test]
    fn hostile_inputs_take_linear_time() {
        for junk in [
            "<", "</", "<a", "<a ", "<!--", "<!--<", "<a b=\"", "<script>", "<title>", "&", "&#", "&#1",
            "&aaaa", "<!", "--",
        ] {
            let text = junk.repeat(1_000_000);
            assert!(plain(&text).len() <= 2 * text.len());
        }
        assert_eq!(plain(&format!("&#{};", "9".repeat(1_000_000))), "\u{FFFD}");
    }

    /// Returns the words of a text with their positions in the original.
    fn words(rules: Rules, text: &str) -> Vec<(String, Span)> {
        let (plain, edits) = rules.apply_located(text);
        let words = tokens(Tokenizer::Unicode, &plain).into_iter();
        words.map(|word| (word.text, edits.source(word.span))).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn offsets_are_those_of_the_words_in_the_original(
            parts in prop::collection::vec(prop::sample::select(vec![
                "word", "é", "e\u{301}", " ", "<b>", "</b>", "<p class='a>b'>", "<br>", "&eacute;", "&amp;", "&#x41;", "<!-- c -->",
                "<script>x</script>", "đ", "й", "и\u{306}", "漢", "12", ".", "<", "&", "\u{64E}", "كتاب", "œ",
            ]), 0..30),
            html: bool,
            fold_accents: bool,
        ) {
            let text = parts.concat();
            let rules = Rules { html, fold_accents };
            prop_assert_eq!(rules.apply(&text), rules.apply_located(&text).0);
            let mut end = 0;
            for (word, span) in words(rules, &text) {
                prop_assert!(span.start >= end && span.start < span.end && span.end <= text.len());
                end = span.end;
                let slice = &text[span.start..span.end];
                let again: Vec<String> = words(rules, slice).into_iter().map(|(word, _)| word).collect();
                prop_assert_eq!(again, [word], "{} in {}", slice, text);
            }
        }

        #[test]
        fn any_text_is_valid(text in "([<>&/!\"'=#;x-]|[ab]|script|title|\\PC){0,60}") {
            let (plain, edits) = Rules { html: true, fold_accents: true }.apply_located(&text);
            for (at, c) in plain.char_indices() {
                let span = edits.source(Span { start: at, end: at + c.len_utf8() });
                prop_assert!(text.get(span.start..span.end).is_some());
            }
        }
    }
}
