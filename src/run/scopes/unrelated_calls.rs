//! Model calls of one agent that continue no earlier call: a router, a rewriter, a title, a map over documents, each with its own input.
//!
//! A call continues earlier ones if its input repeats one of their answers, tool calls or results; if its input has no text; or
//! if the provider stores the history. A call whose input has only a prompt and user messages begins anew if its prompt is a
//! different one, or if the call before it was answered in full. A call with an unknown history stays in the latest thread.

use std::borrow::Cow;
use std::hash::BuildHasher as _;

use crate::hash::HashMap;
use crate::operation::{Message, Messages, Role};
use crate::run::id::NodeId;
use crate::run::labels::{Makes, makes};
use crate::run::node::{Node, Nodes};
use crate::span::UnixNanos;

/// Maximum number of messages examined at the end of an input: many calls may share a long conversation.
const MAX_LOOKBACK: usize = 1_024;

/// Evidence that a call continues another one.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum Clue<'a> {
    /// The text of an answer.
    Words(Cow<'a, str>),
    /// The id of a tool call.
    CallId(&'a str),
}

/// One conversation of an agent.
#[derive(Debug)]
struct Thread<'a> {
    first: NodeId,
    prompt: Option<Cow<'a, str>>,
    /// The user messages in its first input.
    asked: Vec<Cow<'a, str>>,
    /// The answer of its only call, if it has one call and that asked for no tools.
    answer: Option<Cow<'a, str>>,
    /// Whether the latest call asked for tools, or has no text: the agent has more to do.
    is_open: bool,
    has_tools: bool,
    /// Whether a later call received more user messages: a conversation, whose history may be cut.
    grew: bool,
    ends: UnixNanos,
}

/// The threads of one agent's calls.
#[derive(Debug, Default)]
pub(super) struct Threads<'a> {
    list: Vec<Thread<'a>>,
    by_clue: HashMap<Clue<'a>, usize>,
    /// The latest thread of a prompt and first user messages.
    by_words: HashMap<u64, usize>,
    /// By number of a shared input, since the spans of calls that share one state that they continue one another.
    by_shared_input: HashMap<usize, usize>,
    latest: Option<usize>,
    of_call: Vec<(NodeId, usize)>,
}

impl<'a> Threads<'a> {
    pub(super) fn add(&mut self, nodes: &'a Nodes, call: NodeId) {
        let Some(node) = nodes.get(call) else { return };
        let place = self.continued(node).unwrap_or_else(|| {
            let (prompt, asked) = (prompt(node), asked(node));
            self.list.push(Thread {
                first: call,
                prompt,
                asked,
                answer: None,
                is_open: true,
                has_tools: false,
                grew: false,
                ends: node.start,
            });
            self.find_by_words(self.list.len() - 1);
            self.list.len() - 1
        });
        self.latest = Some(place);
        self.of_call.push((call, place));
        let said = node.operation.output_messages.as_ref().and_then(|list| list.first());
        if let Some(thread) = self.list.get_mut(place) {
            thread.is_open = said.is_none_or(|said| said.asks_for_tools() || !said.has_words());
            thread.has_tools |= said.is_some_and(Message::asks_for_tools);
            let only = said.filter(|said| thread.first == call && !said.asks_for_tools());
            thread.answer = only.map(Message::joined_text);
            thread.ends = thread.ends.max(node.end_or_start());
            // The shared part of an input was examined with an earlier call.
            if !thread.asked.is_empty() {
                thread.grew = thread.grew
                    || match node.operation.input_messages.as_ref().filter(|input| input.continued() > 0) {
                        Some(input) => input.own().iter().any(is_question),
                        None => questions(node).count() > thread.asked.len(),
                    };
            } else if thread.first != call {
                let new = node.operation.input_messages.as_ref().map_or(&[][..], Messages::own);
                thread.asked = new
                    .iter()
                    .filter(|message| is_question(message))
                    .map(Message::joined_text)
                    .collect();
                self.find_by_words(place);
            }
        }
        if let Some(number) = shared_number(node) {
            self.by_shared_input.insert(number, place);
        }
        for clue in new_clues(node) {
            let _ = self.by_clue.entry(clue).or_insert(place);
        }
    }

    /// The thread whose answers an input contains.
    pub(super) fn known(&self, node: &Node) -> Option<usize> {
        let shared = shared_number(node).and_then(|number| self.by_shared_input.get(&number));
        shared
            .copied()
            .or_else(|| find_by_clue(node, |clue| self.by_clue.get(&clue).copied()))
    }

    /// Whether the input of a call has the first user messages of one of these threads, and an answer or call of it.
    pub(super) fn continues(&self, node: &Node) -> bool {
        let thread = self.known(node).and_then(|place| self.list.get(place));
        thread.is_some_and(|thread| !thread.asked.is_empty() && begins_with(node, &thread.asked))
    }

    fn continued(&self, node: &Node) -> Option<usize> {
        let latest = self.latest?;
        let Some(input) = &node.operation.input_messages else {
            return Some(latest);
        };
        if let Some(known) = self.known(node) {
            return Some(known);
        }
        let is_stored = node
            .operation
            .parameters
            .keys()
            .any(|name| name.starts_with("previous_response") || name == "conversation")
            || node.operation.session_id.as_deref().is_some_and(is_kept_by_provider) && prompt(node).is_none();
        let has_history = input
            .iter()
            .any(|message| !matches!(message.role, Role::User | Role::System | Role::Developer));
        if is_stored || has_history || node.is_partial {
            return Some(latest);
        }
        let (prompt, asked) = (prompt(node), asked(node));
        // The same messages again, after an answer, are another question: a retry, a sample, an item of a list.
        let same = |place: &usize| {
            let thread = self.list.get(*place);
            let is_same = thread.filter(|thread| thread.prompt == prompt && asked.starts_with(&thread.asked));
            is_same.is_some_and(|thread| thread.is_open || asked.len() > thread.asked.len())
        };
        let begun = self.begun_with(prompt.as_deref(), &asked);
        if let Some(again) = begun.filter(|_| !asked.is_empty()).filter(same).max() {
            return Some(again);
        }
        let thread = self.list.get(latest)?;
        // A loop that was compacted or whose client records only new messages, or a conversation whose history was cut.
        let has_more = thread.is_open || thread.grew && prompt.is_some();
        let goes_on = thread.prompt == prompt && has_more && node.start >= thread.ends;
        (goes_on || asked.is_empty()).then_some(latest)
    }

    /// Indexes a thread by its prompt and user messages, replacing earlier threads.
    fn find_by_words(&mut self, place: usize) {
        let Some(thread) = self.list.get(place) else { return };
        let key = self.keys(thread.prompt.as_deref(), &thread.asked).last();
        key.into_iter().for_each(|key| {
            let latest = self.by_words.entry(key).or_insert(place);
            *latest = place.max(*latest);
        });
    }

    /// The latest thread that began with each prefix of these user messages.
    fn begun_with(&self, prompt: Option<&str>, asked: &[Cow<'_, str>]) -> impl Iterator<Item = usize> {
        self.keys(prompt, asked).filter_map(|key| self.by_words.get(&key).copied())
    }

    /// The keys of a prompt with none of these user messages, the first, the first two, and so on.
    fn keys(&self, prompt: Option<&str>, asked: &[Cow<'_, str>]) -> impl Iterator<Item = u64> {
        let hash = self.by_words.hasher();
        let none = hash.hash_one(prompt);
        std::iter::once(none).chain(asked.iter().scan(none, |before, words| {
            *before = hash.hash_one((*before, words));
            Some(*before)
        }))
    }

    /// The first thread after those that only generate a title for it.
    fn behind_titles(&self) -> Option<usize> {
        if self.list.len() < 2 {
            return None;
        }
        let place = self.list.iter().position(|thread| !thread.is_title())?;
        let (titles, rest) = self.list.split_at_checked(place)?;
        let thread = rest.first()?;
        titles.iter().all(|title| title.names(thread)).then_some(place)
    }

    /// The calls outside the agent's own thread, each with the first call of its thread. The agent's own thread is the one that
    /// asks for tools, else the first that does not just generate a title for the next.
    pub(super) fn unrelated(self) -> impl Iterator<Item = (NodeId, NodeId)> {
        let own = self.list.iter().position(|thread| thread.has_tools);
        let own = own.or_else(|| self.behind_titles()).unwrap_or(0);
        let firsts: Vec<NodeId> = self.list.iter().map(|thread| thread.first).collect();
        let others = self.of_call.into_iter().filter(move |(_, place)| *place != own);
        others.filter_map(move |(call, place)| Some((call, *firsts.get(place)?)))
    }
}

impl Thread<'_> {
    /// Whether its only call was asked for a title.
    fn is_title(&self) -> bool {
        let prompt = self.prompt.as_ref().or(self.asked.first());
        self.answer.is_some() && prompt.is_some_and(|prompt| makes(prompt) == Some(Makes::Label))
    }

    /// Whether its only call received the question of another thread, which does not use its answer.
    fn names(&self, other: &Thread<'_>) -> bool {
        let (Some(question), Some(title)) = (other.asked.first(), &self.answer) else {
            return false;
        };
        let (question, title) = (question.trim(), title.trim());
        let is_used = || other.asked.iter().chain(&other.prompt).any(|words| words.contains(title));
        !question.is_empty() && self.asked.iter().any(|asked| asked.contains(question)) && !title.is_empty() && !is_used()
    }
}

/// OpenAI's conversations and threads, whose requests contain only new messages.
fn is_kept_by_provider(session: &str) -> bool {
    session.starts_with("conv_") || session.starts_with("thread_")
}

fn prompt(node: &Node) -> Option<Cow<'_, str>> {
    let mut input = node.operation.input_messages.iter().flatten();
    let prompt = input.find(|message| matches!(message.role, Role::System | Role::Developer));
    prompt.map(Message::joined_text)
}

fn asked(node: &Node) -> Vec<Cow<'_, str>> {
    questions(node).map(Message::joined_text).collect()
}

/// Whether these are the first user messages in an input.
fn begins_with(node: &Node, asked: &[Cow<'_, str>]) -> bool {
    let mut questions = questions(node);
    asked
        .iter()
        .all(|words| questions.next().is_some_and(|question| question.joined_text() == *words))
}

fn questions(node: &Node) -> impl Iterator<Item = &Message> {
    let input = node.operation.input_messages.iter().flatten();
    input.filter(|message| is_question(message))
}

fn is_question(message: &Message) -> bool {
    message.role == Role::User && message.has_words()
}

/// The number of the input that a call shares with others.
fn shared_number(node: &Node) -> Option<usize> {
    node.operation.input_messages.as_ref()?.shared_number()
}

/// The value that `of` finds for the last message of an input with a known clue.
pub(super) fn find_by_clue<'a, T>(node: &'a Node, of: impl Fn(Clue<'a>) -> Option<T>) -> Option<T> {
    let input = node.operation.input_messages.as_ref()?;
    input.iter().rev().take(MAX_LOOKBACK).find_map(|message| match message.role {
        Role::Tool => of(Clue::CallId(message.tool_call_id.as_deref()?)),
        Role::Assistant => clues(message).find_map(&of),
        _ => None,
    })
}

/// The clues that a call adds: those of its answer, and of the last answer in its input. Earlier ones are known.
pub(super) fn new_clues(node: &Node) -> impl Iterator<Item = Clue<'_>> {
    let mut input = node.operation.input_messages.as_ref().map_or(&[][..], Messages::own).iter();
    let last = input.rfind(|message| message.role == Role::Assistant);
    let said = node.operation.output_messages.as_ref().and_then(|list| list.first());
    last.into_iter().chain(said).flat_map(clues)
}

fn clues(message: &Message) -> impl Iterator<Item = Clue<'_>> {
    let words = message.has_words().then(|| {
        Clue::Words(match message.joined_text() {
            Cow::Borrowed(text) => text.trim().into(),
            Cow::Owned(text) => text.trim().to_owned().into(),
        })
    });
    let ids = message.tool_calls.iter().filter_map(|call| Some(Clue::CallId(call.id.as_deref()?)));
    words.into_iter().chain(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Kind;
    use crate::run::id::Id;
    use crate::run::testing::{nodes, reading};

    fn call(number: u64, from: u64, input: &[(Role, &str)], output: &str) -> (Node, Option<usize>) {
        let mut call = reading(number, Kind::Llm, from..from + 5);
        call.operation.input_messages = Some(input.iter().map(|(role, words)| Message::text(role.clone(), *words)).collect());
        call.operation.output_messages = Some(vec![Message::text(Role::Assistant, output)]);
        (call, None)
    }

    #[test]
    fn a_call_with_another_prompt_begins_anew_and_one_with_the_answer_goes_on() {
        use Role::{Assistant, System, User};
        let nodes = nodes([
            call(1, 10, &[(System, "Rewrite."), (User, "and there?")], "capital of Norway"),
            call(2, 20, &[(System, "Answer."), (User, "capital of Norway")], "Oslo."),
            call(
                3,
                30,
                &[
                    (System, "Answer."),
                    (User, "capital of Norway"),
                    (Assistant, "Oslo."),
                    (User, "Why?"),
                ],
                "It is.",
            ),
        ]);
        let mut threads = Threads::default();
        let calls = [0, 1, 2].map(NodeId::new);
        calls.iter().for_each(|call| threads.add(&nodes, *call));
        let unrelated: Vec<_> = threads.unrelated().collect();
        assert_eq!(unrelated, [(calls[1], calls[1]), (calls[2], calls[1])]);
    }

    #[test]
    fn a_title_that_is_made_first_is_not_the_agents_own_thread() {
        use Role::{System, User};
        let unrelated = |title: &str, article: &str| {
            let nodes = nodes([
                call(1, 10, &[(System, "Write a title for the chat."), (User, "How deep is it?")], title),
                call(2, 20, &[(System, "You know wells."), (User, article)], "Nine fathoms."),
            ]);
            let mut threads = Threads::default();
            let calls = [0, 1].map(NodeId::new);
            calls.iter().for_each(|call| threads.add(&nodes, *call));
            threads.unrelated().map(|(call, _)| call).collect::<Vec<_>>()
        };
        assert_eq!(unrelated("Depth of a well", "How deep is it?"), [NodeId::new(0)]);
        let used = "How deep is it?\nTitle: Depth of a well";
        assert_eq!(
            unrelated("Depth of a well", used),
            [NodeId::new(1)],
            "a headline that the next call was given"
        );
    }
}
