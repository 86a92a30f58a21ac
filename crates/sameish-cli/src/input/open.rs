//! What lies in this file?
//!
//! Looks at the first bytes, opens the compression, refuses what is no text, and picks the format.

use super::compression::{Compression, TooMuch};
use super::find::{Source, missing};
use super::format::Kind;
use super::meter::Metered;
use super::parquet::MAGIC;
use super::reject::Broken;
use crate::exit::Exit;
use std::fs::File;
use std::io::{self, Cursor, Read};

/// Bytes that are looked at.
const HEAD: usize = 4096;
/// Fewest bytes that tell a compression.
const LEAST: usize = 6;
/// How far a compressed input that is no text is followed, to tell a bomb from a mistake.
const FOLLOW: u64 = (64 << 20) + (1 << 20);
const BOM: &[u8] = &[0xef, 0xbb, 0xbf];

/// An input that was opened and looks like text.
pub(crate) struct Opened {
    /// The text's bytes, without a byte-order mark.
    pub(crate) bytes: Box<dyn Read + Send>,
    /// Bytes of the mark, which offsets count.
    pub(crate) skipped: u64,
    /// The format that the first bytes suggest.
    pub(crate) guess: Kind,
    /// The first character that is not white space.
    pub(crate) first: Option<u8>,
    /// Whether there is not a single byte.
    pub(crate) empty: bool,
    /// Whether a place in the bytes is the same place in a file, so that records can be read again one by one.
    pub(crate) plain: bool,
}

/// Opens an input that must be text.
pub(crate) fn open(source: &Source, max_expanded: Option<u64>) -> Result<Opened, Broken> {
    let opened = open_any(source, max_expanded)?;
    match opened.guess {
        Kind::Parquet => {
            Err(Broken::unreadable(&source.name, "Parquet, where text is meant; name a text file"))
        }
        _ => Ok(opened),
    }
}

/// Opens an input, which may also be Parquet.
pub(crate) fn open_any(source: &Source, max_expanded: Option<u64>) -> Result<Opened, Broken> {
    let raw: Box<dyn Read + Send> = match &source.path {
        None => Box::new(io::stdin()),
        Some(path) => {
            let file = File::open(path).map_err(|error| missing(path, &error))?;
            if file.metadata().is_ok_and(|meta| meta.is_dir()) {
                return Err(missing(path, &io::ErrorKind::IsADirectory.into()));
            }
            Box::new(Metered(file))
        }
    };
    look(source, raw, max_expanded)
}

fn look(source: &Source, raw: Box<dyn Read + Send>, limit: Option<u64>) -> Result<Opened, Broken> {
    let failed = |error: io::Error| unread(source, 0, &error);
    let refused = |reason: String| Broken::unreadable(&source.name, reason);
    let (head, raw) = peek(raw).map_err(failed)?;
    let Some(compression) = Compression::of(&head, source.path.as_deref()) else {
        if !head.starts_with(MAGIC) {
            refuse_archives(&head).and_then(|()| refuse_binary(&head)).map_err(refused)?;
        }
        let plain = source.path.as_deref().is_some_and(|path| path.is_file());
        return Ok(Opened { plain, ..opened(head, raw) });
    };
    let (head, mut inside) = compression.open(raw, limit).and_then(peek).map_err(failed)?;
    if let Some(inner) = Compression::of(&head, None) {
        let reason = format!(
            "{} inside {}; one layer is opened, unpack the outer one",
            inner.name(),
            compression.name()
        );
        return Err(refused(reason));
    }
    if head.starts_with(MAGIC) {
        let reason =
            format!("Parquet inside {}; unpack it, Parquet packs its parts itself", compression.name());
        return Err(refused(reason));
    }
    refuse_archives(&head).map_err(refused)?;
    if let Err(reason) = refuse_binary(&head) {
        // What unpacks to endless zeros is first of all a bomb.
        io::copy(&mut inside.by_ref().take(FOLLOW), &mut io::sink()).map_err(failed)?;
        return Err(refused(reason));
    }
    Ok(opened(head, inside))
}

/// The first bytes, and a reader that still has them. Takes what the first read gives, so that a slow pipe is not
/// waited for.
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
        // The mark lies in the head, which is in memory: reading it can not fail.
        let _ = bytes.read_exact(&mut [0; BOM.len()]);
    }
    Opened {
        bytes,
        skipped: if marked { BOM.len() as u64 } else { 0 },
        guess: Kind::of_content(text),
        first: text.trim_ascii_start().first().copied(),
        empty: head.is_empty(),
        plain: false,
    }
}

/// The error is reason and remedy.
fn refuse_archives(head: &[u8]) -> Result<(), String> {
    let name = match head {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => "a zip archive",
        [b'7', b'z', 0xbc, 0xaf, ..] => "a 7z archive",
        [b'R', b'a', b'r', b'!', ..] => "a rar archive",
        [0xfd, b'7', b'z', b'X', b'Z', ..] => "xz-compressed",
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..] => "bzip2-compressed",
        _ if head.get(257..262) == Some(b"ustar") => "a tar archive",
        _ => return Ok(()),
    };
    Err(format!("{name}; archives are not opened, unpack it (gzip and Zstandard are read as they are)"))
}

/// The error is reason and remedy.
fn refuse_binary(head: &[u8]) -> Result<(), String> {
    let zeros = |from: usize| head.iter().skip(from).step_by(2).filter(|&&byte| byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let one_sided = head.len() >= 8 && even.max(odd) * 5 >= head.len() && even.min(odd) * 10 <= even.max(odd);
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) || one_sided {
        return Err("looks like UTF-16; convert it to UTF-8, as in `iconv -f UTF-16 -t UTF-8 FILE`".into());
    }
    if (even + odd) * 10 > head.len() {
        return Err("binary, not text: it holds many zero bytes; name a text file".into());
    }
    Ok(())
}

/// What to say of an input that broke after `offset` bytes.
pub(crate) fn unread(source: &Source, offset: u64, error: &io::Error) -> Broken {
    let offset = Some(offset);
    let file = source.name.clone();
    if let Some(limit) = error.get_ref().and_then(|inner| inner.downcast_ref::<TooMuch>()) {
        return Broken { file, offset, reason: limit.to_string(), exit: Exit::Limit };
    }
    let reason = match (error.kind(), &source.path) {
        (io::ErrorKind::IsADirectory, Some(path)) => return missing(path, error),
        _ => format!("can not be read further: {error}; what came before was used"),
    };
    Broken { file, offset, reason, exit: Exit::Unreadable }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_in_text_are_text_but_not_many() {
        assert!(refuse_binary(b"a text with \0 one zero in it").is_ok());
        assert!(refuse_binary(b"").is_ok());
        assert!(refuse_binary(&[0; 100]).unwrap_err().starts_with("binary"));
        assert!(refuse_binary(b"h\0e\0l\0l\0o\0 \0w\0o\0").unwrap_err().contains("UTF-16"));
        assert!(refuse_binary(b"\xff\xfeh\0").unwrap_err().contains("UTF-16"));
    }
}
