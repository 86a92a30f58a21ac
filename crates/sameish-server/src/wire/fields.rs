//! Typed requests: one declaration gives the strict parser and the OpenAPI schema.
//!
//! A request body or query string is a struct declared with [`request!`]. The type of each field implements
//! [`Field`], which defines the accepted values twice, side by side and with the same constants: as a parser and as a JSON Schema.
//! Presence is part of the type: a plain field is required, an [`Option`] may be absent or null, an [`Omittable`] may be absent
//! but not null.
//!
//! A request with several faults reports all of them, each with a pointer. A test in `requests.rs` feeds the constraints of every
//! schema to its parser.

use crate::problem::{FieldError, Problem, shown};
use crate::settings::Limits;
use sameish_io::json::Value;
use serde_json::{Value as Schema, json};
use std::borrow::Cow;

/// A request body or query string. Implemented by [`request!`].
pub(crate) trait Request: Sized {
    /// Name of the schema in the OpenAPI description.
    const NAME: &'static str;

    /// Reads the declared fields. Returns `None` if one of them is faulty, which `fields` then records.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;

    /// Returns the JSON Schema of the object that [`read`](Self::read) accepts.
    fn schema(limits: &Limits) -> Schema;

    /// Reads a body.
    fn from_json(body: Value<'_>, limits: &Limits) -> Result<Self, Problem> {
        Self::from_fields(Fields::of_body(body, limits)?)
    }

    /// Reads a query string.
    fn from_query(query: Option<&str>, limits: &Limits) -> Result<Self, Problem> {
        Self::from_fields(Fields::of_query(query, limits))
    }

    #[doc(hidden)]
    fn from_fields(mut fields: Fields<'_>) -> Result<Self, Problem> {
        let request = Self::read(&mut fields);
        fields.finish()?;
        request.ok_or_else(|| Problem::internal("a faulty field was not recorded"))
    }
}

/// The type of a request field.
pub(crate) trait Field: Sized {
    /// Returns the value of an absent field, or `None` if the field is required.
    fn absent() -> Option<Self> {
        None
    }

    /// Reads a value.
    fn read(input: Input<'_>, limits: &Limits) -> Result<Self, Fault>;

    /// Returns the JSON Schema of the values that [`read`](Self::read) accepts.
    fn schema(limits: &Limits) -> Schema;
}

/// The value of a field as the client sent it.
#[derive(Debug)]
pub(crate) enum Input<'a> {
    /// From a body.
    Json(Value<'a>),
    /// From a query string, percent-decoded.
    Query(String),
}

impl Input<'_> {
    /// Creates the fault of a value that is not what the field expects.
    pub(crate) fn expected(&self, expected: &str) -> Fault {
        match self {
            Input::Json(value) => {
                Fault::new("wrong_type", format!("expected {expected}, found {}", value.type_name()))
            }
            Input::Query(text) => {
                Fault::new("out_of_range", format!("expected {expected}, found `{}`", shown(text)))
            }
        }
    }

    /// Returns the value as a string.
    pub(crate) fn into_string(self) -> Result<String, Fault> {
        match self {
            Input::Json(Value::Text(text)) => Ok(text.into_owned()),
            Input::Query(text) => Ok(text),
            other => Err(other.expected("a string")),
        }
    }
}

/// Why a value is not accepted.
#[derive(Debug)]
pub(crate) struct Fault {
    code: &'static str,
    detail: String,
}

impl Fault {
    pub(crate) fn new(code: &'static str, detail: impl Into<String>) -> Fault {
        Fault { code, detail: detail.into() }
    }
}

/// The fields of a request that have not been read yet, and the faults found so far.
pub(crate) struct Fields<'a> {
    entries: Vec<(Cow<'a, str>, Input<'a>)>,
    source: Source,
    limits: &'a Limits,
    /// Declared fields that have a value, faulty or not.
    present: Vec<&'static str>,
    errors: Vec<FieldError>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Body,
    Query,
}

/// Maximum number of unknown fields that a problem lists, and of characters of each name.
const MAX_UNKNOWN: usize = 20;
const MAX_UNKNOWN_NAME: usize = 64;

impl<'a> Fields<'a> {
    fn of_body(body: Value<'a>, limits: &'a Limits) -> Result<Fields<'a>, Problem> {
        let Value::Object(entries) = body else {
            let detail = format!("expected an object, found {}", body.type_name());
            return Err(Problem::field("", "wrong_type", detail));
        };
        let entries = entries.into_iter().map(|(name, value)| (name, Input::Json(value))).collect();
        Ok(Fields { entries, source: Source::Body, limits, present: Vec::new(), errors: Vec::new() })
    }

    fn of_query(query: Option<&str>, limits: &'a Limits) -> Fields<'a> {
        let mut entries: Vec<(Cow<'a, str>, Input<'a>)> = Vec::new();
        let mut errors = Vec::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (percent_decoded(name), percent_decoded(value)) else {
                errors.push(FieldError::new("?", "invalid", "the query string is not percent-encoded UTF-8"));
                continue;
            };
            entries.push((name.into(), Input::Query(value)));
        }
        Fields { entries, source: Source::Query, limits, present: Vec::new(), errors }
    }

    /// Reads a declared field. Records a fault and returns `None` if the value is not accepted.
    pub(crate) fn read<T: Field>(&mut self, name: &'static str) -> Option<T> {
        let Some(at) = self.entries.iter().position(|(key, _)| key == name) else {
            let absent = T::absent();
            if absent.is_none() {
                self.record(name, Fault::new("missing", "is required"));
            }
            return absent;
        };
        let (_, input) = self.entries.remove(at);
        if self.source == Source::Query && self.entries.iter().any(|(key, _)| key == name) {
            self.entries.retain(|(key, _)| key != name);
            self.record(name, Fault::new("invalid", "is given twice"));
        }
        let is_null = matches!(input, Input::Json(Value::Null));
        let value = T::read(input, self.limits);
        if !is_null || value.is_err() {
            self.present.push(name);
        }
        value.map_err(|fault| self.record(name, fault)).ok()
    }

    /// Requires at least one of several optional fields.
    pub(crate) fn require_any_of(&mut self, names: &[&'static str]) {
        if let [first, others @ ..] = names
            && !names.iter().any(|name| self.present.contains(name))
        {
            let others: Vec<String> = others.iter().map(|name| format!("`{name}`")).collect();
            let detail = format!("is required unless {} is set", others.join(" or "));
            self.record(first, Fault::new("missing", detail));
        }
    }

    fn record(&mut self, name: &str, fault: Fault) {
        self.errors.push(FieldError::new(pointer(self.source, name), fault.code, fault.detail));
    }

    /// Ends the reading: fields that were not read are unknown, and unknown fields are faults.
    fn finish(mut self) -> Result<(), Problem> {
        let mut unknown: Vec<Cow<'_, str>> = self.entries.drain(..).map(|(name, _)| name).collect();
        unknown.sort();
        for name in unknown.iter().take(MAX_UNKNOWN) {
            let name: String = name.chars().take(MAX_UNKNOWN_NAME).collect();
            let detail = match self.source {
                Source::Body => "is not a field of this request",
                Source::Query => "is not a parameter of this route",
            };
            self.record(&name, Fault::new("unknown_field", detail));
        }
        if self.errors.is_empty() { Ok(()) } else { Err(Problem::fields(self.errors)) }
    }
}

/// Checks that a query string has no parameters.
pub(crate) fn check_no_query(query: Option<&str>) -> Result<(), Problem> {
    Fields::of_query(query, &Limits::default()).finish()
}

/// Returns where a field is: a JSON pointer into the body, or the name of a query parameter after a question mark.
fn pointer(source: Source, name: &str) -> String {
    match source {
        Source::Body => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
        Source::Query => format!("?{}", shown(name)),
    }
}

/// Decodes a part of a query string. Returns `None` if it is not percent-encoded UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [a, b, tail @ ..]) => {
                let digit = |digit: u8| char::from(digit).to_digit(16);
                bytes.push((digit(*a)? << 4 | digit(*b)?) as u8);
                rest = tail;
            }
            (b'%', _) => return None,
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// Declares a request: a struct, its parser and its schema. `any_of` lists fields of which at least one is required.
macro_rules! request {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $name:ident {
            $( $(#[doc = $text:literal])+ $field_vis:vis $field:ident: $type:ty, )*
        }
        $( any_of: $($any:ident),+; )?
    ) => {
        $(#[doc = $about])+
        #[derive(Debug)]
        $vis struct $name {
            $( $(#[doc = $text])+ $field_vis $field: $type, )*
        }

        impl $crate::wire::fields::Request for $name {
            const NAME: &'static str = stringify!($name);

            fn read(fields: &mut $crate::wire::fields::Fields<'_>) -> Option<Self> {
                $( let $field = fields.read($crate::wire::fields::wire_name(stringify!($field))); )*
                $( fields.require_any_of(&[$(stringify!($any)),+]); )?
                Some($name { $( $field: $field?, )* })
            }

            fn schema(limits: &$crate::settings::Limits) -> serde_json::Value {
                let mut schema = $crate::wire::fields::ObjectSchema::new(&[$($about),+]);
                $( schema.add::<$type>(stringify!($field), &[$($text),+], limits); )*
                $( schema.require_any_of(&[$(stringify!($any)),+]); )?
                schema.finish()
            }
        }

        /// `openapi::finish` replaces this placeholder by the schema with the limits of the service.
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                Default::default()
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
        }

        impl utoipa::IntoParams for $name {
            fn into_params(
                _: impl Fn() -> Option<utoipa::openapi::path::ParameterIn>,
            ) -> Vec<utoipa::openapi::path::Parameter> {
                $crate::wire::fields::query_parameters::<Self>()
            }
        }
    };
}
pub(crate) use request;

/// Returns the name of a field on the wire: without the `r#` of a name that is a keyword.
pub(crate) fn wire_name(name: &'static str) -> &'static str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// Builds the schema of a request.
pub(crate) struct ObjectSchema {
    description: String,
    properties: serde_json::Map<String, Schema>,
    required: Vec<&'static str>,
    any_of: Vec<Schema>,
}

impl ObjectSchema {
    pub(crate) fn new(about: &[&str]) -> ObjectSchema {
        ObjectSchema {
            description: joined(about),
            properties: serde_json::Map::new(),
            required: Vec::new(),
            any_of: Vec::new(),
        }
    }

    pub(crate) fn add<T: Field>(&mut self, name: &'static str, about: &[&str], limits: &Limits) {
        let mut schema = T::schema(limits);
        schema["description"] = joined(about).into();
        if T::absent().is_none() {
            self.required.push(wire_name(name));
        }
        self.properties.insert(wire_name(name).to_owned(), schema);
    }

    pub(crate) fn require_any_of(&mut self, names: &[&'static str]) {
        self.any_of.extend(names.iter().map(|name| {
            let types = non_null_type(&self.properties[*name]);
            json!({"required": [name], "properties": {*name: {"type": types}}})
        }));
    }

    pub(crate) fn finish(self) -> Schema {
        let mut schema = json!({
            "type": "object",
            "description": self.description,
            "properties": self.properties,
            "additionalProperties": false,
        });
        if !self.required.is_empty() {
            schema["required"] = self.required.into();
        }
        if !self.any_of.is_empty() {
            schema["anyOf"] = self.any_of.into();
        }
        schema
    }
}

/// Joins the lines of a doc comment.
fn joined(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join(" ")
}

/// Returns the type of a schema without `null`.
fn non_null_type(schema: &Schema) -> Schema {
    match &schema["type"] {
        Schema::Array(types) => types.iter().find(|name| *name != "null").cloned().unwrap_or_default(),
        one => one.clone(),
    }
}

/// Adds `null` to the types of a schema.
fn nullable(mut schema: Schema) -> Schema {
    match schema.get_mut("type") {
        Some(Schema::String(name)) => schema["type"] = json!([name, "null"]),
        _ => schema = json!({"oneOf": [schema, {"type": "null"}]}),
    }
    // Null is a value of its own in an enumeration.
    if let Some(Schema::Array(names)) = schema.get_mut("enum") {
        names.push(Schema::Null);
    }
    schema
}

/// Describes the fields of a request as parameters of a query string.
pub(crate) fn query_parameters<T: Request>() -> Vec<utoipa::openapi::path::Parameter> {
    let schema = T::schema(&Limits::default());
    let properties = schema["properties"].as_object().into_iter().flatten();
    let parameters = properties.map(|(name, property)| {
        let mut property = property.clone();
        property["type"] = non_null_type(&property);
        if let Some(Schema::Array(names)) = property.get_mut("enum") {
            names.retain(|name| !name.is_null());
        }
        let description = property.as_object_mut().and_then(|property| property.remove("description"));
        json!({"name": name, "in": "query", "required": false, "description": description, "schema": property})
    });
    serde_json::from_value(parameters.collect()).expect("query parameters are valid OpenAPI")
}

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

/// The maximum number of results that a client asks for: at least 1. Values above the limit of the service are accepted, because
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

#[cfg(test)]
mod tests {
    use super::*;

    request! {
        /// A request
        /// in two lines.
        struct Sample {
            /// A title.
            title: Option<ShortText<10>>,
            /// A number.
            number: Bounded<1, 10>,
            /// A flag.
            r#type: Option<bool>,
        }
    }

    fn errors(result: Result<Sample, Problem>) -> Vec<(String, String)> {
        let problem = result.unwrap_err();
        problem.errors.into_iter().map(|error| (error.pointer, error.code.into_owned())).collect()
    }

    fn parse(body: &str) -> Result<Sample, Problem> {
        crate::body::parse(body.as_bytes(), &Limits::default())
    }

    #[test]
    fn reports_every_fault_with_its_pointer() {
        let found = errors(parse(r#"{"title":7,"number":0,"a/b":1,"type":true,"~":2}"#));
        let found: Vec<(&str, &str)> = found.iter().map(|(pointer, code)| (&**pointer, &**code)).collect();
        assert_eq!(
            found,
            [
                ("/title", "wrong_type"),
                ("/number", "out_of_range"),
                ("/a~1b", "unknown_field"),
                ("/~0", "unknown_field")
            ]
        );
        assert_eq!(errors(parse("{}")), [("/number".into(), "missing".into())]);
        assert_eq!(errors(parse("[]")), [(String::new(), "wrong_type".into())]);
    }

    #[test]
    fn reads_valid_fields() {
        let Sample { title, number, r#type } = parse(r#"{"title":"a","number":7,"type":null}"#).unwrap();
        assert_eq!((title.unwrap().0.as_str(), number.0, r#type), ("a", 7, None));
    }

    #[test]
    fn reports_every_fault_of_a_query_string() {
        let query = Some("title=a+b%21&title=c&number=0&type=x&%2F=1&%ff=1");
        let found = errors(Sample::from_query(query, &Limits::default()));
        let found: Vec<(&str, &str)> = found.iter().map(|(pointer, code)| (&**pointer, &**code)).collect();
        assert_eq!(
            found,
            [
                ("?", "invalid"),
                ("?title", "invalid"),
                ("?number", "out_of_range"),
                ("?type", "out_of_range"),
                ("?/", "unknown_field"),
            ]
        );
    }

    #[test]
    fn generates_the_schema() {
        assert_eq!(
            Sample::schema(&Limits::default()),
            json!({
                "type": "object",
                "description": "A request in two lines.",
                "properties": {
                    "title": {"type": ["string", "null"], "maxLength": 10, "description": "A title."},
                    "number": {"type": "integer", "minimum": 1, "maximum": 10, "description": "A number."},
                    "type": {"type": ["boolean", "null"], "description": "A flag."},
                },
                "required": ["number"],
                "additionalProperties": false,
            })
        );
    }
}
