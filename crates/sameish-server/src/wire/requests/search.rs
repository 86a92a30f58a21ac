//! Searches and comparisons of texts.

use super::settings::{Overrides, engine_config, invalid_setting};
use crate::problem::Problem;
use crate::settings::Limits;
use crate::wire::document::{MAX_HOST, MAX_TITLE, MAX_URL, NewDocument, PublishedAt};
use crate::wire::field_types::{
    Bounded, DocumentText, Fraction, Omittable, ResultLimit, ShortText, SketchField,
};
use crate::wire::fields::{Fault, Field, Input, request};
use crate::wire::id::{Id, NewId};
use crate::wire::metadata::Metadata;
use sameish::matching::{OffsetUnit, UnknownOffsetUnit};
use sameish::{Analyzer, Preset};
use sameish_io::json::Value;
use sameish_store::SimilarOptions;
use serde_json::{Value as Schema, json};

/// Minimum length of a passage of evidence, in words.
const MIN_PASSAGE: usize = 5;
/// Maximum number of matches with evidence: each needs both texts.
const MAX_WITH_EVIDENCE: usize = 100;

request! {
    /// Search options in the query string.
    pub(crate) struct SearchParams {
        /// Maximum number of matches: at most 1,000, and at most 100 with `evidence`. Default: the collection's
        /// `matching.limit`, which is 10 unless overridden.
        limit: Option<ResultLimit>,
        /// Minimum similarity of a match. Default: the collection's threshold. With a value below the threshold, all sketches are
        /// compared if the index would miss matches; this takes time proportional to the number of documents.
        min_similarity: Option<Fraction>,
        /// Whether matches include their shared passages: `true`, `false` (default) or `offsets`, without the texts of the passages
        /// and without differences.
        evidence: Option<EvidenceChoice>,
        /// Unit of the offsets of passages. Default: `utf8`.
        offsets: Option<OffsetUnit>,
    }
}

impl SearchParams {
    /// Returns the unit of the offsets of passages.
    pub(crate) fn offsets(&self) -> OffsetUnit {
        self.offsets.unwrap_or_default()
    }

    /// Returns what matches include of their shared passages.
    pub(crate) fn evidence(&self) -> EvidenceChoice {
        self.evidence.unwrap_or_default()
    }

    /// Returns the options of a search, limited by the settings of the service. `default_limit` is the collection's
    /// `matching.limit`.
    pub(crate) fn options(&self, default_limit: u32, limits: &Limits) -> SimilarOptions {
        let evidence = (self.evidence() != EvidenceChoice::None).then_some(MIN_PASSAGE);
        let max = if evidence.is_some() { limits.results.min(MAX_WITH_EVIDENCE) } else { limits.results };
        let limit = self.limit.map_or(default_limit as usize, |limit| limit.0);
        SimilarOptions {
            limit: Some(limit.min(max)),
            min_similarity: self.min_similarity.map(|similarity| similarity.0),
            evidence,
        }
    }
}

request! {
    /// A text to search for, which is not stored, and search options. `text`, `title`, or sketches in place of a text are required.
    /// `id`, `url`, `host`, `source` and `metadata` are accepted and ignored, so that a document can be sent unchanged; other fields
    /// are rejected, because they may be misspelled options.
    pub(crate) struct TextQuery {
        /// Ignored.
        id: Option<Id>,
        /// Headline. Searched for if `text` is absent.
        title: Option<ShortText<MAX_TITLE>>,
        /// Text to search for.
        text: Omittable<DocumentText>,
        /// SimHash fingerprint in place of a text, as 16 hexadecimal digits; requires `simhash_scheme`.
        simhash: SketchField,
        /// Scheme of `simhash`, as the service returns it with a sketch. Another scheme than that of the collection is refused.
        simhash_scheme: SketchField,
        /// MinHash signature in place of a text, as hexadecimal digits; requires `minhash_scheme`.
        minhash: SketchField,
        /// Scheme of `minhash`.
        minhash_scheme: SketchField,
        /// Ignored.
        url: Option<ShortText<MAX_URL>>,
        /// Ignored.
        host: Option<ShortText<MAX_HOST>>,
        /// Ignored.
        source: Option<ShortText<MAX_HOST>>,
        /// Date for collections with a time window: only documents within the window around this date match. Default: now.
        published_at: Option<PublishedAt>,
        /// Maximum number of matches. Overrides the query string.
        limit: Option<ResultLimit>,
        /// Minimum similarity. Overrides the query string.
        min_similarity: Option<Fraction>,
        /// Whether matches include their shared passages: `true`, `false` or `offsets`. Overrides the query string.
        evidence: Option<EvidenceChoice>,
        /// Unit of the offsets of passages. Overrides the query string.
        offsets: Option<OffsetUnit>,
        /// Ignored.
        metadata: Option<Metadata>,
    }
    any_of: text, title, simhash, minhash;
}

impl TextQuery {
    /// Splits the query into a document and search options; options in the body override those of the query string.
    pub(crate) fn into_parts(self, params: SearchParams) -> (NewDocument, SearchParams) {
        let params = SearchParams {
            limit: self.limit.or(params.limit),
            min_similarity: self.min_similarity.or(params.min_similarity),
            evidence: self.evidence.or(params.evidence),
            offsets: self.offsets.or(params.offsets),
        };
        let document = NewDocument {
            id: self.id.map(|id| NewId(id.0)),
            title: self.title,
            text: self.text,
            simhash: self.simhash,
            simhash_scheme: self.simhash_scheme,
            minhash: self.minhash,
            minhash_scheme: self.minhash_scheme,
            url: self.url,
            host: self.host,
            source: self.source,
            published_at: self.published_at,
            metadata: self.metadata,
        };
        (document, params)
    }
}

request! {
    /// Two texts to compare.
    pub(crate) struct CompareTexts {
        /// First text.
        pub(crate) a: DocumentText,
        /// Second text.
        pub(crate) b: DocumentText,
        /// Preset whose features are compared. Default: `copies`.
        preset: Option<Preset>,
        /// Settings that differ from the preset: the tables and keys of a configuration file, such as
        /// `{"text": {"html": true}}`.
        overrides: Option<Overrides>,
        /// Collection whose settings are used, instead of a preset.
        pub(crate) collection: Option<String>,
        /// Publication date of the first text. With both dates, `relation` can be `update_of` or `updated_by`.
        pub(crate) published_at_a: Option<PublishedAt>,
        /// Publication date of the second text.
        pub(crate) published_at_b: Option<PublishedAt>,
        /// Minimum length of a reported passage, in words.
        pub(crate) min_tokens: PassageLength,
        /// Unit of the offsets of passages. Default: `utf8`.
        pub(crate) offsets: Option<OffsetUnit>,
    }
}

impl CompareTexts {
    /// Returns an error if settings are given in addition to a collection.
    pub(crate) fn check_collection(&self) -> Result<(), Problem> {
        let reason = "does not apply with `collection`";
        match (&self.preset, &self.overrides) {
            (Some(_), _) => Err(Problem::field("/preset", "invalid", reason)),
            (None, Some(_)) => Err(Problem::field("/overrides", "invalid", reason)),
            (None, None) => Ok(()),
        }
    }

    /// Returns the analyzer with the settings of the request.
    pub(crate) fn analyzer(&self) -> Result<Analyzer, Problem> {
        let config = engine_config(self.preset.unwrap_or_default(), self.overrides.as_ref())?;
        Analyzer::new(config).map_err(|error| invalid_setting(&error.into()))
    }
}

/// What matches include of the passages that they share with the query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EvidenceChoice {
    #[default]
    None,
    /// Where the passages are.
    Offsets,
    /// The passages with their texts, and the differences between them.
    Full,
}

impl Field for EvidenceChoice {
    fn read(input: Input<'_>, _: &Limits) -> Result<EvidenceChoice, Fault> {
        match &input {
            Input::Json(Value::Bool(true)) => Ok(EvidenceChoice::Full),
            Input::Json(Value::Bool(false)) => Ok(EvidenceChoice::None),
            Input::Json(Value::Text(text)) if text == "offsets" => Ok(EvidenceChoice::Offsets),
            Input::Query(text) if text == "true" => Ok(EvidenceChoice::Full),
            Input::Query(text) if text == "false" => Ok(EvidenceChoice::None),
            Input::Query(text) if text == "offsets" => Ok(EvidenceChoice::Offsets),
            other => Err(other.expected("true, false or `offsets`")),
        }
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": ["boolean", "string"], "enum": [true, false, "offsets"]})
    }
}

/// Bytes of UTF-8, UTF-16 units or code points.
impl Field for OffsetUnit {
    fn read(input: Input<'_>, _: &Limits) -> Result<OffsetUnit, Fault> {
        let name = input.into_string()?;
        name.parse().map_err(|error: UnknownOffsetUnit| Fault::new("invalid", error.to_string()))
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "string", "enum": OffsetUnit::ALL.map(OffsetUnit::name)})
    }
}

/// The minimum length of a passage, in words.
#[derive(Debug)]
pub(crate) struct PassageLength(pub(crate) usize);

type PassageBounds = Bounded<1, 1_000_000>;

impl Field for PassageLength {
    fn absent() -> Option<PassageLength> {
        Some(PassageLength(MIN_PASSAGE))
    }

    fn read(input: Input<'_>, limits: &Limits) -> Result<PassageLength, Fault> {
        let length = Option::<PassageBounds>::read(input, limits)?;
        Ok(PassageLength(length.map_or(MIN_PASSAGE, |length| length.0 as usize)))
    }

    fn schema(limits: &Limits) -> Schema {
        let mut schema = Option::<PassageBounds>::schema(limits);
        schema["default"] = MIN_PASSAGE.into();
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Request;

    fn options(query: &str) -> Result<SimilarOptions, u16> {
        let params = SearchParams::from_query(Some(query), &Limits::default());
        params
            .map(|params| params.options(10, &Limits::default()))
            .map_err(|problem| problem.kind.status().as_u16())
    }

    #[test]
    fn lowers_large_limits_and_rejects_invalid_options() {
        assert_eq!(options("").unwrap().limit, Some(10));
        assert_eq!(options("limit=7").unwrap().limit, Some(7));
        assert_eq!(options("limit=1000000000").unwrap().limit, Some(1_000));
        assert_eq!(options("limit=99999999999999999999999").unwrap().limit, Some(1_000));
        assert_eq!(options("limit=1000&evidence=true").unwrap().limit, Some(100));
        for query in [
            "limit=0",
            "limit=-1",
            "limit=",
            "limit=1.5",
            "min_similarity=NaN",
            "min_similarity=1.1",
            "evidence=yes",
            "unknown=1",
            "limit=1&limit=2",
            "limit=%zz",
            "limit=%ff",
        ] {
            assert_eq!(options(query), Err(422), "{query}");
        }
        assert_eq!(options("evidence=true&min_similarity=0.5").unwrap().evidence, Some(MIN_PASSAGE));
    }

    #[test]
    fn options_in_the_body_override_the_query_string() {
        let query: TextQuery =
            crate::body::parse(br#"{"text":"x","limit":3,"evidence":false}"#, &Limits::default()).unwrap();
        let params =
            SearchParams::from_query(Some("limit=7&evidence=true&min_similarity=0.5"), &Limits::default());
        let options = query.into_parts(params.unwrap()).1.options(10, &Limits::default());
        let expected = SimilarOptions { limit: Some(3), min_similarity: Some(0.5), evidence: None };
        assert_eq!(options, expected);
    }
}
