//! Where are the documents of a band's hash?
//!
//! A table of 8-byte slots: 32 bits of the band's hash, the tag, and a document. The place of a slot is proportional to its
//! tag, so the table is a sorted list with gaps: a look-up starts where the tag belongs and ends at the first larger
//! one, growing is one pass over the list, and adding many documents is a merge. At 85 % full, and grown by a quarter, a
//! document costs 9.4 to 11.8 bytes.

/// Most documents of one bucket that are kept; later ones are counted and can not be found by that band.
pub const BUCKET_STORED: usize = 10_000;

const EMPTY: u64 = u64::MAX;
/// Marks a slot that stands for a document. One without it stands for a list, and so comes before the documents of its tag.
pub(super) const DOC: u32 = 1 << 31;
/// Documents of one tag that stand in slots of their own; more go into a list, so that no look-up walks past them.
const INLINE: usize = 8;
/// Fullest a table gets, in percent.
const FULL: usize = 85;

pub(super) fn slot(tag: u32, value: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(value)
}

fn tag_in(slot: u64) -> u32 {
    (slot >> 32) as u32
}

/// What a slot stands for.
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

/// Slots in ascending order with gaps between them, each at or behind the place its tag belongs to.
#[derive(Clone, Debug, Default)]
pub(super) struct TagTable {
    slots: Vec<u64>,
    /// The part of the slots that tags are spread over; what is behind takes the overflow of the last ones.
    spread: usize,
    used: usize,
    lists: Vec<Vec<u32>>,
    pub(super) capped: u64,
}

impl TagTable {
    fn home(&self, tag: u32) -> usize {
        ((u64::from(tag) * self.spread as u64) >> 32) as usize
    }

    /// The slot where a tag belongs, whatever is in it.
    pub(super) fn peek(&self, tag: u32) -> u64 {
        self.slots.get(self.home(tag)).copied().unwrap_or(EMPTY)
    }

    /// The first slot from the tag's home on that is empty or not below it.
    fn position(&self, tag: u32) -> usize {
        let least = slot(tag, 0);
        let from = self.home(tag);
        self.slots[from..].iter().position(|&slot| slot >= least).map_or(self.slots.len(), |n| from + n)
    }

    /// How many slots from there on have the tag.
    fn count(&self, from: usize, tag: u32) -> usize {
        self.slots[from..].iter().take_while(|&&slot| slot != EMPTY && tag_in(slot) == tag).count()
    }

    pub(super) fn each(&self, tag: u32, mut visit: impl FnMut(u32)) {
        let from = self.position(tag);
        for &slot in &self.slots[from..from + self.count(from, tag)] {
            match entry_in(slot) {
                Entry::Doc(doc) => visit(doc),
                Entry::List(list) => self.lists[list].iter().for_each(|&doc| visit(doc)),
            }
        }
    }

    /// Gives `visit` the documents of each tag that has several.
    pub(super) fn each_shared(&self, mut visit: impl FnMut(&mut Vec<u32>)) {
        let mut docs = Vec::new();
        let used = |slot: &&[u64]| {
            slot[0] != EMPTY && (slot.len() > 1 || matches!(entry_in(slot[0]), Entry::List(_)))
        };
        for run in self.slots.chunk_by(|&a, &b| tag_in(a) == tag_in(b)).filter(used) {
            docs.clear();
            // An empty slot looks like one of the largest tag.
            for &slot in run.iter().take_while(|&&slot| slot != EMPTY) {
                match entry_in(slot) {
                    Entry::Doc(doc) => docs.push(doc),
                    Entry::List(list) => docs.extend_from_slice(&self.lists[list]),
                }
            }
            if docs.len() > 1 {
                visit(&mut docs);
            }
        }
    }

    pub(super) fn insert(&mut self, tag: u32, doc: u32) {
        if (self.used + 1) * 100 > self.spread * FULL {
            self.merge(&[]);
        }
        let from = self.position(tag);
        let same = self.count(from, tag);
        match (same, self.slots.get(from).map(|&slot| entry_in(slot))) {
            (1.., Some(Entry::List(list))) => self.append(list, doc),
            (INLINE.., _) => self.start_list(from, same, tag, doc),
            _ => self.place(from, slot(tag, DOC | doc)),
        }
    }

    fn append(&mut self, list: usize, doc: u32) {
        if self.lists[list].len() >= BUCKET_STORED {
            self.capped += 1;
        } else {
            self.lists[list].push(doc);
        }
    }

    /// Moves the documents of a tag from their slots to a list.
    fn start_list(&mut self, from: usize, same: usize, tag: u32, doc: u32) {
        let mut docs: Vec<u32> =
            self.slots[from..from + same].iter().map(|&slot| slot as u32 & !DOC).collect();
        docs.push(doc);
        for _ in 1..same {
            self.take(from);
        }
        self.slots[from] = slot(tag, self.lists.len() as u32);
        self.lists.push(docs);
    }

    /// Puts a slot in its place among those from `from` on, and moves what is in the way.
    fn place(&mut self, from: usize, new: u64) {
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

    /// Takes a slot out and moves those behind it back as far as they may go.
    fn take(&mut self, at: usize) {
        let stays = |i: &usize| self.slots[*i] == EMPTY || self.home(tag_in(self.slots[*i])) >= *i;
        let end = (at + 1..self.slots.len()).find(stays).unwrap_or(self.slots.len());
        self.slots.copy_within(at + 1..end, at);
        self.slots[end - 1] = EMPTY;
        self.used -= 1;
    }

    pub(super) fn remove(&mut self, tag: u32, doc: u32) {
        if self.slots.is_empty() {
            return;
        }
        let from = self.position(tag);
        for at in from..from + self.count(from, tag) {
            match entry_in(self.slots[at]) {
                Entry::Doc(other) if other == doc => return self.take(at),
                Entry::Doc(_) => {}
                Entry::List(list) => return self.lists[list].retain(|&other| other != doc),
            }
        }
    }

    /// Rebuilds the table with room to grow, and with new entries, which must be in order.
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
            if !self.joins_others(next, &mut end) {
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

    /// Whether the next document of a merge went into a list, because its tag has one or too many stand before it. Slots
    /// before `end` are done.
    fn joins_others(&mut self, next: u64, end: &mut usize) -> bool {
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
                self.lists.push(docs);
                self.used -= same - 1;
                *end = first + 1;
            }
        }
        true
    }

    pub(super) fn bytes(&self) -> usize {
        let lists: usize = self.lists.iter().map(|list| list.capacity() * 4 + size_of::<Vec<u32>>()).sum();
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
