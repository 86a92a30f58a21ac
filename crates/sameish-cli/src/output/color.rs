//! Is the answer coloured?

use std::io::IsTerminal;

/// When to colour, as `--color` says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless the variable NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// A role that text can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Strong,
    /// Words that both texts have.
    Shared,
    /// Words around them that differ.
    Changed,
}

/// Puts colour around text, or brackets around what must be seen without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Palette {
    pub(crate) colored: bool,
}

impl Palette {
    /// The palette for standard output.
    pub(crate) fn for_stdout(when: When) -> Palette {
        let colored = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                let asked_not_to = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
                !asked_not_to && !dumb && std::io::stdout().is_terminal()
            }
        };
        Palette { colored }
    }

    /// The text in the colour of its role.
    pub(crate) fn paint(self, role: Role, text: &str) -> String {
        let code = match role {
            _ if !self.colored => return text.to_owned(),
            Role::Strong => "1",
            Role::Shared => "32",
            Role::Changed => "33",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
