//! The rules of DeepEval's readers.

use serde_json::Value;

use crate::document::records::{records, variants};
use crate::document::shape::Shape::{self, Any, Count, Either, List, Maybe, Number, Object, Of, OneOf, Text, Word};
use crate::document::shape::shown;
use crate::document::source::Otherwise::EmptyList;
use crate::document::violations::{JsonPath, Violations};

variants! {
    /// A conversation has turns or a scenario.
    CASE "a test case" {} of {
        (has turns) => CONVERSATION;
        (has scenario) => CONVERSATION;
        (other) => SINGLE;
    }
}

records! {
    SINGLE "a test case" {
        may name: Maybe(&Text);
        need input: Text;
        need actual_output: Maybe(&Text);
        may expected_output: Maybe(&Text);
        may tools_called: Maybe(&List(&Of(&CALL))), usually(EmptyList);
        may expected_tools: Maybe(&List(&Of(&CALL)));
        may context: Maybe(&List(&Text));
        may retrieval_context: Maybe(&List(&Text));
        may comments: Maybe(&Text);
        may input_token_count: Maybe(&Count);
        may output_token_count: Maybe(&Count);
        may token_cost: Maybe(&Number);
        may completion_time: Maybe(&Number);
        may additional_metadata: Maybe(&Object);
    }
    CONVERSATION "a conversation" {
        need scenario: Text;
        need turns: List(&Of(&TURN));
        may expected_outcome: Maybe(&Text);
        may context: Maybe(&List(&Text));
        may name: Maybe(&Text);
        may additional_metadata: Maybe(&Object);
    }
    TURN "a turn" {
        need role: Word(&["user", "assistant"]);
        need content: Text;
        may tools_called: Maybe(&List(&Of(&CALL)));
        may retrieval_context: Maybe(&List(&Text));
        may additional_metadata: Maybe(&Object);
    }
    CALL "a tool call" {
        need name: Text;
        may input_parameters: Maybe(&Object);
        may output: Any;
        may reasoning: Maybe(&Text);
        may description: Maybe(&Text);
        may type: Either(&[Word(&["FUNCTION", "MCP"])]);
    }
}

pub(super) const DOCUMENT: Shape = Either(&[List(&OneOf(&CASE)), OneOf(&CASE)]);

pub(super) fn check(documents: &[(JsonPath<'_>, &Value)], found: &mut Violations) {
    let mut first: Option<bool> = None;
    for (place, document) in documents {
        // DeepEval's JSON reader expects a single list.
        let Some(list) = document.as_array() else {
            case(*place, document, &mut first, found);
            continue;
        };
        for (index, item) in list.iter().enumerate() {
            case(place.item(index), item, &mut first, found);
        }
    }
}

fn case(place: JsonPath<'_>, document: &Value, first: &mut Option<bool>, found: &mut Violations) {
    let Some(case) = document.as_object() else {
        return found.add(
            place,
            format!("expected a test case (an object with `input`), found {}", shown(document)),
        );
    };
    let many = case.contains_key("turns") || case.contains_key("scenario");
    if *first.get_or_insert(many) != many {
        let message = "single test cases and conversations are in one file: DeepEval refuses that; write two files";
        found.add(place, message);
    }
    CASE.check(case, place, found);
    if many && case.get("scenario").and_then(Value::as_str).is_some_and(str::is_empty) {
        let message = "the scenario is empty: readers take the case for a single one; say what the conversation is about";
        found.add(place.key("scenario"), message);
    }
}
