//! Streams of events.
//!
//! The events of a collection are read from the store once, by a publisher, and passed to all streams through a bounded channel. The
//! writer only signals that it has committed, so no reader delays it. A stream first reads from the store what its client missed. A
//! client that reads so slowly that the channel overtakes it is disconnected, and can continue where it stopped.

use crate::problem::{Kind, Problem};
use crate::shares::{Shares, key_share};
use crate::state::App;
use crate::wire::EventResponse;
use bytes::Bytes;
use sameish_store::Collection;
use std::collections::HashMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, broadcast, mpsc, watch};

/// Number of batches that a stream can be behind, so that the batches of a collection take at most 4 MiB.
const BEHIND: usize = 64;
/// Maximum number of events that are read at a time, and size in bytes from which on a batch is complete.
const BATCH: usize = 500;
const BATCH_BYTES: usize = 64 << 10;
/// Size of a batch that one stream reads for itself.
const OWN_BATCH_BYTES: usize = 16 << 10;
/// Number of streams that read from the store at the same time.
const READERS: usize = 8;
/// Time between two comments that keep an idle connection open.
const PING: Duration = Duration::from_secs(15);
/// Time after which a failed read is repeated, and after which a publisher without streams ends.
const RETRY: Duration = Duration::from_secs(1);
/// Time between two batches per open stream, and its maximum. Many streams get fewer and larger batches, so that sending takes a bounded
/// share of the processor time.
const PACE_PER_STREAM: Duration = Duration::from_millis(2);
const MAX_PACE: Duration = Duration::from_secs(1);
/// Number of groups of streams that receive a batch one after the other, within half of the time between two batches. Otherwise all
/// streams would send at the same moment, and requests would wait.
const GROUPS: u32 = 16;

/// The streams of all collections.
pub(crate) struct EventHub {
    /// Changes after every commit.
    commits: watch::Sender<()>,
    publishers: Mutex<HashMap<String, Publisher>>,
    open: Arc<Shares<AtomicUsize>>,
    /// Limits how many streams read from the store at the same time.
    readers: Semaphore,
    /// Number of streams that were ever opened.
    opened: AtomicU32,
}

struct Publisher {
    collection: Collection,
    batches: broadcast::Sender<Arc<Batch>>,
}

/// Events as they are sent.
struct Batch {
    text: Bytes,
    /// Sequence number of each event, and where its text ends.
    ends: Vec<(u64, usize)>,
    /// The last sequence number. Damaged events have no text.
    last: u64,
    /// The oldest sequence number that was kept after the batch was read. Events are deleted from the beginning, so those after it were
    /// kept before, too.
    oldest: u64,
    /// Time until the next batch, within which the streams send this one.
    pace: Duration,
}

/// A permit for one open stream. Released on drop.
pub(crate) struct OpenStream {
    open: Arc<Shares<AtomicUsize>>,
    key: Option<usize>,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let counts = self.open.of_key(self.key).into_iter().chain([&self.open.total]);
        counts.for_each(|count| _ = count.fetch_sub(1, Ordering::Relaxed));
    }
}

/// A stream that has not started.
pub(crate) struct Subscription {
    collection: Collection,
    batches: broadcast::Receiver<Arc<Batch>>,
    group: u32,
    _open: OpenStream,
}

impl EventHub {
    pub(crate) fn new(keys: usize) -> EventHub {
        EventHub {
            commits: watch::Sender::new(()),
            publishers: Mutex::default(),
            open: Arc::new(Shares::new(keys, AtomicUsize::new(0), || AtomicUsize::new(0))),
            readers: Semaphore::new(READERS),
            opened: AtomicU32::new(0),
        }
    }

    /// Returns a function that wakes the publishers and never blocks.
    pub(crate) fn notifier(&self) -> impl Fn() + Send + Sync + 'static {
        let commits = self.commits.clone();
        move || {
            commits.send_replace(());
        }
    }

    /// Returns the number of open streams.
    pub(crate) fn open(&self) -> usize {
        self.open.total.load(Ordering::Relaxed)
    }

    /// Takes a permit for a stream of a key. Returns a problem if `max` streams are open, or if the key has its share of them.
    pub(crate) fn enter(&self, key: Option<usize>, max: usize) -> Result<OpenStream, Problem> {
        // Dropping the permit takes the stream off both counts.
        let permit = OpenStream { open: Arc::clone(&self.open), key };
        let of_key = self.open.of_key(key).map(|count| count.fetch_add(1, Ordering::Relaxed));
        if self.open.total.fetch_add(1, Ordering::Relaxed) >= max {
            return Err(Problem::new(Kind::Busy, "too many event streams are open; retry in a second"));
        }
        if of_key.is_some_and(|count| count >= key_share(max)) {
            let detail = "this key has its share of the event streams, which is half; close some of them";
            return Err(Problem::new(Kind::TooManyRequests, detail));
        }
        Ok(permit)
    }

    fn publishers(&self) -> MutexGuard<'_, HashMap<String, Publisher>> {
        self.publishers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribes to the events of a collection from now on. Must be called in the runtime.
    pub(crate) fn subscribe(
        app: &App,
        collection: &Collection,
        open: OpenStream,
    ) -> Result<Subscription, Problem> {
        let position = collection.event_range()?.newest;
        let mut publishers = app.events.publishers();
        let known = publishers.get(collection.name()).filter(|known| known.collection.is_same(collection));
        let batches = match known {
            Some(known) => known.batches.subscribe(),
            None => {
                let (sender, receiver) = broadcast::channel(BEHIND);
                let publisher = Publisher { collection: collection.clone(), batches: sender.clone() };
                publishers.insert(collection.name().to_owned(), publisher);
                tokio::spawn(publish(app.clone(), collection.clone(), sender, position));
                receiver
            }
        };
        let group = app.events.opened.fetch_add(1, Ordering::Relaxed) % GROUPS;
        Ok(Subscription { collection: collection.clone(), batches, group, _open: open })
    }

    /// Removes a publisher if it has no streams.
    fn remove_unused(&self, name: &str, batches: &broadcast::Sender<Arc<Batch>>) -> bool {
        let mut publishers = self.publishers();
        let is_unused = batches.receiver_count() == 0;
        if is_unused && publishers.get(name).is_some_and(|known| known.batches.same_channel(batches)) {
            publishers.remove(name);
        }
        is_unused
    }
}

/// Reads the events of a collection after each commit, and passes them to all streams.
async fn publish(
    app: App,
    collection: Collection,
    batches: broadcast::Sender<Arc<Batch>>,
    mut position: u64,
) {
    let mut commits = app.events.commits.subscribe();
    let name = collection.name().to_owned();
    while !app.events.remove_unused(&name, &batches) {
        commits.mark_unchanged();
        match read_batch(&collection, position, BATCH_BYTES).await {
            Ok(Some(batch)) => {
                position = batch.last;
                let pace = pace_of(batches.receiver_count());
                // Fails only if there are no streams.
                _ = batches.send(Arc::new(Batch { pace, ..batch }));
                tokio::time::sleep(pace).await;
            }
            Ok(None) if is_deleted(&app, &collection) => return app.events.forget(&name, &batches),
            Ok(None) => _ = tokio::time::timeout(RETRY, commits.changed()).await,
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    }
}

/// Returns the time between two batches for a number of streams.
fn pace_of(streams: usize) -> Duration {
    PACE_PER_STREAM.saturating_mul(u32::try_from(streams).unwrap_or(u32::MAX)).min(MAX_PACE)
}

/// Returns how long a group of streams waits before it sends a batch.
fn delay_of(group: u32, pace: Duration) -> Duration {
    pace / 2 * group / GROUPS
}

impl EventHub {
    fn forget(&self, name: &str, batches: &broadcast::Sender<Arc<Batch>>) {
        let mut publishers = self.publishers();
        if publishers.get(name).is_some_and(|known| known.batches.same_channel(batches)) {
            publishers.remove(name);
        }
    }
}

/// Returns `true` if a collection was deleted, even if a new one has its name.
fn is_deleted(app: &App, collection: &Collection) -> bool {
    app.catalog.collection(collection.name()).map_or(true, |current| !current.is_same(collection))
}

/// Reads the next events, until they have about `max_bytes`. Returns `None` if there are none.
async fn read_batch(collection: &Collection, after: u64, max_bytes: usize) -> Result<Option<Batch>, Problem> {
    let collection = collection.clone();
    let read = tokio::task::spawn_blocking(move || {
        let mut text = Vec::new();
        let mut ends = Vec::new();
        let last = collection.events_each(after, BATCH, &mut |event| {
            let (sequence, kind) = (event.sequence, event.kind.name());
            let data = serde_json::to_string(&EventResponse::from(event)).unwrap_or_default();
            // Writing to a vector cannot fail. JSON has no line breaks.
            _ = write!(text, "id: {sequence}\nevent: {kind}\ndata: {data}\n\n");
            ends.push((sequence, text.len()));
            if text.len() < max_bytes { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let oldest = collection.event_range()?.oldest;
        let batch = Batch { text: text.into(), ends, last, oldest, pace: Duration::ZERO };
        Ok::<_, sameish_store::Error>((last > after).then_some(batch))
    });
    Ok(read.await.map_err(Problem::internal)??)
}

impl Batch {
    /// Returns the text of the events after a position, and the last position.
    fn after(&self, position: u64) -> Option<(Bytes, u64)> {
        if self.last <= position {
            return None;
        }
        let sent = self.ends.iter().take_while(|(sequence, _)| *sequence <= position).last();
        Some((self.text.slice(sent.map_or(0, |(_, end)| *end)..), self.last))
    }
}

/// Why a stream ends.
#[derive(Clone, Copy)]
enum End {
    Disconnected,
    Reason(&'static str),
}

impl Subscription {
    /// Sends events after a position until the client disconnects, reads too slowly, or the service shuts down.
    pub(crate) async fn run(mut self, app: App, mut position: u64, sender: mpsc::Sender<Bytes>) {
        let end = tokio::select! {
            end = self.send_all(&app, &mut position, &sender) => end,
            () = app.until_draining() => End::Reason("shutdown"),
        };
        if let End::Reason(reason) = end {
            let text = format!("event: end\ndata: {{\"reason\":\"{reason}\"}}\n\n");
            // The stream is over, whether or not the client is still connected. One that does not read gets no reason.
            _ = tokio::time::timeout(RETRY, sender.send(text.into())).await;
        }
    }

    async fn send_all(&mut self, app: &App, position: &mut u64, sender: &mpsc::Sender<Bytes>) -> End {
        if sender.send(format!(": sequence {position}\n\n").into()).await.is_err() {
            return End::Disconnected;
        }
        loop {
            let caught_up = tokio::select! {
                caught_up = self.catch_up(&app.events.readers, position, sender) => caught_up,
                () = sender.closed() => Err(End::Disconnected),
            };
            if let Err(end) = caught_up {
                return end;
            }
            match self.follow(position, sender).await {
                // Events were published while the client read older ones.
                Followed::Overtaken { is_slow: false } => {}
                Followed::Overtaken { is_slow: true } => return End::Reason("slow"),
                Followed::Ended(end) => return end,
            }
        }
    }

    /// Sends stored events until there are no more. Ends the stream if the next ones were deleted before the client has read those
    /// before them: if it continued with later ones, the client would not learn that events are missing.
    async fn catch_up(
        &self,
        readers: &Semaphore,
        position: &mut u64,
        sender: &mpsc::Sender<Bytes>,
    ) -> Result<(), End> {
        loop {
            // Waiting for the client takes no permit.
            let permit = readers.acquire().await;
            let batch = read_batch(&self.collection, *position, OWN_BATCH_BYTES).await;
            drop(permit);
            match batch {
                Ok(None) => return Ok(()),
                Ok(Some(batch)) if batch.oldest > position.saturating_add(1) => {
                    return Err(End::Reason("gone"));
                }
                Ok(Some(batch)) => {
                    *position = batch.last;
                    if !batch.text.is_empty() {
                        sender.send(batch.text).await.map_err(|_| End::Disconnected)?;
                    }
                }
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }

    /// Sends published events.
    async fn follow(&mut self, position: &mut u64, sender: &mpsc::Sender<Bytes>) -> Followed {
        let mut is_live = false;
        loop {
            let text = tokio::select! {
                () = sender.closed() => return Followed::Ended(End::Disconnected),
                batch = self.batches.recv() => match batch {
                    Ok(batch) => match batch.after(*position) {
                        Some((text, last)) => {
                            is_live = true;
                            *position = last;
                            tokio::select! {
                                () = sender.closed() => return Followed::Ended(End::Disconnected),
                                () = tokio::time::sleep(delay_of(self.group, batch.pace)) => {}
                            }
                            text
                        }
                        None => continue,
                    },
                    Err(broadcast::error::RecvError::Lagged(_)) => return Followed::Overtaken { is_slow: is_live },
                    Err(broadcast::error::RecvError::Closed) => return Followed::Ended(End::Reason("deleted")),
                },
                () = tokio::time::sleep(PING) => Bytes::from_static(b": ping\n\n"),
            };
            if !text.is_empty() && sender.send(text).await.is_err() {
                return Followed::Ended(End::Disconnected);
            }
        }
    }
}

enum Followed {
    /// The channel has dropped batches. `is_slow` if the stream had received any.
    Overtaken {
        is_slow: bool,
    },
    Ended(End),
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::settings::Settings;
    use sameish::{Document, Preset};
    use sameish_store::{
        Catalog, CollectionConfig, EventKind, EventRange, EventRow, OpenOptions, SqliteStore, Store,
    };

    #[test]
    fn a_batch_is_cut_at_a_position() {
        // Event 7 is damaged.
        let text = Bytes::from_static(b"aabbb");
        let batch = Batch { text, ends: vec![(5, 2), (6, 5)], last: 7, oldest: 1, pace: Duration::ZERO };
        assert_eq!(batch.after(3), Some((Bytes::from_static(b"aabbb"), 7)));
        assert_eq!(batch.after(5), Some((Bytes::from_static(b"bbb"), 7)));
        assert_eq!(batch.after(6), Some((Bytes::new(), 7)));
        assert_eq!(batch.after(7), None);
    }

    #[test]
    fn many_streams_get_fewer_batches_and_send_them_in_turn() {
        assert_eq!(pace_of(1), Duration::from_millis(2));
        assert_eq!((pace_of(500), pace_of(16_000)), (MAX_PACE, MAX_PACE));
        let delays: Vec<Duration> = (0..GROUPS).map(|group| delay_of(group, MAX_PACE)).collect();
        assert!(delays.windows(2).all(|pair| pair[0] < pair[1]) && delays[0].is_zero());
        assert!(delays.last().is_some_and(|last| *last < MAX_PACE / 2), "before the next batch");
    }

    /// A client that reads old events for so long that the next ones are deleted does not continue with later ones.
    #[test]
    fn a_stream_ends_where_events_were_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings { data: dir.path().to_owned(), ..Settings::default() };
        let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
        let collection = catalog.create("a", CollectionConfig::new(Preset::Copies)).unwrap();
        collection.insert(Document::new(1, "a text")).unwrap();
        catalog.close();
        let mut store = SqliteStore::open(dir.path(), false, false).unwrap();
        let collections = store.reader().unwrap().collections().unwrap();
        let number = collections.iter().find(|collection| collection.name == "a").unwrap().number;
        let mut change = store.begin().unwrap();
        let day = 86_400_000;
        let now = crate::wire::now();
        for at in [now + 2 * day, now + 4 * day] {
            let event = EventRow {
                collection: number,
                at,
                kind: EventKind::Moved,
                document: 1,
                id: 1.into(),
                cluster: None,
                similarity: None,
                match_kind: None,
                template: false,
                relation: None,
            };
            (0..50_400).for_each(|_| change.put_event(&event).unwrap());
        }
        change.commit().unwrap();
        drop(store);
        let app = App::new(Catalog::open(dir.path(), OpenOptions::default()).unwrap(), settings).unwrap();
        let collection = app.catalog.collection("a").unwrap();
        let EventRange { oldest, .. } = collection.event_range().unwrap();
        assert!(oldest > 1);
        let received = |position: u64| {
            let app = app.clone();
            let collection = collection.clone();
            tokio::runtime::Runtime::new().unwrap().block_on(async move {
                let open = app.events.enter(None, 10).unwrap();
                let subscription = EventHub::subscribe(&app, &collection, open).unwrap();
                let (sender, mut receiver) = mpsc::channel(1);
                let running = tokio::spawn(subscription.run(app.clone(), position, sender));
                let mut text = String::new();
                while let Some(bytes) = receiver.recv().await {
                    text.push_str(std::str::from_utf8(&bytes).unwrap());
                    if text.contains("id: ") {
                        break;
                    }
                }
                drop(receiver);
                running.await.unwrap();
                text
            })
        };
        let text = received(1);
        assert!(
            text.ends_with("event: end\ndata: {\"reason\":\"gone\"}\n\n") && !text.contains("id: "),
            "{text}"
        );
        assert!(received(oldest - 1).contains(&format!("id: {oldest}\n")), "the oldest event that is kept");
    }

    #[test]
    fn open_streams_are_limited() {
        let hub = EventHub::new(1);
        let first = hub.enter(Some(0), 1);
        assert!(first.is_ok() && hub.enter(None, 1).is_err());
        drop(first);
        assert_eq!(hub.open(), 0);
        assert!(hub.enter(Some(0), 1).is_ok());
    }

    #[test]
    fn one_of_several_keys_cannot_take_all_streams() {
        let hub = EventHub::new(2);
        let first: Vec<OpenStream> = (0..2).map(|_| hub.enter(Some(0), 4).unwrap()).collect();
        assert!(matches!(hub.enter(Some(0), 4), Err(problem) if problem.kind == Kind::TooManyRequests));
        let second: Vec<OpenStream> = (0..2).map(|_| hub.enter(Some(1), 4).unwrap()).collect();
        assert!(matches!(hub.enter(None, 4), Err(problem) if problem.kind == Kind::Busy));
        drop(first);
        assert!(hub.enter(Some(0), 4).is_ok());
        drop(second);
        assert_eq!(hub.open(), 0);
    }
}
