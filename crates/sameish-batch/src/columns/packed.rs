//! Bucket members packed into bytes, so that an engine moves one row per batch and part instead of one row per key.

use super::buckets::{BucketPairs, Member, Sides};
use sameish::random::mix;
use sameish::sketch::Outline;
use sameish::{Analyzer, Fingerprint};
use std::collections::HashSet;

/// A bucket member with the length of its text.
#[derive(Clone, Copy, Debug)]
pub struct SizedMember {
    /// The text.
    pub member: Member,
    /// Length of the text in bytes.
    pub bytes: u32,
}

/// Packs members for the parts to which their keys belong. Every key belongs to one part.
///
/// A member is stored once per part, followed by its keys of this part.
#[derive(Clone, Debug)]
pub struct MemberPacker {
    excluded: HashSet<i64>,
    parts: Vec<Vec<u8>>,
    /// Part and key of each key of the current member.
    keys: Vec<(usize, i64)>,
}

const REFERENCE: u8 = 1;
const OUTLINE: u8 = 2;
const FINGERPRINT: u8 = 4;

impl MemberPacker {
    /// Creates a packer for a number of parts. Keys in `excluded` are left out.
    pub fn new(parts: usize, excluded: impl IntoIterator<Item = i64>) -> MemberPacker {
        let excluded = excluded.into_iter().collect();
        MemberPacker { excluded, parts: vec![Vec::new(); parts.max(1)], keys: Vec::new() }
    }

    /// Adds a member with its keys.
    pub fn push(&mut self, member: SizedMember, keys: &[i64]) {
        let count = self.parts.len();
        let wanted = keys.iter().filter(|key| !self.excluded.contains(key));
        self.keys.clear();
        self.keys.extend(wanted.map(|&key| (part_of(key, count), key)));
        self.keys.sort_unstable();
        for keys in self.keys.chunk_by(|a, b| a.0 == b.0) {
            let part = &mut self.parts[keys[0].0];
            pack(part, member, keys.len() as u16);
            keys.iter().for_each(|(_, key)| part.extend(key.to_le_bytes()));
        }
    }

    /// Returns the packed members of each part, and starts again.
    pub fn take(&mut self) -> Vec<Vec<u8>> {
        let empty = vec![Vec::new(); self.parts.len()];
        std::mem::replace(&mut self.parts, empty)
    }
}

fn part_of(key: i64, parts: usize) -> usize {
    ((u128::from(mix(key as u64)) * parts as u128) >> 64) as usize
}

fn pack(part: &mut Vec<u8>, SizedMember { member, bytes }: SizedMember, keys: u16) {
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let flags = flag(member.reference, REFERENCE)
        | flag(member.outline.is_some(), OUTLINE)
        | flag(member.fingerprint.is_some(), FINGERPRINT);
    part.extend(member.doc.to_le_bytes());
    part.extend(bytes.to_le_bytes());
    part.extend(keys.to_le_bytes());
    part.push(flags);
    part.extend(member.outline.iter().flat_map(|outline| outline.to_words()).flat_map(u64::to_le_bytes));
    part.extend(member.fingerprint.iter().flat_map(|fingerprint| fingerprint.as_u64().to_le_bytes()));
}

/// Reads packed members; `None` if the bytes end too early.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn word(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a member, and returns the number of its keys, which follow.
    fn member(&mut self) -> Option<(SizedMember, u16)> {
        let doc = self.word()? as i64;
        let bytes = u32::from_le_bytes(self.array()?);
        let keys = u16::from_le_bytes(self.array()?);
        let [flags] = self.array()?;
        let outline = match flags & OUTLINE {
            0 => None,
            _ => Some(Outline::from_words([self.word()?, self.word()?, self.word()?, self.word()?])),
        };
        let fingerprint = match flags & FINGERPRINT {
            0 => None,
            _ => Some(Fingerprint::from_u64(self.word()?)),
        };
        let member = Member { doc, reference: flags & REFERENCE != 0, outline, fingerprint };
        Some((SizedMember { member, bytes }, keys))
    }
}

/// Finds candidates among the packed members of a part. All members of the part are in memory; its candidates are not.
///
/// ```
/// use sameish::{Analyzer, Preset};
/// use sameish_batch::columns::{Member, MemberPacker, PackedBuckets, Sides, SizedMember};
///
/// let analyzer = Analyzer::new(Preset::Copies.config())?;
/// let mut packer = MemberPacker::new(1, []);
/// for doc in 0..3 {
///     let member = Member { doc, reference: false, outline: None, fingerprint: None };
///     packer.push(SizedMember { member, bytes: 100 }, &[7, 8 + doc / 2]);
/// }
/// let mut buckets = PackedBuckets::new(&analyzer, 10, Sides::All, None);
/// packer.take().iter().for_each(|part| assert!(buckets.push(part)));
/// let found = buckets.next(1000).unwrap();
/// assert_eq!(found.pairs, [(0, 1), (0, 2), (1, 2)]);
/// assert_eq!(found.lengths, [(0, 100), (1, 100), (2, 100)]);
/// assert!(buckets.next(1000).is_none());
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PackedBuckets {
    finder: BucketPairs,
    divided: Option<usize>,
    members: Vec<SizedMember>,
    /// Keys, each with the place of its member.
    rows: Vec<(i64, u32)>,
    is_sorted: bool,
    /// Number of rows whose candidates have been found.
    done: usize,
    large: Vec<(i64, u64)>,
}

/// Candidates of some buckets.
#[derive(Clone, Debug, Default)]
pub struct PackedPairs {
    /// Distinct pairs; several calls may return the same pair.
    pub pairs: Vec<(i64, i64)>,
    /// The texts of these pairs, with their lengths.
    pub lengths: Vec<(i64, u32)>,
}

impl PackedBuckets {
    /// Creates a finder. Buckets with more than `divided` members are not compared, but returned by [`large`](Self::large).
    pub fn new(analyzer: &Analyzer, limit: usize, sides: Sides, divided: Option<usize>) -> PackedBuckets {
        PackedBuckets {
            finder: BucketPairs::new(analyzer, limit, sides),
            divided,
            members: Vec::new(),
            rows: Vec::new(),
            is_sorted: false,
            done: 0,
            large: Vec::new(),
        }
    }

    /// Adds packed members. Returns `false` if the bytes are not those of a [`MemberPacker`].
    pub fn push(&mut self, packed: &[u8]) -> bool {
        let mut reader = Reader(packed);
        while !reader.0.is_empty() {
            if self.read(&mut reader).is_none() {
                return false;
            }
        }
        true
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let (member, keys) = reader.member()?;
        let place = u32::try_from(self.members.len()).ok()?;
        self.members.push(member);
        for _ in 0..keys {
            self.rows.push((reader.word()? as i64, place));
        }
        Some(())
    }

    /// Returns the next candidates, of at least `least` pairs unless these are the last ones; `None` at the end.
    pub fn next(&mut self, least: usize) -> Option<PackedPairs> {
        if !self.is_sorted {
            let members = &self.members;
            // Within a bucket, members of the reference are first.
            let order = |&(key, place): &(i64, u32)| {
                let member = &members[place as usize].member;
                (key, !member.reference, member.doc)
            };
            self.rows.sort_unstable_by_key(order);
            self.is_sorted = true;
        }
        if self.done == self.rows.len() {
            return None;
        }
        let mut pairs = Vec::new();
        while self.done < self.rows.len() && pairs.len() < least {
            self.compare_bucket(&mut pairs);
        }
        pairs.sort_unstable();
        pairs.dedup();
        Some(PackedPairs { lengths: self.lengths(&pairs), pairs })
    }

    fn compare_bucket(&mut self, pairs: &mut Vec<(i64, i64)>) {
        let rest = &self.rows[self.done..];
        let key = rest[0].0;
        let size = rest.iter().take_while(|row| row.0 == key).count();
        if self.divided.is_some_and(|most| size > most) {
            self.large.push((key, size as u64));
        } else if size > 1 {
            for &(_, place) in &rest[..size] {
                self.finder.push(key, self.members[place as usize].member, pairs);
            }
        }
        self.done += size;
    }

    /// Returns the lengths of the texts of pairs.
    fn lengths(&self, pairs: &[(i64, i64)]) -> Vec<(i64, u32)> {
        let mut docs: Vec<i64> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        docs.sort_unstable();
        docs.dedup();
        let mut lengths: Vec<(i64, u32)> = self
            .members
            .iter()
            .filter(|sized| docs.binary_search(&sized.member.doc).is_ok())
            .map(|sized| (sized.member.doc, sized.bytes))
            .collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }

    /// Returns the keys of the buckets that were not compared, and the number of their members.
    pub fn large(&self) -> &[(i64, u64)] {
        &self.large
    }

    /// Returns the number of buckets in which a limit left out pairs.
    pub fn capped(&self) -> u64 {
        self.finder.capped()
    }

    /// Returns the number of pairs that a limit left out.
    pub fn omitted(&self) -> u64 {
        self.finder.omitted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sameish::Preset;

    fn member(doc: i64) -> SizedMember {
        let outline = (doc % 2 == 0).then(|| Outline::from_words([doc as u64, 2, 3, 4]));
        let fingerprint = (doc % 3 == 0).then(|| Fingerprint::from_u64(doc as u64 + 1));
        let member = Member { doc, reference: doc % 5 == 0, outline, fingerprint };
        SizedMember { member, bytes: doc as u32 * 10 }
    }

    fn keys(doc: i64) -> Vec<i64> {
        vec![doc / 3, 1000 + doc % 7, -5 - doc % 2]
    }

    #[test]
    fn any_number_of_parts_has_the_pairs_of_a_sorted_stream() {
        let analyzer = Analyzer::new(Preset::Wire.config()).unwrap();
        let mut rows: Vec<(i64, SizedMember)> =
            (0..90).flat_map(|doc| keys(doc).into_iter().map(move |key| (key, member(doc)))).collect();
        rows.sort_by_key(|(key, sized)| (*key, !sized.member.reference, sized.member.doc));
        for sides in [Sides::All, Sides::Across] {
            let mut stream = BucketPairs::new(&analyzer, 20, sides);
            let mut expected = Vec::new();
            rows.iter().for_each(|&(key, sized)| stream.push(key, sized.member, &mut expected));
            expected.sort_unstable();
            expected.dedup();
            for parts in [1, 2, 7] {
                let mut packer = MemberPacker::new(parts, []);
                let mut found = Vec::new();
                let mut counts = (0, 0);
                let mut packed = Vec::new();
                for doc in (0..90).rev() {
                    packer.push(member(doc), &keys(doc));
                    if doc % 40 == 0 {
                        packed.push(packer.take());
                    }
                }
                for part in 0..parts {
                    let mut buckets = PackedBuckets::new(&analyzer, 20, sides, None);
                    packed.iter().for_each(|parts| assert!(buckets.push(&parts[part])));
                    while let Some(next) = buckets.next(3) {
                        assert!(next.lengths.iter().all(|&(doc, bytes)| bytes == doc as u32 * 10));
                        found.extend(next.pairs);
                    }
                    counts = (counts.0 + buckets.capped(), counts.1 + buckets.omitted());
                }
                found.sort_unstable();
                found.dedup();
                assert_eq!(found, expected);
                assert_eq!(counts, (stream.capped(), stream.omitted()));
            }
        }
    }

    #[test]
    fn large_buckets_are_named_and_excluded_keys_left_out() {
        let analyzer = Analyzer::new(Preset::Wire.config()).unwrap();
        let mut packer = MemberPacker::new(1, [-5]);
        (0..90).for_each(|doc| packer.push(member(doc), &keys(doc)));
        let mut buckets = PackedBuckets::new(&analyzer, 20, Sides::All, Some(12));
        assert!(buckets.push(&packer.take()[0]));
        while buckets.next(1000).is_some() {}
        let large: Vec<(i64, u64)> = buckets.large().to_vec();
        assert_eq!(large[0], (-6, 45));
        assert!(
            large[1..].iter().all(|&(key, size)| (1000..1007).contains(&key) && size > 12) && large.len() > 1
        );
        assert!(!buckets.push(&[1, 2, 3]));
    }
}
