//! Restore of a snapshot into a directory.
//!
//! A restore that is interrupted at any point leaves the old store, or is completed by the next process that opens the
//! directory for writing. The new database is copied, checked and synced under a temporary name first. Then a journal is
//! written, which decides that the restore takes effect and names the files under which the old store is kept. The steps
//! after that can be repeated: an interrupted restore is completed by executing them again.
//!
//! ```text
//! no journal                        the old store is valid; a temporary copy is left over
//! journal, temporary copy exists    files named `sameish.db...` belong to the old store
//! journal, no temporary copy        `sameish.db` is the new store
//! ```

use crate::error::{Error, Result};
use crate::lock::Lock;
use crate::private;
use crate::snapshot::{Manifest, describe, invalid, read_manifest};
use crate::sqlite::wal::marker_path;
use crate::sqlite::{FILE, SqliteStore, sync_dir, sync_file};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The new database until it is renamed.
const STAGED: &str = "sameish.db.restoring";
/// Exists from the decision to restore until the restore is complete.
const JOURNAL: &str = "sameish.restore";
const FORMAT: u32 = 1;
/// Suffixes of the files that SQLite keeps for one database.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Journal {
    format: u32,
    /// Name under which the old database is kept.
    kept: String,
}

/// A change of the directory. Executing it twice is the same as executing it once.
#[derive(Debug)]
enum Step {
    /// Renames a file if it exists.
    Rename { from: PathBuf, to: PathBuf },
    /// Removes a file if it exists.
    Remove(PathBuf),
    /// Makes the preceding steps durable.
    Sync(PathBuf),
}

/// Restores a snapshot into a directory. The snapshot is copied and checked before the existing store is replaced.
pub(crate) fn restore(from: &Path, to: &Path, replace: bool) -> Result<()> {
    let manifest = read_manifest(from)?;
    private::create_dir(to).map_err(|source| Error::io(to, source))?;
    let _lock = Lock::acquire(to)?;
    match complete(to) {
        // The damaged journal stays until the new one replaces it: it shows that the directory was in use.
        Err(Error::Interrupted { .. }) if replace => {}
        completed => completed?,
    }
    if to.join(FILE).exists() && !replace {
        let reason = "the directory already contains documents; pass `--replace` to replace them".into();
        return Err(Error::Snapshot { path: to.to_owned(), reason });
    }
    stage(from, to, &manifest)?;
    write_journal(to)?;
    complete(to)
}

/// Completes an interrupted restore. The caller must hold the lock of the directory.
pub(crate) fn complete(dir: &Path) -> Result<()> {
    let Some(journal) = read_journal(dir)? else { return remove_leftovers(dir) };
    remaining_steps(dir, &journal)?.iter().try_for_each(Step::execute)
}

/// Returns an error if a restore was interrupted, for callers that cannot complete it.
pub(crate) fn check_complete(dir: &Path) -> Result<()> {
    if dir.join(JOURNAL).exists() {
        let reason = "open the directory for writing once, for example with `sameish serve`, to complete it";
        return Err(interrupted(dir, reason));
    }
    Ok(())
}

fn interrupted(dir: &Path, reason: impl Into<String>) -> Error {
    Error::Interrupted { path: dir.to_owned(), reason: reason.into() }
}

/// Removes what is left of a restore that was interrupted before its journal was written.
fn remove_leftovers(dir: &Path) -> Result<()> {
    remove(&unfinished_journal(dir))?;
    // Without a database the copy shows that the directory is not new.
    if dir.join(FILE).exists() { remove(&dir.join(STAGED)) } else { Ok(()) }
}

/// Copies the database of a snapshot next to its target and checks the copy.
fn stage(from: &Path, to: &Path, manifest: &Manifest) -> Result<()> {
    let staged = to.join(STAGED);
    let check = || {
        copy(&from.join(FILE), &staged)?;
        if describe(&staged)? != *manifest {
            return Err(invalid(
                from,
                format_args!("the checksum of `{FILE}` does not match; use another snapshot"),
            ));
        }
        SqliteStore::check_file(&staged)?;
        sync_file(&staged)?;
        sync_dir(to)
    };
    let checked = check();
    if checked.is_err() {
        _ = std::fs::remove_file(&staged);
    }
    checked
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut source = std::fs::File::open(from).map_err(|source| Error::io(from, source))?;
    // The file of an interrupted restore may have the permissions of an earlier version.
    remove(to)?;
    let mut options = private::file_options();
    let mut target = options.write(true).create_new(true).open(to).map_err(|source| Error::io(to, source))?;
    std::io::copy(&mut source, &mut target).map(|_| ()).map_err(|source| Error::io(to, source))
}

/// Writes the journal atomically: from here on, the restore takes effect.
fn write_journal(dir: &Path) -> Result<()> {
    let journal = Journal { format: FORMAT, kept: unused_name(dir) };
    let json = serde_json::to_vec(&journal)
        .unwrap_or_else(|error| unreachable!("every journal can be encoded as JSON: {error}"));
    let unfinished = unfinished_journal(dir);
    let path = dir.join(JOURNAL);
    private::write_file(&unfinished, &json).map_err(|source| Error::io(&unfinished, source))?;
    sync_file(&unfinished)?;
    std::fs::rename(&unfinished, &path).map_err(|source| Error::io(&path, source))?;
    sync_dir(dir)
}

fn unfinished_journal(dir: &Path) -> PathBuf {
    dir.join(format!("{JOURNAL}.new"))
}

fn read_journal(dir: &Path) -> Result<Option<Journal>> {
    let path = dir.join(JOURNAL);
    let bytes = match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(|source| Error::io(&path, source))?,
    };
    let is_readable = |journal: &Journal| {
        journal.format == FORMAT && journal.kept.starts_with(FILE) && is_plain(&journal.kept)
    };
    match serde_json::from_slice::<Journal>(&bytes).ok().filter(is_readable) {
        Some(journal) => Ok(Some(journal)),
        None => Err(interrupted(
            dir,
            format!("its journal `{JOURNAL}` is damaged; restore the snapshot again with `--replace`"),
        )),
    }
}

/// Returns `true` if a name contains no path.
fn is_plain(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|file| file == name)
}

/// Returns the steps that complete a restore, in order.
fn remaining_steps(dir: &Path, journal: &Journal) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    if dir.join(STAGED).exists() {
        for suffix in SUFFIXES {
            let from = dir.join(format!("{FILE}{suffix}"));
            let to = dir.join(format!("{}{suffix}", journal.kept));
            steps.push(Step::Rename { from, to });
        }
        // The marker would require a write-ahead log that no longer exists under this name.
        steps.push(Step::Remove(marker_path(&dir.join(FILE))));
        steps.push(Step::Sync(dir.to_owned()));
        steps.push(Step::Rename { from: dir.join(STAGED), to: dir.join(FILE) });
    } else if !dir.join(FILE).exists() {
        let reason = format!("`{STAGED}` is missing; restore the snapshot again with `--replace`");
        return Err(interrupted(dir, reason));
    }
    steps.push(Step::Sync(dir.to_owned()));
    steps.push(Step::Remove(dir.join(JOURNAL)));
    steps.push(Step::Sync(dir.to_owned()));
    Ok(steps)
}

impl Step {
    fn execute(&self) -> Result<()> {
        match self {
            Step::Rename { from, to } => match std::fs::rename(from, to) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                renamed => renamed.map_err(|source| Error::io(from, source)),
            },
            Step::Remove(path) => remove(path),
            Step::Sync(dir) => sync_dir(dir),
        }
    }
}

/// Removes a file if it exists.
fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|source| Error::io(path, source)),
    }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Catalog, CollectionConfig, OpenOptions};
    use sameish::{Document, Preset};

    /// How the last process that used a directory ended.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum End {
        Clean,
        Killed,
    }

    fn fill(dir: &Path, ids: &[u64]) -> Catalog {
        let catalog = Catalog::open(dir, OpenOptions::default()).unwrap();
        let copies = catalog.create("copies", CollectionConfig::new(Preset::Copies)).unwrap();
        for id in ids {
            copies.insert(Document::new(*id, format!("the text of document number {id}"))).unwrap();
        }
        catalog
    }

    fn stored_ids(dir: &Path) -> Vec<u64> {
        let options = OpenOptions { create: false, ..OpenOptions::default() };
        let copies = Catalog::open(dir, options).unwrap().collection("copies").unwrap();
        (0..10).filter(|&id| copies.get(&id.into()).unwrap().is_some()).collect()
    }

    struct Directories {
        root: tempfile::TempDir,
        snapshot: PathBuf,
    }

    impl Directories {
        fn new() -> Directories {
            let root = tempfile::tempdir().unwrap();
            let snapshot = root.path().join("snapshot");
            fill(&root.path().join("origin"), &[7, 8]).snapshot(&snapshot).unwrap();
            Directories { root, snapshot }
        }

        /// Returns a data directory with the documents 1 and 2.
        fn old(&self, end: End) -> PathBuf {
            let used = self.root.path().join("used");
            let old = self.root.path().join("old");
            for dir in [&used, &old] {
                _ = std::fs::remove_dir_all(dir);
            }
            let catalog = fill(&used, &[1, 2]);
            match end {
                End::Clean => {
                    catalog.close();
                    std::fs::rename(&used, &old).unwrap();
                }
                End::Killed => copy_files(&used, &old),
            }
            old
        }
    }

    fn copy_files(from: &Path, to: &Path) {
        std::fs::create_dir(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }

    /// Restores the old store by hand.
    fn kept_ids(dir: &Path) -> Vec<u64> {
        for suffix in SUFFIXES {
            _ = std::fs::remove_file(dir.join(format!("{FILE}{suffix}")));
            _ = std::fs::rename(
                dir.join(format!("{FILE}.before-restore{suffix}")),
                dir.join(format!("{FILE}{suffix}")),
            );
        }
        stored_ids(dir)
    }

    #[test]
    fn interrupted_restore_is_completed_by_the_next_open() {
        let directories = Directories::new();
        let manifest = read_manifest(&directories.snapshot).unwrap();
        for end in [End::Clean, End::Killed] {
            let mut executed = 0;
            loop {
                let dir = directories.old(end);
                stage(&directories.snapshot, &dir, &manifest).unwrap();
                write_journal(&dir).unwrap();
                let steps = remaining_steps(&dir, &read_journal(&dir).unwrap().unwrap()).unwrap();
                steps[..executed].iter().for_each(|step| step.execute().unwrap());
                if dir.join(JOURNAL).exists() {
                    let reading = OpenOptions { read_only: true, ..OpenOptions::default() };
                    let refused = Catalog::open(&dir, reading).unwrap_err();
                    assert!(matches!(refused, Error::Interrupted { .. }), "{refused}");
                }
                assert_eq!(stored_ids(&dir), [7, 8], "{end:?}, {executed} steps");
                assert_eq!(kept_ids(&dir), [1, 2], "{end:?}, {executed} steps");
                if executed == steps.len() {
                    break;
                }
                executed += 1;
            }
        }
    }

    #[test]
    fn restore_that_was_interrupted_before_its_journal_changes_nothing() {
        let directories = Directories::new();
        let manifest = read_manifest(&directories.snapshot).unwrap();
        for end in [End::Clean, End::Killed] {
            let dir = directories.old(end);
            stage(&directories.snapshot, &dir, &manifest).unwrap();
            std::fs::write(unfinished_journal(&dir), "{").unwrap();
            assert_eq!(stored_ids(&dir), [1, 2]);
            assert!(!dir.join(STAGED).exists() && !unfinished_journal(&dir).exists());
        }
    }

    #[test]
    fn restore_with_a_damaged_journal_is_refused_until_it_is_repeated() {
        let directories = Directories::new();
        for journal in
            ["", "{\"format\":1,\"kept\":\"../sameish.db\"}", "{\"format\":2,\"kept\":\"sameish.db.x\"}"]
        {
            let dir = directories.old(End::Clean);
            std::fs::write(dir.join(JOURNAL), journal).unwrap();
            let refused = Catalog::open(&dir, OpenOptions::default()).unwrap_err();
            assert!(refused.to_string().contains("--replace"), "{refused}");
            restore(&directories.snapshot, &dir, true).unwrap();
            assert_eq!(stored_ids(&dir), [7, 8]);
            assert_eq!(kept_ids(&dir), [1, 2]);
        }
    }
}
