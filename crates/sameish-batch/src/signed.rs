//! A signed corpus: columns of sketches and properties, one row per document.

use crate::Options;
use crate::band_keys::{AllBuckets, BandKeys, Crowded, Floods, Repeats};
use crate::cancellation::Cancellation;
use crate::crowds::CROWDED;
use crate::error::Result;
use crate::input::RecordRules;
use crate::memory::{BYTES_PER_DOCUMENT, MemoryLimit};
use crate::ordered_pool::Workers;
use crate::spool::Spool;
use crate::table::{ContentKind, Ids, InputStart, Names, Outlines, Rank, Row, SeekableInput, State};
use crate::texts::{DocumentSource, FileTexts, Texts};
use sameish::Analyzer;
use sameish::config::Config;
use sameish::features::TextKey;
use sameish::index::{DocNumber, FingerprintIndex, SIGNED_RADIUS};
use sameish::{Fingerprint, Sdr, Timestamp};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Range;

/// The date of a document without one.
pub(crate) const NO_DATE: i64 = i64::MIN;
/// Additional bytes per document for a fingerprint and its index.
const FINGERPRINT_BYTES: usize = 150;
/// Additional bytes per document for a sparse code, besides its bits.
const CODE_BYTES: usize = 120;

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
    /// Publication dates in milliseconds since 1970, [`NO_DATE`] if a document has none; empty if they are not needed.
    pub(crate) dates: Vec<i64>,
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
            dates: Vec::new(),
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

    /// Returns `true` if a document consists of sketches in place of a text.
    pub(crate) fn has_sketches(&self) -> bool {
        self.rows.iter().any(|row| row.kind == ContentKind::Sketches)
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

    /// Returns about how much memory the columns, the buckets and the clustering of the documents take.
    pub(crate) fn memory_bytes(&self) -> usize {
        let code = self.codes.first().map_or(0, |code| CODE_BYTES + 9 * code.active().len());
        let fingerprint = if self.fingerprints.is_empty() { 0 } else { FINGERPRINT_BYTES };
        self.rows.len() * (BYTES_PER_DOCUMENT + fingerprint + code) + self.ids.parts().0.len()
    }

    /// Returns the fingerprint of a document, unless it is zero.
    pub(crate) fn fingerprint(&self, doc: u32) -> Option<Fingerprint> {
        let fingerprint = self.fingerprints.get(doc as usize).filter(|fingerprint| **fingerprint != 0);
        fingerprint.map(|&fingerprint| Fingerprint::from_u64(fingerprint))
    }

    /// Returns the publication dates of two documents, if both are known.
    pub(crate) fn dates(&self, a: u32, b: u32) -> Option<[Timestamp; 2]> {
        let date = |doc: u32| {
            let date = self.dates.get(doc as usize).filter(|date| **date != NO_DATE);
            date.and_then(|date| Timestamp::from_milliseconds(*date))
        };
        Some([date(a)?, date(b)?])
    }

    /// Returns `true` if a document has a signature that is one of its sketches. The signature of a short text only provides
    /// candidates.
    pub(crate) fn has_signature(&self, doc: u32) -> bool {
        self.rows[doc as usize].state == State::Long
    }

    /// Returns the fingerprints that more than [`CROWDED`] of the texts have that `includes` selects, unless other texts are near
    /// them. `is_text` selects one document of each text.
    fn floods(
        &self,
        config: &Config,
        is_text: impl Fn(u32) -> bool,
        includes: impl Fn(u32) -> bool,
    ) -> Result<Floods> {
        let print_of = |doc: u32| self.fingerprint(doc).filter(|_| is_text(doc));
        let mut prints: Vec<u64> =
            (0..self.len() as u32).filter_map(print_of).map(Fingerprint::as_u64).collect();
        prints.sort_unstable();
        let runs = prints.chunk_by(|a, b| a == b).filter(|run| run.len() > CROWDED);
        let repeated: Vec<u64> = runs.map(|run| run[0]).collect();
        let radius = config.simhash.as_ref().map_or(0, |simhash| simhash.radius.max(SIGNED_RADIUS));
        let index = FingerprintIndex::new(config, prints.len())?.filter(|_| !repeated.is_empty());
        let Some(mut index) = index else { return Ok(Floods::default()) };
        let mut groups: Vec<Vec<u32>> = vec![Vec::new(); repeated.len()];
        let mut entries: Vec<(Fingerprint, DocNumber, bool)> = Vec::new();
        for doc in 0..self.len() as u32 {
            let Some(print) = print_of(doc) else { continue };
            let group = repeated.binary_search(&print.as_u64()).ok().filter(|_| includes(doc));
            if let Some(group) = group {
                groups[group].push(doc);
            }
            // One document of a group stands for all.
            if group.is_none_or(|group| groups[group].len() == 1) {
                entries.push((print, DocNumber(doc), false));
            }
        }
        index.insert_all(entries.into_iter());
        let mut floods = Floods::default();
        let mut hits = Vec::new();
        for (&print, mut group) in repeated.iter().zip(groups) {
            index.find_within(Fingerprint::from_u64(print), radius, false, &mut hits);
            let near = hits.iter().map(|hit| hit.doc.0);
            if near.clone().all(&includes) {
                group.extend(near);
                floods.prints.push(print);
                floods.groups.push(group);
            }
        }
        Ok(floods)
    }

    /// Returns `true` if a document is found by its signature.
    fn is_in_buckets(&self, doc: u32) -> bool {
        self.rows[doc as usize].signed && self.is_current(doc)
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
    /// Whether some documents consist of sketches, which are compared with the signatures of all other documents.
    pub(crate) has_sketches: bool,
    /// First document in order with the same text, for each document.
    pub(crate) leader: Vec<u32>,
    /// Buckets whose documents are compared with each other.
    pub(crate) buckets: AllBuckets,
    /// Texts that are connected by the other buckets.
    pub(crate) crowded: Crowded,
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
            |doc: u32| build == BuildBuckets::Yes && leader[doc as usize] == doc && signed.is_in_buckets(doc);
        let has_sketches = signed.has_sketches();
        // Crowds are divided by the features that verification compares, which sketches in place of texts do not have.
        let divides = options.analyzer.config().matching.verify;
        let limit = if divides { CROWDED } else { usize::MAX };
        let is_sketched = |doc: u32| signed.rows[doc as usize].kind == ContentKind::Sketches;
        let is_text = |doc: u32| leader[doc as usize] == doc && signed.is_current(doc) && !is_sketched(doc);
        let floods = match divides {
            true => signed.floods(options.analyzer.config(), is_text, includes)?,
            false => Floods::default(),
        };
        let (buckets, crowded) = band_keys.buckets(
            includes,
            is_sketched,
            limit,
            floods,
            memory.sorting(),
            &options.cancellation,
        )?;
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
        Ok(IndexedCorpus {
            signed,
            analyzer,
            has_sketches,
            leader,
            buckets,
            crowded,
            texts,
            memory,
            workers,
            cancellation,
        })
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

    /// Reads the text of a document. A document that consists of sketches has an empty one.
    pub fn text(&self, doc: u32) -> Result<String> {
        Ok(match self.texts.text(&self.signed.rows[doc as usize])?.content() {
            sameish::document::ContentRef::Text(text) => text.to_owned(),
            sameish::document::ContentRef::Tokens(tokens) => tokens.join(" "),
            sameish::document::ContentRef::Sketches(_) => String::new(),
        })
    }

    /// Returns the buckets of a document.
    pub(crate) fn buckets_of(&self, doc: u32) -> impl Iterator<Item = &[u32]> {
        self.buckets.of(doc).map(|bucket| self.buckets.members(bucket))
    }
}
