//! The commands: each file holds its `Args`, then its `run`.

pub(crate) mod backfill;
pub(crate) mod bench;
pub(crate) mod cluster;
pub(crate) mod compare;
pub(crate) mod config;
pub(crate) mod dedup;
pub(crate) mod eval;
pub(crate) mod fingerprint;
pub(crate) mod hamming;
pub(crate) mod index;
pub(crate) mod keys;
pub(crate) mod pairs;
pub(crate) mod restore;
pub(crate) mod serve;
pub(crate) mod tune;
