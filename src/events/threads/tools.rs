//! Tools: the calls of a model and their results.

use super::facts::{PREFIX, add_facts};
use super::pieces::{failure, own};
use super::{Builder, Cursor};
use crate::events::draft::Draft;
use crate::events::event::{Thread, ToolResult};
use crate::events::ids;
use crate::operation::{Kind, Message, Role, ToolUse};
use crate::span::{TraceId, UnixNanos};

impl Builder<'_> {
    /// Whether a tool has its span and its result already: some clients write the model's call after both.
    pub(super) fn is_done(&self, thread: &Thread, trace: TraceId, call_id: &str) -> bool {
        let draft = self.tools.get(call_id).and_then(|index| self.drafts.get(*index));
        let known = draft.filter(|draft| draft.id == ids::span(trace, "tool", &own(thread, call_id)));
        known.is_some_and(|draft| !draft.operation.unmapped.contains_key(&format!("{PREFIX}no_result")))
    }

    /// Adds the span of a tool that has no result yet.
    pub(super) fn tool(
        &mut self,
        thread: &Thread,
        tool: ToolUse,
        call_id: &str,
        parent: usize,
        times: (Option<UnixNanos>, Option<UnixNanos>),
        cursor: &Cursor,
    ) -> Option<usize> {
        let (trace, _, session) = self.agent(cursor)?;
        let name = format!("execute_tool {}", tool.name.as_deref().unwrap_or_default());
        let mut operation = self.operation(thread, Kind::Tool, name.trim().to_owned());
        operation.session_id = session;
        operation.tool = Some(Box::new(tool));
        operation.unmapped.insert(format!("{PREFIX}no_result"), true.into());
        let id = ids::span(trace, "tool", &own(thread, call_id));
        let arguments = operation.tool.as_ref().and_then(|tool| tool.arguments.as_ref());
        if let Some(kind) = arguments.and_then(|arguments| arguments.get("subagent_type")?.as_str()) {
            self.agent_kinds.insert(id, kind.to_owned());
        }
        let mut draft = Draft::new(trace, id, Some(parent), operation);
        (draft.start, draft.end) = times;
        let index = self.add(thread, draft);
        self.tools.insert(call_id.to_owned(), index);
        Some(index)
    }

    pub(super) fn result(&mut self, thread: &Thread, mut result: ToolResult, cursor: &mut Cursor) {
        let Some((trace, agent, _)) = self.agent(cursor) else { return };
        let known = self.tools.get(&result.call_id).copied();
        let known = known.filter(|index| self.drafts.get(*index).is_some_and(|draft| draft.trace == trace));
        let index = known.or_else(|| {
            let tool = ToolUse {
                name: result.name.clone(),
                call_id: Some(result.call_id.clone()),
                arguments: result.arguments.take(),
                ..ToolUse::default()
            };
            let inside = result.inside.as_ref().and_then(|call| self.tools.get(call));
            let parent = inside.copied().unwrap_or(agent);
            let start = result.start.or(cursor.clock);
            self.tool(thread, tool, &result.call_id, parent, (start, result.end), cursor)
        });
        let has_times = result.start.or(result.end).is_some();
        cursor.clock = if has_times { result.end.or(cursor.clock) } else { cursor.tick() };
        self.extend_agent(cursor, None, result.end);
        if let Some(draft) = index.and_then(|index| self.drafts.get_mut(index)) {
            draft.start = result.start.or(draft.start);
            draft.end = result.end.or(draft.end);
            // Only a later line may show when the call that asked for it ended.
            draft.start = draft.start.min(draft.end).or(draft.start);
            let operation = &mut draft.operation;
            if result.message.is_some() || result.content_unknown {
                operation.unmapped.shift_remove(&format!("{PREFIX}no_result"));
                if let Some(tool) = operation.tool.as_mut() {
                    tool.result = result.message.as_ref().map(Message::result_value);
                    tool.mcp_server = result.mcp_server.take().or(tool.mcp_server.take());
                }
            }
            if result.is_error {
                let given = result.message.as_ref().map(Message::content).filter(|text| !text.is_empty());
                let text = result.error.take().or(given);
                operation.failure = Some(failure(text.unwrap_or_else(|| "the tool failed".to_owned())));
            }
            add_facts(operation, result.facts);
        }
        if let Some(mut message) = result.message.filter(|_| result.inside.is_none()) {
            message.role = Role::Tool;
            message.is_error = result.is_error;
            message.tool_call_id = Some(result.call_id);
            cursor.pending.push(message);
        }
    }
}
