//! What the engine sees of a text: its normalized form, its words and its shingles. For teaching and debugging.
//!
//! The engine itself computes hashes in one pass and never builds these strings. The tests compare them with the features.

use super::{Analyzer, for_each_token_batch};
use crate::config::Shingle;
use crate::document::ContentRef;
use crate::text::{TextScratch, TokenRange, normalize};

impl Analyzer {
    /// Returns a text in the form whose equality makes a match `exact`: without the markup and accents that the configuration
    /// removes, normalized, and with one space between words.
    ///
    /// ```
    /// use sameish::{Analyzer, Preset};
    ///
    /// let analyzer = Analyzer::new(Preset::Copies.config())?;
    /// assert_eq!(analyzer.normalized("  The ＯＬＤ\tBridge. "), "the old bridge.");
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn normalized(&self, text: &str) -> String {
        let normal = normalize(&self.rules().apply(text));
        normal.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns the words on which similarity is measured, in order, without stop words.
    ///
    /// ```
    /// use sameish::{Analyzer, Preset};
    ///
    /// let analyzer = Analyzer::new(Preset::Headlines.config())?;
    /// assert_eq!(analyzer.tokenize("The Bridge is closed"), ["bridge", "closed"]);
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn tokenize<'a>(&self, content: impl Into<ContentRef<'a>>) -> Vec<String> {
        self.with_plain(content, |plain| {
            let mut words = Vec::new();
            let mut kept = Vec::new();
            let tokenizer = self.compared_shingles().tokenizer;
            for_each_token_batch(tokenizer, plain.content, &mut TextScratch::default(), |batch| {
                let tokens = self.without_stop_words(batch, &mut kept);
                let word = |token: &TokenRange| String::from_utf8_lossy(token.of(batch.bytes)).into_owned();
                words.extend(tokens.iter().map(word));
            });
            words
        })
    }

    /// Returns the shingles on which similarity is measured as texts, in order, with repetitions. The Jaccard similarity of two
    /// texts is that of their shingles.
    ///
    /// ```
    /// use sameish::{Analyzer, Preset};
    ///
    /// let analyzer = Analyzer::new(Preset::Copies.config())?;
    /// assert_eq!(analyzer.shingle("The old bridge is closed"), ["the old bridge", "old bridge is", "bridge is closed"]);
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn shingle<'a>(&self, content: impl Into<ContentRef<'a>>) -> Vec<String> {
        let words = self.tokenize(content);
        match self.compared_shingles().shingle {
            Shingle::Words(n) => windows_or_all(&words, n as usize, |words| words.join(" ")),
            Shingle::Windows(n) => words.windows(n as usize).map(|words| words.join(" ")).collect(),
            Shingle::Chars(n) => {
                let chars: Vec<char> = words.join(" ").chars().collect();
                windows_or_all(&chars, n as usize, |chars| chars.iter().collect())
            }
            Shingle::Letters => {
                words.iter().flat_map(|word| std::iter::once(word.clone()).chain(letters(word))).collect()
            }
        }
    }
}

fn letters(word: &str) -> impl Iterator<Item = String> {
    word.chars().map(String::from)
}

/// Returns each `n` consecutive items as one text. Fewer items than that are one text, unless there are none.
fn windows_or_all<T>(items: &[T], n: usize, text: impl Fn(&[T]) -> String) -> Vec<String> {
    match items.len() {
        0 => Vec::new(),
        len if len < n => vec![text(items)],
        _ => items.windows(n).map(text).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;
    use crate::{Config, Scratch};
    use std::collections::HashSet;

    const TEXTS: [&str; 6] = [
        "The council voted on Monday to close the old bridge over the river; the old bridge over the river.",
        "Straße, ＷＩＤＥ and cafe\u{301} — 東京タワー 3.14",
        "two words",
        "word",
        "!",
        "",
    ];

    /// The number of distinct shingles equals that of the features, for every preset and kind of shingle.
    #[test]
    fn shingles_are_the_features_as_text() {
        let mut configs: Vec<Config> = Preset::ALL.map(Preset::config).into();
        for shingle in ["words:1", "words:5", "chars:3", "windows:3", "letters"] {
            configs.push(Config::from_toml(&format!("[minhash]\nshingle = \"{shingle}\"")).unwrap());
        }
        for config in configs {
            let analyzer = Analyzer::new(config).unwrap();
            for text in TEXTS {
                let distinct: HashSet<String> = analyzer.shingle(text).into_iter().collect();
                let features = analyzer.shingles(text, &mut Scratch::default());
                assert_eq!(distinct.len(), features.len(), "{text:?} {:?}", analyzer.config());
            }
        }
    }

    #[test]
    fn words_are_counted_like_sketched_ones() {
        for preset in [Preset::Copies, Preset::Headlines, Preset::Wire, Preset::Web] {
            let analyzer = Analyzer::new(preset.config()).unwrap();
            for text in TEXTS {
                let words = analyzer.sketch(text, &mut Scratch::default()).words;
                assert_eq!(analyzer.tokenize(text).len(), words, "{preset} {text:?}");
            }
        }
    }

    #[test]
    fn texts_with_equal_normalized_forms_have_equal_keys() {
        let config = Config::from_toml("[text]\nhtml = true\nfold_accents = true").unwrap();
        let analyzer = Analyzer::new(config).unwrap();
        let html = "<p>Le  CAFÉ&nbsp;ferme</p>";
        assert_eq!(analyzer.normalized(html), "le cafe ferme");
        assert_eq!(analyzer.key(html), analyzer.key("le cafe ferme"));
        assert_eq!(analyzer.normalized(" \n"), "");
    }

    #[test]
    fn given_tokens_are_used_as_they_are() {
        let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
        let tokens = ["The", "OLD", "Bridge", "x y"].map(String::from);
        assert_eq!(analyzer.tokenize(ContentRef::Tokens(&tokens)), tokens);
        assert_eq!(analyzer.shingle(ContentRef::Tokens(&tokens)), ["The OLD Bridge", "OLD Bridge x y"]);
    }
}
