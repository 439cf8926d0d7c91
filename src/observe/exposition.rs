//! Prometheus' text format, version 0.0.4, written piece by piece: a thousand databases make several megabytes,
//! of which no more is ever in memory than one piece for each client.

use std::io::Write as _;
use std::sync::Arc;

use super::families::{Family, OF_A_DATABASE, OF_A_TABLE};
use super::metrics::{DatabaseMetrics, TableMetrics};
use super::series::{Counter, Gauge, Histogram, Measured};

/// A piece is at least so long, in bytes, but for the last one.
const PIECE: usize = 32 << 10;

/// The labels that a place's series share, as they are written: escaped, in alphabetical order. A label of
/// one series goes between the two parts.
pub(super) struct Labels {
    start: Box<str>,
    end: Box<str>,
}

impl Labels {
    pub(super) fn of_a_database(database: &str) -> Self {
        let start = format!("{{database=\"{}\"", escaped(database));
        Self { start: start.into(), end: "} ".into() }
    }

    pub(super) fn of_a_table(database: &str, table: &str) -> Self {
        let end = format!(",table=\"{}\"}} ", escaped(table));
        Self { end: end.into(), ..Self::of_a_database(database) }
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"")
}

/// A database or a table: its values, and the labels that all of their series have.
pub(super) struct Place<V> {
    labels: Labels,
    pub(super) values: V,
}

impl<V: Default> Place<V> {
    /// Every counter is 0, nothing is measured.
    pub(super) fn new(labels: Labels) -> Self {
        Self { labels, values: V::default() }
    }
}

/// All series, as pieces of text. The places are those of the beginning; each value is the one that it has
/// when its piece is written.
pub(super) struct Exposition {
    head: Vec<u8>,
    databases: Walk<DatabaseMetrics>,
    tables: Walk<TableMetrics>,
}

impl Exposition {
    /// `head` is what is written already.
    pub(super) fn new(
        head: String,
        databases: Vec<Arc<Place<DatabaseMetrics>>>,
        tables: Vec<Arc<Place<TableMetrics>>>,
    ) -> Self {
        let (databases, tables) = (Walk::new(OF_A_DATABASE, databases), Walk::new(OF_A_TABLE, tables));
        Self { head: head.into_bytes(), databases, tables }
    }
}

impl Iterator for Exposition {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut piece = std::mem::take(&mut self.head);
        piece.reserve(PIECE + PIECE / 8);
        self.databases.write(&mut piece);
        self.tables.write(&mut piece);
        (!piece.is_empty()).then_some(piece)
    }
}

/// A way through every metric, and for each through every place.
struct Walk<V: 'static> {
    families: std::slice::Iter<'static, Family<V>>,
    places: Vec<Arc<Place<V>>>,
    family: Option<&'static Family<V>>,
    next: usize,
    has_head: bool,
}

impl<V> Walk<V> {
    fn new(families: &'static [Family<V>], places: Vec<Arc<Place<V>>>) -> Self {
        let mut families = families.iter();
        Self { family: families.next(), families, places, next: 0, has_head: false }
    }

    /// Goes on until the piece is long enough, or to the end.
    fn write(&mut self, piece: &mut Vec<u8>) {
        while piece.len() < PIECE
            && let Some(family) = self.family
        {
            match self.places.get(self.next) {
                Some(place) => {
                    self.has_head = family.write(place, self.has_head, piece);
                    self.next += 1;
                }
                None => (self.family, self.next, self.has_head) = (self.families.next(), 0, false),
            }
        }
    }
}

impl<V> Family<V> {
    /// The samples of a place; before the first one of all, what the metric is. Whether that is written now.
    fn write(&self, place: &Place<V>, has_head: bool, text: &mut Vec<u8>) -> bool {
        let before = text.len();
        if !has_head {
            let (name, help, kind) = (self.name, self.help, self.kind.name());
            for part in ["# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n"] {
                text.extend_from_slice(part.as_bytes());
            }
        }
        let head = text.len();
        (self.samples)(&place.values, &mut Samples { text, name: self.name, labels: &place.labels });
        let has_samples = text.len() > head;
        if !has_samples {
            text.truncate(before);
        }
        has_head || has_samples
    }
}

/// Where the samples of one metric of one place are written.
pub(super) struct Samples<'a> {
    text: &'a mut Vec<u8>,
    name: &'static str,
    labels: &'a Labels,
}

impl Samples<'_> {
    pub(super) fn counter(&mut self, counter: &Counter) {
        self.sample("", None, counter.value() as f64);
    }

    pub(super) fn gauge(&mut self, gauge: &Gauge) {
        self.sample("", None, gauge.value());
    }

    pub(super) fn measured(&mut self, gauge: &Measured) {
        if let Some(value) = gauge.value() {
            self.sample("", None, value);
        }
    }

    /// A sample that one more label tells apart, whose values need no escape.
    pub(super) fn labelled(&mut self, label: &str, word: &str, value: f64) {
        self.sample("", Some((label, word)), value);
    }

    pub(super) fn histogram(&mut self, histogram: &Histogram) {
        let mut count = 0;
        for (bound, up_to) in histogram.buckets() {
            self.sample("_bucket", Some(("le", bound)), up_to as f64);
            count = up_to;
        }
        count += histogram.longer();
        self.sample("_bucket", Some(("le", "+Inf")), count as f64);
        self.sample("_sum", None, histogram.seconds());
        self.sample("_count", None, count as f64);
    }

    fn sample(&mut self, suffix: &str, label: Option<(&str, &str)>, value: f64) {
        self.put(self.name);
        self.put(suffix);
        self.put(&self.labels.start);
        if let Some((label, word)) = label {
            self.put(",");
            self.put(label);
            self.put("=\"");
            self.put(word);
            self.put("\"");
        }
        self.put(&self.labels.end);
        self.number(value);
        self.put("\n");
    }

    /// As the shortest text that means the same number.
    fn number(&mut self, value: f64) {
        match digit(value) {
            Some(digit) => self.text.push(digit),
            // A vector takes everything.
            None => drop(write!(self.text, "{value}")),
        }
    }

    fn put(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }
}

/// Most samples are one digit, which needs no general way.
fn digit(value: f64) -> Option<u8> {
    let digit = value as u8;
    (digit <= 9 && f64::from(digit).to_bits() == value.to_bits()).then(|| b'0' + digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Observer;
    use crate::observe::sample::*;
    use std::collections::HashSet;

    #[test]
    fn a_number_is_written_as_prometheus_crate_writes_it() {
        for value in [0.0, -0.0, 1.0, 9.0, 10.0, 0.5, -1.0, 255.0, 256.0, 1_790_000_000.25, 9e15, 1e-9, 1e300]
        {
            let (mut text, labels) = (Vec::new(), Labels::of_a_database("a"));
            Samples { text: &mut text, name: "x", labels: &labels }.number(value);
            assert_eq!(String::from_utf8(text).unwrap(), value.to_string());
        }
    }

    #[test]
    fn a_name_cannot_end_its_label() {
        let labels = Labels::of_a_table("a\\\"}", "b\nc");
        assert_eq!((&*labels.start, &*labels.end), (r#"{database="a\\\"}""#, ",table=\"b\\nc\"} "));
    }

    #[test]
    fn many_databases_come_in_pieces_of_bounded_length() {
        let names: Vec<String> = (0..500).map(|number| format!("tenant/{number}")).collect();
        let fleet: Vec<_> = names.iter().map(|name| watched(name, &["keys", "inbox"])).collect();
        let observer = Observer::new(&fleet, now()).unwrap();
        let pieces: Vec<Vec<u8>> = observer.exposition().unwrap().collect();
        let (last, others) = pieces.split_last().unwrap();
        assert!(others.len() > 100 && others.iter().all(|piece| piece.len() >= PIECE), "{}", others.len());
        // What one place says of one metric is not cut.
        assert!(others.iter().chain([last]).all(|piece| piece.len() < PIECE + 4_096));
        let text = String::from_utf8(pieces.concat()).unwrap();
        let mut series = HashSet::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            assert!(series.insert(line.rsplit_once(' ').unwrap().0), "twice: {line}");
        }
        for name in names {
            let held =
                |table| format!("keysweep_held{{database=\"{name}\",reason=\"clock\",table=\"{table}\"}}");
            assert!(series.contains(&*held("keys")) && series.contains(&*held("inbox")), "{name}");
        }
        let explained: Vec<_> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
        assert_eq!(explained.iter().collect::<HashSet<_>>().len(), explained.len(), "{explained:?}");
    }
}
