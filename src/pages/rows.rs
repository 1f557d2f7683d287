//! The runs of a list as rows of a data set: in any format, with a side, without duplicates, redacted.

use std::fmt::Write as _;
use std::io::Write as _;

use http::header::CONTENT_DISPOSITION;
use maud::{Markup, html};
use serde::Deserialize;

use super::asking::parameter;
use super::query::{PAGE, Query};
use super::words::line;
use crate::dataset::{Selection, Split, SplitBy, Verdict};
use crate::documents;
use crate::formats::{AnyFormat, FORMATS, Layout};
use crate::redact::{RuleText, Rules};
use crate::run::Run;
use crate::span::{TraceId, UnixNanos};
use crate::store;
use crate::web::answer::Answer;
use crate::web::cost::Purpose;
use crate::web::lists;
use crate::web::reply::{Outcome, Problem};
use crate::web::request::Asked;
use crate::web::service::Web;
use crate::web::single::{self, format_of};

/// The parameters in addition to the filters of the list.
const OWN: &[&str] = &["to", "dedup", "split", "side", "redact"];

/// Writes the documents of the runs of a list, oldest first, one per line.
pub(super) fn write(web: &Web, (): (), asked: &Asked, answer: &mut Answer) -> Outcome {
    let mut query = Query::of_more(asked, OWN)?;
    query.oldest = true;
    let given = |name: &str| parameter(asked, name).filter(|text| !text.trim().is_empty());
    let format = format_of(&given("to").ok_or_else(|| Problem::invalid("the parameter to is missing: the name of a format"))?)?;
    let split: Option<Split> = given("split")
        .map(|text| text.parse().map_err(|error| Problem::invalid(format!("split={text}: {error}"))))
        .transpose()?;
    let mut selection = Selection::new(None, split.map(|split| (split, SplitBy::Session)));
    if given("dedup").is_some() {
        selection = selection.without_duplicates();
    }
    let sides = selection.sides();
    let side = match given("side") {
        None => None,
        Some(side) => {
            let place = sides.iter().position(|name| name.as_ref() == Some(&side));
            Some(place.ok_or_else(|| Problem::invalid(format!("side={side} is not a side of the split")))?)
        }
    };
    let rules = given("redact").map(|text| rules(&text)).transpose()?;
    answer.of_type("application/x-ndjson");
    answer.header(CONTENT_DISPOSITION, "attachment; filename=\"rows.jsonl\"");
    loop {
        let found = query.find_up_to(PAGE, web, answer)?.valid()?;
        for listed in &found.runs {
            answer.check()?;
            let Some(id) = TraceId::from_hex(&listed.trace_id) else { continue };
            let mut taken = |run: &Run, answer: &mut Answer| match selection.take(run) {
                Verdict::Taken(of) if side.is_none_or(|side| side == of) => write_run(web, run, format, answer),
                Verdict::Taken(_) | Verdict::Skipped(_) => Ok(()),
            };
            match &rules {
                None => {
                    let Some(row) = web.store.row(id)? else { continue };
                    let built = single::built(web, &row, answer)?;
                    built.work().map_or(Ok(()), |run| taken(run, answer))?;
                }
                Some(rules) => {
                    let stored = single::stored_alone(&*web.store, id, Purpose::Document, answer)?.unwrap_or_default();
                    let redacted = rules.redacted(stored.spans, stored.logs);
                    let (spans, logs) = redacted.map_err(|error| Problem::internal(error.to_string()))?;
                    for run in web.vocabulary.stored_runs(spans, logs, UnixNanos(store::now())) {
                        taken(&run, answer)?;
                    }
                }
            }
            answer.shrink_to(lists::MEMORY);
        }
        match found.next {
            Some(next) => query.go_on(next),
            None => return Ok(()),
        }
    }
}

fn write_run(web: &Web, run: &Run, format: &'static AnyFormat, answer: &mut Answer) -> Outcome {
    answer.reserve(single::cost_of_writing(std::slice::from_ref(run), format))?;
    for document in documents::of_run(run, format, &web.options).documents {
        document.write(Layout::Compact, answer)?;
        answer.write_all(b"\n")?;
    }
    Ok(())
}

/// Parses rules, written as a list as for `export --redact`.
fn rules(text: &str) -> Result<Rules, Problem> {
    #[derive(Deserialize)]
    struct List {
        redact: Vec<RuleText>,
    }
    let wrong = |error: String| Problem::invalid(format!("redact: {error}"));
    let list: List = toml::from_str(&format!("redact = {text}")).map_err(|error| wrong(error.message().to_owned()))?;
    Rules::new(&list.redact, None).map_err(|error| wrong(error.to_string()))
}

impl Query {
    /// The command that exports the runs that it asks for.
    fn command(&self) -> String {
        let mut all: Vec<String> = Vec::new();
        let quoted = |value: &str| format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
        for (field, value) in [
            ("status", &self.status),
            ("agent", &self.agent),
            ("model", &self.model),
            ("version", &self.version),
        ] {
            if !value.is_empty() {
                all.push(format!("{field} = {}", quoted(value)));
            }
        }
        if let Some((name, value)) = self.label.split_once('=') {
            let field = if value.parse::<f64>().is_ok() { "score" } else { "label" };
            all.push(format!("{field}.{} = {}", quoted(name), quoted(value)));
        }
        match self.judged.as_str() {
            "yes" => all.push("has(annotator)".to_owned()),
            "no" => all.push("not has(annotator)".to_owned()),
            _ => {}
        }
        match self.expression.as_str() {
            "" => {}
            alone if all.is_empty() => all.push(alone.to_owned()),
            more => all.push(format!("({more})")),
        }
        let mut command = String::from("spanbridge export --to messages --jsonl --output set/");
        let expression = all.join(" and ");
        for (flag, value) in [
            ("service", &self.service),
            ("session", &self.session),
            ("since", &self.since),
            ("until", &self.until),
            ("search", &self.words),
            ("where", &expression),
        ] {
            if !value.is_empty() {
                let _ = write!(command, " --{flag} '{}'", value.replace('\'', "'\\''"));
            }
        }
        command
    }
}

/// The form below a list, with the command that does the same.
pub(super) fn form(query: &Query) -> Markup {
    let kept = query.pairs().into_iter().filter(|(name, _)| *name != "order");
    html! {
        details {
            summary { "Download rows" }
            form.mark method="get" action="/api/v1/runs/documents" {
                @for (name, value) in kept { input type="hidden" name=(name) value=(value); }
                select name="to" aria-label="Format" {
                    @for format in FORMATS { option value=(format.id) selected[format.id == "messages"] { (format.id) } }
                }
                label { input type="checkbox" name="dedup" value="1"; " Equal runs once" }
                input name="split" placeholder="Split: train:0.9,test:0.1" aria-label="Split, by session" size="24";
                input name="side" placeholder="Side: train" aria-label="The side to download" size="10";
                input.mono name="redact" placeholder="Redact: [{ value = '\\d{16}', action = \"mask\" }]" aria-label="Rules of redaction, as a list" size="42";
                button { "Download" }
            }
            p { "The same in a terminal: " code { (line(&query.command(), 400)) } " " button.quiet.small data-copytext=(query.command()) { "Copy" } }
        }
    }
}
