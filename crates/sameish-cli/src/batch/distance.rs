//! Centers, and whose fingerprints are near them, for settings that judge by nothing else.

use super::group::Grouping;
use super::judging::Known;
use super::near::print_index;
use crate::exit::Failure;
use sameish::{DocNumber, Fingerprint, Judge};

/// Groups documents as the grouper of texts does: the first in order that no center has taken is a center and takes
/// everyone within the radius. Whoever is taken leaves the index, so that a million near copies are met once each.
pub(crate) fn group_by_distance(
    known: &Known<'_>,
    order: &[u32],
    leader: &[u32],
    against: u32,
    mut progress: impl FnMut(usize),
) -> Result<Grouping, Failure> {
    let config = known.engine.config();
    let print = |doc: u32| known.prints[doc as usize];
    let own = |doc: &u32| *doc >= against && leader[*doc as usize] == *doc;
    let entries = order.iter().copied().filter(own).map(|doc| (doc, print(doc), false));
    let Some(mut index) = print_index(config, entries)? else {
        unreachable!("settings that judge by fingerprints make them")
    };
    let (judge, mut grouping, mut hits) = (Judge::new(config), Grouping::new(known), Vec::new());
    for (at, &doc) in order.iter().enumerate() {
        progress(at);
        if leader[doc as usize] != doc || !grouping.is_free(doc) {
            continue;
        }
        grouping.center[doc as usize] = doc;
        if print(doc) == 0 {
            continue;
        }
        index.find(Fingerprint::from_u64(print(doc)), false, &mut hits);
        let side = known.side(doc, None);
        for hit in &hits {
            let DocNumber(other) = hit.doc;
            index.remove(Fingerprint::from_u64(print(other)), hit.doc, false);
            if other == doc {
                continue;
            }
            grouping.counts.candidates += 1;
            if let Some(verdict) = judge.judge(&side, &known.side(other, None)) {
                grouping.histogram[(verdict.similarity * 100.0) as usize] += 1;
                grouping.join(other, doc, &verdict);
            }
        }
    }
    // Copies within an existing corpus are centers too.
    (0..against).for_each(|doc| grouping.center[doc as usize] = doc);
    grouping.follow(order, leader, against);
    Ok(grouping)
}
