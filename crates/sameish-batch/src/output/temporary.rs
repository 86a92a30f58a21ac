//! Named temporary files that must not remain after an interrupt.
//!
//! They are removed when they are dropped, but a signal drops nothing. Their paths are therefore registered here, and a signal
//! handler calls [`remove_all`] before it ends the process. Files are created and renamed under the lock of the registry, so
//! a signal finds each file either registered or complete.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

static PATHS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn paths() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a temporary file and registers it.
pub fn create(create: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<NamedTempFile> {
    let mut paths = paths();
    let file = create()?;
    // Absolute, because the working directory may change.
    paths.insert(std::path::absolute(file.path()).unwrap_or_else(|_| file.path().to_owned()));
    Ok(file)
}

/// Renames a registered file to its final path, after which it is kept.
pub(crate) fn publish<T>(temporary: &Path, rename: impl FnOnce() -> T) -> T {
    let mut paths = paths();
    paths.remove(&std::path::absolute(temporary).unwrap_or_else(|_| temporary.to_owned()));
    rename()
}

/// Removes all registered files, then calls `end` while no file can be created or renamed. For signal handlers.
pub fn remove_all<T>(end: impl FnOnce() -> T) -> T {
    let paths = paths();
    paths.iter().for_each(|path| _ = fs::remove_file(path));
    end()
}
