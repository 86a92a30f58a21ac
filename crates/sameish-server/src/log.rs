//! Logging that never delays or fails a request.
//!
//! Standard error may be closed, on a full disk, or a pipe that nobody reads. Therefore requests only put log lines into a
//! [`LogQueue`], and a thread of its own writes them. A line that does not fit in the queue or cannot be written is dropped and
//! counted.

use serde_json::Value;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

/// Maximum number of lines that wait to be written.
const QUEUED_LINES: usize = 4_096;
/// Maximum length of a line in bytes. Longer lines of text are cut; the strings of longer JSON objects are cut instead.
const MAX_LINE: usize = 16 << 10;

/// A queue of log lines and the thread that writes them. Clones refer to the same queue.
///
/// ```
/// use sameish_server::LogQueue;
/// use std::time::Duration;
///
/// let log = LogQueue::start(std::io::stderr())?;
/// log.push(b"a line\n");
/// log.flush(Duration::from_secs(1));
/// assert_eq!(log.dropped(), 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LogQueue {
    sender: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Message {
    Line(Vec<u8>),
    /// All earlier lines have been written when this is received; the sender is notified.
    Flush(SyncSender<()>),
}

impl LogQueue {
    /// Starts a thread that writes lines to `output`.
    pub fn start(output: impl Write + Send + 'static) -> io::Result<LogQueue> {
        let (sender, messages) = sync_channel(QUEUED_LINES);
        let dropped = Arc::<AtomicU64>::default();
        let of_thread = Arc::clone(&dropped);
        let thread = std::thread::Builder::new().name("sameish-log".into());
        thread.spawn(move || write_lines(output, &messages, &of_thread))?;
        Ok(LogQueue { sender, dropped })
    }

    /// Queues a line, which ends in a line feed. Drops it if the queue is full; never waits.
    pub fn push(&self, line: &[u8]) {
        let line = if line.len() > MAX_LINE { shortened(line) } else { line.to_vec() };
        if self.sender.try_send(Message::Line(line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of lines that were dropped because the queue was full or a write failed.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until the queued lines are written, at most for `timeout`.
    pub fn flush(&self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        let (done, written) = sync_channel(1);
        let mut message = Message::Flush(done);
        // The queue may be full for a moment. A timeout means that the output blocks, so the lines cannot be written.
        while let Err(TrySendError::Full(rejected)) = self.sender.try_send(message) {
            if Instant::now() >= deadline {
                return;
            }
            message = rejected;
            std::thread::sleep(Duration::from_millis(1));
        }
        _ = written.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

/// Returns a line of at most [`MAX_LINE`] bytes. A JSON object stays one, so that programs can read it.
fn shortened(line: &[u8]) -> Vec<u8> {
    let object = serde_json::from_slice::<serde_json::Map<String, Value>>(line);
    let Ok(mut object) = object else { return [&line[..MAX_LINE - 1], b"\n"].concat() };
    for max in [4_096, 1_024, 256, 64, 16] {
        object.values_mut().for_each(|value| cut_strings(value, max));
        let json = Value::Object(object.clone()).to_string();
        if json.len() < MAX_LINE {
            return (json + "\n").into_bytes();
        }
    }
    b"{\"level\":\"WARN\",\"message\":\"a log line was too long\"}\n".to_vec()
}

/// Cuts strings that are longer than `max` characters.
fn cut_strings(value: &mut Value, max: usize) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(max) {
                text.truncate(end);
                text.push('…');
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| cut_strings(value, max)),
        Value::Object(fields) => fields.values_mut().for_each(|value| cut_strings(value, max)),
        _ => {}
    }
}

fn write_lines(mut output: impl Write, messages: &Receiver<Message>, dropped: &AtomicU64) {
    for message in messages {
        match message {
            Message::Line(line) => {
                let written = output.write_all(&line).and_then(|()| output.flush());
                dropped.fetch_add(u64::from(written.is_err()), Ordering::Relaxed);
            }
            // The sender may have stopped waiting.
            Message::Flush(done) => _ = done.try_send(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// An output that fails or blocks.
    struct Broken(Arc<Mutex<()>>);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            let _open = self.0.lock().unwrap();
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn counts_lines_that_cannot_be_written() {
        let log = LogQueue::start(Broken(Arc::default())).unwrap();
        for _ in 0..3 {
            log.push(b"line\n");
        }
        log.flush(Duration::from_secs(60));
        assert_eq!(log.dropped(), 3);
    }

    #[test]
    fn long_json_lines_stay_valid() {
        let fields = serde_json::json!({
            "level": "INFO", "message": "ü\"\n".repeat(20_000), "nested": {"list": ["x".repeat(9_000)]}, "status": 200
        });
        let line = shortened(format!("{fields}\n").as_bytes());
        assert!(line.len() <= MAX_LINE && line.ends_with(b"\n"));
        let short: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!((&short["level"], &short["status"]), (&"INFO".into(), &200.into()));
        assert!(short["message"].as_str().unwrap().starts_with("ü\"\nü"));
        let many: serde_json::Map<String, Value> = (0..9_000).map(|i| (i.to_string(), Value::Null)).collect();
        let line = shortened(Value::Object(many).to_string().as_bytes());
        assert!(serde_json::from_slice::<Value>(&line).is_ok());
        assert_eq!(shortened(&[b'a'; 20_000]).len(), MAX_LINE);
    }

    #[test]
    fn never_waits_for_an_output_that_blocks() {
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock().unwrap();
        let log = LogQueue::start(Broken(Arc::clone(&gate))).unwrap();
        for _ in 0..2 * QUEUED_LINES {
            log.push(b"line\n");
        }
        log.flush(Duration::from_millis(1));
        assert!(log.dropped() >= QUEUED_LINES as u64 - 1, "{} lines are dropped", log.dropped());
        drop(closed);
    }
}
