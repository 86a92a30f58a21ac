//! What is meant must be said, and what is said must be known.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{JSON, Service, article};
use serde_json::{Value, json};

#[test]
fn deleting_says_which_of_two_documents_is_meant() {
    let service = Service::start();
    let store = |id: Value| service.post("/api/v1/copies", json!({"id": id, "text": "some text"})).is(201);
    store(json!(7));
    store(json!("7"));
    let problem = service.delete("/api/v1/copies/7").problem(409);
    assert!(problem["detail"].as_str().unwrap().contains("type=number"), "{problem}");
    service.delete("/api/v1/copies/7?type=number").is(204);
    service.delete("/api/v1/copies/7?type=number").problem(404);
    assert_eq!(service.get("/api/v1/copies/7").is(200).json()["id"], "7");
    store(json!(7));
    service.delete("/api/v1/copies/7?type=text").is(204);
    service.delete("/api/v1/copies/7?type=text").problem(404);
    service.delete("/api/v1/copies/7").is(204);
    service.delete("/api/v1/copies/7").problem(404);
    service.delete("/api/v1/copies/a?type=number").problem(404);
    service.delete("/api/v1/copies/7?type=both").wrong_at("?type", "invalid");
    service.delete("/api/v1/copies/7?kind=text").wrong_at("?kind", "unknown_field");
}

#[test]
fn a_page_elsewhere_can_not_write() {
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
        post(headers).problem(403);
    }
    service.get("/api/v1/copies/1").problem(404);
    post(&[("origin", "http://localhost"), ("sec-fetch-site", "same-origin")]).is(201);
    post(&[]).is(200);
    // Reading harms nobody: without leave from here, a browser does not show the answer to the page.
    service.send("GET", "/api/v1/copies/1", &[("origin", "http://evil.example")], b"").is(200);
}

#[test]
fn where_there_are_keys_a_page_elsewhere_may_use_one() {
    let service = Service::with(|settings| {
        *settings = std::mem::take(settings)
            .with_environment(|name| (name == "SAMEISH_WRITE_KEYS").then(|| "secret".into()))
            .unwrap();
    });
    let headers = [JSON, ("origin", "http://elsewhere.example"), ("authorization", "Bearer secret")];
    service.send("POST", "/api/v1/copies", &headers, br#"{"text":"x"}"#).is(201);
}

#[test]
fn what_is_not_there_goes_before_what_is_accepted() {
    let service = Service::start();
    let html = [("accept", "text/html")];
    service.send("GET", "/nothing", &html, b"").problem(404);
    service.send("PATCH", "/api/v1/articles", &html, b"").problem(405);
    service.send("OPTIONS", "/api/v1/articles", &html, b"").is(204);
    service.send("GET", "/api/v1/articles", &html, b"").problem(406);
    let icon = service.send("GET", "/assets/icon.svg", &[("accept", "image/svg+xml")], b"").is(200);
    assert_eq!(icon.header("content-type"), Some("image/svg+xml"));
    service.send("GET", "/assets/icon.svg", &[("accept", "image/*")], b"").is(200);
    service.send("GET", "/api/v1/stats", &[("accept", "application/json;q=0, */*")], b"").problem(406);
}

#[test]
fn parameters_that_nobody_knows_are_refused_everywhere() {
    let service = Service::start();
    service.post("/api/v1/articles", json!({"id": 1, "text": article(1, 60)})).is(201);
    for path in [
        "/api/v1/articles?x=1",
        "/api/v1/articles/1?x=1",
        "/api/v1/articles/1/similar?x=1",
        "/api/v1/articles/clusters?x=1",
        "/api/v1/articles/clusters/1?x=1",
        "/api/v1/stats?x",
        "/metrics?x=1",
        "/health/live?x=1",
        "/openapi.json?x=1",
    ] {
        service.get(path).wrong_at("?x", "unknown_field");
    }
    let text = json!({"text": "some text"});
    for path in ["/api/v1/articles?x=1", "/api/v1/articles/query?x=1", "/api/v1/compare?x=1"] {
        service.post(path, &text).wrong_at("?x", "unknown_field");
    }
    service.put("/api/v1/articles/2?x=1", &text).wrong_at("?x", "unknown_field");
    service.get("/api/v1/articles/2").problem(404);
    service.get("/nothing?x=1").problem(404);
    service.get("/metrics?").is(200);
}

#[test]
fn a_cluster_has_one_name() {
    let service = Service::start();
    for id in [1, 2] {
        service.post("/api/v1/articles", json!({"id": id, "text": article(1, 60)})).is(201);
    }
    let clusters = service.get("/api/v1/articles/clusters").is(200).json();
    let id = clusters["clusters"][0]["id"].as_u64().unwrap();
    service.get(&format!("/api/v1/articles/clusters/{id}")).is(200);
    for name in [format!("+{id}"), format!("00{id}"), format!("%20{id}")] {
        service.get(&format!("/api/v1/articles/clusters/{name}")).problem(404);
    }
}

#[test]
fn the_settings_of_a_collection_are_shown_as_they_are_given() {
    let service = Service::start();
    let settings = json!({"preset": "headlines", "overrides": {"matching": {"threshold": 0.6}, "text": {"min_words": 3}}});
    service.put("/api/v1/mine", &settings).is(201);
    let shown = service.get("/api/v1/mine").is(200).json();
    assert_eq!(shown["overrides"], settings["overrides"]);
    service.put("/api/v1/mine", json!({"preset": shown["preset"], "overrides": shown["overrides"]})).is(200);
    assert_eq!(service.get("/api/v1/articles").is(200).json()["overrides"], json!({}));
    service
        .put("/api/v1/large", json!({"overrides": {"matching": {"limit": 1001}}}))
        .wrong_at("/overrides", "out_of_range");
    service.put("/api/v1/large", json!({"overrides": {"matching": {"limit": 1000}}})).is(201);
}

#[test]
fn a_body_that_may_be_left_out_is_not_described_as_null() {
    let service = Service::start();
    let api = service.get("/openapi.json").is(200).json();
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
    service.send("POST", "/api/v1/snapshot", &[JSON], b"null").problem(422);
    service.put("/api/v1/mine", "null").problem(422);
    service.send("PUT", "/api/v1/mine", &[], b"").is(201);
}

#[test]
fn a_service_that_only_reads_says_when_to_come_back() {
    let service = Service::over(Service::start().stop(), |settings| settings.read_only = true);
    let refused = service.post("/api/v1/copies", json!({"text": "x"}));
    assert_eq!(refused.header("retry-after"), Some("60"));
    refused.problem(503);
}
