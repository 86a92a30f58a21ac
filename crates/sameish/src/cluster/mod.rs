//! Who belongs together?
//!
//! Clusters are made of matches, asked for one document at a time, so this room knows no index. Documents are taken in an
//! order that the caller gives, and everything is decided by it: equal input gives equal clusters.
//!
//! - [`stars`]: the first unassigned document is a center and takes every unassigned match of it. In order of age this is
//!   the grouping of seed 000 (`greedy`); on verified matches it is `cohesive`, in which every member is verified against its
//!   center and no two centers match.
//! - [`components`]: whatever is connected, however long the chain.
//! - [`OnlineClusters`]: each newcomer joins the cluster of its best match (seed 003).
//!
//! [`Contingency`] says how well two clusterings agree.

mod agreement;
mod components;
mod online;
mod star;

pub use agreement::{Contingency, Mixed, PairCounts, Score};
pub use components::components;
pub use online::{ClusterId, OnlineClusters};
pub use star::{Stars, stars};

use crate::index::DocNumber;

/// Documents that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The document that stands for the others.
    pub center: DocNumber,
    /// All of them, the center first, the others in the order in which they were taken.
    pub members: Vec<DocNumber>,
}
