//! Step **write**: copies the kept records byte for byte.

use crate::error::{Error, Result};
use crate::escape::escaped_name;
use crate::input::{
    FileFormat, FileStates, Input, InputResult, Preview, ReadOptions, RecordBatches, open_any, parquet,
    preview,
};
use crate::output::compressed::CompressedOutput;
use crate::output::file::Output;
use crate::output::parquet::copy_rows;
use crate::output::{OutputCompression, check_suffix};
use crate::run_log::{Monitor, Progress, RunLog};
use crate::table::InputStart;
use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Destination of the kept records.
pub enum Target {
    /// One file, or standard output.
    One {
        /// Path of the file; absent for standard output.
        path: Option<PathBuf>,
        /// Compression of the file.
        compression: OutputCompression,
    },
    /// A directory with one file per input, of the same name.
    Directory {
        /// Path of the directory.
        path: PathBuf,
        /// Compression of the files; by default that of the inputs.
        compression: Option<OutputCompression>,
    },
}

impl Target {
    /// Returns a directory if `path` is one or ends with `/`, and a file otherwise.
    pub fn new(path: Option<&Path>, compression: Option<OutputCompression>) -> Target {
        let Some(path) = path.filter(|path| *path != "-") else {
            return Target::One { path: None, compression: compression.unwrap_or(OutputCompression::None) };
        };
        if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Target::Directory { path: path.to_owned(), compression };
        }
        let compression = compression.unwrap_or(OutputCompression::of_path(path));
        Target::One { path: Some(path.to_owned()), compression }
    }

    /// Checks the outputs before the run. No output may overwrite an input or a file of `against`.
    pub fn check(
        &self,
        inputs: &[InputResult],
        against: &[InputResult],
        whole_files: bool,
        force: bool,
    ) -> Result<()> {
        let check = |path: Option<&Path>| {
            Output::check(path, force, inputs)?;
            Output::check(path, force, against)
        };
        match self {
            Target::One { .. } if whole_files => Err(Error::WholeFilesIntoOne),
            Target::One { path, .. } => check(path.as_deref()),
            Target::Directory { path, compression } => {
                let mut names = HashSet::new();
                // The name for standard input depends on its format, which is not known yet.
                for input in inputs.iter().flatten().filter(|input| input.path.is_some()) {
                    let path = path.join(file_name(input, None, *compression));
                    if !names.insert(path.clone()) {
                        return Err(Error::OutputNameClash { name: escaped_name(path.as_os_str()) });
                    }
                    // The directory may not exist yet.
                    if path.exists() {
                        check(Some(&path))?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Checks from the first bytes of the inputs whether they can be written to this target: inputs that are written into
    /// one file must have the same format and columns. Standard input must already be in a file.
    pub fn check_inputs(&self, inputs: &[InputResult], options: &ReadOptions, force: bool) -> Result<()> {
        let mut merged = MergedInputs::default();
        for input in inputs.iter().flatten() {
            // An input that cannot be opened is reported when it is read.
            let Ok(preview) = preview(input, options) else { continue };
            match self {
                Target::One { path, .. } => {
                    _ = merged.add(&preview)?;
                    check_format(path.as_deref(), input, preview.format)?;
                }
                Target::Directory { path, compression } if is_stdin(input) => {
                    let path = path.join(file_name(input, preview.format, *compression));
                    let has_name =
                        |other: &Input| path.file_name() == other.path.as_deref().and_then(Path::file_name);
                    if inputs.iter().flatten().any(has_name) {
                        return Err(Error::OutputNameClash { name: escaped_name(path.as_os_str()) });
                    }
                    if path.exists() {
                        Output::check(Some(&path), force, inputs)?;
                    }
                }
                Target::Directory { .. } => {}
            }
        }
        Ok(())
    }
}

/// Fails if the output has the suffix of another format than that of the input, whose records are copied unchanged.
fn check_format(output: Option<&Path>, input: &Input, format: Option<FileFormat>) -> Result<()> {
    let (Some(output), Some(format)) = (output, format) else { return Ok(()) };
    let named = input.path.as_deref().and_then(|path| FileFormat::of_path(path).0);
    // Another format than that of the suffix was set, for example to read the lines of a table as plain text.
    let written = match FileFormat::of_path(output).0 {
        Some(suffix) if named == Some(suffix) && format != FileFormat::Parquet => suffix,
        _ => format,
    };
    let reason = format!("the kept records of `{}` are copied as {}", input.name, format.name());
    check_suffix(output, written, &reason)
}

/// Format and columns of inputs that are written into one file.
#[derive(Default)]
struct MergedInputs {
    format: Option<FileFormat>,
    columns: Option<Vec<u8>>,
}

impl MergedInputs {
    /// Adds an input. Returns the header if it must be written. Fails if the input does not fit.
    fn add<'a>(&mut self, preview: &'a Preview) -> Result<Option<&'a [u8]>> {
        if let (Some(before), Some(format)) = (self.format, preview.format)
            && (before != format || format == FileFormat::Parquet)
        {
            return Err(Error::MixedFormats);
        }
        self.format = preview.format.or(self.format);
        match (preview.header.as_deref(), &self.columns) {
            (None, _) => Ok(None),
            (Some(columns), Some(before)) if before.trim_ascii_end() == columns.trim_ascii_end() => Ok(None),
            (Some(_), Some(_)) => Err(Error::MixedColumns),
            (Some(columns), None) => {
                self.columns = Some(columns.to_vec());
                Ok(Some(columns))
            }
        }
    }
}

/// Inputs and the records to keep.
pub struct RecordWriter<'a, 'm> {
    /// The inputs.
    pub inputs: &'a [InputResult],
    /// How they are read.
    pub options: &'a ReadOptions,
    /// Sequence numbers of the first records.
    pub starts: &'a [InputStart],
    /// Returns `true` for the sequence number of a record to keep.
    pub keep: &'a dyn Fn(u64) -> bool,
    /// Replaces existing outputs.
    pub force: bool,
    /// State of the inputs when they were compared.
    pub states: &'a FileStates,
    /// Receives progress.
    pub log: &'a RefCell<&'a mut RunLog<dyn Monitor + 'm>>,
}

impl RecordWriter<'_, '_> {
    /// Writes all outputs; none of them appears before all are complete. Returns `false` if the reader of a pipe has closed
    /// it.
    pub fn write(&self, target: &Target) -> Result<bool> {
        match target {
            Target::One { path, compression } => self.write_one(path.as_deref(), *compression),
            Target::Directory { path, compression } => self.write_directory(path, *compression),
        }
    }

    fn write_one(&self, path: Option<&Path>, compression: OutputCompression) -> Result<bool> {
        let output = Output::create(path, self.force, self.inputs)?;
        let mut output = CompressedOutput::new(output, compression)?;
        let mut merged = MergedInputs::default();
        for (input, first) in self.inputs_with_starts() {
            self.states.check(input)?;
            // An input that cannot be opened was already reported.
            let Ok(preview) = preview(input, self.options) else { continue };
            let header = merged.add(&preview)?;
            if !self.copy(input, first, header, self.table(input)?, &mut output)? {
                return Ok(false);
            }
        }
        let Some(output) = output.into_output()? else { return Ok(false) };
        self.states.check_all()?;
        output.finish()?;
        Ok(true)
    }

    fn write_directory(&self, directory: &Path, compression: Option<OutputCompression>) -> Result<bool> {
        std::fs::create_dir_all(directory).map_err(|source| Error::Output {
            name: escaped_name(directory.as_os_str()),
            problem: "cannot be created; check the path",
            source,
        })?;
        let mut complete = Vec::new();
        for (input, first) in self.inputs_with_starts() {
            self.states.check(input)?;
            // An input that cannot be opened was already reported.
            let Ok(preview) = preview(input, self.options) else { continue };
            if self.options.whole_files && !first.is_some_and(|first| (self.keep)(first)) {
                continue;
            }
            let path = directory.join(file_name(input, preview.format, compression));
            let output = Output::create(Some(&path), self.force, self.inputs)?;
            let table = self.table(input)?;
            let compression = match &table {
                Some(_) => OutputCompression::None,
                None => compression.unwrap_or(OutputCompression::of_path(&path)),
            };
            let mut output = CompressedOutput::new(output, compression)?;
            let written = self.copy(input, first, preview.header.as_deref(), table, &mut output)?;
            let Some(output) = output.into_output()?.filter(|_| written) else { return Ok(false) };
            complete.push(output.seal()?);
        }
        self.states.check_all()?;
        complete.into_iter().try_for_each(Output::finish)?;
        Ok(true)
    }

    /// Returns each input that was found, with the sequence number of its first record.
    fn inputs_with_starts(&self) -> impl Iterator<Item = (&Input, Option<u64>)> {
        let mut starts = self.starts.iter().peekable();
        self.inputs.iter().flatten().map(move |input| {
            let first = starts.next_if(|start| start.input == *input).map(|start| start.first);
            (input, first)
        })
    }

    /// Opens an input if it is Parquet.
    fn table(&self, input: &Input) -> Result<Option<parquet::Table>> {
        let Ok(opened) = open_any(input, self.options) else { return Ok(None) };
        if opened.guess != FileFormat::Parquet {
            return Ok(None);
        }
        Ok(Some(parquet::Table::open(input, opened.bytes, self.options)?))
    }

    /// Copies the kept records of an input. Returns `false` if the reader of a pipe has closed it.
    fn copy(
        &self,
        input: &Input,
        first: Option<u64>,
        header: Option<&[u8]>,
        table: Option<parquet::Table>,
        output: &mut CompressedOutput,
    ) -> Result<bool> {
        match table {
            Some(table) => self.copy_table(&table, first.unwrap_or(0), output),
            None => Ok(copy_header(header, output)? && self.copy_records(input, first, output)?),
        }
    }

    fn copy_table(&self, table: &parquet::Table, first: u64, output: &mut CompressedOutput) -> Result<bool> {
        let canceled = RefCell::new(Ok(()));
        let keep = |row| {
            let mut canceled = canceled.borrow_mut();
            if canceled.is_ok() {
                *canceled = self.progress();
            }
            (self.keep)(first + row)
        };
        let copied = copy_rows(table, &keep, &mut *output);
        canceled.into_inner()?;
        match copied {
            Ok(_) => Ok(true),
            Err(_) if output.closed() => Ok(false),
            Err(error) => Err(output.take_error().unwrap_or_else(|| table.input_error(&error).into())),
        }
    }

    /// Copies records with their line ends. The last record of an input gets a line end if it has none, unless it is a whole
    /// file.
    fn copy_records(&self, input: &Input, first: Option<u64>, output: &mut CompressedOutput) -> Result<bool> {
        let Some(first) = first else { return Ok(true) };
        let mut kept = Vec::new();
        let batches = RecordBatches::new(vec![Ok(input.clone())], self.options.quiet()).numbered_from(first);
        // An error of the first pass occurs again at the same offset and was already reported.
        for batch in batches.map_while(std::result::Result::ok) {
            kept.clear();
            let keep = |record: &usize| (self.keep)(batch.first + *record as u64);
            let mut ranges =
                (0..batch.len()).filter(keep).map(|record| batch.range_with_end(record)).peekable();
            while let Some(mut run) = ranges.next() {
                while let Some(next) = ranges.next_if(|next| next.start == run.end) {
                    run.end = next.end;
                }
                let run = &batch.bytes[run];
                // Long runs are written without another copy.
                if run.len() >= LONG_RUN && matches!(run.last(), Some(b'\n' | b'\r')) {
                    if !(output.write(&kept)? && output.write(run)?) {
                        return Ok(false);
                    }
                    kept.clear();
                    continue;
                }
                kept.extend_from_slice(run);
                if !self.options.whole_files && !matches!(kept.last(), Some(b'\n' | b'\r')) {
                    kept.push(b'\n');
                }
            }
            // Checked after reading, so that what was read is what was compared.
            self.states.check(input)?;
            self.progress()?;
            if !output.write(&kept)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn progress(&self) -> Result<()> {
        self.log.borrow_mut().progress(Progress::Writing)
    }
}

/// Size in bytes of a run of records that is written on its own.
const LONG_RUN: usize = 1 << 14;

/// Writes a header with a line end.
fn copy_header(header: Option<&[u8]>, output: &mut CompressedOutput) -> Result<bool> {
    let Some(header) = header else { return Ok(true) };
    let end: &[u8] = if header.ends_with(b"\n") || header.ends_with(b"\r") { b"" } else { b"\n" };
    output.write(&[header, end].concat())
}

fn is_stdin(input: &Input) -> bool {
    &*input.name == "-"
}

/// Returns the name of an input's file in the output directory, with the suffix of the compression. Standard input is named by
/// its format.
fn file_name(input: &Input, format: Option<FileFormat>, compression: Option<OutputCompression>) -> PathBuf {
    // A pipe was copied to a temporary file with another name.
    let is_own = |path: &&Path| escaped_name(path.as_os_str()) == *input.name;
    let stdin = match format {
        Some(FileFormat::Jsonl) | None => "stdin.jsonl",
        Some(FileFormat::Csv) => "stdin.csv",
        Some(FileFormat::Tsv) => "stdin.tsv",
        Some(FileFormat::Parquet) => "stdin.parquet",
        Some(FileFormat::Text) => "stdin.txt",
    };
    let fallback = Path::new(if is_stdin(input) { stdin } else { &*input.name });
    let path = input.path.as_deref().filter(is_own).unwrap_or(fallback);
    let name = path.file_name().map_or(stdin.into(), PathBuf::from);
    let Some(compression) = compression else { return name };
    let plain = match OutputCompression::of_path(&name) {
        OutputCompression::None => name,
        _ => name.with_extension(""),
    };
    let suffix = match compression {
        OutputCompression::None => return plain,
        OutputCompression::Gz => ".gz",
        OutputCompression::Zst => ".zst",
    };
    let mut name = plain.into_os_string();
    name.push(suffix);
    name.into()
}
