//! `sameish serve`: the HTTP service and its page.

use super::index::check_directory;
use crate::exit::{Exit, Failure};
use crate::output::escape::escaped_name;
use sameish_server::{Error, LogFormat, LogQueue, Server, Settings, VARIABLES, parse_listen};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tracing_subscriber::fmt::MakeWriter;

/// Store, search and cluster documents over HTTP
///
/// Precedence of settings: command-line flags, environment variables, settings file. Without a key, the service listens only
/// on loopback addresses.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Address and port to listen on; port 0 selects a free port [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDRESS", value_parser = listen)]
    listen: Option<SocketAddr>,
    /// Data directory [default: ./sameish-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Settings file (TOML)
    #[arg(long, value_name = "FILE", env = "SAMEISH_CONFIG")]
    config: Option<PathBuf>,
    /// Load a few dozen bundled articles and headlines; without `--data`, into a temporary directory
    #[arg(long)]
    demo: bool,
    /// Serve stored documents and reject writes
    #[arg(long)]
    read_only: bool,
    /// Upgrade a data directory of an older version without first copying its database
    #[arg(long)]
    no_upgrade_backup: bool,
    /// Log level: `error`, `warn`, `info` or `debug` [default: info]
    #[arg(long, value_name = "LEVEL")]
    log: Option<String>,
    /// Log format [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"])]
    log_format: Option<String>,
}

const AFTER_HELP: &str = "\
Examples:
  sameish serve --demo
  sameish serve --listen 127.0.0.1:8080 --data /var/lib/sameish
  key=$(sameish keys new --quiet); echo $key
  SAMEISH_WRITE_KEYS=$key sameish serve --listen 0.0.0.0:7070

Environment variables: SAMEISH_LISTEN, SAMEISH_DATA, SAMEISH_SNAPSHOTS,
SAMEISH_CONFIG, SAMEISH_LOG, SAMEISH_LOG_FORMAT, SAMEISH_READ_KEYS,
SAMEISH_WRITE_KEYS and SAMEISH_ADMIN_KEYS (comma-separated keys). docs/http.md
describes the settings file and all routes.

The first line of standard output is `listening on http://ADDRESS`. SIGINT
(Ctrl-C) or SIGTERM starts a graceful shutdown; a second signal ends the process
immediately.

Exit codes: 0 graceful shutdown, 1 internal error, 2 usage error or invalid
settings, 4 unusable data directory, 5 out of disk space, 6 output failed.";

fn listen(text: &str) -> Result<SocketAddr, String> {
    parse_listen(text).ok_or_else(|| "must be an address with a port, such as 127.0.0.1:7070".into())
}

/// Returns the settings that `run` would use as a settings file, each with its origin.
pub(crate) fn show(args: &Args) -> anyhow::Result<String> {
    let (settings, _) = settings(args)?;
    settings.check().map_err(wrong)?;
    let in_file = match &args.config {
        Some(path) => Settings::names_in(&read_text(path)?),
        None => Vec::new(),
    };
    let origin = |name: &str| {
        let variable = format!("SAMEISH_{}", name.to_uppercase());
        let is_set = std::env::var(&variable).is_ok_and(|value| !value.is_empty());
        if args.has_flag(name) {
            "flag".to_owned()
        } else if is_set && VARIABLES.contains(&&*variable) {
            format!("variable {variable}")
        } else if in_file.iter().any(|known| known == name) {
            "file".to_owned()
        } else {
            "default".to_owned()
        }
    };
    Ok(settings.show(origin).map_err(wrong)?)
}

impl Args {
    /// Returns `true` if a flag sets this setting.
    fn has_flag(&self, name: &str) -> bool {
        match name {
            "listen" => self.listen.is_some(),
            "data" => self.data.is_some(),
            "read_only" => self.read_only,
            "upgrade_backup" => self.no_upgrade_backup,
            "log" => self.log.is_some(),
            "log_format" => self.log_format.is_some(),
            _ => false,
        }
    }
}

fn wrong(error: sameish_server::SettingsError) -> Failure {
    Failure::usage(error.to_string())
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let (settings, temporary) = settings(&args)?;
    let log = start_log(&settings)?;
    let served = serve(settings, &log, args.demo);
    log.flush(LOG_FLUSH);
    served?;
    drop(temporary);
    Ok(Exit::Clean)
}

fn serve(settings: Settings, log: &LogQueue, demo: bool) -> Result<(), Failure> {
    let server = Server::bind(settings).map_err(refused)?.with_log(log.clone());
    let documents = match demo {
        true => Some(server.load_demo().map_err(refused)?),
        false => None,
    };
    announce(server.address(), documents)?;
    server.run().map_err(refused)
}

/// Returns the settings, and the temporary directory if one was created.
fn settings(args: &Args) -> Result<(Settings, Option<tempfile::TempDir>), Failure> {
    let file = match &args.config {
        Some(path) => read_file(path)?,
        None => Settings::default(),
    };
    for name in VARIABLES {
        if std::env::var_os(name).is_some_and(|value| value.to_str().is_none()) {
            return Err(Failure::usage(format!("environment variable `{name}`: the value is not UTF-8")));
        }
    }
    let mut settings = file.with_environment(|name| std::env::var(name).ok()).map_err(wrong)?;
    settings.read_only |= args.read_only;
    settings.upgrade_backup &= !args.no_upgrade_backup;
    settings.listen = args.listen.unwrap_or(settings.listen);
    settings.log = args.log.clone().unwrap_or(settings.log);
    match args.log_format.as_deref() {
        Some("json") => settings.log_format = LogFormat::Json,
        Some(_) => settings.log_format = LogFormat::Text,
        None => {}
    }
    let mut temporary = None;
    match &args.data {
        Some(data) => {
            check_directory(data)?;
            settings.data.clone_from(data);
        }
        None if args.demo && settings.data == Settings::default().data => {
            let folder = tempfile::Builder::new().prefix("sameish-demo-").tempdir();
            let folder = folder.map_err(|error| {
                Failure::new(
                    Exit::Output,
                    format!("cannot create a temporary directory: {error}; pass `--data DIR`"),
                )
            })?;
            settings.data = folder.path().to_owned();
            temporary = Some(folder);
        }
        None => {}
    }
    Ok((settings, temporary))
}

/// Maximum size of a settings file in bytes.
const MAX_FILE: u64 = 1 << 20;

fn read_file(path: &Path) -> Result<Settings, Failure> {
    Settings::from_toml(&read_text(path)?).map_err(|error| wrong_file(path, &error.to_string()))
}

fn wrong_file(path: &Path, why: &str) -> Failure {
    Failure::usage(format!("settings file `{}`: {why}", escaped_name(path.as_os_str())))
}

fn read_text(path: &Path) -> Result<String, Failure> {
    let wrong = |why: String| wrong_file(path, &why);
    let size = std::fs::metadata(path).map_err(|error| wrong(format!("{error}; check the path")))?.len();
    if size > MAX_FILE {
        return Err(wrong(format!("the file has {size} bytes, maximum is {MAX_FILE} bytes")));
    }
    std::fs::read_to_string(path).map_err(|error| wrong(format!("{error}; check the path")))
}

/// Maximum time to write the last log lines.
const LOG_FLUSH: Duration = Duration::from_secs(1);

/// Passes each event to the log as one line.
struct LogLines(LogQueue);

/// Collects one event. The subscriber writes an event with one call.
struct LogLine<'a>(&'a LogQueue);

impl<'a> MakeWriter<'a> for LogLines {
    type Writer = LogLine<'a>;

    fn make_writer(&'a self) -> LogLine<'a> {
        LogLine(&self.0)
    }
}

impl Write for LogLine<'_> {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        self.0.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Starts logging to standard error. Logs never contain documents, ids or keys.
fn start_log(settings: &Settings) -> Result<LogQueue, Failure> {
    let filter = tracing_subscriber::EnvFilter::try_new(&settings.log).map_err(|error| {
        Failure::usage(format!(
            "`log` is `{}`: {error}; expected a level such as `info`",
            settings.log.escape_debug()
        ))
    })?;
    let cannot_start =
        |error: &dyn std::fmt::Display| Failure::new(Exit::Fault, format!("cannot start the log: {error}"));
    let queue = LogQueue::start(std::io::stderr()).map_err(|error| cannot_start(&error))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(LogLines(queue.clone()))
        // Otherwise the subscriber reports its own errors on standard error, and panics if that fails.
        .log_internal_errors(false)
        .with_ansi(false);
    let started = match settings.log_format {
        LogFormat::Text => log.with_target(false).try_init(),
        LogFormat::Json => {
            log.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init()
        }
    };
    started.map_err(|error| cannot_start(&error))?;
    std::panic::set_hook(Box::new(log_panic));
    Ok(queue)
}

/// Logs a panic, which the service survives. The default hook would wait for a standard error that nobody reads.
fn log_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    let message = panic.payload_as_str().unwrap_or("unknown reason");
    tracing::error!(location, message, "panic");
}

fn refused(error: Error) -> Failure {
    let exit = match &error {
        Error::Settings(_) | Error::Listen { .. } => Exit::Usage,
        Error::Store(sameish_store::Error::Full) => Exit::Limit,
        Error::Store(_) => Exit::Unreadable,
        _ => Exit::Fault,
    };
    Failure::new(exit, error.to_string())
}

/// Prints the address of the service and, for the demo, example requests.
fn announce(address: SocketAddr, demo: Option<usize>) -> Result<(), Failure> {
    let mut text = format!("listening on http://{address}\n");
    if let Some(documents) = demo {
        let api = format!("http://{address}/api/v1");
        text.push_str(&format!(
            "{documents} documents are loaded. Open http://{address}/ or try:\n  \
             curl '{api}/articles/harbor-1/similar?evidence=true'\n  \
             curl '{api}/headlines/clusters'\n  \
             curl -H 'content-type: application/json' -d '{{\"text\": \"Storm closes coastal road as waves top sea wall near Porthaven\"}}' {api}/headlines\n"
        ));
    }
    let mut stdout = std::io::stdout().lock();
    // If standard output is closed, the service runs without the message.
    _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    Ok(())
}
