//! Extracts names of agents and tools from span names, by the table in `semconv/span_names.yaml`.

#[rustfmt::skip]
mod table;

use super::rule::fits;
use crate::withheld::is_withheld;
use table::{AGENT_ENDS, AGENT_FORMS, AGENT_NAMELESS, TOOL_ENDS, TOOL_FORMS, TOOL_NAMELESS};

/// The agent's name in a span name such as `invoke_agent planner` or `planner.run`.
pub(crate) fn agent(span_name: &str) -> Option<&str> {
    named(span_name, AGENT_FORMS, AGENT_ENDS, AGENT_NAMELESS)
}

/// The tool's name in a span name such as `execute_tool search` or `search`.
pub(crate) fn tool(span_name: &str) -> Option<&str> {
    named(span_name, TOOL_FORMS, TOOL_ENDS, TOOL_NAMELESS)
}

/// Extracts a name; `forms` lists prefixes and suffixes around it.
fn named<'a>(name: &'a str, forms: &[(&str, &str)], ends: &[&str], nameless: &[&str]) -> Option<&'a str> {
    let within = |(before, behind): &(&str, &str)| name.strip_prefix(before)?.strip_suffix(behind);
    let bare = forms.iter().find_map(within).unwrap_or(name).trim();
    let bare = ends.iter().find_map(|end| bare.strip_suffix(end)).unwrap_or(bare);
    (!nameless.iter().any(|pattern| fits(pattern, bare)) && !is_withheld(bare)).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_span_names() {
        let agents = ["invoke_agent planner", "agent_run [planner]", "planner.run", "planner"].map(agent);
        assert_eq!(agents, [Some("planner"); 4]);
        assert_eq!(["invoke_agent", "agent.execute", "ai.generateText", ""].map(agent), [None; 4]);
        let tools = ["execute_tool look", "running tool: look", "look.tool", "Tool: look"].map(tool);
        assert_eq!(tools, [Some("look"); 4]);
        assert_eq!(["execute_tool", "tools", "ai.toolCall", "tool "].map(tool), [None; 4]);
    }
}
