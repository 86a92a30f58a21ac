//! Arguments of commands that read documents and write data.

use crate::args::ThreadArgs;
use crate::choice::{Choice, choice, one_of};
use crate::exit::{Failure, remedy};
use crate::output::file::{Output, same_place};
use crate::output::messages::{Messages, say};
use crate::output::print;
use crate::run_log::Log;
use sameish_batch::input::{FileFormat, InputError, InputResult, ReadOptions, check_inputs};
use sameish_batch::output::{CompressedOutput, check_suffix};
use sameish_batch::{OnBad, RunLog};
use serde::Serialize;
use std::path::PathBuf;

/// Arguments of commands that read documents and write data.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RunArgs {
    /// Write to OUT, atomically, instead of standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Treatment of invalid records
    #[arg(long, value_parser = one_of(&ON_BAD), default_value = "reject")]
    pub(crate) on_bad: OnBad,
    /// Write rejected records to FILE as JSONL: position, reason and excerpt
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// Print a machine-readable summary
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Reason why a run that read only a part of its inputs writes no files.
pub(crate) const NOTHING_WRITTEN: &str = "nothing was written, because an input could not be read completely";

/// Reports inputs that cannot be read. Fails if there are any.
pub(crate) fn stop_if_unreadable(unreadable: &[InputError]) -> Result<(), Failure> {
    for error in unreadable {
        say(format_args!("error: {}", error.explained(remedy)));
    }
    match unreadable.iter().map(InputError::completion).max() {
        Some(completion) => Err(Failure::new(completion.into(), NOTHING_WRITTEN)),
        None => Ok(()),
    }
}

const ON_BAD: [Choice<OnBad>; 3] = [
    choice("skip", "Skip them; exit code 0", OnBad::Skip),
    choice("reject", "Skip and report them; exit code 3", OnBad::Reject),
    choice("fail", "Stop at the first one; exit code 3", OnBad::Fail),
];

impl RunArgs {
    /// Returns `true` if messages for people are printed.
    pub(crate) fn talks(&self) -> bool {
        !self.quiet && !self.json
    }

    /// Opens the output.
    pub(crate) fn create_output(&self, inputs: &[InputResult]) -> Result<Output, Failure> {
        Ok(Output::create(self.output.as_deref(), self.force, inputs)?)
    }

    /// Opens an output of JSON lines, with the compression of its suffix.
    pub(crate) fn create_lines(&self, inputs: &[InputResult]) -> Result<CompressedOutput, Failure> {
        Ok(CompressedOutput::create(self.output.as_deref(), self.force, inputs)?)
    }

    /// Refuses an output whose suffix stands for another format than JSONL.
    pub(crate) fn check_lines(&self, command: &str) -> Result<(), Failure> {
        if let Some(path) = self.output.as_deref().filter(|path| *path != "-") {
            check_suffix(path, FileFormat::Jsonl, &format!("`{command}` writes JSONL"))?;
        }
        self.check_rejects()
    }

    /// Refuses a list of rejected records whose suffix stands for another format.
    pub(crate) fn check_rejects(&self) -> Result<(), Failure> {
        let Some(path) = &self.rejects else { return Ok(()) };
        if matches!(path.extension().and_then(|suffix| suffix.to_str()), Some("gz" | "zst" | "zstd")) {
            return Err(Failure::usage("`--rejects` is not compressed; pass a name without `.gz` or `.zst`"));
        }
        Ok(check_suffix(path, FileFormat::Jsonl, "`--rejects` writes JSONL")?)
    }

    /// Checks the inputs before any work is done. A named field that does not exist ends the run. So does an input that cannot be
    /// opened, if the run writes to a file, which would then not be written.
    pub(crate) fn check_inputs(&self, inputs: &[InputResult], read: &ReadOptions) -> Result<(), Failure> {
        let unreadable = check_inputs(inputs, read)?;
        if self.writes_file() { stop_if_unreadable(&unreadable) } else { Ok(()) }
    }

    /// Returns `true` if the data goes to a file.
    pub(crate) fn writes_file(&self) -> bool {
        self.output.as_deref().is_some_and(|path| path != "-")
    }

    /// Publishes the output if every input could be read. Returns `false` if the reader of a pipe has closed it.
    pub(crate) fn publish(&self, output: CompressedOutput, log: &mut Log) -> Result<bool, Failure> {
        log.end_input()?;
        if log.completion.is_usable() || !self.writes_file() {
            return Ok(output.finish()?);
        }
        log.monitor.clear();
        say(format_args!("error: {NOTHING_WRITTEN}"));
        Ok(true)
    }

    /// Opens the list of rejected records and starts the log.
    pub(crate) fn log(&self, inputs: &[InputResult]) -> Result<Log, Failure> {
        let mut messages = Messages::new(self.quiet, self.output.is_none());
        messages.expect(inputs);
        Ok(RunLog::new(messages, self.on_bad, self.create_rejects(inputs)?))
    }

    fn create_rejects(&self, inputs: &[InputResult]) -> Result<Option<Output>, Failure> {
        let Some(path) = &self.rejects else { return Ok(None) };
        if self.output.as_ref().is_some_and(|output| same_place(output, path)) {
            return Err(Failure::usage("`--output` and `--rejects` are the same file; pass two files"));
        }
        Ok(Some(Output::create(Some(path), self.force, inputs)?))
    }

    /// Prints the summary to standard error, as JSON or in words.
    pub(crate) fn summarize(
        &self,
        summary: &impl Serialize,
        in_words: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        if self.json {
            say(format_args!("{}", serde_json::to_string(summary)?));
        } else if !self.quiet {
            say(format_args!("{}", in_words()));
        }
        Ok(())
    }

    /// Prints the summary; as JSON to standard output, unless data goes there.
    pub(crate) fn answer(
        &self,
        summary: &impl Serialize,
        data_on_stdout: bool,
        in_words: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        if !self.json || data_on_stdout {
            return self.summarize(summary, in_words);
        }
        Ok(print(true, summary, String::new)?)
    }
}
