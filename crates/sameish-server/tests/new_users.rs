//! What a new user sees: unknown fields, short texts, offsets, lists, and hints for common mistakes.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{JSON, Service, article};
use serde_json::{Value, json};

const NDJSON: (&str, &str) = ("content-type", "application/x-ndjson");

fn warning_of(response: &Value) -> &str {
    response["warnings"].as_array().map_or("", |warnings| warnings[0].as_str().unwrap())
}

#[test]
fn unknown_fields_are_stored_as_metadata_and_returned() {
    let service = Service::start();
    let metadata = json!({"topic": "bridges", "tags": ["a", 1, 2.5, null], "number": u64::MAX});
    let mut document = json!({"id": 1, "text": article(1, 80), "metadata": {"topic": "bridges"}});
    document["tags"] = metadata["tags"].clone();
    document["number"] = metadata["number"].clone();
    service.post("/api/v1/articles", &document).expect(201);
    assert_eq!(service.get("/api/v1/articles/1").json()["metadata"], metadata);
    assert_eq!(service.get("/api/v1/articles/documents").json()["documents"][0]["metadata"], metadata);

    let directory = service.stop();
    let service = Service::with_data(directory, |_| {});
    assert_eq!(service.get("/api/v1/articles/1").json()["metadata"], metadata, "after a restart");
    let replaced = service.put("/api/v1/articles/1", json!({"text": article(1, 80), "topic": "roads"}));
    assert_eq!(replaced.expect(200).json()["status"], "replaced");
    assert_eq!(service.get("/api/v1/articles/1").json()["metadata"], json!({"topic": "roads"}));
    service.put("/api/v1/articles/1", json!({"text": article(1, 80)})).expect(200);
    assert_eq!(service.get("/api/v1/articles/1").json()["metadata"], json!({}));
}

#[test]
fn bulk_stores_documents_with_extra_fields() {
    let service = Service::start();
    let lines: String = (0..300)
        .map(|id| json!({"id": id, "text": article(id, 80), "feed": "a"}).to_string() + "\n")
        .collect();
    let responses = service.bulk("/api/v1/articles/bulk?summary=true", &lines);
    assert_eq!(responses.len(), 301);
    assert_eq!(responses[300]["summary"]["stored"], 300);
    assert_eq!(responses[300]["summary"]["rejected"], 0);
    assert_eq!(service.get("/api/v1/articles/299").json()["metadata"], json!({"feed": "a"}));
}

#[test]
fn metadata_over_64_kib_is_rejected() {
    let service = Service::start();
    let document = |bytes: usize| json!({"text": "x", "note": "x".repeat(bytes)});
    service.post("/api/v1/articles", document((64 << 10) - 11)).expect(201);
    service.post("/api/v1/articles", document((64 << 10) - 10)).expect_fault("/metadata", "too_long");
    let nested = json!({"text": "x", "metadata": {"note": "x".repeat(40_000)}, "note2": "x".repeat(40_000)});
    service.post("/api/v1/articles", nested).expect_fault("/metadata", "too_long");
    service
        .post("/api/v1/articles", json!({"text": "x", "metadata": 7}))
        .expect_fault("/metadata", "wrong_type");
    let twice = json!({"text": "x", "a": 1, "metadata": {"a": 1}});
    service.post("/api/v1/articles", twice).expect_fault("/a", "invalid");
}

#[test]
fn strict_requests_reject_unknown_fields_and_list_the_allowed_ones() {
    let service = Service::start();
    let document = json!({"id": 1, "text": article(1, 80), "topic": "x", "titel": "y"});
    for problem in [
        service.post("/api/v1/articles?strict=true", &document).expect_problem(422),
        service.put("/api/v1/articles/1?strict=true", &document).expect_problem(422),
        service.bulk("/api/v1/articles/bulk?strict=true", &document.to_string())[0]["error"].clone(),
    ] {
        assert_eq!(problem["errors"].as_array().unwrap().len(), 2, "{problem}");
        assert_eq!(problem["errors"][0]["code"], "unknown_field");
        let detail = problem["errors"][0]["detail"].as_str().unwrap();
        for field in ["id", "title", "text", "url", "host", "source", "published_at", "metadata"] {
            assert!(detail.contains(&format!("`{field}`")), "{detail}");
        }
    }
    service.get("/api/v1/articles/1").expect(404);
    service.post("/api/v1/articles?strict=false", &document).expect(201);
}

#[test]
fn title_is_not_compared_silently_if_another_field_looks_like_the_text() {
    let service = Service::start();
    for name in ["body", "content", "article"] {
        let document = json!({"title": "Harbor closes for the winter again", name: article(1, 80)});
        let response = service.post("/api/v1/headlines", &document).expect(201).json();
        let warning = warning_of(&response);
        assert!(warning.contains("`title` was compared"), "{warning}");
        assert!(warning.contains(&format!("`{name}`")), "{warning}");
        let lines = service.bulk("/api/v1/headlines/bulk?summary=true", &document.to_string());
        assert_eq!(warning_of(&lines[0]), warning);
        assert_eq!(lines[1]["summary"]["warnings"], 1);
        let missing = service.post("/api/v1/headlines", json!({name: article(1, 80)})).expect_problem(422);
        let detail = missing["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains(&format!("send `{name}` as `text`")), "{detail}");
    }
    let headline = service.post("/api/v1/headlines", json!({"title": "Harbor closes for the winter"}));
    assert_eq!(warning_of(&headline.expect(201).json()), "");
}

#[test]
fn bulk_deletes_documents_in_order_and_counts_the_results() {
    let service = Service::start();
    let lines = [
        json!({"id": 1, "text": article(1, 80)}).to_string(),
        json!({"id": 2, "text": article(1, 80)}).to_string(),
        json!({"delete": 1}).to_string(),
        json!({"delete": 1}).to_string(),
        json!({"id": 1, "text": article(2, 80)}).to_string(),
        json!({"id": 1, "text": article(2, 80)}).to_string(),
        json!({"delete": "2"}).to_string(),
        json!({"delete": 2, "text": "x"}).to_string(),
        "{".to_owned(),
        json!({"id": "short", "text": ""}).to_string(),
    ];
    let responses = service.bulk("/api/v1/copies/bulk?summary=true", &lines.join("\n"));
    let statuses: Vec<&str> = responses[..10].iter().map(|line| line["status"].as_str().unwrap()).collect();
    assert_eq!(
        statuses,
        [
            "created",
            "created",
            "deleted",
            "rejected",
            "created",
            "unchanged",
            "rejected",
            "rejected",
            "rejected",
            "too_short"
        ]
    );
    assert_eq!(
        responses[2],
        json!({"line": 3, "id": 1, "status": "deleted", "http_status": 204, "cluster": null})
    );
    assert_eq!(responses[3]["http_status"], 404, "it is deleted already");
    assert_eq!(responses[6]["http_status"], 404, "the id keeps its type");
    assert_eq!(responses[7]["http_status"], 422, "a deletion has no other fields");
    assert_eq!(
        responses[10],
        json!({"summary": {"complete": true, "lines": 10, "stored": 4, "unchanged": 1, "duplicates": 1, "too_short": 1,
            "deleted": 1, "rejected": 4, "warnings": 0}})
    );
    assert_eq!(service.get("/api/v1/copies/1").json()["text"], article(2, 80));
    service.get("/api/v1/copies/2").expect(200);
    assert_eq!(service.bulk("/api/v1/copies/bulk", &lines[0]).len(), 1, "no summary unless requested");
}

#[test]
fn incomplete_bulk_request_has_a_summary_that_says_so() {
    let service = Service::with(|settings| settings.limits.bulk_documents = 2);
    let lines: String = (0..5).map(|id| json!({"id": id, "text": "x"}).to_string() + "\n").collect();
    let responses = service.bulk("/api/v1/copies/bulk?summary=true", &lines);
    let summary = &responses.last().unwrap()["summary"];
    assert_eq!(
        (&summary["complete"], &summary["stored"], &summary["rejected"]),
        (&json!(false), &json!(2), &json!(1))
    );
}

#[test]
fn search_for_too_little_text_returns_too_short() {
    let service = Service::start();
    service.post("/api/v1/headlines", json!({"id": "short", "title": "Harbor closes"})).expect(201);
    let found = service.post("/api/v1/headlines/query", json!({"text": "Harbor"})).expect(200).json();
    assert_eq!((&found["status"], &found["too_short"]), (&json!("too_short"), &json!(true)));
    let found = service.get("/api/v1/headlines/short/similar").expect(200).json();
    assert_eq!(found["status"], "too_short");
    let found = service.post("/api/v1/headlines/query", json!({"text": article(1, 80)})).expect(200).json();
    assert_eq!((&found["status"], &found["too_short"]), (&json!("ok"), &json!(false)));
}

/// Returns the part of a text between two offsets.
fn slice(text: &str, offsets: &str, start: &Value, end: &Value) -> String {
    let range = start.as_u64().unwrap() as usize..end.as_u64().unwrap() as usize;
    match offsets {
        "utf8" => text[range].to_owned(),
        "utf16" => String::from_utf16(&text.encode_utf16().collect::<Vec<_>>()[range]).unwrap(),
        _ => text.chars().collect::<Vec<_>>()[range].iter().collect(),
    }
}

#[test]
fn passages_have_their_text_and_offsets_in_the_requested_unit() {
    let service = Service::start();
    let shared = article(1, 80);
    let a = format!("Größe 🦀 {shared}");
    let b = format!("🦀🦀 über {shared} ende");
    service.post("/api/v1/articles", json!({"id": "a", "text": a})).expect(201);
    service.post("/api/v1/articles", json!({"id": "b", "text": b})).expect(201);
    for offsets in ["utf8", "utf16", "chars"] {
        let similar = format!("/api/v1/articles/a/similar?evidence=true&offsets={offsets}");
        let query = json!({"text": a, "evidence": true, "offsets": offsets});
        let compare = json!({"a": a, "b": b, "offsets": offsets});
        let similar = service.get(&similar).expect(200).json();
        let queried = service.post("/api/v1/articles/query", query).expect(200).json();
        let compared = service.post("/api/v1/compare", compare).expect(200).json();
        let other = |found: &Value| {
            found["similar"].as_array().unwrap().iter().find(|found| found["id"] == "b").cloned()
        };
        let evidence = |found: &Value| other(found).unwrap()["evidence"]["passages"].clone();
        for passages in [evidence(&similar), evidence(&queried), compared["passages"].clone()] {
            let passage = &passages[0];
            assert_eq!(passage["text"], shared, "{offsets}");
            assert_eq!(slice(&a, offsets, &passage["a_start"], &passage["a_end"]), shared, "{offsets}");
            assert_eq!(slice(&b, offsets, &passage["b_start"], &passage["b_end"]), shared, "{offsets}");
        }
    }
    let bytes = service.get("/api/v1/articles/a/similar?evidence=true").expect(200).json();
    let passage = &bytes["similar"][0]["evidence"]["passages"][0];
    assert_eq!(passage["a_start"], a.find(&shared).unwrap(), "bytes by default");
    service.get("/api/v1/articles/a/similar?offsets=bytes").expect_fault("?offsets", "invalid");
}

/// `testdata/differences.json` has texts and the parts in which they differ, for the tests of all interfaces.
#[test]
fn differences_are_those_of_all_interfaces_in_the_requested_unit() {
    let service = Service::start();
    let settings = json!({"overrides": {"matching": {"threshold": 0.3}}});
    service.put("/api/v1/loose", settings).expect(201);
    let cases: Value = serde_json::from_str(include_str!("../../../testdata/differences.json")).unwrap();
    for (number, case) in cases.as_array().unwrap().iter().enumerate() {
        let [a, b] = ["a", "b"].map(|name| case[name].as_str().unwrap());
        let [first, second] = ["a", "b"].map(|name| format!("{name}{number}"));
        service.post("/api/v1/loose", json!({"id": first, "text": a})).expect(201);
        service.post("/api/v1/loose", json!({"id": second, "text": b})).expect(201);
        for offsets in ["utf8", "utf16", "chars"] {
            let similar = format!("/api/v1/loose/{first}/similar?evidence=true&offsets={offsets}");
            let similar = service.get(&similar).expect(200).json();
            let found = similar["similar"].as_array().unwrap().iter().find(|found| found["id"] == *second);
            let compare = json!({"a": a, "b": b, "offsets": offsets});
            let compared = service.post("/api/v1/compare", compare).expect(200).json();
            let of_match = &found.unwrap()["evidence"]["differences"];
            for differences in [of_match, &compared["differences"]] {
                let part = |text: &str, difference: &Value, side: &str| {
                    let at = |end: &str| difference[format!("{side}_{end}")].clone();
                    slice(text, offsets, &at("start"), &at("end"))
                };
                let shown = |difference: &Value| {
                    let [in_a, in_b] = [part(a, difference, "a"), part(b, difference, "b")];
                    json!({"kind": difference["kind"], "a": in_a, "b": in_b})
                };
                let shown: Vec<Value> = differences.as_array().unwrap().iter().map(shown).collect();
                assert_eq!(json!(shown), case["differences"], "{offsets}");
            }
        }
    }
}

#[test]
fn matches_have_the_same_names_in_every_response() {
    let service = Service::start();
    service.post("/api/v1/articles", json!({"id": 1, "text": article(1, 80)})).expect(201);
    let inserted =
        service.post("/api/v1/articles", json!({"id": 2, "text": article(1, 80)})).expect(201).json();
    let similar = service.get("/api/v1/articles/1/similar").json();
    let queried = service.post("/api/v1/articles/query", json!({"text": article(1, 80)})).json();
    for found in [&inserted["duplicates"][0], &similar["similar"][0], &queried["similar"][0]] {
        assert_eq!((&found["similarity"], &found["similarity_score"]), (&json!(1.0), &json!(1.0)), "{found}");
        assert_eq!(found["simhash_distance"], 0);
    }
    service.post("/api/v1/copies", json!({"id": 1, "text": article(1, 80)})).expect(201);
    let queried = service.post("/api/v1/copies/query", json!({"text": article(1, 80)})).json();
    let found = queried["similar"][0].as_object().unwrap();
    assert_eq!(found.get("simhash_distance"), Some(&Value::Null), "null without a SimHash");
}

#[test]
fn collections_are_listed() {
    let service = Service::start();
    service.put("/api/v1/own", json!({"preset": "headlines"})).expect(201);
    service.post("/api/v1/own", json!({"title": "Harbor closes for the winter again"})).expect(201);
    let listed = service.get("/api/v1").expect(200).json();
    let names: Vec<&str> =
        listed["collections"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted() && names.contains(&"articles"), "{names:?}");
    let own = names.iter().position(|name| *name == "own").unwrap();
    let mut shown = service.get("/api/v1/own").json();
    assert_eq!(shown.as_object_mut().unwrap().remove("days").unwrap()[0]["documents"], 1);
    assert_eq!(listed["collections"][own], shown);
}

#[test]
fn documents_are_listed_page_by_page() {
    let service = Service::start();
    let lines: String = (0..25)
        .map(|id| json!({"id": format!("a/{id}"), "text": article(id, 80)}).to_string() + "\n")
        .collect();
    service.bulk("/api/v1/articles/bulk", &lines);
    let mut listed = Vec::new();
    let mut path = "/api/v1/articles/documents?limit=10".to_owned();
    let mut pages = 0;
    loop {
        let page = service.get(&path).expect(200).json();
        pages += 1;
        let ids = page["documents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| found["id"].as_str().unwrap().to_owned());
        listed.extend(ids);
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/v1/articles/documents?limit=10&cursor={next}");
    }
    assert_eq!(pages, 3);
    listed.sort();
    listed.dedup();
    assert_eq!(listed.len(), 25);
    let first = service.get("/api/v1/articles/documents?limit=1").json()["documents"][0].clone();
    assert_eq!(
        first,
        service.get("/api/v1/articles/a%2F0").json(),
        "a listed document is the whole document"
    );
    service.get("/api/v1/articles/documents?cursor=22-0").expect_problem(400);
    service.get("/api/v1/none/documents").expect_problem(404);
}

#[test]
fn page_of_documents_is_bounded_by_its_size() {
    let service = Service::with(|settings| settings.limits.response_bytes = 64 << 10);
    for id in 0..4 {
        service.post("/api/v1/articles", json!({"id": id, "text": article(id, 4_000)})).expect(201);
    }
    let page = service.get("/api/v1/articles/documents").expect(200).json();
    assert!(page["documents"].as_array().unwrap().len() < 4);
    assert_eq!(page["capped"], true);
    assert!(page["next"].is_string());
}

#[test]
fn errors_give_hints_for_common_mistakes() {
    let service = Service::start();
    let detail = |problem: Value| problem["detail"].as_str().unwrap().to_owned();
    for path in
        ["/api/v1/articles/a/b", "/api/v1/articles/a/b/similar", "/api/v1/articles/https://x.example/y"]
    {
        let found = detail(service.get(path).expect_problem(404));
        assert!(found.contains("%2F"), "{found}");
    }
    let lines = format!("{}{}", json!({"id": 1, "text": "x"}), json!({"id": 2, "text": "y"}));
    let form = ("content-type", "application/x-www-form-urlencoded");
    let found =
        detail(service.send("POST", "/api/v1/articles/bulk", &[form], lines.as_bytes()).expect_problem(415));
    assert!(found.contains("--data-binary"), "{found}");
    let found = detail(service.send("POST", "/api/v1/articles", &[form], b"{}").expect_problem(415));
    assert!(found.contains("-H 'content-type: application/json'"), "{found}");
    let list = service.send("POST", "/api/v1/articles", &[JSON], b"[{\"text\": \"x\"}]").expect_problem(422);
    assert!(detail(list.clone()).contains("`/bulk`"), "{list}");
    let quotes = service.send("POST", "/api/v1/articles", &[JSON], b"{'text': 'x'}").expect_problem(400);
    assert!(detail(quotes.clone()).contains("double quotes"), "{quotes}");
    let rejected = service.bulk("/api/v1/articles/bulk", &lines);
    let found = detail(rejected[0]["error"].clone());
    assert!(found.contains("--data-binary"), "{found}");
    let response = service.send("POST", "/api/v1/articles/bulk", &[NDJSON, ("x", "y")], b"{\"id\":}");
    assert!(!response.text().contains("--data-binary"), "another error has no such hint");
}

#[test]
fn response_405_names_the_allowed_methods() {
    let service = Service::start();
    for (method, path, allowed) in [
        ("GET", "/api/v1/articles/bulk", "`POST`"),
        ("POST", "/api/v1/articles/7", "`DELETE`"),
        ("DELETE", "/api/v1/stats", "`GET`"),
        ("PUT", "/api/v1", "`GET`"),
    ] {
        let problem = service.send(method, path, &[JSON], b"{}").expect_problem(405);
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("allowed methods:") && detail.contains(allowed), "{method} {path}: {detail}");
    }
}

#[test]
fn documentation_page_runs_without_inline_code() {
    let service = Service::start();
    let page = service.get("/docs").expect(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe-inline"), "{policy}");
    assert!(!page.text().contains("style=") && !page.text().contains("<style"), "{}", page.text());
    let script = service.get("/assets/docs.js").expect(200).text();
    for part in ["curl", "try-it"] {
        assert!(script.contains(part), "{part}");
    }
}
