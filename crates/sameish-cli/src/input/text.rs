//! Plain text: a document a line, or a document a file.

use super::format::{Cut, Fault, Format, Item, Span};
use super::lines;
use super::reject::Reason;
use sameish::DocId;

/// A document a line. Its id is its number.
pub(crate) struct TextLines;

impl Format for TextLines {
    fn cut(&self, bytes: &[u8], ended: bool, cap: usize, spans: &mut Vec<Span>) -> Cut {
        lines::cut(bytes, ended, cap, spans)
    }

    fn read(&self, record: &str) -> Result<Item, Reason> {
        Ok(Item::text(record))
    }
}

/// A document a file. Its id is the path.
pub(crate) struct WholeFile {
    pub(crate) id: String,
}

impl Format for WholeFile {
    fn cut(&self, bytes: &[u8], ended: bool, cap: usize, spans: &mut Vec<Span>) -> Cut {
        if !ended {
            return Cut::default();
        }
        let fault = (bytes.len() > cap).then_some(Fault::FileTooLong);
        spans.push(Span { start: 0, end: bytes.len(), line: 0, fault });
        Cut { bytes: bytes.len(), lines: 1 }
    }

    fn overlong(&self) -> Fault {
        Fault::FileTooLong
    }

    fn read(&self, record: &str) -> Result<Item, Reason> {
        Ok(Item { id: Some(DocId::Text(self.id.clone())), ..Item::text(record) })
    }
}
