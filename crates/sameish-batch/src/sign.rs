//! Step **sign**: reads every document once and computes its sketches.

use crate::Options;
use crate::band_keys::BandKeys;
use crate::cancellation::Cancellation;
use crate::error::{Error, Result};
use crate::input::{
    InputError, InputResult, Place, Problem, ReadOptions, Record, RecordBatch, RecordBatches, RecordRules,
    Reject,
};
use crate::memory::MemoryLimit;
use crate::on_dup_id::{OnDupId, duplicate_id};
use crate::ordered_pool::{Workers, in_order, with_scratch};
use crate::resume::TempFiles;
use crate::run_log::{Counts, Monitor, RunLog};
use crate::signed::{NO_DATE, SignedCorpus};
use crate::spool;
use crate::table::{ContentKind, InputStart, Keep, Rank, Row, SPOOLED, SeekableInput, State};
use crate::texts::DocumentSource;
use sameish::Analyzer;
use sameish::config::Bands;
use sameish::document::ContentRef;
use sameish::features::TextKey;
use sameish::index::BandTags;
use sameish::sketch::Outline;
use sameish::{DocId, Fingerprint, Scratch, Sdr, Sketches, Status, Timestamp};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// Which texts count as equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// Texts with equal bytes; short texts with equal normalized texts. Cheaper, and sufficient if match types are not
    /// reported: other equal texts are found as candidates.
    Verbatim,
    /// Texts with equal normalized texts.
    Normalized,
}

/// Approximate size of the result for one record in bytes.
const RESULT_BYTES: usize = 512;
/// Documents in memory that are signed at once, per thread.
const CHUNK: usize = 4096;
/// Documents in memory that a thread signs at once.
const PIECE: usize = 64;

/// Signs documents one at a time. Shared by all threads.
pub(crate) struct Signer {
    analyzer: Analyzer,
    bands: Bands,
    band_keys: BandTags,
    keep: Keep,
    keys: KeyKind,
    on_dup_id: OnDupId,
    /// `true` if texts are needed again.
    texts: bool,
    /// `true` if publication dates are needed, besides those that [`Keep`] reads.
    dates: bool,
    memory: MemoryLimit,
    cancellation: Cancellation,
}

/// Returns the bands of a configuration; no bands if it has no signatures.
pub(crate) fn bands(analyzer: &Analyzer) -> Result<Bands> {
    Ok(analyzer.config().bands()?.unwrap_or(Bands { count: 0, rows: 1 }))
}

/// A document that was read.
struct UnsignedDocument<'a> {
    /// Position in the batch, or among the documents in memory.
    position: usize,
    /// Absent if the position identifies the document.
    id: Option<DocId>,
    content: ContentRef<'a>,
    source: Option<Cow<'a, str>>,
    published_at: Option<&'a str>,
    /// `true` if bytes that are not UTF-8 were replaced.
    replaced: bool,
    /// `true` if its text can be read again from where it is.
    seekable: bool,
}

/// A signed document on its way into the corpus.
struct SignedDocument {
    /// Position in the batch.
    position: usize,
    id: Option<DocId>,
    source: Option<String>,
    rank: Rank,
    key: TextKey,
    outline: Outline,
    state: State,
    too_short: bool,
    fingerprint: u64,
    code: Option<Sdr>,
    date: i64,
    text_bytes: usize,
    /// Whether it has a signature, by which it is found.
    signed: bool,
    kind: ContentKind,
    /// Number of its band keys in the batch.
    band_keys: usize,
    /// Length of its text in the spool buffer of the batch.
    spooled: usize,
    replaced: bool,
}

/// The signed documents of a batch.
#[derive(Default)]
struct SignedDocuments {
    documents: Vec<SignedDocument>,
    band_keys: Vec<u32>,
    spooled: Vec<u8>,
    /// Positions and reasons of documents that cannot be used.
    rejected: Vec<(usize, String)>,
}

impl Signer {
    pub(crate) fn new(
        options: &Options,
        keep: Keep,
        keys: KeyKind,
        texts: bool,
        dates: bool,
    ) -> Result<Signer> {
        let bands = bands(&options.analyzer)?;
        Ok(Signer {
            analyzer: options.analyzer.clone(),
            bands,
            band_keys: BandTags::new(bands),
            keep,
            keys,
            on_dup_id: options.on_dup_id,
            texts,
            dates,
            memory: options.memory()?,
            cancellation: options.cancellation.clone(),
        })
    }

    /// Returns an empty corpus.
    fn empty_corpus(&self, files: &TempFiles) -> SignedCorpus {
        let band_keys = BandKeys::new(self.bands, self.memory.band_keys(), files.clone());
        SignedCorpus::new(&self.analyzer, band_keys, spool::Spool::new(files.clone()))
    }

    /// Reads the bands and loads what [`BandKeys::save`] wrote.
    pub(crate) fn load_band_keys(&self, files: &TempFiles, rows: usize) -> std::io::Result<BandKeys> {
        BandKeys::load(self.bands, self.memory.band_keys(), files.clone(), rows)
    }

    pub(crate) fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    /// Signs a document.
    fn sign(&self, document: UnsignedDocument<'_>, out: &mut SignedDocuments, scratch: &mut Scratch) {
        let UnsignedDocument { position, id, content, source, published_at, replaced, seekable } = document;
        let checked = self.analyzer.check(content).map_err(|error| error.to_string());
        let rank = match checked.and_then(|()| self.rank(content, published_at)) {
            Ok(rank) => rank,
            Err(reason) => return out.rejected.push((position, reason)),
        };
        let sketches = self.analyzer.sketch(content, scratch);
        let band_keys_before = out.band_keys.len();
        let spooled_before = out.spooled.len();
        let signature = sketches.indexed_signature();
        out.band_keys.extend(signature.into_iter().flat_map(|signature| self.band_keys.of(signature.rows())));
        let (state, key) = state_and_key(&self.analyzer, self.bands, self.keys, content, &sketches);
        let kind = match seekable || !self.texts {
            true => ContentKind::of(content),
            false => spool::encode(content, &mut out.spooled),
        };
        out.documents.push(SignedDocument {
            position,
            id,
            source: source.map(Cow::into_owned),
            rank,
            key,
            outline: signature.map_or(Outline::default(), |signature| Outline::of(signature.rows())),
            signed: signature.is_some(),
            state,
            too_short: sketches.status == Status::TooShort,
            fingerprint: sketches.simhash.map_or(0, Fingerprint::as_u64),
            code: sketches.sdr,
            // Without a date that can be parsed, a relation is derived from the texts alone.
            date: published_at
                .filter(|_| self.dates)
                .and_then(|date| Timestamp::parse(date).ok())
                .map_or(NO_DATE, Timestamp::as_milliseconds),
            text_bytes: content.text_bytes(),
            kind,
            band_keys: out.band_keys.len() - band_keys_before,
            spooled: out.spooled.len() - spooled_before,
            replaced,
        });
    }

    fn rank(&self, content: ContentRef<'_>, field: Option<&str>) -> std::result::Result<Rank, String> {
        Ok(match (&self.keep, field) {
            (Keep::First, _) => Rank::Absent,
            (Keep::Longest, _) => Rank::Number(-(content.text_bytes() as f64)),
            (_, None) => Rank::Absent,
            (Keep::Newest, Some(date)) => {
                let date = Timestamp::parse(date).map_err(|error| error.to_string())?;
                Rank::Date(std::cmp::Reverse(date))
            }
            (Keep::Field(_), Some(value)) => match value.trim().parse::<f64>() {
                Ok(number) if !number.is_nan() => Rank::Number(-number),
                _ => Rank::Text(std::cmp::Reverse(value.to_owned())),
            },
        })
    }
}

/// Returns how a document is compared, and the key by which copies of it are found.
pub(crate) fn state_and_key(
    analyzer: &Analyzer,
    bands: Bands,
    keys: KeyKind,
    content: ContentRef<'_>,
    sketches: &Sketches,
) -> (State, TextKey) {
    let long = sketches.status == Status::Ok && (bands.count == 0 || sketches.minhash.is_some());
    if long && bands.count > 0 && keys == KeyKind::Verbatim {
        return (State::Long, TextKey::verbatim(content));
    }
    // Without verification the sketches decide, so that even equal texts do not match if they have none.
    let fingerprint = sketches.simhash.is_some_and(|fingerprint| !fingerprint.is_zero());
    let code = sketches.sdr.as_ref().is_some_and(|code| !code.active().is_empty());
    let verify = analyzer.config().matching.verify;
    let has_sketches = fingerprint || code || sketches.minhash.is_some();
    let comparable = has_sketches || verify && analyzer.matches_equal(sketches.status);
    let key = match content {
        // Equal sketches are processed once, but do not make texts equal: see `IndexedCorpus::side`.
        ContentRef::Sketches(_) if fingerprint || sketches.minhash.is_some() => {
            Some(TextKey::verbatim(content))
        }
        content => analyzer.key(content),
    };
    match key {
        Some(key) if comparable && long => (State::Long, key),
        Some(key) if comparable => (State::Short, key),
        Some(key) => (State::Blank, key),
        None => (State::Blank, TextKey::verbatim("")),
    }
}

/// Signs the records of `against`, an existing corpus, and then those of `inputs`.
pub(crate) fn sign_files(
    signer: Arc<Signer>,
    against: Vec<InputResult>,
    inputs: Vec<InputResult>,
    read: &ReadOptions,
    threads: usize,
    files: &TempFiles,
    log: &mut RunLog<dyn Monitor + '_>,
) -> Result<SignedCorpus> {
    let rules = read.rules;
    let mut collector = Collector::new(signer.clone(), files, log);
    for (inputs, own) in [(against, false), (inputs, true)] {
        if own {
            collector.end_of_reference();
        }
        let read = if own { read.clone() } else { read.for_reference() };
        let batches = RecordBatches::new(inputs, read).numbered_from(collector.records);
        let signer = signer.clone();
        let work = move |batch: RecordBatch| {
            with_scratch(|scratch| SignedRecords::new(&signer, batch, rules, scratch))
        };
        in_order(batches, threads, RESULT_BYTES, work, |result| collector.add_records(result))?;
        collector.log.end_input()?;
        if !own && !collector.log.completion.is_usable() {
            return Err(Error::UnreadableReference { completion: collector.log.completion });
        }
    }
    Ok(collector.finish())
}

/// Signs documents in memory. A rejected document is reported with its position as the row number, from 1.
pub(crate) fn sign_documents(
    signer: Arc<Signer>,
    documents: &dyn DocumentSource,
    threads: usize,
    files: &TempFiles,
    log: &mut RunLog<dyn Monitor + '_>,
) -> Result<SignedCorpus> {
    let workers = Workers::new(threads);
    let mut collector = Collector::new(signer.clone(), files, log);
    for (part, own) in [(0..documents.against(), false), (documents.against()..documents.len(), true)] {
        if own {
            collector.end_of_reference();
        }
        for start in part.clone().step_by(CHUNK * threads) {
            let chunk = start..part.end.min(start + CHUNK * threads);
            let piece = |piece: usize| {
                let first = start + piece * PIECE;
                signer.sign_piece(documents, first..chunk.end.min(first + PIECE))
            };
            let signed = workers.map(chunk.len().div_ceil(PIECE), 1, piece)?;
            collector.add_documents(signed)?;
            collector.records = chunk.end as u64;
        }
    }
    Ok(collector.finish())
}

impl Signer {
    /// Signs some documents in memory, until the run is canceled.
    fn sign_piece(&self, documents: &dyn DocumentSource, positions: Range<usize>) -> SignedDocuments {
        let mut signed = SignedDocuments::default();
        with_scratch(|scratch| {
            for position in positions.take_while(|_| !self.cancellation.is_canceled()) {
                let text = documents.text(position);
                let reads_date = self.dates || self.keep.reads_date();
                let date = reads_date.then(|| documents.published_at(position)).flatten();
                let document = UnsignedDocument {
                    position,
                    id: documents.id(position),
                    content: text.content(),
                    source: documents.source(position),
                    published_at: date.as_deref(),
                    replaced: false,
                    seekable: true,
                };
                self.sign(document, &mut signed, scratch);
            }
        });
        signed
    }
}

/// Result for one batch of records.
struct SignedRecords {
    batch: RecordBatch,
    signed: SignedDocuments,
    rejects: Vec<Reject>,
}

impl SignedRecords {
    fn new(signer: &Signer, batch: RecordBatch, rules: RecordRules, scratch: &mut Scratch) -> SignedRecords {
        let mut signed = SignedDocuments {
            documents: Vec::with_capacity(batch.len()),
            band_keys: Vec::with_capacity(batch.len() * signer.bands.count as usize),
            ..SignedDocuments::default()
        };
        let mut rejects = Vec::new();
        let records = batch.records(rules).enumerate();
        for (position, record) in records.take_while(|_| !signer.cancellation.is_canceled()) {
            match record {
                Err(reject) => rejects.push(reject),
                Ok(Record { document, replaced }) => {
                    let document = UnsignedDocument {
                        position,
                        id: Some(document.id),
                        content: (&document.content).into(),
                        source: document.source.map(Cow::Owned),
                        published_at: document.published_at.as_deref(),
                        replaced,
                        seekable: batch.seekable,
                    };
                    signer.sign(document, &mut signed, scratch);
                }
            }
        }
        SignedRecords { batch, signed, rejects }
    }
}

/// Collects signed documents in order.
struct Collector<'a, 'm> {
    signer: Arc<Signer>,
    corpus: SignedCorpus,
    /// Documents by a hash of their ids.
    by_id: HashMap<TextKey, u32>,
    last_input: Option<usize>,
    /// Number of records so far.
    records: u64,
    log: &'a mut RunLog<dyn Monitor + 'm>,
}

/// Where the text of a document can be read again.
struct TextPosition {
    input: u32,
    at: u64,
    len: usize,
}

impl<'a, 'm> Collector<'a, 'm> {
    fn new(
        signer: Arc<Signer>,
        files: &TempFiles,
        log: &'a mut RunLog<dyn Monitor + 'm>,
    ) -> Collector<'a, 'm> {
        let corpus = signer.empty_corpus(files);
        Collector { signer, corpus, by_id: HashMap::new(), last_input: None, records: 0, log }
    }

    /// Returns the corpus.
    fn finish(mut self) -> SignedCorpus {
        self.corpus.records.end = self.records;
        self.corpus
    }

    /// Ends the documents of the existing corpus.
    fn end_of_reference(&mut self) {
        self.corpus.against = self.corpus.rows.len() as u32;
        self.corpus.records.start = self.records;
        self.corpus.own_starts = self.corpus.starts.len();
        self.last_input = None;
        // An id of the existing corpus may occur again.
        self.by_id.clear();
        self.log.restart_counts();
    }

    fn add_records(
        &mut self,
        result: std::result::Result<SignedRecords, InputError>,
    ) -> Result<ControlFlow<()>> {
        self.signer.cancellation.check()?;
        match result {
            Err(error) => self.log.input_failed(&error)?,
            Ok(signed) => self.add_batch(signed)?,
        }
        Ok(ControlFlow::Continue(()))
    }

    fn add_batch(&mut self, SignedRecords { batch, signed, mut rejects }: SignedRecords) -> Result<()> {
        let mut counts = Counts { bytes: batch.bytes.len() as u64, ..Counts::default() };
        let input = self.input_of(&batch);
        self.records = batch.first + batch.len() as u64;
        let SignedDocuments { documents, band_keys, spooled, rejected } = signed;
        let mut reject =
            |position: usize, problem: Problem| rejects.push(batch.reject_record(position, problem));
        rejected.into_iter().for_each(|(position, reason)| reject(position, reason.into()));
        self.log.count_records(&batch.input_name(), batch.len() as u64, rejects.len() as u64)?;
        let mut reject =
            |position: usize, problem: Problem| rejects.push(batch.reject_record(position, problem));
        let mut band_keys = &band_keys[..];
        let mut spooled = &spooled[..];
        for document in documents {
            let row = split_front(&mut band_keys, document.band_keys);
            let text = split_front(&mut spooled, document.spooled);
            if !self.admit(&document, &mut counts, &mut reject) {
                continue;
            }
            let span = &batch.spans[document.position];
            let text = match input {
                SPOOLED if !self.signer.texts => TextPosition { input, at: 0, len: 0 },
                SPOOLED => TextPosition { input, at: self.corpus.spool.push(text)?, len: text.len() },
                _ => TextPosition { input, at: batch.offset + span.start as u64, len: span.end - span.start },
            };
            self.push(batch.first + document.position as u64, document, text, row)?;
        }
        rejects.sort_by_key(|reject| reject.place);
        rejects.iter().try_for_each(|reject| self.log.reject(reject))?;
        self.log.count(&counts)?;
        self.check_limits()
    }

    fn add_documents(&mut self, signed: Vec<SignedDocuments>) -> Result<()> {
        self.signer.cancellation.check()?;
        let mut counts = Counts::default();
        let mut rejects = Vec::new();
        for SignedDocuments { documents, band_keys, rejected, .. } in signed {
            let mut reject = |position: usize, Problem { text: reason, remedy }: Problem| {
                let place = Place::Row { row: position as u64 + 1 };
                let excerpt = String::new();
                rejects.push(Reject { file: "documents".into(), place, reason, remedy, excerpt });
            };
            rejected.into_iter().for_each(|(position, reason)| reject(position, reason.into()));
            let mut band_keys = &band_keys[..];
            for document in documents {
                let row = split_front(&mut band_keys, document.band_keys);
                counts.bytes += document.text_bytes as u64;
                if self.admit(&document, &mut counts, &mut reject) {
                    let text = TextPosition { input: SPOOLED, at: 0, len: 0 };
                    self.push(document.position as u64, document, text, row)?;
                }
            }
        }
        rejects.iter().try_for_each(|reject| self.log.reject(reject))?;
        self.log.count(&counts)?;
        self.check_limits()
    }

    /// Returns the number of the batch's input, or [`SPOOLED`] if its records cannot be read again.
    fn input_of(&mut self, batch: &RecordBatch) -> u32 {
        // Compares numbers, not names: an input may be listed twice.
        if self.last_input != Some(batch.input_number) {
            self.last_input = Some(batch.input_number);
            self.corpus.starts.push(InputStart { input: batch.input.clone(), first: batch.first });
            if batch.seekable {
                let (input, format) = (batch.input.clone(), batch.format.clone());
                self.corpus.inputs.push(SeekableInput { input, format });
            }
        }
        if batch.seekable { self.corpus.inputs.len() as u32 - 1 } else { SPOOLED }
    }

    /// Counts a document, and returns `true` if it is added to the corpus: its id is new, or replaces an earlier record.
    fn admit(
        &mut self,
        document: &SignedDocument,
        counts: &mut Counts,
        reject: &mut impl FnMut(usize, Problem),
    ) -> bool {
        if let Some(id) = &document.id
            && !self.admit_id(id, document, counts, reject)
        {
            return false;
        }
        counts.documents += 1;
        counts.too_short += u64::from(document.too_short);
        counts.replaced += u64::from(document.replaced);
        true
    }

    /// Returns `true` if an id is new, or replaces an earlier record.
    fn admit_id(
        &mut self,
        id: &DocId,
        document: &SignedDocument,
        counts: &mut Counts,
        reject: &mut impl FnMut(usize, Problem),
    ) -> bool {
        let doc = self.corpus.rows.len() as u32;
        let key = TextKey::verbatim(id.to_json().as_str());
        if let Some(&earlier) = self.by_id.get(&key) {
            let row = &mut self.corpus.rows[earlier as usize];
            if (row.state, self.corpus.keys[earlier as usize]) == (document.state, document.key) {
                counts.repeated += 1;
                return false;
            }
            if self.signer.on_dup_id == OnDupId::Reject {
                reject(document.position, duplicate_id(id));
                return false;
            }
            row.state = State::Replaced;
        }
        self.by_id.insert(key, doc);
        true
    }

    fn push(
        &mut self,
        record: u64,
        document: SignedDocument,
        text: TextPosition,
        band_keys: &[u32],
    ) -> Result<()> {
        let corpus = &mut self.corpus;
        corpus.rows.push(Row {
            record,
            at: text.at,
            len: u32::try_from(text.len).unwrap_or(u32::MAX),
            input: text.input,
            text_bytes: u32::try_from(document.text_bytes).unwrap_or(u32::MAX),
            source: corpus.sources.number(document.source.as_deref().unwrap_or("")),
            state: document.state,
            too_short: document.too_short,
            signed: document.signed,
            kind: document.kind,
        });
        corpus.ids.push(&document.id.unwrap_or(DocId::Number(record)));
        corpus.keys.push(document.key);
        corpus.outlines.push(document.outline);
        corpus.band_keys.push(band_keys)?;
        if self.signer.analyzer.config().simhash.is_some() {
            corpus.fingerprints.push(document.fingerprint);
        }
        corpus.codes.extend(document.code);
        if self.signer.dates {
            corpus.dates.push(document.date);
        }
        if self.signer.keep != Keep::First {
            corpus.ranks.push(document.rank);
        }
        Ok(())
    }

    /// Fails early if the corpus cannot fit into the memory limit.
    fn check_limits(&self) -> Result<()> {
        let documents = self.corpus.rows.len();
        if documents > (u32::MAX >> 1) as usize {
            return Err(Error::TooManyDocuments);
        }
        let bytes = self.corpus.memory_bytes();
        if bytes > self.signer.memory.documents() {
            return Err(Error::MemoryLimit { documents, bytes: bytes / documents.max(1) });
        }
        Ok(())
    }
}

/// Removes and returns the first `len` elements.
fn split_front<'s, T>(slice: &mut &'s [T], len: usize) -> &'s [T] {
    let (front, rest) = slice.split_at(len);
    *slice = rest;
    front
}
