//! The functions `dedup`, `pairs` and `cluster` of the language packages: a whole corpus in one call, with results in memory.
//!
//! The Python and Node packages convert arguments and results. What they have in common is here: the names of settings, the files
//! and fields that are read ([`FileCorpus`]), the steps of a call ([`Run`]), and its results.

mod files;
mod results;
mod run;
mod settings;

pub use files::{FileCorpus, FileFields, FileParameters, ParameterNames, parse_delimiter};
pub use results::{DocumentIds, FoundClusters, FoundPairs, KNOWN, Kept, MeasuredClusters, UNUSED};
pub use run::{Caller, DedupParameters, OutputFile, Run};
pub use settings::{FLAT_SETTINGS, SECTIONS, dedup_config, is_fraction};
