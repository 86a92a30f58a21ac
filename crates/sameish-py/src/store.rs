//! How is an engine kept in a file?
//!
//! Written beside its place under another name, synced, then renamed: an old file stays as it is until the new one is whole.

use crate::error::refused;
use crate::work::Watch;
use pyo3::prelude::*;
use sameish::Engine;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use tempfile::NamedTempFile;

pub(crate) fn save(engine: &Engine, path: &Path, watch: &Watch) -> PyResult<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = BufWriter::new(Wanted { file: NamedTempFile::new_in(folder)?, watch });
    engine.write_into(&mut file).map_err(refused)??;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?.file;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // So that the name survives a power cut; where a folder can not be opened there is nothing more to do.
    if let Ok(folder) = File::open(folder) {
        folder.sync_all()?;
    }
    Ok(())
}

/// A file that takes bytes as long as it is wanted.
struct Wanted<'a> {
    file: NamedTempFile,
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
    let bytes = std::fs::read(path)?;
    Engine::from_bytes(&bytes).map_err(refused)
}
