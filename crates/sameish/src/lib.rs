//! Finds texts that are nearly the same, says how sure it is, and shows why.
//!
//! Data moves one way, and each module answers one question:
//!
//! ```text
//! document -> text -> features -> sketch -> index -> matching -> cluster
//!  what       how is   what is     how is    who      is it a     who
//!  comes in?  it split? compared?  it small? is near? duplicate?  belongs?
//! ```
//!
//! This crate is pure and synchronous: no files, no network, no printing. The flow can be entered late: with text, with
//! tokens ([`Content::Tokens`]), with features ([`SimHasher`], [`MinHasher`], [`FeatureSet`]) or with stored sketches
//! ([`Fingerprint::from_bytes`], [`Signature::from_bytes`], [`decode_sketch`]).
//!
//! # Two texts side by side
//!
//! ```
//! use sameish::{Content, Engine, Preset};
//!
//! let engine = Engine::new(Preset::Copies.config())?;
//! let a = Content::Text("The council voted on Monday to close the old bridge for repairs until spring.".into());
//! let b = Content::Text("The council voted on Tuesday to close the old bridge for repairs until spring.".into());
//! let comparison = engine.compare(&a, &b, 5);
//! assert_eq!(comparison.match_type.to_string(), "similar");
//! assert_eq!(comparison.passages.len(), 1);
//! # Ok::<(), sameish::Error>(())
//! ```
//!
//! # Sketches of a stream of texts
//!
//! ```
//! use sameish::{Content, Engine, Preset, Scratch, Status};
//!
//! let engine = Engine::new(Preset::Headlines.config())?;
//! let mut scratch = Scratch::default();
//! for (text, status) in [("SpaceX acquires xAI for $2 billion", Status::Ok), ("Breaking news", Status::TooShort)] {
//!     let sketches = engine.sketch(&Content::Text(text.into()), &mut scratch);
//!     assert_eq!(sketches.status, status);
//!     assert_eq!(sketches.minhash.map(|signature| signature.rows().len()), (status == Status::Ok).then_some(100));
//! }
//! # Ok::<(), sameish::Error>(())
//! ```
//!
//! # Which preset?
//!
//! [`Preset::Copies`] for near-duplicates in any corpus; the others are the systems sameish grew from, as values of the
//! same [`Config`]. See `docs/algorithms.md` for the papers and bounds behind each room.

#![deny(unsafe_code)]

/// The examples of the README, so that they are tested.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod cluster;
pub mod config;
mod document;
mod engine;
mod error;
mod features;
mod index;
mod matching;
mod preset;
mod random;
#[allow(unsafe_code)]
pub mod simd;
mod sketch;
mod text;

pub use cluster::{
    Article, ArticleGroup, Batch, Candidates, Centers, Cluster, ClusterId, Contingency, MeasuredCluster,
    Mixed, OnlineClusters, PairCounts, Purpose, Score, StarClusters, StarSource, Stars, components, greedy,
    greedy_stars, star_clusters, stars,
};
pub use config::{
    Bands, Blocks, Config, Counting, Linkage, MatchingConfig, MinHashConfig, SdrConfig, Shingle,
    SimHashConfig, Templates, TextConfig, TokenHash, Tokenizer, Weighting,
};
pub use document::{Content, ContentRef, DocId, Document, Timestamp};
pub use engine::{
    Among, Arrival, CANDIDATES_JUDGED, Comparison, Details, Digest, Effort, Engine, Group, Groups, Held,
    Inserted, Loading, Match, MatchedPair, Nearest, Prepared, Schemes, Scratch, Search, SearchOptions,
    Sketches, Spread, Status, Texts,
};
pub use error::{Error, Result};
pub use features::{DocumentFrequencies, Facts, FeatureSet, TextKey, WordFrequencies, fnv1a64, hash_token};
pub use index::{
    BUCKET_JOINED, BUCKET_SCANNED, BUCKET_STORED, BandHit, BandIndex, BandJoin, BandPair, BandSearch,
    BandTags, BlockTables, Buckets, BucketsBuilder, Corpus, CurvePoint, DocNumber, HammingIndex, HammingView,
    Histogram, Hit, LinearScan, OverlapHit, OverlapIndex, Pair, Part, Permutation, PrintIndex, SIGNED_RADIUS,
    Valley, valley,
};
pub use matching::{
    Evidence, Interval, Judge, MatchKind, MatchType, Passage, SharedRun, SharedRuns, Side, Verdict,
    distance_to_similarity, facts_agreement, is_template, shared_runs,
};
pub use preset::Preset;
pub use sketch::{
    Fingerprint, MAX_WEIGHT, MinHasher, Outline, SchemeId, Screen, Sdr, SdrEncoder, Signature, SimHasher,
    Stored, decode_sketch, encode_sketch,
};
pub use text::{Decoded, Span, StopWords, Token, decode, normalize, tokens};
