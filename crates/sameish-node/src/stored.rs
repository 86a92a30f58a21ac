//! How is an engine kept in a file?

use crate::fault::{Fault, Result};
use sameish::Engine;
use sameish_io::AtomicFile;
use std::io;
use std::path::Path;

/// Writes an engine.
pub(crate) fn save(engine: &Engine, path: &Path) -> Result<(), Fault> {
    let failed = |error: io::Error| Fault::of_file(path, "written", &error);
    let mut file = AtomicFile::create(path).map_err(failed)?;
    engine.write_into(&mut file).map_err(|error| Fault::from(error).in_file(path))?.map_err(failed)?;
    file.commit().map_err(failed)
}

/// Reads an engine.
pub(crate) fn load(path: &Path) -> Result<Engine, Fault> {
    let bytes = std::fs::read(path).map_err(|error| Fault::of_file(path, "read", &error))?;
    Engine::from_bytes(&bytes).map_err(|error| Fault::from(error).in_file(path))
}
