//! The fast tokenizer: how are tokens found with SIMD bit masks?
//!
//! Most text is ASCII, or ASCII with a few other characters. A chunk of 4 KiB is therefore classified 64 bytes at a time
//! (see [`simd`]) into letters, digits, characters that may join two of them, and bytes that need the slow
//! path. The word rules are then a few operations on 64-bit masks, and each run of ones is a word. The words of a run with
//! non-ASCII bytes come from the slow path ([`normalize`](super::normalize) and [`words`](super::words)) and are merged
//! with the others in order.
//!
//! A chunk ends at a byte that cannot be inside a word, so no state is carried from one chunk to the next. A chunk without
//! such a byte grows.

use super::chars::Entry;
use super::normalize::Normalizer;
use super::words::WordSink;
use super::{PADDING, Span, TokenRange};
use crate::config::Tokenizer;
use crate::simd::{self, BLOCK, Level, Masks};

/// Bytes per chunk, small enough that all buffers fit into the L1 cache.
const CHUNK: usize = 64 * BLOCK;

/// Scratch space, reused across texts.
#[derive(Default)]
pub(crate) struct TextScratch {
    /// The chunk in lower case, then the words from the slow path, then at least [`PADDING`] bytes. The buffer never
    /// shrinks, so it is not cleared for each chunk.
    bytes: Vec<u8>,
    /// Length of the chunk in bytes, rounded up to whole blocks.
    chunk: usize,
    masks: Vec<Masks>,
    rules: Rules,
    tokens: Vec<TokenRange>,
    merged: Vec<TokenRange>,
    /// Byte ranges of the chunk that need the slow path.
    slow_runs: Vec<TokenRange>,
    edges: Vec<u32>,
    sink: WordSink,
    normalizer: Normalizer,
}

/// The result of the word rules for a chunk: one mask of each kind per block of 64 bytes.
#[derive(Default)]
struct Rules {
    /// Bytes inside words.
    words: Vec<u64>,
    /// Bytes that may be inside words according to the slow path.
    runs: Vec<u64>,
    /// Bytes that send their run to the slow path.
    triggers: Vec<u64>,
}

/// The tokens of a part of a text.
pub(crate) struct Batch<'a> {
    /// The text of the tokens, followed by at least [`PADDING`] bytes.
    pub(crate) bytes: &'a [u8],
    pub(crate) tokens: &'a [TokenRange],
    /// Offset of the chunk in the text.
    base: usize,
    /// Length of the chunk in `bytes`, or 0 if all tokens have an entry in `spans`.
    chunk: u32,
    /// Positions in the chunk of the words from the slow path, which follow the chunk in `bytes`.
    spans: &'a [Span],
}

impl Batch<'_> {
    pub(crate) fn token(&self, i: usize) -> &[u8] {
        self.tokens[i].of(self.bytes)
    }

    /// Returns the tokens with their positions in the text, in order.
    pub(crate) fn located(&self) -> impl Iterator<Item = (&[u8], Span)> {
        // The words from the slow path are among the tokens in their order.
        let mut spans = self.spans.iter();
        self.tokens.iter().map(move |token| {
            let span = match token.start < self.chunk {
                true => Span { start: token.start as usize, end: token.end as usize },
                false => spans.next().copied().unwrap_or_else(|| unreachable!("each slow word has a span")),
            };
            (token.of(self.bytes), Span { start: self.base + span.start, end: self.base + span.end })
        })
    }
}

/// Passes the tokens of a text to `sink` in order, in batches of a few hundred.
pub(crate) fn for_each_batch(
    tokenizer: Tokenizer,
    text: &str,
    scratch: &mut TextScratch,
    mut sink: impl FnMut(&Batch<'_>),
) {
    if tokenizer == Tokenizer::Whitespace {
        return scratch.split_at_whitespace(text, sink);
    }
    let mut at = 0;
    let mut size = CHUNK;
    while at < text.len() {
        let end = text.floor_char_boundary(at + size);
        match scratch.chunk(tokenizer, text, at, end) {
            Some(taken) => {
                sink(&scratch.batch(at));
                at += taken;
                size = CHUNK;
            }
            // One word is longer than the chunk. Doubling keeps the total cost linear.
            None => size *= 2,
        }
    }
}

impl TextScratch {
    /// Finds the tokens of a prefix of `text[at..end]` and returns its length in bytes, or `None` if the text cannot be
    /// split anywhere before `end`.
    fn chunk(&mut self, tokenizer: Tokenizer, text: &str, at: usize, end: usize) -> Option<usize> {
        let chunk = &text.as_bytes()[at..end];
        // One extra block, so that the last word ends inside the blocks.
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
        self.normalizer.begin_part(at);
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
            spans: &self.sink.spans,
        }
    }

    /// Returns the length of the longest prefix of the chunk after which the text can be split.
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

    /// Converts the masks of a chunk into tokens.
    fn find_tokens(&mut self, tokenizer: Tokenizer, chunk: &str) {
        self.sink.bytes.clear();
        self.sink.words.clear();
        self.sink.spans.clear();
        self.slow_runs.clear();
        self.rules.truncate(chunk.len());
        self.rules.list_slow_runs(&mut self.slow_runs);
        self.extract_runs();
        if !self.slow_runs.is_empty() {
            self.replace_slow_runs(tokenizer, chunk);
        }
    }

    /// Makes a token of each run of ones in the word masks.
    fn extract_runs(&mut self) {
        let bits = self.rules.words.len() * BLOCK;
        grow(&mut self.edges, bits + BLOCK, 0);
        let mut count = simd::list_edges(Level::current(), &self.rules.words, &mut self.edges);
        if count % 2 == 1 {
            // The chunk ends inside its last word, at the end of the last block.
            self.edges[count] = bits as u32;
            count += 1;
        }
        self.tokens.clear();
        let (pairs, _) = self.edges[..count].as_chunks::<2>();
        self.tokens.extend(pairs.iter().map(|&[start, end]| TokenRange { start, end }));
    }

    /// Replaces each run that needs the slow path by the words that the slow path finds in it.
    fn replace_slow_runs(&mut self, tokenizer: Tokenizer, chunk: &str) {
        let offset = self.chunk as u32;
        self.merged.clear();
        let mut done = 0;
        for i in 0..self.slow_runs.len() {
            let run = self.slow_runs[i];
            let at = done + self.tokens[done..].partition_point(|token| token.start < run.start);
            self.merged.extend_from_slice(&self.tokens[done..at]);
            done = at + 1;
            let first = self.sink.words.len();
            let start = run.start as usize;
            self.split_slow_run(tokenizer, &chunk[start..run.end as usize], start);
            let moved = |word: &TokenRange| TokenRange { start: word.start + offset, end: word.end + offset };
            self.merged.extend(self.sink.words[first..].iter().map(moved));
        }
        self.merged.extend_from_slice(&self.tokens[done..]);
        std::mem::swap(&mut self.tokens, &mut self.merged);
        let end = self.chunk + self.sink.bytes.len();
        grow(&mut self.bytes, end + PADDING, 0);
        self.bytes[self.chunk..end].copy_from_slice(&self.sink.bytes);
    }

    /// Appends the words of a run that begins at byte `start` of the chunk to the sink.
    fn split_slow_run(&mut self, tokenizer: Tokenizer, run: &str, start: usize) {
        if tokenizer == Tokenizer::AsciiWords {
            return push_ascii_words(run, start, &mut self.sink);
        }
        let sink = &mut self.sink;
        self.normalizer.push_text(run, start, sink);
        self.normalizer.flush(sink);
        sink.close();
    }
}

impl Rules {
    /// Applies Unicode's word rules to ASCII: letters, digits and `_` form words; `' . :` join two letters and `' . , ;`
    /// join two digits (UAX #29, rules WB5 to WB13b).
    fn apply_unicode(&mut self, masks: &[Masks]) {
        self.resize(masks.len());
        let words = &mut self.words[..];
        let runs = &mut self.runs[..];
        let triggers = &mut self.triggers[..];
        let nothing = Masks::default();
        let mut before = &nothing;
        for (i, mask) in masks.iter().enumerate() {
            let after = masks.get(i + 1).unwrap_or(&nothing);
            let between =
                |this: u64, before: u64, after: u64| (this << 1 | before >> 63) & (this >> 1 | after << 63);
            let letters = mask.mid_letter & between(mask.letter, before.letter, after.letter);
            let digits = mask.mid_number & between(mask.digit, before.digit, after.digit);
            let inside = mask.letter | mask.digit | mask.underscore | letters | digits;
            // A run that begins with `_` may consist of underscores only, and is not a word then.
            let first = mask.underscore & !(inside << 1 | ends_in_word(before));
            words[i] = inside;
            runs[i] = inside | mask.mid_letter | mask.mid_number | mask.quote | mask.complex;
            triggers[i] = mask.complex | first;
            before = mask;
        }
    }

    /// Applies the rule of [`Tokenizer::AsciiWords`]: a word is a run of at least two of `a-z 0-9 _` in the lower-cased
    /// text. The Kelvin sign and the dotted capital I are the only non-ASCII characters with an ASCII letter in their
    /// lower case, so only they need the slow path.
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
                for byte in at..at + len_if_lower_case_has_ascii(&chunk[at..]) {
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

    /// Clears the masks after the first `length` bytes.
    fn truncate(&mut self, length: usize) {
        let last = length / BLOCK;
        for masks in [&mut self.words, &mut self.runs, &mut self.triggers] {
            masks.truncate(last + 1);
            masks[last] &= ones_below(length - last * BLOCK);
        }
    }

    /// Lists the runs that need the slow path and marks each as one word, as a placeholder for its words.
    fn list_slow_runs(&mut self, slow_runs: &mut Vec<TokenRange>) {
        for i in 0..self.triggers.len() {
            while self.triggers[i] != 0 {
                let run = self.run_around(i * BLOCK + self.triggers[i].trailing_zeros() as usize);
                self.fill(run);
                slow_runs.push(run);
            }
        }
    }

    /// Returns the run of `runs` bits that contains byte `at`.
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

    /// Marks the run as one word and clears its triggers.
    fn fill(&mut self, run: TokenRange) {
        let start = run.start as usize;
        let end = run.end as usize;
        for i in start / BLOCK..end.div_ceil(BLOCK) {
            let bits = ones_below(end - i * BLOCK) & !ones_below(start.saturating_sub(i * BLOCK));
            self.words[i] |= bits;
            self.triggers[i] &= !bits;
        }
    }
}

/// Returns 1 if the last byte of a block is a letter, a digit or `_`. Joining characters need no check, because a letter
/// or a digit follows them in a word.
fn ends_in_word(mask: &Masks) -> u64 {
    (mask.letter | mask.digit | mask.underscore) >> 63
}

/// Returns the length in bytes of the first character if it is not ASCII but its lower case contains an ASCII letter,
/// and 0 otherwise.
fn len_if_lower_case_has_ascii(bytes: &[u8]) -> usize {
    match bytes {
        [0xE2, 0x84, 0xAA, ..] => 3,
        [0xC4, 0xB0, ..] => 2,
        _ => 0,
    }
}

/// Appends the words of a run that contains characters whose lower case is partly ASCII.
fn push_ascii_words(run: &str, start: usize, sink: &mut WordSink) {
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

/// Extends a buffer to at least `length` items.
fn grow<T: Clone>(buffer: &mut Vec<T>, length: usize, filler: T) {
    if buffer.len() < length {
        buffer.resize(length, filler);
    }
}

/// Returns a mask with the lowest `count` bits set, all 64 if `count` is larger.
fn ones_below(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

impl TextScratch {
    /// Splits at runs of ASCII whitespace only. Whitespace at the start of the text produces an empty first token, as in
    /// the sparse document encoder that this rule comes from; whitespace at the end does not.
    fn split_at_whitespace(&mut self, text: &str, mut sink: impl FnMut(&Batch<'_>)) {
        let is_space = |byte: u8| matches!(byte, b' ' | b'\t'..=b'\r');
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            self.bytes.clear();
            self.tokens.clear();
            self.sink.spans.clear();
            while at < bytes.len() && self.bytes.len() < CHUNK {
                let end = bytes[at..].iter().position(|&byte| is_space(byte)).map_or(bytes.len(), |n| at + n);
                let start = self.bytes.len() as u32;
                self.bytes.extend_from_slice(&bytes[at..end]);
                self.tokens.push(TokenRange { start, end: self.bytes.len() as u32 });
                self.sink.spans.push(Span { start: at, end });
                at = bytes[end..].iter().position(|&byte| !is_space(byte)).map_or(bytes.len(), |n| end + n);
            }
            self.bytes.resize(self.bytes.len() + PADDING, 0);
            sink(&Batch {
                bytes: &self.bytes,
                tokens: &self.tokens,
                base: 0,
                chunk: 0,
                spans: &self.sink.spans,
            });
        }
    }
}
