//! Benchmark of the band index with precomputed signatures, one thread. `cargo run --release --bin bands -- [DOCUMENTS]`
//!
//! Every tenth document is a copy of an earlier one in which each row is replaced with probability 0.1. The benchmark prints the
//! recall of these copies and the theoretical recall of 16 bands of 8 rows.

use cpu_time::ProcessTime;
use sameish::Signature;
use sameish::config::Bands;
use sameish::index::{BandIndex, DocNumber};

const ROWS: usize = 128;
const BANDS: Bands = Bands { count: 16, rows: 8 };

struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

fn main() {
    let documents: usize = std::env::args().nth(1).map_or(1_000_000, |n| n.parse().unwrap());
    for count in [documents / 16, documents / 4, documents] {
        measure(count);
    }
}

fn measure(count: usize) {
    let mut random = SplitMix(1);
    let mut signatures: Vec<Signature> = Vec::with_capacity(count);
    let mut planted = Vec::new();
    for i in 0..count {
        let rows: Vec<u32> = if i % 10 == 9 {
            let original = (random.next() % i as u64) as usize;
            planted.push((i, original));
            let keep = |row: &u32| if random.next() % 10 == 0 { random.next() as u32 } else { *row };
            signatures[original].rows().iter().map(keep).collect()
        } else {
            (0..ROWS).map(|_| random.next() as u32).collect()
        };
        signatures.push(Signature::from_rows(rows).unwrap());
    }
    println!("# {count} documents, {} bands of {} rows", BANDS.count, BANDS.rows);
    let documents = || signatures.iter().enumerate().map(|(i, signature)| (DocNumber(i as u32), signature));

    let mut bulk = BandIndex::new(ROWS as u32, BANDS).unwrap();
    let seconds = timed(|| bulk.insert_all(documents()).unwrap());
    println!(
        "bulk insert    {:>10.0} documents/s, {:.0} bytes per document",
        count as f64 / seconds,
        bytes(&bulk)
    );

    let mut index = BandIndex::new(ROWS as u32, BANDS).unwrap();
    let seconds = timed(|| documents().for_each(|(doc, signature)| index.insert(doc, signature).unwrap()));
    println!(
        "single insert  {:>10.0} documents/s, {:.0} bytes per document",
        count as f64 / seconds,
        bytes(&index)
    );

    let queries = planted.len();
    let mut found = 0;
    let seconds = timed(|| {
        for &(copy, original) in &planted {
            let hits = index.search(&signatures[copy], 0.5).unwrap().hits;
            found += usize::from(hits.iter().any(|hit| hit.doc.0 as usize == original));
        }
    });
    let expected = BANDS.probability(0.9);
    println!(
        "query          {:>10.2} us, recall of planted copies {:.4} (theory at similarity 0.9: {expected:.4})",
        seconds / queries as f64 * 1e6,
        found as f64 / queries as f64
    );
    let mut reported = 0;
    let mut join = Default::default();
    let seconds = timed(|| join = index.pairs(0.5, |_| reported += 1));
    println!(
        "pairs          {:>10.2} us per document, {reported} of {} candidates, {} buckets capped",
        seconds / count as f64 * 1e6,
        join.candidates,
        join.capped
    );
    let seconds =
        timed(|| planted.iter().for_each(|&(copy, _)| assert!(index.remove(DocNumber(copy as u32)))));
    println!("remove         {:>10.0} documents/s", queries as f64 / seconds);
}

fn bytes(index: &BandIndex) -> f64 {
    index.table_bytes() as f64 / index.len() as f64
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = ProcessTime::now();
    work();
    start.elapsed().as_secs_f64()
}
