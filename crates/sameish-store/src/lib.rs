//! Where do documents, sketches and indexes live?
//!
//! The engine holds sketches and finds what is near; this crate knows files. A [`Catalog`] is a folder of collections, each
//! a store of documents with an index over it and live clusters, behind one door that the command line and the service
//! share:
//!
//! ```
//! use sameish::{Document, Preset};
//! use sameish_store::{Catalog, CollectionConfig, OpenOptions, SimilarOptions};
//!
//! let folder = tempfile::tempdir()?;
//! let catalog = Catalog::open(folder.path(), OpenOptions::default())?;
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
//! catalog/   collections behind one door: writer, searches, clusters
//! store.rs   what a store is; sqlite/ is one
//! rows.rs    what is stored, with checksums
//! backfill.rs  sketches in a database that is somebody else's
//! mapped.rs  a stored Hamming index mapped into memory
//! ```

#![deny(unsafe_code)]

mod backfill;
mod catalog;
pub mod contract;
mod error;
mod lock;
mod mapped;
mod model;
mod rows;
mod snapshot;
mod sqlite;
mod store;

pub use backfill::{Backfill, Backfilled, Target, TextSource};
pub use catalog::{Catalog, Collection, Pending};
pub use error::{Error, Result};
pub use mapped::MappedIndex;
pub use model::{
    ClusterDetail, ClusterMember, ClusterSummary, Clusters, ClustersPage, CollectionConfig, Finding, Health,
    Inserted, MEMBERS_SHOWN, OpenOptions, Outcome, Similar, SimilarDocuments, SimilarOptions, Stats, Stored,
};
pub use rows::{CollectionRow, Counters, DocumentRow, MemberRow, SketchRow};
pub use sqlite::SqliteStore;
pub use store::{Read, Store, Transaction};
