//! Detection of inputs that change during a run.
//!
//! Files are read twice. A file that changes in between would yield records that were never compared, so its length,
//! modification time and identity are recorded before the first pass and checked while records are written.

use super::find::{Input, InputResult};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Recorded state of all input files.
#[derive(Default)]
pub struct FileStates {
    files: HashMap<PathBuf, RecordedFile>,
}

struct RecordedFile {
    /// Name for messages.
    name: Arc<str>,
    state: FileState,
}

#[derive(Debug, PartialEq)]
struct FileState {
    len: u64,
    modified: Option<SystemTime>,
    /// Device and inode number, where they exist.
    identity: Option<(u64, u64)>,
}

impl FileState {
    fn of(path: &Path) -> Option<FileState> {
        let meta = path.metadata().ok().filter(Metadata::is_file)?;
        Some(FileState { len: meta.len(), modified: meta.modified().ok(), identity: identity(&meta) })
    }
}

#[cfg(unix)]
fn identity(meta: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

impl FileStates {
    /// Records the state of all inputs that are files.
    pub fn of<'a>(inputs: impl IntoIterator<Item = &'a InputResult>) -> FileStates {
        let record = |input: &Input| {
            let path = input.path.as_deref()?;
            Some((path.to_owned(), RecordedFile { name: input.name.clone(), state: FileState::of(path)? }))
        };
        FileStates { files: inputs.into_iter().flatten().filter_map(record).collect() }
    }

    /// Fails if an input changed.
    pub(crate) fn check(&self, input: &Input) -> Result<()> {
        let recorded = input.path.as_ref().and_then(|path| self.files.get_key_value(path));
        recorded.map_or(Ok(()), |(path, file)| file.check(path))
    }

    /// Fails if any input changed.
    pub fn check_all(&self) -> Result<()> {
        self.files.iter().try_for_each(|(path, file)| file.check(path))
    }
}

impl RecordedFile {
    fn check(&self, path: &Path) -> Result<()> {
        match FileState::of(path).as_ref() == Some(&self.state) {
            true => Ok(()),
            false => Err(changed(&self.name)),
        }
    }
}

/// Returns the error for an input that changed.
pub(crate) fn changed(name: &str) -> Error {
    Error::InputChanged { name: name.to_owned() }
}
