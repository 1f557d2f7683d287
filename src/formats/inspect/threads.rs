//! The threads of all scopes. Their messages share one pool, to which model events refer by index.

use super::message;
use crate::document::json::{Json, Object, Text};
use crate::hash::HashMap;
use crate::run::{IdVec, Run};
use crate::transcript::calls::Results;
use crate::transcript::conversation_words::ConversationWords;
use crate::transcript::thread::{Item, Thread, Words};
use crate::transcript::{ExchangeKind, ScopeId, Transcript};

/// The threads of a run.
pub(super) struct Threads<'a> {
    pub(super) run: &'a Run,
    pub(super) results: Results<'a>,
    pub(super) words: ConversationWords<'a>,
    /// By scope.
    by_scope: IdVec<ScopeId, PooledThread<'a>>,
}

/// A scope's thread, whose messages are in the pool.
pub(super) struct PooledThread<'a> {
    pub(super) thread: Thread<'a>,
    /// Pool index of its first message.
    first: usize,
    /// For each message, the first message of its row: a row is a sequence in which each message follows the previous one.
    rows: Vec<usize>,
    /// For each message, whether a model received it.
    read: Vec<bool>,
    /// For each message, whether it is in the conversation at the end.
    stays: Vec<bool>,
    /// Messages with results, by item and call.
    results: HashMap<(usize, usize), usize>,
}

impl<'a> Threads<'a> {
    /// `main`: the scopes whose conversations have the run's question and answer.
    pub(super) fn of(run: &'a Run, transcript: &Transcript<'a>, main: &[ScopeId]) -> Self {
        let (results, mut first) = (Results::of(run), 0);
        let mut by_scope = IdVec::with_capacity(run.scopes.len());
        for (scope, _) in transcript.scopes_with_tool() {
            let outside = |is_here: bool| move |utterance: &&crate::run::Utterance| is_here && !utterance.in_conversation;
            let question = run.question.as_ref().filter(outside(main.first() == Some(&scope)));
            let answer = run.answer.as_ref().filter(outside(main.last() == Some(&scope)));
            let thread = Thread::of(run, &results, transcript.exchanges(scope), question, answer);
            let pooled = PooledThread::of(thread, first);
            first += pooled.thread.nodes.len();
            by_scope.push(pooled);
        }
        Self {
            run,
            results,
            words: ConversationWords::of(run),
            by_scope,
        }
    }

    pub(super) fn pooled(&self, scope: ScopeId) -> Option<&PooledThread<'a>> {
        self.by_scope.get(scope)
    }

    /// The messages of all scopes.
    pub(super) fn pool(&self) -> Json<'a> {
        let messages = self
            .by_scope
            .iter()
            .flat_map(|pooled| (0..pooled.thread.nodes.len()).filter_map(|at| pooled.message(self.run, at)));
        messages.collect()
    }

    /// The conversation of a scope at its end.
    pub(super) fn messages(&self, scope: ScopeId) -> Vec<Object<'a>> {
        let Some(pooled) = self.pooled(scope) else { return Vec::new() };
        let path = pooled.thread.path(pooled.thread.tip()).into_iter();
        path.filter_map(|at| pooled.message(self.run, at)).collect()
    }

    /// The input before the first turn: text if it is a single user message, else messages.
    pub(super) fn input(&self, main: &[ScopeId]) -> Json<'a> {
        for pooled in main.iter().filter_map(|scope| self.pooled(*scope)) {
            let is_work = |item: &Item<'_>| {
                matches!(
                    item.exchange.kind,
                    ExchangeKind::Turn(_) | ExchangeKind::SilentTurn | ExchangeKind::Unasked
                )
            };
            let first = pooled.thread.items.iter().position(is_work).unwrap_or(usize::MAX);
            let is_before = |item: Option<usize>, at: usize| item.map_or(at == 0, |item| item < first);
            let nodes = pooled.thread.nodes.iter().enumerate();
            let count = nodes.take_while(|(at, node)| is_before(node.item, *at)).count();
            let list: Vec<_> = (0..count).filter_map(|at| pooled.message(self.run, at)).collect();
            if let [only] = list.as_slice()
                && only.get("role").is_some_and(|role| role.as_str() == Some("user"))
                && let Some(words) = only.get("content").filter(|content| content.as_str().is_some())
            {
                return words.into_owned();
            }
            if !list.is_empty() {
                return list.into_iter().collect();
            }
        }
        Json::Null
    }
}

impl<'a> PooledThread<'a> {
    fn of(thread: Thread<'a>, first: usize) -> Self {
        let mut rows: Vec<usize> = Vec::with_capacity(thread.nodes.len());
        let mut results = HashMap::default();
        for (at, node) in thread.nodes.iter().enumerate() {
            let row = node
                .parent
                .filter(|parent| parent + 1 == at)
                .and_then(|parent| rows.get(parent).copied());
            rows.push(row.unwrap_or(at));
            if let (Words::Result { call, .. }, Some(item)) = (&node.words, node.item) {
                let _ = results.insert((item, *call), at);
            }
        }
        let mut read = vec![false; rows.len()];
        let is_call = |item: &&Item<'_>| matches!(item.exchange.kind, ExchangeKind::Turn(_) | ExchangeKind::SilentTurn);
        for item in thread.items.iter().filter(is_call) {
            let mut next = item.before;
            while let Some(unread) = next.and_then(|at| read.get_mut(at)).filter(|read| !**read) {
                *unread = true;
                next = next.and_then(|at| thread.nodes.get(at)?.parent);
            }
        }
        let mut stays = vec![false; rows.len()];
        for at in thread.path(thread.tip()) {
            stays.get_mut(at).into_iter().for_each(|stays| *stays = true);
        }
        Self {
            thread,
            first,
            rows,
            read,
            stays,
            results,
        }
    }

    /// Whether an input message is neither in a model event nor at the end of an outermost conversation.
    pub(super) fn is_unwritten(&self, node: usize, is_outermost: bool) -> bool {
        let is_read = self.read.get(node).copied().unwrap_or_default();
        let stays = self.stays.get(node).copied().unwrap_or_default();
        !(is_read || is_outermost && stays)
    }

    fn id(&self, run: &Run, at: usize) -> Text<'a> {
        format!("{}-{}", run.trace_id, self.first + at).into()
    }

    pub(super) fn message(&self, run: &'a Run, at: usize) -> Option<Object<'a>> {
        let node = self.thread.nodes.get(at)?;
        Some(message::of_node(run, &self.thread, node, self.id(run, at)))
    }

    /// The id of the message with a call's result; `None` without a result, or if a compaction removed it before a model received it.
    pub(super) fn result_id(&self, run: &Run, item: usize, call: usize) -> Option<Text<'a>> {
        let at = self.results.get(&(item, call)).filter(|at| !self.is_unwritten(**at, true));
        at.map(|at| self.id(run, *at))
    }

    /// The messages up to this one, as ranges of indices.
    pub(super) fn input(&self, last: Option<usize>) -> Json<'a> {
        let (mut ranges, mut next) = (Vec::new(), last);
        while let Some(end) = next {
            let Some(begin) = self.rows.get(end).copied() else { break };
            let range = [self.first + begin, self.first + end + 1];
            ranges.push(Json::List(range.into_iter().map(Json::from).collect()));
            next = self.thread.nodes.get(begin).and_then(|node| node.parent);
        }
        ranges.reverse();
        Json::List(ranges)
    }
}
