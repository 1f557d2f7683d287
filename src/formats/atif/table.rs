//! ATIF's records, shared by all readers. Unknown values are left out, because readers reject nulls.

use crate::document::records::{records, variants};
use crate::document::shape::Shape::{
    self, Any, Count, Deferred, Either, Flag, Int, List, Maybe, Null, Number, Object, Of, OneOf, Text, Word,
};
use crate::document::source::Part;
use crate::operation::Field as F;

/// The version that every reader accepts.
pub(super) const VERSION: &str = "ATIF-v1.7";

/// The version of a trajectory with sounds.
pub(super) const VERSION_WITH_SOUND: &str = "ATIF-v1.8";

pub(super) const DOCUMENT: Shape = Of(&TRAJECTORY);

const REFUSED: &str = "readers refuse the document for it; put it into `extra`";

records! {
    TRAJECTORY "a trajectory", only REFUSED {
        need schema_version: Text;
        may session_id: Maybe(&Text);
        may trajectory_id: Maybe(&Text);
        need agent: Of(&AGENT);
        need steps: List(&Of(&STEP));
        may notes: Maybe(&Text);
        may final_metrics: Maybe(&Of(&FINAL_METRICS));
        may continued_trajectory_ref: Maybe(&Text);
        may subagent_trajectories: Maybe(&List(&Deferred(&Object, &Of(&TRAJECTORY))));
        may extra: Maybe(&Object);
    }
    AGENT "an agent", only REFUSED {
        need name: Text;
        need version: Text;
        may model_name: Maybe(&Text);
        may tool_definitions: Maybe(&List(&Object));
        may extra: Maybe(&Object);
    }
    STEP "a step", only REFUSED {
        need step_id: Int;
        may timestamp: Maybe(&Text);
        need source: Word(&["system", "user", "agent"]);
        need message: CONTENT;
        may reasoning_content: Maybe(&Text);
        may reasoning_effort: Maybe(&Either(&[Text, Number]));
        may model_name: Maybe(&Text), of(Part::Model);
        may tool_calls: Maybe(&List(&Of(&CALL)));
        may observation: Maybe(&Of(&OBSERVATION));
        may metrics: Maybe(&Of(&METRICS));
        may is_copied_context: Maybe(&Flag);
        may llm_call_count: Maybe(&Count);
        may extra: Maybe(&Object);
    }
}

const CONTENT: Shape = Either(&[Text, List(&Deferred(&Of(&PART), &OneOf(&PARTS)))]);

records! {
    PART "a content part", only REFUSED {
        need type: Word(&["text", "image", "audio"]);
        may text: Maybe(&Text);
        may source: Maybe(&Of(&SOURCE));
    }
}

variants! {
    /// The fields of each type of part.
    PARTS "a content part" {} of {
        (type = "text") "a text part", only REFUSED { need text: Text; may source: Null; }
        (type = "image" | "audio") "a media part", only REFUSED { may text: Null; need source: Of(&SOURCE); }
    }
}

records! {
    SOURCE "a source", only REFUSED {
        need media_type: Text;
        need path: Text;
        may duration_sec: Maybe(&Number);
    }
    CALL "a tool call", only REFUSED {
        need tool_call_id: Text;
        need function_name: Text;
        need arguments: Object;
        may extra: Maybe(&Object);
    }
    OBSERVATION "an observation", only "readers refuse the document for it; put it into the `extra` of a result" {
        need results: List(&Of(&RESULT));
    }
    RESULT "a result", only REFUSED {
        may source_call_id: Maybe(&Text);
        may content: Maybe(&CONTENT);
        may subagent_trajectory_ref: Maybe(&List(&Of(&REFERENCE)));
        may extra: Maybe(&Object);
    }
    REFERENCE "a reference to a sub-agent's trajectory", only REFUSED {
        may trajectory_id: Maybe(&Text);
        may trajectory_path: Maybe(&Text);
        may session_id: Maybe(&Text);
        may extra: Maybe(&Object);
    }
    METRICS "metrics", only REFUSED {
        may prompt_tokens: Maybe(&Int), from(F::UsageInput);
        may completion_tokens: Maybe(&Int), from(F::UsageOutput);
        may cached_tokens: Maybe(&Int), from(F::UsageCacheRead);
        may cost_usd: Maybe(&Number), from(F::CostTotal);
        may prompt_token_ids: Maybe(&List(&Int)), from(F::PromptTokenIds);
        may completion_token_ids: Maybe(&List(&Int)), from(F::CompletionTokenIds);
        may logprobs: Maybe(&List(&Number)), from(F::Logprobs);
        may extra: Maybe(&Object);
    }
    MORE_METRICS "further metrics" {
        may total_tokens: Any, from(F::UsageTotal);
        may cache_write_tokens: Any, from(F::UsageCacheWrite);
        may reasoning_tokens: Any, from(F::UsageReasoning);
        may input_cost_usd: Any, from(F::CostInput);
        may output_cost_usd: Any, from(F::CostOutput);
        may time_to_first_token: Any, from(F::FirstTokenSeconds);
        may prompt_token_ids: Any, from(F::PromptTokenIds);
        may completion_token_ids: Any, from(F::CompletionTokenIds);
        may logprobs: Any, from(F::Logprobs);
    }
    FINAL_METRICS "final metrics", only REFUSED {
        may total_prompt_tokens: Maybe(&Int);
        may total_completion_tokens: Maybe(&Int);
        may total_cached_tokens: Maybe(&Int);
        may total_cost_usd: Maybe(&Number);
        may total_steps: Maybe(&Int);
        may extra: Maybe(&Object);
    }
}
