//! What is there to see on the first day?
//!
//! A few dozen short articles and headlines of our own, with copies as newsrooms make them: edited, cut, repeated word for
//! word, and forms filled with other facts. See `testdata/demo/README.md`.

use crate::json::Json;
use crate::settings::Limits;
use crate::wire::New;
use sameish::{DocId, Preset};
use sameish_store::{Catalog, CollectionConfig, Error, Result};

const ARTICLES: &str = include_str!("../../../testdata/demo/articles.jsonl");
const HEADLINES: &str = include_str!("../../../testdata/demo/headlines.jsonl");

/// Stores the bundled documents, once: those that are there stay. Tells how many documents the two collections have.
pub(crate) fn load(catalog: &Catalog) -> Result<usize> {
    let mut total = 0;
    for (preset, lines) in [(Preset::Articles, ARTICLES), (Preset::Headlines, HEADLINES)] {
        let collection = match catalog.collection(preset.name()) {
            Ok(collection) => collection,
            Err(_) => catalog.create(preset.name(), CollectionConfig::new(preset))?,
        };
        let documents = lines.lines().filter_map(read).collect();
        for answer in collection.insert_many(documents)? {
            match answer {
                Ok(_) | Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        total += collection.len();
    }
    Ok(total)
}

fn read(line: &str) -> Option<sameish::Document> {
    let new = New::read(Json::parse(line.as_bytes()).ok()?, &Limits::default()).ok()?;
    Some(new.named(|| DocId::Number(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_document_with_an_id() {
        for line in ARTICLES.lines().chain(HEADLINES.lines()) {
            assert!(read(line).is_some_and(|document| document.id != DocId::Number(0)), "{line}");
        }
        assert!(ARTICLES.lines().count() >= 24 && HEADLINES.lines().count() >= 24);
    }
}
