//! The engine, compared with a model that compares all documents with each other.

use proptest::prelude::*;
use sameish::analyzer::TextFeatures;
use sameish::config::{Bands, Linkage, ShortTexts, Templates};
use sameish::engine::{Among, External, Scope, SketchedDocument, Spread, StoredDocument, TextSource};
use sameish::matching::Relation;
use sameish::{
    Analyzer, Config, Content, DocId, Document, Engine, Groups, Prepared, Preset, Scratch, SearchOptions,
    Status, Timestamp, Verdict,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::random::SplitMix64;

/// Bands of one row find every pair that shares a feature in practice, so that the engine must agree with the model.
fn config(preset: Preset, linkage: Linkage) -> Config {
    let mut config = preset.config();
    if let Some(minhash) = &mut config.minhash {
        minhash.bands = Some(Bands { count: minhash.rows, rows: 1 });
    }
    config.matching.linkage = linkage;
    // The model does not compute facts.
    config.matching.templates = Templates::Merge;
    config
}

/// How well a document matches: verified matches are better than others.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Rank {
    verified: bool,
    similarity: f64,
}

/// All documents in insertion order.
struct Model {
    analyzer: Analyzer,
    docs: Vec<(DocId, Prepared)>,
}

impl Model {
    fn new(config: Config) -> Model {
        Model { analyzer: Analyzer::new(config).unwrap(), docs: Vec::new() }
    }

    fn insert(&mut self, id: &DocId, content: &Content) {
        self.remove(id);
        self.docs.push((id.clone(), self.prepare(content)));
    }

    fn prepare(&self, content: &Content) -> Prepared {
        self.analyzer.prepare(content, &mut Scratch::default())
    }

    fn remove(&mut self, id: &DocId) -> bool {
        let before = self.docs.len();
        self.docs.retain(|(other, _)| other != id);
        self.docs.len() < before
    }

    /// Returns the rank of two documents if they match, as the presets define it.
    fn rank(&self, a: &Prepared, b: &Prepared) -> Option<Rank> {
        let config = self.analyzer.config();
        let [x, y] = [&a.sketches, &b.sketches];
        let distance = x.simhash.zip(y.simhash).filter(|(x, y)| !x.is_zero() && !y.is_zero());
        let within = distance
            .map(|(x, y)| x.distance(y))
            .filter(|distance| *distance <= config.simhash.as_ref().unwrap().radius)
            .map(|distance| Rank { verified: false, similarity: 1.0 - f64::from(distance) / 64.0 });
        if !config.matching.verify {
            return within;
        }
        if a.key.is_some() && a.key == b.key {
            return Some(Rank { verified: true, similarity: 1.0 });
        }
        let short = x.status == Status::TooShort || y.status == Status::TooShort;
        let has_features = !a.features.shingles.is_empty() || !b.features.shingles.is_empty();
        if short && (config.simhash.is_none() || !has_features) {
            return within;
        }
        let similarity = a.features.shingles.jaccard(&b.features.shingles);
        let verified = Some(Rank { verified: true, similarity });
        let verified = verified.filter(|rank| rank.similarity >= config.matching.threshold);
        verified.or(within.filter(|_| short && config.matching.unverified))
    }

    fn matches(&self, query: &Prepared) -> Vec<(DocId, Rank)> {
        let similar = |(id, other): &(DocId, Prepared)| Some((id.clone(), self.rank(query, other)?));
        self.docs.iter().filter_map(similar).collect()
    }

    fn pairs(&self) -> BTreeSet<(DocId, DocId)> {
        let mut pairs = BTreeSet::new();
        for (j, (b, y)) in self.docs.iter().enumerate() {
            for (a, x) in &self.docs[..j] {
                if self.rank(x, y).is_some() {
                    pairs.insert((a.clone(), b.clone()));
                }
            }
        }
        pairs
    }

    /// Cohesive clusters by definition: each free document in order takes every free document that matches it.
    fn cohesive(&self) -> Vec<Vec<DocId>> {
        let mut groups: Vec<Vec<DocId>> = Vec::new();
        let mut assigned = BTreeSet::new();
        for (center, content) in &self.docs {
            if !assigned.insert(center) {
                continue;
            }
            let mut group = vec![center.clone()];
            for (other, text) in &self.docs {
                if !assigned.contains(other) && self.rank(content, text).is_some() {
                    assigned.insert(other);
                    group.push(other.clone());
                }
            }
            groups.push(group);
        }
        groups
    }

    fn components(&self) -> Vec<Vec<DocId>> {
        let place: BTreeMap<&DocId, usize> =
            self.docs.iter().enumerate().map(|(i, (id, _))| (id, i)).collect();
        let mut group: Vec<usize> = (0..self.docs.len()).collect();
        for (a, b) in self.pairs() {
            let (a, b) = (group[place[&a]], group[place[&b]]);
            group.iter_mut().filter(|g| **g == a.max(b)).for_each(|g| *g = a.min(b));
        }
        let members =
            |g: usize| (0..group.len()).filter(|&i| group[i] == g).map(|i| self.docs[i].0.clone()).collect();
        (0..group.len()).filter(|&g| group[g] == g).map(members).collect()
    }
}

fn members(groups: Groups) -> Vec<Vec<DocId>> {
    groups
        .groups
        .into_iter()
        .map(|group| {
            assert_eq!(group.center, group.members[0]);
            group.members
        })
        .collect()
}

/// Returns a text of one of six groups, so that many are similar and some are equal. Some are short, some have no words.
fn text(random: &mut SplitMix64) -> String {
    let family = random.below(6);
    let words = [3, 8, 60, 60, 80, 0][family];
    let word = |i: usize| format!("w{}", (family * 1000 + i) * 7919 % 4001);
    let mut text: Vec<String> = (0..words).map(word).collect();
    for _ in 0..random.below(4) {
        if words > 0 {
            text[random.below(words)] = format!("x{}", random.below(5));
        }
    }
    match words {
        0 => ["!", "", "?!"][random.below(3)].to_owned(),
        _ => text.join(" "),
    }
}

fn check_random_history(preset: Preset, linkage: Linkage, seed: u64, steps: usize) {
    check_history(config(preset, linkage), seed, steps);
}

fn check_history(config: Config, seed: u64, steps: usize) {
    let linkage = config.matching.linkage;
    let preset = format!("{:?}", config.text);
    let mut engine = Engine::new(config.clone()).unwrap();
    let mut model = Model::new(config);
    let mut random = SplitMix64(seed);
    for _ in 0..steps {
        let id = match random.below(2) {
            0 => DocId::Number(random.below(40) as u64),
            _ => DocId::Text(random.below(40).to_string()),
        };
        match random.below(4) {
            0 => assert_eq!(engine.remove(&id), model.remove(&id)),
            _ => {
                let document = Document::new(id.clone(), text(&mut random));
                let inserted = engine.insert(&document).unwrap();
                assert_eq!(inserted.replaced, model.docs.iter().any(|(other, _)| *other == id));
                model.insert(&id, &document.content);
            }
        }
        assert_eq!(engine.len(), model.docs.len());
    }
    let all = SearchOptions { limit: Some(usize::MAX), ..SearchOptions::default() };
    for query in (0..20).map(|_| Content::Text(text(&mut random))) {
        let found = engine.search(&query, all).unwrap().matches;
        let rank = |verdict: Verdict| Rank { verified: verdict.verified, similarity: verdict.similarity };
        let found: Vec<(DocId, Rank)> = found.into_iter().map(|m| (m.id, rank(m.verdict))).collect();
        // Equally similar documents are ordered by the insertion of their texts, which the model does not track.
        let sorted = |mut list: Vec<(DocId, Rank)>| {
            list.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
            list
        };
        assert!(found.is_sorted_by(|a, b| a.1 >= b.1));
        assert_eq!(sorted(found), sorted(model.matches(&model.prepare(&query))), "{preset}");
    }
    for (id, query) in &model.docs {
        let found = engine.search_id(id, all).unwrap().unwrap().matches;
        let found: BTreeSet<DocId> = found.into_iter().map(|found| found.id).collect();
        let expected = model.matches(query).into_iter().map(|(other, _)| other).filter(|other| other != id);
        assert_eq!(found, expected.collect(), "{preset}");
    }
    let mut pairs = BTreeSet::new();
    engine.pairs(|pair| {
        assert!(pairs.insert((pair.a.clone(), pair.b.clone())), "a pair is reported once");
        ControlFlow::Continue(())
    });
    assert_eq!(pairs, model.pairs(), "{preset}");
    match linkage {
        Linkage::Cohesive => assert_eq!(members(engine.groups()), model.cohesive(), "{preset}"),
        Linkage::Components => assert_eq!(members(engine.groups()), model.components(), "{preset}"),
        // Without dates the order is that of insertion.
        Linkage::Greedy => assert_eq!(members(engine.groups()), model.cohesive(), "{preset}"),
        Linkage::Online => {}
    }
}

#[test]
fn agrees_with_the_model() {
    for preset in [Preset::Wire, Preset::Web, Preset::Articles, Preset::Copies, Preset::Headlines] {
        for (seed, linkage) in
            (1..).zip([Linkage::Cohesive, Linkage::Components, Linkage::Greedy, Linkage::Online])
        {
            check_random_history(preset, linkage, seed, 300);
        }
    }
}

#[test]
fn agrees_with_the_model_if_unverified_matches_are_allowed() {
    for (seed, linkage) in (1..).zip([Linkage::Cohesive, Linkage::Components, Linkage::Greedy]) {
        let mut config = config(Preset::Articles, linkage);
        config.matching.unverified = true;
        // A greater radius gives many matches by fingerprints alone.
        config.simhash.as_mut().unwrap().radius = 24;
        check_history(config, seed, 300);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn agrees_with_the_model_for_random_histories(seed: u64, steps in 0usize..120) {
        check_random_history(Preset::Articles, Linkage::Cohesive, seed, steps);
        check_random_history(Preset::Wire, Linkage::Greedy, seed, steps);
    }
}

fn engine_of(config: Config, texts: &[&str]) -> Engine {
    let mut engine = Engine::new(config).unwrap();
    for (id, text) in (0u64..).zip(texts) {
        engine.insert(&Document::new(id, *text)).unwrap();
    }
    engine
}

fn numbers(groups: Groups) -> Vec<Vec<u64>> {
    let number = |id: DocId| match id {
        DocId::Number(n) => n,
        other => panic!("{other}"),
    };
    members(groups).into_iter().map(|members| members.into_iter().map(number).collect()).collect()
}

#[test]
fn online_clustering_joins_the_best_match_and_keeps_short_texts_apart() {
    let story = "Council closes historic river bridge after engineers find cracks";
    let follow = "Council closes historic river bridge after engineers find crack";
    let other = "Striker scores twice as visitors snatch late derby victory";
    let engine = engine_of(
        Preset::Headlines.config(),
        &[story, "Breaking news", other, follow, "Breaking news", story],
    );
    assert_eq!(numbers(engine.groups()), [vec![0, 3, 5], vec![1], vec![2], vec![4]]);
}

#[test]
fn online_clusters_survive_the_removal_of_their_first_document() {
    let story = "Council closes historic river bridge after engineers find cracks";
    let mut engine = engine_of(Preset::Headlines.config(), &[story, story]);
    let cluster = engine.insert(&Document::new(2, story)).unwrap().cluster.unwrap();
    engine.remove(&0.into());
    let again = engine.insert(&Document::new(3, story)).unwrap();
    assert_eq!(again.cluster, Some(cluster));
    assert_eq!(numbers(engine.groups()), [vec![1, 2, 3]]);
}

#[test]
fn greedy_clustering_starts_with_the_newest_and_rejects_invalid_dates() {
    let mut engine = Engine::new(Preset::Wire.config()).unwrap();
    let mut insert = |id: u64, text: &str, date: Option<&str>| {
        let published_at = date.map(str::to_owned);
        engine.insert(&Document { published_at, ..Document::new(id, text) })
    };
    insert(0, "storm hits the northern coast", Some("2024-01-01")).unwrap();
    insert(1, "markets calm before the vote", None).unwrap();
    insert(2, "Storm hits the northern coast!", Some("2024-01-03")).unwrap();
    insert(3, "storm hits the northern coast", Some("2024-01-02")).unwrap();
    insert(4, "!", Some("2024-01-04")).unwrap();
    let message = insert(5, "storm", Some("soon")).unwrap_err().to_string();
    assert!(message.contains("\"soon\""), "{message}");
    let groups = engine.groups();
    assert_eq!(groups.groups[1].spread, Spread::AverageDistance(0.0));
    assert_eq!(numbers(groups), [vec![4], vec![2, 3, 0], vec![1]]);
}

#[test]
fn blank_texts_match_nothing_and_equal_short_texts_match_where_the_preset_allows() {
    for preset in Preset::ALL {
        let engine = engine_of(preset.config(), &["", "", "!", "!"]);
        let mut pairs = 0;
        engine.pairs(|_| {
            pairs += 1;
            ControlFlow::Continue(())
        });
        let expected = match preset {
            Preset::Wire | Preset::Web | Preset::Headlines => 0,
            Preset::Copies | Preset::Articles => 1,
            // The sparse encoder treats `!` as a token.
            Preset::Sdr => 1,
        };
        assert_eq!(pairs, expected, "{preset}");
    }
}

#[test]
fn equal_short_headlines_never_match() {
    for linkage in [Linkage::Online, Linkage::Cohesive, Linkage::Components] {
        let mut config = Preset::Headlines.config();
        config.matching.linkage = linkage;
        let mut engine = engine_of(config.clone(), &["Breaking news", "breaking NEWS"]);
        let found = engine.search("Breaking news", SearchOptions::default()).unwrap();
        assert_eq!(found.matches, [], "{linkage:?}");
        let found = engine.search_id(&1.into(), SearchOptions::default()).unwrap().unwrap();
        assert_eq!(found.matches, [], "{linkage:?}");
        assert_eq!(engine.groups().groups.len(), 2, "{linkage:?}");
        assert!(engine.remove(&1.into()));
        assert_eq!((engine.len(), engine.groups().groups.len()), (1, 1));
        config.matching.short_texts = ShortTexts::Equal;
        let engine = engine_of(config, &["Breaking news", "breaking NEWS"]);
        let found = engine.search("Breaking news", SearchOptions::default()).unwrap();
        assert_eq!(found.matches.len(), 2, "{linkage:?}");
    }
}

#[test]
fn equal_documents_share_one_text() {
    let mut engine = Engine::new(Preset::Copies.config()).unwrap();
    let text = "the same words again and again and again, as often as you like";
    let prepared = engine.analyzer().prepare(text, &mut Scratch::default());
    for id in 0..100_000u64 {
        engine.insert_prepared(&id.into(), None, prepared.clone()).unwrap();
    }
    let groups = engine.groups();
    assert_eq!((groups.groups.len(), groups.groups[0].members.len()), (1, 100_000));
    assert_eq!(groups.effort.candidates, 0);
    let found = engine.search(&Content::Text(text.into()), SearchOptions::default()).unwrap();
    assert_eq!((found.matches.len(), found.candidates), (10, 1));
    for id in 0..100_000u64 {
        assert!(engine.remove(&id.into()));
    }
    assert!(engine.is_empty());
}

#[test]
fn candidates_of_many_near_duplicates_are_bounded_and_reported() {
    // Each text differs from the base in one word, so that all of them are similar to each other.
    let base: Vec<String> = (0..60).map(|i| format!("word{i}")).collect();
    let mut engine = Engine::new(Preset::Copies.config()).unwrap();
    for id in 0..4000u64 {
        let mut words = base.clone();
        words[id as usize % 60] = format!("changed{id}");
        engine.insert(&Document::new(id, words.join(" "))).unwrap();
    }
    let query = Content::Text(base.join(" "));
    let found = engine.search(&query, SearchOptions::default()).unwrap();
    assert!(found.candidates <= sameish::engine::CANDIDATES_JUDGED && found.capped > 0);
    assert_eq!(found.matches.len(), 10);
    let groups = engine.groups();
    assert!(groups.effort.candidates <= 4000 * 65 + 4000, "{:?}", groups.effort);
}

#[test]
fn matches_by_sketches_alone_are_not_verified() {
    let text = "The council voted on Monday to close the old bridge over the river for repairs until spring";
    let engine = engine_of(Preset::Copies.config(), &[text]);
    let sketches = engine.analyzer().sketch(&Content::Text(text.into()), &mut Scratch::default());
    let found = engine.search_sketches(&sketches, SearchOptions::default()).unwrap();
    assert_eq!((found.matches[0].verdict.similarity, found.matches[0].verdict.verified), (1.0, false));
    let other = Engine::new(Preset::Headlines.config()).unwrap();
    assert!(
        other.search_sketches(&sketches, SearchOptions::default()).is_err(),
        "signatures of another size are an error"
    );
}

#[test]
fn finds_sparse_codes_by_overlap() {
    let texts = ["The sky is beautiful today", "The sun is beautiful today", "Who did my homework"];
    let mut config = Preset::Sdr.config();
    config.matching.threshold = 0.3;
    let engine = engine_of(config, &texts);
    let found = engine.search_id(&0.into(), SearchOptions::default()).unwrap().unwrap();
    assert_eq!(found.matches.iter().map(|found| found.id.clone()).collect::<Vec<_>>(), [DocId::Number(1)]);
    assert!(!found.matches[0].verdict.verified && found.matches[0].verdict.similarity >= 0.3);
}

/// Texts in a map instead of a database.
struct StoredTexts {
    analyzer: Analyzer,
    texts: BTreeMap<u64, Content>,
    reads: std::cell::Cell<usize>,
}

impl TextSource for StoredTexts {
    fn features(&self, number: u64) -> Option<std::sync::Arc<TextFeatures>> {
        self.reads.set(self.reads.get() + 1);
        let content = self.texts.get(&number)?;
        Some(std::sync::Arc::new(self.analyzer.features(content, &mut Scratch::default())))
    }
}

/// Compares an external engine, filled by bulk load or one by one, with an engine that keeps features in memory.
#[test]
fn external_engine_gives_the_same_answers() {
    for preset in [Preset::Copies, Preset::Articles, Preset::Headlines, Preset::Wire] {
        let config = config(preset, preset.config().matching.linkage);
        let mut random = SplitMix64(11);
        let analyzer = Analyzer::new(config.clone()).unwrap();
        let mut in_memory = Engine::new(config).unwrap();
        let mut external = Engine::<External>::with_analyzer(analyzer.clone()).unwrap();
        let mut stored =
            StoredTexts { analyzer: analyzer.clone(), texts: BTreeMap::new(), reads: Default::default() };
        let mut scratch = Scratch::default();
        let mut documents: BTreeMap<u64, SketchedDocument> = BTreeMap::new();
        for number in 0..400 {
            let words = (0..60).map(|at| match random.next() % 24 {
                0 => format!("other{}", random.next() % 4),
                _ => format!("word{}of{}", at, number % 7),
            });
            let content = Content::Text(words.collect::<Vec<_>>().join(" "));
            let id = DocId::Number(random.next() % 300);
            let prepared = analyzer.prepare(&content, &mut scratch);
            let document = SketchedDocument {
                id: id.clone(),
                number,
                published: None,
                sketches: prepared.sketches.clone(),
                key: prepared.key,
                is_center: false,
            };
            documents.retain(|_, other| other.id != id);
            documents.insert(number, document.clone());
            in_memory.insert_prepared(&id, None, prepared).unwrap();
            external.insert_sketched(document).unwrap();
            stored.texts.insert(number, content);
        }
        let mut loaded = Engine::<External>::with_analyzer(analyzer).unwrap();
        let mut loading = loaded.bulk_load();
        let mut digest = sameish::engine::Digest::default();
        for document in documents.values() {
            digest.add(document);
            loading.add(document.clone()).unwrap();
        }
        loading.finish().unwrap();
        assert_eq!([loaded.digest(), digest.finish()], [external.digest(); 2]);
        for id in (0..300).map(DocId::Number) {
            for limit in [1, 3, 1000] {
                let options = SearchOptions { limit: Some(limit), min_similarity: None };
                let scope: Scope<'_, External> = Scope { options, ..scope_over(&stored) };
                let expected = in_memory.search_id(&id, options).unwrap().map(|found| found.matches);
                for engine in [&external, &loaded] {
                    let found = engine.search_id_in(&id, &scope).unwrap();
                    assert_eq!(found.map(|found| found.matches), expected, "{preset} {id} {limit}");
                }
            }
        }
        assert_eq!(stored.reads.get() > 0, preset != Preset::Wire);
        let is_even = |document: StoredDocument<'_>| document.number.is_multiple_of(2);
        let options = SearchOptions::default();
        let even: Scope<'_, External> = Scope { options, filter: Some(&is_even), ..scope_over(&stored) };
        for id in (0..300).map(DocId::Number) {
            let Some(found) = external.search_id_in(&id, &even).unwrap() else { continue };
            assert!(found.matches.iter().all(|found| found.number.is_multiple_of(2)));
        }
        let first = documents.values().next().unwrap().id.clone();
        assert!(external.remove(&first) && external.digest() != loaded.digest());
        assert!(loaded.remove(&first));
        assert_eq!(external.digest(), loaded.digest());
    }
}

/// One thread uses two engines with other settings in turn, with buffers of the thread and with buffers of the caller.
#[test]
fn buffers_of_the_thread_give_the_same_answers_as_those_of_the_caller() {
    let mut random = SplitMix64(17);
    let texts: Vec<String> = (0..60).map(|_| text(&mut random)).collect();
    let configs = [Preset::Copies, Preset::Articles].map(Preset::config);
    let mut of_thread = configs.clone().map(|config| Engine::new(config).unwrap());
    let mut of_caller = configs.map(|config| Engine::new(config).unwrap());
    let mut scratches = [Scratch::default(), Scratch::default()];
    for (id, text) in (0u64..).zip(&texts) {
        let document = Document::new(id, text);
        for at in 0..2 {
            let expected = of_caller[at].insert_with(&document, &mut scratches[at]);
            assert_eq!(of_thread[at].insert(&document), expected);
        }
    }
    for text in &texts {
        for at in 0..2 {
            let expected =
                of_caller[at].search_with(text.as_str(), SearchOptions::default(), &mut scratches[at]);
            assert_eq!(of_thread[at].search(text.as_str(), SearchOptions::default()), expected);
        }
    }
}

#[test]
fn nested_and_interrupted_use_of_the_buffers_of_a_thread_is_safe() {
    let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
    let sketch = |text: &str| Scratch::with_thread_local(|scratch| analyzer.sketch(text, scratch));
    let expected = sketch("one two three four five");
    Scratch::with_thread_local(|_| assert_eq!(sketch("one two three four five"), expected));
    let panicking = || Scratch::with_thread_local(|_| panic!("on purpose"));
    assert!(std::panic::catch_unwind(panicking).is_err());
    assert_eq!(sketch("one two three four five"), expected);
}

fn scope_over(texts: &StoredTexts) -> Scope<'_, External> {
    Scope {
        options: SearchOptions::default(),
        texts,
        among: Among::All,
        dates: None,
        filter: None,
        max_candidates: 2000,
        joining: false,
        needs_best: true,
        bounded: true,
    }
}

/// Returns an engine with copies of one text, one per day, of which every tenth is a center.
fn engine_of_copies(copies: u64) -> (Engine<External>, StoredTexts) {
    let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
    let mut engine = Engine::<External>::with_analyzer(analyzer.clone()).unwrap();
    let content = Content::Text((0..20).map(|at| format!("word{at}")).collect::<Vec<_>>().join(" "));
    let prepared = analyzer.prepare(&content, &mut Scratch::default());
    let texts = (0..copies).map(|number| (number, content.clone())).collect();
    for number in 0..copies {
        let document = SketchedDocument {
            id: DocId::Number(number),
            number,
            published: Timestamp::from_milliseconds(number as i64),
            sketches: prepared.sketches.clone(),
            key: prepared.key,
            is_center: number.is_multiple_of(10),
        };
        engine.insert_sketched(document).unwrap();
    }
    (engine, StoredTexts { analyzer, texts, reads: Default::default() })
}

#[test]
fn range_of_dates_and_centers_are_found_without_visiting_all_copies() {
    let (mut engine, texts) = engine_of_copies(15_000);
    let visited = std::cell::Cell::new(0);
    let filter = |_: StoredDocument<'_>| {
        visited.set(visited.get() + 1);
        true
    };
    let search = |engine: &Engine<External>, among, dates| {
        visited.set(0);
        let options = SearchOptions { limit: Some(3), min_similarity: None };
        let scope = Scope { options, among, dates: Some(dates), filter: Some(&filter), ..scope_over(&texts) };
        let found = engine.search_id_in(&DocId::Number(14_999), &scope).unwrap().unwrap();
        assert!(visited.get() < 40, "{} documents visited", visited.get());
        found.matches.iter().map(|found| found.number).collect::<Vec<_>>()
    };
    assert_eq!(search(&engine, Among::All, 14_005..=20_000), [14_005, 14_006, 14_007]);
    assert_eq!(search(&engine, Among::Centers, 14_005..=20_000), [14_010, 14_020, 14_030]);
    assert!(engine.set_center(&DocId::Number(14_010), false));
    assert!(engine.set_center(&DocId::Number(14_011), true));
    assert!(engine.remove(&DocId::Number(14_020)));
    assert_eq!(search(&engine, Among::Centers, 14_005..=20_000), [14_011, 14_030, 14_040]);
    assert_eq!(search(&engine, Among::Centers, 14_001..=14_009), [0; 0]);
    assert_eq!(engine.copies(&DocId::Number(7)), 14_999);
    assert_eq!(engine.later_copies(&DocId::Number(14_019)).next().unwrap().number, 14_021);
    assert_eq!(engine.last_copy_before(&DocId::Number(7), 14_021).unwrap().number, 14_019);
}

#[test]
fn matches_have_the_relation_of_pairs() {
    let mut config = Preset::Copies.config();
    config.matching.threshold = 0.3;
    let mut engine = Engine::new(config).unwrap();
    let words = |count: usize| (0..count).map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ");
    let texts = [
        (words(100), Some("2024-01-02")),
        (words(100).to_uppercase(), None),
        (words(150), Some("2024-01-03")),
        (words(40), Some("2024-01-01")),
        (words(100).replace("w99", "w99 with 7 more"), Some("2024-01-04")),
    ];
    for (id, (text, date)) in texts.iter().enumerate() {
        let published_at = date.map(str::to_owned);
        let document = Document { published_at, ..Document::new(id as u64, text.as_str()) };
        engine.insert(&document).unwrap();
    }
    let mut pairs = BTreeMap::new();
    engine.pairs(|pair| {
        pairs.insert((pair.a.clone(), pair.b.clone()), pair.relation);
        ControlFlow::Continue(())
    });
    assert_eq!(pairs.len(), 9);
    let options = SearchOptions::default();
    for (id, (text, _)) in texts.iter().enumerate() {
        let id = DocId::from(id as u64);
        for found in engine.search_id(&id, options).unwrap().unwrap().matches {
            let is_earlier = id < found.id;
            let pair = if is_earlier { (id.clone(), found.id) } else { (found.id, id.clone()) };
            let of_pair = pairs[&pair];
            let expected = if is_earlier { of_pair } else { of_pair.map(Relation::reversed) };
            assert_eq!(found.relation, expected, "{pair:?}");
        }
        for found in engine.search(text.as_str(), options).unwrap().matches {
            assert_eq!(found.relation, found.relation_with(None), "a text without a date");
            assert!(found.relation.is_some());
        }
    }
    let updated = engine.search_id(&0.into(), options).unwrap().unwrap().matches;
    let relation = |id: u64| updated.iter().find(|found| found.id == id.into()).unwrap().relation;
    let expected = [Relation::Same, Relation::UpdatedBy, Relation::Contains].map(Some);
    assert_eq!([1, 2, 3].map(relation), expected);
}
