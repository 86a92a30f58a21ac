//! Which fields of an input are read.
//!
//! A field that the user named must exist. Without a name, the text is in the first of `text`, `body`, `content` and
//! `article` that the input has, and only then in the title. A table is judged by its header or schema, JSONL by its first
//! records. The rules apply to each input on its own, so inputs with different fields can be read together.

use super::ReadOptions;
use super::format::FieldNames;
use super::jsonl::{SKETCHES, TOKENS};
use super::reject::{InputError, InputErrorKind, Problem, Remedy};
use crate::escape::escaped;
use sameish_io::json::{self, Keep, Limits, Value};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of records of a JSONL input that are examined.
pub(crate) const EXAMINED: usize = 1000;
/// Default name of the field of the text.
pub(crate) const TEXT: &str = "text";
/// Fields that contain the text if there is no field `text`.
const OTHER_TEXTS: [&str; 3] = ["body", "content", "article"];
/// Maximum number of field names that are listed in a message.
const LISTED: usize = 12;
/// Maximum number of field names of an input that are remembered.
const REMEMBERED: usize = 1000;

/// A field that the user named.
#[derive(Clone, Debug, PartialEq)]
pub struct RequiredField {
    /// Name of the field.
    pub name: String,
    /// Name of the parameter in the interface, such as `--text-field`.
    pub parameter: &'static str,
    /// Which inputs must have the field.
    pub scope: FieldScope,
}

/// Which inputs must have a named field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldScope {
    /// Every input.
    EachInput,
    /// At least one input.
    AnyInput,
}

/// A text field that was chosen because the user named none and the input has no field `text`.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenField {
    /// Escaped name of the input.
    pub input: Arc<str>,
    /// Name of the field.
    pub field: String,
    /// `true` if an earlier input has its text in another field.
    pub differs: bool,
}

/// The fields that the readers of a run found; clones share the same list.
#[derive(Clone, Debug, Default)]
pub struct FieldLog(Arc<Mutex<FoundFields>>);

#[derive(Debug, Default)]
struct FoundFields {
    /// Fields of the text, in the order of the inputs.
    texts: Vec<String>,
    /// Required fields that some input has.
    required: Vec<String>,
    /// Names of the fields of all inputs.
    names: Vec<String>,
}

impl FieldLog {
    /// Returns the fields from which texts were read, in the order of the inputs; none for plain text.
    pub fn text_fields(&self) -> Vec<String> {
        self.lock().texts.clone()
    }

    /// Records the field of the text of an input. Returns the choice if it must be announced.
    fn add_text(&self, input: &Arc<str>, field: &str) -> Option<ChosenField> {
        let mut found = self.lock();
        if found.texts.iter().any(|known| known == field) {
            return None;
        }
        let differs = !found.texts.is_empty();
        found.texts.push(field.to_owned());
        let chosen = ChosenField { input: input.clone(), field: field.to_owned(), differs };
        Some(chosen).filter(|_| field != TEXT)
    }

    fn add_names(&self, fields: &InputFields, required: &[RequiredField]) {
        let mut found = self.lock();
        found
            .required
            .extend(required.iter().map(|field| field.name.clone()).filter(|name| fields.has(name)));
        for name in &fields.names {
            if found.names.len() < REMEMBERED && !found.names.contains(name) {
                found.names.push(name.clone());
            }
        }
    }

    /// Fails if no input has a field that one of them must have.
    pub(crate) fn check(&self, required: &[RequiredField], input: &Arc<str>) -> Result<(), InputError> {
        let found = self.lock();
        let missing = |field: &&RequiredField| !found.required.contains(&field.name);
        let Some(field) = required.iter().find(missing) else { return Ok(()) };
        let (name, parameter) = (escaped(&field.name), field.parameter);
        let names = listed(&found.names);
        let text = format!("no field `{name}` in any input; the inputs have {names}; change `{parameter}`");
        Err(missing_field(input, text))
    }

    fn lock(&self) -> MutexGuard<'_, FoundFields> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The fields of one input.
#[derive(Debug, Default)]
pub(crate) struct InputFields {
    names: Vec<String>,
    /// Names of fields that contain strings.
    strings: Vec<String>,
    origin: Origin,
}

/// Where the names of fields come from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Origin {
    /// The header or schema of a table.
    #[default]
    Table,
    /// This many records.
    Records(usize),
}

impl InputFields {
    /// Returns the fields of a table with these columns; `is_text` states which of them contain strings.
    pub(crate) fn of_table(columns: &[String], is_text: impl Fn(&str) -> bool) -> InputFields {
        let strings = columns.iter().filter(|name| is_text(name)).cloned().collect();
        InputFields { names: columns.to_vec(), strings, origin: Origin::Table }
    }

    /// Returns the fields of no records.
    pub(crate) fn of_records() -> InputFields {
        InputFields { origin: Origin::Records(0), ..InputFields::default() }
    }

    /// Adds the fields of a JSONL record. An invalid record has none.
    pub(crate) fn add_record(&mut self, record: &[u8]) {
        let Ok(record) = std::str::from_utf8(record) else { return };
        let names: RefCell<Vec<String>> = RefCell::default();
        let select = |key: &str| {
            names.borrow_mut().push(key.to_owned());
            OTHER_TEXTS.iter().position(|name| *name == key).map(|text| (text, Keep::Scalar))
        };
        let mut strings = Vec::new();
        let store = |text: usize, value: Value<'_>| {
            if matches!(value, Value::Text(_)) {
                strings.push(OTHER_TEXTS[text].to_owned());
            }
        };
        if json::read_fields(record, Limits::default(), select, store).is_err() {
            return;
        }
        add_new(&mut self.names, names.into_inner());
        add_new(&mut self.strings, strings);
        if let Origin::Records(count) = &mut self.origin {
            *count += 1;
        }
    }

    /// Returns `true` if more records cannot change the choice of fields.
    pub(crate) fn is_decided(&self, options: &ReadOptions) -> bool {
        let text = options.fields.text.as_deref().unwrap_or(TEXT);
        self.has(text) && options.required.iter().all(|field| self.has(&field.name))
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Returns the field of the text if the user named none.
    fn text_field<'a>(&'a self, title: Option<&'a str>) -> Option<TextField<'a>> {
        // An array of tokens replaces the text wherever a record has one.
        if self.has(TEXT) || self.has(TOKENS) {
            return Some(TextField::Text(TEXT));
        }
        let is_string = |name: &&&str| self.strings.iter().any(|known| known == **name);
        let other = OTHER_TEXTS.iter().find(is_string).map(|name| TextField::Text(name));
        // Sketches with their scheme take precedence over the title; fields of these names without a scheme do not.
        let has_any =
            |names: [&str; 2]| names.iter().any(|name| self.has(name)).then_some(TextField::Text(TEXT));
        let [simhash, simhash_scheme, minhash, minhash_scheme] = SKETCHES;
        other
            .or_else(|| has_any([simhash_scheme, minhash_scheme]))
            .or_else(|| title.filter(|title| self.has(title)).map(TextField::Title))
            .or_else(|| has_any([simhash, minhash]))
    }

    /// Returns `true` if there is nothing to choose from, because no record could be parsed.
    fn is_unknown(&self) -> bool {
        self.origin == Origin::Records(0)
    }

    fn noun(&self) -> &'static str {
        if self.origin == Origin::Table { "column" } else { "field" }
    }

    /// Describes the fields, for a message.
    fn description(&self) -> String {
        let names = listed(&self.names);
        match self.origin {
            Origin::Table => format!("the columns are {names}"),
            Origin::Records(EXAMINED) => format!("the first 1,000 records have {names}"),
            Origin::Records(_) => format!("the records have {names}"),
        }
    }
}

enum TextField<'a> {
    Text(&'a str),
    Title(&'a str),
}

fn add_new(known: &mut Vec<String>, names: Vec<String>) {
    for name in names {
        if known.len() < REMEMBERED && !known.contains(&name) {
            known.push(name);
        }
    }
}

/// Lists names for a message.
pub(crate) fn listed(names: &[String]) -> String {
    let short = |name: &String| format!("`{}`", escaped(name).chars().take(40).collect::<String>());
    let shown: Vec<String> = names.iter().take(LISTED).map(short).collect();
    match names.len().saturating_sub(LISTED) {
        0 if names.is_empty() => "no names".into(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn missing_field(input: &Arc<str>, reason: String) -> InputError {
    InputError { kind: InputErrorKind::MissingField, ..InputError::unreadable(input, reason) }
}

/// Decides which fields of an input are read.
pub(crate) fn choose(
    input: &Arc<str>,
    fields: &InputFields,
    options: &ReadOptions,
) -> Result<FieldNames, InputError> {
    if fields.is_unknown() {
        return Ok(options.fields.clone());
    }
    options.field_log.add_names(fields, &options.required);
    check_required(input, fields, &options.required)?;
    if let Some(text) = &options.fields.text {
        options.field_log.add_text(input, text);
        return Ok(options.fields.clone());
    }
    let title = options.fields.title.as_deref();
    let (text, used) = match fields.text_field(title) {
        Some(TextField::Text(name)) => (name, name),
        Some(TextField::Title(title)) => (TEXT, title),
        None => return Err(InputError::unreadable(input, no_text(fields, title))),
    };
    if let (Some(chosen), Some(announce)) = (options.field_log.add_text(input, used), options.on_text_field) {
        announce(&chosen);
    }
    Ok(FieldNames { text: Some(text.to_owned()), ..options.fields.clone() })
}

fn check_required(
    input: &Arc<str>,
    fields: &InputFields,
    required: &[RequiredField],
) -> Result<(), InputError> {
    let missing = |field: &&RequiredField| field.scope == FieldScope::EachInput && !fields.has(&field.name);
    let Some(RequiredField { name, parameter, .. }) = required.iter().find(missing) else { return Ok(()) };
    let (noun, name) = (fields.noun(), escaped(name));
    Err(missing_field(input, format!("no {noun} `{name}`; {}; change `{parameter}`", fields.description())))
}

/// Describes an input without a text.
fn no_text(fields: &InputFields, title: Option<&str>) -> Problem {
    let names = [TEXT].into_iter().chain(OTHER_TEXTS).chain(title);
    let names: Vec<String> = names.map(|name| format!("`{}`", escaped(name))).collect();
    let text = format!("no {} {}; {}", fields.noun(), names.join(", "), fields.description());
    match fields.origin {
        Origin::Table if is_unsplit(&fields.names) => Problem::with(text, Remedy::Delimiter),
        _ => Problem::with(text, Remedy::TextField),
    }
}

/// Returns `true` if the header of a table seems to have another separator.
fn is_unsplit(names: &[String]) -> bool {
    matches!(names, [name] if name.contains([',', ';', '\t', '|']))
}

/// Refuses a named field of an input that has no fields.
pub(crate) fn refuse_fields(input: &Arc<str>, options: &ReadOptions) -> Result<(), InputError> {
    let named = options.required.iter().find(|field| field.scope == FieldScope::EachInput);
    let Some(RequiredField { name, parameter, .. }) = named else { return Ok(()) };
    let name = escaped(name);
    let text =
        format!("read as plain text, which has no field `{name}`; set the format, or omit `{parameter}`");
    Err(missing_field(input, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(lines: &[&str]) -> InputFields {
        let mut fields = InputFields::of_records();
        lines.iter().for_each(|line| fields.add_record(line.as_bytes()));
        fields
    }

    fn chosen(lines: &[&str]) -> Result<String, String> {
        let names = choose(&"in".into(), &records(lines), &ReadOptions::default());
        names.map(|names| names.text.unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn takes_the_first_known_text_field_that_is_present() {
        assert_eq!(chosen(&[r#"{"article":"a","content":"c"}"#, r#"{"body":"b"}"#]).unwrap(), "body");
        assert_eq!(chosen(&[r#"{"article":"a","title":"t"}"#]).unwrap(), "article");
        assert_eq!(chosen(&[r#"{"body":"b"}"#, r#"{"text":null}"#]).unwrap(), "text");
        assert_eq!(chosen(&[r#"{"content":{"html":"x"},"title":"t"}"#]).unwrap(), "text", "the title");
        assert_eq!(chosen(&[r#"{"tokens":["a"],"body":"b"}"#]).unwrap(), "text", "the tokens");
        let error = chosen(&[r#"{"id":1,"abstract":"a"}"#]).unwrap_err();
        assert!(
            error.contains("no field `text`, `body`") && error.contains("have `id`, `abstract`"),
            "{error}"
        );
    }

    #[test]
    fn announces_each_text_field_once() {
        let log = FieldLog::default();
        let input: Arc<str> = "a".into();
        assert_eq!(log.add_text(&input, "body").map(|chosen| chosen.differs), Some(false));
        assert_eq!(log.add_text(&input, "body"), None);
        assert_eq!(log.add_text(&input, "text"), None);
        assert_eq!(log.add_text(&input, "title").map(|chosen| chosen.differs), Some(true));
        assert_eq!(log.text_fields(), ["body", "text", "title"]);
    }
}
