//! The commands: each file holds its `Args`, then its `run`.

pub(crate) mod compare;
pub(crate) mod eval;
pub(crate) mod fingerprint;
