//! Runs the contract suite on every store.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish_store::{SqliteStore, contract};

#[test]
fn sqlite_store_fulfills_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    contract::check_store(&mut || Box::new(SqliteStore::open(dir.path(), true, false).unwrap()));
}
