//! Numbers written in words.

use crate::text::Span;

/// A number written in words.
#[derive(Clone, Copy)]
pub(super) struct Spelled {
    pub(super) span: Span,
    /// The sum of the parts that have been multiplied by a power of ten.
    pub(super) total: u128,
    /// The part after the last power of ten.
    pub(super) current: u128,
    /// The end of the last power of ten, and the start of the part after it.
    pub(super) total_end: usize,
    pub(super) current_start: usize,
    /// The last power of ten, or 0.
    pub(super) scale: u32,
    /// Whether the last word is a French number.
    pub(super) french: bool,
}

impl Spelled {
    pub(super) fn new(span: Span, current: u128) -> Spelled {
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
    pub(super) fn accepts(&self, value: u128) -> bool {
        let last = self.current % 100;
        let after_tens = last >= 20 && last.is_multiple_of(10) && value < 10;
        let french_teens = self.french && matches!(last, 60 | 80) && (10..20).contains(&value);
        let french_eighty = self.french && last == 4 && value == 20;
        let after_hundreds = self.current >= 100 && last == 0 && value < 100;
        let after_scale = self.current == 0 && self.scale > 0 && value < 10u128.pow(self.scale);
        after_tens || french_teens || french_eighty || after_hundreds || after_scale
    }

    /// Adds a number word that can follow.
    pub(super) fn add(&mut self, value: u128, span: Span) {
        if self.current == 0 {
            self.current_start = span.start;
        }
        // "quatre-vingts" is four times twenty.
        let is_eighty = self.current % 100 == 4 && value == 20;
        self.current += if is_eighty { 76 } else { value };
        self.span.end = span.end;
    }

    /// Separates the part after the last power of ten: "two" in "three million and two", before "billion".
    pub(super) fn split_off(&mut self) -> Option<Spelled> {
        let rest = Spelled::new(Span { start: self.current_start, end: self.span.end }, self.current);
        let splits = self.scale > 0 && self.current > 0;
        splits.then(|| {
            self.current = 0;
            self.span.end = self.total_end;
            rest
        })
    }

    /// Multiplies by a power of ten: the part after the last power, or everything ("mil millones").
    pub(super) fn scale_by(&mut self, power: u32, span: Span) -> bool {
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
