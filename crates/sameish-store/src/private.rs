//! access permissions: only the owner can read a data directory and its files.
//!
//! Documents may be confidential, so directories are created with mode 0700 and files with mode 0600, whatever the umask is.
//! SQLite gives its log and its shared memory the mode of the database file. On systems other than Unix the permissions of the
//! parent directory apply.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Result;
use std::path::Path;

/// Beginnings of the names of the files that the store creates.
const OUR_FILES: [&str; 7] = [
    "sameish.db",
    "sameish.expire",
    "sameish.format-",
    "sameish.lock",
    "sameish.open",
    "sameish.restore",
    "sameish.room",
];
/// Directory of the snapshots that the service takes.
const SNAPSHOTS: &str = "snapshots";

/// Creates a directory and its missing parents. Existing directories keep their permissions.
pub(crate) fn create_dir(path: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Returns options for opening a file. A file that is created with them is private.
pub(crate) fn file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Writes a new file, or replaces the content of an existing one.
pub(crate) fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    use std::io::Write;
    file_options().write(true).create(true).truncate(true).open(path)?.write_all(content)
}

/// Makes an existing data directory private: the files of the store, and the directory itself if it contains nothing else.
/// A file that belongs to another user keeps its permissions.
pub(crate) fn restrict(dir: &Path) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    let mut contains_only_ours = true;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = OUR_FILES.iter().any(|ours| name.as_encoded_bytes().starts_with(ours.as_bytes()));
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_ours && is_file {
            restrict_entry(&entry.path(), 0o600);
        } else if name != SNAPSHOTS {
            contains_only_ours = false;
        }
    }
    if contains_only_ours {
        restrict_entry(dir, 0o700);
    }
}

#[cfg(unix)]
fn restrict_entry(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let Ok(metadata) = path.metadata() else { return };
    if metadata.permissions().mode() & 0o077 != 0 {
        // Only the owner can change the permissions.
        _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    }
}

#[cfg(not(unix))]
fn restrict_entry(_: &Path, _: u32) {}
