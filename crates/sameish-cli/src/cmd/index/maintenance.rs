//! `sameish index compact`, `drop` and `expire`.

use super::{Access, failure};
use crate::exit::{Exit, Failure};
use crate::output::escape::escaped_name;
use crate::output::messages::{counted, grouped, say};
use sameish::Timestamp;
use sameish_store::{Catalog, Collection, Confirmation, Error};
use std::path::PathBuf;

/// Remove free space and all traces of deleted documents
///
/// Rewrites the database, so the disk needs free space for a copy. A service erases deleted texts from its files after 10 s,
/// or later if a reader still uses them; this command also erases those that an interrupted process left.
#[derive(Debug, clap::Args)]
pub(super) struct CompactArgs {
    /// Data directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Also delete the old databases that `restore --replace` and upgrades keep
    #[arg(long)]
    remove_copies: bool,
}

pub(super) fn compact(args: CompactArgs) -> anyhow::Result<Exit> {
    let catalog = super::open(&args.directory, Access::Change)?;
    let before = catalog.bytes().map_err(failure)?;
    catalog.compact().map_err(failure)?;
    let after = catalog.bytes().map_err(failure)?;
    say(format_args!("{} bytes on disk, before: {} bytes", grouped(after), grouped(before)));
    for copy in catalog.kept_copies().map_err(failure)? {
        let name = escaped_name(copy.as_os_str());
        if args.remove_copies {
            std::fs::remove_file(&copy)
                .map_err(|error| Failure::new(Exit::Output, format!("`{name}`: {error}")))?;
            say(format_args!("deleted `{name}`"));
        } else {
            say(format_args!("`{name}` may contain deleted documents; pass `--remove-copies` to delete it"));
        }
    }
    Ok(Exit::Clean)
}

/// Delete a collection with all its documents
#[derive(Debug, clap::Args)]
pub(super) struct DropArgs {
    /// Data directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Name of the collection
    #[arg(long, value_name = "NAME")]
    collection: String,
}

pub(super) fn drop_collection(args: DropArgs) -> anyhow::Result<Exit> {
    if !Catalog::drop_stored(&args.directory, &args.collection).map_err(failure)? {
        return Err(failure(Error::NoCollection { name: args.collection }).into());
    }
    say(format_args!("deleted the collection `{}`", args.collection));
    Ok(Exit::Clean)
}

/// Delete documents that are older than the retention period of their collection
///
/// Deletes nothing if the system clock is not plausible (more than a day ahead of the latest insertion plus the longest pause
/// between two insertions), or if more than 100 documents, and more than half of their collection, would be deleted. Pass
/// `--confirm` if the clock is right and the documents may be deleted. If a service uses the directory, `--confirm` makes the
/// service delete them.
#[derive(Debug, clap::Args)]
pub(super) struct ExpireArgs {
    /// Data directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Name of the collection [default: all collections]
    #[arg(long, value_name = "NAME", conflicts_with = "confirm")]
    collection: Option<String>,
    /// Confirm that the clock is right and that all documents older than the retention period may be deleted
    #[arg(long)]
    confirm: bool,
}

pub(super) fn expire(args: ExpireArgs) -> anyhow::Result<Exit> {
    let options = sameish_store::OpenOptions { create: false, ..Default::default() };
    let catalog = match Catalog::open(&args.directory, options) {
        Err(Error::InUse { .. }) if args.confirm => return confirm_for_service(&args),
        opened => opened.map_err(failure)?,
    };
    let collections = match &args.collection {
        Some(name) => vec![catalog.collection(name).map_err(failure)?],
        None => catalog.collections(),
    };
    let confirmation = if args.confirm { Confirmation::Given } else { Confirmation::Required };
    let mut exit = Exit::Clean;
    for collection in collections {
        if !expire_collection(&collection, confirmation)? {
            exit = Exit::Limit;
        }
    }
    Ok(exit)
}

fn confirm_for_service(args: &ExpireArgs) -> anyhow::Result<Exit> {
    Catalog::confirm_expiry(&args.directory).map_err(failure)?;
    say(format_args!(
        "confirmed: the process that uses the directory deletes the old documents at its next check"
    ));
    Ok(Exit::Clean)
}

/// Returns `false` if expiry is paused.
fn expire_collection(collection: &Collection, confirmation: Confirmation) -> Result<bool, Failure> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.ok().and_then(|now| Timestamp::from_milliseconds(now.as_millis() as i64));
    let now = now.ok_or_else(|| Failure::new(Exit::Fault, "the system clock is out of range".to_owned()))?;
    let expired = collection.expire(now, confirmation).map_err(failure)?;
    let name = collection.name();
    match expired.paused {
        Some(pause) => say(format_args!("{name}: nothing was deleted: {pause}")),
        None => say(format_args!("{name}: {} deleted", counted(expired.removed as u64, "document"))),
    }
    Ok(expired.paused.is_none())
}
