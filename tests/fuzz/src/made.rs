//! Spans and log records out of bytes: keys, names and scopes that the dialects' rules wait for, values that they do not.

use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use spanbridge::dialect::{Location, Registry, Rule};
use spanbridge::formats::Options;
use spanbridge::span::{AnyValue, Attributes, Event, LogRecord, Resource, Scope, Span, SpanId, SpanKind, TraceId, UnixNanos};

/// What the bytes made.
#[derive(Debug, Default)]
pub struct Made {
    /// At most a dozen spans.
    pub spans: Vec<Span>,
    /// At most half a dozen records.
    pub logs: Vec<LogRecord>,
    /// Choices of the formats.
    pub options: Options,
}

/// Makes spans of bytes; bytes that end early make fewer.
pub fn of(data: &[u8]) -> Made {
    let mut made = Made::default();
    let _ = fill(&mut made, &mut Unstructured::new(data));
    made
}

const OPTIONS: [(&str, &[&str]); 18] = [
    ("adk.intermediate", &["lists"]),
    ("adk.subagents", &["cases"]),
    ("atif.subagents", &["files", "inline"]),
    ("contextforge.embeddings", &["retrieval"]),
    ("deepeval.cases", &["run", "conversation"]),
    ("invariant.container", &["push", "jsonl", "x"]),
    ("invariant.dataset", &["d"]),
    ("invariant.subagents", &["own"]),
    ("invariant.tools", &["event"]),
    ("invariant.reasoning", &["prepend"]),
    ("messages.flavour", &["openai"]),
    ("messages.rows", &["run", "turn"]),
    ("messages.tools", &["text"]),
    ("openreward.subagents", &["inline"]),
    ("openreward.limit_msg_bytes", &["8", "1", "0", "none"]),
    ("reflex.optimize", &["p"]),
    ("synth.messages", &["store"]),
    ("synth.decisions", &["events"]),
];

/// Segments of flattened keys, and keys of objects.
const WORDS: [&str; 40] = [
    "0",
    "1",
    "2",
    "10",
    "18446744073709551615",
    "message",
    "role",
    "content",
    "contents",
    "type",
    "text",
    "message_content",
    "tool_calls",
    "tool_call",
    "function",
    "name",
    "arguments",
    "id",
    "tool_call_id",
    "parts",
    "image",
    "url",
    "reasoning",
    "thinking",
    "result",
    "response",
    "tool_use",
    "input",
    "output",
    "document",
    "score",
    "metadata",
    "kwargs",
    "messages",
    "value",
    "json_schema",
    "finish_reason",
    "usage",
    "error",
    "",
];

/// Values that rules and codecs compare with.
const TEXTS: [&str; 35] = [
    "user",
    "assistant",
    "system",
    "tool",
    "function",
    "text",
    "tool_call",
    "tool_use",
    "tool_result",
    "tool_call_response",
    "thinking",
    "reasoning",
    "image_url",
    "call_1",
    "call_2",
    "search",
    "transfer_to_x",
    "gpt-4o",
    "session",
    "LLM",
    "TOOL",
    "AGENT",
    "CHAIN",
    "chat",
    "invoke_agent",
    "execute_tool",
    "true",
    "0",
    "-1",
    "NaN",
    "2026-01-01T10:00:00Z",
    "[]",
    "{}",
    "null",
    "",
];

fn fill(made: &mut Made, u: &mut Unstructured<'_>) -> Result<()> {
    if u.ratio(1, 4)? {
        let (name, values) = u.choose(&OPTIONS)?;
        if let Ok(chosen) = Options::of([((*name).to_owned(), (*u.choose(values)?).to_owned())]) {
            made.options = std::mem::take(&mut made.options).with(chosen);
        }
    }
    let count = u.int_in_range(1..=12u8)?;
    for number in 1..=count {
        made.spans.push(span(u, number)?);
        if u.ratio(1, 16)? {
            // Another body under an id that is there.
            made.spans.push(span(u, 1)?);
        }
    }
    for _ in 0..u.int_in_range(0..=6u8)? {
        made.logs.push(record(u)?);
    }
    Ok(())
}

fn trace_id(number: u8) -> TraceId {
    TraceId::from_bytes(&[number.max(1); 16]).expect("not zero")
}

fn span(u: &mut Unstructured<'_>, number: u8) -> Result<Span> {
    let rule = rule(u)?;
    let trace = if u.ratio(1, 8)? { 2 } else { 1 };
    let mut span = Span::new(trace_id(trace), SpanId::from_bytes(&[number; 8]).expect("not zero"), "span");
    // Any span may be the parent: itself, a later one, one that never came.
    let parent = if u.ratio(3, 4)? {
        u.int_in_range(0..=number)?
    } else {
        u.int_in_range(0..=14)?
    };
    span.parent = SpanId::from_bytes(&[parent; 8]);
    span.name = words(u, rule.when.name)?;
    span.kind = SpanKind::from_number(u.int_in_range(0..=6)?);
    (span.start, span.end) = (time(u)?, time(u)?);
    span.status.code = u.int_in_range(0..=3)?;
    if u.ratio(1, 4)? {
        span.status.message = text(u)?;
    }
    span.scope = Arc::new(Scope {
        name: words(u, rule.when.scope)?,
        ..Scope::default()
    });
    span.resource = Arc::new(Resource {
        attributes: if u.ratio(1, 4)? { attributes(u, 2)? } else { Attributes::default() },
        ..Resource::default()
    });
    span.attributes = attributes(u, 10)?;
    fulfil(u, rule, &mut span.attributes)?;
    for _ in 0..u.int_in_range(0..=2u8)? {
        span.events.push(event(u)?);
    }
    Ok(span)
}

/// Adds what a rule's condition asks for, and its own key.
fn fulfil(u: &mut Unstructured<'_>, rule: &Rule, attributes: &mut Attributes) -> Result<()> {
    for (key, value) in rule.when.attribute {
        attributes.push(*key, value.trim_end_matches('*'));
    }
    if !rule.when.has.is_empty() {
        let key = *u.choose(rule.when.has)?;
        attributes.push(key.replace('*', "0"), value(u, 3)?);
    }
    if rule.location == Location::Span {
        let value = if rule.values.is_empty() {
            value(u, 4)?
        } else {
            AnyValue::from(u.choose(rule.values)?.0.replace('*', "x"))
        };
        attributes.push(key(u, rule)?, value);
    }
    Ok(())
}

fn rule<'r>(u: &mut Unstructured<'_>) -> Result<&'r Rule> {
    u.choose(Registry::built_in().rules())
}

/// Times lie close together, so that spans overlap, hold one another and begin at once.
fn time(u: &mut Unstructured<'_>) -> Result<UnixNanos> {
    Ok(UnixNanos(match u.int_in_range(0..=15u8)? {
        0 => 0,
        1 => u64::MAX,
        2 => u.arbitrary()?,
        _ => 1_767_261_600_000_000_000 + u64::from(u.int_in_range(0..=30u8)?) * 1_000_000,
    }))
}

/// A text that one of these patterns fits, or another.
fn words(u: &mut Unstructured<'_>, patterns: &[&'static str]) -> Result<String> {
    if patterns.is_empty() || u.ratio(1, 4)? {
        return text(u);
    }
    Ok(u.choose(patterns)?.replace('*', "x"))
}

fn key(u: &mut Unstructured<'_>, rule: &Rule) -> Result<String> {
    let mut key = rule.key.to_owned();
    if rule.prefix {
        if !key.is_empty() && !key.ends_with(['.', ':']) && u.ratio(1, 2)? {
            key.push('.');
        }
        for at in 0..u.int_in_range(1..=5u8)? {
            if at > 0 {
                key.push('.');
            }
            key.push_str(u.choose(&WORDS)?);
        }
    }
    Ok(key)
}

fn attributes(u: &mut Unstructured<'_>, most: u8) -> Result<Attributes> {
    let mut attributes = Attributes::default();
    let mut last: Option<&Rule> = None;
    for _ in 0..u.int_in_range(0..=most)? {
        // Flattened lists want several keys of one rule.
        let rule = match last.filter(|rule| rule.prefix) {
            Some(rule) if u.ratio(2, 3)? => rule,
            _ => rule(u)?,
        };
        last = Some(rule);
        fulfil(u, rule, &mut attributes)?;
        if rule.location != Location::Span {
            attributes.push(key(u, rule)?, value(u, 3)?);
        }
    }
    Ok(attributes)
}

fn event(u: &mut Unstructured<'_>) -> Result<Event> {
    Ok(Event {
        time: time(u)?,
        name: event_name(u)?,
        attributes: event_attributes(u)?,
        dropped_attributes: 0,
    })
}

fn event_name(u: &mut Unstructured<'_>) -> Result<String> {
    let names: Vec<&str> = Registry::built_in()
        .rules()
        .iter()
        .filter_map(|rule| match rule.location {
            Location::Event(name) | Location::Log(name) | Location::LogNear(name) => Some(name),
            _ => None,
        })
        .collect();
    Ok(u.choose(&names)?.replace('*', "x"))
}

/// Keys of rules that look at events and records.
fn event_attributes(u: &mut Unstructured<'_>) -> Result<Attributes> {
    let rules: Vec<&Rule> = Registry::built_in()
        .rules()
        .iter()
        .filter(|rule| {
            matches!(
                rule.location,
                Location::Event(_) | Location::Log(_) | Location::LogNear(_) | Location::LogScope(_)
            )
        })
        .collect();
    let mut attributes = Attributes::default();
    for _ in 0..u.int_in_range(0..=5u8)? {
        let rule = u.choose(&rules)?;
        attributes.push(key(u, rule)?, value(u, 4)?);
    }
    Ok(attributes)
}

fn record(u: &mut Unstructured<'_>) -> Result<LogRecord> {
    let name = event_name(u)?;
    let mut attributes = event_attributes(u)?;
    let event_name = if u.arbitrary()? {
        name
    } else {
        attributes.push("event.name", name);
        String::new()
    };
    let ids = u.int_in_range(0..=14u8)?;
    let scopes = rule(u)?.when.scope;
    Ok(LogRecord {
        trace_id: u.ratio(3, 4)?.then(|| trace_id(1)),
        span_id: SpanId::from_bytes(&[ids; 8]),
        time: Some(time(u)?).filter(|time| time.0 != 0),
        observed_time: Some(time(u)?).filter(|time| time.0 != 0),
        severity: u.int_in_range(0..=24)?,
        severity_text: String::new(),
        event_name,
        body: value(u, 4)?,
        attributes,
        dropped_attributes: 0,
        flags: 0,
        resource: Arc::default(),
        scope: Arc::new(Scope {
            name: words(u, scopes)?,
            ..Scope::default()
        }),
    })
}

fn text(u: &mut Unstructured<'_>) -> Result<String> {
    if u.ratio(3, 4)? {
        Ok((*u.choose(&TEXTS)?).to_owned())
    } else {
        Ok(u.arbitrary::<&str>()?.chars().take(24).collect())
    }
}

/// A value of any kind; most are text, and most of that is written by some codec.
fn value(u: &mut Unstructured<'_>, depth: u8) -> Result<AnyValue> {
    Ok(match u.int_in_range(0..=15u8)? {
        0 => AnyValue::Empty,
        1 => AnyValue::Bool(u.arbitrary()?),
        2 => AnyValue::Int(u.arbitrary()?),
        3 => AnyValue::Int(u.int_in_range(-2..=100)?),
        4 => AnyValue::Double(u.arbitrary()?),
        5 => AnyValue::Bytes(u.arbitrary::<&[u8]>()?.iter().take(12).copied().collect()),
        6 if depth > 0 => AnyValue::Array((0..u.int_in_range(0..=3u8)?).map(|_| value(u, depth - 1)).collect::<Result<_>>()?),
        7 if depth > 0 => {
            let pair = |u: &mut Unstructured<'_>| Ok(((*u.choose(&WORDS)?).to_owned(), value(u, depth - 1)?));
            AnyValue::KvList((0..u.int_in_range(0..=3u8)?).map(|_| pair(u)).collect::<Result<_>>()?)
        }
        8 | 9 => AnyValue::from(text(u)?),
        _ => AnyValue::from(written(u)?),
    })
}

/// A structure as text: JSON, or Python's way of writing one; sometimes cut, sometimes with a byte changed.
fn written(u: &mut Unstructured<'_>) -> Result<String> {
    let python = u.ratio(1, 5)?;
    let mut out = String::new();
    structure(u, 4, python, &mut out)?;
    if u.ratio(1, 8)? {
        let cut = u.choose_index(out.len() + 1)?;
        out = out.chars().take(cut).collect();
    }
    Ok(out)
}

fn structure(u: &mut Unstructured<'_>, depth: u8, python: bool, out: &mut String) -> Result<()> {
    match u.int_in_range(0..=9u8)? {
        0 => out.push_str(if python { "None" } else { "null" }),
        1 => out.push_str(if python { "True" } else { "true" }),
        2 => out.push_str(&u.arbitrary::<i64>()?.to_string()),
        3 => out.push_str(u.choose(&["1e400", "-0.0", "18446744073709551616", "1e-9", "0.5"])?),
        4..=6 if depth > 0 => message(u, depth, python, out)?,
        7 if depth > 0 => list(u, depth, python, out)?,
        _ => quote(&text(u)?, python, out),
    }
    Ok(())
}

fn list(u: &mut Unstructured<'_>, depth: u8, python: bool, out: &mut String) -> Result<()> {
    out.push('[');
    for at in 0..u.int_in_range(0..=3u8)? {
        if at > 0 {
            out.push_str(", ");
        }
        structure(u, depth - 1, python, out)?;
    }
    out.push(']');
    Ok(())
}

/// An object with keys that messages have; in Python sometimes a call of a class (`HumanMessage(content='..')`).
fn message(u: &mut Unstructured<'_>, depth: u8, python: bool, out: &mut String) -> Result<()> {
    let class = if python && u.arbitrary()? {
        Some(*u.choose(&[
            "HumanMessage",
            "AIMessage",
            "ToolMessage",
            "ChatMessage",
            "TextBlock",
            "ToolUseBlock",
            "x",
        ])?)
    } else {
        None
    };
    out.push_str(class.unwrap_or_default());
    out.push(if class.is_some() { '(' } else { '{' });
    for at in 0..u.int_in_range(0..=4u8)? {
        if at > 0 {
            out.push_str(", ");
        }
        let key = *u.choose(&WORDS)?;
        if class.is_some() {
            out.push_str(key);
            out.push('=');
        } else {
            quote(key, python, out);
            out.push_str(": ");
        }
        if u.ratio(1, 6)? {
            // A structure written into a structure.
            let mut inner = String::new();
            structure(u, depth - 1, python, &mut inner)?;
            quote(&inner, python, out);
        } else {
            structure(u, depth - 1, python, out)?;
        }
    }
    out.push(if class.is_some() { ')' } else { '}' });
    Ok(())
}

fn quote(text: &str, python: bool, out: &mut String) {
    if python {
        out.push('\'');
        out.push_str(&text.replace('\\', "\\\\").replace('\'', "\\'"));
        out.push('\'');
    } else {
        out.push_str(&serde_json::Value::from(text).to_string());
    }
}
