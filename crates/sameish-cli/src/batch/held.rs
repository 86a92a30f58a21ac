//! What is held of each document while a corpus is worked on.

use sameish::{DocId, Engine, Outline, Screen, Timestamp};
use std::collections::HashMap;

/// What is held of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doc {
    /// Number of its record over all inputs.
    pub(crate) record: u64,
    /// Where it lies in its input, or in the spool.
    pub(crate) at: u64,
    pub(crate) len: u32,
    /// Number of the input, [`SPOOLED`] for one that lies in the spool.
    pub(crate) input: u32,
    pub(crate) text_bytes: u32,
    /// Number of the source's name.
    pub(crate) source: u32,
    pub(crate) state: State,
    /// Whether its text is too short for the preset.
    pub(crate) too_short: bool,
    /// Whether its text was given as tokens.
    pub(crate) tokens: bool,
}

/// How a document takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Long enough for all that the settings make.
    Long,
    /// Has no tags; matches equal texts, and by its fingerprint where it has one.
    Short,
    /// Has nothing that could be compared, and does not match its own like.
    Blank,
    /// A later record with its id took its place.
    Replaced,
}

pub(crate) const SPOOLED: u32 = u32::MAX;

/// By what the first of a cluster is chosen, besides the order of the input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Keep {
    First,
    Longest,
    Newest,
    /// The largest value of a field.
    Field(String),
}

/// Sorts documents for `--keep`.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub(crate) enum Rank {
    /// The newest first.
    Moment(std::cmp::Reverse<Timestamp>),
    /// The largest number first, so stored with the other sign.
    Number(f64),
    /// Behind all numbers, the last in the alphabet first.
    Text(std::cmp::Reverse<String>),
    /// Last of all.
    Absent,
}

/// An outline of each document's signature, to tell who is far below the threshold without reading a text. Empty where the
/// settings make no signatures.
pub(crate) struct Outlines {
    list: Vec<Outline>,
    screen: Option<Screen>,
}

impl Outlines {
    pub(super) fn new(engine: &Engine) -> Outlines {
        Outlines { list: Vec::new(), screen: engine.config().screen() }
    }

    pub(super) fn with_list(engine: &Engine, list: Vec<Outline>) -> Outlines {
        Outlines { list, ..Outlines::new(engine) }
    }

    pub(super) fn list(&self) -> &[Outline] {
        &self.list
    }

    pub(super) fn push(&mut self, outline: Outline) {
        if self.screen.is_some() {
            self.list.push(outline);
        }
    }

    /// How far two documents with signatures are apart, if they may match.
    pub(crate) fn near(&self, a: u32, b: u32) -> Option<u32> {
        let (Some(screen), Some(&a), Some(&b)) =
            (self.screen, self.list.get(a as usize), self.list.get(b as usize))
        else {
            return Some(0);
        };
        screen.passes(a, b).then(|| a.distance(b))
    }

    /// Whether two documents with signatures are more likely at or above a threshold than below it.
    pub(crate) fn probably(&self, a: u32, b: u32, threshold: f64) -> bool {
        let estimate = |screen: Screen| screen.estimate(self.list[a as usize], self.list[b as usize]);
        self.screen.is_none_or(|screen| estimate(screen) >= threshold)
    }
}

/// An id as JSON, so that `7` and `"7"` differ.
pub(super) fn id_json(id: &DocId) -> String {
    serde_json::to_string(id).unwrap_or_else(|error| unreachable!("an id has a JSON form: {error}"))
}

/// The ids of all documents, as JSON one behind the other.
#[derive(Default)]
pub(crate) struct Ids {
    bytes: Vec<u8>,
    ends: Vec<u64>,
}

impl Ids {
    pub(super) fn push(&mut self, id: &DocId) {
        self.bytes.extend(id_json(id).bytes());
        self.ends.push(self.bytes.len() as u64);
    }

    /// The bytes of all, and where each ends.
    pub(super) fn parts(&self) -> (&[u8], &[u64]) {
        (&self.bytes, &self.ends)
    }

    pub(super) fn from_parts(bytes: Vec<u8>, ends: Vec<u64>) -> Ids {
        Ids { bytes, ends }
    }

    /// As JSON.
    pub(crate) fn get(&self, doc: u32) -> &str {
        let start = if doc == 0 { 0 } else { self.ends[doc as usize - 1] };
        let bytes = &self.bytes[start as usize..self.ends[doc as usize] as usize];
        std::str::from_utf8(bytes).unwrap_or_else(|error| unreachable!("JSON is text: {error}"))
    }
}

/// Names and their numbers.
#[derive(Default)]
pub(crate) struct Names {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        number
    }

    /// In the order of their numbers.
    pub(super) fn list(&self) -> &[String] {
        &self.names
    }

    pub(super) fn from_list(names: Vec<String>) -> Names {
        Names { numbers: names.iter().cloned().zip(0..).collect(), names }
    }

    pub(crate) fn get(&self, number: u32) -> &str {
        &self.names[number as usize]
    }
}
