//! Which rows of a corpus are needed? A filter that is small enough to be sent to every task.

use sameish::random::{INCREMENT, mix};

/// A set of 64-bit hashes that may contain a few others (a blocked Bloom filter; Putze, Sanders and Singler 2007).
///
/// A hash sets eight bits of one block of 512 bits. With 12 bits per hash, about 1 % of the other hashes are contained, too.
///
/// ```
/// use sameish_batch::columns::NeededRows;
///
/// let mut needed = NeededRows::for_rows(1000);
/// (0..1000).for_each(|hash| needed.insert(hash));
/// let copy = NeededRows::from_bytes(&needed.to_bytes()).unwrap();
/// assert!((0..1000).all(|hash| copy.contains(hash)));
/// assert!((1000..100_000).filter(|&hash| copy.contains(hash)).count() < 3000);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededRows {
    blocks: Vec<[u64; 8]>,
}

/// Bits per row.
const BITS: u64 = 12;

impl NeededRows {
    /// Creates an empty filter with 12 bits for each of this many rows.
    pub fn for_rows(rows: u64) -> NeededRows {
        NeededRows { blocks: vec![[0; 8]; (rows * BITS).div_ceil(512).max(1) as usize] }
    }

    /// Reads what [`to_bytes`](Self::to_bytes) returned; `None` if the length is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Option<NeededRows> {
        let (blocks, rest) = bytes.as_chunks::<64>();
        let block = |bytes: &[u8; 64]| {
            let (words, _) = bytes.as_chunks::<8>();
            std::array::from_fn(|at| u64::from_le_bytes(words[at]))
        };
        (rest.is_empty() && !blocks.is_empty())
            .then(|| NeededRows { blocks: blocks.iter().map(block).collect() })
    }

    /// Returns the filter as bytes, little endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.blocks.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Adds a hash.
    pub fn insert(&mut self, hash: i64) {
        let (block, bits) = self.place(hash);
        self.blocks[block].iter_mut().zip(bits).for_each(|(word, bit)| *word |= bit);
    }

    /// Returns `true` if the hash was added, and for some others.
    pub fn contains(&self, hash: i64) -> bool {
        let (block, bits) = self.place(hash);
        self.blocks[block].iter().zip(bits).all(|(word, bit)| word & bit != 0)
    }

    /// Returns the block of a hash, and a bit of each of its words.
    fn place(&self, hash: i64) -> (usize, [u64; 8]) {
        let first = mix((hash as u64).wrapping_add(INCREMENT));
        let second = mix(first.wrapping_add(INCREMENT));
        let block = ((u128::from(first) * self.blocks.len() as u128) >> 64) as usize;
        (block, std::array::from_fn(|at| 1 << (second >> (6 * at) & 63)))
    }
}
