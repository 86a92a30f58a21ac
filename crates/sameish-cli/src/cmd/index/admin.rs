//! `sameish index remove`, `stats`, `verify`, `rebuild` and `snapshot`.

use super::{Access, DirectoryArgs, failure, open_with};
use crate::exit::{Exit, Failure};
use crate::output::escape::escaped;
use crate::output::file::Output;
use crate::output::jsonl::push_line;
use crate::output::messages::{counted, grouped, say};
use sameish::DocId;
use sameish_store::{Finding, OpenOptions};
use serde::Serialize;
use std::path::PathBuf;

/// Remove documents
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sameish index remove news/ 17 some-id
  sameish index remove news/ '\"17\"'
  sameish index remove news/ - < ids.txt")]
pub(super) struct RemoveArgs {
    #[command(flatten)]
    directory: DirectoryArgs,
    /// Ids of the documents: `7` is an integer, `'"7"'` and `seven` are strings; `-` reads one id per line from standard input
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

pub(super) fn remove(args: RemoveArgs) -> anyhow::Result<Exit> {
    let catalog = args.directory.open(Access::Change)?;
    let collection = args.directory.collection(&catalog)?;
    let mut removed = 0;
    let mut missing = 0;
    let mut remove = |ids: Vec<DocId>| -> anyhow::Result<()> {
        let existed = collection.delete_many(ids).map_err(failure)?;
        removed += existed.iter().filter(|existed| **existed).count() as u64;
        missing += existed.iter().filter(|existed| !**existed).count() as u64;
        Ok(())
    };
    for given in args.ids {
        if given != "-" {
            remove(vec![id(&given)])?;
            continue;
        }
        let mut ids = Vec::new();
        for line in std::io::stdin().lines() {
            let line =
                line.map_err(|error| Failure::new(Exit::Unreadable, format!("standard input: {error}")))?;
            ids.extend(Some(line.trim()).filter(|line| !line.is_empty()).map(id));
            if ids.len() == 512 {
                remove(std::mem::take(&mut ids))?;
            }
        }
        remove(ids)?;
    }
    // The next command must see final clusters.
    catalog.settle().map_err(failure)?;
    say(format_args!("{} removed, {} not found", counted(removed, "document"), grouped(missing)));
    Ok(if missing > 0 { Exit::Rejected } else { Exit::Clean })
}

/// Parses an id as JSON, or else as a string.
fn id(given: &str) -> DocId {
    DocId::from_json(given).unwrap_or_else(|| given.into())
}

/// Show statistics
#[derive(Debug, clap::Args)]
pub(super) struct StatsArgs {
    #[command(flatten)]
    directory: DirectoryArgs,
    /// Print one line of JSON per collection
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Figures {
    collection: String,
    preset: String,
    documents: u64,
    too_short: u64,
    clusters: u64,
    clustered: u64,
    largest_cluster: u64,
    chained: u64,
    pending_clusters: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    clustering_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_arrival: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_recall: Option<f64>,
}

pub(super) fn stats(args: StatsArgs) -> anyhow::Result<Exit> {
    let catalog = args.directory.open(Access::Read)?;
    let collections = match &args.directory.collection {
        Some(name) => vec![catalog.collection(name).map_err(failure)?],
        None => catalog.collections(),
    };
    let mut lines = Vec::new();
    for collection in collections {
        let stats = collection.stats().map_err(failure)?;
        let figures = Figures {
            collection: collection.name().to_owned(),
            preset: collection.config().map_err(failure)?.preset.name().to_owned(),
            documents: stats.documents,
            too_short: stats.too_short,
            clusters: stats.clusters,
            clustered: stats.clustered,
            largest_cluster: stats.largest_cluster,
            chained: stats.chained,
            pending_clusters: stats.pending_clusters,
            clustering_error: stats.clustering_error,
            last_arrival: stats.last_arrival.map(|moment| moment.to_string()),
            expected_recall: stats.expected_recall,
        };
        match args.json {
            true => push_line(&mut lines, &figures),
            false => lines.extend(figures.in_words().into_bytes()),
        }
    }
    if !args.json {
        let bytes = catalog.bytes().map_err(failure)?;
        lines.extend(format!("{:.1} MB on disk\n", bytes as f64 / 1e6).into_bytes());
    }
    Output::Stdout.write(&lines)?;
    Ok(Exit::Clean)
}

impl Figures {
    fn in_words(&self) -> String {
        format!(
            "{} (preset {}): {}, {} too short; {} with {} in total, {} in the largest\n",
            self.collection,
            self.preset,
            counted(self.documents, "document"),
            grouped(self.too_short),
            counted(self.clusters, "cluster"),
            counted(self.clustered, "document"),
            grouped(self.largest_cluster),
        )
    }
}

/// Check all stored data
///
/// Checks documents and sketches against their checksums, sketches against the texts, clusters against their documents, and the
/// index against the stored documents. Prints each problem with its remedy.
#[derive(Debug, clap::Args)]
pub(super) struct VerifyArgs {
    /// Data directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Print one line of JSON per problem
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Problem<'a> {
    object: &'a str,
    problem: &'a str,
    remedy: &'a str,
}

pub(super) fn verify(args: VerifyArgs) -> anyhow::Result<Exit> {
    let catalog = super::open(&args.directory, Access::Inspect)?;
    let findings = catalog.verify().map_err(failure)?;
    let mut lines = Vec::new();
    for finding in &findings {
        let Finding { object, problem, remedy } = finding;
        match args.json {
            true => push_line(&mut lines, &Problem { object, problem, remedy }),
            false => lines.extend(format!("{}\n", escaped(&finding.to_string())).into_bytes()),
        }
    }
    Output::Stdout.write(&lines)?;
    let documents: usize = catalog.collections().iter().map(|collection| collection.len()).sum();
    match findings.len() {
        0 => say(format_args!("{}: no problems found", counted(documents as u64, "document"))),
        problems => say(format_args!("{} found", counted(problems as u64, "problem"))),
    }
    Ok(if findings.is_empty() { Exit::Clean } else { Exit::Unreadable })
}

/// Recompute all sketches and clusters from the texts
#[derive(Debug, clap::Args)]
pub(super) struct RebuildArgs {
    /// Data directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Upgrade the directory of an older version without a copy of its database
    #[arg(long)]
    no_upgrade_backup: bool,
}

pub(super) fn rebuild(args: RebuildArgs) -> anyhow::Result<Exit> {
    let options = OpenOptions {
        create: false,
        rebuild: true,
        backup_before_upgrade: !args.no_upgrade_backup,
        ..OpenOptions::default()
    };
    let catalog = open_with(&args.directory, options)?;
    let documents: usize = catalog.collections().iter().map(|collection| collection.len()).sum();
    say(format_args!("recomputed the sketches and clusters of {}", counted(documents as u64, "document")));
    Ok(if catalog.unavailable().is_empty() { Exit::Clean } else { Exit::Unreadable })
}

/// Write a consistent copy of a directory, even while a service uses it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sameish index snapshot news/ backup/news-2026-11-19
  sameish restore backup/news-2026-11-19 news-again/")]
pub(super) struct SnapshotArgs {
    /// Data directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// New directory for the copy
    #[arg(value_name = "TO")]
    to: PathBuf,
}

pub(super) fn snapshot(args: SnapshotArgs) -> anyhow::Result<Exit> {
    let catalog = super::open(&args.directory, Access::Read)?;
    catalog.snapshot(&args.to).map_err(failure)?;
    Ok(Exit::Clean)
}
