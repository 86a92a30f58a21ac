//! Snapshots: a consistent copy of a store, taken while it is in use, and its restore.
//!
//! A snapshot is a directory with a copy of the database and a manifest with its size and checksum. The manifest is written
//! last, so a directory without it is not a valid snapshot.

use crate::error::{Error, Result};
use crate::lock::Lock;
use crate::sqlite::wal::marker_path;
use crate::sqlite::{FILE, SqliteStore, sync_dir, sync_file};
use crate::store::Read;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

const MANIFEST: &str = "snapshot.json";
const FORMAT: u32 = 1;
/// Suffixes of the files that SQLite keeps for one database.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

#[derive(PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: u32,
    bytes: u64,
    xxh3: String,
}

/// Writes a snapshot into a new or empty directory.
pub(crate) fn create(read: &dyn Read, to: &Path) -> Result<()> {
    let io = |source| Error::io(to, source);
    if to.exists() && std::fs::read_dir(to).map_err(io)?.next().is_some() {
        let reason = "the directory is not empty; choose a new one".into();
        return Err(Error::Snapshot { path: to.to_owned(), reason });
    }
    std::fs::create_dir_all(to).map_err(io)?;
    let written = write_files(read, to);
    if written.is_err() {
        // An incomplete snapshot would prevent the next one from using this directory.
        for name in [MANIFEST, FILE] {
            _ = std::fs::remove_file(to.join(name));
        }
        _ = std::fs::remove_dir(to);
    }
    written
}

fn write_files(read: &dyn Read, to: &Path) -> Result<()> {
    let database = to.join(FILE);
    read.copy_to(&database)?;
    let manifest = serde_json::to_vec(&describe(&database)?)
        .unwrap_or_else(|error| unreachable!("every manifest can be encoded as JSON: {error}"));
    let path = to.join(MANIFEST);
    let write = || {
        let mut file = File::create_new(&path)?;
        file.write_all(&manifest)?;
        file.sync_all()
    };
    write().map_err(|source| Error::io(&path, source))?;
    sync_dir(to)
}

/// Restores a snapshot into a directory. The snapshot is copied and checked before the existing store is replaced.
pub(crate) fn restore(from: &Path, to: &Path, replace: bool) -> Result<()> {
    let manifest = read_manifest(from)?;
    let io = |source| Error::io(to, source);
    std::fs::create_dir_all(to).map_err(io)?;
    let _lock = Lock::acquire(to)?;
    let target = to.join(FILE);
    if target.exists() && !replace {
        let reason = "the directory already contains documents; pass `--replace` to replace them".into();
        return Err(Error::Snapshot { path: to.to_owned(), reason });
    }
    let staged = stage(from, to, &manifest)?;
    move_aside(to)?;
    std::fs::rename(&staged, &target).map_err(io)?;
    sync_dir(to)
}

fn invalid(snapshot: &Path, reason: impl std::fmt::Display) -> Error {
    Error::Snapshot { path: snapshot.to_owned(), reason: format!("not a valid snapshot: {reason}") }
}

fn read_manifest(snapshot: &Path) -> Result<Manifest> {
    let unreadable = |error: &dyn std::fmt::Display| invalid(snapshot, format_args!("`{MANIFEST}`: {error}"));
    let bytes = std::fs::read(snapshot.join(MANIFEST)).map_err(|error| unreadable(&error))?;
    let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))?;
    if manifest.format != FORMAT {
        let found = manifest.format;
        let reason = format!("it has format {found}, but this version reads format {FORMAT}; update sameish");
        return Err(invalid(snapshot, reason));
    }
    let kind = std::fs::symlink_metadata(snapshot.join(FILE));
    let kind = kind.map_err(|error| invalid(snapshot, format_args!("`{FILE}`: {error}")))?;
    if !kind.is_file() {
        return Err(invalid(snapshot, format_args!("`{FILE}` is not a regular file")));
    }
    Ok(manifest)
}

/// Copies the database of a snapshot next to its target and checks the copy.
fn stage(from: &Path, to: &Path, manifest: &Manifest) -> Result<PathBuf> {
    let staged = to.join("sameish.db.restoring");
    std::fs::copy(from.join(FILE), &staged).map_err(|source| Error::io(&staged, source))?;
    let check = || {
        if describe(&staged)? != *manifest {
            return Err(invalid(from, format_args!("the checksum of `{FILE}` does not match")));
        }
        SqliteStore::check_file(&staged)?;
        sync_file(&staged)
    };
    match check() {
        Ok(()) => Ok(staged),
        Err(error) => {
            _ = std::fs::remove_file(&staged);
            Err(error)
        }
    }
}

/// Renames the files of the existing store, so that they are kept.
fn move_aside(dir: &Path) -> Result<()> {
    // The marker would require a write-ahead log that no longer exists under this name.
    let marker = marker_path(&dir.join(FILE));
    if marker.exists() {
        std::fs::remove_file(&marker).map_err(|source| Error::io(&marker, source))?;
    }
    let kept = unused_name(dir);
    // The log is renamed first: without it the database would silently be an older state.
    for suffix in SUFFIXES.into_iter().rev() {
        let old = dir.join(format!("{FILE}{suffix}"));
        if old.exists() {
            let kept = dir.join(format!("{kept}{suffix}"));
            std::fs::rename(&old, &kept).map_err(|source| Error::io(&old, source))?;
        }
    }
    Ok(())
}

/// Returns a name that no database in the directory uses.
fn unused_name(dir: &Path) -> String {
    let name = |attempt: u32| match attempt {
        0 => format!("{FILE}.before-restore"),
        _ => format!("{FILE}.before-restore.{attempt}"),
    };
    let is_unused =
        |name: &String| SUFFIXES.iter().all(|suffix| !dir.join(format!("{name}{suffix}")).exists());
    (0..).map(name).find(is_unused).unwrap_or_else(|| unreachable!("a directory cannot use all names"))
}

/// Computes the manifest of a database file.
fn describe(path: &Path) -> Result<Manifest> {
    let io = |source| Error::io(path, source);
    let mut file = File::open(path).map_err(io)?;
    let mut hasher = Xxh3::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let length = file.read(&mut buffer).map_err(io)?;
        if length == 0 {
            return Ok(Manifest { format: FORMAT, bytes, xxh3: format!("{:016x}", hasher.digest()) });
        }
        bytes += length as u64;
        hasher.update(&buffer[..length]);
    }
}
