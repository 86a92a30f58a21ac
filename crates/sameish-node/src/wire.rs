//! The functions of the FNV-1a SimHash news grouper, which preset `wire` implements.
//!
//! Names, types and results are those of the original library. A fingerprint is a string of 16 hex digits, most significant
//! first.

use crate::error::{CodedError, Result};
use crate::id::{self, Id};
use crate::job::Job;
use crate::results::ClusterList;
use napi::bindgen_prelude::{AsyncTask, BigInt, Utf16String};
use napi_derive::napi;
use sameish::cluster::greedy_stars;
use sameish::engine::Spread;
use sameish::index::DocNumber;
use sameish::matching::MatchType;
use sameish::{Analyzer, Content, DocId, Fingerprint, Preset, Scratch};
use std::sync::LazyLock;

static WIRE: LazyLock<Result<Analyzer, sameish::Error>> =
    LazyLock::new(|| Analyzer::new(Preset::Wire.config()));

/// Computes the 64-bit FNV-1a hash of the UTF-16 code units of a string.
#[napi(js_name = "fnv1a64", catch_unwind)]
pub fn fnv1a64(text: Utf16String) -> BigInt {
    sameish::features::fnv1a64_utf16(&text).into()
}

/// Computes the 64-bit FNV-1a hash of the UTF-8 bytes of a string.
#[napi(js_name = "fnv1a64Utf8", catch_unwind)]
pub fn fnv1a64_utf8(text: String) -> BigInt {
    sameish::features::fnv1a64(text.as_bytes()).into()
}

/// Computes the fingerprint of a text: 16 zeros if it has no words.
#[napi(js_name = "computeSimHash", catch_unwind)]
pub fn compute_sim_hash(text: String) -> Result<String> {
    let wire = WIRE.as_ref().map_err(|error| CodedError::from(error.clone()))?;
    let sketches = Scratch::with_thread_local(|scratch| wire.sketch(&Content::Text(text), scratch));
    Ok(sketches.simhash.unwrap_or_default().to_hex())
}

/// Returns the Hamming distance of two fingerprints.
#[napi(js_name = "hammingDistance", catch_unwind)]
pub fn hamming_distance(a: String, b: String) -> Result<u32> {
    let a = Fingerprint::from_hex(&a).map_err(CodedError::from)?;
    let b = Fingerprint::from_hex(&b).map_err(CodedError::from)?;
    Ok(a.distance(b))
}

/// Returns 1 - distance / 64. The distance can be an average.
#[napi(js_name = "distanceToSimilarity", catch_unwind)]
pub fn distance_to_similarity(distance: f64) -> f64 {
    sameish::matching::distance_to_similarity(distance)
}

/// Returns the match type of a distance. A fractional distance is rounded up.
#[napi(js_name = "getMatchType", catch_unwind)]
pub fn get_match_type(distance: f64) -> String {
    MatchType::of_distance(distance.ceil() as u32).to_string()
}

struct Article {
    id: DocId,
    fingerprint: Fingerprint,
    /// Publication date in milliseconds since 1970. JavaScript dates exceed the range of [`sameish::Timestamp`].
    published: f64,
}

/// Articles to be grouped.
#[napi(js_name = "Articles")]
pub struct Articles {
    articles: Vec<Article>,
}

#[napi]
impl Articles {
    /// Creates an empty list.
    #[napi(constructor, catch_unwind)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Articles {
        Articles { articles: Vec::new() }
    }

    /// Appends articles, given as columns of equal length.
    #[napi(catch_unwind)]
    pub fn push(&mut self, ids: Vec<Id>, hashes: Vec<String>, dates: Vec<f64>) -> Result<()> {
        for ((id, hash), published) in ids.into_iter().zip(hashes).zip(dates) {
            let fingerprint = Fingerprint::from_hex(&hash).map_err(CodedError::from)?;
            self.articles.push(Article { id: id::from_js(id), fingerprint, published });
        }
        Ok(())
    }

    /// Removes and groups the articles.
    #[napi(catch_unwind)]
    pub fn group(&mut self, radius: u32) -> Result<ClusterList> {
        Ok(group(std::mem::take(&mut self.articles), radius)?)
    }

    /// Removes and groups the articles on a worker thread.
    #[napi(js_name = "groupAsync", catch_unwind)]
    pub fn group_async(&mut self, radius: u32) -> AsyncTask<Job<ClusterList>> {
        let articles = std::mem::take(&mut self.articles);
        Job::start(move || group(articles, radius))
    }
}

/// Groups articles around the newest one, like [`sameish::cluster::greedy`], but with JavaScript dates.
fn group(mut articles: Vec<Article>, radius: u32) -> Result<ClusterList, CodedError> {
    DocId::check_unique(articles.iter().map(|article| &article.id))?;
    // The sort is stable: of articles with equal dates, the first counts as the newest.
    articles.sort_by(|a, b| b.published.total_cmp(&a.published));
    let fingerprints: Vec<Fingerprint> = articles.iter().map(|article| article.fingerprint).collect();
    let id = |doc: DocNumber| articles[doc.0 as usize].id.clone();
    let mut groups = ClusterList::default();
    for star in greedy_stars(&fingerprints, radius)? {
        let members = star.cluster.members.into_iter().map(id);
        groups.push(members, Spread::AverageDistance(star.average_distance));
    }
    Ok(groups)
}
