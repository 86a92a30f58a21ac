//! Queries on a SQLite file.

use super::decode::{
    CLUSTER, DOCUMENT, LISTED, MEMBER, SKETCH, TASK, cluster, collection, document, edit, get, get_i64,
    get_text, get_u32, get_u64, listed_cluster, member, optional, sketch, task, wrong_type,
};
use super::write::{
    CLOCK_ARRIVAL, CLOCK_LATEST, CLOCK_PAUSE, DROPPED, arrival_name, edits_name, place_key, rejected_name,
};
use super::{Mode, SqliteStore};
use crate::error::{Error, Result};
use crate::model::{
    ClusterOrder, ClusterPosition, DayTotal, EventRange, Finding, MemberPosition, SourceTotal, is_well_formed,
};
use crate::private;
use crate::rows::{
    Caption, ClockRow, ClusterRow, ClusterTotals, Counters, DocumentRow, EDITS_POSITION, EditRow, EventRow,
    ListedCluster, MERGE_POSITION, MemberRow, Placed, PlacedRow, SketchRow, StoredCollection, TaskKind,
    TaskRow, TitledCluster, Turn,
};
use crate::store::{PlacedSink, Read};
use rusqlite::{Row, params};
use sameish::cluster::ClusterId;
use sameish::{DocId, Timestamp};
use std::path::Path;

/// One day in milliseconds.
const DAY: i64 = 86_400_000;

impl SqliteStore {
    /// Reads at most one row.
    pub(super) fn query_one<T>(
        &self,
        sql: &str,
        key: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut statement =
            self.connection.prepare_cached(sql).map_err(|error| self.database_error(error))?;
        let mut rows = statement.query(key).map_err(|error| self.database_error(error))?;
        self.rows.add();
        rows.next().map_err(|error| self.database_error(error))?.map(read).transpose()
    }

    pub(super) fn for_each(
        &self,
        sql: &str,
        key: impl rusqlite::Params,
        mut sink: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut statement =
            self.connection.prepare_cached(sql).map_err(|error| self.database_error(error))?;
        let mut rows = statement.query(key).map_err(|error| self.database_error(error))?;
        while let Some(row) = rows.next().map_err(|error| self.database_error(error))? {
            self.rows.add();
            sink(row)?;
        }
        Ok(())
    }

    fn query_all<T>(
        &self,
        sql: &str,
        key: impl rusqlite::Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        self.for_each(sql, key, |row| {
            all.push(read(row)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Reads the rows of a collection from a table, ordered by the first column. A damaged row is passed on with its number.
    /// Numbers are never negative; a row with a negative one is damaged and comes last.
    fn scan<T>(
        &self,
        table: &str,
        columns: &str,
        collection: u32,
        read: fn(&Row<'_>) -> Result<T>,
        sink: &mut dyn FnMut(u64, Result<T>) -> Result<()>,
    ) -> Result<()> {
        let key = columns.split(',').next().unwrap_or_default();
        for range in [">= 0", "< 0"] {
            let sql = format!(
                "SELECT {columns} FROM {table} WHERE collection = ? AND {key} {range} ORDER BY {key}"
            );
            self.for_each(&sql, [collection], |row| sink(get_i64(row, 0)? as u64, read(row)))?;
        }
        Ok(())
    }
}

impl Read for SqliteStore {
    fn try_clone(&self) -> Result<Box<dyn Read + Send>> {
        let mode = if self.mode == Mode::Immutable { Mode::Immutable } else { Mode::Read };
        Ok(Box::new(SqliteStore::connect(&self.path, mode)?))
    }

    fn collections(&self) -> Result<Vec<StoredCollection>> {
        let sql = "SELECT number, name, preset, overrides, config, retention_days, window_days, created_at, checksum, \
            center FROM collections ORDER BY number";
        self.query_all(sql, [], |row| {
            let number = get_u32(row, 0)?;
            let name = get_text(row, 1).ok().filter(|name| is_well_formed(name));
            let name = name.unwrap_or_else(|| format!("collection:{number}"));
            Ok(StoredCollection { number, name, row: collection(row) })
        })
    }

    fn dropped_collections(&self) -> Result<Vec<u32>> {
        let mut numbers = Vec::new();
        self.for_each("SELECT name FROM counters", [], |row| {
            let name = get_text(row, 0)?;
            numbers.extend(name.strip_prefix(DROPPED).and_then(|number| number.parse::<u32>().ok()));
            Ok(())
        })?;
        Ok(numbers)
    }

    fn counters(&self) -> Result<Counters> {
        let mut counters = Counters::default();
        self.for_each("SELECT name, value FROM counters", [], |row| {
            let value = get_u64(row, 1)?;
            match get_text(row, 0)?.as_str() {
                "collections" => counters.collections = value as u32,
                "documents" => counters.documents = value,
                "clusters" => counters.clusters = value,
                _ => {}
            }
            Ok(())
        })?;
        Ok(counters)
    }

    fn last_arrival(&self, collection: u32) -> Result<Option<i64>> {
        let sql = "SELECT value FROM counters WHERE name = ?";
        let time = self.query_one(sql, [arrival_name(collection)], |row| get_u64(row, 0))?;
        Ok(time.map(|time| time as i64))
    }

    fn clock(&self) -> Result<Option<ClockRow>> {
        let value = |name: &str| {
            let sql = "SELECT value FROM counters WHERE name = ?";
            self.query_one(sql, [name], |row| get_u64(row, 0))
        };
        let Some(latest) = value(CLOCK_LATEST)? else { return Ok(None) };
        let longest_pause = value(CLOCK_PAUSE)?.unwrap_or(0);
        let last_arrival = value(CLOCK_ARRIVAL)?.unwrap_or(latest);
        Ok(Some(ClockRow {
            latest: latest as i64,
            last_arrival: last_arrival as i64,
            longest_pause: longest_pause as i64,
        }))
    }

    fn number_of(&self, collection: u32, id: &DocId) -> Result<Option<u64>> {
        let sql = "SELECT number FROM documents WHERE collection = ? AND id = ?";
        self.query_one(sql, params![collection, id.to_json()], |row| get_u64(row, 0))
    }

    fn document(&self, number: u64) -> Result<Option<DocumentRow>> {
        let sql = format!("SELECT {DOCUMENT} FROM documents WHERE number = ?");
        self.query_one(&sql, [number as i64], document)
    }

    fn sketch(&self, number: u64) -> Result<Option<SketchRow>> {
        let sql = format!("SELECT {SKETCH} FROM fingerprints WHERE document = ?");
        self.query_one(&sql, [number as i64], sketch)
    }

    fn each_id(&self, collection: u32, sink: &mut dyn FnMut(u64, DocId) -> Result<()>) -> Result<()> {
        // The order makes SQLite read the index on ids, which is smaller than the table.
        let sql = "SELECT number, id FROM documents WHERE collection = ? ORDER BY id";
        self.for_each(sql, [collection], |row| {
            let number = get_u64(row, 0)?;
            match get_text(row, 1).ok().and_then(|id| DocId::from_json(&id)) {
                Some(id) => sink(number, id),
                // The entry of the index is damaged, but the row may be intact. If not, the document is in no index, and
                // `verify` reports it.
                None => {
                    self.document(number).ok().flatten().map_or(Ok(()), |row| sink(number, row.document.id))
                }
            }
        })
    }

    fn documents(
        &self,
        collection: u32,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Result<DocumentRow>)>> {
        let sql = format!(
            "SELECT {DOCUMENT} FROM documents WHERE collection = ? AND number > ? ORDER BY number LIMIT ?"
        );
        let key = params![collection, after as i64, limit as i64];
        self.query_all(&sql, key, |row| Ok((get_u64(row, 0)?, document(row))))
    }

    fn numbers(&self, collection: u32, after: u64, limit: usize) -> Result<Vec<u64>> {
        let sql = "SELECT number FROM documents WHERE collection = ? AND number > ? ORDER BY number LIMIT ?";
        self.query_all(sql, params![collection, after as i64, limit as i64], |row| get_u64(row, 0))
    }

    fn numbers_by_id(&self, collection: u32, after: Option<&DocId>, limit: usize) -> Result<Vec<u64>> {
        let sql = "SELECT number FROM documents WHERE collection = ? AND id > ? ORDER BY id LIMIT ?";
        let after = after.map(DocId::to_json).unwrap_or_default();
        self.query_all(sql, params![collection, after, limit as i64], |row| get_u64(row, 0))
    }

    fn each_sketch(
        &self,
        collection: u32,
        sink: &mut dyn FnMut(u64, Result<SketchRow>) -> Result<()>,
    ) -> Result<()> {
        self.scan("fingerprints", SKETCH, collection, sketch, sink)
    }

    fn member(&self, document: u64) -> Result<Option<MemberRow>> {
        let sql = format!("SELECT {MEMBER} FROM members WHERE document = ?");
        self.query_one(&sql, [document as i64], member)
    }

    fn members(&self, cluster: ClusterId, from: u64, limit: usize) -> Result<Vec<(u64, Result<MemberRow>)>> {
        let sql = format!(
            "SELECT {MEMBER} FROM members WHERE cluster = ? AND document >= ? ORDER BY document LIMIT ?"
        );
        let key = params![cluster.0 as i64, from as i64, limit as i64];
        self.query_all(&sql, key, |row| Ok((get_u64(row, 0)?, member(row))))
    }

    fn ranked_members(
        &self,
        cluster: ClusterId,
        from: Turn,
        limit: usize,
    ) -> Result<Vec<(Turn, Result<MemberRow>)>> {
        let sql = format!(
            "SELECT {MEMBER} FROM members WHERE cluster = ? AND rank IS NOT NULL AND (rank, document) >= (?, ?) \
             ORDER BY rank, document LIMIT ?"
        );
        let key = params![cluster.0 as i64, from.position as i64, from.document as i64, limit as i64];
        self.query_all(&sql, key, |row| {
            // A damaged rank is passed over: it is in order of SQLite.
            let turn = Turn { position: get_u64(row, 6)?, document: get_u64(row, 0)? };
            Ok((turn, member(row)))
        })
    }

    fn each_member(
        &self,
        collection: u32,
        sink: &mut dyn FnMut(u64, Result<MemberRow>) -> Result<()>,
    ) -> Result<()> {
        self.scan("members", MEMBER, collection, member, sink)
    }

    fn joined(&self, document: u64, from: u64, limit: usize) -> Result<Vec<(u64, Result<MemberRow>)>> {
        let sql = format!(
            "SELECT {MEMBER} FROM members WHERE joined = ? AND document >= ? ORDER BY document LIMIT ?"
        );
        let key = params![document as i64, from as i64, limit as i64];
        self.query_all(&sql, key, |row| Ok((get_u64(row, 0)?, member(row))))
    }

    fn first_task(&self, collection: u32) -> Result<Option<TaskRow>> {
        let sql = format!("SELECT {TASK} FROM tasks WHERE collection = ? ORDER BY position LIMIT 1");
        self.query_one(&sql, [collection], task)
    }

    fn tasks_of(&self, cluster: ClusterId) -> Result<Vec<TaskRow>> {
        let sql = format!("SELECT {TASK} FROM tasks WHERE cluster = ?");
        self.query_all(&sql, [cluster.0 as i64], task)
    }

    fn merges_into(&self, collection: u32, cluster: ClusterId) -> Result<Vec<TaskRow>> {
        let sql = format!(
            "SELECT {TASK} FROM tasks WHERE collection = ? AND position = ? AND kind = ? AND target = ?"
        );
        let kind = TaskKind::Merge.as_u64() as i64;
        self.query_all(&sql, params![collection, MERGE_POSITION as i64, kind, cluster.0 as i64], task)
    }

    fn has_edited_tasks(&self, collection: u32, cluster: ClusterId) -> Result<bool> {
        let sql = "SELECT 1 FROM tasks WHERE collection = ?1 AND position = ?2 AND kind = ?3 UNION ALL \
            SELECT 1 FROM places CROSS JOIN tasks ON tasks.cluster = places.item \
            WHERE places.collection = ?1 AND places.kind = 1 AND places.cluster = ?4 LIMIT 1";
        let kind = TaskKind::Edits.as_u64() as i64;
        let key = params![collection, EDITS_POSITION as i64, kind, cluster.0 as i64];
        Ok(self.query_one(sql, key, |_| Ok(()))?.is_some())
    }

    fn each_task(&self, collection: u32, sink: &mut dyn FnMut(Result<TaskRow>) -> Result<()>) -> Result<()> {
        let sql = format!("SELECT {TASK} FROM tasks WHERE collection = ? ORDER BY position");
        self.for_each(&sql, [collection], |row| sink(task(row)))
    }

    fn count_pending(&self, collection: u32) -> Result<u64> {
        let sql = "SELECT count(*) FROM (SELECT cluster FROM tasks WHERE collection = ?1 \
            UNION SELECT target FROM tasks WHERE collection = ?1 AND kind = ?2)";
        let kind = TaskKind::Merge.as_u64() as i64;
        Ok(self.query_one(sql, params![collection, kind], |row| get_u64(row, 0))?.unwrap_or(0))
    }

    fn cluster_totals(&self, collection: u32) -> Result<ClusterTotals> {
        let sql = "SELECT count(*), coalesce(sum(listed), 0), coalesce(max(listed), 0), coalesce(sum(chained), 0) \
            FROM clusters WHERE collection = ? AND listed > 1 AND chained >= 0";
        let totals = |sql: &str| {
            self.query_one(sql, [collection], |row| {
                Ok(ClusterTotals {
                    clusters: get_u64(row, 0)?,
                    documents: get_u64(row, 1)?,
                    largest: get_u64(row, 2)?,
                    chained: get_u64(row, 3)?,
                })
            })
        };
        match totals(sql) {
            // A sum is an integer only if all values are integers. Checking every row would take twice as long.
            Err(Error::Damaged { .. }) => {
                let types =
                    "typeof(listed) = 'integer' AND typeof(size) = 'integer' AND typeof(chained) = 'integer'";
                Ok(totals(&format!("{sql} AND {types}"))?.unwrap_or_default())
            }
            totals => Ok(totals?.unwrap_or_default()),
        }
    }

    fn cluster(&self, number: ClusterId) -> Result<Option<ClusterRow>> {
        let sql = format!("SELECT {CLUSTER} FROM clusters WHERE number = ?");
        self.query_one(&sql, [number.0 as i64], cluster)
    }

    fn clusters(
        &self,
        collection: u32,
        order: ClusterOrder,
        after: Option<ClusterPosition>,
        limit: usize,
    ) -> Result<Vec<(ClusterPosition, Result<ListedCluster>)>> {
        let ListQuery { key, before } = ListQuery::new(order, after);
        let sql = format!(
            "SELECT {LISTED}, {key} FROM clusters WHERE collection = ? AND ({key}, number) < (?, ?) \
            AND number >= 0 AND listed > 1 ORDER BY {key} DESC, number DESC LIMIT ?"
        );
        let values = params![collection, before[0], before[1], limit as i64];
        self.query_all(&sql, values, |row| Ok((list_position(row)?, listed_cluster(row))))
    }

    fn titled_clusters(
        &self,
        collection: u32,
        order: ClusterOrder,
        after: Option<ClusterPosition>,
        limit: usize,
    ) -> Result<Vec<(ClusterPosition, Result<TitledCluster>)>> {
        let ListQuery { key, before } = ListQuery::new(order, after);
        let sql = format!(
            "SELECT {LISTED}, {key}, title, id FROM clusters \
            LEFT JOIN members ON members.document = center AND shown = clusters.number \
            LEFT JOIN documents ON documents.number = members.document \
            WHERE clusters.collection = ? AND ({key}, clusters.number) < (?, ?) \
            AND clusters.number >= 0 AND listed > 1 ORDER BY {key} DESC, clusters.number DESC LIMIT ?"
        );
        let values = params![collection, before[0], before[1], limit as i64];
        self.query_all(&sql, values, |row| {
            let titled = |listed| {
                let id = optional(row, 12, get_text)?;
                let title = optional(row, 11, get_text)?;
                Ok(TitledCluster { listed, title: id.map(|id| (title, id)) })
            };
            Ok((list_position(row)?, listed_cluster(row).and_then(titled)))
        })
    }

    fn clusters_of_source(
        &self,
        collection: u32,
        source: &str,
        before: Option<ClusterId>,
        limit: usize,
    ) -> Result<Vec<ClusterId>> {
        let sql = "SELECT DISTINCT shown FROM members WHERE collection = ? AND coalesce(source, '') = ? AND shown < ? \
            AND shown >= 0 ORDER BY shown DESC LIMIT ?";
        let before = before.map_or(i64::MAX, |before| before.0.min(i64::MAX as u64) as i64);
        let values = params![collection, source, before, limit as i64];
        self.query_all(sql, values, |row| get_u64(row, 0).map(ClusterId))
    }

    fn has_source(&self, collection: u32, cluster: ClusterId, source: &str) -> Result<bool> {
        let sql =
            "SELECT 1 FROM members WHERE collection = ? AND coalesce(source, '') = ? AND shown = ? LIMIT 1";
        let found = self.query_one(sql, params![collection, source, cluster.0 as i64], |_| Ok(()))?;
        Ok(found.is_some())
    }

    fn source_documents(&self, collection: u32, source: &str) -> Result<u64> {
        let sql = "SELECT documents FROM source_totals WHERE collection = ? AND source = ?";
        Ok(self.query_one(sql, params![collection, source], |row| get_u64(row, 0))?.unwrap_or(0))
    }

    fn moments(&self, cluster: ClusterId, limit: usize) -> Result<Vec<i64>> {
        let sql =
            "SELECT moment FROM members WHERE shown = ? AND document >= 0 ORDER BY moment, document LIMIT ?";
        self.query_all(sql, params![cluster.0 as i64, limit as i64], |row| get_i64(row, 0))
    }

    fn members_by_date(
        &self,
        cluster: ClusterId,
        after: Option<MemberPosition>,
        limit: usize,
    ) -> Result<Vec<PlacedRow>> {
        let sql = "SELECT document, moment, source FROM members WHERE shown = ? AND (moment, document) > (?, ?) \
            AND document >= 0 ORDER BY moment, document LIMIT ?";
        let (moment, document) = after.map_or((i64::MIN, -1), |after| (after.moment, after.document as i64));
        let values = params![cluster.0 as i64, moment, document, limit as i64];
        self.query_all(sql, values, |row| {
            Ok(PlacedRow {
                document: get_u64(row, 0)?,
                moment: get_i64(row, 1)?,
                source: optional(row, 2, get_text)?,
            })
        })
    }

    fn each_placed(&self, collection: u32, limit: u64, sink: PlacedSink<'_>) -> Result<bool> {
        let sql = "SELECT clusters.number, moment, source FROM clusters CROSS JOIN members \
            ON members.shown = clusters.number WHERE clusters.collection = ? AND listed > 1 \
            ORDER BY clusters.number DESC, moment, document";
        let mut statement =
            self.connection.prepare_cached(sql).map_err(|error| self.database_error(error))?;
        let mut rows = statement.query([collection]).map_err(|error| self.database_error(error))?;
        let mut passed = 0;
        let mut last = None;
        while let Some(row) = rows.next().map_err(|error| self.database_error(error))? {
            let cluster = ClusterId(get_u64(row, 0)?);
            if passed >= limit && last != Some(cluster) {
                return Ok(false);
            }
            let source = get(row, 2)?.as_str_or_null().map_err(|_| wrong_type(2))?;
            sink(cluster, get_i64(row, 1)?, source);
            passed += 1;
            last = Some(cluster);
        }
        Ok(true)
    }

    fn caption(&self, number: u64) -> Result<Option<Caption>> {
        let sql = "SELECT id, title, source, published_at, (SELECT moment FROM members WHERE document = number), \
            url, arrived_at FROM documents WHERE number = ?";
        self.query_one(sql, [number as i64], |row| {
            Ok(Caption {
                id: get_text(row, 0)?,
                title: optional(row, 1, get_text)?,
                source: optional(row, 2, get_text)?,
                published_at: optional(row, 3, get_text)?,
                moment: optional(row, 4, get_i64)?,
                url: optional(row, 5, get_text)?,
                arrived_at: get_i64(row, 6)?,
            })
        })
    }

    fn metadata(&self, number: u64) -> Result<Option<String>> {
        let sql = "SELECT metadata FROM documents WHERE number = ?";
        Ok(self.query_one(sql, [number as i64], |row| optional(row, 0, get_text))?.flatten())
    }

    fn rejected(&self, collection: u32) -> Result<u64> {
        let sql = "SELECT value FROM counters WHERE name = ?";
        Ok(self.query_one(sql, [rejected_name(collection)], |row| get_u64(row, 0))?.unwrap_or(0))
    }

    fn events(&self, collection: u32, after: u64, limit: usize) -> Result<Vec<(u64, Result<EventRow>)>> {
        self.read_events(collection, after, limit)
    }

    fn event_range(&self, collection: u32) -> Result<EventRange> {
        self.stored_event_range(collection)
    }

    fn days(&self, collection: u32, limit: usize) -> Result<Vec<DayTotal>> {
        let sql = "SELECT day, documents, copies, clusters FROM day_totals WHERE collection = ? ORDER BY day DESC LIMIT ?";
        self.query_all(sql, params![collection, limit as i64], |row| {
            let day = Timestamp::from_milliseconds(get_i64(row, 0)?.saturating_mul(DAY));
            Ok(DayTotal {
                day: day.ok_or_else(|| wrong_type(0))?,
                documents: get_u64(row, 1)?,
                copies: get_u64(row, 2)?,
                clusters: get_u64(row, 3)?,
            })
        })
    }

    fn sources(&self, collection: u32, limit: usize) -> Result<Vec<SourceTotal>> {
        let sql = "SELECT source, documents, copies, clusters FROM source_totals WHERE collection = ? \
            ORDER BY documents DESC, source LIMIT ?";
        self.query_all(sql, params![collection, limit as i64], |row| {
            Ok(SourceTotal {
                source: Some(get_text(row, 0)?).filter(|source| !source.is_empty()),
                documents: get_u64(row, 1)?,
                copies: get_u64(row, 2)?,
                clusters: get_u64(row, 3)?,
            })
        })
    }

    fn count_sources(&self, collection: u32) -> Result<u64> {
        let sql = "SELECT count(*) FROM source_totals WHERE collection = ?";
        Ok(self.query_one(sql, [collection], |row| get_u64(row, 0))?.unwrap_or(0))
    }

    fn edits(&self, collection: u32) -> Result<Vec<(u64, Result<EditRow>)>> {
        let sql = "SELECT number, at, kind, clusters, documents, checksum FROM edits WHERE collection = ? ORDER BY number";
        self.query_all(sql, [collection], |row| Ok((get_u64(row, 0)?, edit(row, collection))))
    }

    fn last_edit(&self, collection: u32) -> Result<u64> {
        let sql = "SELECT value FROM counters WHERE name = ?";
        Ok(self.query_one(sql, [edits_name(collection)], |row| get_u64(row, 0))?.unwrap_or(0))
    }

    fn place(&self, collection: u32, placed: Placed) -> Result<Option<ClusterId>> {
        let sql = "SELECT cluster FROM places WHERE collection = ? AND kind = ? AND item = ?";
        let (kind, item) = place_key(placed);
        self.query_one(sql, params![collection, kind, item], |row| get_u64(row, 0).map(ClusterId))
    }

    fn places(&self, collection: u32) -> Result<Vec<(Placed, ClusterId)>> {
        let sql = "SELECT kind, item, cluster FROM places WHERE collection = ? ORDER BY kind, item";
        self.query_all(sql, [collection], |row| {
            let item = get_u64(row, 1)?;
            let placed = match get_u64(row, 0)? {
                0 => Placed::Document(item),
                _ => Placed::Others(ClusterId(item)),
            };
            Ok((placed, ClusterId(get_u64(row, 2)?)))
        })
    }

    fn listed_cluster(&self, cluster: ClusterId) -> Result<Option<ListedCluster>> {
        let sql = format!("SELECT {LISTED} FROM clusters WHERE number = ?");
        self.query_one(&sql, [cluster.0 as i64], listed_cluster)
    }

    fn each_cluster(
        &self,
        collection: u32,
        sink: &mut dyn FnMut(ClusterId, Result<ClusterRow>) -> Result<()>,
    ) -> Result<()> {
        self.scan("clusters", CLUSTER, collection, cluster, &mut |number, row| sink(ClusterId(number), row))
    }

    fn check(&self) -> Result<Vec<Finding>> {
        let mut problems = Vec::new();
        let checked = self.for_each("PRAGMA integrity_check(1000)", [], |row| {
            problems.push(get_text(row, 0)?);
            Ok(())
        });
        problems.retain(|problem| problem != "ok");
        problems.extend(checked.err().map(|error| error.to_string()));
        let finding = |problem| Finding {
            object: self.path.display().to_string(),
            problem,
            remedy: "restore the directory from a snapshot",
        };
        Ok(problems.into_iter().map(finding).collect())
    }

    fn begin_snapshot(&self) -> Result<()> {
        // SQLite takes the snapshot at the first read.
        let begun = self.connection.execute_batch("BEGIN; SELECT 1 FROM counters LIMIT 1");
        begun.map_err(|error| self.database_error(error))
    }

    fn end_snapshot(&self) -> Result<()> {
        self.connection.execute_batch("COMMIT").map_err(|error| self.database_error(error))
    }

    fn bytes(&self) -> u64 {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        size(&self.path) + size(&super::wal::wal_path(&self.path))
    }

    fn copy_to(&self, file: &Path) -> Result<()> {
        let not_utf8 = || std::io::Error::other("the path is not valid UTF-8; choose another one");
        let name = file.to_str().ok_or_else(|| Error::io(file, not_utf8()))?;
        // SQLite accepts an empty file, which has the right mode from the beginning.
        let created = private::file_options().write(true).create_new(true).open(file);
        created.map_err(|source| Error::io(file, source))?;
        let copied = self.connection.execute("VACUUM INTO ?", [name]);
        copied.map_err(|error| super::database_error(file, error))?;
        super::sync_file(file)
    }
}

/// The order of a list of clusters, and the position before which it continues.
struct ListQuery {
    key: &'static str,
    before: [i64; 2],
}

impl ListQuery {
    fn new(order: ClusterOrder, after: Option<ClusterPosition>) -> ListQuery {
        let key = match order {
            ClusterOrder::Newest => "clusters.number",
            ClusterOrder::Largest => "listed",
            ClusterOrder::Active => "latest",
        };
        let bound = |number: u64| number.min(i64::MAX as u64) as i64;
        let before = after.map_or([i64::MAX; 2], |after| [bound(after.key), bound(after.cluster.0)]);
        ListQuery { key, before }
    }
}

/// Returns the position of a row of a list of clusters.
fn list_position(row: &Row<'_>) -> Result<ClusterPosition> {
    // A damaged size counts as the greatest one, as in the order of SQLite.
    let key = get_u64(row, 10).unwrap_or(i64::MAX as u64);
    Ok(ClusterPosition { key, cluster: ClusterId(get_u64(row, 0)?) })
}
