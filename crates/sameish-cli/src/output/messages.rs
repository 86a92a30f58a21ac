//! Words to standard error.

use crate::input::reject::{Broken, Reject};
use std::fmt;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Rejected records that are named on standard error; the others are counted.
const NAMED: u64 = 10;
/// Between two updates of the line that shows progress.
const PAUSE: Duration = Duration::from_millis(200);

/// Prints a line. Nobody is told if that fails: there is nowhere left to say it.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// What a run has to say while it works.
pub(crate) struct Messages {
    quiet: bool,
    rejects: u64,
    /// Present where progress is shown.
    updated: Option<Instant>,
    begun: Instant,
}

impl Messages {
    /// Progress is shown where a person sees standard error and data does not go to the same screen.
    pub(crate) fn new(quiet: bool, data_on_stdout: bool) -> Messages {
        let screen_is_free = !data_on_stdout || !std::io::stdout().is_terminal();
        let progress = !quiet && screen_is_free && std::io::stderr().is_terminal();
        Messages { quiet, rejects: 0, updated: progress.then(Instant::now), begun: Instant::now() }
    }

    /// An input that failed is named even when quiet.
    pub(crate) fn broken(&mut self, broken: &Broken) {
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

    /// Seconds since the run began.
    pub(crate) fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    pub(crate) fn progress(&mut self, documents: u64, bytes: u64) {
        let Some(updated) = &mut self.updated else { return };
        if updated.elapsed() < PAUSE {
            return;
        }
        *updated = Instant::now();
        let megabytes = bytes as f64 / 1e6;
        let rate = megabytes / self.begun.elapsed().as_secs_f64();
        let documents = grouped(documents);
        let mut stderr = std::io::stderr();
        let _ = write!(stderr, "\r\x1b[K{documents} documents, {megabytes:.0} MB, {rate:.0} MB/s");
        let _ = stderr.flush();
    }

    /// How many rows were looked at.
    pub(crate) fn rows(&mut self, rows: u64) {
        let Some(updated) = &mut self.updated else { return };
        if updated.elapsed() < PAUSE {
            return;
        }
        *updated = Instant::now();
        let mut stderr = std::io::stderr();
        let _ = write!(stderr, "\r\x1b[K{} rows", grouped(rows));
        let _ = stderr.flush();
    }

    /// How far a stage is whose length is known.
    pub(crate) fn share(&mut self, what: &str, done: usize, of: usize) {
        let Some(updated) = &mut self.updated else { return };
        if updated.elapsed() < PAUSE {
            return;
        }
        *updated = Instant::now();
        let mut stderr = std::io::stderr();
        let _ = write!(stderr, "\r\x1b[K{what}, {} %", 100 * done / of.max(1));
        let _ = stderr.flush();
    }

    /// Takes the progress line away.
    pub(crate) fn clear(&self) {
        if self.updated.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
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
