//! Saved results of completed steps, for resumable runs.

use crate::error::Result;
use crate::input::{Input, InputResult, ReadOptions, format_of};
use crate::resume::{StepDirectory, StepReader, StepWriter, TempFiles};
use crate::run_log::{Completion, Counts, Monitor, RunLog};
use crate::sign::Signer;
use crate::signed::SignedCorpus;
use crate::spool::Spool;
use crate::stars::{ClusterCounts, StarClusters};
use crate::table::{ContentKind, Ids, InputStart, Names, Outlines, Row, SeekableInput, State};
use sameish::features::TextKey;
use sameish::sketch::Outline;
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::Range;

/// The small part of a signed corpus.
#[derive(Serialize, Deserialize)]
struct Head {
    names: Vec<String>,
    /// Positions among all inputs, those of an existing corpus first.
    inputs: Vec<usize>,
    starts: Vec<(usize, u64)>,
    spooled: u64,
    against: u32,
    records: Range<u64>,
    own_starts: usize,
    counts: Counts,
    completion: Completion,
}

/// All inputs of a run, those of an existing corpus first.
pub(crate) struct AllInputs<'a> {
    pub(crate) against: &'a [InputResult],
    pub(crate) own: &'a [InputResult],
}

impl AllInputs<'_> {
    fn position(&self, input: &Input) -> usize {
        let is_it = |other: &InputResult| other.as_ref() == Ok(input);
        let position = self.against.iter().chain(self.own).position(is_it);
        position.unwrap_or_else(|| unreachable!("{} is an input", input.name))
    }

    fn get(&self, position: usize) -> Option<&Input> {
        self.against.iter().chain(self.own).nth(position)?.as_ref().ok()
    }
}

/// Saves a signed corpus.
pub(crate) fn save_signed(
    steps: &StepDirectory,
    signed: &mut SignedCorpus,
    inputs: &AllInputs<'_>,
    log: &RunLog<dyn Monitor + '_>,
) -> Result<()> {
    signed.band_keys.save()?;
    let spooled = signed.spool.save()?;
    log.save_rejects(&steps.path("rejects"))?;
    let head = Head {
        names: signed.sources.list().to_vec(),
        inputs: signed.inputs.iter().map(|input| inputs.position(&input.input)).collect(),
        starts: signed.starts.iter().map(|start| (inputs.position(&start.input), start.first)).collect(),
        spooled,
        against: signed.against,
        records: signed.records.clone(),
        own_starts: signed.own_starts,
        counts: log.counts.clone(),
        completion: log.completion,
    };
    steps.save("sign", |to| {
        to.value(&head)?;
        write_rows(&signed.rows, to)?;
        let (bytes, ends) = signed.ids.parts();
        to.list(bytes)?;
        to.list(ends)?;
        to.list(&signed.keys.iter().map(|key| key.as_u128()).collect::<Vec<u128>>())?;
        to.list(&signed.outlines.list().iter().map(|outline| outline.to_words()).collect::<Vec<_>>())?;
        to.list(&signed.fingerprints)?;
        to.list(&signed.order)
    })
}

/// Loads what [`save_signed`] saved, if there is anything, and restores the log.
pub(crate) fn load_signed(
    steps: &StepDirectory,
    signer: &Signer,
    files: &TempFiles,
    inputs: &AllInputs<'_>,
    read: &ReadOptions,
    log: &mut RunLog<dyn Monitor + '_>,
) -> Result<Option<SignedCorpus>> {
    let loaded = steps.load("sign", |from| {
        let head: Head = from.value()?;
        let rows = read_rows(from)?;
        let ids = Ids::from_parts(from.list()?, from.list()?);
        let keys = from.list::<u128>()?.into_iter().map(TextKey::from_u128).collect();
        let outlines = from.list()?.into_iter().map(Outline::from_words).collect();
        let fingerprints = from.list()?;
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let input_at = |position: usize| inputs.get(position).cloned().ok_or_else(invalid);
        let seekable = |&position: &usize| {
            let input = input_at(position)?;
            let format = format_of(&input, read).ok_or_else(invalid)?;
            Ok(SeekableInput { input, format })
        };
        let start = |&(position, first): &(usize, u64)| Ok(InputStart { input: input_at(position)?, first });
        let signed = SignedCorpus {
            ids,
            sources: Names::from_list(head.names),
            ranks: Vec::new(),
            order: from.list()?,
            against: head.against,
            records: head.records,
            is_resumed: true,
            keys,
            band_keys: signer.load_band_keys(files, rows.len())?,
            outlines: Outlines::with_list(signer.analyzer().config().screen(), outlines),
            fingerprints,
            codes: Vec::new(),
            // Only pairs have dates, and only `dedup` is resumed.
            dates: Vec::new(),
            inputs: head.inputs.iter().map(seekable).collect::<io::Result<_>>()?,
            starts: head.starts.iter().map(start).collect::<io::Result<_>>()?,
            own_starts: head.own_starts,
            spool: Spool::load(files.clone(), head.spooled)?,
            rows,
        };
        Ok((signed, head.counts, head.completion))
    });
    let Some((signed, counts, completion)) = loaded else { return Ok(None) };
    log.restore(counts, completion, &steps.path("rejects"))?;
    Ok(Some(signed))
}

fn write_rows(rows: &[Row], to: &mut StepWriter) -> io::Result<()> {
    to.list(&rows.iter().map(|row| [row.record, row.at]).collect::<Vec<_>>())?;
    let rest = |row: &Row| {
        let state = match row.state {
            State::Long => 0,
            State::Short => 1,
            State::Blank => 2,
            State::Replaced => 3,
        };
        let kind = match row.kind {
            ContentKind::Text => 0,
            ContentKind::Tokens => 1,
            ContentKind::Sketches => 2,
        };
        let flags = state | u32::from(row.too_short) << 2 | kind << 3 | u32::from(row.signed) << 5;
        [row.len, row.input, row.text_bytes, row.source, flags]
    };
    to.list(&rows.iter().map(rest).collect::<Vec<[u32; 5]>>())
}

fn read_rows(from: &mut StepReader) -> io::Result<Vec<Row>> {
    let positions: Vec<[u64; 2]> = from.list()?;
    let rest: Vec<[u32; 5]> = from.list()?;
    let row = |([record, at], [len, input, text_bytes, source, flags]): ([u64; 2], [u32; 5])| Row {
        record,
        at,
        len,
        input,
        text_bytes,
        source,
        state: [State::Long, State::Short, State::Blank, State::Replaced][(flags & 3) as usize],
        too_short: flags & 4 != 0,
        kind: match flags >> 3 & 3 {
            0 => ContentKind::Text,
            1 => ContentKind::Tokens,
            _ => ContentKind::Sketches,
        },
        signed: flags & 32 != 0,
    };
    Ok(positions.into_iter().zip(rest).map(row).collect())
}

/// Saves clusters.
pub(crate) fn save_clusters(steps: &StepDirectory, clusters: &StarClusters) -> Result<()> {
    steps.save("group", |to| {
        to.list(&clusters.center)?;
        to.list(&clusters.similarity)?;
        to.list(&clusters.verified.iter().map(|verified| u8::from(*verified)).collect::<Vec<u8>>())?;
        to.value(&clusters.counts)?;
        to.list(&clusters.histogram)?;
        to.value(&clusters.templates)
    })
}

/// Loads what [`save_clusters`] saved, if there is anything.
pub(crate) fn load_clusters(steps: &StepDirectory) -> Option<StarClusters> {
    steps.load("group", |from| {
        Ok(StarClusters {
            center: from.list()?,
            similarity: from.list()?,
            verified: from.list::<u8>()?.into_iter().map(|verified| verified != 0).collect(),
            counts: from.value::<ClusterCounts>()?,
            histogram: from.list()?,
            templates: from.value()?,
        })
    })
}
