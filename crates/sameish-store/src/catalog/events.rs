//! What happened to the documents of a collection, in order.
//!
//! Events are written in the transaction of the change that they describe. A client that continues after the last event that it
//! received therefore misses none. When an event is read, it is described with the current state of its document and cluster.

use super::clusters::{ClusterChanges, undamaged};
use super::collection::{Collection, timestamp};
use super::search::Sink;
use crate::error::Result;
use crate::model::{Event, EventKind, EventRange, Events};
use crate::rows::{EventRow, MemberRow};
use crate::store::{Read, Transaction};
use sameish::cluster::ClusterId;
use sameish::matching::Relation;
use sameish::{DocId, Match};
use std::ops::ControlFlow;
use xxhash_rust::xxh3::xxh3_64;

impl Collection {
    /// Returns up to `limit` events with greater sequence numbers than `after`, in order. Damaged events are left out.
    pub fn events(&self, after: u64, limit: usize) -> Result<Events> {
        let mut events = Vec::new();
        let last = self.events_each(after, limit, &mut |event| {
            events.push(event);
            ControlFlow::Continue(())
        })?;
        Ok(Events { events, last })
    }

    /// Passes events to `sink` like [`events`](Self::events), until it breaks. Returns the sequence number of the last event that
    /// was passed on or left out.
    pub fn events_each(&self, after: u64, limit: usize, sink: Sink<'_, Event>) -> Result<u64> {
        let read = self.shared.readers.snapshot()?;
        let mut last = after;
        for (sequence, row) in read.events(self.live.row.number, after, limit)? {
            if let Some(row) = undamaged(row.map(Some))?
                && let Some(event) = undamaged(described(&*read, sequence, row).map(Some))?
                && sink(event).is_break()
            {
                return Ok(sequence);
            }
            last = sequence;
        }
        Ok(last)
    }

    /// Returns `true` if an event has a check value. It differs after the collection was restored to an earlier state or created
    /// again, and then had other events.
    pub fn has_event(&self, sequence: u64, check: u32) -> Result<bool> {
        let read = self.shared.readers.get()?;
        let found = read.events(self.live.row.number, sequence.saturating_sub(1), 1)?.into_iter().next();
        Ok(found.is_some_and(|(number, row)| {
            number == sequence && row.is_ok_and(|row| check_of(sequence, &row) == check)
        }))
    }

    /// Returns which events are stored.
    pub fn event_range(&self) -> Result<EventRange> {
        self.shared.readers.get()?.event_range(self.live.row.number)
    }

    /// Returns `true` if the other handle refers to the same collection, and not to a later one with the same name.
    pub fn is_same(&self, other: &Collection) -> bool {
        std::sync::Arc::ptr_eq(&self.live, &other.live)
    }
}

/// Returns a hash of what never changes of an event.
fn check_of(sequence: u64, row: &EventRow) -> u32 {
    let EventRow { collection, at, kind, document, id, .. } = row;
    let text = format!("{collection} {sequence} {at} {} {document} {}", kind.name(), id.to_json());
    xxh3_64(text.as_bytes()) as u32
}

fn described(read: &dyn Read, sequence: u64, row: EventRow) -> Result<Event> {
    let caption = undamaged(read.caption(row.document))?.unwrap_or_default();
    let first = match row.cluster {
        Some(cluster) if row.kind != EventKind::Deleted => read.members_by_date(cluster, None, 1)?.pop(),
        _ => None,
    };
    let size = row.cluster.map(|cluster| undamaged(read.listed_cluster(cluster))).transpose()?.flatten();
    // Clusters of one document have no stored row.
    let size = size.map_or(u64::from(first.is_some()), |row| row.listed);
    let lead_seconds = first.zip(caption.moment).map(|(first, own)| own.saturating_sub(first.moment) / 1_000);
    Ok(Event {
        sequence,
        check: check_of(sequence, &row),
        kind: row.kind,
        at: timestamp(row.at),
        id: row.id,
        title: caption.title,
        source: caption.source,
        published_at: caption.published_at,
        cluster: row.cluster,
        size,
        similarity: row.similarity,
        match_kind: row.match_kind,
        template: row.template,
        relation: row.relation,
        lead_seconds,
    })
}

/// Returns the event of a new or replaced document.
pub(super) fn stored_event(
    collection: u32,
    kind: EventKind,
    document: u64,
    id: DocId,
    cluster: Option<ClusterId>,
    best: Option<&Match>,
) -> EventRow {
    EventRow {
        collection,
        at: super::now(),
        kind,
        document,
        id,
        cluster,
        similarity: best.map(|best| best.verdict.similarity),
        match_kind: best.map(|best| best.verdict.kind),
        template: best.is_some_and(|best| best.verdict.template),
        // An event has the relation of the match to the document.
        relation: best.and_then(|best| best.relation).map(Relation::reversed),
    }
}

/// Records that a document is in another cluster than before.
pub(super) fn put_moved(
    change: &mut dyn Transaction,
    collection: u32,
    document: u64,
    cluster: ClusterId,
) -> Result<()> {
    let Some(caption) = undamaged(change.read().caption(document))? else { return Ok(()) };
    let Some(id) = DocId::from_json(&caption.id) else { return Ok(()) };
    change.put_event(&stored_event(collection, EventKind::Moved, document, id, Some(cluster), None))
}

impl ClusterChanges<'_> {
    /// Records that the linkage gives a document another cluster than before, or that edits do.
    pub(super) fn note_moved(&mut self, before: &MemberRow, cluster: ClusterId) -> Result<()> {
        let mut shown = cluster;
        if self.live.has_edits() || before.edited.is_some() {
            shown = self.member(before.document)?.map_or(cluster, |member| member.shown());
            if shown == before.shown() {
                return Ok(());
            }
        }
        put_moved(self.change, self.live.row.number, before.document, shown)
    }
}
