//! An existing corpus that lies in an index folder.

use super::Work;
use crate::batch::temporary;
use crate::cmd::index::failure;
use crate::exit::Failure;
use crate::input::Reading;
use crate::input::find::Source;
use crate::input::format::Kind;
use crate::output::escape::escaped_name;
use crate::output::jsonl::push_line;
use crate::output::leftovers;
use sameish::{Content, DocId};
use sameish_store::{SqliteStore, Store as _};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use tempfile::TempPath;

/// Documents that are read at once.
const PAGE: usize = 512;

/// What `--against` names.
pub(super) struct Against {
    /// Arguments that are not index folders.
    pub(super) files: Vec<OsString>,
    /// The documents of those that are, as files of JSON lines, which go when the paths do.
    pub(super) indexes: Vec<(Source, TempPath)>,
}

/// Looks which arguments are index folders, and copies their documents. A service may run over a folder meanwhile.
pub(super) fn folders(arguments: &[OsString], work: &Work, reading: &Reading) -> Result<Against, Failure> {
    let is_index = |argument: &&OsString| SqliteStore::is_in(Path::new(argument));
    let (folders, rest): (Vec<&OsString>, Vec<&OsString>) = arguments.iter().partition(is_index);
    let other = reading.whole_files || reading.format.is_some_and(|format| format != Kind::Jsonl);
    if !folders.is_empty() && other {
        let why = "`--format` and `--whole-files` are for files, and `--against` names an index folder; leave them out";
        return Err(Failure::usage(why));
    }
    if !folders.is_empty() && work.resume {
        return Err(Failure::usage("`--resume` can not go on where `--against` is an index folder"));
    }
    let copied = folders.into_iter().map(|folder| copy(Path::new(folder), work, reading));
    Ok(Against { files: rest.into_iter().cloned().collect(), indexes: copied.collect::<Result<_, _>>()? })
}

fn copy(folder: &Path, work: &Work, reading: &Reading) -> Result<(Source, TempPath), Failure> {
    let failed = |error: std::io::Error| temporary(&error);
    let mut builder = tempfile::Builder::new();
    builder.prefix("sameish-index-").suffix(".jsonl");
    let file = leftovers::make(|| match &work.memory.temp_dir {
        Some(folder) => builder.tempfile_in(folder),
        None => builder.tempfile(),
    });
    let mut out = BufWriter::with_capacity(1 << 20, file.map_err(failed)?);
    let store = SqliteStore::open(folder, false, true).map_err(failure)?;
    let reader = store.reader().map_err(failure)?;
    let (mut ids, mut line) = (HashSet::new(), Vec::new());
    for collection in reader.collections().map_err(failure)? {
        let mut after = 0;
        loop {
            let page = reader.documents(collection.number, after, PAGE).map_err(failure)?;
            let Some((last, _)) = page.last() else { break };
            after = *last;
            for (_, row) in page {
                let document = row.map_err(failure)?.document;
                // Two collections may use an id for two documents.
                let id = match ids.insert(document.id.clone()) {
                    true => document.id,
                    false => DocId::from(format!("{}/{}", collection.name, document.id).as_str()),
                };
                line.clear();
                push_line(&mut line, &record(&id, document.content, reading));
                out.write_all(&line).map_err(failed)?;
            }
        }
    }
    let file = out.into_inner().map_err(|error| failed(error.into_error()))?.into_temp_path();
    let name = escaped_name(folder.as_os_str()).into();
    Ok((Source { name, path: Some(file.to_path_buf()) }, file))
}

/// A document as the reader of this run expects it.
fn record(id: &DocId, content: Content, reading: &Reading) -> Map<String, Value> {
    let id = serde_json::to_value(id).unwrap_or_else(|error| unreachable!("an id has a JSON form: {error}"));
    let content = match content {
        Content::Text(text) => (reading.fields.text.clone(), text.into()),
        Content::Tokens(tokens) => ("tokens".to_owned(), tokens.into()),
    };
    [(reading.fields.id.clone(), id), content].into_iter().collect()
}
