//! Is this candidate a match?

use super::{MatchKind, MatchType, Signs, distance_to_similarity, facts_agreement, is_template};
use crate::config::Config;
use crate::features::{Facts, FeatureSet, TextKey, WordFrequencies};
use crate::sketch::{Fingerprint, Sdr, share_equal};

/// What is known of one of two documents.
#[derive(Clone, Copy, Debug, Default)]
pub struct Side<'a> {
    /// Stands for the normalized text.
    pub key: Option<TextKey>,
    /// Whether the text is too short for the preset.
    pub too_short: bool,
    /// Zero counts as none.
    pub simhash: Option<Fingerprint>,
    /// The rows of the signature.
    pub minhash: Option<&'a [u32]>,
    /// From the lane of sparse codes.
    pub sdr: Option<&'a Sdr>,
    /// What matches are verified on, where it is at hand.
    pub features: Option<&'a FeatureSet>,
    /// Numbers and rare words, where they are at hand.
    pub facts: Option<&'a Facts>,
}

/// A candidate that was judged to be a match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Exact Jaccard similarity where `verified`; else what the sketches say.
    pub similarity: f64,
    /// What the two are to each other.
    pub kind: MatchKind,
    /// Whether it was judged on the documents' own features.
    pub verified: bool,
    /// Between fingerprints, where both have one.
    pub distance: Option<u32>,
    /// How far numbers and rare words agree, where that was asked of a verified match.
    pub facts: Option<f64>,
    /// Whether the two are of one form with other facts.
    pub template: bool,
}

/// Tells matches from candidates, under an engine's settings.
///
/// Settings that verify call two documents a match when the exact Jaccard similarity of their features reaches the
/// threshold, or their texts are equal. Texts too short for that are matched by their fingerprints where the preset makes
/// any, as are all texts under settings that do not verify; the verdict then says so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judge {
    verify: bool,
    threshold: f64,
    radius: Option<u32>,
}

impl Verdict {
    /// The same with how far the facts agree, where the match is verified; they are asked for only where that is not known.
    pub fn with_facts<'a>(
        self,
        frequencies: Option<&WordFrequencies>,
        facts: impl FnOnce() -> (&'a Facts, &'a Facts),
    ) -> Verdict {
        if !self.verified {
            return self;
        }
        let same = self.kind == MatchKind::Exact || self.similarity == 1.0;
        let agreement = |(a, b): (&Facts, &Facts)| facts_agreement(a, b, frequencies);
        let facts = if same { 1.0 } else { agreement(facts()) };
        Verdict { facts: Some(facts), template: is_template(self.similarity, facts), ..self }
    }
}

impl Judge {
    /// By the settings' threshold and radius.
    pub fn new(config: &Config) -> Judge {
        let matching = &config.matching;
        let radius = config.simhash.as_ref().map(|simhash| simhash.radius);
        Judge { verify: matching.verify, threshold: matching.threshold, radius }
    }

    /// The same with another threshold of similarity.
    pub fn with_threshold(self, threshold: f64) -> Judge {
        Judge { threshold, ..self }
    }

    /// Least similarity of a match.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Whether it compares features, where they are at hand.
    pub fn verifies(&self) -> bool {
        self.verify
    }

    /// Whether the two match, and how.
    pub fn judge(&self, a: &Side<'_>, b: &Side<'_>) -> Option<Verdict> {
        let distance = print_of(a).zip(print_of(b)).map(|(a, b)| a.distance(b));
        let equal = a.key.is_some() && a.key == b.key;
        let features = a.features.zip(b.features).filter(|_| self.verify);
        let (similarity, jaccard, verified) = match features {
            Some(_) if equal => (1.0, 1.0, true),
            Some((x, y)) if !a.too_short && !b.too_short => {
                let jaccard = x.jaccard_at_least(y, self.threshold)?;
                (jaccard, jaccard, true)
            }
            _ => match self.estimate(a, b) {
                Some(estimate) => (estimate, estimate, false),
                None => (self.within(distance)?, 0.0, false),
            },
        };
        let signs = Signs {
            equal,
            jaccard,
            containment: jaccard,
            distance,
            threshold: self.threshold,
            verified: self.verify && verified,
        };
        let kind = match MatchType::judge(signs) {
            MatchType::Match(kind) => kind,
            MatchType::Different => MatchKind::Similar,
        };
        Some(Verdict { similarity, kind, verified, distance, facts: None, template: false })
    }

    /// The same, with how far the facts agree where the match is verified and they are at hand.
    pub fn judge_facts(
        &self,
        a: &Side<'_>,
        b: &Side<'_>,
        frequencies: Option<&WordFrequencies>,
    ) -> Option<Verdict> {
        let verdict = self.judge(a, b)?;
        Some(match a.facts.zip(b.facts) {
            Some(facts) => verdict.with_facts(frequencies, || facts),
            None => verdict,
        })
    }

    fn reaching(&self, similarity: f64) -> Option<f64> {
        (similarity >= self.threshold).then_some(similarity)
    }

    /// What signatures or sparse codes say, where they say that the two match.
    fn estimate(&self, a: &Side<'_>, b: &Side<'_>) -> Option<f64> {
        let rows = a.minhash.zip(b.minhash).and_then(|(a, b)| share_equal(a, b));
        let bits = || a.sdr.zip(b.sdr).and_then(|(a, b)| shared_bits(a, b));
        rows.or_else(bits).and_then(|similarity| self.reaching(similarity))
    }

    /// What fingerprints say, where they are near enough.
    fn within(&self, distance: Option<u32>) -> Option<f64> {
        distance.filter(|distance| Some(*distance) <= self.radius).map(distance_to_similarity)
    }
}

fn print_of(side: &Side<'_>) -> Option<Fingerprint> {
    side.simhash.filter(|print| !print.is_zero())
}

/// Common bits over those of the fuller code.
fn shared_bits(a: &Sdr, b: &Sdr) -> Option<f64> {
    let most = a.active().len().max(b.active().len());
    let shared = a.overlap(b).ok()?;
    (most > 0).then(|| shared as f64 / most as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Content;
    use crate::preset::Preset;

    fn features(upto: u64) -> FeatureSet {
        FeatureSet::from_hashes((0..upto).collect())
    }

    fn key(text: &str) -> Option<TextKey> {
        TextKey::of(&Content::Text(text.into()))
    }

    #[test]
    fn the_threshold_is_inclusive_and_exact() {
        let judge = Judge::new(&Preset::Copies.config());
        let (a, b, c) = (features(8), features(10), features(7));
        let side = |features| Side { features: Some(features), ..Side::default() };
        let verdict = judge.judge(&side(&a), &side(&b)).unwrap();
        assert_eq!((verdict.similarity, verdict.kind, verdict.verified), (0.8, MatchKind::Near, true));
        assert_eq!(judge.judge(&side(&b), &side(&c)), None);
        assert!(judge.with_threshold(0.7).judge(&side(&b), &side(&c)).is_some());
    }

    #[test]
    fn short_articles_match_by_fingerprint_and_say_so() {
        let judge = Judge::new(&Preset::Articles.config());
        let none = FeatureSet::default();
        let side = |bits, text| Side {
            key: key(text),
            too_short: true,
            simhash: Some(Fingerprint::from_u64(bits)),
            features: Some(&none),
            ..Side::default()
        };
        let verdict = judge.judge(&side(0xFF00, "a"), &side(0xFF1F, "b")).unwrap();
        assert_eq!((verdict.similarity, verdict.verified), (1.0 - 5.0 / 64.0, false));
        assert_eq!(judge.judge(&side(0xFF00, "a"), &side(0xFF3F, "b")), None);
        let same = judge.judge(&side(0xFF00, "a"), &side(0xFF00, "A")).unwrap();
        assert_eq!((same.kind, same.verified), (MatchKind::Exact, true));
    }

    #[test]
    fn wire_judges_by_distance_alone_and_never_matches_zero() {
        let judge = Judge::new(&Preset::Wire.config());
        let all = features(9);
        let side = |bits, text| Side {
            key: key(text),
            simhash: Some(Fingerprint::from_u64(bits)),
            features: Some(&all),
            ..Side::default()
        };
        let verdict = judge.judge(&side(8, "a"), &side(15, "b")).unwrap();
        assert_eq!((verdict.distance, verdict.kind, verdict.verified), (Some(3), MatchKind::Near, false));
        assert_eq!(judge.judge(&side(8, "a"), &side(0x17, "b")), None);
        assert_eq!(judge.judge(&side(0, "!"), &side(0, "!")), None);
        assert_eq!(judge.judge(&side(8, "a"), &side(8, "a")).unwrap().kind, MatchKind::Exact);
    }

    #[test]
    fn without_features_a_signature_is_only_an_estimate() {
        let judge = Judge::new(&Preset::Copies.config());
        let (a, b) = ([1, 2, 3, 4, 5], [1, 2, 3, 4, 6]);
        let (a, b) =
            (Side { minhash: Some(&a), ..Side::default() }, Side { minhash: Some(&b), ..Side::default() });
        let verdict = judge.judge(&a, &b).unwrap();
        assert_eq!((verdict.similarity, verdict.verified), (0.8, false));
        assert_eq!(judge.with_threshold(0.81).judge(&a, &b), None);
    }
}
