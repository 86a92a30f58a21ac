//! Numbers in running text: which tokens form one number, and which value does it have?
//!
//! [`for_each_item`] reads a document as a sequence of words and numbers. Different spellings of a value give equal
//! numbers:
//!
//! - digits of all scripts, with or without grouping: `3,000`, `3'000`, `3000`, `٣٬٠٠٠`;
//! - decimals with a point or a comma, whatever zeros follow: `2.5`, `2,50`;
//! - fractions, alone or after an integer: `7-1/4`, `7 1/4`, `7¼` and `7.25`;
//! - number words in English, German, French and Spanish, and words or abbreviations for powers of ten: `three million`,
//!   `3 mln`, `drei Millionen`;
//! - units after digits: `750g` is the number 750 and the word `g`.
//!
//! A point or comma before exactly three digits groups digits, unless the number begins with 0: `3.000` and `3,000` are
//! three thousand, `0.125` and `1.5` are decimals. The text does not tell which of the two is meant. Copies rarely
//! change the notation, so it is sufficient that both texts are read by the same rule. What is neither grouped nor a decimal, such as
//! the date `31.10.2006`, is compared as it is written.
//!
//! Abbreviations of months and units are replaced by one form (`Aug` and `August`, `mths` and `months`).

use super::hash::hash_tokens;
use super::lexicon::{Lexeme, Lexicon, german_compound};
use crate::config::{TokenHash, Tokenizer};
use crate::document::ContentRef;
use crate::text::{PADDING, Span, TextScratch, TokenRange, for_each_batch};
use xxhash_rust::xxh3::xxh3_64;

/// A word or a number of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Word(Word),
    /// The hash of the value.
    Number(u64),
}

/// A word that is not part of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The hash of the word, or of the common form of an abbreviation.
    pub(crate) hash: u64,
    /// The length class: see [`length_class`].
    pub(crate) length: u32,
    /// Whether the word begins with an upper-case letter.
    pub(crate) capital: bool,
}

/// Passes the words and numbers of a document to `emit` in order, with their positions. Given tokens are treated as joined by
/// one space.
pub(crate) fn for_each_item(
    content: ContentRef<'_>,
    scratch: &mut TextScratch,
    emit: impl FnMut(Item, Span),
) {
    let lexicon = Lexicon::get();
    match content {
        ContentRef::Text(text) => {
            let mut reader = Reader::new(Some(text), lexicon, emit);
            let mut hashes = Vec::new();
            for_each_batch(Tokenizer::Unicode, text, scratch, |batch| {
                hashes.resize(batch.tokens.len(), 0);
                hash_tokens(TokenHash::Xxh3, batch.bytes, batch.tokens, &mut hashes);
                for (i, &hash) in hashes.iter().enumerate() {
                    let span = batch.span(i);
                    let source = text.get(span.start..span.end).unwrap_or_default();
                    reader.push(Token { bytes: batch.token(i), hash, span, source });
                }
            });
            reader.finish();
        }
        ContentRef::Tokens(tokens) => {
            let mut reader = Reader::new(None, lexicon, emit);
            let mut start = 0;
            let mut padded = Vec::new();
            for token in tokens {
                let span = Span { start, end: start + token.len() };
                let hash = hash_given(token, &mut padded);
                reader.push(Token { bytes: token.as_bytes(), hash, span, source: token });
                start = span.end + 1;
            }
            reader.finish();
        }
    }
}

fn hash_given(token: &str, padded: &mut Vec<u8>) -> u64 {
    padded.clear();
    padded.extend_from_slice(token.as_bytes());
    padded.resize(token.len() + PADDING, 0);
    let mut hash = [0];
    hash_tokens(TokenHash::Xxh3, padded, &[TokenRange { start: 0, end: token.len() as u32 }], &mut hash);
    hash[0]
}

/// A token with its position. `bytes` are normalized, `source` is the text as it is written.
#[derive(Clone, Copy)]
struct Token<'t> {
    bytes: &'t [u8],
    hash: u64,
    span: Span,
    source: &'t str,
}

impl Token<'_> {
    fn word(&self) -> Word {
        Word { hash: self.hash, length: length_class(self.bytes), capital: begins_upper(self.source) }
    }
}

/// The text between two tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    /// One space.
    Space,
    /// Other white space.
    Blank,
    /// A space at which no line may be broken, as it groups digits in French.
    NoBreakSpace,
    Hyphen,
    Slash,
    Other,
}

impl Gap {
    fn of(between: &str) -> Gap {
        match between {
            " " => Gap::Space,
            "-" | "\u{2010}" | "\u{2011}" => Gap::Hyphen,
            "/" | "\u{2044}" => Gap::Slash,
            "\u{A0}" | "\u{202F}" | "\u{2009}" => Gap::NoBreakSpace,
            _ if !between.is_empty() && between.chars().all(char::is_whitespace) => Gap::Blank,
            _ => Gap::Other,
        }
    }

    /// Returns `true` if the words of one number may be separated like this.
    fn joins_words(self) -> bool {
        !matches!(self, Gap::Slash | Gap::Other)
    }
}

/// The value of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// mantissa * 10^exponent.
    Decimal { mantissa: u128, exponent: i32 },
    /// The hash of a number that is compared as it is written.
    Opaque(u64),
}

impl Value {
    fn integer(value: u128) -> Value {
        Value::Decimal { mantissa: value, exponent: 0 }
    }

    /// Multiplies by a power of ten.
    fn scaled(self, power: u32) -> Value {
        match self {
            Value::Decimal { mantissa, exponent } => {
                Value::Decimal { mantissa, exponent: exponent + power as i32 }
            }
            Value::Opaque(hash) => Value::Opaque(mix(hash, u64::from(power))),
        }
    }

    /// Adds a fraction below 1, exactly if it has a finite decimal form.
    fn plus_fraction(self, Fraction { numerator, denominator }: Fraction) -> Value {
        let decimal = (1..=6).find(|&places| 10u128.pow(places) % u128::from(denominator) == 0);
        match (self, decimal) {
            (Value::Decimal { mantissa, exponent: 0 }, Some(places)) if mantissa < 1 << 100 => {
                let unit = 10u128.pow(places);
                let fraction = u128::from(numerator) * unit / u128::from(denominator);
                Value::Decimal { mantissa: mantissa * unit + fraction, exponent: -(places as i32) }
            }
            _ => Value::Opaque(mix(self.hash(), u64::from(numerator) << 32 | u64::from(denominator))),
        }
    }

    fn hash(self) -> u64 {
        match self {
            Value::Decimal { mantissa: 0, .. } => mix(0, 0),
            Value::Decimal { mut mantissa, mut exponent } => {
                while mantissa % 10 == 0 {
                    mantissa /= 10;
                    exponent += 1;
                }
                mix(mantissa as u64 ^ mix(1, (mantissa >> 64) as u64), exponent as u64)
            }
            Value::Opaque(hash) => mix(2, hash),
        }
    }
}

/// A fraction below 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fraction {
    numerator: u32,
    denominator: u32,
}

impl Fraction {
    /// Returns the fraction if it is one that is usual in prices and measures. `9/11` is more often a date.
    fn usual(numerator: u32, denominator: u32) -> Option<Fraction> {
        let is_usual =
            denominator <= 64 && (denominator.is_power_of_two() || matches!(denominator, 3 | 5 | 6 | 10));
        let common = greatest_common_divisor(numerator, denominator);
        let reduced = || Fraction { numerator: numerator / common, denominator: denominator / common };
        (0 < numerator && numerator < denominator && is_usual).then(reduced)
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// A number written in digits that following tokens may extend.
#[derive(Clone, Copy)]
struct Held {
    value: Value,
    span: Span,
    /// The value, if the number consists of at most four digits and nothing else.
    small: Option<u32>,
    /// The text before the number, if it follows another held number.
    gap: Gap,
    /// The number of digits of the first group, if the number consists of digits only.
    digits: usize,
    /// Whether a minus sign precedes. Powers of ten and fractions apply to the number without its sign.
    negative: bool,
}

impl Held {
    fn item(&self) -> Item {
        let hash = self.value.hash();
        Item::Number(if self.negative { mix(3, hash) } else { hash })
    }
}

/// A number written in words.
#[derive(Clone, Copy)]
struct Spelled {
    span: Span,
    /// The sum of the parts that have been multiplied by a power of ten.
    total: u128,
    /// The part after the last power of ten.
    current: u128,
    /// The end of the last power of ten, and the start of the part after it.
    total_end: usize,
    current_start: usize,
    /// The last power of ten, or 0.
    scale: u32,
    /// Whether the last word is a French number.
    french: bool,
}

/// A word that belongs to a number if another number word follows: "one" before "million", "and" after "hundred".
#[derive(Clone, Copy)]
struct Deferred {
    word: Word,
    span: Span,
    one: bool,
}

/// Combines tokens into items.
struct Reader<'t, F> {
    text: Option<&'t str>,
    lexicon: &'static Lexicon,
    emit: F,
    /// The end of the last token.
    end: usize,
    held: [Option<Held>; 3],
    spelled: Option<Spelled>,
    deferred: Option<Deferred>,
}

impl<'t, F: FnMut(Item, Span)> Reader<'t, F> {
    fn new(text: Option<&'t str>, lexicon: &'static Lexicon, emit: F) -> Self {
        Reader { text, lexicon, emit, end: 0, held: [None; 3], spelled: None, deferred: None }
    }

    #[inline]
    fn push(&mut self, token: Token<'_>) {
        if token.bytes.first().is_some_and(|byte| byte.is_ascii_digit() || !byte.is_ascii())
            && is_number(token.bytes)
        {
            self.push_digits(token);
        } else if let Some(lexeme) = self.lexicon.find(token.hash) {
            self.push_lexeme(token, lexeme);
        } else if let Some(value) = german_compound(token.bytes) {
            self.push_value(token, value, false);
        } else {
            self.push_word(token.word(), token.span);
        }
        self.end = token.span.end;
    }

    fn finish(&mut self) {
        self.flush(Gap::Other);
    }

    fn push_word(&mut self, word: Word, span: Span) {
        if self.is_pending() {
            let gap = self.gap(span.start);
            self.flush(gap);
        }
        (self.emit)(Item::Word(word), span);
    }

    fn is_pending(&self) -> bool {
        self.held[0].is_some() || self.spelled.is_some() || self.deferred.is_some()
    }

    fn gap(&self, start: usize) -> Gap {
        match self.text {
            Some(text) => text.get(self.end..start).map_or(Gap::Other, Gap::of),
            None => Gap::Space,
        }
    }

    /// Emits everything that was held back. `gap` follows the last token.
    fn flush(&mut self, gap: Gap) {
        if let Some(last) = self.resolve(gap) {
            (self.emit)(last.item(), last.span);
        }
        self.flush_spelled();
    }

    fn flush_spelled(&mut self) {
        if let Some(spelled) = self.spelled.take() {
            let value = Value::integer(spelled.total + spelled.current);
            (self.emit)(Item::Number(value.hash()), spelled.span);
        }
        if let Some(deferred) = self.deferred.take() {
            (self.emit)(Item::Word(deferred.word), deferred.span);
        }
    }

    /// Combines the held numbers. Emits all except the last, and returns that.
    fn resolve(&mut self, gap: Gap) -> Option<Held> {
        let held = std::mem::take(&mut self.held);
        let fraction = |n: Option<Held>, d: Option<Held>| {
            let d = d.filter(|d| d.gap == Gap::Slash && gap != Gap::Slash)?;
            Fraction::usual(n?.small?, d.small?)
        };
        let joined = |value: Value, first: Held, last: Held| Held {
            value,
            span: Span { start: first.span.start, end: last.span.end },
            small: None,
            digits: 0,
            ..first
        };
        match held {
            [Some(x), Some(n), Some(d)] => {
                if let Some(fraction) = fraction(Some(n), Some(d)) {
                    return Some(joined(x.value.plus_fraction(fraction), x, d));
                }
                (self.emit)(x.item(), x.span);
                (self.emit)(n.item(), n.span);
                Some(d)
            }
            [Some(n), Some(d), None] => {
                if let Some(fraction) = fraction(Some(n), Some(d)) {
                    return Some(joined(Value::integer(0).plus_fraction(fraction), n, d));
                }
                (self.emit)(n.item(), n.span);
                Some(d)
            }
            [first, ..] => first,
        }
    }

    fn push_digits(&mut self, token: Token<'_>) {
        if self.held[0].is_some() && token.span.start < self.end {
            // The second part of a character such as `½`, which was read with the first part.
            return;
        }
        self.flush_spelled();
        let digits = Digits::read(token.bytes);
        let gap = if self.held[0].is_some() { self.gap(token.span.start) } else { Gap::Other };
        let mut value = digits.value;
        let mut small = digits.small;
        if let Some(vulgar) = vulgar_fraction(token.source) {
            value = vulgar;
            small = None;
        }
        let suffix = &token.bytes[digits.length..];
        if !suffix.is_empty() {
            small = None;
        }
        let negative = self.is_negative(token.span.start);
        self.hold(Held { value, span: token.span, small, gap, digits: digits.digits, negative });
        if !suffix.is_empty() {
            self.push_suffix(token, suffix);
        }
    }

    /// Returns `true` if a minus sign precedes that belongs to the number, as in `-3 degrees`.
    fn is_negative(&self, start: usize) -> bool {
        let Some(before) = self.text.and_then(|text| text.get(..start)) else { return false };
        let mut chars = before.chars().rev();
        matches!(chars.next(), Some('-' | '\u{2212}'))
            && chars.next().is_none_or(|c| c.is_whitespace() || c == '(')
    }

    /// Adds a number to the held ones if it may extend them.
    fn hold(&mut self, new: Held) {
        match self.held {
            [Some(first), None, None] => {
                let groups =
                    new.gap == Gap::NoBreakSpace && new.digits == 3 && (1..=3).contains(&first.digits);
                let may_continue = first.small.is_some() && new.small.is_some();
                if let (true, Value::Decimal { mantissa, exponent: 0 }, Value::Decimal { mantissa: next, .. }) =
                    (groups, first.value, new.value)
                    && mantissa < 1 << 100
                {
                    let value = Value::integer(mantissa * 1000 + next);
                    let span = Span { start: first.span.start, end: new.span.end };
                    // The next group may follow.
                    self.held[0] = Some(Held { value, span, small: None, digits: 3, ..first });
                    return;
                }
                if may_continue && matches!(new.gap, Gap::Slash | Gap::Hyphen | Gap::Space) {
                    self.held[1] = Some(new);
                    return;
                }
            }
            [Some(first), Some(second), None] if second.gap != Gap::Slash => {
                if new.gap == Gap::Slash && new.small.is_some() {
                    self.held[2] = Some(new);
                    return;
                }
                // The first number is complete; the second may begin another fraction.
                (self.emit)(first.item(), first.span);
                self.held = [Some(second), None, None];
                return self.hold(new);
            }
            _ => {}
        }
        if let Some(last) = self.resolve(new.gap) {
            (self.emit)(last.item(), last.span);
        }
        self.held = [Some(new), None, None];
    }

    /// Reads the letters after the digits of a token: an ordinal ending, a power of ten, or a unit.
    fn push_suffix(&mut self, token: Token<'_>, suffix: &[u8]) {
        if matches!(suffix, b"st" | b"nd" | b"rd" | b"th" | b"e" | b"er") {
            return;
        }
        let hash = xxh3_64(suffix);
        let lexeme = self.lexicon.find(hash);
        if let Some(Lexeme::Scale(power)) = lexeme {
            self.held[0] =
                self.resolve(Gap::Other).map(|held| Held { value: held.value.scaled(power), ..held });
            return;
        }
        // The suffix is normalized: `5㎏` has the suffix `kg`, which is not a part of the source.
        let letters = if token.source.is_ascii() { suffix.len() } else { token.source.len() };
        let start = token.span.end.saturating_sub(letters).max(token.span.start);
        let unit = match lexeme {
            Some(Lexeme::Alias(hash, length)) => Word { hash, length, capital: false },
            _ => Word { hash, length: length_class(suffix), capital: false },
        };
        self.flush(Gap::Other);
        (self.emit)(Item::Word(unit), Span { start, end: token.span.end });
    }

    fn push_lexeme(&mut self, token: Token<'_>, lexeme: Lexeme) {
        let word = token.word();
        match lexeme {
            Lexeme::Alias(hash, length) => self.push_word(Word { hash, length, ..word }, token.span),
            Lexeme::September if word.capital => self.push_other_meaning(token, lexeme),
            Lexeme::September => self.push_value(token, 7, true),
            Lexeme::Value { value, french } => self.push_value(token, u128::from(value), french),
            Lexeme::One => self.push_one(token),
            Lexeme::Hundred | Lexeme::FrenchHundred => self.push_hundred(token, lexeme),
            Lexeme::Scale(power) => self.push_scale(token, power),
            Lexeme::Connector => {
                let gap = self.gap(token.span.start);
                if self.spelled.is_some() && self.deferred.is_none() && gap.joins_words() {
                    self.deferred = Some(Deferred { word, span: token.span, one: false });
                } else {
                    self.push_word(word, token.span);
                }
            }
        }
    }

    /// Adds a number word below a power of ten.
    fn push_value(&mut self, token: Token<'_>, value: u128, french: bool) {
        let joins = self.spelled.is_some() && self.gap(token.span.start).joins_words();
        if let Some(spelled) = &mut self.spelled
            && joins
            && spelled.accepts(value)
        {
            spelled.add(value, token.span);
            spelled.french = french;
            self.deferred = None;
            return;
        }
        let gap = if self.is_pending() { self.gap(token.span.start) } else { Gap::Other };
        self.flush(gap);
        self.spelled = Some(Spelled { french, ..Spelled::new(token.span, value) });
    }

    /// Adds "one" to a number such as "twenty", or waits for a power of ten. Alone it is an article or a pronoun.
    fn push_one(&mut self, token: Token<'_>) {
        if let Some(spelled) = &self.spelled
            && spelled.accepts(1)
            && self.gap(token.span.start).joins_words()
        {
            return self.push_value(token, 1, false);
        }
        let gap = if self.is_pending() { self.gap(token.span.start) } else { Gap::Other };
        self.flush(gap);
        self.deferred = Some(Deferred { word: token.word(), span: token.span, one: true });
    }

    fn push_hundred(&mut self, token: Token<'_>, lexeme: Lexeme) {
        let french = lexeme == Lexeme::FrenchHundred;
        let joins = self.is_pending() && self.gap(token.span.start).joins_words();
        self.begin_with_one(joins && !french);
        if let Some(spelled) = &mut self.spelled
            && joins
            && self.deferred.is_none()
            && (1..100).contains(&spelled.current)
            && (!french || spelled.french)
        {
            spelled.current *= 100;
            spelled.span.end = token.span.end;
            return;
        }
        if french {
            return self.push_other_meaning(token, lexeme);
        }
        self.push_word(token.word(), token.span);
    }

    /// Adds the word that a French number is in other languages.
    fn push_other_meaning(&mut self, token: Token<'_>, lexeme: Lexeme) {
        let word = token.word();
        let word = match self.lexicon.other_meaning(lexeme) {
            Some(Lexeme::Alias(hash, length)) => Word { hash, length, ..word },
            _ => word,
        };
        self.push_word(word, token.span);
    }

    fn push_scale(&mut self, token: Token<'_>, power: u32) {
        let joins = self.is_pending() && self.gap(token.span.start).joins_words();
        self.begin_with_one(joins);
        if joins && self.held[0].is_some() {
            if let Some(held) = self.resolve(Gap::Other) {
                let span = Span { start: held.span.start, end: token.span.end };
                self.held[0] =
                    Some(Held { value: held.value.scaled(power), span, small: None, digits: 0, ..held });
            }
            return;
        }
        if joins && self.deferred.is_none() && self.scale_spelled(power, token.span) {
            return;
        }
        let word = token.word();
        let hash = Lexicon::scale_word(power);
        self.push_word(Word { hash, ..word }, token.span);
    }

    fn scale_spelled(&mut self, power: u32, span: Span) -> bool {
        let Some(spelled) = &mut self.spelled else { return false };
        if spelled.scale_by(power, span) {
            return true;
        }
        let Some(rest) = spelled.split_off() else { return false };
        self.flush_spelled();
        self.spelled.insert(rest).scale_by(power, span)
    }

    /// Turns a waiting "one" into the number 1.
    fn begin_with_one(&mut self, joins: bool) {
        if let Some(deferred) = self.deferred
            && deferred.one
            && joins
        {
            self.deferred = None;
            self.spelled = Some(Spelled::new(deferred.span, 1));
        }
    }
}

impl Spelled {
    fn new(span: Span, current: u128) -> Spelled {
        Spelled {
            span,
            total: 0,
            current,
            total_end: span.end,
            current_start: span.start,
            scale: 0,
            french: false,
        }
    }

    /// Returns `true` if a number word can follow: "five" after "twenty", but not after "six".
    fn accepts(&self, value: u128) -> bool {
        let last = self.current % 100;
        let after_tens = last >= 20 && last.is_multiple_of(10) && value < 10;
        let french_teens = self.french && matches!(last, 60 | 80) && (10..20).contains(&value);
        let french_eighty = self.french && self.current == 4 && value == 20;
        let after_hundreds = self.current >= 100 && last == 0 && value < 100;
        let after_scale = self.current == 0 && self.scale > 0 && value < 10u128.pow(self.scale);
        after_tens || french_teens || french_eighty || after_hundreds || after_scale
    }

    /// Adds a number word that can follow.
    fn add(&mut self, value: u128, span: Span) {
        if self.current == 0 {
            self.current_start = span.start;
        }
        self.current = if self.current == 4 && value == 20 { 80 } else { self.current + value };
        self.span.end = span.end;
    }

    /// Separates the part after the last power of ten: "two" in "three million and two", before "billion".
    fn split_off(&mut self) -> Option<Spelled> {
        let rest = Spelled::new(Span { start: self.current_start, end: self.span.end }, self.current);
        let splits = self.scale > 0 && self.current > 0;
        splits.then(|| {
            self.current = 0;
            self.span.end = self.total_end;
            rest
        })
    }

    /// Multiplies by a power of ten: the part after the last power, or everything ("mil millones").
    fn scale_by(&mut self, power: u32, span: Span) -> bool {
        let factor = 10u128.pow(power);
        let smaller = self.scale == 0 || power < self.scale;
        let total = if self.current > 0 && smaller {
            self.current.checked_mul(factor).and_then(|part| self.total.checked_add(part))
        } else if self.current == 0 && power > self.scale && power + self.scale <= 24 {
            self.total.checked_mul(factor)
        } else {
            None
        };
        let Some(total) = total else { return false };
        self.total = total;
        self.current = 0;
        self.scale = power;
        self.span.end = span.end;
        self.total_end = span.end;
        true
    }
}

/// The digits at the beginning of a token.
struct Digits {
    value: Value,
    /// The value, if there are at most four digits without separators.
    small: Option<u32>,
    /// The number of digits, if there are no separators.
    digits: usize,
    /// The number of bytes read.
    length: usize,
}

impl Digits {
    fn read(token: &[u8]) -> Digits {
        let mut groups = Groups::default();
        let length = groups.read(token);
        let suffix = &token[length..];
        // `0x8007`, `2x4`: a name rather than a number with a unit.
        let is_name = suffix.iter().any(|byte| byte.is_ascii_digit() || *byte == b'_');
        if is_name {
            return Digits {
                value: Value::Opaque(xxh3_64(token)),
                small: None,
                digits: 0,
                length: token.len(),
            };
        }
        let value = groups.value().unwrap_or_else(|| Value::Opaque(xxh3_64(&token[..length])));
        let plain = groups.separators == 0;
        let small = match value {
            Value::Decimal { mantissa, exponent: 0 } if plain && groups.first <= 4 => Some(mantissa as u32),
            _ => None,
        };
        Digits { value, small, digits: if plain { groups.first } else { 0 }, length }
    }
}

/// Groups of digits and their separators.
#[derive(Default)]
struct Groups {
    mantissa: u128,
    overflow: bool,
    begins_with_zero: bool,
    /// The length of the first and of the last group.
    first: usize,
    last: usize,
    separators: usize,
    /// The separator before the last group, and the one before that.
    last_separator: char,
    earlier_separator: char,
    /// Whether all groups between the first and the last have three digits, or two as in India.
    threes: bool,
    twos: bool,
    /// Whether the separators except the last are equal.
    uniform: bool,
}

impl Groups {
    /// Reads digits and separators, and returns the number of bytes read.
    fn read(&mut self, token: &[u8]) -> usize {
        self.threes = true;
        self.twos = true;
        self.uniform = true;
        if token.is_ascii() {
            let length = token.iter().position(|&byte| !self.push(char::from(byte))).unwrap_or(token.len());
            return self.without_trailing_separator(token, length);
        }
        let text = token.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let stop = text.char_indices().find(|&(_, c)| !self.push(c));
        stop.map_or(text.len(), |(at, _)| at)
    }

    /// A separator is part of a token only between digits, so this can only happen in given tokens.
    fn without_trailing_separator(&self, token: &[u8], length: usize) -> usize {
        if length > 0 && self.last == 0 && !token[length - 1].is_ascii_digit() { length - 1 } else { length }
    }

    fn push(&mut self, c: char) -> bool {
        if let Some(digit) = digit(c) {
            self.begins_with_zero |= self.first == 0 && digit == 0;
            let next = self.mantissa.checked_mul(10).and_then(|value| value.checked_add(u128::from(digit)));
            self.overflow |= next.is_none();
            self.mantissa = next.unwrap_or(0);
            self.last += 1;
            if self.separators == 0 {
                self.first += 1;
            }
            return true;
        }
        let separator = match c {
            '.' | '\u{66B}' => '.',
            ',' | '\u{66C}' => ',',
            '\'' | '’' => '\'',
            ';' | ':' => ';',
            _ => return false,
        };
        if self.separators > 0 {
            self.threes &= self.last == 3;
            self.twos &= self.last == 2;
            if self.separators > 1 {
                self.uniform &= self.earlier_separator == self.last_separator;
            }
            self.earlier_separator = self.last_separator;
        }
        self.last_separator = separator;
        self.separators += 1;
        self.last = 0;
        true
    }

    /// Returns the value if the separators have a meaning.
    fn value(&self) -> Option<Value> {
        if self.overflow || self.first == 0 {
            return None;
        }
        let integer = Value::integer(self.mantissa);
        let decimal = Value::Decimal { mantissa: self.mantissa, exponent: -(self.last as i32) };
        let may_group = self.first <= 3 && !self.begins_with_zero && self.last_separator != ';';
        let same = self.uniform && self.earlier_separator == self.last_separator;
        match self.separators {
            0 => Some(integer),
            1 if may_group && self.last == 3 => Some(integer),
            1 if matches!(self.last_separator, '.' | ',') => Some(decimal),
            1 => None,
            _ if same && may_group && self.last == 3 && self.threes => Some(integer),
            _ if same && may_group && self.last == 3 && self.twos && self.last_separator == ',' => {
                Some(integer)
            }
            _ if !same && self.uniform && self.first <= 3 && self.threes && self.last_separator != ';' => {
                Some(decimal)
            }
            _ => None,
        }
    }
}

/// Returns the value of a number that contains or consists of a character such as `½`.
fn vulgar_fraction(source: &str) -> Option<Value> {
    if source.is_ascii() {
        return None;
    }
    let (at, fraction) = source.char_indices().find_map(|(at, c)| Some((at, vulgar(c)?)))?;
    let mut groups = Groups::default();
    let before = &source.as_bytes()[..at];
    let integer = if groups.read(before) == at && at > 0 { groups.value()? } else { Value::integer(0) };
    Some(integer.plus_fraction(fraction))
}

fn vulgar(c: char) -> Option<Fraction> {
    let (numerator, denominator) = match c {
        '¼' => (1, 4),
        '½' => (1, 2),
        '¾' => (3, 4),
        '⅓' => (1, 3),
        '⅔' => (2, 3),
        '⅕' => (1, 5),
        '⅖' => (2, 5),
        '⅗' => (3, 5),
        '⅘' => (4, 5),
        '⅙' => (1, 6),
        '⅚' => (5, 6),
        '⅛' => (1, 8),
        '⅜' => (3, 8),
        '⅝' => (5, 8),
        '⅞' => (7, 8),
        _ => return None,
    };
    Some(Fraction { numerator, denominator })
}

/// The digit zero of each script with decimal digits. Its other digits follow it. Full-width and mathematical digits are
/// ASCII digits after normalization.
const ZEROS: [char; 36] = [
    '٠', '۰', '߀', '०', '০', '੦', '૦', '୦', '௦', '౦', '೦', '൦', '෦', '๐', '໐', '༠', '၀', '႐', '០', '᠐', '᥆',
    '᧐', '᪀', '᪐', '᭐', '᮰', '᱀', '᱐', '꘠', '꣐', '꤀', '꧐', '꧰', '꩐', '꯰', '𑁦',
];

/// Returns the value of a decimal digit of any script.
fn digit(c: char) -> Option<u32> {
    if c.is_ascii() {
        return c.to_digit(10);
    }
    let zero = ZEROS[..ZEROS.partition_point(|&zero| zero <= c)].last()?;
    let value = u32::from(c) - u32::from(*zero);
    (value < 10).then_some(value)
}

/// Returns `true` if a token begins with a digit of any script.
fn is_number(token: &[u8]) -> bool {
    match token.first() {
        Some(byte) if byte.is_ascii() => byte.is_ascii_digit(),
        Some(_) => first_char(token).is_some_and(|c| digit(c).is_some()),
        None => false,
    }
}

fn begins_upper(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(byte) if byte.is_ascii() => byte.is_ascii_uppercase(),
        Some(_) => text.chars().next().is_some_and(char::is_uppercase),
        None => false,
    }
}

fn first_char(token: &[u8]) -> Option<char> {
    let start = &token[..token.len().min(4)];
    let valid = start.utf8_chunks().next()?.valid();
    valid.chars().next()
}

/// Returns the number of letters beyond the third, at most 9.
///
/// Words in scripts whose characters take three bytes (Han, Kana, Thai, Devanagari) are short, often a single character.
/// They count as four letters longer.
pub(super) fn length_class(token: &[u8]) -> u32 {
    let letters = token.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
    let dense = letters > 0 && token.len() >= 3 * letters;
    let letters = if dense { letters + 4 } else { letters };
    letters.saturating_sub(3).min(9) as u32
}

/// Combines two hashes.
pub(super) fn mix(a: u64, b: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&a.to_le_bytes());
    bytes[8..].copy_from_slice(&b.to_le_bytes());
    xxh3_64(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<(Item, String)> {
        let mut items = Vec::new();
        for_each_item(text.into(), &mut TextScratch::default(), |item, span| {
            items.push((item, text[span.start..span.end].to_owned()));
        });
        items
    }

    fn numbers(text: &str) -> Vec<Item> {
        items(text).into_iter().map(|(item, _)| item).filter(|item| matches!(item, Item::Number(_))).collect()
    }

    /// Checks that all texts have the same single number.
    fn same(texts: &[&str]) {
        for text in texts {
            assert_eq!(numbers(text).len(), 1, "{text}");
            assert_eq!(numbers(text), numbers(texts[0]), "{text} and {}", texts[0]);
        }
    }

    /// Checks that no two texts have the same number.
    fn different(texts: &[&str]) {
        for (i, text) in texts.iter().enumerate() {
            texts[..i]
                .iter()
                .for_each(|other| assert_ne!(numbers(text), numbers(other), "{text} and {other}"));
        }
    }

    #[test]
    fn grouped_digits_and_decimals() {
        same(&[
            "3,000",
            "3000",
            "3'000",
            "3.000",
            "3\u{202F}000",
            "3000.0",
            "3,000.00",
            "3.000,0",
            "three thousand",
        ]);
        same(&["1,234,567.5", "1.234.567,50", "1234567.5"]);
        same(&["1,234,567", "12,34,567", "1'234'567", "1\u{A0}234\u{A0}567"]);
        same(&["2.5", "2,5", "2.50"]);
        different(&["3,000", "3", "0.300", "30.00"]);
        different(&["31.10.2006", "31.10.2007", "3110.2006", "1.2.3", "12.3"]);
        different(&["-3 degrees", "3 degrees"]);
        different(&[
            "123456789012345678901234567890123456789012",
            "123456789012345678901234567890123456789013",
        ]);
    }

    #[test]
    fn fractions_are_one_number() {
        same(&["7-1/8", "7 1/8", "7⅛"]);
        same(&["7-1/4", "7¼", "7.25"]);
        same(&["1/2", "½", "0.5"]);
        different(&["7-1/8", "7-3/8", "7", "71/8"]);
        assert_eq!(numbers("3/12/2006").len(), 3);
        assert_eq!(numbers("at 20-1/4, down 14-3/4 on 5 6 7/8").len(), 4);
    }

    #[test]
    fn units_are_separated_from_digits() {
        same(&["750g", "750 g"]);
        assert_eq!(items("750g").into_iter().map(|(item, _)| item).collect::<Vec<_>>(), {
            items("750 g").into_iter().map(|(item, _)| item).collect::<Vec<_>>()
        });
        same(&["March 5th", "March 5"]);
        different(&["0x80070005", "0x80070006", "0"]);
    }

    #[test]
    fn number_words_in_four_languages() {
        same(&[
            "three million",
            "3 million",
            "3,000,000",
            "3 mln",
            "drei Millionen",
            "trois millions",
            "tres millones",
            "3mln",
        ]);
        same(&["2.5 million", "2,500,000", "zwei Millionen fünfhunderttausend"]);
        same(&["twenty-one", "21", "einundzwanzig", "vingt et un", "veintiuno", "twenty one"]);
        same(&["ninety-seven", "siebenundneunzig", "quatre-vingt-dix-sept", "noventa y siete", "97"]);
        same(&["two hundred and five", "205", "zweihundertfünf", "deux cent cinq", "doscientos cinco"]);
        same(&["one hundred thousand", "100,000", "hunderttausend", "cien mil"]);
        same(&["1,234", "one thousand two hundred and thirty-four", "eintausendzweihundertvierunddreißig"]);
        same(&["dos mil millones", "2 billion", "zwei Milliarden", "deux milliards"]);
        different(&["three million", "2.5 million", "3 billion", "3 thousand", "3"]);
        assert_eq!(numbers("between two and three, or four five").len(), 4);
        assert_eq!(numbers("three million and two billion").len(), 2);
        assert!(numbers("one of the hundreds of millions, un homme, eine Frau, two-thirds").len() == 1);
    }

    #[test]
    fn digits_of_all_scripts() {
        same(&["1234", "١٢٣٤", "۱۲۳۴", "१२३४", "１２３４", "๑๒๓๔", "১২৩৪", "١٬٢٣٤"]);
        same(&["2.5", "٢٫٥"]);
        assert!(ZEROS.is_sorted());
    }

    #[test]
    fn abbreviations_and_long_forms_are_equal() {
        let kinds = |text: &str| -> Vec<u64> {
            let word = |(item, _): (Item, String)| match item {
                Item::Word(word) => word.hash,
                Item::Number(value) => value,
            };
            items(text).into_iter().map(word).collect()
        };
        assert_eq!(
            kinds("Aug 5, nine mths, 3 pct, 5 cts"),
            kinds("August 5th, 9 months, three percent, five cents")
        );
        assert_eq!(kinds("12 Sept"), kinds("12 September"));
        assert_eq!(kinds("sept jours"), kinds("7 jours"));
        assert_ne!(kinds("Aug"), kinds("Sep"));
    }

    #[test]
    fn signs_belong_to_the_whole_number() {
        same(&["fell to -3 million", "fell to -3,000,000"]);
        assert_ne!(numbers("by -1/2 in all"), numbers("by 1/2 in all"));
        assert_ne!(numbers("by -3 million"), numbers("by 3 million"));
    }

    #[test]
    fn fractions_are_reduced() {
        same(&["about 2/6 of it", "about 1/3 of it"]);
    }

    #[test]
    fn units_of_one_character_keep_their_position() {
        for text in ["take 5㎏ of it", "take 750ｇ of it"] {
            let positions: Vec<String> = items(text).into_iter().map(|(_, part)| part).collect();
            assert_eq!(positions.len(), 5, "{positions:?}");
        }
    }

    #[test]
    fn powers_of_ten_do_not_overflow() {
        let words = "three thousand million billion trillion five thousand million billion trillion";
        assert!(!numbers(&[words; 3].join(" ")).is_empty());
    }

    #[test]
    fn items_keep_order_and_positions() {
        let texts: Vec<String> = items("Two and a half, 7-1/8 cts and one million at 3/4/5")
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        assert_eq!(
            texts,
            ["Two", "and", "a", "half", "7-1/8", "cts", "and", "one million", "at", "3", "4", "5"]
        );
    }

    #[test]
    fn length_class_depends_on_script() {
        let class = |word: &str| length_class(word.as_bytes());
        assert_eq!(["", "the", "four", "für", "для", "antidisestablishment"].map(class), [0, 0, 1, 0, 0, 9]);
        assert_eq!(["京", "タワー"].map(class), [2, 4]);
    }
}
