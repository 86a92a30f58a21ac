//! The decision whether a candidate is a match.

use super::{MatchKind, MatchType, Measures, distance_to_similarity, facts_agreement, is_template};
use crate::config::{Config, Templates};
use crate::features::{Facts, FeatureSet, TextKey};
use crate::sketch::{Fingerprint, Sdr, share_equal};
use std::cmp::Ordering;

/// What is known about one of the two documents of a pair.
#[derive(Clone, Copy, Debug, Default)]
pub struct Side<'a> {
    /// The key of the normalized text, or `None` if the text is blank.
    pub key: Option<TextKey>,
    /// Whether the text has too few words for the configuration.
    pub too_short: bool,
    /// The fingerprint. Zero is treated as none.
    pub simhash: Option<Fingerprint>,
    /// The rows of the signature.
    pub minhash: Option<&'a [u32]>,
    /// The sparse code.
    pub sdr: Option<&'a Sdr>,
    /// The shingles, if loaded. Without them a match is not verified.
    pub features: Option<&'a FeatureSet>,
    /// The facts, if loaded.
    pub facts: Option<&'a Facts>,
}

/// The judgment that a candidate is a match.
///
/// Every match and pair that sameish reports carries one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Verdict {
    /// From 0 to 1: the exact Jaccard similarity if `verified`, otherwise the estimate from the sketches.
    pub similarity: f64,
    /// The kind of match.
    #[cfg_attr(feature = "serde", serde(rename = "match_type"))]
    pub kind: MatchKind,
    /// Whether the documents' own features were compared.
    pub verified: bool,
    /// The Hamming distance of the fingerprints, if both documents have one.
    #[cfg_attr(feature = "serde", serde(rename = "simhash_distance", default))]
    pub distance: Option<u32>,
    /// How far the names and numbers agree, from 0 to 1, if the match is verified and facts were requested. `None` if the
    /// texts differ and are short, or if shingles of characters are compared, because the measure is not reliable there.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub facts: Option<f64>,
    /// Whether the two are templates: the same wording with different names or numbers.
    pub template: bool,
}

/// Decides which candidates are matches, according to a configuration.
///
/// If the configuration verifies, two documents match if the exact Jaccard similarity of their shingles reaches the
/// threshold, or if their normalized texts are equal. Texts that are too short are verified in the same way if the
/// configuration computes fingerprints, by which they are found; otherwise only equal ones match. If the configuration does not
/// verify, all texts match by their sketches.
///
/// If a configuration verifies and there is nothing to verify on (features that were not loaded, or two short texts without
/// words), sketches decide, and the verdict is not [verified](Verdict::verified). With `matching.unverified`, near
/// fingerprints of short texts are such a match too, whatever their shingles are. [`joins`](Self::joins) says which matches
/// are duplicates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judge {
    verify: bool,
    threshold: f64,
    radius: Option<u32>,
    /// The radius for fingerprints that decide alone, although the configuration verifies: because a text is missing.
    radius_without_text: Option<u32>,
    templates: Templates,
    unverified: bool,
    short_texts: bool,
}

impl Verdict {
    /// Compares the ranks of two matches, the better one first: verified ones before others, then by descending similarity.
    pub fn cmp_rank(&self, other: &Verdict) -> Ordering {
        other.verified.cmp(&self.verified).then_with(|| other.similarity.total_cmp(&self.similarity))
    }

    /// Returns `true` if the normalized texts are equal, so that their facts are equal, too.
    ///
    /// Equal shingles do not suffice: they have no signs and no repetitions, and shingles of single words have no order.
    pub(crate) fn is_of_equal_texts(&self) -> bool {
        self.kind == MatchKind::Exact
    }

    /// Adds the agreement of the facts, if the match is verified. `facts` is called only if the result is not known from
    /// the verdict.
    pub fn with_facts<'a>(self, facts: impl FnOnce() -> (&'a Facts, &'a Facts)) -> Verdict {
        self.with_agreement(|| {
            let (a, b) = facts();
            facts_agreement(a, b)
        })
    }

    /// Adds the agreement of the facts, which `agreement` returns, like [`with_facts`](Self::with_facts).
    #[doc(hidden)]
    pub fn with_agreement(self, agreement: impl FnOnce() -> Option<f64>) -> Verdict {
        if !self.verified {
            return self;
        }
        let facts = if self.is_of_equal_texts() { Some(1.0) } else { agreement() };
        let template = facts.is_some_and(|facts| is_template(self.similarity, facts));
        Verdict { facts, template, ..self }
    }
}

impl Judge {
    /// Creates a judge with the threshold and radius of a configuration.
    pub fn new(config: &Config) -> Judge {
        let matching = &config.matching;
        let radius = config.simhash.as_ref().map(|simhash| simhash.radius);
        Judge {
            verify: matching.verify,
            threshold: matching.threshold,
            radius,
            radius_without_text: radius,
            templates: matching.templates,
            unverified: matching.unverified,
            short_texts: config.compares_short_texts(),
        }
    }

    /// Returns a judge with another similarity threshold.
    pub fn with_threshold(self, threshold: f64) -> Judge {
        Judge { threshold, ..self }
    }

    /// Returns a judge for a search with another minimum similarity: another threshold and, if fingerprints decide, the radius
    /// at which their similarity is at least `minimum`. If the configuration verifies, they decide for documents without a text
    /// and without a signature, and the radius becomes no smaller.
    pub fn with_minimum(self, minimum: f64) -> Judge {
        let within = radius_of(minimum);
        let radius = self.radius.map(|radius| if self.verify { radius } else { within });
        let radius_without_text = radius.map(|radius| radius.max(within));
        Judge { threshold: minimum, radius, radius_without_text, ..self }
    }

    /// Returns the maximum distance of matching fingerprints, if the configuration has fingerprints.
    pub(crate) fn radius(&self) -> Option<u32> {
        self.radius
    }

    /// Returns the maximum distance of matching fingerprints if one of the documents consists of sketches.
    pub(crate) fn radius_without_text(&self) -> Option<u32> {
        self.radius_without_text
    }

    /// Returns the minimum similarity of a match.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Returns `true` if the judge compares features.
    pub fn verifies(&self) -> bool {
        self.verify
    }

    /// Returns `true` if texts that are too short are compared on their features, not only for equality.
    pub(crate) fn compares_short_texts(&self) -> bool {
        self.short_texts
    }

    /// Returns `true` if a match with this verdict makes two documents duplicates, which may be in one cluster and of which one
    /// may be removed.
    ///
    /// A match that was not verified does so only if the configuration does not verify, or if it allows unverified matches. A
    /// template does so only if templates are merged.
    pub fn joins(&self, verdict: &Verdict) -> bool {
        let is_trusted = verdict.verified || !self.verify || self.unverified;
        is_trusted && (!verdict.template || self.templates == Templates::Merge)
    }

    /// Returns `true` if [`joins`](Self::joins) depends on the facts of two texts.
    pub(crate) fn separates_templates(&self) -> bool {
        self.templates != Templates::Merge
    }

    /// Returns `true` if texts with equal shingles join whatever their facts are, if their normalized texts differ.
    #[doc(hidden)]
    pub fn joins_equal_shingles(&self) -> bool {
        let verdict = Verdict {
            similarity: 1.0,
            kind: MatchKind::Near,
            verified: true,
            distance: None,
            facts: None,
            template: false,
        };
        !self.separates_templates() || verdict.is_of_equal_texts()
    }

    /// Returns the verdict if the two documents match, without the agreement of their facts.
    pub fn judge(&self, a: &Side<'_>, b: &Side<'_>) -> Option<Verdict> {
        let jaccard = |threshold: f64| {
            let (x, y) = a.features.zip(b.features)?;
            x.jaccard_at_least(y, threshold)
        };
        let comparison = a.features.zip(b.features).map(|(x, y)| Comparison {
            has_features: !x.is_empty() || !y.is_empty(),
            jaccard_at_least: jaccard,
        });
        self.judge_by(a, b, comparison)
    }

    /// Returns the verdict of two documents with features that are not loaded, but whose Jaccard similarity is known.
    #[doc(hidden)]
    pub fn judge_known(&self, a: &Side<'_>, b: &Side<'_>, jaccard: f64) -> Option<Verdict> {
        let jaccard_at_least = |threshold: f64| Some(jaccard).filter(|jaccard| *jaccard >= threshold);
        self.judge_by(a, b, Some(Comparison { has_features: true, jaccard_at_least }))
    }

    fn judge_by(
        &self,
        a: &Side<'_>,
        b: &Side<'_>,
        comparison: Option<Comparison<impl FnOnce(f64) -> Option<f64>>>,
    ) -> Option<Verdict> {
        let distance = fingerprint_of(a).zip(fingerprint_of(b)).map(|(a, b)| a.distance(b));
        let equal = a.key.is_some() && a.key == b.key;
        let (similarity, jaccard, verified) = match self.verify([a, b], equal, comparison) {
            Verification::Match(jaccard) => (jaccard, jaccard, true),
            Verification::Different => return None,
            Verification::Unknown => match self.estimate(a, b) {
                Some(estimate) => (estimate, estimate, false),
                None => (self.within(distance, self.radius_between(a, b))?, 0.0, false),
            },
        };
        let measures = Measures {
            equal,
            jaccard,
            containment: jaccard,
            distance,
            threshold: self.threshold,
            verified: self.verify && verified,
        };
        let kind = match MatchType::judge(measures) {
            MatchType::Match(kind) => kind,
            MatchType::Different => MatchKind::Similar,
        };
        Some(Verdict { similarity, kind, verified, distance, facts: None, template: false })
    }

    /// Returns the verdict if the two documents match, with the agreement of their facts if the match is verified and both
    /// sides have facts.
    pub fn judge_facts(&self, a: &Side<'_>, b: &Side<'_>) -> Option<Verdict> {
        let verdict = self.judge(a, b)?;
        Some(match a.facts.zip(b.facts) {
            Some(facts) => verdict.with_facts(|| facts),
            None => verdict,
        })
    }

    /// Compares the features of two documents.
    fn verify(
        &self,
        [a, b]: [&Side<'_>; 2],
        equal: bool,
        comparison: Option<Comparison<impl FnOnce(f64) -> Option<f64>>>,
    ) -> Verification {
        let Some(Comparison { has_features, jaccard_at_least }) = comparison.filter(|_| self.verify) else {
            return Verification::Unknown;
        };
        if equal {
            return Verification::Match(1.0);
        }
        let is_short = a.too_short || b.too_short;
        if is_short && !(self.compares_short_texts() && has_features) {
            return Verification::Unknown;
        }
        match jaccard_at_least(self.threshold) {
            Some(jaccard) => Verification::Match(jaccard),
            None if is_short && self.unverified => Verification::Unknown,
            None => Verification::Different,
        }
    }

    fn reaching(&self, similarity: f64) -> Option<f64> {
        (similarity >= self.threshold).then_some(similarity)
    }

    /// Returns the similarity estimated from signatures or sparse codes, if it reaches the threshold.
    fn estimate(&self, a: &Side<'_>, b: &Side<'_>) -> Option<f64> {
        let rows = a.minhash.zip(b.minhash).and_then(|(a, b)| share_equal(a, b));
        let bits = || a.sdr.zip(b.sdr).and_then(|(a, b)| shared_bits(a, b));
        rows.or_else(bits).and_then(|similarity| self.reaching(similarity))
    }

    /// Returns the maximum distance of the fingerprints of two documents whose features are not compared.
    fn radius_between(&self, a: &Side<'_>, b: &Side<'_>) -> Option<u32> {
        let has_text = a.features.is_some() && b.features.is_some();
        let have_signatures = a.minhash.is_some() && b.minhash.is_some();
        if has_text || have_signatures { self.radius } else { self.radius_without_text }
    }

    /// Returns the similarity of the fingerprints, if they are within a radius.
    fn within(&self, distance: Option<u32>, radius: Option<u32>) -> Option<f64> {
        distance.filter(|distance| Some(*distance) <= radius).map(distance_to_similarity)
    }
}

/// Returns the greatest distance whose similarity is at least `minimum`.
fn radius_of(minimum: f64) -> u32 {
    (0..=64).rev().find(|&distance| distance_to_similarity(distance) >= minimum).unwrap_or(0)
}

/// How the features of two documents are compared.
struct Comparison<F> {
    /// Whether any of them has features.
    has_features: bool,
    /// Returns the Jaccard similarity if it reaches a threshold.
    jaccard_at_least: F,
}

/// The result of comparing the features of two documents.
enum Verification {
    /// They match with this Jaccard similarity.
    Match(f64),
    /// They do not match.
    Different,
    /// The sketches decide.
    Unknown,
}

fn fingerprint_of(side: &Side<'_>) -> Option<Fingerprint> {
    side.simhash.filter(|fingerprint| !fingerprint.is_zero())
}

/// Returns the number of common bits divided by the number of bits of the fuller code.
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
    fn equal_shingles_do_not_make_the_facts_of_different_texts_equal() {
        let judge = Judge::new(&Preset::Copies.config());
        let text = |sign: &str| {
            format!(
                "On the coldest day of the month the council of the northern town measured a mean of {sign}3 degrees"
            )
        };
        let [a, b] = ["", "-"].map(text);
        let shingles = features(8);
        let [x, y] = [&a, &b].map(|text| Facts::of(text.as_str()));
        let side = |text: &str, facts| Side {
            key: key(text),
            features: Some(&shingles),
            facts: Some(facts),
            ..Side::default()
        };
        let verdict = judge.judge_facts(&side(&a, &x), &side(&b, &y)).unwrap();
        assert_eq!((verdict.similarity, verdict.kind, verdict.template), (1.0, MatchKind::Near, true));
        assert!(!judge.joins(&verdict));
        let verdict = judge.judge_facts(&side(&a, &x), &side(&a.to_uppercase(), &y)).unwrap();
        assert_eq!((verdict.kind, verdict.facts, verdict.template), (MatchKind::Exact, Some(1.0), false));
    }

    #[test]
    fn a_known_similarity_gives_the_verdict_of_the_features() {
        let judge = Judge::new(&Preset::Copies.config());
        let (a, b, c) = (features(8), features(10), features(7));
        let side = |features| Side { features: Some(features), ..Side::default() };
        let known = |similarity| judge.judge_known(&Side::default(), &Side::default(), similarity);
        assert_eq!(known(0.8), judge.judge(&side(&a), &side(&b)));
        assert_eq!([known(0.7), judge.judge(&side(&b), &side(&c))], [None, None]);
        // Whether facts decide on texts with equal shingles is what the verdict says.
        let equal = known(1.0).unwrap().with_agreement(|| Some(0.1));
        assert_eq!(judge.joins(&equal), judge.joins_equal_shingles());
    }

    /// A short article with a fingerprint.
    fn short<'a>(bits: u64, text: &str, features: Option<&'a FeatureSet>) -> Side<'a> {
        Side {
            key: key(text),
            too_short: true,
            simhash: Some(Fingerprint::from_u64(bits)),
            features,
            ..Side::default()
        }
    }

    #[test]
    fn short_articles_are_verified_by_their_shingles() {
        let judge = Judge::new(&Preset::Articles.config());
        let (a, b) = (features(10), features(14));
        let other = FeatureSet::from_hashes((10..24).collect());
        let verdict = judge.judge(&short(0xFF00, "a", Some(&a)), &short(0xFF1F, "b", Some(&b))).unwrap();
        assert_eq!((verdict.similarity, verdict.verified), (10.0 / 14.0, true));
        assert!(judge.joins(&verdict));
        let unrelated = [short(0xFF00, "a", Some(&a)), short(0xFF00, "b", Some(&other))];
        assert_eq!(judge.judge(&unrelated[0], &unrelated[1]), None, "equal fingerprints are no evidence");
        let long = Side { too_short: false, ..unrelated[1] };
        assert_eq!(judge.judge(&unrelated[0], &long), None);
        let none = FeatureSet::default();
        assert_eq!(judge.judge(&unrelated[0], &short(0xFF00, "_", Some(&none))), None);
        let same = judge.judge(&short(1, "a", Some(&none)), &short(1, "A", Some(&none))).unwrap();
        assert_eq!((same.kind, same.verified), (MatchKind::Exact, true));
    }

    #[test]
    fn fingerprints_alone_make_duplicates_only_if_unverified_matches_are_allowed() {
        let mut config = Preset::Articles.config();
        let judge = Judge::new(&config);
        config.matching.unverified = true;
        let lenient = Judge::new(&config);
        let (a, b) = (features(10), FeatureSet::from_hashes((10..24).collect()));
        let none = FeatureSet::default();
        for features in [[None; 2], [Some(&none); 2]] {
            let pair = [short(0xFF00, "a", features[0]), short(0xFF1F, "b", features[1])];
            let verdict = judge.judge(&pair[0], &pair[1]).unwrap();
            assert_eq!((verdict.similarity, verdict.verified), (1.0 - 5.0 / 64.0, false));
            assert!(!judge.joins(&verdict));
            assert!(lenient.joins(&verdict));
        }
        let pair = [short(0xFF00, "a", Some(&a)), short(0xFF1F, "b", Some(&b))];
        let verdict = lenient.judge(&pair[0], &pair[1]).unwrap();
        assert_eq!((verdict.similarity, verdict.verified), (1.0 - 5.0 / 64.0, false));
        let far = short(0xFF3F, "b", Some(&b));
        assert_eq!(lenient.judge(&pair[0], &far), None, "the radius applies");
        let long = |side: Side<'static>| Side { too_short: false, ..side };
        let long = [long(short(0xFF00, "a", None)), long(short(0xFF00, "b", None))];
        let long = [Side { features: Some(&a), ..long[0] }, Side { features: Some(&b), ..long[1] }];
        assert_eq!(lenient.judge(&long[0], &long[1]), None, "long texts are always verified");
    }

    #[test]
    fn verified_matches_rank_before_others() {
        let verdict = |similarity, verified| Verdict {
            similarity,
            kind: MatchKind::Similar,
            verified,
            distance: None,
            facts: None,
            template: false,
        };
        let mut verdicts =
            [verdict(0.99, false), verdict(0.5, true), verdict(0.95, false), verdict(0.7, true)];
        verdicts.sort_by(Verdict::cmp_rank);
        assert_eq!(verdicts.map(|verdict| verdict.similarity), [0.7, 0.5, 0.99, 0.95]);
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
