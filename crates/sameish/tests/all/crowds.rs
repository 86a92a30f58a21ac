//! Crowds of similar texts: how many texts does a search compare, and does it still find the matches?

use sameish::analyzer::TextFeatures;
use sameish::engine::{Among, External, Scope, SketchedDocument, TextSource};
use sameish::matching::{facts_agreement, is_template};
use sameish::{
    Analyzer, Content, DocId, Engine, Prepared, Preset, Scratch, Search, SearchOptions, Signature, Sketches,
};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Features of all texts, which counts how often they are read.
#[derive(Default)]
struct Counting {
    features: Vec<Arc<TextFeatures>>,
    read: Cell<usize>,
}

impl TextSource for Counting {
    fn features(&self, number: u64) -> Option<Arc<TextFeatures>> {
        self.read.update(|read| read + 1);
        self.features.get(number as usize).cloned()
    }
}

/// An engine over texts of which the sketches can be replaced.
struct Crowd {
    analyzer: Analyzer,
    engine: Engine<External>,
    texts: Counting,
}

impl Crowd {
    /// Stores texts, all with the sketches of `forged` if it is given.
    fn new(texts: &[String], forged: Option<&str>) -> Crowd {
        Crowd::of(Preset::Copies, texts, forged)
    }

    fn of(preset: Preset, texts: &[String], forged: Option<&str>) -> Crowd {
        let analyzer = Analyzer::new(preset.config()).unwrap();
        let mut engine = Engine::<External>::with_analyzer(analyzer.clone()).unwrap();
        let mut source = Counting::default();
        let prepare = |text: &str| analyzer.prepare(&Content::Text(text.into()), &mut Scratch::default());
        let forged = forged.map(|text| prepare(text).sketches);
        for (number, text) in (0..).zip(texts) {
            let prepared = prepare(text);
            let document = SketchedDocument {
                id: DocId::Number(number),
                number,
                published: None,
                sketches: forged.clone().unwrap_or(prepared.sketches),
                key: prepared.key,
                is_center: false,
            };
            engine.insert_sketched(document).unwrap();
            source.features.push(Arc::new(prepared.features));
        }
        Crowd { analyzer, engine, texts: source }
    }

    /// Stores texts of 30 own words with these signatures, and with their features.
    fn signed(documents: u64, rows: impl Fn(u64) -> Vec<u32>) -> Crowd {
        let mut crowd = Crowd::new(&[], None);
        for number in 0..documents {
            let minhash = Signature::from_rows(rows(number)).unwrap();
            crowd.insert(own_text(number), |sketches| sketches.minhash = Some(minhash));
        }
        crowd
    }

    /// Stores the next text with its features, and with sketches that `forge` may change.
    fn insert(&mut self, text: String, forge: impl FnOnce(&mut Sketches)) {
        let mut prepared = self.analyzer.prepare(&Content::Text(text), &mut Scratch::default());
        forge(&mut prepared.sketches);
        let number = self.texts.features.len() as u64;
        let document = SketchedDocument {
            id: DocId::Number(number),
            number,
            published: None,
            sketches: prepared.sketches,
            key: prepared.key,
            is_center: false,
        };
        self.engine.insert_sketched_with(document, &prepared.features).unwrap();
        self.texts.features.push(Arc::new(prepared.features));
        // The features of the first texts of a crowded bucket are read when it becomes crowded.
        if let Some(first) = self.engine.take_first_unread() {
            for (id, number) in self.engine.unread(first, 100).documents {
                self.engine.note_features(&id, number, &self.texts.features[number as usize]);
            }
        }
    }

    /// Returns the matches of a copy of a document with another last word and with a signature.
    fn copies_of(&self, number: u64, rows: Vec<u32>) -> Search {
        let text = own_text(number).replace(&format!("own{number}at29"), "changed");
        let mut prepared = self.analyzer.prepare(&Content::Text(text), &mut Scratch::default());
        prepared.sketches.minhash = Some(Signature::from_rows(rows).unwrap());
        let scope: Scope<'_, External> = Scope {
            options: SearchOptions { limit: Some(10), min_similarity: None },
            texts: &self.texts,
            among: Among::All,
            dates: None,
            filter: None,
            max_candidates: 2_000,
            joining: false,
            needs_best: false,
            bounded: true,
        };
        self.engine.search_prepared_in(&prepared, &scope).unwrap()
    }

    /// Returns the result of a search and the number of texts that it read.
    fn search(&self, text: &str, limit: usize, max_candidates: usize) -> (Search, usize) {
        let scope: Scope<'_, External> = Scope {
            options: SearchOptions { limit: Some(limit), min_similarity: None },
            texts: &self.texts,
            among: Among::All,
            dates: None,
            filter: None,
            max_candidates,
            joining: false,
            needs_best: false,
            bounded: true,
        };
        let prepared = self.analyzer.prepare(&Content::Text(text.into()), &mut Scratch::default());
        self.texts.read.set(0);
        let direct = self.engine.search_prepared_in(&prepared, &scope).unwrap();
        let read = self.texts.read.get();
        let collected = self.engine.collect_prepared_in(&prepared, &scope).unwrap();
        assert_eq!(collected.judge(&self.texts).as_ref(), Some(&direct));
        (direct, read)
    }
}

fn own_text(number: u64) -> String {
    (0..30).map(|at| format!("own{number}at{at}")).collect::<Vec<_>>().join(" ")
}

/// Returns 300 shared words with the own words of a document in some places.
fn text(number: usize, own: impl Iterator<Item = usize>) -> String {
    let mut words: Vec<String> = (0..300).map(|at| format!("word{at}")).collect();
    own.for_each(|at| words[at] = format!("own{number}at{at}"));
    words.join(" ")
}

#[test]
fn short_list_of_a_flood_compares_few_texts_and_a_long_list_is_complete() {
    let texts: Vec<String> = (0..700).map(|i| text(i, std::iter::once(i % 300))).collect();
    let crowd = Crowd::new(&texts, None);
    let query = text(9_999, std::iter::once(150));
    let (short, read) = crowd.search(&query, 10, 2_000);
    assert_eq!(short.matches.len(), 10);
    // The facts of the ten matches are compared after the list is known.
    assert!(read <= 10 + (10 + 128) + 10, "{read} texts");
    assert!(short.capped > 0);
    let (long, _) = crowd.search(&query, 1_000, 2_000);
    assert_eq!((long.matches.len(), long.capped), (700, 0));
}

/// Returns a text of a group whose texts share 40 words that no other text has.
fn member(number: usize) -> String {
    text(0, 100..140).replacen("word7 ", &format!("member{number} "), 1)
}

#[test]
fn a_thousand_matches_are_found_among_boilerplate() {
    // All texts share boilerplate. Those with other own words have a similarity of 0.76, below the threshold.
    let crowd = (0..4_000).map(|i| text(i + 1, 100..140));
    let texts: Vec<String> = crowd.chain((0..1_000).map(member)).collect();
    let crowd = Crowd::new(&texts, None);
    let (found, read) = crowd.search(&member(1_001), 1_000, 2_000);
    let numbers: BTreeSet<u64> = found.matches.iter().map(|found| found.number).collect();
    assert!(numbers.iter().all(|number| *number >= 4_000));
    assert!(numbers.len() >= 990, "{} of 1,000 at a recall of 0.99", numbers.len());
    // The facts of the matches are compared, too.
    assert!(read <= 2 * 2_000, "{read} texts");
    let (found, read) = crowd.search(&member(1_001), 10, 2_000);
    assert_eq!(found.matches.len(), 10);
    assert!(read <= 10 + (10 + 128) + 10 && found.capped > 0, "{read} texts");
    assert!(found.candidates <= 1_000, "{} candidates", found.candidates);
}

#[test]
fn copies_with_forged_sketches_among_others_are_found_and_the_others_are_not() {
    let own = |i: usize| (0..300).step_by(4).skip(i % 2);
    let texts: Vec<String> = (0..400).map(|i| text(if i % 40 == 3 { 3 } else { i }, own(3))).collect();
    let query = texts[3].replacen("word1 ", "changed ", 1);
    let crowd = Crowd::new(&texts, Some(&query));
    let (found, read) = crowd.search(&query, 1_000, 2_000);
    let numbers: Vec<u64> = found.matches.iter().map(|found| found.number).collect();
    assert_eq!(numbers, (0..400).filter(|i| i % 40 == 3).collect::<Vec<_>>());
    assert!(found.matches.iter().all(|found| found.verdict.verified));
    assert!(read <= 400, "{read} texts");
}

#[test]
fn comparisons_of_a_crowd_without_matches_are_limited() {
    let own = |i: usize| (0..300).step_by(12).map(move |at| at + i % 12);
    let texts: Vec<String> = (0..3_000).map(|i| text(i, own(i))).collect();
    let query = text(9_999, own(5));
    let crowd = Crowd::new(&texts, Some(&query));
    let (found, read) = crowd.search(&query, 10, 128);
    assert_eq!(found.matches, []);
    assert!(read <= 128 && found.capped > 0, "{read} texts");
}

#[test]
fn search_agrees_with_comparing_all_texts() {
    let own = |i: usize| (0..i % 14).map(move |n| (i * 37 + n * 21) % 300);
    let texts: Vec<String> = (0..500).map(|i| text(i, own(i))).collect();
    let crowd = Crowd::new(&texts, None);
    for query in (0..500).step_by(23) {
        let features = &crowd.texts.features[query].shingles;
        let matches = |other: &Arc<TextFeatures>| features.jaccard(&other.shingles) >= 0.8;
        let expected: Vec<bool> = crowd.texts.features.iter().map(matches).collect();
        let count = expected.iter().filter(|&&is_match| is_match).count();
        let (found, _) = crowd.search(&texts[query], 1_000, 2_000);
        assert!(found.matches.iter().all(|found| expected[found.number as usize]), "document {query}");
        // The configured recall is 0.99.
        let missing = count - found.matches.len();
        assert!(found.capped == 0 && missing * 50 <= count, "document {query}: {missing} of {count} missing");
    }
}

/// Sketches that collide with those of a text in the fingerprint and in all rows are not enough: the profiles show that the texts do
/// not match. Copies of the text among them are found.
#[test]
fn forged_fingerprints_are_not_verified_and_copies_among_them_are_found() {
    let mut crowd = Crowd::of(Preset::Articles, &[], None);
    let original = crowd.analyzer.prepare(&Content::Text(own_text(7)), &mut Scratch::default()).sketches;
    let is_copy = |number: u64| number % 400 == 399;
    for number in 0..8_000 {
        let copy = own_text(7).replace("own7at11", &format!("copy{number}"));
        let text = if is_copy(number) { copy } else { own_text(number + 10_000) };
        crowd.insert(text, |sketches| {
            sketches.simhash = original.simhash;
            if number % 2 == 0 {
                sketches.minhash = original.minhash.clone();
            }
        });
    }
    let (found, read) = crowd.search(&own_text(7), 100, 2_000);
    let numbers: BTreeSet<u64> = found.matches.iter().map(|found| found.number).collect();
    assert_eq!(numbers, (0..8_000).filter(|&number| is_copy(number)).collect());
    assert!(found.matches.iter().all(|found| found.verdict.verified));
    // The facts of the 20 copies are compared, too.
    assert!(read <= 2 * 20 && found.candidates <= 20, "{read} texts, {} candidates", found.candidates);
    // The sample of equal fingerprints is not complete.
    assert!(found.capped > 0);
}

#[test]
fn few_texts_of_long_articles_are_compared() {
    for kind in ["long templates", "long articles"] {
        let texts = flood(kind, 120);
        let mut crowd = Crowd::of(Preset::Articles, &[], None);
        let mut expected = Vec::new();
        let mut found = Vec::new();
        let mut total = 0;
        for text in &texts {
            let features = crowd.analyzer.features(&Content::Text(text.clone()), &mut Scratch::default());
            let threshold = crowd.analyzer.config().matching.threshold;
            let matches = |other: &Arc<TextFeatures>| features.shingles.jaccard(&other.shingles) >= threshold;
            expected.push(crowd.texts.features.iter().filter(|other| matches(other)).count());
            let (search, read) = crowd.search(text, 1_000, 2_000);
            found.push(search.matches.len());
            total += read;
            crowd.insert(text.clone(), |_| {});
        }
        let matching: usize = expected.iter().sum();
        println!("{kind}: {total} texts read, {matching} pairs, {} found", found.iter().sum::<usize>());
        let all: usize = found.iter().sum();
        assert!(all <= matching && all * 100 >= matching * 98, "{kind}: {all} of {matching}");
        // Of buckets with at most 32 texts, all may be read: half of the pairs of this corpus.
        assert!(total <= 2 * matching + 26 * 120, "{kind}: {total} texts read for {matching} pairs");
    }
}

#[test]
fn texts_beyond_a_full_bucket_are_found_after_the_first_ones_are_deleted() {
    let rows = || vec![7; 128];
    let mut crowd = Crowd::signed(12_000, |_| rows());
    let found = crowd.copies_of(11_999, rows());
    assert_eq!(found.matches.iter().map(|found| found.number).collect::<Vec<_>>(), [11_999]);
    for number in 0..10_000 {
        assert!(crowd.engine.remove(&DocId::Number(number)));
    }
    for number in [10_000, 11_000, 11_999] {
        let found = crowd.copies_of(number, rows());
        assert_eq!(found.matches.iter().map(|found| found.number).collect::<Vec<_>>(), [number]);
        assert_eq!(found.capped, 0);
    }
}

#[test]
fn texts_beyond_a_full_bucket_among_many_others_are_found() {
    let bands = Preset::Copies.config().bands().unwrap().unwrap();
    // The first band is that of one of two crowds; the others are not shared.
    let rows = |number: u64| -> Vec<u32> {
        let crowd = if number < 10_500 { 1 } else { 2 };
        (0..128).map(|row| if row < bands.rows { crowd } else { number as u32 + 1_000 }).collect()
    };
    let crowd = Crowd::signed(34_000, rows);
    let mut query = rows(50_000);
    query[..bands.rows as usize].fill(1);
    for number in [100, 10_499] {
        let found = crowd.copies_of(number, query.clone());
        assert_eq!(found.matches.iter().map(|found| found.number).collect::<Vec<_>>(), [number]);
    }
}

/// A corpus of similar texts by its name.
fn flood(kind: &str, documents: usize) -> Vec<String> {
    let words = |own: usize, of: usize, number: usize, places: &dyn Fn(usize) -> bool| -> String {
        let word = |at: usize| match places(at) {
            true if at.is_multiple_of(9) => format!("{}", number * 7 + at),
            true => format!("Own{number}at{at}"),
            false => format!("word{at}of{of}"),
        };
        (0..own).map(word).collect::<Vec<_>>().join(" ")
    };
    let of = |number: usize| match kind {
        // Similarity 0.81, other facts.
        "templates" => words(300, 0, number, &|at| (120..148).contains(&at)),
        // Similarity 0.78: the threshold is not reached.
        "scattered" => words(300, 0, number, &|at| at % 25 == 10),
        "one word" => words(100, 0, number, &|at| at == number * 37 % 100),
        // Spokes match the hub, but not each other.
        "hub" if number == documents / 2 => words(100, 0, number, &|_| false),
        "hub" => words(100, 0, number, &|at| (at + number * 7) % 33 == 1),
        // Every text is similar to its neighbors, and templates alternate with copies.
        "chain" => words(120, 0, number, &|at| (number..number + 12).contains(&(at * 3))),
        // The same with ten times as many words.
        "long templates" => words(3_000, 0, number, &|at| (1_200..1_480).contains(&at)),
        "long scattered" => words(3_000, 0, number, &|at| at % 25 == 10),
        // Similarity 0.45, below the threshold of `articles`.
        "long articles" => words(3_000, 0, number, &|at| at % 8 == 2),
        "two floods" => words(90, number % 2, number, &|at| at == number * 11 % 90),
        _ => unreachable!("{kind}"),
    };
    (0..documents).map(of).collect()
}

/// Inserts texts as a store does, each with the first center that it joins. Returns these and the number of texts read.
fn insert_into_clusters(texts: &[String]) -> (Vec<Option<u64>>, usize) {
    let mut crowd = Crowd::new(&[], None);
    let mut joined = Vec::new();
    for (number, text) in (0..).zip(texts) {
        let prepared = crowd.analyzer.prepare(&Content::Text(text.clone()), &mut Scratch::default());
        let scope: Scope<'_, External> = Scope {
            options: SearchOptions { limit: Some(usize::MAX), min_similarity: None },
            texts: &crowd.texts,
            among: Among::Centers,
            dates: None,
            filter: None,
            max_candidates: 2_000,
            joining: true,
            needs_best: false,
            bounded: false,
        };
        let first = crowd.engine.first_joining_in(&prepared, &scope).unwrap();
        assert_eq!(first.capped, 0, "document {number}");
        let document = SketchedDocument {
            id: DocId::Number(number),
            number,
            published: None,
            sketches: prepared.sketches,
            key: prepared.key,
            is_center: first.number.is_none(),
        };
        crowd.engine.insert_sketched_with(document, &prepared.features).unwrap();
        crowd.texts.features.push(Arc::new(prepared.features));
        joined.push(first.number);
    }
    (joined, crowd.texts.read.get())
}

/// Returns the first center that each text joins, by comparing all texts that share a band.
fn clusters_by_brute_force(texts: &[String]) -> Vec<Option<u64>> {
    let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
    let bands = analyzer.config().bands().unwrap().unwrap();
    let prepare = |text: &String| analyzer.prepare(&Content::Text(text.clone()), &mut Scratch::default());
    let all: Vec<Prepared> = texts.iter().map(prepare).collect();
    let rows = |prepared: &Prepared| prepared.sketches.minhash.clone().unwrap();
    let joins = |a: &Prepared, b: &Prepared| {
        let [x, y] = [a, b].map(rows);
        let in_bands = |rows: &[u32]| {
            let bands = rows.chunks_exact(bands.rows as usize).take(bands.count as usize);
            bands.map(<[u32]>::to_vec).collect::<Vec<_>>()
        };
        let share = in_bands(x.rows()).iter().zip(in_bands(y.rows())).any(|(a, b)| *a == b);
        let similarity = a.features.shingles.jaccard(&b.features.shingles);
        let facts = facts_agreement(&a.features.facts, &b.features.facts);
        let is_template = facts.is_some_and(|facts| similarity < 1.0 && is_template(similarity, facts));
        share && similarity >= 0.8 && !is_template
    };
    let mut centers: Vec<usize> = Vec::new();
    let mut joined = Vec::new();
    for (number, prepared) in all.iter().enumerate() {
        let center = centers.iter().find(|&&center| joins(&all[center], prepared)).copied();
        if center.is_none() {
            centers.push(number);
        }
        joined.push(center.map(|center| center as u64));
    }
    joined
}

#[test]
fn documents_of_a_flood_join_the_first_center_of_the_rule_after_few_comparisons() {
    // The most texts that are read per document. Half of the templates differ in numbers, and need no comparison.
    let kinds = [
        ("templates", 12),
        ("scattered", 12),
        ("one word", 3),
        ("hub", 24),
        ("chain", 24),
        ("two floods", 3),
        ("long templates", 24),
        ("long scattered", 24),
    ];
    for (kind, most) in kinds {
        let documents = if kind.starts_with("long") { 120 } else { 400 };
        let texts = flood(kind, documents);
        let (joined, read) = insert_into_clusters(&texts);
        let expected = clusters_by_brute_force(&texts);
        let wrong = (0..documents).find(|&i| joined[i] != expected[i]);
        assert_eq!(wrong, None, "{kind}: {:?}", wrong.map(|i| (joined[i], expected[i])));
        println!(
            "{kind}: {read} texts read, {} centers",
            joined.iter().filter(|center| center.is_none()).count()
        );
        assert!(read <= documents * most, "{kind}: {read} texts read");
    }
}

#[test]
fn copies_of_an_insertion_are_found_after_removals_and_reuse_of_numbers() {
    let texts = flood("scattered", 300);
    let mut crowd = Crowd::new(&[], None);
    let insert = |crowd: &mut Crowd, id: u64, number: u64, text: &str| {
        let prepared = crowd.analyzer.prepare(&Content::Text(text.into()), &mut Scratch::default());
        let Prepared { sketches, features, key } = prepared;
        let id = DocId::Number(id);
        let document = SketchedDocument {
            id,
            number,
            published: None,
            sketches,
            key,
            is_center: number.is_multiple_of(3),
        };
        crowd.engine.insert_sketched_with(document, &features).unwrap();
        crowd.texts.features.resize(number as usize + 1, Arc::default());
        crowd.texts.features[number as usize] = Arc::new(features);
    };
    for round in 0..6 {
        for (i, text) in (0..).zip(&texts) {
            // The same ids get other texts, whose slots are those of removed ones.
            let text = text.replace("at10", &format!("at10in{round}"));
            insert(&mut crowd, i, round * 300 + i, &text);
        }
        for i in (0..300).step_by(17) {
            let text = texts[i].replace("at10", &format!("at10in{round}")).replacen("word3of0", "edited", 1);
            let (found, read) = crowd.search(&text, 10, 2_000);
            let numbers: Vec<u64> = found.matches.iter().map(|found| found.number).collect();
            assert_eq!(numbers, [round * 300 + i as u64], "round {round}");
            // Texts that were inserted before their buckets were crowded are read once.
            assert!(read <= 80, "{read} texts");
        }
    }
}
