//! What an engine keeps per distinct text.

use super::collection::QueryView;
use super::storage::Storage;
use crate::analyzer::{Prepared, Sketches, Status};
use crate::features::TextKey;
use crate::sketch::{Fingerprint, Sdr};
use std::collections::BTreeMap;

/// A distinct text and the documents that have it. The index holds its signature.
#[derive(Clone, Debug)]
pub(super) struct Text<S: Storage> {
    pub(super) status: Status,
    pub(super) simhash: Option<Fingerprint>,
    pub(super) key: Option<TextKey>,
    pub(super) docs: Docs,
    pub(super) features: S::Kept,
    sdr: Option<Box<Sdr>>,
}

impl<S: Storage> Text<S> {
    pub(super) fn new(prepared: Prepared, docs: Docs) -> Text<S> {
        let Prepared { sketches, features, key } = prepared;
        let Sketches { status, simhash, sdr, .. } = sketches;
        Text { status, simhash, key, docs, features: S::keep(features), sdr: sdr.map(Box::new) }
    }

    pub(super) fn view<'a>(&'a self, signature: Option<&'a [u32]>) -> QueryView<'a> {
        QueryView {
            status: self.status,
            simhash: self.simhash,
            signature,
            sdr: self.sdr.as_deref(),
            features: S::kept(&self.features),
            key: self.key,
        }
    }
}

/// The documents of a text by insertion number. Most texts have one.
#[derive(Clone, Debug)]
pub(super) enum Docs {
    One { number: u64, doc: u32 },
    Several(BTreeMap<u64, u32>),
}

impl Docs {
    pub(super) fn insert(&mut self, number: u64, doc: u32) {
        match self {
            Docs::One { number: first_number, doc: first } => {
                *self = Docs::Several(BTreeMap::from([(*first_number, *first), (number, doc)]));
            }
            Docs::Several(docs) => _ = docs.insert(number, doc),
        }
    }

    /// Removes a document. Returns `true` if no document is left.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        match self {
            Docs::One { .. } => true,
            Docs::Several(docs) => {
                docs.remove(&number);
                docs.is_empty()
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        let (one, several) = match self {
            Docs::One { doc, .. } => (Some(*doc), None),
            Docs::Several(docs) => (None, Some(docs.values().copied())),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }
}

/// The numbers of the texts that share a key, nearly always one.
#[derive(Clone, Debug)]
pub(super) enum TextNumbers {
    One(u32),
    Several(Box<[u32]>),
}

impl TextNumbers {
    pub(super) fn as_slice(&self) -> &[u32] {
        match self {
            TextNumbers::One(number) => std::slice::from_ref(number),
            TextNumbers::Several(numbers) => numbers,
        }
    }

    pub(super) fn push(&mut self, number: u32) {
        match self {
            TextNumbers::One(first) => *self = TextNumbers::Several(Box::new([*first, number])),
            TextNumbers::Several(numbers) => *numbers = [&numbers[..], &[number]].concat().into(),
        }
    }

    /// Removes a number. Returns `true` if none is left.
    pub(super) fn remove(&mut self, number: u32) -> bool {
        match self {
            TextNumbers::One(only) => *only == number,
            TextNumbers::Several(numbers) => {
                *numbers = numbers.iter().copied().filter(|&other| other != number).collect();
                numbers.is_empty()
            }
        }
    }
}
