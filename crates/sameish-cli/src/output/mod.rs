//! Printing: data goes to standard output or to a file that is written atomically, messages go to standard error.

pub(crate) mod agreement;
pub(crate) mod audit;
pub(crate) mod escape;
pub(crate) mod figures;
pub(crate) mod html;
pub(crate) mod ids;
pub(crate) mod messages;
pub(crate) mod plot;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod table;

pub(crate) use sameish_batch::output::{file, jsonl};
