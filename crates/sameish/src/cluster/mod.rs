//! Who belongs together?
//!
//! Clusters are made of matches, asked for one document at a time, so this room knows no index; [`greedy`], which takes
//! fingerprints, brings its own. Equal input gives equal clusters: order decides everything, and nothing else does.
//!
//! | linkage | who belongs to whom | order of clusters | order of members | center |
//! |---|---|---|---|---|
//! | [`greedy`] (seed 000) | each center takes what is near it and free | the newest center first | the newest first; at one time as given | the newest |
//! | [`stars`] (`cohesive`) | the same, on verified matches | as the centers are given | as given | the first given |
//! | [`components`] | whatever is connected, however long the chain | as their first documents are given | as given | the first given |
//! | [`OnlineClusters`] (seed 003) | each newcomer joins the cluster of its best match | by founding | by arrival | the earliest left |
//!
//! In `greedy` and `stars` every member matches its center and no two centers match.
//!
//! [`Contingency`] says how well two clusterings agree.

mod agreement;
mod components;
mod greedy;
mod online;
mod places;
mod star;

pub use agreement::{Contingency, Mixed, PairCounts, Score};
pub use components::components;
pub(crate) use greedy::greedy_stars_while;
pub use greedy::{Article, ArticleGroup, greedy, greedy_stars};
pub use online::{ClusterId, OnlineClusters};
pub use star::{Batch, Candidates, Centers, Purpose, StarClusters, StarSource, Stars, star_clusters, stars};

use crate::index::DocNumber;

/// Documents that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The document that stands for the others.
    pub center: DocNumber,
    /// All of them, the center first, the others in the order in which they were taken.
    pub members: Vec<DocNumber>,
}

/// A cluster, and how far its members are from its center.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCluster {
    /// The documents.
    pub cluster: Cluster,
    /// The mean distance of all members but the center; 0 if there are none.
    pub average_distance: f64,
}
