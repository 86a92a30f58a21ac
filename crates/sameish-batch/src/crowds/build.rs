//! Building crowds: a sample of each crowd estimates which items are rare, then every document is read once.

use super::counts::{Counts, Item, Kind};
use super::differences::{Differences, Extent};
use super::rare::{RareBuilder, RareItem};
use super::{Crowds, Member, NOWHERE, Print, ROUNDING};
use crate::band_keys::Crowded;
use crate::compare::{LoadedText, WithFacts};
use crate::error::{Error, Result};
use crate::signed::IndexedCorpus;
use sameish::features::{FeatureSet, ParityList, TextKey};
use sameish::matching::{CommonFacts, FactItem, FactItems, FactsProfile, is_template};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Documents that are read at once.
const PIECE: usize = 256;
/// A document in this many of a crowd is in the sample, within these limits.
const SAMPLED: usize = 8;
const SMALLEST_SAMPLE: usize = 128;
const LARGEST_SAMPLE: usize = 4_096;
/// About the maximum number of documents with a rare item, in crowds of up to 2,000.
const RARE: usize = 64;
/// Texts of the sample that decide whether facts are indexed.
const KEPT: usize = 64;
/// Shingles of texts of the sample, or a few more, among which the common ones of a crowd are sought.
const SEEN: usize = 16_384;
/// Bytes per document of a crowd, besides its band keys, differences and rare items: position, parities twice (the second
/// copy in another order while the crowds are built), heads, profile, and lists of places.
const BYTES_PER_MEMBER: usize = 12 + 2 * 64 + 36 + 2 * 16 + 16 + 24;
/// Bytes per rare item: an entry while the crowds are built, and two in the index.
const BYTES_PER_ITEM: usize = 16;
/// Items per document of the sample for which counts are kept.
const ITEMS: usize = 128;

/// Uses of the facts of crowds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CrowdFacts {
    /// Whether pairs whose facts certainly do not agree are left out.
    pub(crate) filter: WithFacts,
    /// Whether the facts of pairs are compared.
    pub(crate) compared: WithFacts,
}

impl CrowdFacts {
    /// Pairs are left out only, because few are compared.
    pub(crate) fn filter(filter: WithFacts) -> CrowdFacts {
        CrowdFacts { filter, compared: WithFacts::No }
    }
}

/// The documents of a crowd before it is built.
struct Crowd<'a> {
    number: u32,
    docs: &'a [u32],
    /// Maximum count of a rare item in the sample.
    rare: u16,
    /// Whether rare facts are indexed.
    facts: WithFacts,
    /// The shingles that most texts of the sample have, in ascending order.
    common: Vec<u64>,
    common_facts: Arc<CommonFacts>,
}

impl<'a> Crowd<'a> {
    fn new(number: u32, docs: &'a [u32]) -> Crowd<'a> {
        let sampled = sample_size(docs.len());
        let rare = (RARE * sampled / docs.len()).max(sampled / 32).min(sampled / 8).max(1);
        Crowd {
            number,
            docs,
            rare: rare as u16,
            facts: WithFacts::No,
            common: Vec::new(),
            common_facts: Arc::default(),
        }
    }

    /// Returns documents that do not depend on the order of the input: those with the smallest keys.
    fn sample(&self, keys: &[TextKey]) -> Vec<u32> {
        let mut docs = self.docs.to_vec();
        let size = sample_size(docs.len());
        if size < docs.len() {
            docs.select_nth_unstable_by_key(size, |&doc| (keys[doc as usize], doc));
            docs.truncate(size);
        }
        // The first texts of the sample represent it in some places.
        docs.sort_unstable_by_key(|&doc| (keys[doc as usize], doc));
        docs
    }

    fn item(&self, kind: Kind, key: u32) -> Item {
        Item { crowd: self.number, kind, key }
    }
}

fn sample_size(documents: usize) -> usize {
    (documents / SAMPLED).clamp(SMALLEST_SAMPLE, LARGEST_SAMPLE).min(documents)
}

/// What is kept of a document of a crowd.
struct Profile {
    size: u32,
    parity: [u64; 8],
    differences: Option<Vec<u64>>,
    facts: FactsProfile,
    /// Rare items and whether the document is selective, by kind.
    items: Vec<(Vec<RareItem>, bool)>,
}

/// An item that may be rare, before it is decided whether it is required.
struct Counted {
    count: u16,
    hash: u32,
    weight: f64,
}

/// Reads the documents of crowds.
struct Reader<'a> {
    corpus: &'a IndexedCorpus<'a>,
    /// Whether facts exclude pairs.
    facts: WithFacts,
    /// Whether the facts of pairs are compared.
    compared: WithFacts,
    threshold: f64,
    counts: Counts,
    extent: Extent,
}

impl Crowds {
    /// Builds crowds from the documents of crowded buckets. Fails if they do not fit into the memory limit.
    pub(crate) fn new(corpus: &IndexedCorpus<'_>, crowded: &Crowded, facts: CrowdFacts) -> Result<Crowds> {
        let groups = &crowded.groups;
        if groups.is_empty() {
            return Ok(Crowds::default());
        }
        let crowds = (0..).zip(groups).map(|(number, docs)| Crowd::new(number, docs));
        let mut crowds: Vec<Crowd<'_>> = crowds.collect();
        let mut reader = Reader::new(corpus, facts, &crowds);
        crowds.iter_mut().try_for_each(|crowd| reader.count(crowd))?;
        let mut found = Crowds { threshold: reader.threshold, bands: crowded.bands, ..Crowds::default() };
        let mut members: Vec<Member> = Vec::new();
        let mut builders: Vec<RareBuilder> = reader.kinds().iter().map(|_| RareBuilder::default()).collect();
        let documents = groups.iter().map(Vec::len).sum();
        for crowd in &crowds {
            for docs in crowd.docs.chunks(PIECE) {
                let profile = |at: usize| reader.profile(docs[at], crowd);
                let profiles = corpus.workers.map(docs.len(), 1, profile)?;
                for (&doc, profile) in docs.iter().zip(profiles) {
                    let profile = profile?;
                    members.push(Member { doc, size: profile.size, crowd: crowd.number });
                    found.parities.push(profile.parity);
                    found.differences.push(profile.differences.as_deref());
                    if reader.facts == WithFacts::Yes {
                        found.profiles.push(profile.facts);
                    }
                    let kinds = builders.iter_mut().zip(&profile.items);
                    kinds.for_each(|(builder, (items, selective))| builder.push(items, *selective));
                }
                found.check_memory(corpus, documents, members.len(), &builders)?;
            }
            found.differences.drop_single(members.len() - crowd.docs.len());
        }
        let joins_equal = reader.facts == WithFacts::Yes && corpus.analyzer.judge().joins_equal_shingles();
        found.arrange(corpus.signed.len(), members, builders);
        if joins_equal {
            found.next_equal = found.with_equal_parities();
        }
        if facts.compared == WithFacts::Yes {
            found.common_facts = crowds.into_iter().map(|crowd| crowd.common_facts).collect();
        }
        found.keys = found.sorted_keys(crowded);
        if let Some(simhash) = &corpus.analyzer.config().simhash {
            let print = |member: &Member| Print {
                bits: corpus.signed.fingerprints[member.doc as usize],
                signed: corpus.signed.has_signature(member.doc),
            };
            found.radius = simhash.radius;
            found.prints = found.members.iter().map(print).collect();
        }
        Ok(found)
    }

    /// Fails if the crowds will exceed the memory limit, or the numbers of an index, after a part of the documents.
    fn check_memory(
        &self,
        corpus: &IndexedCorpus<'_>,
        documents: usize,
        read: usize,
        builders: &[RareBuilder],
    ) -> Result<()> {
        let items: usize = builders.iter().map(RareBuilder::len).sum();
        let variable = self.differences.bytes() + BYTES_PER_ITEM * items;
        let fixed = BYTES_PER_MEMBER + 4 * self.bands;
        let bytes = corpus.signed.memory_bytes() + documents * fixed + variable;
        let is_too_large = builders.iter().any(|builder| builder.len() > (u32::MAX >> 1) as usize);
        if bytes > corpus.memory.documents() || is_too_large {
            return Err(Error::CrowdsMemoryLimit { documents, bytes: fixed + variable / read });
        }
        Ok(())
    }

    /// Returns for each place the next one of its crowd with equal sizes and parities, cyclic.
    fn with_equal_parities(&self) -> Vec<u32> {
        let mut next: Vec<u32> = (0..self.members.len() as u32).collect();
        let mut last: HashMap<(u32, u32, &[u64; 8]), usize> = HashMap::new();
        for (place, member) in self.members.iter().enumerate() {
            if let Some(before) = last.insert((member.crowd, member.size, self.parities.get(place)), place) {
                next.swap(before, place);
            }
        }
        next
    }

    /// Returns the band keys of the members.
    fn sorted_keys(&self, Crowded { groups, keys, bands, .. }: &Crowded) -> Vec<u32> {
        let mut sorted = vec![0; keys.len()];
        for (doc, row) in groups.iter().flatten().zip(keys.chunks_exact(*bands)) {
            let place = self.places[*doc as usize] as usize;
            sorted[place * bands..][..*bands].copy_from_slice(row);
        }
        sorted
    }

    /// Sorts the members by crowd, size and document.
    fn arrange(&mut self, documents: usize, members: Vec<Member>, builders: Vec<RareBuilder>) {
        let mut order: Vec<u32> = (0..members.len() as u32).collect();
        let key =
            |&at: &u32| (members[at as usize].crowd, members[at as usize].size, members[at as usize].doc);
        order.sort_unstable_by_key(key);
        let mut places = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&at, place)| places[at as usize] = place);
        self.members = order.iter().map(|&at| members[at as usize]).collect();
        self.parities = self.parities.in_order(&order);
        self.differences = self.differences.in_order(&order);
        if !self.profiles.is_empty() {
            self.profiles = order.iter().map(|&at| self.profiles[at as usize]).collect();
        }
        self.crowds = ranges(&self.members);
        self.scans = self.crowds.iter().map(|crowd| self.parities.scan(crowd.clone())).collect();
        self.removed = vec![0; self.crowds.len()];
        self.is_removed = vec![false; self.members.len()];
        self.places = vec![NOWHERE; documents];
        for (member, place) in self.members.iter().zip(0..) {
            self.places[member.doc as usize] = place;
        }
        self.indexes = builders.into_iter().map(|builder| builder.finish(&places, &self.crowds)).collect();
    }
}

fn ranges(members: &[Member]) -> Vec<Range<u32>> {
    let mut start = 0;
    let crowds = members.chunk_by(|a, b| a.crowd == b.crowd);
    crowds
        .map(|crowd| {
            let range = start..start + crowd.len() as u32;
            start = range.end;
            range
        })
        .collect()
}

impl<'a> Reader<'a> {
    fn new(corpus: &'a IndexedCorpus<'a>, facts: CrowdFacts, crowds: &[Crowd<'_>]) -> Reader<'a> {
        let sampled: usize = crowds.iter().map(|crowd| sample_size(crowd.docs.len())).sum();
        let threshold = corpus.analyzer.config().matching.threshold;
        // Some texts that match are not similar enough for templates, so that they join whatever their facts are.
        let filter = if is_template(threshold, 0.0) { facts.filter } else { WithFacts::No };
        let counts = Counts::new(sampled * ITEMS);
        // Without a filter by facts, all pairs that match are compared, so that long lists save time.
        let compares_all = facts.compared == WithFacts::Yes && filter == WithFacts::No;
        let extent = if compares_all { Extent::Share } else { Extent::Few };
        Reader { corpus, facts: filter, compared: facts.compared, threshold, counts, extent }
    }

    /// Returns the kinds of items that decide.
    fn kinds(&self) -> &'static [Kind] {
        if self.facts == WithFacts::Yes { &Kind::ALL } else { &Kind::ALL[..1] }
    }

    /// Counts the items of a sample of a crowd, and decides whether facts are indexed.
    fn count(&mut self, crowd: &mut Crowd<'_>) -> Result<()> {
        let mut kept = Vec::new();
        let mut seen: Vec<u64> = Vec::new();
        let needs_facts = self.facts == WithFacts::Yes || self.compared == WithFacts::Yes;
        let with_facts = if needs_facts { WithFacts::Yes } else { WithFacts::No };
        for docs in crowd.sample(&self.corpus.signed.keys).chunks(PIECE) {
            let load = |at: usize| self.corpus.load_text(docs[at], with_facts);
            for text in self.corpus.workers.map(docs.len(), 1, load)? {
                let text = text?;
                for &hash in hashes_of(&text) {
                    self.counts.add(crowd.item(Kind::Shingle, shingle_key(hash)), false);
                }
                if seen.len() < SEEN {
                    seen.extend(hashes_of(&text));
                }
                if self.facts == WithFacts::Yes {
                    self.count_facts(&FactItems::of(text.facts()), crowd);
                }
                if needs_facts && kept.len() < KEPT {
                    kept.push(text);
                }
            }
        }
        let most = sample_size(crowd.docs.len()) / 2;
        seen.sort_unstable();
        seen.dedup();
        let count = |hash: u64| self.counts.of(crowd.item(Kind::Shingle, shingle_key(hash)));
        seen.retain(|&hash| usize::from(count(hash)) > most);
        crowd.common = seen;
        if self.compared == WithFacts::Yes {
            crowd.common_facts = Arc::new(CommonFacts::of(kept.iter().map(|text| text.facts())));
        }
        if self.facts == WithFacts::No {
            return Ok(());
        }
        let shingles = |text: &&LoadedText<'_>| self.rare_shingles(hashes_of(text), crowd).1;
        let facts = |text: &&LoadedText<'_>| {
            let kinds = self.rare_facts(&FactItems::of(text.facts()), crowd);
            kinds.iter().any(|(_, selective)| *selective)
        };
        // Facts take time, and are useless where shingles decide already, or where the facts decide nothing.
        let others: Vec<_> = kept.iter().filter(|text| !shingles(text)).collect();
        let helped = others.iter().filter(|text| facts(text)).count();
        let is_useful = others.len() * 8 > kept.len() && helped * 2 > others.len();
        crowd.facts = if is_useful { WithFacts::Yes } else { WithFacts::No };
        Ok(())
    }

    fn count_facts(&mut self, FactItems { words, numbers, .. }: &FactItems, crowd: &Crowd<'_>) {
        for (kind, items) in [(Kind::Word, words), (Kind::Number, numbers)] {
            items.iter().for_each(|item| self.counts.add(crowd.item(kind, item.key), item.capital));
        }
    }

    fn profile(&self, doc: u32, crowd: &Crowd<'_>) -> Result<Profile> {
        let text = self.corpus.load_text(doc, crowd.facts)?;
        let hashes = hashes_of(&text);
        let mut items = vec![self.rare_shingles(hashes, crowd)];
        let mut facts = FactsProfile::default();
        if crowd.facts == WithFacts::Yes {
            items.extend(self.rare_facts(&FactItems::of(text.facts()), crowd));
            facts = FactsProfile::of(text.facts());
        }
        items.resize_with(self.kinds().len(), Default::default);
        let differences = Differences::of(hashes, &crowd.common, self.extent);
        Ok(Profile { size: hashes.len() as u32, parity: ParityList::row(hashes), differences, facts, items })
    }

    /// Returns the rare shingles.
    ///
    /// A text that is not smaller and matches shares at least 2 t / (1 + t) of the shingles. A smaller one shares at least the
    /// fraction t of the shingles, so only the rarest of the remaining shingles matter to it.
    fn rare_shingles(&self, hashes: &[u64], crowd: &Crowd<'_>) -> (Vec<RareItem>, bool) {
        let total = hashes.len() as f64;
        let shared = |share: f64| (share * total - ROUNDING).ceil();
        let spare = total - shared(2.0 * self.threshold / (1.0 + self.threshold));
        let counted = |&hash: &u64| self.counted(crowd.item(Kind::Shingle, shingle_key(hash)), 1.0);
        let (mut items, selective) = required(hashes.iter().map(counted), spare, crowd.rare);
        items.truncate((total - shared(self.threshold)) as usize + 1);
        (items, selective)
    }

    /// Returns the rare words and the rare numbers.
    fn rare_facts(&self, facts: &FactItems, crowd: &Crowd<'_>) -> [(Vec<RareItem>, bool); 2] {
        let look_up = |kind: Kind, item: &FactItem| {
            let place = crowd.item(kind, item.key);
            let counted = self.counted(place, item.weight_alone() as f64);
            let may_be_capital = counted.count <= crowd.rare || self.counts.is_capital(place);
            (counted, may_be_capital)
        };
        let (words, may_be_capital): (Vec<Counted>, Vec<bool>) =
            facts.words.iter().map(|word| look_up(Kind::Word, word)).unzip();
        // A word that is common in the sample, and capitalized nowhere but here, makes the other texts lighter than they expect.
        let is_unexpected = |(word, may_be): (&FactItem, &bool)| word.capital && !may_be;
        let spare = facts.spare(|at| may_be_capital[at]);
        let has_unexpected = facts.words.iter().zip(&may_be_capital).any(is_unexpected);
        let limit = |spare: f64| if has_unexpected { f64::INFINITY } else { spare };
        let numbers = facts.numbers.iter().map(|number| look_up(Kind::Number, number).0);
        [
            required(words.into_iter(), limit(spare.words), crowd.rare),
            required(numbers, limit(spare.numbers), crowd.rare),
        ]
    }

    fn counted(&self, item: Item, weight: f64) -> Counted {
        Counted { count: self.counts.of(item), hash: item.hash() as u32, weight }
    }
}

/// Returns the hashes of the shingles of a text. Corpora in which sketches replace texts have no crowds, so every text has some.
fn hashes_of<'a>(text: &'a LoadedText<'_>) -> &'a [u64] {
    text.features().map_or(&[], FeatureSet::as_slice)
}

fn shingle_key(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// Returns the rare items, the rarest first, and whether they weigh more than `spare`: then a text that lacks all of them does not
/// match, and the first ones that weigh more than `spare` are required.
fn required(items: impl Iterator<Item = Counted>, spare: f64, rare: u16) -> (Vec<RareItem>, bool) {
    let mut counted: Vec<Counted> = items.filter(|item| item.count <= rare).collect();
    counted.sort_unstable_by_key(|item| (item.count, item.hash));
    let selective = counted.iter().map(|item| item.weight).sum::<f64>() > spare;
    let mut before = 0.0;
    let item = |item: Counted| {
        let required = selective && before <= spare;
        before += item.weight;
        RareItem { hash: item.hash, required }
    };
    (counted.into_iter().map(item).collect(), selective)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryLimit;
    use crate::{ErrorKind, OnBad, Options, RunLog, Source, Task, index, sign};
    use sameish::{Analyzer, Document, Preset};

    #[test]
    fn similarities_of_long_texts_are_known_if_all_pairs_are_compared() {
        let word = |number: u64| format!("word{number}");
        let shared = |doc: u64| if doc.is_multiple_of(5) { 0 } else { 3 };
        let text = |doc: u64| {
            let own = |at: u64| word(1_000 * (doc + 2) + at);
            // A tenth of each text is its own, apart from a few words that some texts have in common.
            let words = (0..1_000).map(|at| match at {
                500..600 if at % 50 >= shared(doc) => own(at),
                at => word(at),
            });
            words.collect::<Vec<_>>().join(" ")
        };
        let documents: Vec<Document> = (0..60).map(|doc| Document::new(doc, text(doc))).collect();
        let mut log = RunLog::new((), OnBad::Reject, None);
        let options = Options::new(Analyzer::new(Preset::Copies.config()).unwrap());
        let source = Source::Documents(&documents);
        let signed = sign(Task::Pairs, &source, &options, None, &mut log).unwrap();
        let corpus = index(signed, &source, &options).unwrap();
        let all = CrowdFacts { filter: WithFacts::No, compared: WithFacts::Yes };
        let known = Crowds::new(&corpus, &corpus.crowded, all).unwrap();
        let unknown = Crowds::new(&corpus, &corpus.crowded, CrowdFacts::filter(WithFacts::No)).unwrap();
        let texts: Vec<LoadedText<'_>> =
            (0..60).map(|doc| corpus.load_text(doc, WithFacts::No).unwrap()).collect();
        let mut pairs = 0;
        for b in 0..60u32 {
            for a in 0..b {
                let [x, y] = [a, b].map(|doc| texts[doc as usize].features().unwrap());
                let Some(found) = known.bound(a, b) else { continue };
                pairs += 1;
                assert!(found.is_exact && found.bound == x.jaccard(y), "{a} {b} {found:?}");
                assert!(!unknown.bound(a, b).unwrap().is_exact);
            }
        }
        assert!(pairs > 1_000, "{pairs}");
    }

    #[test]
    fn crowds_count_towards_the_memory_limit() {
        let word = |number: u64| format!("word{number}");
        let text = |doc: u64| {
            (0..60).map(|at| word(if at == doc % 60 { 1_000 + doc } else { at })).collect::<Vec<_>>()
        };
        let documents: Vec<Document> = (0..500).map(|doc| Document::new(doc, text(doc).join(" "))).collect();
        let mut log = RunLog::new((), OnBad::Reject, None);
        let options = Options::new(Analyzer::new(Preset::Copies.config()).unwrap());
        let source = Source::Documents(&documents);
        let signed = sign(Task::Pairs, &source, &options, None, &mut log).unwrap();
        let mut corpus = index(signed, &source, &options).unwrap();
        assert_eq!(corpus.crowded.groups.iter().map(Vec::len).sum::<usize>(), 500);
        let build = |corpus: &IndexedCorpus<'_>| {
            Crowds::new(corpus, &corpus.crowded, CrowdFacts::filter(WithFacts::Yes))
        };
        assert!(build(&corpus).is_ok());
        // The columns fit, but not the crowds. Three quarters of the limit are for both.
        corpus.memory = MemoryLimit::exactly(corpus.signed.memory_bytes() / 3 * 4 + 40_000);
        let error = build(&corpus).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(matches!(error, Error::CrowdsMemoryLimit { documents: 500, bytes: 200..2_000 }), "{error}");
        corpus.memory = MemoryLimit::exactly(corpus.signed.memory_bytes() / 3 * 4 + 2_000_000);
        assert!(build(&corpus).is_ok());
    }
}
