//! Limits on sizes, times and concurrency.

use serde::{Deserialize, Serialize};

/// Limits on sizes, times and concurrency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Maximum size of a request body in bytes, compressed and decompressed.
    pub body_bytes: usize,
    /// Maximum size of the body of a bulk request in bytes.
    pub bulk_bytes: usize,
    /// Maximum length of a line of a bulk request in bytes.
    pub line_bytes: usize,
    /// Maximum number of lines of a bulk request, blank lines included.
    pub bulk_documents: usize,
    /// Maximum number of concurrent bulk requests.
    pub bulk_requests: usize,
    /// Maximum size of the text of a document in bytes.
    pub text_bytes: usize,
    /// Maximum size of the request line and all headers in bytes.
    pub header_bytes: usize,
    /// Maximum number of headers.
    pub headers: usize,
    /// Maximum length of a URI in bytes.
    pub uri_bytes: usize,
    /// Timeout of the headers of a request in seconds.
    pub header_seconds: u64,
    /// Timeout of the body of a bulk request in seconds.
    pub bulk_seconds: u64,
    /// Timeout of the body of any other request in seconds.
    pub body_seconds: u64,
    /// Minimum data rate of a body in bytes per second, after the first ten seconds.
    pub body_rate: u64,
    /// Timeout of the processing of a request in seconds.
    pub handler_seconds: u64,
    /// Timeout of an idle connection in seconds.
    pub idle_seconds: u64,
    /// Timeout of a client that does not read its response in seconds.
    pub write_seconds: u64,
    /// Maximum time that the service waits for a client to read one response, in seconds.
    pub response_seconds: u64,
    /// Minimum data rate at which a client reads a response in bytes per second, after the first ten seconds.
    pub response_rate: u64,
    /// Time for running requests during shutdown in seconds.
    pub drain_seconds: u64,
    /// Maximum number of connections. Beyond it the longest idle connection is closed, or the new one if none is idle.
    pub connections: usize,
    /// Maximum number of concurrent requests; 0 for 64 per core. The requests for one collection may use three quarters.
    pub in_flight: usize,
    /// Maximum number of queued requests. Beyond it requests get 503.
    pub queue: usize,
    /// Maximum size of all request and response bodies in memory, in bytes, except the first 16 KiB of each. With two or more keys
    /// each key may use half.
    pub buffered_bytes: usize,
    /// Maximum size of a response with a list in bytes. Beyond it the list is cut and the response says that it is capped.
    pub response_bytes: usize,
    /// Maximum size of the stored texts that one search or list reads, in bytes. Beyond it the response says that it is capped.
    pub search_bytes: usize,
    /// Maximum number of matches or clusters in a response; larger requested limits are lowered to it.
    pub results: usize,
    /// Rate limit of a key in requests per second.
    pub key_rate: u32,
    /// Burst of a key in requests.
    pub key_burst: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body_bytes: 8 << 20,
            bulk_bytes: 256 << 20,
            line_bytes: 2 << 20,
            bulk_documents: 10_000,
            bulk_requests: 16,
            text_bytes: 1 << 20,
            header_bytes: 32 << 10,
            headers: 100,
            uri_bytes: 8 << 10,
            header_seconds: 10,
            bulk_seconds: 900,
            body_seconds: 60,
            body_rate: 1 << 10,
            handler_seconds: 30,
            idle_seconds: 60,
            write_seconds: 30,
            response_seconds: 300,
            response_rate: 1 << 10,
            drain_seconds: 8,
            connections: 16_384,
            in_flight: 0,
            queue: 256,
            buffered_bytes: 512 << 20,
            response_bytes: 8 << 20,
            search_bytes: 64 << 20,
            results: 1_000,
            key_rate: 1_000,
            key_burst: 2_000,
        }
    }
}

impl Limits {
    pub(super) fn check(&self, faults: &mut Vec<String>) {
        let minimums = [
            ("body_bytes", self.body_bytes, 1 << 10),
            ("bulk_bytes", self.bulk_bytes, 1 << 10),
            ("line_bytes", self.line_bytes, 1 << 10),
            ("bulk_documents", self.bulk_documents, 1),
            ("bulk_requests", self.bulk_requests, 1),
            ("text_bytes", self.text_bytes, 1),
            ("header_bytes", self.header_bytes, 1 << 10),
            ("headers", self.headers, 10),
            ("uri_bytes", self.uri_bytes, 256),
            ("connections", self.connections, 1),
            ("buffered_bytes", self.buffered_bytes, 1 << 20),
            ("response_bytes", self.response_bytes, 64 << 10),
            ("search_bytes", self.search_bytes, 1 << 20),
            ("results", self.results, 1),
            ("header_seconds", self.header_seconds as usize, 1),
            ("bulk_seconds", self.bulk_seconds as usize, 1),
            ("body_seconds", self.body_seconds as usize, 1),
            ("handler_seconds", self.handler_seconds as usize, 1),
            ("idle_seconds", self.idle_seconds as usize, 1),
            ("write_seconds", self.write_seconds as usize, 1),
            ("response_seconds", self.response_seconds as usize, 1),
            ("key_rate", self.key_rate as usize, 1),
            ("key_burst", self.key_burst as usize, 1),
        ];
        for (name, value, minimum) in minimums {
            if value < minimum {
                faults.push(format!("`limits.{name}` is {value}, minimum is {minimum}"));
            }
        }
        if self.text_bytes > self.body_bytes {
            faults.push("`limits.text_bytes` must not be larger than `limits.body_bytes`".into());
        }
        if self.line_bytes > self.bulk_bytes {
            faults.push("`limits.line_bytes` must not be larger than `limits.bulk_bytes`".into());
        }
        if self.buffered_bytes < self.body_bytes {
            faults.push("`limits.buffered_bytes` must not be smaller than `limits.body_bytes`".into());
        }
    }

    /// Returns the maximum size of a response with a list in bytes. Several such responses fit in the memory budget.
    pub(crate) fn response_limit(&self) -> usize {
        self.response_bytes.min(self.buffered_bytes / 4)
    }

    /// Returns the maximum number of concurrent requests.
    pub(crate) fn in_flight(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
        if self.in_flight == 0 { 64 * cores() } else { self.in_flight }
    }
}
