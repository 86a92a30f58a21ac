//! What does the caller's script learn?
//!
//! One of seven numbers (DESIGN.md section 5). A command that meets several problems reports the most serious.

use crate::output::messages::say;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Exit {
    /// All is well.
    Clean = 0,
    /// Our own fault.
    Fault = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// Done, but some records were rejected.
    Rejected = 3,
    /// An input could not be read, or not to its end.
    Unreadable = 4,
    /// A limit was hit: expansion, size, disk.
    Limit = 5,
    /// The output could not be written.
    Output = 6,
}

impl Exit {
    /// The more serious of the two.
    pub(crate) fn or_worse(self, other: Exit) -> Exit {
        if other.gravity() > self.gravity() { other } else { self }
    }

    fn gravity(self) -> u8 {
        match self {
            Exit::Clean => 0,
            Exit::Rejected => 1,
            Exit::Unreadable => 2,
            Exit::Limit => 3,
            Exit::Output => 4,
            Exit::Usage => 5,
            Exit::Fault => 6,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command ended before its work was done, and with which number.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    message: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Runs a command, prints why it failed if it did, and turns a panic into a request for a report.
pub(crate) fn fenced(command: impl FnOnce() -> anyhow::Result<Exit>) -> Exit {
    match catch_unwind(AssertUnwindSafe(command)) {
        Ok(Ok(exit)) => exit,
        Ok(Err(error)) => {
            say(format_args!("error: {error:#}"));
            error.downcast_ref::<Failure>().map_or(Exit::Fault, |failure| failure.exit)
        }
        Err(_) => {
            say(format_args!("error: a fault in sameish {}, not in your data", env!("CARGO_PKG_VERSION")));
            say(format_args!("Please report it with the command and the lines above."));
            Exit::Fault
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_serious_problem_wins() {
        let order = [Exit::Clean, Exit::Rejected, Exit::Unreadable, Exit::Limit, Exit::Output, Exit::Fault];
        for (i, &mild) in order.iter().enumerate() {
            for &grave in &order[i..] {
                assert_eq!(mild.or_worse(grave), grave);
                assert_eq!(grave.or_worse(mild), grave);
            }
        }
    }

    #[test]
    fn a_panic_is_our_fault() {
        assert_eq!(fenced(|| panic!("on purpose")), Exit::Fault);
    }

    #[test]
    fn a_failure_keeps_its_number_under_context() {
        let failing =
            || Err(anyhow::Error::new(Failure::new(Exit::Limit, "too much")).context("while reading"));
        assert_eq!(fenced(failing), Exit::Limit);
    }
}
