//! Suffixes of outputs: an output is written in the format of its suffix, or refused.

use super::OutputCompression;
use crate::error::{Error, Result};
use crate::escape::escaped_name;
use crate::input::FileFormat;
use std::path::{Path, PathBuf};

/// Suffixes of compressions and archives that are not written.
const UNSUPPORTED: [(&str, &str); 8] = [
    ("bz2", "bzip2"),
    ("xz", "xz"),
    ("lz4", "LZ4"),
    ("br", "Brotli"),
    ("zip", "a zip archive"),
    ("7z", "a 7z archive"),
    ("tar", "a tar archive"),
    ("tgz", "a tar archive"),
];

/// Fails if the suffix of an output stands for another format than `written`, or for a compression that is not supported.
/// `reason` says why that other format is not written. A suffix that stands for no format is accepted.
pub fn check_suffix(path: &Path, written: FileFormat, reason: &str) -> Result<()> {
    let refused = |suffix: &'static str, reason: &str| {
        let name = escaped_name(path.as_os_str());
        let instead = escaped_name(suitable_name(path, written).as_os_str());
        Err(Error::OutputFormat { name, suffix, reason: reason.to_owned(), instead })
    };
    let last = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if let Some((_, name)) = UNSUPPORTED.iter().find(|(suffix, _)| *suffix == last) {
        return refused(name, "only gzip and Zstandard are supported");
    }
    match FileFormat::of_path(path).0 {
        Some(format) if format != written => refused(format.name(), reason),
        Some(FileFormat::Parquet) if OutputCompression::of_path(path) != OutputCompression::None => {
            refused("compressed Parquet", "Parquet compresses its own pages")
        }
        _ => Ok(()),
    }
}

/// Returns the same name with the suffix of a format.
fn suitable_name(path: &Path, format: FileFormat) -> PathBuf {
    let compression = OutputCompression::of_path(path);
    let plain =
        if compression == OutputCompression::None { path.to_owned() } else { path.with_extension("") };
    let mut name = plain.with_extension(format.suffix()).into_os_string();
    match compression {
        OutputCompression::Gz if format != FileFormat::Parquet => name.push(".gz"),
        OutputCompression::Zst if format != FileFormat::Parquet => name.push(".zst"),
        _ => {}
    }
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, written: FileFormat) -> std::result::Result<(), String> {
        check_suffix(Path::new(name), written, "REASON").map_err(|error| error.to_string())
    }

    #[test]
    fn accepts_the_written_format_and_suffixes_without_a_format() {
        for name in ["a.jsonl", "a.ndjson.gz", "a.jsonl.zst", "a", "a.out", "a.json", "a.d/b"] {
            assert_eq!(check(name, FileFormat::Jsonl), Ok(()), "{name}");
        }
        assert_eq!(check("a.parquet", FileFormat::Parquet), Ok(()));
    }

    #[test]
    fn refuses_other_formats_with_the_reason_and_a_name_that_works() {
        let error = check("d/a.csv.gz", FileFormat::Jsonl).unwrap_err();
        assert!(error.contains("CSV, but REASON") && error.ends_with("`d/a.jsonl.gz`"), "{error}");
        let error = check("a.jsonl.gz", FileFormat::Parquet).unwrap_err();
        assert!(error.ends_with("`a.parquet`"), "{error}");
        assert!(check("a.parquet.gz", FileFormat::Parquet).unwrap_err().contains("its own pages"));
        assert!(check("a.jsonl.xz", FileFormat::Jsonl).unwrap_err().contains("only gzip and Zstandard"));
    }
}
