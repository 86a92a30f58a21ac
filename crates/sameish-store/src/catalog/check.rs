//! Verification of a store and its indexes.

mod clusters;
mod edits;

use super::Shared;
use super::live::{LiveCollection, sketched};
use crate::error::{Error, Result};
use crate::model::Finding;
use crate::rows::DocumentRow;
use crate::store::Read;
use sameish::engine::Digest;
use sameish::{DocId, Scratch, Sketches, Status};
use std::collections::{BTreeMap, HashMap};

const RESTORE: &str =
    "restore the directory from a snapshot, or delete the affected documents and insert them again";
const REBUILD: &str = "run `sameish index rebuild`";

/// Checks the database file, every row, the links between rows, and the indexes in memory.
pub(super) fn verify(shared: &Shared) -> Result<Vec<Finding>> {
    let read = shared.readers.get()?;
    let mut findings = read.check()?;
    let collections = shared.collections();
    findings.extend(collections.unavailable().map(|collection| Finding {
        object: format!("collection {}", collection.name),
        problem: format!("it is unavailable: {}", collection.reason),
        remedy: collection.remedy,
    }));
    for live in collections.live() {
        let mut check =
            CollectionCheck { read: &*read, live, findings: Vec::new(), documents: BTreeMap::new() };
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
    /// The stored documents, each with its status. Damaged ones have none.
    documents: BTreeMap<u64, Option<Status>>,
}

impl CollectionCheck<'_> {
    fn run(&mut self) -> Result<()> {
        self.check_documents()?;
        self.check_clusters()?;
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
                let status = match row {
                    Ok(row) => Some(self.check_sketch(&row, &mut scratch)),
                    Err(error) => {
                        self.report(self.name("document", number), reason(error), RESTORE);
                        None
                    }
                };
                self.documents.insert(number, status);
            }
        }
    }

    /// Compares the stored sketches of a document with those that its text gives. Returns the status of the text.
    fn check_sketch(&mut self, row: &DocumentRow, scratch: &mut Scratch) -> Status {
        let expected = self.live.sketch(row, scratch);
        let status = expected.sketches.status;
        let problem = match self.read.sketch(row.number) {
            Err(error) => reason(error),
            Ok(None) => "it is missing".to_owned(),
            Ok(Some(stored)) if stored.scheme != expected.scheme => "it has a different scheme".to_owned(),
            Ok(Some(stored)) => {
                // The signature of a short text is not stored.
                let computed = Sketches { short_minhash: None, ..expected.sketches };
                let is_equal = stored.sketches == computed
                    && stored.key == expected.key
                    && stored.moment == expected.moment;
                if is_equal {
                    return status;
                }
                "it does not match the text".to_owned()
            }
        };
        let id = row.document.id.to_string();
        let kind = format!("sketch of document {} (id {})", row.number, id.escape_debug());
        self.report(format!("{kind} of {}", self.live.row.name), problem, REBUILD);
        status
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

fn reason(error: Error) -> String {
    match error {
        Error::Damaged { reason, .. } => reason,
        other => other.to_string(),
    }
}
