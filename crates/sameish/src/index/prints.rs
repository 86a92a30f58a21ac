//! Who is near by fingerprint, where most texts have a signature too?

use super::{DocNumber, HammingIndex, Hit};
use crate::config::Config;
use crate::error::Result;
use crate::sketch::Fingerprint;

/// In how many bits fingerprints may differ where bands look for the same pair.
///
/// Fingerprints of words crowd: common words decide most of their bits. Among 320,000 articles of the bench, 14 strangers lie
/// within 3 bits of one and 210 within 5, ever more as a corpus grows, while 4 and 5 bits add two to five matches in a
/// thousand that bands do not find (docs/algorithms.md). A radius of 3 is also what Manku, Jain and Das Sarma (2007) settle on.
pub const SIGNED_RADIUS: u32 = 3;

/// Fingerprints of an engine, in two indexes: of texts that have a signature beside it, and of those that have none.
///
/// Where matches are verified, fingerprints only have to name candidates. Two texts with signatures share a band if they
/// match, but for a few; those are looked for within [`SIGNED_RADIUS`] bits. Whoever has no signature is found by its
/// fingerprint alone, and within all of the radius of the settings.
///
/// # Examples
/// ```
/// use sameish::{DocNumber, Fingerprint, PrintIndex, Preset};
///
/// let mut prints = PrintIndex::new(&Preset::Articles.config(), 1000)?.unwrap();
/// prints.insert(Fingerprint::from_u64(0xAB00), DocNumber(1), true);
/// prints.insert(Fingerprint::from_u64(0xAB01), DocNumber(2), false);
/// let mut hits = Vec::new();
/// let query = Fingerprint::from_u64(0xAB0F);
/// prints.find(query, true, &mut hits); // 4 bits from the first, 3 from the second
/// assert_eq!(hits.iter().map(|hit| hit.doc.0).collect::<Vec<_>>(), [2]);
/// prints.find(query, false, &mut hits);
/// assert_eq!(hits.iter().map(|hit| hit.doc.0).collect::<Vec<_>>(), [2, 1]);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PrintIndex {
    unsigned: HammingIndex,
    /// Where signatures make no difference all are in the other.
    signed: Option<HammingIndex>,
}

impl PrintIndex {
    /// An index for about so many fingerprints; nothing for settings that make none.
    pub fn new(config: &Config, expected: usize) -> Result<Option<PrintIndex>> {
        let Some(simhash) = &config.simhash else { return Ok(None) };
        let index = match simhash.blocks {
            Some(blocks) => HammingIndex::with_blocks_and_radius(blocks, simhash.radius),
            None => HammingIndex::with_capacity(simhash.radius, expected),
        }?;
        let apart = config.matching.verify && config.minhash.is_some();
        Ok(Some(PrintIndex { signed: apart.then(|| index.clone()), unsigned: index }))
    }

    /// Adds a document, and tells whether it was new. A fingerprint of zero stands for no words and must not come.
    pub fn insert(&mut self, print: Fingerprint, doc: DocNumber, signed: bool) -> bool {
        self.index(signed).insert(print, doc)
    }

    /// Adds many documents at once, which is faster than one by one. Into an empty index this chooses the tables for as
    /// many as there are, so all of them should come together.
    pub fn insert_all(&mut self, prints: impl Iterator<Item = (Fingerprint, DocNumber, bool)>) {
        let (mut signed, mut unsigned) = (Vec::new(), Vec::new());
        for (print, doc, is_signed) in prints {
            if is_signed && self.signed.is_some() { &mut signed } else { &mut unsigned }.push((print, doc));
        }
        self.unsigned.insert_all(&unsigned);
        self.signed.iter_mut().for_each(|index| _ = index.insert_all(&signed));
    }

    /// Removes a document, and tells whether it was there.
    pub fn remove(&mut self, print: Fingerprint, doc: DocNumber, signed: bool) -> bool {
        self.index(signed).remove(print, doc)
    }

    /// Replaces `hits` by the candidates of a text with or without a signature, the nearest first, then by number.
    pub fn find(&self, print: Fingerprint, signed: bool, hits: &mut Vec<Hit>) {
        self.unsigned.find_all(print, hits);
        let Some(index) = &self.signed else { return };
        let mut more = Vec::new();
        index.find_within(print, if signed { SIGNED_RADIUS } else { index.radius() }, &mut more);
        if hits.is_empty() {
            *hits = more;
        } else {
            hits.append(&mut more);
            hits.sort_unstable();
        }
    }

    fn index(&mut self, signed: bool) -> &mut HammingIndex {
        self.signed.as_mut().filter(|_| signed).unwrap_or(&mut self.unsigned)
    }
}
