//! An existing corpus in a data directory.

use super::WorkArgs;
use crate::cmd::index::failure;
use crate::exit::Failure;
use crate::output::escape::escaped_name;
use crate::output::jsonl::push_line;
use sameish::document::{Given, GivenSketches};
use sameish::{Content, DocId};
use sameish_batch::Error;
use sameish_batch::input::{FileFormat, Input, ReadOptions};
use sameish_batch::output::temporary;
use sameish_store::{SqliteStore, Store as _};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use tempfile::TempPath;

/// Number of documents read at once.
const PAGE: usize = 512;

/// Arguments of `--against`.
pub(super) struct Against {
    /// Arguments that are not data directories.
    pub(super) files: Vec<OsString>,
    /// Documents of data directories.
    pub(super) indexes: Vec<CopiedIndex>,
}

/// Documents of a data directory, copied to a JSONL file.
pub(super) struct CopiedIndex {
    pub(super) input: Input,
    pub(super) file: TempPath,
}

/// Copies the documents of arguments that are data directories. A service may use the directory at the same time.
pub(super) fn copy_indexes(
    arguments: &[OsString],
    work: &WorkArgs,
    read: &ReadOptions,
) -> Result<Against, Failure> {
    let is_index = |argument: &&OsString| SqliteStore::is_in(Path::new(argument));
    let (directories, files): (Vec<&OsString>, Vec<&OsString>) = arguments.iter().partition(is_index);
    let other_format = read.whole_files || read.format.is_some_and(|format| format != FileFormat::Jsonl);
    if !directories.is_empty() && other_format {
        let why =
            "`--format` and `--whole-files` apply to files, but `--against` is a data directory; omit them";
        return Err(Failure::usage(why));
    }
    if !directories.is_empty() && work.resume {
        return Err(Failure::usage(
            "`--resume` does not support a data directory in `--against`; omit `--resume`",
        ));
    }
    let indexes = directories.into_iter().map(|directory| copy(Path::new(directory), work, read));
    Ok(Against { files: files.into_iter().cloned().collect(), indexes: indexes.collect::<Result<_, _>>()? })
}

fn copy(directory: &Path, work: &WorkArgs, read: &ReadOptions) -> Result<CopiedIndex, Failure> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("sameish-index-").suffix(".jsonl");
    let file = temporary::create(|| match &work.memory.temp_dir {
        Some(directory) => builder.tempfile_in(directory),
        None => builder.tempfile(),
    });
    let mut out = BufWriter::with_capacity(1 << 20, file.map_err(Error::Temporary)?);
    let store = SqliteStore::open(directory, false, true).map_err(failure)?;
    let reader = store.reader().map_err(failure)?;
    let mut ids = HashSet::new();
    let mut line = Vec::new();
    for collection in reader.collections().map_err(failure)? {
        let mut after = 0;
        loop {
            let page = reader.documents(collection.number, after, PAGE).map_err(failure)?;
            let Some((last, _)) = page.last() else { break };
            after = *last;
            for (_, row) in page {
                let document = row.map_err(failure)?.document;
                // Two collections may use the same id.
                let id = match ids.insert(document.id.clone()) {
                    true => document.id,
                    false => DocId::from(format!("{}/{}", collection.name, document.id).as_str()),
                };
                line.clear();
                push_line(&mut line, &record(&id, document.content, read));
                out.write_all(&line).map_err(Error::Temporary)?;
            }
        }
    }
    let file = out.into_inner().map_err(|error| Error::Temporary(error.into_error()))?.into_temp_path();
    let name = escaped_name(directory.as_os_str()).into();
    Ok(CopiedIndex { input: Input { name, path: Some(file.to_path_buf()) }, file })
}

/// Converts a document to a record with the field names of this run.
fn record(id: &DocId, content: Content, read: &ReadOptions) -> Map<String, Value> {
    let id =
        serde_json::to_value(id).unwrap_or_else(|error| unreachable!("every id has a JSON form: {error}"));
    let content: Vec<(String, Value)> = match content {
        Content::Text(text) => vec![(read.fields.text_name().to_owned(), text.into())],
        Content::Tokens(tokens) => vec![("tokens".to_owned(), tokens.into())],
        Content::Sketches(given) => sketch_fields(&given),
    };
    read.fields.id.clone().map(|field| (field, id)).into_iter().chain(content).collect()
}

/// Returns the fields of sketches in place of a text.
fn sketch_fields(given: &GivenSketches) -> Vec<(String, Value)> {
    let field = |name: &str, value: String| (name.to_owned(), Value::from(value));
    let mut fields = Vec::new();
    if let Some(Given { scheme, sketch }) = &given.simhash {
        fields.push(field("simhash", sketch.to_hex()));
        fields.push(field("simhash_scheme", scheme.to_string()));
    }
    if let Some(Given { scheme, sketch }) = &given.minhash {
        fields.push(field("minhash", sketch.to_hex()));
        fields.push(field("minhash_scheme", scheme.to_string()));
    }
    fields
}
