//! Metadata of a document: fields that the service stores and returns, but does not interpret.

use super::fields::{Fault, Field, Input};
use crate::settings::Limits;
use sameish_io::json::Value;
use serde_json::{Value as Schema, json};
use std::borrow::Cow;
use std::collections::HashSet;

/// Maximum size of the metadata of a document as JSON, in bytes.
pub(crate) const MAX_METADATA: usize = 64 << 10;

/// A JSON object of at most [`MAX_METADATA`] bytes.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    /// The members as JSON, separated by commas.
    members: String,
    keys: HashSet<String>,
    /// An unknown field of the document that probably contains its text.
    text_lookalike: Option<&'static str>,
}

impl Metadata {
    /// Adds unknown fields of the document. Returns the name of the first field that cannot be added and the reason.
    pub(crate) fn add_unknown(
        &mut self,
        fields: Vec<(Cow<'_, str>, Input<'_>)>,
    ) -> Result<(), (String, Fault)> {
        self.text_lookalike = text_lookalike(&fields);
        for (name, input) in fields {
            if let Input::Json(value) = input {
                self.add(&name, &value).map_err(|fault| (name.into_owned(), fault))?;
            }
        }
        Ok(())
    }

    /// Returns the unknown field that probably contains the text of the document.
    pub(crate) fn text_lookalike(&self) -> Option<&'static str> {
        self.text_lookalike
    }

    /// Adds a member.
    fn add(&mut self, key: &str, value: &Value<'_>) -> Result<(), Fault> {
        self.add_json(key, &json_text(value))
    }

    /// Adds a member whose value is JSON.
    pub(crate) fn add_json(&mut self, key: &str, value: &str) -> Result<(), Fault> {
        if !self.keys.insert(key.to_owned()) {
            return Err(Fault::new("invalid", "is also a member of `metadata`; send it once"));
        }
        if !self.members.is_empty() {
            self.members.push(',');
        }
        self.members += &json_text(key);
        self.members.push(':');
        self.members += value;
        let bytes = self.members.len() + "{}".len();
        if bytes > MAX_METADATA {
            let detail = format!("has more than {MAX_METADATA} bytes as JSON, all unknown fields included");
            return Err(Fault::new("too_long", detail));
        }
        Ok(())
    }

    /// Returns the object as JSON, or `None` if it is empty.
    pub(crate) fn into_json(self) -> Option<String> {
        (!self.members.is_empty()).then(|| format!("{{{}}}", self.members))
    }
}

/// Returns a value as JSON.
pub(super) fn json_text(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| unreachable!("JSON values can be written: {error}"))
}

impl Field for Metadata {
    fn read(input: Input<'_>, _: &Limits) -> Result<Metadata, Fault> {
        let Input::Json(Value::Object(members)) = input else { return Err(input.expected("an object")) };
        let mut metadata = Metadata::default();
        for (key, value) in &members {
            metadata.add(key, value)?;
        }
        Ok(metadata)
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "object"})
    }
}

/// Names that other programs use for the text of a document.
const TEXT_NAMES: [&str; 3] = ["body", "content", "article"];

/// Returns the first field that probably contains the text of a document, although its name is not `text`.
pub(crate) fn text_lookalike(entries: &[(Cow<'_, str>, Input<'_>)]) -> Option<&'static str> {
    TEXT_NAMES.into_iter().find(|name| {
        entries.iter().any(|(key, value)| key == name && matches!(value, Input::Json(Value::Text(_))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(json: &str) -> Result<Option<String>, Fault> {
        let value = sameish_io::json::parse(json, Default::default()).unwrap();
        Metadata::read(Input::Json(value), &Limits::default()).map(Metadata::into_json)
    }

    #[test]
    fn keeps_every_value_as_it_was_written() {
        let json = r#"{"b":[1,-2.5,null,true,{"x":18446744073709551615}],"a":"\u0001\"é","":{}}"#;
        assert_eq!(metadata(json).unwrap().as_deref(), Some(json));
        assert_eq!(metadata("{}").unwrap(), None);
        assert!(metadata("[]").is_err());
    }

    #[test]
    fn limit_is_inclusive() {
        let sized = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        assert_eq!(metadata(&sized(MAX_METADATA)).unwrap(), Some(sized(MAX_METADATA)));
        assert!(metadata(&sized(MAX_METADATA + 1)).is_err());
    }
}
