//! How is an engine kept in a file?

use crate::error::{in_file, no_file, refused};
use crate::work::Watch;
use pyo3::prelude::*;
use sameish::Engine;
use sameish_io::AtomicFile;
use std::io::{self, Write};
use std::path::Path;

pub(crate) fn save(engine: &Engine, path: &Path, watch: &Watch) -> PyResult<()> {
    let failed = |error: io::Error| no_file(&error, path);
    let mut out = Wanted { file: AtomicFile::create(path).map_err(failed)?, watch };
    engine.write_into(&mut out).map_err(refused)?.map_err(failed)?;
    out.file.sync().map_err(failed)?;
    // The last moment at which the old file can stay.
    if !watch.goes_on() {
        return Ok(());
    }
    out.file.commit().map_err(failed)
}

/// A file that takes bytes as long as it is wanted.
struct Wanted<'a> {
    file: AtomicFile,
    watch: &'a Watch,
}

impl Write for Wanted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.watch.goes_on() {
            return Err(io::Error::other("not wanted any more"));
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

pub(crate) fn load(path: &Path) -> PyResult<Engine> {
    let bytes = std::fs::read(path).map_err(|error| no_file(&error, path))?;
    Engine::from_bytes(&bytes).map_err(|error| in_file(path, error))
}
