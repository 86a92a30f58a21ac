//! `sameish restore`: restores a snapshot into a data directory.

use super::index::failure;
use crate::exit::Exit;
use sameish_store::Catalog;
use std::path::PathBuf;

/// Restore a snapshot into a data directory
///
/// Checks the snapshot before it replaces anything. Fails if the directory already contains documents, unless `--replace` is
/// given. `--replace` keeps the old database in the same directory, under a name that starts with
/// `sameish.db.before-restore`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Snapshot directory
    #[arg(value_name = "SNAPSHOT")]
    from: PathBuf,
    /// Data directory to restore into
    #[arg(value_name = "DIR")]
    to: PathBuf,
    /// Replace existing documents
    #[arg(long)]
    replace: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    Catalog::restore(&args.from, &args.to, args.replace).map_err(failure)?;
    Ok(Exit::Clean)
}
