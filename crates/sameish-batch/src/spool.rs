//! Spool file: texts that cannot be read again from their inputs.

use crate::error::{Error, Result};
use crate::resume::TempFiles;
use crate::table::ContentKind;
use sameish::Content;
use sameish::document::{ContentRef, GivenSketches};
use std::fs::File;
use std::io::{BufWriter, Write};

/// Texts in an unnamed temporary file.
pub(crate) struct Spool {
    files: TempFiles,
    file: Option<BufWriter<File>>,
    len: u64,
}

/// Separator of tokens; it is replaced by a space within tokens.
const SEPARATOR: char = '\u{1F}';

impl Spool {
    pub(crate) fn new(files: TempFiles) -> Spool {
        Spool { files, file: None, len: 0 }
    }

    /// Takes the file and leaves an empty spool.
    pub(crate) fn take(&mut self) -> Spool {
        std::mem::replace(self, Spool::new(TempFiles::default()))
    }

    /// Appends bytes and returns their offset.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<u64> {
        if self.file.is_none() {
            let file = self.files.create("spool").map_err(Error::Temporary)?;
            self.file = Some(BufWriter::with_capacity(1 << 20, file));
        }
        let at = self.len;
        if let Some(file) = &mut self.file {
            file.write_all(bytes).map_err(Error::Temporary)?;
        }
        self.len += bytes.len() as u64;
        Ok(at)
    }

    /// Syncs the file for a resumable run and returns its length.
    pub(crate) fn save(&mut self) -> Result<u64> {
        let synced = self.file.as_mut().map(|file| file.flush().and_then(|()| file.get_ref().sync_all()));
        synced.unwrap_or(Ok(())).map_err(Error::Temporary)?;
        Ok(self.len)
    }

    /// Opens the file that [`Spool::save`] left.
    pub(crate) fn load(files: TempFiles, len: u64) -> std::io::Result<Spool> {
        if len == 0 {
            return Ok(Spool::new(files));
        }
        let file = files.open("spool")?;
        if file.metadata()?.len() != len {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        Ok(Spool { file: Some(BufWriter::new(file)), files, len })
    }

    /// Returns the file for reading, if it has any content.
    pub(crate) fn finish(self) -> Result<Option<File>> {
        let finish =
            |file: BufWriter<File>| file.into_inner().map_err(|error| Error::Temporary(error.into_error()));
        self.file.map(finish).transpose()
    }
}

/// Appends the encoded content. Returns its kind.
pub(crate) fn encode(content: ContentRef<'_>, bytes: &mut Vec<u8>) -> ContentKind {
    match content {
        ContentRef::Text(text) => bytes.extend_from_slice(text.as_bytes()),
        ContentRef::Tokens(tokens) => {
            for token in tokens {
                bytes.extend(token.replace(SEPARATOR, " ").bytes());
                bytes.extend(SEPARATOR.to_string().bytes());
            }
        }
        ContentRef::Sketches(given) => bytes.extend(given.to_text().bytes()),
    }
    ContentKind::of(content)
}

/// Decodes what [`encode`] wrote.
pub(crate) fn decode(bytes: Vec<u8>, kind: ContentKind) -> Option<Content> {
    let text = String::from_utf8(bytes).ok()?;
    Some(match kind {
        ContentKind::Text => Content::Text(text),
        ContentKind::Tokens => Content::Tokens(text.split_terminator(SEPARATOR).map(str::to_owned).collect()),
        ContentKind::Sketches => Content::Sketches(Box::new(GivenSketches::from_text(&text)?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_was_encoded() {
        let tokens =
            |tokens: &[&str]| Content::Tokens(tokens.iter().map(|token| (*token).to_owned()).collect());
        let scheme = Some("0123456789abcdef");
        let given = GivenSketches::from_hex(Some(("00000000000000ff", scheme)), None).unwrap().unwrap();
        for content in [
            Content::Text("a b".into()),
            Content::Text(String::new()),
            tokens(&[]),
            tokens(&["", "a b", ""]),
            Content::Sketches(Box::new(given)),
        ] {
            let mut bytes = Vec::new();
            let kind = encode((&content).into(), &mut bytes);
            assert_eq!(decode(bytes, kind), Some(content));
        }
    }
}
