//! How are many texts worked on?

use crate::texts::{NotUtf8, Raw, utf8};
use crate::work::{Progress, SHORT, attended, spread, threads};
use pyo3::prelude::*;
use sameish::{Prepared, Scratch, Status};
use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

/// Texts that a thread takes at a time.
const BLOCK: usize = 32;

/// Texts for all cores, or as many as are asked for.
pub(crate) struct Many<'a, 'py> {
    pub(crate) texts: &'a [Raw<'a>],
    /// Whether bytes that are not UTF-8 are replaced, not refused.
    pub(crate) lossy: bool,
    pub(crate) threads: Option<i64>,
    pub(crate) progress: Progress<'a, 'py>,
}

impl Many<'_, '_> {
    /// A row of `columns` items for each text, in order, as `write` fills it; it hears of nulls too. Of several texts that are
    /// not UTF-8 the first is told, whatever the number of threads.
    pub(crate) fn rows<T: Clone + Default + Send>(
        &self,
        py: Python<'_>,
        columns: usize,
        write: impl Fn(Option<&str>, &mut [T], &mut Scratch) + Sync,
    ) -> PyResult<Vec<T>> {
        let (hands, texts, lossy) = (threads(self.threads)?, self.texts, self.lossy);
        let progress = self.progress.small_if(self.is_small());
        let (rows, fault) = attended(py, progress, |watch| {
            // Zeros cost nothing until they are written: many gigabytes must not hold up a signal.
            let mut rows = vec![T::default(); texts.len() * columns];
            let fault = Mutex::new(None);
            let blocks = texts.chunks(BLOCK).zip(rows.chunks_mut(BLOCK * columns)).enumerate();
            spread(hands, blocks, watch, |(i, (texts, rows)), scratch| {
                let rows = texts.iter().zip(rows.chunks_mut(columns)).enumerate();
                for (at, (text, row)) in rows.take_while(|_| watch.goes_on()) {
                    match text.map(|bytes| read(bytes, lossy)).transpose() {
                        Ok(text) => write(text.as_deref(), row, scratch),
                        Err(why) => keep_first(&fault, (i * BLOCK + at, why)),
                    }
                }
                watch.add(texts.len());
            });
            (rows, fault.into_inner().unwrap_or_else(PoisonError::into_inner))
        })?;
        fault.map_or(Ok(rows), |(at, why): (usize, NotUtf8)| {
            Err(why.raised(&format!("texts: item at position {at}")))
        })
    }

    /// All that an engine needs of each text, in order. A null is a text without words.
    pub(crate) fn prepared(
        &self,
        py: Python<'_>,
        prepare: impl Fn(&str, &mut Scratch) -> Prepared + Sync,
    ) -> PyResult<Vec<Prepared>> {
        let rows = self.rows(py, 1, |text, row, scratch| {
            row[0] = Some(prepare(text.unwrap_or_default(), scratch));
        })?;
        Ok(rows.into_iter().flatten().collect())
    }

    fn is_small(&self) -> bool {
        let mut bytes = self.texts.iter().map(|text| text.map_or(0, <[u8]>::len));
        self.texts.len() <= BLOCK
            && bytes.try_fold(0, |sum, len| (sum + len <= SHORT).then_some(sum + len)).is_some()
    }
}

/// How many are too short for the settings.
pub(crate) fn too_short(prepared: &[Prepared]) -> usize {
    prepared.iter().filter(|prepared| prepared.sketches.status == Status::TooShort).count()
}

fn read(bytes: &[u8], lossy: bool) -> Result<Cow<'_, str>, NotUtf8> {
    match utf8(bytes) {
        Err(_) if lossy => Ok(String::from_utf8_lossy(bytes)),
        text => text.map(Cow::Borrowed),
    }
}

fn keep_first(slot: &Mutex<Option<(usize, NotUtf8)>>, fault: (usize, NotUtf8)) {
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if slot.as_ref().is_none_or(|(first, _)| fault.0 < *first) {
        *slot = Some(fault);
    }
}
