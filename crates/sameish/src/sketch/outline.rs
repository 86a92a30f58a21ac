//! What is left of a signature when only strangers are to be told apart?
//!
//! The lowest bit of each row. Rows of two sets agree with probability J, and the bits of rows that do not agree are equal
//! half of the time, so a bit agrees with probability (1 + J) / 2 (b-bit minwise hashing with b = 1; Li and König 2010,
//! <https://doi.org/10.1145/1772690.1772759>). 128 bits say J up to about 0.05 at 0.8, which is too little for a verdict and
//! enough to send away most of those who met in a band by chance, without a look at their texts.

/// Sixteen bytes of a signature: the lowest bits of its first [`Outline::BITS`] rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outline([u64; 2]);

impl Outline {
    /// The most rows that count.
    pub const BITS: u32 = 128;

    /// The outline of a signature with these rows.
    pub fn of(rows: &[u32]) -> Outline {
        let mut words = [0; 2];
        for (word, rows) in words.iter_mut().zip(rows.chunks(64)) {
            *word = rows.iter().rev().fold(0, |bits, row| bits << 1 | u64::from(row & 1));
        }
        Outline(words)
    }

    /// In how many bits two outlines differ.
    pub fn distance(self, other: Outline) -> u32 {
        (self.0[0] ^ other.0[0]).count_ones() + (self.0[1] ^ other.0[1]).count_ones()
    }
}

/// How far two outlines may be apart if their texts are to be compared.
///
/// ```
/// use sameish::Screen;
///
/// let screen = Screen::for_target(128, 0.8, 0.99);
/// // Of the pairs at the threshold it sends away fewer than one in a thousand, of those at one half nine in ten.
/// assert!(1.0 - screen.probability(0.8) < 1e-3);
/// assert!(screen.probability(0.5) < 0.1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    bits: u32,
    most: u32,
}

impl Screen {
    /// The narrowest screen over signatures of so many rows that loses at most a twentieth of what `recall` allows to be
    /// lost, of pairs right at the threshold; of those above it less.
    pub fn for_target(rows: u32, threshold: f64, recall: f64) -> Screen {
        let (bits, allowed) = (rows.min(Outline::BITS), (1.0 - recall) / 20.0);
        let enough = |most: &u32| 1.0 - Screen { bits, most: *most }.probability(threshold) <= allowed;
        Screen { bits, most: (0..bits).find(enough).unwrap_or(bits) }
    }

    /// Whether two texts are worth comparing.
    pub fn passes(self, a: Outline, b: Outline) -> bool {
        a.distance(b) <= self.most
    }

    /// How likely a pair of this similarity passes: the lower tail of a binomial distribution.
    pub fn probability(self, jaccard: f64) -> f64 {
        let differs = (1.0 - jaccard.clamp(0.0, 1.0)) / 2.0;
        if differs == 0.0 {
            return 1.0;
        }
        let (n, odds) = (f64::from(self.bits), differs / (1.0 - differs));
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
    fn a_bit_for_each_row() {
        let rows: Vec<u32> = (0..130).map(|row| u32::from(row % 3 == 0) + 2 * row).collect();
        let Outline(words) = Outline::of(&rows);
        for row in 0..128 {
            assert_eq!(words[row / 64] >> (row % 64) & 1, u64::from(row % 3 == 0), "row {row}");
        }
        assert_eq!(
            Outline::of(&rows[..70]).distance(Outline::of(&rows)),
            (70..128).filter(|i| i % 3 == 0).count() as u32
        );
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
        for (size, shared, tries) in
            [(90usize, 80usize, 4000), (90, 60, 4000), (9, 8, 4000), (900, 600, 1000)]
        {
            let jaccard = shared as f64 / (2 * size - shared) as f64;
            let screen = Screen::for_target(128, 0.7, 0.9);
            let passed = (0..tries).filter(|_| {
                let [a, b] = pair(&mut random, size, shared).map(|set| hasher.sketch(&set).unwrap());
                screen.passes(Outline::of(a.rows()), Outline::of(b.rows()))
            });
            let (share, expected) = (passed.count() as f64 / f64::from(tries), screen.probability(jaccard));
            // Rows that are multiples of one number are not quite independent: see minhash.rs.
            let error = 4.0 * (expected * (1.0 - expected) / f64::from(tries)).sqrt() + 0.01;
            assert!((share - expected).abs() < error, "J {jaccard:.2}: {share} for {expected}");
        }
    }

    #[test]
    fn screens_are_as_narrow_as_recall_allows() {
        for (rows, threshold, recall) in
            [(128, 0.8, 0.99), (128, 0.8, 0.999), (100, 0.75, 0.99), (256, 0.3, 0.9), (1, 0.5, 0.5)]
        {
            let screen = Screen::for_target(rows, threshold, recall);
            let lost = |screen: Screen| 1.0 - screen.probability(threshold);
            assert!(lost(screen) <= (1.0 - recall) / 20.0, "{screen:?}");
            assert!(
                screen.most == 0 || lost(Screen { most: screen.most - 1, ..screen }) > (1.0 - recall) / 20.0
            );
        }
        assert_eq!(Screen::for_target(128, 1.0, 0.99), Screen { bits: 128, most: 0 });
        assert!((Screen { bits: 10, most: 10 }.probability(0.2) - 1.0).abs() < 1e-12);
    }
}
