//! Results of calls.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::TrajectoryReader;
use super::content;
use super::conversation::{StepContent, TrajectoryConversation};
use super::metadata::{invocation, take};
use crate::formats::back::{At, NoteKind, Result, executed, time};
use crate::operation::{Failure, Kind, Message, Operation, Role, ToolCall};

/// A result as the message passed to the model.
pub(super) fn answer(at: &At<'_>, call: &ToolCall) -> Result<Message> {
    let result_extra = at.object_of("extra")?;
    let mut message = Message {
        role: Role::Tool,
        tool_call_id: call.id.as_deref().map(str::to_owned),
        name: Some(call.name.clone()),
        is_error: result_extra.get("is_error") == Some(&Value::Bool(true)),
        ..Message::default()
    };
    if let Some(content) = at.some("content") {
        match content::value(&content)? {
            Some(value) if content.value.is_string() && !value.is_string() => message.result = Some(value.into()),
            _ => message.parts = content::parts(&content)?,
        }
    }
    Ok(message)
}

/// The results of a step's observation.
pub(super) fn results<'a>(at: &At<'a>) -> Result<Vec<At<'a>>> {
    match at.some("observation") {
        Some(observation) => {
            observation.object()?;
            observation.need("results")?.items()
        }
        None => Ok(Vec::new()),
    }
}

/// A result, with the index of the call that it answers.
pub(super) type Answered<'a> = (At<'a>, Option<usize>);

impl TrajectoryReader<'_> {
    /// The results of a step, each with the index of the call that it answers.
    pub(super) fn answers<'a>(&mut self, at: &At<'a>, calls: &[(At<'a>, ToolCall)]) -> Result<Vec<Answered<'a>>> {
        let list = results(at)?;
        // The first call with each id.
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (place, (_, call)) in calls.iter().enumerate() {
            if let Some(id) = call.id.as_deref() {
                places.entry(id).or_insert(place);
            }
        }
        let mut is_free = vec![true; calls.len()];
        let mut named = Vec::with_capacity(list.len());
        for result in &list {
            result.object()?;
            let call = match result.text_of("source_call_id")? {
                Some(id) if !calls.is_empty() => {
                    let place = places.get(id).copied();
                    let place = place.ok_or_else(|| {
                        let at = result.get("source_call_id").unwrap_or_else(|| result.clone());
                        at.refuse(format!("no call of this step has the id `{id}`"))
                    })?;
                    if let Some(is_free) = is_free.get_mut(place) {
                        *is_free = false;
                    }
                    Some(place)
                }
                _ => None,
            };
            named.push(call);
        }
        let nameless = named.iter().filter(|call| call.is_none()).count();
        let mut free: Vec<usize> = is_free.iter().zip(0..).filter_map(|(free, place)| free.then_some(place)).collect();
        // Nameless results answer the last calls: the environment shows what came of the last one.
        free.drain(..free.len().saturating_sub(nameless));
        let mut free = free.into_iter();
        let mut out = Vec::with_capacity(list.len());
        for (result, call) in list.into_iter().zip(named) {
            let call = call.or_else(|| {
                let call = free.next()?;
                let detail = "no `source_call_id`: it answers a call by its position";
                self.note(&result, NoteKind::ByPosition, detail);
                Some(call)
            });
            out.push((result, call));
        }
        Ok(out)
    }

    /// Adds the tools that a step's calls ran, with their results. `caller`: the model call that asked for them.
    pub(super) fn executions(
        &mut self,
        at: &At<'_>,
        (calls, answers): (&[(At<'_>, ToolCall)], &[Answered<'_>]),
        step_content: &StepContent,
        caller: Option<usize>,
        conversation: &mut TrajectoryConversation<'_>,
    ) -> Result<()> {
        // The first result of each call.
        let mut results: HashMap<usize, &At<'_>> = HashMap::new();
        for (result, place) in answers.iter().filter_map(|(result, place)| Some((result, (*place)?))) {
            results.entry(place).or_insert(result);
        }
        for (index, (call_at, call)) in calls.iter().enumerate() {
            let result = results.get(&index).copied();
            let mut about = call_at.object_of("extra")?;
            // A separate operation has its facts on the step.
            let is_step = caller.is_none() && calls.len() == 1 && !about.contains_key("ancestry");
            if is_step {
                about.extend(step_content.extra.clone());
            }
            // A call that was only seen in messages was not an operation.
            let is_span = about.get("observed").and_then(Value::as_str) != Some("messages")
                && (result.is_some() || about.contains_key("invocation") || caller.is_none());
            let mut result_extra = result.map(|result| result.object_of("extra")).transpose()?.unwrap_or_default();
            let stamp = result_extra.shift_remove("timestamp");
            let stamp = stamp.as_ref().and_then(Value::as_str).and_then(time);
            for earlier in result_extra.get("earlier_results").and_then(Value::as_array).into_iter().flatten() {
                let root = at.below(".extra.earlier_results", earlier);
                self.execution(&root, call, Some(&root), Map::new(), Map::new(), None, caller, conversation)?;
            }
            for key in ["earlier_results", "branch", "is_error"] {
                result_extra.shift_remove(key);
            }
            let tool = if is_span {
                let stamp = stamp.or(step_content.stamp.filter(|_| is_step));
                let own = self.execution(call_at, call, result, about, result_extra, stamp, caller, conversation)?;
                Some(own)
            } else {
                None
            };
            if let Some(references) = result.and_then(|result| result.some("subagent_trajectory_ref")) {
                for reference in references.items()? {
                    self.referred(&reference, tool.unwrap_or(conversation.agent), conversation)?;
                }
            }
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a call and of its result")]
    fn execution(
        &mut self,
        at: &At<'_>,
        call: &ToolCall,
        result: Option<&At<'_>>,
        mut about: Map<String, Value>,
        result_extra: Map<String, Value>,
        stamp: Option<crate::span::UnixNanos>,
        caller: Option<usize>,
        conversation: &mut TrajectoryConversation<'_>,
    ) -> Result<usize> {
        let invocation = invocation(&mut about, stamp);
        let content = result.and_then(|result| result.some("content"));
        let mut value = content.as_ref().map(content::value).transpose()?.flatten();
        let mut operation = Operation::named(Kind::Tool, invocation.name().unwrap_or_else(|| call.name.clone()));
        let failed = result.is_some_and(|result| result.value.pointer("/extra/is_error") == Some(&Value::Bool(true)));
        take(about, &mut operation);
        take(result_extra, &mut operation);
        let text = value.as_ref().and_then(Value::as_str).map(str::to_owned);
        if failed && operation.failure.is_none() {
            operation.failure = Some(Failure {
                message: text.clone(),
                ..Failure::default()
            });
        }
        let words = operation.failure.as_ref().map(|failure| format!("Error: {}", failure.text()));
        if words.is_some() && words == text {
            value = None;
        }
        let is_recorded = caller.is_some() || !invocation.is(call.id.as_deref());
        executed(&mut operation, call, call.id.as_deref().filter(|_| is_recorded), value);
        let draft = self.add_operation(at, operation, invocation, conversation);
        self.builder.after(draft, caller);
        Ok(draft)
    }
}
