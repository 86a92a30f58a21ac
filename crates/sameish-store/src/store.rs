//! The `Store` trait: durable rows, transactions and consistent reads.
//!
//! A [`Store`] stores rows and does not compare texts. Every change is part of a [`Transaction`], which is atomic, and
//! durable when [`commit`](Transaction::commit) returns. Every row carries a checksum, which `rows.rs` computes and checks,
//! because databases detect few of the bit errors of a disk.

use crate::error::Result;
use crate::model::{
    ClusterOrder, ClusterPosition, DayTotal, EventRange, Finding, MemberPosition, SourceTotal,
};
use crate::rows::{
    Caption, ClockRow, ClusterRow, ClusterTotals, CollectionRow, Counters, DocumentRow, EditRow, EventRow,
    ListedCluster, MemberRow, Placed, PlacedRow, SketchRow, StoredCollection, TaskRow, TitledCluster, Turn,
};
use sameish::DocId;
use sameish::cluster::ClusterId;
use std::path::Path;

/// Receives a cluster with the date and the source of one of its members.
pub type PlacedSink<'a> = &'a mut dyn FnMut(ClusterId, i64, Option<&str>);

/// Storage for documents, sketches and clusters.
pub trait Store: Send {
    /// Opens a reader for another thread. It sees committed data.
    fn reader(&self) -> Result<Box<dyn Read + Send>>;

    /// Moves committed data from the write-ahead log to the database file and empties the log. Returns
    /// [`Error::Busy`](crate::Error::Busy) if readers still use the log; then it must be called again.
    fn checkpoint(&mut self) -> Result<()>;

    /// Removes free space and all remains of deleted documents from the files.
    fn compact(&mut self) -> Result<()> {
        self.checkpoint()
    }

    /// Reserves disk space for deletes on a full disk. Documents are inserted only after this succeeds.
    fn reserve_space(&mut self) -> Result<()> {
        Ok(())
    }

    /// Releases the reserved disk space. Returns `true` if some was reserved.
    fn release_space(&mut self) -> bool {
        false
    }

    /// Begins a transaction. Only one can be open at a time.
    fn begin(&mut self) -> Result<Box<dyn Transaction + '_>>;
}

/// Read access to a store. Every row is checked against its checksum; a row that does not agree is
/// [`Error::Damaged`](crate::Error::Damaged).
pub trait Read {
    /// Opens another reader, for another thread.
    fn try_clone(&self) -> Result<Box<dyn Read + Send>>;

    /// Returns all collections, oldest first. A damaged row is an error next to its number and name.
    fn collections(&self) -> Result<Vec<StoredCollection>>;

    /// Returns the numbers of deleted collections that still have rows.
    fn dropped_collections(&self) -> Result<Vec<u32>>;

    /// Returns the greatest numbers that were assigned.
    fn counters(&self) -> Result<Counters>;

    /// Returns what is known about the time, or `None` if nothing was stored.
    fn clock(&self) -> Result<Option<ClockRow>>;

    /// Returns when a document last arrived in a collection, as of its last deletion; `None` if nothing was deleted.
    fn last_arrival(&self, collection: u32) -> Result<Option<i64>>;

    /// Returns the number of the document with an id, even if the document is damaged.
    fn number_of(&self, collection: u32, id: &DocId) -> Result<Option<u64>>;

    /// Returns a document by its number.
    fn document(&self, number: u64) -> Result<Option<DocumentRow>>;

    /// Returns the sketches of a document by its number.
    fn sketch(&self, number: u64) -> Result<Option<SketchRow>>;

    /// Passes the number and id of every document of a collection to `sink`, in no particular order.
    fn each_id(&self, collection: u32, sink: &mut dyn FnMut(u64, DocId) -> Result<()>) -> Result<()>;

    /// Returns up to `limit` documents of a collection with numbers greater than `after`, in order of their numbers. A
    /// damaged document is an error next to its number.
    fn documents(&self, collection: u32, after: u64, limit: usize)
    -> Result<Vec<(u64, Result<DocumentRow>)>>;

    /// Returns up to `limit` numbers of documents of a collection that are greater than `after`, in order.
    fn numbers(&self, collection: u32, after: u64, limit: usize) -> Result<Vec<u64>>;

    /// Returns the numbers of up to `limit` documents of a collection, in the order of their ids as JSON text, after the id
    /// `after`.
    fn numbers_by_id(&self, collection: u32, after: Option<&DocId>, limit: usize) -> Result<Vec<u64>>;

    /// Passes the sketches of every document of a collection to `sink`, in order of the document numbers.
    fn each_sketch(
        &self,
        collection: u32,
        sink: &mut dyn FnMut(u64, Result<SketchRow>) -> Result<()>,
    ) -> Result<()>;

    /// Returns the cluster membership of a document.
    fn member(&self, document: u64) -> Result<Option<MemberRow>>;

    /// Returns up to `limit` members that the linkage gives a cluster with numbers of at least `from`, in order of their numbers. A damaged
    /// membership is an error next to the number of its document.
    fn members(&self, cluster: ClusterId, from: u64, limit: usize) -> Result<Vec<(u64, Result<MemberRow>)>>;

    /// Returns up to `limit` members that the linkage gives a cluster and that have ranks, in order of their turns from `from` on. A
    /// damaged membership is an error next to its turn.
    fn ranked_members(
        &self,
        cluster: ClusterId,
        from: Turn,
        limit: usize,
    ) -> Result<Vec<(Turn, Result<MemberRow>)>>;

    /// Passes every cluster membership of a collection to `sink`, in order of the document numbers.
    fn each_member(
        &self,
        collection: u32,
        sink: &mut dyn FnMut(u64, Result<MemberRow>) -> Result<()>,
    ) -> Result<()>;

    /// Returns the stored row of a cluster. A cluster of one document has a row only if it has no center.
    fn cluster(&self, cluster: ClusterId) -> Result<Option<ClusterRow>>;

    /// Returns up to `limit` members with numbers of at least `from` that joined their cluster because of a match with this
    /// document, in order of their numbers. A damaged membership is an error next to the number of its document.
    fn joined(&self, document: u64, from: u64, limit: usize) -> Result<Vec<(u64, Result<MemberRow>)>>;

    /// Returns the first task of a collection in order of their positions.
    fn first_task(&self, collection: u32) -> Result<Option<TaskRow>>;

    /// Returns the tasks that change a cluster, except for merges into it.
    fn tasks_of(&self, cluster: ClusterId) -> Result<Vec<TaskRow>>;

    /// Returns `true` if tasks change the clusters that edits give, or a cluster of the linkage whose documents edits show in this one.
    fn has_edited_tasks(&self, collection: u32, cluster: ClusterId) -> Result<bool>;

    /// Returns the tasks that move documents into a cluster of a collection.
    fn merges_into(&self, collection: u32, cluster: ClusterId) -> Result<Vec<TaskRow>>;

    /// Passes every task of a collection to `sink`, in order of their positions.
    fn each_task(&self, collection: u32, sink: &mut dyn FnMut(Result<TaskRow>) -> Result<()>) -> Result<()>;

    /// Returns the number of clusters of a collection that have tasks, or that tasks move documents into.
    fn count_pending(&self, collection: u32) -> Result<u64>;

    /// Returns totals over the clusters of a collection that have at least two documents.
    fn cluster_totals(&self, collection: u32) -> Result<ClusterTotals>;

    /// Returns up to `limit` clusters that are shown with at least two documents after a position. A damaged cluster is an error next to its
    /// position.
    fn clusters(
        &self,
        collection: u32,
        order: ClusterOrder,
        after: Option<ClusterPosition>,
        limit: usize,
    ) -> Result<Vec<(ClusterPosition, Result<ListedCluster>)>>;

    /// Returns clusters like [`clusters`](Self::clusters), with the titles of their centers.
    fn titled_clusters(
        &self,
        collection: u32,
        order: ClusterOrder,
        after: Option<ClusterPosition>,
        limit: usize,
    ) -> Result<Vec<(ClusterPosition, Result<TitledCluster>)>>;

    /// Returns up to `limit` clusters that are shown with a document of a source (an empty one for none), from the newest on, that are older
    /// than `before`. Clusters of one document are included.
    fn clusters_of_source(
        &self,
        collection: u32,
        source: &str,
        before: Option<ClusterId>,
        limit: usize,
    ) -> Result<Vec<ClusterId>>;

    /// Returns `true` if a cluster is shown with a document of a source.
    fn has_source(&self, collection: u32, cluster: ClusterId, source: &str) -> Result<bool>;

    /// Returns the number of documents of a source.
    fn source_documents(&self, collection: u32, source: &str) -> Result<u64>;

    /// Returns the dates of up to `limit` members that are shown in a cluster, in order, in milliseconds since 1970.
    fn moments(&self, cluster: ClusterId, limit: usize) -> Result<Vec<i64>>;

    /// Returns up to `limit` members that are shown in a cluster after a position, in order of their dates.
    fn members_by_date(
        &self,
        cluster: ClusterId,
        after: Option<MemberPosition>,
        limit: usize,
    ) -> Result<Vec<PlacedRow>>;

    /// Passes the cluster, date and source of the members of clusters of at least two documents to `sink`, from the newest
    /// cluster on, and those of a cluster in order of their dates. Ends after about `limit` members, with a complete cluster, and
    /// returns `true` if these were all.
    fn each_placed(&self, collection: u32, limit: u64, sink: PlacedSink<'_>) -> Result<bool>;

    /// Returns what a list shows of a document.
    fn caption(&self, number: u64) -> Result<Option<Caption>>;

    /// Returns the metadata of a document. They are not checked for damage.
    fn metadata(&self, number: u64) -> Result<Option<String>>;

    /// Returns up to `limit` events of a collection with greater sequence numbers than `after`, in order. A damaged event is an error
    /// next to its sequence number.
    fn events(&self, collection: u32, after: u64, limit: usize) -> Result<Vec<(u64, Result<EventRow>)>>;

    /// Returns the number of documents of a collection that were rejected.
    fn rejected(&self, collection: u32) -> Result<u64>;

    /// Returns which events of a collection are stored.
    fn event_range(&self, collection: u32) -> Result<EventRange>;

    /// Returns the documents and copies of the latest `limit` days, the latest one first.
    fn days(&self, collection: u32, limit: usize) -> Result<Vec<DayTotal>>;

    /// Returns the documents and copies of the `limit` sources that have the most documents.
    fn sources(&self, collection: u32, limit: usize) -> Result<Vec<SourceTotal>>;

    /// Returns the number of sources, of which documents without a source are one.
    fn count_sources(&self, collection: u32) -> Result<u64>;

    /// Returns the edits of a collection in order of their numbers. A damaged one is an error next to its number.
    fn edits(&self, collection: u32) -> Result<Vec<(u64, Result<EditRow>)>>;

    /// Returns the greatest number of an edit of a collection, also if it was deleted; 0 if there was none.
    fn last_edit(&self, collection: u32) -> Result<u64>;

    /// Returns the cluster of edits that is stored for documents.
    fn place(&self, collection: u32, placed: Placed) -> Result<Option<ClusterId>>;

    /// Returns all stored clusters of edits of a collection.
    fn places(&self, collection: u32) -> Result<Vec<(Placed, ClusterId)>>;

    /// Returns a cluster as lists show it. A cluster that is shown with one document may have no row.
    fn listed_cluster(&self, cluster: ClusterId) -> Result<Option<ListedCluster>>;

    /// Passes the number and the stored row of every cluster of a collection to `sink`.
    fn each_cluster(
        &self,
        collection: u32,
        sink: &mut dyn FnMut(ClusterId, Result<ClusterRow>) -> Result<()>,
    ) -> Result<()>;

    /// Checks the files of the store and returns what is wrong with them.
    fn check(&self) -> Result<Vec<Finding>>;

    /// Returns the size of the store on disk in bytes.
    fn bytes(&self) -> u64;

    /// Begins a read transaction: all later reads see the state at this call, whatever is committed meanwhile.
    fn begin_snapshot(&self) -> Result<()>;

    /// Ends the read transaction of [`begin_snapshot`](Self::begin_snapshot).
    fn end_snapshot(&self) -> Result<()>;

    /// Writes a consistent copy of the store to a new file. Writers can continue meanwhile.
    fn copy_to(&self, file: &Path) -> Result<()>;
}

/// A set of changes that is applied as a whole. Dropping it without [`commit`](Self::commit) undoes the changes.
pub trait Transaction {
    /// Returns a reader that sees the changes of this transaction.
    fn read(&self) -> &dyn Read;

    /// Inserts a collection, or replaces the one with the same number. The name must not belong to another collection.
    fn put_collection(&mut self, row: &CollectionRow) -> Result<()>;

    /// Deletes a collection. Its documents, sketches and clusters remain until [`remove_rows`](Self::remove_rows) has deleted
    /// them, because a large collection has too many for one transaction.
    fn drop_collection(&mut self, collection: u32) -> Result<()>;

    /// Deletes up to `limit` documents, with their sketches and cluster memberships, or clusters or tasks of a deleted
    /// collection. Returns `false` if there are none left.
    fn remove_rows(&mut self, collection: u32, limit: usize) -> Result<bool>;

    /// Inserts a document. Its number and, within its collection, its id must be new; an existing id is
    /// [`Error::Conflict`](crate::Error::Conflict).
    fn put_document(&mut self, row: &DocumentRow) -> Result<()>;

    /// Replaces the document with the same number. Its sketches and its cluster membership do not change.
    fn update_document(&mut self, row: &DocumentRow) -> Result<()>;

    /// Inserts or replaces the sketches of a document.
    fn put_sketch(&mut self, row: &SketchRow) -> Result<()>;

    /// Deletes a document with its sketches and its cluster membership.
    fn remove_document(&mut self, number: u64) -> Result<()>;

    /// Inserts or replaces the cluster membership of a document.
    fn put_member(&mut self, row: &MemberRow) -> Result<()>;

    /// Deletes the cluster memberships, clusters, tasks and clusters of edits of a collection.
    fn clear_clusters(&mut self, collection: u32) -> Result<()>;

    /// Inserts or replaces a cluster. A row that need not be stored is deleted: one without documents, or with one document
    /// and a center, unless it is shown with several documents.
    fn put_cluster(&mut self, collection: u32, row: &ClusterRow) -> Result<()>;

    /// Inserts an edit.
    fn put_edit(&mut self, row: &EditRow) -> Result<()>;

    /// Deletes an edit. Its number is not reused.
    fn remove_edit(&mut self, collection: u32, number: u64) -> Result<()>;

    /// Stores the cluster of edits of documents, or deletes it.
    fn put_place(&mut self, collection: u32, placed: Placed, cluster: Option<ClusterId>) -> Result<()>;

    /// Inserts or replaces a task.
    fn put_task(&mut self, row: &TaskRow) -> Result<()>;

    /// Deletes a task.
    fn remove_task(&mut self, row: &TaskRow) -> Result<()>;

    /// Appends an event with the next sequence number of its collection. Deletes old events, except for the latest 100,000 and
    /// those of the last 24 hours. Events can be read after the commit.
    fn put_event(&mut self, row: &EventRow) -> Result<()>;

    /// Sets the number of documents of a collection that were rejected.
    fn put_rejected(&mut self, collection: u32, count: u64) -> Result<()>;

    /// Sets the greatest numbers that were assigned.
    fn put_counters(&mut self, counters: Counters) -> Result<()>;

    /// Sets when a document last arrived in a collection, because the document itself may be deleted.
    fn put_last_arrival(&mut self, collection: u32, time: i64) -> Result<()>;

    /// Sets what is known about the time.
    fn put_clock(&mut self, clock: ClockRow) -> Result<()>;

    /// Commits the changes. They are durable when this returns.
    fn commit(self: Box<Self>) -> Result<()>;
}
