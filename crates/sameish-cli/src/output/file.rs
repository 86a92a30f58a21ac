//! An output appears under its name when it is whole, and not before.

use crate::exit::{Exit, Failure};
use crate::input::find::Found;
use crate::output::escape::escaped_name;
use crate::output::leftovers::{make, settle};
pub(crate) use sameish_io::sync_parent_directory as sync_folder;
use sameish_io::{parent_directory as folder_of, temporary_file_for as temporary_beside};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempPath};

/// Where data goes.
pub(crate) enum Output {
    Stdout,
    /// A device or a pipe, which can not be replaced.
    Direct {
        file: File,
        name: String,
    },
    /// A temporary file beside the target.
    Pending {
        temporary: NamedTempFile,
        target: PathBuf,
        force: bool,
    },
    /// The same, when it is on the disk; no file is open.
    Sealed {
        temporary: TempPath,
        target: PathBuf,
        force: bool,
    },
}

impl Output {
    /// Whether an output can be opened, as far as can be told without it: a file is not overwritten unless `force`, an
    /// input in no case.
    pub(crate) fn check(path: Option<&Path>, force: bool, inputs: &[Found]) -> Result<(), Failure> {
        let Some(path) = path.filter(|path| *path != "-") else {
            return refuse_input(stdout_identity(), "standard output", inputs);
        };
        let name = escaped_name(path.as_os_str());
        refuse_input(identity(path), &name, inputs)?;
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => {
                Err(Failure::usage(format!("{name}: a folder, where the output file is meant")))
            }
            Ok(meta) if !meta.is_file() => Ok(()),
            _ if !force && fs::symlink_metadata(path).is_ok() => {
                Err(Failure::usage(format!("{name}: exists already; pass `--force` to replace it")))
            }
            _ if !folder_of(path).is_dir() => Err(failed(&name, &io::ErrorKind::NotFound.into())),
            _ => Ok(()),
        }
    }

    /// Opens the output, if [`Output::check`] finds nothing wrong.
    pub(crate) fn create(path: Option<&Path>, force: bool, inputs: &[Found]) -> Result<Output, Failure> {
        Output::check(path, force, inputs)?;
        let Some(path) = path.filter(|path| *path != "-") else { return Ok(Output::Stdout) };
        let name = escaped_name(path.as_os_str());
        if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
            let file = File::options().write(true).open(path).map_err(|error| failed(&name, &error))?;
            return Ok(Output::Direct { file, name });
        }
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let temporary = make(|| temporary_beside(&target)).map_err(|error| failed(&name, &error))?;
        Ok(Output::Pending { temporary, target, force })
    }

    /// Writes, and gives `false` where the reader of a pipe has gone: it has what it wanted.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<bool, Failure> {
        let written = match self {
            Output::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())
            }
            Output::Direct { file, .. } => file.write_all(bytes),
            Output::Pending { temporary, .. } => temporary.write_all(bytes),
            Output::Sealed { .. } => unreachable!("nothing is written behind the end"),
        };
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(failed(&self.name(), &error)),
        }
    }

    /// Copies what was written so far; nothing where it went to somebody else.
    pub(crate) fn copy_to(&self, place: &Path) -> Result<(), Failure> {
        let Output::Pending { temporary, .. } = self else { return Ok(()) };
        let copied = fs::copy(temporary.path(), place).and_then(|_| File::open(place)?.sync_all());
        copied.map_err(|error| failed(&escaped_name(place.as_os_str()), &error))
    }

    /// Writes what [`Output::copy_to`] copied.
    pub(crate) fn append(&mut self, place: &Path) -> Result<(), Failure> {
        let Output::Pending { temporary, .. } = self else { return Ok(()) };
        let appended = File::open(place).and_then(|mut file| io::copy(&mut file, temporary));
        appended.map(|_| ()).map_err(|error| failed(&escaped_name(place.as_os_str()), &error))
    }

    /// Brings all of it to the disk and closes the file: many outputs may wait for their names together.
    pub(crate) fn seal(self) -> Result<Output, Failure> {
        let name = self.name();
        let Output::Pending { temporary, target, force } = self else { return Ok(self) };
        temporary.as_file().sync_all().map_err(|error| failed(&name, &error))?;
        Ok(Output::Sealed { temporary: temporary.into_temp_path(), target, force })
    }

    /// Gives the output its name, once it is on the disk.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let name = self.name();
        let Output::Sealed { temporary, target, force } = self.seal()? else { return Ok(()) };
        let path = temporary.to_path_buf();
        let kept = settle(&path, || match force {
            true => temporary.persist(&target),
            false => temporary.persist_noclobber(&target),
        });
        match kept {
            Ok(()) => sync_folder(&target).map_err(|error| failed(&name, &error)),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(Failure::usage(format!(
                "{name}: came into being meanwhile; pass `--force` to replace it"
            ))),
            Err(error) => Err(failed(&name, &error.error)),
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

/// A full disk is a limit that was hit; all else is a failed output.
fn failed(name: &str, error: &io::Error) -> Failure {
    use io::ErrorKind::{FileTooLarge, NotFound, QuotaExceeded, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => {
            Failure::new(Exit::Limit, format!("{name}: no room to write ({error}); make room and run again"))
        }
        NotFound => Failure::new(
            Exit::Output,
            format!("{name}: can not be written, its folder is not there; make it"),
        ),
        _ => Failure::new(Exit::Output, format!("{name}: can not be written: {error}; check the path")),
    }
}

fn refuse_input(output: Option<Identity>, name: &str, inputs: &[Found]) -> Result<(), Failure> {
    let Some(output) = output else { return Ok(()) };
    for source in inputs.iter().flatten() {
        let input = source.path.as_deref().map_or_else(stdin_identity, identity);
        if input.as_ref() == Some(&output) {
            return Err(Failure::usage(format!(
                "{name}: is also the input {}; write elsewhere",
                source.name
            )));
        }
    }
    Ok(())
}

/// Whether two names, of which neither need exist, lead to one place.
pub(crate) fn same_place(a: &Path, b: &Path) -> bool {
    let resolved = |path: &Path| {
        let folder = folder_of(path);
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        path.canonicalize().unwrap_or_else(|_| folder.join(path.file_name().unwrap_or_default()))
    };
    resolved(a) == resolved(b)
}

#[cfg(unix)]
use unix::{Identity, identity, stdin_identity, stdout_identity};

/// A file is known by its device and number.
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

    /// Terminals and pipes may well be both ends.
    fn of_regular(meta: Metadata) -> Option<Identity> {
        meta.is_file().then(|| (meta.dev(), meta.ino()))
    }
}

#[cfg(not(unix))]
use other::{Identity, identity, stdin_identity, stdout_identity};

/// A file is known by its full path.
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
