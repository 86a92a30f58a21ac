//! `sameish tune`: proposals, labels, determinism.

use crate::common::{Dir, Run, gzip, jsonl, zstd};
use sameish::random::SplitMix64;
use serde_json::{Value, json};
use std::path::Path;

struct Random(SplitMix64);

impl Random {
    fn words(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| format!("w{}", self.0.below(2000))).collect()
    }
}

/// Returns texts of `words` random words. The last `copies` texts are copies of the first ones with one changed word, in the
/// same cluster.
fn corpus(originals: usize, copies: usize, words: usize) -> Vec<Value> {
    let mut random = Random(SplitMix64(5));
    let texts: Vec<Vec<String>> = (0..originals).map(|_| random.words(words)).collect();
    let record = |id: usize, cluster: usize, words: &[String]| json!({"id": id, "cluster": cluster, "text": words.join(" ")});
    let mut records: Vec<Value> = texts.iter().enumerate().map(|(i, text)| record(i, i, text)).collect();
    for (i, original) in texts.iter().enumerate().take(copies) {
        let mut text = original.clone();
        text[words / 2] = format!("changed{i}");
        records.push(record(originals + i, i, &text));
    }
    records
}

fn without_clusters(records: &[Value]) -> Vec<Value> {
    records.iter().map(|record| json!({"id": record["id"], "text": record["text"]})).collect()
}

/// Removes line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs `tune --json`.
fn tune(dir: &Dir, args: &[&str]) -> Value {
    let run = dir.run([&["tune", "--json"], args].concat()).ends_with(0);
    serde_json::from_str(&run.stdout).unwrap()
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[track_caller]
fn fits_the_terminal(run: &Run) {
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 80), "{}", run.stdout);
}

#[test]
fn proposes_a_threshold_between_unrelated_texts_and_copies() {
    let dir = Dir::new();
    dir.write_records("in.jsonl", &without_clusters(&corpus(200, 40, 60)));
    let object = tune(&dir, &["in.jsonl"]);
    let proposal = &object["proposal"];
    assert_eq!(proposal["chosen_by"], "valley", "{object}");
    let threshold = number(&proposal["threshold"]);
    // One word of 60 changes 3 of 58 shingles: 55 / 61 = 0.90. Unrelated texts share almost nothing.
    assert!((0.3..0.9).contains(&threshold), "{threshold}");
    assert_eq!(number(&proposal["pairs"]), 40.0);
    let counts = &object["histogram"]["counts"];
    assert_eq!((&counts[18], &object["histogram"]["equal"]), (&json!(40.0), &json!(0)));
    assert_eq!(counts.as_array().unwrap().iter().map(number).sum::<f64>(), 240.0 * 239.0 / 2.0);
    assert!(number(&proposal["expected_recall"]) >= 0.99);
    assert!(number(&proposal["expected_recall_above"]) >= number(&proposal["expected_recall"]));
    let run = dir.run(["tune", "in.jsonl", "--ascii"]).ends_with(0);
    fits_the_terminal(&run);
    let command = format!("sameish dedup in.jsonl --threshold {threshold} --recall 0.99 -o kept.jsonl");
    for part in ["240 documents, the whole input", "has a valley", &command, "Detection probability with"] {
        assert!(run.stdout.contains(part), "no `{part}` in {}", run.stdout);
    }
}

#[test]
fn draws_ascii_on_request_and_without_a_utf8_locale() {
    let dir = Dir::new();
    dir.write_records("in.jsonl", &corpus(50, 10, 40));
    let drawn = |args: &[&str], locale: &str| {
        let mut command = dir.command([&["tune", "in.jsonl"], args].concat());
        Run::from(command.env("LC_ALL", locale).output().unwrap()).ends_with(0).stdout
    };
    assert!(drawn(&[], "C").is_ascii() && drawn(&["--ascii"], "de_DE.UTF-8").is_ascii());
    assert!(drawn(&[], "de_DE.UTF-8").contains('█'));
    assert!(drawn(&[], "C").contains("<- 0."));
}

#[test]
fn estimates_large_samples_accurately() {
    let dir = Dir::new();
    // 2,300 texts have too many pairs to compare all of them.
    dir.write_records("in.jsonl", &without_clusters(&corpus(2000, 300, 12)));
    let object = tune(&dir, &["in.jsonl"]);
    assert_eq!(object["origin"]["estimated"], true);
    let counts: Vec<f64> = object["histogram"]["counts"].as_array().unwrap().iter().map(number).collect();
    // One word of 12 changes 3 of 10 shingles: 7 / 13 = 0.54, found almost certainly, so the weight is almost 1.
    assert!((counts[10] - 300.0).abs() < 3.0, "{counts:?}");
    let all = 2300.0 * 2299.0 / 2.0;
    assert!((counts.iter().sum::<f64>() / all - 1.0).abs() < 0.001, "{counts:?}");
    assert_eq!(object["proposal"]["chosen_by"], "valley");
    let run = dir.run(["tune", "in.jsonl"]).ends_with(0);
    fits_the_terminal(&run);
    assert!(
        run.stdout.contains("The counts are estimates.") && run.stdout.contains("random pairs"),
        "{}",
        run.stdout
    );
}

/// So many templates that their similarities are estimated from random pairs.
#[test]
fn templates_below_the_bands_are_not_in_the_histogram() {
    let dir = Dir::new();
    let shared: String = (0..26).map(|i| format!("shared{i} ")).collect();
    let text = |id: usize| {
        let own: String = (0..12)
            .map(|i| format!("Name{} {} ", "bcdfghklmnpr".as_bytes()[i] as usize * 7 + id * 131, id * 17 + i))
            .collect();
        format!("{shared}{own}")
    };
    let records: Vec<Value> = (0..3_200).map(|id| json!({"id": id, "text": text(id)})).collect();
    dir.write_records("in.jsonl", &records);
    let object = tune(&dir, &["in.jsonl", "--sample", "3200"]);
    let cut = number(&object["origin"]["random_pairs_below"]);
    assert!(cut > 0.36, "{}", object["origin"]);
    let all = 3200.0 * 3199.0 / 2.0;
    assert!((number(&object["histogram"]["templates"]) / all - 1.0).abs() < 0.02, "{}", object["histogram"]);
    let counts: Vec<f64> = object["histogram"]["counts"].as_array().unwrap().iter().map(number).collect();
    assert!(counts.iter().skip(counts.len() * 3 / 10).sum::<f64>() < 0.01 * all, "{counts:?}");
}

#[test]
fn sample_does_not_depend_on_order_or_threads() {
    let dir = Dir::new();
    let mut records = corpus(400, 100, 30);
    dir.write_records("in.jsonl", &records);
    records.reverse();
    dir.write_records("back.jsonl", &records);
    let without_time = |mut object: Value| {
        object["counts"]["seconds"] = json!(0);
        object.to_string()
    };
    let first = tune(&dir, &["in.jsonl", "--sample", "200", "--threads", "1"]);
    assert_eq!((&first["sampled"], &first["counts"]["documents"]), (&json!(200), &json!(500)));
    let pairs = [&first["proposal"]["pairs"], &first["proposal"]["pairs_of_all"]].map(number);
    assert!((pairs[1] / pairs[0] - 500.0 * 499.0 / (200.0 * 199.0)).abs() < 1e-3, "{pairs:?}");
    let first = without_time(first);
    for args in [["in.jsonl", "--threads", "4"], ["back.jsonl", "--threads", "3"]] {
        assert_eq!(without_time(tune(&dir, &[&args[..], &["--sample", "200"]].concat())), first);
    }
    // Many batches, so that most records arrive when the sample is full.
    let mut many = corpus(20_000, 0, 30);
    for (i, record) in many.iter_mut().enumerate() {
        // Different lengths, so that a different sample would change the memory per document.
        let words: Vec<&str> = record["text"].as_str().unwrap().split(' ').take(4 + i * 7 % 27).collect();
        *record = json!({"id": i, "text": words.join(" ")});
    }
    dir.write_records("many.jsonl", &many);
    many.reverse();
    dir.write_records("many-back.jsonl", &many);
    let of_many = |name: &str| without_time(tune(&dir, &[name, "--sample", "300", "--threads", "2"]));
    assert_eq!(of_many("many.jsonl"), of_many("many-back.jsonl"));
    let run = dir.run(["tune", "in.jsonl", "--sample", "200"]).ends_with(0);
    assert!(run.stdout.starts_with("200 of 500 documents, a deterministic sample"), "{}", run.stdout);
}

#[test]
fn cluster_labels_give_precision_and_recall() {
    let dir = Dir::new();
    let mut records = corpus(100, 30, 60);
    // A positive pair without shared words, one that is too short, and a copy in another cluster.
    records.push(json!({"id": "far", "cluster": 99, "text": "nothing here is like any other text of this corpus at all"}));
    records.push(json!({"id": "short", "cluster": 98, "text": "short"}));
    records.push(json!({"id": "twin", "cluster": "elsewhere", "text": records[97]["text"]}));
    // Without a cluster, so it is ignored.
    records.push(json!({"id": "none", "text": records[96]["text"]}));
    dir.write_records("in.jsonl", &records);
    let object = tune(&dir, &["in.jsonl"]);
    let labels = &object["labels"];
    assert_eq!((&labels["positive_pairs"], &labels["positive_pairs_compared"]), (&json!(32), &json!(32)));
    let level = |threshold: f64| {
        let levels = labels["levels"].as_array().unwrap();
        levels.iter().find(|level| number(&level["threshold"]) == threshold).unwrap()
    };
    // 30 of 32 pairs are found, and one is wrong.
    assert_eq!(number(&level(0.5)["recall"]), 0.9375);
    assert!((number(&level(0.5)["precision"]) - 30.0 / 31.0).abs() < 1e-6);
    assert_eq!(level(0.5)["pairs"], 31);
    // The Wilson interval for 30 of 32.
    let interval = &level(0.5)["recall_interval"];
    assert!(
        (number(&interval[0]) - 0.7985).abs() < 1e-3 && (number(&interval[1]) - 0.9827).abs() < 1e-3,
        "{interval}"
    );
    assert_eq!((number(&level(0.95)["recall"]), number(&level(0.95)["precision"])), (0.0, 0.0));
    assert_eq!(object["proposal"]["chosen_by"], "f1");
    assert!((0.3..0.91).contains(&number(&object["proposal"]["threshold"])));
    let run = dir.run(["tune", "in.jsonl", "--precision", "0.99"]).ends_with(0);
    fits_the_terminal(&run);
    for part in [
        "32 positive pairs",
        "Ignored: 1 document without a cluster.",
        "No threshold reaches a precision of 0.99",
        "Precision 0.99: not reached",
    ] {
        assert!(flat(&run.stdout).contains(part), "no `{part}` in {}", run.stdout);
    }
    let precise = tune(&dir, &["in.jsonl", "--precision", "0.9"]);
    assert_eq!(
        (&precise["proposal"]["chosen_by"], &precise["proposal"]["threshold"]),
        (&json!("precision"), &json!(0.3))
    );
}

/// Returns reports that differ in names and numbers only, and for each a copy with one changed word, in the same cluster.
fn reports(count: usize) -> Vec<Value> {
    let report = |i: usize, morning: &str| {
        format!(
            "Company{i} Holding said on Tuesday that its profit for the quarter rose to {} million euros and sales to {} million \
             euros, because demand for its main products grew in all markets and costs fell for the second time in a row this \
             year, which was better than most analysts had expected before the report came out in the {morning} at the exchange",
            317 + 41 * i,
            2115 + 97 * i
        )
    };
    let record = |id: usize, i: usize, text: String| json!({"id": id, "cluster": i, "text": text});
    let originals = (0..count).map(|i| record(i, i, report(i, "morning")));
    let copies = (0..count).map(|i| record(count + i, i, report(i, "afternoon")));
    originals.chain(copies).collect()
}

#[test]
fn templates_are_not_duplicates_unless_they_are_merged() {
    let dir = Dir::new();
    dir.write_records("in.jsonl", &reports(10));
    let labels: Vec<Value> = (1..10).map(|i| json!({"a": 0, "b": i, "same": false})).collect();
    dir.write_records("labels.jsonl", &[labels, vec![json!({"a": 0, "b": 10, "same": true})]].concat());
    for args in [&["in.jsonl"][..], &["in.jsonl", "--labels", "labels.jsonl"]] {
        let kept = tune(&dir, args);
        assert_eq!(kept["labels"]["best"]["precision"], 1.0, "{kept}");
        // 20 documents have 190 pairs, of which 10 are copies and the others templates.
        assert_eq!(
            (&kept["histogram"]["templates"], &kept["proposal"]["pairs"]),
            (&json!(180.0), &json!(10.0))
        );
        let merged = tune(&dir, &[args, &["--templates", "merge", "--threshold", "0.5"]].concat());
        assert_eq!(merged["histogram"]["templates"], 0.0);
        assert_eq!(merged["proposal"]["pairs"], 190.0);
    }
    let run = dir.run(["tune", "in.jsonl", "--ascii"]).ends_with(0);
    assert!(flat(&run.stdout).contains("180 pairs of templates"), "{}", run.stdout);
    let run = dir.run(["tune", "in.jsonl", "--ascii", "--templates", "merge"]).ends_with(0);
    assert!(flat(&run.stdout).contains("--recall 0.99 --templates merge"), "{}", run.stdout);
    assert!(!flat(&run.stdout).contains("pairs in.jsonl --templates"), "{}", run.stdout);
}

#[test]
fn peak_of_equal_texts_is_not_the_side_of_a_valley() {
    let dir = Dir::new();
    let mut random = Random(SplitMix64(9));
    let base = random.words(400);
    // Each text shares a prefix with the base: many short prefixes, few long ones, so the counts fall steadily.
    let mut texts: Vec<String> = Vec::new();
    for i in 0..123 {
        let shared = 400 * i / 125 * i / 125;
        let own = random.words(400 - shared);
        texts.push(base[..shared].iter().chain(&own).cloned().collect::<Vec<_>>().join(" "));
    }
    let equal: Vec<String> = (0..60).map(|_| texts[0].clone()).collect();
    let records = |texts: &[String]| -> Vec<Value> {
        texts.iter().enumerate().map(|(id, text)| json!({"id": id, "text": text})).collect()
    };
    dir.write_records("slope.jsonl", &records(&texts));
    dir.write_records("equal.jsonl", &records(&[texts, equal].concat()));
    for input in ["slope.jsonl", "equal.jsonl"] {
        let object = tune(&dir, &[input, "--templates", "merge"]);
        assert_eq!(object["proposal"]["chosen_by"], "preset, as there is no valley", "{input}: {object}");
    }
}

/// A copy of 1,500 words with one changed word has a similarity of 0.996. The labels say that only equal texts are duplicates.
#[test]
fn a_proposal_of_1_counts_only_pairs_with_similarity_1() {
    let dir = Dir::new();
    let mut records = without_clusters(&corpus(40, 20, 1500));
    let labels: Vec<Value> = (0..20).map(|i| json!({"a": i, "b": 40 + i, "same": false})).collect();
    let upper = |i: usize| records[i]["text"].as_str().unwrap().to_uppercase();
    let twins: Vec<Value> =
        (20..26).map(|i| json!({"id": 100 + i, "text": format!("{} ", upper(i))})).collect();
    let same: Vec<Value> = (20..26).map(|i| json!({"a": i, "b": 100 + i, "same": true})).collect();
    records.extend(twins);
    dir.write_records("in.jsonl", &records);
    dir.write_records("labels.jsonl", &[labels, same].concat());
    let object = tune(&dir, &["in.jsonl", "--labels", "labels.jsonl", "--shingle", "words:3"]);
    let best = &object["labels"]["best"];
    assert_eq!((&best["threshold"], &best["pairs"], &best["f1"]), (&json!(1.0), &json!(6), &json!(1.0)));
    assert_eq!((&object["proposal"]["threshold"], &object["proposal"]["pairs"]), (&json!(1.0), &json!(6.0)));
}

#[test]
fn labeled_pairs_count_outside_the_sample() {
    let dir = Dir::new();
    dir.write_records("in.jsonl", &without_clusters(&corpus(100, 30, 60)));
    let judged: Vec<Value> = (0..20).map(|i| json!({"a": i, "b": 100 + i, "same": i < 15})).collect();
    dir.write_records("judged.jsonl", &[judged, vec![json!({"a": 1, "b": "gone", "same": true})]].concat());
    let object = tune(&dir, &["in.jsonl", "--labels", "judged.jsonl", "--sample", "5"]);
    assert_eq!((&object["sampled"], &object["labels"]["positive_pairs"]), (&json!(5), &json!(15)));
    let best = &object["labels"]["best"];
    assert_eq!(
        (number(&best["precision"]), number(&best["recall"]), &best["pairs"]),
        (0.75, 1.0, &json!(20))
    );
    let run = dir.run(["tune", "in.jsonl", "--labels", "judged.jsonl"]).ends_with(0);
    assert!(run.stdout.contains("20 labeled pairs, 15 of them positive"), "{}", run.stdout);
    assert!(flat(&run.stdout).contains("Ignored: 1 pair with an unknown id."), "{}", run.stdout);
    dir.write("bad.jsonl", "{\"a\": 1, \"b\": 2, \"same\": true}\n{\"a\": 1}\n");
    dir.run(["tune", "in.jsonl", "--labels", "bad.jsonl"])
        .ends_with(4)
        .says(&["bad.jsonl: line 2: neither a cluster"]);
    dir.run(["tune", "in.jsonl", "--labels", "absent.jsonl"])
        .ends_with(4)
        .says(&["absent.jsonl", "check the path"]);
}

/// `tune` reads labels as `eval` reads a gold standard.
#[test]
fn label_files_are_read_strictly_and_may_be_compressed() {
    let dir = Dir::new();
    dir.write_records("in.jsonl", &without_clusters(&corpus(20, 10, 60)));
    let pair = |a: usize, same: bool| json!({"a": a, "b": 20 + a, "same": same});
    let judged = jsonl(&(0..10).map(|a| pair(a, a < 8)).collect::<Vec<_>>());
    dir.write("judged.jsonl", &judged);
    dir.write("judged.jsonl.gz", gzip(judged.as_bytes()));
    dir.write("judged.jsonl.zst", zstd(judged.as_bytes()));
    let [plain, gz, zst] = ["judged.jsonl", "judged.jsonl.gz", "judged.jsonl.zst"]
        .map(|file| tune(&dir, &["in.jsonl", "--labels", file])["labels"].clone());
    assert_eq!(plain["positive_pairs"], 8);
    assert_eq!((&gz, &zst), (&plain, &plain));
    for (line, message) in [
        (r#"{"a": 1, "a": 2, "b": 3, "same": true}"#, "line 1: duplicate key `a`"),
        (r#"{"a": 1, "b": 1, "same": true}"#, "line 1: pair of a document with itself"),
        (r#"{"a": 1, "b": 2, "same": "yes"}"#, "line 1: `same` must be true or false"),
        (r#"{"id": 1, "members": [1, 2]}"#, "contains clusters; expected lines"),
    ] {
        dir.write("bad.jsonl", line);
        dir.run(["tune", "in.jsonl", "--labels", "bad.jsonl"]).ends_with(4).says(&["bad.jsonl", message]);
    }
    dir.write("none.jsonl", "");
    dir.run(["tune", "in.jsonl", "--labels", "none.jsonl"]).ends_with(0);
}

#[test]
fn handles_degenerate_corpora() {
    let dir = Dir::new();
    dir.write("empty.jsonl", "");
    let run = dir.run(["tune", "empty.jsonl"]).ends_with(0);
    assert!(run.stdout.contains("Fewer than two texts"), "{}", run.stdout);
    dir.write_records("one.jsonl", &corpus(1, 0, 20));
    let run = dir.run(["tune", "one.jsonl"]).ends_with(0);
    assert!(
        run.stdout.contains("1 document, the whole input") && run.stdout.contains("Fewer than two texts"),
        "{}",
        run.stdout
    );
    let equal: Vec<Value> =
        (0..500).map(|id| json!({"id": id, "text": "all of these texts are equal to each other"})).collect();
    dir.write_records("equal.jsonl", &equal);
    let object = tune(&dir, &["equal.jsonl"]);
    assert_eq!(object["histogram"]["equal"], 500 * 499 / 2);
    assert_eq!(object["proposal"]["chosen_by"], "preset, as there are no unrelated pairs");
    assert_eq!(number(&object["proposal"]["candidates_per_document"]), 0.0);
    let wire = tune(&dir, &["equal.jsonl", "--preset", "wire"]);
    assert_eq!(wire["distances"][0], 500 * 499 / 2);
    dir.write_records("strange.jsonl", &without_clusters(&corpus(80, 0, 40)));
    let object = tune(&dir, &["strange.jsonl"]);
    assert_eq!(object["proposal"]["chosen_by"], "preset, as there are no copies");
    assert_eq!(object["proposal"]["threshold"], 0.8);
    for name in ["empty.jsonl", "one.jsonl", "equal.jsonl", "strange.jsonl"] {
        for preset in ["copies", "articles", "headlines", "wire", "web"] {
            fits_the_terminal(&dir.run(["tune", "--preset", preset, name]).ends_with(0));
        }
    }
}

#[test]
fn proposes_a_radius_for_fingerprints() {
    let dir = Dir::new();
    let mut records = corpus(150, 0, 200);
    for i in 0..30 {
        let text = format!("{} again", records[i]["text"].as_str().unwrap());
        records.push(json!({"id": 1000 + i, "cluster": i, "text": text}));
    }
    dir.write_records("in.jsonl", &records);
    let object = tune(&dir, &["--preset", "wire", "in.jsonl"]);
    let distances: Vec<u64> =
        object["distances"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!((distances.len(), distances.iter().sum::<u64>()), (65, 180 * 179 / 2));
    assert_eq!(object["labels"]["positive_pairs"], 30);
    assert_eq!(number(&object["labels"]["best"]["recall"]), 1.0);
    dir.write_records("plain.jsonl", &without_clusters(&records));
    let object = tune(&dir, &["--preset", "wire", "plain.jsonl"]);
    assert_eq!(object["proposal"]["chosen_by"], "valley", "{object}");
    let radius = number(&object["proposal"]["radius"]);
    assert!((2.0..=15.0).contains(&radius), "{radius}");
    assert_eq!(number(&object["proposal"]["pairs"]), 30.0);
    let run = dir.run(["tune", "--preset", "wire", "plain.jsonl"]).ends_with(0);
    assert!(
        run.stdout.contains(&format!("sameish cluster --preset wire plain.jsonl --radius {radius}")),
        "{}",
        run.stdout
    );
}

#[test]
fn writes_self_contained_chart_files() {
    let dir = Dir::new();
    dir.write_records("<b>&.jsonl", &corpus(100, 20, 40));
    let run =
        dir.run(["tune", "<b>&.jsonl", "--svg", "plots", "--report", "page.html", "--quiet"]).ends_with(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    for name in ["histogram", "curve", "quality"] {
        let svg = dir.read(format!("plots/{name}.svg"));
        assert!(
            svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>") && !svg.contains("NaN"),
            "{svg}"
        );
    }
    let page = dir.read("page.html");
    assert!(
        page.contains("&lt;b&gt;&amp;.jsonl") && !page.contains("<b>") && page.matches("<svg").count() == 3
    );
    for word in ["<script", "<link", "<img", "href=", "src="] {
        assert!(!page.contains(word), "{word}");
    }
    assert_eq!(page.matches("http").count(), 3 + 1, "only namespaces and the policy: {page}");
    dir.run(["tune", "<b>&.jsonl", "--report", "page.html"])
        .ends_with(2)
        .says(&["output `page.html` already exists"]);
    dir.run(["tune", "<b>&.jsonl", "--svg", "plots", "--force"]).ends_with(0);
}

#[test]
fn reports_usage_errors_and_rejects_records() {
    let dir = Dir::new();
    dir.write_records("in.jsonl", &without_clusters(&corpus(20, 0, 20)));
    let cases: [(&[&str], &str); 8] = [
        (&["--preset", "sdr"], "sparse codes"),
        (&["--threshold", "1.5"], "must be between 0 and 1"),
        (&["--recall", "1"], "must be less than 1"),
        (&["--radius", "3"], "`--radius` has no effect"),
        (&["--preset", "wire", "--threshold", "0.5"], "`--threshold` has no effect"),
        (&["--cluster-field", "story"], "no field `story`"),
        (&["--precision", "0.9"], "`--precision` requires labels"),
        (&["--sample", "1"], "invalid value '1'"),
    ];
    for (args, message) in cases {
        dir.run([&["tune", "in.jsonl"], args].concat()).ends_with(2).says(&[message]);
    }
    dir.run(["tune", "absent.jsonl"]).ends_with(4);
    let lines = dir.read("in.jsonl") + "{\"id\":1,\"text\":\"another text under a known id\"}\n{\"id\":\n";
    dir.write("bad.jsonl", lines);
    let run = dir.run(["tune", "bad.jsonl"]).ends_with(3);
    let run = run.says(&["duplicate id `1` with a different text", "invalid JSON", "2 rejected"]);
    assert!(run.stdout.starts_with("20 documents"), "{}", run.stdout);
    let given = tune(&dir, &["in.jsonl", "--threshold", "0.6", "--recall", "0.9"]);
    assert_eq!(
        (&given["proposal"]["chosen_by"], &given["proposal"]["threshold"]),
        (&json!("given"), &json!(0.6))
    );
    let count = number(&given["proposal"]["bands"]["count"]);
    let rows = number(&given["proposal"]["bands"]["rows"]);
    assert!(1.0 - (1.0 - 0.6f64.powf(rows)).powf(count) >= 0.9);
}

#[test]
fn proposals_fit_the_test_corpora() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/corpora");
    let dir = Dir::new();
    for (name, min_f1) in [("gesetze_rev", 0.93), ("msdocs_aw", 0.9)] {
        let path = corpora.join(format!("{name}.jsonl"));
        let text = std::fs::read_to_string(&path).unwrap();
        dir.write("plain.jsonl", text.replace("\"cluster\"", "\"kept\""));
        let (labeled, plain) = (tune(&dir, &[path.to_str().unwrap()]), tune(&dir, &["plain.jsonl"]));
        assert_eq!(plain["proposal"]["chosen_by"], "valley", "{name}");
        let threshold = number(&plain["proposal"]["threshold"]);
        let levels = labeled["labels"]["levels"].as_array().unwrap();
        let level = levels.iter().find(|level| number(&level["threshold"]) >= threshold).unwrap();
        assert!(number(&level["f1"]) >= min_f1, "{name}: {threshold} gives {level}");
        assert!(number(&labeled["labels"]["best"]["f1"]) >= number(&level["f1"]));
    }
}

/// Returns texts of 24 long words, and copies in which every third word has a changed last letter, in the same cluster.
fn misspelled(count: usize) -> Vec<Value> {
    let mut random = Random(SplitMix64(21));
    let mut records = Vec::new();
    for i in 0..count {
        let spelled: Vec<String> =
            (0..24).map(|_| spell(&format!("{:012}", random.0.below(1 << 39)))).collect();
        let mut copy = spelled.clone();
        for word in copy.iter_mut().skip(1).step_by(3) {
            word.pop();
            word.push('z');
        }
        records.push(json!({"id": i, "cluster": i, "text": spelled.join(" ")}));
        records.push(json!({"id": count + i, "cluster": i, "text": copy.join(" ")}));
    }
    records
}

/// Writes a number in letters.
fn spell(digits: &str) -> String {
    digits.bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

#[test]
fn proposes_characters_where_they_are_better() {
    let dir = Dir::new();
    let records = misspelled(60);
    dir.write_records("labeled.jsonl", &records);
    dir.write_records("plain.jsonl", &without_clusters(&records));
    for (input, chosen_by) in [("labeled.jsonl", "f1"), ("plain.jsonl", "valley")] {
        let object = tune(&dir, &[input]);
        let proposal = &object["proposal"];
        assert_eq!(
            (&proposal["shingle"], &proposal["chosen_by"]),
            (&json!("chars:5"), &json!(chosen_by)),
            "{object}"
        );
        assert_eq!(proposal["pairs"], 60.0, "{object}");
        let tried: Vec<&Value> =
            object["shingles"].as_array().unwrap().iter().map(|trial| &trial["shingle"]).collect();
        assert_eq!(tried, [&json!("words:3"), &json!("chars:5")]);
        let run = dir.run(["tune", input, "--ascii"]).ends_with(0);
        fits_the_terminal(&run);
        let threshold = &proposal["threshold"];
        let command =
            format!("sameish pairs {input} --shingle chars:5 --threshold {threshold} --recall 0.99");
        assert!(run.stdout.contains(&command), "{}", run.stdout);
        assert!(flat(&run.stdout).contains("matches have no `facts` (null)"), "{}", run.stdout);
        let pairs = dir.run(command.split(' ').skip(1)).ends_with(0);
        assert_eq!(pairs.stdout.lines().count(), 60);
    }
    assert_eq!(tune(&dir, &["labeled.jsonl"])["shingles"][1]["f1"], 1.0);
}

#[test]
fn a_given_shingle_or_threshold_is_the_only_one() {
    let dir = Dir::new();
    dir.write_records("in.jsonl", &misspelled(20));
    dir.write("words.toml", "[minhash]\nshingle = \"words:2\"\n");
    let cases: [(&[&str], &str); 4] = [
        (&["--shingle", "words:1"], "words:1"),
        (&["--config", "words.toml"], "words:2"),
        (&["--threshold", "0.5"], "words:3"),
        (&["--preset", "headlines"], "chars:3"),
    ];
    for (args, shingle) in cases {
        let object = tune(&dir, &[args, &["in.jsonl"]].concat());
        assert_eq!(object["proposal"]["shingle"], shingle, "{object}");
        assert_eq!(object["shingles"].as_array().unwrap().len(), 1, "{object}");
    }
    assert!(tune(&dir, &["in.jsonl", "--preset", "wire"]).get("shingles").is_none());
}

#[test]
fn templates_do_not_decide_for_characters() {
    let dir = Dir::new();
    let mut records = without_clusters(&reports(20));
    records.truncate(20);
    records.extend(without_clusters(&corpus(60, 0, 60)).into_iter().map(|mut record| {
        record["id"] = json!(format!("other {}", record["id"]));
        record
    }));
    dir.write_records("in.jsonl", &records);
    let object = tune(&dir, &["in.jsonl"]);
    assert_eq!(object["proposal"]["shingle"], "words:3", "{object}");
    assert_eq!(object["shingles"][1]["chosen_by"], "valley", "{object}");
    let run = dir.run(["tune", "in.jsonl", "--ascii"]).ends_with(0);
    assert!(flat(&run.stdout).contains("they cannot keep 190 pairs of templates apart"), "{}", run.stdout);
}
