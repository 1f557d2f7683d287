//! Long runs of a simulated agent whose requests contain only a part of the history.

use proptest::prelude::*;
use serde_json::json;

use crate::dialect::Registry;
use crate::operation::Kind;
use crate::run::{EntryKind, Run, from_batch};
use crate::span::{Span, SpanId, TraceId, UnixNanos};

/// What each request contains of the history.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// All of it.
    Nothing,
    /// The system prompt, the question and the last so many turns.
    Front(usize),
    /// A summary in place of all but the last so many turns, in all later requests too.
    Summary(usize),
    /// The newest so many attributes of the span.
    Attributes(usize),
}

#[derive(Debug, Clone)]
struct Turn {
    argument: u8,
    cut: Cut,
    /// Whether the tool's span is exported.
    has_span: bool,
}

#[derive(Clone)]
struct Made {
    role: &'static str,
    text: String,
    id: String,
    arguments: Option<String>,
}

fn made(role: &'static str, text: impl Into<String>) -> Made {
    Made {
        role,
        text: text.into(),
        id: String::new(),
        arguments: None,
    }
}

struct Spans(Vec<Span>);

impl Spans {
    fn push(&mut self, pairs: Vec<(String, String)>, dropped: u32) {
        let count = u64::try_from(self.0.len()).expect("few spans") + 1;
        let id = |number: u64| SpanId::from_bytes(&number.to_be_bytes()).expect("eight bytes");
        let mut span = Span::new(TraceId::from_bytes(&[7; 16]).expect("sixteen bytes"), id(count), "made");
        span.parent = (count > 1).then(|| id(1));
        (span.start, span.end) = (UnixNanos(count * 1000), UnixNanos(count * 1000 + 500));
        for (key, value) in pairs {
            span.attributes.push(key, value);
        }
        span.dropped_attributes = dropped;
        self.0.push(span);
    }

    fn call(&mut self, input: &[Made], output: &Made, keep: Option<usize>) {
        let mut pairs = Vec::new();
        let mut write = |list: &str, at: usize, message: &Made| {
            let key = |member: &str| format!("llm.{list}.{at}.message.{member}");
            pairs.push((key("role"), message.role.to_owned()));
            pairs.push((key("content"), message.text.clone()));
            if let Some(arguments) = &message.arguments {
                pairs.push((key("tool_calls.0.tool_call.id"), message.id.clone()));
                pairs.push((key("tool_calls.0.tool_call.function.name"), "look".to_owned()));
                pairs.push((key("tool_calls.0.tool_call.function.arguments"), arguments.clone()));
            } else if message.role == "tool" {
                pairs.push((key("tool_call_id"), message.id.clone()));
            }
        };
        for (at, message) in input.iter().enumerate() {
            write("input_messages", at, message);
        }
        let given = pairs.len();
        let mut write = |message: &Made| {
            let key = |member: &str| format!("llm.output_messages.0.message.{member}");
            pairs.push((key("role"), message.role.to_owned()));
            pairs.push((key("content"), message.text.clone()));
            if let Some(arguments) = &message.arguments {
                pairs.push((key("tool_calls.0.tool_call.id"), message.id.clone()));
                pairs.push((key("tool_calls.0.tool_call.function.name"), "look".to_owned()));
                pairs.push((key("tool_calls.0.tool_call.function.arguments"), arguments.clone()));
            }
        };
        write(output);
        // The request before the last always has its newest message.
        let dropped = keep.map_or(0, |keep| given.saturating_sub(keep.max(8)));
        let mut pairs = pairs.split_off(dropped);
        pairs.push(("openinference.span.kind".to_owned(), "LLM".to_owned()));
        self.push(pairs, u32::try_from(dropped).expect("few attributes"));
    }
}

fn of(turns: &[Turn], counted: bool) -> Run {
    let mut spans = Spans(Vec::new());
    spans.push(
        vec![
            ("openinference.span.kind".to_owned(), "AGENT".to_owned()),
            ("agent.name".to_owned(), "made".to_owned()),
        ],
        0,
    );
    let system = made("system", "You look things up and say what you found.");
    let mut history = vec![made("user", "Look all of these up, one after the other.")];
    for (number, turn) in turns.iter().enumerate() {
        let id = if counted {
            "call_0".to_owned()
        } else {
            format!("call_{number:04}a51f3c9e7d24b6")
        };
        let said = Made {
            arguments: Some(json!({"at": turn.argument}).to_string()),
            id: id.clone(),
            ..made("assistant", "Let me look.")
        };
        let result = Made {
            id: id.clone(),
            ..made("tool", format!("found {} in turn {number}", turn.argument))
        };
        let tail = |turns: usize| history.len().saturating_sub(2 * turns).max(1);
        let mut keep = None;
        let mut input = vec![system.clone()];
        match turn.cut {
            Cut::Nothing => input.extend(history.iter().cloned()),
            Cut::Front(turns) => {
                input.extend(history.first().cloned());
                input.extend_from_slice(history.get(tail(turns)..).unwrap_or_default());
            }
            Cut::Summary(turns) => {
                let rest = history.split_off(tail(turns));
                history = vec![made("user", format!("Summary in turn {number}: things were looked up."))];
                history.extend(rest);
                input.extend(history.iter().cloned());
            }
            Cut::Attributes(attributes) => {
                input.extend(history.iter().cloned());
                keep = Some(attributes);
            }
        }
        spans.call(&input, &said, keep);
        if turn.has_span {
            let tool = [
                ("openinference.span.kind", "TOOL".to_owned()),
                ("tool.name", "look".to_owned()),
                ("tool_call.id", id),
                ("input.value", json!({"at": turn.argument}).to_string()),
                ("output.value", result.text.clone()),
            ];
            spans.push(tool.map(|(key, value)| (key.to_owned(), value)).to_vec(), 0);
        }
        history.extend([said, result]);
    }
    let input: Vec<Made> = [system].into_iter().chain(history).collect();
    spans.call(&input, &made("assistant", "That is all."), None);
    let mut runs = from_batch(spans.0, Vec::new(), Registry::built_in());
    runs.pop().expect("a run")
}

fn cut() -> impl Strategy<Value = Cut> {
    prop_oneof![
        3 => Just(Cut::Nothing),
        2 => (1usize..4).prop_map(Cut::Front),
        1 => (1usize..4).prop_map(Cut::Summary),
        2 => (0usize..40).prop_map(Cut::Attributes),
    ]
}

proptest! {
    /// Each tool run appears once, with its own arguments and result, in its own turn.
    #[test]
    fn no_tool_run_is_told_twice(
        turns in proptest::collection::vec((0u8..3, cut(), any::<bool>()), 1..12),
        counted in any::<bool>(),
    ) {
        let turns: Vec<Turn> = turns.into_iter().map(|(argument, cut, has_span)| Turn { argument, cut, has_span }).collect();
        let run = of(&turns, counted);
        let tools: Vec<(u32, String)> = run
            .steps
            .iter()
            .filter(|step| step.operation.kind == Kind::Tool)
            .map(|step| {
                let tool = step.operation.tool.as_ref().expect("a tool");
                (step.turn.unwrap_or(0), tool.result.as_ref().and_then(|value| value.as_str()).unwrap_or_default().to_owned())
            })
            .collect();
        let wanted: Vec<(u32, String)> = turns
            .iter()
            .zip(0u32..)
            .map(|(turn, number)| (number + 1, format!("found {} in turn {number}", turn.argument)))
            .collect();
        prop_assert_eq!(tools, wanted);
        let entries = run.scopes.iter().flat_map(|scope| &scope.conversation);
        let calls = entries.filter_map(|entry| match &entry.kind {
            EntryKind::Message(message) | EntryKind::Turn(message) => Some(message.tool_calls.len()),
            _ => None,
        });
        prop_assert_eq!(calls.sum::<usize>(), turns.len());
    }
}
