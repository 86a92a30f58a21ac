//! Plain text: which text is compared if documents contain markup or accents that do not matter?
//!
//! [`Rules`] may remove HTML markup ([`html`](super::html)) and fold accents ([`accents`](super::accents)) before a text is
//! normalized and split into words. The result is a text like any other. [`Edits`] maps offsets of the result to offsets of the
//! original, for evidence. Without any rule the text is borrowed unchanged.

use super::accents::{Folding, fold};
use super::{Span, html};
use crate::config::TextConfig;
use crate::document::ContentRef;
use std::borrow::Cow;
use std::ops::Range;
use unicode_normalization::char::compose;

/// Which parts of a text are removed or replaced before it is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    pub(crate) html: bool,
    pub(crate) fold_accents: bool,
}

/// A document in the form in which it is compared.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'a> {
    pub(crate) content: ContentRef<'a>,
    /// Whether accents have been folded, so that lists of words have to be folded, too.
    pub(crate) folded: bool,
}

impl<'a> Plain<'a> {
    /// Takes a document as it is.
    pub(crate) fn unchanged(content: ContentRef<'a>) -> Plain<'a> {
        Plain { content, folded: false }
    }
}

impl Rules {
    pub(crate) fn of(config: &TextConfig) -> Rules {
        Rules { html: config.html, fold_accents: config.fold_accents }
    }

    /// Calls `work` with the document in the form in which it is compared. Tokens that the caller supplied do not change.
    pub(crate) fn with_plain<T>(self, content: ContentRef<'_>, work: impl FnOnce(Plain<'_>) -> T) -> T {
        match content {
            ContentRef::Text(text) => {
                let plain = self.apply(text);
                work(Plain { content: ContentRef::Text(&plain), folded: self.fold_accents })
            }
            tokens => work(Plain::unchanged(tokens)),
        }
    }

    /// Returns the text that is compared.
    pub(crate) fn apply(self, text: &str) -> Cow<'_, str> {
        if self.changes_nothing(text) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(self.write(text, true, None))
    }

    /// Like [`apply`](Rules::apply), for a part of a text: white space at its beginning stays.
    pub(crate) fn apply_to_part(self, part: &str) -> Cow<'_, str> {
        if self.changes_nothing(part) {
            return Cow::Borrowed(part);
        }
        Cow::Owned(self.write(part, false, None))
    }

    /// Returns the text that is compared, and where its parts come from.
    pub(crate) fn apply_located(self, text: &str) -> (Cow<'_, str>, Edits) {
        let mut edits = Edits::default();
        if self.changes_nothing(text) {
            return (Cow::Borrowed(text), edits);
        }
        let plain = self.write(text, true, Some(&mut edits));
        (Cow::Owned(plain), edits)
    }

    /// Returns `true` if it is known without reading the text in detail that it does not change.
    fn changes_nothing(self, text: &str) -> bool {
        !self.html && (!self.fold_accents || text.is_ascii())
    }

    fn write(self, text: &str, is_whole: bool, edits: Option<&mut Edits>) -> String {
        let mut writer = Writer {
            source: text,
            out: String::with_capacity(text.len()),
            edits,
            fold: self.fold_accents,
            last: '\0',
            is_whole,
        };
        if self.html {
            html::remove_markup(text, &mut writer);
        } else {
            writer.keep(0..text.len());
        }
        writer.out
    }
}

/// Writes the text that is compared, and records what differs from the source.
pub(super) struct Writer<'a, 'e> {
    source: &'a str,
    out: String,
    edits: Option<&'e mut Edits>,
    fold: bool,
    /// The last character written, with which a mark may compose.
    last: char,
    /// Whether the source is a whole text, of which white space at the beginning is removed with the markup.
    is_whole: bool,
}

impl Writer<'_, '_> {
    /// Copies a part of the source.
    pub(super) fn keep(&mut self, range: Range<usize>) {
        let source = self.source;
        let mut text = &source[range.clone()];
        if !self.fold {
            return self.out.push_str(text);
        }
        let mut at = range.start;
        while !text.is_empty() {
            let ascii = text.bytes().position(|byte| !byte.is_ascii()).unwrap_or(text.len());
            self.out.push_str(&text[..ascii]);
            self.last = text[..ascii].chars().next_back().unwrap_or(self.last);
            at += ascii;
            text = &text[ascii..];
            if let Some(c) = text.chars().next() {
                let out = self.out.len();
                if self.push_folded(c) {
                    self.record(at..at + c.len_utf8(), out);
                }
                at += c.len_utf8();
                text = &text[c.len_utf8()..];
            }
        }
    }

    /// Writes `text` in place of a part of the source.
    pub(super) fn replace(&mut self, range: Range<usize>, text: &str) {
        let out = self.out.len();
        if self.fold {
            text.chars().for_each(|c| _ = self.push_folded(c));
        } else {
            self.out.push_str(text);
        }
        self.record(range, out);
    }

    /// Leaves out a part of the source. Two words that it separates stay separate.
    pub(super) fn separate(&mut self, range: Range<usize>) {
        let space = if self.is_at_start() || self.out.ends_with(char::is_whitespace) { "" } else { "\n" };
        self.replace(range, space);
    }

    /// Returns `true` if nothing of a whole text has been written.
    pub(super) fn is_at_start(&self) -> bool {
        self.is_whole && self.out.is_empty()
    }

    /// Writes a character with its accents folded. Returns `true` if the result differs from the character.
    fn push_folded(&mut self, c: char) -> bool {
        match fold(c) {
            Folding::To(text) => {
                self.out.push_str(text);
                self.last = text.chars().next_back().unwrap_or(self.last);
                return true;
            }
            // Some letters, such as й, are not variants of their base letter. Their marks are kept.
            Folding::Mark => match compose(self.last, c).filter(|&letter| fold(letter) == Folding::Keep) {
                Some(letter) => self.last = letter,
                None => return true,
            },
            Folding::Keep => self.last = c,
        }
        self.out.push(c);
        false
    }

    /// Records that a part of the source has become the output from `out` on.
    fn record(&mut self, source: Range<usize>, out: usize) {
        let Some(edits) = &mut self.edits else { return };
        let plain = out..self.out.len();
        if let Some(last) = edits.0.last_mut()
            && last.source.end == source.start
            && last.plain.end == plain.start
            && last.plain.is_empty()
            && plain.is_empty()
        {
            last.source.end = source.end;
            last.plain.end = plain.end;
            return;
        }
        edits.0.push(Edit { source, plain });
    }
}

/// The parts of a text that were removed or replaced, in order. Everything between them was copied.
#[derive(Debug, Default)]
pub(crate) struct Edits(Vec<Edit>);

#[derive(Debug)]
struct Edit {
    source: Range<usize>,
    plain: Range<usize>,
}

impl Edits {
    /// Returns the part of the source that a part of the plain text comes from: from the source of its first character to that
    /// of its last.
    pub(crate) fn source(&self, span: Span) -> Span {
        let end = self.end(span.end);
        if span.start == span.end {
            return Span { start: end, end };
        }
        Span { start: self.start(span.start), end }
    }

    fn start(&self, at: usize) -> usize {
        let before = self.0.partition_point(|edit| edit.plain.start <= at);
        match before.checked_sub(1).map(|i| &self.0[i]) {
            None => at,
            Some(edit) if at < edit.plain.end => edit.source.start,
            Some(edit) => edit.source.end + (at - edit.plain.end),
        }
    }

    fn end(&self, at: usize) -> usize {
        let before = self.0.partition_point(|edit| edit.plain.start < at);
        match before.checked_sub(1).map(|i| &self.0[i]) {
            None => at,
            Some(edit) if at <= edit.plain.end => edit.source.end,
            Some(edit) => edit.source.end + (at - edit.plain.end),
        }
    }
}
