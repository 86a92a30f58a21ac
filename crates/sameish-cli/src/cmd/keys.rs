//! `sameish keys`: keys of the service.

use crate::choice::{Choice, choice, one_of};
use crate::exit::{Exit, Failure};
use crate::output::file::Output;
use crate::output::messages::say;
use sameish_server::{NewKey, Scope};

/// Create keys for the service
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Generate a random key of 256 bits
    ///
    /// Prints the key to standard output and, to standard error, the lines that the settings file of the service needs. The
    /// key is not stored: the settings file contains only its digest.
    New(NewArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
struct NewArgs {
    /// Scope of the key: what it permits
    #[arg(long, value_parser = one_of(&SCOPES), default_value = "write")]
    scope: Scope,
    /// Name of the key in messages of the service
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Print nothing but the key
    #[arg(short, long)]
    quiet: bool,
}

const AFTER_HELP: &str = "\
Examples:
  sameish keys new --scope read --name dashboard
  key=$(sameish keys new --quiet); echo $key
  SAMEISH_WRITE_KEYS=$key sameish serve --listen 0.0.0.0:7070

Clients send the key in the header `Authorization: Bearer KEY`.";

const SCOPES: [Choice<Scope>; 3] = [
    choice("read", "Read and search", Scope::Read),
    choice("write", "Also store and delete documents", Scope::Write),
    choice("admin", "Also create and delete collections, and take snapshots", Scope::Admin),
];

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Command::New(args) = args.command;
    let random = |error| Failure::new(Exit::Fault, format!("cannot read random numbers: {error}"));
    let scope = args.scope;
    let new = NewKey::generate().map_err(random)?;
    if !args.quiet {
        say(format_args!(
            "The key is shown only once. To permit it, add these lines to the settings file of the service:\n\n{}\n\
             or set the environment variable `{}` to the key. Clients send `Authorization: Bearer KEY`.",
            new.setting(scope, args.name.as_deref()),
            scope.variable(),
        ));
    }
    Output::Stdout.write(format!("{}\n", new.key).as_bytes())?;
    Ok(Exit::Clean)
}
