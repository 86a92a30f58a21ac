//! The indexes of an engine: which stored texts are candidates for a query?

use crate::config::Config;
use crate::error::Result;
use crate::index::{BandHit, BandIndex, DocNumber, FingerprintIndex, Hit, OverlapIndex};
use crate::sketch::{Fingerprint, Sdr, Signature, share_equal};

/// One index per lane, over text numbers. The caller verifies the candidates.
#[derive(Clone, Debug)]
pub(super) struct Lookup {
    pub(super) fingerprints: Option<FingerprintIndex>,
    pub(super) bands: Option<BandIndex>,
    pub(super) overlap: Option<Overlap>,
}

/// An index of sparse codes, with the fraction of a query's bits that a candidate must share.
#[derive(Clone, Debug)]
pub(super) struct Overlap {
    index: OverlapIndex,
    min_share: f64,
}

/// The sketches of one text, as the indexes use them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SketchView<'a> {
    pub(super) simhash: Option<Fingerprint>,
    /// The rows of the signature.
    pub(super) minhash: Option<&'a [u32]>,
    pub(super) sdr: Option<&'a Sdr>,
}

impl SketchView<'_> {
    /// Returns the fingerprint unless it is zero, the value of a text without features.
    pub(super) fn fingerprint(&self) -> Option<Fingerprint> {
        self.simhash.filter(|fingerprint| !fingerprint.is_zero())
    }
}

/// The signature and sparse code of a text that waits to be indexed.
pub(super) struct Rows {
    pub(super) text: u32,
    pub(super) signature: Option<Signature>,
    pub(super) sdr: Option<Sdr>,
}

/// A text that may match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) text: u32,
    /// The similarity estimated from the signatures, if both texts have one.
    pub(super) estimate: Option<f64>,
}

impl Candidate {
    /// Returns the rank for verification. Candidates without an estimate come first because they are cheap to judge.
    pub(super) fn rank(&self) -> f64 {
        self.estimate.unwrap_or(1.0)
    }

    /// Creates a candidate without an estimate.
    pub(super) fn unranked(text: u32) -> Candidate {
        Candidate { text, estimate: None }
    }
}

/// Candidates by descending estimate per lane. A text may occur more than once.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    pub(super) texts: Vec<Candidate>,
    /// The number of limits reached: buckets that were not scanned completely, and dropped candidates.
    pub(super) capped: usize,
}

impl Lookup {
    pub(super) fn new(config: &Config) -> Result<Lookup> {
        let bands = config.bands()?.zip(config.minhash.as_ref());
        Ok(Lookup {
            fingerprints: FingerprintIndex::new(config, PLANNED_TEXTS)?,
            bands: bands.map(|(bands, minhash)| BandIndex::new(minhash.rows, bands)).transpose()?,
            overlap: config.sdr.as_ref().map(|sdr| Overlap {
                index: OverlapIndex::new(sdr.size),
                min_share: config.matching.threshold,
            }),
        })
    }

    pub(super) fn insert(&mut self, doc: DocNumber, sketches: SketchView<'_>) -> Result<()> {
        if let (Some(bands), Some(signature)) = (&mut self.bands, sketches.minhash) {
            bands.insert(doc, &Signature::from_rows(signature)?)?;
        }
        if let (Some(overlap), Some(sdr)) = (&mut self.overlap, sketches.sdr) {
            overlap.index.insert(doc, sdr)?;
        }
        if let (Some(index), Some(fingerprint)) = (&mut self.fingerprints, sketches.fingerprint()) {
            index.insert(fingerprint, doc, sketches.minhash.is_some());
        }
        Ok(())
    }

    /// Inserts the fingerprints of many texts at once, after their [other sketches](Self::insert_rows).
    pub(super) fn insert_fingerprints(&mut self, fingerprints: &[(Fingerprint, DocNumber)]) {
        let Lookup { fingerprints: Some(index), bands, .. } = self else { return };
        let signed = |doc| bands.as_ref().is_some_and(|bands| bands.signature(doc).is_some());
        index.insert_all(fingerprints.iter().map(|&(fingerprint, doc)| (fingerprint, doc, signed(doc))));
    }

    /// Inserts the signatures and sparse codes of many texts at once.
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

    /// Removes a text from every index.
    pub(super) fn remove(&mut self, doc: DocNumber, simhash: Option<Fingerprint>) {
        let signed = self.signature(doc).is_some();
        if let (Some(index), Some(fingerprint)) = (&mut self.fingerprints, simhash) {
            index.remove(fingerprint, doc, signed);
        }
        if let Some(bands) = &mut self.bands {
            bands.remove(doc);
        }
        if let Some(overlap) = &mut self.overlap {
            overlap.index.remove(doc);
        }
    }

    /// Returns the rows of a text's signature.
    pub(super) fn signature(&self, doc: DocNumber) -> Option<&[u32]> {
        self.bands.as_ref()?.signature(doc)
    }

    /// Returns the texts that may have a similarity of at least `threshold`. Returns an error if the sketches have another
    /// size than the indexes.
    ///
    /// Candidates whose estimated similarity is more than [`MARGIN`] standard errors below the threshold are dropped, so
    /// that texts that share a band or a fingerprint by chance are not verified.
    pub(super) fn candidates(&self, sketches: SketchView<'_>, threshold: f64) -> Result<Candidates> {
        let mut found = Candidates::default();
        let mut least = 0.0;
        if let (Some(bands), Some(signature)) = (&self.bands, sketches.minhash) {
            least = least_estimate(threshold, signature.len());
            let search = bands.search(&Signature::from_rows(signature)?, least)?;
            found.capped += search.capped;
            let candidate = |hit: &BandHit| Candidate { text: hit.doc.0, estimate: Some(hit.estimate) };
            found.texts.extend(search.hits.iter().map(candidate));
        }
        if let (Some(overlap), Some(sdr)) = (&self.overlap, sketches.sdr) {
            found.texts.extend(overlap.search(sdr)?.iter().map(|doc| Candidate::unranked(doc.0)));
        }
        if let (Some(index), Some(fingerprint)) = (&self.fingerprints, sketches.fingerprint()) {
            let mut hits: Vec<Hit> = Vec::new();
            index.find(fingerprint, sketches.minhash.is_some(), &mut hits);
            let candidate = |hit: &Hit| {
                let rows = sketches.minhash.zip(self.signature(hit.doc));
                Candidate { text: hit.doc.0, estimate: rows.and_then(|(a, b)| share_equal(a, b)) }
            };
            let may_match = |candidate: &Candidate| candidate.estimate.is_none_or(|share| share >= least);
            found.texts.extend(hits.iter().map(candidate).filter(may_match));
        }
        Ok(found)
    }
}

/// The number of texts that a new fingerprint index is planned for.
const PLANNED_TEXTS: usize = 1_000_000;

/// How far below the threshold an estimate may be, in standard errors. One pair in 3 million at the threshold is lost.
const MARGIN: f64 = 5.0;

/// Returns the fraction of equal rows that all but one in 3 million pairs of this similarity exceed.
pub(super) fn least_estimate(similarity: f64, rows: usize) -> f64 {
    similarity - MARGIN * (similarity * (1.0 - similarity) / rows as f64).sqrt()
}

impl Overlap {
    fn search(&self, sdr: &Sdr) -> Result<Vec<DocNumber>> {
        let least = (self.min_share * sdr.active().len() as f64).ceil().max(1.0) as u32;
        Ok(self.index.at_least(sdr, least)?.iter().map(|hit| hit.doc).collect())
    }
}
