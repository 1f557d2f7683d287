//! Model calls beside the agents: checks, judges and writers that no span of an agent holds.

use super::node::{Node, Nodes};
use crate::hash::HashMap;
use crate::operation::{Message, Role};
use crate::span::UnixNanos;

/// Which of the `calls` stand in a conversation of their own, each with the first call of that conversation. Calls that
/// began before all `agents` and go on with one another stay together in the outermost scope.
///
/// Without an agent beside them there is one conversation: how it was cut and edited is not guessed at.
pub(super) fn conversations(nodes: &Nodes, calls: &[usize], agents: &[usize]) -> Vec<(usize, usize)> {
    let start = |index: &usize| nodes.get(*index).map_or(UnixNanos(0), |node| node.start);
    let Some(began) = agents.iter().map(start).min() else {
        return Vec::new();
    };
    let mut groups = Groups::default();
    let mut out = Vec::new();
    for call in calls {
        let Some(node) = nodes.get(*call) else { continue };
        let first = groups.first_of(node).unwrap_or(*call);
        groups.note(node, first);
        let outermost = calls.first() == Some(&first) && start(&first) < began;
        if !outermost {
            out.push((*call, first));
        }
    }
    out
}

/// What tells that a call goes on with another one.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Sign {
    /// The system prompt, or the first words of a user.
    Opening(String),
    /// What a call answered.
    Words(String),
    /// The id of a call that a model asked for.
    CallId(String),
}

/// The first call by signs.
#[derive(Debug, Default)]
struct Groups {
    of: HashMap<Sign, usize>,
    latest: Option<usize>,
}

impl Groups {
    fn first_of(&self, call: &Node) -> Option<usize> {
        let Some(input) = &call.operation.input_messages else {
            return self.latest;
        };
        let of = |sign: Sign| self.of.get(&sign).copied();
        let history = input.iter().rev().find_map(|message| match message.role {
            Role::Tool => of(Sign::CallId(message.tool_call_id.clone()?)),
            Role::Assistant => signs(message).find_map(of),
            _ => None,
        });
        history.or_else(|| of(opening(input)?))
    }

    fn note(&mut self, call: &Node, first: usize) {
        self.latest = Some(first);
        let opening = call.operation.input_messages.as_deref().and_then(opening);
        let said = call.operation.output_messages.iter().flatten().flat_map(signs);
        for sign in opening.into_iter().chain(said) {
            let _ = self.of.entry(sign).or_insert(first);
        }
    }
}

fn opening(input: &[Message]) -> Option<Sign> {
    let first = |wanted: fn(&Role) -> bool| input.iter().find(|message| wanted(&message.role) && message.has_words());
    let system = first(|role| matches!(role, Role::System | Role::Developer));
    let message = system.or_else(|| first(|role| *role == Role::User))?;
    Some(Sign::Opening(message.content()))
}

fn signs(message: &Message) -> impl Iterator<Item = Sign> {
    let words = message.has_words().then(|| Sign::Words(message.content()));
    let ids = message.tool_calls.iter().filter_map(|call| call.id.clone().map(Sign::CallId));
    words.into_iter().chain(ids)
}
