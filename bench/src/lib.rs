//! What the benchmarks share: reading a workload, and timing by the CPU's clock.

use cpu_time::ProcessTime;

/// The texts of a JSONL workload, in order.
pub fn read_texts(path: &str, limit: usize) -> Vec<String> {
    let file = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}; see bench/README.md"));
    let text = |line: &str| match serde_json::from_str::<serde_json::Value>(line) {
        Ok(mut value) => match value["text"].take() {
            serde_json::Value::String(text) => text,
            other => panic!("{path}: text is {other}"),
        },
        Err(e) => panic!("{path}: {e}"),
    };
    file.lines().take(limit).map(text).collect()
}

/// Best and median CPU seconds of some repeats. CPU time, because the machine has other work too.
#[derive(Clone, Copy)]
pub struct Timing {
    pub best: f64,
    pub median: f64,
}

pub fn time(repeats: usize, mut work: impl FnMut()) -> Timing {
    let mut seconds: Vec<f64> = (0..repeats)
        .map(|_| {
            let start = ProcessTime::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    Timing { best: seconds[0], median: seconds[repeats / 2] }
}

/// A line in the same shape as the rivals' script prints.
pub fn report(name: &str, bytes: usize, timing: Timing, note: &str) {
    let rate = |seconds: f64| bytes as f64 / seconds / 1e6;
    println!("{name:<58} {:>8.1} MB/s (median {:>8.1})  {note}", rate(timing.best), rate(timing.median));
}

/// The first numbers of SplitMix64 from a seed.
pub fn splitmix(seed: u64, n: usize) -> Vec<u64> {
    let value = |i: u64| {
        let z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15u64.wrapping_mul(i));
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    (1..=n as u64).map(value).collect()
}

/// Queries of which every second is one of the codes with 0 to 3 bits flipped, as gen_hashes.py makes them.
pub fn planted(codes: &[u64], count: usize) -> Vec<u64> {
    let (bases, bits) = (splitmix(3, count), splitmix(4, count));
    let mut planted = splitmix(2, count);
    for j in (0..count).step_by(2) {
        let b = bits[j];
        let first = b & 63;
        let places = [first, first + 1 + (b >> 8) % 31, first + 32 + (b >> 16) % 31];
        let base = codes[(bases[j] % codes.len() as u64) as usize];
        planted[j] = places.iter().take(j / 2 % 4).fold(base, |code, place| code ^ 1 << (place & 63));
    }
    planted
}
