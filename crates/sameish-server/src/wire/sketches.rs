//! Sketches: of stored documents, and of texts that are not stored.

use super::field_types::{DocumentText, Omittable};
use super::fields::{Fault, Field, Input, request};
use super::requests::{Overrides, engine_config};
use crate::problem::Problem;
use crate::settings::Limits;
use sameish::analyzer::Schemes;
use sameish::sketch::SchemeId;
use sameish::{Analyzer, Content, Fingerprint, Preset, Sdr, Signature, Sketches};
use sameish_io::json::Value;
use serde::Serialize;
use serde_json::{Value as Schema, json};
use utoipa::ToSchema;

request! {
    /// Options for reading a document.
    pub(crate) struct DocumentParams {
        /// Whether the response contains every sketch of the document. Default: false.
        pub(crate) sketches: Option<bool>,
    }
}

request! {
    /// A text to sketch. Either `text` or `tokens` is required; `text` takes precedence.
    pub(crate) struct SketchText {
        /// Text to sketch.
        text: Omittable<DocumentText>,
        /// Tokens from the client's own tokenizer, which are used without normalization.
        tokens: Option<Tokens>,
        /// Preset whose sketches are computed. Default: `copies`.
        preset: Option<Preset>,
        /// Settings that differ from the preset: the tables and keys of a configuration file, such as
        /// `{"sdr": {"size": 1024, "vocabulary": {"storm": 3}}}`.
        overrides: Option<Overrides>,
    }
    any_of: text, tokens;
}

impl SketchText {
    /// Returns the analyzer with the settings of the request, and the text.
    pub(crate) fn into_parts(self) -> Result<(Analyzer, Content), Problem> {
        let config = engine_config(self.preset.unwrap_or_default(), self.overrides.as_ref())?;
        let analyzer =
            Analyzer::new(config).map_err(|error| Problem::from(sameish_store::Error::from(error)))?;
        let content = match (self.text.0, self.tokens) {
            (None, Some(Tokens(tokens))) => Content::Tokens(tokens),
            (text, _) => Content::Text(text.map(|text| text.0).unwrap_or_default()),
        };
        Ok((analyzer, content))
    }
}

/// A list of strings, limited like the text of a document.
#[derive(Debug)]
pub(crate) struct Tokens(Vec<String>);

impl Field for Tokens {
    fn read(input: Input<'_>, limits: &Limits) -> Result<Tokens, Fault> {
        let Input::Json(Value::Array(values)) = input else {
            return Err(input.expected("an array of strings"));
        };
        let mut tokens = Vec::with_capacity(values.len());
        let mut bytes = 0;
        for value in values {
            let Value::Text(token) = value else {
                return Err(Input::Json(value).expected("an array of strings"));
            };
            // As in a text, where a separator follows each word, so that the number of tokens is limited, too.
            bytes += token.len() + 1;
            tokens.push(token.into_owned());
        }
        let max = limits.text_bytes;
        if bytes > max {
            return Err(Fault::new(
                "too_large",
                format!("has {bytes} bytes, with one more for each token; maximum is {max}"),
            ));
        }
        Ok(Tokens(tokens))
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "array", "items": {"type": "string"}})
    }
}

/// The sketches of a document, each with the scheme that says which settings it depends on. A sketch that the settings do not
/// compute is null.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SketchFields {
    /// SimHash fingerprint as 16 hexadecimal digits, most significant first.
    #[schema(example = "f10893b1083a30a2")]
    pub(crate) simhash: Option<String>,
    pub(crate) simhash_scheme: Option<String>,
    /// MinHash signature as hexadecimal digits: 4 little-endian bytes per row. Null if the text is too short.
    pub(crate) minhash: Option<String>,
    pub(crate) minhash_scheme: Option<String>,
    /// Sparse code: positions of its set bits, in ascending order.
    pub(crate) sdr: Option<Vec<u32>>,
    pub(crate) sdr_scheme: Option<String>,
}

impl SketchFields {
    pub(crate) fn new(
        simhash: Option<Fingerprint>,
        minhash: Option<&Signature>,
        sdr: Option<&Sdr>,
        schemes: Schemes,
    ) -> SketchFields {
        let hex = |scheme: Option<SchemeId>| scheme.map(|scheme| scheme.to_string());
        SketchFields {
            simhash: simhash.map(Fingerprint::to_hex),
            simhash_scheme: hex(schemes.simhash),
            minhash: minhash.map(Signature::to_hex),
            minhash_scheme: hex(schemes.minhash),
            sdr: sdr.map(|sdr| sdr.active().to_vec()),
            sdr_scheme: hex(schemes.sdr),
        }
    }
}

/// The sketches of a text that is not stored.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SketchResponse {
    /// `ok`, or `too_short` if the text has too few words for the settings.
    status: &'static str,
    /// Number of words, without stop words if the settings remove them.
    words: u64,
    #[serde(flatten)]
    sketches: SketchFields,
}

impl SketchResponse {
    pub(crate) fn new(sketches: &Sketches, schemes: Schemes) -> SketchResponse {
        let Sketches { status, words, simhash, minhash, short_minhash: _, sdr } = sketches;
        SketchResponse {
            status: status.name(),
            words: *words as u64,
            sketches: SketchFields::new(*simhash, minhash.as_ref(), sdr.as_ref(), schemes),
        }
    }
}
