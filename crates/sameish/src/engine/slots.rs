//! A list with dense, reusable numbers.

use std::ops::{Index, IndexMut};

/// A list that reuses the numbers of removed items, so that numbers stay dense.
#[derive(Clone, Debug)]
pub(super) struct Slots<T> {
    items: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// Returns the number that the next item gets.
    pub(super) fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.items.len() as u32)
    }

    pub(super) fn add(&mut self, item: T) -> u32 {
        let at = self.next();
        match self.free.pop() {
            Some(at) => self.items[at as usize] = Some(item),
            None => self.items.push(Some(item)),
        }
        at
    }

    /// Removes and returns an item.
    pub(super) fn take(&mut self, at: u32) -> T {
        let item = self.items[at as usize].take();
        self.free.push(at);
        item.unwrap_or_else(|| unreachable!("number {at} is in use"))
    }

    /// Iterates over all items with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.items).filter_map(|(at, item)| Some((at, item.as_ref()?)))
    }
}

impl<T> Index<u32> for Slots<T> {
    type Output = T;

    fn index(&self, at: u32) -> &T {
        self.items[at as usize].as_ref().unwrap_or_else(|| unreachable!("number {at} is in use"))
    }
}

impl<T> IndexMut<u32> for Slots<T> {
    fn index_mut(&mut self, at: u32) -> &mut T {
        self.items[at as usize].as_mut().unwrap_or_else(|| unreachable!("number {at} is in use"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reuses_numbers_of_removed_items() {
        let mut slots = Slots::default();
        let numbers: Vec<u32> = "abc".chars().map(|c| slots.add(c)).collect();
        assert_eq!(numbers, [0, 1, 2]);
        assert_eq!(slots.take(1), 'b');
        assert_eq!((slots.next(), slots.add('d'), slots.add('e')), (1, 1, 3));
        assert_eq!(slots.iter().collect::<Vec<_>>(), [(0, &'a'), (1, &'d'), (2, &'c'), (3, &'e')]);
    }
}
