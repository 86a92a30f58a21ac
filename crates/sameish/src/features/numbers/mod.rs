//! Numbers in running text: which tokens form one number, and which value does it have?
//!
//! [`for_each_item`] reads a document as a sequence of words and numbers. Different spellings of a value give equal
//! numbers:
//!
//! - digits of all scripts, with or without grouping: `3,000`, `3'000`, `3000`, `٣٬٠٠٠`, and `3 000` with a space that does not
//!   break lines or in a French text;
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

mod digits;
mod reader;
mod spelled;
#[cfg(test)]
mod tests;
mod value;

use super::hash::hash_tokens;
use super::lexicon::Lexicon;
use crate::config::{TokenHash, Tokenizer};
use crate::document::ContentRef;
use crate::text::{PADDING, Plain, Span, TextScratch, TokenRange, for_each_batch};
use reader::Reader;
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
pub(crate) fn for_each_item(plain: Plain<'_>, scratch: &mut TextScratch, emit: impl FnMut(Item, Span)) {
    let lexicon = Lexicon::get(plain.folded);
    match plain.content {
        ContentRef::Text(text) => {
            let mut reader = Reader::new(Some(text), lexicon, emit);
            let mut hashes = Vec::new();
            for_each_batch(Tokenizer::Unicode, text, scratch, |batch| {
                hashes.resize(batch.tokens.len(), 0);
                hash_tokens(TokenHash::Xxh3, batch.bytes, batch.tokens, &mut hashes);
                for (&hash, (bytes, span)) in hashes.iter().zip(batch.located()) {
                    let source = text.get(span.start..span.end).unwrap_or_default();
                    reader.push(Token { bytes, hash, span, source });
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
        ContentRef::Sketches(_) => {}
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

fn begins_upper(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(byte) if byte.is_ascii() => byte.is_ascii_uppercase(),
        Some(_) => text.chars().next().is_some_and(char::is_uppercase),
        None => false,
    }
}

/// Returns the number of letters beyond the third, at most 9.
///
/// Words in scripts whose characters take three bytes (Han, Kana, Thai, Devanagari) are short, often a single character.
/// They count as four letters longer.
pub(super) fn length_class(token: &[u8]) -> u32 {
    if token.len() < 3 {
        return 0;
    }
    if token.is_ascii() {
        return (token.len() - 3).min(9) as u32;
    }
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
