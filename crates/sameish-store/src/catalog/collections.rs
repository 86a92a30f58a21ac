//! The collections of a catalog by name: those that can be used, and those that cannot.

use super::live::LiveCollection;
use crate::error::{Error, Result};
use crate::model::UnavailableCollection;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The collections of a catalog.
#[derive(Default)]
pub(super) struct Collections(BTreeMap<String, Entry>);

enum Entry {
    Live(Arc<LiveCollection>),
    Unavailable { number: u32, collection: UnavailableCollection },
}

impl Collections {
    /// Returns the collections that can be used, in order of their names.
    pub(super) fn live(&self) -> impl Iterator<Item = &Arc<LiveCollection>> {
        self.0.values().filter_map(|entry| match entry {
            Entry::Live(live) => Some(live),
            Entry::Unavailable { .. } => None,
        })
    }

    /// Returns the collections that cannot be used, in order of their names.
    pub(super) fn unavailable(&self) -> impl Iterator<Item = &UnavailableCollection> {
        self.0.values().filter_map(|entry| match entry {
            Entry::Live(_) => None,
            Entry::Unavailable { collection, .. } => Some(collection),
        })
    }

    /// Returns a collection by name. Returns [`Error::Unavailable`] if it cannot be used.
    pub(super) fn get(&self, name: &str) -> Result<Option<&Arc<LiveCollection>>> {
        match self.0.get(name) {
            Some(Entry::Live(live)) => Ok(Some(live)),
            Some(Entry::Unavailable { collection, .. }) => Err(Error::Unavailable(collection.clone())),
            None => Ok(None),
        }
    }

    /// Returns the number of a collection, whether it can be used or not.
    pub(super) fn number_of(&self, name: &str) -> Option<u32> {
        self.0.get(name).map(|entry| match entry {
            Entry::Live(live) => live.row.number,
            Entry::Unavailable { number, .. } => *number,
        })
    }

    pub(super) fn insert(&mut self, live: Arc<LiveCollection>) {
        self.0.insert(live.row.name.clone(), Entry::Live(live));
    }

    pub(super) fn insert_unavailable(&mut self, number: u32, collection: UnavailableCollection) {
        self.0.insert(collection.name.clone(), Entry::Unavailable { number, collection });
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }
}
