//! The command line of sameish: arguments, progress and printing.
//!
//! Each command is a file in [`cmd`]. Reading, comparing and writing are in the library `sameish-batch`.

#![forbid(unsafe_code)]

mod args;
mod choice;
mod cmd;
mod exit;
mod line_output;
mod output;
mod run_args;
mod run_log;
mod signals;

use clap::{Parser, Subcommand};
use exit::{Exit, Failure, catch_panics};
use std::process::ExitCode;

/// Find near-duplicate texts, with verified similarities and evidence
#[derive(Debug, Parser)]
#[command(name = "sameish", version, propagate_version = true, after_help = AFTER_HELP, max_term_width = 80)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  sameish compare draft.txt published.txt
  sameish dedup articles.jsonl -o kept.jsonl
  sameish pairs articles.jsonl
  sameish cluster --preset headlines titles.jsonl
  sameish fingerprint articles.jsonl.gz -o sketches.jsonl
  sameish eval found.jsonl truth.jsonl
  sameish tune articles.jsonl
  sameish serve --demo
  sameish index build news/ articles.jsonl --preset articles

See `sameish COMMAND --help` for options and examples.
Exit codes: 0 success, 1 internal error, 2 usage error, 3 some records rejected,
4 unreadable input, 5 limit reached, 6 output failed; 129, 130, 143 ended by
a signal.";

#[derive(Debug, Subcommand)]
enum Command {
    Compare(cmd::compare::Args),
    Dedup(Box<cmd::dedup::Args>),
    Pairs(cmd::pairs::Args),
    Cluster(cmd::cluster::Args),
    Eval(cmd::eval::Args),
    Fingerprint(cmd::fingerprint::Args),
    Index(cmd::index::Args),
    Restore(cmd::restore::Args),
    Backfill(cmd::backfill::Args),
    Tune(cmd::tune::Args),
    Serve(cmd::serve::Args),
    Keys(cmd::keys::Args),
    Config(cmd::config::Args),
    Hamming(cmd::hamming::Args),
    Bench(cmd::bench::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // The service handles signals itself.
    if !matches!(cli.command, Command::Serve(_)) {
        signals::watch();
    }
    catch_panics(|| run(cli)).into()
}

fn run(cli: Cli) -> anyhow::Result<Exit> {
    force_simd_level()?;
    match cli.command {
        Command::Compare(args) => cmd::compare::run(args),
        Command::Dedup(args) => cmd::dedup::run(*args),
        Command::Pairs(args) => cmd::pairs::run(args),
        Command::Cluster(args) => cmd::cluster::run(args),
        Command::Index(args) => cmd::index::run(args),
        Command::Restore(args) => cmd::restore::run(args),
        Command::Backfill(args) => cmd::backfill::run(args),
        Command::Tune(args) => cmd::tune::run(args),
        Command::Serve(args) => cmd::serve::run(args),
        Command::Keys(args) => cmd::keys::run(args),
        Command::Config(args) => cmd::config::run(args),
        Command::Hamming(args) => cmd::hamming::run(args),
        Command::Bench(args) => cmd::bench::run(args),
        Command::Eval(args) => cmd::eval::run(args),
        Command::Fingerprint(args) => cmd::fingerprint::run(args),
    }
}

/// Applies `SAMEISH_SIMD`, which forces a level of vector instructions for tests and measurements.
fn force_simd_level() -> anyhow::Result<()> {
    let Some(level) = std::env::var_os("SAMEISH_SIMD") else { return Ok(()) };
    let wrong = |why: String| Failure::usage(format!("environment variable `SAMEISH_SIMD`: {why}"));
    let level = level.to_str().ok_or_else(|| wrong("the value is not UTF-8".into()))?;
    Ok(sameish::simd::force(level).map_err(|error| wrong(error.to_string()))?)
}
