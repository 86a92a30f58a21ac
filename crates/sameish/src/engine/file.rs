//! The file format of a saved engine.
//!
//! Little endian: magic bytes, version, the configuration as TOML, every distinct text with its sketches, features and
//! documents, counters, and the XXH3 checksum of all of this. The texts themselves are not stored. `docs/algorithms.md`
//! describes every field. Reading verifies the checksum first and then every value, so any input gives an engine or an error.

use super::Engine;
use super::collection::Doc;
use super::groups::Effort;
use crate::analyzer::{Prepared, Sketches, Status, TextFeatures};
use crate::cluster::{ClusterId, OnlineClusters};
use crate::config::{Config, Weighting};
use crate::document::{DocId, Timestamp};
use crate::error::{Error, Result};
use crate::features::{Facts, FeatureSet, TextKey};
use crate::index::DocNumber;
use crate::sketch::{Fingerprint, Sdr, Signature};
use std::collections::HashMap;
use std::io::{self, Write};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const MAGIC: [u8; 8] = *b"sameishE";
/// Version 2 stored numbers with their slots; version 3 adds the words before them, and the
/// work of online clustering.
const VERSION: u32 = 3;
/// The size of the checksum at the end, in bytes.
const CHECKSUM: usize = 8;

/// Flags of a text.
const TOO_SHORT: u8 = 1;
const HAS_KEY: u8 = 2;
const HAS_SIMHASH: u8 = 4;
const HAS_MINHASH: u8 = 8;
const HAS_SDR: u8 = 16;
/// The document consists of sketches. Earlier versions reject an engine with such documents.
const WITHOUT_TEXT: u8 = 32;
const KNOWN_FLAGS: u8 = 2 * WITHOUT_TEXT - 1;

impl Engine {
    /// Serializes the engine. [`from_bytes`](Self::from_bytes) restores it.
    ///
    /// ```
    /// use sameish::{Document, Engine, Preset, SearchOptions};
    ///
    /// let mut engine = Engine::new(Preset::Copies.config())?;
    /// let text = "The council voted on Monday to close the old bridge over the river for repairs until next spring.";
    /// engine.insert(&Document::new("bridge", text))?;
    /// let again = Engine::from_bytes(&engine.to_bytes()?)?;
    /// let found = again.search(text, SearchOptions::default())?;
    /// assert_eq!(found.matches[0].id, "bridge".into());
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.check_storable()?;
        // Writing to a vector cannot fail.
        let _ = self.write(&mut bytes);
        Ok(bytes)
    }

    /// Writes the serialized engine to `out`. The outer error means that this configuration cannot be saved, the inner one that
    /// writing failed.
    pub fn write_into(&self, out: &mut impl Write) -> Result<io::Result<()>> {
        self.check_storable()?;
        Ok(self.write(out))
    }

    /// Restores a saved engine. Returns an error if the bytes are damaged or have an unsupported version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Engine> {
        let mut reader = Reader::open(bytes)?;
        let length = reader.length(1)?;
        let settings = reader.take(length)?;
        let settings =
            std::str::from_utf8(settings).map_err(|_| reader.wrong("the configuration is not UTF-8"))?;
        let mut engine = Engine::new(Config::from_toml(settings)?)?;
        let slots = engine.read_texts(&mut reader)?;
        engine.read_counters(&mut reader, &slots)?;
        if reader.left.is_empty() { Ok(engine) } else { Err(reader.wrong("unexpected bytes at the end")) }
    }

    /// Weighting by inverse document frequency needs frequencies that are not part of the file.
    fn check_storable(&self) -> Result<()> {
        let weighting = self.config().simhash.as_ref().map(|simhash| simhash.weighting);
        if weighting == Some(Weighting::InverseDocumentFrequency) {
            let expected = "uniform or frequency, for an engine that is saved";
            return Err(Error::field("simhash.weighting", "inverse-document-frequency", expected));
        }
        Ok(())
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = Writer { out, hash: Xxh3::new(), buffer: Vec::new() };
        writer.buffer.extend(MAGIC);
        writer.buffer.extend(VERSION.to_le_bytes());
        writer.bytes(self.config().to_toml().as_bytes());
        let texts: Vec<u32> = self.collection.texts.iter().map(|(text, _)| text).collect();
        writer.u64(texts.len() as u64);
        for text in texts {
            self.write_text(text, &mut writer);
            writer.flush_if_full()?;
        }
        self.write_counters(&mut writer);
        writer.finish()
    }

    fn write_text(&self, text: u32, writer: &mut Writer<'_>) {
        let view = self.collection.view_of(text);
        // The signature of a short text is computed again from its shingles.
        let minhash = view.sketches().own_minhash();
        let flag = |has: bool, bit: u8| if has { bit } else { 0 };
        writer.buffer.push(
            flag(view.status == Status::TooShort, TOO_SHORT)
                | flag(view.key.is_some(), HAS_KEY)
                | flag(view.simhash.is_some(), HAS_SIMHASH)
                | flag(minhash.is_some(), HAS_MINHASH)
                | flag(view.sdr.is_some(), HAS_SDR)
                | flag(view.features.is_some_and(|features| features.without_text), WITHOUT_TEXT),
        );
        writer.buffer.extend(view.key.into_iter().flat_map(|key| key.as_u128().to_le_bytes()));
        writer.buffer.extend(view.simhash.into_iter().flat_map(Fingerprint::to_bytes));
        writer.buffer.extend(minhash.into_iter().flatten().flat_map(|row| row.to_le_bytes()));
        if let Some(sdr) = view.sdr {
            writer.list(sdr.active().iter().map(|bit| bit.to_le_bytes()));
        }
        writer.list(
            view.features
                .iter()
                .flat_map(|features| features.shingles.as_slice())
                .map(|hash| hash.to_le_bytes()),
        );
        let facts = || view.features.iter().map(|features| &features.facts);
        writer.list(facts().flat_map(|facts| facts.packed_words()).map(u32::to_le_bytes));
        writer.list(facts().flat_map(|facts| facts.packed_numbers()).map(u32::to_le_bytes));
        let docs: Vec<u32> = self.collection.docs_of(text).collect();
        writer.u64(docs.len() as u64);
        docs.into_iter().for_each(|doc| writer.doc(&self.collection.docs[doc]));
    }

    fn write_counters(&self, writer: &mut Writer<'_>) {
        writer.u64(self.collection.next_number);
        // Earlier versions stored word frequencies here.
        writer.bytes(&[]);
        let Some(online) = &self.collection.online else { return };
        let Effort { asked, candidates, capped } = self.collection.online_effort;
        let counters = online.counters().into_iter().chain([asked, candidates, capped]);
        counters.for_each(|counter| writer.u64(counter));
        let placed: Vec<_> = online.placed().collect();
        writer.u64(placed.len() as u64);
        for (doc, ClusterId(cluster), place) in placed {
            [self.collection.docs[doc.0].number, cluster, place].into_iter().for_each(|n| writer.u64(n));
        }
    }

    /// Returns the slot of the document of each insertion number.
    fn read_texts(&mut self, reader: &mut Reader<'_>) -> Result<HashMap<u64, u32>> {
        let mut slots = HashMap::new();
        for _ in 0..reader.length(1)? {
            let prepared = self.read_prepared(reader)?;
            let docs = reader.length(1)?;
            if docs == 0 {
                return Err(reader.wrong("text without documents"));
            }
            for _ in 0..docs {
                let doc = reader.doc()?;
                let number = doc.number;
                if self.contains(&doc.id) {
                    return Err(reader.wrong("duplicate id"));
                }
                let slot = self
                    .collection
                    .store(doc, prepared.clone())
                    .map_err(|_| reader.wrong("sketch with a wrong size"))?;
                if slots.insert(number, slot).is_some() {
                    return Err(reader.wrong("duplicate insertion number"));
                }
            }
        }
        Ok(slots)
    }

    fn read_prepared(&self, reader: &mut Reader<'_>) -> Result<Prepared> {
        let flags = reader.take(1)?[0];
        let has = |bit: u8| flags & bit != 0;
        let config = self.config();
        if flags > KNOWN_FLAGS {
            return Err(reader.wrong("unknown flags"));
        }
        if has(HAS_SIMHASH) != config.simhash.is_some()
            || has(HAS_MINHASH) && config.minhash.is_none()
            || has(HAS_SDR) != config.sdr.is_some()
        {
            return Err(reader.wrong("sketches do not fit the configuration"));
        }
        let key = has(HAS_KEY).then(|| reader.array().map(u128::from_le_bytes)).transpose()?;
        let simhash = has(HAS_SIMHASH).then(|| reader.u64()).transpose()?;
        let minhash = if has(HAS_MINHASH) {
            let bytes = reader.take(self.analyzer.signature_rows() * 4)?;
            Some(Signature::from_bytes(bytes).map_err(|_| reader.wrong("empty signature"))?)
        } else {
            None
        };
        let sdr = match &config.sdr {
            Some(sdr) => {
                let active = reader.list(u32::from_le_bytes)?;
                let sdr = Sdr::from_active(sdr.size, active);
                Some(sdr.map_err(|_| reader.wrong("active bits do not ascend"))?)
            }
            None => None,
        };
        let shingles = FeatureSet::from_ascending(reader.list(u64::from_le_bytes)?);
        let shingles = shingles.ok_or_else(|| reader.wrong("features do not ascend"))?;
        let words = reader.list(u32::from_le_bytes)?;
        let facts = Facts::from_packed(words, &reader.list(u32::from_le_bytes)?);
        let facts = facts.ok_or_else(|| reader.wrong("facts do not ascend"))?;
        let status = if has(TOO_SHORT) { Status::TooShort } else { Status::Ok };
        let simhash = simhash.map(Fingerprint::from_u64);
        let short_minhash = self.analyzer.short_minhash(status, &shingles);
        let sketches = Sketches { status, words: 0, simhash, minhash, short_minhash, sdr };
        let features = TextFeatures { shingles, facts, without_text: has(WITHOUT_TEXT) };
        Ok(Prepared { sketches, features, key: key.map(TextKey::from_u128) })
    }

    fn read_counters(&mut self, reader: &mut Reader<'_>, slots: &HashMap<u64, u32>) -> Result<()> {
        let next_number = reader.u64()?;
        if self.collection.next_number > next_number {
            return Err(reader.wrong("insertion number out of range"));
        }
        self.collection.next_number = next_number;
        // Earlier versions stored word frequencies here; they have no effect any more.
        let length = reader.length(1)?;
        reader.take(length)?;
        if self.collection.online.is_none() {
            return Ok(());
        }
        let counters = [reader.u64()?, reader.u64()?];
        let [asked, candidates, capped] = [reader.u64()?, reader.u64()?, reader.u64()?];
        self.collection.online_effort = Effort { asked, candidates, capped };
        let mut placed = Vec::new();
        for _ in 0..reader.length(24)? {
            let [number, cluster, place] = [reader.u64()?, reader.u64()?, reader.u64()?];
            let slot = slots.get(&number).ok_or_else(|| reader.wrong("cluster of an unknown document"))?;
            placed.push((DocNumber(*slot), ClusterId(cluster), place));
        }
        let clusters = OnlineClusters::restored(counters, placed);
        self.collection.online = Some(clusters.ok_or_else(|| reader.wrong("inconsistent clusters"))?);
        Ok(())
    }
}

/// A buffered writer that computes the checksum.
struct Writer<'a> {
    out: &'a mut dyn Write,
    hash: Xxh3,
    buffer: Vec<u8>,
}

impl Writer<'_> {
    fn u64(&mut self, number: u64) {
        self.buffer.extend(number.to_le_bytes());
    }

    /// Writes a length and that many bytes.
    fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.buffer.extend(bytes);
    }

    /// Writes a length and that many numbers.
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
        self.u64(doc.number);
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

/// The part of the input that has not been read, with the total length.
struct Reader<'a> {
    left: &'a [u8],
    length: usize,
}

impl<'a> Reader<'a> {
    fn open(bytes: &'a [u8]) -> Result<Reader<'a>> {
        let corrupt = |reason, offset| Error::CorruptEngine { reason, offset };
        if !bytes.starts_with(&MAGIC) {
            return Err(corrupt("unknown magic bytes", 0));
        }
        let mut reader = Reader { left: &bytes[MAGIC.len()..], length: bytes.len() };
        let found = u32::from_le_bytes(reader.array()?);
        if found != VERSION {
            return Err(Error::EngineVersion { found, supported: VERSION });
        }
        let Some((left, sum)) = reader.left.split_last_chunk::<CHECKSUM>() else {
            return Err(corrupt("truncated", bytes.len()));
        };
        let end = bytes.len() - CHECKSUM;
        if xxh3_64(&bytes[..end]) != u64::from_le_bytes(*sum) {
            return Err(corrupt("checksum mismatch: the file is damaged or truncated", end));
        }
        Ok(Reader { left, length: end })
    }

    fn wrong(&self, reason: &'static str) -> Error {
        Error::CorruptEngine { reason, offset: self.length - self.left.len() }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(length).ok_or_else(|| self.wrong("truncated"))?;
        self.left = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, left) = self.left.split_first_chunk().ok_or_else(|| self.wrong("truncated"))?;
        self.left = left;
        Ok(*taken)
    }

    fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads the number of items that follow. Returns an error if the rest of the input is too short for that many items of at
    /// least `min_size` bytes.
    fn length(&mut self, min_size: usize) -> Result<usize> {
        let length = usize::try_from(self.u64()?).ok().filter(|&length| length <= self.left.len() / min_size);
        length.ok_or_else(|| self.wrong("length beyond the end of the file"))
    }

    fn list<T, const N: usize>(&mut self, read: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        let length = self.length(N)?;
        let bytes = self.take(length * N)?;
        Ok(bytes.as_chunks::<N>().0.iter().map(|&item| read(item)).collect())
    }

    fn doc(&mut self) -> Result<Doc> {
        let number = self.u64()?;
        if number == u64::MAX {
            return Err(self.wrong("insertion number out of range"));
        }
        let length = self.length(1)?;
        let published = match self.take(length)? {
            [] => None,
            text => {
                let text = std::str::from_utf8(text).ok();
                let moment = text.and_then(|text| Timestamp::parse(text).ok());
                Some(moment.ok_or_else(|| self.wrong("invalid date"))?)
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
        let id = id.ok_or_else(|| self.wrong("invalid id"))?;
        Ok(Doc { id, number, published, text: 0, is_center: false })
    }
}
