//! Authentication on every route of the description.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{JSON, Response, Service, request};
use sameish_server::{KeySetting, Scope};
use serde_json::{Value, json};
use std::io::{BufReader, Write};

const READ: &str = "read-key-0123456789";
const WRITE: &str = "write-key-0123456789";
const ADMIN: &str = "admin-key-0123456789";

fn service() -> Service {
    Service::with(|settings| {
        let key = |key: &str, scope| KeySetting { name: None, key: Some(key.into()), sha256: None, scope };
        settings.keys = vec![key(READ, Scope::Read), key(WRITE, Scope::Write), key(ADMIN, Scope::Admin)];
    })
}

fn with(service: &Service, method: &str, path: &str, values: &[&str]) -> Response {
    let mut headers = vec![JSON];
    headers.extend(values.iter().map(|value| ("authorization", *value)));
    let body: &[u8] = if matches!(method, "POST" | "PUT" | "PATCH") { b"{}" } else { b"" };
    service.send(method, path, &headers, body)
}

/// Returns every method and path of the description, with values for the path parameters.
fn routes(service: &Service) -> Vec<(String, String)> {
    let api: Value = with(service, "GET", "/openapi.json", &[&format!("Bearer {READ}")]).expect(200).json();
    let mut routes = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        let path = path.replace("{collection}", "articles").replace("{id}", "1").replace("{cluster}", "1");
        routes.extend(item.as_object().unwrap().keys().map(|method| (method.to_uppercase(), path.clone())));
    }
    assert!(routes.len() >= 17, "{routes:?}");
    routes
}

#[test]
fn every_route_except_health_requires_a_key() {
    let service = service();
    let long = format!("Bearer {}", "x".repeat(10_000));
    let twice = format!("Bearer {WRITE}");
    for (method, path) in routes(&service) {
        if path.starts_with("/health/") {
            with(&service, &method, &path, &[]).expect(200);
            continue;
        }
        for values in
            [&[][..], &["Bearer wrong"], &["Bearer "], &["Basic abc"], &[WRITE], &[&twice, &twice], &[&long]]
        {
            let response = with(&service, &method, &path, values);
            assert!(
                response.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")),
                "{method} {path}"
            );
            response.expect_problem(401);
        }
        with(&service, &method, &format!("{path}?key={WRITE}&api_key={WRITE}"), &[]).expect_problem(401);
    }
}

#[test]
fn read_keys_read_write_keys_change_documents_and_admin_keys_change_collections() {
    let service = service();
    for (method, path) in routes(&service) {
        let only_reads =
            method == "GET" || ["/query", "/compare", "/sketch"].iter().any(|end| path.ends_with(end));
        let is_admin =
            path.ends_with("/snapshot") || path == "/api/v1/articles" && !matches!(&*method, "GET" | "POST");
        let reader = with(&service, &method, &path, &[&format!("Bearer {READ}")]);
        if only_reads {
            assert!(!matches!(reader.status, 401 | 403), "{method} {path}: {}", reader.status);
        } else {
            reader.expect_problem(403);
        }
        let writer = with(&service, &method, &path, &[&format!("Bearer {WRITE}")]);
        if is_admin {
            writer.expect_problem(403);
        } else {
            assert!(!matches!(writer.status, 401 | 403), "{method} {path}: {}", writer.status);
        }
        let admin = with(&service, &method, &path, &[&format!("Bearer {ADMIN}")]);
        assert!(!matches!(admin.status, 401 | 403), "{method} {path}: {}", admin.status);
    }
}

#[test]
fn rejects_a_missing_key_before_reading_the_body() {
    let service = service();
    let mut stream = service.connect();
    let whole = request("POST", "/api/v1/articles", &[JSON], &vec![b' '; 100_000]);
    let head = whole.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    stream.write_all(&whole[..head]).unwrap();
    common::read_response(&mut BufReader::new(stream), false).expect_problem(401);
}

#[test]
fn unknown_paths_require_a_key() {
    let service = service();
    for path in ["/nothing", "/api/v1/absent/1", "/api/v1/articles/1"] {
        with(&service, "GET", path, &[]).expect_problem(401);
        with(&service, "GET", path, &[&format!("Bearer {READ}")]).expect_problem(404);
    }
}

#[test]
fn limits_the_rate_of_each_key_separately() {
    let service = Service::with(|settings| {
        let key =
            |key: &str| KeySetting { name: None, key: Some(key.into()), sha256: None, scope: Scope::Read };
        settings.keys = vec![key("fast"), key("slow")];
        settings.limits.key_rate = 1;
        settings.limits.key_burst = 20;
    });
    let statuses: Vec<Response> =
        (0..40).map(|_| with(&service, "GET", "/api/v1/stats", &["Bearer fast"])).collect();
    assert_eq!(statuses[0].status, 200);
    let last = statuses.into_iter().last().unwrap();
    assert!(last.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    last.expect_problem(429);
    with(&service, "GET", "/api/v1/stats", &["Bearer slow"]).expect(200);
}

#[test]
fn has_no_rate_limit_without_keys() {
    let service = Service::with(|settings| settings.limits.key_burst = 1);
    for _ in 0..10 {
        service.get("/api/v1/stats").expect(200);
    }
    service.post("/api/v1/copies", json!({"text": "open on loopback"})).expect(201);
}
