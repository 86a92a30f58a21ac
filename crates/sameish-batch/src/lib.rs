//! Near-duplicate detection over corpora larger than memory.
//!
//! ```text
//! input     readers: JSONL, CSV, TSV, Parquet and plain text, each plain, gzip or Zstandard
//!   |
//! sign      reads every document once: band keys, fingerprints, keys of equal texts
//!   |
//! pair      sorts band keys into buckets; documents that share a bucket are candidates
//!   |
//! verify    reads candidates again and compares their features and facts
//!   |
//! cluster   star clusters, connected components, or online clusters
//!   |
//! write     copies the kept records byte for byte
//! ```
//!
//! Only [about 300 bytes](BYTES_PER_DOCUMENT) per document, about 450 with fingerprints, are kept in memory, whatever its length, and up
//! to 2 kB more for each document of a large group of similar ones: texts are read a second time from their files. The result is the
//! same for any number of threads and any memory limit.
//!
//! The steps take their parameters as plain values: [`Options`] for threads, memory limit and temporary directory, a
//! [`StepDirectory`] for resumable runs, and a [`Monitor`] for progress and cancellation. The crate prints nothing.
//!
//! # A corpus in files or in memory
//!
//! ```
//! use sameish::{Analyzer, Document, Preset};
//! use sameish_batch::{OnBad, Options, RunLog, Selection, Source, Task, index, sign};
//!
//! let text = "The council voted on Monday evening to close the old stone bridge for repairs until the end of spring";
//! let documents = [Document::new("a", text), Document::new("b", format!("{text} now")), Document::new("c", "Rain")];
//! let options = Options::new(Analyzer::new(Preset::Copies.config())?);
//! let mut log = RunLog::new((), OnBad::Reject, None);
//! let source = Source::Documents(&documents);
//!
//! let signed = sign(Task::Dedup, &source, &options, None, &mut log)?;
//! let corpus = index(signed, &source, &options)?;
//! let clusters = corpus.stars(&mut log)?;
//! let selection = Selection::new(&corpus, &clusters, false);
//! assert_eq!(selection.kept, [0, 2]);
//! # Ok::<(), sameish_batch::Error>(())
//! ```
//!
//! [`Source::Files`] reads the same from files, and [`RecordWriter`] writes the kept records. [`IndexedCorpus::pairs`] and
//! [`IndexedCorpus::clusters`] return pairs and clusters.
//!
//! # Functions of the packages
//!
//! The module [`functions`] has what the Python and Node packages share: `dedup`, `pairs` and `cluster` in one call each.
//!
//! # Steps over columns
//!
//! The module [`columns`] has the same steps as pure functions over slices, for engines that move the data themselves.

#![forbid(unsafe_code)]

mod band_keys;
mod cancellation;
mod candidates;
mod checkpoint;
mod clusters;
pub mod columns;
mod compare;
mod connected;
mod crowds;
mod dedup;
mod error;
pub mod escape;
pub mod functions;
pub mod input;
mod memory;
mod on_dup_id;
mod online;
pub mod ordered_pool;
pub mod output;
mod pairs;
mod ranked;
mod recall;
#[doc(hidden)]
pub mod report;
mod resume;
mod run_log;
mod sign;
mod signed;
mod spool;
mod spread;
mod stars;
mod steps;
mod table;
mod texts;
mod write;

pub use cancellation::Cancellation;
pub use clusters::Clusters;
pub use dedup::{Selection, check_dedup};
pub use error::{Error, ErrorKind, Result};
pub use memory::BYTES_PER_DOCUMENT;
pub use on_dup_id::{OnDupId, duplicate_id};
pub use pairs::{ListedTemplates, Pair, PairCounts};
pub use recall::Recall;
pub use resume::StepDirectory;
pub use run_log::{Completion, Counts, Monitor, OnBad, Progress, Resumed, RunLog};
pub use signed::{IndexedCorpus, SignedCorpus};
pub use spread::Spreads;
pub use stars::{ClusterCounts, NO_CENTER, StarClusters};
pub use steps::{Files, Options, Source, Task, index, open_texts, run_key, sign};
pub use table::{Ids, InputStart, Keep, Names, Rank, Row, State};
pub use texts::{DocumentSource, DocumentText};
pub use write::{RecordWriter, Target};
