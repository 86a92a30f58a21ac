//! An index of the rare items of documents: their shingles, words or numbers.
//!
//! A document is *selective* if it has rare items of which every match must contain at least one. These are its required items.

use std::cmp::Ordering;
use std::ops::Range;

/// An item of a document. A document that is required by others may be rare in both.
#[derive(Clone, Copy, Debug)]
pub(super) struct RareItem {
    /// Hash of the item.
    pub(super) hash: u32,
    /// Whether it is one of the required items of a selective document.
    pub(super) required: bool,
}

/// Collects the items of documents, which have numbers in any order.
#[derive(Default)]
pub(super) struct RareBuilder {
    /// Hash, then number of the document, then whether the item is required.
    entries: Vec<u64>,
    selective: Vec<bool>,
}

/// Documents by their rare items.
pub(super) struct RareIndex {
    /// Ends of the lists of documents with an item.
    ends: Vec<u32>,
    /// Place of a document, then whether the item is required.
    entries: Vec<u32>,
    /// Ends of the items of each document.
    of_ends: Vec<u32>,
    /// Number of the list, then whether the item is required.
    of: Vec<u32>,
    selective: Vec<bool>,
    /// Documents of each crowd that are not selective.
    open: Vec<Vec<u32>>,
    /// Crowd of each document.
    crowds: Vec<Range<u32>>,
}

impl RareBuilder {
    /// Adds the rare items of the next document.
    pub(super) fn push(&mut self, items: &[RareItem], selective: bool) {
        let number = self.selective.len() as u64;
        let entry = |item: &RareItem| u64::from(item.hash) << 32 | number << 1 | u64::from(item.required);
        self.entries.extend(items.iter().map(entry));
        self.selective.push(selective);
    }

    /// Returns the number of entries. The index numbers them with 31 bits.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Builds the index. `places` maps the numbers of documents to places, `crowds` are their ranges.
    pub(super) fn finish(self, places: &[u32], crowds: &[Range<u32>]) -> RareIndex {
        let RareBuilder { mut entries, selective } = self;
        for entry in &mut entries {
            let number = (*entry as u32 >> 1) as usize;
            *entry = *entry >> 32 << 32 | u64::from(places[number]) << 1 | *entry & 1;
        }
        entries.sort_unstable();
        let mut by_place = vec![false; selective.len()];
        places.iter().zip(selective).for_each(|(&place, selective)| by_place[place as usize] = selective);
        let mut index = RareIndex {
            ends: Vec::new(),
            entries: Vec::new(),
            of_ends: Vec::new(),
            of: Vec::new(),
            open: crowds
                .iter()
                .map(|crowd| crowd.clone().filter(|&p| !by_place[p as usize]).collect())
                .collect(),
            selective: by_place,
            crowds: crowds.to_vec(),
        };
        for run in entries.chunk_by(|a, b| a >> 32 == b >> 32) {
            // An item that no document requires finds nothing.
            if run.len() > 1 && run.iter().any(|entry| entry & 1 == 1) {
                index.entries.extend(run.iter().map(|&entry| entry as u32));
                index.ends.push(index.entries.len() as u32);
            }
        }
        index.list_items(places.len());
        index
    }
}

impl RareIndex {
    /// Fills in the items of each document.
    fn list_items(&mut self, documents: usize) {
        let mut ends = vec![0u32; documents + 1];
        self.entries.iter().for_each(|entry| ends[(entry >> 1) as usize + 1] += 1);
        (1..ends.len()).for_each(|i| ends[i] += ends[i - 1]);
        self.of = vec![0; self.entries.len()];
        for list in 0..self.ends.len() {
            for at in self.range(list) {
                let entry = self.entries[at];
                let end = &mut ends[(entry >> 1) as usize];
                self.of[*end as usize] = (list as u32) << 1 | entry & 1;
                *end += 1;
            }
        }
        self.of_ends = ends;
    }

    fn range(&self, list: usize) -> Range<usize> {
        let start = if list == 0 { 0 } else { self.ends[list - 1] };
        start as usize..self.ends[list] as usize
    }

    fn items(&self, place: u32) -> &[u32] {
        let start = if place == 0 { 0 } else { self.of_ends[place as usize - 1] };
        &self.of[start as usize..self.of_ends[place as usize] as usize]
    }

    fn open_in_crowd_of(&self, place: u32) -> &[u32] {
        let crowd = self.crowds.partition_point(|crowd| crowd.end <= place);
        &self.open[crowd]
    }

    /// Returns the number of documents that [`visit`](Self::visit) reads, or `None` if a document is not selective.
    pub(super) fn cost(&self, place: u32) -> Option<usize> {
        let lists = || self.items(place).iter().map(|item| self.range((item >> 1) as usize).len());
        self.selective[place as usize].then(|| lists().sum::<usize>() + self.open_in_crowd_of(place).len())
    }

    /// Returns `true` if two documents are selective and have no item in common that one of them requires: then they do not match.
    pub(super) fn excludes(&self, a: u32, b: u32) -> bool {
        if !self.selective[a as usize] || !self.selective[b as usize] {
            return false;
        }
        let (mut a, mut b) = (self.items(a), self.items(b));
        // The items are in ascending order of their lists.
        while let (Some(x), Some(y)) = (a.first(), b.first()) {
            match (x >> 1).cmp(&(y >> 1)) {
                Ordering::Less => a = &a[1..],
                Ordering::Greater => b = &b[1..],
                Ordering::Equal if (x | y) & 1 == 1 => return false,
                Ordering::Equal => (a, b) = (&a[1..], &b[1..]),
            }
        }
        true
    }

    /// Returns all documents that a selective document may match; some of them several times.
    pub(super) fn places(&self, place: u32) -> impl Iterator<Item = u32> {
        let of_item = move |item: &u32| {
            let item = *item;
            let entries = &self.entries[self.range((item >> 1) as usize)];
            entries.iter().filter(move |entry| (item | *entry) & 1 == 1).map(|entry| entry >> 1)
        };
        self.items(place).iter().flat_map(of_item).chain(self.open_in_crowd_of(place).iter().copied())
    }
}
