//! `sameish eval --exact`: what does brute force find?
//!
//! Some documents are drawn ([`survey`](super::survey)), and a second pass holds every document of the input against all of them:
//! features of the drawn lie in one table, each with the documents that have it, so that a document is compared with all of
//! them by looking its features up once. The similarities are exact, and memory grows with the sample and not with the texts.

use super::prediction::{File, Index, Prediction, oracle};
use super::survey::{Draw, Drawn, Survey};
use super::tally::{Pair, Tally, id_of};
use super::{Args, Ids, print, read};
use crate::args::Size;
use crate::exit::{Exit, Failure};
use crate::output::audit::{Answer, Example, Report};
use crate::run_log::{Log, finish, plain_log};
use sameish::{Analyzer, DocId, Prepared, Scratch, Status, Templates, TextKey};
use sameish::{facts_agreement, is_template};
use sameish_batch::input::{InputError, InputResult, ReadOptions, RecordBatch, RecordBatches, RecordRules};
use sameish_batch::ordered_pool::{in_order, with_scratch};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.exact.iter().any(|input| input == "-") {
        let why = "`--exact` reads its documents twice, which standard input can not be; name files";
        return Err(Failure::usage(why).into());
    }
    let engine = args.matching.analyzer(&args.engine, |config| args.templates.set(config))?;
    let config = engine.config();
    let index = Index::new(config)?;
    let truth = oracle(config)?;
    // Before the long way through the documents.
    let mut ids = Ids::default();
    let side = args.predicted.as_ref().map(|file| read(file, args, &mut ids)).transpose()?;
    let sources = args.documents.find(&args.exact)?;
    let mut reading = args.documents.reading(args.max_line.unwrap_or(Size::RECORD), args.quiet);
    reading.rules.lossy |= config.text.lossy;
    let (rules, threads) = (reading.rules, args.threads.count());
    let mut log = plain_log(args.quiet, &sources);
    let draw = Draw {
        engine: truth.clone(),
        size: args.sample as usize,
        seed: args.seed,
        on_dup_id: args.matching.on_dup_id,
        facts: side.is_some() && config.matching.templates == Templates::Keep,
    };
    let survey = Survey::new(draw, sources.clone(), reading.clone(), threads, &mut log)?;
    let prediction = match side {
        None => Prediction::Analyzer(index),
        Some(side) => Prediction::File(File::new(side, ids, &survey.drawn)),
    };
    let examples = usize::from(args.examples);
    let audit = Arc::new(Audit::new(truth, prediction, survey, rules, examples));
    let quiet = ReadOptions { on_guessed_text: None, ..reading };
    let tally = audit.run(sources, quiet, threads, &mut log)?;
    let answer = audit.answer(&tally);
    let (_, exit) = finish(log)?;
    print(args.json, &answer, || Report { answer: &answer }.to_string())?;
    Ok(exit)
}

/// What the threads share.
struct Audit {
    truth: Analyzer,
    prediction: Prediction,
    survey: Survey,
    rules: RecordRules,
    examples: usize,
    features: Features,
    by_key: HashMap<TextKey, Vec<u32>>,
    /// Positions of the drawn by the numbers of their records.
    by_record: HashMap<u64, u32>,
}

/// About how much a record takes until it is counted.
const BYTES_PER_RECORD: usize = 128;

impl Audit {
    fn new(
        truth: Analyzer,
        prediction: Prediction,
        survey: Survey,
        rules: RecordRules,
        examples: usize,
    ) -> Audit {
        let mut by_key: HashMap<TextKey, Vec<u32>> = HashMap::new();
        for (at, doc) in (0..).zip(&survey.drawn) {
            by_key.extend(
                doc.prepared.key.filter(|key| !by_key.contains_key(key)).map(|key| (key, Vec::new())),
            );
            doc.prepared.key.and_then(|key| by_key.get_mut(&key)).into_iter().for_each(|list| list.push(at));
        }
        Audit {
            features: Features::of(&survey.drawn),
            by_record: survey.drawn.iter().map(|doc| doc.record).zip(0..).collect(),
            by_key,
            truth,
            prediction,
            survey,
            rules,
            examples,
        }
    }

    /// Holds all documents against the drawn ones.
    fn run(
        self: &Arc<Audit>,
        sources: Vec<InputResult>,
        reading: ReadOptions,
        threads: usize,
        log: &mut Log,
    ) -> anyhow::Result<Tally> {
        let (mut sum, worker) = (Tally::default(), self.clone());
        let work = move |batch: RecordBatch| with_scratch(|scratch| worker.work(&batch, scratch));
        // What could not be read the first time was told then.
        let take = |turn: Result<Tally, InputError>| {
            if let Ok(tally) = turn {
                sum.add(tally, self.examples);
                log.monitor.share("comparing", sum.documents as usize, self.survey.documents as usize);
            }
            anyhow::Ok(ControlFlow::Continue(()))
        };
        in_order(RecordBatches::new(sources, reading), threads, BYTES_PER_RECORD, work, take)?;
        match sum.documents == self.survey.documents {
            true => Ok(sum),
            false => Err(Failure::new(
                Exit::Unreadable,
                "the documents changed while they were read; run again when they are at rest",
            )
            .into()),
        }
    }

    fn work(&self, batch: &RecordBatch, scratch: &mut Scratch) -> Tally {
        let mut tally = Tally::default();
        let mut shared = Shared::new(self.survey.drawn.len());
        for (number, taken) in (batch.first..).zip(batch.records(self.rules)) {
            let Some(document) = taken.ok().filter(|_| !self.survey.passed_over.contains(&number)) else {
                continue;
            };
            let (id, content) = (document.document.id, document.document.content);
            let doc = Doc { number, id, prepared: self.truth.prepare(&content, scratch) };
            tally.documents += 1;
            self.compare(&doc, &mut shared, &mut tally);
        }
        tally.keep(self.examples);
        tally
    }

    fn compare(&self, doc: &Doc, shared: &mut Shared, tally: &mut Tally) {
        shared.clear();
        self.features.count(doc.prepared.features.shingles.as_slice(), shared);
        let equal = doc.prepared.key.and_then(|key| self.by_key.get(&key));
        equal.into_iter().flatten().for_each(|&at| shared.touch(at));
        let joined = match &self.prediction {
            Prediction::File(file) => {
                let (named, joined) = file.joined_with(&doc.id);
                tally.named += u64::from(named);
                joined.iter().for_each(|&at| shared.touch(at));
                joined
            }
            Prediction::Analyzer(index) if index.looks_at_prints() => {
                (0..self.survey.drawn.len() as u32).for_each(|at| shared.touch(at));
                &[]
            }
            Prediction::Analyzer(_) => &[],
        };
        // Two drawn documents meet twice, and count once.
        let end = self.by_record.get(&doc.number).copied().unwrap_or(u32::MAX);
        for at in shared.touched.iter().copied().filter(|&at| at < end) {
            self.judge(doc, at, shared.counts[at as usize], joined, tally);
        }
    }

    fn judge(&self, doc: &Doc, at: u32, shared: u32, joined: &[u32], tally: &mut Tally) {
        let (a, b) = (&self.survey.drawn[at as usize].prepared, &doc.prepared);
        let equal = a.key.is_some() && a.key == b.key;
        let short = [a, b].iter().any(|doc| doc.sketches.status == Status::TooShort);
        let all = a.features.shingles.len() + b.features.shingles.len() - shared as usize;
        let similarity = if equal { 1.0 } else { f64::from(shared) / all.max(1) as f64 };
        // Texts that are too short for the settings are the same where they are equal, and not else.
        let right = equal || (!short && similarity >= self.truth.config().matching.threshold);
        let (predicted, expected) = match &self.prediction {
            Prediction::File(_) => (joined.binary_search(&at).is_ok(), None),
            Prediction::Analyzer(index) => {
                let candidate = !equal && index.is_candidate(a, b);
                // Of both, where both were drawn.
                let drawn = 1 + u64::from(self.by_record.contains_key(&doc.number));
                tally.candidates += if candidate { drawn } else { 0 };
                let found = equal || (candidate && index.matches(a, b, similarity));
                (found, if equal { Some(1.0) } else { index.probability(similarity) })
            }
        };
        if !right && !predicted {
            return;
        }
        if right && !predicted && self.is_form(a, b, similarity) {
            tally.templates += 1;
            return;
        }
        let row = tally.rows.entry(at).or_default();
        row.right += u64::from(right);
        row.predicted += u64::from(predicted);
        row.both += u64::from(right && predicted);
        let pair = || Pair { drawn: at, other: doc.id.clone(), record: doc.number, similarity };
        if right {
            let class = tally.class(similarity);
            *class = (class.0 + 1, class.1 + u64::from(predicted), class.2 + expected.unwrap_or(0.0));
        }
        let examples = match (right, predicted) {
            (true, false) => &mut tally.missed,
            (false, true) => &mut tally.wrong,
            _ => return,
        };
        examples.push(pair());
        if examples.len() > 2 * self.examples + 64 {
            tally.keep(self.examples);
        }
    }

    /// Whether a file leaves the two apart because they are of one form with other facts.
    fn is_form(&self, a: &Prepared, b: &Prepared, similarity: f64) -> bool {
        self.survey.facts
            && similarity < 1.0
            && is_template(similarity, facts_agreement(&a.features.facts, &b.features.facts))
    }

    fn answer(&self, tally: &Tally) -> Answer {
        let config = self.truth.config();
        let example = |pair: &Pair| Example {
            a: id_of(&self.survey.drawn, pair.drawn).clone(),
            b: pair.other.clone(),
            similarity: pair.similarity,
        };
        let mut answer = Answer::new(self.survey.documents, self.survey.drawn.len() as u64, config);
        answer.count(tally);
        match &self.prediction {
            Prediction::Analyzer(index) => {
                answer.of_engine(tally, |similarity| index.probability(similarity))
            }
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

/// Features of the drawn documents, by the leading bits of their hashes.
struct Features {
    /// Ascending, and which of the drawn has it.
    entries: Vec<(u64, u32)>,
    /// Where the entries of each slot begin.
    starts: Vec<u32>,
    shift: u32,
}

impl Features {
    fn of(drawn: &[Drawn]) -> Features {
        let features = |doc: &'_ Drawn| doc.prepared.features.shingles.as_slice().to_vec();
        let of_one = |(at, doc)| features(doc).into_iter().map(move |feature| (mixed(feature), at));
        let mut entries: Vec<(u64, u32)> = (0..).zip(drawn).flat_map(of_one).collect();
        entries.sort_unstable();
        let bits = (entries.len().max(2) * 2).ilog2().min(30);
        let shift = 64 - bits;
        let mut starts = vec![0; (1 << bits) + 1];
        entries.iter().for_each(|(feature, _)| starts[(feature >> shift) as usize + 1] += 1);
        (1..starts.len()).for_each(|slot| starts[slot] += starts[slot - 1]);
        Features { entries, starts, shift }
    }

    /// How many of the features each of the drawn has.
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

/// Some presets' hashes are weak in their leading bits.
fn mixed(feature: u64) -> u64 {
    feature.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// How many features each of the drawn shares with a document.
struct Shared {
    counts: Vec<u32>,
    /// Those that are to be looked at.
    touched: Vec<u32>,
    seen: Vec<bool>,
}

impl Shared {
    fn new(drawn: usize) -> Shared {
        Shared { counts: vec![0; drawn], touched: Vec::new(), seen: vec![false; drawn] }
    }

    fn touch(&mut self, at: u32) {
        if !std::mem::replace(&mut self.seen[at as usize], true) {
            self.touched.push(at);
        }
    }

    fn clear(&mut self) {
        for at in self.touched.drain(..) {
            (self.counts[at as usize], self.seen[at as usize]) = (0, false);
        }
    }
}
