//! A line of styled text that is cut to the terminal's width.

use crate::cli::out::{Style, styled};
use crate::run::{Run, Step};
use crate::view::step;
use crate::view::text::{columns, one_line};

/// Text with styles.
#[derive(Debug, Default)]
pub(super) struct Line(Vec<(String, Style)>);

impl Line {
    /// The kind and the name of a step, cut to a number of columns.
    pub(super) fn of_step(run: &Run, of: &Step, columns: usize) -> Self {
        let mut line = Self(vec![("  ".to_owned(), Style::Plain)]);
        line.push(of.operation.kind.name(), Style::Kind);
        line.next(&one_line(step::name(run, of), columns), Style::Strong);
        line
    }

    /// Appends text.
    pub(super) fn push(&mut self, words: impl Into<String>, style: Style) {
        let words = words.into();
        if !words.is_empty() {
            self.0.push((words, style));
        }
    }

    /// Appends text after two blanks.
    pub(super) fn next(&mut self, words: &str, style: Style) {
        if !words.is_empty() {
            self.push("  ", Style::Plain);
            self.push(words, style);
        }
    }

    /// Its width in columns.
    pub(super) fn columns(&self) -> usize {
        self.0.iter().map(|(words, _)| columns(words)).sum()
    }

    /// The line, cut to this width.
    pub(super) fn fit(&self, width: Option<usize>) -> String {
        let mut left = width.unwrap_or(usize::MAX);
        let mut line = String::new();
        for (words, style) in &self.0 {
            let wide = columns(words);
            if wide > left {
                line.push_str(&styled(&cut(words, left), *style));
                break;
            }
            line.push_str(&styled(words, *style));
            left -= wide;
        }
        line.trim_end().to_owned()
    }
}

/// Cuts text at the end, keeping leading blanks, which `one_line` would remove.
fn cut(words: &str, width: usize) -> String {
    let blanks = words.len() - words.trim_start_matches(' ').len();
    let blanks = blanks.min(width);
    format!("{}{}", " ".repeat(blanks), one_line(words, width - blanks))
}

/// Joins facts with ` · ` into as few lines as the width allows, each with this indentation.
pub(super) fn facts(facts: &[String], indent: &str, width: Option<usize>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut current = String::new();
    for fact in facts {
        let joined = if current.is_empty() {
            format!("{indent}{fact}")
        } else {
            format!("{current} · {fact}")
        };
        if !current.is_empty() && width.is_some_and(|width| columns(&joined) > width) {
            lines.push(std::mem::replace(&mut current, format!("{indent}{fact}")));
        } else {
            current = joined;
        }
    }
    if !current.is_empty() {
        lines.push(current);
    }
    if let Some(width) = width {
        for line in &mut lines {
            *line = cut(line, width);
        }
    }
    lines
}
