//! The one place that prints.
#![expect(clippy::print_stderr, reason = "this module is the way to standard error")]

use std::borrow::Cow;
use std::env;
use std::error::Error;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use crate::store::log::Recovery;

/// Writes a line to standard output.
pub(super) fn line(text: &str) -> io::Result<()> {
    // With its end at once: standard output looks through what it is given for the last line's end.
    io::stdout().lock().write_all([text, "\n"].concat().as_bytes())
}

/// `1 span`, `2 spans`.
pub(super) fn many(number: impl TryInto<u64>, what: &str) -> String {
    match number.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

/// Flushes standard output.
pub(super) fn flush() -> io::Result<()> {
    io::stdout().lock().flush()
}

/// Writes a message for people to standard error.
pub(super) fn note(text: &str) {
    plain(&format!("spanbridge: {text}"));
}

/// Writes text for people to standard error.
pub(super) fn plain(text: &str) {
    // Nobody may be there to read it any more.
    let _ = writeln!(io::stderr(), "{}", harmless(text));
}

/// What changes how a terminal shows other text: control characters, and those that change the direction of writing.
fn is_harmful(letter: char) -> bool {
    let turns = matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || turns || letter == '\u{feff}'
}

/// The text on its lines, with what is harmful to a terminal shown as an escape.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    let harms = |letter: char| is_harmful(letter) && letter != '\n';
    if !text.contains(harms) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if harms(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// JSON for standard output. On a terminal, what is harmful to it is escaped, which is the same JSON.
pub(super) fn json(text: &str) -> io::Result<()> {
    let harms = |letter: char| is_harmful(letter) && letter != '\n';
    if !io::stdout().is_terminal() || !text.contains(harms) {
        return line(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match u32::from(letter) {
            code if harms(letter) => shown.push_str(&format!("\\u{code:04x}")),
            _ => shown.push(letter),
        }
    }
    line(&shown)
}

/// Writes an error with its causes to standard error.
pub(super) fn error(error: &dyn Error) {
    note(&with_causes(error));
}

/// Says what a crash or a disk left behind.
pub(super) fn recovery(recovery: &Recovery) {
    for line in recovery_lines(recovery) {
        note(&line);
    }
}

/// The same as lines.
pub(super) fn recovery_lines(recovery: &Recovery) -> Vec<String> {
    let torn = recovery.torn.iter().map(ToString::to_string);
    let damaged = recovery.damaged.iter().map(ToString::to_string);
    let lost = recovery
        .lost
        .iter()
        .map(|lost| format!("{lost}; put the file back from a backup, then: spanbridge reindex (spanbridge doctor reads all of it)"));
    let rebuilt = recovery
        .index_rebuilt
        .iter()
        .map(|why| format!("the index was made anew from the log: {why}"));
    torn.chain(damaged).chain(lost).chain(rebuilt).collect()
}

/// The error's words and those of its causes, on one line.
pub(super) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    text
}

/// How a word looks on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Dim,
    Strong,
    Bad,
    Busy,
    Kind,
}

/// The text in a style: colours only on a terminal, and not where `NO_COLOR` is set.
pub(super) fn styled(text: &str, style: Style) -> String {
    let code = match style {
        Style::Plain => return text.to_owned(),
        Style::Dim => "2",
        Style::Strong => "1",
        Style::Bad => "31",
        Style::Busy => "33",
        Style::Kind => "36",
    };
    if !io::stdout().is_terminal() || env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return text.to_owned();
    }
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Text of others on one line, at most so many characters: what moves a terminal's cursor is left out.
pub(super) fn shown(text: &str, width: usize) -> String {
    let mut shown = String::new();
    let mut length = 0;
    let mut space = false;
    for letter in text.chars() {
        if letter.is_whitespace() {
            space = length > 0;
            continue;
        }
        if is_harmful(letter) {
            continue;
        }
        if length + usize::from(space) >= width {
            shown.push('…');
            return shown;
        }
        if space {
            shown.push(' ');
            length += 1;
            space = false;
        }
        shown.push(letter);
        length += 1;
    }
    shown
}

/// `850 ms`, `3.10 s`, `2 m 05 s`, `1 h 02 m`.
pub(super) fn duration(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{:02} s", millis / 1_000, millis % 1_000 / 10),
        60_000..3_600_000 => format!("{} m {:02} s", millis / 60_000, millis / 1_000 % 60),
        _ => format!("{} h {:02} m", millis / 3_600_000, millis / 60_000 % 60),
    }
}

/// Columns that are as wide as their widest cell.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Vec<(String, Style)>>,
}

impl Table {
    pub(super) fn new(heads: &[&str]) -> Self {
        Self {
            rows: vec![heads.iter().map(|head| ((*head).to_owned(), Style::Dim)).collect()],
        }
    }

    pub(super) fn row(&mut self, cells: Vec<(String, Style)>) {
        self.rows.push(cells);
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|(text, _)| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |row: &Vec<(String, Style)>| {
            let mut line = String::new();
            for ((text, style), width) in row.iter().zip(&widths) {
                line.push_str(&styled(text, *style));
                line.push_str(&" ".repeat(width + 2 - text.chars().count()));
            }
            line.trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }
}

/// How far a long command is: on a terminal in place, else a line every few seconds.
#[derive(Debug)]
pub(super) struct Progress {
    verb: &'static str,
    total: usize,
    done: usize,
    said: Instant,
    started: Instant,
    shown: bool,
}

impl Progress {
    pub(super) fn new(verb: &'static str, total: usize) -> Self {
        let now = Instant::now();
        Self {
            verb,
            total,
            done: 0,
            said: now,
            started: now,
            shown: false,
        }
    }

    pub(super) fn step(&mut self) {
        self.done += 1;
        let terminal = io::stderr().is_terminal() && !io::stdout().is_terminal();
        let every = if terminal {
            Duration::from_millis(200)
        } else {
            Duration::from_secs(5)
        };
        if self.said.elapsed() < every {
            return;
        }
        self.said = Instant::now();
        let rate = self.done as u64 / self.started.elapsed().as_secs().max(1);
        let text = format!("{} {} of {}, {rate} a second", self.verb, self.done, self.total);
        if terminal {
            eprint!("\r\x1b[Kspanbridge: {text}");
            self.shown = true;
        } else {
            note(&text);
        }
    }

    pub(super) fn finish(&self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_cannot_move_the_cursor() {
        assert_eq!(shown("a\x1b[2J\n\n b\u{7}c", 20), "a[2J bc");
        assert_eq!(shown("abcdef", 3), "abc…");
        assert_eq!(shown("  a   b  ", 3), "a b");
        assert_eq!(shown("a b", 2), "a…");
    }

    #[test]
    fn durations() {
        assert_eq!(
            [0, 999, 3_100, 65_000, 3_720_000].map(duration),
            ["0 ms", "999 ms", "3.10 s", "1 m 05 s", "1 h 02 m"]
        );
    }
}
