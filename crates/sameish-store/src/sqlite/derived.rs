//! What is derived from memberships: totals per day and source, and what lists show of a cluster.
//!
//! A transaction changes them in memory, and writes each row once before the commit. The totals count each document, each copy (a
//! document that is not the first of its cluster by date and number), and each cluster of at least two documents by its first document.
//! These rows have no checksums: a damaged column counts as 0 or empty.

use super::SqliteStore;
use super::write::SqliteTransaction;
use crate::error::Result;
use rusqlite::{Row, ToSql, params};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// One day in milliseconds.
const DAY: i64 = 86_400_000;

/// A membership as totals and lists see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) collection: u32,
    /// The cluster that lists show.
    pub(super) shown: i64,
    pub(super) document: i64,
    pub(super) moment: i64,
    /// Empty if there is none.
    pub(super) source: String,
}

/// What lists show of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) listed: i64,
    /// The first document by date and number.
    first_document: i64,
    pub(super) first: i64,
    pub(super) first_source: String,
    pub(super) last: i64,
    pub(super) latest: i64,
    pub(super) sources: i64,
}

impl Listing {
    fn first_place(&self) -> First {
        First { moment: self.first, document: self.first_document, source: self.first_source.clone() }
    }
}

/// The first document of a cluster by date and number.
#[derive(Debug, Default)]
struct First {
    moment: i64,
    document: i64,
    source: String,
}

/// A cluster that a transaction changes.
#[derive(Debug, Default)]
pub(super) struct ChangedCluster {
    collection: u32,
    /// The first document before the transaction.
    first_before: Option<First>,
    /// The first document by which totals counted the cluster before the transaction.
    counted_before: Option<First>,
    pub(super) now: Listing,
    /// What the row of the cluster contains, if there is one.
    written: Option<Listing>,
}

impl ChangedCluster {
    fn has_row(&self) -> bool {
        self.written.is_some()
    }

    /// Records that the row was written with the current values, or deleted.
    pub(super) fn note_row(&mut self, exists: bool) {
        self.written = exists.then(|| self.now.clone());
    }
}

/// Numbers by which a row of totals changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Change {
    documents: i64,
    copies: i64,
    clusters: i64,
}

/// A document counts as a copy here, and the first one of its cluster does not.
const MEMBER: Change = Change { documents: 1, copies: 1, clusters: 0 };
const FIRST: Change = Change { documents: 0, copies: -1, clusters: 0 };
const CLUSTER: Change = Change { documents: 0, copies: 0, clusters: 1 };

impl Change {
    fn negative(self) -> Change {
        let Change { documents, copies, clusters } = self;
        Change { documents: -documents, copies: -copies, clusters: -clusters }
    }

    fn add(&mut self, other: Change) {
        self.documents += other.documents;
        self.copies += other.copies;
        self.clusters += other.clusters;
    }
}

/// Changes to the rows of totals.
#[derive(Default)]
struct Totals {
    days: HashMap<(u32, i64), Change>,
    sources: HashMap<u32, HashMap<String, Change>>,
}

impl Totals {
    fn add(&mut self, collection: u32, moment: i64, source: &str, change: Change) {
        self.days.entry((collection, moment.div_euclid(DAY))).or_default().add(change);
        let sources = self.sources.entry(collection).or_default();
        match sources.get_mut(source) {
            Some(known) => known.add(change),
            None => _ = sources.insert(source.to_owned(), change),
        }
    }

    fn write(&self, transaction: &SqliteTransaction<'_>) -> Result<()> {
        for ((collection, day), change) in &self.days {
            write_total(transaction, ["day_totals", "day"], *collection, day, *change)?;
        }
        for (collection, sources) in &self.sources {
            for (source, change) in sources {
                write_total(transaction, ["source_totals", "source"], *collection, source, *change)?;
            }
        }
        Ok(())
    }
}

/// Changes a row of a table of totals with this key column. A row without documents is deleted.
fn write_total(
    transaction: &SqliteTransaction<'_>,
    [table, column]: [&str; 2],
    collection: u32,
    key: &dyn ToSql,
    change: Change,
) -> Result<()> {
    let Change { documents, copies, clusters } = change;
    if change != Change::default() {
        let sql = format!(
            "INSERT INTO {table} VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET documents = documents + excluded.documents, \
             copies = copies + excluded.copies, clusters = clusters + excluded.clusters"
        );
        transaction.execute(&sql, params![collection, key, documents, copies, clusters])?;
    }
    if documents < 0 {
        let sql = format!("DELETE FROM {table} WHERE collection = ? AND {column} = ? AND documents <= 0");
        transaction.execute(&sql, params![collection, key])?;
    }
    Ok(())
}

/// What a transaction changes of the derived rows.
#[derive(Default)]
pub(super) struct Derived {
    totals: Totals,
    clusters: HashMap<i64, ChangedCluster>,
    /// The greatest number of a cluster before the first change. Greater ones need not be read.
    newest: Option<i64>,
}

impl Derived {
    /// Returns a cluster. Before a membership in it is written, this must have been called.
    pub(super) fn cluster(
        &mut self,
        store: &SqliteStore,
        collection: u32,
        number: i64,
    ) -> Result<&mut ChangedCluster> {
        let newest = match self.newest {
            Some(newest) => newest,
            None => *self.newest.insert(store.newest_cluster()?),
        };
        match self.clusters.entry(number) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) if number > newest => {
                Ok(unknown.insert(ChangedCluster { collection, ..ChangedCluster::default() }))
            }
            Entry::Vacant(unknown) => Ok(unknown.insert(store.changed_cluster(collection, number)?)),
        }
    }

    /// Adds a membership that was just written.
    pub(super) fn add(&mut self, store: &SqliteStore, place: &Place) -> Result<()> {
        self.totals.add(place.collection, place.moment, &place.source, MEMBER);
        let now = &mut self.cluster(store, place.collection, place.shown)?.now;
        let is_first = now.listed == 0 || (place.moment, place.document) < (now.first, now.first_document);
        // After an update, the first document can be this one.
        let has_source_of_first = place.source == now.first_source && place.document != now.first_document;
        let is_known = now.listed > 0 && (has_source_of_first || store.has_other(place)?);
        now.sources += i64::from(!is_known);
        now.last = if now.listed > 0 { now.last.max(place.moment) } else { place.moment };
        now.latest = now.latest.max(place.document);
        now.listed += 1;
        if is_first {
            now.first = place.moment;
            now.first_document = place.document;
            now.first_source.clone_from(&place.source);
        }
        Ok(())
    }

    /// Removes a membership that was just deleted or changed.
    pub(super) fn remove(&mut self, store: &SqliteStore, place: &Place) -> Result<()> {
        self.totals.add(place.collection, place.moment, &place.source, MEMBER.negative());
        let now = &mut self.cluster(store, place.collection, place.shown)?.now;
        now.listed -= 1;
        now.sources -= i64::from(!store.has_other(place)?);
        if place.document == now.first_document {
            let first = store.first_place(place.shown)?.unwrap_or_default();
            (now.first, now.first_document, now.first_source) = (first.moment, first.document, first.source);
        }
        if place.moment >= now.last {
            now.last = store.last_moment(place.shown)?;
        }
        if place.document >= now.latest {
            now.latest = store.latest_document(place.shown)?;
        }
        Ok(())
    }

    /// Forgets the changes to a collection whose memberships and clusters were deleted.
    pub(super) fn clear(&mut self, collection: u32) {
        self.totals.days.retain(|(known, _), _| *known != collection);
        self.totals.sources.remove(&collection);
        self.clusters.retain(|_, cluster| cluster.collection != collection);
    }

    /// Writes all changes.
    pub(super) fn write(mut self, transaction: &SqliteTransaction<'_>) -> Result<()> {
        for (number, cluster) in std::mem::take(&mut self.clusters) {
            self.count_cluster(&cluster);
            if cluster.written.as_ref().is_some_and(|written| *written != cluster.now) {
                write_listing(transaction, number, &cluster.now)?;
            }
        }
        self.totals.write(transaction)
    }

    /// Counts the first document of a cluster, which is no copy, and the cluster itself.
    fn count_cluster(&mut self, cluster: &ChangedCluster) {
        let ChangedCluster { collection, now, .. } = cluster;
        let mut count =
            |first: &First, change| self.totals.add(*collection, first.moment, &first.source, change);
        if let Some(first) = &cluster.first_before {
            count(first, FIRST.negative());
        }
        if let Some(first) = &cluster.counted_before {
            count(first, CLUSTER.negative());
        }
        let first = now.first_place();
        if now.listed > 0 {
            count(&first, FIRST);
        }
        if now.listed > 1 && cluster.has_row() {
            count(&first, CLUSTER);
        }
    }
}

fn write_listing(transaction: &SqliteTransaction<'_>, number: i64, listing: &Listing) -> Result<()> {
    let sql = "UPDATE clusters SET listed = ?, first = ?, first_source = ?, last = ?, latest = ?, sources = ? WHERE number = ?";
    let Listing { listed, first, first_source, last, latest, sources, .. } = listing;
    transaction.execute(sql, params![listed, first, first_source, last, latest, sources, number])
}

impl SqliteStore {
    fn newest_cluster(&self) -> Result<i64> {
        let sql = "SELECT max(coalesce((SELECT max(shown) FROM members), 0), coalesce((SELECT max(number) FROM clusters), 0))";
        Ok(self.query_one(sql, [], |row| Ok(integer(row, 0)))?.unwrap_or_default())
    }

    /// Reads a cluster before it changes.
    fn changed_cluster(&self, collection: u32, number: i64) -> Result<ChangedCluster> {
        let first = self.first_place(number)?;
        let sql = "SELECT listed, first, first_source, last, latest, sources FROM clusters WHERE number = ?";
        let stored = self.query_one(sql, [number], |row| Ok(listing(row)))?;
        let mut cluster = ChangedCluster { collection, ..ChangedCluster::default() };
        if let Some(stored) = stored {
            cluster.counted_before = (stored.listed > 1).then(|| stored.first_place());
            cluster.now = stored.clone();
            cluster.written = Some(stored);
        } else if first.is_some() {
            let sql = "SELECT count(*), 0, '', max(moment), max(document), count(DISTINCT coalesce(source, '')) \
                FROM members WHERE shown = ?";
            cluster.now = self.query_one(sql, [number], |row| Ok(listing(row)))?.unwrap_or_default();
        }
        if let Some(First { moment, document, source }) = &first {
            cluster.now.first = *moment;
            cluster.now.first_document = *document;
            cluster.now.first_source.clone_from(source);
        }
        cluster.first_before = first;
        Ok(cluster)
    }

    /// Returns the first document of a cluster by date and number.
    fn first_place(&self, cluster: i64) -> Result<Option<First>> {
        let sql =
            "SELECT moment, document, source FROM members WHERE shown = ? ORDER BY moment, document LIMIT 1";
        let first = |row: &Row<'_>| First {
            moment: integer(row, 0),
            document: integer(row, 1),
            source: text(row, 2),
        };
        self.query_one(sql, [cluster], |row| Ok(first(row)))
    }

    fn last_moment(&self, cluster: i64) -> Result<i64> {
        let sql = "SELECT moment FROM members WHERE shown = ? ORDER BY moment DESC LIMIT 1";
        Ok(self.query_one(sql, [cluster], |row| Ok(integer(row, 0)))?.unwrap_or_default())
    }

    fn latest_document(&self, cluster: i64) -> Result<i64> {
        // Each part reads an index from its end. Few members are edited.
        let sql = "SELECT max(document) FROM ( \
            SELECT * FROM (SELECT document FROM members WHERE cluster = ?1 AND edited IS NULL ORDER BY document DESC LIMIT 1) \
            UNION ALL \
            SELECT * FROM (SELECT document FROM members WHERE edited = ?1 ORDER BY document DESC LIMIT 1))";
        Ok(self.query_one(sql, [cluster], |row| Ok(integer(row, 0)))?.unwrap_or_default())
    }

    /// Returns `true` if a cluster is shown with another document of the same source.
    fn has_other(&self, place: &Place) -> Result<bool> {
        let sql = "SELECT 1 FROM members WHERE collection = ? AND coalesce(source, '') = ? AND shown = ? AND document <> ? LIMIT 1";
        let key = params![place.collection, place.source, place.shown, place.document];
        Ok(self.query_one(sql, key, |_| Ok(()))?.is_some())
    }

    /// Returns the stored membership of a document.
    pub(super) fn place_of_member(&self, document: i64) -> Result<Option<Place>> {
        let sql = "SELECT collection, shown, moment, source FROM members WHERE document = ?";
        self.query_one(sql, [document], |row| {
            Ok(Place {
                collection: integer(row, 0) as u32,
                shown: integer(row, 1),
                document,
                moment: integer(row, 2),
                source: text(row, 3),
            })
        })
    }
}

fn listing(row: &Row<'_>) -> Listing {
    Listing {
        listed: integer(row, 0),
        first_document: 0,
        first: integer(row, 1),
        first_source: text(row, 2),
        last: integer(row, 3),
        latest: integer(row, 4),
        sources: integer(row, 5),
    }
}

/// Returns an integer, or 0 if the column has none.
pub(super) fn integer(row: &Row<'_>, column: usize) -> i64 {
    row.get_ref(column).ok().and_then(|value| value.as_i64().ok()).unwrap_or_default()
}

/// Returns a text, or an empty one if the column has none.
pub(super) fn text(row: &Row<'_>, column: usize) -> String {
    row.get_ref(column).ok().and_then(|value| value.as_str().ok()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::rows::{ClusterRow, DocumentRow, MemberRow};
    use crate::store::{Store, Transaction};
    use sameish::Document;
    use sameish::cluster::ClusterId;

    const CLUSTERS: u64 = 6;

    /// Returns the rows of a query as text.
    fn rows(store: &SqliteStore, sql: &str) -> Vec<String> {
        let mut rows = Vec::new();
        store
            .for_each(sql, [], |row| {
                let columns = (0..row.as_ref().column_count()).map(|i| format!("{:?}", row.get_ref(i)));
                rows.push(columns.collect::<Vec<_>>().join(" "));
                Ok(())
            })
            .unwrap();
        rows
    }

    /// Compares the derived rows with those that are computed from the members.
    fn check(store: &SqliteStore) {
        let expected = "SELECT number, (SELECT count(*) FROM members WHERE shown = number), \
            coalesce((SELECT min(moment) FROM members WHERE shown = number), 0), \
            coalesce((SELECT max(moment) FROM members WHERE shown = number), 0), \
            coalesce((SELECT max(document) FROM members WHERE shown = number), 0), \
            coalesce((SELECT source FROM members WHERE shown = number ORDER BY moment, document LIMIT 1), ''), \
            (SELECT count(DISTINCT coalesce(source, '')) FROM members WHERE shown = number) FROM clusters ORDER BY 1";
        let found =
            "SELECT number, listed, first, last, latest, first_source, sources FROM clusters ORDER BY 1";
        assert_eq!(rows(store, found), rows(store, expected));
        for (table, key) in [("day_totals", "moment / 86400000"), ("source_totals", "coalesce(source, '')")] {
            let expected = format!(
                "SELECT 1, {key} AS key, count(*), sum(EXISTS (SELECT 1 FROM members AS earlier WHERE \
                 earlier.shown = members.shown AND (earlier.moment, earlier.document) < (members.moment, members.document))), \
                 sum(document = (SELECT document FROM members AS first WHERE first.shown = members.shown ORDER BY moment, \
                 document LIMIT 1) AND (SELECT count(*) FROM members AS all_of WHERE all_of.shown = members.shown) > 1) \
                 FROM members GROUP BY key ORDER BY key"
            );
            assert_eq!(rows(store, &format!("SELECT * FROM {table} ORDER BY 2")), rows(store, &expected));
        }
    }

    /// Makes a random change to one of the documents.
    fn change_one(change: &mut dyn Transaction, random: &mut impl FnMut(u64) -> u64) {
        let number = 1 + random(20);
        let mut document = Document::new(number, "text");
        document.source = [None, Some("a"), Some("b")][random(3) as usize].map(str::to_owned);
        let arrived_at = (random(4) * 86_400_000) as i64;
        let row = DocumentRow { number, collection: 1, document, arrived_at };
        let known = change.read().document(number).unwrap();
        match (known, random(4)) {
            (None, _) => change.put_document(&row).unwrap(),
            (Some(_), 0) => return change.remove_document(number).unwrap(),
            (Some(known), 1) => {
                return change.update_document(&DocumentRow { arrived_at: known.arrived_at, ..row }).unwrap();
            }
            _ => {}
        }
        let cluster = ClusterId(1 + random(CLUSTERS));
        let edited =
            Some(ClusterId(1 + random(CLUSTERS))).filter(|edited| *edited != cluster && random(4) == 0);
        let member = MemberRow { document: number, collection: 1, cluster, joined: None, edited, rank: None };
        change.put_member(&member).unwrap();
    }

    #[test]
    fn derived_rows_equal_those_computed_from_members() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = SqliteStore::open(dir.path(), true, false).unwrap();
        let mut state = 5;
        let mut random = move |limit: u64| {
            // Knuth's linear congruential generator; its leading bits are random enough.
            state = 6_364_136_223_846_793_005_u64.wrapping_mul(state).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        for step in 0..400 {
            let mut change = store.begin().unwrap();
            for _ in 0..1 + random(5) {
                change_one(&mut *change, &mut random);
            }
            for number in 1..=CLUSTERS {
                let cluster = ClusterId(number);
                let size = change.read().members(cluster, 0, 100).unwrap().len() as u64;
                change.put_cluster(1, &ClusterRow { cluster, size, center: Some(1), chained: 0 }).unwrap();
            }
            // Some transactions are undone.
            if random(8) > 0 {
                change.commit().unwrap();
            } else {
                drop(change);
            }
            check(&store);
            if step == 200 {
                let mut change = store.begin().unwrap();
                change.clear_clusters(1).unwrap();
                change.commit().unwrap();
                check(&store);
            }
        }
    }
}
