//! Saved engines.

use crate::error::{CodedError, Result};
use sameish::Engine;
use sameish_io::AtomicFile;
use std::io;
use std::path::Path;

/// Writes an engine to a file, atomically.
pub(crate) fn save(engine: &Engine, path: &Path) -> Result<(), CodedError> {
    let failed = |error: io::Error| CodedError::from_io("write", path, &error);
    let mut file = AtomicFile::create(path).map_err(failed)?;
    engine.write_into(&mut file).map_err(|error| CodedError::from(error).in_file(path))?.map_err(failed)?;
    file.commit().map_err(failed)
}

/// Reads an engine from a file.
pub(crate) fn load(path: &Path) -> Result<Engine, CodedError> {
    let bytes = std::fs::read(path).map_err(|error| CodedError::from_io("read", path, &error))?;
    Engine::from_bytes(&bytes).map_err(|error| CodedError::from(error).in_file(path))
}
