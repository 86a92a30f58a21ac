//! Normalization: which bytes represent a text, regardless of how it was typed?
//!
//! Each character is folded (compatibility decomposition, lower case) and the result is composed, so that equivalent
//! texts have equal bytes. Zero-width and control characters are removed. A run of combining marks is truncated to 30
//! marks, the limit of Unicode's stream-safe format (UAX #15), so the time is linear in the length of the text.
//!
//! A few dozen characters fold to more than three times their length; U+FDFA folds to four words. They are folded as long as
//! this adds at most twice the bytes that precede the character in the text, plus [`EXPANSION_FREE`]; after that they are kept
//! as they are. Text in any language is far below this limit, and a text of such characters alone costs no more than its length
//! in bytes allows.
//!
//! This is the slow path, for text that is not plain ASCII; [`tokenize`](super::tokenize) contains the fast path.

use super::chars::{Class, Entry};
use super::{Span, TokenRange};
use std::sync::LazyLock;
use unicode_normalization::char::{compose, decompose_canonical};

/// Maximum number of combining marks after one character.
pub(super) const MAX_MARKS: usize = 30;

/// Bytes that long foldings may add to any text.
const EXPANSION_FREE: usize = 256;
/// Bytes that long foldings may add per byte of the text before them.
const EXPANSION_RATE: usize = 2;
/// Foldings of more than this many times the length of the character count as expansion.
const EXPANSION_FACTOR: usize = 3;

/// A normalized character with its properties and the byte range of the source that it comes from.
#[derive(Clone, Copy)]
pub(super) struct Folded {
    pub(super) c: char,
    pub(super) entry: Entry,
    pub(super) span: Span,
}

/// Receives normalized characters.
pub(super) trait Sink {
    /// Adds the next character.
    fn push(&mut self, folded: Folded);

    /// Adds letters that come from a part of the source, as if one by one. All are of class [`Class::Letter`].
    fn push_letters(&mut self, letters: &str, span: Span);

    /// Adds two or more words of letters, which are separated by spaces, as if character by character. All come from one part of the
    /// source.
    fn push_words(&mut self, text: &str, words: &[TokenRange], span: Span);
}

/// The words of each folding that consists of two or more words of letters that are their own folding; empty for other foldings.
static FOLDED_WORDS: LazyLock<Vec<Box<[TokenRange]>>> =
    LazyLock::new(|| Entry::mappings().map(|mapping| words_of_letters(mapping).into()).collect());

/// Returns the words of a text of two or more words of letters that are their own folding, separated by single spaces; nothing for
/// any other text.
fn words_of_letters(text: &str) -> Vec<TokenRange> {
    let mut words = Vec::new();
    let mut start = 0;
    for word in text.split(' ') {
        if word.is_empty() || !word.chars().all(|c| Entry::of(c).is_plain_letter()) {
            return Vec::new();
        }
        let end = start + word.len() as u32;
        words.push(TokenRange { start, end });
        start = end + 1;
    }
    if words.len() > 1 { words } else { Vec::new() }
}

/// Returns `true` if no character at the start of a text composes with the character before it.
fn begins_alone(text: &str) -> bool {
    let is_alone = |c: char| {
        let entry = Entry::of(c);
        !entry.needs_context() && !matches!(entry.class(), Class::Extend | Class::Drop)
    };
    text.chars().next().is_none_or(|c| {
        let folded = Entry::of(c).mapping().and_then(|mapping| mapping.chars().next());
        is_alone(c) && folded.is_none_or(is_alone)
    })
}

/// The letters at the start of a text that are their own folding and compose with no character before them.
struct Letters {
    /// Length in bytes of all but the last, which may compose with the character after it.
    before_last: usize,
}

impl Letters {
    #[inline]
    fn at_start_of(text: &str) -> Letters {
        let mut before_last = 0;
        for (at, c) in text.char_indices() {
            if !Entry::of(c).is_plain_letter() {
                break;
            }
            before_last = at;
        }
        Letters { before_last }
    }
}

/// A streaming normalizer. It delays each character until no later character can compose with it.
#[derive(Default)]
pub(super) struct Normalizer {
    /// The last character, if no character that may compose with it has followed yet.
    base: Option<Folded>,
    /// Otherwise, the last base character and the characters after it.
    pending: Vec<Folded>,
    mark_run: usize,
    /// Bytes of the text before the offsets that [`push_text`](Self::push_text) receives.
    base_offset: usize,
    /// Bytes that long foldings added to the text so far.
    expanded: usize,
}

impl Normalizer {
    /// Begins a part of a text. Later offsets are relative to its start, `base_offset` bytes into the text.
    pub(super) fn begin_part(&mut self, base_offset: usize) {
        self.base_offset = base_offset;
        if base_offset == 0 {
            self.expanded = 0;
        }
    }

    /// Normalizes a piece of text that begins `offset` bytes into its source.
    pub(super) fn push_text(&mut self, text: &str, offset: usize, sink: &mut impl Sink) {
        self.mark_run = 0;
        let mut at = 0;
        while let Some(mut c) = text[at..].chars().next() {
            if Entry::of(c).is_plain_letter() {
                let letters = Letters::at_start_of(&text[at..]);
                if letters.before_last > 0 {
                    let span = Span { start: offset + at, end: offset + at + letters.before_last };
                    self.push_letters(&text[at..at + letters.before_last], span, sink);
                    at += letters.before_last;
                    c = text[at..].chars().next().unwrap_or(c);
                }
            }
            let c = c.to_ascii_lowercase();
            let entry = Entry::of(c);
            let span = Span { start: offset + at, end: offset + at + c.len_utf8() };
            at += c.len_utf8();
            match self.may_be_folded(entry, &span).then(|| entry.mapping()).flatten() {
                None => self.push(Folded { c, entry, span }, sink),
                Some(mapping) if mapping.len() > EXPANSION_FACTOR * (span.end - span.start) => {
                    self.push_expansion((mapping, entry), span, &text[at..], sink);
                }
                Some(mapping) => self.push_mapping(mapping, span, sink),
            }
        }
    }

    /// Adds a long folding. `later` is the text after the character.
    fn push_expansion(
        &mut self,
        (mapping, entry): (&str, Entry),
        span: Span,
        later: &str,
        sink: &mut impl Sink,
    ) {
        let words = &FOLDED_WORDS[entry.mapping_number()];
        if words.is_empty() || !begins_alone(later) {
            return self.push_mapping(mapping, span, sink);
        }
        self.mark_run = 0;
        self.flush(sink);
        sink.push_words(mapping, words, span);
    }

    /// Adds the folding of a character.
    fn push_mapping(&mut self, mut mapping: &str, span: Span, sink: &mut impl Sink) {
        while !mapping.is_empty() {
            let letters = Letters::at_start_of(mapping);
            let (now, later) = mapping.split_at(letters.before_last);
            if !now.is_empty() {
                self.push_letters(now, span, sink);
            }
            let mut chars = later.chars();
            if let Some(c) = chars.next() {
                self.push(Folded { c, entry: Entry::of(c), span }, sink);
            }
            mapping = chars.as_str();
        }
    }

    /// Adds letters that are their own folding and of which none composes with a character before or after it.
    fn push_letters(&mut self, letters: &str, span: Span, sink: &mut impl Sink) {
        self.mark_run = 0;
        self.flush(sink);
        sink.push_letters(letters, span);
    }

    /// Returns `true` if a character may be replaced by its folding, and counts the bytes that a long one adds.
    #[inline]
    fn may_be_folded(&mut self, entry: Entry, span: &Span) -> bool {
        let length = entry.mapping_len();
        if length <= EXPANSION_FACTOR * (span.end - span.start) {
            return true;
        }
        let expanded = self.expanded + length;
        let is_allowed = expanded <= EXPANSION_RATE * (self.base_offset + span.start) + EXPANSION_FREE;
        if is_allowed {
            self.expanded = expanded;
        }
        is_allowed
    }

    #[inline]
    fn push(&mut self, new: Folded, sink: &mut impl Sink) {
        let class = new.entry.class();
        if class == Class::Drop {
            return;
        }
        if class == Class::Extend || new.entry.needs_context() {
            return self.push_mark(new, sink);
        }
        self.mark_run = 0;
        if !self.pending.is_empty() {
            self.flush(sink);
        }
        if let Some(base) = self.base.replace(new) {
            sink.push(base);
        }
    }

    /// Adds a character that may compose with the previous one, or that counts towards [`MAX_MARKS`].
    fn push_mark(&mut self, new: Folded, sink: &mut impl Sink) {
        if new.entry.class() == Class::Extend || new.entry.ccc() != 0 {
            self.mark_run += 1;
            if self.mark_run > MAX_MARKS {
                return;
            }
        }
        // Conjoining vowels and similar characters are not marks, but the buffer must stay small for them, too.
        if !new.entry.needs_context() || self.pending.len() > MAX_MARKS + 1 {
            self.flush(sink);
        }
        self.pending.extend(self.base.take());
        self.insert_in_order(new);
    }

    /// Inserts a mark after all marks of the same or a lower combining class, never before a base character.
    fn insert_in_order(&mut self, new: Folded) {
        let ccc = new.entry.ccc();
        let mut at = self.pending.len();
        while ccc != 0 && at > 0 && self.pending[at - 1].entry.ccc() > ccc {
            at -= 1;
        }
        self.pending.insert(at, new);
    }

    /// Emits the delayed characters.
    pub(super) fn flush(&mut self, sink: &mut impl Sink) {
        if let Some(base) = self.base.take() {
            sink.push(base);
        }
        if self.pending.len() > 1 {
            self.decompose();
            self.compose();
        }
        self.pending.drain(..).for_each(|folded| sink.push(folded));
    }

    /// Decomposes the pending characters, so that marks can be ordered among those of a composed character.
    fn decompose(&mut self) {
        for folded in std::mem::take(&mut self.pending) {
            decompose_canonical(folded.c, |c| {
                self.insert_in_order(Folded { c, entry: Entry::of(c), span: folded.span });
            });
        }
    }

    /// Composes the pending characters in place (UAX #15, definition D117): a character composes with the last base
    /// character unless a character of the same or a higher combining class is between them.
    fn compose(&mut self) {
        let mut base = 0;
        let mut kept = 1;
        for next in 1..self.pending.len() {
            let new = self.pending[next];
            let between = (kept > base + 1).then(|| self.pending[kept - 1].entry.ccc());
            let blocked = between.is_some_and(|between| between >= new.entry.ccc());
            let composed = if blocked || self.pending[base].entry.ccc() != 0 {
                None
            } else {
                compose(self.pending[base].c, new.c)
            };
            if let Some(c) = composed {
                let start = self.pending[base].span.start;
                let end = self.pending[base].span.end.max(new.span.end);
                self.pending[base] = Folded { c, entry: Entry::of(c), span: Span { start, end } };
                continue;
            }
            if new.entry.ccc() == 0 {
                base = kept;
            }
            self.pending[kept] = new;
            kept += 1;
        }
        self.pending.truncate(kept);
    }
}

/// Returns the normalized form of a text, including the separators between words.
///
/// ```
/// assert_eq!(sameish::text::normalize("ﬁne CAFE\u{301}\u{200B}"), "fine café");
/// ```
pub fn normalize(text: &str) -> String {
    let mut normalized = String::with_capacity(text.len());
    normalize_onto(text, &mut normalized);
    normalized
}

/// Appends the normalized form of a text.
fn normalize_onto(text: &str, normalized: &mut String) {
    WordNormalizer::default().append(text, 0, normalized);
}

/// Normalizes the words of a text one after the other. The result for all words is the same as for the whole text.
#[derive(Default)]
pub(crate) struct WordNormalizer {
    normalizer: Normalizer,
}

impl WordNormalizer {
    /// Appends the normalized form of a word that begins `offset` bytes into the text. Words are passed in their order.
    pub(crate) fn append(&mut self, word: &str, offset: usize, normalized: &mut String) {
        self.normalizer.push_text(word, offset, normalized);
        self.normalizer.flush(normalized);
    }
}

impl Sink for String {
    fn push(&mut self, folded: Folded) {
        String::push(self, folded.c);
    }

    fn push_letters(&mut self, letters: &str, _: Span) {
        self.push_str(letters);
    }

    fn push_words(&mut self, text: &str, _: &[TokenRange], _: Span) {
        self.push_str(text);
    }
}

/// A text decoded from bytes, and the number of invalid UTF-8 sequences in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text, with U+FFFD in place of each invalid sequence.
    pub text: std::borrow::Cow<'a, str>,
    /// Number of invalid sequences that were replaced.
    pub replaced: usize,
}

/// Decodes bytes as UTF-8, replacing and counting invalid sequences.
///
/// ```
/// let decoded = sameish::text::decode(b"caf\xE9 au lait");
/// assert_eq!(decoded.text, "caf\u{FFFD} au lait");
/// assert_eq!(decoded.replaced, 1);
/// ```
pub fn decode(bytes: &[u8]) -> Decoded<'_> {
    let text = String::from_utf8_lossy(bytes);
    let replaced = match text {
        std::borrow::Cow::Borrowed(_) => 0,
        std::borrow::Cow::Owned(_) => bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count(),
    };
    Decoded { text, replaced }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Tokenizer;
    use icu_properties::CodePointMapData;
    use icu_properties::props::GeneralCategory;
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    /// Normalizes with the crate `unicode-normalization`. Valid for texts without long runs of marks and without
    /// characters that are newer than our table.
    fn reference(text: &str) -> String {
        let kept = text.nfkd().filter(|&c| Entry::of(c).class() != Class::Drop);
        let lower = kept.flat_map(char::to_lowercase).map(|c| match c {
            'ς' => 'σ',
            '\u{2019}' => '\'',
            c => c,
        });
        lower.nfc().collect()
    }

    #[test]
    fn normalizes_case_compatibility_and_invisible_characters() {
        let cases = [
            ("Hello", "hello"),
            ("ﬁnance", "finance"),
            ("zero\u{200B}width", "zerowidth"),
            ("soft\u{AD}hyphen", "softhyphen"),
            ("nul\0", "nul"),
            ("e\u{301}", "é"),
            ("e\u{200D}\u{301}", "é"),
            ("a\u{323}\u{307}", "ạ\u{307}"),
            ("a\u{307}\u{323}", "ạ\u{307}"),
            ("\u{1112}\u{1161}\u{11AB}", "한"),
            ("don’t", "don't"),
            ("ΟΔΟΣ", "οδοσ"),
            ("\u{301}a", "\u{301}a"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(normalize(text), expected, "{text:?}");
        }
    }

    #[test]
    fn truncates_runs_of_marks() {
        let text = format!("a{}b", "\u{323}".repeat(1_000_000));
        // The first mark composes with the letter.
        assert_eq!(normalize(&text).chars().count(), 1 + MAX_MARKS - 1 + 1);
        let jamo = "\u{1161}".repeat(100_000);
        assert_eq!(normalize(&jamo), jamo);
    }

    #[test]
    fn long_foldings_add_a_bounded_number_of_bytes() {
        let folded = normalize("\u{FDFA}");
        assert_eq!(normalize(&"\u{FDFA}".repeat(7)), folded.repeat(7));
        let text = "\u{FDFA}".repeat(10_000);
        let long = normalize(&text);
        assert!(long.len() <= (1 + EXPANSION_RATE) * text.len() + EXPANSION_FREE, "{} bytes", long.len());
        assert!(long.contains('\u{FDFA}'));
        let spread = "\u{FDFA} wrote a letter to the people of the city ".repeat(1_000);
        assert_eq!(
            normalize(&spread),
            spread.replace('\u{FDFA}', &folded),
            "normal text is folded completely"
        );
    }

    #[test]
    fn words_of_long_foldings_equal_those_of_the_folded_text() {
        let words = |text: &str| {
            let tokens = crate::text::tokens(Tokenizer::Unicode, text).into_iter();
            tokens.map(|token| (token.text, token.span)).collect::<Vec<_>>()
        };
        let texts = |words: &[(String, Span)]| words.iter().map(|(text, _)| text.clone()).collect::<Vec<_>>();
        let folded = |c: &char| !FOLDED_WORDS[Entry::of(*c).mapping_number()].is_empty();
        let chars: Vec<char> = ('\0'..=char::MAX).filter(folded).collect();
        assert!(chars.contains(&'\u{FDFA}') && chars.contains(&'\u{FDFB}'));
        for c in chars {
            let mapping = Entry::of(c).mapping().unwrap_or_default();
            for before in ["", "é", "é'", "1", "カ", "漢", "é ", "é\u{301}"] {
                for after in
                    ["", "é", "\u{301}", "\u{64E}\u{653}", "\u{200B}\u{653}", "'é", "İ", "\u{FDFA}", "カ"]
                {
                    let text = format!("{before}{c}{after}");
                    let written_out = format!("{before}{mapping}{after}");
                    assert_eq!(normalize(&text), normalize(&written_out), "{text:?}");
                    let found = words(&text);
                    assert_eq!(texts(&found), texts(&words(&written_out)), "{text:?}");
                    let is_of_char =
                        |(_, span): &(String, Span)| span.start <= before.len() && before.len() < span.end;
                    let of_char = found.iter().filter(|word| is_of_char(word)).count();
                    assert_eq!(of_char, mapping.split(' ').count(), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn every_character_normalizes_like_the_reference() {
        for c in ('\0'..=char::MAX).filter(|&c| is_assigned(c)) {
            let text = String::from(c);
            assert_eq!(normalize(&text), reference(&text), "U+{:04X}", c as u32);
        }
    }

    /// Generates characters that interact: bases, marks, conjoining letters, separators.
    fn interacting_char() -> impl Strategy<Value = char> {
        prop_oneof![
            4 => prop::sample::select("aeoAEOsſßİ'\u{2019}. 1,_кЙΣς한각ᄒ漢カがไท".chars().collect::<Vec<_>>()),
            3 => prop::sample::select(
                "\u{300}\u{301}\u{307}\u{323}\u{327}\u{328}\u{338}\u{345}\u{3099}\u{1161}\u{11AB}\u{5B0}\u{64B}\u{94D}\u{93C}\u{E31}\u{200D}\u{9BE}\u{9C7}"
                    .chars().collect::<Vec<_>>()),
            2 => any::<char>().prop_filter("newer than the table", |&c| is_assigned(c)),
        ]
    }

    /// Returns `true` if the character is assigned in the Unicode version of our table.
    fn is_assigned(c: char) -> bool {
        CodePointMapData::<GeneralCategory>::new().get(c) != GeneralCategory::Unassigned
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn any_text_normalizes_like_the_reference(chars in prop::collection::vec(interacting_char(), 0..24)) {
            let text: String = chars.into_iter().collect();
            prop_assert_eq!(normalize(&text), reference(&text));
        }

        #[test]
        fn normalization_is_idempotent(text in "\\PC{0,40}") {
            let once = normalize(&text);
            prop_assert_eq!(normalize(&once), once);
        }
    }
}
