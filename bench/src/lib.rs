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
