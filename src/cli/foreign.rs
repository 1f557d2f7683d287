//! Recognises files that cannot be read, to explain why.

use serde_json::Value;

#[cfg(feature = "parquet")]
const PARQUET: &str = "a Parquet file that is cut off";
#[cfg(not(feature = "parquet"))]
const PARQUET: &str = "a Parquet file, which needs a spanbridge that is built with `--features parquet`";

/// The kind of a file by its first bytes; `None` if they are not conclusive.
pub(super) fn named(bytes: &[u8]) -> Option<&'static str> {
    const KNOWN: &[(&[u8], &str)] = &[
        (
            b"\xff\xfe",
            "text in UTF-16, as PowerShell's > writes it; turn it into UTF-8: iconv -f UTF-16 -t UTF-8 FILE",
        ),
        (b"\xfe\xff", "text in UTF-16; turn it into UTF-8: iconv -f UTF-16 -t UTF-8 FILE"),
        (b"PK\x03\x04", "a ZIP archive with no log of Inspect AI; unpack it"),
        (b"PAR1", PARQUET),
        (b"%PDF", "a PDF document"),
        (b"\x89PNG", "an image"),
        (b"\xff\xd8\xff", "an image"),
        (b"<!DOCTYPE", "a page for browsers"),
        (b"<html", "a page for browsers"),
        (b"<?xml", "an XML document"),
        (b"---\n", "a YAML document"),
    ];
    if bytes.starts_with(b"SQLite format 3\0") {
        return Some(database(bytes));
    }
    let known = KNOWN.iter().find(|(begin, _)| bytes.starts_with(begin));
    known.map(|(_, name)| *name)
}

/// The client that a SQLite database belongs to, by the names of its tables, which are in its first page.
fn database(bytes: &[u8]) -> &'static str {
    const PAGE: usize = 64 << 10;
    let schema = bytes.get(..PAGE).unwrap_or(bytes);
    let has = |name: &[u8]| memchr::memmem::find(schema, name).is_some();
    if has(b"cursorDiskKV") {
        "a database of Cursor"
    } else if has(b"ItemTable") {
        "a database of VS Code or Cursor"
    } else {
        "a SQLite database"
    }
}

/// Maximum keys of an object that are named.
const KEYS: usize = 8;

/// A JSON pointer to a member, and its value if that matters.
type Member = (&'static str, Option<&'static str>);

/// Kinds of unsupported JSON, by members of the first object: JSON pointers, some with a value.
#[rustfmt::skip]
const JSON: &[(&[Member], &str)] = &[
    (&[("/type", Some("system")), ("/subtype", Some("init")), ("/session_id", None)], "what an agent prints in a form like Claude Code's"),
    (&[("/type", Some("session_meta"))], "a transcript of Qoder"),
    (&[("/display", None), ("/project", None), ("/pastedContents", None)], "Claude Code's list of prompts; the sessions are below ~/.claude/projects"),
    (&[("/loglines", None)], "a session of Claude Code on the web"),
    (&[("/task", None), ("/tokensIn", None), ("/tokensOut", None)], "an entry of Cline's or Roo Code's list of tasks; api_conversation_history.json beside it has the messages"),
    (&[("/trajectory", None), ("/history", None)], "a trajectory of SWE-agent"),
    (&[("/source", None), ("/action", None), ("/args", None)], "events of OpenHands"),
    (&[("/source", None), ("/observation", None)], "events of OpenHands"),
    (&[("/prompt", None), ("/completion", None)], "rows of prompts and completions as text, which `--from messages` reads"),
    (&[("/custom_id", None), ("/response", None)], "errors of a batch; its answers are read"),
    (&[("/custom_id", None), ("/method", None), ("/body", None)], "the requests of a batch; what was answered is in another file"),
    (&[("/post", None), ("/patch", None)], "a batch for LangSmith's API; the runs that LangSmith exports are read"),
    (&[("/contents", None)], "a request to Gemini's API; what was answered is not in it"),
    (&[("/prompt", None), ("/reward_model", None)], "rows of prompts for reinforcement learning, without answers"),
    (&[("/instance_id", None), ("/problem_statement", None)], "tasks of SWE-bench; the runs are read (SWE-agent's .traj, mini-SWE-agent's .traj.json)"),
    (&[("/instance_id", None), ("/model_patch", None)], "predictions for SWE-bench; the runs are read (SWE-agent's .traj, mini-SWE-agent's .traj.json)"),
    (&[("/fixtures/0/match", None), ("/fixtures/0/response", None)], "answers that a mock of models' APIs gives in tests"),
    (&[("/nodes", None), ("/connections", None)], "a workflow of n8n, not a run of it"),
    (&[("/nodes", None), ("/edges", None)], "a flow of Flowise, Langflow or Dify, not a run of it"),
    (&[("/id", None), ("/question", None), ("/function", None)], "questions of the Berkeley Function-Calling Leaderboard; their results are read"),
    (&[("/user_scenario", None), ("/evaluation_criteria", None)], "tasks of tau2-bench; its results are read"),
    (&[("/task_id", None), ("/intent", None), ("/start_url", None)], "tasks of WebArena, not runs of them"),
    (&[("/input", None), ("/target", None)], "samples of a data set of Inspect AI; the logs of their runs are read"),
];

/// The kind of a JSON text by its first object; `None` if it does not begin with a value.
pub(super) fn json(text: &[u8]) -> Option<String> {
    let value: Value = serde_json::Deserializer::from_slice(text).into_iter().next()?.ok()?;
    let (first, what) = match &value {
        Value::Array(list) => (list.first(), "a JSON list of objects"),
        value => (Some(value), "JSON"),
    };
    let Some(first) = first.filter(|first| first.is_object()) else {
        return Some("JSON without objects".to_owned());
    };
    let is_there = |(pointer, wanted): &Member| {
        let found = first.pointer(pointer);
        found.is_some_and(|found| wanted.is_none_or(|wanted| found == wanted))
    };
    if let Some((_, name)) = JSON.iter().find(|(marks, _)| marks.iter().all(is_there)) {
        return Some((*name).to_owned());
    }
    let keys: Vec<&str> = first.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    Some(match keys.as_slice() {
        [] => format!("{what} without keys"),
        [key] => format!("{what} with the key {key}, which no known format has"),
        keys if keys.len() <= KEYS => format!("{what} with the keys {}, which no known format has", keys.join(", ")),
        keys => {
            let named = keys.get(..KEYS).unwrap_or_default().join(", ");
            format!(
                "{what} with the keys {named} and {} more, which no known format has",
                keys.len() - KEYS
            )
        }
    })
}

/// Whether bytes are text: protobuf always has control characters.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let is_control = |byte: &u8| byte.is_ascii_control() && !b"\t\n\r\x0c\x1b".contains(byte);
    !bytes.iter().any(is_control) && std::str::from_utf8(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_read_is_named() {
        for (text, words) in [
            (
                r#"{"type":"system","subtype":"init","apiKeySource":"login","session_id":"c1","model":"m"}"#,
                "like Claude Code's",
            ),
            (
                r#"{"display":"Fix it","pastedContents":{},"timestamp":1,"project":"/w"}"#,
                "list of prompts",
            ),
            (r#"{"loglines":[{"type":"user"}]}"#, "on the web"),
            (r#"{"id":"1","task":"x","tokensIn":1,"tokensOut":2}"#, "Roo Code"),
            (r#"{"environment":"main","trajectory":[],"history":[],"info":{}}"#, "SWE-agent"),
            (r#"[{"id":0,"source":"user","action":"message","args":{}}]"#, "OpenHands"),
            (r#"{"post":[],"patch":[]}"#, "LangSmith's API"),
            (r#"{"contents":[],"system_instruction":{}}"#, "request to Gemini"),
            (r#"{"data_source":"d","prompt":[],"reward_model":{}}"#, "reinforcement learning"),
            (r#"[{"instance_id":"a","problem_statement":"p","repo":"r"}]"#, "tasks of SWE-bench"),
            (r#"{"model_name_or_path":"m","instance_id":"a","model_patch":""}"#, "predictions"),
            (r#"{"input":"x","target":"y"}"#, "samples"),
            (r#"{"fixtures":[{"match":{},"response":{}}]}"#, "in tests"),
            (r#"{"name":"x","nodes":[],"connections":{}}"#, "n8n"),
            (r#"{"nodes":[],"edges":[]}"#, "Flowise"),
            (r#"{"id":"simple_0","question":[[]],"function":[]}"#, "Berkeley"),
            (r#"[{"id":"1","user_scenario":{},"evaluation_criteria":{}}]"#, "tau2-bench"),
            (r#"[{"sites":[],"task_id":1,"intent":"x","start_url":"y"}]"#, "WebArena"),
            (r#"{"prompt":"x","completion":"y"}"#, "--from messages"),
            (r#"{"custom_id":"1","response":{}}"#, "errors of a batch"),
            (r#"{"data":[{"id":1}]}"#, "JSON with the key data, which"),
            (r#"[{"a":1,"b":2}]"#, "a JSON list of objects with the keys a, b, which"),
            (
                r#"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}"#,
                "a, b, c, d, e, f, g, h and 1 more",
            ),
            ("[1]", "without objects"),
            ("{}", "without keys"),
        ] {
            let named = json(text.as_bytes()).unwrap_or_default();
            assert!(named.contains(words), "{text}: {named}");
        }
        assert_eq!(json(b"{broken"), None);
        assert!(is_text(b"\n# aider chat\n> m\xc3\xa4h") && !is_text(b"\n\x01text") && !is_text(b"\xff"));
    }
}
