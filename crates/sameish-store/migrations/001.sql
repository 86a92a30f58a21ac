-- The greatest assigned numbers of collections, documents and clusters. Numbers are never reused.
CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE collections (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  preset TEXT NOT NULL,
  overrides TEXT NOT NULL,
  config TEXT NOT NULL,
  retention_days INTEGER,
  window_days INTEGER,
  created_at INTEGER NOT NULL,
  checksum INTEGER NOT NULL
);

-- The source of truth. `id` is JSON, which keeps its type. If `tokens` is 1, `text` is a JSON list of tokens.
CREATE TABLE documents (
  number INTEGER PRIMARY KEY,
  collection INTEGER NOT NULL,
  id TEXT NOT NULL,
  title TEXT,
  source TEXT,
  url TEXT,
  published_at TEXT,
  arrived_at INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  text TEXT NOT NULL,
  checksum INTEGER NOT NULL
);
CREATE UNIQUE INDEX documents_by_id ON documents (collection, id);

-- Sketches, computed from the documents. The index is built from them, so starting does not read the texts.
CREATE TABLE fingerprints (
  document INTEGER PRIMARY KEY,
  collection INTEGER NOT NULL,
  simhash BLOB,
  minhash_signature BLOB,
  sdr BLOB,
  text_key BLOB,
  short INTEGER NOT NULL,
  word_count INTEGER NOT NULL,
  moment INTEGER NOT NULL,
  scheme INTEGER NOT NULL,
  computed_at INTEGER NOT NULL,
  checksum INTEGER NOT NULL
);

CREATE TABLE members (
  document INTEGER PRIMARY KEY,
  collection INTEGER NOT NULL,
  cluster INTEGER NOT NULL,
  joined INTEGER,
  checksum INTEGER NOT NULL
);
CREATE INDEX members_by_cluster ON members (cluster);
CREATE INDEX members_by_joined ON members (joined) WHERE joined IS NOT NULL;

-- Clusters of at least two documents. A cluster of one document has no row.
CREATE TABLE clusters (
  number INTEGER PRIMARY KEY,
  collection INTEGER NOT NULL,
  size INTEGER NOT NULL
);
CREATE INDEX clusters_by_collection ON clusters (collection, number);

-- Unused: earlier versions stored word frequencies here.
CREATE TABLE words (
  collection INTEGER PRIMARY KEY,
  counts BLOB NOT NULL,
  checksum INTEGER NOT NULL
);
