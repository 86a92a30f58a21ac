//! How is a folder copied while it is written to, and put back?
//!
//! A snapshot is a folder with a copy of the store and a note of its length and checksum. The note is written last: a
//! snapshot without it is not one.

use crate::error::{Error, Result};
use crate::lock::Lock;
use crate::sqlite::log::mark_of;
use crate::sqlite::{FILE, SqliteStore, sync_file, sync_folder};
use crate::store::Read;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read as _, Write};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

const NOTE: &str = "snapshot.json";
/// What a store may have beside it.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    format: u32,
    bytes: u64,
    xxh3: String,
}

pub(crate) fn take(read: &dyn Read, to: &Path) -> Result<()> {
    let io = |source| Error::io(to, source);
    if to.exists() && std::fs::read_dir(to).map_err(io)?.next().is_some() {
        return Err(Error::Snapshot {
            path: to.to_owned(),
            reason: "the folder is not empty: choose a new one".into(),
        });
    }
    std::fs::create_dir_all(to).map_err(io)?;
    let written = write_into(read, to);
    if written.is_err() {
        // Half a snapshot is none, and would be in the way of the next.
        [NOTE, FILE].iter().for_each(|name| _ = std::fs::remove_file(to.join(name)));
        _ = std::fs::remove_dir(to);
    }
    written
}

fn write_into(read: &dyn Read, to: &Path) -> Result<()> {
    let file = to.join(FILE);
    read.copy_to(&file)?;
    let (bytes, xxh3) = sum(&file)?;
    let note = Note { format: 1, bytes, xxh3 };
    let note =
        serde_json::to_vec(&note).unwrap_or_else(|error| unreachable!("a note has a JSON form: {error}"));
    let path = to.join(NOTE);
    let write = || {
        let mut file = File::create_new(&path)?;
        file.write_all(&note)?;
        file.sync_all()
    };
    write().map_err(|source| Error::io(&path, source))?;
    sync_folder(to)
}

/// Everything is checked before anything is replaced.
pub(crate) fn restore(from: &Path, to: &Path, replace: bool) -> Result<()> {
    let bad = |reason: String| Error::Snapshot { path: from.to_owned(), reason };
    let io = |source| Error::io(to, source);
    let note = std::fs::read(from.join(NOTE)).map_err(|source| bad(format!("{NOTE}: {source}")))?;
    let note: Note = serde_json::from_slice(&note).map_err(|error| bad(format!("{NOTE}: {error}")))?;
    if note.format != 1 {
        return Err(bad(format!("format {}, this build reads 1: update sameish", note.format)));
    }
    let source = from.join(FILE);
    let kind = std::fs::symlink_metadata(&source).map_err(|error| bad(format!("{FILE}: {error}")))?;
    if !kind.is_file() {
        return Err(bad(format!("{FILE} is not a plain file")));
    }
    std::fs::create_dir_all(to).map_err(io)?;
    let _lock = Lock::take(to)?;
    let target = to.join(FILE);
    if target.exists() && !replace {
        let reason = format!("{} has documents already: replace them explicitly", to.display());
        return Err(bad(reason));
    }
    let coming = to.join("sameish.db.restoring");
    std::fs::copy(&source, &coming).map_err(|source| Error::io(&coming, source))?;
    let whole = sum(&coming).and_then(|(bytes, xxh3)| match (bytes, &xxh3) == (note.bytes, &note.xxh3) {
        true => Ok(()),
        false => Err(bad("its checksum does not fit".into())),
    });
    let usable = whole.and_then(|()| SqliteStore::check_file(&coming)).and_then(|()| sync_file(&coming));
    if let Err(error) = usable {
        _ = std::fs::remove_file(&coming);
        return Err(error);
    }
    set_aside(to)?;
    std::fs::rename(&coming, &target).map_err(io)?;
    sync_folder(to)
}

/// Keeps what is there under other names.
fn set_aside(folder: &Path) -> Result<()> {
    // It would tell of a log that is not there any more.
    let mark = mark_of(&folder.join(FILE));
    if mark.exists() {
        std::fs::remove_file(&mark).map_err(|source| Error::io(&mark, source))?;
    }
    let kept = free_name(folder);
    // The log first: a store that is set aside without it would be one of an earlier moment.
    for suffix in SUFFIXES.into_iter().rev() {
        let old = folder.join(format!("{FILE}{suffix}"));
        if old.exists() {
            let kept = folder.join(format!("{kept}{suffix}"));
            std::fs::rename(&old, &kept).map_err(|source| Error::io(&old, source))?;
        }
    }
    Ok(())
}

/// A name that no file of a store has there.
fn free_name(folder: &Path) -> String {
    let name = |i: u32| match i {
        0 => format!("{FILE}.before-restore"),
        _ => format!("{FILE}.before-restore.{i}"),
    };
    let is_free =
        |name: &String| SUFFIXES.iter().all(|suffix| !folder.join(format!("{name}{suffix}")).exists());
    (0..).map(name).find(is_free).unwrap_or_else(|| unreachable!("there are more names than files"))
}

fn sum(path: &Path) -> Result<(u64, String)> {
    let io = |source| Error::io(path, source);
    let mut file = File::open(path).map_err(io)?;
    let mut hasher = Xxh3::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer).map_err(io)? {
            0 => return Ok((bytes, format!("{:016x}", hasher.digest()))),
            n => {
                bytes += n as u64;
                hasher.update(&buffer[..n]);
            }
        }
    }
}
