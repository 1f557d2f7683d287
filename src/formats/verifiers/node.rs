//! Writes messages of the graph, and their tokens.

use serde_json::Value;

use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::document::text::compact;
use crate::operation::{Message, Part, Role};
use crate::run::{Run, Step};
use crate::transcript::thread::{Node, Thread, Words};
use crate::transcript::{ExchangeCall, ExchangeKind};
use crate::transcript::{calls, chat, content};

/// A node's message.
pub(super) fn message<'a>(run: &'a Run, thread: &Thread<'a>, node: &Node<'a>, losses: &mut Vec<Loss>) -> Object<'a> {
    let item = node.item.and_then(|item| thread.items.get(item));
    let span = item.and_then(|item| item.exchange.step?.of(run)?.span_id);
    match &node.words {
        Words::OfOperation { is_user, text } => {
            let role = if *is_user { "user" } else { "assistant" };
            Object::from([("role", role.into()), ("content", text.clone().into())])
        }
        Words::Result { call, text, .. } => {
            let mut out = Object::from([("role", "tool".into())]);
            if let Some((asked, id)) = thread.asked(node, *call) {
                out.add("tool_call_id", id.clone());
                out.add_filled("name", chat::known_name(run, asked));
            }
            out.add("content", text.clone());
            out
        }
        Words::Input(source) | Words::Turn(source) => {
            let is_turn = matches!(node.words, Words::Turn(_));
            let role = match &source.role {
                Role::Assistant => "assistant",
                _ if is_turn => "assistant",
                Role::System | Role::Developer => "system",
                Role::Tool => "tool",
                Role::User | Role::Other(_) => "user",
            };
            let mut lose = |what: &str, reason| losses.push(Loss::new(span, what, reason));
            if let Role::Developer | Role::Other(_) = source.role {
                lose("message.role", LossReason::Coerced);
            }
            let mut out = Object::from([("role", role.into())]);
            if role == "tool" {
                if source.tool_call_id.is_none() {
                    lose("message.tool_call_id", LossReason::Synthesized);
                }
                out.add("tool_call_id", source.tool_call_id.as_deref().unwrap_or("unknown"));
                out.add_filled("name", source.name.as_deref());
            } else if source.name.is_some() {
                lose("message.name", LossReason::NoPlace);
            }
            let (content, is_whole) = content(source, role != "assistant");
            if !is_whole {
                lose("message.content: a part that is neither text nor a picture", LossReason::Coerced);
            }
            if role != "assistant" {
                out.add("content", content);
                return out;
            }
            out.add("content", content);
            let mut thoughts = content::thoughts(source);
            out.add_filled("reasoning_content", content::reasoning(source));
            let calls = item.filter(|item| matches!(item.exchange.kind, ExchangeKind::Message(_) | ExchangeKind::Turn(_)));
            for (asked, id) in calls.into_iter().flat_map(|item| item.exchange.calls.iter().zip(&item.ids)) {
                let (arguments, is_put_around) = arguments(run, asked);
                if is_put_around {
                    losses.push(Loss::new(span, format!("tool_calls[{}].arguments", asked.id), LossReason::Coerced));
                }
                let mut call = Object::from([("id", id.clone().into()), ("type", "function".into())]);
                call.add("name", chat::name(run, asked));
                call.add("arguments", arguments);
                out.push("tool_calls", call);
            }
            out.add_filled("provider_state", thoughts.remove("reasoning_opaque"));
            out
        }
    }
}

/// Arguments as the text of a JSON object: the model's own, if it is one. The flag says whether an object was put around.
fn arguments<'a>(run: &'a Run, asked: &ExchangeCall<'a>) -> (Text<'a>, bool) {
    if let Some(call) = asked.call {
        let text = calls::arguments_json(call);
        if text.trim_start().starts_with('{') {
            return (text, false);
        }
    }
    let (object, is_put_around) = chat::arguments(run, asked);
    (compact(&object).into(), is_put_around)
}

/// Text, or parts if there is a picture that a user or a tool may show. The flag says whether all parts are unchanged.
fn content(message: &Message, takes_pictures: bool) -> (Json<'_>, bool) {
    let (text, lost) = chat::content(message);
    if lost.is_none() {
        return (text.into(), true);
    }
    let url = |part: &Part| match part {
        Part::Media(media) if media.modality != "image" => None,
        Part::Media(media) if takes_pictures => media.url(),
        _ => None,
    };
    let is_kept = |part: &Part| matches!(part, Part::Text(_) | Part::Reasoning { .. }) || url(part).is_some();
    let is_whole = message.parts.iter().all(is_kept);
    if !message.parts.iter().any(|part| url(part).is_some()) {
        return (text.into(), is_whole);
    }
    let parts = message.parts.iter().filter_map(|part| {
        if let Some(url) = url(part) {
            let source = Object::from([("url", url.into())]);
            return Some(Object::from([("type", "image_url".into()), ("image_url", source.into())]));
        }
        let text: Text<'_> = match part {
            Part::Text(text) => text.into(),
            Part::Media(media) => content::media_mark(media).into(),
            Part::Other(value) => chat::part_words(message, value)?.into(),
            Part::Reasoning { .. } => return None,
        };
        Some(Object::from([("type", "text".into()), ("text", text.into())]))
    });
    (parts.collect(), is_whole)
}

/// The tokens of a model call.
#[derive(Debug, Clone)]
pub(super) struct Tokens {
    prompt: Vec<i64>,
    completion: Vec<i64>,
    logprobs: Vec<f64>,
}

impl Tokens {
    /// The recorded tokens; `None` unless both lists are numbers.
    pub(super) fn of(step: &Step) -> Option<Self> {
        let training = &step.operation.training;
        let ids = |value: &Option<Value>| -> Option<Vec<i64>> { value.as_ref()?.as_array()?.iter().map(Value::as_i64).collect() };
        let (prompt, completion) = (ids(&training.prompt_token_ids)?, ids(&training.completion_token_ids)?);
        let number = |value: &Value| value.as_f64().or_else(|| value.get("logprob")?.as_f64());
        let logprobs: Option<Vec<f64>> = training
            .logprobs
            .as_ref()
            .and_then(Value::as_array)
            .and_then(|list| list.iter().map(number).collect());
        let logprobs = logprobs.filter(|list| list.len() == completion.len());
        (!completion.is_empty()).then(|| Self {
            prompt,
            completion,
            logprobs: logprobs.unwrap_or_default(),
        })
    }

    /// What these tokens add to those of the previous turn: token ids, mask and log probabilities. `None` if the prompt does not continue
    /// them.
    pub(super) fn added(&self, before: Option<&Self>) -> Option<(Vec<i64>, Vec<bool>, Vec<f64>)> {
        let mut added = self.prompt.as_slice();
        if let Some(before) = before {
            added = added.strip_prefix(before.prompt.as_slice())?;
            added = added.strip_prefix(before.completion.as_slice())?;
        }
        let mut mask = vec![false; added.len()];
        mask.resize(added.len() + self.completion.len(), true);
        let ids = added.iter().chain(&self.completion).copied().collect();
        Some((ids, mask, self.logprobs.clone()))
    }

    /// Whether all log probabilities were recorded.
    pub(super) fn has_logprobs(&self) -> bool {
        !self.logprobs.is_empty()
    }
}
