//! `sameish backfill`: sketches in the user's own database.

use super::index::failure;
use crate::args::EngineArgs;
use crate::choice::{Choice, choice, one_of};
use crate::exit::{Exit, Failure};
use crate::output::messages::{Messages, counted, grouped, say};
use crate::output::print;
use sameish::{Analyzer, Preset};
use sameish_store::{Backfill, Backfilled, Foreign, Target, TextSource, Undone};
use serde::Serialize;
use std::path::PathBuf;

/// Add sketches to a SQLite database
///
/// Computes the sketches of texts in an existing database and writes them to a new column `minhash_signature` of the same
/// table, or to a new table `article_fingerprints`. Skips rows without text and rows whose sketches are up to date, so an
/// interrupted run can be continued by running the same command again. Values that another program wrote are refused.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// SQLite database file
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Table that contains the texts; with `--query`, the table whose ids the query returns
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,
    /// Column that contains the ids
    #[arg(long, value_name = "COLUMN", default_value = "id")]
    id: String,
    /// Column that contains the texts
    #[arg(long, value_name = "COLUMN", default_value = "text", conflicts_with = "query")]
    text: String,
    /// Query that returns ids and texts, for texts in another table
    #[arg(long, value_name = "SQL", required_unless_present = "table")]
    query: Option<String>,
    /// Destination of the sketches [default: `table` if the configuration has fingerprints, otherwise `column`]
    #[arg(long, value_parser = one_of(&TARGETS))]
    into: Option<Target>,
    /// Remove the values that earlier runs wrote, and the column or table that they added
    #[arg(long, conflicts_with = "recompute")]
    undo: bool,
    /// Replace values that another program wrote or that have other settings
    #[arg(long)]
    recompute: bool,
    /// Print a machine-readable summary
    #[arg(long)]
    json: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
    // Last, because its heading also applies to the arguments after it.
    #[command(flatten)]
    engine: EngineArgs,
}

const TARGETS: [Choice<Target>; 2] = [
    choice("column", "The column `minhash_signature`", Target::Column),
    choice("table", "The table `article_fingerprints`", Target::Table),
];

const AFTER_HELP: &str = "\
Examples:
  sameish backfill feeds.db --table items --text title --preset headlines
  sameish backfill news.db --table articles --text body --preset articles
  sameish backfill news.db --table content_storage --preset articles \\
    --query 'SELECT content_id, body_text FROM content_analysis'
  sameish backfill feeds.db --table items --preset headlines --undo

A signature is a little-endian BLOB of 4 bytes per row, a fingerprint a BLOB of
8 bytes. Texts that are too short for the preset have no signature. The tables
`sameish_backfill` and `sameish_backfill_values` record what was written.
`--undo` also removes these tables, and restores values that `--recompute`
replaced.

Exit codes: 0 success, 2 usage error, 4 database unreadable or without the given
table or column, 5 out of disk space, 6 output failed, 1 internal error.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let (_, config) = args.engine.settings()?;
    let target = match args.into {
        Some(target) => target,
        None if config.simhash.is_some() => Target::Table,
        None => Target::Column,
    };
    let engine = Analyzer::new(config).map_err(Failure::from)?;
    if engine.config().minhash.is_none() && engine.config().simhash.is_none() {
        let known = [Preset::Articles, Preset::Headlines, Preset::Copies].map(Preset::name).join(", ");
        return Err(Failure::usage(format!(
            "the configuration has no signatures and no fingerprints; pass `--preset` with one of: {known}"
        ))
        .into());
    }
    let Args { table, id, text, query, .. } = args;
    let source = TextSource { table, id, text, query };
    let mut backfill = Backfill::open(&args.database, source, target).map_err(failure)?;
    if args.undo {
        let undone = backfill.undo().map_err(failure)?;
        if !args.quiet {
            report_undone(undone);
        }
        return Ok(Exit::Clean);
    }
    let mut messages = Messages::new(args.quiet || args.json, false);
    let foreign = if args.recompute { Foreign::Replace } else { Foreign::Refuse };
    let done = backfill.run(&engine, foreign, &mut |rows| {
        messages.rows(rows);
        true
    });
    messages.clear();
    report(done.map_err(failure)?, args.json, args.quiet)
}

#[derive(Serialize)]
struct Summary {
    computed: u64,
    changed: u64,
    replaced: u64,
    too_short: u64,
    skipped: u64,
    repeated: u64,
    before: u64,
    added: bool,
}

fn report_undone(undone: Undone) {
    let Undone { removed, kept, dropped } = undone;
    if undone == Undone::default() {
        return say(format_args!("nothing to remove"));
    }
    let target = if dropped { "; dropped the column or table" } else { "" };
    say(format_args!(
        "removed {}{target}; kept {} that another program changed",
        counted(removed, "value"),
        grouped(kept)
    ));
}

fn report(done: Backfilled, json: bool, quiet: bool) -> anyhow::Result<Exit> {
    let Backfilled { computed, changed, replaced, too_short, skipped, repeated, before, added } = done;
    if json {
        let summary = Summary { computed, changed, replaced, too_short, skipped, repeated, before, added };
        print(true, &summary, String::new)?;
    } else if !quiet {
        say(format_args!(
            "{} computed ({} with a changed text, {} with values of another program), {} up to date, \
             {} skipped (no id, text or signature), {} ignored because of a repeated id, {} too short",
            counted(computed, "row"),
            grouped(changed),
            grouped(replaced),
            grouped(before),
            grouped(skipped),
            grouped(repeated),
            grouped(too_short)
        ));
    }
    Ok(Exit::Clean)
}
