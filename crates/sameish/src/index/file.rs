//! File format of a stored Hamming index.
//!
//! A file is a sequence of records in little-endian byte order. A record is a header of 128 bytes, whose last 8 bytes are
//! the XXH3-64 of the others, followed by arrays, each zero-padded to a multiple of 64 bytes, and a trailer of 64 bytes with
//! the XXH3-64 of all arrays of the record. `docs/algorithms.md` specifies every field.
//!
//! Opening a file checks the headers and lengths only, so its time does not depend on the number of codes. [`verify`]
//! checks the arrays. Every access to an array is bounds-checked: damaged arrays can cause wrong answers, but no panic.

use super::documents::{DocumentSets, Documents, MULTIPLE};
use super::pages::BucketStore;
use super::part::Part;
use super::plan::{self, Key, TableSpec};
use super::table::{Addressing, MAX_DEPTH, Nested, Table};
use super::table_set::TableSet;
use crate::config::Blocks;
use crate::error::{Error, Result};
use crate::simd;
use std::io::{self, Write};
use std::ops::Range;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const MAGIC: [u8; 8] = *b"sameishH";
const VERSION: u32 = 1;
const HEADER_LEN: usize = 128;
const ALIGN: usize = 64;
const MAX_TABLES: u32 = 1024;
/// Size of the write buffer in bytes.
const BUFFER: usize = 1 << 16;

/// The contents of the file header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) radius: u32,
    pub(super) blocks: Option<Blocks>,
    pub(super) part: Part,
    pub(super) len: u64,
}

/// The buckets of a stored table.
#[derive(Clone, Debug)]
pub(super) struct FlatBuckets<'a> {
    offsets: &'a [u64],
    codes: &'a [u64],
    values: Option<&'a [u32]>,
}

/// The documents of stored codes that have several.
#[derive(Clone, Debug)]
pub(super) struct FlatDocuments<'a> {
    codes: &'a [u64],
    ends: &'a [u64],
    docs: &'a [u32],
}

/// A stored index whose headers and lengths have been checked.
#[derive(Clone, Debug)]
pub(super) struct OpenedIndex<'a> {
    pub(super) header: Header,
    pub(super) table_set: TableSet<FlatBuckets<'a>>,
    pub(super) documents: FlatDocuments<'a>,
    /// The byte range of the arrays of each record. The trailer with their checksum follows the range.
    pub(super) arrays: Vec<Range<usize>>,
}

impl FlatBuckets<'_> {
    #[inline]
    fn range(&self, bucket: u32) -> Range<usize> {
        let offset = |i: usize| self.offsets.get(i).map_or(0, |&offset| offset as usize);
        offset(bucket as usize)..offset(bucket as usize + 1)
    }
}

impl BucketStore for FlatBuckets<'_> {
    #[inline]
    fn codes(&self, bucket: u32) -> &[u64] {
        self.codes.get(self.range(bucket)).unwrap_or(&[])
    }

    #[inline]
    fn value(&self, bucket: u32, at: usize) -> Option<u32> {
        self.values?.get(self.range(bucket).start.checked_add(at)?).copied()
    }

    #[inline]
    fn prefetch_value(&self, bucket: u32, at: usize) {
        if let Some(values) = self.values {
            simd::prefetch(values, self.range(bucket).start.wrapping_add(at));
        }
    }

    #[inline]
    fn prefetch_header(&self, bucket: u32) {
        simd::prefetch(self.offsets, bucket as usize);
    }
}

impl DocumentSets for FlatDocuments<'_> {
    fn each(&self, code: u64, value: u32, each: &mut dyn FnMut(u32)) {
        if value != MULTIPLE {
            return each(value);
        }
        if let Ok(at) = self.codes.binary_search(&code) {
            self.set(at).iter().for_each(|&doc| each(doc));
        }
    }
}

impl FlatDocuments<'_> {
    fn set(&self, at: usize) -> &[u32] {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |&end| end as usize);
        let end = self.ends.get(at).map_or(0, |&end| end as usize);
        self.docs.get(start..end).unwrap_or(&[])
    }

    /// Returns the codes that have several documents, with their documents.
    pub(super) fn sets(&self) -> impl Iterator<Item = (u64, &[u32])> {
        self.codes.iter().enumerate().map(|(at, &code)| (code, self.set(at)))
    }
}

/// Writes an index to `out`.
pub(super) fn write<S: BucketStore>(
    out: &mut dyn Write,
    header: &Header,
    table_set: &TableSet<S>,
    documents: &Documents,
) -> io::Result<()> {
    let mut writer = Writer { out, hash: Xxh3::new(), buffer: Vec::with_capacity(BUFFER + 8), at: 0 };
    let blocks = header.blocks.unwrap_or(Blocks { total: 0, differing: 0 });
    let mut record = RecordHeader::default();
    record.bytes(&MAGIC);
    [VERSION, header.radius, blocks.total, blocks.differing, header.part.index, header.part.of]
        .iter()
        .for_each(|&field| record.u32(field));
    record.u64(header.len);
    writer.record_header(&record)?;
    write_table_set(&mut writer, table_set, 0)?;
    write_documents(&mut writer, documents)
}

fn write_table_set<S: BucketStore>(
    writer: &mut Writer,
    table_set: &TableSet<S>,
    depth: u32,
) -> io::Result<()> {
    let mut header = RecordHeader::default();
    header.u64(table_set.len() as u64);
    header.u32(table_set.tables().len() as u32);
    header.u32(depth);
    writer.record_header(&header)?;
    table_set.tables().iter().try_for_each(|table| write_table(writer, table, depth))
}

fn write_table<S: BucketStore>(writer: &mut Writer, table: &Table<S>, depth: u32) -> io::Result<()> {
    let oversized = table.oversized_buckets();
    let nested = table.all_nested();
    let buckets = || 0..table.buckets() as u32;
    let stored: usize = buckets().map(|bucket| table.codes(bucket).len()).sum();
    writer.record_header(&table_header(table, stored, oversized.len()))?;
    let mut offset = 0;
    writer.u64(0)?;
    for bucket in buckets() {
        offset += table.codes(bucket).len() as u64;
        writer.u64(offset)?;
    }
    writer.pad()?;
    for bucket in buckets() {
        table.codes(bucket).iter().try_for_each(|&code| writer.u64(code))?;
    }
    writer.pad()?;
    for bucket in buckets() {
        let positions = 0..table.codes(bucket).len();
        positions.filter_map(|at| table.value(bucket, at)).try_for_each(|value| writer.u32(value))?;
    }
    writer.pad()?;
    for (bucket, index) in oversized {
        writer.u32(bucket)?;
        writer.u32(index as u32)?;
    }
    writer.pad()?;
    for nested in nested {
        writer.u64(nested.code)?;
        writer.u64(nested.shared)?;
    }
    writer.finish_arrays()?;
    nested.iter().try_for_each(|nested| write_table_set(writer, &nested.table_set, depth + 1))
}

fn table_header<S: BucketStore>(table: &Table<S>, stored: usize, oversized: usize) -> RecordHeader {
    let Addressing { spec, load, bits, split } = table.addressing;
    let (kind, shift) = match spec.key {
        Key::Field { shift } => (0, shift),
        Key::Gathered => (1, 0),
        Key::Hashed => (2, 0),
    };
    let mut header = RecordHeader::default();
    header.u64(spec.mask);
    [kind, shift, spec.flips, load as u32, bits, split].iter().for_each(|&field| header.u32(field));
    header.u64(table.len as u64);
    header.u64(stored as u64);
    header.u64(oversized as u64);
    header.u32(table.all_nested().len() as u32);
    header.u32(u32::from(table.with_values));
    header
}

fn write_documents(writer: &mut Writer, documents: &Documents) -> io::Result<()> {
    let sets = documents.sorted();
    let mut header = RecordHeader::default();
    header.u64(sets.len() as u64);
    header.u64(sets.iter().map(|(_, set)| set.len() as u64).sum());
    writer.record_header(&header)?;
    sets.iter().try_for_each(|&(code, _)| writer.u64(code))?;
    writer.pad()?;
    let mut end = 0;
    for (_, set) in &sets {
        end += set.len() as u64;
        writer.u64(end)?;
    }
    writer.pad()?;
    for (_, set) in &sets {
        set.iter().try_for_each(|&doc| writer.u32(doc))?;
    }
    writer.finish_arrays()
}

/// The fields of a record header, without padding and checksum.
#[derive(Default)]
struct RecordHeader(Vec<u8>);

impl RecordHeader {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn u32(&mut self, field: u32) {
        self.bytes(&field.to_le_bytes());
    }

    fn u64(&mut self, field: u64) {
        self.bytes(&field.to_le_bytes());
    }
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    hash: Xxh3,
    buffer: Vec<u8>,
    at: usize,
}

impl Writer<'_> {
    fn record_header(&mut self, header: &RecordHeader) -> io::Result<()> {
        let mut bytes = header.0.clone();
        bytes.resize(HEADER_LEN - 8, 0);
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        self.out.write_all(&bytes)
    }

    #[inline]
    fn u64(&mut self, item: u64) -> io::Result<()> {
        self.bytes(&item.to_le_bytes())
    }

    #[inline]
    fn u32(&mut self, item: u32) -> io::Result<()> {
        self.bytes(&item.to_le_bytes())
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        self.at += bytes.len();
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hash.update(&self.buffer);
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn pad(&mut self) -> io::Result<()> {
        self.bytes(&[0; ALIGN][..self.at.next_multiple_of(ALIGN) - self.at])
    }

    fn finish_arrays(&mut self) -> io::Result<()> {
        self.pad()?;
        self.flush()?;
        let mut trailer = [0; ALIGN];
        trailer[..8].copy_from_slice(&self.hash.digest().to_le_bytes());
        self.hash.reset();
        self.out.write_all(&trailer)
    }
}

/// Opens a stored index: checks all headers and lengths.
pub(super) fn open(bytes: &[u8]) -> Result<OpenedIndex<'_>> {
    let mut reader = Reader { bytes, at: 0, arrays: Vec::new() };
    let header = reader.header()?;
    let table_set = reader.table_set(header.radius, header.part, 0)?;
    let documents = reader.documents()?;
    if reader.at != bytes.len() {
        return Err(reader.corrupt("unexpected data after the last record"));
    }
    Ok(OpenedIndex { header, table_set, documents, arrays: reader.arrays })
}

/// Checks the arrays against their checksums.
pub(super) fn verify(bytes: &[u8], arrays: &[Range<usize>]) -> Result<()> {
    for range in arrays {
        let (Some(arrays), Some(trailer)) =
            (bytes.get(range.clone()), bytes.get(range.end..range.end + ALIGN))
        else {
            return Err(Error::CorruptIndex { reason: "unexpected end of data", offset: range.start });
        };
        if xxh3_64(arrays) != le_u64(trailer, 0) || trailer[8..].iter().any(|&byte| byte != 0) {
            return Err(Error::CorruptIndex {
                reason: "wrong checksum of the record's arrays",
                offset: range.start,
            });
        }
    }
    Ok(())
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    arrays: Vec<Range<usize>>,
}

fn le_u64(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

fn le_u32(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

impl<'a> Reader<'a> {
    fn corrupt(&self, reason: &'static str) -> Error {
        Error::CorruptIndex { reason, offset: self.at }
    }

    /// Returns the next `count` items of `size` bytes, and skips the padding after them.
    fn take(&mut self, count: u64, size: u64) -> Result<&'a [u8]> {
        let left = self.bytes.len() - self.at;
        let length = count.checked_mul(size).filter(|&length| length <= left as u64);
        let Some(length) = length.map(|length| length as usize) else {
            return Err(self.corrupt("unexpected end of data"));
        };
        let taken = &self.bytes[self.at..self.at + length];
        self.at = (self.at + length).next_multiple_of(ALIGN);
        if self.at > self.bytes.len() {
            return Err(self.corrupt("unexpected end of data"));
        }
        Ok(taken)
    }

    fn record_header(&mut self) -> Result<&'a [u8]> {
        let header = self.take(1, HEADER_LEN as u64)?;
        if xxh3_64(&header[..HEADER_LEN - 8]) != le_u64(header, HEADER_LEN - 8) {
            return Err(self.corrupt("wrong checksum of the record header"));
        }
        Ok(header)
    }

    fn u64s(&mut self, count: u64) -> Result<&'a [u64]> {
        self.items(count, 8)
    }

    fn items<T: bytemuck::AnyBitPattern>(&mut self, count: u64, size: u64) -> Result<&'a [T]> {
        let bytes = self.take(count, size)?;
        bytemuck::try_cast_slice(bytes).map_err(|_| self.corrupt("data is not aligned to 8 bytes"))
    }

    /// Registers the arrays from `start` to the current position as those of one record, and skips the trailer.
    fn end_arrays(&mut self, start: usize) -> Result<()> {
        self.arrays.push(start..self.at);
        self.take(1, ALIGN as u64).map(drop)
    }

    fn header(&mut self) -> Result<Header> {
        if cfg!(target_endian = "big") {
            return Err(self.corrupt("little-endian format is not supported on big-endian machines"));
        }
        if !self.bytes.starts_with(&MAGIC) {
            return Err(self.corrupt("wrong magic number"));
        }
        let header = self.record_header()?;
        let field = |i: usize| le_u32(header, 8 + 4 * i);
        if field(0) != VERSION {
            return Err(self.corrupt("unknown format version"));
        }
        let blocks = (field(2) > 0).then_some(Blocks { total: field(2), differing: field(3) });
        let part = Part { index: field(4), of: field(5) }.check()?;
        if field(1) > 64 {
            return Err(self.corrupt("radius exceeds 64 bits"));
        }
        Ok(Header { radius: field(1), blocks, part, len: le_u64(header, 32) })
    }

    fn table_set(&mut self, radius: u32, part: Part, depth: u32) -> Result<TableSet<FlatBuckets<'a>>> {
        let header = self.record_header()?;
        let len = le_u64(header, 0);
        let tables = le_u32(header, 8);
        if le_u32(header, 12) != depth || depth > MAX_DEPTH || !(1..=MAX_TABLES).contains(&tables) {
            return Err(self.corrupt("invalid number of tables or nesting depth"));
        }
        let tables: Vec<_> = (0..tables).map(|_| self.table(radius, depth)).collect::<Result<_>>()?;
        Ok(TableSet::over(radius, part, tables, len as usize))
    }

    fn table(&mut self, radius: u32, depth: u32) -> Result<Table<FlatBuckets<'a>>> {
        let header = self.record_header()?;
        let addressing = self.addressing(header)?;
        let len = le_u64(header, 32);
        let stored = le_u64(header, 40);
        let oversized = le_u64(header, 48);
        let nested = u64::from(le_u32(header, 56));
        let with_values = le_u32(header, 60) == 1;
        let start = self.at;
        let offsets = self.u64s(addressing.buckets() as u64 + 1)?;
        let codes = self.u64s(stored)?;
        let values = self.items::<u32>(if with_values { stored } else { 0 }, 4)?;
        let oversized = self.items::<[u32; 2]>(oversized, 8)?;
        let shared = self.items::<[u64; 2]>(nested, 16)?;
        self.end_arrays(start)?;
        let store = FlatBuckets { offsets, codes, values: with_values.then_some(values) };
        let mut table = Table::over(addressing, store, len as usize, with_values, radius, depth);
        let nested: Vec<Nested<FlatBuckets>> = shared
            .iter()
            .map(|&[code, shared]| {
                Ok(Nested { table_set: self.table_set(radius, Part::WHOLE, depth + 1)?, code, shared })
            })
            .collect::<Result<_>>()?;
        let count = nested.len();
        let nested_at = oversized.iter().map(|&[bucket, index]| (bucket, index as usize));
        table.set_nested(nested_at.filter(|&(_, index)| index < count), nested);
        Ok(table)
    }

    fn addressing(&self, header: &[u8]) -> Result<Addressing> {
        let mask = le_u64(header, 0);
        let field = |i: usize| le_u32(header, 8 + 4 * i);
        let key = match field(0) {
            0 => Key::Field { shift: field(1) },
            1 => Key::Gathered,
            _ => Key::Hashed,
        };
        let spec = TableSpec { key, mask, flips: field(2) };
        let addressing = Addressing { spec, load: field(3).max(1) as usize, bits: field(4), split: field(5) };
        let is_addressable = addressing.bits <= addressing.max_bits()
            && u64::from(addressing.split) < 1 << addressing.bits.min(32);
        let has_wrong_shift = matches!(key, Key::Field { shift } if shift != mask.trailing_zeros());
        if mask == 0 || !is_addressable || has_wrong_shift || !plan::is_feasible(&spec, addressing.bits) {
            return Err(self.corrupt("inconsistent table header"));
        }
        Ok(addressing)
    }

    fn documents(&mut self) -> Result<FlatDocuments<'a>> {
        let header = self.record_header()?;
        let sets = le_u64(header, 0);
        let docs = le_u64(header, 8);
        let start = self.at;
        let codes = self.u64s(sets)?;
        let ends = self.u64s(sets)?;
        let docs = self.items::<u32>(docs, 4)?;
        self.end_arrays(start)?;
        Ok(FlatDocuments { codes, ends, docs })
    }
}
