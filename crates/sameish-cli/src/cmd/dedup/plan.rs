//! How a run is done: sign, pair, verify.

use super::summary::Stages;
use super::{Choice, Work};
use crate::batch::budget::Budget;
use crate::batch::corpus::bands;
use crate::batch::distance::group_by_distance;
use crate::batch::fetch::Fetcher;
use crate::batch::group::{Grouper, Grouping, leaders, order};
use crate::batch::judging::Known;
use crate::batch::sign::{Counted, Doc, Ids, Keep, Keys, Names, Signed, Signing, State};
use crate::exit::Failure;
use crate::input::Reading;
use crate::input::find::Source;
use crate::on_dup_id::OnDupId;
use crate::output::messages::Messages;
use crate::pipeline::pool;
use sameish::{Bands, Config, Engine, MinHashConfig, Shingle, Templates, WordFrequencies};
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
    budget: Budget,
}

impl Plan {
    pub(super) fn new(
        engine: &Arc<Engine>,
        choice: &Choice,
        work: &Work,
        threads: usize,
        on_dup_id: OnDupId,
    ) -> Result<Plan, Failure> {
        let config = engine.config();
        let fingerprints_alone = config.simhash.is_some() && config.minhash.is_none();
        if config.sdr.is_some() || !config.matching.verify && !fingerprints_alone {
            return Err(Failure::usage(
                "dedup needs settings that verify or make fingerprints alone, and no sparse codes: \
                 such as `--preset copies` or `--preset wire`",
            ));
        }
        Ok(Plan {
            engine: engine.clone(),
            bands: bands(config)?,
            keep: choice.keep.0.clone(),
            on_dup_id,
            keep_templates: config.matching.verify && config.matching.templates == Templates::Keep,
            threads,
            temp_dir: work.temp_dir.clone(),
            budget: Budget::new(work.max_memory)?,
        })
    }

    pub(super) fn signing(&self) -> Signing {
        Signing {
            engine: self.engine.clone(),
            bands: self.bands,
            keep: self.keep.clone(),
            keys: Keys::Verbatim,
            on_dup_id: self.on_dup_id,
            facts: if self.keep_templates { Counted::Sample } else { Counted::None },
            texts: true,
            lows: strangers_meet(self.engine.config()),
            threads: self.threads,
            temp_dir: self.temp_dir.clone(),
            tags_in_memory: self.budget.tags(),
            max_held: self.budget.held(),
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
            lows,
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
        let leader = leaders(&docs, &keys, |doc| prints.get(doc as usize).copied().unwrap_or(0), &order);
        drop(ranks);
        let takes = |doc: u32| leader[doc as usize] == doc && docs[doc as usize].state == State::Long;
        let buckets = tags.buckets(takes, self.budget.sorting())?;
        stages.end("pair");
        let fetcher = Fetcher::new(inputs, spool.finish()?, reading.rules)?;
        let known = Known {
            engine: &self.engine,
            docs: &docs,
            keys: &keys,
            prints: &prints,
            codes: &[],
            fetcher: &fetcher,
            facts: self.keep_templates,
        };
        let grouper = Grouper {
            known,
            lows: &lows,
            frequencies: frequencies.as_ref(),
            keep_templates: self.keep_templates,
            against,
            histogram,
            window_bytes: self.budget.window(),
        };
        let progress = |done| messages.share("comparing", done, order.len());
        let grouping = match self.engine.config().matching.verify {
            false => group_by_distance(&known, &order, &leader, against, progress)?,
            true => pool(self.threads)?.install(|| grouper.run(&order, &leader, &buckets, progress))?,
        };
        stages.end("verify");
        let starts = starts.split_off(own_starts);
        Ok(Deduped { docs, ids, sources, order, grouping, against, starts, fetcher, frequencies })
    }
}

/// Whether many texts become candidates that have little in common: by fingerprints of long texts, and by characters. Then
/// signatures are held to tell them apart without reading them.
fn strangers_meet(config: &Config) -> bool {
    let by_characters = |minhash: &MinHashConfig| matches!(minhash.shingle, Shingle::Chars(_));
    config.simhash.is_some() || config.minhash.as_ref().is_some_and(by_characters)
}

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
