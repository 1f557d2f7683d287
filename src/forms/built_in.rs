//! The tables of `semconv/forms/`.

use std::sync::LazyLock;

use serde::de::DeserializeOwned;

use super::recognise::Forms;
use super::table::Form;

macro_rules! tables {
    ($($name:literal),* $(,)?) => {
        /// The tables as they are written, by name. Of several that a value could be of the first is taken.
        pub(super) const TABLES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../semconv/forms/", $name, ".yaml")))),*];
    };
}

tables![
    "langchain",
    "langchain_dumped",
    "ai_sdk",
    "ai_sdk_ui",
    "gemini",
    "pydantic_ai",
    "anthropic",
    "bedrock",
    "haystack",
    "llamaindex",
    "agentdojo",
    "genai",
    "autogen",
    "agents_run_state",
    "response",
    "completion",
    "hermes",
    "continue",
    "request",
    "cursor",
    "droid",
    "goose",
    "kimi",
    "codex_exec",
    "gemini_stream",
    "opencode_run",
    "ag_ui",
    "grok",
    "kiro",
    "kiro_cli",
    "windsurf",
    "antigravity",
    "aider",
    "adk_events",
    "agentscope",
    "kiro_history",
    "claude_messages",
    "ai_sdk_stream",
    "responses_stream",
    "interaction",
    "wrapped",
];

/// Tables of another kind, read. A test reads each of them.
pub(super) fn read<T: DeserializeOwned>(tables: &[(&str, &str)]) -> Vec<T> {
    tables.iter().filter_map(|(_, text)| serde_saphyr::from_str(text).ok()).collect()
}

impl Forms {
    /// The forms of `semconv/forms/`, made once.
    pub(crate) fn built_in() -> &'static Self {
        static FORMS: LazyLock<Forms> = LazyLock::new(|| {
            // A test reads each of them.
            let read = |(name, text): &(&str, &str)| Form::of(name, text).ok();
            Forms::of(TABLES.iter().filter_map(read).collect())
        });
        &FORMS
    }
}
