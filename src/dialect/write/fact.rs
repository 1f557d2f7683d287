//! What an operation says for each field.

use serde_json::{Map, Value};

use crate::dialect::rule::Field;
use crate::operation::{Document, Evaluation, Form, Kind, Message, Operation, Recorded, Role, ToolDefinition};

/// A field's value, as it stands in the operation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fact<'a> {
    Text(&'a str),
    Count(u64),
    Int(i64),
    Number(f64),
    Flag(bool),
    Texts(&'a [String]),
    Value(&'a Value),
    Map(&'a Map<String, Value>),
    /// JSON text that nobody opened.
    JsonText(&'a str),
    Messages(&'a [Message]),
    /// Messages, the first of which is the system prompt.
    WithSystem(&'a [Message]),
    System(&'a Message),
    Documents(&'a [Document]),
    Tools(&'a [ToolDefinition]),
    /// That many entries stand below a prefix.
    Entries(u64),
    Evaluations(&'a [Evaluation]),
}

/// The fact; `None` if the operation does not say it, or another field says it.
///
/// A new [`Field`] does not compile until it is said here how it is written.
pub(super) fn of(operation: &Operation, field: Field) -> Option<Fact<'_>> {
    let tool = operation.tool.as_deref();
    let search = operation.search.as_deref();
    let memory = operation.memory.as_deref();
    let state = operation.state.as_deref();
    let interrupt = operation.interrupt.as_deref();
    let impact = operation.resource_impact.as_deref();
    let training = &*operation.training;
    let (prompt, task, content_type) = (&*operation.prompt, &*operation.task, &*operation.content_type);
    let (usage, cost) = (&operation.usage, &operation.cost);
    let agent_of = |slot: fn(&crate::operation::StateChange) -> &Option<Value>| {
        let value = state.and_then(|state| slot(state).as_ref())?;
        (operation.kind == Kind::Handoff).then(|| value.as_str())?
    };
    match field {
        Field::ModelRequested => text(&operation.model.requested),
        Field::ModelResponse => text(&operation.model.response),
        Field::Provider => text(&operation.model.provider),
        Field::InputMessages => operation.input_messages.as_deref().map(|list| match list.first() {
            Some(first) if first.role == Role::System => Fact::WithSystem(list),
            _ => Fact::Messages(list),
        }),
        Field::System => operation.input_messages.as_deref().and_then(system).map(Fact::System),
        Field::OutputMessages => operation.output_messages.as_deref().map(Fact::Messages),
        Field::Input => recorded(&operation.input),
        Field::Output => recorded(&operation.output),
        Field::RawResponse => value(&operation.raw_response),
        Field::UsageInput => count(usage.input),
        Field::UsageOutput => count(usage.output),
        Field::UsageTotal => count(usage.total),
        Field::UsageCacheRead => count(usage.cache_read),
        Field::UsageCacheWrite => count(usage.cache_write),
        Field::UsageReasoning => count(usage.reasoning),
        Field::CostTotal => number(cost.total),
        Field::CostInput => number(cost.input),
        Field::CostOutput => number(cost.output),
        Field::Parameters => map(&operation.parameters),
        Field::FinishReason => text(&operation.finish_reason),
        Field::FirstTokenSeconds => number(operation.time_to_first_token),
        Field::ResponseId => text(&operation.response_id),
        Field::ToolName => text(&tool?.name),
        Field::ToolDescription => text(&tool?.description),
        Field::ToolParameters => value(&tool?.parameters),
        Field::ToolCallId => text(&tool?.call_id),
        Field::ToolArguments => value(&tool?.arguments),
        Field::ToolResult => value(&tool?.result),
        Field::McpServer => text(&tool?.mcp_server),
        Field::ToolDefinitions => list(&operation.tool_definitions).map(Fact::Tools),
        Field::SearchQuery => value(&search?.query),
        Field::SearchDocuments => search?.documents.as_deref().map(Fact::Documents),
        Field::SearchTopK => count(search?.top_k),
        Field::SearchMatchCount => count(search?.match_count),
        Field::EmbeddedTexts => list(&operation.embedded_texts).map(Fact::Texts),
        // Texts that were written as entries are counted by who reads them.
        Field::VectorCount => operation
            .vector_count
            .filter(|count| *count != operation.embedded_texts.len() as u64)
            .map(Fact::Entries),
        Field::AgentName => text(&operation.agent.name),
        Field::AgentId => text(&operation.agent.id),
        Field::AgentDescription => text(&operation.agent.description),
        Field::AgentVersion => text(&operation.agent.version),
        Field::AgentFramework => text(&operation.agent.framework),
        Field::InputType => text(&content_type.input),
        Field::OutputFormat => text(&content_type.output),
        Field::HandoffFrom => agent_of(|state| &state.old_value).map(Fact::Text),
        Field::HandoffTo => agent_of(|state| &state.new_value).map(Fact::Text),
        Field::SessionId => text(&operation.session_id),
        Field::UserId => text(&operation.user_id),
        Field::Tags => list(&operation.tags).map(Fact::Texts),
        Field::FailureType => text(&operation.failure.as_ref()?.error_type),
        Field::PromptId => text(&prompt.id),
        Field::PromptVersion => text(&prompt.version),
        Field::PromptTemplate => text(&prompt.template),
        Field::PromptVariables => value(&prompt.variables),
        Field::Workflow => text(&operation.workflow),
        Field::GraphNode => text(&operation.graph_node),
        Field::Step => training.step.map(Fact::Int),
        Field::Evaluations => list(&operation.evaluations).map(Fact::Evaluations),
        Field::TaskDescription => text(&task.description),
        Field::TaskGoal => text(&task.goal),
        Field::TaskInput => value(&task.input),
        Field::StateKey => text(&state?.key),
        Field::StateOldValue => value(&state?.old_value).filter(|_| agent_of(|state| &state.old_value).is_none()),
        Field::StateNewValue => value(&state?.new_value).filter(|_| agent_of(|state| &state.new_value).is_none()),
        Field::StateReason => text(&state?.reason),
        Field::InterruptPrompt => text(&interrupt?.prompt),
        Field::InterruptResponse => value(&interrupt?.response),
        Field::InterruptWait => count(interrupt?.wait_ms),
        Field::MemoryEntityType => text(&memory?.entity_type),
        Field::MemoryEntityId => text(&memory?.entity_id),
        Field::MemoryNamespace => value(&memory?.namespace),
        Field::MemoryKey => text(&memory?.key),
        Field::MemoryOperation => text(&memory?.operation),
        Field::MemoryData => value(&memory?.data),
        Field::MemoryChanges => value(&memory?.changes),
        Field::MemoryQuery => value(&memory?.query),
        Field::MemoryResults => value(&memory?.results),
        Field::MemoryScores => value(&memory?.scores),
        Field::MemoryTotalAvailable => memory?.total_available.map(Fact::Int),
        Field::ResourceAmount => number(impact?.amount),
        Field::ResourceUnit => text(&impact?.unit),
        Field::ResourceBreakdown => value(&impact?.breakdown),
        Field::Reward => number(training.reward),
        Field::Terminated => training.terminated.map(Fact::Flag),
        Field::Truncated => training.truncated.map(Fact::Flag),
        Field::PromptTokenIds => value(&training.prompt_token_ids),
        Field::CompletionTokenIds => value(&training.completion_token_ids),
        Field::Logprobs => value(&training.logprobs),
        Field::Optimize => training.optimize.map(Fact::Flag),
        Field::Ideal => value(&training.ideal),
        Field::FormatExtras => map(&operation.format_extras),
        Field::Metadata => map(&operation.metadata),
        // Written before all others.
        Field::Kind => None,
        // Other ways to record what is written above.
        Field::Parameter
        | Field::UsageInputExcludingCache
        | Field::FirstTokenMillis
        | Field::FirstTokenTime
        | Field::EvaluationName
        | Field::EvaluationScore
        | Field::EvaluationLabel
        | Field::EvaluationExplanation => None,
        // The span's status and exception event say it.
        Field::FailureMessage | Field::FailureStacktrace | Field::FailureFlag => None,
        // How a client counts, where it puts results, which call asked; the run has moved them to their places.
        Field::UsageRunningSum | Field::ToldWith | Field::ToolAskedBy | Field::ToolResultOfChild | Field::Beside => None,
        // The messages are told whole.
        Field::ContinuedSpan | Field::ContinuedMessages | Field::OutputCalls => None,
    }
}

/// The system prompt, where a key of its own can hold it: one first message of plain texts with others behind it, and no other
/// like it.
fn system(messages: &[Message]) -> Option<&Message> {
    let is_prompt = |message: &&Message| matches!(message.role, Role::System | Role::Developer);
    let first = messages.first().filter(|first| first.role == Role::System)?;
    let plain = first.name.is_none() && first.tool_calls.is_empty() && first.finish_reason.is_none() && !first.has_media();
    (plain && messages.len() > 1 && messages.iter().filter(is_prompt).count() == 1).then_some(first)
}

/// Whether the first message is written as the system prompt.
pub(super) fn first_is_system(messages: &[Message]) -> bool {
    system(messages).is_some()
}

fn text(slot: &Option<String>) -> Option<Fact<'_>> {
    slot.as_deref().map(Fact::Text)
}

fn value(slot: &Option<Value>) -> Option<Fact<'_>> {
    slot.as_ref().map(Fact::Value)
}

fn count(slot: Option<u64>) -> Option<Fact<'static>> {
    slot.map(Fact::Count)
}

fn number(slot: Option<f64>) -> Option<Fact<'static>> {
    slot.map(Fact::Number)
}

fn list<T>(items: &[T]) -> Option<&[T]> {
    (!items.is_empty()).then_some(items)
}

fn map(map: &Map<String, Value>) -> Option<Fact<'_>> {
    (!map.is_empty()).then_some(Fact::Map(map))
}

fn recorded(recorded: &Recorded) -> Option<Fact<'_>> {
    Some(match recorded.form()? {
        Form::Value(value) => Fact::Value(value),
        Form::Text(text) => Fact::JsonText(text),
    })
}
