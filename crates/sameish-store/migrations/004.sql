-- Format 3 has clusters of short texts that match by their fingerprints only, which is no longer enough, and `online` clusters
-- without the texts that are too short. All documents are clustered again, unless an earlier step has queued that.
INSERT OR IGNORE INTO tasks SELECT number, 0, 0, 5, 0 FROM collections;
