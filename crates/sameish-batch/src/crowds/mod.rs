//! Candidates among documents in crowded buckets.
//!
//! Texts with much shared boilerplate, large numbers of near-identical notices, and forged signatures put thousands of documents
//! into one
//! bucket. Comparing each with all others is too expensive, and truncating the bucket loses matches. Therefore the documents of
//! crowded buckets form *crowds*, which are divided by exact filters:
//!
//! - Two texts match only if they share at least one of the rarest shingles of the smaller one (prefix filtering: Chaudhuri, Ganti
//!   and Kaushik 2006; Bayardo, Ma and Srikant 2007). Pages with much boilerplate and enough text of their own are candidates only
//!   of pages that share some of this text.
//! - If templates are kept apart, two texts join only if they share at least one of the rarest names and words, and one of the
//!   rarest numbers: [`FactItems`](sameish::matching::FactItems).
//! - Two texts with many different numbers are templates ([`FactsProfile`]).
//! - If the rarest items of a text are common, the text is compared with its whole crowd, by parities of shingles ([`ParityList`])
//!   and by its differences from most texts of the crowd ([`Differences`]), which give the similarity of most pairs.
//!
//! Which items are rare is estimated from a sample. The sample affects the cost, but not which matches are found: the filters
//! pass every pair that matches. As everywhere, candidates share a band, or have fingerprints that are near each other.

mod build;
mod counts;
mod differences;
mod rare;

use crate::ranked::Ranked;
pub(crate) use build::CrowdFacts;
use differences::Differences;
use rare::RareIndex;
use sameish::features::{NearParity, ParityList, ParityScan};
use sameish::index::SIGNED_RADIUS;
use sameish::matching::{CommonFacts, FactsProfile};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of documents of a bucket that is not crowded.
pub(crate) const CROWDED: usize = 32;

const NOWHERE: u32 = u32::MAX;
/// Number of documents after which [`Crowds::best_earlier`] first reduces the radius of its scan. Each further part is
/// [`GROWTH`] times as large.
const FIRST_PART: u32 = 64;
const GROWTH: u32 = 4;
/// Number of documents that are scanned in the time in which an index visits one.
const VISIT: usize = 16;

/// The documents of crowded buckets.
#[derive(Default)]
pub(crate) struct Crowds {
    /// Place of each document in `members`; [`NOWHERE`] for the others. Empty without crowds.
    places: Vec<u32>,
    /// The documents, by crowd, then by size.
    members: Vec<Member>,
    parities: ParityList,
    differences: Differences,
    /// Places of each crowd.
    crowds: Vec<Range<u32>>,
    /// Documents of each crowd that are not removed; with some of those that are.
    scans: Vec<ParityScan>,
    /// Number of removed documents in each scan.
    removed: Vec<u32>,
    is_removed: Vec<bool>,
    /// Indexes of rare shingles, words and numbers, in this order.
    indexes: Vec<RareIndex>,
    /// Profiles of the facts; empty if facts do not decide.
    profiles: Vec<FactsProfile>,
    /// The next document with equal parities, cyclic; empty unless texts with equal shingles match whatever their facts are.
    next_equal: Vec<u32>,
    /// What the texts of each crowd have in common, if their facts are compared.
    common_facts: Vec<Arc<CommonFacts>>,
    threshold: f64,
    /// Band keys of the documents, one row after the other.
    keys: Vec<u32>,
    bands: usize,
    /// Fingerprints of the documents; empty if the configuration has none.
    prints: Vec<Print>,
    /// Maximum distance of fingerprints, if one of two documents has no signature.
    radius: u32,
    screened: Cell<u64>,
}

/// The fingerprint of a document, zero if it has none.
#[derive(Clone, Copy, Debug)]
struct Print {
    bits: u64,
    /// Whether the document also has a signature.
    signed: bool,
}

/// The sizes of documents of crowds.
#[derive(Clone, Copy)]
pub(crate) struct Sizes<'a> {
    places: &'a [u32],
    members: &'a [Member],
}

impl Sizes<'_> {
    /// Returns the number of shingles of a document, if it is in a crowd.
    pub(crate) fn shingles(self, doc: u32) -> Option<u32> {
        let place = self.places.get(doc as usize).filter(|&&place| place != NOWHERE)?;
        Some(self.members[*place as usize].size)
    }
}

/// A document of a crowd.
#[derive(Clone, Copy, Debug)]
struct Member {
    doc: u32,
    /// Number of its shingles.
    size: u32,
    crowd: u32,
}

impl Crowds {
    fn place(&self, doc: u32) -> Option<u32> {
        self.places.get(doc as usize).copied().filter(|&place| place != NOWHERE)
    }

    /// Returns `true` if a document is in a crowd.
    pub(crate) fn contains(&self, doc: u32) -> bool {
        self.place(doc).is_some()
    }

    /// Returns `true` if two documents are in one crowd: then [`near`](Self::near) decides whether they are candidates.
    pub(crate) fn share(&self, a: u32, b: u32) -> bool {
        let crowd = |doc: u32| self.place(doc).map(|place| self.members[place as usize].crowd);
        crowd(a).is_some_and(|a| crowd(b) == Some(a))
    }

    /// Removes a document, so that [`near`](Self::near) need not find it any more.
    pub(crate) fn remove(&mut self, doc: u32) {
        let Some(place) = self.place(doc) else { return };
        if std::mem::replace(&mut self.is_removed[place as usize], true) {
            return;
        }
        let crowd = self.members[place as usize].crowd as usize;
        let scan = &mut self.scans[crowd];
        self.removed[crowd] += 1;
        if self.removed[crowd] as usize * 2 > scan.positions().len() {
            scan.retain(|place| !self.is_removed[place as usize]);
            self.removed[crowd] = 0;
        }
    }

    /// Returns the number of pairs that were screened so far.
    pub(crate) fn screened(&self) -> u64 {
        self.screened.get()
    }

    fn count_screened(&self, pairs: usize) {
        self.screened.set(self.screened.get() + pairs as u64);
    }

    /// Returns what the texts of the crowd of a document have in common.
    pub(crate) fn common_facts(&self, doc: u32) -> Option<&Arc<CommonFacts>> {
        self.common_facts.get(self.members[self.place(doc)? as usize].crowd as usize)
    }

    /// Calls `visit` with the other documents of its crowd that `among` selects and that a document may match; with some of them
    /// several times. May omit removed documents.
    pub(crate) fn near(&self, doc: u32, among: impl Fn(u32) -> bool, mut visit: impl FnMut(Ranked)) {
        let Some(place) = self.place(doc) else { return };
        let among = |at: u32| at != place && among(self.members[at as usize].doc);
        let Some(index) = self.best_index(place) else {
            self.near_in_crowd(place, among, visit);
            return;
        };
        let visit_place = |other: u32| {
            self.count_screened(1);
            if let Some(found) = among(other).then(|| self.bound_at(place, other)).flatten() {
                visit(found);
            }
        };
        self.equal_parities(place).chain(index.places(place)).for_each(visit_place);
    }

    /// Returns the places of the other documents with equal parities, if texts with equal shingles match whatever their facts are:
    /// an index of facts does not find them.
    fn equal_parities(&self, place: u32) -> impl Iterator<Item = u32> {
        let next = |place: u32| self.next_equal.get(place as usize).copied();
        std::iter::successors(next(place), move |&at| next(at)).take_while(move |&at| at != place)
    }

    /// Returns the `count` most promising documents of a crowd that a document may match, among those with smaller numbers that
    /// `is_candidate` selects.
    ///
    /// The scan omits documents that are less promising than those it has found. So it takes less time than
    /// [`near`](Self::near) if all documents of a crowd match each other.
    pub(crate) fn best_earlier(
        &self,
        doc: u32,
        count: usize,
        is_candidate: impl Fn(u32) -> bool,
    ) -> Vec<Ranked> {
        let mut best: Vec<Ranked> = Vec::with_capacity(count + 1);
        let mut near: Vec<NearParity> = Vec::new();
        let Some(place) = self.place(doc) else { return best };
        let own = self.members[place as usize];
        for run in Runs::around(self, place) {
            let members = &self.members[run.start as usize..run.end as usize];
            let total = own.size + members[0].size;
            let nearest = own.size.abs_diff(members[0].size);
            let earlier = run.start + members.partition_point(|member| member.doc < doc) as u32;
            let mut from = run.start;
            let mut part = FIRST_PART;
            if self.most_promising(total, &best, count, 0).is_none_or(|most| nearest > most) {
                // All other sizes differ at least as much.
                break;
            }
            while from < earlier {
                let to = earlier.min(from.saturating_add(part));
                let first = self.members[from as usize].doc;
                let Some(most) = self.most_promising(total, &best, count, first) else { break };
                near.clear();
                self.scan_places(place, from..to, most, &mut near);
                for &NearParity { at, differing } in &near {
                    let other = self.members[at as usize].doc;
                    if let Some(found) = self.bound_of(place, at, differing).filter(|_| is_candidate(other)) {
                        best.insert(best.partition_point(|known| known.cmp_rank(&found).is_lt()), found);
                        best.truncate(count);
                    }
                }
                from = to;
                part = part.saturating_mul(GROWTH);
            }
        }
        best
    }

    /// Returns the maximum number of bits in which the parities of a document from `first` on may differ to be among the `count`
    /// most promising ones, if `best` are those so far; `None` if even equal ones are not.
    fn most_promising(&self, total: u32, best: &[Ranked], count: usize, first: u32) -> Option<u32> {
        let most = most_differing(self.threshold, total);
        let Some(last) = best.get(count - 1) else { return Some(most) };
        let candidate =
            |&differing: &u32| Ranked { bound: bound(total, differing), ..Ranked::unknown(first) };
        let most = most.min((f64::from(total) * (1.0 - last.bound) / (1.0 + last.bound)) as u32 + 1);
        (0..=most).rev().find(|differing| candidate(differing).cmp_rank(last).is_lt())
    }

    /// Appends the documents of a range of a crowd from which no document was removed.
    fn scan_places(
        &self,
        place: u32,
        Range { start, end }: Range<u32>,
        most: u32,
        found: &mut Vec<NearParity>,
    ) {
        let crowd = self.members[place as usize].crowd as usize;
        let first = self.crowds[crowd].start;
        let range = (start - first) as usize..(end - first) as usize;
        self.count_screened(range.len());
        self.parities.near(place, &self.scans[crowd], range, most, found);
    }

    /// Returns `true` if rare items of a document exclude most of its crowd.
    pub(crate) fn is_selective(&self, doc: u32) -> bool {
        self.place(doc).is_some_and(|place| self.best_index(place).is_some())
    }

    /// Returns document `b` as a candidate of `a`, if they are in crowds and may match.
    pub(crate) fn bound(&self, a: u32, b: u32) -> Option<Ranked> {
        self.bound_at(self.place(a)?, self.place(b)?)
    }

    /// Returns the similarity of two documents, if they are in one crowd and their differences are known.
    pub(crate) fn known_similarity(&self, a: u32, b: u32) -> Option<f64> {
        let (a, b) = self.place(a).zip(self.place(b))?;
        let [x, y] = [a, b].map(|place| self.members[place as usize]);
        let differing = (x.crowd == y.crowd).then(|| self.differences.between(a, b)).flatten()?;
        Some(bound(x.size + y.size, differing))
    }

    /// Returns the sizes of the documents, which several threads may read.
    pub(crate) fn sizes(&self) -> Sizes<'_> {
        Sizes { places: &self.places, members: &self.members }
    }

    fn bound_at(&self, a: u32, b: u32) -> Option<Ranked> {
        self.bound_of(a, b, self.parities.differing(a, b))
    }

    /// Returns `true` if two documents share a band or have near fingerprints. Others are no candidates, as in an engine: pairs do not
    /// depend on whether a bucket is crowded.
    fn are_candidates(&self, a: u32, b: u32) -> bool {
        let row = |place: u32| &self.keys[place as usize * self.bands..][..self.bands];
        let equal: u32 = row(a).iter().zip(row(b)).map(|(a, b)| u32::from(a == b)).sum();
        equal > 0 || self.have_near_prints(a, b)
    }

    fn have_near_prints(&self, a: u32, b: u32) -> bool {
        let [a, b] = [a, b].map(|place| self.prints.get(place as usize).filter(|print| print.bits != 0));
        a.zip(b).is_some_and(|(a, b)| {
            let radius = if a.signed && b.signed { SIGNED_RADIUS } else { self.radius };
            (a.bits ^ b.bits).count_ones() <= radius
        })
    }

    /// Returns the document at place `b` as a candidate of `a`, if they may match. Their parities differ in some bits.
    fn bound_of(&self, a: u32, b: u32, differing: u32) -> Option<Ranked> {
        let [x, y] = [a, b].map(|place| self.members[place as usize]);
        let total = x.size + y.size;
        let most = most_differing(self.threshold, total);
        if differing > most || !self.are_candidates(a, b) {
            return None;
        }
        let exact = self.differences.between(a, b);
        let differing = exact.unwrap_or(differing);
        if differing > most || self.is_excluded(a, b, differing == 0 && x.size == y.size) {
            return None;
        }
        Some(Ranked { doc: y.doc, bound: bound(total, differing), is_exact: exact.is_some() })
    }

    /// Returns `true` if two texts certainly do not match. The index that found a candidate may not be able to exclude it, but another
    /// one is. `may_be_equal` says whether the texts may have equal shingles.
    fn is_excluded(&self, a: u32, b: u32, may_be_equal: bool) -> bool {
        let excludes = |index: &RareIndex| index.excludes(a, b);
        let facts_decide = self.next_equal.is_empty() || !may_be_equal;
        let indexes = if facts_decide { self.indexes.len() } else { self.indexes.len().min(1) };
        let are_templates = || {
            let [a, b] = [a, b].map(|place| self.profiles.get(place as usize));
            a.zip(b).is_some_and(|(a, b)| a.are_templates(b, self.threshold))
        };
        facts_decide && are_templates() || self.indexes[..indexes].iter().any(excludes)
    }

    /// Compares the parities of a document with those of its whole crowd.
    fn near_in_crowd(&self, place: u32, among: impl Fn(u32) -> bool, mut visit: impl FnMut(Ranked)) {
        let Member { size, crowd, .. } = self.members[place as usize];
        let scan = &self.scans[crowd as usize];
        let range = self.with_similar_size(size, scan.positions());
        let Some(&last) = scan.positions()[range.clone()].last() else { return };
        let largest = size + self.members[last as usize].size;
        let mut found: Vec<NearParity> = Vec::new();
        self.count_screened(range.len());
        // Because of rounding up, a smaller total may allow one more bit than the largest.
        let most = most_differing(self.threshold, largest) + 2;
        self.parities.near(place, scan, range, most, &mut found);
        for NearParity { at, differing } in found {
            if let Some(found) = among(at).then(|| self.bound_of(place, at, differing)).flatten() {
                visit(found);
            }
        }
    }

    /// Returns the index that finds the candidates of a document at the lowest cost, if it costs less than to scan its crowd.
    fn best_index(&self, place: u32) -> Option<&RareIndex> {
        let documents = self.crowds[self.members[place as usize].crowd as usize].len();
        // Facts exclude pairs that a scan does not.
        let weights = std::iter::once(VISIT).chain(std::iter::repeat(1));
        let cost = |(index, weight): (&RareIndex, usize)| {
            index.cost(place).map(|cost| cost * weight).filter(|&cost| cost < documents)
        };
        let indexes = self.indexes.iter().zip(weights);
        let costs = indexes.filter_map(|(index, weight)| Some((cost((index, weight))?, index)));
        costs.min_by_key(|(cost, _)| *cost).map(|(_, index)| index)
    }

    /// Returns the range of places of a crowd whose numbers of shingles allow a match.
    fn with_similar_size(&self, size: u32, places: &[u32]) -> Range<usize> {
        let size_at = |place: u32| f64::from(self.members[place as usize].size);
        let least = (self.threshold * f64::from(size) - ROUNDING).ceil();
        let most = (f64::from(size) / self.threshold + ROUNDING).floor();
        let from = places.partition_point(|&place| size_at(place) < least);
        let to = places.partition_point(|&place| size_at(place) <= most);
        from..to
    }
}

/// The places of a crowd in runs of equal size, those whose size is nearest to that of a document first: by the similarity that
/// equal shingles would give.
struct Runs<'a> {
    members: &'a [Member],
    crowd: Range<u32>,
    size: u32,
    /// Places between those of smaller and larger runs that were not returned.
    between: Range<u32>,
}

impl<'a> Runs<'a> {
    fn around(crowds: &'a Crowds, place: u32) -> Runs<'a> {
        let Member { size, crowd, .. } = crowds.members[place as usize];
        let crowd = crowds.crowds[crowd as usize].clone();
        let mut runs = Runs { members: &crowds.members, size, between: 0..0, crowd };
        let start = runs.crowd.start + runs.of(runs.crowd.clone()).partition_point(|m| m.size < size) as u32;
        runs.between = start..start;
        runs
    }

    fn of(&self, range: Range<u32>) -> &'a [Member] {
        &self.members[range.start as usize..range.end as usize]
    }
}

impl Iterator for Runs<'_> {
    type Item = Range<u32>;

    fn next(&mut self) -> Option<Range<u32>> {
        let Range { start, end } = self.between.clone();
        let (below, above) = (self.of(self.crowd.start..start), self.of(end..self.crowd.end));
        let smaller = below.last().map(|member| f64::from(member.size) / f64::from(self.size));
        let larger = above.first().map(|member| f64::from(self.size) / f64::from(member.size));
        if smaller.is_none() && larger.is_none() {
            return None;
        }
        if larger >= smaller {
            let length = above.partition_point(|member| member.size == above[0].size);
            self.between.end += length as u32;
            return Some(end..self.between.end);
        }
        let size = below[below.len() - 1].size;
        self.between.start = self.crowd.start + below.partition_point(|member| member.size < size) as u32;
        Some(self.between.start..start)
    }
}

/// Returns the similarity of two texts with a total of `total` shingles, `differing` of which are in one of them only.
///
/// This equals the similarity that is computed from the numbers of common and of all shingles, bit by bit, because they are half of
/// the numbers here.
fn bound(total: u32, differing: u32) -> f64 {
    f64::from(total.saturating_sub(differing)) / f64::from(total + differing)
}

/// Margin for rounding errors of products with the threshold.
const ROUNDING: f64 = 1e-6;

/// Returns the maximum number of shingles that are in one of two matching texts only, given the sum of their numbers of shingles.
///
/// With s shared shingles of a total of n, the similarity is s / (n - s), so s is at least t n / (1 + t).
fn most_differing(threshold: f64, total: u32) -> u32 {
    let shared = (threshold * f64::from(total) / (1.0 + threshold) - ROUNDING).ceil();
    total.saturating_sub(2 * shared as u32)
}
