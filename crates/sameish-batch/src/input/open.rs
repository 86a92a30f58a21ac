//! Opens inputs: detects compression and format from the first bytes, and refuses archives and binary files.

use super::ReadOptions;
use super::byte_counter::Counted;
use super::compression::{Compression, LimitExceeded};
use super::find::{Input, cannot_open};
use super::format::FileFormat;
use super::parquet::MAGIC;
use super::reject::InputError;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// Number of bytes examined.
const HEAD: usize = 4096;
/// Number of bytes that identify a compression.
const LEAST: usize = 6;
/// Number of bytes up to which a compressed binary input is expanded, to distinguish a decompression bomb from a file of the wrong
/// kind.
const FOLLOW: u64 = (64 << 20) + (1 << 20);
const BOM: &[u8] = &[0xef, 0xbb, 0xbf];

/// An opened input.
pub(crate) struct Opened {
    /// Decompressed bytes, without a byte-order mark.
    pub(crate) bytes: Box<dyn Read + Send>,
    /// Length of the byte-order mark, which offsets include.
    pub(crate) skipped: u64,
    /// Format guessed from the first bytes.
    pub(crate) guess: FileFormat,
    /// First byte that is not white space.
    pub(crate) first: Option<u8>,
    /// `true` if the input has no bytes at all.
    pub(crate) empty: bool,
    /// `true` if offsets in `bytes` are offsets in a file, so that single records can be read again.
    pub(crate) seekable: bool,
}

/// Opens an input that must be text.
pub(crate) fn open(input: &Input, options: &ReadOptions) -> Result<Opened, InputError> {
    let opened = open_any(input, options)?;
    match opened.guess {
        FileFormat::Parquet => {
            Err(InputError::unreadable(&input.name, "is a Parquet file; expected a text file"))
        }
        _ => Ok(opened),
    }
}

/// Opens an input of lines, which may be compressed.
pub fn open_lines(input: &Input, options: &ReadOptions) -> Result<impl BufRead + use<>, InputError> {
    Ok(BufReader::new(open(input, options)?.bytes))
}

/// Opens an input, which may also be Parquet.
pub(crate) fn open_any(input: &Input, options: &ReadOptions) -> Result<Opened, InputError> {
    let raw: Box<dyn Read + Send> = match &input.path {
        None => Box::new(io::stdin()),
        Some(path) => {
            let file = File::open(path).map_err(|error| cannot_open(path, &error))?;
            if file.metadata().is_ok_and(|meta| meta.is_dir()) {
                return Err(cannot_open(path, &io::ErrorKind::IsADirectory.into()));
            }
            Box::new(Counted { inner: file, counter: options.counter.clone() })
        }
    };
    detect(input, raw, options.max_expanded)
}

fn detect(input: &Input, raw: Box<dyn Read + Send>, limit: Option<u64>) -> Result<Opened, InputError> {
    let failed = |error: io::Error| read_error(input, 0, &error);
    let refused = |reason: String| InputError::unreadable(&input.name, reason);
    let (head, raw) = peek(raw).map_err(failed)?;
    let Some(compression) = Compression::of(&head, input.path.as_deref()) else {
        if !head.starts_with(MAGIC) {
            refuse_archives(&head).and_then(|()| refuse_binary(&head)).map_err(refused)?;
        }
        let seekable = input.path.as_deref().is_some_and(|path| path.is_file());
        return Ok(Opened { seekable, ..opened(head, raw) });
    };
    let (head, mut inside) = compression.open(raw, limit).and_then(peek).map_err(failed)?;
    if let Some(inner) = Compression::of(&head, None) {
        let reason = format!(
            "{} inside {}; only one layer of compression is supported, decompress the outer one",
            inner.name(),
            compression.name()
        );
        return Err(refused(reason));
    }
    if head.starts_with(MAGIC) {
        let reason =
            format!("Parquet inside {}; decompress it, Parquet compresses its own pages", compression.name());
        return Err(refused(reason));
    }
    refuse_archives(&head).map_err(refused)?;
    if let Err(reason) = refuse_binary(&head) {
        // A decompression bomb of zeros is reported as a bomb, not as a binary file.
        io::copy(&mut inside.by_ref().take(FOLLOW), &mut io::sink()).map_err(failed)?;
        return Err(refused(reason));
    }
    Ok(opened(head, inside))
}

/// Returns the first bytes, and a reader that still contains them. Uses what the first read returns, so that a slow pipe
/// does not delay the start.
fn peek(mut reader: Box<dyn Read + Send>) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut head = vec![0; HEAD];
    let mut len = 0;
    while len < LEAST {
        match reader.read(&mut head[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    head.truncate(len);
    Ok((head.clone(), Box::new(Cursor::new(head).chain(reader))))
}

fn opened(head: Vec<u8>, mut bytes: Box<dyn Read + Send>) -> Opened {
    let marked = head.starts_with(BOM);
    let text = if marked { &head[BOM.len()..] } else { &head[..] };
    if marked {
        // The mark is part of the head, which is in memory, so reading it cannot fail.
        let _ = bytes.read_exact(&mut [0; BOM.len()]);
    }
    Opened {
        bytes,
        skipped: if marked { BOM.len() as u64 } else { 0 },
        guess: FileFormat::of_content(text),
        first: text.trim_ascii_start().first().copied(),
        empty: head.is_empty(),
        seekable: false,
    }
}

/// Returns reason and remedy if the input is an archive.
fn refuse_archives(head: &[u8]) -> Result<(), String> {
    let name = match head {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => "is a zip archive",
        [b'7', b'z', 0xbc, 0xaf, ..] => "is a 7z archive",
        [b'R', b'a', b'r', b'!', ..] => "is a rar archive",
        [0xfd, b'7', b'z', b'X', b'Z', ..] => "is compressed with xz",
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..] => "is compressed with bzip2",
        _ if head.get(257..262) == Some(b"ustar") => "is a tar archive",
        _ => return Ok(()),
    };
    Err(format!("{name}, which is not supported; extract it first (gzip and Zstandard are read directly)"))
}

/// Returns reason and remedy if the input is binary.
fn refuse_binary(head: &[u8]) -> Result<(), String> {
    let zeros = |from: usize| head.iter().skip(from).step_by(2).filter(|&&byte| byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let one_sided = head.len() >= 8 && even.max(odd) * 5 >= head.len() && even.min(odd) * 10 <= even.max(odd);
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) || one_sided {
        return Err("looks like UTF-16; convert it to UTF-8, as in `iconv -f UTF-16 -t UTF-8 FILE`".into());
    }
    if (even + odd) * 10 > head.len() {
        return Err("binary, not text: it contains many zero bytes; expected a text file".into());
    }
    Ok(())
}

/// Describes an error that occurred after `offset` bytes.
pub(crate) fn read_error(input: &Input, offset: u64, error: &io::Error) -> InputError {
    let offset = Some(offset);
    let file = input.name.clone();
    if let Some(limit) = error.get_ref().and_then(|inner| inner.downcast_ref::<LimitExceeded>()) {
        return InputError { offset, ..InputError::limit(&file, limit) };
    }
    let reason = match (error.kind(), &input.path) {
        (io::ErrorKind::IsADirectory, Some(path)) => return cannot_open(path, error),
        _ => format!("cannot be read further: {error}; the records before this point were used"),
    };
    InputError { offset, io: Some(error.kind()), ..InputError::unreadable(&file, reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_few_zero_bytes_and_refuses_many() {
        assert!(refuse_binary(b"a text with \0 one zero in it").is_ok());
        assert!(refuse_binary(b"").is_ok());
        assert!(refuse_binary(&[0; 100]).unwrap_err().starts_with("binary"));
        assert!(refuse_binary(b"h\0e\0l\0l\0o\0 \0w\0o\0").unwrap_err().contains("UTF-16"));
        assert!(refuse_binary(b"\xff\xfeh\0").unwrap_err().contains("UTF-16"));
    }
}
