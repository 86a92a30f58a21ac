//! Strict JSON.
//!
//! Broken syntax, numbers out of range, lone surrogates and nesting beyond a limit are errors wherever they occur; duplicate keys
//! are errors in every object whose content is kept. Integers keep all 64 bits. Strings without escapes are borrowed from the
//! input.
//!
//! [`parse`] builds a tree. [`read_fields`] reads one object and keeps selected fields: the values of the other fields are checked
//! and dropped, so a record with many unused fields costs no memory.
//!
//! ```
//! use sameish_io::json::{self, Keep, Limits, Value};
//!
//! let record = r#"{"id": 7, "text": "to be", "unused": [1, 2]}"#;
//! let mut text = None;
//! let select = |key: &str| (key == "text").then_some(((), Keep::Scalar));
//! json::read_fields(record, Limits::default(), select, |(), value| text = Some(value))?;
//! assert_eq!(text, Some(Value::Text("to be".into())));
//!
//! let error = json::parse(r#"{"id": 7, "id": 8}"#, Limits::default()).unwrap_err();
//! assert_eq!(error.to_string(), "duplicate key `id` at byte 13");
//! # Ok::<(), json::Error>(())
//! ```

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

/// Rounds a measure to six decimal places. The outputs of the command line and the responses of the service contain rounded measures,
/// so that they are equal and do not depend on the order of additions.
///
/// ```
/// assert_eq!(sameish_io::json::rounded(2.0 / 3.0), 0.666667);
/// ```
pub fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number written as an integer, from -2^63 to 2^64 - 1.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// An object, in the order of the input.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl Value<'_> {
    /// Returns the name of the value's type for messages, such as `a string`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Text(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }
}

impl serde::Serialize for Value<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Integer(number) => match u64::try_from(*number) {
                Ok(number) => serializer.serialize_u64(number),
                Err(_) => serializer.serialize_i64(*number as i64),
            },
            Value::Float(number) => serializer.serialize_f64(*number),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Array(values) => serializer.collect_seq(values),
            Value::Object(members) => serializer.collect_map(members.iter().map(|(key, value)| (key, value))),
        }
    }
}

/// Limits on the structure of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum nesting of arrays and objects, the outermost included.
    pub depth: u32,
    /// Maximum number of values that are kept, nested ones included and keys excluded. Limits the memory of a tree.
    pub values: u64,
}

impl Default for Limits {
    /// A depth of 64 and any number of values.
    fn default() -> Limits {
        Limits { depth: 64, values: u64::MAX }
    }
}

/// How much of a selected field [`read_fields`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// A scalar. An array or object is checked and returned empty.
    Scalar,
    /// A scalar or an array of strings. An array ends at its first item that is not a string; the rest is checked and dropped.
    Strings,
    /// Everything.
    Tree,
}

/// Why a text is not valid, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Offset of the error, in bytes from the start of the text.
    pub offset: usize,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not JSON. Holds the parser's message.
    Syntax(String),
    /// A value other than an object was passed to [`read_fields`].
    NotAnObject,
    /// A key occurs twice in one object.
    DuplicateKey(String),
    /// Nested deeper than [`Limits::depth`], which this holds.
    TooDeep(u32),
    /// More values than [`Limits::values`], which this holds.
    TooManyValues(u64),
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.offset)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::Syntax(message) => f.write_str(message),
            ErrorKind::NotAnObject => f.write_str("not an object"),
            ErrorKind::DuplicateKey(key) => {
                let key: String = key.chars().take(MAX_SHOWN_KEY).flat_map(char::escape_debug).collect();
                write!(f, "duplicate key `{key}`")
            }
            ErrorKind::TooDeep(depth) => write!(f, "nested deeper than {depth} levels"),
            ErrorKind::TooManyValues(values) => write!(f, "more than {values} values"),
        }
    }
}

/// Number of characters of a key that a message shows.
const MAX_SHOWN_KEY: usize = 64;

/// Parses a text as one JSON value.
pub fn parse(text: &str, limits: Limits) -> Result<Value<'_>, Error> {
    let state = State::new(limits);
    run(text, &state, ValueSeed { keep: Some(Keep::Tree), depth: 0, state: &state })
}

/// Reads one object and passes the values of selected fields to `store`.
///
/// `select` maps a key to a caller-defined slot and to how much of the value is kept; the values of keys for which it returns
/// `None` are checked and dropped.
pub fn read_fields<'a, S>(
    text: &'a str,
    limits: Limits,
    select: impl Fn(&str) -> Option<(S, Keep)>,
    store: impl FnMut(S, Value<'a>),
) -> Result<(), Error> {
    let state = State::new(limits);
    run(text, &state, FieldsSeed { state: &state, select, store })
}

fn run<'a, T: DeserializeSeed<'a>>(text: &'a str, state: &State, seed: T) -> Result<T::Value, Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = seed.deserialize(&mut json);
    let value = value.and_then(|value| json.end().map(|()| value));
    value.map_err(|error| Error { offset: offset_of(text, &error), kind: state.kind_of(&error) })
}

/// Converts the parser's line and column into an offset.
fn offset_of(text: &str, error: &serde_json::Error) -> usize {
    let lines_before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let start: usize = lines_before.map(str::len).sum();
    (start + error.column().saturating_sub(1)).min(text.len())
}

/// What all levels of one document share.
struct State {
    limits: Limits,
    remaining_values: Cell<u64>,
    /// The limit that was violated. Kept here because serde's custom errors carry only a string.
    violation: Cell<Option<ErrorKind>>,
}

impl State {
    fn new(limits: Limits) -> State {
        State { limits, remaining_values: Cell::new(limits.values), violation: Cell::new(None) }
    }

    fn violated<E: de::Error>(&self, kind: ErrorKind) -> E {
        self.violation.set(Some(kind));
        E::custom("limit violated")
    }

    fn kind_of(&self, error: &serde_json::Error) -> ErrorKind {
        if let Some(kind) = self.violation.take() {
            return kind;
        }
        if error.classify() == serde_json::error::Category::Data {
            return ErrorKind::NotAnObject;
        }
        let message = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        ErrorKind::Syntax(message.strip_suffix(&position).unwrap_or(&message).to_owned())
    }

    fn count_value<E: de::Error>(&self) -> Result<(), E> {
        match self.remaining_values.get().checked_sub(1) {
            Some(remaining) => self.remaining_values.set(remaining),
            None => return Err(self.violated(ErrorKind::TooManyValues(self.limits.values))),
        }
        Ok(())
    }

    fn deeper<E: de::Error>(&self, depth: u32) -> Result<u32, E> {
        if depth >= self.limits.depth {
            return Err(self.violated(ErrorKind::TooDeep(self.limits.depth)));
        }
        Ok(depth + 1)
    }
}

/// Reads a value. Without `keep` the value is checked and dropped: unlike [`IgnoredAny`], this limits the depth and decodes numbers
/// and escapes.
#[derive(Clone, Copy)]
struct ValueSeed<'s> {
    keep: Option<Keep>,
    depth: u32,
    state: &'s State,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        if self.keep.is_some() {
            self.state.count_value()?;
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value<'de>, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'de>, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'de>, E> {
        Ok(Value::Float(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value<'de>, E> {
        Ok(self.keep.map_or(Value::Null, |_| Value::Text(Cow::Owned(value.to_owned()))))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Value<'de>, S::Error> {
        let depth = self.state.deeper(self.depth)?;
        let mut items = Vec::new();
        let mut item_keep = match self.keep {
            Some(Keep::Tree) => Some(Keep::Tree),
            Some(Keep::Strings) => Some(Keep::Scalar),
            Some(Keep::Scalar) | None => None,
        };
        while let Some(item) = list.next_element_seed(ValueSeed { keep: item_keep, depth, ..self })? {
            if item_keep.is_none() {
                continue;
            }
            // A list of strings ends at the first other item, which is kept so that the caller sees it.
            item_keep = item_keep.filter(|keep| *keep == Keep::Tree || matches!(item, Value::Text(_)));
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Value<'de>, M::Error> {
        let depth = self.state.deeper(self.depth)?;
        let mut entries = Vec::new();
        if self.keep != Some(Keep::Tree) {
            // The keys of a map are always decoded, so `IgnoredAny` checks their escapes too.
            while map.next_key::<IgnoredAny>()?.is_some() {
                map.next_value_seed(ValueSeed { keep: None, depth, ..self })?;
            }
            return Ok(Value::Object(entries));
        }
        let mut keys = Keys::default();
        while let Some(Key(key)) = map.next_key()? {
            keys.insert(key.clone(), self.state)?;
            entries.push((key, map.next_value_seed(ValueSeed { depth, ..self })?));
        }
        Ok(Value::Object(entries))
    }
}

/// Reads the selected fields of an object.
struct FieldsSeed<'s, F, G> {
    state: &'s State,
    select: F,
    store: G,
}

impl<'de, S, F, G> DeserializeSeed<'de> for FieldsSeed<'_, F, G>
where
    F: Fn(&str) -> Option<(S, Keep)>,
    G: FnMut(S, Value<'de>),
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S, F, G> Visitor<'de> for FieldsSeed<'_, F, G>
where
    F: Fn(&str) -> Option<(S, Keep)>,
    G: FnMut(S, Value<'de>),
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut map: M) -> Result<(), M::Error> {
        let depth = self.state.deeper(0)?;
        let mut keys = Keys::default();
        while let Some(Key(key)) = map.next_key()? {
            keys.insert(key.clone(), self.state)?;
            let selected = (self.select)(&key);
            let keep = selected.as_ref().map(|(_, keep)| *keep);
            let value = map.next_value_seed(ValueSeed { keep, depth, state: self.state })?;
            if let Some((slot, _)) = selected {
                (self.store)(slot, value);
            }
        }
        Ok(())
    }
}

/// A key, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The keys of one object so far: a few in a list, the others in a set, so that comparing them takes linear time.
#[derive(Default)]
struct Keys<'a> {
    few: Vec<Cow<'a, str>>,
    others: HashSet<Cow<'a, str>>,
}

/// Number of keys that are compared one by one.
const FEW_KEYS: usize = 24;

impl<'a> Keys<'a> {
    fn insert<E: de::Error>(&mut self, key: Cow<'a, str>, state: &State) -> Result<(), E> {
        if self.few.contains(&key) || self.others.contains(&key) {
            return Err(state.violated(ErrorKind::DuplicateKey(key.into_owned())));
        }
        if self.few.len() < FEW_KEYS {
            self.few.push(key);
        } else {
            self.others.insert(key);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { depth: 64, values: 100_000 };

    fn error(text: &str) -> String {
        parse(text, LIMITS).unwrap_err().to_string()
    }

    /// Keeps `id` as a scalar and `tokens` as strings.
    fn fields(text: &str) -> Result<Vec<(&'static str, Value<'_>)>, Error> {
        let select = |key: &str| match key {
            "id" => Some(("id", Keep::Scalar)),
            "tokens" => Some(("tokens", Keep::Strings)),
            _ => None,
        };
        let mut found = Vec::new();
        read_fields(text, Limits::default(), select, |name, value| found.push((name, value)))?;
        Ok(found)
    }

    #[test]
    fn reports_the_offset_of_broken_json() {
        assert_eq!(error("{\"a\":1,\n\"b\":}"), "expected value at byte 12");
        assert!(error("{\"a\":NaN}").contains("at byte"));
        assert!(error("{\"a\":1e999999}").contains("number out of range"));
        let surrogate = error(r#"{"a":"\ud800"}"#);
        assert!(surrogate.contains("surrogate") || surrogate.contains("hex escape"), "{surrogate}");
        assert!(error("{} x").contains("trailing characters"));
        assert!(error("").contains("EOF"));
    }

    #[test]
    fn keeps_all_digits_of_integers() {
        for (text, expected) in [
            ("18446744073709551615", Value::Integer(u64::MAX.into())),
            ("-9223372036854775808", Value::Integer(i64::MIN.into())),
            ("9007199254740993", Value::Integer(9_007_199_254_740_993)),
            ("18446744073709551616", Value::Float(18_446_744_073_709_551_616.0)),
            ("1.0", Value::Float(1.0)),
            ("-0", Value::Float(-0.0)),
        ] {
            assert_eq!(parse(text, LIMITS), Ok(expected), "{text}");
        }
    }

    #[test]
    fn rejects_duplicate_keys_in_any_spelling() {
        assert_eq!(error(r#"{"a":1,"\u0061":2}"#), "duplicate key `a` at byte 14");
        assert!(error(r#"{"a":{"b":1,"b":2}}"#).starts_with("duplicate key `b`"));
        let many: String = (0..50_000).map(|i| format!("\"k{i}\":0,")).collect();
        assert!(parse(&format!("{{{many}\"x\":0}}"), LIMITS).is_ok());
        assert!(error(&format!("{{{many}\"k7\":0}}")).starts_with("duplicate key `k7`"));
        assert!(error(&format!("{{{many}\"k40000\":0}}")).starts_with("duplicate key `k40000`"));
    }

    #[test]
    fn escapes_and_shortens_keys_in_messages() {
        let key = format!("\u{1b}{}", "x".repeat(10_000));
        let message = ErrorKind::DuplicateKey(key).to_string();
        assert!(message.starts_with("duplicate key `\\u{1b}x") && message.len() < 100, "{message}");
    }

    #[test]
    fn accepts_depth_64_and_rejects_65() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(64), LIMITS).is_ok());
        assert!(error(&nested(65)).starts_with("nested deeper than 64 levels"));
        assert!(parse(&nested(100_000), LIMITS).is_err());
        let field = |depth: usize| format!("{{\"x\":{}}}", nested(depth));
        assert!(fields(&field(63)).is_ok());
        assert_eq!(fields(&field(64)).unwrap_err().kind, ErrorKind::TooDeep(64));
    }

    #[test]
    fn limits_the_number_of_values() {
        let list = format!("[{}0]", "0,".repeat(200_000));
        assert!(error(&list).starts_with("more than 100000 values"));
    }

    #[test]
    fn keeps_selected_fields_only() {
        let found = fields(r#"{"a":[{"x":1}],"tokens":["p","q\n"],"id":"7","b":{}}"#).unwrap();
        let tokens = Value::Array(vec![Value::Text("p".into()), Value::Text("q\n".into())]);
        assert_eq!(found, [("tokens", tokens), ("id", Value::Text("7".into()))]);
        let found = fields(r#"{"id":[1,{"a":2}],"tokens":["p",[7],8]}"#).unwrap();
        let tokens = Value::Array(vec![Value::Text("p".into()), Value::Array(Vec::new())]);
        assert_eq!(found, [("id", Value::Array(Vec::new())), ("tokens", tokens)]);
    }

    #[test]
    fn checks_fields_that_are_dropped() {
        for text in [
            r#"{"n":1e999999}"#,
            r#"{"n":[1e999999]}"#,
            r#"{"s":"\ud800"}"#,
            r#"{"o":{"\ud800":1}}"#,
            "{\"s\":\"a\u{1}b\"}",
        ] {
            assert!(matches!(fields(text).unwrap_err().kind, ErrorKind::Syntax(_)), "{text}");
        }
        assert_eq!(fields(r#"{"n":1,"\u006e":2}"#).unwrap_err().kind, ErrorKind::DuplicateKey("n".into()));
        assert_eq!(fields("[1]").unwrap_err().kind, ErrorKind::NotAnObject);
        assert_eq!(fields(" 7").unwrap_err().kind, ErrorKind::NotAnObject);
        assert!(matches!(fields("{} x").unwrap_err().kind, ErrorKind::Syntax(_)));
    }
}
