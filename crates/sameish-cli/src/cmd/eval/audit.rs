//! `sameish eval --exact`: precision and recall against brute force.
//!
//! The first pass draws a sample of the documents ([`first_pass`](super::first_pass)). The second pass compares every document of the
//! input with all of them: an inverted index maps each feature to the sampled documents that have it, so one lookup per feature
//! counts the features shared with every sampled document. The similarities are exact, and memory grows with the sample, not
//! with the input.

use super::first_pass::{Draw, FirstPass, Sampled};
use super::prediction::{File, Index, Prediction, oracle};
use super::tally::{Pair, Tally};
use super::{Args, read};
use crate::args::Size;
use crate::exit::{Exit, Failure};
use crate::output::audit::{Answer, Example};
use crate::output::print;
use crate::run_log::{Log, finish, plain_log};
use sameish::features::TextKey;
use sameish::{Analyzer, DocId, Prepared, Scratch, Status};
use sameish_batch::input::judgments::DocumentNumbers;
use sameish_batch::input::{
    InputError, InputResult, ReadOptions, Record, RecordBatch, RecordBatches, RecordRules, check_inputs,
};
use sameish_batch::ordered_pool::{in_order, with_scratch};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.exact.iter().any(|input| input == "-") {
        let reason = "`--exact` reads its documents twice, so it cannot read standard input; pass files";
        return Err(Failure::usage(reason).into());
    }
    let engine = args.matching.analyzer(&args.engine, |config| args.templates.set(config))?;
    let config = engine.config();
    let index = Index::new(config)?;
    let truth = oracle(config)?;
    let mut ids = DocumentNumbers::default();
    let side = args.predicted.as_ref().map(|file| read(file, args, &mut ids)).transpose()?;
    let sources = args.documents.find(&args.exact)?;
    let mut reading = args.documents.reading(args.max_line.unwrap_or(Size::RECORD), &sources, args.quiet);
    check_inputs(&sources, &reading)?;
    reading.rules.lossy |= config.text.lossy;
    let threads = args.threads.count();
    let mut log = plain_log(args.quiet, &sources);
    let draw = Draw {
        engine: truth.clone(),
        size: args.sample as usize,
        seed: args.seed,
        on_dup_id: args.matching.on_dup_id,
    };
    let first_pass = FirstPass::new(draw, sources.clone(), reading.clone(), threads, &mut log)?;
    let prediction = match side {
        None => Prediction::Engine(index),
        Some(side) => {
            let templates = args.templates.requested();
            Prediction::File(File::new(side, ids, &first_pass.sampled, templates))
        }
    };
    let examples = usize::from(args.examples);
    let audit = Arc::new(Audit::new(truth, prediction, first_pass, reading.rules, examples));
    let quiet = ReadOptions { on_guessed_text: None, ..reading };
    let tally = audit.run(sources, quiet, threads, &mut log)?;
    let answer = audit.answer(&tally);
    let (_, exit) = finish(log)?;
    print(args.json, &answer, || answer.to_string())?;
    Ok(exit)
}

/// The state of the second pass that the worker threads share.
struct Audit {
    truth: Analyzer,
    prediction: Prediction,
    first_pass: FirstPass,
    rules: RecordRules,
    examples: usize,
    features: Features,
    /// Positions of the sampled documents by the key of their text.
    by_key: HashMap<TextKey, Vec<u32>>,
    /// Positions of the sampled documents by record number.
    by_record: HashMap<u64, u32>,
}

/// Approximate memory per record until it is counted, in bytes.
const BYTES_PER_RECORD: usize = 128;

impl Audit {
    fn new(
        truth: Analyzer,
        prediction: Prediction,
        first_pass: FirstPass,
        rules: RecordRules,
        examples: usize,
    ) -> Audit {
        let mut by_key: HashMap<TextKey, Vec<u32>> = HashMap::new();
        for (at, doc) in (0..).zip(&first_pass.sampled) {
            if let Some(key) = doc.prepared.key {
                by_key.entry(key).or_default().push(at);
            }
        }
        Audit {
            features: Features::of(&first_pass.sampled),
            by_record: first_pass.sampled.iter().map(|doc| doc.record).zip(0..).collect(),
            by_key,
            truth,
            prediction,
            first_pass,
            rules,
            examples,
        }
    }

    /// Compares all documents with the sampled ones.
    fn run(
        self: &Arc<Audit>,
        sources: Vec<InputResult>,
        reading: ReadOptions,
        threads: usize,
        log: &mut Log,
    ) -> anyhow::Result<Tally> {
        let mut sum = Tally::default();
        let worker = self.clone();
        let work = move |batch: RecordBatch| with_scratch(|scratch| worker.work(&batch, scratch));
        // Unreadable inputs were reported in the first pass.
        let take = |turn: Result<Tally, InputError>| {
            if let Ok(tally) = turn {
                sum.add(tally, self.examples);
                log.monitor.share("comparing", sum.documents as usize, self.first_pass.documents as usize);
            }
            anyhow::Ok(ControlFlow::Continue(()))
        };
        in_order(RecordBatches::new(sources, reading), threads, BYTES_PER_RECORD, work, take)?;
        if sum.documents != self.first_pass.documents {
            let reason = "the documents changed while they were read; run the command again";
            return Err(Failure::new(Exit::Unreadable, reason).into());
        }
        Ok(sum)
    }

    fn work(&self, batch: &RecordBatch, scratch: &mut Scratch) -> Tally {
        let mut tally = Tally::default();
        let mut shared = Shared::new(self.first_pass.sampled.len());
        for (number, taken) in (batch.first..).zip(batch.records(self.rules)) {
            let is_compared = |taken: &Record| taken.has_text() && !self.first_pass.ignored.contains(&number);
            let Some(taken) = taken.ok().filter(is_compared) else {
                continue;
            };
            let prepared = self.truth.prepare(&taken.document.content, scratch);
            let doc = Doc { number, id: taken.document.id, prepared };
            tally.documents += 1;
            self.compare(&doc, &mut shared, &mut tally);
        }
        tally.keep(self.examples);
        tally
    }

    /// Compares a document with every sampled document that may be a true or predicted pair.
    fn compare(&self, doc: &Doc, shared: &mut Shared, tally: &mut Tally) {
        shared.clear();
        self.features.count(doc.prepared.features.shingles.as_slice(), shared);
        let equal = doc.prepared.key.and_then(|key| self.by_key.get(&key));
        equal.into_iter().flatten().for_each(|&at| shared.touch(at));
        let mut joined: &[u32] = &[];
        match &self.prediction {
            Prediction::File(file) => {
                if let Some(sampled) = file.joined_with(&doc.id) {
                    tally.known += 1;
                    sampled.iter().for_each(|&at| shared.touch(at));
                    joined = sampled;
                }
            }
            Prediction::Engine(index) if index.uses_fingerprints() => {
                (0..self.first_pass.sampled.len() as u32).for_each(|at| shared.touch(at));
            }
            Prediction::Engine(_) => {}
        }
        // A pair of two sampled documents occurs twice and counts once.
        let end = self.by_record.get(&doc.number).copied().unwrap_or(u32::MAX);
        for at in shared.touched.iter().copied().filter(|&at| at < end) {
            self.count_pair(doc, at, shared.counts[at as usize], joined, tally);
        }
    }

    fn count_pair(&self, doc: &Doc, at: u32, shared: u32, joined: &[u32], tally: &mut Tally) {
        let a = &self.first_pass.sampled[at as usize].prepared;
        let b = &doc.prepared;
        let equal = a.key.is_some() && a.key == b.key;
        let is_covered = [a, b].iter().all(|doc| is_covered(doc));
        let all = a.features.shingles.len() + b.features.shingles.len() - shared as usize;
        let similarity = if equal { 1.0 } else { f64::from(shared) / all.max(1) as f64 };
        let predicted = match &self.prediction {
            Prediction::File(_) => joined.binary_search(&at).is_ok(),
            Prediction::Engine(index) => {
                let candidate = !equal && index.is_candidate(a, b);
                // If both documents are sampled, the pair is a candidate of both.
                let sampled = 1 + u64::from(self.by_record.contains_key(&doc.number));
                tally.candidates += if candidate { sampled } else { 0 };
                equal || (candidate && index.matches(a, b, similarity))
            }
        };
        // A pair that is not covered is correct if it was found and is similar, and it is missed only if the texts are equal.
        // Without fingerprints, short texts match only if they are equal.
        let config = self.truth.config();
        let counts = is_covered || (predicted && config.simhash.is_some());
        let correct = equal || (counts && similarity >= config.matching.threshold);
        if !correct && !predicted {
            return;
        }
        if correct && !predicted && self.is_kept_template(a, b, similarity) {
            tally.templates += 1;
            return;
        }
        let expected = if equal || !is_covered { Some(1.0) } else { self.prediction.probability(similarity) };
        tally.count(at, correct, predicted);
        if correct {
            tally.class(similarity).count(predicted, expected.unwrap_or(0.0));
        }
        if correct != predicted {
            let examples = if correct { &mut tally.missed } else { &mut tally.wrong };
            examples.push(Pair { sampled: at, other: doc.id.clone(), record: doc.number, similarity });
            if examples.len() > 2 * self.examples + 64 {
                tally.keep(self.examples);
            }
        }
    }

    /// Returns `true` if a file keeps the pair apart as a template.
    fn is_kept_template(&self, a: &Prepared, b: &Prepared, similarity: f64) -> bool {
        matches!(&self.prediction, Prediction::File(file) if file.keeps_templates)
            && self.truth.keeps_apart(a, b, similarity)
    }

    fn answer(&self, tally: &Tally) -> Answer {
        let sampled = &self.first_pass.sampled;
        let example = |pair: &Pair| Example {
            a: sampled[pair.sampled as usize].id.clone(),
            b: pair.other.clone(),
            similarity: pair.similarity,
        };
        let mut answer = Answer::new(self.first_pass.documents, sampled.len() as u64, self.truth.config());
        answer.count(tally);
        match &self.prediction {
            Prediction::Engine(index) => answer.of_engine(tally, |similarity| index.probability(similarity)),
            Prediction::File(file) => answer.of_file(file, tally),
        }
        answer.worst_missed = tally.missed.iter().map(example).collect();
        answer.worst_wrong = tally.wrong.iter().map(example).collect();
        answer
    }
}

/// A document of the second pass.
struct Doc {
    number: u64,
    id: DocId,
    prepared: Prepared,
}

/// An inverted index of the features of the sampled documents.
struct Features {
    /// Features in ascending order, with the position of a sampled document.
    entries: Vec<(u64, u32)>,
    /// Start of the entries of each slot. A slot is the leading bits of a feature.
    starts: Vec<u32>,
    shift: u32,
}

impl Features {
    fn of(sampled: &[Sampled]) -> Features {
        let mut entries: Vec<(u64, u32)> = Vec::new();
        for (at, doc) in (0..).zip(sampled) {
            entries.extend(
                doc.prepared.features.shingles.as_slice().iter().map(|&feature| (mixed(feature), at)),
            );
        }
        entries.sort_unstable();
        let bits = (entries.len().max(2) * 2).ilog2().min(30);
        let shift = 64 - bits;
        let mut starts = vec![0; (1 << bits) + 1];
        entries.iter().for_each(|(feature, _)| starts[(feature >> shift) as usize + 1] += 1);
        (1..starts.len()).for_each(|slot| starts[slot] += starts[slot - 1]);
        Features { entries, starts, shift }
    }

    /// Counts the features that each sampled document shares.
    fn count(&self, features: &[u64], shared: &mut Shared) {
        for feature in features.iter().map(|&feature| mixed(feature)) {
            let slot = (feature >> self.shift) as usize;
            let entries = &self.entries[self.starts[slot] as usize..self.starts[slot + 1] as usize];
            for &(_, at) in entries.iter().filter(|(entry, _)| *entry == feature) {
                shared.touch(at);
                shared.counts[at as usize] += 1;
            }
        }
    }
}

/// Returns `true` if the engine must find the texts that are similar to this one: if it is long enough or, although it is too
/// short, found by a signature.
fn is_covered(doc: &Prepared) -> bool {
    doc.sketches.status == Status::Ok || doc.sketches.short_minhash.is_some()
}

/// Mixes a feature, because the leading bits of some presets' hashes are weak.
fn mixed(feature: u64) -> u64 {
    feature.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The number of features that each sampled document shares with a document.
struct Shared {
    counts: Vec<u32>,
    /// Sampled documents to compare.
    touched: Vec<u32>,
    seen: Vec<bool>,
}

impl Shared {
    fn new(sampled: usize) -> Shared {
        Shared { counts: vec![0; sampled], touched: Vec::new(), seen: vec![false; sampled] }
    }

    fn touch(&mut self, at: u32) {
        if !std::mem::replace(&mut self.seen[at as usize], true) {
            self.touched.push(at);
        }
    }

    fn clear(&mut self) {
        for at in self.touched.drain(..) {
            self.counts[at as usize] = 0;
            self.seen[at as usize] = false;
        }
    }
}
