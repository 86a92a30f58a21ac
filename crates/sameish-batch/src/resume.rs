//! Resumable runs.
//!
//! When a step is complete, its result is written to a directory under the temporary directory. A later run over the same
//! inputs with the same settings loads it. The directory is named by a hash of inputs and settings, so a different run does
//! not find it, and is removed when the output is complete.
//!
//! A file contains arrays in their memory layout. It is meant for the same machine and program version, which its header
//! states; a checksum at the end detects damage.

use crate::error::{Error, Result};
use crate::escape::escaped_name;
use bytemuck::Pod;
use sameish_io::sync_parent_directory;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Location of temporary files.
#[derive(Clone, Debug, Default)]
pub(crate) struct TempFiles {
    /// Temporary directory; by default that of the system.
    directory: Option<PathBuf>,
    /// Directory of a resumable run, whose files are named and outlive the run.
    steps: Option<PathBuf>,
}

impl TempFiles {
    pub(crate) fn new(directory: Option<PathBuf>, steps: Option<&StepDirectory>) -> TempFiles {
        TempFiles { directory, steps: steps.map(|steps| steps.path.clone()) }
    }

    /// Creates a file for writing and reading. It has no name, so that it is removed with the process, unless the run is
    /// resumable.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        match (&self.steps, &self.directory) {
            (Some(steps), _) => {
                File::options().read(true).write(true).create(true).truncate(true).open(steps.join(name))
            }
            (None, Some(directory)) => tempfile::tempfile_in(directory),
            (None, None) => tempfile::tempfile(),
        }
    }

    /// Opens a file of an earlier run.
    pub(crate) fn open(&self, name: &str) -> io::Result<File> {
        let steps = self.steps.as_ref().ok_or(io::ErrorKind::NotFound)?;
        File::options().read(true).write(true).open(steps.join(name))
    }
}

/// Directory with the results of the completed steps of a run.
pub struct StepDirectory {
    path: PathBuf,
    /// Locked during the run.
    _lock: File,
    resume: bool,
}

impl StepDirectory {
    /// Opens the directory of the run that `key` describes: settings and inputs with their sizes and modification times.
    /// Without `resume`, the results of an earlier run are removed.
    pub fn open(parent: &Path, key: &str, resume: bool) -> Result<StepDirectory> {
        let name = format!("sameish-{:016x}", xxh3_64(format!("{HEAD} {key}").as_bytes()));
        let path = parent.join(name);
        fs::create_dir_all(&path).map_err(Error::Temporary)?;
        let lock = File::create(path.join("lock")).map_err(Error::Temporary)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::RunInProgress { directory: escaped_name(parent.as_os_str()) });
            }
            Err(TryLockError::Error(error)) => return Err(Error::Temporary(error)),
        }
        let directory = StepDirectory { path, _lock: lock, resume };
        if !resume {
            directory.clear().map_err(Error::Temporary)?;
        }
        Ok(directory)
    }

    /// Returns the path of a file in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Loads the result of a step from an earlier run. A damaged file counts as missing, so the step is repeated.
    pub(crate) fn load<T>(
        &self,
        step: &str,
        read: impl FnOnce(&mut StepReader) -> io::Result<T>,
    ) -> Option<T> {
        let file = File::open(self.path(step)).ok().filter(|_| self.resume)?;
        let mut reader = StepReader::new(file).ok()?;
        let result = read(&mut reader).ok()?;
        reader.finish().ok().map(|()| result)
    }

    /// Saves the result of a step.
    pub(crate) fn save(
        &self,
        step: &str,
        write: impl FnOnce(&mut StepWriter) -> io::Result<()>,
    ) -> Result<()> {
        let partial = self.path(&format!("{step}.partial"));
        let save = || {
            let mut writer = StepWriter::new(File::create(&partial)?)?;
            write(&mut writer)?;
            writer.finish()?;
            fs::rename(&partial, self.path(step))?;
            sync_parent_directory(&self.path(step))
        };
        save().map_err(Error::Temporary)
    }

    /// Removes the directory at the end of the run.
    pub fn remove(self) -> Result<()> {
        fs::remove_dir_all(&self.path).map_err(Error::Temporary)
    }

    fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_name() != "lock" {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// Header of every file; it changes with the format.
const HEAD: &str = concat!("sameish stage 3, ", env!("CARGO_PKG_VERSION"), "\n");

/// Writes the file of a step.
pub(crate) struct StepWriter {
    file: BufWriter<File>,
    hash: Xxh3,
}

impl StepWriter {
    fn new(file: File) -> io::Result<StepWriter> {
        let mut writer = StepWriter { file: BufWriter::with_capacity(1 << 20, file), hash: Xxh3::new() };
        writer.bytes(HEAD.as_bytes())?;
        Ok(writer)
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.file.write_all(bytes)
    }

    /// Writes the length and the elements of a list.
    pub(crate) fn list<T: Pod>(&mut self, items: &[T]) -> io::Result<()> {
        self.bytes(&(items.len() as u64).to_ne_bytes())?;
        self.bytes(bytemuck::cast_slice(items))
    }

    /// Writes a small value as JSON.
    pub(crate) fn value<T: Serialize>(&mut self, value: &T) -> io::Result<()> {
        self.list(&serde_json::to_vec(value)?)
    }

    fn finish(mut self) -> io::Result<()> {
        let hash = self.hash.digest();
        self.file.write_all(&hash.to_ne_bytes())?;
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }
}

/// Reads the file of a step.
pub(crate) struct StepReader {
    file: BufReader<File>,
    /// Number of bytes before the checksum that are not read yet.
    left: u64,
    hash: Xxh3,
}

impl StepReader {
    fn new(file: File) -> io::Result<StepReader> {
        let left = file.metadata()?.len().saturating_sub(8);
        let mut reader =
            StepReader { file: BufReader::with_capacity(1 << 20, file), left, hash: Xxh3::new() };
        let mut head = [0; HEAD.len()];
        reader.bytes(&mut head)?;
        if head == HEAD.as_bytes() { Ok(reader) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    fn bytes(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or(io::ErrorKind::InvalidData)?;
        self.file.read_exact(bytes)?;
        self.hash.update(bytes);
        Ok(())
    }

    /// Reads what [`StepWriter::list`] wrote.
    pub(crate) fn list<T: Pod>(&mut self) -> io::Result<Vec<T>> {
        let mut len = [0; 8];
        self.bytes(&mut len)?;
        let len = u64::from_ne_bytes(len);
        // A damaged length must not allocate more than the file contains.
        if len > self.left / size_of::<T>().max(1) as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut items = vec![T::zeroed(); len as usize];
        self.bytes(bytemuck::cast_slice_mut(&mut items))?;
        Ok(items)
    }

    /// Reads what [`StepWriter::value`] wrote.
    pub(crate) fn value<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        Ok(serde_json::from_slice(&self.list::<u8>()?)?)
    }

    fn finish(mut self) -> io::Result<()> {
        let mut hash = [0; 8];
        self.file.read_exact(&mut hash)?;
        match self.left == 0 && u64::from_ne_bytes(hash) == self.hash.digest() {
            true => Ok(()),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Saved {
        numbers: Vec<u32>,
        names: Vec<String>,
    }

    fn saved() -> Saved {
        Saved { numbers: (0..1000).collect(), names: vec!["a".into(), "\u{1F}é".into()] }
    }

    fn save(steps: &StepDirectory) {
        let Saved { numbers, names } = saved();
        steps.save("sign", |to| to.list(&numbers).and_then(|()| to.value(&names))).unwrap();
    }

    fn load(steps: &StepDirectory, step: &str) -> Option<Saved> {
        steps.load(step, |from| Ok(Saved { numbers: from.list()?, names: from.value()? }))
    }

    #[test]
    fn resumes_only_the_same_run() {
        let parent = tempfile::tempdir().unwrap();
        let open = |key, resume| StepDirectory::open(parent.path(), key, resume).unwrap();
        save(&open("a", false));
        assert_eq!(load(&open("a", true), "sign"), Some(saved()));
        assert_eq!(load(&open("a", true), "group"), None);
        assert_eq!(load(&open("b", true), "sign"), None);
        // Without `--resume` a run starts from the beginning.
        assert_eq!(load(&open("a", false), "sign"), None);
        assert_eq!(load(&open("a", true), "sign"), None);
        open("a", true).remove().unwrap();
        open("b", true).remove().unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn detects_damage_at_any_offset() {
        let parent = tempfile::tempdir().unwrap();
        let steps = StepDirectory::open(parent.path(), "key", true).unwrap();
        save(&steps);
        let whole = fs::read(steps.path("sign")).unwrap();
        for at in (0..whole.len()).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            fs::write(steps.path("sign"), &bytes).unwrap();
            assert_eq!(load(&steps, "sign"), None, "byte {at}");
            fs::write(steps.path("sign"), &whole[..at]).unwrap();
            assert_eq!(load(&steps, "sign"), None, "cut at {at}");
        }
    }

    #[test]
    fn two_runs_do_not_share_a_directory() {
        let parent = tempfile::tempdir().unwrap();
        let _first = StepDirectory::open(parent.path(), "key", false).unwrap();
        let second = StepDirectory::open(parent.path(), "key", true);
        assert!(second.is_err_and(|failure| failure.to_string().contains("another run")));
    }
}
