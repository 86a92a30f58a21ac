//! Properties that hold for every text and every preset.
use proptest::prelude::*;
use sameish::analyzer::Schemes;
use sameish::config::{Counting, MAX_CODE_BITS, MAX_SKETCH_BYTES, Shingle, Tokenizer, Weighting};
use sameish::matching::MatchType;
use sameish::sketch::{Stored, decode_sketch, encode_sketch};
use sameish::text::{decode, normalize, tokens};
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

/// Generates prose in several scripts, with punctuation and stray combining marks.
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

/// Generates two texts that share a passage. Two independent texts would have similarity and coverage 0.
fn overlapping_texts() -> impl Strategy<Value = (String, String)> {
    (prose(), prose(), prose()).prop_map(|(a, shared, b)| (format!("{a} {shared}"), format!("{shared} {b}")))
}

/// Generates a config file with settings from far below to far above their bounds.
fn settings() -> impl Strategy<Value = String> {
    let number = || prop_oneof![0..100u32, 1..20_000u32, Just(16_777_216), any::<u32>()];
    let shingle = prop_oneof![
        "words:[1-9]",
        "chars:[1-9]",
        "windows:[1-9]",
        Just("letters".to_owned()),
        "words:[0-9]{1,3}"
    ];
    let sdr = (number(), number(), any::<bool>()).prop_map(|(size, bits, similar)| {
        format!("[sdr]\nsize = {size}\nactive_bits = {bits}\ntoken_similarity = {similar}\n")
    });
    let simhash = (0..70u32, 0..70u32, 0..70u32, shingle.clone()).prop_map(|(radius, total, differing, shingle)| {
        format!(
            "[simhash]\nshingle = \"{shingle}\"\nhash = \"xxh3\"\nweighting = \"frequency\"\nradius = {radius}\n\
             blocks = {{ total = {total}, differing = {differing} }}\n"
        )
    });
    let minhash = (number(), number(), number(), shingle).prop_map(|(rows, bands, per_band, shingle)| {
        format!(
            "[minhash]\nshingle = \"{shingle}\"\ncounting = \"set\"\nrows = {rows}\n\
             bands = {{ count = {bands}, rows = {per_band} }}\n"
        )
    });
    let preset = prop::sample::select(Preset::ALL.map(Preset::name).to_vec());
    let optional = |part: BoxedStrategy<String>| prop_oneof![3 => Just(String::new()), 1 => part];
    (preset, optional(sdr.boxed()), optional(simhash.boxed()), optional(minhash.boxed()))
        .prop_map(|(preset, sdr, simhash, minhash)| format!("preset = \"{preset}\"\n{sdr}{simhash}{minhash}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn valid_settings_bound_the_sketches_of_a_small_document(settings in settings()) {
        let Ok(config) = Config::from_toml(&settings) else { return Ok(()) };
        let analyzer = Analyzer::new(config.clone()).unwrap();
        let sketches = sketch(&analyzer, &text("A few words of a very small document"));
        let bytes = sketches.simhash.map_or(0, |simhash| simhash.to_bytes().len())
            + sketches.minhash.map_or(0, |minhash| minhash.to_bytes().len())
            + sketches.sdr.map_or(0, |sdr| 4 * sdr.active().len());
        prop_assert!(bytes <= MAX_SKETCH_BYTES, "{bytes} bytes");
        prop_assert!(config.sdr.is_none_or(|sdr| sdr.size <= MAX_CODE_BITS));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn comparison_is_symmetric((a, b) in overlapping_texts()) {
        for analyzer in engines() {
            let x = analyzer.compare(&text(&a), &text(&b), 3);
            let y = analyzer.compare(&text(&b), &text(&a), 3);
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
    fn text_is_an_exact_duplicate_of_itself(a in prose()) {
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
    fn sketches_do_not_depend_on_earlier_use_of_the_scratch(a in prose(), b in prose()) {
        for analyzer in engines() {
            let mut scratch = Scratch::default();
            analyzer.sketch(&text(&b), &mut scratch);
            prop_assert_eq!(analyzer.sketch(&text(&a), &mut scratch), sketch(&analyzer, &text(&a)));
        }
    }

    #[test]
    fn preparing_a_text_equals_computing_its_sketches_and_features_alone(a in prose()) {
        for analyzer in engines().into_iter().filter(|analyzer| analyzer.config().matching.verify) {
            let prepared = analyzer.prepare(&text(&a), &mut Scratch::default());
            prop_assert_eq!(prepared.sketches, sketch(&analyzer, &text(&a)));
            prop_assert_eq!(prepared.features, analyzer.features(&text(&a), &mut Scratch::default()));
        }
    }

    #[test]
    fn tokens_and_their_text_have_equal_sketches(a in prose()) {
        for analyzer in engines() {
            let of_tokens = |tokenizer: Tokenizer| {
                let words = tokens(tokenizer, &a).into_iter().map(|token| token.text).collect();
                sketch(&analyzer, &Content::Tokens(words))
            };
            let config = analyzer.config();
            let mut expected = of_tokens(config.text.tokenizer);
            // Fingerprints can have words of their own.
            if let Some(tokenizer) = config.simhash.as_ref().and_then(|simhash| simhash.tokenizer) {
                expected.simhash = of_tokens(tokenizer).simhash;
            }
            prop_assert_eq!(sketch(&analyzer, &text(&a)), expected);
        }
    }

    #[test]
    fn sketches_of_single_words_do_not_depend_on_word_order(words in prop::collection::vec("[a-z]{2,8}", 0..60)) {
        let reversed: Vec<String> = words.iter().rev().cloned().collect();
        for preset in [Preset::Wire, Preset::Sdr] {
            let analyzer = Analyzer::new(preset.config()).unwrap();
            let expected = sketch(&analyzer, &Content::Tokens(words.clone()));
            prop_assert_eq!(sketch(&analyzer, &Content::Tokens(reversed.clone())), expected, "{}", preset);
        }
    }

    #[test]
    fn passages_have_equal_words_in_both_texts(a in prose(), b in prose()) {
        let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
        let joined = format!("{a} the very same five words here {b}");
        let words = |text: &str| -> Vec<String> {
            tokens(Tokenizer::Unicode, text).into_iter().map(|token| token.text).collect()
        };
        let passages = analyzer.compare(&text(&joined), &text(&b), 2).passages;
        prop_assert!(!passages.is_empty() || words(&b).len() < 2);
        for passage in passages {
            let of_a = words(&joined[passage.a_start..passage.a_end]);
            prop_assert_eq!(&of_a, &words(&b[passage.b_start..passage.b_end]));
            prop_assert_eq!(of_a.len(), passage.tokens);
        }
    }

    #[test]
    fn stored_sketches_decode_only_with_their_scheme(a in prose()) {
        let all: Vec<Schemes> = engines().iter().map(Analyzer::schemes).collect();
        for analyzer in engines() {
            let sketches = sketch(&analyzer, &text(&a));
            let schemes = analyzer.schemes();
            let stored = [
                (sketches.simhash.map(Stored::Fingerprint), schemes.simhash),
                (sketches.minhash.map(Stored::Signature), schemes.minhash),
                (sketches.sdr.map(Stored::Sdr), schemes.sdr),
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
    fn sketches_any_decoded_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let decoded = decode(&bytes);
        prop_assert_eq!(decoded.replaced == 0, std::str::from_utf8(&bytes).is_ok());
        for analyzer in engines() {
            sketch(&analyzer, &text(&decoded.text));
        }
    }
}

/// Forces levels for the whole process. Other tests are not affected, because their results do not depend on the level.
#[test]
fn every_simd_level_computes_the_same_sketches() {
    let prose = "The council voted on Monday to close the old bridge — “for good”, it's said — until 3.14 p.m. \
                 Привет мир 日本語のテキスト ภาษาไทย café naïve_x __init__ ";
    // The texts begin at every position of the sample, and the longer ones span several chunks of the tokenizer.
    let texts: Vec<Content> =
        (0..130).map(|n| text(&prose.repeat(1 + n % 40).chars().skip(n).collect::<String>())).collect();
    for analyzer in engines() {
        let by_level: Vec<Vec<Sketches>> = ["scalar", "avx2", "avx512"]
            .iter()
            .filter(|level| simd::force(level).is_ok())
            .map(|_| texts.iter().map(|content| sketch(&analyzer, content)).collect())
            .collect();
        assert_eq!(by_level.len(), simd::Level::available().len());
        assert!(by_level.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

/// Each thread reuses one scratch for its texts, so state that leaks from one text to the next would make the result depend
/// on the number of threads.
#[test]
fn sketches_do_not_depend_on_the_number_of_threads() {
    let texts: Vec<Content> = (0..64)
        .map(|n| text(&format!("story number {n} about the old bridge ").repeat(n * 7 % 64)))
        .collect();
    for analyzer in engines() {
        let expected: Vec<Sketches> = texts.iter().map(|content| sketch(&analyzer, content)).collect();
        for threads in [1, 3, 8] {
            assert_eq!(sketch_in_parallel(&analyzer, &texts, threads), expected, "{threads} threads");
        }
    }
}

/// Sketches text `i` on thread `i % threads`, and returns the sketches in the order of the texts.
fn sketch_in_parallel(analyzer: &Analyzer, texts: &[Content], threads: usize) -> Vec<Sketches> {
    let worker = |first: usize| {
        let mut scratch = Scratch::default();
        let texts = texts.iter().skip(first).step_by(threads);
        texts.map(|content| analyzer.sketch(content, &mut scratch)).collect::<Vec<_>>()
    };
    let by_thread: Vec<Vec<Sketches>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || worker(first))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    (0..texts.len()).map(|i| by_thread[i % threads][i / threads].clone()).collect()
}
