//! Lists of clusters, and of the documents of a cluster.

use super::clusters::undamaged;
use super::collection::{Collection, timestamp};
use super::live::LiveLinkage;
use super::search::Sink;
use super::texts::TextBudget;
use crate::error::Result;
use crate::model::{
    ClusterDetail, ClusterMember, ClusterOrder, ClusterPage, ClusterPosition, ClusterSummary, Clusters,
    ClustersPage, DayTotal, MemberPosition, MembersPage, SourceTotal,
};
use crate::rows::{ClusterRow, DocumentRow, ListedCluster, MemberRow, PlacedRow, TitledCluster};
use crate::store::Read;
use sameish::cluster::ClusterId;
use sameish::matching::{Judge, Relation};
use sameish::{Analyzer, DocId, Document, Prepared, Scratch, Timestamp, Verdict};
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

/// Maximum cost of a request: 1 for each examined cluster, [`TITLE_COST`] if its title is compared and 1 for each [`TITLE_BYTES`] of
/// it, and [`DATE_COST`] if its documents are searched for a date.
const MAX_EXAMINED: u64 = 10_000;
const TITLE_COST: u64 = 3;
const TITLE_BYTES: u64 = 128;
const DATE_COST: u64 = 3;
/// A source with at most this number of documents is found by an index. For others, clusters are examined one by one; many of them
/// have the source.
const RARE: u64 = 5_000;
/// Number of clusters that are read at a time.
const CHUNK: usize = 500;
/// Number of clusters that are read at a time with their titles, which can be long.
const TITLED_CHUNK: usize = 50;
/// Number of documents of a cluster that a list takes dates of.
const SUMMARIZED: usize = 1_000;
/// Number of dates of a cluster in a list.
const DATES: usize = 64;
/// Number of documents of a cluster whose sources are counted, and maximum number of these sources.
const COUNTED: usize = 10_000;
const MAX_SOURCES: usize = 100;
/// Number of documents of a page that are compared to the center.
const COMPARED: usize = 100;

impl Collection {
    /// Returns a page of clusters with at least two documents.
    pub fn clusters(&self, page: ClustersPage) -> Result<Clusters> {
        let mut clusters = Vec::new();
        let next = self.clusters_each(&page, &mut |cluster| {
            clusters.push(cluster);
            ControlFlow::Continue(())
        })?;
        Ok(Clusters { clusters, next })
    }

    /// Passes a page of clusters with at least two documents to `sink`. Returns [`ClustersPage::after`] of the next page.
    ///
    /// The page ends when `sink` breaks, or when 10,000 clusters are examined, or 2,500 if their titles or the dates of their documents
    /// are compared, or fewer if the titles are long. No texts are read.
    pub fn clusters_each(
        &self,
        page: &ClustersPage,
        sink: Sink<'_, ClusterSummary>,
    ) -> Result<Option<ClusterPosition>> {
        let read = self.shared.readers.snapshot()?;
        let candidates = Candidates::of(&*read, self.live.row.number, page)?;
        let pendings = Pendings::of(self, &*read)?;
        let chunk = if page.filter.words.is_empty() { CHUNK } else { TITLED_CHUNK };
        let mut examined = 0;
        let mut listed = 0;
        let mut last = page.after;
        loop {
            let rows = candidates.after(last, chunk.min(page.limit.max(1) * 2))?;
            if rows.is_empty() {
                return Ok(None);
            }
            for (position, row) in rows {
                let is_over = listed == page.limit || examined >= MAX_EXAMINED;
                if examined > 0 && is_over {
                    return Ok(last);
                }
                examined += 1;
                // A damaged cluster is not listed; `verify` reports it.
                if let Some(row) = undamaged(row.map(Some))? {
                    if page.order == ClusterOrder::Largest && row.listed.listed < page.filter.min_size {
                        return Ok(None);
                    }
                    let is_passed = candidates.pass(&row, &mut examined)?;
                    if is_passed && let Some(summary) = self.summary(&*read, row.listed, &pendings)? {
                        if sink(summary).is_break() {
                            return Ok(last);
                        }
                        listed += 1;
                    }
                }
                last = Some(position);
            }
        }
    }

    fn summary(
        &self,
        read: &dyn Read,
        listed: ListedCluster,
        pendings: &Pendings,
    ) -> Result<Option<ClusterSummary>> {
        let ClusterRow { cluster: id, center, .. } = listed.row;
        let Some(center) = center_or_first(read, id, center)? else { return Ok(None) };
        let Some(center) = captioned(read, center.document)? else { return Ok(None) };
        let moments = undamaged(read.moments(id, SUMMARIZED).map(Some))?.unwrap_or_default();
        Ok(Some(ClusterSummary {
            id,
            size: listed.listed,
            pending: pendings.contain(self, read, id)?,
            center,
            sources: listed.sources,
            first_source: listed.first_source,
            dates: sampled_dates(&moments, listed.last),
        }))
    }

    /// Returns a cluster with its first [`MEMBERS_SHOWN`](crate::MEMBERS_SHOWN) documents, or `None` if the collection has no
    /// such cluster.
    pub fn cluster(&self, id: ClusterId) -> Result<Option<ClusterDetail>> {
        let mut members = Vec::new();
        let cluster = self.cluster_each(id, MembersPage::default(), usize::MAX, &mut |member| {
            members.push(member);
            ControlFlow::Continue(())
        })?;
        Ok(cluster.map(|ClusterPage { id, size, pending, center, .. }| ClusterDetail {
            id,
            size,
            pending,
            center,
            members,
        }))
    }

    /// Passes a page of the documents of a cluster to `sink`, in order of their dates. Returns `None` if the collection has no such
    /// cluster.
    ///
    /// The page ends when `sink` breaks, or when about `max_text_bytes` of stored text are read.
    pub fn cluster_each(
        &self,
        id: ClusterId,
        page: MembersPage,
        max_text_bytes: usize,
        sink: Sink<'_, ClusterMember>,
    ) -> Result<Option<ClusterPage>> {
        let read = self.shared.readers.snapshot()?;
        let cluster = read.listed_cluster(id)?;
        let center = center_or_first(&*read, id, cluster.as_ref().and_then(|listed| listed.row.center))?;
        let Some(center) = center.filter(|row| row.collection == self.live.row.number) else {
            return Ok(None);
        };
        let budget = TextBudget::new(max_text_bytes);
        let center_row = undamaged(read.document(center.document))?;
        let mut compared = Comparisons::new(&self.live.analyzer, center_row.as_ref());
        let center_id = center_row.map(|row| row.document.id);
        let counted = read.members_by_date(id, None, COUNTED)?;
        let first = match counted.first() {
            Some(first) => described(&*read, first.document, &budget)?,
            None => None,
        };
        let last = self.last_date(&*read, id, &counted)?;
        let detail = |next| ClusterPage {
            id,
            size: cluster.as_ref().map_or(1, |cluster| cluster.listed),
            pending: false,
            center: center_id.clone(),
            first: first.clone(),
            last,
            sources: counted_sources(&counted),
            next,
        };
        let pending = self.is_pending(&*read, id)?;
        let detail = |next| Ok(Some(ClusterPage { pending, ..detail(next) }));
        let rows = read.members_by_date(id, page.after, page.limit)?;
        let is_last_page = rows.len() < page.limit;
        let mut ids: HashMap<u64, DocId> = center_id.iter().map(|id| (center.document, id.clone())).collect();
        let mut last = None;
        for PlacedRow { document, moment, .. } in rows {
            if last.is_some() && budget.is_exhausted() {
                return detail(last);
            }
            if let Some(mut row) = undamaged(read.member(document))?
                && let Some(stored) = undamaged(read.document(document))?
            {
                budget.take(&stored.document);
                let edited = row.edited.is_some();
                if edited || center.edited.is_some() {
                    // An editor decided it, not a match.
                    row.joined = None;
                } else if self.live.linkage == LiveLinkage::Cohesive {
                    row.joined = Some(center.document).filter(|center| *center != document);
                }
                let joined = row.joined.map(|other| id_of(&*read, other, &mut ids, &budget)).transpose()?;
                ids.insert(document, stored.document.id.clone());
                let (verdict, relation) = compared.compare(&stored).unzip();
                // A document has no relation to itself.
                let relation = relation.flatten().filter(|_| document != center.document);
                let lead_seconds = counted.first().map(|first| moment.saturating_sub(first.moment) / 1_000);
                let joined = joined.flatten();
                let member =
                    ClusterMember { joined, verdict, relation, lead_seconds, edited, ..member_of(stored) };
                if sink(member).is_break() {
                    return detail(last);
                }
            }
            last = Some(MemberPosition { moment, document });
        }
        detail(last.filter(|_| !is_last_page))
    }

    /// Returns the date of the last document of a cluster.
    fn last_date(&self, read: &dyn Read, id: ClusterId, counted: &[PlacedRow]) -> Result<Option<Timestamp>> {
        if counted.len() < COUNTED {
            return Ok(counted.last().map(|last| timestamp(last.moment)));
        }
        let after = ClusterPosition { key: id.0 + 1, cluster: ClusterId(id.0 + 1) };
        let listed = read.clusters(self.live.row.number, ClusterOrder::Newest, Some(after), 1)?;
        Ok(listed.into_iter().find_map(|(_, row)| row.ok().map(|row| timestamp(row.last))))
    }

    /// Returns the documents and copies of the latest 366 days that have documents, in order.
    pub fn days(&self) -> Result<Vec<DayTotal>> {
        let mut days = self.shared.readers.get()?.days(self.live.row.number, 366)?;
        days.reverse();
        Ok(days)
    }
}

/// The clusters that a list may contain, in its order.
struct Candidates<'a> {
    read: &'a dyn Read,
    collection: u32,
    page: &'a ClustersPage,
    /// All clusters of a rare source in the order of the list, if the list is restricted to one.
    of_source: Option<Vec<(ClusterPosition, ListedCluster)>>,
}

type TitledRow = (ClusterPosition, Result<TitledCluster>);

impl<'a> Candidates<'a> {
    fn of(read: &'a dyn Read, collection: u32, page: &'a ClustersPage) -> Result<Candidates<'a>> {
        let mut candidates = Candidates { read, collection, page, of_source: None };
        if let Some(source) = &page.filter.source
            && read.source_documents(collection, source)? <= RARE
        {
            let mut listed = Vec::new();
            for cluster in read.clusters_of_source(collection, source, None, RARE as usize)? {
                let row = undamaged(read.listed_cluster(cluster))?.filter(|row| row.listed > 1);
                listed.extend(row.map(|row| (candidates.position(&row), row)));
            }
            listed.sort_by_key(|(position, _)| std::cmp::Reverse((position.key, position.cluster.0)));
            candidates.of_source = Some(listed);
        }
        Ok(candidates)
    }

    fn position(&self, row: &ListedCluster) -> ClusterPosition {
        let cluster = row.row.cluster;
        let key = match self.page.order {
            ClusterOrder::Newest => cluster.0,
            ClusterOrder::Largest => row.listed,
            ClusterOrder::Active => row.latest,
        };
        ClusterPosition { key, cluster }
    }

    /// Returns the next clusters after a position.
    fn after(&self, after: Option<ClusterPosition>, limit: usize) -> Result<Vec<TitledRow>> {
        let untitled = |row: ListedCluster| TitledCluster { listed: row, title: None };
        let Some(listed) = &self.of_source else {
            let (read, collection, order) = (self.read, self.collection, self.page.order);
            if !self.page.filter.words.is_empty() {
                return read.titled_clusters(collection, order, after, limit);
            }
            let rows = read.clusters(collection, order, after, limit)?.into_iter();
            return Ok(rows.map(|(position, row)| (position, row.map(untitled))).collect());
        };
        let key = |position: &ClusterPosition| (position.key, position.cluster.0);
        let start = after.map_or(0, |after| listed.partition_point(|(at, _)| key(at) >= key(&after)));
        let rows = listed[start..].iter().take(limit);
        Ok(rows.map(|(position, row)| (*position, Ok(untitled(row.clone())))).collect())
    }

    /// Returns `true` if the filter selects a cluster. Adds to the cost of the request.
    fn pass(&self, row: &TitledCluster, cost: &mut u64) -> Result<bool> {
        let filter = &self.page.filter;
        let ListedCluster { row: cluster, listed, .. } = &row.listed;
        if *listed < filter.min_size || !self.has_document_in_range(&row.listed, cost)? {
            return Ok(false);
        }
        if !filter.words.is_empty() {
            let described;
            let title = match &row.title {
                Some(title) => Some(title),
                None => {
                    described = self.title(cluster)?;
                    described.as_ref()
                }
            };
            *cost += TITLE_COST;
            let Some((title, id)) = title else { return Ok(false) };
            *cost += title.as_ref().map_or(0, String::len) as u64 / TITLE_BYTES;
            let text = format!("{}\n{id}", title.as_deref().unwrap_or_default()).to_lowercase();
            if !filter.words.iter().all(|word| text.contains(word.as_str())) {
                return Ok(false);
            }
        }
        match &filter.source {
            Some(source) if self.of_source.is_none() => {
                self.read.has_source(self.collection, cluster.cluster, source)
            }
            _ => Ok(true),
        }
    }

    /// Returns `true` if the cluster has a document within the dates of the filter.
    fn has_document_in_range(&self, row: &ListedCluster, cost: &mut u64) -> Result<bool> {
        let since = self.page.filter.since.map_or(i64::MIN, Timestamp::as_milliseconds);
        let until = self.page.filter.until.map_or(i64::MAX, Timestamp::as_milliseconds);
        let ListedCluster { row: cluster, first, last, .. } = row;
        if *last < since || *first > until {
            return Ok(false);
        }
        // The first or the last document is within the range, unless it lies between them.
        if *first >= since || *last <= until {
            return Ok(true);
        }
        *cost += DATE_COST;
        let before = MemberPosition { moment: since - 1, document: i64::MAX as u64 };
        let next = self.read.members_by_date(cluster.cluster, Some(before), 1)?.pop();
        Ok(next.is_some_and(|next| next.moment <= until))
    }

    fn title(&self, row: &ClusterRow) -> Result<Option<(Option<String>, String)>> {
        let Some(center) = center_or_first(self.read, row.cluster, row.center)? else { return Ok(None) };
        let caption = undamaged(self.read.caption(center.document))?;
        Ok(caption.map(|caption| (caption.title, caption.id)))
    }
}

/// Which clusters of a list are pending. Without queued work, no cluster is, and none is looked up.
struct Pendings {
    has_tasks: bool,
}

impl Pendings {
    fn of(collection: &Collection, read: &dyn Read) -> Result<Pendings> {
        // A damaged task is work that is not done.
        let task = read.first_task(collection.live.row.number);
        Ok(Pendings { has_tasks: task.map_or(true, |task| task.is_some()) })
    }

    fn contain(&self, collection: &Collection, read: &dyn Read, cluster: ClusterId) -> Result<bool> {
        if self.has_tasks { collection.is_pending(read, cluster) } else { Ok(false) }
    }
}

/// Returns what a list shows of a document, without reading its text. It is not checked for damage.
fn captioned(read: &dyn Read, document: u64) -> Result<Option<ClusterMember>> {
    let Some(caption) = undamaged(read.caption(document))? else { return Ok(None) };
    let Some(id) = DocId::from_json(&caption.id) else { return Ok(None) };
    let metadata = undamaged(read.metadata(document))?;
    Ok(Some(ClusterMember {
        id,
        title: caption.title,
        source: caption.source,
        url: caption.url,
        published_at: caption.published_at,
        arrived_at: timestamp(caption.arrived_at),
        date: timestamp(caption.moment.unwrap_or(caption.arrived_at)),
        metadata,
        joined: None,
        verdict: None,
        relation: None,
        lead_seconds: None,
        edited: false,
    }))
}

pub(super) fn position_of(row: &PlacedRow) -> MemberPosition {
    MemberPosition { moment: row.moment, document: row.document }
}

/// Returns at most [`DATES`] dates at regular intervals, including the first and the last one.
fn sampled_dates(moments: &[i64], last: i64) -> Vec<Timestamp> {
    let Some(end) = moments.len().checked_sub(1) else { return Vec::new() };
    let count = moments.len().min(DATES);
    let at = |i: usize| if count > 1 { i * end / (count - 1) } else { 0 };
    let mut dates: Vec<Timestamp> = (0..count).map(|i| timestamp(moments[at(i)])).collect();
    if moments.len() == SUMMARIZED
        && let Some(date) = dates.last_mut()
    {
        *date = timestamp(last);
    }
    dates
}

/// Counts documents by source.
fn counted_sources(members: &[PlacedRow]) -> Vec<SourceTotal> {
    let mut counts: BTreeMap<&Option<String>, u64> = BTreeMap::new();
    members.iter().for_each(|member| *counts.entry(&member.source).or_default() += 1);
    let first = members.first().map(|first| &first.source);
    let total = |(source, documents): (&Option<String>, u64)| SourceTotal {
        source: source.clone(),
        documents,
        copies: documents - u64::from(first == Some(source)),
        clusters: u64::from(first == Some(source)),
    };
    let mut totals: Vec<SourceTotal> = counts.into_iter().map(total).collect();
    totals.sort_by_key(|total| std::cmp::Reverse(total.documents));
    totals.truncate(MAX_SOURCES);
    totals
}

/// Compares documents to the center of their cluster.
struct Comparisons<'a> {
    analyzer: &'a Analyzer,
    judge: Judge,
    /// The center and its publication date.
    center: Option<(Prepared, Option<i64>)>,
    scratch: Scratch,
    left: usize,
}

impl<'a> Comparisons<'a> {
    fn new(analyzer: &'a Analyzer, center: Option<&DocumentRow>) -> Comparisons<'a> {
        let mut scratch = Scratch::default();
        let center =
            center.map(|row| (analyzer.prepare(&row.document.content, &mut scratch), row.published()));
        // Documents that joined through others can be less similar to the center than the threshold.
        let judge = analyzer.judge().with_threshold(0.0);
        Comparisons { analyzer, judge, center, scratch, left: COMPARED }
    }

    /// Compares a document to the center, if fewer than [`COMPARED`] were compared. Returns how they match, and the relation of the
    /// center to the document.
    fn compare(&mut self, row: &DocumentRow) -> Option<(Verdict, Option<Relation>)> {
        self.left = self.left.checked_sub(1)?;
        let prepared = self.analyzer.prepare(&row.document.content, &mut self.scratch);
        let (center, published) = self.center.as_ref()?;
        let verdict = self.judge.judge_facts(&center.side(), &prepared.side())?;
        let shingles = [center, &prepared].map(|prepared| prepared.features.shingles.len());
        let dates = published.zip(row.published()).map(|(a, b)| [a, b].map(timestamp));
        Some((verdict, verdict.relation(shingles, dates)))
    }
}

/// Returns the center of a cluster or, if it has none or edits show it elsewhere, the first document by date.
pub(super) fn center_or_first(
    read: &dyn Read,
    cluster: ClusterId,
    center: Option<u64>,
) -> Result<Option<MemberRow>> {
    let stored = center.map(|center| undamaged(read.member(center))).transpose()?.flatten();
    // Edits can show the center in another cluster.
    if let Some(center) = stored.filter(|center| center.shown() == cluster) {
        return Ok(Some(center));
    }
    let mut after = None;
    loop {
        let Some(first) = read.members_by_date(cluster, after, 1)?.pop() else { return Ok(None) };
        if let Some(member) = undamaged(read.member(first.document))? {
            return Ok(Some(member));
        }
        after = Some(position_of(&first));
    }
}

/// Reads a member of a cluster, without how it joined and compares. Returns `None` if the document is damaged.
pub(super) fn described(
    read: &dyn Read,
    document: u64,
    budget: &TextBudget,
) -> Result<Option<ClusterMember>> {
    let Some(stored) = undamaged(read.document(document))? else { return Ok(None) };
    budget.take(&stored.document);
    Ok(Some(member_of(stored)))
}

fn member_of(stored: DocumentRow) -> ClusterMember {
    let date = timestamp(stored.moment());
    let Document { id, title, source, published_at, url, metadata, .. } = stored.document;
    ClusterMember {
        id,
        title,
        source,
        url,
        published_at,
        arrived_at: timestamp(stored.arrived_at),
        date,
        metadata,
        joined: None,
        verdict: None,
        relation: None,
        lead_seconds: None,
        edited: false,
    }
}

/// Returns the id of a document. `ids` has those that were read before.
fn id_of(
    read: &dyn Read,
    document: u64,
    ids: &mut HashMap<u64, DocId>,
    budget: &TextBudget,
) -> Result<Option<DocId>> {
    if let Some(id) = ids.get(&document) {
        return Ok(Some(id.clone()));
    }
    let Some(row) = undamaged(read.document(document))? else { return Ok(None) };
    budget.take(&row.document);
    ids.insert(document, row.document.id.clone());
    Ok(Some(row.document.id))
}
