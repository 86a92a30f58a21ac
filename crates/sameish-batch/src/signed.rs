//! A signed corpus: columns of sketches and properties, one row per document.

use crate::Options;
use crate::band_keys::{BandKeys, Repeats};
use crate::cancellation::Cancellation;
use crate::error::Result;
use crate::input::RecordRules;
use crate::memory::MemoryLimit;
use crate::ordered_pool::Workers;
use crate::spool::Spool;
use crate::table::{Ids, InputStart, Names, Outlines, Rank, Row, SeekableInput, State};
use crate::texts::{DocumentSource, FileTexts, Texts};
use sameish::Analyzer;
use sameish::features::TextKey;
use sameish::index::{Buckets, DocNumber};
use sameish::{Fingerprint, Sdr};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Range;

/// Result of the step **sign**: everything about the documents but their texts.
///
/// The columns have one entry per document, in the order of the input. Documents of an existing corpus come first.
pub struct SignedCorpus {
    /// Positions and properties of the documents.
    pub rows: Vec<Row>,
    /// Ids of the documents.
    pub ids: Ids,
    /// Names of the sources.
    pub sources: Names,
    /// Sort keys for [`Keep`](crate::Keep); empty if the order of the input decides.
    pub ranks: Vec<Rank>,
    /// All documents in the order that decides which of them become centers; those of an existing corpus first.
    pub order: Vec<u32>,
    /// Number of documents of an existing corpus.
    pub against: u32,
    /// Sequence numbers of the records, without those of an existing corpus; rejected records have one too.
    pub records: Range<u64>,
    /// `true` if the corpus was loaded from an earlier run.
    pub is_resumed: bool,
    /// Hashes of the texts; see `KeyKind`.
    pub(crate) keys: Vec<TextKey>,
    pub(crate) band_keys: BandKeys,
    pub(crate) outlines: Outlines,
    /// SimHash fingerprints, 0 if a document has none; empty if the configuration has none.
    pub(crate) fingerprints: Vec<u64>,
    /// Sparse codes; empty if the configuration has none.
    pub(crate) codes: Vec<Sdr>,
    /// Inputs whose records can be read again.
    pub(crate) inputs: Vec<SeekableInput>,
    /// All inputs with records.
    pub(crate) starts: Vec<InputStart>,
    /// Number of elements of `starts` that belong to an existing corpus.
    pub(crate) own_starts: usize,
    pub(crate) spool: Spool,
}

impl SignedCorpus {
    pub(crate) fn new(analyzer: &Analyzer, band_keys: BandKeys, spool: Spool) -> SignedCorpus {
        SignedCorpus {
            rows: Vec::new(),
            ids: Ids::default(),
            sources: Names::default(),
            ranks: Vec::new(),
            order: Vec::new(),
            against: 0,
            records: 0..0,
            is_resumed: false,
            keys: Vec::new(),
            band_keys,
            outlines: Outlines::new(analyzer.config().screen()),
            fingerprints: Vec::new(),
            codes: Vec::new(),
            inputs: Vec::new(),
            starts: Vec::new(),
            own_starts: 0,
            spool,
        }
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns `true` if the corpus has no documents.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns `true` if a document has a source.
    pub fn has_sources(&self) -> bool {
        self.sources.list().iter().any(|source| !source.is_empty())
    }

    /// Sorts the documents by rank, equal ranks in the order of the input.
    pub(crate) fn sort(&mut self) {
        self.order = (0..self.len() as u32).collect();
        if !self.ranks.is_empty() {
            let rank = |doc: &u32| &self.ranks[*doc as usize];
            let own = &mut self.order[self.against as usize..];
            own.sort_by(|a, b| rank(a).partial_cmp(rank(b)).unwrap_or(Ordering::Equal));
        }
    }

    /// Returns the fingerprint of a document, unless it is zero.
    pub(crate) fn fingerprint(&self, doc: u32) -> Option<Fingerprint> {
        let fingerprint = self.fingerprints.get(doc as usize).filter(|fingerprint| **fingerprint != 0);
        fingerprint.map(|&fingerprint| Fingerprint::from_u64(fingerprint))
    }

    /// Returns `true` if a document has a signature.
    pub(crate) fn has_signature(&self, doc: u32) -> bool {
        self.rows[doc as usize].state == State::Long
    }

    /// Returns `true` if a document was not replaced by a later record with its id.
    pub(crate) fn is_current(&self, doc: u32) -> bool {
        self.rows[doc as usize].state != State::Replaced
    }

    /// Returns the distance of the outlines of two documents if they may match.
    pub(crate) fn near(&self, a: u32, b: u32) -> Option<u32> {
        if self.has_signature(a) && self.has_signature(b) { self.outlines.near(a, b) } else { Some(0) }
    }

    /// Returns for each document the first in order with an equal text and equal sketches: its leader.
    fn leaders(&self) -> Vec<u32> {
        let order = &self.order;
        let mut leader: Vec<u32> = (0..self.len() as u32).collect();
        let is_comparable = |doc: &u32| matches!(self.rows[*doc as usize].state, State::Long | State::Short);
        // Most keys occur once; they are removed before sorting.
        let mut repeats = Repeats::for_rows(self.len());
        let short_key = |doc: u32| self.keys[doc as usize].as_u128() as u32;
        order.iter().filter(|doc| is_comparable(doc)).for_each(|&doc| repeats.add(short_key(doc)));
        let may_repeat = |(_, doc): &(u32, u32)| is_comparable(doc) && repeats.may_repeat(short_key(*doc));
        let mut sorted: Vec<(u32, u32)> = (0u32..).zip(order.iter().copied()).filter(may_repeat).collect();
        let key = |doc: u32| {
            let short = self.rows[doc as usize].state == State::Short;
            (self.keys[doc as usize], short, self.sketch_hash(doc))
        };
        sorted.sort_unstable_by_key(|&(place, doc)| (key(doc), place));
        let sorted: Vec<u32> = sorted.into_iter().map(|(_, doc)| doc).collect();
        for same in sorted.chunk_by(|&a, &b| key(a) == key(b)) {
            same.iter().for_each(|&doc| leader[doc as usize] = same[0]);
        }
        leader
    }

    /// Returns a hash of the fingerprint and the sparse code of a document.
    fn sketch_hash(&self, doc: u32) -> u64 {
        let fingerprint = self.fingerprints.get(doc as usize).copied().unwrap_or(0);
        let code = self.codes.get(doc as usize);
        code.map_or(fingerprint, |code| {
            fingerprint ^ BuildHasherDefault::<DefaultHasher>::new().hash_one(code)
        })
    }
}

/// Result of the step **pair**: a signed corpus with its buckets and access to its texts.
pub struct IndexedCorpus<'a> {
    /// The columns.
    pub signed: SignedCorpus,
    pub(crate) analyzer: Analyzer,
    /// First document in order with the same text, for each document.
    pub(crate) leader: Vec<u32>,
    pub(crate) buckets: Buckets,
    pub(crate) texts: Texts<'a>,
    pub(crate) memory: MemoryLimit,
    pub(crate) workers: Workers,
    pub(crate) cancellation: Cancellation,
}

/// Whether candidates are needed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuildBuckets {
    Yes,
    No,
}

/// Where the texts of a signed corpus are.
pub(crate) enum TextLocation<'a> {
    /// In its input files and the spool file.
    Files(RecordRules),
    Memory(&'a dyn DocumentSource),
}

impl<'a> IndexedCorpus<'a> {
    pub(crate) fn new(
        mut signed: SignedCorpus,
        texts: TextLocation<'a>,
        build: BuildBuckets,
        options: &Options,
    ) -> Result<IndexedCorpus<'a>> {
        let memory = options.memory()?;
        let leader = signed.leaders();
        let band_keys = signed.band_keys.take();
        let includes =
            |doc: u32| build == BuildBuckets::Yes && leader[doc as usize] == doc && signed.has_signature(doc);
        let buckets = band_keys.buckets(includes, memory.sorting(), &options.cancellation)?;
        let texts = match texts {
            TextLocation::Memory(documents) => Texts::Memory(documents),
            TextLocation::Files(rules) => {
                let inputs = std::mem::take(&mut signed.inputs);
                Texts::Files(FileTexts::new(inputs, signed.spool.take(), rules)?)
            }
        };
        let workers = Workers::new(options.threads);
        let cancellation = options.cancellation.clone();
        let analyzer = options.analyzer.clone();
        Ok(IndexedCorpus { signed, analyzer, leader, buckets, texts, memory, workers, cancellation })
    }

    /// Returns the distinct texts in order, each represented by its leader.
    pub(crate) fn distinct(&self) -> impl Iterator<Item = u32> {
        let is_leader = |doc: &u32| self.leader[*doc as usize] == *doc && self.signed.is_current(*doc);
        self.signed.order.iter().copied().filter(is_leader)
    }

    /// Returns the documents of each text that occurs more than once, in the order of the input.
    pub(crate) fn copies(&self) -> HashMap<u32, Vec<u32>> {
        let mut copies: HashMap<u32, Vec<u32>> = HashMap::new();
        for doc in 0..self.signed.len() as u32 {
            let leader = self.leader[doc as usize];
            if leader != doc {
                copies.entry(leader).or_insert_with(|| vec![leader]).push(doc);
            }
        }
        copies
    }

    /// Reads the text of a document.
    pub fn text(&self, doc: u32) -> Result<String> {
        Ok(match self.texts.text(&self.signed.rows[doc as usize])?.content() {
            sameish::document::ContentRef::Text(text) => text.to_owned(),
            sameish::document::ContentRef::Tokens(tokens) => tokens.join(" "),
        })
    }

    /// Returns the buckets of a document.
    pub(crate) fn buckets_of(&self, doc: u32) -> impl Iterator<Item = &[u32]> {
        self.buckets.of(DocNumber(doc)).map(|bucket| self.buckets.members(bucket))
    }
}
