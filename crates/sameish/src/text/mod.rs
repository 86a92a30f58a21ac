//! How is it split?
//!
//! Text becomes tokens in one pass: case, style and invisible characters go, words are found by Unicode's rules, and
//! the tokens of a few kilobytes at a time are handed on while they are still in the cache. Nothing is allocated for a
//! token. Bytes that are no UTF-8 are replaced and counted by [`decode`].

mod chars;
mod normalize;
mod stopwords;
mod tokenize;
mod words;

pub use normalize::{Decoded, decode, normalize};
pub use stopwords::StopWords;
pub(crate) use tokenize::{Batch, TextScratch, for_each_batch};

use crate::config::Tokenizer;

/// Version of the rules of this room; part of every scheme. Raise it when any text may split differently.
pub(crate) const VERSION: u32 = 1;

/// A stretch of bytes of the source text, half open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
}

/// Where a token lies in a buffer. The layout is fixed because a kernel reads several at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct TokenRange {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl TokenRange {
    pub(crate) fn of(self, buffer: &[u8]) -> &[u8] {
        &buffer[self.start as usize..self.end as usize]
    }
}

/// Readable bytes that a buffer of tokens has behind the last of them.
pub(crate) const PADDING: usize = 16;

/// A token and where it stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its normalized text.
    pub text: String,
    /// The bytes of the source that it came from.
    pub span: Span,
}

/// The tokens of a text, with where they stood. For looking at; the engine never builds this list.
///
/// ```
/// use sameish::{Tokenizer, tokens};
///
/// let words = |text| -> Vec<String> { tokens(Tokenizer::Unicode, text).into_iter().map(|t| t.text).collect() };
/// assert_eq!(words("Don’t PANIC: 3.14 ≠ π!"), ["don't", "panic", "3.14", "π"]);
/// assert_eq!(words("東京タワー"), ["東", "京", "タワー"]);
/// ```
pub fn tokens(tokenizer: Tokenizer, text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for_each_batch(tokenizer, text, &mut TextScratch::default(), |batch| {
        tokens.extend((0..batch.tokens.len()).map(|i| Token {
            text: String::from_utf8_lossy(batch.token(i)).into_owned(),
            span: batch.span(i),
        }));
    });
    tokens
}

/// The words of a text by the Unicode tokenizer, one after the other.
fn tokenize_unicode(text: &str, mut each: impl FnMut(&[u8])) {
    for_each_batch(Tokenizer::Unicode, text, &mut TextScratch::default(), |batch| {
        (0..batch.tokens.len()).for_each(|i| each(batch.token(i)));
    });
}
