//! Comparison of two documents with every measure.

use super::{Analyzer, Scratch, Sketches, Status};
use crate::config::{TokenHash, Tokenizer};
use crate::document::{ContentRef, Timestamp};
use crate::features::{Facts, FeatureSet, TextKey, hash_token};
use crate::matching::{
    Difference, Evidence, Located, MatchKind, MatchType, Measures, OffsetUnit, Overlap, Passage, Relation,
    differences, facts_agreement, is_template,
};
use crate::sketch::{Fingerprint, SimHasher};
use crate::text::{Edits, Plain, Span, TextScratch, for_each_batch};
use std::borrow::Cow;

/// The result of comparing two documents with every measure.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Comparison {
    /// The exact Jaccard similarity of the shingles.
    pub similarity: f64,
    /// The larger of `containment_a` and `containment_b`.
    pub containment: f64,
    /// The fraction of the first text's shingles that the second text contains.
    pub containment_a: f64,
    /// The fraction of the second text's shingles that the first text contains.
    pub containment_b: f64,
    /// The Hamming distance of the fingerprints. Without a SimHash lane, fingerprints are computed from all words.
    pub simhash_distance: u32,
    /// The similarity estimated from the signatures, if both texts have one.
    pub minhash_similarity: Option<f64>,
    /// The kind of match, or `different`.
    pub match_type: MatchType,
    /// How far the names and numbers agree, from 0 to 1: see [`facts_agreement`]. `None` if the texts differ and are short,
    /// or if shingles of characters are compared, because the measure is not reliable there.
    #[cfg_attr(feature = "serde", serde(default))]
    pub facts: Option<f64>,
    /// Whether the two are templates: the same wording with different names or numbers.
    #[cfg_attr(feature = "serde", serde(default))]
    pub template: bool,
    /// Whether either text has too few words for the configuration.
    pub too_short: bool,
    /// The number of words in the first text.
    pub words_a: usize,
    /// The number of words in the second text.
    pub words_b: usize,
    /// The maximal shared passages of at least the requested length.
    pub passages: Vec<Passage>,
    /// The fraction of the first text's words that are in a shared passage.
    pub coverage_a: f64,
    /// The fraction of the second text's words that are in a shared passage.
    pub coverage_b: f64,
    /// Parts in which the two texts differ between passages that they share, in the order of the texts; at most 1,000.
    #[cfg_attr(feature = "serde", serde(default))]
    pub differences: Vec<Difference>,
}

impl Comparison {
    /// Returns the relation of the first text to the second one. `dates` are those of the two texts, if both are known. Returns
    /// `None` if the texts do not match.
    pub fn relation(&self, dates: Option<[Timestamp; 2]>) -> Option<Relation> {
        let Comparison { containment_a, containment_b, facts, template, .. } = *self;
        match self.match_type {
            MatchType::Different => None,
            MatchType::Match(MatchKind::Exact) => Some(Relation::Same),
            MatchType::Match(_) => Overlap { containment_a, containment_b, facts, template }.relation(dates),
        }
    }

    /// Returns the passages with offsets in a unit other than bytes. For documents given as tokens, offsets count tokens.
    ///
    /// ```
    /// use sameish::matching::OffsetUnit;
    /// use sameish::{Analyzer, Content, Preset};
    ///
    /// let analyzer = Analyzer::new(Preset::Copies.config())?;
    /// let (a, b) = ("Größe über alles hier im Land", "über alles hier im Land");
    /// let passages = analyzer.compare(a, b, 5).passages_in(a, b, OffsetUnit::Chars);
    /// assert_eq!((passages[0].a_start, passages[0].a_end), (6, 29));
    ///
    /// let tokens = |text: &str| Content::Tokens(text.split(' ').map(str::to_owned).collect());
    /// let (a, b) = (tokens("Größe über alles hier im Land"), tokens("über alles hier im Land"));
    /// let passages = analyzer.compare(&a, &b, 5).passages_in(&a, &b, OffsetUnit::Chars);
    /// assert_eq!((passages[0].a_start, passages[0].a_end), (1, 6));
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn passages_in<'a>(
        &self,
        a: impl Into<ContentRef<'a>>,
        b: impl Into<ContentRef<'a>>,
        unit: OffsetUnit,
    ) -> Vec<Passage> {
        unit.convert(&self.passages, a, b)
    }

    /// Returns the differences with offsets in a unit other than bytes, like [`passages_in`](Self::passages_in).
    pub fn differences_in<'a>(
        &self,
        a: impl Into<ContentRef<'a>>,
        b: impl Into<ContentRef<'a>>,
        unit: OffsetUnit,
    ) -> Vec<Difference> {
        unit.convert_differences(&self.differences, a, b)
    }
}

/// One of the two compared documents.
struct Side {
    sketches: Sketches,
    shingles: FeatureSet,
    facts: Facts,
    words: Located,
    /// `None` for a text without words, because a zero fingerprint never matches.
    fingerprint: Option<Fingerprint>,
}

/// A document in the form in which it is compared.
enum Compared<'a> {
    Text(Cow<'a, str>),
    Tokens(&'a [String]),
}

impl Compared<'_> {
    fn plain(&self, folded: bool) -> Plain<'_> {
        match self {
            Compared::Text(text) => Plain { content: ContentRef::Text(text), folded },
            Compared::Tokens(tokens) => Plain::unchanged(ContentRef::Tokens(tokens)),
        }
    }
}

/// Converts the offsets of a passage to those of the given texts.
fn passage_in(passage: Passage, in_a: &Edits, in_b: &Edits) -> Passage {
    let a = in_a.source(Span { start: passage.a_start, end: passage.a_end });
    let b = in_b.source(Span { start: passage.b_start, end: passage.b_end });
    Passage { a_start: a.start, a_end: a.end, b_start: b.start, b_end: b.end, tokens: passage.tokens }
}

/// Converts the offsets of a difference to those of the given texts.
fn difference_in(difference: Difference, in_a: &Edits, in_b: &Edits) -> Difference {
    let a = in_a.source(Span { start: difference.a_start, end: difference.a_end });
    let b = in_b.source(Span { start: difference.b_start, end: difference.b_end });
    Difference { a_start: a.start, a_end: a.end, b_start: b.start, b_end: b.end, kind: difference.kind }
}

impl Analyzer {
    /// Compares two documents with every measure. Shared passages have at least `min_tokens` words.
    ///
    /// ```
    /// use sameish::{Analyzer, Preset};
    ///
    /// let analyzer = Analyzer::new(Preset::Articles.config())?;
    /// let a = "The quick brown fox jumps over the lazy dog";
    /// let b = "The quick brown fox jumps over the lazy cat";
    /// let comparison = analyzer.compare(a, b, 5);
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
        let a = a.into();
        let b = b.into();
        let [(a, in_a), (b, in_b)] = [a, b].map(|content| self.located(content));
        let [a, b] = [&a, &b].map(|plain| plain.plain(self.rules().fold_accents));
        let [x, y] = Scratch::with_thread_local(|scratch| [a, b].map(|plain| self.side(plain, scratch)));
        let evidence = Evidence::find(&x.words, &y.words, min_tokens);
        let similarity = x.shingles.jaccard(&y.shingles);
        let containment_a = x.shingles.containment_in(&y.shingles);
        let containment_b = y.shingles.containment_in(&x.shingles);
        let measures = Measures {
            equal: equal_text(a.content, b.content),
            jaccard: similarity,
            containment: containment_a.max(containment_b),
            distance: x.fingerprint.zip(y.fingerprint).map(|(a, b)| a.distance(b)),
            threshold: self.config().matching.threshold,
            verified: self.config().matching.verify || self.config().simhash.is_none(),
        };
        let facts = if measures.equal { Some(1.0) } else { facts_agreement(&x.facts, &y.facts) };
        Comparison {
            similarity,
            containment: containment_a.max(containment_b),
            containment_a,
            containment_b,
            simhash_distance: x.fingerprint.unwrap_or_default().distance(y.fingerprint.unwrap_or_default()),
            minhash_similarity: x
                .sketches
                .minhash
                .zip(y.sketches.minhash)
                .and_then(|(a, b)| a.estimate(&b).ok()),
            match_type: MatchType::judge(measures),
            facts,
            template: facts.is_some_and(|facts| is_template(similarity, facts)),
            too_short: [x.sketches.status, y.sketches.status].contains(&Status::TooShort),
            words_a: x.sketches.words,
            words_b: y.sketches.words,
            passages: evidence
                .passages
                .into_iter()
                .map(|passage| passage_in(passage, &in_a, &in_b))
                .collect(),
            coverage_a: evidence.coverage_a,
            coverage_b: evidence.coverage_b,
            differences: Scratch::with_thread_local(|scratch| differences(a, b, &mut scratch.text))
                .into_iter()
                .map(|difference| difference_in(difference, &in_a, &in_b))
                .collect(),
        }
    }

    /// Returns a document in the form in which it is compared, and where its parts come from.
    fn located<'a>(&self, content: ContentRef<'a>) -> (Compared<'a>, Edits) {
        match content {
            ContentRef::Text(text) => {
                let (plain, edits) = self.rules().apply_located(text);
                (Compared::Text(plain), edits)
            }
            ContentRef::Tokens(tokens) => (Compared::Tokens(tokens), Edits::default()),
            ContentRef::Sketches(_) => (Compared::Tokens(&[]), Edits::default()),
        }
    }

    fn side(&self, plain: Plain<'_>, scratch: &mut Scratch) -> Side {
        let sketches = self.run_lanes(plain.content, false, scratch).0;
        let words = locate(plain.content, &mut scratch.text);
        let fingerprint = match sketches.simhash {
            Some(fingerprint) => (!fingerprint.is_zero()).then_some(fingerprint),
            None => (!words.hashes.is_empty()).then(|| SimHasher.sketch(&words.hashes)),
        };
        let shingles = self.plain_shingles(plain, scratch);
        Side { sketches, shingles, facts: self.plain_facts(plain, scratch), words, fingerprint }
    }
}

/// Returns `true` if two documents have the same normalized text. A blank text is equal to no text.
fn equal_text(a: ContentRef<'_>, b: ContentRef<'_>) -> bool {
    TextKey::of(a).is_some_and(|key| TextKey::of(b) == Some(key))
}

/// Returns the words of a document with their offsets. Given tokens are treated as joined by one space.
fn locate(content: ContentRef<'_>, scratch: &mut TextScratch) -> Located {
    let mut located = Located::default();
    match content {
        ContentRef::Text(text) => for_each_batch(Tokenizer::Unicode, text, scratch, |batch| {
            for (token, span) in batch.located() {
                located.hashes.push(hash_token(TokenHash::Xxh3, token));
                located.spans.push(span);
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
        ContentRef::Sketches(_) => {}
    }
    located
}
