//! Golden vectors, which every version must reproduce exactly: see `testdata/golden/README.md`.
use sameish::cluster::{Article, ArticleGroup, greedy};
use sameish::config::{Bands, SdrConfig, Shingle, TokenHash, Tokenizer};
use sameish::features::{FeatureSet, fnv1a64, hash_token};
use sameish::matching::MatchType;
use sameish::sketch::SdrEncoder;
use sameish::*;
use serde_json::Value;

fn golden(name: &str) -> Value {
    let path = format!("{}/../../testdata/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn cases<'a>(file: &'a Value, key: &str) -> &'a [Value] {
    let cases = file[key].as_array().unwrap();
    assert!(!cases.is_empty());
    cases
}

fn text(value: &Value) -> Content {
    Content::Text(value.as_str().unwrap().to_owned())
}

fn number(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

fn simhash(preset: Preset, content: &Content) -> Fingerprint {
    let analyzer = Analyzer::new(preset.config()).unwrap();
    analyzer.sketch(content, &mut Scratch::default()).simhash.unwrap()
}

#[test]
fn fnv1a64_equals_the_vectors() {
    for case in cases(&golden("wire_simhash"), "fnv1a64") {
        let hash = fnv1a64(case["in"].as_str().unwrap().as_bytes());
        assert_eq!(hash, number(&case["out"]), "{case}");
        assert_eq!(format!("{hash:016x}"), case["hex"], "{case}");
    }
}

#[test]
fn simhash_of_wire_equals_the_vectors() {
    for case in cases(&golden("wire_simhash"), "simhash") {
        assert_eq!(simhash(Preset::Wire, &text(&case["in"])).to_hex(), case["out"], "{case}");
    }
}

#[test]
fn distances_and_match_types_equal_the_vectors() {
    let file = golden("wire_simhash");
    for case in cases(&file, "hamming") {
        let [a, b] = ["a", "b"].map(|key| Fingerprint::from_hex(case[key].as_str().unwrap()).unwrap());
        assert_eq!(u64::from(a.distance(b)), case["out"].as_u64().unwrap(), "{case}");
    }
    for case in cases(&file, "match_type") {
        // The vectors include a fraction, which is not a distance here.
        let Some(distance) = case["in"].as_u64() else { continue };
        assert_eq!(MatchType::of_distance(distance as u32).to_string(), case["out"], "{case}");
    }
}

#[test]
fn greedy_clusters_of_wire_equal_the_vectors() {
    for case in cases(&golden("wire_simhash"), "groups") {
        let field = |article: &Value, key: &str| article[key].as_str().unwrap().to_owned();
        let articles: Vec<Article> = array(&case["articles"])
            .iter()
            .map(|article| Article {
                id: DocId::Text(field(article, "id")),
                fingerprint: Fingerprint::from_hex(&field(article, "simHash")).unwrap(),
                published_at: field(article, "publishedAt"),
            })
            .collect();
        let radius = case["threshold"].as_u64().unwrap_or(3) as u32;
        let expected: Vec<ArticleGroup> = array(&case["out"])
            .iter()
            .map(|group| ArticleGroup {
                id: field(group, "id"),
                center: DocId::Text(field(group, "centerArticleId")),
                members: serde_json::from_value(group["memberIds"].clone()).unwrap(),
                average_distance: group["averageDistance"].as_f64().unwrap(),
            })
            .collect();
        assert_eq!(greedy(&articles, radius).unwrap(), expected, "{}", case["name"]);
    }
}

#[test]
fn simhash_of_articles_equals_the_vectors() {
    for case in cases(&golden("articles"), "simhash") {
        let print = simhash(Preset::Articles, &text(&case["in"]));
        assert_eq!(print.as_u64(), number(&case["u64"]), "{case}");
        let stored: String = print.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(stored, case["hex_le"], "{case}");
    }
}

/// The vectors are defined on the words of `ascii-words`, as those of the original service. The preset uses all words.
#[test]
fn shingles_of_ascii_words_equal_the_vectors() {
    for case in cases(&golden("articles"), "shingle") {
        for (n, key) in [(1, "s1"), (2, "s2"), (3, "s3")] {
            let mut config = Preset::Articles.config();
            config.text.tokenizer = Tokenizer::AsciiWords;
            config.minhash.as_mut().unwrap().shingle = Shingle::Words(n);
            let analyzer = Analyzer::new(config).unwrap();
            let features = |content: &Content| analyzer.shingles(content, &mut Scratch::default());
            let feature = |shingle: &Value| match features(&text(shingle)).as_slice() {
                &[feature] => feature,
                other => panic!("shingle {shingle} has {} features", other.len()),
            };
            let expected = array(&case[key]).iter().map(feature).collect();
            assert_eq!(features(&text(&case["in"])), FeatureSet::from_hashes(expected), "{key} of {case}");
        }
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

#[test]
fn jaccard_and_distance_of_pairs_equal_the_vectors() {
    let analyzer = Analyzer::new(Preset::Articles.config()).unwrap();
    for case in cases(&golden("articles"), "pairs") {
        let comparison = analyzer.compare(&text(&case["a"]), &text(&case["b"]), 3);
        assert_eq!(comparison.similarity, case["jaccard_exact"].as_f64().unwrap(), "{case}");
        assert_eq!(u64::from(comparison.simhash_distance), case["hamming"].as_u64().unwrap(), "{case}");
    }
}

#[test]
fn sparse_codes_equal_the_vectors() {
    for case in cases(&golden("sdr_encoder"), "cases") {
        let config = sdr_config(&case["params"]).unwrap();
        assert_eq!(u64::from(config.bits().unwrap()), case["activeBits"].as_u64().unwrap(), "{case}");
        let encoder = SdrEncoder::new(config).unwrap();
        let code = match &case["in"] {
            Value::String(text) => encoder.encode(text),
            tokens => {
                encoder.encode_tokens(tokens.as_array().unwrap().iter().map(|token| token.as_str().unwrap()))
            }
        };
        let expected: Vec<u32> =
            case["out"].as_array().unwrap().iter().map(|bit| bit.as_u64().unwrap() as u32).collect();
        assert_eq!(code.active(), expected, "{} of {}", case["params"], case["in"]);
    }
}

#[test]
fn rejects_invalid_parameters_of_sparse_codes() {
    for case in cases(&golden("sdr_encoder"), "validation") {
        let encoder = sdr_config(&case["params"]).and_then(|config| SdrEncoder::new(config).ok());
        assert_eq!(encoder.is_none(), case["must_fail"].as_bool().unwrap(), "{case}");
    }
}

/// Converts parameters to our names. Returns `None` if our types cannot represent a value.
fn sdr_config(params: &Value) -> Option<SdrConfig> {
    let names = [
        ("size", "size"),
        ("activeBits", "active_bits"),
        ("sparsity", "sparsity"),
        ("caseSensitivity", "case_sensitivity"),
        ("tokenSimilarity", "token_similarity"),
        ("vocabulary", "vocabulary"),
        ("encodeOrphans", "encode_orphans"),
        ("excludes", "excludes"),
        ("frequencyFloor", "frequency_floor"),
        ("frequencyCeiling", "frequency_ceiling"),
    ];
    let params = params.as_object().unwrap();
    let renamed = params.iter().map(|(key, value)| {
        let (_, name) = names.iter().find(|(original, _)| original == key).unwrap();
        ((*name).to_owned(), value.clone())
    });
    serde_json::from_value(Value::Object(renamed.collect())).ok()
}

/// A text with various scripts and punctuation, long enough for every preset.
const SAMPLE: &str = "The council voted on Monday — 3.14 p.m., it's said — to close the “old river bridge” for repairs \
    until spring. Engineers had found cracks in two of its seven stone arches after the floods in March, and heavy lorries \
    have been turned away since then. Café naïve_x ﬁnance 日本語のテキスト ภาษาไทย Привет мир. Repairs will cost 4.2 million \
    euros, of which the state pays half; the bridge carries about 11,000 cars a day.";

/// Users have stored sketches with these schemes. If one of them changes, new sketches are not comparable with the stored
/// ones: read CONTRIBUTING.md before you change an expected value.
#[test]
fn sketches_and_schemes_of_every_preset_are_stable() {
    let digest = |bytes: &[u8]| format!("{:016x}", hash_token(TokenHash::Xxh3, bytes));
    let mut found = String::new();
    for preset in Preset::ALL {
        let analyzer = Analyzer::new(preset.config()).unwrap();
        let sketches = analyzer.sketch(&Content::Text(SAMPLE.into()), &mut Scratch::default());
        let schemes = analyzer.schemes();
        if let (Some(print), Some(scheme)) = (sketches.simhash, schemes.simhash) {
            found += &format!("{preset} simhash {print} scheme {scheme}\n");
        }
        if let (Some(signature), Some(scheme)) = (sketches.minhash, schemes.minhash) {
            found += &format!("{preset} minhash {} scheme {scheme}\n", digest(&signature.to_bytes()));
        }
        if let (Some(code), Some(scheme)) = (sketches.sdr, schemes.sdr) {
            let bits: Vec<u8> = code.active().iter().flat_map(|bit| bit.to_le_bytes()).collect();
            found += &format!("{preset} sdr {} scheme {scheme}\n", digest(&bits));
        }
    }
    assert_eq!(found, EXPECTED, "\n{found}");
}

const EXPECTED: &str = "\
wire simhash 06b0491d7550d11c scheme 0d982ce50c7ffa90
articles simhash 06b0491d7550d11c scheme 0d982ce50c7ffa90
articles minhash 7fc7fdf3c1dd50ea scheme fec3709dcc0bc853
sdr sdr b1bb1bcbb9a57599 scheme d75066891285e5f9
headlines minhash a51e02375c2e48be scheme dbc2227869102341
web simhash ef13677d4775df64 scheme 89fa7f7c160e8cdc
copies minhash 7fc7fdf3c1dd50ea scheme fec3709dcc0bc853
";

/// Collections that were created before preset `articles` used all words have these settings and sketches.
#[test]
fn articles_by_ascii_words_keep_their_sketches_and_schemes() {
    let mut config = Preset::Articles.config();
    config.text.tokenizer = Tokenizer::AsciiWords;
    config.simhash.as_mut().unwrap().tokenizer = None;
    let analyzer = Analyzer::new(config).unwrap();
    let sketches = analyzer.sketch(&Content::Text(SAMPLE.into()), &mut Scratch::default());
    let signature = format!("{:016x}", hash_token(TokenHash::Xxh3, &sketches.minhash.unwrap().to_bytes()));
    assert_eq!(sketches.simhash.unwrap().to_string(), "06b0491d7550d11c");
    assert_eq!(signature, "dd7f2767ef4e2eda");
    assert_eq!(analyzer.schemes().simhash.unwrap().to_string(), "0d982ce50c7ffa90");
    assert_eq!(analyzer.schemes().minhash.unwrap().to_string(), "6ab466f38d4feed2");
}

#[test]
fn band_probabilities_equal_the_vectors() {
    for (file, key, bands) in [
        ("headlines", "detection_probability", Bands { count: 20, rows: 5 }),
        ("articles", "collision_probability", Bands { count: 16, rows: 8 }),
    ] {
        for case in cases(&golden(file), key) {
            let value = |i: usize, name: &str| {
                case.get(i).or_else(|| case.get(name)).and_then(Value::as_f64).unwrap()
            };
            let probability = bands.probability(value(0, "s"));
            assert!((probability - value(1, "out")).abs() < 1e-12, "{case}");
        }
    }
}
