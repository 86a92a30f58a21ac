//! The OpenAPI 3.1 description of the service.
//!
//! Routes and responses describe themselves. [`finish`] adds what depends on the settings or applies to all routes: the schemas of
//! request bodies, authentication, and the problems that any request can cause.

use crate::problem::{FieldError, ProblemBody};
use crate::settings::Limits;
use crate::wire::{BulkSummaryLine, body_schemas};
use serde_json::{Value, json};
use utoipa::openapi::OpenApi;
use utoipa::{Modify, OpenApi as _};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "sameish",
        description = "Finds near-duplicate texts, reports how certain each match is, and shows the evidence.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "documents", description = "Store, read, replace and delete documents"),
        (name = "search", description = "Find similar documents and compare texts"),
        (name = "clusters", description = "Read and edit clusters of near-duplicates"),
        (name = "collections", description = "Create, read and delete collections: documents with the same settings"),
        (name = "operations", description = "Operate the service"),
    ),
    components(schemas(ProblemBody, FieldError, BulkSummaryLine)),
    modifiers(&Authentication),
)]
struct Base;

struct Authentication;

impl Modify for Authentication {
    fn modify(&self, api: &mut OpenApi) {
        use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
        let bearer = Http::builder()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(
                "A key of the service. Required if the service has keys, except for health checks.",
            ))
            .build();
        let components = api.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(bearer));
        let no_scopes: [&str; 0] = [];
        api.security = Some(vec![SecurityRequirement::default(), SecurityRequirement::new("key", no_scopes)]);
    }
}

/// Returns the description without routes.
pub(crate) fn base() -> OpenApi {
    Base::openapi()
}

/// Completes the description and returns it as JSON.
pub(crate) fn finish(api: &OpenApi, limits: &Limits) -> Vec<u8> {
    let mut api = serde_json::to_value(api).unwrap_or_default();
    for (name, schema) in body_schemas(limits) {
        api["components"]["schemas"][name] = schema;
    }
    if let Some(paths) = api["paths"].as_object_mut() {
        for (path, item) in paths {
            for (method, operation) in item.as_object_mut().into_iter().flatten() {
                remove_null_body(operation);
                add_problems(path, method, operation);
            }
        }
    }
    serde_json::to_vec_pretty(&api).unwrap_or_default()
}

/// Removes `null` from the schema of an optional body: the body may be absent, but `null` is rejected.
fn remove_null_body(operation: &mut Value) {
    let content = operation.pointer_mut("/requestBody/content").and_then(Value::as_object_mut);
    for media_type in content.into_iter().flat_map(|content| content.values_mut()) {
        let schema = &mut media_type["schema"];
        let not_null = |choice: &&Value| choice["type"] != "null";
        if let Some(body) = schema["oneOf"].as_array().and_then(|choices| choices.iter().find(not_null)) {
            *schema = body.clone();
        }
    }
}

/// Ends of the paths of requests with a body that change nothing.
const READING_POSTS: [&str; 3] = ["/query", "/compare", "/sketch"];

/// Adds the problems that a route can cause.
fn add_problems(path: &str, method: &str, operation: &mut Value) {
    let mut problems: Vec<(u16, &str)> = vec![
        (400, "The request is malformed"),
        (404, "Not found"),
        (405, "Method not allowed"),
        (406, "Not acceptable: the response has another content type"),
        (408, "The request arrived too slowly"),
        (414, "The URI is too long"),
        (422, "A value is invalid; `errors` lists the faults"),
        (431, "The headers are too large"),
        (500, "Internal error, or a damaged document"),
        (503, "Overloaded, shutting down, read-only, or storage has failed"),
    ];
    if !path.starts_with("/health/") {
        problems.extend([
            (401, "A valid key is required"),
            (403, "The key does not permit this request"),
            (429, "Too many requests"),
        ]);
    }
    if operation.get("requestBody").is_some() {
        problems.extend([(413, "The request is too large"), (415, "Unsupported media type")]);
    }
    let writes = matches!(method, "put" | "patch" | "delete")
        || method == "post" && !READING_POSTS.iter().any(|end| path.ends_with(end));
    if writes {
        problems.extend([(409, "Conflict with stored data"), (507, "Out of disk space")]);
    }
    let responses = &mut operation["responses"];
    for (status, description) in problems {
        let response = &mut responses[status.to_string()];
        if response.is_null() {
            *response = problem_response(status, description);
        }
    }
}

fn problem_response(status: u16, description: &str) -> Value {
    let mut response = json!({
        "description": description,
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    });
    if matches!(status, 429 | 503 | 507) {
        let retry_after =
            json!({"schema": {"type": "integer"}, "description": "Seconds to wait before a retry"});
        response["headers"] = json!({"Retry-After": retry_after});
    }
    response
}
