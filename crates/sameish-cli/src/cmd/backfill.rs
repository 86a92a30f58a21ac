//! `sameish backfill`: sketches in the user's own database.

use super::index::failure;
use crate::args::EngineArgs;
use crate::exit::{Exit, Failure};
use crate::output::file::Output;
use crate::output::jsonl::push_line;
use crate::output::messages::{Messages, counted, grouped, say};
use sameish::{Analyzer, Preset};
use sameish_store::{Backfill, Backfilled, Target, TextSource};
use serde::Serialize;
use std::path::PathBuf;

/// Add sketches to a SQLite database
///
/// Computes the sketches of texts that are in a database already: into a column `minhash_signature` of their table, which
/// is added where it is missing, or into a table `article_fingerprints` beside it. Rows without text are skipped, rows that
/// have their sketches too; a run that was broken off goes on where it was.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The SQLite file
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The table of the texts, or of what they belong to
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,
    /// Its column of ids
    #[arg(long, value_name = "COLUMN", default_value = "id")]
    id: String,
    /// Its column of texts
    #[arg(long, value_name = "COLUMN", default_value = "text", conflicts_with = "query")]
    text: String,
    /// A query that gives ids and texts instead, where texts are in another table
    #[arg(long, value_name = "SQL", required_unless_present = "table")]
    query: Option<String>,
    /// Where sketches go [default: the table for settings that make fingerprints, else the column]
    #[arg(long, value_enum)]
    into: Option<Place>,
    /// Take away what runs before added
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    engine: EngineArgs,
    /// End with a summary for machines
    #[arg(long)]
    json: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Place {
    /// The column `minhash_signature`
    Column,
    /// The table `article_fingerprints`
    Table,
}

const AFTER_HELP: &str = "\
Examples:
  sameish backfill feeds.db --table items --text title --preset headlines
  sameish backfill news.db --table articles --text body --preset articles
  sameish backfill news.db --table content_storage --preset articles \\
    --query 'SELECT content_id, body_text FROM content_analysis'
  sameish backfill feeds.db --table items --preset headlines --undo

A signature is the little-endian BLOB of 4 bytes a row, a fingerprint one of 8
bytes. Texts too short for the preset have no signature. What was added is noted
in a table `sameish_backfill`, which goes with `--undo`.

Exit codes: 0 clean, 2 wrong usage, 4 the database unreadable or not as told, 5
the disk full, 6 writing failed, 1 our fault.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let (_, config) = args.engine.settings()?;
    let target = match args.into {
        Some(Place::Column) => Target::Column,
        Some(Place::Table) => Target::Table,
        None if config.simhash.is_some() => Target::Table,
        None => Target::Column,
    };
    let engine = Analyzer::new(config).map_err(|error| Failure::usage(error.to_string()))?;
    if engine.config().minhash.is_none() && engine.config().simhash.is_none() {
        let known = [Preset::Articles, Preset::Headlines, Preset::Copies].map(Preset::name).join(", ");
        return Err(Failure::usage(format!("the settings make nothing to store; use one of {known}")).into());
    }
    let Args { table, id, text, query, .. } = args;
    let source = TextSource { table, id, text, query };
    let mut backfill = Backfill::open(&args.database, source, target).map_err(failure)?;
    if args.undo {
        let taken = backfill.undo().map_err(failure)?;
        if !args.quiet {
            say(format_args!("{}", if taken { "taken away" } else { "there was nothing to take away" }));
        }
        return Ok(Exit::Clean);
    }
    let mut messages = Messages::new(args.quiet || args.json, false);
    let done = backfill.run(&engine, &mut |rows| {
        messages.rows(rows);
        true
    });
    messages.clear();
    report(done.map_err(failure)?, args.json, args.quiet)
}

#[derive(Serialize)]
struct Summary {
    computed: u64,
    too_short: u64,
    skipped: u64,
    before: u64,
    added: bool,
}

fn report(done: Backfilled, json: bool, quiet: bool) -> anyhow::Result<Exit> {
    let Backfilled { computed, too_short, skipped, before, added } = done;
    if json {
        let mut line = Vec::new();
        push_line(&mut line, &Summary { computed, too_short, skipped, before, added });
        Output::Stdout.write(&line)?;
    } else if !quiet {
        say(format_args!(
            "{} computed, {} done before, {} skipped without text or signature; {} too short",
            counted(computed, "row"),
            grouped(before),
            grouped(skipped),
            grouped(too_short)
        ));
    }
    Ok(Exit::Clean)
}
