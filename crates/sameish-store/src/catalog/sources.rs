//! How often one source publishes after another.
//!
//! Each document of a cluster forms a pair with the first document of the cluster by date. The matrix counts the pairs of the newest
//! clusters. After a change it is read again, in the background if that takes long (`refresh.rs`).

use super::browse::{described, position_of};
use super::collection::{Collection, timestamp};
use super::refresh::Statistic;
use super::search::Sink;
use super::texts::TextBudget;
use crate::error::Result;
use crate::model::{
    MemberPosition, PairPosition, PairsPage, SourceCell, SourceMatrix, SourcePair, SourceTotal,
};
use crate::store::Read;
use sameish::cluster::ClusterId;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of sources in a list.
const MAX_LISTED: usize = 1_000;
/// Maximum number of sources in a matrix.
const MAX_IN_MATRIX: usize = 100;
/// Number of documents after which a matrix takes no more clusters.
const MAX_COUNTED: u64 = 200_000;
/// Maximum number of documents that a request for pairs examines.
const MAX_EXAMINED: usize = 20_000;
/// Number of clusters that are read at a time.
const CHUNK: usize = 500;

impl Collection {
    /// Returns the sources with their documents, and the pairs of documents of the 100 sources that have the most documents.
    pub fn sources(&self) -> Result<Arc<SourceMatrix>> {
        let compute = |collection: &Collection| {
            let read = collection.shared.readers.snapshot()?;
            read_matrix(&*read, collection.live.row.number)
        };
        self.statistic(Statistic { of: |live| &live.matrix, compute, is_small: |_| false })
    }

    /// Passes pairs of documents of two sources to `sink`. Returns [`PairsPage::after`] of the next page.
    ///
    /// The page ends when `sink` breaks, when about `max_text_bytes` of stored text are read, or when 20,000 documents are examined.
    pub fn pairs_each(
        &self,
        page: &PairsPage,
        max_text_bytes: usize,
        sink: Sink<'_, SourcePair>,
    ) -> Result<Option<PairPosition>> {
        let read = self.shared.readers.snapshot()?;
        let budget = TextBudget::new(max_text_bytes);
        let mut search = PairSearch {
            collection: self.live.row.number,
            read: &*read,
            page,
            budget: &budget,
            sink,
            examined: 0,
            listed: 0,
        };
        if let Some(PairPosition { cluster, member: Some(member) }) = page.after
            && let Some(stopped) = search.cluster(cluster, Some(member))?
        {
            return Ok(Some(stopped));
        }
        let collection = self.live.row.number;
        // Only clusters of both sources have pairs. The source with fewer documents has fewer clusters.
        let documents = |source: &str| read.source_documents(collection, source);
        let rarer =
            if documents(&page.earlier)? < documents(&page.later)? { &page.earlier } else { &page.later };
        let mut before = page.after.map(|after| after.cluster);
        loop {
            let clusters = read.clusters_of_source(collection, rarer, before, CHUNK)?;
            if clusters.is_empty() {
                return Ok(None);
            }
            for cluster in clusters {
                if let Some(stopped) = search.cluster(cluster, None)? {
                    return Ok(Some(stopped));
                }
                if search.is_over() {
                    return Ok(Some(PairPosition { cluster, member: None }));
                }
                before = Some(cluster);
            }
        }
    }
}

/// A search for pairs.
struct PairSearch<'a, 's> {
    collection: u32,
    read: &'a dyn Read,
    page: &'a PairsPage,
    budget: &'a TextBudget,
    sink: Sink<'s, SourcePair>,
    examined: usize,
    listed: usize,
}

impl PairSearch<'_, '_> {
    fn is_over(&self) -> bool {
        self.listed >= self.page.limit || self.examined >= MAX_EXAMINED || self.budget.is_exhausted()
    }

    /// Passes the pairs of a cluster on. Returns the position after the last one if there may be more.
    fn cluster(&mut self, cluster: ClusterId, after: Option<MemberPosition>) -> Result<Option<PairPosition>> {
        let is = |source: &Option<String>, wanted: &str| source.as_deref().unwrap_or_default() == wanted;
        self.examined += 1;
        let Some(first) = self.read.members_by_date(cluster, None, 1)?.pop() else { return Ok(None) };
        if !is(&first.source, &self.page.earlier)
            || !self.read.has_source(self.collection, cluster, &self.page.later)?
        {
            return Ok(None);
        }
        let mut after = after.unwrap_or(position_of(&first));
        loop {
            let members = self.read.members_by_date(cluster, Some(after), 500)?;
            let is_last = members.len() < 500;
            for member in members {
                if self.is_over() {
                    return Ok(Some(PairPosition { cluster, member: Some(after) }));
                }
                self.examined += 1;
                if is(&member.source, &self.page.later)
                    && let Some(earlier) = described(self.read, first.document, self.budget)?
                    && let Some(later) = described(self.read, member.document, self.budget)?
                {
                    if (self.sink)(SourcePair { cluster, later, earlier }).is_break() {
                        return Ok(Some(PairPosition { cluster, member: Some(after) }));
                    }
                    self.listed += 1;
                }
                after = position_of(&member);
            }
            if is_last {
                return Ok(None);
            }
        }
    }
}

fn read_matrix(read: &dyn Read, collection: u32) -> Result<SourceMatrix> {
    let as_of = timestamp(super::now());
    let sources = read.sources(collection, MAX_LISTED)?;
    let total =
        if sources.len() < MAX_LISTED { sources.len() as u64 } else { read.count_sources(collection)? };
    let name = |source: &SourceTotal| source.source.clone().unwrap_or_default();
    let numbers: HashMap<String, usize> =
        sources.iter().take(MAX_IN_MATRIX).enumerate().map(|(i, source)| (name(source), i)).collect();
    let mut leads: HashMap<(usize, usize), Vec<i64>> = HashMap::new();
    let mut examined = 0;
    let mut first: Option<(ClusterId, i64, Option<usize>)> = None;
    let complete = read.each_placed(collection, MAX_COUNTED, &mut |cluster, moment, source| {
        examined += 1;
        let number = numbers.get(source.unwrap_or_default()).copied();
        match first {
            Some((of, earliest, earlier)) if of == cluster => {
                if let Some(pair) = number.zip(earlier) {
                    leads.entry(pair).or_default().push(moment.saturating_sub(earliest) / 1_000);
                }
            }
            _ => first = Some((cluster, moment, number)),
        }
    })?;
    let cell = |((later, earlier), mut leads): ((usize, usize), Vec<i64>)| {
        let middle = leads.len() / 2;
        let (_, median, _) = leads.select_nth_unstable(middle);
        SourceCell {
            later: sources[later].source.clone(),
            earlier: sources[earlier].source.clone(),
            median_seconds: *median,
            pairs: leads.len() as u64,
        }
    };
    let mut leads: Vec<((usize, usize), Vec<i64>)> = leads.into_iter().collect();
    leads.sort_unstable_by_key(|(pair, _)| *pair);
    let cells = leads.into_iter().map(cell).collect();
    Ok(SourceMatrix { sources, total, cells, examined, complete, as_of })
}
