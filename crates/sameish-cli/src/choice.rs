//! Arguments with a fixed set of values, parsed into the types of the libraries.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A value of an argument.
pub(crate) struct Choice<T> {
    name: &'static str,
    help: &'static str,
    value: T,
}

/// Creates a value of an argument from its name, its help text and the value that it represents.
pub(crate) const fn choice<T>(name: &'static str, help: &'static str, value: T) -> Choice<T> {
    Choice { name, help, value }
}

/// Returns the parser of an argument that accepts these values.
pub(crate) fn one_of<T: Clone + Send + Sync>(
    choices: &'static [Choice<T>],
) -> impl TypedValueParser<Value = T> {
    let names = choices.iter().map(|choice| PossibleValue::new(choice.name).help(choice.help));
    PossibleValuesParser::new(names).map(|name| {
        let chosen = choices.iter().find(|choice| choice.name == name);
        chosen.unwrap_or_else(|| unreachable!("clap accepts only the listed names")).value.clone()
    })
}
