//! Plain text: one document per line, or one document per file.

use super::format::{Consumed, Fault, ParsedRecord, RecordFormat, Span};
use super::lines;
use super::reject::Reason;
use sameish::DocId;

/// One document per line. Its id is its sequence number.
pub(crate) struct TextLines;

impl RecordFormat for TextLines {
    fn split(&self, bytes: &[u8], ended: bool, cap: usize, spans: &mut Vec<Span>) -> Consumed {
        lines::split(bytes, ended, cap, spans)
    }

    fn parse(&self, record: &str) -> Result<ParsedRecord, Reason> {
        Ok(ParsedRecord::text(record))
    }
}

/// One document per file. Its id is the path.
pub(crate) struct WholeFile {
    pub(crate) id: String,
}

impl RecordFormat for WholeFile {
    fn split(&self, bytes: &[u8], ended: bool, cap: usize, spans: &mut Vec<Span>) -> Consumed {
        if !ended {
            return Consumed::default();
        }
        let fault = (bytes.len() > cap).then_some(Fault::FileTooLong);
        spans.push(Span { start: 0, end: bytes.len(), line: 0, fault });
        Consumed { bytes: bytes.len(), lines: 1 }
    }

    fn is_whole_file(&self) -> bool {
        true
    }

    fn overlong(&self) -> Fault {
        Fault::FileTooLong
    }

    fn parse(&self, record: &str) -> Result<ParsedRecord, Reason> {
        Ok(ParsedRecord { id: Some(DocId::Text(self.id.clone())), ..ParsedRecord::text(record) })
    }
}
