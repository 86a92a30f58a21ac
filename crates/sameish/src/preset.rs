//! Which settings go with which job?
//!
//! Five of the presets are the systems that sameish grew from; `copies` is ours and the default.

use crate::config::*;
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A named value of [`Config`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Wire news by SimHash, grouped greedily, the newest in the center (seed 000).
    Wire,
    /// Articles by SimHash and MinHash, ranked matches (seed 001).
    Articles,
    /// Sparse codes for machines that learn from them (seed 002).
    Sdr,
    /// Headlines clustered as they arrive (seed 003).
    Headlines,
    /// Web pages by SimHash over rolling windows in a block-permuted index (seed 004).
    Web,
    /// Near-duplicates in any corpus, verified. The default.
    #[default]
    Copies,
}

impl Preset {
    /// All presets.
    pub const ALL: [Preset; 6] =
        [Preset::Wire, Preset::Articles, Preset::Sdr, Preset::Headlines, Preset::Web, Preset::Copies];

    /// The name, as it is written on a command line.
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

    /// The settings.
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
        text: TextConfig { tokenizer: Tokenizer::AsciiWords, stop_words: None, min_words: 1, lossy: false },
        simhash: Some(SimHashConfig {
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
        },
    }
}

fn articles() -> Config {
    Config {
        text: TextConfig { tokenizer: Tokenizer::AsciiWords, stop_words: None, min_words: 50, lossy: false },
        simhash: Some(SimHashConfig {
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
            // The seed's 16 x 8 find a pair at this threshold with probability 0.06, these with 0.87 (0.9999 at 0.75, which
            // is where one word in twenty edited leaves a text). Verification makes the wider search safe.
            bands: Some(Bands { count: 32, rows: 4 }),
        }),
        sdr: None,
        matching: MatchingConfig {
            threshold: 0.5,
            recall: 0.95,
            limit: 10,
            verify: true,
            linkage: Linkage::Cohesive,
            templates: Templates::Keep,
        },
    }
}

fn sdr() -> Config {
    Config {
        text: TextConfig { tokenizer: Tokenizer::Whitespace, stop_words: None, min_words: 0, lossy: false },
        simhash: None,
        minhash: None,
        sdr: Some(SdrConfig {
            size: 2048,
            active_bits: None,
            // About 2 % of the bits, the usual share in hierarchical temporal memory.
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
        },
    }
}

fn web() -> Config {
    Config {
        text: TextConfig { tokenizer: Tokenizer::Unicode, stop_words: None, min_words: 3, lossy: true },
        simhash: Some(SimHashConfig {
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
        },
    }
}

fn copies() -> Config {
    Config {
        text: TextConfig { tokenizer: Tokenizer::Unicode, stop_words: None, min_words: 3, lossy: false },
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
