//! Where an engine keeps the features that matches are verified on.
//!
//! For a million articles these features take most of the memory. A service has the texts in a database anyway, so its
//! engine keeps sketches only and recomputes the features of a candidate from the stored text.

use crate::analyzer::TextFeatures;
use crate::matching::Verdict;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

/// Where an [`Engine`](super::Engine) keeps the features that matches are verified on: [`InMemory`] or [`External`].
pub trait Storage: Clone + Debug {
    /// What the engine itself keeps per distinct text.
    type Kept: Clone + Debug;
    /// The source from which a search reads the features of stored texts.
    type Reader<'r>: Copy;

    /// Keeps the features of a new text.
    fn keep(features: TextFeatures) -> Self::Kept;

    /// Returns the features of a stored text, or `None` if the text cannot be read. `number` is the insertion number of
    /// one of its documents.
    fn read<'k>(kept: &'k Self::Kept, reader: Self::Reader<'_>, number: u64) -> Option<FeaturesRef<'k>>;

    /// Returns the features if the engine itself keeps them.
    fn kept(kept: &Self::Kept) -> Option<&TextFeatures>;
}

/// The engine keeps the features in memory.
#[derive(Clone, Copy, Debug)]
pub enum InMemory {}

/// The caller stores the texts. The engine keeps sketches only, and reads features through a [`TextSource`].
#[derive(Clone, Copy, Debug)]
pub enum External {}

/// A store of texts outside the engine.
pub trait TextSource {
    /// Returns the features of a document by its insertion number, or `None` if its text cannot be read; such a document
    /// matches nothing.
    fn features(&self, number: u64) -> Option<Arc<TextFeatures>>;

    /// Returns the verdict on a document that an earlier search for the same query passed to [`remember`](Self::remember), or
    /// `None` if the document was not judged. A source that remembers verdicts allows the caller to divide a search into
    /// several: each judges candidates that were not judged before.
    fn known(&self, _number: u64) -> Option<Option<Verdict>> {
        None
    }

    /// Receives the verdict on a document whose features were read. `None` if it does not match.
    fn remember(&self, _number: u64, _verdict: Option<Verdict>) {}

    /// Returns `true` if the source remembers verdicts.
    fn remembers(&self) -> bool {
        false
    }
}

/// The features of a stored text, borrowed from the engine or shared with a cache of the text source.
pub enum FeaturesRef<'a> {
    /// Features that the engine keeps.
    Kept(&'a TextFeatures),
    /// Features from a [`TextSource`].
    Shared(Arc<TextFeatures>),
}

impl Deref for FeaturesRef<'_> {
    type Target = TextFeatures;

    fn deref(&self) -> &TextFeatures {
        match self {
            FeaturesRef::Kept(features) => features,
            FeaturesRef::Shared(features) => features,
        }
    }
}

impl Storage for InMemory {
    type Kept = Box<TextFeatures>;
    type Reader<'r> = ();

    fn keep(mut features: TextFeatures) -> Box<TextFeatures> {
        features.shingles.shrink();
        Box::new(features)
    }

    fn read<'k>(kept: &'k Box<TextFeatures>, (): (), _: u64) -> Option<FeaturesRef<'k>> {
        Some(FeaturesRef::Kept(kept))
    }

    fn kept(kept: &Box<TextFeatures>) -> Option<&TextFeatures> {
        Some(kept)
    }
}

impl Storage for External {
    type Kept = ();
    type Reader<'r> = &'r dyn TextSource;

    fn keep(_: TextFeatures) {}

    fn read<'k>((): &'k (), source: &dyn TextSource, number: u64) -> Option<FeaturesRef<'k>> {
        source.features(number).map(FeaturesRef::Shared)
    }

    fn kept((): &()) -> Option<&TextFeatures> {
        None
    }
}
