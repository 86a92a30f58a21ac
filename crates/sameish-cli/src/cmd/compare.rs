//! `sameish compare`: two texts, every measure, and the passages they share.

use crate::args::{EngineArgs, TextArgs, ThreadArgs};
use crate::exit::{Exit, Failure};
use crate::output::color::{Palette, When};
use crate::output::file::Output;
use crate::output::jsonl::push_line;
use crate::output::report::{Report, Side};
use sameish::Content;
use sameish_batch::input::{Input, read_whole};
use sameish_server::CompareAnswer;
use std::ffi::OsString;
use std::path::PathBuf;

/// Compare two texts: every measure, and the passages they share
///
/// Takes two files (plain, .gz or .zst; `-` is standard input), or two texts given with `--text`.
#[derive(Debug, clap::Args)]
#[command(override_usage = USAGE, after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// First file
    #[arg(required_unless_present = "texts")]
    a: Option<OsString>,
    /// Second file
    #[arg(required_unless_present = "texts")]
    b: Option<OsString>,
    /// A text given here instead of a file; give it twice
    #[arg(long = "text", value_name = "TEXT", conflicts_with_all = ["a", "b"])]
    texts: Vec<String>,
    /// Fewest words of a passage that is shown
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    min_tokens: u32,
    /// Answer for machines: one object
    #[arg(long)]
    json: bool,
    /// Taken as everywhere; there is nothing but the answer to say
    #[arg(long, hide_short_help = true)]
    quiet: bool,
    #[command(flatten)]
    threads: ThreadArgs,
    /// When to colour
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = When::Auto)]
    color: When,
    #[command(flatten)]
    text: TextArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

const USAGE: &str = "\
sameish compare [OPTIONS] A B
       sameish compare [OPTIONS] --text TEXT --text TEXT";

const AFTER_HELP: &str = "\
Examples:
  sameish compare draft.txt published.txt
  sameish compare --json a.txt b.txt
  sameish compare --text 'the cat sat on the mat' --text 'a cat sat on a mat'
  curl -s https://example.org/page | sameish compare saved.html -

The exit code is 0 whatever the answer; 2 wrong usage, 4 a text unreadable,
5 a text beyond a limit.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    // Two texts need no more than one thread and no words beside the answer; the flags are there because they are everywhere.
    let Args { quiet: _, threads: _, .. } = &args;
    let engine = args.engine.analyzer()?;
    let [a, b] = sides(&args, engine.config().text.lossy)?;
    let comparison = engine.compare(&a.content, &b.content, args.min_tokens as usize);
    let mut answer = Vec::new();
    match args.json {
        true => push_line(&mut answer, &CompareAnswer::new(&comparison, a.text())),
        false => {
            let palette = Palette::for_stdout(args.color);
            let report =
                Report { a: &a, b: &b, comparison: &comparison, min_tokens: args.min_tokens, palette };
            answer.extend(report.to_string().bytes());
        }
    }
    Output::Stdout.write(&answer)?;
    Ok(Exit::Clean)
}

/// The two texts with their names.
fn sides(args: &Args, lossy: bool) -> Result<[Side; 2], Failure> {
    match (&args.a, &args.b, &args.texts[..]) {
        (Some(a), Some(b), _) if a == "-" && b == "-" => {
            Err(Failure::usage("`-` is given twice: standard input can be read once"))
        }
        (Some(a), Some(b), _) => Ok([read(a, args, lossy)?, read(b, args, lossy)?]),
        (_, _, [a, b]) => Ok([given("first text", a), given("second text", b)]),
        _ => Err(Failure::usage("`--text` must be given twice: the two texts to compare")),
    }
}

fn given(name: &str, text: &str) -> Side {
    Side { name: name.into(), content: Content::Text(text.into()) }
}

fn read(file: &OsString, args: &Args, lossy: bool) -> Result<Side, Failure> {
    let source = if file == "-" { Input::stdin() } else { Input::file(PathBuf::from(file)) };
    let mut reading = args.text.reading();
    reading.rules.lossy |= lossy;
    match read_whole(&source, &reading) {
        Ok(content) => Ok(Side { name: source.name.to_string(), content }),
        Err(error) => Err(sameish_batch::Error::from(error).into()),
    }
}
