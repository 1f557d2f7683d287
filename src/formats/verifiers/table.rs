//! verifiers' records. Unknown values are left out.

use crate::document::records::{records, variants};
use crate::document::shape::Shape::{self, Count, Deferred, Either, Flag, Int, List, Maybe, Number, Object, Of, OneOf, Text, Word};
use crate::document::source::Otherwise::EmptyList;
use crate::document::source::Part;
use crate::operation::Field as F;

/// The version of the package whose records these are.
pub(super) const VERIFIERS: &str = "0.4.0";

pub(super) const DOCUMENT: Shape = Of(&EPISODE);

records! {
    EPISODE "an episode" {
        may id: Text;
        may env: Object;
        need task: Of(&TASK);
        may ok: Flag;
        may errors: List(&Of(&ERROR));
        need traces: List(&Of(&TRACE));
    }
    TASK "a task" {
        need type: Text;
        need data: Object;
    }
    ERROR "an error" {
        need type: Text;
        need message: Text;
        may traceback: Maybe(&Text);
    }
    TRACE "a trace" {
        may version: Int;
        may id: Text;
        may verifiers: Object;
        need task: Of(&TASK);
        need agent: Of(&AGENT);
        may tools: List(&Of(&TOOL));
        may nodes: List(&Of(&NODE)), usually(EmptyList);
        may calls: List(&Of(&CALL)), usually(EmptyList);
        may rewards: Object;
        may metrics: Object;
        may info: Object;
        may root_reply: Maybe(&Text);
        may is_completed: Flag;
        may ok: Flag;
        may stop_condition: Maybe(&Text);
        may errors: List(&Of(&ERROR));
        may timing: Object;
    }
    AGENT "an agent" {
        need config: Object;
        may name: Text;
    }
    TOOL "a tool" {
        need name: Text;
        may description: Text;
        may parameters: Object;
    }
    NODE "a node" {
        may parent: Maybe(&Count);
        may tools: List(&Of(&TOOL));
        may semantic_parents: List(&Of(&LINK));
        need message: Deferred(&Object, &OneOf(&MESSAGES));
        may sampled: Flag;
        may timestamp: Number;
        may token_ids: List(&Int);
        may mask: List(&Flag);
        may logprobs: List(&Number);
    }
    LINK "a link", only "readers refuse the link for it" {
        need node: Count;
        need type: Text;
    }
    CALL "a model call" {
        may node: Maybe(&Count);
        may model: Maybe(&Text), of(Part::Model);
        may sampling: Maybe(&Object), from(F::Parameters);
        may finish_reason: Maybe(&Word(&["stop", "length", "tool_calls"])), from(F::FinishReason);
        may usage: Maybe(&Of(&USAGE));
        may time: Of(&TIME);
        may error: Maybe(&Of(&ERROR));
    }
    USAGE "usage" {
        need prompt_tokens: Int, less(F::UsageInput, F::UsageCacheRead);
        need completion_tokens: Int, from(F::UsageOutput);
        may cached_input_tokens: Maybe(&Int), from(F::UsageCacheRead);
        may reasoning_tokens: Maybe(&Int), from(F::UsageReasoning);
        may cost: Maybe(&Number), from(F::CostTotal);
    }
    TIME "a time" {
        may start: Number;
        may end: Number;
    }
}

const PARTS: Shape = Either(&[Text, List(&Of(&PART))]);

records! {
    PART "a part" {
        need type: Word(&["text", "image_url"]);
        may text: Text;
        may image_url: Object;
    }
}

variants! {
    /// Messages by their role.
    MESSAGES "a message" {} of {
        (role = "system") "a system message" { need content: PARTS; }
        (role = "user") "a user message" { need content: PARTS; }
        (role = "assistant") "an assistant message" {
            may content: Maybe(&Text);
            may reasoning_content: Maybe(&Text);
            may tool_calls: Maybe(&List(&Of(&TOOL_CALL)));
            may provider_state: Maybe(&List(&Object));
        }
        (role = "tool") "a tool message" {
            need tool_call_id: Text;
            need content: PARTS;
            may name: Maybe(&Text);
        }
    }
}

records! {
    TOOL_CALL "a tool call" {
        need id: Text;
        may type: Word(&["function", "custom"]);
        need name: Text;
        need arguments: Text;
    }
}
