//! Reconstructs the agents of a session from records, and finds the model call that asked for each tool.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Map;

use super::record::Record;
use crate::events::{Call, Event, Prompt, Thread, ToolResult, Under, Unknown};
use crate::operation::{Message, Role, ToolCall};
use crate::sessions::parts;
use crate::span::UnixNanos;

/// The agents of one session.
#[derive(Debug)]
pub(super) struct Agents {
    session: String,
    list: Vec<Agent>,
    by_key: HashMap<String, usize>,
    /// The model calls by id, as agent and number.
    by_id: HashMap<String, (usize, usize)>,
    /// The model calls by the ids of the tool calls in their answers.
    by_tool: HashMap<String, (usize, usize)>,
    /// The model calls with a complete answer.
    answered: HashSet<(usize, usize)>,
    /// The time when a model call may have asked for a tool.
    asks: fn(&Call) -> Option<UnixNanos>,
    /// The model calls by this time, once tools are added.
    by_time: Option<BTreeSet<(UnixNanos, usize, usize)>>,
    unknown: Unknown,
}

/// One agent; the first is the main one.
#[derive(Debug, Default)]
struct Agent {
    name: Option<String>,
    id: String,
    under: Option<Under>,
    prompt_id: Option<String>,
    version: Option<String>,
    calls: Vec<Call>,
    /// All other events, by time.
    others: Vec<(UnixNanos, Event)>,
}

/// The criterion for the model call that asked for a tool.
pub(super) enum AskedBy<'a> {
    /// The call with this id.
    Id(&'a str),
    /// The last call, of this agent or of any, that could have asked before the tool began.
    Time(Option<&'a str>),
}

impl Agents {
    pub(super) fn new(session: String, asks: fn(&Call) -> Option<UnixNanos>) -> Self {
        Self {
            asks,
            session,
            list: vec![Agent::default()],
            by_key: HashMap::new(),
            by_id: HashMap::new(),
            by_tool: HashMap::new(),
            answered: HashSet::new(),
            by_time: None,
            unknown: Unknown::default(),
        }
    }

    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// Counts a record of an unknown kind.
    pub(super) fn unknown(&mut self, event: &str) {
        self.unknown.count(event);
    }

    /// The index of the agent with this key; the main agent has no key.
    fn agent(&mut self, key: Option<&str>) -> usize {
        let Some(key) = key else { return 0 };
        if let Some(index) = self.by_key.get(key) {
            return *index;
        }
        self.list.push(Agent {
            id: key.to_owned(),
            under: Some(Under::Unknown),
            ..Agent::default()
        });
        self.by_key.insert(key.to_owned(), self.list.len() - 1);
        self.list.len() - 1
    }

    /// Notes a record's facts about its agent.
    pub(super) fn describe(&mut self, key: Option<&str>, name: Option<&str>, prompt_id: Option<&str>, record: &Record) {
        let index = self.agent(key);
        if let Some(agent) = self.list.get_mut(index) {
            agent.name = agent.name.take().or_else(|| name.map(str::to_owned));
            agent.version = agent.version.take().or_else(|| record.version.clone());
            agent.prompt_id = agent.prompt_id.take().or_else(|| prompt_id.map(str::to_owned));
        }
    }

    /// Sets the tool call that started an agent.
    pub(super) fn started_by(&mut self, key: &str, call_id: String) {
        let index = self.agent(Some(key));
        if let Some(agent) = self.list.get_mut(index) {
            agent.under = Some(Under::Call(call_id));
        }
    }

    /// Adds a prompt typed by a person. `id`: unique among the client's prompts.
    pub(super) fn prompt(&mut self, id: &str, words: Option<&str>, record: &Record, read: &[&str], at: UnixNanos) {
        let mut facts = if record.event == "user_prompt" {
            record.facts(read)
        } else {
            Map::new()
        };
        facts.insert("from".to_owned(), "logs".into());
        let prompt = Prompt {
            id: format!("logs {id}"),
            at: Some(at),
            message: words.map(|words| Message::text(Role::User, words)).unwrap_or_default(),
            facts,
            ..Prompt::default()
        };
        self.event(None, at, Event::Prompt(Box::new(prompt)));
    }

    /// Adds the prompt of a sub-agent.
    pub(super) fn asked_of(&mut self, key: &str, words: &str, record: &Record) {
        let prompt = Prompt {
            at: Some(record.at),
            message: Message::text(Role::User, words),
            ..Prompt::default()
        };
        self.event(Some(key), record.at, Event::Prompt(Box::new(prompt)));
    }

    /// Adds an event that is neither a model call nor a tool.
    pub(super) fn event(&mut self, key: Option<&str>, at: UnixNanos, event: Event) {
        let index = self.agent(key);
        if let Some(agent) = self.list.get_mut(index) {
            agent.others.push((at, event));
        }
    }

    /// Adds a model call, with the ids by which tools refer to it.
    pub(super) fn call(&mut self, key: Option<&str>, ids: &[Option<&str>], mut call: Call) {
        let index = self.agent(key);
        // An id masked by a Collector is shared by several calls, with different times, tokens and cost.
        let own = ids.iter().flatten().next().copied();
        let known = own.and_then(|id| self.call_with(id));
        let is_masked = known.is_some_and(|known| known.end != call.end && (known.usage != call.usage || known.cost != call.cost));
        let Some(agent) = self.list.get_mut(index) else { return };
        let place = (index, agent.calls.len());
        let asked = call.output.iter().flat_map(|output| &output.tool_calls);
        for id in asked.filter_map(ToolCall::recorded_id) {
            self.by_tool.entry(id.to_owned()).or_insert(place);
        }
        call.id = match own {
            Some(id) if is_masked => format!("logs {id} {}", call.end.unwrap_or_default().0),
            Some(id) => format!("logs {id}"),
            None => format!("logs {} {}", self.session, call.end.unwrap_or_default().0),
        };
        for id in ids.iter().flatten() {
            self.by_id.entry((*id).to_owned()).or_insert(place);
        }
        agent.calls.push(call);
    }

    /// The model call with this id.
    pub(super) fn call_with(&mut self, id: &str) -> Option<&mut Call> {
        let (agent, number) = *self.by_id.get(id)?;
        self.list.get_mut(agent)?.calls.get_mut(number)
    }

    /// Whether the answer of a model call is complete.
    pub(super) fn has_answer(&self, id: &str) -> bool {
        self.by_id.get(id).is_some_and(|place| self.answered.contains(place))
    }

    /// Sets the complete answer of a model call, before tools are added.
    pub(super) fn answered(&mut self, id: &str, output: Message) {
        let Some(place) = self.by_id.get(id).copied() else { return };
        for asked in output.tool_calls.iter().filter_map(ToolCall::recorded_id) {
            self.by_tool.entry(asked.to_owned()).or_insert(place);
        }
        self.answered.insert(place);
        if let Some(call) = self.call_with(id) {
            call.output = Some(output);
        }
    }

    /// Adds a tool, after all model calls were added.
    pub(super) fn tool(&mut self, asked_by: &AskedBy<'_>, mut result: ToolResult) {
        let at = result.end.unwrap_or_default();
        let known = self.by_tool.get(&result.call_id).copied();
        let place = known.or_else(|| self.place_of(asked_by, result.start.unwrap_or(at)));
        let key = match asked_by {
            AskedBy::Time(Some(key)) => Some(*key),
            _ => None,
        };
        let mut when = at;
        let is_there = known.is_some();
        let index = match place {
            Some((index, number)) => {
                if let Some(call) = self.list.get_mut(index).and_then(|agent| agent.calls.get_mut(number)) {
                    when = when.max(call.end.unwrap_or_default());
                    let output = call.output.get_or_insert_with(|| Message {
                        role: Role::Assistant,
                        ..Message::default()
                    });
                    let asked = parts::tool_call(Some(&result.call_id), result.name.as_deref(), result.arguments.take());
                    output.tool_calls.extend(Some(asked).filter(|_| !is_there));
                }
                self.by_tool.entry(result.call_id.clone()).or_insert((index, number));
                index
            }
            None => self.agent(key),
        };
        if let Some(agent) = self.list.get_mut(index) {
            agent.others.push((when, Event::Result(Box::new(result))));
        }
    }

    fn place_of(&mut self, asked_by: &AskedBy<'_>, start: UnixNanos) -> Option<(usize, usize)> {
        if let AskedBy::Id(id) = asked_by
            && let Some(place) = self.by_id.get(*id)
        {
            return Some(*place);
        }
        let key = match asked_by {
            AskedBy::Time(Some(key)) => Some(self.agent(Some(key))),
            _ => None,
        };
        let list = &self.list;
        let asks = self.asks;
        let by_time = self.by_time.get_or_insert_with(|| {
            let calls = list.iter().enumerate().flat_map(|(agent, of)| {
                let calls = of.calls.iter().enumerate();
                calls.map(move |(number, call)| (asks(call).unwrap_or_default(), agent, number))
            });
            calls.collect()
        });
        let mut before = by_time.range(..=(start, usize::MAX, usize::MAX)).rev();
        // Agents that run concurrently interleave, so the call that asked is among the last few.
        const LAST: usize = 64;
        let found = match key {
            Some(key) => before.take(LAST).find(|(_, agent, _)| *agent == key),
            None => before.next(),
        };
        found.map(|(_, agent, number)| (*agent, *number))
    }

    /// The threads, each ordered by time.
    pub(super) fn threads(self) -> Vec<Thread> {
        let Self {
            session,
            list,
            mut unknown,
            ..
        } = self;
        let mut thread = |agent: Agent| {
            let mut events = agent.others;
            events.extend(
                agent
                    .calls
                    .into_iter()
                    .map(|call| (call.end.unwrap_or_default(), Event::Call(Box::new(call)))),
            );
            // At one instant: a prompt, its model call, the results of tools.
            let rank = |event: &Event| match event {
                Event::Prompt(_) => 0,
                Event::Call(_) => 1,
                Event::Result(_) => 2,
                _ => 3,
            };
            events.sort_by_key(|(at, event)| (*at, rank(event)));
            Thread {
                session: session.clone(),
                id: agent.id,
                under: agent.under,
                prompt_id: agent.prompt_id,
                name: agent.name,
                version: agent.version,
                events: events.into_iter().map(|(_, event)| event).collect(),
                unknown: std::mem::take(&mut unknown),
                ..Thread::default()
            }
        };
        list.into_iter()
            .map(&mut thread)
            .filter(|thread| !thread.events.is_empty())
            .collect()
    }
}
