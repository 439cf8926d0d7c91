//! `expires`, `since` and `abandoned` -> clock columns.

use std::time::Duration;

use super::reader::Section;
use super::{decode, known};
use crate::plan::{Abandoned, Clock, ClockColumn, length};

/// The clock of a table, whose retention may be inherited; `standard` where none is named.
pub(super) fn clock(
    section: &Section<'_>,
    inherited: Option<Duration>,
    standard: Option<&Clock>,
) -> Option<Clock> {
    if section.has("expires") && section.has("since") {
        section.refuse("since", "expected `expires` or `since`, found both");
        return None;
    }
    let retention =
        if section.has("retention") { Some(section.read("retention", decode::duration)?) } else { inherited };
    if section.has("since") {
        return since(section, column(&section.section("since", known::CLOCK)?)?, retention);
    }
    let on = if section.has("expires") {
        column(&section.section("expires", known::CLOCK)?)?
    } else {
        standard.map(|clock| clock.on().clone())?
    };
    Some(Clock::expires(on, retention.unwrap_or_default()))
}

fn since(section: &Section<'_>, on: ClockColumn, retention: Option<Duration>) -> Option<Clock> {
    let clock = Clock::since(on, retention.unwrap_or_default());
    let place = if section.has("retention") { "retention" } else { "since" };
    clock
        .map_err(|error| section.refuse(place, format!("{error}: here, in the database or in [defaults]")))
        .ok()
}

/// Whoever promises callers a time in which a retry is replayed must keep the rows for that time.
pub(super) fn refuse_broken_promise(section: &Section<'_>, clock: Option<&Clock>) {
    let Some(promise) = section.read("promise", decode::some_time) else { return };
    let Some(clock) = clock else { return };
    if clock.is_expiry() {
        let why = "expected beside `since` only: beside `expires` the writer of a row promises its instant";
        section.refuse("promise", why);
    } else if clock.retention() < promise {
        let (retention, promise) = (length(clock.retention()), length(promise));
        let why = format!(
            "retention {retention} is shorter than the promise {promise}: a retry within it would act twice; \
             make the retention longer, here, in the database or in [defaults], or promise less"
        );
        section.refuse(if section.has("retention") { "retention" } else { "promise" }, why);
    }
}

fn column(section: &Section<'_>) -> Option<ClockColumn> {
    let column = section.require("column", decode::column);
    let unit = section.require("unit", decode::unit);
    let never = section.read_list("never", decode::literal);
    Some(ClockColumn { column: column?, unit: unit?, never: never? })
}

/// The outer option: whether it could be read; the inner: whether a column tells.
pub(super) fn abandoned(section: &Section<'_>, clock: Option<&Clock>) -> Option<Option<Abandoned>> {
    if section.has("abandoned") {
        let section = section.section("abandoned", known::ABANDONED)?;
        let on = column(&section);
        let after = section.require("after", decode::duration)?;
        return Some(Some(Abandoned { on: on?, after }));
    }
    let expiry = clock.filter(|clock| clock.is_expiry());
    Some(expiry.map(|clock| Abandoned { on: clock.on().clone(), after: Duration::ZERO }))
}
