//! `sameish hamming merge`: the answers of several parts as those of the whole index.

use super::query::{LIMIT, Line};
use crate::exit::{Exit, Failure};
use crate::output::jsonl::push_line;
use sameish_batch::input::{Input, InputError, ReadOptions, open_lines};
use sameish_batch::output::CompressedOutput;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// Merge the answers that all parts gave to the same queries
///
/// Reads the outputs of `query --part` line by line, each part once, and writes the lines that `query` writes for all parts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sameish hamming merge answers-*.jsonl -o answers.jsonl")]
pub(super) struct Args {
    /// Outputs of `sameish hamming query --part`, one per part, which may be compressed
    #[arg(required = true, value_name = "ANSWERS")]
    answers: Vec<PathBuf>,
    /// Maximum number of matches per document, the nearest ones; at most that of the queries
    #[arg(long, value_name = "N", default_value_t = LIMIT, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Write to OUT, atomically, instead of standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<Exit> {
    let open = |path: &PathBuf| Reader::open(path).map_err(|error| unreadable(error.to_string()));
    let mut readers = args.answers.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    check_parts(&mut readers)?;
    let mut output = CompressedOutput::create(args.output.as_deref(), args.force, &[])?;
    while let Some(line) = next_line(&mut readers, args.limit as usize)? {
        let mut bytes = Vec::new();
        push_line(&mut bytes, &line);
        if !output.write(&bytes)? {
            return Ok(Exit::Clean);
        }
    }
    output.finish()?;
    Ok(Exit::Clean)
}

fn unreadable(reason: impl Into<String>) -> Failure {
    Failure::new(Exit::Unreadable, reason.into())
}

/// Checks that the first lines of the files are answers of every part, each once. Files without lines are accepted for any part.
fn check_parts(readers: &mut [Reader]) -> Result<(), Failure> {
    let mut of = None;
    let mut names: BTreeMap<u32, String> = BTreeMap::new();
    for reader in readers {
        let name = reader.name.clone();
        let Some(line) = reader.peek()? else { continue };
        let Some((part, parts)) = line.part.zip(line.parts) else {
            let reason = "is the answer of all parts; pass outputs of `sameish hamming query --part`";
            return Err(reader.wrong(reason));
        };
        if *of.get_or_insert(parts) != parts {
            return Err(reader.wrong(
                "is the answer of a part of other tables; pass the outputs of all parts of the same tables",
            ));
        }
        reader.part = Some(part);
        if let Some(other) = names.insert(part, name.clone()) {
            let reason =
                format!("`{other}` and `{name}` both answer part {part} of {parts}; pass each part once");
            return Err(unreadable(reason));
        }
    }
    let of = of.unwrap_or(0);
    match (1..=of).find(|part| !names.contains_key(part)) {
        Some(missing) => {
            let reason = format!(
                "part {missing} of {of} is missing; query it with `sameish hamming query --part {missing}/{of}`"
            );
            Err(unreadable(reason))
        }
        None => Ok(()),
    }
}

/// Merges the next line of all readers. Returns `None` at their end.
fn next_line(readers: &mut [Reader], limit: usize) -> Result<Option<Line>, Failure> {
    let mut merged: Option<Line> = None;
    let mut ended = 0;
    for reader in readers.iter_mut() {
        let Some(line) = reader.next()? else {
            ended += 1;
            continue;
        };
        if line.part != reader.part {
            return Err(reader.wrong("answers another part than the lines before it"));
        }
        if line.capped && line.matches.len() < limit {
            let found = line.matches.len();
            let reason = format!("was queried with `--limit {found}`; pass `--limit {found}` or less");
            return Err(reader.wrong(&reason));
        }
        match &mut merged {
            None => merged = Some(line),
            Some(merged) if merged.build != line.build => {
                let reason =
                    "answers from other tables than the other files; query all parts of the same tables";
                return Err(reader.wrong(reason));
            }
            Some(merged) if merged.radius != line.radius => {
                let reason = format!(
                    "was queried with radius {}, the other files with {}; query all parts with the same `--radius`",
                    line.radius.unwrap_or_default(),
                    merged.radius.unwrap_or_default()
                );
                return Err(reader.wrong(&reason));
            }
            Some(merged) if merged.id == line.id => {
                merged.capped |= line.capped;
                merged.matches.extend(line.matches);
            }
            Some(_) => return Err(reader.wrong("answers a different query than the other files")),
        }
    }
    if ended > 0 && merged.is_some() {
        return Err(unreadable("the files have different numbers of answers; query all parts again"));
    }
    if let Some(merged) = &mut merged {
        merged.matches.sort_by_key(|near| (near.simhash_distance, near.number));
        merged.capped |= merged.matches.len() > limit;
        merged.matches.truncate(limit);
        (merged.part, merged.parts, merged.build, merged.radius) = (None, None, None, None);
    }
    Ok(merged)
}

/// Reads the answers of one part.
struct Reader {
    name: String,
    lines: std::io::Lines<Box<dyn BufRead>>,
    /// Number of lines read.
    read: u64,
    /// The first line, if it was read but not taken.
    peeked: Option<Line>,
    /// The part that answers.
    part: Option<u32>,
}

impl Reader {
    fn open(path: &Path) -> Result<Reader, InputError> {
        let input = Input::file(path.to_owned());
        let bytes: Box<dyn BufRead> = Box::new(open_lines(&input, &ReadOptions::default())?);
        Ok(Reader { name: input.name.to_string(), lines: bytes.lines(), read: 0, peeked: None, part: None })
    }

    /// Returns the first line.
    fn peek(&mut self) -> Result<Option<&Line>, Failure> {
        self.peeked = self.next()?;
        Ok(self.peeked.as_ref())
    }

    fn next(&mut self) -> Result<Option<Line>, Failure> {
        if let Some(line) = self.peeked.take() {
            return Ok(Some(line));
        }
        let Some(line) = self.lines.next() else { return Ok(None) };
        self.read += 1;
        let line = line.map_err(|error| self.wrong(&error.to_string()))?;
        let line = serde_json::from_str(&line);
        line.map(Some).map_err(|_| self.wrong("not a line that `sameish hamming query` writes"))
    }

    fn wrong(&self, reason: &str) -> Failure {
        unreadable(format!("`{}`: line {}: {reason}", self.name, self.read))
    }
}
