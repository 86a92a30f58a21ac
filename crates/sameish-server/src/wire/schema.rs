//! JSON Schemas of requests, built from their fields.

use super::fields::{Field, Request, wire_name};
use crate::settings::Limits;
use serde_json::{Value as Schema, json};

/// Builds the schema of a request.
pub(crate) struct ObjectSchema {
    description: String,
    properties: serde_json::Map<String, Schema>,
    required: Vec<&'static str>,
    any_of: Vec<Schema>,
    permits_others: bool,
}

impl ObjectSchema {
    pub(crate) fn new(about: &[&str]) -> ObjectSchema {
        ObjectSchema {
            description: joined(about),
            properties: serde_json::Map::new(),
            required: Vec::new(),
            any_of: Vec::new(),
            permits_others: false,
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
            json!({"required": [name], "properties": {*name: {"type": given_type(&self.properties[*name])}}})
        }));
    }

    /// Permits unknown fields, which the field `name` collects.
    pub(crate) fn permit_others(&mut self, name: &str) {
        debug_assert!(self.properties.contains_key(name));
        self.permits_others = true;
    }

    pub(crate) fn finish(self) -> Schema {
        let mut schema = json!({
            "type": "object",
            "description": self.description,
            "properties": self.properties,
            "additionalProperties": self.permits_others,
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

/// Returns the type of a value that counts as given: the first of the types of a field. Values of other types are stored and mean
/// nothing.
fn given_type(schema: &Schema) -> Schema {
    match &schema["type"] {
        Schema::Array(types) => types[0].clone(),
        one => one.clone(),
    }
}

/// Returns the types of a schema without `null`.
fn non_null_type(schema: &Schema) -> Schema {
    match &schema["type"] {
        Schema::Array(types) => {
            let mut others: Vec<Schema> = types.iter().filter(|name| *name != "null").cloned().collect();
            if others.len() == 1 { others.remove(0) } else { others.into() }
        }
        one => one.clone(),
    }
}

/// Adds `null` to the types of a schema.
pub(crate) fn nullable(mut schema: Schema) -> Schema {
    match schema.get_mut("type") {
        Some(Schema::String(name)) => schema["type"] = json!([name, "null"]),
        Some(Schema::Array(names)) => names.push("null".into()),
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
