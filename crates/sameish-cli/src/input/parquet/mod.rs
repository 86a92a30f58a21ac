//! Parquet: a document a row.
//!
//! Row groups are read one after the other, of each only the wanted columns, a thousand rows at a time. A row becomes a line of
//! JSON on its way to the workers, so that all rules for records are those of JSONL, and a bad row can be shown. A value of
//! null counts as absent.
//!
//! A file may be damaged or made to harm: sizes are checked against the file before anything is allocated, [`Pages`] unpacks
//! within bounds, and a panic of the decoder is caught.

mod fence;
mod pages;
mod rows;
mod thrift;

pub(crate) use fence::fenced;
pub(crate) use pages::{MAX_ELEMENTS, Pages, Shared, damaged};
pub(crate) use rows::Rows;

use super::compression::{Expansion, TooMuch};
use super::find::{Source, missing};
use super::reject::Broken;
use crate::exit::Exit;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

/// First and last bytes of a file.
pub(crate) const MAGIC: &[u8] = b"PAR1";
/// Last bytes of a file with an encrypted footer.
const ENCRYPTED: &[u8] = b"PARE";
/// Most bytes of the footer.
const MAX_FOOTER: u64 = 64 << 20;

/// A file whose footer was read and checked.
pub(crate) struct Table {
    pub(crate) source: Source,
    pub(crate) shared: Arc<Shared>,
    pub(crate) metadata: ParquetMetaData,
}

impl Table {
    /// Opens a file. What does not lie on a disk, such as standard input, is copied from `bytes` to a temporary file: the
    /// footer at the end must be read first.
    pub(crate) fn open(
        source: &Source,
        bytes: impl Read,
        max_expanded: Option<u64>,
    ) -> Result<Table, Broken> {
        let file = match &source.path {
            Some(path) if path.is_file() => File::open(path).map_err(|error| missing(path, &error))?,
            _ => spool(bytes).map_err(|error| broken(source, &ParquetError::from(error)))?,
        };
        Table::read(source, file, max_expanded)
    }

    fn read(source: &Source, mut file: File, max_expanded: Option<u64>) -> Result<Table, Broken> {
        let footer = read_footer(&mut file).map_err(|error| broken(source, &error))?;
        let parse = || ParquetMetaDataReader::decode_metadata(&footer.bytes);
        let metadata = fenced(parse).map_err(|error| broken(source, &error))?;
        let shared = Shared { file, len: footer.file_len, expansion: Expansion::new(max_expanded) };
        Ok(Table { source: source.clone(), shared: Arc::new(shared), metadata })
    }

    pub(crate) fn broken(&self, error: &ParquetError) -> Broken {
        broken(&self.source, error)
    }
}

fn spool(mut bytes: impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut bytes, &mut file)?;
    Ok(file)
}

struct Footer {
    bytes: Vec<u8>,
    file_len: u64,
}

/// The footer's bytes, once its schema is known to be bearable.
fn read_footer(file: &mut File) -> Result<Footer, ParquetError> {
    let file_len = file.seek(SeekFrom::End(0))?;
    let cut_off = || damaged("does not begin and end with PAR1; it may be cut off");
    let end = file_len.checked_sub(8).filter(|&end| end >= 4).ok_or_else(cut_off)?;
    let (mut head, mut tail) = ([0; 4], [0; 8]);
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(&mut head)?;
    file.seek(SeekFrom::Start(end))?;
    file.read_exact(&mut tail)?;
    let (length, magic) = tail.split_at(4);
    if magic == ENCRYPTED || head == ENCRYPTED {
        return Err(damaged("it is encrypted, which is not read; decrypt it first"));
    }
    if magic != MAGIC || head != MAGIC {
        return Err(cut_off());
    }
    let len = length.iter().rev().fold(0, |len, &byte| len << 8 | u64::from(byte));
    let start = end.checked_sub(len).filter(|&start| start >= 4);
    let start = start.ok_or_else(|| damaged("its footer is longer than the file"))?;
    if len > MAX_FOOTER {
        return Err(ParquetError::External(Box::new(TooMuch::Footer { limit: MAX_FOOTER })));
    }
    let mut bytes = vec![0; len as usize];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut bytes)?;
    match thrift::check_schema(&bytes) {
        Ok(()) => Ok(Footer { bytes, file_len }),
        Err(thrift::Fault::Short) => Err(damaged("its footer ends in the middle")),
        Err(thrift::Fault::Wrong(what)) => Err(damaged(what)),
    }
}

/// What to say of a file that can not be read, or not to its end.
fn broken(source: &Source, error: &ParquetError) -> Broken {
    if let ParquetError::External(inner) = error
        && let Some(limit) = inner.downcast_ref::<TooMuch>()
    {
        return Broken { exit: Exit::Limit, ..Broken::unreadable(&source.name, limit.to_string()) };
    }
    let message = match error {
        ParquetError::General(message) | ParquetError::EOF(message) | ParquetError::NYI(message) => {
            message.clone()
        }
        ParquetError::External(inner) => inner.to_string(),
        other => other.to_string(),
    };
    let message = crate::output::escape::escaped(&message.chars().take(200).collect::<String>());
    Broken::unreadable(
        &source.name,
        format!("not a Parquet file that can be read: {message}; write it again"),
    )
}
