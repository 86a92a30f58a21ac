//! What does a stored engine look like?
//!
//! Little endian: the magic, the version, the settings as TOML, then every text with what was made of it and the documents
//! that have it, then what was counted, then the XXH3 of all before. Texts themselves are not held and so not stored.
//! `docs/algorithms.md` has every byte. Reading checks the sum first and everything else all the same: whatever the bytes
//! are, the answer is an engine or an error.

use super::collection::{Doc, Prepared};
use super::{Engine, Sketches, Status};
use crate::cluster::{ClusterId, OnlineClusters};
use crate::config::{Config, Weighting};
use crate::document::{DocId, Timestamp};
use crate::error::{Error, Result};
use crate::features::{Facts, FeatureSet, TextKey, WordFrequencies};
use crate::index::DocNumber;
use crate::sketch::{Fingerprint, Sdr, Signature};
use std::collections::HashMap;
use std::io::{self, Write};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const MAGIC: [u8; 8] = *b"sameishE";
const VERSION: u32 = 1;
/// Bytes of the sum at the end.
const SUM: usize = 8;

/// What a text has, in bits of one byte.
const TOO_SHORT: u8 = 1;
const HAS_KEY: u8 = 2;
const HAS_SIMHASH: u8 = 4;
const HAS_MINHASH: u8 = 8;
const HAS_SDR: u8 = 16;

impl Engine {
    /// The engine as bytes of one file, which [`from_bytes`](Self::from_bytes) reads.
    ///
    /// ```
    /// use sameish::{Document, Engine, Preset, Scratch, SearchOptions};
    ///
    /// let mut engine = Engine::new(Preset::Copies.config())?;
    /// let text = "The council voted on Monday to close the old bridge over the river for repairs until next spring.";
    /// engine.insert(&Document::new("bridge", text), &mut Scratch::default())?;
    /// let again = Engine::from_bytes(&engine.to_bytes()?)?;
    /// let found = again.search(text, SearchOptions::default(), &mut Scratch::default())?;
    /// assert_eq!(found.matches[0].id, "bridge".into());
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.check_storable()?;
        // Writing to memory does not fail.
        let _ = self.write(&mut bytes);
        Ok(bytes)
    }

    /// Writes the engine, as [`to_bytes`](Self::to_bytes) gives it. What the engine refuses is an error of the outer kind.
    pub fn write_into(&self, out: &mut impl Write) -> Result<io::Result<()>> {
        self.check_storable()?;
        Ok(self.write(out))
    }

    /// Reads a stored engine. Everything is checked.
    pub fn from_bytes(bytes: &[u8]) -> Result<Engine> {
        let mut reader = Reader::open(bytes)?;
        let length = reader.length(1)?;
        let settings = reader.take(length)?;
        let settings =
            std::str::from_utf8(settings).map_err(|_| reader.wrong("settings that are no text"))?;
        let mut engine = Engine::new(Config::from_toml(settings)?)?;
        let numbers = engine.read_texts(&mut reader)?;
        engine.read_counts(&mut reader, &numbers)?;
        match reader.left.is_empty() {
            true => Ok(engine),
            false => Err(reader.wrong("more than there should be")),
        }
    }

    /// An engine that weighs by the rarity of features needs counts that it does not own alone; one whose texts are
    /// elsewhere is not whole.
    fn check_storable(&self) -> Result<()> {
        let weighting = self.config.simhash.as_ref().map(|simhash| simhash.weighting);
        if weighting == Some(Weighting::InverseDocumentFrequency) {
            let expected = "uniform or frequency, for an engine that is stored";
            return Err(Error::field("simhash.weighting", "inverse-document-frequency", expected));
        }
        if self.collection.elsewhere {
            return Err(Error::field(
                "engine",
                "one without texts",
                "one that has all it needs, to be stored",
            ));
        }
        Ok(())
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = Writer { out, hash: Xxh3::new(), buffer: Vec::new() };
        writer.buffer.extend(MAGIC);
        writer.buffer.extend(VERSION.to_le_bytes());
        writer.bytes(self.config.to_toml().as_bytes());
        let texts: Vec<u32> = self.collection.texts.iter().map(|(text, _)| text).collect();
        writer.u64(texts.len() as u64);
        for text in texts {
            self.write_text(text, &mut writer);
            writer.flush_if_full()?;
        }
        self.write_counts(&mut writer);
        writer.finish()
    }

    fn write_text(&self, text: u32, writer: &mut Writer<'_>) {
        let query = self.collection.query_of(text);
        let flag = |has: bool, bit: u8| if has { bit } else { 0 };
        writer.buffer.push(
            flag(query.status == Status::TooShort, TOO_SHORT)
                | flag(query.key.is_some(), HAS_KEY)
                | flag(query.simhash.is_some(), HAS_SIMHASH)
                | flag(query.signature.is_some(), HAS_MINHASH)
                | flag(query.sdr.is_some(), HAS_SDR),
        );
        writer.buffer.extend(query.key.into_iter().flat_map(|key| key.as_u128().to_le_bytes()));
        writer.buffer.extend(query.simhash.into_iter().flat_map(Fingerprint::to_bytes));
        writer.buffer.extend(query.signature.into_iter().flatten().flat_map(|row| row.to_le_bytes()));
        if let Some(sdr) = query.sdr {
            writer.list(sdr.active().iter().map(|bit| bit.to_le_bytes()));
        }
        writer.list(query.features.iter().flat_map(|set| set.as_slice()).map(|hash| hash.to_le_bytes()));
        writer.list(query.facts.iter().flat_map(|facts| facts.to_words()).map(u32::to_le_bytes));
        let docs: Vec<u32> = self.collection.docs_of(text).collect();
        writer.u64(docs.len() as u64);
        docs.into_iter().for_each(|doc| writer.doc(&self.collection.docs[doc]));
    }

    fn write_counts(&self, writer: &mut Writer<'_>) {
        writer.u64(self.collection.arrivals);
        let frequencies = self.collection.frequencies.as_ref().map(WordFrequencies::to_bytes);
        writer.bytes(&frequencies.unwrap_or_default());
        let Some(online) = &self.collection.online else { return };
        online.counters().into_iter().for_each(|counter| writer.u64(counter));
        let placed: Vec<_> = online.placed().collect();
        writer.u64(placed.len() as u64);
        for (doc, ClusterId(cluster), number) in placed {
            [self.collection.docs[doc.0].arrival, cluster, number].into_iter().for_each(|n| writer.u64(n));
        }
    }

    /// Gives the number of the document of each arrival.
    fn read_texts(&mut self, reader: &mut Reader<'_>) -> Result<HashMap<u64, u32>> {
        let mut numbers = HashMap::new();
        for _ in 0..reader.length(1)? {
            let prepared = self.read_prepared(reader)?;
            let docs = reader.length(1)?;
            if docs == 0 {
                return Err(reader.wrong("a text without documents"));
            }
            for _ in 0..docs {
                let doc = reader.doc()?;
                let arrival = doc.arrival;
                if self.contains(&doc.id) {
                    return Err(reader.wrong("an id that is there twice"));
                }
                let put = self
                    .collection
                    .put(doc, prepared.clone())
                    .map_err(|_| reader.wrong("sketches of another size"))?;
                if numbers.insert(arrival, put).is_some() {
                    return Err(reader.wrong("an arrival that is there twice"));
                }
            }
        }
        Ok(numbers)
    }

    fn read_prepared(&self, reader: &mut Reader<'_>) -> Result<Prepared> {
        let flags = reader.take(1)?[0];
        let has = |bit: u8| flags & bit != 0;
        let lanes = (self.config.simhash.is_some(), self.config.minhash.is_some(), self.config.sdr.as_ref());
        if has(HAS_SIMHASH) != lanes.0 || has(HAS_MINHASH) && !lanes.1 || has(HAS_SDR) != lanes.2.is_some() {
            return Err(reader.wrong("sketches that the settings do not make"));
        }
        let key = has(HAS_KEY).then(|| reader.array().map(u128::from_le_bytes)).transpose()?;
        let simhash = has(HAS_SIMHASH).then(|| reader.u64()).transpose()?;
        let rows = self.min_hasher.map_or(0, |hasher| hasher.rows());
        let minhash = match has(HAS_MINHASH) {
            true => Some(
                Signature::from_bytes(reader.take(rows * 4)?)
                    .map_err(|_| reader.wrong("an empty signature"))?,
            ),
            false => None,
        };
        let sdr = match (has(HAS_SDR), lanes.2) {
            (true, Some(sdr)) => {
                let active = reader.list(u32::from_le_bytes)?;
                Some(
                    Sdr::from_active(sdr.size, active)
                        .map_err(|_| reader.wrong("active bits out of order"))?,
                )
            }
            _ => None,
        };
        let features = FeatureSet::from_ascending(reader.list(u64::from_le_bytes)?);
        let features = features.ok_or_else(|| reader.wrong("features that do not ascend"))?;
        let facts = Facts::from_words(reader.list(u32::from_le_bytes)?);
        let facts = facts.ok_or_else(|| reader.wrong("words that do not ascend"))?;
        let status = if has(TOO_SHORT) { Status::TooShort } else { Status::Ok };
        let simhash = simhash.map(Fingerprint::from_u64);
        let sketches = Sketches { status, words: 0, simhash, minhash, sdr };
        Ok(Prepared { sketches, features, facts, key: key.map(TextKey::from_u128) })
    }

    fn read_counts(&mut self, reader: &mut Reader<'_>, numbers: &HashMap<u64, u32>) -> Result<()> {
        let arrivals = reader.u64()?;
        if self.collection.arrivals > arrivals {
            return Err(reader.wrong("an arrival from the future"));
        }
        self.collection.arrivals = arrivals;
        let length = reader.length(1)?;
        let frequencies = reader.take(length)?;
        if !frequencies.is_empty() {
            let frequencies = WordFrequencies::from_bytes(frequencies);
            self.collection.frequencies =
                Some(frequencies.map_err(|_| reader.wrong("words counted wrongly"))?);
        }
        if self.collection.online.is_none() {
            return Ok(());
        }
        let counters = [reader.u64()?, reader.u64()?];
        let mut placed = Vec::new();
        for _ in 0..reader.length(24)? {
            let [arrival, cluster, number] = [reader.u64()?, reader.u64()?, reader.u64()?];
            let doc = numbers.get(&arrival).ok_or_else(|| reader.wrong("a cluster of nobody"))?;
            placed.push((DocNumber(*doc), ClusterId(cluster), number));
        }
        let clusters = OnlineClusters::restored(counters, placed);
        self.collection.online = Some(clusters.ok_or_else(|| reader.wrong("clusters that can not be"))?);
        Ok(())
    }
}

/// Writes and sums, a piece at a time.
struct Writer<'a> {
    out: &'a mut dyn Write,
    hash: Xxh3,
    buffer: Vec<u8>,
}

impl Writer<'_> {
    fn u64(&mut self, number: u64) {
        self.buffer.extend(number.to_le_bytes());
    }

    /// A length, and so many bytes.
    fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.buffer.extend(bytes);
    }

    /// A length, and so many numbers.
    fn list<const N: usize>(&mut self, items: impl Iterator<Item = [u8; N]>) {
        let at = self.buffer.len();
        self.u64(0);
        let mut count = 0u64;
        items.for_each(|item| {
            self.buffer.extend(item);
            count += 1;
        });
        self.buffer[at..at + 8].copy_from_slice(&count.to_le_bytes());
    }

    fn doc(&mut self, doc: &Doc) {
        self.u64(doc.arrival);
        // Moments are held to the nanosecond; the written form keeps them.
        self.bytes(doc.published.map(|moment| moment.to_string()).unwrap_or_default().as_bytes());
        match &doc.id {
            DocId::Number(id) => self.id(0, &id.to_le_bytes()),
            DocId::Negative(id) => self.id(1, &id.to_le_bytes()),
            DocId::Text(id) => self.id(2, id.as_bytes()),
        }
    }

    fn id(&mut self, kind: u8, bytes: &[u8]) {
        self.buffer.push(kind);
        self.bytes(bytes);
    }

    fn flush_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() >= 1 << 16 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hash.update(&self.buffer);
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.out.write_all(&self.hash.digest().to_le_bytes())
    }
}

/// Bytes of which the first have been read.
struct Reader<'a> {
    left: &'a [u8],
    length: usize,
}

impl<'a> Reader<'a> {
    fn open(bytes: &'a [u8]) -> Result<Reader<'a>> {
        let corrupt = |reason, offset| Error::CorruptEngine { reason, offset };
        if !bytes.starts_with(&MAGIC) {
            return Err(corrupt("another beginning", 0));
        }
        let mut reader = Reader { left: &bytes[MAGIC.len()..], length: bytes.len() };
        let found = u32::from_le_bytes(reader.array()?);
        if found != VERSION {
            return Err(Error::EngineVersion { found, supported: VERSION });
        }
        let Some((left, sum)) = reader.left.split_last_chunk::<SUM>() else {
            return Err(corrupt("cut off", bytes.len()));
        };
        let end = bytes.len() - SUM;
        if xxh3_64(&bytes[..end]) != u64::from_le_bytes(*sum) {
            return Err(corrupt("damaged or cut off, its checksum is another", end));
        }
        Ok(Reader { left, length: end })
    }

    fn wrong(&self, reason: &'static str) -> Error {
        Error::CorruptEngine { reason, offset: self.length - self.left.len() }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(length).ok_or_else(|| self.wrong("cut off"))?;
        self.left = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, left) = self.left.split_first_chunk().ok_or_else(|| self.wrong("cut off"))?;
        self.left = left;
        Ok(*taken)
    }

    fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// How many things follow, if there can be so many: each takes at least `least` bytes.
    fn length(&mut self, least: usize) -> Result<usize> {
        let length = usize::try_from(self.u64()?).ok().filter(|&length| length <= self.left.len() / least);
        length.ok_or_else(|| self.wrong("a length beyond the end"))
    }

    fn list<T, const N: usize>(&mut self, read: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        let length = self.length(N)?;
        let bytes = self.take(length * N)?;
        Ok(bytes.as_chunks::<N>().0.iter().map(|&item| read(item)).collect())
    }

    fn doc(&mut self) -> Result<Doc> {
        let arrival = self.u64()?;
        if arrival == u64::MAX {
            return Err(self.wrong("an arrival at the end of time"));
        }
        let length = self.length(1)?;
        let published = match self.take(length)? {
            [] => None,
            text => {
                let text = std::str::from_utf8(text).ok();
                let moment = text.and_then(|text| Timestamp::parse(text).ok());
                Some(moment.ok_or_else(|| self.wrong("a date that is none"))?)
            }
        };
        let kind = self.take(1)?[0];
        let length = self.length(1)?;
        let bytes = self.take(length)?;
        let id = match (kind, <[u8; 8]>::try_from(bytes)) {
            (0, Ok(id)) => Some(DocId::Number(u64::from_le_bytes(id))),
            (1, Ok(id)) => Some(DocId::Negative(i64::from_le_bytes(id))),
            (2, _) => std::str::from_utf8(bytes).ok().map(|id| DocId::Text(id.to_owned())),
            _ => None,
        };
        let id = id.ok_or_else(|| self.wrong("an id that is none"))?;
        Ok(Doc { id, arrival, published, text: 0 })
    }
}
