//! Record formats: how an input is split into records, and what a record contains.

use super::reject::Reason;
use sameish::{Content, DocId};
use std::path::Path;

/// Format of an input file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// One JSON object per line.
    Jsonl,
    /// Comma-separated values with a header.
    Csv,
    /// Tab-separated values with a header.
    Tsv,
    /// Parquet, one document per row.
    Parquet,
    /// Plain text, one document per line.
    Text,
}

impl FileFormat {
    /// Returns the format that a file's suffix stands for, and that suffix; the suffix of a compression is ignored.
    pub fn of_path(path: &Path) -> (Option<FileFormat>, String) {
        let suffix =
            |path: &Path| path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let mut last = suffix(path);
        if matches!(last.as_str(), "gz" | "zst" | "zstd") {
            last = suffix(Path::new(path.file_stem().unwrap_or_default()));
        }
        let format = match last.as_str() {
            "jsonl" | "ndjson" | "json" => Some(FileFormat::Jsonl),
            "csv" => Some(FileFormat::Csv),
            "tsv" | "tab" => Some(FileFormat::Tsv),
            "parquet" | "pq" => Some(FileFormat::Parquet),
            "txt" | "text" | "md" => Some(FileFormat::Text),
            _ => None,
        };
        (format, last)
    }

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            FileFormat::Jsonl => "JSONL",
            FileFormat::Csv => "CSV",
            FileFormat::Tsv => "TSV",
            FileFormat::Parquet => "Parquet",
            FileFormat::Text => "plain text",
        }
    }

    /// Returns the format with the name that parameters of the packages use: `jsonl`, `csv`, `tsv`, `parquet` or `text`.
    pub fn from_name(name: &str) -> Option<FileFormat> {
        match name {
            "jsonl" => Some(FileFormat::Jsonl),
            "csv" => Some(FileFormat::Csv),
            "tsv" => Some(FileFormat::Tsv),
            "parquet" => Some(FileFormat::Parquet),
            "text" => Some(FileFormat::Text),
            _ => None,
        }
    }

    /// Returns the usual suffix of a file, without its dot.
    pub fn suffix(self) -> &'static str {
        match self {
            FileFormat::Jsonl => "jsonl",
            FileFormat::Csv => "csv",
            FileFormat::Tsv => "tsv",
            FileFormat::Parquet => "parquet",
            FileFormat::Text => "txt",
        }
    }

    /// Guesses the format from the first bytes.
    pub(crate) fn of_content(head: &[u8]) -> FileFormat {
        if head.starts_with(super::parquet::MAGIC) {
            FileFormat::Parquet
        } else if head.trim_ascii_start().starts_with(b"{") {
            FileFormat::Jsonl
        } else {
            FileFormat::Text
        }
    }
}

/// Position of a record in a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Line where the record starts, relative to the first line of the batch.
    pub(crate) line: u64,
    /// Set if splitting already found that the record is unusable.
    pub(crate) fault: Option<Fault>,
}

/// Why a record is unusable before it is parsed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// Longer than the maximum length of a record.
    TooLong,
    /// A whole file longer than the maximum length of a document.
    FileTooLong,
    /// A quote that is never closed.
    UnclosedQuote,
    /// A different number of values than the header has columns.
    Ragged { found: usize, expected: usize },
}

/// Part of a buffer that was split into complete records.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Consumed {
    pub(crate) bytes: usize,
    pub(crate) lines: u64,
}

/// Content of a record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParsedRecord {
    /// Absent if the record has none; its sequence number is used then.
    pub(crate) id: Option<DocId>,
    pub(crate) content: Content,
    pub(crate) title: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) published_at: Option<String>,
}

impl ParsedRecord {
    pub(crate) fn text(text: impl Into<String>) -> ParsedRecord {
        let content = Content::Text(text.into());
        ParsedRecord { id: None, content, title: None, source: None, published_at: None }
    }
}

/// Maximum number of records per batch. Short records produce long results, which must fit into memory as well.
pub(crate) const MAX_RECORDS: usize = 4096;

/// A record format. One thread splits the input in order, so splitting must be cheap; many threads parse.
pub(crate) trait RecordFormat: Send + Sync {
    /// Finds the complete records at the start of `bytes`, at most [`MAX_RECORDS`]. If `ended`, the rest is the last
    /// record. Records longer than `cap` get [`Fault::TooLong`].
    fn split(&self, bytes: &[u8], ended: bool, cap: usize, spans: &mut Vec<Span>) -> Consumed;

    /// Returns the fault of a record that exceeds the buffer. After [`Fault::TooLong`] the next record is searched at the
    /// next line end; after [`Fault::FileTooLong`] there is no other record.
    fn overlong(&self) -> Fault {
        Fault::TooLong
    }

    /// Returns `true` if the position of a record is the number of its row, because there are no lines.
    fn counts_rows(&self) -> bool {
        false
    }

    /// Returns `true` if each input is one record.
    fn is_whole_file(&self) -> bool {
        false
    }

    /// Parses one record.
    fn parse(&self, record: &str) -> Result<ParsedRecord, Reason>;
}

/// Names of the fields that are read.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldNames {
    /// Name of the id field. Without it, the id of a record is its sequence number.
    pub id: Option<String>,
    /// Name of the text field; by default the first of `text`, `body`, `content` and `article` that an input has.
    pub text: Option<String>,
    /// Name of the title field, which is used if there is no text.
    pub title: Option<String>,
    /// Names of the source field; the first one that is present is used.
    pub source: Vec<String>,
    /// Name of the date field.
    pub date: Option<String>,
}

impl FieldNames {
    /// Returns the name of the field of the text.
    pub fn text_name(&self) -> &str {
        self.text.as_deref().unwrap_or(super::fields::TEXT)
    }
}

impl Default for FieldNames {
    fn default() -> FieldNames {
        FieldNames {
            id: Some("id".into()),
            text: None,
            title: Some("title".into()),
            source: vec!["source".into(), "host".into()],
            date: Some("published_at".into()),
        }
    }
}
