//! How a run is done: sign, pair, verify.

use super::summary::Stages;
use super::{Choice, Work};
use crate::args::Size;
use crate::batch::fetch::Fetcher;
use crate::batch::group::{Grouper, Grouping, leaders, order};
use crate::batch::sign::{Counted, Doc, Ids, Keep, Keys, Names, Signed, Signing, State};
use crate::exit::Failure;
use crate::input::Reading;
use crate::input::find::Source;
use crate::on_dup_id::OnDupId;
use crate::output::messages::Messages;
use sameish::{Bands, Engine, Templates, WordFrequencies};
use std::path::PathBuf;
use std::sync::Arc;

/// Settings of a run that have been checked.
pub(super) struct Plan {
    engine: Arc<Engine>,
    bands: Bands,
    keep: Keep,
    on_dup_id: OnDupId,
    keep_templates: bool,
    threads: usize,
    temp_dir: Option<PathBuf>,
    memory: Option<usize>,
}

impl Plan {
    pub(super) fn new(
        engine: &Arc<Engine>,
        choice: &Choice,
        work: &Work,
        threads: usize,
        on_dup_id: OnDupId,
    ) -> Result<Plan, Failure> {
        let usage = |error: sameish::Error| Failure::usage(error.to_string());
        let config = engine.config();
        let bands = match (config.bands().map_err(usage)?, config.matching.verify, &config.simhash) {
            (Some(bands), true, None) => bands,
            _ => {
                return Err(Failure::usage(
                    "dedup needs settings that make MinHash signatures alone and verify, such as `--preset copies`",
                ));
            }
        };
        let memory = work.max_memory.map(Size::bytes);
        if memory.is_some_and(|memory| memory < LEAST_MEMORY) {
            return Err(Failure::usage(format!("`--max-memory` must be at least {}M", LEAST_MEMORY >> 20)));
        }
        Ok(Plan {
            engine: engine.clone(),
            bands,
            keep: choice.keep.0.clone(),
            on_dup_id,
            keep_templates: config.matching.templates == Templates::Keep,
            threads,
            temp_dir: work.temp_dir.clone(),
            memory,
        })
    }

    pub(super) fn signing(&self) -> Signing {
        let share = |of: usize| self.memory.map_or(usize::MAX, |memory| memory / of);
        Signing {
            engine: self.engine.clone(),
            bands: self.bands,
            keep: self.keep.clone(),
            keys: Keys::Verbatim,
            on_dup_id: self.on_dup_id,
            facts: if self.keep_templates { Counted::Sample } else { Counted::None },
            texts: true,
            lows: false,
            threads: self.threads,
            temp_dir: self.temp_dir.clone(),
            tags_in_memory: share(8),
            max_held: share(2),
        }
    }

    pub(super) fn dedup(
        &self,
        signed: Signed,
        reading: &Reading,
        histogram: bool,
        stages: &mut Stages,
        messages: &mut Messages,
    ) -> anyhow::Result<Deduped> {
        let Signed {
            docs,
            ids,
            sources,
            keys,
            tags,
            prints,
            ranks,
            inputs,
            mut starts,
            spool,
            frequencies,
            against,
            own_starts,
            ..
        } = signed;
        let order = order(docs.len(), &ranks, against);
        let leader = leaders(&docs, &keys, &prints, &order);
        drop((keys, ranks));
        let takes = |doc: u32| leader[doc as usize] == doc && docs[doc as usize].state == State::Long;
        let room = self.memory.map_or(usize::MAX, |memory| memory / 8);
        let buckets = tags.buckets(takes, room)?;
        stages.end("pair");
        let fetcher = Fetcher::new(inputs, spool.finish()?, reading.rules)?;
        let grouper = Grouper {
            engine: &self.engine,
            docs: &docs,
            fetcher: &fetcher,
            frequencies: frequencies.as_ref(),
            keep_templates: self.keep_templates,
            against,
            histogram,
            window_bytes: self.memory.map_or(WINDOW_BYTES, |memory| (memory / 32).min(WINDOW_BYTES)),
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build()?;
        let progress = |done| messages.share("comparing", done, order.len());
        let grouping = pool.install(|| grouper.run(&order, &leader, &buckets, progress))?;
        stages.end("verify");
        let starts = starts.split_off(own_starts);
        Ok(Deduped { docs, ids, sources, order, grouping, against, starts, fetcher, frequencies })
    }
}

/// Below this nothing works.
const LEAST_MEMORY: usize = 64 << 20;
/// Text that is loaded at once.
const WINDOW_BYTES: usize = 16 << 20;

/// All documents and who belongs to whom.
pub(super) struct Deduped {
    pub(super) docs: Vec<Doc>,
    pub(super) ids: Ids,
    pub(super) sources: Names,
    pub(super) order: Vec<u32>,
    pub(super) grouping: Grouping,
    pub(super) against: u32,
    pub(super) starts: Vec<(Source, u64)>,
    pub(super) fetcher: Fetcher,
    pub(super) frequencies: Option<WordFrequencies>,
}
