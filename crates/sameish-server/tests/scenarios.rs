//! Acceptance scenarios of the presets `articles` and `headlines`.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{Service, article};
use serde_json::{Value, json};

fn ids(found: &Value) -> Vec<Value> {
    found["similar"].as_array().unwrap().iter().map(|found| found["id"].clone()).collect()
}

/// Returns the text with every `step`-th word replaced.
fn edited(text: &str, step: usize) -> String {
    let words: Vec<String> = text
        .split(' ')
        .enumerate()
        .map(|(i, word)| if i % step == step - 1 { format!("new{i}") } else { word.into() })
        .collect();
    words.join(" ")
}

mod articles {
    use super::*;

    #[test]
    fn identical_texts_match_exactly() {
        let service = Service::start();
        let text = article(1, 300);
        for id in 1..=2 {
            service.post("/api/v1/articles", json!({"id": id, "text": text})).expect(201);
        }
        let found = service.get("/api/v1/articles/1/similar").json();
        assert_eq!(found["similar"][0]["similarity_score"], 1.0);
        assert_eq!(found["similar"][0]["match_type"], "exact");
        assert_eq!(found["similar"][0]["simhash_distance"], 0);
    }

    #[test]
    fn finds_slightly_edited_copies() {
        let service = Service::start();
        let mut lines = String::new();
        for story in 0..40 {
            let text = article(story, 400);
            lines += &format!("{}\n", json!({"id": format!("{story}-a"), "text": text}));
            lines += &format!("{}\n", json!({"id": format!("{story}-b"), "text": edited(&text, 60)}));
        }
        service.bulk("/api/v1/articles/bulk", &lines);
        for story in 0..40 {
            let found = service.get(&format!("/api/v1/articles/{story}-a/similar")).json();
            assert_eq!(ids(&found), [json!(format!("{story}-b"))], "story {story}");
            assert!(found["similar"][0]["similarity_score"].as_f64().unwrap() > 0.85);
        }
    }

    #[test]
    fn different_texts_do_not_match() {
        let service = Service::start();
        let lines: String =
            (0..50).map(|id| format!("{}\n", json!({"id": id, "text": article(id, 120)}))).collect();
        for response in service.bulk("/api/v1/articles/bulk", &lines) {
            assert_eq!(response["duplicates"], json!([]));
        }
        assert_eq!(ids(&service.get("/api/v1/articles/7/similar").json()), [] as [Value; 0]);
    }

    #[test]
    fn returns_ten_matches_by_default_best_first() {
        let service = Service::start();
        let text = article(1, 300);
        for id in 0..15 {
            let text = if id == 0 { text.clone() } else { edited(&text, 280 - 12 * id) };
            service.post("/api/v1/articles", json!({"id": id, "text": text})).expect(201);
        }
        let found = service.get("/api/v1/articles/0/similar").json();
        let scores: Vec<f64> = found["similar"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["similarity_score"].as_f64().unwrap())
            .collect();
        assert_eq!(scores.len(), 10);
        assert!(scores.windows(2).all(|pair| pair[0] >= pair[1]), "{scores:?}");
        let all = service.get("/api/v1/articles/0/similar?limit=100").json();
        assert_eq!(ids(&all).len(), 14);
    }

    #[test]
    fn short_articles_are_flagged_and_found() {
        let service = Service::start();
        let text = article(1, 30);
        let first = service.post("/api/v1/articles", json!({"id": 1, "text": text})).expect(201).json();
        assert_eq!(first["status"], "too_short");
        assert_eq!(first["too_short"], true);
        assert!(first["cluster"].is_u64());
        let second = service.post("/api/v1/articles", json!({"id": 2, "text": text})).expect(201).json();
        assert_eq!(second["duplicates"][0]["id"], 1);
        assert_eq!(second["cluster"], first["cluster"]);
        assert_eq!(ids(&service.get("/api/v1/articles/1/similar").json()), [json!(2)]);
        assert_eq!(service.get("/api/v1/articles/1").json()["status"], "too_short");
        assert!(service.get("/api/v1/articles/1").json()["simhash"].is_string());
    }

    #[test]
    fn templates_are_flagged_and_not_clustered() {
        let service = Service::start();
        let template = |company: &str, town: &str, sales: &str, people: &str| {
            format!(
                "{company} from {town} sold goods worth {sales} million euros in the last quarter, the company said on Monday. \
                 Demand was strong in the home market while orders from abroad stayed behind the plan. It employs {people} \
                 people and wants to hire more this year. For the full year the board expects sales to grow in the same range \
                 as before. The shares rose slightly in early trading and the next figures come in three months."
            )
        };
        let [a, b] = [("Hydra", "Kelling", "182.4", "1930"), ("Boreal", "Ostmark", "97.3", "840")]
            .map(|(company, town, sales, people)| template(company, town, sales, people));
        let first = service.post("/api/v1/articles", json!({"id": "a", "text": a})).expect(201).json();
        let second = service.post("/api/v1/articles", json!({"id": "b", "text": b})).expect(201).json();
        assert_eq!(second["duplicates"][0]["id"], "a");
        assert_eq!(second["duplicates"][0]["template"], true);
        assert_ne!(first["cluster"], second["cluster"]);
    }
}

mod headlines {
    use super::*;

    const HEADLINES: &str = "/api/v1/headlines";

    #[test]
    fn a_first_headline_gets_a_cluster() {
        let service = Service::start();
        let stored = service
            .post(HEADLINES, json!({"id": 1, "title": "SpaceX acquires xAI for $2 billion"}))
            .expect(201)
            .json();
        assert_eq!(stored["status"], "created");
        assert!(stored["cluster"].is_u64());
    }

    #[test]
    fn similar_headlines_join_a_cluster() {
        let service = Service::start();
        let post = |id: u64, title: &str| {
            service.post(HEADLINES, json!({"id": id, "title": title})).expect(201).json()
        };
        let first = post(1, "SpaceX acquires xAI for $2 billion in cash and stock");
        let joined = post(2, "SpaceX acquires xAI for $2 billion in cash and stocks");
        let other = post(3, "Storm closes coastal road as waves top sea wall");
        assert_eq!(first["cluster"], joined["cluster"]);
        assert!(joined["duplicates"][0]["similarity_score"].as_f64().unwrap() >= 0.75);
        assert_ne!(other["cluster"], first["cluster"]);
        assert_eq!(other["duplicates"], json!([]));
        let cluster =
            service.get(&format!("/api/v1/headlines/clusters/{}", first["cluster"])).expect(200).json();
        assert_eq!(cluster["members"].as_array().unwrap().len(), 2);
        assert_eq!(cluster["center"], 1);
    }

    #[test]
    fn short_headlines_are_clusters_of_their_own() {
        let service = Service::start();
        let long = "Markets fall after sudden rate rise";
        let mut clusters = std::collections::BTreeSet::new();
        for (id, title) in
            [(1, "Election results"), (2, "Election results"), (3, "The king is dead"), (4, long)]
        {
            let stored = service.post(HEADLINES, json!({"id": id, "title": title})).expect(201).json();
            assert_eq!(stored["too_short"], title != long, "{title}");
            assert!(clusters.insert(stored["cluster"].as_u64().unwrap()), "{title}");
        }
    }

    #[test]
    fn clusters_keep_their_ids_after_restarts_and_deletes() {
        let service = Service::start();
        let title = "Night train from Arlen to Lisbon returns after eleven years";
        let first = service.post(HEADLINES, json!({"id": 1, "title": title})).expect(201).json();
        let second = service.post(HEADLINES, json!({"id": 2, "title": title})).expect(201).json();
        assert_eq!(first["cluster"], second["cluster"]);
        let service = Service::with_data(service.stop(), |_| {});
        let third =
            service.post(HEADLINES, json!({"id": 3, "title": format!("{title} away")})).expect(201).json();
        assert_eq!(third["cluster"], first["cluster"]);
        service.delete("/api/v1/headlines/1").expect(204);
        let cluster =
            service.get(&format!("/api/v1/headlines/clusters/{}", first["cluster"])).expect(200).json();
        assert_eq!(cluster["size"], 2);
        assert_eq!(cluster["center"], 2);
        for id in [2, 3] {
            service.delete(&format!("/api/v1/headlines/{id}")).expect(204);
        }
        service.get(&format!("/api/v1/headlines/clusters/{}", first["cluster"])).expect_problem(404);
        let new = service.post(HEADLINES, json!({"id": 4, "title": title})).expect(201).json();
        assert_ne!(new["cluster"], first["cluster"], "cluster ids are never reused");
    }

    #[test]
    fn the_demo_contains_copies_templates_and_clusters() {
        let directory = tempfile::tempdir().unwrap();
        let mut settings =
            sameish_server::Settings { data: directory.path().join("data"), ..Default::default() };
        settings.listen.set_port(0);
        let server = sameish_server::Server::bind(settings).unwrap();
        assert_eq!(server.load_demo().unwrap(), 143);
        assert_eq!(server.load_demo().unwrap(), 143, "loading again changes nothing");
        drop(server);
        let service = Service::with_data(directory, |_| {});
        let found = service.get("/api/v1/articles/harbor-1/similar").json();
        assert_eq!(ids(&found)[0], "harbor-7");
        assert_eq!(ids(&found).len(), 7);
        let found = service.get("/api/v1/articles/results-hydra/similar").json();
        let template = |id: &str| {
            let all = found["similar"].as_array().unwrap();
            all.iter().find(|found| found["id"] == id).map(|found| found["template"].as_bool().unwrap())
        };
        assert_eq!(template("results-boreal"), Some(true));
        assert_eq!(template("results-hydra-copy"), Some(false));
        let clusters = service.get("/api/v1/headlines/clusters").json();
        assert!(clusters["clusters"].as_array().unwrap().len() >= 8);
    }
}
