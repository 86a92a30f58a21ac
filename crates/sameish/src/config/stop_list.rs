//! The setting `text.stop_words`: the words of a language, or a list of words.

use super::{MAX_VOCABULARY, TextConfig, Tokenizer};
use crate::error::{Error, Result};
use crate::text::{StopWords, is_one_word};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Words that are removed before features are extracted. In TOML: a language code such as `"en"`, or a list such as
/// `["the", "of"]`.
///
/// Sketches depend on the words, so they are part of the [`SchemeId`](crate::sketch::SchemeId). Their order, their case and
/// repetitions have no effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StopList {
    /// The words of a language, given as a two-letter code (ISO 639-1); see [`StopWords`].
    Language(String),
    /// These words. Each entry is one word by the rules of the tokenizer of the texts, and it is normalized like a text.
    Words(Vec<String>),
}

impl StopList {
    /// Reads a list from a text with one word per line. Skips blank lines.
    ///
    /// ```
    /// use sameish::config::StopList;
    /// assert_eq!(StopList::from_lines("the\n\n of \n"), StopList::Words(vec!["the".into(), "of".into()]));
    /// ```
    pub fn from_lines(text: &str) -> StopList {
        let words = text.trim_start_matches('\u{feff}').lines().map(str::trim);
        StopList::Words(words.filter(|word| !word.is_empty()).map(str::to_owned).collect())
    }

    /// Returns an error if the language is unknown, or if an entry is not one word of the tokenizer, so that it would match nothing.
    pub(super) fn validate(&self, text: &TextConfig) -> Result<()> {
        let words = match self {
            StopList::Language(code) => return StopWords::for_language(code).map(drop),
            StopList::Words(words) => words,
        };
        if words.len() > MAX_VOCABULARY {
            let value = format!("a list of {} words", words.len());
            return Err(Error::field("text.stop_words", value, format!("at most {MAX_VOCABULARY} words")));
        }
        let expected = match text.tokenizer {
            Tokenizer::Unicode => "one word",
            Tokenizer::AsciiWords => "one word of `ascii-words`, which has two or more of `a-z 0-9 _`",
            Tokenizer::Whitespace => "one word of `whitespace`, which has no spaces",
        };
        match words.iter().position(|word| !is_one_word(word, text)) {
            Some(at) => {
                Err(Error::StopWord { at, entry: words[at].chars().take(MAX_SHOWN).collect(), expected })
            }
            None => Ok(()),
        }
    }
}

/// Number of characters of an entry that a message shows.
const MAX_SHOWN: usize = 40;

impl From<&str> for StopList {
    /// Creates the list of a language.
    fn from(code: &str) -> StopList {
        StopList::Language(code.to_owned())
    }
}

impl Serialize for StopList {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            StopList::Language(code) => serializer.serialize_str(code),
            StopList::Words(words) => words.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for StopList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<StopList, D::Error> {
        deserializer.deserialize_any(StopListVisitor)
    }
}

/// Reads a string or a list. An untagged enum would not say what is expected.
struct StopListVisitor;

impl<'de> Visitor<'de> for StopListVisitor {
    type Value = StopList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a language code such as `en` or a list of words")
    }

    fn visit_str<E>(self, code: &str) -> std::result::Result<StopList, E> {
        Ok(StopList::Language(code.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, words: A) -> std::result::Result<StopList, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(words)).map(StopList::Words)
    }
}
