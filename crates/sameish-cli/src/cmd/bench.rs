//! `sameish bench`: benchmarks on this machine.

mod hamming;

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
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    match args.what {
        What::Hamming(args) => hamming::run(args),
    }
}
