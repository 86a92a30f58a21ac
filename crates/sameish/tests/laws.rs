//! What holds for every text and every preset.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use proptest::prelude::*;
use sameish::*;

fn engines() -> Vec<Analyzer> {
    let mut configs: Vec<Config> = Preset::ALL.map(Preset::config).into();
    let mut set = Preset::Web.config();
    set.simhash.as_mut().unwrap().weighting = Weighting::Uniform;
    let mut multiset = Preset::Copies.config();
    multiset.minhash.as_mut().unwrap().counting = Counting::Multiset;
    let mut letters = Preset::Copies.config();
    letters.minhash.as_mut().unwrap().shingle = Shingle::Letters;
    configs.extend([set, multiset, letters]);
    configs.into_iter().map(|config| Analyzer::new(config).unwrap()).collect()
}

fn text(text: &str) -> Content {
    Content::Text(text.to_owned())
}

fn sketch(analyzer: &Analyzer, content: &Content) -> Sketches {
    analyzer.sketch(content, &mut Scratch::default())
}

/// Prose of a few scripts, with punctuation and stray marks.
fn prose() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        8 => "[a-zA-Z]{1,9}",
        1 => "[0-9]{1,4}([.,][0-9]{1,3})?",
        1 => "[а-яА-Я]{1,8}",
        1 => "[一-龥]{1,6}",
        1 => "[ก-ฮ]{1,6}",
        1 => "\\PC{1,5}",
    ];
    prop::collection::vec((word, "[ .,;:!?\n’“-]{1,2}"), 0..80)
        .prop_map(|words| words.into_iter().map(|(word, gap)| word + &gap).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn comparing_is_symmetric(a in prose(), b in prose()) {
        for analyzer in engines() {
            let (x, y) = (analyzer.compare(&text(&a), &text(&b), 3), analyzer.compare(&text(&b), &text(&a), 3));
            prop_assert_eq!(x.similarity, y.similarity);
            prop_assert_eq!(x.containment, y.containment);
            prop_assert_eq!((x.containment_a, x.containment_b), (y.containment_b, y.containment_a));
            prop_assert_eq!(x.simhash_distance, y.simhash_distance);
            prop_assert_eq!(x.minhash_similarity, y.minhash_similarity);
            prop_assert_eq!(x.match_type, y.match_type);
            prop_assert_eq!((x.coverage_a, x.coverage_b), (y.coverage_b, y.coverage_a));
        }
    }

    #[test]
    fn a_text_is_itself(a in prose()) {
        let has_words = !tokens(Tokenizer::Unicode, &a).is_empty();
        for analyzer in engines() {
            let x = analyzer.compare(&text(&a), &text(&a), 1);
            prop_assert_eq!(x.simhash_distance, 0);
            prop_assert_eq!(x.match_type == MatchType::Match(MatchKind::Exact), !normalize(&a).trim().is_empty());
            prop_assert_eq!(x.coverage_a, if has_words { 1.0 } else { 0.0 });
            prop_assert!(x.minhash_similarity.is_none_or(|estimate| estimate == 1.0));
        }
    }

    #[test]
    fn scratch_leaves_no_trace(a in prose(), b in prose()) {
        for analyzer in engines() {
            let mut scratch = Scratch::default();
            analyzer.sketch(&text(&b), &mut scratch);
            prop_assert_eq!(analyzer.sketch(&text(&a), &mut scratch), sketch(&analyzer, &text(&a)));
        }
    }

    #[test]
    fn tokens_given_are_tokens_found(a in prose()) {
        for analyzer in engines() {
            let words = tokens(analyzer.config().text.tokenizer, &a).into_iter().map(|token| token.text).collect();
            prop_assert_eq!(sketch(&analyzer, &Content::Tokens(words)), sketch(&analyzer, &text(&a)));
        }
    }

    #[test]
    fn order_of_words_has_no_influence_on_words(mut words in prop::collection::vec("[a-z]{2,8}", 0..60)) {
        for preset in [Preset::Wire, Preset::Sdr] {
            let analyzer = Analyzer::new(preset.config()).unwrap();
            let before = sketch(&analyzer, &Content::Tokens(words.clone()));
            words.sort();
            prop_assert_eq!(sketch(&analyzer, &Content::Tokens(words.clone())), before);
        }
    }

    #[test]
    fn passages_are_equal_text(a in prose(), b in prose()) {
        let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
        let joined = format!("{a} the very same five words here {b}");
        for passage in analyzer.compare(&text(&joined), &text(&b), 2).passages {
            let words = |text: &str| -> Vec<String> {
                tokens(Tokenizer::Unicode, text).into_iter().map(|token| token.text).collect()
            };
            let of_a = words(&joined[passage.a_start..passage.a_end]);
            prop_assert_eq!(&of_a, &words(&b[passage.b_start..passage.b_end]));
            prop_assert_eq!(of_a.len(), passage.tokens);
        }
    }

    #[test]
    fn stored_sketches_come_back_under_their_scheme_only(a in prose()) {
        let all: Vec<Schemes> = engines().iter().map(Analyzer::schemes).collect();
        for analyzer in engines() {
            let (made, schemes) = (sketch(&analyzer, &text(&a)), analyzer.schemes());
            let stored = [
                (made.simhash.map(Stored::Fingerprint), schemes.simhash),
                (made.minhash.map(Stored::Signature), schemes.minhash),
                (made.sdr.map(Stored::Sdr), schemes.sdr),
            ];
            for (sketch, scheme) in stored {
                let (Some(sketch), Some(scheme)) = (sketch, scheme) else { continue };
                let bytes = encode_sketch(&sketch, scheme);
                for other in all.iter().flat_map(|s| [s.simhash, s.minhash, s.sdr]).flatten() {
                    prop_assert_eq!(decode_sketch(&bytes, other).ok(), (other == scheme).then(|| sketch.clone()));
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_a_text(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let decoded = decode(&bytes);
        prop_assert_eq!(decoded.replaced == 0, std::str::from_utf8(&bytes).is_ok());
        for analyzer in engines() {
            sketch(&analyzer, &text(&decoded.text));
        }
    }
}

/// Levels are forced for the whole process, which is harmless: every level gives the same answer, and that is the law.
#[test]
fn every_simd_level_gives_the_same_sketches() {
    let prose = "The council voted on Monday to close the old bridge — “for good”, it's said — until 3.14 p.m. \
                 Привет мир 日本語のテキスト ภาษาไทย café naïve_x __init__ ";
    // Every position in a block, and lengths beyond a chunk.
    let texts: Vec<Content> =
        (0..130).map(|n| text(&prose.repeat(1 + n).chars().skip(n).collect::<String>())).collect();
    for analyzer in engines() {
        let made: Vec<Vec<Sketches>> = ["scalar", "avx2", "avx512"]
            .iter()
            .filter(|level| simd::force(level).is_ok())
            .map(|_| texts.iter().map(|content| sketch(&analyzer, content)).collect())
            .collect();
        assert!(made.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

#[test]
fn threads_do_not_show() {
    let texts: Vec<Content> =
        (0..64).map(|n| text(&format!("story number {n} about the old bridge ").repeat(n))).collect();
    for analyzer in engines() {
        let alone: Vec<Sketches> = texts.iter().map(|content| sketch(&analyzer, content)).collect();
        let together: Vec<Sketches> = std::thread::scope(|scope| {
            let halves = texts.chunks(16).map(|texts| {
                let analyzer = &analyzer;
                scope.spawn(move || texts.iter().map(|content| sketch(analyzer, content)).collect::<Vec<_>>())
            });
            halves.collect::<Vec<_>>().into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(alone, together);
    }
}
