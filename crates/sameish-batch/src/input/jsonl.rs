//! JSON Lines: one object per line, in strict JSON.

use super::format::{Consumed, FieldNames, ParsedRecord, RecordFormat, Span};
use super::lines;
use super::reject::{Problem, Reason, Remedy};
use crate::escape::escaped;
use sameish::document::GivenSketches;
use sameish::{Content, DocId};
use sameish_io::json::{self, ErrorKind, Keep, Limits, Value};

/// Field that may replace the text: an array of strings.
pub(crate) const TOKENS: &str = "tokens";

/// Fields that may replace the text: a fingerprint and a signature, each with its scheme.
pub(crate) const SKETCHES: [&str; 4] = ["simhash", "simhash_scheme", "minhash", "minhash_scheme"];

/// JSON Lines with the given field names.
pub(crate) struct Jsonl {
    pub(crate) fields: FieldNames,
}

impl RecordFormat for Jsonl {
    fn split(&self, bytes: &[u8], ended: bool, cap: usize, spans: &mut Vec<Span>) -> Consumed {
        lines::split(bytes, ended, cap, spans)
    }

    fn parse(&self, record: &str) -> Result<ParsedRecord, Reason> {
        let mut values = Values::default();
        let read = json::read_fields(
            record,
            Limits::default(),
            |key| self.field(key),
            |field, value| values.set(field, value),
        );
        read.map_err(invalid_json)?;
        values.into_record(&self.fields)
    }
}

/// A requested field.
enum Field {
    Id,
    Text,
    Title,
    Tokens,
    /// With its position in [`SKETCHES`].
    Sketch(usize),
    /// With its position among the names of the source field.
    Source(usize),
    Date,
}

impl Jsonl {
    /// Returns the field with this name. The text is checked first, because it may have the name of another field.
    fn field(&self, key: &str) -> Option<(Field, Keep)> {
        let fields = &self.fields;
        let is = |name: &Option<String>| name.as_deref() == Some(key);
        // The tokens can also be named as the text.
        let field = if key == fields.text_name() && key != TOKENS {
            Field::Text
        } else if is(&fields.id) {
            Field::Id
        } else if is(&fields.title) {
            Field::Title
        } else if key == TOKENS {
            return Some((Field::Tokens, Keep::Strings));
        } else if let Some(rank) = fields.source.iter().position(|name| key == *name) {
            Field::Source(rank)
        } else if is(&fields.date) {
            Field::Date
        } else if let Some(at) = SKETCHES.iter().position(|name| key == *name) {
            Field::Sketch(at)
        } else {
            return None;
        };
        Some((field, Keep::Scalar))
    }
}

fn invalid_json(error: json::Error) -> Reason {
    let text = match error.kind {
        ErrorKind::NotAnObject => "not a JSON object; each line must be an object, `{…}`".to_owned(),
        ErrorKind::Syntax(message) => format!("invalid JSON: {}; fix the line", escaped(&message)),
        kind @ ErrorKind::DuplicateKey(_) => format!("{kind}; keep one"),
        kind @ ErrorKind::TooDeep(_) => format!("{kind}; flatten the record"),
        kind => kind.to_string(),
    };
    Reason { at: error.offset, problem: text.into() }
}

/// Values of the requested fields of a record.
#[derive(Default)]
struct Values<'a> {
    id: Option<Value<'a>>,
    text: Option<Value<'a>>,
    title: Option<Value<'a>>,
    tokens: Option<Value<'a>>,
    /// In the order of [`SKETCHES`].
    sketches: [Option<Value<'a>>; 4],
    /// With the position of its name.
    source: Option<(usize, Value<'a>)>,
    date: Option<Value<'a>>,
}

impl<'a> Values<'a> {
    fn set(&mut self, field: Field, value: Value<'a>) {
        match field {
            Field::Id => self.id = Some(value),
            Field::Text => self.text = Some(value),
            Field::Title => self.title = Some(value),
            Field::Tokens => self.tokens = Some(value),
            Field::Sketch(at) => self.sketches[at] = Some(value),
            Field::Source(rank) if self.source.as_ref().is_some_and(|(first, _)| *first < rank) => {}
            Field::Source(rank) => self.source = Some((rank, value)),
            Field::Date => self.date = Some(value),
        }
    }

    fn into_record(self, fields: &FieldNames) -> Result<ParsedRecord, Reason> {
        let title = match self.title {
            None | Some(Value::Null) => None,
            Some(Value::Text(title)) => Some(title.into_owned()),
            Some(other) => return Err(wrong_type(name(&fields.title), &other, "it must be a string")),
        };
        Ok(ParsedRecord {
            id: self.id.map(|id| read_id(id, name(&fields.id))).transpose()?.flatten(),
            content: match (&self.text, &self.tokens) {
                (None, None) => read_sketches(self.sketches, title.is_some())?,
                _ => None,
            }
            .map_or_else(|| read_content(self.text, self.tokens, title.as_deref(), fields), Ok)?,
            title,
            source: self.source.and_then(|(_, value)| scalar_text(value)),
            published_at: self.date.and_then(scalar_text),
        })
    }
}

/// Returns the name of a field that a record has.
fn name(field: &Option<String>) -> &str {
    field.as_deref().unwrap_or_default()
}

/// Returns the sketches of a record without a text, if it has any. Beside a title, fields without a scheme are not sketches of
/// ours.
fn read_sketches(fields: [Option<Value<'_>>; 4], has_title: bool) -> Result<Option<Content>, Reason> {
    let mut texts: [Option<String>; 4] = [const { None }; 4];
    for ((field, name), text) in fields.into_iter().zip(SKETCHES).zip(&mut texts) {
        *text = match field {
            None | Some(Value::Null) => None,
            Some(Value::Text(text)) => Some(text.into_owned()),
            Some(_) if has_title => return Ok(None),
            Some(other) => return Err(wrong_type(name, &other, "it must be a string of hex digits")),
        };
    }
    sketches_of(&texts, has_title)
}

/// Returns the content of a record that consists of sketches: the values of the fields [`SKETCHES`].
pub(crate) fn sketches_of(
    [simhash, simhash_scheme, minhash, minhash_scheme]: &[Option<String>; 4],
    has_title: bool,
) -> Result<Option<Content>, Reason> {
    if has_title && simhash_scheme.is_none() && minhash_scheme.is_none() {
        return Ok(None);
    }
    let given = GivenSketches::from_hex(
        simhash.as_deref().map(|hex| (hex, simhash_scheme.as_deref())),
        minhash.as_deref().map(|hex| (hex, minhash_scheme.as_deref())),
    );
    let given = given.map_err(|error| Reason::new(error.to_string()))?;
    Ok(given.map(|given| Content::Sketches(Box::new(given))))
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
        (Some(other), _, _) => {
            let mut reason = wrong_type(fields.text_name(), &other, "it must be a string");
            reason.problem.remedy = Some(Remedy::TextField);
            Err(reason)
        }
        (None, Some(Value::Array(items)), _) => {
            let token = |item: Value<'_>| match item {
                Value::Text(token) => Some(token.into_owned()),
                _ => None,
            };
            let tokens: Option<Vec<String>> = items.into_iter().map(token).collect();
            tokens.map(Content::Tokens).ok_or_else(|| {
                Reason::new(format!(
                    "field `{TOKENS}` is an array with elements other than strings; all must be strings"
                ))
            })
        }
        (None, Some(other), None) => Err(wrong_type(TOKENS, &other, "it must be an array of strings")),
        (None, _, Some(title)) => Ok(Content::Text(title.to_owned())),
        (None, None, None) => Err(Reason::new(Problem::with(
            format!("field `{}` is missing", escaped(fields.text_name())),
            Remedy::TextField,
        ))),
    }
}

fn wrong_type(field: &str, value: &Value<'_>, remedy: &str) -> Reason {
    Reason::new(format!("field `{}` is {}; {remedy}", escaped(field), value.type_name()))
}

/// Returns an id with its JSON type; null counts as missing.
fn read_id(value: Value<'_>, field: &str) -> Result<Option<DocId>, Reason> {
    let not_64_bits = || {
        Reason::new(format!(
            "field `{}` is a number, but not a 64-bit integer; write the id as a string",
            escaped(field)
        ))
    };
    match value {
        Value::Null => Ok(None),
        Value::Integer(id) => integer_id(id).map(Some).ok_or_else(not_64_bits),
        Value::Text(id) => Ok(Some(DocId::Text(id.into_owned()))),
        Value::Float(_) => Err(not_64_bits()),
        other => Err(wrong_type(field, &other, "it must be a string or an integer")),
    }
}

fn integer_id(id: i128) -> Option<DocId> {
    u64::try_from(id).map(DocId::Number).or_else(|_| i64::try_from(id).map(DocId::Negative)).ok()
}

/// Converts a source or date; a value of another type counts as missing.
fn scalar_text(value: Value<'_>) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.into_owned()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format() -> Jsonl {
        Jsonl { fields: FieldNames::default() }
    }

    fn read(record: &str) -> Result<ParsedRecord, String> {
        format().parse(record).map_err(|reason| reason.problem.text)
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
            ("true", "a boolean"),
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
    fn sketches_replace_an_absent_text() {
        const SCHEME: &str = "0123456789abcdef";
        let sketches = format!(r#""simhash":"00000000000000ff","simhash_scheme":"{SCHEME}","minhash":null"#);
        let content = |json: &str| read(json).unwrap().content;
        for other in ["", r#","title":"t""#] {
            let Content::Sketches(given) = content(&format!("{{{sketches}{other}}}")) else {
                panic!("{other}")
            };
            assert_eq!(given.simhash.unwrap().sketch.to_hex(), "00000000000000ff");
            assert_eq!(given.minhash, None);
        }
        assert_eq!(content(&format!(r#"{{{sketches},"text":"x"}}"#)), Content::Text("x".into()));
        assert_eq!(content(r#"{"simhash":"00000000000000ff","title":"t"}"#), Content::Text("t".into()));
        for (json, reason) in [
            (r#"{"simhash":"00000000000000ff"}"#, "`simhash_scheme` is absent"),
            (r#"{"simhash":7}"#, "field `simhash` is a number; it must be a string of hex digits"),
            (
                r#"{"minhash":"00","minhash_scheme":"0123456789abcdef"}"#,
                "signature (8 digits per row) has 2 hex digits: must be 8",
            ),
            (r#"{"simhash":"f","simhash_scheme":"0123456789abcdef"}"#, "fingerprint has 1 hex digits"),
            (r#"{"simhash":null}"#, "field `text` is missing"),
        ] {
            let found = read(json).unwrap_err();
            assert!(found.contains(reason), "{json}: {found}");
        }
    }

    #[test]
    fn type_errors_name_field_and_type() {
        let cases = [
            (r#"{"text":null}"#, "field `text` is null;"),
            (r#"{"text":null,"title":"t"}"#, "field `text` is null;"),
            (r#"{"text":7}"#, "field `text` is a number;"),
            (r#"{"text":["a"]}"#, "field `text` is an array;"),
            (r#"{"text":{}}"#, "field `text` is an object;"),
            (r#"{"id":1}"#, "field `text` is missing"),
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
            (r#"{"text":"x","text":"y"}"#, "duplicate key `text`"),
            (r#"{"text":"x","n":1,"\u006e":2}"#, "duplicate key `n`"),
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
