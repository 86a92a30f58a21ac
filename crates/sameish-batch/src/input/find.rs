//! Input arguments: files, directories, glob patterns and standard input.
//!
//! A directory is searched recursively in the order of file names. A pattern is expanded here if the shell did not.

use super::format::FileFormat;
use super::reject::InputError;
use crate::error::{Error, Result};
use crate::escape::escaped_name;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An input that has not been opened yet: a file or standard input.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Name for messages, with control characters escaped.
    pub name: Arc<str>,
    /// Path of the file; absent for standard input.
    pub path: Option<PathBuf>,
}

impl Input {
    /// Returns standard input.
    pub fn stdin() -> Input {
        Input { name: "-".into(), path: None }
    }

    /// Returns the file at `path`.
    pub fn file(path: PathBuf) -> Input {
        Input { name: escaped_name(path.as_os_str()).into(), path: Some(path) }
    }
}

/// An input, or the reason why an argument has none.
pub type InputResult = std::result::Result<Input, InputError>;

/// Expands arguments into inputs, in order. An argument that cannot be resolved becomes an error in its place, so that the
/// other inputs are still processed. `includes` selects the files of directories.
pub fn find(arguments: &[OsString], includes: impl Fn(&Path) -> bool) -> Result<Vec<InputResult>> {
    if arguments.iter().filter(|argument| *argument == "-").count() > 1 {
        return Err(Error::StdinTwice);
    }
    let mut inputs = Vec::new();
    for argument in arguments {
        match argument.to_str() {
            Some("-") => inputs.push(Ok(Input::stdin())),
            _ => find_path(argument, &includes, &mut inputs),
        }
    }
    Ok(inputs)
}

/// Returns `true` if a file of a directory has a known suffix, optionally followed by that of a compression.
pub fn known_suffix(path: &Path, whole_files: bool) -> bool {
    let (format, suffix) = FileFormat::of_path(path);
    if whole_files {
        return format == Some(FileFormat::Text);
    }
    // Directories often contain settings and notes too; `.json` and `.md` files are read only if they are named.
    format.is_some() && suffix != "json" && suffix != "md"
}

fn find_path(argument: &OsStr, includes: &impl Fn(&Path) -> bool, inputs: &mut Vec<InputResult>) {
    let path = Path::new(argument);
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => find_in_directory(path, includes, inputs),
        Ok(_) => inputs.push(Ok(Input::file(path.to_owned()))),
        Err(error) => match pattern(argument) {
            Some(pattern) if error.kind() == io::ErrorKind::NotFound => {
                find_matching(pattern, includes, inputs);
            }
            _ => inputs.push(Err(cannot_open(path, &error))),
        },
    }
}

fn find_in_directory(directory: &Path, includes: &impl Fn(&Path) -> bool, inputs: &mut Vec<InputResult>) {
    let before = inputs.len();
    walk(directory, includes, inputs);
    if inputs.len() == before {
        let name = Input::file(directory.to_owned()).name;
        let reason = "no file with a known suffix in this directory; name the files, or pass a pattern such as `DIR/*.log`";
        inputs.push(Err(InputError::unreadable(&name, reason)));
    }
}

/// Enters subdirectories, but not links to directories, so that a cycle of links ends. Skips hidden names.
fn walk(directory: &Path, includes: &impl Fn(&Path) -> bool, inputs: &mut Vec<InputResult>) {
    let entries = fs::read_dir(directory).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return inputs.push(Err(cannot_open(directory, &error))),
    };
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&path, includes, inputs),
            Ok(_) if includes(&path) && !path.is_dir() => inputs.push(Ok(Input::file(path))),
            Ok(_) => {}
            Err(error) => inputs.push(Err(cannot_open(&path, &error))),
        }
    }
}

/// Returns the argument if it looks like a pattern.
fn pattern(argument: &OsStr) -> Option<&str> {
    argument.to_str().filter(|text| text.contains(['*', '?', '[']))
}

fn find_matching(pattern: &str, includes: &impl Fn(&Path) -> bool, inputs: &mut Vec<InputResult>) {
    let name = Input::file(pattern.into()).name;
    let paths = match glob::glob(pattern) {
        Ok(paths) => paths,
        Err(error) => {
            let reason = format!("invalid pattern: {}; fix the pattern", error.msg);
            return inputs.push(Err(InputError::unreadable(&name, reason)));
        }
    };
    let before = inputs.len();
    for path in paths {
        match path {
            Ok(path) if path.is_dir() => walk(&path, includes, inputs),
            Ok(path) => inputs.push(Ok(Input::file(path))),
            Err(error) => inputs.push(Err(cannot_open(error.path(), error.error()))),
        }
    }
    if inputs.len() == before {
        let reason = "no such file, and the pattern matches no file; check the path";
        let error = InputError::unreadable(&name, reason);
        inputs.push(Err(InputError { io: Some(io::ErrorKind::NotFound), ..error }));
    }
}

/// Describes a path that cannot be opened.
pub(crate) fn cannot_open(path: &Path, error: &io::Error) -> InputError {
    let name = Input::file(path.to_owned()).name;
    let reason: String = match error.kind() {
        io::ErrorKind::NotFound if path.is_symlink() => {
            "symbolic link to a file that does not exist; fix the link".into()
        }
        io::ErrorKind::NotFound => "no such file; check the path".into(),
        io::ErrorKind::PermissionDenied => "permission denied; check the permissions".into(),
        io::ErrorKind::IsADirectory => "is a directory; expected a file".into(),
        _ => format!("{error}; check the path"),
    };
    InputError { io: Some(error.kind()), ..InputError::unreadable(&name, reason) }
}
