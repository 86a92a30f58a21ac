//! Which bands find what was asked for?
//!
//! Two signatures of Jaccard similarity J agree in all r rows of a band with probability J^r, so at least one of b bands
//! agrees with probability 1 - (1 - J^r)^b: an S-shaped curve over J (Leskovec, Rajaraman and Ullman, Mining of Massive
//! Datasets, section 3.4). More rows make it steeper and move it right, more bands move it left.

use crate::config::{Bands, MAX_ROWS};
use crate::error::{Error, Result};

impl Bands {
    /// The probability that a pair of this similarity shares a band.
    ///
    /// ```
    /// use sameish::Bands;
    ///
    /// let bands = Bands { count: 16, rows: 8 };
    /// // Not the 50 % that is often said of 16 x 8 at one half.
    /// assert!((bands.probability(0.5) - 0.0607).abs() < 1e-4);
    /// assert!((bands.even_odds() - 0.674).abs() < 1e-3);
    /// ```
    pub fn probability(&self, jaccard: f64) -> f64 {
        let jaccard = jaccard.clamp(0.0, 1.0);
        1.0 - (1.0 - jaccard.powi(self.rows as i32)).powi(self.count as i32)
    }

    /// How many pairs of this similarity one that was found stands for, those that were missed included: 1 / probability
    /// (Horvitz and Thompson 1952). Infinite at 0, where nothing is found.
    pub fn weight(&self, jaccard: f64) -> f64 {
        1.0 / self.probability(jaccard)
    }

    /// Whether two signatures agree in a whole band.
    pub fn share(&self, a: &[u32], b: &[u32]) -> bool {
        let bands = |rows: &[u32]| rows.len() / self.rows as usize;
        let (height, count) = (self.rows as usize, bands(a).min(bands(b)).min(self.count as usize));
        (0..count).map(|band| band * height..(band + 1) * height).any(|band| a[band.clone()] == b[band])
    }

    /// The similarity at which a pair is found with probability one half.
    pub fn even_odds(&self) -> f64 {
        (1.0 - 0.5f64.powf(1.0 / f64::from(self.count))).powf(1.0 / f64::from(self.rows))
    }

    /// The curve at so many equal steps from 0 to 1, both ends included.
    pub fn curve(&self, steps: u32) -> Vec<CurvePoint> {
        let point = |i: u32| {
            let jaccard = f64::from(i) / f64::from(steps.max(1));
            CurvePoint { jaccard, probability: self.probability(jaccard) }
        };
        (0..=steps.max(1)).map(point).collect()
    }

    /// The bands of a signature of `rows` rows that find pairs at the threshold with at least the given probability,
    /// and thus those above it with more. Of all such bands those with the most rows, because they let the fewest
    /// strangers through.
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
        let cut = |height: u32| Bands { count: rows / height, rows: height };
        let found = (1..=rows).rev().map(cut).find(|bands| bands.probability(threshold) >= recall);
        found.ok_or_else(|| {
            let best = cut(1).probability(threshold);
            let expected =
                format!("at most {best:.4}, all that {rows} rows can give at threshold {threshold}");
            Error::field("matching.recall", recall, expected)
        })
    }
}

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Similarity of a pair.
    pub jaccard: f64,
    /// Probability that it is found.
    pub probability: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curve_has_its_ends_and_rises() {
        let curve = Bands { count: 20, rows: 5 }.curve(10);
        assert_eq!(curve.len(), 11);
        assert_eq!((curve[0].probability, curve[10].probability), (0.0, 1.0));
        assert!(curve.is_sorted_by(|a, b| a.probability < b.probability));
    }

    #[test]
    fn half_is_found_at_even_odds() {
        for bands in [Bands { count: 16, rows: 8 }, Bands { count: 20, rows: 5 }, Bands { count: 1, rows: 1 }]
        {
            assert!((bands.probability(bands.even_odds()) - 0.5).abs() < 1e-12);
        }
    }

    #[test]
    fn signatures_share_a_band_when_all_its_rows_agree() {
        let bands = Bands { count: 2, rows: 2 };
        assert!(bands.share(&[1, 2, 3, 4, 5], &[9, 9, 3, 4, 9]));
        // Agreement across two bands, or in rows that no band has, is none.
        assert!(!bands.share(&[1, 2, 3, 4, 5, 6], &[9, 2, 3, 9, 5, 6]));
        assert!(!bands.share(&[], &[]));
    }

    #[test]
    fn target_is_met_and_no_taller_bands_would_meet_it() {
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
    fn what_can_not_be_met_is_refused_with_what_can() {
        let message = Bands::for_target(2, 0.1, 0.99).unwrap_err().to_string();
        assert!(message.contains("at most 0.1900"), "{message}");
        assert!(Bands::for_target(0, 0.5, 0.5).is_err());
        assert!(Bands::for_target(16, f64::NAN, 0.5).is_err());
        assert!(Bands::for_target(16, 0.5, 1.0).is_err());
    }
}
