//! Character properties: the word-break class and the case folding of each character.
//!
//! Both come from one table lookup. The table is a file in this directory and is not computed from crates at run time, so
//! that sketches do not change when a crate is updated to a newer Unicode version. `tests/all/unicode_table.rs` generates and
//! checks it.
//!
//! Layout of `unicode.bin`, little endian: four `u32` counts (index entries, character entries, mapping ends, bytes of
//! mapping text); the index, a `u16` block number per 64 characters; the blocks, a `u32` entry per character; the `u16`
//! end offsets of the mappings; the text of the mappings. An entry has its [`Class`] in bits 0 to 3, flags in bits 4 to 6,
//! the canonical combining class in bits 8 to 15, and the number of its mapping, or 0, in bits 16 to 31.

/// The word-break class of a character: Unicode's `Word_Break` property, plus a class for characters that are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Ends a word and is not part of a word.
    Separator,
    /// Is removed before segmentation.
    Drop,
    Letter,
    Hebrew,
    Numeric,
    Katakana,
    /// Connectors such as `_`.
    Connector,
    MidLetter,
    MidNumber,
    MidBoth,
    SingleQuote,
    DoubleQuote,
    /// Combining marks, which belong to the preceding character.
    Extend,
    /// Forms a word of its own: characters of scripts that are written without spaces.
    Single,
}

const CLASSES: [Class; 16] = [
    Class::Separator,
    Class::Drop,
    Class::Letter,
    Class::Hebrew,
    Class::Numeric,
    Class::Katakana,
    Class::Connector,
    Class::MidLetter,
    Class::MidNumber,
    Class::MidBoth,
    Class::SingleQuote,
    Class::DoubleQuote,
    Class::Extend,
    Class::Single,
    Class::Separator,
    Class::Separator,
];

/// The table entry of a character.
#[derive(Clone, Copy)]
pub(super) struct Entry(u32);

impl Entry {
    #[inline]
    pub(super) fn of(c: char) -> Entry {
        let c = c as usize;
        let block = usize::from(INDEX[c / BLOCK]);
        Entry(ENTRIES[block * BLOCK + c % BLOCK])
    }

    #[inline]
    pub(super) fn class(self) -> Class {
        CLASSES[(self.0 & 15) as usize]
    }

    #[inline]
    pub(super) fn is_alphanumeric(self) -> bool {
        self.0 & 1 << 4 != 0
    }

    /// Returns `true` for a letter that folds to itself and has no effect on the preceding character.
    #[inline]
    pub(super) fn is_plain_letter(self) -> bool {
        // All but the flag for safe breaks.
        self.0 & !(1 << 6) == Class::Letter as u32 | 1 << 4
    }

    /// Returns `true` if the character may compose with the preceding one or must be ordered among combining marks.
    #[inline]
    pub(super) fn needs_context(self) -> bool {
        self.0 & (1 << 5 | 0xFF00) != 0
    }

    /// Returns `true` if a text can be split before the character: it never composes with the preceding character and
    /// never continues a word.
    #[inline]
    pub(super) fn is_safe_break(self) -> bool {
        self.0 & 1 << 6 != 0
    }

    /// Returns the canonical combining class.
    #[inline]
    pub(super) fn ccc(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// Returns the text that the character folds to, or `None` if it folds to itself.
    #[inline]
    pub(super) fn mapping(self) -> Option<&'static str> {
        let number = self.mapping_number();
        (number != 0).then(|| mapping(number))
    }

    /// Returns the length in bytes of the text that the character folds to, or 0 if it folds to itself.
    #[inline]
    pub(super) fn mapping_len(self) -> usize {
        match self.mapping_number() {
            0 => 0,
            number => usize::from(ENDS[number + 1] - ENDS[number]),
        }
    }

    /// Returns the number of the text that the character folds to, or 0 if it folds to itself.
    #[inline]
    pub(super) fn mapping_number(self) -> usize {
        (self.0 >> 16) as usize
    }

    /// Returns the texts that characters fold to, in the order of their numbers.
    pub(super) fn mappings() -> impl Iterator<Item = &'static str> {
        (0..ENDS_LEN - 1).map(mapping)
    }
}

#[inline]
fn mapping(number: usize) -> &'static str {
    &POOL[usize::from(ENDS[number])..usize::from(ENDS[number + 1])]
}

const BLOCK: usize = 64;
const TABLE: &[u8] = include_bytes!("unicode.bin");

const INDEX_LEN: usize = read_u32(0) as usize;
const ENTRIES_LEN: usize = read_u32(4) as usize;
const ENDS_LEN: usize = read_u32(8) as usize;
const POOL_LEN: usize = read_u32(12) as usize;
const ENTRIES_AT: usize = 16 + 2 * INDEX_LEN;
const ENDS_AT: usize = ENTRIES_AT + 4 * ENTRIES_LEN;
const POOL_AT: usize = ENDS_AT + 2 * ENDS_LEN;

static INDEX: [u16; INDEX_LEN] = {
    let mut index = [0; INDEX_LEN];
    let mut i = 0;
    while i < INDEX_LEN {
        index[i] = read_u16(16 + 2 * i);
        i += 1;
    }
    index
};

static ENTRIES: [u32; ENTRIES_LEN] = {
    let mut entries = [0; ENTRIES_LEN];
    let mut i = 0;
    while i < ENTRIES_LEN {
        entries[i] = read_u32(ENTRIES_AT + 4 * i);
        i += 1;
    }
    entries
};

static ENDS: [u16; ENDS_LEN] = {
    let mut ends = [0; ENDS_LEN];
    let mut i = 0;
    while i < ENDS_LEN {
        ends[i] = read_u16(ENDS_AT + 2 * i);
        i += 1;
    }
    ends
};

static POOL: &str = {
    let (_, pool) = TABLE.split_at(POOL_AT);
    assert!(pool.len() == POOL_LEN);
    match std::str::from_utf8(pool) {
        Ok(text) => text,
        Err(_) => panic!("the mappings are not UTF-8"),
    }
};

const fn read_u16(at: usize) -> u16 {
    u16::from_le_bytes([TABLE[at], TABLE[at + 1]])
}

const fn read_u32(at: usize) -> u32 {
    u32::from_le_bytes([TABLE[at], TABLE[at + 1], TABLE[at + 2], TABLE[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_characters() {
        let class = |c| Entry::of(c).class();
        assert_eq!(class('a'), Class::Letter);
        assert_eq!(class('7'), Class::Numeric);
        assert_eq!(class('_'), Class::Connector);
        assert_eq!(class('\''), Class::SingleQuote);
        assert_eq!(class(' '), Class::Separator);
        assert_eq!(class('\n'), Class::Separator);
        assert_eq!(class('\0'), Class::Drop);
        assert_eq!(class('\u{200B}'), Class::Drop);
        assert_eq!(class('漢'), Class::Single);
        assert_eq!(class('ก'), Class::Single);
        assert_eq!(class('カ'), Class::Katakana);
        assert_eq!(class('א'), Class::Hebrew);
        assert_eq!(class('\u{301}'), Class::Extend);
        assert_eq!(class('\u{10FFFF}'), Class::Separator);
        assert_eq!(Entry::of('\u{301}').ccc(), 230);
        assert!(Entry::of('\u{301}').needs_context());
    }

    #[test]
    fn folds_case_and_compatibility() {
        let cases = [
            ('A', "a"),
            ('É', "é"),
            ('ﬁ', "fi"),
            ('Ⅷ', "viii"),
            ('ς', "σ"),
            ('’', "'"),
            ('Ａ', "a"),
            ('İ', "i\u{307}"),
        ];
        for (c, folded) in cases {
            assert_eq!(Entry::of(c).mapping(), Some(folded), "{c}");
        }
        for c in ['a', 'é', 'ß', '漢', '한'] {
            assert_eq!(Entry::of(c).mapping(), None, "{c}");
        }
    }
}
