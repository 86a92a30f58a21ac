//! Snapshots of the data directory.

use crate::settings::Limits;
use crate::wire::field_types::ShortText;
use crate::wire::fields::{Fault, Field, Input, request};
use serde_json::{Value as Schema, json};

request! {
    /// Options of a snapshot.
    pub(crate) struct SnapshotRequest {
        /// Name of the snapshot's directory. Default: a generated name that contains the time.
        pub(crate) name: Option<SnapshotName>,
    }
}

/// The name of a snapshot: a file name that cannot leave its directory.
#[derive(Debug)]
pub(crate) struct SnapshotName(pub(crate) String);

const MAX_SNAPSHOT_NAME: usize = 100;

impl Field for SnapshotName {
    fn read(input: Input<'_>, limits: &Limits) -> Result<SnapshotName, Fault> {
        let ShortText(name) = ShortText::<MAX_SNAPSHOT_NAME>::read(input, limits)?;
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty() || name.starts_with('.') || !name.bytes().all(allowed) {
            let detail = "expected letters, digits, `-`, `_` and `.`, not starting with `.`";
            return Err(Fault::new("invalid", detail));
        }
        Ok(SnapshotName(name))
    }

    fn schema(_: &Limits) -> Schema {
        json!({
            "type": "string",
            "maxLength": MAX_SNAPSHOT_NAME,
            "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]*$",
            "examples": ["nightly-1"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_names_cannot_leave_their_directory() {
        let parse = |name: &str| {
            let body = json!({"name": name}).to_string();
            crate::body::parse::<SnapshotRequest>(body.as_bytes(), &Limits::default())
        };
        assert!(parse("nightly-1.0").is_ok());
        for name in ["..", ".", ".x", "a/b", "", "a\\b", "é"] {
            assert!(parse(name).is_err(), "{name}");
        }
    }
}
