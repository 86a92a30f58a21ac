//! What can be said of two documents side by side?

use super::{Engine, Scratch, Sketches, Status};
use crate::config::{TokenHash, Tokenizer};
use crate::document::ContentRef;
use crate::features::{FeatureSet, TextKey, hash_token};
use crate::matching::{Evidence, Located, MatchType, Passage, Signs};
use crate::sketch::{Fingerprint, SimHasher};
use crate::text::{Span, TextScratch, for_each_batch};

/// Everything that can be said of two texts side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Exact Jaccard similarity of the preset's shingles.
    pub similarity: f64,
    /// The share of the smaller side's shingles that the other has.
    pub containment: f64,
    /// The share of the first text's shingles that the second has.
    pub containment_a: f64,
    /// The share of the second text's shingles that the first has.
    pub containment_b: f64,
    /// In how many bits the fingerprints differ; of all words where the preset has no fingerprints.
    pub simhash_distance: u32,
    /// What the signatures estimate, where the preset makes them of both.
    pub minhash_similarity: Option<f64>,
    /// What the two are to each other.
    pub match_type: MatchType,
    /// Whether either text is too short for the preset.
    pub too_short: bool,
    /// Words of the first text.
    pub words_a: usize,
    /// Words of the second text.
    pub words_b: usize,
    /// Passages that both have, at least as long as was asked.
    pub passages: Vec<Passage>,
    /// The share of the first text's words that stand in a shared passage.
    pub coverage_a: f64,
    /// The share of the second text's words that stand in a shared passage.
    pub coverage_b: f64,
}

impl Comparison {
    /// The passages with places in other units than bytes, for languages that cut strings elsewhere. `units` tells how
    /// many a piece of text has: `|piece| piece.chars().count()`, say. Takes one pass through each text. Where tokens were
    /// compared, places are counted in tokens, as a list of them is cut.
    ///
    /// ```
    /// use sameish::{Content, Engine, Preset};
    ///
    /// let engine = Engine::new(Preset::Copies.config())?;
    /// let (a, b) = ("Größe über alles hier im Land", "über alles hier im Land");
    /// let passages = engine.compare(a, b, 5).passages_in(a, b, |piece| piece.chars().count());
    /// assert_eq!((passages[0].a_start, passages[0].a_end), (6, 29));
    ///
    /// let tokens = |text: &str| Content::Tokens(text.split(' ').map(str::to_owned).collect());
    /// let (a, b) = (tokens("Größe über alles hier im Land"), tokens("über alles hier im Land"));
    /// let passages = engine.compare(&a, &b, 5).passages_in(&a, &b, |piece| piece.chars().count());
    /// assert_eq!((passages[0].a_start, passages[0].a_end), (1, 6));
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn passages_in<'a>(
        &self,
        a: impl Into<ContentRef<'a>>,
        b: impl Into<ContentRef<'a>>,
        units: impl Fn(&str) -> usize,
    ) -> Vec<Passage> {
        let in_a = Places::new(a.into(), self.passages.iter().flat_map(|p| [p.a_start, p.a_end]), &units);
        let in_b = Places::new(b.into(), self.passages.iter().flat_map(|p| [p.b_start, p.b_end]), &units);
        let counted = self.passages.iter().map(|p| Passage {
            a_start: in_a.of_byte(p.a_start),
            a_end: in_a.of_byte(p.a_end),
            b_start: in_b.of_byte(p.b_start),
            b_end: in_b.of_byte(p.b_end),
            tokens: p.tokens,
        });
        counted.collect()
    }
}

/// Places of a text in bytes and in another counting, ascending.
struct Places(Vec<(usize, usize)>);

impl Places {
    fn new(
        content: ContentRef<'_>,
        bytes: impl Iterator<Item = usize>,
        units: impl Fn(&str) -> usize,
    ) -> Places {
        let mut bytes: Vec<usize> = bytes.collect();
        bytes.sort_unstable();
        bytes.dedup();
        let text = match content {
            ContentRef::Text(text) => text,
            ContentRef::Tokens(tokens) => return Places::of_tokens(tokens, bytes),
        };
        let (mut from, mut count) = (0, 0);
        let counted = bytes.into_iter().map(|byte| {
            // Passages begin and end with words, so with characters.
            count += text.get(from..byte).map_or(byte - from, &units);
            from = byte;
            (byte, count)
        });
        Places(counted.collect())
    }

    /// Tokens stand with a space between them. A passage ends where its last token does, before the space.
    fn of_tokens(tokens: &[String], bytes: Vec<usize>) -> Places {
        let (mut begins, mut next) = (0, 0);
        let counted = bytes.into_iter().map(|byte| {
            while let Some(token) = tokens.get(next).filter(|_| begins < byte) {
                begins += token.len() + 1;
                next += 1;
            }
            (byte, next)
        });
        Places(counted.collect())
    }

    fn of_byte(&self, byte: usize) -> usize {
        self.0.binary_search_by_key(&byte, |&(byte, _)| byte).map_or(byte, |at| self.0[at].1)
    }
}

/// What is known of one of the two.
struct Side {
    sketches: Sketches,
    features: FeatureSet,
    words: Located,
    /// Nothing for a text without words, which has no fingerprint worth the name and is near to nothing.
    print: Option<Fingerprint>,
}

impl Engine {
    /// Everything that can be said of two documents. Shared passages have at least `min_tokens` words.
    ///
    /// ```
    /// use sameish::{Content, Engine, Preset};
    ///
    /// let engine = Engine::new(Preset::Articles.config())?;
    /// let [a, b] = ["dog", "cat"].map(|last| Content::Text(format!("The quick brown fox jumps over the lazy {last}")));
    /// let comparison = engine.compare(&a, &b, 5);
    /// assert_eq!(comparison.similarity, 0.75);
    /// assert_eq!(comparison.simhash_distance, 9);
    /// assert_eq!(comparison.passages[0].a_end, "The quick brown fox jumps over the lazy".len());
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn compare<'a>(
        &self,
        a: impl Into<ContentRef<'a>>,
        b: impl Into<ContentRef<'a>>,
        min_tokens: usize,
    ) -> Comparison {
        let (a, b) = (a.into(), b.into());
        let mut scratch = Scratch::default();
        let [x, y] = [a, b].map(|content| self.side(content, &mut scratch));
        let evidence = Evidence::find(&x.words, &y.words, min_tokens);
        let similarity = x.features.jaccard(&y.features);
        let [containment_a, containment_b] =
            [x.features.containment_in(&y.features), y.features.containment_in(&x.features)];
        let signs = Signs {
            equal: equal_text(a, b),
            jaccard: similarity,
            containment: containment_a.max(containment_b),
            distance: x.print.zip(y.print).map(|(a, b)| a.distance(b)),
            threshold: self.config.matching.threshold,
            verified: self.config.matching.verify || self.config.simhash.is_none(),
        };
        Comparison {
            similarity,
            containment: containment_a.max(containment_b),
            containment_a,
            containment_b,
            simhash_distance: x.print.unwrap_or_default().distance(y.print.unwrap_or_default()),
            minhash_similarity: x
                .sketches
                .minhash
                .zip(y.sketches.minhash)
                .and_then(|(a, b)| a.estimate(&b).ok()),
            match_type: MatchType::judge(signs),
            too_short: [x.sketches.status, y.sketches.status].contains(&Status::TooShort),
            words_a: x.sketches.words,
            words_b: y.sketches.words,
            passages: evidence.passages,
            coverage_a: evidence.coverage_a,
            coverage_b: evidence.coverage_b,
        }
    }

    fn side(&self, content: ContentRef<'_>, scratch: &mut Scratch) -> Side {
        let sketches = self.sketch(content, scratch);
        let words = locate(content, &mut scratch.text);
        let print = match sketches.simhash {
            Some(print) => (!print.is_zero()).then_some(print),
            None => (!words.hashes.is_empty()).then(|| SimHasher.sketch(&words.hashes)),
        };
        Side { sketches, features: self.features(content, scratch), words, print }
    }
}

/// Whether two documents are the same text. Blank ones are equal to nothing.
fn equal_text(a: ContentRef<'_>, b: ContentRef<'_>) -> bool {
    TextKey::of(a).is_some_and(|key| TextKey::of(b) == Some(key))
}

/// The words of a document and where they stand; given tokens stand as if joined by one blank.
fn locate(content: ContentRef<'_>, scratch: &mut TextScratch) -> Located {
    let mut located = Located::default();
    match content {
        ContentRef::Text(text) => for_each_batch(Tokenizer::Unicode, text, scratch, |batch| {
            for i in 0..batch.tokens.len() {
                located.hashes.push(hash_token(TokenHash::Xxh3, batch.token(i)));
                located.spans.push(batch.span(i));
            }
        }),
        ContentRef::Tokens(tokens) => {
            let mut start = 0;
            for token in tokens {
                located.hashes.push(hash_token(TokenHash::Xxh3, token.as_bytes()));
                located.spans.push(Span { start, end: start + token.len() });
                start += token.len() + 1;
            }
        }
    }
    located
}
