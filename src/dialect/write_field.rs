//! Opened values into the fields of an operation.

mod finish;
mod lists;
mod rare;
mod slot;

use serde_json::Value;

use super::child_result::ChildResult;
use super::codec::Decoded;
use super::constructor;
use super::messages::{self, Direction};
use super::raw::Raw;
use super::rule::{Codec, Field, Location, Rule};
use super::{normalize, result};
use crate::operation::{Evaluation, Failure, Kind, Message, Operation, Recorded, Role, ToolUse};
use crate::span::{Span, UnixNanos};
use lists::{documents, embedded_texts, evaluations, tool_definitions};
use slot::{add, count, number, set, text};

/// An operation that is filled field by field.
pub(super) struct OperationBuilder<'a> {
    span: &'a Span,
    operation: Box<Operation>,
    system: Option<Message>,
    failure: Failure,
    failed: bool,
    passes: bool,
    interrupts: bool,
    handoff: (Option<String>, Option<String>),
    evaluation: Evaluation,
    usage_excludes_cache: bool,
    sums_usage: bool,
    child_results: Vec<ChildResult>,
}

impl<'a> OperationBuilder<'a> {
    pub(super) fn new(span: &'a Span, kind: Kind) -> Self {
        let mut operation: Box<Operation> = Box::default();
        operation.kind = kind;
        operation.name.clone_from(&span.name);
        Self {
            span,
            operation,
            system: None,
            failure: Failure::default(),
            failed: false,
            passes: false,
            interrupts: false,
            handoff: (None, None),
            evaluation: Evaluation::default(),
            usage_excludes_cache: false,
            sums_usage: false,
            child_results: Vec::new(),
        }
    }

    /// Writes a value; whether it was of use.
    pub(super) fn write(&mut self, rule: &Rule, raw: &Raw<'_>, decoded: &mut Decoded) -> bool {
        match decoded {
            Decoded::Recorded(recorded) => self.recorded(rule.field, std::mem::take(recorded)),
            Decoded::Messages(messages) => self.messages(rule.field, std::mem::take(messages)),
            Decoded::Time(time) => self.first_token(*time),
            Decoded::Value(value) => self.value(rule, raw, value),
            Decoded::Tree(tree) => self.value(rule, raw, &mut tree.value),
        }
    }

    fn first_token(&mut self, time: UnixNanos) -> bool {
        if time <= self.span.start {
            return false;
        }
        let nanos = UnixNanos(time.0 - self.span.start.0);
        self.operation.time_to_first_token.get_or_insert(nanos.seconds());
        true
    }

    fn recorded(&mut self, field: Field, recorded: Recorded) -> bool {
        match field {
            Field::Input => self.operation.input = recorded,
            Field::Output => self.operation.output = recorded,
            _ => return false,
        }
        true
    }

    fn messages(&mut self, field: Field, list: Vec<Message>) -> bool {
        let list = messages::merge_thinking(list);
        match field {
            Field::InputMessages => self.operation.input_messages = Some(list),
            Field::OutputMessages => self.operation.output_messages = Some(list),
            _ => return false,
        }
        true
    }

    fn value(&mut self, rule: &Rule, raw: &Raw<'_>, value: &mut Value) -> bool {
        match rule.field {
            Field::InputMessages | Field::OutputMessages => self.message_value(rule, value),
            Field::System => {
                self.system = messages::system(value);
                self.system.is_some()
            }
            Field::Input | Field::Output => {
                let whole = std::mem::take(value);
                let is_call = self.operation.kind == Kind::Llm;
                let whole = if is_call { whole } else { constructor::open(whole) };
                self.recorded(rule.field, whole.into())
            }
            Field::RawResponse => (value.is_object() || value.is_array()) && set(&mut self.operation.raw_response, std::mem::take(value)),
            Field::Kind | Field::Beside => false,
            field => {
                self.scalar(field, value)
                    || self.tool(field, value)
                    || self.facts(rule, raw, value)
                    || self.training(field, value)
                    || self.changes(field, value)
            }
        }
    }

    fn message_value(&mut self, rule: &Rule, value: &Value) -> bool {
        let direction = if rule.field == Field::InputMessages {
            Direction::Input
        } else {
            Direction::Output
        };
        if rule.codec == Codec::PlainText {
            let role = if direction == Direction::Input {
                Role::Other(String::new())
            } else {
                Role::Assistant
            };
            let Value::String(text) = value else { return false };
            return self.messages(rule.field, vec![Message::text(role, text.as_str())]);
        }
        // `input.value` of a helper may be a repr of the client's classes: only what reads as messages counts.
        if let Value::String(text) = value
            && matches!(rule.key, "input.value" | "output.value")
            && (text.trim_start().starts_with(['{', '[']) || text.contains("ChatMessage("))
        {
            return false;
        }
        let read = match value {
            // Completion-style: [{prompt: {text}}]
            Value::Array(items)
                if items
                    .iter()
                    .all(|item| item.get("prompt").or_else(|| item.get("completion")).is_some()) =>
            {
                let texts: Value = items
                    .iter()
                    .filter_map(|item| item.pointer("/prompt/text").or_else(|| item.pointer("/completion/text")).cloned())
                    .collect();
                messages::read(&texts, direction)
            }
            other => messages::read(other, direction),
        };
        match read {
            Some(list) => self.messages(rule.field, list),
            None => false,
        }
    }

    fn scalar(&mut self, field: Field, value: &mut Value) -> bool {
        let operation = &mut self.operation;
        match field {
            Field::ModelRequested => text(&mut operation.model.requested, value),
            Field::ModelResponse => value.as_str() != Some("none") && text(&mut operation.model.response, value),
            Field::Provider => {
                operation.model.provider = value.as_str().and_then(normalize::provider);
                operation.model.provider.is_some()
            }
            Field::UsageInput => count(&mut operation.usage.input, value),
            Field::UsageInputExcludingCache => {
                self.usage_excludes_cache = operation.usage.input.is_none() && count(&mut operation.usage.input, value);
                self.usage_excludes_cache
            }
            Field::UsageRunningSum => {
                self.sums_usage = true;
                true
            }
            Field::UsageOutput => count(&mut operation.usage.output, value),
            Field::UsageTotal => count(&mut operation.usage.total, value),
            Field::UsageCacheRead => count(&mut operation.usage.cache_read, value),
            Field::UsageCacheWrite => count(&mut operation.usage.cache_write, value),
            Field::UsageReasoning => count(&mut operation.usage.reasoning, value),
            Field::CostTotal => number(&mut operation.cost.total, value),
            Field::CostInput => number(&mut operation.cost.input, value),
            Field::CostOutput => number(&mut operation.cost.output, value),
            Field::FinishReason => {
                operation.finish_reason = finish_reason(value);
                operation.finish_reason.is_some()
            }
            Field::FirstTokenSeconds => number(&mut operation.time_to_first_token, value),
            Field::FirstTokenMillis => {
                operation.time_to_first_token = value.as_f64().map(|millis| millis / 1000.0);
                operation.time_to_first_token.is_some()
            }
            Field::ResponseId => text(&mut operation.response_id, value),
            Field::AgentName => {
                operation.agent.name = value.as_str().map(str::to_owned);
                operation.agent.name.is_some()
            }
            Field::AgentId => text(&mut operation.agent.id, value),
            Field::AgentDescription => text(&mut operation.agent.description, value),
            Field::AgentVersion => text(&mut operation.agent.version, value),
            Field::AgentFramework => text(&mut operation.agent.framework, value),
            Field::InputType => text(&mut operation.content_type.input, value),
            Field::OutputFormat => text(&mut operation.content_type.output, value),
            Field::HandoffFrom => text(&mut self.handoff.0, value),
            Field::HandoffTo => text(&mut self.handoff.1, value),
            Field::SessionId => text(&mut operation.session_id, value),
            Field::UserId => text(&mut operation.user_id, value),
            Field::PromptId => text(&mut operation.prompt.id, value),
            Field::PromptVersion => text(&mut operation.prompt.version, value),
            Field::PromptTemplate => text(&mut operation.prompt.template, value),
            Field::PromptVariables => set(&mut operation.prompt.variables, std::mem::take(value)),
            Field::Workflow => text(&mut operation.workflow, value),
            Field::GraphNode => text(&mut operation.graph_node, value),
            Field::TaskDescription => text(&mut operation.task.description, value),
            Field::TaskGoal => text(&mut operation.task.goal, value),
            Field::TaskInput => set(&mut operation.task.input, std::mem::take(value)),
            Field::FailureMessage => text(&mut self.failure.message, value),
            Field::FailureType => text(&mut self.failure.error_type, value),
            Field::FailureStacktrace => text(&mut self.failure.stacktrace, value),
            Field::FailureFlag => {
                // Control flow that a framework writes as an error: the run goes on elsewhere, or waits for a person.
                let passes = matches!(value.as_str(), Some("passes" | "interrupts"));
                self.passes |= passes;
                self.interrupts |= value.as_str() == Some("interrupts");
                self.failed |= !passes;
                true
            }
            Field::EvaluationName => text(&mut self.evaluation.name, value),
            Field::EvaluationScore => number(&mut self.evaluation.score, value),
            Field::EvaluationLabel => text(&mut self.evaluation.label, value),
            Field::EvaluationExplanation => text(&mut self.evaluation.explanation, value),
            _ => false,
        }
    }

    fn tool(&mut self, field: Field, value: &mut Value) -> bool {
        match field {
            Field::ToolName => text(&mut self.tool_use().name, value),
            Field::ToolDescription => text(&mut self.tool_use().description, value),
            Field::ToolCallId => self.tool_use().call_id.is_some() || text(&mut self.tool_use().call_id, value),
            Field::McpServer => text(&mut self.tool_use().mcp_server, value),
            Field::ToolParameters => normalize::is_schema(value) && set(&mut self.tool_use().parameters, std::mem::take(value)),
            Field::ToolArguments => {
                let tool = self.tool_use();
                if value.as_str() == Some("N/A") || matches!(value, Value::Object(map) if map.is_empty()) && tool.arguments.is_some() {
                    return false;
                }
                let (arguments, id) = normalize::arguments(std::mem::take(value));
                if tool.call_id.is_none() {
                    tool.call_id = id;
                }
                set(&mut tool.arguments, arguments)
            }
            Field::ToolResult => {
                let out = result::unwrap(std::mem::take(value));
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
            _ => false,
        }
    }

    fn facts(&mut self, rule: &Rule, raw: &Raw<'_>, value: &mut Value) -> bool {
        let operation = &mut self.operation;
        match rule.field {
            Field::Parameters => match value {
                Value::Object(map) => {
                    add(&mut operation.parameters, std::mem::take(map));
                    true
                }
                _ => false,
            },
            Field::Parameter => {
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
                let _ = operation.parameters.entry(name).or_insert(value);
                true
            }
            Field::Metadata => match value {
                Value::Object(map) => {
                    add(&mut operation.metadata, std::mem::take(map));
                    true
                }
                other => operation.metadata.insert("metadata".to_owned(), std::mem::take(other)).is_none(),
            },
            Field::FormatExtras => {
                let Raw::Value(key, _) = raw else { return false };
                let name = rule.values.iter().find(|(word, _)| word == key).map_or(*key, |(_, name)| name);
                let _ = operation.format_extras.insert(name.to_owned(), value.clone());
                true
            }
            Field::Tags => {
                operation.tags = value
                    .as_array()
                    .map_or_else(Vec::new, |tags| tags.iter().filter_map(Value::as_str).map(str::to_owned).collect());
                !operation.tags.is_empty()
            }
            Field::ToolDefinitions => {
                operation.tool_definitions = tool_definitions(value);
                !operation.tool_definitions.is_empty()
            }
            Field::SearchQuery => {
                let query = ["str_or_query_bundle", "query", "query_str", "input"]
                    .iter()
                    .find_map(|key| value.get(*key))
                    .filter(|query| query.is_string());
                let search = operation.search.get_or_insert_default();
                set(&mut search.query, query.unwrap_or(value).clone())
            }
            Field::SearchDocuments => {
                let search = operation.search.get_or_insert_default();
                search.documents = documents(value);
                search.documents.is_some()
            }
            Field::SearchTopK => count(&mut operation.search.get_or_insert_default().top_k, value),
            Field::SearchMatchCount => count(&mut operation.search.get_or_insert_default().match_count, value),
            Field::EmbeddedTexts => {
                operation.embedded_texts = embedded_texts(value);
                !operation.embedded_texts.is_empty()
            }
            Field::VectorCount => count(&mut operation.vector_count, value),
            Field::Evaluations => {
                operation.evaluations.extend(evaluations(value));
                true
            }
            Field::ToolResultOfChild => match value.get("tool.name").and_then(Value::as_str) {
                Some(tool) => {
                    let error = value.get("error").and_then(Value::as_str).map(str::to_owned);
                    let result = value.get("tool.result").map(|result| result::unwrap(result.clone()).value);
                    let at = UnixNanos(value.get("time").and_then(Value::as_u64).unwrap_or(0));
                    self.child_results.push(ChildResult {
                        tool: tool.to_owned(),
                        result,
                        error,
                        at,
                    });
                    true
                }
                None => false,
            },
            _ => false,
        }
    }

    fn tool_use(&mut self) -> &mut ToolUse {
        self.operation.tool.get_or_insert_default()
    }
}

/// One word for one or several reasons: a tool call among them wins.
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
