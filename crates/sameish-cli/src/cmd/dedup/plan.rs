//! How a run is done: sign, pair, verify.

use super::summary::Stages;
use super::{Choice, Work};
use crate::batch::budget::Budget;
use crate::batch::corpus::bands;
use crate::batch::distance::group_by_distance;
use crate::batch::fetch::Fetcher;
use crate::batch::group::{Grouper, Grouping, leaders, order};
use crate::batch::held::{Doc, Ids, Keep, Names, State};
use crate::batch::judging::Known;
use crate::batch::saved::{AllInputs, load_grouping, load_signed, save_grouping, save_signed};
use crate::batch::sign::{Counted, Keys, Signed, Signing};
use crate::batch::stage::{StageFolder, TempFiles};
use crate::exit::Failure;
use crate::input::Reading;
use crate::input::find::Source;
use crate::intake::Intake;
use crate::on_dup_id::OnDupId;
use crate::output::messages::{Messages, counted};
use crate::pipeline::pool;
use sameish::{BandTags, Bands, Engine, Templates, WordFrequencies};
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
            temp_dir: work.memory.temp_dir.clone(),
            budget: Budget::new(work.memory.max_memory)?,
        })
    }

    /// Reads and signs everything, or takes what an earlier run left.
    pub(super) fn sign(
        &self,
        inputs: &AllInputs<'_>,
        reading: &Reading,
        folder: Option<&StageFolder>,
        stages: &mut Stages,
        intake: &mut Intake,
    ) -> anyhow::Result<(Signed, Vec<u32>)> {
        let signing = self.signing(folder);
        let loaded =
            folder.map(|folder| load_signed(folder, &signing, inputs, reading, intake)).transpose()?;
        if let Some((signed, order)) = loaded.flatten() {
            let documents = counted(signed.docs.len() as u64, "document");
            intake.messages.note(&format!("goes on with {documents} that an earlier run has read"));
            return Ok((signed, order));
        }
        let (against, own) = (inputs.against.to_vec(), inputs.own.to_vec());
        let mut signed = signing.run(against, own, reading.clone(), intake)?;
        let order = order(signed.docs.len(), &signed.ranks, signed.against);
        if let Some(folder) = folder {
            save_signed(folder, &mut signed, &order, inputs, intake)?;
        }
        stages.end("sign");
        Ok((signed, order))
    }

    fn signing(&self, folder: Option<&StageFolder>) -> Signing {
        Signing {
            engine: self.engine.clone(),
            tags: BandTags::new(self.bands),
            bands: self.bands,
            keep: self.keep.clone(),
            keys: Keys::Verbatim,
            on_dup_id: self.on_dup_id,
            facts: if self.keep_templates { Counted::Sample } else { Counted::None },
            texts: true,
            threads: self.threads,
            files: TempFiles::new(self.temp_dir.clone(), folder),
            tags_in_memory: self.budget.tags(),
            max_held: self.budget.held(),
        }
    }

    pub(super) fn dedup(
        &self,
        (signed, order): (Signed, Vec<u32>),
        reading: &Reading,
        histogram: bool,
        folder: Option<&StageFolder>,
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
            outlines,
            inputs,
            mut starts,
            spool,
            frequencies,
            against,
            own_starts,
            ..
        } = signed;
        let leader = leaders(&docs, &keys, |doc| prints.get(doc as usize).copied().unwrap_or(0), &order);
        let starts = starts.split_off(own_starts);
        if let Some(grouping) = folder.and_then(load_grouping) {
            messages.note("goes on with the clusters that an earlier run has found");
            let fetcher = Fetcher::new(inputs, spool.finish()?, reading.rules)?;
            return Ok(Deduped {
                docs,
                ids,
                sources,
                order,
                grouping,
                against,
                starts,
                fetcher,
                frequencies,
            });
        }
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
            outlines: &outlines,
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
        if let Some(folder) = folder {
            save_grouping(folder, &grouping)?;
        }
        stages.end("verify");
        Ok(Deduped { docs, ids, sources, order, grouping, against, starts, fetcher, frequencies })
    }
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
