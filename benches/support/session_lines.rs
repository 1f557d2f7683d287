//! Lines of session files as clients write them: prompts, answers, and tools whose results are a few kilobytes of code.

use serde_json::{Value, json};

/// So many tools answer a prompt.
const TOOLS: u64 = 8;
/// So many lines of code a result has.
const CODE: u64 = 60;

/// The lines of one turn. `turn`: no other turn of any session has it.
pub(crate) type Turn = fn(session: u64, turn: u64, out: &mut String);

fn id(kind: u64, number: u64) -> String {
    format!(
        "{:08x}-{kind:04x}-4000-8000-{number:012x}",
        number.wrapping_mul(2_654_435_761) & 0xffff_ffff
    )
}

fn time(turn: u64, tool: u64) -> String {
    let second = turn * 10 + tool;
    let (day, hour) = (1 + second / 86_400 % 28, second / 3600 % 24);
    format!(
        "2026-10-{day:02}T{hour:02}:{:02}:{:02}.{:03}Z",
        second / 60 % 60,
        second % 60,
        tool * 7
    )
}

fn code(turn: u64, tool: u64) -> String {
    let line = |number: u64| format!("{number:>6}\tlet total_{turn} = \"{tool}\".len() + values[{number}]; // keep\n");
    (0..CODE).map(line).collect()
}

fn push(out: &mut String, line: &Value) {
    out.push_str(&line.to_string());
    out.push('\n');
}

/// Claude Code 2.1: a line a block of an answer, a result twice.
pub(crate) fn claude_code(session: u64, turn: u64, out: &mut String) {
    let line = |kind: &str, message: Value, number: u64, tool: u64| {
        json!({"parentUuid": id(2, number.saturating_sub(1)), "isSidechain": false, "promptId": id(3, turn), "type": kind, "message": message,
            "uuid": id(2, number), "timestamp": time(turn, tool), "userType": "external", "entrypoint": "cli", "cwd": "/home/user/project",
            "sessionId": id(1, session), "version": "2.1.197", "gitBranch": "main"})
    };
    let answer = |tool: u64, block: Value| {
        json!({"id": format!("msg_{turn:012x}{tool:012x}"), "type": "message", "role": "assistant", "model": "claude-opus-5-5",
            "content": [block], "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 12_625, "output_tokens": 29,
            "cache_creation_input_tokens": 8, "cache_read_input_tokens": 4_096, "service_tier": "standard",
            "server_tool_use": {"web_search_requests": 0}, "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 8}}})
    };
    let first = turn * 64;
    let asked = json!({"role": "user", "content": format!("Add the values of part {turn} and show what changes in the report.")});
    push(out, &line("user", asked, first, 0));
    for tool in 0..TOOLS {
        let (call, number) = (format!("toolu_{turn:012x}{tool:012x}"), first + 1 + tool * 3);
        let words = format!("I read part {tool} of {turn} first, since the sum is made there. ").repeat(4);
        push(
            out,
            &line("assistant", answer(tool, json!({"type": "text", "text": words})), number, tool),
        );
        let input = json!({"file_path": format!("/home/user/project/src/part_{turn}_{tool}.rs"), "offset": 1, "limit": CODE});
        let asks = json!({"type": "tool_use", "id": call, "name": "Read", "input": input});
        push(out, &line("assistant", answer(tool, asks), number + 1, tool));
        let code = code(turn, tool);
        let result = json!({"role": "user", "content": [{"tool_use_id": call, "type": "tool_result", "content": code}]});
        let mut result = line("user", result, number + 2, tool);
        let file =
            json!({"filePath": "/home/user/project/src/part.rs", "content": code, "numLines": CODE, "startLine": 1, "totalLines": CODE});
        if let Value::Object(result) = &mut result {
            result.insert("toolUseResult".to_owned(), json!({"type": "text", "file": file}));
        }
        push(out, &result);
    }
    let last = json!({"type": "text", "text": format!("The report of part {turn} has the sum now. ").repeat(6)});
    push(out, &line("assistant", answer(TOOLS, last), first + 60, TOOLS));
}

/// Codex 0.98: response items, and events beside them.
pub(crate) fn codex(session: u64, turn: u64, out: &mut String) {
    let mut line = |kind: &str, payload: Value, tool: u64| {
        push(out, &json!({"timestamp": time(turn, tool), "type": kind, "payload": payload}));
    };
    let said = |role: &str, kind: &str, words: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": words}]});
    if turn.is_multiple_of(1_000) {
        line(
            "session_meta",
            json!({"id": id(1, session), "timestamp": time(turn, 0), "cwd": "/home/user/project", "originator": "codex_cli_rs",
                "cli_version": "0.98.0", "source": "cli", "model_provider": "openai"}),
            0,
        );
    }
    line(
        "turn_context",
        json!({"cwd": "/home/user/project", "approval_policy": "never", "model": "gpt-5.5", "effort": "medium", "summary": "auto"}),
        0,
    );
    let asked = format!("Add the values of part {turn} and show what changes in the report.");
    line("response_item", said("user", "input_text", &asked), 0);
    line(
        "event_msg",
        json!({"type": "user_message", "message": asked, "images": [], "local_images": []}),
        0,
    );
    for tool in 0..TOOLS {
        let call = format!("call_{turn:012x}{tool:012x}");
        let words = format!("I read part {tool} of {turn} first, since the sum is made there. ").repeat(4);
        line("event_msg", json!({"type": "agent_message", "message": words}), tool);
        line("response_item", said("assistant", "output_text", &words), tool);
        let arguments = json!({"cmd": format!("sed -n 1,{CODE}p src/part_{turn}_{tool}.rs"), "yield_time_ms": 1000}).to_string();
        line(
            "response_item",
            json!({"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call}),
            tool,
        );
        let output = format!("Wall time: 0.05 seconds\nProcess exited with code 0\nOutput:\n{}", code(turn, tool));
        line(
            "response_item",
            json!({"type": "function_call_output", "call_id": call, "output": output}),
            tool,
        );
        let usage = json!({"input_tokens": 9_259, "cached_input_tokens": 4_096, "output_tokens": 16, "reasoning_output_tokens": 0, "total_tokens": 9_275});
        line(
            "event_msg",
            json!({"type": "token_count", "info": {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 258_400}}),
            tool,
        );
    }
    let last = format!("The report of part {turn} has the sum now. ").repeat(6);
    line("event_msg", json!({"type": "agent_message", "message": last}), TOOLS);
    line("response_item", said("assistant", "output_text", &last), TOOLS);
}
