//! `sameish config`: which settings hold, and who said so.

use super::serve;
use crate::exit::{Exit, Failure};
use std::io::Write;

/// Show the settings of the service, and where each comes from
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write all settings that `serve` would start with as a settings file, each with its origin; keys are left out
    ///
    /// Takes the flags of `serve`, and tells what is wrong with them as `serve` does.
    Show(serve::Args),
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Command::Show(args) = args.command;
    let text = serve::show(&args)?;
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::new(Exit::Output, format!("standard output: {error}")))?;
    Ok(Exit::Clean)
}
