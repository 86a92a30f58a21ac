//! Arguments shared by several commands.

use crate::choice::{Choice, choice, one_of};
use crate::exit::Failure;
use crate::output::escape::{escaped, escaped_name};
use crate::output::messages::say;
use crate::run_log::{byte_counter, field_log};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sameish::config::{Shingle, StopList, Templates, TokenHash};
use sameish::{Analyzer, Config, Preset};
use sameish_batch::functions::parse_delimiter;
use sameish_batch::input::{
    ChosenField, FieldNames, FieldScope, FileFormat, InputResult, ReadOptions, RecordRules, RequiredField,
    find, known_suffix,
};
use sameish_batch::{OnDupId, Options};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Selects the configuration.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct EngineArgs {
    /// Configuration preset [default: copies]
    #[arg(long, value_name = "NAME", value_parser = presets())]
    preset: Option<Preset>,
    /// TOML file that overrides settings of the preset; its key `preset` may select the preset
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Shingles to compare: `words:3` for three consecutive words, `chars:5` for five consecutive characters, `windows:3` for
    /// rolling windows of three words, `letters` for words and their letters
    #[arg(long, value_name = "SHINGLE")]
    shingle: Option<Shingle>,
    /// Remove the words in FILE, one per line, before texts are compared; replaces the stop words of the preset
    #[arg(long, value_name = "FILE")]
    stop_words_file: Option<PathBuf>,
    /// Compare texts without accents, Arabic vowel signs and Hebrew points
    #[arg(long)]
    fold_accents: bool,
    /// Compare the text of HTML: remove tags, comments, scripts and styles, and decode character references
    #[arg(long)]
    html: bool,
}

fn presets() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.map(Preset::name)).try_map(|name| Preset::from_str(&name))
}

impl EngineArgs {
    /// Returns `true` if an argument is set.
    pub(crate) fn is_set(&self) -> bool {
        let EngineArgs { preset, config, shingle, stop_words_file, fold_accents, html } = self;
        let is_flag_set = *fold_accents || *html;
        preset.is_some() || config.is_some() || shingle.is_some() || stop_words_file.is_some() || is_flag_set
    }

    /// Returns `true` if the user may have chosen the shingle.
    pub(crate) fn sets_shingle(&self) -> bool {
        self.shingle.is_some() || self.config.is_some()
    }

    /// Creates the analyzer.
    pub(crate) fn analyzer(&self) -> Result<Analyzer, Failure> {
        Ok(Analyzer::new(self.config()?)?)
    }

    /// Returns the preset, from the flag or the file, and the configuration.
    pub(crate) fn settings(&self) -> Result<(Preset, Config), Failure> {
        let config = self.config()?;
        let named = match &self.config {
            Some(path) => {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                Config::preset_named_in(&text).ok().flatten().and_then(|name| name.parse().ok())
            }
            None => None,
        };
        Ok((self.preset.or(named).unwrap_or_default(), config))
    }

    fn config(&self) -> Result<Config, Failure> {
        let mut config = self.preset.unwrap_or_default().config();
        if let Some(path) = &self.config {
            let wrong = |why: String| named("config file", path, &why);
            let text = read_settings("config file", path)?;
            self.check_preset(&text).map_err(wrong)?;
            config = config.overridden_by(&text).map_err(|error| wrong(error.to_string()))?;
        }
        if let Some(path) = &self.stop_words_file {
            let list = StopList::from_lines(&read_settings("stop words", path)?);
            config.text.stop_words = Some(list);
            config.validate().map_err(|error| named("stop words", path, &error.to_string()))?;
        }
        if let Some(shingle) = self.shingle {
            set_shingle(&mut config, shingle)?;
        }
        config.text.fold_accents |= self.fold_accents;
        config.text.html |= self.html;
        Ok(config)
    }
}

/// Reads a file with settings.
fn read_settings(kind: &str, path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| named(kind, path, &format!("{error}; check the path")))
}

/// Creates the error of a file with settings.
fn named(kind: &str, path: &Path, why: &str) -> Failure {
    Failure::usage(format!("{kind} `{}`: {why}", escaped_name(path.as_os_str())))
}

/// Selects which documents match.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Matching")]
pub(crate) struct MatchArgs {
    /// Minimum similarity of a match, as `0.8` or `80%` [default: from the preset]
    #[arg(long, value_name = "SIMILARITY", value_parser = threshold)]
    threshold: Option<f64>,
    /// Minimum probability that the index finds a pair exactly at the threshold [default: from the preset]
    #[arg(long, value_name = "FRACTION", value_parser = recall)]
    recall: Option<f64>,
    /// Maximum number of bits in which matching fingerprints differ [default: from the preset]
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(0..=64))]
    radius: Option<u32>,
    /// Treat matches as duplicates although they cannot be verified: those of records with sketches and no text and, with
    /// `articles`, those of short texts with near fingerprints
    #[arg(long)]
    unverified: bool,
    /// Record to use if an id occurs again with a different text
    #[arg(long, value_parser = one_of(&ON_DUP_ID), default_value = "reject")]
    pub(crate) on_dup_id: OnDupId,
}

/// Parses a threshold.
pub(crate) fn threshold(text: &str) -> Result<f64, String> {
    match fraction(text)? {
        0.0 => Err("must be more than 0".into()),
        threshold => Ok(threshold),
    }
}

/// Parses a recall.
pub(crate) fn recall(text: &str) -> Result<f64, String> {
    match threshold(text)? {
        1.0 => Err("must be less than 1; did you mean 0.999?".into()),
        recall => Ok(recall),
    }
}

/// Parses a fraction, as in `0.8` or `80%`.
pub(crate) fn fraction(text: &str) -> Result<f64, String> {
    let (number, of) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let wrong = "must be between 0 and 1, as in `0.8`, or a percentage, as in `80%`";
    match number.trim().parse::<f64>().map(|number| number / of) {
        // Adding 0 turns -0 into 0.
        Ok(fraction) if (0.0..=1.0).contains(&fraction) => Ok(fraction + 0.0),
        Ok(percent) if (2.0..=100.0).contains(&percent) && of == 1.0 => {
            Err(format!("must be between 0 and 1; did you mean {}?", percent / 100.0))
        }
        _ => Err(wrong.into()),
    }
}

/// Treatment of duplicate ids.
pub(crate) const ON_DUP_ID: [Choice<OnDupId>; 2] = [
    choice("reject", "The first record; the others are rejected", OnDupId::Reject),
    choice("last", "The last record", OnDupId::Last),
];

/// Selects whether templates are merged.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Matching")]
pub(crate) struct TemplateArgs {
    /// Treatment of templates: the same wording with different names or numbers [default: keep]
    #[arg(long, value_parser = one_of(&TEMPLATES))]
    templates: Option<Templates>,
}

const TEMPLATES: [Choice<Templates>; 2] = [
    choice("keep", "Templates are not duplicates", Templates::Keep),
    choice("merge", "Templates are duplicates", Templates::Merge),
];

impl TemplateArgs {
    /// Returns `true` if the argument is set.
    pub(crate) fn is_set(self) -> bool {
        self.templates.is_some()
    }

    /// Returns the treatment that the argument requests.
    pub(crate) fn requested(self) -> Option<Templates> {
        self.templates
    }

    pub(crate) fn set(self, config: &mut Config) {
        config.matching.templates = self.templates.unwrap_or(config.matching.templates);
    }
}

/// Memory limit and temporary files.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Memory and files")]
pub(crate) struct MemoryArgs {
    /// Memory limit in bytes, or with a suffix K, M, G or T (KiB to TiB); at least 64M [default: none]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_memory: Option<Size>,
    /// Directory for temporary files [default: the temporary directory of the system]
    #[arg(long, value_name = "DIR")]
    pub(crate) temp_dir: Option<PathBuf>,
}

impl MemoryArgs {
    /// Returns the options of a run. Fails if the memory limit is too small or the temporary directory does not exist.
    pub(crate) fn options(
        &self,
        config: Config,
        threads: usize,
        on_dup_id: OnDupId,
    ) -> Result<Options, Failure> {
        if let Some(directory) = self.temp_dir.as_deref().filter(|directory| !directory.is_dir()) {
            let name = escaped_name(directory.as_os_str());
            return Err(Failure::usage(format!("`--temp-dir {name}` is not a directory; create it first")));
        }
        let options = Options {
            threads,
            memory_limit: self.max_memory.map(Size::whole),
            temp_dir: self.temp_dir.clone(),
            on_dup_id,
            ..Options::new(Analyzer::new(config).map_err(sameish_batch::Error::from)?)
        };
        options.check()?;
        Ok(options)
    }
}

impl MatchArgs {
    /// Returns `true` if an argument is set that selects matches.
    pub(crate) fn is_set(&self) -> bool {
        let MatchArgs { threshold, recall, radius, unverified, on_dup_id } = self;
        let is_other_set = radius.is_some() || *unverified || *on_dup_id != OnDupId::Reject;
        threshold.or(*recall).is_some() || is_other_set
    }

    /// Creates an analyzer with these settings.
    pub(crate) fn analyzer(
        &self,
        engine: &EngineArgs,
        adjust: impl FnOnce(&mut Config),
    ) -> Result<Analyzer, Failure> {
        Ok(Analyzer::new(self.config(engine, adjust)?)?)
    }

    /// Refuses `--unverified` where it changes no match: pairs are listed whether they are verified or not, except for those of
    /// short texts with near fingerprints.
    pub(crate) fn check_pairs(&self, config: &Config) -> Result<(), Failure> {
        if !self.unverified || config.simhash.is_some() {
            return Ok(());
        }
        Err(Failure::usage(
            "`--unverified` has no effect: pairs are listed in any case, and the configuration has no fingerprints of short texts; \
             omit it, or pass `--preset articles`",
        ))
    }

    /// Returns the configuration with these settings.
    pub(crate) fn config(
        &self,
        engine: &EngineArgs,
        adjust: impl FnOnce(&mut Config),
    ) -> Result<Config, Failure> {
        let mut config = engine.config()?;
        let set = |value: &mut f64, given: Option<f64>| *value = given.unwrap_or(*value);
        set(&mut config.matching.threshold, self.threshold);
        set(&mut config.matching.recall, self.recall);
        if let (Some(minhash), true) = (&mut config.minhash, self.threshold.or(self.recall).is_some()) {
            // The bands of a preset belong to its own threshold.
            minhash.bands = None;
        }
        if let Some(radius) = self.radius {
            let Some(simhash) = &mut config.simhash else {
                return Err(Failure::usage(
                    "`--radius` has no effect: the configuration has no fingerprints; omit it, or pass `--preset wire`",
                ));
            };
            simhash.radius = radius;
            // The blocks of a preset belong to its own radius.
            simhash.blocks = None;
        }
        if self.unverified {
            if !config.matching.verify {
                return Err(Failure::usage(
                    "`--unverified` has no effect: the configuration compares sketches only and counts all of its matches; omit it",
                ));
            }
            config.matching.unverified = true;
        }
        adjust(&mut config);
        Ok(config)
    }
}

impl EngineArgs {
    /// Fails if the flag and the file name different presets.
    fn check_preset(&self, config: &str) -> Result<(), String> {
        let named = Config::preset_named_in(config).map_err(|error| error.to_string())?;
        match (self.preset, named) {
            (Some(flag), Some(file)) if flag.name() != file => {
                Err(format!("`preset` is `{file}`, but `--preset` is `{flag}`; remove one of them"))
            }
            _ => Ok(()),
        }
    }
}

/// Sets the shingle of the MinHash signature, or of the SimHash fingerprint if there is no signature.
fn set_shingle(config: &mut Config, shingle: Shingle) -> Result<(), Failure> {
    match (&mut config.minhash, &mut config.simhash) {
        (Some(minhash), _) => minhash.shingle = shingle,
        (None, Some(simhash)) => {
            simhash.shingle = shingle;
            // FNV-1a reproduces published fingerprints of single words, but mixes too poorly for other shingles.
            if shingle != Shingle::Words(1) {
                simhash.hash = TokenHash::Xxh3;
            }
        }
        (None, None) => {
            return Err(Failure::usage(
                "`--shingle` has no effect: the configuration has no shingles; omit it, or pass another `--preset`",
            ));
        }
    }
    Ok(())
}

/// Selects the inputs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Files, directories, glob patterns, or `-` for standard input
    #[arg(required = true, value_name = "IN", help_heading = None)]
    inputs: Vec<OsString>,
    #[command(flatten)]
    documents: DocumentArgs,
    /// Maximum length of a line or record in bytes, or with a suffix K, M or G
    #[arg(long, value_name = "SIZE", default_value = "64M")]
    max_line: Size,
}

/// How documents are read from files.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct DocumentArgs {
    /// Format of all inputs [default: from the suffix, else the content]
    #[arg(long, value_parser = one_of(&FORMATS), conflicts_with = "whole_files")]
    format: Option<FileFormat>,
    /// Read each file as one document; its id is the path
    #[arg(long)]
    whole_files: bool,
    /// Separator of the values of a CSV file: one character, or `tab` [default: comma]
    #[arg(long, value_name = "CHAR", value_parser = delimiter, conflicts_with = "whole_files")]
    delimiter: Option<u8>,
    /// Name of the id field [default: id]
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    /// Name of the text field [default: the first of text, body, content, article that an input has]
    #[arg(long, value_name = "NAME")]
    text_field: Option<String>,
    /// Name of the title field, which is used if there is no text [default: title]
    #[arg(long, value_name = "NAME")]
    title_field: Option<String>,
    /// Name of the source field [default: source, else host]
    #[arg(long, value_name = "NAME")]
    source_field: Option<String>,
    /// Name of the date field [default: published_at]
    #[arg(long, value_name = "NAME")]
    date_field: Option<String>,
    #[command(flatten)]
    text: TextArgs,
}

/// How text is decoded, in a record or in a whole file.
#[derive(Debug, clap::Args)]
pub(crate) struct TextArgs {
    /// Replace bytes that are not UTF-8 instead of rejecting the text
    #[arg(long)]
    lossy: bool,
    /// Maximum length of the text of a document in bytes, or with a suffix K, M or G
    #[arg(long, value_name = "SIZE", default_value = "16M")]
    max_document: Size,
    /// Maximum decompressed size of an input [default: 64M or 200 times its compressed size, whichever is larger]
    #[arg(long, value_name = "SIZE")]
    max_expanded: Option<Size>,
}

const FORMATS: [Choice<FileFormat>; 5] = [
    choice("jsonl", "One JSON object per line", FileFormat::Jsonl),
    choice("csv", "Comma-separated values with a header", FileFormat::Csv),
    choice("tsv", "Tab-separated values with a header", FileFormat::Tsv),
    choice("parquet", "Parquet, one document per row", FileFormat::Parquet),
    choice("text", "Plain text, one document per line", FileFormat::Text),
];

impl InputArgs {
    /// Returns the inputs in order.
    pub(crate) fn find(&self) -> Result<Vec<InputResult>, Failure> {
        self.documents.find(&self.inputs)
    }

    /// Returns the files of an existing corpus.
    pub(crate) fn find_against(&self, inputs: &[OsString]) -> Result<Vec<InputResult>, Failure> {
        if inputs.iter().any(|input| input == "-") {
            return Err(Failure::usage("`--against` cannot read standard input; pass files"));
        }
        self.documents.find(inputs)
    }

    /// Returns how the inputs are read.
    pub(crate) fn reading(&self, inputs: &[InputResult], quiet: bool) -> ReadOptions {
        self.documents.reading(self.max_line, inputs, quiet)
    }
}

impl DocumentArgs {
    /// Returns the inputs that the arguments name.
    pub(crate) fn find(&self, inputs: &[OsString]) -> Result<Vec<InputResult>, Failure> {
        Ok(find(inputs, |path| known_suffix(path, self.whole_files))?)
    }

    /// Returns the field of the id.
    pub(crate) fn id_field(&self) -> &str {
        self.id_field.as_deref().unwrap_or("id")
    }

    /// Returns how inputs are read.
    pub(crate) fn reading(&self, max_line: Size, inputs: &[InputResult], quiet: bool) -> ReadOptions {
        let plain = self.text.reading();
        // A separator makes the inputs tables.
        let format = self.format.or(self.delimiter.map(|_| FileFormat::Csv));
        ReadOptions {
            format,
            whole_files: self.whole_files,
            delimiter: self.delimiter,
            fields: self.fields(),
            required: self.required(inputs),
            rules: RecordRules { max_line: max_line.bytes(), ..plain.rules },
            on_guessed_text: if quiet { None } else { Some(report_guessed_text) },
            on_text_field: if quiet { None } else { Some(report_text_field) },
            field_log: field_log(),
            ..plain
        }
    }

    fn fields(&self) -> FieldNames {
        let default = FieldNames::default();
        let source = self.source_field.as_ref().map(|name| vec![name.clone()]);
        FieldNames {
            id: self.id_field.clone().or(default.id),
            text: self.text_field.clone(),
            title: self.title_field.clone().or(default.title),
            source: source.unwrap_or(default.source),
            date: self.date_field.clone().or(default.date),
        }
    }

    /// Returns the fields that flags name. Texts and ids are needed from every input, other fields from any.
    fn required(&self, inputs: &[InputResult]) -> Vec<RequiredField> {
        let any = if inputs.len() == 1 { FieldScope::EachInput } else { FieldScope::AnyInput };
        let flags = [
            ("--text-field", &self.text_field, FieldScope::EachInput),
            ("--id-field", &self.id_field, FieldScope::EachInput),
            ("--title-field", &self.title_field, any),
            ("--source-field", &self.source_field, any),
            ("--date-field", &self.date_field, any),
        ];
        let required = |(parameter, name, scope): (&'static str, &Option<String>, FieldScope)| {
            Some(RequiredField { name: name.clone()?, parameter, scope })
        };
        flags.into_iter().filter_map(required).collect()
    }
}

/// Parses the separator of a table.
fn delimiter(text: &str) -> Result<u8, String> {
    parse_delimiter(text)
        .ok_or_else(|| "must be one ASCII character, as in `--delimiter ';'`, or `tab`".into())
}

fn report_text_field(chosen: &ChosenField) {
    let ChosenField { input, field, differs } = chosen;
    let field = escaped(field);
    match differs {
        true => say(format_args!("note: {input}: no `text` field; using `{field}`")),
        false => say(format_args!("note: no `text` field; using `{field}`")),
    }
}

fn report_guessed_text(input: &str) {
    say(format_args!(
        "note: {input}: read as plain text, one document per line; pass `--format` if it is not"
    ));
}

impl TextArgs {
    /// Returns how a file that is one text is read.
    pub(crate) fn reading(&self) -> ReadOptions {
        let max_document = self.max_document.bytes();
        ReadOptions {
            whole_files: true,
            rules: RecordRules {
                lossy: self.lossy,
                max_line: max_document,
                max_document,
                ..RecordRules::default()
            },
            max_expanded: self.max_expanded.map(|size| size.0),
            counter: byte_counter(),
            ..ReadOptions::default()
        }
    }
}

/// A number of bytes, as in `4096`, `64K`, `64M`, `2G` or `64MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(u64);

impl Size {
    const MIN: u64 = 1 << 10;
    const MAX: u64 = 1 << 50;
    /// Default maximum length of a record.
    pub(crate) const RECORD: Size = Size(64 << 20);

    /// Returns the number of bytes.
    pub(crate) fn whole(self) -> u64 {
        self.0
    }

    /// Returns the number of bytes of something in memory.
    pub(crate) fn bytes(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
            "" | "b" => Some(0),
            "k" | "kib" => Some(10),
            "m" | "mib" => Some(20),
            "g" | "gib" => Some(30),
            "t" | "tib" => Some(40),
            _ => None,
        };
        let number: Option<u64> = digits.parse().ok();
        let bytes = number.zip(shift).and_then(|(number, shift)| number.checked_mul(1 << shift));
        match bytes {
            Some(bytes) if (Size::MIN..=Size::MAX).contains(&bytes) => Ok(Size(bytes)),
            _ => Err("must be 1K to 1024T, as in `4096`, `64M` or `2G`".into()),
        }
    }
}

/// Number of threads.
#[derive(Debug, clap::Args)]
pub(crate) struct ThreadArgs {
    /// Number of threads, 1 to 1024 [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl ThreadArgs {
    pub(crate) fn count(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
        self.threads.map_or_else(cores, usize::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_may_be_percentages() {
        assert_eq!(fraction("0.8"), Ok(0.8));
        assert_eq!(fraction("80%"), Ok(0.8));
        assert_eq!(fraction("80").unwrap_err(), "must be between 0 and 1; did you mean 0.8?");
        for text in ["", "-0.1", "1.5%x", "800", "120%", "nan", "inf"] {
            assert!(fraction(text).is_err(), "{text}");
        }
        assert!(threshold("0").is_err() && threshold("0%").is_err() && threshold("1").is_ok());
        assert!(recall("1").is_err() && recall("99%").is_ok());
    }

    #[test]
    fn parses_sizes_with_units() {
        let size = |text: &str| text.parse::<Size>().map(|size| size.0);
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("64M"), Ok(64 << 20));
        assert_eq!(size("64MiB"), Ok(64 << 20));
        assert_eq!(size("2g"), Ok(2 << 30));
        for text in ["", "1", "M", "-1M", "1.5M", "64X", "99999999999999999999", "9999999T"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
