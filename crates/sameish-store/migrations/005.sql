-- Date and source of each member, derived from its sketches and its document, so that the members of a cluster can be read in
-- order of publication and counted by source without reading documents.
ALTER TABLE members ADD COLUMN moment INTEGER NOT NULL DEFAULT 0;
ALTER TABLE members ADD COLUMN source TEXT;
UPDATE members SET
  moment = coalesce(
    (SELECT moment FROM fingerprints WHERE fingerprints.document = members.document),
    (SELECT arrived_at FROM documents WHERE number = members.document),
    0),
  source = (SELECT source FROM documents WHERE number = members.document);
CREATE INDEX members_by_moment ON members (cluster, moment, document, source);

-- Dates of the first and the last document of a cluster, and the number of the document that arrived last. Triggers maintain them.
ALTER TABLE clusters ADD COLUMN first INTEGER NOT NULL DEFAULT 0;
ALTER TABLE clusters ADD COLUMN last INTEGER NOT NULL DEFAULT 0;
ALTER TABLE clusters ADD COLUMN latest INTEGER NOT NULL DEFAULT 0;
UPDATE clusters SET
  first = coalesce((SELECT min(moment) FROM members WHERE cluster = number), 0),
  last = coalesce((SELECT max(moment) FROM members WHERE cluster = number), 0),
  latest = coalesce((SELECT max(document) FROM members WHERE cluster = number), 0);
CREATE INDEX clusters_by_size ON clusters (collection, size, number);
CREATE INDEX clusters_by_latest ON clusters (collection, latest, number);

-- Documents and copies per day (in days since 1970) and per source ('' for none). A copy is a document that is not the first of its
-- cluster by date and number. Triggers maintain the totals.
CREATE TABLE day_totals (
  collection INTEGER NOT NULL,
  day INTEGER NOT NULL,
  documents INTEGER NOT NULL,
  copies INTEGER NOT NULL,
  PRIMARY KEY (collection, day)
) WITHOUT ROWID;
CREATE TABLE source_totals (
  collection INTEGER NOT NULL,
  source TEXT NOT NULL,
  documents INTEGER NOT NULL,
  copies INTEGER NOT NULL,
  PRIMARY KEY (collection, source)
) WITHOUT ROWID;
INSERT INTO day_totals
  SELECT collection, (moment - (moment % 86400000 + 86400000) % 86400000) / 86400000, count(*), sum(EXISTS (
    SELECT 1 FROM members AS earlier WHERE earlier.cluster = members.cluster
    AND (earlier.moment, earlier.document) < (members.moment, members.document)))
  FROM members GROUP BY 1, 2;
INSERT INTO source_totals
  SELECT collection, coalesce(source, ''), count(*), sum(EXISTS (
    SELECT 1 FROM members AS earlier WHERE earlier.cluster = members.cluster
    AND (earlier.moment, earlier.document) < (members.moment, members.document)))
  FROM members GROUP BY 1, 2;

CREATE TRIGGER cluster_inserted AFTER INSERT ON clusters BEGIN
  UPDATE clusters SET
    first = coalesce((SELECT min(moment) FROM members WHERE cluster = new.number), 0),
    last = coalesce((SELECT max(moment) FROM members WHERE cluster = new.number), 0),
    latest = coalesce((SELECT max(document) FROM members WHERE cluster = new.number), 0)
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
    WHERE collection = new.collection AND day = (SELECT (later - (later % 86400000 + 86400000) % 86400000) / 86400000 FROM (SELECT max(new.moment, (SELECT moment FROM members WHERE cluster = new.cluster AND document <> new.document ORDER BY moment, document LIMIT 1)) AS later));
  UPDATE source_totals SET copies = copies + 1
    WHERE collection = new.collection AND source = CASE WHEN (new.moment, new.document) < (SELECT moment, document FROM members WHERE cluster = new.cluster AND document <> new.document ORDER BY moment, document LIMIT 1) THEN (SELECT coalesce(source, '') FROM members WHERE cluster = new.cluster AND document <> new.document ORDER BY moment, document LIMIT 1) ELSE coalesce(new.source, '') END
    AND EXISTS (SELECT 1 FROM members WHERE cluster = new.cluster AND document <> new.document);
  UPDATE clusters SET first = min(first, new.moment), last = max(last, new.moment), latest = max(latest, new.document)
    WHERE number = new.cluster;
END;
CREATE TRIGGER member_deleted AFTER DELETE ON members BEGIN
  UPDATE day_totals SET documents = documents - 1
    WHERE collection = old.collection AND day = (old.moment - (old.moment % 86400000 + 86400000) % 86400000) / 86400000;
  UPDATE source_totals SET documents = documents - 1
    WHERE collection = old.collection AND source = coalesce(old.source, '');
  UPDATE day_totals SET copies = copies - 1
    WHERE collection = old.collection AND day = (SELECT (later - (later % 86400000 + 86400000) % 86400000) / 86400000 FROM (SELECT max(old.moment, (SELECT moment FROM members WHERE cluster = old.cluster AND document <> old.document ORDER BY moment, document LIMIT 1)) AS later));
  UPDATE source_totals SET copies = copies - 1
    WHERE collection = old.collection AND source = CASE WHEN (old.moment, old.document) < (SELECT moment, document FROM members WHERE cluster = old.cluster AND document <> old.document ORDER BY moment, document LIMIT 1) THEN (SELECT coalesce(source, '') FROM members WHERE cluster = old.cluster AND document <> old.document ORDER BY moment, document LIMIT 1) ELSE coalesce(old.source, '') END
    AND EXISTS (SELECT 1 FROM members WHERE cluster = old.cluster AND document <> old.document);
  DELETE FROM day_totals WHERE collection = old.collection AND day = (old.moment - (old.moment % 86400000 + 86400000) % 86400000) / 86400000 AND documents <= 0;
  DELETE FROM source_totals WHERE collection = old.collection AND source = coalesce(old.source, '') AND documents <= 0;
  UPDATE clusters SET
    first = coalesce((SELECT min(moment) FROM members WHERE cluster = old.cluster), 0),
    last = coalesce((SELECT max(moment) FROM members WHERE cluster = old.cluster), 0),
    latest = coalesce((SELECT max(document) FROM members WHERE cluster = old.cluster), 0)
    WHERE number = old.cluster;
END;
CREATE TRIGGER member_updated AFTER UPDATE OF cluster, moment, source ON members
WHEN old.cluster <> new.cluster OR old.moment <> new.moment OR old.source IS NOT new.source BEGIN
  UPDATE day_totals SET documents = documents - 1
    WHERE collection = old.collection AND day = (old.moment - (old.moment % 86400000 + 86400000) % 86400000) / 86400000;
  UPDATE source_totals SET documents = documents - 1
    WHERE collection = old.collection AND source = coalesce(old.source, '');
  UPDATE day_totals SET copies = copies - 1
    WHERE collection = old.collection AND day = (SELECT (later - (later % 86400000 + 86400000) % 86400000) / 86400000 FROM (SELECT max(old.moment, (SELECT moment FROM members WHERE cluster = old.cluster AND document <> old.document ORDER BY moment, document LIMIT 1)) AS later));
  UPDATE source_totals SET copies = copies - 1
    WHERE collection = old.collection AND source = CASE WHEN (old.moment, old.document) < (SELECT moment, document FROM members WHERE cluster = old.cluster AND document <> old.document ORDER BY moment, document LIMIT 1) THEN (SELECT coalesce(source, '') FROM members WHERE cluster = old.cluster AND document <> old.document ORDER BY moment, document LIMIT 1) ELSE coalesce(old.source, '') END
    AND EXISTS (SELECT 1 FROM members WHERE cluster = old.cluster AND document <> old.document);
  DELETE FROM day_totals WHERE collection = old.collection AND day = (old.moment - (old.moment % 86400000 + 86400000) % 86400000) / 86400000 AND documents <= 0;
  DELETE FROM source_totals WHERE collection = old.collection AND source = coalesce(old.source, '') AND documents <= 0;
  UPDATE clusters SET
    first = coalesce((SELECT min(moment) FROM members WHERE cluster = old.cluster), 0),
    last = coalesce((SELECT max(moment) FROM members WHERE cluster = old.cluster), 0),
    latest = coalesce((SELECT max(document) FROM members WHERE cluster = old.cluster), 0)
    WHERE number = old.cluster;
  INSERT INTO day_totals VALUES (new.collection, (new.moment - (new.moment % 86400000 + 86400000) % 86400000) / 86400000, 1, 0)
    ON CONFLICT DO UPDATE SET documents = documents + 1;
  INSERT INTO source_totals VALUES (new.collection, coalesce(new.source, ''), 1, 0)
    ON CONFLICT DO UPDATE SET documents = documents + 1;
  UPDATE day_totals SET copies = copies + 1
    WHERE collection = new.collection AND day = (SELECT (later - (later % 86400000 + 86400000) % 86400000) / 86400000 FROM (SELECT max(new.moment, (SELECT moment FROM members WHERE cluster = new.cluster AND document <> new.document ORDER BY moment, document LIMIT 1)) AS later));
  UPDATE source_totals SET copies = copies + 1
    WHERE collection = new.collection AND source = CASE WHEN (new.moment, new.document) < (SELECT moment, document FROM members WHERE cluster = new.cluster AND document <> new.document ORDER BY moment, document LIMIT 1) THEN (SELECT coalesce(source, '') FROM members WHERE cluster = new.cluster AND document <> new.document ORDER BY moment, document LIMIT 1) ELSE coalesce(new.source, '') END
    AND EXISTS (SELECT 1 FROM members WHERE cluster = new.cluster AND document <> new.document);
  UPDATE clusters SET first = min(first, new.moment), last = max(last, new.moment), latest = max(latest, new.document)
    WHERE number = new.cluster;
END;
