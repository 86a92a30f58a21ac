//! Rows of events: the events of a transaction share rows of up to [`PER_ROW`] lines.
//!
//! A line has the fields of an event, separated by tabs. A row for each event would take several times as long to write.

use super::SqliteStore;
use super::decode::{damaged, get_i64, get_str, get_u64, wrong_type};
use super::write::SqliteTransaction;
use crate::error::Result;
use crate::model::{EventKind, EventRange};
use crate::rows::EventRow;
use rusqlite::{Row, params};
use sameish::DocId;
use sameish::cluster::ClusterId;
use sameish::matching::{MatchKind, Relation};
use std::fmt::Write;

/// Maximum number of events per row. A reader decodes at most as many that it does not need.
const PER_ROW: usize = 128;
/// After how many events old rows are deleted, and how many at most. More are deleted than added, so that a backlog shrinks.
const REMOVE_EVERY: u64 = 64;
const REMOVED_ROWS: i64 = 256;
/// Number of events, and time in milliseconds, for which events are kept.
const KEPT_EVENTS: u64 = 100_000;
const KEPT_MILLISECONDS: i64 = 86_400_000;

/// Kinds of matches, and whether they are templates. The position is the stored number.
const MATCH_KINDS: [(MatchKind, bool); 6] = [
    (MatchKind::Exact, false),
    (MatchKind::Near, false),
    (MatchKind::Similar, false),
    (MatchKind::Exact, true),
    (MatchKind::Near, true),
    (MatchKind::Similar, true),
];
/// Relations. The position is the stored number.
const RELATIONS: [Relation; 6] = [
    Relation::Same,
    Relation::Contains,
    Relation::ContainedIn,
    Relation::UpdateOf,
    Relation::UpdatedBy,
    Relation::Overlaps,
];

/// Events of a collection that are written before the commit.
pub(super) struct NewEvents {
    collection: u32,
    rows: Vec<NewRow>,
}

struct NewRow {
    count: usize,
    at: i64,
    lines: String,
}

impl NewEvents {
    pub(super) fn new(collection: u32) -> NewEvents {
        NewEvents { collection, rows: Vec::new() }
    }

    pub(super) fn collection(&self) -> u32 {
        self.collection
    }

    pub(super) fn push(&mut self, event: &EventRow) {
        let full = self.rows.last().is_none_or(|row| row.count == PER_ROW);
        if full {
            self.rows.push(NewRow { count: 0, at: event.at, lines: String::new() });
        }
        let Some(row) = self.rows.last_mut() else { return };
        if row.count > 0 {
            row.lines.push('\n');
        }
        write_line(&mut row.lines, event);
        row.count += 1;
        row.at = event.at;
    }

    /// Writes the events with the next sequence numbers, and deletes old ones now and then.
    pub(super) fn write(self, transaction: &SqliteTransaction<'_>) -> Result<()> {
        let collection = self.collection;
        let before = transaction.store().newest_event(collection)?;
        let mut last = before;
        for row in &self.rows {
            last += row.count as u64;
            let values = params![collection, last as i64, row.count as i64, row.at, row.lines];
            transaction.execute("INSERT INTO event_batches VALUES (?, ?, ?, ?, ?)", values)?;
        }
        match self.rows.last() {
            Some(row) if before / REMOVE_EVERY != last / REMOVE_EVERY => {
                remove_old(transaction, collection, last, row.at)
            }
            _ => Ok(()),
        }
    }
}

/// Deletes old rows from the beginning, so that there are no gaps.
fn remove_old(transaction: &SqliteTransaction<'_>, collection: u32, newest: u64, now: i64) -> Result<()> {
    let sql = "SELECT last, at FROM event_batches WHERE collection = ? AND last <= ? ORDER BY last LIMIT ?";
    let mut last = None;
    let mut is_old = true;
    let newest_removed = newest.saturating_sub(KEPT_EVENTS) as i64;
    transaction.store().for_each(sql, params![collection, newest_removed, REMOVED_ROWS], |row| {
        is_old &= get_i64(row, 1)? < now.saturating_sub(KEPT_MILLISECONDS);
        if is_old {
            last = Some(get_i64(row, 0)?);
        }
        Ok(())
    })?;
    let Some(last) = last else { return Ok(()) };
    let sql = "DELETE FROM event_batches WHERE collection = ? AND last <= ?";
    transaction.execute(sql, params![collection, last])
}

impl SqliteStore {
    pub(super) fn read_events(
        &self,
        collection: u32,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Result<EventRow>)>> {
        let sql =
            "SELECT last, count, events FROM event_batches WHERE collection = ? AND last > ? ORDER BY last";
        let database_error = |error| self.database_error(error);
        let mut statement = self.connection.prepare_cached(sql).map_err(database_error)?;
        let first = after.min(i64::MAX as u64) as i64;
        let mut rows = statement.query(params![collection, first]).map_err(database_error)?;
        let mut events = Vec::new();
        while events.len() < limit
            && let Some(row) = rows.next().map_err(database_error)?
        {
            let wanted = events_of(row, collection)?.into_iter().filter(|(sequence, _)| *sequence > after);
            events.extend(wanted.take(limit - events.len()));
        }
        Ok(events)
    }

    pub(super) fn stored_event_range(&self, collection: u32) -> Result<EventRange> {
        let first = "SELECT last, count FROM event_batches WHERE collection = ? ORDER BY last LIMIT 1";
        let oldest = self.query_one(first, [collection], |row| {
            get_u64(row, 0)?.checked_sub(get_u64(row, 1)?).ok_or_else(|| wrong_type(1))
        })?;
        Ok(EventRange { oldest: oldest.unwrap_or(0) + 1, newest: self.newest_event(collection)? })
    }

    fn newest_event(&self, collection: u32) -> Result<u64> {
        let sql = "SELECT last FROM event_batches WHERE collection = ? ORDER BY last DESC LIMIT 1";
        Ok(self.query_one(sql, [collection], |row| get_u64(row, 0))?.unwrap_or(0))
    }
}

/// Returns the events of a row with their sequence numbers. A damaged line is an error.
fn events_of(row: &Row<'_>, collection: u32) -> Result<Vec<(u64, Result<EventRow>)>> {
    let last = get_u64(row, 0)?;
    let count = get_u64(row, 1)?.min(last).min(PER_ROW as u64);
    // A damaged row has fewer lines, or none.
    let mut lines = get_str(row, 2).unwrap_or_default().lines();
    let mut event = |sequence| {
        let event = lines.next().and_then(|line| parse_line(line, collection));
        event.ok_or_else(|| damaged("event", sequence, "it cannot be read"))
    };
    Ok((last - count + 1..=last).map(|sequence| (sequence, event(sequence))).collect())
}

/// Appends the line of an event without its end. The JSON of an id contains neither tabs nor line ends.
fn write_line(lines: &mut String, event: &EventRow) {
    let kind = EventKind::ALL.iter().position(|known| *known == event.kind).unwrap_or_default();
    let EventRow { at, document, id, cluster, similarity, relation, template, .. } = event;
    let found = event.match_kind.map(|kind| (kind, *template));
    let found = found.and_then(|found| MATCH_KINDS.iter().position(|known| *known == found));
    let relation = relation.and_then(|relation| RELATIONS.iter().position(|known| *known == relation));
    // Writing to a string cannot fail.
    _ = write!(lines, "{at}\t{kind}\t{document}\t{}", id.to_json());
    write_optional(lines, cluster.map(|cluster| cluster.0));
    write_optional(lines, *similarity);
    write_optional(lines, found);
    write_optional(lines, relation);
}

fn write_optional(lines: &mut String, field: Option<impl std::fmt::Display>) {
    lines.push('\t');
    if let Some(field) = field {
        _ = write!(lines, "{field}");
    }
}

/// Parses a line. Returns `None` if it is damaged.
fn parse_line(line: &str, collection: u32) -> Option<EventRow> {
    let mut fields = line.split('\t');
    let event = EventRow {
        collection,
        at: fields.next()?.parse().ok()?,
        kind: EventKind::ALL.get(fields.next()?.parse::<usize>().ok()?).copied()?,
        document: fields.next()?.parse().ok()?,
        id: DocId::from_json(fields.next()?)?,
        cluster: parse_optional(fields.next()?)?.map(ClusterId),
        similarity: parse_optional(fields.next()?)?,
        match_kind: None,
        template: false,
        relation: None,
    };
    let found: Option<usize> = parse_optional(fields.next()?)?;
    let found = found.and_then(|found| MATCH_KINDS.get(found).copied());
    let relation: Option<usize> = parse_optional(fields.next()?)?;
    Some(EventRow {
        match_kind: found.map(|(kind, _)| kind),
        template: found.is_some_and(|(_, template)| template),
        relation: relation.and_then(|relation| RELATIONS.get(relation).copied()),
        ..event
    })
}

/// Parses a field that may be empty. Returns `None` if it is damaged.
fn parse_optional<T: std::str::FromStr>(field: &str) -> Option<Option<T>> {
    if field.is_empty() { Some(None) } else { field.parse().ok().map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: DocId) -> EventRow {
        EventRow {
            collection: 3,
            at: -5,
            kind: EventKind::Replaced,
            document: 7,
            id,
            cluster: Some(ClusterId(9)),
            similarity: Some(0.1 + 0.2),
            match_kind: Some(MatchKind::Near),
            template: true,
            relation: Some(Relation::UpdatedBy),
        }
    }

    fn line(event: &EventRow) -> String {
        let mut line = String::new();
        write_line(&mut line, event);
        line
    }

    #[test]
    fn a_line_has_all_fields_of_an_event() {
        for id in [DocId::Number(7), DocId::Text("a\tb\n\"c\" \u{2028}".into()), DocId::Negative(-1)] {
            let event = event(id);
            assert_eq!(parse_line(&line(&event), 3), Some(event.clone()));
            let empty = EventRow {
                cluster: None,
                similarity: None,
                match_kind: None,
                template: false,
                relation: None,
                ..event
            };
            assert_eq!(parse_line(&line(&empty), 3), Some(empty));
        }
    }

    #[test]
    fn a_damaged_line_is_no_event() {
        let intact = line(&event(DocId::Number(7)));
        assert!(parse_line(&intact, 3).is_some());
        for damaged in ["", "x", &intact.replace("\t7\t", "\tx\t"), &intact[..intact.len() - 2]] {
            assert_eq!(parse_line(damaged, 3), None, "{damaged}");
        }
    }
}
