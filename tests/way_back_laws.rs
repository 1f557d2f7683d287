//! Laws of the way back, over generated documents.
//!
//! * What `check` accepts is read.
//! * Document, spans, document: the same document, after what the format's own reader makes of it (aliases, JSON text as arguments).
//! * Document of one format, spans, document of another: each thing that was said, called, passed or given back is in the other
//!   document, or its loss is reported: by a loss of the span that tells it, or by a note with its place.
//! * What any format writes of it comes back too.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Map, Value, json};
use spanbridge::documents::Vocabulary;
use spanbridge::formats::{self, AnyFormat, Disassembled, Layout, NoteKind, Options};

/// The formats that are read.
fn read_formats() -> impl Iterator<Item = &'static AnyFormat> {
    formats::FORMATS.iter().filter(|format| format.is_read())
}

fn format(id: &str) -> &'static AnyFormat {
    formats::by_id(id).unwrap()
}

/// A document as it is sent, and as it must come back.
#[derive(Debug, Clone)]
struct Sent {
    sent: Value,
    back: Value,
}

impl From<Value> for Sent {
    fn from(document: Value) -> Self {
        Self {
            back: document.clone(),
            sent: document,
        }
    }
}

fn texts() -> impl Strategy<Value = String> {
    const ODD: &[&str] = &[
        "",
        " ",
        "null",
        "12",
        "{\"a\": 1}",
        "[1]",
        "~0/~1",
        "a\nb",
        "\u{0}",
        "\u{2028}",
        "Bogotá 東京 🛫",
        "\"q\"",
        "$.steps[0]",
        "e\u{301}",
    ];
    prop_oneof![proptest::sample::select(ODD).prop_map(str::to_owned), "[a-z]{1,8}", "\\PC{0,12}"]
}

/// Text that is not blank.
fn words() -> impl Strategy<Value = String> {
    texts().prop_map(|text| format!("w{text}"))
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        proptest::sample::select(&[1e-7, 1e300, 0.1, -0.0, 5e-324]).prop_map(Value::from),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((keys(), inner), 0..4).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn keys() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "id", "role", "content", "name", "query", "error", "span_id", "usage", "metadata", "a/b~c", "", "0", "ü x",
    ];
    prop_oneof![proptest::sample::select(KNOWN).prop_map(str::to_owned), "[a-z]{1,5}"]
}

fn objects() -> impl Strategy<Value = Value> {
    vec((keys(), values()), 0..4).prop_map(|pairs| Value::Object(pairs.into_iter().collect()))
}

/// Fields of which each may be missing.
fn some_of(all: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Map<String, Value>> {
    let fields: Vec<_> = all
        .into_iter()
        .map(|(name, value)| option::of(value).prop_map(move |value| value.map(|value| (name.to_owned(), value))))
        .collect();
    fields.prop_map(|fields| fields.into_iter().flatten().collect())
}

fn put(object: &mut Value, fields: Map<String, Value>) {
    object.as_object_mut().unwrap().extend(fields);
}

fn time(index: usize) -> String {
    format!("2026-03-02T09:00:{:02}.{:06}Z", index % 60, index * 37)
}

fn text_values() -> BoxedStrategy<Value> {
    texts().prop_map(Value::from).boxed()
}

fn counts() -> BoxedStrategy<Value> {
    (0_u32..9000).prop_map(Value::from).boxed()
}

fn chats() -> impl Strategy<Value = Value> {
    let message = (proptest::sample::select(&["system", "user", "assistant", "developer"]), texts())
        .prop_map(|(role, text)| json!({"role": role, "content": text}));
    vec(message, 0..4).prop_map(Value::from)
}

// ---------------------------------------------------------------- the formats

fn contextforge() -> impl Strategy<Value = Sent> {
    let step = (0..10, (words(), texts(), objects(), values()), (chats(), any::<bool>(), any::<bool>())).prop_flat_map(
        |(kind, (name, text, object, value), (chat, is_text, is_aliased))| {
            let body = match kind {
                0 => json!({"step_type": "user_input", "content": text}),
                1 => json!({"step_type": "llm_call", "model": name, "input": if is_text { text.into() } else { chat }, "output": if is_text { object } else { name.clone().into() }}),
                2 => json!({"step_type": "tool_call", "tool_name": name, "arguments": object, "result": value}),
                3 => json!({"step_type": "retrieval", "query": text, "results": [{"content": name, "score": 0.5, "metadata": object}], "match_count": 1}),
                4 => json!({"step_type": "memory_read", "query": text, "results": [value, name], "match_count": 2}),
                5 => json!({"step_type": "memory_write", "operation": "put", "data": object, "key": name}),
                6 => json!({"step_type": "state_change", "state_key": name, "new_value": value, "old_value": text}),
                7 => json!({"step_type": "interrupt", "prompt": text, "response": object, "wait_duration_ms": 5}),
                8 => json!({"step_type": "final_output", "content": value}),
                _ => json!({"step_type": "dream", "content": value, "about": name}),
            };
            let latency = ["llm_call", "tool_call"].contains(&body["step_type"].as_str().unwrap());
            let beside = some_of(vec![
                ("metadata", objects().boxed()),
                ("unknown", values().boxed()),
                (if latency { "latency_ms" } else { "other" }, counts()),
            ]);
            (Just(body), beside, option::of(0_usize..4), Just(is_aliased))
        },
    );
    let about = some_of(vec![
        ("metadata", objects().boxed()),
        (
            "task_info",
            some_of(vec![
                ("description", text_values()),
                ("goal", text_values()),
                ("input", objects().boxed()),
            ])
            .prop_map(Value::from)
            .boxed(),
        ),
        ("ended_at", Just(Value::from(time(59))).boxed()),
        ("unknown", values().boxed()),
    ]);
    (vec(step, 0..6), texts(), about).prop_map(|(steps, agent, about)| {
        let (mut sent, mut back) = (Vec::new(), Vec::new());
        for (index, (mut step, beside, parent, is_aliased)) in steps.into_iter().enumerate() {
            put(&mut step, beside);
            step["step_id"] = format!("s{index}").into();
            step["timestamp"] = time(index).into();
            if let Some(parent) = parent.filter(|parent| *parent < index) {
                step["parent_step_id"] = format!("s{parent}").into();
            }
            back.push(step.clone());
            // The aliases that the page's ingestion takes.
            if is_aliased && step["step_type"] == "llm_call" {
                let map = step.as_object_mut().unwrap();
                let model = map.shift_remove("model").unwrap();
                map.insert("llm.model_name".to_owned(), model);
            }
            sent.push(step);
        }
        let document = |steps: Vec<Value>| {
            let mut document = json!({"run_id": "5b8efff7-9803-4103-9269-b633813fc60c", "started_at": time(0), "agent_info": {"name": agent}, "steps": steps});
            put(&mut document, about.clone());
            document
        };
        Sent {
            sent: document(sent),
            back: document(back),
        }
    })
}

fn reflex() -> impl Strategy<Value = Sent> {
    let node = (
        words(),
        some_of(vec![
            ("input", prop_oneof![values(), chats()].boxed()),
            ("output", values().boxed()),
            (
                "kind",
                proptest::sample::select(&["reason", "tool", "retrieve", "agent", "other"])
                    .prop_map(Value::from)
                    .boxed(),
            ),
            ("step", any::<i32>().prop_map(Value::from).boxed()),
            ("tokens", counts()),
            ("error", words().prop_map(Value::from).boxed()),
            ("metadata", objects().boxed()),
            ("unknown", values().boxed()),
        ]),
        option::of(0_usize..5),
        any::<bool>(),
    );
    let about = some_of(vec![
        ("ideal", text_values()),
        ("metadata", objects().boxed()),
        ("tokens", counts()),
    ]);
    (vec(node, 0..6), about).prop_map(|(nodes, about)| {
        let list: Vec<Value> = nodes
            .into_iter()
            .enumerate()
            .map(|(index, (name, fields, parent, is_timed))| {
                let mut node = json!({"name": name, "id": format!("node {index}")});
                put(&mut node, fields);
                if let Some(parent) = parent.filter(|parent| *parent < index) {
                    node["parent_id"] = format!("node {parent}").into();
                }
                if is_timed {
                    let at = u32::try_from(index).unwrap();
                    node["started_at"] = (1_772_442_000.25 + f64::from(at)).into();
                    node["ended_at"] = (1_772_442_000.5 + f64::from(at)).into();
                }
                node
            })
            .collect();
        let mut sent = json!({"nodes": list});
        put(&mut sent, about);
        let back = sent.clone();
        Sent { sent, back }
    })
}

fn openreward() -> impl Strategy<Value = Sent> {
    let entry = (
        0..6,
        words(),
        prop_oneof![words().prop_map(Value::from), vec(values(), 1..3).prop_map(Value::from)],
        objects(),
        values(),
        (
            any::<bool>(),
            some_of(vec![
                ("metadata", objects().boxed()),
                ("raw", values().boxed()),
                ("extra", objects().boxed()),
            ]),
        ),
    );
    (vec(entry, 1..10), any::<bool>(), any::<bool>()).prop_map(|(entries, is_wrapped, is_stamped)| {
        let (mut sent, mut back) = (Vec::<Value>::new(), Vec::<Value>::new());
        let (mut message, mut calls) = (None::<String>, Vec::<(String, String)>::new());
        for (index, (kind, text, content, object, value, (is_text, beside))) in entries.into_iter().enumerate() {
            let id = format!("tb_{index}");
            let mut as_text = None;
            let (kinds, payload, parent) = match (kind, &message, calls.last()) {
                (1, Some(parent), _) => (["ACT", "THINK"], json!({"text": text}), Some(parent.clone())),
                (2 | 3, Some(parent), _) => {
                    let call_id = format!("call {index}");
                    calls.push((id.clone(), call_id.clone()));
                    as_text = is_text.then(|| object.to_string());
                    (
                        ["ACT", "TOOL_CALL"],
                        json!({"call_id": call_id, "name": text, "arguments": object}),
                        Some(parent.clone()),
                    )
                }
                (4, _, Some((parent, call_id))) => (
                    ["OBSERVE", "TOOL_RESULT"],
                    json!({"call_id": call_id, "output": value}),
                    Some(parent.clone()),
                ),
                (5, _, Some((parent, call_id))) => (
                    ["OBSERVE", "TOOL_RESULT"],
                    json!({"call_id": call_id, "delta": text, "seq": index}),
                    Some(parent.clone()),
                ),
                _ => {
                    message = Some(id.clone());
                    let role = ["system", "user", "assistant"][index % 3];
                    (["MESSAGE", "MESSAGE"], json!({"role": role, "content": content}), None)
                }
            };
            let mut block = json!({"id": id, "trace_id": "tr_laws", "block_type": kinds[0], "sub_type": kinds[1], "payload": payload});
            if let Some(parent) = parent {
                block["parent_block_id"] = parent.into();
            }
            if is_stamped {
                block["created_at"] = time(index).into();
            }
            put(&mut block, beside);
            back.push(block.clone());
            if let Some(text) = as_text {
                block["payload"]["arguments"] = text.into();
            }
            sent.push(block);
        }
        let document = |blocks: Vec<Value>| if is_wrapped { json!({ "blocks": blocks }) } else { blocks.into() };
        Sent {
            sent: document(sent),
            back: document(back),
        }
    })
}

fn invariant() -> impl Strategy<Value = Sent> {
    let entry = (
        0..7,
        texts(),
        words(),
        objects(),
        any::<bool>(),
        some_of(vec![
            ("unknown", values().boxed()),
            (
                "timestamp",
                prop_oneof![Just(Value::from("yesterday")), Just(Value::from(time(3)))].boxed(),
            ),
            ("metadata", plain_metadata().boxed()),
        ]),
    );
    (vec(entry, 1..10), 0..3).prop_map(|(entries, container)| {
        let (mut sent, mut back) = (Vec::<Value>::new(), Vec::<Value>::new());
        let mut open: Vec<String> = Vec::new();
        for (index, (kind, text, name, object, is_text, beside)) in entries.into_iter().enumerate() {
            let call = |arguments: Value| json!({"id": format!("call {index}"), "type": "function", "function": {"name": name, "arguments": arguments}});
            let arguments = if is_text { object.to_string().into() } else { object.clone() };
            let (mut this, mut that) = match kind {
                0 => twice(json!({"role": "system", "content": text})),
                1 => twice(json!({"role": "user", "content": [{"type": "text", "text": text}]})),
                2 | 3 => {
                    open.push(format!("call {index}"));
                    let turn = |arguments: Value| json!({"role": "assistant", "content": text, "tool_calls": [call(arguments)]});
                    (turn(arguments), turn(object.clone()))
                }
                4 if index % 2 == 0 => {
                    open.push(format!("call {index}"));
                    (call(arguments), call(object.clone()))
                }
                5 if !open.is_empty() => twice(json!({"role": "tool", "tool_call_id": open.remove(0), "content": text})),
                _ => twice(json!({"role": "assistant", "content": name})),
            };
            if this.get("role").is_some() {
                put(&mut this, beside.clone());
                put(&mut that, beside);
            }
            sent.push(this);
            back.push(that);
        }
        let document = |events: Vec<Value>| match container {
            0 => Value::from(events),
            1 => json!({"messages": [events], "annotations": null, "dataset": "set-1", "metadata": [{"k": 1}]}),
            _ => json!({"messages": events, "metadata": {"k": [1]}, "annotations": [{"content": "good", "address": "messages[0]", "extra_metadata": {"score": 0.5}}]}),
        };
        Sent {
            sent: document(sent),
            back: document(back),
        }
    })
}

/// Metadata that says nothing which the readers know as something that must have a certain form.
fn plain_metadata() -> impl Strategy<Value = Value> {
    objects().prop_map(|mut object| {
        object.as_object_mut().unwrap().shift_remove("server");
        object
    })
}

fn twice(value: Value) -> (Value, Value) {
    (value.clone(), value)
}

fn synth() -> impl Strategy<Value = Sent> {
    const PAGE: [&str; 5] = ["user_input", "agent_response", "action", "result", "observation"];
    const STORE: [&str; 5] = ["user", "assistant", "tool_use", "tool_result", "system"];
    let event = (
        0..3,
        (words(), texts(), texts()),
        objects(),
        values(),
        some_of(vec![
            ("event_metadata", vec(values(), 0..2).prop_map(Value::from).boxed()),
            ("unknown", values().boxed()),
        ]),
    );
    let message = (0_usize..5, texts(), objects(), any::<bool>(), option::of(0..3));
    (vec(event, 0..5), vec(message, 0..6), any::<bool>(), objects(), words()).prop_map(|(events, messages, is_page, metadata, session)| {
        let seconds = |index: usize| json!({"event_time": 1_772_442_000.5 + f64::from(u32::try_from(index).unwrap()), "message_time": null});
        let events: Vec<Value> = events
            .into_iter()
            .enumerate()
            .map(|(index, (kind, (name, text, answer), object, value, beside))| {
                let mut event = json!({"system_instance_id": format!("x:{name}"), "time_record": seconds(index), "metadata": {"k": object, "step_id": "turn_1"}});
                let own = match kind {
                    0 => json!({"actions": [index]}),
                    1 => json!({"reward": 0.5, "terminated": false, "truncated": false, "system_state_before": null, "system_state_after": {"result": value}}),
                    _ => {
                        let part = |text: &str| json!([{"type": "text", "text": text}]);
                        let call = json!({"name": name, "arguments_json": object.to_string(), "arguments": object, "call_id": format!("c{index}"), "metadata": {}});
                        json!({"model_name": "m", "provider": "p", "input_tokens": 1, "call_records": [{
                            "call_id": format!("r{index}"), "api_type": "chat_completions", "model_name": "m",
                            "input_messages": [{"role": "user", "parts": part(&text), "metadata": {}}],
                            "output_messages": [{"role": "assistant", "parts": part(&answer), "metadata": {}}],
                            "output_tool_calls": [call]}]})
                    }
                };
                put(&mut event, own.as_object().unwrap().clone());
                put(&mut event, beside);
                event
            })
            .collect();
        let messages: Vec<Value> = messages
            .into_iter()
            .enumerate()
            .map(|(index, (kind, text, object, is_text, call))| {
                let content = if is_text { json!({"text": text, "json_payload": null}) } else { json!({"text": null, "json_payload": object.to_string()}) };
                let mut metadata = json!({"step_id": "turn_1"});
                if let Some(call) = call {
                    metadata["call_id"] = format!("c{call}").into();
                }
                json!({"content": content, "message_type": if is_page { PAGE[kind] } else { STORE[kind] }, "time_record": seconds(index), "metadata": metadata})
            })
            .collect();
        let step = json!({"step_id": "turn_1", "step_index": 0, "timestamp": time(0), "turn_number": 1, "events": events, "markov_blanket_messages": messages, "step_metadata": {}, "completed_at": null});
        let document = json!({"session_id": session, "created_at": time(0), "session_time_steps": [step], "event_history": events, "markov_blanket_message_history": messages, "metadata": metadata, "session_metadata": null});
        document.into()
    })
}

// ---------------------------------------------------------------- the laws

fn read(id: &str, sent: &Value) -> Result<Disassembled, TestCaseError> {
    let checked = formats::check(Some(format(id)), &sent.to_string(), &Options::default()).unwrap();
    let read = formats::disassemble(Some(format(id)), &sent.to_string());
    read.map_err(|error| {
        let is_refused = !checked.violations.is_empty();
        match is_refused {
            true => TestCaseError::reject("it breaks a rule"),
            false => TestCaseError::fail(format!("check accepts what cannot be read: {error}")),
        }
    })
}

fn comes_back(id: &str, document: &Sent) -> Result<(), TestCaseError> {
    let read = read(id, &document.sent)?;
    let runs = Vocabulary::built_in().runs(read.spans, Vec::new());
    prop_assert_eq!(runs.len(), 1);
    let written = format(id).assemble(&runs, &Options::default(), Layout::Compact);
    prop_assert_eq!(written.len(), 1);
    let have: Value = serde_json::from_str(&written[0].document).unwrap();
    prop_assert_eq!(&have, &document.back);
    Ok(())
}

/// The texts that a value holds.
fn leaves(value: &Value, out: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            out.insert(text.clone());
            // JSON text is told as the value that it is.
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                leaves(&inner, out);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| leaves(value, out)),
        Value::Object(map) => map.values().for_each(|value| leaves(value, out)),
        _ => {}
    }
}

/// Gives every text that somebody said, passed or gave back a word of its own; these words, with their places.
fn mark(value: &mut Value, at: &str, is_said: bool, marks: &mut Vec<(String, String)>) {
    const SAID: [&str; 11] = [
        "content",
        "text",
        "arguments",
        "result",
        "output",
        "input",
        "query",
        "data",
        "prompt",
        "response",
        "system_state_after",
    ];
    match value {
        Value::String(text)
            if is_said
                && !matches!(text.trim(), "" | "text" | "user" | "assistant" | "system" | "developer")
                && serde_json::from_str::<Value>(text).is_err() =>
        {
            let word = format!("mark{}z", marks.len());
            *text = format!("{word} {text}");
            marks.push((word, at.to_owned()));
        }
        Value::Array(list) => {
            for (index, value) in list.iter_mut().enumerate() {
                mark(value, &format!("{at}/{index}"), is_said, marks);
            }
        }
        Value::Object(map) => {
            for (key, value) in map
                .iter_mut()
                .filter(|(key, _)| !["metadata", "type", "role", "raw", "extra", "unknown"].contains(&key.as_str()))
            {
                let place = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                mark(value, &place, is_said || SAID.contains(&key.as_str()), marks);
            }
        }
        _ => {}
    }
}

fn is_told_or_reported(from: &str, document: &Value) -> Result<(), TestCaseError> {
    let mut document = document.clone();
    let mut marks = Vec::new();
    mark(&mut document, "", false, &mut marks);
    let read = read(from, &document)?;
    let noted = |place: &str| {
        read.notes
            .iter()
            .any(|note| note.kind == NoteKind::Beside && (place.starts_with(&note.path) || note.path.starts_with('$')))
    };
    let runs = Vocabulary::built_in().runs(read.spans.clone(), Vec::new());
    for to in read_formats().filter(|to| to.id != from) {
        let mut texts = BTreeSet::new();
        let mut lost = Vec::new();
        let documents = to.assemble(&runs, &Options::default(), Layout::Compact);
        if documents.is_empty() {
            // A run that the format cannot represent has no document; `convert` names it.
            continue;
        }
        for written in documents {
            leaves(&serde_json::from_str(&written.document).unwrap(), &mut texts);
            lost.extend(written.losses.into_iter().filter(|loss| !loss.what.starts_with("spanbridge.")));
        }
        for (word, place) in &marks {
            let is_told = texts.iter().any(|text| text.contains(word.as_str()));
            let tells = |loss: &spanbridge::formats::Loss| {
                read.spans
                    .iter()
                    .filter(|span| loss.span_id.is_none_or(|id| span.span_id == id))
                    .any(|span| format!("{:?}", span.attributes).contains(word.as_str()))
            };
            prop_assert!(
                is_told || noted(place) || lost.iter().any(tells),
                "{from} to {}: {word} at {place} is neither told nor reported; losses {lost:?}",
                to.id
            );
        }
    }
    Ok(())
}

fn what_is_written_of_it_comes_back(from: &str, document: &Value) -> Result<(), TestCaseError> {
    let runs = Vocabulary::built_in().runs(read(from, document)?.spans, Vec::new());
    for to in read_formats() {
        for written in to.assemble(&runs, &Options::default(), Layout::Compact) {
            let sent: Value = serde_json::from_str(&written.document).unwrap();
            comes_back(to.id, &sent.into())?;
        }
    }
    Ok(())
}

macro_rules! laws {
    ($($format:ident),*) => {$(
        mod $format {
            use super::*;

            proptest! {
                #![proptest_config(ProptestConfig { cases: cases(), max_global_rejects: 100_000, ..ProptestConfig::default() })]

                #[test]
                fn comes_back(document in super::$format()) {
                    super::comes_back(stringify!($format), &document)?;
                }

                #[test]
                fn what_any_format_writes_of_it_comes_back(document in super::$format()) {
                    super::what_is_written_of_it_comes_back(stringify!($format), &document.sent)?;
                }

                #[test]
                fn other_formats_tell_it_or_report_its_loss(document in super::$format()) {
                    super::is_told_or_reported(stringify!($format), &document.sent)?;
                }
            }
        }
    )*};
}

laws!(contextforge, reflex, openreward, synth, invariant);

/// 24 documents of each format; 2,000 with `SPANBRIDGE_FULL=1`.
fn cases() -> u32 {
    if crate::long_form::is_long_form() { 2_000 } else { 24 }
}
