//! What a config may say, and what is answered where it may not.

use std::collections::HashSet;
use std::time::Duration;

use super::*;
use crate::plan::{Done, Identifier, KeyColumns, Limit, Literal, Rule, StateTest};

const SECOND: Duration = Duration::from_secs(1);
const EXAMPLE: &str = include_str!("../../config/keysweep.toml");
const MINIMAL: &str = "[[database]]\nname = \"payments\"\npath = \"/var/lib/payments/app.db\"\n";

fn read(file: &str) -> Result<Settings, ConfigError> {
    parse("k.toml", file.as_bytes(), [])
}

fn with_variables(file: &str, variables: &[(&str, &str)]) -> Result<Settings, ConfigError> {
    let variables = variables.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    parse("k.toml", file.as_bytes(), variables)
}

/// The one database of this file, whose first three lines are there already.
fn database(rest: &str) -> Database {
    let mut settings = read(&format!("{MINIMAL}{rest}")).unwrap();
    assert_eq!(settings.blocks.len(), 1);
    settings.blocks.remove(0).template
}

fn rule(rest: &str) -> Rule {
    database(&format!("[[database.table]]\n{rest}")).rules.rules(&[]).remove(0)
}

/// One problem and no other, at this start of its line, with these words.
fn refused(file: &str, start: &str, telling: &str) {
    let shown = read(file).unwrap_err().to_string();
    assert!(shown.starts_with(&format!("k.toml:{start}")), "expected {start}, got {shown}");
    assert!(shown.contains(telling), "expected {telling:?}, got {shown}");
    assert_eq!(shown.lines().count(), 1, "{shown}");
}

#[test]
fn the_documented_file_says_the_defaults() {
    assert_eq!(read(EXAMPLE).unwrap(), read(MINIMAL).unwrap());
}

#[test]
fn the_documented_file_shows_every_key() {
    let shown: HashSet<&str> = EXAMPLE
        .lines()
        .map(|line| line.trim_start_matches("# "))
        .filter_map(|line| {
            let table = || line.strip_prefix("[http.")?.strip_suffix(']');
            line.split_once(" = ").map(|(key, _)| key).or_else(table)
        })
        .collect();
    for key in [known::SINGLE, known::HTTP, known::TLS, known::DATABASE, known::TABLE].concat() {
        assert!(shown.contains(key), "`{key}` is not shown");
    }
    for key in [known::STATE, known::CLOCK, known::ABANDONED].concat() {
        assert!(EXAMPLE.contains(&format!("{key} = ")), "`{key}` is not shown");
    }
}

#[test]
fn the_values_that_the_documented_file_only_mentions_are_values() {
    let start = |line: &str, key: &str| line.starts_with(&format!("# {key} = "));
    let example = EXAMPLE.replace("$2y$10$...", HASH);
    let uncommented: Vec<&str> = example
        .lines()
        .filter(|line| !["every", "expires", "path"].iter().any(|key| line.starts_with(key)))
        .map(|line| {
            let known = [known::SINGLE, known::DATABASE, known::TABLE].concat();
            let is_table = line.starts_with("# [http.");
            let is_key =
                [&known[..], known::TLS, &["prometheus"]].concat().iter().any(|key| start(line, key));
            if is_table || is_key { &line[2..] } else { line }
        })
        .collect();
    let settings = read(&uncommented.join("\n")).unwrap();
    assert_eq!(settings.blocks[0].template.timing, Timing::Every(45 * SECOND));
    assert_eq!(settings.blocks[0].template.budget, Some(20 * SECOND));
    assert!(!settings.blocks[0].template.rules.rules(&[])[0].clock.as_ref().unwrap().is_expiry());
    assert_eq!(settings.state_dir.as_deref(), Some(Path::new("/var/lib/keysweep")));
    assert!(settings.http.tls.is_some() && settings.http.users.len() == 1);
    let template = &settings.blocks[0].template;
    assert!(template.window.is_some() && template.max_share.is_some());
}

#[test]
fn a_block_has_a_path_or_a_pattern_and_not_both() {
    let block = |lines: &str| format!("[[database]]\nname = \"t\"\n{lines}");
    let blocks = read(&block("glob = \"/srv/*/app.db\"")).unwrap().blocks;
    assert_eq!(blocks[0].location, Location::Glob(Glob::parse("/srv/*/app.db").unwrap()));
    refused(&block("path = \"/a\"\nglob = \"/srv/*.db\""), "4:8: database[0].glob", "found both");
    refused(&block(""), "1:1: database[0]", "`path` is missing");
    refused(&block("glob = \"/srv/**/a\""), "3:8: database[0].glob", "`**`");
    refused(&block("glob = \"/srv/[ab]\""), "3:8: database[0].glob", "`[`");
    let twice = block("glob = \"/srv/*\"") + "\n[[database]]\nname = \"u\"\nglob = \"/srv/*\"";
    refused(&twice, "6:8: database[1].glob", "another database has this path");
}

#[test]
fn a_name_and_a_path_are_enough() {
    let settings = read(MINIMAL).unwrap();
    assert_eq!(settings.http.listen, Some("127.0.0.1:9925".parse().unwrap()));
    let database = &settings.blocks[0].template;
    assert_eq!(database.name.as_str(), "payments");
    assert_eq!(database.path, Path::new("/var/lib/payments/app.db"));
    assert_eq!(database.timing, Timing::Every(30 * SECOND));
    assert_eq!((database.budget, database.batch, database.enabled), (None, Limit::MAX, true));
    assert_eq!(database.share.get(), 0.25);
    assert_eq!((database.busy_timeout, database.census), (2 * SECOND, 60 * SECOND));
    assert_eq!(database.rules.rules(&[]), [Rule::key_table(Duration::ZERO)]);
}

#[test]
fn a_database_wins_over_the_defaults() {
    let file = "[defaults]\nschedule = \"* * * * *\"\nbatch = 7\nshare = 1\nenabled = false\n\
                retention = \"1h\"\n[[database]]\nname = \"a\"\npath = \"/a\"\n[[database]]\nname = \"b\"\n\
                path = \"/b\"\nevery = \"100ms\"\nbatch = 8\nenabled = true\nretention = \"2h\"\n";
    let [a, b] = <[Block; 2]>::try_from(read(file).unwrap().blocks).unwrap().map(|block| block.template);
    assert_eq!(a.timing, Timing::Cron(Schedule::parse("0 * * * * *").unwrap()));
    assert_eq!(b.timing, Timing::Every(Duration::from_millis(100)));
    assert_eq!((a.batch.rows(), b.batch.rows()), (7, 8));
    assert_eq!((a.enabled, b.enabled), (false, true));
    assert_eq!((a.share.get(), b.share.get()), (1.0, 1.0));
    assert_eq!(a.rules.rules(&[]), [Rule::key_table(3600 * SECOND)]);
    assert_eq!(b.rules.rules(&[]), [Rule::key_table(7200 * SECOND)]);
}

#[test]
fn a_duration_is_one_whole_number_and_one_unit() {
    let day = 86_400 * SECOND;
    for (text, length) in [
        ("0s", Duration::ZERO),
        ("500ms", SECOND / 2),
        ("15m", 900 * SECOND),
        ("7d", 7 * day),
        ("99999d", 99_999 * day),
    ] {
        assert_eq!(database(&format!("busy_timeout = \"{text}\"\n")).busy_timeout, length);
    }
    for wrong in ["", "30", "s", "1h30m", "-5s", "+5s", "1.5h", "5 s", " 5s", "5S", "5w", "1_0s", "٥s"] {
        let telling = "expected a duration: text of one whole number and one unit";
        refused(&format!("{MINIMAL}census = \"{wrong}\"\n"), "4:10: database[0].census: ", telling);
    }
    for wrong in ["18446744073709551615d", "99999999999999999999ms"] {
        refused(&format!("{MINIMAL}census = \"{wrong}\"\n"), "4:10: ", "expected a shorter duration");
    }
}

#[test]
fn nothing_but_an_integer_from_1_to_100_is_a_limit() {
    for wrong in
        ["true", "\"10\"", "10.5", "10.0", "-1", "0", "101", "[10]", "9223372036854775808", "07:32:00"]
    {
        let file = format!("{MINIMAL}batch = {wrong}\n");
        refused(&file, "4:9: database[0].batch: ", "expected an integer from 1 to 100, found ");
    }
}

#[test]
fn nothing_but_true_and_false_is_a_switch() {
    for wrong in ["0", "1", "\"true\"", "\"no\"", "1.0"] {
        refused(
            &format!("{MINIMAL}enabled = {wrong}\n"),
            "4:11: database[0].enabled: ",
            "expected true or false",
        );
    }
}

#[test]
fn a_share_is_a_number_above_0_and_at_most_1() {
    for wrong in ["nan", "inf", "-inf", "0", "0.0", "1.01", "2", "true", "\"0.5\"", "1e999"] {
        let telling = "expected a number above 0 and at most 1, found ";
        refused(&format!("{MINIMAL}share = {wrong}\n"), "4:9: database[0].share: ", telling);
    }
}

#[test]
fn a_table_of_another_shape_needs_only_what_differs() {
    let rule = rule(
        "table = \"inbox\"\nname = \"inbox-old\"\nkey = [\"Message Id\"]\n\
         done = { column = \"state\", in = [2, \"ok\"] }\npending = { column = \"state\", in = [1] }\n\
         since = { column = \"at\", unit = \"ms\" }\nretention = \"1d\"\n",
    );
    assert_eq!((rule.table.as_str(), rule.label.as_str()), ("inbox", "inbox-old"));
    assert_eq!(names(&rule.key), ["Message Id"]);
    let values = [Literal::Integer(2), Literal::Text("ok".into())].into();
    assert_eq!(rule.done, Done::Any(vec![one_of("state", values)]));
    assert_eq!(rule.pending, [one_of("state", vec![Literal::Integer(1)])]);
    let clock = rule.clock.unwrap();
    assert!(!clock.is_expiry());
    assert_eq!(clock.retention(), 86_400 * SECOND);
    assert_eq!(rule.abandoned, None);
}

fn one_of(column: &str, values: Vec<Literal>) -> StateTest {
    StateTest::OneOf { column: Identifier::new(column).unwrap(), values }
}

fn names(key: &KeyColumns) -> Vec<&str> {
    key.columns().iter().map(Identifier::as_str).collect()
}

#[test]
fn a_table_in_which_every_row_is_finished_needs_a_clock_column_and_knows_no_pending_row() {
    let rule = rule(
        "table = \"operations\"\nkey = [\"scope\", \"key\"]\ndone = \"every-row\"\n\
         since = { column = \"recorded\", unit = \"unix_s\" }\nretention = \"7d\"\n",
    );
    assert_eq!(names(&rule.key), ["scope", "key"]);
    assert_eq!((rule.done, rule.pending, rule.abandoned), (Done::EveryRow, vec![], None));
    assert_eq!(rule.clock.unwrap().column().as_str(), "recorded");
}

#[test]
fn a_table_without_a_clock_column_is_counted_where_nothing_is_deleted() {
    let table =
        "[[database.table]]\ntable = \"requests\"\nkey = [\"scope\", \"key\"]\ndone = \"every-row\"\n";
    let rule = database(&format!("enabled = false\n{table}")).rules.rules(&[]).remove(0);
    assert_eq!((rule.done, rule.clock), (Done::EveryRow, None));
    refused(&format!("{MINIMAL}{table}"), "7:8: database[0].table[0].done: ", "set `since` or `expires`");
}

#[test]
fn a_table_inherits_retention_and_takes_its_label_from_its_name() {
    let database = database(
        "retention = \"1m\"\n[[database.table]]\ntable = \"inbox\"\n[[database.table]]\nretention = \"2m\"\n",
    );
    let [inbox, keys] = <[Rule; 2]>::try_from(database.rules.rules(&[])).unwrap();
    assert_eq!((inbox.label.as_str(), inbox.clock.unwrap().retention()), ("inbox", 60 * SECOND));
    assert_eq!(keys, Rule::key_table(120 * SECOND));
}

#[test]
fn a_pending_row_is_abandoned_at_its_own_expiry_unless_said_otherwise() {
    let expires = "expires = { column = \"until\", unit = \"us\" }\n";
    let abandoned = rule(expires).abandoned.unwrap();
    assert_eq!((abandoned.on.column.as_str(), abandoned.after), ("until", Duration::ZERO));
    let own = format!("{expires}abandoned = {{ column = \"locked\", unit = \"ns\", after = \"1h\" }}\n");
    let abandoned = rule(&own).abandoned.unwrap();
    assert_eq!((abandoned.on.column.as_str(), abandoned.on.unit.name()), ("locked", "ns"));
    assert_eq!(abandoned.after, 3600 * SECOND);
}

#[test]
fn what_is_wrong_in_a_database_is_refused_where_it_is() {
    for (line, start, telling) in [
        ("path = \"/b\"", "4:1: ", "not TOML: duplicate key"),
        ("every = 30", "4:9: database[0].every: ", "expected a duration: text"),
        ("every = \"99ms\"", "4:9: database[0].every: ", "at least 100ms, found the text \"99ms\""),
        ("budget = \"0s\"", "4:10: database[0].budget: ", "expected a duration above 0"),
        ("census = \"0ms\"", "4:10: database[0].census: ", "expected a duration above 0"),
        (
            "every = \"1s\"\nschedule = \"* * * * *\"",
            "4:9: database[0].every: ",
            "`schedule` or `every`, found both",
        ),
        ("schedule = \"0 0 31 2 *\"", "4:12: database[0].schedule: ", "never rings"),
        ("schedule = \"61 * * * * *\"", "4:12: database[0].schedule: ", "out of bounds"),
        ("schedule = 5", "4:12: database[0].schedule: ", "expected a cron schedule"),
        (
            "table = \"keys\"",
            "4:9: database[0].table: ",
            "expected tables [[database.table]], found the text",
        ),
        ("table = []", "4:9: database[0].table: ", "at least one [[database.table]]"),
        ("bacth = 1", "4:1: database[0].bacth: ", "did you mean `batch`? expected one of name, path, "),
        ("Batch = 1", "4:1: database[0].Batch: ", "did you mean `batch`?"),
        ("\"a.b\" = 1", "4:1: database[0].\"a.b\": ", "unknown key, expected one of name"),
        (
            "window = \"1-5\"",
            "4:10: database[0].window: ",
            "from and to as HH:MM, such as \"01:00-05:00\", found the text \"1-5\"",
        ),
        ("window = \"01:00-01:00\"", "4:10: database[0].window: ", "a window whose ends differ"),
        ("max_share = 0", "4:13: database[0].max_share: ", "above 0 and at most 1, found the integer 0"),
        ("settle = 10", "4:10: database[0].settle: ", "expected a duration"),
        ("url = \"postgres://\"", "4:1: database[0].url: ", "`url` is not in this version"),
        ("max_lag = \"10s\"", "4:1: database[0].max_lag: ", "`max_lag` is not in this version"),
        ("max_wal = \"256MB\"", "4:11: database[0].max_wal: ", "KiB, MiB or GiB"),
        ("max_wal = \"0MiB\"", "4:11: database[0].max_wal: ", "number above 0"),
        ("checkpoint = \"late\"", "4:14: database[0].checkpoint: ", "one of auto, never, early"),
        (
            "[[database]]\nname = \"payments\"\npath = \"/b\"",
            "5:8: database[1].name: ",
            "names must be unique",
        ),
        (
            "[[database]]\nname = \"b\"\npath = \"/var//lib/./payments/app.db\"",
            "6:8: database[1].path: ",
            "another database has this path",
        ),
        ("[[database]]\nname = \"b\"", "4:1: database[1]: ", "`path` is missing"),
        ("[[database]]\nname = \"\"\npath = \"/b\"", "5:8: database[1].name: ", "a name cannot be empty"),
        ("[[database]]\nname = 5\npath = \"/b\"", "5:8: database[1].name: ", "found the integer 5"),
        (
            "[[database]]\nname = \"b\"\npath = \"b.db\"",
            "6:8: database[1].path: ",
            "expected an absolute path",
        ),
        (
            "[[database]]\nname = \"b\"\npath = \"/b\\u0000\"",
            "6:8: database[1].path: ",
            "found the text \"/b\\0\"",
        ),
    ] {
        refused(&format!("{MINIMAL}{line}\n"), start, telling);
    }
}

#[test]
fn what_is_wrong_in_a_table_is_refused_where_it_is() {
    let at = "database[0].table[0]";
    for (line, start, telling) in [
        ("table = []", "5:9: {at}.table: ", "expected at least one table"),
        ("table = [\"keys\", \"keys\"]", "4:1: {at}: ", "another rule has the name `keys`"),
        ("table = \"[ab]*\"", "5:9: {at}.table: ", "a pattern of tables knows `*` and `?` alone"),
        ("key = [\"key\", \"key\"]", "5:7: {at}.key: ", "none of them twice"),
        ("key = []", "5:7: {at}.key: ", "at least one column"),
        ("key = [1]", "5:7: {at}.key: ", "expected a name: text, found the integer 1"),
        ("name = \"a\\nb\"", "5:8: {at}.name: ", "control characters"),
        ("done = \"every-row\"", "5:8: {at}.done: ", "nothing tells when a row was recorded"),
        ("done = \"always\"", "5:8: {at}.done: ", "found the text \"always\""),
        ("done = [1]", "5:9: {at}.done[0]: ", "expected a table of column, in, is"),
        ("done = []", "5:8: {at}.done: ", "expected at least one test"),
        (
            "done = { column = \"a\", is = \"NULL\" }",
            "5:29: {at}.done.is: ",
            "expected \"null\" or \"not null\", found the text",
        ),
        (
            "done = { column = \"a\", in = [1], is = \"null\" }",
            "5:39: {at}.done.is: ",
            "expected `in` or `is`, found both",
        ),
        (
            "done = { column = \"a\", is = \"null\" }\npending = { column = \"A\", is = \"null\" }",
            "6:32: {at}.pending.is: ",
            "in both",
        ),
        (
            "[[database.table]]\nname = \"b\"\ndone = { column = \"status\", in = [\"x\", \"done\"] }",
            "7:40: database[0].table[1].done.in[1]: ",
            "another rule of the same table calls this done as well",
        ),
        ("done = { column = \"a\" }", "5:8: {at}.done: ", "`in` is missing"),
        ("done = { in = [1] }", "5:8: {at}.done: ", "`column` is missing"),
        ("done = { column = \"a\", in = [] }", "5:29: {at}.done.in: ", "at least one value"),
        ("done = { column = \"a\", in = \"b\" }", "5:29: {at}.done.in: ", "expected a list of values"),
        (
            "done = { column = \"a\", in = [1, true] }",
            "5:33: {at}.done.in[1]: ",
            "text or an integer, found the boolean",
        ),
        ("done = { column = \"a\", in = [1.0] }", "5:30: {at}.done.in[0]: ", "found the float 1.0"),
        ("done = { column = \"a\", in = [\"b\\u0000\"] }", "5:30: {at}.done.in[0]: ", "text without NUL"),
        ("done = { column = \"Status\", in = [\"pending\"] }", "5:35: {at}.done.in[0]: ", "in both"),
        ("pending = { column = \"status\", in = [1, \"done\"] }", "5:41: {at}.pending.in[1]: ", "in both"),
        ("expires = { column = \"a\" }", "5:11: {at}.expires: ", "`unit` is missing"),
        (
            "expires = { column = \"a\", unit = \"s\" }",
            "5:34: {at}.expires.unit: ",
            "one of the units unix_s, ms, us, ns",
        ),
        (
            "expires = { column = \"a\", unit = \"timestamptz\" }",
            "5:34: {at}.expires.unit: ",
            "`timestamptz` is not in this version",
        ),
        (
            "expires = { column = \"a\", unit = \"ms\", never = 0 }",
            "5:48: {at}.expires.never: ",
            "expected a list of values",
        ),
        (
            "expires = { column = \"a\", unit = \"ms\" }\nsince = { column = \"a\", unit = \"ms\" }",
            "6:9: {at}.since: ",
            "`expires` or `since`, found both",
        ),
        ("since = { column = \"a\", unit = \"ms\" }", "5:9: {at}.since: ", "a retention above 0 must be set"),
        (
            "since = { column = \"a\", unit = \"ms\" }\nretention = \"0s\"",
            "6:13: {at}.retention: ",
            "a retention above 0 must be set",
        ),
        (
            "since = { column = \"a\", unit = \"ms\" }\nretention = 0",
            "6:13: {at}.retention: ",
            "expected a duration",
        ),
        ("abandoned = { column = \"a\", unit = \"ms\" }", "5:13: {at}.abandoned: ", "`after` is missing"),
        ("keep = []", "5:8: {at}.keep: ", "expected at least one test"),
        ("references = \"leave\"", "5:14: {at}.references: ", "one of refuse, skip, cascade"),
        (
            "[[database.table]]\ndone = { column = \"status\", in = [\"x\"] }",
            "5:1: database[0].table[1]: ",
            "another rule has the name `keys`",
        ),
        ("[[database.table]]\nname = \"b\"", "5:1: database[0].table[1]: ", "calls this done as well"),
        (
            "[[database.table]]\nname = \"b\"\ndone = \"every-row\"\nexpires = { column = \"a\", unit = \"ms\" }",
            "7:8: database[0].table[1].done: ",
            "calls this done as well",
        ),
    ] {
        refused(&format!("{MINIMAL}[[database.table]]\n{line}\n"), &start.replace("{at}", at), telling);
    }
}

#[test]
fn what_is_wrong_at_the_top_is_refused_where_it_is() {
    for (lines, start, telling) in [
        ("state_dir = \"x\"", "1:13: state_dir: ", "expected an absolute path, found the text \"x\""),
        ("sate_dir = \"/x\"", "1:1: sate_dir: ", "did you mean `state_dir`?"),
        ("[defualts]\nevery = \"1s\"", "1:2: defualts: ", "did you mean `defaults`?"),
        ("[defaults]\nname = \"a\"", "2:1: defaults.name: ", "unknown key"),
        ("[defaults]\nbatch = 0\n", "2:9: defaults.batch: ", "expected an integer from 1 to 100"),
        ("[defaults]\nschedule = \"* * * * *\"\nevery = \"1s\"", "3:9: defaults.every: ", "found both"),
        ("http = 5", "1:8: http: ", "expected a table of listen, tls, users, found the integer 5"),
        ("http.listen = \"localhost:9925\"", "1:15: http.listen: ", "expected an IP address and a port"),
        ("http.listen = 9925", "1:15: http.listen: ", "expected an IP address and a port"),
        ("\"http.listen\" = \"\"", "1:1: \"http.listen\": ", "unknown key"),
        ("\"defaults[0]\" = 1", "1:1: \"defaults[0]\": ", "unknown key"),
        ("HTTP = 1", "1:1: HTTP: ", "unknown key"),
    ] {
        refused(&format!("{lines}\n{MINIMAL}"), start, telling);
    }
}

#[test]
fn the_state_dir_is_the_variables_the_files_or_the_first_that_systemd_made() {
    let state_dir = |lines: &str, variables: &[(&str, &str)]| {
        with_variables(&format!("{lines}\n{MINIMAL}"), variables).unwrap().state_dir
    };
    let (file, systemd) = ("state_dir = '/file'", ("STATE_DIRECTORY", "/one:/two"));
    let expected = |path: &str| Some(std::path::PathBuf::from(path));
    assert_eq!(state_dir("", &[]), None);
    assert_eq!(state_dir("", &[("STATE_DIRECTORY", "")]), None);
    assert_eq!(state_dir("", &[systemd]), expected("/one"));
    assert_eq!(state_dir(file, &[systemd]), expected("/file"));
    assert_eq!(state_dir(file, &[systemd, ("KEYSWEEP__STATE_DIR", "/variable")]), expected("/variable"));
}

#[test]
fn a_database_does_not_lie_among_the_files_of_keysweep() {
    let file = "state_dir = \"/var/lib/payments/\"\n[[database]]\nname = \"a\"\npath = \"/var/lib/payments/clock.json\"\n";
    refused(file, "4:8: database[0].path: ", "among keysweep's own files");
    assert!(read(&file.replace("clock.json", "app.db")).is_ok());
}

#[test]
fn guards_are_inherited_and_overridden() {
    let file = "[defaults]\nwindow = '22:00-04:00'\nmax_share = 0.5\nsettle = '0s'\n[[database]]\nname = 'a'\npath = '/a'\n\
                [[database]]\nname = 'b'\npath = '/b'\nwindow = '01:00-05:00'\nmax_share = 1\nsettle = '1h'\n";
    let [a, b] = <[Block; 2]>::try_from(read(file).unwrap().blocks).unwrap().map(|block| block.template);
    let guards = |of: Database| (of.window.unwrap().to_string(), of.max_share.unwrap().get(), of.settle);
    assert_eq!(guards(a), ("22:00-04:00".into(), 0.5, Duration::ZERO));
    assert_eq!(guards(b), ("01:00-05:00".into(), 1.0, 3600 * SECOND));
    let plain = database("");
    assert_eq!((plain.window, plain.max_share, plain.settle), (None, None, 600 * SECOND));
}

#[test]
fn a_retention_is_no_shorter_than_the_promise() {
    let since = "since = { column = \"at\", unit = \"unix_s\" }\npromise = \"24h\"\n";
    assert_eq!(rule(&format!("{since}retention = \"24h\"")).clock.unwrap().retention(), 86_400 * SECOND);
    let table = |lines: &str| format!("{MINIMAL}[[database.table]]\n{lines}");
    let both = "retention 23h is shorter than the promise 1d";
    refused(&table(&format!("{since}retention = \"23h\"")), "7:13: database[0].table[0].retention: ", both);
    let inherited = format!("[defaults]\nretention = \"23h\"\n{}", table(since));
    refused(&inherited, "8:11: database[0].table[0].promise: ", both);
    let beside = "expires = { column = \"at\", unit = \"unix_s\" }\npromise = \"1h\"";
    refused(&table(beside), "6:11: database[0].table[0].promise: ", "beside `since` only");
    refused(&table("promise = \"1h\""), "5:11: database[0].table[0].promise: ", "beside `since` only");
    refused(
        &table(&format!("{since}retention = \"1d\"\n").replace("24h", "0s")),
        "6:11: database[0].table[0].promise: ",
        "above 0",
    );
}

const HASH: &str = "$2y$05$L6Bc/AlTQHyd9liGgGEZyOFLPHNgyxeEPfgYfBCVxJ7JIlwxyVU3u";

#[test]
fn the_listener_takes_a_certificate_and_users() {
    let text = format!(
        "[http.tls]\ncert = \"/c\"\nkey = \"/k\"\n[http.users]\nProm = \"{HASH}\"\n\"a.b\" = \"{HASH}\"\n"
    );
    let http = read(&format!("{text}{MINIMAL}")).unwrap().http;
    assert_eq!(http.users.keys().collect::<Vec<_>>(), ["Prom", "a.b"]);
    assert_eq!(http.tls.as_ref().map(Tls::cert), Some("/c".as_ref()));
    assert!(!format!("{http:?}").contains("$2y$"));
    let moved = read(&format!("\n\n{text}{MINIMAL}")).unwrap().http;
    assert_eq!(http, moved, "another line is no other certificate");
    let variables = [("KEYSWEEP__HTTP__TLS__CERT", "/other"), ("KEYSWEEP__HTTP__USERS__ANN", HASH)];
    let http = with_variables(&format!("{text}{MINIMAL}"), &variables).unwrap().http;
    assert_eq!((http.tls.as_ref().map(Tls::cert), http.users.len()), (Some("/other".as_ref()), 3));
    let error = http.terms().unwrap_err().to_string();
    assert!(
        error.starts_with("environment variable KEYSWEEP__HTTP__TLS__CERT: http.tls.cert: /other: "),
        "{error}"
    );
}

#[test]
fn what_is_wrong_with_the_listener_is_refused_without_a_word_of_what_was_found() {
    let weak = HASH.replace("$05$", "$03$");
    for (lines, place, telling) in [
        ("[http.tls]\ncert = \"/c\"", "1:1: http.tls: ", "`key` is missing"),
        ("[http.tls]\ncert = \"c\"\nkey = \"/k\"", "2:8: http.tls.cert: ", "an absolute path"),
        ("[http.tls]\ncert = \"/c\"\nkey = \"/k\"\nca = \"/x\"", "4:1: http.tls.ca: ", "unknown key"),
        ("[http.users]", "1:1: http.users: ", "at least one user"),
        ("[http]\nusers = \"hunter2\"", "2:9: http.users: ", "a table of names"),
        ("[http.users]\nprom = \"hunter2\"", "2:8: http.users.prom: ", "a bcrypt hash (60 characters"),
        ("[http.users]\nprom = 2002", "2:8: http.users.prom: ", "a bcrypt hash: text"),
        (
            &format!("[http.users]\nprom = \"{weak}\""),
            "2:8: http.users.prom: ",
            "a cost from 4 to 15, found 3",
        ),
        (&format!("[http.users]\n\"a:b\" = \"{HASH}\""), "2:9: http.users.\"a:b\": ", "no colon"),
        (&format!("[http.users]\n\"\" = \"{HASH}\""), "2:6: http.users.\"\": ", "at least one character"),
    ] {
        let file = format!("{lines}\n{MINIMAL}");
        refused(&file, place, telling);
        let shown = read(&file).unwrap_err().to_string();
        assert!(!["hunter2", "2002", "L6Bc"].iter().any(|secret| shown.contains(secret)), "{shown}");
    }
}

#[test]
fn passwords_in_plain_text_are_seen_where_others_can_read_them() {
    let shows = |lines: &str| {
        read(&format!("{lines}[http.users]\na = \"{HASH}\"\n{MINIMAL}"))
            .unwrap()
            .http
            .shown_passwords()
            .is_some()
    };
    let (open, tls) = ("[http]\nlisten = \"0.0.0.0:1\"\n", "[http.tls]\ncert = \"/c\"\nkey = \"/k\"\n");
    assert!(shows(open) && !shows("") && !shows(&format!("{open}{tls}")));
}

#[test]
fn a_database_is_required() {
    refused("", " ", "at least one [[database]]");
    refused("database = []", "1:12: database: ", "at least one [[database]]");
    let single = read("[database]\nname = \"a\"\npath = \"/a\"\n").unwrap_err().to_string();
    assert!(
        single.starts_with("k.toml:1:1: database: expected tables [[database]], found a table"),
        "{single}"
    );
}

#[test]
fn bytes_that_are_no_toml_are_refused_with_line_and_column() {
    let bytes = [MINIMAL.as_bytes(), b"# \xc3\xa4 \xff\n"].concat();
    let shown = parse("k.toml", &bytes, []).unwrap_err().to_string();
    assert_eq!(shown, "k.toml:4:5: not UTF-8: the file must be UTF-8 text");
    refused("[http\n", "1:6: ", "not TOML: unclosed table");
    refused("a = 1\na = 2\n", "2:1: ", "not TOML: duplicate key");
    refused("[http]\n[http]\n", "2:2: ", "not TOML: duplicate key");
    refused("[http]\nlisten = 127.0.0.1\n", "2:15: ", "not TOML: ");
    let shown = read("a = 1\u{feff}\n").unwrap_err().to_string();
    assert!(shown.is_ascii() && shown.contains("not TOML"), "{shown}");
}

#[test]
fn an_editor_may_leave_a_byte_order_mark_and_carriage_returns() {
    let windows = format!("\u{feff}{}", MINIMAL.replace('\n', "\r\n"));
    assert_eq!(read(&windows).unwrap(), read(MINIMAL).unwrap());
}

#[test]
fn all_problems_are_shown_in_the_order_of_the_file() {
    let file = "[http]\nlisten = 5\n[defaults]\nbatch = true\nevry = \"1s\"\n[[database]]\npath = \"a\"\n\
                [[database.table]]\ndone = { column = 1, in = [true, 1.5] }\nretention = 3\n";
    let error = with_variables(file, &[("KEYSWEEP__DEFAULTS__SHARE", "2"), ("KEYSWEEP__X", "")]).unwrap_err();
    let places: Vec<&Place> = error.problems().iter().map(Problem::place).collect();
    let at = |line, column| Place::At(Position { line, column });
    let variable = |name: &str| Place::Variable(name.into());
    assert_eq!(
        places,
        [
            &at(2, 10),
            &at(4, 9),
            &at(5, 1),
            &at(6, 1),
            &at(7, 8),
            &at(9, 19),
            &at(9, 28),
            &at(9, 34),
            &at(10, 13),
            &variable("KEYSWEEP__DEFAULTS__SHARE"),
            &variable("KEYSWEEP__X"),
        ]
    );
    assert_eq!(error.to_string().lines().count(), places.len());
    assert_eq!(error.problems()[5].key(), "database[0].table[0].done.column");
}

#[test]
fn a_variable_overrides_a_single_value_and_is_read_as_toml_or_text() {
    let file = format!("[http]\nlisten = \"127.0.0.1:1\"\n[defaults]\nbatch = true\n{MINIMAL}");
    let variables = [
        ("KEYSWEEP__HTTP__LISTEN", "[::1]:80"),
        ("KEYSWEEP__DEFAULTS__BATCH", "50"),
        ("KEYSWEEP__DEFAULTS__EVERY", "45s"),
        ("KEYSWEEP__DEFAULTS__BUSY_TIMEOUT", "\"7s\""),
        ("KEYSWEEP_CONFIG", "/etc/x"),
        ("KEYSWEEP_PORT", "tcp://10.0.0.1:80"),
        ("keysweep__http__listen", "not ours"),
        ("PATH", "/bin"),
    ];
    let settings = with_variables(&file, &variables).unwrap();
    assert_eq!(settings.http.listen, Some("[::1]:80".parse().unwrap()));
    let database = &settings.blocks[0].template;
    assert_eq!((database.batch.rows(), database.busy_timeout), (50, 7 * SECOND));
    assert_eq!(database.timing, Timing::Every(45 * SECOND));
    assert_eq!(with_variables(MINIMAL, &[("KEYSWEEP__HTTP__LISTEN", "")]).unwrap().http.listen, None);
}

#[test]
fn a_variable_that_cannot_be_meant_is_refused_by_its_name() {
    for (name, value, telling) in [
        (
            "KEYSWEEP__DEFAULTS__BATCH",
            "ten",
            "defaults.batch: expected an integer from 1 to 100, found the text",
        ),
        (
            "KEYSWEEP__DEFAULTS__BATCH",
            "",
            "defaults.batch: expected an integer from 1 to 100, found the text",
        ),
        ("KEYSWEEP__DEFAULTS__BATCH", "007", "found the text \"007\""),
        ("KEYSWEEP__DEFAULTS__BATCH", "1\nb = 2", "found the text"),
        ("KEYSWEEP__DEFAULTS__BATCH", "[10]", "found a list"),
        ("KEYSWEEP__DEFAULTS__ENABLED", "yes", "expected true or false"),
        ("KEYSWEEP__DEFAULTS__ENABLED", "1", "expected true or false"),
        ("KEYSWEEP__DEFAULTS__EVERY", "30", "expected a duration"),
        ("KEYSWEEP__DEFAULTS__BACTH", "1", "defaults.bacth: unknown key, did you mean `batch`?"),
        ("KEYSWEEP__DEFALTS__BATCH", "1", "defalts: unknown key, did you mean `defaults`?"),
        ("KEYSWEEP__HTTP", "{ listen = \"\" }", "names no value"),
        ("KEYSWEEP__HTTP__LISTEN__X", "1", "names no value"),
        ("KEYSWEEP__", "1", "names no value"),
        ("KEYSWEEP__http__listen", "", "in upper case"),
        ("KEYSWEEP__HTTP__LISTEN[0]", "", "names no value"),
        ("KEYSWEEP__HTTP__TLS", "/x", "http.tls: expected a table of cert, key"),
        ("KEYSWEEP__HTTP__USERS", "hunter2", "http.users: expected a table of names"),
        ("KEYSWEEP__HTTP__USERS__PROM", "hunter2", "http.users.prom: expected a bcrypt hash"),
        ("KEYSWEEP__DEFAULTS__TLS__CERT", "/x", "names no value"),
        ("KEYSWEEP__STATE_DIR", "x", "state_dir: expected an absolute path"),
        ("KEYSWEEP__STATEDIR", "/x", "names no value"),
        ("STATE_DIRECTORY", "keysweep:/x", "expected an absolute path"),
        ("KEYSWEEP__DEFAULTS__WINDOW", "x", "defaults.window: expected a window"),
        ("KEYSWEEP__DEFAULTS__MAX_LAG", "x", "`max_lag` is not in this version"),
        ("KEYSWEEP__DATABASE__0__NAME", "x", "only single values outside [[ ]]"),
        ("KEYSWEEP__DATABASE", "x", "only single values outside [[ ]]"),
        ("KEYSWEEP__DATABASE[0]__NAME", "x", "only single values outside [[ ]]"),
    ] {
        let shown = with_variables(MINIMAL, &[(name, value)]).unwrap_err().to_string();
        assert!(shown.starts_with(&format!("environment variable {name}: ")), "{name}: {shown}");
        assert!(shown.contains(telling) && shown.lines().count() == 1, "{name}: {shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn a_wrong_variable_is_named_also_where_the_file_sets_the_key() {
    let file = format!("[defaults]\nbatch = 5\n{MINIMAL}");
    let shown = with_variables(&file, &[("KEYSWEEP__DEFAULTS__BATCH", "101")]).unwrap_err().to_string();
    assert_eq!(
        shown,
        "environment variable KEYSWEEP__DEFAULTS__BATCH: defaults.batch: \
         expected an integer from 1 to 100, found the integer 101"
    );
}

#[test]
fn a_missing_file_is_told_from_one_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let missing = load(&folder.path().join("none.toml")).unwrap_err();
    assert!(missing.is_missing_file());
    assert!(missing.to_string().ends_with("none.toml: there is no such file"), "{missing}");
    let error = load(folder.path()).unwrap_err();
    assert!(!error.is_missing_file() && error.to_string().contains("cannot be read"), "{error}");
    let file = folder.path().join("k.toml");
    std::fs::write(&file, MINIMAL).unwrap();
    assert_eq!(load(&file).unwrap().blocks.len(), 1);
}
#[test]
fn nesting_is_refused_before_it_exhausts_the_stack() {
    let lists = format!("x = {}\n", "[".repeat(100_000));
    let keys = format!("{} = 1\n", vec!["a"; 100_000].join("."));
    for (file, telling) in [(lists, "1:85: not TOML: cannot recurse"), (keys, "not TOML: recursion limit")] {
        let shown = read(&file).unwrap_err().to_string();
        assert!(shown.contains(telling), "{shown}");
        assert!(shown.lines().count() <= 2, "{shown}");
    }
}
