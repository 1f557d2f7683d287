//! What reading documents takes in memory, before they are read.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// What a message, a step, a block, a node or an event takes while it becomes a span: as an operation, as attributes, as a step of
/// the run of which the document is written again.
const ITEM: usize = 12_000;
/// What a message takes that a document holds in the input or output of a step.
const MESSAGE: usize = 2_500;

/// An upper estimate of the bytes that the spans of a text's documents take while they are made. One pass, without memory of its own.
#[must_use]
pub fn reading_cost(text: &[u8]) -> usize {
    let costs = serde_json::Deserializer::from_slice(text).into_iter::<Cost>();
    costs.map_while(Result::ok).fold(0, |sum, cost| sum.saturating_add(cost.0))
}

struct Cost(usize);

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut cost = 0;
        let walk = Walk {
            cost: &mut cost,
            in_item: false,
        };
        walk.deserialize(deserializer)?;
        Ok(Self(cost))
    }
}

/// Whether an object with this key may become a span.
fn is_of_item(key: &str) -> bool {
    matches!(
        key,
        "role" | "sub_type" | "step_id" | "step_type" | "node_type" | "event_type" | "kind" | "prompt" | "messages"
    )
}

/// Looks through a value.
struct Walk<'w> {
    cost: &'w mut usize,
    /// Inside of an object that may become a span.
    in_item: bool,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        loop {
            let item = Walk {
                cost: self.cost,
                in_item: self.in_item,
            };
            if list.next_element_seed(item)?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut is_item = false;
        while let Some(key) = map.next_key::<String>()? {
            if !is_item && is_of_item(&key) {
                is_item = true;
                let cost = if self.in_item { MESSAGE } else { ITEM };
                *self.cost = self.cost.saturating_add(cost);
            }
            // What is a part of a message or a step; the list of a row or of a session is none.
            let is_inner = is_item && !matches!(key.as_str(), "messages" | "prompt" | "completion");
            map.next_value_seed(Walk {
                cost: self.cost,
                in_item: self.in_item || is_inner,
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::formats::disassemble;

    /// No document takes more than is estimated, and none is refused for what it does not take.
    #[test]
    fn reading_takes_no_more_than_is_estimated() {
        let words = |count: usize, words: &str| -> Vec<_> {
            let speak = |number| json!({"role": if number % 2 == 0 { "user" } else { "assistant" }, "content": format!("{words}{number}")});
            (0..count).map(speak).collect()
        };
        let calls: Vec<_> = (0..1_000)
            .map(|number| json!({"role": "assistant", "content": format!("m{number}")}))
            .collect();
        let steps: Vec<_> = (1..1_000)
            .map(|number| json!({"step_id": number, "source": "agent", "message": format!("m{number}")}))
            .collect();
        let block = |number: usize| {
            json!({"id": format!("tb_{number}"), "block_type": "MESSAGE", "sub_type": "MESSAGE",
                "payload": {"role": "assistant", "content": format!("m{number}")}, "metadata": {"span_id": format!("{:016x}", number + 1)}})
        };
        let blocks: Vec<_> = (0..1_000).map(block).collect();
        let alone: Vec<_> = (0..1_000)
            .map(|number| {
                let mut block = block(number);
                block["trace_id"] = format!("tr_{number}").into();
                block
            })
            .collect();
        for document in [
            json!(calls),
            json!(words(1_000, "m")),
            json!(words(1_000, &"long words ".repeat(100))),
            json!({"messages": calls}),
            json!({"prompt": words(50, "m"), "completion": calls}),
            json!({"schema_version": "ATIF-v1.6", "session_id": "s", "agent": {"name": "a", "version": "1"}, "steps": steps}),
            json!(blocks),
            json!(alone),
        ] {
            let text = document.to_string();
            let estimated = reading_cost(text.as_bytes());
            let mut read = None;
            let taken = allocation_counter::measure(|| read = Some(disassemble(None, &text)));
            let most = usize::try_from(taken.bytes_max).expect("a count");
            assert!(read.expect("was read").is_ok(), "{text:.200}");
            let beside = 2_000_000 + text.len() * 8;
            assert!(most <= estimated + beside, "{most} bytes, estimated {estimated}: {text:.200}");
            assert!(estimated <= most * 6, "{most} bytes, estimated {estimated}: {text:.200}");
        }
    }

    #[test]
    fn messages_inside_of_a_step_are_no_spans() {
        let chat: Vec<_> = (0..100).map(|_| json!({"role": "assistant", "content": "word"})).collect();
        let document = json!({"steps": [{"step_type": "llm_call", "input": chat}, {"step_type": "llm_call", "input": chat}]});
        assert_eq!(reading_cost(document.to_string().as_bytes()), 2 * ITEM + 200 * MESSAGE);
    }
}
