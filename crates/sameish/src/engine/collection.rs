//! The documents of an engine and the distinct texts they have.
//!
//! Documents with equal normalized text and equal sketches share one text. Indexes hold texts, so a million copies cost as
//! much as one. Documents and texts have reusable slot numbers; their order is that of insertion, and the order of a text is
//! that of its first document.

use super::crowd::Crowd;
use super::groups::Effort;
use super::joining::BestJoining;
use super::lookup::{Lookup, SketchView};
use super::search::StoredDocument;
use super::slots::Slots;
use super::storage::{InMemory, Storage};
use super::text::{DocEntry, Docs, Text, TextNumbers};
use crate::analyzer::{Prepared, Sketches, Status, TextFeatures};
use crate::cluster::{ClusterId, OnlineClusters};
use crate::config::{Config, Linkage};
use crate::document::{DocId, Timestamp};
use crate::error::Result;
use crate::features::TextKey;
use crate::index::DocNumber;
use crate::matching::{Judge, Side};
use crate::sketch::{Fingerprint, Sdr, Signature};
use std::collections::HashMap;

/// The documents of an engine and the indexes over them.
#[derive(Clone, Debug)]
pub(super) struct Collection<S: Storage> {
    pub(super) judge: Judge,
    pub(super) online: Option<OnlineClusters>,
    /// The work of online clustering since the engine was created or loaded.
    pub(super) online_effort: Effort,
    /// The default number of matches that a search returns.
    pub(super) limit: usize,
    pub(super) lookup: Lookup,
    pub(super) crowd: Crowd,
    /// The slot of each document.
    pub(super) numbers: HashMap<DocId, u32>,
    pub(super) docs: Slots<Doc>,
    pub(super) too_short: usize,
    pub(super) texts: Slots<Text<S>>,
    /// The texts of each key: several if equal texts have unequal sketches.
    pub(super) by_key: HashMap<TextKey, TextNumbers>,
    /// The next insertion number.
    pub(super) next_number: u64,
}

/// A stored document.
#[derive(Clone, Debug)]
pub(super) struct Doc {
    pub(super) id: DocId,
    /// The insertion number.
    pub(super) number: u64,
    pub(super) published: Option<Timestamp>,
    /// The slot of its text.
    pub(super) text: u32,
    /// Whether the caller marked it as a center.
    pub(super) is_center: bool,
}

impl Doc {
    pub(super) fn entry(&self, slot: u32) -> DocEntry {
        let date = self.published.map(Timestamp::as_milliseconds);
        DocEntry { number: self.number, doc: slot, date, is_center: self.is_center }
    }
}

/// The sketches, features and key of a query or of a stored text.
#[derive(Clone, Copy)]
pub(super) struct QueryView<'a> {
    pub(super) status: Status,
    pub(super) simhash: Option<Fingerprint>,
    /// The rows of the signature by which the text is found.
    pub(super) signature: Option<&'a [u32]>,
    pub(super) sdr: Option<&'a Sdr>,
    pub(super) features: Option<&'a TextFeatures>,
    pub(super) key: Option<TextKey>,
}

impl<'a> QueryView<'a> {
    pub(super) fn of(prepared: &'a Prepared) -> QueryView<'a> {
        let Prepared { sketches, features, key } = prepared;
        QueryView { features: Some(features), key: *key, ..QueryView::of_sketches(sketches) }
    }

    pub(super) fn of_sketches(sketches: &'a Sketches) -> QueryView<'a> {
        QueryView {
            status: sketches.status,
            simhash: sketches.simhash,
            signature: sketches.indexed_signature().map(Signature::rows),
            sdr: sketches.sdr.as_ref(),
            features: None,
            key: None,
        }
    }

    pub(super) fn with_features(self, features: &'a TextFeatures) -> QueryView<'a> {
        QueryView { features: Some(features), ..self }
    }

    pub(super) fn side(&self) -> Side<'a> {
        Side {
            key: self.key,
            too_short: self.status == Status::TooShort,
            simhash: self.simhash,
            minhash: self.sketches().own_minhash(),
            sdr: self.sdr,
            features: self
                .features
                .filter(|features| !features.without_text)
                .map(|features| &features.shingles),
            facts: self.features.map(|features| &features.facts),
        }
    }

    /// Returns `true` if the document consists of sketches. A text that is long enough has a key.
    pub(super) fn is_sketched(&self) -> bool {
        self.status == Status::Ok && self.key.is_none()
    }

    pub(super) fn sketches(&self) -> SketchView<'a> {
        SketchView { status: self.status, simhash: self.simhash, minhash: self.signature, sdr: self.sdr }
    }
}

impl<S: Storage> Collection<S> {
    pub(super) fn new(config: &Config) -> Result<Collection<S>> {
        Ok(Collection {
            judge: Judge::new(config),
            online: (config.matching.linkage == Linkage::Online).then(OnlineClusters::default),
            online_effort: Effort::default(),
            limit: config.matching.limit as usize,
            lookup: Lookup::new(config)?,
            crowd: Crowd::new(config.matching.threshold),
            numbers: HashMap::new(),
            docs: Slots::default(),
            too_short: 0,
            texts: Slots::default(),
            by_key: HashMap::new(),
            next_number: 0,
        })
    }

    /// Stores a document whose id is not in use. Returns its slot.
    pub(super) fn store(&mut self, doc: Doc, prepared: Prepared) -> Result<u32> {
        self.store_with(doc, prepared, None)
    }

    /// Stores a document whose id is not in use. `features` are those of its text, if the engine does not keep them. Returns its
    /// slot.
    pub(super) fn store_with(
        &mut self,
        mut doc: Doc,
        prepared: Prepared,
        features: Option<&TextFeatures>,
    ) -> Result<u32> {
        self.note_learned();
        let entry = doc.entry(self.docs.next());
        match self.same_text(&QueryView::of(&prepared), |text| self.lookup.signature(DocNumber(text))) {
            Some(text) => {
                self.add_copy(text, entry);
                doc.text = text;
                let slot = self.add_doc(doc);
                self.crowd.set_center(text, self.has_center(text));
                Ok(slot)
            }
            None => {
                let text = self.texts.next();
                self.lookup.insert(DocNumber(text), QueryView::of(&prepared).sketches())?;
                doc.text = self.add_text(prepared, Docs::One { number: entry.number, doc: entry.doc });
                let slot = self.add_doc(doc);
                self.note_crowds(text, features);
                Ok(slot)
            }
        }
    }

    /// Adds the texts that are in crowded buckets because of a new text to the crowd.
    fn note_crowds(&mut self, text: u32, features: Option<&TextFeatures>) {
        let Some(bands) = self.lookup.bands.as_ref().filter(|_| self.judge.verifies()) else { return };
        let mut crowded = Vec::new();
        bands.note_crowds(DocNumber(text), |text| crowded.push(text));
        for other in crowded {
            self.add_to_crowd(other, features.filter(|_| other == text));
        }
    }

    /// Adds all texts in crowded buckets to the crowd.
    pub(super) fn note_all_crowds(&mut self) {
        let Some(bands) = self.lookup.bands.as_ref().filter(|_| self.judge.verifies()) else { return };
        let mut crowded = Vec::new();
        bands.each_crowded(|text| crowded.push(text));
        crowded.sort_unstable();
        crowded.dedup();
        crowded.into_iter().for_each(|text| self.add_to_crowd(text, None));
    }

    fn add_to_crowd(&mut self, text: u32, features: Option<&TextFeatures>) {
        let is_center = self.has_center(text);
        let Text { status, features: kept, .. } = &self.texts[text];
        match features.or(S::kept(kept)).filter(|_| *status == Status::Ok) {
            Some(features) => self.crowd.add(text, is_center, features),
            None => self.crowd.add_unread(text, is_center),
        }
    }

    /// Keeps a profile of the features of a stored text if it is in the crowd.
    pub(super) fn note_features(&mut self, text: u32, features: &TextFeatures) {
        self.note_learned();
        if self.crowd.contains(text) {
            self.add_to_crowd(text, Some(features));
        }
    }

    fn note_learned(&mut self) {
        for (text, profile) in self.crowd.take_learned() {
            self.crowd.add_profile(text, self.has_center(text), profile);
        }
    }

    /// Returns `true` if a document of a text is marked as a center.
    fn has_center(&self, text: u32) -> bool {
        match &self.texts[text].docs {
            Docs::One { doc, .. } => self.docs[*doc].is_center,
            Docs::Several(docs) => !docs.centers.is_empty(),
        }
    }

    /// Adds a document to those of a stored text.
    pub(super) fn add_copy(&mut self, text: u32, entry: DocEntry) {
        let docs = &self.docs;
        self.texts[text].docs.insert(entry, |first| docs[first].entry(first));
    }

    /// Marks a document as a center, or removes the mark.
    pub(super) fn set_center(&mut self, slot: u32, is_center: bool) {
        let doc = &mut self.docs[slot];
        doc.is_center = is_center;
        let text = doc.text;
        self.texts[text].docs.set_center(doc.entry(slot), is_center);
        self.crowd.set_center(text, self.has_center(text));
    }

    /// Adds a document whose text is stored. Returns its slot.
    pub(super) fn add_doc(&mut self, doc: Doc) -> u32 {
        self.too_short += usize::from(self.texts[doc.text].status == Status::TooShort);
        self.next_number = self.next_number.max(doc.number + 1);
        self.numbers.insert(doc.id.clone(), self.docs.next());
        self.docs.add(doc)
    }

    /// Adds a text that the indexes contain. Returns its slot.
    pub(super) fn add_text(&mut self, prepared: Prepared, docs: Docs) -> u32 {
        let text = self.texts.next();
        if let Some(key) = prepared.key {
            self.by_key.entry(key).and_modify(|texts| texts.push(text)).or_insert(TextNumbers::One(text));
        }
        self.texts.add(Text::new(prepared, docs))
    }

    /// Returns the stored text with the same normalized text and sketches, unless equal texts do not match each other (texts
    /// with a fingerprint of zero). `signature` returns the signature of a stored text.
    pub(super) fn same_text<'a>(
        &self,
        new: &QueryView<'_>,
        signature: impl Fn(u32) -> Option<&'a [u32]>,
    ) -> Option<u32> {
        let mut texts = self.by_key.get(&new.key?)?.as_slice().iter().copied();
        let equal = |text: &u32| self.texts[*text].view(signature(*text)).sketches() == new.sketches();
        let text = texts.find(equal)?;
        self.judge.judge(&new.side(), &new.side()).map(|_| text)
    }

    pub(super) fn remove(&mut self, id: &DocId) -> bool {
        let Some(slot) = self.numbers.remove(id) else { return false };
        self.note_learned();
        let doc = self.docs.take(slot);
        let text = doc.text;
        self.too_short -= usize::from(self.texts[text].status == Status::TooShort);
        if let Some(online) = &mut self.online {
            online.remove(DocNumber(slot));
        }
        if self.texts[text].docs.remove(doc.entry(slot)) {
            self.remove_text(text);
        } else {
            self.crowd.set_center(text, self.has_center(text));
        }
        true
    }

    fn remove_text(&mut self, text: u32) {
        self.crowd.remove(text);
        let Text { status, simhash, key, .. } = self.texts.take(text);
        self.lookup.remove(DocNumber(text), status, simhash);
        let Some(key) = key else { return };
        if self.by_key.get_mut(&key).is_some_and(|texts| texts.remove(text)) {
            self.by_key.remove(&key);
        }
    }

    /// Iterates over the documents of a text by insertion number.
    pub(super) fn docs_of(&self, text: u32) -> impl Iterator<Item = u32> {
        self.texts[text].docs.iter()
    }

    /// Iterates over the documents with the text of another one that were inserted after it.
    pub(super) fn copies_after(&self, slot: u32) -> impl Iterator<Item = StoredDocument<'_>> {
        let Doc { number, text, .. } = self.docs[slot];
        let later = match &self.texts[text].docs {
            Docs::One { .. } => None,
            Docs::Several(docs) => Some(docs.by_number.range(number + 1..)),
        };
        later.into_iter().flatten().map(|(_, &doc)| self.stored(doc))
    }

    /// Returns the last document before an insertion number that has the text of another one.
    pub(super) fn copy_before(&self, slot: u32, before: u64) -> Option<StoredDocument<'_>> {
        let last = match &self.texts[self.docs[slot].text].docs {
            Docs::One { number, doc } => Some(*doc).filter(|_| *number < before),
            Docs::Several(docs) => docs.by_number.range(..before).next_back().map(|(_, &doc)| doc),
        };
        last.map(|doc| self.stored(doc))
    }

    /// Returns the number of documents that have the text of this one.
    pub(super) fn copies(&self, slot: u32) -> usize {
        match &self.texts[self.docs[slot].text].docs {
            Docs::One { .. } => 1,
            Docs::Several(docs) => docs.by_number.len(),
        }
    }

    pub(super) fn view_of(&self, text: u32) -> QueryView<'_> {
        self.texts[text].view(self.lookup.signature(DocNumber(text)))
    }

    /// Returns the first document of a text.
    pub(super) fn first_of(&self, text: u32) -> u32 {
        let first = self.docs_of(text).next();
        first.unwrap_or_else(|| unreachable!("a text is removed with its last document"))
    }

    /// Returns the insertion number of a text's first document.
    pub(super) fn number_of(&self, text: u32) -> u64 {
        self.docs[self.first_of(text)].number
    }

    pub(super) fn stored(&self, slot: u32) -> StoredDocument<'_> {
        let Doc { id, number, published, text, is_center } = &self.docs[slot];
        let status = self.texts[*text].status;
        StoredDocument { id, number: *number, published: *published, status, is_center: *is_center }
    }
}

impl Collection<InMemory> {
    /// Inserts a document whose id is not in use. Returns its cluster under online clustering.
    pub(super) fn insert(
        &mut self,
        id: &DocId,
        published: Option<Timestamp>,
        prepared: Prepared,
    ) -> Result<Option<ClusterId>> {
        // In online clustering, each text that is too short is a cluster of its own.
        let joins = self.online.is_some() && prepared.sketches.status == Status::Ok;
        let found = if joins { self.best_match(&prepared)? } else { BestJoining::default() };
        if joins {
            self.online_effort.add(found.candidates, found.capped);
        }
        let best = found.best.map(|best| self.first_of(best.text));
        let doc = Doc { id: id.clone(), number: self.next_number, published, text: 0, is_center: false };
        let slot = self.store(doc, prepared)?;
        Ok(self.online.as_mut().map(|online| online.add(DocNumber(slot), best.map(DocNumber))))
    }
}
