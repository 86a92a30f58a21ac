//! How is an engine kept in a file?
//!
//! Written beside its place under another name, synced, then renamed: an old file stays as it is until the new one is whole.

use crate::error::{in_file, no_file, refused};
use crate::work::Watch;
use pyo3::prelude::*;
use sameish::Engine;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use tempfile::NamedTempFile;

pub(crate) fn save(engine: &Engine, path: &Path, watch: &Watch) -> PyResult<()> {
    // A link stays, and what it points to is replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    write(engine, path, watch)?.map_err(|error| no_file(&error, path))
}

fn write(engine: &Engine, path: &Path, watch: &Watch) -> PyResult<io::Result<()>> {
    let whole = |out: &mut BufWriter<Wanted<'_>>| engine.write_into(out).map_err(refused);
    let file = match place(path) {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    let mut out = BufWriter::new(Wanted { file, watch });
    let written = whole(&mut out)?;
    Ok(written.and_then(|()| {
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?.file;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        // So that the name survives a power cut; where a folder can not be opened there is nothing more to do.
        File::open(folder(path)).map_or(Ok(()), |folder| folder.sync_all())
    }))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file beside an old one, which whoever may read the old one may read too.
fn place(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(folder(path))?;
    if let Ok(old) = path.metadata() {
        file.as_file().set_permissions(old.permissions())?;
    }
    Ok(file)
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
    let bytes = std::fs::read(path).map_err(|error| no_file(&error, path))?;
    Engine::from_bytes(&bytes).map_err(|error| in_file(path, error))
}
