//! Single documents once more.

use super::held::{Doc, SPOOLED};
use super::sign::Input;
use super::{spool, temporary};
use crate::exit::Failure;
use crate::input::batch::{Rules, content_of};
use crate::input::stamp::changed;
use sameish::Content;
use std::fs::File;
use std::io;

/// Files that stay open; a process may have 256 or 1024 by default, and a folder may hold more. The others are opened
/// each time.
const HELD_OPEN: usize = 128;

/// Reads documents where they lie. Several threads may do so at once.
pub(crate) struct Fetcher {
    /// The first [`HELD_OPEN`] stay open.
    inputs: Vec<(Input, Option<File>)>,
    spool: Option<File>,
    rules: Rules,
}

impl Fetcher {
    pub(crate) fn new(inputs: Vec<Input>, spool: Option<File>, rules: Rules) -> Result<Fetcher, Failure> {
        let hold = |(at, input): (usize, Input)| {
            let file = (at < HELD_OPEN).then(|| open(&input)).transpose()?;
            Ok((input, file))
        };
        Ok(Fetcher {
            inputs: inputs.into_iter().enumerate().map(hold).collect::<Result<_, _>>()?,
            spool,
            rules,
        })
    }

    /// What the document compares.
    pub(crate) fn content(&self, doc: &Doc) -> Result<Content, Failure> {
        let mut bytes = vec![0; doc.len as usize];
        if doc.input == SPOOLED {
            let file = self.spool.as_ref().unwrap_or_else(|| unreachable!("what was spooled is there"));
            read_at(file, &mut bytes, doc.at).map_err(|error| temporary(&error))?;
            return spool::decode(bytes, doc.tokens)
                .ok_or_else(|| temporary(&io::ErrorKind::InvalidData.into()));
        }
        let (input, file) = &self.inputs[doc.input as usize];
        let changed = || changed(&input.source.name);
        let opened;
        let file = match file {
            Some(file) => file,
            None => {
                opened = open(input)?;
                &opened
            }
        };
        read_at(file, &mut bytes, doc.at).map_err(|_| changed())?;
        content_of(&*input.format, &bytes, self.rules).ok_or_else(changed)
    }
}

fn open(input: &Input) -> Result<File, Failure> {
    let path = input.source.path.as_deref();
    path.and_then(|path| File::open(path).ok()).ok_or_else(|| changed(&input.source.name))
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(not(unix))]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    use std::sync::{Mutex, PoisonError};
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(bytes)
}
