//! Where do documents live?
//!
//! A [`Store`] keeps rows and knows nothing of similarity. Whatever changes does so in a [`Transaction`]: all of it or
//! nothing, and durable when [`commit`](Transaction::commit) returns. Every row carries a checksum of ours, made and
//! checked in `rows.rs`, because databases notice few of the bits that a disk turns over.

use crate::error::Result;
use crate::model::Finding;
use crate::rows::{CollectionRow, Counters, DocumentRow, MemberRow, SketchRow};
use sameish::{ClusterId, DocId};
use std::path::Path;

/// A place for documents, their sketches and their clusters.
pub trait Store: Send {
    /// Another way to read, for another thread. It sees what was committed.
    fn reader(&self) -> Result<Box<dyn Read + Send>>;

    /// Brings the files into the form in which they rest, when nothing more is to be written for now.
    fn settle(&mut self) -> Result<()>;

    /// Sets room aside for deletes on a full disk. New documents are stored only when that could be done.
    fn keep_room(&mut self) -> Result<()> {
        Ok(())
    }

    /// Gives up the room that was set aside; tells whether there was any.
    fn give_room(&mut self) -> bool {
        false
    }

    /// Begins a change, of which there is one at a time.
    fn begin(&mut self) -> Result<Box<dyn Transaction + '_>>;
}

/// What can be asked. Every answer was checked against its checksum; what does not fit is
/// [`Error::Damaged`](crate::Error::Damaged).
pub trait Read {
    /// Another way to read, for another thread.
    fn another(&self) -> Result<Box<dyn Read + Send>>;

    /// All collections, the oldest first.
    fn collections(&self) -> Result<Vec<CollectionRow>>;

    /// Numbers that were given.
    fn counters(&self) -> Result<Counters>;

    /// The number of the document that has an id, be it readable or not.
    fn number_of(&self, collection: u32, id: &DocId) -> Result<Option<u64>>;

    /// A document by its number.
    fn document(&self, number: u64) -> Result<Option<DocumentRow>>;

    /// What was made of a document.
    fn sketch(&self, number: u64) -> Result<Option<SketchRow>>;

    /// Numbers and ids of a collection's documents, in no particular order.
    fn each_id(&self, collection: u32, sink: &mut dyn FnMut(u64, DocId) -> Result<()>) -> Result<()>;

    /// The documents of a collection whose numbers are greater than `after`, by number, each with what reading it gave.
    fn documents(&self, collection: u32, after: u64, limit: usize)
    -> Result<Vec<(u64, Result<DocumentRow>)>>;

    /// The sketches of a collection by the number of the document, each with what reading it gave.
    fn each_sketch(
        &self,
        collection: u32,
        sink: &mut dyn FnMut(u64, Result<SketchRow>) -> Result<()>,
    ) -> Result<()>;

    /// Where a document belongs.
    fn member(&self, document: u64) -> Result<Option<MemberRow>>;

    /// The documents of a cluster by number, the first `limit` of them.
    fn members(&self, cluster: ClusterId, limit: usize) -> Result<Vec<MemberRow>>;

    /// All memberships of a collection by the number of the document, each with what reading it gave.
    fn each_member(
        &self,
        collection: u32,
        sink: &mut dyn FnMut(u64, Result<MemberRow>) -> Result<()>,
    ) -> Result<()>;

    /// How many documents a cluster of two and more has; nothing for one that is not there, or alone.
    fn cluster_size(&self, cluster: ClusterId) -> Result<Option<u64>>;

    /// The documents that joined their cluster for this one.
    fn joined(&self, document: u64) -> Result<Vec<MemberRow>>;

    /// Clusters of two and more of a collection: how many, their documents, and how many the largest has.
    fn cluster_figures(&self, collection: u32) -> Result<[u64; 3]>;

    /// Clusters of two and more, with their sizes, the newest first.
    fn clusters(
        &self,
        collection: u32,
        before: Option<ClusterId>,
        limit: usize,
    ) -> Result<Vec<(ClusterId, u64)>>;

    /// What the store itself finds wrong with its files, and how many bytes they take.
    fn check(&self) -> Result<Vec<Finding>>;

    /// Bytes on disk.
    fn bytes(&self) -> u64;

    /// From now on this reader sees everything as it is at its next question, whatever others write.
    fn hold(&self) -> Result<()>;

    /// Writes a whole and consistent copy to a new file, while others write.
    fn copy_to(&self, file: &Path) -> Result<()>;
}

/// A change that is being made. Dropped without [`commit`](Self::commit), nothing of it was done.
pub trait Transaction {
    /// Reads what is there, changes of this transaction included.
    fn read(&self) -> &dyn Read;

    /// Adds a collection or changes one.
    fn put_collection(&mut self, row: &CollectionRow) -> Result<()>;

    /// Takes out a collection with all that is in it.
    fn drop_collection(&mut self, collection: u32) -> Result<()>;

    /// Adds a document, of which the number and the id are new in its collection; a known id is
    /// [`Error::Conflict`](crate::Error::Conflict).
    fn put_document(&mut self, row: &DocumentRow) -> Result<()>;

    /// Writes a document in place of the one that has its number; what belongs to it stays.
    fn update_document(&mut self, row: &DocumentRow) -> Result<()>;

    /// Notes what was made of a document, in place of what was noted before.
    fn put_sketch(&mut self, row: &SketchRow) -> Result<()>;

    /// Takes out a document, what was made of it and its membership.
    fn remove_document(&mut self, number: u64) -> Result<()>;

    /// Notes where a document belongs, in place of what was noted before.
    fn put_member(&mut self, row: &MemberRow) -> Result<()>;

    /// Notes how many documents a cluster has; one of fewer than two is forgotten.
    fn put_cluster(&mut self, collection: u32, cluster: ClusterId, size: u64) -> Result<()>;

    /// Notes which numbers were given.
    fn put_counters(&mut self, counters: Counters) -> Result<()>;

    /// Makes it all durable.
    fn commit(self: Box<Self>) -> Result<()>;
}
