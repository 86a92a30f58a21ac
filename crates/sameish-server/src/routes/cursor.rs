//! Cursors: positions in lists that are returned in pages.

use crate::problem::{Kind, Problem};
use sameish::DocId;
use sameish::cluster::ClusterId;
use xxhash_rust::xxh3::xxh3_64;

/// A list with pages. A cursor is a position in one list.
#[derive(Clone, Copy, Debug)]
pub(super) enum List<'a> {
    /// `filter` is the order and the filters of the list.
    Clusters {
        collection: &'a str,
        filter: &'a str,
    },
    /// `pair` are the two sources.
    Pairs {
        collection: &'a str,
        pair: &'a str,
    },
    Members {
        collection: &'a str,
        cluster: ClusterId,
    },
    Documents {
        collection: &'a str,
    },
    Edits {
        collection: &'a str,
    },
}

impl List<'_> {
    /// Returns the cursor of a position that consists of numbers.
    pub(super) fn cursor<const N: usize>(self, position: [u64; N]) -> String {
        self.seal(&position.map(|number| format!("{number:x}")).join("."))
    }

    /// Returns the cursor of a position after a document.
    pub(super) fn cursor_after(self, id: &DocId) -> String {
        let digits: String = id.to_json().bytes().map(|byte| format!("{byte:02x}")).collect();
        self.seal(&digits)
    }

    /// Returns the position of a cursor that consists of numbers.
    pub(super) fn position<const N: usize>(self, cursor: Option<&str>) -> Result<Option<[u64; N]>, Problem> {
        let position = |cursor| -> Option<[u64; N]> {
            let numbers = self.open(cursor)?.split('.').map(|number| u64::from_str_radix(number, 16).ok());
            numbers.collect::<Option<Vec<u64>>>()?.try_into().ok()
        };
        cursor.map(|cursor| position(cursor).ok_or_else(invalid)).transpose()
    }

    /// Returns the document before the position of a cursor.
    pub(super) fn document_before(self, cursor: Option<&str>) -> Result<Option<DocId>, Problem> {
        let id = |cursor| DocId::from_json(&hex_decoded(self.open(cursor)?)?);
        cursor.map(|cursor| id(cursor).ok_or_else(invalid)).transpose()
    }

    /// Adds a checksum that binds a position to the list.
    fn seal(self, position: &str) -> String {
        let bound = match self {
            List::Clusters { collection, filter } => {
                format!("clusters of {collection} with {filter} after {position}")
            }
            List::Pairs { collection, pair } => format!("pairs of {collection} of {pair} after {position}"),
            List::Members { collection, cluster } => {
                format!("documents of cluster {} of {collection} after {position}", cluster.0)
            }
            List::Documents { collection } => format!("documents of {collection} after {position}"),
            List::Edits { collection } => format!("edits of {collection} before {position}"),
        };
        format!("{position}-{:016x}", xxh3_64(bound.as_bytes()))
    }

    /// Returns the position of a cursor of this list.
    fn open(self, cursor: &str) -> Option<&str> {
        let (position, _) = cursor.split_once('-')?;
        (self.seal(position) == cursor).then_some(position)
    }
}

fn invalid() -> Problem {
    Problem::new(Kind::BadCursor, "`cursor` must be the unchanged `next` of a page of this list")
}

fn hex_decoded(digits: &str) -> Option<String> {
    let byte = |at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
    String::from_utf8(bytes?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_forged_cursors_and_cursors_of_other_lists() {
        let clusters = |collection, filter| List::Clusters { collection, filter };
        let articles = clusters("articles", "");
        let position = |list: List<'_>, cursor: &str| list.position(Some(cursor)).ok().flatten();
        let text = articles.cursor([77, 5]);
        assert_eq!(position(articles, &text), Some([77, 5]));
        assert_eq!(position(clusters("headlines", ""), &text), None);
        assert_eq!(position(clusters("articles", "source"), &text), None);
        assert_eq!(position(articles, &articles.cursor([77])), None);
        let members = |cluster| List::Members { collection: "articles", cluster: ClusterId(cluster) };
        assert_eq!(position(members(1), &text), None);
        assert_eq!(position(members(1), &members(2).cursor([77, 5])), None);
        assert_eq!(position(members(1), &members(1).cursor([77, 5])), Some([77, 5]));
        for forged in ["", "4d", "4e-0000000000000000", "+4d-1", &text.to_uppercase(), &format!("0{text}")] {
            assert_eq!(position(articles, forged), None, "{forged}");
        }
    }

    #[test]
    fn cursor_of_documents_keeps_the_type_of_the_id() {
        let list = List::Documents { collection: "articles" };
        for id in [DocId::Number(7), DocId::Negative(-7), "7".into(), "ü/\"".into()] {
            let cursor = list.cursor_after(&id);
            assert_eq!(list.document_before(Some(&cursor)).unwrap(), Some(id));
            assert!(List::Documents { collection: "copies" }.document_before(Some(&cursor)).is_err());
        }
        assert_eq!(list.document_before(None).unwrap(), None);
    }
}
