//! Similarity histogram of a corpus, and the valley between unrelated pairs and copies.
//!
//! Most pairs of a corpus are unrelated, some are copies, and few are in between. A threshold should be where the
//! histogram is lowest, because there the result depends least on its exact value.

use crate::config::Bands;

/// Weighted numbers of pairs by similarity, in bins of equal width from 0 to 1.
///
/// A pair that was found with probability p has weight 1/p ([`Bands::weight`]), so that the histogram estimates the number
/// of all pairs, including those not found.
///
/// ```
/// use sameish::index::Histogram;
///
/// let mut histogram = Histogram::new(20);
/// histogram.add(0.02, 900.0);
/// histogram.add(0.85, 1.0);
/// histogram.add(1.0, 2.0);
/// assert_eq!(histogram.at_least(0.8), 3.0);
/// assert_eq!(histogram.at_least(1.0), 2.0);
/// assert_eq!(histogram.counts(2), [900.0, 3.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// The last bin contains the pairs of similarity 1, so that their number is exact.
    bins: Vec<Bin>,
}

/// The total weight of the pairs in a bin, and their weighted sum of similarities. Their quotient is the mean similarity, at
/// which the S-curve is evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bin {
    weight: f64,
    sum: f64,
}

impl Histogram {
    /// Creates an empty histogram with at least one bin.
    pub fn new(bins: usize) -> Histogram {
        Histogram { bins: vec![Bin::default(); bins.max(1) + 1] }
    }

    /// Adds a pair. A similarity at the boundary of two bins belongs to the upper one.
    pub fn add(&mut self, similarity: f64, weight: f64) {
        let at = self.bin(similarity);
        self.bins[at].weight += weight;
        self.bins[at].sum += weight * similarity;
    }

    /// Returns the total weight of all pairs.
    pub fn total(&self) -> f64 {
        self.at_least(0.0)
    }

    /// Returns the weight of the pairs with at least this similarity, which should be 1 or a bin boundary.
    pub fn at_least(&self, similarity: f64) -> f64 {
        self.above(similarity).map(|bin| bin.weight).sum()
    }

    /// Returns the weights in `bins` bins, of which the last includes similarity 1. `bins` must divide the number of bins of
    /// the histogram.
    pub fn counts(&self, bins: usize) -> Vec<f64> {
        let [below @ .., one] = &self.bins[..] else { return Vec::new() };
        let merged = below.len() / bins.clamp(1, below.len());
        let mut counts: Vec<f64> =
            below.chunks(merged).map(|bins| bins.iter().map(|bin| bin.weight).sum()).collect();
        if let Some(last) = counts.last_mut() {
            *last += one.weight;
        }
        counts
    }

    /// Returns the expected weight of the pairs with at least this similarity that share a band.
    pub fn expected_found(&self, bands: Bands, similarity: f64) -> f64 {
        let found = |bin: &Bin| bin.weight * bands.probability(bin.sum / bin.weight);
        self.above(similarity).filter(|bin| bin.weight > 0.0).map(found).sum()
    }

    fn above(&self, similarity: f64) -> impl Iterator<Item = &Bin> {
        self.bins.iter().skip(self.bin(similarity))
    }

    fn bin(&self, similarity: f64) -> usize {
        let ones = self.bins.len() - 1;
        if similarity >= 1.0 {
            return ones;
        }
        // Compensates for rounding: 0.29 * 100.0 is slightly less than 29.
        let at = (similarity * ones as f64 + 1e-9) as usize;
        at.min(ones - 1)
    }
}

/// A range of adjacent bins with fewer pairs than the bins on either side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Valley {
    /// First bin of the range.
    pub first: usize,
    /// Last bin of the range, inclusive.
    pub last: usize,
    /// Ratio of the lower of the maxima on the two sides to the minimum within the range, on smoothed counts.
    pub depth: f64,
}

/// Minimum number of pairs on each side of a valley. Fewer may be noise.
const MIN_SIDE_COUNT: f64 = 5.0;
/// Minimum [`Valley::depth`].
const MIN_DEPTH: f64 = 2.0;
/// Minimum difference between the lower side of a valley and its lowest point, in standard deviations of the side (the square
/// root of a count). Without it, up to a quarter of simulated flat histograms with 70 pairs and random counts had a valley.
const MIN_DEVIATIONS: f64 = 2.0;

/// Returns the widest valley of a histogram, or the deepest of several equally wide ones. Returns `None` if the counts only
/// fall, only rise, or are too small.
///
/// Counts are smoothed over three bins with weights 1/4, 1/2, 1/4 and incremented by one, so that a single pair does not
/// create a valley. A bin belongs to a valley if the smoothed counts of some bin to its left and some bin to its right are
/// both at least twice its own, and if there are at least 5 pairs on each side of the valley. The lower side must exceed the
/// lowest point by two standard deviations, because random counts that only fall also have gaps.
///
/// ```
/// use sameish::index::valley;
///
/// let found = valley(&[900.0, 80.0, 9.0, 0.0, 1.0, 0.0, 2.0, 30.0]).unwrap();
/// assert_eq!((found.first, found.last), (3, 6));
/// assert_eq!(valley(&[900.0, 80.0, 9.0, 4.0, 2.0, 1.0]), None);
/// ```
pub fn valley(counts: &[f64]) -> Option<Valley> {
    let heights = smoothed(counts);
    let left = running_max(heights.iter());
    let mut right = running_max(heights.iter().rev());
    right.reverse();
    let depth = |i: usize| left[i].min(right[i]) / heights[i];
    let mut best: Option<Valley> = None;
    let mut at = 0;
    while at < heights.len() {
        let depths: Vec<f64> =
            (at..heights.len()).map(depth).take_while(|&depth| depth >= MIN_DEPTH).collect();
        let width = depths.len();
        if width > 0 {
            let deepest = depths.iter().copied().fold(0.0, f64::max);
            let found = Valley { first: at, last: at + width - 1, depth: deepest };
            let is_enough = |counts: &[f64]| counts.iter().sum::<f64>() >= MIN_SIDE_COUNT;
            let rise = |i: usize| left[i].min(right[i]) - heights[i];
            let is_deep = |i: usize| rise(i) >= MIN_DEVIATIONS * left[i].min(right[i]).sqrt();
            let is_real = is_enough(&counts[..found.first])
                && is_enough(&counts[found.last + 1..])
                && (found.first..=found.last).any(is_deep);
            if is_real && best.is_none_or(|best| found.rank() > best.rank()) {
                best = Some(found);
            }
        }
        at += width + 1;
    }
    best
}

impl Valley {
    fn rank(&self) -> (usize, f64) {
        (self.last - self.first, self.depth)
    }
}

/// Returns the counts smoothed over three bins with weights 1/4, 1/2, 1/4, plus one.
fn smoothed(counts: &[f64]) -> Vec<f64> {
    let at = |i: usize| counts[i.min(counts.len() - 1)];
    (0..counts.len()).map(|i| 1.0 + (at(i.saturating_sub(1)) + 2.0 * at(i) + at(i + 1)) / 4.0).collect()
}

fn running_max<'a>(heights: impl Iterator<Item = &'a f64>) -> Vec<f64> {
    let update = |max: &mut f64, &height: &f64| {
        *max = max.max(height);
        Some(*max)
    };
    heights.scan(0.0, update).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn boundaries_belong_to_the_upper_bin_and_1_to_the_last() {
        let mut histogram = Histogram::new(100);
        for percent in 0..=100 {
            histogram.add(f64::from(percent) / 100.0, 1.0);
        }
        let counts = histogram.counts(100);
        assert!(counts[..99].iter().all(|&count| count == 1.0));
        assert_eq!(counts[99], 2.0);
        assert_eq!(
            (histogram.total(), histogram.at_least(0.29), histogram.at_least(1.0)),
            (101.0, 72.0, 1.0)
        );
    }

    #[test]
    fn pairs_just_below_1_are_not_counted_at_1() {
        let mut histogram = Histogram::new(200);
        histogram.add(0.999, 7.0);
        assert_eq!((histogram.at_least(0.995), histogram.at_least(1.0)), (7.0, 0.0));
        assert_eq!(histogram.expected_found(Bands { count: 1, rows: 1 }, 1.0), 0.0);
        assert_eq!(histogram.counts(20)[19], 7.0);
    }

    #[test]
    fn evaluates_the_curve_at_the_mean_of_a_bin() {
        let bands = Bands { count: 4, rows: 1 };
        let mut histogram = Histogram::new(2);
        histogram.add(0.0, 8.0);
        histogram.add(0.5, 16.0);
        // 1 - (1 - 0.5)^4 = 15/16 of the pairs at 0.5 and none of those at 0. The centers of the bins would give other values.
        assert_eq!(histogram.expected_found(bands, 0.0), 15.0);
        assert_eq!(histogram.expected_found(bands, 0.5), 15.0);
    }

    #[test]
    fn weights_compensate_for_missed_pairs() {
        // n = 10,000 pairs at each of four similarities, each found with probability p of the S-curve. The weighted count of
        // the found pairs is within 4 standard deviations, sqrt(n (1 - p) / p), of n.
        let bands = Bands { count: 16, rows: 2 };
        let pairs = 10_000u32;
        let mut random = SplitMix64(7);
        for similarity in [0.1, 0.2, 0.3, 0.6] {
            let p = bands.probability(similarity);
            let mut histogram = Histogram::new(10);
            for _ in 0..pairs {
                if (random.next() as f64) < p * u64::MAX as f64 {
                    histogram.add(similarity, bands.weight(similarity));
                }
            }
            let error = (histogram.total() - f64::from(pairs)).abs();
            assert!(error <= 4.0 * (f64::from(pairs) * (1.0 - p) / p).sqrt() + 1e-6, "{similarity} {error}");
        }
    }

    #[test]
    fn finds_the_valley_between_unrelated_pairs_and_copies() {
        let found = valley(&[1e6, 1e3, 10.0, 0.0, 0.0, 0.0, 0.0, 2.0, 20.0, 40.0]).unwrap();
        // Smoothed, plus one, from the third bin on: 256, 3.5, 1, 1, 1.5, 7, 21.5, 36. The maximum on the right is 36, which is
        // at least twice the counts from 3.5 to 7.
        assert_eq!(found, Valley { first: 3, last: 7, depth: 36.0 });
    }

    #[test]
    fn finds_no_valley_in_monotone_noisy_or_unimodal_counts() {
        for counts in [
            vec![],
            vec![5.0],
            vec![1e6, 1e4, 1e3, 100.0, 10.0, 1.0],
            vec![1.0, 10.0, 100.0],
            vec![0.0, 50.0, 0.0],
            vec![100.0, 90.0, 95.0, 85.0, 88.0],
            vec![1000.0, 0.0, 0.0, 0.0, 4.0],
        ] {
            assert_eq!(valley(&counts), None, "{counts:?}");
        }
    }

    #[test]
    fn random_slopes_rarely_have_a_valley() {
        // 300 histograms of 10 bins for each of four slopes, from flat to falling by half per bin, with 20 to 80 pairs above the
        // bulk of unrelated pairs. Without the condition on standard deviations, 66 of the 1,200 have a valley.
        let mut random = SplitMix64(11);
        let mut valleys = 0;
        for run in 0..1200u32 {
            let fall = [1.0f64, 0.9, 0.7, 0.5][run as usize % 4];
            let weights: Vec<f64> = (0..9).map(|bin| fall.powi(bin)).collect();
            let total: f64 = weights.iter().sum();
            let mut counts = vec![1000.0; 10];
            counts[1..].fill(0.0);
            for _ in 0..20 + run % 61 {
                let mut at = random.next() as f64 / u64::MAX as f64 * total;
                let bin = weights.iter().position(|weight| {
                    at -= weight;
                    at <= 0.0
                });
                counts[1 + bin.unwrap_or(0)] += 1.0;
            }
            valleys += u32::from(valley(&counts).is_some());
        }
        assert!(valleys <= 12, "{valleys} of 1200");
    }

    #[test]
    fn prefers_the_widest_valley_then_the_deepest() {
        let counts = [90.0, 0.0, 0.0, 0.0, 90.0, 90.0, 0.0, 0.0, 0.0, 0.0, 0.0, 90.0];
        assert_eq!(valley(&counts).map(|found| (found.first, found.last)), Some((6, 10)));
        let counts = [90.0, 90.0, 20.0, 20.0, 20.0, 90.0, 90.0, 0.0, 0.0, 0.0, 90.0, 90.0];
        assert_eq!(valley(&counts).map(|found| found.first), Some(7));
    }
}
