//! `sameish compare`: every measure of two texts, and their shared passages.

use crate::args::{EngineArgs, TextArgs, ThreadArgs};
use crate::choice::{Choice, choice, one_of};
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::output::report::{Report, Side};
use anstream::AutoStream;
use clap::ColorChoice;
use sameish::Content;
use sameish::matching::OffsetUnit;
use sameish_batch::input::{Input, read_whole};
use sameish_server::CompareResponse;
use std::ffi::OsString;
use std::path::PathBuf;

/// Compare two texts with every measure, and show shared passages
///
/// Compares two files (plain, .gz or .zst; `-` is standard input), or two texts given with `--text`.
#[derive(Debug, clap::Args)]
#[command(override_usage = USAGE, after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// First file
    #[arg(required_unless_present = "texts")]
    a: Option<OsString>,
    /// Second file
    #[arg(required_unless_present = "texts")]
    b: Option<OsString>,
    /// Text to compare instead of a file; pass this option twice
    #[arg(long = "text", value_name = "TEXT", conflicts_with_all = ["a", "b"])]
    texts: Vec<String>,
    /// Minimum length of a shared passage in words
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    min_tokens: u32,
    /// Unit of the offsets of passages in the output of `--json`
    #[arg(long, value_name = "UNIT", default_value = "utf8", value_parser = one_of(&OFFSETS))]
    offsets: OffsetUnit,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
    /// Accepted for consistency with other commands; has no effect
    #[arg(long, hide_short_help = true)]
    quiet: bool,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Colored output; `auto` respects `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE`
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    #[command(flatten)]
    text: TextArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

const OFFSETS: [Choice<OffsetUnit>; 3] = [
    choice("utf8", "Bytes of UTF-8", OffsetUnit::Utf8),
    choice("utf16", "UTF-16 units, as in JavaScript and Java", OffsetUnit::Utf16),
    choice("chars", "Code points, as in Python", OffsetUnit::Chars),
];

const USAGE: &str = "\
sameish compare [OPTIONS] A B
       sameish compare [OPTIONS] --text TEXT --text TEXT";

const AFTER_HELP: &str = "\
Examples:
  sameish compare draft.txt published.txt
  sameish compare --json a.txt b.txt
  sameish compare --text 'the cat sat on the mat' --text 'a cat sat on a mat'
  curl -s https://example.org/page | sameish compare --html saved.html -

Exit codes: 0 success (whether or not the texts match), 1 internal error,
2 usage error, 4 unreadable input, 5 limit reached.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    // These flags have no effect here, but every command accepts them.
    let Args { quiet: _, threads: _, .. } = &args;
    let engine = args.engine.analyzer()?;
    let [a, b] = sides(&args, engine.config().text.lossy)?;
    let comparison = engine.compare(&a.content, &b.content, args.min_tokens as usize);
    print(args.json, &CompareResponse::new(&comparison, a.text(), b.text(), args.offsets), || {
        let color = use_color(args.color);
        let report = Report {
            analyzer: &engine,
            a: &a,
            b: &b,
            comparison: &comparison,
            min_tokens: args.min_tokens,
            color,
        };
        report.to_string()
    })?;
    Ok(Exit::Clean)
}

fn use_color(choice: ColorChoice) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never,
    }
}

/// Reads the two texts.
fn sides(args: &Args, lossy: bool) -> Result<[Side; 2], Failure> {
    match (&args.a, &args.b, &args.texts[..]) {
        (Some(a), Some(b), _) if a == "-" && b == "-" => {
            Err(Failure::usage("`-` is given twice; standard input can be read only once: pass it once"))
        }
        (Some(a), Some(b), _) => Ok([read(a, args, lossy)?, read(b, args, lossy)?]),
        (_, _, [a, b]) => Ok([given("first text", a), given("second text", b)]),
        _ => Err(Failure::usage("`--text` must be given twice, once per text")),
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
