//! Stop words: which words are ignored because they occur in most texts?

use super::Rules;
use crate::config::{StopList, TextConfig, Tokenizer};
use crate::error::{Error, Result};
use std::collections::HashSet;
use xxhash_rust::xxh3::xxh3_64;

/// The words of a language that are removed before features are extracted.
///
/// The lists come from the crate `stop-words`: NLTK's list where it has one for the language, otherwise that of Stopwords
/// ISO. Entries are normalized like any text. Entries of several words are skipped, because their parts are content words
/// elsewhere. The list affects the sketches, so its [`digest`](Self::digest) is part of the [`SchemeId`](crate::sketch::SchemeId).
#[derive(Clone, Debug)]
pub struct StopWords {
    /// XXH3 hash of each word.
    words: HashSet<u64>,
}

impl StopWords {
    /// Returns the stop words of a language, given its two-letter code (ISO 639-1) in either case.
    pub fn for_language(code: &str) -> Result<StopWords> {
        Ok(StopWords::from_words(list(code)?.iter().copied()))
    }

    /// Returns the stop words of a setting as they occur in a plain text that these tokenizers split.
    pub(crate) fn for_plain_text(
        words: &StopList,
        rules: Rules,
        tokenizers: &[Tokenizer],
    ) -> Result<StopWords> {
        let rules = Rules { html: false, ..rules };
        let words: Vec<_> = match words {
            StopList::Language(code) => list(code)?.iter().map(|word| rules.apply(word)).collect(),
            StopList::Words(words) => words.iter().map(|word| rules.apply(word)).collect(),
        };
        let mut all = StopWords::from_words(words.iter().map(|word| &**word));
        // Words that `whitespace` keeps as they are do not equal their normalized form.
        if tokenizers.contains(&Tokenizer::Whitespace) {
            all.words.extend(words.iter().map(|word| xxh3_64(word.trim().as_bytes())));
        }
        Ok(all)
    }

    /// Creates a custom list. Skips entries that are not one word.
    pub fn from_words<'a>(words: impl IntoIterator<Item = &'a str>) -> StopWords {
        let mut hashes = HashSet::new();
        for entry in words {
            let mut parts = 0;
            let mut hash = 0;
            super::tokenize_unicode(entry, |token| {
                parts += 1;
                hash = xxh3_64(token);
            });
            if parts == 1 {
                hashes.insert(hash);
            }
        }
        StopWords { words: hashes }
    }

    /// Returns `true` if a normalized word is in the list.
    pub fn contains(&self, word: &[u8]) -> bool {
        self.words.contains(&xxh3_64(word))
    }

    /// Returns a hash of the list that does not depend on its order.
    pub fn digest(&self) -> u64 {
        self.words.iter().fold(0, |sum: u64, &word| sum.wrapping_add(word))
    }
}

/// Returns `true` if an entry of a list is one word of the tokenizer of the texts, as these texts are compared.
pub(crate) fn is_one_word(entry: &str, text: &TextConfig) -> bool {
    let entry = Rules { html: false, ..Rules::of(text) }.apply(entry);
    let words = super::tokens(text.tokenizer, &entry);
    // `ascii-words` also finds a word inside an entry of other characters.
    let is_whole = |word: &super::Token| {
        text.tokenizer != Tokenizer::AsciiWords || word.text.len() == entry.trim().len()
    };
    words.len() == 1 && words.iter().all(is_whole)
}

fn list(code: &str) -> Result<&'static [&'static str]> {
    let list = stop_words::lookup(code.to_ascii_lowercase().as_str());
    list.ok_or_else(|| Error::UnknownLanguage { code: code.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_lists_by_language_code() {
        let english = StopWords::for_language("en").unwrap();
        for word in ["the", "for", "don't"] {
            assert!(english.contains(word.as_bytes()), "{word}");
        }
        for word in ["spacex", "acquires", "xai", "2", "billion"] {
            assert!(!english.contains(word.as_bytes()), "{word}");
        }
        assert!(StopWords::for_language("DE").unwrap().contains("für".as_bytes()));
        assert_eq!(StopWords::for_language("q").unwrap_err(), Error::UnknownLanguage { code: "q".into() });
    }

    /// Lists of languages without spaces have entries of several words, whose parts must not become stop words.
    #[test]
    fn keeps_content_words_in_every_script() {
        let cases = [
            ("zh", "城市议会周一投票决定关闭旧桥进行维修直到春天"),
            ("ja", "市議会は月曜日に古い橋を春まで閉鎖することを決めた"),
            ("th", "สภาเทศบาลลงมติเมื่อวันจันทร์ให้ปิดสะพานเก่าเพื่อซ่อมแซม"),
            ("vi", "Hội đồng thành phố bỏ phiếu hôm thứ Hai đóng cửa cây cầu cũ để sửa chữa"),
        ];
        for (code, sentence) in cases {
            let list = StopWords::for_language(code).unwrap();
            let mut all = 0.0;
            let mut kept = 0.0;
            crate::text::tokenize_unicode(sentence, |token| {
                all += 1.0;
                kept += f64::from(u8::from(!list.contains(token)));
            });
            assert!(kept / all > 0.6, "{code}: kept {kept} of {all} words");
        }
    }

    /// A word matches the tokens of the tokenizer in use, which does not normalize them if it is `whitespace`.
    #[test]
    fn entries_match_the_tokens_of_the_tokenizer() {
        let list = StopList::Words(vec!["The".into(), "don't".into()]);
        let words = |tokenizers: &[Tokenizer]| {
            StopWords::for_plain_text(&list, Rules::default(), tokenizers).unwrap()
        };
        let found = |words: &StopWords| ["the", "The", "don't"].map(|word| words.contains(word.as_bytes()));
        assert_eq!(found(&words(&[Tokenizer::Unicode])), [true, false, true]);
        assert_eq!(found(&words(&[Tokenizer::Whitespace])), [true, true, true]);
        let unicode = words(&[Tokenizer::Unicode]);
        assert_eq!(
            words(&[Tokenizer::AsciiWords]).digest(),
            unicode.digest(),
            "stored schemes do not change"
        );
    }

    #[test]
    fn digest_ignores_order_and_case() {
        let a = StopWords::from_words(["The", "of"]);
        let b = StopWords::from_words(["of", "the"]);
        assert_eq!(a.digest(), b.digest());
        assert_ne!(a.digest(), StopWords::from_words(["of"]).digest());
    }
}
