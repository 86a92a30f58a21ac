//! Benchmark of sketching text, one thread. `cargo run --release --bin sketch -- FILE.jsonl [DOCUMENTS]`

use sameish::config::{SdrConfig, Shingle, TokenHash, Tokenizer};
use sameish::features::FeatureSet;
use sameish::sketch::{MinHasher, SdrEncoder};
use sameish::*;
use sameish_bench::{read_texts, report, time};
use std::hint::black_box;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap_or_else(|| panic!("usage: sketch FILE.jsonl [DOCUMENTS]"));
    let limit = args.next().map_or(4000, |n| n.parse().unwrap());
    let texts = read_texts(&path, limit);
    let bytes: usize = texts.iter().map(String::len).sum();
    let contents: Vec<Content> = texts.iter().cloned().map(Content::Text).collect();
    println!(
        "# {} documents, {:.1} MB of text, {:?}",
        texts.len(),
        bytes as f64 / 1e6,
        simd::Level::current()
    );

    for &level in simd::Level::available() {
        let name = format!("{level:?}").to_lowercase();
        simd::force(&name).unwrap();
        println!("## {name}");
        sketch("MinHash-128, words:3 (copies)", Preset::Copies.config(), &contents, bytes);
        let mut words = Preset::Wire.config();
        words.text.tokenizer = Tokenizer::Unicode;
        words.simhash.as_mut().unwrap().hash = TokenHash::Xxh3;
        sketch("SimHash of words, unicode, xxh3", words.clone(), &contents, bytes);
        words.simhash.as_mut().unwrap().shingle = Shingle::Words(3);
        sketch("SimHash of words:3, unicode, xxh3", words, &contents, bytes);
        sketch("SimHash of words, ascii-words, fnv1a (wire)", Preset::Wire.config(), &contents, bytes);
        sketch("SimHash + MinHash-128 (articles)", Preset::Articles.config(), &contents, bytes);
        sketch("SimHash of windows:3 (web)", Preset::Web.config(), &contents, bytes);
        sketch("MinHash-100, chars:3 (headlines)", Preset::Headlines.config(), &contents, bytes);
        kernel();
    }
    error(&contents);
    growth(&texts);
    sparse(&texts);
    passages(&texts);
}

fn sketch(name: &str, config: Config, contents: &[Content], bytes: usize) {
    let analyzer = Analyzer::new(config).unwrap();
    let mut scratch = Scratch::default();
    let timing = time(5, || {
        for content in contents {
            black_box(analyzer.sketch(content, &mut scratch));
        }
    });
    report(name, bytes, timing, "");
}

/// Measures MinHash on precomputed hashes, 512 per set.
fn kernel() {
    let mut state = 1u64;
    let mut hashes: Vec<u64> = Vec::new();
    for _ in 0..1 << 20 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        hashes.push(state ^ state >> 29);
    }
    for rows in [128, 256] {
        let hasher = MinHasher::new(rows).unwrap();
        let timing = time(7, || {
            for set in hashes.chunks(512) {
                black_box(hasher.sketch(set));
            }
        });
        let rate = hashes.len() as f64 / timing.best / 1e6;
        println!("{:<58} {rate:>8.1} M features/s", format!("MinHash-{rows} from precomputed hashes"));
    }
}

/// Prints the error of the MinHash estimate for pairs with an exact similarity of at least 0.5.
fn error(contents: &[Content]) {
    let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
    let mut scratch = Scratch::default();
    let features: Vec<FeatureSet> = contents.iter().map(|c| analyzer.shingles(c, &mut scratch)).collect();
    let signatures: Vec<_> = contents.iter().map(|c| analyzer.sketch(c, &mut scratch).minhash).collect();
    let mut documents_by_feature = std::collections::HashMap::<u64, Vec<usize>>::new();
    for (i, set) in features.iter().enumerate() {
        // Near-duplicates share one of the first features, so there is no need to compare all pairs.
        for &feature in set.as_slice().iter().take(8) {
            documents_by_feature.entry(feature).or_default().push(i);
        }
    }
    let mut pairs: Vec<(usize, usize)> = documents_by_feature
        .values()
        .flat_map(|ids| {
            ids.iter().flat_map(move |&a| ids.iter().filter(move |&&b| a < b).map(move |&b| (a, b)))
        })
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut squares = 0.0;
    let mut ideal = 0.0;
    let mut bias = 0.0;
    let mut count = 0.0;
    for (a, b) in pairs {
        let exact = features[a].jaccard(&features[b]);
        let (Some(x), Some(y)) = (&signatures[a], &signatures[b]) else { continue };
        if exact < 0.5 {
            continue;
        }
        let error = x.estimate(y).unwrap() - exact;
        squares += error * error;
        bias += error;
        ideal += exact * (1.0 - exact) / 128.0;
        count += 1.0;
    }
    let root = |sum: f64| (sum / count).sqrt();
    println!(
        "## error of MinHash-128 on {count} pairs with exact Jaccard >= 0.5: bias {:+.4}, rmse {:.4} (ideal {:.4})",
        bias / count,
        root(squares),
        root(ideal)
    );
}

/// Measures one document of 1, 4, 16 and 64 MiB, and one with two million different words.
fn growth(texts: &[String]) {
    println!("## growth with document length, MinHash-128 of words:3");
    let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
    let mut scratch = Scratch::default();
    let all = texts.join("\n");
    for megabytes in [1usize, 4, 16, 64] {
        let size = megabytes << 20;
        let mut text = all.repeat(size.div_ceil(all.len()));
        text.truncate(text.floor_char_boundary(size));
        let content = Content::Text(text);
        let timing = time(3, || {
            black_box(analyzer.sketch(&content, &mut scratch));
        });
        report(&format!("one document of {megabytes} MiB"), size, timing, "");
    }
    let distinct: String = (0..2_000_000u32).map(|i| format!("{:x} ", i.wrapping_mul(2654435761))).collect();
    let bytes = distinct.len();
    let content = Content::Text(distinct);
    let timing = time(3, || {
        black_box(analyzer.sketch(&content, &mut scratch));
    });
    report("2 million different words", bytes, timing, "");
}

/// Measures the sparse code of 500 tokens, size 2,048 bits.
fn sparse(texts: &[String]) {
    let words: Vec<&str> = texts.iter().flat_map(|text| text.split_whitespace()).take(500).collect();
    for similarity in [false, true] {
        let config = SdrConfig { token_similarity: similarity, ..Preset::Sdr.config().sdr.unwrap() };
        let encoder = SdrEncoder::new(config).unwrap();
        let timing = time(20, || {
            black_box(encoder.encode_tokens(&words));
        });
        println!("## SDR of 500 tokens, size 2048 bits, letters {similarity}: {:.2} ms", timing.best * 1e3);
    }
}

/// Measures the comparison of two texts of about 1 MB: an edited copy, and one repeated word.
fn passages(texts: &[String]) {
    let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
    let words: Vec<&str> = texts.iter().flat_map(|text| text.split_whitespace()).take(170_000).collect();
    let edited = words.iter().enumerate().map(|(i, &word)| if i % 100 == 99 { "edited" } else { word });
    let edited = edited.collect::<Vec<_>>().join(" ");
    let repeated = "word ".repeat(200_000);
    for (name, a, b) in
        [("an edited copy", words.join(" "), edited), ("one repeated word", repeated.clone(), repeated)]
    {
        let bytes = a.len();
        let [a, b] = [a, b].map(Content::Text);
        let mut passage_count = 0;
        let timing = time(3, || passage_count = black_box(analyzer.compare(&a, &b, 5)).passages.len());
        let seconds = timing.best;
        println!(
            "## compare, two texts of {:.1} MB, {name}: {seconds:.3} s, {passage_count} passages",
            bytes as f64 / 1e6
        );
    }
}
