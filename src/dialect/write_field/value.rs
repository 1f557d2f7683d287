//! Writes the value of each field.

use serde_json::Value;

use super::OperationBuilder;
use super::lists::embedded_texts;
use super::slot::{self, add, count, number, set, text};
use crate::dialect::beside::ChildResult;
use crate::dialect::continuation::Continuation;
use crate::dialect::messages::{self, Direction};
use crate::dialect::raw::Raw;
use crate::dialect::rule::{Codec, Field, Location, Rule};
use crate::dialect::{constructor, crew_calls, normalize, providers, result};
use crate::hash::Members as _;
use crate::operation::{Kind, Search, ToolUse};
use crate::span::{AnyValue, LOGS_SCOPE, SESSION_SCOPE, SpanId, UnixNanos};

impl OperationBuilder<'_> {
    /// Writes a value to the rule's field; returns whether it could be used.
    ///
    /// Most fields accept any value of their type; the others are handled here.
    pub(super) fn value(&mut self, rule: &Rule, raw: &Raw<'_>, value: &mut Value) -> bool {
        let operation = &mut self.operation;
        // A client that writes every value as JSON writes null for a missing one.
        let is_side = matches!(
            rule.field,
            Field::InputMessages | Field::OutputMessages | Field::Input | Field::Output
        );
        if is_side && is_null_in_json(rule, raw) {
            return false;
        }
        match rule.field {
            Field::InputMessages => self.message_value(Direction::Input, rule, value),
            Field::OutputMessages => self.message_value(Direction::Output, rule, value),
            Field::OutputCalls => {
                self.output_calls = messages::calls(value);
                !self.output_calls.is_empty()
            }
            Field::System => {
                self.system = messages::system(value);
                self.system.is_some()
            }
            Field::Input => {
                self.operation.input = self.whole(value).into();
                true
            }
            Field::Output => {
                self.operation.output = self.whole(value).into();
                true
            }
            Field::RawResponse => (value.is_object() || value.is_array()) && set(&mut operation.raw_response, std::mem::take(value)),
            Field::ModelRequested => is_known(value) && text(&mut operation.model.requested, value),
            Field::ModelResponse => is_known(value) && text(&mut operation.model.response, value),
            Field::Provider => {
                operation.model.provider = value.as_str().and_then(providers::name);
                operation.model.provider.is_some()
            }
            Field::UsageInputExcludingCache => {
                let mut said = None;
                let known = operation.usage.input;
                self.usage_excludes_cache = count(&mut said, value) && known.is_none_or(|known| Some(known) == said);
                operation.usage.input = known.or(said);
                self.usage_excludes_cache
            }
            Field::ContinuedSpan => {
                let span_id = value.as_str().and_then(SpanId::from_hex);
                self.beside.continues = span_id.map(Continuation::of);
                span_id.is_some()
            }
            Field::ContinuedMessages => count(&mut self.continued_messages, value),
            Field::ContinuedWithout => count(&mut self.continued_without, value),
            Field::EventGroup => text(&mut self.beside.event_group, value),
            Field::UsageRunningSum => {
                self.beside.sums_usage = true;
                true
            }
            Field::UsageInputOfTurn => push(&mut self.beside.turn_input, value),
            Field::UsageOutputOfTurn => push(&mut self.beside.turn_output, value),
            Field::ToolAskedBy => text(&mut self.beside.asked_by, value),
            Field::Parameter => self.parameter(rule, raw, value),
            Field::FinishReason => {
                self.reasons = value.as_array().map_or(1, Vec::len);
                operation.finish_reason = finish_reason(value);
                operation.finish_reason.is_some()
            }
            Field::FirstTokenMillis => {
                operation.time_to_first_token = value.as_f64().map(|millis| millis / 1000.0);
                operation.time_to_first_token.is_some()
            }
            Field::ToolParameters => normalize::is_schema(value) && set(&mut self.tool().parameters, std::mem::take(value)),
            Field::ToolCallId => self.tool().call_id.is_some() || text(&mut self.tool().call_id, value),
            Field::ToolArguments => self.tool_arguments(value),
            Field::ToolResult => self.tool_result(raw, value),
            Field::ToolResultOfChild => self.child_result(value),
            Field::SearchQuery => {
                let query = ["str_or_query_bundle", "query", "query_str", "input"]
                    .iter()
                    .find_map(|key| value.member(key))
                    .filter(|query| query.is_string());
                set(&mut self.search().query, query.unwrap_or(value).clone())
            }
            Field::EmbeddedTexts => {
                operation.embedded_texts = embedded_texts(value);
                !operation.embedded_texts.is_empty()
            }
            Field::AgentName => is_known(value) && text(&mut operation.agent.name, value),
            Field::HandoffFrom => text(&mut self.handoff.0, value),
            Field::HandoffTo => text(&mut self.handoff.1, value),
            Field::SessionId => is_known(value) && text(&mut operation.session_id, value),
            Field::UserId => is_known(value) && text(&mut operation.user_id, value),
            Field::FailureMessage => text(&mut self.failure.message, value),
            Field::FailureType => text(&mut self.failure.error_type, value),
            Field::FailureStacktrace => text(&mut self.failure.stacktrace, value),
            Field::FailureFlag => {
                // Control flow that a framework records as an error: the run continues elsewhere, or waits for a person.
                let passes = matches!(value.as_str(), Some("passes" | "interrupts"));
                self.passes |= passes;
                self.interrupts |= value.as_str() == Some("interrupts");
                // It never returned; without another reason, it was stopped from outside.
                let cancelled = value.as_str() == Some("cancelled");
                self.cancelled |= cancelled;
                self.failed |= !passes && !cancelled;
                true
            }
            Field::EvaluationName => text(&mut self.evaluation.name, value),
            Field::EvaluationScore => number(&mut self.evaluation.score, value),
            Field::EvaluationLabel => text(&mut self.evaluation.label, value),
            Field::EvaluationExplanation => text(&mut self.evaluation.explanation, value),
            Field::FormatExtras => {
                let Raw::Value(key, _) = raw else { return false };
                let name = rule.values.iter().find(|(word, _)| word == key).map_or(*key, |(_, name)| name);
                let _ = operation.format_extras.insert(name.to_owned(), value.clone());
                true
            }
            Field::Metadata if !rule.values.is_empty() => self.named_metadata(rule, raw, value),
            Field::Metadata => match value {
                Value::String(text) if normalize::is_nothing(text) => false,
                Value::Object(map) => {
                    add(&mut operation.metadata, std::mem::take(map));
                    true
                }
                other => operation.metadata.insert("metadata".to_owned(), std::mem::take(other)).is_none(),
            },
            // The kind is read before all fields, a time is not a value, and an accompanying value has no meaning of its own.
            Field::Kind | Field::FirstTokenTime | Field::Beside => false,
            field => {
                let slot = field.slot(operation);
                debug_assert!(slot.is_some(), "{field:?} has no place and no code of its own");
                slot.is_some_and(|slot| slot::write(slot, value))
            }
        }
    }

    /// Writes a fact without a field, under the name given by the rule.
    fn named_metadata(&mut self, rule: &Rule, raw: &Raw<'_>, value: &mut Value) -> bool {
        let Raw::Value(key, _) = raw else { return false };
        let Some((_, name)) = rule.values.iter().find(|(word, _)| word == key) else {
            return false;
        };
        let value = std::mem::take(value);
        let _ = self.operation.metadata.entry((*name).to_owned()).or_insert(value);
        true
    }

    /// A whole input or output. That of a model call stays as recorded.
    fn whole(&self, value: &mut Value) -> Value {
        let whole = std::mem::take(value);
        match self.operation.kind {
            Kind::Llm => whole,
            _ => constructor::open(whole),
        }
    }

    /// Writes one parameter of the model, named by its key.
    fn parameter(&mut self, rule: &Rule, raw: &Raw<'_>, value: &Value) -> bool {
        let Raw::Value(key, _) = raw else { return false };
        let name = match rule.location {
            Location::Suffix => rule.key.replace('.', "_"),
            _ => rule
                .values
                .iter()
                .find(|(word, _)| word == key)
                .map_or(*key, |(_, name)| name)
                .to_owned(),
        };
        let value = match value {
            Value::String(number) => normalize::integer(number)
                .or_else(|| normalize::float(number))
                .unwrap_or_else(|| value.clone()),
            other => other.clone(),
        };
        let _ = self.operation.parameters.entry(name).or_insert(value);
        true
    }

    fn tool_arguments(&mut self, value: &mut Value) -> bool {
        if let Some(call) = messages::call_to_run(value) {
            let span_name = self.operation.name.clone();
            let tool = self.tool();
            // Around the tool's own span, this name is that of a function that runs any tool.
            if tool.name.as_ref().is_none_or(|name| *name == span_name) {
                tool.name = Some(call.name);
            }
            tool.call_id = tool.call_id.take().or(call.id.map(|id| id.as_str().to_owned()));
            return set(&mut tool.arguments, call.arguments.unwrap_or_default());
        }
        let tool = self.tool();
        if value.as_str() == Some("N/A") || matches!(value, Value::Object(map) if map.is_empty()) && tool.arguments.is_some() {
            return false;
        }
        let was_null = value.is_null();
        let (arguments, id) = normalize::arguments(std::mem::take(value));
        // A client's note about arguments it left out stays an attribute.
        if arguments.is_null() && !was_null {
            return false;
        }
        if tool.call_id.is_none() {
            tool.call_id = id;
        }
        let arguments = crew_calls::arguments(&arguments).unwrap_or(arguments);
        set(&mut tool.arguments, arguments)
    }

    fn tool_result(&mut self, raw: &Raw<'_>, value: &mut Value) -> bool {
        let out = match self.as_given(raw) {
            Some(value) => result::Unwrapped {
                value,
                ..result::Unwrapped::default()
            },
            None => result::unwrap(std::mem::take(value)),
        };
        let tool = self.operation.tool.get_or_insert_default();
        if tool.call_id.is_none() {
            tool.call_id = out.call_id;
        }
        if out.is_error {
            self.failed = true;
            if let Value::String(words) = &out.value {
                self.failure.message.get_or_insert(words.clone());
            }
        }
        set(&mut tool.result, out.value)
    }

    /// A tool result in a session file: the text that the model received, even if it is JSON, since Codex passes on an MCP server's list of
    /// blocks. Our own writer quotes such text, so unquoted JSON was not text.
    fn as_given(&self, raw: &Raw<'_>) -> Option<Value> {
        let Raw::Value(_, AnyValue::String(text)) = raw else { return None };
        if !matches!(self.span.scope.name.as_str(), SESSION_SCOPE | LOGS_SCOPE) {
            return None;
        }
        if !text.trim_start().starts_with(['{', '[', '"']) {
            return Some(text.as_str().into());
        }
        serde_json::from_str(text).ok()
    }

    /// Writes a tool's result recorded on the agent's span.
    fn child_result(&mut self, value: &Value) -> bool {
        let Some(tool) = value.member("tool.name").and_then(Value::as_str) else {
            return false;
        };
        let error = value.member("error").and_then(Value::as_str).map(str::to_owned);
        let result = value.member("tool.result").map(|result| result::unwrap(result.clone()).value);
        let at = UnixNanos(value.member("time").and_then(Value::as_u64).unwrap_or(0));
        self.beside.child_results.push(ChildResult {
            tool: tool.to_owned(),
            result,
            error,
            at,
        });
        true
    }

    fn tool(&mut self) -> &mut ToolUse {
        self.operation.tool.get_or_insert_default()
    }

    fn search(&mut self) -> &mut Search {
        self.operation.search.get_or_insert_default()
    }
}

/// Whether a value is more than a client's placeholder for an unknown one.
fn is_known(value: &Value) -> bool {
    !value.as_str().is_some_and(normalize::is_unknown)
}

/// One word for one or several reasons; a tool call wins.
fn finish_reason(value: &Value) -> Option<String> {
    let words: Vec<String> = match value {
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .filter_map(normalize::finish_reason)
            .collect(),
        Value::String(word) => normalize::finish_reason(word).into_iter().collect(),
        _ => Vec::new(),
    };
    words.iter().find(|word| *word == "tool_call").or_else(|| words.last()).cloned()
}

/// Whether a value written as JSON is null.
fn is_null_in_json(rule: &Rule, raw: &Raw<'_>) -> bool {
    let is_json = matches!(rule.codec, Codec::Json | Codec::JsonText);
    let text = match raw {
        Raw::Value(_, AnyValue::String(text)) => text.as_str(),
        Raw::JsonText(text) => text,
        _ => return false,
    };
    is_json && text.trim() == "null"
}

/// Appends a count to a list.
fn push(list: &mut Vec<u64>, value: &Value) -> bool {
    list.extend(value.as_u64());
    value.is_u64()
}
