//! The suite that every store passes, on each of them.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish_store::{SqliteStore, contract};

#[test]
fn sqlite() {
    let folder = tempfile::tempdir().unwrap();
    contract::check_store(&mut || Box::new(SqliteStore::open(folder.path(), true, false).unwrap()));
}
