//! Arguments of commands that read documents and write data.

use crate::args::ThreadArgs;
use crate::choice::{Choice, choice, one_of};
use crate::exit::Failure;
use crate::output::file::{Output, same_place};
use crate::output::messages::{Messages, say};
use crate::output::print;
use crate::run_log::Log;
use sameish_batch::input::InputResult;
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
