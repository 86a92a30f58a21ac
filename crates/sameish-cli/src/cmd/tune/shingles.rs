//! The choice between shingles of words and of characters.
//!
//! A preset that compares words is also tried with characters, unless the user sets a shingle or a threshold. Characters are
//! proposed only if they are clearly better, because they cost more and give no `facts`, so templates cannot be kept apart.

use super::Findings;
use super::Measured;
use super::labels::Quality;
use super::proposal::{Basis, Proposal};
use sameish::config::Shingle;
use sameish::{Analyzer, Config};

/// Minimum difference of F1, or of the recall at the requested precision, that decides for characters.
const MIN_GAIN: f64 = 0.005;
/// Minimum ratio of the depths of two valleys that decides for characters.
const MIN_DEPTH_RATIO: f64 = 2.0;
/// Maximum number of templates that characters may merge, as a share of the pairs that they find.
const MAX_TEMPLATES: f64 = 0.1;

/// The result of one shingle, for the report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trial {
    pub(super) shingle: Shingle,
    pub(super) limit: f64,
    pub(super) basis: Basis,
    /// The best F1 according to the labels.
    pub(super) f1: Option<f64>,
    /// Pairs of documents that reach the limit and are not kept apart.
    pub(super) pairs: f64,
    /// Recall at the requested precision, or the best F1 if no precision was requested.
    score: Option<f64>,
    templates: f64,
}

/// Why the proposed shingle was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reason {
    /// Set by the user, or the only one of the preset.
    Fixed,
    /// The sample has too much text to try another one.
    TooMuchText,
    /// Characters would merge this number of template pairs.
    Templates(f64),
    /// The other one is not clearly better.
    NotBetter,
    /// It is clearly better than the preset's.
    Better,
}

/// The shingles that were tried, the preset's first.
pub(super) struct Shingles {
    pub(super) tried: Vec<Trial>,
    pub(super) reason: Reason,
}

impl Shingles {
    pub(super) fn only(own: Trial, reason: Reason) -> Shingles {
        Shingles { tried: vec![own], reason }
    }

    /// Compares the preset's shingle with another one.
    pub(super) fn compare(own: Trial, other: Trial) -> Shingles {
        let reason = match own.score.zip(other.score) {
            Some((own, other)) if other >= own + MIN_GAIN => Reason::Better,
            Some(_) => Reason::NotBetter,
            None if !other.has_better_valley(&own) => Reason::NotBetter,
            None if own.templates > MAX_TEMPLATES * other.pairs => Reason::Templates(own.templates),
            None => Reason::Better,
        };
        Shingles { tried: vec![own, other], reason }
    }

    /// Returns `true` if another shingle than that of the preset is proposed.
    pub(super) fn replaces_preset(&self) -> bool {
        self.reason == Reason::Better
    }
}

impl Trial {
    /// Returns `None` for fingerprints.
    pub(super) fn of(config: &Config, findings: &Findings) -> Option<Trial> {
        let Findings { measured: Measured::Similarities(measured), quality, proposal } = findings else {
            return None;
        };
        let Proposal { limit, basis, pairs, .. } = *proposal;
        Some(Trial {
            shingle: config.minhash.as_ref()?.shingle,
            limit,
            basis,
            f1: quality.as_ref().map(|quality| quality.best().f1),
            pairs,
            score: quality.as_ref().map(score),
            templates: measured.templates,
        })
    }

    fn has_better_valley(&self, own: &Trial) -> bool {
        match (self.basis, own.basis) {
            (Basis::Valley { depth, .. }, Basis::Valley { depth: own, .. }) => depth >= MIN_DEPTH_RATIO * own,
            (Basis::Valley { .. }, _) => true,
            _ => false,
        }
    }
}

fn score(quality: &Quality) -> f64 {
    let precise = || quality.precise.map_or(0.0, |at| quality.levels[at].recall);
    if quality.target_precision.is_some() { precise() } else { quality.best().f1 }
}

/// Returns an analyzer with shingles of five characters, or `None` if the configuration does not compare word shingles.
pub(super) fn with_characters(config: &Config) -> Option<Analyzer> {
    let mut config = config.clone();
    let minhash = config.minhash.as_mut()?;
    if !matches!(minhash.shingle, Shingle::Words(_)) {
        return None;
    }
    minhash.shingle = Shingle::Chars(5);
    // The bands of a preset belong to its own shingle and threshold.
    minhash.bands = None;
    Analyzer::new(config).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(shingle: Shingle, basis: Basis, score: Option<f64>, templates: f64) -> Trial {
        Trial { shingle, limit: 0.8, basis, f1: score, pairs: 100.0, score, templates }
    }

    fn reason(own: (Basis, Option<f64>, f64), other: (Basis, Option<f64>)) -> Reason {
        let own = trial(Shingle::Words(3), own.0, own.1, own.2);
        Shingles::compare(own, trial(Shingle::Chars(5), other.0, other.1, 0.0)).reason
    }

    #[test]
    fn characters_must_be_clearly_better() {
        let valley = |depth: f64| Basis::Valley { from: 0.3, to: 0.6, depth };
        let f1 = |own: f64, other: f64| reason((Basis::BestF1, Some(own), 0.0), (Basis::BestF1, Some(other)));
        assert_eq!(
            [f1(0.9, 0.9), f1(0.9, 0.904), f1(0.9, 0.91)],
            [Reason::NotBetter, Reason::NotBetter, Reason::Better]
        );
        let by_valley = |own: Basis, other: Basis| reason((own, None, 0.0), (other, None));
        assert_eq!(by_valley(Basis::Slope, valley(3.0)), Reason::Better);
        assert_eq!(by_valley(valley(3.0), Basis::Slope), Reason::NotBetter);
        assert_eq!(by_valley(Basis::Slope, Basis::Slope), Reason::NotBetter);
        assert_eq!(by_valley(valley(3.0), valley(5.9)), Reason::NotBetter);
        assert_eq!(by_valley(valley(3.0), valley(6.0)), Reason::Better);
    }

    #[test]
    fn a_valley_in_front_of_templates_does_not_decide_for_characters() {
        let valley = Basis::Valley { from: 0.3, to: 0.6, depth: 30.0 };
        assert_eq!(reason((Basis::NoCopies, None, 11.0), (valley, None)), Reason::Templates(11.0));
        assert_eq!(reason((Basis::NoCopies, None, 10.0), (valley, None)), Reason::Better);
    }
}
