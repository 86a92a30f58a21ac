//! Metrics in the Prometheus text format.
//!
//! Requests are counted and timed by route. Routes are labeled by their patterns, so that ids never become labels.

use crate::log::LogQueue;
use crate::state::App;
use sameish_store::{Health, Stats};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the histogram's buckets, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Counters and histograms.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<RequestLabels, u64>>,
    durations: Mutex<BTreeMap<String, Histogram>>,
    documents: Mutex<BTreeMap<DocumentLabels, u64>>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DocumentLabels {
    event: &'static str,
    collection: String,
}

#[derive(Debug, Default)]
struct Histogram {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl Metrics {
    /// Counts and times a response.
    pub(crate) fn count_response(&self, method: &'static str, route: &str, status: u16, duration: Duration) {
        let seconds = duration.as_secs_f64();
        *lock(&self.requests)
            .entry(RequestLabels { method, route: route.to_owned(), status })
            .or_default() += 1;
        let mut durations = lock(&self.durations);
        let histogram = durations.entry(route.to_owned()).or_default();
        histogram.count += 1;
        histogram.sum += seconds;
        for (bound, count) in BUCKETS.iter().zip(&mut histogram.buckets) {
            *count += u64::from(seconds <= *bound);
        }
    }

    /// Counts documents of a collection that were `created`, `replaced`, `unchanged`, `deleted` or `expired`.
    pub(crate) fn count_documents(&self, event: &'static str, collection: &str, count: u64) {
        if count > 0 {
            let labels = DocumentLabels { event, collection: collection.to_owned() };
            *lock(&self.documents).entry(labels).or_default() += count;
        }
    }

    /// Returns all metrics as text.
    pub(crate) fn render(&self, app: &App) -> String {
        let mut out = String::new();
        self.render_requests(&mut out);
        self.render_durations(&mut out);
        self.forget_deleted_collections(app);
        self.render_documents(&mut out);
        render_dropped_log_lines(&mut out, app);
        render_gauges(&mut out, app);
        out
    }

    /// Removes the labels of collections that do not exist any more, so that their number is limited.
    fn forget_deleted_collections(&self, app: &App) {
        lock(&self.documents).retain(|labels, _| app.catalog.collection(&labels.collection).is_ok());
    }

    fn render_requests(&self, out: &mut String) {
        let name = "sameish_http_requests_total";
        write_header(out, name, "counter", "Number of requests answered.");
        for (RequestLabels { method, route, status }, count) in &*lock(&self.requests) {
            let labels = [("method", *method), ("route", route), ("status", &status.to_string())];
            write_sample(out, name, &labels, *count as f64);
        }
    }

    fn render_durations(&self, out: &mut String) {
        let name = "sameish_http_request_seconds";
        write_header(
            out,
            name,
            "histogram",
            "Time from the end of the headers to the start of the response.",
        );
        for (route, histogram) in &*lock(&self.durations) {
            let bucket = format!("{name}_bucket");
            for (bound, count) in BUCKETS.iter().zip(&histogram.buckets) {
                write_sample(out, &bucket, &[("route", route), ("le", &bound.to_string())], *count as f64);
            }
            write_sample(out, &bucket, &[("route", route), ("le", "+Inf")], histogram.count as f64);
            write_sample(out, &format!("{name}_sum"), &[("route", route)], histogram.sum);
            write_sample(out, &format!("{name}_count"), &[("route", route)], histogram.count as f64);
        }
    }

    fn render_documents(&self, out: &mut String) {
        let name = "sameish_documents_total";
        write_header(out, name, "counter", "Number of documents created, replaced, deleted or expired.");
        for (DocumentLabels { event, collection }, count) in &*lock(&self.documents) {
            write_sample(out, name, &[("collection", collection), ("what", event)], *count as f64);
        }
    }
}

fn render_dropped_log_lines(out: &mut String, app: &App) {
    let name = "sameish_log_lines_dropped_total";
    write_header(out, name, "counter", "Number of log lines that could not be written.");
    write_sample(out, name, &[], app.log.get().map_or(0, LogQueue::dropped) as f64);
}

fn render_gauges(out: &mut String, app: &App) {
    let name = "sameish_collection_documents";
    write_header(out, name, "gauge", "Number of documents in a collection.");
    for collection in app.catalog.collections() {
        write_sample(out, name, &[("collection", collection.name())], collection.len() as f64);
    }
    let name = "sameish_collection_unavailable";
    write_header(out, name, "gauge", "1 if a collection cannot be used. Other collections have no sample.");
    for collection in app.catalog.unavailable() {
        write_sample(out, name, &[("collection", &collection.name)], 1.0);
    }
    let name = "sameish_expiry_paused";
    write_header(out, name, "gauge", "1 if the expiry of a collection needs a confirmation, otherwise 0.");
    for collection in app.catalog.collections() {
        let paused = app.paused_expiry.reason(collection.name());
        for reason in ["clock", "share"] {
            let labels = [("collection", collection.name()), ("reason", reason)];
            write_sample(out, name, &labels, f64::from(paused == Some(reason)));
        }
    }
    render_clusters(out, app);
    let is_healthy = matches!(app.catalog.health(), Health::Ready | Health::ReadOnly);
    let running = app.running.load(Ordering::Relaxed);
    let connections = app.connections.load(Ordering::Relaxed);
    for (name, help, value) in [
        ("sameish_connections", "Number of open connections.", connections as f64),
        ("sameish_event_streams", "Number of open event streams.", app.events.open() as f64),
        ("sameish_requests_running", "Number of requests in progress.", running as f64),
        ("sameish_requests_waiting", "Number of queued requests.", app.waiting() as f64),
        ("sameish_writes_waiting", "Number of queued writes.", app.catalog.waiting() as f64),
        ("sameish_body_bytes", "Bytes of bodies in memory.", app.memory.used() as f64),
        (
            "sameish_store_bytes",
            "Size of the store on disk in bytes.",
            app.catalog.bytes().unwrap_or(0) as f64,
        ),
        ("sameish_store_healthy", "1 if the store works normally, otherwise 0.", f64::from(is_healthy)),
        ("sameish_uptime_seconds", "Seconds since the service started.", app.started.elapsed().as_secs_f64()),
    ] {
        write_header(out, name, "gauge", help);
        write_sample(out, name, &[], value);
    }
    write_header(out, "sameish_build_info", "gauge", "Version of the service.");
    write_sample(out, "sameish_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
}

/// Chains and queued work on clusters of each collection.
fn render_clusters(out: &mut String, app: &App) {
    let stats: Vec<(String, Stats)> = app
        .catalog
        .collections()
        .iter()
        .filter_map(|collection| Some((collection.name().to_owned(), collection.stats().ok()?)))
        .collect();
    let mut render = |name: &str, help: &str, value: fn(&Stats) -> u64| {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        write_header(out, name, kind, help);
        for (collection, stats) in &stats {
            write_sample(out, name, &[("collection", collection)], value(stats) as f64);
        }
    };
    render(
        "sameish_collection_chained_documents",
        "Number of documents that joined their cluster through a document other than the center.",
        |stats| stats.chained,
    );
    render(
        "sameish_collection_pending_clusters",
        "Number of clusters whose documents are being assigned again after a deletion.",
        |stats| stats.pending_clusters,
    );
    render(
        "sameish_collection_clustering_failed",
        "1 if the latest attempt to assign documents to clusters again failed, otherwise 0.",
        |stats| u64::from(stats.clustering_error.is_some()),
    );
    render(
        "sameish_collection_capped_assignments_total",
        "Number of clusters that were chosen by a search that had reached a limit.",
        |stats| stats.capped_assignments,
    );
}

fn write_header(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string cannot fail.
    _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn write_sample(out: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
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
