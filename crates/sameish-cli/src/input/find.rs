//! Which inputs are meant?
//!
//! An argument is a file, a folder (searched to its depths, in order of names), a pattern that the shell left alone,
//! or `-` for standard input.

use super::format::Kind;
use super::reject::Broken;
use crate::exit::Failure;
use crate::output::escape::escaped_name;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One input before it is opened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Source {
    /// The name that messages use: control characters are escaped.
    pub(crate) name: Arc<str>,
    /// Absent for standard input.
    pub(crate) path: Option<PathBuf>,
}

impl Source {
    pub(crate) fn stdin() -> Source {
        Source { name: "-".into(), path: None }
    }

    pub(crate) fn file(path: PathBuf) -> Source {
        Source { name: escaped_name(path.as_os_str()).into(), path: Some(path) }
    }
}

/// An input, or why there is none.
pub(crate) type Found = Result<Source, Broken>;

/// All inputs in order. One that can not be had stands in its place with the reason, so that the others go on.
pub(crate) fn find(arguments: &[OsString], takes: impl Fn(&Path) -> bool) -> Result<Vec<Found>, Failure> {
    if arguments.iter().filter(|argument| *argument == "-").count() > 1 {
        return Err(Failure::usage("`-` is given twice: standard input can be read once"));
    }
    let mut found = Vec::new();
    for argument in arguments {
        match argument.to_str() {
            Some("-") => found.push(Ok(Source::stdin())),
            _ => find_path(argument, &takes, &mut found),
        }
    }
    Ok(found)
}

/// Whether a folder's file is one of ours: by its suffix, with or without that of a compression.
pub(crate) fn known_suffix(path: &Path, whole_files: bool) -> bool {
    let (kind, suffix) = Kind::of_path(path);
    match whole_files {
        true => kind == Some(Kind::Text),
        // A folder often holds settings and notes as well; these two are read when they are named.
        false => kind.is_some() && suffix != "json" && suffix != "md",
    }
}

fn find_path(argument: &OsStr, takes: &impl Fn(&Path) -> bool, found: &mut Vec<Found>) {
    let path = Path::new(argument);
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => find_in_folder(path, takes, found),
        Ok(_) => found.push(Ok(Source::file(path.to_owned()))),
        Err(error) => match pattern(argument) {
            Some(pattern) if error.kind() == io::ErrorKind::NotFound => find_matching(pattern, takes, found),
            _ => found.push(Err(missing(path, &error))),
        },
    }
}

fn find_in_folder(folder: &Path, takes: &impl Fn(&Path) -> bool, found: &mut Vec<Found>) {
    let before = found.len();
    walk(folder, takes, found);
    if found.len() == before {
        let name = Source::file(folder.to_owned()).name;
        let reason =
            "no file with a known suffix in this folder; name the files, or a pattern such as `DIR/*.log`";
        found.push(Err(Broken::unreadable(&name, reason)));
    }
}

/// Folders inside are entered, links to folders are not, so that no circle is walked. Hidden names are passed over.
fn walk(folder: &Path, takes: &impl Fn(&Path) -> bool, found: &mut Vec<Found>) {
    let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return found.push(Err(missing(folder, &error))),
    };
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&path, takes, found),
            Ok(_) if takes(&path) && !path.is_dir() => found.push(Ok(Source::file(path))),
            Ok(_) => {}
            Err(error) => found.push(Err(missing(&path, &error))),
        }
    }
}

/// The argument as a pattern, if it looks like one.
fn pattern(argument: &OsStr) -> Option<&str> {
    argument.to_str().filter(|text| text.contains(['*', '?', '[']))
}

fn find_matching(pattern: &str, takes: &impl Fn(&Path) -> bool, found: &mut Vec<Found>) {
    let name = Source::file(pattern.into()).name;
    let paths = match glob::glob(pattern) {
        Ok(paths) => paths,
        Err(error) => {
            return found.push(Err(Broken::unreadable(&name, format!("not a pattern: {}", error.msg))));
        }
    };
    let before = found.len();
    for path in paths {
        match path {
            Ok(path) if path.is_dir() => walk(&path, takes, found),
            Ok(path) => found.push(Ok(Source::file(path))),
            Err(error) => found.push(Err(missing(error.path(), error.error()))),
        }
    }
    if found.len() == before {
        found.push(Err(Broken::unreadable(
            &name,
            "no such file, and the pattern matches none; check the path",
        )));
    }
}

/// What to say of a path that can not be had.
pub(crate) fn missing(path: &Path, error: &io::Error) -> Broken {
    let name = Source::file(path.to_owned()).name;
    let reason = match error.kind() {
        io::ErrorKind::NotFound if path.is_symlink() => {
            "a link to a file that is not there; mend the link".into()
        }
        io::ErrorKind::NotFound => "no such file; check the path".into(),
        io::ErrorKind::PermissionDenied => "not allowed to read it; check its permissions".into(),
        io::ErrorKind::IsADirectory => "a folder, where a file is meant; name a file in it".into(),
        _ => format!("{error}; check the path"),
    };
    Broken::unreadable(&name, reason)
}
