//! Benchmark of clustering by fingerprints, one thread, CPU time, best of 3. `cargo run --release --bin clusters -- [N]`
//!
//! - `greedy` over N articles (SplitMix64) with dates as text. Three in ten are an earlier article with 1 to 3 bits flipped. The
//!   result for 3,000 articles is checked against comparing all pairs. N/16 and N/4 show the growth. Adversarial sets follow.
//! - `components` and `stars` over the codes and planted queries of the benchmark `hamming`. With N = 1 million and radius 3 these
//!   are 1,874,887 distinct codes and 312,912 clusters of two or more, the workload that was measured with simhash-cpp.

use sameish::cluster::{Article, Cluster, components, greedy, greedy_stars, stars};
use sameish::index::{DocNumber, HammingIndex};
use sameish::*;
use sameish_bench::{planted, splitmix, time};

fn main() {
    let n: usize = std::env::args().nth(1).map_or(1_000_000, |n| n.parse().unwrap());
    check(3_000);
    for count in [n / 16, n / 4, n] {
        articles(count);
    }
    hostile(n);
    whole_corpus(n);
}

/// Returns random codes; three in ten are an earlier code with 1 to 3 bits flipped.
fn codes(n: usize) -> Vec<u64> {
    let fresh = splitmix(1, n);
    let choice = splitmix(2, n);
    let bits = splitmix(3, n);
    let mut codes: Vec<u64> = Vec::with_capacity(n);
    for i in 0..n {
        let copy = i > 0 && choice[i] % 10 < 3;
        let base = if copy { codes[(choice[i] >> 8) as usize % i] } else { fresh[i] };
        let flips = if copy { 1 + bits[i] % 3 } else { 0 };
        codes.push((0..flips).fold(base, |code, k| code ^ 1 << (bits[i] >> (8 + 6 * k) & 63)));
    }
    codes
}

/// Creates an article with id and date for each code.
fn make(codes: &[u64]) -> Vec<Article> {
    let article = |(i, &code): (usize, &u64)| {
        let seconds = i.wrapping_mul(7919) % 86_400;
        let date = format!(
            "2024-01-{:02}T{:02}:{:02}:{:02}Z",
            1 + i.wrapping_mul(31) % 28,
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        );
        let fingerprint = Fingerprint::from_u64(code);
        Article { id: DocId::Number(i as u64), fingerprint, published_at: date }
    };
    codes.iter().enumerate().map(article).collect()
}

/// Checks `greedy` against comparing all pairs.
fn check(n: usize) {
    let articles = make(&codes(n));
    let mut unassigned: Vec<&Article> = articles.iter().collect();
    unassigned.sort_by_key(|article| std::cmp::Reverse(Timestamp::parse(&article.published_at).unwrap()));
    let mut expected: Vec<Vec<DocId>> = Vec::new();
    while let Some(&center) = unassigned.first() {
        let near = |a: &&Article| a.fingerprint.distance(center.fingerprint) <= 3;
        let (members, rest): (Vec<&Article>, Vec<&Article>) = unassigned.into_iter().partition(near);
        expected.push(members.into_iter().map(|article| article.id.clone()).collect());
        unassigned = rest;
    }
    let found: Vec<Vec<DocId>> =
        greedy(&articles, 3).unwrap().into_iter().map(|group| group.members).collect();
    assert_eq!(found, expected);
    println!("# greedy equals comparing all pairs on {n} articles, {} groups", found.len());
}

/// Measures greedy clustering.
fn articles(n: usize) {
    let articles = make(&codes(n));
    let mut groups = 0;
    let timing = time(3, || groups = greedy(&articles, 3).unwrap().len());
    line(&format!("greedy, {n} articles"), timing.best, n, &format!("{groups} groups"));
    let codes: Vec<Fingerprint> = articles.iter().map(|article| article.fingerprint).collect();
    let timing = time(3, || groups = greedy_stars(&codes, 3).unwrap().len());
    line(&format!("greedy_stars, {n} in order"), timing.best, n, &format!("{groups} groups"));
}

/// Measures adversarial sets, in which many codes are close to many others.
fn hostile(n: usize) {
    let random = splitmix(7, n);
    let flip =
        |code: u64, bits: u64| code ^ 1 << (bits & 63) ^ 1 << (bits >> 6 & 63) ^ 1 << (bits >> 12 & 63);
    for (name, codes) in [
        ("all equal", vec![7; n]),
        ("all within 3 bits of one", random.iter().map(|&bits| flip(0, bits)).collect()),
        ("all within 6 bits of one", random.iter().map(|&bits| flip(flip(0, bits), bits >> 20)).collect()),
        ("consecutive", (0..n as u64).collect::<Vec<u64>>()),
    ] {
        let codes: Vec<Fingerprint> = codes.into_iter().map(Fingerprint::from_u64).collect();
        let mut groups = 0;
        let timing = time(1, || groups = greedy_stars(&codes, 3).unwrap().len());
        line(&format!("greedy_stars, {name}"), timing.best, n, &format!("{groups} groups"));
    }
}

/// Measures clustering of all codes at once.
fn whole_corpus(n: usize) {
    let mut codes: Vec<u64> = splitmix(1, n);
    codes.extend(planted(&codes, 1_000_000));
    codes.sort_unstable();
    codes.dedup();
    let codes: Vec<Fingerprint> = codes.into_iter().map(Fingerprint::from_u64).collect();
    let order: Vec<DocNumber> = (0..codes.len() as u32).map(DocNumber).collect();
    let build = || {
        let mut index = HammingIndex::with_capacity(3, codes.len()).unwrap();
        index.insert_all(&codes.iter().copied().zip(order.iter().copied()).collect::<Vec<_>>());
        index
    };
    let mut several = 0;
    let count = |clusters: &[Cluster]| clusters.iter().filter(|cluster| cluster.members.len() > 1).count();
    let timing = time(3, || drop(std::hint::black_box(build())));
    line("index alone", timing.best, codes.len(), &format!("{} codes", codes.len()));
    let timing = time(3, || {
        let index = build();
        let mut pairs = Vec::new();
        index.pairs(|pair| pairs.push((pair.a, pair.b)));
        several = count(&components(&order, pairs));
    });
    line(
        "components, codes to clusters",
        timing.best,
        codes.len(),
        &format!("{several} clusters of two or more"),
    );
    let timing = time(3, || {
        let index = build();
        let mut hits = Vec::new();
        let near = |doc: DocNumber| {
            index.find_all(codes[doc.0 as usize], &mut hits);
            hits.iter().map(|hit| hit.doc).collect()
        };
        several = count(&stars(&order, near).clusters);
    });
    line("stars, codes to clusters", timing.best, codes.len(), &format!("{several} clusters of two or more"));
    let timing = time(3, || drop(std::hint::black_box(greedy_stars(&codes, 3).unwrap())));
    line("greedy_stars, codes to clusters", timing.best, codes.len(), "");
}

fn line(name: &str, seconds: f64, count: usize, note: &str) {
    println!("{name:<44} {seconds:>8.3} s  {:>9.1} ns each  {note}", seconds / count as f64 * 1e9);
}
