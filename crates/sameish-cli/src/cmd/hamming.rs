//! `sameish hamming`: stored tables of fingerprints, divided by key range.

mod build;
mod merge;
mod query;
mod tables;

use crate::exit::Exit;

/// Store tables of fingerprints, divided into parts by key range, and query them
///
/// Several processes or machines can each hold one part of a corpus. Each query is sent to every part. Together, the parts find
/// exactly the documents that the whole index finds, each once, and `merge` merges their answers. Tables are mapped into memory, so
/// a process needs memory only for what it reads. Only fingerprints are compared, so matches are not verified.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  sameish hamming build tables/ articles.jsonl --preset wire --parts 16
  sameish hamming query tables/ today.jsonl
  sameish hamming query tables/ today.jsonl --part 3/16 -o answers-3.jsonl
  sameish hamming merge answers-*.jsonl

Parts are numbered from 1. A machine that holds part 3 of 16 needs the files
`hamming.json`, `ids.jsonl`, `ids.offsets` and `part-3-of-16.hamming`.

Exit codes: 0 success, 2 usage error, 3 some records rejected, 4 unreadable
input, 5 limit reached, 6 output failed, 1 internal error.";

#[derive(Debug, clap::Subcommand)]
enum Command {
    Build(Box<build::Args>),
    Query(Box<query::Args>),
    Merge(merge::Args),
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    match args.command {
        Command::Build(args) => build::run(*args),
        Command::Query(args) => query::run(*args),
        Command::Merge(args) => merge::run(args),
    }
}
