//! Settings, inputs and results of a catalog.

mod cluster;
mod collection;
mod document;
mod edits;
mod events;
mod search;
mod similarities;
mod sources;
mod state;

pub use cluster::{
    ClusterDetail, ClusterFilter, ClusterMember, ClusterOrder, ClusterPage, ClusterPosition, ClusterSummary,
    Clusters, ClustersPage, MEMBERS_SHOWN, MemberPosition, MembersPage,
};
pub use collection::{Center, CollectionConfig, OpenOptions, Periods};
pub(crate) use collection::{check_name, is_well_formed};
pub use document::{DocumentsPage, ExportPage, Inserted, Outcome, Stored};
pub use edits::{Edit, EditKind, EditUsage, NewEdit};
pub use events::{Event, EventKind, EventRange, Events};
pub use search::{SearchTotals, Similar, SimilarDocuments, SimilarEvidence, SimilarOptions};
pub use similarities::{Estimate, Histogram, HistogramBin, PairedText, Preview, TextPair};
pub use sources::{DayTotal, PairPosition, PairsPage, SourceCell, SourceMatrix, SourcePair, SourceTotal};
pub use state::{
    Confirmation, Expired, ExpiryPause, Finding, Health, Reclustered, Stats, UnavailableCollection,
};
