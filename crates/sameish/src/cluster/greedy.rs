//! Greedy star clustering of articles by Hamming distance, newest first (preset `wire`).

use super::star::{Candidates, Centers, Purpose, StarSource, clusters, star_clusters};
use super::{Cluster, MeasuredCluster};
use crate::document::{DocId, Timestamp};
use crate::error::{Error, Result};
use crate::index::{DocNumber, HammingIndex, Hit};
use crate::sketch::Fingerprint;
use std::collections::HashSet;
use std::convert::Infallible;

/// The data of an article that [`greedy`] needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Article {
    /// The id of the article. Must be unique.
    pub id: DocId,
    /// The fingerprint of the article. Zero has no special meaning here; callers that have texts should omit articles without
    /// words.
    pub fingerprint: Fingerprint,
    /// The date of publication, in any format that [`Timestamp::parse`] accepts.
    pub published_at: String,
}

/// A cluster of articles.
#[derive(Clone, Debug, PartialEq)]
pub struct ArticleGroup {
    /// `cluster-1`, `cluster-2` and so on, in the order of the centers.
    pub id: String,
    /// The newest article.
    pub center: DocId,
    /// All articles of the group, newest first. The center is the first.
    pub members: Vec<DocId>,
    /// Mean Hamming distance in bits between the center and the other members; 0 if there are none.
    pub average_distance: f64,
}

/// Groups articles by Hamming distance: the newest unassigned article becomes a center and takes all unassigned articles
/// whose fingerprints differ from its own in at most `radius` bits.
///
/// Of articles with equal dates, the one that is first in the input counts as newer. Every article is in exactly one group.
/// Returns an error if a date is invalid, if an id occurs twice, or if the radius exceeds 64.
///
/// # Cost
/// Uses a [`HammingIndex`] instead of comparing all articles with each other. Members are removed from the index, so every
/// article is found once, even if all articles are within the radius of each other.
///
/// ```
/// use sameish::cluster::{Article, greedy};
/// use sameish::Fingerprint;
///
/// let article = |id: &str, code, date: &str| {
///     Article { id: id.into(), fingerprint: Fingerprint::from_u64(code), published_at: date.into() }
/// };
/// let articles = [article("old", 0b0111, "2024-01-01"), article("new", 0b0001, "2024-01-02"), article("far", !0, "2024-01-01")];
/// let groups = greedy(&articles, 3)?;
/// assert_eq!(groups[0].id, "cluster-1");
/// assert_eq!(groups[0].members, ["new".into(), "old".into()]);
/// assert_eq!(groups[0].average_distance, 2.0);
/// assert_eq!(groups[1].center, "far".into());
/// # Ok::<(), sameish::Error>(())
/// ```
pub fn greedy(articles: &[Article], radius: u32) -> Result<Vec<ArticleGroup>> {
    DocId::check_unique(articles.iter().map(|article| &article.id))?;
    let order = newest_first(articles)?;
    let fingerprints: Vec<Fingerprint> = order.iter().map(|&at| articles[at as usize].fingerprint).collect();
    let id = |doc: DocNumber| articles[order[doc.0 as usize] as usize].id.clone();
    let group =
        |(number, MeasuredCluster { cluster, average_distance }): (usize, MeasuredCluster)| ArticleGroup {
            id: format!("cluster-{}", number + 1),
            center: id(cluster.center),
            members: cluster.members.into_iter().map(id).collect(),
            average_distance,
        };
    Ok(greedy_stars(&fingerprints, radius)?.into_iter().enumerate().map(group).collect())
}

/// Like [`greedy`], for fingerprints that are already sorted, newest first. Document numbers are positions in the slice.
pub fn greedy_stars(newest_first: &[Fingerprint], radius: u32) -> Result<Vec<MeasuredCluster>> {
    greedy_stars_while(newest_first, radius, |_| true)
}

/// Like [`greedy_stars`], with cancellation: calls `keep_going` before each center with the number of centers so far. After
/// it returns `false`, every remaining unassigned document becomes a cluster of its own.
pub(crate) fn greedy_stars_while(
    newest_first: &[Fingerprint],
    radius: u32,
    keep_going: impl FnMut(u64) -> bool,
) -> Result<Vec<MeasuredCluster>> {
    let mut index = HammingIndex::with_capacity(radius, newest_first.len())?;
    let order = (0u32..).map(DocNumber).take(newest_first.len());
    let entries: Vec<_> = newest_first.iter().copied().zip(order.clone()).collect();
    index.insert_all(&entries);
    let mut source =
        NearFingerprints { fingerprints: newest_first, index, hits: Vec::new(), keep_going, centers: 0 };
    let Ok(found) = star_clusters(newest_first.len(), order, 0, &mut source);
    let measured = |cluster: Cluster| {
        let fingerprint = |doc: DocNumber| newest_first[doc.0 as usize];
        let center = fingerprint(cluster.center);
        let distances = cluster.members.iter().map(|&doc| u64::from(fingerprint(doc).distance(center)));
        let others = cluster.members.len() - 1;
        let average_distance = if others == 0 { 0.0 } else { distances.sum::<u64>() as f64 / others as f64 };
        MeasuredCluster { cluster, average_distance }
    };
    Ok(clusters(&found.centers, DocNumber).into_iter().map(measured).collect())
}

/// Candidates within the radius. A document that is assigned is removed from the index, so that each is found once even if all
/// are near each other.
struct NearFingerprints<'a, K> {
    fingerprints: &'a [Fingerprint],
    index: HammingIndex,
    hits: Vec<Hit>,
    keep_going: K,
    /// Number of centers so far.
    centers: u64,
}

impl<K: FnMut(u64) -> bool> StarSource for NearFingerprints<'_, K> {
    type Error = Infallible;

    fn candidates(
        &mut self,
        center: DocNumber,
        _: usize,
        centers: &Centers,
        _: &HashSet<DocNumber>,
    ) -> Candidates {
        if !(self.keep_going)(self.centers) {
            return Candidates::default();
        }
        self.centers += 1;
        self.hits.clear();
        self.index.find_all(self.fingerprints[center.0 as usize], &mut self.hits);
        let free = |hit: &&Hit| hit.doc != center && centers.is_free(hit.doc);
        let mut docs: Vec<DocNumber> = self.hits.iter().filter(free).map(|hit| hit.doc).collect();
        docs.sort_unstable();
        // The center and documents with its fingerprint may stay in the index: everything near them is assigned now, so no
        // later center finds them.
        for hit in self.hits.iter().filter(|hit| hit.distance > 0) {
            self.index.remove(self.fingerprints[hit.doc.0 as usize], hit.doc);
        }
        Candidates { docs, left: 0 }
    }

    fn compare(&mut self, _: DocNumber, _: DocNumber, _: Purpose) -> bool {
        true
    }
}

/// Returns the positions of the articles, newest first; articles with equal dates in input order.
fn newest_first(articles: &[Article]) -> Result<Vec<u32>> {
    let date = |article: &Article| {
        let in_document = |source| Error::InDocument { id: article.id.to_string(), source: Box::new(source) };
        Timestamp::parse(&article.published_at).map_err(in_document)
    };
    let dates = articles.iter().map(date).collect::<Result<Vec<Timestamp>>>()?;
    let mut order: Vec<u32> = (0u32..).take(articles.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(dates[at as usize]));
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    fn article(id: impl Into<DocId>, code: u64, date: &str) -> Article {
        Article { id: id.into(), fingerprint: Fingerprint::from_u64(code), published_at: date.into() }
    }

    /// Reference implementation: compares each center with all unassigned articles.
    fn brute_force(articles: &[Article], radius: u32) -> Vec<ArticleGroup> {
        let mut sorted: Vec<&Article> = articles.iter().collect();
        sorted.sort_by_key(|a| std::cmp::Reverse(Timestamp::parse(&a.published_at).unwrap()));
        let mut groups = Vec::new();
        while !sorted.is_empty() {
            let center = sorted[0];
            let near = |a: &&Article| a.fingerprint.distance(center.fingerprint) <= radius;
            let (members, rest): (Vec<&Article>, Vec<&Article>) = sorted.into_iter().partition(near);
            let total: u32 = members.iter().map(|a| a.fingerprint.distance(center.fingerprint)).sum();
            groups.push(ArticleGroup {
                id: format!("cluster-{}", groups.len() + 1),
                center: center.id.clone(),
                average_distance: f64::from(total) / (members.len() - 1).max(1) as f64,
                members: members.into_iter().map(|a| a.id.clone()).collect(),
            });
            sorted = rest;
        }
        groups
    }

    #[test]
    fn agrees_with_brute_force() {
        let mut random = SplitMix64(1);
        for radius in [0, 1, 3, 5, 12, 32, 64] {
            for count in [0, 1, 2, 30, 1200] {
                let centers: Vec<u64> = (0..20).map(|i| if i == 0 { 0 } else { random.next() }).collect();
                let articles: Vec<Article> = (0..count)
                    .map(|i| {
                        let flips = (0..random.below(6)).fold(0u64, |bits, _| bits | 1 << random.below(64));
                        let code = centers[random.below(20)] ^ flips;
                        // Few dates, so that many are equal.
                        article(i, code, &format!("2024-01-{:02}", 1 + random.below(20)))
                    })
                    .collect();
                assert_eq!(
                    greedy(&articles, radius).unwrap(),
                    brute_force(&articles, radius),
                    "{radius}, {count}"
                );
            }
        }
    }

    #[test]
    fn groups_half_a_million_equal_articles() {
        let prints = vec![Fingerprint::from_u64(7); 500_000];
        let clusters = greedy_stars(&prints, 3).unwrap();
        assert_eq!((clusters.len(), clusters[0].cluster.members.len()), (1, 500_000));
    }

    #[test]
    fn errors_name_repeated_ids_and_invalid_dates() {
        let twice =
            [article("a", 1, "2024-01-01"), article("b", 2, "2024-01-01"), article("a", 3, "2024-01-01")];
        let message = greedy(&twice, 3).unwrap_err().to_string();
        assert_eq!(message, "duplicate id `a` at positions 0 and 2: make ids unique");
        let message = greedy(&[article("a", 1, "soon")], 3).unwrap_err().to_string();
        assert!(
            message.starts_with("document `a`: `published_at` is \"soon\": must be a date such as"),
            "{message}"
        );
        // The integer 7 and the string "7" are different ids.
        assert_eq!(
            greedy(&[article(7, 1, "2024-01-01"), article("7", 1, "2024-01-01")], 3).unwrap().len(),
            1
        );
        assert!(greedy(&[], 65).is_err());
    }
}
