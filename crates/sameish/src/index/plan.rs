//! Which keys find everyone within the radius at the least cost?
//!
//! Cut `b` bits into `m` blocks and let block `j` differ in at most `flips(j)` bits. Whenever the sum of all
//! `flips(j) + 1` is more than the radius, two codes within the radius agree so far on at least one block: otherwise
//! they would differ in at least `flips(j) + 1` bits of each (Norouzi, Punjani and Fleet, 2014). With `m = radius + 1`
//! no block may differ at all, and a query reads one bucket a table.

/// How a table makes a key of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// The bits from `shift` on as they are, so that near keys can be listed.
    Field { shift: u32 },
    /// The bits under the mask, moved together: the same for bits that lie apart, but slower.
    Gathered,
    /// A hash of the bits under the mask. Unequal bits may meet.
    Hashed,
}

/// One table: which bits it looks at, and in how many of them a pair that it finds may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) key: Key,
    pub(super) mask: u64,
    pub(super) flips: u32,
}

impl Spec {
    /// Whether a pair that differs in the bits `x` is found in this table.
    #[inline]
    pub(super) fn finds(&self, x: u64) -> bool {
        (x & self.mask).count_ones() <= self.flips
    }

    /// A table that is scanned as a whole, under every bit.
    pub(super) fn whole(radius: u32) -> Spec {
        Spec { key: Key::Hashed, mask: u64::MAX, flips: radius }
    }
}

/// Codes a bucket holds on average before tables grow. Fewer cost memory, more cost time.
const LOAD: usize = 15;
/// The same for a table that is scanned as a whole.
const SCAN_LOAD: usize = 1024;
/// Most tables of the automatic choice, so that a fingerprint stays under 48 bytes.
const MAX_TABLES: u32 = 4;
/// Most buckets of one table that a query may read.
const MAX_PROBES: f64 = 65536.0;

/// Nanoseconds to reach a bucket, to compare with a code of it, and to compare with a code in a tiled scan. Measured
/// with bench/src/bin/hamming.rs; only their ratios matter, and not much.
const PROBE: f64 = 12.0;
const CODE: f64 = 0.25;
const SCAN: f64 = 0.1;

/// How many codes buckets of a plan hold on average before tables grow.
pub(super) fn load(plan: &[Spec], radius: u32) -> usize {
    if radius > 0 && plan == [Spec::whole(radius)] { SCAN_LOAD } else { LOAD }
}

/// The tables for about `n` codes of 64 bits; one [`Spec::whole`] where nothing is cheaper than the scan.
pub(super) fn choose(radius: u32, n: usize) -> Vec<Spec> {
    best_cut(u64::MAX, radius, n).unwrap_or_else(|| vec![Spec::whole(radius)])
}

/// The tables for the codes of one crowded bucket, over the bits in which they differ; `None` where that is no help.
///
/// Leaving bits out is always exact: who is near on all bits is near on some of them. The plan is made for many more
/// codes than there are yet, because a bucket that is crowded will grow.
pub(super) fn choose_nested(radius: u32, varying: u64, n: usize) -> Option<Vec<Spec>> {
    best_cut(varying, radius, (2048 * n).min(1 << varying.count_ones().min(40)))
}

fn best_cut(bits: u64, radius: u32, n: usize) -> Option<Vec<Spec>> {
    let most = MAX_TABLES.min(radius + 1).min(bits.count_ones());
    let plans = (1..=most).map(|blocks| cut(bits, radius, blocks));
    let best = plans.min_by(|a, b| cost(a, n).total_cmp(&cost(b, n)))?;
    (cost(&best, n) < scan_cost(n)).then_some(best)
}

/// What is left of a plan for a radius that is smaller: as few flips as find everyone, then as few tables. Flips are
/// taken where there are most. Tables that share bits, as those of an explicit cut, are all needed.
pub(super) fn within(plan: &[Spec], radius: u32) -> Vec<Spec> {
    let mut plan = plan.to_vec();
    let bits: u32 = plan.iter().map(|spec| spec.mask.count_ones()).sum();
    if bits > plan.iter().fold(0, |all, spec| all | spec.mask).count_ones() {
        return plan;
    }
    let mut over = plan.iter().map(|spec| spec.flips + 1).sum::<u32>().saturating_sub(radius + 1);
    while let Some(spec) = plan.iter_mut().filter(|_| over > 0).max_by_key(|spec| spec.flips)
        && spec.flips > 0
    {
        spec.flips -= 1;
        over -= 1;
    }
    plan.truncate(plan.len() - over as usize);
    plan
}

/// What a query costs in nanoseconds, by the number of buckets it reads and of codes in them.
pub(super) fn cost(plan: &[Spec], n: usize) -> f64 {
    plan.iter().map(|spec| table_cost(spec, n)).sum()
}

/// What a query costs in a scan.
pub(super) fn scan_cost(n: usize) -> f64 {
    n as f64 * SCAN
}

fn table_cost(spec: &Spec, n: usize) -> f64 {
    let split = (n / LOAD).max(1).ilog2().min(spec.mask.count_ones());
    let probes = ball(split, spec.flips);
    if probes > MAX_PROBES {
        return f64::INFINITY;
    }
    let bucket = n as f64 / f64::from(split).exp2();
    probes * (PROBE + bucket * CODE)
}

/// Whether the list of near keys of a table with so many bits is one that a plan of ours could have.
pub(super) fn bearable(spec: &Spec, bits: u32) -> bool {
    spec.flips <= 64 && (spec.key == Key::Hashed || ball(bits, spec.flips) <= 4.0 * MAX_PROBES)
}

/// How many words of `bits` bits differ from one in at most `flips`.
fn ball(bits: u32, flips: u32) -> f64 {
    let terms = (0..flips.min(bits)).scan(1.0, |term, i| {
        *term *= f64::from(bits - i) / f64::from(i + 1);
        Some(*term)
    });
    1.0 + terms.sum::<f64>()
}

/// Cuts the bits into `blocks` even parts and shares out `radius + 1 - blocks` flips. The narrower blocks get the
/// flips that are over: they have fewer neighbors.
fn cut(bits: u64, radius: u32, blocks: u32) -> Vec<Spec> {
    let flips = radius + 1 - blocks;
    let (each, over) = (flips / blocks, flips % blocks);
    let count = bits.count_ones();
    let mut rest = bits;
    let mut specs: Vec<Spec> = (0..blocks)
        .map(|i| {
            let width = count * (i + 1) / blocks - count * i / blocks;
            let mask = lowest(rest, width);
            rest ^= mask;
            Spec { key: key_of(mask), mask, flips: each }
        })
        .collect();
    specs.sort_by_key(|spec| spec.mask.count_ones());
    specs.iter_mut().take(over as usize).for_each(|spec| spec.flips += 1);
    specs
}

/// The lowest `count` ones of `bits`.
fn lowest(bits: u64, count: u32) -> u64 {
    bits ^ (0..count).fold(bits, |rest, _| rest & rest.wrapping_sub(1))
}

fn key_of(mask: u64) -> Key {
    let shift = mask.trailing_zeros();
    let together = mask.count_ones() == 64 - mask.leading_zeros() - shift;
    if together { Key::Field { shift } } else { Key::Gathered }
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
                let overlap = plan.iter().fold(0u64, |all, spec| {
                    assert_eq!(all & spec.mask, 0);
                    all | spec.mask
                });
                assert_eq!(overlap, u64::MAX);
            }
        }
    }

    #[test]
    fn a_smaller_radius_needs_no_more_than_it_asks_for() {
        for (radius, n) in [(5, 1_000_000), (8, 1_000_000), (3, 1000), (12, 100_000_000)] {
            let plan = choose(radius, n);
            for smaller in 0..=radius {
                let rest = within(&plan, smaller);
                assert_eq!(rest.iter().map(|spec| spec.flips + 1).sum::<u32>(), smaller + 1);
                assert!(rest.iter().zip(&plan).all(|(rest, spec)| {
                    (rest.key, rest.mask) == (spec.key, spec.mask) && rest.flips <= spec.flips
                }));
            }
        }
        assert!(within(&choose(5, 1_000_000), 3).iter().all(|spec| spec.flips == 0));
    }

    #[test]
    fn radius_3_is_four_exact_blocks_and_large_radii_are_scanned() {
        let plan = choose(3, 1_000_000);
        assert!(plan.len() == 4 && plan.iter().all(|spec| spec.flips == 0 && spec.mask.count_ones() == 16));
        assert_eq!(choose(64, 1_000_000), [Spec::whole(64)]);
        assert_eq!(choose(32, 10_000_000), [Spec::whole(32)]);
    }

    #[test]
    fn nested_blocks_share_the_varying_bits() {
        let plan = choose_nested(3, 0xFFF0_0000_FFFF_FFFF, 600).unwrap();
        assert_eq!(plan.iter().fold(0, |all, spec| all | spec.mask), 0xFFF0_0000_FFFF_FFFF);
        assert!(plan.iter().map(|spec| spec.flips + 1).sum::<u32>() > 3);
        assert!(plan.iter().any(|spec| spec.key == Key::Gathered));
        assert!(choose_nested(3, 0xFF, 600).is_none());
        assert!(choose_nested(3, 0, 600).is_none());
        assert!(choose_nested(40, u64::MAX, 600).is_none());
    }
}
