//! Who may be near, by every lane?

use crate::config::Config;
use crate::error::Result;
use crate::index::{BandHit, BandIndex, DocNumber, Hit, OverlapIndex, PrintIndex};
use crate::sketch::{Fingerprint, Sdr, Signature, share_equal};

/// The indexes of an engine, one for each lane, over documents by number.
///
/// Features and texts are not here: whoever owns the documents judges what this finds.
#[derive(Clone, Debug)]
pub(super) struct Lookup {
    pub(super) prints: Option<PrintIndex>,
    pub(super) bands: Option<BandIndex>,
    pub(super) overlap: Option<Overlap>,
}

/// Sparse codes, and how large a share of its bits a code must find in another.
#[derive(Clone, Debug)]
pub(super) struct Overlap {
    index: OverlapIndex,
    share: f64,
}

/// The sketches that indexes look at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen<'a> {
    pub(super) simhash: Option<Fingerprint>,
    /// The rows of the signature.
    pub(super) minhash: Option<&'a [u32]>,
    pub(super) sdr: Option<&'a Sdr>,
}

impl Seen<'_> {
    /// The fingerprint of a text that has words; zero stands for none.
    pub(super) fn print(&self) -> Option<Fingerprint> {
        self.simhash.filter(|print| !print.is_zero())
    }
}

/// What indexes look at but for the fingerprint, of a text that is on its way into them.
pub(super) struct Rows {
    pub(super) text: u32,
    pub(super) signature: Option<Signature>,
    pub(super) sdr: Option<Sdr>,
}

/// A text that may be near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) text: u32,
    /// The similarity that the signatures estimate, where both have one.
    pub(super) estimate: Option<f64>,
}

impl Candidate {
    /// Those without an estimate cost nothing to judge and come first.
    pub(super) fn promise(&self) -> f64 {
        self.estimate.unwrap_or(1.0)
    }

    /// One that needs no estimate.
    pub(super) fn certain(text: u32) -> Candidate {
        Candidate { text, estimate: None }
    }
}

/// Who may be near, the most promising first; some more than once.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    pub(super) texts: Vec<Candidate>,
    /// How many limits were hit: buckets not looked at as a whole, and candidates left out.
    pub(super) capped: usize,
}

impl Lookup {
    pub(super) fn new(config: &Config) -> Result<Lookup> {
        let bands = config.bands()?.zip(config.minhash.as_ref());
        let share = config.matching.threshold;
        Ok(Lookup {
            prints: PrintIndex::new(config, EXPECTED)?,
            bands: bands.map(|(bands, minhash)| BandIndex::new(minhash.rows, bands)).transpose()?,
            overlap: config.sdr.as_ref().map(|sdr| Overlap { index: OverlapIndex::new(sdr.size), share }),
        })
    }

    pub(super) fn insert(&mut self, doc: DocNumber, seen: Seen<'_>) -> Result<()> {
        if let (Some(bands), Some(signature)) = (&mut self.bands, seen.minhash) {
            bands.insert(doc, &Signature::from_rows(signature)?)?;
        }
        if let (Some(overlap), Some(sdr)) = (&mut self.overlap, seen.sdr) {
            overlap.index.insert(doc, sdr)?;
        }
        if let (Some(prints), Some(print)) = (&mut self.prints, seen.print()) {
            prints.insert(print, doc, seen.minhash.is_some());
        }
        Ok(())
    }

    /// The fingerprints of many documents, all together, after their [other sketches](Self::insert_rows).
    pub(super) fn insert_prints(&mut self, prints: &[(Fingerprint, DocNumber)]) {
        let Lookup { prints: Some(index), bands, .. } = self else { return };
        let signed = |doc| bands.as_ref().is_some_and(|bands| bands.signature(doc).is_some());
        index.insert_all(prints.iter().map(|&(print, doc)| (print, doc, signed(doc))));
    }

    /// The other lanes of many documents.
    pub(super) fn insert_rows(&mut self, rows: &[Rows]) -> Result<()> {
        if let Some(bands) = &mut self.bands {
            let signed =
                rows.iter().filter_map(|rows| Some((DocNumber(rows.text), rows.signature.as_ref()?)));
            bands.insert_all(signed)?;
        }
        if let Some(overlap) = &mut self.overlap {
            for Rows { text, sdr, .. } in rows {
                sdr.iter().try_for_each(|sdr| overlap.index.insert(DocNumber(*text), sdr).map(|_| ()))?;
            }
        }
        Ok(())
    }

    /// Takes out what [`insert`](Self::insert) was given.
    pub(super) fn remove(&mut self, doc: DocNumber, simhash: Option<Fingerprint>) {
        let signed = self.signature(doc).is_some();
        if let (Some(prints), Some(print)) = (&mut self.prints, simhash) {
            prints.remove(print, doc, signed);
        }
        self.bands.iter_mut().for_each(|bands| _ = bands.remove(doc));
        self.overlap.iter_mut().for_each(|overlap| _ = overlap.index.remove(doc));
    }

    /// The rows of a document's signature.
    pub(super) fn signature(&self, doc: DocNumber) -> Option<&[u32]> {
        self.bands.as_ref()?.signature(doc)
    }

    /// Who may have a similarity of at least `threshold`. Sketches of another scheme than the indexes' are refused by
    /// their sizes.
    ///
    /// Signatures rule out whoever they put [`MARGIN`] standard errors below the threshold, so that strangers who share a
    /// band or a fingerprint are not compared feature by feature.
    pub(super) fn candidates(&self, seen: Seen<'_>, threshold: f64) -> Result<Candidates> {
        let mut found = Candidates::default();
        let mut least = 0.0;
        if let (Some(bands), Some(signature)) = (&self.bands, seen.minhash) {
            least = least_estimate(threshold, signature.len());
            let search = bands.search(&Signature::from_rows(signature)?, least)?;
            found.capped += search.capped;
            let candidate = |hit: &BandHit| Candidate { text: hit.doc.0, estimate: Some(hit.estimate) };
            found.texts.extend(search.hits.iter().map(candidate));
        }
        if let (Some(overlap), Some(sdr)) = (&self.overlap, seen.sdr) {
            found.texts.extend(overlap.search(sdr)?.iter().map(|doc| Candidate::certain(doc.0)));
        }
        if let (Some(prints), Some(print)) = (&self.prints, seen.print()) {
            let mut hits: Vec<Hit> = Vec::new();
            prints.find(print, seen.minhash.is_some(), &mut hits);
            let candidate = |hit: &Hit| {
                let rows = seen.minhash.zip(self.signature(hit.doc));
                Candidate { text: hit.doc.0, estimate: rows.and_then(|(a, b)| share_equal(a, b)) }
            };
            let may_match = |candidate: &Candidate| candidate.estimate.is_none_or(|share| share >= least);
            found.texts.extend(hits.iter().map(candidate).filter(may_match));
        }
        Ok(found)
    }
}

/// Texts that a new index is planned for.
const EXPECTED: usize = 1_000_000;

/// How far below the threshold an estimate may be, in standard errors: one pair at the threshold in 3 million is lost.
const MARGIN: f64 = 5.0;

/// The lowest share of equal rows that a pair of this similarity has, but for one in 3 million.
pub(super) fn least_estimate(similarity: f64, rows: usize) -> f64 {
    similarity - MARGIN * (similarity * (1.0 - similarity) / rows as f64).sqrt()
}

impl Overlap {
    fn search(&self, sdr: &Sdr) -> Result<Vec<DocNumber>> {
        let least = (self.share * sdr.active().len() as f64).ceil().max(1.0) as u32;
        Ok(self.index.at_least(sdr, least)?.iter().map(|hit| hit.doc).collect())
    }
}
