//! Reads what a trace has besides messages: operations in `info`, answers of agents, words not passed to a model.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::graph::{Graph, number};
use crate::formats::back::{At, Draft, NoteKind, Result, add_left_over_input, read_operations, time};
use crate::operation::{Kind, Role};
use crate::span::UnixNanos;

impl<'a> Graph<'_, 'a> {
    /// Sets answers of agents that are not the last model output.
    fn answers(&mut self) {
        let last: HashMap<usize, usize> = self.nodes.iter().enumerate().map(|(index, node)| (node.agent, index)).collect();
        for (agent, node) in last {
            let Some(node) = self.nodes.get(node).filter(|node| node.call.is_none()) else {
                continue;
            };
            let words = node.message.content();
            let place = self.agents.place(agent);
            if node.message.role == Role::Assistant
                && let Some(operation) = self.builder.operation(place).filter(|agent| agent.output.is_none())
            {
                operation.output = words.into();
            }
        }
    }

    /// The times at which tools ran, in order.
    fn ran(&self) -> Vec<(UnixNanos, UnixNanos, usize)> {
        let is_tool = |draft: &&Draft| draft.operation.kind == Kind::Tool;
        let mut out: Vec<_> = (0..)
            .zip(&self.builder.drafts)
            .filter(|(_, draft)| is_tool(draft))
            .filter_map(|(place, draft)| Some((draft.start?, draft.end?, place)))
            .collect();
        out.sort_unstable();
        out
    }

    /// Reads what is outside the messages, and words not passed to a model call.
    pub(super) fn rest(mut self, earlier: &[At<'a>], operations: &[At<'a>]) -> Result<()> {
        self.answers();
        let ran = self.ran();
        for at in earlier.iter().chain(operations) {
            let Some(map) = at.value.as_object() else { continue };
            if !map.contains_key("kind") {
                continue;
            }
            let mut facts = map.clone();
            let node = number(at.value, "node").and_then(|node| self.nodes.get(node));
            let of_name = self.agents.named(map.get("agent").and_then(Value::as_str));
            let agent = node.map_or(of_name, |node| self.agents.place(node.agent));
            for key in ["node", "asked_for", "evidence", "observed"] {
                facts.shift_remove(key);
            }
            if let Some(content) = facts.shift_remove("content") {
                facts.insert("output".to_owned(), content);
            }
            let before = self.builder.drafts.len();
            let id = facts.shift_remove("tool_call_id").and_then(|id| id.as_str().map(str::to_owned));
            let span = map.get("span_id").and_then(Value::as_str).map(str::to_owned);
            let around = within(map, &ran).unwrap_or(agent);
            read_operations(Some(&json!([facts])), before, around, self.builder);
            if let (Some(id), Some(operation)) = (id, self.builder.operation(before)) {
                operation.tool.get_or_insert_default().call_id = Some(id);
            }
            if let Some(span) = span.filter(|_| self.builder.drafts.len() > before) {
                self.tools.insert(span, before);
            }
        }
        self.agents.finish(&self.tools, self.builder);
        let recorded = |at: &At<'_>| number(at.value, "node");
        let recorded: Vec<usize> = operations.iter().filter_map(recorded).collect();
        let last_call = self.nodes.iter().rposition(|node| node.call.is_some() && node.agent == 0);
        for (index, node) in self.nodes.iter().enumerate().skip(last_call.map_or(0, |last| last + 1)) {
            if node.agent == 0 && node.message.role == Role::User && !recorded.contains(&index) {
                add_left_over_input(&node.message, 0, self.builder);
            }
        }
        if self.tokens.unwritten > 0 {
            let detail = format!(
                "{} model calls are written without the tokens of their prompts: there are too many",
                self.tokens.unwritten
            );
            self.builder.note("$", NoteKind::Beside, detail);
        }
        Ok(())
    }
}

/// The tool that was running during an operation, which it must have called.
fn within(facts: &Map<String, Value>, ran: &[(UnixNanos, UnixNanos, usize)]) -> Option<usize> {
    let at = |key: &str| facts.get(key).and_then(Value::as_str).and_then(time);
    let (start, end) = (at("started_at")?, at("ended_at")?);
    let next = ran.partition_point(|(begin, ..)| *begin <= start);
    let (_, last, place) = ran.get(next.checked_sub(1)?)?;
    (end <= *last).then_some(*place)
}
