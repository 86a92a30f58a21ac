//! Character references of HTML: which characters does `&eacute;` or `&#233;` stand for?
//!
//! `entities.txt` contains the named references of the HTML standard, sorted, with their code points. The standard states that
//! the list will not change.

use std::ops::ControlFlow;
use std::sync::LazyLock;

/// The longest name without a semicolon.
const LONGEST_LEGACY: usize = 6;
/// The longest name, with its semicolon.
const LONGEST: usize = 32;

static NAMES: LazyLock<Vec<(&'static str, String)>> = LazyLock::new(|| {
    let entry = |line: &'static str| {
        let (name, codes) = line.split_once(' ')?;
        let chars = codes.split(' ').filter_map(|code| char::from_u32(u32::from_str_radix(code, 16).ok()?));
        Some((name, chars.collect()))
    };
    include_str!("entities.txt").lines().filter_map(entry).collect()
});

/// Decodes the character reference at the start of a text, which begins with `&`. Returns its characters and its length in
/// bytes, or `None` if there is no reference.
pub(super) fn decode(text: &str, buffer: &mut String) -> Option<usize> {
    buffer.clear();
    let rest = text.strip_prefix('&')?;
    let length = match rest.strip_prefix('#') {
        Some(digits) => 1 + decode_number(digits, buffer)?,
        None => decode_name(rest, buffer)?,
    };
    Some(1 + length)
}

fn decode_name(rest: &str, buffer: &mut String) -> Option<usize> {
    let bytes = rest.as_bytes();
    let name = bytes.iter().take(LONGEST).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let whole = (bytes.get(name) == Some(&b';')).then_some(name + 1);
    // Without a semicolon, the longest name that the text begins with counts: `&notit` is `¬it`.
    let lengths = whole.into_iter().chain((1..=name.min(LONGEST_LEGACY)).rev());
    for length in lengths {
        if let Ok(at) = NAMES.binary_search_by_key(&&rest[..length], |(name, _)| name) {
            buffer.push_str(&NAMES[at].1);
            return Some(length);
        }
    }
    None
}

fn decode_number(digits: &str, buffer: &mut String) -> Option<usize> {
    let (radix, prefix) = if digits.starts_with(['x', 'X']) { (16, 1) } else { (10, 0) };
    let mut code: u32 = 0;
    let mut length = prefix;
    let _ = digits.bytes().skip(prefix).try_for_each(|byte| match char::from(byte).to_digit(radix) {
        Some(digit) => {
            code = code.saturating_mul(radix).saturating_add(digit);
            length += 1;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    });
    if length == prefix {
        return None;
    }
    buffer.push(character(code));
    Some(length + usize::from(digits.as_bytes().get(length) == Some(&b';')))
}

/// Returns the character of a number. Numbers of control characters mean Windows-1252, as in the HTML standard.
fn character(code: u32) -> char {
    let code = match code {
        0 => 0xFFFD,
        0x80..=0x9F => u32::from(WINDOWS_1252[code as usize - 0x80]),
        code => code,
    };
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[rustfmt::skip]
const WINDOWS_1252: [u16; 32] = [
    0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D, 0x8F,
    0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D, 0x017E, 0x0178,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Option<(String, usize)> {
        let mut buffer = String::new();
        decode(text, &mut buffer).map(|length| (buffer, length))
    }

    #[test]
    fn decodes_names_and_numbers_as_browsers_do() {
        let cases = [
            ("&eacute;", "é", 8),
            ("&amp;lt;", "&", 5),
            ("&eacute", "é", 7),
            ("&notit;", "¬", 4),
            ("&notin;", "∉", 7),
            ("&nGt;", "≫\u{20D2}", 5),
            ("&CounterClockwiseContourIntegral;", "∳", 33),
            ("&#233;", "é", 6),
            ("&#xE9x", "é", 5),
            ("&#X1F600;", "😀", 9),
            ("&#150;", "–", 6),
            ("&#0;", "\u{FFFD}", 4),
            ("&#xD800;", "\u{FFFD}", 8),
            ("&#99999999999999999999;", "\u{FFFD}", 23),
        ];
        for (text, expected, length) in cases {
            assert_eq!(decoded(text), Some((expected.to_owned(), length)), "{text}");
        }
        for text in ["&", "& b", "&;", "&#;", "&#x;", "&#xg", "&unknown;", "&é;"] {
            assert_eq!(decoded(text), None, "{text}");
        }
    }

    #[test]
    fn the_list_is_complete_and_sorted() {
        assert_eq!(NAMES.len(), 2231);
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(NAMES.iter().all(|(_, chars)| (1..=2).contains(&chars.chars().count())));
        let longest = |legacy: bool| {
            NAMES
                .iter()
                .map(|(name, _)| name)
                .filter(|name| name.ends_with(';') != legacy)
                .map(|name| name.len())
                .max()
        };
        assert_eq!((longest(false), longest(true)), (Some(LONGEST), Some(LONGEST_LEGACY)));
    }
}
