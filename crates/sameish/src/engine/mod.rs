//! The engine: an [`Analyzer`] plus documents and the indexes over them.
//!
//! ```text
//! collection.rs  documents and distinct texts: insert, remove
//!   text.rs        what is kept per distinct text
//!   slots.rs       lists with reusable numbers
//!   lookup.rs      the indexes of the lanes: candidates
//!   storage.rs     where features are kept: in memory, or outside the engine
//!   crowd.rs       texts in crowded buckets: which of them certainly do not match
//!     rare.rs      texts by their rare shingles
//! search.rs      from candidates to matches
//! joining.rs     the first or the best document that a new one joins
//! collected.rs   searches in two steps: candidates under a lock, matches without it
//! external.rs    engines whose texts are stored elsewhere: bulk load, digest
//! groups.rs      pairs and clusters of all documents
//! file.rs        the file format of a saved engine
//! ```

mod collected;
mod collection;
mod crowd;
mod dates;
mod external;
mod file;
mod groups;
mod joining;
mod lookup;
mod rare;
mod search;
mod slots;
mod storage;
mod text;

pub use collected::Collected;
#[doc(hidden)]
pub use external::Digest;
pub use external::{BulkLoad, SketchedDocument, Unread};
pub use groups::{Effort, Group, Groups, MatchedPair, Spread};
pub use joining::Joined;
pub use search::{Among, CANDIDATES_JUDGED, Match, Scope, Search, SearchOptions, StoredDocument};
#[doc(hidden)]
pub use storage::FeaturesRef;
pub use storage::{External, InMemory, Storage, TextSource};

use collection::Collection;

use crate::analyzer::{Analyzer, Prepared, Scratch, Status};
use crate::cluster::ClusterId;
use crate::config::{Config, Linkage};
use crate::document::{DocId, Document, Timestamp};
use crate::error::Result;
use crate::features::TextKey;
use crate::matching::Verdict;

/// A collection of documents that can be searched for near-duplicates.
///
/// The type parameter says where the features of the documents are kept: [`InMemory`], the default, or [`External`].
///
/// ```
/// use sameish::{Document, Engine, Preset, SearchOptions};
///
/// let mut engine = Engine::new(Preset::Copies.config())?;
/// let text = "The council voted on Monday to close the old bridge over the river for repairs until next spring.";
/// engine.insert(&Document::new("bridge", text))?;
///
/// let edited = text.replace("The council", "Councillors");
/// let found = engine.search(&*edited, SearchOptions::default())?;
/// assert_eq!(found.matches[0].id, "bridge".into());
/// assert!(found.matches[0].verdict.verified && found.matches[0].verdict.similarity > 0.8);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Engine<S: Storage = InMemory> {
    analyzer: Analyzer,
    collection: Collection<S>,
}

/// The outcome of inserting a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Inserted {
    /// Whether the text has enough words.
    pub status: Status,
    /// Whether the document replaced one with the same id.
    pub replaced: bool,
    /// The cluster that the document joined or started, under online clustering.
    pub cluster: Option<ClusterId>,
}

impl<S: Storage> Engine<S> {
    /// Creates an empty engine that uses an analyzer.
    pub fn with_analyzer(analyzer: Analyzer) -> Result<Engine<S>> {
        let collection = Collection::new(analyzer.config())?;
        Ok(Engine { analyzer, collection })
    }

    /// Returns the analyzer, which sketches, prepares and compares texts.
    pub fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        self.analyzer.config()
    }

    /// Removes a document. Returns `true` if the engine contained it.
    pub fn remove(&mut self, id: &DocId) -> bool {
        self.collection.remove(id)
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.collection.numbers.len()
    }

    /// Returns `true` if there are no documents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of documents whose texts are too short.
    pub fn too_short(&self) -> usize {
        self.collection.too_short
    }

    /// Returns `true` if there is a document with this id.
    pub fn contains(&self, id: &DocId) -> bool {
        self.collection.numbers.contains_key(id)
    }

    /// Returns the key of a document's normalized text: `None` if there is no such document, `Some(None)` if its text is
    /// blank.
    pub fn text_key(&self, id: &DocId) -> Option<Option<TextKey>> {
        let doc = *self.collection.numbers.get(id)?;
        Some(self.collection.texts[self.collection.docs[doc].text].key)
    }

    /// Returns what the engine knows about a document.
    pub fn get(&self, id: &DocId) -> Option<StoredDocument<'_>> {
        self.collection.numbers.get(id).map(|&doc| self.collection.stored(doc))
    }

    /// Returns `true` if a match with this verdict allows two documents to be in one cluster. See [`Judge::joins`](crate::matching::Judge::joins).
    pub fn joins(&self, verdict: &Verdict) -> bool {
        self.collection.judge.joins(verdict)
    }

    /// Iterates over all documents, in no particular order.
    pub fn documents(&self) -> impl Iterator<Item = StoredDocument<'_>> {
        self.collection.docs.iter().map(|(doc, _)| self.collection.stored(doc))
    }
}

impl Engine {
    /// Creates an empty engine. Returns an error if the settings are inconsistent.
    pub fn new(config: Config) -> Result<Engine> {
        Engine::with_analyzer(Analyzer::new(config)?)
    }

    /// Inserts a document. Replaces the document with the same id, if any.
    ///
    /// The publication date matters only for greedy clustering. Under that linkage, an unreadable date is an error.
    pub fn insert(&mut self, document: &Document) -> Result<Inserted> {
        Scratch::with_thread_local(|scratch| self.insert_with(document, scratch))
    }

    /// Inserts a document like [`insert`](Self::insert), with buffers of the caller.
    ///
    /// The buffers of a thread belong to the settings that used them last. A thread that uses several engines in turn is
    /// faster with one [`Scratch`] for each of them.
    pub fn insert_with(&mut self, document: &Document, scratch: &mut Scratch) -> Result<Inserted> {
        self.analyzer.check(&document.content)?;
        let prepared = self.analyzer.prepare(&document.content, scratch);
        self.insert_prepared(&document.id, document.published_at.as_deref(), prepared)
    }

    /// Inserts a document that an analyzer with the same configuration [prepared](Analyzer::prepare).
    pub fn insert_prepared(
        &mut self,
        id: &DocId,
        published_at: Option<&str>,
        prepared: Prepared,
    ) -> Result<Inserted> {
        let published = match self.config().matching.linkage {
            Linkage::Greedy => published_at.map(Timestamp::parse).transpose()?,
            // Other clusters do not depend on dates, and relations do without those that cannot be parsed.
            _ => published_at.and_then(|date| Timestamp::parse(date).ok()),
        };
        let replaced = self.remove(id);
        let status = prepared.sketches.status;
        let cluster = self.collection.insert(id, published, prepared)?;
        Ok(Inserted { status, replaced, cluster })
    }
}
