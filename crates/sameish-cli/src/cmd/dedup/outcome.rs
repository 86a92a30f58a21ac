//! What stays, what goes, and the lists of both.

use super::Choice;
use super::plan::Deduped;
use crate::batch::held::State;
use crate::exit::Failure;
use crate::input::find::Found;
use crate::intake::RunArgs;
use crate::output::file::Output;
use crate::output::jsonl::rounded;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// What stays and what goes.
pub(super) struct Outcome {
    pub(super) documents: u64,
    pub(super) removed: u64,
    /// Numbers of the records that stay, ascending.
    pub(super) kept: Vec<u64>,
    /// Those of more than one document: the center, then the others in order.
    pub(super) clusters: Vec<Vec<u32>>,
    /// For each document.
    pub(super) stays: Vec<bool>,
}

impl Outcome {
    pub(super) fn new(deduped: &Deduped, per_source: bool) -> Outcome {
        let Deduped { docs, order, grouping, against, .. } = deduped;
        let mut place: HashMap<u32, usize> = HashMap::new();
        let mut clusters: Vec<Vec<u32>> = Vec::new();
        let mut stays = vec![false; docs.len()];
        for &doc in order {
            let center = grouping.center[doc as usize];
            if docs[doc as usize].state == State::Replaced {
                continue;
            }
            if center == doc {
                stays[doc as usize] = doc >= *against;
                continue;
            }
            let at = *place.entry(center).or_insert_with(|| {
                clusters.push(vec![center]);
                clusters.len() - 1
            });
            clusters[at].push(doc);
        }
        if per_source {
            for cluster in &clusters {
                let mut seen: HashSet<u32> = HashSet::new();
                for &doc in cluster {
                    let first = seen.insert(docs[doc as usize].source);
                    stays[doc as usize] |= first && doc >= *against;
                }
            }
        }
        let mut kept: Vec<u64> =
            docs.iter().zip(&stays).filter(|(_, stays)| **stays).map(|(doc, _)| doc.record).collect();
        kept.sort_unstable();
        let documents = docs.len() as u64 - u64::from(*against);
        Outcome { documents, removed: documents - kept.len() as u64, kept, clusters, stays }
    }

    pub(super) fn keeps(&self, record: u64) -> bool {
        self.kept.binary_search(&record).is_ok()
    }

    pub(super) fn write_lists(
        &self,
        deduped: &Deduped,
        choice: &Choice,
        run: &RunArgs,
        sources: &[Found],
    ) -> Result<(), Failure> {
        if let Some(path) = &choice.clusters {
            let lines = (1..)
                .zip(&self.clusters)
                .map(|(number, cluster)| self.cluster_line(deduped, number, cluster));
            write_lines(path, lines, run.force, sources)?;
        }
        if let Some(path) = &choice.removed {
            let gone = (deduped.against..deduped.docs.len() as u32).filter(|&doc| {
                !self.stays[doc as usize] && deduped.docs[doc as usize].state != State::Replaced
            });
            let lines = gone.map(|doc| {
                let center = deduped.grouping.center[doc as usize];
                let similarity = rounded(f64::from(deduped.grouping.similarity[doc as usize]));
                let (id, kept) = (deduped.ids.get(doc), deduped.ids.get(center));
                let verified = verified_field(deduped.grouping.verified[doc as usize]);
                format!("{{\"id\":{id},\"kept\":{kept},\"similarity\":{similarity}{verified}}}\n")
            });
            write_lines(path, lines, run.force, sources)?;
        }
        Ok(())
    }

    fn cluster_line(&self, deduped: &Deduped, number: usize, cluster: &[u32]) -> String {
        let members: Vec<&str> = cluster.iter().map(|&doc| deduped.ids.get(doc)).collect();
        let similarity = |doc: &u32| f64::from(deduped.grouping.similarity[*doc as usize]);
        let mean = cluster[1..].iter().map(similarity).sum::<f64>() / (cluster.len() - 1) as f64;
        format!(
            "{{\"id\":\"cluster-{number}\",\"center\":{},\"members\":[{}],\"mean_similarity\":{}{}}}\n",
            members[0],
            members.join(","),
            rounded(f64::from(mean as f32)),
            verified_field(cluster[1..].iter().all(|&doc| deduped.grouping.verified[doc as usize]))
        )
    }
}

/// What was not seen in the texts themselves says so.
fn verified_field(verified: bool) -> &'static str {
    if verified { "" } else { ",\"verified\":false" }
}

fn write_lines(
    path: &Path,
    lines: impl Iterator<Item = String>,
    force: bool,
    sources: &[Found],
) -> Result<(), Failure> {
    let mut output = Output::create(Some(path), force, sources)?;
    let mut piece = String::new();
    for line in lines {
        piece += &line;
        if piece.len() > 1 << 16 {
            output.write(piece.as_bytes())?;
            piece.clear();
        }
    }
    output.write(piece.as_bytes())?;
    output.finish()
}
