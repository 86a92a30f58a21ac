//! `sameish bench`: our own figures on this machine.

mod hamming;

use crate::exit::Exit;

/// Measure on this machine
///
/// Figures of one run on one machine: compare them with others of the same run only.
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
