//! Texts of documents that are read a second time.

use crate::error::{Error, Result};
use crate::input::{RecordRules, changed, content_of};
use crate::spool::{self, Spool};
use crate::table::{Row, SPOOLED, SeekableInput};
use sameish::document::ContentRef;
use sameish::{Content, DocId, Document};
use std::borrow::Cow;
use std::fs::File;
use std::io;

/// Documents in memory.
///
/// The batch steps read each document once to sign it, and its text again for every group of comparisons. A text is borrowed
/// where the source holds it as UTF-8, so that the corpus is not copied.
pub trait DocumentSource: Sync {
    /// Returns the number of documents.
    fn len(&self) -> usize;

    /// Returns `true` if there are no documents.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many documents at the start belong to an existing corpus: they are centers, and are not kept.
    fn against(&self) -> usize {
        0
    }

    /// Returns the text of a document by its position.
    fn text(&self, position: usize) -> DocumentText<'_>;

    /// Returns the id of a document; without one, its position is its id.
    fn id(&self, _position: usize) -> Option<DocId> {
        None
    }

    /// Returns the name of the source of a document.
    fn source(&self, _position: usize) -> Option<Cow<'_, str>> {
        None
    }

    /// Returns the publication date of a document.
    fn published_at(&self, _position: usize) -> Option<Cow<'_, str>> {
        None
    }
}

/// Text or tokens of a document.
#[derive(Clone, Debug)]
pub enum DocumentText<'a> {
    /// In the memory of the source.
    Borrowed(ContentRef<'a>),
    /// Read or decoded for this use.
    Owned(Content),
}

impl DocumentText<'_> {
    /// Returns the content.
    pub fn content(&self) -> ContentRef<'_> {
        match self {
            DocumentText::Borrowed(content) => *content,
            DocumentText::Owned(content) => content.into(),
        }
    }
}

impl<'a> From<Cow<'a, str>> for DocumentText<'a> {
    fn from(text: Cow<'a, str>) -> DocumentText<'a> {
        match text {
            Cow::Borrowed(text) => DocumentText::Borrowed(text.into()),
            Cow::Owned(text) => DocumentText::Owned(Content::Text(text)),
        }
    }
}

impl<T: AsRef<[Document]> + Sync> DocumentSource for T {
    fn len(&self) -> usize {
        self.as_ref().len()
    }

    fn text(&self, position: usize) -> DocumentText<'_> {
        DocumentText::Borrowed((&self.as_ref()[position].content).into())
    }

    fn id(&self, position: usize) -> Option<DocId> {
        Some(self.as_ref()[position].id.clone())
    }

    fn source(&self, position: usize) -> Option<Cow<'_, str>> {
        self.as_ref()[position].source.as_deref().map(Cow::Borrowed)
    }

    fn published_at(&self, position: usize) -> Option<Cow<'_, str>> {
        self.as_ref()[position].published_at.as_deref().map(Cow::Borrowed)
    }
}

/// Texts of a corpus, which several threads may read at once.
pub(crate) enum Texts<'a> {
    Files(FileTexts),
    Memory(&'a dyn DocumentSource),
}

impl<'a> Texts<'a> {
    /// Returns the text of a document.
    pub(crate) fn text(&self, row: &Row) -> Result<DocumentText<'a>> {
        match self {
            Texts::Files(files) => files.content(row).map(DocumentText::Owned),
            Texts::Memory(documents) => Ok(documents.text(row.record as usize)),
        }
    }
}

/// Number of files that are kept open. A process may have 256 or 1024 by default, and a directory may contain more; the other
/// files are opened for each read.
const KEPT_OPEN: usize = 128;

/// Texts in input files and in the spool file.
pub(crate) struct FileTexts {
    /// The first [`KEPT_OPEN`] are open.
    inputs: Vec<(SeekableInput, Option<File>)>,
    spool: Option<File>,
    rules: RecordRules,
}

impl FileTexts {
    pub(crate) fn new(inputs: Vec<SeekableInput>, spool: Spool, rules: RecordRules) -> Result<FileTexts> {
        let open_first = |(at, input): (usize, SeekableInput)| {
            let file = (at < KEPT_OPEN).then(|| open(&input)).transpose()?;
            Ok((input, file))
        };
        let inputs = inputs.into_iter().enumerate().map(open_first).collect::<Result<_>>()?;
        Ok(FileTexts { inputs, spool: spool.finish()?, rules })
    }

    fn content(&self, row: &Row) -> Result<Content> {
        let mut bytes = vec![0; row.len as usize];
        if row.input == SPOOLED {
            let file = self.spool.as_ref().unwrap_or_else(|| unreachable!("spooled texts have a spool file"));
            read_at(file, &mut bytes, row.at).map_err(Error::Temporary)?;
            let content = spool::decode(bytes, row.kind);
            return content.ok_or_else(|| Error::Temporary(io::ErrorKind::InvalidData.into()));
        }
        let (input, file) = &self.inputs[row.input as usize];
        let changed = || changed(&input.input.name);
        let opened;
        let file = match file {
            Some(file) => file,
            None => {
                opened = open(input)?;
                &opened
            }
        };
        read_at(file, &mut bytes, row.at).map_err(|_| changed())?;
        content_of(&*input.format, &bytes, self.rules).ok_or_else(changed)
    }
}

fn open(input: &SeekableInput) -> Result<File> {
    let path = input.input.path.as_deref();
    path.and_then(|path| File::open(path).ok()).ok_or_else(|| changed(&input.input.name))
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(not(unix))]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    use std::sync::{Mutex, PoisonError};
    static LOCK: Mutex<()> = Mutex::new(());
    let _guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(bytes)
}
