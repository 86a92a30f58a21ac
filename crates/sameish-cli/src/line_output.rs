//! Output of commands that write lines for each record, batch by batch in input order.

use crate::exit::{Exit, Failure};
use crate::run_args::RunArgs;
use crate::run_log::{Log, finish};
use sameish_batch::Counts;
use sameish_batch::input::{InputError, InputResult, RecordBatch, Reject};
use sameish_batch::output::CompressedOutput;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Output lines of one batch.
pub(crate) struct BatchLines {
    input: Arc<str>,
    records: u64,
    pub(crate) lines: Vec<u8>,
    pub(crate) counts: Counts,
    /// Rejected records, each with the length of the lines before it.
    rejects: Vec<(usize, Reject)>,
}

impl BatchLines {
    pub(crate) fn new(batch: &RecordBatch) -> BatchLines {
        let counts = Counts { bytes: batch.bytes.len() as u64, ..Counts::default() };
        let (input, records) = (batch.input_name(), batch.len() as u64);
        BatchLines { input, records, lines: Vec::new(), counts, rejects: Vec::new() }
    }

    /// Adds a rejected record after the lines so far.
    pub(crate) fn reject(&mut self, reject: Reject) {
        self.rejects.push((self.lines.len(), reject));
    }
}

/// Writes batches in input order.
pub(crate) struct LineOutput<'a> {
    run: &'a RunArgs,
    output: CompressedOutput,
    log: Log,
    /// `true` if the reader of a pipe has closed it, which is success.
    closed: bool,
}

impl<'a> LineOutput<'a> {
    pub(crate) fn create(run: &'a RunArgs, inputs: &[InputResult]) -> Result<LineOutput<'a>, Failure> {
        let log = run.log(inputs)?;
        Ok(LineOutput { run, output: run.create_lines(inputs)?, log, closed: false })
    }

    pub(crate) fn write(
        &mut self,
        result: Result<BatchLines, InputError>,
    ) -> anyhow::Result<ControlFlow<()>> {
        let batch = match result {
            Ok(batch) => batch,
            Err(error) => {
                self.log.input_failed(&error)?;
                return Ok(ControlFlow::Continue(()));
            }
        };
        let stop = batch.rejects.first().filter(|_| self.log.stops_at_rejects());
        let end = stop.map_or(batch.lines.len(), |(before, _)| *before);
        if !self.output.write(&batch.lines[..end])? {
            self.closed = true;
            return Ok(ControlFlow::Break(()));
        }
        self.log.count_records(&batch.input, batch.records, batch.rejects.len() as u64)?;
        for (_, reject) in &batch.rejects {
            self.log.reject(reject)?;
        }
        self.log.count(&batch.counts)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Ends the output. Returns the counts and the exit code, or `None` if the reader of a pipe has closed it.
    pub(crate) fn finish(self) -> anyhow::Result<Option<(Counts, Exit)>> {
        let LineOutput { run, output, mut log, closed } = self;
        if closed || !run.publish(output, &mut log)? {
            log.monitor.clear();
            return Ok(None);
        }
        Ok(Some(finish(log)?))
    }
}
