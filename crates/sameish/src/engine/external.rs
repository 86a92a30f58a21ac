//! Engines whose texts are stored elsewhere: insertion by sketches, bulk load and digest.

use super::Engine;
use super::collection::{Collection, Doc, QueryView};
use super::lookup::Rows;
use super::search::StoredDocument;
use super::storage::{External, Storage};
use super::text::Docs;
use crate::analyzer::{Prepared, Sketches, Status, TextFeatures};
use crate::document::{DocId, Timestamp};
use crate::error::Result;
use crate::features::TextKey;
use crate::index::DocNumber;
use crate::sketch::{Fingerprint, Sdr, Signature};
use xxhash_rust::xxh3::Xxh3;

/// A document whose text is stored elsewhere.
#[derive(Clone, Debug)]
pub struct SketchedDocument {
    /// The id.
    pub id: DocId,
    /// The number by which the text is stored. It must be unique, and greater than those of earlier documents.
    pub number: u64,
    /// The publication date.
    pub published: Option<Timestamp>,
    /// The sketches.
    pub sketches: Sketches,
    /// The key of the normalized text.
    pub key: Option<TextKey>,
    /// Whether the document is marked as a center; see [`Among::Centers`](super::Among::Centers).
    pub is_center: bool,
}

impl SketchedDocument {
    fn into_parts(self) -> (Doc, Prepared) {
        let SketchedDocument { id, number, published, sketches, key, is_center } = self;
        let doc = Doc { id, number, published, text: 0, is_center };
        (doc, Prepared { sketches, features: TextFeatures::default(), key })
    }
}

/// Documents of which an engine does not know the features; see [`Engine::unread`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unread {
    /// Ids and insertion numbers, one document per text.
    pub documents: Vec<(DocId, u64)>,
    /// The number of the text from which on there may be more.
    pub next: Option<u32>,
}

impl Engine<External> {
    /// Inserts a document whose text is stored elsewhere. Replaces the document with the same id, if any.
    ///
    /// An external engine forms no online clusters; the store that holds the texts does.
    pub fn insert_sketched(&mut self, document: SketchedDocument) -> Result<()> {
        self.remove(&document.id);
        let (doc, prepared) = document.into_parts();
        self.collection.store(doc, prepared).map(|_| ())
    }

    /// Inserts a document like [`insert_sketched`](Self::insert_sketched). If its text is in a crowded bucket, the engine keeps a
    /// profile of its features, by which later searches can exclude it without reading it.
    ///
    /// A profile takes 112 bytes. Of texts with more than 256 features it contains another 2 to 4 bits per feature. If the text has
    /// enough rare features to be found by them, each of up to 0.2 n + 32 of its n features takes another 10 bytes (at a threshold of
    /// 0.8).
    pub fn insert_sketched_with(
        &mut self,
        document: SketchedDocument,
        features: &TextFeatures,
    ) -> Result<()> {
        self.remove(&document.id);
        let (doc, prepared) = document.into_parts();
        self.collection.store_with(doc, prepared, Some(features)).map(|_| ())
    }

    /// Returns documents of which the engine does not know the features, although their texts are in crowded buckets: after a
    /// [bulk load](Self::bulk_load), all of them. Starts at the text with the number `from`.
    ///
    /// Searches are faster, and reach fewer limits, after [`note_features`](Self::note_features) for each of these documents.
    pub fn unread(&self, from: u32, count: usize) -> Unread {
        let (texts, next) = self.collection.crowd.unread_from(from, count);
        let is_long = |text: &u32| self.collection.texts[*text].status == Status::Ok;
        let document = |text| {
            let doc = &self.collection.docs[self.collection.first_of(text)];
            (doc.id.clone(), doc.number)
        };
        Unread { documents: texts.into_iter().filter(is_long).map(document).collect(), next }
    }

    /// Returns the number of the first text that joined a crowded bucket without its features since the last call, from which on
    /// [`unread`](Self::unread) finds new documents: when a bucket becomes crowded, the engine knows the features of the text that was
    /// inserted last only.
    pub fn take_first_unread(&mut self) -> Option<u32> {
        self.collection.crowd.take_first_unread()
    }

    /// Keeps a profile of the features of a stored document if its text is in a crowded bucket, as
    /// [`insert_sketched_with`](Self::insert_sketched_with) does. Does nothing if there is no document with this id and number.
    pub fn note_features(&mut self, id: &DocId, number: u64, features: &TextFeatures) {
        let slot = self.collection.numbers.get(id).copied();
        let slot = slot.filter(|&slot| self.collection.docs[slot].number == number);
        if let Some(text) = slot.map(|slot| self.collection.docs[slot].text) {
            self.collection.note_features(text, features);
        }
    }

    /// Marks a document as a center, or removes the mark. Returns `false` if there is no document with this id.
    ///
    /// The engine does not use the mark except for searches [among centers](super::Among::Centers).
    pub fn set_center(&mut self, id: &DocId, is_center: bool) -> bool {
        let slot = self.collection.numbers.get(id).copied();
        slot.inspect(|&slot| self.collection.set_center(slot, is_center)).is_some()
    }

    /// Returns the documents with the same text as a stored one, in order of insertion, starting after the document
    /// itself.
    pub fn later_copies(&self, id: &DocId) -> impl Iterator<Item = StoredDocument<'_>> {
        let slot = self.collection.numbers.get(id).copied();
        slot.into_iter().flat_map(|slot| self.collection.copies_after(slot))
    }

    /// Returns the last document before an insertion number that has the same text as a stored one, which can be that
    /// document itself.
    pub fn last_copy_before(&self, id: &DocId, number: u64) -> Option<StoredDocument<'_>> {
        let slot = *self.collection.numbers.get(id)?;
        self.collection.copy_before(slot, number)
    }

    /// Returns the number of documents that have the same text as a stored one, including that document.
    pub fn copies(&self, id: &DocId) -> usize {
        self.collection.numbers.get(id).map_or(0, |&slot| self.collection.copies(slot))
    }

    /// Starts loading many documents into an empty engine, which is much faster than inserting them one by one. Searches
    /// find nothing until [`finish`](BulkLoad::finish).
    pub fn bulk_load(&mut self) -> BulkLoad<'_> {
        BulkLoad { collection: &mut self.collection, rows: Vec::new(), fingerprints: Vec::new() }
    }
}

impl<S: Storage> Engine<S> {
    /// Returns a hash of all documents, their text keys and sketches. Two engines with the same configuration and the same
    /// digest give the same answers.
    #[doc(hidden)]
    pub fn digest(&self) -> u64 {
        let mut docs: Vec<&Doc> = self.collection.docs.iter().map(|(_, doc)| doc).collect();
        docs.sort_unstable_by_key(|doc| doc.number);
        let mut digest = Digest::default();
        for doc in docs {
            digest.update(&doc.id, doc.number, doc.published, &self.collection.view_of(doc.text));
        }
        digest.finish()
    }
}

/// Computes an engine's [`digest`](Engine::digest) from its documents, without the engine.
#[derive(Default)]
pub struct Digest(Xxh3);

impl Digest {
    /// Adds the document with the next greater number.
    pub fn add(&mut self, document: &SketchedDocument) {
        let SketchedDocument { id, number, published, sketches, key, .. } = document;
        let view = QueryView { key: *key, ..QueryView::of_sketches(sketches) };
        self.update(id, *number, *published, &view);
    }

    fn update(&mut self, id: &DocId, number: u64, published: Option<Timestamp>, view: &QueryView<'_>) {
        let hasher = &mut self.0;
        hasher.update(&number.to_le_bytes());
        hasher.update(&published.map_or(i64::MIN, Timestamp::as_milliseconds).to_le_bytes());
        match id {
            DocId::Number(id) => hasher.update(&id.to_le_bytes()),
            DocId::Negative(id) => hasher.update(&id.to_le_bytes()),
            DocId::Text(id) => hasher.update(id.as_bytes()),
        }
        hasher.update(&[view.status as u8]);
        hasher.update(&view.key.map_or(0, TextKey::as_u128).to_le_bytes());
        hasher.update(&view.simhash.map_or(0, Fingerprint::as_u64).to_le_bytes());
        // The signature of a short text is not stored.
        view.sketches().own_minhash().into_iter().flatten().for_each(|row| hasher.update(&row.to_le_bytes()));
        view.sdr.into_iter().flat_map(Sdr::active).for_each(|bit| hasher.update(&bit.to_le_bytes()));
    }

    /// Returns the digest.
    pub fn finish(self) -> u64 {
        self.0.digest()
    }
}

/// A bulk load in progress; see [`Engine::bulk_load`].
pub struct BulkLoad<'a> {
    collection: &'a mut Collection<External>,
    /// Sketches that wait to be indexed, of texts with consecutive slots.
    rows: Vec<Rows>,
    fingerprints: Vec<(Fingerprint, DocNumber, bool)>,
}

/// The number of texts that wait before they are indexed together. Each has a signature of half a kilobyte.
const WAITING_TEXTS: usize = 1 << 16;

impl BulkLoad<'_> {
    /// Adds a document. Ids and numbers must not repeat.
    pub fn add(&mut self, document: SketchedDocument) -> Result<()> {
        let (mut doc, prepared) = document.into_parts();
        let slot = self.collection.docs.next();
        let signature = |text| {
            waiting_signature(&self.rows, text).or_else(|| self.collection.lookup.signature(DocNumber(text)))
        };
        match self.collection.same_text(&QueryView::of(&prepared), signature) {
            Some(text) => {
                self.collection.add_copy(text, doc.entry(slot));
                doc.text = text;
            }
            None => doc.text = self.add_text(prepared, Docs::One { number: doc.number, doc: slot }),
        }
        self.collection.add_doc(doc);
        if self.rows.len() >= WAITING_TEXTS { self.flush() } else { Ok(()) }
    }

    fn add_text(&mut self, mut prepared: Prepared, docs: Docs) -> u32 {
        let text = self.collection.texts.next();
        let view = QueryView::of(&prepared).sketches();
        let is_signed = view.own_minhash().is_some();
        let entry = view.fingerprint().map(|fingerprint| (fingerprint, DocNumber(text), is_signed));
        self.fingerprints.extend(entry);
        let sketches = &mut prepared.sketches;
        let signature = sketches.minhash.take().or_else(|| sketches.short_minhash.take());
        let sdr = prepared.sketches.sdr.clone();
        self.rows.push(Rows { text, signature, sdr });
        self.collection.add_text(prepared, docs)
    }

    fn flush(&mut self) -> Result<()> {
        self.collection.lookup.insert_rows(&self.rows)?;
        self.rows.clear();
        Ok(())
    }

    /// Builds the indexes.
    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.collection.lookup.insert_fingerprints(&self.fingerprints);
        self.collection.note_all_crowds();
        Ok(())
    }
}

fn waiting_signature(rows: &[Rows], text: u32) -> Option<&[u32]> {
    let at = text.checked_sub(rows.first()?.text)?;
    rows.get(at as usize)?.signature.as_ref().map(Signature::rows)
}
