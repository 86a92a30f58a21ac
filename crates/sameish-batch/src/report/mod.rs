//! Reports of runs, for every interface: figures, charts, the HTML page of `dedup`.

pub mod figures;
pub mod html;
pub mod plot;
mod run;

pub use run::{
    LARGEST_CLUSTERS, LENGTH_LIMITS, RunCounts, SHOWN_PAIRS, beginning, length_class, now, pair, twentieths,
};
