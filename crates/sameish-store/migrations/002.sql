-- The center of a cluster, or NULL while the cluster is re-clustered after the deletion of its center. A cluster of one
-- document has a row only in that case. `chained` counts the documents that joined through a document other than the center.
ALTER TABLE clusters ADD COLUMN center INTEGER;
ALTER TABLE clusters ADD COLUMN chained INTEGER NOT NULL DEFAULT 0;

-- Queued work on clusters, in order of `position`. See `catalog/tasks.rs` for the kinds.
CREATE TABLE tasks (
  collection INTEGER NOT NULL,
  position INTEGER NOT NULL,
  cluster INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  target INTEGER NOT NULL,
  PRIMARY KEY (collection, position, cluster, kind)
) WITHOUT ROWID;
CREATE INDEX tasks_by_cluster ON tasks (cluster);

-- Format 1 has clusters that do not follow the linkage of their collection. All documents are clustered again.
INSERT INTO tasks SELECT number, 0, 0, 5, 0 FROM collections;
