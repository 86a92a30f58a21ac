//! Clustering: which documents form a cluster?
//!
//! Clustering requests the matches of one document at a time, so it does not depend on any index. The exception is
//! [`greedy`], which takes fingerprints and builds its own index. The result depends only on the matches and on the order of
//! the documents, so equal input gives equal clusters.
//!
//! | linkage | rule | order of clusters | order of members | center |
//! |---|---|---|---|---|
//! | [`greedy`] (preset `wire`) | star clustering by Hamming distance: the newest unassigned article becomes a center and takes all unassigned articles within the radius | newest center first | newest first; equal dates in input order | the newest |
//! | [`stars`] (linkage `cohesive`) | star clustering on verified matches: the first unassigned document becomes a center and takes all unassigned documents that match it | order of the centers in the input | input order | the first in the input |
//! | [`components`] | connected components (single linkage) | order of the first documents in the input | input order | the first in the input |
//! | [`OnlineClusters`] (preset `headlines`) | incremental: each new document joins the cluster of its best match | order of creation | order of arrival | the earliest remaining member |
//!
//! With `greedy` and `stars`, every member matches its center and no two centers match.
//!
//! [`Contingency`] measures the agreement of two clusterings.

mod agreement;
mod components;
mod greedy;
mod online;
mod places;
mod star;

pub use agreement::{Contingency, Mixed, PairCounts, Score};
#[doc(hidden)]
pub use components::Forest;
pub use components::components;
pub(crate) use greedy::greedy_stars_while;
pub use greedy::{Article, ArticleGroup, greedy, greedy_stars};
pub use online::{ClusterId, OnlineClusters};
#[doc(hidden)]
pub use star::{Batch, Candidates, Centers, Purpose, StarClusters, StarSource, star_clusters};
pub use star::{Stars, stars};

use crate::index::DocNumber;

/// Documents of one cluster, with its center.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The center, which represents the cluster.
    pub center: DocNumber,
    /// All documents of the cluster, the center first.
    pub members: Vec<DocNumber>,
}

/// A cluster with the average distance of its members from its center.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCluster {
    /// The cluster.
    pub cluster: Cluster,
    /// Mean Hamming distance in bits between the center and the other members; 0 if there are none.
    pub average_distance: f64,
}
