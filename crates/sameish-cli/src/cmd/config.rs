//! `sameish config`: the effective settings and their origins.

use super::serve;
use crate::exit::Exit;
use crate::output::file::Output;

/// Show the settings of the service and their origins
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print the settings that `serve` would use as a settings file, each with its origin, without keys
    ///
    /// Accepts the flags of `serve`, and reports invalid settings as `serve` does.
    #[command(after_help = AFTER_HELP)]
    Show(serve::Args),
}

const AFTER_HELP: &str = "\
Examples:
  sameish config show
  sameish config show --config sameish.toml --listen 0.0.0.0:7070

docs/http.md describes the settings file and the environment variables.

Exit codes: 0 success, 1 internal error, 2 usage error or invalid settings,
6 output failed.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Command::Show(args) = args.command;
    let text = serve::show(&args)?;
    Output::Stdout.write(text.as_bytes())?;
    Ok(Exit::Clean)
}
