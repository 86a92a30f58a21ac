//! `sameish index remove`, `stats`, `verify`, `rebuild` and `snapshot`.

use super::{Access, FolderArgs, failure};
use crate::exit::{Exit, Failure};
use crate::output::escape::escaped;
use crate::output::file::Output;
use crate::output::jsonl::push_line;
use crate::output::messages::{counted, grouped, say};
use sameish::DocId;
use sameish_store::{Catalog, Finding, OpenOptions};
use serde::Serialize;
use std::path::PathBuf;

/// Take documents out
#[derive(Debug, clap::Args)]
pub(super) struct RemoveArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// Ids: 7 is a number, '"7"' and seven are texts; `-` reads one a line from standard input
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

pub(super) fn remove(args: RemoveArgs) -> anyhow::Result<Exit> {
    let catalog = args.folder.open(Access::Change)?;
    let collection = args.folder.collection(&catalog)?;
    let (mut gone, mut absent) = (0, 0);
    let mut take = |ids: Vec<DocId>| -> anyhow::Result<()> {
        let answers = collection.delete_many(ids).map_err(failure)?;
        gone += answers.iter().filter(|there| **there).count() as u64;
        absent += answers.iter().filter(|there| !**there).count() as u64;
        Ok(())
    };
    for given in args.ids {
        if given != "-" {
            take(vec![id(&given)])?;
            continue;
        }
        let mut ids = Vec::new();
        for line in std::io::stdin().lines() {
            let line =
                line.map_err(|error| Failure::new(Exit::Unreadable, format!("standard input: {error}")))?;
            ids.extend(Some(line.trim()).filter(|line| !line.is_empty()).map(id));
            if ids.len() == 512 {
                take(std::mem::take(&mut ids))?;
            }
        }
        take(ids)?;
    }
    say(format_args!("{} removed, {} not there", counted(gone, "document"), grouped(absent)));
    Ok(if absent > 0 { Exit::Rejected } else { Exit::Clean })
}

/// An id as JSON writes it, or else a text.
fn id(given: &str) -> DocId {
    serde_json::from_str(given).unwrap_or_else(|_| given.into())
}

/// Say what a folder has
#[derive(Debug, clap::Args)]
pub(super) struct StatsArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// For machines
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
    #[serde(skip_serializing_if = "Option::is_none")]
    last_arrival: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_recall: Option<f64>,
}

pub(super) fn stats(args: StatsArgs) -> anyhow::Result<Exit> {
    let catalog = args.folder.open(Access::Look)?;
    let collections = match &args.folder.collection {
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
            "{} ({}): {}, {} too short; {} of {}, the largest has {}\n",
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

/// Look at everything that is stored
///
/// Every document and sketch is checked against its checksum, sketches against what the texts give, clusters against their
/// documents, and the index against what is stored. What is wrong is named, with what to do.
#[derive(Debug, clap::Args)]
pub(super) struct VerifyArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// For machines: a line for each thing that is wrong
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Wrong<'a> {
    object: &'a str,
    problem: &'a str,
    remedy: &'a str,
}

pub(super) fn verify(args: VerifyArgs) -> anyhow::Result<Exit> {
    let catalog = super::open(&args.folder, Access::Inspect)?;
    let findings = catalog.verify().map_err(failure)?;
    let mut lines = Vec::new();
    for finding in &findings {
        let Finding { object, problem, remedy } = finding;
        match args.json {
            true => push_line(&mut lines, &Wrong { object, problem, remedy }),
            false => lines.extend(format!("{}\n", escaped(&finding.to_string())).into_bytes()),
        }
    }
    Output::Stdout.write(&lines)?;
    let documents: usize = catalog.collections().iter().map(|collection| collection.len()).sum();
    match findings.len() {
        0 => say(format_args!("{}: nothing is wrong", counted(documents as u64, "document"))),
        wrong => say(format_args!("{} found", counted(wrong as u64, "fault"))),
    }
    Ok(if findings.is_empty() { Exit::Clean } else { Exit::Unreadable })
}

/// Make all sketches again from the texts
#[derive(Debug, clap::Args)]
pub(super) struct RebuildArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn rebuild(args: RebuildArgs) -> anyhow::Result<Exit> {
    let options = OpenOptions { create: false, rebuild: true, ..OpenOptions::default() };
    let catalog = Catalog::open(&args.folder, options).map_err(failure)?;
    let documents: usize = catalog.collections().iter().map(|collection| collection.len()).sum();
    say(format_args!("the sketches of {} were made again", counted(documents as u64, "document")));
    Ok(Exit::Clean)
}

/// Copy a folder, whole and consistent, while a service may write to it
#[derive(Debug, clap::Args)]
pub(super) struct SnapshotArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// A new folder for the copy
    #[arg(value_name = "TO")]
    to: PathBuf,
}

pub(super) fn snapshot(args: SnapshotArgs) -> anyhow::Result<Exit> {
    let catalog = super::open(&args.folder, Access::Look)?;
    catalog.snapshot(&args.to).map_err(failure)?;
    Ok(Exit::Clean)
}
