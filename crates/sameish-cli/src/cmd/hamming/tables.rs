//! The directory of stored tables: one file per part, the ids of the documents, and a description.

use crate::exit::{Exit, Failure};
use crate::output::escape::{escaped, escaped_name};
use sameish::index::{HammingIndex, Part};
use sameish::{Analyzer, Config, DocId};
use sameish_io::AtomicFile;
use sameish_store::{MappedFile, MappedIndex};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Version of the directory's format.
const FORMAT: u32 = 2;
const DESCRIPTION: &str = "hamming.json";
const IDS: &str = "ids.jsonl";
/// The end of each line of [`IDS`], as 8 little-endian bytes.
const OFFSETS: &str = "ids.offsets";

/// What the tables of a directory contain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Description {
    format: u32,
    pub(super) documents: u64,
    pub(super) parts: u32,
    pub(super) radius: u32,
    /// Settings of the fingerprints, as a configuration file.
    config: String,
    /// The other files of the directory by name.
    files: BTreeMap<String, FileSum>,
    /// Identifies the tables: a checksum of everything else in the description. Tables with equal content have equal ids.
    #[serde(default)]
    pub(super) build: String,
}

/// What a complete and undamaged file contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileSum {
    /// Length in bytes.
    bytes: u64,
    /// XXH3 of the content, 64 bits, in hexadecimal digits.
    xxh3: String,
}

impl Description {
    pub(super) fn new(
        config: &Config,
        documents: u64,
        parts: u32,
        radius: u32,
        files: BTreeMap<String, FileSum>,
    ) -> Description {
        let (format, config) = (FORMAT, config.to_toml());
        let description =
            Description { format, documents, parts, radius, config, files, build: String::new() };
        Description { build: description.id(), ..description }
    }

    /// Returns the id that belongs to the rest of the description.
    fn id(&self) -> String {
        let unnamed = Description { build: String::new(), ..self.clone() };
        hex(xxh3_64(&serde_json::to_vec(&unnamed).unwrap_or_default()))
    }

    /// Reads the description of a directory.
    pub(super) fn read(directory: &Path) -> Result<Description, Failure> {
        let path = directory.join(DESCRIPTION);
        if !path.exists() {
            let name = escaped_name(directory.as_os_str());
            let reason = format!(
                "no tables in `{name}`: `{DESCRIPTION}` is missing; create them with `sameish hamming build`"
            );
            return Err(Failure::new(Exit::Unreadable, reason));
        }
        let bytes = fs::read(&path).map_err(|error| unreadable(&path, &error.to_string()))?;
        let description: Description =
            serde_json::from_slice(&bytes).map_err(|error| unreadable(&path, &error.to_string()))?;
        if description.format != FORMAT {
            let reason = format!("has format {}, but this version reads format {FORMAT}", description.format);
            return Err(unreadable(&path, &reason));
        }
        if description.build != description.id() {
            return Err(unreadable(&path, "the description is damaged: its checksum is different"));
        }
        Ok(description)
    }

    /// Checks that a file has the length and the checksum that were stored when the tables were built.
    fn verify(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let stored = path.file_name().and_then(|name| self.files.get(name.to_str()?));
        if stored != Some(&FileSum::of(bytes.len() as u64, xxh3_64(bytes))) {
            return Err(unreadable(path, "the file is damaged, or belongs to other tables"));
        }
        Ok(())
    }

    /// Returns the analyzer that computes the fingerprints of queries.
    pub(super) fn analyzer(&self) -> Result<Analyzer, Failure> {
        Ok(Analyzer::new(Config::from_toml(&self.config)?)?)
    }
}

impl FileSum {
    fn of(bytes: u64, xxh3: u64) -> FileSum {
        FileSum { bytes, xxh3: hex(xxh3) }
    }
}

fn hex(sum: u64) -> String {
    format!("{sum:016x}")
}

/// Computes the checksum of what is written.
struct Summed<W> {
    out: W,
    bytes: u64,
    xxh3: Xxh3,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        self.xxh3.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn unreadable(path: &Path, reason: &str) -> Failure {
    let name = escaped_name(path.as_os_str());
    Failure::new(Exit::Unreadable, format!("`{name}`: {}; build the tables again", escaped(reason)))
}

/// Fails if a file of the tables is missing, as on a machine that holds other parts.
fn check_exists(path: &Path, remedy: &str) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    let name = escaped_name(path.as_os_str());
    Err(Failure::new(Exit::Unreadable, format!("`{name}` is missing; {remedy}")))
}

fn part_name(part: Part) -> String {
    format!("part-{}-of-{}.hamming", part.index + 1, part.of)
}

/// Returns the file of a part.
pub(super) fn part_path(directory: &Path, part: Part) -> PathBuf {
    directory.join(part_name(part))
}

/// Writes one part. Returns the name and the sum of its file.
pub(super) fn write_part(directory: &Path, index: &HammingIndex) -> Result<(String, FileSum), Failure> {
    let name = part_name(index.part());
    let sum = write(&directory.join(&name), |out| index.write_into(out))?;
    Ok((name, sum))
}

/// Writes the ids of all documents, in the order of their numbers. Returns the sums of the files.
pub(super) fn write_ids(directory: &Path, ids: &[DocId]) -> Result<BTreeMap<String, FileSum>, Failure> {
    let lines =
        write(&directory.join(IDS), |out| ids.iter().try_for_each(|id| writeln!(out, "{}", id.to_json())))?;
    let mut end = 0u64;
    let offsets = write(&directory.join(OFFSETS), |out| {
        ids.iter().try_for_each(|id| {
            end += id.to_json().len() as u64 + 1;
            out.write_all(&end.to_le_bytes())
        })
    })?;
    Ok(BTreeMap::from([(IDS.to_owned(), lines), (OFFSETS.to_owned(), offsets)]))
}

/// Writes the description, which makes the directory complete.
pub(super) fn write_description(directory: &Path, description: &Description) -> anyhow::Result<()> {
    let json = serde_json::to_vec_pretty(description)?;
    write(&directory.join(DESCRIPTION), |out| out.write_all(&json))?;
    Ok(())
}

/// Creates the directory, or removes the description of the tables that are about to be replaced.
pub(super) fn begin(directory: &Path) -> Result<(), Failure> {
    let invalidate = || match fs::remove_file(directory.join(DESCRIPTION)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    let begun = fs::create_dir_all(directory).and_then(|()| invalidate());
    begun.map_err(|error| cannot_write(directory, &error))
}

/// Deletes the parts of earlier tables, which had another number of parts.
pub(super) fn remove_other_parts(directory: &Path, parts: u32) -> Result<(), Failure> {
    let suffix = format!("-of-{parts}.hamming");
    let is_other = |name: &str| {
        let number = name.strip_prefix("part-").and_then(|rest| rest.split_once("-of-"));
        let is_part = number.is_some_and(|(number, of)| {
            number.parse::<u32>().is_ok()
                && of.strip_suffix(".hamming").is_some_and(|of| of.parse::<u32>().is_ok())
        });
        is_part && !name.ends_with(&suffix)
    };
    let remove = || {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_name().to_str().is_some_and(is_other) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    };
    remove().map_err(|error| cannot_write(directory, &error))
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Output, format!("cannot write `{}`: {error}", escaped_name(path.as_os_str())))
}

/// Returns `true` if a directory has a description.
pub(super) fn exists(directory: &Path) -> bool {
    directory.join(DESCRIPTION).exists()
}

fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<Summed<&mut AtomicFile>>) -> io::Result<()>,
) -> Result<FileSum, Failure> {
    let written = AtomicFile::create(path).and_then(|mut file| {
        let summed = Summed { out: &mut file, bytes: 0, xxh3: Xxh3::new() };
        let mut out = BufWriter::with_capacity(1 << 20, summed);
        content(&mut out)?;
        let Summed { bytes, xxh3, .. } = out.into_inner()?;
        let sum = FileSum::of(bytes, xxh3.digest());
        file.commit()?;
        Ok(sum)
    });
    written.map_err(|error| cannot_write(path, &error))
}

/// Maps a part into memory and verifies it.
pub(super) fn open_part(
    directory: &Path,
    description: &Description,
    part: Part,
) -> Result<MappedIndex, Failure> {
    let path = part_path(directory, part);
    check_exists(
        &path,
        "copy it from where the tables were built, or query a part that is here with `--part`",
    )?;
    let mapped = MappedIndex::open(&path).map_err(|error| unreadable(&path, &error.to_string()))?;
    description.verify(&path, mapped.bytes())?;
    let stored = mapped.view().map_err(|error| unreadable(&path, &error.to_string()))?.part();
    if stored != part {
        return Err(unreadable(&path, "the file contains a different part than its name indicates"));
    }
    Ok(mapped)
}

/// The ids of the documents, in files that are mapped into memory.
pub(super) struct Ids {
    ids: MappedFile,
    offsets: MappedFile,
}

impl Ids {
    /// Maps the files into memory and verifies them.
    pub(super) fn open(directory: &Path, description: &Description) -> Result<Ids, Failure> {
        let open = |name: &str| {
            let path = directory.join(name);
            check_exists(&path, "copy it from where the tables were built")?;
            let mapped = MappedFile::open(&path).map_err(|error| unreadable(&path, &error.to_string()))?;
            description.verify(&path, mapped.bytes())?;
            Ok::<MappedFile, Failure>(mapped)
        };
        Ok(Ids { ids: open(IDS)?, offsets: open(OFFSETS)? })
    }

    /// Returns the id of a document.
    pub(super) fn get(&self, document: u32) -> Result<DocId, Failure> {
        let id = self.line(document as usize).and_then(DocId::from_json);
        id.ok_or_else(|| {
            let reason = format!("`{IDS}` has no id of document {document}; build the tables again");
            Failure::new(Exit::Unreadable, reason)
        })
    }

    fn line(&self, document: usize) -> Option<&str> {
        let start = if document == 0 { 0 } else { self.end_of(document - 1)? };
        let end = self.end_of(document)?.checked_sub(1)?;
        std::str::from_utf8(self.ids.bytes().get(start..end)?).ok()
    }

    /// Returns the end of the line of a document.
    fn end_of(&self, document: usize) -> Option<usize> {
        let end = self.offsets.bytes().get(8 * document..)?.first_chunk()?;
        usize::try_from(u64::from_le_bytes(*end)).ok()
    }
}
