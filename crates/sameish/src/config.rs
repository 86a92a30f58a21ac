//! Settings: the reference of all settings that a user can change.
//!
//! A [`Config`] is a plain value with public fields. It is validated once, when an [`Engine`](crate::Engine) is created
//! from it. Most configurations are a [`Preset`] with a few changes. A config file in TOML names the preset and the
//! changes; its keys are the names of the fields:
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

mod cost;
mod stop_list;

pub use cost::{MAX_ACTIVE_BITS, MAX_CODE_BITS, MAX_SKETCH_BYTES, MAX_VOCABULARY};
pub use stop_list::StopList;

use crate::error::{Error, Result};
use crate::preset::Preset;
use crate::sketch::Screen;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// All settings of an engine. At least one of `simhash`, `minhash` and `sdr` must be present.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How texts are split into words.
    pub text: TextConfig,
    /// Settings of SimHash fingerprints. If absent, no fingerprints are computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simhash: Option<SimHashConfig>,
    /// Settings of MinHash signatures. If absent, no signatures are computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minhash: Option<MinHashConfig>,
    /// Settings of sparse codes. If absent, no codes are computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sdr: Option<SdrConfig>,
    /// When two documents match, and how matches are clustered.
    pub matching: MatchingConfig,
}

/// How texts are split into words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextConfig {
    /// Rules for splitting a text. In preset `copies`: `unicode`.
    pub tokenizer: Tokenizer,
    /// Words that are removed before features are extracted: those of a [language](crate::text::StopWords), given as a two-letter
    /// code such as `en`, or a list of words, each one word by the rules of the tokenizer. Refused if only sparse codes are computed, which
    /// have their own list (`sdr.excludes`). Part of the scheme. If absent, no words are removed. Default: absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_words: Option<StopList>,
    /// Minimum number of words, without stop words. A document with fewer words has status `too_short` and gets no
    /// signature. In preset `copies`: 3.
    pub min_words: u32,
    /// Whether invalid UTF-8 in documents that are passed as bytes is replaced by U+FFFD. If `false`, such a document is
    /// rejected. The command line uses its option `--lossy` instead. Default: `false`.
    #[serde(default)]
    pub lossy: bool,
    /// Whether accents and other diacritics are removed before texts are compared: Latin and Greek accents, Arabic vowel signs and
    /// tatweel, Hebrew points. Part of the scheme. Default: `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fold_accents: bool,
    /// Whether texts are HTML: tags, comments, scripts and styles are removed and character references are decoded before
    /// texts are compared. Offsets in evidence refer to the original text. Part of the scheme. Default: `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub html: bool,
}

/// Rules for splitting a text into words. In TOML: `"unicode"`, `"ascii-words"` or `"whitespace"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tokenizer {
    /// Normalizes the text and splits it at Unicode's word boundaries (UAX #29). In scripts that are written without spaces
    /// each character is a word.
    Unicode,
    /// Converts the text to lower case without further normalization. Words are runs of at least two of `a-z 0-9 _`. Used
    /// by the preset `wire`, and by the preset `articles` for its fingerprints.
    AsciiWords,
    /// Splits at runs of ASCII whitespace and does not change the words. Used by the preset `sdr`.
    Whitespace,
}

/// Which parts of a text are features. In TOML: `"words:3"`, `"chars:5"`, `"windows:3"` or `"letters"`. Lengths are 1 to
/// [`MAX_SHINGLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shingle {
    /// Word n-grams: the given number of consecutive words. A shorter text is one feature.
    Words(u32),
    /// Character n-grams: the given number of consecutive characters of the words joined by one space. A shorter text is
    /// one feature.
    Chars(u32),
    /// Each word and each character of each word.
    Letters,
    /// The given number of consecutive words, hashed with a rolling hash. A shorter text has no features.
    Windows(u32),
}

/// How repeated features of a text are counted. In TOML: `"set"` or `"multiset"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// A repeated feature counts once.
    Set,
    /// A repeated feature counts as often as it occurs.
    Multiset,
}

/// The 64-bit hash function of tokens. In TOML: `"fnv1a"` or `"xxh3"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenHash {
    /// FNV-1a 64, for fingerprints that must be compatible with existing FNV-1a SimHash systems (presets `wire` and
    /// `articles`). Its bits are poorly mixed. Requires the shingle `words:1`.
    Fnv1a,
    /// XXH3 64 with seed 0.
    Xxh3,
}

/// The weight of a feature in a SimHash fingerprint. In TOML: `"uniform"`, `"frequency"` or
/// `"inverse-document-frequency"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// Each distinct feature has weight 1.
    Uniform,
    /// Each occurrence of a feature has weight 1.
    Frequency,
    /// Each occurrence of a feature is weighted by the rarity of the feature in a corpus. The engine must be created with
    /// [`DocumentFrequencies`](crate::features::DocumentFrequencies).
    InverseDocumentFrequency,
}

/// Settings of 64-bit SimHash fingerprints and their Hamming index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimHashConfig {
    /// Rules for splitting a text into the words of the fingerprint. In preset `articles`: `ascii-words`, which the definition
    /// of its fingerprints requires, while its signatures and similarities use all words. If absent, `text.tokenizer`
    /// applies. Default: absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<Tokenizer>,
    /// Which features the fingerprint represents.
    pub shingle: Shingle,
    /// Hash function of tokens.
    pub hash: TokenHash,
    /// Weight of the features.
    pub weighting: Weighting,
    /// Maximum Hamming distance of two candidates in bits, 0 to 64, inclusive. Without `matching.verify`, candidates within
    /// the radius are matches. If matches are verified and both documents have signatures, the radius is limited to 3,
    /// because the bands find the other candidates.
    pub radius: u32,
    /// Blocks of the Hamming index. If absent, they are chosen by the size of the index. Default: absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Blocks>,
}

/// Settings of MinHash signatures and their band index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MinHashConfig {
    /// Which features the signature represents. Matches are verified on the same features. In preset `copies`: `words:3`.
    pub shingle: Shingle,
    /// How repeated features are counted. In preset `copies`: `set`.
    pub counting: Counting,
    /// Number of rows of a signature, 1 to [`MAX_ROWS`]; each takes 4 bytes. In preset `copies`: 128.
    pub rows: u32,
    /// Bands of the index. If absent, they are derived from `matching.threshold` and `matching.recall`. Default: absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bands: Option<Bands>,
}

/// Settings of sparse codes. The names and rules are those of the sparse document encoder (SHAKE256) that the preset `sdr`
/// implements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SdrConfig {
    /// Number of bits of a code, 2 to [`MAX_SDR_SIZE`]; in a [`Config`] at most [`MAX_CODE_BITS`]. In preset `sdr`: 2048.
    pub size: u32,
    /// Number of set bits, at least 1 and less than `size`; in a [`Config`] at most [`MAX_ACTIVE_BITS`]. Exactly one of
    /// `active_bits` and `sparsity` must be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_bits: Option<u32>,
    /// Fraction of the bits that are set, 0 to 1. In preset `sdr`: 0.02.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sparsity: Option<f32>,
    /// Whether upper and lower case ASCII letters are different. Default: `false`.
    #[serde(default)]
    pub case_sensitivity: bool,
    /// Whether the bytes of each token are also encoded, so that tokens with common letters have overlapping codes.
    /// Default: `false`.
    #[serde(default)]
    pub token_similarity: bool,
    /// Tokens and their weights. Other tokens are ignored unless `encode_orphans` is set. If absent, every token has
    /// weight 1. Default: absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<BTreeMap<String, u32>>,
    /// Whether tokens that are not in the vocabulary are encoded with weight 1. Requires `vocabulary`. Default: `false`.
    #[serde(default)]
    pub encode_orphans: bool,
    /// Tokens that are ignored. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excludes: Vec<String>,
    /// Number of initial occurrences of each token that are ignored. Default: 0.
    #[serde(default)]
    pub frequency_floor: u32,
    /// Occurrences of a token from this number on, counted from 1, are ignored; greater than `frequency_floor`. 0 means no
    /// limit. Default: 0.
    #[serde(default)]
    pub frequency_ceiling: u32,
}

/// When two documents match, and how matches are clustered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchingConfig {
    /// Minimum similarity of a match, inclusive; greater than 0 and at most 1. The similarity is the exact Jaccard
    /// similarity if matches are verified. Otherwise it is estimated from signatures or sparse codes; for fingerprints,
    /// `simhash.radius` applies instead. In preset `copies`: 0.8.
    pub threshold: f64,
    /// Minimum probability that the band index finds a pair at the threshold; greater than 0 and less than 1. It determines
    /// the bands unless `minhash.bands` is set. In preset `copies`: 0.99.
    pub recall: f64,
    /// Maximum number of matches that a search returns, at least 1. In all presets: 10.
    pub limit: u32,
    /// Whether candidates are verified on the features of the documents. If `false`, sketches decide and matches are
    /// reported as not verified. In preset `copies`: `true`.
    pub verify: bool,
    /// How matches are clustered. In preset `copies`: `cohesive`.
    pub linkage: Linkage,
    /// Whether templates may be in one cluster. Default: `keep`.
    #[serde(default)]
    pub templates: Templates,
    /// Whether texts that are too short also match by their fingerprints alone, and whether matches that were not verified
    /// join clusters and cause removals. Has no effect without `verify`: then sketches decide for all texts. Default: `false`.
    #[serde(default)]
    pub unverified: bool,
    /// Whether equal texts match if they are too short. Default: `equal`; in preset `headlines`: `never`.
    #[serde(default)]
    pub short_texts: ShortTexts,
}

/// Whether equal texts match if they are too short. In TOML: `"equal"` or `"never"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShortTexts {
    /// A text that is too short matches texts with the same normalized text, if matches are verified.
    #[default]
    Equal,
    /// A text that is too short never matches because it is equal: two documents with the title "Breaking news" are
    /// different news.
    Never,
}

/// How templates are clustered: documents with the same wording but different names or numbers, such as the reports of two
/// companies or the exchange rates of two days. In TOML: `"keep"` or `"merge"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Templates {
    /// Templates are reported as matches but kept in separate clusters.
    #[default]
    Keep,
    /// Templates are clustered like other matches.
    Merge,
}

/// How matches are clustered. In TOML: `"greedy"`, `"components"`, `"cohesive"` or `"online"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Linkage {
    /// Processes documents from newest to oldest. The first unassigned document becomes a center, and every unassigned document
    /// that matches it joins its cluster. Used by the preset `wire`.
    Greedy,
    /// Clusters are the connected components of the matches. Long chains can produce very large clusters.
    Components,
    /// Processes documents in input order. The first unassigned document becomes a center, and every unassigned document that
    /// matches it joins its cluster, so every member is verified against its center.
    Cohesive,
    /// Each new document joins the cluster of its best match, or starts a new cluster. Used by the preset `headlines`.
    Online,
}

/// How the Hamming index divides the 64 bits of a fingerprint into blocks (Manku, Jain and Das Sarma, 2007).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// Number of blocks, 1 to 64.
    pub total: u32,
    /// Number of blocks in which two candidates may differ: less than `total` and at least the radius. The index has one
    /// table per choice of `differing` blocks, at most 1024.
    pub differing: u32,
}

/// How the band index divides a signature into bands. Two documents are candidates if all rows of some band are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bands {
    /// Number of bands, at least 1. `count * rows` must not exceed the number of rows of the signature.
    pub count: u32,
    /// Number of rows per band, at least 1.
    pub rows: u32,
}

/// Maximum number of rows of a signature.
pub const MAX_ROWS: u32 = 1024;
/// Maximum length of a shingle in words or characters.
pub const MAX_SHINGLE: u32 = 64;
/// Maximum size of a sparse code in bits.
pub const MAX_SDR_SIZE: u32 = 1 << 24;

impl Config {
    /// Parses a config file. Its key `preset` names the preset that the other keys modify; without it, they modify `copies`.
    pub fn from_toml(text: &str) -> Result<Config> {
        Preset::default().config().overridden_by(text)
    }

    /// Returns the value of the key `preset` in a config file, or `None` if the file does not contain it.
    #[doc(hidden)]
    pub fn preset_named_in(text: &str) -> Result<Option<String>> {
        let table: toml::Table = text.parse().map_err(syntax)?;
        Ok(table.get("preset").and_then(toml::Value::as_str).map(str::to_owned))
    }

    /// Returns this configuration with the settings of a config file applied.
    ///
    /// If the file has a key `preset`, its settings are applied to that preset instead. With `preset = "none"` the file
    /// must contain every required setting. The value `"none"` removes an optional setting: `stop_words = "none"`.
    pub fn overridden_by(&self, text: &str) -> Result<Config> {
        let mut overrides: toml::Table = text.parse().map_err(syntax)?;
        let base = match overrides.remove("preset") {
            None => Some(self.clone()),
            Some(toml::Value::String(name)) if name == NO_PRESET => None,
            Some(toml::Value::String(name)) => Some(name.parse::<Preset>()?.config()),
            Some(other) => return Err(Error::field("preset", other, "a string")),
        };
        let mut table = toml::Table::new();
        if let Some(base) = base {
            table =
                toml::Table::try_from(&base).map_err(|e| Error::ConfigSyntax { message: e.to_string() })?;
        }
        remove_replaced_sparsity(&mut table, &overrides);
        apply_overrides(&mut table, overrides);
        let config: Config = table.try_into().map_err(syntax)?;
        config.validate()?;
        Ok(config)
    }

    /// Returns a config file with all settings, from which [`from_toml`](Self::from_toml) restores an equal value.
    pub fn to_toml(&self) -> String {
        let body =
            toml::to_string(self).unwrap_or_else(|e| unreachable!("a config is representable in TOML: {e}"));
        format!("preset = \"{NO_PRESET}\"\n\n{body}")
    }

    /// Returns the bands of the MinHash index: `minhash.bands` if set, otherwise the bands that reach the recall at the
    /// threshold. Returns `None` if there are no MinHash settings.
    ///
    /// ```
    /// use sameish::config::Bands;
    /// use sameish::Preset;
    ///
    /// let bands = Preset::Copies.config().bands()?.unwrap();
    /// assert!(bands.probability(0.8) >= 0.99);
    /// assert_eq!(Preset::Wire.config().bands()?, None);
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn bands(&self) -> Result<Option<Bands>> {
        let MatchingConfig { threshold, recall, .. } = self.matching;
        let bands = |minhash: &MinHashConfig| match minhash.bands {
            Some(bands) => Ok(bands),
            None => Bands::for_target(minhash.rows, threshold, recall),
        };
        self.minhash.as_ref().map(bands).transpose()
    }

    /// Returns the rules for splitting a text into the words of its fingerprint.
    pub(crate) fn simhash_tokenizer(&self) -> Tokenizer {
        self.simhash.as_ref().and_then(|simhash| simhash.tokenizer).unwrap_or(self.text.tokenizer)
    }

    /// Returns `true` if texts that are too short are compared on their features, not only for equality: if matches are verified
    /// and fingerprints, which short texts have too, provide candidates.
    #[doc(hidden)]
    pub fn compares_short_texts(&self) -> bool {
        self.matching.verify && self.simhash.is_some()
    }

    /// Returns the filter that rejects candidates of the MinHash index without reading their texts, or `None` if there are
    /// no MinHash settings.
    #[doc(hidden)]
    pub fn screen(&self) -> Option<Screen> {
        self.minhash.as_ref().map(|minhash| Screen::new(minhash.rows, self.matching.threshold))
    }

    /// Returns an error if a setting is out of range, if settings are inconsistent, or if a document could become too
    /// expensive: its sketches take at most [`MAX_SKETCH_BYTES`].
    pub fn validate(&self) -> Result<()> {
        if let Some(list) = &self.text.stop_words {
            list.validate(&self.text)?;
            if self.sdr.is_some() && self.simhash.is_none() && self.minhash.is_none() {
                let value = match list {
                    StopList::Language(code) => format!("`{code}`"),
                    StopList::Words(words) => format!("a list of {} words", words.len()),
                };
                let expected =
                    "absent with `sdr`, because sparse codes do not use it; list the words in `sdr.excludes`";
                return Err(Error::field("text.stop_words", value, expected));
            }
        }
        if self.simhash.is_none() && self.minhash.is_none() && self.sdr.is_none() {
            return Err(Error::field("minhash", "absent", "present unless `simhash` or `sdr` is"));
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
        self.matching.validate()?;
        cost::check(self)
    }
}

fn syntax(error: toml::de::Error) -> Error {
    Error::ConfigSyntax { message: error.to_string().trim_end().to_owned() }
}

/// Name of the preset in a config file that contains all settings.
const NO_PRESET: &str = "none";

/// Removes `sparsity` from the base if the overrides set `active_bits` only, and vice versa, because the two settings
/// exclude each other.
fn remove_replaced_sparsity(base: &mut toml::Table, overrides: &toml::Table) {
    let Some(given) = overrides.get("sdr").and_then(toml::Value::as_table) else { return };
    let Some(sdr) = base.get_mut("sdr").and_then(toml::Value::as_table_mut) else { return };
    for (this, other) in [("active_bits", "sparsity"), ("sparsity", "active_bits")] {
        if given.contains_key(this) && !given.contains_key(other) {
            sdr.remove(other);
        }
    }
}

/// Applies overrides to `base`, recursively for tables. The value `"none"` removes a key.
fn apply_overrides(base: &mut toml::Table, overrides: toml::Table) {
    for (key, value) in overrides {
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => apply_overrides(old, new),
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
            let expected = format!("less than `simhash.blocks.total` ({})", self.total);
            return Err(Error::field("simhash.blocks.differing", self.differing, expected));
        }
        if self.differing < radius {
            let expected = format!("at least `simhash.radius` ({radius})");
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
    /// Returns the number of set bits: `active_bits`, or `sparsity` times `size`. Returns an error unless exactly one of
    /// them is given.
    pub fn bits(&self) -> Result<u32> {
        match (self.active_bits, self.sparsity) {
            (Some(bits), None) => Ok(bits),
            // Stored codes were computed with 32-bit arithmetic and rounding half away from zero.
            (None, Some(share)) if (0.0..=1.0).contains(&share) => {
                Ok((self.size as f32 * share).round() as u32)
            }
            (None, Some(share)) => Err(Error::field("sdr.sparsity", share, "between 0 and 1")),
            (Some(_), Some(share)) => {
                Err(Error::field("sdr.sparsity", share, "absent if `sdr.active_bits` is given"))
            }
            (None, None) => Err(Error::field("sdr.active_bits", "absent", "given unless `sdr.sparsity` is")),
        }
    }

    /// Returns an error if a parameter is out of range or if parameters are inconsistent.
    pub fn validate(&self) -> Result<()> {
        if !(1..=MAX_SDR_SIZE).contains(&self.size) {
            return Err(Error::field("sdr.size", self.size, format!("1 to {MAX_SDR_SIZE}")));
        }
        let bits = self.bits()?;
        if bits == 0 || bits >= self.size {
            let expected = format!("more than 0 and less than `sdr.size` ({})", self.size);
            return Err(Error::field("sdr.active_bits", bits, expected));
        }
        let floor = self.frequency_floor;
        let ceiling = self.frequency_ceiling;
        if floor > 0 && ceiling > 0 && ceiling <= floor {
            let expected = format!("more than `sdr.frequency_floor` ({floor})");
            return Err(Error::field("sdr.frequency_ceiling", ceiling, expected));
        }
        if self.encode_orphans && self.vocabulary.is_none() {
            return Err(Error::field("sdr.encode_orphans", "true", "false unless `sdr.vocabulary` is given"));
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
                Err(Error::field(field, self, format!("of length 1 to {MAX_SHINGLE}")))
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

    /// Parses `words:N`, `chars:N`, `windows:N` or `letters`.
    fn from_str(s: &str) -> Result<Shingle> {
        let invalid = || Error::field("shingle", s, "`words:N`, `chars:N`, `windows:N` or `letters`");
        if s == "letters" {
            return Ok(Shingle::Letters);
        }
        let (kind, n) = s.split_once(':').ok_or_else(invalid)?;
        let n: u32 = n.parse().map_err(|_| invalid())?;
        let shingle = match kind {
            "words" => Shingle::Words(n),
            "chars" => Shingle::Chars(n),
            "windows" => Shingle::Windows(n),
            _ => return Err(invalid()),
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
    fn every_preset_round_trips_through_toml() {
        for preset in Preset::ALL {
            let config = preset.config();
            config.validate().unwrap();
            let text = config.to_toml();
            assert_eq!(Config::from_toml(&text).unwrap(), config, "{text}");
        }
    }

    #[test]
    fn overrides_change_only_the_given_settings() {
        let config = Config::from_toml("preset = \"headlines\"\n[matching]\nthreshold = 0.6").unwrap();
        let mut expected = Preset::Headlines.config();
        expected.matching.threshold = 0.6;
        assert_eq!(config, expected);
    }

    #[test]
    fn overrides_remove_or_replace_optional_settings() {
        let plain = Config::from_toml("preset = \"headlines\"\n[text]\nstop_words = \"none\"").unwrap();
        assert_eq!(plain.text.stop_words, None);
        let single = Config::from_toml("preset = \"articles\"\nminhash = \"none\"").unwrap();
        assert_eq!(single.minhash, None);
        let code = Config::from_toml("preset = \"sdr\"\n[sdr]\nactive_bits = 40").unwrap().sdr.unwrap();
        assert_eq!((code.active_bits, code.sparsity), (Some(40), None));
        assert!(Config::from_toml("preset = \"sdr\"\n[sdr]\nactive_bits = 40\nsparsity = 0.1").is_err());
    }

    #[test]
    fn errors_name_the_field_the_value_and_the_valid_range() {
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
                "`simhash.blocks.differing` is 3: must be less than `simhash.blocks.total` (3)",
            ),
            (
                "preset = \"web\"\n[simhash]\nblocks = { total = 20, differing = 10 }",
                "`simhash.blocks` is 20 choose 10, 184756 tables: must be at most 1024 tables, because each has an entry per document",
            ),
            (
                "preset = \"sdr\"\n[sdr]\nsize = 16777216",
                "`sdr.size` is 16777216: must be at most 16384, because each token of a document takes that many operations",
            ),
            (
                "preset = \"sdr\"\n[sdr]\nsize = 16384\nactive_bits = 16383",
                "`sdr.active_bits` is 16383: must be at most 2048, because each takes 4 bytes per document",
            ),
            ("preset = \"wire\"\n[simhash]\nradius = 65", "`simhash.radius` is 65: must be 0 to 64"),
            (
                "[text]\nstop_words = \"xx\"",
                "no stop words for language `xx`: use a two-letter code such as `en`, `de` or `fr`",
            ),
            (
                "[text]\nstop_words = [\"the\", \"new york\"]",
                "`text.stop_words[1]` is \"new york\": must be one word",
            ),
            (
                "[text]\ntokenizer = \"ascii-words\"\nstop_words = [\"the\", \"don't\"]",
                "`text.stop_words[1]` is \"don't\": must be one word of `ascii-words`, which has two or more of `a-z 0-9 _`",
            ),
            (
                "preset = \"sdr\"\n[text]\nstop_words = [\"the\"]",
                "`text.stop_words` is a list of 1 words: must be absent with `sdr`, because sparse codes do not use it; \
                 list the words in `sdr.excludes`",
            ),
            (
                "[text]\nstop_words = 7",
                "config: invalid type: integer `7`, expected a language code such as `en` or a list of words\nin `text.stop_words`",
            ),
            (
                "preset = \"wires\"",
                "unknown preset `wires`: expected one of wire, articles, sdr, headlines, web, copies",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(Config::from_toml(text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn rejects_unknown_keys_and_wrong_types() {
        for text in
            ["[minhash]\nrow = 5", "colour = 1", "[minhash]\nrows = \"many\"", "[minhash", "preset = 7"]
        {
            assert!(Config::from_toml(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shingles_round_trip_through_text() {
        for text in ["words:3", "chars:5", "windows:3", "letters"] {
            assert_eq!(text.parse::<Shingle>().unwrap().to_string(), text);
        }
        for text in ["words", "words:0", "words:65", "lines:3", "words:-1", ""] {
            assert!(text.parse::<Shingle>().is_err(), "{text}");
        }
    }
}
