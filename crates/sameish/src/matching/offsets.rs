//! Offsets of passages in the units in which other languages index strings.
//!
//! The engine counts bytes of UTF-8. Python indexes strings by code points, JavaScript and Java by UTF-16 units.

use super::{Difference, Passage};
use crate::document::ContentRef;
use std::fmt;
use std::str::FromStr;

/// The unit in which offsets into a text are counted.
///
/// ```
/// use sameish::matching::OffsetUnit;
///
/// let counts = OffsetUnit::ALL.map(|unit| unit.count("né 🦀"));
/// assert_eq!(counts, [8, 5, 4]);
/// assert_eq!("utf16".parse(), Ok(OffsetUnit::Utf16));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OffsetUnit {
    /// Bytes of UTF-8, as in Rust and Go.
    #[default]
    Utf8,
    /// UTF-16 code units, as in JavaScript and Java.
    Utf16,
    /// Unicode code points, as in Python.
    Chars,
}

/// The error of a name that is not the name of an [`OffsetUnit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownOffsetUnit;

impl fmt::Display for UnknownOffsetUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected `utf8`, `utf16` or `chars`")
    }
}

impl std::error::Error for UnknownOffsetUnit {}

impl OffsetUnit {
    /// All units.
    pub const ALL: [OffsetUnit; 3] = [OffsetUnit::Utf8, OffsetUnit::Utf16, OffsetUnit::Chars];

    /// Returns the name used in options: `utf8`, `utf16` or `chars`.
    pub fn name(self) -> &'static str {
        match self {
            OffsetUnit::Utf8 => "utf8",
            OffsetUnit::Utf16 => "utf16",
            OffsetUnit::Chars => "chars",
        }
    }

    /// Returns the length of a text.
    pub fn count(self, text: &str) -> usize {
        match self {
            OffsetUnit::Utf8 => text.len(),
            OffsetUnit::Utf16 => text.encode_utf16().count(),
            OffsetUnit::Chars => text.chars().count(),
        }
    }

    /// Converts passages with offsets in bytes of UTF-8, as the engine returns them. `a` and `b` are the compared texts.
    ///
    /// The conversion takes one pass over each text. For documents given as tokens, offsets count tokens, except with
    /// [`Utf8`](Self::Utf8): then they are bytes of the tokens joined by one space.
    pub fn convert<'a>(
        self,
        passages: &[Passage],
        a: impl Into<ContentRef<'a>>,
        b: impl Into<ContentRef<'a>>,
    ) -> Vec<Passage> {
        if self == OffsetUnit::Utf8 {
            return passages.to_vec();
        }
        let in_a = Offsets::new(a.into(), passages.iter().flat_map(|p| [p.a_start, p.a_end]), self);
        let in_b = Offsets::new(b.into(), passages.iter().flat_map(|p| [p.b_start, p.b_end]), self);
        let converted = passages.iter().map(|p| Passage {
            a_start: in_a.of_byte(p.a_start),
            a_end: in_a.of_byte(p.a_end),
            b_start: in_b.of_byte(p.b_start),
            b_end: in_b.of_byte(p.b_end),
            tokens: p.tokens,
        });
        converted.collect()
    }

    /// Converts differences with offsets in bytes of UTF-8, as [`convert`](Self::convert) converts passages.
    pub fn convert_differences<'a>(
        self,
        differences: &[Difference],
        a: impl Into<ContentRef<'a>>,
        b: impl Into<ContentRef<'a>>,
    ) -> Vec<Difference> {
        if self == OffsetUnit::Utf8 {
            return differences.to_vec();
        }
        let in_a = Offsets::new(a.into(), differences.iter().flat_map(|d| [d.a_start, d.a_end]), self);
        let in_b = Offsets::new(b.into(), differences.iter().flat_map(|d| [d.b_start, d.b_end]), self);
        let converted = differences.iter().map(|d| Difference {
            a_start: in_a.of_byte(d.a_start),
            a_end: in_a.of_byte(d.a_end),
            b_start: in_b.of_byte(d.b_start),
            b_end: in_b.of_byte(d.b_end),
            kind: d.kind,
        });
        converted.collect()
    }
}

impl FromStr for OffsetUnit {
    type Err = UnknownOffsetUnit;

    fn from_str(name: &str) -> Result<OffsetUnit, UnknownOffsetUnit> {
        OffsetUnit::ALL.into_iter().find(|unit| unit.name() == name).ok_or(UnknownOffsetUnit)
    }
}

/// Pairs of a byte offset and the corresponding offset in another unit, ascending.
struct Offsets(Vec<(usize, usize)>);

impl Offsets {
    fn new(content: ContentRef<'_>, bytes: impl Iterator<Item = usize>, unit: OffsetUnit) -> Offsets {
        let mut bytes: Vec<usize> = bytes.collect();
        bytes.sort_unstable();
        bytes.dedup();
        let text = match content {
            ContentRef::Text(text) => text,
            ContentRef::Tokens(tokens) => return Offsets::of_tokens(tokens, bytes),
            ContentRef::Sketches(_) => "",
        };
        let mut from = 0;
        let mut count = 0;
        let counted = bytes.into_iter().map(|byte| {
            // Passages begin and end at word boundaries, so the range is on character boundaries.
            count += text.get(from..byte).map_or(byte - from, |slice| unit.count(slice));
            from = byte;
            (byte, count)
        });
        Offsets(counted.collect())
    }

    /// Converts offsets into the tokens joined by one space. A passage ends before the space that follows its last token.
    fn of_tokens(tokens: &[String], bytes: Vec<usize>) -> Offsets {
        let mut begins = 0;
        let mut next = 0;
        let counted = bytes.into_iter().map(|byte| {
            while let Some(token) = tokens.get(next).filter(|_| begins < byte) {
                begins += token.len() + 1;
                next += 1;
            }
            (byte, next)
        });
        Offsets(counted.collect())
    }

    fn of_byte(&self, byte: usize) -> usize {
        self.0.binary_search_by_key(&byte, |&(byte, _)| byte).map_or(byte, |at| self.0[at].1)
    }
}
