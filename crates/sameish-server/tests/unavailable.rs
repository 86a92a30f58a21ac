//! A collection that cannot be used does not affect the others.

#![allow(clippy::unwrap_used)]

mod common;
use common::Service;
use sameish_store::{Catalog, CollectionConfig, OpenOptions, SqliteStore, Store as _};
use serde_json::json;

const TEXT: &str =
    "the harbor of Porthaven closes on Monday because of the storm that is expected from the west";

#[test]
fn requests_for_an_unavailable_collection_get_a_problem_and_others_are_served() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let catalog = Catalog::open(&data, OpenOptions::default()).unwrap();
    for preset in [sameish::Preset::Copies, sameish::Preset::Articles] {
        catalog.create(preset.name(), CollectionConfig::new(preset)).unwrap();
    }
    catalog.close();
    let mut store = SqliteStore::open(&data, false, false).unwrap();
    let mut row = store.reader().unwrap().collections().unwrap().remove(1).row.unwrap();
    assert_eq!(row.name, "articles");
    // Version 0.1.0 accepted settings with which a document takes 68 MB.
    row.config = sameish::Preset::Sdr.config().to_toml().replace("size = 2048", "size = 16777216");
    let mut change = store.begin().unwrap();
    change.put_collection(&row).unwrap();
    change.commit().unwrap();
    drop(store);

    let service = Service::with_data(directory, |_| {});
    let document = json!({"id": 1, "text": TEXT});
    service.post("/api/v1/copies", document.clone()).expect(201);
    for response in [
        service.get("/api/v1/articles"),
        service.get("/api/v1/articles/1"),
        service.get("/api/v1/articles/1/similar"),
        service.get("/api/v1/articles/clusters"),
        service.get("/api/v1/articles/documents"),
        service.post("/api/v1/articles", document.clone()),
        service.post("/api/v1/articles/query", json!({"text": TEXT})),
        service.put("/api/v1/articles/1", document.clone()),
        service.put("/api/v1/articles", json!({"preset": "articles"})),
        service.delete("/api/v1/articles/1"),
    ] {
        let problem = response.expect(503).json();
        assert_eq!(problem["type"], "urn:sameish:problem:collection-unavailable");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("`articles`") && detail.contains("sdr.size"), "{detail}");
    }
    let ready = service.get("/health/ready").expect(200).json();
    assert_eq!(ready, json!({"status": "ok", "unavailable": ["articles"]}));
    for path in ["/api/v1", "/api/v1/stats"] {
        let unavailable = service.get(path).expect(200).json()["unavailable"].clone();
        assert_eq!(unavailable[0]["name"], "articles");
        assert!(unavailable[0]["reason"].as_str().unwrap().contains("sdr.size"), "{unavailable}");
    }
    let metrics = service.get("/metrics").expect(200).text();
    assert!(metrics.contains("sameish_collection_unavailable{collection=\"articles\"} 1"), "{metrics}");

    service.delete("/api/v1/articles").expect(204);
    service.delete("/api/v1/articles").expect(404);
    assert_eq!(service.get("/health/ready").expect(200).json(), json!({"status": "ok"}));
    service.put("/api/v1/articles", json!({"preset": "articles"})).expect(201);
    assert_eq!(service.get("/api/v1/copies").expect(200).json()["documents"], 1);
}
