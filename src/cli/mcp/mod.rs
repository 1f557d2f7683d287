//! Runs for an agent over the Model Context Protocol: `spanbridge mcp` on standard input and output, `serve` at `/mcp`.
//!
//! The protocol is implemented by `rmcp`. The tools use the words of `spanbridge show`, and only read. An answer is a page
//! of limited size, however large the run; its end names the offset of the next page.

mod page;
mod served;
mod tools;

use std::process::ExitCode;

use clap::Args;
use rmcp::ServiceExt as _;
use rmcp::transport::stdio;

use super::failure::Failure;
use super::source::Where;
pub(super) use served::mount;

const EXAMPLES: &str = "\
The tools: list_runs, list_sessions, show_run (outline, errors, totals), read_step, read_conversations, read_findings, read_document, \
read_losses, compare_runs. All of them only read. Nothing that a run has is longer than a page, and an agent asks for the next page by its offset.

Examples:
  claude mcp add spanbridge -- spanbridge mcp
  codex mcp add spanbridge -- spanbridge mcp --data-dir /srv/spans
  npx @modelcontextprotocol/inspector --cli spanbridge mcp --method tools/list

A running server has the same tools at /mcp on the port of its API, for tokens with the right to read:
  claude mcp add --transport http spanbridge http://127.0.0.1:4319/mcp";

/// Let an agent read runs, over the Model Context Protocol on standard input and output.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Mcp {
    #[command(flatten)]
    from: Where,
}

impl Mcp {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        // Report problems with the source before a client waits.
        drop(self.from.open_silently()?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|source| Failure::Runtime { source })?;
        let failed = |message: String| Failure::Runtime {
            source: std::io::Error::other(message),
        };
        runtime.block_on(async {
            let service = tools::Tools::new(tools::From::Command(Box::new(self.from))).serve(stdio()).await;
            let service = service.map_err(|error| failed(error.to_string()))?;
            let _ = service.waiting().await.map_err(|error| failed(error.to_string()))?;
            Ok(ExitCode::SUCCESS)
        })
    }
}
