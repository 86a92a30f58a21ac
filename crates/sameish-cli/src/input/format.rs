//! How is an input cut into records, and what does a record hold?

use super::reject::Reason;
use sameish::{Content, DocId};
use std::path::Path;

/// The formats there are, as `--format` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// A JSON object a line
    Jsonl,
    /// Values separated by commas, with a line of column names
    Csv,
    /// Values separated by tabs, with a line of column names
    Tsv,
    /// Parquet, a document a row
    Parquet,
    /// Plain text, a document a line
    Text,
}

impl Kind {
    /// The format that a file's suffix promises, with that suffix; a suffix of a compression is looked through.
    pub(crate) fn of_path(path: &Path) -> (Option<Kind>, String) {
        let suffix =
            |path: &Path| path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let mut last = suffix(path);
        if matches!(last.as_str(), "gz" | "zst" | "zstd") {
            last = suffix(Path::new(path.file_stem().unwrap_or_default()));
        }
        let kind = match last.as_str() {
            "jsonl" | "ndjson" | "json" => Some(Kind::Jsonl),
            "csv" => Some(Kind::Csv),
            "tsv" | "tab" => Some(Kind::Tsv),
            "parquet" | "pq" => Some(Kind::Parquet),
            "txt" | "text" | "md" => Some(Kind::Text),
            _ => None,
        };
        (kind, last)
    }

    /// The format that the first bytes suggest, where no suffix tells.
    pub(crate) fn of_content(head: &[u8]) -> Kind {
        if head.starts_with(super::parquet::MAGIC) {
            Kind::Parquet
        } else if head.trim_ascii_start().starts_with(b"{") {
            Kind::Jsonl
        } else {
            Kind::Text
        }
    }
}

/// Where one record lies in a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Line where it starts, counted from the batch's first as 0.
    pub(crate) line: u64,
    /// Set where cutting already showed that the record is no good.
    pub(crate) fault: Option<Fault>,
}

/// What can be wrong with a record before it is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// Longer than `--max-line`.
    TooLong,
    /// A file longer than `--max-document`, where a file is a document.
    FileTooLong,
    /// A quote that nothing closes.
    UnclosedQuote,
    /// Another number of values than the header has names.
    Ragged { found: usize, expected: usize },
}

/// How far cutting came.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cut {
    /// Bytes up to which records are whole.
    pub(crate) bytes: usize,
    /// Lines among them.
    pub(crate) lines: u64,
}

/// What one record says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    /// Absent where the record has none; the record's number stands in.
    pub(crate) id: Option<DocId>,
    pub(crate) content: Content,
    pub(crate) title: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) published_at: Option<String>,
}

impl Item {
    pub(crate) fn text(text: impl Into<String>) -> Item {
        let content = Content::Text(text.into());
        Item { id: None, content, title: None, source: None, published_at: None }
    }
}

/// Most records of one batch. Short records make long answers, which must fit into memory as well.
pub(crate) const MAX_RECORDS: usize = 4096;

/// One format. Cutting is done by one thread in order and so is kept light; reading is done by many.
pub(crate) trait Format: Send + Sync {
    /// Finds the whole records at the front of `bytes`, [`MAX_RECORDS`] at most. Where `ended`, what is left is the last record.
    /// Records longer than `cap` are given with [`Fault::TooLong`].
    fn cut(&self, bytes: &[u8], ended: bool, cap: usize, spans: &mut Vec<Span>) -> Cut;

    /// What is wrong with a record that does not fit into memory. The search for the next record starts at the next
    /// line end after [`Fault::TooLong`]; after [`Fault::FileTooLong`] there is none.
    fn overlong(&self) -> Fault {
        Fault::TooLong
    }

    /// Whether a record's place is the number of its row, because there are no lines.
    fn counts_rows(&self) -> bool {
        false
    }

    /// Reads one record.
    fn read(&self, record: &str) -> Result<Item, Reason>;
}

/// The names of the fields that are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fields {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) title: String,
    /// Several names of one field; the first that is there counts.
    pub(crate) source: Vec<String>,
    pub(crate) date: String,
}
