//! `sameish restore`: restores a snapshot into a data directory.

use super::index::failure;
use crate::exit::{Exit, Failure};
use crate::output::escape::escaped_name;
use crate::output::messages::{counted, say};
use sameish_store::{Catalog, SqliteStore, Store as _};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// Restore a snapshot into a data directory
///
/// Checks the snapshot before it replaces anything. Fails if the directory already contains documents, unless `--replace` is
/// given. `--replace` keeps the old database in the same directory, under a name that starts with
/// `sameish.db.before-restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sameish restore backup/news-2026-11-19 news-again/
  sameish restore backup/news-2026-11-19 news/ --replace")]
pub(crate) struct Args {
    /// Snapshot directory
    #[arg(value_name = "SNAPSHOT")]
    from: PathBuf,
    /// Data directory to restore into
    #[arg(value_name = "DIR")]
    to: PathBuf,
    /// Replace existing documents
    #[arg(long)]
    replace: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let before = kept_databases(&args.to);
    Catalog::restore(&args.from, &args.to, args.replace).map_err(failure)?;
    let restored = Contents::of(&args.to)?;
    let [from, to] = [&args.from, &args.to].map(|path| escaped_name(path.as_os_str()));
    say(format_args!("restored {restored} from `{from}` into `{to}`"));
    for kept in kept_databases(&args.to).difference(&before) {
        say(format_args!(
            "the previous database is kept as `{}`",
            escaped_name(args.to.join(kept).as_os_str())
        ));
    }
    Ok(Exit::Clean)
}

/// Returns the names of databases that a restore replaced, without their journals.
fn kept_databases(directory: &Path) -> BTreeSet<OsString> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_kept = |name: &OsString| {
        let name = name.to_string_lossy();
        name.contains(".before-restore") && !name.ends_with("-wal") && !name.ends_with("-shm")
    };
    entries.map(|entry| entry.file_name()).filter(is_kept).collect()
}

/// Number of collections and documents of a data directory.
struct Contents {
    collections: u64,
    documents: u64,
}

impl Contents {
    fn of(directory: &Path) -> Result<Contents, Failure> {
        let store = SqliteStore::open(directory, false, true).map_err(failure)?;
        let reader = store.reader().map_err(failure)?;
        let mut contents = Contents { collections: 0, documents: 0 };
        for collection in reader.collections().map_err(failure)? {
            contents.collections += 1;
            let mut count = |_, _| {
                contents.documents += 1;
                Ok(())
            };
            reader.each_id(collection.number, &mut count).map_err(failure)?;
        }
        Ok(contents)
    }
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let documents = counted(self.documents, "document");
        write!(f, "{documents} in {}", counted(self.collections, "collection"))
    }
}
