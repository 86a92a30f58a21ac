//! Edge cases: short texts, texts without features, unusual tokens.
use sameish::config::{Shingle, Weighting};
use sameish::features::{DocumentFrequencies, fnv1a64};
use sameish::*;

fn text(text: &str) -> Content {
    Content::Text(text.to_owned())
}

fn sketch(config: Config, content: &Content) -> Sketches {
    Analyzer::new(config).unwrap().sketch(content, &mut Scratch::default())
}

fn match_type(preset: Preset, a: &str, b: &str) -> String {
    Analyzer::new(preset.config()).unwrap().compare(&text(a), &text(b), 3).match_type.to_string()
}

#[test]
fn reports_too_short_texts_in_every_preset() {
    let short = |preset: Preset, words: &str| sketch(preset.config(), &text(words));
    for (preset, words) in
        [(Preset::Wire, "!"), (Preset::Web, "two words"), (Preset::Articles, "a few words")]
    {
        let sketches = short(preset, words);
        assert_eq!(sketches.status, Status::TooShort, "{preset}");
        assert!(sketches.simhash.is_some() && sketches.minhash.is_none(), "{preset}");
    }
    for (preset, words) in [(Preset::Headlines, "the of and four words here"), (Preset::Copies, "two words")]
    {
        let Sketches { status, simhash, minhash, .. } = short(preset, words);
        assert_eq!((status, simhash, minhash), (Status::TooShort, None, None), "{preset}");
    }
    assert_eq!(short(Preset::Headlines, "SpaceX acquires xAI for $2 billion").words, 5);
    assert_eq!(short(Preset::Sdr, "").status, Status::Ok);
}

#[test]
fn text_without_features_is_too_short_regardless_of_its_words() {
    let mut config = Preset::Web.config();
    config.simhash.as_mut().unwrap().shingle = Shingle::Windows(5);
    let sketches = sketch(config, &text("only four words here"));
    assert_eq!((sketches.status, sketches.simhash), (Status::TooShort, Some(Fingerprint::default())));
}

#[test]
fn exact_match_means_equal_normalized_text() {
    for (a, b) in [
        ("Ｆine  CAFÉ\n", "fine cafe\u{301}"),
        ("I love it 👍", "i love it 👍"),
        ("👍👍", "👍👍"),
        ("a b", "A  B"),
    ] {
        assert_eq!(match_type(Preset::Copies, a, b), "exact", "{a:?} {b:?}");
    }
    for (a, b) in [("I love it 👍", "I love it 👎"), ("x < y", "x > y"), ("", ""), (" ", "\n")] {
        assert_ne!(match_type(Preset::Copies, a, b), "exact", "{a:?} {b:?}");
    }
}

#[test]
fn near_fingerprints_alone_are_not_a_verified_match() {
    let words = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu";
    let reversed: Vec<&str> = words.split(' ').rev().collect();
    // The same words in reverse order have the same fingerprint and no common shingle.
    assert_eq!(match_type(Preset::Copies, words, &reversed.join(" ")), "different");
    assert_eq!(match_type(Preset::Wire, words, &reversed.join(" ")), "near");
    assert_eq!(match_type(Preset::Copies, "cat dog", "dog cat"), "different");
}

#[test]
fn inverse_document_frequency_weights_the_fingerprint() {
    let mut config = Preset::Articles.config();
    let plain = Analyzer::new(config.clone()).unwrap();
    let mut frequencies = DocumentFrequencies::default();
    let mut scratch = Scratch::default();
    for n in 0..50 {
        plain.count_into(&text(&format!("the old bridge word{n}")), &mut frequencies, &mut scratch);
    }
    config.simhash.as_mut().unwrap().weighting = Weighting::InverseDocumentFrequency;
    assert!(Analyzer::new(config.clone()).is_err());
    assert!(Analyzer::with_frequencies(config.clone(), DocumentFrequencies::default()).is_err());
    let weighted = Analyzer::with_frequencies(config, frequencies).unwrap();
    assert_ne!(weighted.schemes().simhash, plain.schemes().simhash);
    assert_eq!(weighted.schemes().minhash, plain.schemes().minhash);
    // Words that occur in every document have weight 0, so the rare word determines the fingerprint.
    let print = weighted.sketch(&text("the old bridge rare"), &mut scratch).simhash.unwrap();
    assert_eq!(print.as_u64(), fnv1a64(b"rare"));
}

#[test]
fn accepts_arbitrary_tokens() {
    let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
    for tokens in [
        vec![],
        vec![String::new(); 5],
        vec!["x".repeat(1 << 20); 3],
        vec![" ".into(), "\0".into(), "é".into()],
    ] {
        let sketches = analyzer.sketch(&Content::Tokens(tokens.clone()), &mut Scratch::default());
        assert_eq!(sketches.words, tokens.len());
        assert_eq!(sketches.status == Status::Ok, tokens.len() >= 3);
    }
}

#[test]
fn removal_of_markup_and_accents_changes_every_scheme() {
    for preset in Preset::ALL {
        let schemes = |html, fold_accents| {
            let mut config = preset.config();
            config.text.html = html;
            config.text.fold_accents = fold_accents;
            let schemes = Analyzer::new(config).unwrap().schemes();
            [schemes.simhash, schemes.minhash, schemes.sdr]
                .map(|scheme| scheme.map(|scheme| scheme.to_string()))
        };
        let all = [(false, false), (true, false), (false, true), (true, true)].map(|(a, b)| schemes(a, b));
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                a.iter().zip(b).for_each(|(a, b)| assert!(a.is_none() || a != b, "{preset}: {a:?}"));
            }
        }
    }
}

#[test]
fn engine_finds_the_text_of_a_page_in_another_page() {
    let mut config = Preset::Copies.config();
    config.text.html = true;
    let mut engine = Engine::new(config).unwrap();
    let text = "the old bridge over the river is closed for repairs until next spring";
    let stored = format!("<html><head><style>p {{}}</style></head><p>{text}");
    engine.insert(&Document::new(1, stored)).unwrap();
    let query = format!("<div><em>{}</em></div>", text.replace("river", "r&#105;ver"));
    let found = engine.search(query.as_str(), SearchOptions::default()).unwrap();
    assert_eq!(found.matches.len(), 1);
    assert_eq!(found.matches[0].verdict.similarity, 1.0);
}
