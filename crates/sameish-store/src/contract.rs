//! Test suite for implementations of [`Store`].
//!
//! Every store must pass [`check_store`]. The suite panics if a store breaks a rule of the trait.

use crate::model::{Center, ClusterOrder, ClusterPosition, EditKind, EventKind, EventRange};
use crate::rows::{
    ClockRow, ClusterRow, ClusterTotals, CollectionRow, Counters, DocumentRow, EditRow, EventRow,
    ListedCluster, MemberRow, Placed, SketchRow, TaskKind, TaskRow, Turn, scheme_of,
};
use crate::store::{Read, Store};
use sameish::cluster::ClusterId;
use sameish::document::GivenSketches;
use sameish::matching::{MatchKind, Relation};
use sameish::{Analyzer, Content, DocId, Document, Preset, Scratch, Sketches};

/// Runs the suite. Each call of `open` opens the same store, which must be empty at the first call.
pub fn check_store(open: &mut dyn FnMut() -> Box<dyn Store>) {
    reads_rows_as_written(open);
    isolates_and_undoes_uncommitted_changes(open);
    rejects_a_second_document_with_an_id(open);
    replaces_collections_by_number_only(open);
    reads_clusters_in_order(open);
    reads_members_in_order_of_their_ranks(open);
    keeps_edits_and_the_clusters_that_they_give(open);
    keeps_events(open);
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
        center: if number == 2 { Center::Longest } else { Center::First },
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
    // Stores do not keep the signature of a short text.
    let sketches = Sketches { short_minhash: None, ..prepared.sketches };
    SketchRow::new(row, sketches, prepared.key, scheme_of(analyzer.schemes()), 7)
}

/// Returns the sketches of a document without a text.
fn given_sketches() -> GivenSketches {
    let sketch = Some(("00000000000000ff", Some("0123456789abcdef")));
    let given = GivenSketches::from_hex(sketch, None).unwrap_or_else(|error| panic!("{error}"));
    given.unwrap_or_else(|| panic!("there is a fingerprint"))
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
    rows[3].document.content = Content::Sketches(Box::new(given_sketches()));
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
        edited: None,
        rank: None,
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
    (101..109).for_each(|document| must(change.put_member(&member(document, 4, None))));
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
    assert_eq!(listed(&*read, None), [cluster(4, 8), cluster(3, 3)]);
    assert_eq!(listed(&*read, Some(4)), [cluster(3, 3)]);
    assert_eq!(must(read.cluster(ClusterId(3))), Some(cluster(3, 3)));
    assert_eq!(must(read.cluster(ClusterId(5))), None, "clusters of one document are not stored");
    let totals = ClusterTotals { clusters: 2, documents: 11, largest: 8, chained: 9 };
    assert_eq!(must(read.cluster_totals(1)), totals);
    reads_clusters_without_center(&mut *store);
    let mut change = must(store.begin());
    (101..109).for_each(|document| must(change.remove_document(document)));
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

fn reads_members_in_order_of_their_ranks(open: &mut dyn FnMut() -> Box<dyn Store>) {
    let (collection, cluster) = (9_002, ClusterId(90_011));
    let member =
        |document, rank| MemberRow { document, collection, cluster, joined: None, edited: None, rank };
    let rows =
        [member(90_012, Some(3)), member(90_011, Some(7)), member(90_014, Some(7)), member(90_013, None)];
    let mut store = open();
    let mut change = must(store.begin());
    rows.iter().for_each(|row| must(change.put_member(row)));
    let read = |position, document, limit| {
        let members = must(change.read().ranked_members(cluster, Turn { position, document }, limit));
        let member = |(turn, row)| {
            let row: MemberRow = must(row);
            assert_eq!(turn, row.turn());
            row
        };
        members.into_iter().map(member).collect::<Vec<_>>()
    };
    assert_eq!(read(0, 0, 9), rows[..3]);
    assert_eq!(read(3, 90_013, 9), rows[1..3]);
    assert_eq!(read(7, 90_012, 9), rows[2..3]);
    assert_eq!(read(0, 0, 1), rows[..1]);
    assert_eq!(must(change.read().member(90_011)), Some(rows[1]));
}

fn keeps_edits_and_the_clusters_that_they_give(open: &mut dyn FnMut() -> Box<dyn Store>) {
    let (collection, base, other) = (9_001, ClusterId(90_001), ClusterId(90_002));
    let documents = vec![vec![DocId::Number(7), "7".into()], vec![DocId::Negative(-7)]];
    let edit = EditRow { collection, number: 3, at: 5, kind: EditKind::Split, clusters: other, documents };
    {
        let mut store = open();
        let mut change = must(store.begin());
        must(change.put_edit(&edit));
        must(change.put_place(collection, Placed::Document(90_001), Some(other)));
        must(change.put_place(collection, Placed::Others(base), Some(other)));
        for (document, edited) in [(90_001, Some(other)), (90_002, Some(other)), (90_003, None)] {
            let row = MemberRow { document, collection, cluster: base, joined: None, edited, rank: None };
            must(change.put_member(&row));
        }
        for (cluster, size, center) in [(base, 3, Some(90_001)), (other, 0, None)] {
            must(change.put_cluster(collection, &ClusterRow { cluster, size, center, chained: 0 }));
        }
        must(change.commit());
    }
    let mut store = open();
    let read = must(store.reader());
    assert_eq!(intact(read.edits(collection)), std::slice::from_ref(&edit));
    assert_eq!(must(read.last_edit(collection)), 3);
    assert_eq!(must(read.place(collection, Placed::Others(base))), Some(other));
    assert_eq!(must(read.place(collection, Placed::Document(90_002))), None);
    assert_eq!(must(read.places(collection)).len(), 2);
    assert_eq!(intact(read.members(base, 0, 9)).len(), 3, "members of a cluster of the linkage");
    assert_eq!(must(read.members_by_date(other, None, 9)).len(), 2, "members that are shown");
    let listed = |cluster| must(read.listed_cluster(cluster)).map(|row: ListedCluster| row.listed);
    assert_eq!((listed(base), listed(other)), (Some(1), Some(2)));
    let page = must(read.clusters(collection, ClusterOrder::Largest, None, 9));
    assert_eq!(page.len(), 1, "a cluster that is shown with one document is not listed");
    let mut change = must(store.begin());
    must(change.remove_edit(collection, 3));
    must(change.clear_clusters(collection));
    assert_eq!(must(change.read().places(collection)), []);
    assert_eq!(must(change.read().last_edit(collection)), 3, "numbers are not reused");
    must(change.commit());
}

/// Events have consecutive numbers per collection, and only old ones beyond the latest 100,000 are deleted.
fn keeps_events(open: &mut dyn FnMut() -> Box<dyn Store>) {
    let day = 86_400_000;
    let mut store = open();
    let event = |collection, at| EventRow {
        collection,
        at,
        kind: EventKind::Moved,
        document: 7,
        id: DocId::Number(7),
        cluster: Some(ClusterId(3)),
        similarity: Some(0.5),
        match_kind: Some(MatchKind::Near),
        template: true,
        relation: Some(Relation::Contains),
    };
    let mut put = |count: u64, collection, at| {
        let mut change = must(store.begin());
        (0..count).for_each(|_| must(change.put_event(&event(collection, at))));
        must(change.commit());
    };
    put(3, 1, 0);
    put(2, 2, 0);
    put(100_100, 1, day);
    let range = |store: &dyn Store| must(must(store.reader()).event_range(1));
    assert_eq!(range(&*store), EventRange { oldest: 1, newest: 100_103 }, "the last 24 hours are kept");
    let read = must(store.reader());
    let found: Vec<_> =
        must(read.events(2, 1, 9)).into_iter().map(|(number, row)| (number, must(row))).collect();
    assert_eq!(found, [(2, event(2, 0))]);
    let numbers: Vec<u64> = must(read.events(1, 2, 3)).into_iter().map(|(sequence, _)| sequence).collect();
    assert_eq!(numbers, [3, 4, 5]);
    drop(read);
    let mut change = must(store.begin());
    (0..100).for_each(|_| must(change.put_event(&event(1, 2 * day + 1))));
    must(change.commit());
    let EventRange { oldest, newest } = range(&*store);
    assert_eq!(newest, 100_203);
    assert!(oldest > 1 && oldest <= newest - 100_000 + 1, "{oldest}");
    assert_eq!(must(must(store.reader()).event_range(3)), EventRange { oldest: 1, newest: 0 });
}

/// Returns the clusters of collection 1 before a cluster, newest first.
fn listed(read: &dyn Read, before: Option<u64>) -> Vec<ClusterRow> {
    let after = before.map(|number| ClusterPosition { key: number, cluster: ClusterId(number) });
    let listed = must(read.clusters(1, ClusterOrder::Newest, after, 10));
    listed.into_iter().map(|(_, row)| must(row).row).collect()
}

/// A cluster of one document that lost its center is stored and not listed.
fn reads_clusters_without_center(store: &mut dyn Store) {
    let row = ClusterRow { cluster: ClusterId(7), size: 1, center: None, chained: 0 };
    let mut change = must(store.begin());
    let before = listed(change.read(), None);
    must(change.put_cluster(1, &row));
    assert_eq!(must(change.read().cluster(row.cluster)), Some(row));
    assert_eq!(listed(change.read(), None), before);
    let mut all = Vec::new();
    must(change.read().each_cluster(1, &mut |cluster, row| {
        all.push(must(row));
        assert_eq!(all.last().map(|row| row.cluster), Some(cluster));
        Ok(())
    }));
    assert_eq!(all.len(), before.len() + 1);
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
    assert_eq!(listed(&*read, None), []);
    assert_eq!(document_numbers(&*read, 2), [5, 7]);
}
