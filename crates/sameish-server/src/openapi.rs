//! How is the interface described?
//!
//! The routes and types describe themselves (OpenAPI 3.1); what holds for all of them is added here: keys, and the
//! problems that any request can meet.

use crate::problem::{FieldError, ProblemBody};
use serde_json::{Value, json};
use utoipa::openapi::OpenApi;
use utoipa::{Modify, OpenApi as _};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "sameish",
        description = "Finds texts that are nearly the same, says how sure it is, and shows why.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "documents", description = "Store, show, replace, delete"),
        (name = "search", description = "What is like a document?"),
        (name = "clusters", description = "What belongs together?"),
        (name = "collections", description = "Documents with the same settings"),
        (name = "operations", description = "Running the service"),
    ),
    components(schemas(ProblemBody, FieldError)),
    modifiers(&Keys),
)]
struct Frame;

struct Keys;

impl Modify for Keys {
    fn modify(&self, api: &mut OpenApi) {
        use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
        let bearer = Http::builder()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("A key of this service. Needed where the service has keys; health needs none."))
            .build();
        let components = api.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(bearer));
        let none: [&str; 0] = [];
        api.security = Some(vec![SecurityRequirement::default(), SecurityRequirement::new("key", none)]);
    }
}

/// What stands around the routes.
pub(crate) fn frame() -> OpenApi {
    Frame::openapi()
}

/// The description with what every route can answer, as JSON.
pub(crate) fn finish(api: &OpenApi) -> Vec<u8> {
    let mut api = serde_json::to_value(api).unwrap_or_default();
    for name in ["NewDocument", "TextQuery"] {
        // A text, or a title in its place.
        api["components"]["schemas"][name]["anyOf"] =
            json!([{"required": ["text"]}, {"required": ["title"]}]);
    }
    if let Some(paths) = api["paths"].as_object_mut() {
        for (path, item) in paths {
            for (method, operation) in item.as_object_mut().into_iter().flatten() {
                body_is_no_null(operation);
                add_problems(path, method, operation);
            }
        }
    }
    serde_json::to_vec_pretty(&api).unwrap_or_default()
}

/// A body that may be left out is described as one that may be `null`, which is another thing and refused.
fn body_is_no_null(operation: &mut Value) {
    let content = operation.pointer_mut("/requestBody/content").and_then(Value::as_object_mut);
    for schema in content.into_iter().flat_map(|content| content.values_mut().map(|kind| &mut kind["schema"]))
    {
        let other = |choice: &&Value| choice["type"] != "null";
        if let Some(body) = schema["oneOf"].as_array().and_then(|choices| choices.iter().find(other)) {
            *schema = body.clone();
        }
    }
}

/// The problems that a route can meet, by what it takes.
fn add_problems(path: &str, method: &str, operation: &mut Value) {
    let mut statuses: Vec<(u16, &str)> = vec![
        (400, "The request can not be read"),
        (404, "There is no such thing"),
        (405, "This can not be done here"),
        (406, "The answer has another type"),
        (408, "The request took too long to arrive"),
        (414, "The address is too long"),
        (422, "A value is not usable: `errors` has where"),
        (431, "The headers are too large"),
        (500, "A fault of the service, or a damaged document"),
        (503, "Busy, stopping, or storage has failed"),
    ];
    let open = path.starts_with("/health/");
    if !open {
        statuses.extend([
            (401, "A key is needed"),
            (403, "The key does not allow this"),
            (429, "Too many requests"),
        ]);
    }
    if operation.get("requestBody").is_some() {
        statuses.extend([(413, "The request is too large"), (415, "The body has a type that is not taken")]);
    }
    let writes = matches!(method, "put" | "delete")
        || method == "post" && !path.ends_with("/query") && !path.ends_with("/compare");
    if writes {
        statuses.extend([(409, "Something else is there"), (507, "The disk is full")]);
    }
    for (status, description) in statuses {
        let retry = matches!(status, 429 | 503 | 507);
        let headers = match retry {
            true => json!({"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds"}}),
            false => json!({}),
        };
        let content =
            json!({"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}});
        let mut response = json!({"description": description, "content": content});
        if retry {
            response["headers"] = headers;
        }
        let responses = &mut operation["responses"];
        if responses.get(status.to_string()).is_none() {
            responses[status.to_string()] = response;
        }
    }
}
