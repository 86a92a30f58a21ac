//! `sameish cluster`: documents that belong together.

use crate::args::{EngineArgs, InputArgs, MatchArgs, MemoryArgs, TemplateArgs};
use crate::batch::corpus::{Corpus, CorpusPlan};
use crate::batch::linkage::Clusters;
use crate::batch::sign::Counted;
use crate::batch::spread::Spreads;
use crate::exit::{Exit, Failure};
use crate::intake::{Counts, RunArgs};
use crate::output::file::Output;
use crate::output::messages::{counted, grouped};
use crate::pipeline::pool;
use sameish::{Config, Effort, Linkage, Templates};
use serde::Serialize;
use std::io::Write as _;
use std::sync::Arc;

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
    memory: MemoryArgs,
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

Memory grows by some hundred bytes a document, whatever its length: texts are
read once more where they lie. What can not be read twice goes to `--temp-dir`.

Exit codes: 0 clean, 2 wrong usage, 3 some records rejected, 4 an input
unreadable, 5 a limit hit, 6 output failed, 1 our fault.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { input, engine, matching, templates, linkage, min_size, memory, run } = args;
    let engine = Arc::new(matching.engine(&engine, |config| {
        config.matching.linkage = linkage.map_or(config.matching.linkage, Linkage::from);
        templates.set(config);
    })?);
    let sources = input.find()?;
    let mut intake = run.intake(&sources)?;
    let mut output = run.create_output(&sources)?;
    let plan = CorpusPlan {
        engine: engine.clone(),
        memory,
        threads: run.threads.count(),
        on_dup_id: matching.on_dup_id,
        facts: counted_for(engine.config()),
        newest_first: engine.config().matching.linkage == Linkage::Greedy,
    };
    let corpus = plan.read(sources, input.reading(run.quiet), &mut intake)?;
    let (pool, messages) = (pool(run.threads.count())?, &mut intake.messages);
    let progress = |done| messages.share("comparing", done, corpus.docs.len());
    let clusters = pool.install(|| Clusters::new(&corpus, progress))?;
    if !pool.install(|| write_clusters(&corpus, &clusters, min_size, &mut output))? {
        intake.messages.clear();
        return Ok(Exit::Clean);
    }
    output.finish()?;
    let (counts, exit) = intake.finish()?;
    let summary = Summary::new(counts, &clusters, engine.expected_recall());
    run.summarize(&summary, || summary.in_words())?;
    Ok(exit)
}

/// Of which documents words are counted: of none where facts decide nothing, or are counted as documents come.
fn counted_for(config: &Config) -> Counted {
    let matching = &config.matching;
    match matching.verify && matching.templates == Templates::Keep && matching.linkage != Linkage::Online {
        true => Counted::All,
        false => Counted::None,
    }
}

/// Members of clusters whose lines are written at once, as far as it does not take one alone.
const PIECE: usize = 1 << 16;

/// Gives `false` where nobody reads any more.
fn write_clusters(
    corpus: &Corpus,
    clusters: &Clusters,
    min_size: u64,
    output: &mut Output,
) -> Result<bool, Failure> {
    let mut spreads = Spreads::new(corpus, clusters);
    let mean = if spreads.distances { "average_distance" } else { "mean_similarity" };
    let mut from = 0;
    while from < clusters.len() {
        let (mut to, mut members) = (from, 0);
        while to < clusters.len() && members < PIECE {
            members += clusters.members(to).len();
            to += 1;
        }
        let mut lines = Vec::new();
        for (cluster, spread) in (from..to).zip(spreads.of(from..to)?) {
            let members = clusters.members(cluster);
            // Numbers are given before small clusters are left out, so that they stay what they are.
            if members.len() as u64 >= min_size {
                push_cluster(&mut lines, corpus, cluster + 1, members, mean, spread);
            }
        }
        if !output.write(&lines)? {
            return Ok(false);
        }
        from = to;
    }
    Ok(true)
}

fn push_cluster(
    lines: &mut Vec<u8>,
    corpus: &Corpus,
    number: usize,
    members: &[u32],
    mean: &str,
    spread: f64,
) {
    let mut write = |part: std::fmt::Arguments<'_>| {
        lines.write_fmt(part).unwrap_or_else(|error| unreachable!("memory takes any text: {error}"));
    };
    write(format_args!(
        "{{\"id\":\"cluster-{number}\",\"center\":{},\"members\":[",
        corpus.ids.get(members[0])
    ));
    for (at, &doc) in members.iter().enumerate() {
        write(format_args!("{}{}", if at == 0 { "" } else { "," }, corpus.ids.get(doc)));
    }
    write(format_args!("],\"{mean}\":{}}}\n", serde_json::json!(spread)));
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
    fn new(counts: Counts, clusters: &Clusters, expected_recall: Option<f64>) -> Summary {
        let Effort { candidates, capped, .. } = clusters.effort;
        let sizes = (0..clusters.len()).map(|cluster| clusters.members(cluster).len() as u64);
        Summary {
            counts,
            clusters: clusters.len() as u64,
            largest_cluster: sizes.max().unwrap_or(0),
            chains_cut: clusters.cut,
            candidates,
            caps_hit: capped,
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
