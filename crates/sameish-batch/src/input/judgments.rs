//! Reference data: files of clusters, labeled records, pairs or removals.
//!
//! The first line decides which of the four a file contains. A line that cannot be parsed ends the reading, because
//! figures over part of a file would be misleading.

use super::ReadOptions;
use super::find::Input;
use super::lines::next_line;
use super::open::{Opened, open, read_error};
use super::reject::InputError;
use crate::escape::escaped;
use sameish::DocId;
use serde::Deserializer;
use serde::de::{self, IgnoredAny, MapAccess, Visitor};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{self, Read};

/// Minimum number of bytes per read.
const CHUNK: usize = 1 << 20;
/// Marks a document without a cluster.
const NONE: u32 = u32::MAX;

/// What a line of the file describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A cluster with its members.
    Clusters,
    /// A document with the name of its cluster.
    Labels,
    /// Two documents.
    Pairs,
    /// A removed document with the document that was kept in its place.
    Removals,
}

impl Kind {
    /// Returns the name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Clusters => "clusters",
            Kind::Labels => "labels",
            Kind::Pairs => "pairs",
            Kind::Removals => "removals",
        }
    }
}

/// Numbers documents in the order of their first occurrence.
#[derive(Debug, Default)]
pub struct DocumentNumbers(HashMap<DocId, u32>);

impl DocumentNumbers {
    /// Returns the number of a document.
    pub fn number(&mut self, id: DocId) -> Result<u32, String> {
        match u32::try_from(self.0.len()) {
            // The last number is reserved.
            Ok(next) if next < NONE => Ok(*self.0.entry(id).or_insert(next)),
            _ => Err("more than 4,294,967,295 documents; split the file".into()),
        }
    }

    /// Returns the number of a document, if it has one.
    pub fn get(&self, id: &DocId) -> Option<u32> {
        self.0.get(id).copied()
    }

    /// Returns how many documents have a number.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if no document has a number.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the ids of the documents with these numbers.
    pub fn ids_of(&self, numbers: &HashSet<u32>) -> HashMap<u32, DocId> {
        let selected = self.0.iter().filter(|(_, number)| numbers.contains(number));
        selected.map(|(id, &number)| (number, id.clone())).collect()
    }

    /// Returns the ids of all documents, by number.
    pub fn into_ids(self) -> Vec<DocId> {
        let mut ids: Vec<(DocId, u32)> = self.0.into_iter().collect();
        ids.sort_unstable_by_key(|&(_, number)| number);
        ids.into_iter().map(|(id, _)| id).collect()
    }
}

/// Clusters or pairs of documents.
#[derive(Debug)]
pub struct Judgments {
    kind: Kind,
    /// Number of documents in the file.
    documents: u64,
    /// Cluster of each document by its number, [`NONE`] if the file does not contain it.
    labels: Vec<u32>,
    /// Names of the clusters.
    names: Vec<DocId>,
    /// Number of documents per cluster.
    sizes: Vec<u64>,
    /// Pairs of document numbers, the lower number first.
    pairs: HashSet<(u32, u32)>,
    /// Pairs that are judged to be different, the lower number first.
    negatives: HashSet<(u32, u32)>,
    /// Whether a pair is marked as a template.
    lists_templates: bool,
}

impl Judgments {
    fn new(kind: Kind) -> Judgments {
        Judgments {
            kind,
            documents: 0,
            labels: Vec::new(),
            names: Vec::new(),
            sizes: Vec::new(),
            pairs: HashSet::new(),
            negatives: HashSet::new(),
            lists_templates: false,
        }
    }

    /// Returns what the lines of the file describe.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the number of documents in the file.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Returns the number of clusters.
    pub fn clusters(&self) -> u64 {
        self.names.len() as u64
    }

    /// Returns the pairs of a file of pairs.
    pub fn pairs(&self) -> Option<&HashSet<(u32, u32)>> {
        (self.kind == Kind::Pairs).then_some(&self.pairs)
    }

    /// Returns the pairs that the file judges to be different (`"same": false`).
    pub fn negatives(&self) -> &HashSet<(u32, u32)> {
        &self.negatives
    }

    /// Returns `true` if the file lists templates among its pairs.
    pub fn lists_templates(&self) -> bool {
        self.lists_templates
    }

    /// Returns the number of positive pairs: listed pairs, or pairs of documents in the same cluster.
    pub fn count_pairs(&self) -> u64 {
        self.sizes.iter().map(|&n| n * n.saturating_sub(1) / 2).sum::<u64>() + self.pairs.len() as u64
    }

    /// Returns `true` if the file lists the pair, the lower number first, or has both documents in one cluster.
    pub fn joins(&self, (a, b): (u32, u32)) -> bool {
        if let Some(pairs) = self.pairs() {
            return pairs.contains(&(a, b));
        }
        let label = |doc: u32| self.labels.get(doc as usize).copied().filter(|&label| label != NONE);
        label(a).is_some() && label(a) == label(b)
    }

    /// Returns the cluster of each of `count` documents; documents that are not in the file get a cluster of their own.
    pub fn labels(&self, count: usize) -> Vec<u32> {
        let mut next = self.names.len() as u32;
        let mut own = || {
            next += 1;
            next - 1
        };
        let label = |doc| self.labels.get(doc).copied().filter(|&label| label != NONE);
        (0..count).map(|doc| label(doc).unwrap_or_else(&mut own)).collect()
    }

    /// Returns the name of a cluster; `None` for the cluster of a document that is not in the file.
    pub fn name(&self, cluster: u32) -> Option<DocId> {
        self.names.get(cluster as usize).cloned()
    }

    fn add_cluster(&mut self, name: DocId) -> u32 {
        self.names.push(name);
        self.sizes.push(0);
        self.names.len() as u32 - 1
    }

    /// Assigns a document to a cluster. Returns `true` if it had none.
    fn label(&mut self, doc: u32, cluster: u32) -> bool {
        let at = doc as usize;
        if self.labels.len() <= at {
            self.labels.resize(at + 1, NONE);
        }
        self.documents += 1;
        self.sizes[cluster as usize] += 1;
        std::mem::replace(&mut self.labels[at], cluster) == NONE
    }
}

/// Reads a file. `number` assigns a number to each document.
pub fn read_judgments(
    input: &Input,
    id_field: &str,
    cluster_field: &str,
    options: &ReadOptions,
    number: impl FnMut(DocId) -> Result<u32, String>,
) -> Result<Judgments, InputError> {
    let max_line = options.rules.max_line;
    let Opened { mut bytes, skipped, .. } = open(input, options)?;
    let mut reader = Reader {
        fields: Fields { id: id_field, cluster: cluster_field },
        number,
        judgments: None,
        clusters: HashMap::new(),
    };
    let (mut buffer, mut ended, mut line_number, mut offset) = (Vec::new(), false, 0u64, skipped);
    loop {
        let mut at = 0;
        while let Some(line) = next_line(&buffer[at..], ended) {
            line_number += 1;
            let record = &buffer[at..at + line.len];
            let wrong =
                |reason: String| InputError::unreadable(&input.name, format!("line {line_number}: {reason}"));
            if line.len > max_line {
                return Err(too_long(input, line_number, max_line));
            }
            if !record.trim_ascii().is_empty() {
                reader.take(record, line_number).map_err(wrong)?;
            }
            at += line.next;
        }
        buffer.drain(..at);
        offset += at as u64;
        if ended {
            return Ok(reader.judgments.unwrap_or_else(|| Judgments::new(Kind::Clusters)));
        }
        if buffer.len() > max_line {
            return Err(too_long(input, line_number + 1, max_line));
        }
        // Doubles the buffer, so that a long line is scanned a few times instead of once per read.
        let want = buffer.len().max(CHUNK) as u64;
        let more = fill(&mut bytes, want, &mut buffer).map_err(|error| read_error(input, offset, &error))?;
        ended = more == 0;
    }
}

fn too_long(input: &Input, line: u64, max_line: usize) -> InputError {
    let reason = format!("line {line}: longer than {max_line} bytes; raise `--max-line` if that is intended");
    InputError::limit(&input.name, reason)
}

fn fill(bytes: &mut impl Read, want: u64, buffer: &mut Vec<u8>) -> io::Result<usize> {
    bytes.by_ref().take(want).read_to_end(buffer)
}

struct Reader<'f, N> {
    fields: Fields<'f>,
    number: N,
    judgments: Option<Judgments>,
    /// Numbers of the clusters of labels.
    clusters: HashMap<DocId, u32>,
}

impl<N: FnMut(DocId) -> Result<u32, String>> Reader<'_, N> {
    /// Adds a line. The error is reason and remedy.
    fn take(&mut self, record: &[u8], line: u64) -> Result<(), String> {
        let text = std::str::from_utf8(record).map_err(|_| "not UTF-8; convert the file".to_owned())?;
        let mut json = serde_json::Deserializer::from_str(text);
        let parsed = json.deserialize_map(&self.fields).and_then(|parsed| json.end().map(|()| parsed));
        let parsed = parsed.map_err(|error| {
            let place = format!(" at line 1 column {}", error.column());
            let message = error.to_string();
            format!("{}; fix the line", escaped(message.strip_suffix(&place).unwrap_or(&message)))
        })?;
        let kind = self.kind_of(&parsed)?;
        let judgments = self.judgments.get_or_insert_with(|| Judgments::new(kind));
        if judgments.kind != kind {
            return Err(format!(
                "the line contains {}, but the file starts with {}; use one kind of line per file",
                kind.name(),
                judgments.kind.name()
            ));
        }
        let number = &mut self.number;
        match kind {
            Kind::Clusters => add_cluster_line(judgments, parsed, line, number),
            Kind::Pairs => add_pair(judgments, parsed, number),
            Kind::Removals => add_removal(judgments, parsed, &mut self.clusters, number),
            Kind::Labels => add_label(judgments, parsed, self.fields.id, &mut self.clusters, number),
        }
    }

    fn kind_of(&self, line: &Line) -> Result<Kind, String> {
        match line {
            Line { members: Some(_), .. } => Ok(Kind::Clusters),
            Line { a: Some(_), b: Some(_), .. } => Ok(Kind::Pairs),
            Line { cluster: Some(_), .. } => Ok(Kind::Labels),
            Line { kept: Some(Maybe::Is(_)), .. } => Ok(Kind::Removals),
            _ => Err(format!(
                "neither a cluster (`members`), nor a pair (`a` and `b`), nor a removal (`id` and `kept`), nor a document with \
                 its cluster (`{}`); name the cluster field with `--cluster-field`",
                escaped(self.fields.cluster)
            )),
        }
    }
}

/// Assigns the members of a line to a new cluster.
fn add_cluster_line(
    judgments: &mut Judgments,
    parsed: Line,
    line: u64,
    number: &mut impl FnMut(DocId) -> Result<u32, String>,
) -> Result<(), String> {
    let name = parsed.name.or(parsed.id).flatten().unwrap_or(DocId::Number(line));
    let cluster = judgments.add_cluster(name);
    parsed.members.into_iter().flatten().try_for_each(|id| assign(judgments, id, cluster, number))
}

/// Adds a pair that is listed as a match, or judged to be the same or different.
fn add_pair(
    judgments: &mut Judgments,
    parsed: Line,
    number: &mut impl FnMut(DocId) -> Result<u32, String>,
) -> Result<(), String> {
    let (Some(a), Some(b)) = (parsed.a, parsed.b) else { return Ok(()) };
    let (a, b) = (number(a)?, number(b)?);
    if a == b {
        return Err("pair of a document with itself; remove it".into());
    }
    let is_same = match parsed.same {
        None => true,
        Some(Maybe::Is(same)) => same,
        Some(Maybe::Other(_)) => return Err("`same` must be true or false; fix the line".into()),
    };
    for doc in [a, b] {
        let at = doc as usize;
        if judgments.labels.len() <= at {
            judgments.labels.resize(at + 1, NONE);
        }
        judgments.documents += u64::from(std::mem::replace(&mut judgments.labels[at], 0) == NONE);
    }
    let pair = (a.min(b), a.max(b));
    let is_known = judgments.pairs.contains(&pair) || judgments.negatives.contains(&pair);
    if is_known {
        return Err("pair occurs twice; keep one".into());
    }
    judgments.lists_templates |= matches!(parsed.template, Some(Maybe::Is(true)));
    let judged = if is_same { &mut judgments.pairs } else { &mut judgments.negatives };
    judged.insert(pair);
    Ok(())
}

/// Assigns a removed document to the cluster of the document that was kept.
fn add_removal(
    judgments: &mut Judgments,
    parsed: Line,
    clusters: &mut HashMap<DocId, u32>,
    number: &mut impl FnMut(DocId) -> Result<u32, String>,
) -> Result<(), String> {
    let Some(Maybe::Is(kept)) = parsed.kept else { return Ok(()) };
    let Some(removed) = parsed.id.or(parsed.name).flatten() else {
        return Err("field `id` is missing; add it".into());
    };
    let cluster = match clusters.get(&kept) {
        Some(&cluster) => cluster,
        None => {
            let cluster = judgments.add_cluster(kept.clone());
            clusters.insert(kept.clone(), cluster);
            assign(judgments, kept, cluster, number)?;
            cluster
        }
    };
    assign(judgments, removed, cluster, number)
}

/// Assigns a document to the cluster that its record names; without a name, to a cluster of its own.
fn add_label(
    judgments: &mut Judgments,
    parsed: Line,
    id_field: &str,
    clusters: &mut HashMap<DocId, u32>,
    number: &mut impl FnMut(DocId) -> Result<u32, String>,
) -> Result<(), String> {
    let Some(Some(id)) = parsed.id else {
        return Err(format!("field `{}` is missing; add it", escaped(id_field)));
    };
    let cluster = match parsed.cluster.flatten() {
        None => judgments.add_cluster(id.clone()),
        Some(name) => *clusters.entry(name).or_insert_with_key(|name| judgments.add_cluster(name.clone())),
    };
    assign(judgments, id, cluster, number)
}

/// Assigns a document to a cluster. Fails if it is in a cluster already.
fn assign(
    judgments: &mut Judgments,
    id: DocId,
    cluster: u32,
    number: &mut impl FnMut(DocId) -> Result<u32, String>,
) -> Result<(), String> {
    let doc = number(id.clone())?;
    if judgments.label(doc, cluster) {
        return Ok(());
    }
    Err(format!("duplicate id {}; list each document in one cluster only", shown(&id)))
}

/// Formats an id as JSON, escaped and shortened.
fn shown(id: &DocId) -> String {
    match id {
        DocId::Text(text) => {
            let short: String = text.chars().take(40).collect();
            format!("\"{}{}\"", escaped(&short), if short.len() < text.len() { "…" } else { "" })
        }
        number => number.to_string(),
    }
}

/// Names of the fields of labeled records.
struct Fields<'f> {
    id: &'f str,
    cluster: &'f str,
}

/// Values of one line. A value in a nested `Option` may be null.
#[derive(Default)]
struct Line {
    id: Option<Option<DocId>>,
    /// Name of a cluster: the field `id`, if documents have their ids in another field.
    name: Option<Option<DocId>>,
    members: Option<Vec<DocId>>,
    a: Option<DocId>,
    b: Option<DocId>,
    cluster: Option<Option<DocId>>,
    kept: Option<Maybe<DocId>>,
    same: Option<Maybe<bool>>,
    template: Option<Maybe<bool>>,
}

/// A value of a field that has a meaning in some kinds of lines only. In other lines it may have any type.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Maybe<T> {
    Is(T),
    Other(IgnoredAny),
}

impl<'de> Visitor<'de> for &Fields<'_> {
    type Value = Line;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object on each line")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Line, M::Error> {
        let mut line = Line::default();
        while let Some(key) = map.next_key::<String>()? {
            if key == self.id {
                once(&mut line.id, &key, &mut map)?;
            } else if key == self.cluster {
                once(&mut line.cluster, &key, &mut map)?;
            } else if key == "id" {
                once(&mut line.name, &key, &mut map)?;
            } else if key == "members" {
                once(&mut line.members, &key, &mut map)?;
            } else if key == "a" {
                once(&mut line.a, &key, &mut map)?;
            } else if key == "b" {
                once(&mut line.b, &key, &mut map)?;
            } else if key == "kept" {
                once(&mut line.kept, &key, &mut map)?;
            } else if key == "same" {
                once(&mut line.same, &key, &mut map)?;
            } else if key == "template" {
                once(&mut line.template, &key, &mut map)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(line)
    }
}

/// Reads the value of a key. Fails if the key occurred before, because it is unclear which value is valid.
fn once<'de, M: MapAccess<'de>, T: de::Deserialize<'de>>(
    place: &mut Option<T>,
    key: &str,
    map: &mut M,
) -> Result<(), M::Error> {
    let wrong = |error: M::Error| {
        let text = error.to_string();
        // Message of serde for an id that is neither a string nor an integer.
        match text.contains("untagged enum") {
            true => de::Error::custom(format!("`{}` must contain strings or 64-bit integers", escaped(key))),
            false => error,
        }
    };
    let value = map.next_value().map_err(wrong)?;
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(de::Error::custom(format!("duplicate key `{}`", escaped(key)))),
    }
}
