//! Printing: data goes to standard output or to a file that is written atomically, messages go to standard error.

pub(crate) mod agreement;
pub(crate) mod audit;
pub(crate) mod command;
pub(crate) mod escape;
pub(crate) mod ids;
pub(crate) mod messages;
pub(crate) mod progress;
pub(crate) mod recall;
pub(crate) mod report;
pub(crate) mod table;
pub(crate) mod verdict;

pub(crate) use sameish_batch::output::{file, jsonl};
pub(crate) use sameish_batch::report::{figures, html, plot};

use crate::exit::Failure;
use serde::Serialize;

/// Prints a result to standard output, as a line of JSON or as text.
pub(crate) fn print(
    json: bool,
    result: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    if json {
        jsonl::push_line(&mut bytes, result);
    } else {
        bytes = text().into_bytes();
    }
    file::Output::Stdout.write(&bytes)?;
    Ok(())
}
