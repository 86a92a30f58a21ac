//! Documents in files.

use crate::error::Result;
use crate::input::{
    FieldNames, FieldScope, FileFormat, InputResult, ReadOptions, RecordRules, RequiredField, check_inputs,
    find, known_suffix, total_size,
};
use std::ffi::OsString;
use std::path::PathBuf;

/// Fields of records that the caller named.
#[derive(Clone, Debug, Default)]
pub struct FileFields {
    /// Name of the text field; by default the first of the known names that a file has.
    pub text: Option<String>,
    /// Name of the id field; without it, documents are identified by their row.
    pub id: Option<String>,
    /// Name of the date field.
    pub date: Option<String>,
    /// Name of the source field; by default `source`, else `host`.
    pub source: Option<String>,
}

/// Names of the parameters that name fields, for messages.
#[derive(Clone, Copy, Debug)]
pub struct ParameterNames {
    /// Parameter of the text field.
    pub text: &'static str,
    /// Parameter of the id field.
    pub id: &'static str,
    /// Parameter of the date field.
    pub date: &'static str,
    /// Parameter of the source field.
    pub source: &'static str,
}

/// Which files are read, and how.
#[derive(Clone, Debug)]
pub struct FileParameters<'a> {
    /// Files, directories and patterns.
    pub paths: &'a [PathBuf],
    /// Files, directories and patterns of an existing corpus.
    pub against: &'a [PathBuf],
    /// Fields that the caller named.
    pub fields: FileFields,
    /// Names of the parameters of the fields.
    pub names: ParameterNames,
    /// Whether the sources of documents are needed.
    pub with_sources: bool,
    /// Format of all files; by default the suffix or the first bytes decide.
    pub format: Option<FileFormat>,
    /// Separator of the values of tables; by default that of the format.
    pub delimiter: Option<u8>,
}

/// Documents in files, and those of an existing corpus.
pub struct FileCorpus {
    /// The files, in order.
    pub inputs: Vec<InputResult>,
    /// The files of the existing corpus.
    pub against: Vec<InputResult>,
    /// How files are read.
    pub read: ReadOptions,
}

impl FileCorpus {
    /// Finds the files. Fails if a path does not exist or a pattern matches no file.
    pub fn new(parameters: FileParameters<'_>) -> Result<FileCorpus> {
        let FileParameters { paths, against, fields, names, with_sources, format, delimiter } = parameters;
        let inputs = find_files(paths)?;
        let against = find_files(against)?;
        let required = required_fields(&fields, names, inputs.len());
        let default = FieldNames::default();
        let FileFields { text, id, date, source } = fields;
        // A named field must exist; without a name, a record may have a title instead of a text.
        let title = if text.is_some() { None } else { default.title };
        let rules = RecordRules { require_id: id.is_some(), ..RecordRules::default() };
        let source = match source {
            Some(source) => vec![source],
            None if with_sources => default.source,
            None => Vec::new(),
        };
        let read = ReadOptions {
            // A separator is that of a table, whatever the suffix of the file.
            format: format.or(delimiter.map(|_| FileFormat::Csv)),
            delimiter,
            fields: FieldNames { id, text, title, source, date },
            required,
            rules,
            ..ReadOptions::default()
        };
        Ok(FileCorpus { inputs, against, read })
    }

    /// Opens all files, so that a missing field or an unreadable file is reported before any work is done.
    pub fn check(&self) -> Result<()> {
        let own = check_inputs(&self.inputs, &self.read)?;
        let against = check_inputs(&self.against, &self.read.for_reference())?;
        own.into_iter().chain(against).next().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Returns a sentence about the fields that were used because the files have no field `text`.
    pub fn chosen_fields(&self) -> Option<String> {
        let fields = self.read.field_log.text_fields();
        let names: Vec<String> =
            fields.iter().filter(|field| *field != "text").map(|field| format!("`{field}`")).collect();
        let is_chosen = self.read.fields.text.is_none() && !names.is_empty();
        is_chosen.then(|| format!("no `text` field; using {}", names.join(" and ")))
    }

    /// Returns the size of all files in bytes, or 1 if it is not known.
    pub fn total_bytes(&self) -> usize {
        let total = total_size(self.against.iter().chain(&self.inputs));
        total.map_or(1, |total| usize::try_from(total).unwrap_or(usize::MAX))
    }
}

/// Returns the fields that parameters name. Texts and ids are needed from every file, others from any.
fn required_fields(fields: &FileFields, names: ParameterNames, files: usize) -> Vec<RequiredField> {
    let any = if files > 1 { FieldScope::AnyInput } else { FieldScope::EachInput };
    let named = [
        (names.text, &fields.text, FieldScope::EachInput),
        (names.id, &fields.id, FieldScope::EachInput),
        (names.date, &fields.date, any),
        (names.source, &fields.source, any),
    ];
    let required = |(parameter, name, scope): (&'static str, &Option<String>, FieldScope)| {
        Some(RequiredField { name: name.clone()?, parameter, scope })
    };
    named.into_iter().filter_map(required).collect()
}

fn find_files(paths: &[PathBuf]) -> Result<Vec<InputResult>> {
    // The name `-` is a file here, and not standard input.
    let argument = |path: &PathBuf| match path.as_os_str() == "-" {
        true => OsString::from("./-"),
        false => path.clone().into_os_string(),
    };
    let arguments: Vec<OsString> = paths.iter().map(argument).collect();
    let inputs = find(&arguments, |path| known_suffix(path, false))?;
    match inputs.iter().find_map(|input| input.as_ref().err()) {
        Some(error) => Err(error.clone().into()),
        None => Ok(inputs),
    }
}

/// Reads the separator of the values of a table: one ASCII character, or `tab`.
pub fn parse_delimiter(text: &str) -> Option<u8> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Some(b'\t'),
        [byte] if !matches!(byte, b'"' | b'\n' | b'\r' | 0x80..) => Some(*byte),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_one_ascii_character_or_tab() {
        assert_eq!(parse_delimiter(";"), Some(b';'));
        assert_eq!(parse_delimiter("tab"), Some(b'\t'));
        assert_eq!(parse_delimiter("\t"), Some(b'\t'));
        for invalid in ["", ";;", "\"", "\n", "é"] {
            assert_eq!(parse_delimiter(invalid), None, "{invalid:?}");
        }
    }
}
