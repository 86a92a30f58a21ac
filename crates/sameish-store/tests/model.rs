//! Compares a catalog with a simple model over random changes and restarts.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish::cluster::ClusterId;
use sameish::{Analyzer, Content, DocId, Document, Preset, Scratch, Status};
use sameish_store::{Catalog, Collection, CollectionConfig, Error, OpenOptions, Outcome, SimilarOptions};
use std::collections::{BTreeMap, BTreeSet};

#[path = "../../sameish/src/random.rs"]
#[allow(dead_code, unreachable_pub)]
mod random;
use random::SplitMix64;

/// Bands of one row find every pair above the threshold, so the catalog must agree with the model.
const OVERRIDES: &str = "[minhash]\nrows = 128\nbands = { count = 128, rows = 1 }\n[text]\nmin_words = 10\n\
    [matching]\nlimit = 1000\ntemplates = \"merge\"\n";

struct Model {
    analyzer: Analyzer,
    /// Ids and texts in order of insertion.
    docs: BTreeMap<u64, (DocId, String)>,
    insertions: u64,
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
        self.insertions += 1;
        self.docs.insert(self.insertions, (id.clone(), text.to_owned()));
    }

    fn remove(&mut self, id: &DocId) -> bool {
        self.number(id).is_some_and(|number| self.docs.remove(&number).is_some())
    }

    /// Returns the similarity of two texts if they match.
    fn similarity(&self, a: &str, b: &str) -> Option<f64> {
        let [a, b] = [a, b].map(|text| Content::Text(text.into()));
        let mut scratch = Scratch::default();
        let [a, b] = [&a, &b].map(|content| self.analyzer.prepare(content, &mut scratch));
        if a.key.is_some() && a.key == b.key {
            return Some(1.0);
        }
        if [&a, &b].iter().any(|side| side.sketches.status == Status::TooShort) {
            let [a, b] = [a.sketches.simhash?, b.sketches.simhash?];
            let is_match = a.distance(b) <= 5 && !a.is_zero() && !b.is_zero();
            return is_match.then(|| 1.0 - f64::from(a.distance(b)) / 64.0);
        }
        Some(a.features.shingles.jaccard(&b.features.shingles)).filter(|jaccard| *jaccard >= 0.5)
    }

    /// Returns the documents that match a text, most similar first.
    fn matches(&self, text: &str, except: Option<&DocId>) -> Vec<(DocId, f64)> {
        let others = self.docs.values().filter(|(id, _)| Some(id) != except);
        let mut matches: Vec<(DocId, f64)> =
            others.filter_map(|(id, other)| Some((id.clone(), self.similarity(text, other)?))).collect();
        matches.sort_by(|a, b| b.1.total_cmp(&a.1));
        matches
    }

    /// Returns the documents that can be reached from the first one through matches among `numbers`.
    fn connected(&self, numbers: &[u64]) -> BTreeSet<u64> {
        let mut reached = BTreeSet::from([numbers[0]]);
        let mut pending = vec![numbers[0]];
        while let Some(number) = pending.pop() {
            for other in numbers {
                let is_match = self.similarity(&self.docs[&number].1, &self.docs[other].1).is_some();
                if is_match && reached.insert(*other) {
                    pending.push(*other);
                }
            }
        }
        reached
    }
}

fn random_text(random: &mut SplitMix64) -> String {
    let subject = random.next() % 6;
    let length = if random.next().is_multiple_of(8) { 4 } else { 40 };
    let word = |at: u64, random: &mut SplitMix64| match random.next() % 20 {
        0 => format!("other{}", random.next() % 3),
        _ => format!("word{at}of{subject}"),
    };
    (0..length).map(|at| word(at, random)).collect::<Vec<_>>().join(" ")
}

fn random_id(random: &mut SplitMix64) -> DocId {
    match random.next() % 40 {
        id @ 0..30 => DocId::Number(id),
        id => DocId::Text(id.to_string()),
    }
}

fn document(id: &DocId, text: &str) -> Document {
    Document { id: id.clone(), ..Document::new(0, text) }
}

struct Test {
    dir: tempfile::TempDir,
    catalog: Option<Catalog>,
    collection: Collection,
    model: Model,
    random: SplitMix64,
    /// Clusters at the latest check, and those that no longer existed at some check.
    clusters: BTreeSet<ClusterId>,
    removed_clusters: BTreeSet<ClusterId>,
}

impl Test {
    fn new(seed: u64) -> Test {
        let dir = tempfile::tempdir().unwrap();
        let config =
            CollectionConfig { overrides: OVERRIDES.into(), ..CollectionConfig::new(Preset::Articles) };
        let analyzer = Analyzer::new(config.resolve().unwrap()).unwrap();
        let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
        let collection = catalog.create("model", config).unwrap();
        Test {
            dir,
            catalog: Some(catalog),
            collection,
            model: Model { analyzer, docs: BTreeMap::new(), insertions: 0 },
            random: SplitMix64(seed),
            clusters: BTreeSet::new(),
            removed_clusters: BTreeSet::new(),
        }
    }

    fn change(&mut self, step: u64) {
        let id = random_id(&mut self.random);
        let text = random_text(&mut self.random);
        match self.random.next() % 20 {
            0..8 => self.insert(&id, &text),
            8..11 => self.replace(&id, &text),
            11..16 => assert_eq!(self.collection.delete(&id).unwrap(), self.model.remove(&id)),
            16 => self.insert_many(1000 + step * 8),
            17 => self.delete_many(),
            18 => self.reopen(),
            _ => self.rebuild(),
        }
    }

    fn cluster(&self, id: &DocId) -> Option<ClusterId> {
        self.collection.get(id).unwrap().unwrap().cluster
    }

    fn insert(&mut self, id: &DocId, text: &str) {
        let expected = self.model.matches(text, Some(id));
        let known = self.model.text(id).map(str::to_owned);
        match self.collection.insert(document(id, text)) {
            Ok(inserted) => {
                let outcome = if known.is_some() { Outcome::Unchanged } else { Outcome::Created };
                assert_eq!(inserted.outcome, outcome);
                let found = inserted.duplicates.into_iter().map(|found| (found.id, found.verdict.similarity));
                assert_eq!(found.collect::<Vec<_>>(), expected);
                match known {
                    Some(known) => assert_eq!(known, text),
                    None => {
                        self.check_joined(inserted.status, inserted.cluster, &expected);
                        self.model.put(id, text);
                    }
                }
            }
            Err(Error::Conflict { .. }) => assert!(known.is_some_and(|known| known != text)),
            Err(error) => panic!("{error}"),
        }
    }

    /// A new document joins the cluster of its best match, if that has one.
    fn check_joined(&self, status: Status, cluster: Option<ClusterId>, matches: &[(DocId, f64)]) {
        let Some((best, _)) = matches.first() else { return };
        let best = self.cluster(best);
        if status == Status::Ok && best.is_some() {
            assert_eq!(cluster, best);
        }
    }

    fn replace(&mut self, id: &DocId, text: &str) {
        let outcome = match self.model.text(id) {
            Some(known) if known == text => Outcome::Unchanged,
            Some(_) => Outcome::Replaced,
            None => Outcome::Created,
        };
        assert_eq!(self.collection.replace(document(id, text)).unwrap().outcome, outcome);
        if outcome != Outcome::Unchanged {
            self.model.put(id, text);
        }
    }

    fn insert_many(&mut self, first: u64) {
        let batch: Vec<(DocId, String)> =
            (0..8).map(|i| (DocId::Number(first + i), random_text(&mut self.random))).collect();
        let documents = batch.iter().map(|(id, text)| document(id, text)).collect();
        for result in self.collection.insert_many(documents).unwrap() {
            result.unwrap();
        }
        batch.iter().for_each(|(id, text)| self.model.put(id, text));
    }

    fn delete_many(&mut self) {
        let all: Vec<DocId> = self.model.docs.values().map(|(id, _)| id.clone()).collect();
        let ids: Vec<DocId> = all.into_iter().filter(|_| self.random.next().is_multiple_of(4)).collect();
        let deleted = self.collection.delete_many(ids.clone()).unwrap();
        assert_eq!(deleted, vec![true; ids.len()]);
        ids.iter().for_each(|id| _ = self.model.remove(id));
    }

    fn reopen(&mut self) {
        let digest = self.collection.digest().unwrap();
        self.catalog.take().unwrap().close();
        let catalog = Catalog::open(self.dir.path(), OpenOptions::default()).unwrap();
        self.collection = catalog.collection("model").unwrap();
        self.catalog = Some(catalog);
        assert_eq!(self.collection.digest().unwrap(), digest);
    }

    fn rebuild(&mut self) {
        let digest = self.collection.digest().unwrap();
        self.collection.rebuild().unwrap();
        assert_eq!(self.collection.digest().unwrap(), digest);
    }

    fn check(&mut self) {
        assert_eq!(self.collection.len(), self.model.docs.len());
        let mut clusters: BTreeMap<ClusterId, Vec<u64>> = BTreeMap::new();
        for (number, (id, text)) in &self.model.docs {
            let stored = self.collection.get(id).unwrap().unwrap();
            assert_eq!(stored.document.content, Content::Text(text.clone()));
            assert_eq!(stored.cluster.is_some(), stored.status == Status::Ok);
            if let Some(cluster) = stored.cluster {
                clusters.entry(cluster).or_default().push(*number);
            }
            let similar = self.collection.similar(id, SimilarOptions::default()).unwrap().similar;
            let found =
                similar.into_iter().map(|similar| (similar.found.id, similar.found.verdict.similarity));
            assert_eq!(found.collect::<Vec<_>>(), self.model.matches(text, Some(id)));
        }
        for (cluster, numbers) in &clusters {
            assert_eq!(self.model.connected(numbers).len(), numbers.len(), "{cluster:?} is not connected");
            let detail = self.collection.cluster(*cluster).unwrap().unwrap();
            let members: Vec<&DocId> = detail.members.iter().map(|member| &member.id).collect();
            let expected: Vec<&DocId> = numbers.iter().map(|number| &self.model.docs[number].0).collect();
            assert_eq!(members, expected);
            assert_eq!(detail.size as usize, numbers.len());
        }
        self.check_that_cluster_ids_are_not_reused(clusters.into_keys().collect());
        assert_eq!(self.catalog.as_ref().unwrap().verify().unwrap(), []);
    }

    fn check_that_cluster_ids_are_not_reused(&mut self, clusters: BTreeSet<ClusterId>) {
        self.removed_clusters.extend(self.clusters.difference(&clusters));
        let reused: Vec<&ClusterId> = self.removed_clusters.intersection(&clusters).collect();
        assert!(reused.is_empty(), "{reused:?}");
        self.clusters = clusters;
    }
}

#[test]
fn agrees_with_a_simple_model_over_random_changes_and_restarts() {
    for seed in 1..4 {
        let mut test = Test::new(seed);
        for step in 0..200 {
            println!("seed {seed}, step {step}");
            test.change(step);
            if step % 25 == 0 {
                test.check();
            }
        }
        test.check();
        assert!(!test.removed_clusters.is_empty(), "no cluster was removed, so reuse was not tested");
    }
}
