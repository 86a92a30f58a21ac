//! Compares a catalog with a simple model over random changes and restarts.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use sameish::cluster::ClusterId;
use sameish::config::Linkage;
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

/// Days between the dates of matching documents, in collections with a window.
const WINDOW: u32 = 2;

struct Model {
    analyzer: Analyzer,
    linkage: Linkage,
    window_days: Option<u32>,
    /// Documents in order of insertion.
    docs: BTreeMap<u64, Doc>,
    insertions: u64,
}

#[derive(Clone, PartialEq)]
struct Doc {
    id: DocId,
    text: String,
    /// Day of the month of its date.
    day: u32,
}

impl Doc {
    fn document(&self) -> Document {
        Document {
            id: self.id.clone(),
            published_at: Some(format!("2024-01-{:02}", self.day)),
            ..Document::new(0, self.text.as_str())
        }
    }
}

/// The clusters of a model: their documents in order, by center.
type Clusters = BTreeMap<u64, Vec<u64>>;

impl Model {
    fn number(&self, id: &DocId) -> Option<u64> {
        self.docs.iter().find(|(_, doc)| doc.id == *id).map(|(number, _)| *number)
    }

    fn get(&self, id: &DocId) -> Option<&Doc> {
        self.docs.values().find(|doc| doc.id == *id)
    }

    fn put(&mut self, doc: &Doc) {
        self.remove(&doc.id);
        self.insertions += 1;
        self.docs.insert(self.insertions, doc.clone());
    }

    fn remove(&mut self, id: &DocId) -> bool {
        self.number(id).is_some_and(|number| self.docs.remove(&number).is_some())
    }

    /// Returns the similarity of two documents if they match.
    fn match_of(&self, a: &Doc, b: &Doc) -> Option<f64> {
        let within = self.window_days.is_none_or(|days| a.day.abs_diff(b.day) <= days);
        within.then(|| self.similarity(&a.text, &b.text)).flatten()
    }

    /// Returns `true` if a document can share a cluster: in online clustering, each text that is too short is alone.
    fn joins(&self, doc: &Doc) -> bool {
        let content = Content::Text(doc.text.clone());
        let status = self.analyzer.sketch(&content, &mut Scratch::default()).status;
        status == Status::Ok || self.linkage != Linkage::Online
    }

    /// Clusters all documents from scratch, in order of insertion.
    fn clusters(&self) -> Clusters {
        let docs: Vec<(u64, &Doc)> = self.docs.iter().map(|(number, doc)| (*number, doc)).collect();
        let joins: BTreeSet<u64> =
            docs.iter().filter(|(_, doc)| self.joins(doc)).map(|(number, _)| *number).collect();
        let mut clusters = Clusters::new();
        let mut center_of: BTreeMap<u64, u64> = BTreeMap::new();
        for (at, (number, doc)) in docs.iter().enumerate() {
            let may_join = |other: &&(u64, &Doc)| joins.contains(number) && joins.contains(&other.0);
            let earlier = docs[..at].iter().filter(may_join);
            let matches: Vec<(u64, f64)> =
                earlier.filter_map(|(other, with)| Some((*other, self.match_of(doc, with)?))).collect();
            let mut joined: BTreeSet<u64> = match self.linkage {
                Linkage::Cohesive | Linkage::Greedy => matches
                    .iter()
                    .map(|(other, _)| *other)
                    .find(|other| center_of[other] == *other)
                    .into_iter()
                    .collect(),
                Linkage::Online => {
                    let best = matches.iter().min_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                    best.map(|(other, _)| center_of[other]).into_iter().collect()
                }
                Linkage::Components => matches.iter().map(|(other, _)| center_of[other]).collect(),
            };
            let center = joined.pop_first().unwrap_or(*number);
            center_of.insert(*number, center);
            center_of.values_mut().filter(|other| joined.contains(other)).for_each(|other| *other = center);
        }
        center_of.iter().for_each(|(number, center)| clusters.entry(*center).or_default().push(*number));
        clusters
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
            if a.distance(b) > 5 || a.is_zero() || b.is_zero() {
                return None;
            }
        }
        Some(a.features.shingles.jaccard(&b.features.shingles)).filter(|jaccard| *jaccard >= 0.5)
    }

    /// Returns the other documents that match a document, most similar first.
    fn matches(&self, doc: &Doc) -> Vec<(DocId, f64)> {
        let others = self.docs.values().filter(|other| other.id != doc.id);
        let mut matches: Vec<(DocId, f64)> =
            others.filter_map(|other| Some((other.id.clone(), self.match_of(doc, other)?))).collect();
        matches.sort_by(|a, b| b.1.total_cmp(&a.1));
        matches
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
    fn new(seed: u64, linkage: Linkage, window_days: Option<u32>) -> Test {
        let dir = tempfile::tempdir().unwrap();
        let overrides = format!("{OVERRIDES}linkage = \"{}\"\n", format!("{linkage:?}").to_lowercase());
        let config = CollectionConfig { overrides, window_days, ..CollectionConfig::new(Preset::Articles) };
        let analyzer = Analyzer::new(config.resolve().unwrap()).unwrap();
        let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
        let collection = catalog.create("model", config).unwrap();
        Test {
            dir,
            catalog: Some(catalog),
            collection,
            model: Model { analyzer, linkage, window_days, docs: BTreeMap::new(), insertions: 0 },
            random: SplitMix64(seed),
            clusters: BTreeSet::new(),
            removed_clusters: BTreeSet::new(),
        }
    }

    fn random_doc(&mut self, id: DocId) -> Doc {
        let text = random_text(&mut self.random);
        let day = 1 + (self.random.next() % 7) as u32;
        Doc { id, text, day }
    }

    fn change(&mut self, step: u64) {
        let id = random_id(&mut self.random);
        let doc = self.random_doc(id);
        match self.random.next() % 20 {
            0..8 => self.insert(&doc),
            8..11 => self.replace(&doc),
            11..16 => assert_eq!(self.collection.delete(&doc.id).unwrap(), self.model.remove(&doc.id)),
            16 => self.insert_many(1000 + step * 8),
            17 => self.delete_many(),
            // A rebuild clusters all documents from scratch, which would hide errors of the changes before.
            18 if step.is_multiple_of(4) => self.rebuild(),
            _ => self.reopen(),
        }
    }

    fn insert(&mut self, doc: &Doc) {
        let expected = self.model.matches(doc);
        let known = self.model.get(&doc.id).cloned();
        match self.collection.insert(doc.document()) {
            Ok(inserted) => {
                let outcome = if known.is_some() { Outcome::Unchanged } else { Outcome::Created };
                assert_eq!(inserted.outcome, outcome);
                let found = inserted.duplicates.into_iter().map(|found| (found.id, found.verdict.similarity));
                assert_eq!(found.collect::<Vec<_>>(), expected);
                match known {
                    Some(known) => assert_eq!(known.text, doc.text),
                    None => self.model.put(doc),
                }
            }
            Err(Error::Conflict { .. }) => assert!(known.is_some_and(|known| known.text != doc.text)),
            Err(error) => panic!("{error}"),
        }
    }

    fn replace(&mut self, doc: &Doc) {
        let outcome = match self.model.get(&doc.id) {
            Some(known) if known == doc => Outcome::Unchanged,
            Some(_) => Outcome::Replaced,
            None => Outcome::Created,
        };
        assert_eq!(self.collection.replace(doc.document()).unwrap().outcome, outcome);
        if outcome != Outcome::Unchanged {
            self.model.put(doc);
        }
    }

    fn insert_many(&mut self, first: u64) {
        let batch: Vec<Doc> = (0..8).map(|i| self.random_doc(DocId::Number(first + i))).collect();
        let documents = batch.iter().map(Doc::document).collect();
        for result in self.collection.insert_many(documents).unwrap() {
            result.unwrap();
        }
        batch.iter().for_each(|doc| self.model.put(doc));
    }

    fn delete_many(&mut self) {
        let all: Vec<DocId> = self.model.docs.values().map(|doc| doc.id.clone()).collect();
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
        self.catalog.as_ref().unwrap().settle().unwrap();
        assert_eq!(self.collection.len(), self.model.docs.len());
        let mut found: BTreeMap<ClusterId, Vec<u64>> = BTreeMap::new();
        for (number, doc) in &self.model.docs {
            let stored = self.collection.get(&doc.id).unwrap().unwrap();
            assert_eq!(stored.document, doc.document());
            assert!(stored.cluster.is_some());
            if let Some(cluster) = stored.cluster {
                found.entry(cluster).or_default().push(*number);
            }
            let similar = self.collection.similar(&doc.id, SimilarOptions::default()).unwrap().similar;
            let similar =
                similar.into_iter().map(|similar| (similar.found.id, similar.found.verdict.similarity));
            assert_eq!(similar.collect::<Vec<_>>(), self.model.matches(doc));
        }
        let expected = self.model.clusters();
        let by_center: Clusters = found.values().map(|numbers| (numbers[0], numbers.clone())).collect();
        assert_eq!(by_center, expected);
        let id_of = |number: &u64| self.model.docs[number].id.clone();
        for (cluster, numbers) in &found {
            let detail = self.collection.cluster(*cluster).unwrap().unwrap();
            let members: Vec<DocId> = detail.members.iter().map(|member| member.id.clone()).collect();
            assert_eq!(members, numbers.iter().map(id_of).collect::<Vec<_>>());
            assert_eq!((detail.size as usize, detail.pending), (numbers.len(), false));
            assert_eq!(detail.center, Some(id_of(&numbers[0])));
        }
        self.check_that_cluster_ids_are_not_reused(found.into_keys().collect());
        assert_eq!(self.catalog.as_ref().unwrap().verify().unwrap(), []);
    }

    fn check_that_cluster_ids_are_not_reused(&mut self, clusters: BTreeSet<ClusterId>) {
        self.removed_clusters.extend(self.clusters.difference(&clusters));
        let reused: Vec<&ClusterId> = self.removed_clusters.intersection(&clusters).collect();
        assert!(reused.is_empty(), "{reused:?}");
        self.clusters = clusters;
    }
}

/// Compares the catalog with the model, in which the clusters are those of the remaining documents in order of insertion.
fn agrees_with_the_model(linkage: Linkage, window_days: Option<u32>) {
    for seed in 1..4 {
        let mut test = Test::new(seed, linkage, window_days);
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

#[test]
fn cohesive_clusters_are_those_of_the_remaining_documents_in_order() {
    agrees_with_the_model(Linkage::Cohesive, None);
}

#[test]
fn cohesive_clusters_with_a_window_are_those_of_the_remaining_documents_in_order() {
    agrees_with_the_model(Linkage::Cohesive, Some(WINDOW));
}

#[test]
fn online_clusters_are_those_of_the_remaining_documents_in_order() {
    agrees_with_the_model(Linkage::Online, None);
}

#[test]
fn online_clusters_with_a_window_are_those_of_the_remaining_documents_in_order() {
    agrees_with_the_model(Linkage::Online, Some(WINDOW));
}

#[test]
fn components_are_those_of_the_remaining_documents() {
    agrees_with_the_model(Linkage::Components, None);
}

#[test]
fn components_with_a_window_are_those_of_the_remaining_documents() {
    agrees_with_the_model(Linkage::Components, Some(WINDOW));
}
