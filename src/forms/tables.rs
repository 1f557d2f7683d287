//! The tables of `semconv/forms/` as they are written.

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
    "openhands",
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
    "openhands_log",
    "wrapped",
];
