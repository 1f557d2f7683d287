//! The clients whose session files are read.

use std::env;
use std::path::{Path, PathBuf};

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
    /// Copilot Chat in VS Code.
    Vscode,
}

impl Client {
    /// Every client.
    pub(crate) const ALL: [Self; 8] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::GeminiCli,
        Self::QwenCode,
        Self::CopilotCli,
        Self::OpenCode,
        Self::Pi,
        Self::Vscode,
    ];

    /// The names of all, for people.
    pub(crate) fn names() -> String {
        let names = Self::ALL.map(Self::name);
        match names.as_slice() {
            [first @ .., last] => format!("{} and {last}", first.join(", ")),
            [] => String::new(),
        }
    }

    /// The client's name: the `service.name` of its spans, and the value of `--client`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
            Self::QwenCode => "qwen-code",
            Self::CopilotCli => "copilot-cli",
            Self::OpenCode => "opencode",
            Self::Pi => "pi",
            Self::Vscode => "vscode",
        }
    }

    /// The places where it keeps its sessions.
    pub(crate) fn places(self) -> Places {
        match self {
            Self::ClaudeCode => Places {
                moved: &[("CLAUDE_CONFIG_DIR", &["projects"])],
                usual: &[".claude/projects", ".config/claude/projects"],
            },
            Self::Codex => Places {
                moved: &[("CODEX_HOME", &["sessions", "archived_sessions"])],
                usual: &[".codex/sessions", ".codex/archived_sessions"],
            },
            Self::GeminiCli => Places {
                moved: &[("GEMINI_CLI_HOME", &[".gemini/tmp"])],
                usual: &[".gemini/tmp"],
            },
            Self::QwenCode => Places {
                moved: &[("QWEN_RUNTIME_DIR", &["projects"]), ("QWEN_HOME", &["projects"])],
                usual: &[".qwen/projects"],
            },
            Self::CopilotCli => Places {
                moved: &[("COPILOT_HOME", &["session-state"])],
                usual: &[".copilot/session-state"],
            },
            Self::OpenCode => Places {
                moved: &[("XDG_DATA_HOME", &["opencode"])],
                usual: &[".local/share/opencode"],
            },
            Self::Pi => Places {
                moved: &[("PI_CODING_AGENT_DIR", &["sessions"])],
                usual: &[".pi/agent/sessions"],
            },
            // Among many other files, in a different place on each system, so its files must be named explicitly.
            Self::Vscode => Places { moved: &[], usual: &[] },
        }
    }
}

/// Where a client keeps its sessions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    /// Environment variables that name another folder, and the sessions' place below it. The first that is set counts.
    moved: &'static [(&'static str, &'static [&'static str])],
    /// Below the home folder, if none is set.
    usual: &'static [&'static str],
}

impl Places {
    /// The folders, whether or not they exist.
    pub(crate) fn folders(self, home: &Path) -> Vec<PathBuf> {
        let moved = self.moved.iter().find_map(|(variable, below)| {
            let folder = env::var_os(variable).filter(|folder| !folder.is_empty())?;
            Some((PathBuf::from(folder), *below))
        });
        let (folder, below) = moved.unwrap_or_else(|| (home.to_owned(), self.usual));
        below.iter().map(|below| folder.join(below)).collect()
    }
}
