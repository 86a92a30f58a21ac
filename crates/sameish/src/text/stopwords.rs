//! Which words say nothing?

use crate::error::{Error, Result};
use std::collections::HashSet;
use xxhash_rust::xxh3::xxh3_64;

/// The words of a language that are dropped before features are made.
///
/// The lists are NLTK's where it has one and Stopwords ISO's elsewhere, by way of the crate `stop-words`. Entries are
/// normalized like any text; those of more than one word are left out, because their parts say something elsewhere. A list
/// is part of what determines a sketch, so it enters the [`SchemeId`](crate::SchemeId) by its [`digest`](Self::digest).
#[derive(Clone, Debug)]
pub struct StopWords {
    /// XXH3 of each word.
    words: HashSet<u64>,
}

impl StopWords {
    /// The stop words of a language, by its two-letter code.
    pub fn for_language(code: &str) -> Result<StopWords> {
        let list = stop_words::lookup(code.to_ascii_lowercase().as_str());
        let list = list.ok_or_else(|| Error::UnknownLanguage { code: code.to_owned() })?;
        Ok(StopWords::from_words(list.iter().copied()))
    }

    /// A list of one's own.
    pub fn from_words<'a>(words: impl IntoIterator<Item = &'a str>) -> StopWords {
        let mut hashes = HashSet::new();
        for entry in words {
            let (mut parts, mut hash) = (0, 0);
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

    /// Whether a normalized word is one of them.
    pub fn contains(&self, word: &[u8]) -> bool {
        self.words.contains(&xxh3_64(word))
    }

    /// A hash of the whole list, whatever its order.
    pub fn digest(&self) -> u64 {
        self.words.iter().fold(0, |sum: u64, &word| sum.wrapping_add(word))
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
        assert!(StopWords::for_language("DE").unwrap().contains("für".as_bytes()));
        assert_eq!(StopWords::for_language("q").unwrap_err(), Error::UnknownLanguage { code: "q".into() });
    }

    /// Entries of several words, as lists of languages without spaces have them, must not ban their parts.
    #[test]
    fn content_words_stay_in_every_script() {
        let cases = [
            ("zh", "城市议会周一投票决定关闭旧桥进行维修直到春天"),
            ("ja", "市議会は月曜日に古い橋を春まで閉鎖することを決めた"),
            ("th", "สภาเทศบาลลงมติเมื่อวันจันทร์ให้ปิดสะพานเก่าเพื่อซ่อมแซม"),
            ("vi", "Hội đồng thành phố bỏ phiếu hôm thứ Hai đóng cửa cây cầu cũ để sửa chữa"),
        ];
        for (code, sentence) in cases {
            let list = StopWords::for_language(code).unwrap();
            let (mut all, mut kept) = (0.0, 0.0);
            crate::text::tokenize_unicode(sentence, |token| {
                all += 1.0;
                kept += f64::from(u8::from(!list.contains(token)));
            });
            assert!(kept / all > 0.6, "{code}: {kept} of {all} words stay");
        }
    }

    #[test]
    fn digest_ignores_order_and_case() {
        let a = StopWords::from_words(["The", "of"]);
        let b = StopWords::from_words(["of", "the"]);
        assert_eq!(a.digest(), b.digest());
        assert_ne!(a.digest(), StopWords::from_words(["of"]).digest());
    }
}
