//! Documents of every format that is read, made at random: mostly of one thing, very often.

use crate::support::Chance;

/// A document of a format: what stands in it `@` times, and at how many bytes it ends.
pub(crate) struct Made {
    pub(crate) format: &'static str,
    pub(crate) text: String,
    /// What it is made of.
    pub(crate) of: String,
}

/// Values that take much memory for their bytes.
const VALUES: [&str; 14] = [
    "0",
    "-1.5e3",
    "18446744073709551617",
    "null",
    "\"\"",
    "\"word\"",
    "\"caf\\u00e9 \\n\"",
    "[]",
    "[0]",
    "[[[]]]",
    "{}",
    "{\"a\":0}",
    "{\"a\":\"b\",\"c\":{\"d\":[]}}",
    "{\"type\":\"text\",\"text\":\"some words\"}",
];

/// A format, a document with a place in it, and what may stand there beside values.
const DOCUMENTS: [(&str, &str, &[&str]); 28] = [
    (
        "messages",
        r#"{"messages":[@]}"#,
        &[
            r#"{"role":"user","content":"q"}"#,
            r#"{"role":"system","content":"s"}"#,
            r#"{"role":"assistant","content":"a"}"#,
        ],
    ),
    (
        "messages",
        r#"{"messages":[{"role":"user","content":[@]},{"role":"assistant","content":"a"}]}"#,
        &[r#"{"type":"text","text":""}"#],
    ),
    (
        "messages",
        r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","x":[@]}]}"#,
        &[],
    ),
    (
        "messages",
        r#"{"messages":[{"role":"assistant","content":"","tool_calls":[@]}]}"#,
        &[r#"{"id":"c","type":"function","function":{"name":"f","arguments":{}}}"#],
    ),
    (
        "messages",
        r#"{"messages":[{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":{"x":[@]}}}]}]}"#,
        &[],
    ),
    (
        "messages",
        r#"{"messages":[{"role":"assistant","content":"a"}],"tools":[@]}"#,
        &[r#"{"type":"function","function":{"name":"f"}}"#],
    ),
    (
        "invariant",
        "[@]",
        &[r#"{"role":"user","content":"q"}"#, r#"{"role":"assistant","content":"a"}"#],
    ),
    (
        "invariant",
        r#"[{"role":"user","content":"q"},{"role":"assistant","content":"a","x":[@]}]"#,
        &[],
    ),
    (
        "atif",
        r#"{"schema_version":"ATIF-v1.6","session_id":"s","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"agent","message":"m","extra":{"x":[@]}}]}"#,
        &[],
    ),
    (
        "atif",
        r#"{"schema_version":"ATIF-v1.6","session_id":"s","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"agent","message":"m","metrics":{"completion_token_ids":[@]}}]}"#,
        &[],
    ),
    (
        "atif",
        r#"{"schema_version":"ATIF-v1.6","session_id":"s","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"agent","message":[@]}]}"#,
        &[r#"{"type":"text","text":"t"}"#],
    ),
    (
        "reflex",
        r#"{"nodes":[@]}"#,
        &[
            r#"{"type":"llm","name":"n"}"#,
            r#"{"type":"tool","name":"n","input":{"a":1},"output":"b"}"#,
        ],
    ),
    ("reflex", r#"{"nodes":[{"id":"n","type":"llm","name":"n","input":[@]}]}"#, &[]),
    (
        "synth",
        r#"{"session_id":"s","created_at":"2026-01-01T00:00:00Z","session_time_steps":[{"step_id":"1","x":[@]}],"event_history":[],"markov_blanket_message_history":[]}"#,
        &[],
    ),
    (
        "contextforge",
        r#"{"run_id":"r","started_at":"2026-01-01T00:00:00Z","steps":[@]}"#,
        &[r#"{"step_id":"1","step_type":"llm_call","timestamp":"2026-01-01T00:00:00Z","model":"m","input":[],"output":{"content":"a"}}"#],
    ),
    (
        "contextforge",
        r#"{"run_id":"r","started_at":"2026-01-01T00:00:00Z","metadata":{"x":[@]},"steps":[]}"#,
        &[],
    ),
    (
        "deepeval",
        r#"{"input":"q","actual_output":"a","tools_called":[@]}"#,
        &[
            r#"{"name":"f"}"#,
            r#"{"name":"f","reasoning":"r","output":"o"}"#,
            r#"{"name":"f","inputParameters":{"a":1},"output":[1]}"#,
        ],
    ),
    (
        "inspect",
        r#"{"eval":{"task":"t","created":"2026-01-01T00:00:00Z","dataset":{},"model":"m","config":{}},"samples":[{"id":1,"epoch":1,"input":"q","target":"","events":[@]}]}"#,
        &[
            r#"{"event":"model","model":"m","input":[{"role":"user","content":"q"}],"tools":[],"tool_choice":"auto","config":{},"output":{"choices":[]}}"#,
            r#"{"event":"tool","id":"c","function":"f","arguments":{}}"#,
            r#"{"event":"span_begin","id":"s","name":"n","type":"agent"}"#,
            r#"{"event":"info","source":"chain","data":{"kind":"chain","name":"n"}}"#,
        ],
    ),
    (
        "inspect",
        r#"{"eval":{"task":"t","created":"2026-01-01T00:00:00Z","dataset":{},"model":"m","config":{}},"samples":[{"id":1,"epoch":1,"input":"q","target":"","messages":[@]}]}"#,
        &[
            r#"{"role":"user","content":"q"}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"a"}]}"#,
        ],
    ),
    (
        "verifiers",
        r#"{"task":{"type":"T","data":{}},"traces":[{"task":{"type":"T","data":{}},"agent":{"config":{}},"nodes":[@]}]}"#,
        &[
            r#"{"message":{"role":"user","content":"q"},"timestamp":0.0}"#,
            r#"{"message":{"role":"assistant","content":"a"},"sampled":true,"token_ids":[1,2],"mask":[false,true]}"#,
        ],
    ),
    (
        "verifiers",
        r#"{"task":{"type":"T","data":{}},"traces":[{"task":{"type":"T","data":{}},"agent":{"config":{}},"nodes":[],"calls":[@],"info":{"x":[@]}}]}"#,
        &[r#"{"model":"m","time":{"start":1.0}}"#],
    ),
    ("deepeval", "[@]", &[r#"{"input":"q","actual_output":"a"}"#]),
    (
        "adk",
        r#"{"eval_set_id":"s","eval_cases":[@]}"#,
        &[r#"{"eval_id":"c","conversation":[{"user_content":{"parts":[{"text":"q"}]}}]}"#],
    ),
    (
        "adk",
        r#"{"eval_set_id":"s","eval_cases":[{"eval_id":"c","conversation":[{"user_content":{"parts":[{"text":"q"}]},"intermediate_data":{"invocation_events":[@]}}]}]}"#,
        &[
            r#"{"author":"a","content":{"parts":[{"text":"t"}]}}"#,
            r#"{"author":"a","content":{"parts":[{"function_call":{"name":"f","args":{}}}]}}"#,
            r#"{"author":"a","content":{"parts":[{"function_response":{"name":"f","response":{}}}]}}"#,
            r#"{"author":"user","content":{"parts":[{"text":"t"}]}}"#,
        ],
    ),
    (
        "adk",
        r#"{"eval_set_id":"s","eval_cases":[{"eval_id":"c","conversation":[{"user_content":{"parts":[{"text":"q"}]},"intermediate_data":{"tool_uses":[@]}}]}]}"#,
        &[r#"{"name":"f","args":{}}"#],
    ),
    (
        "adk",
        r#"{"evalSetId":"s","evalCases":[{"evalId":"c","conversation":[{"userContent":{"parts":[@]}}],"final_session_state":{"x":[@]}}]}"#,
        &[r#"{"text":"t"}"#],
    ),
    (
        "openreward",
        "[@]",
        &[r#"{"block_type":"MESSAGE","sub_type":"MESSAGE","payload":{"role":"user","content":"m"}}"#],
    ),
    (
        "openreward",
        r#"{"blocks":[{"block_type":"MESSAGE","sub_type":"MESSAGE","payload":{"role":"assistant","content":"m","x":[@]}}]}"#,
        &[],
    ),
];

/// A document of about so many bytes.
pub(crate) fn document(chance: &mut Chance, bytes: usize) -> Made {
    let (format, around, items) = DOCUMENTS[chance.below(DOCUMENTS.len())];
    let item = match items {
        [] => VALUES[chance.below(VALUES.len())],
        items if chance.below(8) > 0 => items[chance.below(items.len())],
        _ => VALUES[chance.below(VALUES.len())],
    };
    let inner = match chance.below(6) {
        // Keys, most of them different ones.
        0 if items.is_empty() => {
            let members: Vec<String> = (0..bytes / 12)
                .map(|number| format!("\"{}\":{}", number % 5_000, number % 10))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        // A text of its own beside each.
        1 => {
            let pair = format!("{item},\"{}\"", "w".repeat(chance.below(200)));
            vec![pair.as_str(); (bytes / (pair.len() + 1)).max(1)].join(",")
        }
        _ => vec![item; (bytes / (item.len() + 1)).max(1)].join(","),
    };
    let mut text = around.replace('@', &inner);
    // Several documents of a file.
    let times = [1, 1, 1, 20][chance.below(4)];
    if times > 1 {
        let small = around.replace('@', &vec![item; (bytes / 20 / (item.len() + 1)).max(1)].join(","));
        text = vec![small.as_str(); times].join("\n");
    }
    Made {
        format,
        of: format!("{times} times {around} with {item:.60}"),
        text,
    }
}
