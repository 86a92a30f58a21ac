//! Word segmentation: where does a word begin and end?
//!
//! The rules are Unicode's default word boundaries (UAX #29), applied to normalized characters. A word is the text between
//! two boundaries if it contains a letter or a digit. In scripts that are written without spaces (Han, Hiragana, Thai,
//! Lao, Khmer, Myanmar), each character with its marks is a word; a run of Katakana is one word.

use super::chars::Class;
use super::normalize::{Folded, Sink};
use super::{Span, TokenRange};

/// Collects words: their concatenated text, their ranges in it, and their positions in the source.
#[derive(Default)]
pub(super) struct WordSink {
    pub(super) bytes: Vec<u8>,
    pub(super) words: Vec<TokenRange>,
    pub(super) spans: Vec<Span>,
    current: Option<CurrentWord>,
}

/// A word that later characters may extend.
struct CurrentWord {
    start: u32,
    /// End of the characters that are known to belong to the word.
    end: u32,
    span: Span,
    last: Class,
    /// Class of a joining character after `end`. It belongs to the word only if the next character does.
    joiner: Option<Class>,
    alphanumeric: bool,
}

impl Sink for WordSink {
    fn push(&mut self, folded: Folded) {
        match folded.entry.class() {
            Class::Drop => {}
            Class::Separator => self.close(),
            Class::Extend => self.extend(folded),
            Class::Single => {
                self.close();
                self.begin(folded);
            }
            class @ (Class::MidLetter
            | Class::MidNumber
            | Class::MidBoth
            | Class::SingleQuote
            | Class::DoubleQuote) => {
                self.push_joiner(folded, class);
            }
            class => {
                if self.current.as_ref().is_some_and(|word| word.continues_with(class)) {
                    self.append(folded, class);
                } else {
                    self.close();
                    self.begin(folded);
                }
            }
        }
    }

    fn push_letters(&mut self, letters: &str, span: Span) {
        let start = self.bytes.len() as u32;
        self.extend_by_letters(TokenRange { start, end: start + letters.len() as u32 }, span);
        self.bytes.extend_from_slice(letters.as_bytes());
    }

    fn push_words(&mut self, text: &str, words: &[TokenRange], span: Span) {
        let offset = self.bytes.len() as u32;
        self.bytes.extend_from_slice(text.as_bytes());
        let mut words =
            words.iter().map(|word| TokenRange { start: offset + word.start, end: offset + word.end });
        if let Some(first) = words.next() {
            self.extend_by_letters(first, span);
        }
        for word in words {
            self.close();
            self.begin_letters(word, span);
        }
    }
}

impl WordSink {
    /// Ends the current word, if any.
    pub(super) fn close(&mut self) {
        if let Some(word) = self.current.take()
            && word.alphanumeric
        {
            self.words.push(TokenRange { start: word.start, end: word.end });
            self.spans.push(word.span);
        }
    }

    /// Adds letters, which are or will be at `range` of the bytes, to the current word or to a new one.
    fn extend_by_letters(&mut self, range: TokenRange, span: Span) {
        match self.current.as_mut().filter(|word| word.continues_with(Class::Letter)) {
            Some(word) => {
                (word.end, word.span.end) = (range.end, span.end);
                (word.last, word.joiner, word.alphanumeric) = (Class::Letter, None, true);
            }
            None => {
                self.close();
                self.begin_letters(range, span);
            }
        }
    }

    /// Begins a word of letters.
    fn begin_letters(&mut self, TokenRange { start, end }: TokenRange, span: Span) {
        let last = Class::Letter;
        self.current = Some(CurrentWord { start, end, span, last, joiner: None, alphanumeric: true });
    }

    fn begin(&mut self, folded: Folded) {
        let start = self.bytes.len() as u32;
        let end = self.write(folded.c);
        self.current = Some(CurrentWord {
            start,
            end,
            span: folded.span,
            last: folded.entry.class(),
            joiner: None,
            alphanumeric: folded.entry.is_alphanumeric(),
        });
    }

    fn append(&mut self, folded: Folded, class: Class) {
        let end = self.write(folded.c);
        if let Some(word) = &mut self.current {
            word.end = end;
            word.span.end = folded.span.end;
            word.last = class;
            word.joiner = None;
            word.alphanumeric |= folded.entry.is_alphanumeric();
        }
    }

    /// Adds a combining mark to the current word (rule WB4). A mark without a word is ignored.
    fn extend(&mut self, folded: Folded) {
        let before = self.bytes.len() as u32;
        if self.current.is_none() {
            return;
        }
        let end = self.write(folded.c);
        if let Some(word) = &mut self.current
            && word.end == before
        {
            word.end = end;
            word.span.end = folded.span.end;
        }
    }

    /// Adds a character that joins two letters or two digits. It belongs to the word only if the second one follows.
    fn push_joiner(&mut self, folded: Folded, class: Class) {
        if !self.current.as_ref().is_some_and(|word| word.may_be_joined_by(class)) {
            self.close();
            return;
        }
        let end = self.write(folded.c);
        if let Some(word) = &mut self.current {
            word.joiner = Some(class);
            // An apostrophe after a Hebrew letter belongs to the word in any case (rule WB7a).
            if word.last == Class::Hebrew && class == Class::SingleQuote {
                word.end = end;
                word.span.end = folded.span.end;
            }
        }
    }

    fn write(&mut self, c: char) -> u32 {
        if c.is_ascii() {
            self.bytes.push(c as u8);
        } else {
            self.bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        self.bytes.len() as u32
    }
}

impl CurrentWord {
    fn continues_with(&self, next: Class) -> bool {
        let is_letter = |class| matches!(class, Class::Letter | Class::Hebrew);
        let last = self.last;
        match self.joiner {
            // Rules WB7c, WB7 and WB11.
            Some(Class::DoubleQuote) => last == Class::Hebrew && next == Class::Hebrew,
            Some(Class::MidLetter) => is_letter(last) && is_letter(next),
            Some(Class::MidNumber) => last == Class::Numeric && next == Class::Numeric,
            Some(_) => is_letter(last) && is_letter(next) || last == Class::Numeric && next == Class::Numeric,
            // Rules WB13a and WB13b, then WB13, then WB5 and WB8 to WB10.
            None if last == Class::Connector || next == Class::Connector => last != Class::Single,
            None if last == Class::Katakana || next == Class::Katakana => last == next,
            None => last != Class::Single,
        }
    }

    fn may_be_joined_by(&self, joiner: Class) -> bool {
        self.joiner.is_none()
            && match joiner {
                Class::DoubleQuote => self.last == Class::Hebrew,
                Class::MidLetter => matches!(self.last, Class::Letter | Class::Hebrew),
                Class::MidNumber => self.last == Class::Numeric,
                _ => matches!(self.last, Class::Letter | Class::Hebrew | Class::Numeric),
            }
    }
}
