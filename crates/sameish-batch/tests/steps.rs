//! The steps give the same result for files, documents in memory and columns.

#![allow(clippy::unwrap_used)]

use sameish::config::{Linkage, Templates};
use sameish::{Analyzer, DocId, Document, Preset, Timestamp, Verdict};
use sameish_batch::columns::{self, Edge, SignedBatch};
use sameish_batch::input::{Input, InputResult, ReadOptions, Reject, Remedy};
use sameish_batch::{
    Cancellation, Completion, Counts, DocumentSource, DocumentText, Error, Files, IndexedCorpus, Monitor,
    OnBad, OnDupId, Options, Pair, Progress, RunLog, Selection, Source, Task, index, sign,
};
use std::borrow::Cow;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Families of texts that differ in a few words, templates with other names and numbers, and copies.
fn documents(count: u64) -> Vec<Document> {
    let mut state = 7u64;
    let mut random = move |limit: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % limit
    };
    let text = |id: u64| {
        let family = random(count / 6);
        let mut words: Vec<String> =
            (0..60).map(|i| format!("w{}", (family * 1000 + i) * 7919 % 4001)).collect();
        for _ in 0..random(4) {
            words[random(60) as usize] = format!("x{}", random(5));
        }
        if family.is_multiple_of(3) {
            for at in 0..5 {
                words[at * 12] = format!("Name{} {}", random(50), random(100_000));
            }
        }
        let published_at = (!id.is_multiple_of(4)).then(|| format!("2024-01-{:02}", 1 + id * 11 % 28));
        Document { published_at, ..Document::new(DocId::Number(id), words.join(" ")) }
    };
    (0..count).map(text).collect()
}

fn options(preset: Preset, threads: usize) -> Options {
    let mut config = preset.config();
    config.matching.linkage = Linkage::Cohesive;
    Options { threads, ..Options::new(Analyzer::new(config).unwrap()) }
}

fn log() -> RunLog<()> {
    RunLog::new((), OnBad::Reject, None)
}

fn indexed<'a>(task: Task, source: &Source<'a>, options: &Options) -> IndexedCorpus<'a> {
    index(sign(task, source, options, None, &mut log()).unwrap(), source, options).unwrap()
}

fn pairs(corpus: &IndexedCorpus<'_>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let sink = |pair: Pair| {
        pairs.push(pair);
        Ok(ControlFlow::Continue(()))
    };
    corpus.pairs(sink, &mut log()).unwrap();
    pairs
}

fn clusters(corpus: &IndexedCorpus<'_>) -> Vec<Vec<u32>> {
    let clusters = corpus.clusters(&mut log()).unwrap();
    (0..clusters.len()).map(|cluster| clusters.members(cluster).to_vec()).collect()
}

/// Writes documents as JSONL and returns the file.
fn jsonl(documents: &[Document]) -> tempfile::NamedTempFile {
    let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
    for document in documents {
        let sameish::Content::Text(text) = &document.content else { unreachable!() };
        let record =
            serde_json::json!({"id": document.id, "text": text, "published_at": document.published_at});
        writeln!(file, "{record}").unwrap();
    }
    file
}

#[test]
fn files_and_memory_give_the_same_pairs_clusters_and_selection() {
    let documents = documents(600);
    let file = jsonl(&documents);
    let inputs: Vec<InputResult> = vec![Ok(Input::file(file.path().to_owned()))];
    let read = ReadOptions::default();
    let files = Source::Files(Files { inputs: &inputs, against: &[], read: &read });
    let memory = Source::Documents(&documents);
    for preset in [Preset::Copies, Preset::Articles, Preset::Wire, Preset::Headlines] {
        let (one, many) = (options(preset, 1), options(preset, 3));
        let found = pairs(&indexed(Task::Pairs, &files, &many));
        assert!(found.len() > 100, "{preset}");
        assert_eq!(found, pairs(&indexed(Task::Pairs, &memory, &one)), "{preset}");
        let from_files = indexed(Task::Cluster, &files, &one);
        let from_memory = indexed(Task::Cluster, &memory, &many);
        assert_eq!(clusters(&from_files), clusters(&from_memory), "{preset}");
        let corpus = indexed(Task::Dedup, &files, &many);
        let stars = corpus.stars(&mut log()).unwrap();
        let kept = Selection::new(&corpus, &stars, false).kept;
        let centers: Vec<u64> = clusters(&from_memory).iter().map(|cluster| u64::from(cluster[0])).collect();
        assert_eq!(kept, centers, "{preset}: `dedup` keeps the centers of `cluster`");
    }
}

#[test]
fn columns_give_the_pairs_and_clusters_of_a_corpus() {
    let documents = documents(300);
    let texts: Vec<String> = documents
        .iter()
        .map(|document| match &document.content {
            sameish::Content::Text(text) => text.clone(),
            sameish::Content::Tokens(_) | sameish::Content::Sketches(_) => unreachable!(),
        })
        .collect();
    let source = Source::Documents(&documents);
    for preset in [Preset::Copies, Preset::Articles, Preset::Wire] {
        let options = options(preset, 2);
        let expected = pairs(&indexed(Task::Pairs, &source, &options));
        let mut signed = SignedBatch::default();
        columns::sign(&options.analyzer, &texts, &mut signed);
        let candidates = columns::candidate_pairs(&options.analyzer, &signed).unwrap();
        let text = |at: u32| &texts[at as usize];
        let verdicts =
            columns::verify(&options.analyzer, candidates.iter().map(|&(a, b)| (text(a), text(b))));
        let relation = |a: u32, b: u32, verdict: &Verdict| {
            let comparison = options.analyzer.compare(text(a).as_str(), text(b).as_str(), 5);
            let date = |at: u32| documents[at as usize].published_at.as_deref().map(Timestamp::parse);
            let dates = date(a).zip(date(b)).map(|(a, b)| [a.unwrap(), b.unwrap()]);
            comparison.relation(dates).filter(|_| verdict.verified)
        };
        let pair = |(&(a, b), verdict): (&(u32, u32), Option<Verdict>)| {
            let verdict = verdict?;
            Some(Pair { a, b, verdict, relation: relation(a, b, &verdict) })
        };
        let mut found: Vec<Pair> = candidates.iter().zip(verdicts).filter_map(pair).collect();
        found.sort_by_key(|pair| (pair.a, pair.b));
        let mut sorted = expected.clone();
        sorted.sort_by_key(|pair| (pair.a, pair.b));
        assert_eq!(found, sorted, "{preset}");
        let merge = options.analyzer.config().matching.templates == Templates::Merge;
        let joins = |pair: &&Pair| merge || !pair.verdict.template;
        let edges: Vec<Edge> = found.iter().filter(joins).map(|pair| Edge { a: pair.a, b: pair.b }).collect();
        let mut expected = vec![0; texts.len()];
        for cluster in clusters(&indexed(Task::Cluster, &source, &options)) {
            cluster.iter().for_each(|&doc| expected[doc as usize] = cluster[0]);
        }
        assert_eq!(columns::cluster(texts.len(), &edges), expected, "{preset}");
    }
}

#[test]
fn duplicate_ids_are_rejected_or_replaced() {
    let text = |word: &str| format!("{word} council voted on Monday evening to close the old stone bridge");
    let documents =
        [Document::new("a", text("the")), Document::new("a", text("the")), Document::new("a", text("a"))];
    let source = Source::Documents(&documents);
    let mut options = options(Preset::Copies, 1);
    let mut rejecting = log();
    let signed = sign(Task::Dedup, &source, &options, None, &mut rejecting).unwrap();
    let (Counts { repeated, rejected, .. }, completion) = rejecting.finish().unwrap();
    assert_eq!((signed.len(), repeated, rejected, completion), (1, 1, 1, Completion::Rejected));
    options.on_dup_id = OnDupId::Last;
    let corpus = indexed(Task::Dedup, &source, &options);
    let stars = corpus.stars(&mut log()).unwrap();
    assert_eq!(Selection::new(&corpus, &stars, false).kept, [2]);
}

/// Cancels the run while documents are compared.
struct CancelWhileComparing;

impl Monitor for CancelWhileComparing {
    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        match progress {
            Progress::Comparing { .. } => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

#[test]
fn monitor_cancels_a_run() {
    let documents = documents(60);
    let source = Source::Documents(&documents);
    let options = options(Preset::Copies, 1);
    let mut log = RunLog::new(CancelWhileComparing, OnBad::Reject, None);
    let signed = sign(Task::Dedup, &source, &options, None, &mut log).unwrap();
    let corpus = index(signed, &source, &options).unwrap();
    assert!(matches!(corpus.stars(&mut log), Err(Error::Canceled)));
}

/// Texts that cancel the run when the one at `at` is read for the `reads`-th time, and count all later reads.
struct CancelingSource {
    texts: Vec<String>,
    at: usize,
    reads: AtomicUsize,
    later: AtomicUsize,
    cancellation: Cancellation,
}

impl DocumentSource for CancelingSource {
    fn len(&self) -> usize {
        self.texts.len()
    }

    fn text(&self, position: usize) -> DocumentText<'_> {
        if self.cancellation.is_canceled() {
            self.later.fetch_add(1, Ordering::Relaxed);
        }
        if position == self.at && self.reads.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.cancellation.cancel();
        }
        DocumentText::from(Cow::Borrowed(self.texts[position].as_str()))
    }
}

#[test]
fn cancellation_ends_a_run_before_the_next_document() {
    let texts: Vec<String> = documents(3000).iter().map(|document| text_of(document).to_owned()).collect();
    // The first read signs the document; the second one is a comparison.
    for reads in [1, 2] {
        for threads in [1, 3] {
            let mut options = options(Preset::Copies, threads);
            let source = CancelingSource {
                texts: texts.clone(),
                at: 1000,
                reads: AtomicUsize::new(reads),
                later: AtomicUsize::new(0),
                cancellation: options.cancellation.clone(),
            };
            options.cancellation = source.cancellation.clone();
            let documents = Source::Documents(&source);
            let run = || {
                let signed = sign(Task::Pairs, &documents, &options, None, &mut log())?;
                let corpus = index(signed, &documents, &options)?;
                corpus.pairs(|_| Ok(ControlFlow::Continue(())), &mut log())
            };
            assert!(matches!(run(), Err(Error::Canceled)), "{reads} {threads}");
            let later = source.later.load(Ordering::Relaxed);
            assert!(later < threads, "{later} documents were read after the run was canceled");
        }
    }
}

fn text_of(document: &Document) -> &str {
    match &document.content {
        sameish::Content::Text(text) => text,
        sameish::Content::Tokens(_) | sameish::Content::Sketches(_) => unreachable!("documents have texts"),
    }
}

/// Documents in memory of which the first ones belong to an existing corpus.
struct WithReference<'a> {
    documents: &'a [Document],
    against: usize,
}

impl DocumentSource for WithReference<'_> {
    fn len(&self) -> usize {
        self.documents.len()
    }

    fn against(&self) -> usize {
        self.against
    }

    fn text(&self, position: usize) -> DocumentText<'_> {
        DocumentText::from(Cow::Borrowed(text_of(&self.documents[position])))
    }
}

#[test]
fn an_existing_corpus_in_memory_gives_the_selection_of_files() {
    let documents = documents(600);
    let (known, new) = documents.split_at(200);
    let (known_file, new_file) = (jsonl(known), jsonl(new));
    let input = |file: &tempfile::NamedTempFile| vec![Ok(Input::file(file.path().to_owned()))];
    let (against, inputs): (Vec<InputResult>, Vec<InputResult>) = (input(&known_file), input(&new_file));
    let read = ReadOptions::default();
    let files = Source::Files(Files { inputs: &inputs, against: &against, read: &read });
    let memory = WithReference { documents: &documents, against: 200 };
    let options = options(Preset::Copies, 2);
    let select = |source: &Source<'_>| {
        let corpus = indexed(Task::Dedup, source, &options);
        let stars = corpus.stars(&mut log()).unwrap();
        let selection = Selection::new(&corpus, &stars, false);
        assert_eq!(corpus.signed.records, 200..600);
        (selection.kept, stars.center, stars.similarity)
    };
    let found = select(&Source::Documents(&memory));
    assert!(found.0.len() > 50 && found.0.iter().all(|record| *record >= 200));
    assert_eq!(found, select(&files));
}

#[test]
fn rejected_records_name_the_parameter_as_a_value() {
    struct Words(Vec<String>);
    impl Monitor for Words {
        fn rejected(&mut self, reject: &Reject) {
            self.0.push(reject.reason.clone());
        }
        fn remedy(&self, remedy: Remedy) -> &'static str {
            assert_eq!(remedy, Remedy::TextField);
            "say where the text is"
        }
    }
    let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
    writeln!(file, "{{\"text\": \"one two three\"}}\n{{\"name\": \"a\"}}").unwrap();
    let inputs: Vec<InputResult> = vec![Ok(Input::file(file.path().to_owned()))];
    let read = ReadOptions::default();
    let files = Source::Files(Files { inputs: &inputs, against: &[], read: &read });
    let mut log = RunLog::new(Words(Vec::new()), OnBad::Reject, None);
    sign(Task::Dedup, &files, &options(Preset::Copies, 1), None, &mut log).unwrap();
    assert_eq!(log.monitor.0, ["field `text` is missing; say where the text is"]);
}
