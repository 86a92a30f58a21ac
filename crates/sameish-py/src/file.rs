//! Engines in files.

use crate::error::{engine_error, file_error, os_error};
use crate::interrupt::Task;
use pyo3::prelude::*;
use sameish::Engine;
use sameish_io::AtomicFile;
use std::io::{self, Write};
use std::path::Path;

/// Writes an engine to a file atomically. If the task is canceled, the old file remains.
pub(crate) fn save(engine: &Engine, path: &Path, task: &Task) -> PyResult<()> {
    let failed = |error: io::Error| os_error(&error, path);
    let mut writer = CancelableWriter { file: AtomicFile::create(path).map_err(failed)?, task };
    engine.write_into(&mut writer).map_err(engine_error)?.map_err(failed)?;
    writer.file.sync().map_err(failed)?;
    if !task.is_running() {
        return Ok(());
    }
    writer.file.commit().map_err(failed)
}

/// A file that returns an error for every write after the task is canceled.
struct CancelableWriter<'a> {
    file: AtomicFile,
    task: &'a Task,
}

impl Write for CancelableWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.task.is_running() {
            return Err(io::Error::other("canceled"));
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Reads an engine from a file.
pub(crate) fn load(path: &Path) -> PyResult<Engine> {
    let bytes = std::fs::read(path).map_err(|error| os_error(&error, path))?;
    Engine::from_bytes(&bytes).map_err(|error| file_error(path, error))
}
