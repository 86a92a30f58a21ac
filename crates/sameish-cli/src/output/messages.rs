//! Words to standard error.

use super::progress::{Done, Progress};
use sameish_batch::input::{InputError, InputResult, Reject, total_size};
use std::fmt;
use std::io::{IsTerminal, Write};

/// Rejected records that are named on standard error; the others are counted.
const NAMED: u64 = 10;

/// Prints a line. Nobody is told if that fails: there is nowhere left to say it.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// What a run has to say while it works.
pub(crate) struct Messages {
    quiet: bool,
    rejects: u64,
    /// Present where progress is shown.
    shown: Option<Progress>,
}

impl Messages {
    /// Progress is shown where a person sees standard error and data does not go to the same screen.
    pub(crate) fn new(quiet: bool, data_on_stdout: bool) -> Messages {
        let screen_is_free = !data_on_stdout || !std::io::stdout().is_terminal();
        let progress = !quiet && screen_is_free && std::io::stderr().is_terminal();
        Messages { quiet, rejects: 0, shown: progress.then(Progress::new) }
    }

    /// Which inputs will be read, so that the share that is done is known.
    pub(crate) fn expect<'a>(&mut self, sources: impl IntoIterator<Item = &'a InputResult>) {
        if let Some(shown) = &mut self.shown {
            shown.total = total_size(sources);
        }
    }

    /// An input that failed is named even when quiet.
    pub(crate) fn broken(&mut self, broken: &InputError) {
        self.clear();
        say(format_args!("error: {broken}"));
    }

    pub(crate) fn reject(&mut self, reject: &Reject) {
        self.rejects += 1;
        if self.quiet || self.rejects > NAMED + 1 {
            return;
        }
        self.clear();
        match self.rejects {
            1..=NAMED => say(format_args!("rejected: {reject}")),
            _ => say(format_args!("more records were rejected; `--rejects FILE` lists them all")),
        }
    }

    /// Something worth knowing that is no fault.
    pub(crate) fn note(&mut self, words: &str) {
        if !self.quiet {
            self.clear();
            say(format_args!("note: {words}"));
        }
    }

    /// How far reading is.
    pub(crate) fn progress(&mut self, documents: u64, bytes: u64) {
        self.show("reading", &Done::Reading { documents, bytes });
    }

    /// How far a stage is that reads all inputs once more.
    pub(crate) fn copying(&mut self, what: &'static str) {
        self.show(what, &Done::Copying);
    }

    /// How many rows of a table were looked at.
    pub(crate) fn rows(&mut self, rows: u64) {
        self.show("reading", &Done::Rows { rows });
    }

    /// How far a stage is that takes documents one by one.
    pub(crate) fn share(&mut self, what: &'static str, done: usize, of: usize) {
        self.show(what, &Done::Documents { done: done as u64, of: of as u64 });
    }

    fn show(&mut self, what: &'static str, done: &Done) {
        if let Some(shown) = &mut self.shown {
            shown.show(what, done);
        }
    }

    /// Takes the progress line away.
    pub(crate) fn clear(&self) {
        if self.shown.is_some() {
            wipe();
        }
    }
}

/// Empties the line that the cursor is in, where a person sees it.
pub(crate) fn wipe() {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let _ = write!(stderr, "\r\x1b[K");
    }
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number with its noun: `1 document`, `2,000 documents`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
