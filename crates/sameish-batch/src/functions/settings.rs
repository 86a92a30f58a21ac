//! Names of settings.

use sameish::Config;
use sameish::config::Linkage;

/// Settings that can be given without their section of the configuration file: the name and the section.
pub const FLAT_SETTINGS: [(&str, &str); 13] = [
    ("threshold", "matching"),
    ("recall", "matching"),
    ("limit", "matching"),
    ("verify", "matching"),
    ("linkage", "matching"),
    ("templates", "matching"),
    ("unverified", "matching"),
    ("tokenizer", "text"),
    ("stop_words", "text"),
    ("min_words", "text"),
    ("lossy", "text"),
    ("fold_accents", "text"),
    ("html", "text"),
];

/// Sections of the configuration file.
pub const SECTIONS: [&str; 5] = ["text", "simhash", "minhash", "sdr", "matching"];

/// Returns the settings of `dedup`. Like the command line, it forms cohesive clusters whatever the linkage of the settings, so
/// that every removed document matches the kept one.
pub fn dedup_config(mut config: Config) -> Config {
    config.matching.linkage = Linkage::Cohesive;
    config
}

/// Returns `true` if a number is a fraction, such as the maximum fraction of documents to remove.
pub fn is_fraction(number: f64) -> bool {
    (0.0..=1.0).contains(&number)
}
