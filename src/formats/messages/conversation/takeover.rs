//! Agents that take over a conversation: each continues it in a row with its own prompt and tools.

use super::{ANOTHER_PROMPT, ConversationRow, RowTools, prompts_over};
use crate::document::json::Text;
use crate::document::loss::LossReason;
use crate::formats::messages::row::RowBuilder;
use crate::run::Step;
use crate::transcript::{chat, turn_facts};

/// Maximum number of handovers that start a row, because each row copies the conversation before it.
const MAX_TAKEOVERS: usize = 128;

impl<'a> ConversationRow<'a, '_> {
    /// Whether the call is made by another agent than the last turn.
    pub(super) fn takes_over(&self, step: &'a Step) -> bool {
        (self.is_named_otherwise(step) || self.is_passed_on) && self.takeovers < MAX_TAKEOVERS && !self.options.is("messages.rows", "run")
    }

    fn is_named_otherwise(&self, step: &'a Step) -> bool {
        let (agent, before) = (turn_facts::agent(self.run, step), self.agent);
        agent.is_some() && before.is_some() && agent != before
    }

    /// Starts a row for an agent that continues the conversation with its own prompt; it begins with the conversation so far.
    pub(super) fn take_over(&mut self, step: &'a Step) {
        let (takes_over, is_named, before) = (self.takes_over(step), self.is_named_otherwise(step), self.agent);
        self.agent = turn_facts::agent(self.run, step).or(self.agent);
        self.is_passed_on = false;
        if takes_over {
            let prompts: Vec<Text<'a>> = prompts_over(step, self.row.said())
                .map(|prompt| chat::content(prompt).0)
                .filter(|words| !words.trim().is_empty())
                .collect();
            if !self.row.has_prompts(&prompts) {
                self.hand_on(before.filter(|_| is_named), prompts, step);
            }
        }
        self.lose_prompts();
    }

    /// `before`: the agent of the last turn, if the two agents have different names.
    fn hand_on(&mut self, before: Option<&'a str>, prompts: Vec<Text<'a>>, step: &'a Step) {
        self.takeovers += 1;
        // An earlier row of this agent is the beginning of its new one.
        let is_own = |(agent, row, _): &(Option<&'a str>, RowBuilder<'a>, RowTools<'a>)| match before {
            Some(_) => *agent == self.agent,
            None => !prompts.is_empty() && row.has_prompts(&prompts),
        };
        let own = self.before.iter().position(is_own);
        let mut next = self.row.handed_on(self.agent.filter(|_| before.is_some()), prompts, step.span_id);
        let agent = self.run.scopes.get(step.scope).and_then(|scope| scope.step);
        next.origin = Some(agent.and_then(|agent| self.run.steps.get(agent)?.span_id));
        let row = std::mem::replace(&mut self.row, next);
        let tools = std::mem::take(&mut self.tools);
        self.before.push((before, row, tools));
        if let Some(at) = own {
            let (_, row, tools) = self.before.remove(at);
            self.row.losses.extend(row.losses);
            self.tools = tools;
        }
    }

    /// Reports prompts that begin no row, because their agent had no turn.
    pub(super) fn lose_prompts(&mut self) {
        for (prompt, span) in std::mem::take(&mut self.prompts) {
            if !self.row.has_prompts(std::slice::from_ref(&prompt)) {
                self.row.lose(span, ANOTHER_PROMPT, LossReason::NoPlace);
            }
        }
    }
}
