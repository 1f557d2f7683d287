//! Events of `OpenHands` as messages: its trajectories, and `history` in the rows of its evaluations. Before version 1 an event has an
//! `action` or an `observation`, since then a `kind`.
//!
//! What the model wrote in one response is one message, however many actions it asked for. Events that no model saw (states, metrics)
//! stay beside the messages.

use serde_json::{Map, Value, json};

/// Events as a row has them.
#[derive(Default)]
pub(super) struct Events {
    pub(super) messages: Vec<Value>,
    pub(super) tools: Option<Value>,
    /// Those that are no messages.
    pub(super) others: Vec<Value>,
    /// The response that the model's last message is of, and the place of that message.
    response: Option<(String, usize)>,
}

/// Whether a value is an event.
pub(in crate::formats) fn is_event(value: &Value) -> bool {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    if text("source").is_none() {
        return false;
    }
    let is_first_form = ["action", "observation"].iter().any(|key| text(key).is_some())
        && value.get("id").is_some_and(Value::is_number)
        && (value.get("args").is_some() || value.get("content").is_some());
    let is_kind = text("kind").is_some_and(|kind| kind.ends_with("Event") || kind.ends_with("Observation"));
    is_first_form || is_kind && value.get("timestamp").is_some()
}

pub(super) fn read(list: &[Value]) -> Events {
    let mut events = Events::default();
    for event in list {
        events.add(event);
    }
    events
}

fn text<'e>(event: &'e Value, place: &str) -> Option<&'e str> {
    event.pointer(place)?.as_str().filter(|text| !text.is_empty())
}

/// What an event has beside its words.
fn beside(event: &Value, said: &[&str]) -> Map<String, Value> {
    let members = event.as_object().into_iter().flatten();
    let rest = members.filter(|(key, value)| !said.contains(&key.as_str()) && !value.is_null());
    rest.map(|(key, value)| (key.clone(), value.clone())).collect()
}

impl Events {
    fn add(&mut self, event: &Value) {
        let is_of_agent = text(event, "/source") == Some("agent");
        match text(event, "/kind").unwrap_or_default() {
            "" => self.add_first_form(event, is_of_agent),
            "SystemPromptEvent" => {
                self.tools = event
                    .get("tools")
                    .filter(|tools| are_functions(tools))
                    .cloned()
                    .or(self.tools.take());
                self.say(event, "system", event.pointer("/system_prompt/text"), &["system_prompt", "tools"]);
            }
            "MessageEvent" => {
                let message = event.get("llm_message").unwrap_or(&Value::Null);
                let role = text(message, "/role").unwrap_or(if is_of_agent { "assistant" } else { "user" });
                self.say(event, role, message.get("content"), &["llm_message"]);
                self.think(self.last(), text(message, "/reasoning_content"));
            }
            "ActionEvent" => {
                let words = json!(event.get("thought").cloned().unwrap_or_default());
                let id = text(event, "/tool_call_id").or_else(|| text(event, "/id"));
                let arguments = event
                    .pointer("/tool_call/arguments")
                    .or_else(|| event.pointer("/tool_call/function/arguments"));
                let call = call(id, text(event, "/tool_name"), arguments.or_else(|| event.get("action")));
                let place = self.act(
                    event,
                    text(event, "/llm_response_id"),
                    &words,
                    call,
                    &["thought", "tool_call", "action", "reasoning_content"],
                );
                self.think(place, text(event, "/reasoning_content"));
            }
            "ObservationEvent" => {
                let content = event
                    .pointer("/observation/content")
                    .or_else(|| event.pointer("/observation/output"));
                let is_error = event.pointer("/observation/is_error") == Some(&Value::Bool(true));
                self.observe(text(event, "/tool_call_id"), event, content, is_error);
            }
            "AgentErrorEvent" => self.observe(text(event, "/tool_call_id"), event, event.get("error"), true),
            "UserRejectObservation" => self.observe(text(event, "/tool_call_id"), event, event.get("rejection_reason"), true),
            _ => self.others.push(event.clone()),
        }
    }

    fn add_first_form(&mut self, event: &Value, is_of_agent: bool) {
        const STATES: [&str; 7] = [
            "agent_state_changed",
            "change_agent_state",
            "recall",
            "null",
            "condensation",
            "initialize",
            "start",
        ];
        let args = event.get("args").unwrap_or(&Value::Null);
        let kind = text(event, "/action").or_else(|| text(event, "/observation")).unwrap_or_default();
        match (kind, event.get("observation").is_some()) {
            (kind, _) if STATES.contains(&kind) => self.others.push(event.clone()),
            ("system", false) => {
                self.tools = args
                    .get("tools")
                    .filter(|tools| are_functions(tools))
                    .cloned()
                    .or(self.tools.take());
                self.say(event, "system", args.get("content"), &["args", "message"]);
            }
            ("message", false) => {
                let role = if is_of_agent { "assistant" } else { "user" };
                self.say(event, role, args.get("content"), &["args", "message"]);
                for url in args.get("image_urls").and_then(Value::as_array).into_iter().flatten() {
                    self.show(url);
                }
            }
            (kind, false) => {
                let metadata = event.get("tool_call_metadata").unwrap_or(&Value::Null);
                let answered = metadata.pointer("/model_response/choices/0/message").unwrap_or(&Value::Null);
                let words = answered.get("content").or_else(|| args.get("thought")).cloned().unwrap_or_default();
                let id = text(metadata, "/tool_call_id")
                    .map(str::to_owned)
                    .or_else(|| own_id(event.get("id")));
                let asked = answered.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
                let asked = asked
                    .into_iter()
                    .find(|call| call.get("id").and_then(Value::as_str) == id.as_deref());
                let arguments = asked.and_then(|call| call.pointer("/function/arguments")).cloned();
                let arguments = arguments.unwrap_or_else(|| beside(args, &["thought"]).into());
                let name = text(metadata, "/function_name").unwrap_or(kind);
                let call = call(id.as_deref(), Some(name), Some(&arguments));
                let response = text(metadata, "/model_response/id");
                let place = self.act(event, response, &words, call, &["args", "message", "tool_call_metadata"]);
                self.think(place, text(answered, "/reasoning_content"));
                let facts = [("model", "/model_response/model"), ("usage", "/model_response/usage")];
                if let Some(message) = self.messages.get_mut(place).and_then(Value::as_object_mut) {
                    for (key, place) in facts {
                        if let Some(fact) = metadata.pointer(place).filter(|fact| !fact.is_null()) {
                            message.insert(key.to_owned(), fact.clone());
                        }
                    }
                }
            }
            (kind, true) => {
                let id = text(event, "/tool_call_metadata/tool_call_id").map(str::to_owned);
                let id = id.or_else(|| own_id(event.get("cause")));
                let is_error = kind == "error" || event.get("success") == Some(&Value::Bool(false));
                self.observe(id.as_deref(), event, event.get("content"), is_error);
            }
        }
    }

    fn say(&mut self, event: &Value, role: &str, content: Option<&Value>, said: &[&str]) {
        self.response = None;
        let mut message = beside(event, said);
        message.insert("role".to_owned(), role.into());
        message.insert(
            "content".to_owned(),
            content.cloned().filter(|content| !content.is_null()).unwrap_or_else(|| "".into()),
        );
        self.messages.push(message.into());
    }

    /// Adds a picture to what was said last.
    fn show(&mut self, url: &Value) {
        let Some(content) = self.messages.last_mut().and_then(|message| message.get_mut("content")) else {
            return;
        };
        if let Some(text) = content.as_str() {
            *content = json!([{"type": "text", "text": text}]);
        }
        if let Some(parts) = content.as_array_mut() {
            parts.push(json!({"type": "image_url", "image_url": {"url": url}}));
        }
    }

    fn last(&self) -> usize {
        self.messages.len().saturating_sub(1)
    }

    fn think(&mut self, place: usize, thought: Option<&str>) {
        if let Some(thought) = thought
            && let Some(message) = self.messages.get_mut(place).and_then(Value::as_object_mut)
        {
            message.insert("reasoning_content".to_owned(), thought.into());
        }
    }

    /// Adds an action: to the message of its response, where that was begun. Returns the place of that message.
    fn act(&mut self, event: &Value, response: Option<&str>, words: &Value, call: Value, said: &[&str]) -> usize {
        let of_same = self.response.as_ref().filter(|(id, _)| Some(id.as_str()) == response);
        if let Some(place) = of_same.map(|(_, place)| *place)
            && let Some(calls) = self
                .messages
                .get_mut(place)
                .and_then(|begun| begun.get_mut("tool_calls")?.as_array_mut())
        {
            calls.push(call);
            return place;
        }
        let place = self.messages.len();
        self.say(event, "assistant", Some(words), said);
        if let Some(message) = self.messages.last_mut().and_then(Value::as_object_mut) {
            message.insert("tool_calls".to_owned(), json!([call]));
        }
        self.response = response.map(|id| (id.to_owned(), place));
        place
    }

    fn observe(&mut self, id: Option<&str>, event: &Value, content: Option<&Value>, is_error: bool) {
        let response = self.response.take();
        self.say(
            event,
            "tool",
            content,
            &["content", "observation", "tool_call_metadata", "message", "error", "id"],
        );
        // The next action may be of the same response.
        self.response = response;
        let Some(message) = self.messages.last_mut().and_then(Value::as_object_mut) else {
            return;
        };
        if let Some(id) = id {
            message.insert("tool_call_id".to_owned(), id.into());
        }
        if is_error {
            message.insert("is_error".to_owned(), true.into());
        }
    }
}

/// The id of a call that has none: that of its event.
fn own_id(event: Option<&Value>) -> Option<String> {
    event?.as_i64().map(|id| format!("event-{id}"))
}

/// Whether a list of tools has them as the chat API offers them.
fn are_functions(tools: &Value) -> bool {
    tools
        .as_array()
        .is_some_and(|tools| tools.iter().all(|tool| tool.get("function").is_some()) && !tools.is_empty())
}

fn call(id: Option<&str>, name: Option<&str>, arguments: Option<&Value>) -> Value {
    let arguments = arguments
        .filter(|arguments| !arguments.is_null())
        .cloned()
        .unwrap_or_else(|| json!({}));
    json!({"id": id, "type": "function", "function": {"name": name.unwrap_or_default(), "arguments": arguments}})
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn what_the_model_thought_is_with_its_message_not_with_a_result() {
        let action = |number: u64| {
            let call = json!({"id": format!("c{number}"), "function": {"name": "run", "arguments": "{}"}});
            let message = json!({"content": "Look.", "reasoning_content": "Why?", "tool_calls": [call]});
            let answered = json!({"id": "r", "model": "m", "choices": [{"message": message}]});
            json!({"id": number, "source": "agent", "action": "run", "args": {},
                "tool_call_metadata": {"function_name": "run", "tool_call_id": format!("c{number}"), "model_response": answered}})
        };
        let result = |number: u64| {
            json!({"id": number + 1, "source": "agent", "observation": "run", "content": "done",
                "tool_call_metadata": {"tool_call_id": format!("c{number}")}})
        };
        let messages = read(&[action(1), result(1), action(3), result(3)]).messages;
        let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
        assert_eq!(roles, ["assistant", "tool", "tool"]);
        assert_eq!(messages[0]["tool_calls"].as_array().map(Vec::len), Some(2));
        assert_eq!(
            (&messages[0]["reasoning_content"], &messages[0]["model"]),
            (&json!("Why?"), &json!("m"))
        );
        assert!(messages[1].get("reasoning_content").is_none() && messages[1].get("model").is_none());
    }
}
