//! `sameish bench`: benchmarks on this machine.

mod dedup;
mod hamming;
mod sketch;
mod texts;

use crate::exit::Exit;

/// Run benchmarks on this machine
///
/// The figures depend on the machine and its load. Compare only figures of the same machine.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Hamming(hamming::Args),
    Sketch(sketch::Args),
    Dedup(Box<dedup::Args>),
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    match args.what {
        What::Hamming(args) => hamming::run(args),
        What::Sketch(args) => sketch::run(args),
        What::Dedup(args) => dedup::run(*args),
    }
}
