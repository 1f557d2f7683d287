//! The head of a run's pages: status, question and answer, cost, and the failed step.

use maud::{Markup, html};

use super::outline;
use super::words::{self, count, kind, line, many, none, plain, short, status, time};
use crate::formats::FORMATS;
use crate::run::{Run, Step, Utterance};
use crate::transcript::content;
use crate::view::errors;
use crate::view::files::{Changed, changed};
use crate::view::outline::{all_rows, rows};
use crate::view::step;
use crate::view::text::elapsed;
use crate::view::totals::{self, Group, Totals};
use crate::web::url::percent_encoded;

/// A view of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    /// Outline and waterfall.
    Timeline,
    /// The conversation.
    Conversation,
    /// Documents in all formats.
    Documents,
    /// Oddities in the data.
    Findings,
    /// The spans as received.
    Raw,
}

const TABS: [(Tab, &str, &str); 5] = [
    (Tab::Timeline, "Timeline", ""),
    (Tab::Conversation, "Conversation", "/conversation"),
    (Tab::Documents, "Documents", "/documents"),
    (Tab::Findings, "Findings", "/findings"),
    (Tab::Raw, "Raw spans", "/raw"),
];

impl Tab {
    /// The view with this path below the run's.
    pub(crate) fn named(path: &str) -> Self {
        let found = TABS.into_iter().find(|(.., of)| of.strip_prefix('/') == Some(path));
        found.map_or(Self::Timeline, |(tab, ..)| tab)
    }

    fn path(self) -> &'static str {
        TABS.into_iter().find(|(tab, ..)| *tab == self).map_or("", |(.., path)| path)
    }
}

/// What is known about a run besides its content.
#[derive(Debug, Default)]
pub(crate) struct Around {
    /// Number of spans received.
    pub(crate) spans: u64,
    /// Damaged records, which were left out.
    pub(crate) damaged: Vec<String>,
    /// The revision of the trace.
    pub(crate) revision: u64,
    /// Whether more of it may arrive.
    pub(crate) live: bool,
    /// Whether a server is available for links.
    pub(crate) served: bool,
}

/// The title of a run.
pub(crate) fn title(run: &Run) -> &str {
    let root = || {
        run.root
            .and_then(|root| run.steps.get(root))
            .map(|step| step.operation.name.as_str())
    };
    run.agent
        .name
        .as_deref()
        .or_else(root)
        .filter(|name| !name.trim().is_empty())
        .unwrap_or("not named")
}

/// The first digits of an id, for display.
pub(crate) fn short_id(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

/// The address of a step in its run.
pub(crate) fn step_path(run: &Run, step: &Step) -> String {
    format!("/runs/{}?span={}", run.trace_id, percent_encoded(&step.id))
}

/// The link to a step: on a server its run with the step selected, in a file an anchor on the same page.
pub(crate) fn step_href(run: &Run, step: &Step, served: bool) -> String {
    if served {
        step_path(run, step)
    } else {
        format!("#{}", step_anchor(step))
    }
}

/// The element id of a step.
pub(crate) fn step_anchor(step: &Step) -> String {
    format!("step-{}", percent_encoded(&step.id))
}

/// The head, with the tabs of all views.
pub(crate) fn head(run: &Run, tab: Tab, around: &Around) -> Markup {
    let trace = run.trace_id.to_string();
    html! {
        div.runhead data-trace=(trace) data-tab=(tab.path().trim_start_matches('/')) data-revision=(around.revision) data-steps=(run.steps.len()) data-live=[around.live.then_some("1")] {
            div.line {
                nav aria-label="Breadcrumb" {
                    ol.crumbs {
                        @if around.served { li { a href="/" { "Runs" } } }
                        @if let Some(session) = &run.session_id {
                            li {
                                @if around.served { a href={ "/sessions/" (percent_encoded(session)) } { "session " (line(session, 24)) } }
                                @else { "session " (line(session, 60)) }
                            }
                        }
                        li { h1 title=(plain(title(run))) { (line(title(run), 200)) } }
                    }
                }
                (status(run.status().name(), false))
                @if around.served {
                    button.quiet.small.mono data-copytext=(trace) title={ "Copy " (trace) } { (short_id(&trace)) }
                    (actions(run, &trace))
                } @else { code { (trace) } }
            }
            dl.qa {
                dt { "Asked" } dd { (utterance(run.question.as_ref(), "no question was recorded")) }
                dt { "Answered" } dd { (utterance(run.answer.as_ref(), "no answer was recorded")) }
            }
            (first_failure(run, around.served))
            @if !around.damaged.is_empty() {
                p.firstbad { b { (many(around.damaged.len(), "record")) " could not be read" } @if around.served { a href={ "/runs/" (trace) "/findings" } { "Show" } } }
            }
            (figures(run, around.served))
            @if around.served { (tabs(run, &trace, tab, around)) }
        }
    }
}

fn utterance(said: Option<&Utterance>, nothing: &str) -> Markup {
    html! {
        @match said {
            Some(said) => (line(&content::text(&said.content), 600)),
            None => (none(nothing)),
        }
    }
}

fn actions(run: &Run, trace: &str) -> Markup {
    let api = format!("/api/v1/traces/{trace}");
    html! {
        div.acts {
            a.btn.small href={ "/runs/" (trace) "/work" } { "Where it went" }
            a.btn.small href={ "/compare?a=" (trace) } { "Compare…" }
            details.menu {
                summary.btn.small { "Copy" }
                ul {
                    li { button data-copy="link" { "Link to this view" } }
                    li { button data-copyfrom={ (api) "/markdown" } { "Run as Markdown" span.faint { "for an LLM" } } }
                    li { button data-copyfrom={ (api) "/run" } { "Run as JSON" } }
                }
            }
            details.menu {
                summary.btn.small { "Download" }
                ul {
                    li { a href={ (api) "/page" } download={ (trace) ".html" } { "One-file HTML" span.faint { "opens from disk" } } }
                    li { a href={ (api) "/markdown" } download={ (trace) ".md" } { "Markdown" } }
                    li { a href={ (api) "/run" } download={ (trace) ".run.json" } { "Run as JSON" } }
                    li { a href=(api) download={ (trace) ".json" } { "OTLP/JSON" span.faint { "all spans" } } }
                    @for format in FORMATS {
                        @if run.has_agent_work() {
                            li { a href={ (api) "/" (format.id) } download={ (trace) "." (format.id) ".json" } { (format.id) } }
                        }
                    }
                }
            }
        }
    }
}

fn first_failure(run: &Run, served: bool) -> Markup {
    let rows = rows(run);
    let failed = || {
        rows.iter()
            .filter_map(|row| Some((row.depth, run.steps.get(row.step)?)))
            .filter(|(_, step)| step.operation.failure.is_some())
    };
    let deepest = failed().max_by_key(|(depth, step)| (*depth, std::cmp::Reverse(step.started_at)));
    let number = failed().count();
    html! {
        @if let Some((_, step)) = deepest {
            p.firstbad {
                @if served { a.st.error href={ "/runs/" (run.trace_id) "?errors=" } { (number) " failed" } } @else { span.st.error { (number) " failed" } }
                span.cut {
                    (kind(step.operation.kind)) " " b { (line(outline::name(run, step), 80)) } " "
                    @if let Some(failure) = &step.operation.failure { code { (line(&errors::words(failure), 240)) } }
                }
                a href=(step_href(run, step, served)) data-step=(step.id) { "Show" }
            }
        }
    }
}

fn figures(run: &Run, served: bool) -> Markup {
    let files = changed(run);
    let totals = Totals::of(run);
    let now = run.steps.iter().map(Step::end_or_start).max().unwrap_or(run.started_at);
    let nanos = |end: crate::span::UnixNanos| elapsed(end.0.saturating_sub(run.started_at.0));
    let took = run.ended_at.map_or_else(|| format!("so far {}", nanos(now)), nanos);
    let has_times = step::has_times(run);
    let agents = totals::by_agent(run);
    let named: Vec<String> = agents.iter().filter_map(|group| group.name).map(|name| line(name, 40)).collect();
    let more = named.len().saturating_sub(4);
    let unmetered = totals.unmetered_calls;
    html! {
        dl.facts {
            (figure("Took", &html! { @if has_times { (took) } @else { (none("not recorded")) } }))
            (figure("Model calls", &html! {
                (count(totals.model_calls))
                @if unmetered > 0 && totals.tokens.input.is_some() { " " small { (unmetered) " without tokens" } }
            }))
            (figure("Tool calls", &html! { (count(totals.tool_calls)) }))
            (figure("Tokens", &tokens(run, &totals)))
            (figure("Cost", &match totals.cost {
                Some(cost) => html! { (cost) @if cost.is_computed { " " small { "computed" } } },
                None => none("not recorded"),
            }))
            (figure("Failures", &html! { @if totals.failures > 0 { span.bad { (totals.failures) } } @else { "0" } }))
            @if let Some(reward) = run.reward() { (figure("Reward", &html! { (reward) })) }
            div { dt { "Agents" } dd.txt {
                @if named.is_empty() { (none("not named")) }
                (named.iter().take(4).cloned().collect::<Vec<_>>().join(", "))
                @if more > 0 { " +" (more) }
            } }
            @if !files.is_empty() { (figure("Files changed", &files_changed(run, &files, served))) }
            @if let Some(framework) = &run.agent.framework { div { dt { "Framework" } dd.txt { (line(framework, 40)) } } }
            @if let Some(user) = &run.user_id { div { dt { "User" } dd.txt { (line(user, 40)) } } }
            div { dt { "Started" } dd.txt {
                @if has_times { (time(run.started_at.0, 3)) " " small { "UTC" } } @else { (none("not recorded")) }
            } }
        }
    }
}

fn figure(what: &str, value: &Markup) -> Markup {
    html! { div { dt { (what) } dd { (value) } } }
}

/// Files that a page lists.
const FILES: usize = 100;

/// How many, which opens into the list: each with the step that changed it last.
fn files_changed(run: &Run, files: &[Changed], served: bool) -> Markup {
    html! {
        details {
            summary { (count(files.len() as u64)) }
            div {
                table {
                    thead { tr { th { "File" } th.num { "Edits" } th.num { "Lines" } } }
                    tbody {
                        @for file in files.iter().take(FILES) {
                            tr {
                                th.mono scope="row" {
                                    @match run.steps.get(file.last) {
                                        Some(step) => a href=(step_href(run, step, served)) data-step=(step.id) { (line(&file.path, 120)) },
                                        None => (line(&file.path, 120)),
                                    }
                                }
                                td.num { (file.edits) }
                                td.num { "+" (file.added) " −" (file.removed) }
                            }
                        }
                    }
                }
                @if files.len() > FILES { p.faint { "And " (many(files.len() - FILES, "more file")) "." } }
            }
        }
    }
}

/// The sums, which open into their parts by model.
fn tokens(run: &Run, totals: &Totals) -> Markup {
    let tokens = &totals.tokens;
    let models = totals::by_model(run);
    let cell = |number: Option<u64>| number.map(count).unwrap_or_default();
    html! {
        @if tokens.input.is_none() && tokens.output.is_none() {
            @match tokens.total {
                Some(total) => { (count(total)) " " small { "in all" } },
                None => (none("not recorded")),
            }
        } @else {
            details {
                summary {
                    (tokens.input.map_or_else(|| "?".to_owned(), count)) " " small { "in" } " · "
                    (tokens.output.map_or_else(|| "?".to_owned(), count)) " " small { "out" }
                }
                div {
                    table {
                        thead { tr { th { "Model" } th.num { "Calls" } th.num { "In" } th.num { "of it cached" } th.num { "Out" } th.num { "Cost" } } }
                        tbody {
                            @for Group { name, totals } in &models {
                                tr {
                                    th scope="row" { (line(name.unwrap_or("not named"), 60)) }
                                    td.num { (count(totals.model_calls)) }
                                    td.num { (cell(totals.tokens.input)) }
                                    td.num { (cell(totals.tokens.cache_read)) }
                                    td.num { (cell(totals.tokens.output)) }
                                    td.num { @if let Some(cost) = totals.cost { (words::price(cost)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn tabs(run: &Run, trace: &str, at: Tab, around: &Around) -> Markup {
    let steps = if run.has_agent_work() { rows(run) } else { all_rows(run) }.len();
    let conversations = run.scopes.iter().filter(|scope| !scope.conversation.is_empty()).count();
    let number = |tab: Tab| match tab {
        Tab::Timeline => words::count(steps as u64),
        Tab::Conversation => many(conversations, "agent"),
        Tab::Documents => many(FORMATS.len(), "format"),
        Tab::Findings => words::count(run.findings.len() as u64),
        Tab::Raw => short(around.spans),
    };
    html! {
        nav.tabs aria-label="Views of this run" {
            @for (tab, name, path) in TABS {
                a href={ "/runs/" (trace) (path) } aria-current=[(tab == at).then_some("page")] { (name) span.n { (number(tab)) } }
            }
        }
    }
}
