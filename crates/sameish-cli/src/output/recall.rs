//! The estimated recall of a run, in summaries.

use super::jsonl::rounded;
use sameish_batch::Recall;
use serde::Serialize;

/// Fields of a summary: the estimated share of the matching pairs that the run found.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct RecallFields {
    pub(crate) expected_recall: f64,
    /// The 99 % interval; absent if no pair was found, so that the recall is the one exactly at the threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected_recall_interval: Option<[f64; 2]>,
    /// Whether the recall is probably higher; the interval ends at 1 then.
    #[serde(skip)]
    is_lower_bound: bool,
}

impl From<Recall> for RecallFields {
    fn from(Recall { value, interval, is_lower_bound }: Recall) -> RecallFields {
        RecallFields {
            expected_recall: rounded(value),
            expected_recall_interval: interval
                .map(|interval| [rounded(interval.low), rounded(interval.high)]),
            is_lower_bound,
        }
    }
}

impl RecallFields {
    /// Says which share of which pairs was found.
    pub(crate) fn in_words(&self) -> String {
        // Rounded down, so that 100 % means that no pair was missed.
        let percent = |share: f64| format!("{:.1}", (1000.0 * share + 1e-6).floor() / 10.0);
        let recall = percent(self.expected_recall);
        let pairs = "of the pairs at or above the threshold";
        match self.expected_recall_interval.map(|interval| interval.map(percent)) {
            None if self.is_lower_bound => format!("recall at the threshold at least {recall} %"),
            None => format!("recall at the threshold {recall} %"),
            Some([low, _]) if self.is_lower_bound => {
                format!("expected recall at least {low} % (with a probability of 99.5 %) {pairs}")
            }
            Some([low, high]) if low == high => format!("expected recall {recall} % {pairs}"),
            Some([low, high]) => {
                format!("expected recall {recall} % (99 % interval: {low} to {high} %) {pairs}")
            }
        }
    }
}
