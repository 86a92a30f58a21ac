//! Records that are kept, as they came.

use crate::exit::{Exit, Failure};
use crate::input::find::{Found, Source};
use crate::input::format::Kind;
use crate::input::open::open_any;
use crate::input::stamp::Stamps;
use crate::input::{Batches, Look, Reading, look, parquet};
use crate::output::escape::escaped_name;
use crate::output::file::Output;
use crate::output::packed::{Packed, Packing};
use crate::output::parquet::copy_rows;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Where kept records go.
pub(crate) enum Target {
    /// All into one file, or standard output.
    One { path: Option<PathBuf>, packing: Packing },
    /// A file for each input, of the same name.
    Folder { path: PathBuf, packing: Option<Packing> },
}

impl Target {
    /// A folder is one that is there, or a name that ends like one.
    pub(crate) fn new(path: Option<&Path>, packing: Option<Packing>) -> Target {
        let Some(path) = path.filter(|path| *path != "-") else {
            return Target::One { path: None, packing: packing.unwrap_or(Packing::None) };
        };
        let ends_like_one = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        match path.is_dir() || ends_like_one {
            true => Target::Folder { path: path.to_owned(), packing },
            false => {
                let packing = packing.unwrap_or(Packing::of_path(path));
                Target::One { path: Some(path.to_owned()), packing }
            }
        }
    }

    /// What is wrong with the outputs, as far as can be told before the work.
    pub(crate) fn check(
        &self,
        sources: &[Found],
        against: &[Found],
        whole_files: bool,
        force: bool,
    ) -> Result<(), Failure> {
        let check = |path: Option<&Path>| {
            Output::check(path, force, sources)?;
            Output::check(path, force, against)
        };
        match self {
            Target::One { .. } if whole_files => {
                Err(Failure::usage("whole files go into a folder, not into one file; pass `-o FOLDER/`"))
            }
            Target::One { path, .. } => check(path.as_deref()),
            Target::Folder { path, packing } => {
                let mut names = HashSet::new();
                // Standard input gets a name when its format is known.
                for source in sources.iter().flatten().filter(|source| source.path.is_some()) {
                    let path = path.join(name_for(source, None, *packing));
                    if !names.insert(path.clone()) {
                        let name = escaped_name(path.as_os_str());
                        let why = format!("two inputs would both become {name}; run them apart");
                        return Err(Failure::usage(why));
                    }
                    // The folder is made when it is needed.
                    if path.exists() {
                        check(Some(&path))?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl Target {
    /// What is wrong with the inputs for this target, as far as their first bytes tell: what goes into one file must be of
    /// one format, with the same columns. Standard input must lie in a file by now.
    pub(crate) fn check_inputs(
        &self,
        sources: &[Found],
        reading: &Reading,
        force: bool,
    ) -> Result<(), Failure> {
        let mut blend = Blend::default();
        for source in sources.iter().flatten() {
            // What can not be opened is told where it is read.
            let Ok(looked) = look(source, reading) else { continue };
            match self {
                Target::One { .. } => _ = blend.add(&looked)?,
                Target::Folder { path, packing } if is_stdin(source) => {
                    let path = path.join(name_for(source, looked.kind, *packing));
                    let taken =
                        |other: &Source| path.file_name() == other.path.as_deref().and_then(Path::file_name);
                    if sources.iter().flatten().any(taken) {
                        let name = escaped_name(path.as_os_str());
                        let why = format!("two inputs would both become {name}; run them apart");
                        return Err(Failure::usage(why));
                    }
                    if path.exists() {
                        Output::check(Some(&path), force, sources)?;
                    }
                }
                Target::Folder { .. } => {}
            }
        }
        Ok(())
    }
}

/// What several inputs that go into one file have in common.
#[derive(Default)]
struct Blend {
    kind: Option<Kind>,
    columns: Option<Vec<u8>>,
}

impl Blend {
    /// Adds an input, unless it does not fit. Gives the column names if they are to be written.
    fn add<'a>(&mut self, looked: &'a Look) -> Result<Option<&'a [u8]>, Failure> {
        if let (Some(before), Some(kind)) = (self.kind, looked.kind)
            && (before != kind || kind == Kind::Parquet)
        {
            let why = "several inputs go into one file where they are of one format, and not Parquet; pass `-o FOLDER/`";
            return Err(Failure::usage(why));
        }
        self.kind = looked.kind.or(self.kind);
        match (looked.header.as_deref(), &self.columns) {
            (None, _) => Ok(None),
            (Some(columns), Some(before)) if before.trim_ascii_end() == columns.trim_ascii_end() => Ok(None),
            (Some(_), Some(_)) => {
                Err(Failure::usage("the inputs have different columns; pass `-o FOLDER/` to keep them apart"))
            }
            (Some(columns), None) => {
                self.columns = Some(columns.to_vec());
                Ok(Some(columns))
            }
        }
    }
}

/// The inputs and what is kept of them.
pub(crate) struct Writing<'a> {
    pub(crate) sources: &'a [Found],
    pub(crate) reading: Reading,
    /// Numbers of the first records of the inputs that gave any.
    pub(crate) starts: &'a [(Source, u64)],
    /// Whether the record of that number is kept.
    pub(crate) keep: &'a dyn Fn(u64) -> bool,
    pub(crate) force: bool,
    /// What the inputs were when they were compared.
    pub(crate) stamps: &'a Stamps,
    /// Called now and then.
    pub(crate) progress: &'a dyn Fn(),
}

impl Writing<'_> {
    /// Writes everything. Gives `false` where the reader of a pipe has gone. Nothing has its name before all is written.
    pub(crate) fn run(&self, target: &Target) -> Result<bool, Failure> {
        match target {
            Target::One { path, packing } => self.write_one(path.as_deref(), *packing),
            Target::Folder { path, packing } => self.write_folder(path, *packing),
        }
    }

    fn write_one(&self, path: Option<&Path>, packing: Packing) -> Result<bool, Failure> {
        let output = Output::create(path, self.force, self.sources)?;
        let mut packed = Packed::new(output, packing)?;
        let inputs: Vec<(&Source, Option<u64>)> = self.inputs().collect();
        let mut blend = Blend::default();
        for (source, first) in &inputs {
            self.stamps.check(source)?;
            // What can not be opened was told.
            let Ok(looked) = look(source, &self.reading) else { continue };
            let columns = blend.add(&looked)?;
            let written = match self.table(source)? {
                Some(table) => self.copy_table(&table, first.unwrap_or(0), &mut packed)?,
                None => {
                    copy_header(columns, &mut packed)? && self.copy_records(source, *first, &mut packed)?
                }
            };
            if !written {
                return Ok(false);
            }
        }
        let Some(output) = packed.into_output()? else { return Ok(false) };
        self.stamps.check_all()?;
        output.finish()?;
        Ok(true)
    }

    fn write_folder(&self, folder: &Path, packing: Option<Packing>) -> Result<bool, Failure> {
        let made = std::fs::create_dir_all(folder);
        made.map_err(|error| {
            let name = escaped_name(folder.as_os_str());
            Failure::new(Exit::Output, format!("{name}: can not be made: {error}; check the path"))
        })?;
        let mut whole = Vec::new();
        for (source, first) in self.inputs() {
            self.stamps.check(source)?;
            // What can not be opened was told. A whole file that goes leaves none behind.
            let Ok(looked) = look(source, &self.reading) else { continue };
            if self.reading.whole_files && !first.is_some_and(|first| (self.keep)(first)) {
                continue;
            }
            let path = folder.join(name_for(source, looked.kind, packing));
            let output = Output::create(Some(&path), self.force, self.sources)?;
            let table = self.table(source)?;
            let inside =
                if table.is_some() { Packing::None } else { packing.unwrap_or(Packing::of_path(&path)) };
            let mut packed = Packed::new(output, inside)?;
            let written = match table {
                Some(table) => self.copy_table(&table, first.unwrap_or(0), &mut packed)?,
                None => {
                    copy_header(looked.header.as_deref(), &mut packed)?
                        && self.copy_records(source, first, &mut packed)?
                }
            };
            let Some(output) = packed.into_output()?.filter(|_| written) else { return Ok(false) };
            whole.push(output.seal()?);
        }
        self.stamps.check_all()?;
        whole.into_iter().try_for_each(Output::finish)?;
        Ok(true)
    }

    /// Each input that could be found, with the number of its first record.
    fn inputs(&self) -> impl Iterator<Item = (&Source, Option<u64>)> {
        let mut starts = self.starts.iter().peekable();
        self.sources.iter().flatten().map(move |source| {
            let first = starts.next_if(|(started, _)| started == source).map(|(_, first)| *first);
            (source, first)
        })
    }

    fn table(&self, source: &Source) -> Result<Option<parquet::Table>, Failure> {
        let Ok(opened) = open_any(source, self.reading.max_expanded) else { return Ok(None) };
        if opened.guess != Kind::Parquet {
            return Ok(None);
        }
        let table = parquet::Table::open(source, opened.bytes, self.reading.max_expanded);
        table.map(Some).map_err(|broken| Failure::new(broken.exit, broken.to_string()))
    }

    fn copy_table(&self, table: &parquet::Table, first: u64, packed: &mut Packed) -> Result<bool, Failure> {
        let keep = |row| {
            (self.progress)();
            (self.keep)(first + row)
        };
        let copied = copy_rows(table, &keep, &mut *packed);
        match copied {
            Ok(_) => Ok(true),
            Err(_) if packed.closed() => Ok(false),
            Err(error) => Err(packed.failure().unwrap_or_else(|| {
                let broken = table.broken(&error);
                Failure::new(broken.exit, broken.to_string())
            })),
        }
    }

    /// Copies records with their line ends; the last of an input gets one if it has none, unless it is a whole file.
    fn copy_records(
        &self,
        source: &Source,
        first: Option<u64>,
        packed: &mut Packed,
    ) -> Result<bool, Failure> {
        let Some(first) = first else { return Ok(true) };
        let quiet = Reading { quiet: true, ..self.reading.clone() };
        let mut kept = Vec::new();
        // What broke the first time breaks again at the same place, and was told.
        for batch in Batches::new(vec![Ok(source.clone())], quiet).numbered_from(first).map_while(Result::ok)
        {
            kept.clear();
            let keep = |record: &usize| (self.keep)(batch.first + *record as u64);
            let mut records = (0..batch.spans.len()).filter(keep).map(|record| batch.span(record)).peekable();
            while let Some(mut run) = records.next() {
                while let Some(next) = records.next_if(|next| next.start == run.end) {
                    run.end = next.end;
                }
                let run = &batch.bytes[run];
                // Long runs go without another copy.
                if run.len() >= LONG_RUN && matches!(run.last(), Some(b'\n' | b'\r')) {
                    if !(packed.write(&kept)? && packed.write(run)?) {
                        return Ok(false);
                    }
                    kept.clear();
                    continue;
                }
                kept.extend_from_slice(run);
                if !self.reading.whole_files && !matches!(kept.last(), Some(b'\n' | b'\r')) {
                    kept.push(b'\n');
                }
            }
            // After the reading, so that what was read is what it was.
            self.stamps.check(source)?;
            (self.progress)();
            if !packed.write(&kept)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Bytes that are worth a write of their own.
const LONG_RUN: usize = 1 << 14;

/// Column names, with a line end.
fn copy_header(columns: Option<&[u8]>, packed: &mut Packed) -> Result<bool, Failure> {
    let Some(columns) = columns else { return Ok(true) };
    let end: &[u8] = if columns.ends_with(b"\n") || columns.ends_with(b"\r") { b"" } else { b"\n" };
    packed.write(&[columns, end].concat())
}

fn is_stdin(source: &Source) -> bool {
    &*source.name == "-"
}

/// The name of an input's file in the folder: packed as asked, else as it was. Standard input is named by its format.
fn name_for(source: &Source, kind: Option<Kind>, packing: Option<Packing>) -> PathBuf {
    // A pipe was copied to a temporary file, whose name is not its own.
    let own = |path: &&Path| escaped_name(path.as_os_str()) == *source.name;
    let stdin = match kind {
        Some(Kind::Jsonl) | None => "stdin.jsonl",
        Some(Kind::Csv) => "stdin.csv",
        Some(Kind::Tsv) => "stdin.tsv",
        Some(Kind::Parquet) => "stdin.parquet",
        Some(Kind::Text) => "stdin.txt",
    };
    let path = source.path.as_deref().filter(own).unwrap_or(Path::new(match is_stdin(source) {
        true => stdin,
        false => &source.name,
    }));
    let name = path.file_name().map_or(stdin.into(), PathBuf::from);
    let Some(packing) = packing else { return name };
    let plain = match Packing::of_path(&name) {
        Packing::None => name,
        _ => name.with_extension(""),
    };
    let suffix = match packing {
        Packing::None => return plain,
        Packing::Gz => ".gz",
        Packing::Zst => ".zst",
    };
    let mut name = plain.into_os_string();
    name.push(suffix);
    name.into()
}
