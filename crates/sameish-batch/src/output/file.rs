//! Output files that appear under their names only when they are complete.

use crate::error::{Error, Result};
use crate::escape::escaped_name;
use crate::input::InputResult;
use crate::output::temporary::{create, publish};
use sameish_io::{parent_directory, sync_parent_directory, temporary_file_for};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempPath};

/// Destination of data.
pub enum Output {
    /// Standard output.
    Stdout,
    /// A device or a pipe, which cannot be replaced.
    Direct {
        /// The open file.
        file: File,
        /// Escaped name.
        name: String,
    },
    /// A temporary file next to the target.
    Pending {
        /// The temporary file.
        temporary: NamedTempFile,
        /// Final path.
        target: PathBuf,
        /// Replaces an existing file.
        force: bool,
    },
    /// A complete temporary file that is on disk and closed.
    Sealed {
        /// The temporary file.
        temporary: TempPath,
        /// Final path.
        target: PathBuf,
        /// Replaces an existing file.
        force: bool,
    },
}

impl Output {
    /// Checks whether an output can be opened, without opening it. An existing file is replaced only if `force`, an input
    /// never. No path, or `-`, stands for standard output.
    pub fn check(path: Option<&Path>, force: bool, inputs: &[InputResult]) -> Result<()> {
        let Some(path) = path.filter(|path| *path != "-") else {
            return refuse_input(stdout_identity(), "standard output", inputs);
        };
        let name = escaped_name(path.as_os_str());
        refuse_input(identity(path), &name, inputs)?;
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => Err(Error::OutputIsDirectory { name }),
            Ok(meta) if !meta.is_file() => Ok(()),
            _ if !force && fs::symlink_metadata(path).is_ok() => Err(Error::OutputExists { name }),
            _ if !parent_directory(path).is_dir() => Err(Error::NoOutputDirectory { name }),
            _ => Ok(()),
        }
    }

    /// Opens the output after [`Output::check`].
    pub fn create(path: Option<&Path>, force: bool, inputs: &[InputResult]) -> Result<Output> {
        Output::check(path, force, inputs)?;
        let Some(path) = path.filter(|path| *path != "-") else { return Ok(Output::Stdout) };
        let name = escaped_name(path.as_os_str());
        if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
            let file = File::options().write(true).open(path).map_err(|error| Error::output(&name, error))?;
            return Ok(Output::Direct { file, name });
        }
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let temporary =
            create(|| temporary_file_for(&target)).map_err(|error| Error::output(&name, error))?;
        Ok(Output::Pending { temporary, target, force })
    }

    /// Writes bytes. Returns `false` if the reader of a pipe has closed it.
    pub fn write(&mut self, bytes: &[u8]) -> Result<bool> {
        let written = match self {
            Output::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())
            }
            Output::Direct { file, .. } => file.write_all(bytes),
            Output::Pending { temporary, .. } => temporary.write_all(bytes),
            Output::Sealed { .. } => unreachable!("a sealed output is not written"),
        };
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Error::output(&self.name(), error)),
        }
    }

    /// Copies what was written to a temporary file so far.
    pub(crate) fn copy_to(&self, path: &Path) -> Result<()> {
        let Output::Pending { temporary, .. } = self else { return Ok(()) };
        let copied = fs::copy(temporary.path(), path).and_then(|_| File::open(path)?.sync_all());
        copied.map_err(|error| Error::output(&escaped_name(path.as_os_str()), error))
    }

    /// Appends a copy made by [`Output::copy_to`].
    pub(crate) fn append(&mut self, path: &Path) -> Result<()> {
        let Output::Pending { temporary, .. } = self else { return Ok(()) };
        let appended = File::open(path).and_then(|mut file| io::copy(&mut file, temporary));
        appended.map(|_| ()).map_err(|error| Error::output(&escaped_name(path.as_os_str()), error))
    }

    /// Syncs and closes the file, so that many outputs can be published together.
    pub(crate) fn seal(self) -> Result<Output> {
        let name = self.name();
        let Output::Pending { temporary, target, force } = self else { return Ok(self) };
        temporary.as_file().sync_all().map_err(|error| Error::output(&name, error))?;
        Ok(Output::Sealed { temporary: temporary.into_temp_path(), target, force })
    }

    /// Syncs the output and renames it to its final path.
    pub fn finish(self) -> Result<()> {
        let name = self.name();
        let Output::Sealed { temporary, target, force } = self.seal()? else { return Ok(()) };
        let path = temporary.to_path_buf();
        let renamed = publish(&path, || match force {
            true => temporary.persist(&target),
            false => temporary.persist_noclobber(&target),
        });
        match renamed {
            Ok(()) => sync_parent_directory(&target).map_err(|error| Error::output(&name, error)),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::OutputCreated { name })
            }
            Err(error) => Err(Error::output(&name, error.error)),
        }
    }

    fn name(&self) -> String {
        match self {
            Output::Stdout => "standard output".into(),
            Output::Direct { name, .. } => name.clone(),
            Output::Pending { target, .. } | Output::Sealed { target, .. } => {
                escaped_name(target.as_os_str())
            }
        }
    }
}

fn refuse_input(output: Option<Identity>, name: &str, inputs: &[InputResult]) -> Result<()> {
    let Some(output) = output else { return Ok(()) };
    for input in inputs.iter().flatten() {
        let identity = input.path.as_deref().map_or_else(stdin_identity, identity);
        if identity.as_ref() == Some(&output) {
            return Err(Error::OutputIsInput { output: name.to_owned(), input: input.name.to_string() });
        }
    }
    Ok(())
}

/// Returns `true` if two paths, which need not exist, lead to the same file.
pub fn same_place(a: &Path, b: &Path) -> bool {
    let resolved = |path: &Path| {
        let directory = parent_directory(path);
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        path.canonicalize().unwrap_or_else(|_| directory.join(path.file_name().unwrap_or_default()))
    };
    resolved(a) == resolved(b)
}

#[cfg(unix)]
use unix::{Identity, identity, stdin_identity, stdout_identity};

/// A file is identified by its device and inode number.
#[cfg(unix)]
mod unix {
    use std::fs::{self, File, Metadata};
    use std::io;
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    pub(super) type Identity = (u64, u64);

    pub(super) fn identity(path: &Path) -> Option<Identity> {
        fs::metadata(path).ok().and_then(of_regular)
    }

    pub(super) fn stdin_identity() -> Option<Identity> {
        of_open(io::stdin())
    }

    pub(super) fn stdout_identity() -> Option<Identity> {
        of_open(io::stdout())
    }

    fn of_open(stream: impl AsFd) -> Option<Identity> {
        let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        file.metadata().ok().and_then(of_regular)
    }

    /// Ignores terminals and pipes, which may be both input and output.
    fn of_regular(meta: Metadata) -> Option<Identity> {
        meta.is_file().then(|| (meta.dev(), meta.ino()))
    }
}

#[cfg(not(unix))]
use other::{Identity, identity, stdin_identity, stdout_identity};

/// A file is identified by its full path.
#[cfg(not(unix))]
mod other {
    use std::fs;
    use std::path::{Path, PathBuf};

    pub(super) type Identity = PathBuf;

    pub(super) fn identity(path: &Path) -> Option<Identity> {
        fs::canonicalize(path).ok().filter(|path| path.is_file())
    }

    pub(super) fn stdin_identity() -> Option<Identity> {
        None
    }

    pub(super) fn stdout_identity() -> Option<Identity> {
        None
    }
}
