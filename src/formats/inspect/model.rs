//! Input, cost and stop reason of a model call.

use serde_json::{Map, Value};

use super::check::USAGE;
use crate::document::json::{Json, Object, Text};
use crate::operation::{Cost, Operation, TokenCount, ToolDefinition};

/// Parameters that have their own field, with alternative names.
const CONFIG: [(&str, &[&str], Wanted); 12] = [
    ("temperature", &["temperature"], Wanted::Number),
    ("top_p", &["top_p"], Wanted::Number),
    (
        "max_tokens",
        &["max_tokens", "max_completion_tokens", "max_output_tokens"],
        Wanted::Count,
    ),
    ("stop_seqs", &["stop", "stop_sequences"], Wanted::Texts),
    ("frequency_penalty", &["frequency_penalty"], Wanted::Number),
    ("presence_penalty", &["presence_penalty"], Wanted::Number),
    ("seed", &["seed"], Wanted::Count),
    ("top_k", &["top_k"], Wanted::Count),
    ("num_choices", &["n", "choice_count", "choice.count"], Wanted::Count),
    ("top_logprobs", &["top_logprobs"], Wanted::Count),
    ("parallel_tool_calls", &["parallel_tool_calls"], Wanted::Flag),
    ("reasoning_effort", &["reasoning_effort"], Wanted::Effort),
];

#[derive(Debug, Clone, Copy)]
enum Wanted {
    Number,
    Count,
    Flag,
    Texts,
    Effort,
}

const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

impl Wanted {
    fn has(self, value: &Value) -> bool {
        match self {
            Self::Number => value.is_number(),
            Self::Count => value.is_u64() || value.is_i64(),
            Self::Flag => value.is_boolean(),
            Self::Texts => is_list_of(value, Value::is_string),
            Self::Effort => value.as_str().is_some_and(|word| EFFORTS.contains(&word)),
        }
    }
}

/// Splits parameters into those with their own field and the others.
pub(super) fn config(parameters: &Map<String, Value>) -> (Object<'_>, Object<'_>) {
    let (mut config, mut others) = (Object::new(), Object::new());
    for (key, value) in parameters {
        let place = CONFIG.iter().find(|(_, names, _)| names.contains(&key.as_str()));
        match place {
            Some((name, _, wanted)) if wanted.has(value) && !config.contains_key(name) => config.add(*name, value),
            _ => others.add(key, value),
        }
    }
    (config, others)
}

/// The tool choice.
pub(super) fn tool_choice(parameters: &Map<String, Value>) -> Json<'_> {
    let choice = parameters.get("tool_choice");
    let function = choice.and_then(|choice| choice.get("function").unwrap_or(choice).get("name")?.as_str());
    match (function, choice.and_then(Value::as_str)) {
        (Some(name), _) => Object::from([("name", name.into())]).into(),
        (_, Some("required" | "any")) => "any".into(),
        (_, Some("none")) => "none".into(),
        _ => "auto".into(),
    }
}

/// A tool. Readers reject schemas with fields of unexpected types: such a schema goes to the options, whole.
pub(super) fn tool(tool: &ToolDefinition) -> Object<'_> {
    let description = tool.description.as_deref().unwrap_or_default();
    let mut out = Object::from([("name", (&tool.name).into()), ("description", description.into())]);
    let schema = tool.parameters.as_ref();
    let is_object = |schema: &Value| schema.get("type").is_none_or(|kind| kind == "object");
    match schema.filter(|schema| is_object(schema) && fits(schema)) {
        Some(Value::Object(map)) => {
            let mut parameters = Object::from([("type", "object".into())]);
            parameters.extend(Object::from(map));
            // Readers want null members left out.
            parameters.retain(|key, value| key == "default" || !value.is_null());
            out.add("parameters", parameters);
        }
        _ => {
            out.add(
                "parameters",
                Object::from([("type", "object".into()), ("properties", Object::new().into())]),
            );
            let given = schema.filter(|schema| !schema.is_null());
            out.add_filled("options", given.map(|schema| Object::from([("parameters", schema.into())])));
        }
    }
    out
}

fn is_list_of(value: &Value, matches: impl Fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(matches))
}

/// Whether the fields of a JSON schema have the types that readers expect.
fn fits(schema: &Value) -> bool {
    const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "null"];
    let is_type = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
    let Some(map) = schema.as_object() else { return false };
    map.iter()
        .filter(|(_, value)| !value.is_null())
        .all(|(key, value)| match key.as_str() {
            "type" => is_type(value) || is_list_of(value, is_type),
            "format" | "description" | "pattern" => value.is_string(),
            "enum" | "examples" => value.is_array(),
            "items" => fits(value),
            "properties" => value.as_object().is_some_and(|map| map.values().all(fits)),
            "additionalProperties" => value.is_boolean() || fits(value),
            "anyOf" => is_list_of(value, fits),
            "required" => is_list_of(value, Value::is_string),
            "minLength" | "maxLength" => value.is_u64() || value.is_i64(),
            "minimum" | "maximum" => value.is_number(),
            _ => true,
        })
}

/// Why the model stopped, as an Inspect stop reason.
pub(super) fn stop_reason(reason: Option<&str>) -> &'static str {
    let word = reason.unwrap_or_default().to_ascii_lowercase();
    match word.rsplit('.').next().unwrap_or_default() {
        "stop" | "end_turn" | "stop_sequence" | "completed" | "complete" | "finished" | "eos" => "stop",
        "length" | "max_tokens" | "max_output_tokens" => "max_tokens",
        "model_length" | "model_context_window_exceeded" => "model_length",
        "tool_calls" | "tool_call" | "tool_use" | "tool-calls" | "function_call" => "tool_calls",
        "content_filter" | "content-filter" | "safety" | "refusal" => "content_filter",
        _ => "unknown",
    }
}

/// Token counts and cost, which can be summed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    tokens: TokenCount,
    cost: Option<f64>,
}

impl Usage {
    pub(super) fn of(operation: &Operation) -> Self {
        let Cost { total, .. } = operation.cost;
        let tokens = TokenCount {
            total: operation.usage.sum(),
            ..operation.usage
        };
        Self {
            tokens,
            cost: total.filter(|cost| cost.is_finite()),
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        let (sums, tokens) = (&mut self.tokens, other.tokens);
        // Cached tokens are added separately: a sum of totals would be wrong if the counts of one call are inconsistent.
        let input = other.full_rate().map(|rate| rate.saturating_add(other.cached()));
        for (sum, count) in [
            (&mut sums.input, input),
            (&mut sums.output, tokens.output),
            (&mut sums.total, tokens.total),
            (&mut sums.cache_read, tokens.cache_read),
            (&mut sums.cache_write, tokens.cache_write),
            (&mut sums.reasoning, tokens.reasoning),
        ] {
            *sum = count.map(|count| sum.unwrap_or(0).saturating_add(count)).or(*sum);
        }
        self.cost = other.cost.map(|cost| self.cost.unwrap_or_default() + cost).or(self.cost);
    }

    fn cached(&self) -> u64 {
        let (read, write) = (self.tokens.cache_read, self.tokens.cache_write);
        read.unwrap_or(0).saturating_add(write.unwrap_or(0))
    }

    /// Input without cached tokens; all of it if the counts are inconsistent.
    fn full_rate(&self) -> Option<u64> {
        self.tokens.input.map(|input| input.checked_sub(self.cached()).unwrap_or(input))
    }

    /// Empty if nothing was recorded.
    pub(super) fn object<'a>(self) -> Object<'a> {
        USAGE.given([
            ("input_tokens", self.full_rate().into()),
            ("output_tokens", self.tokens.output.into()),
            ("total_tokens", self.tokens.total.into()),
            ("input_tokens_cache_write", self.tokens.cache_write.into()),
            ("input_tokens_cache_read", self.tokens.cache_read.into()),
            ("reasoning_tokens", self.tokens.reasoning.into()),
            ("total_cost", self.cost.into()),
        ])
    }
}

/// The model, as events and usage name it.
pub(super) fn name(operation: &Operation) -> Text<'_> {
    operation.model.name().filter(|name| !name.is_empty()).unwrap_or("unknown").into()
}
