//! ContextForge documents to spans.
//!
//! | document | span |
//! |---|---|
//! | `agent_info`, `task_info`, `metadata` | the root, an agent |
//! | `user_input` "`<root>:in`", `final_output` "`<root>:out`" | input and output of the root |
//! | another `user_input` or `final_output` | a separate operation |
//! | `llm_call` | a model call; its `input` becomes messages if it is a list of them |
//! | `tool_call` | a tool; next to the model call that asked for it, else inside its parent |
//! | every other step | an operation of that kind |
//! | `metadata.agents`, `.chains`, ... | the operations listed there; steps become children of the agent that was running at their time |
//!
//! The spec's aliases (`llm.model_name`, `llm.token_count.*`, `openinference.span.kind`) are read as the fields that they replace.
//! A step of an unknown type yields no span: it is reported, and restored in a ContextForge document.

mod agents;
mod body;
mod steps;

use serde_json::Value;

use steps::stamp;

use super::table::{AGENT, GROUPS, TASK};
use crate::formats::back::{At, Result, TraceBuilder, read_evaluation, read_operations, read_record, read_run_facts, trace_id};
use crate::span::{SpanId, TraceId};

/// The trace of a document.
pub(in crate::formats) fn read(at: &At<'_>) -> Result<Vec<TraceBuilder>> {
    at.object()?;
    let run_id = at.need("run_id")?.text()?;
    let started = stamp(&at.need("started_at")?)?;
    let ended = at.some("ended_at").map(|at| stamp(&at)).transpose()?;
    if ended.is_some_and(|ended| ended < started) {
        return Err(at.need("ended_at")?.refuse("`ended_at` is before `started_at`"));
    }
    let mut metadata = at.object_of("metadata")?;
    let recorded = metadata.get("otel.trace_id").and_then(Value::as_str).and_then(TraceId::from_hex);
    let of_run = || TraceId::from_hex(&run_id.replace('-', ""));
    let id = recorded.or_else(of_run).unwrap_or_else(|| trace_id("contextforge", run_id));
    let mut builder = TraceBuilder::new("contextforge", id, None);
    let all = at.get("steps");
    let renamed = all
        .as_ref()
        .map(|all| steps::renamed(all, &mut builder))
        .transpose()?
        .unwrap_or_default();
    let list = match &all {
        Some(all) => steps::listed(all, &renamed)?,
        None => Vec::new(),
    };
    let root = steps::root(&list);
    builder.root_id(root.as_deref());
    agent(at, &mut builder)?;
    builder.times(0, Some(started), ended);
    builder.running(0, true);
    for (group, _) in GROUPS {
        read_operations(metadata.shift_remove(group).as_ref(), 0, 0, &mut builder);
    }
    steps::read(&list, root.as_deref(), &mut builder)?;
    evaluations(metadata.shift_remove("evaluations"), &mut builder);
    read_run_facts(metadata, &mut builder);
    Ok(vec![builder])
}

/// Reads the agent and the task.
fn agent(at: &At<'_>, builder: &mut TraceBuilder) -> Result<()> {
    let info = at.need("agent_info")?;
    info.object()?;
    let Some(root) = builder.operation(0) else { return Ok(()) };
    read_record(&info, AGENT.fields, root)?;
    info.text_of("name")?.unwrap_or_default().clone_into(&mut root.name);
    if let Some(task) = at.some("task_info") {
        task.object()?;
        read_record(&task, TASK.fields, root)?;
    }
    Ok(())
}

/// Evaluations are in one list; each names the span that it evaluates.
fn evaluations(list: Option<Value>, builder: &mut TraceBuilder) {
    let places = builder.places();
    for evaluation in list.as_ref().and_then(Value::as_array).into_iter().flatten() {
        let judged = evaluation.get("span_id").and_then(Value::as_str).and_then(SpanId::from_hex);
        let place = judged.and_then(|id| places.get(&id).copied()).unwrap_or(0);
        if let Some(operation) = builder.operation(place) {
            operation.evaluations.push(read_evaluation(evaluation));
        }
    }
}
