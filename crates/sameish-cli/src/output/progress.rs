//! The progress bar on standard error.
//!
//! The bar shows the share, the rate and the remaining time of the current stage. It is drawn by the thread that reports
//! progress; there is no timer thread. All messages go through [`suspend`], so that they do not mix with the bar.

use super::messages::grouped;
use crate::run_log::bytes_read;
use indicatif::{DecimalBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Draws per second.
const REFRESH_RATE: u8 = 5;
/// Shorter runs show no bar.
const DELAY: Duration = Duration::from_millis(200);
/// The remaining time is unreliable at the beginning of a stage.
const ESTIMATE_AFTER: Duration = Duration::from_secs(1);

const WITH_TOTAL: &str = "{prefix} {percent:>3} % [{wide_bar}] {rate}{left}";
const WITHOUT_TOTAL: &str = "{prefix} {done}, {rate}";

/// The bar that is currently shown, for messages and signal handling.
struct Current {
    bar: Option<ProgressBar>,
    stopped: bool,
}

static CURRENT: Mutex<Current> = Mutex::new(Current { bar: None, stopped: false });

fn current() -> MutexGuard<'static, Current> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hides the bar while `print` writes to standard error.
pub(crate) fn suspend<T>(print: impl FnOnce() -> T) -> T {
    let bar = current().bar.clone();
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Removes the bar before the process exits. It is not drawn again.
pub(crate) fn stop() {
    let mut current = current();
    current.stopped = true;
    if let Some(bar) = &current.bar {
        bar.finish_and_clear();
    }
}

/// Shows the progress of one stage after another.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The draw target, until the bar is drawn for the first time.
    target: Option<ProgressDrawTarget>,
    started: Instant,
    stage: &'static str,
    /// Bytes read before the stage began.
    base: u64,
    /// Documents read in this stage.
    documents: Arc<AtomicU64>,
    /// Total size of the inputs in bytes, if known.
    pub(crate) input_bytes: Option<u64>,
}

impl Progress {
    /// Creates a bar on standard error and registers it for [`suspend`] and [`stop`].
    pub(crate) fn new() -> Progress {
        let progress = Progress::on(ProgressDrawTarget::stderr_with_hz(REFRESH_RATE));
        current().bar = Some(progress.bar.clone());
        progress
    }

    fn on(target: ProgressDrawTarget) -> Progress {
        Progress {
            bar: ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
            target: Some(target),
            started: Instant::now(),
            stage: "",
            base: 0,
            documents: Arc::default(),
            input_bytes: None,
        }
    }

    /// Reports a stage that reads all inputs, with the documents and the bytes of their records if they are counted.
    pub(crate) fn reading(&mut self, stage: &'static str, documents: u64, bytes: Option<u64>) {
        self.enter(stage, "bytes", self.input_bytes);
        self.documents.store(documents, Ordering::Relaxed);
        let read = bytes_read() - self.base;
        self.set(bytes.filter(|_| self.input_bytes.is_none()).unwrap_or(read));
    }

    /// Reports a stage that processes items, such as documents or rows.
    pub(crate) fn items(&mut self, stage: &'static str, unit: &'static str, done: u64, total: Option<u64>) {
        self.enter(stage, unit, total);
        self.set(done);
    }

    /// Removes the bar until the next stage.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn enter(&mut self, stage: &'static str, unit: &'static str, total: Option<u64>) {
        if self.stage == stage {
            return;
        }
        let first = self.stage.is_empty();
        self.stage = stage;
        self.base = if first { 0 } else { bytes_read() };
        self.documents.store(0, Ordering::Relaxed);
        if !first {
            self.clear();
        }
        self.bar.set_style(style(unit, total.is_some(), self.documents.clone()));
        self.bar.set_prefix(stage);
        match total {
            Some(total) => self.bar.set_length(total),
            None => self.bar.unset_length(),
        }
        // The first stage began with the run, so its clock is not reset.
        let current = current();
        if !first && !current.stopped {
            self.bar.reset();
        }
    }

    fn set(&mut self, position: u64) {
        if self.started.elapsed() >= DELAY
            && let Some(target) = self.target.take()
        {
            self.bar.set_draw_target(target);
        }
        self.bar.set_position(position);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
        current().bar.take_if(|bar| bar.is_finished());
    }
}

fn style(unit: &'static str, has_total: bool, documents: Arc<AtomicU64>) -> ProgressStyle {
    let template = if has_total { WITH_TOTAL } else { WITHOUT_TOTAL };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let amount = move |count: u64| match unit {
        "bytes" => DecimalBytes(count).to_string(),
        _ => format!("{} {unit}", grouped(count)),
    };
    let done = move |state: &ProgressState, out: &mut dyn Write| {
        let _ = out.write_str(&amount(state.pos()));
    };
    let rate = move |state: &ProgressState, out: &mut dyn Write| {
        let _ = write!(out, "{}/s", amount(state.per_sec() as u64));
        let documents = documents.load(Ordering::Relaxed);
        if documents > 0 {
            let rate = documents as f64 / state.elapsed().as_secs_f64().max(0.001);
            let _ = write!(out, ", {} documents/s", grouped(rate as u64));
        }
    };
    let left = |state: &ProgressState, out: &mut dyn Write| {
        if state.elapsed() >= ESTIMATE_AFTER && state.pos() > 0 {
            let _ = write!(out, ", {:#} left", HumanDuration(state.eta()));
        }
    };
    style.progress_chars("=> ").with_key("done", done).with_key("rate", rate).with_key("left", left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::TermLike;
    use std::io;

    /// A terminal that records its output.
    #[derive(Clone, Debug, Default)]
    struct Recorder(Arc<Mutex<String>>);

    impl Recorder {
        fn take(&self) -> String {
            std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }
    }

    impl TermLike for Recorder {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.write_str("<clear>")
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// One test, because all bars share the state of the current one.
    #[test]
    fn bar_shows_progress_and_gives_way_to_messages() {
        let recorder = Recorder::default();
        let mut progress = Progress::on(ProgressDrawTarget::term_like(Box::new(recorder.clone())));
        progress.reading("reading", 1, Some(1));
        assert_eq!(recorder.take(), "", "short runs show no bar");

        progress.started -= DELAY;
        progress.reading("reading", 3000, Some(9_000_000));
        let line = recorder.take();
        assert!(line.contains("reading 9.00 MB, ") && line.contains(" documents/s"), "{line}");

        progress.items("comparing", "documents", 0, Some(200));
        progress.bar.set_elapsed(Duration::from_secs(10));
        recorder.take();
        progress.items("comparing", "documents", 100, Some(200));
        let line = recorder.take();
        assert!(line.starts_with("<clear>comparing  50 % [===="), "{line}");
        assert!(line.contains(" documents/s, ") && line.trim_end().ends_with(" left"), "{line}");
        assert!(line.len() <= "<clear>".len() + 80, "{line}");

        current().bar = Some(progress.bar.clone());
        suspend(|| recorder.write_str("message\n")).unwrap_or_default();
        let text = recorder.take();
        assert!(text.starts_with("<clear>message\ncomparing "), "{text}");

        stop();
        assert_eq!(recorder.take(), "<clear>");
        progress.items("comparing", "documents", 150, Some(200));
        progress.items("writing", "rows", 1, None);
        assert_eq!(recorder.take(), "", "a stopped bar is not drawn again");
        drop(progress);
        assert!(current().bar.is_none());
    }
}
