//! Is a file still what it was?
//!
//! Files are read twice where a corpus does not fit into memory. One that was changed in between would give records that
//! nobody compared, so its length, its time and which file it is are written down before and looked at after each reading.

use super::find::{Found, Source};
use crate::exit::{Exit, Failure};
use std::collections::HashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// What files were when it was made.
#[derive(Default)]
pub(crate) struct Stamps {
    /// With the names that messages use.
    stamps: HashMap<PathBuf, (Arc<str>, Stamp)>,
}

#[derive(Debug, PartialEq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    /// Device and number, where there are such.
    file: Option<(u64, u64)>,
}

impl Stamp {
    fn of(path: &Path) -> Option<Stamp> {
        let meta = path.metadata().ok().filter(Metadata::is_file)?;
        Some(Stamp { len: meta.len(), modified: meta.modified().ok(), file: number(&meta) })
    }
}

#[cfg(unix)]
fn number(meta: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> Option<(u64, u64)> {
    None
}

impl Stamps {
    /// Of all that are files now.
    pub(crate) fn of<'a>(sources: impl IntoIterator<Item = &'a Found>) -> Stamps {
        let stamp = |source: &Source| {
            let path = source.path.as_deref()?;
            Some((path.to_owned(), (source.name.clone(), Stamp::of(path)?)))
        };
        Stamps { stamps: sources.into_iter().flatten().filter_map(stamp).collect() }
    }

    /// Fails if the source is not what it was.
    pub(crate) fn check(&self, source: &Source) -> Result<(), Failure> {
        let before = source.path.as_ref().and_then(|path| self.stamps.get_key_value(path));
        before.map_or(Ok(()), |(path, before)| unchanged(path, before))
    }

    /// Fails if any file is not what it was.
    pub(crate) fn check_all(&self) -> Result<(), Failure> {
        self.stamps.iter().try_for_each(|(path, before)| unchanged(path, before))
    }
}

fn unchanged(path: &Path, (name, stamp): &(Arc<str>, Stamp)) -> Result<(), Failure> {
    if Stamp::of(path).as_ref() == Some(stamp) { Ok(()) } else { Err(changed(name)) }
}

/// What to say of a file that is not what it was.
pub(crate) fn changed(name: &str) -> Failure {
    Failure::new(
        Exit::Unreadable,
        format!("{name}: changed while it was read, so nothing was written; run again when it is at rest"),
    )
}
