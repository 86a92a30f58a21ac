//! Numbers written in digits: digits of all scripts, their groups and decimals.

use super::value::{Value, vulgar};
use xxhash_rust::xxh3::xxh3_64;

/// The digits at the beginning of a token.
pub(super) struct Digits {
    pub(super) value: Value,
    /// The value, if there are at most four digits without separators.
    pub(super) small: Option<u32>,
    /// The number of digits, if there are no separators.
    pub(super) digits: usize,
    /// The number of bytes read.
    pub(super) length: usize,
}

impl Digits {
    pub(super) fn read(token: &[u8]) -> Digits {
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
pub(super) fn vulgar_fraction(source: &str) -> Option<Value> {
    if source.is_ascii() {
        return None;
    }
    let (at, fraction) = source.char_indices().find_map(|(at, c)| Some((at, vulgar(c)?)))?;
    let mut groups = Groups::default();
    let before = &source.as_bytes()[..at];
    let integer = if groups.read(before) == at && at > 0 { groups.value()? } else { Value::integer(0) };
    Some(integer.plus_fraction(fraction))
}

/// The digit zero of each script with decimal digits. Its other digits follow it. Full-width and mathematical digits are
/// ASCII digits after normalization.
pub(super) const ZEROS: [char; 36] = [
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
pub(super) fn is_number(token: &[u8]) -> bool {
    match token.first() {
        Some(byte) if byte.is_ascii() => byte.is_ascii_digit(),
        Some(_) => first_char(token).is_some_and(|c| digit(c).is_some()),
        None => false,
    }
}

fn first_char(token: &[u8]) -> Option<char> {
    let start = &token[..token.len().min(4)];
    let valid = start.utf8_chunks().next()?.valid();
    valid.chars().next()
}
