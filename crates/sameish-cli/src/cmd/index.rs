//! `sameish index`: a folder of documents that stay, and what is like them.

mod add;
mod look;
mod query;

use crate::exit::{Exit, Failure};
use crate::output::escape::{escaped, escaped_name};
use sameish_store::{Catalog, Collection, Error, OpenOptions};
use std::path::{Path, PathBuf};

/// Keep documents in a folder and find what is like them
///
/// A durable index on disk: documents, their sketches and live clusters, in the same form as the service keeps them.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  sameish index build news/ articles.jsonl --preset articles
  sameish index add news/ today.jsonl -o answers.jsonl
  sameish index query news/ candidates.jsonl
  sameish index remove news/ 17 '\"17\"' some-id
  sameish index verify news/

A folder may have several collections; `--collection` names the one that is
meant where there is more than one. A folder that a service has open can be
queried and looked at, and not changed.

Exit codes: 0 clean, 2 wrong usage, 3 some records rejected, 4 an input or the
folder unreadable or damaged, 5 a limit hit or the disk full, 6 output failed,
1 our fault.";

#[derive(Debug, clap::Subcommand)]
enum Command {
    Build(Box<add::BuildArgs>),
    Add(Box<add::AddArgs>),
    Remove(look::RemoveArgs),
    Query(Box<query::Args>),
    Stats(look::StatsArgs),
    Verify(look::VerifyArgs),
    Rebuild(look::RebuildArgs),
    Snapshot(look::SnapshotArgs),
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    match args.command {
        Command::Build(args) => add::build(*args),
        Command::Add(args) => add::add(*args),
        Command::Remove(args) => look::remove(args),
        Command::Query(args) => query::run(*args),
        Command::Stats(args) => look::stats(args),
        Command::Verify(args) => look::verify(args),
        Command::Rebuild(args) => look::rebuild(args),
        Command::Snapshot(args) => look::snapshot(args),
    }
}

/// Which folder, and what in it.
#[derive(Debug, clap::Args)]
struct FolderArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The collection [default: the only one]
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
}

impl FolderArgs {
    fn open(&self, access: Access) -> Result<Catalog, Failure> {
        open(&self.folder, access)
    }

    /// The collection that is meant.
    fn collection(&self, catalog: &Catalog) -> Result<Collection, Failure> {
        if let Some(name) = &self.collection {
            return catalog.collection(name).map_err(failure);
        }
        let mut all = catalog.collections();
        match all.len() {
            1 => Ok(all.remove(0)),
            0 => {
                let folder = escaped_name(self.folder.as_os_str());
                Err(Failure::usage(format!("{folder} has no collections; `sameish index build` makes one")))
            }
            _ => {
                let names: Vec<&str> = all.iter().map(Collection::name).collect();
                Err(Failure::usage(format!("pass `--collection`, one of {}", names.join(", "))))
            }
        }
    }
}

/// What is done to a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Create,
    Change,
    Look,
    /// Everything as it is at one moment.
    Inspect,
}

fn open(folder: &Path, access: Access) -> Result<Catalog, Failure> {
    let options = OpenOptions {
        create: access == Access::Create,
        read_only: matches!(access, Access::Look | Access::Inspect),
        at_one_moment: access == Access::Inspect,
        ..OpenOptions::default()
    };
    Catalog::open(folder, options).map_err(failure)
}

/// What a store refuses, with the number for the caller's script.
pub(crate) fn failure(error: Error) -> Failure {
    let exit = match &error {
        Error::Full => Exit::Limit,
        Error::NoCollection { .. } | Error::Exists { .. } | Error::BadName { .. } | Error::Engine(_) => {
            Exit::Usage
        }
        Error::ReadOnly { .. } | Error::Failed { .. } => Exit::Output,
        _ => Exit::Unreadable,
    };
    Failure::new(exit, escaped(&error.to_string()))
}
