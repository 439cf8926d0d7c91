use super::*;
use crate::observe::Observer;
use crate::observe::sample::*;
use crate::plan::{Event, Failure, FailureKind, HoldReason, Skips};

fn shown(observer: &Observer) -> String {
    asked(observer, "")
}

fn asked(observer: &Observer, query: &str) -> String {
    observer.page(&Query::parse(query), now())
}

fn many(names: &[&str]) -> Observer {
    let watched: Vec<_> = names.iter().map(|name| watched(name, &["keys"])).collect();
    Observer::new(&watched, now()).unwrap()
}

/// The names of the lines, in their order.
fn lines(page: &str) -> Vec<&str> {
    let names = page.split("<tr id=\"r-").skip(1);
    names.map(|line| line.split('"').next().unwrap()).collect()
}

fn down(name: &str) -> Event {
    Event::Ticked { database: database(name), failed: Some(failure("gone")) }
}

#[test]
fn a_name_cannot_inject_markup() {
    let evil = "<script>&\"' onload=x";
    let observer = Observer::new(&[watched(evil, &[evil]), watched("other", &[])], now()).unwrap();
    let failure = Failure::new(FailureKind::Io, evil, evil);
    observer.tell(&Event::Ticked { database: database(evil), failed: Some(failure) });
    let (database, table) = (database(evil), table(evil));
    observer.tell(&Event::Counted {
        database: database.clone(),
        table: table.clone(),
        counts: Ok(counts(3)),
    });
    let counts = Err(Failure::new(FailureKind::Busy, evil, evil));
    observer.tell(&Event::Counted { database, table, counts });
    for query in
        ["", "database=%3Cscript%3E%26%22%27+onload%3Dx", "q=%3Cscript%3E%26%22%27", "q=%22%3E%3Cscript%3E"]
    {
        let page = asked(&observer, query);
        assert_eq!(page.matches("<script").count(), 1, "its own alone: {page}");
        assert!(!page.contains("\"' onload"), "{page}");
    }
    assert_eq!(shown(&observer).matches("&lt;script&gt;&amp;&quot;&#39; onload=x").count(), 7);
}

#[test]
fn what_was_not_measured_is_said_to_be_so_and_is_no_0() {
    let page = shown(&observer());
    for words in ["not yet counted", "Next tick not yet known", "Size not yet known", "none yet"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("<dt>pending</dt>") && !page.contains("<svg"), "{page}");
    let page = shown(&many(&["a", "b"]));
    let line = page.lines().find(|line| line.contains("id=\"r-a\"")).unwrap();
    assert_eq!(line.matches(">–</td>").count(), 6, "{line}");
}

#[test]
fn a_measured_table_shows_its_counts_and_the_oldest_abandoned_row() {
    let observer = observer();
    observer.tell(&counted(Ok(counts(3))));
    let page = shown(&observer);
    for (name, value) in [("pending", "5"), ("done", "20"), ("expired", "7")] {
        assert!(page.contains(&format!("<dt>{name}</dt><dd>{value}")), "{name}: {page}");
    }
    for (name, value) in [("abandoned", "3"), ("unknown", "1"), ("unreadable", "2")] {
        let marked = format!("<dt>{name}</dt><dd><span class=\"bad\">{value}</span>");
        assert!(page.contains(&marked), "{name}: {page}");
    }
    assert!(page.contains("oldest <time") && page.contains(">2h ago</time>"), "{page}");
}

#[test]
fn counts_that_are_older_than_three_intervals_are_called_old() {
    let observer = observer();
    observer.tell(&counted(Ok(counts(0))));
    let page = |seconds: i64| observer.page(&Query::default(), UnixTime::from_millis((NOW + seconds) * 1000));
    assert!(!page(180).contains("these counts are old"));
    assert!(page(181).contains("these counts are old"));
}

#[test]
fn a_hold_is_shown_with_its_remedy() {
    let observer = observer();
    observer.tell(&held(HoldReason::Schema));
    let page = shown(&observer);
    assert!(page.contains("Held (schema), nothing is deleted:</b> no column `expires`"), "{page}");
    assert!(
        page.contains("What to do: correct the config") && page.contains("held: schema, 0 deleted"),
        "{page}"
    );
    assert!(page.contains("<b>1</b> held") && page.contains("<title>held – keysweep</title>"), "{page}");
}

#[test]
fn a_database_that_is_down_says_why_once_and_not_for_each_table() {
    let observer = observer();
    observer.tell(&failed("the file is locked"));
    observer.tell(&ticked(Some(failure("the file is locked"))));
    let page = shown(&observer);
    assert_eq!(page.matches("the file is locked").count(), 1, "{page}");
    assert!(page.contains("<b>1</b> down"), "{page}");
}

#[test]
fn what_stops_tick_and_census_alike_is_said_once() {
    let observer = observer();
    observer.tell(&ticked(Some(failure("the file is gone"))));
    observer.tell(&census_taken(Some(failure("the file is gone"))));
    let page = shown(&observer);
    assert_eq!(page.matches("the file is gone").count(), 1, "{page}");
    assert!(page.contains("The latest tick and the latest census failed:"), "{page}");
}

#[test]
fn a_plot_says_in_words_what_it_draws() {
    let observer = observer();
    observer.tell(&batch(1_200, Skips::default()));
    observer.tell(&counted(Ok(counts(0))));
    let page = shown(&observer);
    assert!(page.contains("deleted in 1h: <b>1,200</b>, most in 5 minutes 1,200</figcaption>"), "{page}");
    assert!(page.contains("expired and left: <b>7</b>, most in 1h 7</figcaption>"), "{page}");
    let labelled = page.matches("<svg role=\"img\" aria-labelledby=\"p").count();
    assert_eq!((labelled, page.matches("<svg").count()), (2, 2), "{page}");
}

#[test]
fn the_worst_come_first_and_can_be_asked_for_by_condition_and_by_name() {
    let observer = many(&["alpha", "beta", "gamma/One", "gamma/two", "zeta", "zulu"]);
    ["zeta", "gamma/two"].iter().for_each(|name| observer.tell(&down(name)));
    let page = |query: &str| asked(&observer, query);
    assert_eq!(lines(&shown(&observer)), ["gamma/two", "zeta", "alpha", "beta", "gamma/One", "zulu"]);
    assert_eq!(lines(&page("condition=down")), ["gamma/two", "zeta"]);
    assert_eq!(lines(&page("q=GAMMA%2Fo")), ["gamma/One"]);
    assert_eq!(lines(&page("q=keys")).len(), 6, "a table has that name");
    assert!(page("q=nothing").contains("No database is like that"));
    let alone = page("database=beta");
    assert!(lines(&alone).is_empty() && alone.contains("<section id=\"d-beta\""), "{alone}");
}

#[test]
fn of_many_databases_only_the_ill_are_shown_in_detail_and_not_too_many() {
    let names: Vec<_> = (0..2_500).map(|number| format!("tenant-{number:04}")).collect();
    let observer = many(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let page = shown(&observer);
    assert_eq!((lines(&page).len(), page.matches("<section").count()), (LINES, 0));
    assert!(page.contains("Lines 1 to 1,000 of 2,500.") && page.contains("href=\"?from=1000\""));
    let last = asked(&observer, "from=2000");
    assert_eq!((lines(&last).len(), lines(&last)[0]), (500, "tenant-2000"));
    names[7..30].iter().for_each(|name| observer.tell(&down(name)));
    let page = shown(&observer);
    assert_eq!((lines(&page)[0], page.matches("<section").count()), ("tenant-0007", DETAILED));
}

#[test]
fn of_many_tables_the_worst_are_shown() {
    let labels: Vec<_> = (0..150).map(|number| format!("rule-{number:03}")).collect();
    let labels: Vec<_> = labels.iter().map(String::as_str).chain(["keys"]).collect();
    let observer = Observer::new(&[watched("app", &labels)], now()).unwrap();
    observer.tell(&held(HoldReason::Schema));
    let first = |page: &str| page.split("<h3 id=\"n-app:").nth(1).unwrap().starts_with("keys\"");
    let page = shown(&observer);
    assert!(
        first(&page) && page.matches("<article").count() == 12 && page.contains("139 more tables"),
        "{page}"
    );
    assert_eq!(asked(&observer, "database=app").matches("<article").count(), 100);
    assert_eq!(asked(&observer, "database=app&q=rule-07").matches("<article").count(), 10);
}

#[test]
fn a_config_that_was_refused_is_said_until_one_is_read() {
    let observer = observer();
    observer.config_read(None);
    assert!(shown(&observer).contains("The config that was last read is refused"));
    observer.config_read(Some(now()));
    assert!(!shown(&observer).contains("is refused"));
}

#[test]
fn the_page_asks_nothing_of_another_host_and_has_no_script_or_style_of_its_own() {
    let page = shown(&observer());
    for trace in ["http:", "https:", "//", "style=", "onload", "onclick", "<style", "javascript"] {
        assert!(!page.contains(trace), "{trace}");
    }
    assert!(page.contains("<script src=\"page.js\" defer></script>"));
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    assert!(!SCRIPT.contains("http") && !SCRIPT.contains("innerHTML"));
}
