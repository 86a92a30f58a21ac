//! Texts in crowded buckets: which of them may match a query?
//!
//! Boilerplate, large numbers of near-identical notices and forged signatures put thousands of texts into one bucket. Their
//! features
//! cannot be read for every query, and a sample of them would miss matches. The engine therefore keeps a [`Profile`] of each
//! text in a crowded bucket, and excludes texts that certainly do not match, or that certainly are templates, without reading
//! them. The filters are exact: they pass every text that matches. As everywhere, candidates share a band. An index of [rare
//! shingles](RareShingles) finds the texts that have enough of them; the profiles of all other texts are compared one after the
//! other.
//!
//! Profiles of an [external](super::External) engine are learned from the features of a text when it is inserted, when it is judged,
//! or when the caller passes them. Until then a text is *unread*, and is found like the texts of other buckets. So are texts that
//! are too short.

use super::collection::QueryView;
use super::rare::{Lacking, RareShingles};
use crate::analyzer::TextFeatures;
use crate::features::{NearParity, ParityList, WideParities, largest_similarity, most_differing};
use crate::index::LargeBucket;
use crate::matching::FactsProfile;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// What the engine keeps of the features of a text in a crowded bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Profile {
    /// The number of shingles.
    size: u32,
    parities: [u64; 8],
    /// More parities of a text for which those would say little.
    wide: Option<WideParities>,
    facts: FactsProfile,
}

impl Profile {
    /// Computes the profile of a query, if its features are known.
    pub(super) fn of_query(query: &QueryView<'_>) -> Option<Profile> {
        query.features.and_then(Profile::of)
    }

    /// Computes the profile of a text, unless there is nothing that matches could be verified on.
    pub(super) fn of(features: &TextFeatures) -> Option<Profile> {
        let TextFeatures { shingles, facts, without_text } = features;
        (!without_text && !shingles.is_empty()).then(|| Profile {
            size: shingles.len() as u32,
            parities: ParityList::row(shingles.as_slice()),
            wide: WideParities::of(shingles.as_slice()),
            facts: FactsProfile::of(facts),
        })
    }
}

/// The groups of texts, in the order of their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    OpenOthers,
    OpenCenters,
    RareCenters,
    RareOthers,
    UnreadOthers,
    UnreadCenters,
}

const GROUPS: [Group; 6] = [
    Group::OpenOthers,
    Group::OpenCenters,
    Group::RareCenters,
    Group::RareOthers,
    Group::UnreadOthers,
    Group::UnreadCenters,
];

/// How texts are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// By comparing all profiles.
    Open,
    /// By [`RareShingles`].
    Rare,
    /// The profile is not known.
    Unread,
}

impl Group {
    fn of(is_center: bool, kind: Kind) -> Group {
        match (kind, is_center) {
            (Kind::Open, true) => Group::OpenCenters,
            (Kind::Open, false) => Group::OpenOthers,
            (Kind::Rare, true) => Group::RareCenters,
            (Kind::Rare, false) => Group::RareOthers,
            (Kind::Unread, true) => Group::UnreadCenters,
            (Kind::Unread, false) => Group::UnreadOthers,
        }
    }

    fn kind(self) -> Kind {
        match self {
            Group::OpenOthers | Group::OpenCenters => Kind::Open,
            Group::RareCenters | Group::RareOthers => Kind::Rare,
            Group::UnreadOthers | Group::UnreadCenters => Kind::Unread,
        }
    }

    fn has_centers(self) -> bool {
        matches!(self, Group::OpenCenters | Group::RareCenters | Group::UnreadCenters)
    }
}

const NOWHERE: u32 = u32::MAX;

/// The texts in crowded buckets.
#[derive(Debug)]
pub(super) struct Crowd {
    /// The minimum similarity of a match.
    threshold: f64,
    /// The place of each text, or [`NOWHERE`].
    places: Vec<u32>,
    /// The text at each place.
    texts: Vec<u32>,
    sizes: Vec<u32>,
    parities: ParityList,
    wide: Vec<Option<WideParities>>,
    facts: Vec<FactsProfile>,
    /// How many of the rare shingles of each text in the index are more than necessary.
    slack: Vec<u32>,
    /// Ends of the groups, except for the last.
    ends: [usize; 5],
    rare: RareShingles,
    /// Number of texts that were removed since they were added to `rare`.
    removed: usize,
    /// Profiles that searches computed.
    learned: Mutex<Vec<(u32, Profile)>>,
    /// The first of the unread texts that were added since [`take_first_unread`](Crowd::take_first_unread).
    first_unread: Option<u32>,
}

impl Clone for Crowd {
    fn clone(&self) -> Crowd {
        Crowd {
            threshold: self.threshold,
            places: self.places.clone(),
            texts: self.texts.clone(),
            sizes: self.sizes.clone(),
            parities: self.parities.clone(),
            wide: self.wide.clone(),
            facts: self.facts.clone(),
            slack: self.slack.clone(),
            ends: self.ends,
            rare: self.rare.clone(),
            removed: self.removed,
            learned: Mutex::default(),
            first_unread: self.first_unread,
        }
    }
}

/// Which texts of a crowd a search may find.
pub(super) struct Near<'a> {
    pub(super) query: &'a Profile,
    /// The shingles of the query, if they are known.
    pub(super) shingles: Option<&'a [u64]>,
    /// The minimum similarity.
    pub(super) threshold: f64,
    /// Whether only texts that have a center are found.
    pub(super) centers: bool,
    /// Whether texts are excluded that are templates of the query.
    pub(super) without_templates: bool,
    /// Whether [`NearText::is_template`] is filled in.
    pub(super) marks_templates: bool,
    /// The number of texts that are enough if they are the most similar ones, or `None` for all.
    pub(super) enough: Option<usize>,
}

/// Which texts are missing in a result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Missing {
    /// Whether texts were left out because of a limit.
    pub(super) is_limited: bool,
    /// The largest similarity that a text may have that was left out because there were enough others.
    pub(super) left_out: Option<f64>,
}

/// A text that may match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NearText {
    pub(super) text: u32,
    /// The largest similarity that the text may have.
    pub(super) bound: f64,
    /// Whether the text certainly is a template of the query if it matches.
    pub(super) is_template: bool,
}

/// Maximum number of profiles that one search compares.
const COMPARED: usize = 1 << 17;
/// Cost of finding a profile by its text, relative to reading profiles one after the other.
const COST_OF_ACCESS: usize = 2;
/// Number of profiles that estimate how many are similar to a query.
const SAMPLED: usize = 128;
/// Number of profiles that are read, per text that is enough.
const PER_ENOUGH: usize = 6;

/// Maximum number of texts that are visited at once to find those whose profiles are not known.
const UNREAD_VISITED: usize = 1 << 16;
/// Maximum number of profiles that searches compute between two insertions or removals. An engine that is only searched keeps no more.
const MAX_LEARNED: usize = 1 << 12;

/// Number of texts that may be removed before the index of rare shingles is built again.
const MAX_REMOVED: usize = 1_000;

impl Crowd {
    pub(super) fn new(threshold: f64) -> Crowd {
        Crowd {
            threshold,
            places: Vec::new(),
            texts: Vec::new(),
            sizes: Vec::new(),
            parities: ParityList::default(),
            wide: Vec::new(),
            facts: Vec::new(),
            slack: Vec::new(),
            ends: [0; 5],
            rare: RareShingles::default(),
            removed: 0,
            learned: Mutex::default(),
            first_unread: None,
        }
    }

    fn place(&self, text: u32) -> Option<usize> {
        self.places.get(text as usize).filter(|&&place| place != NOWHERE).map(|&place| place as usize)
    }

    fn group(&self, place: usize) -> Group {
        GROUPS[self.ends.iter().take_while(|&&end| end <= place).count()]
    }

    /// Returns the places of two neighboring groups and those between them.
    fn places(&self, first: Group, last: Group) -> Range<usize> {
        let start = if first == GROUPS[0] { 0 } else { self.ends[first as usize - 1] };
        start..self.ends.get(last as usize).copied().unwrap_or(self.texts.len())
    }

    pub(super) fn contains(&self, text: u32) -> bool {
        self.place(text).is_some()
    }

    /// Returns `true` if a text is in a crowded bucket and its profile is known.
    pub(super) fn is_read(&self, text: u32) -> bool {
        self.place(text).is_some_and(|place| place < self.read_end())
    }

    /// Returns `true` if the profiles of all texts in crowded buckets are known.
    pub(super) fn all_read(&self) -> bool {
        self.read_end() == self.texts.len()
    }

    fn read_end(&self) -> usize {
        self.ends[Group::RareOthers as usize]
    }

    /// Returns the profile of a text, if it is known.
    pub(super) fn profile(&self, text: u32) -> Option<Profile> {
        let place = self.place(text).filter(|&place| place < self.read_end())?;
        Some(Profile {
            size: self.sizes[place],
            parities: *self.parities.get(place),
            wide: self.wide[place].clone(),
            facts: self.facts[place],
        })
    }

    /// Adds a text whose profile is not known, unless the crowd contains it.
    pub(super) fn add_unread(&mut self, text: u32, is_center: bool) {
        if !self.contains(text) {
            let place = self.push(text);
            self.move_to(place, Group::of(is_center, Kind::Unread));
            self.first_unread = self.first_unread.into_iter().chain([text]).min();
        }
    }

    /// Returns the first of the texts that were added without a profile since the last call.
    pub(super) fn take_first_unread(&mut self) -> Option<u32> {
        self.first_unread.take()
    }

    /// Adds a text with its profile, or the profile of a text that was unread.
    pub(super) fn add_profile(&mut self, text: u32, is_center: bool, profile: Profile) {
        if self.is_read(text) {
            return;
        }
        let place = self.place(text).unwrap_or_else(|| self.push(text));
        let Profile { size, parities, wide, facts } = profile;
        self.sizes[place] = size;
        self.parities.set(place, parities);
        self.wide[place] = wide;
        self.facts[place] = facts;
        self.move_to(place, Group::of(is_center, Kind::Open));
    }

    /// Adds a text with its features.
    pub(super) fn add(&mut self, text: u32, is_center: bool, features: &TextFeatures) {
        let Some(profile) = Profile::of(features) else { return self.add_unread(text, is_center) };
        if self.is_read(text) {
            return;
        }
        let lacking = Lacking {
            in_larger: self.spare(profile.size),
            in_any: (f64::from(profile.size) * (1.0 - self.threshold) + ROUNDING) as u32,
        };
        self.add_profile(text, is_center, profile);
        let shingles = features.shingles.as_slice();
        let mut poorer = Vec::new();
        let slack = self.rare.add(text, shingles, lacking, |text| poorer.push(text));
        if let Some(place) = self.place(text).filter(|_| slack > 0) {
            self.slack[place] = slack;
            self.move_to(place, Group::of(is_center, Kind::Rare));
        }
        poorer.into_iter().for_each(|text| self.lose_rare_shingle(text));
    }

    fn lose_rare_shingle(&mut self, text: u32) {
        let Some(place) = self.place(text) else { return };
        let group = self.group(place);
        if group.kind() == Kind::Rare {
            self.slack[place] -= 1;
            if self.slack[place] == 0 {
                self.move_to(place, Group::of(group.has_centers(), Kind::Open));
            }
        }
    }

    /// Returns how many shingles of a text a match may lack that has at least as many.
    fn spare(&self, size: u32) -> u32 {
        most_differing(self.threshold, 2 * size) / 2
    }

    fn push(&mut self, text: u32) -> usize {
        let place = self.texts.len();
        if self.places.len() <= text as usize {
            self.places.resize(text as usize + 1, NOWHERE);
        }
        self.places[text as usize] = place as u32;
        self.texts.push(text);
        self.sizes.push(0);
        self.parities.push([0; 8]);
        self.wide.push(None);
        self.facts.push(FactsProfile::default());
        self.slack.push(0);
        place
    }

    /// Marks a text as one that has a center, or removes the mark.
    pub(super) fn set_center(&mut self, text: u32, is_center: bool) {
        if let Some(place) = self.place(text) {
            self.move_to(place, Group::of(is_center, self.group(place).kind()));
        }
    }

    pub(super) fn remove(&mut self, text: u32) {
        let Some(place) = self.place(text) else { return };
        self.removed += usize::from(self.group(place).kind() == Kind::Rare);
        let place = self.move_to(place, Group::UnreadCenters);
        self.swap(place, self.texts.len() - 1);
        self.places[text as usize] = NOWHERE;
        self.texts.pop();
        self.sizes.pop();
        self.parities.pop();
        self.wide.pop();
        self.facts.pop();
        self.slack.pop();
        if self.removed > MAX_REMOVED.max(self.texts.len()) {
            self.forget_rare();
        }
    }

    /// Empties the index of rare shingles, which still has texts that were removed.
    fn forget_rare(&mut self) {
        self.rare = RareShingles::default();
        self.removed = 0;
        let rare = self.places(Group::RareCenters, Group::RareOthers);
        // Texts move within the list.
        let texts: Vec<u32> = self.texts[rare].to_vec();
        for text in texts {
            if let Some(place) = self.place(text) {
                self.move_to(place, Group::of(self.group(place).has_centers(), Kind::Open));
            }
        }
    }

    /// Moves a text to a group, across one end after the other. Returns its new place.
    fn move_to(&mut self, mut place: usize, group: Group) -> usize {
        let mut current = self.group(place) as usize;
        while current < group as usize {
            self.ends[current] -= 1;
            self.swap(place, self.ends[current]);
            place = self.ends[current];
            current += 1;
        }
        while current > group as usize {
            current -= 1;
            self.swap(place, self.ends[current]);
            place = self.ends[current];
            self.ends[current] += 1;
        }
        place
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.texts.swap(a, b);
        self.sizes.swap(a, b);
        self.parities.swap(a, b);
        self.wide.swap(a, b);
        self.facts.swap(a, b);
        self.slack.swap(a, b);
        for place in [a, b] {
            self.places[self.texts[place] as usize] = place as u32;
        }
    }

    /// Remembers the features of a text until [`take_learned`](Self::take_learned).
    pub(super) fn learn(&self, text: u32, features: &TextFeatures) {
        if self.contains(text) && !self.is_read(text) {
            let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
            if learned.len() < MAX_LEARNED {
                learned.extend(Profile::of(features).map(|profile| (text, profile)));
            }
        }
    }

    /// Returns at most `count` texts whose profiles are not known, from a text on in the order of their numbers, and the number of
    /// the text after them, if there is one.
    pub(super) fn unread_from(&self, from: u32, count: usize) -> (Vec<u32>, Option<u32>) {
        let mut texts = Vec::new();
        let end = self.places.len().min(from as usize + UNREAD_VISITED) as u32;
        for text in from..end {
            if texts.len() == count {
                return (texts, Some(text));
            }
            texts.extend((self.contains(text) && !self.is_read(text)).then_some(text));
        }
        (texts, (self.places.len() > end as usize).then_some(end))
    }

    /// Returns the profiles that were learned. No text may be added or removed before this is called.
    pub(super) fn take_learned(&mut self) -> Vec<(u32, Profile)> {
        std::mem::take(self.learned.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Appends the texts whose profiles are known and which may match a query. `buckets` are its crowded buckets: all texts
    /// with their rows may be found, and others, too. Returns which texts are missing.
    pub(super) fn near<'b>(
        &self,
        near: &Near<'_>,
        buckets: impl Iterator<Item = &'b LargeBucket<'b>>,
        found: &mut Vec<NearText>,
    ) -> Missing {
        let spare = self.spare(near.query.size);
        let is_usable = near.threshold >= self.threshold;
        let selective = near.shingles.filter(|shingles| is_usable && self.rare.is_selective(shingles, spare));
        let last = if selective.is_some() { Kind::Open } else { Kind::Rare };
        let read = match near.centers {
            true => self.places(Group::OpenCenters, Group::of(true, last)),
            false if last == Kind::Open => self.places(Group::OpenOthers, Group::OpenCenters),
            false => self.places(Group::OpenOthers, Group::RareOthers),
        };
        if let Some(shingles) = selective {
            self.near_by_shingles(near, shingles, found);
        }
        let mut buckets: Vec<&LargeBucket<'_>> = buckets.collect();
        let listed: usize = buckets.iter().map(|bucket| bucket.docs.len()).sum();
        // A full bucket lists only some of its texts.
        let is_complete = buckets.iter().all(|bucket| bucket.is_complete);
        let scans = !is_complete || listed * COST_OF_ACCESS >= read.len();
        if scans && read.len() <= COMPARED {
            let left_out = self.near_in(near, read, found);
            return Missing { is_limited: false, left_out };
        }
        buckets.sort_by_key(|bucket| bucket.docs.len());
        let mut left = COMPARED;
        let listed_texts = buckets.iter().flat_map(|bucket| {
            let docs = &bucket.docs[..left.min(bucket.docs.len())];
            left -= docs.len();
            docs.iter().copied()
        });
        self.near_among(near, listed_texts, |place| read.contains(&place), found);
        Missing { is_limited: listed > COMPARED || !is_complete, left_out: None }
    }

    /// Appends selective texts that have one of the shingles of a query.
    fn near_by_shingles(&self, near: &Near<'_>, shingles: &[u64], found: &mut Vec<NearText>) {
        let last = if near.centers { Group::RareCenters } else { Group::RareOthers };
        let places = self.places(Group::RareCenters, last);
        let mut texts = Vec::new();
        self.rare.each(shingles, |text| texts.push(text));
        self.near_among(near, texts.into_iter(), |place| places.contains(&place), found);
    }

    /// Appends those of some texts, which may repeat, that may match a query.
    fn near_among(
        &self,
        near: &Near<'_>,
        texts: impl Iterator<Item = u32>,
        is_wanted: impl Fn(usize) -> bool,
        found: &mut Vec<NearText>,
    ) {
        let mut seen = vec![0u64; self.texts.len() / 64 + 1];
        for place in texts.filter_map(|text| self.place(text)).filter(|&place| is_wanted(place)) {
            let bit = 1 << (place % 64);
            if seen[place / 64] & bit == 0 {
                seen[place / 64] |= bit;
                found.extend(self.near_at(near, place));
            }
        }
    }

    /// Appends the texts at some places that may match a query. Returns the largest similarity of texts that are left out.
    fn near_in(&self, near: &Near<'_>, places: Range<usize>, found: &mut Vec<NearText>) -> Option<f64> {
        if near.without_templates && near.query.facts.has_numbers() {
            self.near_by_facts(near, places, found);
            return None;
        }
        let Near { query, threshold, .. } = near;
        let largest = (f64::from(query.size) / threshold).min(f64::from(u32::MAX / 4)) as u32 + 1;
        let total = query.size + largest;
        // Because of rounding up, a smaller total may allow one more bit than the largest.
        let most = most_differing(*threshold, total) + 2;
        let range = places.start as u32..places.end as u32;
        let mut parities: Vec<NearParity> = Vec::new();
        let fewer = near.enough.and_then(|enough| self.enough_differing(query, places, enough));
        if let Some(fewer) = fewer.filter(|&fewer| fewer < most) {
            self.parities.near_row(&query.parities, range.clone(), fewer, &mut parities);
            if near.enough.is_some_and(|enough| parities.len() >= enough) {
                let near_at = |parity: NearParity| self.near_if(near, parity.at as usize, parity.differing);
                found.extend(parities.into_iter().filter_map(near_at));
                return Some(largest_similarity(total, fewer + 1));
            }
            parities.clear();
        }
        self.parities.near_row(&query.parities, range, most, &mut parities);
        let near_at = |parity: NearParity| self.near_if(near, parity.at as usize, parity.differing);
        found.extend(parities.into_iter().filter_map(near_at));
        None
    }

    /// Appends the texts at some places that may match a query, most of which are probably templates.
    fn near_by_facts(&self, near: &Near<'_>, places: Range<usize>, found: &mut Vec<NearText>) {
        let facts = &near.query.facts;
        // Among near-identical texts, most have equally many numbers.
        let least = facts.least_differing(near.threshold);
        for (place, other) in places.clone().zip(&self.facts[places]) {
            let is_template = facts.is_flooded_by(other, least) || facts.are_templates(other, near.threshold);
            if !is_template || self.parities.get(place) == &near.query.parities {
                found.extend(self.near_at(near, place));
            }
        }
    }

    /// Returns a number of differing parities within which a few times as many texts are as are enough, estimated from a sample.
    fn enough_differing(&self, query: &Profile, places: Range<usize>, enough: usize) -> Option<u32> {
        let step = places.len() / SAMPLED;
        if step * SAMPLED <= enough * PER_ENOUGH {
            return None;
        }
        let differing = |place: usize| {
            let rows = self.parities.get(place).iter().zip(query.parities);
            rows.map(|(a, b)| (a ^ b).count_ones()).sum::<u32>()
        };
        let mut sample: Vec<u32> = places.step_by(step).map(differing).collect();
        sample.sort_unstable();
        let count = (enough * PER_ENOUGH).div_ceil(step).min(sample.len() - 1);
        // Of many equal texts, either all or none are within the limit.
        sample[count].checked_sub(1).map(|limit| limit.max(sample[0]))
    }

    /// Returns a text unless it certainly does not match, or `None` if its profile is not known.
    pub(super) fn near_text(&self, near: &Near<'_>, text: u32) -> Option<Option<NearText>> {
        let place = self.place(text).filter(|&place| place < self.read_end())?;
        Some(self.near_at(near, place))
    }

    fn near_at(&self, near: &Near<'_>, place: usize) -> Option<NearText> {
        let rows = self.parities.get(place).iter().zip(near.query.parities);
        self.near_if(near, place, rows.map(|(a, b)| (a ^ b).count_ones()).sum())
    }

    /// Returns a text unless it certainly does not match.
    fn near_if(&self, near: &Near<'_>, place: usize, differing: u32) -> Option<NearText> {
        let total = near.query.size + self.sizes[place];
        let most = most_differing(near.threshold, total);
        if differing > most
            || largest_similarity_of_sizes(near.query.size, self.sizes[place]) < near.threshold - ROUNDING
        {
            return None;
        }
        let wide = near.query.wide.as_ref().zip(self.wide[place].as_ref());
        let differing = wide.map_or(differing, |(a, b)| differing.max(a.differing(b)));
        if differing > most {
            return None;
        }
        // Texts with equal parities may be equal, and equal texts are not templates.
        let is_template = differing > 0
            && (near.without_templates || near.marks_templates)
            && near.query.facts.are_templates(&self.facts[place], near.threshold);
        (!is_template || !near.without_templates).then(|| NearText {
            text: self.texts[place],
            bound: largest_similarity(total, differing),
            is_template,
        })
    }
}

const ROUNDING: f64 = 1e-9;

/// Returns the similarity of two texts one of which contains the other.
fn largest_similarity_of_sizes(a: u32, b: u32) -> f64 {
    f64::from(a.min(b)) / f64::from(a.max(b)).max(1.0)
}
