//! What a dry run on a terminal assumed.

use crate::args::EngineArgs;
use crate::exit::Failure;
use crate::output::command::{kept_name, quoted};
use crate::output::escape::escaped;
use sameish_batch::Options;
use sameish_batch::input::{InputResult, ReadOptions};

/// Assumptions of a run without options, and the command that writes its result.
pub(super) struct Assumptions {
    ids: Option<String>,
    preset: &'static str,
    limit: String,
    command: String,
}

impl Assumptions {
    pub(super) fn new(
        engine: &EngineArgs,
        options: &Options,
        read: &ReadOptions,
        inputs: &[InputResult],
    ) -> Result<Assumptions, Failure> {
        let (preset, _) = engine.settings()?;
        let config = options.analyzer.config();
        let limit = match &config.simhash {
            Some(simhash) if !config.matching.verify => format!("radius {}", simhash.radius),
            _ => format!("threshold {}", config.matching.threshold),
        };
        Ok(Assumptions {
            ids: read.fields.id.clone(),
            preset: preset.name(),
            limit,
            command: command(inputs),
        })
    }

    /// Returns a line with the assumptions and a line with the command.
    pub(super) fn in_words(&self, text_fields: &[String]) -> String {
        let quoted = |name: &String| format!("`{}`", escaped(name));
        let texts: Vec<String> = text_fields.iter().map(quoted).collect();
        let fields = match (&texts[..], &self.ids) {
            ([], _) => "one document per line".to_owned(),
            (texts, Some(id)) => format!("texts in {}, ids in {}", texts.join(" and "), quoted(id)),
            (texts, None) => format!("texts in {}", texts.join(" and ")),
        };
        format!(
            "assumed: {fields}, preset `{}`, {}; nothing was written\nto write the kept records: {}",
            self.preset, self.limit, self.command
        )
    }
}

/// Returns this command with an output.
fn command(inputs: &[InputResult]) -> String {
    let arguments = std::env::args_os().skip(1).map(|argument| quoted(&argument.to_string_lossy()));
    let command: Vec<String> = std::iter::once("sameish".to_owned()).chain(arguments).collect();
    format!("{} -o {}", command.join(" "), kept_name(inputs))
}
