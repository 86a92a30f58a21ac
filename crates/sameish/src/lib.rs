//! Finds texts that are nearly the same, reports how certain each match is, and shows the evidence.
//!
//! # Insert and search
//!
//! An [`Engine`] holds documents and finds those that match a text. Candidates come from an index of sketches, and with this
//! preset every match is verified on the shingles of both texts.
//!
//! ```
//! use sameish::{Document, Engine, Preset, SearchOptions};
//!
//! let mut engine = Engine::new(Preset::Copies.config())?;
//! let text = "The council voted on Monday to close the old bridge over the river for repairs until next spring.";
//! engine.insert(&Document::new("bridge", text))?;
//!
//! let query = "Councillors voted on Monday to close the old bridge over the river for repairs until next spring.";
//! let found = engine.search(query, SearchOptions::default())?;
//! let best = &found.matches[0];
//! assert_eq!(best.id, "bridge".into());
//! assert!(best.verdict.verified && best.verdict.similarity > 0.8);
//! # Ok::<(), sameish::Error>(())
//! ```
//!
//! [`Engine::pairs`] and [`Engine::groups`] compute all pairs and clusters. For corpora larger than memory use the crate
//! `sameish-batch`.
//!
//! # Compare two texts
//!
//! An [`Analyzer`] is a validated [`Config`] without documents. Threads can share it.
//!
//! ```
//! use sameish::{Analyzer, Preset};
//!
//! let analyzer = Analyzer::new(Preset::Copies.config())?;
//! let a = "The council voted on Monday to close the old bridge for repairs until spring.";
//! let b = "The council voted on Tuesday to close the old bridge for repairs until spring.";
//! let comparison = analyzer.compare(a, b, 5);
//! assert_eq!(comparison.match_type.to_string(), "similar");
//! let passage = comparison.passages[0];
//! assert_eq!(&a[passage.a_start..passage.a_end], "to close the old bridge for repairs until spring");
//! # Ok::<(), sameish::Error>(())
//! ```
//!
//! # Sketch a stream of texts
//!
//! ```
//! use sameish::{Analyzer, Preset, Scratch, Status};
//!
//! let analyzer = Analyzer::new(Preset::Headlines.config())?;
//! let mut scratch = Scratch::default();
//! let sketches = analyzer.sketch("SpaceX acquires xAI for $2 billion", &mut scratch);
//! assert_eq!(sketches.minhash.unwrap().rows().len(), 100);
//! assert_eq!(analyzer.sketch("Breaking news", &mut scratch).status, Status::TooShort);
//! # Ok::<(), sameish::Error>(())
//! ```
//!
//! # Index your own fingerprints
//!
//! ```
//! use sameish::Fingerprint;
//! use sameish::index::{DocNumber, HammingIndex};
//!
//! let mut index = HammingIndex::new(3)?;
//! index.insert(Fingerprint::from_u64(0b1011), DocNumber(7));
//! let mut hits = Vec::new();
//! index.find_all(Fingerprint::from_u64(0b1000), &mut hits);
//! assert_eq!((hits[0].doc, hits[0].distance), (DocNumber(7), 2));
//! # Ok::<(), sameish::Error>(())
//! ```
//!
//! # The pipeline
//!
//! Data flows in one direction. Each module is a stage and uses only earlier ones.
//!
//! ```text
//! document -> text -> features -> sketch -> index -> matching -> cluster
//! ```
//!
//! | module | content |
//! |---|---|
//! | root | [`Document`], [`DocId`], [`Timestamp`] and the types that most programs need |
//! | [`text`] | normalization, tokens, stop words |
//! | [`features`] | shingles and their hashes, exact similarity, facts |
//! | [`sketch`] | SimHash [`Fingerprint`], MinHash [`Signature`], sparse code [`Sdr`], their stored form |
//! | [`index`] | near-neighbor search: Hamming distance, bands, overlap |
//! | [`matching`] | verdicts, agreement of facts, shared passages |
//! | [`cluster`] | greedy, cohesive, connected and online clusters; agreement of clusterings |
//! | [`analyzer`], [`engine`] | all stages combined |
//! | [`config`] | every setting |
//!
//! Callers can enter at any stage: with text, with tokens ([`Content::Tokens`]), with features
//! ([`SimHasher`](sketch::SimHasher), [`MinHasher`](sketch::MinHasher), [`FeatureSet`](features::FeatureSet)) or with stored
//! sketches ([`decode_sketch`](sketch::decode_sketch)).
//!
//! The crate is synchronous and does no I/O. [`Preset::Copies`] finds near-duplicates in any corpus; the other
//! [presets](Preset) reproduce well-known systems with the same engine. `docs/algorithms.md` has the papers and bounds.
//!
//! # Cargo features
//!
//! - `serde`: implements the serde traits for results such as [`Match`], [`MatchedPair`], [`Groups`] and [`Comparison`].

#![deny(unsafe_code)]

/// The examples of the README, so that they are tested.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub mod analyzer;
pub mod cluster;
pub mod config;
pub mod document;
pub mod engine;
mod error;
pub mod features;
pub mod index;
pub mod matching;
mod preset;
#[doc(hidden)]
pub mod random;
#[allow(unsafe_code)]
#[doc(hidden)]
pub mod simd;
pub mod sketch;
pub mod text;

pub use analyzer::{Analyzer, Comparison, Prepared, Scratch, Sketches, Status};
pub use config::Config;
pub use document::{Content, DocId, Document, Timestamp};
pub use engine::{Engine, Group, Groups, Inserted, Match, MatchedPair, Search, SearchOptions};
pub use error::{Error, Result};
pub use matching::{MatchKind, Verdict};
pub use preset::Preset;
pub use sketch::{Fingerprint, Sdr, Signature};
