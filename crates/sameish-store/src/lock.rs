//! The lock file: at most one process writes to a directory.
//!
//! The writing process holds an operating-system lock on the file `sameish.lock`. The system releases it when the process
//! ends for any reason, so a killed process does not block the next one. The file contains the process id, for the error
//! message.

use crate::error::{Error, Result};
use crate::private;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;

/// An exclusive lock on a directory. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    pub(crate) fn acquire(dir: &Path) -> Result<Lock> {
        let path = dir.join("sameish.lock");
        let io = |source: std::io::Error| match source.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                Error::ReadOnly { path: dir.to_owned() }
            }
            _ => Error::io(&path, source),
        };
        let mut options = private::file_options();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let pid = read_pid(&mut file);
                return Err(Error::InUse { path: dir.to_owned(), pid });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        file.set_len(0).map_err(io)?;
        file.rewind().map_err(io)?;
        writeln!(file, "{}", std::process::id()).map_err(io)?;
        Ok(Lock { _file: file })
    }
}

fn read_pid(file: &mut File) -> String {
    let mut pid = String::new();
    // The process id is informational; an unreadable one is shown as far as it was read.
    _ = file.take(20).read_to_string(&mut pid);
    pid.trim().escape_debug().to_string()
}
