//! Lists of clusters with filters, the documents of a cluster, and sources.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{Service, article};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

/// Stores a document of a story; documents of one story have the same text.
fn store(service: &Service, story: u64, id: &str, host: Option<&str>, date: &str) {
    let document = json!({
        "id": id, "title": format!("Story {story} in {id}"), "text": article(story, 70), "host": host,
        "published_at": date, "lang": "en",
    });
    service.post("/api/v1/articles", &document).expect(201);
}

/// Three clusters: story 1 with three documents, story 2 and story 3 with two.
fn stories() -> Service {
    let service = Service::start();
    store(&service, 1, "b1", Some("b.example"), "2024-01-03T00:00:00Z");
    store(&service, 1, "a1", Some("a.example"), "2024-01-01T00:00:00Z");
    store(&service, 2, "a2", Some("a.example"), "2024-02-01T00:00:00Z");
    store(&service, 2, "c2", Some("c.example"), "2024-02-01T01:00:00Z");
    store(&service, 3, "none3", None, "2024-03-01T00:00:00Z");
    store(&service, 3, "b3", Some("b.example"), "2024-03-02T00:00:00Z");
    store(&service, 1, "c1", Some("c.example"), "2024-01-02T00:00:00Z");
    store(&service, 9, "alone", Some("a.example"), "2024-04-01T00:00:00Z");
    service
}

/// Returns the centers of all pages of a list with one cluster per page.
fn centers(service: &Service, query: &str) -> Vec<String> {
    let mut centers = Vec::new();
    let first = format!("/api/v1/articles/clusters?limit=1&{query}");
    let mut path = first.clone();
    loop {
        let page = service.get(&path).expect(200).json();
        let clusters = page["clusters"].as_array().unwrap();
        centers.extend(clusters.iter().map(|cluster| cluster["center"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => path = format!("{first}&cursor={next}"),
            None => return centers,
        }
    }
}

#[test]
fn sorts_and_filters_clusters() {
    let service = stories();
    for (query, expected) in [
        ("", &["none3", "a2", "b1"][..]),
        ("sort=newest", &["none3", "a2", "b1"]),
        ("sort=largest", &["b1", "none3", "a2"]),
        ("sort=active", &["b1", "none3", "a2"]),
        ("source=c.example", &["a2", "b1"]),
        ("source=", &["none3"]),
        ("source=d.example", &[]),
        ("min_size=3", &["b1"]),
        ("sort=largest&min_size=3", &["b1"]),
        ("since=2024-02-01", &["none3", "a2"]),
        ("since=2024-02-01T00:30:00Z&until=2024-02-28", &["a2"]),
        ("until=2024-01-01", &["b1"]),
        ("since=2024-01-03&until=2024-01-31", &["b1"]),
        ("since=2024-01-04&until=2024-01-31", &[]),
        ("q=story%202", &["a2"]),
        ("q=STORY", &["none3", "a2", "b1"]),
        ("q=none3", &["none3"]),
        ("q=missing", &[]),
        ("q=story&source=b.example&sort=largest", &["b1", "none3"]),
    ] {
        assert_eq!(centers(&service, query), expected, "{query}");
    }
    for (query, pointer) in [("sort=x", "?sort"), ("since=x", "?since"), ("until=2024-13-01", "?until")] {
        service.get(&format!("/api/v1/articles/clusters?{query}")).expect_fault(pointer, "invalid");
    }
    let page = service.get("/api/v1/articles/clusters?limit=1&source=c.example").json();
    let next = page["next"].as_str().unwrap();
    service.get(&format!("/api/v1/articles/clusters?limit=1&cursor={next}")).expect_problem(400);
}

#[test]
fn a_listed_cluster_has_its_dates_and_sources() {
    let service = stories();
    let page = service.get("/api/v1/articles/clusters?sort=largest&limit=1").expect(200).json();
    let cluster = &page["clusters"][0];
    assert_eq!(cluster["sources"], 3);
    assert_eq!(cluster["first_source"], "a.example");
    assert_eq!(cluster["lang"], "en");
    assert_eq!(cluster["first"], "2024-01-01T00:00:00Z");
    assert_eq!(cluster["last"], "2024-01-03T00:00:00Z");
    let arrivals = ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z"];
    assert_eq!(cluster["arrivals"], json!(arrivals));
}

#[test]
fn a_cluster_has_its_documents_in_order_of_publication() {
    let service = stories();
    let number = service.get("/api/v1/articles/b1").json()["cluster"].as_u64().unwrap();
    let path = format!("/api/v1/articles/clusters/{number}");
    let cluster = service.get(&path).expect(200).json();
    assert_eq!(cluster["first"], json!({"id": "a1", "host": "a.example", "date": "2024-01-01T00:00:00Z"}));
    assert_eq!(cluster["last"], "2024-01-03T00:00:00Z");
    assert_eq!(cluster["sources"].as_array().unwrap().len(), 3);
    let field = |name: &str| -> Vec<Value> {
        cluster["members"].as_array().unwrap().iter().map(|member| member[name].clone()).collect()
    };
    assert_eq!(field("id"), ["a1", "c1", "b1"]);
    assert_eq!(field("lead_seconds"), [0, 86_400, 172_800]);
    assert_eq!(field("similarity"), [1.0, 1.0, 1.0]);
    assert_eq!(field("joined"), [json!("b1"), json!("b1"), Value::Null]);
    assert_eq!(field("edited"), [false, false, false]);
    let page = service.get(&format!("{path}?limit=2")).expect(200).json();
    assert_eq!(page["members"].as_array().unwrap().len(), 2);
    let next = page["next"].as_str().unwrap();
    let rest = service.get(&format!("{path}?limit=2&cursor={next}")).expect(200).json();
    assert_eq!(rest["members"][0]["id"], "b1");
    assert_eq!(rest["next"], Value::Null);
}

#[test]
fn lists_all_documents_of_a_cluster_of_more_than_a_thousand() {
    let service = Service::start();
    let text = article(1, 60);
    let lines: String = (0..1_205).map(|i| format!("{}\n", json!({"id": i, "text": text}))).collect();
    assert_eq!(service.bulk("/api/v1/articles/bulk", &lines).len(), 1_205);
    let number = service.get("/api/v1/articles/0").json()["cluster"].as_u64().unwrap();
    let first = format!("/api/v1/articles/clusters/{number}");
    let mut ids = Vec::new();
    let mut path = first.clone();
    loop {
        let page = service.get(&path).expect(200).json();
        assert_eq!(page["size"], 1_205);
        ids.extend(page["members"].as_array().unwrap().iter().map(|member| member["id"].as_u64().unwrap()));
        match page["next"].as_str() {
            Some(next) => path = format!("{first}?cursor={next}"),
            None => break,
        }
    }
    assert!(ids.iter().copied().eq(0..1_205), "{} documents", ids.len());
}

#[test]
fn sources_tell_who_published_first() {
    let service = stories();
    let found = service.get("/api/v1/articles/sources").expect(200).json();
    let sources = json!([
        {"source": "a.example", "documents": 3, "copies": 0, "clusters": 2},
        {"source": "b.example", "documents": 2, "copies": 2, "clusters": 0},
        {"source": "c.example", "documents": 2, "copies": 2, "clusters": 0},
        {"source": null, "documents": 1, "copies": 0, "clusters": 1},
    ]);
    assert_eq!(found["sources"], sources);
    assert_eq!(found["complete"], true);
    let mut cells: Vec<Value> = found["matrix"].as_array().unwrap().clone();
    cells.sort_by_key(Value::to_string);
    let cell = |later: &str, earlier: Option<&str>, pairs: u64, median: u64| json!({"later": later, "earlier": earlier, "pairs": pairs, "median_lead_seconds": median});
    let mut expected = vec![
        cell("b.example", Some("a.example"), 1, 172_800),
        cell("b.example", None, 1, 86_400),
        cell("c.example", Some("a.example"), 2, 86_400),
    ];
    expected.sort_by_key(Value::to_string);
    assert_eq!(cells, expected);
    let few = service.get("/api/v1/articles/sources?limit=1").expect(200).json();
    assert_eq!(few["matrix"], json!([]));
    assert_eq!((few["sources"].as_array().unwrap().len(), &few["total"]), (1, &json!(4)));
    assert_eq!((&few["sources"][0], &found["total"]), (&found["sources"][0], &json!(4)));
}

/// A cluster with documents before and after a range, and none within it, is not selected.
#[test]
fn dates_select_clusters_with_a_document_within_them() {
    let service = stories();
    store(&service, 5, "first5", Some("a.example"), "2025-01-01T00:00:00Z");
    store(&service, 5, "last5", Some("a.example"), "2025-12-31T00:00:00Z");
    let selected = |query: &str| centers(&service, query).contains(&"first5".to_owned());
    for query in ["since=2025-06-01&until=2025-06-02", "since=2025-01-02&until=2025-12-30"] {
        assert!(!selected(query) && !selected(&format!("source=a.example&{query}")), "{query}");
    }
    for query in [
        "since=2025-06-01",
        "until=2025-06-02",
        "since=2025-12-31",
        "until=2025-01-01",
        "since=2025-01-01&until=2025-01-01",
        "since=2024-12-01&until=2026-02-01",
    ] {
        assert!(selected(query), "{query}");
    }
    store(&service, 5, "between5", Some("a.example"), "2025-06-02T23:59:59Z");
    assert!(selected("since=2025-06-01&until=2025-06-02"));
    assert!(!selected("since=2025-06-03&until=2025-06-04"));
}

/// The cost of a search for words grows with the titles that it reads, so a request ends after about a megabyte of them.
#[test]
fn a_search_for_words_reads_a_bounded_size_of_titles() {
    let service = Service::start();
    let title = |story: u64| format!("{story} {}", "long ".repeat(12_000));
    for story in 0..60 {
        for copy in ["a", "b"] {
            let id = format!("{copy}{story}");
            let document = json!({"id": id, "title": title(story), "text": article(story, 70)});
            service.post("/api/v1/articles", &document).expect(201);
        }
    }
    let page = service.get("/api/v1/articles/clusters?q=nothinghasthisword").expect(200).json();
    assert_eq!((&page["clusters"], &page["capped"]), (&json!([]), &json!(true)));
    assert!(page["next"].is_string());
    let mut path = "/api/v1/articles/clusters?q=nothinghasthisword".to_owned();
    let first = path.clone();
    for pages in 1.. {
        let page = service.get(&path).expect(200).json();
        match page["next"].as_str() {
            Some(next) => path = format!("{first}&cursor={next}"),
            None => {
                assert!((3..=6).contains(&pages), "{pages} pages for 3.6 MB of titles");
                break;
            }
        }
    }
    assert_eq!(centers(&service, "q=17%20long"), ["a17"]);
}

#[test]
fn json_is_compressed_for_clients_that_accept_it() {
    let service = stories();
    let path = "/api/v1/articles/clusters";
    let plain = service.get(path).expect(200);
    assert!(plain.body.len() > 1_024 && plain.header("content-encoding").is_none());
    let accepting = [("accept-encoding", "br, gzip")];
    let compressed = service.send("GET", path, &accepting, b"");
    assert_eq!(compressed.header("content-encoding"), Some("gzip"));
    assert_eq!(compressed.header("vary"), Some("accept-encoding"));
    assert!(compressed.body.len() < plain.body.len() / 2, "{} bytes", compressed.body.len());
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&compressed.body[..]).read_to_end(&mut text).unwrap();
    assert_eq!(text, plain.body);
    let small = service.send("GET", "/api/v1/articles/alone/similar", &accepting, b"");
    assert!(small.header("content-encoding").is_none() && small.json()["similar"] == json!([]), "{small:?}");
    let refused = service.send("GET", path, &[("accept-encoding", "gzip;q=0")], b"");
    assert_eq!(refused.body, plain.body);
    let head = service.send("HEAD", path, &accepting, b"");
    assert_eq!((head.status, head.header("content-encoding")), (200, Some("gzip")));
}

#[test]
fn lists_the_pairs_of_two_sources() {
    let service = stories();
    let first = "/api/v1/articles/sources?later=c.example&earlier=a.example&limit=1";
    let page = service.get(first).expect(200).json();
    assert_eq!(page["pairs"][0]["lead_seconds"], 3_600);
    assert_eq!(page["pairs"][0]["later"]["id"], "c2");
    assert_eq!(page["pairs"][0]["earlier"]["id"], "a2");
    let next = page["next"].as_str().unwrap();
    let page = service.get(&format!("{first}&cursor={next}")).expect(200).json();
    assert_eq!(page["pairs"][0]["later"]["id"], "c1");
    assert_eq!(page["pairs"][0]["lead_seconds"], 86_400);
    let without = service.get("/api/v1/articles/sources?later=b.example&earlier=").expect(200).json();
    assert_eq!(without["pairs"][0]["earlier"]["id"], "none3");
    assert_eq!(without["earlier"], Value::Null);
    service.get("/api/v1/articles/sources?later=a.example").expect_fault("?earlier", "missing");
    service.get("/api/v1/articles/sources?earlier=a.example").expect_fault("?later", "missing");
    let other = format!("/api/v1/articles/sources?later=b.example&earlier=a.example&cursor={next}");
    service.get(&other).expect_problem(400);
}

#[test]
fn a_collection_counts_documents_copies_and_clusters_per_day() {
    let service = stories();
    let days = &service.get("/api/v1/articles").expect(200).json()["days"];
    assert_eq!(days.as_array().unwrap().len(), 7);
    assert_eq!(days[0], json!({"date": "2024-01-01", "documents": 1, "copies": 0, "clusters": 1}));
    assert_eq!(days[3], json!({"date": "2024-02-01", "documents": 2, "copies": 1, "clusters": 1}));
    service.delete("/api/v1/articles/a1").expect(204);
    let days = &service.get("/api/v1/articles").expect(200).json()["days"];
    assert_eq!(days[0], json!({"date": "2024-01-02", "documents": 1, "copies": 0, "clusters": 1}));
}

/// Two copies, and a third text with some other words.
fn similar_texts() -> Service {
    let service = Service::start();
    let words: Vec<String> = (0..100).map(|i| format!("word{i}")).collect();
    let mut changed = words.clone();
    changed[50] = "other".into();
    for (id, words) in [("a", &words), ("b", &words), ("c", &changed)] {
        service.post("/api/v1/copies", json!({"id": id, "title": id, "text": words.join(" ")})).expect(201);
    }
    service.post("/api/v1/copies", json!({"id": "d", "text": article(5, 80)})).expect(201);
    service
}

#[test]
fn counts_pairs_by_similarity() {
    let service = similar_texts();
    let histogram = service.get("/api/v1/copies/histogram").expect(200).json();
    assert_eq!((&histogram["documents"], &histogram["sampled"]), (&json!(4), &json!(4)));
    assert_eq!(histogram["exact"], true);
    let bins = histogram["bins"].as_array().unwrap();
    assert_eq!(bins[0]["from"], histogram["threshold"]);
    assert_eq!(bins.last().unwrap()["pairs"], 1);
    assert_eq!(bins.iter().map(|bin| bin["pairs"].as_u64().unwrap()).sum::<u64>(), 3);
    assert!(histogram["bands"].as_u64() > Some(0) && histogram["rows"].as_u64() > Some(0));
    service.post("/api/v1/copies", json!({"id": "e", "text": article(5, 80)})).expect(201);
    let histogram = service.get("/api/v1/copies/histogram").expect(200).json();
    assert_eq!(histogram["bins"].as_array().unwrap().last().unwrap()["pairs"], 2, "after an insertion");
}

#[test]
fn previews_a_threshold() {
    let service = similar_texts();
    let preview = |threshold: f64| {
        service.get(&format!("/api/v1/copies/preview?threshold={threshold}")).expect(200).json()
    };
    let own = service.get("/api/v1/copies").json()["threshold"].as_f64().unwrap();
    let same = preview(own);
    assert_eq!(same["pairs"], json!({"value": 3, "low": 3, "high": 3}));
    assert_eq!((&same["exact"], &same["capped"]), (&json!(true), &json!(false)));
    assert_eq!((&same["clusters"]["value"], &same["copies"]["value"]), (&json!(1), &json!(2)));
    assert_eq!(same["largest_cluster"], 3);
    assert_eq!((same["above"].as_array().unwrap().len(), same["below"].as_array().unwrap().len()), (3, 0));
    let strict = preview(1.0);
    assert_eq!(strict["copies"]["value"], 1);
    assert_eq!(strict["above"][0]["a"]["id"], "b");
    assert!(strict["above"][0]["a"]["excerpt"].as_str().unwrap().starts_with("word0 word1"));
    assert_eq!(strict["below"].as_array().unwrap().len(), 2);
    let unknown = preview(own / 2.0);
    assert_eq!((&unknown["known"], &unknown["pairs"]), (&json!(false), &Value::Null));
    assert!(unknown["reason"].is_string());
    service.get("/api/v1/copies/preview").expect_fault("?threshold", "missing");
    service.get("/api/v1/copies/preview?threshold=2").expect_fault("?threshold", "out_of_range");
}

#[test]
fn estimates_pairs_of_a_large_collection_from_a_sample() {
    let service = Service::start();
    let lines: String =
        (0..3_000).map(|i| format!("{}\n", json!({"id": i, "text": article(i / 2, 40)}))).collect();
    service.bulk("/api/v1/copies/bulk", &lines);
    let found = service.get("/api/v1/copies/preview?threshold=0.95").expect(200).json();
    assert_eq!(found["exact"], false);
    let sampled = found["sampled"].as_u64().unwrap();
    assert!((300..500).contains(&sampled), "{sampled}");
    for name in ["pairs", "clusters", "copies"] {
        let bound = |bound: &str| found[name][bound].as_u64().unwrap();
        assert!(bound("low") <= 1_500 && 1_500 <= bound("high"), "{name}: {}", found[name]);
    }
    assert_eq!(found["largest_cluster"], Value::Null);
}

/// Returns the first `count` words of a text in which no word occurs twice.
fn words(count: usize) -> String {
    let words: Vec<String> = (0..count).map(|i| format!("word{i}")).collect();
    words.join(" ")
}

#[test]
fn members_and_matches_have_a_relation() {
    let service = Service::start();
    let settings = json!({"preset": "copies", "overrides": {"matching": {"threshold": 0.5}}});
    service.put("/api/v1/related", settings).expect(201);
    for (id, text, date) in [
        ("first", words(100), "2024-01-01"),
        ("copy", words(100), "2024-01-02"),
        ("longer", words(150), "2024-01-03"),
        ("excerpt", words(60), "2024-01-04"),
    ] {
        let document = json!({"id": id, "text": text, "published_at": date});
        service.post("/api/v1/related", document).expect(201);
    }
    let cluster = service.get("/api/v1/related/first").json()["cluster"].clone();
    let members = service.get(&format!("/api/v1/related/clusters/{cluster}")).expect(200).json();
    let relation = |member: &Value| (member["id"].as_str().unwrap().to_owned(), member["relation"].clone());
    let relations: Vec<(String, Value)> =
        members["members"].as_array().unwrap().iter().map(relation).collect();
    let expected = [
        ("first", json!(null)),
        ("copy", json!("same")),
        ("longer", json!("updated_by")),
        ("excerpt", json!("contains")),
    ];
    assert_eq!(relations, expected.map(|(id, relation)| (id.to_owned(), relation)));
    let similar = |query: &str| {
        let found = service.get(&format!("/api/v1/related/longer/similar?{query}")).expect(200).json();
        let found = found["similar"].as_array().unwrap().clone();
        found.into_iter().find(|found| found["id"] == "first").unwrap()["relation"].clone()
    };
    for query in ["evidence=true", "evidence=offsets", ""] {
        assert_eq!(similar(query), json!("update_of"), "{query}");
    }
    let copy = json!({"text": words(60), "published_at": "2024-01-09"});
    for query in ["?evidence=true", ""] {
        let found = service.post(&format!("/api/v1/related/query{query}"), &copy).expect(200).json();
        let relations: Vec<(String, Value)> =
            found["similar"].as_array().unwrap().iter().map(relation).collect();
        let expected = [("excerpt", "same"), ("first", "contained_in"), ("copy", "contained_in")]
            .map(|(id, relation)| (id.to_owned(), json!(relation)));
        assert_eq!(relations, expected, "{query}");
    }
}

/// Every route gives the same relation for the same two documents.
#[test]
fn duplicates_and_events_have_the_relation_of_a_search() {
    let service = Service::start();
    let settings = json!({"preset": "copies", "overrides": {"matching": {"threshold": 0.3}}});
    service.put("/api/v1/related", settings).expect(201);
    let relations = |found: &Value| -> BTreeMap<String, Value> {
        let found = found.as_array().unwrap().iter();
        found.map(|found| (found["id"].as_str().unwrap().to_owned(), found["relation"].clone())).collect()
    };
    let mut seen = BTreeSet::new();
    for (id, text, date) in [
        ("first", words(100), json!("2024-01-02")),
        ("copy", words(100), json!("2024-01-01")),
        ("longer", words(180), json!("2024-01-03")),
        ("excerpt", words(40), json!("2024-01-04")),
        ("undated", words(140), json!(null)),
        ("earlier", words(130), json!("2023-12-31")),
        ("revised", words(100).replace("w99", "w99 and 7 more"), json!("2024-01-05")),
    ] {
        let document = json!({"id": id, "text": text, "published_at": date});
        let query = json!({"text": text, "published_at": date});
        let queried = service.post("/api/v1/related/query", query).expect(200).json();
        let expected = relations(&queried["similar"]);
        let created = service.post("/api/v1/related", &document).expect(201).json();
        assert_eq!(relations(&created["duplicates"]), expected, "{id}");
        let unchanged = service.put(&format!("/api/v1/related/{id}"), &document).expect(200).json();
        assert_eq!(relations(&unchanged["duplicates"]), expected, "{id}");
        let lines = service.bulk("/api/v1/related/bulk", &format!("{document}\n"));
        assert_eq!(relations(&lines[0]["duplicates"]), expected, "{id}");
        for query in ["", "?evidence=true"] {
            let similar = service.get(&format!("/api/v1/related/{id}/similar{query}")).expect(200).json();
            assert_eq!(relations(&similar["similar"]), expected, "{id}{query}");
        }
        seen.extend(expected.into_values().map(|relation| relation.as_str().unwrap().to_owned()));
    }
    assert_eq!(Vec::from_iter(seen), ["contained_in", "contains", "same", "update_of", "updated_by"]);
}

#[test]
fn compares_with_the_settings_of_a_collection() {
    let service = Service::start();
    let settings = json!({"preset": "copies", "overrides": {"matching": {"threshold": 0.3}}});
    service.put("/api/v1/lenient", settings).expect(201);
    let compare = |extra: Value| {
        let mut body = json!({"a": words(100), "b": words(40)});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        service.post("/api/v1/compare", body)
    };
    let of = |extra: Value| {
        let found = compare(extra).expect(200).json();
        (found["match_type"].clone(), found["relation"].clone())
    };
    assert_eq!(of(json!({})), (json!("different"), json!(null)));
    assert_eq!(of(json!({"collection": "lenient"})), (json!("similar"), json!("contains")));
    compare(json!({"collection": "lenient", "preset": "copies"})).expect_fault("/preset", "invalid");
    compare(json!({"collection": "none"})).expect_problem(404);
    let dated =
        json!({"a": words(100), "b": words(90), "published_at_a": "2024-01-01", "published_at_b": "x"});
    service.post("/api/v1/compare", dated).expect_fault("/published_at_b", "invalid");
}

#[test]
fn rejected_documents_are_counted_and_the_number_survives_a_restart() {
    let service = Service::start();
    let rejected = |service: &Service| service.get("/api/v1/articles").json()["rejected"].clone();
    assert_eq!(rejected(&service), 0);
    store(&service, 1, "a", None, "2024-01-01");
    service.post("/api/v1/articles", json!({"id": "a", "text": article(2, 70)})).expect_problem(409);
    service.post("/api/v1/articles", json!({"id": "b"})).expect_problem(422);
    service.post("/api/v1/articles", "{").expect_problem(400);
    service.put("/api/v1/articles/b", json!({"text": 7})).expect_problem(422);
    service
        .bulk("/api/v1/articles/bulk", "{\"id\": 1}\n{\"delete\": \"none\"}\n{\"id\": 2, \"text\": \"x\"}\n");
    assert_eq!(rejected(&service), 5);
    let service = Service::with_data(service.stop(), |_| {});
    assert_eq!(rejected(&service), 5);
}

#[test]
fn files_of_the_page_are_compressed_and_cached() {
    let service = Service::start();
    let plain = service.get("/assets/app.js").expect(200);
    let etag = plain.header("etag").unwrap().to_owned();
    let gzip = service.send("GET", "/assets/app.js", &[("accept-encoding", "gzip")], b"").expect(200);
    assert_eq!(gzip.header("content-encoding"), Some("gzip"));
    assert!(gzip.body.len() < plain.body.len() / 2);
    let known = service.send("GET", "/assets/app.js", &[("if-none-match", &etag)], b"").expect(304);
    assert_eq!((known.body.len(), known.header("etag")), (0, Some(&*etag)));
}
