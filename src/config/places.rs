//! Where in the file each key and value is. `config` forgets the origin of a table when it lays one
//! source over another, so positions are kept beside the values, by key path.

use std::collections::HashMap;
use std::ops::Range;

use super::problem::Position;

/// The positions of one key path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    pub(super) key: Position,
    pub(super) value: Position,
}

/// Key path -> positions.
pub(super) type Places = HashMap<String, Site>;

/// The key path of a key in a table.
pub(super) fn child(path: &str, key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let key = if !key.is_empty() && key.chars().all(bare) { key.to_owned() } else { format!("{key:?}") };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// The key path of an element of an array, counted from 0.
pub(super) fn element(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}

/// Turns byte offsets into positions.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let after_newline = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(after_newline).collect() }
    }

    pub(super) fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or("");
        Position { line, column: before.chars().count() + 1 }
    }

    pub(super) fn site(&self, key: &Range<usize>, value: &Range<usize>) -> Site {
        Site { key: self.position(key.start), value: self.position(value.start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        let lines = Lines::new("ä = 1\r\n\nb");
        let at = |offset| {
            let position = lines.position(offset);
            (position.line, position.column)
        };
        assert_eq!([at(0), at(2), at(8), at(9), at(99)], [(1, 1), (1, 2), (2, 1), (3, 1), (3, 1)]);
    }

    #[test]
    fn a_key_that_is_not_bare_is_quoted_in_its_path() {
        assert_eq!(child("http", "listen"), "http.listen");
        assert_eq!(child("", "a.b\n"), "\"a.b\\n\"");
        assert_eq!(element("database", 0), "database[0]");
    }
}
