//! Compares a catalog with a simple model over random changes and restarts.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use sameish::cluster::ClusterId;
use sameish::config::Linkage;
use sameish::random::SplitMix64;
use sameish::{Analyzer, Content, DocId, Document, Preset, Scratch, Status, Timestamp};
use sameish_store::{
    Catalog, Center, ClusterFilter, ClusterOrder, ClustersPage, Collection, CollectionConfig, Confirmation,
    Error, OpenOptions, Outcome, PairsPage, Periods, SimilarOptions,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::Duration;

#[path = "model/edits.rs"]
mod edits;
use edits::ModelEdit;

/// Bands of one row find every pair above the threshold, so the catalog must agree with the model.
const OVERRIDES: &str = "[minhash]\nrows = 128\nbands = { count = 128, rows = 1 }\n[text]\nmin_words = 10\n\
    [matching]\nlimit = 1000\ntemplates = \"merge\"\n";

/// Days between the dates of matching documents, in collections with a window.
const WINDOW: u32 = 2;

struct Model {
    analyzer: Analyzer,
    linkage: Linkage,
    window_days: Option<u32>,
    center: Center,
    /// Documents in order of insertion.
    docs: BTreeMap<u64, Doc>,
    insertions: u64,
    /// Edits in force, in order.
    edits: Vec<ModelEdit>,
}

#[derive(Clone, PartialEq)]
struct Doc {
    id: DocId,
    text: String,
    /// Day of the month of its date, if it has one.
    day: Option<u32>,
}

impl Doc {
    fn document(&self) -> Document {
        Document {
            id: self.id.clone(),
            published_at: self.day.map(|day| format!("2024-01-{day:02}")),
            source: self.day.filter(|day| *day > 2).map(|day| format!("source{}", day % 3)),
            ..Document::new(0, self.text.as_str())
        }
    }

    /// Returns `true` if the dates of two documents differ by at most a number of days. A document without a date has that of its
    /// arrival, which is years after all dates.
    fn is_within(&self, days: u32, other: &Doc) -> bool {
        match (self.day, other.day) {
            (Some(a), Some(b)) => a.abs_diff(b) <= days,
            (None, None) => true,
            _ => false,
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
        let within = self.window_days.is_none_or(|days| a.is_within(days, b));
        within.then(|| self.similarity(&a.text, &b.text)).flatten()
    }

    /// Returns `true` if a document can share a cluster: in online clustering, each text that is too short is alone.
    fn joins(&self, doc: &Doc) -> bool {
        let content = Content::Text(doc.text.clone());
        let status = self.analyzer.sketch(&content, &mut Scratch::default()).status;
        status == Status::Ok || self.linkage != Linkage::Online
    }

    /// Returns the place of a document in the order in which documents become centers.
    fn turn(&self, number: u64) -> (i64, u64) {
        let doc = &self.docs[&number];
        let rank = match self.center {
            Center::First => 0,
            // Documents without a date come last.
            Center::Newest => doc.day.map_or(1, |day| -i64::from(day)),
            Center::Longest => -(doc.text.len() as i64),
        };
        (rank, number)
    }

    /// Clusters all documents from scratch, in the order in which they become centers.
    fn clusters(&self) -> Clusters {
        let mut docs: Vec<(u64, &Doc)> = self.docs.iter().map(|(number, doc)| (*number, doc)).collect();
        docs.sort_by_key(|(number, _)| self.turn(*number));
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
    /// Whether clusters are edited.
    has_edits: bool,
}

impl Test {
    fn new(seed: u64, linkage: Linkage, window_days: Option<u32>, center: Center) -> Test {
        let dir = tempfile::tempdir().unwrap();
        let overrides = format!("{OVERRIDES}linkage = \"{}\"\n", format!("{linkage:?}").to_lowercase());
        let config = CollectionConfig {
            overrides,
            window_days,
            center: Some(center),
            ..CollectionConfig::new(Preset::Articles)
        };
        let analyzer = Analyzer::new(config.resolve().unwrap()).unwrap();
        let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
        let collection = catalog.create("model", config).unwrap();
        Test {
            dir,
            catalog: Some(catalog),
            collection,
            model: Model {
                analyzer,
                linkage,
                window_days,
                center,
                docs: BTreeMap::new(),
                insertions: 0,
                edits: Vec::new(),
            },
            has_edits: false,
            random: SplitMix64(seed),
            clusters: BTreeSet::new(),
            removed_clusters: BTreeSet::new(),
        }
    }

    fn random_doc(&mut self, id: DocId) -> Doc {
        let text = random_text(&mut self.random);
        let day = Some((self.random.next() % 8) as u32).filter(|day| *day > 0);
        Doc { id, text, day }
    }

    fn change(&mut self, step: u64) {
        if self.has_edits && self.random.next().is_multiple_of(4) {
            return self.change_edits();
        }
        let id = random_id(&mut self.random);
        let doc = self.random_doc(id);
        match self.random.next() % 20 {
            0..8 => self.insert(&doc),
            8..11 => self.replace(&doc),
            11..16 => assert_eq!(self.collection.delete(&doc.id).unwrap(), self.model.remove(&doc.id)),
            16 => self.insert_many(1000 + step * 8),
            17 if self.has_edits => self.expire(),
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

    /// Deletes the documents of the first days.
    fn expire(&mut self) {
        let days = 1 + (self.random.next() % 3) as u32;
        self.collection.set_periods(|periods| Periods { retention_days: Some(30), ..periods }).unwrap();
        let now = Timestamp::parse(&format!("2024-01-{:02}", 30 + days)).ok();
        let now = now.unwrap_or_else(|| Timestamp::parse(&format!("2024-02-{:02}", days - 1)).unwrap());
        let expired: Vec<DocId> = self
            .model
            .docs
            .values()
            .filter(|doc| doc.day.is_some_and(|day| day < days))
            .map(|doc| doc.id.clone())
            .collect();
        let removed = self.collection.expire(now, Confirmation::Given).unwrap().removed;
        assert_eq!(removed, expired.len());
        expired.iter().for_each(|id| assert!(self.model.remove(id)));
        self.collection.set_periods(|periods| Periods { retention_days: None, ..periods }).unwrap();
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
        assert_eq!(found.values().cloned().collect::<BTreeSet<_>>(), self.model.edited_clusters());
        self.check_marks(&found, &expected);
        let id_of = |number: &u64| self.model.docs[number].id.clone();
        for (cluster, numbers) in &found {
            let detail = self.collection.cluster(*cluster).unwrap().unwrap();
            let members: Vec<DocId> = detail.members.iter().map(|member| member.id.clone()).collect();
            let mut by_date = numbers.clone();
            by_date.sort_by_key(|number| (self.date_of(*number), *number));
            assert_eq!(members, by_date.iter().map(id_of).collect::<Vec<_>>());
            assert_eq!((detail.size as usize, detail.pending), (numbers.len(), false));
            if !self.has_edits {
                let center = numbers.iter().min_by_key(|number| self.model.turn(**number)).unwrap();
                assert_eq!(detail.center, Some(id_of(center)));
            }
            assert!(members.contains(&detail.center.unwrap()));
        }
        self.check_lists(&found);
        self.check_totals(&found);
        self.check_that_cluster_ids_are_not_reused(found.into_keys().collect());
        assert_eq!(self.catalog.as_ref().unwrap().verify().unwrap(), []);
    }

    /// Compares the lists of clusters by source, and the pairs of sources, with the clusters that were found.
    fn check_lists(&self, found: &BTreeMap<ClusterId, Vec<u64>>) {
        let source_of = |number: &u64| self.model.docs[number].document().source.unwrap_or_default();
        let sources = ["", "source0", "source1", "source2"];
        for source in sources {
            let filter = ClusterFilter { source: Some(source.to_owned()), ..ClusterFilter::default() };
            let page = ClustersPage {
                filter,
                limit: 1_000,
                order: ClusterOrder::Largest,
                ..ClustersPage::default()
            };
            let listed = self.collection.clusters(page).unwrap().clusters;
            let has_source = |numbers: &Vec<u64>| numbers.iter().any(|number| source_of(number) == source);
            let expected = found.iter().filter(|(_, numbers)| numbers.len() > 1 && has_source(numbers));
            let mut expected: Vec<(usize, ClusterId)> =
                expected.map(|(cluster, numbers)| (numbers.len(), *cluster)).collect();
            expected.sort_by(|a, b| b.cmp(a));
            assert_eq!(
                listed.iter().map(|cluster| (cluster.size as usize, cluster.id)).collect::<Vec<_>>(),
                expected
            );
            for cluster in &listed {
                let numbers = &found[&cluster.id];
                let distinct: BTreeSet<String> = numbers.iter().map(source_of).collect();
                let first = numbers.iter().min_by_key(|number| (self.date_of(**number), **number)).unwrap();
                assert_eq!(cluster.sources as usize, distinct.len());
                let date = cluster.dates.first().map(|date| date.as_milliseconds());
                assert_eq!(date, Some(self.date_of(*first)));
                assert_eq!(cluster.first_source.clone().unwrap_or_default(), source_of(first));
            }
        }
        let mut expected = 0;
        for numbers in found.values() {
            let first = numbers.iter().min_by_key(|number| (self.date_of(**number), **number)).unwrap();
            let later = numbers.iter().filter(|number| *number != first && source_of(number) == "source1");
            expected += if source_of(first) == "source2" { later.count() } else { 0 };
        }
        let mut pairs = 0;
        let page =
            PairsPage { later: "source1".into(), earlier: "source2".into(), after: None, limit: 1_000 };
        let next = self.collection.pairs_each(&page, usize::MAX, &mut |_| {
            pairs += 1;
            ControlFlow::Continue(())
        });
        assert_eq!((next.unwrap(), pairs), (None, expected));
    }

    fn date_of(&self, number: u64) -> i64 {
        let stored = self.collection.get(&self.model.docs[&number].id).unwrap().unwrap();
        let published = stored.document.published_at.map(|date| Timestamp::parse(&date).unwrap());
        published.unwrap_or(stored.arrived_at).as_milliseconds()
    }

    /// Compares the totals per day and per source, which the store maintains, with a count.
    fn check_totals(&self, found: &BTreeMap<ClusterId, Vec<u64>>) {
        let mut days: BTreeMap<i64, (u64, u64, u64)> = BTreeMap::new();
        let mut copies = 0;
        let mut clusters = 0;
        for numbers in found.values() {
            let first = numbers.iter().min_by_key(|number| (self.date_of(**number), **number)).unwrap();
            for number in numbers {
                let day = days.entry(self.date_of(*number).div_euclid(86_400_000)).or_default();
                day.0 += 1;
                day.1 += u64::from(number != first);
                copies += u64::from(number != first);
                let is_listed = number == first && numbers.len() > 1;
                day.2 += u64::from(is_listed);
                clusters += u64::from(is_listed);
            }
        }
        let stored = self.collection.days().unwrap();
        let stored = stored
            .iter()
            .map(|day| (day.day.as_milliseconds() / 86_400_000, (day.documents, day.copies, day.clusters)));
        assert_eq!(stored.collect::<BTreeMap<_, _>>(), days);
        let expected = (self.model.docs.len() as u64, copies, clusters);
        let mut totals = self.totals_of_sources();
        // If reading the sources took long, because the machine is busy, the previous result is returned for a while.
        for _ in 0..100 {
            if totals == expected {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
            totals = self.totals_of_sources();
        }
        assert_eq!(totals, expected);
    }

    /// Returns the number of documents, of copies and of clusters of all sources.
    fn totals_of_sources(&self) -> (u64, u64, u64) {
        let sources = &self.collection.sources().unwrap().sources;
        let total = |count: fn(&sameish_store::SourceTotal) -> u64| sources.iter().map(count).sum::<u64>();
        (total(|source| source.documents), total(|source| source.copies), total(|source| source.clusters))
    }

    fn check_that_cluster_ids_are_not_reused(&mut self, clusters: BTreeSet<ClusterId>) {
        // The end of an edit gives a cluster back.
        if self.has_edits {
            return;
        }
        self.removed_clusters.extend(self.clusters.difference(&clusters));
        let reused: Vec<&ClusterId> = self.removed_clusters.intersection(&clusters).collect();
        assert!(reused.is_empty(), "{reused:?}");
        self.clusters = clusters;
    }
}

/// Compares the catalog with the model, in which the clusters are those of the remaining documents in order of insertion.
fn agrees_with_the_model(linkage: Linkage, window_days: Option<u32>) {
    agrees_with_the_model_in_order(linkage, window_days, Center::First);
}

/// Compares the catalog with the model, in which the clusters are those of the remaining documents in the chosen order.
fn agrees_with_the_model_in_order(linkage: Linkage, window_days: Option<u32>, center: Center) {
    for seed in 1..4 {
        let mut test = Test::new(seed, linkage, window_days, center);
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

/// Compares the catalog with the model, in which edits are applied to the clusters of the remaining documents.
fn agrees_with_the_model_of_edits(linkage: Linkage, window_days: Option<u32>) {
    agrees_with_the_model_of_edits_in_order(linkage, window_days, Center::First);
}

fn agrees_with_the_model_of_edits_in_order(linkage: Linkage, window_days: Option<u32>, center: Center) {
    for seed in 1..3 {
        let mut test = Test::new(seed, linkage, window_days, center);
        test.has_edits = true;
        for step in 0..160 {
            println!("seed {seed}, step {step}");
            test.change(step);
            if step % 8 == 0 {
                test.check();
            }
        }
        test.check();
        // Without edits, the clusters are those of the linkage.
        while let Some(edit) = test.model.edits.pop() {
            assert!(test.collection.undo_edit(edit.number).unwrap());
        }
        test.check();
    }
}

#[test]
fn cohesive_clusters_with_edits_are_those_of_all_edits_in_order() {
    agrees_with_the_model_of_edits(Linkage::Cohesive, None);
}

#[test]
fn cohesive_clusters_with_edits_and_a_window_are_those_of_all_edits_in_order() {
    agrees_with_the_model_of_edits(Linkage::Cohesive, Some(WINDOW));
}

#[test]
fn clusters_around_the_newest_with_edits_are_those_of_all_edits_in_order() {
    agrees_with_the_model_of_edits_in_order(Linkage::Greedy, None, Center::Newest);
}

#[test]
fn clusters_around_the_newest_are_those_from_the_newest_to_the_oldest() {
    agrees_with_the_model_in_order(Linkage::Greedy, None, Center::Newest);
}

#[test]
fn clusters_around_the_newest_with_a_window_are_those_from_the_newest_to_the_oldest() {
    agrees_with_the_model_in_order(Linkage::Cohesive, Some(WINDOW), Center::Newest);
}

#[test]
fn clusters_around_the_longest_are_those_from_the_longest_to_the_shortest() {
    agrees_with_the_model_in_order(Linkage::Cohesive, None, Center::Longest);
}

#[test]
fn clusters_around_the_longest_with_a_window_are_those_from_the_longest_to_the_shortest() {
    agrees_with_the_model_in_order(Linkage::Cohesive, Some(WINDOW), Center::Longest);
}

#[test]
fn online_clusters_with_edits_are_those_of_all_edits_in_order() {
    agrees_with_the_model_of_edits(Linkage::Online, None);
}

#[test]
fn online_clusters_with_edits_and_a_window_are_those_of_all_edits_in_order() {
    agrees_with_the_model_of_edits(Linkage::Online, Some(WINDOW));
}

#[test]
fn components_with_edits_are_those_of_all_edits_in_order() {
    agrees_with_the_model_of_edits(Linkage::Components, None);
}

#[test]
fn components_with_edits_and_a_window_are_those_of_all_edits_in_order() {
    agrees_with_the_model_of_edits(Linkage::Components, Some(WINDOW));
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
