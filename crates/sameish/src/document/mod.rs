//! Documents: the input of the engine.
//!
//! A [`Document`] has an id, a content and optional metadata. The content is a text, a list of tokens from a caller's own
//! tokenizer, or sketches that were computed elsewhere (`given.rs`). `id.rs` has the rules for ids, `timestamp.rs` the formats of
//! dates.

mod given;
mod id;
mod timestamp;

pub use given::{Given, GivenSketches};
pub use id::{DocId, InvalidId};
pub use timestamp::Timestamp;

/// The content of a document: a text, tokens from the caller's own tokenizer, or sketches in place of a text. A word can have up
/// to 4 GiB; the length of a text is not limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A text, which the engine normalizes and splits into tokens.
    Text(String),
    /// Tokens, which are used without normalization.
    Tokens(Vec<String>),
    /// Sketches that were computed elsewhere. There is no text.
    Sketches(Box<GivenSketches>),
}

/// Borrowed content, for texts in memory that the caller owns, such as an Arrow column.
///
/// ```
/// use sameish::{Analyzer, Preset, Scratch};
///
/// let analyzer = Analyzer::new(Preset::Wire.config())?;
/// let column = "Breaking news: Major earthquake hits city";
/// assert_eq!(analyzer.sketch(column, &mut Scratch::default()).simhash.unwrap().to_hex(), "f10893b1083a30a2");
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentRef<'a> {
    /// A text, which the engine normalizes and splits into tokens.
    Text(&'a str),
    /// Tokens, which are used without normalization.
    Tokens(&'a [String]),
    /// Sketches that were computed elsewhere. There is no text.
    Sketches(&'a GivenSketches),
}

impl<'a> From<&'a Content> for ContentRef<'a> {
    fn from(content: &'a Content) -> Self {
        match content {
            Content::Text(text) => ContentRef::Text(text),
            Content::Tokens(tokens) => ContentRef::Tokens(tokens),
            Content::Sketches(sketches) => ContentRef::Sketches(sketches),
        }
    }
}

impl ContentRef<'_> {
    /// Returns the length of the text in bytes. Each token counts one byte more than it has, and sketches have none.
    pub fn text_bytes(self) -> usize {
        match self {
            ContentRef::Text(text) => text.len(),
            ContentRef::Tokens(tokens) => tokens.iter().map(|token| token.len() + 1).sum(),
            ContentRef::Sketches(_) => 0,
        }
    }
}

impl<'a> From<&'a str> for ContentRef<'a> {
    fn from(text: &'a str) -> Self {
        ContentRef::Text(text)
    }
}

/// A text with its id and metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Id, assigned by the caller.
    pub id: DocId,
    /// Text or tokens that are compared.
    pub content: Content,
    /// Headline, shown with matches. Interfaces compare it only if the document has no text.
    pub title: Option<String>,
    /// Origin of the document, often a host name.
    pub source: Option<String>,
    /// Publication date as given by the caller. [`Timestamp::parse`] lists the formats.
    pub published_at: Option<String>,
    /// Web address of the document. It is never fetched.
    pub url: Option<String>,
    /// Further fields of the caller, as the text of a JSON object. They are stored and never compared.
    pub metadata: Option<String>,
}

impl Document {
    /// Creates a document from an id and a text, without any other field.
    pub fn new(id: impl Into<DocId>, text: impl Into<String>) -> Document {
        let content = Content::Text(text.into());
        Document {
            id: id.into(),
            content,
            title: None,
            source: None,
            published_at: None,
            url: None,
            metadata: None,
        }
    }
}
