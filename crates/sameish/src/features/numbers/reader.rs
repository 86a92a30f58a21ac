//! Combines the tokens of a text into words and numbers.

use super::digits::{Digits, is_number, vulgar_fraction};
use super::spelled::Spelled;
use super::value::{Fraction, Value};
use super::{Item, Token, Word, length_class, mix};
use crate::features::lexicon::{Language, Lexeme, Lexicon, german_compound};
use crate::text::Span;
use xxhash_rust::xxh3::xxh3_64;

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
    /// Whether a currency sign precedes, so that `m` is a million, not a meter.
    currency: bool,
}

impl Held {
    fn item(&self) -> Item {
        let hash = self.value.hash();
        Item::Number(if self.negative { mix(3, hash) } else { hash })
    }
}

/// A word that belongs to a number if another number word follows.
#[derive(Clone, Copy)]
struct Deferred {
    word: Word,
    span: Span,
    kind: Part,
}

/// How a deferred word belongs to a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// "one" before "million".
    One,
    /// "cent" before "vingt", which is a coin otherwise.
    FrenchHundred,
    /// "and" after "hundred".
    Connector,
}

/// Combines tokens into items.
pub(super) struct Reader<'t, F> {
    text: Option<&'t str>,
    lexicon: &'static Lexicon,
    emit: F,
    /// The end of the last token.
    end: usize,
    held: [Option<Held>; 3],
    spelled: Option<Spelled>,
    deferred: Option<Deferred>,
    /// The language of the last common word.
    language: Language,
}

impl<'t, F: FnMut(Item, Span)> Reader<'t, F> {
    pub(super) fn new(text: Option<&'t str>, lexicon: &'static Lexicon, emit: F) -> Self {
        let language = Language::Other;
        Reader { text, lexicon, emit, end: 0, held: [None; 3], spelled: None, deferred: None, language }
    }

    #[inline]
    pub(super) fn push(&mut self, token: Token<'_>) {
        if token.bytes.first().is_some_and(|byte| byte.is_ascii_digit() || !byte.is_ascii())
            && is_number(token.bytes)
        {
            self.push_digits(token);
        } else if let Some(power) = self.power_of_amount(&token) {
            self.push_scale(token, power);
        } else if let Some(lexeme) = self.lexicon.find(token.hash) {
            self.push_lexeme(token, lexeme);
        } else if let Some(value) = german_compound(token.bytes) {
            self.push_value(token, value, false);
        } else {
            self.push_word(token.word(), token.span);
        }
        self.end = token.span.end;
    }

    pub(super) fn finish(&mut self) {
        self.flush(Gap::Other);
    }

    /// Returns the power of ten of a letter after an amount of money, as in `$3 m`.
    fn power_of_amount(&self, token: &Token<'_>) -> Option<u32> {
        let held = self.held[0].as_ref().filter(|held| held.currency)?;
        let is_next = held.span.end == self.end && self.gap(token.span.start) == Gap::Space;
        is_next.then(|| power_of_letter(token.bytes)).flatten()
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
        if self.held[0].is_some()
            && let Some(last) = self.resolve(gap)
        {
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
        let mut suffix = &token.bytes[digits.length..];
        if let Some(vulgar) = vulgar_fraction(token.source) {
            value = vulgar;
            small = None;
            // `½g` is normalized to `1⁄2g`.
            let last = token.bytes.iter().rposition(u8::is_ascii_digit);
            suffix = last.map_or(suffix, |last| &token.bytes[last + 1..]);
        }
        if !suffix.is_empty() {
            small = None;
        }
        let negative = self.is_negative(token.span.start);
        let currency = self.is_amount(token.span.start);
        self.hold(Held { value, span: token.span, small, gap, digits: digits.digits, negative, currency });
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

    /// Returns `true` if a currency sign precedes, as in `$3m`.
    fn is_amount(&self, start: usize) -> bool {
        let before = self.text.and_then(|text| text.get(..start));
        before.is_some_and(|before| before.ends_with(['$', '€', '£', '¥', '₹']))
    }

    /// Adds a number to the held ones if it may extend them.
    fn hold(&mut self, new: Held) {
        match self.held {
            [Some(first), None, None] => {
                // French texts also group digits with ordinary spaces. In other languages, these separate numbers.
                let grouping = match new.gap {
                    Gap::NoBreakSpace => true,
                    Gap::Space => self.language == Language::French,
                    _ => false,
                };
                let groups = grouping && new.digits == 3 && (1..=3).contains(&first.digits);
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
        let of_amount = power_of_letter(suffix).filter(|_| self.is_amount(token.span.start));
        let power = match lexeme {
            Some(Lexeme::Scale(power)) => Some(power),
            Some(Lexeme::Thousand { .. }) => Some(3),
            _ => of_amount,
        };
        if let Some(power) = power {
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
            Lexeme::Six => self.push_value(token, 6, self.is_french()),
            Lexeme::One => self.push_one(token),
            Lexeme::Article => self.defer_one(token),
            Lexeme::Hundred | Lexeme::FrenchHundred => self.push_hundred(token, lexeme),
            Lexeme::Scale(power) => self.push_scale(token, power),
            Lexeme::Thousand { french } => self.push_thousand(token, french),
            Lexeme::Common(language) => {
                self.language = language;
                self.push_word(word, token.span);
            }
            Lexeme::Connector(language) => {
                self.language = language;
                let gap = self.gap(token.span.start);
                if self.spelled.is_some() && self.deferred.is_none() && gap.joins_words() {
                    self.deferred = Some(Deferred { word, span: token.span, kind: Part::Connector });
                } else {
                    self.push_word(word, token.span);
                }
            }
        }
    }

    /// Returns `true` if a word that is English and French is French here.
    fn is_french(&self) -> bool {
        self.spelled.map_or(self.language == Language::French, |spelled| spelled.french)
    }

    /// Adds a number word below a power of ten.
    fn push_value(&mut self, token: Token<'_>, value: u128, french: bool) {
        if french && self.is_pending() && self.gap(token.span.start).joins_words() {
            self.begin_with(Part::FrenchHundred, 100);
        }
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
        self.defer_one(token);
    }

    /// Waits for a power of ten.
    fn defer_one(&mut self, token: Token<'_>) {
        self.defer(token.word(), token.span, Part::One);
    }

    fn defer(&mut self, word: Word, span: Span, kind: Part) {
        let gap = if self.is_pending() { self.gap(span.start) } else { Gap::Other };
        self.flush(gap);
        self.deferred = Some(Deferred { word, span, kind });
    }

    fn push_hundred(&mut self, token: Token<'_>, lexeme: Lexeme) {
        let french = lexeme == Lexeme::FrenchHundred;
        let joins = self.is_pending() && self.gap(token.span.start).joins_words();
        if joins && !french {
            self.begin_with(Part::One, 1);
        }
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
        let extends = |spelled: &Spelled| spelled.french && spelled.accepts(100);
        if french && joins && self.deferred.is_none() && self.spelled.as_ref().is_some_and(extends) {
            return self.push_value(token, 100, true);
        }
        if french && token.bytes == b"cent" {
            return self.defer(self.other_meaning(&token, lexeme), token.span, Part::FrenchHundred);
        }
        if french {
            return self.push_other_meaning(token, lexeme);
        }
        self.push_word(token.word(), token.span);
    }

    /// Adds the word that a French number is in other languages.
    fn push_other_meaning(&mut self, token: Token<'_>, lexeme: Lexeme) {
        let word = self.other_meaning(&token, lexeme);
        self.push_word(word, token.span);
    }

    fn other_meaning(&self, token: &Token<'_>, lexeme: Lexeme) -> Word {
        let word = token.word();
        match self.lexicon.other_meaning(lexeme) {
            Some(Lexeme::Alias(hash, length)) => Word { hash, length, ..word },
            _ => word,
        }
    }

    fn push_scale(&mut self, token: Token<'_>, power: u32) {
        if !self.scales(&token, power) {
            let word = token.word();
            let hash = Lexicon::scale_word(power);
            self.push_word(Word { hash, ..word }, token.span);
        }
    }

    /// Multiplies the number before a power of ten. Returns `false` if there is none.
    fn scales(&mut self, token: &Token<'_>, power: u32) -> bool {
        let joins = self.is_pending() && self.gap(token.span.start).joins_words();
        if !joins {
            return false;
        }
        self.begin_with(Part::One, 1);
        self.begin_with(Part::FrenchHundred, 100);
        if self.held[0].is_some() {
            if let Some(held) = self.resolve(Gap::Other) {
                let span = Span { start: held.span.start, end: token.span.end };
                let scaled = Held { value: held.value.scaled(power), span, small: None, digits: 0, ..held };
                self.held[0] = Some(Held { currency: false, ..scaled });
            }
            return true;
        }
        self.deferred.is_none() && self.scale_spelled(power, token.span)
    }

    /// Multiplies the number before "mille", adds 1000 to it, or begins a number.
    fn push_thousand(&mut self, token: Token<'_>, french: bool) {
        if !self.scales(&token, 3) {
            self.push_value(token, 1, french);
            self.scale_spelled(3, token.span);
        }
        if let Some(spelled) = &mut self.spelled {
            spelled.french = french;
        }
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

    /// Turns a deferred word of this kind into a number.
    fn begin_with(&mut self, kind: Part, value: u128) {
        if let Some(deferred) = self.deferred.filter(|deferred| deferred.kind == kind) {
            self.deferred = None;
            let french = kind == Part::FrenchHundred;
            self.spelled = Some(Spelled { french, ..Spelled::new(deferred.span, value) });
        }
    }
}

/// Returns the power of ten that a letter stands for after an amount of money.
fn power_of_letter(letters: &[u8]) -> Option<u32> {
    match letters {
        b"k" => Some(3),
        b"m" => Some(6),
        b"b" => Some(9),
        _ => None,
    }
}
