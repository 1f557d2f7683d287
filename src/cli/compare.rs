//! `spanbridge compare`: two runs step by step, or two sets of runs by a key.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use super::complete;
use super::data_set::{EXPRESSIONS, expression};
use super::failure::Failure;
use super::file_runs::{FileRuns, is_input, missing_file};
use super::out::{self, Style, Table, plain_cell, shown, styled, text_of};
use super::own_form::OwnForm;
use super::select::{Select, trace_id};
use super::source::{Source, Where};
use crate::run::Run;
use crate::store::{Filter, Order};
use crate::view::compare::{
    self, Calls, Change, Comparison, Difference, Effort, Key, Members, Numbers, Pair, Piece, PromptChange, SetComparison, Side, StepSide,
    Whole,
};
use crate::view::text::{elapsed, many};

const EXAMPLES: &str = "\
A and B are traces, by their ids or names, or files with one run each. Steps are aligned by kind and name. [-words-] are those of A \
alone, {+words+} those of B alone.

With --by, A and B are sets of runs: expressions as --where of `export` has them, or files. Runs with the same key are paired in the \
order of their start.

Examples:
  spanbridge compare 5b8e 77aa
  spanbridge compare 5b8e 77aa --json | jq '.steps[] | select(.change != \"same\")'
  spanbridge compare before.json after.json
  spanbridge compare 'tag = v1' 'tag = v2' --by question
  spanbridge compare 'version = \"1.0\"' 'version = \"1.1\"' --by question
  spanbridge compare 'model = gpt-4o' 'model = gpt-4o-mini' --by metadata.example_id --since 1d";

/// Compare two runs step by step, or two sets of runs.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXPRESSIONS}"))]
pub(super) struct Compare {
    /// The first run or set.
    #[arg(value_name = "A", add = complete::traces())]
    left: String,
    /// The second run or set.
    #[arg(value_name = "B", add = complete::traces())]
    right: String,
    /// Compare sets, and pair their runs by this: question, session, user or metadata.NAME.
    #[arg(long, value_name = "KEY")]
    by: Option<Key>,
    #[command(flatten)]
    select: Select,
    /// Show steps that are the same one by one, and texts in full.
    #[arg(long)]
    full: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    form: OwnForm,
    #[command(flatten)]
    from: Where,
}

impl Compare {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let sides = [&self.left, &self.right];
        let no_file = |failure| match self.by {
            Some(_) => failure,
            None => sides.iter().find_map(|side| missing_file(side)).unwrap_or(failure),
        };
        let source = if sides.iter().all(|side| is_input(side)) {
            None
        } else {
            Some(self.from.open().map_err(no_file)?)
        };
        if let Some(by) = &self.by {
            let [left, right] = sides.map(|side| self.members(side, by, source.as_ref()));
            let compared = compare::sets(left?, right?, &mut Effort::new(&|| true));
            return self.print(&compared, |full| set_lines(&compared, full));
        }
        let [left, right] = sides.map(|side| self.one(side, source.as_ref()));
        let compared = compare::runs(&left?, &right?, &mut Effort::new(&|| true));
        self.print(&compared, |full| lines(&compared, full))
    }

    fn print(&self, compared: &impl serde::Serialize, lines: impl Fn(bool) -> Vec<String>) -> Result<ExitCode, Failure> {
        match self.json {
            true => out::json(serde_json::to_string_pretty(compared).unwrap_or_default())?,
            false => out::line(&lines(self.full).join("\n"))?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The runs in a file.
    fn runs_of_file(&self, path: &Path) -> Result<Vec<Run>, Failure> {
        let (read, clean) = FileRuns::read(&[path.to_owned()], &self.from, &self.form, None)?;
        if !clean {
            return Err(Failure::missing(format!(
                "{} cannot be compared, because not all of it could be read",
                path.display()
            )));
        }
        let mut runs = read.into_runs();
        runs.retain(Run::has_agent_work);
        Ok(runs)
    }

    fn one(&self, text: &str, source: Option<&Source>) -> Result<Run, Failure> {
        let Some(source) = source.filter(|_| !is_input(text)) else {
            let mut runs = self.runs_of_file(Path::new(text))?;
            return match (runs.pop(), runs.len()) {
                (Some(run), 0) => Ok(run),
                (None, _) => Err(Failure::missing(format!("{text} has no run of an agent"))),
                (Some(_), more) => Err(Failure::usage(format!("{text} has {} runs; pair them with --by KEY", more + 1))),
            };
        };
        let id = trace_id(source, text).map_err(|failure| missing_file(text).unwrap_or(failure))?;
        let run = source.run(id)?;
        run.ok_or_else(|| Failure::missing(format!("there is no trace {id}; `spanbridge ls` lists the traces")))
    }

    fn members(&self, text: &str, by: &Key, source: Option<&Source>) -> Result<Members, Failure> {
        let mut members = Members::new(by);
        let Some(source) = source.filter(|_| !is_input(text)) else {
            self.runs_of_file(Path::new(text))?.iter().for_each(|run| members.add(run));
            return Ok(members);
        };
        let expression = expression(text, text)?;
        let filter = Filter {
            order: Order::OldestFirst,
            ..self.select.filter()
        };
        for id in source.ids(&filter)? {
            let run = source.run(id)?.filter(|run| run.has_agent_work() && expression.matches(run));
            run.iter().for_each(|run| members.add(run));
        }
        Ok(members)
    }
}

/// In wider lines, texts are shortened if the line has no limit.
const WIDE: usize = 100;
/// Columns of equal text shown before and after a difference.
const AROUND: usize = 24;
/// Longer sequences of equal steps are only counted.
const SAME: usize = 3;

/// Two runs, step by step. `full`: also what is equal.
pub(super) fn lines(compared: &Comparison, full: bool) -> Vec<String> {
    let mut lines = head(&compared.left, &compared.right);
    for (what, words, same) in [
        ("asked", &compared.question, &compared.left.question),
        ("answered", &compared.answer, &compared.left.answer),
    ] {
        let said = match (words, same) {
            (Some(words), _) => words_line(words, full),
            (None, Some(same)) => {
                let same = shown(same, if full { usize::MAX } else { WIDE });
                format!("{} {same}", styled("same:", Style::Dim))
            }
            (None, None) => continue,
        };
        lines.push(format!("{what}  {said}"));
    }
    lines.extend(prompt_lines(&compared.prompts, "call", full));
    lines.push(String::new());
    let mut steps = compared.steps.as_slice();
    while let Some((first, rest)) = steps.split_first() {
        let same = steps.iter().take_while(|pair| pair.change == Change::Same).count();
        if same > SAME && !full {
            lines.push(styled(
                &format!("  … {} that are the same; --full shows them", many(same, "step")),
                Style::Dim,
            ));
            steps = steps.get(same..).unwrap_or_default();
            continue;
        }
        lines.extend(step_lines(compared, first, full));
        steps = rest;
    }
    let count = |change| compared.steps.iter().filter(|pair| pair.change == change).count();
    lines.push(String::new());
    lines.push(format!(
        "{} the same, {} changed, {} in A alone, {} in B alone",
        many(count(Change::Same), "step"),
        count(Change::Changed),
        count(Change::OnlyLeft),
        count(Change::OnlyRight)
    ));
    lines
}

/// Changes in the input of model calls, each once. `what`: who has them.
fn prompt_lines<'c>(changes: &'c [PromptChange], what: &'c str, full: bool) -> impl Iterator<Item = String> + 'c {
    changes.iter().map(move |change| {
        let many = many(change.calls, what);
        format!("{} (in {many})  {}", change.of, words_line(&change.words, full))
    })
}

fn step_lines(compared: &Comparison, pair: &Pair, full: bool) -> Vec<String> {
    let (mark, style) = match pair.change {
        Change::Same => (" ", Style::Dim),
        Change::Changed => ("~", Style::Busy),
        Change::OnlyLeft => ("-", Style::Bad),
        Change::OnlyRight => ("+", Style::Kind),
    };
    let Some(step) = pair.left.as_ref().or(pair.right.as_ref()) else {
        return Vec::new();
    };
    let indent = "  ".repeat(step.depth.min(20));
    let mut facts = Vec::new();
    let both = |of: fn(&StepSide) -> Option<String>| {
        let (left, right) = (pair.left.as_ref().and_then(of), pair.right.as_ref().and_then(of));
        match (left, right) {
            (Some(left), Some(right)) if left != right => Some(format!("{left} → {right}")),
            (left, right) => left.or(right),
        }
    };
    facts.extend(both(|step| Some(shown(&step.name, 48))));
    facts.extend(both(tokens));
    facts.extend(both(|step| step.took.cost().map(|cost| cost.to_string())));
    facts.extend(both(|step| step.took.duration_nanos.map(elapsed)));
    let failed = |side: &Option<StepSide>| side.as_ref().is_some_and(|step| step.failed);
    facts.extend(match (failed(&pair.left), failed(&pair.right), pair.change) {
        (false, false, _) => None,
        (true, false, Change::Changed) => Some("FAILED in A".to_owned()),
        (false, true, Change::Changed) => Some("FAILED in B".to_owned()),
        _ => Some("FAILED".to_owned()),
    });
    let given: Vec<&str> = compared.changes_of(pair).map(|change| change.of).collect();
    facts.extend((!given.is_empty()).then(|| format!("other {}", given.join(", "))));
    let line = format!("{mark} {indent}{}  {}", step.kind, facts.join("  "));
    let mut lines = vec![styled(&line, style)];
    for Difference { of, words } in &pair.differences {
        lines.push(format!("  {indent}  {of}: {}", words_line(words, full)));
    }
    lines
}

fn tokens(step: &StepSide) -> Option<String> {
    let sides = [(step.took.input_tokens, "in"), (step.took.output_tokens, "out")];
    let sides = sides.into_iter().filter_map(|(tokens, side)| Some(format!("{} {side}", tokens?)));
    Some(sides.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
}

/// The differences of two texts on one line, in the form of `git diff --word-diff`.
fn words_line(words: &[Piece], full: bool) -> String {
    let last = words.len().saturating_sub(1);
    let mut line = String::new();
    for (at, piece) in words.iter().enumerate() {
        let text = piece.text.replace(['\n', '\r', '\t'], " ");
        match piece.side {
            Side::Both if full => line.push_str(&out::harmless(&text)),
            Side::Both => line.push_str(&around(&text, at == 0, at == last)),
            Side::Left => line.push_str(&styled(&format!("[-{}-]", cut(&text, full)), Style::Bad)),
            Side::Right => line.push_str(&styled(&format!("{{+{}+}}", cut(&text, full)), Style::Kind)),
        }
    }
    line
}

fn cut(text: &str, full: bool) -> String {
    let text = out::harmless(text);
    match text.char_indices().nth(WIDE) {
        Some((end, _)) if !full => format!("{}…", text.get(..end).unwrap_or_default()),
        _ => text.into_owned(),
    }
}

/// Common prefix and suffix; text far from a difference is left out.
fn around(text: &str, is_first: bool, is_last: bool) -> String {
    let text = out::harmless(text);
    let letters: Vec<char> = text.chars().collect();
    let (front, back) = (if is_first { 0 } else { AROUND }, if is_last { 0 } else { AROUND });
    if letters.len() <= front + back + 1 {
        return text.into_owned();
    }
    let begin: String = letters.iter().take(front).collect();
    let end: String = letters.iter().skip(letters.len() - back).collect();
    format!("{begin}…{end}")
}

/// The figures of two runs or sets, one below the other.
fn head(left: &Whole, right: &Whole) -> Vec<String> {
    let mut table = Table::new(&["", "A", "B", ""]);
    let mut row = |name: &str, left: &str, right: &str, change: &str| {
        figure(&mut table, name, [&shown(left, 48), &shown(right, 48)], change);
    };
    row("trace", &left.trace_id, &right.trace_id, "");
    let mut names = |name: &str, of: fn(&Whole) -> &Option<String>| {
        let name_of = |whole: &Whole| of(whole).clone().unwrap_or_else(|| "-".to_owned());
        row(name, &name_of(left), &name_of(right), "");
    };
    names("agent", |whole| &whole.agent);
    if left.version.is_some() || right.version.is_some() {
        names("version", |whole| &whole.version);
    }
    row("status", left.status, right.status, "");
    numbers(&left.numbers, &right.numbers, &mut row);
    table.lines()
}

fn figure(table: &mut Table, name: &str, [left, right]: [&str; 2], change: &str) {
    let dim = |text: &str| (text.to_owned(), Style::Dim);
    table.row(vec![dim(name), plain_cell(left), plain_cell(right), dim(change)]);
}

fn numbers(left: &Numbers, right: &Numbers, row: &mut impl FnMut(&str, &str, &str, &str)) {
    let mut count = |name: &str, one: u64, other: u64| counted(name, Some(one), Some(other), row);
    count("model calls", left.model_calls, right.model_calls);
    count("tool calls", left.tool_calls, right.tool_calls);
    count("failures", left.failures, right.failures);
    took(left, right, row);
    amount("reward", left.reward, right.reward, |number| number.to_string(), row);
}

fn took(left: &Numbers, right: &Numbers, row: &mut impl FnMut(&str, &str, &str, &str)) {
    let (left, right) = (left.took, right.took);
    counted("tokens in", left.input_tokens, right.input_tokens, row);
    counted("tokens out", left.output_tokens, right.output_tokens, row);
    amount("cost", left.cost(), right.cost(), |cost| cost.to_string(), row);
    amount("took", left.duration_nanos, right.duration_nanos, elapsed, row);
}

fn counted(name: &str, one: Option<u64>, other: Option<u64>, row: &mut impl FnMut(&str, &str, &str, &str)) {
    let count = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    if one.is_some() || other.is_some() {
        let change = one.zip(other);
        let change = change.map_or_else(String::new, |(one, other)| signed(i128::from(other) - i128::from(one)));
        row(name, &count(one), &count(other), &change);
    }
}

fn amount<T>(name: &str, one: Option<T>, other: Option<T>, text: fn(T) -> String, row: &mut impl FnMut(&str, &str, &str, &str)) {
    if one.is_some() || other.is_some() {
        let of = |number: Option<T>| number.map_or_else(|| "-".to_owned(), text);
        row(name, &of(one), &of(other), "");
    }
}

fn signed(number: i128) -> String {
    if number == 0 { String::new() } else { format!("{number:+}") }
}

fn set_lines(compared: &SetComparison, full: bool) -> Vec<String> {
    let key = compared.by.to_uppercase();
    let mut table = Table::new(&[
        &key, "STATUS A", "STATUS B", "ANSWER", "TOKENS A", "TOKENS B", "COST A", "COST B", "REWARD A", "REWARD B",
    ]);
    for pair in &compared.pairs {
        let of = |text: fn(&Whole) -> String| [&pair.left, &pair.right].map(|side| plain_cell(text_of(side.as_ref().map(text))));
        let answer = match (pair.same_answer, pair.left.is_some(), pair.right.is_some()) {
            (_, true, false) => ("only in A", Style::Bad),
            (_, false, _) => ("only in B", Style::Kind),
            (Some(true), ..) => ("same", Style::Dim),
            (Some(false), ..) => ("differs", Style::Busy),
            (None, ..) => ("", Style::Plain),
        };
        let mut row = vec![(shown(&pair.key, if full { 1_000 } else { 64 }), Style::Plain)];
        row.extend(of(|whole| whole.status.to_owned()));
        row.push((answer.0.to_owned(), answer.1));
        row.extend(of(|whole| {
            let sum = |one: Option<u64>, other: Option<u64>| one.or(other).map(|_| one.unwrap_or(0) + other.unwrap_or(0));
            text_of(sum(whole.numbers.took.input_tokens, whole.numbers.took.output_tokens))
        }));
        row.extend(of(|whole| text_of(whole.numbers.took.cost())));
        row.extend(of(|whole| text_of(whole.numbers.reward)));
        table.row(row);
    }
    table.drop_empty();
    table.fit(out::width(), &[&key], &["COST A", "COST B", "TOKENS A", "TOKENS B"]);
    let mut lines: Vec<String> = prompt_lines(&compared.prompts, "pair", full).collect();
    lines.extend((!lines.is_empty()).then(String::new));
    lines.extend(table.lines());
    lines.push(String::new());
    let mut sums = Table::new(&["", "A", "B", ""]);
    let mut row = |name: &str, left: &str, right: &str, change: &str| figure(&mut sums, name, [left, right], change);
    let (left, right) = (&compared.left, &compared.right);
    row("runs", &left.runs.to_string(), &right.runs.to_string(), "");
    row("failed", &left.failed.to_string(), &right.failed.to_string(), "");
    let alone = [compared.failed_only_left, compared.failed_only_right].map(|count| count.to_string());
    row("failed only here", &alone[0], &alone[1], "");
    numbers(&left.numbers, &right.numbers, &mut row);
    let [one, other] = [left, right].map(|sums| Numbers {
        took: sums.median,
        ..Numbers::default()
    });
    took(&one, &other, &mut |name, left, right, change| {
        row(&format!("median {name}"), left, right, change)
    });
    for tool in &compared.tools {
        let of = |Calls { calls, failures }: Calls| format!("{failures} of {calls}");
        row(&format!("{} failed", shown(&tool.name, 40)), &of(tool.left), &of(tool.right), "");
    }
    lines.extend(sums.lines());
    if compared.without_key > 0 {
        let (has, is) = match compared.without_key {
            1 => ("has", "is"),
            _ => ("have", "are"),
        };
        let runs = many(compared.without_key, "run");
        lines.push(format!("{runs} {has} no {}, and {is} not paired", compared.by));
    }
    lines
}
