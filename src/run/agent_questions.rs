//! Stage "agents' questions": takes the readings and, for an agent that runs several times, gives the first model call of each run
//! the run's question, unless the call records one.
//!
//! Claude Code records a span for each prompt, all of one agent, and no model inputs. This runs before the duplicates, which merge
//! the spans of one agent into one, with room for one question.

use serde_json::Value;

use super::id::ReadingId;
use super::readings::Readings;
use crate::hash::HashMap;
use crate::operation::{Kind, Message, Role};

/// Sibling agents of one client and one name.
type SiblingKey = (Option<ReadingId>, String, Option<String>);

pub(super) fn give_to_calls(readings: &mut Readings) {
    let mut runs: HashMap<SiblingKey, Vec<(ReadingId, String)>> = HashMap::default();
    for agent in readings.of_kind(Kind::Agent) {
        let Some(node) = readings.get(agent) else { continue };
        let Some(Value::String(question)) = node.operation.input.get() else {
            continue;
        };
        let beside = (
            readings.parent(agent),
            node.instrumentation().to_owned(),
            node.operation.agent.name.clone(),
        );
        runs.entry(beside).or_default().push((agent, question.clone()));
    }
    runs.retain(|_, runs| runs.len() > 1);
    if runs.is_empty() {
        return;
    }
    let around = readings.nearest_above(|kind| matches!(kind, Kind::Agent | Kind::Tool));
    let mut first_calls: HashMap<ReadingId, ReadingId> = HashMap::default();
    for call in readings.of_kind(Kind::Llm) {
        if let Some(agent) = around.known(call) {
            let _ = first_calls.entry(agent).or_insert(call);
        }
    }
    for (agent, question) in runs.into_values().flatten() {
        let call = first_calls.get(&agent).and_then(|call| readings.get_mut(*call));
        if let Some(node) = call.filter(|node| node.operation.input_messages.is_none() && node.operation.input.is_none()) {
            node.operation.input_messages = Some(vec![Message::text(Role::User, question)].into());
            // The call was given more than this question.
            node.is_partial = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::reading;

    #[test]
    fn each_run_of_an_agent_keeps_its_question() {
        let mut readings = Readings::default();
        let host = readings.add(reading(1, Kind::Chain, 0..90), None);
        let mut calls = Vec::new();
        for (number, question) in [(2, "Count."), (4, "Go on.")] {
            let mut agent = reading(number, Kind::Agent, number * 10..number * 10 + 9);
            agent.operation.input = Value::from(question).into();
            let agent = readings.add(agent, Some(host));
            calls.push(readings.add(reading(number + 1, Kind::Llm, number * 10 + 1..number * 10 + 2), Some(agent)));
        }
        give_to_calls(&mut readings);
        let asked = calls.into_iter().filter_map(|call| {
            let input = readings.get(call)?.operation.input_messages.as_ref()?;
            Some(input.first()?.content())
        });
        assert_eq!(asked.collect::<Vec<_>>(), ["Count.", "Go on."]);
    }
}
