//! Verification of edits: the clusters that they give, and the numbers of documents that lists show.

use super::clusters::StoredClusters;
use super::{CollectionCheck, REBUILD, RESTORE, reason};
use crate::catalog::clusters::undamaged;
use crate::catalog::edits::{named_documents, places};
use crate::error::Result;
use crate::rows::Placed;
use sameish::cluster::ClusterId;
use std::collections::BTreeMap;

impl CollectionCheck<'_> {
    /// Compares the clusters that are shown with the result of the edits.
    pub(super) fn check_edits(&mut self, stored: &StoredClusters) -> Result<()> {
        self.check_listed(stored)?;
        let collection = self.live.row.number;
        let mut edits = Vec::new();
        for (number, edit) in self.read.edits(collection)? {
            match edit {
                Ok(edit) => edits.push(edit),
                Err(error) => self.report(self.name("edit", number), reason(error), RESTORE),
            }
        }
        if stored.has_edit_tasks {
            return Ok(());
        }
        let cluster_of = |number: u64| Ok(stored.members.get(&number).map(|member| member.cluster));
        let named = named_documents(self.read, collection, &edits, cluster_of)?;
        let expected = places(&edits, &named);
        let found: BTreeMap<Placed, ClusterId> = self.read.places(collection)?.into_iter().collect();
        if found != expected {
            let object = format!("clusters of edits of {}", self.live.row.name);
            self.report(object, "they do not match the edits", REBUILD);
        }
        for row in stored.members.values() {
            let own = expected.get(&Placed::Document(row.document));
            let place = own.or_else(|| expected.get(&Placed::Others(row.cluster))).copied();
            if row.edited != place.filter(|place| *place != row.cluster) {
                let object = self.name("membership of document", row.document);
                self.report(object, "it is not in the cluster that results from the edits", REBUILD);
            }
        }
        Ok(())
    }

    /// Compares the numbers of documents that lists show with the memberships.
    fn check_listed(&mut self, stored: &StoredClusters) -> Result<()> {
        let mut shown: BTreeMap<ClusterId, u64> = BTreeMap::new();
        stored.members.values().for_each(|row| *shown.entry(row.shown()).or_default() += 1);
        let rowless = shown.keys().filter(|cluster| !stored.clusters.contains_key(cluster));
        let clusters: Vec<ClusterId> = stored.clusters.keys().chain(rowless).copied().collect();
        for cluster in clusters {
            let size = shown.get(&cluster).copied().unwrap_or(0);
            let listed = undamaged(self.read.listed_cluster(cluster))?.map(|row| row.listed);
            let is_stored = stored.clusters.contains_key(&cluster);
            if is_stored && listed.is_some_and(|listed| listed != size)
                || !is_stored && size > 1 && listed.is_none()
            {
                let problem = format!("lists show {} documents, but it has {size}", listed.unwrap_or(1));
                self.report(self.name("cluster", cluster.0), problem, REBUILD);
            }
        }
        Ok(())
    }
}
