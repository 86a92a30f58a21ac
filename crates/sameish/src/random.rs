//! A pseudorandom number generator with a published definition, which gives the same numbers on every machine.

/// SplitMix64 (Steele, Lea and Flood 2014).
///
/// It generates the constants of MinHash and the samples of tests and benchmarks.
#[derive(Clone, Debug)]
pub struct SplitMix64(pub u64);

/// The increment of the state of [`SplitMix64`].
pub const INCREMENT: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finalizer of SplitMix64: a bijection that mixes all bits.
pub fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl SplitMix64 {
    /// Returns the next number.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(INCREMENT);
        mix(self.0)
    }

    /// Returns a number from 0 to `n - 1`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}
