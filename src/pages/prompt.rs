//! The input of one model call: the share of each part, changes since the previous call, parameters and tools.

use maud::{Markup, html};

use super::differences::diff;
use super::head::step_href;
use super::value::value;
use super::words::{block_of, count, kind, line, many};
use crate::operation::{Kind, ToolDefinition};
use crate::run::{Run, Step, StepId};
use crate::transcript::content;
use crate::view::compare::Effort;
use crate::view::seen::{Before, PARTS, Seen};

/// Maximum tools on a page.
const TOOLS: usize = 120;
/// Maximum parameters on a page.
const PARAMETERS: usize = 60;

/// The view; `None`: the call records no input.
pub(crate) fn view(run: &Run, id: StepId, of: &Step) -> Option<Markup> {
    let operation = &of.operation;
    let has_input = operation.input_messages.as_ref().is_some_and(|messages| !messages.is_empty());
    let is_empty = !has_input && operation.tool_definitions.is_empty() && operation.parameters.is_empty();
    if operation.kind != Kind::Llm || is_empty {
        return None;
    }
    let seen = Seen::of(run, id, of, &mut Effort::new(&|| true));
    let system = seen.system.join("\n\n");
    Some(html! {
        (shares(&seen, operation.usage.input))
        @if let Some(before) = &seen.before { (since(run, before)) }
        section {
            h3 { "Parameters" }
            @if operation.parameters.is_empty() { p.none { "No parameters were recorded." } }
            dl.kv {
                @for (name, value) in operation.parameters.iter().take(PARAMETERS) { dt.mono { (line(name, 80)) } dd.mono { (line(&content::text(value), 400)) } }
            }
            @if operation.parameters.len() > PARAMETERS { p.none { "And " (many(operation.parameters.len() - PARAMETERS, "more parameter")) "." } }
        }
        @if !system.is_empty() { section { h3 { "System prompt" } (value("system", &system, None)) } }
        section {
            h3 { "Tools offered " span.dim { (count(operation.tool_definitions.len() as u64)) } }
            @if operation.tool_definitions.is_empty() { p.none { "No tools were recorded." } }
            @for tool in operation.tool_definitions.iter().take(TOOLS) { (offered(tool)) }
            @if operation.tool_definitions.len() > TOOLS { p.none { "And " (many(operation.tool_definitions.len() - TOOLS, "more tool")) "." } }
        }
    })
}

fn offered(tool: &ToolDefinition) -> Markup {
    let about = tool.description.as_deref().unwrap_or_default();
    let schema = tool
        .parameters
        .as_ref()
        .and_then(|schema| serde_json::to_string_pretty(schema).ok());
    html! {
        details.offered {
            summary { b.mono { (line(&tool.name, 80)) } " " span.dim { (line(block_of(about, 400), 100)) } }
            @if !about.is_empty() { div.txt { (super::words::beginning(about, 8_000).0) } }
            @match schema { Some(schema) => (value("parameters", &schema, None)), None => p.none { "Its parameters were not recorded." } }
        }
    }
}

/// The parts as a bar. Tokens are not recorded for each part but estimated from their share of the bytes.
fn shares(seen: &Seen<'_>, tokens: Option<u64>) -> Markup {
    let shares = seen.shares();
    let mut at = 0;
    let bars = shares.map(|share| {
        at += share;
        (at - share, share)
    });
    let tenths = |thousandths: usize| format!("{}.{}%", thousandths / 10, thousandths % 10);
    let estimated = |share: usize| tokens.map(|tokens| u128::from(tokens) * share as u128 / 1_000);
    html! {
        section {
            h3 { "What the model was given" @if let Some(tokens) = tokens { " " span.dim { (count(tokens)) " tokens" } } }
            svg.share.seen preserveAspectRatio="none" aria-hidden="true" {
                @for (part, (from, share)) in bars.iter().enumerate() { rect class={ "p" (part) } x=(tenths(*from)) width=(tenths(*share)) height="8" {} }
            }
            table.plain.seen {
                tbody {
                    @for (part, name) in PARTS.iter().enumerate() {
                        @let (share, bytes) = (shares.get(part).copied().unwrap_or(0), seen.bytes.get(part).copied().unwrap_or(0));
                        @if bytes > 0 {
                            tr {
                                th scope="row" class={ "p" (part) } { (name) }
                                td.num { (tenths(share)) }
                                td.num { @if let Some(tokens) = estimated(share) { "~ " (count(u64::try_from(tokens).unwrap_or(u64::MAX))) " tokens" } @else { (super::words::bytes(bytes)) } }
                            }
                        }
                    }
                }
            }
            @if tokens.is_some() { p.faint { "Estimated: the recorded tokens, divided as the bytes are." } }
        }
    }
}

fn since(run: &Run, before: &Before<'_>) -> Markup {
    let (had, came) = before.messages;
    html! {
        section {
            h3 { "Since the call before" }
            p.dim {
                a href=(step_href(run, before.step, true)) data-step=(before.step.id) { (kind(before.step.operation.kind)) " " (line(super::outline::name(run, before.step), 60)) }
                " had " (many(had, "message")) " of these; " (many(came, "message")) (if came == 1 { " is" } else { " are" }) " new."
            }
            @for change in &before.changes { h3 { (change.of) } p.txt { (diff(&change.words)) } }
            @if before.changes.is_empty() { p.dim { "System prompt, tools and parameters are the same." } }
        }
    }
}
