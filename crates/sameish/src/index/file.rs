//! What does a stored index look like?
//!
//! Little endian, in records: a head of 128 bytes whose last 8 are the XXH3 of the others, then arrays, each padded with
//! zeros to 64 bytes, then the XXH3 of all arrays of the record, padded likewise. `docs/algorithms.md` has every byte.
//! Heads are checked when a file is opened, arrays when that is asked for: so opening takes as long for a hundred million
//! codes as for a hundred. Whatever the arrays hold, reading them can give wrong answers but never fails.

use super::documents::{DocumentSets, Documents, SEVERAL};
use super::layers::Layers;
use super::pages::Buckets;
use super::part::Part;
use super::plan::{self, Key, Spec};
use super::table::{MAX_DEPTH, Nested, Shape, Table};
use crate::config::Blocks;
use crate::error::{Error, Result};
use crate::simd;
use std::io::{self, Write};
use std::ops::Range;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const MAGIC: [u8; 8] = *b"sameishH";
const VERSION: u32 = 1;
const HEAD: usize = 128;
const ALIGN: usize = 64;
const MAX_TABLES: u32 = 1024;
/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 16;

/// What the whole file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) radius: u32,
    pub(super) blocks: Option<Blocks>,
    pub(super) part: Part,
    pub(super) len: u64,
}

/// The buckets of a table in a file.
#[derive(Clone, Debug)]
pub(super) struct Flat<'a> {
    offsets: &'a [u64],
    codes: &'a [u64],
    values: Option<&'a [u32]>,
}

/// The documents of the codes that have several, in a file.
#[derive(Clone, Debug)]
pub(super) struct FlatDocuments<'a> {
    codes: &'a [u64],
    ends: &'a [u64],
    docs: &'a [u32],
}

/// A file whose heads were checked.
#[derive(Clone, Debug)]
pub(super) struct Opened<'a> {
    pub(super) header: Header,
    pub(super) layers: Layers<Flat<'a>>,
    pub(super) documents: FlatDocuments<'a>,
    /// Where the arrays of each record are; their checksum follows.
    pub(super) arrays: Vec<Range<usize>>,
}

impl Flat<'_> {
    #[inline]
    fn range(&self, bucket: u32) -> Range<usize> {
        let offset = |i: usize| self.offsets.get(i).map_or(0, |&offset| offset as usize);
        offset(bucket as usize)..offset(bucket as usize + 1)
    }
}

impl Buckets for Flat<'_> {
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
        if value != SEVERAL {
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

    /// Each code with several documents, and those.
    pub(super) fn sets(&self) -> impl Iterator<Item = (u64, &[u32])> {
        self.codes.iter().enumerate().map(|(at, &code)| (code, self.set(at)))
    }
}

/// Writes an index.
pub(super) fn write<S: Buckets>(
    out: &mut dyn Write,
    header: &Header,
    layers: &Layers<S>,
    documents: &Documents,
) -> io::Result<()> {
    let mut writer = Writer { out, hash: Xxh3::new(), buffer: Vec::with_capacity(BUFFER + 8), at: 0 };
    let blocks = header.blocks.unwrap_or(Blocks { total: 0, differing: 0 });
    let mut head = Head::default();
    head.bytes(&MAGIC);
    [VERSION, header.radius, blocks.total, blocks.differing, header.part.index, header.part.of]
        .iter()
        .for_each(|&field| head.u32(field));
    head.u64(header.len);
    writer.head(&head)?;
    write_layers(&mut writer, layers, 0)?;
    write_documents(&mut writer, documents)
}

fn write_layers<S: Buckets>(writer: &mut Writer, layers: &Layers<S>, depth: u32) -> io::Result<()> {
    let mut head = Head::default();
    head.u64(layers.len() as u64);
    head.u32(layers.tables().len() as u32);
    head.u32(depth);
    writer.head(&head)?;
    layers.tables().iter().try_for_each(|table| write_table(writer, table, depth))
}

fn write_table<S: Buckets>(writer: &mut Writer, table: &Table<S>, depth: u32) -> io::Result<()> {
    let (crowded, nested) = (table.crowded(), table.all_nested());
    let buckets = || 0..table.buckets() as u32;
    let stored: usize = buckets().map(|bucket| table.codes(bucket).len()).sum();
    writer.head(&table_head(table, stored, crowded.len()))?;
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
        let places = 0..table.codes(bucket).len();
        places.filter_map(|at| table.value(bucket, at)).try_for_each(|value| writer.u32(value))?;
    }
    writer.pad()?;
    for (bucket, index) in crowded {
        writer.u32(bucket)?;
        writer.u32(index as u32)?;
    }
    writer.pad()?;
    for nested in nested {
        writer.u64(nested.code)?;
        writer.u64(nested.shared)?;
    }
    writer.finish_arrays()?;
    nested.iter().try_for_each(|nested| write_layers(writer, &nested.layers, depth + 1))
}

fn table_head<S: Buckets>(table: &Table<S>, stored: usize, crowded: usize) -> Head {
    let Shape { spec, load, bits, split } = table.shape;
    let (kind, shift) = match spec.key {
        Key::Field { shift } => (0, shift),
        Key::Gathered => (1, 0),
        Key::Hashed => (2, 0),
    };
    let mut head = Head::default();
    head.u64(spec.mask);
    [kind, shift, spec.flips, load as u32, bits, split].iter().for_each(|&field| head.u32(field));
    head.u64(table.len as u64);
    head.u64(stored as u64);
    head.u64(crowded as u64);
    head.u32(table.all_nested().len() as u32);
    head.u32(u32::from(table.with_values));
    head
}

fn write_documents(writer: &mut Writer, documents: &Documents) -> io::Result<()> {
    let sets = documents.sorted();
    let mut head = Head::default();
    head.u64(sets.len() as u64);
    head.u64(sets.iter().map(|(_, set)| set.len() as u64).sum());
    writer.head(&head)?;
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

/// The fields of a head.
#[derive(Default)]
struct Head(Vec<u8>);

impl Head {
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
    fn head(&mut self, head: &Head) -> io::Result<()> {
        let mut bytes = head.0.clone();
        bytes.resize(HEAD - 8, 0);
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

/// Opens an index: checks all heads and lengths.
pub(super) fn open(bytes: &[u8]) -> Result<Opened<'_>> {
    let mut reader = Reader { bytes, at: 0, arrays: Vec::new() };
    let header = reader.header()?;
    let layers = reader.layers(header.radius, header.part, 0)?;
    let documents = reader.documents()?;
    if reader.at != bytes.len() {
        return Err(reader.corrupt("bytes behind the end"));
    }
    Ok(Opened { header, layers, documents, arrays: reader.arrays })
}

/// Checks the arrays.
pub(super) fn verify(bytes: &[u8], arrays: &[Range<usize>]) -> Result<()> {
    for range in arrays {
        let (Some(arrays), Some(trailer)) =
            (bytes.get(range.clone()), bytes.get(range.end..range.end + ALIGN))
        else {
            return Err(Error::CorruptIndex { reason: "bytes end too early", offset: range.start });
        };
        if xxh3_64(arrays) != le_u64(trailer, 0) || trailer[8..].iter().any(|&byte| byte != 0) {
            return Err(Error::CorruptIndex { reason: "wrong checksum of arrays", offset: range.start });
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

    /// The next bytes, and those that pad them.
    fn take(&mut self, count: u64, size: u64) -> Result<&'a [u8]> {
        let left = self.bytes.len() - self.at;
        let length = count.checked_mul(size).filter(|&length| length <= left as u64);
        let Some(length) = length.map(|length| length as usize) else {
            return Err(self.corrupt("bytes end too early"));
        };
        let taken = &self.bytes[self.at..self.at + length];
        self.at = (self.at + length).next_multiple_of(ALIGN);
        if self.at > self.bytes.len() {
            return Err(self.corrupt("bytes end too early"));
        }
        Ok(taken)
    }

    fn head(&mut self) -> Result<&'a [u8]> {
        let head = self.take(1, HEAD as u64)?;
        if xxh3_64(&head[..HEAD - 8]) != le_u64(head, HEAD - 8) {
            return Err(self.corrupt("wrong checksum of a head"));
        }
        Ok(head)
    }

    fn u64s(&mut self, count: u64) -> Result<&'a [u64]> {
        self.items(count, 8)
    }

    fn items<T: bytemuck::AnyBitPattern>(&mut self, count: u64, size: u64) -> Result<&'a [T]> {
        let bytes = self.take(count, size)?;
        bytemuck::try_cast_slice(bytes).map_err(|_| self.corrupt("bytes that are not aligned to 8"))
    }

    /// Ends the arrays that began at `start`.
    fn end_arrays(&mut self, start: usize) -> Result<()> {
        self.arrays.push(start..self.at);
        self.take(1, ALIGN as u64).map(drop)
    }

    fn header(&mut self) -> Result<Header> {
        if cfg!(target_endian = "big") {
            return Err(self.corrupt("little endian bytes on a big endian machine"));
        }
        if !self.bytes.starts_with(&MAGIC) {
            return Err(self.corrupt("no magic number"));
        }
        let head = self.head()?;
        let field = |i: usize| le_u32(head, 8 + 4 * i);
        if field(0) != VERSION {
            return Err(self.corrupt("an unknown format version"));
        }
        let blocks = (field(2) > 0).then_some(Blocks { total: field(2), differing: field(3) });
        let part = Part { index: field(4), of: field(5) }.check()?;
        if field(1) > 64 {
            return Err(self.corrupt("a radius over 64"));
        }
        Ok(Header { radius: field(1), blocks, part, len: le_u64(head, 32) })
    }

    fn layers(&mut self, radius: u32, part: Part, depth: u32) -> Result<Layers<Flat<'a>>> {
        let head = self.head()?;
        let (len, tables) = (le_u64(head, 0), le_u32(head, 8));
        if le_u32(head, 12) != depth || depth > MAX_DEPTH || !(1..=MAX_TABLES).contains(&tables) {
            return Err(self.corrupt("too many tables, or tables within tables"));
        }
        let tables: Vec<_> = (0..tables).map(|_| self.table(radius, depth)).collect::<Result<_>>()?;
        Ok(Layers::over(radius, part, tables, len as usize))
    }

    fn table(&mut self, radius: u32, depth: u32) -> Result<Table<Flat<'a>>> {
        let head = self.head()?;
        let shape = self.shape(head)?;
        let (len, stored) = (le_u64(head, 32), le_u64(head, 40));
        let (crowded, nested) = (le_u64(head, 48), u64::from(le_u32(head, 56)));
        let with_values = le_u32(head, 60) == 1;
        let start = self.at;
        let offsets = self.u64s(shape.buckets() as u64 + 1)?;
        let codes = self.u64s(stored)?;
        let values = self.items::<u32>(if with_values { stored } else { 0 }, 4)?;
        let crowded = self.items::<[u32; 2]>(crowded, 8)?;
        let shared = self.items::<[u64; 2]>(nested, 16)?;
        self.end_arrays(start)?;
        let store = Flat { offsets, codes, values: with_values.then_some(values) };
        let mut table = Table::over(shape, store, len as usize, with_values, radius, depth);
        let nested: Vec<Nested<Flat>> = shared
            .iter()
            .map(|&[code, shared]| {
                Ok(Nested { layers: self.layers(radius, Part::WHOLE, depth + 1)?, code, shared })
            })
            .collect::<Result<_>>()?;
        let count = nested.len();
        let known = crowded.iter().map(|&[bucket, index]| (bucket, index as usize));
        table.nest(known.filter(|&(_, index)| index < count), nested);
        Ok(table)
    }

    fn shape(&self, head: &[u8]) -> Result<Shape> {
        let (mask, field) = (le_u64(head, 0), |i: usize| le_u32(head, 8 + 4 * i));
        let key = match field(0) {
            0 => Key::Field { shift: field(1) },
            1 => Key::Gathered,
            _ => Key::Hashed,
        };
        let spec = Spec { key, mask, flips: field(2) };
        let shape = Shape { spec, load: field(3).max(1) as usize, bits: field(4), split: field(5) };
        let named = shape.bits <= shape.max_bits() && u64::from(shape.split) < 1 << shape.bits.min(32);
        let shift = !matches!(key, Key::Field { shift } if shift != mask.trailing_zeros());
        if mask == 0 || !named || !shift || !plan::bearable(&spec, shape.bits) {
            return Err(self.corrupt("a table that can not be"));
        }
        Ok(shape)
    }

    fn documents(&mut self) -> Result<FlatDocuments<'a>> {
        let head = self.head()?;
        let (sets, docs) = (le_u64(head, 0), le_u64(head, 8));
        let start = self.at;
        let (codes, ends) = (self.u64s(sets)?, self.u64s(sets)?);
        let docs = self.items::<u32>(docs, 4)?;
        self.end_arrays(start)?;
        Ok(FlatDocuments { codes, ends, docs })
    }
}
