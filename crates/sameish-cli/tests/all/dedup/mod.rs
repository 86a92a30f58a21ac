//! `dedup`: kept records in every format, outputs, limits and errors.

mod formats;
mod hostile;
mod inputs;
mod laws;
mod outputs;
mod selection;

use crate::common::{Dir, Run, jsonl};
use serde_json::{Value, json};

const BRIDGE: &str = "The city council voted on Monday evening to close the old stone bridge for repairs until the end of \
                      spring, and asked drivers to take the ring road while the work goes on";
const HARVEST: &str = "Apple growers in the valley expect their best harvest in ten years after a mild and wet winter, \
                       the union of growers said at its meeting in the town hall";

fn near() -> String {
    BRIDGE.replace("while the work goes on", "while the work is done")
}

/// Five documents, of which 2 and 4 are removed.
fn news() -> String {
    jsonl(&[
        json!({"id": 1, "text": BRIDGE, "source": "a", "published_at": "2024-01-01", "score": 3}),
        json!({"id": 2, "text": near(), "source": "b", "published_at": "2024-01-03", "score": 20}),
        json!({"id": "1", "text": HARVEST, "source": "a"}),
        json!({"id": 4, "text": format!("{BRIDGE} now"), "source": "a", "published_at": "2024-01-02", "score": 7}),
        json!({"id": 5, "text": "Short"}),
    ])
}

fn summary(run: &Run) -> Value {
    // The summary goes to standard output if the data does not.
    let line = [&run.stdout, &run.stderr].into_iter().filter_map(|text| text.lines().last());
    line.filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|value| value["documents"].is_u64())
        .unwrap()
}

/// Runs `dedup` with `--json`.
fn dedup(dir: &Dir, args: &[&str]) -> Value {
    let args = ["dedup", "--json", "--quiet"].iter().chain(args);
    summary(&dir.run(args).ends_with(0))
}

/// Returns words that depend on the seed.
fn text(seed: u64, words: usize) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut word = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        format!("w{:x}", state >> 40)
    };
    (0..words).map(|_| word()).collect::<Vec<_>>().join(" ")
}

/// Returns a text with the word at `at` replaced.
fn changed(text: &str, at: usize, word: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    words[at] = word;
    words.join(" ")
}

fn corpus(texts: impl IntoIterator<Item = String>) -> String {
    (0..)
        .zip(texts)
        .map(|(id, text): (usize, String)| format!("{}\n", json!({"id": id, "text": text})))
        .collect()
}
