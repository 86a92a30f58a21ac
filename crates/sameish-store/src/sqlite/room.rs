//! Where does a delete find room on a full disk?
//!
//! Every change goes to the write-ahead log first, so that even a delete needs room. A file beside the store keeps some.
//! It goes when a delete finds none, and new documents are refused until it could be made again: the room is for deletes
//! alone. It lasts for a hundred of them, one by one, and for many more in groups.

use std::fs::File;
use std::io::{ErrorKind, Result, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128_with_seed;

const BYTES: u64 = 8 << 20;

/// Makes the file unless it is there. Fails only where there is no room for it.
pub(super) fn keep(store: &Path) -> Result<()> {
    let path = file_of(store);
    if path.metadata().is_ok_and(|file| file.len() == BYTES) {
        return Ok(());
    }
    match fill(&path) {
        Err(error) if error.kind() == ErrorKind::StorageFull => {
            // A part of it would only be in the way.
            _ = std::fs::remove_file(&path);
            Err(error)
        }
        // Whatever else is wrong with it, documents can be stored.
        _ => Ok(()),
    }
}

/// Takes the file away; tells whether there was one.
pub(super) fn give(store: &Path) -> bool {
    std::fs::remove_file(file_of(store)).is_ok()
}

fn file_of(store: &Path) -> PathBuf {
    store.with_extension("room")
}

/// Fills it with bytes that no file system packs.
fn fill(path: &Path) -> Result<()> {
    let mut file = File::create(path)?;
    let mut bytes = vec![0; 1 << 16];
    for block in 0..BYTES / bytes.len() as u64 {
        for (at, sixteen) in bytes.chunks_exact_mut(16).enumerate() {
            let number = xxh3_128_with_seed(&at.to_le_bytes(), block);
            sixteen.copy_from_slice(&number.to_le_bytes());
        }
        file.write_all(&bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn room_is_kept_once_and_given_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("sameish.db");
        assert!(!give(&store));
        keep(&store).unwrap();
        let made = file_of(&store).metadata().unwrap();
        assert_eq!(made.len(), BYTES);
        keep(&store).unwrap();
        assert_eq!(file_of(&store).metadata().unwrap().modified().unwrap(), made.modified().unwrap());
        assert!(give(&store));
        assert!(!file_of(&store).exists());
    }
}
