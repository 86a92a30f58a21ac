//! Commands that are printed for the user to run.

use super::escape::escaped;
use sameish_batch::input::{FileFormat, InputResult};
use std::path::Path;

/// Quotes a word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let word = escaped(word);
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:=+@%".contains(c) || !c.is_ascii();
    if !word.is_empty() && word.chars().all(plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Returns a name for the kept records that does not exist yet: a file with the suffixes of the inputs, or a directory if the
/// inputs cannot be written into one file.
pub(crate) fn kept_name(inputs: &[InputResult]) -> String {
    let mut suffixes: Vec<String> =
        inputs.iter().flatten().map(|input| suffix(input.path.as_deref())).collect();
    let files = suffixes.len();
    suffixes.dedup();
    let suffix = match &suffixes[..] {
        [suffix] if files == 1 || suffix != ".parquet" => suffix,
        _ => "/",
    };
    let names = (1..).map(|number| match number {
        1 => format!("kept{suffix}"),
        _ => format!("kept-{number}{suffix}"),
    });
    let is_free = |name: &String| !Path::new(name.trim_end_matches('/')).exists();
    names.into_iter().find(is_free).unwrap_or_else(|| unreachable!("there is always another number"))
}

/// Returns the suffixes of format and compression that an input's records are written with.
fn suffix(path: Option<&Path>) -> String {
    let Some(path) = path else { return String::new() };
    let Some(format) = FileFormat::of_path(path).0 else { return String::new() };
    let compression = path.extension().and_then(|suffix| suffix.to_str());
    match compression.filter(|suffix| matches!(*suffix, "gz" | "zst" | "zstd")) {
        Some(compression) => format!(".{}.{compression}", format.suffix()),
        None => format!(".{}", format.suffix()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sameish_batch::input::Input;

    #[test]
    fn kept_records_have_the_suffix_of_the_inputs() {
        let name = |files: &[&str]| {
            kept_name(&files.iter().map(|file| Ok(Input::file((*file).into()))).collect::<Vec<_>>())
        };
        assert_eq!(name(&["a.jsonl"]), "kept.jsonl");
        assert_eq!(name(&["a.csv.gz", "b.csv.gz"]), "kept.csv.gz");
        assert_eq!(name(&["a.parquet"]), "kept.parquet");
        assert_eq!(name(&["a.parquet", "b.parquet"]), "kept/");
        assert_eq!(name(&["a.csv", "b.jsonl"]), "kept/");
        assert_eq!(name(&["articles"]), "kept");
    }
}
