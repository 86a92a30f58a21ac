//! The result of `tune --json`.

use super::labels::{Level, Quality};
use super::measure::{Origin, Similarities};
use super::proposal::{Basis, Expected, Proposal};
use super::shingles::{Shingles, Trial};
use super::{Findings, Measured, Tuning};
use crate::output::jsonl::rounded;
use serde_json::{Value, json};

/// Similarities at which the detection probability is reported.
pub(super) const CURVE: [f64; 7] = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95];

pub(super) fn object(tuning: &Tuning<'_>, findings: &Findings) -> Value {
    let Findings { measured, quality, proposal } = findings;
    let mut object = json!({
        "counts": tuning.counts,
        "sampled": tuning.sample.docs.len(),
        "proposal": proposal_object(tuning, proposal),
    });
    if let Some(shingles) = tuning.shingles {
        object["shingles"] = self::shingles(shingles);
    }
    match measured {
        Measured::Similarities(measured) => {
            object["histogram"] = histogram(measured);
            object["origin"] = origin(measured.origin);
        }
        Measured::Distances(measured) => object["distances"] = json!(measured.counts),
    }
    if let Some(quality) = quality {
        object["labels"] = labels(quality, proposal.limit_name());
    }
    object
}

fn histogram(measured: &Similarities) -> Value {
    let counts: Vec<f64> = measured.histogram.counts(20).into_iter().map(rounded).collect();
    let templates = rounded(measured.templates);
    json!({ "width": 0.05, "counts": counts, "equal": measured.equal, "templates": templates })
}

fn origin(origin: Origin) -> Value {
    match origin {
        Origin::All { pairs } => json!({ "estimated": false, "pairs": pairs }),
        Origin::Sampled { bands, cut, random, candidates, capped } => json!({
            "estimated": true, "bands": bands, "random_pairs_below": cut, "random_pairs": random,
            "candidates": candidates, "caps_hit": capped,
        }),
    }
}

fn shingles(shingles: &Shingles) -> Value {
    let trial = |trial: &Trial| {
        let mut object = json!({
            "shingle": trial.shingle, "threshold": trial.limit, "chosen_by": chosen_by(trial.basis), "pairs": rounded(trial.pairs),
        });
        if let Some(f1) = trial.f1 {
            object["f1"] = json!(rounded(f1));
        }
        if let Basis::Valley { depth, .. } = trial.basis {
            object["depth"] = json!(rounded(depth));
        }
        object
    };
    json!(shingles.tried.iter().map(trial).collect::<Vec<_>>())
}

fn chosen_by(basis: Basis) -> &'static str {
    match basis {
        Basis::Given => "given",
        Basis::Precision => "precision",
        Basis::BestF1 => "f1",
        Basis::Valley { .. } => "valley",
        Basis::NoCopies => "preset, as there are no copies",
        Basis::NoUnrelatedPairs => "preset, as there are no unrelated pairs",
        Basis::Slope => "preset, as there is no valley",
        Basis::TooFewTexts => "preset, as there is nothing to compare",
    }
}

fn proposal_object(tuning: &Tuning<'_>, proposal: &Proposal) -> Value {
    let mut object = json!({ "chosen_by": chosen_by(proposal.basis), "pairs": rounded(proposal.pairs) });
    object["pairs_of_all"] = json!(rounded(proposal.pairs * tuning.sample.scale()));
    if let Basis::Valley { from, to, depth } = proposal.basis {
        object["valley"] = json!({ "from": from, "to": to, "depth": rounded(depth) });
    }
    let Some(expected) = proposal.expected else {
        object["radius"] = json!(proposal.limit as u32);
        return object;
    };
    let Expected { bands, recall_at, recall_above, candidates, bytes } = expected;
    let curve = CURVE.map(|at| json!({ "similarity": at, "probability": rounded(bands.probability(at)) }));
    object["threshold"] = json!(proposal.limit);
    object["shingle"] = json!(tuning.config.minhash.as_ref().map(|minhash| minhash.shingle));
    object["recall"] = json!(tuning.config.matching.recall);
    object["bands"] = json!(bands);
    object["even_odds"] = json!(rounded(bands.even_odds()));
    object["curve"] = json!(curve);
    object["expected_recall"] = json!(rounded(recall_at));
    object["expected_recall_above"] = json!(recall_above.map(rounded));
    object["candidates_per_document"] = json!(rounded(candidates));
    object["bytes_per_document"] = json!(bytes.round());
    object
}

fn labels(quality: &Quality, limit: &str) -> Value {
    let level = |level: &Level| {
        let mut object = json!({
            "pairs": level.pairs,
            "precision": level.precision.map(rounded),
            "precision_interval": [rounded(level.precision_interval.low), rounded(level.precision_interval.high)],
            "recall": rounded(level.recall),
            "recall_interval": [rounded(level.recall_interval.low), rounded(level.recall_interval.high)],
            "f1": rounded(level.f1),
        });
        object[limit] = json!(level.limit);
        object
    };
    json!({
        "positive_pairs": quality.positives,
        "positive_pairs_compared": quality.compared,
        "levels": quality.levels.iter().map(level).collect::<Vec<_>>(),
        "best": level(&quality.best()),
        "precise": quality.precise.map(|at| level(&quality.levels[at])),
    })
}
