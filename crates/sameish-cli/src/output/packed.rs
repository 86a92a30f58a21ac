//! An output that is packed on its way.

use super::file::Output;
use crate::exit::{Exit, Failure};
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::path::Path;

/// How an output is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Packing {
    /// As it is
    None,
    /// gzip
    Gz,
    /// Zstandard
    Zst,
}

impl Packing {
    /// What the suffix of a file says.
    pub(crate) fn of_path(path: &Path) -> Packing {
        match path.extension().and_then(|suffix| suffix.to_str()) {
            Some("gz") => Packing::Gz,
            Some("zst" | "zstd") => Packing::Zst,
            _ => Packing::None,
        }
    }
}

/// Takes bytes and packs them.
pub(crate) enum Packed {
    Plain(Sink),
    Gz(GzEncoder<Sink>),
    Zst(zstd::Encoder<'static, Sink>),
}

/// An [`Output`] for writers that know only [`io::Write`]. What went wrong is kept.
pub(crate) struct Sink {
    output: Output,
    failure: Option<Failure>,
    /// Whether the reader of a pipe has gone.
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
            Err(failure) => {
                self.failure = Some(failure);
                Err(io::ErrorKind::Other.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Packed {
    pub(crate) fn new(output: Output, packing: Packing) -> Result<Packed, Failure> {
        let sink = Sink { output, failure: None, closed: false };
        let failed = |error: io::Error| Failure::new(Exit::Fault, format!("can not start to pack: {error}"));
        Ok(match packing {
            Packing::None => Packed::Plain(sink),
            Packing::Gz => Packed::Gz(GzEncoder::new(sink, flate2::Compression::default())),
            Packing::Zst => Packed::Zst(zstd::Encoder::new(sink, 3).map_err(failed)?),
        })
    }

    /// Writes, and gives `false` where the reader of a pipe has gone.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<bool, Failure> {
        let written = Write::write_all(self, bytes);
        self.told(written)
    }

    /// What became of a writer that wrote here.
    pub(crate) fn told(&mut self, written: io::Result<()>) -> Result<bool, Failure> {
        match written {
            Ok(()) => Ok(true),
            Err(_) if self.sink().closed => Ok(false),
            Err(error) => Err(self.failure().unwrap_or_else(|| {
                Failure::new(Exit::Output, format!("output can not be written: {error}"))
            })),
        }
    }

    /// What went wrong with the output, if anything did.
    pub(crate) fn failure(&mut self) -> Option<Failure> {
        self.sink().failure.take()
    }

    /// Whether the reader of a pipe has gone, whatever a writer in between made of it.
    pub(crate) fn closed(&mut self) -> bool {
        self.sink().closed
    }

    fn sink(&mut self) -> &mut Sink {
        match self {
            Packed::Plain(sink) => sink,
            Packed::Gz(encoder) => encoder.get_mut(),
            Packed::Zst(encoder) => encoder.get_mut(),
        }
    }

    /// Ends the packing; the output still has to be [finished](Output::finish). Nothing where the reader has gone.
    pub(crate) fn into_output(mut self) -> Result<Option<Output>, Failure> {
        let flushed = match &mut self {
            Packed::Plain(_) => Ok(()),
            Packed::Gz(encoder) => encoder.try_finish(),
            Packed::Zst(encoder) => encoder.do_finish(),
        };
        if !self.told(flushed)? {
            return Ok(None);
        }
        Ok(Some(match self {
            Packed::Plain(sink) => sink.output,
            Packed::Gz(encoder) => {
                let finished = encoder.finish();
                finished
                    .map_err(|error| {
                        Failure::new(Exit::Output, format!("output can not be packed: {error}"))
                    })?
                    .output
            }
            Packed::Zst(encoder) => {
                let finished = encoder.finish();
                finished
                    .map_err(|error| {
                        Failure::new(Exit::Output, format!("output can not be packed: {error}"))
                    })?
                    .output
            }
        }))
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Packed::Plain(sink) => sink.write(bytes),
            Packed::Gz(encoder) => encoder.write(bytes),
            Packed::Zst(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
