//! Comparison of texts that arrive in bins: the texts of a bin, then its pairs.

use super::buckets::Member;
use super::rows::NearRule;
use crate::compare::{ComparedWith, LoadedText, WithFacts};
use crate::texts::DocumentText;
use sameish::features::{FeatureSet, TextKey};
use sameish::matching::{Judge, Side};
use sameish::{Analyzer, Content, Fingerprint, Verdict};
use std::collections::HashMap;

/// A text of a bin.
#[derive(Clone, Copy, Debug)]
pub struct BinText<'a> {
    /// Number of the document.
    pub doc: i64,
    /// The text.
    pub text: &'a str,
    /// Whether it is too short, as [`RowSigner`](super::RowSigner) found.
    pub too_short: bool,
    /// Its fingerprint, as [`RowSigner`](super::RowSigner) found.
    pub fingerprint: Option<Fingerprint>,
}

/// Verifies pairs bin by bin. Each text is prepared once per bin; only the texts of one bin are in memory.
///
/// ```
/// use sameish::{Analyzer, Preset};
/// use sameish_batch::columns::{BinText, BinVerifier};
///
/// let mut verifier = BinVerifier::new(&Analyzer::new(Preset::Copies.config())?);
/// let text = "The council voted on Monday evening to close the old stone bridge for repairs";
/// for doc in [4, 7] {
///     verifier.add(1, BinText { doc, text, too_short: false, fingerprint: None });
/// }
/// assert_eq!(verifier.verify(1, 4, 7).unwrap().map(|verdict| verdict.similarity), Some(1.0));
/// assert!(verifier.verify(2, 4, 7).is_none());
/// # Ok::<(), sameish::Error>(())
/// ```
pub struct BinVerifier {
    analyzer: Analyzer,
    judge: Judge,
    bin: Option<i64>,
    texts: HashMap<i64, PreparedText>,
    histogram: Vec<u64>,
}

struct PreparedText {
    loaded: LoadedText<'static>,
    key: Option<TextKey>,
    too_short: bool,
    fingerprint: Option<Fingerprint>,
}

impl PreparedText {
    fn side(&self) -> Side<'_> {
        Side {
            key: self.key,
            too_short: self.too_short,
            simhash: self.fingerprint,
            minhash: self.loaded.signature_rows(),
            sdr: None,
            features: self.loaded.features(),
            facts: None,
        }
    }
}

impl BinVerifier {
    /// Prepares for a configuration.
    pub fn new(analyzer: &Analyzer) -> BinVerifier {
        BinVerifier {
            analyzer: analyzer.clone(),
            judge: analyzer.judge(),
            bin: None,
            texts: HashMap::new(),
            histogram: vec![0; 101],
        }
    }

    /// Adds a text to a bin. Another bin than before drops the texts of the one before. A document that is already in the bin
    /// is not replaced.
    pub fn add(&mut self, bin: i64, text: BinText<'_>) {
        self.enter(bin);
        if !self.texts.contains_key(&text.doc) {
            let prepared = self.prepare(text);
            self.texts.insert(text.doc, prepared);
        }
    }

    fn prepare(&self, text: BinText<'_>) -> PreparedText {
        let owned = DocumentText::Owned(Content::Text(text.text.to_owned()));
        PreparedText {
            loaded: LoadedText::new(&self.analyzer, owned, WithFacts::Yes, ComparedWith::Texts),
            key: self.analyzer.key(text.text),
            too_short: text.too_short,
            fingerprint: text.fingerprint,
        }
    }

    /// Compares two texts, and counts their similarity.
    fn compare(judge: Judge, histogram: &mut [u64], a: &PreparedText, b: &PreparedText) -> Option<Verdict> {
        let (a_side, b_side) = (a.side(), b.side());
        let any = judge.with_threshold(0.0).judge(&a_side, &b_side)?;
        histogram[(any.similarity * 100.0) as usize] += 1;
        // Fingerprints may match below the threshold, by their distance.
        let is_below = any.similarity < judge.threshold();
        let verdict = if is_below { judge.judge(&a_side, &b_side)? } else { any };
        Some(verdict.with_facts(|| (a.loaded.facts(), b.loaded.facts())))
    }

    /// Compares two documents of a bin: `Some(None)` if they do not match, `None` if a text is missing.
    pub fn verify(&mut self, bin: i64, a: i64, b: i64) -> Option<Option<Verdict>> {
        self.enter(bin);
        let (a, b) = self.texts.get(&a).zip(self.texts.get(&b))?;
        Some(BinVerifier::compare(self.judge, &mut self.histogram, a, b))
    }

    /// Returns the number of compared pairs per hundredth of similarity.
    pub fn histogram(&self) -> &[u64] {
        &self.histogram
    }

    /// Returns `true` if a match with this verdict makes two documents duplicates.
    pub fn joins(&self, verdict: &Verdict) -> bool {
        self.judge.joins(verdict)
    }

    fn enter(&mut self, bin: i64) {
        if self.bin != Some(bin) {
            self.bin = Some(bin);
            self.texts.clear();
        }
    }
}

/// First members of large buckets, with which all their later members are compared.
///
/// ```
/// use sameish::{Analyzer, Preset};
/// use sameish_batch::columns::{BinText, Heads, Member};
///
/// let mut heads = Heads::new(&Analyzer::new(Preset::Copies.config())?);
/// let text = "The council voted on Monday evening to close the old stone bridge for repairs";
/// let of = |doc| BinText { doc, text, too_short: false, fingerprint: None };
/// let member = |doc| Member { doc, reference: false, outline: None, fingerprint: None };
/// heads.add(&[7], member(1), of(1));
/// let mut found = Vec::new();
/// heads.matches(&[6, 7], member(4), of(4), &mut found);
/// assert_eq!(found[0].0, 1);
/// # Ok::<(), sameish::Error>(())
/// ```
pub struct Heads {
    verifier: BinVerifier,
    rule: NearRule,
    members: Vec<Member>,
    by_key: HashMap<i64, Vec<usize>>,
    compared: u64,
}

impl Heads {
    /// Prepares for a configuration.
    pub fn new(analyzer: &Analyzer) -> Heads {
        let rule = NearRule::new(analyzer);
        let verifier = BinVerifier::new(analyzer);
        Heads { verifier, rule, members: Vec::new(), by_key: HashMap::new(), compared: 0 }
    }

    /// Adds a first member of some buckets.
    pub fn add(&mut self, keys: &[i64], member: Member, text: BinText<'_>) {
        keys.iter().for_each(|&key| self.by_key.entry(key).or_default().push(self.members.len()));
        self.members.push(member);
        self.verifier.add(0, text);
    }

    /// Compares a document with the first members of its buckets that come before it, and appends its matches.
    pub fn matches(
        &mut self,
        keys: &[i64],
        member: Member,
        text: BinText<'_>,
        found: &mut Vec<(i64, Verdict)>,
    ) {
        let Heads { rule, members, by_key, .. } = self;
        let near = |&(key, at): &(i64, usize)| {
            members[at].doc < member.doc && rule.passes(key, &members[at], &member)
        };
        let pairs =
            keys.iter().flat_map(|&key| by_key.get(&key).into_iter().flatten().map(move |&at| (key, at)));
        let mut heads: Vec<usize> = pairs.filter(near).map(|(_, at)| at).collect();
        heads.sort_unstable();
        heads.dedup();
        if heads.is_empty() {
            return;
        }
        self.compared += heads.len() as u64;
        let prepared = self.verifier.prepare(text);
        for at in heads {
            let head = self.members[at].doc;
            let BinVerifier { judge, histogram, texts, .. } = &mut self.verifier;
            let verdict = BinVerifier::compare(*judge, histogram, &texts[&head], &prepared);
            found.extend(verdict.map(|verdict| (head, verdict)));
        }
    }

    /// Returns the number of comparisons.
    pub fn compared(&self) -> u64 {
        self.compared
    }

    /// Returns the number of compared pairs per hundredth of similarity.
    pub fn histogram(&self) -> &[u64] {
        self.verifier.histogram()
    }

    /// Returns `true` if a match with this verdict makes two documents duplicates.
    pub fn joins(&self, verdict: &Verdict) -> bool {
        self.verifier.joins(verdict)
    }
}

/// Returns the verdict for two documents that are copies of each other.
pub fn verdict_of_copies(analyzer: &Analyzer, fingerprint: Option<Fingerprint>) -> Option<Verdict> {
    let judge = analyzer.judge();
    let features = FeatureSet::default();
    let empty = LoadedText::default();
    let side = Side {
        key: Some(TextKey::from_u128(1)),
        simhash: fingerprint,
        minhash: analyzer.config().minhash.as_ref().map(|_| [0].as_slice()),
        features: Some(&features),
        ..Side::default()
    };
    judge.judge(&side, &side).map(|verdict| verdict.with_facts(|| (empty.facts(), empty.facts())))
}
