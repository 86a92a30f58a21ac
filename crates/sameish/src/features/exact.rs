//! Exact-duplicate keys: do two documents have the same normalized text?

use crate::document::ContentRef;
use crate::text::{WordNormalizer, normalize};
use std::sync::LazyLock;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// A 128-bit key of a normalized text. Two documents have equal keys if their normalized texts differ only in whitespace.
///
/// The key is the XXH3-128 hash of the whitespace-separated words, each followed by one space. XXH3 is not
/// collision-resistant: an attacker can construct different texts with equal keys, which are then treated as duplicates.
///
/// ```
/// use sameish::features::TextKey;
/// use sameish::Content;
///
/// let key = |text: &str| TextKey::of(&Content::Text(text.into()));
/// assert_eq!(key("The  Bridge\nis closed."), key("the bridge is closed. "));
/// assert_ne!(key("the bridge is closed."), key("the bridge is closed!"));
/// assert_eq!(key(" \n"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextKey(u128);

impl TextKey {
    /// Returns the key of a document, or `None` if the document is blank or has only sketches. Blank documents never match.
    pub fn of<'a>(content: impl Into<ContentRef<'a>>) -> Option<TextKey> {
        match content.into() {
            ContentRef::Text(text) => key_of_text(text),
            ContentRef::Tokens(tokens) => key_of_tokens(tokens),
            ContentRef::Sketches(_) => None,
        }
    }

    /// Returns a key of the text without normalization. It is cheaper to compute, and equal only for identical bytes.
    pub fn verbatim<'a>(content: impl Into<ContentRef<'a>>) -> TextKey {
        match content.into() {
            ContentRef::Text(text) => TextKey(xxh3_128(text.as_bytes())),
            ContentRef::Tokens(tokens) => key_of_tokens(tokens).unwrap_or(TextKey(0)),
            ContentRef::Sketches(given) => TextKey(xxh3_128(given.to_text().as_bytes())),
        }
    }

    /// Creates a key from its stored 128 bits.
    pub fn from_u128(bits: u128) -> TextKey {
        TextKey(bits)
    }

    /// Returns the 128 bits of the key, for storage.
    pub fn as_u128(self) -> u128 {
        self.0
    }
}

/// Hashes tokens, each preceded by the byte 0xFF. That byte does not occur in UTF-8, so `["a", "b"]`, `["ab"]` and the
/// text `ab` have different keys.
fn key_of_tokens(tokens: &[String]) -> Option<TextKey> {
    let mut hasher = Xxh3::new();
    for token in tokens {
        hasher.update(b"\xFF");
        hasher.update(token.as_bytes());
    }
    (!tokens.is_empty()).then(|| TextKey(hasher.digest128()))
}

/// Hashes a text. Each word is normalized on its own, by table if it is ASCII; this is correct because characters never
/// compose across whitespace.
fn key_of_text(text: &str) -> Option<TextKey> {
    let table = &*ASCII;
    let mut hasher = WordHasher::default();
    let mut normalizer = WordNormalizer::default();
    let mut normalized = String::new();
    let mut offset = 0;
    for word in text.split(|c: char| c.is_ascii() && table[c as usize] == Ascii::Space) {
        let start = offset;
        // After each word, there is one ASCII character.
        offset += word.len() + 1;
        if word.is_ascii() {
            hasher.push(word.bytes().filter_map(|byte| table[usize::from(byte)].kept()));
        } else {
            normalized.clear();
            normalizer.append(word, start, &mut normalized);
            normalized.split_whitespace().for_each(|part| hasher.push(part.bytes()));
        }
    }
    hasher.key()
}

/// Hashes words, each followed by one space, through a buffer.
#[derive(Default)]
struct WordHasher {
    hasher: Xxh3,
    buffer: Vec<u8>,
    any: bool,
}

impl WordHasher {
    fn push(&mut self, word: impl Iterator<Item = u8>) {
        let start = self.buffer.len();
        self.buffer.extend(word);
        if self.buffer.len() == start {
            return;
        }
        self.buffer.push(b' ');
        self.any = true;
        if self.buffer.len() >= BUFFER {
            self.hasher.update(&self.buffer);
            self.buffer.clear();
        }
    }

    fn key(mut self) -> Option<TextKey> {
        self.hasher.update(&self.buffer);
        self.any.then(|| TextKey(self.hasher.digest128()))
    }
}

/// Bytes that are collected before they are hashed.
const BUFFER: usize = 4096;

/// The normalized form of an ASCII byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ascii {
    Removed,
    Space,
    Kept(u8),
}

impl Ascii {
    fn kept(self) -> Option<u8> {
        match self {
            Ascii::Kept(byte) => Some(byte),
            _ => None,
        }
    }
}

static ASCII: LazyLock<[Ascii; 128]> = LazyLock::new(|| {
    std::array::from_fn(|byte| match normalize(char::from(byte as u8).encode_utf8(&mut [0; 4])).as_bytes() {
        [] => Ascii::Removed,
        [one] if char::from(*one).is_whitespace() => Ascii::Space,
        [one] => Ascii::Kept(*one),
        _ => unreachable!("ASCII normalizes to at most one ASCII byte"),
    })
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Content;
    use proptest::prelude::*;

    fn key(text: &str) -> Option<TextKey> {
        TextKey::of(&Content::Text(text.into()))
    }

    #[test]
    fn ignores_case_compatibility_and_whitespace_but_not_words_and_punctuation() {
        assert_eq!(key("ＡＢＣ  def\t"), key("abc\u{A0}DEF"));
        assert_eq!(key("soft\u{AD}hyphen"), key("softhyphen"));
        assert_ne!(key("a bc"), key("ab c"));
        assert_ne!(key("a, b"), key("a b"));
        assert_eq!([key(""), key(" \u{200B}\n")], [None, None]);
    }

    #[test]
    fn distinguishes_token_boundaries_and_tokens_from_text() {
        let tokens = |tokens: &[&str]| {
            TextKey::of(&Content::Tokens(tokens.iter().map(|token| (*token).to_owned()).collect()))
        };
        assert_ne!(tokens(&["a", "b"]), tokens(&["a b"]));
        assert_ne!(tokens(&["a"]), key("a"));
        assert_ne!(tokens(&["", "a"]), tokens(&["a"]));
        assert_eq!(tokens(&[]), None);
    }

    #[test]
    fn long_foldings_are_limited_for_the_whole_text() {
        for text in ["\u{FDFA} ".repeat(10_000), "\u{FDFA}\u{FDFA} a ".repeat(100)] {
            let mut expected = WordHasher::default();
            normalize(&text).split_whitespace().for_each(|word| expected.push(word.bytes()));
            assert_eq!(key(&text), expected.key());
        }
    }

    proptest! {
        #[test]
        fn normalizing_word_by_word_equals_normalizing_the_whole_text(
            text in "([ -~\\x00-\\x1F]|[ a´\u{301}\u{323}ﬁ\u{A0}\u{200B}\u{1161}한ß\u{FDFA}]){0,60}",
            times in 1usize..60,
        ) {
            let text = text.repeat(times);
            let mut expected = WordHasher::default();
            normalize(&text).split_whitespace().for_each(|word| expected.push(word.bytes()));
            prop_assert_eq!(key(&text), expected.key());
        }
    }
}
