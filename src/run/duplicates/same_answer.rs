//! One call that two instrumentations record, each under another parent: callbacks of LangChain and the client of the provider, where
//! the callbacks lost the context. The spans lie in each other's time and have the same answer.

use super::merge::merge;
use crate::hash::HashMap;
use crate::operation::{Kind, Operation};
use crate::run::call_record::CallRecord;
use crate::run::id::ReadingId;
use crate::run::readings::Readings;

/// So many calls with the same answer that begin in a call's time are looked at.
const MAX_OPEN_CALLS: usize = 64;

/// So much of an answer's words is compared here; what contradicts is looked at as a whole.
const WORDS: usize = 256;

/// The begin of the words of an answer, and the tools that it calls.
#[derive(PartialEq, Eq, Hash)]
struct Answer {
    words: String,
    tools: Vec<String>,
}

impl Answer {
    /// `None` where the answer is not recorded or is empty: then it shows nothing.
    fn of(operation: &Operation) -> Option<Self> {
        let message = operation.output_messages.as_deref()?.first()?;
        let words = message.joined_text().trim().chars().take(WORDS).collect::<String>();
        let tools: Vec<String> = message.tool_calls.iter().map(|call| call.name.clone()).collect();
        (!words.is_empty() || !tools.is_empty()).then_some(Self { words, tools })
    }
}

pub(super) fn merge_all(readings: &mut Readings) {
    let calls = readings.of_kind(Kind::Llm);
    let mut clients = calls
        .iter()
        .filter_map(|index| readings.get(*index))
        .map(|node| node.instrumentation());
    let first = clients.next();
    if clients.all(|client| Some(client) == first) {
        return;
    }
    let mut by_answer: HashMap<Answer, Vec<ReadingId>> = HashMap::default();
    for index in calls {
        if let Some(answer) = readings.get(index).and_then(|node| Answer::of(&node.operation)) {
            by_answer.entry(answer).or_default().push(index);
        }
    }
    let mut groups: Vec<Vec<ReadingId>> = by_answer.into_values().filter(|group| group.len() > 1).collect();
    groups.sort();
    for group in groups {
        for (at, outer) in group.iter().enumerate() {
            for inner in group.iter().skip(at + 1).take(MAX_OPEN_CALLS) {
                let (Some(a), Some(b)) = (readings.get(*outer), readings.get(*inner)) else {
                    continue;
                };
                if b.start > a.end_or_start() {
                    break;
                }
                let are_one = readings.is_independent(*outer)
                    && readings.is_independent(*inner)
                    && a.instrumentation() != b.instrumentation()
                    && b.within(a)
                    && !CallRecord::from(a).contradicts(&CallRecord::from(b));
                if are_one {
                    merge(readings, *inner, *outer);
                    break;
                }
            }
        }
    }
}
