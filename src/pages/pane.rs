//! One step: overview, conversation, input and output, attributes with their use, events. The pane next to the outline, the
//! page of a step and the single-file page use the same template.

use maud::{Markup, html};

use super::acts::act;
use super::feedback;
use super::head::{step_href, step_path};
use super::load::OneSpan;
use super::messages;
use super::outline::{self, Outline, name};
use super::prompt;
use super::span::{self, OfSpan};
use super::value::{failure, value, value_up_to};
use super::words::{SHOWN, count, kind, line, none, plain, time};
use crate::operation::{Failure, Kind};
use crate::run::{Run, Step};
use crate::span::TraceId;
use crate::transcript::calls::Results;
use crate::transcript::content;
use crate::view::conversation::readable;
use crate::view::step::{nanos, offset};
use crate::view::text::elapsed;
use crate::view::{errors, request, step, totals};
use crate::web::service::Web;
use crate::web::url::percent_encoded;

/// What is known about a step besides its run.
#[derive(Debug, Default)]
pub(crate) struct About<'a> {
    /// In a file, maximum bytes of a value.
    pub(crate) most: usize,
    /// Its span as received; `None`: it has no span, or only the run is available.
    pub(crate) span: Option<OfSpan<'a>>,
    /// Whether a server is available for more.
    pub(crate) served: bool,
}

impl<'a> About<'a> {
    /// On a server. `span`: its span as received.
    pub(crate) fn served(web: &Web, span: Option<&'a OneSpan>) -> Self {
        Self {
            span: span.and_then(|span| span.explained(web)),
            served: true,
            ..Self::default()
        }
    }
}

/// The pane of a step.
pub(crate) fn pane(outline: &Outline<'_>, row: usize, of: &Step, about: &About<'_>) -> Markup {
    let run = outline.run;
    let results = &outline.results;
    let place = outline.rows.get(row);
    let tabs = [
        ("overview", "Overview", Some(overview(outline, row, of, about)), None),
        (
            "conversation",
            "Conversation",
            input_and_output(run.trace_id, of).filter(|_| about.served),
            None,
        ),
        (
            "prompt",
            "Prompt",
            place.filter(|_| about.served).and_then(|place| prompt::view(run, place.step, of)),
            None,
        ),
        ("io", "In / Out", in_and_out(run, of, results).filter(|_| about.served), None),
        (
            "attributes",
            "Attributes",
            about
                .span
                .as_ref()
                .map(|of_span| span::attributes(run, of_span))
                .or_else(|| left(of)),
            about.span.as_ref().map(span::unmapped).filter(|number| *number > 0),
        ),
        (
            "events",
            "Events",
            about.span.as_ref().and_then(|of_span| span::events(run, of_span)),
            about.span.as_ref().map(OfSpan::events).filter(|number| *number > 0),
        ),
    ];
    let tabs: Vec<_> = tabs
        .into_iter()
        .filter_map(|(id, name, body, number)| Some((id, name, body?, number)))
        .collect();
    html! {
        header data-step=(of.id) {
            div.ttl {
                (kind(of.operation.kind))
                h2.cut title=(plain(&line(name(run, of), 2_000))) { (line(name(run, of), 160)) }
                @if of.operation.failure.is_some() { (super::words::status("error", false)) }
                @if about.served { (copy(run, of)) }
                a.up.btn.small href="#trace" { "Steps" }
            }
            div.sub {
                span { (outline::took(of)) }
                @if about.served { span { "step " a.mono href={ "/runs/" (run.trace_id) "/steps/" (percent_encoded(&of.id)) } { (line(&of.id, 60)) } } }
                @else { span.mono { (line(&of.id, 60)) } }
                span.cut { (line(&of.operation.name, 120)) }
            }
            div.tabs role="tablist" aria-label="Details of the step" {
                @for (at, (id, name, _, number)) in tabs.iter().enumerate() {
                    button role="tab" id={ "t-" (id) "-" (row) } aria-controls={ "p-" (id) "-" (row) } aria-selected=(at == 0) tabindex=(if at == 0 { "0" } else { "-1" }) data-tab=(id) {
                        (name) @if let Some(number) = number { span.n { (number) @if *id == "attributes" { span.vh { " not mapped" } } } }
                    }
                }
            }
        }
        @for (at, (id, _, body, _)) in tabs.iter().enumerate() {
            div role="tabpanel" id={ "p-" (id) "-" (row) } aria-labelledby={ "t-" (id) "-" (row) } hidden[at > 0] { (body) }
        }
    }
}

fn copy(run: &Run, of: &Step) -> Markup {
    let at = format!("/api/v1/traces/{}/steps/{}", run.trace_id, percent_encoded(&of.id));
    html! {
        details.menu {
            summary.btn.small { "Copy" }
            ul {
                li { button data-copytext=(step_path(run, of)) data-copy="path" { "Link to this step" } }
                li { button data-copyfrom=(at) { "Step as JSON" } }
                li { button data-copyfrom={ (at) "/markdown" } { "Step and below as Markdown" } }
                @if matches!(of.operation.kind, Kind::Llm | Kind::Tool) && !of.id.contains(char::is_control) {
                    @for (format, client) in [("claude-code", "Claude Code"), ("codex", "Codex")] {
                        li { button data-copytext=(fork(run, of, format)) { "Command to fork from here" span.faint { (client) } } }
                    }
                }
                @if of.operation.kind == Kind::Llm && of.operation.input_messages.is_some() {
                    @let own = request::api_of(&of.operation);
                    @for (form, name) in request::FORMS.iter().zip(["curl", "Python", "JSON"]) {
                        li { button data-copyfrom={ (at) "/request?form=" (form) } { "Call as " (name) span.faint { (own.name) } } }
                    }
                    @for api in request::APIS.iter().filter(|api| api.id != own.id) {
                        li { button data-copyfrom={ (at) "/request?api=" (api.id) } { "Call as curl" span.faint { (api.name) } } }
                    }
                }
            }
        }
    }
}

/// The command that writes a session up to a step. Ids of steps may have any letters.
fn fork(run: &Run, of: &Step, format: &str) -> String {
    let step = of.id.replace('\'', "'\\''");
    format!(
        "spanbridge export --to {format} --trace {} --until-step '{step}' --output fork/",
        run.trace_id
    )
}

fn overview<'a>(outline: &Outline<'a>, row: usize, of: &'a Step, about: &About<'_>) -> Markup {
    let (run, results) = (outline.run, &outline.results);
    let operation = &of.operation;
    let findings = outline.findings(of);
    html! {
        @if let Some(failed) = &operation.failure { section { (failed_with(failed)) } }
        section { (facts(outline, row, of, about)) }
        @if let (false, Some(place)) = (about.served, outline.rows.get(row).filter(|_| has_messages(of))) {
            // A file has each message only in the conversation, from which the script takes it.
            @let call = format!("call-{}", place.step.index());
            section { a href={ "#" (call) } data-turn=(call) { "Its input and answers" } }
        } @else if operation.kind == Kind::Llm {
            @let last = operation.input_messages.as_ref().and_then(|messages| messages.last());
            section {
                @if let Some(last) = last { h3 { "Last message in" } (messages::message(last, 4_000, Some(run.trace_id))) }
                @match operation.output_messages.as_ref().filter(|messages| !messages.is_empty()) {
                    Some(answers) => { h3 { "Answer" } @for answer in answers { (messages::message(answer, 8_000, Some(run.trace_id))) } },
                    None => @if let Some(output) = content::output(results, of) { h3 { "Answer" } (value("output", &readable(output), None)) } @else { p.none { "No answer was recorded." } },
                }
            }
        } @else {
            @let (input, output) = (content::input(run, of), content::output(results, of));
            @if input.is_some() || output.is_some() {
                section {
                    @let done = operation.tool.as_ref().and_then(|tool| act(tool.arguments.as_ref()?));
                    @if let Some(done) = &done { (done) }
                    @for (what, value) in [("input", input.filter(|_| done.is_none())), ("output", output)] {
                        @if let Some(words) = value.map(readable) {
                            @if about.served { (super::value::value(what, &cut(&words), None)) } @else { (value_up_to(what, &words, about.most)) }
                        }
                    }
                }
            }
        }
        @if !operation.evaluations.is_empty() {
            section {
                h3 { "Scores" }
                dl.kv {
                    @for evaluation in &operation.evaluations {
                        dt { (line(evaluation.name.as_deref().unwrap_or("not named"), 60)) }
                        dd {
                            @if let Some(score) = evaluation.score { (score) " " }
                            @if let Some(label) = &evaluation.label { b { (line(label, 80)) } " " }
                            @if let Some(words) = &evaluation.explanation { span.dim { (line(words, 400)) } }
                        }
                    }
                }
            }
        }
        (feedback::view(run, of, about.served))
        @if !findings.is_empty() {
            section {
                h3 { "What is odd here" }
                @for finding in findings { p { b { (super::findings::word(finding.kind)) } " " (line(&finding.detail, 600)) } }
            }
        }
    }
}

/// The beginning, for the overview; the tab "In / Out" has more.
fn cut(text: &str) -> String {
    const OVERVIEW: usize = 1_500;
    if text.len() <= OVERVIEW {
        return text.to_owned();
    }
    format!("{}…", super::words::block_of(text, OVERVIEW))
}

fn failed_with(failed: &Failure) -> Markup {
    html! {
        (failure(failed.error_type.as_deref().unwrap_or("error"), &errors::words(failed)))
        @if let Some(stack) = errors::stack(failed) { details { summary { "Stack trace" } (value("stack trace", stack, None)) } }
    }
}

fn facts(outline: &Outline<'_>, row: usize, of: &Step, about: &About<'_>) -> Markup {
    let run = outline.run;
    let operation = &of.operation;
    let model = operation.model.name();
    let asked_for = operation.model.requested.as_deref().filter(|requested| Some(*requested) != model);
    let asked_by = of.dispatched_by.and_then(|step| run.steps.get(step));
    let called_by = of.called_by.and_then(|step| run.steps.get(step));
    let call_id = operation.tool.as_ref().and_then(|tool| tool.call_id.as_deref());
    let itself = itself(outline, row, of);
    html! {
        dl.kv {
            dt { "Started" } dd {
                @match of.known_start() {
                    Some(start) => { "+" (elapsed(offset(run, start))) " · " (time(start.0, 6)) " UTC" }
                    None => { (none("not recorded")) }
                }
            }
            dt { "Took" } dd {
                (outline::took(of))
                @if let Some(nanos) = nanos(of) { " " span.faint { (count(nanos)) " ns" } }
                @if step::has_derived_times(of) { " " span.faint { "not recorded: between the times around it" } }
            }
            @if let Some(itself) = itself { dt { "Of it itself" } dd { (elapsed(itself)) } }
            @if let Some(agent) = totals::agent_of(run, of) { dt { "Agent" } dd { (line(agent, 120)) } }
            @if let Some(model) = model {
                dt { "Model" } dd { (line(model, 120)) @if let Some(asked) = asked_for { " " span.faint { "asked for " (line(asked, 120)) } } }
            }
            @if let Some(provider) = &operation.model.provider { dt { "Provider" } dd { (line(provider, 80)) } }
            @if let Some(tokens) = step::tokens_as(&operation.usage, count) { dt { "Tokens" } dd { (tokens) } }
            @if let Some(cost) = totals::cost(of) { dt { "Cost" } dd title={ "$" (cost.dollars) } { (cost) @if cost.is_computed { " " span.faint { "computed" } } } }
            @if let Some(reason) = &operation.finish_reason { dt { "Finished as" } dd { (line(reason, 80)) } }
            @for (what, other) in [("Asked by", asked_by), ("Called by", called_by)] {
                @if let Some(other) = other {
                    dt { (what) }
                    dd { a href=(step_href(run, other, about.served)) data-step=(other.id) { (kind(other.operation.kind)) " " (line(name(run, other), 80)) } }
                }
            }
            @if let Some(call) = call_id { dt { "Call id" } dd.mono { (line(call, 120)) } }
            @if !of.evidence.is_empty() {
                dt { "Also recorded by" } dd.mono { @for span in of.evidence.iter().take(12) { (span) " " } @if of.evidence.len() > 12 { "and " (of.evidence.len() - 12) " more" } }
            }
        }
    }
}

/// With more descendants than this, only children are considered: a page has a pane for each step.
const BELOW: usize = 1_000;

/// Nanoseconds in which no descendant ran; `None`: it has no descendants.
fn itself(outline: &Outline<'_>, row: usize, of: &Step) -> Option<u64> {
    let below = outline.below(row);
    let end = of.ended_at?.0;
    if below == 0 {
        return None;
    }
    let rows: Box<dyn Iterator<Item = usize>> = match below {
        ..=BELOW => Box::new(row + 1..=row + below),
        _ => Box::new(outline.children(row)),
    };
    let mut times: Vec<(u64, u64)> = rows
        .filter_map(|row| outline.step(row))
        .map(|step| (step.started_at.0.max(of.started_at.0), step.end_or_start().0.min(end)))
        .filter(|(start, end)| start < end)
        .collect();
    times.sort_unstable();
    let (mut busy, mut until) = (0_u64, of.started_at.0);
    for (start, end) in times {
        busy += end.saturating_sub(start.max(until));
        until = until.max(end);
    }
    Some(end.saturating_sub(of.started_at.0).saturating_sub(busy))
}

/// Input and output of a model call: messages that an earlier call had are folded.
fn input_and_output(trace: TraceId, of: &Step) -> Option<Markup> {
    let operation = &of.operation;
    let input = operation.input_messages.as_ref().filter(|messages| !messages.is_empty());
    let output = operation.output_messages.as_ref().filter(|messages| !messages.is_empty());
    if !has_messages(of) {
        return None;
    }
    let (before, own) = input.map_or((&[][..], &[][..]), |input| {
        input.split_at_checked(input.continued()).unwrap_or((input, &[]))
    });
    Some(html! {
        section.turn {
            button.small.source data-md aria-pressed="false" { "Source" }
            (folded(trace, before))
            @for message in own { (messages::message(message, SHOWN, Some(trace))) }
            @match output {
                Some(output) => @for message in output { (messages::message(message, SHOWN, Some(trace))) },
                None => p.none { "No answer was recorded." },
            }
        }
    })
}

/// Whether a conversation shows the step's input and output.
fn has_messages(of: &Step) -> bool {
    let operation = &of.operation;
    let lists = [operation.input_messages.as_deref(), operation.output_messages.as_deref()];
    operation.kind == Kind::Llm && lists.into_iter().flatten().any(|messages| !messages.is_empty())
}

/// Earlier messages.
fn folded(trace: TraceId, before: &[crate::operation::Message]) -> Markup {
    /// Maximum messages shown of a long history.
    const MAX_FOLDED: usize = 40;
    let left_out = before.len().saturating_sub(MAX_FOLDED);
    html! {
        @if !before.is_empty() {
            details.fold {
                summary { (super::words::many(before.len(), "earlier message")) " unchanged" }
                div {
                    @if left_out > 0 { p.faint { (super::words::many(left_out, "message")) " before these: the calls above have them." } }
                    @for message in before.iter().skip(left_out) { (messages::message(message, 2_000, Some(trace))) }
                }
            }
        }
    }
}

fn in_and_out<'a>(run: &'a Run, of: &'a Step, results: &Results<'a>) -> Option<Markup> {
    let (input, output) = (content::input(run, of), content::output(results, of));
    if input.is_none() && output.is_none() {
        return None;
    }
    let at = |what: &str| format!("/api/v1/traces/{}/steps/{}/{what}", run.trace_id, percent_encoded(&of.id));
    Some(html! {
        section {
            @match input {
                Some(input) => (value("input", &readable(input), Some(&at("input")))),
                None => p.none { "No input was recorded." },
            }
            @match output {
                Some(output) => (value("output", &readable(output), Some(&at("output")))),
                None => p.none { "No output was recorded." },
            }
        }
    })
}

/// Attributes that no rule reads, if only the run is available.
fn left(of: &Step) -> Option<Markup> {
    let left = &of.operation.unmapped;
    (!left.is_empty()).then(|| {
        html! {
            section { p.dim { "What no rule of a dialect reads." } }
            table.attrs { tbody { @for (key, value) in left { tr { td { code { (line(key, 160)) } } td { code.vl { (line(&content::text(value), 400)) } } } } } }
        }
    })
}
