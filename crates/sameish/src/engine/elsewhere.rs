//! What if the texts are kept elsewhere?
//!
//! An engine that holds a million articles needs most of its memory for what matches are verified on. A service has the
//! texts in a database anyway. So an engine can hold sketches alone, and make features and facts again when a candidate is
//! judged: the most promising first, and no more of them than the answer needs.

use super::collection::{Doc, Found, Prepared, Query, Search, SearchOptions};
use super::lookup::{Candidate, Rows, least_estimate};
use super::{Collection, Engine, Scratch, Sketches, Status};
use crate::config::Config;
use crate::document::{ContentRef, DocId, Timestamp};
use crate::error::Result;
use crate::features::{Facts, FeatureSet, TextKey, WordFrequencies};
use crate::index::DocNumber;
use crate::matching::Judge;
use crate::sketch::{Fingerprint, Sdr, Signature};
use std::sync::{Arc, LazyLock};
use xxhash_rust::xxh3::Xxh3;

/// What matches are verified on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The shingles.
    pub features: FeatureSet,
    /// Numbers and rare words.
    pub facts: Facts,
}

/// Where the texts of an engine's documents are.
pub trait Texts {
    /// What matches with a document are verified on, by the number that it was inserted with. Nothing where it can not be
    /// had; then it is no match of anything.
    fn details(&self, number: u64) -> Option<Arc<Details>>;
}

/// What an engine holds of a document whose text is elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held<'a> {
    /// Its id.
    pub id: &'a DocId,
    /// The number it was inserted with.
    pub number: u64,
    /// The moment it was inserted with.
    pub moment: Option<Timestamp>,
    /// Whether the text was long enough.
    pub status: Status,
}

/// How a search goes about texts that are elsewhere.
pub struct Among<'a> {
    /// Where they are.
    pub texts: &'a dyn Texts,
    /// Which documents may be found at all.
    pub admits: &'a dyn Fn(Held<'_>) -> bool,
    /// Most candidates that are judged.
    pub judged: usize,
}

/// A document that arrives without its text.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Its id.
    pub id: DocId,
    /// What its text is known by elsewhere. Greater numbers came later; none is given twice.
    pub number: u64,
    /// When it came out.
    pub moment: Option<Timestamp>,
    /// What indexes look at.
    pub sketches: Sketches,
    /// Stands for the text as a whole.
    pub key: Option<TextKey>,
}

/// What a search among texts elsewhere found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nearest {
    /// As any search.
    pub search: Search,
    /// The number of the most similar document that the one in question may be grouped with: long enough, and not of one
    /// form with other facts. Of equals the first.
    pub best: Option<u64>,
}

/// For pairs that are judged without a look at their features.
static UNSEEN: LazyLock<Details> = LazyLock::new(Details::default);

impl Engine {
    /// An engine that holds no texts and nothing made of them but sketches. Documents come by
    /// [`insert_elsewhere`](Self::insert_elsewhere) and are found by [`search_among`](Self::search_among); what the others
    /// find is not verified. It forms no groups as documents arrive and counts no words: see
    /// [`weigh_words_by`](Self::weigh_words_by).
    pub fn without_texts(config: Config) -> Result<Engine> {
        let mut engine = Engine::new(config)?;
        engine.collection.elsewhere = true;
        engine.collection.online = None;
        Ok(engine)
    }

    /// What matches with a text are verified on.
    pub fn details<'a>(&self, content: impl Into<ContentRef<'a>>, scratch: &mut Scratch) -> Details {
        let content = content.into();
        let features = self.features(content, scratch);
        Details { features, facts: Facts::with_scratch(content, &mut scratch.text) }
    }

    /// Weighs words by how rare they are in these documents, when facts are compared.
    pub fn weigh_words_by(&mut self, frequencies: Option<WordFrequencies>) {
        self.collection.frequencies = frequencies;
    }

    /// What words are weighed by.
    pub fn words(&self) -> Option<&WordFrequencies> {
        self.collection.frequencies.as_ref()
    }

    /// Adds a document whose text is elsewhere, in place of the one that has its id.
    pub fn insert_elsewhere(&mut self, arrival: Arrival) -> Result<()> {
        self.remove(&arrival.id);
        let (doc, prepared) = arrival.held();
        self.collection.put(doc, prepared).map(|_| ())
    }

    /// Adds many documents to an engine that has none. Much faster than one by one; nothing is found until
    /// [`finish`](Loading::finish).
    pub fn load(&mut self) -> Loading<'_> {
        Loading { collection: &mut self.collection, rows: Vec::new(), prints: Vec::new() }
    }

    /// The documents that match one that was [prepared](Self::prepare), and is not itself among them.
    pub fn search_among(
        &self,
        prepared: &Prepared,
        options: SearchOptions,
        among: &Among<'_>,
    ) -> Result<Nearest> {
        self.nearest(&Query::of(prepared), None, options, among)
    }

    /// The other documents that match one of the engine's; nothing if it is not there or its text can not be had.
    pub fn search_id_among(
        &self,
        id: &DocId,
        options: SearchOptions,
        among: &Among<'_>,
    ) -> Option<Result<Nearest>> {
        let doc = *self.collection.numbers.get(id)?;
        let Doc { arrival, text, .. } = self.collection.docs[doc];
        let details = match self.config.matching.verify {
            true => among.texts.details(arrival)?,
            false => Arc::default(),
        };
        let query = self.collection.query_of(text).with(&details);
        Some(self.nearest(&query, Some(doc), options, among))
    }

    fn nearest(
        &self,
        query: &Query<'_>,
        except: Option<u32>,
        options: SearchOptions,
        among: &Among<'_>,
    ) -> Result<Nearest> {
        let among = Among { judged: among.judged, ..*among };
        let found = self.collection.search(query, except, options, self.limit(options), Some(&among))?;
        Ok(Nearest { search: found.search, best: found.best.map(|doc| self.collection.docs[doc].arrival) })
    }

    /// What is held of a document.
    pub fn held(&self, id: &DocId) -> Option<Held<'_>> {
        self.collection.numbers.get(id).map(|&doc| self.collection.held(doc))
    }

    /// All documents, in no particular order.
    pub fn all_held(&self) -> impl Iterator<Item = Held<'_>> {
        self.collection.docs.iter().map(|(doc, _)| self.collection.held(doc))
    }

    /// A number that stands for everything held: documents, their texts' keys and sketches, and the weights of words. Two
    /// engines of the same settings answer alike when it is equal, however they came by their documents.
    pub fn digest(&self) -> u64 {
        let mut docs: Vec<&Doc> = self.collection.docs.iter().map(|(_, doc)| doc).collect();
        docs.sort_unstable_by_key(|doc| doc.arrival);
        let mut digest = Digest::default();
        for doc in docs {
            digest.add_held(&doc.id, doc.arrival, doc.published, &self.collection.query_of(doc.text));
        }
        digest.finish(self.collection.frequencies.as_ref())
    }
}

/// What an engine's [`digest`](Engine::digest) would be, from documents by rising number.
#[derive(Default)]
pub struct Digest(Xxh3);

impl Digest {
    /// Adds the next document.
    pub fn add(&mut self, arrival: &Arrival) {
        let Arrival { id, number, moment, sketches, key } = arrival;
        self.add_held(id, *number, *moment, &Query { key: *key, ..Query::sketched(sketches) });
    }

    fn add_held(&mut self, id: &DocId, number: u64, moment: Option<Timestamp>, query: &Query<'_>) {
        let hasher = &mut self.0;
        hasher.update(&number.to_le_bytes());
        hasher.update(&moment.map_or(i64::MIN, Timestamp::as_milliseconds).to_le_bytes());
        match id {
            DocId::Number(id) => hasher.update(&id.to_le_bytes()),
            DocId::Negative(id) => hasher.update(&id.to_le_bytes()),
            DocId::Text(id) => hasher.update(id.as_bytes()),
        }
        hasher.update(&[query.status as u8]);
        hasher.update(&query.key.map_or(0, TextKey::as_u128).to_le_bytes());
        hasher.update(&query.simhash.map_or(0, Fingerprint::as_u64).to_le_bytes());
        query.signature.into_iter().flatten().for_each(|row| hasher.update(&row.to_le_bytes()));
        query.sdr.into_iter().flat_map(Sdr::active).for_each(|bit| hasher.update(&bit.to_le_bytes()));
    }

    /// The digest, with the weights of words.
    pub fn finish(mut self, frequencies: Option<&WordFrequencies>) -> u64 {
        self.0.update(&frequencies.map_or(0, WordFrequencies::digest).to_le_bytes());
        self.0.digest()
    }
}

impl Arrival {
    fn held(self) -> (Doc, Prepared) {
        let Arrival { id, number, moment, sketches, key } = self;
        let doc = Doc { id, arrival: number, published: moment, text: 0 };
        (doc, Prepared { sketches, features: FeatureSet::default(), facts: Facts::default(), key })
    }
}

impl Collection {
    fn held(&self, doc: u32) -> Held<'_> {
        let Doc { id, arrival, published, text } = &self.docs[doc];
        Held { id, number: *arrival, moment: *published, status: self.texts[*text].status }
    }

    pub(super) fn admits(&self, doc: u32, among: Option<&Among<'_>>) -> bool {
        among.is_none_or(|among| (among.admits)(self.held(doc)))
    }

    pub(super) fn any_admitted(&self, text: u32, among: Option<&Among<'_>>) -> bool {
        among.is_none() || self.docs_of(text).any(|doc| self.admits(doc, among))
    }

    /// The candidates that match, the most promising first, until no other can be among those that are asked for.
    pub(super) fn judge_elsewhere(
        &self,
        query: &Query<'_>,
        judge: Judge,
        candidates: &[Candidate],
        among: &Among<'_>,
        limit: usize,
    ) -> Vec<Found> {
        let mut order: Vec<&Candidate> = candidates.iter().collect();
        order.sort_by(|a, b| b.promise().total_cmp(&a.promise()));
        let mut found: Vec<Found> = Vec::new();
        let mut best = Best { limit, similarities: Vec::new(), joins: false };
        for candidate in order {
            if best.can_not_be_beaten_by(candidate, query.signature.map_or(1, <[u32]>::len)) {
                break;
            }
            if let Some(judged) = self.judge_one(query, judge, candidate.text, among) {
                let docs = self.docs_of(judged.text).filter(|&doc| self.admits(doc, Some(among)));
                best.add(judged.verdict.similarity, docs.take(limit).count(), self.joins(&judged.verdict));
                found.push(judged);
            }
        }
        found
    }

    /// Reads the text only where features decide.
    fn judge_one(&self, query: &Query<'_>, judge: Judge, text: u32, among: &Among<'_>) -> Option<Found> {
        let other = self.query_of(text);
        let short = [query.status, other.status].contains(&Status::TooShort);
        if short || query.key.is_some() && query.key == other.key {
            return self.verdict(judge, query, &other.with(&UNSEEN), text);
        }
        let first = self.docs_of(text).find(|&doc| self.admits(doc, Some(among)))?;
        let details = among.texts.details(self.docs[first].arrival)?;
        self.verdict(judge, query, &other.with(&details), text)
    }
}

/// The similarities of the documents that an answer has room for.
struct Best {
    limit: usize,
    /// Falling.
    similarities: Vec<f64>,
    /// Whether one of them is one to be grouped with.
    joins: bool,
}

impl Best {
    fn add(&mut self, similarity: f64, documents: usize, joins: bool) {
        self.joins |= joins;
        let at = self.similarities.partition_point(|&other| other >= similarity);
        self.similarities.splice(at..at, std::iter::repeat_n(similarity, documents));
        self.similarities.truncate(self.limit);
    }

    /// Whether a candidate's estimate is too low for a similarity above the least of a full list.
    fn can_not_be_beaten_by(&self, candidate: &Candidate, rows: usize) -> bool {
        let least = self.similarities.last().filter(|_| self.joins && self.similarities.len() >= self.limit);
        candidate.estimate.zip(least).is_some_and(|(estimate, &least)| estimate < least_estimate(least, rows))
    }
}

/// Documents on their way into an engine: see [`Engine::load`].
pub struct Loading<'a> {
    collection: &'a mut Collection,
    /// What has not yet gone into the indexes, which take many at a time; of texts with consecutive numbers.
    rows: Vec<Rows>,
    prints: Vec<(Fingerprint, DocNumber)>,
}

/// Texts that wait; each has a signature of half a kilobyte.
const WAITING: usize = 1 << 16;

impl Loading<'_> {
    /// Adds one more. Ids and numbers must not repeat.
    pub fn add(&mut self, arrival: Arrival) -> Result<()> {
        let (mut doc, mut prepared) = arrival.held();
        let collection = &mut *self.collection;
        let number = collection.docs.next();
        let rows = &self.rows;
        let signature = |text| waiting(rows, text).or_else(|| collection.lookup.signature(DocNumber(text)));
        match collection.same_text_by(&Query::of(&prepared), signature) {
            Some(text) => {
                collection.texts[text].docs.insert(doc.arrival, number);
                doc.text = text;
            }
            None => {
                let text = collection.texts.next();
                self.prints.extend(Query::of(&prepared).seen().print().map(|print| (print, DocNumber(text))));
                let (signature, sdr) = (prepared.sketches.minhash.take(), prepared.sketches.sdr.clone());
                self.rows.push(Rows { text, signature, sdr });
                doc.text = collection.add_text(prepared, (doc.arrival, number));
            }
        }
        collection.arrivals = collection.arrivals.max(doc.arrival + 1);
        collection.numbers.insert(doc.id.clone(), number);
        collection.add_doc(doc);
        if self.rows.len() >= WAITING { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.collection.lookup.insert_rows(&self.rows)?;
        self.rows.clear();
        Ok(())
    }

    /// Builds the indexes.
    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.collection.lookup.insert_prints(&self.prints);
        Ok(())
    }
}

fn waiting(rows: &[Rows], text: u32) -> Option<&[u32]> {
    let at = text.checked_sub(rows.first()?.text)?;
    rows.get(at as usize)?.signature.as_ref().map(Signature::rows)
}
