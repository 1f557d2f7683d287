//! One operation as one step: the body by kind, and the metadata with all that the body has no field for.

use serde_json::Value;

use super::document::{Body, FinalOutput, LlmCall, ResourceImpact, Retrieval, RetrievalResult, ToolCall, UserInput};
use super::words::{Words, joined, joined_words, words};
use crate::document::choice::Options;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::document::text::compact;
use crate::operation::{Document, Kind, Message, Operation};
use crate::run::{Observed, Run, Step};
use crate::transcript::{calls, content, facts};

/// What has become of one operation.
pub(super) struct Made<'a> {
    pub(super) body: Body<'a>,
    pub(super) metadata: Object<'a>,
}

/// A step that is being made: all its facts are in the metadata until a field takes them.
pub(super) struct Making<'a, 'm> {
    pub(super) run: &'a Run,
    pub(super) results: &'m calls::Results<'a>,
    pub(super) step: &'a Step,
    pub(super) metadata: Object<'a>,
    losses: &'m mut Vec<Loss>,
}

/// The step for an operation; `None` for one that ContextForge has no step for.
pub(super) fn make<'a>(
    run: &'a Run,
    results: &calls::Results<'a>,
    step: &'a Step,
    options: &Options,
    losses: &mut Vec<Loss>,
) -> Option<Made<'a>> {
    let operation = &step.operation;
    let mut making = Making {
        run,
        results,
        step,
        metadata: facts::all(run, step),
        losses,
    };
    // Judgements are in the run's metadata.
    making.metadata.remove("evaluations");
    let body = match operation.kind {
        Kind::Llm => making.llm_call(),
        Kind::Decision if operation.model.name().is_some() => making.llm_call(),
        Kind::Tool => making.tool_call(),
        Kind::Retrieval | Kind::Rerank => making.retrieval(),
        Kind::Embedding if options.is("contextforge.embeddings", "retrieval") => making.embedding(),
        Kind::MemoryRead => making.memory_read(),
        Kind::MemoryWrite => making.memory_write(),
        Kind::Interrupt => making.interrupt(),
        Kind::UserInput => making.user_input()?,
        Kind::FinalOutput => making.final_output()?,
        Kind::StateChange | Kind::Handoff => making.state_change(),
        Kind::Plain | Kind::Detail => return None,
        _ if operation.state.as_ref().is_some_and(|state| state.key.is_some()) => making.state_change(),
        _ => return None,
    };
    let name = &operation.name;
    if !name.is_empty() && !matches!(&body, Body::ToolCall(call) if call.tool_name == *name) {
        making.note("span_name", name.as_str());
    }
    let has_latency = matches!(body, Body::LlmCall(_) | Body::ToolCall(_) | Body::Retrieval(_) | Body::Interrupt(_));
    if let Some(latency) = step.latency_ms().filter(|_| !has_latency) {
        making.note("latency_ms", latency);
    }
    if step.observed == Observed::Messages {
        making.lose("timestamp", LossReason::Synthesized);
    }
    Some(Made {
        body,
        metadata: making.metadata,
    })
}

/// The answer's body; `None` if there is none.
pub(super) fn answer(content: Json<'_>) -> Option<Body<'_>> {
    let format = match &content {
        Json::Null => return None,
        Json::Text(text) if text.trim().is_empty() => return None,
        Json::Text(_) => "text",
        _ => "json",
    };
    Some(Body::FinalOutput(FinalOutput {
        content,
        format: Some(format.into()),
    }))
}

/// The words of a person in a separate operation.
pub(super) fn user_words(operation: &Operation) -> Option<Words<'_>> {
    let messages = operation.input_messages.as_deref().or(operation.output_messages.as_deref());
    joined_words(messages)
        .or_else(|| words(operation.input.get()?))
        .or_else(|| words(operation.output.get()?))
}

fn is_only_text(message: &Message) -> bool {
    message.tool_calls.is_empty() && !message.has_media() && message.name.is_none()
}

impl<'a> Making<'a, '_> {
    pub(super) fn lose(&mut self, what: &str, reason: LossReason) {
        let place = format!("steps[{}].{what}", self.step.id);
        self.losses.push(Loss::new(self.run.span_of(self.step), place, reason));
    }

    pub(super) fn note(&mut self, key: &'static str, value: impl Into<Json<'a>>) {
        self.metadata.insert(key, value);
    }

    /// No words are known.
    fn note_silence(&mut self) {
        let (name, value) = facts::silence(&self.step.operation);
        self.note(name, value);
    }

    /// Takes a name out of a group of facts; the group goes when it is empty.
    pub(super) fn taken(&mut self, group: &str, names: &[&str]) {
        if let Some(Json::Object(map)) = self.metadata.get_mut(group) {
            for name in names {
                map.remove(name);
            }
            if map.is_empty() {
                self.metadata.remove(group);
            }
        }
    }

    fn llm_call(&mut self) -> Body<'a> {
        let operation = &self.step.operation;
        let model = operation.model.name().unwrap_or_else(|| {
            self.lose("model", LossReason::Synthesized);
            "unknown"
        });
        let input = self.llm_input();
        let output = self.llm_output();
        match (input.is_some(), output.is_some()) {
            (true, true) => {}
            (false, false) => self.note_silence(),
            _ if operation.has_unread_words => {}
            (false, true) => self.note("input_captured", false),
            (true, false) if operation.failure.is_none() => self.note("output_captured", false),
            _ => {}
        }
        for key in ["model", "provider"] {
            self.metadata.remove(key);
        }
        self.taken("usage", &["input", "output", "total"]);
        let usage = &operation.usage;
        let cost = &operation.cost;
        if cost.total.is_some() {
            self.taken("cost", &["total"]);
        }
        let parts = || cost.input.zip(cost.output).map(|(input, output)| input + output);
        Body::LlmCall(Box::new(LlmCall {
            model: model.into(),
            input: input.unwrap_or_else(|| Json::List(Vec::new())),
            output: output.unwrap_or_else(|| "".into()),
            tokens_in: usage.input,
            tokens_out: usage.output,
            tokens_total: usage.total.or(usage.input.zip(usage.output).map(|(a, b)| a.saturating_add(b))),
            latency_ms: self.step.latency_ms(),
            cost_estimate: cost.total.or_else(parts).filter(|cost| cost.is_finite()),
            provider: operation.model.provider.as_deref().map(Text::from),
        }))
    }

    fn llm_input(&mut self) -> Option<Json<'a>> {
        let operation = &self.step.operation;
        if let Some(messages) = &operation.input_messages {
            return Some(content::chats(messages));
        }
        match operation.input.get()? {
            Value::Null => None,
            text @ Value::String(_) => Some(text.into()),
            list @ Value::Array(items) if items.iter().all(Value::is_object) => Some(list.into()),
            object @ Value::Object(_) => Some(Json::List(vec![object.into()])),
            other => {
                self.lose("input", LossReason::Coerced);
                Some(compact(other).into())
            }
        }
    }

    fn llm_output(&mut self) -> Option<Json<'a>> {
        let operation = &self.step.operation;
        let Some((first, others)) = operation.output_messages.as_deref().and_then(<[Message]>::split_first) else {
            return match operation.output.get()? {
                Value::Null => None,
                kept @ (Value::String(_) | Value::Object(_)) => Some(kept.into()),
                other => {
                    self.lose("output", LossReason::Coerced);
                    Some(Object::from([("output", other.into())]).into())
                }
            };
        };
        if !others.is_empty() {
            self.note("choices", content::chats(others));
        }
        if let Some(reason) = &first.finish_reason
            && !self.metadata.contains_key("finish_reason")
        {
            self.note("finish_reason", reason);
        }
        let (chat, reasoning) = content::chat_and_reasoning(first);
        self.metadata.extend(reasoning);
        Some(if is_only_text(first) {
            content::content(first).into()
        } else {
            chat
        })
    }

    fn tool_call(&mut self) -> Body<'a> {
        let (run, step) = (self.run, self.step);
        let (arguments, wrapped) = calls::arguments_object(calls::arguments(run, step));
        if wrapped {
            self.lose("arguments", LossReason::Coerced);
        }
        if let Some(id) = calls::call_id(run, step) {
            self.note("tool_call_id", id);
        }
        let failure = step.operation.failure.as_ref();
        if failure.is_some_and(|failure| failure.error_type.is_none() && failure.stacktrace.is_none()) {
            self.metadata.remove("error");
        }
        let result = self.results.get(step).map(Json::from);
        let unknown = step.ended_at.is_none() || (step.observed == Observed::Messages && result.is_none());
        Body::ToolCall(Box::new(ToolCall {
            tool_name: calls::tool_name(run, step).into(),
            arguments,
            latency_ms: step.latency_ms().filter(|_| step.observed == Observed::Span),
            success: match failure {
                Some(_) => Some(false),
                None => (!unknown).then_some(true),
            },
            error: failure.map(|failure| calls::error_text(failure).into()),
            result: Some(result.unwrap_or_default()),
            resource_impact: self.resource_impact(),
        }))
    }

    fn resource_impact(&mut self) -> Option<ResourceImpact<'a>> {
        let operation = &self.step.operation;
        if let Some(impact) = &operation.resource_impact {
            let amount = impact.amount.filter(|amount| amount.is_finite())?;
            let unit = impact.unit.as_deref()?.into();
            let breakdown = match &impact.breakdown {
                Some(Value::Object(map)) => {
                    self.taken("resource_impact", &["breakdown"]);
                    Some(map.into())
                }
                _ => None,
            };
            self.taken("resource_impact", &["amount", "unit"]);
            return Some(ResourceImpact { amount, unit, breakdown });
        }
        let amount = operation.cost.total.filter(|cost| cost.is_finite())?;
        self.taken("cost", &["total"]);
        Some(ResourceImpact {
            amount,
            unit: "USD".into(),
            ..ResourceImpact::default()
        })
    }

    fn query_text(&mut self) -> Text<'a> {
        match content::input(self.run, self.step) {
            None | Some(Json::Null) => {
                self.lose("query", LossReason::Synthesized);
                Text::default()
            }
            Some(Json::Text(text)) => text,
            Some(other) => {
                self.lose("query", LossReason::Coerced);
                other.into_text()
            }
        }
    }

    fn retrieval(&mut self) -> Body<'a> {
        let operation = &self.step.operation;
        let query = self.query_text();
        if operation.kind == Kind::Rerank {
            self.note("reranker", true);
        }
        let documents = operation.search.as_ref().and_then(|search| search.documents.as_deref());
        let results: Vec<RetrievalResult<'a>> = documents.unwrap_or_default().iter().map(result).collect();
        if documents.is_none() {
            match operation.output.get() {
                Some(output) if !output.is_null() => self.note("output", output),
                _ => self.note_silence(),
            }
        }
        Body::Retrieval(Retrieval {
            query,
            match_count: self.match_count(results.len()),
            results,
            latency_ms: self.step.latency_ms(),
        })
    }

    /// The recorded count of matches, never less than the results that are written.
    pub(super) fn match_count(&mut self, results: usize) -> u64 {
        let recorded = self.step.operation.search.as_ref().and_then(|search| search.match_count);
        let written = recorded.unwrap_or(0).max(results as u64);
        if recorded == Some(written) {
            self.metadata.remove("match_count");
        }
        written
    }

    fn embedding(&mut self) -> Body<'a> {
        let query = self.step.operation.embedded_texts.join("\n");
        if query.is_empty() {
            self.lose("query", LossReason::Synthesized);
        }
        self.note("embedding", true);
        Body::Retrieval(Retrieval {
            query: query.into(),
            latency_ms: self.step.latency_ms(),
            ..Retrieval::default()
        })
    }

    fn user_input(&mut self) -> Option<Body<'a>> {
        let operation = &self.step.operation;
        let spoken = user_words(operation)?;
        if spoken.coerced {
            self.lose("content", LossReason::Coerced);
        }
        if let Some(original) = spoken.original {
            self.note("content", original);
        }
        self.metadata.remove("input_type");
        Some(Body::UserInput(UserInput {
            content: spoken.text,
            input_type: Some(operation.content_type.input.as_deref().unwrap_or("text").into()),
        }))
    }

    fn final_output(&mut self) -> Option<Body<'a>> {
        let operation = &self.step.operation;
        let messages = operation.output_messages.as_deref().or(operation.input_messages.as_deref());
        let message = joined(messages);
        let content = if message.has_media() {
            message.chat_content()
        } else {
            message.content().into()
        };
        let mut body = answer(content.into())
            .or_else(|| answer(operation.output.get()?.into()))
            .or_else(|| answer(operation.input.get()?.into()))?;
        self.metadata.remove("format");
        if let (Body::FinalOutput(output), Some(format)) = (&mut body, operation.content_type.output.as_deref()) {
            output.format = Some(format.into());
        }
        Some(body)
    }
}

/// A document; a score outside 0..1 goes to the metadata.
fn result(document: &Document) -> RetrievalResult<'_> {
    let mut metadata = Object::from(&document.metadata);
    if let Some(id) = &document.id {
        metadata.insert_new("id", id);
    }
    if document.content.is_none() {
        metadata.insert_new("content_captured", false);
    }
    let score = document.score.filter(|score| (0.0..=1.0).contains(score));
    if score.is_none()
        && let Some(recorded) = document.score.filter(|score| score.is_finite())
    {
        metadata.insert_new("score", recorded);
    }
    RetrievalResult {
        content: document.content.as_deref().unwrap_or_default().into(),
        score,
        metadata: (!metadata.is_empty()).then_some(metadata),
    }
}
