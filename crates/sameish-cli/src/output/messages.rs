//! Messages on standard error.

use super::progress::{self, Progress};
use sameish_batch::input::{InputError, InputResult, Reject, total_size};
use std::fmt;
use std::io::{IsTerminal, Write};

pub(crate) use sameish_batch::report::figures::{counted, counted_as, grouped, limits_reached};

/// Maximum number of rejected records that are listed on standard error.
const LISTED: u64 = 10;

/// Prints a line above the progress bar. A failure is ignored, because it cannot be reported.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    let _ = progress::suspend(|| writeln!(std::io::stderr(), "{line}"));
}

/// The messages and the progress of a run.
pub(crate) struct Messages {
    quiet: bool,
    rejects: u64,
    /// Absent if progress is not shown.
    progress: Option<Progress>,
}

impl Messages {
    /// Progress is shown if standard error is a terminal and the data does not go to the same terminal.
    pub(crate) fn new(quiet: bool, data_on_stdout: bool) -> Messages {
        let shares_terminal = data_on_stdout && std::io::stdout().is_terminal();
        let shown = !quiet && !shares_terminal && std::io::stderr().is_terminal();
        Messages { quiet, rejects: 0, progress: shown.then(Progress::new) }
    }

    /// Sets the inputs that will be read, whose size is the total of the progress bar.
    pub(crate) fn expect<'a>(&mut self, sources: impl IntoIterator<Item = &'a InputResult>) {
        if let Some(progress) = &mut self.progress {
            progress.input_bytes = total_size(sources);
        }
    }

    /// Reports an input that could not be read, even with `--quiet`.
    pub(crate) fn broken(&mut self, broken: &InputError) {
        say(format_args!("error: {broken}"));
    }

    /// Reports a rejected record. Only the first ones are listed.
    pub(crate) fn reject(&mut self, reject: &Reject) {
        self.rejects += 1;
        match self.rejects {
            _ if self.quiet => {}
            1..=LISTED => say(format_args!("rejected: {reject}")),
            rejects if rejects == LISTED + 1 => {
                say(format_args!("more records were rejected; `--rejects FILE` lists all of them"));
            }
            _ => {}
        }
    }

    /// Prints a note, unless quiet.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            say(format_args!("note: {text}"));
        }
    }

    /// Reports the documents and bytes read so far.
    pub(crate) fn progress(&mut self, documents: u64, bytes: u64) {
        self.show(|progress| progress.reading("reading", documents, Some(bytes)));
    }

    /// Reports the progress of a stage that reads all inputs again.
    pub(crate) fn copying(&mut self, stage: &'static str) {
        self.show(|progress| progress.reading(stage, 0, None));
    }

    /// Reports the rows of a table read so far.
    pub(crate) fn rows(&mut self, rows: u64) {
        self.show(|progress| progress.items("reading", "rows", rows, None));
    }

    /// Reports the progress of a stage that processes documents.
    pub(crate) fn share(&mut self, stage: &'static str, done: usize, of: usize) {
        self.show(|progress| progress.items(stage, "documents", done as u64, Some(of as u64)));
    }

    fn show(&mut self, report: impl FnOnce(&mut Progress)) {
        if let Some(progress) = &mut self.progress {
            report(progress);
        }
    }

    /// Removes the progress bar until the next stage.
    pub(crate) fn clear(&self) {
        if let Some(progress) = &self.progress {
            progress.clear();
        }
    }
}

/// Removes the progress bar before the process exits.
pub(crate) fn wipe() {
    progress::stop();
}
