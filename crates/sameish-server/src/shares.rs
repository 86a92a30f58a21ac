//! Shares: how much of a limit one key or one collection may use, so that some of it remains for other keys and collections.

/// Returns what one key may use of a limit if there are two or more keys: half.
pub(crate) fn key_share(limit: usize) -> usize {
    (limit / 2).max(1)
}

/// Returns what the requests for one collection may use of a limit: three quarters. Most services have one busy collection, which
/// should not be slowed down much.
pub(crate) fn collection_share(limit: usize) -> usize {
    limit - limit / 4
}

/// A limit of the service and the share of each key.
pub(crate) struct Shares<T> {
    pub(crate) total: T,
    /// By the index of the key; empty if there are fewer than two keys.
    by_key: Vec<T>,
}

impl<T> Shares<T> {
    /// Creates the share of each key with `share`.
    pub(crate) fn new(keys: usize, total: T, share: impl FnMut() -> T) -> Shares<T> {
        let count = if keys > 1 { keys } else { 0 };
        Shares { total, by_key: std::iter::repeat_with(share).take(count).collect() }
    }

    /// Returns the share of a key, or `None` if it may use everything.
    pub(crate) fn of_key(&self, key: Option<usize>) -> Option<&T> {
        self.by_key.get(key?)
    }
}
