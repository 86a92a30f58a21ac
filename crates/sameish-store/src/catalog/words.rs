//! How rare are the words of a collection?
//!
//! Whether two texts are of one form with other facts depends on how rare their words are. Counting every document would
//! make answers depend on what was ever deleted, and a start would have to read all texts. So the weights are made a few
//! times from the documents that are there, when a collection has grown fourfold, and stored: they are data, not derived.

use crate::error::{Error, Result};
use crate::store::Read;
use sameish::{Engine, Facts, WordFrequencies};

/// Documents that the first weights are made from; with fewer, words are weighed by their length.
const FIRST: u64 = 128;
/// Documents that the last are made from.
const LAST: u64 = 8_192;

/// At how many documents weights are due again.
pub(super) fn due(engine: &Engine, current: Option<&WordFrequencies>) -> Option<u64> {
    let next = current.map_or(FIRST, |words| words.documents().max(FIRST) * 4);
    (engine.config().matching.verify && next <= LAST).then_some(next)
}

/// Weights from the first of these documents; damaged ones count for nothing. They are read by number: other collections, however
/// large, cost nothing.
pub(super) fn count(read: &dyn Read, mut numbers: Vec<u64>) -> Result<WordFrequencies> {
    numbers.sort_unstable();
    let mut words = WordFrequencies::default();
    for number in numbers.into_iter().take(LAST as usize) {
        match read.document(number) {
            Ok(Some(row)) => words.add(&Facts::of(&row.document.content)),
            Ok(None) | Err(Error::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(words)
}
