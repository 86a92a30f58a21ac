//! Text processing: how does a text become tokens?
//!
//! One pass folds case and compatibility variants, removes invisible characters, and finds words by Unicode's rules. The
//! tokens are delivered in batches of a few kilobytes, while they are still in the CPU cache, without an allocation per
//! token. [`decode`] replaces and counts bytes that are not valid UTF-8.

mod accents;
mod chars;
mod entities;
mod html;
mod normalize;
mod plain;
mod stopwords;
mod tokenize;
mod words;

pub(crate) use normalize::WordNormalizer;
pub use normalize::normalize;
#[doc(hidden)]
pub use normalize::{Decoded, decode};
pub(crate) use plain::{Edits, Plain, Rules};
pub use stopwords::StopWords;
pub(crate) use stopwords::is_one_word;
pub(crate) use tokenize::{Batch, TextScratch, for_each_batch};

use crate::config::Tokenizer;

/// Version of the normalization and tokenization rules, part of every scheme. Increase it when the tokens of any text
/// change.
pub(crate) const VERSION: u32 = 1;

/// A byte range of the source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

/// The byte range of a token in a buffer. The layout is fixed because a SIMD kernel loads several ranges at once.
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

/// Number of readable bytes after the last token of a token buffer.
pub(crate) const PADDING: usize = 16;

/// A token and its position in the source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Normalized text of the token.
    pub text: String,
    /// Byte range of the token in the source text.
    pub span: Span,
}

/// Returns the tokens of a text with their positions. For inspection; the engine never builds this list.
///
/// ```
/// use sameish::config::Tokenizer;
/// use sameish::text::tokens;
///
/// let words = |text| -> Vec<String> { tokens(Tokenizer::Unicode, text).into_iter().map(|t| t.text).collect() };
/// assert_eq!(words("Don’t PANIC: 3.14 ≠ π!"), ["don't", "panic", "3.14", "π"]);
/// assert_eq!(words("東京タワー"), ["東", "京", "タワー"]);
/// ```
pub fn tokens(tokenizer: Tokenizer, text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for_each_batch(tokenizer, text, &mut TextScratch::default(), |batch| {
        let token = |(bytes, span)| Token { text: String::from_utf8_lossy(bytes).into_owned(), span };
        tokens.extend(batch.located().map(token));
    });
    tokens
}

/// Calls `each` for every word that the Unicode tokenizer finds in a text.
fn tokenize_unicode(text: &str, mut each: impl FnMut(&[u8])) {
    for_each_batch(Tokenizer::Unicode, text, &mut TextScratch::default(), |batch| {
        (0..batch.tokens.len()).for_each(|i| each(batch.token(i)));
    });
}
