//! ContextForge's records: fields of the spec, what the package's loader reads, and where each value comes from.

use serde_json::{Map, Value};

use crate::document::records::{records, variants};
use crate::document::shape::Shape::{self, Any, Deferred, Either, Flag, Int, List, Maybe, Number, Object, Of, OneOf, Text, Time, Word};
use crate::document::shape::{Field, Tag};
use crate::document::source::Otherwise::{self, EmptyList, Null, Unknown, Zero};
use crate::document::source::Part;
use crate::operation::{Field as F, Kind};

const DROPPED: &str = "readers drop it; put it into `metadata`";
const BLANK: Otherwise = Otherwise::Text("");

pub(super) const DOCUMENT: Shape = Of(&RUN);

records! {
    RUN "a run", only DROPPED {
        need run_id: Text;
        need started_at: Time;
        may ended_at: Maybe(&Time);
        need agent_info: Of(&AGENT);
        may task_info: Maybe(&Of(&TASK));
        need steps: List(&Deferred(&Object, &OneOf(&STEPS)));
        may metadata: Maybe(&Object);
    }
    AGENT "agent_info", only DROPPED {
        need name: Text, from(F::AgentName).made_up(Unknown);
        may version: Maybe(&Text), from(F::AgentVersion);
        may framework: Maybe(&Text), from(F::AgentFramework);
        may framework_version: Maybe(&Text);
    }
    TASK "task_info", only DROPPED {
        may description: Maybe(&Text), from(F::TaskDescription);
        may goal: Maybe(&Text), from(F::TaskGoal);
        may input: Maybe(&Object), from(F::TaskInput);
    }
    IMPACT "resource_impact" {
        need amount: Number, from(F::ResourceAmount).from(F::CostTotal);
        need unit: Text, from(F::ResourceUnit).usually(Otherwise::Text("USD"));
        may breakdown: Maybe(&Object), from(F::ResourceBreakdown);
    }
    RESULT "a result of a retrieval", only "readers drop it; put it into the result's `metadata`" {
        need content: Text;
        may score: Maybe(&Number);
        may metadata: Maybe(&Object);
    }
    CHANGE "a change" {
        need path: Text;
        may old_value: Any;
        may new_value: Any;
    }
}

variants! {
    /// The steps, each with its own fields.
    STEPS "a step", only DROPPED {
        need step_id: Text;
        need step_type: Text;
        need timestamp: Time;
        may parent_step_id: Maybe(&Text);
        may metadata: Maybe(&Object);
    } of {
        (step_type = "user_input") "a step", only DROPPED {
            need content: Text, from(F::Input);
            may input_type: Maybe(&Text), from(F::InputType).usually(Otherwise::Text("text"));
        }
        (step_type = "llm_call") "a step", only DROPPED {
            need model: Text, of(Part::Model).made_up(Unknown);
            need input: Either(&[Text, List(&Object)]), usually(EmptyList);
            need output: Either(&[Text, Object]), usually(BLANK);
            may tokens_in: Maybe(&Int), from(F::UsageInput);
            may tokens_out: Maybe(&Int), from(F::UsageOutput);
            may tokens_total: Maybe(&Int), from(F::UsageTotal).sum(F::UsageInput, F::UsageOutput);
            may latency_ms: Maybe(&Int), of(Part::Latency);
            may cost_estimate: Maybe(&Number), from(F::CostTotal).sum(F::CostInput, F::CostOutput);
            may provider: Maybe(&Text), from(F::Provider);
        }
        (step_type = "tool_call") "a step", only DROPPED {
            need tool_name: Text, of(Part::ToolName);
            need arguments: Object, from(F::ToolArguments);
            may result: Any, of(Part::Result).usually(Null);
            may latency_ms: Maybe(&Int);
            may success: Maybe(&Flag);
            may error: Maybe(&Text), of(Part::Error);
            may resource_impact: Maybe(&Of(&IMPACT));
        }
        (step_type = "retrieval") "a step", only DROPPED {
            need query: Text, from(F::SearchQuery).of(Part::Input).made_up(BLANK);
            need results: List(&Of(&RESULT));
            need match_count: Int;
            may latency_ms: Maybe(&Int), of(Part::Latency);
        }
        (step_type = "memory_read") "a step", only DROPPED {
            need query: Either(&[Text, Object]), from(F::MemoryQuery).of(Part::Input).made_up(BLANK);
            need results: List(&Any), from(F::MemoryResults);
            need match_count: Int;
            may relevance_scores: Maybe(&List(&Number)), from(F::MemoryScores);
            may total_available: Maybe(&Int), from(F::MemoryTotalAvailable);
        }
        (step_type = "memory_write") "a step", only DROPPED {
            may entity_type: Maybe(&Text), from(F::MemoryEntityType).made_up(Unknown);
            may entity_id: Maybe(&Text), from(F::MemoryEntityId);
            may namespace: Maybe(&List(&Text)), from(F::MemoryNamespace);
            may key: Maybe(&Text), from(F::MemoryKey);
            need operation: Word(&["add", "update", "delete", "put"]), from(F::MemoryOperation).made_up(Otherwise::Text("add"));
            need data: Object, from(F::MemoryData);
            may changes: Maybe(&List(&Of(&CHANGE))), from(F::MemoryChanges);
            may triggered_by_step_id: Maybe(&Text);
        }
        (step_type = "state_change") "a step", only DROPPED {
            need state_key: Text, from(F::StateKey);
            may old_value: Any, from(F::StateOldValue);
            need new_value: Any, from(F::StateNewValue);
            may reason: Maybe(&Text), from(F::StateReason);
        }
        (step_type = "interrupt") "a step", only DROPPED {
            need prompt: Text, from(F::InterruptPrompt).of(Part::Input).made_up(BLANK);
            need response: Either(&[Text, Object]), from(F::InterruptResponse).of(Part::Output).made_up(BLANK);
            need wait_duration_ms: Int, from(F::InterruptWait).of(Part::Latency).made_up(Zero);
        }
        (step_type = "final_output") "a step", only DROPPED {
            need content: Any, from(F::Output);
            may format: Maybe(&Text), from(F::OutputFormat);
        }
    }
}

/// The spec's aliases for OpenTelemetry data: alias and field.
const ALIASES: [(&str, &str); 4] = [
    ("openinference.span.kind", "step_type"),
    ("llm.model_name", "model"),
    ("llm.token_count.prompt", "tokens_in"),
    ("llm.token_count.completion", "tokens_out"),
];

/// The fields of a step of this type.
pub(super) fn fields(step_type: &str) -> Option<&'static [Field]> {
    let is_it = |tag: &Tag| matches!(tag, Tag::Is(_, words) if words.contains(&step_type));
    STEPS.of.iter().find(|(tag, _)| is_it(tag)).map(|(_, record)| record.fields)
}

/// The kind of operation for a step type.
pub(super) fn kind(step_type: &str) -> Option<Kind> {
    fields(step_type)?;
    Kind::from_name(step_type.strip_suffix("_call").unwrap_or(step_type))
}

/// A step with its aliases replaced by fields; `None` if it has no alias. A type may be in any case, or a kind of OpenInference.
pub(super) fn plain(step: &Map<String, Value>) -> Option<Map<String, Value>> {
    let has_alias = ALIASES.iter().any(|(alias, _)| step.contains_key(*alias));
    has_alias.then(|| {
        let mut plain = step.clone();
        for (alias, field) in ALIASES {
            let Some(value) = plain.shift_remove(alias) else { continue };
            let value = match value.as_str() {
                Some(word) if field == "step_type" => plain_type(word).into(),
                _ => value,
            };
            plain.entry(field).or_insert(value);
        }
        plain
    })
}

/// The spec's name for a step type; an unknown type is kept.
pub(super) fn plain_type(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    match lower.as_str() {
        "llm" => "llm_call".to_owned(),
        "tool" => "tool_call".to_owned(),
        "retriever" | "reranker" => "retrieval".to_owned(),
        known if kind(known).is_some() => lower,
        _ => word.to_owned(),
    }
}

/// Lists of operations in metadata, for kinds without a ContextForge step; the last list has all others.
pub(super) const GROUPS: [(&str, &[Kind]); 7] = [
    ("agents", &[Kind::Agent, Kind::AgentCreate]),
    ("chains", &[Kind::Chain]),
    ("guardrails", &[Kind::Guardrail]),
    ("embeddings", &[Kind::Embedding]),
    ("prompts", &[Kind::Prompt]),
    ("evaluators", &[Kind::Evaluator]),
    (OTHERS, &[]),
];
const OTHERS: &str = "operations";

/// The list for operations of this kind.
pub(super) fn group(kind: Kind) -> Option<&'static str> {
    let own = GROUPS
        .into_iter()
        .find(|(_, kinds)| kinds.contains(&kind))
        .map_or(OTHERS, |(group, _)| group);
    (!matches!(kind, Kind::Plain | Kind::Detail)).then_some(own)
}
