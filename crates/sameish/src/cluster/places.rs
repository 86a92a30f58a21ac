//! Position of each document in an order.

use crate::index::DocNumber;
use std::collections::HashMap;

/// Maps documents to their positions in an order. If a document occurs several times, its first position counts.
pub(super) enum Places {
    /// Indexed by document number, for dense numbers: several times as fast as a map.
    Dense(Vec<u32>),
    Sparse(HashMap<DocNumber, u32>),
}

/// Marks a document that is not in the order.
const ABSENT: u32 = u32::MAX;
/// Maximum ratio of the range of document numbers to the number of documents for the dense representation.
const MAX_SPARSITY: usize = 8;
/// Range of document numbers up to which the representation is always dense.
const ALWAYS_DENSE: usize = 1024;

impl Places {
    pub(super) fn new(order: &[DocNumber]) -> Places {
        let numbers = order.iter().map(|doc| doc.0 as usize + 1).max().unwrap_or(0);
        // In reverse, so that the first position overwrites later ones.
        let entries = order.iter().enumerate().rev().map(|(position, &doc)| (doc, position as u32));
        if numbers > order.len().saturating_mul(MAX_SPARSITY).max(ALWAYS_DENSE) {
            return Places::Sparse(entries.collect());
        }
        let mut positions = vec![ABSENT; numbers];
        entries.for_each(|(doc, position)| positions[doc.0 as usize] = position);
        Places::Dense(positions)
    }

    pub(super) fn get(&self, doc: DocNumber) -> Option<usize> {
        let position = match self {
            Places::Dense(positions) => positions.get(doc.0 as usize).copied(),
            Places::Sparse(positions) => positions.get(&doc).copied(),
        };
        position.filter(|&position| position != ABSENT).map(|position| position as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_sparse_representations_agree() {
        for far in [5, 4_000_000_000] {
            let positions = Places::new(&[7, far, 2, 7].map(DocNumber));
            assert_eq!(
                [7, far, 2, 3, u32::MAX].map(|doc| positions.get(DocNumber(doc))),
                [Some(0), Some(1), Some(2), None, None]
            );
            assert_eq!(matches!(positions, Places::Dense(_)), far == 5);
        }
        assert_eq!(Places::new(&[]).get(DocNumber(0)), None);
    }
}
