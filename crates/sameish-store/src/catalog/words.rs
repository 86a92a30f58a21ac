//! How rare are the words of a collection?
//!
//! Whether two texts are of one form with other facts depends on how rare their words are. Counting every document would
//! make answers depend on what was ever deleted, and a start would have to read all texts. So the weights are made a few
//! times from the documents that are there, when a collection has grown fourfold, and stored: they are data, not derived.

use crate::error::Result;
use crate::store::Read;
use sameish::{Engine, Facts, WordFrequencies};

/// Documents that the first weights are made from; with fewer, words are weighed by their length.
const FIRST: u64 = 128;
/// Documents that the last are made from.
const LAST: u64 = 8_192;

/// Documents that are read at a time: a text may have a megabyte.
const AT_A_TIME: usize = 64;

/// At how many documents weights are due again.
pub(super) fn due(engine: &Engine, current: Option<&WordFrequencies>) -> Option<u64> {
    let next = current.map_or(FIRST, |words| words.documents().max(FIRST) * 4);
    (engine.config().matching.verify && next <= LAST).then_some(next)
}

/// Weights from the first documents that are there; damaged ones count for nothing.
pub(super) fn count(read: &dyn Read, collection: u32) -> Result<WordFrequencies> {
    let mut words = WordFrequencies::default();
    let (mut after, mut left) = (0, LAST as usize);
    while left > 0 {
        let rows = read.documents(collection, after, left.min(AT_A_TIME))?;
        let Some((last, _)) = rows.last() else { break };
        after = *last;
        left -= rows.len();
        rows.iter().filter_map(|(_, row)| row.as_ref().ok()).for_each(|row| {
            words.add(&Facts::of(&row.document.content));
        });
    }
    Ok(words)
}
