//! One page that shows a run in a browser. It has no scripts and loads nothing, so it opens from disk and can be sent to
//! others.
//!
//! All text of spans passes through the template engine, which escapes it, and control and bidirectional characters are
//! shown as escapes. Data never becomes a tag, an attribute's name, a URL or a style; only numbers computed here do. A content
//! security policy forbids scripts and requests in case that is ever wrong.

mod parts;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::conversation::{beside, conversations};
use super::step;
use super::text::{dollars, elapsed, many, one_line};
use super::totals::{self, Group, Totals};
use crate::run::{Run, Utterance};
use crate::transcript::content;
use parts::text;

const STYLE: &str = include_str!("style.css");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Whether a text begins like a page of a run.
#[must_use]
pub fn is_page(head: &[u8]) -> bool {
    head.starts_with(b"<!DOCTYPE html>") && memchr::memmem::find(head, b"default-src").is_some()
}

/// The page of a run: outline with bars of time, conversations, inputs and outputs, errors, totals.
#[must_use]
pub fn page(run: &Run) -> String {
    let title = run.agent.name.as_deref().unwrap_or("trace");
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="referrer" content="no-referrer";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (one_line(title, 80)) " " (run.trace_id) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (head(run))
                (parts::outline(run))
                (conversation_sections(run))
                (beside_section(run))
                (totals_section(run))
                (findings(run))
            }
        }
    };
    markup.into_string()
}

fn head(run: &Run) -> Markup {
    let totals = Totals::of(run);
    let took = run.ended_at.map(|end| elapsed(end.0.saturating_sub(run.started_at.0)));
    let facts = [
        ("agent", run.agent.name.clone()),
        ("framework", run.agent.framework.clone()),
        ("session", run.session_id.clone()),
        ("user", run.user_id.clone()),
        ("started", Some(run.started_at.rfc3339())),
        ("took", Some(took.unwrap_or_else(|| "still running".to_owned()))),
        (
            "calls",
            Some(format!(
                "{}, {}",
                many(totals.model_calls, "model call"),
                many(totals.tool_calls, "tool call")
            )),
        ),
        ("tokens", step::tokens(&totals.tokens)),
        ("cost", totals.cost.map(dollars)),
    ];
    html! {
        header {
            h1 { "trace " code { (run.trace_id) } }
            dl.facts {
                @for (what, value) in facts {
                    @if let Some(value) = value { div { dt { (what) } dd { (text(&value)) } } }
                }
            }
            (said("Question", run.question.as_ref()))
            (said("Answer", run.answer.as_ref()))
            @if let Some(failure) = &run.failure { (parts::failure(&failure.failure)) }
        }
    }
}

fn said(what: &str, said: Option<&Utterance>) -> Markup {
    html! {
        @if let Some(said) = said { div.said { h2 { (what) } (parts::value(&content::text(&said.content))) } }
    }
}

fn conversation_sections(run: &Run) -> Markup {
    html! {
        @for conversation in conversations(run) { (parts::conversation(run, &conversation)) }
    }
}

fn beside_section(run: &Run) -> Markup {
    let beside = beside(run);
    html! {
        @if !beside.is_empty() {
            section {
                h2 { "Inputs and outputs outside of conversations" }
                @for beside in &beside { (parts::beside(run, beside)) }
            }
        }
    }
}

fn totals_section(run: &Run) -> Markup {
    html! {
        section {
            h2 { "Totals" }
            (table("agent", &totals::by_agent(run)))
            (table("model", &totals::by_model(run)))
        }
    }
}

fn table(what: &str, groups: &[Group<'_>]) -> Markup {
    let count = |count: Option<u64>| count.map(|count| count.to_string()).unwrap_or_default();
    html! {
        table {
            thead { tr { @for head in [what, "model calls", "tool calls", "failed", "busy", "tokens in", "cached", "tokens out", "cost"] { th.number[head != what] { (head) } } } }
            tbody {
                @for Group { name, totals } in groups {
                    tr {
                        td { (text(name.unwrap_or("(not named)"))) }
                        td.number { (totals.model_calls) }
                        td.number { (totals.tool_calls) }
                        td.number { @if totals.failures > 0 { (totals.failures) } }
                        td.number { (elapsed(totals.busy_nanos)) }
                        td.number { (count(totals.tokens.input)) }
                        td.number { (count(totals.tokens.cache_read)) }
                        td.number { (count(totals.tokens.output)) }
                        td.number { (totals.cost.map(dollars).unwrap_or_default()) }
                    }
                }
            }
        }
    }
}

fn findings(run: &Run) -> Markup {
    let kind = |kind| serde_json::to_value(kind).ok().and_then(|kind| Some(kind.as_str()?.to_owned()));
    html! {
        @if !run.findings.is_empty() {
            section {
                h2 { "Problems in the data" }
                ul {
                    @for finding in &run.findings {
                        li {
                            b { (kind(finding.kind).unwrap_or_default()) } " " (text(&finding.detail))
                            @if let Some(span) = finding.span_id { " (span " code { (span) } ")" }
                        }
                    }
                }
            }
        }
    }
}
