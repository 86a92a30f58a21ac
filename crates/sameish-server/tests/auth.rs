//! Keys, on every route that the description names.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{Answer, JSON, Service, request};
use sameish_server::{KeySetting, Scope};
use serde_json::{Value, json};
use std::io::{BufReader, Write};

const READ: &str = "read-key-0123456789";
const WRITE: &str = "write-key-0123456789";

fn service() -> Service {
    Service::with(|settings| {
        let key = |key: &str, scope| KeySetting { name: None, key: Some(key.into()), sha256: None, scope };
        settings.keys = vec![key(READ, Scope::Read), key(WRITE, Scope::Write)];
    })
}

fn with(service: &Service, method: &str, path: &str, values: &[&str]) -> Answer {
    let mut headers = vec![JSON];
    headers.extend(values.iter().map(|value| ("authorization", *value)));
    let body: &[u8] = if matches!(method, "POST" | "PUT") { b"{}" } else { b"" };
    service.send(method, path, &headers, body)
}

/// Every method and path, with names in place of the parameters.
fn routes(service: &Service) -> Vec<(String, String)> {
    let api: Value = with(service, "GET", "/openapi.json", &[&format!("Bearer {READ}")]).is(200).json();
    let mut routes = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        let path = path.replace("{collection}", "articles").replace("{id}", "1").replace("{cluster}", "1");
        routes.extend(item.as_object().unwrap().keys().map(|method| (method.to_uppercase(), path.clone())));
    }
    assert!(routes.len() >= 17, "{routes:?}");
    routes
}

#[test]
fn no_route_but_health_is_open() {
    let service = service();
    let long = format!("Bearer {}", "x".repeat(10_000));
    let twice = format!("Bearer {WRITE}");
    for (method, path) in routes(&service) {
        if path.starts_with("/health/") {
            with(&service, &method, &path, &[]).is(200);
            continue;
        }
        for values in
            [&[][..], &["Bearer wrong"], &["Bearer "], &["Basic abc"], &[WRITE], &[&twice, &twice], &[&long]]
        {
            let answer = with(&service, &method, &path, values);
            assert!(
                answer.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")),
                "{method} {path}"
            );
            answer.problem(401);
        }
        with(&service, &method, &format!("{path}?key={WRITE}&api_key={WRITE}"), &[]).problem(401);
    }
}

#[test]
fn a_reading_key_reads_and_a_writing_key_does_all() {
    let service = service();
    for (method, path) in routes(&service) {
        let asks = method == "POST" && (path.ends_with("/query") || path.ends_with("/compare"));
        let reader = with(&service, &method, &path, &[&format!("Bearer {READ}")]);
        match method == "GET" || asks {
            true => assert!(!matches!(reader.status, 401 | 403), "{method} {path}: {}", reader.status),
            false => drop(reader.problem(403)),
        }
        let writer = with(&service, &method, &path, &[&format!("Bearer {WRITE}")]);
        assert!(!matches!(writer.status, 401 | 403), "{method} {path}: {}", writer.status);
    }
}

#[test]
fn the_answer_comes_before_the_body() {
    let service = service();
    let mut stream = service.connect();
    let whole = request("POST", "/api/v1/articles", &[JSON], &vec![b' '; 100_000]);
    let head = whole.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    stream.write_all(&whole[..head]).unwrap();
    common::read_answer(&mut BufReader::new(stream), false).problem(401);
}

#[test]
fn unknown_paths_tell_nothing_without_a_key() {
    let service = service();
    for path in ["/nothing", "/api/v1/absent/1", "/api/v1/articles/1"] {
        with(&service, "GET", path, &[]).problem(401);
        with(&service, "GET", path, &[&format!("Bearer {READ}")]).problem(404);
    }
}

#[test]
fn a_key_has_its_pace_and_others_their_own() {
    let service = Service::with(|settings| {
        let key =
            |key: &str| KeySetting { name: None, key: Some(key.into()), sha256: None, scope: Scope::Read };
        settings.keys = vec![key("hasty"), key("calm")];
        settings.limits.key_rate = 1;
        settings.limits.key_burst = 20;
    });
    let statuses: Vec<Answer> =
        (0..40).map(|_| with(&service, "GET", "/api/v1/stats", &["Bearer hasty"])).collect();
    assert_eq!(statuses[0].status, 200);
    let last = statuses.into_iter().last().unwrap();
    assert!(last.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    last.problem(429);
    with(&service, "GET", "/api/v1/stats", &["Bearer calm"]).is(200);
}

#[test]
fn without_keys_there_is_no_pace() {
    let service = Service::with(|settings| settings.limits.key_burst = 1);
    for _ in 0..10 {
        service.get("/api/v1/stats").is(200);
    }
    service.post("/api/v1/copies", json!({"text": "open on loopback"})).is(201);
}
