//! What happens when a document comes in?

use super::live::{Live, sketched};
use super::repair;
use super::texts::{Cache, StoredTexts};
use super::writer::{New, Writer};
use crate::error::{Error, Result};
use crate::model::{Inserted, Outcome};
use crate::rows::{Counters, DocumentRow, MemberRow, SketchRow};
use crate::store::Transaction;
use sameish::{
    ClusterId, DocId, External, Prepared, Scope, Search, SearchOptions, SketchedDocument, Status,
    StoredDocument,
};
use std::collections::HashSet;
use std::sync::Arc;

/// Most candidates of a newcomer that are judged: less than for a question, because a flood of forms is met at every one.
const JUDGED: usize = 256;

/// A document that a transaction takes in.
pub(super) struct Newcomer {
    pub(super) sketched: SketchedDocument,
    pub(super) answer: Inserted,
}

impl Writer {
    /// Stores new documents, all in one transaction. A document may be refused by itself; a fault of the store undoes all.
    pub(super) fn insert_all(
        &mut self,
        work: Vec<(Arc<Live>, Vec<New>)>,
    ) -> Result<Vec<Vec<Result<Inserted>>>> {
        let mut added: Vec<(Arc<Live>, DocId)> = Vec::new();
        let stored = self.store_all(work, &mut added);
        match &stored {
            Ok(_) => {
                for (live, _) in &added {
                    live.show_up_to(self.counters.documents);
                    live.note_arrival(super::now());
                }
            }
            Err(_) => {
                for (live, id) in added.iter().rev() {
                    live.engine_mut().remove(id);
                }
            }
        }
        stored
    }

    fn store_all(
        &mut self,
        work: Vec<(Arc<Live>, Vec<New>)>,
        added: &mut Vec<(Arc<Live>, DocId)>,
    ) -> Result<Vec<Vec<Result<Inserted>>>> {
        let Writer { store, shared, counters, .. } = self;
        for (live, _) in &work {
            // What comes now is not shown before it is committed.
            live.show_up_to(counters.documents);
        }
        let mut entry = Entry { change: store.begin()?, counters, cache: &shared.cache };
        let mut answers = Vec::with_capacity(work.len());
        for (live, documents) in work {
            let mut given = Vec::with_capacity(documents.len());
            for new in documents {
                given.push(match entry.insert(&live, new) {
                    Ok(newcomer) => {
                        let id = newcomer.answer.id.clone();
                        live.engine_mut().insert_sketched(newcomer.sketched)?;
                        added.push((Arc::clone(&live), id));
                        Ok(newcomer.answer)
                    }
                    Err(Refused::Alone(answer)) => *answer,
                    Err(Refused::All(error)) => return Err(error),
                });
            }
            answers.push(given);
        }
        let counters = *entry.counters;
        entry.change.put_counters(counters)?;
        entry.change.commit()?;
        Ok(answers)
    }

    /// Stores a document, in place of the one that has its id.
    pub(super) fn replace(&mut self, live: &Arc<Live>, new: New) -> Result<Inserted> {
        let held = live.engine().get(&new.document.id).map(|stored| stored.number);
        let stored = || self.shared.readers.get()?.number_of(live.row.number, &new.document.id);
        let Some(old) = held.map_or_else(stored, |held| Ok(Some(held)))? else {
            let mut answers = self.insert_all(vec![(Arc::clone(live), vec![new])])?;
            let answer = answers.pop().and_then(|mut answers| answers.pop());
            return answer.unwrap_or(Err(Error::Closed));
        };
        let Writer { store, shared, counters, .. } = self;
        let mut entry = Entry { change: store.begin()?, counters, cache: &shared.cache };
        match entry.change.read().document(old) {
            Ok(Some(row)) if row.document == new.document => return entry.unchanged(live, &new, old),
            Ok(Some(row))
                if row.document.content == new.document.content
                    && row.document.published_at == new.document.published_at =>
            {
                return entry.describe(live, new, row);
            }
            Ok(_) | Err(Error::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
        let gone = HashSet::from([old]);
        repair::remove(&mut *entry.change, entry.counters, entry.cache, live, &[old])?;
        let mut newcomer = entry.enter(live, new, &gone)?;
        newcomer.answer.outcome = Outcome::Replaced;
        let counters = *entry.counters;
        entry.change.put_counters(counters)?;
        entry.change.commit()?;
        let mut engine = live.engine_mut();
        engine.insert_sketched(newcomer.sketched)?;
        live.show_up_to(counters.documents);
        live.note_arrival(super::now());
        Ok(newcomer.answer)
    }
}

/// Why a document is not taken in.
enum Refused {
    /// For itself, with its answer.
    Alone(Box<Result<Inserted>>),
    /// With all others.
    All(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::All(error)
    }
}

/// A transaction that takes documents in.
struct Entry<'a> {
    change: Box<dyn Transaction + 'a>,
    counters: &'a mut Counters,
    cache: &'a Cache,
}

impl Entry<'_> {
    fn insert(&mut self, live: &Live, new: New) -> std::result::Result<Newcomer, Refused> {
        let held = live.engine().get(&new.document.id).map(|stored| stored.number);
        let alone = |answer| Err(Refused::Alone(Box::new(answer)));
        let Some(number) = held else {
            return match self.enter(live, new, &HashSet::new()) {
                // Only a document that is too damaged for the index is in the store alone.
                Err(Error::Conflict { id }) => alone(Err(Error::Conflict { id })),
                entered => Ok(entered?),
            };
        };
        match self.change.read().document(number) {
            Ok(Some(row)) if row.document.content == new.document.content => {
                alone(Ok(self.unchanged(live, &new, number)?))
            }
            Err(Error::Damaged { what, reason }) => alone(Err(Error::Damaged { what, reason })),
            Ok(_) => alone(Err(Error::Conflict { id: new.document.id })),
            Err(error) => Err(Refused::All(error)),
        }
    }

    /// The answer for a document that is there.
    fn unchanged(&self, live: &Live, new: &New, number: u64) -> Result<Inserted> {
        let id = new.document.id.clone();
        let gone = HashSet::from([number]);
        let row = DocumentRow {
            number,
            collection: live.row.number,
            document: new.document.clone(),
            arrived_at: super::now(),
        };
        let nearest = self.nearest(live, &new.prepared, row.moment(), &gone)?;
        let cluster = self.member(number)?.map(|member| member.cluster);
        Ok(answer(id, Outcome::Unchanged, new.prepared.sketches.status, nearest, cluster))
    }

    /// Gives a document another title or address; its text, its place in the index and its cluster stay.
    fn describe(mut self, live: &Live, new: New, row: DocumentRow) -> Result<Inserted> {
        let answer = self.unchanged(live, &new, row.number)?;
        self.change.update_document(&DocumentRow { document: new.document, ..row })?;
        self.change.commit()?;
        Ok(Inserted { outcome: Outcome::Replaced, ..answer })
    }

    /// Looks for matches among all but those that go, and writes all rows.
    fn enter(&mut self, live: &Live, new: New, gone: &HashSet<u64>) -> Result<Newcomer> {
        self.counters.documents += 1;
        let New { document, prepared } = new;
        let id = document.id.clone();
        let number = self.counters.documents;
        let now = super::now();
        let row = DocumentRow { number, collection: live.row.number, document, arrived_at: now };
        let nearest = self.nearest(live, &prepared, row.moment(), gone)?;
        self.change.put_document(&row)?;
        let Prepared { sketches, features, key } = prepared;
        let sketch = SketchRow {
            number,
            collection: live.row.number,
            sketches,
            key,
            moment: row.moment(),
            scheme: live.scheme,
            computed_at: now,
        };
        self.change.put_sketch(&sketch)?;
        let status = sketch.sketches.status;
        let cluster = match status {
            Status::Ok => Some(self.join(live, number, nearest.best)?),
            Status::TooShort => None,
        };
        if live.analyzer.config().matching.verify {
            self.cache.put(number, Arc::new(features));
        }
        let answer = answer(id.clone(), Outcome::Created, status, nearest, cluster);
        Ok(Newcomer { sketched: sketched(id, sketch), answer })
    }

    fn nearest(&self, live: &Live, prepared: &Prepared, moment: i64, gone: &HashSet<u64>) -> Result<Search> {
        let texts = StoredTexts::new(&live.analyzer, self.cache, self.change.read());
        let filter =
            |other: StoredDocument<'_>| !gone.contains(&other.number) && live.within_window(other, moment);
        let scope: Scope<'_, External> = Scope {
            options: SearchOptions::default(),
            texts: &texts,
            filter: Some(&filter),
            max_candidates: JUDGED,
        };
        Ok(live.engine().search_prepared_in(prepared, &scope)?)
    }

    /// Which cluster a document is in. A membership that is damaged is as good as none; `verify` names it.
    fn member(&self, document: u64) -> Result<Option<MemberRow>> {
        match self.change.read().member(document) {
            Err(Error::Damaged { .. }) => Ok(None),
            member => member,
        }
    }

    /// Joins the cluster of the best match, or founds one (seed 003).
    fn join(&mut self, live: &Live, document: u64, best: Option<u64>) -> Result<ClusterId> {
        let collection = live.row.number;
        let met = best.map(|best| self.member(best)).transpose()?.flatten();
        let (cluster, joined) = match met {
            Some(member) => {
                let size = self.change.read().cluster_size(member.cluster)?.unwrap_or(1);
                self.change.put_cluster(collection, member.cluster, size + 1)?;
                (member.cluster, best)
            }
            None => {
                self.counters.clusters += 1;
                (ClusterId(self.counters.clusters), None)
            }
        };
        self.change.put_member(&MemberRow { document, collection, cluster, joined })?;
        Ok(cluster)
    }
}

fn answer(
    id: DocId,
    outcome: Outcome,
    status: Status,
    nearest: Search,
    cluster: Option<ClusterId>,
) -> Inserted {
    let Search { matches, capped, .. } = nearest;
    Inserted { id, outcome, status, duplicates: matches, cluster, capped }
}
