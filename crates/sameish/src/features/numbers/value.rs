//! Values of numbers: decimals and fractions.

use super::mix;

/// The value of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// mantissa * 10^exponent.
    Decimal { mantissa: u128, exponent: i32 },
    /// The hash of a number that is compared as it is written.
    Opaque(u64),
}

impl Value {
    pub(super) fn integer(value: u128) -> Value {
        Value::Decimal { mantissa: value, exponent: 0 }
    }

    /// Multiplies by a power of ten.
    pub(super) fn scaled(self, power: u32) -> Value {
        match self {
            Value::Decimal { mantissa, exponent } => {
                Value::Decimal { mantissa, exponent: exponent + power as i32 }
            }
            Value::Opaque(hash) => Value::Opaque(mix(hash, u64::from(power))),
        }
    }

    /// Adds a fraction below 1, exactly if it has a finite decimal form.
    pub(super) fn plus_fraction(self, Fraction { numerator, denominator }: Fraction) -> Value {
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

    pub(super) fn hash(self) -> u64 {
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
pub(super) struct Fraction {
    pub(super) numerator: u32,
    pub(super) denominator: u32,
}

impl Fraction {
    /// Returns the fraction if it is one that is usual in prices and measures. `9/11` is more often a date.
    pub(super) fn usual(numerator: u32, denominator: u32) -> Option<Fraction> {
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

/// Returns the fraction that a character such as `½` stands for.
pub(super) fn vulgar(c: char) -> Option<Fraction> {
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
