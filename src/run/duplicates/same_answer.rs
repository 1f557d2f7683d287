//! One call recorded by two instrumentations under different parents: LangChain's callbacks, which lost the context, and the
//! provider's client. One span lies in the other's time, and both have the same answer.

use super::merge::merge;
use crate::hash::HashMap;
use crate::operation::{Kind, Operation};
use crate::run::call_record::CallRecord;
use crate::run::id::ReadingId;
use crate::run::readings::Readings;

/// Maximum number of calls with the same answer examined that begin during a call.
const MAX_OPEN_CALLS: usize = 64;

/// Number of characters of an answer that are compared here; contradictions are looked for in the whole answer.
const MAX_COMPARED_CHARS: usize = 256;

/// The beginning of an answer's text, and the tools that it calls.
#[derive(PartialEq, Eq, Hash)]
struct Answer {
    words: String,
    tools: Vec<String>,
}

impl Answer {
    /// `None` if the answer is not recorded or is empty, and so proves nothing.
    fn of(operation: &Operation) -> Option<Self> {
        let message = operation.output_messages.as_deref()?.first()?;
        let words = message.joined_text().trim().chars().take(MAX_COMPARED_CHARS).collect::<String>();
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
