//! A catalog against a plain list, over random changes and restarts.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish::{Analyzer, ClusterId, Content, DocId, Document, Preset, Scratch, Status};
use sameish_store::{Catalog, Collection, CollectionConfig, Error, OpenOptions, Outcome, SimilarOptions};
use std::collections::{BTreeMap, BTreeSet};

#[path = "../../sameish/src/random.rs"]
#[allow(dead_code, unreachable_pub)]
mod random;
use random::SplitMix64;

/// Bands of one row find every pair worth finding, so that model and catalog must agree.
const OVERRIDES: &str = "[minhash]\nrows = 128\nbands = { count = 128, rows = 1 }\n[text]\nmin_words = 10\n\
    [matching]\nlimit = 1000\ntemplates = \"merge\"\n";

struct Model {
    analyzer: Analyzer,
    /// By arrival.
    docs: BTreeMap<u64, (DocId, String)>,
    arrivals: u64,
}

impl Model {
    fn number(&self, id: &DocId) -> Option<u64> {
        self.docs.iter().find(|(_, (other, _))| other == id).map(|(number, _)| *number)
    }

    fn text(&self, id: &DocId) -> Option<&str> {
        self.docs.values().find(|(other, _)| other == id).map(|(_, text)| text.as_str())
    }

    fn put(&mut self, id: &DocId, text: &str) {
        self.remove(id);
        self.arrivals += 1;
        self.docs.insert(self.arrivals, (id.clone(), text.to_owned()));
    }

    fn remove(&mut self, id: &DocId) -> bool {
        self.number(id).is_some_and(|number| self.docs.remove(&number).is_some())
    }

    fn similarity(&self, a: &str, b: &str) -> Option<f64> {
        let [a, b] = [a, b].map(|text| Content::Text(text.into()));
        let mut scratch = Scratch::default();
        let [x, y] = [&a, &b].map(|content| self.analyzer.prepare(content, &mut scratch));
        if x.key.is_some() && x.key == y.key {
            return Some(1.0);
        }
        if [&x, &y].iter().any(|side| side.sketches.status == Status::TooShort) {
            let distance = x.sketches.simhash?.distance(y.sketches.simhash?);
            let zero = x.sketches.simhash?.is_zero() || y.sketches.simhash?.is_zero();
            return (distance <= 5 && !zero).then(|| 1.0 - f64::from(distance) / 64.0);
        }
        Some(x.features.shingles.jaccard(&y.features.shingles)).filter(|jaccard| *jaccard >= 0.5)
    }

    fn matches(&self, text: &str, except: Option<&DocId>) -> Vec<(DocId, f64)> {
        let others = self.docs.values().filter(|(id, _)| Some(id) != except);
        let mut found: Vec<(DocId, f64)> =
            others.filter_map(|(id, other)| Some((id.clone(), self.similarity(text, other)?))).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found
    }
}

fn text(random: &mut SplitMix64) -> String {
    let subject = random.next() % 6;
    let length = if random.next().is_multiple_of(8) { 4 } else { 40 };
    let word = |at: u64, random: &mut SplitMix64| match random.next() % 20 {
        0 => format!("other{}", random.next() % 3),
        _ => format!("word{at}of{subject}"),
    };
    (0..length).map(|at| word(at, random)).collect::<Vec<_>>().join(" ")
}

fn check(catalog: &Catalog, collection: &Collection, model: &Model, names: &mut BTreeSet<ClusterId>) {
    assert_eq!(collection.len(), model.docs.len());
    let mut parts: BTreeMap<ClusterId, Vec<u64>> = BTreeMap::new();
    for (number, (id, text)) in &model.docs {
        let stored = collection.get(id).unwrap().unwrap();
        assert_eq!(stored.document.content, Content::Text(text.clone()));
        assert_eq!(stored.cluster.is_some(), stored.status == Status::Ok);
        if let Some(cluster) = stored.cluster {
            parts.entry(cluster).or_default().push(*number);
        }
        let found = collection.similar(id, SimilarOptions::default()).unwrap();
        let found: Vec<(DocId, f64)> =
            found.similar.into_iter().map(|found| (found.found.id, found.found.verdict.similarity)).collect();
        assert_eq!(found, model.matches(text, Some(id)));
    }
    // Each cluster hangs together by matches, and is listed as it is.
    for (cluster, numbers) in &parts {
        let mut reached = BTreeSet::from([numbers[0]]);
        let mut waiting = vec![numbers[0]];
        while let Some(at) = waiting.pop() {
            for other in numbers {
                let near = model.similarity(&model.docs[&at].1, &model.docs[other].1).is_some();
                if near && reached.insert(*other) {
                    waiting.push(*other);
                }
            }
        }
        assert_eq!(reached.len(), numbers.len(), "cluster {cluster:?} does not hang together");
        let detail = collection.cluster(*cluster).unwrap().unwrap();
        let listed: Vec<&DocId> = detail.members.iter().map(|member| &member.id).collect();
        assert_eq!(listed, numbers.iter().map(|number| &model.docs[number].0).collect::<Vec<_>>());
        assert_eq!(detail.size as usize, numbers.len());
        names.insert(*cluster);
    }
    assert_eq!(catalog.verify().unwrap(), []);
}

fn random_changes(seed: u64, steps: usize) {
    let folder = tempfile::tempdir().unwrap();
    let config = CollectionConfig { overrides: OVERRIDES.into(), ..CollectionConfig::new(Preset::Articles) };
    let mut random = SplitMix64(seed);
    let mut model = Model {
        analyzer: Analyzer::new(config.resolve().unwrap()).unwrap(),
        docs: BTreeMap::new(),
        arrivals: 0,
    };
    let mut names = BTreeSet::new();
    let mut catalog = Catalog::open(folder.path(), OpenOptions::default()).unwrap();
    let mut collection = catalog.create("model", config).unwrap();
    for step in 0..steps {
        let id = match random.next() % 40 {
            id @ 0..30 => DocId::Number(id),
            id => DocId::Text(id.to_string()),
        };
        let new = text(&mut random);
        match random.next() % 20 {
            0..8 => {
                let expected = model.matches(&new, Some(&id));
                match (
                    collection.insert(Document { id: id.clone(), ..Document::new(0, new.clone()) }),
                    model.text(&id),
                ) {
                    (Ok(inserted), known) => {
                        assert!(known.is_none_or(|known| known == new), "step {step}");
                        let outcome = if known.is_some() { Outcome::Unchanged } else { Outcome::Created };
                        assert_eq!(inserted.outcome, outcome);
                        let found =
                            inserted.duplicates.into_iter().map(|found| (found.id, found.verdict.similarity));
                        assert_eq!(found.collect::<Vec<_>>(), expected, "seed {seed}, step {step}");
                        if known.is_none() {
                            model.put(&id, &new);
                        }
                    }
                    (Err(Error::Conflict { .. }), Some(known)) => assert_ne!(known, new),
                    (Err(error), _) => panic!("{error}"),
                }
            }
            8..11 => {
                let inserted =
                    collection.replace(Document { id: id.clone(), ..Document::new(0, new.clone()) }).unwrap();
                if inserted.outcome != Outcome::Unchanged {
                    model.put(&id, &new);
                }
            }
            11..16 => assert_eq!(collection.delete(&id).unwrap(), model.remove(&id)),
            16 => {
                let many: Vec<(DocId, String)> =
                    (0..8).map(|i| (DocId::Number(1000 + step as u64 * 8 + i), text(&mut random))).collect();
                let batch = many
                    .iter()
                    .map(|(id, text)| Document { id: id.clone(), ..Document::new(0, text.clone()) });
                for answer in collection.insert_many(batch.collect()).unwrap() {
                    answer.unwrap();
                }
                many.iter().for_each(|(id, text)| model.put(id, text));
            }
            17 => {
                let ids: Vec<DocId> = model
                    .docs
                    .values()
                    .map(|(id, _)| id.clone())
                    .filter(|_| random.next().is_multiple_of(4))
                    .collect();
                let gone = collection.delete_many(ids.clone()).unwrap();
                assert!(gone.iter().all(|gone| *gone));
                ids.iter().for_each(|id| _ = model.remove(id));
            }
            18 => {
                let digest = collection.digest().unwrap();
                drop(collection);
                catalog.close();
                catalog = Catalog::open(folder.path(), OpenOptions::default()).unwrap();
                collection = catalog.collection("model").unwrap();
                assert_eq!(collection.digest().unwrap(), digest, "seed {seed}, step {step}");
            }
            _ => {
                let digest = collection.digest().unwrap();
                collection.rebuild().unwrap();
                assert_eq!(collection.digest().unwrap(), digest, "seed {seed}, step {step}");
            }
        }
        if step % 25 == 0 {
            check(&catalog, &collection, &model, &mut names);
        }
    }
    check(&catalog, &collection, &model, &mut names);
}

#[test]
fn random_changes_and_restarts_agree_with_a_list() {
    for seed in 1..4 {
        random_changes(seed, 200);
    }
}
