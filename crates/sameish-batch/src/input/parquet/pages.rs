//! Pages of one column, decompressed within limits.
//!
//! Replaces the crate's own page reader, which allocates whatever a page header requests and decompresses gzip without limit.

use super::thrift::{Fault, PageHeader, delta_sum};
use crate::input::ByteCounter;
use crate::input::compression::{Expansion, LimitExceeded};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Maximum size of a page in bytes, compressed or not. Writers aim at 1 MiB.
pub(crate) const MAX_PAGE: usize = 256 << 20;
/// Maximum number of dictionary entries.
const MAX_ENTRIES: usize = 4 << 20;
/// Maximum number of values per page.
const MAX_VALUES: i64 = 64 << 20;
/// Maximum number of list elements per read.
pub(crate) const MAX_ELEMENTS: u64 = 16 << 20;
/// Number of bytes in which a page header is searched first; most headers have less than a hundred.
const HEADER: usize = 4 << 10;

/// State shared by all columns of a file.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) file: File,
    pub(crate) len: u64,
    pub(crate) expansion: Expansion,
    pub(crate) counter: ByteCounter,
}

impl Shared {
    fn read(&self, at: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut bytes)?;
        self.counter.add(bytes.len() as u64);
        Ok(bytes)
    }
}

/// Pages of a column in one row group.
pub(crate) struct Pages {
    shared: Arc<Shared>,
    at: u64,
    end: u64,
    compression: Compression,
    physical: Type,
    width: usize,
    /// Number of level sections at the start of a page of version 1.
    level_kinds: u8,
    /// Remaining number of list elements; absent if each row has one value.
    elements: Option<Arc<AtomicU64>>,
    next: Option<(PageHeader, u64)>,
}

impl Pages {
    /// `elements` is the remaining number of list elements, shared by all list columns.
    pub(crate) fn new(
        shared: Arc<Shared>,
        column: &ColumnChunkMetaData,
        elements: Option<Arc<AtomicU64>>,
    ) -> Result<Pages> {
        let place = |offset: i64| u64::try_from(offset).map_err(|_| damaged("column starts before the file"));
        let mut at = place(column.data_page_offset())?;
        if let Some(dictionary) = column.dictionary_page_offset().filter(|&offset| offset > 0) {
            at = at.min(place(dictionary)?);
        }
        let end = at.checked_add(place(column.compressed_size())?).filter(|&end| end <= shared.len);
        let end = end.ok_or_else(|| damaged("column exceeds the end of the file"))?;
        if column.file_path().is_some() {
            return Err(damaged("column is in another file"));
        }
        let width = usize::try_from(column.column_descr().type_length()).unwrap_or(0);
        let descr = column.column_descr();
        let level_kinds = u8::from(descr.max_rep_level() > 0) + u8::from(descr.max_def_level() > 0);
        let (compression, physical) = (column.compression(), column.column_type());
        Ok(Pages { shared, at, end, compression, physical, width, level_kinds, elements, next: None })
    }

    /// Returns the next page header with its length, without consuming it.
    fn header(&mut self) -> Result<Option<(PageHeader, u64)>> {
        if self.next.is_none() && self.at < self.end {
            let left = (self.end - self.at).min(MAX_PAGE as u64) as usize;
            let mut len = HEADER.min(left);
            self.next = loop {
                match PageHeader::read(&self.shared.read(self.at, len)?) {
                    Ok((header, bytes)) => break Some((header, bytes as u64)),
                    // Some writers store minimum and maximum strings in the header.
                    Err(Fault::Short) if len < left => len = (len * 8).min(left),
                    Err(Fault::Short) => return Err(damaged("page header is truncated")),
                    Err(Fault::Wrong(what)) => return Err(damaged(what)),
                }
            };
        }
        Ok(self.next)
    }

    fn page(&mut self, header: PageHeader, header_len: u64) -> Result<Page> {
        let packed = size(header.packed)?;
        let expanded = size(header.expanded)?;
        let start = self.at + header_len;
        if packed as u64 > self.end - start {
            return Err(damaged("page exceeds the end of its column"));
        }
        let body = self.shared.read(start, packed)?;
        self.at = start + packed as u64;
        self.shared.expansion.add(expanded as u64, self.shared.len).map_err(external)?;
        let values = u32::try_from(header.values).ok().filter(|_| header.values <= MAX_VALUES);
        let values = values.ok_or_else(|| damaged("a page has too many values"))?;
        if let Some(left) = &self.elements {
            let drawn = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(u64::from(values)));
            drawn.map_err(|_| external(LimitExceeded::List { limit: MAX_ELEMENTS }))?;
        }
        let page = match header.kind {
            PageHeader::DATA_V2 => self.page_v2(header, body, expanded, values)?,
            PageHeader::DICTIONARY => {
                let buf = Bytes::from(decompress(self.compression, &body, expanded)?);
                self.check_dictionary(values as usize, buf.len())?;
                Page::DictionaryPage {
                    buf,
                    num_values: values,
                    encoding: encoding(header.encoding)?,
                    is_sorted: false,
                }
            }
            _ => Page::DataPage {
                buf: decompress(self.compression, &body, expanded)?.into(),
                num_values: values,
                encoding: encoding(header.encoding)?,
                def_level_encoding: encoding(header.def_encoding)?,
                rep_level_encoding: encoding(header.rep_encoding)?,
                statistics: None,
            },
        };
        self.check_lengths(&page, values)?;
        Ok(page)
    }

    /// Reads a page of version 2, whose levels are never compressed.
    fn page_v2(&self, header: PageHeader, body: Vec<u8>, expanded: usize, values: u32) -> Result<Page> {
        let (def, rep) = (size(header.def_bytes)?, size(header.rep_bytes)?);
        let levels = def + rep;
        if levels > body.len() || levels > expanded {
            return Err(damaged("levels are longer than their page"));
        }
        let buf = match header.plain || self.compression == Compression::UNCOMPRESSED {
            true => body,
            false => {
                let mut buf = body[..levels].to_vec();
                // A page of nulls may have no bytes after its levels, not even an empty compressed block.
                if expanded > levels {
                    buf.extend(decompress(self.compression, &body[levels..], expanded - levels)?);
                }
                buf
            }
        };
        let count = |number: i64| u32::try_from(number).map_err(|_| damaged("negative count"));
        Ok(Page::DataPageV2 {
            buf: buf.into(),
            num_values: values,
            encoding: encoding(header.encoding)?,
            num_nulls: count(header.nulls)?,
            num_rows: count(header.rows)?,
            def_levels_byte_len: def as u32,
            rep_levels_byte_len: rep as u32,
            is_compressed: !header.plain,
            statistics: None,
        })
    }

    /// Checks the number of entries, because the decoder allocates for all of them first.
    fn check_dictionary(&self, entries: usize, bytes: usize) -> Result<()> {
        let least = match self.physical {
            Type::BYTE_ARRAY | Type::INT32 | Type::FLOAT => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::FIXED_LEN_BYTE_ARRAY => self.width.max(1),
            Type::BOOLEAN => return Err(damaged("dictionary of booleans")),
        };
        match entries <= MAX_ENTRIES && entries.checked_mul(least).is_some_and(|need| need <= bytes) {
            true => Ok(()),
            false => Err(damaged("dictionary has more entries than its size allows")),
        }
    }

    /// Checks the encoded lengths, because the decoder allocates for all of them first and expands shared prefixes.
    fn check_lengths(&self, page: &Page, values: u32) -> Result<()> {
        let kind = page.encoding();
        if !matches!(kind, Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY)
            || !page.is_data_page()
        {
            return Ok(());
        }
        let buf = page.buffer();
        let start = match page {
            Page::DataPageV2 { def_levels_byte_len: def, rep_levels_byte_len: rep, .. } => {
                (def + rep) as usize
            }
            _ => self.levels_len(buf)?,
        };
        let wrong = |_| damaged("invalid lengths of strings");
        let lengths = buf.get(start..).ok_or_else(|| damaged("levels are longer than their page"))?;
        let (_, shared, len) = delta_sum(lengths, u64::from(values)).map_err(wrong)?;
        let mut unfolded = shared;
        if kind == Encoding::DELTA_BYTE_ARRAY {
            unfolded += delta_sum(&lengths[len..], u64::from(values)).map_err(wrong)?.1;
        }
        match unfolded <= MAX_PAGE as u64 {
            true => Ok(()),
            false => Err(external(LimitExceeded::Page { limit: MAX_PAGE })),
        }
    }

    /// Returns the size in bytes of the level sections of a page of version 1. Each section starts with its length.
    fn levels_len(&self, buf: &[u8]) -> Result<usize> {
        let mut at = 0;
        for _ in 0..self.level_kinds {
            let len = buf.get(at..at + 4).and_then(|len| len.try_into().ok()).map(u32::from_le_bytes);
            at += 4 + len.ok_or_else(|| damaged("page levels are truncated"))? as usize;
        }
        Ok(at)
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let Some((header, len)) = self.header()? else { return Ok(None) };
        self.next = None;
        self.page(header, len).map(Some)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let Some((header, _)) = self.header()? else { return Ok(None) };
        let is_dict = header.kind == PageHeader::DICTIONARY;
        let num_rows =
            (header.kind == PageHeader::DATA_V2).then(|| usize::try_from(header.rows).unwrap_or(0));
        let num_levels = usize::try_from(header.values).ok().filter(|_| !is_dict);
        Ok(Some(PageMetadata { num_rows, num_levels, is_dict }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        if let Some((header, len)) = self.header()? {
            self.next = None;
            self.page(header, len)?;
        }
        Ok(())
    }
}

pub(crate) fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

fn external(limit: LimitExceeded) -> ParquetError {
    ParquetError::External(Box::new(limit))
}

fn size(bytes: i64) -> Result<usize> {
    match usize::try_from(bytes) {
        Ok(bytes) if bytes <= MAX_PAGE => Ok(bytes),
        Ok(_) => Err(external(LimitExceeded::Page { limit: MAX_PAGE })),
        Err(_) => Err(damaged("a page has a negative size")),
    }
}

fn encoding(number: i64) -> Result<Encoding> {
    Ok(match number {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        #[expect(deprecated, reason = "old files use it")]
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return Err(damaged("unknown encoding")),
    })
}

/// Decompresses a page to exactly `expanded` bytes.
fn decompress(compression: Compression, packed: &[u8], expanded: usize) -> Result<Vec<u8>> {
    let wrong = || damaged("a page cannot be decompressed");
    // Snappy and LZ4 blocks do not exceed a ratio of 255 to 1, so a larger size is refused before allocating it.
    let possible = expanded <= packed.len().saturating_mul(256);
    let bytes_out = match compression {
        Compression::UNCOMPRESSED => packed.to_vec(),
        _ if expanded == 0 => Vec::new(),
        Compression::SNAPPY if possible && snap::raw::decompress_len(packed).ok() == Some(expanded) => {
            snap::raw::Decoder::new().decompress_vec(packed).map_err(|_| wrong())?
        }
        Compression::GZIP(_) => {
            let mut bytes_out = Vec::new();
            let mut decoder = flate2::read::MultiGzDecoder::new(packed).take(expanded as u64 + 1);
            decoder.read_to_end(&mut bytes_out).map_err(|_| wrong())?;
            bytes_out
        }
        Compression::ZSTD(_) => zstd::bulk::decompress(packed, expanded).map_err(|_| wrong())?,
        Compression::LZ4_RAW if possible => lz4_block(packed, expanded).ok_or_else(wrong)?,
        Compression::LZ4 if possible => {
            hadoop_blocks(packed, expanded).or_else(|| lz4_block(packed, expanded)).ok_or_else(wrong)?
        }
        Compression::BROTLI(_) | Compression::LZO => {
            return Err(damaged(
                "it is compressed with Brotli or LZO, which are not supported; write it again with Zstandard",
            ));
        }
        _ => return Err(wrong()),
    };
    if bytes_out.len() == expanded { Ok(bytes_out) } else { Err(wrong()) }
}

fn lz4_block(packed: &[u8], expanded: usize) -> Option<Vec<u8>> {
    let mut bytes_out = vec![0; expanded];
    let len = lz4_flex::block::decompress_into(packed, &mut bytes_out).ok()?;
    (len == expanded).then_some(bytes_out)
}

/// Decompresses Hadoop's LZ4 framing: blocks, each preceded by its two lengths.
fn hadoop_blocks(mut packed: &[u8], expanded: usize) -> Option<Vec<u8>> {
    let mut bytes_out = Vec::new();
    while !packed.is_empty() {
        let (lengths, rest) = packed.split_at_checked(8)?;
        let length = |at: usize| Some(u32::from_be_bytes(lengths[at..at + 4].try_into().ok()?) as usize);
        let (block, rest) = rest.split_at_checked(length(4)?)?;
        let len = length(0).filter(|len| *len <= expanded - bytes_out.len())?;
        bytes_out.extend(lz4_block(block, len)?);
        packed = rest;
    }
    Some(bytes_out)
}
