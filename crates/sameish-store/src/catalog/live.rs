//! What is a collection in memory, and how does it get there?

use super::texts::Readers;
use crate::error::{Error, Result};
use crate::model::OpenOptions;
use crate::rows::{CollectionRow, DocumentRow, SketchRow, scheme_of};
use crate::store::{Read, Store};
use sameish::{Arrival, Config, DocId, Engine, Held, SchemeId, Scratch, Timestamp, WordFrequencies};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A collection with its index.
pub(super) struct Live {
    pub(super) row: CollectionRow,
    pub(super) scheme: SchemeId,
    /// Makes sketches, without a look at the index.
    pub(super) maker: Engine,
    engine: RwLock<Engine>,
    /// The greatest number that was committed: documents beyond it are in the index and nobody may see them.
    visible: AtomicU64,
}

impl Live {
    pub(super) fn new(row: CollectionRow) -> Result<Live> {
        let config = Config::from_toml(&row.config)?;
        let maker = Engine::without_texts(config.clone())?;
        let engine = RwLock::new(Engine::without_texts(config)?);
        let scheme = scheme_of(maker.schemes());
        Ok(Live { row, scheme, maker, engine, visible: AtomicU64::new(u64::MAX) })
    }

    pub(super) fn engine(&self) -> RwLockReadGuard<'_, Engine> {
        self.engine.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn engine_mut(&self) -> RwLockWriteGuard<'_, Engine> {
        self.engine.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn visible(&self) -> u64 {
        self.visible.load(Ordering::Acquire)
    }

    pub(super) fn show_up_to(&self, number: u64) {
        self.visible.store(number, Ordering::Release);
    }

    /// Whether two documents are near enough in time to match.
    pub(super) fn within_window(&self, held: Held<'_>, moment: i64) -> bool {
        let Some(days) = self.row.window_days else { return true };
        let other = held.moment.map_or(moment, Timestamp::as_milliseconds);
        other.abs_diff(moment) <= u64::from(days) * DAY
    }

    /// The sketches of a document, made anew.
    pub(super) fn sketch(&self, row: &DocumentRow, scratch: &mut Scratch) -> SketchRow {
        let prepared = self.maker.prepare(&row.document.content, scratch);
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
pub(super) fn arrival(id: DocId, row: SketchRow) -> Arrival {
    let moment = Timestamp::from_milliseconds(row.moment);
    Arrival { id, number: row.number, moment, sketches: row.sketches, key: row.key }
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
            renew(store, &*read, &live, &all_numbers(&*read, &live)?, |_| Ok(()))?;
        }
        load(store, &*read, &live, options.read_only)?;
        collections.insert(live.row.name.clone(), Arc::new(live));
    }
    Ok(collections)
}

pub(super) fn all_numbers(read: &dyn Read, live: &Live) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    read.each_id(live.row.number, &mut |number, _| {
        numbers.push(number);
        Ok(())
    })?;
    numbers.sort_unstable();
    Ok(numbers)
}

/// Builds the index anew from what is stored.
pub(super) fn reload(store: &mut dyn Store, read: &dyn Read, live: &Live) -> Result<()> {
    *live.engine_mut() = Engine::without_texts(live.maker.config().clone())?;
    load(store, read, live, false)
}

/// Builds the index from the stored sketches. Those that are damaged or missing are made again from the texts.
fn load(store: &mut dyn Store, read: &dyn Read, live: &Live, read_only: bool) -> Result<()> {
    let mut ids = Vec::new();
    read.each_id(live.row.number, &mut |number, id| {
        ids.push((number, id));
        Ok(())
    })?;
    ids.sort_unstable_by_key(|(number, _)| *number);
    let mut engine = live.engine_mut();
    let mut loading = engine.load();
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
            Ok(row) => Ok(loading.add(arrival(id, row))?),
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
        Some(id) => Ok(loading.add(arrival(id, row))?),
        None => Ok(()),
    };
    match read_only {
        true => remade(read, live, &numbers)?.into_iter().try_for_each(add)?,
        false => renew(store, read, live, &numbers, add)?,
    }
    loading.finish()?;
    engine.weigh_words_by(words(read, live)?);
    Ok(())
}

/// The stored weights of words; damaged ones are as good as none, and `verify` names them.
pub(super) fn words(read: &dyn Read, live: &Live) -> Result<Option<WordFrequencies>> {
    match read.words(live.row.number) {
        Ok(None) | Err(Error::Damaged { .. }) => Ok(None),
        Ok(Some(bytes)) => Ok(WordFrequencies::from_bytes(&bytes).ok()),
        Err(error) => Err(error),
    }
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
pub(super) fn renew(
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
