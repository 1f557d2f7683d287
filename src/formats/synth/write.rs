//! Writes a session's text. Every event and every message occurs twice, in its turn and in the history: it is serialized
//! once, then copied.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use super::document::{SessionTimeStep, SessionTrace};
use crate::document::text;
use crate::hash::HashMap;

/// Writes the same compact text as [`Serialize`].
pub(super) fn write(session: &SessionTrace<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let SessionTrace {
        session_id,
        created_at,
        session_time_steps,
        event_history,
        markov_blanket_message_history,
        metadata,
        session_metadata,
    } = session;
    let (mut events, mut messages) = (WrittenRanges::default(), WrittenRanges::default());
    member(out, "{\"session_id\":", session_id)?;
    member(out, ",\"created_at\":", created_at)?;
    list(out, ",\"session_time_steps\":", session_time_steps, |out, step| {
        write_step(step, out, &mut events, &mut messages)
    })?;
    list(out, ",\"event_history\":", event_history, |out, event| events.write(out, event))?;
    list(
        out,
        ",\"markov_blanket_message_history\":",
        markov_blanket_message_history,
        |out, message| messages.write(out, message),
    )?;
    member(out, ",\"metadata\":", metadata)?;
    member(out, ",\"session_metadata\":", session_metadata)?;
    out.push(b'}');
    Ok(())
}

fn write_step(
    step: &SessionTimeStep<'_>,
    out: &mut Vec<u8>,
    events_of_all: &mut WrittenRanges,
    messages_of_all: &mut WrittenRanges,
) -> Result<(), String> {
    let SessionTimeStep {
        step_id,
        step_index,
        timestamp,
        turn_number,
        events,
        markov_blanket_messages,
        step_metadata,
        completed_at,
    } = step;
    member(out, "{\"step_id\":", step_id)?;
    member(out, ",\"step_index\":", step_index)?;
    member(out, ",\"timestamp\":", timestamp)?;
    member(out, ",\"turn_number\":", turn_number)?;
    list(out, ",\"events\":", events, |out, event| events_of_all.write(out, event))?;
    list(out, ",\"markov_blanket_messages\":", markov_blanket_messages, |out, message| {
        messages_of_all.write(out, message)
    })?;
    member(out, ",\"step_metadata\":", step_metadata)?;
    member(out, ",\"completed_at\":", completed_at)?;
    out.push(b'}');
    Ok(())
}

fn member(out: &mut Vec<u8>, name: &str, value: &impl Serialize) -> Result<(), String> {
    out.extend_from_slice(name.as_bytes());
    text::write(value, out)
}

fn list<T>(
    out: &mut Vec<u8>,
    name: &str,
    items: &[T],
    mut write: impl FnMut(&mut Vec<u8>, &T) -> Result<(), String>,
) -> Result<(), String> {
    out.extend_from_slice(name.as_bytes());
    out.push(b'[');
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write(out, item)?;
    }
    out.push(b']');
    Ok(())
}

/// The text ranges of items, by their addresses, which are stable while the session is borrowed.
#[derive(Default)]
struct WrittenRanges(HashMap<usize, Range<usize>>);

impl WrittenRanges {
    fn write<T: Serialize>(&mut self, out: &mut Vec<u8>, item: &Arc<T>) -> Result<(), String> {
        let address = Arc::as_ptr(item).addr();
        if let Some(range) = self.0.get(&address) {
            out.extend_from_within(range.clone());
            return Ok(());
        }
        let start = out.len();
        text::write(&**item, out)?;
        let _ = self.0.insert(address, start..out.len());
        Ok(())
    }
}
