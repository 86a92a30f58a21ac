//! How a service starts, is busy, and stops.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{JSON, Service, article, read_answer, request};
use sameish_server::{Server, Settings};
use serde_json::json;
use std::io::{BufReader, Read, Write};

#[test]
fn a_second_service_on_the_same_folder_is_refused() {
    let service = Service::start();
    let mut settings =
        Settings { data: service.folder.as_ref().unwrap().path().join("data"), ..Settings::default() };
    settings.listen.set_port(0);
    let error = Server::bind(settings).err().unwrap().to_string();
    assert!(error.contains(&std::process::id().to_string()), "{error}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let service = Service::start();
    let settings = Settings { listen: service.address, data: "/nonexistent".into(), ..Settings::default() };
    let error = Server::bind(settings).err().unwrap().to_string();
    assert!(error.contains(&service.address.to_string()), "{error}");
}

#[test]
fn stopping_finishes_what_runs_and_refuses_what_comes() {
    let service = Service::start();
    // A request that is on its way: its body comes after the word to stop.
    let whole = request(
        "POST",
        "/api/v1/copies",
        &[JSON],
        json!({"id": 1, "text": "in flight"}).to_string().as_bytes(),
    );
    let mut running = service.connect();
    running.write_all(&whole[..whole.len() - 3]).unwrap();
    // Known to have begun, because a later one has been answered.
    let mut resting = service.connect();
    resting.write_all(b"GET /health/ready HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut resting = BufReader::new(resting);
    read_answer(&mut resting, false).is(200);
    std::thread::sleep(std::time::Duration::from_millis(100));
    service.tell_to_stop();
    loop {
        // New connections and old ones alike learn that it stops.
        match service.get("/health/ready").status {
            200 => continue,
            status => break assert_eq!(status, 503),
        }
    }
    service.get("/health/live").is(200);
    let refused = service.post("/api/v1/copies", json!({"id": 2, "text": "too late"}));
    assert_eq!(refused.header("connection"), Some("close"));
    refused.problem(503);
    running.write_all(&whole[whole.len() - 3..]).unwrap();
    read_answer(&mut BufReader::new(running), false).is(201);
    let service = Service::over(service.stop(), |_| {});
    service.get("/api/v1/copies/1").is(200);
    service.get("/api/v1/copies/2").problem(404);
}

#[test]
fn connections_that_rest_are_closed_when_it_stops() {
    let service = Service::start();
    let mut resting = service.connect();
    let folder = service.stop();
    let mut rest = Vec::new();
    assert_eq!(resting.read_to_end(&mut rest).unwrap_or(0), 0);
    drop(folder);
}

#[test]
fn beyond_the_queue_it_is_503_with_a_time() {
    let service = Service::with(|settings| {
        settings.limits.in_flight = 1;
        settings.limits.queue = 1;
    });
    let lines: String =
        (0..400).map(|id| format!("{}\n", json!({"id": id, "text": article(id % 7, 200)}))).collect();
    service.bulk("/api/v1/articles/bulk", &lines);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let ask = || service.get("/api/v1/articles/1/similar?limit=1000&evidence=true");
        let asking: Vec<_> = (0..24).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.iter().any(|answer| answer.status == 200));
    for answer in answers {
        if answer.status != 200 {
            assert!(answer.header("retry-after").is_some());
            answer.problem(503);
        }
    }
    service.get("/api/v1/articles/1/similar").is(200);
}

#[test]
fn the_client_may_name_its_request() {
    let service = Service::start();
    let answer = service.send("GET", "/nothing", &[("x-request-id", "trace-17")], b"");
    assert_eq!(answer.header("x-request-id"), Some("trace-17"));
    assert_eq!(answer.problem(404)["request_id"], "trace-17");
    let odd = service.send("GET", "/nothing", &[("x-request-id", "<b>")], b"");
    assert_eq!(odd.header("x-request-id").unwrap().len(), 26);
}
