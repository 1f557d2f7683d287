//! Facts of the client without a field.

use serde_json::{Map, Value};

use crate::events::draft::Draft;
use crate::events::event::INTERRUPTION;
use crate::operation::{Failure, Operation};

/// The prefix of attributes without a key in any vocabulary.
pub(crate) const PREFIX: &str = "spanbridge.session.";

/// The fact that a person interrupted a turn.
const INTERRUPTED: &str = "interrupted";

/// Adds facts of the client that no vocabulary has a key for. Repeated ones become a list.
pub(super) fn add_facts(operation: &mut Operation, facts: Map<String, Value>) {
    for (key, value) in facts {
        let key = format!("{PREFIX}{key}");
        match operation.unmapped.get_mut(&key) {
            None => {
                operation.unmapped.insert(key, value);
            }
            Some(have) if *have == value => {}
            Some(Value::Array(list)) => list.push(value),
            Some(have) => *have = Value::Array(vec![have.take(), value]),
        }
    }
}

/// Records how a turn without an answer ended: a person interrupted it, or, if it is the last of its session, it is still running.
pub(super) fn settle_turn(turn: &mut Draft, is_last: bool) {
    let operation = &mut turn.operation;
    if operation.output.is_some() || operation.failure.is_some() || operation.input.is_none() {
        return;
    }
    if operation.unmapped.contains_key(&format!("{PREFIX}{INTERRUPTED}")) {
        operation.failure = Some(Failure {
            message: Some(INTERRUPTION.to_owned()),
            ..Failure::default()
        });
    } else {
        turn.running = is_last;
    }
}
