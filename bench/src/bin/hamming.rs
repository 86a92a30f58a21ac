//! Benchmark of Hamming search compared with mih-rs and a tiled scan, one thread, CPU time, best of 3.
//!
//! ```text
//! hamming [N] [RADII] [Q] queries, inserts and removals with N codes (1,000,000) per radius (3,6,8,12), at most Q queries
//! hamming changes [N]     inserts and removals only
//! hamming growth [N]      N, 4 N and 16 N codes (250,000), radius 3
//! hamming hostile [N]     adversarial codes that share bits, compared with random codes
//! hamming pairs           all pairs of 1,874,887 codes
//! hamming pauses [N]      the longest single inserts (10,000,000)
//! hamming stored [N]      write, map and query a file of N codes (100,000,000) in the temporary directory
//! ```
//!
//! Codes and queries come from SplitMix64: `uniform` queries have no code within 3 bits; every second `planted` query is a stored
//! code with 0 to 3 bits flipped.

use cpu_time::{ProcessTime, ThreadTime};
use sameish::config::Blocks;
use sameish::index::{DocNumber, HammingIndex, LinearScan};
use sameish::*;
use sameish_bench::{planted, splitmix, time};
use sameish_store::MappedIndex;
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: usize| args.get(at).map_or(default, |n| n.parse().unwrap());
    println!("# {:?}, one thread, CPU time, best of 3", simd::Level::current());
    match args.first().map(String::as_str) {
        Some("changes") => changes(3, &Work::new(number(1, 1_000_000))),
        Some("growth") => (0..3).for_each(|i| grown(number(1, 250_000) << (2 * i))),
        Some("hostile") => hostile(number(1, 1_000_000)),
        Some("pairs") => self_join(&Work::new(1_000_000)),
        Some("pauses") => pauses(number(1, 10_000_000)),
        Some("stored") => stored(number(1, 100_000_000)),
        _ => all(number(0, 1_000_000), args.get(1).map_or("3,6,8,12", |radii| radii), number(2, 1_000_000)),
    }
}

/// Measures queries at every radius.
fn all(n: usize, radii: &str, max_queries: usize) {
    let mut work = Work::new(n);
    work.uniform.truncate(max_queries);
    work.planted.truncate(max_queries);
    println!("# {n} codes");
    for radius in radii.split(',').map(|radius| radius.parse().unwrap()) {
        scan(radius, &work);
        sameish(radius, &work);
        mih_rs(radius, &work);
    }
    if n <= 2_000_000 && radii.contains('3') {
        explicit_blocks(&work);
    }
}

/// Measures time and memory for one number of codes.
fn grown(n: usize) {
    println!("# {n} codes");
    let work = Work::new(n);
    sameish(3, &work);
}

struct Work {
    entries: Vec<(Fingerprint, DocNumber)>,
    uniform: Vec<Fingerprint>,
    planted: Vec<Fingerprint>,
}

impl Work {
    fn new(n: usize) -> Work {
        let count = 1_000_000;
        let codes = splitmix(1, n);
        let uniform = splitmix(2, count);
        let planted = planted(&codes, count);
        let fingerprints = |codes: Vec<u64>| codes.into_iter().map(Fingerprint::from_u64).collect();
        let entry = |(i, code): (usize, &u64)| (Fingerprint::from_u64(*code), DocNumber(i as u32));
        let entries = codes.iter().enumerate().map(entry).collect();
        Work { entries, uniform: fingerprints(uniform), planted: fingerprints(planted) }
    }

    /// Returns the number of queries that run in reasonable time.
    fn take(&self, radius: u32) -> usize {
        let queries = if radius <= 3 { 1_000_000 } else { 20_000 };
        let queries = if self.entries.len() > 5_000_000 { queries / 5 } else { queries };
        queries.min(self.uniform.len())
    }
}

fn line(name: &str, seconds: f64, count: usize, note: &str) {
    println!("{name:<44} {seconds:>8.3} s  {:>9.1} ns each  {note}", seconds / count as f64 * 1e9);
}

fn scan(radius: u32, work: &Work) {
    let mut scan = LinearScan::default();
    work.entries.iter().for_each(|&(code, doc)| scan.insert(code, doc));
    let queries = &work.uniform[..work.uniform.len().min(2048)];
    let timing = time(3, || scan.find_all_bulk(queries, radius, |_, hits| _ = black_box(hits.len())));
    let rate = (work.entries.len() * queries.len()) as f64 / timing.best / 1e9;
    line(
        &format!("## tiled scan, radius {radius}"),
        timing.best,
        queries.len(),
        &format!("{rate:.1} billion comparisons/s"),
    );
}

fn sameish(radius: u32, work: &Work) {
    println!("## sameish, radius {radius}");
    let n = work.entries.len();
    let take = work.take(radius);
    let mut index = HammingIndex::with_capacity(radius, n).unwrap();
    let timing = time(3, || {
        index = HammingIndex::with_capacity(radius, n).unwrap();
        index.insert_all(&work.entries);
    });
    let bytes = index.memory_bytes() as f64 / n as f64;
    line(
        "bulk build",
        timing.best,
        n,
        &format!("{} tables, {bytes:.1} bytes per fingerprint", index.table_count()),
    );
    println!("{take} queries");
    queries(&index, work, take);
    if radius == 3 {
        changes(radius, work);
    }
}

fn queries(index: &HammingIndex, work: &Work, take: usize) {
    for (kind, queries) in [("uniform", &work.uniform[..take]), ("planted", &work.planted[..take])] {
        let mut hits = Vec::new();
        let mut count = 0;
        let timing = time(3, || {
            count = 0;
            for &query in queries {
                index.find_all(query, &mut hits);
                count += hits.len();
            }
        });
        line(&format!("find_all single, {kind}"), timing.best, take, &format!("{count} hits"));
        let mut bulk = 0;
        let timing = time(3, || {
            bulk = 0;
            index.find_all_bulk(queries, |_, hits| bulk += hits.len());
        });
        line(&format!("find_all_bulk, {kind}"), timing.best, take, &format!("{bulk} hits of {count}"));
        let timing = time(3, || drop(black_box(index.find_first_bulk(queries))));
        line(&format!("find_first_bulk, {kind}"), timing.best, take, "");
    }
}

/// Measures inserts and removals, one by one and in bulk.
fn changes(radius: u32, work: &Work) {
    let n = work.entries.len();
    let mut single = f64::MAX;
    let mut bulk = f64::MAX;
    let mut remove = f64::MAX;
    let mut remove_all = f64::MAX;
    let mut bytes = 0.0;
    let clock = |work: &mut dyn FnMut()| {
        let start = ProcessTime::now();
        work();
        start.elapsed().as_secs_f64()
    };
    for _ in 0..if n > 5_000_000 { 1 } else { 3 } {
        let mut index = HammingIndex::with_capacity(radius, n).unwrap();
        single = single.min(clock(&mut || {
            for &(code, doc) in &work.entries {
                index.insert(code, doc);
            }
        }));
        bytes = index.memory_bytes() as f64 / n as f64;
        remove = remove.min(clock(&mut || {
            for &(code, doc) in &work.entries {
                assert!(index.remove(code, doc));
            }
        }));
        let mut index = HammingIndex::with_capacity(radius, n).unwrap();
        let (head, tail) = work.entries.split_at(n / 2);
        index.insert_all(head);
        bulk = bulk.min(clock(&mut || _ = black_box(index.insert_all(tail))));
        remove_all = remove_all.min(clock(&mut || assert_eq!(index.remove_all(&work.entries), n)));
    }
    line("insert, one by one from empty", single, n, &format!("then {bytes:.1} bytes per fingerprint"));
    line("insert_all, the second half", bulk, n / 2, "");
    line("remove, one by one to empty", remove, n, "");
    line("remove_all to empty", remove_all, n, "");
}

fn mih_rs(radius: u32, work: &Work) {
    println!("## mih-rs 0.3.1, radius {radius}");
    let take = work.take(radius);
    let codes: Vec<u64> = work.entries.iter().map(|(code, _)| code.as_u64()).collect();
    let mut seconds = f64::MAX;
    let mut build = || {
        let codes = codes.clone();
        let start = ProcessTime::now();
        let index = mih_rs::Index::new(codes).unwrap();
        seconds = seconds.min(start.elapsed().as_secs_f64());
        index
    };
    if radius == 3 {
        black_box(build());
        black_box(build());
    }
    let index = build();
    line("build", seconds, codes.len(), "");
    for (kind, queries) in [("uniform", &work.uniform[..take]), ("planted", &work.planted[..take])] {
        let mut searcher = index.range_searcher();
        let mut count = 0;
        let timing = time(3, || {
            count = 0;
            for query in queries {
                count += searcher.run(query.as_u64(), radius as usize).len();
            }
        });
        line(&format!("range search, {kind}"), timing.best, take, &format!("{count} hits"));
    }
}

/// Measures the block configurations of the original block-permuted index.
fn explicit_blocks(work: &Work) {
    for (total, differing) in [(5, 3), (6, 3)] {
        println!("## sameish, blocks ({total}, {differing})");
        let mut index = HammingIndex::with_blocks(Blocks { total, differing }).unwrap();
        let start = ProcessTime::now();
        index.insert_all(&work.entries);
        let n = work.entries.len();
        let bytes = index.memory_bytes() as f64 / n as f64;
        let note = format!("{} tables, {bytes:.1} bytes per fingerprint", index.table_count());
        line("bulk build", start.elapsed().as_secs_f64(), n, &note);
        queries(&index, work, work.uniform.len());
        let start = ProcessTime::now();
        index.remove_all(&work.entries);
        line("remove_all", start.elapsed().as_secs_f64(), n, "");
    }
}

/// Measures adversarial codes that share bits, or are all equal.
fn hostile(n: usize) {
    println!("## sameish, radius 3, {n} codes, adversarial sets");
    let mut random = f64::MAX;
    for (name, mask) in [
        ("random", 0),
        ("16 shared bits", 0xFFFF),
        ("32 shared bits", 0xFFFF_FFFFu64),
        ("40 shared bits", 0xFF_FFFF_FFFF),
    ] {
        let codes: Vec<u64> = splitmix(9, n).into_iter().map(|code| code & !mask).collect();
        let mut index = HammingIndex::with_capacity(3, n).unwrap();
        let start = ProcessTime::now();
        for (i, &code) in codes.iter().enumerate() {
            index.insert(Fingerprint::from_u64(code), DocNumber(i as u32));
        }
        let insert = start.elapsed().as_secs_f64() / n as f64 * 1e9;
        let queries: Vec<Fingerprint> =
            codes.iter().take(100_000).map(|code| Fingerprint::from_u64(code ^ 1 << 50)).collect();
        let mut hits = 0;
        let timing = time(3, || index.find_all_bulk(&queries, |_, found| hits += found.len()));
        let bytes = index.memory_bytes() as f64 / n as f64;
        if mask == 0 {
            random = timing.best;
        }
        line(
            name,
            timing.best,
            queries.len(),
            &format!(
                "{:.1} x random, {} hits, insert {insert:.0} ns, {bytes:.1} bytes per fingerprint",
                timing.best / random,
                hits / 3
            ),
        );
    }
    let mut index = HammingIndex::with_capacity(3, n).unwrap();
    let start = ProcessTime::now();
    (0..n as u32).for_each(|i| _ = index.insert(Fingerprint::from_u64(7), DocNumber(i)));
    let insert = start.elapsed().as_secs_f64();
    let start = ProcessTime::now();
    (0..n as u32).for_each(|i| _ = index.remove(Fingerprint::from_u64(7), DocNumber(i)));
    line("all equal, insert", insert, n, "");
    line("all equal, remove", start.elapsed().as_secs_f64(), n, "");
}

/// Measures all pairs of codes and planted queries together, the workload on which simhash-cpp takes 6.67 s at 1 million.
fn self_join(work: &Work) {
    let mut codes: Vec<Fingerprint> =
        work.entries.iter().map(|&(code, _)| code).chain(work.planted.clone()).collect();
    codes.sort_unstable();
    codes.dedup();
    let entries: Vec<_> = codes.iter().enumerate().map(|(i, &code)| (code, DocNumber(i as u32))).collect();
    let mut pairs = 0;
    let timing = time(3, || {
        let mut index = HammingIndex::with_capacity(3, entries.len()).unwrap();
        index.insert_all(&entries);
        pairs = 0;
        index.pairs(|_| pairs += 1);
    });
    line(
        "all pairs with build, radius 3",
        timing.best,
        entries.len(),
        &format!("{pairs} pairs of {} codes", entries.len()),
    );
}

/// Measures the longest single insert while an index grows, in CPU time, because wall time includes scheduling delays.
fn pauses(n: usize) {
    let codes = splitmix(5, n);
    let mut index = HammingIndex::with_capacity(3, n).unwrap();
    let mut longest: Vec<f64> = Vec::new();
    for (i, &code) in codes.iter().enumerate() {
        let start = ThreadTime::now();
        index.insert(Fingerprint::from_u64(code), DocNumber(i as u32));
        let seconds = start.elapsed().as_secs_f64();
        if seconds > 100e-6 {
            longest.push(seconds);
        }
    }
    longest.sort_by(|a, b| b.total_cmp(a));
    let top: Vec<String> = longest.iter().take(5).map(|s| format!("{:.2}", s * 1e3)).collect();
    println!("longest of {n} inserts, ms: {}; over 0.1 ms: {}", top.join(", "), longest.len());
}

/// Writes an index to a file, maps it and queries it. Wall time.
fn stored(n: usize) {
    let work = Work::new(n);
    let mut index = HammingIndex::with_capacity(3, n).unwrap();
    let start = Instant::now();
    index.insert_all(&work.entries);
    println!("build of {n}: {:.2} s", start.elapsed().as_secs_f64());
    let path = std::env::temp_dir().join("sameish-bench-index");
    let start = Instant::now();
    index.write_into(&mut std::fs::File::create(&path).unwrap()).unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    println!("write of {bytes} bytes: {:.2} s", start.elapsed().as_secs_f64());
    drop(index);
    let start = Instant::now();
    let mapped = MappedIndex::open(&path).unwrap();
    let view = mapped.view().unwrap();
    println!("open: {:.6} s", start.elapsed().as_secs_f64());
    let queries = &work.planted[..work.take(3)];
    let mut hits = 0;
    let timing = time(3, || {
        hits = 0;
        view.find_all_bulk(queries, |_, found| hits += found.len());
    });
    line("find_all_bulk in the mapped file, planted", timing.best, queries.len(), &format!("{hits} hits"));
    let start = Instant::now();
    view.verify().unwrap();
    println!("verify: {:.2} s", start.elapsed().as_secs_f64());
    drop(mapped);
    std::fs::remove_file(path).unwrap();
}
