//! How are the similarities of a corpus spread, and where is the gap between strangers and copies?
//!
//! Most pairs of a corpus are strangers, some are copies, and few lie between. A threshold belongs where the fewest
//! pairs are: there it matters least where exactly it stands.

use crate::config::Bands;

/// Counts of pairs by similarity, in equal bins from 0 to 1.
///
/// A pair may count for several: one that was found with probability p stands for 1/p of its kind
/// ([`Bands::weight`]).
///
/// ```
/// use sameish::Histogram;
///
/// let mut histogram = Histogram::new(20);
/// histogram.add(0.02, 900.0);
/// histogram.add(0.85, 1.0);
/// histogram.add(1.0, 2.0);
/// assert_eq!(histogram.at_least(0.8), 3.0);
/// assert_eq!(histogram.counts(2), [900.0, 3.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    bins: Vec<Bin>,
}

/// A bin knows the mean of what is in it, so that a curve can be taken where the pairs are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bin {
    weight: f64,
    sum: f64,
}

impl Histogram {
    /// An empty histogram; at least one bin.
    pub fn new(bins: usize) -> Histogram {
        Histogram { bins: vec![Bin::default(); bins.max(1)] }
    }

    /// Counts a pair. A similarity on an edge belongs to the bin above it, 1 to the last.
    pub fn add(&mut self, similarity: f64, weight: f64) {
        let at = self.bin(similarity);
        self.bins[at].weight += weight;
        self.bins[at].sum += weight * similarity;
    }

    /// How many pairs there are.
    pub fn total(&self) -> f64 {
        self.at_least(0.0)
    }

    /// How many pairs have at least this similarity, which should be an edge of a bin.
    pub fn at_least(&self, similarity: f64) -> f64 {
        self.above(similarity).map(|bin| bin.weight).sum()
    }

    /// The counts in fewer bins; `bins` must divide the number there is.
    pub fn counts(&self, bins: usize) -> Vec<f64> {
        let merged = self.bins.len() / bins.clamp(1, self.bins.len());
        self.bins.chunks(merged).map(|bins| bins.iter().map(|bin| bin.weight).sum()).collect()
    }

    /// How many of the pairs with at least this similarity the bands are expected to find.
    pub fn expected_found(&self, bands: Bands, similarity: f64) -> f64 {
        let found = |bin: &Bin| bin.weight * bands.probability(bin.sum / bin.weight);
        self.above(similarity).filter(|bin| bin.weight > 0.0).map(found).sum()
    }

    fn above(&self, similarity: f64) -> impl Iterator<Item = &Bin> {
        self.bins.iter().skip(self.bin(similarity))
    }

    fn bin(&self, similarity: f64) -> usize {
        // 0.29 times 100 is a little less than 29.
        let at = (similarity * self.bins.len() as f64 + 1e-9) as usize;
        at.min(self.bins.len() - 1)
    }
}

/// Neighboring bins with fewer pairs than lie on either side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Valley {
    /// The first of its bins.
    pub first: usize,
    /// The last of its bins.
    pub last: usize,
    /// How many times higher the lower of its two shores is than its deepest point.
    pub depth: f64,
}

/// The least pairs on each side of a valley that are more than an accident.
const LEAST_ASHORE: f64 = 5.0;
/// A valley is at most half as high as its lower shore.
const LEAST_DEPTH: f64 = 2.0;

/// The widest valley of a histogram; of equally wide ones the deepest. Nothing where the counts only fall, only rise,
/// or are too few to tell.
///
/// Counts are smoothed over three bins (weights 1, 2, 1), and one is added to each, so that one pair more or less does not
/// make a valley. A bin is in a valley when the smoothed counts somewhere to its left and somewhere to its right are both at
/// least twice its own.
///
/// ```
/// use sameish::valley;
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
        let bottom = (at..heights.len()).take_while(|&i| depth(i) >= LEAST_DEPTH);
        let (mut width, mut deepest) = (0, 0.0f64);
        bottom.for_each(|i| (width, deepest) = (width + 1, deepest.max(depth(i))));
        if width > 0 {
            let found = Valley { first: at, last: at + width - 1, depth: deepest };
            let ashore = |counts: &[f64]| counts.iter().sum::<f64>() >= LEAST_ASHORE;
            let real = ashore(&counts[..found.first]) && ashore(&counts[found.last + 1..]);
            if real && best.is_none_or(|best| found.rank() > best.rank()) {
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

/// Counts over three bins, and one.
fn smoothed(counts: &[f64]) -> Vec<f64> {
    let at = |i: usize| counts[i.min(counts.len() - 1)];
    (0..counts.len()).map(|i| 1.0 + (at(i.saturating_sub(1)) + 2.0 * at(i) + at(i + 1)) / 4.0).collect()
}

fn running_max<'a>(heights: impl Iterator<Item = &'a f64>) -> Vec<f64> {
    let highest = |max: &mut f64, &height: &f64| {
        *max = max.max(height);
        Some(*max)
    };
    heights.scan(0.0, highest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn edges_belong_to_the_bin_above_and_one_to_the_last() {
        let mut histogram = Histogram::new(100);
        for percent in 0..=100 {
            histogram.add(f64::from(percent) / 100.0, 1.0);
        }
        let counts = histogram.counts(100);
        assert!(counts[..99].iter().all(|&count| count == 1.0));
        assert_eq!(counts[99], 2.0);
        assert_eq!(
            (histogram.total(), histogram.at_least(0.29), histogram.at_least(1.0)),
            (101.0, 72.0, 2.0)
        );
    }

    #[test]
    fn curve_is_taken_where_the_pairs_are() {
        let bands = Bands { count: 4, rows: 1 };
        let mut histogram = Histogram::new(2);
        histogram.add(0.0, 8.0);
        histogram.add(0.5, 16.0);
        // 1 - (1 - 0.5)^4 = 15/16 of those at one half, none of those at 0: not what the middle of the bin would say.
        assert_eq!(histogram.expected_found(bands, 0.0), 15.0);
        assert_eq!(histogram.expected_found(bands, 0.5), 15.0);
    }

    #[test]
    fn weights_undo_what_bands_miss() {
        // 10,000 pairs at each of four similarities, each found with the probability of the curve: the weighted count of
        // the found is within 4 standard deviations, sqrt(n (1 - p) / p), of 10,000.
        let (bands, pairs) = (Bands { count: 16, rows: 2 }, 10_000u32);
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
    fn valley_lies_between_bulk_and_copies() {
        let found = valley(&[1e6, 1e3, 10.0, 0.0, 0.0, 0.0, 0.0, 2.0, 20.0, 40.0]).unwrap();
        // Smoothed, plus one, from the third bin on: 256, 3.5, 1, 1, 1.5, 7, 21.5, 36. So the right shore is 36 high, and
        // twice what the bins from 3.5 to 7 are.
        assert_eq!(found, Valley { first: 3, last: 7, depth: 36.0 });
    }

    #[test]
    fn slopes_noise_and_single_hills_have_no_valley() {
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
    fn widest_valley_wins_and_of_equals_the_deepest() {
        let counts = [90.0, 0.0, 0.0, 0.0, 90.0, 90.0, 0.0, 0.0, 0.0, 0.0, 0.0, 90.0];
        assert_eq!(valley(&counts).map(|found| (found.first, found.last)), Some((6, 10)));
        let counts = [90.0, 90.0, 20.0, 20.0, 20.0, 90.0, 90.0, 0.0, 0.0, 0.0, 90.0, 90.0];
        assert_eq!(valley(&counts).map(|found| found.first), Some(7));
    }
}
