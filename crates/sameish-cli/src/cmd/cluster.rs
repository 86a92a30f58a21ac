//! `sameish cluster`: documents that belong together.

use crate::args::{EngineArgs, InputArgs, MatchArgs, TemplateArgs};
use crate::exit::Exit;
use crate::intake::{Counts, RunArgs};
use crate::load::load;
use crate::output::jsonl::push_line;
use crate::output::messages::{counted, grouped};
use sameish::{DocId, Effort, Group, Groups, Linkage, Spread};
use serde::Serialize;

/// Put documents that belong together into clusters
///
/// Writes a line of JSON for each cluster: its id, its center, its members with the center first, and how close the others
/// are to the center on average: `mean_similarity`, or `average_distance` for presets that judge by fingerprints.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    matching: MatchArgs,
    #[command(flatten)]
    templates: TemplateArgs,
    /// How matches become clusters [default: the preset's]
    #[arg(long, value_enum, help_heading = "Matching")]
    linkage: Option<LinkageArg>,
    /// Leave out clusters with fewer members
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    min_size: u64,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LinkageArg {
    /// The newest document takes all that match it, then the newest of the rest
    Greedy,
    /// All that is connected by matches, however long the chain
    Components,
    /// Like greedy in the order of the input: every member matches its center
    Cohesive,
    /// Each document joins the cluster of the one it is most like, of those before it
    Online,
}

impl From<LinkageArg> for Linkage {
    fn from(linkage: LinkageArg) -> Linkage {
        match linkage {
            LinkageArg::Greedy => Linkage::Greedy,
            LinkageArg::Components => Linkage::Components,
            LinkageArg::Cohesive => Linkage::Cohesive,
            LinkageArg::Online => Linkage::Online,
        }
    }
}

const AFTER_HELP: &str = "\
Examples:
  sameish cluster articles.jsonl
  sameish cluster --preset wire --date-field date news.jsonl -o groups.jsonl
  sameish cluster --preset headlines --min-size 2 titles.jsonl
  sameish cluster --linkage components --threshold 0.7 pages.jsonl

Every document is in exactly one cluster, alone if nothing matches it; only
`online` leaves out texts that are too short. `greedy` takes the newest first:
equal dates as they come, documents without a date last, and a date that can
not be read rejects its record. The answer is the same for any number of
threads.

Exit codes: 0 clean, 2 wrong usage, 3 some records rejected, 4 an input
unreadable, 5 a limit hit, 6 output failed, 1 our fault.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { input, engine, matching, templates, linkage, min_size, run } = args;
    let mut engine = matching.engine(&engine, |config| {
        config.matching.linkage = linkage.map_or(config.matching.linkage, Linkage::from);
        templates.set(config);
    })?;
    let sources = input.find()?;
    let mut intake = run.intake(&sources)?;
    let mut output = run.create_output(&sources)?;
    let (reading, threads) = (input.reading(run.quiet), run.threads.count());
    load(&mut engine, sources, reading, threads, matching.on_dup_id, &mut intake)?;
    let groups = engine.groups();
    for lines in lines(&groups, min_size) {
        if !output.write(&lines)? {
            intake.messages.clear();
            return Ok(Exit::Clean);
        }
    }
    output.finish()?;
    let (counts, exit) = intake.finish()?;
    let summary = Summary::new(counts, &groups, engine.expected_recall());
    run.summarize(&summary, || summary.in_words())?;
    Ok(exit)
}

/// A line of the output.
#[derive(Serialize)]
struct Line<'a> {
    id: String,
    center: &'a DocId,
    members: &'a [DocId],
    #[serde(flatten)]
    spread: SpreadField,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum SpreadField {
    AverageDistance(f64),
    MeanSimilarity(f64),
}

impl From<Spread> for SpreadField {
    fn from(spread: Spread) -> SpreadField {
        match spread {
            Spread::AverageDistance(mean) => SpreadField::AverageDistance(mean),
            Spread::MeanSimilarity(mean) => SpreadField::MeanSimilarity(mean),
        }
    }
}

/// Clusters whose lines are written at once.
const PIECE: usize = 1024;

fn lines(groups: &Groups, min_size: u64) -> impl Iterator<Item = Vec<u8>> {
    // Numbers are given before small clusters are left out, so that they stay what they are.
    let numbered: Vec<(usize, &Group)> =
        (1..).zip(&groups.groups).filter(|(_, group)| group.members.len() as u64 >= min_size).collect();
    let pieces = numbered.len().div_ceil(PIECE);
    (0..pieces).map(move |piece| {
        let mut lines = Vec::new();
        for (number, group) in numbered.iter().skip(piece * PIECE).take(PIECE) {
            let Group { center, members, spread } = group;
            let line = Line { id: format!("cluster-{number}"), center, members, spread: (*spread).into() };
            push_line(&mut lines, &line);
        }
        lines
    })
}

/// What a run comes to.
#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    counts: Counts,
    clusters: u64,
    largest_cluster: u64,
    /// Matches between clusters that were cut.
    chains_cut: u64,
    /// Judged.
    candidates: u64,
    caps_hit: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_recall: Option<f64>,
}

impl Summary {
    fn new(counts: Counts, groups: &Groups, expected_recall: Option<f64>) -> Summary {
        let Groups { groups, cut, effort: Effort { candidates, capped, .. } } = groups;
        Summary {
            counts,
            clusters: groups.len() as u64,
            largest_cluster: groups.iter().map(|group| group.members.len() as u64).max().unwrap_or(0),
            chains_cut: *cut as u64,
            candidates: *candidates,
            caps_hit: *capped,
            expected_recall,
        }
    }

    fn in_words(&self) -> String {
        let clusters = counted(self.clusters, "cluster");
        let mut words =
            format!("{}: {clusters}, the largest of {}", self.counts.in_words(), self.largest_cluster);
        if self.chains_cut > 0 {
            words += &format!(", {} cut", counted(self.chains_cut, "match between clusters"));
        }
        if self.caps_hit > 0 {
            words += &format!(", {} limits hit so that some may be missing", grouped(self.caps_hit));
        }
        format!("{words}; {}", self.counts.effort())
    }
}
