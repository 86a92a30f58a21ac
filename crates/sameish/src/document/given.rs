//! Sketches that were computed elsewhere, in place of a text.

use crate::error::{Error, Result};
use crate::sketch::{Fingerprint, SchemeId, Signature};

/// A sketch with the scheme under which it was computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given<T> {
    /// The scheme.
    pub scheme: SchemeId,
    /// The sketch.
    pub sketch: T,
}

/// The sketches of a document whose text is not available. At least one is present.
///
/// Without a text nothing can be verified, so matches of such a document are never [verified](crate::Verdict::verified) and have no
/// facts. [`Analyzer::check`](crate::Analyzer::check) refuses sketches of another scheme.
///
/// ```
/// use sameish::document::GivenSketches;
/// use sameish::{Analyzer, Content, Document, Engine, Preset, SearchOptions};
///
/// let mut engine = Engine::new(Preset::Wire.config())?;
/// let scheme = engine.analyzer().schemes().simhash.unwrap().to_string();
/// let given = GivenSketches::from_hex(Some(("f10893b1083a30a2", Some(&scheme))), None)?.unwrap();
/// engine.insert(&Document { content: Content::Sketches(Box::new(given)), ..Document::new(1, "") })?;
/// let found = engine.search("Breaking news: Major earthquake hits city", SearchOptions::default())?;
/// assert!(found.matches[0].verdict.similarity == 1.0 && !found.matches[0].verdict.verified);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenSketches {
    /// The fingerprint.
    pub simhash: Option<Given<Fingerprint>>,
    /// The signature.
    pub minhash: Option<Given<Signature>>,
}

impl GivenSketches {
    /// Parses the fields of a record: each sketch as hex digits with its scheme. Returns `None` if there is no sketch.
    ///
    /// The fields are named `simhash`, `simhash_scheme`, `minhash` and `minhash_scheme` in every interface. Returns an error if a
    /// sketch has no scheme, because it could not be known whether it is comparable.
    pub fn from_hex(
        simhash: Option<(&str, Option<&str>)>,
        minhash: Option<(&str, Option<&str>)>,
    ) -> Result<Option<GivenSketches>> {
        let simhash = simhash.map(|(hex, scheme)| {
            Ok::<_, Error>(Given {
                scheme: scheme_of("simhash_scheme", scheme)?,
                sketch: Fingerprint::from_hex(hex)?,
            })
        });
        let minhash = minhash.map(|(hex, scheme)| {
            Ok::<_, Error>(Given {
                scheme: scheme_of("minhash_scheme", scheme)?,
                sketch: Signature::from_hex(hex)?,
            })
        });
        let given = GivenSketches { simhash: simhash.transpose()?, minhash: minhash.transpose()? };
        let is_empty = given.simhash.is_none() && given.minhash.is_none();
        Ok((!is_empty).then_some(given))
    }

    /// Returns the sketches as text, for storage: one line per sketch with its kind, scheme and hex digits.
    pub fn to_text(&self) -> String {
        let simhash = self.simhash.iter().map(|given| ("simhash", given.scheme, given.sketch.to_hex()));
        let minhash = self.minhash.iter().map(|given| ("minhash", given.scheme, given.sketch.to_hex()));
        let lines = simhash.chain(minhash).map(|(kind, scheme, hex)| format!("{kind} {scheme} {hex}\n"));
        lines.collect()
    }

    /// Parses what [`to_text`](Self::to_text) returned. Returns `None` if the text is not of this form.
    pub fn from_text(text: &str) -> Option<GivenSketches> {
        let mut simhash = None;
        let mut minhash = None;
        for line in text.lines() {
            let (kind, rest) = line.split_once(' ')?;
            let (scheme, hex) = rest.split_once(' ')?;
            match kind {
                "simhash" => simhash = Some((hex, Some(scheme))),
                "minhash" => minhash = Some((hex, Some(scheme))),
                _ => return None,
            }
        }
        GivenSketches::from_hex(simhash, minhash).ok().flatten()
    }
}

fn scheme_of(field: &'static str, scheme: Option<&str>) -> Result<SchemeId> {
    match scheme {
        Some(hex) => SchemeId::from_hex(hex),
        None => Err(Error::field(
            field,
            "absent",
            "given with the sketch, as `sameish fingerprint --schemes` writes it",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEME: &str = "0123456789abcdef";

    #[test]
    fn texts_round_trip() {
        let simhash = Some(("00000000000000ff", Some(SCHEME)));
        let minhash = Some(("0100000002000000", Some(SCHEME)));
        for (simhash, minhash) in [(simhash, None), (None, minhash), (simhash, minhash)] {
            let given = GivenSketches::from_hex(simhash, minhash).unwrap().unwrap();
            assert_eq!(GivenSketches::from_text(&given.to_text()), Some(given));
        }
        for text in ["", "simhash", "simhash 1 2", "other 0123456789abcdef 00000000000000ff"] {
            assert_eq!(GivenSketches::from_text(text), None, "{text}");
        }
    }

    #[test]
    fn a_sketch_needs_its_scheme() {
        assert_eq!(GivenSketches::from_hex(None, None).unwrap(), None);
        let error = GivenSketches::from_hex(Some(("00000000000000ff", None)), None).unwrap_err();
        assert!(error.to_string().starts_with("`simhash_scheme` is absent: must be given"), "{error}");
        assert!(GivenSketches::from_hex(Some(("ff", Some(SCHEME))), None).is_err());
        assert!(GivenSketches::from_hex(None, Some(("0100000002000000", Some("x")))).is_err());
    }
}
