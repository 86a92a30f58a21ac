//! `sameish cluster`: clusters of near-duplicates.

use crate::args::{EngineArgs, InputArgs, MatchArgs, MemoryArgs, TemplateArgs};
use crate::choice::{Choice, choice, one_of};
use crate::exit::{Exit, Failure};
use crate::output::messages::{counted, counted_as, limits_reached};
use crate::output::recall::RecallFields;
use crate::run_args::RunArgs;
use crate::run_log::{CountsText as _, finish};
use sameish::Analyzer;
use sameish::config::Linkage;
use sameish_batch::output::CompressedOutput;
use sameish_batch::{
    ClusterCounts, Clusters, Counts, Files, IndexedCorpus, Source, Spreads, Task, index, sign,
};
use serde::Serialize;
use std::io::Write as _;

/// Group near-duplicates into clusters
///
/// Writes one line of JSON for each cluster: its id, its center, its members (center first), and the mean similarity of the
/// other members to the center (`mean_similarity`; `average_distance` in bits for presets that compare only fingerprints).
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
    /// Linkage: how matches form clusters [default: from the preset]
    #[arg(long, value_parser = one_of(&LINKAGES), help_heading = "Matching")]
    linkage: Option<Linkage>,
    /// Omit clusters with fewer than N members
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    min_size: u64,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    run: RunArgs,
}

const LINKAGES: [Choice<Linkage>; 4] = [
    choice("greedy", "Like `cohesive`, with the newest document first", Linkage::Greedy),
    choice(
        "components",
        "Documents that are connected by a chain of matches of any length",
        Linkage::Components,
    ),
    choice(
        "cohesive",
        "The first unassigned document becomes a center; every unassigned document that matches it joins its cluster",
        Linkage::Cohesive,
    ),
    choice("online", "Each document joins the cluster of the most similar earlier document", Linkage::Online),
];

const AFTER_HELP: &str = "\
Examples:
  sameish cluster articles.jsonl
  sameish cluster --preset wire --date-field date news.jsonl -o groups.jsonl
  sameish cluster --preset headlines --min-size 2 titles.jsonl
  sameish cluster --linkage components --threshold 0.7 pages.jsonl

Every document is in exactly one cluster, alone if nothing matches it. With
`online`, each text that is too short is a cluster of its own. `greedy`
processes the newest document first, documents with equal dates in input order
and documents without a date last; it rejects a record whose date cannot be
parsed. `cohesive` gives the clusters of `dedup`. The output does not depend on
the number of threads.

Memory grows by about 300 bytes per document, or 450 with `articles`, `wire` and
`web`, and by up to 2 kB more for each in a large group of similar ones. Texts
are not kept in memory: they are read a second time from their files. Inputs
that cannot be read twice are copied to `--temp-dir`.

Exit codes: 0 success, 2 usage error, 3 some records rejected, 4 unreadable
input, 5 limit reached, 6 output failed, 1 internal error.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { input, engine, matching, templates, linkage, min_size, memory, run } = args;
    let config = matching.config(&engine, |config| {
        config.matching.linkage = linkage.unwrap_or(config.matching.linkage);
        templates.set(config);
    })?;
    let options = memory.options(config, run.threads.count(), matching.on_dup_id)?;
    run.check_lines("cluster")?;
    let inputs = input.find()?;
    let mut log = run.log(&inputs)?;
    let mut output = run.create_lines(&inputs)?;
    let read = input.reading(&inputs, run.quiet);
    run.check_inputs(&inputs, &read)?;
    let source = Source::Files(Files { inputs: &inputs, against: &[], read: &read });
    let signed = sign(Task::Cluster, &source, &options, None, &mut log)?;
    let corpus = index(signed, &source, &options)?;
    let clusters = corpus.clusters(&mut log)?;
    if !write_clusters(&corpus, &clusters, min_size, &mut output)? {
        log.monitor.clear();
        return Ok(Exit::Clean);
    }
    if !run.publish(output, &mut log)? {
        return Ok(Exit::Clean);
    }
    let (counts, exit) = finish(log)?;
    let summary = Summary::new(counts, &clusters, &options.analyzer);
    run.summarize(&summary, || summary.in_words())?;
    Ok(exit)
}

/// Target number of members whose clusters are written at once; a single cluster may exceed it.
const PIECE: usize = 1 << 16;

/// Writes all clusters. Returns `false` if the reader of a pipe has closed it.
fn write_clusters(
    corpus: &IndexedCorpus<'_>,
    clusters: &Clusters,
    min_size: u64,
    output: &mut CompressedOutput,
) -> Result<bool, Failure> {
    let mut spreads = Spreads::new(corpus, clusters);
    let measure = if spreads.distances { "average_distance" } else { "mean_similarity" };
    let mut from = 0;
    while from < clusters.len() {
        let mut to = from;
        let mut members = 0;
        while to < clusters.len() && members < PIECE {
            members += clusters.members(to).len();
            to += 1;
        }
        let mut lines = Vec::new();
        for (cluster, spread) in (from..to).zip(spreads.of(from..to)?) {
            let members = clusters.members(cluster);
            // Clusters are numbered before small ones are omitted, so that numbers do not depend on `--min-size`.
            if members.len() as u64 >= min_size {
                push_cluster(&mut lines, corpus, cluster + 1, members, measure, spread);
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
    corpus: &IndexedCorpus<'_>,
    number: usize,
    members: &[u32],
    measure: &str,
    spread: f64,
) {
    let ids = &corpus.signed.ids;
    let mut write = |part: std::fmt::Arguments<'_>| {
        lines.write_fmt(part).unwrap_or_else(|error| unreachable!("a buffer accepts any text: {error}"));
    };
    write(format_args!("{{\"id\":\"cluster-{number}\",\"center\":{},\"members\":[", ids.get(members[0])));
    for (at, &doc) in members.iter().enumerate() {
        write(format_args!("{}{}", if at == 0 { "" } else { "," }, ids.get(doc)));
    }
    write(format_args!("],\"{measure}\":{}}}\n", serde_json::json!(spread)));
}

/// Summary of a run.
#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    counts: Counts,
    clusters: u64,
    largest_cluster: u64,
    chains_cut: u64,
    candidates: u64,
    caps_hit: u64,
    /// Number of candidates that were not compared because of limits.
    omitted: u64,
    #[serde(flatten)]
    recall: Option<RecallFields>,
}

impl Summary {
    fn new(counts: Counts, clusters: &Clusters, analyzer: &Analyzer) -> Summary {
        let ClusterCounts { candidates, caps_hit, left, chains_cut, .. } = clusters.counts;
        let recall = clusters.counts.recall(analyzer).filter(|_| counts.documents > 0);
        let sizes = (0..clusters.len()).map(|cluster| clusters.members(cluster).len() as u64);
        Summary {
            counts,
            clusters: clusters.len() as u64,
            largest_cluster: sizes.max().unwrap_or(0),
            chains_cut,
            candidates,
            caps_hit,
            omitted: left,
            recall: recall.map(RecallFields::from),
        }
    }

    fn in_words(&self) -> String {
        let clusters = counted(self.clusters, "cluster");
        let mut words =
            format!("{}: {clusters} (largest size: {})", self.counts.in_words(), self.largest_cluster);
        if self.chains_cut > 0 {
            let matches = counted_as(self.chains_cut, "match", "matches");
            words += &format!(", {matches} between different clusters ignored");
        }
        if let Some(recall) = &self.recall {
            words += &format!(", {}", recall.in_words());
        }
        if self.caps_hit > 0 {
            words += &format!(", {}", limits_reached(self.caps_hit, "matches"));
        }
        format!("{words}; {}", self.counts.effort())
    }
}
