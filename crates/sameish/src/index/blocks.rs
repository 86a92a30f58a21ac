//! Which tables does an explicit cut into blocks need?

use crate::config::Blocks;
use crate::error::{Error, Result};
use crate::sketch::Fingerprint;

/// Most tables an index may have.
const MAX_TABLES: u128 = 1024;

/// The blocks of 64 bits and the tables over them, as Manku, Jain and Das Sarma (2007) derive them.
///
/// Two fingerprints that differ in at most `differing` bits agree on at least `total - differing` blocks. One table for
/// each choice of so many blocks, with those blocks first, sees every such pair.
///
/// ```
/// use sameish::{BlockTables, Blocks, Fingerprint};
///
/// let tables = BlockTables::new(Blocks { total: 6, differing: 3 })?;
/// assert_eq!(tables.permutations().len(), 20);
/// let a = Fingerprint::from_u64(0x4bbb22fbbc29d9b5);
/// let b = Fingerprint::from_u64(0x4bbb62fb9c29c9b5);
/// let finding: Vec<String> = tables.finding(a, b).map(|table| table.name()).collect();
/// assert_eq!(finding, ["A C F B D E"]);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockTables {
    blocks: Blocks,
    masks: Vec<u64>,
    permutations: Vec<Permutation>,
}

/// The order of blocks in one table: those that agree, then the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    order: Vec<usize>,
    agreeing: usize,
    masks: Vec<u64>,
}

impl BlockTables {
    /// Derives the tables. Refused: no blocks, more than 64, as many differing as there are, more than 1,024 tables.
    pub fn new(blocks: Blocks) -> Result<BlockTables> {
        let Blocks { total, differing } = blocks;
        if !(1..=64).contains(&total) {
            return Err(Error::field("blocks.total", total, "1 to 64"));
        }
        if differing >= total {
            let expected = format!("less than the {total} blocks there are");
            return Err(Error::field("blocks.differing", differing, expected));
        }
        let count = choices(total, differing);
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

    /// The numbers this was made from.
    pub fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// The bits of each block, the highest first. Widths differ by at most one bit.
    pub fn masks(&self) -> &[u64] {
        &self.masks
    }

    /// The order of blocks in each table, in the order of the alphabet.
    pub fn permutations(&self) -> &[Permutation] {
        &self.permutations
    }

    /// The tables in which the two stand in one bucket.
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

    /// The bits of each block, in the order of this table. Together they are all 64.
    pub fn masks(&self) -> &[u64] {
        &self.masks
    }

    /// All bits of the blocks that agree: the key of the table.
    pub fn agreeing_mask(&self) -> u64 {
        self.masks[..self.agreeing].iter().fold(0, |all, mask| all | mask)
    }

    /// The letters of the blocks: `A` to `Z`, `a` to `z`, then digits, `+` and `/`.
    pub fn name(&self) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let letters: Vec<String> =
            self.order.iter().map(|&block| char::from(LETTERS[block]).to_string()).collect();
        letters.join(" ")
    }

    /// The fingerprint with its blocks in the order of this table.
    pub fn permute(&self, fingerprint: Fingerprint) -> Fingerprint {
        let block = |bits: u64, mask: &u64| {
            let shifted = if mask.count_ones() == 64 { 0 } else { bits << mask.count_ones() };
            shifted | (fingerprint.as_u64() & mask) >> mask.trailing_zeros()
        };
        Fingerprint::from_u64(self.masks.iter().fold(0, block))
    }
}

/// Cuts 64 bits so that block `i` from below ends where `64 i / total` is rounded down: 11, 11, 10, 11, 11, 10 for six.
fn block_masks(total: u32) -> Vec<u64> {
    let below = |i: u32| (1u128 << (64 * i / total)) - 1;
    (0..total).rev().map(|i| (below(i + 1) ^ below(i)) as u64).collect()
}

/// n over k. Exact: at most 64 over 32.
fn choices(n: u32, k: u32) -> u128 {
    (0..u128::from(k)).fold(1, |count, i| count * (u128::from(n) - i) / (i + 1))
}

/// All ways to choose `k` of `0..n`, in the order of the alphabet.
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
    fn six_blocks_are_cut_as_in_the_picture() {
        let tables = BlockTables::new(Blocks { total: 6, differing: 3 }).unwrap();
        let edges = tables.masks().iter().map(|mask| (63 - mask.leading_zeros(), mask.trailing_zeros()));
        assert_eq!(edges.collect::<Vec<_>>(), [(63, 53), (52, 42), (41, 32), (31, 21), (20, 10), (9, 0)]);
        let names: Vec<String> = tables.permutations().iter().map(Permutation::name).collect();
        assert_eq!(names[..3], ["A B C D E F", "A B D C E F", "A B E C D F"]);
        assert_eq!(names[17..], ["C D F A B E", "C E F A B D", "D E F A B C"]);
    }

    #[test]
    fn masks_of_every_table_are_all_bits_once() {
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
    fn senseless_cuts_are_refused() {
        let message =
            |total, differing| BlockTables::new(Blocks { total, differing }).unwrap_err().to_string();
        assert_eq!(message(0, 0), "`blocks.total` is 0: must be 1 to 64");
        assert_eq!(message(65, 3), "`blocks.total` is 65: must be 1 to 64");
        assert_eq!(message(3, 3), "`blocks.differing` is 3: must be less than the 3 blocks there are");
        assert_eq!(message(13, 6), "`blocks` is 13, 6 with 1716 tables: must be at most 1024 tables");
        assert!(message(64, 32).contains("1832624140942590534 tables"));
    }
}
