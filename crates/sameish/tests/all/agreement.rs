//! Band indexes and overlap indexes in every configuration agree with a linear scan, on one table of cases.
use crate::random::SplitMix64;
use sameish::config::Bands;
use sameish::index::{BandHit, BandIndex, DocNumber, OverlapHit, OverlapIndex};
use sameish::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Documents as 64-bit codes, which each index interprets as its own kind of sketch.
struct Case {
    name: &'static str,
    codes: Vec<u64>,
    /// Documents that are removed before the first query.
    removed: Vec<u32>,
}

fn cases() -> Vec<Case> {
    let mut random = SplitMix64(1);
    let mut many = |n: usize, make: &dyn Fn(u64, usize) -> u64| -> Vec<u64> {
        (0..n).map(|i| make(random.next(), i)).collect()
    };
    let case = |name, codes: Vec<u64>| Case { name, codes, removed: Vec::new() };
    let at_distance =
        |from: u64| move |_: u64, i: usize| from ^ if i == 64 { u64::MAX } else { (1u64 << i) - 1 };
    let mut cases = vec![
        case("empty", vec![]),
        case("one", vec![0xABCD]),
        case("one, zero", vec![0]),
        case("duplicates", many(400, &|_, i| (i as u64 % 7).wrapping_mul(0x9E37_79B9_7F4A_7C15))),
        // Distances 0, 1, 2, ... from the first code, so that every radius is met exactly and missed by one bit.
        case("every distance", many(65, &at_distance(0x0123_4567_89AB_CDEF))),
        case("all equal", vec![u64::MAX; 500]),
        case("all sharing one block", many(900, &|r, _| r << 16 | 0xBEEF)),
        case("all sharing three blocks", many(500, &|r, _| r >> 48 << 48 | 0xDEAD_BEEF_CAFE)),
        case("consecutive", many(700, &|_, i| i as u64)),
        case("random", many(700, &|r, _| r)),
    ];
    let removals = [("after removing every second", 2), ("after removing all", 1)];
    for (name, step) in removals {
        let codes = many(600, &|r, i| if i % 3 == 0 { 42 } else { r & 0xFF });
        cases.push(Case { name, removed: (0..600).step_by(step).collect(), codes });
    }
    cases
}

impl Case {
    /// Returns the documents that are not removed.
    fn remaining(&self) -> BTreeMap<u32, u64> {
        let all = self.codes.iter().zip(0..).map(|(&code, doc)| (doc, code));
        all.filter(|(doc, _)| !self.removed.contains(doc)).collect()
    }

    /// Returns some of the codes, some codes near them, and the smallest and largest code.
    fn queries(&self) -> Vec<u64> {
        let mut random = SplitMix64(2);
        let mut queries = vec![0, u64::MAX, random.next()];
        for _ in 0..12.min(self.codes.len()) {
            let code = self.codes[random.below(self.codes.len())];
            queries.extend([code, code ^ 1 << random.below(64) ^ 1 << random.below(64), code ^ 0xFF00]);
        }
        queries
    }
}

/// Interprets the bytes of a code as eight rows.
fn signature(code: u64) -> Signature {
    Signature::from_rows(code.to_le_bytes().iter().map(|&byte| u32::from(byte)).collect::<Vec<_>>()).unwrap()
}

const SHAPES: [Bands; 7] = [
    Bands { count: 8, rows: 1 },
    Bands { count: 4, rows: 2 },
    Bands { count: 2, rows: 4 },
    Bands { count: 1, rows: 8 },
    Bands { count: 2, rows: 3 },
    Bands { count: 1, rows: 1 },
    Bands { count: 3, rows: 2 },
];

/// Returns the fraction of equal rows if two codes share a band.
fn estimate_if_shared(bands: Bands, a: u64, b: u64) -> Option<f64> {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    let height = bands.rows as usize;
    let mut shared = a.chunks_exact(height).zip(b.chunks_exact(height)).take(bands.count as usize);
    let estimate = a.iter().zip(b).filter(|(a, b)| **a == *b).count() as f64 / 8.0;
    shared.any(|(a, b)| a == b).then_some(estimate)
}

fn band_oracle(remaining: &BTreeMap<u32, u64>, bands: Bands, query: u64, threshold: f64) -> Vec<BandHit> {
    let hit = |(&doc, &code)| {
        Some(BandHit { doc: DocNumber(doc), estimate: estimate_if_shared(bands, query, code)? })
    };
    let mut hits: Vec<BandHit> = remaining.iter().filter_map(hit).collect();
    hits.retain(|hit| hit.estimate >= threshold);
    hits.sort_by(|a, b| b.estimate.total_cmp(&a.estimate).then(a.doc.cmp(&b.doc)));
    hits
}

#[test]
fn band_indexes_agree_with_a_scan() {
    for case in cases() {
        let remaining = case.remaining();
        for bands in SHAPES {
            let name = format!("{}, {bands:?}", case.name);
            let signatures: Vec<Signature> = case.codes.iter().map(|&code| signature(code)).collect();
            let mut single = BandIndex::new(8, bands).unwrap();
            let mut bulk = single.clone();
            let documents = || (0..).map(DocNumber).zip(&signatures);
            documents().for_each(|(doc, signature)| single.insert(doc, signature).unwrap());
            bulk.insert_all(documents()).unwrap();
            for index in [&mut single, &mut bulk] {
                assert!(case.removed.iter().all(|&doc| index.remove(DocNumber(doc))), "{name}");
                assert_eq!(index.len(), remaining.len(), "{name}");
                check_bands(&name, index, &remaining, &case.queries());
            }
        }
    }
}

fn check_bands(name: &str, index: &BandIndex, remaining: &BTreeMap<u32, u64>, queries: &[u64]) {
    for &query in queries {
        for threshold in [0.0, 0.5, 1.0] {
            let found = index.search(&signature(query), threshold).unwrap();
            assert_eq!(found.capped, 0);
            assert_eq!(
                found.hits,
                band_oracle(remaining, index.bands(), query, threshold),
                "{name}, {query:016x}"
            );
        }
    }
    let mut found = BTreeMap::new();
    let join = index.pairs(0.25, |pair| {
        assert!(found.insert((pair.a.0, pair.b.0), pair.estimate).is_none(), "{name}: reported twice");
    });
    let ordered = |(&a, &x): (&u32, &u64)| {
        remaining
            .range(a + 1..)
            .filter_map(move |(&b, &y)| Some(((a, b), estimate_if_shared(index.bands(), x, y)?)))
            .collect::<Vec<_>>()
    };
    let mut expected: BTreeMap<(u32, u32), f64> = remaining.iter().flat_map(ordered).collect();
    let candidates = expected.len() as u64;
    expected.retain(|_, estimate| *estimate >= 0.25);
    if join.capped == 0 {
        assert_eq!(join.candidates, candidates, "{name}");
        assert!(found == expected, "{name}: {} of {} pairs", found.len(), expected.len());
    } else {
        // A capped bucket omits pairs, but never adds wrong ones.
        assert!(found.iter().all(|(pair, estimate)| expected.get(pair) == Some(estimate)), "{name}");
    }
}

/// Converts a code to a sparse code of `size` bits, with its 64 bits spread evenly.
fn sdr(code: u64, size: u32) -> Sdr {
    let bits = (0..64).filter(|bit| code >> bit & 1 == 1);
    Sdr::from_active(size, bits.map(|bit| bit * (size / 64)).collect()).unwrap()
}

fn overlap_oracle(remaining: &BTreeMap<u32, u64>, query: u64, min_overlap: u32) -> Vec<OverlapHit> {
    let hit = |(&doc, &code): (&u32, &u64)| OverlapHit {
        doc: DocNumber(doc),
        overlap: (code & query).count_ones(),
    };
    let mut hits: Vec<OverlapHit> =
        remaining.iter().map(hit).filter(|hit| hit.overlap >= min_overlap.max(1)).collect();
    hits.sort_by_key(|hit| (Reverse(hit.overlap), hit.doc));
    hits
}

#[test]
fn overlap_indexes_agree_with_a_scan() {
    for case in cases() {
        let remaining = case.remaining();
        for size in [64, 2048, 1 << 31] {
            let mut index = OverlapIndex::new(size);
            for (doc, &code) in (0..).zip(&case.codes) {
                assert!(index.insert(DocNumber(doc), &sdr(code, size)).unwrap(), "{}", case.name);
            }
            assert!(case.removed.iter().all(|&doc| index.remove(DocNumber(doc))), "{}", case.name);
            assert_eq!(index.len(), remaining.len());
            for query in case.queries() {
                check_overlaps(&format!("{}, {size} bits", case.name), &index, &remaining, query);
            }
        }
    }
}

fn check_overlaps(name: &str, index: &OverlapIndex, remaining: &BTreeMap<u32, u64>, query: u64) {
    let code = sdr(query, index.size());
    for min_overlap in [0, 1, 5, 32, 64, 65] {
        assert_eq!(
            index.at_least(&code, min_overlap).unwrap(),
            overlap_oracle(remaining, query, min_overlap),
            "{name}"
        );
    }
    for k in [0, 1, 10, 10_000] {
        let mut expected = overlap_oracle(remaining, query, 1);
        expected.truncate(k);
        assert_eq!(index.top(&code, k).unwrap(), expected, "{name}, top {k}");
    }
}

/// Applies a million random updates to four band indexes, some of them in bulk, and checks a query every 500 steps. There are few
/// distinct documents and values, so that buckets collide, and lists grow and shrink.
#[test]
fn bands_agree_with_a_scan_after_a_million_updates() {
    let mut random = SplitMix64(3);
    let mut indexes: Vec<BandIndex> =
        SHAPES[..4].iter().map(|&shape| BandIndex::new(8, shape).unwrap()).collect();
    let mut models: Vec<BTreeMap<u32, u64>> = vec![BTreeMap::new(); indexes.len()];
    let update = |random: &mut SplitMix64| (random.below(1200) as u32, random.next() & 0x0303_0303_0303_0303);
    for step in 0..1_000_000 {
        let at = random.below(models.len());
        let (doc, code) = update(&mut random);
        let is_growing = step / 100_000 % 2 == 0;
        if random.below(8) < if is_growing { 2 } else { 6 } {
            assert_eq!(indexes[at].remove(DocNumber(doc)), models[at].remove(&doc).is_some());
        } else {
            indexes[at].insert(DocNumber(doc), &signature(code)).unwrap();
            models[at].insert(doc, code);
        }
        if step % 500 == 0 {
            let many: Vec<(u32, u64)> = (0..50).map(|_| update(&mut random)).collect();
            let signatures: Vec<Signature> = many.iter().map(|&(_, code)| signature(code)).collect();
            let docs = many.iter().map(|&(doc, _)| DocNumber(doc));
            indexes[at].insert_all(docs.zip(&signatures)).unwrap();
            models[at].extend(many);
            let found = indexes[at].search(&signature(code), 0.5).unwrap();
            let expected = band_oracle(&models[at], indexes[at].bands(), code, 0.5);
            assert_eq!((found.hits, found.capped), (expected, 0), "step {step}");
        }
    }
    for (index, model) in indexes.iter().zip(&models) {
        assert_eq!((index.len(), index.capped()), (model.len(), 0));
    }
}
