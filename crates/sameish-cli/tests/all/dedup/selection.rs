//! Selection of the documents to keep.

use super::{corpus, near, news, summary, text};
use crate::common::{Dir, jsonl, lines};
use serde_json::{Value, json};

#[test]
fn keeps_short_and_blank_texts_and_removes_equal_short_ones() {
    let dir = Dir::new();
    let texts = ["Short", " short", "Other", "", "", " ", "short"];
    dir.write("a.jsonl", corpus(texts.map(str::to_owned)));
    let run = dir.run(["dedup", "a.jsonl", "--json"]).ends_with(0);
    assert_eq!(run.ids(), "0,2,3,4,5");
    assert_eq!((&summary(&run)["too_short"], &summary(&run)["removed"]), (&json!(7), &json!(2)));
}

#[test]
fn equal_short_headlines_are_kept() {
    let dir = Dir::new();
    let long = "Storm closes harbors along northern coast overnight";
    dir.write("a.jsonl", corpus(["Breaking news", "breaking NEWS", long, long].map(str::to_owned)));
    let preset = ["--preset", "headlines"];
    let run = |command: &[&str]| dir.run([command, &preset].concat()).ends_with(0);
    assert_eq!(run(&["dedup", "a.jsonl", "--max-removed", "100%"]).ids(), "0,1,2");
    assert_eq!(run(&["pairs", "a.jsonl"]).stdout.lines().count(), 1);
    for linkage in ["online", "cohesive", "components"] {
        assert_eq!(run(&["cluster", "a.jsonl", "--linkage", linkage]).stdout.lines().count(), 3, "{linkage}");
    }
}

#[test]
fn keep_rule_selects_the_document() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    let kept = |rule: &str| dir.run(["dedup", "a.jsonl", "--keep", rule]).ends_with(0).ids();
    assert_eq!(kept("first"), "1,\"1\",5");
    assert_eq!(kept("longest"), "\"1\",4,5");
    assert_eq!(kept("newest"), "2,\"1\",5");
    assert_eq!(kept("field:score"), "2,\"1\",5", "20 is more than 7 and 3, as a number");
    dir.run(["dedup", "a.jsonl", "--keep", "field:source"])
        .ends_with(2)
        .says(&["`source` is already used as another field"]);
    dir.run(["dedup", "a.jsonl", "--keep", "field:nothing"]).ends_with(2).says(&["no field `nothing`"]);
    dir.write("when.jsonl", news().replace("published_at", "when"));
    let by = dir.run(["dedup", "when.jsonl", "--keep", "newest", "--date-field", "when"]).ends_with(0);
    assert_eq!(by.ids(), "2,\"1\",5");
    for rule in ["best", "field:", "field", ""] {
        dir.run(["dedup", "a.jsonl", "--keep", rule])
            .ends_with(2)
            .says(&["`first`, `longest`, `newest` or `field:NAME`"]);
    }
    dir.write("b.jsonl", news() + &jsonl(&[json!({"id": 9, "text": near(), "published_at": "soon"})]));
    let run = dir.run(["dedup", "b.jsonl", "--keep", "newest"]).ends_with(3).says(&["line 6", "soon"]);
    assert_eq!(run.ids(), "2,\"1\",5");
    dir.run(["dedup", "b.jsonl"]).ends_with(0);
}

#[test]
fn keeps_one_document_per_source() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    assert_eq!(dir.run(["dedup", "a.jsonl", "--per-source"]).ends_with(0).ids(), "1,2,\"1\",5");
    let newest = dir.run(["dedup", "a.jsonl", "--per-source", "--keep", "newest"]).ends_with(0);
    assert_eq!(newest.ids(), "2,\"1\",4,5");
}

#[test]
fn removes_documents_of_an_existing_corpus() {
    let dir = Dir::new();
    dir.write("old.jsonl", jsonl(&[json!({"id": 1, "text": near()}), json!({"id": 2, "text": "SHORT"})]));
    dir.write("new.jsonl", news());
    let args = ["dedup", "new.jsonl", "--against", "old.jsonl", "--removed", "gone", "--json"];
    let run = dir.run(args).ends_with(0);
    assert_eq!(run.ids(), "\"1\"");
    let found = summary(&run);
    let count = |key: &str| found[key].as_u64().unwrap();
    assert_eq!((count("documents"), count("kept"), count("removed"), count("too_short")), (5, 1, 4, 1));
    let gone: Vec<(Value, Value)> =
        lines(&dir.read("gone")).iter().map(|line| (line["id"].clone(), line["kept"].clone())).collect();
    let to_one = |id: i32| (json!(id), json!(1));
    assert_eq!(gone, [to_one(1), to_one(2), to_one(4), (json!(5), json!(2))]);
    // All documents exist already, so the limit is exceeded.
    let run = dir.run(["dedup", "new.jsonl", "--against", "new.jsonl"]).ends_with(5);
    assert_eq!(run.stdout, "");
    let run = dir.run(["dedup", "new.jsonl", "--against", "new.jsonl", "--max-removed", "1"]).ends_with(0);
    assert_eq!(run.stdout, "");
    dir.run(["dedup", "new.jsonl", "--against", "-"]).ends_with(2).says(&["cannot read standard input"]);
    dir.run(["dedup", "new.jsonl", "--against", "missing", "-o", "x"]).ends_with(4);
    dir.run(["dedup", "new.jsonl", "--against", "old.jsonl", "-o", "old.jsonl", "--force"]).ends_with(2);
    assert_eq!(dir.read("old.jsonl").lines().count(), 2);
}

#[test]
fn keeps_templates_unless_merged() {
    let dir = Dir::new();
    let form = |bank: &str, rate: &str, place: &str| {
        format!(
            "The {bank} said on Thursday that it leaves its main rate at {rate} percent, as most economists had expected, and \
             that it will look at the rate again at its next meeting. The governor said in {place} that prices rise more \
             slowly than a year ago, that the outlook is uncertain, and that the bank is ready to act if it must."
        )
    };
    let texts = [
        form("Bank of Norland", "4.25", "Havenport"),
        form("Bank of Sudmark", "1.75", "Lindholm"),
        text(1, 60),
    ];
    dir.write("a.jsonl", corpus(texts));
    let threshold = ["--threshold", "0.6"];
    let keep = dir.run(["dedup", "a.jsonl", "--json"].iter().chain(&threshold)).ends_with(0);
    assert_eq!((keep.ids().as_str(), &summary(&keep)["templates"]), ("0,1,2", &json!(1)));
    let merge = dir.run(["dedup", "a.jsonl", "--templates", "merge"].iter().chain(&threshold)).ends_with(0);
    assert_eq!(merge.ids(), "0,2");
}
