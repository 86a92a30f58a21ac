//! Is everything whole?

use super::Shared;
use super::live::{Live, sketched};
use crate::error::{Error, Result};
use crate::model::Finding;
use crate::rows::MemberRow;
use crate::store::Read;
use sameish::{Digest, DocId, Scratch};
use std::collections::{BTreeMap, HashMap, HashSet};

const RESTORE: &str = "restore the folder from a snapshot, or delete it and insert it again";
const REBUILD: &str = "run `sameish index rebuild`";

/// Looks at every row of the store, at what hangs together and at the indexes.
pub(super) fn verify(shared: &Shared) -> Result<Vec<Finding>> {
    let read = shared.readers.get()?;
    let mut findings = read.check()?;
    for live in shared.collections().values() {
        let mut check = Check { read: &*read, live, findings: Vec::new(), documents: HashSet::new() };
        if let Err(error) = check.run() {
            check.find(format!("collection {}", live.row.name), error.to_string(), RESTORE);
        }
        findings.append(&mut check.findings);
    }
    Ok(findings)
}

struct Check<'a> {
    read: &'a dyn Read,
    live: &'a Live,
    findings: Vec<Finding>,
    documents: HashSet<u64>,
}

impl Check<'_> {
    fn run(&mut self) -> Result<()> {
        self.documents_and_sketches()?;
        self.members()?;
        self.index()
    }

    fn find(&mut self, object: String, problem: impl Into<String>, remedy: &'static str) {
        self.findings.push(Finding { object, problem: problem.into(), remedy });
    }

    fn name(&self, kind: &str, number: u64, id: Option<&DocId>) -> String {
        let id = id.map_or(String::new(), |id| format!(" (id {})", id.to_string().escape_debug()));
        format!("{kind} {number}{id} of {}", self.live.row.name)
    }

    /// Every document against its checksum, and its sketches against what its text gives today.
    fn documents_and_sketches(&mut self) -> Result<()> {
        let mut scratch = Scratch::default();
        let mut after = 0;
        loop {
            let rows = self.read.documents(self.live.row.number, after, 256)?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            after = *last;
            for (number, row) in rows {
                self.documents.insert(number);
                match row {
                    Err(error) => self.find(self.name("document", number, None), reason(error), RESTORE),
                    Ok(row) => {
                        let fresh = self.live.sketch(&row, &mut scratch);
                        let object = self.name("sketch of document", number, Some(&row.document.id));
                        match self.read.sketch(number) {
                            Ok(Some(stored)) if stored.scheme != fresh.scheme => {
                                self.find(object, "it is of another scheme", REBUILD);
                            }
                            Ok(Some(stored))
                                if stored.sketches == fresh.sketches
                                    && stored.key == fresh.key
                                    && stored.moment == fresh.moment => {}
                            Ok(Some(_)) => self.find(object, "it is not that of the text", REBUILD),
                            Ok(None) => self.find(object, "it is missing", REBUILD),
                            Err(error) => self.find(object, reason(error), REBUILD),
                        }
                    }
                }
            }
        }
    }

    fn members(&mut self) -> Result<()> {
        let mut members: HashMap<u64, MemberRow> = HashMap::new();
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
            self.find(self.name("membership of document", number, None), reason(error), RESTORE);
        }
        let mut sorted: Vec<&MemberRow> = members.values().collect();
        sorted.sort_unstable_by_key(|row| row.document);
        for row in sorted {
            let object = self.name("membership of document", row.document, None);
            if !self.documents.contains(&row.document) {
                self.find(object, "there is no such document", RESTORE);
            } else if let Some(problem) = link_problem(&members, row) {
                self.find(object, problem, RESTORE);
            }
        }
        self.cluster_sizes(sizes)
    }

    fn cluster_sizes(&mut self, sizes: BTreeMap<u64, u64>) -> Result<()> {
        let mut counted: BTreeMap<u64, u64> = sizes.into_iter().filter(|(_, size)| *size > 1).collect();
        let mut before = None;
        loop {
            let page = self.read.clusters(self.live.row.number, before, 1024)?;
            before = page.last().map(|(cluster, _)| *cluster);
            for (cluster, size) in &page {
                let found = counted.remove(&cluster.0).unwrap_or(0);
                if found != *size {
                    let problem = format!("it says {size} documents and has {found}");
                    self.find(self.name("cluster", cluster.0, None), problem, RESTORE);
                }
            }
            if before.is_none() {
                break;
            }
        }
        for (cluster, size) in counted {
            self.find(
                self.name("cluster", cluster, None),
                format!("it has {size} documents and no row"),
                RESTORE,
            );
        }
        Ok(())
    }

    /// The index in memory against what is stored.
    fn index(&mut self) -> Result<()> {
        let mut ids: HashMap<u64, DocId> = HashMap::new();
        self.read.each_id(self.live.row.number, &mut |number, id| {
            ids.insert(number, id);
            Ok(())
        })?;
        let mut digest = Digest::default();
        let mut orphans = Vec::new();
        let mut known = true;
        self.read.each_sketch(self.live.row.number, &mut |number, row| {
            match (row, ids.remove(&number)) {
                (Ok(row), Some(id)) => digest.add(&sketched(id, row)),
                (_, None) => orphans.push(number),
                (Err(_), Some(_)) => known = false,
            }
            Ok(())
        })?;
        for number in orphans {
            self.find(self.name("sketch of document", number, None), "there is no such document", REBUILD);
        }
        let found = self.live.engine().digest();
        // Where sketches are damaged or missing, the index has others, made again from the texts.
        if known && ids.is_empty() && digest.finish() != found {
            self.find(
                format!("index of {}", self.live.row.name),
                "it is not that of the stored sketches",
                REBUILD,
            );
        }
        Ok(())
    }
}

/// What is wrong with the link of a member.
fn link_problem(members: &HashMap<u64, MemberRow>, row: &MemberRow) -> Option<&'static str> {
    let mut at = row;
    let mut steps = 0;
    while let Some(joined) = at.joined {
        let Some(next) = members.get(&joined) else {
            return (steps == 0).then_some("it joined for a document that is not there");
        };
        if next.cluster != at.cluster {
            return (steps == 0).then_some("it joined for a document of another cluster");
        }
        steps += 1;
        if next.document == row.document {
            return Some("it joined for itself, round a ring");
        }
        // A ring that this one only leads to is told by those in it.
        if steps > LONGEST {
            return None;
        }
        at = next;
    }
    None
}

/// Links that are followed from each document.
const LONGEST: usize = 10_000;

fn reason(error: Error) -> String {
    match error {
        Error::Damaged { reason, .. } => reason,
        other => other.to_string(),
    }
}
