//! The serde form of results, behind the feature `serde`.
use sameish::{Analyzer, Document, Engine, Preset, SearchOptions};
use serde_json::{Value, json};

const TEXT: &str =
    "The council voted on Monday to close the old bridge over the river for repairs until spring 2025.";

#[test]
fn a_match_is_flat_and_reads_back() {
    let mut engine = Engine::new(Preset::Copies.config()).unwrap();
    engine.insert(&Document::new("a", TEXT)).unwrap();
    let search = engine.search(TEXT, SearchOptions::default()).unwrap();
    let json = serde_json::to_value(&search).unwrap();
    let expected = json!({
        "id": "a", "number": 0, "similarity": 1.0, "match_type": "exact", "verified": true,
        "simhash_distance": null, "facts": 1.0, "template": false, "relation": "same",
    });
    assert_eq!(json["matches"], Value::Array(vec![expected]));
    assert_eq!(serde_json::from_value::<sameish::Search>(json).unwrap(), search);
}

#[test]
fn a_comparison_names_its_match_type_and_reads_back() {
    let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
    for (text, expected) in [(TEXT, "exact"), ("nothing in common with that at all", "different")] {
        let comparison = analyzer.compare(TEXT, text, 5);
        let json = serde_json::to_value(&comparison).unwrap();
        assert_eq!(json["match_type"], expected);
        assert_eq!(serde_json::from_value::<sameish::Comparison>(json).unwrap(), comparison);
    }
}
