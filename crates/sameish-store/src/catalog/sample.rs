//! Similarities of pairs: a histogram, and the result of another threshold.
//!
//! Both come from a sample: the matches of all documents of a small collection, and of about [`SAMPLED`] documents of a larger one.
//! Which documents are sampled depends on their numbers only, so that the figures of two requests can be compared. The sample is
//! taken again after a change, in the background if that takes long (`refresh.rs`).
//!
//! The matches of a sampled document can be incomplete, because a search has limits. The sample keeps the similarity down to which
//! they are complete, so that a figure is either an estimate with an interval or marked as capped.

use super::clusters::undamaged;
use super::collection::{Collection, timestamp};
use super::live::LiveLinkage;
use super::refresh::Statistic;
use super::search::{MatchSearch, View};
use crate::error::Result;
use crate::model::{Estimate, Histogram, HistogramBin, PairedText, Preview, TextPair};
use sameish::engine::Among;
use sameish::{DocId, Document, Match, Timestamp, Verdict};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// A collection with at most this number of documents is not sampled.
const EXACT: usize = 1_000;
/// Expected number of sampled documents of a larger collection.
const SAMPLED: usize = 400;
/// Maximum number of distinct texts among the matches of a sampled document of a larger collection.
const MATCHES: usize = 200;
/// Maximum number of copies that are examined for one sampled document, if the number of copies alone does not decide.
const COPIES_EXAMINED: usize = 20_000;
/// Maximum size in bytes of the texts that a sample reads.
const TEXT_BYTES: usize = 64 << 20;
/// Width of a bin of the histogram.
const BIN_WIDTH: f64 = 0.02;
/// Difference of two thresholds that are the same one in a response, which is rounded.
const ROUNDING: f64 = 1e-6;
/// Number of pairs above and below a threshold in a preview.
const SHOWN: usize = 3;
/// Number of characters of an excerpt.
const EXCERPT: usize = 240;
/// Number of document numbers that are read at a time.
const CHUNK: usize = 10_000;
/// Numbers of documents per document of a collection from which on its numbers are read rather than probed.
const SPARSE: u64 = 16;

/// Matches of the documents of a collection.
#[derive(Debug)]
pub(super) struct Sample {
    taken_at: Timestamp,
    /// Number of documents of the collection.
    documents: u64,
    /// Numbers of the sampled documents, in the order in which they become centers.
    sampled: Vec<u64>,
    /// Whether all documents are sampled, and all their matches known. Then each pair is contained once, as a pair of a document and
    /// one before it; otherwise once for each of its documents that is sampled.
    exact: bool,
    /// Sampled documents whose matches may be incomplete, by number: all matches of a greater similarity are known.
    cut: HashMap<u64, f64>,
    pairs: Vec<SampledPair>,
}

/// A sampled document and the documents of one text that match it.
#[derive(Debug)]
struct SampledPair {
    /// The sampled document.
    number: u64,
    /// The first of the documents that match it.
    other: u64,
    /// Number of documents that match it.
    copies: u64,
    /// Whether one of them comes before the sampled document.
    is_earlier: bool,
    verdict: Verdict,
    joins: bool,
}

impl Collection {
    /// Returns the numbers of pairs of documents by similarity.
    pub fn histogram(&self) -> Result<Histogram> {
        let sample = self.sample()?;
        let threshold = self.threshold();
        let mut counts = vec![[0_u64; 2]; bin_count(threshold)];
        for pair in &sample.pairs {
            let bin = ((pair.verdict.similarity - threshold) / BIN_WIDTH + 1e-9).max(0.0) as usize;
            let bin = bin.min(counts.len() - 1);
            counts[bin][0] += pair.copies;
            counts[bin][1] += if pair.verdict.template { pair.copies } else { 0 };
        }
        let bin = |(i, [pairs, templates]): (usize, &[u64; 2])| HistogramBin {
            from: threshold + i as f64 * BIN_WIDTH,
            pairs: sample.scaled(*pairs),
            templates: sample.scaled(*templates),
        };
        Ok(Histogram {
            threshold,
            bin_width: BIN_WIDTH,
            bins: counts.iter().enumerate().map(bin).collect(),
            documents: sample.documents,
            sampled: sample.sampled.len() as u64,
            exact: sample.exact,
            capped: !sample.cut.is_empty(),
            as_of: sample.taken_at,
        })
    }

    /// Returns the result of a threshold. Returns `None` if it is below the threshold of the collection, whose index does not
    /// find such pairs.
    pub fn preview(&self, threshold: f64) -> Result<Option<Preview>> {
        if threshold < self.threshold() - ROUNDING {
            return Ok(None);
        }
        let threshold = threshold.max(self.threshold());
        let sample = self.sample()?;
        let (clusters, copies, largest_cluster) = if sample.exact {
            let sizes = sample.cluster_sizes(threshold, self.live.linkage);
            let clusters = sizes.iter().filter(|size| **size > 1).count() as u64;
            let copies = sizes.iter().map(|size| size - 1).sum();
            (Estimate::exact(clusters), Estimate::exact(copies), sizes.iter().max().copied())
        } else {
            let Roles { firsts, copies } = sample.roles(threshold);
            (sample.share(firsts), sample.share(copies), None)
        };
        let mut above: Vec<&SampledPair> = sample.pairs.iter().collect();
        above.sort_by(|a, b| {
            a.verdict.similarity.total_cmp(&b.verdict.similarity).then(a.number.cmp(&b.number))
        });
        let below =
            above.iter().rposition(|pair| pair.verdict.similarity < threshold).map_or(0, |last| last + 1);
        let above_pairs = self.described(above[below..].iter().copied())?;
        let below_pairs = self.described(above[..below].iter().rev().copied())?;
        Ok(Some(Preview {
            documents: sample.documents,
            sampled: sample.sampled.len() as u64,
            exact: sample.exact,
            capped: sample.is_capped(threshold),
            as_of: sample.taken_at,
            pairs: sample.pairs_from(threshold),
            clusters,
            copies,
            largest_cluster,
            above: above_pairs,
            below: below_pairs,
        }))
    }

    /// Returns the minimum similarity of a match.
    fn threshold(&self) -> f64 {
        self.live.analyzer.judge().threshold()
    }

    fn sample(&self) -> Result<Arc<Sample>> {
        let compute = Collection::take_sample;
        self.statistic(Statistic { of: |live| &live.sample, compute, is_small: |_| false })
    }

    fn take_sample(&self) -> Result<Sample> {
        let taken_at = timestamp(super::now());
        let (documents, chosen) = self.chosen_documents()?;
        let is_small = documents as usize <= EXACT;
        let mut sample = Sample {
            taken_at,
            documents,
            sampled: Vec::with_capacity(chosen.len()),
            exact: false,
            cut: HashMap::new(),
            pairs: Vec::new(),
        };
        let (mut text_bytes, mut left) = (TEXT_BYTES, chosen.len());
        for (number, id) in chosen {
            let search = MatchSearch {
                limit: if is_small { EXACT } else { MATCHES },
                among: if is_small { Among::All } else { Among::FirstCopies },
                only_earlier: is_small,
                max_text_bytes: text_bytes / left,
            };
            left -= 1;
            // A document that cannot be read is not part of the sample.
            let Some((found, read_bytes)) = self.matches_of(&id, &search)? else { continue };
            text_bytes -= read_bytes;
            sample.sampled.push(number);
            if found.capped > 0 {
                sample.note_cut(number, f64::INFINITY);
            } else if found.matches.len() >= search.limit {
                sample.note_cut(number, found.matches.last().map_or(0.0, |last| last.verdict.similarity));
            }
            self.add_pairs(&mut sample, (number, &id), &found.matches, is_small);
        }
        let turns = self.live.turns();
        sample.sampled.sort_by_cached_key(|number| turns.of(*number));
        sample.exact = documents == sample.sampled.len() as u64 && sample.cut.is_empty();
        if is_small && !sample.exact {
            sample.count_from_both_sides();
        }
        Ok(sample)
    }

    /// Adds the pairs of a document. A match stands for all documents with its text unless `are_single`. Then it arrived before the
    /// document, and the pair is that of the one of the two that becomes a center later.
    fn add_pairs(
        &self,
        sample: &mut Sample,
        (number, id): (u64, &DocId),
        matches: &[Match],
        are_single: bool,
    ) {
        let linkage = self.live.linkage;
        let engine = self.live.engine();
        let joins = |id: &DocId| engine.get(id).is_some_and(|stored| linkage.joins(stored.status));
        let is_joining: Vec<bool> = if joins(id) {
            matches.iter().map(|found| engine.joins(&found.verdict) && joins(&found.id)).collect()
        } else {
            vec![false; matches.len()]
        };
        drop(engine);
        let mut left = COPIES_EXAMINED;
        for (found, joins) in matches.iter().zip(is_joining) {
            let (number, other, copies) = if are_single {
                let copies = Copies { count: 1, is_earlier: true, is_cut: false };
                match self.is_earlier(found.number, number) {
                    true => (number, found.number, copies),
                    false => (found.number, number, copies),
                }
            } else {
                (number, found.number, self.copies_of((number, id), found, &mut left))
            };
            if copies.is_cut {
                sample.note_cut(number, found.verdict.similarity);
            }
            sample.pairs.push(SampledPair {
                number,
                other,
                copies: copies.count,
                is_earlier: copies.is_earlier,
                verdict: found.verdict,
                joins,
            });
        }
    }

    /// Returns `true` if a document comes before another one among those that become centers.
    fn is_earlier(&self, number: u64, other: u64) -> bool {
        let turns = self.live.turns();
        turns.of(number) < turns.of(other)
    }

    /// Returns the documents that have the text of a match and match a document, too. The match is the first of them to arrive.
    ///
    /// Examines the copies one by one only if there is a window or another order than that of arrival, and at most as many as `left`.
    fn copies_of(&self, (number, id): (u64, &DocId), found: &Match, left: &mut usize) -> Copies {
        let turns = self.live.turns();
        let engine = self.live.engine();
        let own = turns.of(number);
        let is_earlier = turns.of(found.number) < own;
        let moment = engine.get(id).and_then(|stored| stored.published).map_or(0, Timestamp::as_milliseconds);
        let window = self.live.window_around(moment);
        if window.is_none() && !self.live.has_ranks() {
            let last = engine.last_copy_before(&found.id, number + 1);
            let is_own_text = last.is_some_and(|copy| copy.number == number);
            let count = engine.copies(&found.id).saturating_sub(usize::from(is_own_text)).max(1);
            return Copies { count: count as u64, is_earlier, is_cut: false };
        }
        let mut copies = Copies { count: 1, is_earlier, is_cut: false };
        for copy in engine.later_copies(&found.id) {
            if *left == 0 {
                return Copies { is_cut: true, ..copies };
            }
            *left -= 1;
            let is_inside = window.as_ref().is_none_or(|window| {
                copy.published.is_some_and(|date| window.contains(&date.as_milliseconds()))
            });
            if is_inside && copy.number != number {
                copies.count += 1;
                copies.is_earlier |= turns.of(copy.number) < own;
            }
        }
        copies
    }

    /// Returns the number of documents, and the sampled ones in order. Reads their numbers from the store, because reading them from
    /// the index would delay the writer.
    fn chosen_documents(&self) -> Result<(u64, Vec<(u64, DocId)>)> {
        let read = self.shared.readers.snapshot()?;
        let collection = self.live.row.number;
        let expected = self.len();
        let share = if expected <= EXACT { u64::MAX } else { (u64::MAX / expected as u64) * SAMPLED as u64 };
        let is_chosen = |number: &u64| xxh3_64(&number.to_le_bytes()) <= share;
        let mut chosen = Vec::new();
        let mut choose = |number: u64| -> Result<()> {
            if let Some(caption) = undamaged(read.caption(number))?
                && let Some(id) = DocId::from_json(&caption.id)
            {
                chosen.push((number, id));
            }
            Ok(())
        };
        let first = read.numbers(collection, 0, 1)?.first().copied().unwrap_or(0);
        let last = read.counters()?.documents;
        if expected > EXACT && last.saturating_sub(first) / expected as u64 <= SPARSE {
            // Most numbers are of this collection, so few of those that are chosen are not.
            for number in (first..=last).filter(is_chosen) {
                if read.numbers(collection, number - 1, 1)? == [number] {
                    choose(number)?;
                }
            }
            return Ok((expected as u64, chosen));
        }
        let (mut count, mut after) = (0, 0);
        loop {
            let numbers = read.numbers(collection, after, CHUNK)?;
            let Some(last) = numbers.last() else { return Ok((count, chosen)) };
            after = *last;
            count += numbers.len() as u64;
            numbers.into_iter().filter(is_chosen).try_for_each(&mut choose)?;
        }
    }

    /// Reads the texts of the first pairs that can be read.
    fn described<'a>(&self, pairs: impl Iterator<Item = &'a SampledPair>) -> Result<Vec<TextPair>> {
        let (view, engine) = self.view()?;
        drop(engine);
        let mut seen = HashSet::new();
        let mut described = Vec::new();
        for pair in pairs {
            if described.len() == SHOWN {
                break;
            }
            let is_new = seen.insert((pair.number.min(pair.other), pair.number.max(pair.other)));
            if is_new
                && let Some(a) = paired_text(&view, pair.number)?
                && let Some(b) = paired_text(&view, pair.other)?
            {
                described.push(TextPair { verdict: pair.verdict, a, b });
            }
        }
        Ok(described)
    }
}

/// The documents of one text that match a document.
struct Copies {
    count: u64,
    /// Whether one of them comes before the document.
    is_earlier: bool,
    /// Whether there may be more.
    is_cut: bool,
}

/// Returns `None` if the document was deleted since the sample was taken, or is damaged. The number of a document is never used again.
fn paired_text(view: &View<'_>, number: u64) -> Result<Option<PairedText>> {
    let row = undamaged(view.document(number))?;
    Ok(row.map(|row| {
        let excerpt = excerpt(&row.document);
        let Document { id, title, source, .. } = row.document;
        PairedText { id, title, source, excerpt }
    }))
}

fn excerpt(document: &Document) -> String {
    super::search::text_of(&document.content).chars().take(EXCERPT).collect()
}

fn bin_count(threshold: f64) -> usize {
    (((1.0 - threshold) / BIN_WIDTH - 1e-9).ceil() as usize).max(1)
}

/// How many of the sampled documents have a property: those of which it is known, and those of which it is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    known: u64,
    uncertain: u64,
}

/// Which sampled documents match later documents only, and which match an earlier one.
struct Roles {
    firsts: Counted,
    copies: Counted,
}

/// Quantile of the normal distribution for an interval of 95 %.
const Z: f64 = 1.96;
/// If none of n independent documents has a property, at most 3 / n of all have it with a probability of 95 % (the rule of three).
const NONE_OF: f64 = 3.0;

impl Sample {
    /// Notes that matches of a document may be missing whose similarity is not greater than the given one.
    fn note_cut(&mut self, number: u64, similarity: f64) {
        let cut = self.cut.entry(number).or_insert(similarity);
        *cut = cut.max(similarity);
    }

    /// Adds each pair as a pair of its other document, too. Documents were only compared with earlier ones, so if matches of one may be
    /// missing, matches of each may be.
    fn count_from_both_sides(&mut self) {
        let reverse = |pair: &SampledPair| SampledPair {
            number: pair.other,
            other: pair.number,
            is_earlier: false,
            ..*pair
        };
        let reversed: Vec<SampledPair> = self.pairs.iter().map(reverse).collect();
        self.pairs.extend(reversed);
        let Some(similarity) = self.cut.values().copied().reduce(f64::max) else { return };
        for number in self.sampled.clone() {
            self.note_cut(number, similarity);
        }
    }

    /// Returns `true` if matches of a document at or above a threshold may be missing.
    fn is_cut(&self, number: u64, threshold: f64) -> bool {
        self.cut.get(&number).is_some_and(|cut| *cut >= threshold)
    }

    /// Returns `true` if matches at or above a threshold may be missing.
    fn is_capped(&self, threshold: f64) -> bool {
        self.cut.values().any(|cut| *cut >= threshold)
    }

    /// Estimates the number of pairs of the collection from those of the sample.
    fn scaled(&self, pairs: u64) -> u64 {
        if self.exact {
            return pairs;
        }
        let factor = self.documents as f64 / self.sampled.len().max(1) as f64 / 2.0;
        (pairs as f64 * factor).round() as u64
    }

    /// Returns the number of documents that would have to be drawn with replacement for the same error. It is infinite if all are
    /// sampled (finite population correction).
    fn effective_size(&self) -> f64 {
        let (n, all) = (self.sampled.len() as f64, self.documents as f64);
        if n < all { (n * (all - 1.0) / (all - n)).max(1.0) } else { f64::INFINITY }
    }

    fn joining(&self, threshold: f64) -> impl Iterator<Item = &SampledPair> {
        self.pairs.iter().filter(move |pair| pair.joins && pair.verdict.similarity >= threshold)
    }

    /// Estimates the number of pairs at or above a threshold. The interval is that of the mean number of pairs per document. If no
    /// sampled document has a pair, it ends at the rule of three for documents that have one.
    fn pairs_from(&self, threshold: f64) -> Estimate {
        let count = self.joining(threshold).map(|pair| pair.copies).sum::<u64>();
        if self.exact {
            return Estimate::exact(count);
        }
        let mut by_document: HashMap<u64, f64> = HashMap::new();
        for pair in self.joining(threshold) {
            *by_document.entry(pair.number).or_default() += pair.copies as f64;
        }
        let sampled = self.sampled.len().max(1) as f64;
        let mean = count as f64 / sampled;
        let squares: f64 = by_document.values().map(|pairs| pairs * pairs).sum();
        let error = ((squares / sampled - mean * mean).max(0.0) / self.effective_size()).sqrt();
        let total = |mean: f64| mean.max(0.0) * self.documents as f64 / 2.0;
        let most = if count > 0 { mean + Z * error } else { (NONE_OF / self.effective_size()).min(1.0) };
        // Each pair that was found is counted at most twice.
        let least = (total(mean - Z * error) as u64).max(count.div_ceil(2));
        Estimate {
            value: (total(mean).round() as u64).max(least),
            low: least,
            high: (!self.is_capped(threshold)).then_some((total(most).ceil() as u64).max(least)),
        }
    }

    /// Counts the sampled documents that match later documents only, and those that match an earlier one. Both are uncertain of a
    /// document whose matches are incomplete, unless an earlier one is among them.
    fn roles(&self, threshold: f64) -> Roles {
        let mut matched = HashSet::new();
        let mut copies = HashSet::new();
        for pair in self.joining(threshold) {
            matched.insert(pair.number);
            if pair.is_earlier {
                copies.insert(pair.number);
            }
        }
        let is_uncertain = |number: &&u64| !copies.contains(number) && self.is_cut(**number, threshold);
        let uncertain = self.sampled.iter().filter(is_uncertain).count() as u64;
        let is_first = |number: &&u64| !copies.contains(number) && !self.is_cut(**number, threshold);
        let firsts = matched.iter().filter(is_first).count() as u64;
        Roles {
            firsts: Counted { known: firsts, uncertain },
            copies: Counted { known: copies.len() as u64, uncertain },
        }
    }

    /// Estimates how many documents have a property, with the interval of Wilson (1927): its lower bound is that of the documents
    /// that are known to have it, its upper bound that of those that may have it.
    fn share(&self, counted: Counted) -> Estimate {
        let n = self.effective_size();
        let share_of = |count: u64| count as f64 / self.sampled.len().max(1) as f64;
        let center = |p: f64| (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
        let half = |p: f64| Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt() / (1.0 + Z * Z / n);
        let total = |share: f64| (share.clamp(0.0, 1.0) * self.documents as f64).round() as u64;
        let (least, most) = (share_of(counted.known), share_of(counted.known + counted.uncertain));
        Estimate {
            value: total(least),
            low: total(center(least) - half(least)),
            high: Some(total(center(most) + half(most))),
        }
    }

    /// Returns the sizes of the clusters that a threshold gives, if the sample is exact.
    fn cluster_sizes(&self, threshold: f64, linkage: LiveLinkage) -> Vec<u64> {
        let places: HashMap<u64, usize> =
            self.sampled.iter().enumerate().map(|(place, number)| (*number, place)).collect();
        let mut earlier: Vec<Vec<usize>> = vec![Vec::new(); self.sampled.len()];
        for pair in self.joining(threshold) {
            // A document that was deleted while the sample was taken can have lost its place.
            let found = places.get(&pair.number).zip(places.get(&pair.other));
            if let Some((place, other)) = found.filter(|(place, other)| other < place) {
                earlier[*place].push(*other);
            }
        }
        // The clusters by the places of their first documents.
        let mut roots: Vec<usize> = Vec::with_capacity(earlier.len());
        for (place, matches) in earlier.into_iter().enumerate() {
            let mut joined: Vec<usize> = match linkage {
                LiveLinkage::Cohesive => {
                    matches.into_iter().filter(|other| roots[*other] == *other).collect()
                }
                LiveLinkage::Online => matches.first().map(|best| roots[*best]).into_iter().collect(),
                LiveLinkage::Components => matches.into_iter().map(|other| roots[other]).collect(),
            };
            joined.sort_unstable();
            joined.dedup();
            let root = joined.first().copied().unwrap_or(place);
            roots.push(root);
            if linkage == LiveLinkage::Components && joined.len() > 1 {
                roots.iter_mut().filter(|other| joined.contains(other)).for_each(|other| *other = root);
            }
        }
        let mut sizes: HashMap<usize, u64> = HashMap::new();
        roots.into_iter().for_each(|root| *sizes.entry(root).or_default() += 1);
        sizes.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use sameish::matching::MatchKind;

    /// Pairs `(number, other, similarity)`.
    fn sample(documents: u64, sampled: Vec<u64>, pairs: &[(u64, u64, f64)]) -> Sample {
        let verdict = |similarity| Verdict {
            similarity,
            kind: MatchKind::Similar,
            verified: true,
            distance: None,
            facts: None,
            template: false,
        };
        let pair = |&(number, other, similarity): &(u64, u64, f64)| SampledPair {
            number,
            other,
            copies: 1,
            is_earlier: other < number,
            verdict: verdict(similarity),
            joins: true,
        };
        let exact = sampled.len() as u64 == documents;
        let taken_at = Timestamp::from_milliseconds(0).unwrap();
        let pairs = pairs.iter().map(pair).collect();
        Sample { taken_at, documents, sampled, exact, cut: HashMap::new(), pairs }
    }

    fn sizes(sample: &Sample, threshold: f64, linkage: LiveLinkage) -> Vec<u64> {
        let mut sizes = sample.cluster_sizes(threshold, linkage);
        sizes.sort_unstable();
        sizes
    }

    /// A chain 1-2-3, and 4, which connects 1 and 5 last.
    #[test]
    fn clusters_follow_the_linkage() {
        let pairs = [(2, 1, 0.8), (3, 2, 0.9), (6, 5, 0.7), (6, 1, 0.75)];
        let sample = sample(6, (1..=6).collect(), &pairs);
        assert_eq!(sizes(&sample, 0.7, LiveLinkage::Cohesive), [1, 1, 1, 3]);
        assert_eq!(sizes(&sample, 0.7, LiveLinkage::Components), [1, 5]);
        assert_eq!(sizes(&sample, 0.8, LiveLinkage::Components), [1, 1, 1, 3]);
        assert_eq!(sizes(&sample, 0.95, LiveLinkage::Components), [1; 6]);
    }

    #[test]
    fn estimates_contain_the_value_in_their_interval() {
        // Every sampled document is one of two copies; the first one is sampled in half of the cases.
        let pairs: Vec<(u64, u64, f64)> =
            (0..100).map(|i| (2 * i + 1, if i % 2 == 0 { 2 * i } else { 2 * i + 2 }, 1.0)).collect();
        let sample = sample(10_000, (0..100).map(|i| 2 * i + 1).collect(), &pairs);
        assert_eq!(sample.pairs_from(0.5), Estimate { value: 5_000, low: 5_000, high: Some(5_000) });
        let Roles { firsts, copies } = sample.roles(0.5);
        assert_eq!((firsts, copies), (known(50), known(50)));
        let Estimate { value, low, high } = sample.share(copies);
        assert_eq!(value, 5_000);
        assert!(low > 4_000 && low < 5_000 && high > Some(5_000) && high < Some(6_000), "{low} {high:?}");
        assert_eq!(sample.share(known(0)).low, 0);
    }

    fn known(known: u64) -> Counted {
        Counted { known, uncertain: 0 }
    }

    /// With 3 of 400 documents in a pair, about 1 of 20 samples has none of them.
    #[test]
    fn a_sample_without_a_pair_does_not_exclude_pairs() {
        let found = sample(100_000, (0..400).collect(), &[]).pairs_from(0.5);
        assert_eq!((found.value, found.low), (0, 0));
        assert!((370..=376).contains(&found.high.unwrap()), "{found:?}");
        // Nothing is left to chance if all documents are sampled, although the sample is not exact.
        let all = Sample { exact: false, ..sample(400, (0..400).collect(), &[]) };
        assert_eq!(all.pairs_from(0.5), Estimate::exact(0));
        assert_eq!(all.share(known(7)), Estimate::exact(7));
    }

    /// A small collection whose matches are incomplete: nothing is left to chance, but every document may have more matches.
    #[test]
    fn pairs_are_counted_from_both_sides_if_they_are_incomplete() {
        let mut sample = sample(4, (1..=4).collect(), &[(2, 1, 0.9), (3, 1, 0.8)]);
        sample.exact = false;
        sample.note_cut(3, 0.7);
        sample.count_from_both_sides();
        assert_eq!(sample.pairs_from(0.75), Estimate::exact(2));
        assert_eq!(sample.pairs_from(0.7), Estimate { value: 2, low: 2, high: None });
        let Roles { firsts, copies } = sample.roles(0.75);
        assert_eq!((firsts, copies), (known(1), known(2)));
        let Roles { firsts, copies } = sample.roles(0.7);
        assert_eq!(copies, Counted { known: 2, uncertain: 2 });
        assert_eq!(firsts, Counted { known: 0, uncertain: 2 });
    }

    #[test]
    fn incomplete_matches_give_lower_bounds() {
        let mut sample = sample(10_000, (0..100).collect(), &[(1, 3, 0.9), (2, 1, 0.8), (4, 5, 0.7)]);
        sample.note_cut(1, 0.6);
        assert!(!sample.is_capped(0.65) && sample.is_capped(0.6));
        assert!(sample.pairs_from(0.65).high.is_some());
        assert_eq!(sample.pairs_from(0.6).high, None);
        let Roles { firsts, copies } = sample.roles(0.6);
        assert_eq!(copies, Counted { known: 1, uncertain: 1 }, "document 1 may match an earlier one");
        assert_eq!(firsts, Counted { known: 1, uncertain: 1 });
        assert!(sample.share(copies).high > sample.share(known(1)).high);
        assert_eq!(sample.share(copies).low, sample.share(known(1)).low);
    }

    #[test]
    fn bins_end_at_one() {
        assert_eq!(bin_count(0.5), 25);
        assert_eq!(bin_count(0.75), 13);
        assert_eq!(bin_count(1.0), 1);
    }
}
