//! Where does a word begin and end?
//!
//! The rules are those of Unicode's default word boundaries (UAX #29) over normalized characters. A word is a stretch
//! between two boundaries with a letter or a digit in it. Characters of scripts that are written without spaces (Han,
//! Hiragana, Thai, Lao, Khmer, Myanmar) are words by themselves, with their marks; a run of Katakana is one word.

use super::chars::Class;
use super::normalize::Folded;
use super::{Span, TokenRange};

/// Words as they are found: their text back to back, where each lies in it, and where it stood in the source.
#[derive(Default)]
pub(super) struct WordSink {
    pub(super) bytes: Vec<u8>,
    pub(super) words: Vec<TokenRange>,
    pub(super) spans: Vec<Span>,
    open: Option<Open>,
}

/// A word that may go on.
struct Open {
    start: u32,
    /// Behind the last character that surely belongs to it.
    end: u32,
    span: Span,
    last: Class,
    /// A character behind `end` that belongs to it if the next one does.
    middle: Option<Class>,
    alphanumeric: bool,
}

impl WordSink {
    /// Takes the next character.
    pub(super) fn push(&mut self, folded: Folded) {
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
                self.wait(folded, class);
            }
            class => {
                if self.open.as_ref().is_some_and(|open| open.goes_on_with(class)) {
                    self.append(folded, class);
                } else {
                    self.close();
                    self.begin(folded);
                }
            }
        }
    }

    /// Ends the word at hand, if there is one.
    pub(super) fn close(&mut self) {
        if let Some(open) = self.open.take()
            && open.alphanumeric
        {
            self.words.push(TokenRange { start: open.start, end: open.end });
            self.spans.push(open.span);
        }
    }

    fn begin(&mut self, folded: Folded) {
        let start = self.bytes.len() as u32;
        let end = self.write(folded.c);
        self.open = Some(Open {
            start,
            end,
            span: folded.span,
            last: folded.entry.class(),
            middle: None,
            alphanumeric: folded.entry.is_alphanumeric(),
        });
    }

    fn append(&mut self, folded: Folded, class: Class) {
        let end = self.write(folded.c);
        if let Some(open) = &mut self.open {
            open.end = end;
            open.span.end = folded.span.end;
            open.last = class;
            open.middle = None;
            open.alphanumeric |= folded.entry.is_alphanumeric();
        }
    }

    /// A mark belongs to what stands before it (rule WB4). By itself it is no letter.
    fn extend(&mut self, folded: Folded) {
        let before = self.bytes.len() as u32;
        if self.open.is_none() {
            return;
        }
        let end = self.write(folded.c);
        if let Some(open) = &mut self.open
            && open.end == before
        {
            open.end = end;
            open.span.end = folded.span.end;
        }
    }

    /// A character that joins two letters or two digits waits for the second.
    fn wait(&mut self, folded: Folded, class: Class) {
        if !self.open.as_ref().is_some_and(|open| open.may_wait_at(class)) {
            self.close();
            return;
        }
        let end = self.write(folded.c);
        if let Some(open) = &mut self.open {
            open.middle = Some(class);
            // A Hebrew letter keeps its apostrophe (rule WB7a).
            if open.last == Class::Hebrew && class == Class::SingleQuote {
                open.end = end;
                open.span.end = folded.span.end;
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

impl Open {
    fn goes_on_with(&self, next: Class) -> bool {
        let is_letter = |class| matches!(class, Class::Letter | Class::Hebrew);
        let last = self.last;
        match self.middle {
            // WB7c, WB7 and WB11.
            Some(Class::DoubleQuote) => last == Class::Hebrew && next == Class::Hebrew,
            Some(Class::MidLetter) => is_letter(last) && is_letter(next),
            Some(Class::MidNumber) => last == Class::Numeric && next == Class::Numeric,
            Some(_) => is_letter(last) && is_letter(next) || last == Class::Numeric && next == Class::Numeric,
            // WB13a and WB13b, WB13, then WB5 and WB8 to WB10.
            None if last == Class::Connector || next == Class::Connector => last != Class::Single,
            None if last == Class::Katakana || next == Class::Katakana => last == next,
            None => last != Class::Single,
        }
    }

    fn may_wait_at(&self, middle: Class) -> bool {
        self.middle.is_none()
            && match middle {
                Class::DoubleQuote => self.last == Class::Hebrew,
                Class::MidLetter => matches!(self.last, Class::Letter | Class::Hebrew),
                Class::MidNumber => self.last == Class::Numeric,
                _ => matches!(self.last, Class::Letter | Class::Hebrew | Class::Numeric),
            }
    }
}
