//! Small versions of the corpora of `bench/hostile/corpora.py`.

use sameish::features::fnv1a64;
use sameish::{Analyzer, Preset, Scratch};

pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % limit as u64) as usize
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        for _ in 0..3 {
            word.push_str(["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v"][self.below(13)]);
            word.push_str(["a", "e", "i", "o", "u", "ar", "en", "il"][self.below(8)]);
        }
        word
    }

    fn words(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.word()).collect()
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let other = self.below(i + 1);
            items.swap(i, other);
        }
    }
}

/// Name and preset of each corpus.
pub(super) const KINDS: [(&str, Preset); 12] = [
    ("boilerplate", Preset::Copies),
    ("scattered", Preset::Copies),
    ("one-word", Preset::Copies),
    ("hub", Preset::Copies),
    ("forged", Preset::Copies),
    ("headlines", Preset::Headlines),
    ("prints", Preset::Articles),
    ("expanding", Preset::Copies),
    ("letters", Preset::Copies),
    ("mixed", Preset::Copies),
    ("signs", Preset::Copies),
    ("equal-prints", Preset::Articles),
];

pub(super) fn texts(kind: &str, documents: usize) -> Vec<String> {
    let mut random = Random::new(7 + documents as u64);
    let texts = match kind {
        "boilerplate" => boilerplate(&mut random, documents),
        "scattered" => scattered(&mut random, documents),
        "one-word" => changed(&mut random, documents, 1),
        "hub" => {
            let mut texts = changed(&mut random, documents, 3);
            texts[documents / 2] = (0..100).map(|at| format!("word{at}")).collect();
            texts
        }
        "hub-long" => hub_long(&mut random, documents),
        "forged" => forged(&mut random, documents),
        "headlines" => headlines(&mut random, documents),
        "prints" => prints(&mut random, documents),
        "expanding" => expanding(&mut random, documents),
        "letters" => letters(&mut random, documents),
        "mixed" => mixed(&mut random, documents),
        "signs" => signs(&mut random, documents),
        "equal-prints" => equal_prints(&mut random, documents),
        _ => unreachable!("{kind}"),
    };
    texts.into_iter().map(|words| words.join(" ")).collect()
}

/// 90 % of each text is shared, 10 % are own names, words and numbers; each tenth text is a copy of an earlier one with another
/// word in the shared part.
fn boilerplate(random: &mut Random, documents: usize) -> Vec<Vec<String>> {
    let shared = random.words(270);
    let mut texts: Vec<Vec<String>> = Vec::new();
    for number in 0..documents {
        if number % 10 == 9 {
            let mut copy = texts[random.below(number)].clone();
            copy[random.below(100)] = random.word();
            texts.push(copy);
            continue;
        }
        let own = (0..30).map(|at| match at % 9 {
            0 => format!("{}", random.below(100_000)),
            1..4 => random.word().to_uppercase(),
            _ => random.word(),
        });
        let own: Vec<String> = own.collect();
        texts.push(shared[..120].iter().chain(&own).chain(&shared[120..]).cloned().collect());
    }
    texts
}

/// Pages like those of `boilerplate`; each tenth is a copy of the one before with the opposite signs, so that all its words are equal.
fn signs(random: &mut Random, documents: usize) -> Vec<Vec<String>> {
    let texts = boilerplate(random, documents);
    let mut signed: Vec<Vec<String>> = Vec::new();
    for (number, text) in texts.into_iter().enumerate() {
        let is_number = |word: &String| word.parse::<u32>().is_ok();
        let sign = |word: &String| if is_number(word) { format!("-{word}") } else { word.clone() };
        match signed.last().filter(|_| number % 10 == 5) {
            Some(before) => signed.push(before.iter().map(|word| word.replace('-', "")).collect()),
            None => signed.push(text.iter().map(sign).collect()),
        }
    }
    signed
}

/// Pages of which a part is shared, so that the similarities of two of them are at and above the threshold.
pub(super) fn pages(random: &mut Random, documents: usize, threshold: f64) -> Vec<String> {
    let shared = random.words(200);
    // With n own words each, the similarity is 198 / (198 + 2 (n + 2)).
    let most = 99.0 * (1.0 - threshold) / threshold - 2.0;
    let page = |_| {
        let own = most as usize - random.below(most as usize / 8);
        [&shared[..80], &random.words(own), &shared[80..]].concat().join(" ")
    };
    (0..documents).map(page).collect()
}

/// Twelve of 300 words are own, in fixed places: the Jaccard similarity is 0.78.
fn scattered(random: &mut Random, documents: usize) -> Vec<Vec<String>> {
    let shared = random.words(300);
    let own = |_| {
        let mut text = shared.clone();
        (10..300).step_by(25).for_each(|at| text[at] = random.word());
        text
    };
    (0..documents).map(own).collect()
}

/// Copies of 100 words, each with some changed ones.
fn changed(random: &mut Random, documents: usize, changes: usize) -> Vec<Vec<String>> {
    let own = |_| {
        let mut text: Vec<String> = (0..100).map(|at| format!("word{at}")).collect();
        (0..changes).for_each(|_| text[random.below(100)] = random.word());
        text
    };
    (0..documents).map(own).collect()
}

/// Copies of 2,000 words without ten parts of 40 words: they are similar to the whole text, but not to each other, and differ from
/// it in more than a quarter of their shingles. Each fifth is a copy of the one before with a changed word.
fn hub_long(random: &mut Random, documents: usize) -> Vec<Vec<String>> {
    let center = random.words(2_000);
    let mut texts: Vec<Vec<String>> = Vec::new();
    for number in 0..documents {
        let copied = texts.last().filter(|_| number % 5 == 4).cloned();
        let text = match copied {
            Some(mut text) => {
                text[random.below(1_000)] = random.word();
                text
            }
            None => {
                let mut text = center.clone();
                for _ in 0..10 {
                    let from = random.below(text.len() - 40);
                    text.drain(from..from + 40);
                }
                text
            }
        };
        texts.push(text);
    }
    texts
}

/// Texts with nearly equal signatures and a similarity of 0.2; each twentieth is a copy of an earlier one with one changed word.
fn forged(random: &mut Random, documents: usize) -> Vec<Vec<String>> {
    let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
    let mut scratch = Scratch::default();
    let mut best = vec![(u32::MAX, Vec::new()); 128];
    for _ in 0..6_000 {
        let shingle = random.words(3);
        let signature = analyzer.sketch(&*shingle.join(" "), &mut scratch).minhash.unwrap();
        for (best, &row) in best.iter_mut().zip(signature.rows()) {
            if row < best.0 {
                *best = (row, shingle.clone());
            }
        }
    }
    let mut winners: Vec<Vec<String>> = best.into_iter().map(|(_, shingle)| shingle).collect();
    winners.sort();
    winners.dedup();
    let mut texts: Vec<Vec<String>> = Vec::new();
    for number in 0..documents {
        if number % 20 == 19 {
            let mut copy = texts[random.below(number)].clone();
            copy[random.below(5)] = "copied".to_owned();
            texts.push(copy);
            continue;
        }
        random.shuffle(&mut winners);
        texts.push(random.words(5).into_iter().chain(winners.concat()).collect());
    }
    texts
}

fn headlines(random: &mut Random, documents: usize) -> Vec<Vec<String>> {
    let shared = random.words(7);
    (0..documents).map(|_| [random.words(2), shared.clone(), random.words(2)].concat()).collect()
}

/// Returns 60 words whose fingerprint has large sums in the first `goal` bits and small ones in the others.
fn words_of_fingerprint(random: &mut Random, goal: usize) -> Vec<String> {
    let votes =
        |word: &str| (0..64).map(|bit| (fnv1a64(word.as_bytes()) >> bit & 1) as i64 * 2 - 1).collect();
    let pool: Vec<(String, Vec<i64>)> =
        random.words(2_000).into_iter().map(|word| (word.clone(), votes(&word))).collect();
    let mut sums = vec![0i64; 64];
    let mut shared = Vec::new();
    for _ in 0..60 {
        let gain = |votes: &[i64]| -> i64 {
            let bits = votes.iter().zip(&sums).enumerate();
            let gain = |(bit, (vote, sum)): (usize, (&i64, &i64))| {
                let wanted = 1 - bit as i64 % 2 * 2;
                match bit < goal {
                    // If all sums are to be large, the smallest counts most.
                    true if goal == 64 => (32 >> (wanted * sum / 2).clamp(0, 5)) * vote * wanted,
                    true => 10 * vote * wanted,
                    false => -3 * sum * vote,
                }
            };
            bits.map(gain).sum()
        };
        let start = random.below(1_600);
        let (word, votes) = pool[start..start + 400].iter().max_by_key(|(_, votes)| gain(votes)).unwrap();
        shared.push(word.clone());
        sums.iter_mut().zip(votes).for_each(|(sum, vote)| *sum += vote);
    }
    shared
}

/// Texts of 90 words in random order whose fingerprints agree in 48 bits and differ in the others.
fn prints(random: &mut Random, documents: usize) -> Vec<Vec<String>> {
    let shared = words_of_fingerprint(random, 48);
    let own = |_| {
        let mut text = [shared.clone(), random.words(30)].concat();
        random.shuffle(&mut text);
        text
    };
    (0..documents).map(own).collect()
}

/// Texts of 66 words in random order, most of which have equal fingerprints; each twentieth is a copy with one changed word.
fn equal_prints(random: &mut Random, documents: usize) -> Vec<Vec<String>> {
    let shared = words_of_fingerprint(random, 64);
    let mut texts: Vec<Vec<String>> = Vec::new();
    for number in 0..documents {
        if number % 20 == 19 {
            let mut copy = texts[random.below(number)].clone();
            let at = random.below(copy.len());
            copy[at] = "copied".to_owned();
            texts.push(copy);
            continue;
        }
        let mut text = [shared.clone(), random.words(6)].concat();
        random.shuffle(&mut text);
        texts.push(text);
    }
    texts
}

/// Texts of characters that expand to many under compatibility folding.
fn expanding(random: &mut Random, documents: usize) -> Vec<Vec<String>> {
    let characters = ["\u{fdfa}", "\u{fdfb}", "\u{fdf2}", "\u{3300}", "\u{3316}", "\u{332b}", "\u{3356}"];
    let word = |random: &mut Random| (0..5).map(|_| characters[random.below(7)]).collect::<String>();
    (0..documents).map(|_| (0..50).map(|_| word(random)).collect()).collect()
}

/// Texts of four different words of one letter.
fn letters(random: &mut Random, documents: usize) -> Vec<Vec<String>> {
    let lengths: Vec<usize> = (0..documents).map(|_| 20 + random.below(60) * random.below(10)).collect();
    let text =
        |&length: &usize| (0..length).map(|_| ["a", "b", "c", "d"][random.below(4)].to_owned()).collect();
    lengths.iter().map(text).collect()
}

/// Several sets of templates of different sizes and similarities, in random order.
fn mixed(random: &mut Random, documents: usize) -> Vec<Vec<String>> {
    let families: Vec<Vec<String>> = (0..4).map(|family| random.words(40 + 40 * family)).collect();
    let own = |_| {
        let mut text = families[random.below(4)].clone();
        for _ in 0..random.below(5) {
            let at = random.below(text.len());
            text[at] = match random.below(3) {
                0 => format!("{}", random.below(500)),
                1 => text[at].to_uppercase(),
                _ => random.word(),
            };
        }
        if random.below(3) == 0 {
            let words = random.below(20);
            text.extend(random.words(words));
        }
        // No two texts are equal but for their case: facts depend on it, and are those of the first of such texts.
        text.push(random.word());
        text
    };
    (0..documents).map(own).collect()
}
