//! `demo`, and what `sweep` shows to a person.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::command::BINARY;
use crate::support::daemon::get;
use crate::support::terminal::{CTRL_C, Terminal};
use crate::support::unasked::Unasked;
use crate::support::{Database, Journal, wait_for};

fn is_empty(folder: &Path) -> bool {
    folder.read_dir().unwrap().next().is_none()
}

/// The number before this word in a line.
fn number(line: &str, word: &str) -> u64 {
    let before = line.split_once(&format!(" {word}")).unwrap_or_else(|| panic!("no {word}: {line}")).0;
    before.rsplit(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("no number before {word}: {line}"))
}

#[test]
fn demo_shows_what_happens_and_where_to_look_and_ends_by_itself() {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = Command::new(BINARY);
    command.args(["demo", "--for", "9s"]).env("TMPDIR", temporary.path());
    let mut demo = Unasked::start(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut lines = BufReader::new(demo.child().stdout.take().unwrap()).lines().map_while(Result::ok);
    let explained: Vec<String> = lines.by_ref().take_while(|line| !line.contains("application: ")).collect();
    let after = |what: &str| {
        let line = explained.iter().find_map(|line| line.trim_start().strip_prefix(what));
        line.unwrap_or_else(|| panic!("no {what}: {explained:?}")).trim().to_owned()
    };
    for (what, path) in [("status page", "/"), ("metrics", "/metrics")] {
        let url = after(what);
        let address = url.strip_prefix("http://").unwrap().strip_suffix(path).unwrap();
        let page = get(address.parse().unwrap(), path);
        assert!(page.status == 200 && page.body.contains("demo"), "{url}: {page:?}");
    }
    for (what, telling) in [("as a table", "demo"), ("the file", "done|")] {
        let command = after(what).replace("keysweep ", &format!("{BINARY} "));
        let answer = Command::new("sh").args(["-c", &command]).output().unwrap();
        let said = String::from_utf8_lossy(&answer.stdout);
        assert!(answer.status.success() && said.contains(telling), "{command}: {answer:?}");
    }
    let rest: Vec<String> = lines.collect();
    assert_eq!(demo.child().wait().unwrap().code(), Some(0));
    let [.., last, end] = &rest[..] else { panic!("it said too little: {rest:?}") };
    assert!(number(last, "deleted") > 0, "{last}");
    let abandoned = number(last, "reserved") - number(last, "finished");
    assert!(number(end, "pending") + 1 >= abandoned && abandoned > 0, "{last} {end}");
    assert!(is_empty(temporary.path()), "it left something behind");
}

#[test]
fn the_demo_sees_abandoned_rows_and_control_c_ends_it_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::start(&format!("TMPDIR={}", temporary.path().display()), "demo");
    // How soon a census sees it depends on how busy the machine is.
    let sees_abandoned = |line: &str| line.contains("application: ") && number(line, "abandoned") > 0;
    wait_for("abandoned rows to be seen", || {
        let shown = terminal.shown();
        let whole = shown.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.into_iter().any(sees_abandoned).then_some(())
    });
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), Some(0), "{}", terminal.shown());
    assert!(terminal.shown().contains("The end."), "{}", terminal.shown());
    assert!(is_empty(temporary.path()), "it left something behind");
}

const MANY: &str =
    "INSERT INTO keys SELECT 'k' || value, 'v1', 'done', NULL, 1 FROM generate_series(1, 3000);";
const BAR: &str = "/3000 rows";

#[test]
fn sweep_shows_its_progress_on_a_terminal_and_cleans_up_after_it() {
    let database = Database::with_keys(Journal::Wal, []);
    database.shell(MANY);
    let config = database.config("");
    let mut terminal = Terminal::start("TERM=xterm", &format!("--config {} sweep", config.display()));
    assert_eq!(terminal.ended(), Some(0));
    terminal.wait_for_text("drained");
    let shown = terminal.shown();
    assert!(shown.find(BAR).unwrap_or_else(|| panic!("no bar: {shown:?}")) < shown.find("DELETED").unwrap());
    assert!(database.ids().is_empty());
}

#[test]
fn sweep_shows_no_progress_to_a_pipe_or_in_json() {
    let database = Database::with_keys(Journal::Wal, []);
    database.shell(MANY);
    let config = database.config("");
    let piped = crate::support::keysweep(["--config", config.to_str().unwrap(), "sweep"]);
    assert_eq!((piped.status, piped.stderr.as_str()), (0, ""), "{piped:?}");
    assert!(!piped.stdout.contains("rows"), "{piped:?}");
    database.shell(MANY);
    let mut terminal = Terminal::start("TERM=xterm", &format!("--config {} --json sweep", config.display()));
    assert_eq!(terminal.ended(), Some(0));
    terminal.wait_for_text("\"deleted\":3000");
    assert!(!terminal.shown().contains(BAR), "{}", terminal.shown());
}
