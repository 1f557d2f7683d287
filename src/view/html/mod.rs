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
use crate::formats;
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
    whole(&format!("{} {}", one_line(title, 80), run.trace_id), &body(run))
}

/// The page of a session: its runs, one below the other, behind a list of what was asked in each.
#[must_use]
pub fn session_page(session: &str, runs: &[Run]) -> String {
    let totals = Totals::of_all(runs);
    let counts = format!(
        "{}, {}",
        many(totals.model_calls, "model call"),
        many(totals.tool_calls, "tool call")
    );
    let facts = [
        ("runs", Some(runs.len().to_string())),
        ("calls", Some(counts)),
        ("tokens", step::tokens(&totals.tokens)),
        ("cost", totals.cost.map(dollars)),
    ];
    let markup = html! {
        header {
            h1 { "session " code { (text(session)) } }
            dl.facts {
                @for (what, value) in facts {
                    @if let Some(value) = value { div { dt { (what) } dd { (text(&value)) } } }
                }
            }
            ol {
                @for run in runs {
                    @let asked = run.question.as_ref().map(|asked| content::text(&asked.content));
                    li { code { (run.trace_id) } " " (text(&one_line(asked.as_deref().unwrap_or_default(), 200))) }
                }
            }
        }
        @for run in runs { (body(run)) }
    };
    whole(&format!("session {}", one_line(session, 80)), &markup)
}

fn body(run: &Run) -> Markup {
    html! {
        (head(run))
        (parts::outline(run))
        (conversation_sections(run))
        (beside_section(run))
        (totals_section(run))
        (findings(run))
    }
}

fn whole(title: &str, body: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="referrer" content="no-referrer";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
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
        ("reward", run.reward().map(|reward| reward.to_string())),
        ("name", formats::name_of(run).map(ToOwned::to_owned)),
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
            (judgements(run))
            @if let Some(failure) = &run.failure { (parts::failure(&failure.failure)) }
        }
    }
}

/// Reference outputs and judgements, with the step that they are about.
fn judgements(run: &Run) -> Markup {
    let ideals = run.steps.iter().filter_map(|of| Some((of, of.operation.training.ideal.as_ref()?)));
    let scores = run
        .steps
        .iter()
        .flat_map(|of| of.operation.evaluations.iter().map(move |judged| (of, judged)));
    let (ideals, scores): (Vec<_>, Vec<_>) = (ideals.collect(), scores.collect());
    html! {
        @for (of, ideal) in ideals {
            div.said { h2 { "Ideal of " (text(step::name(run, of))) } (parts::value(&content::text(ideal))) }
        }
        @if !scores.is_empty() {
            table {
                thead { tr { @for head in ["score", "of", "value", "by", "why"] { th { (head) } } } }
                tbody {
                    @for (of, judged) in scores {
                        tr {
                            td { (text(judged.name.as_deref().unwrap_or("(not named)"))) }
                            td { (text(step::name(run, of))) }
                            td { (text(judged.label.as_deref().unwrap_or_default())) " " @if let Some(score) = judged.score { (score) } }
                            td { (text(judged.annotator_kind.as_deref().unwrap_or_default())) }
                            td { (text(judged.explanation.as_deref().unwrap_or_default())) }
                        }
                    }
                }
            }
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
