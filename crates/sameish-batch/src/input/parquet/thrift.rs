//! The part of Thrift's compact protocol that page headers and the footer's schema need.
//!
//! The `parquet` crate parses both too, but allocates whatever a hostile header requests and recurses as deep as a hostile
//! schema nests, so both are checked here first.

/// Maximum nesting of structs and lists, and of groups in a schema.
const MAX_DEPTH: usize = 64;
/// Maximum number of schema elements.
const MAX_ELEMENTS: u64 = 1 << 17;

/// Why bytes cannot be parsed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The bytes are truncated.
    Short,
    /// The bytes are invalid.
    Wrong(&'static str),
}

/// Type codes of the protocol.
const I32: u8 = 5;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn byte(&mut self) -> Result<u8, Fault> {
        let byte = self.bytes.get(self.at).copied().ok_or(Fault::Short)?;
        self.at += 1;
        Ok(byte)
    }

    fn jump(&mut self, bytes: u64) -> Result<(), Fault> {
        let left = (self.bytes.len() - self.at) as u64;
        self.at += if bytes <= left { bytes as usize } else { return Err(Fault::Short) };
        Ok(())
    }

    fn unsigned(&mut self) -> Result<u64, Fault> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Fault::Wrong("number is too long"))
    }

    fn signed(&mut self) -> Result<i64, Fault> {
        let number = self.unsigned()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Reads element type and length of a list.
    fn list(&mut self) -> Result<(u8, u64), Fault> {
        let head = self.byte()?;
        let size = if head >> 4 == 15 { self.unsigned()? } else { u64::from(head >> 4) };
        Ok((head & 15, size))
    }

    /// Calls `take` for each field of a struct; `take` reads the value, or returns `false` to skip it.
    fn fields(
        &mut self,
        depth: usize,
        mut take: impl FnMut(&mut Self, i64, u8) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        let mut id = 0i64;
        loop {
            let head = self.byte()?;
            let kind = head & 15;
            if kind == 0 {
                return Ok(());
            }
            id = if head >> 4 == 0 { self.signed()? } else { id.wrapping_add(i64::from(head >> 4)) };
            if !take(self, id, kind)? {
                self.skip(kind, depth)?;
            }
        }
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<(), Fault> {
        if depth == MAX_DEPTH {
            return Err(Fault::Wrong("nested too deeply"));
        }
        match kind {
            // The type code of a boolean field is its value.
            1 | 2 => Ok(()),
            3 => self.jump(1),
            4..=6 => self.unsigned().map(drop),
            7 => self.jump(8),
            8 => self.unsigned().and_then(|len| self.jump(len)),
            LIST | 10 => {
                let (kind, size) = self.list()?;
                (0..size).try_for_each(|_| self.skip_element(kind, depth + 1))
            }
            11 => {
                let size = self.unsigned()?;
                let kinds = if size > 0 { self.byte()? } else { 0 };
                (0..size).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth + 1)?;
                    self.skip_element(kinds & 15, depth + 1)
                })
            }
            STRUCT => self.fields(depth + 1, |_, _, _| Ok(false)),
            13 => self.jump(16),
            _ => Err(Fault::Wrong("unknown Thrift type")),
        }
    }

    /// Skips a list element; booleans in lists take a byte.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Result<(), Fault> {
        if matches!(kind, 1 | 2) { self.jump(1) } else { self.skip(kind, depth) }
    }
}

/// Header of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageHeader {
    pub(crate) kind: i64,
    /// Size of the page in bytes after decompression.
    pub(crate) expanded: i64,
    /// Size of the page in bytes before decompression.
    pub(crate) packed: i64,
    pub(crate) values: i64,
    pub(crate) encoding: i64,
    pub(crate) def_encoding: i64,
    pub(crate) rep_encoding: i64,
    /// The following fields belong to pages of version 2.
    pub(crate) nulls: i64,
    pub(crate) rows: i64,
    pub(crate) def_bytes: i64,
    pub(crate) rep_bytes: i64,
    /// `true` if a page of version 2 is not compressed.
    pub(crate) plain: bool,
}

impl PageHeader {
    pub(crate) const DATA: i64 = 0;
    pub(crate) const DICTIONARY: i64 = 2;
    pub(crate) const DATA_V2: i64 = 3;
    /// Header field of each kind of page.
    const FIELDS: [(i64, i64); 3] = [(5, Self::DATA), (7, Self::DICTIONARY), (8, Self::DATA_V2)];

    /// Parses a header and returns it with its length in bytes.
    pub(crate) fn read(bytes: &[u8]) -> Result<(PageHeader, usize), Fault> {
        let mut cursor = Cursor { bytes, at: 0 };
        let mut header = PageHeader { kind: -1, ..PageHeader::default() };
        let mut described = None;
        cursor.fields(0, |cursor, id, kind| {
            match (id, kind) {
                (1, I32) => header.kind = cursor.signed()?,
                (2, I32) => header.expanded = cursor.signed()?,
                (3, I32) => header.packed = cursor.signed()?,
                (5 | 7 | 8, STRUCT) => {
                    described = Some(id);
                    cursor.fields(1, |cursor, field, kind| header.describe(cursor, id, field, kind))?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        match PageHeader::FIELDS.iter().any(|&(id, kind)| described == Some(id) && header.kind == kind) {
            true => Ok((header, cursor.at)),
            false => Err(Fault::Wrong("page of an unknown kind")),
        }
    }

    fn describe(&mut self, cursor: &mut Cursor<'_>, id: i64, field: i64, kind: u8) -> Result<bool, Fault> {
        let place = match (id, field, kind) {
            (_, 1, I32) => &mut self.values,
            (5 | 7, 2, I32) | (8, 4, I32) => &mut self.encoding,
            (5, 3, I32) => &mut self.def_encoding,
            (5, 4, I32) => &mut self.rep_encoding,
            (8, 2, I32) => &mut self.nulls,
            (8, 3, I32) => &mut self.rows,
            (8, 5, I32) => &mut self.def_bytes,
            (8, 6, I32) => &mut self.rep_bytes,
            (8, 7, 1 | 2) => {
                self.plain = kind == 2;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        *place = cursor.signed()?;
        Ok(true)
    }
}

/// Checks that the footer's schema is a tree of limited size and depth.
pub(crate) fn check_schema(footer: &[u8]) -> Result<(), Fault> {
    let mut cursor = Cursor { bytes: footer, at: 0 };
    // Number of children that are still expected at each level.
    let mut open: Vec<u64> = vec![1];
    let mut seen = false;
    cursor.fields(0, |cursor, id, kind| {
        if (id, kind) != (2, LIST) {
            return Ok(false);
        }
        let (element, size) = cursor.list()?;
        if element != STRUCT || size > MAX_ELEMENTS || seen {
            return Err(Fault::Wrong("the schema is missing or too large"));
        }
        seen = true;
        for _ in 0..size {
            let mut children = 0;
            cursor.fields(1, |cursor, id, kind| {
                let counts = (id, kind) == (5, I32);
                if counts {
                    children = cursor.signed()?;
                }
                Ok(counts)
            })?;
            while open.last() == Some(&0) {
                open.pop();
            }
            let Some(left) = open.last_mut() else { return Err(Fault::Wrong("the schema is not a tree")) };
            *left -= 1;
            let children = u64::try_from(children).map_err(|_| Fault::Wrong("the schema is not a tree"))?;
            if children > size || open.len() > MAX_DEPTH {
                return Err(Fault::Wrong("the schema is nested too deeply"));
            }
            open.push(children);
        }
        Ok(true)
    })?;
    match seen && open.iter().all(|&left| left == 0) {
        true => Ok(()),
        false => Err(Fault::Wrong("the schema is not a tree")),
    }
}

/// Returns number, sum and encoded size of DELTA_BINARY_PACKED values.
///
/// Lengths of strings use this encoding. A few bytes can encode millions of lengths, for which a reader would allocate.
pub(crate) fn delta_sum(bytes: &[u8], most: u64) -> Result<(u64, u64, usize), Fault> {
    let mut cursor = Cursor { bytes, at: 0 };
    let (block, minis, count) = (cursor.unsigned()?, cursor.unsigned()?, cursor.unsigned()?);
    let mut value = cursor.signed()?;
    let wrong = || Fault::Wrong("invalid lengths");
    if count > most || minis == 0 || minis > 1024 || block > 1 << 20 || !block.is_multiple_of(minis * 8) {
        return Err(wrong());
    }
    let per_mini = block / minis;
    let mut sum = if count > 0 { u64::try_from(value).map_err(|_| wrong())? } else { 0 };
    let mut left = count.saturating_sub(1);
    while left > 0 {
        let least = cursor.signed()?;
        let widths = cursor.at;
        cursor.jump(minis)?;
        for mini in 0..minis as usize {
            if left == 0 {
                break;
            }
            let width = u64::from(cursor.bytes[widths + mini]);
            if width > 64 {
                return Err(wrong());
            }
            let start = cursor.at;
            cursor.jump(width * per_mini / 8)?;
            for i in 0..left.min(per_mini) {
                let delta = packed_bits(&cursor.bytes[start..], i * width, width);
                value = value.wrapping_add(least).wrapping_add(delta as i64);
                let length = u64::try_from(value).ok().filter(|&length| length <= u64::from(u32::MAX));
                sum += length.ok_or_else(wrong)?;
            }
            left -= left.min(per_mini);
        }
    }
    Ok((count, sum, cursor.at))
}

/// Returns `width` bits starting at bit `at`, least significant first.
fn packed_bits(bytes: &[u8], at: u64, width: u64) -> u64 {
    let bit = |i: u64| bytes.get((i / 8) as usize).map_or(0, |byte| u64::from(byte >> (i % 8)) & 1);
    (0..width).fold(0, |number, i| number | bit(at + i) << i)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Field 1 = 0 (data page), field 2 = 300, field 3 = 100, field 5 = { 1: 10, 2: 8, 3: 3, 4: 3 }, as Thrift writes them.
    const DATA_PAGE: &[u8] =
        &[0x15, 0, 0x15, 0xd8, 0x04, 0x15, 0xc8, 0x01, 0x2c, 0x15, 20, 0x15, 16, 0x15, 6, 0x15, 6, 0, 0];

    #[test]
    fn reads_the_header_of_a_page() {
        let (header, len) = PageHeader::read(DATA_PAGE).unwrap();
        assert_eq!(len, DATA_PAGE.len());
        let expected = PageHeader {
            kind: PageHeader::DATA,
            expanded: 300,
            packed: 100,
            values: 10,
            encoding: 8,
            def_encoding: 3,
            rep_encoding: 3,
            ..PageHeader::default()
        };
        assert_eq!(header, expected);
        for len in 0..DATA_PAGE.len() {
            assert_eq!(PageHeader::read(&DATA_PAGE[..len]), Err(Fault::Short), "{len}");
        }
    }

    #[test]
    fn skips_unknown_fields_up_to_a_depth() {
        // A list of three strings precedes the other fields.
        let listed =
            [&[0x09, 0x28, 0x38, 1, b'a', 0, 2, b'b', b'c'], &[0x05, 0x02][..], &DATA_PAGE[1..]].concat();
        assert_eq!(PageHeader::read(&listed).unwrap().0.packed, 100);
        assert_eq!(PageHeader::read(&[0x1c; 1000]), Err(Fault::Wrong("nested too deeply")));
        assert_eq!(PageHeader::read(&[0x19; 1000]), Err(Fault::Wrong("nested too deeply")));
    }

    /// Returns a footer whose schema elements have the given numbers of children.
    fn footer(children: &[u8]) -> Vec<u8> {
        let elements = children.iter().flat_map(|&n| [0x55, n * 2, 0]);
        [0x29, 0xfc, children.len() as u8].into_iter().chain(elements).chain([0]).collect()
    }

    #[test]
    fn accepts_only_schemas_that_are_trees() {
        for good in [&[2, 0, 0][..], &[1, 1, 2, 0, 0], &[0]] {
            assert_eq!(check_schema(&footer(good)), Ok(()), "{good:?}");
        }
        for bad in [&[2, 0][..], &[1, 0, 0], &[], &[3], &[1; 70]] {
            assert!(matches!(check_schema(&footer(bad)), Err(Fault::Wrong(_))), "{bad:?}");
        }
    }

    #[test]
    fn sums_encoded_lengths() {
        // The specification's example: 7, 5, 3, 1, 2, 3, 4, 5 with a block of 128 values in 4 parts; the first difference
        // is -2, and the others less that are 0 0 0 3 3 3 3 in two bits each.
        let bytes = [128, 1, 4, 8, 14, 3, 2, 0, 0, 0, 0b1100_0000, 0b0011_1111, 0, 0, 0, 0, 0, 0, 99];
        assert_eq!(delta_sum(&bytes, 8), Ok((8, 30, 18)));
        assert_eq!(delta_sum(&bytes, 7), Err(Fault::Wrong("invalid lengths")));
        assert_eq!(delta_sum(&bytes[..12], 8), Err(Fault::Short));
    }
}
