//! `pairs` and `cluster`: output, order and errors.

use crate::common::{BRIDGE, Dir, HARVEST, lines, records};
use serde_json::{Value, json};

fn news(dir: &Dir) {
    let near = BRIDGE.replace("stone bridge", "stone crossing");
    dir.write_records(
        "news.jsonl",
        &[
            json!({"id": 1, "text": BRIDGE, "published_at": "2024-01-01"}),
            json!({"id": "1", "text": HARVEST, "published_at": "2024-01-05"}),
            json!({"id": 2, "text": BRIDGE.to_uppercase(), "published_at": "2024-01-03"}),
            json!({"id": 3, "text": near, "published_at": "2024-01-02"}),
            json!({"id": 4, "text": "Short"}),
            json!({"id": 5, "text": "short"}),
        ],
    );
}

#[test]
fn pairs_have_all_fields_and_keep_the_type_of_ids() {
    let dir = Dir::new();
    news(&dir);
    let found =
        dir.run(["pairs", "news.jsonl", "--threshold", "0.6"]).ends_with(0).says(&["6 documents", "4 pairs"]);
    let found = lines(&found.stdout);
    let expected = json!({"a": 1, "b": 2, "similarity": 1.0, "match_type": "exact", "verified": true, "simhash_distance": null, "facts": 1.0, "template": false, "relation": "same"});
    assert_eq!(found[0], expected);
    let ids: Vec<(String, String)> =
        found.iter().map(|pair| (pair["a"].to_string(), pair["b"].to_string())).collect();
    let expected = [("1", "2"), ("1", "3"), ("2", "3"), ("4", "5")];
    assert_eq!(ids, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(found[1]["match_type"], "similar");
}

#[test]
fn templates_are_included_excluded_or_listed_alone() {
    let dir = Dir::new();
    let report = |company: &str, amount: u32| {
        format!(
            "{company} said on Tuesday that its profit for the quarter rose to {amount} million euros, because sales of its main \
             products grew in all markets and costs fell for the second time in a row this year, which was better than most \
             analysts had expected before the report came out in the morning"
        )
    };
    let texts = [
        report("Northwind Trading", 412),
        report("Contoso Motors", 958),
        report("Contoso Motors", 958) + "!",
    ];
    let records: Vec<_> = (1..).zip(texts).map(|(id, text)| json!({"id": id, "text": text})).collect();
    dir.write_records("in.jsonl", &records);
    let listed = |args: &[&str]| -> Vec<(u64, u64)> {
        let run = dir.run([&["pairs", "in.jsonl", "--threshold", "0.7", "-q"], args].concat()).ends_with(0);
        let pair = |line: &str| -> serde_json::Value { serde_json::from_str(line).unwrap() };
        let ids = |line: serde_json::Value| (line["a"].as_u64().unwrap(), line["b"].as_u64().unwrap());
        run.stdout.lines().map(|line| ids(pair(line))).collect()
    };
    assert_eq!(listed(&[]), [(1, 2), (1, 3), (2, 3)]);
    assert_eq!(listed(&["--templates", "include"]), [(1, 2), (1, 3), (2, 3)]);
    assert_eq!(listed(&["--templates", "exclude"]), [(2, 3)]);
    assert_eq!(listed(&["--templates", "only"]), [(1, 2), (1, 3)]);
}

#[test]
fn wire_lists_the_pairs_within_the_radius_as_unverified() {
    let dir = Dir::new();
    let text = |i: usize| format!("{} {}", BRIDGE.repeat(6), ["", "again", "tonight", "late", "soon"][i % 5]);
    let records: Vec<Value> = (0..40).map(|i| json!({"id": i, "text": text(i * 7 / 3)})).collect();
    dir.write_records("wire.jsonl", &records);
    let sketches = lines(&dir.run(["fingerprint", "--preset", "wire", "wire.jsonl"]).ends_with(0).stdout);
    let print = |i: usize| u64::from_str_radix(sketches[i]["simhash"].as_str().unwrap(), 16).unwrap();
    for radius in ["0", "3", "9"] {
        let run = dir.run(["pairs", "--preset", "wire", "--radius", radius, "wire.jsonl"]).ends_with(0);
        let mut found: Vec<(u64, u64)> = Vec::new();
        for pair in lines(&run.stdout) {
            let (a, b) = (pair["a"].as_u64().unwrap(), pair["b"].as_u64().unwrap());
            let distance = (print(a as usize) ^ print(b as usize)).count_ones();
            assert_eq!(pair["similarity"], 1.0 - f64::from(distance) / 64.0);
            assert_eq!(pair["verified"], false);
            found.push((a, b));
        }
        found.sort_unstable();
        let near =
            |a: u64, b: u64| (print(a as usize) ^ print(b as usize)).count_ones() <= radius.parse().unwrap();
        let all = (0..40).flat_map(|b| (0..b).map(move |a| (a, b)));
        let mut expected: Vec<(u64, u64)> = all.filter(|&(a, b)| near(a, b)).collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "radius {radius}");
    }
}

#[test]
fn clusters_contain_every_document_once_with_mean_similarity() {
    let dir = Dir::new();
    news(&dir);
    let run = dir
        .run(["cluster", "news.jsonl", "--threshold", "0.6"])
        .ends_with(0)
        .says(&["3 clusters", "largest size: 3"]);
    let found = lines(&run.stdout);
    assert_eq!(found[0]["id"], "cluster-1");
    assert_eq!((&found[0]["center"], &found[0]["members"]), (&json!(1), &json!([1, 2, 3])));
    assert!(
        found[0]["mean_similarity"].as_f64().unwrap() > 0.6 && found[0].get("average_distance").is_none()
    );
    assert_eq!((&found[1]["members"], &found[1]["mean_similarity"]), (&json!(["1"]), &json!(1.0)));
    assert_eq!(found[2]["members"], json!([4, 5]));
    let large = dir.run(["cluster", "news.jsonl", "--threshold", "0.6", "--min-size", "2"]).ends_with(0);
    let large: Vec<Value> = lines(&large.stdout).iter().map(|cluster| cluster["id"].clone()).collect();
    assert_eq!(large, ["cluster-1", "cluster-3"]);
}

#[test]
fn greedy_centers_the_newest_and_online_keeps_short_texts_apart() {
    let dir = Dir::new();
    news(&dir);
    let greedy = dir.run(["cluster", "--preset", "wire", "news.jsonl"]).ends_with(0);
    let greedy = lines(&greedy.stdout);
    assert_eq!(greedy[0]["members"], json!(["1"]), "the newest of all");
    assert_eq!((&greedy[1]["center"], &greedy[1]["members"]), (&json!(2), &json!([2, 1])));
    assert_eq!(greedy[1]["average_distance"], 0.0);
    let online = dir.run(["cluster", "--linkage", "online", "--threshold", "0.6", "news.jsonl"]).ends_with(0);
    let online: Vec<Value> = lines(&online.stdout).iter().map(|cluster| cluster["members"].clone()).collect();
    assert_eq!(online, [json!([1, 2, 3]), json!(["1"]), json!([4]), json!([5])]);
}

/// Short texts with near fingerprints: two without a common word (5 bits apart), two with only one ASCII word (equal), and two that
/// share all words but the last, which has one letter and is not part of the fingerprint.
fn near_fingerprints(dir: &Dir) {
    let copy =
        "The old stone bridge over the river in the north of the town stays closed until the end of spring";
    dir.write_records(
        "short.jsonl",
        &[
            json!({"id": "east", "text": "New hospital backs joint strike east"}),
            json!({"id": "soon", "text": "National river halts national water soon"}),
            json!({"id": "tokyo", "text": "東京でNASAの会見が開かれた"}),
            json!({"id": "osaka", "text": "大阪の港にNASAの船が着いた"}),
            json!({"id": "copy", "text": copy}),
            json!({"id": "near", "text": format!("{copy} x")}),
        ],
    );
}

#[test]
fn fingerprints_alone_are_duplicates_only_with_unverified() {
    let dir = Dir::new();
    near_fingerprints(&dir);
    let articles = ["--preset", "articles", "short.jsonl"];
    let clusters = |options: &[&str]| -> Vec<Value> {
        let run = dir.run([&["cluster"], &articles[..], options].concat()).ends_with(0);
        lines(&run.stdout).iter().map(|cluster| cluster["members"].clone()).collect()
    };
    let pairs = |options: &[&str]| -> Vec<(Value, Value, Value)> {
        let run = dir.run([&["pairs"], &articles[..], options].concat()).ends_with(0);
        let pair = |pair: &Value| (pair["a"].clone(), pair["b"].clone(), pair["verified"].clone());
        lines(&run.stdout).iter().map(pair).collect()
    };
    let pair = |a: &str, b: &str, verified: bool| (json!(a), json!(b), json!(verified));
    assert_eq!(pairs(&[]), [pair("copy", "near", true)]);
    let apart =
        [json!(["east"]), json!(["soon"]), json!(["tokyo"]), json!(["osaka"]), json!(["copy", "near"])];
    assert_eq!(clusters(&[]), apart);
    for linkage in ["components", "greedy"] {
        assert_eq!(clusters(&["--linkage", linkage]), apart, "{linkage}");
    }
    dir.run([&["dedup"], &articles[..], &["-o", "kept.jsonl", "--removed", "r.jsonl"]].concat()).ends_with(0);
    assert_eq!(lines(&dir.read("kept.jsonl")).len(), 5);
    let removed = lines(&dir.read("r.jsonl"));
    assert_eq!((&removed[0]["id"], removed[0].get("verified")), (&json!("near"), None));

    let all = ["--unverified"];
    let unverified = [pair("east", "soon", false), pair("tokyo", "osaka", false), pair("copy", "near", true)];
    assert_eq!(pairs(&all), unverified);
    let merged = [json!(["east", "soon"]), json!(["tokyo", "osaka"]), json!(["copy", "near"])];
    for linkage in ["cohesive", "components", "greedy"] {
        assert_eq!(clusters(&["--unverified", "--linkage", linkage]), merged, "{linkage}");
    }
    for report in [&[][..], &["--report", "report.html"]] {
        let options =
            [&["-o", "all.jsonl", "--removed", "all-r.jsonl", "--unverified", "--force"], report].concat();
        dir.run([&["dedup"], &articles[..], &options].concat()).ends_with(0);
        let removed = lines(&dir.read("all-r.jsonl"));
        let verified: Vec<bool> = removed.iter().map(|removed| removed.get("verified").is_none()).collect();
        assert_eq!(verified, [false, false, true]);
    }
}

#[test]
fn unverified_without_fingerprints_to_verify_is_a_usage_error() {
    let dir = Dir::new();
    news(&dir);
    for (preset, remedy) in [("copies", "--preset articles"), ("wire", "compares sketches only")] {
        let run = dir.run(["pairs", "--preset", preset, "--unverified", "news.jsonl"]).ends_with(2);
        run.says(&["`--unverified` has no effect", remedy]);
    }
}

#[test]
fn rejects_duplicate_ids_and_invalid_dates() {
    let dir = Dir::new();
    dir.write_records(
        "twice.jsonl",
        &[
            json!({"id": 1, "text": BRIDGE}),
            json!({"id": 1, "text": BRIDGE}),
            json!({"id": 1, "text": HARVEST}),
            json!({"id": 2, "text": HARVEST, "published_at": "soon"}),
        ],
    );
    let run = dir.run(["cluster", "twice.jsonl"]).ends_with(3);
    let run = run.says(&["line 3", "duplicate id `1` with a different text", "1 repeated", "1 rejected"]);
    assert_eq!(lines(&run.stdout).len(), 2);
    let last = dir.run(["cluster", "twice.jsonl", "--on-dup-id", "last"]).ends_with(0);
    assert_eq!(lines(&last.stdout)[0]["members"], json!([1, 2]), "the last text of 1 is that of 2");
    let wire = dir.run(["cluster", "--preset", "wire", "twice.jsonl", "--rejects", "r.jsonl"]).ends_with(3);
    wire.says(&["line 4", "`published_at` is \"soon\"", "must be a date such as"]);
    assert_eq!(lines(&dir.read("r.jsonl")).len(), 2);
    let pairs = dir.run(["pairs", "--preset", "wire", "twice.jsonl"]).ends_with(3);
    pairs.says(&["2 documents", "1 rejected"]);
    for linkage in ["cohesive", "components", "online"] {
        let unordered = dir.run(["cluster", "--preset", "wire", "--linkage", linkage, "twice.jsonl"]);
        unordered.ends_with(3).says(&["2 documents", "1 rejected"]);
    }
    dir.run(["cluster", "twice.jsonl", "--on-bad", "fail", "-o", "out.jsonl"]).ends_with(3);
    assert!(!dir.exists("out.jsonl"));
}

#[test]
fn settings_out_of_range_are_usage_errors() {
    let dir = Dir::new();
    news(&dir);
    for (flags, says) in [
        (vec!["--threshold", "nan"], "must be between 0 and 1"),
        (vec!["--threshold", "1.1"], "must be between 0 and 1"),
        (vec!["--threshold=-1"], "must be between 0 and 1"),
        (vec!["--recall", "1"], "must be less than 1"),
        (vec!["--preset", "wire", "--radius", "65"], "0..=64"),
        (vec!["--radius", "3"], "the configuration has no fingerprints"),
        (vec!["--threads", "0"], "1..=1024"),
    ] {
        for command in ["pairs", "cluster"] {
            let args = [command, "news.jsonl"].into_iter().chain(flags.iter().copied());
            dir.run(args).ends_with(2).says(&[says]);
        }
    }
}

#[test]
fn result_does_not_depend_on_threads() {
    let dir = Dir::new();
    let copies = records(3000).replace("\"id\":", "\"id\":90000");
    dir.write("a.jsonl", records(3000) + &copies);
    for command in ["pairs", "cluster"] {
        let run = |threads: &str| dir.run([command, "a.jsonl", "--threads", threads]).ends_with(0).stdout;
        let one = run("1");
        assert!(one.lines().count() >= 2500);
        assert!(["2", "5"].into_iter().all(|threads| run(threads) == one));
    }
}

#[test]
fn empty_input_gives_empty_output() {
    let dir = Dir::new();
    dir.write("empty.jsonl", "");
    for command in ["pairs", "cluster"] {
        let run = dir.run([command, "empty.jsonl", "-o", "out.jsonl", "--force"]).ends_with(0);
        run.says(&["0 documents"]);
        assert_eq!(dir.read("out.jsonl"), "");
    }
    let same: String = (0..3000).map(|i| format!("{{\"id\":{i},\"text\":\"{BRIDGE}\"}}\n")).collect();
    dir.write("same.jsonl", same);
    let run =
        dir.shell("set -o pipefail; $SAMEISH pairs same.jsonl 2>err.txt | head -3 | wc -l").ends_with(0);
    assert_eq!(run.stdout.trim(), "3");
    assert_eq!(dir.read("err.txt"), "");
}

#[test]
fn json_summary_has_counts() {
    let dir = Dir::new();
    news(&dir);
    let run = dir.run(["cluster", "news.jsonl", "--json", "-o", "c.jsonl"]).ends_with(0);
    let summary: Value = serde_json::from_str(&run.stderr).unwrap();
    for (key, expected) in
        [("documents", 6), ("clusters", 4), ("largest_cluster", 2), ("too_short", 2), ("caps_hit", 0)]
    {
        assert_eq!(summary[key], expected, "{key} in {summary}");
    }
    assert!(summary["expected_recall"].as_f64().unwrap() >= 0.99);
    let run = dir.run(["pairs", "news.jsonl", "--json", "-o", "p.jsonl"]).ends_with(0);
    let summary: Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!((&summary["pairs"], &summary["documents"]), (&json!(2), &json!(6)));
}

#[test]
fn bench_hamming_prints_a_table() {
    let dir = Dir::new();
    let run = dir.run(["bench", "hamming", "--random", "2000", "--blocks", "5", "--bits", "3"]).ends_with(0);
    for name in [
        "Bulk Insertion",
        "Bulk Find First",
        "Bulk Find All",
        "Bulk Removal",
        "10 tables",
        "fingerprint 1.0000",
    ] {
        assert!(run.stdout.contains(name), "no {name} in {}", run.stdout);
    }
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 80));
    let run = dir.run(["bench", "hamming", "--random", "500", "--json"]).ends_with(0);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["recall"], &report["steps"][3]["count"]), (&json!(1.0), &json!(500)));
    dir.run(["bench", "hamming", "--blocks", "3", "--bits", "3"])
        .ends_with(2)
        .says(&["less than the 3 blocks"]);
}
