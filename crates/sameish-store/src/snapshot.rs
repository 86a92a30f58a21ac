//! Snapshots: a consistent copy of a store, taken while it is in use. `restore.rs` restores them.
//!
//! A snapshot is a directory with a copy of the database and a manifest with its size and checksum. The manifest is written
//! last, so a directory without it is not a valid snapshot.

use crate::error::{Error, Result};
use crate::private;
use crate::sqlite::{FILE, sync_dir};
use crate::store::Read;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read as _, Write};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

const MANIFEST: &str = "snapshot.json";
const FORMAT: u32 = 1;

/// Describes the database of a snapshot.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
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
    private::create_dir(to).map_err(io)?;
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
        let mut file = private::file_options().write(true).create_new(true).open(&path)?;
        file.write_all(&manifest)?;
        file.sync_all()
    };
    write().map_err(|source| Error::io(&path, source))?;
    sync_dir(to)
}

pub(crate) fn invalid(snapshot: &Path, reason: impl std::fmt::Display) -> Error {
    Error::Snapshot { path: snapshot.to_owned(), reason: format!("not a valid snapshot: {reason}") }
}

/// Reads the manifest of a snapshot and checks that its database is a file.
pub(crate) fn read_manifest(snapshot: &Path) -> Result<Manifest> {
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

/// Computes the manifest of a database file.
pub(crate) fn describe(path: &Path) -> Result<Manifest> {
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
