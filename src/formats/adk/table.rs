//! ADK's records, in snake case: contents, parts and calls are those of the `google-genai` package.

use crate::document::records::{records, variants};
use crate::document::shape::Shape::{self, Any, Count, Deferred, Flag, List, Maybe, Number, Object, Of, OneOf, Text};
use crate::document::source::Otherwise::{EmptyList, EmptyObject};
use crate::document::source::Part;
use crate::operation::Field as F;

pub(super) const DOCUMENT: Shape = Of(&SET);

records! {
    SET "an eval set" {
        need eval_set_id: Text;
        may name: Maybe(&Text);
        may description: Maybe(&Text);
        need eval_cases: List(&Of(&CASE));
        may creation_timestamp: Number;
    }
    CASE "an eval case" {
        need eval_id: Text;
        may conversation: Maybe(&List(&Of(&INVOCATION)));
        may conversation_scenario: Maybe(&Object);
        may session_input: Maybe(&Of(&SESSION));
        may creation_timestamp: Number;
        may final_session_state: Maybe(&Object);
    }
    SESSION "a session" {
        need app_name: Text;
        need user_id: Text;
        may state: Object;
    }
    INVOCATION "an invocation", only "ADK refuses the whole file; leave it out" {
        may invocation_id: Text;
        need user_content: Of(&CONTENT);
        may final_response: Maybe(&Of(&CONTENT));
        may intermediate_data: Maybe(&Deferred(&Object, &OneOf(&DATA)));
        may creation_timestamp: Number;
        may duration: Maybe(&Number);
        may model_duration: Maybe(&Number);
        may tool_duration: Maybe(&Number);
        may rubrics: Maybe(&List(&Object));
        may app_details: Maybe(&Object);
    }
}

variants! {
    /// Either events or lists.
    DATA "intermediate data" {} of {
        (has invocation_events) => EVENTS;
        (other) => LISTS;
    }
}

records! {
    EVENTS "a list of events", only "events come alone, without the lists of calls and responses" {
        need invocation_events: List(&Of(&EVENT));
    }
    LISTS "intermediate data", only "ADK refuses the whole file; leave it out" {
        may tool_uses: List(&Of(&CALL)), usually(EmptyList);
        may tool_responses: List(&Of(&RESPONSE)), usually(EmptyList);
        may intermediate_responses: List(&List(&Any)), usually(EmptyList);
    }
    EVENT "an event" {
        need author: Text;
        may content: Maybe(&Of(&CONTENT));
        may usage_metadata: Maybe(&Of(&USAGE));
        may model_version: Maybe(&Text), of(Part::Model);
    }
    USAGE "usage metadata" {
        may prompt_token_count: Maybe(&Count), from(F::UsageInput);
        may candidates_token_count: Maybe(&Count), less(F::UsageOutput, F::UsageReasoning);
        may thoughts_token_count: Maybe(&Count), from(F::UsageReasoning);
        may cached_content_token_count: Maybe(&Count), from(F::UsageCacheRead);
        may total_token_count: Maybe(&Count), from(F::UsageTotal);
    }
    CONTENT "a content", only "a content has a role and parts" {
        may role: Maybe(&Text);
        may parts: Maybe(&List(&Of(&PART))), usually(EmptyList);
    }
    PART "a part" {
        may text: Maybe(&Text);
        may thought: Maybe(&Flag);
        may inline_data: Maybe(&Of(&BYTES));
        may file_data: Maybe(&Of(&FILE));
        may function_call: Maybe(&Of(&CALL));
        may function_response: Maybe(&Of(&RESPONSE));
    }
    BYTES "the bytes of a file" {
        may mime_type: Maybe(&Text);
        may data: Maybe(&Text);
        may display_name: Maybe(&Text);
    }
    FILE "a file" {
        may mime_type: Maybe(&Text);
        may file_uri: Maybe(&Text);
        may display_name: Maybe(&Text);
    }
    CALL "a function call" {
        may id: Maybe(&Text);
        may name: Maybe(&Text);
        may args: Maybe(&Object), usually(EmptyObject);
    }
    RESPONSE "a function response" {
        may id: Maybe(&Text);
        may name: Maybe(&Text);
        may response: Maybe(&Object), usually(EmptyObject);
    }
}
