//! What may the user say?
//!
//! A [`Config`] is a plain value with public fields. It is checked once, when an [`Engine`](crate::Engine) is made
//! of it. The keys of a config file are the names of these fields:
//!
//! ```
//! use sameish::Config;
//!
//! let config = Config::from_toml(
//!     r#"
//!     preset = "articles"
//!     [minhash]
//!     rows = 256
//!     bands = { count = 32, rows = 8 }
//!     "#,
//! )?;
//! assert_eq!(config.minhash.unwrap().rows, 256);
//! # Ok::<(), sameish::Error>(())
//! ```

use crate::error::{Error, Result};
use crate::preset::Preset;
use crate::sketch::Screen;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// All settings of an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How text is split.
    pub text: TextConfig,
    /// The SimHash lane, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simhash: Option<SimHashConfig>,
    /// The MinHash lane, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minhash: Option<MinHashConfig>,
    /// The sparse code lane, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sdr: Option<SdrConfig>,
    /// When two documents match.
    pub matching: MatchingConfig,
}

/// How text is split into words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextConfig {
    /// The rules for splitting.
    pub tokenizer: Tokenizer,
    /// Language whose stop words are dropped before features are made, as a two-letter code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_words: Option<String>,
    /// Texts with fewer words (after stop words went) are too short for this preset.
    pub min_words: u32,
    /// Whether doors that read bytes replace what is no UTF-8 instead of refusing the document.
    #[serde(default)]
    pub lossy: bool,
}

/// The rules for splitting text into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tokenizer {
    /// Normalized text, words by Unicode's rules, single units for scripts without spaces.
    Unicode,
    /// Runs of two or more of `a-z 0-9 _` in the lower-cased raw text, as seeds 000 and 001 split.
    AsciiWords,
    /// Split at runs of ASCII white space, nothing else, as seed 002's encoder splits.
    Whitespace,
}

/// What a feature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shingle {
    /// So many consecutive words. A text with fewer is one feature.
    Words(u32),
    /// So many consecutive characters of the words joined by one blank. A text with fewer is one feature.
    Chars(u32),
    /// Each word, and each character of each word.
    Letters,
    /// So many consecutive words under a rolling hash. A text with fewer has no feature.
    Windows(u32),
}

/// How repeated features of one text count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// Once.
    Set,
    /// As often as they occur.
    Multiset,
}

/// The hash that turns a token into 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenHash {
    /// FNV-1a 64, for fingerprints that must equal those of seeds 000 and 001. Its bits are poorly mixed.
    Fnv1a,
    /// XXH3 64 with seed 0.
    Xxh3,
}

/// How loud a feature's vote is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// Each distinct feature votes once.
    Uniform,
    /// Each occurrence votes once.
    Frequency,
    /// Each occurrence votes with the rarity of its feature in a corpus:
    /// see [`DocumentFrequencies`](crate::DocumentFrequencies).
    InverseDocumentFrequency,
}

/// A lane of 64-bit fingerprints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimHashConfig {
    /// What votes.
    pub shingle: Shingle,
    /// The hash of a token.
    pub hash: TokenHash,
    /// How loud.
    pub weighting: Weighting,
    /// Fingerprints that differ in at most so many bits are candidates; at most 3 where both texts have signatures as well
    /// and matches are verified: see [`PrintIndex`](crate::PrintIndex).
    pub radius: u32,
    /// The blocks of the index; chosen by size when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Blocks>,
}

/// A lane of MinHash signatures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MinHashConfig {
    /// What the set is made of.
    pub shingle: Shingle,
    /// Whether repeats count.
    pub counting: Counting,
    /// How many rows the signature has.
    pub rows: u32,
    /// The bands of the index; chosen from threshold and recall when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bands: Option<Bands>,
}

/// A lane of sparse codes, with the parameters of seed 002's encoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SdrConfig {
    /// Bits of the code.
    pub size: u32,
    /// How many of them are set. Exactly one of this and `sparsity` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_bits: Option<u32>,
    /// The share of them that is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sparsity: Option<f32>,
    /// Whether `Cat` and `cat` differ.
    #[serde(default)]
    pub case_sensitivity: bool,
    /// Whether tokens that share letters overlap.
    #[serde(default)]
    pub token_similarity: bool,
    /// Weights of known tokens. Others are dropped unless `encode_orphans`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<BTreeMap<String, u32>>,
    /// Whether tokens outside the vocabulary count with weight 1.
    #[serde(default)]
    pub encode_orphans: bool,
    /// Tokens that never count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excludes: Vec<String>,
    /// The first so many occurrences of a token do not count; 0 turns it off.
    #[serde(default)]
    pub frequency_floor: u32,
    /// From this occurrence on a token does not count; 0 turns it off.
    #[serde(default)]
    pub frequency_ceiling: u32,
}

/// When two documents match, and how they are grouped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchingConfig {
    /// Least exact Jaccard similarity of a match.
    pub threshold: f64,
    /// Share of the pairs at or above the threshold that the index must find.
    pub recall: f64,
    /// How many matches a search gives.
    pub limit: u32,
    /// Whether candidates are checked on the documents' own features.
    pub verify: bool,
    /// How matches become groups.
    pub linkage: Linkage,
    /// Whether texts of one form with other facts may be grouped.
    #[serde(default)]
    pub templates: Templates,
}

/// What becomes of texts of one form with other facts: another company's results, another day's rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Templates {
    /// They are told as matches, and never grouped.
    #[default]
    Keep,
    /// They are grouped like any others.
    Merge,
}

/// How matches become groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Linkage {
    /// Newest first; each unassigned document takes all unassigned ones within the radius (seed 000).
    Greedy,
    /// Whatever is connected.
    Components,
    /// Every member is verified against its center.
    Cohesive,
    /// Each newcomer joins the cluster of its best match (seed 003).
    Online,
}

/// The cut of 64 bits into blocks of which some may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// How many blocks.
    pub total: u32,
    /// How many of them may differ.
    pub differing: u32,
}

/// The cut of a signature into bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bands {
    /// How many bands.
    pub count: u32,
    /// How many rows each.
    pub rows: u32,
}

/// Most rows a signature may have.
pub const MAX_ROWS: u32 = 1024;
/// Longest shingle, in words or characters.
pub const MAX_SHINGLE: u32 = 64;
/// Largest sparse code.
pub const MAX_SDR_SIZE: u32 = 1 << 24;

impl Config {
    /// Reads a config file. Its key `preset` names what the other keys change; without it that is `copies`.
    pub fn from_toml(text: &str) -> Result<Config> {
        Preset::default().config().overridden_by(text)
    }

    /// The name behind the key `preset` of a config file, if it has that key.
    pub fn preset_named_in(text: &str) -> Result<Option<String>> {
        let table: toml::Table = text.parse().map_err(syntax)?;
        Ok(table.get("preset").and_then(toml::Value::as_str).map(str::to_owned))
    }

    /// This config with the settings of a config file laid over it; a key `preset` in it starts from that preset
    /// instead, and `preset = "none"` from nothing, so that the file has to say it all. The value `"none"` takes any other
    /// setting away that may be absent: `stop_words = "none"`.
    pub fn overridden_by(&self, text: &str) -> Result<Config> {
        let syntax =
            |e: toml::de::Error| Error::ConfigSyntax { message: e.to_string().trim_end().to_owned() };
        let mut overrides: toml::Table = text.parse().map_err(syntax)?;
        let base = match overrides.remove("preset") {
            None => Some(self.clone()),
            Some(toml::Value::String(name)) if name == NO_PRESET => None,
            Some(toml::Value::String(name)) => Some(name.parse::<Preset>()?.config()),
            Some(other) => return Err(Error::field("preset", other, "a name in quotes")),
        };
        let mut table = toml::Table::new();
        if let Some(base) = base {
            table =
                toml::Table::try_from(&base).map_err(|e| Error::ConfigSyntax { message: e.to_string() })?;
        }
        let given = overrides.get("sdr").and_then(toml::Value::as_table);
        if let (Some(given), Some(sdr)) = (given, table.get_mut("sdr").and_then(toml::Value::as_table_mut)) {
            // One of the two takes the place of the other.
            for (this, other) in [("active_bits", "sparsity"), ("sparsity", "active_bits")] {
                if given.contains_key(this) && !given.contains_key(other) {
                    sdr.remove(other);
                }
            }
        }
        lay_over(&mut table, overrides);
        let config: Config = table.try_into().map_err(syntax)?;
        config.validate()?;
        Ok(config)
    }

    /// Writes a config file that [`from_toml`](Self::from_toml) reads back to an equal value.
    pub fn to_toml(&self) -> String {
        let body =
            toml::to_string(self).unwrap_or_else(|e| unreachable!("a config always has a TOML form: {e}"));
        format!("preset = \"{NO_PRESET}\"\n\n{body}")
    }

    /// The bands of the MinHash lane: those that are set, else the ones that meet threshold and recall.
    ///
    /// ```
    /// use sameish::{Bands, Preset};
    ///
    /// let bands = Preset::Copies.config().bands()?.unwrap();
    /// assert!(bands.probability(0.8) >= 0.99);
    /// assert_eq!(Preset::Wire.config().bands()?, None);
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn bands(&self) -> Result<Option<Bands>> {
        let MatchingConfig { threshold, recall, .. } = self.matching;
        let of = |minhash: &MinHashConfig| match minhash.bands {
            Some(bands) => Ok(bands),
            None => Bands::for_target(minhash.rows, threshold, recall),
        };
        self.minhash.as_ref().map(of).transpose()
    }

    /// Which candidates of the MinHash lane are worth a look at their texts.
    pub fn screen(&self) -> Option<Screen> {
        self.minhash.as_ref().map(|minhash| Screen::new(minhash.rows, self.matching.threshold))
    }

    /// Checks every setting and how they go together.
    pub fn validate(&self) -> Result<()> {
        if let Some(code) = &self.text.stop_words {
            crate::text::StopWords::for_language(code)?;
        }
        if self.simhash.is_none() && self.minhash.is_none() && self.sdr.is_none() {
            return Err(Error::field("minhash", "absent", "present, unless `simhash` or `sdr` is"));
        }
        if let Some(simhash) = &self.simhash {
            simhash.validate()?;
        }
        if let Some(minhash) = &self.minhash {
            minhash.validate()?;
        }
        if let Some(sdr) = &self.sdr {
            sdr.validate()?;
        }
        self.matching.validate()
    }
}

fn syntax(error: toml::de::Error) -> Error {
    Error::ConfigSyntax { message: error.to_string().trim_end().to_owned() }
}

/// What a config file calls its preset when it stands by itself.
const NO_PRESET: &str = "none";

/// Puts `over` on top of `base`, table by table. The value `"none"` takes a key away.
fn lay_over(base: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => lay_over(below, above),
            (_, toml::Value::String(none)) if none == "none" => {
                base.remove(&key);
            }
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

impl SimHashConfig {
    fn validate(&self) -> Result<()> {
        self.shingle.validate("simhash.shingle")?;
        if self.hash == TokenHash::Fnv1a && self.shingle != Shingle::Words(1) {
            return Err(Error::field("simhash.hash", "fnv1a", "xxh3, unless `simhash.shingle` is words:1"));
        }
        if self.radius > 64 {
            return Err(Error::field("simhash.radius", self.radius, "0 to 64"));
        }
        match self.blocks {
            Some(blocks) => blocks.validate(self.radius),
            None => Ok(()),
        }
    }
}

impl Blocks {
    fn validate(&self, radius: u32) -> Result<()> {
        if self.total == 0 || self.total > 64 {
            return Err(Error::field("simhash.blocks.total", self.total, "1 to 64"));
        }
        if self.differing >= self.total {
            let expected = format!("less than the {} blocks there are", self.total);
            return Err(Error::field("simhash.blocks.differing", self.differing, expected));
        }
        if self.differing < radius {
            let expected = format!("at least the radius, {radius}");
            return Err(Error::field("simhash.blocks.differing", self.differing, expected));
        }
        Ok(())
    }
}

impl MinHashConfig {
    fn validate(&self) -> Result<()> {
        self.shingle.validate("minhash.shingle")?;
        if !(1..=MAX_ROWS).contains(&self.rows) {
            return Err(Error::field("minhash.rows", self.rows, format!("1 to {MAX_ROWS}")));
        }
        let Some(bands) = self.bands else { return Ok(()) };
        if bands.count == 0 || bands.rows == 0 {
            let value = format!("{} x {}", bands.count, bands.rows);
            return Err(Error::field("minhash.bands", value, "at least 1 x 1"));
        }
        if bands.count.checked_mul(bands.rows).is_none_or(|rows| rows > self.rows) {
            let value = format!("{} x {}", bands.count, bands.rows);
            let expected = format!("at most the {} rows of the signature", self.rows);
            return Err(Error::field("minhash.bands", value, expected));
        }
        Ok(())
    }
}

impl SdrConfig {
    /// The number of bits that are set: given, or the given share of the size.
    pub fn bits(&self) -> Result<u32> {
        match (self.active_bits, self.sparsity) {
            (Some(bits), None) => Ok(bits),
            // 32-bit arithmetic and half away from zero, because stored codes were made so.
            (None, Some(share)) if (0.0..=1.0).contains(&share) => {
                Ok((self.size as f32 * share).round() as u32)
            }
            (None, Some(share)) => Err(Error::field("sdr.sparsity", share, "between 0 and 1")),
            (Some(_), Some(_)) => {
                Err(Error::field("sdr.sparsity", "given beside active_bits", "one of the two"))
            }
            (None, None) => Err(Error::field("sdr.active_bits", "absent", "given, or `sdr.sparsity`")),
        }
    }

    /// Checks the parameters and how they go together.
    pub fn validate(&self) -> Result<()> {
        if !(1..=MAX_SDR_SIZE).contains(&self.size) {
            return Err(Error::field("sdr.size", self.size, format!("1 to {MAX_SDR_SIZE}")));
        }
        let bits = self.bits()?;
        if bits == 0 || bits >= self.size {
            let expected = format!("more than 0 and less than the size, {}", self.size);
            return Err(Error::field("sdr.active_bits", bits, expected));
        }
        let (floor, ceiling) = (self.frequency_floor, self.frequency_ceiling);
        if floor > 0 && ceiling > 0 && ceiling <= floor {
            let expected = format!("more than the floor, {floor}");
            return Err(Error::field("sdr.frequency_ceiling", ceiling, expected));
        }
        if self.encode_orphans && self.vocabulary.is_none() {
            return Err(Error::field("sdr.encode_orphans", "true", "false without `sdr.vocabulary`"));
        }
        Ok(())
    }
}

impl MatchingConfig {
    fn validate(&self) -> Result<()> {
        if !(self.threshold > 0.0 && self.threshold <= 1.0) {
            return Err(Error::field("matching.threshold", self.threshold, "more than 0 and at most 1"));
        }
        if !(self.recall > 0.0 && self.recall < 1.0) {
            return Err(Error::field("matching.recall", self.recall, "more than 0 and less than 1"));
        }
        if self.limit == 0 {
            return Err(Error::field("matching.limit", self.limit, "at least 1"));
        }
        Ok(())
    }
}

impl Shingle {
    fn validate(&self, field: &'static str) -> Result<()> {
        match *self {
            Shingle::Words(n) | Shingle::Chars(n) | Shingle::Windows(n)
                if !(1..=MAX_SHINGLE).contains(&n) =>
            {
                Err(Error::field(field, self, format!("1 to {MAX_SHINGLE} long")))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Shingle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shingle::Words(n) => write!(f, "words:{n}"),
            Shingle::Chars(n) => write!(f, "chars:{n}"),
            Shingle::Letters => f.write_str("letters"),
            Shingle::Windows(n) => write!(f, "windows:{n}"),
        }
    }
}

impl FromStr for Shingle {
    type Err = Error;

    /// Reads `words:3`, `chars:5`, `windows:3` or `letters`.
    fn from_str(s: &str) -> Result<Shingle> {
        let wrong = || Error::field("shingle", s, "such as words:3, chars:5, windows:3 or letters");
        if s == "letters" {
            return Ok(Shingle::Letters);
        }
        let (kind, n) = s.split_once(':').ok_or_else(wrong)?;
        let n: u32 = n.parse().map_err(|_| wrong())?;
        let shingle = match kind {
            "words" => Shingle::Words(n),
            "chars" => Shingle::Chars(n),
            "windows" => Shingle::Windows(n),
            _ => return Err(wrong()),
        };
        shingle.validate("shingle")?;
        Ok(shingle)
    }
}

impl Serialize for Shingle {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Shingle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_survives_toml() {
        for preset in Preset::ALL {
            let config = preset.config();
            config.validate().unwrap();
            let text = config.to_toml();
            assert_eq!(Config::from_toml(&text).unwrap(), config, "{text}");
        }
    }

    #[test]
    fn overrides_change_only_what_they_name() {
        let config = Config::from_toml("preset = \"headlines\"\n[matching]\nthreshold = 0.6").unwrap();
        let mut expected = Preset::Headlines.config();
        expected.matching.threshold = 0.6;
        assert_eq!(config, expected);
    }

    #[test]
    fn optional_settings_can_be_taken_away_or_replaced() {
        let plain = Config::from_toml("preset = \"headlines\"\n[text]\nstop_words = \"none\"").unwrap();
        assert_eq!(plain.text.stop_words, None);
        let single = Config::from_toml("preset = \"articles\"\nminhash = \"none\"").unwrap();
        assert_eq!(single.minhash, None);
        let code = Config::from_toml("preset = \"sdr\"\n[sdr]\nactive_bits = 40").unwrap().sdr.unwrap();
        assert_eq!((code.active_bits, code.sparsity), (Some(40), None));
        assert!(Config::from_toml("preset = \"sdr\"\n[sdr]\nactive_bits = 40\nsparsity = 0.1").is_err());
    }

    #[test]
    fn errors_name_field_value_and_remedy() {
        let cases = [
            ("[minhash]\nrows = 0", "`minhash.rows` is 0: must be 1 to 1024"),
            ("[minhash]\nrows = 1025", "`minhash.rows` is 1025: must be 1 to 1024"),
            (
                "[minhash]\nrows = 16\nbands = { count = 5, rows = 4 }",
                "`minhash.bands` is 5 x 4: must be at most the 16 rows of the signature",
            ),
            ("[matching]\nthreshold = 1.5", "`matching.threshold` is 1.5: must be more than 0 and at most 1"),
            ("[matching]\nthreshold = nan", "`matching.threshold` is NaN: must be more than 0 and at most 1"),
            (
                "preset = \"web\"\n[simhash]\nblocks = { total = 3, differing = 3 }",
                "`simhash.blocks.differing` is 3: must be less than the 3 blocks there are",
            ),
            ("preset = \"wire\"\n[simhash]\nradius = 65", "`simhash.radius` is 65: must be 0 to 64"),
            (
                "[text]\nstop_words = \"xx\"",
                "no stop words for language `xx`: use a two-letter code such as `en`, `de` or `fr`",
            ),
            (
                "preset = \"wires\"",
                "no preset is named `wires`: choose one of wire, articles, sdr, headlines, web, copies",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(Config::from_toml(text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn unknown_keys_and_wrong_types_are_refused() {
        for text in
            ["[minhash]\nrow = 5", "colour = 1", "[minhash]\nrows = \"many\"", "[minhash", "preset = 7"]
        {
            assert!(Config::from_toml(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shingles_read_what_they_write() {
        for text in ["words:3", "chars:5", "windows:3", "letters"] {
            assert_eq!(text.parse::<Shingle>().unwrap().to_string(), text);
        }
        for text in ["words", "words:0", "words:65", "lines:3", "words:-1", ""] {
            assert!(text.parse::<Shingle>().is_err(), "{text}");
        }
    }
}
