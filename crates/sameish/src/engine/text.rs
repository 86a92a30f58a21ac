//! What an engine keeps per distinct text.

use super::collection::QueryView;
use super::dates::{ByDate, Dated};
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
    Several(Box<SeveralDocs>),
}

/// The documents of a text that has more than one.
#[derive(Clone, Debug, Default)]
pub(super) struct SeveralDocs {
    pub(super) by_number: BTreeMap<u64, u32>,
    /// The documents that have a date.
    pub(super) by_date: ByDate,
    /// The documents that are marked as centers; those without a date have the minimum date.
    pub(super) centers: ByDate,
}

/// A document of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct DocEntry {
    pub(super) number: u64,
    pub(super) doc: u32,
    /// In milliseconds since 1970.
    pub(super) date: Option<i64>,
    pub(super) is_center: bool,
}

impl DocEntry {
    fn dated(&self) -> Dated {
        Dated { date: self.date.unwrap_or(i64::MIN), number: self.number, doc: self.doc }
    }
}

impl SeveralDocs {
    fn insert(&mut self, entry: DocEntry) {
        self.by_number.insert(entry.number, entry.doc);
        if entry.date.is_some() {
            self.by_date.insert(entry.dated());
        }
        self.set_center(entry, entry.is_center);
    }

    fn remove(&mut self, entry: DocEntry) {
        self.by_number.remove(&entry.number);
        self.by_date.remove(&entry.dated());
        self.centers.remove(&entry.dated());
    }

    fn set_center(&mut self, entry: DocEntry, is_center: bool) {
        self.centers.remove(&entry.dated());
        if is_center {
            self.centers.insert(entry.dated());
        }
    }
}

impl Docs {
    /// Adds a document. `first` returns the entry of the document that [`Docs::One`] has.
    pub(super) fn insert(&mut self, entry: DocEntry, first: impl FnOnce(u32) -> DocEntry) {
        match self {
            Docs::One { doc, .. } => {
                let mut several = Box::<SeveralDocs>::default();
                several.insert(first(*doc));
                several.insert(entry);
                *self = Docs::Several(several);
            }
            Docs::Several(docs) => docs.insert(entry),
        }
    }

    /// Removes a document. Returns `true` if no document is left.
    pub(super) fn remove(&mut self, entry: DocEntry) -> bool {
        match self {
            Docs::One { .. } => true,
            Docs::Several(docs) => {
                docs.remove(entry);
                docs.by_number.is_empty()
            }
        }
    }

    /// Marks a document as a center, or removes the mark.
    pub(super) fn set_center(&mut self, entry: DocEntry, is_center: bool) {
        if let Docs::Several(docs) = self {
            docs.set_center(entry, is_center);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        let (one, several) = match self {
            Docs::One { doc, .. } => (Some(*doc), None),
            Docs::Several(docs) => (None, Some(docs.by_number.values().copied())),
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
