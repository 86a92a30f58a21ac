//! Which words say nothing?

use crate::error::{Error, Result};
use std::collections::HashSet;
use xxhash_rust::xxh3::xxh3_64;

/// The words of a language that are dropped before features are made.
///
/// The lists are NLTK's where it has one and Stopwords ISO's elsewhere, by way of the crate `stop-words`. Entries are
/// normalized like any text. A list is part of what determines a sketch, so it enters the
/// [`SchemeId`](crate::SchemeId) by its [`digest`](Self::digest).
#[derive(Clone, Debug)]
pub struct StopWords {
    words: HashSet<Box<[u8]>>,
}

impl StopWords {
    /// The stop words of a language, by its two-letter code.
    pub fn for_language(code: &str) -> Result<StopWords> {
        let list =
            stop_words::lookup(code).ok_or_else(|| Error::UnknownLanguage { code: code.to_owned() })?;
        Ok(StopWords::from_words(list.iter().copied()))
    }

    /// A list of one's own.
    pub fn from_words<'a>(words: impl IntoIterator<Item = &'a str>) -> StopWords {
        let mut normalized = HashSet::new();
        for entry in words {
            // An entry such as "can't" or "a.m." may hold more than one word by our rules.
            super::tokenize_unicode(entry, |token| {
                normalized.insert(token.into());
            });
        }
        StopWords { words: normalized }
    }

    /// Whether a normalized word is one of them.
    pub fn contains(&self, word: &[u8]) -> bool {
        self.words.contains(word)
    }

    /// A hash of the whole list, whatever its order.
    pub fn digest(&self) -> u64 {
        self.words.iter().fold(0, |sum: u64, word| sum.wrapping_add(xxh3_64(word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_languages_by_code() {
        let english = StopWords::for_language("en").unwrap();
        for word in ["the", "for", "don't"] {
            assert!(english.contains(word.as_bytes()), "{word}");
        }
        for word in ["spacex", "acquires", "xai", "2", "billion"] {
            assert!(!english.contains(word.as_bytes()), "{word}");
        }
        assert!(StopWords::for_language("de").unwrap().contains("für".as_bytes()));
        assert_eq!(StopWords::for_language("q").unwrap_err(), Error::UnknownLanguage { code: "q".into() });
    }

    #[test]
    fn digest_ignores_order_and_case() {
        let a = StopWords::from_words(["The", "of"]);
        let b = StopWords::from_words(["of", "the"]);
        assert_eq!(a.digest(), b.digest());
        assert_ne!(a.digest(), StopWords::from_words(["of"]).digest());
    }
}
