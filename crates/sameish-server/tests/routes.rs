//! Every route, over a TCP connection.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{JSON, Service, article, gzip, read_response, request};
use sameish::{Document, Preset};
use sameish_store::{Catalog, CollectionConfig, OpenOptions, SqliteStore, Store};
use serde_json::{Value, json};
use std::io::{BufReader, Write};

#[test]
fn stores_reads_replaces_and_deletes_a_document() {
    let service = Service::start();
    let text = article(1, 80);
    let document = json!({"id": "a/b?c é", "title": "T", "text": text, "url": "https://x.example/", "host": "x.example",
        "published_at": "2024-01-01T00:00:00Z"});
    let stored = service.post("/api/v1/articles", &document).expect(201).json();
    assert_eq!(stored["id"], "a/b?c é");
    assert_eq!(stored["status"], "created");
    assert_eq!(stored["duplicates"], json!([]));
    assert!(stored["cluster"].is_u64());

    let path = "/api/v1/articles/a%2Fb%3Fc%20%C3%A9";
    let shown = service.get(path).expect(200).json();
    for field in ["id", "title", "text", "url", "host", "published_at"] {
        assert_eq!(shown[field], document[field], "{field}");
    }
    assert_eq!(shown["simhash"].as_str().unwrap().len(), 16);
    assert_eq!(shown["words"], 80);
    assert_eq!(shown["cluster"], stored["cluster"]);

    assert_eq!(service.post("/api/v1/articles", &document).expect(200).json()["status"], "unchanged");
    let other = json!({"id": "a/b?c é", "text": article(2, 80)});
    service.post("/api/v1/articles", &other).expect_problem(409);
    assert_eq!(service.put(path, &other).expect(200).json()["status"], "replaced");
    assert_eq!(service.get(path).json()["text"], other["text"]);
    assert_eq!(
        service.put("/api/v1/articles/new", json!({"text": "some text"})).expect(201).json()["id"],
        "new"
    );

    assert!(service.delete(path).expect(204).body.is_empty());
    service.get(path).expect_problem(404);
    service.delete(path).expect_problem(404);
    service.delete(path).expect_problem(404);
}

#[test]
fn generates_missing_ids() {
    let service = Service::start();
    let document = json!({"text": article(1, 60)});
    let first = service.post("/api/v1/articles", &document).expect(201).json();
    let second = service.post("/api/v1/articles", &document).expect(201).json();
    assert_ne!(first["id"], second["id"]);
    assert_eq!(second["duplicates"][0]["id"], first["id"]);
    assert_eq!(second["duplicates"][0]["match_type"], "exact");
    assert_eq!(second["cluster"], first["cluster"]);
    service.get(&format!("/api/v1/articles/{}", first["id"].as_str().unwrap())).expect(200);

    let key = [JSON, ("idempotency-key", "one")];
    let body = json!({"text": article(2, 60)}).to_string();
    let once = service.send("POST", "/api/v1/articles", &key, body.as_bytes()).expect(201).json();
    let again = service.send("POST", "/api/v1/articles", &key, body.as_bytes()).expect(200).json();
    assert_eq!((&once["id"], again["status"].as_str()), (&again["id"], Some("unchanged")));
    let other = json!({"text": article(3, 60)}).to_string();
    service.send("POST", "/api/v1/articles", &key, other.as_bytes()).expect_problem(409);
}

#[test]
fn ids_keep_their_type() {
    let service = Service::start();
    service.post("/api/v1/copies", json!({"id": 7, "text": "the integer seven is here"})).expect(201);
    assert_eq!(service.get("/api/v1/copies/7").json()["id"], json!(7));
    service.get("/api/v1/copies/%227%22").expect_problem(404);
    service.post("/api/v1/copies", json!({"id": "7", "text": "the text seven is here"})).expect(201);
    assert_eq!(service.get("/api/v1/copies/7").json()["id"], json!(7));
    assert_eq!(service.get("/api/v1/copies/%227%22").json()["id"], json!("7"));
    service.delete("/api/v1/copies/7?type=number").expect(204);
    assert_eq!(service.get("/api/v1/copies/7").json()["id"], json!("7"));
    for id in [json!(u64::MAX), json!(i64::MIN)] {
        service.post("/api/v1/copies", json!({"id": id, "text": "a large one"})).expect(201);
        assert_eq!(service.get(&format!("/api/v1/copies/{id}")).expect(200).json()["id"], id);
    }
    service.put("/api/v1/copies/8", json!({"id": "9", "text": "x"})).expect_fault("/id", "invalid");
    assert_eq!(
        service.put("/api/v1/copies/8", json!({"id": "8", "text": "x"})).expect(201).json()["id"],
        "8"
    );
}

const RESERVED_IDS: [&str; 11] = [
    "bulk",
    "query",
    "clusters",
    "documents",
    "edits",
    "events",
    "export",
    "histogram",
    "labels",
    "preview",
    "sources",
];

#[test]
fn rejects_reserved_ids() {
    let service = Service::start();
    for id in RESERVED_IDS {
        service.post("/api/v1/copies", json!({"id": id, "text": "x"})).expect_fault("/id", "reserved");
        let response = service.put(&format!("/api/v1/copies/{id}"), json!({"text": "x"}));
        assert!(matches!(response.status, 405 | 422), "{}", response.status);
        service
            .put(&format!("/api/v1/copies/%22{id}%22"), json!({"text": "x"}))
            .expect_fault("/id", "reserved");
        service
            .put(&format!("/api/v1/copies/%22{id}%22"), json!({"id": id, "text": "x"}))
            .expect_fault("/id", "reserved");
    }
    service.put("/api/v1/copies/%62ulk", json!({"text": "x"})).expect_fault("/id", "reserved");
    // A string in quotes is JSON, which can spell the same id with escapes.
    service.put("/api/v1/copies/%22%5Cu0065vents%22", json!({"text": "x"})).expect_fault("/id", "reserved");
    for name in ["compare", "sketch", "snapshot", "stats"] {
        let response = service.put(&format!("/api/v1/{name}"), json!({}));
        assert!(matches!(response.status, 405 | 422), "{name}: {}", response.status);
    }
}

/// Version 0.1.0 permitted most of these ids and names.
#[test]
fn stored_documents_and_collections_with_reserved_names_are_reachable_in_quotes() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let catalog = Catalog::open(&data, OpenOptions::default()).unwrap();
    let copies = catalog.create("copies", CollectionConfig::new(Preset::Copies)).unwrap();
    for id in RESERVED_IDS {
        copies.insert(Document::new(id, format!("{id} was stored before the id was reserved"))).unwrap();
    }
    drop(copies);
    catalog.close();
    let mut store = SqliteStore::open(&data, false, false).unwrap();
    let mut row = store.reader().unwrap().collections().unwrap().remove(0).row.unwrap();
    row.name = "sketch".into();
    let mut change = store.begin().unwrap();
    change.put_collection(&row).unwrap();
    change.commit().unwrap();
    drop(store);
    let service = Service::with_data(directory, |_| {});
    let collection = "/api/v1/%22sketch%22";
    assert_eq!(service.get(collection).expect(200).json()["name"], "sketch");
    for id in RESERVED_IDS {
        let quoted = format!("{collection}/%22{id}%22");
        assert_eq!(service.get(&quoted).expect(200).json()["id"], id);
        service.get(&format!("{quoted}/similar")).expect(200);
        assert_eq!(
            service.put(&quoted, json!({"text": "another text of it"})).expect(200).json()["status"],
            "replaced"
        );
        let with_id = json!({"id": id, "text": "a third text of it"});
        assert_eq!(service.put(&quoted, with_id.clone()).expect(200).json()["status"], "replaced");
        service.put(&quoted, json!({"id": "other", "text": "x"})).expect_fault("/id", "invalid");
        let plain = service.put(&format!("{collection}/{id}"), with_id.clone());
        assert!(matches!(plain.status, 405 | 422), "{id}: {}", plain.status);
        service.post(collection, with_id).expect_fault("/id", "reserved");
        // Without quotes, the name means a route, whatever the type.
        for query in ["", "?type=text", "?type=number"] {
            let plain = service.delete(&format!("{collection}/{id}{query}"));
            assert!(matches!(plain.status, 404 | 405), "{id}{query}: {}", plain.status);
        }
        let plain = service.get(&format!("{collection}/{id}"));
        // 422 for a route with a required parameter.
        assert!(matches!(plain.status, 200 | 404 | 405 | 422), "{id}: {}", plain.status);
        if plain.status == 404 {
            assert!(plain.text().contains(&format!("%22{id}%22")), "{}", plain.text());
        }
        service.delete(&quoted).expect(204);
        service.get(&quoted).expect_problem(404);
    }
    service.delete(collection).expect(204);
    service.get(collection).expect_problem(404);
}

#[test]
fn deletes_a_collection_with_its_documents() {
    let service = Service::start();
    service.put("/api/v1/own", json!({"preset": "copies"})).expect(201);
    service.post("/api/v1/own", json!({"id": 1, "text": "a text of a collection"})).expect(201);
    let conflict = service.put("/api/v1/own", json!({"preset": "headlines"})).expect_problem(409);
    assert!(conflict.to_string().contains("delete it first"), "{conflict}");
    service.delete("/api/v1/own").expect(204);
    service.delete("/api/v1/own").expect_problem(404);
    service.get("/api/v1/own").expect_problem(404);
    service.post("/api/v1/own", json!({"id": 1, "text": "x"})).expect_problem(404);
    service.put("/api/v1/own", json!({"preset": "headlines"})).expect(201);
    assert_eq!(service.get("/api/v1/own").json()["documents"], 0);
    service.delete("/api/v1/articles").expect(204);
    let service = Service::with_data(service.stop(), |_| {});
    assert_eq!(service.get("/api/v1/articles").expect(200).json()["documents"], 0);
}

#[test]
fn rejects_settings_that_make_documents_expensive() {
    let service = Service::start();
    for (overrides, bound) in [
        (json!({"sdr": {"size": 16_777_216, "active_bits": 16_777_215}}), "at most 16384"),
        (json!({"sdr": {"size": 16_384, "active_bits": 16_383}}), "at most 2048"),
        (json!({"sdr": {"size": 16_384, "sparsity": 0.5}}), "at most 2048"),
    ] {
        let settings = json!({"preset": "sdr", "overrides": overrides});
        let refused = service.put("/api/v1/big", &settings).expect_problem(422).to_string();
        assert!(refused.contains(bound), "{refused}");
    }
}

#[test]
fn paused_expiry_is_reported_and_continues_after_a_confirmation() {
    let directory = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(directory.path().join("data"), OpenOptions::default()).unwrap();
    let config = CollectionConfig { retention_days: Some(7), ..CollectionConfig::new(Preset::Copies) };
    let week = catalog.create("week", config).unwrap();
    let old = |id: u64| Document {
        published_at: Some("2020-01-01".into()),
        ..Document::new(id, format!("an old text {id}"))
    };
    // Fewer documents would be deleted without a confirmation.
    assert!(week.insert_many((0..150).map(old).collect()).unwrap().iter().all(Result::is_ok));
    drop(week);
    catalog.close();
    let service = Service::with_data(directory, |settings| settings.expiry_seconds = 1);
    let wait_for = |condition: &dyn Fn() -> bool| {
        while !condition() {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    };
    wait_for(&|| service.get("/health/ready").expect(200).json()["expiry_paused"] == json!(["share"]));
    let metric = "sameish_expiry_paused{collection=\"week\",reason=\"share\"}";
    assert!(service.get("/metrics").expect(200).text().contains(&format!("{metric} 1")));
    assert_eq!(service.get("/api/v1/week").expect(200).json()["documents"], 150);
    Catalog::confirm_expiry(service.directory.as_ref().unwrap().path().join("data")).unwrap();
    wait_for(&|| service.get("/api/v1/week").expect(200).json()["documents"] == 0);
    wait_for(&|| service.get("/health/ready").expect(200).json() == json!({"status": "ok"}));
    assert!(service.get("/metrics").expect(200).text().contains(&format!("{metric} 0")));
}

#[test]
fn similar_returns_matches_with_evidence() {
    let service = Service::start();
    let text = article(1, 200);
    for (id, text) in [(1, text.clone()), (2, text.replacen(' ', " edited ", 1)), (3, article(9, 200))] {
        let document = json!({"id": id, "title": format!("Title {id}"), "host": "h.example", "text": text});
        service.post("/api/v1/articles", &document).expect(201);
    }
    let response = service.get("/api/v1/articles/1/similar").expect(200).json();
    let similar = response["similar"].as_array().unwrap();
    assert_eq!(similar.len(), 1);
    assert_eq!(similar[0]["id"], 2);
    assert_eq!(similar[0]["title"], "Title 2");
    assert_eq!(similar[0]["host"], "h.example");
    assert_eq!(similar[0]["match_type"], "near");
    assert_eq!(similar[0]["verified"], true);
    assert!(similar[0]["similarity_score"].as_f64().unwrap() > 0.95);
    assert!(similar[0].get("evidence").is_none());

    let path = "/api/v1/articles/1/similar?limit=10&min_similarity=0.5&evidence=true";
    let evidence = service.get(path).expect(200).json()["similar"][0]["evidence"].clone();
    assert!(evidence["coverage_a"].as_f64().unwrap() > 0.95);
    let passage = &evidence["passages"][0];
    assert!(passage["a_end"].as_u64() > passage["a_start"].as_u64());
    assert_eq!(service.get("/api/v1/articles/1/similar?min_similarity=1").json()["similar"], json!([]));
    service.get("/api/v1/articles/4/similar").expect_problem(404);
    service.get("/api/v1/nothing/1/similar").expect_problem(404);
}

#[test]
fn query_searches_for_a_text_without_storing_it() {
    let service = Service::start();
    let text = article(1, 100);
    service.post("/api/v1/articles", json!({"id": 1, "text": text})).expect(201);
    let found = service.post("/api/v1/articles/query", json!({"text": text})).expect(200).json();
    assert_eq!(found["similar"][0]["id"], 1);
    assert_eq!(found["similar"][0]["match_type"], "exact");
    let query = json!({"text": text, "evidence": true, "limit": 1});
    let found = service.post("/api/v1/articles/query", &query).expect(200).json();
    assert_eq!(found["similar"][0]["evidence"]["coverage_a"], 1.0);
    let found =
        service.post("/api/v1/articles/query?evidence=true", json!({"text": text})).expect(200).json();
    assert!(found["similar"][0]["evidence"].is_object());
    assert_eq!(service.get("/api/v1/stats").json()["documents"], 1);
}

#[test]
fn compares_two_texts() {
    let service = Service::start();
    let [a, b] = ["dog", "cat"].map(|last| format!("The quick brown fox jumps over the lazy {last}"));
    let response =
        service.post("/api/v1/compare", json!({"a": a, "b": b, "preset": "articles"})).expect(200).json();
    assert_eq!(response["similarity"], 0.75);
    assert_eq!(response["simhash_distance"], 9);
    assert_eq!(response["passages"][0]["text"], "The quick brown fox jumps over the lazy");
    let overridden = |overrides: serde_json::Value| {
        let [a, b] = [format!("<p>{a}"), format!("<div>{a}</div>")];
        service.post("/api/v1/compare", json!({"a": a, "b": b, "overrides": overrides}))
    };
    let compared = overridden(json!({"text": {"html": true}})).expect(200).json();
    assert_eq!(compared["match_type"], "exact");
    assert_eq!(compared["passages"][0]["a_start"], 3, "offsets refer to the markup");
    assert_ne!(overridden(json!({})).expect(200).json()["match_type"], "exact");
    overridden(json!({"text": {"markup": true}})).expect_fault("/overrides", "invalid");
    overridden(json!({"minhash": "none"})).expect_fault("/overrides", "invalid");
    service.post("/api/v1/compare", json!({"a": a})).expect_fault("/b", "missing");
    service
        .post("/api/v1/compare", json!({"a": a, "b": b, "preset": "x"}))
        .expect_fault("/preset", "invalid");
    service.post("/api/v1/compare", json!({"a": a, "b": 7})).expect_fault("/b", "wrong_type");
}

#[test]
fn sketches_texts_that_are_not_stored() {
    let service = Service::start();
    let sketch = |body: Value| service.post("/api/v1/sketch", body).expect(200).json();
    let wire = sketch(json!({"text": "Breaking news: Major earthquake hits city", "preset": "wire"}));
    assert_eq!(wire["simhash"], "f10893b1083a30a2");
    assert_eq!((&wire["status"], &wire["words"]), (&json!("ok"), &json!(6)));
    assert_eq!(
        (&wire["minhash"], &wire["sdr"], &wire["sdr_scheme"]),
        (&json!(null), &json!(null), &json!(null))
    );
    assert_eq!(wire["simhash_scheme"].as_str().unwrap().len(), 16);

    // The sparse encoder with its settings, on a text and on tokens.
    let settings = json!({"sdr": {"size": 400, "active_bits": 20, "vocabulary": {"storm": 3, "coast": 1}}});
    let text = sketch(json!({"text": "storm hits coast", "preset": "sdr", "overrides": settings}));
    let tokens =
        sketch(json!({"tokens": ["storm", "hits", "coast"], "preset": "sdr", "overrides": settings}));
    assert_eq!(text, tokens);
    let active = text["sdr"].as_array().unwrap();
    assert!(active.len() == 20 && active.iter().all(|bit| bit.as_u64().unwrap() < 400), "{active:?}");
    let other = sketch(json!({"text": "storm hits coast", "preset": "sdr"}));
    assert_ne!(text["sdr_scheme"], other["sdr_scheme"]);

    let short = sketch(json!({"text": "two words", "preset": "articles"}));
    assert_eq!((&short["status"], &short["minhash"]), (&json!("too_short"), &json!(null)));
    assert_eq!(sketch(json!({"text": ""}))["status"], "too_short");
    let fault = |body: Value, pointer: &str, code: &str| {
        service.post("/api/v1/sketch", body).expect_fault(pointer, code);
    };
    fault(json!({}), "/text", "missing");
    fault(json!({"text": "x", "preset": "x"}), "/preset", "invalid");
    fault(json!({"tokens": ["x", 7]}), "/tokens", "wrong_type");
    fault(json!({"text": "x", "overrides": {"sdr": {"size": 0}}}), "/overrides", "invalid");
}

#[test]
fn accepts_sketches_in_place_of_texts() {
    let service = Service::start();
    let text = article(7, 80);
    let other = article(8, 80);
    for preset in ["web", "articles", "copies"] {
        let collection = format!("/api/v1/of-{preset}");
        service.put(&collection, json!({"preset": preset})).expect(201);
        let sketch = |text: &str| {
            let body = json!({"text": text, "preset": preset});
            let sketch = service.post("/api/v1/sketch", body).expect(200).json();
            let fields = ["simhash", "simhash_scheme", "minhash", "minhash_scheme"];
            fields
                .iter()
                .map(|name| ((*name).to_owned(), sketch[name].clone()))
                .collect::<serde_json::Map<_, _>>()
        };
        let with_id = |id: &str, text: &str| {
            let mut document = sketch(text);
            document.insert("id".into(), id.into());
            Value::Object(document)
        };
        // One document, and bulk.
        service.post(&collection, with_id("a", &text)).expect(201);
        let lines = format!("{}\n{}\n", with_id("b", &text), with_id("c", &other));
        let answers = service.send(
            "POST",
            &format!("{collection}/bulk"),
            &[("content-type", "application/x-ndjson")],
            lines.as_bytes(),
        );
        let first: Value = serde_json::from_str(answers.expect(200).text().lines().next().unwrap()).unwrap();
        assert_eq!(first["duplicates"][0]["id"], "a", "{preset}");
        assert_eq!(first["duplicates"][0]["verified"], false, "{preset}");
        // Queries with a text and with its sketches find the same documents, none of which is verified.
        for query in [json!({"text": text}), Value::Object(sketch(&text))] {
            let found = service.post(&format!("{collection}/query"), query).expect(200).json();
            let similar = found["similar"].as_array().unwrap();
            let ids: Vec<&str> = similar.iter().map(|found| found["id"].as_str().unwrap()).collect();
            assert_eq!(ids, ["a", "b"], "{preset}");
            for found in similar {
                assert_eq!((&found["similarity"], &found["match_type"]), (&json!(1.0), &json!("near")));
                assert_eq!((&found["verified"], &found["facts"]), (&json!(false), &json!(null)), "{preset}");
            }
        }
        let stored = service.get(&format!("{collection}/a?sketches=true")).expect(200).json();
        assert_eq!((stored.get("text"), &stored["words"]), (None, &json!(0)));
        for (name, value) in sketch(&text) {
            assert_eq!(stored["sketches"][&name], value, "{preset}");
            assert_eq!(stored.get(&name).unwrap_or(&Value::Null), &value, "{preset}");
        }
        // Presets that verify keep documents apart that were not verified.
        let is_clustered = preset == "web";
        let cluster =
            |id: &str| service.get(&format!("{collection}/{id}")).expect(200).json()["cluster"].clone();
        assert_eq!(cluster("a") == cluster("b"), is_clustered, "{preset}");

        let mut wrong = with_id("d", &text);
        for field in ["simhash_scheme", "minhash_scheme"] {
            if !wrong[field].is_null() {
                wrong[field] = "0000000000000001".into();
            }
        }
        let pointer = if wrong["simhash"].is_null() { "/minhash_scheme" } else { "/simhash_scheme" };
        for path in [collection.clone(), format!("{collection}/query")] {
            let problem = service.post(&path, &wrong).expect_problem(422);
            assert!(problem["detail"].as_str().unwrap().contains("sketch has scheme"), "{problem}");
            assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
        }
    }
    let both = json!({"id": "both", "text": "x", "simhash": "00000000000000ff", "simhash_scheme": "0000000000000001"});
    service.post("/api/v1/articles", &both).expect(201);
    let stored = service.get("/api/v1/articles/both").expect(200).json();
    assert_eq!(stored["text"], "x");
    assert_eq!(stored["metadata"]["simhash"], both["simhash"]);
}

#[test]
fn exported_sketches_are_the_same_documents_when_they_are_inserted_again() {
    let service = Service::start();
    for preset in ["web", "articles", "copies"] {
        let [from, to] = ["from", "to"].map(|name| format!("/api/v1/{name}-{preset}"));
        for collection in [&from, &to] {
            service.put(collection, json!({"preset": preset})).expect(201);
        }
        for id in 0..3 {
            let body = json!({"text": article(id / 2, 80), "preset": preset});
            let mut document = service.post("/api/v1/sketch", body).expect(200).json();
            document.as_object_mut().unwrap().retain(|name, value| name.contains("hash") && !value.is_null());
            document["id"] = id.into();
            // A title in place of the text must not be compared.
            document["title"] = "one title of all documents".into();
            service.post(&from, document).expect(201);
        }
        service.post(&from, json!({"id": "text", "text": article(7, 80)})).expect(201);
        let exported = service.get(&format!("{from}/export")).expect(200).text();
        service.bulk(&format!("{to}/bulk"), &exported);
        for id in ["0", "1", "2", "text"] {
            let read = |collection: &str| {
                let mut document =
                    service.get(&format!("{collection}/{id}?sketches=true")).expect(200).json();
                // Fields that only the service assigns are metadata in a document that is sent.
                for name in ["arrived_at", "metadata", "cluster"] {
                    document.as_object_mut().unwrap().remove(name);
                }
                document
            };
            assert_eq!(read(&to), read(&from), "{preset}");
            assert_eq!(read(&to).get("text").is_some(), id == "text");
            let similar = |collection: &str| {
                let found = service.get(&format!("{collection}/{id}/similar")).expect(200).json();
                found["similar"].clone()
            };
            assert_eq!(similar(&to), similar(&from), "{preset}");
        }
        assert_eq!(service.get(&format!("{to}/0/similar")).json()["similar"][0]["verified"], false);
    }
}

#[test]
fn returns_every_sketch_of_a_document() {
    let service = Service::start();
    service.put("/api/v1/codes", json!({"preset": "sdr"})).expect(201);
    let text = "the council voted on monday to close the old bridge over the river for repairs until spring";
    for (collection, preset) in [("articles", "articles"), ("copies", "copies"), ("codes", "sdr")] {
        service.post(&format!("/api/v1/{collection}"), json!({"id": "a", "text": text})).expect(201);
        let plain = service.get(&format!("/api/v1/{collection}/a")).expect(200).json();
        assert_eq!(plain.get("sketches"), None);
        let stored = service.get(&format!("/api/v1/{collection}/a?sketches=true")).expect(200).json();
        let computed =
            service.post("/api/v1/sketch", json!({"text": text, "preset": preset})).expect(200).json();
        for (name, value) in stored["sketches"].as_object().unwrap() {
            assert_eq!(*value, computed[name], "{collection} {name}");
        }
        assert!(stored["sketches"].as_object().unwrap().values().any(|value| !value.is_null()));
    }
    service.get("/api/v1/copies/a?sketches=7").expect_fault("?sketches", "out_of_range");
}

#[test]
fn a_minimum_similarity_below_the_threshold_searches_more_widely() {
    let service = Service::start();
    service.put("/api/v1/wires", json!({"preset": "web"})).expect(201);
    service.put("/api/v1/codes", json!({"preset": "sdr"})).expect(201);
    let a = "the council voted on monday to close the old bridge over the river for repairs until spring";
    let b = "the council voted on monday to build a new tunnel under the river for traffic before winter";
    for collection in ["wires", "codes", "copies"] {
        service.post(&format!("/api/v1/{collection}"), json!({"id": "a", "text": a})).expect(201);
        let query = |path: &str| {
            let found = service.post(&format!("/api/v1/{collection}/query{path}"), json!({"text": b}));
            found.expect(200).json()["similar"].as_array().unwrap().len()
        };
        assert_eq!(query(""), 0, "{collection}");
        assert_eq!(query("?min_similarity=0.05"), 1, "{collection}");
    }
}

#[test]
fn wire_groups_articles_around_the_newest_in_any_order_of_arrival() {
    let service = Service::start();
    let created = service.put("/api/v1/agency", json!({"preset": "wire"})).expect(201).json();
    assert_eq!(created["center"], "newest");
    let text = "the council approved the budget for the new library on monday evening after a long debate";
    for (id, day) in [("old", 1), ("new", 3), ("middle", 2)] {
        let date = format!("2024-01-0{day}");
        service.post("/api/v1/agency", json!({"id": id, "text": text, "published_at": date})).expect(201);
    }
    let cluster = service.get("/api/v1/agency/old").expect(200).json()["cluster"].clone();
    let detail = until_final(&service, &format!("/api/v1/agency/clusters/{cluster}"));
    assert_eq!((&detail["size"], &detail["center"]), (&json!(3), &json!("new")));
    service.put("/api/v1/agency", json!({"preset": "wire", "center": "first"})).expect_problem(409);
    let longest = service.put("/api/v1/longest", json!({"center": "longest"})).expect(201).json();
    assert_eq!(longest["center"], "longest");
    let titles = json!({"preset": "headlines", "center": "newest"});
    service.put("/api/v1/refused", &titles).expect_fault("/center", "invalid");
    service.put("/api/v1/refused", json!({"center": "oldest"})).expect_fault("/center", "invalid");
    assert_eq!(service.get("/api/v1/headlines").expect(200).json()["center"], Value::Null);
}

/// Returns a cluster when no work on it is queued.
fn until_final(service: &Service, path: &str) -> Value {
    for _ in 0..200 {
        let detail = service.get(path).expect(200).json();
        if detail["pending"] == false {
            return detail;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{path} is still pending");
}

#[test]
fn creates_and_reads_collections() {
    let service = Service::start();
    let settings = json!({"preset": "headlines", "overrides": {"matching": {"threshold": 0.6}}, "retention_days": 30,
        "window_days": 3});
    let created = service.put("/api/v1/titles", &settings).expect(201).json();
    assert_eq!(created["preset"], "headlines");
    assert_eq!(created["threshold"], 0.6);
    assert_eq!(created["retention_days"], 30);
    assert_eq!(created["window_days"], 3);
    service.put("/api/v1/titles", &settings).expect(200);
    service.put("/api/v1/titles", json!({"preset": "headlines"})).expect_problem(409);
    assert_eq!(service.get("/api/v1/titles").expect(200).json()["documents"], 0);
    service.get("/api/v1/absent").expect_problem(404);
    service.send("PUT", "/api/v1/plain", &[], b"").expect(201);
    for name in ["articles", "headlines", "copies"] {
        assert_eq!(service.get(&format!("/api/v1/{name}")).expect(200).json()["preset"], name);
    }
    for name in ["Upper", "a%20b", "stats", &"x".repeat(65)] {
        let response = service.put(&format!("/api/v1/{name}"), json!({}));
        assert!(matches!(response.status, 405 | 422), "{name}: {}", response.status);
    }
    service
        .put("/api/v1/x", json!({"overrides": {"matching": {"threshold": 2}}}))
        .expect_fault("/overrides", "invalid");
}

#[test]
fn bulk_returns_one_line_per_document() {
    let service = Service::start();
    let text = article(1, 60);
    let lines = format!(
        "{}\n\n{}\nnot json\n{}\n{}\r\n{}",
        json!({"id": 1, "text": text}),
        json!({"id": 2, "text": text}),
        json!({"id": 1, "text": "another text"}),
        json!({"id": 3, "text": 7}),
        json!({"id": 1, "text": text}),
    );
    let responses = service.bulk("/api/v1/articles/bulk", &lines);
    let statuses: Vec<Value> =
        responses.iter().map(|a| json!([a["line"], a["status"], a["http_status"]])).collect();
    assert_eq!(
        statuses,
        [
            json!([1, "created", 201]),
            json!([3, "created", 201]),
            json!([4, "rejected", 400]),
            json!([5, "rejected", 409]),
            json!([6, "rejected", 422]),
            json!([7, "unchanged", 200]),
        ]
    );
    assert_eq!(responses[1]["duplicates"][0]["id"], 1);
    assert_eq!(responses[0]["cluster"], responses[1]["cluster"]);
    assert_eq!(responses[4]["error"]["errors"][0]["pointer"], "/text");
    assert_eq!(responses[3]["id"], 1);
    service
        .send("POST", "/api/v1/articles/bulk", &[("content-type", "application/x-ndjson")], b"")
        .expect_problem(400);
}

#[test]
fn bulk_stores_thousands_of_compressed_documents() {
    let service = Service::start();
    let lines: String =
        (0..3_000).map(|id| format!("{}\n", json!({"id": id, "text": article(id, 20)}))).collect();
    let headers = [("content-type", "application/x-ndjson"), ("content-encoding", "gzip")];
    let response = service.send("POST", "/api/v1/copies/bulk", &headers, &gzip(lines.as_bytes())).expect(200);
    let text = response.text();
    assert_eq!(text.lines().count(), 3_000);
    assert!(text.lines().all(|line| line.contains("\"created\"")));
    assert_eq!(service.get("/api/v1/stats").json()["collections"]["copies"]["documents"], 3_000);
}

#[test]
fn bulk_responds_before_the_request_ends() {
    let service = Service::start();
    let mut stream = service.connect();
    let head = "POST /api/v1/copies/bulk HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n\
                transfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut lines = Vec::new();
    for id in 0..3 {
        let line = format!("{}\n", json!({"id": id, "text": article(id, 10)}));
        stream.write_all(format!("{:x}\r\n{line}\r\n", line.len()).as_bytes()).unwrap();
        loop {
            let mut line = String::new();
            std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
            if line.starts_with('{') {
                lines.push(serde_json::from_str::<Value>(&line).unwrap());
                break;
            }
        }
    }
    assert!(lines.iter().all(|line| line["status"] == "created"));
    stream.write_all(b"0\r\n\r\n").unwrap();
}

#[test]
fn bulk_stops_at_its_limits_and_keeps_stored_documents() {
    let service = Service::with(|settings| {
        settings.limits.bulk_documents = 5;
        settings.limits.line_bytes = 2_000;
    });
    let long = json!({"id": "long", "text": "x".repeat(3_000)}).to_string();
    let mut lines: Vec<String> =
        (0..8).map(|id| json!({"id": id, "text": article(id, 10)}).to_string()).collect();
    lines.insert(1, long);
    let responses = service.bulk("/api/v1/copies/bulk", &lines.join("\n"));
    let codes: Vec<u64> =
        responses.iter().map(|response| response["http_status"].as_u64().unwrap()).collect();
    assert_eq!(codes, [201, 413, 201, 201, 201, 413]);
    assert_eq!(responses.last().unwrap()["line"], 6);
    assert_eq!(service.get("/api/v1/stats").json()["documents"], 4);
}

#[test]
fn lists_clusters_in_pages() {
    let service = Service::start();
    for pair in 0..5 {
        for copy in 0..2 {
            let document = json!({"id": format!("{pair}-{copy}"), "title": format!("T{pair}"), "text": article(pair, 70)});
            service.post("/api/v1/articles", &document).expect(201);
        }
    }
    service.post("/api/v1/articles", json!({"id": "alone", "text": article(99, 70)})).expect(201);
    let mut centers = Vec::new();
    let mut path = "/api/v1/articles/clusters?limit=2".to_owned();
    loop {
        let page = service.get(&path).expect(200).json();
        for cluster in page["clusters"].as_array().unwrap() {
            assert_eq!(cluster["size"], 2);
            centers.push(cluster["center"].as_str().unwrap().to_owned());
        }
        match page["next"].as_str() {
            Some(next) => path = format!("/api/v1/articles/clusters?limit=2&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(centers, ["4-0", "3-0", "2-0", "1-0", "0-0"]);

    let number = service.get("/api/v1/articles/0-0").json()["cluster"].as_u64().unwrap();
    let cluster = service.get(&format!("/api/v1/articles/clusters/{number}")).expect(200).json();
    assert_eq!(cluster["center"], "0-0");
    assert_eq!(cluster["size"], 2);
    assert_eq!(cluster["members"][1]["id"], "0-1");
    assert_eq!(cluster["members"][1]["joined"], "0-0");
    service.get(&format!("/api/v1/headlines/clusters/{number}")).expect_problem(404);
    for id in ["999999", "x", "-1", "99999999999999999999999"] {
        service.get(&format!("/api/v1/articles/clusters/{id}")).expect_problem(404);
    }
    let next = service.get("/api/v1/articles/clusters?limit=2").json()["next"].as_str().unwrap().to_owned();
    service.get(&format!("/api/v1/headlines/clusters?cursor={next}")).expect_problem(400);
    service.get("/api/v1/articles/clusters?cursor=forged").expect_problem(400);
    service.get("/api/v1/articles/clusters?limit=0").expect_fault("?limit", "out_of_range");
}

#[test]
fn reports_statistics_metrics_and_health() {
    let service = Service::start();
    service.post("/api/v1/articles", json!({"id": 1, "text": article(1, 60)})).expect(201);
    service.post("/api/v1/articles", json!({"id": 2, "text": "short"})).expect(201);
    let stats = service.get("/api/v1/stats").expect(200).json();
    assert_eq!(stats["documents"], 2);
    assert_eq!(stats["collections"]["articles"]["too_short"], 1);
    assert_eq!(stats["storage"], "ready");
    let metrics = service.get("/metrics").expect(200);
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain"));
    let text = metrics.text();
    for line in [
        "sameish_collection_documents{collection=\"articles\"} 2",
        "sameish_http_requests_total{method=\"POST\",route=\"/api/v1/{collection}\",status=\"201\"} 2",
        "sameish_store_healthy 1",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!(service.get("/health/live").expect(200).json()["status"], "ok");
    assert_eq!(service.get("/health/ready").expect(200).json()["status"], "ok");
}

#[test]
fn a_snapshot_can_be_restored() {
    let service = Service::start();
    service.post("/api/v1/articles", json!({"id": 1, "text": article(1, 60)})).expect(201);
    let snapshot = service.post("/api/v1/snapshot", json!({"name": "first"})).expect(201).json();
    assert_eq!(snapshot["name"], "first");
    assert!(snapshot["bytes"].as_u64().unwrap() > 0);
    service.post("/api/v1/snapshot", json!({"name": "first"})).expect_problem(409);
    service.post("/api/v1/snapshot", json!({"name": "../first"})).expect_fault("/name", "invalid");
    let without_body = service.send("POST", "/api/v1/snapshot", &[], b"").expect(201).json();
    assert_ne!(without_body["name"], "first");
    let to = tempfile::tempdir().unwrap();
    let restored = to.path().join("restored");
    sameish_store::Catalog::restore(snapshot["path"].as_str().unwrap(), &restored, false).unwrap();
    let catalog = sameish_store::Catalog::open(&restored, Default::default()).unwrap();
    assert_eq!(catalog.collection("articles").unwrap().len(), 1);
}

#[test]
fn documents_survive_a_restart() {
    let service = Service::start();
    let stored =
        service.post("/api/v1/articles", json!({"id": 1, "text": article(1, 60)})).expect(201).json();
    let service = Service::with_data(service.stop(), |_| {});
    let again = service.post("/api/v1/articles", json!({"id": 2, "text": article(1, 60)})).expect(201).json();
    assert_eq!(again["cluster"], stored["cluster"]);
    assert_eq!(again["duplicates"][0]["id"], 1);
}

#[test]
fn a_read_only_service_rejects_writes() {
    let service = Service::start();
    service.post("/api/v1/articles", json!({"id": 1, "text": article(1, 60)})).expect(201);
    let service = Service::with_data(service.stop(), |settings| settings.read_only = true);
    service.get("/api/v1/articles/1").expect(200);
    service.post("/api/v1/articles", json!({"id": 2, "text": article(2, 60)})).expect_problem(503);
    assert_eq!(service.get("/health/ready").expect(200).json()["status"], "read_only");
}

#[test]
fn deletes_expired_documents() {
    let service = Service::with(|settings| settings.expiry_seconds = 1);
    service.put("/api/v1/week", json!({"preset": "copies", "retention_days": 7})).expect(201);
    service
        .post("/api/v1/week", json!({"id": 1, "text": "an old text", "published_at": "2020-01-01"}))
        .expect(201);
    service.post("/api/v1/week", json!({"id": 2, "text": "a new text"})).expect(201);
    while service.get("/api/v1/week/1").status == 200 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    service.get("/api/v1/week/2").expect(200);
}

#[test]
fn matches_only_within_the_time_window() {
    let service = Service::start();
    service.put("/api/v1/days", json!({"preset": "copies", "window_days": 3})).expect(201);
    let text = article(1, 40);
    for (id, date) in [(1, "2024-01-01"), (2, "2024-01-03"), (3, "2024-02-01")] {
        service.post("/api/v1/days", json!({"id": id, "text": text, "published_at": date})).expect(201);
    }
    let similar = service.get("/api/v1/days/1/similar").expect(200).json();
    let ids: Vec<&Value> = similar["similar"].as_array().unwrap().iter().map(|found| &found["id"]).collect();
    assert_eq!(ids, [2]);
    let query = json!({"text": text, "published_at": "2024-02-02"});
    let found = service.post("/api/v1/days/query", &query).expect(200).json();
    assert_eq!(found["similar"][0]["id"], 3);
    assert_eq!(found["similar"].as_array().unwrap().len(), 1);
}

#[test]
fn pages_load_nothing_from_other_hosts() {
    let service = Service::start();
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/docs", "text/html; charset=utf-8"),
        ("/assets/style.css", "text/css; charset=utf-8"),
        ("/assets/icon.svg", "image/svg+xml"),
        ("/assets/app.js", "text/javascript; charset=utf-8"),
        ("/assets/docs.js", "text/javascript; charset=utf-8"),
        ("/assets/common.js", "text/javascript; charset=utf-8"),
    ] {
        let page = service.get(path).expect(200);
        assert_eq!(page.header("content-type"), Some(kind));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe"));
        // A namespace, which is not fetched.
        let text = page.text().replace("http://www.w3.org/2000/svg", "");
        for part in ["http://", "https://", "onclick=", "style=", "innerHTML", "javascript:"] {
            assert!(!text.contains(part), "{path} has {part}");
        }
    }
    service.get("/assets/%2e%2e%2fCargo.toml").expect_problem(404);
    service.get("/assets/../Cargo.toml").expect_problem(404);
}

#[test]
fn the_openapi_description_is_complete() {
    let service = Service::start();
    let api = service.get("/openapi.json").expect(200).json();
    assert!(api["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths: Vec<&String> = api["paths"].as_object().unwrap().keys().collect();
    for path in [
        "/api/v1",
        "/api/v1/{collection}",
        "/api/v1/{collection}/documents",
        "/api/v1/{collection}/bulk",
        "/api/v1/{collection}/query",
        "/api/v1/{collection}/{id}",
        "/api/v1/{collection}/{id}/similar",
        "/api/v1/{collection}/clusters",
        "/api/v1/{collection}/clusters/{cluster}",
        "/api/v1/{collection}/sources",
        "/api/v1/{collection}/histogram",
        "/api/v1/{collection}/preview",
        "/api/v1/{collection}/events",
        "/api/v1/{collection}/export",
        "/api/v1/compare",
        "/api/v1/snapshot",
        "/api/v1/stats",
        "/metrics",
        "/health/live",
        "/health/ready",
        "/openapi.json",
    ] {
        assert!(paths.iter().any(|known| *known == path), "{path} is not in {paths:?}");
    }
    // Every reference resolves.
    let text = api.to_string();
    for reference in text.split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(api["components"]["schemas"].get(name).is_some(), "{name}");
    }
    // Every JSON body has the schema of its parser, with the limits of the service.
    let mut bodies = 0;
    for operation in
        api["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values())
    {
        let Some(schema) = operation.pointer("/requestBody/content/application~1json/schema") else {
            continue;
        };
        let name = schema["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        let permits_others = ["NewDocument", "Replacement"].contains(&name);
        assert_eq!(api["components"]["schemas"][name]["additionalProperties"], permits_others, "{name}");
        bodies += 1;
    }
    assert_eq!(bodies, 9);
    let text_length = &api["components"]["schemas"]["NewDocument"]["properties"]["text"]["maxLength"];
    assert_eq!(*text_length, 1 << 20);
}

#[test]
fn serves_many_requests_on_one_connection() {
    let service = Service::start();
    let mut stream = service.connect();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for body in [r#"{"text":"a b c d"}"#, "broken", r#"{"text":7}"#, r#"{"text":"e f g h"}"#] {
        let request = String::from_utf8(request("POST", "/api/v1/copies", &[JSON], body.as_bytes())).unwrap();
        stream.write_all(request.replace("connection: close\r\n", "").as_bytes()).unwrap();
        let response = read_response(&mut reader, false);
        assert!(matches!(response.status, 201 | 400 | 422), "{}", response.status);
        assert_eq!(response.header("connection"), None);
    }
}
