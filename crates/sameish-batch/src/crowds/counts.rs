//! How many documents of a sample contain an item?

/// Counts of items by their hash (count-min sketch with two entries per item; Cormode and Muthukrishnan 2005).
pub(super) struct Counts {
    shift: u32,
    entries: Vec<u16>,
}

/// Bit of an entry that is set for words that are capitalized in some document.
const CAPITAL: u16 = 1 << 15;
/// Entries per line of the cache.
const LINE: usize = 32;
/// Entries per item.
const ENTRIES: usize = 4;

impl Counts {
    /// Creates counts for a sample with about this many different items.
    pub(super) fn new(items: usize) -> Counts {
        let bits = (ENTRIES * items).next_power_of_two().ilog2().clamp(14, 24);
        Counts { shift: u64::BITS - bits, entries: vec![0; 1 << bits] }
    }

    /// Returns two places of one line of the cache.
    fn places(&self, item: Item) -> [usize; 2] {
        let hash = item.hash();
        let line = (hash >> self.shift) as usize & !(LINE - 1);
        [hash as usize, (hash >> 8) as usize].map(|at| line | at & (LINE - 1))
    }

    pub(super) fn add(&mut self, item: Item, capital: bool) {
        for place in self.places(item) {
            let entry = &mut self.entries[place];
            if *entry & !CAPITAL < CAPITAL - 1 {
                *entry += 1;
            }
            *entry |= if capital { CAPITAL } else { 0 };
        }
    }

    /// Returns the number of documents of the sample that contain an item, or more.
    pub(super) fn of(&self, item: Item) -> u16 {
        let [a, b] = self.places(item).map(|place| self.entries[place] & !CAPITAL);
        a.min(b)
    }

    /// Returns `true` if some document of the sample capitalizes a word.
    pub(super) fn is_capital(&self, item: Item) -> bool {
        self.places(item).iter().all(|&place| self.entries[place] & CAPITAL != 0)
    }
}

/// An item of the documents of a crowd.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) crowd: u32,
    pub(super) kind: Kind,
    pub(super) key: u32,
}

/// Kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Shingle,
    Word,
    Number,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Shingle, Kind::Word, Kind::Number];
}

impl Item {
    /// Returns a well-mixed hash (the finalizer of SplitMix64).
    pub(super) fn hash(self) -> u64 {
        let place = u64::from(self.crowd) << 2 | self.kind as u64;
        let mut z = (u64::from(self.key) << 32 | place).wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
}
