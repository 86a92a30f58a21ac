//! Benchmark of the store: insert rate, query time, start time and memory.
//!
//! ```text
//! cargo run --release --bin store -- FILE.jsonl DIR [PRESET] [LIMIT]
//! cargo run --release --bin store -- - DIR [PRESET]
//! ```
//!
//! The first form inserts the documents of a JSONL file durably, 256 per call, searches for documents similar to 2,000 of them,
//! inserts 2,000 more one by one from 16 threads, and opens the directory again. The second form only opens an existing directory.

use sameish::{DocId, Document, Preset};
use sameish_store::{Catalog, CollectionConfig, OpenOptions, SimilarOptions};
use std::io::BufRead;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, directory, rest @ ..] = &arguments[..] else {
        return Err("usage: store FILE.jsonl DIR [PRESET] [LIMIT]".into());
    };
    let preset: Preset = rest.first().map_or("articles", String::as_str).parse()?;
    let limit = rest.get(1).map_or(Ok(usize::MAX), |limit| limit.parse())?;
    if file == "-" {
        return open(directory, preset).map(|_| ());
    }
    let mut documents = read(file, limit)?;
    let singles = documents.split_off(documents.len().saturating_sub(2_000));
    println!("{} documents, {} bytes of text", documents.len(), documents.iter().map(size).sum::<usize>());

    let catalog = Catalog::open(directory, OpenOptions::default())?;
    let collection = catalog.create(preset.name(), CollectionConfig::new(preset))?;
    let before = resident();
    let (start, cpu) = (Instant::now(), cpu_time::ProcessTime::now());
    let mut duplicates = 0;
    let mut waiting = std::collections::VecDeque::new();
    for batch in documents.chunks(256) {
        waiting.push_back(collection.submit(batch.to_vec())?);
        if waiting.len() > 4 {
            duplicates += finish(waiting.pop_front())?;
        }
    }
    while let Some(pending) = waiting.pop_front() {
        duplicates += finish(Some(pending))?;
    }
    let (wall, cpu) = (start.elapsed(), cpu.elapsed());
    let count = documents.len() as f64;
    println!(
        "bulk: {:.0} documents/s, {:.0} documents per CPU second, {duplicates} with duplicates",
        count / wall.as_secs_f64(),
        count / cpu.as_secs_f64()
    );
    println!("memory: {:.0} bytes per document", (resident() - before) as f64 / count);

    let step = (documents.len() / 2_000).max(1);
    let (mut times, mut found, cpu) = (Vec::new(), 0, cpu_time::ProcessTime::now());
    for document in documents.iter().step_by(step) {
        let start = Instant::now();
        found += collection.similar(&document.id, SimilarOptions::default())?.similar.len();
        times.push(start.elapsed());
    }
    print_times("similar", &mut times);
    let cpu = cpu.elapsed().as_secs_f64() * 1e3 / times.len() as f64;
    println!("  {cpu:.2} ms of CPU time and {:.2} matches on average", found as f64 / times.len() as f64);

    let start = Instant::now();
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|thread| {
                let (collection, singles) = (&collection, &singles);
                scope.spawn(move || {
                    let mine = singles.iter().skip(thread).step_by(16);
                    mine.map(|document| {
                        let start = Instant::now();
                        collection.insert(document.clone()).map(|_| start.elapsed())
                    })
                    .collect::<Result<Vec<_>, _>>()
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or(Ok(Vec::new())).unwrap_or_default())
            .collect()
    });
    println!("16 clients: {:.0} inserts/s", times.len() as f64 / start.elapsed().as_secs_f64());
    print_times("insert", &mut times);

    let digest = collection.digest()?;
    println!("disk: {:.0} bytes per document", catalog.bytes()? as f64 / collection.len() as f64);
    drop(collection);
    catalog.close();
    println!("digest equals that of the live index: {}", open(directory, preset)? == digest);
    Ok(())
}

/// Opens an existing directory and returns the digest of its index.
fn open(directory: &str, preset: Preset) -> Result<u64, Box<dyn std::error::Error>> {
    let before = resident();
    let (start, cpu) = (Instant::now(), cpu_time::ProcessTime::now());
    let catalog = Catalog::open(directory, OpenOptions::default())?;
    let (ready, cpu) = (start.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
    let collection = catalog.collection(preset.name())?;
    println!("ready after {ready:.2} s, {cpu:.2} s of CPU time, {} documents", collection.len());
    println!("memory: {:.0} bytes per document", (resident() - before) as f64 / collection.len() as f64);
    Ok(collection.digest()?)
}

/// Waits for a submitted batch and returns the number of documents with duplicates.
fn finish(pending: Option<sameish_store::Pending>) -> Result<usize, Box<dyn std::error::Error>> {
    let Some(pending) = pending else { return Ok(0) };
    let mut duplicates = 0;
    for answer in pending.wait()? {
        duplicates += usize::from(!answer?.duplicates.is_empty());
    }
    Ok(duplicates)
}

fn read(file: &str, limit: usize) -> Result<Vec<Document>, Box<dyn std::error::Error>> {
    let lines = std::io::BufReader::new(std::fs::File::open(file)?).lines();
    let mut documents = Vec::new();
    for line in lines.take(limit) {
        let value: serde_json::Value = serde_json::from_str(&line?)?;
        let id: DocId = serde_json::from_value(value["id"].clone())?;
        documents.push(Document { id, ..Document::new(0, value["text"].as_str().unwrap_or_default()) });
    }
    Ok(documents)
}

fn size(document: &Document) -> usize {
    match &document.content {
        sameish::Content::Text(text) => text.len(),
        sameish::Content::Tokens(tokens) => tokens.iter().map(String::len).sum(),
        sameish::Content::Sketches(_) => 0,
    }
}

fn print_times(what: &str, times: &mut [Duration]) {
    times.sort();
    let at = |share: f64| {
        times.get((times.len() as f64 * share) as usize).map_or(0.0, Duration::as_secs_f64) * 1e3
    };
    println!("{what}: p50 {:.2} ms, p99 {:.2} ms, p99.99 {:.2} ms", at(0.5), at(0.99), at(0.9999));
}

/// Returns the resident memory of the process in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
