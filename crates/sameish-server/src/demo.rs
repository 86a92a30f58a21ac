//! Bundled demo documents.
//!
//! A few dozen short articles and headlines with edited, shortened and literal copies, and with templates. See
//! `testdata/demo/README.md`.

use crate::settings::Limits;
use crate::wire::NewDocument;
use sameish::{DocId, Document, Preset};
use sameish_store::{Catalog, CollectionConfig, Error, Result};

const ARTICLES: &str = include_str!("../../../testdata/demo/articles.jsonl");
const HEADLINES: &str = include_str!("../../../testdata/demo/headlines.jsonl");

/// Stores the demo documents that do not exist yet. Returns the number of documents in the two collections.
pub(crate) fn load(catalog: &Catalog) -> Result<usize> {
    let mut total = 0;
    for (preset, lines) in [(Preset::Articles, ARTICLES), (Preset::Headlines, HEADLINES)] {
        let collection = match catalog.collection(preset.name()) {
            Ok(collection) => collection,
            Err(_) => catalog.create(preset.name(), CollectionConfig::new(preset))?,
        };
        let documents = lines.lines().filter_map(parse).collect();
        for result in collection.insert_many(documents)? {
            match result {
                Ok(_) | Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        total += collection.len();
    }
    Ok(total)
}

fn parse(line: &str) -> Option<Document> {
    let document: NewDocument = crate::body::parse(line.as_bytes(), &Limits::default()).ok()?;
    document.into_document(|| DocId::Number(0)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_document_with_an_id() {
        for line in ARTICLES.lines().chain(HEADLINES.lines()) {
            assert!(parse(line).is_some_and(|document| document.id != DocId::Number(0)), "{line}");
        }
        assert!(ARTICLES.lines().count() >= 24 && HEADLINES.lines().count() >= 24);
    }
}
