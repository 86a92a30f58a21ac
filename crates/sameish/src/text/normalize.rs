//! Normalization: which bytes represent a text, regardless of how it was typed?
//!
//! Each character is folded (compatibility decomposition, lower case) and the result is composed, so that equivalent
//! texts have equal bytes. Zero-width and control characters are removed. A run of combining marks is truncated to 30
//! marks, the limit of Unicode's stream-safe format (UAX #15), so the time is linear in the length of the text.
//!
//! This is the slow path, for text that is not plain ASCII; [`tokenize`](super::tokenize) contains the fast path.

use super::Span;
use super::chars::{Class, Entry};
use unicode_normalization::char::{compose, decompose_canonical};

/// Maximum number of combining marks after one character.
pub(super) const MAX_MARKS: usize = 30;

/// A normalized character with its properties and the byte range of the source that it comes from.
#[derive(Clone, Copy)]
pub(super) struct Folded {
    pub(super) c: char,
    pub(super) entry: Entry,
    pub(super) span: Span,
}

/// A streaming normalizer. It delays each character until no later character can compose with it.
#[derive(Default)]
pub(super) struct Normalizer {
    /// The last character, if no character that may compose with it has followed yet.
    base: Option<Folded>,
    /// Otherwise, the last base character and the characters after it.
    pending: Vec<Folded>,
    mark_run: usize,
}

impl Normalizer {
    /// Normalizes a piece of text that begins `offset` bytes into its source.
    pub(super) fn push_text(&mut self, text: &str, offset: usize, mut emit: impl FnMut(Folded)) {
        let mut start = offset;
        self.mark_run = 0;
        for c in text.chars() {
            let span = Span { start, end: start + c.len_utf8() };
            start = span.end;
            let c = c.to_ascii_lowercase();
            let entry = Entry::of(c);
            match entry.mapping() {
                None => self.push(Folded { c, entry, span }, &mut emit),
                Some(mapping) => {
                    for c in mapping.chars() {
                        self.push(Folded { c, entry: Entry::of(c), span }, &mut emit);
                    }
                }
            }
        }
    }

    #[inline]
    fn push(&mut self, new: Folded, emit: &mut impl FnMut(Folded)) {
        let class = new.entry.class();
        if class == Class::Drop {
            return;
        }
        if class == Class::Extend || new.entry.needs_context() {
            return self.push_mark(new, emit);
        }
        self.mark_run = 0;
        if !self.pending.is_empty() {
            self.flush(emit);
        }
        if let Some(base) = self.base.replace(new) {
            emit(base);
        }
    }

    /// Adds a character that may compose with the previous one, or that counts towards [`MAX_MARKS`].
    fn push_mark(&mut self, new: Folded, emit: &mut impl FnMut(Folded)) {
        if new.entry.class() == Class::Extend || new.entry.ccc() != 0 {
            self.mark_run += 1;
            if self.mark_run > MAX_MARKS {
                return;
            }
        }
        // Conjoining vowels and similar characters are not marks, but the buffer must stay small for them, too.
        if !new.entry.needs_context() || self.pending.len() > MAX_MARKS + 1 {
            self.flush(emit);
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
    pub(super) fn flush(&mut self, emit: &mut impl FnMut(Folded)) {
        if let Some(base) = self.base.take() {
            emit(base);
        }
        if self.pending.len() > 1 {
            self.decompose();
            self.compose();
        }
        self.pending.drain(..).for_each(emit);
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
    let mut normalizer = Normalizer::default();
    normalizer.push_text(text, 0, |folded| normalized.push(folded.c));
    normalizer.flush(&mut |folded| normalized.push(folded.c));
    normalized
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
