//! Parquet: one document per row.
//!
//! Row groups are read one after the other, only the requested columns, a thousand rows at a time. Each row is converted to
//! a line of JSON for the workers, so that the rules of JSONL apply and a rejected row can be shown. A null counts as missing.
//!
//! A file may be damaged or hostile: sizes are checked against the file before anything is allocated, [`Pages`] limits
//! decompression, and a panic of the decoder is caught.

mod catch_panics;
mod pages;
mod rows;
mod thrift;

pub(crate) use catch_panics::catch_panics;
pub(crate) use pages::{MAX_ELEMENTS, Pages, Shared, damaged};
pub(crate) use rows::Rows;

use super::compression::{Expansion, LimitExceeded};
use super::find::{Input, cannot_open};
use super::reject::InputError;
use super::{ByteCounter, ReadOptions};
use crate::escape::escaped;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

/// First and last bytes of a Parquet file.
pub(crate) const MAGIC: &[u8] = b"PAR1";
/// Last bytes of a file with an encrypted footer.
const ENCRYPTED: &[u8] = b"PARE";
/// Maximum size of the footer in bytes.
const MAX_FOOTER: u64 = 64 << 20;

/// A Parquet file whose footer was read and checked.
pub(crate) struct Table {
    pub(crate) input: Input,
    pub(crate) shared: Arc<Shared>,
    pub(crate) metadata: ParquetMetaData,
}

impl Table {
    /// Opens a file. An input that is not a regular file, such as standard input, is first copied from `bytes` to a
    /// temporary file, because the footer at the end must be read first.
    pub(crate) fn open(input: &Input, bytes: impl Read, options: &ReadOptions) -> Result<Table, InputError> {
        let file = match &input.path {
            Some(path) if path.is_file() => File::open(path).map_err(|error| cannot_open(path, &error))?,
            _ => spool(bytes).map_err(|error| input_error(input, &ParquetError::from(error)))?,
        };
        Table::read(input, file, options.max_expanded, options.counter.clone())
    }

    fn read(
        input: &Input,
        mut file: File,
        max_expanded: Option<u64>,
        counter: ByteCounter,
    ) -> Result<Table, InputError> {
        let footer = read_footer(&mut file).map_err(|error| input_error(input, &error))?;
        let parse = || ParquetMetaDataReader::decode_metadata(&footer.bytes);
        let metadata = catch_panics(parse).map_err(|error| input_error(input, &error))?;
        let expansion = Expansion::new(max_expanded);
        let shared = Shared { file, len: footer.file_len, expansion, counter };
        Ok(Table { input: input.clone(), shared: Arc::new(shared), metadata })
    }

    pub(crate) fn input_error(&self, error: &ParquetError) -> InputError {
        input_error(&self.input, error)
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

/// Reads the footer and checks its schema.
fn read_footer(file: &mut File) -> Result<Footer, ParquetError> {
    let file_len = file.seek(SeekFrom::End(0))?;
    let cut_off = || damaged("it does not begin and end with PAR1 and may be truncated");
    let end = file_len.checked_sub(8).filter(|&end| end >= 4).ok_or_else(cut_off)?;
    let (mut head, mut tail) = ([0; 4], [0; 8]);
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(&mut head)?;
    file.seek(SeekFrom::Start(end))?;
    file.read_exact(&mut tail)?;
    let (length, magic) = tail.split_at(4);
    if magic == ENCRYPTED || head == ENCRYPTED {
        return Err(damaged("it is encrypted, which is not supported; decrypt it first"));
    }
    if magic != MAGIC || head != MAGIC {
        return Err(cut_off());
    }
    let len = length.iter().rev().fold(0, |len, &byte| len << 8 | u64::from(byte));
    let start = end.checked_sub(len).filter(|&start| start >= 4);
    let start = start.ok_or_else(|| damaged("the footer is longer than the file"))?;
    if len > MAX_FOOTER {
        return Err(ParquetError::External(Box::new(LimitExceeded::Footer { limit: MAX_FOOTER })));
    }
    let mut bytes = vec![0; len as usize];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut bytes)?;
    match thrift::check_schema(&bytes) {
        Ok(()) => Ok(Footer { bytes, file_len }),
        Err(thrift::Fault::Short) => Err(damaged("the footer is truncated")),
        Err(thrift::Fault::Wrong(what)) => Err(damaged(what)),
    }
}

/// Describes an error of the decoder.
fn input_error(input: &Input, error: &ParquetError) -> InputError {
    if let ParquetError::External(inner) = error
        && let Some(limit) = inner.downcast_ref::<LimitExceeded>()
    {
        return InputError::limit(&input.name, limit);
    }
    let message = match error {
        ParquetError::General(message) | ParquetError::EOF(message) | ParquetError::NYI(message) => {
            message.clone()
        }
        ParquetError::External(inner) => inner.to_string(),
        other => other.to_string(),
    };
    let message = escaped(&message.chars().take(200).collect::<String>());
    InputError::unreadable(&input.name, format!("unreadable Parquet file: {message}; write it again"))
}
