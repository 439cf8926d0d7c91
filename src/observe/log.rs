//! The log on standard error: text for people, one JSON object a line for machines.

use std::io::{self, IsTerminal};

use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, Registry};

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// Text where standard error is a terminal, JSON elsewhere.
    #[default]
    Auto,
    /// Text.
    Text,
    /// JSON.
    Json,
}

/// What the surroundings ask of the log.
#[derive(Debug, Clone, Copy, Default)]
struct Surroundings {
    terminal: bool,
    no_color: bool,
    /// The journal stamps every line itself.
    journal: bool,
}

/// Lines that wait for a slow reader of standard error. More are dropped: a log that nobody reads
/// must hold up neither a sweep nor a scrape.
const WAITING_LINES: usize = 4_096;

/// Writes what is left of the log when it is dropped.
#[must_use]
#[derive(Debug)]
pub struct LogEnd(#[expect(dead_code, reason = "it is there to be dropped")] WorkerGuard);

/// From now on this process logs at `level`; the libraries below it only warn.
///
/// # Errors
/// [`TryInitError`] when this process already has a log.
pub fn init(format: LogFormat, level: LevelFilter) -> Result<LogEnd, TryInitError> {
    let (writer, end) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(WAITING_LINES)
        .thread_name("log")
        .finish(io::stderr());
    let layer = layer(format, Surroundings::read(), writer);
    Registry::default().with(layer.with_filter(targets(level))).try_init()?;
    Ok(LogEnd(end))
}

impl Surroundings {
    fn read() -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Self {
            terminal: io::stderr().is_terminal(),
            no_color: is_set("NO_COLOR"),
            journal: is_set("JOURNAL_STREAM"),
        }
    }
}

/// The level is never lower for others than for us: `error` means errors only.
fn targets(level: LevelFilter) -> Targets {
    Targets::new().with_default(level.min(LevelFilter::WARN)).with_target("keysweep", level)
}

fn layer<S, W>(format: LogFormat, around: Surroundings, writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let lines = fmt::layer()
        .with_writer(writer)
        .with_ansi(around.terminal && !around.no_color)
        // A closed standard error must not be answered by a line on standard error.
        .log_internal_errors(false);
    match (format, around.terminal, around.journal) {
        (LogFormat::Json, ..) | (LogFormat::Auto, false, _) => {
            lines.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed()
        }
        (_, _, true) => lines.without_time().boxed(),
        (_, _, false) => lines.boxed(),
    }
}

/// The JSON lines that this thread logs while `act` runs.
#[cfg(test)]
pub(super) fn captured(level: LevelFilter, act: impl FnOnce()) -> String {
    tests::written(LogFormat::Json, Surroundings::default(), level, act)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};
    use tracing::{debug, error, info, warn};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    pub(super) fn written(
        format: LogFormat,
        around: Surroundings,
        level: LevelFilter,
        act: impl FnOnce(),
    ) -> String {
        let written = Written::default();
        let writer = written.clone();
        let layer = layer(format, around, move || writer.clone()).with_filter(targets(level));
        tracing::subscriber::with_default(Registry::default().with(layer), act);
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    fn one_line(format: LogFormat, around: Surroundings) -> String {
        written(format, around, LevelFilter::INFO, || info!(database = "a\nb\x1b[2J", "swept"))
    }

    const TERMINAL: Surroundings = Surroundings { terminal: true, no_color: false, journal: false };
    const PIPE: Surroundings = Surroundings { terminal: false, ..TERMINAL };

    #[test]
    fn auto_is_text_on_a_terminal_and_json_elsewhere() {
        assert!(one_line(LogFormat::Auto, PIPE).starts_with('{'));
        assert!(!one_line(LogFormat::Auto, TERMINAL).starts_with('{'));
        assert!(!one_line(LogFormat::Text, PIPE).starts_with('{'));
        assert!(one_line(LogFormat::Json, TERMINAL).starts_with('{'));
    }

    #[test]
    fn only_a_terminal_that_wants_it_gets_color() {
        assert!(one_line(LogFormat::Text, TERMINAL).contains('\x1b'));
        assert!(!one_line(LogFormat::Text, PIPE).contains('\x1b'));
        assert!(!one_line(LogFormat::Text, Surroundings { no_color: true, ..TERMINAL }).contains('\x1b'));
    }

    #[test]
    fn a_field_cannot_forge_a_line_or_move_the_cursor() {
        for format in [LogFormat::Text, LogFormat::Json] {
            let line = one_line(format, PIPE);
            assert_eq!(line.lines().count(), 1, "{line}");
            assert!(!line.contains('\x1b'), "{line}");
        }
    }

    #[test]
    fn the_journal_gets_text_without_a_second_time() {
        let journal = Surroundings { journal: true, ..PIPE };
        let line = one_line(LogFormat::Text, journal);
        assert!(line.trim_start().starts_with("INFO"), "{line}");
        assert!(one_line(LogFormat::Json, journal).contains("timestamp"));
    }

    #[test]
    fn libraries_only_warn_and_never_more_than_we_do() {
        let talk = || {
            debug!("ours");
            debug!(target: "tokio_cron_scheduler", "theirs, debug");
            warn!(target: "tokio_cron_scheduler", "theirs, warn");
            error!(target: "hyper", "theirs, error");
        };
        let debug = written(LogFormat::Json, PIPE, LevelFilter::DEBUG, talk);
        assert_eq!(debug.lines().count(), 3, "{debug}");
        assert!(!debug.contains("theirs, debug"));
        let error = written(LogFormat::Json, PIPE, LevelFilter::ERROR, talk);
        assert_eq!(error.lines().count(), 1, "{error}");
        assert_eq!(written(LogFormat::Json, PIPE, LevelFilter::OFF, talk), "");
    }
}
