//! Which bytes are behind the bytes?
//!
//! gzip and Zstandard are recognized by their first bytes, whatever the name says. One layer is opened. What comes
//! out is watched: a file that unpacks to far more than it holds is stopped.

use std::fmt;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Expanded bytes up to which any ratio is taken.
const RATIO_FREE: u64 = 64 << 20;
/// Most expanded bytes for one packed byte beyond that.
const MAX_RATIO: u64 = 200;
/// Largest Zstandard window as a power of two: 128 MiB.
const MAX_WINDOW_LOG: u32 = 27;
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A way of packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// By the first bytes; where these are too few to tell, by the suffix.
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

    /// Unpacks `packed`, watched by the limit.
    pub(crate) fn open(
        self,
        packed: impl Read + Send + 'static,
        limit: Option<u64>,
    ) -> io::Result<Box<dyn Read + Send>> {
        let count = Arc::new(AtomicU64::new(0));
        let packed = BufReader::with_capacity(128 << 10, Counted { inner: packed, count: count.clone() });
        let expanded: Box<dyn Read + Send> = match self {
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
                decoder.window_log_max(MAX_WINDOW_LOG)?;
                Box::new(decoder)
            }
        };
        Ok(Box::new(Watched { inner: expanded, packed: count, expanded: 0, limit }))
    }
}

/// Counts what is read through it.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

/// Stops when more comes out than may.
struct Watched {
    inner: Box<dyn Read + Send>,
    packed: Arc<AtomicU64>,
    expanded: u64,
    /// `--max-expanded`; without it the ratio counts.
    limit: Option<u64>,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer).map_err(plain_error)?;
        self.expanded += read as u64;
        let packed = self.packed.load(Relaxed);
        match self.limit {
            Some(limit) if self.expanded > limit => Err(io::Error::other(TooMuch::Size { limit })),
            None if self.expanded > RATIO_FREE && self.expanded / MAX_RATIO > packed => {
                Err(io::Error::other(TooMuch::Ratio { packed, expanded: self.expanded }))
            }
            _ => Ok(read),
        }
    }
}

/// The libraries' errors in our words.
fn plain_error(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return io::Error::new(error.kind(), "ends in the middle of the compressed data");
    }
    // The binding to Zstandard hands on codes as texts only.
    if error.to_string().contains("requires too much memory") {
        return io::Error::other(TooMuch::Window);
    }
    error
}

/// What came out of a file that unpacks its parts itself, watched by the same limit.
#[derive(Debug)]
pub(crate) struct Expansion {
    limit: Option<u64>,
    expanded: AtomicU64,
}

impl Expansion {
    pub(crate) fn new(limit: Option<u64>) -> Expansion {
        Expansion { limit, expanded: AtomicU64::new(0) }
    }

    /// Counts `bytes` that came out of a file of `packed` bytes.
    pub(crate) fn add(&self, bytes: u64, packed: u64) -> Result<(), TooMuch> {
        let expanded = self.expanded.fetch_add(bytes, Relaxed) + bytes;
        match self.limit {
            Some(limit) if expanded > limit => Err(TooMuch::Size { limit }),
            None if expanded > RATIO_FREE && expanded / MAX_RATIO > packed => {
                Err(TooMuch::Ratio { packed, expanded })
            }
            _ => Ok(()),
        }
    }
}

/// A limit that an input broke.
#[derive(Debug)]
pub(crate) enum TooMuch {
    Size {
        limit: u64,
    },
    Ratio {
        packed: u64,
        expanded: u64,
    },
    Window,
    /// A page of a Parquet file.
    Page {
        limit: usize,
    },
    /// Lists of a Parquet file.
    List {
        limit: u64,
    },
    /// What describes a Parquet file.
    Footer {
        limit: u64,
    },
}

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TooMuch::Size { limit } => {
                write!(f, "unpacks to more than {limit} bytes; raise `--max-expanded` if that is right")
            }
            TooMuch::Ratio { packed, expanded } => write!(
                f,
                "{packed} bytes unpack to {expanded} and more, above {MAX_RATIO} to 1; \
                 pass `--max-expanded SIZE` if that is right"
            ),
            TooMuch::Page { limit } => {
                write!(f, "a page of more than {limit} bytes; write the file again with smaller pages")
            }
            TooMuch::List { limit } => {
                write!(f, "lists of more than {limit} elements in a few rows; is this a file of texts?")
            }
            TooMuch::Footer { limit } => {
                write!(f, "a footer of more than {limit} bytes; write the file again with fewer row groups")
            }
            TooMuch::Window => {
                write!(f, "its Zstandard window is above 128 MiB; pack it again without `--long`")
            }
        }
    }
}

impl std::error::Error for TooMuch {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_beat_the_suffix() {
        let gz = Some(Path::new("a.gz"));
        assert_eq!(Compression::of(&[0x1f, 0x8b, 8], None), Some(Compression::Gzip));
        assert_eq!(Compression::of(&[0x28, 0xb5, 0x2f, 0xfd], gz), Some(Compression::Zstd));
        assert_eq!(Compression::of(b"{\"id\":1}", gz), None);
        assert_eq!(Compression::of(b"", gz), None);
        assert_eq!(Compression::of(&[0x1f], gz), Some(Compression::Gzip));
        assert_eq!(Compression::of(&[0x5a, 0x2a, 0x4d, 0x18, 0], None), Some(Compression::Zstd));
    }
}
