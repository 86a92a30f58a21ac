-- Which documents become centers first: NULL for the first ones to arrive, 1 for the newest, 2 for the longest. The checksum of a row
-- covers it only if it is not NULL, so the checksums of earlier rows stay valid.
ALTER TABLE collections ADD COLUMN center INTEGER;

-- Rank of a document among those that become centers, less for earlier ones, or NULL if they become centers in order of arrival.
ALTER TABLE members ADD COLUMN rank INTEGER;
CREATE INDEX members_by_rank ON members (cluster, rank, document) WHERE rank IS NOT NULL;
-- Documents of a collection in order of arrival, so that reading some of them does not read those of other collections.
CREATE INDEX documents_by_collection ON documents (collection);
CREATE INDEX places_by_cluster ON places (collection, kind, cluster);
-- The clusters of a source ('' for none).
CREATE INDEX members_by_source ON members (collection, coalesce(source, ''), shown);

-- Relation of a new document to its best match.
ALTER TABLE events ADD COLUMN relation INTEGER;

-- Source of the first document of a cluster, and number of its sources. Triggers maintain them.
ALTER TABLE clusters ADD COLUMN first_source TEXT NOT NULL DEFAULT '';
ALTER TABLE clusters ADD COLUMN sources INTEGER NOT NULL DEFAULT 0;
-- Number of clusters of at least two documents whose first document is of this day or source.
ALTER TABLE day_totals ADD COLUMN clusters INTEGER NOT NULL DEFAULT 0;
ALTER TABLE source_totals ADD COLUMN clusters INTEGER NOT NULL DEFAULT 0;
DROP TRIGGER cluster_inserted;
DROP TRIGGER member_inserted;
DROP TRIGGER member_deleted;
DROP TRIGGER member_updated;
-- The dates of clusters that edits had emptied for a while were wrong.
UPDATE clusters SET
  first = coalesce((SELECT min(moment) FROM members WHERE shown = clusters.number), 0),
  last = coalesce((SELECT max(moment) FROM members WHERE shown = clusters.number), 0),
  first_source = coalesce((SELECT source FROM members WHERE shown = clusters.number ORDER BY moment, document LIMIT 1), ''),
  sources = (SELECT count(DISTINCT coalesce(source, '')) FROM members WHERE shown = clusters.number);
INSERT INTO day_totals SELECT collection, (first - (first % 86400000 + 86400000) % 86400000) / 86400000, 0, 0, count(*)
  FROM clusters WHERE listed > 1 GROUP BY 1, 2 ON CONFLICT DO UPDATE SET clusters = excluded.clusters;
INSERT INTO source_totals SELECT collection, first_source, 0, 0, count(*)
  FROM clusters WHERE listed > 1 GROUP BY 1, 2 ON CONFLICT DO UPDATE SET clusters = excluded.clusters;

CREATE TRIGGER cluster_inserted AFTER INSERT ON clusters BEGIN
  UPDATE clusters SET
    first = coalesce((SELECT min(moment) FROM members WHERE shown = new.number), 0),
    last = coalesce((SELECT max(moment) FROM members WHERE shown = new.number), 0),
    latest = coalesce((SELECT max(document) FROM members WHERE shown = new.number), 0),
    listed = (SELECT count(*) FROM members WHERE shown = new.number),
    first_source = coalesce((SELECT source FROM members WHERE shown = new.number ORDER BY moment, document LIMIT 1), ''),
    sources = (SELECT count(DISTINCT coalesce(source, '')) FROM members WHERE shown = new.number)
  WHERE number = new.number;
END;

-- A row of totals is deleted last, because a document can be counted in the same row again.
-- One document of a cluster becomes a copy when a member is added, and one stops being a copy when it is removed: the later one of
-- the member and the first of the others.
CREATE TRIGGER member_inserted AFTER INSERT ON members BEGIN
  INSERT INTO day_totals VALUES (new.collection, (new.moment - (new.moment % 86400000 + 86400000) % 86400000) / 86400000, 1, 0, 0)
    ON CONFLICT DO UPDATE SET documents = documents + 1;
  INSERT INTO source_totals VALUES (new.collection, coalesce(new.source, ''), 1, 0, 0)
    ON CONFLICT DO UPDATE SET documents = documents + 1;
  UPDATE day_totals SET copies = copies + 1
    WHERE collection = new.collection AND day = (SELECT (later - (later % 86400000 + 86400000) % 86400000) / 86400000 FROM (SELECT max(new.moment, (SELECT moment FROM members WHERE shown = new.shown AND document <> new.document ORDER BY moment, document LIMIT 1)) AS later));
  UPDATE source_totals SET copies = copies + 1
    WHERE collection = new.collection AND source = CASE WHEN (new.moment, new.document) < (SELECT moment, document FROM members WHERE shown = new.shown AND document <> new.document ORDER BY moment, document LIMIT 1) THEN (SELECT coalesce(source, '') FROM members WHERE shown = new.shown AND document <> new.document ORDER BY moment, document LIMIT 1) ELSE coalesce(new.source, '') END
    AND EXISTS (SELECT 1 FROM members WHERE shown = new.shown AND document <> new.document);
  UPDATE clusters SET first = iif(listed > 0, min(first, new.moment), new.moment),
    last = iif(listed > 0, max(last, new.moment), new.moment), latest = max(latest, new.document),
    listed = listed + 1, first_source = coalesce((SELECT source FROM members WHERE shown = new.shown ORDER BY moment, document LIMIT 1), ''),
    sources = sources + (NOT EXISTS (SELECT 1 FROM members WHERE collection = new.collection AND coalesce(source, '') = coalesce(new.source, '') AND shown = new.shown AND document <> new.document))
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
  UPDATE clusters SET
    first = coalesce((SELECT min(moment) FROM members WHERE shown = old.shown), 0),
    last = coalesce((SELECT max(moment) FROM members WHERE shown = old.shown), 0),
    latest = coalesce((SELECT max(document) FROM members WHERE shown = old.shown), 0),
    listed = listed - 1, first_source = coalesce((SELECT source FROM members WHERE shown = old.shown ORDER BY moment, document LIMIT 1), ''),
    sources = sources - (NOT EXISTS (SELECT 1 FROM members WHERE collection = old.collection AND coalesce(source, '') = coalesce(old.source, '') AND shown = old.shown AND document <> old.document))
    WHERE number = old.shown;
  DELETE FROM day_totals WHERE collection = old.collection AND day = (old.moment - (old.moment % 86400000 + 86400000) % 86400000) / 86400000 AND documents <= 0;
  DELETE FROM source_totals WHERE collection = old.collection AND source = coalesce(old.source, '') AND documents <= 0;
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
  UPDATE clusters SET
    first = coalesce((SELECT min(moment) FROM members WHERE shown = old.shown), 0),
    last = coalesce((SELECT max(moment) FROM members WHERE shown = old.shown), 0),
    latest = coalesce((SELECT max(document) FROM members WHERE shown = old.shown), 0),
    listed = listed - 1, first_source = coalesce((SELECT source FROM members WHERE shown = old.shown ORDER BY moment, document LIMIT 1), ''),
    sources = sources - (NOT EXISTS (SELECT 1 FROM members WHERE collection = old.collection AND coalesce(source, '') = coalesce(old.source, '') AND shown = old.shown AND document <> old.document))
    WHERE number = old.shown;
  INSERT INTO day_totals VALUES (new.collection, (new.moment - (new.moment % 86400000 + 86400000) % 86400000) / 86400000, 1, 0, 0)
    ON CONFLICT DO UPDATE SET documents = documents + 1;
  INSERT INTO source_totals VALUES (new.collection, coalesce(new.source, ''), 1, 0, 0)
    ON CONFLICT DO UPDATE SET documents = documents + 1;
  UPDATE day_totals SET copies = copies + 1
    WHERE collection = new.collection AND day = (SELECT (later - (later % 86400000 + 86400000) % 86400000) / 86400000 FROM (SELECT max(new.moment, (SELECT moment FROM members WHERE shown = new.shown AND document <> new.document ORDER BY moment, document LIMIT 1)) AS later));
  UPDATE source_totals SET copies = copies + 1
    WHERE collection = new.collection AND source = CASE WHEN (new.moment, new.document) < (SELECT moment, document FROM members WHERE shown = new.shown AND document <> new.document ORDER BY moment, document LIMIT 1) THEN (SELECT coalesce(source, '') FROM members WHERE shown = new.shown AND document <> new.document ORDER BY moment, document LIMIT 1) ELSE coalesce(new.source, '') END
    AND EXISTS (SELECT 1 FROM members WHERE shown = new.shown AND document <> new.document);
  UPDATE clusters SET first = iif(listed > 0, min(first, new.moment), new.moment),
    last = iif(listed > 0, max(last, new.moment), new.moment), latest = max(latest, new.document),
    listed = listed + 1, first_source = coalesce((SELECT source FROM members WHERE shown = new.shown ORDER BY moment, document LIMIT 1), ''),
    sources = sources + (NOT EXISTS (SELECT 1 FROM members WHERE collection = new.collection AND coalesce(source, '') = coalesce(new.source, '') AND shown = new.shown AND document <> new.document))
    WHERE number = new.shown;
  DELETE FROM day_totals WHERE collection = old.collection AND day = (old.moment - (old.moment % 86400000 + 86400000) % 86400000) / 86400000 AND documents <= 0;
  DELETE FROM source_totals WHERE collection = old.collection AND source = coalesce(old.source, '') AND documents <= 0;
END;

CREATE TRIGGER cluster_updated AFTER UPDATE OF first, listed, first_source ON clusters
WHEN (old.listed > 1) <> (new.listed > 1) OR new.listed > 1 AND (old.first <> new.first OR old.first_source <> new.first_source) BEGIN
  UPDATE day_totals SET clusters = clusters - 1
    WHERE old.listed > 1 AND collection = old.collection AND day = (old.first - (old.first % 86400000 + 86400000) % 86400000) / 86400000;
  UPDATE source_totals SET clusters = clusters - 1
    WHERE old.listed > 1 AND collection = old.collection AND source = old.first_source;
  UPDATE day_totals SET clusters = clusters + 1
    WHERE new.listed > 1 AND collection = new.collection AND day = (new.first - (new.first % 86400000 + 86400000) % 86400000) / 86400000;
  UPDATE source_totals SET clusters = clusters + 1
    WHERE new.listed > 1 AND collection = new.collection AND source = new.first_source;
END;
CREATE TRIGGER cluster_deleted AFTER DELETE ON clusters WHEN old.listed > 1 BEGIN
  UPDATE day_totals SET clusters = clusters - 1
    WHERE old.listed > 1 AND collection = old.collection AND day = (old.first - (old.first % 86400000 + 86400000) % 86400000) / 86400000;
  UPDATE source_totals SET clusters = clusters - 1
    WHERE old.listed > 1 AND collection = old.collection AND source = old.first_source;
END;
