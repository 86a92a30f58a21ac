//! Benchmark of the overlap index compared with a scan of bit vectors, one thread, CPU time.
//! `cargo run --release --bin overlap -- [N]`
//!
//! Codes have 2,048 bits with 40 set at random. Every tenth code shares 30 bits with an earlier one; these are the queries. The scan
//! computes AND and popcount. `memory read` is one pass over the data of the scan, a lower bound for any scan.

use sameish::Sdr;
use sameish::index::{DocNumber, OverlapHit, OverlapIndex};
use sameish_bench::{splitmix, time};
use std::cmp::Reverse;
use std::hint::black_box;

const SIZE: u32 = 2048;
const ACTIVE: usize = 40;
const WORDS: usize = SIZE as usize / 64;

fn main() {
    let n: usize = std::env::args().nth(1).map_or(1_600_000, |n| n.parse().unwrap());
    for count in [n / 16, n / 4, n] {
        measure(count);
    }
}

fn measure(n: usize) {
    println!("# {n} codes of {SIZE} bits, {ACTIVE} set");
    let codes = codes(n);
    let mut index = OverlapIndex::new(SIZE);
    let insert = time(1, || {
        for (i, code) in codes.iter().enumerate() {
            index.insert(DocNumber(i as u32), code).unwrap();
        }
    });
    let bytes = index.memory_bytes() as f64 / n as f64;
    line("insert", insert.best, n, &format!("{bytes:.0} bytes per document"));
    let queries: Vec<&Sdr> = codes.iter().skip(9).step_by(n / 50 / 10 * 10).collect();
    let vectors: Vec<[u64; WORDS]> = codes.iter().map(dense).collect();
    let few = &queries[..queries.len().min(10)];
    for &query in few {
        assert_eq!(index.top(query, 10).unwrap(), scan(&vectors, &dense(query), 10));
    }
    let timing = time(3, || queries.iter().for_each(|query| drop(black_box(index.top(query, 10)))));
    line("top 10", timing.best, queries.len(), "");
    let timing = time(3, || queries.iter().for_each(|query| drop(black_box(index.at_least(query, 10)))));
    line("at least 10", timing.best, queries.len(), "");
    let timing = time(1, || few.iter().for_each(|query| drop(black_box(scan(&vectors, &dense(query), 10)))));
    line("scan, top 10", timing.best, few.len(), "256 bytes per document");
    let timing = time(3, || _ = black_box(vectors.iter().flatten().fold(0, |sum, word| sum ^ word)));
    line("memory read", timing.best, 1, "");
    let remove = time(1, || {
        (0..n as u32).step_by(2).for_each(|doc| assert!(index.remove(DocNumber(doc))));
    });
    line("remove", remove.best, n / 2, "every second document");
}

fn codes(n: usize) -> Vec<Sdr> {
    let mut random = splitmix(1, n).into_iter();
    let mut codes: Vec<Sdr> = Vec::with_capacity(n);
    for i in 0..n {
        let mut state = random.next().unwrap();
        let mut active =
            if i % 10 == 9 { codes[state as usize % i].active()[..30].to_vec() } else { Vec::new() };
        while active.len() < ACTIVE {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let bit = (state >> 40) as u32 % SIZE;
            if !active.contains(&bit) {
                active.push(bit);
            }
        }
        active.sort_unstable();
        codes.push(Sdr::from_active(SIZE, active).unwrap());
    }
    codes
}

fn dense(code: &Sdr) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    code.active().iter().for_each(|&bit| words[bit as usize / 64] |= 1 << (bit % 64));
    words
}

fn scan(vectors: &[[u64; WORDS]], query: &[u64; WORDS], k: usize) -> Vec<OverlapHit> {
    let mut hits = Vec::new();
    let mut minimum = 1;
    for (i, vector) in vectors.iter().enumerate() {
        let overlap: u32 = vector.iter().zip(query).map(|(a, b)| (a & b).count_ones()).sum();
        if overlap >= minimum {
            hits.push(OverlapHit { doc: DocNumber(i as u32), overlap });
        }
        if hits.len() > 4 * k {
            keep_top(&mut hits, k);
            minimum = hits[k - 1].overlap;
        }
    }
    keep_top(&mut hits, k);
    hits
}

fn keep_top(hits: &mut Vec<OverlapHit>, k: usize) {
    hits.sort_unstable_by_key(|hit| (Reverse(hit.overlap), hit.doc));
    hits.truncate(k);
}

fn line(name: &str, seconds: f64, count: usize, note: &str) {
    println!("{name:<16} {:>12.3} us each  {note}", seconds / count as f64 * 1e6);
}
