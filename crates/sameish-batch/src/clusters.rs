//! Step **cluster**: clusters of all documents by each linkage.

use crate::connected::connected;
use crate::error::Result;
use crate::online::online;
use crate::run_log::{Monitor, RunLog};
use crate::signed::IndexedCorpus;
use crate::stars::{ClusterCounts, NO_CENTER, WithHistogram, cluster_stars};
use sameish::config::Linkage;

/// All documents in clusters.
pub struct Clusters {
    /// Documents of all clusters one after the other, each in order: its center first.
    members: Vec<u32>,
    ends: Vec<usize>,
    /// Counts of the clustering.
    pub counts: ClusterCounts,
}

impl Clusters {
    /// Clusters all documents by the linkage of the configuration. In online clustering, each text that is too short is a
    /// cluster of its own.
    pub(crate) fn new(corpus: &IndexedCorpus<'_>, log: &mut RunLog<dyn Monitor + '_>) -> Result<Clusters> {
        let linkage = corpus.analyzer.config().matching.linkage;
        let (roots, counts) = match linkage {
            Linkage::Greedy | Linkage::Cohesive => {
                let stars = cluster_stars(corpus, WithHistogram::No, log)?;
                (stars.center, stars.counts)
            }
            Linkage::Components => connected(corpus, log)?,
            Linkage::Online => online(corpus, log)?,
        };
        let is_alone = |doc: u32| linkage == Linkage::Online && corpus.signed.rows[doc as usize].too_short;
        let root = |doc: u32| {
            if is_alone(doc) { doc } else { roots[corpus.leader[doc as usize] as usize] }
        };
        Ok(Clusters::collect(corpus, root, counts))
    }

    /// Collects the documents with the same root, in the order of their first documents. Documents without a root are left
    /// out.
    fn collect(corpus: &IndexedCorpus<'_>, root: impl Fn(u32) -> u32, counts: ClusterCounts) -> Clusters {
        let is_placed = |doc: &u32| corpus.signed.is_current(*doc) && root(*doc) != NO_CENTER;
        let placed = || corpus.signed.order.iter().copied().filter(is_placed);
        let mut number = vec![NO_CENTER; corpus.signed.len()];
        let mut sizes: Vec<usize> = Vec::new();
        for doc in placed() {
            let number = &mut number[root(doc) as usize];
            if *number == NO_CENTER {
                *number = sizes.len() as u32;
                sizes.push(0);
            }
            sizes[*number as usize] += 1;
        }
        let mut next: Vec<usize> = Vec::with_capacity(sizes.len());
        let mut ends: Vec<usize> = Vec::with_capacity(sizes.len());
        let mut end = 0;
        for size in sizes {
            next.push(end);
            end += size;
            ends.push(end);
        }
        let mut members = vec![0; end];
        for doc in placed() {
            let at = &mut next[number[root(doc) as usize] as usize];
            members[*at] = doc;
            *at += 1;
        }
        Clusters { members, ends, counts }
    }

    /// Returns the number of clusters.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns `true` if there are no clusters.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the documents of a cluster, its center first.
    pub fn members(&self, cluster: usize) -> &[u32] {
        let start = if cluster == 0 { 0 } else { self.ends[cluster - 1] };
        &self.members[start..self.ends[cluster]]
    }
}
