//! Limits on what one client can use, and what remains for others.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{JSON, Response, Service, article, gzip, read_response, request};
use sameish_server::{KeySetting, Scope};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LINES: (&str, &str) = ("content-type", "application/x-ndjson");

/// Waits until a condition holds.
#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what}: did not happen");
}

#[test]
fn large_responses_use_memory_budget_until_they_are_sent() {
    let service = Service::with(|settings| {
        settings.limits.body_bytes = 1 << 20;
        settings.limits.buffered_bytes = 3 << 19;
    });
    service.post("/api/v1/copies", json!({"id": 1, "text": "x".repeat((1 << 20) - 100)})).expect(201);
    service.post("/api/v1/copies", json!({"id": 2, "text": "small"})).expect(201);
    service.get("/api/v1/copies/1").expect(200);
    let mut stalled = service.connect();
    let requests = "GET /api/v1/copies/1 HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(100);
    stalled.write_all(requests.as_bytes()).unwrap();
    let mut rejected = None;
    wait_until("a rejected response", || {
        let response = service.get("/api/v1/copies/1");
        rejected = (response.status != 200).then_some(response);
        rejected.is_some()
    });
    let rejected = rejected.unwrap();
    assert_eq!(rejected.header("retry-after"), Some("1"));
    assert_eq!(rejected.expect_problem(503)["type"], "urn:sameish:problem:busy");
    service.get("/api/v1/copies/2").expect(200);
    drop(stalled);
    wait_until("released memory budget", || service.get("/api/v1/copies/1").status == 200);
}

#[test]
fn limits_the_passages_of_a_response() {
    let service = Service::start();
    // 1,200 common sentences, separated by different words.
    let text = |other: u64| -> String {
        (0..1_200).map(|i| format!("{} {} ", article(i, 40), article(100_000 * other + i, 1))).collect()
    };
    let (a, b) = (text(1), text(2));
    let response = service.post("/api/v1/compare", json!({"a": a, "b": b})).expect(200).json();
    assert_eq!(response["passages"].as_array().unwrap().len(), 1_000);
    assert_eq!(response["capped"], true);
    let few =
        service.post("/api/v1/compare", json!({"a": article(1, 60), "b": article(1, 60)})).expect(200).json();
    assert_eq!((few["passages"].as_array().unwrap().len(), &few["capped"]), (1, &json!(false)));
    service.post("/api/v1/articles", json!({"id": 1, "text": a})).expect(201);
    let query = json!({"text": b, "evidence": true});
    let found = service.post("/api/v1/articles/query", query).expect(200).json();
    let evidence = &found["similar"][0]["evidence"];
    assert_eq!(evidence["passages"].as_array().unwrap().len(), 1_000);
    assert_eq!(evidence["capped"], true);
}

/// The page needs only the places of the passages in a document that it has already.
#[test]
fn evidence_can_be_limited_to_offsets() {
    let service = Service::start();
    let text = article(1, 400);
    service.post("/api/v1/articles", json!({"id": 1, "text": text})).expect(201);
    service.post("/api/v1/articles", json!({"id": 2, "text": format!("before {text}")})).expect(201);
    let found = |query: &str| service.get(&format!("/api/v1/articles/1/similar?{query}")).expect(200).json();
    let full = found("evidence=true")["similar"][0]["evidence"].clone();
    let offsets = found("evidence=offsets")["similar"][0]["evidence"].clone();
    let mut expected = full.clone();
    expected.as_object_mut().unwrap().remove("differences").unwrap();
    for passage in expected["passages"].as_array_mut().unwrap() {
        let text = passage.as_object_mut().unwrap().remove("text").unwrap();
        assert!(text.as_str().unwrap().len() > 1_000);
    }
    assert_eq!(offsets, expected);
    let posted = json!({"text": text, "evidence": "offsets"});
    let posted = service.post("/api/v1/articles/query", posted).expect(200).json();
    assert!(posted["similar"][0]["evidence"]["passages"][0].get("text").is_none());
    service.get("/api/v1/articles/1/similar?evidence=text").expect_fault("?evidence", "out_of_range");
    let unknown = json!({"text": text, "evidence": "texts"});
    service.post("/api/v1/articles/query", unknown).expect_fault("/evidence", "wrong_type");
}

#[test]
fn lowers_the_limit_with_evidence() {
    let service = Service::start();
    let lines: String =
        (0..150).map(|id| format!("{}\n", json!({"id": id, "text": article(1, 80)}))).collect();
    service.bulk("/api/v1/articles/bulk", &lines);
    let matches = |query: &str| {
        let found = service.get(&format!("/api/v1/articles/1/similar?{query}")).expect(200).json();
        found["similar"].as_array().unwrap().len()
    };
    assert_eq!(matches("limit=1000"), 149);
    assert_eq!(matches("limit=1000&evidence=true"), 100);
    assert_eq!(matches("evidence=true"), 10);
}

/// Starts a service with two keys, two concurrent requests and two concurrent bulk requests.
fn with_two_keys() -> Service {
    Service::with(|settings| {
        let key =
            |key: &str| KeySetting { name: None, key: Some(key.into()), sha256: None, scope: Scope::Write };
        settings.keys = vec![key("busy"), key("other")];
        settings.limits.in_flight = 2;
        settings.limits.queue = 2;
        settings.limits.bulk_requests = 2;
    })
}

fn send(service: &Service, key: &str, method: &str, path: &str, body: &[u8]) -> Response {
    let kind = if path.ends_with("/bulk") { LINES } else { JSON };
    service.send(method, path, &[kind, ("authorization", &format!("Bearer {key}"))], body)
}

#[test]
fn expensive_requests_of_one_key_leave_capacity_for_another() {
    let service = with_two_keys();
    let heavy = json!({"a": article(1, 25_000), "b": article(2, 25_000)}).to_string();
    let done = AtomicBool::new(false);
    let of_busy: Vec<u16> = std::thread::scope(|scope| {
        let flood = || {
            let mut statuses = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let response = send(&service, "busy", "POST", "/api/v1/compare", heavy.as_bytes());
                assert_eq!(response.status == 200, response.header("retry-after").is_none());
                statuses.push(response.status);
            }
            statuses
        };
        let flooding: Vec<_> = (0..8).map(|_| scope.spawn(flood)).collect();
        let of_other: Vec<u16> = (0..50)
            .map(|_| send(&service, "other", "GET", "/api/v1/articles/clusters", b"").status)
            .collect();
        done.store(true, Ordering::Relaxed);
        assert_eq!(of_other, [200; 50]);
        flooding.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(of_busy.contains(&200) && of_busy.contains(&429), "{of_busy:?}");
    assert!(of_busy.iter().all(|status| matches!(status, 200 | 429)), "{of_busy:?}");
}

#[test]
fn limits_a_key_to_half_of_the_bulk_requests() {
    let service = with_two_keys();
    let mut open = service.connect();
    let line = "{\"id\":1,\"text\":\"a first line\"}\n";
    let head = format!(
        "POST /api/v1/copies/bulk HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer busy\r\n\
         content-type: application/x-ndjson\r\ncontent-length: 1000\r\n\r\n{line}"
    );
    open.write_all(head.as_bytes()).unwrap();
    let mut reader = BufReader::new(open.try_clone().unwrap());
    reader.read_line(&mut String::new()).unwrap();
    let second = send(&service, "busy", "POST", "/api/v1/copies/bulk", line.as_bytes());
    assert_eq!(second.header("retry-after"), Some("1"));
    second.expect_problem(429);
    send(&service, "other", "POST", "/api/v1/copies/bulk", line.as_bytes()).expect(200);
}

#[test]
fn blank_lines_count_as_lines() {
    let service = Service::with(|settings| settings.limits.bulk_documents = 10);
    let line = |id: u32| format!("{}\n", json!({"id": id, "text": "some text"}));
    let responses = service.bulk("/api/v1/copies/bulk", &format!("{}{}", "\n".repeat(9), line(1)));
    assert_eq!(
        (responses.len(), &responses[0]["line"], &responses[0]["http_status"]),
        (1, &json!(10), &json!(201))
    );
    let responses = service.bulk("/api/v1/copies/bulk", &format!("{}{}{}", line(2), "\n".repeat(9), line(3)));
    let statuses: Vec<_> = responses
        .iter()
        .map(|response| (response["line"].as_u64(), response["http_status"].as_u64()))
        .collect();
    assert_eq!(statuses, [(Some(1), Some(201)), (Some(11), Some(413))]);
}

#[test]
fn decompressed_lines_use_memory_budget() {
    let service = Service::with(|settings| {
        settings.limits.body_bytes = 1 << 20;
        settings.limits.line_bytes = 8 << 20;
        settings.limits.buffered_bytes = 2 << 20;
    });
    // One line of 6 MiB: within the limit on lines, beyond the memory budget.
    let headers = [LINES, ("content-encoding", "gzip")];
    let mut long = gzip(format!("{}\n", json!({"text": " ".repeat(6 << 20)})).as_bytes());
    // The checksum is wrong, but the budget is exhausted before the end is reached.
    *long.last_mut().unwrap() ^= 1;
    let responses = service.send("POST", "/api/v1/copies/bulk", &headers, &long).expect(200).text();
    let last: Value = serde_json::from_str(responses.lines().last().unwrap()).unwrap();
    assert_eq!(last["http_status"], 503, "{last}");
    // Lines that decompress to ten times the budget are stored as they arrive.
    let many: String =
        (0..5_000).map(|id| format!("{}\n", json!({"id": id, "text": "word ".repeat(800)}))).collect();
    let responses =
        service.send("POST", "/api/v1/copies/bulk", &headers, &gzip(many.as_bytes())).expect(200).text();
    assert_eq!(responses.lines().count(), 5_000);
    assert!(
        !responses.contains("rejected"),
        "{}",
        responses.lines().find(|line| line.contains("rejected")).unwrap()
    );
    wait_until("released memory budget", || {
        service.get("/metrics").text().contains("sameish_body_bytes 0\n")
    });
}

#[test]
fn an_incomplete_line_uses_memory_budget() {
    let service = Service::start();
    let mut compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    compressed.write_all(&vec![b' '; 1_500_000]).unwrap();
    compressed.flush().unwrap();
    let mut stream = service.connect();
    let head = "POST /api/v1/copies/bulk HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n\
                content-encoding: gzip\r\ncontent-length: 100000\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(compressed.get_ref()).unwrap();
    // Everything except what the decompressor still buffers.
    wait_until("reserved memory budget", || body_bytes(&service) > 1_000_000);
    drop(stream);
    wait_until("released memory budget", || {
        service.get("/metrics").text().contains("sameish_body_bytes 0\n")
    });
}

#[test]
fn limits_the_duration_of_a_bulk_request() {
    let service = Service::with(|settings| settings.limits.bulk_seconds = 1);
    let mut stream = service.connect();
    stream
        .write_all(
            b"POST /api/v1/copies/bulk HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n\
              content-length: 1000000\r\n\r\n{\"id\":1,\"text\":\"a first line\"}\n",
        )
        .unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let sender = std::thread::spawn(move || {
        // Fast enough for the minimum rate, but endless.
        for _ in 0..80 {
            _ = stream.write_all(&[b' '; 2_000]);
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let text = read_response(&mut reader, false).expect(200).text();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["http_status"], &lines[1]["http_status"]), (&json!(201), &json!(408)));
    sender.join().unwrap();
}

#[test]
fn shutdown_ends_a_running_bulk_request() {
    let service = Service::start();
    let mut stream = service.connect();
    stream
        .write_all(
            b"POST /api/v1/copies/bulk HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n\
              content-length: 1000\r\n\r\n{\"id\":1,\"text\":\"a first line\"}\n{\"id\":2,\"te",
        )
        .unwrap();
    wait_until("stored first line", || service.get("/api/v1/copies/1").status == 200);
    service.start_shutdown();
    let text = read_response(&mut BufReader::new(stream), false).expect(200).text();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["line"], &lines[0]["http_status"]), (&json!(1), &json!(201)));
    assert_eq!((&lines[1]["line"], &lines[1]["http_status"]), (&json!(2), &json!(503)));
    assert_eq!(lines.len(), 2);
    let service = Service::with_data(service.stop(), |_| {});
    service.get("/api/v1/copies/1").expect(200);
    service.get("/api/v1/copies/2").expect_problem(404);
}

#[test]
fn decompressed_bodies_use_memory_budget() {
    let service = Service::with(|settings| {
        settings.limits.body_bytes = 1 << 20;
        settings.limits.buffered_bytes = 1 << 20;
    });
    let _stalled = stalled_body(&service, "", 64 << 10);
    wait_until("reserved memory budget", || body_bytes(&service) > 40_000);
    let headers = [JSON, ("content-encoding", "gzip")];
    let compressed = |bytes: usize| gzip(json!({"text": "x".repeat(bytes)}).to_string().as_bytes());
    // The checksum is wrong, but the budget is exhausted before the end is reached.
    let mut broken = compressed((1 << 20) - 100);
    *broken.last_mut().unwrap() ^= 1;
    service.send("POST", "/api/v1/copies", &headers, &broken).expect_problem(503);
    service.send("POST", "/api/v1/copies", &headers, &compressed(1 << 19)).expect(201);
}

#[test]
fn closes_a_new_connection_if_all_are_busy() {
    let service = Service::with(|settings| settings.limits.connections = 2);
    let whole = request("POST", "/api/v1/copies", &[JSON], br#"{"id":1,"text":"in two parts"}"#);
    let busy: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = service.connect();
            stream.write_all(&whole[..whole.len() - 5]).unwrap();
            // Time for the service to read the head, after which the connection is busy.
            std::thread::sleep(Duration::from_millis(200));
            stream
        })
        .collect();
    let mut rejected = service.connect();
    _ = rejected.write_all(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(rejected.read(&mut [0; 16]).unwrap_or(0), 0);
    for (mut stream, status) in busy.into_iter().zip([201, 200]) {
        stream.write_all(&whole[whole.len() - 5..]).unwrap();
        read_response(&mut BufReader::new(stream), false).expect(status);
    }
    wait_until("capacity for a connection", || service.get("/health/live").status == 200);
}

/// Starts a service whose collection `wide` lists up to 1,000 duplicates of an insertion, and stores `copies` documents with the
/// same text and long ids in it.
fn with_long_duplicates(copies: usize, adjust: impl FnOnce(&mut sameish_server::Settings)) -> Service {
    let service = Service::with(adjust);
    service
        .put("/api/v1/wide", json!({"preset": "copies", "overrides": {"matching": {"limit": 1000}}}))
        .expect(201);
    let lines: String = (0..copies)
        .map(|i| format!("{}\n", json!({"id": format!("{i}-{}", "x".repeat(500)), "text": article(1, 80)})))
        .collect();
    let responses = service.bulk("/api/v1/wide/bulk", &lines);
    assert!(responses.iter().all(|response| response["http_status"] == 201));
    service
}

fn documents(service: &Service, collection: &str) -> u64 {
    service.get(&format!("/api/v1/{collection}")).expect(200).json()["documents"].as_u64().unwrap()
}

fn body_bytes(service: &Service) -> u64 {
    body_bytes_in(&service.get("/metrics").text())
}

fn body_bytes_in(metrics: &str) -> u64 {
    metrics.lines().find_map(|line| line.strip_prefix("sameish_body_bytes ")).unwrap().parse().unwrap()
}

/// Sends a request and all but the end of its body of `length` bytes.
fn stalled_body(service: &Service, headers: &str, length: usize) -> std::net::TcpStream {
    let mut stream = service.connect();
    let head = format!(
        "POST /api/v1/copies HTTP/1.1\r\nhost: localhost\r\n{headers}content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The service may reject the request before it has read everything.
    _ = stream.write_all(&vec![b' '; length - 10]);
    stream
}

#[test]
fn a_document_is_not_stored_if_there_is_no_memory_for_the_response() {
    let service = with_long_duplicates(200, |settings| {
        settings.limits.body_bytes = 1 << 20;
        settings.limits.buffered_bytes = 1 << 20;
    });
    let document = json!({"text": article(1, 80)});
    let inserted = service.post("/api/v1/wide", document.clone()).expect(201);
    assert!(inserted.body.len() > 100_000, "{} bytes", inserted.body.len());
    assert_eq!(documents(&service, "wide"), 201);
    let stalled = stalled_body(&service, "", 950_000);
    wait_until("reserved memory budget", || body_bytes(&service) > 930_000);
    let rejected = service.post("/api/v1/wide", document.clone());
    assert_eq!(rejected.header("retry-after"), Some("1"));
    rejected.expect_problem(503);
    let line = format!("{document}\n");
    let responses = service.bulk("/api/v1/wide/bulk", &line);
    assert_eq!((responses.len(), &responses[0]["http_status"]), (1, &json!(503)));
    // A retry of a rejected request stores the document once.
    assert_eq!(documents(&service, "wide"), 201);
    drop(stalled);
    wait_until("released memory budget", || service.post("/api/v1/wide", document.clone()).status == 201);
    assert_eq!(documents(&service, "wide"), 202);
}

#[test]
fn stalled_bodies_of_one_key_leave_memory_for_another() {
    let service = Service::with(|settings| {
        let key =
            |key: &str| KeySetting { name: None, key: Some(key.into()), sha256: None, scope: Scope::Write };
        settings.keys = vec![key("busy"), key("other")];
        settings.limits.body_bytes = 1 << 20;
        settings.limits.buffered_bytes = 2 << 20;
    });
    let document = |id: u32| json!({"id": id, "text": "x ".repeat(250_000)}).to_string();
    let authorization = "authorization: Bearer busy\r\n";
    let _first = stalled_body(&service, authorization, 900_000);
    // Memory is reserved as a body arrives, so the second request must not start before the service has read the first one.
    wait_until("reserved memory budget", || {
        body_bytes_in(&send(&service, "other", "GET", "/metrics", b"").text()) > 880_000
    });
    // Together they would use the whole budget.
    let second = stalled_body(&service, authorization, 900_000);
    let rejected = read_response(&mut BufReader::new(second), false);
    assert_eq!(rejected.header("retry-after"), Some("1"));
    rejected.expect_problem(429);
    for id in 2..5 {
        send(&service, "other", "POST", "/api/v1/copies", document(id).as_bytes()).expect(201);
    }
}

#[test]
fn a_response_ends_at_its_maximum_size() {
    let service = Service::with(|settings| settings.limits.response_bytes = 64 << 10);
    let title = "t".repeat(10_000);
    let lines: String = (0..40)
        .map(|id| format!("{}\n", json!({"id": id, "title": title, "text": article(id / 2 % 10, 80)})))
        .collect();
    service.bulk("/api/v1/articles/bulk", &lines);
    let copies: String = (100..120)
        .map(|id| format!("{}\n", json!({"id": id, "title": title, "text": article(1, 80)})))
        .collect();
    service.bulk("/api/v1/articles/bulk", &copies);
    let check = |response: &Response, list: &str, expected: usize| {
        let body = response.json();
        let items = body[list].as_array().unwrap();
        assert_eq!((items.len(), &body["capped"]), (expected, &json!(true)), "{list}");
        assert!(response.body.len() <= (64 << 10) + 200, "{list}: {} bytes", response.body.len());
    };
    check(&service.get("/api/v1/articles/100/similar?limit=1000").expect(200), "similar", 6);
    let query = json!({"text": article(1, 80), "limit": 1000});
    check(&service.post("/api/v1/articles/query", query).expect(200), "similar", 6);
    check(&service.get("/api/v1/articles/clusters").expect(200), "clusters", 6);
    let cluster = service.get("/api/v1/articles/100").expect(200).json()["cluster"].clone();
    check(&service.get(&format!("/api/v1/articles/clusters/{cluster}")).expect(200), "members", 6);
    for (path, list, expected) in [
        ("/api/v1/articles/clusters".to_owned(), "clusters", 10),
        (format!("/api/v1/articles/clusters/{cluster}"), "members", 24),
    ] {
        assert_eq!(follow_pages(&service, &path, list), expected, "{path}");
    }
    // One item is returned whatever its size.
    service
        .post("/api/v1/copies", json!({"id": 1, "title": "t".repeat(65_000), "text": article(1, 80)}))
        .expect(201);
    let found = service.post("/api/v1/copies/query", json!({"text": article(1, 80)})).expect(200).json();
    assert_eq!((found["similar"].as_array().unwrap().len(), &found["capped"]), (1, &json!(false)));
}

/// Returns the number of distinct items on all pages of a list.
fn follow_pages(service: &Service, path: &str, list: &str) -> usize {
    let mut ids = std::collections::BTreeSet::new();
    let mut cursor = String::new();
    for _ in 0..100 {
        let page = service.get(&format!("{path}{cursor}")).expect(200).json();
        for item in page[list].as_array().unwrap() {
            assert!(ids.insert(item["id"].to_string()), "{item} is listed twice");
        }
        match page["next"].as_str() {
            Some(next) => cursor = format!("?cursor={next}"),
            None => return ids.len(),
        }
    }
    panic!("the pages of {path} do not end");
}

#[test]
fn overlapping_passages_do_not_exceed_the_maximum_size() {
    let service = Service::with(|settings| settings.limits.response_bytes = 64 << 10);
    // Periodic texts share long passages at many positions.
    let text = |words: usize, repeats: usize| vec![article(3, words); repeats].join(" ");
    let body = json!({"a": text(7, 1_000), "b": text(5, 1_000) + " " + &text(7, 900), "min_tokens": 2});
    let response = service.post("/api/v1/compare", body).expect(200);
    assert!(response.body.len() <= 200 << 10, "{} bytes", response.body.len());
}

#[test]
fn a_client_that_does_not_read_its_bulk_response_stops_its_own_request() {
    let service = with_long_duplicates(300, |_| {});
    // Much more than the buffers of a loopback connection hold: 200 kB per response line.
    let total = 300;
    let lines: String =
        (0..total).map(|id| format!("{}\n", json!({"id": id, "text": article(1, 80)}))).collect();
    let mut stream = service.connect();
    stream.write_all(&request("POST", "/api/v1/wide/bulk", &[LINES], lines.as_bytes())).unwrap();
    let mut stored = 0;
    wait_until("a pause of the request", || {
        std::thread::sleep(Duration::from_secs(1));
        let before = std::mem::replace(&mut stored, documents(&service, "wide"));
        stored > 300 && stored == before
    });
    assert!(stored < 300 + total, "all documents are stored although no response line was read");
    assert!(body_bytes(&service) < 12 << 20, "{} bytes", body_bytes(&service));
    service.post("/api/v1/copies", json!({"text": article(2, 80)})).expect(201);
    let text = read_response(&mut BufReader::new(stream), false).expect(200).text();
    assert_eq!(text.lines().count(), total as usize);
    assert!(!text.contains("rejected"));
    wait_until("released memory budget", || body_bytes(&service) == 0);
}

#[test]
fn small_requests_succeed_while_large_ones_use_the_whole_memory_budget() {
    let service = Service::with(|settings| {
        settings.limits.body_bytes = 1 << 20;
        settings.limits.buffered_bytes = 1 << 20;
    });
    let _large = stalled_body(&service, "", 1 << 20);
    let _rest = stalled_body(&service, "", 32_000);
    wait_until("reserved memory budget", || body_bytes(&service) > (1 << 20) - 1_000);
    let document = |id: u32| json!({"id": id, "text": "word ".repeat(2_500)});
    service.post("/api/v1/copies", document(1)).expect(201);
    service
        .send(
            "POST",
            "/api/v1/copies",
            &[JSON, ("content-encoding", "gzip")],
            &gzip(document(2).to_string().as_bytes()),
        )
        .expect(201);
    service.post("/api/v1/copies/query", document(3)).expect(200);
    service.post("/api/v1/copies", json!({"text": "word ".repeat(10_000)})).expect_problem(503);
}

/// Reads a response with pauses. Returns `true` if the service ends the connection before the client has read `max` bytes.
fn is_closed_while_reading(mut stream: std::net::TcpStream, max: usize) -> bool {
    let mut buffer = vec![0; 32 << 10];
    let mut total = 0;
    while total < max {
        match stream.read(&mut buffer) {
            Ok(read @ 1..) => total += read,
            _ => return true,
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

#[test]
fn a_client_that_reads_slowly_does_not_hold_memory_forever() {
    let service = Service::with(|settings| settings.limits.response_seconds = 1);
    service.post("/api/v1/copies", json!({"id": 1, "text": "x".repeat((1 << 20) - 100)})).expect(201);
    let mut slow = service.connect();
    let requests = "GET /api/v1/copies/1 HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(100);
    slow.write_all(requests.as_bytes()).unwrap();
    // It reads all the time, so `write_seconds` does not apply.
    assert!(is_closed_while_reading(slow, 50 << 20));
    wait_until("released memory budget", || body_bytes(&service) == 0);
}

#[test]
fn bulk_requests_for_one_collection_leave_capacity_for_another() {
    let service = Service::with(|settings| settings.limits.bulk_requests = 4);
    let line = "{\"id\":1,\"text\":\"a first line\"}\n";
    let open = |path: &str| {
        let mut stream = service.connect();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\ncontent-length: 1000\r\n\r\n{line}"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        reader.read_line(&mut String::new()).unwrap();
        reader
    };
    // The same collection, however its name is written.
    let _open =
        [open("/api/v1/copies/bulk"), open("/api/v1/%22copies%22/bulk"), open("/api/v1/%63opies/bulk")];
    let rejected = service.send("POST", "/api/v1/copies/bulk", &[LINES], line.as_bytes());
    assert_eq!(rejected.header("retry-after"), Some("1"));
    assert!(rejected.expect_problem(503)["detail"].as_str().unwrap().contains("this collection"));
    service.send("POST", "/api/v1/articles/bulk", &[LINES], line.as_bytes()).expect(200);
}

#[test]
fn metrics_forget_a_deleted_collection() {
    let service = Service::start();
    service.put("/api/v1/own", json!({"preset": "copies"})).expect(201);
    service.post("/api/v1/own", json!({"id": 1, "text": "a text"})).expect(201);
    assert!(service.get("/metrics").text().contains("collection=\"own\""));
    service.delete("/api/v1/own").expect(204);
    assert!(!service.get("/metrics").text().contains("own"));
}
