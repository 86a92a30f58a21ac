//! `sameish restore`: a snapshot becomes a folder again.

use super::index::failure;
use crate::exit::Exit;
use sameish_store::Catalog;
use std::path::PathBuf;

/// Put a snapshot into a folder
///
/// The snapshot is checked before anything is replaced. A folder that has documents is refused without `--replace`; with
/// it, the old documents are kept beside the new under a name that ends in `.before-restore`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The snapshot, a folder
    #[arg(value_name = "SNAPSHOT")]
    from: PathBuf,
    /// Where it goes
    #[arg(value_name = "DIR")]
    to: PathBuf,
    /// Replace the documents that are there
    #[arg(long)]
    replace: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    Catalog::restore(&args.from, &args.to, args.replace).map_err(failure)?;
    Ok(Exit::Clean)
}
