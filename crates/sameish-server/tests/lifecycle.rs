//! Start, overload and shutdown.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{JSON, Service, article, read_response, request};
use sameish_server::{Server, Settings};
use serde_json::json;
use std::io::{BufReader, Read, Write};

#[test]
fn rejects_a_second_service_on_the_same_directory() {
    let service = Service::start();
    let mut settings =
        Settings { data: service.directory.as_ref().unwrap().path().join("data"), ..Settings::default() };
    settings.listen.set_port(0);
    let error = Server::bind(settings).err().unwrap().to_string();
    assert!(error.contains(&std::process::id().to_string()), "{error}");
}

#[test]
fn reports_an_address_in_use() {
    let service = Service::start();
    let settings = Settings { listen: service.address, data: "/nonexistent".into(), ..Settings::default() };
    let error = Server::bind(settings).err().unwrap().to_string();
    assert!(error.contains(&service.address.to_string()), "{error}");
}

#[test]
fn shutdown_finishes_running_requests_and_rejects_new_ones() {
    let service = Service::start();
    // A running request: its body ends after the start of the shutdown.
    let whole = request(
        "POST",
        "/api/v1/copies",
        &[JSON],
        json!({"id": 1, "text": "in flight"}).to_string().as_bytes(),
    );
    let mut running = service.connect();
    running.write_all(&whole[..whole.len() - 3]).unwrap();
    // A later request has been answered, so the first one has started.
    let mut idle = service.connect();
    idle.write_all(b"GET /health/ready HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut idle = BufReader::new(idle);
    read_response(&mut idle, false).expect(200);
    std::thread::sleep(std::time::Duration::from_millis(100));
    service.start_shutdown();
    loop {
        // New connections see the shutdown, too.
        match service.get("/health/ready").status {
            200 => continue,
            status => break assert_eq!(status, 503),
        }
    }
    service.get("/health/live").expect(200);
    let refused = service.post("/api/v1/copies", json!({"id": 2, "text": "rejected"}));
    assert_eq!(refused.header("connection"), Some("close"));
    refused.expect_problem(503);
    running.write_all(&whole[whole.len() - 3..]).unwrap();
    read_response(&mut BufReader::new(running), false).expect(201);
    let service = Service::with_data(service.stop(), |_| {});
    service.get("/api/v1/copies/1").expect(200);
    service.get("/api/v1/copies/2").expect_problem(404);
}

#[test]
fn shutdown_closes_idle_connections() {
    let service = Service::start();
    let mut idle = service.connect();
    let directory = service.stop();
    let mut rest = Vec::new();
    assert_eq!(idle.read_to_end(&mut rest).unwrap_or(0), 0);
    drop(directory);
}

#[test]
fn a_full_queue_is_503_with_retry_after() {
    let service = Service::with(|settings| {
        settings.limits.in_flight = 1;
        settings.limits.queue = 1;
    });
    let lines: String =
        (0..400).map(|id| format!("{}\n", json!({"id": id, "text": article(id % 7, 200)}))).collect();
    service.bulk("/api/v1/articles/bulk", &lines);
    let responses: Vec<_> = std::thread::scope(|scope| {
        let search = || service.get("/api/v1/articles/1/similar?limit=1000&evidence=true");
        let threads: Vec<_> = (0..24).map(|_| scope.spawn(search)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(responses.iter().any(|response| response.status == 200));
    for response in responses {
        if response.status != 200 {
            assert!(response.header("retry-after").is_some());
            response.expect_problem(503);
        }
    }
    service.get("/api/v1/articles/1/similar").expect(200);
}

#[test]
fn uses_a_plain_request_id_of_the_client() {
    let service = Service::start();
    let response = service.send("GET", "/nothing", &[("x-request-id", "trace-17")], b"");
    assert_eq!(response.header("x-request-id"), Some("trace-17"));
    assert_eq!(response.expect_problem(404)["request_id"], "trace-17");
    let odd = service.send("GET", "/nothing", &[("x-request-id", "<b>")], b"");
    assert_eq!(odd.header("x-request-id").unwrap().len(), 26);
}
