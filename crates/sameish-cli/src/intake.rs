//! What becomes of records that can not be used, and what a run comes to?
//!
//! The part of every command that reads documents: it names and lists rejects, counts, and keeps the exit code.

use crate::args::ThreadArgs;
use crate::exit::{Exit, Failure};
use crate::input::find::Found;
use crate::input::reject::{Broken, Reject};
use crate::output::file::{Output, same_place};
use crate::output::jsonl::push_line;
use crate::output::messages::{Messages, counted, grouped, say};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The flags of commands that read documents and write data.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RunArgs {
    /// Write to this file, which appears when it is whole, instead of standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// What to do with a record that can not be used
    #[arg(long, value_enum, default_value_t = OnBad::Reject)]
    pub(crate) on_bad: OnBad,
    /// Write each rejected record to this file: where it was, why, and how it begins
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// End with a summary for machines
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnBad {
    /// Leave it out and end with code 0
    Skip,
    /// Leave it out and end with code 3
    Reject,
    /// Stop at the first with code 3
    Fail,
}

impl RunArgs {
    /// Whether people read along.
    pub(crate) fn talks(&self) -> bool {
        !self.quiet && !self.json
    }

    /// The same where the summary is the answer: it goes to standard output unless the data does.
    pub(crate) fn answer(
        &self,
        summary: &impl Serialize,
        data_on_stdout: bool,
        in_words: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        if !self.json || data_on_stdout {
            return self.summarize(summary, in_words);
        }
        let mut line = Vec::new();
        push_line(&mut line, summary);
        Output::Stdout.write(&line)?;
        Ok(())
    }

    /// Opens the output.
    pub(crate) fn create_output(&self, sources: &[Found]) -> Result<Output, Failure> {
        Output::create(self.output.as_deref(), self.force, sources)
    }

    /// Opens the list of rejects and gets ready to count.
    pub(crate) fn intake(&self, sources: &[Found]) -> Result<Intake, Failure> {
        let mut messages = Messages::new(self.quiet, self.output.is_none());
        messages.expect(sources);
        Ok(Intake {
            rejects: create_rejects(self.rejects.as_deref(), self.output.as_deref(), self.force, sources)?,
            on_bad: self.on_bad,
            messages,
            counts: Counts::default(),
            exit: Exit::Clean,
        })
    }

    /// Says what the run came to, for machines or in words.
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
}

fn create_rejects(
    path: Option<&Path>,
    output: Option<&Path>,
    force: bool,
    sources: &[Found],
) -> Result<Option<Output>, Failure> {
    let Some(path) = path else { return Ok(None) };
    if output.is_some_and(|output| same_place(output, path)) {
        return Err(Failure::usage("`--output` and `--rejects` name one file; name two"));
    }
    Output::create(Some(path), force, sources).map(Some)
}

/// The end of the line, where records come in order.
pub(crate) struct Intake {
    rejects: Option<Output>,
    on_bad: OnBad,
    pub(crate) messages: Messages,
    pub(crate) counts: Counts,
    pub(crate) exit: Exit,
}

impl Intake {
    /// For commands without a list of rejects: a bad record is named and left out. Nothing is on the screen but messages.
    pub(crate) fn plain(quiet: bool, sources: &[Found]) -> Intake {
        let mut messages = Messages::new(quiet, false);
        messages.expect(sources);
        Intake {
            rejects: None,
            on_bad: OnBad::Reject,
            messages,
            counts: Counts::default(),
            exit: Exit::Clean,
        }
    }

    /// Whether the first bad record ends the run.
    pub(crate) fn stops_at_rejects(&self) -> bool {
        self.on_bad == OnBad::Fail
    }

    /// An input that could not be read, or not to its end.
    pub(crate) fn broken(&mut self, broken: &Broken) {
        self.messages.broken(broken);
        self.counts.failed_inputs += 1;
        self.exit = self.exit.or_worse(broken.exit);
    }

    /// A record that can not be used. Fails if that ends the run: the list of rejects is kept, it says why there is no
    /// output.
    pub(crate) fn reject(&mut self, reject: &Reject) -> Result<(), Failure> {
        self.counts.rejected += 1;
        let fails = self.stops_at_rejects();
        if self.on_bad != OnBad::Skip {
            self.exit = self.exit.or_worse(Exit::Rejected);
        }
        match self.on_bad {
            OnBad::Skip => {}
            OnBad::Reject => self.messages.reject(reject),
            OnBad::Fail => self.messages.clear(),
        }
        if let Some(rejects) = &mut self.rejects {
            let mut line = Vec::new();
            push_line(&mut line, reject);
            rejects.write(&line)?;
        }
        if !fails {
            return Ok(());
        }
        self.rejects.take().map_or(Ok(()), Output::finish)?;
        Err(Failure::new(self.exit, format!("stopped at the first bad record: {reject}")))
    }

    /// Keeps the list of rejects so far, for `--resume`.
    pub(crate) fn save_rejects(&self, place: &Path) -> Result<(), Failure> {
        self.rejects.as_ref().map_or(Ok(()), |rejects| rejects.copy_to(place))
    }

    /// Goes on from where an earlier run was.
    pub(crate) fn go_on(&mut self, counts: Counts, exit: Exit, rejects: &Path) -> Result<(), Failure> {
        (self.counts, self.exit) = (counts, exit);
        self.rejects.as_mut().map_or(Ok(()), |output| output.append(rejects))
    }

    /// Counts a batch and shows how far things are.
    pub(crate) fn count(&mut self, counts: &Counts) {
        self.counts.add(counts);
        self.messages.progress(self.counts.documents, self.counts.bytes);
    }

    /// Gives the list of rejects its name, and the counts with the time it took.
    pub(crate) fn finish(mut self) -> Result<(Counts, Exit), Failure> {
        self.messages.clear();
        self.rejects.map_or(Ok(()), Output::finish)?;
        self.counts.seconds = (self.messages.seconds() * 1000.0).round() / 1000.0;
        Ok((self.counts, self.exit))
    }
}

/// What a run comes to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) documents: u64,
    pub(crate) too_short: u64,
    pub(crate) rejected: u64,
    /// Records that were there before, with the same id and text.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) repeated: u64,
    /// Documents in which bytes that are not UTF-8 were replaced.
    pub(crate) replaced: u64,
    pub(crate) failed_inputs: u64,
    /// Bytes of the records, after decompression.
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
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

    /// `2 documents, 1 too short`, and what else there is.
    pub(crate) fn in_words(&self) -> String {
        let mut words = counted(self.documents, "document");
        let mut add = |count: u64, what: &str| {
            if count > 0 {
                words += &format!(", {} {what}", grouped(count));
            }
        };
        add(self.too_short, "too short");
        add(self.repeated, "there before");
        add(self.replaced, "with bytes replaced");
        add(self.rejected, "rejected");
        if self.failed_inputs > 0 {
            words += &format!(", {} not read, or not to the end", counted(self.failed_inputs, "input"));
        }
        words
    }

    /// How much there was, and how long it took.
    pub(crate) fn effort(&self) -> String {
        format!("{:.1} MB in {:.2} s", self.bytes as f64 / 1e6, self.seconds)
    }
}
