//! Which documents does a file say belong together?
//!
//! Clusters, labelled records or pairs, told apart by the first line. A line that can not be read ends the reading: figures
//! over part of a file would mislead.

use super::find::Source;
use super::lines::next_line;
use super::open::{Opened, open, unread};
use super::reject::Broken;
use crate::exit::Exit;
use crate::output::escape::escaped;
use sameish::DocId;
use serde::Deserializer;
use serde::de::{self, IgnoredAny, MapAccess, Visitor};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{self, Read};
use unicode_width::UnicodeWidthStr;

/// Bytes that are asked for at a time.
const CHUNK: usize = 1 << 20;
/// Stands for no cluster.
const NONE: u32 = u32::MAX;

/// What a line of the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A cluster with its members.
    Clusters,
    /// A document with the name of its cluster.
    Labels,
    /// Two documents.
    Pairs,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Clusters => "clusters",
            Kind::Labels => "labels",
            Kind::Pairs => "pairs",
        }
    }
}

/// What a file says.
#[derive(Debug)]
pub(crate) struct Judgments {
    kind: Kind,
    /// Documents that the file names.
    documents: u64,
    /// Cluster of each document by its number, [`NONE`] where the file does not name it.
    labels: Vec<u32>,
    /// Name of each cluster.
    names: Vec<DocId>,
    /// Documents of each cluster.
    sizes: Vec<u64>,
    /// The lower number first.
    pairs: HashSet<(u32, u32)>,
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
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn documents(&self) -> u64 {
        self.documents
    }

    pub(crate) fn clusters(&self) -> u64 {
        self.names.len() as u64
    }

    /// The pairs, in a file of pairs.
    pub(crate) fn pairs(&self) -> Option<&HashSet<(u32, u32)>> {
        (self.kind == Kind::Pairs).then_some(&self.pairs)
    }

    /// How many pairs are joined, given or by a cluster.
    pub(crate) fn count_pairs(&self) -> u64 {
        self.sizes.iter().map(|&n| n * n.saturating_sub(1) / 2).sum::<u64>() + self.pairs.len() as u64
    }

    /// Whether a cluster holds both.
    pub(crate) fn joins(&self, (a, b): (u32, u32)) -> bool {
        let label = |doc: u32| self.labels.get(doc as usize).copied().filter(|&label| label != NONE);
        label(a).is_some() && label(a) == label(b)
    }

    /// A cluster for each of `count` documents; those that the file does not name get one of their own.
    pub(crate) fn labels(&self, count: usize) -> Vec<u32> {
        let mut next = self.names.len() as u32;
        let mut own = || {
            next += 1;
            next - 1
        };
        let label = |doc| self.labels.get(doc).copied().filter(|&label| label != NONE);
        (0..count).map(|doc| label(doc).unwrap_or_else(&mut own)).collect()
    }

    /// The name of a cluster; absent for a document that the file does not name.
    pub(crate) fn name(&self, cluster: u32) -> Option<DocId> {
        self.names.get(cluster as usize).cloned()
    }

    fn add_cluster(&mut self, name: DocId) -> u32 {
        self.names.push(name);
        self.sizes.push(0);
        self.names.len() as u32 - 1
    }

    /// Whether the document is new to this file.
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

/// Reads a file. `number` gives each document its number.
pub(crate) fn read_judgments(
    source: &Source,
    id_field: &str,
    cluster_field: &str,
    max_line: usize,
    max_expanded: Option<u64>,
    number: impl FnMut(DocId) -> Result<u32, String>,
) -> Result<Judgments, Broken> {
    let Opened { mut bytes, skipped, .. } = open(source, max_expanded)?;
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
                |reason: String| Broken::unreadable(&source.name, format!("line {line_number}: {reason}"));
            if line.len > max_line {
                return Err(too_long(source, line_number, max_line));
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
            return Err(too_long(source, line_number + 1, max_line));
        }
        // As much again as is there, so that a long line is looked through a few times and not once a piece.
        let want = buffer.len().max(CHUNK) as u64;
        let more = fill(&mut bytes, want, &mut buffer).map_err(|error| unread(source, offset, &error))?;
        ended = more == 0;
    }
}

fn too_long(source: &Source, line: u64, max_line: usize) -> Broken {
    let reason = format!("line {line}: longer than {max_line} bytes; raise `--max-line` if that is right");
    Broken { exit: Exit::Limit, ..Broken::unreadable(&source.name, reason) }
}

fn fill(bytes: &mut impl Read, want: u64, buffer: &mut Vec<u8>) -> io::Result<usize> {
    bytes.by_ref().take(want).read_to_end(buffer)
}

struct Reader<'f, N> {
    fields: Fields<'f>,
    number: N,
    judgments: Option<Judgments>,
    /// Numbers of the clusters that labels name.
    clusters: HashMap<DocId, u32>,
}

impl<N: FnMut(DocId) -> Result<u32, String>> Reader<'_, N> {
    /// The error is reason and remedy.
    fn take(&mut self, record: &[u8], line: u64) -> Result<(), String> {
        let text = std::str::from_utf8(record).map_err(|_| "not UTF-8; convert the file".to_owned())?;
        let mut json = serde_json::Deserializer::from_str(text);
        let found = json.deserialize_map(&self.fields).and_then(|found| json.end().map(|()| found));
        let found = found.map_err(|error| {
            let place = format!(" at line 1 column {}", error.column());
            let message = error.to_string();
            format!("{}; mend the line", escaped(message.strip_suffix(&place).unwrap_or(&message)))
        })?;
        let kind = self.kind_of(&found)?;
        let judgments = self.judgments.get_or_insert_with(|| Judgments::new(kind));
        if judgments.kind != kind {
            return Err(format!(
                "a line of {}, in a file that began with {}",
                kind.name(),
                judgments.kind.name()
            ));
        }
        let mut twice = None;
        match found {
            Found { members: Some(members), id, name, .. } => {
                let name = name.or(id).flatten().unwrap_or(DocId::Number(line));
                let cluster = judgments.add_cluster(name);
                for id in members {
                    let doc = (self.number)(id.clone())?;
                    if !judgments.label(doc, cluster) {
                        twice = Some(id);
                    }
                }
            }
            Found { a: Some(a), b: Some(b), .. } => {
                let (a, b) = ((self.number)(a)?, (self.number)(b)?);
                if a == b {
                    return Err("a pair of a document with itself; leave it out".into());
                }
                for doc in [a, b] {
                    let at = doc as usize;
                    if judgments.labels.len() <= at {
                        judgments.labels.resize(at + 1, NONE);
                    }
                    judgments.documents += u64::from(std::mem::replace(&mut judgments.labels[at], 0) == NONE);
                }
                if !judgments.pairs.insert((a.min(b), a.max(b))) {
                    return Err("this pair was given before; keep one".into());
                }
            }
            Found { id, cluster, .. } => {
                let Some(Some(id)) = id else {
                    return Err(format!("no `{}`; give one", escaped(self.fields.id)));
                };
                let cluster = match cluster.flatten() {
                    None => judgments.add_cluster(id.clone()),
                    Some(name) => *self
                        .clusters
                        .entry(name)
                        .or_insert_with_key(|name| judgments.add_cluster(name.clone())),
                };
                let doc = (self.number)(id.clone())?;
                if !judgments.label(doc, cluster) {
                    twice = Some(id);
                }
            }
        }
        match twice {
            None => Ok(()),
            Some(id) => {
                Err(format!("id {} is there twice; a document belongs to one cluster", shown(&id, 40)))
            }
        }
    }

    fn kind_of(&self, found: &Found) -> Result<Kind, String> {
        match found {
            Found { members: Some(_), .. } => Ok(Kind::Clusters),
            Found { a: Some(_), b: Some(_), .. } => Ok(Kind::Pairs),
            Found { cluster: Some(_), .. } => Ok(Kind::Labels),
            _ => Err(format!(
                "neither a cluster (`members`), nor a pair (`a` and `b`), nor a document with its cluster (`{}`); \
                 name the field with `--cluster-field`",
                escaped(self.fields.cluster)
            )),
        }
    }
}

/// An id as JSON writes it, safe to print and cut to so many columns.
pub(crate) fn shown(id: &DocId, columns: usize) -> String {
    match id {
        DocId::Text(text) => {
            let mut used = 0;
            let fits = |c: &char| {
                used += escaped(c.encode_utf8(&mut [0; 4])).width();
                used <= columns
            };
            let short: String = text.chars().take_while(fits).collect();
            format!("\"{}{}\"", escaped(&short), if short.len() < text.len() { "…" } else { "" })
        }
        number => number.to_string(),
    }
}

/// The names of the fields of labelled records.
struct Fields<'f> {
    id: &'f str,
    cluster: &'f str,
}

/// The wanted values of one line. A value inside a second `Option` may be null.
#[derive(Default)]
struct Found {
    id: Option<Option<DocId>>,
    /// What stands under `id` where documents have theirs elsewhere: it names a cluster.
    name: Option<Option<DocId>>,
    members: Option<Vec<DocId>>,
    a: Option<DocId>,
    b: Option<DocId>,
    cluster: Option<Option<DocId>>,
}

impl<'de> Visitor<'de> for &Fields<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object on each line")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Found, M::Error> {
        let mut found = Found::default();
        while let Some(key) = map.next_key::<String>()? {
            if key == self.id {
                once(&mut found.id, &key, &mut map)?;
            } else if key == self.cluster {
                once(&mut found.cluster, &key, &mut map)?;
            } else if key == "id" {
                once(&mut found.name, &key, &mut map)?;
            } else if key == "members" {
                once(&mut found.members, &key, &mut map)?;
            } else if key == "a" {
                once(&mut found.a, &key, &mut map)?;
            } else if key == "b" {
                once(&mut found.b, &key, &mut map)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// A key that comes twice leaves open which value is meant.
fn once<'de, M: MapAccess<'de>, T: de::Deserialize<'de>>(
    place: &mut Option<T>,
    key: &str,
    map: &mut M,
) -> Result<(), M::Error> {
    let wrong = |error: M::Error| {
        let text = error.to_string();
        // What serde says of an id that is neither.
        match text.contains("untagged enum") {
            true => de::Error::custom(format!("`{}` must hold strings or integers of 64 bits", escaped(key))),
            false => error,
        }
    };
    let value = map.next_value().map_err(wrong)?;
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(de::Error::custom(format!("key `{}` occurs twice; keep one", escaped(key)))),
    }
}
