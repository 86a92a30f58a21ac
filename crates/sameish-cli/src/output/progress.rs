//! How far is the run?
//!
//! One line on a terminal, within 80 columns: what is done, a bar, how fast, how long still. It is drawn five times a second
//! at most, and taken away before anything else is said.

use super::messages::grouped;
use crate::run_log::bytes_read;
use std::io::Write;
use std::time::{Duration, Instant};

/// Between two updates.
const PAUSE: Duration = Duration::from_millis(200);
/// The last column stays free: some terminals begin a new line after it.
const COLUMNS: usize = 79;
const LONGEST_BAR: usize = 24;
const SHORTEST_BAR: usize = 6;
/// Before that a guess at the time left jumps.
const GUESS_AFTER: Duration = Duration::from_secs(1);

/// The line, and the stage that it shows.
pub(crate) struct Progress {
    updated: Instant,
    what: &'static str,
    begun: Instant,
    /// Bytes that were read when the stage began.
    base: u64,
    /// Bytes that a stage that goes through all inputs will read, where that is known.
    pub(crate) total: Option<u64>,
}

/// How much of a stage is done.
pub(crate) enum Done {
    /// All inputs are read; so many documents and bytes of records so far.
    Reading { documents: u64, bytes: u64 },
    /// All inputs are read once more.
    Copying,
    /// So many rows of a table, nobody knows of how many.
    Rows { rows: u64 },
    /// So many documents of so many.
    Documents { done: u64, of: u64 },
}

impl Progress {
    pub(crate) fn new() -> Progress {
        let now = Instant::now();
        Progress { updated: now, what: "", begun: now, base: 0, total: None }
    }

    /// Shows how far a stage is, unless it was shown a moment ago. A new name begins a new stage.
    pub(crate) fn show(&mut self, what: &'static str, done: &Done) {
        if self.what != what {
            // The first stage began with the run.
            let begun = if self.what.is_empty() { self.begun } else { Instant::now() };
            *self =
                Progress { what, begun, base: if self.what.is_empty() { 0 } else { bytes_read() }, ..*self };
        }
        if self.updated.elapsed() < PAUSE {
            return;
        }
        self.updated = Instant::now();
        let share = match (done, self.total) {
            (Done::Documents { done, of }, _) => Some(*done as f64 / (*of).max(1) as f64),
            (_, Some(total)) => Some((bytes_read() - self.base) as f64 / total as f64),
            (_, None) => None,
        };
        let line = line(what, done, share, bytes_read() - self.base, self.begun.elapsed());
        let mut stderr = std::io::stderr();
        let _ = write!(stderr, "\r\x1b[K{line}");
        let _ = stderr.flush();
    }
}

/// The line for a stage that is done to that share after that time.
fn line(what: &str, done: &Done, share: Option<f64>, read: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(0.001);
    let megabytes = |bytes: u64| format!("{} MB/s", grouped((bytes as f64 / 1e6 / seconds).round() as u64));
    let documents = |count: u64| format!("{} documents/s", grouped((count as f64 / seconds).round() as u64));
    let rate = match done {
        Done::Reading { documents: count, bytes } => format!("{}, {}", megabytes(*bytes), documents(*count)),
        Done::Copying => megabytes(read),
        Done::Rows { rows } => format!("{} rows/s", grouped((*rows as f64 / seconds).round() as u64)),
        Done::Documents { done, .. } => documents(*done),
    };
    let Some(share) = share.map(|share| share.clamp(0.0, 1.0)) else {
        let so_far = match done {
            Done::Reading { documents, bytes } => {
                format!("{} documents, {} MB, ", grouped(*documents), grouped(bytes / 1_000_000))
            }
            Done::Rows { rows } => format!("{} rows, ", grouped(*rows)),
            _ => String::new(),
        };
        return format!("{what} {so_far}{rate}");
    };
    let left = match elapsed >= GUESS_AFTER && share > 0.0 {
        true => format!(", {} left", clock(seconds * (1.0 - share) / share)),
        false => String::new(),
    };
    let front = format!("{what} {:3.0} %", (share * 100.0).floor());
    let bar = bar(share, COLUMNS.saturating_sub(front.len() + rate.len() + left.len() + 4));
    format!("{front}{bar} {rate}{left}")
}

/// A bar of at most so many columns between its ends, or none where it would say little.
fn bar(share: f64, room: usize) -> String {
    let width = room.min(LONGEST_BAR);
    if width < SHORTEST_BAR {
        return String::new();
    }
    let full = (share * width as f64) as usize;
    format!(" [{}{}]", "=".repeat(full), " ".repeat(width - full))
}

/// `0:07`, `12:34`, `1:02:03`.
fn clock(seconds: f64) -> String {
    let seconds = seconds.min(359_999.0).round() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_bar_a_rate_and_the_time_left() {
        let done = Done::Reading { documents: 30_000, bytes: 100_000_000 };
        assert_eq!(
            line("reading", &done, Some(0.25), 0, Duration::from_secs(10)),
            "reading  25 % [======                  ] 10 MB/s, 3,000 documents/s, 0:30 left"
        );
        let done = Done::Documents { done: 50, of: 100 };
        assert_eq!(
            line("comparing", &done, Some(0.5), 0, Duration::from_millis(500)),
            "comparing  50 % [============            ] 100 documents/s"
        );
        assert_eq!(
            line("writing", &Done::Copying, Some(1.0), 50_000_000, Duration::from_secs(1)),
            "writing 100 % [========================] 50 MB/s, 0:00 left"
        );
        let done = Done::Reading { documents: 3000, bytes: 9_000_000 };
        assert_eq!(
            line("reading", &done, None, 0, Duration::from_secs(1)),
            "reading 3,000 documents, 9 MB, 9 MB/s, 3,000 documents/s"
        );
    }

    #[test]
    fn no_line_is_longer_than_a_terminal_is_wide() {
        for (documents, bytes) in [(0, 0), (1 << 40, 1 << 60), (12_345_678_901, 9_876_543_210)] {
            for share in [0.0, 1e-9, 0.3, 1.0, 7.0] {
                for seconds in [0, 1, 100_000, 1 << 40] {
                    let done = Done::Reading { documents, bytes };
                    let line = line("comparing", &done, Some(share), bytes, Duration::from_secs(seconds));
                    // Only figures beyond any machine make one longer.
                    assert!(line.len() <= COLUMNS || documents > 1 << 39, "{} {line}", line.len());
                }
            }
        }
        assert_eq!([7.0, 754.4, 3723.0].map(clock), ["0:07", "12:34", "1:02:03"]);
    }
}
