//! Presets: named settings for common tasks.
//!
//! Five presets reproduce existing systems; `copies` is the default.

use crate::config::*;
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A named [`Config`].
///
/// | preset | features | sketches | matches | clusters |
/// |---|---|---|---|---|
/// | `wire` | words of 2 or more of `a-z 0-9 _` | SimHash (FNV-1a) | within 3 bits, not verified | greedy, newest first |
/// | `articles` | 3-word shingles; for SimHash, words of 2 or more of `a-z 0-9 _` | SimHash (FNV-1a), MinHash 128 | Jaccard >= 0.5 | cohesive |
/// | `sdr` | words between whitespace | sparse codes of 2048 bits | overlap >= 0.5, not verified | cohesive |
/// | `headlines` | 3-character shingles without English stop words | MinHash 100 | Jaccard >= 0.75 | online |
/// | `web` | rolling windows of 3 words | SimHash (XXH3) | within 3 bits, not verified | connected components |
/// | `copies` | 3-word shingles | MinHash 128 | Jaccard >= 0.8 | cohesive |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Preset {
    /// News agency articles: compatible with FNV-1a SimHash news groupers. Greedy clusters with the newest article as
    /// center.
    Wire,
    /// Full articles: ranked, verified matches from SimHash and MinHash.
    Articles,
    /// Sparse codes as input for machine learning, compatible with the sparse document encoder (SHAKE256).
    Sdr,
    /// Headlines, clustered online: each new headline joins an existing cluster or starts a new one.
    Headlines,
    /// Web pages: SimHash of rolling windows in the block-permuted Hamming index of Manku, Jain and Das Sarma (2007).
    Web,
    /// Verified near-duplicates in any corpus. The default.
    #[default]
    Copies,
}

impl Preset {
    /// All presets.
    pub const ALL: [Preset; 6] =
        [Preset::Wire, Preset::Articles, Preset::Sdr, Preset::Headlines, Preset::Web, Preset::Copies];

    /// Returns the name of the preset in lower case, as in config files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Wire => "wire",
            Preset::Articles => "articles",
            Preset::Sdr => "sdr",
            Preset::Headlines => "headlines",
            Preset::Web => "web",
            Preset::Copies => "copies",
        }
    }

    /// Returns the settings of the preset.
    pub fn config(self) -> Config {
        match self {
            Preset::Wire => wire(),
            Preset::Articles => articles(),
            Preset::Sdr => sdr(),
            Preset::Headlines => headlines(),
            Preset::Web => web(),
            Preset::Copies => copies(),
        }
    }
}

fn wire() -> Config {
    Config {
        text: TextConfig {
            tokenizer: Tokenizer::AsciiWords,
            stop_words: None,
            min_words: 1,
            lossy: false,
            fold_accents: false,
            html: false,
        },
        simhash: Some(SimHashConfig {
            tokenizer: None,
            shingle: Shingle::Words(1),
            hash: TokenHash::Fnv1a,
            weighting: Weighting::Frequency,
            radius: 3,
            blocks: None,
        }),
        minhash: None,
        sdr: None,
        matching: MatchingConfig {
            threshold: 0.95,
            recall: 0.99,
            limit: 10,
            verify: false,
            linkage: Linkage::Greedy,
            templates: Templates::Keep,
            unverified: false,
            short_texts: ShortTexts::Equal,
        },
    }
}

fn articles() -> Config {
    Config {
        text: TextConfig {
            tokenizer: Tokenizer::Unicode,
            stop_words: None,
            min_words: 50,
            lossy: false,
            fold_accents: false,
            html: false,
        },
        simhash: Some(SimHashConfig {
            // Fingerprints are compatible with those of the original article similarity service.
            tokenizer: Some(Tokenizer::AsciiWords),
            shingle: Shingle::Words(1),
            hash: TokenHash::Fnv1a,
            weighting: Weighting::Frequency,
            radius: 5,
            blocks: None,
        }),
        minhash: Some(MinHashConfig {
            shingle: Shingle::Words(3),
            counting: Counting::Set,
            rows: 128,
            bands: None,
        }),
        sdr: None,
        matching: MatchingConfig {
            threshold: 0.5,
            // Gives 32 bands of 4 rows, which find a pair at 0.75, the typical similarity after editing one word in twenty,
            // with probability 0.9999. Verification rejects the additional candidates. The 16 bands of 8 rows of the original
            // article similarity service find a pair at the threshold with probability 0.06 only.
            recall: 0.87,
            limit: 10,
            verify: true,
            linkage: Linkage::Cohesive,
            templates: Templates::Keep,
            unverified: false,
            short_texts: ShortTexts::Equal,
        },
    }
}

fn sdr() -> Config {
    Config {
        text: TextConfig {
            tokenizer: Tokenizer::Whitespace,
            stop_words: None,
            min_words: 0,
            lossy: false,
            fold_accents: false,
            html: false,
        },
        simhash: None,
        minhash: None,
        sdr: Some(SdrConfig {
            size: 2048,
            active_bits: None,
            // The usual sparsity in hierarchical temporal memory (HTM).
            sparsity: Some(0.02),
            case_sensitivity: false,
            token_similarity: false,
            vocabulary: None,
            encode_orphans: false,
            excludes: Vec::new(),
            frequency_floor: 0,
            frequency_ceiling: 0,
        }),
        matching: MatchingConfig {
            threshold: 0.5,
            recall: 0.95,
            limit: 10,
            verify: false,
            linkage: Linkage::Cohesive,
            templates: Templates::Keep,
            unverified: false,
            short_texts: ShortTexts::Equal,
        },
    }
}

fn headlines() -> Config {
    Config {
        text: TextConfig {
            tokenizer: Tokenizer::Unicode,
            stop_words: Some("en".into()),
            min_words: 5,
            lossy: false,
            fold_accents: false,
            html: false,
        },
        simhash: None,
        minhash: Some(MinHashConfig {
            shingle: Shingle::Chars(3),
            counting: Counting::Set,
            rows: 100,
            bands: Some(Bands { count: 20, rows: 5 }),
        }),
        sdr: None,
        matching: MatchingConfig {
            threshold: 0.75,
            recall: 0.99,
            limit: 10,
            verify: true,
            linkage: Linkage::Online,
            templates: Templates::Keep,
            unverified: false,
            short_texts: ShortTexts::Never,
        },
    }
}

fn web() -> Config {
    Config {
        text: TextConfig {
            tokenizer: Tokenizer::Unicode,
            stop_words: None,
            min_words: 3,
            lossy: true,
            fold_accents: false,
            html: false,
        },
        simhash: Some(SimHashConfig {
            tokenizer: None,
            shingle: Shingle::Windows(3),
            hash: TokenHash::Xxh3,
            weighting: Weighting::Frequency,
            radius: 3,
            blocks: Some(Blocks { total: 6, differing: 3 }),
        }),
        minhash: None,
        sdr: None,
        matching: MatchingConfig {
            threshold: 0.95,
            recall: 0.99,
            limit: 10,
            verify: false,
            linkage: Linkage::Components,
            templates: Templates::Keep,
            unverified: false,
            short_texts: ShortTexts::Equal,
        },
    }
}

fn copies() -> Config {
    Config {
        text: TextConfig {
            tokenizer: Tokenizer::Unicode,
            stop_words: None,
            min_words: 3,
            lossy: false,
            fold_accents: false,
            html: false,
        },
        simhash: None,
        minhash: Some(MinHashConfig {
            shingle: Shingle::Words(3),
            counting: Counting::Set,
            rows: 128,
            bands: None,
        }),
        sdr: None,
        matching: MatchingConfig {
            threshold: 0.8,
            recall: 0.99,
            limit: 10,
            verify: true,
            linkage: Linkage::Cohesive,
            templates: Templates::Keep,
            unverified: false,
            short_texts: ShortTexts::Equal,
        },
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(name: &str) -> Result<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.name() == name).ok_or_else(|| Error::UnknownPreset {
            name: name.to_owned(),
            known: Preset::ALL.map(Preset::name).join(", "),
        })
    }
}
