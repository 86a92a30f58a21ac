//! Every document once: its tags, and where it lies.

use super::held::{Doc, Ids, Keep, Names, Outlines, Rank, SPOOLED, State, id_json};
use super::spool::{self, Spool};
use super::stage::TempFiles;
use super::tags::Tags;
use crate::exit::{Exit, Failure};
use crate::input::batch::{Batch, Rules};
use crate::input::find::{Found, Source};
use crate::input::format::Format;
use crate::input::reject::{Broken, Reject};
use crate::input::{Batches, Reading};
use crate::intake::{Counts, Intake};
use crate::on_dup_id::{OnDupId, repeated_id};
use crate::pipeline::{in_order, with_scratch};
use sameish::{
    BandTags, Bands, Content, DocId, Engine, Facts, Fingerprint, Outline, Scratch, Sdr, Sketches, Status,
    TextKey, Timestamp, WordFrequencies,
};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Everything about all documents but their texts.
pub(crate) struct Signed {
    pub(crate) docs: Vec<Doc>,
    pub(crate) ids: Ids,
    pub(crate) sources: Names,
    /// A key for each document, of what [`Keys`] says.
    pub(crate) keys: Vec<TextKey>,
    pub(crate) tags: Tags,
    pub(crate) outlines: Outlines,
    /// The fingerprint of each document, zero where it has none; empty where the settings make none.
    pub(crate) prints: Vec<u64>,
    /// The sparse code of each document; empty where the settings make none.
    pub(crate) codes: Vec<Sdr>,
    /// What `--keep` looks at, smaller first; empty where the order of the input decides.
    pub(crate) ranks: Vec<Rank>,
    pub(crate) inputs: Vec<Input>,
    /// Every input that gave records, with the number of its first.
    pub(crate) starts: Vec<(Source, u64)>,
    pub(crate) spool: Spool,
    pub(crate) frequencies: Option<WordFrequencies>,
    /// How many documents, and how many of the starts, are of the existing corpus.
    pub(crate) against: u32,
    pub(crate) own_starts: usize,
}

/// A file that documents are read from again.
pub(crate) struct Input {
    pub(crate) source: Source,
    pub(crate) format: Arc<dyn Format>,
}

/// Which texts are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Those with the same bytes; short ones with the same normalized text. Cheaper, where nobody asks what is exact.
    Verbatim,
    /// Those with the same normalized text.
    Normalized,
}

/// Of which documents word frequencies are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    None,
    /// Enough for a decision.
    Sample,
    /// For figures that are shown.
    All,
}

/// What signing needs to know.
pub(crate) struct Signing {
    pub(crate) engine: Arc<Engine>,
    /// None of them where the settings make no signatures.
    pub(crate) bands: Bands,
    pub(crate) tags: BandTags,
    pub(crate) keep: Keep,
    pub(crate) keys: Keys,
    pub(crate) on_dup_id: OnDupId,
    pub(crate) facts: Counted,
    /// Whether texts are asked for again.
    pub(crate) texts: bool,
    pub(crate) threads: usize,
    pub(crate) files: TempFiles,
    /// Bytes of tags that may stay in memory.
    pub(crate) tags_in_memory: usize,
    /// Bytes of documents and their places that may be held.
    pub(crate) max_held: usize,
}

/// About how much a record takes between the workers and the end.
const ANSWER_BYTES: usize = 512;
/// Of a sample every document below this number counts towards word frequencies, and one in [`SAMPLED`] of the others.
const ALL_COUNTED: u64 = 4096;
const SAMPLED: u64 = 16;

/// A document on its way.
struct Ready {
    record: usize,
    id: DocId,
    source: Option<String>,
    rank: Rank,
    key: TextKey,
    outline: Outline,
    state: State,
    too_short: bool,
    print: u64,
    code: Option<Sdr>,
    text_bytes: usize,
    tokens: bool,
    /// Length of its tags in the batch's list.
    tags: usize,
    /// Length of its text in the batch's spool.
    spooled: usize,
    facts: Option<Facts>,
    replaced: bool,
}

/// What became of one batch.
struct Done {
    batch: Batch,
    ready: Vec<Ready>,
    tags: Vec<u32>,
    spooled: Vec<u8>,
    rejects: Vec<Reject>,
}

impl Signing {
    /// Reads an existing corpus, then all inputs.
    pub(crate) fn run(
        self,
        against: Vec<Found>,
        sources: Vec<Found>,
        reading: Reading,
        intake: &mut Intake,
    ) -> anyhow::Result<Signed> {
        let signed = Signed {
            docs: Vec::new(),
            ids: Ids::default(),
            sources: Names::default(),
            keys: Vec::new(),
            outlines: Outlines::new(&self.engine),
            tags: Tags::new(self.bands, self.tags_in_memory, self.files.clone()),
            prints: Vec::new(),
            codes: Vec::new(),
            ranks: Vec::new(),
            inputs: Vec::new(),
            starts: Vec::new(),
            spool: Spool::new(self.files.clone()),
            frequencies: (self.facts != Counted::None).then(WordFrequencies::default),
            against: 0,
            own_starts: 0,
        };
        let (rules, threads) = (reading.rules, self.threads);
        let this = Arc::new(self);
        let worker = this.clone();
        let work = Arc::new(move |batch: Batch| with_scratch(|scratch| worker.sign(batch, rules, scratch)));
        let mut end =
            End { signing: &this, signed, known: HashMap::new(), last_input: None, records: 0, intake };
        for (sources, own) in [(against, false), (sources, true)] {
            if own {
                end.signed.against = end.signed.docs.len() as u32;
                end.signed.own_starts = end.signed.starts.len();
                end.last_input = None;
                // An id of the existing corpus may well come again.
                end.known.clear();
                // Rejects count wherever they are; the rest tells of the documents that are to be deduplicated.
                let Counts { rejected, failed_inputs, .. } = end.intake.counts;
                end.intake.counts = Counts { rejected, failed_inputs, ..Counts::default() };
            }
            let batches = Batches::new(sources, reading.clone()).numbered_from(end.records);
            let work = work.clone();
            in_order(batches, threads, ANSWER_BYTES, move |batch| work(batch), |turn| end.take(turn))?;
        }
        Ok(end.signed)
    }

    fn sign(&self, batch: Batch, rules: Rules, scratch: &mut Scratch) -> Done {
        let mut done = Done {
            ready: Vec::with_capacity(batch.spans.len()),
            tags: Vec::with_capacity(batch.spans.len() * self.bands.count as usize),
            spooled: Vec::new(),
            rejects: Vec::new(),
            batch,
        };
        let records: Vec<_> = done.batch.records(rules).collect();
        for (record, taken) in records.into_iter().enumerate() {
            let document = match taken {
                Err(reject) => {
                    done.rejects.push(reject);
                    continue;
                }
                Ok(taken) => taken,
            };
            let replaced = document.replaced;
            let document = document.document;
            let rank = match self.rank(&document.content, document.published_at.as_deref()) {
                Ok(rank) => rank,
                Err(reason) => {
                    done.rejects.push(done.batch.reject_record(record, reason));
                    continue;
                }
            };
            let sketches = self.engine.sketch(&document.content, scratch);
            let before = (done.tags.len(), done.spooled.len());
            let signature = sketches.minhash.as_ref().filter(|_| sketches.status == Status::Ok);
            done.tags.extend(signature.into_iter().flat_map(|signature| self.tags.of(signature.rows())));
            let (state, key) = self.state(&document.content, &sketches);
            let tokens = match done.batch.plain || !self.texts {
                true => matches!(document.content, Content::Tokens(_)),
                false => spool::encode(&document.content, &mut done.spooled),
            };
            let number = done.batch.first + record as u64;
            let counted = match self.facts {
                Counted::None => false,
                Counted::Sample => number < ALL_COUNTED || number.is_multiple_of(SAMPLED),
                Counted::All => true,
            };
            done.ready.push(Ready {
                record,
                source: document.source,
                rank,
                key,
                outline: signature.map_or(Outline::default(), |signature| Outline::of(signature.rows())),
                state,
                too_short: sketches.status == Status::TooShort,
                print: sketches.simhash.map_or(0, Fingerprint::as_u64),
                code: sketches.sdr,
                text_bytes: text_bytes(&document.content),
                tokens,
                tags: done.tags.len() - before.0,
                spooled: done.spooled.len() - before.1,
                facts: counted.then(|| Facts::of(&document.content)),
                replaced,
                id: document.id,
            });
        }
        done
    }

    /// How a document takes part, and its key.
    fn state(&self, content: &Content, sketches: &Sketches) -> (State, TextKey) {
        let long = sketches.status == Status::Ok && (self.bands.count == 0 || sketches.minhash.is_some());
        if long && self.bands.count > 0 && self.keys == Keys::Verbatim {
            return (State::Long, TextKey::verbatim(content));
        }
        // Where nothing is verified, sketches decide, and not even equal texts match without them.
        let print = sketches.simhash.is_some_and(|print| !print.is_zero());
        let code = sketches.sdr.as_ref().is_some_and(|code| !code.active().is_empty());
        let comparable = self.engine.config().matching.verify || print || code || sketches.minhash.is_some();
        match TextKey::of(content) {
            Some(key) if comparable && long => (State::Long, key),
            Some(key) if comparable => (State::Short, key),
            Some(key) => (State::Blank, key),
            None => (State::Blank, TextKey::verbatim(&Content::Text(String::new()))),
        }
    }

    fn rank(&self, content: &Content, field: Option<&str>) -> Result<Rank, String> {
        Ok(match (&self.keep, field) {
            (Keep::First, _) => Rank::Absent,
            (Keep::Longest, _) => Rank::Number(-(text_bytes(content) as f64)),
            (_, None) => Rank::Absent,
            (Keep::Newest, Some(date)) => {
                let moment = Timestamp::parse(date).map_err(|error| error.to_string())?;
                Rank::Moment(std::cmp::Reverse(moment))
            }
            (Keep::Field(_), Some(value)) => match value.trim().parse::<f64>() {
                Ok(number) if !number.is_nan() => Rank::Number(-number),
                _ => Rank::Text(std::cmp::Reverse(value.to_owned())),
            },
        })
    }
}

fn text_bytes(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Tokens(tokens) => tokens.iter().map(|token| token.len() + 1).sum(),
    }
}

/// Where results come in order.
struct End<'a> {
    signing: &'a Signing,
    signed: Signed,
    /// Documents by a key of their ids.
    known: HashMap<TextKey, u32>,
    last_input: Option<usize>,
    /// Records so far.
    records: u64,
    intake: &'a mut Intake,
}

impl End<'_> {
    fn take(&mut self, turn: Result<Done, Broken>) -> anyhow::Result<ControlFlow<()>> {
        match turn {
            Err(broken) => self.intake.broken(&broken),
            Ok(done) => self.take_done(done)?,
        }
        Ok(ControlFlow::Continue(()))
    }

    fn take_done(&mut self, done: Done) -> Result<(), Failure> {
        let Done { batch, ready, tags, spooled, mut rejects } = done;
        let mut counts = Counts { bytes: batch.bytes.len() as u64, ..Counts::default() };
        let input = self.input_of(&batch);
        self.records = batch.first + batch.spans.len() as u64;
        let (mut tags, mut spooled) = (&tags[..], &spooled[..]);
        for ready in ready {
            let (row, rest) = tags.split_at(ready.tags);
            tags = rest;
            let (text, rest) = spooled.split_at(ready.spooled);
            spooled = rest;
            let doc = self.signed.docs.len() as u32;
            match self.admit(&ready, doc) {
                Admitted::Yes => {}
                Admitted::Repeated => {
                    counts.repeated += 1;
                    continue;
                }
                Admitted::No => {
                    rejects.push(batch.reject_record(ready.record, repeated_id(&ready.id)));
                    continue;
                }
            }
            counts.documents += 1;
            counts.too_short += u64::from(ready.too_short);
            counts.replaced += u64::from(ready.replaced);
            self.push(&batch, input, ready, row, text)?;
        }
        rejects.sort_by_key(|reject| reject.place);
        rejects.iter().try_for_each(|reject| self.intake.reject(reject))?;
        self.intake.count(&counts);
        self.check_room()
    }

    /// The number of the batch's input, where records can be read again.
    fn input_of(&mut self, batch: &Batch) -> u32 {
        let source = &batch.source;
        // By number and not by name: an input may be named twice.
        if self.last_input != Some(batch.input) {
            self.last_input = Some(batch.input);
            self.signed.starts.push((source.clone(), batch.first));
            if batch.plain {
                self.signed.inputs.push(Input { source: source.clone(), format: batch.format.clone() });
            }
        }
        if batch.plain { self.signed.inputs.len() as u32 - 1 } else { SPOOLED }
    }

    /// Whether a document of that id may come in.
    fn admit(&mut self, ready: &Ready, doc: u32) -> Admitted {
        let id = TextKey::verbatim(&Content::Text(id_json(&ready.id)));
        let Some(&before) = self.known.get(&id) else {
            self.known.insert(id, doc);
            return Admitted::Yes;
        };
        let old = &mut self.signed.docs[before as usize];
        if (old.state, self.signed.keys[before as usize]) == (ready.state, ready.key) {
            return Admitted::Repeated;
        }
        if self.signing.on_dup_id == OnDupId::Reject {
            return Admitted::No;
        }
        old.state = State::Replaced;
        self.known.insert(id, doc);
        Admitted::Yes
    }

    fn push(
        &mut self,
        batch: &Batch,
        input: u32,
        ready: Ready,
        row: &[u32],
        text: &[u8],
    ) -> Result<(), Failure> {
        let span = &batch.spans[ready.record];
        let (at, len) = match input {
            SPOOLED if !self.signing.texts => (0, 0),
            SPOOLED => (self.signed.spool.push(text)?, text.len()),
            _ => (batch.offset + span.start as u64, span.end - span.start),
        };
        let signed = &mut self.signed;
        signed.docs.push(Doc {
            record: batch.first + ready.record as u64,
            at,
            len: u32::try_from(len).unwrap_or(u32::MAX),
            input,
            text_bytes: u32::try_from(ready.text_bytes).unwrap_or(u32::MAX),
            source: signed.sources.number(ready.source.as_deref().unwrap_or("")),
            state: ready.state,
            too_short: ready.too_short,
            tokens: ready.tokens,
        });
        signed.ids.push(&ready.id);
        signed.keys.push(ready.key);
        signed.outlines.push(ready.outline);
        signed.tags.push(row)?;
        if self.signing.engine.config().simhash.is_some() {
            signed.prints.push(ready.print);
        }
        signed.codes.extend(ready.code);
        if self.signing.keep != Keep::First {
            signed.ranks.push(ready.rank);
        }
        if let (Some(frequencies), Some(facts)) = (&mut signed.frequencies, &ready.facts) {
            frequencies.add(facts);
        }
        Ok(())
    }

    /// A run that can only end badly ends soon.
    fn check_room(&self) -> Result<(), Failure> {
        let documents = self.signed.docs.len();
        if documents > (u32::MAX >> 1) as usize {
            return Err(Failure::new(Exit::Limit, "more than 2,147,483,647 documents; split the input"));
        }
        let code_bytes = self.signed.codes.first().map_or(0, |code| CODE_BYTES + 6 * code.active().len());
        let print_bytes = if self.signed.prints.is_empty() { 0 } else { PRINT_BYTES };
        let held = documents * (HELD_BYTES + print_bytes + code_bytes) + self.signed.ids.parts().0.len();
        match held > self.signing.max_held {
            false => Ok(()),
            true => {
                let needed = held / documents.max(1);
                Err(Failure::new(
                    Exit::Limit,
                    format!(
                        "{documents} documents do not fit into `--max-memory`: each takes about {needed} bytes; raise it"
                    ),
                ))
            }
        }
    }
}

/// About how much is held for each document, besides its id: place, key, buckets, who has its id, its center.
pub(crate) const HELD_BYTES: usize = 200;
/// The same for a fingerprint in its index, and for a sparse code besides its bits.
const PRINT_BYTES: usize = 100;
const CODE_BYTES: usize = 80;

enum Admitted {
    Yes,
    /// The same id and text once more.
    Repeated,
    No,
}
