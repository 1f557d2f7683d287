//! The parts of the page: the outline with its bars, a conversation, a value, a failure.

use maud::{Markup, html};

use crate::operation::Failure;
use crate::run::{Run, Step};
use crate::transcript::calls::Results;
use crate::transcript::content;
use crate::view::conversation::{Beside, Conversation, ConversationEntry, Words, readable};
use crate::view::outline::{self, Row};
use crate::view::step::{self, name, offset};
use crate::view::text::{block, dollars, elapsed, one_line};
use crate::view::{errors, totals};

/// Values longer than this are cut: the conversations hold what they repeat, and `show --json` all of it.
const VALUE: usize = 16 << 10;
/// Deeper than this, rows are not indented further.
const DEPTH: usize = 24;

/// Text of others.
pub(super) fn text(text: &str) -> String {
    block(text)
}

/// A value of others, cut where it is very long.
pub(super) fn value(value: &str) -> Markup {
    let end = match value.len() {
        length @ 0..=VALUE => length,
        _ => (0..=VALUE).rev().find(|end| value.is_char_boundary(*end)).unwrap_or(0),
    };
    let (shown, hidden) = value.split_at_checked(end).unwrap_or((value, ""));
    html! {
        pre { (block(shown)) }
        @if !hidden.is_empty() {
            p.note { "… " (hidden.len()) " more bytes; spanbridge show --json prints them" }
        }
    }
}

/// Why something failed.
pub(super) fn failure(failure: &Failure) -> Markup {
    html! {
        div.failure {
            pre { (block(&errors::words(failure))) }
            @if let Some(stack) = errors::stack(failure) { details { summary { "stack" } (value(stack)) } }
        }
    }
}

/// The steps as a tree, each with a bar that shows when it ran.
pub(super) fn outline(run: &Run) -> Markup {
    let rows = outline::rows(run);
    let results = Results::of(run);
    let steps = || run.steps.iter();
    let end = run
        .ended_at
        .into_iter()
        .chain(steps().map(Step::end_or_start))
        .max()
        .unwrap_or(run.started_at);
    let whole = end.0.saturating_sub(run.started_at.0).max(1);
    html! {
        section.outline {
            h2 { "Outline" }
            div.head { span {} span.time { "start" } span.time { "took" } span {} }
            @for row in &rows {
                @if let Some(step) = run.steps.get(row.step) { (outline_row(run, row, step, whole, &results)) }
            }
            @if rows.is_empty() { p.note { "This trace has no agent operations." } }
        }
    }
}

fn outline_row<'a>(run: &'a Run, row: &Row, of: &'a Step, whole: u64, results: &Results<'a>) -> Markup {
    let operation = &of.operation;
    let about = if step::has_derived_times(of) { "~" } else { "" };
    let began = offset(run, of.started_at);
    let nanos = step::nanos(of);
    let took = nanos.map_or_else(|| "running".to_owned(), |nanos| format!("{about}{}", elapsed(nanos)));
    let (left, width) = bar(began, nanos.unwrap_or_else(|| whole.saturating_sub(began)), whole);
    let indent = row.depth.min(DEPTH);
    let kind = operation.kind.name();
    let failed = operation.failure.as_ref().map(errors::words);
    html! {
        details.row id={ "step-" (row.step) } {
            summary {
                span.what style={ "padding-left:" (indent) "em" } {
                    span.kind { (kind) } " " b { (one_line(name(run, of), 80)) }
                    @if let Some(tokens) = step::tokens(&operation.usage) { " " span.note { (tokens) } }
                    @if let Some(cost) = totals::cost(operation) { " " span.note { (dollars(cost)) } }
                    @if let Some(words) = &failed { " " span.bad { "failed: " (one_line(words, 120)) } }
                }
                span.time { (about) (elapsed(began)) }
                span.time { (took) }
                span.lane { span class=(if failed.is_some() { "bar bad" } else { "bar" }) style={ "left:" (left) "%;width:" (width) "%" } {} }
            }
            div.body { (body(run, of, results)) }
        }
    }
}

/// Where a bar begins and how long it is, in percent with three digits: numbers alone, whatever the times are.
fn bar(began: u64, nanos: u64, whole: u64) -> (String, String) {
    let thousandths = |part: u64| (u128::from(part) * 100_000 / u128::from(whole.max(1))).min(100_000);
    let (left, width) = (thousandths(began), thousandths(nanos));
    let width = width.min(100_000 - left);
    let shown = |thousandths: u128| format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000);
    (shown(left), shown(width))
}

fn body<'a>(run: &'a Run, of: &'a Step, results: &Results<'a>) -> Markup {
    let operation = &of.operation;
    let facts = [
        ("agent", totals::agent_of(run, of).map(str::to_owned)),
        ("span", of.span_id.map(|id| id.to_string())),
        ("span name", Some(operation.name.clone())),
        ("model", operation.model.name().map(str::to_owned)),
        ("provider", operation.model.provider.clone()),
        ("finish reason", operation.finish_reason.clone()),
        ("started", Some(of.started_at.rfc3339())),
    ];
    html! {
        dl.facts {
            @for (what, value) in facts {
                @if let Some(value) = value { div { dt { (what) } dd { (text(&value)) } } }
            }
        }
        @if let Some(failed) = &operation.failure { (failure(failed)) }
        @if let Some(input) = content::input(run, of) { h3 { "input" } (value(&readable(input))) }
        @if let Some(output) = content::output(results, of) { h3 { "output" } (value(&readable(output))) }
        @if !operation.unmapped.is_empty() {
            h3 { "other attributes" }
            (value(&readable((&operation.unmapped).into())))
        }
    }
}

/// The conversation of one agent.
pub(super) fn conversation(run: &Run, conversation: &Conversation<'_>) -> Markup {
    let caller = conversation.called_by.and_then(|index| Some((index, run.steps.get(index)?)));
    html! {
        section.conversation {
            h2 {
                "Conversation"
                @if let Some(agent) = conversation.agent { " of " (text(agent)) }
                @if let Some((index, caller)) = caller {
                    span.note { " called by " a href={ "#step-" (index) } { (caller.operation.kind.name()) " " (one_line(name(run, caller), 80)) } }
                }
            }
            @for said in &conversation.entries { (entry(said)) }
        }
    }
}

fn entry(said: &ConversationEntry<'_>) -> Markup {
    html! {
        @if said.branch { p.note { "The history was edited or cut here." } }
        div.entry {
            div.speaker {
                span.kind { (one_line(said.role, 24)) }
                @if let Some(name) = said.name { " " b { (one_line(name, 80)) } }
                " " span.note { (elapsed(said.offset)) }
            }
            @for words in &said.parts {
                @match words {
                    Words::Text(words) => pre { (block(words)) },
                    Words::Mark(words) => pre.note { (block(words)) },
                    Words::Thought(words) => pre.thought { (block(words)) },
                    Words::Call { name, arguments } => pre.call { b { (block(name)) } " " (block(arguments)) },
                    Words::Failure(words) => pre.bad { (block(words)) },
                }
            }
        }
    }
}

/// What went in and came out where no conversation shows it.
pub(super) fn beside(run: &Run, beside: &Beside) -> Markup {
    html! {
        @if let Some(of) = run.steps.get(beside.step) {
            details {
                summary { span.kind { (of.operation.kind.name()) } " " b { (one_line(name(run, of), 80)) } " " span.note { (elapsed(offset(run, of.started_at))) } }
                @if let Some(input) = &beside.input { h3 { "input" } (value(input)) }
                @if let Some(output) = &beside.output { h3 { "output" } (value(output)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars_stay_inside_their_lane() {
        assert_eq!(bar(0, 100, 100), ("0.000".to_owned(), "100.000".to_owned()));
        assert_eq!(bar(25, 50, 100), ("25.000".to_owned(), "50.000".to_owned()));
        assert_eq!(bar(90, 50, 100), ("90.000".to_owned(), "10.000".to_owned()));
        assert_eq!(bar(u64::MAX, u64::MAX, 1), ("100.000".to_owned(), "0.000".to_owned()));
        assert_eq!(bar(0, 0, 0), ("0.000".to_owned(), "0.000".to_owned()));
    }
}
