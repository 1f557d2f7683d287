// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

pub(super) static AGENT_FORMS: &[(&str, &str)] = &[("invoke_agent ", ""), ("agent_run [", "]")];
pub(super) static AGENT_ENDS: &[&str] = &[".agent", ".workflow", ".run", "._execute_core"];
pub(super) static AGENT_NAMELESS: &[&str] = &["", "invoke_agent", "agent", "agent run", "agent.execute", "Agent workflow", "ai.*", "spring_ai chat_client", "anthropic.messages.tool_runner"];
pub(super) static TOOL_FORMS: &[(&str, &str)] = &[("execute_tool ", ""), ("running tool: ", ""), ("tool_call ", ""), ("tool call ", ""), ("tools/call ", ""), ("Tool: ", ""), ("Function: ", ""), ("tool ", "")];
pub(super) static TOOL_ENDS: &[&str] = &[".tool"];
pub(super) static TOOL_NAMELESS: &[&str] = &["", "execute_tool", "tool", "tools", "tool_call", "tools/call", "running tool", "running tools", "ai.*", "claude_code"];
