//! A run, or a step with its descendants, as Markdown: to paste into a chat or an issue.

use std::fmt::Write as _;

use super::head::title;
use super::outline::{Outline, name, preview, took};
use super::words::beginning;
use crate::operation::Message;
use crate::run::Run;
use crate::transcript::calls::Results;
use crate::transcript::content;
use crate::view::conversation::readable;
use crate::view::step::offset;
use crate::view::text::{self, block, elapsed};
use crate::view::turns::{self, History, TurnMessage};
use crate::view::{errors, step};

/// Maximum bytes of the question and the answer at the top.
const SAID: usize = 600;

/// The whole run: question, failures, outline and conversations.
pub(crate) fn run(run: &Run) -> String {
    let mut out = String::new();
    let outline = Outline::of(run);
    let is_told = !turns::of(run).is_empty();
    let _ = writeln!(out, "# {}\n", one_line(title(run), 200));
    let took = run
        .ended_at
        .map_or_else(|| "running".to_owned(), |end| elapsed(end.0.saturating_sub(run.started_at.0)));
    let _ = writeln!(
        out,
        "Trace `{}`, {}, {}.\n",
        run.trace_id,
        run.status().name(),
        if step::has_times(run) {
            format!("{took}, started {}", run.started_at.rfc3339())
        } else {
            "times not recorded".to_owned()
        }
    );
    for (what, said) in [("Question", &run.question), ("Answer", &run.answer)] {
        if let Some(said) = said {
            let _ = writeln!(out, "## {what}\n");
            // The conversation has all of it.
            let text = content::text(&said.content);
            let (beginning, more) = beginning(&text, if is_told { SAID } else { usize::MAX });
            fenced(&mut out, &if more.is_some() { format!("{beginning}…") } else { beginning });
        }
    }
    let failed: Vec<_> = outline.steps().filter(|(_, step)| step.operation.failure.is_some()).collect();
    if !failed.is_empty() {
        let _ = writeln!(out, "## Failures\n");
        for (_, step) in failed {
            let words = step
                .operation
                .failure
                .as_ref()
                .map(|failure| one_line(&errors::words(failure), 2_000));
            let _ = writeln!(
                out,
                "- **{}** {}: {}",
                step.operation.kind.name(),
                one_line(name(run, step), 120),
                words.unwrap_or_default()
            );
        }
        out.push('\n');
    }
    let _ = writeln!(out, "## Steps\n");
    lines(&mut out, &outline, 0..outline.rows.len());
    conversations(&mut out, run);
    out
}

/// A step and all its descendants. `row`: its row in the outline.
pub(crate) fn subtree(outline: &Outline<'_>, row: usize) -> String {
    let run = outline.run;
    let results = Results::of(run);
    let mut out = String::new();
    let rows = row..(row + 1 + outline.below(row));
    lines(&mut out, outline, rows.clone());
    for row in rows {
        let Some(of) = outline.step(row) else { continue };
        let _ = writeln!(out, "### {} {}\n", of.operation.kind.name(), one_line(name(run, of), 120));
        if let Some(failure) = &of.operation.failure {
            let _ = writeln!(out, "Failed:\n");
            fenced(&mut out, &errors::words(failure));
        }
        for (what, value) in [("Input", content::input(run, of)), ("Output", content::output(&results, of))] {
            if let Some(value) = value {
                let _ = writeln!(out, "{what}:\n");
                fenced(&mut out, &readable(value));
            }
        }
    }
    out
}

fn lines(out: &mut String, outline: &Outline<'_>, rows: std::ops::Range<usize>) {
    let first = outline.rows.get(rows.start).map_or(0, |row| row.depth);
    for number in rows {
        let (Some(row), Some(of)) = (outline.rows.get(number), outline.step(number)) else {
            continue;
        };
        let indent = "  ".repeat(row.depth.saturating_sub(first).min(24));
        let failed = if of.operation.failure.is_some() { " **failed**" } else { "" };
        let tokens = step::short_tokens(&of.operation.usage)
            .map(|tokens| format!(", {tokens}"))
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "{indent}- **{}** {}{failed} ({}{tokens}) {}",
            of.operation.kind.name(),
            one_line(name(outline.run, of), 120),
            took(of),
            one_line(&preview(outline.run, of), 160)
        );
    }
    out.push('\n');
}

fn conversations(out: &mut String, run: &Run) {
    for turns in turns::of(run) {
        let scope = run.scopes.get(turns.scope);
        let agent = scope.and_then(|scope| scope.agent.as_deref()).or(run.agent.name.as_deref());
        let _ = writeln!(
            out,
            "## Conversation of {}\n",
            one_line(agent.unwrap_or("an agent without a name"), 120)
        );
        for (at, turn) in turns.calls.iter().enumerate() {
            let Some(of) = run.steps.get(turn.step) else { continue };
            let _ = writeln!(
                out,
                "### Call {} ({}, at {})\n",
                at + 1,
                one_line(name(run, of), 120),
                elapsed(offset(run, of.started_at))
            );
            match turn.history {
                History::Trimmed { gone, .. } => {
                    let _ = writeln!(out, "*{} left out.*\n", are(gone));
                }
                History::Rewritten { gone } => {
                    let _ = writeln!(out, "*History rewritten: {} gone or changed.*\n", are(gone));
                }
                History::GoesOn | History::OfItsOwn => {}
            }
            if turn.unchanged > 0 {
                let _ = writeln!(out, "*{} unchanged.*\n", text::many(turn.unchanged as u64, "earlier message"));
            }
            let input = of.operation.input_messages.as_deref().unwrap_or_default();
            for told in turn.told(input) {
                match told {
                    TurnMessage::New(said) => message(out, said),
                    TurnMessage::Before(number, calls) => {
                        let calls: Vec<String> = calls.iter().map(|call| (call + 1).to_string()).collect();
                        let number = text::many(number as u64, "message");
                        let _ = writeln!(out, "*{number} as in call {}.*\n", calls.join(", "));
                    }
                }
            }
            let output = of.operation.output_messages.as_deref().unwrap_or_default();
            output.iter().for_each(|said| message(out, said));
        }
    }
}

/// `1 earlier message is`, `2 earlier messages are`.
fn are(number: usize) -> String {
    format!(
        "{} {}",
        text::many(number as u64, "earlier message"),
        if number == 1 { "is" } else { "are" }
    )
}

fn message(out: &mut String, message: &Message) {
    let _ = writeln!(out, "**{}**\n", one_line(message.role.name(), 40));
    let words = content::content(message);
    if !words.trim().is_empty() {
        fenced(out, &words);
    }
    if let Some(result) = &message.result {
        fenced(out, &content::text(result));
    }
    for call in &message.tool_calls {
        let _ = writeln!(out, "calls `{}`\n", text::one_line(&call.name, 120).replace('`', "'"));
        fenced(out, &call.arguments_json());
    }
}

/// Text from others on one line, with Markdown's special characters escaped.
fn one_line(text: &str, width: usize) -> String {
    let mut shown = String::new();
    for letter in text::one_line(text, width).chars() {
        if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&' | '!') {
            shown.push('\\');
        }
        shown.push(letter);
    }
    shown
}

/// Text from others inside a fence that is longer than any fence in it.
fn fenced(out: &mut String, text: &str) {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = writeln!(out, "{fence}\n{}\n{fence}\n", block(text).trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_markup() {
        let name = "[a](http://b) <img src=x> `c` **d** &lt; ![e](f) | # g_h";
        let shown = one_line(name, 200);
        assert_eq!(shown.replace('\\', ""), name);
        let unescaped = shown
            .char_indices()
            .filter(|(at, letter)| "[]<>`*&!|#_".contains(*letter) && !shown[..*at].ends_with('\\'));
        assert_eq!(unescaped.count(), 0, "{shown}");
    }

    #[test]
    fn text_of_others_stays_inside_its_fence() {
        let mut out = String::new();
        fenced(&mut out, "a\n```\n# not a heading");
        assert_eq!(out, "````\na\n```\n# not a heading\n````\n\n");
    }
}
