//! Where in the order does a document stand?

use crate::index::DocNumber;
use std::collections::HashMap;

/// The place of each document in an order. Of one that stands there twice, the first place counts.
pub(super) enum Places {
    /// By number, for numbers that leave few gaps: several times as fast as a map.
    Dense(Vec<u32>),
    Sparse(HashMap<DocNumber, u32>),
}

const NOWHERE: u32 = u32::MAX;
/// How many numbers there may be for each document, and how many in any case, before a map is used.
const GAPS: usize = 8;
const SMALL: usize = 1024;

impl Places {
    pub(super) fn new(order: &[DocNumber]) -> Places {
        let numbers = order.iter().map(|doc| doc.0 as usize + 1).max().unwrap_or(0);
        // In reverse, so that the first place is what stays.
        let entries = order.iter().enumerate().rev().map(|(place, &doc)| (doc, place as u32));
        if numbers > order.len().saturating_mul(GAPS).max(SMALL) {
            return Places::Sparse(entries.collect());
        }
        let mut places = vec![NOWHERE; numbers];
        entries.for_each(|(doc, place)| places[doc.0 as usize] = place);
        Places::Dense(places)
    }

    pub(super) fn get(&self, doc: DocNumber) -> Option<usize> {
        let place = match self {
            Places::Dense(places) => places.get(doc.0 as usize).copied(),
            Places::Sparse(places) => places.get(&doc).copied(),
        };
        place.filter(|&place| place != NOWHERE).map(|place| place as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_sparse_orders_give_the_same_places() {
        for far in [5, 4_000_000_000] {
            let places = Places::new(&[7, far, 2, 7].map(DocNumber));
            assert_eq!(
                [7, far, 2, 3, u32::MAX].map(|doc| places.get(DocNumber(doc))),
                [Some(0), Some(1), Some(2), None, None]
            );
            assert_eq!(matches!(places, Places::Dense(_)), far == 5);
        }
        assert_eq!(Places::new(&[]).get(DocNumber(0)), None);
    }
}
