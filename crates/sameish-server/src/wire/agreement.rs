//! Test that the parser and the schema of every request agree.
//!
//! Values that probe every constraint are put into each field. The parser must accept exactly the values that the schema permits,
//! so every declared bound is enforced and every enforced bound is declared.

use super::fields::Request;
use super::{
    BulkParams, ClusterListParams, ClusterParams, CollectionChange, CollectionSettings, CompareTexts,
    DeleteParams, Deletion, DocumentListParams, DocumentParams, EditListParams, EditRequest, EventParams,
    ExportParams, Id, InsertParams, NewDocument, PreviewParams, Replacement, SearchParams, SketchText,
    SnapshotRequest, SourceParams, TextQuery, body_schemas,
};
use crate::problem::Problem;
use crate::settings::Limits;
use serde_json::{Value, json};
use utoipa::PartialSchema;

fn limits() -> Limits {
    Limits { text_bytes: 3_000, ..Limits::default() }
}

/// Checks a value against a schema, for the keywords that our schemas use.
///
/// Unlike in JSON Schema, `integer` requires a number without fraction and exponent that fits in 64 bits, and `date-time` permits
/// every format that `published_at` documents.
fn permits(schema: &Value, value: &Value) -> bool {
    schema.as_object().unwrap().iter().all(|(keyword, rule)| match keyword.as_str() {
        "description" | "default" | "examples" => true,
        "$ref" => {
            assert_eq!(rule, "#/components/schemas/Id");
            permits(&serde_json::to_value(<Id as PartialSchema>::schema()).unwrap(), value)
        }
        "type" => match rule {
            Value::Array(names) => names.iter().any(|name| has_type(name, value)),
            name => has_type(name, value),
        },
        "oneOf" => choices(rule).filter(|choice| permits(choice, value)).count() == 1,
        "anyOf" => choices(rule).any(|choice| permits(choice, value)),
        "not" => !permits(rule, value),
        "const" => value == rule,
        "enum" => rule.as_array().unwrap().contains(value),
        "minimum" => value.is_null() || !value.is_number() || number(value) >= number(rule),
        "maximum" => value.is_null() || !value.is_number() || number(value) <= number(rule),
        "minLength" => {
            value.as_str().is_none_or(|text| text.chars().count() as u64 >= rule.as_u64().unwrap())
        }
        "maxLength" => {
            value.as_str().is_none_or(|text| text.chars().count() as u64 <= rule.as_u64().unwrap())
        }
        "pattern" => value.as_str().is_none_or(|text| matches_pattern(rule.as_str().unwrap(), text)),
        "format" => {
            assert_eq!(rule, "date-time");
            value.as_str().is_none_or(|text| sameish::Timestamp::parse(text).is_ok())
        }
        "required" => choices(rule).all(|name| value.get(name.as_str().unwrap()).is_some()),
        "properties" => rule.as_object().unwrap().iter().all(|(name, property)| {
            let field = value.get(name);
            field.is_none_or(|field| permits(property, field))
        }),
        "additionalProperties" => {
            let is_known = |name: &String| schema["properties"].get(name).is_some();
            *rule == true || value.as_object().unwrap().keys().all(is_known)
        }
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| permits(rule, item))),
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
        "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap()),
        "propertyNames" => value
            .as_object()
            .is_none_or(|object| object.keys().all(|name| permits(rule, &name.as_str().into()))),
        keyword => panic!("`{keyword}` is not supported"),
    })
}

fn choices(rule: &Value) -> impl Iterator<Item = &Value> {
    rule.as_array().unwrap().iter()
}

fn has_type(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        name => panic!("`{name}` is not supported"),
    }
}

/// Exact for integers up to 2^64 and for small fractions, scaled to keep one decimal place.
fn number(value: &Value) -> i128 {
    match (value.as_i64(), value.as_u64()) {
        (Some(number), _) => 10 * i128::from(number),
        (_, Some(number)) => 10 * i128::from(number),
        _ => (10.0 * value.as_f64().unwrap()) as i128,
    }
}

fn matches_pattern(pattern: &str, text: &str) -> bool {
    match pattern {
        "^[^\\x00-\\x1f\\x7f-\\x9f]+$" => !text.is_empty() && !text.chars().any(char::is_control),
        "^[A-Za-z0-9_-][A-Za-z0-9._-]*$" => {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !text.is_empty() && !text.starts_with('.') && text.chars().all(allowed)
        }
        pattern => panic!("`{pattern}` is not supported"),
    }
}

/// Returns values that probe the constraints of a schema: every type, usual edge cases, and both sides of every bound in it.
fn probes(schema: &Value) -> Vec<Value> {
    let mut probes = vec![json!(null), json!(true), json!([]), json!({}), json!({"preset": "web"})];
    probes.extend([json!(-1), json!(0), json!(1), json!(7), json!(u64::MAX), json!(i64::MIN)]);
    probes.extend([json!(["x", ""]), json!(["x", 7]), json!([null])]);
    probes.extend([json!(0.5), json!(1.0), json!(1.5), json!(-0.5), json!(1e30)]);
    let texts = [
        "",
        " ",
        "a",
        ".",
        "..",
        ".x",
        "a.b",
        "a/b",
        "é",
        "a\u{0}",
        "a\u{7f}",
        "a\u{85}",
        "bulk",
        "query",
        "clusters",
        "number",
        "text",
        "soon",
        "2024-01-31",
        "2024-01-31T12:00:00Z",
        "Wed, 31 Jan 2024 12:00:00 GMT",
        "1704110400",
    ];
    probes.extend(texts.map(Value::from));
    probes.extend(sameish::Preset::ALL.map(|preset| preset.name().into()));
    probes.extend([100, 101, 128, 129, 512, 513, 1_024, 1_025, 5_000, 70_000].map(|n| "x".repeat(n).into()));
    add_bounds(schema, &mut probes);
    probes
}

fn add_bounds(schema: &Value, probes: &mut Vec<Value>) {
    match schema {
        Value::Object(rules) => {
            for (keyword, rule) in rules {
                match (keyword.as_str(), rule.as_u64()) {
                    ("minLength" | "maxLength", Some(bound)) => {
                        probes.extend([bound - 1, bound, bound + 1].map(|n| "x".repeat(n as usize).into()));
                    }
                    ("minimum" | "maximum", Some(bound)) => {
                        let around = [bound.saturating_sub(1), bound, bound.saturating_add(1)];
                        probes.extend(around.map(Value::from));
                    }
                    ("minItems" | "maxItems", Some(bound)) => {
                        let lengths = [bound.saturating_sub(1), bound, bound + 1];
                        probes.extend(lengths.map(|n| vec![7; n as usize].into()));
                        probes.push(json!([7, "x", null]));
                    }
                    _ => add_bounds(rule, probes),
                }
            }
        }
        Value::Array(rules) => rules.iter().for_each(|rule| add_bounds(rule, probes)),
        _ => {}
    }
}

/// Returns a valid request with the required fields only.
fn minimal(schema: &Value) -> Value {
    let alternative = schema.pointer("/anyOf/0/required").and_then(Value::as_array);
    let required = schema["required"].as_array().into_iter().chain(alternative).flatten();
    let value = |name: &str| match &schema["properties"][name]["enum"] {
        Value::Array(values) => values[0].clone(),
        _ => json!("x"),
    };
    let fields = required.map(|name| (name.as_str().unwrap().to_owned(), value(name.as_str().unwrap())));
    Value::Object(fields.collect())
}

fn check_body<T: Request>() {
    let schema = T::schema(&limits());
    let parse = |body: &Value| -> Result<(), Problem> {
        crate::body::parse::<T>(body.to_string().as_bytes(), &limits()).map(drop)
    };
    let agree = |body: &Value| {
        let result = parse(body);
        let shown = || body.to_string().chars().take(200).collect::<String>();
        assert_eq!(result.is_ok(), permits(&schema, body), "{} {}: {result:?}", T::NAME, shown());
        result
    };
    let minimal = minimal(&schema);
    agree(&minimal).unwrap();
    agree(&json!({})).ok();
    let mut checked = 0;
    for (name, property) in schema["properties"].as_object().unwrap() {
        for probe in probes(&schema) {
            let mut body = minimal.clone();
            body[name] = probe.clone();
            let result = agree(&body);
            if let Err(problem) = result
                && !permits(property, &probe)
            {
                let pointers: Vec<&str> = problem.errors.iter().map(|error| error.pointer.as_str()).collect();
                assert_eq!(pointers, [format!("/{name}")], "{} {body}", T::NAME);
            }
            // Alone, so that rules about several fields apply.
            agree(&json!({name: probe})).ok();
            checked += 2;
        }
        let mut body = minimal.clone();
        body[format!("{name}x")] = json!(null);
        match agree(&body) {
            Ok(()) => assert_eq!(schema["additionalProperties"], true, "{} {body}", T::NAME),
            Err(problem) => assert_eq!(problem.errors[0].code, "unknown_field"),
        }
    }
    assert!(checked > 50, "{} has few probes: {checked}", T::NAME);
}

#[test]
fn bodies_are_accepted_if_and_only_if_their_schema_permits_them() {
    check_body::<NewDocument>();
    check_body::<Replacement>();
    check_body::<Deletion>();
    check_body::<TextQuery>();
    check_body::<CompareTexts>();
    check_body::<SketchText>();
    check_body::<CollectionSettings>();
    check_body::<CollectionChange>();
    check_body::<EditRequest>();
    check_body::<SnapshotRequest>();
    assert_eq!(body_schemas(&limits()).len(), 10, "every body is checked");
}

/// Interprets a query parameter by the type of its schema.
fn typed(schema: &Value, text: &str) -> Value {
    let is = |name: &str| match &schema["type"] {
        Value::Array(names) => names.contains(&json!(name)),
        only => only == name,
    };
    let value = if is("integer") && text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse::<u64>().ok().map(Value::from)
    } else if is("number") {
        text.parse::<f64>().ok().map(Value::from)
    } else if is("boolean") {
        text.parse::<bool>().ok().map(Value::from)
    } else {
        None
    };
    value.unwrap_or(json!(text))
}

fn check_query<T: Request + utoipa::IntoParams>() {
    let parameters = T::into_params(|| None);
    assert!(!parameters.is_empty());
    for parameter in parameters {
        let schema = serde_json::to_value(&parameter.schema).unwrap();
        for probe in probes(&schema) {
            let text = probe.as_str().map_or_else(|| probe.to_string(), str::to_owned);
            let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
            let result = T::from_query(Some(&format!("{}={encoded}", parameter.name)), &limits());
            let expected = permits(&schema, &typed(&schema, &text));
            let name = &parameter.name;
            assert_eq!(result.is_ok(), expected, "{name}={}", text.chars().take(100).collect::<String>());
            if let Err(problem) = result {
                assert_eq!(problem.errors[0].pointer, format!("?{name}"));
            }
        }
        let unknown = format!("{}x=1", parameter.name);
        assert!(T::from_query(Some(&unknown), &limits()).is_err());
    }
}

#[test]
fn query_strings_are_accepted_if_and_only_if_their_schema_permits_them() {
    check_query::<SearchParams>();
    check_query::<ClusterListParams>();
    check_query::<ClusterParams>();
    check_query::<EventParams>();
    check_query::<ExportParams>();
    check_query::<PreviewParams>();
    check_query::<SourceParams>();
    check_query::<DeleteParams>();
    check_query::<DocumentParams>();
    check_query::<InsertParams>();
    check_query::<BulkParams>();
    check_query::<DocumentListParams>();
    check_query::<EditListParams>();
}
