//! What reading documents takes in memory, before they are read.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// A message takes this many bytes for each model call that it went into, without its words.
const MESSAGE: usize = 800;
/// Its words stand in spans twice, and in what is made of them.
const TIMES: usize = 8;

/// An upper estimate of the bytes that the histories of the model calls in a text's documents take: each span of a model call
/// holds all that was said before it. One pass, without memory of its own.
#[must_use]
pub fn reading_cost(text: &[u8]) -> usize {
    let costs = serde_json::Deserializer::from_slice(text).into_iter::<DocumentCost>();
    costs.map_while(Result::ok).fold(0, |sum, cost| sum.saturating_add(cost.0))
}

/// What the histories of a document take.
struct DocumentCost(usize);

impl<'de> Deserialize<'de> for DocumentCost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut histories = 0;
        let walk = Walk {
            said: &mut 0,
            histories: &mut histories,
        };
        walk.deserialize(deserializer)?;
        Ok(Self(histories))
    }
}

/// Looks through a value.
struct Walk<'w> {
    /// What was said so far in the lists of the object around.
    said: &'w mut usize,
    histories: &'w mut usize,
}

/// What is known of a value.
#[derive(Default)]
struct Seen {
    /// Bytes of its texts and keys, and some for what is no text.
    bytes: usize,
    /// As the role of a message: a model said it.
    is_model: bool,
    /// As a member of a list: a model call may be made of it.
    is_call: bool,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = Seen;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Seen, D::Error> {
        deserializer.deserialize_any(self)
    }
}

fn scalar<E>() -> Result<Seen, E> {
    Ok(Seen {
        bytes: 16,
        ..Seen::default()
    })
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = Seen;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Seen, E> {
        scalar()
    }

    fn visit_i64<E>(self, _: i64) -> Result<Seen, E> {
        scalar()
    }

    fn visit_u64<E>(self, _: u64) -> Result<Seen, E> {
        scalar()
    }

    fn visit_f64<E>(self, _: f64) -> Result<Seen, E> {
        scalar()
    }

    fn visit_unit<E>(self) -> Result<Seen, E> {
        scalar()
    }

    fn visit_str<E>(self, text: &str) -> Result<Seen, E> {
        Ok(Seen {
            bytes: text.len(),
            is_model: matches!(text, "assistant" | "agent" | "MESSAGE" | "THINK" | "TOOL_CALL"),
            is_call: false,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Seen, A::Error> {
        let mut bytes = 0_usize;
        loop {
            let item = Walk {
                said: &mut 0,
                histories: self.histories,
            };
            let Some(seen) = list.next_element_seed(item)? else { break };
            if seen.is_call {
                *self.histories = self.histories.saturating_add(*self.said);
            }
            *self.said = self.said.saturating_add(MESSAGE).saturating_add(seen.bytes.saturating_mul(TIMES));
            bytes = bytes.saturating_add(seen.bytes);
        }
        Ok(Seen { bytes, ..Seen::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Seen, A::Error> {
        let mut seen = Seen::default();
        // `prompt` and `completion` are one conversation.
        let mut said = 0;
        while let Some(key) = map.next_key::<String>()? {
            let mut own_histories = 0;
            // What a document itself holds as the input of a call is there once.
            let is_input = matches!(key.as_str(), "input" | "input_messages" | "output_messages");
            let value = map.next_value_seed(Walk {
                said: &mut said,
                histories: if is_input { &mut own_histories } else { self.histories },
            })?;
            seen.is_call |= value.is_model && matches!(key.as_str(), "role" | "source" | "sub_type");
            seen.bytes = seen.bytes.saturating_add(key.len()).saturating_add(value.bytes);
        }
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::formats::disassemble;

    /// No document takes more than is estimated, as far as its size is that of its histories.
    #[test]
    fn reading_takes_no_more_than_is_estimated() {
        let words = |count: usize, words: &str| -> Vec<_> {
            let speak = |number| json!({"role": if number % 2 == 0 { "user" } else { "assistant" }, "content": format!("{words}{number}")});
            (0..count).map(speak).collect()
        };
        let calls: Vec<_> = (0..200)
            .map(|number| json!({"role": "assistant", "content": format!("m{number}")}))
            .collect();
        let steps: Vec<_> = (1..200)
            .map(|number| json!({"step_id": number, "source": "agent", "message": format!("m{number}")}))
            .collect();
        let blocks: Vec<_> = (0..200)
            .map(|number| {
                json!({"id": format!("tb_{number}"), "block_type": "MESSAGE", "sub_type": "MESSAGE",
                    "payload": {"role": "assistant", "content": format!("m{number}")}, "metadata": {"span_id": format!("{:016x}", number + 1)}})
            })
            .collect();
        for document in [
            json!(calls),
            json!(words(200, "m")),
            json!(words(200, &"long words ".repeat(100))),
            json!({"messages": calls}),
            json!({"prompt": words(50, "m"), "completion": calls}),
            json!({"schema_version": "ATIF-v1.6", "session_id": "s", "agent": {"name": "a", "version": "1"}, "steps": steps}),
            json!(blocks),
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
    fn histories_that_a_document_holds_itself_are_counted_once() {
        let chat: Vec<_> = (0..100).map(|_| json!({"role": "assistant", "content": "word"})).collect();
        let document = json!({"steps": [{"step_type": "llm_call", "input": chat}, {"step_type": "llm_call", "input": chat}]});
        assert_eq!(reading_cost(document.to_string().as_bytes()), 0);
    }
}
