//! Who has the folder?
//!
//! One process writes a folder. It holds a lock on a file that the system takes back when the process ends, however it
//! ends: the lock of a dead one is free. The file holds the number of the process, for the message to the next one.

use crate::error::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// Held as long as it lives.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    pub(crate) fn take(folder: &Path) -> Result<Lock> {
        let path = folder.join("sameish.lock");
        let io = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                Error::ReadOnly { path: folder.to_owned() }
            }
            _ => Error::io(&path, source),
        };
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                _ = (&mut file).take(20).read_to_string(&mut pid);
                let pid = pid.trim().escape_debug().to_string();
                return Err(Error::InUse { path: folder.to_owned(), pid });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        file.set_len(0).map_err(io)?;
        file.rewind().map_err(io)?;
        writeln!(file, "{}", std::process::id()).map_err(io)?;
        Ok(Lock { _file: file })
    }
}
