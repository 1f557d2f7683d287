//! Eval sets to spans.
//!
//! | set | span |
//! |---|---|
//! | eval case | a trace: its id is taken from `eval_id` (`TRACE`, `TRACE:2`), else a hash of the case |
//! | `eval_set_id`; `name` of a set whose id is a trace id; `session_input.session_id` | the session |
//! | `eval_id`, `session_input` | the root: metadata, agent, user |
//! | further cases of one trace | agents next to the first one |
//! | event with words or calls, `final_response` | a model call of its author: its input is everything before it |
//! | event without content, with usage | the model call of the final response |
//! | `function_response` | the execution of the call that it answers, by id, else by position |
//! | events of another author between a call and its response | an agent inside the call |
//! | events of another author elsewhere | an agent that continues the same conversation |
//! | `tool_uses`, `tool_responses`, `intermediate_responses` | one model call with all calls, its results, a model call for each text |
//! | `app_details` | system prompts, offered tools |
//! | `session_input.state`, `final_session_state` | changes of state at the end |
//! | `conversation_scenario` | the root's task |
//!
//! A session of ADK is read as the set that ADK makes of it; its events record when they occurred and why one failed.
//!
//! Keys may be in snake or in camel case. A list in the form that ADK used before eval sets is likewise converted to a set. The only times
//! in a case are those at which its invocations began.

mod case;
mod first_form;
mod invocation;
mod other_names;
mod parts;
mod session;

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::check::{is_snake, snake};
use crate::formats::back::{At, NoteKind, Result, TraceBuilder, trace_id};
use crate::span::TraceId;

/// Longest id that is kept as it is, enough for any file name. A longer one is hashed instead of being repeated for each trace.
const MAX_ID_LENGTH: usize = 255;

/// The traces of a set.
pub(in crate::formats) fn read(at: &At<'_>) -> Result<Vec<TraceBuilder>> {
    if at.value.is_array() {
        let set = first_form::set(at)?;
        return of_set(&at.below("", &set), true);
    }
    if at.value.get("events").is_some() && at.value.get("eval_cases").or_else(|| at.value.get("evalCases")).is_none() {
        let (set, left_out) = session::set(at)?;
        let mut traces = of_set(&at.below("", &set), true)?;
        if let Some(first) = traces.first_mut().filter(|_| left_out > 0) {
            let detail = format!(
                "{left_out} events of the session are left out: they change its state alone, which is there as it was at the end, or are \
                 pieces of an answer that comes whole too"
            );
            first.note("$.events", NoteKind::Coerced, detail);
        }
        return Ok(traces);
    }
    match other_names::as_adk(at.value) {
        Some(set) => of_set(&at.below("", &set), true),
        None => of_set(at, false),
    }
}

/// `is_made`: whether the set was converted from the document.
fn of_set(at: &At<'_>, is_made: bool) -> Result<Vec<TraceBuilder>> {
    at.object()?;
    let set = match is_snake(at.value, 0) {
        true => Cow::Borrowed(at.value),
        false => Cow::Owned(snake(at.value, 0)),
    };
    let set = at.below("", &set);
    let own = set.need("eval_set_id")?.text()?;
    let cases = set.need("eval_cases")?.items()?;
    let mut traces = Traces::default();
    // Hash a long id once instead of with each case.
    let seed = match own.len() {
        0..=MAX_ID_LENGTH => Cow::Borrowed(own),
        _ => Cow::Owned(trace_id("adk", own).to_string()),
    };
    for (index, case) in cases.iter().enumerate() {
        case.object()?;
        let id = case.need("eval_id")?.text()?;
        traces.add(index, &seed, id, case.value);
    }
    if cases.is_empty() {
        return Ok(vec![TraceBuilder::new("adk", trace_id("adk", &set.value.to_string()), None)]);
    }
    let session = session_of(&set, own)?;
    let is_made = is_made || traces.list.len() > 1;
    let mut out = Vec::with_capacity(traces.list.len());
    for (number, (trace, members)) in traces.list.iter().enumerate() {
        let document = is_made.then(|| part(at.value, members, number == 0));
        let mut builder = TraceBuilder::new("adk", *trace, document);
        let is_written = session.filter(|id| number == 0 || id.len() <= MAX_ID_LENGTH);
        if let Some(root) = builder.operation(0) {
            root.session_id = is_written.map(str::to_owned);
        }
        let mut forms = case::Forms::default();
        for case in members.iter().filter_map(|index| cases.get(*index)) {
            case::read(case, &mut builder, &mut forms)?;
        }
        if forms.lists && !forms.events {
            builder.options.push(("adk.intermediate".to_owned(), "lists".to_owned()));
        }
        out.push(builder);
    }
    Ok(out)
}

/// The session of a set's runs: for a set written from a single trace, the session is in `name`.
fn session_of<'a>(set: &At<'a>, own: &'a str) -> Result<Option<&'a str>> {
    let name = set.text_of("name")?;
    Ok(match TraceId::from_hex(own) {
        Some(_) => name,
        None => Some(own).filter(|own| !own.is_empty()),
    })
}

/// The traces of a set, in order, each with the indices of its cases.
#[derive(Default)]
struct Traces {
    list: Vec<(TraceId, Vec<usize>)>,
    places: HashMap<TraceId, usize>,
}

impl Traces {
    fn add(&mut self, index: usize, set: &str, id: &str, case: &Value) {
        let recorded = TraceId::from_hex(id.split(':').next().unwrap_or_default());
        let mut own = format!("{set}\n{case}");
        let trace = recorded.unwrap_or_else(|| {
            loop {
                let made = trace_id("adk", &own);
                if !self.places.contains_key(&made) {
                    return made;
                }
                // The same case again.
                own = format!("{set}\n{index}\n{case}");
            }
        });
        let place = *self.places.entry(trace).or_insert(self.list.len());
        match self.list.get_mut(place) {
            Some((_, members)) => members.push(index),
            None => self.list.push((trace, vec![index])),
        }
    }
}

/// The set with only these cases. Its other members go with the first trace.
fn part(set: &Value, members: &[usize], is_first: bool) -> Value {
    let is_cases = |key: &str| key == "eval_cases" || key == "evalCases";
    let is_id = |key: &str| key == "eval_set_id" || key == "evalSetId";
    let mut out = Map::new();
    for (key, value) in set.as_object().into_iter().flatten() {
        let kept = if is_cases(key) {
            let cases = members.iter().filter_map(|index| value.get(*index)).cloned();
            cases.collect()
        } else if is_first || is_id(key) && value.as_str().is_some_and(|id| id.len() <= MAX_ID_LENGTH) {
            value.clone()
        } else {
            continue;
        };
        out.insert(key.clone(), kept);
    }
    out.into()
}
