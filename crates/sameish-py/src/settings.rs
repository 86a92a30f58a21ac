//! Settings from Python: a preset, a config file or mapping, and keywords.
//!
//! Mappings and keywords are converted to the TOML of a config file, so that the rules and error messages are the same in
//! all interfaces.

use crate::error::{engine_error, excerpt, number_error, setting_error, type_error, type_name};
use crate::texts;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyMapping, PyString};
use sameish::{Config, Preset};
use toml::{Table, Value};

/// Keywords, and the sections of the config file that contain them.
const KEYWORDS: [(&str, &str); 11] = [
    ("threshold", "matching"),
    ("recall", "matching"),
    ("limit", "matching"),
    ("verify", "matching"),
    ("linkage", "matching"),
    ("templates", "matching"),
    ("unverified", "matching"),
    ("tokenizer", "text"),
    ("stop_words", "text"),
    ("min_words", "text"),
    ("lossy", "text"),
];
const SECTIONS: [&str; 5] = ["text", "simhash", "minhash", "sdr", "matching"];
/// Maximum nesting of mappings and lists.
const MAX_DEPTH: usize = 8;
/// Value in a config file that removes a setting; `None` in Python.
const NONE: &str = "none";

/// Applies a config and keywords to a preset.
pub(crate) fn config(
    preset: Option<&str>,
    config: Option<&Bound<'_, PyAny>>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<Config> {
    let preset = match preset {
        Some(name) => name.parse::<Preset>().map_err(engine_error)?,
        None => Preset::default(),
    };
    let mut settings = preset.config();
    if let Some(config) = config {
        settings = if config.is_instance_of::<PyString>() {
            settings.overridden_by(&texts::from_python(config, "`config`")?).map_err(engine_error)?
        } else {
            override_by(&settings, &table(config, "`config`", 0)?)?
        };
    }
    match keywords.filter(|keywords| !keywords.is_empty()) {
        Some(keywords) => override_by(&settings, &sections(keywords)?),
        None => Ok(settings),
    }
}

fn override_by(settings: &Config, table: &Table) -> PyResult<Config> {
    let text = toml::to_string(table).map_err(|error| setting_error(format!("config: {error}")))?;
    settings.overridden_by(&text).map_err(engine_error)
}

/// Converts keywords to the sections of a config file.
fn sections(keywords: &Bound<'_, PyDict>) -> PyResult<Table> {
    let mut all = Table::new();
    for (name, value) in keywords.iter() {
        let name = texts::from_python(&name, "keyword")?;
        let value = to_toml(&value, &format!("`{name}`"), 0)?;
        if let Some((_, section)) = KEYWORDS.iter().find(|(keyword, _)| *keyword == name) {
            insert(&mut all, section, name, value);
            continue;
        }
        if !SECTIONS.contains(&name.as_str()) {
            return Err(unknown_setting(&name));
        }
        match value {
            Value::Table(section) => {
                section.into_iter().for_each(|(key, value)| insert(&mut all, &name, key, value));
            }
            // Removes the whole section.
            Value::String(none) if none == NONE => _ = all.insert(name, Value::String(none)),
            _ => return Err(type_error(format!("`{name}` must be a mapping of settings, or None"))),
        }
    }
    Ok(all)
}

fn unknown_setting(name: &str) -> PyErr {
    let keywords = KEYWORDS.map(|(keyword, _)| keyword).join("`, `");
    let sections = SECTIONS.join("`, `");
    type_error(format!(
        "unknown setting `{}`: must be `{keywords}`, or one of the mappings `{sections}`",
        excerpt(name)
    ))
}

fn insert(all: &mut Table, section: &str, key: String, value: Value) {
    let section = all.entry(section).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(section) = section {
        section.insert(key, value);
    }
}

fn table(mapping: &Bound<'_, PyAny>, what: &str, depth: usize) -> PyResult<Table> {
    let Ok(mapping) = mapping.cast::<PyMapping>() else {
        let found = type_name(mapping);
        return Err(type_error(format!("{what} is of type {found}: must be TOML in a str, or a mapping")));
    };
    let mut table = Table::new();
    for item in mapping.items()?.iter() {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let key = texts::from_python(&key, &format!("key of {what}"))?;
        let value = to_toml(&value, &format!("`{key}`"), depth + 1)?;
        table.insert(key, value);
    }
    Ok(table)
}

/// Converts a Python value to TOML. `None` becomes `"none"`, which removes a setting.
fn to_toml(value: &Bound<'_, PyAny>, what: &str, depth: usize) -> PyResult<Value> {
    if depth > MAX_DEPTH {
        return Err(setting_error(format!(
            "{what} is nested too deeply: must have at most {MAX_DEPTH} levels"
        )));
    }
    if value.is_none() {
        return Ok(Value::String(NONE.into()));
    }
    if value.is_instance_of::<PyBool>() {
        return value.extract().map(Value::Boolean);
    }
    if value.is_instance_of::<PyString>() {
        return texts::from_python(value, what).map(Value::String);
    }
    // NumPy scalars are not instances of `int` or `float`, but can be converted.
    if value.is_instance_of::<PyInt>() || value.hasattr("__index__")? && !value.hasattr("__len__")? {
        return value
            .extract()
            .map(Value::Integer)
            .map_err(|_| number_error(format!("{what} is out of range: must fit in 64 bits")));
    }
    if value.is_instance_of::<PyFloat>() || value.hasattr("__float__")? && !value.hasattr("__len__")? {
        return value.extract().map(Value::Float);
    }
    if value.cast::<PyMapping>().is_ok() {
        return table(value, what, depth).map(Value::Table);
    }
    let items = value.try_iter().map_err(|_| {
        let found = type_name(value);
        type_error(format!("{what} is of type {found}: must be a number, a str, a bool, a list or a mapping"))
    })?;
    items.map(|item| to_toml(&item?, what, depth + 1)).collect::<PyResult<_>>().map(Value::Array)
}
