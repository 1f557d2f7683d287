//! Reads the list of steps: their ids, parents and times.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::check;
use super::super::table::{GROUPS, plain, plain_type};
use super::agents::Agents;
use super::body;
use crate::document::rules::Items;
use crate::document::violations::{JsonPath, Violations};
use crate::formats::back::{At, NoteKind, Result, TraceBuilder, read_facts, read_operations, time, whole};
use crate::operation::{Kind, Operation};
use crate::span::{SpanId, UnixNanos};

/// A step and the fields that all steps have.
pub(super) struct ListedStep<'a> {
    pub(super) at: At<'a>,
    id: &'a str,
    /// The type's own name, not an alias.
    step_type: String,
    parent: Option<&'a str>,
    when: UnixNanos,
}

/// The steps with plain names if some use aliases. An export must reproduce the plain names.
pub(super) fn renamed(list: &At<'_>, builder: &mut TraceBuilder) -> Result<Vec<Option<Value>>> {
    let mut out = Vec::new();
    for at in list.items()? {
        let renamed = at.value.as_object().and_then(plain).map(Value::from);
        if let Some(step) = &renamed {
            let detail = "keys of OpenInference were read as the fields that they replace";
            builder.note(&at.path, NoteKind::Coerced, detail);
            builder.mend(&at.pointer, step.clone());
        }
        out.push(renamed);
    }
    Ok(out)
}

/// Reads id, type and time of each step; refuses the document if it breaks a rule for all steps.
pub(super) fn listed<'a>(list: &At<'a>, renamed: &'a [Option<Value>]) -> Result<Vec<ListedStep<'a>>> {
    let items = list.items()?;
    let steps = items.iter().map(At::object).collect::<Result<Vec<_>>>()?;
    let (root, mut found) = (JsonPath::of_document(None), Violations::default());
    let place = root.key("steps");
    check::tree(Items { place, word: "step" }, &steps, &mut found);
    list.refuse_first(found)?;
    let mut out = Vec::new();
    for (at, renamed) in items.into_iter().zip(renamed) {
        let mut at = at;
        if let Some(renamed) = renamed {
            at.value = renamed;
        }
        let step_type = plain_type(at.need("step_type")?.text()?);
        let when = stamp(&at.need("timestamp")?)?;
        // If a step was moved to keep the list in order, its own time is in the metadata.
        let recorded = at
            .value
            .pointer("/metadata/recorded_timestamp")
            .and_then(Value::as_str)
            .and_then(time);
        let last = out.last().map(|step: &ListedStep<'_>| step.when);
        let when = recorded.unwrap_or_else(|| after(last, when));
        out.push(ListedStep {
            id: at.need("step_id")?.text()?,
            step_type,
            parent: at.text_of("parent_step_id")?,
            when,
            at,
        });
    }
    Ok(out)
}

/// A required time.
pub(super) fn stamp(at: &At<'_>) -> Result<UnixNanos> {
    let text = at.text()?;
    time(text).ok_or_else(|| at.refuse(format!("`{text}` is not an ISO 8601 time")))
}

/// Times have microseconds, so the list determines the order of steps within one microsecond: nanoseconds express it
/// here.
fn after(last: Option<UnixNanos>, when: UnixNanos) -> UnixNanos {
    match last {
        Some(last) if last.0 >= when.0 && last.0 % 1_000 < 999 && last.0 / 1_000 == when.0 / 1_000 => UnixNanos(last.0 + 1),
        _ => when,
    }
}

/// The span id in "`<root>:in`" and "`<root>:out`" that is not the id of a step.
pub(super) fn root(list: &[ListedStep<'_>]) -> Option<String> {
    let ids: HashSet<&str> = list.iter().map(|step| step.id).collect();
    let named = |step: &ListedStep<'_>| {
        let owner = step.id.strip_suffix(":in").or_else(|| step.id.strip_suffix(":out"))?;
        (SpanId::from_hex(owner).is_some() && !ids.contains(owner)).then(|| owner.to_owned())
    };
    list.iter().find_map(named)
}

/// How a step is represented.
enum ReadStep {
    /// A separate operation.
    Operation(Box<Operation>),
    /// Words that another operation already has, or that were added to the root.
    Words,
}

/// Adds the steps to the builder.
pub(super) fn read(list: &[ListedStep<'_>], root: Option<&str>, builder: &mut TraceBuilder) -> Result<()> {
    let mut agents = Agents::default();
    agents.take(0, 1..builder.drafts.len(), builder);
    let known: HashSet<&str> = list.iter().map(|step| step.id).collect();
    let mut drafts: HashMap<&str, usize> = HashMap::new();
    let mut callers: HashMap<String, usize> = HashMap::new();
    let mut added: Vec<(usize, &ListedStep<'_>)> = Vec::new();
    for step in list {
        let ReadStep::Operation(mut operation) = becomes(step, root, &known, builder)? else {
            continue;
        };
        let mut said = step.at.object_of("metadata")?;
        let groups: Vec<Option<Value>> = GROUPS.iter().map(|(group, _)| said.shift_remove(*group)).collect();
        body::about(&mut said, &mut operation);
        read_facts(&mut said, &mut operation);
        operation.metadata.extend(said);
        let calls = operation.output_messages.iter().flatten().flat_map(|message| &message.tool_calls);
        let asked: Vec<String> = calls.filter_map(|call| call.id.as_deref().map(str::to_owned)).collect();
        let id = builder.id(SpanId::from_hex(step.id).map(|_| step.id), &format!("steps.{}", step.id));
        let index = builder.add(id, 0, *operation);
        let end = latency(&step.at).map(|latency| UnixNanos(step.when.0.saturating_add(latency)));
        builder.times(index, Some(step.when), end);
        builder.running(index, body::is_running(&step.at));
        callers.extend(asked.into_iter().map(|id| (id, index)));
        drafts.insert(step.id, index);
        added.push((index, step));
        let first = builder.drafts.len();
        for group in &groups {
            read_operations(group.as_ref(), index, index, builder);
        }
        agents.take(index, first..builder.drafts.len(), builder);
    }
    for (index, step) in &added {
        let parent = step.parent.and_then(|parent| drafts.get(parent).copied());
        let call_id = builder
            .drafts
            .get(*index)
            .and_then(|draft| draft.operation.tool.as_ref()?.call_id.as_deref());
        let caller = call_id.and_then(|id| callers.get(id).copied());
        let draft = |index: usize| builder.drafts.get(index);
        let is_tool = |index: usize| draft(index).is_some_and(|draft| draft.operation.kind == Kind::Tool);
        // The parent is the step that caused this one. A tool keeps its children; of other parents, only a tool call without a known
        // caller remains a child, since otherwise the id determines who asked for the tool.
        let stays = |parent: usize| is_tool(parent) || is_tool(*index) && caller != Some(parent);
        let above = match parent {
            Some(parent) => agents.around(parent, step.when).or_else(|| match stays(parent) {
                true => Some(parent),
                false => draft(parent)?.parent,
            }),
            None => agents.around(0, step.when),
        };
        let above = above.unwrap_or(0);
        if let Some(draft) = builder.drafts.get_mut(*index) {
            draft.parent = Some(above);
        }
    }
    Ok(())
}

fn becomes(step: &ListedStep<'_>, root: Option<&str>, known: &HashSet<&str>, builder: &mut TraceBuilder) -> Result<ReadStep> {
    let Some(operation) = body::read(&step.at, &step.step_type)? else {
        let detail = format!("the step type `{}` is unknown: no span was made for this step", step.step_type);
        builder.note(&step.at.path, NoteKind::Beside, detail);
        return Ok(ReadStep::Words);
    };
    let of = |suffix: &str, kind: Kind| step.id.strip_suffix(suffix).filter(|_| operation.kind == kind);
    let asked = of(":in", Kind::UserInput);
    let answered = of(":out", Kind::FinalOutput);
    let Some(owner) = asked.or(answered) else {
        return Ok(ReadStep::Operation(Box::new(operation)));
    };
    let is_written = known.contains(owner);
    if let Some(first) = builder.operation(0) {
        // The answer is the run's, even if its last model call represents the whole run.
        if answered.is_some() && (is_written || Some(owner) == root) {
            first.output = operation.output;
            return Ok(ReadStep::Words);
        }
        if Some(owner) == root {
            first.input = operation.input;
            return Ok(ReadStep::Words);
        }
    }
    // The model call that received a user's words already has them.
    Ok(if is_written {
        ReadStep::Words
    } else {
        ReadStep::Operation(Box::new(operation))
    })
}

/// `latency_ms` of a step, in nanoseconds; time spent waiting for a user counts as well.
fn latency(at: &At<'_>) -> Option<u64> {
    let nanos = |latency: u64| latency.saturating_mul(1_000_000);
    // Metadata may hold anything.
    let places = ["/latency_ms", "/wait_duration_ms", "/metadata/latency_ms"];
    let recorded = places.iter().find_map(|place| at.value.pointer(place)?.as_number());
    recorded.and_then(whole).map(nanos)
}
