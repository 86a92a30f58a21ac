//! Strictness: ambiguous requests and unknown parameters are rejected.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{JSON, Service, article};
use serde_json::{Value, json};

#[test]
fn delete_requires_a_type_if_two_documents_match() {
    let service = Service::start();
    let store =
        |id: Value| service.post("/api/v1/copies", json!({"id": id, "text": "some text"})).expect(201);
    store(json!(7));
    store(json!("7"));
    let problem = service.delete("/api/v1/copies/7").expect_problem(409);
    assert!(problem["detail"].as_str().unwrap().contains("type=number"), "{problem}");
    service.delete("/api/v1/copies/7?type=number").expect(204);
    service.delete("/api/v1/copies/7?type=number").expect_problem(404);
    assert_eq!(service.get("/api/v1/copies/7").expect(200).json()["id"], "7");
    store(json!(7));
    service.delete("/api/v1/copies/7?type=text").expect(204);
    service.delete("/api/v1/copies/7?type=text").expect_problem(404);
    service.delete("/api/v1/copies/7").expect(204);
    service.delete("/api/v1/copies/7").expect_problem(404);
    service.delete("/api/v1/copies/a?type=number").expect_problem(404);
    service.delete("/api/v1/copies/7?type=both").expect_fault("?type", "invalid");
    service.delete("/api/v1/copies/7?kind=text").expect_fault("?kind", "unknown_field");
}

#[test]
fn pages_of_other_origins_cannot_write_without_keys() {
    let service = Service::start();
    let body = json!({"id": 1, "text": "from a page"}).to_string();
    let post = |headers: &[(&str, &str)]| {
        service.send("POST", "/api/v1/copies", &[&[JSON], headers].concat(), body.as_bytes())
    };
    for headers in [
        &[("origin", "http://evil.example")][..],
        &[("origin", "http://localhost:3000")],
        &[("origin", "null")],
        &[("origin", "localhost")],
        &[("sec-fetch-site", "cross-site")],
        &[("origin", "http://localhost"), ("sec-fetch-site", "cross-site")],
    ] {
        post(headers).expect_problem(403);
    }
    service.get("/api/v1/copies/1").expect_problem(404);
    post(&[("origin", "http://localhost"), ("sec-fetch-site", "same-origin")]).expect(201);
    post(&[]).expect(200);
    // Reads are permitted: without CORS headers a browser does not show the response to the page.
    service.send("GET", "/api/v1/copies/1", &[("origin", "http://evil.example")], b"").expect(200);
}

#[test]
fn pages_of_other_origins_can_write_with_a_key() {
    let service = Service::with(|settings| {
        *settings = std::mem::take(settings)
            .with_environment(|name| (name == "SAMEISH_WRITE_KEYS").then(|| "secret".into()))
            .unwrap();
    });
    let headers = [JSON, ("origin", "http://other.example"), ("authorization", "Bearer secret")];
    service.send("POST", "/api/v1/copies", &headers, br#"{"text":"x"}"#).expect(201);
}

#[test]
fn unknown_paths_take_precedence_over_accept() {
    let service = Service::start();
    let html = [("accept", "text/html")];
    service.send("GET", "/nothing", &html, b"").expect_problem(404);
    service.send("BREW", "/api/v1/articles", &html, b"").expect_problem(405);
    service.send("OPTIONS", "/api/v1/articles", &html, b"").expect(204);
    service.send("GET", "/api/v1/articles", &html, b"").expect_problem(406);
    let icon = service.send("GET", "/assets/icon.svg", &[("accept", "image/svg+xml")], b"").expect(200);
    assert_eq!(icon.header("content-type"), Some("image/svg+xml"));
    service.send("GET", "/assets/icon.svg", &[("accept", "image/*")], b"").expect(200);
    service.send("GET", "/api/v1/stats", &[("accept", "application/json;q=0, */*")], b"").expect_problem(406);
}

#[test]
fn every_route_rejects_unknown_parameters() {
    let service = Service::start();
    service.post("/api/v1/articles", json!({"id": 1, "text": article(1, 60)})).expect(201);
    for path in [
        "/api/v1?x=1",
        "/api/v1/articles?x=1",
        "/api/v1/articles/documents?x=1",
        "/api/v1/articles/1?x=1",
        "/api/v1/articles/1/similar?x=1",
        "/api/v1/articles/clusters?x=1",
        "/api/v1/articles/clusters/1?x=1",
        "/api/v1/stats?x",
        "/metrics?x=1",
        "/health/live?x=1",
        "/openapi.json?x=1",
    ] {
        service.get(path).expect_fault("?x", "unknown_field");
    }
    let text = json!({"text": "some text"});
    for path in ["/api/v1/articles?x=1", "/api/v1/articles/query?x=1", "/api/v1/compare?x=1"] {
        service.post(path, &text).expect_fault("?x", "unknown_field");
    }
    service.put("/api/v1/articles/2?x=1", &text).expect_fault("?x", "unknown_field");
    service.get("/api/v1/articles/2").expect_problem(404);
    service.get("/nothing?x=1").expect_problem(404);
    service.get("/metrics?").expect(200);
}

#[test]
fn cluster_ids_are_canonical() {
    let service = Service::start();
    for id in [1, 2] {
        service.post("/api/v1/articles", json!({"id": id, "text": article(1, 60)})).expect(201);
    }
    let clusters = service.get("/api/v1/articles/clusters").expect(200).json();
    let id = clusters["clusters"][0]["id"].as_u64().unwrap();
    service.get(&format!("/api/v1/articles/clusters/{id}")).expect(200);
    for name in [format!("+{id}"), format!("00{id}"), format!("%20{id}")] {
        service.get(&format!("/api/v1/articles/clusters/{name}")).expect_problem(404);
    }
}

#[test]
fn returns_collection_settings_as_given() {
    let service = Service::start();
    let settings = json!({"preset": "headlines", "overrides": {"matching": {"threshold": 0.6}, "text": {"min_words": 3}}});
    service.put("/api/v1/mine", &settings).expect(201);
    let shown = service.get("/api/v1/mine").expect(200).json();
    assert_eq!(shown["overrides"], settings["overrides"]);
    service
        .put("/api/v1/mine", json!({"preset": shown["preset"], "overrides": shown["overrides"]}))
        .expect(200);
    assert_eq!(service.get("/api/v1/articles").expect(200).json()["overrides"], json!({}));
    service
        .put("/api/v1/large", json!({"overrides": {"matching": {"limit": 1001}}}))
        .expect_fault("/overrides", "out_of_range");
    service.put("/api/v1/large", json!({"overrides": {"matching": {"limit": 1000}}})).expect(201);
}

#[test]
fn optional_bodies_are_not_described_as_nullable() {
    let service = Service::start();
    let api = service.get("/openapi.json").expect(200).json();
    let mut optional = 0;
    for operation in
        api["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values())
    {
        let Some(body) = operation.get("requestBody") else { continue };
        optional += usize::from(body["required"] != true);
        for kind in body["content"].as_object().unwrap().values() {
            assert!(!kind["schema"].to_string().contains("null"), "{body}");
        }
    }
    assert_eq!(optional, 2);
    service.send("POST", "/api/v1/snapshot", &[JSON], b"null").expect_problem(422);
    service.put("/api/v1/mine", "null").expect_problem(422);
    service.send("PUT", "/api/v1/mine", &[], b"").expect(201);
}

#[test]
fn a_read_only_service_sends_retry_after() {
    let service = Service::with_data(Service::start().stop(), |settings| settings.read_only = true);
    let rejected = service.post("/api/v1/copies", json!({"text": "x"}));
    assert_eq!(rejected.header("retry-after"), Some("60"));
    rejected.expect_problem(503);
}
