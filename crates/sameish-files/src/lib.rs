//! How does a file appear only when it is whole?
//!
//! Written beside its place under another name, synced, then renamed: an old file stays as it is until the new one is whole. The
//! new one has the mode of the old, or the one that new files have here.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// How often a link may lead to a link.
const MOST_LINKS: usize = 40;

/// A file on its way. Dropped before [`keep`](Whole::keep), it leaves nothing behind.
///
/// ```
/// use sameish_files::Whole;
/// use std::io::Write;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("notes");
/// let mut file = Whole::beside(&path)?;
/// file.write_all(b"all of it")?;
/// assert!(!path.exists());
/// file.keep()?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Whole {
    file: BufWriter<NamedTempFile>,
    target: PathBuf,
}

impl Whole {
    /// Begins a file that will have this path. A symbolic link stays, and what it leads to is replaced; a folder, a device or
    /// a pipe is not.
    pub fn beside(path: &Path) -> io::Result<Whole> {
        let target = target_of(path)?;
        Ok(Whole { file: BufWriter::new(temporary_beside(&target)?), target })
    }

    /// Brings what was written to the disk.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().as_file().sync_all()
    }

    /// Brings all of it to the disk, then gives it its name.
    pub fn keep(mut self) -> io::Result<()> {
        self.sync()?;
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.persist(&self.target).map_err(|error| error.error)?;
        sync_folder(&self.target)
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The file that a path means, which need not be there yet.
fn target_of(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = folder_of(&target).join(link),
            Err(_) => {
                return match fs::metadata(&target) {
                    Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
                    Ok(there) if !there.is_file() => {
                        Err(io::Error::new(io::ErrorKind::InvalidInput, "a device or a pipe, not a file"))
                    }
                    _ => Ok(target),
                };
            }
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// A temporary file in the folder of another, for whoever may read that one.
pub fn temporary_beside(target: &Path) -> io::Result<NamedTempFile> {
    // A folder that is not there is told as itself, not by the name that would be made up in it.
    fs::metadata(folder_of(target))?;
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(target.file_name().unwrap_or_default());
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".partial");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What is asked for here, the umask narrows.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder_of(target))?;
    if let Ok(replaced) = fs::metadata(target) {
        file.as_file().set_permissions(replaced.permissions())?;
    }
    Ok(file)
}

/// The folder that a path is in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new name lasts when its folder is on the disk too.
pub fn sync_folder(target: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder_of(target))?.sync_all() } else { Ok(()) }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn put(path: &Path, text: &str) -> io::Result<()> {
        let mut file = Whole::beside(path)?;
        file.write_all(text.as_bytes())?;
        file.keep()
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn modes_and_links_stay() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, dangling] = ["file", "link", "dangling"].map(|name| folder.path().join(name));
        fs::write(&file, "old").unwrap();
        // As any new file, so with the umask of whoever runs this.
        let usual = mode(&file);
        put(&folder.path().join("new"), "new").unwrap();
        assert_eq!(mode(&folder.path().join("new")), usual);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        symlink("later", &dangling).unwrap();
        put(&link, "new").unwrap();
        put(&dangling, "new").unwrap();
        assert!(link.is_symlink() && dangling.is_symlink());
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("new", 0o640));
        assert!(folder.path().join("later").is_file());
        symlink("round", folder.path().join("round")).unwrap();
        assert!(put(&folder.path().join("round"), "").is_err());
        assert!(put(folder.path(), "").is_err());
        let socket = folder.path().join("socket");
        let _listens = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(put(&socket, "").is_err() && !socket.is_file());
    }

    #[test]
    fn what_is_not_kept_leaves_the_old_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        Whole::beside(&path).unwrap().write_all(b"half").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
