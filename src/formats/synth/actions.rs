//! Writes tool calls and their results as messages.

use super::facts;
use super::messages::{Messages, json_content, message, span, value_content};
use super::written_call::{Conversation, UnaskedCall, WrittenCall};
use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::operation::{Message, is_counter};
use crate::run::{Entry, ResultEntry, Run, ScopeId, StepId};
use crate::span::UnixNanos;
use crate::transcript::calls::arguments_object;

impl<'a> Messages<'a> {
    /// Adds the tool calls of a message.
    pub(super) fn actions(&mut self, talk: &mut Conversation<'a>, message: &'a Message, entry: &'a Entry, asked: Option<StepId>) {
        let Conversation { run, scope, turn, .. } = *talk;
        for (place, call) in message.tool_calls.iter().enumerate() {
            let tool = asked.and_then(|asked| self.ran.get(&(asked, place)).copied());
            let (arguments, _) = arguments_object(call.arguments.as_ref());
            let recorded = call.id.as_deref().filter(|id| !id.is_empty());
            let repeated = recorded.and_then(|id| talk.written.get(id));
            // With ids that restart in each answer, it is a different call.
            if let Some(earlier) = repeated.filter(|_| !recorded.is_some_and(is_counter))
                && earlier.name == call.name
                && earlier.arguments == arguments
            {
                if let Some(asked) = asked {
                    self.call_ids.entry(asked).or_default().push((recorded, earlier.id.clone()));
                }
                let what = format!("action {}: asked for again with the same id", call.name);
                self.losses.push(Loss::new(span(run, entry.step), what, LossReason::Ambiguous));
                continue;
            }
            let owner = span_text(run, entry.step);
            let wanted: Text<'a> = recorded.map_or_else(|| format!("{owner}:{place}").into(), Text::from);
            let is_repeated = repeated.is_some();
            let id = self.free_id(&wanted, || if is_repeated { owner.clone() } else { prefix(run, scope) });
            let mut metadata = Object::new();
            metadata.insert("call_id", id.clone());
            if call.recorded_id().is_none() {
                metadata.insert("call_id_derived", true);
            } else if id != wanted {
                metadata.insert("recorded_call_id", wanted.clone());
            }
            metadata.insert_filled("span_id", span(run, entry.step).map(|span| span.to_string()));
            // A tool may run inside its model call, but the request comes first.
            let started = tool.and_then(|tool| run.steps.get(tool)).map(|tool| tool.started_at);
            let at = started.map_or(entry.at, |started| started.min(entry.at));
            if let Some(asked) = asked {
                self.call_ids.entry(asked).or_default().push((recorded, id.clone()));
            }
            if let Some(tool) = tool {
                let _ = self.tool_ids.insert(tool, id.clone());
            }
            self.action(&call.name, &arguments, turn, at, metadata);
            let written_call = WrittenCall {
                id,
                name: (&call.name).into(),
                arguments,
                at,
                turn,
                result: None,
            };
            self.insert_call(talk, wanted, written_call);
        }
    }

    /// Adds a call that is in no model's output.
    pub(super) fn lone_action(&mut self, talk: &Conversation<'a>, lone: UnaskedCall<'a>, call_id: &'a str) -> WrittenCall<'a> {
        let turn = talk.turn;
        let UnaskedCall { name, arguments, span, at } = lone;
        let (arguments, coerced) = arguments_object(arguments);
        if coerced {
            let what = format!("action {name}: arguments are not an object");
            self.losses.push(Loss::new(span, what, LossReason::Coerced));
        }
        let what = format!("action {name}: no model call asks for it");
        self.losses.push(Loss::new(span, what, LossReason::Synthesized));
        let id = self.free_id(&call_id.into(), || prefix(talk.run, talk.scope));
        let mut metadata = Object::new();
        metadata.insert("call_id", id.clone());
        if id != call_id {
            metadata.insert("recorded_call_id", call_id);
        }
        metadata.insert_filled("span_id", span.map(|span| span.to_string()));
        self.action(name, &arguments, turn, at, metadata);
        WrittenCall {
            id,
            name: name.into(),
            arguments,
            at,
            turn,
            result: None,
        }
    }

    /// Adds a tool's result. Of several, the last is the message; earlier ones go to its metadata.
    pub(super) fn result(&mut self, talk: &mut Conversation<'a>, entry: &'a ResultEntry, at: UnixNanos) {
        let Conversation { run, scope, turn, .. } = *talk;
        let tool = entry.tool.and_then(|tool| run.steps.get(tool));
        let known = entry.tool.and_then(|tool| self.tool_ids.get(&tool).cloned());
        let blank = entry.failure.is_none() && (entry.result.is_null() || entry.result.as_str().is_some_and(|text| text.trim().is_empty()));
        if blank && tool.is_none() && !talk.written.contains_key(entry.call_id.as_str()) {
            let what = "result without a call and without content";
            self.losses.push(Loss::new(None, what, LossReason::NoPlace));
            return;
        }
        let call_id = Text::from(&entry.call_id);
        let key = if talk.written.contains_key(&call_id) {
            call_id
        } else {
            let by_tool = known.and_then(|known| {
                self.keys
                    .get(&known)
                    .cloned()
                    .filter(|key| talk.written.get(key).is_some_and(|call| call.id == known))
            });
            by_tool.unwrap_or_else(|| {
                let written_call = match tool {
                    Some(tool) => self.lone_action(talk, UnaskedCall::of(tool), &entry.call_id),
                    None => WrittenCall::unseen(self.free_id(&call_id, || prefix(run, scope)), at, turn),
                };
                self.insert_call(talk, call_id.clone(), written_call);
                call_id
            })
        };
        let Some(call) = talk.written.get_mut(&key) else { return };
        if let Some(tool) = entry.tool {
            let _ = self.tool_ids.insert(tool, call.id.clone());
        }
        let mut metadata = Object::new();
        metadata.insert("call_id", call.id.clone());
        metadata.insert_filled("span_id", tool.and_then(|tool| tool.span_id).map(|span| span.to_string()));
        metadata.insert_filled("name", entry.tool_name.as_deref());
        if entry.attempt > 0 {
            metadata.insert("attempt", entry.attempt);
        }
        let content = match &entry.failure {
            None => value_content((&entry.result).into()),
            Some(failure) => {
                metadata.insert("error", failure.text());
                metadata.insert_filled("error_type", failure.error_type.as_ref());
                let mut payload = Object::new();
                payload.insert("error", failure.text());
                if !entry.result.is_null() && entry.result.as_str() != Some(failure.text()) {
                    payload.insert("result", &entry.result);
                }
                json_content(&payload.into())
            }
        };
        if let Some(place) = call.result
            && let Some(earlier) = self.list.get_mut(place)
        {
            // The same text without an execution repeats the result; the tool did not run twice.
            if tool.is_none() && earlier.message.content == content {
                let what = format!("result {}: repeated", call.id);
                self.losses.push(Loss::new(None, what, LossReason::Ambiguous));
                return;
            }
            let mut before = std::mem::take(&mut earlier.message);
            let mut attempts = match before.metadata.swap_remove("attempts") {
                Some(Json::List(list)) => list,
                _ => Vec::new(),
            };
            let mut attempt = facts::filled([
                ("event_time", facts::number(Some(before.time_record.event_time))),
                ("text", before.content.text.into()),
                ("json_payload", before.content.json_payload.into()),
            ]);
            attempt.extend(before.metadata.into_iter().filter(|(name, _)| name != "call_id"));
            attempts.push(attempt.into());
            metadata.insert("attempts", attempts);
            earlier.at = at.max(call.at);
            earlier.turn = turn;
            earlier.message = message("result", content, earlier.at, metadata);
            return;
        }
        call.result = Some(self.list.len());
        let turn = if tool.is_some() { turn } else { call.turn };
        let at = at.max(call.at);
        self.push(turn, at, message("result", content, at, metadata));
    }

    fn action(&mut self, name: &str, arguments: &Object<'a>, turn: usize, at: UnixNanos, metadata: Object<'a>) {
        let payload = Object::from([("name", name.into()), ("arguments", arguments.clone().into())]);
        self.push(turn, at, message("action", json_content(&payload.into()), at, metadata));
    }

    /// Registers a call under the id that entries use.
    pub(super) fn insert_call(&mut self, talk: &mut Conversation<'a>, key: Text<'a>, call: WrittenCall<'a>) {
        let _ = self.keys.insert(call.id.clone(), key.clone());
        let _ = talk.written.insert(key, call);
    }

    /// An id that no call of the session uses.
    fn free_id(&mut self, id: &Text<'a>, prefix: impl Fn() -> Text<'a>) -> Text<'a> {
        self.taken.prefixed(id, prefix)
    }
}

fn span_text(run: &Run, step: Option<StepId>) -> Text<'_> {
    match step.and_then(|step| run.steps.get(step)) {
        Some(step) => step.span_id.map_or_else(|| (&step.id).into(), |span| span.to_string().into()),
        None => "run".into(),
    }
}

fn prefix(run: &Run, scope: ScopeId) -> Text<'_> {
    let agent = run.scopes.get(scope).and_then(|scope| scope.agent.as_ref());
    agent.map_or_else(|| format!("conversation-{scope}").into(), Text::from)
}
