//! OpenReward's default limits: one byte below, at and above each. The spans are made in memory: a limit is 2 MB.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use serde_json::{Value, json};
use spanbridge::documents::Vocabulary;
use spanbridge::formats::{Layout, LossReason, Options, by_id};
use spanbridge::span::{Span, SpanId, TraceId, UnixNanos};

const MESSAGE: usize = 65_536;
const THINK: usize = 32_768;
const ARGUMENTS: usize = 262_144;
const RESULT: usize = 2_097_152;

fn span(number: u8, parent: Option<u8>, start: u64, end: u64, attributes: &[(&str, String)]) -> Span {
    let id = |number: u8| SpanId::from_hex(&format!("00000000000000{number:02x}")).unwrap();
    let mut span = Span::new(TraceId::from_hex("5b8efff798038103d269b633813fc60c").unwrap(), id(number), "span");
    span.parent = parent.map(id);
    span.start = UnixNanos(1_767_261_600_000_000_000 + start * 1_000_000);
    span.end = UnixNanos(1_767_261_600_000_000_000 + end * 1_000_000);
    for (key, value) in attributes {
        span.attributes.push(*key, value.as_str());
    }
    span
}

/// The blocks of a run in which one model call thinks and calls a tool, and the next one answers.
fn blocks(question: &str, thought: &str, arguments: &str, result: &str, options: &Options) -> (Vec<Value>, Vec<LossReason>) {
    let said = |parts: Value| json!([{"role": "assistant", "parts": parts}]);
    let ask = json!({"role": "user", "parts": [{"type": "text", "content": question}]});
    let call = json!({"type": "tool_call", "id": "call_1", "name": "work", "arguments": serde_json::from_str::<Value>(arguments).unwrap()});
    let turn = json!([{"type": "reasoning", "content": thought}, call]);
    let answer = json!({"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": result}]});
    let chat = |input: Value, output: Value| {
        [
            ("gen_ai.operation.name", "chat".to_owned()),
            ("gen_ai.request.model", "gpt-4o".to_owned()),
            ("gen_ai.input.messages", input.to_string()),
            ("gen_ai.output.messages", output.to_string()),
        ]
    };
    let first = chat(json!([ask]), said(turn.clone()));
    let second = chat(
        json!([ask, {"role": "assistant", "parts": turn}, answer]),
        said(json!([{"type": "text", "content": "Done."}])),
    );
    let tool = [
        ("gen_ai.operation.name", "execute_tool".to_owned()),
        ("gen_ai.tool.name", "work".to_owned()),
        ("gen_ai.tool.call.id", "call_1".to_owned()),
        ("gen_ai.tool.call.arguments", arguments.to_owned()),
        ("gen_ai.tool.call.result", result.to_owned()),
    ];
    let agent = [
        ("gen_ai.operation.name", "invoke_agent".to_owned()),
        ("gen_ai.agent.name", "a".to_owned()),
    ];
    let spans = vec![
        span(1, None, 0, 100, &agent),
        span(2, Some(1), 10, 20, &first),
        span(3, Some(1), 30, 40, &tool),
        span(4, Some(1), 50, 60, &second),
    ];
    let runs = Vocabulary::built_in().runs(spans, Vec::new());
    let mut assembled = by_id("openreward").unwrap().assemble(&runs, options, Layout::Compact);
    assert_eq!(assembled.len(), 1);
    let assembled = assembled.remove(0);
    let document: Value = serde_json::from_str(&assembled.document).unwrap();
    let list = document.as_array().or_else(|| document["blocks"].as_array()).unwrap().clone();
    (list, assembled.losses.iter().map(|loss| loss.reason).collect())
}

fn of<'a>(blocks: &'a [Value], sub_type: &str) -> Vec<&'a Value> {
    blocks.iter().filter(|block| block["sub_type"] == sub_type).collect()
}

fn splits(losses: &[LossReason]) -> usize {
    losses.iter().filter(|reason| **reason == LossReason::Split).count()
}

/// Texts of exactly, one less and one more than this many bytes; and one whose limit falls inside a character.
fn around(limit: usize) -> [(String, usize); 4] {
    [
        ("x".repeat(limit - 1), 1),
        ("x".repeat(limit), 1),
        ("x".repeat(limit + 1), 2),
        (format!("x{}", "é".repeat(limit / 2)), 2), // two bytes a character
    ]
}

#[test]
fn a_message_beyond_the_limit_becomes_several() {
    for (text, count) in around(MESSAGE) {
        let (blocks, losses) = blocks(&text, "t", "{}", "r", &Options::default());
        let messages: Vec<&str> = of(&blocks, "MESSAGE")
            .into_iter()
            .filter(|block| block["payload"]["role"] == "user")
            .map(|block| block["payload"]["content"].as_str().unwrap())
            .collect();
        assert_eq!(messages.len(), count, "a message of {} bytes", text.len());
        assert!(messages.iter().all(|part| part.len() <= MESSAGE && !part.is_empty()));
        assert_eq!(messages.concat(), text);
        assert_eq!(splits(&losses) > 0, count > 1, "a message of {} bytes: {losses:?}", text.len());
    }
}

#[test]
fn a_thought_beyond_the_limit_becomes_several_under_one_message() {
    for (text, count) in around(THINK) {
        let (blocks, losses) = blocks("q", &text, "{}", "r", &Options::default());
        let thoughts = of(&blocks, "THINK");
        assert_eq!(thoughts.len(), count, "a thought of {} bytes", text.len());
        assert!(
            thoughts
                .iter()
                .all(|block| block["parent_block_id"] == thoughts[0]["parent_block_id"])
        );
        let parts: Vec<&str> = thoughts.iter().map(|block| block["payload"]["text"].as_str().unwrap()).collect();
        assert!(parts.iter().all(|part| part.len() <= THINK && !part.is_empty()));
        assert_eq!(parts.concat(), text);
        assert_eq!(splits(&losses) > 0, count > 1, "a thought of {} bytes: {losses:?}", text.len());
    }
}

#[test]
fn arguments_beyond_the_limit_stand_in_raw() {
    for (text, _) in around(ARGUMENTS - r#"{"k":""}"#.len()) {
        let arguments = json!({"k": text});
        let size = arguments.to_string().len();
        let (blocks, losses) = blocks("q", "t", &arguments.to_string(), "r", &Options::default());
        let calls = of(&blocks, "TOOL_CALL");
        assert_eq!(calls.len(), 1, "arguments of {size} bytes");
        let written = &calls[0]["payload"]["arguments"];
        if size <= ARGUMENTS {
            assert_eq!(*written, arguments, "arguments of {size} bytes");
            assert!(!losses.contains(&LossReason::Coerced), "arguments of {size} bytes: {losses:?}");
        } else {
            assert_eq!(written["omitted_bytes"], size, "{written}");
            assert_eq!(written["sha256"].as_str().unwrap().len(), 64);
            assert!(calls[0]["raw"].to_string().contains(&text), "the whole is not in raw");
            assert!(losses.contains(&LossReason::Coerced), "{losses:?}");
        }
    }
}

#[test]
fn a_result_beyond_the_limit_becomes_deltas() {
    for (text, count) in around(RESULT) {
        let (blocks, losses) = blocks("q", "t", "{}", &text, &Options::default());
        let results = of(&blocks, "TOOL_RESULT");
        assert_eq!(results.len(), count, "a result of {} bytes", text.len());
        if count == 1 {
            assert_eq!(results[0]["payload"]["output"], *text);
            assert_eq!(splits(&losses), 0, "a result of {} bytes: {losses:?}", text.len());
            continue;
        }
        let mut joined = String::new();
        for (seq, block) in results.iter().enumerate() {
            let payload = &block["payload"];
            assert_eq!(payload["seq"], seq);
            assert!(payload.get("output").is_none_or(Value::is_null));
            let part = payload["delta"].as_str().unwrap();
            assert!(part.len() <= RESULT && !part.is_empty());
            joined.push_str(part);
        }
        assert_eq!(joined.len(), text.len());
        assert!(joined == text, "the deltas are not the result");
        assert!(splits(&losses) > 0, "{losses:?}");
    }
}

#[test]
fn an_object_beyond_the_limit_is_its_compact_text_in_deltas() {
    let result = json!({"rows": vec!["é"; RESULT / 4]}).to_string();
    let (blocks, _) = blocks("q", "t", "{}", &result, &Options::default());
    let results = of(&blocks, "TOOL_RESULT");
    assert!(results.len() > 1, "{} bytes in {} blocks", result.len(), results.len());
    let joined: String = results.iter().map(|block| block["payload"]["delta"].as_str().unwrap()).collect();
    assert!(joined == result, "the deltas are not the result");
}

#[test]
fn lowered_limits_hold() {
    let options = Options::of([("openreward.limit_msg_bytes".to_owned(), "8".to_owned())]).unwrap();
    let (blocks, losses) = blocks("0123456789", "t", "{}", "r", &options);
    let messages = of(&blocks, "MESSAGE")
        .into_iter()
        .filter(|block| block["payload"]["role"] == "user")
        .count();
    assert_eq!((messages, splits(&losses) > 0), (2, true));
}
