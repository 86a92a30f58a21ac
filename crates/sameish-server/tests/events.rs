//! Event streams, exports, and changes of collections.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{JSON, Response, Service, article, request};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// An open stream of events.
struct Stream(BufReader<TcpStream>);

/// An event as it was received.
#[derive(Debug)]
struct Received {
    id: Option<u64>,
    kind: String,
    data: Value,
}

impl Stream {
    /// Opens a stream and reads its first comment, so that later changes are in the stream.
    fn open(service: &Service, query: &str, headers: &[(&str, &str)]) -> Stream {
        let mut stream = service.connect();
        let path = format!("/api/v1/articles/events{query}");
        stream.write_all(&request("GET", &path, headers, b"")).unwrap();
        let mut stream = Stream(BufReader::new(stream));
        assert!(stream.line().unwrap().contains(" 200 "));
        while !stream.line().unwrap().starts_with(": sequence ") {}
        stream
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
        }
    }

    /// Returns the next event, without the sizes of chunks and the comments around it.
    fn next(&mut self) -> Option<Received> {
        let mut received = Received { id: None, kind: String::new(), data: Value::Null };
        loop {
            let line = self.line()?;
            match line.split_once(": ") {
                Some(("id", id)) => received.id = id.parse().ok(),
                Some(("event", kind)) => received.kind = kind.to_owned(),
                Some(("data", data)) => {
                    received.data = serde_json::from_str(data).unwrap();
                    return Some(received);
                }
                _ => {}
            }
        }
    }
}

fn store(service: &Service, id: &str, story: u64) {
    let document =
        json!({"id": id, "title": format!("Title of {id}"), "text": article(story, 70), "host": "x.example"});
    service.post("/api/v1/articles", document).expect(201);
}

#[test]
fn events_tell_what_happened_in_order() {
    let service = Service::start();
    let mut stream = Stream::open(&service, "", &[]);
    store(&service, "a", 1);
    store(&service, "b", 1);
    service.put("/api/v1/articles/b", json!({"text": article(2, 70)})).expect(200);
    service.delete("/api/v1/articles/a").expect(204);
    let events: Vec<Received> = (0..4).map(|_| stream.next().unwrap()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["added", "added", "replaced", "deleted"]);
    assert!(events.iter().map(|event| event.id.unwrap()).eq(1..=4));
    for event in &events {
        assert_eq!((&event.data["sequence"], &event.data["kind"]), (&json!(event.id), &json!(event.kind)));
    }
    assert_eq!(events[1].data["id"], "b");
    assert_eq!(
        (&events[1].data["similarity"], &events[1].data["match_type"]),
        (&json!(1.0), &json!("exact"))
    );
    assert_eq!(events[1].data["cluster"], events[0].data["cluster"]);
    assert_eq!(events[3].data["cluster"], events[0].data["cluster"]);
}

#[test]
fn a_document_that_changes_its_cluster_is_moved() {
    let service = Service::start();
    // Documents 1 and 2 match 0, but not each other.
    let words: Vec<String> = (0..90).map(|i| format!("word{i}")).collect();
    let changed = |from: usize| {
        let mut words = words.clone();
        words[from..from + 6].iter_mut().for_each(|word| *word = format!("other{from}{word}"));
        words.join(" ")
    };
    let texts = [words.join(" "), changed(10), changed(60)];
    service.put("/api/v1/strict", json!({"overrides": {"matching": {"threshold": 0.8}}})).expect(201);
    for (id, text) in texts.iter().enumerate() {
        service.post("/api/v1/strict", json!({"id": id, "text": text})).expect(201);
    }
    assert_eq!(service.get("/api/v1/strict").json()["largest_cluster"], 3);
    service.delete("/api/v1/strict/0").expect(204);
    let mut stream = service.connect();
    stream.write_all(&request("GET", "/api/v1/strict/events", &[("last-event-id", "4")], b"")).unwrap();
    let moved = Stream(BufReader::new(stream)).next().unwrap();
    assert_eq!((moved.kind.as_str(), moved.id), ("moved", Some(5)));
    assert_eq!(moved.data["id"], 2);
}

#[test]
fn an_edit_moves_the_documents_whose_cluster_changes() {
    let service = Service::start();
    ["a", "b", "c"].iter().for_each(|id| store(&service, id, 1));
    let mut stream = Stream::open(&service, "", &[]);
    let edit = service.post("/api/v1/articles/edits", json!({"kind": "different", "a": "a", "b": "c"}));
    let edit = edit.expect(201).json();
    let moved = stream.next().unwrap();
    assert_eq!((moved.kind.as_str(), &moved.data["id"]), ("moved", &json!("c")));
    assert!(edit["clusters"].as_array().unwrap().contains(&moved.data["cluster"]));
    service.delete(&format!("/api/v1/articles/edits/{}", edit["edit"])).expect(204);
    assert_eq!(stream.next().unwrap().data["id"], "c");
    store(&service, "d", 1);
    assert_eq!(stream.next().unwrap().kind, "added", "nothing else has moved");
}

/// The match of an event is one in the cluster of the document, or a template that explains why the document is alone.
#[test]
fn events_show_a_match_of_the_cluster() {
    let service = Service::start();
    let report = |company: &str, town: &str, sales: &str, people: &str| {
        format!(
            "{company} of {town} reported quarterly sales of {sales} million euros on Thursday, more than analysts had expected. \
             The company, which employs {people} people, confirmed its forecast for the year and said that orders from abroad \
             remained strong. Shares rose in early trading before they lost a part of their gains in the afternoon."
        )
    };
    let hydra = report("Hydra Therm", "Porthaven", "412", "5300");
    let boreal = report("Boreal Valve", "Kingsbridge", "87", "940");
    let mut stream = Stream::open(&service, "", &[]);
    let mut stored = |id: &str, text: &str, date: &str| {
        let document = json!({"id": id, "text": text, "published_at": date});
        let duplicates = service.post("/api/v1/articles", document).expect(201).json()["duplicates"].clone();
        (duplicates, stream.next().unwrap().data)
    };
    stored("hydra", &hydra, "2024-01-01");
    let (duplicates, event) = stored("boreal", &boreal, "2024-01-02");
    assert_eq!((&duplicates[0]["template"], &event["template"]), (&json!(true), &json!(true)));
    assert_eq!((&event["similarity"], &event["size"]), (&duplicates[0]["similarity"], &json!(1)));
    let update = boreal.replace("early trading", "late trading");
    let (_, event) = stored("update", &update, "2024-01-03");
    assert_eq!((&event["template"], &event["relation"]), (&json!(false), &json!("updated_by")));
    let longer = format!("{boreal} {}", article(1, 15));
    let (duplicates, event) = stored("longer", &longer, "2024-01-04");
    assert_eq!(event["size"], 3);
    assert_eq!((&event["similarity"], &event["template"]), (&duplicates[0]["similarity"], &json!(false)));
    assert_eq!(event["relation"], "updated_by");
}

#[test]
fn a_stream_continues_after_the_last_event_without_a_gap() {
    let service = Service::start();
    let lines: String =
        (0..1_300).map(|i| format!("{}\n", json!({"id": i, "text": article(i, 30)}))).collect();
    service.bulk("/api/v1/articles/bulk", &lines);
    let service = Service::with_data(service.stop(), |_| {});
    for (query, headers) in [("?last_event_id=200", &[][..]), ("", &[("Last-Event-ID", "200")])] {
        let mut stream = Stream::open(&service, query, headers);
        for expected in 201..=1_300 {
            assert_eq!(stream.next().unwrap().id, Some(expected));
        }
    }
    let mut stream = Stream::open(&service, "?last_event_id=1300", &[]);
    store(&service, "later", 7_777);
    let event = stream.next().unwrap();
    assert_eq!((event.id, &event.data["id"]), (Some(1_301), &json!("later")));
}

#[test]
fn an_unknown_position_is_gone() {
    let service = Service::start();
    store(&service, "a", 1);
    let gone = service.get("/api/v1/articles/events?last_event_id=9").expect_problem(410);
    assert_eq!((&gone["resume_from"], &gone["type"]), (&json!(1), &json!("urn:sameish:problem:gone")));
    service.get("/api/v1/articles/events?last_event_id=x").expect_fault("?last_event_id", "invalid");
    service.send("GET", "/api/v1/articles/events", &[("last-event-id", "-1")], b"").expect_problem(400);
    service.get("/api/v1/unknown/events").expect_problem(404);
}

/// A collection that was created again has other events with the same numbers.
#[test]
fn a_position_of_other_events_is_gone() {
    let service = Service::start();
    let mut stream = Stream::open(&service, "", &[]);
    store(&service, "a", 1);
    store(&service, "b", 1);
    let position = |event: Received| event.data["position"].as_str().unwrap().to_owned();
    let (first, second) = (position(stream.next().unwrap()), position(stream.next().unwrap()));
    assert!(first.starts_with("1-") && second.starts_with("2-"));
    let mut stream = Stream::open(&service, "", &[("last-event-id", &first)]);
    assert_eq!(position(stream.next().unwrap()), second);
    service.delete("/api/v1/articles").expect(204);
    service.put("/api/v1/articles", json!({"preset": "articles"})).expect(201);
    ["c", "d", "e"].iter().for_each(|id| store(&service, id, 1));
    let path = format!("/api/v1/articles/events?last_event_id={second}");
    assert_eq!(service.get(&path).expect_problem(410)["resume_from"], 2);
    let mut stream = Stream::open(&service, "?last_event_id=2", &[]);
    assert_eq!(stream.next().unwrap().data["id"], "e");
    let malformed = service.get("/api/v1/articles/events?last_event_id=2-x");
    malformed.expect_fault("?last_event_id", "invalid");
}

#[test]
fn long_titles_are_cut_in_events() {
    let service = Service::start();
    let mut stream = Stream::open(&service, "", &[]);
    let document = json!({"id": 1, "title": "ü".repeat(5_000), "text": article(1, 70)});
    service.post("/api/v1/articles", document).expect(201);
    assert_eq!(stream.next().unwrap().data["title"], "ü".repeat(300));
}

#[test]
fn streams_end_with_a_reason() {
    let service = Service::start();
    let mut stream = Stream::open(&service, "", &[]);
    service.delete("/api/v1/articles").expect(204);
    let end = stream.next().unwrap();
    assert_eq!((end.kind.as_str(), &end.data), ("end", &json!({"reason": "deleted"})));
    service.put("/api/v1/articles", json!({"preset": "articles"})).expect(201);
    let mut stream = Stream::open(&service, "", &[]);
    service.start_shutdown();
    let end = stream.next().unwrap();
    assert_eq!((end.kind.as_str(), &end.data), ("end", &json!({"reason": "shutdown"})));
}

/// The client does not read, the writes succeed, and when it reads at last, it gets what fits and the reason.
#[test]
fn a_slow_reader_delays_no_writer_and_is_told() {
    let service = Service::start();
    let mut stream = Stream::open(&service, "", &[]);
    // Long events, although titles are cut after 300 characters.
    let title = "😀".repeat(4_000);
    for round in 0..1_000 {
        let document = |i: u64| {
            let id = format!("{:0>500}", round * 10 + i);
            json!({"id": id, "title": title, "text": article(round * 10 + i, 5)})
        };
        let lines: String = (0..10).map(|i| format!("{}\n", document(i))).collect();
        service.bulk("/api/v1/articles/bulk", &lines);
    }
    let mut last = 0;
    let end = loop {
        let event = stream.next().unwrap();
        match event.id {
            Some(id) => {
                assert_eq!(id, last + 1);
                last = id;
            }
            None => break event,
        }
    };
    assert_eq!((end.kind.as_str(), &end.data), ("end", &json!({"reason": "slow"})));
    assert!(last < 10_000);
    let mut stream = Stream::open(&service, &format!("?last_event_id={last}"), &[]);
    assert_eq!(stream.next().unwrap().id, Some(last + 1));
}

fn exported(service: &Service, query: &str) -> Vec<Value> {
    let response = service.get(&format!("/api/v1/articles/export{query}")).expect(200);
    assert_eq!(response.header("content-type"), Some("application/x-ndjson"));
    response.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn exports_documents_and_representatives() {
    let service = Service::start();
    assert!(exported(&service, "").is_empty());
    let lines: String = (0..2_500)
        .map(|i| format!("{}\n", json!({"id": i, "text": article(i / 2, 40), "topic": "x"})))
        .collect();
    service.bulk("/api/v1/articles/bulk", &lines);
    let all = exported(&service, "");
    assert!(all.iter().map(|document| document["id"].as_u64().unwrap()).eq(0..2_500));
    assert_eq!(all[7], service.get("/api/v1/articles/7").json());
    let few = exported(&service, "?representatives=true");
    assert!(few.iter().map(|document| document["id"].as_u64().unwrap()).eq((0..2_500).step_by(2)));
    service.get("/api/v1/articles/export?representatives=x").expect_fault("?representatives", "out_of_range");
}

fn patch(service: &Service, body: Value) -> Response {
    service.send("PATCH", "/api/v1/articles", &[JSON], body.to_string().as_bytes())
}

#[test]
fn a_new_window_applies_to_later_matches_and_survives_a_restart() {
    let service = Service::start();
    let insert = |service: &Service, id: &str, date: &str| {
        let document = json!({"id": id, "text": article(1, 70), "published_at": date});
        service.post("/api/v1/articles", document).expect(201).json()["cluster"].clone()
    };
    let first = insert(&service, "a", "2024-01-01");
    assert_eq!(insert(&service, "b", "2024-03-01"), first);
    let changed = patch(&service, json!({"window_days": 2, "retention_days": 36500})).expect(200).json();
    assert_eq!((&changed["window_days"], &changed["retention_days"]), (&json!(2), &json!(36500)));
    assert_eq!(service.get("/api/v1/articles/b").json()["cluster"], first, "existing clusters stay");
    let other = insert(&service, "c", "2024-02-01");
    assert_ne!(other, first);
    let service = Service::with_data(service.stop(), |_| {});
    assert_eq!(insert(&service, "d", "2024-02-02"), other);
    let changed = patch(&service, json!({"window_days": null})).expect(200).json();
    assert_eq!((&changed["window_days"], &changed["retention_days"]), (&Value::Null, &json!(36500)));
    assert_eq!(insert(&service, "e", "2026-01-01"), first);
    patch(&service, json!({"window_days": 0})).expect_fault("/window_days", "out_of_range");
    patch(&service, json!({"preset": "copies"})).expect_fault("/preset", "unknown_field");
}

#[test]
fn changing_a_collection_requires_an_admin_key() {
    let keys = "[[keys]]\nkey = \"r\"\nscope = \"read\"\n[[keys]]\nkey = \"w\"\nscope = \"write\"\n\
        [[keys]]\nkey = \"a\"\nscope = \"admin\"\n";
    let service = Service::with(|settings| {
        settings.keys = sameish_server::Settings::from_toml(keys).unwrap().keys;
    });
    let send = |method: &str, path: &str, key: &str| {
        let bearer = format!("Bearer {key}");
        let body: &[u8] = if method == "PATCH" { b"{}" } else { b"" };
        service.send(method, path, &[JSON, ("authorization", &bearer)], body).status
    };
    assert_eq!(send("PATCH", "/api/v1/articles", "w"), 403);
    assert_eq!(send("PATCH", "/api/v1/articles", "a"), 200);
    for path in ["clusters", "sources", "histogram", "preview?threshold=1", "export"] {
        assert_eq!(send("GET", &format!("/api/v1/articles/{path}"), "r"), 200, "{path}");
        assert_eq!(send("GET", &format!("/api/v1/articles/{path}"), "x"), 401, "{path}");
    }
    assert_eq!(send("GET", "/api/v1/articles/events?last_event_id=5", "r"), 410);
    assert_eq!(send("GET", "/api/v1/articles/events", "x"), 401);
}
