//! Test suite for implementations of [`Store`].
//!
//! Every store must pass [`check_store`]. The suite panics if a store breaks a rule of the trait.

use crate::rows::{
    ClockRow, ClusterRow, ClusterTotals, CollectionRow, Counters, DocumentRow, MemberRow, SketchRow,
    TaskKind, TaskRow, scheme_of,
};
use crate::store::{Read, Store};
use sameish::cluster::ClusterId;
use sameish::{Analyzer, Content, DocId, Document, Preset, Scratch};

/// Runs the suite. Each call of `open` opens the same store, which must be empty at the first call.
pub fn check_store(open: &mut dyn FnMut() -> Box<dyn Store>) {
    reads_rows_as_written(open);
    isolates_and_undoes_uncommitted_changes(open);
    rejects_a_second_document_with_an_id(open);
    replaces_collections_by_number_only(open);
    reads_clusters_in_order(open);
    reads_tasks_in_order_of_their_positions(open);
    snapshots_see_one_state(open);
    drops_a_collection_with_all_its_rows(open);
}

fn collection(number: u32) -> CollectionRow {
    CollectionRow {
        number,
        name: format!("collection-{number}"),
        preset: "articles".into(),
        overrides: String::new(),
        config: Preset::Articles.config().to_toml(),
        retention_days: Some(30),
        window_days: None,
        created_at: -1,
    }
}

fn document(number: u64, collection: u32, id: DocId) -> DocumentRow {
    let document = Document {
        title: Some("A \u{1F980} title".into()),
        published_at: Some("2024-01-31".into()),
        metadata: number.is_multiple_of(2).then(|| r#"{"topic":"\u0000","n":[1,2.5,null]}"#.into()),
        id,
        ..Document::new(0, format!("text {number} \0 with \u{202E} special characters"))
    };
    DocumentRow { number, collection, document, arrived_at: 1_700_000_000_000 + number as i64 }
}

fn sketch(row: &DocumentRow) -> SketchRow {
    let analyzer = Analyzer::new(Preset::Articles.config()).unwrap_or_else(|error| panic!("{error}"));
    let prepared = analyzer.prepare(&row.document.content, &mut Scratch::default());
    SketchRow::new(row, prepared.sketches, prepared.key, scheme_of(analyzer.schemes()), 7)
}

fn rows_of(read: &dyn Read) -> Vec<CollectionRow> {
    must(read.collections()).into_iter().map(|stored| must(stored.row)).collect()
}

fn must<T>(result: crate::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// Returns rows that must all be undamaged, without their numbers.
fn intact<K, T>(rows: crate::Result<Vec<(K, crate::Result<T>)>>) -> Vec<T> {
    must(rows).into_iter().map(|(_, row)| must(row)).collect()
}

fn ids(read: &dyn Read, collection: u32) -> Vec<(u64, DocId)> {
    let mut ids = Vec::new();
    must(read.each_id(collection, &mut |number, id| {
        ids.push((number, id));
        Ok(())
    }));
    ids.sort();
    ids
}

fn document_numbers(read: &dyn Read, collection: u32) -> Vec<u64> {
    let page = must(read.documents(collection, 0, 1000));
    let number = |(number, row)| {
        let row: DocumentRow = must(row);
        assert_eq!(row.number, number);
        number
    };
    page.into_iter().map(number).collect()
}

fn reads_rows_as_written(open: &mut dyn FnMut() -> Box<dyn Store>) {
    let mut rows = vec![
        document(1, 1, DocId::Number(u64::MAX)),
        document(2, 1, DocId::Negative(-7)),
        document(3, 1, DocId::Text("7".into())),
        document(4, 1, DocId::Number(7)),
        document(5, 2, DocId::Number(7)),
    ];
    rows[1].document.content = Content::Tokens(vec!["a".into(), String::new(), "b \"c\"".into()]);
    rows[2].document = Document::new("7", "");
    let counters = Counters { collections: 2, documents: 5, clusters: 9 };
    let clock =
        ClockRow { latest: 1_700_000_000_000, last_arrival: 1_600_000_000_000, longest_pause: 86_400_000 };
    {
        let mut store = open();
        let mut change = must(store.begin());
        [1, 2].iter().for_each(|&number| must(change.put_collection(&collection(number))));
        for row in &rows {
            must(change.put_document(row));
            must(change.put_sketch(&sketch(row)));
        }
        assert_eq!(must(change.read().clock()), None);
        must(change.put_clock(clock));
        must(change.put_counters(counters));
        must(change.commit());
    }
    let store = open();
    let read = must(store.reader());
    assert_eq!(must(read.clock()), Some(clock));
    assert_eq!(rows_of(&*read), [collection(1), collection(2)]);
    assert_eq!(must(read.counters()), counters);
    for row in &rows {
        assert_eq!(must(read.document(row.number)).as_ref(), Some(row));
        assert_eq!(must(read.sketch(row.number)), Some(sketch(row)));
    }
    assert_eq!(must(read.document(6)), None);
    lists_rows_of_one_collection(&*read, &rows);
    assert_eq!(must(read.check()), []);
}

/// `rows` has four documents of collection 1 and one of collection 2.
fn lists_rows_of_one_collection(read: &dyn Read, rows: &[DocumentRow]) {
    let expected: Vec<(u64, DocId)> =
        rows[..4].iter().map(|row| (row.number, row.document.id.clone())).collect();
    assert_eq!(ids(read, 1), expected);
    assert_eq!(document_numbers(read, 2), [5]);
    let page: Vec<u64> = must(read.documents(1, 1, 2)).into_iter().map(|(number, _)| number).collect();
    assert_eq!(page, [2, 3]);
    // As JSON text, a string begins with a quote, which comes before digits.
    assert_eq!(must(read.numbers_by_id(1, None, 9)), [3, 2, 1, 4]);
    assert_eq!(must(read.numbers_by_id(1, Some(&rows[2].document.id), 2)), [2, 1]);
    assert!(must(read.numbers_by_id(1, Some(&rows[3].document.id), 2)).is_empty());
    let mut sketches = Vec::new();
    must(read.each_sketch(1, &mut |number, row| {
        sketches.push(must(row));
        assert_eq!(sketches.last().map(|row| row.number), Some(number));
        Ok(())
    }));
    assert_eq!(sketches, rows[..4].iter().map(sketch).collect::<Vec<_>>());
}

fn isolates_and_undoes_uncommitted_changes(open: &mut dyn FnMut() -> Box<dyn Store>) {
    let mut store = open();
    let read = must(store.reader());
    let row = document(6, 2, DocId::Text("six".into()));
    {
        let mut change = must(store.begin());
        must(change.put_document(&row));
        must(change.remove_document(5));
        assert_eq!(must(change.read().document(6)).as_ref(), Some(&row), "a transaction sees its changes");
        assert_eq!(must(change.read().document(5)), None);
        assert_eq!(must(read.document(6)), None, "other readers do not see them");
        assert!(must(read.document(5)).is_some());
    }
    assert_eq!(document_numbers(&*read, 2), [5], "dropping a transaction undoes its changes");
    let mut change = must(store.begin());
    must(change.put_document(&row));
    must(change.commit());
    assert_eq!(must(read.document(6)), Some(row), "every reader sees committed changes");
}

fn rejects_a_second_document_with_an_id(open: &mut dyn FnMut() -> Box<dyn Store>) {
    let id = DocId::Text("six".into());
    let mut store = open();
    let mut change = must(store.begin());
    let second = change.put_document(&document(7, 2, id.clone()));
    assert!(matches!(second, Err(crate::Error::Conflict { .. })));
    assert_eq!(must(change.read().number_of(2, &id)), Some(6));
    assert_eq!(must(change.read().number_of(1, &id)), None);
    drop(change);
    let mut change = must(store.begin());
    must(change.remove_document(6));
    must(change.remove_document(6));
    must(change.put_document(&document(7, 2, id)));
    must(change.commit());
    let read = must(store.reader());
    assert_eq!(document_numbers(&*read, 2), [5, 7]);
}

fn replaces_collections_by_number_only(open: &mut dyn FnMut() -> Box<dyn Store>) {
    let mut store = open();
    let mut change = must(store.begin());
    let changed = CollectionRow { retention_days: None, ..collection(2) };
    must(change.put_collection(&changed));
    assert_eq!(rows_of(change.read()), [collection(1), changed]);
    must(change.put_collection(&collection(2)));
    must(change.commit());
    let mut change = must(store.begin());
    let same_name = CollectionRow { number: 3, ..collection(2) };
    assert!(change.put_collection(&same_name).is_err());
    assert_eq!(rows_of(change.read()), [collection(1), collection(2)]);
}

fn reads_clusters_in_order(open: &mut dyn FnMut() -> Box<dyn Store>) {
    let mut store = open();
    let member = |document, cluster, joined| MemberRow {
        document,
        collection: 1,
        cluster: ClusterId(cluster),
        joined,
    };
    let cluster = |number, size| ClusterRow {
        cluster: ClusterId(number),
        size,
        center: Some(number),
        chained: size - 1,
    };
    let rows = [member(1, 3, None), member(2, 3, Some(1)), member(3, 3, Some(1)), member(4, 5, None)];
    let mut change = must(store.begin());
    rows.iter().rev().for_each(|row| must(change.put_member(row)));
    must(change.put_cluster(1, &cluster(3, 3)));
    must(change.put_cluster(1, &cluster(4, 8)));
    must(change.put_cluster(2, &cluster(6, 2)));
    must(change.put_cluster(1, &cluster(5, 1)));
    must(change.commit());
    let read = must(store.reader());
    assert_eq!(intact(read.members(ClusterId(3), 0, 2)), rows[..2]);
    assert_eq!(intact(read.members(ClusterId(3), 2, 9)), rows[1..3]);
    assert_eq!(intact(read.joined(1, 0, 9)), rows[1..3]);
    assert_eq!(intact(read.joined(1, 0, 1)), rows[1..2]);
    assert_eq!(intact(read.joined(1, 3, 9)), rows[2..3]);
    assert_eq!(must(read.member(4)), Some(rows[3]));
    assert_eq!(must(read.member(5)), None);
    assert_eq!(intact(read.clusters(1, None, 10)), [cluster(4, 8), cluster(3, 3)]);
    assert_eq!(intact(read.clusters(1, Some(ClusterId(4)), 10)), [cluster(3, 3)]);
    assert_eq!(must(read.cluster(ClusterId(3))), Some(cluster(3, 3)));
    assert_eq!(must(read.cluster(ClusterId(5))), None, "clusters of one document are not stored");
    let totals = ClusterTotals { clusters: 2, documents: 11, largest: 8, chained: 9 };
    assert_eq!(must(read.cluster_totals(1)), totals);
    reads_clusters_without_center(&mut *store);
    let mut change = must(store.begin());
    must(change.remove_document(2));
    must(change.put_member(&member(3, 5, None)));
    must(change.put_cluster(1, &cluster(3, 1)));
    must(change.commit());
    assert_eq!(intact(read.members(ClusterId(3), 0, 9)), rows[..1]);
    assert_eq!(intact(read.members(ClusterId(5), 0, 9)), [member(3, 5, None), rows[3]]);
    assert_eq!(must(read.cluster(ClusterId(3))), None);
    assert_eq!(must(read.sketch(2)), None);
    assert_eq!(must(read.member(2)), None);
}

/// A cluster of one document that lost its center is stored and not listed.
fn reads_clusters_without_center(store: &mut dyn Store) {
    let row = ClusterRow { cluster: ClusterId(7), size: 1, center: None, chained: 0 };
    let mut change = must(store.begin());
    let listed = intact(change.read().clusters(1, None, 10));
    must(change.put_cluster(1, &row));
    assert_eq!(must(change.read().cluster(row.cluster)), Some(row));
    assert_eq!(intact(change.read().clusters(1, None, 10)), listed);
    let mut all = Vec::new();
    must(change.read().each_cluster(1, &mut |cluster, row| {
        all.push(must(row));
        assert_eq!(all.last().map(|row| row.cluster), Some(cluster));
        Ok(())
    }));
    assert_eq!(all.len(), listed.len() + 1);
    must(change.put_cluster(1, &ClusterRow { size: 0, ..row }));
    assert_eq!(must(change.read().cluster(row.cluster)), None);
}

fn reads_tasks_in_order_of_their_positions(open: &mut dyn FnMut() -> Box<dyn Store>) {
    let mut store = open();
    let task = |collection, position, cluster, kind| TaskRow {
        collection,
        position,
        cluster: ClusterId(cluster),
        kind,
        target: ClusterId(position + 1),
    };
    let first = task(1, 3, 4, TaskKind::Members);
    let second = task(1, 9, 2, TaskKind::Document);
    let mut change = must(store.begin());
    for row in [second, task(1, 9, 4, TaskKind::Subtree), first, task(2, 0, 6, TaskKind::Merge)] {
        must(change.put_task(&row));
    }
    must(change.commit());
    let read = must(store.reader());
    assert_eq!(must(read.first_task(1)), Some(first));
    assert_eq!(must(read.tasks_of(ClusterId(2))), [second]);
    assert_eq!(must(read.count_pending(1)), 2);
    let merge = task(2, 0, 6, TaskKind::Merge);
    assert_eq!(must(read.merges_into(2, merge.target)), [merge]);
    assert_eq!(must(read.merges_into(2, merge.cluster)), []);
    assert_eq!(must(read.merges_into(1, merge.target)), []);
    assert_eq!(must(read.count_pending(2)), 2, "a merge changes two clusters");
    let mut positions = Vec::new();
    must(read.each_task(1, &mut |task| {
        positions.push(must(task).position);
        Ok(())
    }));
    assert_eq!(positions, [3, 9, 9]);
    let mut change = must(store.begin());
    must(change.remove_task(&first));
    must(change.commit());
    assert_eq!(must(read.first_task(1)), Some(second));
}

fn snapshots_see_one_state(open: &mut dyn FnMut() -> Box<dyn Store>) {
    let mut store = open();
    let read = must(store.reader());
    let task = must(read.first_task(1));
    must(read.begin_snapshot());
    let mut change = must(store.begin());
    must(change.clear_clusters(1));
    must(change.commit());
    assert_eq!(must(read.first_task(1)), task);
    assert!(!intact(read.members(ClusterId(5), 0, 1)).is_empty());
    must(read.end_snapshot());
    assert_eq!(must(read.first_task(1)), None);
    assert_eq!(intact(read.members(ClusterId(5), 0, 1)), []);
}

fn drops_a_collection_with_all_its_rows(open: &mut dyn FnMut() -> Box<dyn Store>) {
    let mut store = open();
    let mut change = must(store.begin());
    must(change.drop_collection(1));
    must(change.commit());
    let read = must(store.reader());
    assert_eq!(rows_of(&*read), [collection(2)]);
    let documents = ids(&*read, 1).len();
    assert!(documents > 2, "the rows remain until they are removed");
    drop(store);
    let mut store = open();
    let read = must(store.reader());
    assert_eq!(must(read.dropped_collections()), [1]);
    let mut change = must(store.begin());
    assert!(must(change.remove_rows(1, 2)));
    must(change.commit());
    assert_eq!(ids(&*read, 1).len(), documents - 2);
    let mut change = must(store.begin());
    while must(change.remove_rows(1, 2)) {}
    must(change.commit());
    assert!(must(read.dropped_collections()).is_empty());
    assert_eq!(must(read.first_task(1)), None);
    assert_eq!(ids(&*read, 1), []);
    assert_eq!(must(read.sketch(1)), None);
    assert_eq!(must(read.member(1)), None);
    assert_eq!(intact(read.clusters(1, None, 10)), []);
    assert_eq!(document_numbers(&*read, 2), [5, 7]);
}
