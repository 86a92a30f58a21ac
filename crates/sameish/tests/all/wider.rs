//! Searches with a minimum similarity below the threshold of the configuration, compared with brute force.

use crate::random::SplitMix64;
use sameish::{Analyzer, DocId, Document, Engine, Prepared, Preset, Scratch, SearchOptions};
use std::collections::BTreeMap;

/// Returns a text of 80 words, `changed` of which differ from those of all other texts.
fn text(changed: usize, random: &mut SplitMix64) -> String {
    let mut words: Vec<String> = (0..80).map(|i| format!("word{i}")).collect();
    for at in (0..changed).map(|i| (i * 37) % 80) {
        words[at] = format!("other{}", random.next());
    }
    words.join(" ")
}

/// Returns how similar two documents are by what their preset compares.
fn similarity(preset: Preset, a: &Prepared, b: &Prepared) -> f64 {
    match preset {
        Preset::Wire | Preset::Web => {
            let distance = a.sketches.simhash.unwrap().distance(b.sketches.simhash.unwrap());
            1.0 - f64::from(distance) / 64.0
        }
        Preset::Sdr => {
            let (a, b) = (a.sketches.sdr.as_ref().unwrap(), b.sketches.sdr.as_ref().unwrap());
            a.overlap(b).unwrap() as f64 / a.active().len().max(b.active().len()) as f64
        }
        _ => a.features.shingles.jaccard(&b.features.shingles),
    }
}

#[test]
fn a_minimum_below_the_threshold_finds_every_match() {
    for preset in Preset::ALL {
        let mut random = SplitMix64(20);
        let analyzer = Analyzer::new(preset.config()).unwrap();
        let mut engine = Engine::with_analyzer(analyzer.clone()).unwrap();
        let prepare = |text: &str| analyzer.prepare(text, &mut Scratch::default());
        let query = text(0, &mut random);
        let mut similarities = BTreeMap::new();
        for id in 0..80u64 {
            let other = text(id as usize, &mut random);
            engine.insert(&Document::new(id, other.as_str())).unwrap();
            similarities.insert(DocId::from(id), similarity(preset, &prepare(&query), &prepare(&other)));
        }
        let threshold = preset.config().matching.threshold;
        for minimum in [threshold - 0.1, 0.3, 0.2, threshold] {
            let options = SearchOptions { limit: Some(1000), min_similarity: Some(minimum) };
            let found = engine.search(&*query, options).unwrap();
            let found: BTreeMap<DocId, f64> =
                found.matches.into_iter().map(|found| (found.id, found.verdict.similarity)).collect();
            let expected: BTreeMap<DocId, f64> = similarities
                .iter()
                .filter(|(_, similarity)| **similarity >= minimum)
                .map(|(id, similarity)| (id.clone(), *similarity))
                .collect();
            if minimum < threshold {
                assert_eq!(found, expected, "{preset}, {minimum}");
                assert!(found.values().any(|similarity| *similarity < threshold), "{preset}, {minimum}");
            } else {
                assert!(found.keys().all(|id| expected.contains_key(id)), "{preset}, {minimum}");
            }
        }
    }
}

#[test]
fn a_minimum_of_zero_finds_what_shares_anything() {
    let texts = ["storm hits the coast", "storm over the sea", "nothing else"];
    for preset in [Preset::Wire, Preset::Sdr] {
        let mut engine = Engine::new(preset.config()).unwrap();
        for (id, text) in texts.iter().enumerate() {
            engine.insert(&Document::new(id as u64, *text)).unwrap();
        }
        let options = SearchOptions { limit: None, min_similarity: Some(0.0) };
        let found = engine.search(texts[0], options).unwrap();
        assert!(found.matches.len() >= 2, "{preset}");
        assert_eq!(found.matches[0].id, DocId::from(0u64));
        assert!(found.matches.iter().all(|found| !found.verdict.verified));
    }
}
