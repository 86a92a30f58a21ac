//! Shared code of the benchmarks: reading a workload, and measuring CPU time.

use cpu_time::ProcessTime;

/// Returns the texts of the first `limit` records of a JSONL file.
pub fn read_texts(path: &str, limit: usize) -> Vec<String> {
    let file = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}; see bench/README.md"));
    let text = |line: &str| match serde_json::from_str::<serde_json::Value>(line) {
        Ok(mut value) => match value["text"].take() {
            serde_json::Value::String(text) => text,
            other => panic!("{path}: expected a string in `text`, found {other}"),
        },
        Err(e) => panic!("{path}: {e}"),
    };
    file.lines().take(limit).map(text).collect()
}

/// Best and median CPU seconds of several runs. CPU time excludes other work on the machine.
#[derive(Clone, Copy)]
pub struct Timing {
    pub best: f64,
    pub median: f64,
}

/// Runs `work` several times and returns its CPU time.
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

/// Prints a result in the format of `peers.py`.
pub fn report(name: &str, bytes: usize, timing: Timing, note: &str) {
    let rate = |seconds: f64| bytes as f64 / seconds / 1e6;
    println!("{name:<58} {:>8.1} MB/s (median {:>8.1})  {note}", rate(timing.best), rate(timing.median));
}

/// Returns the first `n` numbers of SplitMix64 for a seed.
pub fn splitmix(seed: u64, n: usize) -> Vec<u64> {
    let value = |i: u64| {
        let z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15u64.wrapping_mul(i));
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    (1..=n as u64).map(value).collect()
}

/// Returns random queries; every second one is a stored code with 0 to 3 bits flipped.
pub fn planted(codes: &[u64], count: usize) -> Vec<u64> {
    let bases = splitmix(3, count);
    let bits = splitmix(4, count);
    let mut planted = splitmix(2, count);
    for j in (0..count).step_by(2) {
        let b = bits[j];
        let first = b & 63;
        let positions = [first, first + 1 + (b >> 8) % 31, first + 32 + (b >> 16) % 31];
        let base = codes[(bases[j] % codes.len() as u64) as usize];
        planted[j] =
            positions.iter().take(j / 2 % 4).fold(base, |code, position| code ^ 1 << (position & 63));
    }
    planted
}
