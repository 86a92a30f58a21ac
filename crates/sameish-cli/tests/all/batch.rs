//! `pairs` and `cluster` give the results of an engine with all documents in memory: for every preset and linkage, whatever the
//! memory limit, the number of threads and the format of the input.

use crate::common::{Dir, gzip, lines};
use sameish::config::Linkage;
use sameish::engine::Spread;
use sameish::features::TextKey;
use sameish::matching::Relation;
use sameish::{Config, Content, DocId, Document, Engine, Groups, Preset};
use sameish_io::json::rounded;
use serde_json::{Value, json};
use std::ops::ControlFlow;

const LINKAGES: [(&str, Linkage); 4] = [
    ("greedy", Linkage::Greedy),
    ("components", Linkage::Components),
    ("cohesive", Linkage::Cohesive),
    ("online", Linkage::Online),
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % limit as u64) as usize
    }
}

/// Texts of a few groups, so that many are similar: near-duplicates, templates, texts that are equal after normalization;
/// some are too short, some have no words.
fn text(random: &mut Random) -> String {
    let family = random.below(9);
    let words = [3, 8, 60, 60, 90, 120, 12, 0, 40][family];
    let word = |i: usize| format!("w{}", (family * 1000 + i) * 7919 % 4001);
    let mut text: Vec<String> = (0..words).map(word).collect();
    for _ in 0..random.below(4) {
        if words > 0 {
            text[random.below(words)] = format!("x{}", random.below(5));
        }
    }
    if family == 5 {
        for at in 0..6 {
            text[at * 20] = format!("Name{} {}", random.below(40), random.below(100_000));
        }
    }
    if family == 8 {
        text[3] = ["caf\u{e9}", "cafe\u{301}"][random.below(2)].to_owned();
    }
    let text = text.join(" ");
    match (words, random.below(4)) {
        (0, _) => ["!", "", "?!"][random.below(3)].to_owned(),
        (_, 0) => text.to_uppercase(),
        (_, 1) => text.replace(' ', "  "),
        _ => text,
    }
}

fn documents(seed: u64, count: usize) -> Vec<Document> {
    let mut random = Random(seed);
    let document = |i: usize| {
        let id = if i.is_multiple_of(3) { DocId::Text(format!("d{i}")) } else { DocId::Number(i as u64) };
        let mut document = Document::new(id, text(&mut random));
        let day = 1 + random.below(25);
        document.published_at = (day < 20).then(|| format!("2024-01-{day:02}"));
        document
    };
    (0..count).map(document).collect()
}

fn jsonl(documents: &[Document]) -> String {
    let line = |document: &Document| {
        let Content::Text(text) = &document.content else { unreachable!() };
        let mut record = json!({"id": document.id, "text": text});
        if let Some(date) = &document.published_at {
            record["published_at"] = json!(date);
        }
        format!("{record}\n")
    };
    documents.iter().map(line).collect()
}

/// Returns an engine with all documents. A repeated id with the same text is ignored.
fn engine(config: Config, documents: &[Document]) -> Engine {
    let mut engine = Engine::new(config).unwrap();
    for document in documents {
        if engine.text_key(&document.id) != Some(TextKey::of(&document.content)) {
            engine.insert(document).unwrap();
        }
    }
    engine
}

/// Returns the expected lines of `pairs`.
fn pairs(engine: &Engine) -> Vec<String> {
    let mut pairs = Vec::new();
    engine.pairs(|pair| {
        let mut line = format!(
            r#"{{"a":{},"b":{},"similarity":{},"match_type":"{}","verified":{},"simhash_distance":{}"#,
            json!(pair.a),
            json!(pair.b),
            json!(rounded(pair.verdict.similarity)),
            pair.verdict.kind.name(),
            pair.verdict.verified,
            json!(pair.verdict.distance)
        );
        let facts = json!(pair.verdict.facts.map(rounded));
        let relation = json!(pair.relation.map(Relation::name));
        line += &format!(r#","facts":{facts},"template":{},"relation":{relation}"#, pair.verdict.template);
        pairs.push(line + "}");
        ControlFlow::Continue(())
    });
    pairs
}

/// Returns the expected lines of `cluster`.
fn clusters(groups: Groups) -> Vec<String> {
    let line = |(number, group): (usize, sameish::Group)| {
        let (name, mean) = match group.spread {
            Spread::AverageDistance(mean) => ("average_distance", mean),
            Spread::MeanSimilarity(mean) => ("mean_similarity", mean),
        };
        let (center, members, mean) = (json!(group.center), json!(group.members), json!(mean));
        format!(r#"{{"id":"cluster-{number}","center":{center},"members":{members},"{name}":{mean}}}"#)
    };
    (1..).zip(groups.groups).map(line).collect()
}

/// Compares line by line, to report the first difference.
fn assert_lines(found: &str, expected: &[String], what: &str) {
    let found: Vec<&str> = found.lines().collect();
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found, expected, "{what}, line {at}");
    }
    assert_eq!(found.len(), expected.len(), "{what}");
}

#[test]
fn pairs_and_clusters_equal_those_of_an_engine() {
    let dir = Dir::new();
    for (seed, count) in [(1, 12), (2, 60), (3, 400)] {
        let documents = documents(seed, count);
        dir.write("a.jsonl", jsonl(&documents));
        let mut unverified = Preset::Articles.config();
        unverified.matching.unverified = true;
        let presets = Preset::ALL.map(|preset| (vec!["--preset", preset.name()], preset.config()));
        let all =
            presets.into_iter().chain([(vec!["--preset", "articles", "--unverified"], unverified.clone())]);
        for (flags, config) in all {
            let found = dir.run([&["pairs", "a.jsonl"], &flags[..]].concat()).ends_with(0);
            let expected = pairs(&engine(config.clone(), &documents));
            assert_lines(&found.stdout, &expected, &format!("pairs of {flags:?}, {count}"));
            for (name, linkage) in LINKAGES {
                let mut config = config.clone();
                config.matching.linkage = linkage;
                let args = [&["cluster", "a.jsonl", "--linkage", name], &flags[..]].concat();
                let found = dir.run(args).ends_with(0);
                let expected = clusters(engine(config, &documents).groups());
                assert_lines(&found.stdout, &expected, &format!("{name} clusters of {flags:?}, {count}"));
            }
        }
        // The texts exercise every rule.
        let forms = pairs(&engine(unverified, &documents));
        assert!(count < 100 || forms.iter().any(|pair| pair.contains("\"template\":true")));
        assert!(count < 100 || forms.iter().any(|pair| pair.contains("\"verified\":false")));
    }
}

#[test]
fn unverified_signatures_and_merged_templates_equal_those_of_an_engine() {
    let dir = Dir::new();
    let documents = documents(7, 200);
    dir.write("a.jsonl", jsonl(&documents));
    for (name, text) in [
        ("estimates", "preset = \"copies\"\n[matching]\nverify = false\n"),
        ("both lanes", "preset = \"articles\"\n[matching]\nverify = false\n"),
        ("merged", "preset = \"copies\"\n[matching]\nthreshold = 0.4\ntemplates = \"merge\"\n"),
        ("verified fingerprints", "preset = \"wire\"\n[matching]\nverify = true\nthreshold = 0.5\n"),
    ] {
        dir.write("c.toml", text);
        let engine = engine(Config::from_toml(text).unwrap(), &documents);
        let found = dir.run(["pairs", "a.jsonl", "--config", "c.toml"]).ends_with(0);
        assert_lines(&found.stdout, &pairs(&engine), name);
        let found = dir.run(["cluster", "a.jsonl", "--config", "c.toml"]).ends_with(0);
        assert_lines(&found.stdout, &clusters(engine.groups()), name);
    }
}

#[test]
fn result_does_not_depend_on_memory_threads_or_input_format() {
    let dir = Dir::new();
    // Long enough that not all texts fit into the cache of the smallest memory limit.
    let mut documents = documents(5, 600);
    for document in &mut documents {
        let Content::Text(text) = &mut document.content else { unreachable!() };
        *text = format!("{text} ").repeat(20);
    }
    let corpus = jsonl(&documents);
    dir.write("a.jsonl", &corpus);
    dir.write("a.jsonl.gz", gzip(corpus.as_bytes()));
    for preset in ["copies", "articles", "headlines", "wire"] {
        for command in ["pairs", "cluster"] {
            let run = |input: &str, flags: &[&str]| {
                let args = [command, input, "--preset", preset].into_iter().chain(flags.iter().copied());
                dir.run_with_stdin(args, corpus.as_bytes()).ends_with(0).stdout
            };
            let expected = run("a.jsonl", &["--threads", "1"]);
            assert!(expected.lines().count() > 50);
            assert!(run("a.jsonl", &["--max-memory", "64M", "--threads", "3"]) == expected, "{preset}");
            assert!(run("a.jsonl.gz", &["--threads", "2"]) == expected, "{preset}");
            assert!(run("-", &["--temp-dir", "."]) == expected, "{preset}");
        }
    }
    assert_eq!(dir.names(), ["a.jsonl", "a.jsonl.gz"], "nothing stays behind");
}

#[test]
fn later_record_replaces_an_earlier_one_with_its_id() {
    let dir = Dir::new();
    let mut documents = documents(11, 120);
    // The last record with an id is used, at its own position.
    let again: Vec<Document> = (0..20)
        .map(|i| Document { id: documents[3 * i].id.clone(), ..documents[3 * i + 1].clone() })
        .collect();
    documents.extend(again);
    dir.write("a.jsonl", jsonl(&documents));
    for preset in ["copies", "articles", "wire"] {
        let engine = engine(preset.parse::<Preset>().unwrap().config(), &documents);
        let flags = ["--preset", preset, "--on-dup-id", "last", "--json"];
        let found = dir.run(["pairs", "a.jsonl"].iter().chain(&flags)).ends_with(0);
        assert_lines(&found.stdout, &pairs(&engine), preset);
        let summary: Value = serde_json::from_str(found.stderr.lines().last().unwrap()).unwrap();
        assert_eq!(summary["documents"], engine.len());
        let found = dir.run(["cluster", "a.jsonl"].iter().chain(&flags)).ends_with(0);
        assert_lines(&found.stdout, &clusters(engine.groups()), preset);
    }
}

#[test]
fn checks_limits_before_the_run() {
    let dir = Dir::new();
    dir.write("a.jsonl", "{\"id\":1,\"text\":\"a\"}\n");
    for command in ["pairs", "cluster"] {
        dir.run([command, "a.jsonl", "--max-memory", "1M"]).ends_with(2).says(&["must be at least 64M"]);
        let run = dir.run([command, "a.jsonl", "--temp-dir", "nowhere"]);
        run.ends_with(2).says(&["`--temp-dir nowhere` is not a directory"]);
    }
    let many: String = (0..400_000).map(|i| format!("{{\"id\":{i},\"text\":\"a\"}}\n")).collect();
    dir.write("many.jsonl", many);
    let run = dir.run(["cluster", "many.jsonl", "--max-memory", "64M", "-o", "out"]).ends_with(5);
    run.says(&["do not fit into the memory limit", "raise `--max-memory`"]);
    assert!(!dir.exists("out"));
}

#[test]
fn expands_pairs_of_equal_documents() {
    let dir = Dir::new();
    let same: String =
        (0..700).map(|i| format!("{{\"id\":{i},\"text\":\"one two three four five\"}}\n")).collect();
    dir.write("a.jsonl", same);
    let found = dir.run(["pairs", "a.jsonl", "--json"]).ends_with(0);
    assert_eq!(found.stdout.lines().count(), 700 * 699 / 2);
    let summary: Value = serde_json::from_str(found.stderr.lines().last().unwrap()).unwrap();
    assert_eq!((&summary["pairs"], &summary["candidates"]), (&json!(700 * 699 / 2), &json!(0)));
}

#[test]
fn dedup_keeps_the_centers_of_the_clusters_for_every_preset() {
    let dir = Dir::new();
    let documents = documents(21, 400);
    dir.write("a.jsonl", jsonl(&documents));
    for preset in ["wire", "web", "articles", "articles --unverified", "headlines", "copies"] {
        let flags: Vec<&str> = ["--force", "--preset"].into_iter().chain(preset.split(' ')).collect();
        dir.run(["cluster", "a.jsonl", "-o", "c.jsonl", "--linkage", "cohesive"].iter().chain(&flags))
            .ends_with(0);
        let centers: Vec<Value> =
            lines(&dir.read("c.jsonl")).iter().map(|cluster| cluster["center"].clone()).collect();
        for more in [vec![], vec!["--max-memory", "64M"], vec!["--threads", "1"], vec!["--report", "r.html"]]
        {
            let args = ["dedup", "a.jsonl", "-o", "k.jsonl", "--removed", "gone.jsonl"];
            dir.run(args.iter().chain(&flags).chain(&more)).ends_with(0);
            let kept: Vec<Value> =
                lines(&dir.read("k.jsonl")).iter().map(|record| record["id"].clone()).collect();
            assert_eq!(kept, centers, "{preset} {more:?}");
        }
        let gone = lines(&dir.read("gone.jsonl"));
        assert_eq!(gone.len() + centers.len(), documents.len());
        let unverified = gone.iter().filter(|line| line.get("verified") == Some(&json!(false))).count();
        match preset {
            "wire" | "web" => assert_eq!(unverified, gone.len(), "{preset}"),
            "articles --unverified" => assert!(unverified > 0 && unverified < gone.len()),
            _ => assert_eq!(unverified, 0, "{preset}"),
        }
    }
}

#[test]
fn dedup_by_fingerprints_reports_unverified_and_uses_an_existing_corpus() {
    let dir = Dir::new();
    let text =
        "The city council voted on Monday evening to close the old stone bridge for repairs until spring "
            .repeat(6);
    let record = |id: u32, text: &str| format!("{}\n", json!({"id": id, "text": text}));
    dir.write("old.jsonl", record(1, &text) + &record(2, &text) + &record(3, &format!("{text} again")));
    let fresh =
        "Apple growers in the valley expect their best harvest in ten years after a mild and wet winter";
    let new = [
        record(1, &text.to_uppercase()),
        record(2, fresh),
        record(3, "!"),
        record(4, "!"),
        record(5, &format!("{text} soon")),
    ];
    dir.write("new.jsonl", new.concat());
    let run = dir.run(["dedup", "new.jsonl", "--against", "old.jsonl", "--preset", "wire"]).ends_with(0);
    let kept: Vec<Value> = lines(&run.stdout).iter().map(|record| record["id"].clone()).collect();
    assert_eq!(kept, [2, 3, 4], "texts without words match nothing");
    run.says(&["2 removed", "only fingerprints compared, nothing verified"]);
}
