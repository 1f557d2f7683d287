//! All terminal output.
#![expect(clippy::print_stderr, reason = "this module is the way to standard error")]

use std::env;
use std::error::Error;
use std::fmt::Display;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::explain::explained;
use super::failure::Failure;
use crate::document::layout::Layout;
use crate::documents::Document;
use crate::store::Recovery;
use crate::view::text::{columns, is_harmful};
pub(super) use crate::view::text::{harmless, many, one_line as shown};

/// Writes a line to standard output.
pub(super) fn line(text: &str) -> Result<(), Failure> {
    // In one write: standard output scans what it is given for the last line break.
    written(io::stdout().lock().write_all([text, "\n"].concat().as_bytes()))
}

/// The failure of standard output.
pub(super) fn written(result: io::Result<()>) -> Result<(), Failure> {
    result.map_err(|source| Failure::Output { source })
}

/// Writes lines to standard output; if they exceed the terminal, through a pager, like git: `PAGER`, else less.
pub(super) fn paged(lines: &[String]) -> Result<(), Failure> {
    let text = lines.join("\n");
    let height = terminal_size::terminal_size_of(io::stdout()).map_or(usize::MAX, |(_, height)| usize::from(height.0));
    if io::stdout().is_terminal() && text.lines().count() >= height && through_pager(&text) {
        return Ok(());
    }
    line(&text)
}

/// Writes the text through a pager; returns whether that worked.
fn through_pager(text: &str) -> bool {
    let pager = env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    if matches!(pager.trim(), "" | "cat") {
        return false;
    }
    let mut command = Command::new("sh");
    command.args(["-c", &pager]).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        // Exit if everything fits, keep colours, and leave the text on the terminal.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // Writing fails once the user has quit the pager.
        let _ = input.write_all(text.as_bytes()).and_then(|()| input.write_all(b"\n"));
    }
    child.wait().is_ok_and(|status| status.code() != Some(127))
}

/// Flushes standard output.
pub(super) fn flush() -> Result<(), Failure> {
    written(io::stdout().lock().flush())
}

/// Writes a message for people to standard error.
pub(super) fn note(text: &str) {
    plain(&format!("spanbridge: {text}"));
}

/// Writes text for people to standard error.
pub(super) fn plain(text: &str) {
    // Standard error may be closed.
    let _ = writeln!(io::stderr(), "{}", harmless(text));
}

/// Writes JSON to standard output. On a terminal, harmful characters are escaped, which gives equivalent JSON.
pub(super) fn json(text: impl Into<String>) -> Result<(), Failure> {
    let mut text = text.into();
    let harms = |letter: char| is_harmful(letter) && letter != '\n';
    if !io::stdout().is_terminal() || !text.contains(harms) {
        text.push('\n');
        return written(io::stdout().lock().write_all(text.as_bytes()));
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if harms(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            shown.push(letter);
        }
    }
    line(&shown)
}

/// Writes a document to standard output on one line, in pieces: the text may be many times its size in memory.
pub(super) fn document(document: &Document<'_>) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        return json(document.text(Layout::Compact).map_err(|source| Failure::Output { source })?);
    }
    let mut out = io::stdout().lock();
    written(document.write(Layout::Compact, &mut out).and_then(|()| out.write_all(b"\n")))
}

/// Writes an error with its causes to standard error.
pub(super) fn error(error: &dyn Error) {
    note(&explained(with_causes(error)));
}

/// Reports what a crash or a failing disk left behind.
pub(super) fn recovery(recovery: &Recovery) {
    for line in recovery_lines(recovery) {
        note(&line);
    }
}

/// The same, as lines.
pub(super) fn recovery_lines(recovery: &Recovery) -> Vec<String> {
    let torn = recovery.torn.iter().map(ToString::to_string);
    let damaged = recovery.damaged.iter().map(ToString::to_string);
    let lost = recovery.lost.iter().map(|lost| {
        format!(
            "{lost}; restore the file from a backup, then run spanbridge reindex. This is repeated until you run spanbridge doctor \
             --acknowledge (spanbridge doctor checks the whole log)"
        )
    });
    let rebuilt = recovery
        .index_rebuilt
        .iter()
        .map(|why| format!("the index was rebuilt from the log: {why}"));
    let mended = recovery.deletions_mended.iter();
    let mended =
        mended.map(|fault| format!("what was deleted on request is known from the other of two files, which were mended: {fault}"));
    torn.chain(damaged).chain(lost).chain(rebuilt).chain(mended).collect()
}

/// Asks on the terminal, and returns the answer. `alone` is the error if standard input is not a terminal.
pub(super) fn ask(question: &str, alone: &str) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(alone));
    }
    note(question);
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(Failure::read("standard input".as_ref()))?;
    Ok(answer.trim().to_owned())
}

/// The message of an error and those of its causes, on one line.
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

/// Style of text on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Dim,
    Strong,
    Bad,
    Busy,
    Kind,
}

/// Styled text: with colours only on a terminal, unless `NO_COLOR` is set or the terminal is dumb.
pub(super) fn styled(text: &str, style: Style) -> String {
    static COLOURS: OnceLock<bool> = OnceLock::new();
    let code = match style {
        Style::Plain => return text.to_owned(),
        Style::Dim => "2",
        Style::Strong => "1",
        Style::Bad => "31",
        Style::Busy => "33",
        Style::Kind => "36",
    };
    let colours = COLOURS.get_or_init(|| {
        let unwanted =
            env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || env::var_os("TERM").is_some_and(|term| term == "dumb");
        io::stdout().is_terminal() && !unwanted
    });
    if !colours || text.is_empty() {
        return text.to_owned();
    }
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Maximum columns of a line: those of the terminal, else `COLUMNS`; `None`: no limit.
pub(super) fn width() -> Option<usize> {
    let said = || env::var("COLUMNS").ok()?.parse::<usize>().ok();
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    terminal.filter(|width| *width > 0).or_else(said).map(|width| width.max(40))
}

/// Minimum width to which cells are cut.
const NARROWEST: usize = 8;
/// Columns are dropped before cells are cut to less than this.
pub(super) const USUAL: usize = 13;

/// A table whose columns are as wide as their widest cells.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Vec<(String, Style)>>,
}

/// A cell without a style.
pub(super) fn plain_cell(text: impl Display) -> (String, Style) {
    (text.to_string(), Style::Plain)
}

/// The text of a value; empty without one.
pub(super) fn text_of(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A number, unless it is 0.
pub(super) fn some(number: u64) -> Option<u64> {
    Some(number).filter(|number| *number > 0)
}

impl Table {
    /// A table whose rows give the heads, too: a cell is its head, its text and its style.
    pub(super) fn of_rows<const COLUMNS: usize>(rows: impl IntoIterator<Item = [(&'static str, String, Style); COLUMNS]>) -> Self {
        let mut table = Self { rows: Vec::new() };
        for row in rows {
            if table.rows.is_empty() {
                table
                    .rows
                    .push(row.iter().map(|(head, ..)| ((*head).to_owned(), Style::Dim)).collect());
            }
            table.row(row.into_iter().map(|(_, text, style)| (text, style)).collect());
        }
        table
    }

    pub(super) fn new(heads: &[&str]) -> Self {
        Self {
            rows: vec![heads.iter().map(|head| ((*head).to_owned(), Style::Dim)).collect()],
        }
    }

    pub(super) fn row(&mut self, cells: Vec<(String, Style)>) {
        self.rows.push(cells);
    }

    /// Fits the table into this width: drops columns, in the given order, and cuts cells in columns where that is allowed.
    pub(super) fn fit(&mut self, width: Option<usize>, cut: &[&str], leave_out: &[&str]) {
        let cut: Vec<(&str, usize)> = cut.iter().map(|head| (*head, USUAL)).collect();
        self.fit_with(width, &cut, leave_out);
    }

    /// The same, with a width for each column below which it is cut only once no more columns can be dropped.
    pub(super) fn fit_with(&mut self, width: Option<usize>, cut: &[(&str, usize)], leave_out: &[&str]) {
        let Some(width) = width else { return };
        let usual = |head: &str| cut.iter().find(|(name, _)| *name == head).map(|(_, usual)| *usual);
        let is_cut = |head: &str| usual(head).is_some();
        for head in leave_out {
            let heads = self.heads();
            let least = self.widths().into_iter().zip(&heads);
            let least = least
                .map(|(width, head)| usual(head).map_or(width, |usual| width.min(usual)) + 2)
                .sum::<usize>();
            if least > width + 2 {
                let at = heads.iter().position(|have| have == head);
                at.into_iter().for_each(|at| self.remove(at));
            }
        }
        let heads = self.heads();
        let mut widths = self.widths();
        let mut taken = widths.iter().map(|width| width + 2).sum::<usize>().saturating_sub(2);
        let cuttable: Vec<usize> = (0..heads.len())
            .filter(|at| heads.get(*at).is_some_and(|head| is_cut(head)))
            .collect();
        while taken > width {
            let of = |column: usize| widths.get(column).copied().unwrap_or(0);
            let Some(widest) = cuttable.iter().copied().filter(|at| of(*at) > NARROWEST).max_by_key(|at| of(*at)) else {
                break;
            };
            if let Some(column) = widths.get_mut(widest) {
                *column -= 1;
                taken -= 1;
            }
        }
        for row in &mut self.rows {
            for column in &cuttable {
                if let (Some((text, _)), Some(width)) = (row.get_mut(*column), widths.get(*column)) {
                    *text = shown(text, *width);
                }
            }
        }
    }

    fn heads(&self) -> Vec<String> {
        let heads = self.rows.first().into_iter().flatten();
        heads.map(|(head, _)| head.clone()).collect()
    }

    /// Removes columns that are empty in all rows.
    pub(super) fn drop_empty(&mut self) {
        for column in (0..self.widths().len()).rev() {
            let cells = self.rows.iter().skip(1).filter_map(|row| row.get(column));
            if cells.clone().next().is_some() && cells.clone().all(|(text, _)| text.is_empty()) {
                self.remove(column);
            }
        }
    }

    fn remove(&mut self, column: usize) {
        self.rows
            .iter_mut()
            .filter(|row| column < row.len())
            .for_each(|row| drop(row.remove(column)));
    }

    fn widths(&self) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|(text, _)| columns(text)).max().unwrap_or(0)
        };
        (0..count).map(width).collect()
    }

    /// Writes the table to standard output.
    pub(super) fn print(&self) -> Result<(), Failure> {
        self.lines().iter().try_for_each(|text| line(text))
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let widths = self.widths();
        let line = |row: &Vec<(String, Style)>| {
            let mut line = String::new();
            for ((text, style), width) in row.iter().zip(&widths) {
                line.push_str(&styled(text, *style));
                line.push_str(&" ".repeat(width + 2 - columns(text)));
            }
            line.trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }
}

/// Progress of a long command: updated in place on a terminal, else a line every few seconds.
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
