//! Which functions had the library that others come from (seed 000)?
//!
//! The same names, types and answers, from the analyzer. Fingerprints are 16 hex digits, the highest first.

use crate::fault::{Fault, Result};
use crate::groups::GroupList;
use crate::id::{self, Id};
use crate::job::Job;
use crate::sketches::with_scratch;
use napi::bindgen_prelude::{AsyncTask, BigInt};
use napi_derive::napi;
use sameish::{Analyzer, Content, DocId, DocNumber, Fingerprint, MatchType, Preset};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Preset `wire`, which is this library as a config.
static WIRE: LazyLock<Result<Analyzer, sameish::Error>> =
    LazyLock::new(|| Analyzer::new(Preset::Wire.config()));

/// FNV-1a of the UTF-8 bytes.
#[napi(js_name = "fnv1a64", catch_unwind)]
pub fn fnv1a64(text: String) -> BigInt {
    sameish::fnv1a64(text.as_bytes()).into()
}

/// The fingerprint of a text; 16 zeros where it has no words.
#[napi(js_name = "computeSimHash", catch_unwind)]
pub fn compute_sim_hash(text: String) -> Result<String> {
    let wire = WIRE.as_ref().map_err(|error| Fault::from(error.clone()))?;
    let sketches = with_scratch(|scratch| wire.sketch(&Content::Text(text), scratch));
    Ok(sketches.simhash.unwrap_or_default().to_hex())
}

/// In how many bits two fingerprints differ.
#[napi(js_name = "hammingDistance", catch_unwind)]
pub fn hamming_distance(a: String, b: String) -> Result<u32> {
    let [a, b] = [Fingerprint::from_hex(&a), Fingerprint::from_hex(&b)];
    Ok(a.map_err(Fault::from)?.distance(b.map_err(Fault::from)?))
}

/// 1 - d/64, for averages too.
#[napi(js_name = "distanceToSimilarity", catch_unwind)]
pub fn distance_to_similarity(distance: f64) -> f64 {
    sameish::distance_to_similarity(distance)
}

/// The word for a distance; one between two whole numbers counts as the larger.
#[napi(js_name = "getMatchType", catch_unwind)]
pub fn get_match_type(distance: f64) -> String {
    MatchType::of_distance(distance.ceil() as u32).to_string()
}

/// What grouping has to know of an article.
struct Article {
    id: DocId,
    fingerprint: Fingerprint,
    /// When it came out, in milliseconds since 1970.
    moment: f64,
}

/// Articles that are gathered and then grouped.
#[napi(js_name = "Articles")]
pub struct Articles {
    gathered: Arc<Mutex<Vec<Article>>>,
}

#[napi]
impl Articles {
    /// None yet.
    #[napi(constructor, catch_unwind)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Articles {
        Articles { gathered: Arc::default() }
    }

    /// Adds some, given as columns of equal length.
    #[napi(catch_unwind)]
    pub fn push(&self, ids: Vec<Id>, hashes: Vec<String>, moments: Vec<f64>) -> Result<()> {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        for ((id, hash), moment) in ids.into_iter().zip(hashes).zip(moments) {
            let fingerprint = Fingerprint::from_hex(&hash).map_err(Fault::from)?;
            gathered.push(Article { id: id::read(id), fingerprint, moment });
        }
        Ok(())
    }

    /// The groups of all that were added.
    #[napi(catch_unwind)]
    pub fn group(&self, radius: u32) -> Result<GroupList> {
        Ok(grouped(&self.gathered, radius)?)
    }

    /// The same, beside the event loop.
    #[napi(js_name = "groupAsync", catch_unwind)]
    pub fn group_async(&self, radius: u32) -> AsyncTask<Job<GroupList>> {
        let gathered = Arc::clone(&self.gathered);
        Job::start(move || grouped(&gathered, radius))
    }
}

/// Groups as [`sameish::greedy`] makes them, but of moments as JavaScript counts them: its years go far beyond those of a
/// [`sameish::Timestamp`].
fn grouped(gathered: &Mutex<Vec<Article>>, radius: u32) -> Result<GroupList, Fault> {
    let mut articles = std::mem::take(&mut *gathered.lock().unwrap_or_else(PoisonError::into_inner));
    check_ids(&articles)?;
    // The newest first, those of one moment as they came.
    articles.sort_by(|a, b| b.moment.total_cmp(&a.moment));
    let fingerprints: Vec<Fingerprint> = articles.iter().map(|article| article.fingerprint).collect();
    let id = |doc: DocNumber| articles[doc.0 as usize].id.clone();
    let stars = sameish::greedy_stars(&fingerprints, radius)?.into_iter();
    let stars = stars.map(|star| (star.average_distance, star.cluster.members.into_iter().map(id).collect()));
    Ok(GroupList::of_stars(stars.collect()))
}

fn check_ids(articles: &[Article]) -> Result<(), Fault> {
    let mut seen = HashMap::with_capacity(articles.len());
    for (second, Article { id, .. }) in articles.iter().enumerate() {
        if let Some(first) = seen.insert(id, second) {
            return Err(sameish::Error::RepeatedId { id: id.to_string(), first, second }.into());
        }
    }
    Ok(())
}
