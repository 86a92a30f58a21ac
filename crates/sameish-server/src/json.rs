//! How is a body read as JSON, strictly?
//!
//! A body becomes a small tree whose strings are borrowed from it. Keys that come twice, nesting beyond 64 and bodies of
//! very many values are refused, so that nobody has to guess what was meant and a few megabytes of brackets do not become
//! hundreds in memory. [`Fields`] then takes the tree apart and gathers everything that is wrong at once.

use crate::problem::{FieldError, Kind, Problem, shown};
use sameish::DocId;
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

/// Deepest nesting of lists and objects.
const MAX_DEPTH: u32 = 64;
/// Most values in a body, nested ones counted.
const MAX_VALUES: u32 = 100_000;
/// Up to so many keys are searched one by one, more by hashing.
const FEW_KEYS: usize = 16;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    /// A 64-bit integer, exact.
    Integer(DocId),
    Float(f64),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads a whole body.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Json<'a>, Problem> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            Problem::new(Kind::BrokenJson, format!("the body is not UTF-8 at byte {at}")).at(at)
        })?;
        if text.trim_ascii().is_empty() {
            return Err(Problem::new(Kind::BrokenJson, "the body is empty: send a JSON object").at(0));
        }
        let left = Cell::new(MAX_VALUES);
        let mut json = serde_json::Deserializer::from_str(text);
        let broken = |error| broken(text, &error);
        let value = Seed { depth: 0, left: &left }.deserialize(&mut json).map_err(broken)?;
        json.end().map_err(broken)?;
        Ok(value)
    }

    /// The word for its type.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "true or false",
            Json::Integer(_) | Json::Float(_) => "a number",
            Json::Text(_) => "a string",
            Json::List(_) => "a list",
            Json::Object(_) => "an object",
        }
    }
}

/// The parser's complaint, with its place in bytes instead of lines.
fn broken(text: &str, error: &serde_json::Error) -> Problem {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&place).unwrap_or(&message);
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = (before + error.column().saturating_sub(1)).min(text.len());
    Problem::new(Kind::BrokenJson, format!("{message} at byte {at}")).at(at)
}

struct Seed<'c> {
    depth: u32,
    left: &'c Cell<u32>,
}

impl Seed<'_> {
    fn deeper<E: de::Error>(&self) -> Result<Self, E> {
        match self.depth < MAX_DEPTH {
            true => Ok(Seed { depth: self.depth + 1, left: self.left }),
            false => Err(E::custom(format!("nested deeper than {MAX_DEPTH}"))),
        }
    }

    fn again(&self) -> Self {
        Seed { depth: self.depth, left: self.left }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json<'de>, D::Error> {
        match self.left.get().checked_sub(1) {
            Some(left) => self.left.set(left),
            None => return Err(de::Error::custom(format!("more than {MAX_VALUES} values"))),
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(Json::Integer(DocId::Number(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        let id = u64::try_from(value).map_or(DocId::Negative(value), DocId::Number);
        Ok(Json::Integer(id))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Json::Float(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Json<'de>, S::Error> {
        let inner = self.deeper()?;
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(inner.again())? {
            values.push(value);
        }
        Ok(Json::List(values))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Json<'de>, M::Error> {
        let inner = self.deeper()?;
        let mut entries: Vec<(Cow<'de, str>, Json<'de>)> = Vec::new();
        let mut many: HashSet<Cow<'de, str>> = HashSet::new();
        while let Some(Key(key)) = map.next_key()? {
            let seen = match entries.len() < FEW_KEYS {
                true => entries.iter().any(|(other, _)| *other == key),
                false => {
                    if many.is_empty() {
                        many.extend(entries.iter().map(|(key, _)| key.clone()));
                    }
                    !many.insert(key.clone())
                }
            };
            if seen {
                return Err(de::Error::custom(format!("key `{}` occurs twice", shown(&key))));
            }
            entries.push((key, map.next_value_seed(inner.again())?));
        }
        Ok(Json::Object(entries))
    }
}

/// A key, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The fields of an object, taken out one by one. What is wrong is gathered until [`finish`](Self::finish).
pub(crate) struct Fields<'a> {
    entries: Vec<(Cow<'a, str>, Json<'a>)>,
    base: String,
    pub(crate) errors: Vec<FieldError>,
}

impl<'a> Fields<'a> {
    /// An object at a pointer; anything else is a problem.
    pub(crate) fn of(json: Json<'a>, base: &str) -> Result<Fields<'a>, Problem> {
        match json {
            Json::Object(entries) => Ok(Fields { entries, base: base.to_owned(), errors: Vec::new() }),
            other => {
                Err(Problem::field(base, "wrong_type", format!("is {}: must be an object", other.kind())))
            }
        }
    }

    /// A field's value as it is.
    pub(crate) fn take(&mut self, name: &str) -> Option<Json<'a>> {
        let at = self.entries.iter().position(|(key, _)| key == name)?;
        Some(self.entries.swap_remove(at).1)
    }

    /// Notes that a field is wrong.
    pub(crate) fn wrong(&mut self, name: &str, code: &'static str, detail: impl Into<String>) {
        let pointer = format!("{}/{}", self.base, escaped(name));
        self.errors.push(FieldError::new(pointer, code, detail));
    }

    /// A string of at most so many bytes. Null counts as absent.
    pub(crate) fn text(&mut self, name: &str, most: usize) -> Option<String> {
        match self.take(name) {
            None | Some(Json::Null) => None,
            Some(Json::Text(text)) if text.len() > most => {
                self.wrong(name, "too_long", format!("has {} bytes: at most {most}", text.len()));
                None
            }
            Some(Json::Text(text)) => Some(text.into_owned()),
            Some(other) => {
                self.wrong(name, "wrong_type", format!("is {}: must be a string", other.kind()));
                None
            }
        }
    }

    /// A whole number in a range. Null counts as absent.
    pub(crate) fn integer(&mut self, name: &str, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
        let expected = || format!("a whole number from {} to {}", range.start(), range.end());
        match self.take(name) {
            None | Some(Json::Null) => None,
            Some(Json::Integer(DocId::Number(number))) if range.contains(&number) => Some(number),
            Some(Json::Integer(number)) => {
                self.wrong(name, "out_of_range", format!("is {number}: must be {}", expected()));
                None
            }
            Some(other) => {
                self.wrong(name, "wrong_type", format!("is {}: must be {}", other.kind(), expected()));
                None
            }
        }
    }

    /// A share from 0 to 1. Null counts as absent.
    pub(crate) fn share(&mut self, name: &str) -> Option<f64> {
        let number = match self.take(name) {
            None | Some(Json::Null) => return None,
            Some(Json::Float(number)) => number,
            Some(Json::Integer(DocId::Number(number))) => number as f64,
            Some(Json::Integer(_)) => -1.0,
            Some(other) => {
                self.wrong(name, "wrong_type", format!("is {}: must be a number from 0 to 1", other.kind()));
                return None;
            }
        };
        if !(0.0..=1.0).contains(&number) {
            self.wrong(name, "out_of_range", "must be a number from 0 to 1");
            return None;
        }
        Some(number)
    }

    /// True or false. Null counts as absent.
    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        match self.take(name) {
            None | Some(Json::Null) => None,
            Some(Json::Bool(flag)) => Some(flag),
            Some(other) => {
                self.wrong(name, "wrong_type", format!("is {}: must be true or false", other.kind()));
                None
            }
        }
    }

    /// Ends the reading: what is left is unknown, and unknown fields are mistakes.
    pub(crate) fn finish(mut self) -> Result<(), Problem> {
        let mut left: Vec<String> = self.entries.drain(..).map(|(key, _)| key.into_owned()).collect();
        left.sort();
        left.truncate(20);
        for key in left {
            let name: String = key.chars().take(64).collect();
            self.wrong(&name, "unknown_field", "is not a field of this");
        }
        match self.errors.is_empty() {
            true => Ok(()),
            false => Err(Problem::fields(self.errors)),
        }
    }
}

/// A key as a JSON pointer writes it.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(body: &[u8]) -> String {
        Json::parse(body).unwrap_err().detail.into_owned()
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        assert!(detail(b"").starts_with("the body is empty"));
        assert_eq!(detail(b"{\"a\":\"\xff\"}"), "the body is not UTF-8 at byte 6");
        assert_eq!(detail(b"{\"a\":1,\n\"b\":}"), "expected value at byte 12");
        assert!(detail(b"{\"a\":NaN}").contains("at byte"));
        assert!(detail(b"{\"a\":1e999999}").contains("number out of range"));
        assert!(
            detail(br#"{"a":"\ud800"}"#).contains("surrogate")
                || detail(br#"{"a":"\ud800"}"#).contains("hex escape")
        );
        assert!(detail(b"{} x").contains("trailing characters"));
    }

    #[test]
    fn keys_that_come_twice_are_refused_however_they_are_written() {
        assert!(detail(br#"{"a":1,"\u0061":2}"#).starts_with("key `a` occurs twice"));
        let many: String = (0..50_000).map(|i| format!("\"k{i}\":0,")).collect();
        assert!(Json::parse(format!("{{{many}\"x\":0}}").as_bytes()).is_ok());
        assert!(detail(format!("{{{many}\"k7\":0}}").as_bytes()).starts_with("key `k7` occurs twice"));
    }

    #[test]
    fn depth_64_is_the_last_allowed() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Json::parse(nested(64).as_bytes()).is_ok());
        assert!(detail(nested(65).as_bytes()).starts_with("nested deeper than 64"));
        assert!(Json::parse(nested(100_000).as_bytes()).is_err());
    }

    #[test]
    fn a_body_of_very_many_values_is_refused() {
        let list = format!("[{}0]", "0,".repeat(200_000));
        assert!(detail(list.as_bytes()).starts_with("more than 100000 values"));
    }

    #[test]
    fn fields_gather_everything_that_is_wrong() {
        let json = Json::parse(br#"{"title":7,"limit":0,"a/b":1,"ok":true}"#).unwrap();
        let mut fields = Fields::of(json, "").unwrap();
        assert_eq!(fields.text("title", 10), None);
        assert_eq!(fields.integer("limit", 1..=10), None);
        assert_eq!(fields.flag("ok"), Some(true));
        let problem = fields.finish().unwrap_err();
        let found: Vec<(&str, &str)> =
            problem.errors.iter().map(|error| (error.pointer.as_str(), &*error.code)).collect();
        assert_eq!(found, [("/title", "wrong_type"), ("/limit", "out_of_range"), ("/a~1b", "unknown_field")]);
    }
}
