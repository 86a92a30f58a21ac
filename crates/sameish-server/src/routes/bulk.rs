//! Many documents in one request, answered line by line.
//!
//! The request is read as it comes, a thread of its own cuts it into lines, reads and stores them some hundred at a time,
//! and the answers go out as soon as they are durable. So a client may stream without end of its input in sight, and one
//! that first sends all and then reads is served as well: answers wait for it in memory, within the limit on documents.

use super::documents::{idempotency_key, made_id};
use super::{NDJSON, Names};
use crate::body::{self, Packing, Pieces, Takes};
use crate::http::{RequestId, Streamed};
use crate::json::Json;
use crate::problem::{Kind, Problem};
use crate::state::{App, Held};
use crate::wire::{BulkLine, Id, InsertAnswer, New};
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hyper::body::Frame;
use sameish::{DocId, Document};
use sameish_store::{Collection, Inserted, Pending};
use std::convert::Infallible;
use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;

/// Documents that are stored together, at most.
const BATCH: usize = 256;
/// Bytes of lines that are stored together, at most.
const BATCH_BYTES: usize = 4 << 20;
/// Pieces of the body that wait to be cut.
const WAITING: usize = 16;
/// For so long a batch waits for more before it is stored.
const MORE: Duration = Duration::from_millis(2);
/// What is still read and thrown away of a request that was given up.
const THROWN_AWAY: usize = 64 << 20;

/// Store many documents: NDJSON in, NDJSON out
///
/// One document a line; blank lines get no answer. Each line has its own answer with its own status, in order, as soon as
/// it is durable: one that is rejected keeps no other out. Up to 10,000 lines, 256 MiB and 15 minutes; a line that breaks these
/// limits is answered as rejected and ends the request. The body may be packed with gzip.
#[utoipa::path(
    post, path = "/api/v1/{collection}/bulk", tag = "documents",
    params(
        ("collection" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "For documents without an id: the same key makes the same ids"),
    ),
    request_body(content = String, content_type = "application/x-ndjson"),
    responses((status = 200, description = "A line for each document", body = BulkLine, content_type = "application/x-ndjson"))
)]
pub(crate) async fn bulk(
    State(app): State<App>,
    Names([name]): Names<1>,
    request: Request,
) -> Result<Response, Problem> {
    let collection = app.collection(&name)?;
    let (parts, body) = request.into_parts();
    let key = idempotency_key(&parts.headers)?;
    let packing = body::packing(&parts.headers)?;
    body::check_type(&parts.headers, Takes::Lines)?;
    body::check_length(&parts.headers, app.limits().bulk_bytes)?;
    let room = app.bulk()?;
    let mut pieces = Pieces::new(&app, body, app.limits().bulk_seconds);
    let Some(first) = pieces.next().await? else {
        return Err(Problem::new(Kind::BadRequest, "the body is empty: send a document a line"));
    };
    let (sender, receiver) = mpsc::channel(WAITING);
    let (answers, answered) = mpsc::unbounded_channel();
    tokio::spawn(feed(app.clone(), first, pieces, sender));
    let runtime = tokio::runtime::Handle::current();
    let request_id = parts.extensions.get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
    let work = Bulk {
        lines: Lines::new(packing, &app),
        held: Held::none(&app),
        app,
        collection,
        key,
        request_id,
        answers,
        pending: None,
    };
    tokio::task::spawn_blocking(move || {
        work.run(receiver, &runtime);
        drop(room);
    });
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static(NDJSON))];
    let mut response = (StatusCode::OK, headers, Body::new(Answers(answered))).into_response();
    response.extensions_mut().insert(Streamed);
    Ok(response)
}

/// Hands pieces on as they come. When nobody wants them any more, the rest is read all the same, so that the client gets
/// to see its answers.
async fn feed(app: App, first: Bytes, mut pieces: Pieces, sender: mpsc::Sender<Result<Bytes, Problem>>) {
    let mut wanted = sender.send(Ok(first)).await.is_ok();
    let mut thrown_away = 0;
    loop {
        let next = tokio::select! {
            next = pieces.next() => next,
            () = sender.closed(), if wanted => {
                wanted = false;
                continue;
            }
            // When the service stops there is no time for that: the connection ends with the answers.
            () = app.until_draining(), if !wanted => return,
        };
        match next {
            Ok(None) => return,
            Ok(Some(piece)) if wanted => wanted = sender.send(Ok(piece)).await.is_ok(),
            Ok(Some(piece)) => thrown_away += piece.len(),
            Err(problem) => {
                // Nobody may be left to be told.
                _ = sender.send(Err(problem)).await;
                return;
            }
        }
        if thrown_away > THROWN_AWAY {
            return;
        }
    }
}

/// The answers as a body.
struct Answers(mpsc::UnboundedReceiver<Bytes>);

impl HttpBody for Answers {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// One bulk request at work.
struct Bulk {
    app: App,
    collection: Collection,
    key: Option<Vec<u8>>,
    request_id: String,
    lines: Lines,
    held: Held,
    answers: mpsc::UnboundedSender<Bytes>,
    /// Documents that are being written while the next are read.
    pending: Option<(Pending, Vec<Item>)>,
}

/// What is known of a line before its documents are stored.
struct Item {
    line: u64,
    id: Option<DocId>,
    read: Result<Vec<&'static str>, Problem>,
}

/// Nobody listens any more.
struct Gone;

/// What happens next to a request that is being read.
enum Next {
    Piece(Result<Bytes, Problem>),
    End,
    /// Nothing has come for a while.
    Later,
    /// The service stops.
    Stop,
}

impl Bulk {
    fn run(mut self, mut pieces: mpsc::Receiver<Result<Bytes, Problem>>, runtime: &tokio::runtime::Handle) {
        let end = self.take_all(&mut pieces, runtime);
        if let Ok(Err((line, problem))) = end {
            // What came before the fault has been answered.
            _ = self.say(&[BulkLine::rejected(line, None, problem.body(&self.request_id))]);
        }
    }

    /// Takes all lines; an inner error is one of the request as a whole.
    fn take_all(
        &mut self,
        pieces: &mut mpsc::Receiver<Result<Bytes, Problem>>,
        runtime: &tokio::runtime::Handle,
    ) -> Result<Result<(), (u64, Problem)>, Gone> {
        loop {
            let (taken, ended) = match runtime.block_on(self.next(pieces)) {
                Next::Piece(Ok(piece)) => (self.take(&piece)?, false),
                Next::Piece(Err(problem)) => (Err(problem), false),
                Next::End => (self.claimed(Lines::finish), true),
                // Nothing more for the moment: what is there is stored now.
                Next::Later => {
                    self.settle(true)?;
                    continue;
                }
                Next::Stop => {
                    let detail =
                        "the service is stopping: send this line and what follows to another, or later";
                    (Err(Problem::new(Kind::Draining, detail)), false)
                }
            };
            if taken.is_err() || ended {
                let line = self.lines.count + 1;
                return self.settle(true).map(|()| taken.map_err(|problem| (line, problem)));
            }
        }
    }

    /// Waits for the next piece; not for long where something waits to be stored, and not at all when the service stops.
    async fn next(&self, pieces: &mut mpsc::Receiver<Result<Bytes, Problem>>) -> Next {
        let idle = self.lines.is_empty() && self.pending.is_none();
        tokio::select! {
            biased;
            () = self.app.until_draining() => Next::Stop,
            piece = pieces.recv() => piece.map_or(Next::End, Next::Piece),
            () = tokio::time::sleep(MORE), if !idle => Next::Later,
        }
    }

    /// Takes one piece in. It may unpack to a thousand times its size, so what is whole is stored in between.
    fn take(&mut self, piece: &[u8]) -> Result<Result<(), Problem>, Gone> {
        for bytes in piece.chunks(FED_AT_A_TIME) {
            if let Err(problem) = self.claimed(|lines| lines.feed(bytes)) {
                return Ok(Err(problem));
            }
            self.settle(false)?;
        }
        Ok(Ok(()))
    }

    /// Has lines cut, and counts what waits in them against the budget of bytes.
    fn claimed(&mut self, cut: impl FnOnce(&mut Lines) -> Result<(), Problem>) -> Result<(), Problem> {
        let before = self.lines.waiting();
        let done = cut(&mut self.lines);
        let after = self.lines.waiting();
        self.held.less(before.saturating_sub(after));
        done.and(self.held.more(after.saturating_sub(before)))
    }

    /// Stores batches: whole ones, or all there is.
    fn settle(&mut self, all: bool) -> Result<(), Gone> {
        while self.lines.is_batch() || all && !self.lines.is_empty() {
            let lines = self.lines.batch();
            self.store(lines)?;
        }
        if all { self.answer_pending() } else { Ok(()) }
    }

    fn store(&mut self, lines: Vec<(u64, Vec<u8>)>) -> Result<(), Gone> {
        let bytes: usize = lines.iter().map(|(_, line)| line.len()).sum();
        let mut documents = Vec::with_capacity(lines.len());
        let mut items = Vec::with_capacity(lines.len());
        for (number, line) in lines {
            items.push(match self.read(number, &line) {
                Ok((document, warnings)) => {
                    let id = Some(document.id.clone());
                    documents.push(document);
                    Item { line: number, id, read: Ok(warnings) }
                }
                Err(problem) => Item { line: number, id: None, read: Err(problem) },
            });
        }
        // Sketches of these are made while the ones before are written.
        let submitted = self.collection.submit(documents);
        self.answer_pending()?;
        self.held.less(bytes);
        match submitted {
            Ok(pending) => self.pending = Some((pending, items)),
            Err(error) => self.answer(items, Err(error))?,
        }
        Ok(())
    }

    fn read(&self, number: u64, line: &[u8]) -> Result<(Document, Vec<&'static str>), Problem> {
        let most = self.app.limits().line_bytes;
        if line.len() > most {
            let detail = format!("the line has more than {most} bytes");
            return Err(Problem::new(Kind::TooLarge, detail));
        }
        let mut new = New::read(Json::parse(line)?, self.app.limits())?;
        let warnings = std::mem::take(&mut new.warnings);
        Ok((new.named(|| made_id(&self.app, self.key.as_deref(), Some(number))), warnings))
    }

    fn answer_pending(&mut self) -> Result<(), Gone> {
        match self.pending.take() {
            Some((pending, items)) => self.answer(items, pending.wait()),
            None => Ok(()),
        }
    }

    /// Says what became of a batch's lines.
    fn answer(
        &self,
        items: Vec<Item>,
        stored: sameish_store::Result<Vec<sameish_store::Result<Inserted>>>,
    ) -> Result<(), Gone> {
        let (mut stored, mut fault) = match stored {
            Ok(stored) => (stored.into_iter(), None),
            Err(error) => (Vec::new().into_iter(), Some(Problem::from(error))),
        };
        let mut answers = Vec::with_capacity(items.len());
        for Item { line, id, read } in items {
            let outcome = match (read, &mut fault) {
                (Err(problem), _) => Err(problem),
                (Ok(_), Some(fault)) => {
                    let told = fault.clone();
                    // The log has it once.
                    fault.cause = None;
                    Err(told)
                }
                (Ok(warnings), None) => match stored.next() {
                    Some(Ok(inserted)) => Ok((inserted, warnings)),
                    Some(Err(error)) => Err(error.into()),
                    None => Err(Problem::internal("a document without an answer")),
                },
            };
            answers.push(match outcome {
                Ok((inserted, warnings)) => {
                    self.app.metrics.documents(inserted.outcome.name(), self.collection.name(), 1);
                    BulkLine::stored(line, InsertAnswer::new(inserted, warnings))
                }
                Err(problem) => BulkLine::rejected(line, id.map(Id), problem.body(&self.request_id)),
            });
        }
        self.say(&answers)
    }

    fn say(&self, lines: &[BulkLine]) -> Result<(), Gone> {
        let mut bytes = Vec::with_capacity(256 * lines.len());
        for line in lines {
            serde_json::to_writer(&mut bytes, line).map_err(|_| Gone)?;
            bytes.push(b'\n');
        }
        if bytes.is_empty() {
            return Ok(());
        }
        self.answers.send(bytes.into()).map_err(|_| Gone)
    }
}

/// Cuts a stream of bytes, packed or not, into lines.
struct Lines {
    unpack: Option<flate2::write::MultiGzDecoder<Vec<u8>>>,
    /// The line that has not ended.
    open: Vec<u8>,
    ready: Vec<(u64, Vec<u8>)>,
    ready_bytes: usize,
    /// Lines seen, blank ones too.
    count: u64,
    total: usize,
    most_total: usize,
    most_line: usize,
    most_documents: usize,
}

/// So much of a body is taken in at a time: where it is packed, a kilobyte unpacks to a megabyte at most.
const FED_AT_A_TIME: usize = 1 << 10;

impl Lines {
    fn new(packing: Packing, app: &App) -> Lines {
        let limits = app.limits();
        Lines {
            unpack: (packing == Packing::Gzip).then(|| flate2::write::MultiGzDecoder::new(Vec::new())),
            open: Vec::new(),
            ready: Vec::new(),
            ready_bytes: 0,
            count: 0,
            total: 0,
            most_total: limits.bulk_bytes,
            most_line: limits.line_bytes,
            most_documents: limits.bulk_documents,
        }
    }

    fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// Bytes that wait to be stored.
    fn waiting(&self) -> usize {
        self.open.len() + self.ready_bytes
    }

    fn is_batch(&self) -> bool {
        self.ready.len() >= BATCH || self.ready_bytes >= BATCH_BYTES
    }

    /// The lines of the next batch.
    fn batch(&mut self) -> Vec<(u64, Vec<u8>)> {
        let mut bytes = 0;
        let fits = |line: &&(u64, Vec<u8>)| {
            bytes += line.1.len();
            bytes <= BATCH_BYTES
        };
        let number = self.ready.iter().take(BATCH).take_while(fits).count().max(1);
        let rest = self.ready.split_off(number.min(self.ready.len()));
        let batch = std::mem::replace(&mut self.ready, rest);
        self.ready_bytes -= batch.iter().map(|(_, line)| line.len()).sum::<usize>();
        batch
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let Some(unpack) = &mut self.unpack else { return self.cut(bytes) };
        unpack.write_all(bytes).map_err(|_| body::bad_gzip())?;
        let unpacked = std::mem::take(unpack.get_mut());
        self.cut(&unpacked)
    }

    fn finish(&mut self) -> Result<(), Problem> {
        if let Some(unpack) = self.unpack.take() {
            let unpacked = unpack.finish().map_err(|_| body::bad_gzip())?;
            self.cut(&unpacked)?;
        }
        match self.open.is_empty() {
            true => Ok(()),
            false => self.end_line(),
        }
    }

    fn cut(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.total += bytes.len();
        if self.total > self.most_total {
            return Err(body::too_large(self.most_total));
        }
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, ends) = piece.strip_suffix(b"\n").map_or((piece, false), |text| (text, true));
            // Of a line that is too long one byte too many is kept, by which it is known.
            let room = (self.most_line + 1).saturating_sub(self.open.len());
            self.open.extend_from_slice(&text[..text.len().min(room)]);
            if ends {
                self.end_line()?;
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), Problem> {
        let line = std::mem::take(&mut self.open);
        if self.count == self.most_documents as u64 {
            let detail =
                format!("more than {} lines in one request: send the rest in another", self.most_documents);
            return Err(Problem::new(Kind::TooLarge, detail));
        }
        self.count += 1;
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        self.ready_bytes += line.len();
        self.ready.push((self.count, line));
        Ok(())
    }
}
