//! Decompression of gzip and Zstandard, with a limit on the expanded size.
//!
//! The first bytes identify the compression, whatever the file name. One layer is decompressed.

use super::byte_counter::{ByteCounter, Counted};
use super::reject::{Problem, Remedy};
use std::fmt;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Expanded bytes up to which any ratio is accepted.
const RATIO_FREE: u64 = 64 << 20;
/// Maximum ratio of expanded to compressed bytes beyond that.
const MAX_RATIO: u64 = 200;
/// Binary logarithm of the maximum Zstandard window: 128 MiB.
const MAX_WINDOW_LOG: u32 = 27;
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Compression of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// Detects the compression from the first bytes, or from the suffix if there are too few of them.
    pub(crate) fn of(head: &[u8], path: Option<&Path>) -> Option<Compression> {
        let skippable = head.len() >= 4 && head[0] & 0xf0 == 0x50 && head[1..4] == [0x2a, 0x4d, 0x18];
        if head.starts_with(GZIP) {
            Some(Compression::Gzip)
        } else if head.starts_with(ZSTD) || skippable {
            Some(Compression::Zstd)
        } else if head.is_empty() {
            None
        } else {
            let suffix = path.and_then(Path::extension)?.to_ascii_lowercase();
            match suffix.to_str()? {
                "gz" if GZIP.starts_with(head) => Some(Compression::Gzip),
                "zst" | "zstd" if ZSTD.starts_with(head) => Some(Compression::Zstd),
                _ => None,
            }
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "Zstandard",
        }
    }

    /// Decompresses `packed` up to the limit.
    pub(crate) fn open(
        self,
        packed: impl Read + Send + 'static,
        limit: Option<u64>,
    ) -> io::Result<Box<dyn Read + Send>> {
        let count = ByteCounter::default();
        let packed = BufReader::with_capacity(128 << 10, Counted { inner: packed, counter: count.clone() });
        let expanded: Box<dyn Read + Send> = match self {
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
                decoder.window_log_max(MAX_WINDOW_LOG)?;
                Box::new(decoder)
            }
        };
        let expansion = Expansion::new(limit);
        Ok(Box::new(Limited { inner: expanded, packed: count, expansion }))
    }
}

/// A reader that fails when the expanded size exceeds the limit.
struct Limited {
    inner: Box<dyn Read + Send>,
    packed: ByteCounter,
    expansion: Expansion,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer).map_err(plain_error)?;
        self.expansion.add(read as u64, self.packed.get()).map_err(io::Error::other)?;
        Ok(read)
    }
}

/// Rewords errors of the decompression libraries.
fn plain_error(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return io::Error::new(error.kind(), "the compressed data is truncated");
    }
    // The Zstandard binding reports error codes as text only.
    if error.to_string().contains("requires too much memory") {
        return io::Error::other(LimitExceeded::Window);
    }
    error
}

/// Expanded size of one input, with its limit: that of the caller, or else the maximum ratio.
#[derive(Debug)]
pub(crate) struct Expansion {
    limit: Option<u64>,
    expanded: AtomicU64,
}

impl Expansion {
    pub(crate) fn new(limit: Option<u64>) -> Expansion {
        Expansion { limit, expanded: AtomicU64::new(0) }
    }

    /// Adds `bytes` of expanded data; `packed` is the number of compressed bytes they came from.
    pub(crate) fn add(&self, bytes: u64, packed: u64) -> Result<(), LimitExceeded> {
        let expanded = self.expanded.fetch_add(bytes, Relaxed) + bytes;
        match self.limit {
            Some(limit) if expanded > limit => Err(LimitExceeded::Size { limit }),
            None if expanded > RATIO_FREE && expanded / MAX_RATIO > packed => {
                Err(LimitExceeded::Ratio { packed, expanded })
            }
            _ => Ok(()),
        }
    }
}

/// A limit that an input exceeds.
#[derive(Debug)]
pub(crate) enum LimitExceeded {
    /// Expanded size.
    Size { limit: u64 },
    /// Ratio of expanded to compressed size.
    Ratio { packed: u64, expanded: u64 },
    /// Zstandard window.
    Window,
    /// Size of a Parquet page.
    Page { limit: usize },
    /// Number of elements in Parquet lists.
    List { limit: u64 },
    /// Size of a Parquet footer.
    Footer { limit: u64 },
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitExceeded::Size { limit } => {
                write!(f, "expands to more than {limit} bytes")
            }
            LimitExceeded::Ratio { packed, expanded } => write!(
                f,
                "{packed} bytes expand to more than {expanded} bytes, above the ratio of {MAX_RATIO} to 1"
            ),
            LimitExceeded::Page { limit } => {
                write!(f, "a page has more than {limit} bytes; write the file again with smaller pages")
            }
            LimitExceeded::List { limit } => {
                write!(
                    f,
                    "a few rows have more than {limit} list elements; check that the file contains texts"
                )
            }
            LimitExceeded::Footer { limit } => {
                write!(
                    f,
                    "the footer has more than {limit} bytes; write the file again with fewer row groups"
                )
            }
            LimitExceeded::Window => {
                write!(
                    f,
                    "the Zstandard window is larger than 128 MiB; compress the file again without `--long`"
                )
            }
        }
    }
}

impl std::error::Error for LimitExceeded {}

impl From<&LimitExceeded> for Problem {
    fn from(limit: &LimitExceeded) -> Problem {
        let remedy = match limit {
            LimitExceeded::Size { .. } | LimitExceeded::Ratio { .. } => Some(Remedy::MaxExpanded),
            _ => None,
        };
        Problem { text: limit.to_string(), remedy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_take_precedence_over_the_suffix() {
        let gz = Some(Path::new("a.gz"));
        assert_eq!(Compression::of(&[0x1f, 0x8b, 8], None), Some(Compression::Gzip));
        assert_eq!(Compression::of(&[0x28, 0xb5, 0x2f, 0xfd], gz), Some(Compression::Zstd));
        assert_eq!(Compression::of(b"{\"id\":1}", gz), None);
        assert_eq!(Compression::of(b"", gz), None);
        assert_eq!(Compression::of(&[0x1f], gz), Some(Compression::Gzip));
        assert_eq!(Compression::of(&[0x5a, 0x2a, 0x4d, 0x18, 0], None), Some(Compression::Zstd));
    }
}
