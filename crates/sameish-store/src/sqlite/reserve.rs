//! Reserved disk space for deletes on a full disk.
//!
//! Every change is first written to the write-ahead log, so even a delete needs disk space. A file of 8 MiB next to the
//! database reserves it. When a delete runs out of space, the file is removed; inserts are rejected until it could be
//! created again, so that only deletes use the space. It is enough for about a hundred single deletes, and for many more
//! in groups.

use crate::private;
use std::io::{ErrorKind, Result, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128_with_seed;

const BYTES: u64 = 8 << 20;

/// Creates the reserve file unless it exists. Returns an error only if the disk is full.
pub(super) fn create(database: &Path) -> Result<()> {
    let path = reserve_path(database);
    if path.metadata().is_ok_and(|file| file.len() == BYTES) {
        return Ok(());
    }
    match fill(&path) {
        Err(error) if error.kind() == ErrorKind::StorageFull => {
            _ = std::fs::remove_file(&path);
            Err(error)
        }
        // Other errors do not prevent documents from being stored.
        _ => Ok(()),
    }
}

/// Removes the reserve file. Returns `true` if it existed.
pub(super) fn remove(database: &Path) -> bool {
    std::fs::remove_file(reserve_path(database)).is_ok()
}

/// The extension is that of earlier versions, so that a reserve of theirs is found.
fn reserve_path(database: &Path) -> PathBuf {
    database.with_extension("room")
}

/// Writes incompressible bytes, because a file system may compress others or store them as a hole.
fn fill(path: &Path) -> Result<()> {
    let mut file = private::file_options().write(true).create(true).truncate(true).open(path)?;
    let mut buffer = vec![0; 1 << 16];
    for block in 0..BYTES / buffer.len() as u64 {
        for (i, chunk) in buffer.chunks_exact_mut(16).enumerate() {
            let hash = xxh3_128_with_seed(&i.to_le_bytes(), block);
            chunk.copy_from_slice(&hash.to_le_bytes());
        }
        file.write_all(&buffer)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn creates_and_removes_the_file_once() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("sameish.db");
        assert!(!remove(&database));
        create(&database).unwrap();
        let file = reserve_path(&database);
        let mut bytes = std::fs::read(&file).unwrap();
        assert_eq!(bytes.len() as u64, BYTES);

        // An existing file of the right size is not written again.
        bytes[0] ^= 1;
        std::fs::write(&file, &bytes).unwrap();
        create(&database).unwrap();
        assert_eq!(std::fs::read(&file).unwrap()[0], bytes[0]);
        assert!(remove(&database));
        assert!(!file.exists());
    }

    #[test]
    fn completes_a_file_of_the_wrong_size() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("sameish.db");
        std::fs::write(reserve_path(&database), "part of a reserve").unwrap();
        create(&database).unwrap();
        assert_eq!(reserve_path(&database).metadata().unwrap().len(), BYTES);
    }
}
