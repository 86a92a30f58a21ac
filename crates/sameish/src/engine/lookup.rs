//! The indexes of an engine: which stored texts are candidates for a query?

use crate::analyzer::Status;
use crate::config::Config;
use crate::error::Result;
use crate::index::{
    BandHit, BandIndex, DocNumber, FingerprintIndex, Hit, OverlapIndex, Sample, SignatureBuckets,
};
use crate::matching::Judge;
use crate::sketch::{Fingerprint, Sdr, Signature, share_equal};

/// One index per lane, over text numbers. The caller verifies the candidates.
#[derive(Clone, Debug)]
pub(super) struct Lookup {
    pub(super) fingerprints: Option<FingerprintIndex>,
    pub(super) bands: Option<BandIndex>,
    pub(super) overlap: Option<OverlapIndex>,
    /// Whether texts match by near fingerprints alone, however different their signatures are.
    keeps_far: bool,
    /// The configured threshold, down to which the bands reach `recall`.
    threshold: f64,
    recall: f64,
}

/// The sketches of one text, as the indexes use them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SketchView<'a> {
    pub(super) status: Status,
    pub(super) simhash: Option<Fingerprint>,
    /// The rows of the signature by which the text is found.
    pub(super) minhash: Option<&'a [u32]>,
    pub(super) sdr: Option<&'a Sdr>,
}

impl<'a> SketchView<'a> {
    /// Returns the rows of the signature unless the text is too short. The signature of a short text only provides candidates.
    pub(super) fn own_minhash(&self) -> Option<&'a [u32]> {
        self.minhash.filter(|_| self.status == Status::Ok)
    }

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
    /// The largest similarity that the texts may have, if it is known.
    pub(super) bound: Option<f64>,
    /// Whether the text certainly is a template of the query if it matches.
    pub(super) is_template: bool,
}

impl Candidate {
    /// Returns the rank for verification. Candidates without an estimate come first because they are cheap to judge.
    pub(super) fn rank(&self) -> f64 {
        self.bound.or(self.estimate).unwrap_or(1.0)
    }

    /// Creates a candidate with an estimate.
    fn estimated(text: u32, estimate: Option<f64>) -> Candidate {
        Candidate { estimate, ..Candidate::unranked(text) }
    }

    /// Creates a candidate without an estimate.
    pub(super) fn unranked(text: u32) -> Candidate {
        Candidate { text, estimate: None, bound: None, is_template: false }
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
            keeps_far: config.matching.unverified,
            fingerprints: FingerprintIndex::new(config, PLANNED_TEXTS)?,
            bands: bands.map(|(bands, minhash)| BandIndex::new(minhash.rows, bands)).transpose()?,
            overlap: config.sdr.as_ref().map(|sdr| OverlapIndex::new(sdr.size)),
            threshold: config.matching.threshold,
            recall: config.matching.recall,
        })
    }

    pub(super) fn insert(&mut self, doc: DocNumber, sketches: SketchView<'_>) -> Result<()> {
        if let (Some(bands), Some(signature)) = (&mut self.bands, sketches.minhash) {
            bands.insert(doc, &Signature::from_rows(signature)?)?;
        }
        if let (Some(overlap), Some(sdr)) = (&mut self.overlap, sketches.sdr) {
            overlap.insert(doc, sdr)?;
        }
        if let (Some(index), Some(fingerprint)) = (&mut self.fingerprints, sketches.fingerprint()) {
            index.insert(fingerprint, doc, sketches.own_minhash().is_some());
        }
        Ok(())
    }

    /// Inserts the fingerprints of many texts at once. Each comes with whether its text is long enough and has a signature.
    pub(super) fn insert_fingerprints(&mut self, fingerprints: &[(Fingerprint, DocNumber, bool)]) {
        if let Some(index) = &mut self.fingerprints {
            index.insert_all(fingerprints.iter().copied());
        }
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
                sdr.iter().try_for_each(|sdr| overlap.insert(DocNumber(*text), sdr).map(|_| ()))?;
            }
        }
        Ok(())
    }

    /// Removes a text from every index.
    pub(super) fn remove(&mut self, doc: DocNumber, status: Status, simhash: Option<Fingerprint>) {
        let signed = status == Status::Ok && self.signature(doc).is_some();
        if let (Some(index), Some(fingerprint)) = (&mut self.fingerprints, simhash) {
            index.remove(fingerprint, doc, signed);
        }
        if let Some(bands) = &mut self.bands {
            bands.remove(doc);
        }
        if let Some(overlap) = &mut self.overlap {
            overlap.remove(doc);
        }
    }

    /// Returns the rows of a text's signature.
    pub(super) fn signature(&self, doc: DocNumber) -> Option<&[u32]> {
        self.bands.as_ref()?.signature(doc)
    }

    /// Returns the texts that a judge may accept. Returns an error if the sketches have another size than the indexes.
    ///
    /// If the threshold of the judge is below the configured one, so that the bands would miss too many texts, all signatures are
    /// compared; if its radius is greater than that of the index, all fingerprints are. `is_sketched` says whether the query, or a
    /// text, consists of sketches, whose radius may be greater.
    ///
    /// Candidates whose estimated similarity is more than [`MARGIN`] standard errors below the threshold are dropped, so
    /// that texts that share a band or a fingerprint by chance are not verified. Of crowded buckets, about `most` texts are read.
    /// `screen` gets the buckets before that, and may remove texts from crowded ones.
    pub(super) fn candidates(
        &self,
        sketches: SketchView<'_>,
        judge: Judge,
        most: usize,
        is_sketched: impl Fn(u32) -> bool,
        screen: impl FnOnce(&mut SignatureBuckets<'_>),
    ) -> Result<Candidates> {
        let threshold = judge.threshold();
        let mut found = Candidates::default();
        let mut least = 0.0;
        if let (Some(bands), Some(signature)) = (&self.bands, sketches.minhash) {
            least = least_estimate(threshold, signature.len());
            let signature = Signature::from_rows(signature)?;
            let search = match self.bands_reach(bands, threshold) {
                true => {
                    let mut buckets = bands.buckets(&signature)?;
                    screen(&mut buckets);
                    bands.search_buckets(signature.rows(), least, most, &mut buckets)
                }
                false => bands.scan(&signature, least, SCANNED)?,
            };
            found.capped += search.capped;
            let candidate = |hit: &BandHit| Candidate::estimated(hit.doc.0, Some(hit.estimate));
            found.texts.extend(search.hits.iter().map(candidate));
        }
        if let (Some(overlap), Some(sdr)) = (&self.overlap, sketches.sdr) {
            let shared = (threshold * sdr.active().len() as f64).ceil().max(1.0) as u32;
            let hits = overlap.at_least(sdr, shared)?;
            found.texts.extend(hits.iter().map(|hit| Candidate::unranked(hit.doc.0)));
        }
        if let (Some(index), Some(fingerprint)) = (&self.fingerprints, sketches.fingerprint()) {
            let mut hits: Vec<Hit> = Vec::new();
            let radius = judge.radius().unwrap_or_default();
            // Without a text, the distance alone decides, so such documents may be farther away.
            let widest = judge.radius_without_text().unwrap_or_default();
            let is_signed = sketches.own_minhash().is_some();
            if judge.verifies() && index.reaches(widest) {
                let most = if self.keeps_far { most.max(FINGERPRINTS) } else { FINGERPRINTS };
                let seed = sketches.minhash.map_or(0, |rows| rows.iter().fold(0, |seed, &row| seed ^ row));
                let sample = Sample { most, seed: u64::from(seed) };
                let is_limited = index.find_sample(fingerprint, is_signed, widest, sample, &mut hits);
                found.capped += usize::from(is_limited);
            } else {
                index.find_within(fingerprint, widest, is_signed, &mut hits);
            }
            hits.retain(|hit| hit.distance <= radius || is_sketched(hit.doc.0));
            let least = if self.keeps_far { 0.0 } else { least };
            let candidate = |hit: &Hit| {
                let rows = sketches.minhash.zip(self.signature(hit.doc));
                Candidate::estimated(hit.doc.0, rows.and_then(|(a, b)| share_equal(a, b)))
            };
            let may_match = |candidate: &Candidate| candidate.estimate.is_none_or(|share| share >= least);
            found.texts.extend(hits.iter().map(candidate).filter(may_match));
        }
        Ok(found)
    }

    /// Returns `true` if a signature has the rows of a text in at least one band.
    pub(super) fn share_band(&self, signature: &[u32], text: u32) -> bool {
        self.bands.as_ref().is_some_and(|bands| bands.share_band(signature, text))
    }

    /// Returns `true` if the bands find texts at this threshold as reliably as the configuration requires.
    fn bands_reach(&self, bands: &BandIndex, threshold: f64) -> bool {
        threshold >= self.threshold || bands.bands().probability(threshold) >= self.recall
    }
}

/// Maximum number of texts that a comparison of all signatures returns. It is several times the number that a search verifies, because
/// a scope may exclude some of them.
const SCANNED: usize = 16_384;

/// Maximum number of texts whose fingerprints are close to that of a query and whose signatures are compared with its own. Matches
/// among many texts with equal fingerprints almost always share a band.
const FINGERPRINTS: usize = 4_096;

/// The number of texts that a new fingerprint index is planned for.
const PLANNED_TEXTS: usize = 1_000_000;

/// How far below the threshold an estimate may be, in standard errors. One pair in 3 million at the threshold is lost.
const MARGIN: f64 = 5.0;

/// Returns the fraction of equal rows that all but one in 3 million pairs of this similarity exceed.
pub(super) fn least_estimate(similarity: f64, rows: usize) -> f64 {
    similarity - MARGIN * (similarity * (1.0 - similarity) / rows as f64).sqrt()
}
