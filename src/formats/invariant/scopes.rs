//! Which conversations make which list of events, and where operations stand that no conversation tells of.

use std::collections::{BTreeMap, BTreeSet};

use super::list::List;
use crate::formats::calls::{self, Results};
use crate::formats::io;
use crate::formats::json::{Json, Text, trimmed};
use crate::formats::json_read::recorded;
use crate::hash::{HashMap, HashSet};
use crate::operation::Kind;
use crate::run::{CallEntry, Entry, EntryKind, Run, Step};
use crate::span::UnixNanos;

/// What is found once for a run and asked for by each of its lists.
pub(super) struct Facts<'a> {
    results: Results<'a>,
    /// Steps that entries of conversations tell of.
    told: BTreeSet<usize>,
    /// The steps of each scope.
    steps: Vec<Vec<usize>>,
    /// For each step, whether a tool stands around it.
    below_a_tool: Vec<bool>,
    /// The ids under which entries answer calls, by model call and place in its output.
    answers: HashMap<(usize, usize), &'a str>,
    /// The ids of calls that an entry answers.
    answered: HashSet<&'a str>,
    /// Calls by which models passed the run on, by scope and, in words as [`plain`] has them, to whom.
    transfers: HashMap<(usize, Option<String>), Transfers<'a>>,
}

impl<'a> Facts<'a> {
    pub(super) fn of(run: &'a Run) -> Self {
        let (answers, answered) = answers(run);
        Self {
            answers,
            answered,
            transfers: transfers(run),
            results: Results::of(run),
            told: told(run),
            steps: steps(run),
            below_a_tool: below_a_tool(run),
        }
    }

    /// What the conversations tell of tools' results.
    pub(super) fn results(&self) -> &Results<'a> {
        &self.results
    }

    /// The id under which an entry answers a call that was recorded without one.
    pub(super) fn answer(&self, caller: usize, place: usize) -> Option<&'a str> {
        self.answers.get(&(caller, place)).copied()
    }

    /// The latest call of the same agent by which its model passed the run on before this handoff.
    fn transfer_call(&self, handoff: &Step) -> Option<&'a str> {
        let operation = &handoff.operation;
        let target = operation.state.as_ref().and_then(|state| state.new_value.as_ref()?.as_str());
        let target = target.or(operation.agent.name.as_deref()).map(plain);
        let to_anyone = target.is_some().then(|| Some(String::new()));
        let wanted = std::iter::once(target).chain(to_anyone);
        let calls = wanted.filter_map(|target| self.transfers.get(&(handoff.scope, target))?.before(handoff.end_or_start()));
        calls
            .max_by_key(|call| (call.entry, std::cmp::Reverse(call.place)))
            .map(|call| call.id)
    }

    fn steps_of(&self, scope: usize) -> &[usize] {
        self.steps.get(scope).map_or(&[], Vec::as_slice)
    }

    /// The scopes of each list: the run's own (`None`), and one list for each tool step that called agents.
    pub(super) fn lists(&self, run: &Run) -> BTreeMap<Option<usize>, Vec<usize>> {
        let mut lists: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        let mut homes: Vec<Option<usize>> = Vec::with_capacity(run.scopes.len());
        for (index, scope) in run.scopes.iter().enumerate() {
            // The tool step inside which a scope's words belong: its own caller, else that of the scope around it, which
            // stands before it.
            let around = || homes.get(scope.parent?).copied().flatten();
            let home = scope.called_by.or_else(around);
            homes.push(home);
            lists.entry(home).or_default().push(index);
        }
        for scopes in lists.values_mut() {
            scopes.sort_by_cached_key(|scope| self.begin(run, *scope));
        }
        lists
    }

    fn begin(&self, run: &Run, scope: usize) -> UnixNanos {
        let first = run.scopes.get(scope).and_then(|scope| scope.conversation.first());
        let steps = || self.steps_of(scope).iter().filter_map(|step| run.steps.get(*step));
        first
            .map(|entry| entry.at)
            .or_else(|| steps().map(|step| step.started_at).min())
            .unwrap_or_default()
    }
}

fn steps(run: &Run) -> Vec<Vec<usize>> {
    let mut of_scope = vec![Vec::new(); run.scopes.len()];
    for (index, step) in run.steps.iter().enumerate() {
        if let Some(list) = of_scope.get_mut(step.scope) {
            list.push(index);
        }
    }
    of_scope
}

/// A parent stands before its children.
fn below_a_tool(run: &Run) -> Vec<bool> {
    let mut below: Vec<bool> = Vec::with_capacity(run.steps.len());
    for step in &run.steps {
        let above = step.parent.and_then(|above| Some((below.get(above)?, run.steps.get(above)?)));
        below.push(above.is_some_and(|(below, above)| *below || above.operation.kind == Kind::Tool));
    }
    below
}

fn told(run: &Run) -> BTreeSet<usize> {
    let mut told = BTreeSet::new();
    for entry in run.scopes.iter().flat_map(|scope| &scope.conversation) {
        match &entry.kind {
            EntryKind::Turn(_) => told.extend(entry.step),
            EntryKind::Call(call) => _ = told.insert(call.tool),
            EntryKind::Result(result) => told.extend(result.tool.or(entry.step)),
            EntryKind::Message(_) => {
                // A message stands in a model call's input: that call is told by its turn, not by this.
                let own = entry
                    .step
                    .filter(|step| run.steps.get(*step).is_some_and(|step| !is_model_call(step)));
                told.extend(own);
            }
        }
    }
    told
}

fn is_model_call(step: &Step) -> bool {
    let operation = &step.operation;
    operation.kind == Kind::Llm || (operation.kind == Kind::Decision && operation.model.name().is_some())
}

/// How an operation that no conversation tells of becomes events.
enum Alone<'a> {
    Pair,
    /// The output of a call that stands in a turn.
    Output,
    /// The same for a handoff, by the id of the call.
    Transfer(&'a str),
    Turn,
    Words(&'static str),
}

fn alone<'a>(run: &'a Run, facts: &Facts<'a>, index: usize, step: &'a Step) -> Option<Alone<'a>> {
    let said = [&run.question, &run.answer];
    if said.into_iter().flatten().any(|said| said.step == index) && !is_model_call(step) {
        return None;
    }
    match step.operation.kind {
        Kind::Retrieval | Kind::Rerank | Kind::MemoryRead | Kind::MemoryWrite if step.inside_tool.is_some() => None,
        Kind::Handoff => match facts.transfer_call(step) {
            Some(call_id) => (!facts.answered.contains(call_id)).then_some(Alone::Transfer(call_id)),
            None => Some(Alone::Pair),
        },
        Kind::Retrieval | Kind::Rerank | Kind::MemoryRead | Kind::MemoryWrite => Some(Alone::Pair),
        // Its call stands in a turn: while it runs there is no more to tell.
        Kind::Tool if calls::asked(run, step).is_some() => step.ended_at.map(|_| Alone::Output),
        Kind::Tool if facts.below_a_tool.get(index) != Some(&true) => Some(Alone::Pair),
        Kind::Interrupt | Kind::UserInput => Some(Alone::Words("user")),
        Kind::FinalOutput => Some(Alone::Words("assistant")),
        _ if is_model_call(step) => Some(Alone::Turn),
        _ => None,
    }
}

/// A call by which a model passed the run on.
#[derive(Debug, Clone, Copy)]
struct Transfer<'a> {
    at: UnixNanos,
    /// The place of its turn in the conversation, and its place there.
    entry: usize,
    place: usize,
    id: &'a str,
}

/// Calls that are earlier than all after them: the last one up to a time is among them.
#[derive(Debug, Default)]
struct Transfers<'a>(Vec<Transfer<'a>>);

impl<'a> Transfers<'a> {
    fn add(&mut self, call: Transfer<'a>) {
        // Of the calls of one turn the first.
        if self.0.last().is_some_and(|last| last.entry == call.entry) {
            return;
        }
        while self.0.last().is_some_and(|last| last.at >= call.at) {
            let _ = self.0.pop();
        }
        self.0.push(call);
    }

    fn before(&self, at: UnixNanos) -> Option<Transfer<'a>> {
        let until = self.0.partition_point(|call| call.at <= at);
        self.0.get(until.checked_sub(1)?).copied()
    }
}

fn transfers(run: &Run) -> HashMap<(usize, Option<String>), Transfers<'_>> {
    let mut transfers: HashMap<(usize, Option<String>), Transfers<'_>> = HashMap::default();
    for (scope, conversation) in run.scopes.iter().map(|scope| &scope.conversation).enumerate() {
        for (at, entry) in conversation.iter().enumerate() {
            let EntryKind::Turn(message) = &entry.kind else { continue };
            for (place, call) in message.tool_calls.iter().enumerate() {
                let (Some(id), Some(to)) = (&call.id, passes_to(&call.name)) else {
                    continue;
                };
                let call = Transfer {
                    at: entry.at,
                    entry: at,
                    place,
                    id,
                };
                for target in [None, Some(to)] {
                    transfers.entry((scope, target)).or_default().add(call);
                }
            }
        }
    }
    transfers
}

/// To whom a call of this tool passes the run, as [`plain`] has it; empty where its arguments say so.
fn passes_to(tool: &str) -> Option<String> {
    let name = plain(tool);
    let words = ["transfer_to", "handoff_to", "hand_off_to", "delegate_to"];
    let to = words.into_iter().find_map(|word| Some(name.split_once(word)?.1))?;
    Some(to.trim_start_matches('_').to_owned())
}

fn plain(name: &str) -> String {
    let letter = |char: char| if char.is_alphanumeric() { char.to_ascii_lowercase() } else { '_' };
    name.chars().map(letter).collect()
}

/// The ids of answers by the calls that they answer, and all of them.
fn answers(run: &Run) -> (HashMap<(usize, usize), &str>, HashSet<&str>) {
    let (mut answers, mut answered) = (HashMap::default(), HashSet::default());
    for entry in run.scopes.iter().flat_map(|scope| &scope.conversation) {
        let EntryKind::Result(result) = &entry.kind else { continue };
        answered.insert(result.call_id.as_str());
        let call = result.tool.and_then(|tool| run.steps.get(tool));
        if let Some(place) = call.and_then(|call| call.dispatched_by.zip(call.call_index)) {
            answers.entry(place).or_insert(result.call_id.as_str());
        }
    }
    (answers, answered)
}

/// It has a call but no output whose metadata could hold what it says.
fn is_running_tool(step: &Step) -> bool {
    step.operation.kind == Kind::Tool && step.ended_at.is_none()
}

enum Item<'a> {
    Entry(&'a Entry),
    Alone(usize, Alone<'a>),
}

/// Writes a scope's conversation, and at their place in it the operations that it does not tell of.
pub(super) fn write<'a>(run: &'a Run, facts: &Facts<'a>, scope: usize, list: &mut List<'a, '_>) {
    let (told, own) = (&facts.told, facts.steps_of(scope));
    let own = || own.iter().filter_map(|index| Some((*index, run.steps.get(*index)?)));
    let conversation = run.scopes.get(scope).map(|scope| scope.conversation.as_slice()).unwrap_or_default();
    let mut entries: Vec<&'a Entry> = conversation.iter().collect();
    results_by_time(&mut entries);
    let places = Places::of(&entries);
    let mut alone_steps: Vec<(usize, usize, Alone<'a>)> = own()
        .filter(|(index, _)| !told.contains(index))
        .filter_map(|(index, step)| Some((places.of_step(step), index, alone(run, facts, index, step)?)))
        .collect();
    alone_steps.sort_by_key(|(place, index, _)| (*place, *index));
    let mut alone_steps = alone_steps.into_iter().peekable();
    let mut items: Vec<Item<'a>> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        while let Some((_, index, how)) = alone_steps.next_if(|(before, _, _)| *before == place) {
            items.push(Item::Alone(index, how));
        }
        items.push(Item::Entry(entry));
    }
    items.extend(alone_steps.map(|(_, index, how)| Item::Alone(index, how)));

    let mut said_here: Option<HashSet<(&str, Text<'_>)>> = None;
    let mut calls: Vec<&'a CallEntry> = Vec::new();
    for item in &items {
        if let Item::Entry(Entry {
            kind: EntryKind::Call(call),
            ..
        }) = item
        {
            calls.push(call);
        } else if !calls.is_empty() {
            list.call_entries(&std::mem::take(&mut calls));
        }
        match item {
            Item::Entry(entry) => list.entry(entry),
            Item::Alone(index, Alone::Pair) => list.pair(*index),
            Item::Alone(index, Alone::Output) => list.asked_output(*index),
            Item::Alone(index, Alone::Transfer(call_id)) => list.answer(*index, call_id),
            Item::Alone(index, Alone::Turn) => list.silent_turn(*index),
            Item::Alone(index, Alone::Words(role)) => {
                let content = run.steps.get(*index).and_then(|step| words(step, role));
                let said = said_here.get_or_insert_with(|| said(&entries));
                let is_said = |content: &Json<'_>| {
                    content
                        .as_str()
                        .is_some_and(|content| said.contains(&(*role, content.trim().into())))
                };
                if let Some(content) = content.filter(|content| !is_said(content)) {
                    list.told(role, content, *index);
                }
            }
        }
    }
    if !calls.is_empty() {
        list.call_entries(&calls);
    }
    let without: Vec<usize> = own()
        .filter(|(index, step)| {
            let silent = || !list.tells_of(*index);
            if told.contains(index) {
                is_running_tool(step) && silent()
            } else {
                alone(run, facts, *index, step).is_none() || silent()
            }
        })
        .map(|(index, _)| index)
        .collect();
    list.settle(&without);
}

/// Results that stand together are ordered by their time.
fn results_by_time(entries: &mut [&Entry]) {
    let is_result = |entry: &&Entry| matches!(entry.kind, EntryKind::Result(_));
    for block in entries.chunk_by_mut(|a, b| is_result(a) && is_result(b)) {
        block.sort_by_key(|entry| match &entry.kind {
            EntryKind::Result(result) => (entry.at, result.attempt),
            _ => (entry.at, 0),
        });
    }
}

/// Where operations stand among entries: after the words that begin the conversation, then by time. What was looked up
/// serves the turn that follows: it stands after the words that this turn answers.
struct Places {
    /// How many entries there are.
    count: usize,
    /// How many entries begin the conversation.
    opening: usize,
    /// Turns and calls that are later than all before them.
    turns: Vec<(UnixNanos, usize)>,
    /// The same with messages.
    words: Vec<(UnixNanos, usize)>,
}

impl Places {
    fn of(entries: &[&Entry]) -> Self {
        let is_message = |entry: &Entry| matches!(entry.kind, EntryKind::Message(_));
        let begins = |entry: &Entry| matches!(entry.kind, EntryKind::Turn(_) | EntryKind::Call(_));
        Self {
            count: entries.len(),
            opening: entries.iter().take_while(|entry| is_message(entry)).count(),
            turns: peaks(entries, begins),
            words: peaks(entries, |entry| begins(entry) || is_message(entry)),
        }
    }

    fn of_step(&self, step: &Step) -> usize {
        let looked_up = matches!(step.operation.kind, Kind::Retrieval | Kind::Rerank | Kind::MemoryRead);
        let later = if looked_up { &self.turns } else { &self.words };
        let end = step.end_or_start();
        let first = later.get(later.partition_point(|(at, _)| *at < end));
        first.map_or(self.count, |(_, place)| self.opening.max(*place))
    }
}

/// Entries of a kind that are later than all such entries before them: the first one at a time or later is among them.
fn peaks(entries: &[&Entry], is_meant: impl Fn(&Entry) -> bool) -> Vec<(UnixNanos, usize)> {
    let mut peaks: Vec<(UnixNanos, usize)> = Vec::new();
    for (place, entry) in entries.iter().enumerate().filter(|(_, entry)| is_meant(entry)) {
        if peaks.last().is_none_or(|(latest, _)| entry.at > *latest) {
            peaks.push((entry.at, place));
        }
    }
    peaks
}

/// What a person or the agent said, as the operation itself tells.
fn words<'a>(step: &'a Step, role: &str) -> Option<Json<'a>> {
    let operation = &step.operation;
    if operation.kind == Kind::Interrupt {
        let asked = operation.interrupt.as_ref().and_then(|asked| asked.response.as_ref());
        return asked.map(Json::from).or_else(|| recorded(&operation.output));
    }
    let went_in = (&operation.input_messages, &operation.input);
    let came_out = (&operation.output_messages, &operation.output);
    let sides = if role == "user" { [went_in, came_out] } else { [came_out, went_in] };
    sides.into_iter().find_map(|(messages, whole)| {
        let text: String = messages.iter().flatten().map(io::content).collect();
        if text.trim().is_empty() {
            recorded(whole)
        } else {
            Some(text.into())
        }
    })
}

/// Who says which words in a conversation: its own entry tells them.
fn said<'a>(entries: &[&'a Entry]) -> HashSet<(&'a str, Text<'a>)> {
    let words = entries.iter().filter_map(|entry| match &entry.kind {
        EntryKind::Message(message) | EntryKind::Turn(message) => Some((message.role.name(), trimmed(io::content(message)))),
        _ => None,
    });
    words.collect()
}
