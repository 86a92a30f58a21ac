//! The flags that commands share.

use crate::exit::Failure;
use crate::input::Reading;
use crate::input::batch::Rules;
use crate::input::find::{Found, find, known_suffix};
use crate::input::format::{Fields, Kind};
use crate::load::OnDupId;
use crate::output::escape::escaped_name;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sameish::{Config, Engine, Preset, Shingle, Templates, TokenHash};
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

/// Which engine.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct EngineArgs {
    /// Settings for a kind of text [default: copies]
    #[arg(long, value_name = "NAME", value_parser = presets())]
    preset: Option<Preset>,
    /// A TOML file whose keys change the preset, and which may name it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What is compared: `words:3` for three words in a row, `chars:5` for five characters, `windows:3` for rolling windows,
    /// `letters` for words and their letters
    #[arg(long, value_name = "SHINGLE")]
    shingle: Option<Shingle>,
}

fn presets() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.map(Preset::name)).try_map(|name| Preset::from_str(&name))
}

impl EngineArgs {
    /// Makes the engine, or says which setting is wrong.
    pub(crate) fn engine(&self) -> Result<Engine, Failure> {
        checked(self.config()?)
    }

    /// The preset that is meant, by its flag or by the file, and the settings.
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
            let wrong = |why: String| {
                Failure::usage(format!("config file {}: {why}", escaped_name(path.as_os_str())))
            };
            let text = std::fs::read_to_string(path).map_err(|e| wrong(format!("{e}; check the path")))?;
            self.check_preset(&text).map_err(wrong)?;
            config = config.overridden_by(&text).map_err(|error| wrong(error.to_string()))?;
        }
        if let Some(shingle) = self.shingle {
            set_shingle(&mut config, shingle)?;
        }
        Ok(config)
    }
}

fn checked(config: Config) -> Result<Engine, Failure> {
    Engine::new(config).map_err(|error| Failure::usage(error.to_string()))
}

/// Which documents match.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Matching")]
pub(crate) struct MatchArgs {
    /// Least similarity of a match, from 0 to 1 [default: the preset's]
    #[arg(long, value_name = "SIMILARITY")]
    threshold: Option<f64>,
    /// Share of the pairs at the threshold that must be found [default: the preset's]
    #[arg(long, value_name = "SHARE")]
    recall: Option<f64>,
    /// Most bits in which matching fingerprints differ, for presets that make them [default: the preset's]
    #[arg(long, value_name = "BITS")]
    radius: Option<u32>,
    /// Which record counts when an id comes again with another text
    #[arg(long, value_enum, default_value_t = OnDupId::Reject)]
    pub(crate) on_dup_id: OnDupId,
}

/// Whether forms are copies.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Matching")]
pub(crate) struct TemplateArgs {
    /// What becomes of texts of one form with other facts: other names, other numbers [default: the preset's, keep]
    #[arg(long, value_enum)]
    templates: Option<TemplatesArg>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TemplatesArg {
    /// They are not copies of each other, and stay apart
    Keep,
    /// They are copies like any others
    Merge,
}

impl TemplateArgs {
    pub(crate) fn set(self, config: &mut Config) {
        config.matching.templates = match self.templates {
            None => return,
            Some(TemplatesArg::Keep) => Templates::Keep,
            Some(TemplatesArg::Merge) => Templates::Merge,
        };
    }
}

impl MatchArgs {
    /// Makes the engine with these settings on top.
    pub(crate) fn engine(
        &self,
        engine: &EngineArgs,
        adjust: impl FnOnce(&mut Config),
    ) -> Result<Engine, Failure> {
        let mut config = engine.config()?;
        let set = |value: &mut f64, given: Option<f64>| *value = given.unwrap_or(*value);
        set(&mut config.matching.threshold, self.threshold);
        set(&mut config.matching.recall, self.recall);
        if let (Some(minhash), true) = (&mut config.minhash, self.threshold.or(self.recall).is_some()) {
            // Bands of a preset are for its own threshold; what was asked for decides now.
            minhash.bands = None;
        }
        if let Some(radius) = self.radius {
            let Some(simhash) = &mut config.simhash else {
                return Err(Failure::usage(
                    "`--radius` does nothing here: the settings make no fingerprints",
                ));
            };
            simhash.radius = radius;
            // Blocks of a preset are for its own radius.
            simhash.blocks = None;
        }
        adjust(&mut config);
        checked(config)
    }
}

impl EngineArgs {
    /// A flag and a file that name two presets are a mistake that nobody should have to find.
    fn check_preset(&self, config: &str) -> Result<(), String> {
        let named = Config::preset_named_in(config).map_err(|error| error.to_string())?;
        match (self.preset, named) {
            (Some(flag), Some(file)) if flag.name() != file => {
                Err(format!("`preset` is {file}: must be {flag}, as `--preset` says, or absent"))
            }
            _ => Ok(()),
        }
    }
}

/// The shingle belongs to the MinHash lane; to the SimHash lane where there is no other.
fn set_shingle(config: &mut Config, shingle: Shingle) -> Result<(), Failure> {
    match (&mut config.minhash, &mut config.simhash) {
        (Some(minhash), _) => minhash.shingle = shingle,
        (None, Some(simhash)) => {
            simhash.shingle = shingle;
            // FNV-1a is there to equal the seeds' fingerprints of single words; it mixes too poorly for others.
            if shingle != Shingle::Words(1) {
                simhash.hash = TokenHash::Xxh3;
            }
        }
        (None, None) => {
            return Err(Failure::usage("`--shingle` does nothing here: the settings make no shingles"));
        }
    }
    Ok(())
}

/// Which documents.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Files, folders, patterns, or `-` for standard input
    #[arg(required = true, value_name = "IN", help_heading = None)]
    inputs: Vec<OsString>,
    /// Format of all inputs, whatever their suffixes say
    #[arg(long, value_enum, conflicts_with = "whole_files")]
    format: Option<Kind>,
    /// Take each file as one document; its id is the path
    #[arg(long)]
    whole_files: bool,
    /// Field that holds the id
    #[arg(long, value_name = "NAME", default_value = "id")]
    id_field: String,
    /// Field that holds the text
    #[arg(long, value_name = "NAME", default_value = "text")]
    text_field: String,
    /// Field that holds the title, which stands in where there is no text
    #[arg(long, value_name = "NAME", default_value = "title")]
    title_field: String,
    /// Field that holds the source [default: source, else host]
    #[arg(long, value_name = "NAME")]
    source_field: Option<String>,
    /// Field that holds the date
    #[arg(long, value_name = "NAME", default_value = "published_at")]
    date_field: String,
    #[command(flatten)]
    text: TextArgs,
    /// Longest line or record
    #[arg(long, value_name = "SIZE", default_value = "64M")]
    max_line: Size,
}

/// How text is taken, be it a record or a whole file.
#[derive(Debug, clap::Args)]
pub(crate) struct TextArgs {
    /// Replace bytes that are not UTF-8 instead of refusing the text
    #[arg(long)]
    lossy: bool,
    /// Longest text of one document
    #[arg(long, value_name = "SIZE", default_value = "16M")]
    max_document: Size,
    /// Most bytes that one compressed input may unpack to [default: 200 times its size, above 64M]
    #[arg(long, value_name = "SIZE")]
    max_expanded: Option<Size>,
}

impl InputArgs {
    /// The inputs that are meant, in order.
    pub(crate) fn find(&self) -> Result<Vec<Found>, Failure> {
        find(&self.inputs, |path| known_suffix(path, self.whole_files))
    }

    /// More inputs of the same kinds.
    pub(crate) fn find_also(&self, inputs: &[OsString]) -> Result<Vec<Found>, Failure> {
        if inputs.iter().any(|input| input == "-") {
            return Err(Failure::usage("`--against` takes files; standard input is for the documents"));
        }
        find(inputs, |path| known_suffix(path, self.whole_files))
    }

    pub(crate) fn reading(&self, quiet: bool) -> Reading {
        let source = match &self.source_field {
            Some(name) => vec![name.clone()],
            None => vec!["source".into(), "host".into()],
        };
        let fields = Fields {
            id: self.id_field.clone(),
            text: self.text_field.clone(),
            title: self.title_field.clone(),
            source,
            date: self.date_field.clone(),
        };
        let plain = self.text.reading();
        let rules = Rules { max_line: self.max_line.bytes(), ..plain.rules };
        Reading { format: self.format, whole_files: self.whole_files, fields, rules, quiet, ..plain }
    }
}

impl TextArgs {
    /// How a file that is one text is read.
    pub(crate) fn reading(&self) -> Reading {
        let max_document = self.max_document.bytes();
        Reading {
            format: None,
            whole_files: true,
            fields: Fields::default(),
            rules: Rules { lossy: self.lossy, max_line: max_document, max_document },
            max_expanded: self.max_expanded.map(|size| size.0),
            quiet: true,
        }
    }
}

/// A number of bytes, as in `4096`, `64K`, `64M`, `2G` or `64MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(u64);

impl Size {
    const MIN: u64 = 1 << 10;
    const MAX: u64 = 1 << 50;

    pub(crate) fn whole(self) -> u64 {
        self.0
    }

    /// For what is held in memory.
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

/// How many threads: all cores unless told otherwise.
#[derive(Debug, clap::Args)]
pub(crate) struct ThreadArgs {
    /// Threads to work with, 1 to 1024 [default: all cores]
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
    fn sizes_are_read_with_their_units() {
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
