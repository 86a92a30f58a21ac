//! How is the service doing?
//!
//! Counters and a histogram a route, written as Prometheus reads them. Routes are known by their patterns, so that ids
//! never become labels.

use crate::state::App;
use sameish_store::Health;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper ends of the histogram's steps, in seconds.
const STEPS: [f64; 12] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// What has been counted.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, String, u16), u64>>,
    times: Mutex<BTreeMap<String, Histogram>>,
    counts: Mutex<BTreeMap<(&'static str, String), u64>>,
}

#[derive(Debug, Default)]
struct Histogram {
    steps: [u64; STEPS.len()],
    count: u64,
    sum: f64,
}

impl Metrics {
    /// Notes an answer.
    pub(crate) fn answered(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        let seconds = took.as_secs_f64();
        *lock(&self.requests).entry((method, route.to_owned(), status)).or_default() += 1;
        let mut times = lock(&self.times);
        let histogram = times.entry(route.to_owned()).or_default();
        histogram.count += 1;
        histogram.sum += seconds;
        for (step, count) in STEPS.iter().zip(&mut histogram.steps) {
            *count += u64::from(seconds <= *step);
        }
    }

    /// Notes that something happened to documents of a collection: `created`, `deleted`, `expired`.
    pub(crate) fn documents(&self, what: &'static str, collection: &str, number: u64) {
        if number > 0 {
            *lock(&self.counts).entry((what, collection.to_owned())).or_default() += number;
        }
    }

    /// Everything, as Prometheus reads it.
    pub(crate) fn render(&self, app: &App) -> String {
        let mut out = String::new();
        self.requests(&mut out);
        self.times(&mut out);
        head(&mut out, "sameish_documents_total", "counter", "What happened to documents.");
        for ((what, collection), count) in &*lock(&self.counts) {
            line(
                &mut out,
                "sameish_documents_total",
                &[("collection", collection), ("what", what)],
                *count as f64,
            );
        }
        gauges(&mut out, app);
        out
    }

    fn requests(&self, out: &mut String) {
        head(out, "sameish_http_requests_total", "counter", "Requests that were answered.");
        for ((method, route, status), count) in &*lock(&self.requests) {
            let labels = [("method", *method), ("route", route), ("status", &status.to_string())];
            line(out, "sameish_http_requests_total", &labels, *count as f64);
        }
    }

    fn times(&self, out: &mut String) {
        let name = "sameish_http_request_seconds";
        head(out, name, "histogram", "From the end of the headers to the first byte of the answer.");
        for (route, histogram) in &*lock(&self.times) {
            let bucket = format!("{name}_bucket");
            for (step, count) in STEPS.iter().zip(&histogram.steps) {
                line(out, &bucket, &[("route", route), ("le", &step.to_string())], *count as f64);
            }
            line(out, &bucket, &[("route", route), ("le", "+Inf")], histogram.count as f64);
            line(out, &format!("{name}_sum"), &[("route", route)], histogram.sum);
            line(out, &format!("{name}_count"), &[("route", route)], histogram.count as f64);
        }
    }
}

fn gauges(out: &mut String, app: &App) {
    head(out, "sameish_collection_documents", "gauge", "Documents of a collection.");
    for collection in app.catalog.collections() {
        let labels = [("collection", collection.name())];
        line(out, "sameish_collection_documents", &labels, collection.len() as f64);
    }
    let healthy = matches!(app.catalog.health(), Health::Ready | Health::ReadOnly);
    let running = app.running.load(Ordering::Relaxed);
    let connections = app.connections.load(Ordering::Relaxed);
    for (name, help, value) in [
        ("sameish_connections", "Connections that are open.", connections as f64),
        ("sameish_requests_running", "Requests that are being answered.", running as f64),
        ("sameish_requests_waiting", "Requests that wait for their turn.", app.waiting() as f64),
        ("sameish_writes_waiting", "Writes that wait for the disk.", app.catalog.waiting() as f64),
        ("sameish_body_bytes", "Bytes of bodies in memory.", app.buffered() as f64),
        ("sameish_store_bytes", "Bytes of the store on disk.", app.catalog.bytes().unwrap_or(0) as f64),
        ("sameish_store_healthy", "Whether the store takes what it should.", f64::from(healthy)),
        ("sameish_uptime_seconds", "Since the service started.", app.started.elapsed().as_secs_f64()),
    ] {
        head(out, name, "gauge", help);
        line(out, name, &[], value);
    }
    head(out, "sameish_build_info", "gauge", "Which version this is.");
    line(out, "sameish_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string does not fail.
    _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(out: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
    out.push_str(name);
    for (i, (label, text)) in labels.iter().enumerate() {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        _ = write!(out, "{}{label}=\"{text}\"", if i == 0 { '{' } else { ',' });
    }
    _ = writeln!(out, "{} {value}", if labels.is_empty() { "" } else { "}" });
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
