//! Compression of outputs.

use super::file::Output;
use crate::error::{Error, Result};
use crate::input::InputResult;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::path::Path;

/// Compression of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputCompression {
    /// No compression.
    None,
    /// gzip.
    Gz,
    /// Zstandard.
    Zst,
}

impl OutputCompression {
    /// Returns the compression that the suffix of a path stands for.
    pub(crate) fn of_path(path: &Path) -> OutputCompression {
        match path.extension().and_then(|suffix| suffix.to_str()) {
            Some("gz") => OutputCompression::Gz,
            Some("zst" | "zstd") => OutputCompression::Zst,
            _ => OutputCompression::None,
        }
    }
}

/// An output that compresses what is written to it.
pub struct CompressedOutput(Encoder);

enum Encoder {
    Plain(Sink),
    Gz(GzEncoder<Sink>),
    Zst(zstd::Encoder<'static, Sink>),
}

/// Adapts an [`Output`] to [`io::Write`] and keeps its error.
struct Sink {
    output: Output,
    error: Option<Error>,
    /// `true` if the reader of a pipe has closed it.
    closed: bool,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.output.write(bytes) {
            Ok(true) => Ok(bytes.len()),
            Ok(false) => {
                self.closed = true;
                Err(io::ErrorKind::BrokenPipe.into())
            }
            Err(error) => {
                self.error = Some(error);
                Err(io::ErrorKind::Other.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CompressedOutput {
    pub(crate) fn new(output: Output, compression: OutputCompression) -> Result<CompressedOutput> {
        let sink = Sink { output, error: None, closed: false };
        Ok(CompressedOutput(match compression {
            OutputCompression::None => Encoder::Plain(sink),
            OutputCompression::Gz => Encoder::Gz(GzEncoder::new(sink, flate2::Compression::default())),
            OutputCompression::Zst => Encoder::Zst(zstd::Encoder::new(sink, 3).map_err(compression_error)?),
        }))
    }

    /// Opens an output as [`Output::create`] does, with the compression that its suffix stands for.
    pub fn create(path: Option<&Path>, force: bool, inputs: &[InputResult]) -> Result<CompressedOutput> {
        let compression = path.map_or(OutputCompression::None, OutputCompression::of_path);
        CompressedOutput::new(Output::create(path, force, inputs)?, compression)
    }

    /// Ends the compression, syncs the output and renames it to its final path. Returns `false` if the reader of a pipe has
    /// closed it.
    pub fn finish(self) -> Result<bool> {
        match self.into_output()? {
            Some(output) => output.finish().map(|()| true),
            None => Ok(false),
        }
    }

    /// Writes bytes. Returns `false` if the reader of a pipe has closed it.
    pub fn write(&mut self, bytes: &[u8]) -> Result<bool> {
        let written = Write::write_all(self, bytes);
        self.check(written)
    }

    /// Converts the result of a write to this output.
    fn check(&mut self, written: io::Result<()>) -> Result<bool> {
        match written {
            Ok(()) => Ok(true),
            Err(_) if self.sink().closed => Ok(false),
            Err(error) => Err(self.take_error().unwrap_or_else(|| compression_error(error))),
        }
    }

    /// Takes the error of the output, if there was one.
    pub(crate) fn take_error(&mut self) -> Option<Error> {
        self.sink().error.take()
    }

    /// Returns `true` if the reader of a pipe has closed it.
    pub(crate) fn closed(&mut self) -> bool {
        self.sink().closed
    }

    fn sink(&mut self) -> &mut Sink {
        match &mut self.0 {
            Encoder::Plain(sink) => sink,
            Encoder::Gz(encoder) => encoder.get_mut(),
            Encoder::Zst(encoder) => encoder.get_mut(),
        }
    }

    /// Ends the compression and returns the output, which must still be [finished](Output::finish). Returns `None` if the
    /// reader of a pipe has closed it.
    pub(crate) fn into_output(mut self) -> Result<Option<Output>> {
        let flushed = match &mut self.0 {
            Encoder::Plain(_) => Ok(()),
            Encoder::Gz(encoder) => encoder.try_finish(),
            Encoder::Zst(encoder) => encoder.do_finish(),
        };
        if !self.check(flushed)? {
            return Ok(None);
        }
        let sink = match self.0 {
            Encoder::Plain(sink) => sink,
            Encoder::Gz(encoder) => encoder.finish().map_err(compression_error)?,
            Encoder::Zst(encoder) => encoder.finish().map_err(compression_error)?,
        };
        Ok(Some(sink.output))
    }
}

fn compression_error(source: io::Error) -> Error {
    Error::Output { name: "output".into(), problem: "cannot be compressed", source }
}

impl Write for CompressedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Encoder::Plain(sink) => sink.write(bytes),
            Encoder::Gz(encoder) => encoder.write(bytes),
            Encoder::Zst(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
