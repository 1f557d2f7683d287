//! The clients whose session files are read.

/// A coding agent that keeps its sessions in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Client {
    /// Anthropic's Claude Code.
    ClaudeCode,
    /// OpenAI's Codex CLI.
    Codex,
    /// Google's Gemini CLI.
    GeminiCli,
    /// Alibaba's Qwen Code.
    QwenCode,
    /// GitHub's Copilot CLI.
    CopilotCli,
    /// OpenCode.
    OpenCode,
    /// Pi.
    Pi,
}

impl Client {
    /// The client's name: the `service.name` of its spans.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
            Self::QwenCode => "qwen-code",
            Self::CopilotCli => "copilot-cli",
            Self::OpenCode => "opencode",
            Self::Pi => "pi",
        }
    }
}
