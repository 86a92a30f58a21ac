//! Confidence intervals of proportions.

/// A 95 % confidence interval of a proportion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// The 97.5th percentile of the normal distribution.
const Z: f64 = 1.959963984540054;

impl Interval {
    /// Returns the Wilson score interval (1927) of an observed proportion of independent trials.
    ///
    /// Unlike the normal approximation, it stays within 0 and 1 and is informative for few trials and for proportions of 0
    /// or 1. Without trials, it is 0 to 1.
    ///
    /// ```
    /// use sameish::matching::Interval;
    ///
    /// // Ten successes in ten trials do not prove a proportion of 1.
    /// let ten = Interval::wilson(1.0, 10.0);
    /// assert!((ten.low - 0.7225).abs() < 1e-4 && ten.high == 1.0);
    /// ```
    pub fn wilson(proportion: f64, trials: f64) -> Interval {
        if trials <= 0.0 {
            return Interval { low: 0.0, high: 1.0 };
        }
        let spread = Z * Z / trials;
        let center = (proportion + spread / 2.0) / (1.0 + spread);
        let half = (proportion * (1.0 - proportion) * spread + spread * spread / 4.0).sqrt() / (1.0 + spread);
        // Rounding must not move a bound past the proportion itself.
        Interval { low: (center - half).clamp(0.0, proportion), high: (center + half).clamp(proportion, 1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn agrees_with_published_values() {
        // 81 of 263 and 15 of 148 are from Newcombe (1998), table I. By hand: 0 of 10 gives the upper bound z^2 / (10 + z^2).
        let close = |interval: Interval, low: f64, high: f64| {
            assert!((interval.low - low).abs() < 5e-5 && (interval.high - high).abs() < 5e-5, "{interval:?}");
        };
        close(Interval::wilson(81.0 / 263.0, 263.0), 0.2553, 0.3662);
        close(Interval::wilson(15.0 / 148.0, 148.0), 0.0624, 0.1605);
        close(Interval::wilson(0.0, 10.0), 0.0, 0.2775);
        close(Interval::wilson(1.0, 29.0), 0.8830, 1.0);
        close(Interval::wilson(0.5, 0.0), 0.0, 1.0);
    }

    #[test]
    fn contains_the_true_proportion_in_about_95_percent_of_runs() {
        // With 4,000 runs, the standard error of the coverage is 0.0035. The coverage of the Wilson interval, averaged over
        // proportions, is within 0.01 of 0.95 for these numbers of trials.
        let mut random = SplitMix64(11);
        for trials in [20u32, 100, 1000] {
            let mut covered = 0;
            let runs = 4000;
            for _ in 0..runs {
                let truth = 0.05 + 0.9 * (random.next() >> 11) as f64 / (1u64 << 53) as f64;
                let hits =
                    (0..trials).filter(|_| ((random.next() >> 11) as f64) < truth * (1u64 << 53) as f64);
                let interval = Interval::wilson(hits.count() as f64 / f64::from(trials), f64::from(trials));
                covered += u32::from((interval.low..=interval.high).contains(&truth));
            }
            let coverage = f64::from(covered) / f64::from(runs);
            assert!((coverage - 0.95).abs() < 0.015, "{trials}: {coverage}");
        }
    }
}
