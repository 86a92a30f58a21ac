//! Durable collections of documents: storage on disk, an index in memory and live clusters.
//!
//! The engine in the crate `sameish` sketches and compares texts and does no I/O. This crate stores documents and their
//! sketches in a directory, builds the indexes from them, and keeps both consistent. A [`Catalog`] is a directory of
//! collections. Each [`Collection`] stores documents, finds matches among them, and assigns them to clusters. The command
//! line and the HTTP service use the same functions.
//!
//! ```
//! use sameish::{Document, Preset};
//! use sameish_store::{Catalog, CollectionConfig, OpenOptions, SimilarOptions};
//!
//! let dir = tempfile::tempdir()?;
//! let catalog = Catalog::open(dir.path(), OpenOptions::default())?;
//! let headlines = catalog.create("headlines", CollectionConfig::new(Preset::Headlines))?;
//! let first = headlines.insert(Document::new(1, "SpaceX acquires xAI for $2 billion in cash and stock"))?;
//! let again = headlines.insert(Document::new(2, "SpaceX acquires xAI for $2 billion in cash and stocks"))?;
//! assert_eq!(again.duplicates[0].id, 1.into());
//! assert_eq!(again.cluster, first.cluster);
//! assert_eq!(headlines.similar(&1.into(), SimilarOptions::default())?.similar.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! catalog/     collections: writer thread, searches, clusters, verification
//! store.rs     the `Store` trait; sqlite/ implements it
//! contract.rs  test suite for every implementation of `Store`
//! rows.rs      stored rows and their checksums
//! snapshot.rs  snapshots
//! restore.rs   restore of snapshots
//! private.rs   access permissions of directories and files
//! backfill/    sketches in the user's own SQLite database
//! mapped.rs    a stored Hamming index, mapped into memory
//! ```

#![deny(unsafe_code)]

mod backfill;
mod catalog;
pub mod contract;
mod error;
mod lock;
mod mapped;
mod model;
mod private;
mod restore;
mod rows;
mod snapshot;
mod sqlite;
mod store;

pub use backfill::{Backfill, Backfilled, Foreign, Target, TextSource, Undone};
pub use catalog::{Catalog, Collection, Pending, Sink};
pub use error::{Error, Result};
pub use mapped::{MappedFile, MappedIndex};
pub use model::{
    Center, ClusterDetail, ClusterFilter, ClusterMember, ClusterOrder, ClusterPage, ClusterPosition,
    ClusterSummary, Clusters, ClustersPage, CollectionConfig, Confirmation, DayTotal, DocumentsPage, Edit,
    EditKind, EditUsage, Estimate, Event, EventKind, EventRange, Events, Expired, ExpiryPause, ExportPage,
    Finding, Health, Histogram, HistogramBin, Inserted, MEMBERS_SHOWN, MemberPosition, MembersPage, NewEdit,
    OpenOptions, Outcome, PairPosition, PairedText, PairsPage, Periods, Preview, Reclustered, SearchTotals,
    Similar, SimilarDocuments, SimilarEvidence, SimilarOptions, SourceCell, SourceMatrix, SourcePair,
    SourceTotal, Stats, Stored, TextPair, UnavailableCollection,
};
pub use rows::{
    Caption, ClockRow, ClusterRow, ClusterTotals, CollectionRow, Counters, DocumentRow, EditRow, EventRow,
    ListedCluster, MemberRow, Placed, PlacedRow, SketchRow, StoredCollection, TaskKind, TaskRow,
    TitledCluster, Turn,
};
pub use sqlite::SqliteStore;
pub use store::{PlacedSink, Read, Store, Transaction};
