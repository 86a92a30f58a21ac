//! Reads JSONL documents (`{"id": ..., "text": ...}`, optionally with `published_at`) and prints all matching pairs, then all clusters, as JSONL.
//!
//! Run with `cargo run -p sameish --example cluster -- FILE`, or without an argument for a built-in sample. For corpora larger
//! than memory use the crate `sameish-batch` or the commands `sameish pairs` and `sameish cluster`.
#![allow(clippy::print_stdout)]

use sameish::matching::Relation;
use sameish::{DocId, Document, Engine, Preset};
use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;

const SAMPLE: &str = r#"{"id": 1, "text": "Acme Steel Corp sets quarterly dividend of 10 cents a share, payable on April 15 to holders of record"}
{"id": 2, "text": "Acme Steel Corp sets quarterly dividend of 10 cents a share, payable on April 15 to holders of record."}
{"id": 3, "text": "Bolt Foods Ltd sets quarterly dividend of 25 cents a share, payable on June 30 to holders of record"}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1);
    let input = path.map_or(Ok(SAMPLE.to_owned()), std::fs::read_to_string)?;
    let mut engine = Engine::new(Preset::Copies.config())?;
    for line in input.lines() {
        let record: Value = serde_json::from_str(line)?;
        let id: DocId = serde_json::from_value(record["id"].clone())?;
        let text = record["text"].as_str().ok_or("no `text`")?;
        let published_at = record["published_at"].as_str().map(str::to_owned);
        engine.insert(&Document { id, published_at, ..Document::new(0, text) })?;
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let effort = engine.pairs(|pair| {
        let verdict = pair.verdict;
        let line = json!({
            "a": pair.a, "b": pair.b, "similarity": verdict.similarity, "match_type": verdict.kind.name(),
            "verified": verdict.verified, "facts": verdict.facts, "template": verdict.template,
            "relation": pair.relation.map(Relation::name),
        });
        writeln!(out, "{line}").map_or(ControlFlow::Break(()), ControlFlow::Continue)
    });
    for group in engine.groups().groups {
        writeln!(out, "{}", json!({"center": group.center, "members": group.members}))?;
    }
    eprintln!("{} documents, {} limits reached", engine.len(), effort.capped);
    Ok(out.flush()?)
}
