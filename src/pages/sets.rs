//! Compares two sets of runs by their questions: two sessions, or the runs of a list that match each of two expressions.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use maud::{Markup, html};

use super::asking::parameter;
use super::differences::{cells, figure, numbers, prompts, totals};
use super::each::each_run;
use super::frame::{self, Place};
use super::query::Query;
use super::readings::Readings;
use super::words::{count, line, many, none, plain, status};
use crate::dataset::expression::quoted;
use crate::view::compare::{self, Calls, Effort, Key, Members, RunPair, SetComparison, Sums, Whole};
use crate::view::text::{elapsed, is_harmful};
use crate::web::answer::Answer;
use crate::web::reply::Problem;
use crate::web::request::Asked;
use crate::web::service::Web;
use crate::web::url::percent_encoded;

/// Maximum runs of a set that are compared.
const RUNS: usize = 2_000;
/// How long the runs of a set are read.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum pairs on the page; the JSON has all.
const PAIRS: usize = 300;
/// Maximum tools on the page.
const TOOLS: usize = 40;
/// Maximum sets offered.
const OFFERED: usize = 60;

/// Two sets: the runs of a list that match each of two expressions.
#[derive(Debug)]
pub(super) struct Sides {
    list: Query,
    /// The first expression, as for `where`.
    pub(super) left: String,
    /// The second.
    pub(super) right: String,
}

impl Sides {
    /// Parses a request; an expression may be missing.
    pub(super) fn of(asked: &Asked) -> Result<Self, Problem> {
        let mut list = Query::of_more(asked, &["b"])?;
        let left = std::mem::take(&mut list.compare);
        let right = parameter(asked, "b").unwrap_or_default().trim().to_owned();
        Ok(Self { list, left, right })
    }

    /// The address of a page about them.
    fn address(&self, path: &str, left: &str, right: &str) -> String {
        let mut address = self.list.address_of(path, "", None);
        for (name, expression) in [("a", left), ("b", right)] {
            let sign = if address.contains('?') { '&' } else { '?' };
            let _ = write!(address, "{sign}{name}={}", percent_encoded(expression));
        }
        address
    }

    /// Compares them; also returns whether runs were left out.
    pub(super) fn compared(&self, web: &Web, answer: &mut Answer) -> Result<(SetComparison, bool), Problem> {
        let (mut kept, mut left_out) = (0, false);
        let mut members = |expression: &str| -> Result<Members, Problem> {
            let mut query = self.list.clone();
            query.expression = match query.expression.as_str() {
                "" => expression.to_owned(),
                of_list => format!("({of_list}) and ({expression})"),
            };
            let mut members = Members::new(&Key::Question);
            let bounds = (Instant::now() + READ_TIMEOUT, RUNS);
            let read = each_run(query, bounds, web, answer, &mut |run| {
                members.add(run);
                members.bytes().saturating_add(kept)
            })?;
            left_out |= read.to.is_some();
            kept = members.bytes();
            Ok(members)
        };
        let (ones, others) = (members(&self.left)?, members(&self.right)?);
        let goes_on = answer.goes_on(None);
        Ok((compare::sets(ones, others, &mut Effort::new(&goes_on)), left_out))
    }

    /// The first expression that is invalid, and why.
    fn fault(&self) -> Option<(&'static str, String)> {
        let sides = [("a", &self.left), ("b", &self.right)];
        sides
            .into_iter()
            .find_map(|(name, expression)| Some((name, Readings::of("", "", expression).err()?.why)))
    }
}

/// The page: the choice of two sets, and their comparison once both are chosen.
pub(super) fn page(web: &Web, (): (), asked: &Asked, answer: &mut Answer) -> Result<Markup, Problem> {
    let sides = Sides::of(asked)?;
    let fault = sides.fault();
    let is_chosen = fault.is_none() && !sides.left.is_empty() && !sides.right.is_empty();
    let offered = offered(&sides.list, web, answer)?;
    let compared = is_chosen.then(|| sides.compared(web, answer)).transpose()?;
    let body = html! {
        div.runhead {
            div.line {
                nav aria-label="Breadcrumb" { ol.crumbs { li { a href=(sides.list.address("", None)) { "Runs" } } li { h1 { "Compare sets" } } } }
                @if compared.is_some() {
                    div.acts {
                        a.btn.small href=(sides.address("/compare/sets", &sides.right, &sides.left)) { "Swap" }
                        a.btn.small href=(sides.address("/api/v1/compare/sets", &sides.left, &sides.right)) download="compare.json" { "JSON" }
                    }
                }
            }
            (form(&sides, &offered, fault.as_ref()))
            @if let Some((compared, left_out)) = &compared { (about(compared, *left_out)) }
        }
        @if let Some((compared, _)) = &compared { (view(compared)) }
        @else if fault.is_none() { p.none-yet { "Two expressions choose the runs of A and B, as for the filter " code { "where" } ": " code { "version = \"1.1\"" } ", " code { "model = \"gpt-4o\"" } ", " code { "label.feedback = good" } ", " code { "tag = nightly" } "." } }
    };
    Ok(frame::page("Compare sets", Place::Runs, &[], &body))
}

/// Sets offered for the first runs of the list: by version, model and label.
fn offered(list: &Query, web: &Web, answer: &mut Answer) -> Result<BTreeSet<String>, Problem> {
    let found = list.find(web, answer)?.valid()?;
    let of = |field: &str, value: &str| (!value.contains(is_harmful)).then(|| format!("{field} = {}", quoted(value)));
    let mut sets = BTreeSet::new();
    for summary in found.runs.iter().map(|listed| &listed.summary) {
        sets.extend(summary.version.iter().filter_map(|version| of("version", version)));
        sets.extend(summary.models.iter().filter_map(|model| of("model", model)));
        let labels = summary
            .scores
            .iter()
            .filter_map(|score| Some((score.name.as_deref()?, score.label.as_deref()?)));
        let is_name = |name: &str| name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        sets.extend(
            labels
                .filter(|(name, _)| is_name(name))
                .filter_map(|(name, label)| of(&format!("label.{name}"), label)),
        );
    }
    Ok(sets)
}

fn form(sides: &Sides, offered: &BTreeSet<String>, fault: Option<&(&'static str, String)>) -> Markup {
    let wrong = |name: &str| fault.is_some_and(|(of, _)| *of == name).then_some("fault");
    html! {
        form.filters method="get" action="/compare/sets" {
            @for (name, value) in sides.list.pairs() { input type="hidden" name=(name) value=(value); }
            @for (name, label, value) in [("a", "A", &sides.left), ("b", "B", &sides.right)] {
                label { (label) " " input.mono name=(name) list="sets" value=(value) size="40" required aria-invalid=[wrong(name).map(|_| "true")] aria-describedby=[wrong(name)]; }
            }
            datalist id="sets" { @for set in offered.iter().take(OFFERED) { option value=(set) {} } }
            button { "Compare" }
            @for (name, value) in sides.list.pairs() { span.chip { (name) " " (line(value, 40)) } }
            @if let Some((_, why)) = fault { pre.bad.fault id="fault" role="alert" { (plain(why)) } }
        }
    }
}

/// How the runs were paired.
fn about(compared: &SetComparison, left_out: bool) -> Markup {
    let (one, other) = (&compared.left, &compared.right);
    html! {
        p.dim {
            "Runs are paired by what was asked. A has " (many(one.runs, "run")) ", " (count(one.failed)) " failed; B has "
            (many(other.runs, "run")) ", " (count(other.failed)) " failed."
            @if compared.failed_only_left + compared.failed_only_right > 0 {
                " Of the pairs " b { (count(compared.failed_only_right)) " failed only in B" } ", " (count(compared.failed_only_left)) " only in A."
            }
        }
        @if left_out { p.bad { "Only a part of the runs is compared; more are left out." } }
        @if compared.without_key > 0 { p.dim { (many(compared.without_key, "run")) " without a recorded question cannot be paired." } }
    }
}

/// Two sessions. `left_out`: whether runs were not compared.
pub(super) fn sessions(left: &str, right: &str, compared: &SetComparison, left_out: bool) -> Markup {
    let (a, b) = (percent_encoded(left), percent_encoded(right));
    let named = |session: &str, href: &str| html! { a href={ "/sessions/" (href) } { b { (line(session, 60)) } } };
    html! {
        div.runhead {
            div.line {
                h1 { "Compare sessions" }
                span { "A " (named(left, &a)) }
                a.btn.small href={ "/compare/sessions?a=" (b) "&b=" (a) } { "Swap" }
                span { "B " (named(right, &b)) }
                div.acts {
                    a.btn.small href={ "/compare/sessions?a=" (a) } { "Another B" }
                    a.btn.small href={ "/api/v1/compare/sessions?a=" (a) "&b=" (b) } download="compare.json" { "JSON" }
                }
            }
            (about(compared, left_out))
        }
        (view(compared))
    }
}

fn view(compared: &SetComparison) -> Markup {
    let (one, other) = (&compared.left, &compared.right);
    html! {
        div.cards {
            (prompts(&compared.prompts, "pair"))
            section.card { h2 { "Totals" } (totals((&one.numbers, None), (&other.numbers, None))) }
            section.card { h2 { "Medians of a run" } (medians(one, other)) }
            @if !compared.tools.is_empty() { section.card { h2 { "Tools that failed" } (tools(compared)) } }
        }
        table.cmp.plain {
            caption.vh { "Runs of A and B by question" }
            colgroup { col; @for column in ["c8", "c8", "c7", "c7", "c7", "c5", "c5", "c8", "c11"] { col class=(column); } }
            thead {
                tr {
                    th { "Asked" } th { "A" } th { "B" }
                    th.num { "A in" } th.num { "B in" } th.num { "B − A" }
                    th.num { "A took" } th.num { "B took" } th.num { "B − A" }
                    th { "Answer" }
                }
            }
            tbody { @for pair in compared.pairs.iter().take(PAIRS) { (run_pair(pair)) } }
        }
        @if compared.pairs.len() > PAIRS { p.none-yet { (many(compared.pairs.len() - PAIRS, "more pair")) ": the JSON has all of them." } }
    }
}

fn medians(one: &Sums, other: &Sums) -> Markup {
    let (one, other) = (&one.median, &other.median);
    html! {
        table.plain {
            thead { tr { th { "Figure" } th.num { "A" } th.num { "B" } th.num { "B − A" } } }
            tbody {
                tr { th scope="row" { "Took" } (figure(one.duration_nanos, other.duration_nanos, elapsed)) }
                tr { th scope="row" { "Tokens in" } (figure(one.input_tokens, other.input_tokens, count)) }
                tr { th scope="row" { "Tokens out" } (figure(one.output_tokens, other.output_tokens, count)) }
                tr { th scope="row" { "Cost" } (cells(one.cost().map(|cost| cost.to_string()), other.cost().map(|cost| cost.to_string()), None)) }
            }
        }
    }
}

fn tools(compared: &SetComparison) -> Markup {
    let calls = |Calls { calls, failures }: Calls| html! { td.num { @if calls > 0 { (count(failures)) " of " (count(calls)) } @else { (none("not called")) } } };
    html! {
        table.plain {
            thead { tr { th { "Tool" } th.num { "A failed" } th.num { "B failed" } } }
            tbody {
                @for tool in compared.tools.iter().take(TOOLS) {
                    tr { th scope="row" { (line(if tool.name.is_empty() { "not named" } else { &tool.name }, 80)) } (calls(tool.left)) (calls(tool.right)) }
                }
            }
        }
    }
}

fn run_pair(pair: &RunPair) -> Markup {
    let run = |side: &Option<Whole>| {
        html! { @match side { Some(whole) => a href={ "/runs/" (whole.trace_id) } { (status(whole.status, false)) }, None => span.none { "—" } } }
    };
    let both = pair.left.as_ref().zip(pair.right.as_ref());
    html! {
        tr.only[both.is_none()] {
            td { (line(&pair.key, 160)) @if pair.failed_only_right() { " " b.bad { "failed only in B" } } }
            td { (run(&pair.left)) } td { (run(&pair.right)) }
            (numbers(pair.left.as_ref().map(|whole| &whole.numbers.took), pair.right.as_ref().map(|whole| &whole.numbers.took)))
            td.dim {
                @match (both, pair.same_answer) {
                    (Some((left, right)), same) => a href={ "/compare?a=" (left.trace_id) "&b=" (right.trace_id) } {
                        (match same { Some(true) => "the same", Some(false) => "differs", None => "not recorded" })
                    },
                    (None, _) => (if pair.left.is_some() { "only in A" } else { "only in B" }),
                }
            }
        }
    }
}
