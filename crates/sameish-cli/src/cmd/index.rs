//! `sameish index`: a durable index on disk.

mod add;
mod admin;
mod maintenance;
mod query;

use crate::exit::{Exit, Failure};
use crate::output::escape::{escaped, escaped_name};
use crate::output::jsonl::rounded;
use crate::output::messages::say;
use crate::output::verdict::VerdictFields;
use sameish::{DocId, Match};
use sameish_store::{Catalog, Collection, Error, OpenOptions};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Store documents in a durable index and query it
///
/// A data directory contains documents, sketches and live clusters, in the format of the service.
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

A directory may have several collections; pass `--collection` if it has more
than one. While a service uses a directory, it can be queried but not changed.

Exit codes: 0 success, 2 usage error, 3 some records rejected, 4 input or
directory unreadable or damaged, 5 limit reached or out of disk space, 6 output
failed, 1 internal error.";

#[derive(Debug, clap::Subcommand)]
enum Command {
    Build(Box<add::BuildArgs>),
    Add(Box<add::AddCommand>),
    Remove(admin::RemoveArgs),
    Query(Box<query::Args>),
    Stats(admin::StatsArgs),
    Verify(admin::VerifyArgs),
    Rebuild(admin::RebuildArgs),
    Snapshot(admin::SnapshotArgs),
    Compact(maintenance::CompactArgs),
    Drop(maintenance::DropArgs),
    Expire(maintenance::ExpireArgs),
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    match args.command {
        Command::Build(args) => add::build(*args),
        Command::Add(args) => add::add(*args),
        Command::Remove(args) => admin::remove(args),
        Command::Query(args) => query::run(*args),
        Command::Stats(args) => admin::stats(args),
        Command::Verify(args) => admin::verify(args),
        Command::Rebuild(args) => admin::rebuild(args),
        Command::Snapshot(args) => admin::snapshot(args),
        Command::Compact(args) => maintenance::compact(args),
        Command::Drop(args) => maintenance::drop_collection(args),
        Command::Expire(args) => maintenance::expire(args),
    }
}

/// Selects a directory and a collection.
#[derive(Debug, clap::Args)]
struct DirectoryArgs {
    /// Data directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Name of the collection [default: the only collection]
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
}

impl DirectoryArgs {
    fn open(&self, access: Access) -> Result<Catalog, Failure> {
        open(&self.directory, access)
    }

    /// Returns the selected collection.
    fn collection(&self, catalog: &Catalog) -> Result<Collection, Failure> {
        if let Some(name) = &self.collection {
            return catalog.collection(name).map_err(failure);
        }
        let all = catalog.collections();
        let unavailable = catalog.unavailable();
        match (&all[..], &unavailable[..]) {
            ([only], []) => Ok(only.clone()),
            ([], [only]) => Err(failure(Error::Unavailable(only.clone()))),
            ([], []) => {
                let name = escaped_name(self.directory.as_os_str());
                Err(Failure::usage(format!(
                    "`{name}` has no collections; create one with `sameish index build`"
                )))
            }
            _ => {
                let unavailable = unavailable.iter().map(|collection| collection.name.as_str());
                let names: Vec<&str> = all.iter().map(Collection::name).chain(unavailable).collect();
                Err(Failure::usage(format!(
                    "the directory has several collections; pass `--collection` with one of: {}",
                    names.join(", ")
                )))
            }
        }
    }
}

/// A stored document that matches, as part of an output line.
#[derive(Serialize)]
struct MatchLine<'a> {
    id: &'a DocId,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    published_at: Option<&'a str>,
    similarity: f64,
    /// Equal to `similarity`, as in the responses of the service.
    similarity_score: f64,
    #[serde(flatten)]
    verdict: VerdictFields,
}

impl<'a> From<&'a Match> for MatchLine<'a> {
    fn from(found: &'a Match) -> MatchLine<'a> {
        let similarity = found.verdict.similarity;
        MatchLine {
            id: &found.id,
            title: None,
            host: None,
            url: None,
            published_at: None,
            similarity: rounded(similarity),
            similarity_score: rounded(similarity),
            verdict: VerdictFields::from(found.verdict).with_relation(found.relation),
        }
    }
}

/// Access to a data directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Create,
    Change,
    Read,
    /// Reads a consistent state.
    Inspect,
}

fn open(directory: &Path, access: Access) -> Result<Catalog, Failure> {
    let options = OpenOptions {
        create: access == Access::Create,
        read_only: matches!(access, Access::Read | Access::Inspect),
        at_one_moment: access == Access::Inspect,
        ..OpenOptions::default()
    };
    open_with(directory, options)
}

/// Opens a directory. Reports what an upgrade changed and which collections cannot be used.
fn open_with(directory: &Path, options: OpenOptions) -> Result<Catalog, Failure> {
    check_directory(directory)?;
    let catalog = Catalog::open(directory, options).map_err(failure)?;
    for change in catalog.reclustered() {
        say(format_args!("{change}"));
    }
    for collection in catalog.unavailable() {
        say(format_args!("{}", escaped(&collection.to_string())));
    }
    Ok(catalog)
}

/// Fails if a data directory is a file.
pub(crate) fn check_directory(directory: &Path) -> Result<(), Failure> {
    if !directory.is_file() {
        return Ok(());
    }
    let name = escaped_name(directory.as_os_str());
    let reason = format!(
        "`{name}` is a file; expected a data directory, which `sameish serve` and `sameish index build` create"
    );
    Err(Failure::new(Exit::Unreadable, reason))
}

/// Converts an error of the store, with its exit code.
pub(crate) fn failure(error: Error) -> Failure {
    let exit = match &error {
        Error::Full | Error::NoSpaceForBackup { .. } => Exit::Limit,
        Error::NoCollection { .. }
        | Error::Exists { .. }
        | Error::BadName { .. }
        | Error::CenterLinkage
        | Error::Engine(_) => Exit::Usage,
        Error::ReadOnly { .. } | Error::Failed { .. } => Exit::Output,
        _ => Exit::Unreadable,
    };
    Failure::new(exit, escaped(&error.to_string()))
}
