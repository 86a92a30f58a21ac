//! Columns of a corpus: what is kept in memory for each document.

use crate::input::{Input, RecordFormat};
use sameish::document::ContentRef;
use sameish::sketch::{Outline, Screen};
use sameish::{DocId, Timestamp};
use std::collections::HashMap;
use std::sync::Arc;

/// Position and properties of a document.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Sequence number of its record over all inputs.
    pub record: u64,
    /// Offset of its record in the input, or of its text in the spool file.
    pub(crate) at: u64,
    /// Length of its record, or of its text in the spool file.
    pub(crate) len: u32,
    /// Number of the input; [`SPOOLED`] if the text is in the spool file.
    pub(crate) input: u32,
    /// Length of its text in bytes.
    pub text_bytes: u32,
    /// Number of its source name.
    pub source: u32,
    /// How the document is compared.
    pub state: State,
    /// `true` if its text is too short for the preset.
    pub too_short: bool,
    /// `true` if it has a signature, by which it is found. Short texts may have one too.
    pub(crate) signed: bool,
    /// What the document consists of.
    pub(crate) kind: ContentKind,
}

/// What a document consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentKind {
    Text,
    Tokens,
    /// Sketches in place of a text, so that nothing can be verified.
    Sketches,
}

impl ContentKind {
    pub(crate) fn of(content: ContentRef<'_>) -> ContentKind {
        match content {
            ContentRef::Text(_) => ContentKind::Text,
            ContentRef::Tokens(_) => ContentKind::Tokens,
            ContentRef::Sketches(_) => ContentKind::Sketches,
        }
    }
}

/// How a document is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Has all sketches of the configuration.
    Long,
    /// Is too short to have all sketches. Matches equal texts and, if the configuration compares short texts, similar ones.
    Short,
    /// Has nothing to compare and matches no document.
    Blank,
    /// Was replaced by a later record with the same id.
    Replaced,
}

/// Input number of documents whose texts are in the spool file.
pub(crate) const SPOOLED: u32 = u32::MAX;

/// An input whose records can be read again at their offsets.
pub(crate) struct SeekableInput {
    pub(crate) input: Input,
    pub(crate) format: Arc<dyn RecordFormat>,
}

/// An input and the sequence number of its first record.
#[derive(Clone, Debug)]
pub struct InputStart {
    /// The input.
    pub input: Input,
    /// Sequence number of its first record.
    pub first: u64,
}

/// Which document of a cluster is its center.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Keep {
    /// The first one.
    #[default]
    First,
    /// The longest one.
    Longest,
    /// The one with the newest date.
    Newest,
    /// The one with the largest value of a field, which is read in place of the date.
    Field(String),
}

impl Keep {
    /// Returns the rule with a name: `first`, `longest` or `newest`.
    pub fn from_name(name: &str) -> Option<Keep> {
        match name {
            "first" => Some(Keep::First),
            "longest" => Some(Keep::Longest),
            "newest" => Some(Keep::Newest),
            _ => None,
        }
    }

    /// Returns `true` if dates, or a field in their place, decide.
    pub(crate) fn reads_date(&self) -> bool {
        matches!(self, Keep::Newest | Keep::Field(_))
    }
}

/// Sort key of a document for [`Keep`], in ascending order.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Rank {
    /// Newest first.
    Date(std::cmp::Reverse<Timestamp>),
    /// Largest number first, stored with the opposite sign.
    Number(f64),
    /// After all numbers, in descending alphabetical order.
    Text(std::cmp::Reverse<String>),
    /// Last.
    Absent,
}

/// Outlines of the signatures, to reject candidates far below the threshold without reading texts. Empty if the
/// configuration has no signatures.
pub(crate) struct Outlines {
    list: Vec<Outline>,
    screen: Option<Screen>,
}

impl Outlines {
    pub(crate) fn new(screen: Option<Screen>) -> Outlines {
        Outlines { list: Vec::new(), screen }
    }

    pub(crate) fn with_list(screen: Option<Screen>, list: Vec<Outline>) -> Outlines {
        Outlines { list, screen }
    }

    pub(crate) fn list(&self) -> &[Outline] {
        &self.list
    }

    pub(crate) fn push(&mut self, outline: Outline) {
        if self.screen.is_some() {
            self.list.push(outline);
        }
    }

    /// Returns the distance of two documents with signatures if they may match.
    pub(crate) fn near(&self, a: u32, b: u32) -> Option<u32> {
        let (Some(screen), Some(&a), Some(&b)) =
            (self.screen, self.list.get(a as usize), self.list.get(b as usize))
        else {
            return Some(0);
        };
        screen.passes(a, b).then(|| a.distance(b))
    }
}

/// Ids of all documents, as JSON in one buffer.
#[derive(Default)]
pub struct Ids {
    bytes: Vec<u8>,
    ends: Vec<u64>,
}

impl Ids {
    pub(crate) fn push(&mut self, id: &DocId) {
        self.bytes.extend(id.to_json().bytes());
        self.ends.push(self.bytes.len() as u64);
    }

    /// Returns the buffer and the end of each id in it.
    pub(crate) fn parts(&self) -> (&[u8], &[u64]) {
        (&self.bytes, &self.ends)
    }

    pub(crate) fn from_parts(bytes: Vec<u8>, ends: Vec<u64>) -> Ids {
        Ids { bytes, ends }
    }

    /// Returns the number of ids.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns `true` if there are no ids.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the id of a document as JSON.
    pub fn get(&self, doc: u32) -> &str {
        let start = if doc == 0 { 0 } else { self.ends[doc as usize - 1] };
        let bytes = &self.bytes[start as usize..self.ends[doc as usize] as usize];
        std::str::from_utf8(bytes).unwrap_or_else(|error| unreachable!("JSON is UTF-8: {error}"))
    }
}

/// Distinct names, numbered in the order in which they first occur.
#[derive(Default)]
pub struct Names {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    /// Returns the number of a name, and adds it if it is new.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        number
    }

    /// Returns all names in the order of their numbers.
    pub(crate) fn list(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn from_list(names: Vec<String>) -> Names {
        Names { numbers: names.iter().cloned().zip(0..).collect(), names }
    }

    /// Returns the name with a number.
    pub fn get(&self, number: u32) -> &str {
        &self.names[number as usize]
    }
}
