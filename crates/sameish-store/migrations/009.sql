-- Totals and lists are now updated once per transaction by the program instead of by triggers for each row. See `sqlite/derived.rs`.
DROP TRIGGER cluster_inserted;
DROP TRIGGER member_inserted;
DROP TRIGGER member_deleted;
DROP TRIGGER member_updated;
DROP TRIGGER cluster_updated;
DROP TRIGGER cluster_deleted;
-- Few members are edited, and the others are found by `members_by_cluster`.
DROP INDEX members_by_shown;
CREATE INDEX members_by_edited ON members (edited) WHERE edited IS NOT NULL;

-- Events of a transaction share a row. `last` is the sequence number of the last one, and `at` its time. `events` has one line per event
-- with the fields time, kind, document, id, cluster, similarity, match and relation, separated by tabs; a field without a value is empty.
CREATE TABLE event_batches (
  collection INTEGER NOT NULL,
  last INTEGER NOT NULL,
  count INTEGER NOT NULL,
  at INTEGER NOT NULL,
  events TEXT NOT NULL,
  PRIMARY KEY (collection, last)
) WITHOUT ROWID;
INSERT INTO event_batches
  SELECT collection, max(sequence), count(*), max(at), group_concat(line, char(10) ORDER BY sequence) FROM (
    SELECT collection, sequence, at, at || char(9) || kind || char(9) || document || char(9) || id || char(9) || coalesce(cluster, '')
      || char(9) || iif(similarity IS NULL, '', format('%!.17g', similarity)) || char(9) || coalesce(match, '') || char(9) || coalesce(relation, '') AS line
    FROM events)
  GROUP BY collection, sequence / 128;
DROP TABLE events;
