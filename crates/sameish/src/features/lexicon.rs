//! Words with a meaning for numbers: number words, powers of ten, and abbreviations of months and units.

use super::numbers::length_class;
use crate::text::{Rules, normalize};
use std::sync::OnceLock;
use xxhash_rust::xxh3::xxh3_64;

/// The meaning of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lexeme {
    /// A number below 1000.
    Value { value: u32, french: bool },
    /// "six", which is English and French.
    Six,
    /// "one", which is often an article or a pronoun.
    One,
    /// "a", which is one before a power of ten, but is never added to a number.
    Article,
    /// "hundred".
    Hundred,
    /// "cent", which is a coin except after a French number.
    FrenchHundred,
    /// A power of ten: 3, 6, 9 or 12.
    Scale(u32),
    /// "mil", "mille" or "tausend", which is a power of ten or, without a number before it, 1000.
    Thousand { french: bool },
    /// "and" between the words of a number.
    Connector(Language),
    /// A frequent word of a language.
    Common(Language),
    /// Another form of a word, with the hash and the length class that represent all of its forms.
    Alias(u64, u32),
    /// "sept": seven, or September if it is capitalized.
    September,
}

/// A language, as far as it decides what a number word means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    French,
    Other,
}

/// All words with a meaning, found by the hash of the token.
pub(super) struct Lexicon {
    /// One bit per value of the 12 highest bits of a hash, which excludes most words.
    filter: [u64; 64],
    /// Ascending by hash.
    words: Vec<(u64, Lexeme)>,
    /// Position of the first word with each value of these bits, or of the next one.
    starts: Vec<u16>,
}

impl Lexicon {
    /// Returns the words, with their accents folded if `folded` is set.
    pub(super) fn get(folded: bool) -> &'static Lexicon {
        static LEXICONS: [OnceLock<Lexicon>; 2] = [const { OnceLock::new() }; 2];
        LEXICONS[usize::from(folded)].get_or_init(|| Lexicon::new(folded))
    }

    fn new(folded: bool) -> Lexicon {
        let rules = Rules { html: false, fold_accents: folded };
        let mut words = Vec::new();
        let mut add = |word: &str, lexeme: Lexeme| words.push((hash(&rules.apply(word)), lexeme));
        add("six", Lexeme::Six);
        for (list, french) in [(ENGLISH, false), (GERMAN, false), (FRENCH, true), (SPANISH, false)] {
            for (word, value) in entries(list) {
                add(word, Lexeme::Value { value, french });
            }
        }
        for tens in 2..10 {
            for ones in 1..10 {
                let word = format!("{}und{}", GERMAN_ONES[ones - 1], GERMAN_TENS[tens - 2]);
                add(&word, Lexeme::Value { value: (10 * tens + ones) as u32, french: false });
            }
        }
        for (word, power) in entries(SCALES) {
            add(word, Lexeme::Scale(power));
        }
        for (word, french) in [("mil", false), ("mille", true), ("tausend", false)] {
            add(word, Lexeme::Thousand { french });
        }
        add("a", Lexeme::Article);
        for word in ["one", "ein", "eine", "einer", "einen", "un", "une", "una", "uno"] {
            add(word, Lexeme::One);
        }
        add("hundred", Lexeme::Hundred);
        add("cent", Lexeme::FrenchHundred);
        add("cents", Lexeme::FrenchHundred);
        add("sept", Lexeme::September);
        for (word, language) in [("and", Language::Other), ("et", Language::French), ("y", Language::Other)] {
            add(word, Lexeme::Connector(language));
        }
        for (list, language) in [(COMMON_FRENCH, Language::French), (COMMON_ENGLISH, Language::Other)] {
            list.split(' ').for_each(|word| add(word, Lexeme::Common(language)));
        }
        for forms in ALIASES.lines() {
            let mut forms = forms.split(' ');
            let Some(common) = forms.next() else { continue };
            let lexeme = alias(common);
            add(common, lexeme);
            forms.for_each(|form| add(form, lexeme));
        }
        Lexicon::with_words(words)
    }

    fn with_words(mut words: Vec<(u64, Lexeme)>) -> Lexicon {
        // The first meaning of a word counts: `six` is English and French.
        words.sort_by_key(|&(hash, _)| hash);
        words.dedup_by_key(|&mut (hash, _)| hash);
        let mut filter = [0; 64];
        for &(hash, _) in &words {
            filter[(hash >> 58) as usize] |= 1 << (hash >> 52 & 63);
        }
        let start = |bits: u64| words.partition_point(|&(hash, _)| hash >> 52 < bits) as u16;
        Lexicon { filter, starts: (0..1 << 12).map(start).collect(), words }
    }

    /// Returns the meaning of a word. `hash` is its XXH3.
    #[inline]
    pub(super) fn find(&self, hash: u64) -> Option<Lexeme> {
        if self.filter[(hash >> 58) as usize] >> (hash >> 52 & 63) & 1 == 0 {
            return None;
        }
        let words = &self.words[usize::from(self.starts[(hash >> 52) as usize])..];
        words
            .iter()
            .take_while(|&&(word, _)| word <= hash)
            .find(|&&(word, _)| word == hash)
            .map(|&(_, lexeme)| lexeme)
    }

    /// Returns the other meaning of a French number: September for "sept", the coin for "cent".
    pub(super) fn other_meaning(&self, lexeme: Lexeme) -> Option<Lexeme> {
        let common = if lexeme == Lexeme::September { "september" } else { "cts" };
        self.find(hash(common))
    }

    /// Returns the hash that represents a power of ten without a number.
    pub(super) fn scale_word(power: u32) -> u64 {
        xxh3_64(&[b'e', power as u8])
    }
}

fn alias(common: &str) -> Lexeme {
    Lexeme::Alias(hash(common), length_class(common.as_bytes()))
}

/// Returns the hash of the token that a word becomes.
fn hash(word: &str) -> u64 {
    xxh3_64(normalize(word).as_bytes())
}

/// Returns the words of a list with their values.
fn entries(list: &'static str) -> impl Iterator<Item = (&'static str, u32)> {
    let values = list.split_ascii_whitespace().filter_map(|entry| entry.split_once(':'));
    values
        .filter_map(|(value, words)| Some((value.parse().ok()?, words)))
        .flat_map(|(value, words): (u32, &str)| words.split(',').map(move |word| (word, value)))
}

/// Returns the value of a German number in one word that contains "hundert" or "tausend".
pub(super) fn german_compound(token: &[u8]) -> Option<u128> {
    // Both words have an `e` in the same place.
    if !token.windows(7).any(|part| part[4] == b'e' && matches!(part, b"hundert" | b"tausend")) {
        return None;
    }
    let text = std::str::from_utf8(token).ok()?;
    if let Some((thousands, rest)) = text.split_once("tausend") {
        let thousands = if thousands.is_empty() { 1 } else { german_below_1000(thousands)? };
        return Some(u128::from(thousands) * 1000 + u128::from(german_rest(rest)?));
    }
    // "neunzehnhundert" is 1900, but "neunzehnhunderttausend" is not a number.
    german_hundreds(text, 20).map(u128::from)
}

fn german_below_1000(text: &str) -> Option<u32> {
    if text.contains("hundert") { german_hundreds(text, 10) } else { german_below_100(text) }
}

/// Returns the value of a number with fewer than `limit` hundreds.
fn german_hundreds(text: &str, limit: u32) -> Option<u32> {
    let (hundreds, rest) = text.split_once("hundert")?;
    let hundreds =
        if hundreds.is_empty() { 1 } else { german_below_100(hundreds).filter(|&value| value < limit)? };
    let rest = rest.strip_prefix("und").unwrap_or(rest);
    Some(hundreds * 100 + if rest.is_empty() { 0 } else { german_below_100(rest)? })
}

fn german_rest(text: &str) -> Option<u32> {
    let text = text.strip_prefix("und").unwrap_or(text);
    if text.is_empty() { Some(0) } else { german_below_1000(text) }
}

fn german_below_100(text: &str) -> Option<u32> {
    if matches!(text, "ein" | "eins") {
        return Some(1);
    }
    match Lexicon::get(false).find(xxh3_64(text.as_bytes()))? {
        Lexeme::Value { value, .. } if value < 100 => Some(value),
        _ => None,
    }
}

const ENGLISH: &str = "2:two 3:three 4:four 5:five 7:seven 8:eight 9:nine 10:ten 11:eleven 12:twelve 13:thirteen \
    14:fourteen 15:fifteen 16:sixteen 17:seventeen 18:eighteen 19:nineteen 20:twenty 30:thirty 40:forty,fourty 50:fifty \
    60:sixty 70:seventy 80:eighty 90:ninety";

const GERMAN: &str = "2:zwei,zwo 3:drei 4:vier 5:fünf,fuenf 6:sechs 7:sieben 8:acht 9:neun 10:zehn 11:elf 12:zwölf,zwoelf \
    13:dreizehn 14:vierzehn 15:fünfzehn,fuenfzehn 16:sechzehn 17:siebzehn 18:achtzehn 19:neunzehn 20:zwanzig \
    30:dreißig,dreissig 40:vierzig 50:fünfzig,fuenfzig 60:sechzig 70:siebzig 80:achtzig 90:neunzig 100:hundert";
const GERMAN_ONES: [&str; 9] = ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"];
const GERMAN_TENS: [&str; 8] =
    ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"];

const FRENCH: &str = "2:deux 3:trois 4:quatre 5:cinq 8:huit 9:neuf 10:dix 11:onze 12:douze 13:treize 14:quatorze 15:quinze \
    16:seize 20:vingt,vingts 30:trente 40:quarante 50:cinquante 60:soixante 70:septante 80:huitante 90:nonante";

/// Without `once` (11), which is a frequent English word.
const SPANISH: &str = "2:dos 3:tres 4:cuatro 5:cinco 6:seis 7:siete 8:ocho 9:nueve 10:diez 12:doce 13:trece 14:catorce \
    15:quince 16:dieciséis 17:diecisiete 18:dieciocho 19:diecinueve 20:veinte 21:veintiuno,veintiún,veintiuna \
    22:veintidós 23:veintitrés 24:veinticuatro 25:veinticinco 26:veintiséis 27:veintisiete 28:veintiocho 29:veintinueve \
    30:treinta 40:cuarenta 50:cincuenta 60:sesenta 70:setenta 80:ochenta 90:noventa 100:cien,ciento \
    200:doscientos,doscientas 300:trescientos,trescientas 400:cuatrocientos,cuatrocientas 500:quinientos,quinientas \
    600:seiscientos,seiscientas 700:setecientos,setecientas 800:ochocientos,ochocientas 900:novecientos,novecientas";

/// Words from which the language of a passage is recognized. They are not words of the other language.
const COMMON_FRENCH: &str = "le la les des du est dans pour que qui aux sur avec";
const COMMON_ENGLISH: &str = "the of to in is for with by at from";

/// Powers of ten.
const SCALES: &str = "3:thousand,thousands,tsd 6:million,millions,millionen,mln,mio,millón,millones \
    9:billion,billions,bln,bn,milliarde,milliarden,mrd,milliard,milliards 12:trillion,trillions,billionen";

/// Words with the same meaning, one group per line. The first form of a group represents it and determines its weight. Months
/// are represented by their long form and units by a short one, because units do not distinguish templates.
const ALIASES: &str = "\
january jan januar
february feb februar
march mar märz
april apr
may mai
june jun juni
july jul juli
august aug
september sep
october oct oktober okt
november nov
december dec dezember dez
mths months mth month
yrs years yr year
hrs hours hr hour
mins minutes min minute
secs seconds sec
pct percent prozent
dlrs dollars dlr dollar
cts ct
shrs shares shr share
qtr quarter qtrs quarters
qtly quarterly
revs revenues revenue
avg average
deg degrees degree
kg kilograms kilogram kilos kilo
g grams gram grammes
km kilometres kilometers kilometre kilometer
m metres meters metre meter
mm millimetres millimeters
cm centimetres centimeters
t tonnes tonne
lb pounds lbs
oz ounces ounce
ml millilitres milliliters
l litres liters litre liter";
