//! Cost model of multi-index hashing: which blocks of the code should be table keys?
//!
//! Divide the bits of a code into `m` disjoint blocks, one table per block, and let table `j` find keys within `flips(j)`
//! bits of the query's key. If the sum of `flips(j) + 1` over all tables exceeds the radius, every code within the radius
//! is found: a code that no table finds differs in at least `flips(j) + 1` bits of each block, hence in more bits than the
//! radius (pigeonhole principle; Norouzi, Punjani and Fleet, *Fast exact search in Hamming space with multi-index
//! hashing*, 2014). With `m = radius + 1` all `flips(j)` are 0 and a query reads one bucket per table.
//!
//! For `n` codes, a table whose buckets are addressed by `s` key bits has `n / 2^s` codes per bucket, and a query probes
//! the Hamming ball of C(s, 0) + … + C(s, flips) buckets. The estimated cost of a query is the sum over all tables of
//! `probes * (PROBE + n / 2^s * CODE)`. The plan is the cheapest division into 1 to [`MAX_TABLES`] equal blocks, or a
//! linear scan (`n * SCAN`) if that is cheaper.

/// How a table derives its key from a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A contiguous bit field that starts at bit `shift`. Keys near the query's key can be enumerated.
    Field { shift: u32 },
    /// The masked bits, gathered into the low bits of the key. For masks that are not contiguous; slower than `Field`.
    Gathered,
    /// A hash of the masked bits. Different bits may have equal keys.
    Hashed,
}

/// The key of one table, and the number of key bits in which a code may differ from the query and still be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableSpec {
    pub(super) key: Key,
    pub(super) mask: u64,
    pub(super) flips: u32,
}

impl TableSpec {
    /// Returns `true` if this table finds a pair of codes whose XOR is `x`.
    #[inline]
    pub(super) fn finds(&self, x: u64) -> bool {
        (x & self.mask).count_ones() <= self.flips
    }

    /// The specification of a single table that every query scans completely.
    pub(super) fn whole(radius: u32) -> TableSpec {
        TableSpec { key: Key::Hashed, mask: u64::MAX, flips: radius }
    }
}

/// Average number of codes per bucket at which a table grows. Smaller values cost memory, larger values cost time.
const LOAD: usize = 15;
/// Average number of codes per bucket of a table that every query scans completely.
const SCAN_LOAD: usize = 1024;
/// Maximum number of tables in an automatic plan. Keeps memory below 48 bytes per fingerprint.
const MAX_TABLES: u32 = 4;
/// Maximum number of buckets of one table that a query may probe.
const MAX_PROBES: f64 = 65536.0;

// Costs in nanoseconds, measured with bench/src/bin/hamming.rs. Only their ratios matter, and the plan is not sensitive to
// them.

/// Cost of reaching a bucket.
const PROBE: f64 = 12.0;
/// Cost of comparing the query with a code in a bucket.
const CODE: f64 = 0.25;
/// Cost of comparing the query with a code in a tiled linear scan.
const SCAN: f64 = 0.1;

/// Returns the average number of codes per bucket at which the tables of a plan grow.
pub(super) fn load(plan: &[TableSpec], radius: u32) -> usize {
    if radius > 0 && plan == [TableSpec::whole(radius)] { SCAN_LOAD } else { LOAD }
}

/// Returns the cheapest tables for about `n` codes of 64 bits, or one [`TableSpec::whole`] if a scan is cheaper.
pub(super) fn choose(radius: u32, n: usize) -> Vec<TableSpec> {
    cheapest(u64::MAX, radius, n).unwrap_or_else(|| vec![TableSpec::whole(radius)])
}

/// Returns the tables for the `n` codes of one oversized bucket, keyed by the bits in which these codes vary, or `None` if
/// a scan is cheaper.
///
/// Omitting bits from the keys stays exact: codes within the radius on all bits are within the radius on any subset. The
/// plan assumes 2,048 times as many codes as the bucket has now, up to the number of possible codes, because an oversized
/// bucket is likely to keep growing.
pub(super) fn choose_nested(radius: u32, varying: u64, n: usize) -> Option<Vec<TableSpec>> {
    cheapest(varying, radius, (2048 * n).min(1 << varying.count_ones().min(40)))
}

/// Returns the cheapest division of the bits into equal blocks, or `None` if a scan is cheaper.
fn cheapest(bits: u64, radius: u32, n: usize) -> Option<Vec<TableSpec>> {
    let max_blocks = MAX_TABLES.min(radius + 1).min(bits.count_ones());
    let plans = (1..=max_blocks).map(|blocks| equal_blocks(bits, radius, blocks));
    let best = plans.min_by(|a, b| cost(a, n).total_cmp(&cost(b, n)))?;
    (cost(&best, n) < scan_cost(n)).then_some(best)
}

/// Reduces a plan to a smaller radius: first reduces the flips, starting with the table that has most, then drops tables,
/// until the sum of `flips + 1` is the radius plus one. Tables with overlapping keys, such as those of explicit blocks, are
/// all needed and stay unchanged.
pub(super) fn for_radius(plan: &[TableSpec], radius: u32) -> Vec<TableSpec> {
    let mut plan = plan.to_vec();
    let bits: u32 = plan.iter().map(|spec| spec.mask.count_ones()).sum();
    if bits > plan.iter().fold(0, |all, spec| all | spec.mask).count_ones() {
        return plan;
    }
    let mut excess = plan.iter().map(|spec| spec.flips + 1).sum::<u32>().saturating_sub(radius + 1);
    while let Some(spec) = plan.iter_mut().filter(|_| excess > 0).max_by_key(|spec| spec.flips)
        && spec.flips > 0
    {
        spec.flips -= 1;
        excess -= 1;
    }
    plan.truncate(plan.len() - excess as usize);
    plan
}

/// Estimates the cost of a query in nanoseconds, given the tables and the number of codes.
pub(super) fn cost(plan: &[TableSpec], n: usize) -> f64 {
    plan.iter().map(|spec| table_cost(spec, n)).sum()
}

/// Estimates the cost of a query by linear scan in nanoseconds.
pub(super) fn scan_cost(n: usize) -> f64 {
    n as f64 * SCAN
}

fn table_cost(spec: &TableSpec, n: usize) -> f64 {
    let bits = (n / LOAD).max(1).ilog2().min(spec.mask.count_ones());
    let probes = ball(bits, spec.flips);
    if probes > MAX_PROBES {
        return f64::INFINITY;
    }
    let bucket = n as f64 / f64::from(bits).exp2();
    probes * (PROBE + bucket * CODE)
}

/// Returns `true` if a table whose buckets are addressed by `bits` bits probes a plausible number of buckets: at most four
/// times the limit of a plan, because a table can grow beyond its plan. Protects readers of stored indexes from huge probe
/// lists.
pub(super) fn is_feasible(spec: &TableSpec, bits: u32) -> bool {
    spec.flips <= 64 && (spec.key == Key::Hashed || ball(bits, spec.flips) <= 4.0 * MAX_PROBES)
}

/// Returns the size of a Hamming ball: the number of words of `bits` bits within `flips` bits of a given word.
fn ball(bits: u32, flips: u32) -> f64 {
    let terms = (0..flips.min(bits)).scan(1.0, |term, i| {
        *term *= f64::from(bits - i) / f64::from(i + 1);
        Some(*term)
    });
    1.0 + terms.sum::<f64>()
}

/// Divides the bits into `blocks` blocks of equal width, up to one bit, and distributes `radius + 1 - blocks` flips evenly.
/// The remainder goes to the narrowest blocks, because their Hamming balls are smallest.
fn equal_blocks(bits: u64, radius: u32, blocks: u32) -> Vec<TableSpec> {
    let flips = radius + 1 - blocks;
    let each = flips / blocks;
    let remainder = flips % blocks;
    let count = bits.count_ones();
    let mut rest = bits;
    let mut specs: Vec<TableSpec> = (0..blocks)
        .map(|i| {
            let width = count * (i + 1) / blocks - count * i / blocks;
            let mask = lowest(rest, width);
            rest ^= mask;
            TableSpec { key: key_of(mask), mask, flips: each }
        })
        .collect();
    specs.sort_by_key(|spec| spec.mask.count_ones());
    specs.iter_mut().take(remainder as usize).for_each(|spec| spec.flips += 1);
    specs
}

/// Returns the `count` least significant set bits of `bits`.
fn lowest(bits: u64, count: u32) -> u64 {
    bits ^ (0..count).fold(bits, |rest, _| rest & rest.wrapping_sub(1))
}

fn key_of(mask: u64) -> Key {
    let shift = mask.trailing_zeros();
    let is_contiguous = mask.count_ones() == 64 - mask.leading_zeros() - shift;
    if is_contiguous { Key::Field { shift } } else { Key::Gathered }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_covers_the_radius() {
        for radius in 0..=64 {
            for n in [0, 1000, 1_000_000, 10_000_000, 100_000_000] {
                let plan = choose(radius, n);
                assert!(plan.iter().map(|spec| spec.flips + 1).sum::<u32>() > radius);
                let union = plan.iter().fold(0u64, |all, spec| {
                    assert_eq!(all & spec.mask, 0);
                    all | spec.mask
                });
                assert_eq!(union, u64::MAX);
            }
        }
    }

    #[test]
    fn plan_for_a_smaller_radius_has_no_excess_flips() {
        for (radius, n) in [(5, 1_000_000), (8, 1_000_000), (3, 1000), (12, 100_000_000)] {
            let plan = choose(radius, n);
            for smaller in 0..=radius {
                let rest = for_radius(&plan, smaller);
                assert_eq!(rest.iter().map(|spec| spec.flips + 1).sum::<u32>(), smaller + 1);
                assert!(rest.iter().zip(&plan).all(|(rest, spec)| {
                    (rest.key, rest.mask) == (spec.key, spec.mask) && rest.flips <= spec.flips
                }));
            }
        }
        assert!(for_radius(&choose(5, 1_000_000), 3).iter().all(|spec| spec.flips == 0));
    }

    #[test]
    fn plans_four_exact_blocks_for_radius_3_and_a_scan_for_large_radii() {
        let plan = choose(3, 1_000_000);
        assert!(plan.len() == 4 && plan.iter().all(|spec| spec.flips == 0 && spec.mask.count_ones() == 16));
        assert_eq!(choose(64, 1_000_000), [TableSpec::whole(64)]);
        assert_eq!(choose(32, 10_000_000), [TableSpec::whole(32)]);
    }

    #[test]
    fn nested_plan_divides_the_varying_bits() {
        let plan = choose_nested(3, 0xFFF0_0000_FFFF_FFFF, 600).unwrap();
        assert_eq!(plan.iter().fold(0, |all, spec| all | spec.mask), 0xFFF0_0000_FFFF_FFFF);
        assert!(plan.iter().map(|spec| spec.flips + 1).sum::<u32>() > 3);
        assert!(plan.iter().any(|spec| spec.key == Key::Gathered));
        assert!(choose_nested(3, 0xFF, 600).is_none());
        assert!(choose_nested(3, 0, 600).is_none());
        assert!(choose_nested(40, u64::MAX, 600).is_none());
    }
}
