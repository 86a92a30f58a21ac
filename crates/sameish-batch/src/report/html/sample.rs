//! Sample reports for tests and for visual inspection.

use super::{Example, LargeCluster, Removed, Report};
use sameish::{Analyzer, Content, Preset};

/// A run without documents.
pub(super) fn empty() -> Report {
    Report {
        analyzer: Analyzer::new(Preset::Copies.config()).expect("a preset is valid"),
        title: "dedup of 1 input".into(),
        made_at: "2026-03-14 09:26 UTC".into(),
        command: "sameish dedup empty.jsonl -o out --report report.html".into(),
        facts: ["documents", "kept", "removed"].map(|name| (name.to_owned(), "0".to_owned())).into(),
        threshold: 0.8,
        expected_recall: None,
        curve: Vec::new(),
        histogram: vec![0; 20],
        cluster_sizes: Vec::new(),
        sources: Vec::new(),
        lengths: Vec::new(),
        largest: Vec::new(),
        examples: Vec::new(),
        notes: Vec::new(),
    }
}

/// A run over twenty thousand articles.
pub(super) fn news() -> Report {
    let facts = [
        ("documents", "20,000"),
        ("kept", "14,872"),
        ("removed", "5,128"),
        ("clusters", "2,361"),
        ("largest cluster", "1,204"),
        ("too short", "87"),
        ("rejected", "3"),
        ("peak memory", "212.4 MB"),
    ];
    let bands = |s: f64| 1.0 - (1.0 - s.powi(6)).powi(18);
    Report {
        title: "dedup of 3 inputs".into(),
        made_at: "2026-03-14 09:26 UTC".into(),
        command: "sameish dedup news-2026-01.jsonl.zst news-2026-02.jsonl.zst 'agency/*.jsonl' -o out/ --threshold 0.8 \
                  --recall 0.99 --report report.html"
            .into(),
        facts: facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        threshold: 0.8,
        expected_recall: Some(bands(0.8)),
        curve: (0..=50).map(|i| f64::from(i) / 50.0).map(|s| (s, bands(s))).collect(),
        histogram: vec![
            0, 3, 41, 377, 1804, 5120, 9011, 12080, 10244, 7020, 4107, 2311, 1210, 702, 480, 391, 402, 511, 940, 34_653,
        ],
        cluster_sizes: vec![
            (2, 1502), (3, 431), (4, 170), (5, 88), (7, 91), (11, 44), (20, 23), (40, 8), (88, 2), (391, 1), (1204, 1),
        ],
        sources: [
            ("newswire.example", 6210, 2904),
            ("press-releases-and-announcements.international.example/feeds/business", 1190, 804),
            ("", 2044, 88),
            ("новости.example", 980, 21),
            ("新聞.example", 2011, 9),
            ("weekly.example", 400, 0),
        ]
        .map(removed)
        .into(),
        lengths: [("under 50 words", 612, 101), ("50 to 199 words", 4120, 1744), ("longer", 77, 0)].map(removed).into(),
        largest: largest(),
        examples: examples(),
        notes: vec![
            "1,113 pairs are templates and were kept; `--templates merge` removes them.".into(),
            "2 buckets reached the limit of 10,000 documents; pairs found only there may be missing.".into(),
        ],
        ..empty()
    }
}

/// A run with huge numbers, very long words and many rows.
pub(super) fn strained() -> Report {
    let long_word = "Wörterohneende".repeat(40);
    let row = |i: u64| Removed {
        name: format!("{long_word}{i}"),
        documents: 61_210_000_000 + i,
        removed: 12_904_112_000 + i,
        bytes: u64::MAX / 2,
        removed_bytes: u64::MAX / 3,
    };
    let cluster = |size| LargeCluster {
        center: long_word.clone(),
        size,
        least_similar: Some(0.8),
        begins: long_word.repeat(9),
    };
    Report {
        title: long_word.clone(),
        command: long_word.clone(),
        facts: vec![
            (long_word.clone(), long_word.clone()),
            ("documents".into(), "61,210,000,000,000".into()),
        ],
        threshold: 0.05,
        expected_recall: Some(0.5),
        curve: vec![(0.0, 0.0), (0.05, 0.5), (1.0, 1.0)],
        histogram: (0..100).map(|i| if i == 70 { 91_000_000_000 } else { i / 9 }).collect(),
        cluster_sizes: (0..40).map(|i| (1 << i, 1 << (40 - i))).collect(),
        sources: (0..60).map(row).collect(),
        lengths: (0..3).map(row).collect(),
        largest: [12_904_112_000, 2].map(cluster).into(),
        examples: vec![example(
            (&long_word, &long_word.repeat(50)),
            (&long_word, &ARTICLE.replace(' ', "")),
            false,
            true,
        )],
        notes: vec![long_word.clone()],
        ..empty()
    }
}

fn removed((name, documents, removed): (&str, u64, u64)) -> Removed {
    Removed { name: name.into(), documents, removed, bytes: documents * 3170, removed_bytes: removed * 2750 }
}

fn largest() -> Vec<LargeCluster> {
    let url = "https://morning-herald.example/2026/01/19/politics/what-the-new-budget-means-for-households-and-small-firms.html";
    let weather = "Weather warning issued for northern coastal districts as storm moves in from the west; residents are \
                   asked to stay indoors and to follow the advice of local services";
    let rows = [
        ("newswire-20260114-0771", 1204, Some(0.8123), weather),
        (url, 391, Some(0.9051), "What the new budget means for households and small firms"),
        ("48121", 88, None, "This page is no longer available."),
    ];
    let cluster = |(center, size, least_similar, begins): (&str, _, _, &str)| LargeCluster {
        center: center.into(),
        size,
        least_similar,
        begins: begins.into(),
    };
    rows.map(cluster).into()
}

const ARTICLE: &str = "The city council voted on Monday to close the old harbour bridge for repairs until spring, after engineers \
found cracks in two of its main girders. Traffic will be led over the northern ring road, and the ferry will run twice as often \
at no extra charge.\n\nMayor Ines Holm said the closure was \"painful but right\". The repairs are expected to cost 14.2 million \
and to take about five months. Shops on the east bank, which fear for their winter trade, asked for help with rents; the council \
will decide on that next week.\n\nThe bridge was built in 1931 and carries about 22,000 cars a day. It was last repaired in 1998, \
when its deck was renewed. A plan for a new bridge a kilometre upstream has been discussed for years but has never been paid for.";

/// A generated text about quarterly results.
fn template(company: &str, figures: [&str; 4]) -> String {
    let [quarter, revenue, rise, share] = figures;
    format!(
        "{company} reported revenue of {revenue} million for the {quarter} quarter, {rise} percent more than a year before. \
         Earnings per share were {share}. Analysts had on average expected less. {company} gave no outlook for the full year. \
         This text was made automatically from figures that the company published; no editor has checked it before it was sent."
    )
}

fn example(a: (&str, &str), b: (&str, &str), template: bool, removed: bool) -> Example {
    let engine = Analyzer::new(Preset::Copies.config()).expect("a preset is valid");
    let [x, y] = [a.1, b.1].map(|text| Content::Text(text.into()));
    let comparison = engine.compare(&x, &y, 5);
    Example {
        a: a.0.into(),
        b: b.0.into(),
        similarity: comparison.similarity,
        facts: Some(if template { 0.31 } else { 0.97 }),
        template,
        removed,
        a_text: a.1.into(),
        b_text: b.1.into(),
        passages: comparison.passages,
        differences: comparison.differences,
    }
}

fn examples() -> Vec<Example> {
    let copy = ARTICLE.replace(", which fear for their winter trade,", "");
    let copy = format!("HARBOUR CITY (Newswire) - {copy} (Reporting by A. Writer; editing by B. Desk)");
    let long = |word: &str| {
        let text =
            |i: usize| format!("Paragraph {i} of a long report describes how part number {i} was measured. ");
        let texts: String = (0..60).map(text).collect();
        format!("{texts}In the end the committee {word} the plan. {texts}")
    };
    let templates = [
        template("Northwind Tools", ["third", "412.7", "8", "1.14"]),
        template("Harbour Foods", ["third", "96.3", "2", "0.37"]),
    ];
    let hostile = "<img src=x onerror=alert(1)> \u{202e}gpj.exe\u{202c} and <b>bold</b> words of both texts, \u{0}\u{7} with bells";
    vec![
        example(("herald-5512", ARTICLE), ("newswire-20260119-0042", &copy), false, true),
        example(("results-771", &templates[0]), ("results-772", &templates[1]), true, false),
        example(
            ("report-1", &long("approved")),
            ("report-1-draft", &long("rejected, against the advice of its own experts,")),
            false,
            true,
        ),
        example(
            ("ar-1", "قرر مجلس المدينة يوم الاثنين إغلاق الجسر القديم في الميناء حتى الربيع لإصلاحه"),
            ("ar-2", "قرر مجلس المدينة يوم الثلاثاء إغلاق الجسر القديم في الميناء حتى الربيع لإصلاحه"),
            false,
            false,
        ),
        example(
            ("zh-1", "市議會週一投票決定關閉舊港橋進行維修直到春天為止。"),
            ("zh-2", "市議會週二投票決定關閉舊港橋進行維修直到春天為止。"),
            false,
            true,
        ),
        example(
            ("\"><script>alert(1)</script>", hostile),
            ("id\u{202e}with\nsteering", hostile),
            false,
            true,
        ),
        example(("empty-1", ""), ("dots", "..."), false, false),
    ]
}
