-- Editorial decisions. `clusters` is the first of the cluster ids that are reserved for the edit. `documents` is a JSON list of lists
-- of ids.
CREATE TABLE edits (
  collection INTEGER NOT NULL,
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  clusters INTEGER NOT NULL,
  documents TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (collection, number)
) WITHOUT ROWID;

-- The clusters that edits give, derived from edits and members: of the documents that edits name (kind 0), and of the other documents
-- of clusters of the linkage (kind 1, only where it is another one). `item` is the number of a document or a cluster.
CREATE TABLE places (
  collection INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  item INTEGER NOT NULL,
  cluster INTEGER NOT NULL,
  PRIMARY KEY (collection, kind, item)
) WITHOUT ROWID;

-- `cluster` is the cluster that the linkage gives. `edited` is the one that edits give, or NULL if they do not change it. Lists and
-- totals use `shown`, and so does `listed`, the number of documents of a cluster in lists.
ALTER TABLE members ADD COLUMN edited INTEGER;
ALTER TABLE members ADD COLUMN shown INTEGER GENERATED ALWAYS AS (coalesce(edited, cluster)) VIRTUAL;
ALTER TABLE clusters ADD COLUMN listed INTEGER NOT NULL DEFAULT 0;
DROP TRIGGER cluster_inserted;
DROP TRIGGER member_inserted;
DROP TRIGGER member_deleted;
DROP TRIGGER member_updated;
DROP INDEX members_by_moment;
DROP INDEX clusters_by_size;
CREATE INDEX members_by_moment ON members (shown, moment, document, source);
CREATE INDEX members_by_shown ON members (shown);
CREATE INDEX clusters_by_size ON clusters (collection, listed, number);
UPDATE clusters SET listed = (SELECT count(*) FROM members WHERE members.shown = clusters.number);

CREATE TRIGGER cluster_inserted AFTER INSERT ON clusters BEGIN
  UPDATE clusters SET
    first = coalesce((SELECT min(moment) FROM members WHERE shown = new.number), 0),
    last = coalesce((SELECT max(moment) FROM members WHERE shown = new.number), 0),
    latest = coalesce((SELECT max(document) FROM members WHERE shown = new.number), 0),
    listed = (SELECT count(*) FROM members WHERE shown = new.number)
  WHERE number = new.number;
END;

-- One document of a cluster becomes a copy when a member is added, and one stops being a copy when it is removed: the later one of
-- the member and the first of the others.
CREATE TRIGGER member_inserted AFTER INSERT ON members BEGIN
  INSERT INTO day_totals VALUES (new.collection, (new.moment - (new.moment % 86400000 + 86400000) % 86400000) / 86400000, 1, 0)
    ON CONFLICT DO UPDATE SET documents = documents + 1;
  INSERT INTO source_totals VALUES (new.collection, coalesce(new.source, ''), 1, 0)
    ON CONFLICT DO UPDATE SET documents = documents + 1;
  UPDATE day_totals SET copies = copies + 1
    WHERE collection = new.collection AND day = (SELECT (later - (later % 86400000 + 86400000) % 86400000) / 86400000 FROM (SELECT max(new.moment, (SELECT moment FROM members WHERE shown = new.shown AND document <> new.document ORDER BY moment, document LIMIT 1)) AS later));
  UPDATE source_totals SET copies = copies + 1
    WHERE collection = new.collection AND source = CASE WHEN (new.moment, new.document) < (SELECT moment, document FROM members WHERE shown = new.shown AND document <> new.document ORDER BY moment, document LIMIT 1) THEN (SELECT coalesce(source, '') FROM members WHERE shown = new.shown AND document <> new.document ORDER BY moment, document LIMIT 1) ELSE coalesce(new.source, '') END
    AND EXISTS (SELECT 1 FROM members WHERE shown = new.shown AND document <> new.document);
  UPDATE clusters SET first = min(first, new.moment), last = max(last, new.moment), latest = max(latest, new.document),
    listed = listed + 1
    WHERE number = new.shown;
END;
CREATE TRIGGER member_deleted AFTER DELETE ON members BEGIN
  UPDATE day_totals SET documents = documents - 1
    WHERE collection = old.collection AND day = (old.moment - (old.moment % 86400000 + 86400000) % 86400000) / 86400000;
  UPDATE source_totals SET documents = documents - 1
    WHERE collection = old.collection AND source = coalesce(old.source, '');
  UPDATE day_totals SET copies = copies - 1
    WHERE collection = old.collection AND day = (SELECT (later - (later % 86400000 + 86400000) % 86400000) / 86400000 FROM (SELECT max(old.moment, (SELECT moment FROM members WHERE shown = old.shown AND document <> old.document ORDER BY moment, document LIMIT 1)) AS later));
  UPDATE source_totals SET copies = copies - 1
    WHERE collection = old.collection AND source = CASE WHEN (old.moment, old.document) < (SELECT moment, document FROM members WHERE shown = old.shown AND document <> old.document ORDER BY moment, document LIMIT 1) THEN (SELECT coalesce(source, '') FROM members WHERE shown = old.shown AND document <> old.document ORDER BY moment, document LIMIT 1) ELSE coalesce(old.source, '') END
    AND EXISTS (SELECT 1 FROM members WHERE shown = old.shown AND document <> old.document);
  DELETE FROM day_totals WHERE collection = old.collection AND day = (old.moment - (old.moment % 86400000 + 86400000) % 86400000) / 86400000 AND documents <= 0;
  DELETE FROM source_totals WHERE collection = old.collection AND source = coalesce(old.source, '') AND documents <= 0;
  UPDATE clusters SET
    first = coalesce((SELECT min(moment) FROM members WHERE shown = old.shown), 0),
    last = coalesce((SELECT max(moment) FROM members WHERE shown = old.shown), 0),
    latest = coalesce((SELECT max(document) FROM members WHERE shown = old.shown), 0),
    listed = listed - 1
    WHERE number = old.shown;
END;
CREATE TRIGGER member_updated AFTER UPDATE OF cluster, edited, moment, source ON members
WHEN old.shown <> new.shown OR old.moment <> new.moment OR old.source IS NOT new.source BEGIN
  UPDATE day_totals SET documents = documents - 1
    WHERE collection = old.collection AND day = (old.moment - (old.moment % 86400000 + 86400000) % 86400000) / 86400000;
  UPDATE source_totals SET documents = documents - 1
    WHERE collection = old.collection AND source = coalesce(old.source, '');
  UPDATE day_totals SET copies = copies - 1
    WHERE collection = old.collection AND day = (SELECT (later - (later % 86400000 + 86400000) % 86400000) / 86400000 FROM (SELECT max(old.moment, (SELECT moment FROM members WHERE shown = old.shown AND document <> old.document ORDER BY moment, document LIMIT 1)) AS later));
  UPDATE source_totals SET copies = copies - 1
    WHERE collection = old.collection AND source = CASE WHEN (old.moment, old.document) < (SELECT moment, document FROM members WHERE shown = old.shown AND document <> old.document ORDER BY moment, document LIMIT 1) THEN (SELECT coalesce(source, '') FROM members WHERE shown = old.shown AND document <> old.document ORDER BY moment, document LIMIT 1) ELSE coalesce(old.source, '') END
    AND EXISTS (SELECT 1 FROM members WHERE shown = old.shown AND document <> old.document);
  DELETE FROM day_totals WHERE collection = old.collection AND day = (old.moment - (old.moment % 86400000 + 86400000) % 86400000) / 86400000 AND documents <= 0;
  DELETE FROM source_totals WHERE collection = old.collection AND source = coalesce(old.source, '') AND documents <= 0;
  UPDATE clusters SET
    first = coalesce((SELECT min(moment) FROM members WHERE shown = old.shown), 0),
    last = coalesce((SELECT max(moment) FROM members WHERE shown = old.shown), 0),
    latest = coalesce((SELECT max(document) FROM members WHERE shown = old.shown), 0),
    listed = listed - 1
    WHERE number = old.shown;
  INSERT INTO day_totals VALUES (new.collection, (new.moment - (new.moment % 86400000 + 86400000) % 86400000) / 86400000, 1, 0)
    ON CONFLICT DO UPDATE SET documents = documents + 1;
  INSERT INTO source_totals VALUES (new.collection, coalesce(new.source, ''), 1, 0)
    ON CONFLICT DO UPDATE SET documents = documents + 1;
  UPDATE day_totals SET copies = copies + 1
    WHERE collection = new.collection AND day = (SELECT (later - (later % 86400000 + 86400000) % 86400000) / 86400000 FROM (SELECT max(new.moment, (SELECT moment FROM members WHERE shown = new.shown AND document <> new.document ORDER BY moment, document LIMIT 1)) AS later));
  UPDATE source_totals SET copies = copies + 1
    WHERE collection = new.collection AND source = CASE WHEN (new.moment, new.document) < (SELECT moment, document FROM members WHERE shown = new.shown AND document <> new.document ORDER BY moment, document LIMIT 1) THEN (SELECT coalesce(source, '') FROM members WHERE shown = new.shown AND document <> new.document ORDER BY moment, document LIMIT 1) ELSE coalesce(new.source, '') END
    AND EXISTS (SELECT 1 FROM members WHERE shown = new.shown AND document <> new.document);
  UPDATE clusters SET first = min(first, new.moment), last = max(last, new.moment), latest = max(latest, new.document),
    listed = listed + 1
    WHERE number = new.shown;
END;
