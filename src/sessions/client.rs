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
    /// Every client.
    pub(crate) const ALL: [Self; 7] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::GeminiCli,
        Self::QwenCode,
        Self::CopilotCli,
        Self::OpenCode,
        Self::Pi,
    ];

    /// The client's name: the `service.name` of its spans, and the word of `--client`.
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

    /// Where its sessions are, below the home folder.
    pub(crate) fn folders(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &[".claude/projects", ".config/claude/projects"],
            Self::Codex => &[".codex/sessions", ".codex/archived_sessions"],
            Self::GeminiCli => &[".gemini/tmp"],
            Self::QwenCode => &[".qwen/projects"],
            Self::CopilotCli => &[".copilot/session-state"],
            Self::OpenCode => &[".local/share/opencode"],
            Self::Pi => &[".pi/agent/sessions"],
        }
    }
}
