//! Texts that can not be read again where they came from.

use super::stage::TempFiles;
use super::temporary;
use crate::exit::Failure;
use sameish::Content;
use std::fs::File;
use std::io::{BufWriter, Write};

/// Texts one behind the other in a file without a name.
pub(crate) struct Spool {
    files: TempFiles,
    file: Option<BufWriter<File>>,
    len: u64,
}

/// Between tokens that stand in for a text; the caller's tokens may hold anything else.
const BETWEEN: char = '\u{1F}';

impl Spool {
    pub(crate) fn new(files: TempFiles) -> Spool {
        Spool { files, file: None, len: 0 }
    }

    /// Adds bytes, and gives their place.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<u64, Failure> {
        let failed = |error: std::io::Error| temporary(&error);
        if self.file.is_none() {
            let file = self.files.create("spool").map_err(failed)?;
            self.file = Some(BufWriter::with_capacity(1 << 20, file));
        }
        let at = self.len;
        if let Some(file) = &mut self.file {
            file.write_all(bytes).map_err(failed)?;
        }
        self.len += bytes.len() as u64;
        Ok(at)
    }

    /// Brings everything to the disk, for `--resume`; gives how much there is.
    pub(crate) fn save(&mut self) -> Result<u64, Failure> {
        let file = self.file.as_mut().map(|file| file.flush().and_then(|()| file.get_ref().sync_all()));
        file.unwrap_or(Ok(())).map_err(|error| temporary(&error))?;
        Ok(self.len)
    }

    /// What [`Spool::save`] left.
    pub(crate) fn load(files: TempFiles, len: u64) -> std::io::Result<Spool> {
        if len == 0 {
            return Ok(Spool::new(files));
        }
        let file = files.open("spool")?;
        match file.metadata()?.len() == len {
            true => Ok(Spool { file: Some(BufWriter::new(file)), files, len }),
            false => Err(std::io::ErrorKind::InvalidData.into()),
        }
    }

    /// The file, for reading, if there is anything in it.
    pub(crate) fn finish(self) -> Result<Option<File>, Failure> {
        let finish = |file: BufWriter<File>| file.into_inner().map_err(|error| temporary(error.error()));
        self.file.map(finish).transpose()
    }
}

/// A content as bytes, and whether they are tokens.
pub(crate) fn encode(content: &Content, bytes: &mut Vec<u8>) -> bool {
    match content {
        Content::Text(text) => bytes.extend_from_slice(text.as_bytes()),
        Content::Tokens(tokens) => {
            for token in tokens {
                bytes.extend(token.replace(BETWEEN, " ").bytes());
                bytes.extend(BETWEEN.to_string().bytes());
            }
        }
    }
    matches!(content, Content::Tokens(_))
}

/// What [`encode`] was given.
pub(crate) fn decode(bytes: Vec<u8>, tokens: bool) -> Option<Content> {
    let text = String::from_utf8(bytes).ok()?;
    Some(match tokens {
        false => Content::Text(text),
        true => Content::Tokens(text.split_terminator(BETWEEN).map(str::to_owned).collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_come_back() {
        let tokens =
            |tokens: &[&str]| Content::Tokens(tokens.iter().map(|token| (*token).to_owned()).collect());
        for content in
            [Content::Text("a b".into()), Content::Text(String::new()), tokens(&[]), tokens(&["", "a b", ""])]
        {
            let mut bytes = Vec::new();
            let kind = encode(&content, &mut bytes);
            assert_eq!(decode(bytes, kind), Some(content));
        }
    }
}
