//! Which pairs are compared by one task? Pairs are divided into bins by the components that they connect.

use sameish::cluster::components;
use sameish::index::DocNumber;
use sameish::random::{INCREMENT, mix};
use std::collections::HashMap;

/// Returns the connected component of each document of some pairs, in ascending order: `(document, component)`, where a component
/// is named by its smallest document.
///
/// ```
/// use sameish_batch::columns::connected;
///
/// assert_eq!(connected(&[(2, 9), (1, 2), (5, 6)]), [(1, 1), (2, 1), (5, 5), (6, 5), (9, 1)]);
/// ```
pub fn connected(pairs: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut docs: Vec<i64> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    docs.sort_unstable();
    docs.dedup();
    let number = |doc: i64| DocNumber(docs.partition_point(|&other| other < doc) as u32);
    let order: Vec<DocNumber> = (0..docs.len() as u32).map(DocNumber).collect();
    let found = components(&order, pairs.iter().map(|&(a, b)| (number(a), number(b))));
    let mut connected: Vec<(i64, i64)> = docs.iter().map(|&doc| (doc, doc)).collect();
    for cluster in &found {
        let center = docs[cluster.center.0 as usize];
        cluster.members.iter().for_each(|doc| connected[doc.0 as usize].1 = center);
    }
    connected
}

/// Limits of one bin.
#[derive(Clone, Copy, Debug)]
pub struct BinLimits {
    /// Pairs, about.
    pub pairs: u64,
    /// Bytes of texts, about.
    pub bytes: u64,
}

/// What a bin needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinRow {
    /// The bin.
    pub bin: i64,
    /// A document.
    pub a: i64,
    /// The other document of a pair; `None` if the row says that the bin needs the text of `a`.
    pub b: Option<i64>,
}

/// Divides pairs into bins. A bin has the pairs of one component; a component with many pairs or long texts is divided into a grid
/// of bins by both documents of a pair, so that a text is needed in at most twice as many bins as the grid has rows.
///
/// The result depends on the set of pairs only. A pair may be passed several times.
///
/// ```
/// use sameish_batch::columns::{BinLimits, bins};
/// use std::collections::HashMap;
///
/// let limits = BinLimits { pairs: 100, bytes: 1000 };
/// let rows = bins(vec![(1, 2), (2, 3), (1, 2)], &HashMap::new(), limits);
/// assert_eq!(rows.iter().filter(|row| row.b.is_some()).count(), 2);
/// assert_eq!(rows.iter().filter(|row| row.b.is_none()).map(|row| row.a).collect::<Vec<_>>(), [1, 2, 3]);
/// ```
pub fn bins(mut pairs: Vec<(i64, i64)>, lengths: &HashMap<i64, u64>, limits: BinLimits) -> Vec<BinRow> {
    pairs.sort_unstable();
    pairs.dedup();
    let connected = connected(&pairs);
    let component = |doc: i64| connected[connected.partition_point(|&(other, _)| other < doc)].1;
    let mut sizes: HashMap<i64, BinLimits> = HashMap::new();
    let empty = BinLimits { pairs: 0, bytes: 0 };
    for &(doc, component) in &connected {
        sizes.entry(component).or_insert(empty).bytes += lengths.get(&doc).copied().unwrap_or(0);
    }
    for &(a, _) in &pairs {
        sizes.entry(component(a)).or_insert(empty).pairs += 1;
    }
    let bin = |a: i64, b: i64| {
        let component = component(a);
        let side = side(sizes[&component], limits);
        let slot = |doc: i64| mix((doc as u64).wrapping_add(INCREMENT)) % side;
        let cell = slot(a) * side + slot(b);
        mix(mix(component as u64).wrapping_add(cell.wrapping_mul(INCREMENT))) as i64
    };
    let mut rows: Vec<BinRow> =
        pairs.iter().map(|&(a, b)| BinRow { bin: bin(a, b), a, b: Some(b) }).collect();
    let mut needed: Vec<(i64, i64)> =
        rows.iter().flat_map(|row| [(row.bin, row.a), (row.bin, row.b.unwrap_or(row.a))]).collect();
    needed.sort_unstable_by_key(|&(bin, doc)| (doc, bin));
    needed.dedup();
    rows.extend(needed.into_iter().map(|(bin, a)| BinRow { bin, a, b: None }));
    rows
}

/// Returns how many rows the grid of a component has.
fn side(size: BinLimits, limits: BinLimits) -> u64 {
    let by_pairs = (size.pairs as f64 / limits.pairs.max(1) as f64).sqrt().ceil() as u64;
    // A bin has one of `side` parts of the documents for `a` and one for `b`.
    let is_long = size.bytes > limits.bytes;
    let by_bytes = if is_long { (2 * size.bytes).div_ceil(limits.bytes.max(1)) } else { 1 };
    by_pairs.max(by_bytes).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_large_component_is_divided_and_every_pair_has_its_texts() {
        let pairs: Vec<(i64, i64)> = (0..60).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        let lengths: HashMap<i64, u64> = (0..60).map(|doc| (doc, 50)).collect();
        let wide = BinLimits { pairs: 1 << 40, bytes: 1 << 40 };
        for (limits, least) in
            [(wide, 1), (BinLimits { pairs: 100, ..wide }, 16), (BinLimits { bytes: 1000, ..wide }, 30)]
        {
            let rows = bins(pairs.clone(), &lengths, limits);
            let needed: HashSet<(i64, i64)> =
                rows.iter().filter(|row| row.b.is_none()).map(|row| (row.bin, row.a)).collect();
            let mut found = Vec::new();
            for row in &rows {
                if let Some(b) = row.b {
                    assert!(needed.contains(&(row.bin, row.a)) && needed.contains(&(row.bin, b)));
                    found.push((row.a, b));
                }
            }
            found.sort_unstable();
            let mut expected = pairs.clone();
            expected.sort_unstable();
            assert_eq!(found, expected);
            let bins: HashSet<i64> = rows.iter().map(|row| row.bin).collect();
            assert!(bins.len() >= least, "{} bins", bins.len());
            let mut reversed = pairs.clone();
            reversed.reverse();
            assert_eq!(super::bins(reversed, &lengths, limits), rows);
        }
    }
}
