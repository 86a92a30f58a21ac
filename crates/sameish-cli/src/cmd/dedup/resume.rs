//! Where a run that was cut off goes on.

use super::{Choice, Work};
use crate::batch::stage::StageFolder;
use crate::exit::Failure;
use crate::input::Reading;
use crate::input::find::Found;
use crate::intake::RunArgs;
use crate::on_dup_id::OnDupId;
use sameish::Engine;
use std::fmt::Write as _;
use std::fs;

/// All that what the stages find depends on.
pub(super) struct Key<'a> {
    pub(super) engine: &'a Engine,
    pub(super) choice: &'a Choice,
    pub(super) run: &'a RunArgs,
    pub(super) on_dup_id: OnDupId,
    pub(super) reading: &'a Reading,
    pub(super) against: &'a [Found],
    pub(super) sources: &'a [Found],
}

impl Key<'_> {
    /// In words. Inputs count with their sizes and the times they were changed, so that a changed one is read anew.
    fn in_words(&self) -> String {
        let Key { engine, choice, run, on_dup_id, reading, against, sources } = self;
        let reading = Reading { quiet: false, ..(*reading).clone() };
        let mut words = format!(
            "{}\n{:?} {on_dup_id:?} {reading:?} report {} rejects {} {:?}\n",
            engine.config().to_toml(),
            choice.keep.0,
            choice.report.is_some(),
            run.rejects.is_some(),
            run.on_bad,
        );
        for (role, found) in [("against", against), ("own", sources)] {
            for source in found.iter() {
                let path = source.as_ref().ok().and_then(|source| source.path.as_deref());
                let meta = path.and_then(|path| fs::metadata(path).ok());
                let state = meta.map(|meta| (meta.len(), meta.modified().ok()));
                let path = path.map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
                let _ = writeln!(words, "{role} {path:?} {state:?}");
            }
        }
        words
    }
}

/// The folder in which stages leave what they found: where `--temp-dir` names one, or `--resume` asks for it.
pub(super) fn stage_folder(work: &Work, piped: bool, key: &Key<'_>) -> Result<Option<StageFolder>, Failure> {
    if piped && work.resume {
        let why = "what comes through a pipe can be read once only, so `--resume` can not go on with it; \
                   save it to a file first";
        return Err(Failure::usage(why));
    }
    let parent = match &work.memory.temp_dir {
        Some(folder) => folder.clone(),
        None if work.resume => std::env::temp_dir(),
        None => return Ok(None),
    };
    if piped {
        return Ok(None);
    }
    StageFolder::open(&parent, &key.in_words(), work.resume).map(Some)
}
