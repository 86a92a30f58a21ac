//! Groups of articles around the newest (seed 000).

use super::star::{Candidates, Centers, Purpose, StarSource, clusters, star_clusters};
use super::{Cluster, MeasuredCluster};
use crate::document::{DocId, Timestamp};
use crate::error::{Error, Result};
use crate::index::{DocNumber, HammingIndex, Hit};
use crate::sketch::Fingerprint;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

/// What grouping has to know of an article.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Article {
    /// Its id, which no other article has.
    pub id: DocId,
    /// Its fingerprint. Zero is a value like any other here: whoever has texts leaves out those without words.
    pub fingerprint: Fingerprint,
    /// When it came out, in any form that [`Timestamp::parse`] reads.
    pub published_at: String,
}

/// Articles that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct ArticleGroup {
    /// `cluster-1`, `cluster-2` and so on, in order of the centers.
    pub id: String,
    /// The newest article.
    pub center: DocId,
    /// All articles, the newest first, so the center comes first.
    pub members: Vec<DocId>,
    /// How many bits the others differ from the center on average; 0 if there are none.
    pub average_distance: f64,
}

/// Groups articles: the newest that has no group yet is a center, and takes all others without a group whose
/// fingerprints differ from its own in at most `radius` bits.
///
/// Of articles of the same time the one that was given first counts as newer. Every article is in one group. Bad
/// dates and repeated ids are refused.
///
/// # Cost
/// Seed 000 compares all with all. Here a [`HammingIndex`] answers for each center, and what was taken leaves it, so every
/// article is found once, even if all are near each other.
///
/// ```
/// use sameish::{Article, Fingerprint, greedy};
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
    check_ids(articles)?;
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

/// As [`greedy`], for fingerprints that are in order already, the newest first. The numbers of the documents are their
/// positions.
pub fn greedy_stars(newest_first: &[Fingerprint], radius: u32) -> Result<Vec<MeasuredCluster>> {
    greedy_stars_while(newest_first, radius, |_| true)
}

/// As [`greedy_stars`], as long as `wanted`, which is asked before each center and told how many came before. Where it was
/// not to the end, documents stand alone that do not.
pub(crate) fn greedy_stars_while(
    newest_first: &[Fingerprint],
    radius: u32,
    wanted: impl FnMut(u64) -> bool,
) -> Result<Vec<MeasuredCluster>> {
    let mut index = HammingIndex::with_capacity(radius, newest_first.len())?;
    let order = (0u32..).map(DocNumber).take(newest_first.len());
    let entries: Vec<_> = newest_first.iter().copied().zip(order.clone()).collect();
    index.insert_all(&entries);
    let mut source =
        NearFingerprints { fingerprints: newest_first, index, hits: Vec::new(), wanted, asked: 0 };
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
struct NearFingerprints<'a, W> {
    fingerprints: &'a [Fingerprint],
    index: HammingIndex,
    hits: Vec<Hit>,
    wanted: W,
    /// Number of centers so far.
    asked: u64,
}

impl<W: FnMut(u64) -> bool> StarSource for NearFingerprints<'_, W> {
    type Error = Infallible;

    fn candidates(
        &mut self,
        center: DocNumber,
        _: usize,
        centers: &Centers,
        _: &HashSet<DocNumber>,
    ) -> Candidates {
        if !(self.wanted)(self.asked) {
            return Candidates::default();
        }
        self.asked += 1;
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
        Candidates { docs, more: false }
    }

    fn compare(&mut self, _: DocNumber, _: DocNumber, _: Purpose) -> bool {
        true
    }
}

fn check_ids(articles: &[Article]) -> Result<()> {
    let mut seen = HashMap::with_capacity(articles.len());
    for (second, article) in articles.iter().enumerate() {
        match seen.entry(&article.id) {
            Entry::Vacant(free) => _ = free.insert(second),
            Entry::Occupied(first) => {
                return Err(Error::RepeatedId { id: article.id.to_string(), first: *first.get(), second });
            }
        }
    }
    Ok(())
}

/// Positions of the articles, the newest first, those of one time as they came.
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

    /// The rule of the seed, comparing all with all.
    fn plain(articles: &[Article], radius: u32) -> Vec<ArticleGroup> {
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
    fn groups_are_those_of_comparing_all_with_all() {
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
                assert_eq!(greedy(&articles, radius).unwrap(), plain(&articles, radius), "{radius}, {count}");
            }
        }
    }

    #[test]
    fn half_a_million_equal_articles_are_one_group() {
        let prints = vec![Fingerprint::from_u64(7); 500_000];
        let clusters = greedy_stars(&prints, 3).unwrap();
        assert_eq!((clusters.len(), clusters[0].cluster.members.len()), (1, 500_000));
    }

    #[test]
    fn repeated_ids_and_bad_dates_are_named() {
        let twice =
            [article("a", 1, "2024-01-01"), article("b", 2, "2024-01-01"), article("a", 3, "2024-01-01")];
        let message = greedy(&twice, 3).unwrap_err().to_string();
        assert_eq!(message, "id `a` occurs at positions 0 and 2: give each document an id of its own");
        let message = greedy(&[article("a", 1, "soon")], 3).unwrap_err().to_string();
        assert!(
            message.starts_with("document `a`: `published_at` is \"soon\": must be a date such as"),
            "{message}"
        );
        // Ids of two types are two ids.
        assert_eq!(
            greedy(&[article(7, 1, "2024-01-01"), article("7", 1, "2024-01-01")], 3).unwrap().len(),
            1
        );
        assert!(greedy(&[], 65).is_err());
    }
}
