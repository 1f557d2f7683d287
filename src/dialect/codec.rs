//! Decodes attribute values.

mod client_messages;
mod content;
mod empty;
mod kept_text;
mod opened;
mod parts_of_text;
mod paths;
mod split_off;

use serde_json::Value;

use super::mend::Mended;
use super::messages::parse_deep;
use super::raw::Raw;
use super::rule::{Codec, Field, Rule};
use super::texts::Opened;
use super::{flat, mend, normalize, streams};
use crate::operation::{Kind, Message, Recorded, Role};
use crate::span::{AnyValue, UnixNanos};
pub(super) use client_messages::members_read;
use client_messages::{
    bracketed_texts, listed_events, listed_prompts, message_members, message_of_event, response_members, results_after_calls, role_lines,
    tool_marks,
};
pub(super) use content::{has_content, may_be_words};
use empty::is_empty;
use kept_text::{is_null_input, is_only_printed, json_text, text_to_keep};
pub(super) use kept_text::{recorded, takes_text};
use opened::{ends, json};
use parts_of_text::{event_span, has_object, model_of_id, name_of_tool, printed_input, snake_case, without_mark, words_then_calls};
pub(super) use paths::at;
use paths::at_paths;
pub(super) use split_off::is_body as is_split_off;

/// A decoded value.
#[derive(Debug, Clone)]
pub(super) enum Decoded {
    /// A JSON value.
    Value(Value),
    /// A list or map built from flattened keys.
    Tree(flat::Tree),
    /// The recorded text, not parsed yet.
    Recorded(Recorded),
    /// Messages.
    Messages(Vec<Message>),
    /// A time.
    Time(UnixNanos),
}

/// Decodes the value at a rule's place and keeps it for later readers of the same text; `None` if it is of no use. `mended` receives the
/// faults of JSON that was repaired.
pub(super) fn decode(rule: &Rule, raw: &Raw<'_>, opened: Option<&mut Opened>, mended: &mut Mended) -> Option<Decoded> {
    match rule.codec {
        Codec::MessageEvent => {
            let Raw::Events(events) = raw else { return None };
            let messages = results_after_calls(events.iter().flat_map(message_of_event).collect());
            return (!messages.is_empty()).then_some(Decoded::Messages(messages));
        }
        Codec::SplitOff => {
            let Raw::Body(body, beside) = raw else { return None };
            return split_off::decode(rule.field, body, beside).map(|found| match found {
                split_off::Found::Messages(messages) => Decoded::Messages(messages),
                split_off::Found::Value(value) => Decoded::Value(value),
            });
        }
        Codec::Flat | Codec::FlatChoices => {
            let Raw::Group(group) = raw else { return None };
            if matches!(rule.field, Field::InputMessages | Field::OutputMessages)
                && let Some(mut messages) = super::messages::flattened(group.iter())
            {
                if rule.codec == Codec::FlatChoices {
                    super::messages::number_choices(&mut messages);
                }
                return (!messages.is_empty()).then_some(Decoded::Messages(messages));
            }
            return Some(Decoded::Tree(flat::tree(group.placed())));
        }
        Codec::MessageMembers => {
            let Raw::Group(group) = raw else { return None };
            return message_members(*group).map(|message| Decoded::Messages(vec![message]));
        }
        Codec::ResponseMembers => {
            let Raw::Group(group) = raw else { return None };
            return response_members(*group).map(Decoded::Messages);
        }
        Codec::RoleLines => return role_lines(&text_of(raw)?).map(Decoded::Messages),
        Codec::ToolMarks => {
            let list = at_paths_or_whole(rule, json(rule, raw, mended)?)?;
            return tool_marks(&list).map(Decoded::Messages);
        }
        Codec::BracketedTexts => {
            let role = if rule.field == Field::OutputMessages {
                Role::Assistant
            } else {
                Role::Other(String::new())
            };
            return bracketed_texts(&text_of(raw)?, &role).map(Decoded::Messages);
        }
        Codec::PlainText => {
            let text = text_of(raw)?;
            return (!text.trim().is_empty()).then(|| Decoded::Value(Value::String(text)));
        }
        Codec::Time => {
            return match raw {
                Raw::Event(event) => Some(Decoded::Time(event.time)),
                Raw::Value(_, AnyValue::String(text)) => normalize::iso_time(text.trim_matches('"')).map(Decoded::Time),
                _ => None,
            };
        }
        _ => {}
    }
    let value = match rule.codec {
        Codec::Json | Codec::ByMime => {
            if json_text(raw).is_some_and(|text| is_only_printed(rule, text)) {
                return None;
            }
            if let Some(text) = text_to_keep(rule, raw, opened.as_deref()) {
                return Some(Decoded::Recorded(Recorded::text(text.to_owned())));
            }
            let Some(opened) = opened else {
                let whole = json(rule, raw, mended)?;
                return of_whole(rule, of_stream(&whole, mended).unwrap_or(whole));
            };
            if opened.value.is_none() {
                let mut said = Mended::default();
                let whole = match json_text(raw) {
                    Some(text) => mend::parse_noting(text, ends(rule), &mut said)
                        .or_else(|| super::python::printed(text))
                        .unwrap_or_else(|| text.into()),
                    None => json(rule, raw, &mut said)?,
                };
                opened.is_cut = said.cut;
                said.cut &= !is_result_as_given(rule, &whole);
                mended.add(said);
                let whole = of_stream(&whole, mended).unwrap_or(whole);
                if !whole.is_object() && !whole.is_array() {
                    // A rule with another codec may read other text differently.
                    return of_whole(rule, whole);
                }
                opened.value = Some(whole);
            }
            let whole = opened.value.as_ref()?;
            if opened.is_cut
                && let Some(text) = text_of(raw)
                && is_result_as_given(rule, whole)
            {
                return useful(rule, text.into());
            }
            if !rule.paths.is_empty() {
                at_paths(rule, whole)?.clone()
            } else if opened.askers == 0 {
                opened.value.take()?
            } else {
                whole.clone()
            }
        }
        _ => return of_whole(rule, value(rule, raw, mended)?),
    };
    useful(rule, value)
}

/// Whether a text that starts like JSON is a tool result to be passed on as it is, even if incomplete, because it is not a client's
/// wrapping that lost its end.
fn is_result_as_given(rule: &Rule, opened: &Value) -> bool {
    rule.field == Field::ToolResult && rule.paths.is_empty() && !super::result::is_wrapped(opened)
}

/// Whether information is lost if this rule decodes nothing from its place. Unknown words, or a time before the span, are not a loss.
pub(super) fn is_lost(rule: &Rule, raw: &Raw<'_>, decoded: Option<&Decoded>) -> bool {
    let value = match raw {
        Raw::Value(_, value) => value,
        Raw::JsonText(_) => return rule.field != Field::Beside,
        // Messages whose members are all known but that have no content do not form a tree.
        Raw::Group(_) => return matches!(decoded, Some(Decoded::Tree(_))),
        Raw::Name(_) | Raw::Event(_) | Raw::Events(_) | Raw::Body(..) => return false,
    };
    let for_words = !rule.values.is_empty() || matches!(rule.field, Field::Provider | Field::ModelResponse);
    let is_word = for_words && scalar_text(value).is_some();
    rule.field != Field::Beside && !is_word && !matches!(decoded, Some(Decoded::Time(_))) && has_content(value)
}

/// The kind of operation named at a rule's place.
pub(super) fn kind(rule: &Rule, raw: &Raw<'_>) -> Option<Kind> {
    if let (Codec::Text, [], [_, ..]) = (rule.codec, rule.paths, rule.values) {
        match raw {
            Raw::Value(_, AnyValue::String(text)) => return Kind::from_name(rule.word(text)?),
            Raw::Name(text) => return Kind::from_name(rule.word(text)?),
            _ => {}
        }
    }
    // Any value will do.
    if let ([("*", kind)], true) = (rule.values, rule.is_of_unknown()) {
        let there = match raw {
            Raw::Value(_, value) => !value.is_empty(),
            _ => true,
        };
        return Kind::from_name(kind).filter(|_| there);
    }
    if let ([("*", kind)], Raw::Event(_)) = (rule.values, raw) {
        return Kind::from_name(kind);
    }
    match decode(rule, raw, None, &mut Mended::default())? {
        Decoded::Value(Value::String(word)) => Kind::from_name(&word),
        _ => None,
    }
}

/// The response, if it was recorded as the chunks of its stream.
fn of_stream(whole: &Value, mended: &mut Mended) -> Option<Value> {
    match whole {
        Value::Array(_) => streams::response(whole),
        Value::String(text) => streams::response_of_text(text, mended),
        _ => None,
    }
}

fn at_paths_or_whole(rule: &Rule, whole: Value) -> Option<Value> {
    if rule.paths.is_empty() {
        Some(whole)
    } else {
        at_paths(rule, &whole).cloned()
    }
}

fn of_whole(rule: &Rule, whole: Value) -> Option<Decoded> {
    useful(rule, at_paths_or_whole(rule, whole)?)
}

fn useful(rule: &Rule, mut value: Value) -> Option<Decoded> {
    if !rule.values.is_empty() {
        value = mapped(rule, value)?;
    }
    if value.as_str().is_some_and(|text| is_null_input(rule, text)) {
        return None;
    }
    // Clients write these words for a parameter, name or id that was not set. In content they may be real text.
    if !rule.field.is_content() && value.as_str().is_some_and(normalize::is_unstated) {
        return None;
    }
    (!is_empty(&value) || rule.field.keeps_empty() && value.is_string()).then_some(Decoded::Value(value))
}

fn text_of(raw: &Raw<'_>) -> Option<String> {
    match raw {
        Raw::Value(_, value) => Some(match value {
            AnyValue::String(text) => text.clone(),
            other => scalar_text(other)?,
        }),
        Raw::Name(text) | Raw::JsonText(text) => Some((*text).to_owned()),
        Raw::Event(event) => event.body.and_then(AnyValue::as_str).map(str::to_owned),
        Raw::Group(_) | Raw::Events(_) | Raw::Body(..) => None,
    }
}

fn scalar_text(value: &AnyValue) -> Option<String> {
    match value {
        AnyValue::String(text) => Some(text.clone()),
        AnyValue::Bool(flag) => Some(flag.to_string()),
        AnyValue::Int(number) => Some(number.to_string()),
        AnyValue::Double(number) => Some(number.to_string()),
        AnyValue::Empty | AnyValue::Array(_) | AnyValue::KvList(_) | AnyValue::Bytes(_) => None,
    }
}

fn value(rule: &Rule, raw: &Raw<'_>, mended: &mut Mended) -> Option<Value> {
    match rule.codec {
        Codec::Text => Some(Value::String(text_of(raw)?)),
        Codec::BeforeSlash => text_of(raw)?.split_once('/').map(|(head, _)| head.into()),
        Codec::SnakeCase => Some(snake_case(&text_of(raw)?).into()),
        Codec::PrintedInput => super::python::read(printed_input(raw)?),
        Codec::NameOfTool => Some(name_of_tool(&text_of(raw)?).into()),
        Codec::ClassOfMethod => text_of(raw)?.rsplit('.').nth(1).map(Value::from),
        Codec::EventSpan => event_span(&text_of(raw)?, rule.field == Field::ToolName).map(Value::from),
        Codec::MarkedJson => Some(parse_deep(without_mark(&text_of(raw)?).into())),
        Codec::WordsThenCalls => words_then_calls(&text_of(raw)?),
        Codec::KnownText => text_of(raw).filter(|text| !normalize::is_unknown(text)).map(Value::from),
        Codec::ModelOfId => Some(model_of_id(&text_of(raw)?).into()),
        Codec::LastWord => text_of(raw)?.split_whitespace().last().map(Value::from),
        Codec::EventList => {
            let Value::Array(items) = json(rule, raw, mended)? else {
                return None;
            };
            if rule.field == Field::System {
                return listed_prompts(items);
            }
            Some(Value::Array(listed_events(items, rule.field == Field::OutputMessages)))
        }
        Codec::FilledJson => json(rule, raw, mended).filter(|value| match value {
            Value::Object(map) => !map.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        }),
        Codec::JsonObject => json(rule, raw, mended).filter(|value| {
            let found = if rule.paths.is_empty() {
                Some(value)
            } else {
                at_paths(rule, value)
            };
            match found {
                Some(Value::Object(_)) => true,
                // The whole input as text: JSON from LangChain for JavaScript, a printed dict from Python.
                Some(Value::String(text)) => value.as_object().is_some_and(|members| members.len() == 1) && has_object(text),
                _ => false,
            }
        }),
        Codec::Int => match raw {
            Raw::Value(_, AnyValue::Int(number)) => Some((*number).into()),
            other => number(other, normalize::integer),
        },
        Codec::Float => match raw {
            Raw::Value(_, AnyValue::Double(number)) => serde_json::Number::from_f64(*number).map(Value::Number),
            other => number(other, normalize::float),
        },
        Codec::Bool => match raw {
            Raw::Value(_, AnyValue::Bool(flag)) => Some((*flag).into()),
            other => match text_of(other)?.to_ascii_lowercase().as_str() {
                "true" | "1" => Some(true.into()),
                "false" | "0" => Some(false.into()),
                _ => None,
            },
        },
        Codec::Money => text_of(raw)?.strip_suffix("USD").and_then(normalize::float),
        Codec::CommaSeparated => Some(text_of(raw)?.split(',').map(|part| Value::from(part.trim())).collect()),
        Codec::Texts => texts(raw),
        Codec::NotSchema => json(rule, raw, mended).filter(|value| !super::normalize::is_schema(value)),
        Codec::JsonText => Some(parse_deep(json(rule, raw, mended)?)),
        Codec::Python => super::python::read(&text_of(raw)?),
        Codec::ListOfJson => match raw {
            Raw::Value(_, AnyValue::Array(items)) => Some(items.iter().map(|item| parse_deep(item.to_json())).collect()),
            // Backends without lists store them as JSON text.
            other => Some(match json(rule, other, mended)? {
                Value::Array(items) => items.into_iter().map(parse_deep).collect(),
                only => Value::Array(vec![only]),
            }),
        },
        Codec::Map => match raw {
            Raw::Group(group) => Some(Value::Object(
                group.iter().map(|(key, value)| (key.to_owned(), value.to_json())).collect(),
            )),
            _ => None,
        },
        Codec::MapOfJson => match raw {
            Raw::Group(group) => Some(Value::Object(
                group
                    .iter()
                    .map(|(key, value)| (key.to_owned(), parse_deep(value.to_json())))
                    .collect(),
            )),
            _ => None,
        },
        Codec::MapOfJsonText => match raw {
            Raw::Group(group) => {
                let value = |value: &AnyValue| match value {
                    AnyValue::String(text) => mend::parse(text).unwrap_or_else(|| text.as_str().into()),
                    other => other.to_json(),
                };
                Some(Value::Object(
                    group.iter().map(|(key, found)| (key.to_owned(), value(found))).collect(),
                ))
            }
            _ => None,
        },
        Codec::Count => match raw {
            Raw::Group(group) => Some(flat::count(group.iter().map(|(key, _)| key)).into()),
            Raw::Value(_, AnyValue::Array(items)) => Some((items.len() as u64).into()),
            _ => Some(1.into()),
        },
        // These were opened above.
        Codec::Json | Codec::ByMime | Codec::Flat | Codec::FlatChoices => None,
        Codec::MessageEvent
        | Codec::SplitOff
        | Codec::MessageMembers
        | Codec::ResponseMembers
        | Codec::RoleLines
        | Codec::BracketedTexts
        | Codec::ToolMarks
        | Codec::PlainText
        | Codec::Time => None,
    }
}

fn number(raw: &Raw<'_>, parse: impl Fn(&str) -> Option<Value>) -> Option<Value> {
    match raw {
        Raw::Value(_, AnyValue::Int(number)) => parse(&number.to_string()),
        Raw::Value(_, AnyValue::Double(number)) => number.is_finite().then(|| parse(&number.to_string())).flatten(),
        other => parse(text_of(other)?.trim()),
    }
}

fn texts(raw: &Raw<'_>) -> Option<Value> {
    match raw {
        Raw::Value(_, AnyValue::Array(items)) => Some(items.iter().filter_map(scalar_text).map(Value::from).collect()),
        other => {
            let text = text_of(other)?;
            match mend::parse(&text) {
                Some(Value::Array(items)) => Some(Value::Array(items)),
                // Koog writes '[tool_calls]', which is not JSON.
                _ => {
                    let inside = text
                        .trim()
                        .strip_prefix('[')
                        .and_then(|rest| rest.strip_suffix(']'))
                        .unwrap_or(&text);
                    Some(inside.split(',').map(|word| Value::from(word.trim())).collect())
                }
            }
        }
    }
}

/// The rule's own word for a value. If the rule lists words, a value outside the list is ignored.
fn mapped(rule: &Rule, value: Value) -> Option<Value> {
    if matches!(rule.field, Field::Parameter | Field::FormatExtras | Field::Metadata) {
        return Some(value);
    }
    let text = match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    rule.word(&text).map(Value::from)
}
