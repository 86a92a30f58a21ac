//! The pages of one column, unpacked within bounds.
//!
//! Takes the place of the crate's own page reader, which allocates what a page's header asks for and unpacks gzip without end.

use super::thrift::{Fault, PageHeader, delta_sum};
use crate::input::compression::{Expansion, TooMuch};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Most bytes of one page, packed or not. Writers aim at one mebibyte.
pub(crate) const MAX_PAGE: usize = 256 << 20;
/// Most entries of a dictionary.
const MAX_ENTRIES: usize = 4 << 20;
/// Most values of one page.
const MAX_VALUES: i64 = 64 << 20;
/// Most elements of lists in what is read at once.
pub(crate) const MAX_ELEMENTS: u64 = 16 << 20;
/// Bytes of a header that are looked at first; most have below a hundred.
const HEADER: usize = 4 << 10;

/// What all columns of a file share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) file: File,
    pub(crate) len: u64,
    pub(crate) expansion: Expansion,
}

impl Shared {
    fn read(&self, at: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut bytes)?;
        crate::input::meter::add(bytes.len() as u64);
        Ok(bytes)
    }
}

/// The pages of a column in one row group.
pub(crate) struct Pages {
    shared: Arc<Shared>,
    at: u64,
    end: u64,
    compression: Compression,
    physical: Type,
    width: usize,
    /// How many kinds of levels a page of version 1 begins with.
    level_kinds: u8,
    /// Elements that may still come; absent where a row has one value.
    elements: Option<Arc<AtomicU64>>,
    next: Option<(PageHeader, u64)>,
}

impl Pages {
    /// `elements` is drawn on by columns whose rows have many values.
    pub(crate) fn new(
        shared: Arc<Shared>,
        column: &ColumnChunkMetaData,
        elements: Option<Arc<AtomicU64>>,
    ) -> Result<Pages> {
        let place = |offset: i64| u64::try_from(offset).map_err(|_| damaged("a column lies before the file"));
        let mut at = place(column.data_page_offset())?;
        if let Some(dictionary) = column.dictionary_page_offset().filter(|&offset| offset > 0) {
            at = at.min(place(dictionary)?);
        }
        let end = at.checked_add(place(column.compressed_size())?).filter(|&end| end <= shared.len);
        let end = end.ok_or_else(|| damaged("a column reaches beyond the file's end"))?;
        if column.file_path().is_some() {
            return Err(damaged("a column lies in another file"));
        }
        let width = usize::try_from(column.column_descr().type_length()).unwrap_or(0);
        let descr = column.column_descr();
        let level_kinds = u8::from(descr.max_rep_level() > 0) + u8::from(descr.max_def_level() > 0);
        let (compression, physical) = (column.compression(), column.column_type());
        Ok(Pages { shared, at, end, compression, physical, width, level_kinds, elements, next: None })
    }

    /// Looks at the next header.
    fn header(&mut self) -> Result<Option<(PageHeader, u64)>> {
        if self.next.is_none() && self.at < self.end {
            let left = (self.end - self.at).min(MAX_PAGE as u64) as usize;
            let mut len = HEADER.min(left);
            self.next = loop {
                match PageHeader::read(&self.shared.read(self.at, len)?) {
                    Ok((header, bytes)) => break Some((header, bytes as u64)),
                    // Some writers put the smallest and the largest text into the header.
                    Err(Fault::Short) if len < left => len = (len * 8).min(left),
                    Err(Fault::Short) => return Err(damaged("ends in the header of a page")),
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
            return Err(damaged("a page reaches beyond its column's end"));
        }
        let body = self.shared.read(start, packed)?;
        self.at = start + packed as u64;
        self.shared.expansion.add(expanded as u64, self.shared.len).map_err(external)?;
        let values = u32::try_from(header.values).ok().filter(|_| header.values <= MAX_VALUES);
        let values = values.ok_or_else(|| damaged("a page of too many values"))?;
        if let Some(left) = &self.elements {
            let drawn = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(u64::from(values)));
            drawn.map_err(|_| external(TooMuch::List { limit: MAX_ELEMENTS }))?;
        }
        let page = match header.kind {
            PageHeader::DATA_V2 => self.second(header, body, expanded, values)?,
            PageHeader::DICTIONARY => {
                let buf = Bytes::from(unpack(self.compression, &body, expanded)?);
                self.check_dictionary(values as usize, buf.len())?;
                Page::DictionaryPage {
                    buf,
                    num_values: values,
                    encoding: encoding(header.encoding)?,
                    is_sorted: false,
                }
            }
            _ => Page::DataPage {
                buf: unpack(self.compression, &body, expanded)?.into(),
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

    /// A page of version 2, whose levels are never packed.
    fn second(&self, header: PageHeader, body: Vec<u8>, expanded: usize, values: u32) -> Result<Page> {
        let (def, rep) = (size(header.def_bytes)?, size(header.rep_bytes)?);
        let levels = def + rep;
        if levels > body.len() || levels > expanded {
            return Err(damaged("a page's levels are longer than the page"));
        }
        let buf = match header.plain || self.compression == Compression::UNCOMPRESSED {
            true => body,
            false => {
                let mut buf = body[..levels].to_vec();
                // A page of nulls alone may have nothing behind its levels, not even an empty packed block.
                if expanded > levels {
                    buf.extend(unpack(self.compression, &body[levels..], expanded - levels)?);
                }
                buf
            }
        };
        let count = |number: i64| u32::try_from(number).map_err(|_| damaged("a negative count"));
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

    /// Room is made for all entries before they are read.
    fn check_dictionary(&self, entries: usize, bytes: usize) -> Result<()> {
        let least = match self.physical {
            Type::BYTE_ARRAY | Type::INT32 | Type::FLOAT => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::FIXED_LEN_BYTE_ARRAY => self.width.max(1),
            Type::BOOLEAN => return Err(damaged("a dictionary of truth values")),
        };
        match entries <= MAX_ENTRIES && entries.checked_mul(least).is_some_and(|need| need <= bytes) {
            true => Ok(()),
            false => Err(damaged("a dictionary with more entries than bytes for them")),
        }
    }

    /// Room is made for all lengths before they are read, and texts that share beginnings unfold.
    fn check_lengths(&self, page: &Page, values: u32) -> Result<()> {
        let kind = page.encoding();
        if !matches!(kind, Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY)
            || !page.is_data_page()
        {
            return Ok(());
        }
        // Where the lengths begin is known once the levels are read; these are not needed to know how much they can be.
        let buf = page.buffer();
        let start = match page {
            Page::DataPageV2 { def_levels_byte_len: def, rep_levels_byte_len: rep, .. } => {
                (def + rep) as usize
            }
            _ => self.levels_len(buf)?,
        };
        let wrong = |_| damaged("lengths of texts that can not be");
        let lengths = buf.get(start..).ok_or_else(|| damaged("levels longer than their page"))?;
        let (_, shared, len) = delta_sum(lengths, u64::from(values)).map_err(wrong)?;
        let mut unfolded = shared;
        if kind == Encoding::DELTA_BYTE_ARRAY {
            unfolded += delta_sum(&lengths[len..], u64::from(values)).map_err(wrong)?.1;
        }
        match unfolded <= MAX_PAGE as u64 {
            true => Ok(()),
            false => Err(external(TooMuch::Page { limit: MAX_PAGE })),
        }
    }

    /// Bytes of the levels of a page of version 1: each kind, if it is there, says how long it is.
    fn levels_len(&self, buf: &[u8]) -> Result<usize> {
        let mut at = 0;
        for _ in 0..self.level_kinds {
            let len = buf.get(at..at + 4).and_then(|len| len.try_into().ok()).map(u32::from_le_bytes);
            at += 4 + len.ok_or_else(|| damaged("ends in the levels of a page"))? as usize;
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

fn external(limit: TooMuch) -> ParquetError {
    ParquetError::External(Box::new(limit))
}

fn size(bytes: i64) -> Result<usize> {
    match usize::try_from(bytes) {
        Ok(bytes) if bytes <= MAX_PAGE => Ok(bytes),
        Ok(_) => Err(external(TooMuch::Page { limit: MAX_PAGE })),
        Err(_) => Err(damaged("a page of negative size")),
    }
}

fn encoding(number: i64) -> Result<Encoding> {
    Ok(match number {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        #[expect(deprecated, reason = "old files have it")]
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return Err(damaged("an encoding that does not exist")),
    })
}

/// Unpacks to exactly `expanded` bytes.
fn unpack(compression: Compression, packed: &[u8], expanded: usize) -> Result<Vec<u8>> {
    let wrong = || damaged("a page that can not be unpacked");
    // No block of these two packs better than 255 to 1, so no room is made for what can not come.
    let possible = expanded <= packed.len().saturating_mul(256);
    let unpacked = match compression {
        Compression::UNCOMPRESSED => packed.to_vec(),
        _ if expanded == 0 => Vec::new(),
        Compression::SNAPPY if possible && snap::raw::decompress_len(packed).ok() == Some(expanded) => {
            snap::raw::Decoder::new().decompress_vec(packed).map_err(|_| wrong())?
        }
        Compression::GZIP(_) => {
            let mut unpacked = Vec::new();
            let mut decoder = flate2::read::MultiGzDecoder::new(packed).take(expanded as u64 + 1);
            decoder.read_to_end(&mut unpacked).map_err(|_| wrong())?;
            unpacked
        }
        Compression::ZSTD(_) => zstd::bulk::decompress(packed, expanded).map_err(|_| wrong())?,
        Compression::LZ4_RAW if possible => lz4_block(packed, expanded).ok_or_else(wrong)?,
        Compression::LZ4 if possible => {
            hadoop_blocks(packed, expanded).or_else(|| lz4_block(packed, expanded)).ok_or_else(wrong)?
        }
        Compression::BROTLI(_) | Compression::LZO => {
            return Err(damaged(
                "packed by Brotli or LZO, which are not read; write it again with Zstandard",
            ));
        }
        _ => return Err(wrong()),
    };
    if unpacked.len() == expanded { Ok(unpacked) } else { Err(wrong()) }
}

fn lz4_block(packed: &[u8], expanded: usize) -> Option<Vec<u8>> {
    let mut unpacked = vec![0; expanded];
    let len = lz4_flex::block::decompress_into(packed, &mut unpacked).ok()?;
    (len == expanded).then_some(unpacked)
}

/// The old LZ4: blocks, each behind its two lengths.
fn hadoop_blocks(mut packed: &[u8], expanded: usize) -> Option<Vec<u8>> {
    let mut unpacked = Vec::new();
    while !packed.is_empty() {
        let (lengths, rest) = packed.split_at_checked(8)?;
        let length = |at: usize| Some(u32::from_be_bytes(lengths[at..at + 4].try_into().ok()?) as usize);
        let (block, rest) = rest.split_at_checked(length(4)?)?;
        let len = length(0).filter(|len| *len <= expanded - unpacked.len())?;
        unpacked.extend(lz4_block(block, len)?);
        packed = rest;
    }
    Some(unpacked)
}
