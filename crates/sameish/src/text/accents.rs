//! Accents: which letter does an accented letter fold to?
//!
//! The table is a file in this directory, so that sketches do not change with the Unicode version of a crate.
//! `tests/all/accents_table.rs` generates and checks it, and states the rules. Each line has the code point of a character in
//! hexadecimal and the text that it folds to; a mark that is removed has none.

use std::sync::LazyLock;

/// What a character becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Folding {
    /// The character does not change.
    Keep,
    /// A mark, which is removed unless it forms another letter with the character before it.
    Mark,
    /// Other characters.
    To(&'static str),
}

/// Ascending by character.
static TABLE: LazyLock<Vec<(char, Folding)>> =
    LazyLock::new(|| include_str!("accents.txt").lines().filter_map(entry).collect());

fn entry(line: &'static str) -> Option<(char, Folding)> {
    let (code, text) = line.split_once(' ').unwrap_or((line, ""));
    let folding = if text.is_empty() { Folding::Mark } else { Folding::To(text) };
    Some((char::from_u32(u32::from_str_radix(code, 16).ok()?)?, folding))
}

/// Returns what a character becomes if accents are folded.
pub(super) fn fold(c: char) -> Folding {
    if c.is_ascii() {
        return Folding::Keep;
    }
    let found = TABLE.binary_search_by_key(&c, |&(c, _)| c);
    found.map_or(Folding::Keep, |at| TABLE[at].1)
}
