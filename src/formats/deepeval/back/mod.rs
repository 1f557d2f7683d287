//! Test cases to spans.
//!
//! | case | span |
//! |---|---|
//! | case | a trace: its id is taken from `name`, else a hash of the case |
//! | `input`; a user's turn | words passed to the next model call |
//! | `tools_called` | calls of a model, and their executions; a call with `reasoning` begins another model call |
//! | `actual_output`; an assistant's turn | the last model call, or a separate one |
//! | `retrieval_context` | a retrieval before the model calls |
//! | `expected_output` | the root's reference output |
//! | counts and cost | of the model call if there is only one, else of the root |
//! | `additional_metadata` | session, agent, system prompts, offered tools, history, resource; the rest is metadata of the root |
//! | `context`, `expected_tools`, `comments`, `scenario` and the like | metadata of the root |
//!
//! A case has no times: all are marked as unknown.

mod turn;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::formats::back::{At, Dialogue, Result, TraceBuilder, read_run_facts, trace_id};
use crate::operation::{Message, Role, ToolDefinition};
use crate::span::TraceId;

use turn::{AnswerContext, Turns, list, texts};

/// Members of a case that are read as operations, or have their own field.
const READ_MEMBERS: [&str; 12] = [
    "name",
    "input",
    "actual_output",
    "expected_output",
    "tools_called",
    "retrieval_context",
    "input_token_count",
    "output_token_count",
    "token_cost",
    "completion_time",
    "additional_metadata",
    "turns",
];

/// The trace of a case.
pub(in crate::formats) fn read(at: &At<'_>) -> Result<Vec<TraceBuilder>> {
    at.object()?;
    let case = snake(at.value);
    let whole = at.value;
    let at = &at.below("", &case);
    let case = at.object()?;
    let recorded = at.value.get("name").and_then(Value::as_str).and_then(TraceId::from_hex);
    let id = recorded.unwrap_or_else(|| trace_id("deepeval", &whole.to_string()));
    let mut builder = TraceBuilder::new("deepeval", id, opened(whole, case));
    let mut about = at.object_of("additional_metadata")?;
    let models = about.get("models").and_then(Value::as_array);
    let model = models
        .filter(|models| models.len() == 1)
        .and_then(|models| models.first()?.as_str());
    let model = model.map(str::to_owned);
    let mut take = |key: &str| about.shift_remove(key);
    let tools = definitions(take("tools"));
    let (system, history) = (take("system"), take("history"));
    if model.is_some() {
        take("models");
    }
    let dialogue = Dialogue::new(&mut builder, 0);
    let mut turns = Turns::new(&mut builder, dialogue, tools, model);
    for prompt in list(system.as_ref()).iter().filter_map(Value::as_str) {
        turns.dialogue.hear(Message::text(Role::System, prompt), at);
    }
    turns.before(at, list(history.as_ref()));
    let said = AnswerContext {
        earlier: texts(take("earlier_outputs")),
        thoughts: texts(take("reasoning")),
    };
    if at.get("turns").is_some() || at.get("scenario").is_some() {
        let list = at.need("turns")?;
        turns.all(&list)?;
        turns.builder.options.push(("deepeval.cases".to_owned(), "conversation".to_owned()));
    } else {
        let input = at.need("input")?;
        turns.add_user_words(&input)?;
        turns.answers(at, "actual_output", said)?;
    }
    turns.counts(at);
    turns.dialogue.finish(&mut builder);
    root(case, about, &mut builder);
    Ok(vec![builder])
}

/// The document that an export must reproduce if turns were stored as text: with the turns parsed.
fn opened(whole: &Value, case: &Map<String, Value>) -> Option<Value> {
    let turns = case.get("turns").filter(|turns| turns.is_array())?;
    let mut document = whole.clone();
    let text = document.get_mut("turns").filter(|text| text.is_string())?;
    *text = turns.clone();
    Some(document)
}

/// Converts keys to snake case where DeepEval uses both spellings: data sets have `inputParameters` next to `tools_called`.
fn snake(case: &Value) -> Cow<'_, Value> {
    const KEYS: [(&str, &str); 9] = [
        ("actualOutput", "actual_output"),
        ("expectedOutput", "expected_output"),
        ("toolsCalled", "tools_called"),
        ("inputParameters", "input_parameters"),
        ("retrievalContext", "retrieval_context"),
        ("inputTokenCount", "input_token_count"),
        ("outputTokenCount", "output_token_count"),
        ("tokenCost", "token_cost"),
        ("additionalMetadata", "additional_metadata"),
    ];
    let name = |key: &str| KEYS.iter().find(|(camel, _)| *camel == key).map(|(_, snake)| *snake);
    let matches = |key: &str| ["turns", "toolsCalled", "tools_called"].contains(&key);
    match case {
        Value::Array(list) => Cow::Owned(list.iter().map(|item| snake(item).into_owned()).collect()),
        // Turns in a table cell.
        Value::String(text) if text.trim_start().starts_with("[{") => match serde_json::from_str(text) {
            Ok(opened) => Cow::Owned(snake(&opened).into_owned()),
            Err(_) => Cow::Borrowed(case),
        },
        Value::Object(map) if map.keys().any(|key| name(key).is_some() || matches(key)) => {
            let members = map.iter().map(|(key, value)| {
                let value = if matches(key) { snake(value).into_owned() } else { value.clone() };
                (name(key).map_or_else(|| key.clone(), str::to_owned), value)
            });
            Cow::Owned(members.collect::<Map<_, _>>().into())
        }
        other => Cow::Borrowed(other),
    }
}

/// Reads the case's facts about the whole run.
fn root(case: &Map<String, Value>, mut about: Map<String, Value>, builder: &mut TraceBuilder) {
    if let Some(Value::Object(run)) = about.get("run").cloned() {
        about.shift_remove("run");
        read_run_facts(run, builder);
    }
    let trace = builder.trace_id.to_string();
    let Some(root) = builder.operation(0) else { return };
    let mut word = |key: &str| match about.get(key) {
        Some(Value::String(text)) => {
            let text = text.clone();
            about.shift_remove(key);
            Some(text)
        }
        _ => None,
    };
    let (agent, session, of_trace) = (word("agent"), word("session_id"), word("trace_id"));
    root.agent.name = root.agent.name.take().or(agent);
    if let Some(name) = &root.agent.name {
        root.name.clone_from(name);
    }
    // Cases of one run share a session if nothing else joins them.
    let joined = of_trace.filter(|of_trace| *of_trace != trace);
    root.session_id = root.session_id.take().or(session).or(joined);
    if let Some(expected) = case.get("expected_output").filter(|expected| !expected.is_null()) {
        root.training.ideal = Some(expected.clone());
    }
    let name = case.get("name").and_then(Value::as_str);
    if let Some(name) = name.filter(|name| TraceId::from_hex(name.split(':').next().unwrap_or_default()).is_none()) {
        root.metadata.insert("case".to_owned(), name.into());
    }
    let others = case
        .iter()
        .filter(|(key, value)| !READ_MEMBERS.contains(&key.as_str()) && !value.is_null());
    root.metadata.extend(others.map(|(key, value)| (key.clone(), value.clone())));
    root.metadata.extend(about);
}

fn definitions(value: Option<Value>) -> Vec<ToolDefinition> {
    let tools = list(value.as_ref()).iter();
    let tools = tools.filter_map(|tool| crate::formats::back::tool_definition(tool.get("function").unwrap_or(tool)));
    tools
        .map(|tool| ToolDefinition {
            description: tool.description.filter(|text| !text.is_empty()),
            ..tool
        })
        .collect()
}
