//! Bulk requests: many documents to store or delete, with one response line per document.
//!
//! The request is read as it arrives. A worker thread splits it into lines and stores them in batches; response lines are sent as
//! soon as their documents are durable. A client can therefore stream without knowing the end of its input. A client that sends
//! everything before it reads is served as well, up to `limits.response_bytes` of response lines, which wait in memory; then the
//! service reads no more of the request until the client has read response lines.

mod lines;
mod responses;

use super::documents::{generated_id, idempotency_key, insert_bytes};
use super::{NDJSON, PathParams, Query, hints};
use crate::body::{self, Chunks, Format};
use crate::http::{RequestId, ResponseKind};
use crate::memory::BufferedBytes;
use crate::problem::{Kind, Problem};
use crate::response::BoundedList;
use crate::state::App;
use crate::wire::{
    BulkLine, BulkParams, BulkSummary, Deletion, Id, InsertResponse, NewDocument, Request as _,
    UnknownFields, Warning, check_sketches,
};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use lines::{Line, Lines};
use responses::{Reserved, ResponseLines, Stop, response_lines};
use sameish::{DocId, Document};
use sameish_io::json::Value;
use sameish_store::{Collection, Inserted, Pending};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// Number of chunks of the body that wait for the worker thread.
const QUEUED_CHUNKS: usize = 16;
/// Time that an incomplete batch waits for more lines.
const BATCH_DELAY: Duration = Duration::from_millis(2);
/// Number of bytes of a rejected request that are still read, so that the client sees the response.
const MAX_DISCARDED: usize = 64 << 20;

/// Store or delete many documents: NDJSON in, NDJSON out
///
/// The body contains one document per line; blank lines are skipped. A line `{"delete": id}` deletes the document with this id.
/// Lines take effect in order. Each line gets one response line with its own status, in order, as soon as it is durable. A
/// rejected line does not affect the others. With `summary=true`, a last response line counts the results. By default, a request
/// has at most 10,000 lines, 256 MiB and 15 minutes; beyond that, the last response line rejects the rest of the request. If 8 MiB
/// of response lines wait for a client that does not read them, the service stops reading the request. The body may be compressed
/// with gzip.
#[utoipa::path(
    post, path = "/api/v1/{collection}/bulk", tag = "documents",
    params(
        ("collection" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "For documents without an id: the same key generates the same ids. 1 to 256 bytes"),
        BulkParams,
    ),
    request_body(content = String, content_type = "application/x-ndjson"),
    responses((status = 200, description = "One line per document", body = BulkLine, content_type = "application/x-ndjson"))
)]
pub(crate) async fn bulk(
    State(app): State<App>,
    PathParams([name]): PathParams<1>,
    Query(params): Query<BulkParams>,
    request: Request,
) -> Result<Response, Problem> {
    let collection = app.collection(&name)?;
    let (parts, body) = request.into_parts();
    let key = idempotency_key(&parts.headers)?;
    let encoding = body::content_encoding(&parts.headers)?;
    body::check_content_type(&parts.headers, Format::JsonLines)?;
    body::check_content_length(&parts.headers, app.limits().bulk_bytes)?;
    let permit = app.bulk_permit()?;
    let mut chunks = Chunks::new(&app, body, app.limits().bulk_seconds);
    let Some(first) = chunks.next().await? else {
        return Err(Problem::new(Kind::BadRequest, "the body is empty; send one document per line"));
    };
    let (sender, received) = mpsc::channel(QUEUED_CHUNKS);
    let (responses, response_body) = response_lines(&app);
    tokio::spawn(forward_body(app.clone(), first, chunks, sender));
    let runtime = Handle::current();
    let line_bytes = insert_bytes(&app, &collection);
    let batch_lines = responses.max_lines(line_bytes).min(lines::BATCH_LINES);
    let worker = Worker {
        lines: Lines::new(encoding, app.limits(), batch_lines),
        line_bytes,
        runtime,
        buffered: BufferedBytes::new(&app),
        held: 0,
        app,
        collection,
        key,
        request_id: parts.extensions.get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default(),
        responses,
        params,
        summary: BulkSummary::default(),
        pending: None,
        first_unstored: None,
    };
    tokio::task::spawn_blocking(move || {
        worker.run(received);
        drop(permit);
    });
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static(NDJSON))];
    let mut response = (StatusCode::OK, headers, Body::new(response_body)).into_response();
    response.extensions_mut().insert(ResponseKind::Streamed);
    Ok(response)
}

/// Passes chunks to the worker as they arrive. After the worker has stopped, the rest of the body is read and discarded, so that
/// the client sees the response.
async fn forward_body(
    app: App,
    first: Bytes,
    mut chunks: Chunks,
    sender: mpsc::Sender<Result<Bytes, Problem>>,
) {
    let mut worker_runs = sender.send(Ok(first)).await.is_ok();
    let mut discarded = 0;
    while discarded <= MAX_DISCARDED {
        let next = tokio::select! {
            next = chunks.next() => next,
            () = sender.closed(), if worker_runs => {
                worker_runs = false;
                continue;
            }
            // During shutdown the rest is not read: the connection ends with the response.
            () = app.until_draining(), if !worker_runs => return,
        };
        match next {
            Ok(None) => return,
            Ok(Some(chunk)) if worker_runs => worker_runs = sender.send(Ok(chunk)).await.is_ok(),
            Ok(Some(chunk)) => discarded += chunk.len(),
            Err(problem) => {
                // Fails if the worker has stopped, which then has sent its last line.
                _ = sender.send(Err(problem)).await;
                return;
            }
        }
    }
}

/// Processes one bulk request on a thread that may block.
struct Worker {
    app: App,
    collection: Collection,
    key: Option<Vec<u8>>,
    request_id: String,
    lines: Lines,
    buffered: BufferedBytes,
    /// Number of bytes of lines in memory, including those of the batch that is being stored.
    held: usize,
    responses: ResponseLines,
    /// Maximum size of the response line of a stored document in bytes.
    line_bytes: usize,
    runtime: Handle,
    params: BulkParams,
    summary: BulkSummary,
    /// The batch that is being written while the next one is parsed.
    pending: Option<(Pending, Batch)>,
    /// The first line that was read and is not stored, because there is no memory for its response line.
    first_unstored: Option<u64>,
}

/// Lines whose response lines have memory reserved.
struct Batch {
    lines: Vec<ParsedLine>,
    reserved: Reserved,
}

/// A line whose document, if it is valid, is being stored or deleted.
struct ParsedLine {
    number: u64,
    id: Option<DocId>,
    /// Warnings about the document, or why the line is rejected.
    parsed: Result<Vec<Warning>, Problem>,
}

/// What a line asks for.
enum Operation {
    Store { document: Box<Document>, warnings: Vec<Warning> },
    Delete(DocId),
}

/// Consecutive lines that are all stored or all deleted. Rejected lines belong to either.
#[derive(Default)]
struct Run {
    lines: Vec<ParsedLine>,
    documents: Vec<Document>,
    deletions: Vec<DocId>,
}

impl Run {
    /// Returns `true` if an operation is of another kind than those of the run.
    fn ends_before(&self, operation: &Result<Operation, Problem>) -> bool {
        match operation {
            Ok(Operation::Store { .. }) => !self.deletions.is_empty(),
            Ok(Operation::Delete(_)) => !self.documents.is_empty(),
            Err(_) => false,
        }
    }

    fn push(&mut self, number: u64, operation: Result<Operation, Problem>) {
        let line = match operation {
            Ok(Operation::Store { document, warnings }) => {
                let id = Some(document.id.clone());
                self.documents.push(*document);
                ParsedLine { number, id, parsed: Ok(warnings) }
            }
            Ok(Operation::Delete(id)) => {
                self.deletions.push(id.clone());
                ParsedLine { number, id: Some(id), parsed: Ok(Vec::new()) }
            }
            Err(problem) => ParsedLine { number, id: None, parsed: Err(problem) },
        };
        self.lines.push(line);
    }
}

/// The effect of a line.
enum Done {
    Stored(Box<Inserted>),
    Deleted,
}

/// What happens next to a request that is being read.
enum Event {
    Chunk(Result<Bytes, Problem>),
    End,
    /// No chunk has arrived for a while.
    Pause,
    Shutdown,
}

/// Size from which response lines are sent, in bytes.
const SENT_BYTES: usize = 64 << 10;

impl Worker {
    fn run(mut self, mut chunks: mpsc::Receiver<Result<Bytes, Problem>>) {
        let mut result = self.read_all(&mut chunks);
        if self.first_unstored.is_none() && !matches!(result, Err(Stop::Disconnected)) {
            // What has been read before a rejection is stored.
            result = self.flush().and(result);
        }
        if matches!(result, Err(Stop::Disconnected)) || self.send_pending().is_err() {
            return;
        }
        if let Err(Stop::Rejected(problem)) = result {
            let number = self.first_unstored.unwrap_or(self.lines.count() + 1);
            let line = BulkLine::rejected(number, None, problem.body(&self.request_id));
            self.responses.send_last(line.to_json());
            self.summary.count_rejected();
        } else {
            self.summary.complete = true;
        }
        if self.params.summary.unwrap_or(false) {
            self.responses.send_last(self.summary.to_json());
        }
    }

    fn read_all(&mut self, chunks: &mut mpsc::Receiver<Result<Bytes, Problem>>) -> Result<(), Stop> {
        let runtime = self.runtime.clone();
        loop {
            match runtime.block_on(self.next_event(chunks)) {
                Event::Chunk(chunk) => self.feed(&chunk?)?,
                Event::End => return Ok(self.accounted(Lines::finish)?),
                Event::Pause => self.flush()?,
                Event::Shutdown => {
                    let detail = "the service is shutting down; send this line and the following ones again";
                    return Err(Problem::new(Kind::Draining, detail).into());
                }
            }
        }
    }

    /// Waits for the next event; only briefly if lines wait to be stored.
    async fn next_event(&self, chunks: &mut mpsc::Receiver<Result<Bytes, Problem>>) -> Event {
        let is_idle = self.lines.is_empty() && self.pending.is_none();
        tokio::select! {
            biased;
            () = self.app.until_draining() => Event::Shutdown,
            chunk = chunks.recv() => chunk.map_or(Event::End, Event::Chunk),
            () = tokio::time::sleep(BATCH_DELAY), if !is_idle => Event::Pause,
        }
    }

    /// Splits a chunk into lines. A chunk may decompress to a thousand times its size, so full batches are stored in between.
    fn feed(&mut self, chunk: &[u8]) -> Result<(), Stop> {
        for bytes in chunk.chunks(lines::FEED_BYTES) {
            self.accounted(|lines| lines.feed(bytes))?;
            while self.lines.has_full_batch() {
                self.store_batch()?;
            }
        }
        Ok(())
    }

    /// Changes the lines and counts the change of their size against the memory budget.
    fn accounted(&mut self, change: impl FnOnce(&mut Lines) -> Result<(), Problem>) -> Result<(), Problem> {
        let before = self.lines.bytes();
        let result = change(&mut self.lines);
        let after = self.lines.bytes();
        self.held = (self.held + after).saturating_sub(before);
        self.buffered.shrink_to(self.held);
        result.and(self.buffered.reserve_up_to(self.held, 0))
    }

    /// Stores all complete lines and sends their response lines.
    fn flush(&mut self) -> Result<(), Stop> {
        while !self.lines.is_empty() {
            self.store_batch()?;
        }
        self.send_pending()
    }

    fn store_batch(&mut self) -> Result<(), Stop> {
        let lines = self.lines.take_batch();
        let bytes: usize = lines.iter().map(|line| line.bytes.len()).sum();
        let mut run = Run::default();
        for line in lines {
            let operation = self.parse(&line);
            if run.ends_before(&operation) {
                self.apply(std::mem::take(&mut run))?;
            }
            run.push(line.number, operation);
        }
        self.apply(run)?;
        self.held = self.held.saturating_sub(bytes);
        self.buffered.shrink_to(self.held);
        Ok(())
    }

    fn apply(&mut self, run: Run) -> Result<(), Stop> {
        let Run { lines, documents, deletions } = run;
        let reserved = self.reserve_responses(&lines)?;
        let batch = Batch { lines, reserved };
        if !deletions.is_empty() {
            self.send_pending()?;
            let deleted = self.collection.delete_many(deletions);
            return self
                .send_batch(batch, deleted.map(|existed| existed.into_iter().map(deletion).collect()));
        }
        // Sketches this batch while the previous one is written.
        let submitted = self.collection.submit(documents);
        self.send_pending()?;
        match submitted {
            Ok(pending) => self.pending = Some((pending, batch)),
            Err(error) => self.send_batch(batch, Err(error))?,
        }
        Ok(())
    }

    /// Reserves memory for the response lines of a batch before it is stored: afterwards no response line must be missing.
    fn reserve_responses(&mut self, lines: &[ParsedLine]) -> Result<Reserved, Stop> {
        let line_bytes = |line: &ParsedLine| match &line.parsed {
            Ok(_) => self.line_bytes,
            Err(problem) => self.rejected(line.number, None, problem).to_json().len(),
        };
        let bytes = lines.iter().map(line_bytes).sum();
        let reserved = match self.responses.try_reserve(bytes) {
            Ok(Some(reserved)) => return Ok(reserved),
            Err(problem) => Err(problem.into()),
            Ok(None) => {
                // The client must read. It can read the lines of the previous batch, too.
                self.send_pending()?;
                self.runtime.block_on(self.responses.reserve(bytes))
            }
        };
        if reserved.is_err() {
            self.first_unstored = lines.first().map(|line| line.number);
        }
        reserved
    }

    fn rejected(&self, number: u64, id: Option<DocId>, problem: &Problem) -> BulkLine {
        BulkLine::rejected(number, id.map(Id), problem.body(&self.request_id))
    }

    fn parse(&self, line: &Line) -> Result<Operation, Problem> {
        let max = self.app.limits().line_bytes;
        if line.bytes.len() > max {
            return Err(Problem::new(
                Kind::TooLarge,
                format!(
                    "the line is longer than {max} bytes; shorten the text; with curl, send the file with `--data-binary @FILE`, \
                     because `-d` removes line breaks"
                ),
            ));
        }
        let value = body::parse_value(&line.bytes).map_err(|problem| {
            let hint = problem.offset.and_then(|offset| hints::for_broken_line(&line.bytes, offset));
            hints::add(problem, hint)
        })?;
        if matches!(&value, Value::Object(fields) if fields.iter().any(|(name, _)| name == "delete")) {
            let deletion = Deletion::from_json(value, self.app.limits(), UnknownFields::Reject)?;
            return Ok(Operation::Delete(deletion.delete.0));
        }
        let document = NewDocument::from_json(value, self.app.limits(), self.params.unknown_fields())?;
        let warnings = document.warnings();
        let default_id = || generated_id(&self.app, self.key.as_deref(), Some(line.number));
        let document = document.into_document(default_id)?;
        check_sketches(self.collection.analyzer(), &document)?;
        Ok(Operation::Store { document: Box::new(document), warnings })
    }

    /// Waits for the batch that is being written and sends its response lines.
    fn send_pending(&mut self) -> Result<(), Stop> {
        match self.pending.take() {
            Some((pending, batch)) => {
                let stored =
                    |inserted: sameish_store::Result<Inserted>| Ok(Done::Stored(Box::new(inserted?)));
                let results = pending.wait().map(|results| results.into_iter().map(stored).collect());
                self.send_batch(batch, results)
            }
            None => Ok(()),
        }
    }

    fn send_batch(
        &mut self,
        batch: Batch,
        done: sameish_store::Result<Vec<Result<Done, Problem>>>,
    ) -> Result<(), Stop> {
        let Batch { lines, mut reserved } = batch;
        let mut batch_failure = None;
        let done = done.unwrap_or_else(|error| {
            batch_failure = Some(Problem::from(error));
            Vec::new()
        });
        let mut done = done.into_iter();
        let mut bytes = Vec::new();
        let mut rejected = 0;
        for ParsedLine { number, id, parsed } in lines {
            let result = parsed.and_then(|warnings| match (&mut batch_failure, done.next()) {
                (Some(failure), _) => {
                    let problem = failure.clone();
                    // Logged once per batch.
                    failure.cause = None;
                    Err(problem)
                }
                (None, Some(done)) => Ok((done?, warnings)),
                (None, None) => Err(Problem::internal("the store returned no result for a document")),
            });
            match result {
                Ok((Done::Stored(inserted), warnings)) => {
                    bytes.append(&mut self.stored_line(number, *inserted, warnings, &mut reserved));
                }
                Ok((Done::Deleted, _)) => bytes.append(&mut self.deleted_line(number, id)),
                Err(problem) => {
                    rejected += u64::from(problem.rejects_document());
                    self.summary.count_rejected();
                    bytes.append(&mut self.rejected(number, id, &problem).to_json());
                }
            }
            if bytes.len() >= SENT_BYTES {
                self.responses.send(std::mem::take(&mut bytes), &mut reserved)?;
            }
        }
        self.collection.count_rejected(rejected);
        if bytes.is_empty() { Ok(()) } else { self.responses.send(bytes, &mut reserved) }
    }

    fn deleted_line(&mut self, number: u64, id: Option<DocId>) -> Vec<u8> {
        self.app.metrics.count_documents("deleted", self.collection.name(), 1);
        self.summary.count_deleted();
        BulkLine::deleted(number, id.map(Id)).to_json()
    }

    fn stored_line(
        &mut self,
        number: u64,
        inserted: Inserted,
        warnings: Vec<Warning>,
        reserved: &mut Reserved,
    ) -> Vec<u8> {
        self.app.metrics.count_documents(inserted.outcome.name(), self.collection.name(), 1);
        let memory = reserved.memory.split(self.line_bytes);
        let max = self.line_bytes - InsertResponse::max_bytes(0);
        let has_duplicates = !inserted.duplicates.is_empty();
        let (response, memory) = InsertResponse::new(inserted, warnings, BoundedList::within(memory, max));
        self.summary.count_stored(&response, has_duplicates);
        let line = BulkLine::stored(number, response).to_json();
        reserved.memory.absorb(memory);
        line
    }
}

/// Returns the effect of a deletion.
fn deletion(existed: bool) -> Result<Done, Problem> {
    let missing = || Problem::new(Kind::NotFound, "no document has this id");
    existed.then_some(Done::Deleted).ok_or_else(missing)
}
