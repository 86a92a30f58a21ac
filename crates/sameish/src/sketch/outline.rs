//! What is left of a signature when only strangers are to be told apart?
//!
//! The two lowest bits of each row. Rows of two sets agree with probability J, and two bits of rows that do not agree are
//! equal one time in four, so two bits agree with probability J + (1 - J) / 4 (b-bit minwise hashing; Li and König 2010,
//! <https://doi.org/10.1145/1772690.1772759>). 128 rows say J up to about 0.04 at 0.8, which is too little for a verdict and
//! enough to send away most of those who met in a band by chance, without a look at their texts.

/// 32 bytes of a signature: the two lowest bits of each of its first [`Outline::ROWS`] rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outline([[u64; 2]; 2]);

impl Outline {
    /// The most rows that count.
    pub const ROWS: u32 = 128;

    /// The outline of a signature with these rows.
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

    /// In how many rows two outlines differ.
    pub fn distance(self, other: Outline) -> u32 {
        let differing = |([a, b], [c, d]): ([u64; 2], [u64; 2])| (a ^ c | b ^ d).count_ones();
        self.0.into_iter().zip(other.0).map(differing).sum()
    }

    /// As numbers, for storing.
    pub fn to_words(self) -> [u64; 4] {
        let [[a, b], [c, d]] = self.0;
        [a, b, c, d]
    }

    /// From stored numbers.
    pub fn from_words([a, b, c, d]: [u64; 4]) -> Outline {
        Outline([[a, b], [c, d]])
    }
}

/// How far two outlines may be apart if their texts are to be compared.
///
/// ```
/// use sameish::Screen;
///
/// let screen = Screen::new(128, 0.8);
/// // Nothing is lost at the threshold; of the pairs at one half five in six are sent away, below that nearly all.
/// assert!(1.0 - screen.probability(0.8) < 1e-6);
/// assert!(screen.probability(0.5) < 0.16 && screen.probability(0.4) < 0.004);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    rows: u32,
    most: u32,
}

/// Of pairs right at the threshold one in three million may be sent away, of those above it fewer: five standard errors, as
/// where indexes compare whole signatures.
const LOST: f64 = 3e-7;

impl Screen {
    /// The narrowest screen over signatures of so many rows that lets pairs at the threshold through.
    pub fn new(rows: u32, threshold: f64) -> Screen {
        let rows = rows.min(Outline::ROWS);
        let enough = |most: &u32| 1.0 - Screen { rows, most: *most }.probability(threshold) <= LOST;
        Screen { rows, most: (0..rows).find(enough).unwrap_or(rows) }
    }

    /// Whether two texts are worth comparing.
    pub fn passes(self, a: Outline, b: Outline) -> bool {
        a.distance(b) <= self.most
    }

    /// The similarity that two outlines tell of, up to a few hundredths.
    pub fn estimate(self, a: Outline, b: Outline) -> f64 {
        1.0 - f64::from(a.distance(b)) / (0.75 * f64::from(self.rows.max(1)))
    }

    /// How likely a pair of this similarity passes: the lower tail of a binomial distribution.
    pub fn probability(self, jaccard: f64) -> f64 {
        let differs = 0.75 * (1.0 - jaccard.clamp(0.0, 1.0));
        let (n, odds) = (f64::from(self.rows), differs / (1.0 - differs));
        let mut term = (1.0 - differs).powf(n);
        let mut sum = term;
        for i in 0..self.most {
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
    fn two_bits_for_each_row() {
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

    /// Sets of `size` features of which `shared` are in both.
    fn pair(random: &mut SplitMix64, size: usize, shared: usize) -> [Vec<u64>; 2] {
        let common: Vec<u64> = (0..shared).map(|_| random.next()).collect();
        [(); 2].map(|()| {
            let own = (shared..size).map(|_| random.next());
            common.iter().copied().chain(own).collect()
        })
    }

    #[test]
    fn pairs_pass_as_often_as_the_formula_says() {
        let (mut random, hasher) = (SplitMix64(11), MinHasher::new(128).unwrap());
        let screen = Screen::new(128, 0.8);
        for (size, shared, tries) in [(90, 80, 4000), (90, 60, 4000), (9, 7, 4000), (900, 700, 1000)] {
            let jaccard = shared as f64 / (2 * size - shared) as f64;
            let passed = (0..tries).filter(|_| {
                let [a, b] = pair(&mut random, size, shared).map(|set| hasher.sketch(&set).unwrap());
                screen.passes(Outline::of(a.rows()), Outline::of(b.rows()))
            });
            let (share, expected) = (passed.count() as f64 / f64::from(tries), screen.probability(jaccard));
            // Rows that are multiples of one number are not quite independent: see minhash.rs.
            let error = 4.0 * (expected * (1.0 - expected) / f64::from(tries)).sqrt() + 0.02;
            assert!((share - expected).abs() < error, "J {jaccard:.2}: {share} for {expected}");
        }
    }

    #[test]
    fn screens_are_as_narrow_as_can_be() {
        for (rows, threshold) in [(128, 0.8), (100, 0.75), (256, 0.3), (64, 0.5), (1, 0.5)] {
            let screen = Screen::new(rows, threshold);
            let lost = |screen: Screen| 1.0 - screen.probability(threshold);
            assert!(lost(screen) <= LOST, "{screen:?}");
            assert!(screen.most == 0 || lost(Screen { most: screen.most - 1, ..screen }) > LOST);
        }
        assert_eq!(Screen::new(128, 1.0), Screen { rows: 128, most: 0 });
    }
}
