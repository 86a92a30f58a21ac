//! Typed requests: one declaration gives the strict parser and the OpenAPI schema.
//!
//! A request body or query string is a struct declared with [`request!`]. The type of each field implements
//! [`Field`], which defines the accepted values twice, side by side and with the same constants: as a parser and as a JSON Schema.
//! Presence is part of the type: a plain field is required, an [`Option`] may be absent or null, an
//! [`Omittable`](super::field_types::Omittable) may be absent but not null.
//!
//! A request with several faults reports all of them, each with a pointer. A test in `agreement.rs` feeds the constraints of every
//! schema to its parser.

use super::metadata::{Metadata, text_lookalike};
use crate::problem::{FieldError, Problem, shown};
use crate::settings::Limits;
use sameish_io::json::Value;
use serde_json::Value as Schema;
use std::borrow::Cow;

/// A request body or query string. Implemented by [`request!`].
pub(crate) trait Request: Sized {
    /// Name of the schema in the OpenAPI description.
    const NAME: &'static str;

    /// Reads the declared fields. Returns `None` if one of them is faulty, which `fields` then records.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;

    /// Returns the JSON Schema of the object that [`read`](Self::read) accepts.
    fn schema(limits: &Limits) -> Schema;

    /// Reads a body. `unknown` applies to requests that collect unknown fields; others always reject them.
    fn from_json(body: Value<'_>, limits: &Limits, unknown: UnknownFields) -> Result<Self, Problem> {
        Self::from_fields(Fields::of_body(body, limits, unknown)?)
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

/// What happens to fields that a request does not declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownFields {
    /// They become metadata, if the request collects them.
    Collect,
    Reject,
}

/// The type of a request field.
pub(crate) trait Field: Sized {
    /// Returns the value of an absent field, or `None` if the field is required.
    fn absent() -> Option<Self> {
        None
    }

    /// Reads a value.
    fn read(input: Input<'_>, limits: &Limits) -> Result<Self, Fault>;

    /// Returns `true` if the value counts as given where one of several fields is required.
    fn is_given(&self) -> bool {
        true
    }

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

    /// Returns the problem that reports this fault alone.
    pub(crate) fn into_problem(self, pointer: &str) -> Problem {
        Problem::field(pointer, self.code, self.detail)
    }
}

/// The fields of a request that have not been read yet, and the faults found so far.
pub(crate) struct Fields<'a> {
    entries: Vec<(Cow<'a, str>, Input<'a>)>,
    source: Source,
    limits: &'a Limits,
    unknown: UnknownFields,
    /// Declared fields.
    known: Vec<&'static str>,
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
    fn of_body(body: Value<'a>, limits: &'a Limits, unknown: UnknownFields) -> Result<Fields<'a>, Problem> {
        let Value::Object(entries) = body else {
            let detail = format!("expected an object, found {}", body.type_name());
            return Err(Problem::field("", "wrong_type", detail));
        };
        let entries = entries.into_iter().map(|(name, value)| (name, Input::Json(value))).collect();
        Ok(Fields::new(entries, Source::Body, limits, unknown))
    }

    fn new(
        entries: Vec<(Cow<'a, str>, Input<'a>)>,
        source: Source,
        limits: &'a Limits,
        unknown: UnknownFields,
    ) -> Fields<'a> {
        Fields {
            entries,
            source,
            limits,
            unknown,
            known: Vec::new(),
            present: Vec::new(),
            errors: Vec::new(),
        }
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
        Fields { errors, ..Fields::new(entries, Source::Query, limits, UnknownFields::Reject) }
    }

    /// Reads a declared field. Records a fault and returns `None` if the value is not accepted.
    pub(crate) fn read<T: Field>(&mut self, name: &'static str) -> Option<T> {
        self.known.push(name);
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
        let value = T::read(input, self.limits);
        if value.as_ref().map_or(true, T::is_given) {
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
            let hint = text_lookalike(&self.entries).map(|name| format!("; send `{name}` as `{first}`"));
            let detail =
                format!("is required unless {} is set{}", others.join(" or "), hint.unwrap_or_default());
            self.record(first, Fault::new("missing", detail));
        }
    }

    /// Adds the fields that were not read to `metadata`, unless unknown fields are rejected. `metadata` is `None` if it is faulty.
    pub(crate) fn collect(&mut self, metadata: Option<Option<Metadata>>) -> Option<Option<Metadata>> {
        if self.unknown == UnknownFields::Reject || self.entries.is_empty() {
            return metadata;
        }
        let is_faulty = metadata.is_none();
        let mut collected = metadata.flatten().unwrap_or_default();
        if let Err((name, fault)) = collected.add_unknown(std::mem::take(&mut self.entries)) {
            // The limit applies to all members together.
            let at = if fault.code == "too_long" { "metadata" } else { &*name };
            self.record(at, fault);
            return None;
        }
        (!is_faulty).then_some(Some(collected))
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
            self.record(&name, Fault::new("unknown_field", self.unknown_detail()));
        }
        if self.errors.is_empty() { Ok(()) } else { Err(Problem::fields(self.errors)) }
    }

    fn unknown_detail(&self) -> String {
        let kind = match self.source {
            Source::Body => "a field of this request",
            Source::Query => "a parameter of this route",
        };
        let known: Vec<String> = self.known.iter().map(|name| format!("`{name}`")).collect();
        match &known[..] {
            [] => format!("is not {kind}, which has none"),
            known => format!("is not {kind}; expected {}", known.join(", ")),
        }
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

/// Declares a request: a struct, its parser and its schema. `any_of` lists fields of which at least one is required; `others` is
/// the field that collects unknown fields.
macro_rules! request {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $name:ident {
            $( $(#[doc = $text:literal])+ $field_vis:vis $field:ident: $type:ty, )*
        }
        $( any_of: $($any:ident),+; )?
        $( others: $others:ident; )?
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
                $( let $others = fields.collect($others); )?
                Some($name { $( $field: $field?, )* })
            }

            fn schema(limits: &$crate::settings::Limits) -> serde_json::Value {
                let mut schema = $crate::wire::schema::ObjectSchema::new(&[$($about),+]);
                $( schema.add::<$type>(stringify!($field), &[$($text),+], limits); )*
                $( schema.require_any_of(&[$(stringify!($any)),+]); )?
                $( schema.permit_others(stringify!($others)); )?
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
                $crate::wire::schema::query_parameters::<Self>()
            }
        }
    };
}
pub(crate) use request;

/// Returns the name of a field on the wire: without the `r#` of a name that is a keyword.
pub(crate) fn wire_name(name: &'static str) -> &'static str {
    name.strip_prefix("r#").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::field_types::{Bounded, ShortText};
    use serde_json::json;

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
