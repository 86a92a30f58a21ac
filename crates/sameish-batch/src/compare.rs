//! Step **verify**: comparison of documents on texts that are read a second time where the configuration requires it.

use crate::crowds::Crowds;
use crate::error::Result;
use crate::ordered_pool::with_scratch;
use crate::ranked::Ranked;
use crate::signed::IndexedCorpus;
use crate::table::{ContentKind, Row, State};
use crate::texts::DocumentText;
use sameish::Analyzer;
use sameish::config::{MinHashConfig, Shingle, Templates};
use sameish::features::{Facts, FeatureSet};
use sameish::matching::{CommonFacts, Judge, RelatedFacts, Side};
use sameish::{Fingerprint, Prepared, Signature, Verdict};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, OnceLock};

/// Whether verdicts contain facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WithFacts {
    Yes,
    No,
}

/// A text that was read a second time, with what comparisons need.
#[derive(Default)]
pub(crate) struct LoadedText<'a> {
    /// Absent for a document that consists of sketches. Computed when they are needed, if the text is kept.
    features: OnceLock<Option<FeatureSet>>,
    signature: Option<Signature>,
    /// Kept if facts or features may be needed, with the analyzer that computes them.
    text: Option<(DocumentText<'a>, Analyzer)>,
    /// What the facts are related to.
    common: Option<Arc<CommonFacts>>,
    facts: OnceLock<RelatedFacts>,
}

/// What a text may be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComparedWith {
    /// Texts only.
    Texts,
    /// Texts and sketches in place of texts.
    Sketches,
}

impl<'a> LoadedText<'a> {
    /// Computes what a text is compared by: its features if matches are verified, otherwise its signature. Features are compared
    /// with features only, so both are needed if some documents have only sketches.
    pub(crate) fn new(
        analyzer: &Analyzer,
        text: DocumentText<'a>,
        facts: WithFacts,
        with: ComparedWith,
    ) -> LoadedText<'a> {
        let (mut features, signature) = with_scratch(|scratch| {
            if analyzer.config().matching.verify && with == ComparedWith::Texts {
                return (Some(analyzer.shingles(text.content(), scratch)), None);
            }
            let Prepared { sketches, features, .. } = analyzer.prepare(text.content(), scratch);
            let features = Some(features).filter(|features| !features.without_text);
            (features.map(|features| features.shingles), sketches.minhash)
        });
        features.iter_mut().for_each(FeatureSet::shrink);
        let text = (facts == WithFacts::Yes).then(|| (text, analyzer.clone()));
        LoadedText { features: features.into(), signature, text, ..LoadedText::default() }
    }

    /// Keeps a text whose features are computed when they are needed.
    fn unread(analyzer: &Analyzer, text: DocumentText<'a>) -> LoadedText<'a> {
        LoadedText { text: Some((text, analyzer.clone())), ..LoadedText::default() }
    }

    /// Returns the features; `None` for a document that consists of sketches.
    pub(crate) fn features(&self) -> Option<&FeatureSet> {
        let compute = || {
            let (text, analyzer) = self.text.as_ref()?;
            let mut features = with_scratch(|scratch| analyzer.shingles(text.content(), scratch));
            features.shrink();
            Some(features)
        };
        self.features.get_or_init(compute).as_ref()
    }

    /// Returns the number of shingles.
    fn shingles(&self) -> u32 {
        self.features().map_or(0, |features| features.len() as u32)
    }

    /// Returns the rows of the signature, if it was computed.
    pub(crate) fn signature_rows(&self) -> Option<&[u32]> {
        self.signature.as_ref().map(Signature::rows)
    }

    pub(crate) fn facts(&self) -> &Facts {
        self.related_facts().facts()
    }

    fn related_facts(&self) -> &RelatedFacts {
        self.facts.get_or_init(|| {
            let kept = self.text.as_ref();
            let (text, analyzer) = kept.unwrap_or_else(|| unreachable!("the text is kept for its facts"));
            let facts = with_scratch(|scratch| analyzer.facts(text.content(), scratch));
            RelatedFacts::new(facts, self.common.as_ref())
        })
    }
}

/// Returns `true` if comparisons need more than the columns of the corpus.
pub(crate) fn needs_texts(analyzer: &Analyzer) -> bool {
    analyzer.config().matching.verify || analyzer.config().minhash.is_some()
}

/// Returns `WithFacts::Yes` if facts decide which documents join a cluster.
pub(crate) fn facts_decide(analyzer: &Analyzer) -> WithFacts {
    let matching = &analyzer.config().matching;
    match matching.verify && matching.templates == Templates::Keep {
        true => WithFacts::Yes,
        false => WithFacts::No,
    }
}

/// Returns `true` if fingerprints alone decide.
pub(crate) fn by_distance(analyzer: &Analyzer) -> bool {
    let config = analyzer.config();
    !config.matching.verify && config.simhash.is_some() && config.minhash.is_none()
}

impl<'a> IndexedCorpus<'a> {
    /// Returns what is known of a document, and of its text if it is loaded.
    pub(crate) fn side<'b>(&'b self, doc: u32, loaded: Option<&'b LoadedText<'_>>) -> Side<'b> {
        let at = doc as usize;
        let Row { state, too_short, kind, .. } = self.signed.rows[at];
        let has_key = state != State::Blank && kind != ContentKind::Sketches;
        Side {
            key: self.signed.keys.get(at).copied().filter(|_| has_key),
            too_short,
            simhash: self.signed.fingerprints.get(at).map(|&fingerprint| Fingerprint::from_u64(fingerprint)),
            minhash: loaded.and_then(LoadedText::signature_rows),
            sdr: self.signed.codes.get(at),
            features: loaded.and_then(LoadedText::features),
            facts: None,
        }
    }

    /// Returns what is known of a document of a crowd, for comparisons by similarities that are known.
    pub(crate) fn side_in_crowd(&self, doc: u32) -> Side<'_> {
        static NO_FEATURES: LazyLock<FeatureSet> = LazyLock::new(FeatureSet::default);
        Side { features: Some(&NO_FEATURES), ..self.side(doc, None) }
    }

    /// Reads documents. Computes the features of those that `compares_features` selects.
    pub(crate) fn load(
        &self,
        docs: &[u32],
        facts: WithFacts,
        compares_features: impl Fn(u32) -> bool + Sync,
    ) -> Result<Vec<(u32, LoadedText<'a>)>> {
        let is_deferred = self.analyzer.config().matching.verify && !self.has_sketches;
        let load = |at: usize| match docs[at] {
            doc if is_deferred && !compares_features(doc) => Ok((doc, self.load_unread(doc)?)),
            doc => Ok((doc, self.load_text(doc, facts)?)),
        };
        self.workers.map(docs.len(), PIECE_OF_TEXTS, load)?.into_iter().collect()
    }

    /// Reads a document.
    fn load_unread(&self, doc: u32) -> Result<LoadedText<'a>> {
        self.cancellation.check()?;
        let text = self.texts.text(&self.signed.rows[doc as usize])?;
        Ok(LoadedText::unread(&self.analyzer, text))
    }

    /// Reads a document and computes its features.
    pub(crate) fn load_text(&self, doc: u32, facts: WithFacts) -> Result<LoadedText<'a>> {
        self.cancellation.check()?;
        let text = self.texts.text(&self.signed.rows[doc as usize])?;
        let with = if self.has_sketches { ComparedWith::Sketches } else { ComparedWith::Texts };
        Ok(LoadedText::new(&self.analyzer, text, facts, with))
    }
}

/// Minimum number of texts per thread.
const PIECE_OF_TEXTS: usize = 16;

/// The comparisons of a document with its candidates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparisons {
    pub(crate) doc: u32,
    /// In ascending order.
    pub(crate) candidates: Vec<Ranked>,
}

impl Comparisons {
    pub(crate) fn new(doc: u32, mut candidates: Vec<Ranked>) -> Comparisons {
        // They often consist of a few ascending runs, which a stable sort merges.
        candidates.sort_by_key(|candidate| candidate.doc);
        Comparisons { doc, candidates }
    }
}

/// A candidate that matches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DocMatch {
    pub(crate) doc: u32,
    pub(crate) verdict: Verdict,
    /// The numbers of shingles of this document and of the one that it matches; 0 if they were not compared.
    pub(crate) shingles: [u32; 2],
}

/// Compares documents, and caches the texts that were used last.
pub(crate) struct TextCache<'a> {
    pub(crate) corpus: &'a IndexedCorpus<'a>,
    facts: WithFacts,
    needs_texts: bool,
    /// Texts used since the generations were swapped.
    young: HashMap<u32, Arc<LoadedText<'a>>>,
    /// Texts used before.
    old: HashMap<u32, Arc<LoadedText<'a>>>,
    young_bytes: usize,
    /// Limit of each generation in bytes.
    limit: usize,
}

/// Number of comparisons that a thread takes at once.
const PIECE: usize = 64;

/// A text that comparisons need.
struct Needed {
    doc: u32,
    /// Whether they need its features.
    features: bool,
}

#[derive(Clone, Copy)]
struct Comparison {
    candidate: Ranked,
    /// Position of the task.
    task: u32,
}

/// Returns the comparisons of tasks by candidate, then by task.
fn by_candidate(tasks: &[Comparisons]) -> Vec<Comparison> {
    let all = || {
        (0u32..).zip(tasks).flat_map(|(task, Comparisons { candidates, .. })| {
            candidates.iter().map(move |&candidate| Comparison { candidate, task })
        })
    };
    let mut sorted: Vec<Comparison> = all().collect();
    let docs = sorted.iter().map(|comparison| comparison.candidate.doc + 1).max().unwrap_or(0) as usize;
    if sorted.len() < docs {
        sorted.sort_unstable_by_key(|comparison| (comparison.candidate.doc, comparison.task));
        return sorted;
    }
    // Each document is a candidate several times: a counting sort is faster.
    let mut starts = vec![0usize; docs + 1];
    sorted.iter().for_each(|comparison| starts[comparison.candidate.doc as usize + 1] += 1);
    (1..starts.len()).for_each(|doc| starts[doc] += starts[doc - 1]);
    for comparison in all() {
        let start = &mut starts[comparison.candidate.doc as usize];
        sorted[*start] = comparison;
        *start += 1;
    }
    sorted
}

impl<'a> TextCache<'a> {
    pub(crate) fn new(corpus: &'a IndexedCorpus<'a>, facts: WithFacts) -> TextCache<'a> {
        TextCache {
            facts,
            needs_texts: needs_texts(&corpus.analyzer),
            young: HashMap::new(),
            old: HashMap::new(),
            young_bytes: 0,
            limit: corpus.memory.text_cache(),
            corpus,
        }
    }

    /// Returns the matches of each task, in ascending order. `crowds` are those of the documents, if known.
    ///
    /// The texts of as many tasks as fit are kept while their candidates are read one by one. So even if all documents are
    /// candidates of each other, the corpus is read only as often as its size exceeds the limit.
    pub(crate) fn judge(
        &mut self,
        tasks: &[Comparisons],
        judge: Judge,
        crowds: Option<&Crowds>,
    ) -> Result<Vec<Vec<DocMatch>>> {
        let exact =
            |task: &Comparisons| task.candidates.iter().filter(|candidate| candidate.is_exact).count();
        let mut matches: Vec<Vec<DocMatch>> =
            tasks.iter().map(|task| Vec::with_capacity(exact(task))).collect();
        let mut from = 0;
        while from < tasks.len() {
            let mut to = from;
            let mut bytes = 0;
            while to < tasks.len() && bytes < self.limit {
                bytes += if tasks[to].candidates.is_empty() { 0 } else { self.bytes(tasks[to].doc) };
                to += 1;
            }
            self.judge_part(&tasks[from..to], judge, crowds, &mut matches[from..to])?;
            from = to;
        }
        Ok(matches)
    }

    /// Returns `true` if a comparison needs the texts.
    fn needs_text(&self, candidate: &Ranked) -> bool {
        !candidate.is_exact || self.facts == WithFacts::Yes
    }

    fn judge_part(
        &mut self,
        tasks: &[Comparisons],
        judge: Judge,
        crowds: Option<&Crowds>,
        matches: &mut [Vec<DocMatch>],
    ) -> Result<()> {
        let comparisons = by_candidate(tasks);
        let needs_text =
            |task: &&Comparisons| task.candidates.iter().any(|candidate| self.needs_text(candidate));
        let is_exact = |task: &Comparisons| task.candidates.iter().all(|candidate| candidate.is_exact);
        let docs =
            tasks.iter().filter(needs_text).map(|task| Needed { doc: task.doc, features: !is_exact(task) });
        let docs: Vec<Needed> = docs.collect();
        let kept = self.load(docs, crowds)?;
        let kept: Vec<Option<&LoadedText<'_>>> =
            tasks.iter().map(|task| kept.get(&task.doc).map(Arc::as_ref)).collect();
        let mut rest = &comparisons[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(self.prefix_that_fits(rest));
            let candidates = now.iter().map(|comparison| comparison.candidate);
            let mut candidates: Vec<Needed> = candidates
                .filter(|candidate| self.needs_text(candidate))
                .map(|one| Needed { doc: one.doc, features: !one.is_exact })
                .collect();
            candidates.dedup_by(|next, kept| {
                kept.features |= next.doc == kept.doc && next.features;
                next.doc == kept.doc
            });
            let loaded = self.load(candidates, crowds)?;
            let corpus = self.corpus;
            let sizes = crowds.map(Crowds::sizes);
            let piece = |at: usize| {
                let mut found = Vec::with_capacity(PIECE);
                let piece = &now[at * PIECE..now.len().min((at + 1) * PIECE)];
                // Comparisons with one candidate follow one another.
                for piece in piece.chunk_by(|a, b| a.candidate.doc == b.candidate.doc) {
                    let other =
                        (piece[0].candidate.doc, loaded.get(&piece[0].candidate.doc).map(Arc::as_ref));
                    for &Comparison { candidate, task } in piece {
                        let doc = (tasks[task as usize].doc, kept[task as usize]);
                        let similarity = Some(candidate.bound).filter(|_| candidate.is_exact);
                        let Some(verdict) = self.verdict(doc, other, similarity, judge) else { continue };
                        let shingles = [other, doc].map(|(doc, text)| {
                            let known = sizes.filter(|_| candidate.is_exact);
                            let known = known.and_then(|sizes| sizes.shingles(doc));
                            known.or_else(|| text.map(LoadedText::shingles)).unwrap_or(0)
                        });
                        found.push((task, DocMatch { doc: candidate.doc, verdict, shingles }));
                    }
                }
                found
            };
            let pieces = now.len().div_ceil(PIECE);
            let piece = |at: usize| if corpus.cancellation.is_canceled() { Vec::new() } else { piece(at) };
            let found = corpus.workers.map(pieces, 1, piece)?;
            corpus.cancellation.check()?;
            found.into_iter().flatten().for_each(|(task, found)| matches[task as usize].push(found));
            rest = later;
        }
        Ok(())
    }

    /// Returns the number of comparisons whose candidates fit into the limit.
    fn prefix_that_fits(&self, comparisons: &[Comparison]) -> usize {
        let mut bytes = 0;
        let mut last = None;
        let fits = comparisons.iter().take_while(|comparison| {
            let before = bytes;
            let doc = comparison.candidate.doc;
            let new = last.replace(doc) != Some(doc);
            bytes += if new { self.bytes(doc) } else { 0 };
            !new || before < self.limit
        });
        fits.count()
    }

    /// Returns the verdict of two documents; of two texts if their similarity is known.
    fn verdict(
        &self,
        (a, a_text): (u32, Option<&LoadedText<'_>>),
        (b, b_text): (u32, Option<&LoadedText<'_>>),
        similarity: Option<f64>,
        judge: Judge,
    ) -> Option<Verdict> {
        let corpus = self.corpus;
        let verdict = match similarity {
            Some(similarity) => {
                judge.judge_known(&corpus.side_in_crowd(a), &corpus.side_in_crowd(b), similarity)?
            }
            None => judge.judge(&corpus.side(a, a_text), &corpus.side(b, b_text))?,
        };
        Some(match a_text.zip(b_text).filter(|_| self.facts == WithFacts::Yes) {
            Some((a, b)) => verdict.with_agreement(|| a.related_facts().agreement(b.related_facts())),
            None => verdict,
        })
    }

    /// Returns the verdict for two documents with the same text.
    pub(crate) fn same_text(&mut self, doc: u32, judge: Judge) -> Result<Option<Verdict>> {
        let is_sketched = self.corpus.signed.rows[doc as usize].kind == ContentKind::Sketches;
        if !judge.verifies() || is_sketched {
            let found = self.judge(&[Comparisons::new(doc, vec![Ranked::unknown(doc)])], judge, None)?;
            return Ok(found.iter().flatten().next().map(|found| found.verdict));
        }
        // Equal texts have equal features, whatever these are.
        let unread = LoadedText { features: Some(FeatureSet::default()).into(), ..LoadedText::default() };
        let side = self.corpus.side(doc, Some(&unread));
        let facts = || (unread.facts(), unread.facts());
        Ok(judge.judge(&side, &side).map(|verdict| verdict.with_facts(facts)))
    }

    /// Returns the texts of documents, from the cache or from disk.
    fn load(
        &mut self,
        mut docs: Vec<Needed>,
        crowds: Option<&Crowds>,
    ) -> Result<HashMap<u32, Arc<LoadedText<'a>>>> {
        docs.truncate(if self.needs_texts { usize::MAX } else { 0 });
        let mut loaded = HashMap::new();
        let mut missing = Vec::new();
        let mut without_features: HashSet<u32> = HashSet::new();
        for Needed { doc, features } in docs {
            match self.young.get(&doc).cloned().or_else(|| self.old.remove(&doc)) {
                Some(text) => {
                    loaded.insert(doc, text.clone());
                    self.insert(doc, text);
                }
                None => {
                    missing.push(doc);
                    if !features {
                        without_features.insert(doc);
                    }
                }
            }
        }
        // Neighbors in a file are read one after the other.
        missing.sort_unstable();
        let compares_features = |doc: u32| !without_features.contains(&doc);
        for (doc, mut text) in self.corpus.load(&missing, self.facts, compares_features)? {
            text.common = crowds.and_then(|crowds| crowds.common_facts(doc)).cloned();
            let text = Arc::new(text);
            loaded.insert(doc, text.clone());
            self.insert(doc, text);
        }
        if self.young_bytes > self.limit {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        Ok(loaded)
    }

    fn insert(&mut self, doc: u32, text: Arc<LoadedText<'a>>) {
        if self.young.insert(doc, text).is_none() {
            self.young_bytes += self.bytes(doc);
        }
    }

    /// Returns the approximate size of a loaded text: features take 8 bytes per word or character, facts 4 per word.
    fn bytes(&self, doc: u32) -> usize {
        let by_characters =
            |minhash: &MinHashConfig| matches!(minhash.shingle, Shingle::Chars(_) | Shingle::Letters);
        let config = self.corpus.analyzer.config();
        let factor = if config.minhash.as_ref().is_some_and(by_characters) { 8 } else { 3 };
        256 + factor * self.corpus.signed.rows[doc as usize].text_bytes as usize
    }
}
