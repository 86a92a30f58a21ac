//! Atomic file writes.
//!
//! The content goes to a temporary file in the target's directory, is synced, and is then renamed over the target. Until the
//! rename the old file is unchanged. The new file has the mode of the old one, or the default mode of new files.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Maximum number of symbolic links that are followed from one path.
const MAX_LINKS: usize = 40;

/// A file that replaces its target on [`commit`](AtomicFile::commit). Dropped earlier, it leaves the target unchanged and no
/// temporary file.
///
/// ```
/// use sameish_io::AtomicFile;
/// use std::io::Write;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("notes");
/// let mut file = AtomicFile::create(&path)?;
/// file.write_all(b"all of it")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    file: BufWriter<NamedTempFile>,
    target: PathBuf,
}

impl AtomicFile {
    /// Opens a temporary file for `path`. If `path` is a symbolic link, the link is kept and the file it points to is replaced.
    /// Returns an error if `path` is a directory, a device or a pipe.
    pub fn create(path: &Path) -> io::Result<AtomicFile> {
        let target = resolve_links(path)?;
        Ok(AtomicFile { file: BufWriter::new(temporary_file_for(&target)?), target })
    }

    /// Flushes and syncs the content written so far.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().as_file().sync_all()
    }

    /// Syncs the content, renames the temporary file to the target, and syncs the directory.
    pub fn commit(mut self) -> io::Result<()> {
        self.sync()?;
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.persist(&self.target).map_err(|error| error.error)?;
        sync_parent_directory(&self.target)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Follows symbolic links to the file to replace, which does not have to exist.
fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = parent_directory(&target).join(link),
            Err(_) => {
                return match fs::metadata(&target) {
                    Ok(existing) if existing.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
                    Ok(existing) if !existing.is_file() => {
                        Err(io::Error::new(io::ErrorKind::InvalidInput, "a device or a pipe, not a file"))
                    }
                    _ => Ok(target),
                };
            }
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Creates a temporary file in the directory of `target`, with the mode of `target` if it exists.
pub fn temporary_file_for(target: &Path) -> io::Result<NamedTempFile> {
    // Reports a missing directory by its own name instead of the name of the temporary file.
    fs::metadata(parent_directory(target))?;
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(target.file_name().unwrap_or_default());
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".partial");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The umask removes bits from this mode, as for any new file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(parent_directory(target))?;
    if let Ok(replaced) = fs::metadata(target) {
        file.as_file().set_permissions(replaced.permissions())?;
    }
    Ok(file)
}

/// Returns the directory that contains `path`; `.` for a bare file name.
pub fn parent_directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Syncs the directory that contains `target`, so that a rename in it survives a power loss.
pub fn sync_parent_directory(target: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(parent_directory(target))?.sync_all() } else { Ok(()) }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn write(path: &Path, text: &str) -> io::Result<()> {
        let mut file = AtomicFile::create(path)?;
        file.write_all(text.as_bytes())?;
        file.commit()
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn keeps_mode_and_links_of_the_target() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link, dangling] = ["file", "link", "dangling"].map(|name| directory.path().join(name));
        fs::write(&file, "old").unwrap();
        // Depends on the umask of the process that runs the test.
        let default_mode = mode(&file);
        write(&directory.path().join("new"), "new").unwrap();
        assert_eq!(mode(&directory.path().join("new")), default_mode);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        symlink("later", &dangling).unwrap();
        write(&link, "new").unwrap();
        write(&dangling, "new").unwrap();
        assert!(link.is_symlink() && dangling.is_symlink());
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("new", 0o640));
        assert!(directory.path().join("later").is_file());
    }

    #[test]
    fn rejects_link_cycles_directories_and_sockets() {
        let directory = tempfile::tempdir().unwrap();
        let cycle = directory.path().join("cycle");
        symlink("cycle", &cycle).unwrap();
        assert!(write(&cycle, "").is_err());
        assert!(write(directory.path(), "").is_err());
        let socket = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(write(&socket, "").is_err() && !socket.is_file());
    }

    #[test]
    fn leaves_the_old_file_unchanged_without_commit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "old").unwrap();
        AtomicFile::create(&path).unwrap().write_all(b"half").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
