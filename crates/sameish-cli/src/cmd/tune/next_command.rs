//! The arguments of the commands that `tune` suggests.

use crate::output::command::quoted;
use std::ffi::OsString;

/// Flags with a value that other commands do not have, or that the suggested command sets itself.
const WITH_VALUE: [&str; 15] = [
    "--sample",
    "--templates",
    "--threshold",
    "--recall",
    "--radius",
    "--cluster-field",
    "--labels",
    "--precision",
    "--svg",
    "--report",
    "--output",
    "--rejects",
    "--threads",
    "--on-bad",
    "-o",
];
const WITHOUT_VALUE: [&str; 5] = ["--ascii", "--json", "--quiet", "--force", "-q"];
/// Longer argument lists are replaced by `IN...`.
const MAX_CHARACTERS: usize = 10_000;

/// Returns the arguments of this `tune` command that other commands accept, quoted for a shell.
pub(super) fn arguments(mut args: impl Iterator<Item = OsString>) -> String {
    let mut kept = Vec::new();
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy();
        let name = text.split('=').next().unwrap_or_default();
        if WITH_VALUE.contains(&name) {
            if !text.contains('=') {
                args.next();
            }
        } else if !WITHOUT_VALUE.contains(&name) && !text.starts_with("-o") {
            kept.push(quoted(&text));
        }
    }
    let line = kept.join(" ");
    if line.len() > MAX_CHARACTERS { "IN...".into() } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_arguments_that_other_commands_accept() {
        let args = "--sample 9 a.jsonl --text-field=body --report=x.html --ascii -o out.txt -q --preset articles b's.csv";
        let line = arguments(args.split(' ').map(OsString::from));
        assert_eq!(line, r"a.jsonl --text-field=body --preset articles 'b'\''s.csv'");
        assert_eq!(arguments((0..1000).map(|i| format!("file{i}.jsonl").into())), "IN...");
    }
}
