//! What is a collection in memory, and how does it get there?

use super::texts::Readers;
use crate::error::{Error, Result};
use crate::model::OpenOptions;
use crate::rows::{CollectionRow, DocumentRow, SketchRow, scheme_of};
use crate::store::{Read, Store};
use sameish::{
    Analyzer, Config, DocId, Engine, External, SchemeId, Scratch, SketchedDocument, StoredDocument, Timestamp,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A collection with its index.
pub(super) struct Live {
    pub(super) row: CollectionRow,
    pub(super) scheme: SchemeId,
    pub(super) analyzer: Analyzer,
    engine: RwLock<Engine<External>>,
    /// The greatest number that was committed: documents beyond it are in the index and nobody may see them.
    visible: AtomicU64,
    /// When the last document came, in milliseconds since 1970; the least number where none has.
    arrived: AtomicI64,
}

impl Live {
    pub(super) fn new(row: CollectionRow) -> Result<Live> {
        let analyzer = Analyzer::new(Config::from_toml(&row.config)?)?;
        let engine = RwLock::new(Engine::with_analyzer(analyzer.clone())?);
        let scheme = scheme_of(analyzer.schemes());
        Ok(Live {
            row,
            scheme,
            analyzer,
            engine,
            visible: AtomicU64::new(u64::MAX),
            arrived: AtomicI64::new(i64::MIN),
        })
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

    pub(super) fn show_up_to(&self, number: u64) {
        self.visible.store(number, Ordering::Release);
    }

    /// When the last document came.
    pub(super) fn last_arrival(&self) -> Option<i64> {
        Some(self.arrived.load(Ordering::Relaxed)).filter(|&moment| moment != i64::MIN)
    }

    pub(super) fn note_arrival(&self, moment: i64) {
        self.arrived.store(moment, Ordering::Relaxed);
    }

    /// Whether two documents are near enough in time to match.
    pub(super) fn within_window(&self, document: StoredDocument<'_>, moment: i64) -> bool {
        let Some(days) = self.row.window_days else { return true };
        let other = document.published.map_or(moment, Timestamp::as_milliseconds);
        other.abs_diff(moment) <= u64::from(days) * DAY
    }

    /// The sketches of a document, made anew.
    pub(super) fn sketch(&self, row: &DocumentRow, scratch: &mut Scratch) -> SketchRow {
        let prepared = self.analyzer.prepare(&row.document.content, scratch);
        SketchRow {
            number: row.number,
            collection: row.collection,
            sketches: prepared.sketches,
            key: prepared.key,
            moment: row.moment(),
            scheme: self.scheme,
            computed_at: super::now(),
        }
    }
}

/// Milliseconds of a day.
pub(super) const DAY: u64 = 86_400_000;

/// What the index holds of a document.
pub(super) fn sketched(id: DocId, row: SketchRow) -> SketchedDocument {
    let published = Timestamp::from_milliseconds(row.moment);
    SketchedDocument { id, number: row.number, published, sketches: row.sketches, key: row.key }
}

/// All collections of a store, ready to be asked.
pub(super) fn load_all(
    store: &mut dyn Store,
    readers: &Readers,
    options: &OpenOptions,
) -> Result<BTreeMap<String, Arc<Live>>> {
    let read = readers.get()?;
    let rows = read.collections()?;
    let mut collections = BTreeMap::new();
    for row in rows {
        let live = Live::new(row)?;
        if options.rebuild && !options.read_only {
            rebuild(store, &*read, &live)?;
        }
        let engine = load(store, &*read, &live, options.read_only)?;
        *live.engine_mut() = engine;
        collections.insert(live.row.name.clone(), Arc::new(live));
    }
    Ok(collections)
}

fn all_numbers(read: &dyn Read, live: &Live) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    read.each_id(live.row.number, &mut |number, _| {
        numbers.push(number);
        Ok(())
    })?;
    numbers.sort_unstable();
    Ok(numbers)
}

/// Recomputes all sketches from the texts, and deletes sketches without a document.
pub(super) fn rebuild(store: &mut dyn Store, read: &dyn Read, live: &Live) -> Result<()> {
    let numbers = all_numbers(read, live)?;
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
    renew(store, read, live, &numbers, |_| Ok(()))
}

/// Builds the index anew from what is stored.
pub(super) fn reload(store: &mut dyn Store, read: &dyn Read, live: &Live) -> Result<()> {
    // Built aside: whoever asks meanwhile is answered from the one that is there.
    let engine = load(store, read, live, false)?;
    *live.engine_mut() = engine;
    Ok(())
}

/// Builds the index from the stored sketches. Those that are damaged or missing are made again from the texts.
fn load(store: &mut dyn Store, read: &dyn Read, live: &Live, read_only: bool) -> Result<Engine<External>> {
    let mut engine = Engine::with_analyzer(live.analyzer.clone())?;
    let mut ids = Vec::new();
    read.each_id(live.row.number, &mut |number, id| {
        ids.push((number, id));
        Ok(())
    })?;
    if ids.is_empty() {
        return Ok(engine);
    }
    ids.sort_unstable_by_key(|(number, _)| *number);
    let last = ids.last().map(|(number, _)| read.document(*number));
    last.into_iter().flatten().flatten().for_each(|row| live.note_arrival(row.arrived_at));
    let mut loading = engine.bulk_load();
    let mut bad = Vec::new();
    let mut waiting = ids.iter_mut();
    let mut ahead = waiting.next();
    read.each_sketch(live.row.number, &mut |number, row| {
        // Documents before this sketch have none; a sketch without its document is left to `verify`.
        while let Some((before, id)) = ahead.as_mut().filter(|(at, _)| *at < number) {
            bad.push((*before, std::mem::replace(id, DocId::Number(0))));
            ahead = waiting.next();
        }
        let Some((_, id)) = ahead.take_if(|(at, _)| *at == number) else { return Ok(()) };
        let id = std::mem::replace(id, DocId::Number(0));
        ahead = waiting.next();
        match row {
            Ok(row) if row.scheme != live.scheme => Err(Error::Scheme { collection: live.row.name.clone() }),
            Ok(row) => Ok(loading.add(sketched(id, row))?),
            Err(_) => {
                bad.push((number, id));
                Ok(())
            }
        }
    })?;
    for (number, id) in ahead.into_iter().chain(waiting) {
        bad.push((*number, std::mem::replace(id, DocId::Number(0))));
    }
    let numbers: Vec<u64> = bad.iter().map(|(number, _)| *number).collect();
    let mut ids: BTreeMap<u64, DocId> = bad.into_iter().collect();
    let add = |row: SketchRow| match ids.remove(&row.number) {
        Some(id) => Ok(loading.add(sketched(id, row))?),
        None => Ok(()),
    };
    if read_only {
        remade(read, live, &numbers)?.into_iter().try_for_each(add)?;
    } else {
        renew(store, read, live, &numbers, add)?;
    }
    loading.finish()?;
    Ok(engine)
}

/// Sketches of these documents made from their texts. A damaged document has none: it is in no index, and `verify` names
/// it.
fn remade(read: &dyn Read, live: &Live, numbers: &[u64]) -> Result<Vec<SketchRow>> {
    let mut scratch = Scratch::default();
    let mut made = Vec::new();
    for &number in numbers {
        match read.document(number) {
            Ok(Some(row)) => made.push(live.sketch(&row, &mut scratch)),
            Ok(None) | Err(Error::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(made)
}

/// The same, and stores them before it hands them on.
fn renew(
    store: &mut dyn Store,
    read: &dyn Read,
    live: &Live,
    numbers: &[u64],
    mut sink: impl FnMut(SketchRow) -> Result<()>,
) -> Result<()> {
    for numbers in numbers.chunks(1024) {
        let made = remade(read, live, numbers)?;
        let mut change = store.begin()?;
        for row in &made {
            change.put_sketch(row)?;
        }
        change.commit()?;
        made.into_iter().try_for_each(&mut sink)?;
    }
    Ok(())
}
