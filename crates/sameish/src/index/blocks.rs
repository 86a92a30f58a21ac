//! The permuted tables of Manku, Jain and Das Sarma (*Detecting near-duplicates for web crawling*, 2007) for an explicit
//! division of the 64 bits into blocks.

use crate::config::Blocks;
use crate::error::{Error, Result};
use crate::sketch::Fingerprint;

/// Maximum number of tables of an index.
pub(crate) const MAX_TABLES: u128 = 1024;

/// The block-permuted tables of Manku, Jain and Das Sarma (2007).
///
/// The 64 bits are divided into `total` blocks. Two fingerprints that differ in at most `differing` bits agree on at least
/// `total - differing` blocks. There is one table for each choice of `total - differing` blocks, so C(total, differing)
/// tables; each moves the chosen blocks to the front and uses them as its key. Some table therefore has both fingerprints
/// under the same key.
///
/// ```
/// use sameish::config::Blocks;
/// use sameish::index::BlockTables;
/// use sameish::Fingerprint;
///
/// let tables = BlockTables::new(Blocks { total: 6, differing: 3 })?;
/// assert_eq!(tables.permutations().len(), 20);
/// let a = Fingerprint::from_u64(0x4bbb22fbbc29d9b5);
/// let b = Fingerprint::from_u64(0x4bbb62fb9c29c9b5);
/// let names: Vec<String> = tables.finding(a, b).map(|table| table.name()).collect();
/// assert_eq!(names, ["A C F B D E"]);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockTables {
    blocks: Blocks,
    masks: Vec<u64>,
    permutations: Vec<Permutation>,
}

/// The order of the blocks in one table: the blocks that form the key, then the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    order: Vec<usize>,
    agreeing: usize,
    masks: Vec<u64>,
}

impl BlockTables {
    /// Derives the tables for a division into blocks.
    ///
    /// Returns an error unless there are 1 to 64 blocks, `differing` is less than `total`, and there are at most 1,024
    /// tables.
    pub fn new(blocks: Blocks) -> Result<BlockTables> {
        check_blocks(blocks)?;
        let Blocks { total, differing } = blocks;
        let count = table_count(blocks);
        if count > MAX_TABLES {
            let value = format!("{total}, {differing} with {count} tables");
            return Err(Error::field("blocks", value, format!("at most {MAX_TABLES} tables")));
        }
        let masks = block_masks(total);
        let agreeing = (total - differing) as usize;
        let permutations =
            combinations(total as usize, agreeing).map(|chosen| Permutation::new(&chosen, &masks)).collect();
        Ok(BlockTables { blocks, masks, permutations })
    }

    /// Returns the numbers of blocks from which the tables were derived.
    pub fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// Returns the bit mask of each block, most significant block first. Block widths differ by at most one bit.
    pub fn masks(&self) -> &[u64] {
        &self.masks
    }

    /// Returns the block order of each table, in lexicographic order.
    pub fn permutations(&self) -> &[Permutation] {
        &self.permutations
    }

    /// Returns the tables in which the two fingerprints have the same key.
    pub fn finding(&self, a: Fingerprint, b: Fingerprint) -> impl Iterator<Item = &Permutation> {
        let differing = a.as_u64() ^ b.as_u64();
        self.permutations.iter().filter(move |table| differing & table.agreeing_mask() == 0)
    }
}

impl Permutation {
    fn new(chosen: &[usize], blocks: &[u64]) -> Permutation {
        let others = (0..blocks.len()).filter(|block| !chosen.contains(block));
        let order: Vec<usize> = chosen.iter().copied().chain(others).collect();
        let masks = order.iter().map(|&block| blocks[block]).collect();
        Permutation { order, agreeing: chosen.len(), masks }
    }

    /// Returns the bit mask of each block, in the order of this table. The masks are disjoint and cover all 64 bits.
    pub fn masks(&self) -> &[u64] {
        &self.masks
    }

    /// Returns the bits of the key: those of the blocks that must agree.
    pub fn agreeing_mask(&self) -> u64 {
        self.masks[..self.agreeing].iter().fold(0, |all, mask| all | mask)
    }

    /// Returns the block order as letters. Blocks are named `A` to `Z`, `a` to `z`, `0` to `9`, `+` and `/`.
    pub fn name(&self) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let letters: Vec<String> =
            self.order.iter().map(|&block| char::from(LETTERS[block]).to_string()).collect();
        letters.join(" ")
    }

    /// Returns the fingerprint with its blocks in the order of this table.
    pub fn permute(&self, fingerprint: Fingerprint) -> Fingerprint {
        let block = |bits: u64, mask: &u64| {
            let shifted = if mask.count_ones() == 64 { 0 } else { bits << mask.count_ones() };
            shifted | (fingerprint.as_u64() & mask) >> mask.trailing_zeros()
        };
        Fingerprint::from_u64(self.masks.iter().fold(0, block))
    }
}

/// Returns an error unless there are 1 to 64 blocks of which some agree.
pub(super) fn check_blocks(Blocks { total, differing }: Blocks) -> Result<()> {
    if !(1..=64).contains(&total) {
        return Err(Error::field("blocks.total", total, "1 to 64"));
    }
    if differing >= total {
        let expected = format!("less than the {total} blocks in total");
        return Err(Error::field("blocks.differing", differing, expected));
    }
    Ok(())
}

/// Returns the masks of `total` blocks, most significant first. Counted from the least significant end, block `i` starts
/// at bit `floor(64 i / total)`, so six blocks have 11, 11, 10, 11, 11 and 10 bits.
fn block_masks(total: u32) -> Vec<u64> {
    let below = |i: u32| (1u128 << (64 * i / total)) - 1;
    (0..total).rev().map(|i| (below(i + 1) ^ below(i)) as u64).collect()
}

/// Returns the number of tables for a division into at most 64 blocks.
pub(crate) fn table_count(blocks: Blocks) -> u128 {
    choices(blocks.total, blocks.differing)
}

/// Returns the binomial coefficient C(n, k), exactly for n up to 64.
fn choices(n: u32, k: u32) -> u128 {
    (0..u128::from(k)).fold(1, |count, i| count * (u128::from(n) - i) / (i + 1))
}

/// Returns all subsets of `0..n` of size `k`, in lexicographic order.
fn combinations(n: usize, k: usize) -> impl Iterator<Item = Vec<usize>> {
    let next = move |chosen: &Vec<usize>| {
        let at = (0..k).rev().find(|&i| chosen[i] < n - k + i)?;
        let start = chosen[at] + 1;
        Some(chosen[..at].iter().copied().chain(start..start + k - at).collect())
    };
    std::iter::successors(Some((0..k).collect()), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divides_64_bits_into_six_blocks() {
        let tables = BlockTables::new(Blocks { total: 6, differing: 3 }).unwrap();
        let edges = tables.masks().iter().map(|mask| (63 - mask.leading_zeros(), mask.trailing_zeros()));
        assert_eq!(edges.collect::<Vec<_>>(), [(63, 53), (52, 42), (41, 32), (31, 21), (20, 10), (9, 0)]);
        let names: Vec<String> = tables.permutations().iter().map(Permutation::name).collect();
        assert_eq!(names[..3], ["A B C D E F", "A B D C E F", "A B E C D F"]);
        assert_eq!(names[17..], ["C D F A B E", "C E F A B D", "D E F A B C"]);
    }

    #[test]
    fn masks_of_every_table_partition_the_64_bits() {
        for (total, differing) in [(1, 0), (3, 0), (2, 1), (4, 1), (6, 3), (7, 3), (64, 1), (12, 6)] {
            let tables = BlockTables::new(Blocks { total, differing }).unwrap();
            for table in tables.permutations() {
                assert_eq!(table.masks().iter().map(|mask| mask.count_ones()).sum::<u32>(), 64);
                assert_eq!(table.masks().iter().fold(0, |all, mask| all | mask), u64::MAX);
                let fp = Fingerprint::from_u64(0x0123_4567_89AB_CDEF);
                assert_eq!(table.permute(fp).as_u64().count_ones(), fp.as_u64().count_ones());
            }
        }
        let last = BlockTables::new(Blocks { total: 2, differing: 1 }).unwrap().permutations()[1].clone();
        assert_eq!(last.name(), "B A");
        assert_eq!(last.permute(Fingerprint::from_u64(0x1111_1111_2222_2222)).to_hex(), "2222222211111111");
    }

    #[test]
    fn rejects_invalid_blocks() {
        let message =
            |total, differing| BlockTables::new(Blocks { total, differing }).unwrap_err().to_string();
        assert_eq!(message(0, 0), "`blocks.total` is 0: must be 1 to 64");
        assert_eq!(message(65, 3), "`blocks.total` is 65: must be 1 to 64");
        assert_eq!(message(3, 3), "`blocks.differing` is 3: must be less than the 3 blocks in total");
        assert_eq!(message(13, 6), "`blocks` is 13, 6 with 1716 tables: must be at most 1024 tables");
        assert!(message(64, 32).contains("1832624140942590534 tables"));
    }
}
