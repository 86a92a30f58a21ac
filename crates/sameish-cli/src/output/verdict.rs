//! The fields of a verdict in output lines.

use super::jsonl::rounded;
use sameish::Verdict;
use sameish::matching::Relation;
use serde::Serialize;

/// Fields of a verdict that follow the similarity.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct VerdictFields {
    match_type: &'static str,
    verified: bool,
    /// `null` without a SimHash.
    simhash_distance: Option<u32>,
    /// `null` unless the match is verified, and for short texts and shingles of characters.
    facts: Option<f64>,
    template: bool,
    /// Not written if it is not reported; `null` unless the match is verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    relation: Option<Option<&'static str>>,
}

impl VerdictFields {
    /// Returns these fields with the relation of the first of the two documents to the second one.
    pub(crate) fn with_relation(self, relation: Option<Relation>) -> VerdictFields {
        VerdictFields { relation: Some(relation.map(Relation::name)), ..self }
    }
}

impl From<Verdict> for VerdictFields {
    fn from(verdict: Verdict) -> VerdictFields {
        let Verdict { similarity: _, kind, verified, distance, facts, template } = verdict;
        VerdictFields {
            match_type: kind.name(),
            verified,
            simhash_distance: distance,
            facts: facts.map(rounded),
            template,
            relation: None,
        }
    }
}
