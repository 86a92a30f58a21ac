//! Who may have how much memory?

use crate::args::Size;
use crate::exit::Failure;

/// The limit that was asked for, if any, and what each part of the work gets of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget(Option<usize>);

/// Below this nothing works.
const LEAST: usize = 64 << 20;
/// Text that is loaded at once.
const WINDOW: usize = 16 << 20;
/// Text that is held, with all that is made of it.
const DESK: usize = 96 << 20;

impl Budget {
    pub(crate) fn new(limit: Option<Size>) -> Result<Budget, Failure> {
        match limit.map(Size::bytes) {
            Some(bytes) if bytes < LEAST => {
                Err(Failure::usage(format!("`--max-memory` must be at least {}M", LEAST >> 20)))
            }
            bytes => Ok(Budget(bytes)),
        }
    }

    /// For documents and their places.
    pub(crate) fn held(self) -> usize {
        self.share(2)
    }

    /// For tags, before they go to disk.
    pub(crate) fn tags(self) -> usize {
        self.share(8)
    }

    /// For sorting tags.
    pub(crate) fn sorting(self) -> usize {
        self.share(8)
    }

    /// For texts that are held while others are compared with them, and again for those.
    pub(crate) fn desk(self) -> usize {
        self.share(16).min(DESK)
    }

    /// For texts that are loaded at once.
    pub(crate) fn window(self) -> usize {
        self.share(32).min(WINDOW)
    }

    fn share(self, of: usize) -> usize {
        self.0.map_or(usize::MAX, |bytes| bytes / of)
    }
}
