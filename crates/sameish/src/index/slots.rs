//! Hash table from the tag of a band to documents.
//!
//! A slot has 8 bytes: the tag, which is 32 bits of the band's hash, and a document number. The home position of a slot is
//! proportional to its tag, so the table is a sorted array with gaps (ordered linear probing with a monotone hash function;
//! Amble and Knuth, *Ordered hash tables*, 1974). A lookup scans from the home position of the tag to the first larger tag,
//! growing is one pass over the array, and adding many documents is a merge. The table is at most 85 % full and grows by a
//! quarter, so a document takes 9.4 to 11.8 bytes.

/// Maximum number of documents stored per bucket. Documents beyond it are counted, but cannot be found by that band until enough
/// of the others are removed.
pub const BUCKET_STORED: usize = 10_000;
/// Number of documents below which a list that was full is filled again. A list that is filled again therefore loses thousands of
/// documents before the next time.
const REFILLED: usize = BUCKET_STORED / 2;

const EMPTY: u64 = u64::MAX;
/// Flag of a slot that contains a document number. A slot without the flag contains the number of a list of documents, and
/// therefore sorts before the documents of the same tag.
pub(super) const DOC: u32 = 1 << 31;
/// Maximum number of documents per tag that have their own slots. More are moved to a list, so that lookups of other tags do
/// not scan them.
const INLINE: usize = 8;
/// Maximum fill of a table, in percent.
const FULL: usize = 85;

pub(super) fn slot(tag: u32, value: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(value)
}

fn tag_in(slot: u64) -> u32 {
    (slot >> 32) as u32
}

/// The decoded contents of a slot.
enum Entry {
    Doc(u32),
    List(usize),
}

fn entry_in(slot: u64) -> Entry {
    match slot as u32 {
        value if value & DOC != 0 => Entry::Doc(value & !DOC),
        list => Entry::List(list as usize),
    }
}

/// Slots in ascending order with gaps between them, each at or after the home position of its tag.
#[derive(Clone, Debug, Default)]
pub(crate) struct TagTable {
    slots: Vec<u64>,
    /// Number of home positions. The slots beyond are overflow space for the largest tags.
    spread: usize,
    used: usize,
    lists: Vec<List>,
    /// Number of entries that are not stored because their list is full.
    pub(super) capped: u64,
}

/// The documents of a tag.
#[derive(Clone, Debug, Default)]
struct List {
    docs: Vec<u32>,
    /// Number of documents that are not stored.
    dropped: u32,
}

/// Whether the list of a tag lacks documents for which it has room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removed {
    Complete,
    Lacking,
}

impl TagTable {
    /// Returns the home position of a tag.
    fn home(&self, tag: u32) -> usize {
        ((u64::from(tag) * self.spread as u64) >> 32) as usize
    }

    /// Returns the slot at the home position of a tag, whatever it contains.
    pub(super) fn peek(&self, tag: u32) -> u64 {
        self.slots.get(self.home(tag)).copied().unwrap_or(EMPTY)
    }

    /// Returns the position of the first slot, from the tag's home position on, that is empty or has at least this tag.
    fn position(&self, tag: u32) -> usize {
        let smallest = slot(tag, 0);
        let from = self.home(tag);
        self.slots[from..].iter().position(|&slot| slot >= smallest).map_or(self.slots.len(), |n| from + n)
    }

    /// Returns the number of consecutive slots with the tag, starting at `from`.
    fn count(&self, from: usize, tag: u32) -> usize {
        self.slots[from..].iter().take_while(|&&slot| slot != EMPTY && tag_in(slot) == tag).count()
    }

    /// Calls `visit` with the documents of a tag that have their own slots, which are few. Returns the list of the others.
    pub(crate) fn each(&self, tag: u32, mut visit: impl FnMut(u32)) -> Option<&[u32]> {
        let from = self.position(tag);
        let mut others = None;
        for &slot in &self.slots[from..from + self.count(from, tag)] {
            match entry_in(slot) {
                Entry::Doc(doc) => visit(doc),
                Entry::List(list) => others = Some(&self.lists[list].docs[..]),
            }
        }
        others
    }

    /// Returns the list of the documents of a tag, if they are in a list.
    pub(super) fn list(&self, tag: u32) -> Option<&[u32]> {
        let slot = *self.slots.get(self.position(tag))?;
        match entry_in(slot) {
            Entry::List(list) if tag_in(slot) == tag => Some(&self.lists[list].docs),
            _ => None,
        }
    }

    /// Returns `true` unless documents of a tag are not stored because its list is full.
    pub(super) fn is_complete(&self, tag: u32) -> bool {
        let slot = self.slots.get(self.position(tag)).filter(|&&slot| tag_in(slot) == tag);
        slot.is_none_or(|&slot| match entry_in(slot) {
            Entry::List(list) => self.lists[list].dropped == 0,
            Entry::Doc(_) => true,
        })
    }

    /// Iterates over the lists of the tags whose documents are in lists. Some can be empty.
    pub(super) fn lists(&self) -> impl Iterator<Item = &[u32]> {
        self.lists.iter().map(|list| &list.docs[..])
    }

    /// Calls `visit` with the documents of each tag that has several.
    pub(super) fn each_shared(&self, mut visit: impl FnMut(&mut Vec<u32>)) {
        let mut docs = Vec::new();
        let is_shared =
            |run: &&[u64]| run[0] != EMPTY && (run.len() > 1 || matches!(entry_in(run[0]), Entry::List(_)));
        for run in self.slots.chunk_by(|&a, &b| tag_in(a) == tag_in(b)).filter(is_shared) {
            docs.clear();
            // An empty slot has the bits of the largest tag, so it may end a run of that tag.
            for &slot in run.iter().take_while(|&&slot| slot != EMPTY) {
                match entry_in(slot) {
                    Entry::Doc(doc) => docs.push(doc),
                    Entry::List(list) => docs.extend_from_slice(&self.lists[list].docs),
                }
            }
            if docs.len() > 1 {
                visit(&mut docs);
            }
        }
    }

    pub(crate) fn insert(&mut self, tag: u32, doc: u32) {
        if (self.used + 1) * 100 > self.spread * FULL {
            self.merge(&[]);
        }
        let from = self.position(tag);
        let same = self.count(from, tag);
        match (same, self.slots.get(from).map(|&slot| entry_in(slot))) {
            (1.., Some(Entry::List(list))) => self.append(list, doc),
            (INLINE.., _) => self.start_list(from, same, tag, doc),
            _ => self.insert_slot(from, slot(tag, DOC | doc)),
        }
    }

    fn append(&mut self, list: usize, doc: u32) {
        let list = &mut self.lists[list];
        if list.docs.len() >= BUCKET_STORED {
            list.dropped += 1;
            self.capped += 1;
        } else {
            list.docs.push(doc);
        }
    }

    /// Moves the documents of a tag from their slots to a new list and appends `doc`.
    fn start_list(&mut self, from: usize, same: usize, tag: u32, doc: u32) {
        let mut docs: Vec<u32> =
            self.slots[from..from + same].iter().map(|&slot| slot as u32 & !DOC).collect();
        docs.push(doc);
        for _ in 1..same {
            self.remove_slot(from);
        }
        self.slots[from] = slot(tag, self.lists.len() as u32);
        self.lists.push(List { docs, dropped: 0 });
    }

    /// Inserts a slot in order, at or after `from`, and shifts the slots up to the next gap.
    fn insert_slot(&mut self, from: usize, new: u64) {
        let at = from + self.slots[from..].iter().take_while(|&&slot| slot < new).count();
        let gap = self.slots[at..].iter().position(|&slot| slot == EMPTY).map(|n| at + n);
        let gap = gap.unwrap_or_else(|| {
            self.slots.push(EMPTY);
            self.slots.len() - 1
        });
        self.slots.copy_within(at..gap, at + 1);
        self.slots[at] = new;
        self.used += 1;
    }

    /// Removes a slot and shifts the slots after it back by one, up to the first that is empty or at its home position.
    fn remove_slot(&mut self, at: usize) {
        let is_fixed = |i: &usize| self.slots[*i] == EMPTY || self.home(tag_in(self.slots[*i])) >= *i;
        let end = (at + 1..self.slots.len()).find(is_fixed).unwrap_or(self.slots.len());
        self.slots.copy_within(at + 1..end, at);
        self.slots[end - 1] = EMPTY;
        self.used -= 1;
    }

    /// Removes a document of a tag. If the list of the tag then lacks documents, the caller should [`refill`](Self::refill) it.
    pub(crate) fn remove(&mut self, tag: u32, doc: u32) -> Removed {
        if self.slots.is_empty() {
            return Removed::Complete;
        }
        let from = self.position(tag);
        for at in from..from + self.count(from, tag) {
            match entry_in(self.slots[at]) {
                Entry::Doc(other) if other == doc => {
                    self.remove_slot(at);
                    break;
                }
                Entry::Doc(_) => {}
                Entry::List(list) => return self.remove_from_list(list, doc),
            }
        }
        Removed::Complete
    }

    fn remove_from_list(&mut self, list: usize, doc: u32) -> Removed {
        let List { docs, dropped } = &mut self.lists[list];
        let before = docs.len();
        docs.retain(|&other| other != doc);
        if docs.len() == before && *dropped > 0 {
            *dropped -= 1;
            self.capped -= 1;
        }
        if *dropped > 0 && docs.len() < REFILLED { Removed::Lacking } else { Removed::Complete }
    }

    /// Replaces the list of a tag by the first of all documents of the tag, of which there are `count`.
    pub(super) fn refill(&mut self, tag: u32, docs: Vec<u32>, count: usize) {
        let Some(&slot) = self.slots.get(self.position(tag)) else { return };
        if let (true, Entry::List(list)) = (tag_in(slot) == tag, entry_in(slot)) {
            let list = &mut self.lists[list];
            let dropped = (count - docs.len()) as u32;
            self.capped = self.capped + u64::from(dropped) - u64::from(list.dropped);
            *list = List { docs, dropped };
        }
    }

    /// Rebuilds the table with the old and new entries and with free space. The new entries must be sorted.
    pub(super) fn merge(&mut self, new: &[u64]) {
        let old = std::mem::take(&mut self.slots);
        let mut old = old.into_iter().filter(|&slot| slot != EMPTY).peekable();
        let mut new = new.iter().copied().peekable();
        let expected = self.used + new.len();
        self.spread = (expected + 1) * 125 / FULL + 16;
        self.slots = Vec::with_capacity(self.spread + 64);
        self.slots.resize(self.spread, EMPTY);
        self.used = 0;
        let mut end = 0;
        while let Some(next) = next_in_order(&mut old, &mut new) {
            if !self.append_to_list(next, &mut end) {
                end = end.max(self.home(tag_in(next)));
                if end >= self.slots.len() {
                    self.slots.push(EMPTY);
                }
                self.slots[end] = next;
                self.used += 1;
                end += 1;
            }
        }
    }

    /// Appends the next entry of a merge to the list of its tag, and starts a list if the tag has [`INLINE`] slots already.
    /// Returns `false` if the entry needs a slot of its own. `end` is the end of the slots written so far.
    fn append_to_list(&mut self, next: u64, end: &mut usize) -> bool {
        let (tag, Entry::Doc(doc)) = (tag_in(next), entry_in(next)) else { return false };
        let before = self.slots[..*end].iter().rev().take(INLINE);
        let same = before.take_while(|&&slot| slot != EMPTY && tag_in(slot) == tag).count();
        if same == 0 {
            return false;
        }
        let first = *end - same;
        match entry_in(self.slots[first]) {
            Entry::List(list) => self.append(list, doc),
            Entry::Doc(_) if same < INLINE => return false,
            Entry::Doc(_) => {
                let mut docs: Vec<u32> =
                    self.slots[first..*end].iter().map(|&slot| slot as u32 & !DOC).collect();
                docs.push(doc);
                self.slots[first + 1..*end].fill(EMPTY);
                self.slots[first] = slot(tag, self.lists.len() as u32);
                self.lists.push(List { docs, dropped: 0 });
                self.used -= same - 1;
                *end = first + 1;
            }
        }
        true
    }

    pub(super) fn bytes(&self) -> usize {
        let lists: usize = self.lists.iter().map(|list| list.docs.capacity() * 4 + size_of::<List>()).sum();
        self.slots.capacity() * 8 + lists
    }
}

fn next_in_order<A: Iterator<Item = u64>, B: Iterator<Item = u64>>(
    a: &mut std::iter::Peekable<A>,
    b: &mut std::iter::Peekable<B>,
) -> Option<u64> {
    match (a.peek(), b.peek()) {
        (Some(x), Some(y)) if x <= y => a.next(),
        (_, Some(_)) => b.next(),
        (_, None) => a.next(),
    }
}
