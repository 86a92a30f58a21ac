//! The log of a run on standard error.

use crate::exit::{Exit, Failure};
use crate::output::messages::{Messages, counted, grouped};
use sameish_batch::input::{ByteCounter, FieldLog, InputError, InputResult, Reject, Remedy};
use sameish_batch::{Counts, Monitor, OnBad, Progress, Resumed, RunLog};
use std::ops::ControlFlow;
use std::sync::LazyLock;

/// Log that prints to standard error.
pub(crate) type Log = RunLog<Messages>;

/// Counts the bytes read from files by all readers of this process.
static READ: LazyLock<ByteCounter> = LazyLock::new(ByteCounter::default);

/// Returns the counter for [`bytes_read`].
pub(crate) fn byte_counter() -> ByteCounter {
    READ.clone()
}

/// Returns the number of bytes read from files so far.
pub(crate) fn bytes_read() -> u64 {
    READ.get()
}

/// Fields that the readers of this process found.
static FIELDS: LazyLock<FieldLog> = LazyLock::new(FieldLog::default);

/// Returns the list of the fields of all inputs.
pub(crate) fn field_log() -> FieldLog {
    FIELDS.clone()
}

/// Creates the log of a command without a list of rejected records. Data does not go to the terminal.
pub(crate) fn plain_log(quiet: bool, inputs: &[InputResult]) -> Log {
    let mut messages = Messages::new(quiet, false);
    messages.expect(inputs);
    RunLog::new(messages, OnBad::Reject, None)
}

/// Ends a log. Returns the counts and the exit code.
pub(crate) fn finish(log: Log) -> Result<(Counts, Exit), Failure> {
    log.monitor.clear();
    let (counts, completion) = log.finish()?;
    Ok((Counts { text_fields: field_log().text_fields(), ..counts }, completion.into()))
}

impl Monitor for Messages {
    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        match progress {
            Progress::Reading { documents, bytes } => Messages::progress(self, documents, bytes),
            Progress::Comparing { done, of } => self.share("comparing", done, of),
            Progress::Writing => self.copying("writing"),
        }
        ControlFlow::Continue(())
    }

    fn rejected(&mut self, reject: &Reject) {
        self.reject(reject);
    }

    fn input_failed(&mut self, error: &InputError) {
        self.broken(error);
    }

    fn remedy(&self, remedy: Remedy) -> &'static str {
        crate::exit::remedy(remedy)
    }

    fn resumed(&mut self, resumed: Resumed) {
        match resumed {
            Resumed::Signed(documents) => {
                self.note(&format!("resuming: {} already processed", counted(documents, "document")));
            }
            Resumed::Clustered => self.note("resuming: clusters already computed"),
        }
    }
}

/// Texts of [`Counts`] for the summary.
pub(crate) trait CountsText {
    /// Returns a text such as `2 documents, 1 too short`.
    fn in_words(&self) -> String;

    /// Returns the size of the input and the duration of the run.
    fn effort(&self) -> String;
}

impl CountsText for Counts {
    fn in_words(&self) -> String {
        let mut words = counted(self.documents, "document");
        if self.repeated > 0 {
            words += &format!(", {} skipped", counted(self.repeated, "repeated record"));
        }
        let mut add = |count: u64, what: &str| {
            if count > 0 {
                words += &format!(", {} {what}", grouped(count));
            }
        };
        add(self.too_short, "too short");
        add(self.replaced, "with invalid UTF-8 replaced");
        add(self.rejected, "rejected");
        if self.failed_inputs > 0 {
            words += &format!(", {} not read completely", counted(self.failed_inputs, "input"));
        }
        words
    }

    fn effort(&self) -> String {
        format!("{:.1} MB in {:.2} s", self.bytes as f64 / 1e6, self.seconds)
    }
}
