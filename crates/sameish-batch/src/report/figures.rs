//! Number formats for tables and reports.

/// Formats a share in percent. Never rounds to 0 % or 100 % unless the share is exact.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".into();
    }
    let share = part as f64 / whole as f64 * 100.0;
    match share {
        _ if part > 0 && share < 0.1 => "< 0.1 %".into(),
        _ if part < whole && share > 99.9 => "> 99.9 %".into(),
        _ => format!("{share:.1} %"),
    }
}

/// Formats a number of bytes with a decimal unit: `1.2 MB`.
pub fn sized(bytes: u64) -> String {
    let mut size = bytes as f64;
    let mut units = ["kB", "MB", "GB", "TB", "PB", "EB"].iter();
    let mut unit = "bytes";
    // A size that would round to 1000 uses the next unit.
    while size >= if unit == "bytes" { 1000.0 } else { 999.95 } {
        let Some(next) = units.next() else { break };
        (size, unit) = (size / 1000.0, next);
    }
    match unit {
        "bytes" if bytes == 1 => "1 byte".into(),
        "bytes" => format!("{bytes} bytes"),
        _ => format!("{size:.1} {unit}"),
    }
}

/// Formats a similarity with three decimals, rounded down, so that it never appears to reach 1.000 or the threshold.
pub fn similarity(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    // 0.29 is stored as slightly less than 29 hundredths.
    format!("{:.3}", (value * 1000.0 + 1e-6).floor() / 1000.0)
}

/// Formats a threshold without trailing zeros.
pub fn threshold(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    format!("{value:.4}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a probability in percent, rounded down, with a non-breaking space.
pub fn chance(probability: f64) -> String {
    if !probability.is_finite() {
        return "–".into();
    }
    format!("{:.1}\u{a0}%", (probability.clamp(0.0, 1.0) * 1000.0 + 1e-6).floor() / 10.0)
}

/// Replaces the middle of a text of more than `most` characters by an ellipsis.
pub fn shortened(text: &str, most: usize) -> String {
    let mut ends = text.char_indices().map(|(at, _)| at);
    if ends.nth(most).is_none() {
        return text.to_owned();
    }
    let head = most.saturating_sub(1).div_ceil(2);
    let tail = most.saturating_sub(1) - head;
    let head = text.char_indices().nth(head).map_or(text.len(), |(at, _)| at);
    let tail = text.char_indices().rev().take(tail).last().map_or(text.len(), |(at, _)| at);
    format!("{}…{}", &text[..head], &text[tail..])
}

/// Formats a number with thousands separators: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a number with its noun: `1 document`, `2,000 documents`.
pub fn counted(number: u64, noun: &str) -> String {
    counted_as(number, noun, &format!("{noun}s"))
}

/// Formats a number with a noun whose plural is irregular: `1 match`, `2 matches`.
pub fn counted_as(number: u64, noun: &str, plural: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { noun } else { plural })
}

/// Formats a limit that was reached this many times, for a summary.
pub fn limits_reached(number: u64, missing: &str) -> String {
    format!("{} reached ({missing} may be missing)", counted(number, "bucket or candidate limit"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_digits() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn percent_does_not_round_to_0_or_100() {
        let cases = [(0, 0), (0, 9), (1, 100_000), (1, 3), (99_999, 100_000), (9, 9)];
        let written = cases.map(|(part, whole)| percent(part, whole));
        assert_eq!(written, ["–", "0.0 %", "< 0.1 %", "33.3 %", "> 99.9 %", "100.0 %"]);
    }

    #[test]
    fn bytes_use_the_largest_unit() {
        let sizes = [0, 1, 999, 1000, 999_949, 999_950, 1_234_567, u64::MAX].map(sized);
        let written = ["0 bytes", "1 byte", "999 bytes", "1.0 kB", "999.9 kB", "1.0 MB", "1.2 MB", "18.4 EB"];
        assert_eq!(sizes, written);
    }

    #[test]
    fn similarities_round_down() {
        let written = [1.0, 0.99996, 0.8, 0.79999, 0.29, 0.0, f64::NAN].map(similarity);
        assert_eq!(written, ["1.000", "0.999", "0.800", "0.799", "0.290", "0.000", "–"]);
    }

    #[test]
    fn formats_thresholds_and_probabilities() {
        assert_eq!([0.8, 1.0, 0.0, 0.825, f64::NAN].map(threshold), ["0.8", "1", "0", "0.825", "–"]);
        assert_eq!(
            [0.99499, 1.0, 0.9999, 7.0].map(chance),
            ["99.4\u{a0}%", "100.0\u{a0}%", "99.9\u{a0}%", "100.0\u{a0}%"]
        );
    }

    #[test]
    fn shortens_the_middle() {
        assert_eq!(shortened("abcdefgh", 8), "abcdefgh");
        assert_eq!(shortened("abcdefghi", 8), "abcd…ghi");
        assert_eq!(shortened("äöüßéèê", 5), "äö…èê");
        assert_eq!(shortened("abc", 1), "…");
    }
}
