//! What one client may take of a service, and what is left for the others.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{Answer, JSON, Service, article, gzip, read_answer, request};
use sameish_server::{KeySetting, Scope};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LINES: (&str, &str) = ("content-type", "application/x-ndjson");

/// Tries again until something holds.
#[track_caller]
fn soon(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what} did not come about");
}

#[test]
fn answers_count_until_they_have_gone_out() {
    let service = Service::with(|settings| {
        settings.limits.body_bytes = 1 << 20;
        settings.limits.buffered_bytes = 3 << 19;
    });
    service.post("/api/v1/copies", json!({"id": 1, "text": "x".repeat((1 << 20) - 100)})).is(201);
    service.post("/api/v1/copies", json!({"id": 2, "text": "small"})).is(201);
    service.get("/api/v1/copies/1").is(200);
    let mut never_reads = service.connect();
    let requests = "GET /api/v1/copies/1 HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(100);
    never_reads.write_all(requests.as_bytes()).unwrap();
    let mut refused = None;
    soon("an answer that is refused", || {
        let answer = service.get("/api/v1/copies/1");
        refused = (answer.status != 200).then_some(answer);
        refused.is_some()
    });
    let refused = refused.unwrap();
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.problem(503)["type"], "urn:sameish:problem:busy");
    service.get("/api/v1/copies/2").is(200);
    drop(never_reads);
    soon("room for answers", || service.get("/api/v1/copies/1").status == 200);
}

#[test]
fn passages_of_an_answer_are_bounded() {
    let service = Service::start();
    // The same 1,200 sentences in both, with other words between them.
    let text = |other: u64| -> String {
        (0..1_200).map(|i| format!("{} {} ", article(i, 40), article(100_000 * other + i, 1))).collect()
    };
    let (a, b) = (text(1), text(2));
    let answer = service.post("/api/v1/compare", json!({"a": a, "b": b})).is(200).json();
    assert_eq!(answer["passages"].as_array().unwrap().len(), 1_000);
    assert_eq!(answer["capped"], true);
    let few =
        service.post("/api/v1/compare", json!({"a": article(1, 60), "b": article(1, 60)})).is(200).json();
    assert_eq!((few["passages"].as_array().unwrap().len(), &few["capped"]), (1, &json!(false)));
    service.post("/api/v1/articles", json!({"id": 1, "text": a})).is(201);
    let query = json!({"text": b, "evidence": true});
    let found = service.post("/api/v1/articles/query", query).is(200).json();
    let evidence = &found["similar"][0]["evidence"];
    assert_eq!(evidence["passages"].as_array().unwrap().len(), 1_000);
    assert_eq!(evidence["capped"], true);
}

#[test]
fn with_evidence_fewer_matches_are_given() {
    let service = Service::start();
    let lines: String =
        (0..150).map(|id| format!("{}\n", json!({"id": id, "text": article(1, 80)}))).collect();
    service.bulk("/api/v1/articles/bulk", &lines);
    let matches = |query: &str| {
        let found = service.get(&format!("/api/v1/articles/1/similar?{query}")).is(200).json();
        found["similar"].as_array().unwrap().len()
    };
    assert_eq!(matches("limit=1000"), 149);
    assert_eq!(matches("limit=1000&evidence=true"), 100);
    assert_eq!(matches("evidence=true"), 10);
}

/// A service with two keys and room for two requests and two bulk requests at a time.
fn with_two_keys() -> Service {
    Service::with(|settings| {
        let key =
            |key: &str| KeySetting { name: None, key: Some(key.into()), sha256: None, scope: Scope::Write };
        settings.keys = vec![key("loud"), key("calm")];
        settings.limits.in_flight = 2;
        settings.limits.queue = 2;
        settings.limits.bulk_requests = 2;
    })
}

fn ask(service: &Service, key: &str, method: &str, path: &str, body: &[u8]) -> Answer {
    let kind = if path.ends_with("/bulk") { LINES } else { JSON };
    service.send(method, path, &[kind, ("authorization", &format!("Bearer {key}"))], body)
}

#[test]
fn a_key_that_asks_heavy_things_leaves_room_for_another() {
    let service = with_two_keys();
    let heavy = json!({"a": article(1, 25_000), "b": article(2, 25_000)}).to_string();
    let done = AtomicBool::new(false);
    let loud: Vec<u16> = std::thread::scope(|scope| {
        let flood = || {
            let mut statuses = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let answer = ask(&service, "loud", "POST", "/api/v1/compare", heavy.as_bytes());
                assert_eq!(answer.status == 200, answer.header("retry-after").is_none());
                statuses.push(answer.status);
            }
            statuses
        };
        let flooding: Vec<_> = (0..8).map(|_| scope.spawn(flood)).collect();
        let calm: Vec<u16> =
            (0..50).map(|_| ask(&service, "calm", "GET", "/api/v1/articles/clusters", b"").status).collect();
        done.store(true, Ordering::Relaxed);
        assert_eq!(calm, [200; 50]);
        flooding.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(loud.contains(&200) && loud.contains(&429), "{loud:?}");
    assert!(loud.iter().all(|status| matches!(status, 200 | 429)), "{loud:?}");
}

#[test]
fn a_key_has_half_of_the_bulk_requests() {
    let service = with_two_keys();
    let mut open = service.connect();
    let line = "{\"id\":1,\"text\":\"a first line\"}\n";
    let head = format!(
        "POST /api/v1/copies/bulk HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer loud\r\n\
         content-type: application/x-ndjson\r\ncontent-length: 1000\r\n\r\n{line}"
    );
    open.write_all(head.as_bytes()).unwrap();
    let mut reader = BufReader::new(open.try_clone().unwrap());
    reader.read_line(&mut String::new()).unwrap();
    let second = ask(&service, "loud", "POST", "/api/v1/copies/bulk", line.as_bytes());
    assert_eq!(second.header("retry-after"), Some("1"));
    second.problem(429);
    ask(&service, "calm", "POST", "/api/v1/copies/bulk", line.as_bytes()).is(200);
}

#[test]
fn blank_lines_count() {
    let service = Service::with(|settings| settings.limits.bulk_documents = 10);
    let line = |id: u32| format!("{}\n", json!({"id": id, "text": "some text"}));
    let answers = service.bulk("/api/v1/copies/bulk", &format!("{}{}", "\n".repeat(9), line(1)));
    assert_eq!(
        (answers.len(), &answers[0]["line"], &answers[0]["http_status"]),
        (1, &json!(10), &json!(201))
    );
    let answers = service.bulk("/api/v1/copies/bulk", &format!("{}{}{}", line(2), "\n".repeat(9), line(3)));
    let told: Vec<_> =
        answers.iter().map(|answer| (answer["line"].as_u64(), answer["http_status"].as_u64())).collect();
    assert_eq!(told, [(Some(1), Some(201)), (Some(11), Some(413))]);
}

#[test]
fn what_is_unpacked_counts_while_it_waits() {
    let service = Service::with(|settings| {
        settings.limits.body_bytes = 1 << 20;
        settings.limits.line_bytes = 8 << 20;
        settings.limits.buffered_bytes = 2 << 20;
    });
    // One line of 6 MiB, within its own limit, and more than all may have.
    let headers = [LINES, ("content-encoding", "gzip")];
    let mut long = gzip(format!("{}\n", json!({"text": " ".repeat(6 << 20)})).as_bytes());
    // Broken at its end, which is not reached: the bytes count before all of them are there.
    *long.last_mut().unwrap() ^= 1;
    let answers = service.send("POST", "/api/v1/copies/bulk", &headers, &long).is(200).text();
    let last: Value = serde_json::from_str(answers.lines().last().unwrap()).unwrap();
    assert_eq!(last["http_status"], 503, "{last}");
    // Many lines that unpack to ten times that are stored as they come.
    let many: String =
        (0..5_000).map(|id| format!("{}\n", json!({"id": id, "text": "word ".repeat(800)}))).collect();
    let answers =
        service.send("POST", "/api/v1/copies/bulk", &headers, &gzip(many.as_bytes())).is(200).text();
    assert_eq!(answers.lines().count(), 5_000);
    assert!(
        !answers.contains("rejected"),
        "{}",
        answers.lines().find(|line| line.contains("rejected")).unwrap()
    );
    soon("all is given back", || service.get("/metrics").text().contains("sameish_body_bytes 0\n"));
}

#[test]
fn a_line_that_has_not_ended_counts() {
    let service = Service::start();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    packed.write_all(&vec![b' '; 1_500_000]).unwrap();
    packed.flush().unwrap();
    let mut stream = service.connect();
    let head = "POST /api/v1/copies/bulk HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n\
                content-encoding: gzip\r\ncontent-length: 100000\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(packed.get_ref()).unwrap();
    // All but what the unpacking still has in hand.
    let waiting = || {
        let metrics = service.get("/metrics").text();
        let line = metrics.lines().find_map(|line| line.strip_prefix("sameish_body_bytes ")).unwrap();
        line.parse::<u64>().unwrap()
    };
    soon("the bytes that wait", || waiting() > 1_000_000);
    drop(stream);
    soon("all is given back", || service.get("/metrics").text().contains("sameish_body_bytes 0\n"));
}

#[test]
fn a_bulk_request_has_an_end() {
    let service = Service::with(|settings| settings.limits.bulk_seconds = 1);
    let mut stream = service.connect();
    stream
        .write_all(
            b"POST /api/v1/copies/bulk HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n\
              content-length: 1000000\r\n\r\n{\"id\":1,\"text\":\"a first line\"}\n",
        )
        .unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let dribbling = std::thread::spawn(move || {
        // Not slow, and without an end in sight.
        for _ in 0..80 {
            _ = stream.write_all(&[b' '; 2_000]);
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let text = read_answer(&mut reader, false).is(200).text();
    let told: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&told[0]["http_status"], &told[1]["http_status"]), (&json!(201), &json!(408)));
    dribbling.join().unwrap();
}

#[test]
fn a_running_bulk_request_ends_when_the_service_stops() {
    let service = Service::start();
    let mut stream = service.connect();
    stream
        .write_all(
            b"POST /api/v1/copies/bulk HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n\
              content-length: 1000\r\n\r\n{\"id\":1,\"text\":\"a first line\"}\n{\"id\":2,\"te",
        )
        .unwrap();
    soon("the first line", || service.get("/api/v1/copies/1").status == 200);
    service.tell_to_stop();
    let text = read_answer(&mut BufReader::new(stream), false).is(200).text();
    let told: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&told[0]["line"], &told[0]["http_status"]), (&json!(1), &json!(201)));
    assert_eq!((&told[1]["line"], &told[1]["http_status"]), (&json!(2), &json!(503)));
    assert_eq!(told.len(), 2);
    let service = Service::over(service.stop(), |_| {});
    service.get("/api/v1/copies/1").is(200);
    service.get("/api/v1/copies/2").problem(404);
}

#[test]
fn packed_bodies_count_while_they_are_unpacked() {
    let service = Service::with(|settings| {
        settings.limits.body_bytes = 1 << 20;
        settings.limits.buffered_bytes = 1 << 20;
    });
    let headers = [JSON, ("content-encoding", "gzip")];
    let packed = |bytes: usize| gzip(json!({"text": "x".repeat(bytes)}).to_string().as_bytes());
    // Broken at its end, which is not reached: the bytes count before all of them are there.
    let mut broken = packed((1 << 20) - 100);
    *broken.last_mut().unwrap() ^= 1;
    service.send("POST", "/api/v1/copies", &headers, &broken).problem(503);
    service.send("POST", "/api/v1/copies", &headers, &packed(1 << 19)).is(201);
}

#[test]
fn a_newcomer_is_closed_where_all_are_being_answered() {
    let service = Service::with(|settings| settings.limits.connections = 2);
    let whole = request("POST", "/api/v1/copies", &[JSON], br#"{"id":1,"text":"comes later"}"#);
    let busy: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = service.connect();
            stream.write_all(&whole[..whole.len() - 5]).unwrap();
            // Known to be taken as busy: nobody comes in any more.
            std::thread::sleep(Duration::from_millis(200));
            stream
        })
        .collect();
    let mut newcomer = service.connect();
    _ = newcomer.write_all(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(newcomer.read(&mut [0; 16]).unwrap_or(0), 0);
    for (mut stream, status) in busy.into_iter().zip([201, 200]) {
        stream.write_all(&whole[whole.len() - 5..]).unwrap();
        read_answer(&mut BufReader::new(stream), false).is(status);
    }
    soon("room for a newcomer", || service.get("/health/live").status == 200);
}
