//! Opened values into the fields of an operation.

use serde_json::{Map, Value};

use super::codec::{Decoded, Raw};
use super::messages::{self, Direction};
use super::read::ChildResult;
use super::rule::{Codec, Field, Rule};
use super::{normalize, result};
use crate::operation::{
    Document, Evaluation, Failure, Interrupt, Kind, Memory, Message, Operation, Part, ResourceImpact, Role, Search, StateChange,
    ToolDefinition, ToolUse,
};
use crate::span::{Span, UnixNanos};

/// Fills an operation.
pub(super) struct Writer<'a> {
    span: &'a Span,
    operation: Box<Operation>,
    system: Option<Message>,
    failure: Failure,
    failed: bool,
    passes: bool,
    handoff: (Option<String>, Option<String>),
    evaluation: Evaluation,
    usage_excludes_cache: bool,
    sums_usage: bool,
    child_results: Vec<ChildResult>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(span: &'a Span, operation: Box<Operation>) -> Self {
        Self {
            span,
            operation,
            system: None,
            failure: Failure::default(),
            failed: false,
            passes: false,
            handoff: (None, None),
            evaluation: Evaluation::default(),
            usage_excludes_cache: false,
            sums_usage: false,
            child_results: Vec::new(),
        }
    }

    /// Whether rules for this field add to one another instead of the first one winning.
    pub(super) fn merges(&self, field: Field) -> bool {
        matches!(
            field,
            Field::Parameters
                | Field::Parameter
                | Field::Metadata
                | Field::FormatExtras
                | Field::FailureFlag
                | Field::Evaluations
                | Field::ToolResultOfChild
        )
    }

    /// Writes a value; whether it was of use.
    pub(super) fn write(&mut self, rule: &Rule, raw: &Raw<'_>, decoded: Decoded) -> bool {
        match decoded {
            Decoded::Messages(messages) => self.messages(rule.field, messages),
            Decoded::Time(time) => self.first_token(time),
            Decoded::Value(value) => self.value(rule, raw, value),
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

    fn messages(&mut self, field: Field, list: Vec<Message>) -> bool {
        let list = messages::merge_thinking(list);
        match field {
            Field::InputMessages => self.operation.input_messages = Some(list),
            Field::OutputMessages => self.operation.output_messages = Some(messages::one_turn(list)),
            _ => return false,
        }
        true
    }

    fn value(&mut self, rule: &Rule, raw: &Raw<'_>, mut value: Value) -> bool {
        match rule.field {
            Field::InputMessages | Field::OutputMessages => self.message_value(rule, &value),
            Field::System => {
                self.system = messages::system(&value);
                self.system.is_some()
            }
            Field::Input => set(&mut self.operation.input, value),
            Field::Output => set(&mut self.operation.output, value),
            Field::RawResponse => (value.is_object() || value.is_array()) && set(&mut self.operation.raw_response, value),
            Field::Kind | Field::Beside => false,
            field => {
                self.scalar(field, &mut value)
                    || self.tool(field, &mut value)
                    || self.facts(rule, raw, &mut value)
                    || self.training(field, &mut value)
                    || self.memory(field, &mut value)
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
                let name = value.as_str().map(|name| class_of_service(name).to_owned());
                operation.agent.name = name;
                operation.agent.name.is_some()
            }
            Field::AgentId => text(&mut operation.agent.id, value),
            Field::AgentDescription => text(&mut operation.agent.description, value),
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
                // Control flow that a framework writes as an error.
                let passes = value.as_str() == Some("passes");
                self.passes |= passes;
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
        let tool = self.operation.tool.get_or_insert_with(ToolUse::default);
        match field {
            Field::ToolName => text(&mut tool.name, value),
            Field::ToolDescription => text(&mut tool.description, value),
            Field::ToolCallId => tool.call_id.is_some() || text(&mut tool.call_id, value),
            Field::McpServer => text(&mut tool.mcp_server, value),
            Field::ToolParameters => normalize::is_schema(value) && set(&mut tool.parameters, std::mem::take(value)),
            Field::ToolArguments => {
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
                let name = rule.values.iter().find(|(word, _)| word == key).map_or(*key, |(_, name)| name);
                let value = match value {
                    Value::String(number) => normalize::integer(number)
                        .or_else(|| normalize::float(number))
                        .unwrap_or_else(|| value.clone()),
                    other => other.clone(),
                };
                let _ = operation.parameters.entry(name.to_owned()).or_insert(value);
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
                let search = operation.search.get_or_insert_with(Search::default);
                set(&mut search.query, query.unwrap_or(value).clone())
            }
            Field::SearchDocuments => {
                let search = operation.search.get_or_insert_with(Search::default);
                search.documents = documents(value);
                search.documents.is_some()
            }
            Field::SearchTopK => count(&mut operation.search.get_or_insert_with(Search::default).top_k, value),
            Field::SearchMatchCount => count(&mut operation.search.get_or_insert_with(Search::default).match_count, value),
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

    fn training(&mut self, field: Field, value: &mut Value) -> bool {
        let training = &mut self.operation.training;
        match field {
            Field::Reward => number(&mut training.reward, value),
            Field::Terminated => flag(&mut training.terminated, value),
            Field::Truncated => flag(&mut training.truncated, value),
            Field::PromptTokenIds => set(&mut training.prompt_token_ids, std::mem::take(value)),
            Field::CompletionTokenIds => set(&mut training.completion_token_ids, std::mem::take(value)),
            Field::Logprobs => set(&mut training.logprobs, std::mem::take(value)),
            Field::Optimize => flag(&mut training.optimize, value),
            Field::Ideal => set(&mut training.ideal, std::mem::take(value)),
            Field::Step => {
                training.step = value.as_i64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
                training.step.is_some()
            }
            _ => false,
        }
    }

    fn memory(&mut self, field: Field, value: &mut Value) -> bool {
        match field {
            Field::StateKey => return text(&mut self.state().key, value),
            Field::StateOldValue => return set(&mut self.state().old_value, std::mem::take(value)),
            Field::StateNewValue => return set(&mut self.state().new_value, std::mem::take(value)),
            Field::StateReason => return text(&mut self.state().reason, value),
            Field::InterruptPrompt => return text(&mut self.interrupt().prompt, value),
            Field::InterruptResponse => return set(&mut self.interrupt().response, std::mem::take(value)),
            Field::InterruptWait => return count(&mut self.interrupt().wait_ms, value),
            Field::ResourceAmount => return number(&mut self.impact().amount, value),
            Field::ResourceUnit => return text(&mut self.impact().unit, value),
            Field::ResourceBreakdown => return set(&mut self.impact().breakdown, std::mem::take(value)),
            _ => {}
        }
        let memory = self.operation.memory.get_or_insert_with(Memory::default);
        match field {
            Field::MemoryEntityType => text(&mut memory.entity_type, value),
            Field::MemoryEntityId => text(&mut memory.entity_id, value),
            Field::MemoryNamespace => set(&mut memory.namespace, std::mem::take(value)),
            Field::MemoryKey => text(&mut memory.key, value),
            Field::MemoryOperation => text(&mut memory.operation, value),
            Field::MemoryData => set(&mut memory.data, std::mem::take(value)),
            Field::MemoryChanges => set(&mut memory.changes, std::mem::take(value)),
            Field::MemoryQuery => set(&mut memory.query, std::mem::take(value)),
            Field::MemoryResults => set(&mut memory.results, std::mem::take(value)),
            Field::MemoryScores => set(&mut memory.scores, std::mem::take(value)),
            Field::MemoryTotalAvailable => {
                memory.total_available = value.as_i64();
                memory.total_available.is_some()
            }
            _ => false,
        }
    }

    fn state(&mut self) -> &mut StateChange {
        self.operation.state.get_or_insert_with(StateChange::default)
    }

    fn interrupt(&mut self) -> &mut Interrupt {
        self.operation.interrupt.get_or_insert_with(Interrupt::default)
    }

    fn impact(&mut self) -> &mut ResourceImpact {
        self.operation.resource_impact.get_or_insert_with(ResourceImpact::default)
    }

    /// The operation, with what several fields say together.
    pub(super) fn finish(mut self) -> (Box<Operation>, Vec<ChildResult>, bool) {
        self.finish_usage();
        self.finish_failure();
        self.finish_thoughts();
        self.finish_call_ids();
        let operation = &mut self.operation;
        if let (Some(system), Some(list)) = (self.system, &mut operation.input_messages)
            && !list.iter().any(|message| matches!(message.role, Role::System | Role::Developer))
        {
            list.insert(0, system);
        }
        if operation.finish_reason.is_none() {
            let said = operation
                .output_messages
                .as_ref()
                .and_then(|list| list.iter().find_map(|message| message.finish_reason.clone()));
            operation.finish_reason = said.as_deref().and_then(normalize::finish_reason);
        }
        let calls = operation
            .output_messages
            .as_ref()
            .is_some_and(|list| list.iter().any(|message| !message.tool_calls.is_empty()));
        if calls && operation.finish_reason.as_deref() == Some("stop") {
            operation.finish_reason = Some("tool_call".to_owned());
        }
        if self.handoff.0.is_some() || self.handoff.1.is_some() {
            let state = operation.state.get_or_insert_with(StateChange::default);
            let (from, to) = self.handoff;
            state.old_value = from.map(Value::String);
            state.new_value = to.map(Value::String);
        }
        if self.evaluation != Evaluation::default() {
            operation.evaluations.push(self.evaluation);
        }
        if operation.tool == Some(ToolUse::default()) {
            operation.tool = None;
        }
        if operation.memory == Some(Memory::default()) {
            operation.memory = None;
        }
        if operation.kind == Kind::Tool && operation.tool.is_none() {
            operation.tool = Some(ToolUse::default());
        }
        (self.operation, self.child_results, self.sums_usage)
    }

    /// Calls without an id, or with their item's, where the provider's body holds the call's own.
    fn finish_call_ids(&mut self) {
        fn pairs(value: &Value, depth: usize, out: &mut Vec<(String, String)>) {
            match value {
                Value::Array(items) if depth < 8 => items.iter().for_each(|item| pairs(item, depth + 1, out)),
                Value::Object(map) => {
                    if let (Some(Value::String(item)), Some(Value::String(call))) = (map.get("id"), map.get("call_id")) {
                        out.push((item.clone(), call.clone()));
                    } else if depth < 8 {
                        map.values().for_each(|inner| pairs(inner, depth + 1, out));
                    }
                }
                _ => {}
            }
        }
        let Some(body) = &self.operation.raw_response else { return };
        let Some(first) = self.operation.output_messages.as_mut().and_then(|list| list.first_mut()) else {
            return;
        };
        if first.tool_calls.is_empty() {
            return;
        }
        let mut known = Vec::new();
        pairs(body, 0, &mut known);
        for call in &mut first.tool_calls {
            if let Some((_, id)) = known.iter().find(|(item, _)| call.id.as_ref() == Some(item)) {
                call.id = Some(id.clone());
            }
        }
        if first.tool_calls.iter().any(|call| call.id.is_none())
            && let Some(told) = messages::read(body, Direction::Output).and_then(|told| messages::one_turn(told).into_iter().next())
            && told.tool_calls.len() == first.tool_calls.len()
        {
            for (call, told) in first.tool_calls.iter_mut().zip(told.tool_calls) {
                if call.id.is_none() && call.name == told.name {
                    call.id = told.id;
                }
            }
        }
    }

    /// Thoughts and words that only the provider's body holds: clients leave them out of the messages.
    fn finish_thoughts(&mut self) {
        let Some(first) = self.operation.output_messages.as_mut().and_then(|list| list.first_mut()) else {
            return;
        };
        let silent = !first.has_words();
        let thoughtless = !first.has_thoughts();
        if !silent && !thoughtless {
            return;
        }
        let Some(body) = self
            .operation
            .raw_response
            .as_ref()
            .and_then(|body| messages::read(body, Direction::Output))
        else {
            return;
        };
        if let Some(told) = messages::one_turn(messages::merge_thinking(body)).into_iter().next() {
            let (thoughts, rest): (Vec<Part>, Vec<Part>) = told
                .parts
                .into_iter()
                .partition(|part| matches!(part, Part::Reasoning { text: Some(_), .. }));
            if silent && !first.tool_calls.is_empty() && told.role == Role::Assistant {
                first.parts.extend(rest.into_iter().filter(|part| matches!(part, Part::Text(_))));
            }
            if thoughtless {
                let _ = first.parts.splice(0..0, thoughts);
            }
        }
    }

    fn finish_usage(&mut self) {
        let usage = &mut self.operation.usage;
        // A total of another dialect than the parts: less than its parts cannot be.
        let parts = usage.input.unwrap_or(0).saturating_add(usage.output.unwrap_or(0));
        usage.total = usage.total.filter(|total| *total >= parts);
        if self.usage_excludes_cache {
            let cache = usage.cache_read.unwrap_or(0).saturating_add(usage.cache_write.unwrap_or(0));
            usage.input = usage.input.map(|input| input.saturating_add(cache));
        }
        // The total tells whether the parts are counted inside input and output.
        let (Some(input), Some(output), Some(total)) = (usage.input, usage.output, usage.total) else {
            return;
        };
        let Some(gap) = total.checked_sub(input.saturating_add(output)).filter(|gap| *gap > 0) else {
            return;
        };
        let cache = usage.cache_read.unwrap_or(0).saturating_add(usage.cache_write.unwrap_or(0));
        let reasoning = usage.reasoning.unwrap_or(0);
        if gap == cache.saturating_add(reasoning) {
            usage.input = Some(input.saturating_add(cache));
            usage.output = Some(output.saturating_add(reasoning));
        } else if gap == cache {
            usage.input = Some(input.saturating_add(cache));
        } else if gap == reasoning {
            usage.output = Some(output.saturating_add(reasoning));
        }
    }

    fn finish_failure(&mut self) {
        if self.passes {
            return;
        }
        let status = &self.span.status;
        let excepted = !self.span.events.is_empty() && self.span.events.iter().any(|event| event.name == "exception") && status.code != 1;
        let short_error = self.failure.message.is_some();
        if !(status.is_error() || self.failed || excepted || short_error || self.failure.error_type.is_some()) {
            return;
        }
        let mut failure = std::mem::take(&mut self.failure);
        if status.is_error() && !status.message.trim().is_empty() {
            failure.message = Some(
                failure
                    .message
                    .filter(|words| status.message.contains(words.as_str()))
                    .unwrap_or_else(|| status.message.clone()),
            );
        }
        self.operation.failure = Some(failure);
    }
}

/// Adds the members whose names are new.
fn add(to: &mut Map<String, Value>, members: Map<String, Value>) {
    if to.is_empty() {
        *to = members;
        return;
    }
    for (name, member) in members {
        let _ = to.entry(name).or_insert(member);
    }
}

fn set(slot: &mut Option<Value>, value: Value) -> bool {
    *slot = Some(value);
    true
}

fn text(slot: &mut Option<String>, value: &mut Value) -> bool {
    *slot = match value {
        Value::String(text) if !text.is_empty() => Some(std::mem::take(text)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    };
    slot.is_some()
}

fn count(slot: &mut Option<u64>, value: &Value) -> bool {
    let number = match value {
        Value::String(text) => normalize::integer(text),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` saturates; counts are whole"
        )]
        Value::Number(number) => number
            .as_u64()
            .or_else(|| number.as_f64().filter(|float| *float >= 0.0).map(|float| float as u64))
            .map(Value::from),
        _ => None,
    };
    *slot = number.and_then(|number| number.as_u64());
    slot.is_some()
}

fn number(slot: &mut Option<f64>, value: &Value) -> bool {
    *slot = value
        .as_f64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
        .filter(|number| number.is_finite());
    slot.is_some()
}

fn flag(slot: &mut Option<bool>, value: &Value) -> bool {
    *slot = value.as_bool();
    slot.is_some()
}

/// `langchain4j.aiservices.<Class>.<method>` names a class; any other name is the name.
fn class_of_service(name: &str) -> &str {
    name.strip_prefix("langchain4j.aiservices.")
        .map_or(name, |rest| rest.rsplit_once('.').map_or(rest, |(class, _)| class))
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

fn tool_definitions(value: &Value) -> Vec<ToolDefinition> {
    let mut out = Vec::new();
    let items: &[Value] = match value {
        Value::Array(items) => items,
        one @ Value::Object(_) => std::slice::from_ref(one),
        _ => &[],
    };
    for item in items {
        let item = match item {
            Value::String(text) => match serde_json::from_str::<Value>(text) {
                Ok(parsed @ Value::Object(_)) => parsed,
                _ => {
                    out.push(ToolDefinition {
                        name: text.clone(),
                        ..ToolDefinition::default()
                    });
                    continue;
                }
            },
            other => other.clone(),
        };
        // OpenInference: {tool: {json_schema: text}}
        let item = match item.pointer("/tool/json_schema") {
            Some(Value::String(text)) => serde_json::from_str(text).unwrap_or(item),
            Some(inner) => inner.clone(),
            None => item,
        };
        if let Some(declarations) = item.get("functionDeclarations").or_else(|| item.get("function_declarations")) {
            out.extend(tool_definitions(declarations));
            continue;
        }
        let inner = item.get("function").filter(|inner| inner.is_object()).unwrap_or(&item);
        let Some(name) = inner.get("name").and_then(Value::as_str) else {
            continue;
        };
        let schema = [
            "parameters",
            "input_schema",
            "inputSchema",
            "parameters_json_schema",
            "parametersJsonSchema",
        ]
        .iter()
        .find_map(|key| inner.get(*key));
        let schema = schema
            .map(|schema| schema.get("json").unwrap_or(schema).clone())
            .map(messages::parse_deep);
        out.push(ToolDefinition {
            name: name.to_owned(),
            description: inner.get("description").and_then(Value::as_str).map(str::to_owned),
            parameters: schema,
        });
    }
    out
}

fn documents(value: &Value) -> Option<Vec<Document>> {
    let items = match value {
        Value::Array(items) => items,
        Value::Object(map) => {
            return ["documents", "output", "results", "records", "nodes"]
                .iter()
                .find_map(|key| map.get(*key))
                .and_then(documents);
        }
        _ => return None,
    };
    Some(items.iter().map(document).collect())
}

fn document(item: &Value) -> Document {
    let item = item.get("document").or_else(|| item.get("node")).unwrap_or(item);
    let Value::Object(map) = item else {
        let content = match item {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        return Document {
            content: Some(content),
            ..Document::default()
        };
    };
    let item = map
        .get("kwargs")
        .filter(|_| map.contains_key("lc"))
        .and_then(Value::as_object)
        .unwrap_or(map);
    let mut document = Document::default();
    for (key, value) in item {
        match (key.as_str(), value) {
            ("id" | "doc_id", Value::String(id)) => document.id = Some(id.clone()),
            ("id", Value::Number(id)) => document.id = Some(id.to_string()),
            ("content" | "page_content" | "text" | "pageContent", Value::String(words)) => document.content = Some(words.clone()),
            ("score" | "relevance_score", Value::Number(score)) => document.score = score.as_f64(),
            ("metadata", metadata) => match messages::parse_deep(metadata.clone()) {
                Value::Object(map) => document.metadata.extend(map),
                Value::Null => {}
                other => {
                    let _ = document.metadata.insert("metadata".to_owned(), other);
                }
            },
            ("type", Value::String(kind)) if kind == "Document" => {}
            (_, Value::Null) => {}
            (other, value) => {
                let _ = document.metadata.insert(other.to_owned(), value.clone());
            }
        }
    }
    if document.score.is_none() {
        document.score = document.metadata.get("score").and_then(Value::as_f64);
    }
    document
}

fn embedded_texts(value: &Value) -> Vec<String> {
    let Value::Array(items) = value else {
        return value.as_str().map(str::to_owned).into_iter().collect();
    };
    items
        .iter()
        .filter_map(|item| match item {
            Value::String(text) => Some(text.clone()),
            other => other
                .pointer("/embedding/text")
                .or_else(|| other.get("content"))
                .or_else(|| other.get("text"))
                .and_then(Value::as_str)
                .map(str::to_owned),
        })
        .collect()
}

fn evaluations(value: &Value) -> Vec<Evaluation> {
    let Value::Array(items) = value else { return Vec::new() };
    items
        .iter()
        .filter_map(|item| item.get("evaluation").or(Some(item)).and_then(Value::as_object))
        .map(|map: &Map<String, Value>| {
            let words = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
            Evaluation {
                name: words("name"),
                score: map.get("score").and_then(Value::as_f64),
                label: words("label"),
                explanation: words("explanation"),
                annotator_kind: words("annotator_kind"),
            }
        })
        .collect()
}
