//! Field types that several requests use.

use super::fields::{Fault, Field, Input};
use super::metadata::json_text;
use super::schema::nullable;
use crate::settings::Limits;
use sameish_io::json::Value;
use serde_json::{Value as Schema, json};

impl<T: Field> Field for Option<T> {
    fn absent() -> Option<Option<T>> {
        Some(None)
    }

    fn read(input: Input<'_>, limits: &Limits) -> Result<Option<T>, Fault> {
        match input {
            Input::Json(Value::Null) => Ok(None),
            input => T::read(input, limits).map(Some),
        }
    }

    fn is_given(&self) -> bool {
        self.as_ref().is_some_and(T::is_given)
    }

    fn schema(limits: &Limits) -> Schema {
        nullable(T::schema(limits))
    }
}

/// A field that may be absent, but not null.
#[derive(Debug)]
pub(crate) struct Omittable<T>(pub(crate) Option<T>);

impl<T: Field> Field for Omittable<T> {
    fn absent() -> Option<Omittable<T>> {
        Some(Omittable(None))
    }

    fn read(input: Input<'_>, limits: &Limits) -> Result<Omittable<T>, Fault> {
        T::read(input, limits).map(|value| Omittable(Some(value)))
    }

    fn schema(limits: &Limits) -> Schema {
        T::schema(limits)
    }
}

impl Field for bool {
    fn read(input: Input<'_>, _: &Limits) -> Result<bool, Fault> {
        match &input {
            Input::Json(Value::Bool(flag)) => Ok(*flag),
            Input::Query(text) if text == "true" => Ok(true),
            Input::Query(text) if text == "false" => Ok(false),
            other => Err(other.expected("true or false")),
        }
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "boolean"})
    }
}

impl Field for String {
    fn read(input: Input<'_>, _: &Limits) -> Result<String, Fault> {
        input.into_string()
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "string"})
    }
}

/// A string of at most `MAX` bytes.
#[derive(Debug)]
pub(crate) struct ShortText<const MAX: usize>(pub(crate) String);

impl<const MAX: usize> Field for ShortText<MAX> {
    fn read(input: Input<'_>, _: &Limits) -> Result<ShortText<MAX>, Fault> {
        let text = input.into_string()?;
        if text.len() > MAX {
            return Err(Fault::new("too_long", format!("has {} bytes, maximum is {MAX}", text.len())));
        }
        Ok(ShortText(text))
    }

    /// JSON Schema counts characters; a string with more characters than the limit also has more bytes.
    fn schema(_: &Limits) -> Schema {
        json!({"type": "string", "maxLength": MAX})
    }
}

/// A field of a sketch in place of a text.
///
/// Documents of other systems may have fields with these names, which are then metadata. Whether that is so depends on the other
/// fields, so every value is accepted here.
#[derive(Debug)]
pub(crate) enum SketchField {
    Absent,
    Hex(String),
    /// Another value, as JSON, and the name of its type.
    Other(String, &'static str),
}

impl SketchField {
    /// Returns the value as JSON, unless it is absent.
    pub(crate) fn to_json(&self) -> Option<String> {
        match self {
            SketchField::Absent => None,
            SketchField::Hex(hex) => Some(Schema::from(hex.as_str()).to_string()),
            SketchField::Other(json, _) => Some(json.clone()),
        }
    }

    /// Returns the digits of a sketch or of a scheme, if there are any.
    pub(crate) fn hex(&self, max: usize) -> Result<Option<&str>, Fault> {
        match self {
            SketchField::Absent => Ok(None),
            SketchField::Hex(hex) if hex.len() > max => {
                Err(Fault::new("too_long", format!("has {} bytes, maximum is {max}", hex.len())))
            }
            SketchField::Hex(hex) => Ok(Some(hex)),
            SketchField::Other(_, found) => Err(Fault::new(
                "wrong_type",
                format!("expected a string of hexadecimal digits, found {found}"),
            )),
        }
    }
}

impl Field for SketchField {
    fn absent() -> Option<SketchField> {
        Some(SketchField::Absent)
    }

    fn read(input: Input<'_>, _: &Limits) -> Result<SketchField, Fault> {
        match input {
            Input::Json(Value::Null) => Ok(SketchField::Absent),
            Input::Json(Value::Text(text)) => Ok(SketchField::Hex(text.into_owned())),
            Input::Json(value) => Ok(SketchField::Other(json_text(&value), value.type_name())),
            Input::Query(_) => Err(input.expected("a field of a body")),
        }
    }

    fn is_given(&self) -> bool {
        matches!(self, SketchField::Hex(_))
    }

    /// The first type is that of a sketch.
    fn schema(_: &Limits) -> Schema {
        json!({"type": ["string", "number", "boolean", "array", "object", "null"]})
    }
}

/// The text of a document, limited by the setting `text_bytes`.
#[derive(Debug)]
pub(crate) struct DocumentText(pub(crate) String);

impl Field for DocumentText {
    fn read(input: Input<'_>, limits: &Limits) -> Result<DocumentText, Fault> {
        let text = input.into_string()?;
        let max = limits.text_bytes;
        if text.len() > max {
            return Err(Fault::new("too_large", format!("has {} bytes, maximum is {max}", text.len())));
        }
        Ok(DocumentText(text))
    }

    fn schema(limits: &Limits) -> Schema {
        json!({"type": "string", "maxLength": limits.text_bytes})
    }
}

/// An integer from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounded<const MIN: u64, const MAX: u64>(pub(crate) u64);

impl<const MIN: u64, const MAX: u64> Field for Bounded<MIN, MAX> {
    fn read(input: Input<'_>, _: &Limits) -> Result<Bounded<MIN, MAX>, Fault> {
        let expected = || format!("an integer from {MIN} to {MAX}");
        let Input::Json(Value::Integer(number)) = input else { return Err(input.expected(&expected())) };
        match u64::try_from(number) {
            Ok(number) if (MIN..=MAX).contains(&number) => Ok(Bounded(number)),
            _ => Err(Fault::new("out_of_range", format!("expected {}, found {number}", expected()))),
        }
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "integer", "minimum": MIN, "maximum": MAX})
    }
}

/// A list of 1 to `MAX` values.
#[derive(Debug)]
pub(crate) struct List<T, const MAX: usize>(pub(crate) Vec<T>);

impl<T: Field, const MAX: usize> Field for List<T, MAX> {
    fn read(input: Input<'_>, limits: &Limits) -> Result<List<T, MAX>, Fault> {
        let Input::Json(Value::Array(values)) = input else { return Err(input.expected("a list")) };
        if values.is_empty() || values.len() > MAX {
            return Err(Fault::new(
                "out_of_range",
                format!("has {} values, expected 1 to {MAX}", values.len()),
            ));
        }
        values
            .into_iter()
            .map(|value| T::read(Input::Json(value), limits))
            .collect::<Result<_, _>>()
            .map(List)
    }

    fn schema(limits: &Limits) -> Schema {
        json!({"type": "array", "items": T::schema(limits), "minItems": 1, "maxItems": MAX})
    }
}

/// The maximum number of results that a client requests: at least 1. Values above the limit of the service are accepted, because
/// the service lowers them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultLimit(pub(crate) usize);

impl Field for ResultLimit {
    fn read(input: Input<'_>, _: &Limits) -> Result<ResultLimit, Fault> {
        const EXPECTED: &str = "an integer of at least 1";
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = match &input {
            Input::Json(Value::Integer(number)) => usize::try_from(*number).unwrap_or(0),
            Input::Query(text) if digits(text) => text.parse().unwrap_or(usize::MAX),
            other => return Err(other.expected(EXPECTED)),
        };
        if number == 0 {
            return Err(Fault::new("out_of_range", format!("expected {EXPECTED}")));
        }
        Ok(ResultLimit(number))
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "integer", "minimum": 1})
    }
}

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fraction(pub(crate) f64);

impl Field for Fraction {
    fn read(input: Input<'_>, _: &Limits) -> Result<Fraction, Fault> {
        const EXPECTED: &str = "a number from 0 to 1";
        let number = match &input {
            Input::Json(Value::Float(number)) => *number,
            Input::Json(Value::Integer(number)) => *number as f64,
            Input::Query(text) => text.parse().unwrap_or(f64::NAN),
            other => return Err(other.expected(EXPECTED)),
        };
        if !(0.0..=1.0).contains(&number) {
            return Err(Fault::new("out_of_range", format!("expected {EXPECTED}")));
        }
        Ok(Fraction(number))
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "number", "minimum": 0, "maximum": 1})
    }
}
