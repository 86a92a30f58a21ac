//! Documents whose sketches were computed elsewhere.

use super::{Analyzer, Prepared, Sketches, Status, TextFeatures};
use crate::document::{ContentRef, Given, GivenSketches};
use crate::error::{Error, Result};
use crate::sketch::{SchemeId, Signature};

impl Analyzer {
    /// Returns an error if the content consists of sketches that cannot be compared under this configuration: sketches of another
    /// scheme, or of a kind that the configuration does not compute. Texts and tokens are always accepted.
    ///
    /// Other methods ignore such sketches, so callers check content before they use it.
    pub fn check<'a>(&self, content: impl Into<ContentRef<'a>>) -> Result<()> {
        let ContentRef::Sketches(given) = content.into() else { return Ok(()) };
        let schemes = self.schemes();
        check_scheme("simhash", schemes.simhash, given.simhash.as_ref())?;
        check_scheme("minhash", schemes.minhash, given.minhash.as_ref())?;
        let found = given.minhash.as_ref().map_or(self.signature_rows(), |given| given.sketch.rows().len());
        let expected = self.signature_rows();
        if found != expected {
            return Err(Error::SizeMismatch { what: "signature rows", expected, found });
        }
        Ok(())
    }

    /// Returns the given sketches of the schemes of this configuration. A document with none is too short.
    pub(super) fn given_sketches(&self, given: &GivenSketches) -> Sketches {
        let schemes = self.schemes();
        let simhash = of_scheme(schemes.simhash, given.simhash.as_ref());
        let rows = self.signature_rows();
        let fits = |signature: &Signature| signature.rows().len() == rows;
        let minhash = of_scheme(schemes.minhash, given.minhash.as_ref()).filter(fits);
        let has_fingerprint = simhash.is_some_and(|fingerprint| !fingerprint.is_zero());
        let status = if has_fingerprint || minhash.is_some() { Status::Ok } else { Status::TooShort };
        // Every document of a configuration with fingerprints has one; zero never matches.
        let simhash = schemes.simhash.map(|_| simhash.unwrap_or_default());
        let sdr = self.parts.sdr.as_ref().map(|encoder| encoder.encode_tokens::<&str>([]));
        Sketches { status, words: 0, simhash, minhash, short_minhash: None, sdr }
    }

    pub(super) fn prepared_sketches(&self, given: &GivenSketches) -> Prepared {
        let features = TextFeatures { without_text: true, ..TextFeatures::default() };
        Prepared { sketches: self.given_sketches(given), features, key: None }
    }
}

fn check_scheme<T>(kind: &'static str, expected: Option<SchemeId>, given: Option<&Given<T>>) -> Result<()> {
    match (expected, given.map(|given| given.scheme)) {
        (_, None) => Ok(()),
        (Some(expected), Some(found)) if expected == found => Ok(()),
        (Some(expected), Some(found)) => Err(Error::SchemeMismatch { expected, found }),
        (None, Some(_)) => Err(Error::field(kind, "given", "absent, because the settings compute none")),
    }
}

fn of_scheme<T: Clone>(expected: Option<SchemeId>, given: Option<&Given<T>>) -> Option<T> {
    given.filter(|given| Some(given.scheme) == expected).map(|given| given.sketch.clone())
}
