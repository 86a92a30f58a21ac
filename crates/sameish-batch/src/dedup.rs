//! Deduplication: star clusters, and the documents that are kept.

use crate::checkpoint::{load_clusters, save_clusters};
use crate::clusters::Clusters;
use crate::error::{Error, Result};
use crate::resume::StepDirectory;
use crate::run_log::{Monitor, Resumed, RunLog};
use crate::signed::IndexedCorpus;
use crate::stars::{StarClusters, WithHistogram, cluster_stars};
use crate::table::{InputStart, State};
use sameish::Analyzer;
use std::collections::{HashMap, HashSet};

/// Fails if a configuration cannot be used for deduplication.
pub fn check_dedup(analyzer: &Analyzer) -> Result<()> {
    let config = analyzer.config();
    let fingerprints_alone = config.simhash.is_some() && config.minhash.is_none();
    if config.sdr.is_some() || !config.matching.verify && !fingerprints_alone {
        return Err(Error::UnsupportedConfig);
    }
    Ok(())
}

impl IndexedCorpus<'_> {
    /// Clusters documents around centers, whatever the linkage of the configuration.
    ///
    /// Documents are processed in order; the first unassigned one becomes a center and takes every unassigned document that
    /// has a verified match with it. Under a configuration that does not verify, fingerprints within the radius match.
    pub fn stars(&self, log: &mut RunLog<dyn Monitor + '_>) -> Result<StarClusters> {
        cluster_stars(self, WithHistogram::No, log)
    }

    /// Clusters like [`stars`](Self::stars) and also computes a histogram of the similarities of all compared pairs.
    pub fn stars_with_histogram(&self, log: &mut RunLog<dyn Monitor + '_>) -> Result<StarClusters> {
        cluster_stars(self, WithHistogram::Yes, log)
    }

    /// Clusters all documents by the linkage of the configuration.
    pub fn clusters(&self, log: &mut RunLog<dyn Monitor + '_>) -> Result<Clusters> {
        Clusters::new(self, log)
    }
}

impl StarClusters {
    /// Loads the clusters of an earlier run.
    pub fn load(steps: &StepDirectory, log: &mut RunLog<dyn Monitor + '_>) -> Option<StarClusters> {
        let clusters = load_clusters(steps)?;
        log.monitor.resumed(Resumed::Clustered);
        Some(clusters)
    }

    /// Saves the clusters for a later run.
    pub fn save(&self, steps: &StepDirectory) -> Result<()> {
        save_clusters(steps, self)
    }
}

/// Documents that are kept and removed.
pub struct Selection {
    /// Number of documents, without those of an existing corpus.
    pub documents: u64,
    /// Number of removed documents.
    pub removed: u64,
    /// Sequence numbers of the kept records, in ascending order.
    pub kept: Vec<u64>,
    /// Clusters with more than one document: the center, then the others in order.
    pub clusters: Vec<Vec<u32>>,
    /// `true` for each document that is kept.
    pub is_kept: Vec<bool>,
}

impl Selection {
    /// Keeps the center of each cluster, or with `per_source` one document per source and cluster. Documents of an existing
    /// corpus are not kept.
    pub fn new(corpus: &IndexedCorpus<'_>, stars: &StarClusters, per_source: bool) -> Selection {
        let signed = &corpus.signed;
        let mut place: HashMap<u32, usize> = HashMap::new();
        let mut clusters: Vec<Vec<u32>> = Vec::new();
        let mut is_kept = vec![false; signed.len()];
        for &doc in signed.order.iter().filter(|&&doc| signed.is_current(doc)) {
            let center = stars.center[doc as usize];
            if center == doc {
                is_kept[doc as usize] = doc >= signed.against;
                continue;
            }
            let at = *place.entry(center).or_insert_with(|| {
                clusters.push(vec![center]);
                clusters.len() - 1
            });
            clusters[at].push(doc);
        }
        if per_source {
            for cluster in &clusters {
                let mut sources: HashSet<u32> = HashSet::new();
                for &doc in cluster {
                    let first = sources.insert(signed.rows[doc as usize].source);
                    is_kept[doc as usize] |= first && doc >= signed.against;
                }
            }
        }
        let rows = signed.rows.iter().zip(&is_kept);
        let mut kept: Vec<u64> = rows.filter(|(_, kept)| **kept).map(|(row, _)| row.record).collect();
        kept.sort_unstable();
        let documents = signed.len() as u64 - u64::from(signed.against);
        Selection { documents, removed: documents - kept.len() as u64, kept, clusters, is_kept }
    }

    /// Returns `true` if the record with a sequence number is kept.
    pub fn keeps(&self, record: u64) -> bool {
        self.kept.binary_search(&record).is_ok()
    }

    /// Returns the removed documents in ascending order, without records that were replaced.
    pub fn removed_documents<'a>(&'a self, corpus: &'a IndexedCorpus<'_>) -> impl Iterator<Item = u32> {
        let signed = &corpus.signed;
        (signed.against..signed.len() as u32).filter(move |&doc| {
            !self.is_kept[doc as usize] && signed.rows[doc as usize].state != State::Replaced
        })
    }
}

impl IndexedCorpus<'_> {
    /// Returns the inputs with records, without those of an existing corpus.
    pub fn input_starts(&self) -> &[InputStart] {
        &self.signed.starts[self.signed.own_starts..]
    }
}
