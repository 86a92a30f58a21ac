use super::*;
use crate::report::html::sample::{empty, news, strained};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Elements without an end tag.
const VOID: [&str; 1] = ["meta"];

/// Returns the tags of the page in order, as names with attributes.
fn tags(page: &str) -> Vec<&str> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = rest[start..].find('>').expect("unterminated tag") + start;
        tags.push(&rest[start + 1..end]);
        rest = &rest[end + 1..];
    }
    assert!(!rest.contains('>'), "unescaped > in text: {rest}");
    tags
}

fn element(tag: &str) -> &str {
    tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default()
}

/// Checks that elements are properly nested, ids are unique, and links have targets.
fn check(page: &str) {
    let body = page.strip_prefix("<!DOCTYPE html>\n").expect("missing doctype");
    let (style, script) = (body.find("<style>"), body.find("<script"));
    assert!(style.is_some() && script.is_none());
    let mut open = Vec::new();
    for tag in tags(body) {
        assert_eq!(tag.matches('"').count() % 2, 0, "unbalanced quotes in <{tag}>");
        match element(tag) {
            name if VOID.contains(&name) || tag.ends_with('/') => {}
            name if tag.starts_with('/') => assert_eq!(open.pop(), Some(name)),
            name => open.push(name),
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    let mut ids: Vec<&str> = body.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "duplicate id");
    for link in body.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(ids.contains(&link), "#{link} has no target");
    }
}

#[test]
fn page_is_well_formed() {
    check(&page(&news()));
    check(&page(&strained()));
}

#[test]
fn lists_differing_numbers_and_names() {
    let page = page(&news());
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("<tr><td>")).collect();
    let row = "<tr><td>number</td><td><bdi>412.7 million</bdi></td><td><bdi>96.3 million</bdi></td></tr>";
    assert!(rows.contains(&row), "{rows:#?}");
    assert!(rows.iter().any(|row| row.starts_with("<tr><td>name</td>")), "{rows:#?}");
}

#[test]
fn renders_an_empty_run() {
    let page = page(&empty());
    check(&page);
    for sentence in [
        "0 candidate pairs verified, 0 clusters.",
        "There were no candidate pairs.",
        "The documents have no sources.",
        "There were no documents.",
        "There are no clusters: no two documents match.",
        "There are no pairs to show.",
    ] {
        assert!(page.contains(sentence), "{sentence}");
    }
    assert!(!page.contains("NaN"));
}

#[test]
fn page_loads_nothing() {
    let page = page(&news());
    assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline';"));
    for tag in tags(&page) {
        for attribute in ["src=", "href=\"h", "xlink", "url(", "style=", " on", "action="] {
            assert!(!tag.contains(attribute) || tag.starts_with("meta http-equiv"), "<{tag}>");
        }
        assert!(
            !["script", "link", "img", "iframe", "object", "form", "base"].contains(&element(tag)),
            "<{tag}>"
        );
    }
    assert!(!include_str!("style.css").contains("url("));
}

/// Returns a report with the payload in every text field.
fn hostile(payload: &str) -> Report {
    let text = || payload.to_owned();
    let removed = || Removed { name: text(), documents: 2, removed: 1, bytes: 9, removed_bytes: 4 };
    let least_similar = Some(0.9);
    let example = Example {
        a: text(),
        b: text(),
        similarity: 0.9,
        facts: Some(0.5),
        template: true,
        removed: false,
        a_text: format!("{payload} one two {payload}"),
        b_text: format!("one {payload} two"),
        passages: Vec::new(),
        differences: Vec::new(),
    };
    Report {
        title: text(),
        made_at: text(),
        command: text(),
        facts: vec![(text(), text())],
        sources: vec![removed()],
        lengths: vec![removed()],
        largest: vec![LargeCluster { center: text(), size: 2, least_similar, begins: text() }],
        examples: vec![example],
        notes: vec![text()],
        ..empty()
    }
}

#[test]
fn payloads_are_inert_in_every_field() {
    let payloads = [
        "<script>alert(1)</script>",
        "</title></style><script src=//evil.example/x></script>",
        "\"'><img src=x onerror=alert(1)>",
        "</code></pre><svg/onload=alert(1)>",
        "<!-- <![CDATA[",
        "javascript:alert(1)",
    ];
    // The number of marked words depends on the payload.
    let kinds = |page: &str| -> BTreeSet<String> {
        tags(page).into_iter().filter(|tag| element(tag) != "mark").map(String::from).collect()
    };
    let harmless = kinds(&page(&hostile("plain")));
    for payload in payloads {
        let page = page(&hostile(payload));
        check(&page);
        assert_eq!(kinds(&page), harmless, "{payload} adds no element");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn renders_any_text_with_any_passages(
        a in any::<String>(),
        b in "(\\PC|<|&| |word ){0,200}",
        places in proptest::collection::vec(any::<[u8; 4]>(), 0..6),
    ) {
        let passage = |[a_start, a_end, b_start, b_end]: [u8; 4]| Passage {
            a_start: a_start.into(),
            a_end: a_end.into(),
            b_start: b_start.into(),
            b_end: b_end.into(),
            tokens: 5,
        };
        let mut report = hostile(&a);
        for example in &mut report.examples {
            example.b_text = b.clone();
            example.passages = places.iter().copied().map(passage).collect();
        }
        check(&page(&report));
    }
}

#[test]
fn escapes_control_characters_in_every_field() {
    for control in ["\u{202e}", "\u{2066}", "\u{1b}", "\u{0}", "\u{feff}"] {
        let page = page(&hostile(&format!("a{control}b")));
        check(&page);
        assert!(!page.contains(control), "{control:?}");
        assert!(page.matches(&*control.escape_unicode().to_string()).count() > 10, "{control:?}");
    }
}

#[test]
fn headings_state_the_outcome() {
    let page = page(&news());
    for headline in [
        "Removed <code><bdi>newswire-20260119-0042</bdi></code>, kept <code><bdi>herald-5512</bdi></code></h3>",
        "<h3>Kept both: template (same wording, different facts)</h3>",
        "<h3>Kept both: below the threshold</h3>",
    ] {
        assert!(page.contains(headline), "{headline}");
    }
}

#[test]
fn adds_up_sources_beyond_the_row_limit() {
    let row = |i: u64| Removed {
        name: format!("host{i}"),
        documents: 10,
        removed: 1,
        bytes: 100,
        removed_bytes: 10,
    };
    let page = page(&Report { sources: (0..2000).map(row).collect(), ..empty() });
    check(&page);
    assert!(page.contains("and 1,950 more") && page.contains("of 20,000"));
}

#[test]
#[ignore = "writes sample pages to the directory SAMEISH_PAGES"]
fn writes_sample_pages() {
    let directory =
        std::path::PathBuf::from(std::env::var_os("SAMEISH_PAGES").expect("SAMEISH_PAGES is not set"));
    for (file, report) in [("news.html", news()), ("empty.html", empty()), ("strained.html", strained())] {
        std::fs::write(directory.join(file), page(&report)).expect("cannot write the page");
    }
}
