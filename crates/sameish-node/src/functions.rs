//! `dedup`, `pairs` and `cluster`: a whole corpus in one call, in memory or in files.
//!
//! The functions convert arguments and results; `sameish-batch` does the work. `lib/functions.cjs` first fills a [`BatchRun`] with
//! documents, or opens its files, and then starts it once.

use crate::analyzer::NativeAnalyzer;
use crate::error::{CodedError, Result, remedy};
use crate::id::{self, Id};
use crate::job::{Job, lock};
use crate::results::{ClusterList, PairList, RunEstimate};
use crate::sketches::{Text, content};
use napi::bindgen_prelude::{AsyncTask, Either, Float64Array, Null};
use napi_derive::napi;
use sameish::{Analyzer, Content, DocId, Timestamp};
use sameish_batch::functions::{
    Caller, DedupParameters, FLAT_SETTINGS, FileCorpus, FileFields, FileParameters, Kept, OutputFile,
    ParameterNames, Run, SECTIONS, dedup_config, parse_delimiter,
};
use sameish_batch::input::{FileFormat, Remedy, spool_pipes};
use sameish_batch::{
    DocumentSource, DocumentText, Files, Keep, ListedTemplates, OnBad, Options, Source, Task,
};
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::vec::IntoIter;

/// Names of the options that name fields.
const NAMES: ParameterNames =
    ParameterNames { text: "textField", id: "idField", date: "dateField", source: "sourceField" };

/// A setting that can be given without its section.
#[napi(object)]
pub struct FlatSetting {
    /// Name in a configuration file.
    pub name: String,
    /// Section of the configuration file.
    pub section: String,
}

/// Returns the settings that can be given without their section.
#[napi(js_name = "flatSettings", catch_unwind)]
pub fn flat_settings() -> Vec<FlatSetting> {
    let setting = |(name, section): (&str, &str)| FlatSetting { name: name.into(), section: section.into() };
    FLAT_SETTINGS.into_iter().map(setting).collect()
}

/// Returns the names of the sections of a configuration file.
#[napi(js_name = "settingSections", catch_unwind)]
pub fn setting_sections() -> Vec<&'static str> {
    SECTIONS.to_vec()
}

/// Returns `true` if a file name has the suffix of a format, optionally followed by that of a compression.
#[napi(js_name = "isDataFile", catch_unwind)]
pub fn is_data_file(path: String) -> bool {
    FileFormat::of_path(path.as_ref()).0.is_some()
}

/// How a corpus is processed.
#[napi(object)]
pub struct RunOptions {
    /// Number of threads; by default one per processor.
    pub threads: Option<u32>,
    /// Memory limit in bytes.
    pub max_memory: Option<f64>,
    /// Directory for temporary files.
    pub temp_dir: Option<String>,
    /// `fail` or `skip`.
    pub on_bad: Option<String>,
    /// Which document is kept: `first`, `longest` or `newest`.
    pub keep: Option<String>,
    /// Whether one document per source and cluster is kept.
    pub per_source: bool,
    /// `dedup`, `pairs` or `cluster`.
    pub task: String,
}

/// Files, and how they are read.
#[napi(object)]
pub struct FileOptions {
    /// Files, directories and patterns.
    pub paths: Vec<String>,
    /// Files, directories and patterns of an existing corpus.
    pub against: Vec<String>,
    /// Name of the text field.
    pub text_field: Option<String>,
    /// Name of the id field.
    pub id_field: Option<String>,
    /// Name of the date field.
    pub date_field: Option<String>,
    /// Name of the source field.
    pub source_field: Option<String>,
    /// Format of all files.
    pub format: Option<String>,
    /// Separator of the values of tables.
    pub delimiter: Option<String>,
}

/// A chunk of documents as columns of equal length.
#[napi(object)]
pub struct CorpusColumns {
    /// Ids; empty if documents are identified by their position.
    pub ids: Vec<Id>,
    /// Texts or tokens.
    pub texts: Vec<Text>,
    /// Publication dates.
    pub dates: Vec<Option<String>>,
    /// Sources.
    pub sources: Vec<Option<String>>,
}

/// Where the kept records of files are written.
#[napi(object)]
pub struct DedupOutput {
    /// File or directory.
    pub path: String,
    /// Whether existing files are replaced.
    pub overwrite: bool,
}

/// Progress of a run.
#[napi(object)]
pub struct RunProgress {
    /// Number of documents or bytes that are done.
    pub done: f64,
    /// Number of all documents or bytes.
    pub total: f64,
}

/// A run over a corpus.
#[napi(js_name = "BatchRun")]
pub struct BatchRun {
    options: Options,
    on_bad: OnBad,
    per_source: bool,
    reads_dates: bool,
    corpus: Arc<Mutex<Option<Documents>>>,
    /// Part of the work that is done, in millionths.
    done: Arc<AtomicU64>,
    total: Arc<AtomicU64>,
}

enum Documents {
    Memory(OwnedDocuments),
    Files(Box<FileCorpus>),
}

#[napi]
impl BatchRun {
    /// Creates a run over an empty corpus in memory.
    #[napi(constructor, catch_unwind)]
    pub fn new(analyzer: &NativeAnalyzer, options: RunOptions) -> Result<BatchRun> {
        let analyzer = &analyzer.analyzer;
        let task = match &*options.task {
            "dedup" => Task::Dedup,
            "pairs" => Task::Pairs,
            _ => Task::Cluster,
        };
        let analyzer = match task == Task::Dedup {
            true => Analyzer::new(dedup_config(analyzer.config().clone())).map_err(CodedError::from)?,
            false => analyzer.clone(),
        };
        if task == Task::Dedup {
            sameish_batch::check_dedup(&analyzer).map_err(CodedError::from)?;
        }
        let mut run = Options::new(analyzer);
        run.threads = options.threads.map_or(run.threads, |threads| threads as usize);
        run.memory_limit = options.max_memory.map(|bytes| bytes as u64);
        run.temp_dir = options.temp_dir.map(PathBuf::from);
        run.keep = choice("keep", options.keep, Keep::from_name, "`first`, `longest` or `newest`")?;
        run.check().map_err(CodedError::from)?;
        let on_bad = options.on_bad.or(Some("fail".into()));
        let on_bad = choice("onBad", on_bad, OnBad::from_name, "`fail` or `skip`")?;
        Ok(BatchRun {
            reads_dates: task.reads_dates(&run),
            options: run,
            on_bad,
            per_source: options.per_source,
            corpus: Arc::new(Mutex::new(Some(Documents::Memory(OwnedDocuments::default())))),
            done: Arc::default(),
            total: Arc::default(),
        })
    }

    /// Adds documents, or documents of an existing corpus, which must come first.
    #[napi(catch_unwind)]
    pub fn push(&self, chunk: CorpusColumns, against: bool) -> Result<()> {
        if let Some(Documents::Memory(corpus)) = &mut *lock(&self.corpus) {
            corpus.push(chunk, against, self.reads_dates)?;
            let own = corpus.documents.len() - corpus.against;
            self.total.store(own as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Finds and opens files. Returns a warning, or `null`.
    #[napi(js_name = "openAsync", catch_unwind)]
    pub fn open_async(&self, files: FileOptions) -> AsyncTask<Job<Either<String, Null>>> {
        let corpus = Arc::clone(&self.corpus);
        let total = Arc::clone(&self.total);
        let with_sources = self.per_source;
        Job::start(move || {
            let files = open(files, with_sources)?;
            total.store(files.total_bytes() as u64, Ordering::Relaxed);
            let warning = files.chosen_fields();
            *lock(&corpus) = Some(Documents::Files(Box::new(files)));
            Ok(warning.map_or(Either::B(Null), Either::A))
        })
    }

    /// Returns the progress.
    #[napi(getter, catch_unwind)]
    pub fn progress(&self) -> RunProgress {
        let total = self.total.load(Ordering::Relaxed) as f64;
        let share = self.done.load(Ordering::Relaxed) as f64 / MILLION;
        RunProgress { done: (share * total).floor(), total }
    }

    /// Cancels the run. Its promise is settled when all of its threads have stopped and its temporary files are removed.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.options.cancellation.cancel();
    }

    /// Finds all matching pairs, at most `limit`.
    #[napi(js_name = "pairsAsync", catch_unwind)]
    pub fn pairs_async(
        &self,
        limit: Option<f64>,
        templates: Option<String>,
    ) -> Result<AsyncTask<Job<PairList>>> {
        let expected = "`include`, `exclude` or `only`";
        let templates = choice("templates", templates, ListedTemplates::from_name, expected)?;
        Ok(self.start(move |run, ids| {
            let found = run.pairs(templates, limit.map(|limit| limit as usize))?;
            Ok(PairList::from_run(&found, ids))
        }))
    }

    /// Clusters all documents with the linkage of the settings.
    #[napi(js_name = "clusterAsync", catch_unwind)]
    pub fn cluster_async(&self, min_size: f64) -> AsyncTask<Job<ClusterList>> {
        self.start(move |run, ids| {
            let found = run.clusters(min_size as usize)?;
            let estimate = RunEstimate::new(found.omitted, found.recall);
            let mut list = ClusterList::with_effort(found.effort, estimate);
            for (members, spread) in found.clusters.iter() {
                list.push(members.iter().map(|&doc| found.ids.id(doc, ids)), spread);
            }
            Ok(list)
        })
    }

    /// Selects the documents to keep.
    #[napi(js_name = "dedupAsync", catch_unwind)]
    pub fn dedup_async(&self, output: Option<DedupOutput>, max_removed: f64) -> AsyncTask<Job<KeptRows>> {
        let output =
            output.map(|output| OutputFile { path: PathBuf::from(output.path), overwrite: output.overwrite });
        let parameters = DedupParameters { per_source: self.per_source, output, max_removed };
        self.start(move |run, ids| {
            let kept = run.dedup(&parameters)?;
            match kept.refused {
                Some(fraction) => Err(CodedError::too_many_removed(fraction)),
                None => Ok(KeptRows::new(kept, ids)),
            }
        })
    }
}

/// Number of parts into which progress is divided.
const MILLION: f64 = 1e6;

impl BatchRun {
    /// Takes the corpus and calls `work` with a run over it on a worker thread. The second argument of `work` are the ids of
    /// documents in memory.
    fn start<T: Send + 'static>(
        &self,
        work: impl FnOnce(Run<'_, JsCaller>, Option<&[DocId]>) -> Result<T, CodedError> + Send + 'static,
    ) -> AsyncTask<Job<T>>
    where
        Job<T>: napi::Task,
    {
        let corpus = Arc::clone(&self.corpus);
        let options = self.options.clone();
        let on_bad = self.on_bad;
        let caller = JsCaller { done: Arc::clone(&self.done), options: options.clone() };
        Job::start(move || {
            let corpus = lock(&corpus).take();
            match corpus {
                None => Err(CodedError::internal("a run was started twice")),
                Some(Documents::Memory(corpus)) => {
                    DocId::check_unique(&corpus.ids)?;
                    let source = Source::Documents(&corpus);
                    let ids = (!corpus.ids.is_empty()).then_some(&*corpus.ids);
                    work(Run::new(source, &options, OnBad::Fail, caller, corpus.documents.len()), ids)
                }
                Some(Documents::Files(files)) => {
                    let files = *files;
                    let total = files.total_bytes();
                    let temp_dir = options.temp_dir.as_deref();
                    let (inputs, _pipes) = spool_pipes(files.inputs, temp_dir)?;
                    let (against, _more_pipes) = spool_pipes(files.against, temp_dir)?;
                    let files = Files { inputs: &inputs, against: &against, read: &files.read };
                    work(Run::new(Source::Files(files), &options, on_bad, caller, total), None)
                }
            }
        })
    }
}

fn choice<T: Default>(
    name: &str,
    value: Option<String>,
    parse: impl FnOnce(&str) -> Option<T>,
    expected: &str,
) -> Result<T, CodedError> {
    match value {
        None => Ok(T::default()),
        Some(value) => parse(&value)
            .ok_or_else(|| CodedError::option(&format!("`{name}` is `{value}`: must be {expected}"))),
    }
}

/// Finds and opens files.
fn open(files: FileOptions, with_sources: bool) -> Result<FileCorpus, CodedError> {
    let formats = "`jsonl`, `csv`, `tsv`, `parquet` or `text`";
    let paths = |paths: Vec<String>| paths.into_iter().map(PathBuf::from).collect::<Vec<_>>();
    let format = |name: &str| FileFormat::from_name(name).map(Some);
    let delimiter = |text: &str| parse_delimiter(text).map(Some);
    let corpus = FileCorpus::new(FileParameters {
        paths: &paths(files.paths),
        against: &paths(files.against),
        fields: FileFields {
            text: files.text_field,
            id: files.id_field,
            date: files.date_field,
            source: files.source_field,
        },
        names: NAMES,
        with_sources,
        format: choice("format", files.format, format, formats)?,
        delimiter: choice(
            "delimiter",
            files.delimiter,
            delimiter,
            "one ASCII character, such as `;`, or `tab`",
        )?,
    })?;
    corpus.check()?;
    Ok(corpus)
}

/// Stores the progress where JavaScript reads it.
struct JsCaller {
    done: Arc<AtomicU64>,
    options: Options,
}

impl Caller for JsCaller {
    fn progress(&mut self, share: f64) -> ControlFlow<()> {
        self.done.fetch_max((share * MILLION) as u64, Ordering::Relaxed);
        match self.options.cancellation.is_canceled() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn remedy(&self, problem: Remedy) -> &'static str {
        remedy(problem)
    }
}

/// A document without its id.
struct MemoryDocument {
    content: Content,
    published_at: Option<String>,
    source: Option<String>,
}

/// Documents in memory, those of an existing corpus first.
#[derive(Default)]
struct OwnedDocuments {
    documents: Vec<MemoryDocument>,
    against: usize,
    /// Ids of the documents after those of the existing corpus; empty if their positions identify them.
    ids: Vec<DocId>,
}

impl OwnedDocuments {
    /// Adds documents. Dates are checked if the result depends on them.
    fn push(&mut self, chunk: CorpusColumns, against: bool, reads_dates: bool) -> Result<(), CodedError> {
        let first = self.documents.len() - self.against;
        let columns = chunk.texts.into_iter().zip(chunk.dates).zip(chunk.sources);
        for (position, ((text, published_at), source)) in columns.enumerate() {
            if let Some(date) = published_at.as_ref().filter(|_| reads_dates) {
                let path = format!("data[{}].publishedAt", first + position);
                Timestamp::parse(date).map_err(|error| CodedError::from_date(error, &path))?;
            }
            self.documents.push(MemoryDocument { content: content(text), published_at, source });
        }
        if against {
            self.against = self.documents.len();
        } else {
            self.ids.extend(chunk.ids.into_iter().map(id::from_js));
        }
        Ok(())
    }
}

impl DocumentSource for OwnedDocuments {
    fn len(&self) -> usize {
        self.documents.len()
    }

    fn against(&self) -> usize {
        self.against
    }

    fn text(&self, position: usize) -> DocumentText<'_> {
        DocumentText::Borrowed((&self.documents[position].content).into())
    }

    fn source(&self, position: usize) -> Option<Cow<'_, str>> {
        self.documents[position].source.as_deref().map(Cow::Borrowed)
    }

    fn published_at(&self, position: usize) -> Option<Cow<'_, str>> {
        self.documents[position].published_at.as_deref().map(Cow::Borrowed)
    }
}

/// Counts of `dedup`.
#[napi(object)]
#[derive(Clone)]
pub struct KeptCounts {
    /// Number of documents that are too short for the settings.
    pub too_short: f64,
    /// Number of records that could not be used.
    pub rejected: f64,
    /// Number of records that repeat an earlier record with the same id and text.
    pub repeated: f64,
    /// Number of candidates compared.
    pub candidates: f64,
    /// Number of verified matches.
    pub verified: f64,
    /// Number of verified matches that were kept apart as templates.
    pub templates: f64,
    /// Number of limits reached.
    pub capped: f64,
    /// Number of candidates that were not compared because of limits.
    pub omitted: f64,
    /// Estimated share of the matching pairs that were found.
    pub expected_recall: Either<f64, Null>,
    /// Its 99 % interval.
    pub expected_recall_interval: Either<Vec<f64>, Null>,
}

/// Result of `dedup`.
#[napi(js_name = "KeptRows")]
pub struct KeptRows {
    centers: Vec<f64>,
    counts: KeptCounts,
    clusters: Option<ClusterList>,
    /// Id of each row, absent for a row that is not a document; `None` if rows identify documents.
    ids: Option<IntoIter<Option<DocId>>>,
}

impl KeptRows {
    fn new(kept: Kept, given: Option<&[DocId]>) -> KeptRows {
        let estimate = RunEstimate::new(kept.cluster_counts.left, kept.recall);
        let ids = row_ids(&kept, given);
        let id = |row: i64| {
            let id = ids.as_ref().and_then(|ids| ids.get(row as usize)?.clone());
            id.unwrap_or(DocId::Number(row as u64))
        };
        let mut clusters = ClusterList::default();
        for (members, spread) in kept.clusters.iter() {
            clusters.push(members.iter().map(|&row| id(row)), spread);
        }
        let counts = KeptCounts {
            too_short: kept.counts.too_short as f64,
            rejected: kept.counts.rejected as f64,
            repeated: kept.counts.repeated as f64,
            candidates: kept.cluster_counts.candidates as f64,
            verified: kept.cluster_counts.verified as f64,
            templates: kept.cluster_counts.templates as f64,
            capped: kept.cluster_counts.caps_hit as f64,
            omitted: estimate.omitted,
            expected_recall: estimate.expected_recall,
            expected_recall_interval: estimate.expected_recall_interval,
        };
        let centers = kept.centers.iter().map(|&center| center as f64).collect();
        KeptRows { centers, counts, clusters: Some(clusters), ids: ids.map(Vec::into_iter) }
    }
}

fn row_ids(kept: &Kept, given: Option<&[DocId]>) -> Option<Vec<Option<DocId>>> {
    if let Some(given) = given {
        return Some(given.iter().cloned().map(Some).collect());
    }
    let mut ids = vec![None; kept.centers.len()];
    for (row, id) in kept.ids.rows()? {
        ids[row] = DocId::from_json(id);
    }
    Some(ids)
}

#[napi]
impl KeptRows {
    /// Returns the kept row of each row's cluster.
    #[napi(getter, catch_unwind)]
    pub fn centers(&self) -> Float64Array {
        self.centers.clone().into()
    }

    /// Returns the counts.
    #[napi(getter, catch_unwind)]
    pub fn counts(&self) -> KeptCounts {
        self.counts.clone()
    }

    /// Removes and returns the clusters.
    #[napi(js_name = "takeClusters", catch_unwind)]
    pub fn take_clusters(&mut self) -> Option<ClusterList> {
        self.clusters.take()
    }

    /// Returns `true` if documents have ids.
    #[napi(getter, catch_unwind)]
    pub fn has_ids(&self) -> bool {
        self.ids.is_some()
    }

    /// Removes and returns the ids of up to `count` rows.
    #[napi(catch_unwind)]
    pub fn take(&mut self, count: u32) -> Vec<Either<Id, Null>> {
        let ids = self.ids.iter_mut().flatten().take(count as usize);
        ids.map(|id| id.as_ref().map_or(Either::B(Null), |id| Either::A(id::to_js(id)))).collect()
    }
}
