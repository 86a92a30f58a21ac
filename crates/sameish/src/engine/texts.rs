//! What is held of a text?

use super::collection::{Prepared, Query};
use super::elsewhere::Details;
use super::{Sketches, Status};
use crate::features::TextKey;
use crate::sketch::{Fingerprint, Sdr};
use std::collections::BTreeMap;

/// A text, and the documents that have it. Its signature is in the index.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) status: Status,
    pub(super) simhash: Option<Fingerprint>,
    pub(super) key: Option<TextKey>,
    pub(super) docs: Docs,
    sdr: Option<Box<Sdr>>,
    /// Nothing where texts are elsewhere.
    details: Option<Box<Details>>,
}

impl Text {
    pub(super) fn new(prepared: Prepared, (arrival, doc): (u64, u32), elsewhere: bool) -> Text {
        let Prepared { sketches, mut features, facts, key } = prepared;
        let Sketches { status, simhash, sdr, .. } = sketches;
        let details = (!elsewhere).then(|| {
            features.shrink();
            Box::new(Details { features, facts })
        });
        Text { status, simhash, key, docs: Docs::One(arrival, doc), sdr: sdr.map(Box::new), details }
    }

    pub(super) fn query<'a>(&'a self, signature: Option<&'a [u32]>) -> Query<'a> {
        Query {
            status: self.status,
            simhash: self.simhash,
            signature,
            sdr: self.sdr.as_deref(),
            features: self.details.as_ref().map(|details| &details.features),
            facts: self.details.as_ref().map(|details| &details.facts),
            key: self.key,
        }
    }
}

/// The documents of a text by arrival. Most texts have one.
#[derive(Clone, Debug)]
pub(super) enum Docs {
    One(u64, u32),
    Several(BTreeMap<u64, u32>),
}

impl Docs {
    pub(super) fn insert(&mut self, arrival: u64, doc: u32) {
        match self {
            Docs::One(first, other) => {
                *self = Docs::Several(BTreeMap::from([(*first, *other), (arrival, doc)]));
            }
            Docs::Several(docs) => _ = docs.insert(arrival, doc),
        }
    }

    /// Takes one out; tells whether it was the last.
    pub(super) fn remove(&mut self, arrival: u64) -> bool {
        match self {
            Docs::One(..) => true,
            Docs::Several(docs) => {
                docs.remove(&arrival);
                docs.is_empty()
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        let (one, several) = match self {
            Docs::One(_, doc) => (Some(*doc), None),
            Docs::Several(docs) => (None, Some(docs.values().copied())),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }
}

/// A few numbers, most often one.
#[derive(Clone, Debug)]
pub(super) enum Numbers {
    One(u32),
    Several(Box<[u32]>),
}

impl Numbers {
    pub(super) fn as_slice(&self) -> &[u32] {
        match self {
            Numbers::One(number) => std::slice::from_ref(number),
            Numbers::Several(numbers) => numbers,
        }
    }

    pub(super) fn push(&mut self, number: u32) {
        match self {
            Numbers::One(first) => *self = Numbers::Several(Box::new([*first, number])),
            Numbers::Several(numbers) => *numbers = [&numbers[..], &[number]].concat().into(),
        }
    }

    /// Takes one out; tells whether none is left.
    pub(super) fn remove(&mut self, number: u32) -> bool {
        match self {
            Numbers::One(only) => *only == number,
            Numbers::Several(numbers) => {
                *numbers = numbers.iter().copied().filter(|&other| other != number).collect();
                numbers.is_empty()
            }
        }
    }
}
