//! What does JavaScript learn when the engine refuses?
//!
//! The engine's own message, and a `code` that programs can look at. Wrong types never come this far: `lib/check.cjs`
//! answers them.

use sameish::Error;

/// What functions for JavaScript give, and with a [`Fault`] those behind them. The name matters: `#[napi]` knows a `Result`
/// by it.
pub(crate) type Result<T, E = napi::Error<&'static str>> = std::result::Result<T, E>;

/// A refusal that can travel between threads.
#[derive(Debug)]
pub struct Fault {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Fault {
    /// Something of ours broke. The process goes on.
    pub(crate) fn internal(what: &str) -> Fault {
        let message = format!("internal error of sameish: {what}; please report it");
        Fault { code: "ERR_SAMEISH_INTERNAL", message }
    }

    /// Another call has the engine.
    pub(crate) fn busy() -> Fault {
        let message = "the engine is at work for a call that was not awaited: await it first".to_owned();
        Fault { code: "ERR_SAMEISH_BUSY", message }
    }

    /// A panic, by what it said.
    pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> Fault {
        let said = panic.downcast_ref::<&str>().copied();
        let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Fault::internal(said.unwrap_or("a panic"))
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault { code: code(&error), message: escaped(&error.to_string()) }
    }
}

/// The message with control characters of what was handed in written out, as in `\u{1b}`; the lines of a message stay.
fn escaped(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for c in message.chars() {
        match c {
            c if c.is_control() && c != '\n' => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

impl From<Fault> for napi::Error<&'static str> {
    fn from(fault: Fault) -> Self {
        napi::Error::new(fault.code, fault.message)
    }
}

/// The code of an error; of one in a document, that of what is wrong there.
fn code(error: &Error) -> &'static str {
    match error {
        Error::InvalidField { .. } => "ERR_SAMEISH_INVALID_FIELD",
        Error::ConfigSyntax { .. } => "ERR_SAMEISH_CONFIG",
        Error::UnknownPreset { .. } => "ERR_SAMEISH_UNKNOWN_PRESET",
        Error::UnknownLanguage { .. } => "ERR_SAMEISH_UNKNOWN_LANGUAGE",
        Error::SchemeMismatch { .. } | Error::SizeMismatch { .. } => "ERR_SAMEISH_MISMATCH",
        Error::HexLength { .. } | Error::HexDigit { .. } => "ERR_SAMEISH_HEX",
        Error::ByteLength { .. } | Error::Corrupt { .. } | Error::CorruptIndex { .. } => {
            "ERR_SAMEISH_CORRUPT"
        }
        Error::Version { .. } => "ERR_SAMEISH_VERSION",
        Error::InvalidWeight { .. } => "ERR_SAMEISH_INVALID_WEIGHT",
        Error::RepeatedId { .. } => "ERR_SAMEISH_REPEATED_ID",
        Error::InDocument { source, .. } => code(source),
        _ => "ERR_SAMEISH",
    }
}
