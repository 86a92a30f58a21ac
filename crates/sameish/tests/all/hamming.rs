//! The Hamming index agrees with a linear scan, with golden vectors, and on adversarial sets of codes.
use crate::random::SplitMix64;
use sameish::config::Blocks;
use sameish::index::{BlockTables, DocNumber, HammingIndex, HammingView, Hit, LinearScan, Pair, Part};
use sameish::*;
use std::collections::{BTreeMap, BTreeSet};

const RADII: [u32; 10] = [0, 1, 2, 3, 4, 6, 8, 12, 32, 64];
/// Radii that are tested with the default plan only.
const MORE_RADII: [u32; 7] = [5, 7, 10, 16, 31, 48, 63];
const BLOCKS: [(u32, u32); 9] = [(6, 3), (5, 3), (4, 3), (4, 1), (7, 3), (10, 3), (8, 5), (1, 0), (64, 1)];

/// Flips each bit with probability 1/16.
fn flip_some(random: &mut SplitMix64, code: u64) -> u64 {
    code ^ (random.next() & random.next() & random.next() & random.next())
}

fn fp(code: u64) -> Fingerprint {
    Fingerprint::from_u64(code)
}

/// Returns an empty index for every configuration, with its name.
fn configurations() -> Vec<(String, HammingIndex)> {
    let mut all = Vec::new();
    for radius in RADII {
        all.push((format!("radius {radius}"), HammingIndex::new(radius).unwrap()));
        for n in [0, 20_000_000] {
            all.push((format!("radius {radius} for {n}"), HammingIndex::with_capacity(radius, n).unwrap()));
        }
    }
    all.extend(MORE_RADII.map(|radius| (format!("radius {radius}"), HammingIndex::new(radius).unwrap())));
    for (total, differing) in BLOCKS {
        let index = HammingIndex::with_blocks(Blocks { total, differing }).unwrap();
        all.push((format!("blocks {total}, {differing}"), index));
    }
    all
}

/// Returns sets of codes that cover the special cases of an index, with their names.
fn cases() -> Vec<(&'static str, Vec<u64>)> {
    let mut random = SplitMix64(1);
    let mut many = |n: usize, make: &mut dyn FnMut(usize, &mut SplitMix64) -> u64| -> Vec<u64> {
        (0..n).map(|i| make(i, &mut random)).collect()
    };
    let centers: Vec<u64> = many(40, &mut |_, r| r.next());
    vec![
        ("empty", vec![]),
        ("one", vec![42]),
        ("smallest and largest", vec![0, u64::MAX, 1, 1 << 63]),
        ("random", many(6000, &mut |_, r| r.next())),
        ("near copies of 40 codes", many(4000, &mut |i, r| flip_some(r, centers[i % 40]))),
        // Distances 0, 1, 2, ... from the first code, so that every radius is met exactly and missed by one bit.
        ("every distance", (0..=64).map(|bits| !(u64::MAX.checked_shl(bits).unwrap_or(0))).collect()),
        ("all zero", vec![0; 1500]),
        ("all equal", vec![0x0123_4567_89AB_CDEF; 1500]),
        ("lowest block shared", many(5000, &mut |_, r| r.next() << 16 | 0xBEEF)),
        ("highest block shared", many(5000, &mut |_, r| r.next() >> 16 | 0xBEEF << 48)),
        ("three blocks shared", many(3000, &mut |_, r| r.next() & 0xFFFF_0000)),
        ("dense", (0..3000).collect()),
        (
            "every second code twice",
            many(2000, &mut |i, _| (i as u64 * 2 / 3).wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        ),
    ]
}

fn queries(codes: &[u64], random: &mut SplitMix64) -> Vec<Fingerprint> {
    let mut queries = vec![fp(0), fp(u64::MAX), fp(random.next())];
    for i in 0..24.min(codes.len()) {
        let code = codes[random.below(codes.len())];
        let flips = (0..i % 8).fold(0u64, |bits, _| bits | 1 << random.below(64));
        queries.push(fp(code ^ flips));
    }
    queries
}

fn entries(codes: &[u64]) -> Vec<(Fingerprint, DocNumber)> {
    codes.iter().enumerate().map(|(i, &code)| (fp(code), DocNumber(i as u32))).collect()
}

fn oracle(entries: &[(Fingerprint, DocNumber)]) -> LinearScan {
    let mut scan = LinearScan::default();
    entries.iter().for_each(|&(code, doc)| scan.insert(code, doc));
    scan
}

/// The queries that an index and a view of a stored index have in common.
trait Queries {
    fn radius(&self) -> u32;
    fn len(&self) -> usize;
    fn find_first(&self, query: Fingerprint) -> Option<Hit>;
    fn find_all(&self, query: Fingerprint, hits: &mut Vec<Hit>);
    fn find_within(&self, query: Fingerprint, radius: u32, hits: &mut Vec<Hit>);
    fn find_first_bulk(&self, queries: &[Fingerprint]) -> Vec<Option<Hit>>;
    fn find_all_bulk(&self, queries: &[Fingerprint], sink: impl FnMut(usize, &[Hit]));
}

macro_rules! queries {
    ($type:ty) => {
        impl Queries for $type {
            fn radius(&self) -> u32 {
                self.radius()
            }
            fn len(&self) -> usize {
                self.len()
            }
            fn find_first(&self, query: Fingerprint) -> Option<Hit> {
                self.find_first(query)
            }
            fn find_all(&self, query: Fingerprint, hits: &mut Vec<Hit>) {
                self.find_all(query, hits);
            }
            fn find_within(&self, query: Fingerprint, radius: u32, hits: &mut Vec<Hit>) {
                self.find_within(query, radius, hits);
            }
            fn find_first_bulk(&self, queries: &[Fingerprint]) -> Vec<Option<Hit>> {
                self.find_first_bulk(queries)
            }
            fn find_all_bulk(&self, queries: &[Fingerprint], sink: impl FnMut(usize, &[Hit])) {
                self.find_all_bulk(queries, sink);
            }
        }
    };
}
queries!(HammingIndex);
queries!(HammingView<'_>);

/// Checks that every query method of the index agrees with the scan.
fn check_queries(name: &str, index: &impl Queries, scan: &LinearScan, queries: &[Fingerprint]) {
    let mut expected = Vec::new();
    let mut found = Vec::new();
    let mut all_expected = Vec::new();
    assert_eq!(index.len(), scan.len(), "{name}");
    for (i, &query) in queries.iter().enumerate() {
        scan.find_all(query, index.radius(), &mut expected);
        index.find_all(query, &mut found);
        assert_eq!(found, expected, "{name}: {query}");
        let smaller = i as u32 % (index.radius() + 1);
        index.find_within(query, smaller, &mut found);
        let within = expected.iter().filter(|hit| hit.distance <= smaller);
        assert!(found.iter().eq(within), "{name}: {query} within {smaller}");
        let first = index.find_first(query);
        assert_eq!(first.is_some(), !expected.is_empty(), "{name}: {query}");
        assert!(first.is_none_or(|hit| expected.contains(&hit)), "{name}: {query}");
        all_expected.push(expected.clone());
    }
    let mut bulk = vec![];
    index.find_all_bulk(queries, |i, hits| {
        assert_eq!(i, bulk.len(), "{name}");
        bulk.push(hits.to_vec());
    });
    assert_eq!(bulk, all_expected, "{name}");
    let firsts = index.find_first_bulk(queries);
    assert_eq!(firsts.len(), queries.len());
    for (first, expected) in firsts.iter().zip(&all_expected) {
        assert_eq!(first.is_some(), !expected.is_empty(), "{name}");
        assert!(first.is_none_or(|hit| expected.contains(&hit)), "{name}");
    }
}

#[test]
fn every_configuration_agrees_with_a_scan_on_every_case() {
    let mut random = SplitMix64(2);
    for (case, codes) in cases() {
        let entries = entries(&codes);
        let scan = oracle(&entries);
        let queries = queries(&codes, &mut random);
        for (name, empty) in configurations() {
            let mut built = empty.clone();
            assert_eq!(built.insert_all(&entries), entries.len());
            check_queries(&format!("{case}, {name}, built"), &built, &scan, &queries);
            let mut grown = empty;
            assert!(entries.iter().all(|&(code, doc)| grown.insert(code, doc)));
            check_queries(&format!("{case}, {name}, grown"), &grown, &scan, &queries);
            assert_eq!(grown.remove_all(&entries), entries.len());
            assert!(grown.is_empty() && grown.find_first(queries[0]).is_none());
            assert_eq!(grown.remove_all(&entries), 0);
        }
    }
}

#[test]
fn pairs_agree_with_comparing_all_codes() {
    for (case, codes) in cases() {
        let codes = &codes[..codes.len().min(700)];
        let entries = entries(codes);
        let mut all = Vec::new();
        for (i, &a) in codes.iter().enumerate() {
            for (j, &b) in codes.iter().enumerate().skip(i + 1) {
                let distance = (a ^ b).count_ones();
                all.push(Pair { a: DocNumber(i as u32), b: DocNumber(j as u32), distance });
            }
        }
        for (name, mut index) in configurations() {
            let near = |pair: &&Pair| pair.distance <= index.radius();
            let expected: Vec<Pair> = all.iter().filter(near).copied().collect();
            index.insert_all(&entries);
            let mut found = Vec::new();
            index.pairs(|pair| found.push(pair));
            found.sort_unstable();
            assert!(found == expected, "{case}, {name}: {} of {} pairs", found.len(), expected.len());
        }
    }
}

/// Compares with a map of sets after random updates, 30,000 for most configurations.
#[test]
fn random_updates_agree_with_a_model() {
    for (seed, (name, mut index)) in configurations().into_iter().enumerate() {
        let mut random = SplitMix64(100 + seed as u64);
        let mut model: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
        let centers: Vec<u64> = (0..50).map(|_| random.next()).collect();
        let operations = if index.table_count() > 20 { 3_000 } else { 30_000 };
        for step in 0..operations {
            let center = centers[random.below(50)];
            let code = match random.below(4) {
                0 => center,
                1 => flip_some(&mut random, center) & 0xFFFF_FFFF_FFFF_0000,
                _ => center ^ (1 << random.below(64)) ^ (1 << random.below(64)),
            };
            let doc = if random.below(50) == 0 { u32::MAX } else { random.below(30) as u32 };
            // Alternate between phases of growth and shrinkage.
            let is_growing = step / 4000 % 2 == 0;
            if random.below(4) == 0 || (random.below(4) == 0) == is_growing {
                let expected = model.get_mut(&code).is_some_and(|docs| docs.remove(&doc));
                assert_eq!(index.remove(fp(code), DocNumber(doc)), expected, "{name}");
            } else {
                let expected = model.entry(code).or_default().insert(doc);
                assert_eq!(index.insert(fp(code), DocNumber(doc)), expected, "{name}");
            }
            if step % 512 == 0 {
                check_model(&name, &index, &model, code);
            }
        }
        let entries: Vec<_> =
            model.iter().flat_map(|(&c, docs)| docs.iter().map(move |&d| (fp(c), DocNumber(d)))).collect();
        assert_eq!(index.insert_all(&entries), 0, "{name}");
        assert_eq!(index.remove_all(&entries), entries.len(), "{name}");
        assert!(index.is_empty());
    }
}

fn check_model(name: &str, index: &HammingIndex, model: &BTreeMap<u64, BTreeSet<u32>>, query: u64) {
    let mut expected: Vec<Hit> = Vec::new();
    for (&code, docs) in model {
        let distance = (code ^ query).count_ones();
        if distance <= index.radius() {
            expected.extend(docs.iter().map(|&doc| Hit { distance, doc: DocNumber(doc) }));
        }
    }
    expected.sort_unstable();
    let mut found = Vec::new();
    index.find_all(fp(query), &mut found);
    assert_eq!(found, expected, "{name}");
    assert_eq!(index.len(), model.values().map(BTreeSet::len).sum::<usize>(), "{name}");
}

/// The benchmark `hamming` measures the time of such queries; this test only checks results and memory.
#[test]
fn adversarial_sets_give_exact_results_in_bounded_memory() {
    let mut random = SplitMix64(3);
    let n = 20_000;
    let uniform: Vec<u64> = (0..n).map(|_| random.next()).collect();
    let one_shared: Vec<u64> = uniform.iter().map(|code| code & !0xFFFF | 0xBEEF).collect();
    let two_shared: Vec<u64> = uniform.iter().map(|code| code & !0xFFFF_FFFF | 0xDEAD_BEEF).collect();
    for (name, codes) in
        [("uniform", &uniform), ("one shared block", &one_shared), ("two shared blocks", &two_shared)]
    {
        let mut index = HammingIndex::new(3).unwrap();
        codes.iter().enumerate().for_each(|(i, &code)| {
            index.insert(fp(code), DocNumber(i as u32));
        });
        let queries: Vec<Fingerprint> = codes[..300].iter().map(|&code| fp(code ^ 1 << 40)).collect();
        let collect = |hits: &[Hit], all: &mut Vec<Vec<Hit>>| {
            let mut hits = hits.to_vec();
            hits.sort_unstable();
            all.push(hits);
        };
        let mut found = Vec::new();
        let mut expected = Vec::new();
        index.find_all_bulk(&queries, |_, hits| collect(hits, &mut found));
        oracle(&entries(codes)).find_all_bulk(&queries, 3, |_, hits| collect(hits, &mut expected));
        assert_eq!(found, expected, "{name}");
        assert!(index.memory_bytes() < 120 * n, "{name}: {} bytes", index.memory_bytes());
    }
}

#[test]
fn stored_indexes_agree_with_a_scan() {
    let mut random = SplitMix64(4);
    for (case, mut codes) in cases() {
        codes.truncate(1600);
        let entries = entries(&codes);
        let scan = oracle(&entries);
        let queries = queries(&codes, &mut random);
        for (name, mut index) in configurations() {
            let name = format!("{case}, {name}, stored");
            entries.iter().for_each(|&(code, doc)| _ = index.insert(code, doc));
            let bytes = index.to_bytes();
            let view = HammingView::from_bytes(&bytes).unwrap();
            view.verify().unwrap();
            check_queries(&name, &view, &scan, &queries);
            let mut read = HammingIndex::from_bytes(&bytes).unwrap();
            check_queries(&name, &read, &scan, &queries);
            assert_eq!(read.block_tables(), index.block_tables());
            assert_eq!(read.remove_all(&entries), entries.len(), "{name}");
        }
    }
}

/// Returns an index that uses every feature of the file format: oversized buckets, and fingerprints with several documents.
fn index_with_oversized_buckets(radius: u32) -> HammingIndex {
    let mut random = SplitMix64(5);
    let mut index = HammingIndex::new(radius).unwrap();
    for i in 0..3000 {
        let code = random.next() & !0xFFFF;
        index.insert(fp(code), DocNumber(i));
        if i % 10 == 0 {
            index.insert(fp(code), DocNumber(i + 10_000));
        }
    }
    index
}

/// Runs all queries on a view of damaged bytes. The results may be wrong, but no query may panic.
fn run_queries(view: &HammingView, random: &mut SplitMix64) {
    let queries: Vec<Fingerprint> = (0..8).map(|i| fp(random.next() & !(0xFFFF * (i & 1)))).collect();
    view.find_all_bulk(&queries, |_, hits| _ = hits.len());
    view.find_first_bulk(&queries);
    queries.iter().for_each(|&query| view.find_all(query, &mut Vec::new()));
}

#[test]
fn rejects_damaged_bytes_without_panicking() {
    let mut random = SplitMix64(6);
    for radius in [3, 6] {
        let bytes = index_with_oversized_buckets(radius).to_bytes();
        assert!(HammingIndex::from_bytes(&bytes).is_ok());
        for _ in 0..400 {
            let mut damaged = bytes.clone();
            damaged[random.below(bytes.len())] ^= 1 << random.below(8);
            assert!(HammingIndex::from_bytes(&damaged).is_err());
            if let Ok(view) = HammingView::from_bytes(&damaged) {
                assert!(view.verify().is_err());
                run_queries(&view, &mut random);
            }
            damaged.truncate(random.below(bytes.len()));
            assert!(HammingView::from_bytes(&damaged).is_err());
            damaged.clear();
            damaged.extend((0..random.below(300)).map(|_| random.next() as u8));
            assert!(HammingView::from_bytes(&damaged).is_err());
        }
        let longer: Vec<u8> = bytes.iter().copied().chain([0; 64]).collect();
        assert!(HammingView::from_bytes(&longer).is_err());
    }
}

/// Headers with manipulated fields and correct checksums may cause wrong results, but neither a panic nor a huge allocation.
#[test]
fn forged_headers_cause_no_panic() {
    let mut random = SplitMix64(7);
    let bytes = index_with_oversized_buckets(3).to_bytes();
    for _ in 0..3000 {
        let mut forged = bytes.clone();
        let header = 128 * random.below(3);
        let field = header + 4 * random.below(16);
        let value = match random.below(4) {
            0 => u32::MAX,
            1 => random.next() as u32,
            2 => random.below(70) as u32,
            _ => 1 << random.below(32),
        };
        forged[field..field + 4].copy_from_slice(&value.to_le_bytes());
        let sum = xxhash_rust::xxh3::xxh3_64(&forged[header..header + 120]);
        forged[header + 120..header + 128].copy_from_slice(&sum.to_le_bytes());
        if let Ok(view) = HammingView::from_bytes(&forged) {
            run_queries(&view, &mut random);
        }
        if let Ok(mut index) = HammingIndex::from_bytes(&forged) {
            index.insert(fp(7), DocNumber(7));
            index.remove(fp(7), DocNumber(7));
        }
    }
}

/// Returns all parts of an empty index.
fn parts_of(index: &HammingIndex, of: u32) -> Vec<HammingIndex> {
    (0..of).map(|part| index.clone().into_part(Part { index: part, of }).unwrap()).collect()
}

/// Returns the hits of all parts, and the hits of the parts that [`HammingIndex::parts_for`] lists.
fn hits_of_parts(parts: &[HammingIndex], query: Fingerprint) -> (Vec<Hit>, Vec<Hit>) {
    let search = |parts: &mut dyn Iterator<Item = &HammingIndex>| {
        let mut all = Vec::new();
        let mut hits = Vec::new();
        for part in parts {
            part.find_all(query, &mut hits);
            all.extend_from_slice(&hits);
        }
        all.sort_unstable();
        all
    };
    let needed = parts[0].parts_for(query);
    (search(&mut parts.iter()), search(&mut needed.iter().map(|&i| &parts[i as usize])))
}

#[test]
fn parts_together_find_each_match_once() {
    let mut random = SplitMix64(8);
    let (_, mut codes) = cases().into_iter().find(|(name, _)| *name == "near copies of 40 codes").unwrap();
    codes.extend((0..1500).map(|i| random.next() & if i % 2 == 0 { !0xFFFF } else { u64::MAX }));
    codes.extend_from_within(..200);
    let entries = entries(&codes);
    let queries = queries(&codes, &mut random);
    let mut wholes: Vec<HammingIndex> = BLOCKS[..3]
        .iter()
        .map(|&(total, differing)| HammingIndex::with_blocks(Blocks { total, differing }).unwrap())
        .collect();
    wholes.extend([3, 6, 20].map(|radius| HammingIndex::new(radius).unwrap()));
    for whole in wholes {
        for of in [2, 16, 256] {
            let mut parts = parts_of(&whole, of);
            // Half of the parts are built in bulk, half by single inserts.
            for (i, part) in parts.iter_mut().enumerate() {
                if i % 2 == 0 {
                    part.insert_all(&entries);
                } else {
                    entries.iter().for_each(|&(code, doc)| _ = part.insert(code, doc));
                }
            }
            let mut remaining = entries.clone();
            for round in 0..2 {
                let scan = oracle(&remaining);
                for &query in &queries {
                    let mut expected = Vec::new();
                    scan.find_all(query, whole.radius(), &mut expected);
                    let (all, needed) = hits_of_parts(&parts, query);
                    assert!(all == expected && needed == expected, "{of} parts, round {round}, {query}");
                }
                let removed = remaining.split_off(remaining.len() / 2);
                parts.iter_mut().for_each(|part| _ = part.remove_all(&removed));
            }
            let stored = HammingIndex::from_bytes(&parts[1].to_bytes()).unwrap();
            assert_eq!((stored.len(), stored.part()), (parts[1].len(), parts[1].part()));
            parts.iter_mut().for_each(|part| _ = part.remove_all(&remaining));
            assert!(parts.iter().all(HammingIndex::is_empty));
        }
    }
    assert!(HammingIndex::new(3).unwrap().into_part(Part { index: 3, of: 3 }).is_err());
}

#[test]
fn query_without_flips_needs_one_part_per_table() {
    let parts = parts_of(&HammingIndex::new(3).unwrap(), 256);
    assert!(parts[0].parts_for(fp(0x0123_4567_89AB_CDEF)).len() <= 4);
}

#[test]
fn blocks_with_a_smaller_radius_agree_with_a_scan() {
    let (_, codes) = cases().into_iter().find(|(name, _)| *name == "near copies of 40 codes").unwrap();
    let entries = entries(&codes);
    let scan = oracle(&entries);
    let queries = queries(&codes, &mut SplitMix64(9));
    for radius in 0..=3 {
        let blocks = Blocks { total: 6, differing: 3 };
        let mut index = HammingIndex::with_blocks_and_radius(blocks, radius).unwrap();
        index.insert_all(&entries);
        check_queries(&format!("radius {radius} of blocks 6, 3"), &index, &scan, &queries);
    }
    let message = HammingIndex::with_blocks_and_radius(Blocks { total: 6, differing: 3 }, 4).unwrap_err();
    assert_eq!(message.to_string(), "`radius` is 4: must be 0 to 3");
}

#[test]
fn rejects_a_radius_above_64() {
    let message = HammingIndex::new(65).unwrap_err().to_string();
    assert_eq!(message, "`radius` is 65: must be 0 to 64");
}

/// Golden vectors of the block-permuted Hamming index (Manku, Jain and Das Sarma 2007) with `num_blocks` and `diff_bits`.
#[test]
fn agrees_with_golden_vectors() {
    let text = include_str!("../../../../testdata/golden/hamming_corpus.json");
    let golden: serde_json::Value = serde_json::from_str(text).unwrap();
    let number = |value: &serde_json::Value| value.as_u64().unwrap() as u32;
    let code = |value: &serde_json::Value| -> u64 { value.as_str().unwrap().parse().unwrap() };
    let codes = |value: &serde_json::Value| value.as_array().unwrap().iter().map(code).collect::<Vec<u64>>();
    for table in golden["tables"].as_array().unwrap() {
        let blocks = Blocks { total: number(&table["num_blocks"]), differing: number(&table["diff_bits"]) };
        let index = HammingIndex::with_blocks(blocks).unwrap();
        assert_eq!(index.table_count(), number(&table["num_tables"]) as usize);
        assert_eq!(index.block_tables().unwrap().permutations().len(), index.table_count());
    }
    let example = &golden["example"];
    let (a, b) = (fp(code(&example["fingerprint"])), fp(code(&example["query"])));
    let tables = BlockTables::new(Blocks { total: 6, differing: 3 }).unwrap();
    assert_eq!(a.distance(b), number(&example["distance"]));
    assert_eq!(tables.finding(a, b).map(|table| table.name()).collect::<Vec<_>>(), ["A C F B D E"]);

    let hashes = codes(&golden["scenario"]["hashes"]);
    let queries: Vec<Fingerprint> = codes(&golden["scenario"]["queries"]).into_iter().map(fp).collect();
    for run in golden["scenario"]["runs"].as_array().unwrap() {
        let blocks = Blocks { total: number(&run["num_blocks"]), differing: number(&run["diff_bits"]) };
        let explicit = HammingIndex::with_blocks(blocks).unwrap();
        for mut index in [explicit, HammingIndex::new(blocks.differing).unwrap()] {
            index.insert_all(&entries(&hashes));
            let firsts = index.find_first_bulk(&queries);
            let golden_firsts = codes(&run["find_first_bulk"]);
            for ((first, &expected), query) in firsts.iter().zip(&golden_firsts).zip(&queries) {
                assert_eq!(first.is_some(), expected != 0);
                let near = |hit: &Hit| fp(hashes[hit.doc.0 as usize]).distance(*query) == hit.distance;
                assert!(first.as_ref().is_none_or(near));
            }
            let golden_all: Vec<BTreeSet<u64>> = run["find_all_bulk_raw"]
                .as_array()
                .unwrap()
                .iter()
                .map(|all| codes(all).into_iter().collect())
                .collect();
            index.find_all_bulk(&queries, |i, hits| {
                let found: BTreeSet<u64> = hits.iter().map(|hit| hashes[hit.doc.0 as usize]).collect();
                assert_eq!(found, golden_all[i]);
            });
        }
    }
}
