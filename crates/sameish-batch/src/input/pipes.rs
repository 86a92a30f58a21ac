//! Pipes, which can be read only once.

use super::find::InputResult;
use crate::error::{Error, Result};
use crate::output::temporary;
use std::fs::File;
use std::path::Path;
use tempfile::TempPath;

/// Copies standard input and other pipes to temporary files, because inputs are read twice. Returns the inputs, and the
/// temporary files, which are removed when they are dropped.
pub fn spool_pipes(
    inputs: Vec<InputResult>,
    temp_dir: Option<&Path>,
) -> Result<(Vec<InputResult>, Vec<TempPath>)> {
    let mut inputs = inputs;
    let mut paths = Vec::new();
    for input in inputs.iter_mut().flatten() {
        if input.path.as_deref().is_some_and(|path| !is_pipe(path)) {
            continue;
        }
        // The suffix of the name determines the format.
        let name = input.path.as_deref().and_then(Path::file_name).unwrap_or_default().to_owned();
        let mut builder = tempfile::Builder::new();
        builder.prefix("sameish-stdin-").suffix(&name);
        let file = temporary::create(|| match temp_dir {
            Some(directory) => builder.tempfile_in(directory),
            None => builder.tempfile(),
        });
        let mut file = file.map_err(Error::Temporary)?;
        let mut pipe: Box<dyn std::io::Read> = match input.path.as_deref().map(File::open) {
            None => Box::new(std::io::stdin().lock()),
            Some(Ok(pipe)) => Box::new(pipe),
            // A pipe that cannot be opened is reported when it is read.
            Some(Err(_)) => continue,
        };
        std::io::copy(&mut pipe, &mut file).map_err(Error::Temporary)?;
        let path = file.into_temp_path();
        input.path = Some(path.to_path_buf());
        paths.push(path);
    }
    Ok((inputs, paths))
}

#[cfg(unix)]
pub(crate) fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|meta| meta.file_type().is_fifo())
}

#[cfg(not(unix))]
pub(crate) fn is_pipe(_: &Path) -> bool {
    false
}
