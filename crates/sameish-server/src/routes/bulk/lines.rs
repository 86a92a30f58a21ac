//! Splits a stream of bytes, compressed or not, into numbered lines and batches.

use crate::body::{self, Encoding};
use crate::problem::{Kind, Problem};
use crate::settings::Limits;
use flate2::write::MultiGzDecoder;
use std::io::Write;

/// Maximum number of lines that are stored together.
pub(super) const BATCH_LINES: usize = 256;
/// Maximum number of bytes of lines that are stored together.
const BATCH_BYTES: usize = 4 << 20;
/// Maximum number of bytes passed to [`Lines::feed`]: compressed, they become at most a megabyte.
pub(super) const FEED_BYTES: usize = 1 << 10;

pub(super) struct Lines {
    decoder: Option<MultiGzDecoder<Vec<u8>>>,
    /// The line that has not ended yet.
    incomplete: Vec<u8>,
    complete: Vec<Line>,
    complete_bytes: usize,
    /// Number of lines so far, blank ones included.
    count: u64,
    total_bytes: usize,
    max_total: usize,
    max_line: usize,
    max_lines: usize,
    /// Maximum number of lines of a batch.
    batch_lines: usize,
}

pub(super) struct Line {
    /// Number in the request, from 1.
    pub(super) number: u64,
    /// The line without its end. A line beyond the limit has one byte more than the limit.
    pub(super) bytes: Vec<u8>,
}

impl Lines {
    pub(super) fn new(encoding: Encoding, limits: &Limits, batch_lines: usize) -> Lines {
        Lines {
            decoder: (encoding == Encoding::Gzip).then(|| MultiGzDecoder::new(Vec::new())),
            incomplete: Vec::new(),
            complete: Vec::new(),
            complete_bytes: 0,
            count: 0,
            total_bytes: 0,
            max_total: limits.bulk_bytes,
            max_line: limits.line_bytes,
            max_lines: limits.bulk_documents,
            batch_lines,
        }
    }

    /// Returns `true` if no complete line waits to be stored.
    pub(super) fn is_empty(&self) -> bool {
        self.complete.is_empty()
    }

    /// Returns the number of lines so far, blank ones included.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of bytes that wait to be stored.
    pub(super) fn bytes(&self) -> usize {
        self.incomplete.len() + self.complete_bytes
    }

    pub(super) fn has_full_batch(&self) -> bool {
        self.complete.len() >= self.batch_lines || self.complete_bytes >= BATCH_BYTES
    }

    /// Removes and returns the lines of the next batch.
    pub(super) fn take_batch(&mut self) -> Vec<Line> {
        let mut bytes = 0;
        let fits = |line: &&Line| {
            bytes += line.bytes.len();
            bytes <= BATCH_BYTES
        };
        let count = self.complete.iter().take(self.batch_lines).take_while(fits).count().max(1);
        let rest = self.complete.split_off(count.min(self.complete.len()));
        let batch = std::mem::replace(&mut self.complete, rest);
        self.complete_bytes -= batch.iter().map(|line| line.bytes.len()).sum::<usize>();
        batch
    }

    /// Adds bytes of the body.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let Some(decoder) = &mut self.decoder else { return self.split(bytes) };
        decoder.write_all(bytes).map_err(|_| body::bad_gzip())?;
        let decoded = std::mem::take(decoder.get_mut());
        self.split(&decoded)
    }

    /// Ends the body.
    pub(super) fn finish(&mut self) -> Result<(), Problem> {
        if let Some(decoder) = self.decoder.take() {
            let decoded = decoder.finish().map_err(|_| body::bad_gzip())?;
            self.split(&decoded)?;
        }
        if self.incomplete.is_empty() { Ok(()) } else { self.end_line() }
    }

    fn split(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.total_bytes += bytes.len();
        if self.total_bytes > self.max_total {
            return Err(body::too_large(self.max_total));
        }
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            let remaining = (self.max_line + 1).saturating_sub(self.incomplete.len());
            self.incomplete.extend_from_slice(&text[..text.len().min(remaining)]);
            if text.len() < piece.len() {
                self.end_line()?;
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), Problem> {
        let bytes = std::mem::take(&mut self.incomplete);
        if self.count == self.max_lines as u64 {
            let detail = format!(
                "the request has more than {} lines; send the rest in another request",
                self.max_lines
            );
            return Err(Problem::new(Kind::TooLarge, detail));
        }
        self.count += 1;
        if !bytes.trim_ascii().is_empty() {
            self.complete_bytes += bytes.len();
            self.complete.push(Line { number: self.count, bytes });
        }
        Ok(())
    }
}
