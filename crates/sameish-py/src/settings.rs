//! How are settings said in Python?
//!
//! A preset by name, a config file as text or as a mapping, and the settings most often changed as keywords. All of them
//! become the TOML that every door reads, so there is one set of rules and one of messages.

use crate::error::{refused, setting, shown, type_name, wrong_type};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyMapping, PyString};
use sameish::{Config, Preset};
use toml::{Table, Value};

/// Keywords, and the section of the config that has a key of that name.
const KEYWORDS: [(&str, &str); 10] = [
    ("threshold", "matching"),
    ("recall", "matching"),
    ("limit", "matching"),
    ("verify", "matching"),
    ("linkage", "matching"),
    ("templates", "matching"),
    ("tokenizer", "text"),
    ("stop_words", "text"),
    ("min_words", "text"),
    ("lossy", "text"),
];
const SECTIONS: [&str; 5] = ["text", "simhash", "minhash", "sdr", "matching"];
/// Deepest nesting of a mapping.
const DEPTH: usize = 8;

/// The settings that are meant.
pub(crate) fn config(
    preset: Option<&str>,
    config: Option<&Bound<'_, PyAny>>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<Config> {
    let mut settings = match preset {
        Some(name) => name.parse::<Preset>().map_err(refused)?,
        None => Preset::default(),
    }
    .config();
    match config {
        None => {}
        Some(text) if text.is_instance_of::<PyString>() => {
            settings = settings.overridden_by(&crate::texts::one(text, "`config`")?).map_err(refused)?;
        }
        Some(mapping) => settings = overridden(&settings, &table(mapping, "`config`", 0)?)?,
    }
    let Some(keywords) = keywords.filter(|keywords| !keywords.is_empty()) else { return Ok(settings) };
    overridden(&settings, &sections(keywords)?)
}

fn overridden(settings: &Config, table: &Table) -> PyResult<Config> {
    let text = toml::to_string(table).map_err(|error| setting(format!("config: {error}")))?;
    settings.overridden_by(&text).map_err(refused)
}

/// Keywords in their sections.
fn sections(keywords: &Bound<'_, PyDict>) -> PyResult<Table> {
    let mut all = Table::new();
    for (name, given) in keywords.iter() {
        let name = crate::texts::one(&name, "keyword")?;
        let given = value(&given, &format!("`{name}`"), 0)?;
        let section = KEYWORDS.iter().find(|(keyword, _)| *keyword == name).map(|(_, section)| *section);
        match (section, given) {
            (Some(section), given) => put(&mut all, section, name, given),
            (None, Value::Table(given)) if SECTIONS.contains(&name.as_str()) => {
                given.into_iter().for_each(|(key, given)| put(&mut all, &name, key, given));
            }
            // A lane that is taken away.
            (None, Value::String(none)) if SECTIONS.contains(&name.as_str()) && none == "none" => {
                all.insert(name, Value::String(none));
            }
            _ if SECTIONS.contains(&name.as_str()) => {
                return Err(wrong_type(format!("`{name}` must be a mapping of its settings, or None")));
            }
            _ => {
                let known = KEYWORDS.map(|(keyword, _)| keyword).join("`, `");
                let sections = SECTIONS.join("`, `");
                return Err(wrong_type(format!(
                    "no setting is named `{}`: there are `{known}`, and mappings for `{sections}`",
                    shown(&name)
                )));
            }
        }
    }
    Ok(all)
}

fn put(all: &mut Table, section: &str, key: String, given: Value) {
    let section = all.entry(section).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(section) = section {
        section.insert(key, given);
    }
}

fn table(mapping: &Bound<'_, PyAny>, what: &str, depth: usize) -> PyResult<Table> {
    let Ok(mapping) = mapping.cast::<PyMapping>() else {
        let found = type_name(mapping);
        return Err(wrong_type(format!("{what} is of type {found}: must be TOML in a str, or a mapping")));
    };
    let mut table = Table::new();
    for item in mapping.items()?.iter() {
        let (key, given): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let key = crate::texts::one(&key, &format!("key of {what}"))?;
        let given = value(&given, &format!("`{key}`"), depth + 1)?;
        table.insert(key, given);
    }
    Ok(table)
}

/// A value as TOML has it; `None` is what takes a setting away.
fn value(given: &Bound<'_, PyAny>, what: &str, depth: usize) -> PyResult<Value> {
    if depth > DEPTH {
        return Err(setting(format!("{what} is nested too deeply: at most {DEPTH} mappings")));
    }
    if given.is_none() {
        return Ok(Value::String("none".into()));
    }
    if given.is_instance_of::<PyBool>() {
        return given.extract().map(Value::Boolean);
    }
    if given.is_instance_of::<PyString>() {
        return crate::texts::one(given, what).map(Value::String);
    }
    // Numbers of NumPy are neither, but say what they are.
    if given.is_instance_of::<PyInt>() || given.hasattr("__index__")? && !given.hasattr("__len__")? {
        return given
            .extract()
            .map(Value::Integer)
            .map_err(|_| crate::error::number(format!("{what} is out of range: must fit 64 bits")));
    }
    if given.is_instance_of::<PyFloat>() || given.hasattr("__float__")? && !given.hasattr("__len__")? {
        return given.extract().map(Value::Float);
    }
    if given.cast::<PyMapping>().is_ok() {
        return table(given, what, depth).map(Value::Table);
    }
    let found = type_name(given);
    let items = given.try_iter().map_err(|_| {
        wrong_type(format!("{what} is of type {found}: must be a number, a str, a bool, a list or a mapping"))
    })?;
    items.map(|item| value(&item?, what, depth + 1)).collect::<PyResult<_>>().map(Value::Array)
}
