//! How is a collection written to, and how is one document read?

use super::live::{DAY, Live};
use super::repair::Leaving;
use super::writer::{GROUP, New, Request};
use super::{Shared, now};
use crate::error::{Error, Result};
use crate::model::{CollectionConfig, Inserted, Stored, check_id};
use rayon::prelude::*;
use sameish::{DocId, Document, Scratch, Timestamp};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

/// One collection of a [`Catalog`](super::Catalog). Clones are the same collection.
#[derive(Clone)]
pub struct Collection {
    pub(super) shared: Arc<Shared>,
    pub(super) live: Arc<Live>,
}

/// Documents that are on their way.
#[must_use = "a write is durable when `wait` returns"]
pub struct Pending {
    /// Answers in the order of the documents: refused before they were queued, or to come.
    refused: Vec<Option<Error>>,
    answers: Vec<Receiver<Result<Vec<Result<Inserted>>>>>,
}

impl Collection {
    pub(super) fn new(shared: Arc<Shared>, live: Arc<Live>) -> Collection {
        Collection { shared, live }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.live.row.name
    }

    /// Its settings, as they were given.
    pub fn config(&self) -> Result<CollectionConfig> {
        let row = &self.live.row;
        Ok(CollectionConfig {
            preset: row.preset.parse()?,
            overrides: row.overrides.clone(),
            retention_days: row.retention_days,
            window_days: row.window_days,
        })
    }

    /// An engine of the same settings that holds nothing: for comparing two texts.
    pub fn analyzer(&self) -> &sameish::Analyzer {
        &self.live.analyzer
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.live.engine().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stores a document and says what it matches. When this returns, it survives a power cut.
    ///
    /// The same text under the same id again is [`Outcome::Unchanged`](crate::Outcome::Unchanged), another text under a
    /// known id [`Error::Conflict`]. Where too many writes wait it is [`Error::Busy`].
    pub fn insert(&self, document: Document) -> Result<Inserted> {
        let new = self.prepare(document, &mut Scratch::default())?;
        let (reply, answer) = sync_channel(1);
        let live = Arc::clone(&self.live);
        self.shared.queue()?.offer(Request::Insert { live, documents: vec![new], reply })?;
        let mut answers = answer.recv().unwrap_or(Err(Error::Closed))?;
        answers.pop().unwrap_or(Err(Error::Closed))
    }

    /// Stores documents in order, a few hundred in one transaction; waits where many writes wait.
    /// Each has its own answer: one that is refused keeps no other out.
    pub fn insert_many(&self, documents: Vec<Document>) -> Result<Vec<Result<Inserted>>> {
        self.submit(documents)?.wait()
    }

    /// As [`insert_many`](Self::insert_many), without waiting for the answers: so the next documents can be made ready
    /// while these are written. Sketches are made before this returns, by several threads.
    pub fn submit(&self, documents: Vec<Document>) -> Result<Pending> {
        let queue = self.shared.queue()?;
        let mut pending = Pending { refused: Vec::with_capacity(documents.len()), answers: Vec::new() };
        let mut documents = documents.into_iter();
        loop {
            let group: Vec<Document> = documents.by_ref().take(GROUP).collect();
            if group.is_empty() {
                return Ok(pending);
            }
            let documents = self.prepare_all(group, &mut pending.refused);
            let (reply, answer) = sync_channel(1);
            queue.send(Request::Insert { live: Arc::clone(&self.live), documents, reply })?;
            pending.answers.push(answer);
        }
    }

    /// Makes sketches, and notes for each document why it is refused, if it is.
    fn prepare_all(&self, documents: Vec<Document>, refused: &mut Vec<Option<Error>>) -> Vec<New> {
        let prepare = |scratch: &mut Scratch, document| self.prepare(document, scratch);
        let prepared: Vec<Result<New>> =
            documents.into_par_iter().with_min_len(8).map_init(Scratch::default, prepare).collect();
        let mut taken = Vec::with_capacity(prepared.len());
        for new in prepared {
            match new {
                Ok(new) => {
                    taken.push(new);
                    refused.push(None);
                }
                Err(error) => refused.push(Some(error)),
            }
        }
        taken
    }

    /// Stores a document, in place of the one that has its id if there is one.
    pub fn replace(&self, document: Document) -> Result<Inserted> {
        let new = Box::new(self.prepare(document, &mut Scratch::default())?);
        let (reply, answer) = sync_channel(1);
        self.shared.queue()?.offer(Request::Replace { live: Arc::clone(&self.live), new, reply })?;
        answer.recv().unwrap_or(Err(Error::Closed))
    }

    /// Takes a document out of the store, the index and its cluster; tells whether it was there.
    pub fn delete(&self, id: &DocId) -> Result<bool> {
        let (reply, answer) = sync_channel(1);
        let ids = vec![Leaving { id: id.clone(), number: None }];
        let request = Request::Delete { live: Arc::clone(&self.live), ids, reply };
        self.shared.queue()?.offer(request)?;
        Ok(answer.recv().unwrap_or(Err(Error::Closed))?.pop().unwrap_or(false))
    }

    /// The same for many; waits where many writes wait.
    pub fn delete_many(&self, ids: Vec<DocId>) -> Result<Vec<bool>> {
        self.leave(ids.into_iter().map(|id| Leaving { id, number: None }).collect())
    }

    fn leave(&self, ids: Vec<Leaving>) -> Result<Vec<bool>> {
        let mut answers = Vec::with_capacity(ids.len());
        for ids in ids.chunks(GROUP) {
            let (reply, answer) = sync_channel(1);
            let request = Request::Delete { live: Arc::clone(&self.live), ids: ids.to_vec(), reply };
            self.shared.queue()?.send(request)?;
            answers.append(&mut answer.recv().unwrap_or(Err(Error::Closed))?);
        }
        Ok(answers)
    }

    /// Takes out what is older than the collection keeps documents; tells how many went. Does nothing for a collection
    /// that keeps all.
    pub fn expire(&self, now: Timestamp) -> Result<usize> {
        let Some(days) = self.live.row.retention_days else { return Ok(0) };
        let least = now.as_milliseconds().saturating_sub_unsigned(u64::from(days) * DAY);
        let visible = self.live.visible();
        let old: Vec<Leaving> = {
            let engine = self.live.engine();
            let old = engine.documents().filter(|held| {
                held.number <= visible
                    && held.published.is_some_and(|moment| moment.as_milliseconds() < least)
            });
            // By number: one that is replaced meanwhile, with a newer date, stays.
            old.map(|held| Leaving { id: held.id.clone(), number: Some(held.number) }).collect()
        };
        Ok(self.leave(old)?.into_iter().filter(|gone| *gone).count())
    }

    /// A document, if it is there.
    pub fn get(&self, id: &DocId) -> Result<Option<Stored>> {
        let read = self.shared.readers.get()?;
        let stored = || read.number_of(self.live.row.number, id);
        let Some(number) = self.number_of(id).map_or_else(stored, |number| Ok(Some(number)))? else {
            return Ok(None);
        };
        let Some(row) = read.document(number)? else { return Ok(None) };
        if row.document.id != *id {
            let reason = "it stands under another id".to_owned();
            return Err(Error::Damaged { what: format!("document {number}"), reason });
        }
        let sketch = read.sketch(number).ok().flatten();
        let sketches = match sketch {
            Some(sketch) => sketch.sketches,
            None => self.live.analyzer.sketch(&row.document.content, &mut Scratch::default()),
        };
        let cluster = read.member(number).ok().flatten().map(|member| member.cluster);
        Ok(Some(Stored {
            arrived_at: moment(row.arrived_at),
            document: row.document,
            status: sketches.status,
            words: sketches.words as u64,
            simhash: sketches.simhash,
            cluster,
        }))
    }

    /// Whether a document is there, damaged or not.
    pub fn holds(&self, id: &DocId) -> Result<bool> {
        if self.number_of(id).is_some() {
            return Ok(true);
        }
        Ok(self.shared.readers.get()?.number_of(self.live.row.number, id)?.is_some())
    }

    /// Makes all sketches again from the texts and builds the index anew.
    pub fn rebuild(&self) -> Result<()> {
        let live = Arc::clone(&self.live);
        self.shared.run(move |writer| writer.rebuild(&live))
    }

    /// A number that stands for all that the index holds. It is equal for an index that is built anew.
    pub fn digest(&self) -> Result<u64> {
        let live = Arc::clone(&self.live);
        self.shared.exclusively(move |_| Ok(live.engine().digest()))
    }

    /// The number of a document that everybody may see.
    pub(super) fn number_of(&self, id: &DocId) -> Option<u64> {
        let number = self.live.engine().get(id).map(|stored| stored.number);
        number.filter(|&number| number <= self.live.visible())
    }

    fn prepare(&self, document: Document, scratch: &mut Scratch) -> Result<New> {
        check_id(&document.id)?;
        if let Some(date) = &document.published_at {
            Timestamp::parse(date)?;
        }
        let prepared = self.live.analyzer.prepare(&document.content, scratch);
        Ok(New { document, prepared })
    }
}

impl Pending {
    /// Waits until all are durable, and gives the answers in the order of the documents.
    pub fn wait(self) -> Result<Vec<Result<Inserted>>> {
        let mut answered = Vec::with_capacity(self.refused.len());
        for answer in self.answers {
            answered.append(&mut answer.recv().unwrap_or(Err(Error::Closed))?);
        }
        let mut answers = answered.into_iter();
        let answer = |refused: Option<Error>| match refused {
            Some(error) => Err(error),
            None => answers.next().unwrap_or(Err(Error::Closed)),
        };
        Ok(self.refused.into_iter().map(answer).collect())
    }
}

/// A stored moment; what no calendar has is now.
pub(super) fn moment(milliseconds: i64) -> Timestamp {
    let moment = Timestamp::from_milliseconds(milliseconds).or_else(|| Timestamp::from_milliseconds(now()));
    moment.unwrap_or_else(|| unreachable!("the present is in the calendar"))
}
