//! One line of the answer of `check`, and what it says to the shell.

use serde_json::json;

use super::super::print::Printer;
use super::super::{Exit, Outcome};
use crate::plan::{DatabaseName, Failure, FailureKind, Finding, HoldReason, Rule, Severity};

/// One line of the answer.
pub(super) struct Line {
    table: Option<String>,
    verdict: Verdict,
    what: String,
    remedy: Option<String>,
}

#[derive(Debug, Clone, Copy)]
enum Verdict {
    Fine,
    Advice,
    Fault,
    Hold(HoldReason),
    Down(FailureKind),
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Advice => "advice",
            Self::Fault => "fault",
            Self::Hold(_) => "hold",
            Self::Down(_) => "down",
        }
    }

    fn reason(self) -> Option<&'static str> {
        match self {
            Self::Fine | Self::Advice | Self::Fault => None,
            Self::Hold(reason) => Some(reason.name()),
            Self::Down(kind) => Some(kind.name()),
        }
    }
}

impl Line {
    pub(super) fn fine(table: Option<&Rule>, what: String) -> Self {
        Self { table: table.map(|rule| rule.label.to_string()), verdict: Verdict::Fine, what, remedy: None }
    }

    pub(super) fn advice(what: String, remedy: &str) -> Self {
        Self { table: None, verdict: Verdict::Advice, what, remedy: Some(remedy.into()) }
    }

    pub(super) fn fault(what: String, remedy: &str) -> Self {
        Self { verdict: Verdict::Fault, ..Self::advice(what, remedy) }
    }

    pub(super) fn hold(table: Option<&Rule>, reason: HoldReason, why: &Failure) -> Self {
        Self { verdict: Verdict::Hold(reason), ..Self::failure(table, why) }
    }

    pub(super) fn failure(table: Option<&Rule>, failure: &Failure) -> Self {
        let verdict = HoldReason::of(failure.kind()).map_or(Verdict::Down(failure.kind()), Verdict::Hold);
        let table = table.map(|rule| rule.label.to_string());
        Self { table, verdict, what: failure.what().into(), remedy: Some(failure.remedy().into()) }
    }

    pub(super) fn finding(table: Option<&Rule>, finding: Finding) -> Self {
        let verdict = match finding.severity {
            Severity::Hold(reason) => Verdict::Hold(reason),
            Severity::Fault => Verdict::Fault,
            Severity::Advice => Verdict::Advice,
        };
        let table = table.map(|rule| rule.label.to_string());
        Self { table, verdict, what: finding.what, remedy: Some(finding.remedy) }
    }

    pub(super) fn outcome(&self) -> Outcome {
        match self.verdict {
            Verdict::Fine | Verdict::Advice => Outcome::Yes,
            Verdict::Down(
                FailureKind::Busy
                | FailureKind::Io
                | FailureKind::Corrupt
                | FailureKind::Full
                | FailureKind::Interrupted
                | FailureKind::Internal,
            ) => Outcome::Unknown,
            // It is shown before it is acted on, and ends by itself: no fault of the config.
            Verdict::Hold(HoldReason::Horizon) => Outcome::Yes,
            Verdict::Fault | Verdict::Hold(_) | Verdict::Down(_) => Outcome::No,
        }
    }

    pub(super) fn print(&self, database: &DatabaseName, printer: &Printer) -> Result<(), Exit> {
        self.print_of(Some(database), printer)
    }

    /// A line that concerns no database.
    pub(super) fn print_of_listener(&self, printer: &Printer) -> Result<(), Exit> {
        self.print_of(None, printer)
    }

    fn print_of(&self, database: Option<&DatabaseName>, printer: &Printer) -> Result<(), Exit> {
        let Self { table, verdict, what, remedy } = self;
        let database = database.map(DatabaseName::as_str);
        if printer.is_json() {
            printer.line(json!({
                "database": database,
                "table": table,
                "severity": verdict.name(),
                "reason": verdict.reason(),
                "what": what,
                "remedy": remedy,
            }))?;
            return Ok(());
        }
        let place = table.as_ref().map_or(String::new(), |table| format!("/{table}"));
        printer.line(format_args!("{:6} {}{place}: {what}", verdict.name(), database.unwrap_or("http")))?;
        if let Some(remedy) = remedy {
            printer.line(format_args!("       -> {remedy}"))?;
        }
        Ok(())
    }
}
