//! What goes into a catalog, and what comes out?

use crate::error::{Error, Result};
use sameish::{ClusterId, Config, DocId, Document, Evidence, Match, Preset, Status, Timestamp};

/// The settings of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionConfig {
    /// What the settings start from.
    pub preset: Preset,
    /// What is laid over the preset, as a config file writes it: `[matching]\nthreshold = 0.7`.
    pub overrides: String,
    /// Documents older than so many days leave, by `published_at` or else by their arrival.
    pub retention_days: Option<u32>,
    /// Only documents whose dates are at most so many days apart match.
    pub window_days: Option<u32>,
}

impl CollectionConfig {
    /// A preset as it is.
    pub fn new(preset: Preset) -> CollectionConfig {
        CollectionConfig { preset, overrides: String::new(), retention_days: None, window_days: None }
    }

    /// The settings of its engine.
    pub fn resolve(&self) -> Result<Config> {
        Ok(self.preset.config().overridden_by(&self.overrides)?)
    }
}

/// How a folder is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Whether a folder without a store becomes one.
    pub create: bool,
    /// Serve what is there and write nothing: no lock is taken.
    pub read_only: bool,
    /// Everything as it is at the moment of opening, whatever others write meanwhile: for [`Catalog::verify`](crate::Catalog::verify)
    /// beside a writer. For one thread, and with `read_only`.
    pub at_one_moment: bool,
    /// Make all sketches again from the texts, for stores whose sketches are of another scheme.
    pub rebuild: bool,
    /// Most writes that wait; beyond them [`Error::Busy`].
    pub queue: usize,
    /// Bytes of features of recent documents that are kept, so that they are not made again.
    pub cache_bytes: usize,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            create: true,
            read_only: false,
            at_one_moment: false,
            rebuild: false,
            queue: 256,
            cache_bytes: 32 << 20,
        }
    }
}

/// What an insert or replace did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is new.
    Created,
    /// It was there, with the same text.
    Unchanged,
    /// It took the place of another text.
    Replaced,
}

impl Outcome {
    /// The word for it, as outputs write it.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Created => "created",
            Outcome::Unchanged => "unchanged",
            Outcome::Replaced => "replaced",
        }
    }
}

/// The answer to a document that was stored: durable when it is given.
#[derive(Clone, Debug, PartialEq)]
pub struct Inserted {
    /// Its id.
    pub id: DocId,
    /// What was done.
    pub outcome: Outcome,
    /// Whether the text is long enough for the collection's preset.
    pub status: Status,
    /// Stored documents that match, the most similar first; as many as the settings' `limit`.
    pub duplicates: Vec<Match>,
    /// The cluster it joined or founded; none for a text that is too short.
    pub cluster: Option<ClusterId>,
    /// How many limits were hit: where it is not 0, duplicates may be missing.
    pub capped: usize,
}

/// A stored document.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// As it came.
    pub document: Document,
    /// When it came.
    pub arrived_at: Timestamp,
    /// Whether the text is long enough.
    pub status: Status,
    /// How many words it has, without stop words.
    pub words: u64,
    /// The fingerprint, where the preset makes one.
    pub simhash: Option<sameish::Fingerprint>,
    /// Where it belongs.
    pub cluster: Option<ClusterId>,
}

/// What a search may differ in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SimilarOptions {
    /// Most matches; the settings' `limit` when absent.
    pub limit: Option<usize>,
    /// Least similarity; the settings' threshold when absent.
    pub min_similarity: Option<f64>,
    /// Whether shared passages are told, of at least so many words.
    pub evidence: Option<usize>,
}

/// A stored document that matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Similar {
    /// Which document, and what it is to the one in question.
    pub found: Match,
    /// Its headline.
    pub title: Option<String>,
    /// Where it came from.
    pub source: Option<String>,
    /// Its address.
    pub url: Option<String>,
    /// When it came out, as it was written.
    pub published_at: Option<String>,
    /// Shared passages, where they were asked for: `a` is the document in question, `b` this one.
    pub evidence: Option<Evidence>,
}

/// The answer to a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimilarDocuments {
    /// The most similar first; equals in the order of arrival.
    pub similar: Vec<Similar>,
    /// How many candidates were looked at.
    pub candidates: usize,
    /// How many limits were hit: where it is not 0, matches may be missing.
    pub capped: usize,
}

/// Which clusters a page shows, the newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClustersPage {
    /// Only clusters founded before this one: the `next` of the page before.
    pub before: Option<ClusterId>,
    /// Most clusters.
    pub limit: usize,
}

impl Default for ClustersPage {
    fn default() -> ClustersPage {
        ClustersPage { before: None, limit: 50 }
    }
}

/// A page of clusters of two and more documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clusters {
    /// The newest first.
    pub clusters: Vec<ClusterSummary>,
    /// For the next page, if there may be one.
    pub next: Option<ClusterId>,
}

/// A cluster in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterSummary {
    /// Its name, never given again.
    pub id: ClusterId,
    /// How many documents it has.
    pub size: u64,
    /// The one that stands for it: the first that came.
    pub center: ClusterMember,
}

/// A document of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterMember {
    /// Its id.
    pub id: DocId,
    /// Its headline.
    pub title: Option<String>,
    /// Where it came from.
    pub source: Option<String>,
    /// Its address.
    pub url: Option<String>,
    /// When it came out, as it was written.
    pub published_at: Option<String>,
    /// When it came.
    pub arrived_at: Timestamp,
    /// The document that it joined for.
    pub joined: Option<DocId>,
}

/// A cluster with its documents.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterDetail {
    /// Its name.
    pub id: ClusterId,
    /// How many documents it has, of which `members` may show the first.
    pub size: u64,
    /// In the order of their arrival, the center first.
    pub members: Vec<ClusterMember>,
}

/// Most members of a cluster that are shown.
pub const MEMBERS_SHOWN: usize = 1_000;

/// Figures of a collection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// How many documents there are.
    pub documents: u64,
    /// How many of them are too short for the preset.
    pub too_short: u64,
    /// Clusters of two and more documents.
    pub clusters: u64,
    /// The documents in those.
    pub clustered: u64,
    /// How large the largest is.
    pub largest_cluster: u64,
    /// When the last document came.
    pub last_arrival: Option<Timestamp>,
    /// How likely a pair right at the threshold is found.
    pub expected_recall: Option<f64>,
}

/// Something that is wrong in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about: `document 7 of articles`.
    pub object: String,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub remedy: &'static str,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; {}", self.object, self.problem, self.remedy)
    }
}

/// Whether a catalog takes writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It does.
    Ready,
    /// The last write found no room. The next one is tried all the same.
    Full,
    /// It was opened for reading.
    ReadOnly,
    /// A sync failed: only a restart helps.
    Failed(String),
}

/// Names that routes have taken.
const RESERVED: &str = "bulk, query, clusters, compare, snapshot or stats";

/// Whether a collection may be called that.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let letters = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    let taken = ["bulk", "query", "clusters", "compare", "snapshot", "stats"].contains(&name);
    match (1..=64).contains(&name.len()) && name.bytes().all(letters) && !taken {
        true => Ok(()),
        false => Err(Error::BadName { name: name.chars().take(80).collect(), reserved: RESERVED }),
    }
}

/// Whether a document may have that id.
pub(crate) fn check_id(id: &DocId) -> Result<()> {
    let DocId::Text(id) = id else { return Ok(()) };
    let reason = match id {
        id if id.is_empty() => "it is empty",
        id if id.len() > MAX_ID => "it has more than 512 bytes",
        id if id.chars().any(char::is_control) => "it has control characters",
        _ => return Ok(()),
    };
    Err(Error::BadId { reason })
}

/// Longest id, in bytes.
const MAX_ID: usize = 512;
