use serde_json::{Value, json};

use super::*;
use crate::dialect::messages::{self, Direction};

/// The words, thoughts and calls of the only answer in the pieces.
fn answer(pieces: &Value) -> Value {
    let whole = response(pieces).expect("a response");
    let list = messages::read(&whole, Direction::Output).expect("an answer");
    let [message] = messages::answers(list, false).try_into().expect("one answer");
    let calls: Vec<Value> = message
        .tool_calls
        .iter()
        .map(|call| json!([call.id.as_deref(), call.name, call.arguments]))
        .collect();
    json!({"says": message.content(), "thinks": message.reasoning(), "calls": calls})
}

#[test]
fn chunks_of_chat_completions() {
    let chunk = |delta: Value| json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let pieces = json!([
        chunk(json!({"role": "assistant", "content": null, "reasoning_content": "Let me "})),
        chunk(json!({"reasoning_content": "look."})),
        chunk(json!({"content": "I lo"})),
        chunk(json!({"content": "ok.", "tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "weather", "arguments": ""}}]})),
        chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\":"}}]})),
        chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"Rome\"}"}}]})),
        chunk(json!({"tool_calls": [{"index": 0, "id": "b", "function": {"name": "time", "arguments": "{}"}}]})),
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {"object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 4}},
    ]);
    assert_eq!(
        answer(&pieces),
        json!({"says": "I look.", "thinks": "Let me look.", "calls": [["a", "weather", {"city": "Rome"}], ["b", "time", {}]]})
    );
    let whole = response(&pieces).unwrap_or_default();
    assert_eq!(whole.pointer("/usage/prompt_tokens"), Some(&json!(10)));
    assert_eq!(whole.pointer("/choices/0/finish_reason"), Some(&json!("tool_calls")));
}

#[test]
fn whole_responses_are_no_chunks() {
    let whole = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]});
    assert_eq!(response(&json!([whole, whole])), None);
    assert_eq!(response(&json!([{"choices": [{"text": "Hi"}]}])), None);
    assert_eq!(response(&json!([{"role": "assistant", "content": "Hi"}])), None);
    assert_eq!(response(&json!([{"type": "message", "content": "Hi"}])), None);
    assert_eq!(response(&json!([{"metadata": "x"}, 3])), None);
    assert_eq!(response(&json!([])), None);
}

#[test]
fn events_of_messages() {
    let pieces = json!([
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Let me look."}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
        {"type": "ping"},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "I lo"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ok."}},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "a", "name": "weather", "input": {}}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"city\":"}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "\"Rome\"}"}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ]);
    assert_eq!(
        answer(&pieces),
        json!({"says": "I look.", "thinks": "Let me look.", "calls": [["a", "weather", {"city": "Rome"}]]})
    );
    let whole = response(&pieces).unwrap_or_default();
    assert_eq!(whole.get("usage"), Some(&json!({"input_tokens": 10, "output_tokens": 4})));
    assert_eq!(whole.get("stop_reason"), Some(&json!("tool_use")));
}

#[test]
fn events_of_converse() {
    let pieces = json!([
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "Let me look."}}, "contentBlockIndex": 0}},
        {"contentBlockDelta": {"delta": {"text": "I lo"}, "contentBlockIndex": 1}},
        {"contentBlockDelta": {"delta": {"text": "ok."}, "contentBlockIndex": 1}},
        {"contentBlockStop": {"contentBlockIndex": 1}},
        {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "a", "name": "weather"}}, "contentBlockIndex": 2}},
        {"contentBlockDelta": {"delta": {"toolUse": {"input": "{\"city\":\"Rome\"}"}}, "contentBlockIndex": 2}},
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": {"inputTokens": 10, "outputTokens": 4}}},
    ]);
    assert_eq!(
        answer(&pieces),
        json!({"says": "I look.", "thinks": "Let me look.", "calls": [["a", "weather", {"city": "Rome"}]]})
    );
    assert_eq!(
        response(&pieces).unwrap_or_default().pointer("/usage/inputTokens"),
        Some(&json!(10))
    );
}

#[test]
fn events_of_the_responses_api() {
    let output = json!([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}]);
    let begun = json!({"type": "response.created", "response": {"id": "r", "output": []}});
    let delta = |text: &str| json!({"type": "response.output_text.delta", "output_index": 0, "delta": text});
    let done = json!({"type": "response.completed", "response": {"id": "r", "output": output}});
    let says = json!({"says": "I look.", "thinks": null, "calls": []});
    assert_eq!(answer(&json!([begun, delta("I lo"), delta("ok."), done])), says);
    assert_eq!(answer(&json!([begun, delta("I lo"), delta("ok.")])), says, "the stream broke off");
}

#[test]
fn chunks_of_gemini_and_ollama() {
    let gemini = |text: &str| json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}], "usageMetadata": {"promptTokenCount": 10}});
    let ollama = |text: &str, done: bool| json!({"message": {"role": "assistant", "content": text}, "done": done, "eval_count": 4});
    let generated = |text: &str, done: bool| json!({"response": text, "done": done});
    let says = json!({"says": "I look.", "thinks": null, "calls": []});
    for pieces in [
        json!([gemini("I lo"), gemini("ok.")]),
        json!([ollama("I lo", false), ollama("ok.", true)]),
        json!([generated("I lo", false), generated("ok.", true)]),
    ] {
        assert_eq!(answer(&pieces), says);
    }
}

#[test]
fn texts_of_events() {
    let chunk = |text: &str| json!({"choices": [{"index": 0, "delta": {"content": text}}]}).to_string();
    let read = |text: &str| {
        let mut mended = Mended::default();
        let whole = response_of_text(text, &mut mended);
        let words = whole.and_then(|whole| whole.pointer("/choices/0/message/content").cloned());
        (words.unwrap_or_default(), mended.cut)
    };
    let (one, two) = (chunk("I lo"), chunk("ok."));
    let whole = (json!("I look."), false);
    assert_eq!(
        read(&format!(": hello\n\nevent: x\ndata: {one}\n\ndata: {two}\n\ndata: [DONE]\n\n")),
        whole
    );
    assert_eq!(read(&format!("data:{one}\r\ndata:{two}")), whole, "no empty lines");
    assert_eq!(read(&format!("{one}\n{two}\n")), whole, "an object a line");
    let (begin, end) = one.split_at(11);
    assert_eq!(
        read(&format!("data: {begin}\ndata: {end}\n\ndata: {two}\n\n")),
        whole,
        "two lines of data"
    );
    let cut = two.get(..20).unwrap_or_default();
    assert_eq!(read(&format!("data: {one}\n\ndata: {cut}")), (json!("I lo"), true));
    assert_eq!(read("data: the lake is cold"), (Value::Null, false));
}
