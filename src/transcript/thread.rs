//! A scope's conversation as a graph of messages: each message once, with the one that it follows. A branch begins where a
//! history was edited or cut.

use crate::document::json::Text;
use crate::document::loss::{Loss, LossReason};
use crate::hash::HashMap;
use crate::operation::{Failure, Message, Part, Role};
use crate::run::{self, Run, Step};
use crate::span::UnixNanos;
use crate::transcript::calls::Results;
use crate::transcript::ids::Ids;
use crate::transcript::{Exchange, ExchangeCall, ExchangeKind, Exchanges, StepId};
use crate::transcript::{chat, content};

/// A conversation.
#[derive(Debug, Default)]
pub(crate) struct Thread<'a> {
    /// Every message is listed after the one that it follows.
    pub(crate) nodes: Vec<Node<'a>>,
    /// Messages and actions, in order.
    pub(crate) items: Vec<Item<'a>>,
    /// Operations outside the thread.
    pub(crate) rest: Vec<StepId>,
    pub(crate) losses: Vec<Loss>,
    ids: Ids<'a>,
    /// The messages that follow a message; only filled if histories branch.
    after: Option<HashMap<(Option<usize>, String), usize>>,
    tip: Option<usize>,
}

/// An exchange of the conversation.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    pub(crate) exchange: Exchange<'a>,
    /// Its message; `None` if models read no message of it.
    pub(crate) node: Option<usize>,
    /// The message that it follows: the end of a model call's input.
    pub(crate) before: Option<usize>,
    /// The ids of its calls, unique in the thread.
    pub(crate) ids: Vec<Text<'a>>,
}

/// A message.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    /// The message that it follows.
    pub(crate) parent: Option<usize>,
    pub(crate) words: Words<'a>,
    pub(crate) at: UnixNanos,
    /// The item that contains it; `None` for text that only an agent or a chain has.
    pub(crate) item: Option<usize>,
}

/// The content of a message.
#[derive(Debug)]
pub(crate) enum Words<'a> {
    /// From a model call's input.
    Input(&'a Message),
    /// Written by a model call.
    Turn(&'a Message),
    /// Known only from an operation.
    OfOperation { is_user: bool, text: Text<'a> },
    /// The result of a call of its item.
    Result {
        call: usize,
        text: Text<'a>,
        failure: Option<&'a Failure>,
    },
}

impl<'a> Thread<'a> {
    /// The thread of these exchanges, between `question` and `answer` if no message contains these.
    pub(crate) fn of(
        run: &'a Run,
        results: &Results<'a>,
        exchanges: Exchanges<'a>,
        question: Option<&'a run::Utterance>,
        answer: Option<&'a run::Utterance>,
    ) -> Self {
        let mut this = Self {
            rest: exchanges.rest,
            ..Self::default()
        };
        if exchanges.list.iter().any(|exchange| exchange.branch) {
            this.after = Some(HashMap::default());
        }
        question.into_iter().for_each(|utterance| this.around(utterance, true));
        for exchange in exchanges.list {
            this.item(run, results, exchange);
        }
        answer.into_iter().for_each(|utterance| this.around(utterance, false));
        this
    }

    /// The last message.
    pub(crate) fn tip(&self) -> Option<usize> {
        self.tip
    }

    /// The messages from the first one to this one.
    pub(crate) fn path(&self, to: Option<usize>) -> Vec<usize> {
        let mut path: Vec<usize> = std::iter::successors(to, |at| self.nodes.get(*at)?.parent).collect();
        path.reverse();
        path
    }

    /// The call of a node's item.
    pub(crate) fn asked(&self, node: &Node<'a>, call: usize) -> Option<(&ExchangeCall<'a>, &Text<'a>)> {
        let item = self.items.get(node.item?)?;
        item.exchange.calls.get(call).zip(item.ids.get(call))
    }

    fn around(&mut self, utterance: &'a run::Utterance, is_user: bool) {
        let text = content::text(&utterance.content);
        self.node(self.tip, Words::OfOperation { is_user, text }, utterance.at, None);
    }

    fn item(&mut self, run: &'a Run, results: &Results<'a>, exchange: Exchange<'a>) {
        let step = exchange.step.and_then(|step| step.of(run));
        let before = match exchange.kind {
            _ if exchange.branch => self.branch(step),
            // It is placed by time, after messages of calls that began before it ended.
            ExchangeKind::SilentTurn => self.shared(step).or(self.tip),
            _ => self.tip,
        };
        let words = match exchange.kind {
            ExchangeKind::Message(message) if message.is_blank() => None,
            ExchangeKind::Message(message) => Some(Words::Input(message)),
            ExchangeKind::Turn(message) => Some(Words::Turn(message)),
            ExchangeKind::SilentTurn | ExchangeKind::Unasked => None,
            _ if exchange.is_repeated => None,
            ExchangeKind::UserWords | ExchangeKind::AgentWords => {
                let is_user = exchange.kind == ExchangeKind::UserWords;
                let text = step.and_then(|step| content::operation_words(run, results, step, is_user));
                text.map(|text| Words::OfOperation { is_user, text })
            }
        };
        let ids = exchange.calls.iter().map(|asked| self.id(asked, step)).collect();
        let (at, item) = (exchange.at, self.items.len());
        // A model read the result even though its call is unknown.
        let is_stray = exchange.kind == ExchangeKind::Unasked && step.is_none();
        let answers = words.is_some() || is_stray;
        let node = words.map(|words| self.node(before, words, at, Some(item)));
        let given = exchange.calls.iter().enumerate().filter_map(|(call, asked)| {
            let last = asked.results.last().filter(|_| answers)?;
            let (text, failure) = chat::given(run, results, *last);
            Some((Words::Result { call, text, failure }, last.at))
        });
        let given: Vec<_> = given.collect();
        self.items.push(Item {
            exchange,
            node,
            before,
            ids,
        });
        for (words, at) in given {
            self.node(self.tip, words, at, Some(item));
        }
    }

    fn id(&mut self, asked: &ExchangeCall<'a>, step: Option<&Step>) -> Text<'a> {
        let id = self.ids.numbered(asked.id.clone(), ':');
        for (happened, what, reason) in [
            (id != asked.id, "id", LossReason::Coerced),
            (asked.id_is_derived && asked.call.is_some(), "id", LossReason::Synthesized),
            (!asked.is_recorded(), "function", LossReason::NoPlace),
        ] {
            if happened {
                let span = step.and_then(|step| step.span_id);
                self.losses
                    .push(Loss::new(span, format!("tool_calls[{}].{what}", asked.id), reason));
            }
        }
        id
    }

    fn node(&mut self, parent: Option<usize>, words: Words<'a>, at: UnixNanos, item: Option<usize>) -> usize {
        let index = self.nodes.len();
        if let Some(after) = &mut self.after {
            let key = match &words {
                Words::Input(message) | Words::Turn(message) => key(message),
                Words::OfOperation { is_user, text } => key_of(if *is_user { "user" } else { "assistant" }, text),
                Words::Result { text, .. } => key_of("tool", text),
            };
            let _ = after.entry((parent, key)).or_insert(index);
        }
        self.nodes.push(Node { parent, words, at, item });
        self.tip = Some(index);
        index
    }

    /// The last known message that a model call's input shares, if histories branch.
    fn shared(&self, step: Option<&'a Step>) -> Option<usize> {
        let input = step?.operation.input_messages.as_deref()?;
        let (after, mut shared) = (self.after.as_ref()?, None);
        for message in input {
            match after.get(&(shared, key(message))) {
                Some(next) => shared = Some(*next),
                None if matches!(message.role, Role::System | Role::Developer) => {}
                None => break,
            }
        }
        shared
    }

    /// The message after which a branch begins.
    fn branch(&mut self, step: Option<&'a Step>) -> Option<usize> {
        let shared = self.shared(step);
        if shared.is_none() {
            let span = step.and_then(|step| step.span_id);
            let what = "what a message follows: the history was edited before it";
            self.losses.push(Loss::new(span, what, LossReason::Ambiguous));
        }
        shared.or(self.tip)
    }
}

/// A key that distinguishes a message from others after the same one.
fn key(message: &Message) -> String {
    let role = match &message.role {
        Role::Developer => "system",
        role => role.name(),
    };
    let mut key = key_of(role, &chat::content(message).0);
    // Other parts are not text, but distinguish messages.
    for part in &message.parts {
        if let Part::Other(value) = part {
            key.push('\n');
            key.push_str(&content::text(value));
        }
    }
    for call in &message.tool_calls {
        key.push('\n');
        key.push_str(call.id.as_deref().unwrap_or(&call.name));
    }
    key
}

fn key_of(role: &str, text: &str) -> String {
    format!("{role} {}", text.trim())
}
