//! Is it the very same text?

use crate::document::ContentRef;
use crate::text::normalize;
use std::sync::LazyLock;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Stands for a normalized text, white space aside: two documents with equal keys are the same text.
///
/// XXH3 of 128 bits over the words between white space, a blank behind each. It is not made to withstand those who forge
/// collisions; a forged pair is one that its author made to look the same.
///
/// ```
/// use sameish::{Content, TextKey};
///
/// let key = |text: &str| TextKey::of(&Content::Text(text.into()));
/// assert_eq!(key("The  Bridge\nis closed."), key("the bridge is closed. "));
/// assert_ne!(key("the bridge is closed."), key("the bridge is closed!"));
/// assert_eq!(key(" \n"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextKey(u128);

impl TextKey {
    /// The key of a document; none of one that is blank, because nothing is the same as nothing.
    pub fn of<'a>(content: impl Into<ContentRef<'a>>) -> Option<TextKey> {
        match content.into() {
            ContentRef::Text(text) => of_text(text),
            ContentRef::Tokens(tokens) => of_tokens(tokens),
        }
    }

    /// A key of the text as it stands, not normalized: cheaper, and equal for texts that are equal to the last byte.
    pub fn verbatim<'a>(content: impl Into<ContentRef<'a>>) -> TextKey {
        match content.into() {
            ContentRef::Text(text) => TextKey(xxh3_128(text.as_bytes())),
            ContentRef::Tokens(tokens) => of_tokens(tokens).unwrap_or(TextKey(0)),
        }
    }

    /// A key that was stored.
    pub fn from_u128(bits: u128) -> TextKey {
        TextKey(bits)
    }

    /// The 128 bits.
    pub fn as_u128(self) -> u128 {
        self.0
    }
}

/// A byte that no text holds keeps `["a", "b"]` and `["a b"]` apart, and tokens from text.
fn of_tokens(tokens: &[String]) -> Option<TextKey> {
    let mut hasher = Xxh3::new();
    for token in tokens {
        hasher.update(b"\xFF");
        hasher.update(token.as_bytes());
    }
    (!tokens.is_empty()).then(|| TextKey(hasher.digest128()))
}

/// Words are normalized one by one, the careful way only where it is needed: nothing melts into another character across
/// a blank.
fn of_text(text: &str) -> Option<TextKey> {
    let table = &*ASCII;
    let mut joined = Joined::default();
    for word in text.split(|c: char| c.is_ascii() && table[c as usize] == Ascii::Blank) {
        if word.is_ascii() {
            joined.push(word.bytes().filter_map(|byte| table[usize::from(byte)].kept()));
        } else {
            normalize(word).split_whitespace().for_each(|part| joined.push(part.bytes()));
        }
    }
    joined.key()
}

/// Words joined by one blank, hashed a piece at a time.
#[derive(Default)]
struct Joined {
    hasher: Xxh3,
    buffer: Vec<u8>,
    any: bool,
}

impl Joined {
    fn push(&mut self, word: impl Iterator<Item = u8>) {
        let start = self.buffer.len();
        self.buffer.extend(word);
        if self.buffer.len() == start {
            return;
        }
        // Behind the word, so that nothing is moved; the last one has it too.
        self.buffer.push(b' ');
        self.any = true;
        if self.buffer.len() >= PIECE {
            self.hasher.update(&self.buffer);
            self.buffer.clear();
        }
    }

    fn key(mut self) -> Option<TextKey> {
        self.hasher.update(&self.buffer);
        self.any.then(|| TextKey(self.hasher.digest128()))
    }
}

const PIECE: usize = 4096;

/// What becomes of an ASCII byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ascii {
    Dropped,
    Blank,
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
        [] => Ascii::Dropped,
        [one] if char::from(*one).is_whitespace() => Ascii::Blank,
        [one] => Ascii::Kept(*one),
        _ => unreachable!("ASCII folds to ASCII"),
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
    fn case_style_and_white_space_do_not_count_but_words_and_marks_do() {
        assert_eq!(key("ＡＢＣ  def\t"), key("abc\u{A0}DEF"));
        assert_eq!(key("soft\u{AD}hyphen"), key("softhyphen"));
        assert_ne!(key("a bc"), key("ab c"));
        assert_ne!(key("a, b"), key("a b"));
        assert_eq!([key(""), key(" \u{200B}\n")], [None, None]);
    }

    #[test]
    fn tokens_are_told_apart_from_each_other_and_from_text() {
        let tokens = |tokens: &[&str]| {
            TextKey::of(&Content::Tokens(tokens.iter().map(|token| (*token).to_owned()).collect()))
        };
        assert_ne!(tokens(&["a", "b"]), tokens(&["a b"]));
        assert_ne!(tokens(&["a"]), key("a"));
        assert_ne!(tokens(&["", "a"]), tokens(&["a"]));
        assert_eq!(tokens(&[]), None);
    }

    proptest! {
        #[test]
        fn word_by_word_is_as_good_as_the_whole(
            text in "([ -~\\x00-\\x1F]|[ a´\u{301}\u{323}ﬁ\u{A0}\u{200B}\u{1161}한ß]){0,60}",
            times in 1usize..60,
        ) {
            let text = text.repeat(times);
            let mut joined = Joined::default();
            normalize(&text).split_whitespace().for_each(|word| joined.push(word.bytes()));
            prop_assert_eq!(key(&text), joined.key());
        }
    }
}
