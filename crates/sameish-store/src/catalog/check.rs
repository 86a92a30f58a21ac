//! Verification of a store and its indexes.

use super::Shared;
use super::live::{LiveCollection, sketched};
use crate::error::{Error, Result};
use crate::model::Finding;
use crate::rows::{DocumentRow, MemberRow};
use crate::store::Read;
use sameish::engine::Digest;
use sameish::{DocId, Scratch};
use std::collections::{BTreeMap, HashMap, HashSet};

const RESTORE: &str =
    "restore the directory from a snapshot, or delete the affected documents and insert them again";
const REBUILD: &str = "run `sameish index rebuild`";

/// Checks the database file, every row, the links between rows, and the indexes in memory.
pub(super) fn verify(shared: &Shared) -> Result<Vec<Finding>> {
    let read = shared.readers.get()?;
    let mut findings = read.check()?;
    for live in shared.collections().values() {
        let mut check =
            CollectionCheck { read: &*read, live, findings: Vec::new(), documents: HashSet::new() };
        if let Err(error) = check.run() {
            check.report(format!("collection {}", live.row.name), error.to_string(), RESTORE);
        }
        findings.append(&mut check.findings);
    }
    Ok(findings)
}

struct CollectionCheck<'a> {
    read: &'a dyn Read,
    live: &'a LiveCollection,
    findings: Vec<Finding>,
    /// Numbers of the stored documents.
    documents: HashSet<u64>,
}

impl CollectionCheck<'_> {
    fn run(&mut self) -> Result<()> {
        self.check_documents()?;
        self.check_members()?;
        self.check_index()
    }

    fn report(&mut self, object: String, problem: impl Into<String>, remedy: &'static str) {
        self.findings.push(Finding { object, problem: problem.into(), remedy });
    }

    fn name(&self, kind: &str, number: u64) -> String {
        format!("{kind} {number} of {}", self.live.row.name)
    }

    /// Checks every document against its checksum, and its stored sketches against those that its text gives.
    fn check_documents(&mut self) -> Result<()> {
        let mut scratch = Scratch::default();
        let mut after = 0;
        loop {
            let rows = self.read.documents(self.live.row.number, after, 256)?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            after = *last;
            for (number, row) in rows {
                self.documents.insert(number);
                match row {
                    Ok(row) => self.check_sketch(&row, &mut scratch),
                    Err(error) => self.report(self.name("document", number), reason(error), RESTORE),
                }
            }
        }
    }

    fn check_sketch(&mut self, row: &DocumentRow, scratch: &mut Scratch) {
        let expected = self.live.sketch(row, scratch);
        let problem = match self.read.sketch(row.number) {
            Err(error) => reason(error),
            Ok(None) => "it is missing".to_owned(),
            Ok(Some(stored)) if stored.scheme != expected.scheme => "it has a different scheme".to_owned(),
            Ok(Some(stored)) => {
                let is_equal = stored.sketches == expected.sketches
                    && stored.key == expected.key
                    && stored.moment == expected.moment;
                if is_equal {
                    return;
                }
                "it does not match the text".to_owned()
            }
        };
        let id = row.document.id.to_string();
        let kind = format!("sketch of document {} (id {})", row.number, id.escape_debug());
        self.report(format!("{kind} of {}", self.live.row.name), problem, REBUILD);
    }

    /// Checks the cluster memberships, their links and the stored sizes of the clusters.
    fn check_members(&mut self) -> Result<()> {
        let mut members: BTreeMap<u64, MemberRow> = BTreeMap::new();
        let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
        let mut damaged = Vec::new();
        self.read.each_member(self.live.row.number, &mut |number, row| {
            match row {
                Ok(row) => {
                    *sizes.entry(row.cluster.0).or_default() += 1;
                    members.insert(number, row);
                }
                Err(error) => damaged.push((number, error)),
            }
            Ok(())
        })?;
        for (number, error) in damaged {
            self.report(self.name("membership of document", number), reason(error), RESTORE);
        }
        for row in members.values() {
            let problem = if self.documents.contains(&row.document) {
                link_problem(&members, row)
            } else {
                Some("the document does not exist")
            };
            if let Some(problem) = problem {
                self.report(self.name("membership of document", row.document), problem, RESTORE);
            }
        }
        self.check_cluster_sizes(sizes)
    }

    fn check_cluster_sizes(&mut self, sizes: BTreeMap<u64, u64>) -> Result<()> {
        let mut counted: BTreeMap<u64, u64> = sizes.into_iter().filter(|(_, size)| *size > 1).collect();
        let mut before = None;
        loop {
            let page = self.read.clusters(self.live.row.number, before, 1024)?;
            let Some(last) = page.last() else { break };
            before = Some(last.cluster);
            for row in page {
                let documents = counted.remove(&row.cluster.0).unwrap_or(0);
                if documents != row.size {
                    let problem =
                        format!("its stored size is {}, but it has {documents} documents", row.size);
                    self.report(self.name("cluster", row.cluster.0), problem, RESTORE);
                }
            }
        }
        for (cluster, size) in counted {
            let problem = format!("it has {size} documents, but no row in the table of clusters");
            self.report(self.name("cluster", cluster), problem, RESTORE);
        }
        Ok(())
    }

    /// Checks that every sketch has a document, and compares the index in memory with the stored sketches.
    fn check_index(&mut self) -> Result<()> {
        let mut ids: HashMap<u64, DocId> = HashMap::new();
        self.read.each_id(self.live.row.number, &mut |number, id| {
            ids.insert(number, id);
            Ok(())
        })?;
        let mut digest = Digest::default();
        let mut orphans = Vec::new();
        let mut has_damage = false;
        self.read.each_sketch(self.live.row.number, &mut |number, row| {
            match (row, ids.remove(&number)) {
                (Ok(row), Some(id)) => digest.add(&sketched(id, row, false)),
                (_, None) => orphans.push(number),
                (Err(_), Some(_)) => has_damage = true,
            }
            Ok(())
        })?;
        for number in orphans {
            self.report(self.name("sketch of document", number), "the document does not exist", REBUILD);
        }
        // For damaged or missing sketches, the index has sketches that were recomputed from the texts.
        let is_comparable = !has_damage && ids.is_empty();
        if is_comparable && digest.finish() != self.live.engine().digest() {
            let object = format!("index of {}", self.live.row.name);
            self.report(object, "it does not match the stored sketches", REBUILD);
        }
        Ok(())
    }
}

/// Describes what is wrong with the link of a member, if anything.
fn link_problem(members: &BTreeMap<u64, MemberRow>, row: &MemberRow) -> Option<&'static str> {
    let mut current = row;
    for step in 0..=MAX_LINKS {
        let joined = current.joined?;
        let Some(next) = members.get(&joined) else {
            return (step == 0).then_some("it is linked to a document that does not exist");
        };
        if next.cluster != current.cluster {
            return (step == 0).then_some("it is linked to a document of another cluster");
        }
        if next.document == row.document {
            return Some("its links form a cycle");
        }
        current = next;
    }
    // The links lead to a cycle, which is reported for the members in it.
    None
}

/// Maximum number of links that are followed from one member.
const MAX_LINKS: usize = 10_000;

fn reason(error: Error) -> String {
    match error {
        Error::Damaged { reason, .. } => reason,
        other => other.to_string(),
    }
}
