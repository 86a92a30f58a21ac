//! A wrong clock does not delete documents.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish::{Document, Preset, Timestamp};
use sameish_store::{Catalog, Collection, CollectionConfig, Confirmation, ExpiryPause, OpenOptions};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const DAY: i64 = 86_400_000;

fn days_ahead(days: i64) -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    Timestamp::from_milliseconds(now + days * DAY - 60_000).unwrap()
}

fn open(dir: &Path) -> (Catalog, Collection) {
    let catalog = Catalog::open(dir, OpenOptions::default()).unwrap();
    let config = CollectionConfig { retention_days: Some(30), ..CollectionConfig::new(Preset::Copies) };
    let collection = catalog.create("month", config).unwrap();
    (catalog, collection)
}

fn insert(collection: &Collection, ids: std::ops::Range<u64>, date: Option<&str>) {
    for id in ids {
        let mut document = Document::new(id, format!("text number {id} of a collection"));
        document.published_at = date.map(str::to_owned);
        collection.insert(document).unwrap();
    }
}

#[test]
fn clock_that_is_far_ahead_deletes_nothing_until_an_operator_confirms() {
    let dir = tempfile::tempdir().unwrap();
    let (catalog, month) = open(dir.path());
    insert(&month, 0..10, None);
    drop(month);
    catalog.close();
    let (_catalog, month) = open(dir.path());
    let future = days_ahead(365 * 74);
    for _ in 0..3 {
        let result = month.expire(future, Confirmation::Required).unwrap();
        assert_eq!(result.removed, 0);
        assert!(matches!(result.paused, Some(ExpiryPause::Clock { .. })), "{result:?}");
    }
    assert_eq!(month.len(), 10);
    assert_eq!(month.expire(future, Confirmation::Given).unwrap().removed, 10);
}

#[test]
fn clock_may_be_a_day_ahead_and_a_confirmed_pause_may_recur() {
    let dir = tempfile::tempdir().unwrap();
    let (catalog, month) = open(dir.path());
    insert(&month, 0..1, Some("2001-01-01"));
    insert(&month, 1..10, None);
    let late = month.expire(days_ahead(2), Confirmation::Required).unwrap();
    assert!(matches!(late.paused, Some(ExpiryPause::Clock { .. })), "{late:?}");
    assert_eq!(month.expire(days_ahead(1), Confirmation::Required).unwrap().removed, 1);

    insert(&month, 20..21, Some("2001-01-01"));
    assert_eq!(month.expire(days_ahead(5), Confirmation::Given).unwrap().removed, 1);
    drop(month);
    catalog.close();
    let (_catalog, month) = open(dir.path());
    insert(&month, 30..31, Some("2001-01-01"));
    assert_eq!(
        month.expire(days_ahead(9), Confirmation::Required).unwrap().removed,
        1,
        "4 days after 5 days"
    );
}

#[test]
fn more_than_half_of_a_collection_expires_only_after_a_confirmation() {
    let dir = tempfile::tempdir().unwrap();
    let (_catalog, month) = open(dir.path());
    insert(&month, 0..600, Some("2001-01-01"));
    insert(&month, 600..1_199, None);
    let now = days_ahead(0);
    let result = month.expire(now, Confirmation::Required).unwrap();
    assert_eq!(result.removed, 0);
    assert_eq!(result.paused, Some(ExpiryPause::Share { expired: 600, documents: 1_199 }));
    insert(&month, 1_199..1_200, None);
    assert_eq!(month.expire(now, Confirmation::Required).unwrap().removed, 600, "exactly half");

    insert(&month, 2_000..2_700, Some("2001-01-01"));
    assert_eq!(month.expire(now, Confirmation::Required).unwrap().removed, 0);
    assert_eq!(month.expire(now, Confirmation::Given).unwrap().removed, 700);
    assert_eq!(month.len(), 600);
}

#[test]
fn small_collection_becomes_empty_without_a_confirmation() {
    let dir = tempfile::tempdir().unwrap();
    let (_catalog, month) = open(dir.path());
    insert(&month, 0..101, Some("2001-01-01"));
    let paused = month.expire(days_ahead(0), Confirmation::Required).unwrap().paused;
    assert_eq!(paused, Some(ExpiryPause::Share { expired: 101, documents: 101 }));
    assert!(month.delete(&0.into()).unwrap());
    let expired = month.expire(days_ahead(0), Confirmation::Required).unwrap();
    assert_eq!((expired.removed, expired.paused), (100, None));
    assert!(month.is_empty());
}

#[test]
fn confirmation_for_a_running_process_is_used_once() {
    let dir = tempfile::tempdir().unwrap();
    let (catalog, _month) = open(dir.path());
    assert_eq!(catalog.take_expiry_confirmation(), Confirmation::Required);
    Catalog::confirm_expiry(dir.path()).unwrap();
    assert_eq!(catalog.take_expiry_confirmation(), Confirmation::Given);
    assert_eq!(catalog.take_expiry_confirmation(), Confirmation::Required);
    for invalid in ["", "yesterday", "0"] {
        std::fs::write(dir.path().join("sameish.expire"), invalid).unwrap();
        assert_eq!(catalog.take_expiry_confirmation(), Confirmation::Required, "{invalid}");
    }
}
