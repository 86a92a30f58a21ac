//! Signals: removes temporary files before the process ends.

/// Ends the process on SIGINT, SIGTERM and SIGHUP with code 128 + signal, after removing temporary files.
#[cfg(unix)]
pub(crate) fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // A run under `nohup` continues when its terminal closes.
    let signals =
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal));
    // Without the thread, a signal has its default effect.
    let Ok(mut signals) = signal_hook::iterator::Signals::new(signals) else { return };
    let wait = move || signals.forever().next().map(end);
    let _ = std::thread::Builder::new().name("signals".into()).spawn(wait);
}

#[cfg(not(unix))]
pub(crate) fn watch() {}

/// Returns `true` if the parent process had the signal ignored.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(unix)]
fn end(signal: i32) {
    sameish_batch::output::temporary::remove_all(|| {
        crate::output::messages::wipe();
        std::process::exit(128 + signal);
    });
}
