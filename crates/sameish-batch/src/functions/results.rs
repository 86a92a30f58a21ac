//! Results of a call.

use crate::run_log::Counts;
use crate::signed::{IndexedCorpus, SignedCorpus};
use crate::stars::{ClusterCounts, NO_CENTER, StarClusters};
use crate::steps::Source;
use crate::table::Ids;
use crate::{Pair, Recall, Selection};
use sameish::DocId;
use sameish::engine::{Effort, Spread};

/// Center of a row that matches a document of the existing corpus.
pub const KNOWN: i64 = -1;
/// Center of a row that is not a document: its record was rejected, or repeats an earlier record with the same id.
pub const UNUSED: i64 = -2;

/// Result of `pairs`.
pub struct FoundPairs {
    /// Pairs of document numbers.
    pub pairs: Vec<Pair>,
    /// `false` if there are more pairs than the limit.
    pub complete: bool,
    /// The work done.
    pub effort: Effort,
    /// Number of candidates that were not compared because of limits.
    pub omitted: u64,
    /// The estimated share of the matching pairs that were found; absent without bands.
    pub recall: Option<Recall>,
    /// Ids of the documents.
    pub ids: DocumentIds,
}

/// Result of `cluster`.
pub struct FoundClusters {
    /// Clusters of document numbers.
    pub clusters: MeasuredClusters<u32>,
    /// The work done.
    pub effort: Effort,
    /// Number of candidates that were not compared because of limits.
    pub omitted: u64,
    /// The estimated share of the matching pairs that were found; absent without bands.
    pub recall: Option<Recall>,
    /// Ids of the documents.
    pub ids: DocumentIds,
}

/// Clusters with their spread, in columns.
pub struct MeasuredClusters<T> {
    /// Members of all clusters, the center of each first.
    pub members: Vec<T>,
    /// End of each cluster in `members`.
    pub ends: Vec<usize>,
    /// Mean distance or similarity between the center and the other members.
    pub spreads: Vec<f64>,
    /// Whether spreads are distances in bits; else they are similarities.
    pub by_distance: bool,
}

impl<T> MeasuredClusters<T> {
    pub(super) fn new(by_distance: bool) -> MeasuredClusters<T> {
        MeasuredClusters { members: Vec::new(), ends: Vec::new(), spreads: Vec::new(), by_distance }
    }

    pub(super) fn push(&mut self, members: impl Iterator<Item = T>, spread: f64) {
        self.members.extend(members);
        self.ends.push(self.members.len());
        self.spreads.push(spread);
    }

    /// Returns the members and the spread of each cluster.
    pub fn iter(&self) -> impl Iterator<Item = (&[T], Spread)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).zip(&self.spreads).map(|((start, &end), &spread)| {
            let spread = match self.by_distance {
                true => Spread::AverageDistance(spread),
                false => Spread::MeanSimilarity(spread),
            };
            (&self.members[start..end], spread)
        })
    }
}

/// Ids of documents in files; documents in memory are identified by their position or by ids that the caller has.
pub struct DocumentIds {
    /// Row of each document; empty for documents in memory, where it is the number of the document.
    rows: Vec<u64>,
    ids: Ids,
    /// Whether documents are identified by the id field of their records.
    from_field: bool,
}

impl DocumentIds {
    pub(super) fn of(signed: SignedCorpus, source: &Source<'_>) -> DocumentIds {
        let first = signed.records.start;
        let row = |record: u64| record.wrapping_sub(first);
        let (rows, from_field) = match source {
            Source::Documents(_) => (Vec::new(), false),
            Source::Files(files) => {
                (signed.rows.iter().map(|place| row(place.record)).collect(), files.read.rules.require_id)
            }
        };
        DocumentIds { rows, ids: signed.ids, from_field }
    }

    /// Returns the id of a document, or its row. `given` are the ids of documents in memory.
    pub fn id(&self, doc: u32, given: Option<&[DocId]>) -> DocId {
        let id = match given {
            Some(given) => given.get(doc as usize).cloned(),
            None if self.from_field => DocId::from_json(self.ids.get(doc)),
            None => self.rows.get(doc as usize).map(|&row| DocId::Number(row)),
        };
        id.unwrap_or(DocId::Number(u64::from(doc)))
    }

    /// Returns the rows of documents in files in ascending order, each with the id as JSON; `None` if ids are not read.
    pub fn rows(&self) -> Option<impl Iterator<Item = (usize, &str)>> {
        // Rows of an existing corpus are before the first row, and therefore wrap around.
        let rows = self.rows.iter().enumerate().filter(|(_, row)| **row < u64::MAX / 2);
        self.from_field.then(|| rows.map(|(doc, &row)| (row as usize, self.ids.get(doc as u32))))
    }
}

/// Result of `dedup`, in rows.
pub struct Kept {
    /// The kept row of each row's cluster: for a kept row, the row itself; else [`KNOWN`] or [`UNUSED`].
    pub centers: Vec<i64>,
    /// Clusters of at least two rows.
    pub clusters: MeasuredClusters<i64>,
    /// Counts of documents and records.
    pub counts: Counts,
    /// Counts of comparisons.
    pub cluster_counts: ClusterCounts,
    /// The estimated share of the matching pairs that were found; absent without bands.
    pub recall: Option<Recall>,
    /// Ids of the documents.
    pub ids: DocumentIds,
    /// Fraction of documents that would be removed, if it is more than allowed; then nothing was written.
    pub refused: Option<f64>,
}

impl Kept {
    pub(super) fn new(
        source: &Source<'_>,
        counts: Counts,
        corpus: IndexedCorpus<'_>,
        stars: &StarClusters,
        selection: &Selection,
        refused: Option<f64>,
    ) -> Kept {
        let signed = &corpus.signed;
        let row = |doc: u32| (signed.rows[doc as usize].record - signed.records.start) as i64;
        let mut centers = vec![UNUSED; (signed.records.end - signed.records.start) as usize];
        for doc in signed.against..signed.len() as u32 {
            centers[row(doc) as usize] = match stars.center[doc as usize] {
                _ if selection.is_kept[doc as usize] => row(doc),
                NO_CENTER => UNUSED,
                center if center < signed.against => KNOWN,
                center => row(center),
            };
        }
        let by_distance = !corpus.analyzer.config().matching.verify;
        let mut clusters = MeasuredClusters::new(by_distance);
        for cluster in selection.clusters.iter().filter(|cluster| cluster[0] >= signed.against) {
            let similarity = |doc: &u32| stars.similarity[*doc as usize];
            let mean = cluster[1..].iter().map(similarity).sum::<f64>() / (cluster.len() - 1) as f64;
            let spread = if by_distance { (1.0 - mean) * 64.0 } else { mean };
            clusters.push(cluster.iter().map(|&doc| row(doc)), spread);
        }
        let cluster_counts = stars.counts;
        let recall = cluster_counts.recall(&corpus.analyzer);
        let ids = DocumentIds::of(corpus.signed, source);
        Kept { centers, clusters, counts, cluster_counts, recall, ids, refused }
    }
}
