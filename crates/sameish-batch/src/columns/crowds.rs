//! Candidates among the documents of crowds, which arrive in cells.
//!
//! A *crowd* is a set of documents that are connected by large buckets. The caller divides it into blocks, and sends the documents
//! of each pair of blocks to one *cell*, so that no task has more than two blocks and every pair of documents meets in some cell.
//! In a cell, all pairs that share a key are screened as in a bucket. If only matches that join two documents are needed, profiles
//! reject all other pairs, with the filters of crowds on one machine: parities bound the similarity, texts that match share one of
//! the
//! rarest shingles of the smaller one, and texts that agree share one of the rarest words and one of the rarest numbers of either of
//! them ([`FactItems`]). The filters pass every pair that joins, whatever else is in the cell.

use super::buckets::{Member, Sides};
use super::rows::NearRule;
use crate::compare::{ComparedWith, LoadedText, WithFacts, facts_decide};
use crate::texts::DocumentText;
use sameish::features::{FeatureSet, ParityList};
use sameish::matching::{FactItem, FactItems, is_template};
use sameish::{Analyzer, Content};
use std::collections::HashMap;

/// Computes what rejects pairs of a crowd without their texts.
#[derive(Clone, Debug)]
pub struct Profiler {
    analyzer: Analyzer,
    facts: WithFacts,
}

impl Profiler {
    /// Prepares for a configuration; `None` if it has matches that profiles would reject.
    pub fn new(analyzer: &Analyzer) -> Option<Profiler> {
        let matching = &analyzer.config().matching;
        let separates = is_template(matching.threshold, 0.0) && facts_decide(analyzer) == WithFacts::Yes;
        let facts = if separates { WithFacts::Yes } else { WithFacts::No };
        (matching.verify && !matching.unverified).then(|| Profiler { analyzer: analyzer.clone(), facts })
    }

    /// Returns the profile of a text: 4 bytes per shingle, and 9 bytes per distinct word and number if facts decide.
    pub fn profile(&self, text: &str) -> Vec<u8> {
        let text = DocumentText::Owned(Content::Text(text.to_owned()));
        let loaded = LoadedText::new(&self.analyzer, text, self.facts, ComparedWith::Texts);
        let hashes = loaded.features().map_or(&[][..], FeatureSet::as_slice);
        let mut bytes = (hashes.len() as u32).to_le_bytes().to_vec();
        ParityList::row(hashes).iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        hashes.iter().for_each(|hash| bytes.extend(((hash >> 32) as u32).to_le_bytes()));
        if self.facts == WithFacts::Yes {
            FactItems::of(loaded.facts()).write(&mut bytes);
        }
        bytes
    }
}

/// A document of a cell.
#[derive(Clone, Debug)]
pub struct CellMember {
    /// The document.
    pub member: Member,
    /// Number of its block.
    pub block: i32,
    /// The keys of its large buckets.
    pub keys: Vec<i64>,
    /// Its profile, if pairs that do not join are rejected.
    pub profile: Option<Vec<u8>>,
    /// Its group, if it has one: two documents of one group need not be compared.
    pub group: Option<i64>,
}

/// Finds candidates in cells. The documents of one cell are in memory at a time.
///
/// ```
/// use sameish::{Analyzer, Preset};
/// use sameish_batch::columns::{CellMember, CellPairs, Member, Sides};
///
/// let mut cells = CellPairs::new(&Analyzer::new(Preset::Copies.config())?, Sides::All);
/// let mut pairs = Vec::new();
/// for (doc, key) in [(0, 7), (1, 7), (2, 8)] {
///     let member = Member { doc, reference: false, outline: None, fingerprint: None };
///     cells.push(1, CellMember { member, block: 0, keys: vec![key], profile: None, group: None }, &mut pairs);
/// }
/// cells.finish(&mut pairs);
/// assert_eq!(pairs, [(0, 1)]);
/// # Ok::<(), sameish_batch::Error>(())
/// ```
pub struct CellPairs {
    rule: NearRule,
    threshold: f64,
    /// Whether texts with equal shingles join whatever their facts are.
    joins_equal: bool,
    sides: Sides,
    cell: Option<i64>,
    members: Vec<CellMember>,
}

impl CellPairs {
    /// Creates a finder for a configuration.
    pub fn new(analyzer: &Analyzer, sides: Sides) -> CellPairs {
        let threshold = analyzer.config().matching.threshold;
        let joins_equal = analyzer.judge().joins_equal_shingles();
        let rule = NearRule::new(analyzer);
        CellPairs { rule, threshold, joins_equal, sides, cell: None, members: Vec::new() }
    }

    /// Adds a document. Appends the candidates of the cell before it, if it is the first of its cell.
    pub fn push(&mut self, cell: i64, mut member: CellMember, pairs: &mut Vec<(i64, i64)>) {
        if self.cell != Some(cell) {
            self.finish(pairs);
            self.cell = Some(cell);
        }
        member.keys.sort_unstable();
        self.members.push(member);
    }

    /// Appends the candidates of the last cell.
    pub fn finish(&mut self, pairs: &mut Vec<(i64, i64)>) {
        let mut members = std::mem::take(&mut self.members);
        members.sort_by_key(|one| (!one.member.reference, one.member.doc));
        let first_block = members.first().map(|one| one.block);
        // A cell of two blocks has the pairs of one with the other; those within a block have a cell of their own.
        let is_mixed = members.iter().any(|one| Some(one.block) != first_block);
        let profiles = Profiles::of(&members, self.threshold, self.joins_equal);
        for (at, later) in members.iter().enumerate() {
            for (before, earlier) in members[..at].iter().enumerate() {
                let is_here = !is_mixed || earlier.block != later.block;
                if is_here && self.may_match(earlier, later) && profiles.pass(before, at) {
                    pairs.push((earlier.member.doc, later.member.doc));
                }
            }
        }
    }

    fn may_match(&self, a: &CellMember, b: &CellMember) -> bool {
        let across = self.sides == Sides::Across;
        let is_pair = a.member.doc != b.member.doc && (!across || a.member.reference != b.member.reference);
        let is_known = a.group.is_some() && a.group == b.group;
        is_pair
            && !is_known
            && shared(&a.keys, &b.keys).any(|key| self.rule.passes(key, &a.member, &b.member))
    }
}

/// Returns the numbers that are in both of two sorted lists.
fn shared<'a>(a: &'a [i64], b: &'a [i64]) -> impl Iterator<Item = i64> {
    let mut rest = b;
    a.iter().copied().filter(move |key| {
        rest = &rest[rest.partition_point(|other| other < key)..];
        rest.first() == Some(key)
    })
}

/// Profiles of the documents of a cell; `None` for a document without one.
struct Profiles {
    threshold: f64,
    joins_equal: bool,
    profiles: Vec<Option<Profile>>,
}

struct Profile {
    size: u32,
    parity: [u64; 8],
    /// Shingles, words, numbers.
    rare: [RareItems; 3],
}

/// A profile as it is sent.
struct Decoded {
    parity: [u64; 8],
    shingles: Vec<u32>,
    facts: Option<FactItems>,
}

/// The rare items of one kind of a document.
#[derive(Default)]
struct RareItems {
    /// Whether a text that joins has one of the required items.
    selective: bool,
    /// Keys in ascending order.
    items: Vec<u32>,
    /// Those of `items` of which a text that joins has at least one.
    required: Vec<u32>,
}

/// How many documents of a cell have an item.
#[derive(Clone, Copy, Default)]
struct Counted {
    documents: u32,
    capital: bool,
}

type Counts = HashMap<u32, Counted>;

impl Profiles {
    fn of(members: &[CellMember], threshold: f64, joins_equal: bool) -> Profiles {
        let decode = |one: &CellMember| decoded(one.profile.as_deref()?);
        let decoded: Vec<Option<Decoded>> = members.iter().map(decode).collect();
        let mut counts: [Counts; 3] = Default::default();
        for Decoded { shingles, facts, .. } in decoded.iter().flatten() {
            let [of_shingles, of_words, of_numbers] = &mut counts;
            shingles.iter().for_each(|&key| count(of_shingles, key, false));
            if let Some(FactItems { words, numbers, .. }) = facts {
                words.iter().for_each(|item| count(of_words, item.key, item.capital));
                numbers.iter().for_each(|item| count(of_numbers, item.key, false));
            }
        }
        let finder = RareFinder { threshold, counts, most: (members.len() as u32 / 8).max(1) };
        let profile = |one: Decoded| Profile {
            size: one.shingles.len() as u32,
            parity: one.parity,
            rare: finder.rare_items(&one),
        };
        let profiles = decoded.into_iter().map(|one| one.map(profile)).collect();
        Profiles { threshold, joins_equal, profiles }
    }

    /// Returns `false` if two documents certainly do not join.
    fn pass(&self, a: usize, b: usize) -> bool {
        let Some((a, b)) = self.profiles[a].as_ref().zip(self.profiles[b].as_ref()) else { return true };
        let differing: u32 = a.parity.iter().zip(b.parity).map(|(a, b)| (a ^ b).count_ones()).sum();
        let total = a.size + b.size;
        // With s shared shingles of a total of n, the similarity is s / (n - s), so s is at least t n / (1 + t).
        let least = (self.threshold * f64::from(total) / (1.0 + self.threshold) - ROUNDING).ceil();
        // Texts with equal shingles may join whatever their facts are.
        let may_be_equal = differing == 0 && a.size == b.size;
        let kinds = if self.joins_equal && may_be_equal { 1 } else { a.rare.len() };
        let mut rare = a.rare.iter().zip(&b.rare).take(kinds);
        differing <= total.saturating_sub(2 * least as u32) && rare.all(|(a, b)| a.may_join(b))
    }
}

/// Margin for rounding errors of products with the threshold.
const ROUNDING: f64 = 1e-6;

fn count(counts: &mut Counts, key: u32, capital: bool) {
    let counted = counts.entry(key).or_default();
    counted.documents += 1;
    counted.capital |= capital;
}

fn decoded(bytes: &[u8]) -> Option<Decoded> {
    let (size, rest) = bytes.split_first_chunk::<4>()?;
    let (words, rest) = rest.split_first_chunk::<64>()?;
    let (words, _) = words.as_chunks::<8>();
    let parity = std::array::from_fn(|at| u64::from_le_bytes(words[at]));
    let (shingles, rest) = rest.split_at_checked(4 * u32::from_le_bytes(*size) as usize)?;
    let (shingles, _) = shingles.as_chunks::<4>();
    let facts = if rest.is_empty() { None } else { Some(FactItems::read(rest)?) };
    Some(Decoded { parity, shingles: shingles.iter().map(|key| u32::from_le_bytes(*key)).collect(), facts })
}

/// Finds the rare items of documents of a cell.
struct RareFinder {
    threshold: f64,
    counts: [Counts; 3],
    /// Maximum number of documents with a rare item.
    most: u32,
}

impl RareFinder {
    fn rare_items(&self, one: &Decoded) -> [RareItems; 3] {
        let [of_shingles, of_words, of_numbers] = &self.counts;
        let total = one.shingles.len() as f64;
        let shared = |share: f64| (share * total - ROUNDING).ceil();
        // A text that is not smaller and matches shares at least 2 t / (1 + t) of the shingles. A smaller one shares at least the
        // fraction t of them, so only the rarest of the remaining shingles matter to it.
        let spare = total - shared(2.0 * self.threshold / (1.0 + self.threshold));
        let first = (total - shared(self.threshold)) as usize + 1;
        let shingles = self.rarest(of_shingles, one.shingles.iter().map(|&key| (key, 1.0)), spare, first);
        let Some(facts) = &one.facts else { return [shingles, RareItems::default(), RareItems::default()] };
        let is_capital =
            |at: usize| of_words.get(&facts.words[at].key).is_some_and(|counted| counted.capital);
        let spare = facts.spare(is_capital);
        let weighted = |item: &FactItem| (item.key, item.weight_alone() as f64);
        let words = self.rarest(of_words, facts.words.iter().map(weighted), spare.words, usize::MAX);
        let numbers = self.rarest(of_numbers, facts.numbers.iter().map(weighted), spare.numbers, usize::MAX);
        [shingles, words, numbers]
    }

    /// Returns the first `limit` rare items. The rarest that weigh more than `spare` together are required.
    fn rarest(
        &self,
        counts: &Counts,
        items: impl Iterator<Item = (u32, f64)>,
        spare: f64,
        limit: usize,
    ) -> RareItems {
        let documents = |key: u32| counts.get(&key).map_or(0, |counted| counted.documents);
        let counted = items.map(|(key, weight)| (documents(key), key, weight));
        let mut rarest: Vec<(u32, u32, f64)> = counted.filter(|(count, ..)| *count <= self.most).collect();
        rarest.sort_unstable_by_key(|&(count, key, _)| (count, key));
        let selective = rarest.iter().map(|(.., weight)| weight).sum::<f64>() > spare;
        let mut before = 0.0;
        let mut required = 0;
        while required < rarest.len() && before <= spare {
            before += rarest[required].2;
            required += 1;
        }
        let keys = |items: &[(u32, u32, f64)]| {
            let mut keys: Vec<u32> = items.iter().map(|&(_, key, _)| key).collect();
            keys.sort_unstable();
            keys
        };
        RareItems {
            selective,
            items: keys(&rarest[..rarest.len().min(limit)]),
            required: keys(&rarest[..required]),
        }
    }
}

impl RareItems {
    fn may_join(&self, other: &RareItems) -> bool {
        let both = self.selective && other.selective;
        !both || intersect(&self.required, &other.items) || intersect(&other.required, &self.items)
    }
}

fn intersect(a: &[u32], b: &[u32]) -> bool {
    a.iter().any(|key| b.binary_search(key).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{BinText, BinVerifier, CopyKeys, RowSigner};
    use sameish::{Preset, Scratch};

    /// Notices of one wording; every fourth one repeats the one before with an edited word.
    fn notices(count: usize) -> Vec<String> {
        let body = "the council has received an application for the use of the square in front of the old market hall and will \
                    decide about it in the next session after the committee has heard the neighbors and all the shop keepers";
        let name =
            |number: usize| format!("Xa{}", (b'a' + (number % 23) as u8) as char).repeat(1 + number % 5);
        let notice = |number: usize| {
            let of = number - usize::from(number % 4 == 3);
            let end = if of == number { "today" } else { "soon" };
            format!("Notice {} of {} by {}: {body} {end}", 1000 + of * 7, name(of), name(of * 31 + 7))
        };
        (0..count).map(notice).collect()
    }

    #[test]
    fn finds_every_pair_that_joins_and_few_others() {
        let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
        let (signer, profiler) =
            (RowSigner::new(&analyzer, CopyKeys::Verbatim).unwrap(), Profiler::new(&analyzer).unwrap());
        let texts = notices(240);
        let mut scratch = Scratch::default();
        let rows: Vec<_> = texts.iter().map(|text| signer.sign(text, &mut scratch)).collect();
        let mut verifier = BinVerifier::new(&analyzer);
        let mut joined = Vec::new();
        let text =
            |doc: usize| BinText { doc: doc as i64, text: &texts[doc], too_short: false, fingerprint: None };
        (0..texts.len()).for_each(|doc| verifier.add(0, text(doc)));
        for b in 0..texts.len() {
            for a in (0..b).filter(|&a| rows[a].keys.iter().any(|key| rows[b].keys.contains(key))) {
                let verdict = verifier.verify(0, a as i64, b as i64).unwrap();
                if verdict.is_some_and(|verdict| verifier.joins(&verdict)) {
                    joined.push((a as i64, b as i64));
                }
            }
        }
        assert!(joined.len() >= 50, "{}", joined.len());
        // In one cell, or in the cells of three blocks.
        for blocks in [1, 3] {
            let mut cells = CellPairs::new(&analyzer, Sides::All);
            let mut found = Vec::new();
            for (first, second) in (0..blocks).flat_map(|a| (a..blocks).map(move |b| (a, b))) {
                for (doc, row) in rows.iter().enumerate() {
                    let block = doc as i32 % blocks;
                    if block == first || block == second {
                        let (doc, reference) = (doc as i64, false);
                        let member =
                            Member { doc, reference, outline: row.outline, fingerprint: row.fingerprint };
                        let profile = Some(profiler.profile(&texts[doc as usize]));
                        let keys = row.keys.clone();
                        let cell = i64::from(first * blocks + second);
                        cells.push(
                            cell,
                            CellMember { member, block, keys, profile, group: None },
                            &mut found,
                        );
                    }
                }
            }
            cells.finish(&mut found);
            found.sort_unstable();
            assert!(found.windows(2).all(|pair| pair[0] != pair[1]), "a pair occurs twice");
            assert!(joined.iter().all(|pair| found.binary_search(pair).is_ok()));
            assert!(found.len() < 10 * joined.len(), "{} candidates, {} matches", found.len(), joined.len());
        }
    }
}
