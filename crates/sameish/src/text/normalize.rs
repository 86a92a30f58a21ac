//! What is left of the characters when case, style and tricks are gone?
//!
//! Each character is folded (compatibility decomposition, lower case) and the result composed, so equal text has equal
//! bytes however it was typed; zero-width and control characters go, and of a run of combining marks the first 30 stay
//! (the bound of Unicode's stream-safe format, UAX #15), so that a million of them cost no more than a million.
//!
//! This is the careful path, for what is not plain ASCII: see [`tokenize`](super::tokenize) for the other.

use super::Span;
use super::chars::{Class, Entry};
use unicode_normalization::char::{compose, decompose_canonical};

/// Most combining marks that one character keeps.
pub(super) const MAX_MARKS: usize = 30;

/// A normalized character, what it is, and the source bytes it came from.
#[derive(Clone, Copy)]
pub(super) struct Folded {
    pub(super) c: char,
    pub(super) entry: Entry,
    pub(super) span: Span,
}

/// Holds characters back until nothing can melt into them any more.
#[derive(Default)]
pub(super) struct Normalizer {
    /// The last character, if nothing has come behind it that may melt into it.
    base: Option<Folded>,
    /// Otherwise that character and what came.
    pending: Vec<Folded>,
    marks_in_row: usize,
}

impl Normalizer {
    /// Takes a piece of text that begins `offset` bytes into its source.
    pub(super) fn push_text(&mut self, text: &str, offset: usize, mut emit: impl FnMut(Folded)) {
        let mut start = offset;
        self.marks_in_row = 0;
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
        self.marks_in_row = 0;
        if !self.pending.is_empty() {
            self.flush(emit);
        }
        if let Some(base) = self.base.replace(new) {
            emit(base);
        }
    }

    /// Takes a character that may melt into the one before it, or has to be counted.
    fn push_mark(&mut self, new: Folded, emit: &mut impl FnMut(Folded)) {
        if new.entry.class() == Class::Extend || new.entry.ccc() != 0 {
            self.marks_in_row += 1;
            if self.marks_in_row > MAX_MARKS {
                return;
            }
        }
        // Conjoining vowels and the like are no marks, but a long row of them must not pile up either.
        if !new.entry.needs_context() || self.pending.len() > MAX_MARKS + 1 {
            self.flush(emit);
        }
        self.pending.extend(self.base.take());
        self.insert_in_order(new);
    }

    /// Marks of a lower combining class go before those of a higher one, never past a base.
    fn insert_in_order(&mut self, new: Folded) {
        let ccc = new.entry.ccc();
        let mut at = self.pending.len();
        while ccc != 0 && at > 0 && self.pending[at - 1].entry.ccc() > ccc {
            at -= 1;
        }
        self.pending.insert(at, new);
    }

    /// Gives out what was held back.
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

    /// Takes composed characters apart, so that a mark that goes before the one already in them finds its place.
    fn decompose(&mut self) {
        let held = std::mem::take(&mut self.pending);
        for folded in held {
            decompose_canonical(folded.c, |c| {
                self.insert_in_order(Folded { c, entry: Entry::of(c), span: folded.span });
            });
        }
    }

    /// Canonical composition in place (UAX #15, definition D117): a character melts into the last base unless one with
    /// the same or a higher combining class stands between them.
    fn compose(&mut self) {
        let (mut base, mut kept) = (0, 1);
        for next in 1..self.pending.len() {
            let new = self.pending[next];
            let between = (kept > base + 1).then(|| self.pending[kept - 1].entry.ccc());
            let blocked = between.is_some_and(|between| between >= new.entry.ccc());
            let whole = if blocked || self.pending[base].entry.ccc() != 0 {
                None
            } else {
                compose(self.pending[base].c, new.c)
            };
            if let Some(c) = whole {
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

/// The normalized form of a text, all of it: what words are made of, with the separators still in place.
///
/// ```
/// assert_eq!(sameish::normalize("ﬁne CAFE\u{301}\u{200B}"), "fine café");
/// ```
pub fn normalize(text: &str) -> String {
    let mut normalized = String::with_capacity(text.len());
    let mut normalizer = Normalizer::default();
    normalizer.push_text(text, 0, |folded| normalized.push(folded.c));
    normalizer.flush(&mut |folded| normalized.push(folded.c));
    normalized
}

/// A text read from bytes, and how many stretches of them were no UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text, with U+FFFD for each stretch that was none.
    pub text: std::borrow::Cow<'a, str>,
    /// How many there were.
    pub replaced: usize,
}

/// Reads bytes as UTF-8, replacing and counting what is not.
///
/// ```
/// let decoded = sameish::decode(b"caf\xE9 au lait");
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

    /// The same by way of the crate, on texts without long rows of marks or characters that are newer than our table.
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
    fn folds_the_usual_tricks() {
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
    fn rows_of_marks_are_capped() {
        let text = format!("a{}b", "\u{323}".repeat(1_000_000));
        // The first melts into the letter.
        assert_eq!(normalize(&text).chars().count(), 1 + MAX_MARKS - 1 + 1);
        let jamo = "\u{1161}".repeat(100_000);
        assert_eq!(normalize(&jamo), jamo);
    }

    #[test]
    fn every_character_folds_as_the_crate_folds_it() {
        for c in ('\0'..=char::MAX).filter(|&c| is_in_the_table(c)) {
            let text = String::from(c);
            assert_eq!(normalize(&text), reference(&text), "U+{:04X}", c as u32);
        }
    }

    /// Characters that are likely to get in each other's way.
    fn tricky() -> impl Strategy<Value = char> {
        prop_oneof![
            4 => prop::sample::select("aeoAEOsſßİ'\u{2019}. 1,_кЙΣς한각ᄒ漢カがไท".chars().collect::<Vec<_>>()),
            3 => prop::sample::select(
                "\u{300}\u{301}\u{307}\u{323}\u{327}\u{328}\u{338}\u{345}\u{3099}\u{1161}\u{11AB}\u{5B0}\u{64B}\u{94D}\u{93C}\u{E31}\u{200D}\u{9BE}\u{9C7}"
                    .chars().collect::<Vec<_>>()),
            2 => any::<char>().prop_filter("newer than the table", |&c| is_in_the_table(c)),
        ]
    }

    /// Whether a character was assigned in the Unicode version of our table.
    fn is_in_the_table(c: char) -> bool {
        CodePointMapData::<GeneralCategory>::new().get(c) != GeneralCategory::Unassigned
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn any_text_folds_as_the_crate_folds_it(chars in prop::collection::vec(tricky(), 0..24)) {
            let text: String = chars.into_iter().collect();
            prop_assert_eq!(normalize(&text), reference(&text));
        }

        #[test]
        fn folding_twice_changes_nothing(text in "\\PC{0,40}") {
            let once = normalize(&text);
            prop_assert_eq!(normalize(&once), once);
        }
    }
}
