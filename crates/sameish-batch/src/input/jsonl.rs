//! JSON Lines: one object per line.
//!
//! One pass over the line: the requested fields are borrowed where they have no escapes, the others are checked and dropped.
//! Every value is parsed, so an invalid number, a lone surrogate or nesting beyond [`MAX_DEPTH`] rejects the record wherever
//! it occurs.

use super::format::{Consumed, FieldNames, ParsedRecord, RecordFormat, Span};
use super::lines;
use super::reject::Reason;
use crate::escape::escaped;
use sameish::{Content, DocId};
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

/// Maximum nesting of arrays and objects, including the record itself.
const MAX_DEPTH: u32 = 64;
/// Number of keys that are searched linearly; further keys are hashed.
const FEW_KEYS: usize = 24;
/// Field that may replace the text: an array of strings.
pub(crate) const TOKENS: &str = "tokens";

/// JSON Lines with the given field names.
pub(crate) struct Jsonl {
    pub(crate) fields: FieldNames,
}

impl RecordFormat for Jsonl {
    fn split(&self, bytes: &[u8], ended: bool, cap: usize, spans: &mut Vec<Span>) -> Consumed {
        lines::split(bytes, ended, cap, spans)
    }

    fn parse(&self, record: &str) -> Result<ParsedRecord, Reason> {
        if !record.trim_ascii_start().starts_with('{') {
            return Err(Reason::new("not a JSON object; each line must be an object, `{…}`"));
        }
        let mut json = serde_json::Deserializer::from_str(record);
        let values = RecordSeed { fields: &self.fields }.deserialize(&mut json).map_err(syntax_error)?;
        json.end().map_err(syntax_error)?;
        values.into_record(&self.fields)
    }
}

/// Converts an error of the JSON parser, without the position that the parser appends to its message.
fn syntax_error(error: serde_json::Error) -> Reason {
    let (message, at) = (error.to_string(), error.column().saturating_sub(1));
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = escaped(message.strip_suffix(&place).unwrap_or(&message));
    let text = match error.classify() {
        serde_json::error::Category::Data => message,
        _ => format!("invalid JSON: {message}; fix the line"),
    };
    Reason { at, text }
}

/// Value of a requested field.
enum Value<'de> {
    Null,
    Bool,
    Integer(DocId),
    Float(f64),
    Text(Cow<'de, str>),
    /// Array of strings, if it was requested.
    Tokens(Vec<String>),
    List,
    Object,
}

impl Value<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool => "true or false",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Text(_) => "a string",
            Value::Tokens(_) | Value::List => "an array",
            Value::Object => "an object",
        }
    }
}

/// Values of the requested fields of a record.
#[derive(Default)]
struct Values<'de> {
    id: Option<Value<'de>>,
    text: Option<Value<'de>>,
    title: Option<Value<'de>>,
    tokens: Option<Value<'de>>,
    sources: Vec<(usize, Value<'de>)>,
    date: Option<Value<'de>>,
}

impl<'de> Values<'de> {
    fn into_record(self, fields: &FieldNames) -> Result<ParsedRecord, Reason> {
        let title = match self.title {
            None | Some(Value::Null) => None,
            Some(Value::Text(title)) => Some(title.into_owned()),
            Some(other) => return Err(wrong_type(&fields.title, &other, "it must be a string")),
        };
        Ok(ParsedRecord {
            id: self.id.map(|id| read_id(id, &fields.id)).transpose()?.flatten(),
            content: read_content(self.text, self.tokens, title.as_deref(), fields)?,
            title,
            source: self
                .sources
                .into_iter()
                .min_by_key(|(rank, _)| *rank)
                .and_then(|(_, value)| loose(value)),
            published_at: self.date.and_then(loose),
        })
    }
}

/// Returns the text, else the tokens, else the title.
fn read_content(
    text: Option<Value<'_>>,
    tokens: Option<Value<'_>>,
    title: Option<&str>,
    fields: &FieldNames,
) -> Result<Content, Reason> {
    match (text, tokens, title) {
        (Some(Value::Text(text)), _, _) => Ok(Content::Text(text.into_owned())),
        (Some(other), _, _) => Err(wrong_type(
            &fields.text,
            &other,
            "it must be a string; set the field of the text with `--text-field`",
        )),
        (None, Some(Value::Tokens(tokens)), _) => Ok(Content::Tokens(tokens)),
        (None, Some(Value::List), _) => Err(Reason::new(format!(
            "field `{TOKENS}` is an array with elements other than strings; all must be strings"
        ))),
        (None, Some(other), None) => Err(wrong_type(TOKENS, &other, "it must be an array of strings")),
        (None, _, Some(title)) => Ok(Content::Text(title.to_owned())),
        (None, None, None) => Err(Reason::new(format!(
            "field `{}` is missing; set the field of the text with `--text-field`",
            escaped(&fields.text)
        ))),
    }
}

fn wrong_type(field: &str, value: &Value<'_>, remedy: &str) -> Reason {
    Reason::new(format!("field `{}` is {}; {remedy}", escaped(field), value.kind()))
}

/// Returns an id with its JSON type; null counts as missing.
fn read_id(value: Value<'_>, field: &str) -> Result<Option<DocId>, Reason> {
    match value {
        Value::Null => Ok(None),
        Value::Integer(id) => Ok(Some(id)),
        Value::Text(id) => Ok(Some(DocId::Text(id.into_owned()))),
        Value::Float(_) => Err(Reason::new(format!(
            "field `{}` is a number, but not a 64-bit integer; write the id as a string",
            escaped(field)
        ))),
        other => Err(wrong_type(field, &other, "it must be a string or an integer")),
    }
}

/// Converts a source or date; a value of another type counts as missing.
fn loose(value: Value<'_>) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.into_owned()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Deserializes a record.
struct RecordSeed<'f> {
    fields: &'f FieldNames,
}

impl<'de> DeserializeSeed<'de> for RecordSeed<'_> {
    type Value = Values<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Values<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RecordSeed<'_> {
    type Value = Values<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Values<'de>, M::Error> {
        let (mut values, mut seen) = (Values::default(), Keys::default());
        while let Some(Key(key)) = map.next_key()? {
            let value = ValueSeed { depth: 1, tokens: key == TOKENS };
            // The text is checked first, because it may have the name of another field.
            if key == self.fields.text {
                values.text = Some(map.next_value_seed(value)?);
            } else if key == self.fields.id {
                values.id = Some(map.next_value_seed(value)?);
            } else if key == self.fields.title {
                values.title = Some(map.next_value_seed(value)?);
            } else if key == TOKENS {
                values.tokens = Some(map.next_value_seed(value)?);
            } else if let Some(rank) = self.fields.source.iter().position(|name| key == *name) {
                values.sources.push((rank, map.next_value_seed(value)?));
            } else if key == self.fields.date {
                values.date = Some(map.next_value_seed(value)?);
            } else {
                map.next_value_seed(Skip { depth: 1 })?;
            }
            seen.add(key)?;
        }
        Ok(values)
    }
}

/// Keys of a record so far.
#[derive(Default)]
struct Keys<'de> {
    few: Vec<Cow<'de, str>>,
    many: HashSet<Cow<'de, str>>,
}

impl<'de> Keys<'de> {
    /// Fails if the key occurred before, because it is unclear which value is valid.
    fn add<E: de::Error>(&mut self, key: Cow<'de, str>) -> Result<(), E> {
        if self.few.contains(&key) || self.many.contains(&key) {
            let key: String = escaped(&key).chars().take(64).collect();
            return Err(E::custom(format!("key `{key}` occurs twice; keep one")));
        }
        if self.few.len() < FEW_KEYS {
            self.few.push(key);
        } else {
            self.many.insert(key);
        }
        Ok(())
    }
}

/// A key, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Deserializes a requested value.
struct ValueSeed {
    depth: u32,
    tokens: bool,
}

impl<'de> DeserializeSeed<'de> for ValueSeed {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value<'de>, E> {
        Ok(Value::Integer(DocId::Number(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value<'de>, E> {
        Ok(Value::Integer(DocId::Negative(number)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value<'de>, E> {
        Ok(Value::Float(number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Value<'de>, S::Error> {
        let depth = deeper(self.depth)?;
        let (mut tokens, mut all_strings) = (Vec::new(), self.tokens);
        while all_strings {
            match list.next_element_seed(ValueSeed { depth, tokens: false })? {
                None => return Ok(Value::Tokens(tokens)),
                Some(Value::Text(token)) => tokens.push(token.into_owned()),
                Some(_) => all_strings = false,
            }
        }
        while list.next_element_seed(Skip { depth })?.is_some() {}
        Ok(Value::List)
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Value<'de>, M::Error> {
        Skip { depth: self.depth }.visit_map(map)?;
        Ok(Value::Object)
    }
}

/// Checks a value and drops it. Unlike serde's `IgnoredAny` it limits the depth and parses numbers and escapes.
#[derive(Clone, Copy)]
struct Skip {
    depth: u32,
}

impl<'de> DeserializeSeed<'de> for Skip {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Skip {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<(), S::Error> {
        let depth = deeper(self.depth)?;
        while list.next_element_seed(Skip { depth })?.is_some() {}
        Ok(())
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let depth = deeper(self.depth)?;
        while map.next_key_seed(Skip { depth })?.is_some() {
            map.next_value_seed(Skip { depth })?;
        }
        Ok(())
    }
}

/// Returns the next depth, or an error if it exceeds the maximum.
fn deeper<E: de::Error>(depth: u32) -> Result<u32, E> {
    match depth < MAX_DEPTH {
        true => Ok(depth + 1),
        false => Err(E::custom(format!("nested deeper than {MAX_DEPTH} levels; flatten the record"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format() -> Jsonl {
        Jsonl { fields: FieldNames::default() }
    }

    fn read(record: &str) -> Result<ParsedRecord, String> {
        format().parse(record).map_err(|reason| reason.text)
    }

    #[test]
    fn ids_keep_their_type_and_every_digit() {
        let id = |json: &str| read(&format!("{{\"id\":{json},\"text\":\"x\"}}")).unwrap().id;
        assert_eq!(id("7"), Some(DocId::Number(7)));
        assert_eq!(id("\"7\""), Some(DocId::Text("7".into())));
        assert_eq!(id("9007199254740993"), Some(DocId::Number(9_007_199_254_740_993)));
        assert_eq!(id("18446744073709551615"), Some(DocId::Number(u64::MAX)));
        assert_eq!(id("-9223372036854775808"), Some(DocId::Negative(i64::MIN)));
        assert_eq!(id("null"), None);
    }

    #[test]
    fn rejects_ids_of_other_types() {
        for (json, kind) in [
            ("1.5", "a number, but not"),
            ("1.0", "a number, but not"),
            ("-0", "a number, but not"),
            ("true", "true or false"),
            ("[]", "an array"),
            ("{}", "an object"),
        ] {
            let reason = read(&format!("{{\"id\":{json},\"text\":\"x\"}}")).unwrap_err();
            assert!(reason.starts_with(&format!("field `id` is {kind}")), "{reason}");
        }
        assert!(read(r#"{"id":18446744073709551616,"text":"x"}"#).is_err());
    }

    #[test]
    fn prefers_text_then_tokens_then_title() {
        let content = |json: &str| read(json).unwrap().content;
        assert_eq!(content(r#"{"title":"t","text":"a\nb","tokens":[1]}"#), Content::Text("a\nb".into()));
        assert_eq!(
            content(r#"{"title":"t","tokens":["a","b"]}"#),
            Content::Tokens(vec!["a".into(), "b".into()])
        );
        assert_eq!(content(r#"{"title":"t"}"#), Content::Text("t".into()));
        assert_eq!(content(r#"{"text":""}"#), Content::Text(String::new()));
    }

    #[test]
    fn type_errors_name_field_and_type() {
        let cases = [
            (r#"{"text":null}"#, "field `text` is null;"),
            (r#"{"text":null,"title":"t"}"#, "field `text` is null;"),
            (r#"{"text":7}"#, "field `text` is a number;"),
            (r#"{"text":["a"]}"#, "field `text` is an array;"),
            (r#"{"text":{}}"#, "field `text` is an object;"),
            (r#"{"id":1}"#, "field `text` is missing;"),
            (r#"{"tokens":"a b"}"#, "field `tokens` is a string;"),
            (r#"{"tokens":["a",7]}"#, "field `tokens` is an array with elements other"),
            (r#"{"title":7,"text":"x"}"#, "field `title` is a number;"),
        ];
        for (json, expected) in cases {
            let reason = read(json).unwrap_err();
            assert!(reason.starts_with(expected), "{json}: {reason}");
        }
    }

    #[test]
    fn source_has_two_names_and_never_rejects_a_record() {
        let source = |json: &str| read(json).unwrap().source;
        assert_eq!(source(r#"{"text":"x","host":"h"}"#).as_deref(), Some("h"));
        assert_eq!(source(r#"{"text":"x","host":"h","source":"s"}"#).as_deref(), Some("s"));
        assert_eq!(source(r#"{"text":"x","source":{"name":"s"}}"#), None);
        assert_eq!(read(r#"{"text":"x","published_at":17}"#).unwrap().published_at.as_deref(), Some("17"));
    }

    #[test]
    fn rejects_invalid_values_in_any_field() {
        let cases = [
            (r#"{"text":"x","n":1e999999}"#, "invalid JSON: number out of range"),
            (r#"{"text":"x","s":"\ud800"}"#, "invalid JSON: "),
            (r#"{"text":"\ud800"}"#, "invalid JSON: "),
            (r#"{"text":"x"} y"#, "invalid JSON: trailing characters"),
            (r#"{"text":"x""#, "invalid JSON: EOF"),
            (r#"{"text":"x","text":"y"}"#, "key `text` occurs twice"),
            (r#"{"text":"x","n":1,"\u006e":2}"#, "key `n` occurs twice"),
            (r#"[1]"#, "not a JSON object"),
            ("{\"text\":\"a\u{1}b\"}", "invalid JSON: control character"),
        ];
        for (json, expected) in cases {
            let reason = read(json).unwrap_err();
            assert!(reason.starts_with(expected), "{json}: {reason}");
        }
    }

    #[test]
    fn reason_contains_the_offset() {
        let record = r#"{"id":1,"text":"x",}"#;
        let reason = format().parse(record).unwrap_err();
        assert_eq!(&record[reason.at..], "}");
    }

    #[test]
    fn accepts_depth_64_and_rejects_depth_65() {
        let nested =
            |depth: usize| format!(r#"{{"text":"x","n":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(63)).is_ok());
        assert_eq!(read(&nested(64)).unwrap_err(), "nested deeper than 64 levels; flatten the record");
        assert!(read(&nested(10_000)).is_err());
    }

    #[test]
    fn finds_repeated_keys_in_linear_time() {
        let keys: String = (0..200_000).map(|i| format!("\"k{i}\":0,")).collect();
        assert!(read(&format!("{{{keys}\"text\":\"x\"}}")).is_ok());
        assert!(read(&format!("{{{keys}\"k150000\":1,\"text\":\"x\"}}")).is_err());
    }
}
