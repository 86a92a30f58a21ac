//! Editorial decisions on clusters.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{JSON, Response, Service, article};
use serde_json::{Value, json};

const EDITS: &str = "/api/v1/articles/edits";

/// Stores documents with the text of a story.
fn store(service: &Service, story: u64, ids: &[&str]) {
    for id in ids {
        service.post("/api/v1/articles", json!({"id": id, "text": article(story, 70)})).expect(201);
    }
}

fn cluster(service: &Service, id: &str) -> u64 {
    service.get(&format!("/api/v1/articles/{id}")).expect(200).json()["cluster"].as_u64().unwrap()
}

/// Returns the ids of the documents of a cluster that have a mark.
fn members(service: &Service, cluster: u64, edited: bool) -> Vec<Value> {
    let response = service.get(&format!("/api/v1/articles/clusters/{cluster}")).expect(200).json();
    let members = response["members"].as_array().unwrap().iter();
    members.filter(|member| member["edited"] == edited).map(|member| member["id"].clone()).collect()
}

fn edit(service: &Service, body: &Value) -> Value {
    let response = service.post(EDITS, body).expect(201).json();
    assert_eq!((&response["active"], &response["pending"]), (&json!(true), &json!(false)), "{response}");
    response
}

fn undo(service: &Service, edit: &Value) -> Response {
    service.send("DELETE", &format!("{EDITS}/{}", edit["edit"]), &[], b"")
}

#[test]
fn split_holds_for_later_documents_until_it_is_undone() {
    let service = Service::start();
    store(&service, 1, &["a", "b", "c"]);
    let before = cluster(&service, "a");
    let split = edit(&service, &json!({"kind": "split", "cluster": before, "documents": ["b"]}));
    assert_eq!((&split["kind"], &split["documents"]), (&json!("split"), &json!(["b"])));
    let apart = cluster(&service, "b");
    assert_eq!(split["clusters"], json!([apart]));
    assert_ne!(apart, before);
    assert_eq!(members(&service, apart, true), ["b"]);
    assert_eq!(members(&service, before, false), ["a", "c"]);
    store(&service, 1, &["d"]);
    assert_eq!((cluster(&service, "d"), cluster(&service, "b")), (before, apart));
    assert_eq!(service.get(EDITS).expect(200).json()["edits"], json!([split]));
    undo(&service, &split).expect(204);
    assert_eq!(cluster(&service, "b"), before);
    assert_eq!(members(&service, before, true), [] as [Value; 0]);
    undo(&service, &split).expect_problem(404);
    assert_eq!(service.get(EDITS).expect(200).json()["edits"], json!([]));
}

#[test]
fn merged_clusters_receive_the_later_documents_of_both() {
    let service = Service::start();
    store(&service, 1, &["a", "b"]);
    store(&service, 2, &["x", "y"]);
    let (first, second) = (cluster(&service, "a"), cluster(&service, "x"));
    let merge = edit(&service, &json!({"kind": "merge", "clusters": [second, first]}));
    assert_eq!(merge["clusters"], json!([first]));
    store(&service, 2, &["z"]);
    assert_eq!(members(&service, first, true), ["x", "y", "z"]);
    service.get(&format!("/api/v1/articles/clusters/{second}")).expect_problem(404);
    let listed = service.get("/api/v1/articles/clusters").expect(200).json();
    assert_eq!(listed["clusters"].as_array().unwrap().len(), 1);
    assert_eq!((&listed["clusters"][0]["id"], &listed["clusters"][0]["size"]), (&json!(first), &json!(5)));
    undo(&service, &merge).expect(204);
    assert_eq!(members(&service, second, false), ["x", "y", "z"]);
}

#[test]
fn pairs_are_joined_and_separated() {
    let service = Service::start();
    store(&service, 1, &["a", "b"]);
    store(&service, 2, &["x"]);
    edit(&service, &json!({"kind": "same", "a": "x", "b": "a"}));
    assert_eq!(cluster(&service, "x"), cluster(&service, "b"));
    let different = edit(&service, &json!({"kind": "different", "a": "a", "b": "b"}));
    assert_ne!(cluster(&service, "a"), cluster(&service, "b"));
    assert_eq!(cluster(&service, "a"), cluster(&service, "x"));
    // The later edit decides.
    edit(&service, &json!({"kind": "same", "a": "b", "b": "a"}));
    assert_eq!(cluster(&service, "a"), cluster(&service, "b"));
    let listed = service.get(&format!("{EDITS}?limit=2")).expect(200).json();
    assert_eq!((&listed["named"], &listed["max_named"]), (&json!(3), &json!(10_000)));
    assert_eq!(
        listed["edits"][1],
        json!({"clusters": [cluster(&service, "a")], "edit": different["edit"],
        "kind": "different", "at": different["at"], "documents": ["a", "b"], "active": false, "pending": false})
    );
    let next = listed["next"].as_str().unwrap();
    let rest = service.get(&format!("{EDITS}?limit=2&cursor={next}")).expect(200).json();
    assert_eq!((rest["edits"].as_array().unwrap().len(), &rest["next"]), (1, &Value::Null));
}

#[test]
fn rejects_edits_that_are_not_possible() {
    let service = Service::start();
    store(&service, 1, &["a", "b"]);
    store(&service, 2, &["x"]);
    let (both, alone) = (cluster(&service, "a"), cluster(&service, "x"));
    let post = |body: Value| service.post(EDITS, &body);
    post(json!({"kind": "split", "cluster": both})).expect_fault("/documents", "missing");
    post(json!({"kind": "merge", "clusters": [both, alone], "a": "x"})).expect_fault("/a", "invalid");
    post(json!({"kind": "join"})).expect_fault("/kind", "invalid");
    post(json!({"kind": "merge", "clusters": []})).expect_fault("/clusters", "out_of_range");
    for body in [
        json!({"kind": "split", "cluster": both, "documents": ["a", "b"]}),
        json!({"kind": "split", "cluster": both, "documents": ["x"]}),
        json!({"kind": "split", "cluster": alone, "documents": ["x"]}),
        json!({"kind": "merge", "clusters": [both, both]}),
        json!({"kind": "same", "a": "a", "b": "a"}),
    ] {
        assert_eq!(post(body.clone()).status, 422, "{body}");
    }
    for body in [
        json!({"kind": "split", "cluster": 999, "documents": ["a"]}),
        json!({"kind": "split", "cluster": both, "documents": ["missing"]}),
        json!({"kind": "merge", "clusters": [both, 999]}),
        json!({"kind": "different", "a": "a", "b": 7}),
    ] {
        assert_eq!(post(body.clone()).status, 404, "{body}");
    }
    assert_eq!(service.get(EDITS).json()["edits"], json!([]));
    let unknown = service.send("POST", "/api/v1/nothing/edits", &[JSON], br#"{"kind":"same","a":1,"b":2}"#);
    unknown.expect_problem(404);
}

#[test]
fn edited_clusters_have_one_representative_each() {
    let service = Service::start();
    store(&service, 1, &["a", "b", "c"]);
    store(&service, 2, &["x"]);
    edit(&service, &json!({"kind": "split", "cluster": cluster(&service, "a"), "documents": ["a"]}));
    edit(&service, &json!({"kind": "same", "a": "b", "b": "x"}));
    let exported = service.get("/api/v1/articles/export?representatives=true").expect(200).text();
    let ids: Vec<Value> =
        exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone()).collect();
    assert_eq!(ids.len(), 2, "{exported}");
    assert_eq!(ids[0], "a");
}

#[test]
fn edits_need_a_key_that_permits_writing() {
    let service = Service::with(|settings| {
        let keys = "[[keys]]\nkey = \"r\"\nscope = \"read\"\n[[keys]]\nkey = \"w\"\nscope = \"write\"\n\
            [[keys]]\nkey = \"a\"\nscope = \"admin\"\n";
        settings.keys = sameish_server::Settings::from_toml(keys).unwrap().keys;
    });
    let send = |method: &str, key: &str, path: &str| {
        let key = format!("Bearer {key}");
        service.send(method, path, &[JSON, ("authorization", &key)], br#"{"kind":"same","a":1,"b":2}"#).status
    };
    assert_eq!((send("POST", "r", EDITS), send("POST", "w", EDITS)), (403, 404));
    let path = format!("{EDITS}/1");
    assert_eq!((send("DELETE", "r", &path), send("DELETE", "w", &path)), (403, 404));
    for (key, permits) in [("r", "read"), ("w", "write"), ("a", "admin")] {
        let key = format!("Bearer {key}");
        let listed = service.send("GET", "/api/v1", &[("authorization", &key)], b"").expect(200).json();
        assert_eq!(listed["permits"], permits);
    }
}

#[test]
fn a_service_without_keys_permits_everything() {
    let service = Service::start();
    assert_eq!(service.get("/api/v1").expect(200).json()["permits"], "admin");
}
