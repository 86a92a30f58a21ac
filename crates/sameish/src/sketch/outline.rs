//! Outlines: 2-bit MinHash signatures for rejecting candidates without reading their texts.
//!
//! An outline keeps the two lowest bits of each row. The rows of two sets are equal with probability J, and the two lowest
//! bits of different rows are equal with probability 1/4, so the bits of a row agree with probability J + (1 - J) / 4
//! (b-bit minwise hashing; Li and König 2010, <https://doi.org/10.1145/1772690.1772759>). With 128 rows the standard error
//! of the estimate is about 0.04 at J = 0.8. That is not accurate enough to verify a match, but it rejects most candidates
//! that share a band by chance.

/// A signature reduced to 32 bytes: the two lowest bits of each of its first [`Outline::ROWS`] rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outline([[u64; 2]; 2]);

impl Outline {
    /// Maximum number of rows in an outline. Further rows of the signature are ignored.
    pub const ROWS: u32 = 128;

    /// Returns the outline of a signature, given its rows.
    pub fn of(rows: &[u32]) -> Outline {
        let mut words = [[0; 2]; 2];
        for ([low, high], rows) in words.iter_mut().zip(rows.chunks(64)) {
            for &row in rows.iter().rev() {
                *low = *low << 1 | u64::from(row & 1);
                *high = *high << 1 | u64::from(row >> 1 & 1);
            }
        }
        Outline(words)
    }

    /// Returns the number of rows in which two outlines differ.
    pub fn distance(self, other: Outline) -> u32 {
        let differing = |([a, b], [c, d]): ([u64; 2], [u64; 2])| (a ^ c | b ^ d).count_ones();
        self.0.into_iter().zip(other.0).map(differing).sum()
    }

    /// Returns the outline as four words, for storage.
    pub fn to_words(self) -> [u64; 4] {
        let [[a, b], [c, d]] = self.0;
        [a, b, c, d]
    }

    /// Creates an outline from its four stored words.
    pub fn from_words([a, b, c, d]: [u64; 4]) -> Outline {
        Outline([[a, b], [c, d]])
    }
}

/// A filter that rejects candidates whose outlines differ in too many rows.
///
/// ```
/// use sameish::sketch::Screen;
///
/// let screen = Screen::new(128, 0.8);
/// // Practically all pairs at the threshold pass. At Jaccard 0.5, five of six pairs are rejected; at 0.4, nearly all.
/// assert!(1.0 - screen.probability(0.8) < 1e-6);
/// assert!(screen.probability(0.5) < 0.16 && screen.probability(0.4) < 0.004);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    rows: u32,
    /// Maximum number of differing rows of a pair that passes.
    max_distance: u32,
}

/// Maximum probability that a pair at the threshold is rejected: one in three million. It corresponds to five standard
/// errors, the margin that indexes use when they compare complete signatures.
const MAX_LOSS: f64 = 3e-7;

impl Screen {
    /// Creates the strictest filter for signatures of `rows` rows that passes practically all pairs at the threshold.
    pub fn new(rows: u32, threshold: f64) -> Screen {
        let rows = rows.min(Outline::ROWS);
        let screen = |max_distance| Screen { rows, max_distance };
        let max_distance = (0..rows).find(|&d| 1.0 - screen(d).probability(threshold) <= MAX_LOSS);
        screen(max_distance.unwrap_or(rows))
    }

    /// Returns `true` if the texts with these outlines should be compared.
    pub fn passes(self, a: Outline, b: Outline) -> bool {
        a.distance(b) <= self.max_distance
    }

    /// Estimates the Jaccard similarity of two texts from their outlines. The standard error is a few hundredths.
    pub fn estimate(self, a: Outline, b: Outline) -> f64 {
        1.0 - f64::from(a.distance(b)) / (0.75 * f64::from(self.rows.max(1)))
    }

    /// Returns the probability that a pair with this Jaccard similarity passes: the lower tail of a binomial distribution.
    pub fn probability(self, jaccard: f64) -> f64 {
        let differs = 0.75 * (1.0 - jaccard.clamp(0.0, 1.0));
        let n = f64::from(self.rows);
        let odds = differs / (1.0 - differs);
        let mut term = (1.0 - differs).powf(n);
        let mut sum = term;
        for i in 0..self.max_distance {
            term *= odds * (n - f64::from(i)) / f64::from(i + 1);
            sum += term;
        }
        sum.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use crate::sketch::MinHasher;

    #[test]
    fn distance_counts_rows_with_different_low_bits() {
        let mut random = SplitMix64(2);
        let mut rows = || -> Vec<u32> { (0..130).map(|_| random.next() as u32).collect() };
        let (a, b) = (rows(), rows());
        for n in [0, 1, 63, 64, 65, 100, 128, 130] {
            let differing = a[..n].iter().zip(&b).take(128).filter(|(a, b)| *a & 3 != *b & 3).count();
            let (x, y) = (Outline::of(&a[..n]), Outline::of(&b[..n]));
            assert_eq!(x.distance(y), differing as u32, "{n} rows");
            assert_eq!(Outline::from_words(x.to_words()), x);
        }
        assert_eq!(Outline::of(&[]), Outline::default());
    }

    /// Returns two sets of `size` features, of which `shared` are in both.
    fn pair(random: &mut SplitMix64, size: usize, shared: usize) -> [Vec<u64>; 2] {
        let common: Vec<u64> = (0..shared).map(|_| random.next()).collect();
        [(); 2].map(|()| {
            let own = (shared..size).map(|_| random.next());
            common.iter().copied().chain(own).collect()
        })
    }

    #[test]
    fn pairs_pass_with_the_predicted_probability() {
        let mut random = SplitMix64(11);
        let hasher = MinHasher::new(128).unwrap();
        let screen = Screen::new(128, 0.8);
        for (size, shared, tries) in [(90, 80, 4000), (90, 60, 4000), (9, 7, 4000), (900, 700, 1000)] {
            let jaccard = shared as f64 / (2 * size - shared) as f64;
            let passed = (0..tries).filter(|_| {
                let [a, b] = pair(&mut random, size, shared).map(|set| hasher.sketch(&set).unwrap());
                screen.passes(Outline::of(a.rows()), Outline::of(b.rows()))
            });
            let measured = passed.count() as f64 / f64::from(tries);
            let expected = screen.probability(jaccard);
            // Four standard errors, plus 0.02 because the rows are not exactly independent: see minhash.rs.
            let error = 4.0 * (expected * (1.0 - expected) / f64::from(tries)).sqrt() + 0.02;
            assert!((measured - expected).abs() < error, "J {jaccard:.2}: {measured}, expected {expected}");
        }
    }

    #[test]
    fn screen_is_as_strict_as_the_loss_allows() {
        for (rows, threshold) in [(128, 0.8), (100, 0.75), (256, 0.3), (64, 0.5), (1, 0.5)] {
            let screen = Screen::new(rows, threshold);
            let loss = |screen: Screen| 1.0 - screen.probability(threshold);
            assert!(loss(screen) <= MAX_LOSS, "{screen:?}");
            if let Some(max_distance) = screen.max_distance.checked_sub(1) {
                assert!(loss(Screen { max_distance, ..screen }) > MAX_LOSS, "{screen:?}");
            }
        }
        assert_eq!(Screen::new(128, 1.0), Screen { rows: 128, max_distance: 0 });
    }
}
