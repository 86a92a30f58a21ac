//! Publication dates.

use crate::error::{Error, Result};
use jiff::civil::Time;
use jiff::fmt::{rfc2822, temporal};
use jiff::tz::Offset;

/// A point in time with nanosecond precision, in the years -9999 to 9999. Later timestamps are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Parses a date in one of the formats that articles and feeds use. Surrounding whitespace is ignored.
    ///
    /// | format | example |
    /// |---|---|
    /// | RFC 3339, ISO 8601 | `2024-01-01T12:00:00Z`, `2024-01-01 12:00:00.25+05:30`, `20240101T120000Z` |
    /// | without an offset (UTC) | `2024-01-01T12:00:00` |
    /// | date only (midnight UTC) | `2024-01-01`, `20240101` |
    /// | RFC 2822 (the day of the week is not checked) | `Mon, 01 Jan 2024 12:00:00 GMT` |
    /// | Unix time in seconds (10 digits) or milliseconds (13 digits) | `1704110400`, `1704110400000` |
    ///
    /// Digits of other lengths are not accepted as Unix time, because 8 digits are a date. If a time has both an offset and
    /// the name of a time zone, the offset is used. A time zone name without an offset is rejected, because its meaning
    /// depends on the version of the time zone database.
    ///
    /// ```
    /// use sameish::Timestamp;
    ///
    /// let noon = Timestamp::parse("2024-01-01T12:00:00Z")?;
    /// assert_eq!(Timestamp::parse("Mon, 01 Jan 2024 13:00:00 +0100")?, noon);
    /// assert!(Timestamp::parse("2024-01-01")? < noon);
    /// assert!(Timestamp::parse("yesterday").is_err());
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Timestamp> {
        let trimmed = text.trim();
        let parsed =
            if !trimmed.is_empty() && trimmed.bytes().all(|byte| byte.is_ascii_digit()) && trimmed.len() != 8
            {
                from_unix(trimmed)
            } else {
                from_iso(trimmed).or_else(|| from_feed(trimmed))
            };
        parsed.map(Timestamp).ok_or_else(|| Error::field("published_at", quoted(text), DATE_FORMATS))
    }

    /// Creates a timestamp from milliseconds since 1970-01-01 UTC. Returns `None` if it is out of range.
    pub fn from_milliseconds(milliseconds: i64) -> Option<Timestamp> {
        jiff::Timestamp::from_millisecond(milliseconds).ok().map(Timestamp)
    }

    /// Returns milliseconds since 1970-01-01 UTC, rounded towards zero.
    pub fn as_milliseconds(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Returns microseconds since 1970-01-01 UTC, rounded towards zero.
    pub fn as_microseconds(self) -> i64 {
        self.0.as_microsecond()
    }
}

/// Formats the timestamp as RFC 3339 in UTC.
impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

const DATE_FORMATS: &str = "a date such as 2024-01-31, 2024-01-31T12:00:00Z or Wed, 31 Jan 2024 12:00:00 GMT";
/// Maximum number of characters of an invalid date in an error message.
const MAX_QUOTED: usize = 60;

fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{:?} and more", &text[..end]),
        None => format!("{text:?}"),
    }
}

fn from_unix(digits: &str) -> Option<jiff::Timestamp> {
    let number = digits.parse().ok()?;
    match digits.len() {
        10 => jiff::Timestamp::from_second(number).ok(),
        13 => jiff::Timestamp::from_millisecond(number).ok(),
        _ => None,
    }
}

fn from_iso(text: &str) -> Option<jiff::Timestamp> {
    let pieces = temporal::DateTimeParser::new().parse_pieces(text).ok()?;
    let offset = match (pieces.to_numeric_offset(), pieces.time_zone_annotation()) {
        (Some(offset), _) => offset,
        (None, Some(_)) => return None,
        (None, None) => Offset::UTC,
    };
    let time = pieces.time().unwrap_or(Time::midnight());
    offset.to_timestamp(pieces.date().to_datetime(time)).ok()
}

fn from_feed(text: &str) -> Option<jiff::Timestamp> {
    rfc2822::DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(text: &str) -> String {
        Timestamp::parse(text).map_or_else(|e| e.to_string(), |timestamp| timestamp.to_string())
    }

    #[test]
    fn parses_dates_of_articles_and_feeds() {
        for (text, expected) in [
            ("2024-01-01", "2024-01-01T00:00:00Z"),
            ("20240101", "2024-01-01T00:00:00Z"),
            ("2024-01-01T12:30:00", "2024-01-01T12:30:00Z"),
            ("2024-01-01T12:30", "2024-01-01T12:30:00Z"),
            ("2024-01-01 12:30:00Z", "2024-01-01T12:30:00Z"),
            ("2024-01-01t12:30:00z", "2024-01-01T12:30:00Z"),
            ("  2024-01-01T12:30:00.123456789+05:30\n", "2024-01-01T07:00:00.123456789Z"),
            ("2024-01-01T00:00:00-00:00", "2024-01-01T00:00:00Z"),
            ("2024-02-29T23:59:60Z", "2024-02-29T23:59:59Z"),
            ("2024-01-01T00:00:00+01:00[Europe/Berlin]", "2023-12-31T23:00:00Z"),
            ("-000044-03-15", "-000044-03-15T00:00:00Z"),
            ("Mon, 01 Jan 2024 12:00:00 GMT", "2024-01-01T12:00:00Z"),
            ("Sun, 1 Jan 2024 12:00 -0500", "2024-01-01T17:00:00Z"),
            ("1 Jan 2024 12:00:00 EST", "2024-01-01T17:00:00Z"),
            ("1704110400", "2024-01-01T12:00:00Z"),
            ("1704110400123", "2024-01-01T12:00:00.123Z"),
        ] {
            assert_eq!(utc(text), expected, "{text}");
        }
    }

    #[test]
    fn rejects_invalid_dates_and_quotes_them() {
        let long = "x".repeat(100_000);
        for text in [
            "",
            " ",
            "yesterday",
            "2024-02-30",
            "2024-13-01",
            "2023-02-29T00:00:00Z",
            "2024-01-01T25:00:00Z",
            "01/02/2024",
            "12",
            "170411040",
            "17041104001",
            "99999999",
            "2024-01-01T00:00[Europe/Berlin]",
            "2024-01-01Tnoon",
            "9999-12-31T23:59:59-10:00",
            "2024-01-01\0",
            "２０２４-01-01",
            &long,
        ] {
            let message = utc(text);
            assert!(
                message.starts_with("`published_at` is \"") && message.contains("must be a date such as"),
                "{message}"
            );
            assert!(message.len() < 300);
        }
        assert!(utc("2024-02-30").contains("\"2024-02-30\""));
    }

    #[test]
    fn later_timestamps_are_greater_regardless_of_offset() {
        let [a, b, c] = ["2024-01-01T00:00:00+05:00", "2024-01-01T00:00:00Z", "2023-12-31T23:59:59-01:00"]
            .map(|text| Timestamp::parse(text).unwrap());
        assert!(a < b && b < c);
        assert_eq!(c.as_milliseconds(), 1_704_070_799_000);
    }
}
