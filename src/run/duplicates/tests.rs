use std::ops::Range;
use std::sync::Arc;

use super::*;
use crate::operation::Message;
use crate::run::testing::reading;
use crate::span::Scope;

fn call(number: u64, time: Range<u64>, answer: Option<&str>) -> Node {
    let mut call = reading(number, Kind::Llm, time);
    let message = |text| vec![Message::text(crate::operation::Role::Assistant, text)];
    call.operation.output_messages = answer.map(message);
    call
}

fn spans(nodes: &Nodes) -> Vec<(String, usize)> {
    let spans = nodes.list.iter();
    spans.map(|node| (node.span_id.to_string(), node.evidence.len())).collect()
}

#[test]
fn a_call_in_a_call_is_one_call() {
    let mut readings = Readings::default();
    let outer = readings.add(call(1, 0..90, None), None);
    let _ = readings.add(call(2, 10..80, Some("Here.")), Some(outer));
    let nodes = merge_all(readings);
    assert_eq!(spans(&nodes), [("0000000000000001".to_owned(), 1)]);
    assert!(nodes.list.iter().all(Node::has_messages), "what is kept takes what it lacks");
    assert_eq!(nodes.findings.len(), 1);
}

#[test]
fn what_an_outer_call_estimates_gives_way_to_the_response() {
    let of = |response: Option<&str>, counts: (u64, u64)| {
        let mut readings = Readings::default();
        let mut outer = call(1, 0..90, Some("Here."));
        (outer.operation.usage.input, outer.operation.usage.output) = (Some(124), Some(399));
        outer.operation.usage.total = Some(523);
        let mut inner = call(2, 10..80, Some("Here."));
        (inner.operation.usage.input, inner.operation.usage.output) = (Some(counts.0), Some(counts.1));
        inner.operation.response_id = response.map(str::to_owned);
        let outer = readings.add(outer, None);
        let _ = readings.add(inner, Some(outer));
        let nodes = merge_all(readings);
        let usage = nodes.list.iter().next().map(|node| node.operation.usage);
        usage.map(|usage| (usage.input, usage.output, usage.total))
    };
    let whole = Some((Some(124), Some(399), Some(523)));
    assert_eq!(of(Some("r"), (39, 7)), Some((Some(39), Some(7), None)));
    assert_eq!(of(None, (39, 7)), whole, "nothing shows that the inner one is the provider's");
    assert_eq!(of(Some("r"), (124, 399)), whole, "they agree");
}

#[test]
fn a_call_around_several_calls_is_none() {
    let mut readings = Readings::default();
    let outer = readings.add(call(1, 0..90, None), None);
    let _ = readings.add(call(2, 10..20, Some("Wait.")), Some(outer));
    let _ = readings.add(call(3, 30..40, Some("Here.")), Some(outer));
    let nodes = merge_all(readings);
    let kinds: Vec<Kind> = nodes.list.iter().map(Node::kind).collect();
    assert_eq!(kinds, [Kind::Chain, Kind::Llm, Kind::Llm]);
}

#[test]
fn attempts_that_failed_beside_the_one_that_answered_are_calls() {
    let of = |failed: Range<u64>| {
        let mut readings = Readings::default();
        let outer = readings.add(call(1, 0..90, Some("Here.")), None);
        let mut attempt = call(2, failed, None);
        attempt.operation.failure = Some(crate::operation::Failure::default());
        let _ = readings.add(attempt, Some(outer));
        let _ = readings.add(call(3, 30..80, Some("Here.")), Some(outer));
        let nodes = merge_all(readings);
        nodes.list.iter().map(Node::kind).collect::<Vec<_>>()
    };
    assert_eq!(of(10..20), [Kind::Chain, Kind::Llm, Kind::Llm]);
    assert_eq!(of(32..78), [Kind::Llm], "two records of one call, of which one failed");
}

#[test]
fn what_encloses_its_tools_and_the_next_call_asked_for_them() {
    let of = |id: &str| {
        let mut asking = Message::text(crate::operation::Role::Assistant, "");
        asking.tool_calls.push(crate::operation::ToolCall {
            id: Some(crate::operation::ToolCallId::Recorded("c1".to_owned())),
            name: "look".to_owned(),
            ..Default::default()
        });
        let last = |number, time| {
            let mut last = call(number, time, Some("Here."));
            last.operation.input_messages = Some(vec![Message::text(crate::operation::Role::User, "Where?"), asking.clone()].into());
            last.operation.usage.input = Some(9);
            last
        };
        let mut readings = Readings::default();
        let outer = readings.add(last(1, 0..90), None);
        let mut tool = reading(2, Kind::Tool, 30..40);
        tool.operation.tool.get_or_insert_default().call_id = Some(id.to_owned());
        let _ = readings.add(tool, Some(outer));
        let _ = readings.add(last(3, 50..80), Some(outer));
        let nodes = merge_all(readings);
        let calls = nodes.of_kind(Kind::Llm).into_iter().filter_map(|call| nodes.get(call));
        let told = calls.map(|node| {
            let said = node.operation.output_messages.as_deref().and_then(<[_]>::first);
            (
                node.end_or_start().0,
                said.map_or(0, |said| said.tool_calls.len()),
                node.operation.usage.input,
            )
        });
        told.collect::<Vec<_>>()
    };
    assert_eq!(of("c1"), [(30, 1, None), (80, 0, Some(9))]);
    assert_eq!(of("c2"), [(90, 0, Some(9))], "no model call is known to have asked for the tool");
}

#[test]
fn an_agent_without_a_name_around_one_agent_alone_is_that_agent() {
    let of = |span: &str, beside: bool| {
        let mut outer = reading(1, Kind::Agent, 0..90);
        outer.operation.name = span.to_owned();
        outer.operation.input = serde_json::Value::from("Where?").into();
        let mut inner = reading(2, Kind::Agent, 5..80);
        inner.operation.agent.name = Some("goose".to_owned());
        let mut readings = Readings::default();
        let outer = readings.add(outer, None);
        let _ = readings.add(inner, Some(outer));
        if beside {
            let _ = readings.add(reading(3, Kind::Tool, 81..85), Some(outer));
        }
        merge_all(readings).of_kind(Kind::Agent).len()
    };
    assert_eq!(of("reply", false), 1);
    assert_eq!(of("reply", true), 2, "it does something itself");
    assert_eq!(of("invoke_agent boss", false), 2, "its span names it");
}

#[test]
fn two_instrumentations_of_one_client_tell_of_one_call() {
    let mut readings = Readings::default();
    let mut other = call(2, 10..20, None);
    other.scope = Arc::new(Scope {
        name: "http client".to_owned(),
        ..Scope::default()
    });
    let _ = readings.add(call(1, 5..25, Some("Here.")), None);
    let _ = readings.add(other, None);
    assert_eq!(spans(&merge_all(readings)), [("0000000000000001".to_owned(), 1)]);
}

#[test]
fn one_answer_under_two_parents_is_one_call() {
    let of = |time: Range<u64>, answer: &str| {
        let mut readings = Readings::default();
        let agent = readings.add(reading(1, Kind::Agent, 0..90), None);
        let _ = readings.add(call(2, 10..40, Some("Here.")), Some(agent));
        let mut other = call(3, time, Some(answer));
        other.scope = Arc::new(Scope {
            name: "client".to_owned(),
            ..Scope::default()
        });
        let _ = readings.add(other, None);
        merge_all(readings).of_kind(Kind::Llm).len()
    };
    assert_eq!(of(12..38, "Here."), 1);
    assert_eq!(of(12..38, "There."), 2, "another answer");
    assert_eq!(of(50..60, "Here."), 2, "said again later");
}

#[test]
fn a_search_in_a_search_that_found_the_same_is_one() {
    let search = |number, time, found: &str| {
        let mut search = reading(number, Kind::Retrieval, time);
        let document = crate::operation::Document {
            content: Some(found.to_owned()),
            ..crate::operation::Document::default()
        };
        search.operation.search.get_or_insert_default().documents = Some(vec![document]);
        search
    };
    let of = |inside: &[&str]| {
        let mut readings = Readings::default();
        let outer = readings.add(search(1, 0..90, "a"), None);
        for (number, found) in (2..).zip(inside) {
            let _ = readings.add(search(number, number * 10..number * 10 + 5, found), Some(outer));
        }
        merge_all(readings).of_kind(Kind::Retrieval).len()
    };
    assert_eq!(of(&["a"]), 1);
    assert_eq!(of(&["b"]), 2, "it found something else");
    assert_eq!(of(&["a", "a"]), 3, "a search of several parts");
}

#[test]
fn blocks_of_one_response_are_one_call() {
    let made = |usage: (u64, u64), ids: (&str, &str)| {
        let mut readings = Readings::default();
        let parent = readings.add(reading(9, Kind::Agent, 0..99), None);
        let mut words = call(1, 0..10, Some("Looking."));
        let mut asking = call(2, 11..20, None);
        asking.operation.output_messages = Some(vec![Message {
            tool_calls: vec![crate::operation::ToolCall {
                name: "look".to_owned(),
                ..Default::default()
            }],
            ..Message::text(crate::operation::Role::Assistant, "")
        }]);
        (words.operation.usage.output, asking.operation.usage.output) = (Some(usage.0), Some(usage.1));
        (words.operation.response_id, asking.operation.response_id) = (Some(ids.0.to_owned()), Some(ids.1.to_owned()));
        let _ = readings.add(words, Some(parent));
        let _ = readings.add(asking, Some(parent));
        let nodes = merge_all(readings);
        let calls = nodes.list.iter().filter(|node| node.kind() == Kind::Llm);
        let said = calls.flat_map(|node| node.operation.output_messages.iter().flatten());
        said.map(|message| (message.joined_text().trim().to_owned(), message.tool_calls.len()))
            .collect::<Vec<_>>()
    };
    let one = [("Looking.".to_owned(), 1)];
    assert_eq!(made((30, 30), ("msg", "msg")), one);
    assert_eq!(made((30, 31), ("msg", "msg")).len(), 2, "each has its own count");
    assert_eq!(made((30, 30), ("msg", "msg2")).len(), 2, "another response");
}
