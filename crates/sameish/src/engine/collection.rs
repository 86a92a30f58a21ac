//! Which documents does an engine hold, and which of them match?
//!
//! Equal documents (equal normalized text and equal sketches) are one text with several documents. Indexes hold texts, so
//! a million copies cost what one costs. Documents and texts have numbers, given again when they are free; their order is
//! that of arrival, a text's that of its first document.

use super::elsewhere::{Among, Details};
use super::lookup::{Candidate, Lookup, Seen};
use super::slots::Slots;
use super::texts::{Numbers, Text};
use super::{Engine, Scratch, Sketches, Status};
use crate::cluster::{ClusterId, OnlineClusters};
use crate::config::{Config, Linkage, Templates};
use crate::document::{ContentRef, DocId, Document, Timestamp};
use crate::error::Result;
use crate::features::{Facts, FeatureSet, TextKey, WordFrequencies};
use crate::index::DocNumber;
use crate::matching::{Judge, MatchKind, Side, Verdict};
use crate::sketch::{Fingerprint, Sdr, Signature};
use std::collections::{HashMap, HashSet};

/// All that an engine needs of a document, made without changing the engine: by several threads, if you like.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// What indexes look at.
    pub sketches: Sketches,
    /// What matches are verified on; empty under settings that do not verify.
    pub features: FeatureSet,
    /// Numbers and rare words; none under settings that do not verify.
    pub facts: Facts,
    /// Stands for the text as a whole.
    pub key: Option<TextKey>,
}

/// What became of a document that was inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// Whether the text was long enough.
    pub status: Status,
    /// Whether a document of that id was there and has gone.
    pub replaced: bool,
    /// The cluster it joined or founded, under online clustering.
    pub cluster: Option<ClusterId>,
}

/// A document of the engine that matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// Which document.
    pub id: DocId,
    /// From 0 to 1: exact Jaccard similarity where `verified`, else what the sketches say.
    pub similarity: f64,
    /// What the two are to each other.
    pub kind: MatchKind,
    /// Whether it was judged on the documents' own features.
    pub verified: bool,
    /// In how many bits the fingerprints differ, where both have one.
    pub distance: Option<u32>,
    /// How far numbers and rare words agree, of a verified match.
    pub facts: Option<f64>,
    /// Whether the two are of one form with other facts.
    pub template: bool,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Search {
    /// The most similar first; equals in the order of arrival.
    pub matches: Vec<Match>,
    /// How many distinct candidates were judged.
    pub candidates: usize,
    /// How many limits were hit: where it is not 0, matches may be missing.
    pub capped: usize,
}

/// How a search may differ from the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SearchOptions {
    /// Most matches that are given; the settings' `limit` when absent.
    pub limit: Option<usize>,
    /// Least similarity; the settings' threshold when absent. Far below that, the index finds few.
    pub min_similarity: Option<f64>,
}

/// The documents of an engine and the indexes over them.
#[derive(Clone, Debug)]
pub(super) struct Collection {
    pub(super) judge: Judge,
    pub(super) online: Option<OnlineClusters>,
    /// Whether texts of one form with other facts may be grouped.
    pub(super) templates: Templates,
    /// Of all documents that ever came, or what [`Engine::weigh_words_by`] was given.
    pub(super) frequencies: Option<WordFrequencies>,
    /// Whether features and facts are made again when a candidate is judged.
    pub(super) elsewhere: bool,
    pub(super) lookup: Lookup,
    pub(super) numbers: HashMap<DocId, u32>,
    pub(super) docs: Slots<Doc>,
    /// Documents whose texts are too short.
    short: usize,
    pub(super) texts: Slots<Text>,
    /// Texts by what is in them; several where equal texts have unequal sketches.
    pub(super) by_key: HashMap<TextKey, Numbers>,
    pub(super) arrivals: u64,
}

/// A document as it is held.
#[derive(Clone, Debug)]
pub(super) struct Doc {
    pub(super) id: DocId,
    pub(super) arrival: u64,
    pub(super) published: Option<Timestamp>,
    pub(super) text: u32,
}

/// A text that matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) text: u32,
    pub(super) verdict: Verdict,
}

impl Engine {
    /// All that inserting or searching needs of a document.
    pub fn prepare<'a>(&self, content: impl Into<ContentRef<'a>>, scratch: &mut Scratch) -> Prepared {
        let content = content.into();
        let verify = self.config.matching.verify;
        let (sketches, features) = self.run(content, verify, scratch);
        let facts = if verify { Facts::with_scratch(content, &mut scratch.text) } else { Facts::default() };
        Prepared { sketches, features: features.unwrap_or_default(), facts, key: TextKey::of(content) }
    }

    /// Adds a document, in place of the one that has its id if there is one.
    ///
    /// Its date matters to greedy clustering alone; only there a date that can not be read is an error.
    ///
    /// ```
    /// use sameish::{Content, Document, Engine, Preset, Scratch, SearchOptions};
    ///
    /// let mut engine = Engine::new(Preset::Copies.config())?;
    /// let mut scratch = Scratch::default();
    /// let text = "The council voted on Monday to close the old bridge over the river for repairs until next spring.";
    /// engine.insert(&Document::new("bridge", text), &mut scratch)?;
    /// let query = Content::Text(text.replace("The council", "Councillors"));
    /// let found = engine.search(&query, SearchOptions::default(), &mut scratch)?;
    /// assert_eq!(found.matches[0].id, "bridge".into());
    /// assert!(found.matches[0].verified && found.matches[0].similarity > 0.8);
    /// assert!(engine.remove(&"bridge".into()));
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn insert(&mut self, document: &Document, scratch: &mut Scratch) -> Result<Inserted> {
        let prepared = self.prepare(&document.content, scratch);
        self.insert_prepared(&document.id, document.published_at.as_deref(), prepared)
    }

    /// Adds a document that was [prepared](Self::prepare) by an engine of the same settings.
    pub fn insert_prepared(
        &mut self,
        id: &DocId,
        published_at: Option<&str>,
        prepared: Prepared,
    ) -> Result<Inserted> {
        let published = match self.config.matching.linkage {
            Linkage::Greedy => published_at.map(Timestamp::parse).transpose()?,
            _ => None,
        };
        let replaced = self.remove(id);
        let status = prepared.sketches.status;
        let cluster = self.collection.add(id, published, prepared)?;
        Ok(Inserted { status, replaced, cluster })
    }

    /// How likely a pair right at the threshold is found, as the bands promise. Settings that find by fingerprints alone
    /// miss nothing within the radius, and have no such number.
    pub fn expected_recall(&self) -> Option<f64> {
        let bands = self.config.bands().ok().flatten()?;
        Some(bands.probability(self.config.matching.threshold))
    }

    /// Takes a document out; tells whether it was there.
    pub fn remove(&mut self, id: &DocId) -> bool {
        self.collection.remove(id)
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.collection.numbers.len()
    }

    /// How many documents are too short for the settings.
    pub fn too_short(&self) -> usize {
        self.collection.short
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is a document of that id.
    pub fn contains(&self, id: &DocId) -> bool {
        self.collection.numbers.contains_key(id)
    }

    /// What stands for the text of a document; the inner nothing is for a blank one.
    pub fn text_key(&self, id: &DocId) -> Option<Option<TextKey>> {
        let doc = *self.collection.numbers.get(id)?;
        Some(self.collection.texts[self.collection.docs[doc].text].key)
    }

    /// The documents that match a text.
    pub fn search<'a>(
        &self,
        content: impl Into<ContentRef<'a>>,
        options: SearchOptions,
        scratch: &mut Scratch,
    ) -> Result<Search> {
        self.search_prepared(&self.prepare(content, scratch), options)
    }

    /// The documents that match one that was [prepared](Self::prepare).
    pub fn search_prepared(&self, prepared: &Prepared, options: SearchOptions) -> Result<Search> {
        let query = Query::of(prepared);
        self.collection
            .search(&query, None, options, self.limit(options), None)
            .map(|neighbors| neighbors.search)
    }

    /// The documents whose sketches match. Without a text nothing can be verified, and no match says that it was.
    pub fn search_sketches(&self, sketches: &Sketches, options: SearchOptions) -> Result<Search> {
        let signature = sketches.minhash.as_ref().map(Signature::rows);
        let query = Query { signature, features: None, facts: None, key: None, ..Query::sketched(sketches) };
        self.collection
            .search(&query, None, options, self.limit(options), None)
            .map(|neighbors| neighbors.search)
    }

    /// The other documents that match one of the engine's; nothing if it is not there.
    pub fn search_id(&self, id: &DocId, options: SearchOptions) -> Option<Result<Search>> {
        let doc = *self.collection.numbers.get(id)?;
        let query = self.collection.query_of(self.collection.docs[doc].text);
        let found = self.collection.search(&query, Some(doc), options, self.limit(options), None);
        Some(found.map(|neighbors| neighbors.search))
    }

    pub(super) fn limit(&self, options: SearchOptions) -> usize {
        options.limit.unwrap_or(self.config.matching.limit as usize)
    }
}

/// What a search starts from.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    pub(super) status: Status,
    pub(super) simhash: Option<Fingerprint>,
    pub(super) signature: Option<&'a [u32]>,
    pub(super) sdr: Option<&'a Sdr>,
    pub(super) features: Option<&'a FeatureSet>,
    pub(super) facts: Option<&'a Facts>,
    pub(super) key: Option<TextKey>,
}

impl<'a> Query<'a> {
    pub(super) fn of(prepared: &'a Prepared) -> Query<'a> {
        let Prepared { sketches, features, facts, key } = prepared;
        Query { features: Some(features), facts: Some(facts), key: *key, ..Query::sketched(sketches) }
    }

    pub(super) fn sketched(sketches: &'a Sketches) -> Query<'a> {
        Query {
            status: sketches.status,
            simhash: sketches.simhash,
            signature: sketches.minhash.as_ref().map(Signature::rows),
            sdr: sketches.sdr.as_ref(),
            features: None,
            facts: None,
            key: None,
        }
    }

    /// The same, verified on these.
    pub(super) fn with(self, details: &'a Details) -> Query<'a> {
        Query { features: Some(&details.features), facts: Some(&details.facts), ..self }
    }

    pub(super) fn side(&self) -> Side<'a> {
        Side {
            key: self.key,
            too_short: self.status == Status::TooShort,
            simhash: self.simhash,
            minhash: self.signature,
            sdr: self.sdr,
            features: self.features,
            facts: self.facts,
        }
    }

    pub(super) fn seen(&self) -> Seen<'a> {
        Seen { simhash: self.simhash, minhash: self.signature, sdr: self.sdr }
    }
}

impl Collection {
    pub(super) fn new(config: &Config) -> Result<Collection> {
        Ok(Collection {
            judge: Judge::new(config),
            online: (config.matching.linkage == Linkage::Online).then(OnlineClusters::default),
            templates: config.matching.templates,
            frequencies: None,
            elsewhere: false,
            lookup: Lookup::new(config)?,
            numbers: HashMap::new(),
            docs: Slots::default(),
            short: 0,
            texts: Slots::default(),
            by_key: HashMap::new(),
            arrivals: 0,
        })
    }

    fn add(
        &mut self,
        id: &DocId,
        published: Option<Timestamp>,
        prepared: Prepared,
    ) -> Result<Option<ClusterId>> {
        // Online clusters are for texts that are long enough.
        let clustered = self.online.is_some() && prepared.sketches.status == Status::Ok;
        let best = if clustered { self.best_match(&prepared)? } else { None };
        if self.judge.verifies() {
            self.frequencies.get_or_insert_default().add(&prepared.facts);
        }
        let arrival = self.arrivals;
        let doc = self.put(Doc { id: id.clone(), arrival, published, text: 0 }, prepared)?;
        let online = self.online.as_mut().filter(|_| clustered);
        Ok(online.map(|online| online.add(DocNumber(doc), best.map(DocNumber))))
    }

    /// Holds a document, of which nobody else has the id.
    pub(super) fn put(&mut self, mut doc: Doc, prepared: Prepared) -> Result<u32> {
        let number = self.docs.next();
        match self.same_text(&Query::of(&prepared)) {
            Some(text) => {
                self.texts[text].docs.insert(doc.arrival, number);
                doc.text = text;
            }
            None => {
                self.lookup.insert(DocNumber(self.texts.next()), Query::of(&prepared).seen())?;
                doc.text = self.add_text(prepared, (doc.arrival, number));
            }
        }
        self.arrivals = self.arrivals.max(doc.arrival + 1);
        self.numbers.insert(doc.id.clone(), number);
        Ok(self.add_doc(doc))
    }

    /// Holds a document whose text is held.
    pub(super) fn add_doc(&mut self, doc: Doc) -> u32 {
        self.short += usize::from(self.texts[doc.text].status == Status::TooShort);
        self.docs.add(doc)
    }

    /// Holds a text that the indexes know, with its first document.
    pub(super) fn add_text(&mut self, prepared: Prepared, first: (u64, u32)) -> u32 {
        let text = self.texts.next();
        if let Some(key) = prepared.key {
            self.by_key.entry(key).and_modify(|texts| texts.push(text)).or_insert(Numbers::One(text));
        }
        self.texts.add(Text::new(prepared, first, self.elsewhere))
    }

    /// The text that has the same words and sketches, if equal texts match: those with zero fingerprints may not.
    pub(super) fn same_text(&self, new: &Query<'_>) -> Option<u32> {
        self.same_text_by(new, |text| self.lookup.signature(DocNumber(text)))
    }

    /// The same where signatures may be elsewhere than in the index.
    pub(super) fn same_text_by<'a>(
        &self,
        new: &Query<'_>,
        signature: impl Fn(u32) -> Option<&'a [u32]>,
    ) -> Option<u32> {
        let mut texts = self.by_key.get(&new.key?)?.as_slice().iter().copied();
        let text = texts.find(|&text| self.texts[text].query(signature(text)).seen() == new.seen())?;
        self.judge.judge(&new.side(), &new.side()).map(|_| text)
    }

    pub(super) fn remove(&mut self, id: &DocId) -> bool {
        let Some(doc) = self.numbers.remove(id) else { return false };
        let Doc { arrival, text, .. } = self.docs.take(doc);
        self.short -= usize::from(self.texts[text].status == Status::TooShort);
        self.online.iter_mut().for_each(|online| _ = online.remove(DocNumber(doc)));
        if self.texts[text].docs.remove(arrival) {
            self.remove_text(text);
        }
        true
    }

    fn remove_text(&mut self, text: u32) {
        let Text { simhash, key, .. } = self.texts.take(text);
        self.lookup.remove(DocNumber(text), simhash);
        let Some(key) = key else { return };
        if self.by_key.get_mut(&key).is_some_and(|texts| texts.remove(text)) {
            self.by_key.remove(&key);
        }
    }

    /// The document that a newcomer is most like; of equals the first.
    fn best_match(&self, prepared: &Prepared) -> Result<Option<u32>> {
        let found = self.matches(&Query::of(prepared), None, self.judge, Reach::of(CANDIDATES_JUDGED))?.found;
        Ok(found.iter().find(|found| self.joins(&found.verdict)).map(|best| self.first_of(best.text)))
    }

    pub(super) fn search(
        &self,
        query: &Query<'_>,
        except: Option<u32>,
        options: SearchOptions,
        limit: usize,
        among: Option<&Among<'_>>,
    ) -> Result<Neighbors> {
        let judge = options.min_similarity.map_or(self.judge, |least| self.judge.with_threshold(least));
        let least = options.min_similarity.unwrap_or(0.0);
        let most = among.map_or(CANDIDATES_JUDGED, |among| among.judged);
        let reach = Reach { most, limit: limit.saturating_add(usize::from(except.is_some())), among };
        let Matches { found, candidates, capped } = self.matches(query, None, judge, reach)?;
        let joins =
            |found: &&Found| self.joins(&found.verdict) && self.texts[found.text].status == Status::Ok;
        let best = found.iter().filter(joins).find_map(|found| {
            self.docs_of(found.text).find(|&doc| Some(doc) != except && self.admits(doc, among))
        });
        let mut docs: Vec<(u32, Verdict)> = Vec::new();
        for found in found.iter().filter(|found| found.verdict.similarity >= least) {
            // Equals are told in the order of their documents, so all texts as similar as the last are looked at.
            let last = docs.last().map(|(_, verdict): &(u32, Verdict)| verdict.similarity);
            if docs.len() >= limit && last.is_some_and(|last| last > found.verdict.similarity) {
                break;
            }
            let others =
                self.docs_of(found.text).filter(|&doc| Some(doc) != except && self.admits(doc, among));
            docs.extend(others.take(limit).map(|doc| (doc, found.verdict)));
        }
        docs.sort_by(|(a, x), (b, y)| {
            let arrival = |doc: &u32| self.docs[*doc].arrival;
            y.similarity.total_cmp(&x.similarity).then_with(|| arrival(a).cmp(&arrival(b)))
        });
        let matches = docs.into_iter().take(limit).map(|(doc, verdict)| Match {
            id: self.docs[doc].id.clone(),
            similarity: verdict.similarity,
            kind: verdict.kind,
            verified: verdict.verified,
            distance: verdict.distance,
            facts: verdict.facts,
            template: verdict.template,
        });
        Ok(Neighbors { search: Search { matches: matches.collect(), candidates, capped }, best })
    }

    /// The texts that match, the most similar first, then by arrival.
    fn matches(
        &self,
        query: &Query<'_>,
        except: Option<u32>,
        judge: Judge,
        reach: Reach<'_>,
    ) -> Result<Matches> {
        let Reach { most, among, .. } = reach;
        let equal = query.key.and_then(|key| self.by_key.get(&key)).map_or(&[][..], Numbers::as_slice);
        let mut texts: Vec<Candidate> = equal.iter().map(|&text| Candidate::certain(text)).collect();
        let found = self.lookup.candidates(query.seen(), judge.threshold())?;
        texts.extend(found.texts);
        texts.retain(|candidate| Some(candidate.text) != except && self.any_admitted(candidate.text, among));
        let verify = query.features.is_some() && judge.verifies();
        let capped = found.capped + keep_most_promising(&mut texts, verify, most);
        let candidates = texts.len();
        let mut found = match among {
            Some(among) if verify && self.elsewhere => {
                self.judge_elsewhere(query, judge, &texts, among, reach.limit)
            }
            _ => {
                let judged = texts.iter().filter_map(|candidate| {
                    self.verdict(judge, query, &self.query_of(candidate.text), candidate.text)
                });
                judged.collect()
            }
        };
        let arrival = |found: &Found| self.arrival_of(found.text);
        found.sort_by(|a, b| {
            b.verdict.similarity.total_cmp(&a.verdict.similarity).then_with(|| arrival(a).cmp(&arrival(b)))
        });
        Ok(Matches { found, candidates, capped })
    }

    pub(super) fn verdict(
        &self,
        judge: Judge,
        query: &Query<'_>,
        other: &Query<'_>,
        text: u32,
    ) -> Option<Found> {
        let verdict = judge.judge_facts(&query.side(), &other.side(), self.frequencies.as_ref())?;
        Some(Found { text, verdict })
    }

    /// The matches of one of the texts among the others, of which `most` are judged.
    pub(super) fn matches_of(&self, text: u32, most: usize) -> Matches {
        let matches = self.matches(&self.query_of(text), Some(text), self.judge, Reach::of(most));
        matches.unwrap_or_else(|error| unreachable!("what is held fits the indexes: {error}"))
    }

    /// Whether a match may bring two documents into one group.
    pub(super) fn joins(&self, verdict: &Verdict) -> bool {
        !verdict.template || self.templates == Templates::Merge
    }

    /// The documents of a text, by arrival.
    pub(super) fn docs_of(&self, text: u32) -> impl Iterator<Item = u32> {
        self.texts[text].docs.iter()
    }

    pub(super) fn query_of(&self, text: u32) -> Query<'_> {
        self.texts[text].query(self.lookup.signature(DocNumber(text)))
    }

    /// The first document of a text.
    fn first_of(&self, text: u32) -> u32 {
        let first = self.docs_of(text).next();
        first.unwrap_or_else(|| unreachable!("a text goes with its last document"))
    }

    pub(super) fn arrival_of(&self, text: u32) -> u64 {
        self.docs[self.first_of(text)].arrival
    }
}

/// How far a search goes.
#[derive(Clone, Copy)]
pub(super) struct Reach<'a> {
    /// Most candidates that are judged.
    most: usize,
    /// How many documents the answer has room for.
    limit: usize,
    among: Option<&'a Among<'a>>,
}

impl Reach<'_> {
    fn of(most: usize) -> Self {
        Reach { most, limit: usize::MAX, among: None }
    }
}

/// The texts that match.
pub(super) struct Matches {
    pub(super) found: Vec<Found>,
    pub(super) candidates: usize,
    pub(super) capped: usize,
}

/// What a search found, and the first document that the one in question may be grouped with.
pub(super) struct Neighbors {
    pub(super) search: Search,
    pub(super) best: Option<u32>,
}

/// Most candidates of one query that are judged.
pub const CANDIDATES_JUDGED: usize = 2_000;

/// Keeps the first candidates, each once; gives 1 if some had to go. Where nothing is verified, judging costs next to
/// nothing and all may stay.
fn keep_most_promising(texts: &mut Vec<Candidate>, verify: bool, most: usize) -> usize {
    let mut seen = HashSet::with_capacity(texts.len());
    texts.retain(|candidate| seen.insert(candidate.text));
    let capped = verify && texts.len() > most;
    if capped {
        texts.truncate(most);
    }
    usize::from(capped)
}
