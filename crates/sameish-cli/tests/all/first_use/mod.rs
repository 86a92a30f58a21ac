//! Mistakes that new users make: each must be refused with the reason, or do what the user meant.

mod fields;
mod figures;
mod flags;
mod outputs;

use crate::common::{BRIDGE, Dir, HARVEST};
use serde_json::{Value, json};

/// Returns records with a title and a text in the given field; two of three texts are equal, and two of three titles are equal.
fn titled(field: &str) -> Vec<Value> {
    let record = |id: u32, title: &str, text: &str| json!({"key": id, "title": title, field: text});
    vec![
        record(1, "Same title of two", BRIDGE),
        record(2, "Same title of two", HARVEST),
        record(3, "Other", BRIDGE),
    ]
}

/// Returns a directory with `body.jsonl`, whose texts are in `body`, and `a.jsonl`, whose texts are in `text`.
fn directory() -> Dir {
    let dir = Dir::new();
    dir.write_records("body.jsonl", &titled("body"));
    dir.write_records("a.jsonl", &titled("text"));
    dir
}

/// Returns a CSV file with these separators and the records of [`titled`].
fn table(separator: char, text: &str) -> String {
    let line = |values: [&str; 3]| values.join(&separator.to_string()) + "\n";
    let rows = [["1", "Same", BRIDGE], ["2", "Same", HARVEST], ["3", "Other", BRIDGE]];
    line(["key", "title", text]) + &rows.map(line).concat()
}
