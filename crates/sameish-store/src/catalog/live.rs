//! What is a collection in memory, and how does it get there?

use super::texts::Readers;
use super::words;
use crate::error::{Error, Result};
use crate::model::OpenOptions;
use crate::rows::{CollectionRow, DocumentRow, SketchRow, scheme_of};
use crate::store::{Read, Store};
use sameish::{Arrival, Config, DocId, Engine, Held, SchemeId, Scratch, Timestamp, WordFrequencies};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
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
    /// When the last document came, in milliseconds since 1970; the least number where none has.
    arrived: AtomicI64,
}

impl Live {
    pub(super) fn new(row: CollectionRow) -> Result<Live> {
        let config = Config::from_toml(&row.config)?;
        let maker = Engine::without_texts(config.clone())?;
        let engine = RwLock::new(Engine::without_texts(config)?);
        let scheme = scheme_of(maker.schemes());
        Ok(Live {
            row,
            scheme,
            maker,
            engine,
            visible: AtomicU64::new(u64::MAX),
            arrived: AtomicI64::new(i64::MIN),
        })
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

    /// When the last document came.
    pub(super) fn last_arrival(&self) -> Option<i64> {
        Some(self.arrived.load(Ordering::Relaxed)).filter(|&moment| moment != i64::MIN)
    }

    pub(super) fn note_arrival(&self, moment: i64) {
        self.arrived.store(moment, Ordering::Relaxed);
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

/// Makes all that is derived again: sketches from the texts, and the weights of words. Sketches of documents that are not there
/// go.
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
    renew(store, read, live, &numbers, |_| Ok(()))?;
    if words::due(&live.maker, None).is_some_and(|least| numbers.len() as u64 >= least) {
        let words = words::count(read, numbers)?;
        put_words(store, live, &words.to_bytes())
    } else if read.words(live.row.number).is_err() {
        // Damaged, and too few documents for new ones: none.
        put_words(store, live, &[])
    } else {
        Ok(())
    }
}

fn put_words(store: &mut dyn Store, live: &Live, words: &[u8]) -> Result<()> {
    let mut change = store.begin()?;
    change.put_words(live.row.number, words)?;
    change.commit()
}

/// Builds the index anew from what is stored.
pub(super) fn reload(store: &mut dyn Store, read: &dyn Read, live: &Live) -> Result<()> {
    // Built aside: whoever asks meanwhile is answered from the one that is there.
    let engine = load(store, read, live, false)?;
    *live.engine_mut() = engine;
    Ok(())
}

/// Builds the index from the stored sketches. Those that are damaged or missing are made again from the texts.
fn load(store: &mut dyn Store, read: &dyn Read, live: &Live, read_only: bool) -> Result<Engine> {
    let mut engine = Engine::without_texts(live.maker.config().clone())?;
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
    engine.weigh_words_by(stored_words(read, live)?);
    Ok(engine)
}

/// The stored weights of words; damaged ones are as good as none, and `verify` names them.
pub(super) fn stored_words(read: &dyn Read, live: &Live) -> Result<Option<WordFrequencies>> {
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
