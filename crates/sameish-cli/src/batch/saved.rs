//! What is kept of a finished stage, for `--resume`.

use super::group::{GroupCounts, Grouping};
use super::held::{Doc, Ids, Names, Outlines, State};
use super::sign::{Input, Signed, Signing};
use super::spool::Spool;
use super::stage::{StageFolder, StageReader, StageWriter};
use super::tags::Tags;
use crate::exit::{Exit, Failure};
use crate::input::find::{Found, Source};
use crate::input::{Reading, format_of};
use crate::intake::{Counts, Intake};
use sameish::{Outline, TextKey, WordFrequencies};
use serde::{Deserialize, Serialize};
use std::io;

/// The small part of what signing found.
#[derive(Serialize, Deserialize)]
struct Head {
    names: Vec<String>,
    /// Places among all inputs, those of the existing corpus first.
    inputs: Vec<usize>,
    starts: Vec<(usize, u64)>,
    spooled: u64,
    against: u32,
    own_starts: usize,
    counts: Counts,
    exit: Exit,
}

/// All inputs of a run, those of the existing corpus first.
pub(crate) struct AllInputs<'a> {
    pub(crate) against: &'a [Found],
    pub(crate) own: &'a [Found],
}

impl AllInputs<'_> {
    fn place(&self, source: &Source) -> usize {
        let is_it = |found: &Found| found.as_ref() == Ok(source);
        let place = self.against.iter().chain(self.own).position(is_it);
        place.unwrap_or_else(|| unreachable!("{} was read", source.name))
    }

    fn get(&self, place: usize) -> Option<&Source> {
        self.against.iter().chain(self.own).nth(place)?.as_ref().ok()
    }
}

/// Keeps what signing found, and the order that `--keep` made of it.
pub(crate) fn save_signed(
    folder: &StageFolder,
    signed: &mut Signed,
    order: &[u32],
    inputs: &AllInputs<'_>,
    intake: &Intake,
) -> Result<(), Failure> {
    signed.tags.save()?;
    let spooled = signed.spool.save()?;
    intake.save_rejects(&folder.place("rejects"))?;
    let head = Head {
        names: signed.sources.list().to_vec(),
        inputs: signed.inputs.iter().map(|input| inputs.place(&input.source)).collect(),
        starts: signed.starts.iter().map(|(source, first)| (inputs.place(source), *first)).collect(),
        spooled,
        against: signed.against,
        own_starts: signed.own_starts,
        counts: intake.counts.clone(),
        exit: intake.exit,
    };
    folder.save("sign", |to| {
        to.value(&head)?;
        write_docs(&signed.docs, to)?;
        let (bytes, ends) = signed.ids.parts();
        to.list(bytes)?;
        to.list(ends)?;
        to.list(&signed.keys.iter().map(|key| key.as_u128()).collect::<Vec<u128>>())?;
        to.list(&signed.outlines.list().iter().map(|outline| outline.to_words()).collect::<Vec<_>>())?;
        to.list(&signed.prints)?;
        to.list(&signed.frequencies.as_ref().map_or(Vec::new(), WordFrequencies::to_bytes))?;
        to.list(order)
    })
}

/// What [`save_signed`] kept, if there is anything. The intake goes on from where it was.
pub(crate) fn load_signed(
    folder: &StageFolder,
    signing: &Signing,
    inputs: &AllInputs<'_>,
    reading: &Reading,
    intake: &mut Intake,
) -> Result<Option<(Signed, Vec<u32>)>, Failure> {
    let loaded = folder.load("sign", |from| {
        let head: Head = from.value()?;
        let docs = read_docs(from)?;
        let ids = Ids::from_parts(from.list()?, from.list()?);
        let keys = from.list::<u128>()?.into_iter().map(TextKey::from_u128).collect();
        let outlines = from.list()?.into_iter().map(Outline::from_words).collect();
        let prints = from.list()?;
        let frequencies = Some(from.list::<u8>()?).filter(|bytes| !bytes.is_empty());
        let frequencies = frequencies.map(|bytes| WordFrequencies::from_bytes(&bytes)).transpose();
        let broken = || io::Error::from(io::ErrorKind::InvalidData);
        let source = |place: usize| inputs.get(place).cloned().ok_or_else(broken);
        let input = |&place: &usize| {
            let source = source(place)?;
            let format = format_of(&source, reading).ok_or_else(broken)?;
            Ok(Input { source, format })
        };
        let start = |&(place, first): &(usize, u64)| Ok((source(place)?, first));
        let tags = Tags::load(signing.bands, signing.tags_in_memory, signing.files.clone(), docs.len())?;
        let signed = Signed {
            ids,
            sources: Names::from_list(head.names),
            keys,
            tags,
            outlines: Outlines::with_list(&signing.engine, outlines),
            prints,
            codes: Vec::new(),
            ranks: Vec::new(),
            inputs: head.inputs.iter().map(input).collect::<io::Result<_>>()?,
            starts: head.starts.iter().map(start).collect::<io::Result<_>>()?,
            spool: Spool::load(signing.files.clone(), head.spooled)?,
            frequencies: frequencies.map_err(|_| broken())?,
            against: head.against,
            own_starts: head.own_starts,
            docs,
        };
        Ok((signed, from.list::<u32>()?, head.counts, head.exit))
    });
    let Some((signed, order, counts, exit)) = loaded else { return Ok(None) };
    intake.go_on(counts, exit, &folder.place("rejects"))?;
    Ok(Some((signed, order)))
}

fn write_docs(docs: &[Doc], to: &mut StageWriter) -> io::Result<()> {
    to.list(&docs.iter().map(|doc| [doc.record, doc.at]).collect::<Vec<_>>())?;
    let rest = |doc: &Doc| {
        let state = match doc.state {
            State::Long => 0,
            State::Short => 1,
            State::Blank => 2,
            State::Replaced => 3,
        };
        let flags = state | u32::from(doc.too_short) << 2 | u32::from(doc.tokens) << 3;
        [doc.len, doc.input, doc.text_bytes, doc.source, flags]
    };
    to.list(&docs.iter().map(rest).collect::<Vec<[u32; 5]>>())
}

fn read_docs(from: &mut StageReader) -> io::Result<Vec<Doc>> {
    let places: Vec<[u64; 2]> = from.list()?;
    let rest: Vec<[u32; 5]> = from.list()?;
    let doc = |([record, at], [len, input, text_bytes, source, flags]): ([u64; 2], [u32; 5])| Doc {
        record,
        at,
        len,
        input,
        text_bytes,
        source,
        state: [State::Long, State::Short, State::Blank, State::Replaced][(flags & 3) as usize],
        too_short: flags & 4 != 0,
        tokens: flags & 8 != 0,
    };
    Ok(places.into_iter().zip(rest).map(doc).collect())
}

/// Keeps who belongs to whom.
pub(crate) fn save_grouping(folder: &StageFolder, grouping: &Grouping) -> Result<(), Failure> {
    folder.save("group", |to| {
        to.list(&grouping.center)?;
        to.list(&grouping.similarity)?;
        to.list(&grouping.verified.iter().map(|verified| u8::from(*verified)).collect::<Vec<u8>>())?;
        to.value(&grouping.counts)?;
        to.list(&grouping.histogram)?;
        to.value(&grouping.templates)
    })
}

/// What [`save_grouping`] kept, if there is anything.
pub(crate) fn load_grouping(folder: &StageFolder) -> Option<Grouping> {
    folder.load("group", |from| {
        Ok(Grouping {
            center: from.list()?,
            similarity: from.list()?,
            verified: from.list::<u8>()?.into_iter().map(|verified| verified != 0).collect(),
            counts: from.value::<GroupCounts>()?,
            histogram: from.list()?,
            templates: from.value()?,
        })
    })
}
