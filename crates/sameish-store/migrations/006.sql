-- What happened to the documents of a collection, in order. Sequence numbers have no gaps; old rows are deleted from the beginning.
-- `similarity` and `match` are those of the best match of a new document.
CREATE TABLE events (
  collection INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  document INTEGER NOT NULL,
  id TEXT NOT NULL,
  cluster INTEGER,
  similarity REAL,
  match INTEGER,
  PRIMARY KEY (collection, sequence)
) WITHOUT ROWID;
