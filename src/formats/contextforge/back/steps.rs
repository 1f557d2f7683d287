//! The list of steps: their ids, parents and times.

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

/// A step with what all steps have.
pub(super) struct Listed<'a> {
    pub(super) at: At<'a>,
    id: &'a str,
    /// By the plain names.
    step_type: String,
    parent: Option<&'a str>,
    when: UnixNanos,
}

/// The steps by plain names, where some have aliases. The document that must come out again has those.
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

/// The steps, each with its id, type and time; what breaks a rule of all steps is refused.
pub(super) fn listed<'a>(list: &At<'a>, renamed: &'a [Option<Value>]) -> Result<Vec<Listed<'a>>> {
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
        // Where a step was moved to keep the order of the list, its own time is in the metadata.
        let recorded = at
            .value
            .pointer("/metadata/recorded_timestamp")
            .and_then(Value::as_str)
            .and_then(time);
        let last = out.last().map(|step: &Listed<'_>| step.when);
        let when = recorded.unwrap_or_else(|| after(last, when));
        out.push(Listed {
            id: at.need("step_id")?.text()?,
            step_type,
            parent: at.text_of("parent_step_id")?,
            when,
            at,
        });
    }
    Ok(out)
}

/// A time that must be one.
pub(super) fn stamp(at: &At<'_>) -> Result<UnixNanos> {
    let text = at.text()?;
    time(text).ok_or_else(|| at.refuse(format!("`{text}` is not an ISO 8601 time")))
}

/// Documents have times in microseconds, so the order of steps of one microsecond comes from the list: here nanoseconds express
/// it.
fn after(last: Option<UnixNanos>, when: UnixNanos) -> UnixNanos {
    match last {
        Some(last) if last.0 >= when.0 && last.0 % 1_000 < 999 && last.0 / 1_000 == when.0 / 1_000 => UnixNanos(last.0 + 1),
        _ => when,
    }
}

/// The span id that "`<root>:in`" and "`<root>:out`" name, which no step has.
pub(super) fn root(list: &[Listed<'_>]) -> Option<String> {
    let ids: HashSet<&str> = list.iter().map(|step| step.id).collect();
    let named = |step: &Listed<'_>| {
        let owner = step.id.strip_suffix(":in").or_else(|| step.id.strip_suffix(":out"))?;
        (SpanId::from_hex(owner).is_some() && !ids.contains(owner)).then(|| owner.to_owned())
    };
    list.iter().find_map(named)
}

/// What becomes of a step.
enum Becomes {
    /// A separate operation.
    Operation(Box<Operation>),
    /// Words that another operation has already, or the root has now.
    Words,
}

/// The steps as drafts.
pub(super) fn read(list: &[Listed<'_>], root: Option<&str>, builder: &mut TraceBuilder) -> Result<()> {
    let mut agents = Agents::default();
    agents.take(0, 1..builder.drafts.len(), builder);
    let known: HashSet<&str> = list.iter().map(|step| step.id).collect();
    let mut drafts: HashMap<&str, usize> = HashMap::new();
    let mut callers: HashMap<String, usize> = HashMap::new();
    let mut added: Vec<(usize, &Listed<'_>)> = Vec::new();
    for step in list {
        let Becomes::Operation(mut operation) = becomes(step, root, &known, builder)? else {
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
        if let Some(draft) = builder.drafts.get_mut(index) {
            draft.running = end.is_none() && body::is_running(&step.at);
        }
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
        // The parent is the step that caused this one. A tool has in it what it did; of other steps, only a tool whose call has
        // no id stays where the document has it: the id determines who asked for the tool.
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

fn becomes(step: &Listed<'_>, root: Option<&str>, known: &HashSet<&str>, builder: &mut TraceBuilder) -> Result<Becomes> {
    let Some(operation) = body::read(&step.at, &step.step_type)? else {
        let detail = format!("the step type `{}` is unknown: no span was made for this step", step.step_type);
        builder.note(&step.at.path, NoteKind::Beside, detail);
        return Ok(Becomes::Words);
    };
    let of = |suffix: &str, kind: Kind| step.id.strip_suffix(suffix).filter(|_| operation.kind == kind);
    let asked = of(":in", Kind::UserInput);
    let answered = of(":out", Kind::FinalOutput);
    let Some(owner) = asked.or(answered) else {
        return Ok(Becomes::Operation(Box::new(operation)));
    };
    let is_written = known.contains(owner);
    if let Some(first) = builder.operation(0) {
        // The answer is the run's, also if its last model call represents the whole run.
        if answered.is_some() && (is_written || Some(owner) == root) {
            first.output = operation.output;
            return Ok(Becomes::Words);
        }
        if Some(owner) == root {
            first.input = operation.input;
            return Ok(Becomes::Words);
        }
    }
    // Words of a person in a conversation: the model call that got them has them.
    Ok(if is_written {
        Becomes::Words
    } else {
        Becomes::Operation(Box::new(operation))
    })
}

/// `latency_ms` of a step, in nanoseconds; a wait for a person counts as well.
fn latency(at: &At<'_>) -> Option<u64> {
    let nanos = |latency: u64| latency.saturating_mul(1_000_000);
    // Metadata may hold anything.
    let places = ["/latency_ms", "/wait_duration_ms", "/metadata/latency_ms"];
    let recorded = places.iter().find_map(|place| at.value.pointer(place)?.as_number());
    recorded.and_then(whole).map(nanos)
}
