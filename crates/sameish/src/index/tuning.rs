//! Choice of bands for a similarity threshold and a recall.
//!
//! The signatures of two documents with Jaccard similarity J agree on all r rows of a band with probability J^r, so they
//! agree on at least one of b bands with probability 1 - (1 - J^r)^b. This is an S-curve in J (Leskovec, Rajaraman and
//! Ullman, *Mining of Massive Datasets*, section 3.4). More rows per band make it steeper and move it to the right; more
//! bands move it to the left.

use crate::config::{Bands, MAX_ROWS};
use crate::error::{Error, Result};

impl Bands {
    /// Returns the probability that a pair with this Jaccard similarity shares a band: 1 - (1 - J^rows)^count.
    ///
    /// ```
    /// use sameish::config::Bands;
    ///
    /// let bands = Bands { count: 16, rows: 8 };
    /// // Often quoted as 50 % for a similarity of 0.5; the probability is 50 % at 0.674.
    /// assert!((bands.probability(0.5) - 0.0607).abs() < 1e-4);
    /// assert!((bands.even_odds() - 0.674).abs() < 1e-3);
    /// ```
    pub fn probability(&self, jaccard: f64) -> f64 {
        let jaccard = jaccard.clamp(0.0, 1.0);
        1.0 - (1.0 - jaccard.powi(self.rows as i32)).powi(self.count as i32)
    }

    /// Returns the weight of a found pair when estimating how many pairs of this similarity exist: 1 / probability (the
    /// estimator of Horvitz and Thompson 1952). Infinite for similarity 0, where no pair is found.
    #[doc(hidden)]
    pub fn weight(&self, jaccard: f64) -> f64 {
        1.0 / self.probability(jaccard)
    }

    /// Returns `true` if two signatures agree on all rows of at least one band.
    #[doc(hidden)]
    pub fn share(&self, a: &[u32], b: &[u32]) -> bool {
        let bands = |rows: &[u32]| rows.len() / self.rows as usize;
        let height = self.rows as usize;
        let count = bands(a).min(bands(b)).min(self.count as usize);
        (0..count).map(|band| band * height..(band + 1) * height).any(|band| a[band.clone()] == b[band])
    }

    /// Returns the similarity at which a pair shares a band with probability 0.5.
    pub fn even_odds(&self) -> f64 {
        (1.0 - 0.5f64.powf(1.0 / f64::from(self.count))).powf(1.0 / f64::from(self.rows))
    }

    /// Returns the S-curve at `steps + 1` equidistant similarities from 0 to 1.
    pub fn curve(&self, steps: u32) -> Vec<CurvePoint> {
        let point = |i: u32| {
            let jaccard = f64::from(i) / f64::from(steps.max(1));
            CurvePoint { jaccard, probability: self.probability(jaccard) }
        };
        (0..=steps.max(1)).map(point).collect()
    }

    /// Chooses bands for signatures of `rows` rows, such that a pair at the threshold shares a band with probability at least
    /// `recall`. Pairs above the threshold are found with a higher probability.
    ///
    /// Of all such bands, returns those with the most rows per band, because they produce the fewest candidates below the
    /// threshold. Returns an error if an argument is out of range or if no bands reach the recall.
    pub fn for_target(rows: u32, threshold: f64, recall: f64) -> Result<Bands> {
        if !(1..=MAX_ROWS).contains(&rows) {
            return Err(Error::field("minhash.rows", rows, format!("1 to {MAX_ROWS}")));
        }
        if !(threshold > 0.0 && threshold <= 1.0) {
            return Err(Error::field("matching.threshold", threshold, "more than 0 and at most 1"));
        }
        if !(recall > 0.0 && recall < 1.0) {
            return Err(Error::field("matching.recall", recall, "more than 0 and less than 1"));
        }
        let with_height = |height: u32| Bands { count: rows / height, rows: height };
        let chosen = (1..=rows).rev().map(with_height).find(|bands| bands.probability(threshold) >= recall);
        chosen.ok_or_else(|| {
            let max = with_height(1).probability(threshold);
            let expected = format!("at most {max:.4}, the maximum for {rows} rows at threshold {threshold}");
            Error::field("matching.recall", recall, expected)
        })
    }
}

/// A point of the S-curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Jaccard similarity of a pair.
    pub jaccard: f64,
    /// Probability that the pair shares a band.
    pub probability: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curve_rises_from_0_to_1() {
        let curve = Bands { count: 20, rows: 5 }.curve(10);
        assert_eq!(curve.len(), 11);
        assert_eq!((curve[0].probability, curve[10].probability), (0.0, 1.0));
        assert!(curve.is_sorted_by(|a, b| a.probability < b.probability));
    }

    #[test]
    fn probability_is_one_half_at_even_odds() {
        for bands in [Bands { count: 16, rows: 8 }, Bands { count: 20, rows: 5 }, Bands { count: 1, rows: 1 }]
        {
            assert!((bands.probability(bands.even_odds()) - 0.5).abs() < 1e-12);
        }
    }

    #[test]
    fn share_requires_all_rows_of_a_band() {
        let bands = Bands { count: 2, rows: 2 };
        assert!(bands.share(&[1, 2, 3, 4, 5], &[9, 9, 3, 4, 9]));
        // Equal rows in different bands, or in rows outside of all bands, do not count.
        assert!(!bands.share(&[1, 2, 3, 4, 5, 6], &[9, 2, 3, 9, 5, 6]));
        assert!(!bands.share(&[], &[]));
    }

    #[test]
    fn chooses_the_most_rows_per_band_that_reach_the_recall() {
        for rows in [16, 100, 128, 256, 1024] {
            for threshold in [0.3, 0.5, 0.8, 0.95] {
                for recall in [0.5, 0.9, 0.99, 0.999] {
                    let Ok(bands) = Bands::for_target(rows, threshold, recall) else { continue };
                    assert!(bands.count * bands.rows <= rows);
                    assert!(bands.probability(threshold) >= recall, "{rows} {threshold} {recall}");
                    for taller in bands.rows + 1..=rows {
                        let other = Bands { count: rows / taller, rows: taller };
                        assert!(other.probability(threshold) < recall);
                    }
                }
            }
        }
    }

    #[test]
    fn rejects_unreachable_recall_and_reports_the_maximum() {
        let message = Bands::for_target(2, 0.1, 0.99).unwrap_err().to_string();
        assert!(message.contains("at most 0.1900"), "{message}");
        assert!(Bands::for_target(0, 0.5, 0.5).is_err());
        assert!(Bands::for_target(16, f64::NAN, 0.5).is_err());
        assert!(Bands::for_target(16, 0.5, 1.0).is_err());
    }
}
