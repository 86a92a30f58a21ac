//! How does a run go on after it was cut off?
//!
//! What a stage found is written to a folder of its own under `--temp-dir` when the stage is done, and taken from there by
//! a run with `--resume` over the same inputs with the same settings. The folder is named by a hash of both, so another run
//! does not find it; it goes when the output has its name.
//!
//! A file holds plain arrays one behind the other, as they lie in memory: it is for this machine and this program, and
//! says so at its head. A checksum at its end tells whether all of it is there.

use super::temporary;
use crate::exit::Failure;
use crate::output::escape::escaped_name;
use crate::output::file::sync_folder;
use bytemuck::Pod;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Where large lists go that memory is too small for.
#[derive(Clone, Debug, Default)]
pub(crate) struct TempFiles {
    /// The system's where none is named.
    folder: Option<PathBuf>,
    /// Where files have names and outlive the run.
    stages: Option<PathBuf>,
}

impl TempFiles {
    pub(crate) fn new(folder: Option<PathBuf>, stages: Option<&StageFolder>) -> TempFiles {
        TempFiles { folder, stages: stages.map(|stages| stages.path.clone()) }
    }

    /// A file to write and read: without a name, so that it goes with us, unless the run can be resumed.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        match (&self.stages, &self.folder) {
            (Some(stages), _) => {
                File::options().read(true).write(true).create(true).truncate(true).open(stages.join(name))
            }
            (None, Some(folder)) => tempfile::tempfile_in(folder),
            (None, None) => tempfile::tempfile(),
        }
    }

    /// A file that an earlier run made.
    pub(crate) fn open(&self, name: &str) -> io::Result<File> {
        let stages = self.stages.as_ref().ok_or(io::ErrorKind::NotFound)?;
        File::options().read(true).write(true).open(stages.join(name))
    }
}

/// The folder that stages leave their results in.
pub(crate) struct StageFolder {
    path: PathBuf,
    /// Held while the run goes on.
    _lock: File,
    resume: bool,
}

impl StageFolder {
    /// The folder of a run that `key` describes: settings, inputs, their sizes and times. Without `resume` what an earlier
    /// run left there is removed.
    pub(crate) fn open(parent: &Path, key: &str, resume: bool) -> Result<StageFolder, Failure> {
        let name = format!("sameish-{:016x}", xxh3_64(format!("{HEAD} {key}").as_bytes()));
        let path = parent.join(name);
        fs::create_dir_all(&path).map_err(|error| temporary(&error))?;
        let lock = File::create(path.join("lock")).map_err(|error| temporary(&error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let name = escaped_name(parent.as_os_str());
                let why =
                    format!("another run over the same inputs works in {name}; name another `--temp-dir`");
                return Err(Failure::usage(why));
            }
            Err(TryLockError::Error(error)) => return Err(temporary(&error)),
        }
        let folder = StageFolder { path, _lock: lock, resume };
        if !resume {
            folder.clear().map_err(|error| temporary(&error))?;
        }
        Ok(folder)
    }

    /// The place of a file in it.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What an earlier run left of a stage. A file that is damaged counts as none: the stage is done again.
    pub(crate) fn load<T>(
        &self,
        stage: &str,
        read: impl FnOnce(&mut StageReader) -> io::Result<T>,
    ) -> Option<T> {
        let file = File::open(self.place(stage)).ok().filter(|_| self.resume)?;
        let mut reader = StageReader::new(file).ok()?;
        let found = read(&mut reader).ok()?;
        reader.finish().ok().map(|()| found)
    }

    /// Keeps what a stage found.
    pub(crate) fn save(
        &self,
        stage: &str,
        write: impl FnOnce(&mut StageWriter) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let partial = self.place(&format!("{stage}.partial"));
        let save = || {
            let mut writer = StageWriter::new(File::create(&partial)?)?;
            write(&mut writer)?;
            writer.finish()?;
            fs::rename(&partial, self.place(stage))?;
            sync_folder(&self.place(stage))
        };
        save().map_err(|error| temporary(&error))
    }

    /// Removes the folder: the run is over.
    pub(crate) fn remove(self) -> Result<(), Failure> {
        fs::remove_dir_all(&self.path).map_err(|error| temporary(&error))
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

/// Changes whenever what is written does.
const HEAD: &str = concat!("sameish stage 1, ", env!("CARGO_PKG_VERSION"), "\n");

/// Writes a stage's file.
pub(crate) struct StageWriter {
    file: BufWriter<File>,
    hash: Xxh3,
}

impl StageWriter {
    fn new(file: File) -> io::Result<StageWriter> {
        let mut writer = StageWriter { file: BufWriter::with_capacity(1 << 20, file), hash: Xxh3::new() };
        writer.bytes(HEAD.as_bytes())?;
        Ok(writer)
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.file.write_all(bytes)
    }

    /// A list of plain values, with its length.
    pub(crate) fn list<T: Pod>(&mut self, items: &[T]) -> io::Result<()> {
        self.bytes(&(items.len() as u64).to_ne_bytes())?;
        self.bytes(bytemuck::cast_slice(items))
    }

    /// Anything small.
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

/// Reads a stage's file.
pub(crate) struct StageReader {
    file: BufReader<File>,
    /// Bytes that are left before the checksum.
    left: u64,
    hash: Xxh3,
}

impl StageReader {
    fn new(file: File) -> io::Result<StageReader> {
        let left = file.metadata()?.len().saturating_sub(8);
        let mut reader =
            StageReader { file: BufReader::with_capacity(1 << 20, file), left, hash: Xxh3::new() };
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

    /// What [`StageWriter::list`] wrote.
    pub(crate) fn list<T: Pod>(&mut self) -> io::Result<Vec<T>> {
        let mut len = [0; 8];
        self.bytes(&mut len)?;
        let len = u64::from_ne_bytes(len);
        // A damaged length must not ask for memory that the file can not fill.
        if len > self.left / size_of::<T>().max(1) as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut items = vec![T::zeroed(); len as usize];
        self.bytes(bytemuck::cast_slice_mut(&mut items))?;
        Ok(items)
    }

    /// What [`StageWriter::value`] wrote.
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
    struct Found {
        numbers: Vec<u32>,
        names: Vec<String>,
    }

    fn found() -> Found {
        Found { numbers: (0..1000).collect(), names: vec!["a".into(), "\u{1F}é".into()] }
    }

    fn save(folder: &StageFolder) {
        let Found { numbers, names } = found();
        folder.save("sign", |to| to.list(&numbers).and_then(|()| to.value(&names))).unwrap();
    }

    fn load(folder: &StageFolder, stage: &str) -> Option<Found> {
        folder.load(stage, |from| Ok(Found { numbers: from.list()?, names: from.value()? }))
    }

    #[test]
    fn a_stage_comes_back_to_the_same_run_that_resumes() {
        let parent = tempfile::tempdir().unwrap();
        let open = |key, resume| StageFolder::open(parent.path(), key, resume).unwrap();
        save(&open("a", false));
        assert_eq!(load(&open("a", true), "sign"), Some(found()));
        assert_eq!(load(&open("a", true), "group"), None);
        assert_eq!(load(&open("b", true), "sign"), None);
        // Without `--resume` a run begins anew.
        assert_eq!(load(&open("a", false), "sign"), None);
        assert_eq!(load(&open("a", true), "sign"), None);
        open("a", true).remove().unwrap();
        open("b", true).remove().unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn damage_is_found_wherever_it_is() {
        let parent = tempfile::tempdir().unwrap();
        let folder = StageFolder::open(parent.path(), "key", true).unwrap();
        save(&folder);
        let whole = fs::read(folder.place("sign")).unwrap();
        for at in (0..whole.len()).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            fs::write(folder.place("sign"), &bytes).unwrap();
            assert_eq!(load(&folder, "sign"), None, "byte {at}");
            fs::write(folder.place("sign"), &whole[..at]).unwrap();
            assert_eq!(load(&folder, "sign"), None, "cut at {at}");
        }
    }

    #[test]
    fn two_runs_do_not_share_a_folder() {
        let parent = tempfile::tempdir().unwrap();
        let _first = StageFolder::open(parent.path(), "key", false).unwrap();
        let second = StageFolder::open(parent.path(), "key", true);
        assert!(second.is_err_and(|failure| failure.to_string().contains("another run")));
    }
}
