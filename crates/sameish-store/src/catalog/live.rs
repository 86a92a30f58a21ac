//! A collection in memory, and how it is loaded from the store.

use super::clusters::undamaged;
use super::collections::Collections;
use super::edits::Named;
use super::refresh::Refreshed;
use super::sample::Sample;
use super::texts::ReaderPool;
use crate::error::{Error, Result};
use crate::model::{Center, OpenOptions, Periods, SourceMatrix, UnavailableCollection};
use crate::rows::{
    ClusterTotals, CollectionRow, DocumentRow, MemberRow, SketchRow, StoredCollection, Turn, scheme_of,
};
use crate::store::{Read, Store};
use sameish::cluster::ClusterId;
use sameish::config::Linkage;
use sameish::document::ContentRef;
use sameish::engine::{BulkLoad, External, SketchedDocument};
use sameish::sketch::SchemeId;
use sameish::{Analyzer, Config, DocId, Engine, Scratch, Status, Timestamp};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

/// A collection with its index.
pub(super) struct LiveCollection {
    /// The settings when the collection was loaded. The [periods](Self::periods) can be changed.
    pub(super) row: CollectionRow,
    periods: Mutex<Periods>,
    pub(super) scheme: SchemeId,
    pub(super) analyzer: Analyzer,
    engine: RwLock<Engine<External>>,
    /// Greatest committed document number. Documents with greater numbers are in the index, but readers must ignore them.
    visible: AtomicU64,
    /// Time of the latest insertion in milliseconds since 1970, or `i64::MIN` if there was none.
    last_arrival: AtomicI64,
    pub(super) linkage: LiveLinkage,
    /// Whether work on clusters is queued.
    has_tasks: AtomicBool,
    /// Why the latest attempt to do this work failed.
    task_error: Mutex<Option<Error>>,
    repair_delay: Mutex<RepairDelay>,
    /// Number of documents that the next search for the documents of a new center covers. It is only an estimate, so it
    /// need not survive a restart.
    search_width: AtomicU64,
    /// The number of the text of the index from which on features may not be known, or [`ALL_READ`].
    unread_from: AtomicU64,
    /// How often a cluster was chosen by a search that had reached a limit.
    capped: AtomicU64,
    /// Number of rejected documents that are not stored yet, and whether the writer knows that there are some.
    rejected: AtomicU64,
    has_queued_rejected: AtomicBool,
    pub(super) totals: Refreshed<ClusterTotals>,
    pub(super) matrix: Refreshed<SourceMatrix>,
    pub(super) sample: Refreshed<Sample>,
    /// The document that the current transaction replaces, until the index has the new one.
    departing: Mutex<Option<Arc<Departing>>>,
    /// The documents that edits name.
    named: Mutex<Arc<Named>>,
    /// Ranks of the documents by number, if documents do not become centers in order of arrival.
    ranks: RwLock<HashMap<u64, u64>>,
}

/// The order in which documents become centers. It holds a lock of the ranks.
pub(super) struct Turns<'a>(Option<RwLockReadGuard<'a, HashMap<u64, u64>>>);

impl Turns<'_> {
    /// Returns the turn of a document. A document without a rank, which is damaged, is the last.
    pub(super) fn of(&self, number: u64) -> Turn {
        Turn::new(self.rank(number), number)
    }

    fn rank(&self, number: u64) -> Option<u64> {
        self.0.as_ref().map(|ranks| ranks.get(&number).copied().unwrap_or(LAST_RANK))
    }
}

/// Greater than the number of every text of an index.
const ALL_READ: u64 = u64::MAX;

/// Greater than every rank of a document, and less than the positions of tasks that come last.
const LAST_RANK: u64 = 1 << 61;
/// Greater than the rank of every date.
const UNDATED_RANK: u64 = 1 << 60;
/// 31 December 9999, which is later than every date, in milliseconds since 1970.
const LAST_MOMENT: i64 = 253_402_300_799_999;
/// More than the length of any text.
const LONGEST: u64 = 1 << 40;

/// A document that is being replaced, as it was before.
pub(super) struct Departing {
    pub(super) row: DocumentRow,
    pub(super) cluster: Option<ClusterId>,
}

/// How the documents of a collection form clusters as they arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiveLinkage {
    Cohesive,
    Online,
    Components,
}

impl LiveLinkage {
    /// Earlier versions accepted `greedy` for collections and did not follow it. Their documents are clustered cohesively.
    fn of(linkage: Linkage) -> LiveLinkage {
        match linkage {
            Linkage::Cohesive | Linkage::Greedy => LiveLinkage::Cohesive,
            Linkage::Online => LiveLinkage::Online,
            Linkage::Components => LiveLinkage::Components,
        }
    }

    /// Returns `true` if documents with this status can share a cluster with others. As in `sameish cluster`, each text that is
    /// too short is a cluster of its own with the linkage `online`.
    pub(super) fn joins(self, status: Status) -> bool {
        status == Status::Ok || self != LiveLinkage::Online
    }
}

impl LiveCollection {
    pub(super) fn new(row: CollectionRow) -> Result<LiveCollection> {
        let analyzer = Analyzer::new(Config::from_toml(&row.config)?)?;
        let engine = RwLock::new(Engine::with_analyzer(analyzer.clone())?);
        let scheme = scheme_of(analyzer.schemes());
        let linkage = LiveLinkage::of(analyzer.config().matching.linkage);
        let periods = Periods { retention_days: row.retention_days, window_days: row.window_days };
        Ok(LiveCollection {
            row,
            periods: Mutex::new(periods),
            scheme,
            analyzer,
            engine,
            visible: AtomicU64::new(u64::MAX),
            last_arrival: AtomicI64::new(i64::MIN),
            linkage,
            has_tasks: AtomicBool::new(false),
            task_error: Mutex::default(),
            repair_delay: Mutex::default(),
            search_width: AtomicU64::new(u64::MAX),
            unread_from: AtomicU64::new(ALL_READ),
            capped: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            has_queued_rejected: AtomicBool::new(false),
            totals: Refreshed::default(),
            matrix: Refreshed::default(),
            sample: Refreshed::default(),
            departing: Mutex::default(),
            named: Mutex::default(),
            ranks: RwLock::default(),
        })
    }

    /// Returns `true` if documents do not become centers in order of arrival.
    pub(super) fn has_ranks(&self) -> bool {
        self.linkage == LiveLinkage::Cohesive && self.row.center != Center::First
    }

    pub(super) fn turns(&self) -> Turns<'_> {
        Turns(self.has_ranks().then(|| self.ranks.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Returns the rank of a document, if documents have ranks.
    pub(super) fn rank(&self, number: u64) -> Option<u64> {
        self.turns().rank(number)
    }

    fn ranks_mut(&self) -> RwLockWriteGuard<'_, HashMap<u64, u64>> {
        self.ranks.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the rank of a document before it is written. If that fails, the rank is of no document.
    pub(super) fn note_rank(&self, row: &DocumentRow) {
        if let Some(rank) = self.rank_of(row) {
            self.ranks_mut().insert(row.number, rank);
        }
    }

    pub(super) fn forget_rank(&self, number: u64) {
        if self.has_ranks() {
            self.ranks_mut().remove(&number);
        }
    }

    fn rank_of(&self, row: &DocumentRow) -> Option<u64> {
        let rank = match self.row.center {
            Center::First => return None,
            // The time of arrival must not decide, because equal corpora must form equal clusters.
            Center::Newest => row
                .published()
                .map_or(UNDATED_RANK, |published| LAST_MOMENT.saturating_sub(published).max(0) as u64),
            Center::Longest => {
                LONGEST.saturating_sub(ContentRef::from(&row.document.content).text_bytes() as u64)
            }
        };
        // Ranks are positions of tasks, and position 0 comes before all documents.
        self.has_ranks().then_some(rank + 1)
    }

    /// Returns the retention and the window.
    pub(super) fn periods(&self) -> Periods {
        *self.periods.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_periods(&self, periods: Periods) {
        *self.periods.lock().unwrap_or_else(PoisonError::into_inner) = periods;
    }

    /// Returns the settings.
    pub(super) fn current_row(&self) -> CollectionRow {
        let Periods { retention_days, window_days } = self.periods();
        CollectionRow { retention_days, window_days, ..self.row.clone() }
    }

    pub(super) fn engine(&self) -> RwLockReadGuard<'_, Engine<External>> {
        self.engine.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn engine_mut(&self) -> RwLockWriteGuard<'_, Engine<External>> {
        self.engine.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn visible(&self) -> u64 {
        self.visible.load(Ordering::Acquire)
    }

    pub(super) fn set_visible(&self, number: u64) {
        self.visible.store(number, Ordering::Release);
    }

    pub(super) fn last_arrival(&self) -> Option<i64> {
        Some(self.last_arrival.load(Ordering::Relaxed)).filter(|&time| time != i64::MIN)
    }

    pub(super) fn set_last_arrival(&self, time: i64) {
        self.last_arrival.store(time, Ordering::Relaxed);
    }

    /// Returns the number of a document in the index. Damaged documents are only in the store.
    pub(super) fn indexed_number(&self, id: &DocId) -> Option<u64> {
        self.engine().get(id).map(|document| document.number)
    }

    pub(super) fn has_tasks(&self) -> bool {
        self.has_tasks.load(Ordering::Acquire)
    }

    pub(super) fn set_has_tasks(&self, has_tasks: bool) {
        self.has_tasks.store(has_tasks, Ordering::Release);
    }

    pub(super) fn task_error(&self) -> Option<Error> {
        self.task_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_task_error(&self, error: Option<Error>) {
        *self.task_error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    pub(super) fn repair_delay(&self) -> MutexGuard<'_, RepairDelay> {
        self.repair_delay.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delays the work on clusters, if there is any, after a deletion or a new center.
    pub(super) fn note_deletion(&self, now: Instant) {
        let mut delay = self.repair_delay();
        if self.has_tasks() { delay.note_deletion(now) } else { delay.clear() }
    }

    pub(super) fn search_width(&self) -> u64 {
        self.search_width.load(Ordering::Relaxed)
    }

    pub(super) fn set_search_width(&self, width: u64) {
        self.search_width.store(width.max(1), Ordering::Relaxed);
    }

    /// Returns the number of the text of the index from which on features may not be known.
    pub(super) fn unread_from(&self) -> Option<u32> {
        u32::try_from(self.unread_from.load(Ordering::Relaxed)).ok()
    }

    pub(super) fn set_unread_from(&self, text: Option<u32>) {
        self.unread_from.store(text.map_or(ALL_READ, u64::from), Ordering::Relaxed);
    }

    /// Notes a text whose features are not known. Only the writer thread calls this.
    pub(super) fn note_unread(&self, text: Option<u32>) {
        if text.is_some() {
            self.set_unread_from(text.into_iter().chain(self.unread_from()).min());
        }
    }

    pub(super) fn capped(&self) -> u64 {
        self.capped.load(Ordering::Relaxed)
    }

    /// Returns the number of rejected documents that are not stored yet.
    pub(super) fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    /// Counts rejected documents. Returns `true` if the writer must be told.
    pub(super) fn count_rejected(&self, count: u64) -> bool {
        self.rejected.fetch_add(count, Ordering::Relaxed);
        !self.has_queued_rejected.swap(true, Ordering::AcqRel)
    }

    /// Sets whether the writer knows that there are rejected documents.
    pub(super) fn set_queued_rejected(&self, is_queued: bool) {
        self.has_queued_rejected.store(is_queued, Ordering::Release);
    }

    /// Forgets rejected documents that were stored.
    pub(super) fn forget_rejected(&self, count: u64) {
        self.rejected.fetch_sub(count, Ordering::Relaxed);
    }

    pub(super) fn count_capped(&self) {
        self.capped.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the document that the current transaction replaces. Call this with the lock of the index.
    pub(super) fn departing(&self) -> Option<Arc<Departing>> {
        self.departing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the documents that edits name.
    pub(super) fn named(&self) -> Arc<Named> {
        Arc::clone(&self.named.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_named(&self, named: Arc<Named>) {
        *self.named.lock().unwrap_or_else(PoisonError::into_inner) = named;
    }

    /// Returns `true` if edits name documents, so that the clusters of the linkage are not always those that lists show.
    pub(super) fn has_edits(&self) -> bool {
        !self.named().ids.is_empty()
    }

    pub(super) fn set_departing(&self, departing: Option<Departing>) {
        *self.departing.lock().unwrap_or_else(PoisonError::into_inner) = departing.map(Arc::new);
    }

    /// Returns the dates of documents that can match a document with this date, in milliseconds since 1970.
    pub(super) fn window_around(&self, moment: i64) -> Option<RangeInclusive<i64>> {
        let days = u64::from(self.periods().window_days?) * DAY;
        Some(moment.saturating_sub_unsigned(days)..=moment.saturating_add_unsigned(days))
    }

    /// Computes the sketches of a document from its text.
    pub(super) fn sketch(&self, row: &DocumentRow, scratch: &mut Scratch) -> SketchRow {
        let prepared = self.analyzer.prepare(&row.document.content, scratch);
        SketchRow::new(row, prepared.sketches, prepared.key, self.scheme, super::now())
    }
}

/// When documents are assigned again after deletions.
///
/// Each deletion of a center makes the work that was done since the previous one useless. So the work waits until no document
/// was deleted for [`QUIET`](Self::QUIET), and at most [`MAX`](Self::MAX). After that it continues whatever is deleted, so that a
/// steady stream of deletions does not prevent it.
#[derive(Debug, Default)]
pub(super) struct RepairDelay {
    /// Times of the first and of the latest deletion since there was no queued work.
    deletions: Option<(Instant, Instant)>,
}

impl RepairDelay {
    const QUIET: Duration = Duration::from_millis(20);
    const MAX: Duration = Duration::from_secs(1);

    pub(super) fn note_deletion(&mut self, now: Instant) {
        let first = self.deletions.map_or(now, |(first, _)| first);
        self.deletions = Some((first, now));
    }

    /// Records that there is no queued work.
    pub(super) fn clear(&mut self) {
        self.deletions = None;
    }

    /// Returns when the work is due, or `None` if it is due immediately.
    pub(super) fn due(&self) -> Option<Instant> {
        self.deletions.map(|(first, latest)| (first + Self::MAX).min(latest + Self::QUIET))
    }
}

/// One day in milliseconds.
pub(super) const DAY: u64 = 86_400_000;

/// Converts stored sketches to an entry of the index.
pub(super) fn sketched(id: DocId, row: SketchRow, is_center: bool) -> SketchedDocument {
    let published = Timestamp::from_milliseconds(row.moment);
    SketchedDocument { id, number: row.number, published, sketches: row.sketches, key: row.key, is_center }
}

/// Returns the numbers of the centers of a cohesive collection, in order.
fn stored_centers(read: &dyn Read, live: &LiveCollection) -> Result<Vec<u64>> {
    if live.linkage != LiveLinkage::Cohesive {
        return Ok(Vec::new());
    }
    let mut centers: HashMap<ClusterId, Option<u64>> = HashMap::new();
    read.each_cluster(live.row.number, &mut |cluster, row| {
        // Without its row, the center of a cluster is not known. `verify` reports the damage.
        centers.insert(cluster, undamaged(row.map(Some))?.and_then(|row| row.center));
        Ok(())
    })?;
    let mut numbers = Vec::new();
    read.each_member(live.row.number, &mut |number, row| {
        // A cluster without a row has one document, its center. `verify` reports damaged rows.
        let is_center =
            |row: MemberRow| centers.get(&row.cluster).is_none_or(|center| *center == Some(number));
        numbers.extend(undamaged(row.map(Some))?.filter(|row| is_center(*row)).map(|_| number));
        Ok(())
    })?;
    Ok(numbers)
}

/// Loads the ranks of all documents. Those that are not stored, or are damaged, are computed from the documents.
fn load_ranks(read: &dyn Read, live: &LiveCollection, ids: &[(u64, DocId)]) -> Result<()> {
    if !live.has_ranks() {
        return Ok(());
    }
    let mut ranks = HashMap::with_capacity(ids.len());
    read.each_member(live.row.number, &mut |number, row| {
        ranks.extend(undamaged(row.map(Some))?.and_then(|row| row.rank).map(|rank| (number, rank)));
        Ok(())
    })?;
    for (number, _) in ids {
        if !ranks.contains_key(number) {
            let row = undamaged(read.document(*number))?;
            ranks.extend(row.and_then(|row| live.rank_of(&row)).map(|rank| (*number, rank)));
        }
    }
    *live.ranks_mut() = ranks;
    Ok(())
}

/// Loads all collections of a store. One that cannot be used does not affect the others.
pub(super) fn load_all(
    store: &mut dyn Store,
    readers: &ReaderPool,
    options: &OpenOptions,
) -> Result<Collections> {
    let read = readers.get()?;
    let mut collections = Collections::default();
    let mut numbers = HashSet::new();
    for stored in read.collections()? {
        let StoredCollection { number, name, .. } = &stored;
        let (number, name) = (*number, name.clone());
        if !numbers.insert(number) || collections.number_of(&name).is_some() {
            // Documents belong to a collection by its number, so it is not known what belongs to which.
            let reason = "another collection has the same number or name".to_owned();
            return Err(Error::Damaged { what: format!("collection {number}"), reason });
        }
        match load(store, &*read, stored, options) {
            Ok(live) => collections.insert(Arc::new(live)),
            Err(Error::Unavailable(collection)) => collections.insert_unavailable(number, collection),
            Err(error) => return Err(error),
        }
    }
    Ok(collections)
}

/// Loads a collection. Returns [`Error::Unavailable`] if it cannot be used, and another error if no collection can.
fn load(
    store: &mut dyn Store,
    read: &dyn Read,
    stored: StoredCollection,
    options: &OpenOptions,
) -> Result<LiveCollection> {
    let StoredCollection { name, row, .. } = stored;
    let unavailable =
        |reason, remedy| Error::Unavailable(UnavailableCollection { name: name.clone(), reason, remedy });
    let row = row.map_err(|error| match error {
        Error::Damaged { reason, .. } => unavailable(format!("its settings are damaged: {reason}"), RESTORE),
        other => other,
    })?;
    let live = LiveCollection::new(row).map_err(|error| match error {
        Error::Engine(source) => {
            unavailable(format!("this version does not accept its settings: {source}"), DROP)
        }
        other => other,
    })?;
    live.set_named(Arc::new(Named::read(read, live.row.number)?));
    let mut engine = || {
        if options.rebuild && !options.read_only {
            rebuild_sketches(store, read, &live)?;
        }
        load_index(if options.read_only { None } else { Some(&mut *store) }, read, &live)
    };
    let engine = engine().map_err(|error| match error {
        Error::Engine(source) => unavailable(format!("its sketches cannot be loaded: {source}"), REBUILD),
        other => other,
    })?;
    *live.engine_mut() = engine;
    Ok(live)
}

const RESTORE: &str =
    "restore the directory from a snapshot, or delete the collection with `sameish index drop`";
const DROP: &str = "delete it with `sameish index drop`, or use the version that created it";
const REBUILD: &str = "run `sameish index rebuild`";

/// Recomputes all sketches from the texts, and deletes sketches without a document.
pub(super) fn rebuild_sketches(store: &mut dyn Store, read: &dyn Read, live: &LiveCollection) -> Result<()> {
    let numbers: Vec<u64> = sorted_ids(read, live)?.into_iter().map(|(number, _)| number).collect();
    let mut orphans = Vec::new();
    read.each_sketch(live.row.number, &mut |number, _| {
        orphans.extend(numbers.binary_search(&number).is_err().then_some(number));
        Ok(())
    })?;
    if !orphans.is_empty() {
        let mut change = store.begin()?;
        orphans.into_iter().try_for_each(|number| change.remove_document(number))?;
        change.commit()?;
    }
    store_recomputed(store, read, live, &numbers, |_| Ok(()))
}

/// Builds the index again from the stored sketches. Readers use the old index until the new one is complete.
pub(super) fn reload_index(store: &mut dyn Store, read: &dyn Read, live: &LiveCollection) -> Result<()> {
    let engine = load_index(Some(store), read, live)?;
    *live.engine_mut() = engine;
    Ok(())
}

fn sorted_ids(read: &dyn Read, live: &LiveCollection) -> Result<Vec<(u64, DocId)>> {
    let mut ids = Vec::new();
    read.each_id(live.row.number, &mut |number, id| {
        ids.push((number, id));
        Ok(())
    })?;
    ids.sort_unstable_by_key(|(number, _)| *number);
    Ok(ids)
}

/// Builds the index from the stored sketches. Damaged and missing sketches are recomputed from the texts, and stored if
/// there is a `store` to write to.
fn load_index<'s>(
    store: Option<&mut (dyn Store + 's)>,
    read: &dyn Read,
    live: &LiveCollection,
) -> Result<Engine<External>> {
    let mut engine = Engine::with_analyzer(live.analyzer.clone())?;
    live.set_has_tasks(has_tasks(read, live)?);
    let ids = sorted_ids(read, live)?;
    let newest = ids.last().and_then(|(last, _)| read.document(*last).ok().flatten());
    if let Some(time) = read.last_arrival(live.row.number)?.max(newest.map(|row| row.arrived_at)) {
        live.set_last_arrival(time);
    }
    if ids.is_empty() {
        return Ok(engine);
    }
    load_ranks(read, live, &ids)?;
    let centers = stored_centers(read, live)?;
    let is_center = |number: u64| centers.binary_search(&number).is_ok();
    let mut loading = engine.bulk_load();
    let mut unsketched = load_stored_sketches(read, live, ids, &is_center, &mut loading)?;
    let numbers: Vec<u64> = unsketched.keys().copied().collect();
    let add = |row: SketchRow| match unsketched.remove(&row.number) {
        Some(id) => {
            let is_center = is_center(row.number);
            Ok(loading.add(sketched(id, row, is_center))?)
        }
        None => Ok(()),
    };
    match store {
        Some(store) => store_recomputed(store, read, live, &numbers, add)?,
        None => recompute_sketches(read, live, &numbers)?.into_iter().try_for_each(add)?,
    }
    loading.finish()?;
    live.set_unread_from(Some(0));
    Ok(engine)
}

/// Returns `true` if work on clusters is queued. A damaged task is work that cannot be done; `verify` reports it.
fn has_tasks(read: &dyn Read, live: &LiveCollection) -> Result<bool> {
    match read.first_task(live.row.number) {
        Ok(first) => Ok(first.is_some()),
        Err(Error::Damaged { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Adds all undamaged sketches to the index. Returns the documents whose sketches are damaged or missing.
fn load_stored_sketches(
    read: &dyn Read,
    live: &LiveCollection,
    ids: Vec<(u64, DocId)>,
    is_center: &dyn Fn(u64) -> bool,
    loading: &mut BulkLoad<'_>,
) -> Result<BTreeMap<u64, DocId>> {
    let mut unsketched = BTreeMap::new();
    let mut scratch = Scratch::default();
    // Documents and sketches are both in order of their numbers, so one pass over each is enough.
    let mut documents = ids.into_iter().peekable();
    read.each_sketch(live.row.number, &mut |number, row| {
        while let Some(without_sketch) = documents.next_if(|(document, _)| *document < number) {
            unsketched.extend([without_sketch]);
        }
        // `verify` reports a sketch without a document.
        let Some((_, id)) = documents.next_if(|(document, _)| *document == number) else { return Ok(()) };
        match row {
            Ok(row) if row.scheme != live.scheme => Err(other_scheme(live)),
            Ok(row) => {
                let row = with_short_minhash(read, live, row, &mut scratch)?;
                Ok(loading.add(sketched(id, row, is_center(number)))?)
            }
            Err(_) => {
                unsketched.insert(number, id);
                Ok(())
            }
        }
    })?;
    unsketched.extend(documents);
    Ok(unsketched)
}

/// Computes the signature of a text that is too short, if the settings of the collection use it. It is not stored, so that the
/// format of stored sketches does not depend on how the index finds short texts. A text that is damaged has none.
fn with_short_minhash(
    read: &dyn Read,
    live: &LiveCollection,
    mut row: SketchRow,
    scratch: &mut Scratch,
) -> Result<SketchRow> {
    if row.sketches.status == Status::Ok || !live.analyzer.config().compares_short_texts() {
        return Ok(row);
    }
    let document = match read.document(row.number) {
        Err(Error::Damaged { .. }) => None,
        document => document?,
    };
    row.sketches.short_minhash =
        document.and_then(|document| live.analyzer.sketch(&document.document.content, scratch).short_minhash);
    Ok(row)
}

fn other_scheme(live: &LiveCollection) -> Error {
    Error::Unavailable(UnavailableCollection {
        name: live.row.name.clone(),
        reason: "its sketches have a different scheme".to_owned(),
        remedy: REBUILD,
    })
}

/// Computes the sketches of documents from their texts. Damaged documents are left out: no index contains them, and
/// `verify` reports them.
fn recompute_sketches(read: &dyn Read, live: &LiveCollection, numbers: &[u64]) -> Result<Vec<SketchRow>> {
    let mut scratch = Scratch::default();
    let mut rows = Vec::new();
    for &number in numbers {
        match read.document(number) {
            Ok(Some(row)) => rows.push(live.sketch(&row, &mut scratch)),
            Ok(None) | Err(Error::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(rows)
}

/// Computes the sketches of documents from their texts, stores them, and then passes them to `sink`.
fn store_recomputed(
    store: &mut dyn Store,
    read: &dyn Read,
    live: &LiveCollection,
    numbers: &[u64],
    mut sink: impl FnMut(SketchRow) -> Result<()>,
) -> Result<()> {
    for numbers in numbers.chunks(1024) {
        let rows = recompute_sketches(read, live, numbers)?;
        let mut change = store.begin()?;
        for row in &rows {
            change.put_sketch(row)?;
        }
        change.commit()?;
        rows.into_iter().try_for_each(&mut sink)?;
    }
    Ok(())
}
