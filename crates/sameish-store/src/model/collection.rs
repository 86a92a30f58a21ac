//! Settings and names of collections, and how a catalog is opened.

use crate::error::{Error, Result};
use sameish::config::Linkage;
use sameish::{Config, Preset};
use std::time::Duration;

/// The settings of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionConfig {
    /// The preset.
    pub preset: Preset,
    /// Settings that override the preset, in the TOML of a configuration file: `[matching]\nthreshold = 0.7`.
    pub overrides: String,
    /// Retention in days. Documents with an older `published_at`, or else an older time of insertion, are removed by
    /// [`Collection::expire`](crate::Collection::expire).
    pub retention_days: Option<u32>,
    /// Maximum difference between the dates of matching documents, in days.
    pub window_days: Option<u32>,
    /// Which documents become centers first, if the linkage is `cohesive` or `greedy`. `None` is [`Center::Newest`] for `greedy` and
    /// [`Center::First`] for other linkages.
    pub center: Option<Center>,
}

/// Which documents of a collection become centers of clusters first. Equal ones become centers in order of arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Center {
    /// The documents that arrived first.
    #[default]
    First,
    /// The documents with the latest `published_at`. Documents without one come last.
    Newest,
    /// The documents with the longest texts, in bytes.
    Longest,
}

impl Center {
    /// All values. The position is the stored number.
    pub const ALL: [Center; 3] = [Center::First, Center::Newest, Center::Longest];

    /// Returns the name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            Center::First => "first",
            Center::Newest => "newest",
            Center::Longest => "longest",
        }
    }

    /// Returns the value with a name.
    pub fn from_name(name: &str) -> Option<Center> {
        Center::ALL.into_iter().find(|center| center.name() == name)
    }

    /// Returns the stored number; `None` for the order that formats before 8 have.
    pub(crate) fn as_stored(self) -> Option<i64> {
        (self != Center::First).then_some(self as i64)
    }

    pub(crate) fn from_u64(value: u64) -> Option<Center> {
        Center::ALL.get(usize::try_from(value).ok()?).copied()
    }
}

impl CollectionConfig {
    /// Creates the settings of a preset without overrides, retention or window.
    pub fn new(preset: Preset) -> CollectionConfig {
        let overrides = String::new();
        CollectionConfig { preset, overrides, retention_days: None, window_days: None, center: None }
    }

    /// Returns the settings of the engine: the preset with the overrides applied.
    pub fn resolve(&self) -> Result<Config> {
        Ok(self.preset.config().overridden_by(&self.overrides)?)
    }

    /// Returns which documents become centers first, or [`Error::CenterLinkage`] if the linkage does not choose centers.
    pub fn resolve_center(&self) -> Result<Center> {
        match (self.resolve()?.matching.linkage, self.center) {
            (Linkage::Cohesive | Linkage::Greedy, Some(center)) => Ok(center),
            (Linkage::Greedy, None) => Ok(Center::Newest),
            (Linkage::Online | Linkage::Components, Some(Center::Newest | Center::Longest)) => {
                Err(Error::CenterLinkage)
            }
            (Linkage::Cohesive | Linkage::Online | Linkage::Components, _) => Ok(Center::First),
        }
    }
}

/// Options for opening a catalog.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Creates the directory and the store if they do not exist.
    pub create: bool,
    /// Opens the store without the write lock. All writes are rejected.
    pub read_only: bool,
    /// Reads the state at the time of opening, whatever other processes commit later. This is for
    /// [`Catalog::verify`](crate::Catalog::verify) while another process writes; use it with `read_only` and from one thread.
    pub at_one_moment: bool,
    /// Recomputes all sketches from the texts, for stores whose sketches have a different scheme.
    pub rebuild: bool,
    /// Copies the database file to `sameish.format-N.db` before its format N is upgraded.
    pub backup_before_upgrade: bool,
    /// Maximum number of queued writes. Further ones are rejected with [`Error::Busy`].
    pub queue: usize,
    /// Size of the cache for features of recent documents, in bytes.
    pub cache_bytes: usize,
    /// Time from a deletion until the deleted texts are erased from the write-ahead log. Default: 10 s.
    pub erase_after: Duration,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            create: true,
            read_only: false,
            at_one_moment: false,
            rebuild: false,
            backup_before_upgrade: true,
            queue: 256,
            cache_bytes: 32 << 20,
            erase_after: Duration::from_secs(10),
        }
    }
}

/// The settings of a collection that can be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Periods {
    /// Age in days after which documents are deleted.
    pub retention_days: Option<u32>,
    /// Maximum difference in days between the dates of two documents that match.
    pub window_days: Option<u32>,
}

/// Collection names that are used as route names.
const RESERVED: [&str; 7] = ["bulk", "query", "clusters", "compare", "sketch", "snapshot", "stats"];
/// [`RESERVED`] for error messages.
const RESERVED_LIST: &str = "bulk, query, clusters, compare, sketch, snapshot or stats";

/// Rejects invalid names of collections.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if is_well_formed(name) && !RESERVED.contains(&name) {
        return Ok(());
    }
    Err(Error::BadName { name: name.chars().take(80).collect(), reserved: RESERVED_LIST })
}

/// Returns `true` if a name has the length and the characters of names of collections.
pub(crate) fn is_well_formed(name: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_message_lists_every_reserved_name() {
        assert_eq!(RESERVED_LIST.replace(" or ", ", "), RESERVED.join(", "));
    }
}
