//! The log of a run: counts, rejected records, failed inputs and progress.

use crate::error::{Error, Result};
use crate::input::reject::{InputError, InputErrorKind, Reject, Remedy};
use crate::output::file::Output;
use crate::output::jsonl::push_line;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Receives the events of a run, and may cancel it.
///
/// All methods do nothing by default; `()` ignores every event.
pub trait Monitor {
    /// Receives progress after each batch of records or documents. `Break` cancels the run, which then ends with
    /// [`Error::Canceled`].
    fn progress(&mut self, _: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Receives a rejected record, unless rejected records are skipped silently or end the run.
    fn rejected(&mut self, _: &Reject) {}

    /// Receives an input that could not be read, or not to its end.
    fn input_failed(&mut self, _: &InputError) {}

    /// Receives the number of documents of a resumed step.
    fn resumed(&mut self, _: Resumed) {}

    /// Returns the words for a remedy, with the interface's own names of parameters.
    fn remedy(&self, remedy: Remedy) -> &'static str {
        remedy.text()
    }
}

impl Monitor for () {}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Records are being read and signed.
    Reading {
        /// Number of documents so far.
        documents: u64,
        /// Bytes of their records, after decompression.
        bytes: u64,
    },
    /// Documents are being compared.
    Comparing {
        /// Number of documents done.
        done: usize,
        /// Number of all documents.
        of: usize,
    },
    /// Kept records are being written.
    Writing,
}

/// A step whose result was loaded from an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumed {
    /// This many documents were already signed.
    Signed(u64),
    /// The clusters were already computed.
    Clustered,
}

/// What happens to a record that cannot be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBad {
    /// The record is skipped and does not affect the completion.
    Skip,
    /// The record is skipped and reported.
    #[default]
    Reject,
    /// The run ends.
    Fail,
}

impl OnBad {
    /// Returns the treatment with a name that parameters of the packages use: `fail` or `skip`.
    pub fn from_name(name: &str) -> Option<OnBad> {
        match name {
            "fail" => Some(OnBad::Fail),
            "skip" => Some(OnBad::Skip),
            _ => None,
        }
    }
}

/// How complete the result of a run is, from best to worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Completion {
    /// Every record was used.
    #[default]
    Complete,
    /// Some records were rejected.
    Rejected,
    /// Some inputs could not be read, or not to their end.
    Unreadable,
    /// Some inputs exceeded a limit.
    Limit,
}

impl Completion {
    /// Returns `true` if the result may be written: every input was read to its end.
    pub fn is_usable(self) -> bool {
        self <= Completion::Rejected
    }
}

/// Number of records of an input.
struct InputRecords {
    name: Arc<str>,
    records: u64,
    rejected: u64,
    /// Position of the first rejected record, and why it was rejected.
    first_reject: Option<String>,
}

impl InputRecords {
    fn new(name: Arc<str>) -> InputRecords {
        InputRecords { name, records: 0, rejected: 0, first_reject: None }
    }

    fn note(&mut self, reject: &Reject) {
        if self.first_reject.is_none() && self.name == reject.file {
            self.first_reject = Some(format!("{}: {}", reject.place, reject.reason));
        }
    }
}

/// Counts of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Number of documents.
    pub documents: u64,
    /// Number of documents whose texts are too short for the preset.
    pub too_short: u64,
    /// Number of rejected records.
    pub rejected: u64,
    /// Number of records that repeat an earlier record with the same id and text.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeated: u64,
    /// Number of documents in which bytes that are not UTF-8 were replaced.
    pub replaced: u64,
    /// Number of inputs that could not be read, or not to their end.
    pub failed_inputs: u64,
    /// Fields from which texts were read, in the order of the inputs; none for plain text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub text_fields: Vec<String>,
    /// Bytes of the records, after decompression.
    pub bytes: u64,
    /// Duration of the run in seconds, rounded to milliseconds.
    pub seconds: f64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.documents += other.documents;
        self.too_short += other.too_short;
        self.replaced += other.replaced;
        self.repeated += other.repeated;
        self.bytes += other.bytes;
    }
}

/// The log of a run.
///
/// Functions of this crate take `&mut RunLog<dyn Monitor>`; a `&mut RunLog<M>` coerces to it.
pub struct RunLog<M: ?Sized> {
    rejects: Option<Output>,
    on_bad: OnBad,
    /// Records of the current input.
    input: Option<InputRecords>,
    started: Instant,
    /// Counts so far.
    pub counts: Counts,
    /// Most serious problem so far.
    pub completion: Completion,
    /// Receiver of events.
    pub monitor: M,
}

impl<M: Monitor> RunLog<M> {
    /// Starts the log of a run. Rejected records are appended to `rejects` as JSON lines.
    pub fn new(monitor: M, on_bad: OnBad, rejects: Option<Output>) -> RunLog<M> {
        RunLog {
            rejects,
            on_bad,
            input: None,
            started: Instant::now(),
            counts: Counts::default(),
            completion: Completion::Complete,
            monitor,
        }
    }

    /// Publishes the list of rejected records, unless an input could not be read, and returns the counts.
    pub fn finish(mut self) -> Result<(Counts, Completion)> {
        self.end_input()?;
        self.publish_rejects()?;
        self.counts.seconds = (self.started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
        Ok((self.counts, self.completion))
    }
}

impl<M: Monitor + ?Sized> RunLog<M> {
    /// Returns `true` if the first rejected record ends the run.
    pub fn stops_at_rejects(&self) -> bool {
        self.on_bad == OnBad::Fail
    }

    /// Records an input that could not be read, or not to its end. Fails if a field that the user named does not exist, which
    /// ends the run.
    pub fn input_failed(&mut self, error: &InputError) -> Result<()> {
        if error.kind == InputErrorKind::MissingField {
            return Err(error.clone().into());
        }
        let error = &error.explained(|remedy| self.monitor.remedy(remedy));
        self.monitor.input_failed(error);
        self.counts.failed_inputs += 1;
        self.completion = self.completion.max(error.completion());
        Ok(())
    }

    /// Counts the records of a batch and how many of them were rejected. An input in which every record was rejected counts as
    /// unreadable, because it usually has another format or other fields.
    pub fn count_records(&mut self, input: &Arc<str>, records: u64, rejected: u64) -> Result<()> {
        if self.input.as_ref().is_some_and(|known| known.name != *input) {
            self.end_input()?;
        }
        let current = self.input.get_or_insert_with(|| InputRecords::new(input.clone()));
        current.records += records;
        current.rejected += rejected;
        Ok(())
    }

    /// Ends the counts of the last input.
    pub fn end_input(&mut self) -> Result<()> {
        let Some(InputRecords { name, records, rejected, first_reject }) = self.input.take() else {
            return Ok(());
        };
        if records == 0 || rejected < records {
            return Ok(());
        }
        let all = match records {
            1 => "its only record was rejected".to_owned(),
            _ => format!("all {records} records were rejected"),
        };
        let reason = match (first_reject, records) {
            (None, _) => format!("{all}; check the format and the names of the fields"),
            (Some(first), 1) => format!("{all}: {first}"),
            (Some(first), _) => format!("{all}; the first one: {first}"),
        };
        self.input_failed(&InputError::unreadable(&name, reason))
    }

    /// Drops the list of rejected records, because the run writes nothing.
    pub fn discard_rejects(&mut self) {
        self.rejects = None;
    }

    /// Publishes the list of rejected records, unless an input could not be read.
    fn publish_rejects(&mut self) -> Result<()> {
        let rejects = self.rejects.take().filter(|_| self.completion.is_usable());
        rejects.map_or(Ok(()), Output::finish)
    }

    /// Records a rejected record. Fails if that ends the run; the list of rejected records is published first.
    pub fn reject(&mut self, reject: &Reject) -> Result<()> {
        let reject = &reject.explained(|remedy| self.monitor.remedy(remedy));
        if let Some(input) = &mut self.input {
            input.note(reject);
        }
        self.counts.rejected += 1;
        if self.on_bad != OnBad::Skip {
            self.completion = self.completion.max(Completion::Rejected);
        }
        if self.on_bad == OnBad::Reject {
            self.monitor.rejected(reject);
        }
        if let Some(rejects) = &mut self.rejects {
            let mut line = Vec::new();
            push_line(&mut line, reject);
            rejects.write(&line)?;
        }
        if !self.stops_at_rejects() {
            return Ok(());
        }
        self.publish_rejects()?;
        Err(Error::RecordRejected { reject: Box::new(reject.clone()), completion: self.completion })
    }

    /// Adds the counts of a batch and reports progress.
    pub fn count(&mut self, counts: &Counts) -> Result<()> {
        self.counts.add(counts);
        let Counts { documents, bytes, .. } = self.counts;
        self.progress(Progress::Reading { documents, bytes })
    }

    /// Reports progress. Fails if the monitor cancels the run.
    pub fn progress(&mut self, progress: Progress) -> Result<()> {
        match self.monitor.progress(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Canceled),
        }
    }

    /// Resets the counts of documents, but not those of rejected records and failed inputs.
    pub(crate) fn restart_counts(&mut self) {
        let Counts { rejected, failed_inputs, .. } = self.counts;
        self.counts = Counts { rejected, failed_inputs, ..Counts::default() };
    }

    /// Copies the list of rejected records so far, for a resumable run.
    pub(crate) fn save_rejects(&self, path: &Path) -> Result<()> {
        self.rejects.as_ref().map_or(Ok(()), |rejects| rejects.copy_to(path))
    }

    /// Continues from the state of an earlier run.
    pub(crate) fn restore(&mut self, counts: Counts, completion: Completion, rejects: &Path) -> Result<()> {
        self.counts = counts;
        self.completion = completion;
        self.rejects.as_mut().map_or(Ok(()), |output| output.append(rejects))
    }
}
