//! The overview above the tree: agent, question and answer, totals and errors.

use super::line::{Line, facts};
use crate::cli::out::{Style, Table, many, plain_cell, shown, some, styled, text_of};
use crate::formats;
use crate::operation::Failure;
use crate::run::annotations::ANNOTATOR;
use crate::run::{Observed, Run, Utterance};
use crate::span::LogRecord;
use crate::transcript::content;
use crate::view::files::changed;
use crate::view::text::{block, elapsed, wrapped};
use crate::view::totals::{self, Group, Totals};
use crate::view::{errors as words, step};

/// Maximum columns of a name.
pub(super) const NAME: usize = 100;
/// Without --full: maximum lines of a message and of a stack, and maximum errors.
const MESSAGE_LINES: usize = 6;
const STACK_LINES: usize = 8;
const ERRORS: usize = 10;

pub(super) fn head(run: &Run, width: Option<usize>, full: bool) -> Vec<String> {
    let mut lines = vec![styled(&format!("trace {}", run.trace_id), Style::Strong)];
    let mut who = Vec::new();
    who.extend(formats::name_of(run).map(|name| format!("name {}", shown(name, NAME))));
    let named = [("agent", &run.agent.name), ("session", &run.session_id), ("user", &run.user_id)];
    who.extend(
        named
            .into_iter()
            .filter_map(|(what, name)| Some(format!("{what} {}", shown(name.as_deref()?, NAME)))),
    );
    if step::has_times(run) {
        who.push(run.started_at.rfc3339());
        who.push(
            run.ended_at
                .map_or_else(|| "running".to_owned(), |end| elapsed(end.0.saturating_sub(run.started_at.0))),
        );
    } else {
        who.push("times not recorded".to_owned());
    }
    lines.extend(facts(&who, "  ", width));
    lines.extend(facts(&counts(&Totals::of(run)), "  ", width));
    for (what, said) in [("asked", &run.question), ("answered", &run.answer)] {
        if let Some(said) = said {
            lines.extend(spoken(what, said, width, full));
        }
    }
    lines.extend(judgements(run, width, full));
    if let Some(failure) = &run.failure {
        let mut line = Line::default();
        let room = width.unwrap_or(2 * NAME);
        line.push(shown(&format!("failed: {}", words::words(&failure.failure)), room), Style::Bad);
        lines.push(format!("  {}", line.fit(width.map(|width| width.saturating_sub(2)))));
    }
    lines
}

fn spoken(what: &str, said: &Utterance, width: Option<usize>, full: bool) -> Vec<String> {
    let text = content::text(&said.content);
    if full {
        let mut lines = vec![format!("  {}", styled(what, Style::Dim))];
        lines.extend(indented(&block(&text), 4, width));
        return lines;
    }
    let mut line = Line::default();
    line.push("  ", Style::Plain);
    line.push(what, Style::Dim);
    line.push(" ", Style::Plain);
    let room = width.map_or(NAME, |width| width.saturating_sub(line.columns()));
    line.push(shown(&text, room), Style::Plain);
    vec![line.fit(width)]
}

/// The wrapped lines of a text, indented.
pub(super) fn indented(text: &str, blanks: usize, width: Option<usize>) -> Vec<String> {
    let lines = wrapped(text, width.map(|width| width.saturating_sub(blanks)));
    let indent = " ".repeat(blanks);
    lines
        .into_iter()
        .map(|line| if line.is_empty() { line } else { format!("{indent}{line}") })
        .collect()
}

/// Rewards, reference outputs and judgements, with the step they are about unless that is the run.
fn judgements(run: &Run, width: Option<usize>, full: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let room = width.unwrap_or(2 * NAME);
    let mut add = |text: String| {
        let text = if full { block(&text) } else { shown(&text, room.saturating_sub(2)) };
        lines.extend(indented(&text, 2, width));
    };
    if let Some(reward) = run.reward() {
        add(format!("reward {reward}"));
    }
    for (at, of) in run.steps.enumerate() {
        // A person's judgement is about the parent step.
        let (at, annotator) = match of.observed {
            Observed::Annotation => (of.parent, of.operation.metadata.get(ANNOTATOR).and_then(|name| name.as_str())),
            _ => (Some(at), None),
        };
        let about = match at.and_then(|at| run.steps.get(at)) {
            Some(about) if run.root != at => format!(" of {} {}", about.operation.kind.name(), step::name(run, about)),
            _ => String::new(),
        };
        if let Some(ideal) = &of.operation.training.ideal {
            add(format!("ideal{about}: {}", content::text(ideal)));
        }
        for judged in &of.operation.evaluations {
            let score = judged.score.map(|score| score.to_string());
            let said = [judged.label.clone(), score].into_iter().flatten().collect::<Vec<_>>().join(" ");
            let why = judged.explanation.as_deref().map_or_else(String::new, |why| format!(": {why}"));
            let by = annotator.or(judged.annotator_kind.as_deref());
            let by = by.map_or_else(String::new, |by| format!(" ({by})"));
            add(format!(
                "score{about} {} {said}{by}{why}",
                judged.name.as_deref().unwrap_or("(not named)")
            ));
        }
    }
    let most = if full { usize::MAX } else { ERRORS };
    if lines.len() > most {
        let hidden = lines.len() - most;
        lines.truncate(most);
        lines.push(styled(&format!("  {} more; --full shows all", hidden), Style::Dim));
    }
    lines
}

/// Calls, tokens and cost, each only if recorded.
pub(super) fn counts(totals: &Totals) -> Vec<String> {
    let mut counts = vec![many(totals.model_calls, "model call"), many(totals.tool_calls, "tool call")];
    if let Some(tokens) = step::tokens(&totals.tokens) {
        let unmetered = match totals.unmetered_calls {
            0 => String::new(),
            silent => format!(" ({silent} of {} have none)", many(totals.model_calls, "call")),
        };
        counts.push(format!("tokens {tokens}{unmetered}"));
    }
    counts.extend(totals.cost.map(|cost| cost.to_string()));
    if totals.failures > 0 {
        counts.push(format!("{} failed", totals.failures));
    }
    counts
}

/// Tables by agent, model and tool, if there are several or one has facts to show.
pub(super) fn totals(run: &Run, width: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    let (agents, models, tools) = (totals::by_agent(run), totals::by_model(run), totals::by_tool(run));
    for (what, groups) in [("AGENT", &agents), ("MODEL", &models), ("TOOL", &tools)] {
        if groups.len() > 1 || what == "MODEL" && groups.iter().any(|group| group.totals.cost.is_some()) {
            lines.push(String::new());
            lines.extend(table(what, groups, step::has_times(run), width));
        }
    }
    lines
}

/// The files that edit and write tools changed.
pub(super) fn files(run: &Run, width: Option<usize>) -> Vec<String> {
    let files = changed(run);
    if files.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&["FILE", "EDITS", "ADDED", "REMOVED"]);
    for file in &files {
        let path = (shown(&file.path, NAME), Style::Strong);
        table.row(vec![path, plain_cell(file.edits), plain_cell(file.added), plain_cell(file.removed)]);
    }
    table.fit(width, &["FILE"], &["REMOVED", "ADDED"]);
    let mut lines = vec![String::new()];
    lines.extend(table.lines());
    lines
}

fn table(what: &str, groups: &[Group<'_>], has_times: bool, width: Option<usize>) -> Vec<String> {
    let mut table = Table::new(&[what, "CALLS", "TOOLS", "FAILED", "BUSY", "IN", "CACHED", "OUT", "COST"]);
    for Group { name, totals } in groups {
        let mut row = vec![(shown(name.unwrap_or("(not named)"), 48), Style::Strong)];
        row.extend([totals.model_calls, totals.tool_calls, totals.failures].map(|number| plain_cell(text_of(some(number)))));
        row.push(plain_cell(text_of(has_times.then(|| elapsed(totals.busy_nanos)))));
        row.extend([totals.tokens.input, totals.tokens.cache_read, totals.tokens.output].map(|number| plain_cell(text_of(number))));
        row.push(plain_cell(text_of(totals.cost)));
        table.row(row);
    }
    table.drop_empty();
    table.fit(width, &[what], &["CACHED", "BUSY", "TOOLS"]);
    table.lines()
}

/// The failures with their stacks.
pub(super) fn errors(run: &Run, width: Option<usize>, full: bool) -> Vec<String> {
    let failed: Vec<_> = run
        .steps
        .iter()
        .filter_map(|step| Some((step, step.operation.failure.as_ref()?)))
        .collect();
    if failed.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), styled(&many(failed.len(), "error"), Style::Strong)];
    let most = if full { usize::MAX } else { ERRORS };
    let has_times = step::has_times(run);
    for (of, failure) in failed.iter().take(most) {
        let about = if step::has_derived_times(of) { "~" } else { "" };
        let at = elapsed(step::offset(run, of.started_at));
        let mut line = Line::of_step(run, of, 28);
        if has_times {
            line.next(&format!("at {about}{at}"), Style::Dim);
        }
        if let Some(span) = of.span_id {
            line.next(&format!("span {span}"), Style::Dim);
        }
        lines.push(line.fit(width));
        lines.extend(failure_lines(failure, width, full));
    }
    if failed.len() > most {
        let hidden = many(failed.len() - most, "more error");
        lines.push(styled(&format!("  {hidden}; --full shows all"), Style::Dim));
    }
    lines
}

pub(super) fn failure_lines(failure: &Failure, width: Option<usize>, full: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut message = indented(&block(&words::words(failure)), 4, width);
    let hidden = message.len().saturating_sub(if full { usize::MAX } else { MESSAGE_LINES });
    if hidden > 0 {
        message.truncate(MESSAGE_LINES);
        message.push(format!("    … {}; --full shows them", many(hidden, "more line")));
    }
    lines.extend(message.into_iter().map(|line| styled(&line, Style::Bad)));
    if let Some(stack) = words::stack(failure) {
        let stack: Vec<&str> = stack.lines().filter(|line| full || !line.trim().is_empty()).collect();
        // The last lines show where it happened.
        let hidden = if full { 0 } else { stack.len().saturating_sub(STACK_LINES) };
        if hidden > 0 {
            lines.push(styled(
                &format!("    … {} above; --full shows them", many(hidden, "line")),
                Style::Dim,
            ));
        }
        let shown = stack.get(hidden..).unwrap_or_default().join("\n");
        let shown = indented(&block(&shown), 4, width);
        lines.extend(shown.into_iter().map(|line| styled(&line, Style::Dim)));
    }
    lines
}

/// Hints at further information.
pub(super) fn hints(run: &Run, logs: &[LogRecord]) -> Vec<String> {
    let mut hints = Vec::new();
    if !run.findings.is_empty() {
        hints.push(format!("{} in the data; --spans lists them", many(run.findings.len(), "problem")));
    }
    if !logs.is_empty() {
        hints.push(format!("{}; --spans -v shows them", many(logs.len(), "log record")));
    }
    if !hints.is_empty() {
        hints.insert(0, String::new());
    }
    hints
}
