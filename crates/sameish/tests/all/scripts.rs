//! Near-duplicates in scripts without spaces have about the same similarity as in English.
use crate::random::SplitMix64;
use sameish::*;

/// Returns a number from 0 to `n - 1` with Zipf-like probabilities, like the frequencies of words.
fn zipf(random: &mut SplitMix64, n: usize) -> usize {
    let unit = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
    ((n as f64).powf(unit) - 1.0) as usize
}

/// A synthetic language: the characters of its words and the separator between words.
struct Language {
    name: &'static str,
    letters: Vec<char>,
    marks: Vec<char>,
    letters_per_word: (usize, usize),
    separator: &'static str,
}

fn languages() -> Vec<Language> {
    let range = |first: char, last: char| (first..=last).collect::<Vec<_>>();
    let language = |name, letters, marks, letters_per_word, separator| Language {
        name,
        letters,
        marks,
        letters_per_word,
        separator,
    };
    vec![
        language("English", range('a', 'z'), vec![], (3, 8), " "),
        language("Chinese", range('一', '亿'), vec![], (1, 2), ""),
        language(
            "Japanese",
            [range('一', '亂'), range('ぁ', 'ん'), range('ア', 'ン')].concat(),
            vec![],
            (1, 3),
            "",
        ),
        language("Thai", range('ก', 'ฮ'), range('\u{E34}', '\u{E39}'), (2, 4), ""),
        language(
            "Lao",
            range('ກ', 'ຂ').into_iter().chain(range('ດ', 'ຢ')).collect(),
            range('\u{EB4}', '\u{EB9}'),
            (2, 4),
            "",
        ),
        language("Khmer", range('ក', 'អ'), range('\u{17B6}', '\u{17C5}'), (2, 4), ""),
        language("Burmese", range('က', 'အ'), range('\u{102B}', '\u{1032}'), (2, 4), ""),
    ]
}

impl Language {
    fn vocabulary(&self, random: &mut SplitMix64) -> Vec<String> {
        (0..4000).map(|_| self.word(random)).collect()
    }

    fn word(&self, random: &mut SplitMix64) -> String {
        let (min, max) = self.letters_per_word;
        let mut word = String::new();
        for _ in 0..min + random.below(max - min + 1) {
            word.push(self.letters[random.below(self.letters.len())]);
            if !self.marks.is_empty() && random.below(2) == 0 {
                word.push(self.marks[random.below(self.marks.len())]);
            }
        }
        word
    }
}

fn article(vocabulary: &[String], random: &mut SplitMix64) -> Vec<String> {
    (0..300).map(|_| vocabulary[zipf(random, vocabulary.len())].clone()).collect()
}

/// Replaces one word in twenty on average.
fn edited(words: &[String], vocabulary: &[String], random: &mut SplitMix64) -> Vec<String> {
    let edit = |word: &String| match random.below(20) {
        0 => vocabulary[random.below(vocabulary.len())].clone(),
        _ => word.clone(),
    };
    words.iter().map(edit).collect()
}

#[test]
fn edits_lower_similarity_about_equally_in_every_script() {
    let analyzer = Analyzer::new(Preset::Copies.config()).unwrap();
    let mut random = SplitMix64(3);
    for language in languages() {
        let vocabulary = language.vocabulary(&mut random);
        let text = |words: &[String]| Content::Text(words.join(language.separator));
        let mut scratch = Scratch::default();
        let mut features = |words: &[String]| analyzer.shingles(&text(words), &mut scratch);
        let mut copies = 0.0;
        let mut unrelated = 0.0f64;
        for _ in 0..40 {
            let original = article(&vocabulary, &mut random);
            let set = features(&original);
            copies += set.jaccard(&features(&edited(&original, &vocabulary, &mut random))) / 40.0;
            unrelated = unrelated.max(set.jaccard(&features(&article(&vocabulary, &mut random))));
        }
        println!("{:10} copies {copies:.3}, unrelated texts at most {unrelated:.3}", language.name);
        // Each changed word of English changes about 3 shingles: (1 - 0.14) / (1 + 0.14) is 0.75.
        assert!((0.68..0.92).contains(&copies), "{}: copies {copies}", language.name);
        assert!(unrelated < 0.2, "{}: unrelated texts {unrelated}", language.name);
    }
}
