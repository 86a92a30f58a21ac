//! How does a text become tokens at memory speed?
//!
//! Most text is ASCII, or ASCII with a few other characters. So a chunk of 4 kB is first classified 64 bytes at a time
//! (see [`simd`](crate::simd)): letters, digits, characters that may join two of them, and bytes that need a closer
//! look. The rules for words are then a handful of operations on 64-bit masks, and the words are the runs of ones. Where
//! a run holds a byte that is no ASCII, its words come from the careful path instead ([`normalize`](super::normalize) and
//! [`words`](super::words)), and take their place among the others.
//!
//! A chunk ends at a byte that no word can span, so that nothing is carried over; where there is none, it grows.

use super::chars::Entry;
use super::normalize::Normalizer;
use super::words::WordSink;
use super::{PADDING, Span, TokenRange};
use crate::config::Tokenizer;
use crate::simd::{self, BLOCK, Level, Masks};

/// Bytes that are looked at together. Small enough that all buffers stay in the first-level cache.
const CHUNK: usize = 64 * BLOCK;

/// Buffers that are used again for every text.
#[derive(Default)]
pub(crate) struct TextScratch {
    /// The lower-cased chunk, then the words that took the careful path, then at least the padding. Never made smaller, so
    /// that it is not cleared for each chunk.
    bytes: Vec<u8>,
    /// Bytes of the chunk, in whole blocks.
    chunk: usize,
    masks: Vec<Masks>,
    rules: Rules,
    tokens: Vec<TokenRange>,
    merged: Vec<TokenRange>,
    /// Runs that take the careful path, as bytes of the chunk.
    careful: Vec<TokenRange>,
    edges: Vec<u32>,
    sink: WordSink,
    normalizer: Normalizer,
}

/// What the rules make of a chunk, a mask for each block of 64 bytes.
#[derive(Default)]
struct Rules {
    /// Bytes within words.
    words: Vec<u64>,
    /// Bytes that could be within words if they were looked at more closely.
    runs: Vec<u64>,
    /// Bytes for whose sake their run must be.
    triggers: Vec<u64>,
}

/// The tokens of a part of a text.
pub(crate) struct Batch<'a> {
    /// The tokens lie in these bytes, which go on for [`PADDING`] bytes behind the last of them.
    pub(crate) bytes: &'a [u8],
    pub(crate) tokens: &'a [TokenRange],
    /// Where the chunk begins in the text, and how long it is in `bytes`; 0 if every token has a span of its own.
    base: usize,
    chunk: u32,
    /// The words behind the chunk in `bytes`, and where they stood in the text.
    careful: &'a [TokenRange],
    spans: &'a [Span],
}

impl Batch<'_> {
    pub(crate) fn token(&self, i: usize) -> &[u8] {
        self.tokens[i].of(self.bytes)
    }

    /// Where a token stood in the text.
    pub(crate) fn span(&self, i: usize) -> Span {
        let token = self.tokens[i];
        if self.chunk == 0 {
            return self.spans[i];
        }
        if token.start < self.chunk {
            return Span { start: self.base + token.start as usize, end: self.base + token.end as usize };
        }
        let start = token.start - self.chunk;
        let span = self.spans[self.careful.partition_point(|word| word.start < start)];
        Span { start: self.base + span.start, end: self.base + span.end }
    }
}

/// Hands the tokens of a text to `sink`, a few hundred at a time and in order.
pub(crate) fn for_each_batch(
    tokenizer: Tokenizer,
    text: &str,
    scratch: &mut TextScratch,
    mut sink: impl FnMut(&Batch<'_>),
) {
    if tokenizer == Tokenizer::Whitespace {
        return scratch.split_at_white_space(text, sink);
    }
    let (mut at, mut size) = (0, CHUNK);
    while at < text.len() {
        let end = text.floor_char_boundary(at + size);
        match scratch.chunk(tokenizer, text, at, end) {
            Some(taken) => {
                sink(&scratch.batch(at));
                (at, size) = (at + taken, CHUNK);
            }
            // A single word that is longer than the chunk. Doubling keeps the cost linear.
            None => size *= 2,
        }
    }
}

impl TextScratch {
    /// Finds the tokens of `text` from `at` on and tells how many bytes they were found in; nothing if there is no place
    /// before `end` where the text can be cut.
    fn chunk(&mut self, tokenizer: Tokenizer, text: &str, at: usize, end: usize) -> Option<usize> {
        let chunk = &text.as_bytes()[at..end];
        // One more block, so that the last word ends within.
        let blocks = chunk.len() / BLOCK + 1;
        self.chunk = blocks * BLOCK;
        grow(&mut self.bytes, self.chunk + PADDING, 0);
        grow(&mut self.masks, blocks, Masks::default());
        let masks = &mut self.masks[..blocks];
        simd::classify(Level::current(), chunk, &mut self.bytes[..self.chunk], masks);
        match tokenizer {
            Tokenizer::AsciiWords => self.rules.apply_ascii(masks, chunk),
            _ => self.rules.apply_unicode(masks),
        }
        let taken = if end == text.len() { chunk.len() } else { self.find_cut(tokenizer, text, at, end)? };
        self.find_tokens(tokenizer, &text[at..at + taken]);
        Some(taken)
    }

    fn batch(&self, base: usize) -> Batch<'_> {
        Batch {
            bytes: &self.bytes,
            tokens: &self.tokens,
            base,
            chunk: self.chunk as u32,
            careful: &self.sink.words,
            spans: &self.sink.spans,
        }
    }

    /// Length of the part of the chunk that can be taken without the rest.
    fn find_cut(&self, tokenizer: Tokenizer, text: &str, at: usize, end: usize) -> Option<usize> {
        let length = end - at;
        for (i, run) in self.rules.runs.iter().enumerate().rev() {
            let breaks = !run & ones_below(length.saturating_sub(i * BLOCK));
            if breaks != 0 {
                return Some(i * BLOCK + BLOCK - breaks.leading_zeros() as usize);
            }
        }
        if tokenizer == Tokenizer::AsciiWords {
            return None;
        }
        let text = &text[at..text.floor_char_boundary(end)];
        text.char_indices().rev().find(|&(i, c)| i > 0 && Entry::of(c).is_safe_break()).map(|(i, _)| i)
    }

    /// Turns the masks of a chunk into tokens.
    fn find_tokens(&mut self, tokenizer: Tokenizer, chunk: &str) {
        self.sink.bytes.clear();
        self.sink.words.clear();
        self.sink.spans.clear();
        self.careful.clear();
        self.rules.cut(chunk.len());
        self.rules.take_careful_runs(&mut self.careful);
        self.extract_runs();
        if !self.careful.is_empty() {
            self.take_care(tokenizer, chunk);
        }
    }

    /// Lists the runs of ones.
    fn extract_runs(&mut self) {
        let bits = self.rules.words.len() * BLOCK;
        grow(&mut self.edges, bits + BLOCK, 0);
        let mut count = simd::list_edges(Level::current(), &self.rules.words, &mut self.edges);
        if count % 2 == 1 {
            // The chunk ends within its last word and its last block.
            self.edges[count] = bits as u32;
            count += 1;
        }
        self.tokens.clear();
        let (pairs, _) = self.edges[..count].as_chunks::<2>();
        self.tokens.extend(pairs.iter().map(|&[start, end]| TokenRange { start, end }));
    }

    /// Replaces each run that needs a closer look by the words that are found in it.
    fn take_care(&mut self, tokenizer: Tokenizer, chunk: &str) {
        let behind = self.chunk as u32;
        self.merged.clear();
        let mut done = 0;
        for i in 0..self.careful.len() {
            let run = self.careful[i];
            let at = done + self.tokens[done..].partition_point(|token| token.start < run.start);
            self.merged.extend_from_slice(&self.tokens[done..at]);
            done = at + 1;
            let first = self.sink.words.len();
            let (start, end) = (run.start as usize, run.end as usize);
            self.look_closer(tokenizer, &chunk[start..end], start);
            let moved = |word: &TokenRange| TokenRange { start: word.start + behind, end: word.end + behind };
            self.merged.extend(self.sink.words[first..].iter().map(moved));
        }
        self.merged.extend_from_slice(&self.tokens[done..]);
        std::mem::swap(&mut self.tokens, &mut self.merged);
        let end = self.chunk + self.sink.bytes.len();
        grow(&mut self.bytes, end + PADDING, 0);
        self.bytes[self.chunk..end].copy_from_slice(&self.sink.bytes);
    }

    fn look_closer(&mut self, tokenizer: Tokenizer, run: &str, start: usize) {
        if tokenizer == Tokenizer::AsciiWords {
            return ascii_words_of(run, start, &mut self.sink);
        }
        let sink = &mut self.sink;
        self.normalizer.push_text(run, start, |folded| sink.push(folded));
        self.normalizer.flush(&mut |folded| sink.push(folded));
        sink.close();
    }
}

impl Rules {
    /// Words by Unicode's rules, as far as ASCII goes: letters, digits and `_` join each other, `' . :` join two letters
    /// and `' . , ;` two digits (UAX #29, rules WB5 to WB13b).
    fn apply_unicode(&mut self, masks: &[Masks]) {
        self.resize(masks.len());
        let (words, runs, triggers) = (&mut self.words[..], &mut self.runs[..], &mut self.triggers[..]);
        let nothing = Masks::default();
        let mut before = &nothing;
        for (i, mask) in masks.iter().enumerate() {
            let after = masks.get(i + 1).unwrap_or(&nothing);
            let between =
                |this: u64, before: u64, after: u64| (this << 1 | before >> 63) & (this >> 1 | after << 63);
            let letters = mask.mid_letter & between(mask.letter, before.letter, after.letter);
            let digits = mask.mid_number & between(mask.digit, before.digit, after.digit);
            let inside = mask.letter | mask.digit | mask.underscore | letters | digits;
            // A word that begins with `_` may have nothing else in it, and is none then.
            let first = mask.underscore & !(inside << 1 | words_end(before));
            words[i] = inside;
            runs[i] = inside | mask.mid_letter | mask.mid_number | mask.quote | mask.complex;
            triggers[i] = mask.complex | first;
            before = mask;
        }
    }

    /// Words of the seeds: two or more of `a-z 0-9 _`, the text in lower case. Of all other characters only the Kelvin
    /// sign and the dotted capital I have one of these in their lower case, so only they need a closer look.
    fn apply_ascii(&mut self, masks: &[Masks], chunk: &[u8]) {
        self.resize(masks.len());
        for (i, mask) in masks.iter().enumerate() {
            self.words[i] = mask.letter | mask.digit | mask.underscore;
            self.runs[i] = self.words[i];
            self.triggers[i] = 0;
        }
        for (i, mask) in masks.iter().enumerate() {
            let mut complex = mask.complex;
            while complex != 0 {
                let at = i * BLOCK + complex.trailing_zeros() as usize;
                complex &= complex.wrapping_sub(1);
                for byte in at..at + lower_case_is_ascii(&chunk[at..]) {
                    self.runs[byte / BLOCK] |= 1 << (byte % BLOCK);
                    self.triggers[byte / BLOCK] |= 1 << (byte % BLOCK);
                }
            }
        }
        self.drop_single_bytes();
    }

    fn drop_single_bytes(&mut self) {
        let mut before = 0;
        for i in 0..self.words.len() {
            let words = self.words[i];
            let after = self.words.get(i + 1).map_or(0, |next| next << 63);
            self.words[i] &= words << 1 | before | words >> 1 | after;
            before = words >> 63;
        }
    }

    fn resize(&mut self, blocks: usize) {
        self.words.resize(blocks, 0);
        self.runs.resize(blocks, 0);
        self.triggers.resize(blocks, 0);
    }

    /// Forgets what lies behind `length` bytes.
    fn cut(&mut self, length: usize) {
        let last = length / BLOCK;
        for masks in [&mut self.words, &mut self.runs, &mut self.triggers] {
            masks.truncate(last + 1);
            masks[last] &= ones_below(length - last * BLOCK);
        }
    }

    /// Lists the stretches that need a closer look and makes one run of ones of each, to keep its place.
    fn take_careful_runs(&mut self, careful: &mut Vec<TokenRange>) {
        for i in 0..self.triggers.len() {
            while self.triggers[i] != 0 {
                let run = self.run_around(i * BLOCK + self.triggers[i].trailing_zeros() as usize);
                self.fill(run);
                careful.push(run);
            }
        }
    }

    /// The run of bytes around one of them that may be within words.
    fn run_around(&self, at: usize) -> TokenRange {
        let (first, bit) = (at / BLOCK, at % BLOCK);
        let mut start = at + 1 - (self.runs[first] << (63 - bit)).leading_ones() as usize;
        for i in (0..first).rev() {
            if start != (i + 1) * BLOCK {
                break;
            }
            start -= self.runs[i].leading_ones() as usize;
        }
        let mut end = at + (self.runs[first] >> bit).trailing_ones() as usize;
        for i in first + 1..self.runs.len() {
            if end != i * BLOCK {
                break;
            }
            end += self.runs[i].trailing_ones() as usize;
        }
        TokenRange { start: start as u32, end: end as u32 }
    }

    /// Makes the run one word for now, with nothing left to trigger.
    fn fill(&mut self, run: TokenRange) {
        let (start, end) = (run.start as usize, run.end as usize);
        for i in start / BLOCK..end.div_ceil(BLOCK) {
            let bits = ones_below(end - i * BLOCK) & !ones_below(start.saturating_sub(i * BLOCK));
            self.words[i] |= bits;
            self.triggers[i] &= !bits;
        }
    }
}

/// Whether the last byte of a block is of a word, as bit 0. A joining character there does not matter: what follows it
/// is a letter or a digit.
fn words_end(mask: &Masks) -> u64 {
    (mask.letter | mask.digit | mask.underscore) >> 63
}

/// Length of the character at the start of `bytes` if it has an ASCII letter in its lower case without being one.
fn lower_case_is_ascii(bytes: &[u8]) -> usize {
    match bytes {
        [0xE2, 0x84, 0xAA, ..] => 3,
        [0xC4, 0xB0, ..] => 2,
        _ => 0,
    }
}

/// The words of a run with characters whose lower case is partly ASCII.
fn ascii_words_of(run: &str, start: usize, sink: &mut WordSink) {
    let mut first = None;
    let end_word = |sink: &mut WordSink, first: &mut Option<(usize, u32)>, end: usize| {
        if let Some((from, at)) = first.take() {
            let range = TokenRange { start: at, end: sink.bytes.len() as u32 };
            if range.end - range.start >= 2 {
                sink.words.push(range);
                sink.spans.push(Span { start: start + from, end: start + end });
            }
        }
    };
    for (at, c) in run.char_indices() {
        let end = at + c.len_utf8();
        for lower in c.to_lowercase() {
            if lower.is_ascii_alphanumeric() || lower == '_' {
                first.get_or_insert((at, sink.bytes.len() as u32));
                sink.bytes.push(lower as u8);
            } else {
                end_word(sink, &mut first, end);
            }
        }
    }
    end_word(sink, &mut first, run.len());
}

/// Makes a buffer at least so long.
fn grow<T: Clone>(buffer: &mut Vec<T>, length: usize, filler: T) {
    if buffer.len() < length {
        buffer.resize(length, filler);
    }
}

/// A mask with the `count` lowest bits set, all of them for 64 and more.
fn ones_below(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

impl TextScratch {
    /// Splits at runs of ASCII white space and at nothing else. White space at the very start leaves an empty token in
    /// front of it, as in the encoder this is for; at the end it does not.
    fn split_at_white_space(&mut self, text: &str, mut sink: impl FnMut(&Batch<'_>)) {
        let is_blank = |byte: u8| matches!(byte, b' ' | b'\t'..=b'\r');
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            self.bytes.clear();
            self.tokens.clear();
            self.sink.spans.clear();
            while at < bytes.len() && self.bytes.len() < CHUNK {
                let end = bytes[at..].iter().position(|&byte| is_blank(byte)).map_or(bytes.len(), |n| at + n);
                let start = self.bytes.len() as u32;
                self.bytes.extend_from_slice(&bytes[at..end]);
                self.tokens.push(TokenRange { start, end: self.bytes.len() as u32 });
                self.sink.spans.push(Span { start: at, end });
                at = bytes[end..].iter().position(|&byte| !is_blank(byte)).map_or(bytes.len(), |n| end + n);
            }
            self.bytes.resize(self.bytes.len() + PADDING, 0);
            sink(&Batch {
                bytes: &self.bytes,
                tokens: &self.tokens,
                base: 0,
                chunk: 0,
                careful: &self.tokens,
                spans: &self.sink.spans,
            });
        }
    }
}
