//! What must not stay behind when a run is interrupted?
//!
//! Temporary files that have a name. They go when they are dropped, but Ctrl-C drops nothing: so their names are kept here, and
//! a thread that waits for signals removes them before it ends the run. Files come into being and get their final names under
//! the same lock, so a signal finds each either listed or finished.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

static NAMES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn names() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a temporary file that an interrupt removes.
pub(crate) fn make(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<NamedTempFile> {
    let mut names = names();
    let file = make()?;
    // From wherever the run may be by then.
    names.insert(std::path::absolute(file.path()).unwrap_or_else(|_| file.path().to_owned()));
    Ok(file)
}

/// Gives such a file its final name, after which it stays.
pub(crate) fn settle<T>(temporary: &Path, settle: impl FnOnce() -> T) -> T {
    let mut names = names();
    names.remove(&std::path::absolute(temporary).unwrap_or_else(|_| temporary.to_owned()));
    settle()
}

/// Ends the run on the signals that ask for it: with 128 and the signal's number, as shells count, and without leftovers.
#[cfg(unix)]
pub(crate) fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // A run under `nohup` goes on when its terminal goes.
    let wanted =
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal));
    // Without a thread to wait in, a signal does what it does by default.
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else { return };
    let wait = move || signals.forever().next().map(end);
    let _ = std::thread::Builder::new().name("signals".into()).spawn(wait);
}

#[cfg(not(unix))]
pub(crate) fn watch() {}

/// Whether whoever started us had the signal ignored.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(unix)]
fn end(signal: i32) {
    // Held to the end, so that nothing comes into being or gets its name any more.
    let names = names();
    names.iter().for_each(|name| _ = fs::remove_file(name));
    super::messages::wipe();
    std::process::exit(128 + signal);
}
